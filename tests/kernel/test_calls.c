/*
 * Calls side by side on one stream: channels, windows, the order of frames, what is left running,
 * and what thousands of them leave of the runner.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/kernel/watch.h"

#include "base/banned.h"

static struct watch watch;

static void
test_side_by_side(void **state)
{
	(void)state;
	watch_start(&watch, 0);
	for (uint32_t i = 1; i <= RUNNER_CALLS_MAX; i++) {
		char text[128];
		snprintf(text, sizeof(text), "echo %u; echo e%u >&2; sleep 0.5; exit %u", i, i, i);
		watch_spawn(&watch, i, 0, text);
	}
	/* all of them live at the same time */
	for (uint32_t i = 1; i <= RUNNER_CALLS_MAX; i++)
		watch_until_started(&watch, i);
	assert_true((watch.features & RUNNER_FEATURE_PID1) != 0);
	for (uint32_t i = 1; i <= RUNNER_CALLS_MAX; i++) {
		const struct watched *call = &watch.calls[i];
		char text[16];
		watch_until_closed(&watch, i);
		snprintf(text, sizeof(text), "%u\n", i);
		assert_string_equal(call->out, text);
		snprintf(text, sizeof(text), "e%u\n", i);
		assert_string_equal(call->err, text);
		assert_int_equal(call->exit.how, RUNNER_EXITED);
		assert_int_equal(call->exit.code, i);
		assert_int_equal(call->exit.state, RUNNER_STATE_NONE);
		assert_false(call->exit.has_left);
	}
	/* a channel is free again after CLOSED */
	assert_int_equal(watch_run(&watch, 3, 0, "exit 9")->exit.code, 9);
	assert_int_equal(watch_end(&watch), 0);
}

/* U71: a flood that nobody takes neither grows nor stands in the way of other calls. */
static void
test_flood(void **state)
{
	(void)state;
	watch_start(&watch, 0);
	watch.calls[1].holds_back = true;
	watch_spawn(&watch, 1, 0, "yes & yes >&2 & wait");
	watch_until_started(&watch, 1);
	while (watch.calls[1].out_len < RUNNER_WINDOW || watch.calls[1].err_len < RUNNER_WINDOW)
		assert_true(watch_next(&watch));
	assert_true(watch_is_quiet(&watch, 100));
	assert_int_equal(watch.calls[1].out_len, RUNNER_WINDOW);
	assert_int_equal(watch.calls[1].err_len, RUNNER_WINDOW);
	assert_string_equal(watch_run(&watch, 2, 0, "echo here")->out, "here\n");
	/* what a host that does read gets, beside one that it does not */
	assert_int_equal(watch_run(&watch, 3, 0, "head -c 5000000 /dev/zero")->out_len, 5000000);
	launch_send(&watch.launch, RUNNER_PING, "12345678", 8);
	while (!watch.has_pong)
		assert_true(watch_next(&watch));
	assert_int_equal(watch.launch.frame.payload_len, 8);
	assert_memory_equal(watch.launch.frame.payload, "12345678", 8);
	/* the end of a call whose output is not read waits for the reader */
	watch_kill(&watch, 1, RUNNER_CANCELLED);
	assert_true(watch_is_quiet(&watch, 300));
	watch_send(&watch, 1, RUNNER_WINDOW_ADD, "\1\0\0\x10\0", 5);
	watch_send(&watch, 1, RUNNER_WINDOW_ADD, "\2\0\0\x10\0", 5);
	watch_until_closed(&watch, 1);
	assert_int_equal(watch.calls[1].exit.how, RUNNER_CANCELLED);
	assert_int_equal(watch_end(&watch), 0);
}

