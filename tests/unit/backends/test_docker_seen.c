/*
 * What the runner is to read back of an engine's work, from a plan and from the caller's arguments.
 */
#include <string.h>

#include "backends/docker/lower.h"
#include "tests/unit/backends/docker_scene.h"

#include "base/banned.h"

enum {
	always = CONFINE_SEEN_MOUNTS | CONFINE_SEEN_ENV,
	ids = CONFINE_SEEN_IDENTITY | CONFINE_SEEN_GROUPS
};

/* The engine says what it was asked for; what is so, the runner reads from inside. */
static void
test_what_the_engine_applies_is_read_back(void **state)
{
	struct fixture *f = *state;
	const struct confinement *seen = &f->lowered.confinement;

	f->plan.seccomp = CONFINE_PROFILE_DEFAULT;
	f->plan.caps = 3;
	lower(f);
	assert_int_equal(seen->flags, always | CONFINE_NO_NEW_PRIVS | CONFINE_SEEN_IDENTITY |
					  CONFINE_SEEN_GROUPS | CONFINE_SEEN_CAPS |
					  CONFINE_SEEN_SECCOMP);
	assert_int_equal(seen->uid, 1000);
	assert_int_equal(seen->gid, 1000);
	assert_int_equal(seen->caps_bounding, 0);

	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	f->plan.user_kind = PLAN_USER_IMAGE;
	f->plan.seccomp = CONFINE_PROFILE_NONE;
	f->plan.no_new_privs = false;
	lower(f);
	assert_int_equal(seen->flags,
	    always | CONFINE_SEEN_CAPS | CONFINE_SEEN_NOT_ROOT | CONFINE_SEEN_NO_ROOT_GROUP);
	assert_int_equal(seen->caps_bounding, 3);

	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	f->plan.allow_root = true;
	lower(f);
	assert_int_equal(seen->flags, always | CONFINE_SEEN_CAPS);
}

/* A group or a user that a caller was let have in mode warn is not missed, and nothing more is. */
static void
test_what_an_image_s_user_is_goes_with_what_was_let_through(void **state)
{
	static const struct {
		const char *arg;
		uint32_t flags;
	} rows[] = {
		{ "--label=a=b", CONFINE_SEEN_NOT_ROOT | CONFINE_SEEN_NO_ROOT_GROUP },
		{ "--group-add=0", CONFINE_SEEN_NOT_ROOT },
		{ "--user=tools", 0 },
	};
	struct fixture *f = *state;

	f->plan.user_kind = PLAN_USER_IMAGE;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		lowered_done(&f->lowered);
		lowered_init(&f->lowered);
		hl_strv_done(&f->plan.engine_args);
		hl_strv_init(&f->plan.engine_args, 4);
		hl_strv_add(&f->plan.engine_args, rows[i].arg);
		lower(f);
		assert_int_equal(f->lowered.confinement.flags &
				     (CONFINE_SEEN_NOT_ROOT | CONFINE_SEEN_NO_ROOT_GROUP),
		    rows[i].flags);
	}
	hl_strv_done(&f->plan.engine_args);
}

