/*
 * What the runner is to read back from inside of what an engine applied. From the settings and not
 * from the plan: an argument of the caller's that was let through is in them.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/docker/lower.h"
#include "backends/docker/rootless.h"
#include "backends/docker/settings.h"

#include "base/banned.h"

enum {
	NAMES_MAX = 128 * 1024
};

/* "uid:gid" as numbers; names mean what the image says. */
static bool
sees_ids(const char *user, uint64_t *ret_uid, uint64_t *ret_gid)
{
	struct hl_err ignored = { 0 };
	const char *colon = strchr(user, ':');
	char uid[16];

	if (colon == NULL || (size_t)(colon - user) >= sizeof(uid))
		return false;
	memcpy(uid, user, (size_t)(colon - user));
	uid[colon - user] = '\0';
	return hl_parse_u64(uid, 0, UINT32_MAX - 1, ret_uid, &ignored) == 0 &&
	       hl_parse_u64(colon + 1, 0, UINT32_MAX - 1, ret_gid, &ignored) == 0;
}

/* ------------------------------------------------------------------------------------------------
 * Mounts
 */

/* By an option of these an engine, or its runtime, mounts what nobody can list here. A device is
 * not among them: one that the engine makes is no mount, one that it binds is a node below /dev, as
 * each of its own is. */
static bool
mounts_are_known(const struct docker_settings *settings)
{
	static const enum docker_option_id unknown[] = { DOCKER_PRIVILEGED, DOCKER_VOLUME,
		DOCKER_VOLUMES_FROM, DOCKER_RUNTIME, DOCKER_CGROUPNS };

	for (size_t i = 0; i < settings->len; i++) {
		const struct docker_setting *setting = &settings->items[i];
		for (size_t option = 0; option < HL_ARRAY_SIZE(unknown); option++)
			if (setting->option == unknown[option])
				return false;
		if (setting->option == DOCKER_SECURITY_OPT &&
		    strncmp(setting->text, "systempaths", 11) == 0)
			return false;
	}
	return true;
}

/* "rw,nosuid,nodev,noexec,size=1024,...": a share of the memory is no number. */
static void
read_tmpfs_options(const char *options, struct confine_op *op)
{
	for (const char *at = options; *at != '\0';) {
		size_t len = strcspn(at, ",");
		char number[32] = "";
		uint64_t size;
		struct hl_err ignored = { 0 };
		if (len == 6 && memcmp(at, "noexec", 6) == 0)
			op->flags |= CONFINE_OP_NOEXEC;
		if (len > 5 && len - 5 < sizeof(number) && memcmp(at, "size=", 5) == 0)
			memcpy(number, at + 5, len - 5);
		if (hl_parse_u64(number, 1, UINT64_MAX, &size, &ignored) == 0)
			op->size = size;
		at += len + (at[len] == ',' ? 1 : 0);
	}
}

/* For these the runtime of a driver mounts its libraries and sets variables. */
static bool
has_gpus(const struct docker_settings *settings)
{
	for (size_t i = 0; i < settings->len; i++) {
		const struct docker_setting *setting = &settings->items[i];
		if (setting->option == DOCKER_GPUS ||
		    (setting->option == DOCKER_DEVICE && setting->other == NULL))
			return true;
	}
	return false;
}

static bool
is_mount(const struct docker_setting *setting)
{
	return setting->option == DOCKER_MOUNT || setting->option == DOCKER_TMPFS ||
	       (setting->option == DOCKER_READ_ONLY && setting->number != 0);
}

static void
fill_op(const struct docker_setting *setting, struct lowered *lowered, struct confine_op *op)
{
	bool is_tmpfs = setting->option == DOCKER_TMPFS;

	op->kind = is_tmpfs ? CONFINE_OP_TMPFS : CONFINE_OP_BIND;
	op->src = "/";
	op->dst =
	    setting->option == DOCKER_READ_ONLY ? "/" : lowered_string(lowered, setting->text);
	if (is_tmpfs)
		read_tmpfs_options(setting->other, op);
	else if (setting->number != 0)
		op->flags |= CONFINE_OP_RDONLY;
}

static void
expect_mounts(const struct docker_settings *settings, struct lowered *lowered)
{
	struct confinement *confinement = &lowered->confinement;
	size_t len = 0;

	if (!mounts_are_known(settings))
		return;
	for (size_t i = 0; i < settings->len; i++) {
		const struct docker_setting *setting = &settings->items[i];
		if (is_mount(setting) && setting->option != DOCKER_READ_ONLY &&
		    !hl_path_is_normal(setting->text))
			return;
		len += is_mount(setting) ? 1 : 0;
	}
	/* The runner at least; and more than the settings' maximum there cannot be. */
	HL_BUG_ON(len == 0 || len > CONFINE_OPS_MAX);
	confinement->ops = calloc(len, sizeof(*confinement->ops));
	if (confinement->ops == NULL) {
		lowered->failed = true;
		return;
	}
	for (size_t i = 0; i < settings->len; i++)
		if (is_mount(&settings->items[i]))
			fill_op(&settings->items[i], lowered,
			    &confinement->ops[confinement->ops_len++]);
	confinement->flags |= CONFINE_SEEN_MOUNTS;
	if (has_gpus(settings))
		confinement->flags |= CONFINE_SEEN_DRIVER;
}

/* ------------------------------------------------------------------------------------------------
 * The environment of the first process
 */

