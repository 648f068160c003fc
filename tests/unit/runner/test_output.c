/*
 * Bytes of a command: windows, what is owed at an end, and input that is taken or not.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "one_call.h"

#include "base/banned.h"

static int
begin(void **state)
{
	(void)state;
	call_begin(9);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	call_over();
	return 0;
}

/* A pipe of the call's; returns the other end. */
static int
open_pipe(int *ours, int our_end)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	*ours = ends[our_end];
	return ends[1 - our_end];
}

/* Takes the frame at the front of what waits for the host. */
static struct runner_frame
next_frame(void)
{
	static unsigned char bytes[RUNNER_HEADER_SIZE + RUNNER_PAYLOAD_MAX];
	struct runner_frame frame;
	struct hl_err err;
	size_t size;

	assert_int_equal(runner_frame_get(&init.out, &frame, &size, &err), 1);
	memcpy(bytes, init.out.data, size);
	hl_buf_drop(&init.out, size);
	frame.payload = bytes + RUNNER_HEADER_SIZE;
	return frame;
}

static void
test_output(void **state)
{
	(void)state;
	HL_AUTO_FD int theirs = open_pipe(&call.out_fd[1], 0);
	assert_int_equal(write(theirs, "hello", 5), 5);
	output_read(&init, &call, 1);
	struct runner_frame frame = next_frame();
	assert_int_equal(frame.type, RUNNER_OUT);
	assert_int_equal(frame.channel, 9);
	assert_int_equal(frame.payload_len, 6);
	assert_memory_equal(frame.payload, "\2hello", 6);
	assert_int_equal(call.out_window[1], RUNNER_WINDOW - 5);
	/* never past the window */
	call.out_window[1] = 3;
	assert_int_equal(write(theirs, "hello", 5), 5);
	output_read(&init, &call, 1);
	assert_int_equal(next_frame().payload_len, 4);
	assert_int_equal(call.out_window[1], 0);
	/* nothing there is no end, the end is */
	call.out_window[1] = 100;
	output_read(&init, &call, 1);
	assert_int_equal(next_frame().payload_len, 3);
	output_read(&init, &call, 1);
	assert_true(call.out_fd[1] >= 0);
	close(hl_take_fd(&theirs));
	output_read(&init, &call, 1);
	assert_int_equal(call.out_fd[1], -1);
	assert_int_equal(init.out.len, 0);
}

/* Of what is sent at once the stream may take any part: the rest waits, and no byte is lost. */
static void
test_part_of_a_frame_is_taken(void **state)
{
	static char written[40000], seen[RUNNER_HEADER_SIZE + 1 + sizeof(written)];
	struct runner_frame frame;
	struct hl_err err;
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(written); i++)
		written[i] = (char)(i % 251);
	/* Pages of a pipe that are free, with a byte in another one: less than a head, head and
	 * some. */
	for (int free_pages = 0; free_pages < 12; free_pages++) {
		static char page[4096];
		HL_AUTO_FD int theirs = open_pipe(&call.out_fd[0], 0);
		HL_AUTO_FD int host = open_pipe(&init.out_fd, 1);
		for (int i = 0; i < 16 - free_pages; i++)
			assert_int_equal(write(init.out_fd, page, sizeof(page)), sizeof(page));
		call.out_window[0] = RUNNER_WINDOW;
		assert_int_equal(write(theirs, written, sizeof(written)), sizeof(written));
		output_read(&init, &call, 0);
		for (int i = 0; i < 16 - free_pages; i++)
			assert_int_equal(hl_read_full(host, page, sizeof(page)), sizeof(page));
		ssize_t sent = read(host, seen, sizeof(seen));
		size_t taken = sent > 0 ? (size_t)sent : 0;
		assert_int_equal(taken + init.out.len, sizeof(seen));
		/* 40,013 bytes are less than ten pages. */
		size_t room = (size_t)free_pages * sizeof(page);
		assert_int_equal(taken, room < sizeof(seen) ? room : sizeof(seen));
		memcpy(seen + taken, init.out.data, init.out.len);
		const struct hl_buf in = { .data = seen, .len = sizeof(seen) };
		assert_int_equal(runner_frame_get(&in, &frame, &size, &err), 1);
		assert_int_equal(size, sizeof(seen));
		assert_memory_equal(frame.payload + 1, written, sizeof(written));
		hl_buf_reset(&init.out);
		call_close_fd(&call.out_fd[0]);
		close(hl_take_fd(&init.out_fd));
	}
}

