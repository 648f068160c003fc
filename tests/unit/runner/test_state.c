/*
 * A shell's state on its way: the descriptors it is given, and what becomes of what it writes.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "one_call.h"

#include "base/banned.h"

static int
begin(void **state)
{
	(void)state;
	call_begin(2);
	call.flags = RUNNER_SPAWN_STATE;
	return 0;
}

static int
end(void **state)
{
	(void)state;
	call_over();
	return 0;
}

static void
test_text(void **state)
{
	char found[16] = "";

	(void)state;
	/* the numbers that the command is given are not in the way, whatever was open before */
	HL_AUTO_FD int low = dup3(STDERR_FILENO, RUNNER_STATE_TEXT_FD - 1, O_CLOEXEC);
	hl_buf_puts(&call.state_text, "text");
	assert_int_equal(state_open(&call), 0);
	assert_int_not_equal(call.task.state_text_fd, RUNNER_STATE_TEXT_FD);
	assert_int_not_equal(call.task.state_fd, RUNNER_STATE_TEXT_FD);
	assert_int_equal(pread(call.task.state_text_fd, found, sizeof(found), 0), 4);
	assert_string_equal(found, "text");
	assert_int_equal(call.state_text.len, 0);
	assert_int_equal(fcntl(call.task.state_text_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(call.task.state_fd, F_GETFD), FD_CLOEXEC);
	/* without the flag there is nothing */
	call_close(&call);
	call.flags = 0;
	assert_int_equal(state_open(&call), 0);
	assert_int_equal(call.task.state_fd, -1);
	assert_int_equal(state_kept(&call), RUNNER_STATE_NONE);
}

/* The two numbers themselves free: they are left to the command. */
static void
test_numbers(void **state)
{
	int filler[RUNNER_STATE_FD + 1];
	size_t n = 0;

	(void)state;
	while ((filler[n] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) < RUNNER_STATE_TEXT_FD - 1)
		n++;
	assert_int_equal(state_open(&call), 0);
	assert_true(call.task.state_text_fd > RUNNER_STATE_FD);
	assert_true(
	    call.task.state_fd > RUNNER_STATE_FD || call.task.state_fd < RUNNER_STATE_TEXT_FD);
	for (size_t i = 0; i <= n; i++)
		close(filler[i]);
}

static void
put(const void *bytes, size_t len)
{
	assert_int_equal(write(call.task.state_fd, bytes, len), (ssize_t)len);
}

static void
test_kept(void **state)
{
	struct runner_frame frame;
	struct hl_err err;
	size_t size;

	(void)state;
	assert_int_equal(state_open(&call), 0);
	put("one ", 4);
	assert_int_equal(state_read(&call), 4);
	put("two", 3);
	state_finish(&call, false);
	assert_int_equal(call.state_fd, -1);
	assert_true(state_send(&init, &call));
	assert_int_equal(state_kept(&call), RUNNER_STATE_KEPT);
	assert_int_equal(runner_frame_get(&init.out, &frame, &size, &err), 1);
	assert_int_equal(frame.type, RUNNER_STATE);
	assert_int_equal(frame.payload_len, 7);
	assert_memory_equal(frame.payload, "one two", 7);
}

static void
test_lost(void **state)
{
	(void)state;
	/* nothing was written */
	assert_int_equal(state_open(&call), 0);
	state_finish(&call, false);
	assert_true(state_send(&init, &call));
	assert_int_equal(state_kept(&call), RUNNER_STATE_LOST);
	/* killed in the middle of it */
	call_close(&call);
	assert_int_equal(state_open(&call), 0);
	put("half", 4);
	state_finish(&call, true);
	assert_true(state_send(&init, &call));
	assert_int_equal(state_kept(&call), RUNNER_STATE_LOST);
	assert_int_equal(init.out.len, 0);
}

/* Past the maximum nothing of it is kept, and the writer does not notice. */
static void
test_flood(void **state)
{
	static char bytes[16384];

	(void)state;
	assert_int_equal(state_open(&call), 0);
	for (size_t total = 0; total <= 2 * (size_t)RUNNER_STATE_MAX; total += sizeof(bytes)) {
		put(bytes, sizeof(bytes));
		assert_int_equal(state_read(&call), sizeof(bytes));
		assert_true(call.state_out.len <= RUNNER_STATE_MAX);
	}
	assert_int_equal(call.state_out.len, 0);
	state_finish(&call, false);
	assert_true(state_send(&init, &call));
	assert_int_equal(state_kept(&call), RUNNER_STATE_LOST);
}

/* A large one goes out as room comes. */
static void
test_room(void **state)
{
	int rounds = 1;

	(void)state;
	for (int i = 0; i < RUNNER_STATE_MAX; i++)
		hl_buf_putc(&call.state_out, 'x');
	while (!state_send(&init, &call)) {
		assert_true(call.needs_room);
		assert_true(init.out.len <= 2 * OUT_BUSY);
		hl_buf_reset(&init.out);
		rounds++;
	}
	assert_true(rounds >= RUNNER_STATE_MAX / (2 * OUT_BUSY));
	assert_int_equal(state_kept(&call), RUNNER_STATE_KEPT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_text, begin, end),
		cmocka_unit_test_setup_teardown(test_numbers, begin, end),
		cmocka_unit_test_setup_teardown(test_kept, begin, end),
		cmocka_unit_test_setup_teardown(test_lost, begin, end),
		cmocka_unit_test_setup_teardown(test_flood, begin, end),
		cmocka_unit_test_setup_teardown(test_room, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
