/*
 * Settings without effect. A policy that sets a key which nothing applies on the chosen backend
 * reads as a protection and is none; so what its files, or the caller, set is an error in enforce
 * and a warning in warn. Three things are milder:
 *
 *  - what a level brings along is written for all backends: a note;
 *  - a key of other engines, in a policy that allows one of them too: a note, it waits for its
 *    backend;
 *  - a control that degrade.allow names: a warning.
 *
 * At local.isolation: scrub nothing is milder but the last: there most controls are absent, and a
 * policy, or its level, that asks for one together with scrub contradicts itself.
 */
#include <sys/stat.h>
#include <sys/xattr.h>

#include <string.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

enum {
	EFFECT_NOTES_MAX = 256
};

enum effect {
	EFFECT_NOTE,
	EFFECT_WARNING,
	EFFECT_ERROR
};

enum backend_id
plan_backend_id(const struct plan *plan)
{
	struct hl_err ignored = { 0 };
	const struct backend *backend = backend_find(plan->backend, &ignored);

	HL_BUG_ON(backend == NULL); /* the plan has its name from there */
	return backend->id;
}

/* May the policy's caller choose that backend? */
static bool
is_allowed(const struct policy *policy, const char *backend)
{
	const struct policy_value *value = policy_get(policy, POLICY_BACKENDS);
	struct policy_judgement judgement;
	struct hl_err ignored;

	for (size_t i = 0; i < value->items_len; i++)
		if (strcmp(value->items[i].text, backend) == 0)
			return true;
	return value->is_bounded &&
	       policy_judge(policy, POLICY_BACKENDS, backend, &judgement, &ignored) == 0 &&
	       judgement.verdict != POLICY_LOOSER;
}

/* Whose keys say by their name that they are one backend's, and protect nothing elsewhere. */
static const struct {
	const char *prefix;
	const char *backends[4];
} owners[] = {
	{ "image", { "docker", "podman", "singularity" } },
	{ "docker.", { "docker", "podman" } },
	{ "local.", { "local" } },
	{ "session.lease", { "docker", "podman" } },
	{ "singularity.", { "singularity" } },
	{ "ssh.", { "ssh" } },
	{ "cloud.", { "modal", "daytona", "vercel" } },
};

static bool
is_owner(const char *const backends[4], const char *backend)
{
	for (size_t i = 0; i < 4; i++)
		if (backends[i] != NULL && strcmp(backends[i], backend) == 0)
			return true;
	return false;
}

/* May the policy's caller choose another backend, which the key is for? Where it is for the chosen
 * one too, it waits for nothing: it asks for something here, and is not given it. */
static bool
waits_for_another(const struct policy *policy, const struct plan *plan, const char *key)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(owners); i++) {
		const char *const *backends = owners[i].backends;
		if (strncmp(key, owners[i].prefix, strlen(owners[i].prefix)) != 0 ||
		    is_owner(backends, plan->backend))
			continue;
		for (size_t j = 0; j < HL_ARRAY_SIZE(owners[i].backends); j++)
			if (backends[j] != NULL && is_allowed(policy, backends[j]))
				return true;
	}
	return false;
}

/* What happens anyway where nobody applies the control. Of a field that is not here that is the
 * weakest there is. */
static const struct {
	enum policy_field field;
	uint64_t rank;
	bool is_sandboxed; /* not so at local.isolation: scrub */
} held[] = {
	{ POLICY_PROCESS_SECCOMP_ACTION, 1, true }, /* errno */
	{ POLICY_NAMESPACE_PID, 0, true },
	{ POLICY_NAMESPACE_IPC, 0, true },
	{ POLICY_NAMESPACE_UTS, 0, true },
	{ POLICY_ENV_INHERIT, 0, false },
	{ POLICY_DOCKER_CLIENT, 0, false },
	{ POLICY_AUDIT_DETAIL, 0, false },
};

/* Lists that only add to what is there anyway, and lists of what nobody without an enforcer gives
 * or goes to: empty, they ask nothing. */
static bool
asks_nothing_when_empty(enum policy_field field)
{
	static const enum policy_field lists[] = { POLICY_ENV_DENY, POLICY_NETWORK_DENY,
		POLICY_PROCESS_SECCOMP_FILES, POLICY_AUDIT_REDACT, POLICY_AUDIT_ANCHOR,
		POLICY_AUDIT_REQUIRE_LABELS, POLICY_SSH_HOSTS, POLICY_CLOUD_ACCOUNTS,
		POLICY_SECRETS };

	for (size_t i = 0; i < HL_ARRAY_SIZE(lists); i++)
		if (lists[i] == field)
			return true;
	return false;
}

