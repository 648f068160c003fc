/*
 * process.seccomp.files: profiles as container engines read them, pinned by the SHA-256 of their
 * bytes. Such a file only narrows: what it does not let through is denied besides what the named
 * profile denies, on every backend in the same way, so that layers need no order among files. A
 * file of which anything has no counterpart here is refused as a whole; a rule that is left out
 * would be a call that is let through.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/base.h"
#include "launcher/json_in.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

enum {
	PROFILE_MAX = 1 << 20,
};

struct verdicts {
	const char *name; /* of the file */
	bool allows;      /* what no rule names */
	struct hl_strv allowed, denied;
};

static int
has_no_counterpart(const struct verdicts *v, struct hl_err *err, const char *what, const char *why)
{
	hl_err_set(err, HLD_23, "'%.200s' has %.80s", v->name, what);
	return hl_err_help(err, "%s", why);
}

/* What cannot be told apart from another action must not look like it. */
static int
read_action(const struct verdicts *v, const json_t *object, const char *key, bool *ret_allows,
    struct hl_err *err)
{
	const char *action = NULL;

	if (json_in_string(object, key, &action, err) != 0)
		return -1;
	*ret_allows = action != NULL && strcmp(action, "SCMP_ACT_ALLOW") == 0;
	if (*ret_allows || (action != NULL && strcmp(action, "SCMP_ACT_ERRNO") == 0))
		return 0;
	return has_no_counterpart(v, err, action != NULL ? action : "a rule without an action",
	    "only SCMP_ACT_ALLOW and SCMP_ACT_ERRNO are known: a denied call meets EPERM here");
}

static int
read_rule(struct verdicts *v, const json_t *rule, struct hl_err *err)
{
	static const char *const members[] = { "names", "action", "args", "errnoRet", "comment",
		NULL };
	struct hl_strv names HL_AUTO(hl_strv_done) = { 0 };
	uint64_t error = EPERM;
	bool allows;

	hl_strv_init(&names, PROFILE_MAX);
	if (json_in_only(rule, members, err) != 0 ||
	    read_action(v, rule, "action", &allows, err) != 0 ||
	    json_in_u64(rule, "errnoRet", UINT16_MAX, &error, err) != 0 ||
	    json_in_strings(rule, "names", &names, err) != 0)
		return -1;
	const json_t *args = json_object_get(rule, "args");
	if (args != NULL && !(json_is_array(args) && json_array_size(args) == 0))
		return has_no_counterpart(v, err, "a rule with arguments",
		    "leave it out: the named profiles have rules of their own for the arguments of "
		    "clone, personality, socket and the like");
	if (names.len == 0)
		return has_no_counterpart(v, err, "a rule without names",
		    "names says which calls it is about");
	for (size_t i = 0; i < names.len; i++) {
		if (confine_syscall_check(names.v[i], err) != 0)
			return -1;
		hl_strv_add(allows ? &v->allowed : &v->denied, names.v[i]);
	}
	return 0;
}

/* A filter for other machines only would end every command at its first call. */
static int
check_architectures(const struct verdicts *v, const json_t *root, struct hl_err *err)
{
	static const char *const names[CONFINE_ARCH_MAX] = {
		[CONFINE_ARCH_X86_64] = "SCMP_ARCH_X86_64",
		[CONFINE_ARCH_AARCH64] = "SCMP_ARCH_AARCH64",
	};
	struct hl_strv listed HL_AUTO(hl_strv_done) = { 0 };

	hl_strv_init(&listed, PROFILE_MAX);
	if (json_in_strings(root, "architectures", &listed, err) != 0)
		return -1;
	if (json_object_get(root, "architectures") == NULL ||
	    hl_strv_contains(&listed, names[confine_arch_native()]))
		return 0;
	return has_no_counterpart(v, err, "not this machine's architecture",
	    "add it to architectures, or leave that member out");
}

static int
read_profile(struct verdicts *v, const json_t *root, struct hl_err *err)
{
	static const char *const members[] = { "defaultAction", "defaultErrnoRet", "architectures",
		"syscalls", "comment", NULL };
	const json_t *rules = json_object_get(root, "syscalls"), *rule;
	uint64_t error = EPERM;
	size_t i;

	if (!json_is_object(root))
		return has_no_counterpart(v, err, "no object",
		    "a profile begins with {\"defaultAction\":");
	if (json_in_only(root, members, err) != 0 ||
	    read_action(v, root, "defaultAction", &v->allows, err) != 0 ||
	    json_in_u64(root, "defaultErrnoRet", UINT16_MAX, &error, err) != 0 ||
	    check_architectures(v, root, err) != 0)
		return -1;
	if (rules != NULL && !json_is_array(rules))
		return has_no_counterpart(v, err, "no list of syscalls", "syscalls is a list");
	json_array_foreach(rules, i, rule)
	{
		if (!json_is_object(rule))
			return has_no_counterpart(v, err, "a rule that is no object",
			    "a rule is {\"names\": [...], \"action\": \"SCMP_ACT_...\"}");
		if (read_rule(v, rule, err) != 0)
			return -1;
	}
	return hl_strv_check(&v->allowed, "calls", err) != 0
		   ? -1
		   : hl_strv_check(&v->denied, "calls", err);
}

