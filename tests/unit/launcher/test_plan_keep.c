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

/* How often the plan's warnings, or its other notes, have that text. */
static size_t
told(struct fixture *fixture, bool is_warning, const char *text)
{
	struct plan_notes notes;
	size_t n = 0;

	assert_int_equal(plan_notes(fixture->policy, &fixture->host, &fixture->plan, &notes,
			     &fixture->err),
	    0);
	const struct hl_strv *list = is_warning ? &notes.warnings : &notes.lines;
	for (size_t i = 0; i < list->len; i++)
		n += strstr(list->v[i], text) != NULL;
	plan_notes_done(&notes);
	return n;
}

#define PODMAN "backends: [podman]\nimage: [\"x:1\"]\n"

/* podman's containers are kept as docker's are; this host has none. */
static void
test_engines_keep_and_this_host_does_not(void **state)
{
	struct fixture *fixture = *state;
	static const char nothing[] = "session.persist: task keeps nothing: only a container";

	assert_planned(fixture, PODMAN "session: {persist: task, lease: 2h}\n");
	assert_false(fixture->plan.keep.is_kept);
	assert_int_equal(told(fixture, false, "keeps nothing: only a session that has a name"), 1);
	fixture->request.name.text = "n";
	assert_planned(fixture, PODMAN "session: {persist: task, lease: 2h}\n");
	assert_true(fixture->plan.keep.is_kept);
	assert_int_equal(fixture->plan.keep.lease_ms, 2 * 3600 * 1000);
	assert_int_equal(told(fixture, true, nothing), 0);
	assert_planned(fixture, PODMAN "session: {persist: session}\n");
	assert_false(fixture->plan.keep.is_kept);
	/* here a name is told (sibling), and a lease has nothing to say */
	assert_planned(fixture, "backends: [local]\nsession: {persist: task}\n");
	assert_false(fixture->plan.keep.is_kept);
	assert_int_equal(told(fixture, true, nothing), 1);
	assert_refused(fixture, "backends: [local]\nsession: {persist: task, lease: 2h}\n", HLD_20,
	    "session.lease");
	/* one waits for podman where that is allowed too */
	assert_planned(fixture,
	    "backends: [local, podman]\nsession: {persist: session, lease: 2h}\n");
}

#define TASK "session: {persist: task}\n"
#define GPUS "fs: {devices: [gpu:0]}\n"

/* A container with a graphics processor would not be found again there: whoever gives a name relies
 * on what is not. */
static void
test_podman_keeps_none_with_a_processor(void **state)
{
	struct fixture *fixture = *state;
	static const char refusal[] = "session.persist: task has no effect on backend podman";
	static const char nothing[] = "session.persist: task keeps nothing: podman tells";

	assert_planned(fixture, PODMAN TASK GPUS);
	assert_int_equal(told(fixture, false, nothing), 1);
	fixture->request.name.text = "n";
	assert_refused(fixture, PODMAN TASK GPUS, HLD_20, refusal);
	assert_refused(fixture, PODMAN TASK "fs: {devices: [gpu:all]}\n", HLD_20, refusal);
	/* without one, a session, docker, and a policy that names it (siblings) */
	assert_planned(fixture, PODMAN TASK "fs: {devices: [\"gpu:none\"]}\n");
	assert_true(fixture->plan.keep.is_kept);
	assert_planned(fixture, PODMAN "session: {persist: session}\n" GPUS);
	assert_int_equal(told(fixture, true, nothing), 0);
	assert_planned(fixture, "backends: [docker]\nimage: [\"x:1\"]\n" TASK GPUS);
	assert_true(fixture->plan.keep.is_kept);
	assert_planned(fixture, PODMAN TASK GPUS "degrade: {allow: [session.persist]}\n");
	assert_string_equal(fixture->plan.keep.session, "n");
	assert_false(fixture->plan.keep.is_kept);
	assert_int_equal(told(fixture, true, nothing), 1);
	assert_planned(fixture, "mode: warn\n" PODMAN TASK GPUS);
	assert_false(fixture->plan.keep.is_kept);
	assert_int_equal(told(fixture, true, nothing), 1);
}

static void
test_podman_has_no_quota(void **state)
{
	struct fixture *fixture = *state;

	assert_refused(fixture, PODMAN "limits: {disk: 1GiB}\n", HLD_20, "limits.disk");
	assert_planned(fixture, PODMAN "limits: {disk: unlimited}\n");
	assert_planned(fixture, "backends: [docker]\nimage: [\"x:1\"]\nlimits: {disk: 1GiB}\n");
	assert_planned(fixture, PODMAN "limits: {disk: 1GiB}\ndegrade: {allow: [limits.disk]}\n");
	assert_int_equal(told(fixture, true, "limits.disk has no effect on backend podman"), 1);
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
		cmocka_unit_test_setup_teardown(test_engines_keep_and_this_host_does_not, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_podman_keeps_none_with_a_processor, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_podman_has_no_quota, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u59_whose_it_is, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