/* What they name is given, and without an enforcer is not. */
static bool
is_a_gift(enum policy_field field)
{
	return field == POLICY_NETWORK_PUBLISH || field == POLICY_NETWORK_FORWARD ||
	       field == POLICY_FILES;
}

static uint64_t
held_rank(const struct plan *plan, enum policy_field field)
{
	const char *const *words = policy_field_words(field);
	uint64_t weakest = 0;

	for (size_t i = 0; i < HL_ARRAY_SIZE(held); i++)
		if (held[i].field == field && !(held[i].is_sandboxed && plan_is_scrub(plan)))
			return held[i].rank;
	while (words[weakest] != NULL && words[weakest + 1] != NULL)
		weakest++;
	return weakest;
}

/* A value is handed out as what it says; held and words go by how strict it is. */
static uint64_t
rank_of(enum policy_field field, const struct policy_value *value)
{
	if (value->kind != POLICY_KIND_BOOL)
		return value->number;
	return (strcmp(policy_field_words(field)[0], "true") == 0) == (value->number != 0) ? 0 : 1;
}

static enum effect
weigh_rank(const struct plan *plan, enum policy_field field, const struct policy_value *value)
{
	uint64_t asked = rank_of(field, value), is = held_rank(plan, field);

	if (asked < is)
		return EFFECT_ERROR;
	return asked == is ? EFFECT_NOTE : EFFECT_WARNING;
}

/* Without a network, what rules it is no looser for being left out. */
static bool
is_moot(const struct policy *policy, const struct plan *plan, const char *key)
{
	bool is_of_network = strncmp(key, "network.", 8) == 0 || strncmp(key, "egress.", 7) == 0 ||
			     strcmp(key, "secrets") == 0;

	return is_of_network && !plan_is_scrub(plan) && strcmp(key, "network.mode") != 0 &&
	       policy_get(policy, POLICY_NETWORK_MODE)->number == PLAN_NETWORK_NONE;
}

/* Of what is asked, how much is missing when nobody applies it. */
static enum effect
weigh_value(const struct plan *plan, enum policy_field field, const struct policy_value *value)
{
	switch (value->kind) {
	case POLICY_KIND_BOOL:
	case POLICY_KIND_ENUM:
		return weigh_rank(plan, field, value);
	case POLICY_KIND_INT:
		/* What is asked is given anyway. */
		if (field == POLICY_AUDIT_RETENTION)
			return EFFECT_NOTE;
		return value->number == POLICY_UNLIMITED ? EFFECT_NOTE : EFFECT_ERROR;
	case POLICY_KIND_BITS:
	case POLICY_KIND_SIZE:
	case POLICY_KIND_DURATION:
	case POLICY_KIND_MILLI:
		return value->number == POLICY_UNLIMITED ? EFFECT_NOTE : EFFECT_ERROR;
	case POLICY_KIND_SET:
	case POLICY_KIND_RECORDS:
	case POLICY_KIND_NAMED:
		if (is_a_gift(field))
			return value->items_len == 0 ? EFFECT_NOTE : EFFECT_WARNING;
		return asks_nothing_when_empty(field) && value->items_len == 0 ? EFFECT_NOTE
									       : EFFECT_ERROR;
	case POLICY_KIND_WORKDIR: {
		const struct policy_mount *mount = &value->items[0].mount;
		bool asks = mount->access != POLICY_ACCESS_RW ||
			    (mount->dst != NULL && mount->dst[0] != '\0');
		return asks ? EFFECT_ERROR : EFFECT_NOTE;
	}
	case POLICY_KIND_STRING:
	case POLICY_KIND_MAP:
	case POLICY_KIND_MOUNTS:
	case POLICY_KIND_TMPFS:
	case POLICY_KIND_HOME:
	case POLICY_KIND_MAX:
		break;
	}
	return EFFECT_ERROR;
}

static enum effect
weigh(const struct policy *policy, const struct plan *plan, enum policy_field field,
    const struct policy_value *value)
{
	const char *key = policy_field_key(field);
	bool is_of_level = strcmp(value->origin.layer, "level") == 0 && !plan_is_scrub(plan);
	enum effect effect = weigh_value(plan, field, value);

	if (is_of_level || effect == EFFECT_NOTE || waits_for_another(policy, plan, key))
		return EFFECT_NOTE;
	if (effect == EFFECT_WARNING || is_moot(policy, plan, key) || !plan_is_enforced(policy) ||
	    policy_may_degrade(policy, key, NULL))
		return EFFECT_WARNING;
	return EFFECT_ERROR;
}

