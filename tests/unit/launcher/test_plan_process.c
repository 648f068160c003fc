/*
 * User, capabilities, privileges.
 */
#include "plan_fixture.h"

#define DOCKER "backends: [docker]\nimage: [\"x@sha256:" DIGEST "\"]\n"
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void
be(struct fixture *fixture, uid_t id)
{
	fixture->host.uid = id;
	fixture->host.gid = id;
	fixture->host.user = id == 0 ? "root" : "alice";
}

static void
test_caller(void **state)
{
	static const char *const backends[] = { "", DOCKER };
	struct fixture *fixture = *state;
	char text[512];

	for (size_t i = 0; i < HL_ARRAY_SIZE(backends); i++) {
		be(fixture, 1000);
		assert_planned(fixture, backends[i]);
		assert_int_equal(fixture->plan.user_kind, PLAN_USER_CALLER);
		assert_int_equal(fixture->plan.uid, 1000);
		assert_int_equal(fixture->plan.gid, 1000);
		be(fixture, 0);
		assert_planned(fixture, backends[i]);
		assert_int_equal(fixture->plan.uid, 65534);
		assert_int_equal(fixture->plan.gid, 65534);
		snprintf(text, sizeof(text), "%sprocess: {allow_root: true}\n", backends[i]);
		assert_planned(fixture, text);
		assert_int_equal(fixture->plan.uid, 0);
		assert_int_equal(fixture->plan.gid, 0);
	}
}

/* Group 0 is root's, also where it is the caller's own. */
static void
test_caller_in_root_s_group(void **state)
{
	static const char *const backends[] = { "", DOCKER };
	struct fixture *fixture = *state;
	char text[512];

	for (size_t i = 0; i < HL_ARRAY_SIZE(backends); i++) {
		be(fixture, 1000);
		fixture->host.gid = 0;
		assert_refused(fixture, backends[i], HLC_75, "1000:0 is in root's group");
		assert_non_null(strstr(fixture->err.help, "allow_root"));
		snprintf(text, sizeof(text), "%sprocess: {allow_root: true}\n", backends[i]);
		assert_planned(fixture, text);
		assert_int_equal(fixture->plan.gid, 0);
		fixture->host.gid = 1000;
		assert_planned(fixture, backends[i]);
	}
}

static void
test_numeric(void **state)
{
	struct fixture *fixture = *state;

	be(fixture, 0);
	assert_planned(fixture, "process: {user: \"4000:5000\"}\n");
	assert_int_equal(fixture->plan.user_kind, PLAN_USER_NUMERIC);
	assert_int_equal(fixture->plan.uid, 4000);
	assert_int_equal(fixture->plan.gid, 5000);
	/* an ordinary user of this host has one identity only */
	be(fixture, 1000);
	assert_refused(fixture, "process: {user: \"4000:5000\"}\n", HLD_21, "4000:5000");
	assert_planned(fixture, "process: {user: \"1000:1000\"}\n");
	assert_planned(fixture, DOCKER "process: {user: \"4000:5000\"}\n");
}

/* What the policy room lets by, the plan still judges. */
static void
test_root_needs_allow_root(void **state)
{
	static const char *const users[] = { "0:0", "0:4000", "4000:0" };
	struct fixture *fixture = *state;
	const struct hl_origin origin = { .layer = "caller", .where.file = "--user" };

	be(fixture, 0);
	for (size_t i = 0; i < HL_ARRAY_SIZE(users); i++) {
		assert_planned(fixture, "");
		assert_int_equal(policy_apply(fixture->policy, POLICY_PROCESS_USER,
				     &(struct policy_change){ NULL, users[i], &origin },
				     &fixture->err),
		    0);
		assert_int_equal(build_plan(fixture), -1);
		assert_int_equal(fixture->err.code, HLC_75);
		assert_planned(fixture, "process: {allow_root: true}\n");
		assert_int_equal(policy_apply(fixture->policy, POLICY_PROCESS_USER,
				     &(struct policy_change){ NULL, users[i], &origin },
				     &fixture->err),
		    0);
		assert_int_equal(build_plan(fixture), 0);
	}
}

