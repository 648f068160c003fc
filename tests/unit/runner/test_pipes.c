/*
 * The pipes of a call, as they come over the socket beside the stream: those that SPAWN speaks of
 * and no others, and nothing that came is left open.
 */
#include <sys/resource.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "one_call.h"
#include "tests/lib/open_fds.h"

#include "base/banned.h"

static int host;

static int
begin(void **state)
{
	int ends[2];

	(void)state;
	call_begin(9);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	host = ends[0];
	init.pass_fd = ends[1];
	return 0;
}

static int
end(void **state)
{
	(void)state;
	call_over();
	close(host);
	close(init.pass_fd);
	return 0;
}

/* A message of len bytes, the number 9 first, with so many writing ends of one pipe. */
static void
say_pipes(const char *number, size_t len, unsigned count)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(6 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (char *)(uintptr_t)number, .iov_len = len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	int ends[2], fds[6];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	for (unsigned i = 0; i < count; i++)
		fds[i] = ends[1];
	if (count > 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(count * sizeof(int)) };
		memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
	}
	assert_int_equal(sendmsg(host, &message, 0), (ssize_t)len);
	close(ends[0]);
	close(ends[1]);
}

static void
test_pipes_are_the_calls(void **state)
{
	(void)state;
	say_pipes("\11\0\0\0", 4, 2);
	assert_null(pipes_take(&init, &call, RUNNER_SPAWN_PIPES));
	assert_int_equal(call.task.stdio[0], -1);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(fcntl(call.task.stdio[i], F_GETFL) & O_ACCMODE, O_WRONLY);
		assert_int_equal(fcntl(call.task.stdio[i], F_GETFD), FD_CLOEXEC);
	}
	assert_int_not_equal(call.task.stdio[1], call.task.stdio[2]);
}

static void
test_merged_is_one_pipe(void **state)
{
	(void)state;
	say_pipes("\11\0\0\0", 4, 1);
	assert_null(pipes_take(&init, &call, RUNNER_SPAWN_PIPES | RUNNER_SPAWN_MERGED));
	assert_true(call.task.stdio[1] >= 0);
	assert_int_equal(call.task.stdio[2], -1);
}

/* Two calls, each with the message that was sent for it. */
static void
test_messages_are_taken_one_by_one(void **state)
{
	(void)state;
	say_pipes("\11\0\0\0", 4, 1);
	say_pipes("\11\0\0\0", 4, 2);
	assert_null(pipes_take(&init, &call, RUNNER_SPAWN_PIPES | RUNNER_SPAWN_MERGED));
	call_over();
	call_reset(&call, 9);
	hl_buf_init(&init.out, 4096);
	assert_null(pipes_take(&init, &call, RUNNER_SPAWN_PIPES));
}

/* Not of the form, not of the call, not as many, none, and no socket at all: each is told, and with
 * the call everything that came is closed. */
static void
test_others_are_refused(void **state)
{
	static const struct {
		const char *number;
		size_t len;
		unsigned count;
		uint32_t flags;
	} rows[] = {
		{ "\10\0\0\0", 4, 2, 0 },                   /* of another call */
		{ "\11\1\0\0", 4, 2, 0 },                   /* no channel at all */
		{ "\11\0\0\0", 4, 1, 0 },                   /* too few */
		{ "\11\0\0\0", 4, 0, 0 },                   /* none */
		{ "\11\0\0\0", 4, 3, 0 },                   /* too many */
		{ "\11\0\0\0", 4, 4, 0 },                   /* as many as are looked at */
		{ "\11\0\0\0", 4, 6, 0 },                   /* and more */
		{ "\11\0\0\0", 4, 2, RUNNER_SPAWN_MERGED }, /* too many */
		{ "\11\0\0\0\0", 5, 2, 0 },                 /* longer */
		{ "\11\0", 2, 2, 0 },                       /* shorter */
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		const unsigned before = open_fds();
		say_pipes(rows[i].number, rows[i].len, rows[i].count);
		if (pipes_take(&init, &call, RUNNER_SPAWN_PIPES | rows[i].flags) == NULL)
			fail_msg("message %zu was taken", i);
		call_close(&call);
		call_reset(&call, 9);
		assert_int_equal(open_fds(), before);
	}
	assert_non_null(pipes_take(&init, &call, RUNNER_SPAWN_PIPES));
	const int socket = init.pass_fd;
	init.pass_fd = -1;
	assert_non_null(pipes_take(&init, &call, RUNNER_SPAWN_PIPES));
	init.pass_fd = socket;
	(void)state;
}

/* Where no number is free the host is not to blame: it is this call's fault and no other's. */
static void
test_no_number_is_not_told_of_the_host(void **state)
{
	struct rlimit old, few;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (unsigned free_numbers = 0; free_numbers < 2; free_numbers++) {
		say_pipes("\11\0\0\0", 4, 2);
		const int next = fcntl(0, F_DUPFD_CLOEXEC, 0);
		close(next);
		const unsigned before = open_fds();
		few = old;
		few.rlim_cur = (rlim_t)next + free_numbers;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		const char *fault = pipes_take(&init, &call, RUNNER_SPAWN_PIPES);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		assert_null(fault);
		assert_int_equal(call.task.stdio[1] >= 0, free_numbers > 0);
		assert_int_equal(call.task.stdio[2], -1);
		call_close(&call);
		call_reset(&call, 9);
		assert_int_equal(open_fds(), before);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pipes_are_the_calls, begin, end),
		cmocka_unit_test_setup_teardown(test_merged_is_one_pipe, begin, end),
		cmocka_unit_test_setup_teardown(test_messages_are_taken_one_by_one, begin, end),
		cmocka_unit_test_setup_teardown(test_others_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(test_no_number_is_not_told_of_the_host, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