/* What was there at the end is owed, what comes behind it is not. */
static void
test_drain(void **state)
{
	(void)state;
	HL_AUTO_FD int theirs = open_pipe(&call.out_fd[0], 0);
	assert_int_equal(write(theirs, "0123456789", 10), 10);
	output_begin_drain(&call);
	assert_int_equal(call.owed[0], 10);
	assert_int_equal(call.owed[1], 0);
	/* the window stands in the way: this is the host's to change */
	call.out_window[0] = 4;
	assert_false(output_drain(&init, &call));
	assert_false(call.needs_room);
	assert_int_equal(next_frame().payload_len, 5);
	/* room: ours to wait for */
	call.out_window[0] = 1000;
	for (int i = 0; i < OUT_BUSY; i++)
		hl_buf_putc(&init.out, 'x');
	assert_false(output_drain(&init, &call));
	assert_true(call.needs_room);
	hl_buf_reset(&init.out);
	/* a writer that goes on does not prolong it */
	call.out_window[0] = 6;
	assert_int_equal(write(theirs, "more", 4), 4);
	assert_true(output_drain(&init, &call));
	assert_int_equal(next_frame().payload_len, 7);
	assert_int_equal(init.out.len, 0);
}

static void
test_input(void **state)
{
	const unsigned char bytes[5] = "abcde";
	char found[8];

	(void)state;
	HL_AUTO_FD int theirs = open_pipe(&call.stdin_fd, 1);
	stdin_put(&init, &call, bytes, 5);
	assert_int_equal(read(theirs, found, sizeof(found)), 5);
	struct runner_frame frame = next_frame();
	assert_int_equal(frame.type, RUNNER_WINDOW_ADD);
	assert_memory_equal(frame.payload, "\0\5\0\0\0", 5);
	assert_int_equal(call.stdin_window, RUNNER_WINDOW);
	/* one that does not read keeps the credit, and the end waits for it */
	while (write(call.stdin_fd, bytes, 1) == 1)
		continue;
	stdin_put(&init, &call, bytes, 5);
	stdin_end(&init, &call);
	assert_int_equal(init.out.len, 0);
	assert_int_equal(call.stdin_window, RUNNER_WINDOW - 5);
	assert_true(call.stdin_fd >= 0);
	static char all[1 << 17];
	while (read(theirs, all, sizeof(all)) > 0)
		continue;
	stdin_write(&init, &call);
	assert_int_equal(call.stdin_window, RUNNER_WINDOW);
	assert_int_equal(call.stdin_fd, -1);
	/* and one that is gone gives all of it back at once */
	hl_buf_reset(&init.out);
	stdin_put(&init, &call, bytes, 5);
	assert_int_equal(next_frame().type, RUNNER_WINDOW_ADD);
	assert_int_equal(call.stdin_bytes.len, 0);
}

static void
test_broken_input(void **state)
{
	static const unsigned char bytes[1 << 17];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	HL_AUTO_FD int theirs = open_pipe(&call.stdin_fd, 1);
	stdin_put(&init, &call, bytes, sizeof(bytes));
	assert_true(call.stdin_bytes.len > 0);
	close(hl_take_fd(&theirs));
	stdin_write(&init, &call);
	assert_int_equal(call.stdin_fd, -1);
	assert_int_equal(call.stdin_window, RUNNER_WINDOW);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_output, begin, end),
		cmocka_unit_test_setup_teardown(test_part_of_a_frame_is_taken, begin, end),
		cmocka_unit_test_setup_teardown(test_drain, begin, end),
		cmocka_unit_test_setup_teardown(test_input, begin, end),
		cmocka_unit_test_setup_teardown(test_broken_input, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