/* Floods that are taken as fast as they come leave room for those on higher channels. */
static void
test_floods_beside(void **state)
{
	(void)state;
	watch_start(&watch, 0);
	for (uint32_t i = 1; i <= 8; i++)
		watch_spawn(&watch, i, 0, "yes | cat & yes >&2");
	for (uint32_t i = 1; i <= 8; i++)
		watch_until_started(&watch, i);
	for (uint32_t i = 60; i <= RUNNER_CALLS_MAX; i++)
		assert_int_equal(watch_run(&watch, i, 0, "echo a; echo b >&2")->out_len, 2);
	for (uint32_t i = 1; i <= 8; i++)
		for (int frames = 0; watch.calls[i].out_len == 0 || watch.calls[i].err_len == 0;
		     frames++)
			assert_true(frames < 10000 && watch_next(&watch));
	for (uint32_t i = 1; i <= 8; i++)
		watch_kill(&watch, i, RUNNER_CANCELLED);
	for (uint32_t i = 1; i <= 8; i++)
		watch_until_closed(&watch, i);
	assert_int_equal(watch_end(&watch), 0);
}

static void
test_merged(void **state)
{
	const char *text = "for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done";

	(void)state;
	watch_start(&watch, 0);
	watch_run(&watch, 1, RUNNER_SPAWN_MERGED, text);
	assert_string_equal(watch.calls[1].out, "o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\n");
	assert_int_equal(watch.calls[1].err_len, 0);
	watch_run(&watch, 1, 0, text);
	assert_string_equal(watch.calls[1].out, "o1\no2\no3\no4\no5\n");
	assert_int_equal(watch_end(&watch), 0);
}

/* U72: what stays keeps its output, and the call has ended nevertheless. */
static void
test_leave(void **state)
{
	const struct watched *call = &watch.calls[1];
	const char *text = "echo first; (setsid sh -c 'sleep 0.4; echo second' &) ; exit 3";

	(void)state;
	watch_start(&watch, 0);
	watch_spawn(&watch, 1, RUNNER_SPAWN_LEAVE, text);
	watch_until_exit(&watch, 1);
	assert_int_equal(call->exit.code, 3);
	assert_true(call->exit.has_left);
	assert_string_equal(call->out, "first\n");
	assert_false(call->is_closed);
	/* its channel is not free, others are */
	assert_int_equal(watch_run(&watch, 2, 0, "exit 4")->exit.code, 4);
	watch_until_closed(&watch, 1);
	assert_string_equal(call->out, "first\nsecond\n");
	/* without the flag it is ended before EXIT */
	watch_run(&watch, 1, 0, text);
	assert_false(call->exit.has_left);
	assert_string_equal(call->out, "first\n");
	/* one that writes without end does not hold EXIT back, and KILL ends it */
	watch_spawn(&watch, 1, RUNNER_SPAWN_LEAVE, "yes & (setsid yes &) ; exit 5");
	watch_until_exit(&watch, 1);
	assert_true(call->exit.has_left);
	watch_kill(&watch, 1, RUNNER_CANCELLED);
	watch_until_closed(&watch, 1);
	assert_int_equal(call->exit.how, RUNNER_EXITED);
	/* nothing was left after all */
	watch_run(&watch, 1, RUNNER_SPAWN_LEAVE, "true & wait; exit 6");
	assert_false(call->exit.has_left);
	/* KILL before the end leaves nothing, whatever the flag says */
	watch_spawn(&watch, 1, RUNNER_SPAWN_LEAVE, "trap '' TERM; sleep 60 & echo on; wait");
	watch_until_out(&watch, 1, "on");
	watch_kill(&watch, 1, RUNNER_TIMED_OUT);
	watch_until_exit(&watch, 1);
	assert_int_equal(call->exit.how, RUNNER_TIMED_OUT);
	assert_false(call->exit.has_left);
	assert_int_equal(watch_end(&watch), 0);
}

