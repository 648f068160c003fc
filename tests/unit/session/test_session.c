/*
 * session_run() against scripted runners: a child process plays the other side of the stream,
 * politely or not. What is checked is how the call ends, never only that it ends.
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/session.h"
#include "tests/unit/session/script.h"

static void
test_exit_status(void **state)
{
	(void)state;
	struct script script;
	struct hl_buf captured;

	begin(&script);
	put_out(&script.out, 1, "hello", 5);
	put_exit(&script.out, RUNNER_EXITED, 42, 0);
	struct session_result result = run_script(&script, 0, &captured);
	assert_int_equal(result.how, RUNNER_EXITED);
	assert_int_equal(result.status, 42);
	assert_true(result.was_started);
	assert_string_equal(captured.data, "hello");
	assert_int_equal(result.out_bytes, 5);
	hl_buf_done(&captured);
}

static void
test_signaled(void **state)
{
	(void)state;
	struct script script;

	begin(&script);
	put_exit(&script.out, RUNNER_SIGNALED, 0, 9);
	struct session_result result = run_script(&script, 0, NULL);
	assert_int_equal(result.how, RUNNER_SIGNALED);
	assert_int_equal(result.status, 137);
}

static void
test_noise_before_hello(void **state)
{
	(void)state;
	struct script script = { 0 };

	hl_buf_init(&script.out, 1U << 20);
	hl_buf_puts(&script.out, "Welcome!\nWARNING: \x8fHLr is not it\n");
	put_hello(&script.out, RUNNER_VERSION);
	put_locked(&script.out);
	put_started(&script.out);
	put_exit(&script.out, RUNNER_EXITED, 7, 0);
	struct session_result result = run_script(&script, 0, NULL);
	assert_int_equal(result.status, 7);
}

static void
test_too_much_noise_is_hlb_06(void **state)
{
	(void)state;
	struct script script = { 0 };

	hl_buf_init(&script.out, 1U << 20);
	for (int i = 0; i < 5000; i++)
		hl_buf_puts(&script.out, "a banner without end\n");
	struct session_result result = run_script(&script, 0, NULL);
	assert_int_equal(result.how, RUNNER_BACKEND_ERROR);
	assert_int_equal(result.err.code, HLB_06);
	assert_int_equal(result.status, 125);
}

static void
test_other_version_is_hlb_03(void **state)
{
	(void)state;
	struct script script = { 0 };

	hl_buf_init(&script.out, 4096);
	put_hello(&script.out, RUNNER_VERSION + 1);
	struct session_result result = run_script(&script, 0, NULL);
	assert_int_equal(result.err.code, HLB_03);
}

static void
test_end_before_hello_is_hlb_06(void **state)
{
	(void)state;
	struct script script = { .close_after_ms = 1 };

	hl_buf_init(&script.out, 4096);
	struct session_result result = run_script(&script, 0, NULL);
	assert_int_equal(result.err.code, HLB_06);
	assert_false(result.was_started);
}

static void
test_end_while_running_is_hlb_07(void **state)
{
	(void)state;
	struct script script;

	begin(&script);
	script.close_after_ms = 10;
	struct session_result result = run_script(&script, 0, NULL);
	assert_int_equal(result.how, RUNNER_BACKEND_ERROR);
	assert_int_equal(result.err.code, HLB_07);
	assert_true(result.was_started);
}

static void
test_wall_limit(void **state)
{
	(void)state;
	struct script script;

	begin(&script);
	script.wait_for_kill = true;
	struct session_result result = run_script(&script, 50, NULL);
	assert_int_equal(result.how, RUNNER_TIMED_OUT);
	assert_int_equal(result.status, 124);
	assert_true(result.wall_ms >= 50);
}

static void
test_deaf_runner_still_times_out(void **state)
{
	(void)state;
	struct script script;

	begin(&script);
	struct session_result result = run_script(&script, 50, NULL);
	assert_int_equal(result.how, RUNNER_TIMED_OUT);
	assert_int_equal(result.status, 124);
}

/* Nor is a signal lost on it: that it was told to end is what is recorded. */
static void
test_deaf_runner_is_ended_by_a_signal(void **state)
{
	(void)state;
	struct script script;

	alarm(30);
	begin(&script);
	script.term_after_ms = 50;
	struct session_result result = run_script(&script, 0, NULL);
	assert_int_equal(result.how, RUNNER_CANCELLED);
	assert_int_equal(result.status, 130);
	assert_true(result.wall_ms < 10000);
	alarm(0);
}

/* One that answers has all the time that its command takes, however long that is. */
static void
test_command_that_takes_its_time_after_a_signal(void **state)
{
	(void)state;
	struct script script;

	alarm(30);
	begin(&script);
	script.term_after_ms = 50;
	script.pongs = 1;
	script.exit_after_ms = 6000;
	struct session_result result = run_script(&script, 0, NULL);
	assert_int_equal(result.how, RUNNER_EXITED);
	assert_int_equal(result.status, 7);
	assert_true(result.wall_ms >= 6000);
	alarm(0);
}