/* What was let through is what is expected: in mode warn a run that is told goes on. */
static void
test_arguments_let_through_are_not_missed_inside(void **state)
{
	static const char *const args[] = { "--privileged=true", "--cap-add=CAP_SYS_PTRACE",
		"--security-opt=seccomp=unconfined", "--user=1001", "--group-add=10",
		"--security-opt=systempaths=unconfined" };
	static const uint32_t flags[] = { CONFINE_SEEN_ENV | ids,
		always | ids | CONFINE_SEEN_CAPS | CONFINE_SEEN_SECCOMP,
		always | ids | CONFINE_SEEN_CAPS, always | CONFINE_SEEN_CAPS | CONFINE_SEEN_SECCOMP,
		always | CONFINE_SEEN_IDENTITY | CONFINE_SEEN_CAPS | CONFINE_SEEN_SECCOMP,
		CONFINE_SEEN_ENV | ids | CONFINE_SEEN_CAPS | CONFINE_SEEN_SECCOMP };
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

/* A device that the policy lists takes nothing away from what is looked at, and is no mount. */
static void
test_mounts_are_looked_at_beside_a_device(void **state)
{
	struct fixture *f = *state;
	struct plan_device device = { .src = (char[]){ "/dev/kvm" },
		.dst = (char[]){ "/dev/kvm" } };

	lower(f);
	const size_t without = f->lowered.confinement.ops_len;
	assert_true(without > 0);
	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	f->plan.devices = &device;
	f->plan.devices_len = 1;
	lower(f);
	assert_int_equal(f->lowered.confinement.flags & CONFINE_SEEN_MOUNTS, CONFINE_SEEN_MOUNTS);
	assert_int_equal(f->lowered.confinement.ops_len, without);
	f->plan.devices_len = 0;
}

/* Beside graphics processors mounts and variables are looked at all the same: a driver's runtime
 * adds some of its own, and only where it was asked for. */
static void
test_mounts_are_looked_at_beside_a_gpu(void **state)
{
	struct fixture *f = *state;

	lower(f);
	assert_int_equal(f->lowered.confinement.flags & CONFINE_SEEN_DRIVER, 0);
	assert_null(strstr(f->lowered.confinement.seen_env, "NVIDIA"));
	static const char *const backends[] = { "docker", "podman" };
	for (size_t i = 0; i < HL_ARRAY_SIZE(backends); i++) {
		lowered_done(&f->lowered);
		lowered_init(&f->lowered);
		f->plan.backend = backends[i];
		f->plan.gpus.numbers = 1;
		lower(f);
		const uint32_t both = CONFINE_SEEN_MOUNTS | CONFINE_SEEN_DRIVER;
		assert_int_equal(f->lowered.confinement.flags & both, both);
		assert_non_null(
		    strstr(f->lowered.confinement.seen_env, "NVIDIA_VISIBLE_DEVICES\n"));
	}
}

static const struct confine_op *
op_at(const struct confinement *seen, const char *place)
{
	for (size_t i = 0; i < seen->ops_len; i++)
		if (strcmp(seen->ops[i].dst, place) == 0)
			return &seen->ops[i];
	return NULL;
}

static void
test_mounts_variables_and_limits_are_expected(void **state)
{
	struct fixture *f = *state;
	struct plan_tmpfs tmpfs = { .dst = (char[]){ "/scratch" }, .size = 65536, .mode = 01777 };
	struct confinement seen;
	HL_AUTO(hl_strv_done) struct hl_strv image;
	HL_AUTO(hl_buf_done) struct hl_buf out;

	hl_strv_init(&image, 8);
	hl_buf_init(&out, RUNNER_PAYLOAD_MAX);
	f->plan.root = PLAN_ROOT_READ_ONLY;
	f->plan.tmpfs = &tmpfs;
	f->plan.tmpfs_len = 1;
	f->plan.limits[PLAN_LIMIT_PIDS] = (struct plan_number){ .has = true, .value = 7 };
	hl_strv_init(&f->plan.engine_args, 16);
	hl_strv_add(&f->plan.engine_args, "--env=GIVEN=value");
	lower(f);
	hl_strv_done(&f->plan.engine_args);
	hl_strv_add(&image, "FROM_IMAGE=secret");
	const struct docker_call call = { &f->plan, &f->lowered, &image, 1U << PLAN_LIMIT_PIDS };
	assert_int_equal(docker_expect_call(&call, &out, &f->err), 0);
	assert_int_equal(confine_decode(out.data, out.len, &seen, &f->err), 0);
	assert_int_equal(op_at(&seen, "/")->flags, CONFINE_OP_RDONLY);
	assert_int_equal(op_at(&seen, "/.hermes-runner")->flags, CONFINE_OP_RDONLY);
	assert_int_equal(op_at(&seen, "/scratch")->kind, CONFINE_OP_TMPFS);
	assert_int_equal(op_at(&seen, "/scratch")->flags, CONFINE_OP_NOEXEC);
	assert_int_equal(op_at(&seen, "/scratch")->size, 65536);
	assert_non_null(strstr(seen.seen_env, "GIVEN\nFROM_IMAGE\n"));
	assert_null(strstr(seen.seen_env, "secret"));
	assert_int_equal(seen.seen_pids, 7);
	assert_int_equal(seen.seen_memory, 0);
	assert_int_equal(seen.flags & CONFINE_SEEN_LIMITS, CONFINE_SEEN_LIMITS);
	confinement_done(&seen);
	/* Sibling: where none is applied, none is said to have been read back. */
	const struct docker_call unlimited = { &f->plan, &f->lowered, &image, 0 };
	hl_buf_done(&out);
	hl_buf_init(&out, RUNNER_PAYLOAD_MAX);
	assert_int_equal(docker_expect_call(&unlimited, &out, &f->err), 0);
	assert_int_equal(confine_decode(out.data, out.len, &seen, &f->err), 0);
	assert_int_equal(seen.flags & CONFINE_SEEN_LIMITS, 0);
	confinement_done(&seen);
	f->plan.tmpfs_len = 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_the_engine_applies_is_read_back, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_mounts_variables_and_limits_are_expected,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(test_mounts_are_looked_at_beside_a_device, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_mounts_are_looked_at_beside_a_gpu, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    test_what_an_image_s_user_is_goes_with_what_was_let_through, setup, teardown),
		cmocka_unit_test_setup_teardown(test_arguments_let_through_are_not_missed_inside,
		    setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
