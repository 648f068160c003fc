/*
 * Who the command is and what it may do: user, capabilities, no_new_privs, system calls, isolation.
 *
 * A root caller's command is root only where a policy says allow_root; otherwise it runs as
 * 65534:65534, a number that owns nothing, on every backend alike.
 */
#include <sys/syscall.h>

#include <string.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

enum {
	PLAN_UID_NOBODY = 65534
};

static int
refuse_root(const struct policy_value *value, struct hl_err *err)
{
	hl_err_set(err, HLC_75,
	    "process.user '%s' is root, which process.allow_root does not allow", value->text);
	err->where = value->origin.where;
	return hl_err_help(err, "name another uid:gid, or set process.allow_root: true");
}

/* A caller who is not root and whose group is 0, as where a container is given any user. */
static int
refuse_caller(const struct policy_value *value, const struct plan *plan, struct hl_err *err)
{
	hl_err_set(err, HLC_75,
	    "the caller %u:%u is in root's group, which process.allow_root does not allow",
	    plan->uid, plan->gid);
	err->where = value->origin.where;
	return hl_err_help(err,
	    "call hermes-launch with another group (newgrp, setpriv --regid), or set "
	    "process.allow_root: true");
}

/* What the runner saw of an image's own user (CONFINE_SEEN_NOT_ROOT). */
void
plan_user_hint(const struct plan *plan, struct hl_err *err)
{
	static const char *const keys[] = { "Uid:", "Gid:", "Groups:" };

	if (err->code != HLB_02 || err->help[0] != '\0' || plan->user_kind != PLAN_USER_IMAGE ||
	    plan->allow_root)
		return;
	for (size_t i = 0; i < HL_ARRAY_SIZE(keys); i++)
		if (strstr(err->msg, keys[i]) != NULL)
			(void)hl_err_help(err,
			    "the image's own user is root or in root's group, as one is whose USER "
			    "names no group: give process.user as uid:gid, or let the policy say "
			    "process.allow_root");
}

/* "uid:gid". */
static int
parse_ids(const struct policy_value *value, struct plan *plan, struct hl_err *err)
{
	char uid_text[16];
	uint64_t uid, gid;
	size_t n = strcspn(value->text, ":");

	if (value->text[n] != ':' || n >= sizeof(uid_text))
		return hl_err_set(err, HLU_11,
		    "process.user '%.64s' is not caller, image or uid:gid", value->text);
	memcpy(uid_text, value->text, n);
	uid_text[n] = '\0';
	/* 4294967295 is (uid_t)-1, "no change" to setresuid(2). */
	if (hl_parse_u64(uid_text, 0, UINT32_MAX - 1, &uid, err) != 0 ||
	    hl_parse_u64(value->text + n + 1, 0, UINT32_MAX - 1, &gid, err) != 0)
		return hl_err_wrap(err, "process.user '%.64s'", value->text);
	if ((uid == 0 || gid == 0) && !plan->allow_root)
		return refuse_root(value, err);
	plan->uid = (uint32_t)uid;
	plan->gid = (uint32_t)gid;
	return 0;
}

static int
check_local_ids(const struct host *host, const struct plan *plan, struct hl_err *err)
{
	if (!plan_is_local(plan) || host->uid == 0 ||
	    (plan->uid == host->uid && plan->gid == host->gid))
		return 0;
	hl_err_set(err, HLD_21, "process.user %u:%u is not offered on local to user %u", plan->uid,
	    plan->gid, (unsigned)host->uid);
	return hl_err_help(err,
	    "an ordinary user's command runs as that user (user_namespaces(7)): use 'caller'");
}

static int
plan_user(const struct policy *policy, const struct host *host, struct plan *plan,
    struct hl_err *err)
{
	const struct policy_value *value = policy_get(policy, POLICY_PROCESS_USER);

	plan->allow_root = policy_get(policy, POLICY_PROCESS_ALLOW_ROOT)->number != 0;
	plan->user_origin = value->origin;
	if (strcmp(value->text, "caller") == 0) {
		bool is_swapped = host->uid == 0 && !plan->allow_root;
		plan->user_kind = PLAN_USER_CALLER;
		plan->uid = is_swapped ? PLAN_UID_NOBODY : host->uid;
		plan->gid = is_swapped ? PLAN_UID_NOBODY : host->gid;
		return plan->gid == 0 && !plan->allow_root ? refuse_caller(value, plan, err) : 0;
	}
	if (strcmp(value->text, "image") != 0) {
		plan->user_kind = PLAN_USER_NUMERIC;
		return parse_ids(value, plan, err) != 0 ? -1 : check_local_ids(host, plan, err);
	}
	plan->user_kind = PLAN_USER_IMAGE;
	if (!plan_is_local(plan))
		return 0;
	hl_err_set(err, HLD_21, "process.user 'image' is not offered on local: there is no image");
	err->where = value->origin.where;
	return hl_err_help(err, "write 'caller' or uid:gid");
}