static void
test_image_user(void **state)
{
	struct fixture *fixture = *state;

	assert_planned(fixture, DOCKER "process: {user: image}\n");
	assert_int_equal(fixture->plan.user_kind, PLAN_USER_IMAGE);
	if (load_text(fixture, "baseline@1", "process: {user: image}\n") == 0) {
		assert_int_equal(build_plan(fixture), -1);
		assert_int_equal(fixture->err.code, HLD_21);
	}
	assert_planned(fixture, "process: {user: caller}\n");
}

static void
test_caps(void **state)
{
	struct fixture *fixture = *state;
	uint64_t chown = 0, fowner = 0;

	assert_int_equal(confine_cap_parse("CHOWN", &chown, &fixture->err), 0);
	assert_int_equal(confine_cap_parse("cap_fowner", &fowner, &fixture->err), 0);
	assert_planned(fixture, "");
	assert_int_equal(fixture->plan.caps, 0);
	assert_true(fixture->plan.no_new_privs);
	if (load_text(fixture, "open@1",
		"process: {caps: [CHOWN, FOWNER]}\nlocal: {isolation: confined}\n") != 0)
		fail_msg("policy: %s", fixture->err.msg);
	assert_int_equal(build_plan(fixture), 0);
	assert_true(fixture->plan.caps == (chown | fowner));
}

static void
test_landlock(void **state)
{
	struct fixture *fixture = *state;

	/* unasked: applied where the kernel has it */
	assert_planned(fixture, "");
	assert_true(fixture->plan.landlock && fixture->plan.landlock_may_degrade);
	assert_planned(fixture, "fs: {landlock: required}\n");
	assert_true(fixture->plan.landlock && !fixture->plan.landlock_may_degrade);
	assert_planned(fixture, "fs: {landlock: required}\ndegrade: {allow: [fs.landlock]}\n");
	assert_true(fixture->plan.landlock && fixture->plan.landlock_may_degrade);
	assert_planned(fixture, "fs: {landlock: none}\n");
	assert_false(fixture->plan.landlock);
}

/* Three octal digits, whatever they are. */
static void
test_umask(void **state)
{
	struct fixture *fixture = *state;

	assert_planned(fixture, "");
	assert_int_equal(fixture->plan.umask, 022);
	assert_planned(fixture, "process: {umask: \"077\"}\n");
	assert_int_equal(fixture->plan.umask, 077);
	assert_planned(fixture, "process: {umask: \"002\"}\n");
	assert_int_equal(fixture->plan.umask, 002);
	assert_planned(fixture, "process: {umask: \"000\"}\n");
	assert_int_equal(fixture->plan.umask, 0);
	assert_planned(fixture, "process: {umask: \"537\"}\n");
	assert_int_equal(fixture->plan.umask, 0537);
	assert_planned(fixture, "process: {umask: {min: \"020\"}}\n");
	assert_int_equal(fixture->plan.umask, 022);
	assert_planned(fixture, "process: {umask: {min: \"050\"}}\n");
	assert_int_equal(fixture->plan.umask, 072);
	static const char *const bad[] = { "\"0077\"", "\"77\"", "\"028\"", "\"-22\"", "\"u=r\"",
		"077", "{max: \"022\"}" };
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		char text[64];
		snprintf(text, sizeof(text), "process: {umask: %s}\n", bad[i]);
		if (load_text(fixture, "baseline@1", text) != -1)
			fail_msg("%s", bad[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_caller, setup, teardown),
		cmocka_unit_test_setup_teardown(test_caller_in_root_s_group, setup, teardown),
		cmocka_unit_test_setup_teardown(test_umask, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numeric, setup, teardown),
		cmocka_unit_test_setup_teardown(test_root_needs_allow_root, setup, teardown),
		cmocka_unit_test_setup_teardown(test_image_user, setup, teardown),
		cmocka_unit_test_setup_teardown(test_caps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_landlock, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
