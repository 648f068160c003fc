/*
 * What the runner is to read back of an engine's work, from a plan and from the caller's arguments.
 */
#include <string.h>

#include "tests/unit/backends/docker_scene.h"

#include "base/banned.h"

/* The engine says what it was asked for; what is so, the runner reads from inside. */
static void
test_what_the_engine_applies_is_read_back(void **state)
{
	struct fixture *f = *state;
	const struct confinement *seen = &f->lowered.confinement;

	f->plan.seccomp = CONFINE_PROFILE_DEFAULT;
	f->plan.caps = 3;
	lower(f);
	assert_int_equal(seen->flags, CONFINE_NO_NEW_PRIVS | CONFINE_SEEN_IDENTITY |
					  CONFINE_SEEN_CAPS | CONFINE_SEEN_SECCOMP);
	assert_int_equal(seen->uid, 1000);
	assert_int_equal(seen->gid, 1000);
	assert_int_equal(seen->caps_bounding, 0);

	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	f->plan.user_kind = PLAN_USER_IMAGE;
	f->plan.seccomp = CONFINE_PROFILE_NONE;
	f->plan.no_new_privs = false;
	lower(f);
	assert_int_equal(seen->flags, CONFINE_SEEN_CAPS);
	assert_int_equal(seen->caps_bounding, 3);
}

/* What was let through is what is expected: in mode warn a run that is told goes on. */
static void
test_arguments_let_through_are_not_missed_inside(void **state)
{
	static const char *const args[] = { "--privileged=true", "--cap-add=CAP_SYS_PTRACE",
		"--security-opt=seccomp=unconfined", "--user=1001" };
	static const uint32_t flags[] = { CONFINE_SEEN_IDENTITY,
		CONFINE_SEEN_IDENTITY | CONFINE_SEEN_CAPS | CONFINE_SEEN_SECCOMP,
		CONFINE_SEEN_IDENTITY | CONFINE_SEEN_CAPS,
		CONFINE_SEEN_CAPS | CONFINE_SEEN_SECCOMP };
	struct fixture *f = *state;

	f->plan.seccomp = CONFINE_PROFILE_DEFAULT;
	for (size_t i = 0; i < HL_ARRAY_SIZE(args); i++) {
		lowered_done(&f->lowered);
		lowered_init(&f->lowered);
		hl_strv_init(&f->plan.engine_args, 16);
		hl_strv_add(&f->plan.engine_args, args[i]);
		lower(f);
		hl_strv_done(&f->plan.engine_args);
		assert_int_equal(f->lowered.confinement.flags, CONFINE_NO_NEW_PRIVS | flags[i]);
		assert_int_equal(f->lowered.confinement.caps_bounding, i == 1 ? 1U << 19 : 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_the_engine_applies_is_read_back, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_arguments_let_through_are_not_missed_inside,
		    setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