static void
test_refused_call(void **state)
{
	const char *const words[] = { "no-such-program", NULL };

	(void)state;
	watch_start(&watch, 0);
	watch.launch.channel = 5;
	launch_send_spawn(&watch.launch, 0, words);
	watch_until_closed(&watch, 5);
	assert_false(watch.calls[5].has_started);
	assert_int_equal(watch.calls[5].exit.how, RUNNER_LAUNCHER_ERROR);
	assert_int_equal(watch.calls[5].exit.code, 127);
	assert_string_equal(watch.calls[5].subject, "no-such-program");
	assert_int_equal(watch_run(&watch, 5, 0, "exit 2")->exit.code, 2);
	/* late frames of a call that is gone are nobody's fault */
	watch_send(&watch, 5, RUNNER_STDIN, "x", 1);
	watch_send(&watch, 5, RUNNER_STDIN_EOF, NULL, 0);
	watch_send(&watch, 5, RUNNER_SIGNAL, "\1\0\0\0", 4);
	watch_send(&watch, 5, RUNNER_RESIZE, "\1\0\0\0\1\0\0\0", 8);
	watch_send(&watch, 5, RUNNER_WINDOW_ADD, "\1\1\0\0\0", 5);
	watch_kill(&watch, 5, RUNNER_CANCELLED);
	assert_int_equal(watch_run(&watch, 5, 0, "exit 3")->exit.code, 3);
	assert_int_equal(watch_end(&watch), 0);
}

static void
test_usage(void **state)
{
	(void)state;
	watch_start(&watch, 0);
	watch_run(&watch, 1, 0, "(i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done) ; true");
	assert_true(watch.calls[1].exit.user_us > 1000);
	assert_true(watch.calls[1].exit.max_rss_kib > 100);
	assert_int_equal(watch_end(&watch), 0);
}

/* ------------------------------------------------------------------------------------------------
 * A host that does not keep to the order
 */
struct disorder {
	const char *name;
	uint32_t channel;
	enum runner_type type;
	const char *payload;
	size_t len;
};

/* While channel 1 runs a command without input and terminal. */
static const struct disorder disorders[] = {
	{ "STATE while it runs", 1, RUNNER_STATE, "x", 1 },
	{ "input that nobody asked for", 1, RUNNER_STDIN, "x", 1 },
	{ "the end of it", 1, RUNNER_STDIN_EOF, NULL, 0 },
	{ "a window without a terminal", 1, RUNNER_RESIZE, "\1\0\0\0\1\0\0\0", 8 },
	{ "half a window", 1, RUNNER_RESIZE, "\1\0\0\0", 4 },
	{ "more credit than there is", 1, RUNNER_WINDOW_ADD, "\1\1\0\0\0", 5 },
	{ "credit of input", 1, RUNNER_WINDOW_ADD, "\0\1\0\0\0", 5 },
	{ "signal 0", 1, RUNNER_SIGNAL, "\0\0\0\0", 4 },
	{ "signal 65", 1, RUNNER_SIGNAL, "\x41\0\0\0", 4 },
	{ "KILL for no reason", 1, RUNNER_KILL, "\0", 1 },
	{ "KILL for an unknown one", 1, RUNNER_KILL, "\x7f", 1 },
	{ "an empty SPAWN", 2, RUNNER_SPAWN, NULL, 0 },
	{ "a channel that was never used", 2, RUNNER_KILL, "\4", 1 },
	{ "the same", 64, RUNNER_STDIN, "x", 1 },
	{ "OUT", 1, RUNNER_OUT, "\1x", 2 },
	{ "EXIT", 1, RUNNER_EXIT, NULL, 0 },
	{ "CLOSED", 1, RUNNER_CLOSED, NULL, 0 },
	{ "PONG", 1, RUNNER_PONG, NULL, 0 },
	{ "GOODBYE on a channel", 1, RUNNER_GOODBYE, NULL, 0 },
	{ "GOODBYE and more", 0, RUNNER_GOODBYE, "x", 1 },
	{ "PING on a channel", 1, RUNNER_PING, NULL, 0 },
	{ "a second LOCK", 0, RUNNER_LOCK, NULL, 0 },
	{ "a long PING", 0, RUNNER_PING, "123456789", 9 },
};

static void
test_disorder(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(disorders); i++) {
		const struct disorder *disorder = &disorders[i];
		watch_start(&watch, 0);
		watch_spawn(&watch, 1, 0, "sleep 30");
		watch_until_started(&watch, 1);
		watch_send(&watch, disorder->channel, disorder->type, disorder->payload,
		    disorder->len);
		while (!watch.has_error && watch_next(&watch))
			continue;
		if (!watch.has_error || watch.error.code != HLB_01 || watch_end(&watch) != 70)
			fail_msg("%s", disorder->name);
	}
}

