/*
 * Conflicts: mounts that a caller asks for. The source is held against the same list that the plan
 * uses (plan_deny.c), by name, resolved, and by inode, so that neither `..` nor a symbolic link nor
 * another name gets around it; the target must not lie over what the sandbox itself depends on; and
 * then the policy's own bound decides.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/conflicts_parts.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

/* ------------------------------------------------------------------------------------------------
 * Sources
 */
static int
build_deny_list(struct judge *judge)
{
	const struct policy_value *endpoint = policy_get(judge->policy, POLICY_DOCKER_ENDPOINT);
	char *socket HL_AUTO_FREE = strdup(endpoint->text != NULL ? endpoint->text : "");
	struct host host = {
		.uid = getuid(),
		.gid = getgid(),
		.state_dir = judge->request->state_dir,
	};
	char cwd[PATH_MAX];
	struct plan plan = { .endpoint = socket, .endpoint_origin = endpoint->origin };

	if (judge->deny != NULL)
		return 0;
	if (socket == NULL)
		return hl_err_oom(judge->err);
	if (socket[0] == '\0')
		plan.endpoint = NULL;
	if (host_account(host.uid, &judge->account, judge->err) != 0)
		return -1;
	if (getcwd(cwd, sizeof(cwd)) == NULL)
		return hl_err_sys(judge->err, HLU_02, "cannot tell the working directory");
	host.user = judge->account.user;
	host.home = judge->account.home;
	host.cwd = cwd;
	struct deny_list *deny HL_AUTO_FREE = calloc(1, sizeof(*deny));
	if (deny == NULL)
		return hl_err_oom(judge->err);
	if (deny_list_build(judge->policy, &host, &plan, deny, judge->err) != 0)
		return -1;
	judge->deny = HL_TAKE_PTR(deny);
	return 0;
}

void
conflicts_kept_done(struct conflicts_kept *kept)
{
	if (kept->deny != NULL)
		deny_list_done(kept->deny);
	free(kept->deny);
	kept->deny = NULL;
}

/* What a symbolic link at path points to, also when nothing is there: heap string. path as it is
 * when it is no link. A link to a socket that its engine has not made yet is one to that socket. */
static char *
follow(const char *path)
{
	char *now = plan_path_settle(path);

	for (int i = 0; now != NULL && i < 40; i++) {
		char target[PATH_MAX];
		ssize_t len = readlink(now, target, sizeof(target) - 1);
		char *next;

		if (len < 0)
			return now;
		target[len] = '\0';
		*strrchr(now, '/') = '\0';
		next = hl_path_normalise(now[0] != '\0' ? now : "/", target);
		free(now);
		now = next != NULL ? plan_path_settle(next) : NULL;
		free(next);
	}
	return now;
}

/* *ret_entry: what forbids path, NULL = nothing. */
static int
source_is_forbidden(struct judge *judge, const char *path, const struct deny_entry **ret_entry)
{
	struct plan_source source = { 0 };
	char *settled HL_AUTO_FREE = NULL;
	struct hl_err ignored;

	if (build_deny_list(judge) == -1)
		return -1;
	settled = follow(path);
	if (settled == NULL)
		return hl_err_oom(judge->err);
	*ret_entry = deny_list_forbids_name(judge->deny, path);
	if (*ret_entry == NULL)
		*ret_entry = deny_list_forbids_name(judge->deny, settled);
	/* What cannot be resolved is missing, and the plan says so. */
	if (*ret_entry == NULL && plan_source_resolve(path, &source, &ignored) == 0) {
		*ret_entry = deny_list_forbids(judge->deny, &source);
		plan_source_done(&source);
	}
	return 0;
}

static void
forbid(struct judge *judge, const struct ask *ask, const struct deny_entry *entry)
{
	struct cause cause = {
		.cause = CAUSE_FLOOR,
		.control = entry->class == DENY_SOCKET ? "fs.engine_socket" : "fs.mounts",
	};
	struct policy_judgement judgement = { .origin = entry->origin };

	snprintf(judgement.bound, sizeof(judgement.bound), "no mount of it: %s", entry->reason);
	conflict_add(judge, ask, &cause, &judgement);
}

/* ------------------------------------------------------------------------------------------------
 * Targets
 */
/* Places that hold what a sandbox is made of. */
static const struct {
	const char *path;
	bool is_always; /* also when the policy's own mounts name the target */
} targets[] = {
	{ "/dev", true },
	{ "/proc", true },
	{ "/sys", true },
	{ "/.hermes-runner", true },
	{ "/bin", false },
	{ "/boot", false },
	{ "/etc", false },
	{ "/lib", false },
	{ "/lib32", false },
	{ "/lib64", false },
	{ "/sbin", false },
	{ "/usr", false },
};

