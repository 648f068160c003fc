/*
 * process.seccomp.files: what a file does not let through is denied besides, and a file that is
 * another one, or says what has no counterpart, is refused as a whole.
 */
#include "plan_fixture.h"

#define ALLOW_BUT(names)                                                                  \
 "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[" names "],\"action\":" \
 "\"SCMP_ACT_ERRNO\"}]}"

static void
name_file(struct fixture *fixture, const char *json, const char *profile, char *text, size_t size)
{
	char sha256[HL_SHA256_HEX_SIZE];

	make_file(at(fixture, "profile.json"), json);
	hl_sha256_text(json, strlen(json), sha256);
	snprintf(text, size, "process: {seccomp: {profile: %s, files: [{file: %s, sha256: %s}]}}\n",
	    profile, at(fixture, "profile.json"), sha256);
}

static bool
is_denied(const struct fixture *fixture, const char *name)
{
	return hl_strv_contains(&fixture->plan.seccomp_deny, name);
}

static void
a_file_narrows(void **state)
{
	struct fixture *fixture = *state;
	char text[1024];

	name_file(fixture, ALLOW_BUT("\"ptrace\",\"mknod\""), "default", text, sizeof(text));
	assert_planned(fixture, text);
	assert_int_equal(fixture->plan.seccomp_deny.len, 2);
	assert_true(is_denied(fixture, "ptrace") && is_denied(fixture, "mknod"));
	assert_int_equal(fixture->plan.seccomp_files.len, 1);
	assert_string_equal(fixture->plan.seccomp_files_origin.layer, "task");
	assert_string_equal(fixture->plan.seccomp_deny_origin.layer, "task");
	/* Nothing that the named profile denies comes back by it. */
	assert_int_equal(fixture->plan.seccomp, CONFINE_PROFILE_DEFAULT);
	assert_planned(fixture, "");
	assert_int_equal(fixture->plan.seccomp_deny.len, 0);
}

static void
what_it_does_not_name_is_denied(void **state)
{
	struct fixture *fixture = *state;
	char text[1024];

	name_file(fixture,
	    "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":1,\"architectures\":"
	    "[\"SCMP_ARCH_X86_64\",\"SCMP_ARCH_AARCH64\"],\"syscalls\":["
	    "{\"names\":[\"read\",\"write\",\"execve\",\"exit_group\",\"poll\",\"ppoll\",\"close\"],\"action\":"
	    "\"SCMP_ACT_ALLOW\",\"args\":[]},"
	    "{\"names\":[\"close\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":38}]}",
	    "default", text, sizeof(text));
	assert_planned(fixture, text);
	assert_false(is_denied(fixture, "read") || is_denied(fixture, "execve"));
	/* Two answers for one call: the one that denies. */
	assert_true(is_denied(fixture, "close"));
	assert_true(is_denied(fixture, "openat") && is_denied(fixture, "bpf"));
}

static void
it_adds_to_what_is_denied(void **state)
{
	struct fixture *fixture = *state;
	char text[1024];

	name_file(fixture, ALLOW_BUT("\"ptrace\""), "default, deny: [bpf, ptrace]", text,
	    sizeof(text));
	assert_planned(fixture, text);
	assert_int_equal(fixture->plan.seccomp_deny.len, 2);
	assert_string_equal(fixture->plan.seccomp_deny.v[0], "bpf");
}

static void
another_file_is_refused(void **state)
{
	struct fixture *fixture = *state;
	char text[1024];

	name_file(fixture, ALLOW_BUT("\"ptrace\""), "default", text, sizeof(text));
	make_file(at(fixture, "profile.json"), ALLOW_BUT("\"mknod\""));
	assert_refused(fixture, text, HLD_23, "is another file than the policy names");
	/* Not in mode warn either: nobody knows what it would deny. */
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "mode: warn\n");
	assert_refused(fixture, text, HLD_23, "is another file");
	assert_int_equal(unlink(at(fixture, "profile.json")), 0);
	assert_refused(fixture, text, HLD_23, "cannot open");
	assert_int_equal(symlink("/dev/null", at(fixture, "profile.json")), 0);
	assert_refused(fixture, text, HLD_23, "cannot open");
	assert_int_equal(unlink(at(fixture, "profile.json")), 0);
	make_dir(at(fixture, "profile.json"));
	assert_refused(fixture, text, HLD_23, "no regular file");
	assert_int_equal(rmdir(at(fixture, "profile.json")), 0);
}