/* Of "name=value". */
static void
put_name(struct hl_buf *names, const char *text)
{
	hl_buf_put(names, text, strcspn(text, "="));
	hl_buf_putc(names, '\n');
}

/* What engines set by themselves, and what the caller had let through. */
static void
expect_env(const struct docker_settings *settings, struct lowered *lowered)
{
	struct hl_buf names;

	hl_buf_init(&names, NAMES_MAX);
	hl_buf_puts(&names, "PATH\nHOSTNAME\nHOME\nTERM\ncontainer\n");
	if (has_gpus(settings))
		hl_buf_puts(&names, "NVIDIA_VISIBLE_DEVICES\nNVIDIA_DRIVER_CAPABILITIES\n"
				    "AMD_VISIBLE_DEVICES\n");
	for (size_t i = 0; i < settings->len; i++)
		if (settings->items[i].option == DOCKER_ENV)
			put_name(&names, settings->items[i].text);
	lowered->failed |= names.failed;
	lowered->confinement.seen_env = lowered_string(lowered, names.data);
	lowered->confinement.flags |= CONFINE_SEEN_ENV;
	hl_buf_done(&names);
}

void
docker_expect(const struct docker_settings *settings, const struct plan *plan,
    struct lowered *lowered)
{
	struct confinement *confinement = &lowered->confinement;
	struct hl_err ignored = { 0 };
	bool is_privileged = false, has_filter = false, has_groups = false, has_user = false;
	uint64_t uid, gid, caps = 0;

	for (size_t i = 0; i < settings->len; i++) {
		const struct docker_setting *setting = &settings->items[i];
		uint64_t cap;
		if (setting->option == DOCKER_PRIVILEGED)
			is_privileged = setting->number != 0;
		else if (setting->option == DOCKER_GROUP_ADD)
			has_groups = true;
		else if (setting->option == DOCKER_SECURITY_OPT)
			has_filter = strcmp(setting->text, "seccomp=unconfined") == 0
					 ? false
					 : has_filter || strncmp(setting->text, "seccomp=", 8) == 0;
		else if (setting->option == DOCKER_CAP_ADD)
			caps |= confine_cap_parse(setting->text, &cap, &ignored) == 0 ? cap
										      : UINT64_MAX;
		has_user = has_user || setting->option == DOCKER_USER;
		if (setting->option == DOCKER_USER && sees_ids(setting->text, &uid, &gid)) {
			confinement->uid = (uint32_t)uid;
			confinement->gid = (uint32_t)gid;
			confinement->flags |= CONFINE_SEEN_IDENTITY;
		}
	}
	if (plan->no_new_privs)
		confinement->flags |= CONFINE_NO_NEW_PRIVS;
	if (!has_groups && (confinement->flags & CONFINE_SEEN_IDENTITY) != 0)
		confinement->flags |= CONFINE_SEEN_GROUPS;
	/* What an image says of its user its own account file makes numbers of, group 0 where it is
	 * silent. */
	if (plan->user_kind == PLAN_USER_IMAGE && !plan->allow_root && !has_user)
		confinement->flags |= CONFINE_SEEN_NOT_ROOT |
				      (has_groups ? 0U : (uint32_t)CONFINE_SEEN_NO_ROOT_GROUP);
	if (plan_keeps_id(plan) && confinement->uid == plan->uid &&
	    (confinement->flags & CONFINE_SEEN_IDENTITY) != 0)
		confinement->flags |= CONFINE_SEEN_KEPT_ID;
	expect_env(settings, lowered);
	expect_mounts(settings, lowered);
	if (is_privileged)
		return; /* an engine gives it everything and no filter */
	confinement->caps_bounding = caps;
	confinement->flags |= CONFINE_SEEN_CAPS;
	if (has_filter)
		confinement->flags |= CONFINE_SEEN_SECCOMP;
}

int
docker_expect_call(const struct docker_call *call, struct hl_buf *out, struct hl_err *err)
{
	struct confinement confinement = call->lowered->confinement;
	const struct plan_number *limits = call->plan->limits;
	struct hl_buf names;

	hl_buf_init(&names, NAMES_MAX);
	if (confinement.seen_env != NULL)
		hl_buf_puts(&names, confinement.seen_env);
	for (size_t i = 0; i < call->image_env->len; i++)
		put_name(&names, call->image_env->v[i]);
	confinement.seen_env = names.data;
	if ((call->limits & 1U << PLAN_LIMIT_PIDS) != 0)
		confinement.seen_pids = limits[PLAN_LIMIT_PIDS].value;
	if ((call->limits & 1U << PLAN_LIMIT_MEMORY) != 0)
		confinement.seen_memory = limits[PLAN_LIMIT_MEMORY].value;
	if ((call->limits & 1U << PLAN_LIMIT_CPUS) != 0)
		confinement.seen_cpus = limits[PLAN_LIMIT_CPUS].value;
	if (confinement.seen_pids != 0 && docker_pids_by_nproc(call->plan)) {
		confinement.flags |= CONFINE_SEEN_NPROC;
		confinement.seen_pids =
		    docker_rlimit_within(call->plan, "nproc", confinement.seen_pids);
	}
	if (confinement.seen_pids != 0 || confinement.seen_memory != 0 ||
	    confinement.seen_cpus != 0)
		confinement.flags |= CONFINE_SEEN_LIMITS;
	int status = hl_buf_check(&names, "names of the image's variables", err);
	if (status == 0)
		status = confine_encode(&confinement, out, err);
	hl_buf_done(&names);
	return status;
}