/* There will be no other: the runner ends by itself, and with it everything below. */
static void
test_alone_is_the_end(void **state)
{
	(void)state;
	watch_start(&watch, 0);
	watch_run(&watch, 1, RUNNER_SPAWN_ALONE, "true");
	assert_false(watch_next(&watch));
	assert_int_equal(watch_end(&watch), 0);
	/* Not before all of it was read, by a host that is held up longer than an end takes. */
	watch_start(&watch, 0);
	watch_spawn(&watch, 1, RUNNER_SPAWN_ALONE, "head -c 240000 /dev/zero");
	sleep(3);
	watch_until_closed(&watch, 1);
	assert_int_equal(watch.calls[1].out_len, 240000);
	assert_int_equal(watch.calls[1].exit.how, RUNNER_EXITED);
	assert_false(watch_next(&watch));
	assert_int_equal(watch_end(&watch), 0);
	/* The sibling: any other call leaves it waiting. */
	watch_start(&watch, 0);
	watch_run(&watch, 1, 0, "true");
	assert_true(watch_is_quiet(&watch, 200));
	assert_int_equal(watch_end(&watch), 0);
}

static void
test_disorder_of_calls(void **state)
{
	(void)state;
	/* two on one channel */
	watch_start(&watch, 0);
	watch_spawn(&watch, 1, 0, "sleep 30");
	watch_spawn(&watch, 1, 0, "sleep 30");
	watch_expect_broken(&watch);
	/* one on the channel of what another left */
	watch_start(&watch, 0);
	watch_spawn(&watch, 1, RUNNER_SPAWN_LEAVE, "sleep 30 &");
	watch_until_exit(&watch, 1);
	watch_spawn(&watch, 1, 0, "true");
	watch_expect_broken(&watch);
	/* a call that is alone is the only one, before */
	watch_start(&watch, 0);
	watch_run(&watch, 1, 0, "true");
	watch_spawn(&watch, 1, RUNNER_SPAWN_ALONE, "true");
	watch_expect_broken(&watch);
	/* and after */
	watch_start(&watch, 0);
	watch_spawn(&watch, 1, RUNNER_SPAWN_ALONE, "sleep 30");
	watch_spawn(&watch, 2, 0, "true");
	watch_expect_broken(&watch);
	/* state for a call that does not take it */
	watch_start(&watch, 0);
	watch_send(&watch, 1, RUNNER_STATE, "x", 1);
	watch_spawn(&watch, 1, 0, "true");
	watch_expect_broken(&watch);
	/* a second end of input */
	watch_start(&watch, 0);
	watch_spawn(&watch, 1, RUNNER_SPAWN_STDIN, "sleep 30");
	watch_send(&watch, 1, RUNNER_STDIN_EOF, NULL, 0);
	watch_send(&watch, 1, RUNNER_STDIN_EOF, NULL, 0);
	watch_expect_broken(&watch);
}

/* ------------------------------------------------------------------------------------------------
 * Many, one after the other
 */