/* One buffer is hashed and read, so that it is the same file. */
static int
read_bytes(const char *path, const char *sha256, struct hl_buf *bytes, struct hl_err *err)
{
	int fd HL_AUTO_FD = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	char found[HL_SHA256_HEX_SIZE];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return hl_err_sys(err, HLD_23, "cannot open '%.200s'", path);
	if (!S_ISREG(st.st_mode))
		return hl_err_set(err, HLD_23, "'%.200s' is no regular file", path);
	if (hl_read_file(fd, bytes, path, HLD_23, err) != 0)
		return -1;
	hl_sha256_text(bytes->data, bytes->len, found);
	if (strcmp(found, sha256) == 0)
		return 0;
	hl_err_set(err, HLD_23, "'%.200s' is another file than the policy names", path);
	return hl_err_help(err, "its SHA-256 is %s", found);
}

/* A call that one rule allows and another one denies is denied. */
static void
deny_rest(const struct verdicts *v, struct plan *plan)
{
	const char *name;

	for (size_t i = 0; (name = confine_syscall_name(i)) != NULL; i++) {
		bool is_let = (v->allows || hl_strv_contains(&v->allowed, name)) &&
			      !hl_strv_contains(&v->denied, name);
		if (!is_let && !hl_strv_contains(&plan->seccomp_deny, name))
			hl_strv_add(&plan->seccomp_deny, name);
	}
}

static int
read_file(const char *path, const char *sha256, struct plan *plan, struct hl_err *err)
{
	struct verdicts v = { .name = path };
	struct hl_buf bytes HL_AUTO(hl_buf_done) = { 0 };
	json_t *root = NULL;

	hl_buf_init(&bytes, PROFILE_MAX);
	hl_strv_init(&v.allowed, PROFILE_MAX);
	hl_strv_init(&v.denied, PROFILE_MAX);
	int result = read_bytes(path, sha256, &bytes, err);
	if (result == 0)
		result = json_in_parse(bytes.data, bytes.len, &root, err);
	if (result == 0)
		result = read_profile(&v, root, err);
	/* What JSON and names are wrong about is wrong about this file. */
	if (result != 0 && err->code != HLI_01 && err->code != HLD_23) {
		err->code = HLD_23;
		(void)hl_err_wrap(err, "'%.200s'", path);
	}
	if (result == 0)
		deny_rest(&v, plan);
	json_decref(root);
	hl_strv_done(&v.allowed);
	hl_strv_done(&v.denied);
	return result;
}

static int
read_record(const struct policy_record *record, const struct host *host, struct plan *plan,
    struct hl_err *err)
{
	const char *sha256 = policy_record_get(record, "sha256");
	HL_AUTO_FREE char *path = NULL;

	if (plan_text_expand(policy_record_get(record, "file"), host, NULL, &path, err) != 0 ||
	    read_file(path, sha256, plan, err) != 0)
		return -1;
	hl_strv_addf(&plan->seccomp_files, "%s sha256 %s", path, sha256);
	return 0;
}

int
plan_seccomp_files(const struct policy *policy, const struct host *host, struct plan *plan,
    struct hl_err *err)
{
	const struct policy_value *value = policy_get(policy, POLICY_PROCESS_SECCOMP_FILES);

	hl_strv_init(&plan->seccomp_files, PROFILE_MAX);
	plan->seccomp_files_origin = value->origin;
	if (value->items_len == 0 || plan_is_scrub(plan))
		return 0; /* at scrub there is no filter, which plan_effect() tells */
	if (plan->seccomp_deny.len == 0)
		plan->seccomp_deny_origin = value->origin;
	for (size_t i = 0; i < value->items_len; i++) {
		err->where = value->items[i].origin.where;
		/* Without a named profile a call that this program does not know would pass. */
		if (plan->seccomp == CONFINE_PROFILE_NONE)
			hl_err_set(err, HLD_21,
			    "process.seccomp.files is not offered with process.seccomp.profile none");
		else if (read_record(value->items[i].record, host, plan, err) == 0)
			continue;
		err->where = value->items[i].origin.where;
		return hl_err_wrap(err, "process.seccomp.files");
	}
	return hl_strv_check(&plan->seccomp_files, "process.seccomp.files", err);
}

void
plan_seccomp_hint(const struct plan *plan, struct hl_err *err)
{
	static const enum hl_code codes[] = { HLB_02, HLB_05, HLB_06, HLB_07 };

	for (size_t i = 0; i < HL_ARRAY_SIZE(codes); i++)
		if (err->code == codes[i] && err->help[0] == '\0' && plan->seccomp_files.len > 0)
			(void)hl_err_help(err,
			    "a call that it needs may be denied by process.seccomp.files: %.300s",
			    plan->seccomp_files.v[0]);
}