static int
judge_control(const struct policy *policy, const struct plan *plan, enum control control,
    struct plan_notes *notes, struct hl_err *err)
{
	const struct control_info *info = control_info(control);
	enum policy_field field = policy_field_find(info->name);

	if (control_enforcer(control, plan_backend_id(plan), plan) != ENFORCER_NONE ||
	    field == POLICY_FIELD_MAX)
		return 0;
	const char *note = control_note(control, plan_backend_id(plan), plan);
	const struct policy_value *value = policy_get(policy, field);
	if (!value->is_explicit)
		return 0;
	enum effect effect = weigh(policy, plan, field, value);
	if (effect == EFFECT_ERROR) {
		hl_err_set(err, HLD_20, "%s has no effect on backend %s: %s", info->name,
		    plan->backend, note);
		err->where = value->origin.where;
		if (plan_is_scrub(plan))
			return hl_err_help(err,
			    "remove the key, or write local: {isolation: confined}");
		if (!control_is_applied_somewhere(control) || field == POLICY_FS_LANDLOCK)
			return hl_err_help(err, "remove the key, or say degrade: {allow: [%s]}",
			    info->name);
		return hl_err_help(err, "remove the key, or choose the backend that it is for");
	}
	if (notes != NULL)
		hl_strv_addf(effect == EFFECT_WARNING ? &notes->warnings : &notes->lines,
		    "%s has no effect on backend %s: %s", info->name, plan->backend, note);
	return 0;
}

/* What is kept is the container's own root. Where there is none, on this host, a name is told of
 * it. */
static void
note_keep(const struct policy *policy, const struct plan *plan, struct plan_notes *notes)
{
	const struct policy_value *persist = policy_get(policy, POLICY_SESSION_PERSIST);
	bool has_name = plan->keep.session != NULL;
	const char *why = NULL;

	if (persist->number != PLAN_PERSIST_TASK)
		return;
	if (!plan_can_keep(plan))
		why = control_note(CONTROL_SESSION_LEASE, plan_backend_id(plan), plan);
	else if (!has_name)
		why = "only a session that has a name (--name) can be found again";
	else if (plan->root == PLAN_ROOT_READ_ONLY)
		why = "the container's root is read-only (fs.root), so nothing in it changes";
	if (why != NULL)
		hl_strv_addf(has_name && !plan_can_keep(plan) ? &notes->warnings : &notes->lines,
		    "session.persist: task keeps nothing: %s", why);
}

/* Keys that are applied, and yet change nothing as things are. */
static void
note_idle(const struct policy *policy, const struct plan *plan, struct plan_notes *notes)
{
	const struct policy_value *caps = policy_get(policy, POLICY_PROCESS_CAPS);
	const struct policy_value *allow_root = policy_get(policy, POLICY_PROCESS_ALLOW_ROOT);
	bool is_root = plan->user_kind == PLAN_USER_IMAGE || plan->uid == 0;

	const struct policy_value *output = policy_get(policy, POLICY_LIMITS_OUTPUT);
	/* Whoever asks for it with this run expects it of this run. */
	bool is_asked = output->origin.layer != NULL && strcmp(output->origin.layer, "caller") == 0;
	if (output->is_explicit)
		hl_strv_add(is_asked ? &notes->warnings : &notes->lines,
		    "limits.output has no effect on run: a single run streams its output");
	note_keep(policy, plan, notes);
	if (caps->items_len > 0 && !is_root)
		hl_strv_addf(&notes->lines,
		    "process.caps has no effect: user %u:%u is not root and gets none", plan->uid,
		    plan->gid);
	if (allow_root->number != 0 && !is_root)
		hl_strv_add(&notes->lines,
		    "process.allow_root has no effect: the command's user is not root");
}

int
plan_effect(const struct policy *policy, const struct plan *plan, struct plan_notes *notes,
    struct hl_err *err)
{
	for (unsigned control = 0; control < CONTROL_MAX; control++)
		if (judge_control(policy, plan, (enum control)control, notes, err) != 0)
			return -1;
	if (notes != NULL)
		note_idle(policy, plan, notes);
	return 0;
}

/* In warn, a policy file that the command could have written is told, not refused. */
static void
note_policies(const struct policy *policy, const struct plan *plan, struct plan_notes *notes)
{
	for (size_t i = 0; i < policy_layers_len(policy); i++) {
		const struct policy_layer *layer = policy_layer_at(policy, i);
		HL_AUTO_FREE char *file =
		    layer->file != NULL ? plan_path_settle(layer->file) : NULL;
		if (file == NULL || strstr(file, "/.hermes/") != NULL)
			continue;
		for (size_t m = 0; m < plan->mounts_len; m++) {
			const struct plan_mount *mount = &plan->mounts[m];
			if (!mount->is_volume && mount->is_writable &&
			    hl_path_is_beneath(file, mount->src))
				hl_strv_addf(&notes->warnings,
				    "policy '%s' lies in '%s', which the command can write; move it "
				    "to .hermes/ there",
				    file, mount->src);
		}
	}
}