static int
plan_caps(const struct policy *policy, struct plan *plan, struct hl_err *err)
{
	const struct policy_value *value = policy_get(policy, POLICY_PROCESS_CAPS);

	plan->caps_origin = value->origin;
	for (size_t i = 0; i < value->items_len; i++) {
		uint64_t mask;
		if (confine_cap_parse(value->items[i].text, &mask, err) != 0) {
			err->where = value->items[i].origin.where;
			return hl_err_wrap(err, "process.caps");
		}
		plan->caps |= mask;
	}
	return 0;
}

/* Without them no command begins, says anything or ends: it would be left hanging. */
static int
check_needed_calls(const struct plan *plan, struct hl_err *err)
{
	static const char *const needed[] = {
		"execve",
		"exit_group",
#ifdef SYS_poll
		"poll", /* the runner's, which hears and ends the command by it */
#else
		"ppoll",
#endif
		"read",
		"write",
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(needed); i++) {
		if (!hl_strv_contains(&plan->seccomp_deny, needed[i]))
			continue;
		hl_err_set(err, HLD_21, "'%s' is denied, which every command needs", needed[i]);
		err->where = plan->seccomp_deny_origin.where;
		return hl_err_help(err,
		    "take it out of process.seccomp.deny, or let the profile of process.seccomp.files allow it");
	}
	return 0;
}

static int
plan_denied_calls(const struct policy *policy, const struct host *host, struct plan *plan,
    struct hl_err *err)
{
	const struct policy_value *value = policy_get(policy, POLICY_PROCESS_SECCOMP_DENY);

	plan->seccomp_deny_origin = value->origin;
	hl_strv_init(&plan->seccomp_deny, CONFINE_BPF_MAX);
	for (size_t i = 0; i < value->items_len; i++) {
		if (confine_syscall_check(value->items[i].text, err) != 0) {
			err->where = value->items[i].origin.where;
			return hl_err_wrap(err, "process.seccomp.deny");
		}
		hl_strv_add(&plan->seccomp_deny, value->items[i].text);
	}
	if (plan_seccomp_files(policy, host, plan, err) != 0)
		return -1;
	if (check_needed_calls(plan, err) != 0)
		return -1;
	hl_strv_sort(&plan->seccomp_deny);
	return hl_strv_check(&plan->seccomp_deny, "process.seccomp.deny", err);
}

int
plan_process(const struct policy *policy, const struct request *request, const struct host *host,
    struct plan *plan, struct hl_err *err)
{
	const struct policy_value *nnp = policy_get(policy, POLICY_PROCESS_NO_NEW_PRIVS);
	const struct policy_value *seccomp = policy_get(policy, POLICY_PROCESS_SECCOMP_PROFILE);
	const struct policy_value *isolation = policy_get(policy, POLICY_LOCAL_ISOLATION);
	const struct policy_value *landlock = policy_get(policy, POLICY_FS_LANDLOCK);
	const struct policy_value *mask = policy_get(policy, POLICY_PROCESS_UMASK);

	(void)request; /* what it asked has been judged and is in the policy */
	plan->no_new_privs = nnp->number != 0;
	plan->no_new_privs_origin = nnp->origin;
	plan->seccomp = (enum confine_profile)seccomp->number;
	plan->seccomp_origin = seccomp->origin;
	plan->umask = (uint32_t)mask->number;
	plan->umask_origin = mask->origin;
	plan->isolation = (enum plan_isolation)isolation->number;
	plan->isolation_origin = isolation->origin;
	plan->landlock = landlock->number == 0 && plan_is_local(plan);
	/* Unasked, it is applied where the kernel has it and recorded as missing where not. */
	plan->landlock_may_degrade = !landlock->is_explicit || !plan_is_enforced(policy) ||
				     policy_may_degrade(policy, "fs.landlock", NULL);
	if (plan_user(policy, host, plan, err) != 0 ||
	    plan_denied_calls(policy, host, plan, err) != 0)
		return -1;
	return plan_caps(policy, plan, err);
}