static size_t
count_fds(pid_t pid)
{
	char path[64];
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static long
resident_pages(pid_t pid)
{
	char path[64];
	long size = 0, resident = 0;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%ld %ld", &size, &resident), 2);
	fclose(file);
	return resident;
}

static size_t
count_children(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	size_t n = 0;
	for (int c; (c = fgetc(file)) != EOF;)
		n += c == ' ';
	fclose(file);
	return n;
}

static void
run_mixed(uint32_t i)
{
	static const uint32_t flags[] = { 0, RUNNER_SPAWN_STATE | RUNNER_SPAWN_SCOPED,
		RUNNER_SPAWN_MERGED, RUNNER_SPAWN_STDIN, RUNNER_SPAWN_LEAVE, RUNNER_SPAWN_PTY };
	const uint32_t channel = 1 + i % 8;

	watch_spawn(&watch, channel, flags[i % HL_ARRAY_SIZE(flags)],
	    i % 50 == 49 ? "(setsid sleep 60 &)" : "echo x");
	watch_until_exit(&watch, channel);
	assert_int_equal(watch.calls[channel].exit.how, RUNNER_EXITED);
	if (watch.calls[channel].exit.has_left)
		watch_kill(&watch, channel, RUNNER_CANCELLED);
	watch_until_closed(&watch, channel);
}

/* No descriptor, no zombie, no memory: HL_SOAK_CALLS of them, 300 unless told. */
static void
test_soak(void **state)
{
	const char *wanted = getenv("HL_SOAK_CALLS");
	struct hl_err err;
	uint64_t calls = 300;

	(void)state;
	if (wanted != NULL)
		assert_int_equal(hl_parse_u64(wanted, 200, 10000000, &calls, &err), 0);
	watch_start(&watch, 0);
	for (uint32_t i = 0; i < 100; i++)
		run_mixed(i);
	const pid_t pid = watch.launch.pid;
	/* Those of an ordinary user's runner, which is not dumpable, are not ours to see. */
	const size_t fds = launch_is_root() ? count_fds(pid) : 0;
	const long pages = resident_pages(pid);
	for (uint32_t i = 100; i < calls; i++)
		run_mixed(i);
	if (launch_is_root())
		assert_int_equal(count_fds(pid), fds);
	assert_int_equal(count_children(pid), 0);
	print_message("# %ld pages resident after 100 calls, %ld after %u\n", pages,
	    resident_pages(pid), (unsigned)calls);
	assert_true(resident_pages(pid) <= pages + 8);
	assert_int_equal(watch_end(&watch), 0);
}

/* A sandbox whose filter refuses one more call, as process.seccomp.deny may. */
static void
start_denying(const char *name)
{
	struct confine_program program;
	struct hl_strv denied;
	struct hl_err err;

	hl_strv_init(&denied, 1);
	hl_strv_add(&denied, name);
	launch_lock_full(&watch.lock);
	assert_int_equal(confine_filter(confine_arch_native(), CONFINE_PROFILE_DEFAULT, &denied,
			     &program, &err),
	    0);
	watch.lock.confinement.bpf = program.bpf;
	watch.lock.confinement.bpf_len = program.len;
	watch_start_locked(&watch, 0);
	hl_strv_done(&denied);
	free(program.bpf);
}

/* What the runner itself needs for a call and is refused is told, and nothing runs without it. */
static void
test_denied(void **state)
{
	static const struct {
		const char *name, *subject;
	} rows[] = {
		{ "rt_sigprocmask", "supervisor" },
		{ "setpgid", "process group" },
		{ "umask", "umask" },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		const struct watched *call = &watch.calls[1];
		start_denying(rows[i].name);
		watch_spawn(&watch, 1, 0, "echo here");
		watch_until_closed(&watch, 1);
		assert_false(call->has_started);
		assert_int_equal(call->exit.how, RUNNER_LAUNCHER_ERROR);
		assert_int_equal(call->exit.code, 126);
		assert_int_equal(call->exit.sys_errno, EPERM);
		assert_string_equal(call->subject, rows[i].subject);
		assert_int_equal(call->out_len, 0);
		assert_int_equal(watch_end(&watch), 0);
	}
}

/* Nobody could say how any command ended, or whether the lock is on: there is no sandbox then. */
static void
test_denied_sandbox(void **state)
{
	static const struct {
		const char *name;
		enum hl_code code;
		const char *subject;
	} rows[] = {
		{ "wait4", HLD_01, "wait for processes" },
		{ "prctl", HLB_02, "securebits" },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		start_denying(rows[i].name);
		watch_spawn(&watch, 1, 0, "echo here");
		while (!watch.has_error && watch_next(&watch))
			continue;
		assert_true(watch.has_error);
		assert_int_equal(watch.error.code, rows[i].code);
		assert_string_equal(watch.error.subject, rows[i].subject);
		assert_int_equal(watch.calls[1].out_len, 0);
		assert_false(watch.calls[1].has_started);
		assert_int_equal(watch_end(&watch), 70);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_floods_beside),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_refused_call),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_disorder),
		cmocka_unit_test(test_alone_is_the_end),
		cmocka_unit_test(test_disorder_of_calls),
		cmocka_unit_test(test_soak),
		cmocka_unit_test(test_denied),
		cmocka_unit_test(test_denied_sandbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