/* By the mode bits alone: false also where an access list, or a map of users, could say otherwise.
 */
static bool
is_closed_to(const char *path, uid_t uid, gid_t gid)
{
	struct stat st;

	if (stat(path, &st) != 0 || getxattr(path, "system.posix_acl_access", NULL, 0) > 0)
		return false;
	if (st.st_uid == uid)
		return (st.st_mode & S_IWUSR) == 0;
	if (st.st_gid == gid)
		return (st.st_mode & S_IWGRP) == 0;
	return (st.st_mode & S_IWOTH) == 0;
}

/* By an engine without root a user who is neither root in the container nor the engine's own
 * account is an id that is lent to that account. */
static bool
is_lent(const struct plan *plan)
{
	return plan->is_rootless && plan->uid != 0 && !plan_keeps_id(plan);
}

/* A root caller's command is somebody else, and "Permission denied" from a compiler says not why.
 */
static void
note_workdir(const struct host *host, const struct plan *plan, struct plan_notes *notes)
{
	if ((host->uid != 0 && !is_lent(plan)) || plan->user_kind == PLAN_USER_IMAGE ||
	    plan->uid == 0)
		return;
	const uint32_t uid = is_lent(plan) ? UINT32_MAX : plan->uid;
	const uint32_t gid = is_lent(plan) ? UINT32_MAX : plan->gid;
	for (size_t i = 0; i < plan->mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		if (!mount->is_workdir || !mount->is_writable || mount->is_volume ||
		    !is_closed_to(mount->src, uid, gid))
			continue;
		if (is_lent(plan)) {
			hl_strv_addf(&notes->warnings,
			    "the engine runs without root: %u:%u is an id that is lent to its account "
			    "%u, and cannot write the working directory '%s'; see 'Podman' in README.md",
			    plan->uid, plan->gid, plan->engine_uid, mount->src);
			continue;
		}
		hl_strv_addf(&notes->warnings,
		    "the command runs as %u:%u, which cannot write the working directory '%s'; "
		    "see 'As root' in README.md",
		    plan->uid, plan->gid, mount->src);
	}
}

/* An engine that is a process here has to tell which process a container is; of another one it is
 * not known before the start whether it does. */
static void
note_unseen(const struct host *host, const struct plan *plan, struct plan_notes *notes)
{
	bool is_there = plan->is_engine_known || plan->is_endpoint_program;

	if (plan_is_local(plan) || plan->user_kind != PLAN_USER_CALLER || plan->uid != host->uid ||
	    !is_there || plan->is_engine_here)
		return;
	hl_strv_add(&notes->lines,
	    "the engine is no process that is seen from here: unless it tells one of this host, that the "
	    "command is the caller here is its word alone");
}

/* What a run would change on the host. */
static void
note_folders(const struct plan *plan, struct plan_notes *notes)
{
	for (size_t i = 0; i < plan->mounts_len; i++)
		if (plan->mounts[i].lacks_folder)
			hl_strv_addf(&notes->lines,
			    "a run makes an empty '%s/.hermes' where it can, read-only inside; it stays",
			    plan->mounts[i].src);
}

int
plan_notes(const struct policy *policy, const struct host *host, const struct plan *plan,
    struct plan_notes *ret_notes, struct hl_err *err)
{
	struct plan_notes notes = { 0 };

	hl_strv_init(&notes.warnings, EFFECT_NOTES_MAX);
	hl_strv_init(&notes.lines, EFFECT_NOTES_MAX);
	hl_strv_init(&notes.withheld, PLAN_ENV_MAX);
	plan_env_notes(policy, host, plan, &notes);
	note_policies(policy, plan, &notes);
	note_workdir(host, plan, &notes);
	note_unseen(host, plan, &notes);
	note_folders(plan, &notes);
	if (plan_effect(policy, plan, &notes, err) != 0 ||
	    hl_strv_check(&notes.warnings, "warnings", err) != 0 ||
	    hl_strv_check(&notes.lines, "notes", err) != 0 ||
	    hl_strv_check(&notes.withheld, "environment", err) != 0) {
		plan_notes_done(&notes);
		return -1;
	}
	*ret_notes = notes;
	return 0;
}

void
plan_notes_done(struct plan_notes *notes)
{
	hl_strv_done(&notes->warnings);
	hl_strv_done(&notes->lines);
	hl_strv_done(&notes->withheld);
}
