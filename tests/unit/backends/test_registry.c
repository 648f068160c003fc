/*
 * The tables of backends and controls, and the two objects that all backends share.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/backends.h"

#include "base/banned.h"

static void
what_is_served_is_complete(void **state)
{
	static const char *const names[BACKEND_ID_MAX] = {
		[BACKEND_LOCAL] = "local",
		[BACKEND_DOCKER] = "docker",
		[BACKEND_PODMAN] = "podman",
	};

	(void)state;
	for (enum backend_id i = 0; i < BACKEND_ID_MAX; i++) {
		struct hl_err err = { 0 };
		const struct backend *backend = backend_find(names[i], &err);
		assert_non_null(backend);
		assert_string_equal(backend->name, names[i]);
		assert_int_equal(backend->id, i);
		assert_non_null(backend->lower);
		assert_non_null(backend->probe);
		assert_non_null(backend->start);
		assert_non_null(backend->stop);
	}
}

/* HLB-21: known, and not served. Never a typing error's message. */
static void
absent_backends_are_named_as_absent(void **state)
{
	static const char *const names[] = { "singularity", "ssh", "modal", "daytona", "vercel" };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++) {
		struct hl_err err = { 0 };
		assert_null(backend_find(names[i], &err));
		assert_string_equal(hl_code_info(err.code)->id, "HLB-21");
		assert_non_null(strstr(err.msg, names[i]));
	}
}

/* HLB-20, with the nearest name. */
static void
unknown_backends_are_told_the_nearest_name(void **state)
{
	struct hl_err err = { 0 };

	(void)state;
	assert_null(backend_find("locla", &err));
	assert_string_equal(hl_code_info(err.code)->id, "HLB-20");
	assert_non_null(strstr(err.help, "'local'"));
	assert_null(backend_find("", &err));
	assert_string_equal(hl_code_info(err.code)->id, "HLB-20");
}

static void
every_control_says_who_applies_it_or_why_nobody_does(void **state)
{
	(void)state;
	for (enum control i = 0; i < CONTROL_MAX; i++) {
		const struct control_info *info = control_info(i);
		assert_non_null(info->name);
		assert_non_null(strchr("abcdefghijklmnopqrstuvwxyz", info->name[0]));
		bool has_none = false;
		for (int b = 0; b < BACKEND_ID_MAX; b++)
			has_none = has_none || info->enforcer[b] == ENFORCER_NONE;
		assert_int_equal(has_none, info->note[0] != '\0');
		/* Scrub has nothing that the sandbox has not, and says why it lacks the rest. */
		const struct plan scrub = { .isolation = PLAN_ISOLATION_SCRUB };
		const struct plan strict = { .isolation = PLAN_ISOLATION_STRICT };
		enum enforcer here = control_enforcer(i, BACKEND_LOCAL, &scrub);
		assert_true(here == ENFORCER_NONE || here == info->enforcer[BACKEND_LOCAL]);
		assert_int_equal(control_enforcer(i, BACKEND_LOCAL, &strict),
		    info->enforcer[BACKEND_LOCAL]);
		assert_int_equal(control_enforcer(i, BACKEND_DOCKER, &scrub),
		    info->enforcer[BACKEND_DOCKER]);
		if (here == ENFORCER_NONE)
			assert_true(control_note(i, BACKEND_LOCAL, &scrub)[0] != '\0');
		for (enum control j = 0; j < i; j++)
			assert_string_not_equal(info->name, control_info(j)->name);
	}
	assert_string_equal(enforcer_name(ENFORCER_NONE), "none");
	assert_string_equal(enforcer_name(ENFORCER_KERNEL), "kernel");
	assert_string_equal(enforcer_name(ENFORCER_RUNNER), "runner");
}

static void
lowered_keeps_lines_and_strings(void **state)
{
	struct lowered lowered;
	char text[] = "first";
	const struct hl_origin origin = { .layer = "team", .where = { .line = 7 } };

	(void)state;
	lowered_init(&lowered);
	lowered_line(&lowered, &origin, "tmpfs %s", "/tmp");
	lowered_line(&lowered, NULL, "built in");
	const char *kept = lowered_string(&lowered, text);
	text[0] = 'F';
	for (int i = 0; i < 500; i++) {
		lowered_line(&lowered, NULL, "%d", i);
		lowered_string(&lowered, "more");
	}
	assert_string_equal(kept, "first");
	assert_false(lowered.failed);
	assert_int_equal(lowered.lines_len, 502);
	assert_string_equal(lowered.lines[0].text, "tmpfs /tmp");
	assert_int_equal(lowered.lines[0].origin.where.line, 7);
	assert_string_equal(lowered.lines[1].origin.layer, "built-in");
	lowered_done(&lowered);
	lowered_done(&lowered);
}

/* Past a maximum the object says so and stays usable. */
static void
lowered_fails_sticky(void **state)
{
	struct lowered lowered;

	(void)state;
	lowered_init(&lowered);
	for (int i = 0; i < 5000; i++)
		lowered_line(&lowered, NULL, "%d", i);
	assert_true(lowered.failed);
	lowered_done(&lowered);
	lowered_init(&lowered);
	for (int i = 0; i < 9000; i++)
		lowered_string(&lowered, "x");
	assert_true(lowered.failed);
	assert_string_equal(lowered_string(&lowered, "y"), "");
	lowered_done(&lowered);
}

static bool
fcntl_is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void
sandbox_done_takes_a_zeroed_one(void **state)
{
	struct sandbox sandbox = { 0 };
	struct sandbox real = { .stream = dup(0), .pidfd = -1, .id = strdup("7") };

	(void)state;
	hl_buf_init(&real.lock, 100);
	hl_strv_init(&real.image_env, 1);
	sandbox_done(&sandbox);
	assert_true(fcntl_is_open(0));
	int fd = real.stream;
	sandbox_done(&real);
	sandbox_done(&real);
	assert_false(fcntl_is_open(fd));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_served_is_complete),
		cmocka_unit_test(absent_backends_are_named_as_absent),
		cmocka_unit_test(unknown_backends_are_told_the_nearest_name),
		cmocka_unit_test(every_control_says_who_applies_it_or_why_nobody_does),
		cmocka_unit_test(lowered_keeps_lines_and_strings),
		cmocka_unit_test(lowered_fails_sticky),
		cmocka_unit_test(sandbox_done_takes_a_zeroed_one),
	};

	return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