/* One that became ready and starts nothing: the wall limit ends that as well. */
static void
test_deaf_runner_before_the_start_times_out(void **state)
{
	(void)state;
	struct script script = { 0 };

	alarm(30);
	hl_buf_init(&script.out, 64 * 1024);
	put_hello(&script.out, RUNNER_VERSION);
	put_locked(&script.out);
	struct session_result result = run_script(&script, 50, NULL);
	assert_int_equal(result.how, RUNNER_TIMED_OUT);
	assert_int_equal(result.status, 124);
	assert_false(result.was_started);
	assert_true(result.wall_ms < 10000);
	alarm(0);
}

/* A runner that says nothing at all: HLB-08, and nothing was started. */
static void
test_silent_runner_is_hlb_08(void **state)
{
	(void)state;
	struct script script = { 0 };

	hl_buf_init(&script.out, 64);
	start_ms = 50;
	struct session_result result = run_script(&script, 0, NULL);
	start_ms = 0;
	assert_int_equal(result.how, RUNNER_BACKEND_ERROR);
	assert_int_equal(result.err.code, HLB_08);
	assert_false(result.was_started);
}

/* Every frame that the state does not allow ends the call as HLB-01, and nothing of it is believed.
 */
static void
test_out_of_order_is_hlb_01(void **state)
{
	(void)state;
	struct script script = { 0 };

	hl_buf_init(&script.out, 65536);
	put_hello(&script.out, RUNNER_VERSION);
	put_started(&script.out);
	assert_int_equal(run_script(&script, 0, NULL).err.code, HLB_01);

	begin(&script);
	put_locked(&script.out);
	assert_int_equal(run_script(&script, 0, NULL).err.code, HLB_01);

	begin(&script);
	put_exit(&script.out, RUNNER_EXITED, 0, 0);
	put_exit(&script.out, RUNNER_EXITED, 1, 0);
	assert_int_equal(run_script(&script, 0, NULL).err.code, HLB_01);

	begin(&script);
	runner_frame_put(&script.out, RUNNER_SPAWN, 1, "x", 1);
	assert_int_equal(run_script(&script, 0, NULL).err.code, HLB_01);
}

static void
test_garbage_is_hlb_01(void **state)
{
	(void)state;
	struct script script;

	begin(&script);
	for (int i = 0; i < 100; i++)
		hl_buf_put(&script.out, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	assert_int_equal(run_script(&script, 0, NULL).err.code, HLB_01);

	begin(&script);
	runner_frame_put(&script.out, RUNNER_EXIT, 1, "short", 5);
	assert_int_equal(run_script(&script, 0, NULL).err.code, HLB_01);

	begin(&script);
	runner_frame_put(&script.out, RUNNER_OUT, 1, "\3abc", 4);
	assert_int_equal(run_script(&script, 0, NULL).err.code, HLB_01);
}

/* A runner that ignores the window: with nobody reading, the second MiB is a fault. */
static void
test_output_past_window_is_hlb_01(void **state)
{
	(void)state;
	struct script script;
	static char block[100000];

	begin(&script);
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 30; i++)
		put_out(&script.out, 1, block, sizeof(block));
	struct session_result result = run_script(&script, 0, NULL);
	assert_int_equal(result.err.code, HLB_01);
}

static void
put_blocks(struct hl_buf *out, size_t bytes)
{
	static char block[65536];

	memset(block, 'x', sizeof(block));
	for (size_t i = 0; i < bytes / sizeof(block); i++)
		put_out(out, 1, block, sizeof(block));
}

/* Nobody reads our stdout, which is a pipe that is full: TERM ends us all the same, also when the
 * command has ended already, and so does the wall limit. An alarm ends a test that hangs. */
static void
test_output_that_nobody_reads_does_not_keep_us(void **state)
{
	(void)state;
	struct script script;

	alarm(30);
	begin(&script);
	script.term_after_ms = 200;
	put_blocks(&script.out, RUNNER_WINDOW / 2);
	put_exit(&script.out, RUNNER_EXITED, 3, 0);
	struct session_result result = run_script(&script, 0, NULL);
	assert_int_equal(result.how, RUNNER_EXITED);
	assert_int_equal(result.status, 3);

	begin(&script);
	script.term_after_ms = 200;
	put_blocks(&script.out, RUNNER_WINDOW);
	result = run_script(&script, 0, NULL);
	assert_int_equal(result.how, RUNNER_CANCELLED);
	assert_int_equal(result.status, 130);

	begin(&script);
	script.wait_for_kill = true;
	put_blocks(&script.out, RUNNER_WINDOW / 2);
	result = run_script(&script, 100, NULL);
	assert_int_equal(result.how, RUNNER_TIMED_OUT);
	assert_int_equal(result.status, 124);
	alarm(0);
}

