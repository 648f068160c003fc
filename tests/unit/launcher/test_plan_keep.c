/*
 * Whose a sandbox is that stays: one per state directory, backend, policy, working directory and
 * name; kept only where there is a container, a name, and a policy that says so.
 */
#include "plan_fixture.h"

static const char keeps[] =
    "backends: [docker, local]\nimage: [\"x:1\"]\nsession: {persist: task, lease: 2h}\n";

static void
plan(struct fixture *fixture, const char *text, char profile[HL_SHA256_HEX_SIZE])
{
	assert_planned(fixture, text);
	snprintf(profile, HL_SHA256_HEX_SIZE, "%s", fixture->plan.keep.profile);
}

static void
test_what_is_kept(void **state)
{
	struct fixture *fixture = *state;
	const struct plan_keep *keep = &fixture->plan.keep;

	assert_planned(fixture, keeps);
	assert_null(keep->session);
	assert_false(keep->is_kept);
	fixture->request.name.text = "n";
	assert_planned(fixture, keeps);
	assert_string_equal(keep->session, "n");
	assert_true(keep->is_kept);
	assert_int_equal(keep->lease_ms, 2 * 3600 * 1000);
	/* a session of which nothing is kept, and a backend where nothing can be (siblings) */
	assert_planned(fixture,
	    "backends: [docker]\nimage: [\"x:1\"]\nsession: {persist: session}\n");
	assert_string_equal(keep->session, "n");
	assert_false(keep->is_kept);
	assert_planned(fixture, "backends: [local, docker]\nsession: {persist: task}\n");
	assert_false(keep->is_kept);
}

static void
test_u59_whose_it_is(void **state)
{
	struct fixture *fixture = *state;
	char first[HL_SHA256_HEX_SIZE], next[HL_SHA256_HEX_SIZE];
	const char *state_dir = fixture->host.state_dir;

	fixture->request.name.text = "n";
	plan(fixture, keeps, first);
	plan(fixture, keeps, next);
	assert_string_equal(first, next);
	make_dir(at(fixture, "work2"));
	const char *cwd = fixture->host.cwd;
	fixture->host.cwd = at(fixture, "work2");
	plan(fixture, keeps, next);
	assert_string_not_equal(first, next);
	fixture->host.cwd = cwd;
	fixture->host.state_dir = at(fixture, "state2");
	plan(fixture, keeps, next);
	assert_string_not_equal(first, next);
	fixture->host.state_dir = state_dir;
	plan(fixture, keeps, next);
	assert_string_equal(first, next);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u59_whose_it_is, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