static bool
target_is_taken(const struct judge *judge, const char *dst)
{
	bool is_bounded = policy_get(judge->policy, POLICY_FS_MOUNTS)->is_bounded;

	for (size_t i = 0; i < HL_ARRAY_SIZE(targets); i++) {
		if (is_bounded && !targets[i].is_always)
			continue;
		if (hl_path_is_beneath(dst, targets[i].path) ||
		    hl_path_is_beneath(targets[i].path, dst))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------------------------------------
 * One mount
 */
static bool
has_control_bytes(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
		if (*p < 0x20 || *p == 0x7f)
			return true;
	}
	return false;
}

/* The attributes that a request cannot spell come from the policy's own mount at the same target.
 */
static void
inherit(const struct judge *judge, struct policy_mount *mount)
{
	const struct policy_value *value = policy_get(judge->policy, POLICY_FS_MOUNTS);

	mount->exec = true;
	mount->is_required = true;
	for (size_t i = 0; i < value->items_len; i++) {
		if (strcmp(value->items[i].mount.dst, mount->dst) != 0)
			continue;
		mount->exec = value->items[i].mount.exec;
		mount->is_required = value->items[i].mount.is_required;
	}
}

static int
judge_bound(struct judge *judge, const struct ask *ask, const struct policy_mount *mount)
{
	struct cause cause = { .cause = CAUSE_LOOSER, .control = "fs.mounts" };
	struct hl_origin origin = ask_origin(ask);
	struct policy_judgement judgement;

	if (policy_judge_mount(judge->policy, mount, &judgement, judge->err) == -1) {
		judge->err->code = HLC_09;
		return hl_err_wrap(judge->err, "argument %d: %s", ask->argument, ask->spelling);
	}
	if (judgement.verdict == POLICY_SAME) {
		conflict_note(judge, ask, "changes nothing: the policy has it already");
		return 0;
	}
	if (judgement.verdict == POLICY_LOOSER &&
	    conflict_add(judge, ask, &cause, &judgement) != CONFLICT_WON)
		return 0;
	if (judgement.verdict == POLICY_TIGHTER && target_is_taken(judge, mount->dst)) {
		cause.effect = "be run by programs or trust certificates of the caller's choice";
		if (conflict_add(judge, ask, &cause, NULL) != CONFLICT_WON)
			return 0;
	} else if (judgement.verdict == POLICY_TIGHTER) {
		judge->out->tightened++;
	}
	return policy_apply_mount(judge->policy, mount, &origin, judge->err);
}

int
judge_mount(struct judge *judge, const struct ask *ask, const struct mount_ask *asked)
{
	char *src HL_AUTO_FREE = NULL;
	char *dst HL_AUTO_FREE = NULL;
	char cwd[PATH_MAX];
	const struct deny_entry *entry = NULL;
	struct policy_mount mount = {
		.access = asked->is_writable ? POLICY_ACCESS_RW : POLICY_ACCESS_RO,
		.is_volume = asked->is_volume,
	};

	if (has_control_bytes(asked->src) || has_control_bytes(asked->dst))
		return judge_malformed(judge, ask, "SRC:DST[:ro|rw] without control characters");
	if (asked->src[0] == '\0' || asked->dst[0] != '/')
		return judge_malformed(judge, ask, "SRC:DST[:ro|rw] with an absolute DST");
	if (getcwd(cwd, sizeof(cwd)) == NULL)
		return hl_err_sys(judge->err, HLU_02, "cannot name the working directory");
	src = asked->is_volume ? strdup(asked->src) : hl_path_normalise(cwd, asked->src);
	dst = hl_path_normalise("/", asked->dst);
	if (src == NULL || dst == NULL)
		return hl_err_oom(judge->err);
	if (!asked->is_volume && source_is_forbidden(judge, src, &entry) == -1)
		return -1;
	if (entry != NULL) {
		forbid(judge, ask, entry);
		return 0;
	}
	mount.src = src;
	mount.dst = dst;
	inherit(judge, &mount);
	return judge_bound(judge, ask, &mount);
}

/* SRC may hold colons, DST is absolute: the last ":/" parts them. Two such places are one reading
 * too many. Without a mode the mount is writable, as with every engine. */
int
judge_mount_text(struct judge *judge, const struct ask *ask, const char *text)
{
	static const char form[] = "SRC:DST[:ro|rw]";
	char *copy HL_AUTO_FREE = strdup(text);
	struct mount_ask mount = { .is_writable = true };
	char *colon, *parting;
	size_t len = strlen(text);

	if (copy == NULL)
		return hl_err_oom(judge->err);
	if (len > 3 && (strcmp(copy + len - 3, ":ro") == 0 || strcmp(copy + len - 3, ":rw") == 0)) {
		mount.is_writable = copy[len - 1] == 'w';
		copy[len - 3] = '\0';
	}
	parting = strstr(copy, ":/");
	if (parting == NULL || parting == copy)
		return judge_malformed(judge, ask, form);
	if (strstr(parting + 1, ":/") != NULL) {
		hl_err_set(judge->err, HLC_09,
		    "argument %d: --mount can be read in two ways: "
		    "':/' is there twice",
		    ask->argument);
		return hl_err_help(judge->err, "name the mount under fs.mounts in a policy file");
	}
	colon = strchr(parting + 1, ':');
	if (colon != NULL)
		return judge_malformed(judge, ask, form);
	*parting = '\0';
	mount.src = copy;
	mount.dst = parting + 1;
	return judge_mount(judge, ask, &mount);
}