/* What a backend has sent of the lock is not sent again. */
static void
test_lock_that_went_ahead(void **state)
{
	struct sandbox sandbox = { .pidfd = -1 };
	struct session_config config = { .sandbox = &sandbox };
	struct hl_err err;
	char sent[64], again[64];
	ssize_t len = 0;
	int pair[2];

	(void)state;
	hl_buf_init(&sandbox.lock, 64);
	hl_buf_puts(&sandbox.lock, "payload of a lock");
	assert_int_equal(hl_loop_new(&config.loop, &err), 0);
	for (size_t ahead = 0; len == 0 || ahead <= (size_t)len; ahead += 7) {
		struct session *session;
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		sandbox.stream = pair[0];
		sandbox.lock_sent = ahead;
		assert_int_equal(session_open(&config, &session, &err), 0);
		ssize_t n = recv(pair[1], again, sizeof(again), MSG_DONTWAIT);
		if (ahead == 0) {
			len = n;
			memcpy(sent, again, sizeof(sent));
			assert_int_equal(len, RUNNER_HEADER_SIZE + sandbox.lock.len);
		} else {
			assert_int_equal(n < 0 ? 0 : n, len - (ssize_t)ahead);
			assert_memory_equal(again, sent + ahead, (size_t)len - ahead);
		}
		session_free(session);
		close(pair[0]);
		close(pair[1]);
	}
	hl_loop_free(config.loop);
	hl_buf_done(&sandbox.lock);
}

/* One descriptor for both streams is watched as two: where there is no other, nothing is run. */
static void
test_no_descriptor_for_a_second_stream(void **state)
{
	const struct runner_spawn spawn = { .cwd = "/" };
	struct session_once call = { .spawn = &spawn, .stdin_fd = -1 };
	struct sandbox sandbox = { .pidfd = -1 };
	struct session_result result;
	struct rlimit limit;
	struct hl_err err;
	sigset_t old;
	int pair[2], signal_fd;

	(void)state;
	hl_buf_init(&sandbox.lock, 64);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(session_signals(&old, &signal_fd, &err), 0);
	sandbox.stream = pair[0];
	call.stdout_fd = call.stderr_fd = fcntl(pair[0], F_DUPFD_CLOEXEC, 3);
	/* One is left, which the loop takes. */
	const int next = fcntl(pair[0], F_DUPFD_CLOEXEC, 0);
	assert_true(call.stdout_fd >= 0 && next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	const struct rlimit few = { (rlim_t)next + 1, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	int status = session_run(&sandbox, &call, signal_fd, &result, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(status, -1);
	assert_int_equal(err.code, HLI_02);
	assert_int_equal(err.sys_errno, EMFILE);
	assert_false(result.was_started);
	close(call.stdout_fd);
	close(signal_fd);
	close(pair[0]);
	close(pair[1]);
	sigprocmask(SIG_SETMASK, &old, NULL);
	hl_buf_done(&sandbox.lock);
}

/* ERROR frames: families B and D are believed, others become HLB-02; control bytes do not pass. */
static void
test_error_frames(void **state)
{
	(void)state;
	struct script script = { 0 };
	struct runner_error error = { .step = CONFINE_STEP_PROC,
		.code = HLU_01,
		.sys_errno = EPERM,
		.subject = "/proc\033[2J" };

	hl_buf_init(&script.out, 65536);
	put_hello(&script.out, RUNNER_VERSION);
	runner_error_put(&script.out, &error);
	struct session_result result = run_script(&script, 0, NULL);
	assert_int_equal(result.how, RUNNER_LAUNCHER_ERROR);
	assert_int_equal(result.err.code, HLB_02);
	assert_int_equal(result.status, 125);
	assert_null(strchr(result.err.msg, '\033'));
	assert_non_null(strstr(result.err.msg, "mount /proc"));

	memset(&script, 0, sizeof(script));
	hl_buf_init(&script.out, 65536);
	put_hello(&script.out, RUNNER_VERSION);
	error.code = HLD_01;
	runner_error_put(&script.out, &error);
	assert_int_equal(run_script(&script, 0, NULL).err.code, HLD_01);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_status),
		cmocka_unit_test(test_signaled),
		cmocka_unit_test(test_noise_before_hello),
		cmocka_unit_test(test_too_much_noise_is_hlb_06),
		cmocka_unit_test(test_other_version_is_hlb_03),
		cmocka_unit_test(test_end_before_hello_is_hlb_06),
		cmocka_unit_test(test_end_while_running_is_hlb_07),
		cmocka_unit_test(test_wall_limit),
		cmocka_unit_test(test_deaf_runner_still_times_out),
		cmocka_unit_test(test_deaf_runner_is_ended_by_a_signal),
		cmocka_unit_test(test_command_that_takes_its_time_after_a_signal),
		cmocka_unit_test(test_deaf_runner_before_the_start_times_out),
		cmocka_unit_test(test_silent_runner_is_hlb_08),
		cmocka_unit_test(test_out_of_order_is_hlb_01),
		cmocka_unit_test(test_garbage_is_hlb_01),
		cmocka_unit_test(test_output_past_window_is_hlb_01),
		cmocka_unit_test(test_output_that_nobody_reads_does_not_keep_us),
		cmocka_unit_test(test_lock_that_went_ahead),
		cmocka_unit_test(test_no_descriptor_for_a_second_stream),
		cmocka_unit_test(test_error_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