/* Each of them a rule, or more, that would be lost. */
static const struct {
	const char *json, *word;
} bad[] = {
	{ "", "not JSON" },
	{ "[]", "no object" },
	{ "{}", "without an action" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"defaultAction\":\"SCMP_ACT_ERRNO\"}",
	    "not JSON" },
	{ "{\"defaultAction\":\"SCMP_ACT_LOG\"}", "SCMP_ACT_LOG" },
	{ "{\"defaultAction\":\"SCMP_ACT_KILL_PROCESS\"}", "SCMP_ACT_KILL_PROCESS" },
	{ "{\"defaultAction\":\"scmp_act_allow\"}", "scmp_act_allow" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"flags\":[\"SECCOMP_FILTER_FLAG_LOG\"]}",
	    "flags" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"archMap\":[]}", "archMap" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"SCMP_ARCH_S390X\"]}",
	    "not this machine's architecture" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[]}",
	    "not this machine's architecture" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":7}", "architectures" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":{}}", "no list of syscalls" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[7]}", "a rule that is no object" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"]}]}",
	    "without an action" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],\"action\":"
	  "\"SCMP_ACT_TRAP\"}]}",
	    "SCMP_ACT_TRAP" },
	{ "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"clone\"],\"action\":"
	  "\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_EQ\"}]}]}",
	    "arguments" },
	{ "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"clone\"],\"action\":"
	  "\"SCMP_ACT_ALLOW\",\"includes\":{\"caps\":[\"CAP_SYS_ADMIN\"]}}]}",
	    "includes" },
	{ "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"clone\"],\"action\":"
	  "\"SCMP_ACT_ALLOW\",\"args\":{\"index\":0}}]}",
	    "arguments" },
	{ "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"clone\"],\"action\":"
	  "\"SCMP_ACT_ALLOW\",\"args\":\"x\"}]}",
	    "arguments" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"action\":\"SCMP_ACT_ERRNO\"}]}",
	    "without names" },
	{ ALLOW_BUT("\"ptrcae\""), "ptrcae" },
	{ ALLOW_BUT("7"), "names" },
};

static void
what_has_no_counterpart_is_refused(void **state)
{
	struct fixture *fixture = *state;
	char text[1024];

	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		name_file(fixture, bad[i].json, "default", text, sizeof(text));
		if (plan_of(fixture, text) == 0)
			fail_msg("planned: %s", bad[i].json);
		if (fixture->err.code != HLD_23 || strstr(fixture->err.msg, bad[i].word) == NULL ||
		    strstr(fixture->err.msg, "profile.json") == NULL)
			fail_msg("%s: %s", bad[i].json, fixture->err.msg);
		assert_non_null(fixture->err.where.file);
	}
}

static void
add_isolation(char *text, size_t size)
{
	size_t len = strlen(text);

	snprintf(text + len, size - len, "local: {isolation: confined}\n");
}

/* The text as an organisation's, and a team's file above it that wants no profile. */
static int
load_below_none(struct fixture *fixture, const char *text)
{
	const char *const files[] = { at(fixture, "policies/p.yaml"),
		at(fixture, "policies/team.yaml") };
	const struct policy_load_request load = {
		.files = files,
		.files_len = 2,
		.cwd = fixture->work,
		.caller = getuid(),
		.home = fixture->home,
	};
	char org[2048];

	snprintf(org, sizeof(org), "layer: org\n%s", text);
	assert_int_equal(load_text(fixture, "open@1", org), 0);
	make_file(files[1], "version: 1\nid: test/team\nprocess: {seccomp: {profile: none}}\n");
	unload(fixture);
	return policy_load(&load, &fixture->policy, &fixture->findings, &fixture->err);
}

/* A call that this program does not know would pass where no named profile is below. In one file
 * that is a contradiction, of two it is found when they are one policy. */
static void
a_named_profile_is_below(void **state)
{
	struct fixture *fixture = *state;
	char text[1024];

	name_file(fixture, ALLOW_BUT("\"ptrace\""), "none", text, sizeof(text));
	add_isolation(text, sizeof(text));
	assert_int_equal(load_text(fixture, "open@1", text), -1);
	assert_int_equal(fixture->err.code, HLP_15);
	name_file(fixture, ALLOW_BUT("\"ptrace\""), "{max: none}", text, sizeof(text));
	add_isolation(text, sizeof(text));
	assert_int_equal(load_below_none(fixture, text), -1);
	assert_int_equal(fixture->err.code, HLP_15);
	assert_string_equal(fixture->err.where.file, at(fixture, "policies/p.yaml"));
	name_file(fixture, ALLOW_BUT("\"ptrace\""), "broad", text, sizeof(text));
	add_isolation(text, sizeof(text));
	assert_int_equal(load_text(fixture, "open@1", text), 0);
	if (build_plan(fixture) != 0)
		fail_msg("%s", fixture->err.msg);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_narrows, setup, teardown),
		cmocka_unit_test_setup_teardown(what_it_does_not_name_is_denied, setup, teardown),
		cmocka_unit_test_setup_teardown(it_adds_to_what_is_denied, setup, teardown),
		cmocka_unit_test_setup_teardown(another_file_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(what_has_no_counterpart_is_refused, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(a_named_profile_is_below, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
