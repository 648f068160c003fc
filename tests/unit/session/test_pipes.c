/*
 * Output that comes through pipes of the session's own: what belongs to a call and what to the
 * background, credit, ends in every order, and where there are none.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include <stdio.h>

#include "tests/lib/open_fds.h"
#include "tests/unit/session/stage.h"

#include "base/banned.h"

/* What came over the socket: the channel's number, and the writing ends. */
struct passed {
	unsigned number;
	int fds[2];
	size_t len;
};

/* False when there is nothing. */
static bool
receive(int socket, struct passed *ret_passed)
{
	unsigned char number[8];
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = number, .iov_len = sizeof(number) };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };

	const ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return false;
	assert_int_equal(n, 4);
	const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	assert_non_null(head);
	*ret_passed = (struct passed){ .number = number[0],
		.fds = { -1, -1 },
		.len = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int) };
	memcpy(ret_passed->fds, CMSG_DATA(head), ret_passed->len * sizeof(int));
	return true;
}

struct piped {
	struct stage stage;
	int socket; /* the runner's end */
	struct passed passed;
};

static void
open_piped(struct piped *piped)
{
	int ends[2];

	open_stage(&piped->stage);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	piped->stage.sandbox.pass = ends[0];
	piped->stage.sandbox.uid = 65534;
	piped->stage.sandbox.gid = 65534;
	piped->socket = ends[1];
	piped->passed = (struct passed){ .fds = { -1, -1 } };
}

static void
write_ends(const struct piped *piped, int stream, const char *text)
{
	const ssize_t len = (ssize_t)strlen(text);

	assert_int_equal(write(piped->passed.fds[stream - 1], text, (size_t)len), len);
}

/* What a runner does when the command's processes are gone. */
static void
close_ends(struct piped *piped)
{
	for (int i = 0; i < 2; i++)
		hl_close_ptr(&piped->passed.fds[i]);
	piped->passed.fds[0] = piped->passed.fds[1] = -1;
}

static void
close_piped(struct piped *piped)
{
	close_ends(piped);
	const int ours = piped->stage.sandbox.pass;
	close_stage(&piped->stage);
	close(ours);
	close(piped->socket);
}

/* Call 0 is started and its pipes are here. */
static void
start_piped(struct piped *piped, uint32_t flags)
{
	open_piped(piped);
	start(&piped->stage, 0, flags);
	assert_true(receive(piped->socket, &piped->passed));
	assert_int_equal(piped->passed.number, 1);
	turn(&piped->stage);
}

static void
test_output_is_the_calls(void **state)
{
	struct piped piped;
	struct stat st;

	(void)state;
	start_piped(&piped, 0);
	assert_int_equal(piped.passed.len, 2);
	write_ends(&piped, 1, "one");
	turn(&piped.stage);
	write_ends(&piped, 2, "two");
	/* What has not been read yet when the end is told is still the call's. */
	say_exit(&piped.stage, 1, &fine);
	turn(&piped.stage);
	assert_string_equal(piped.stage.out.data, "0.1:one0.2:two");
	assert_string_equal(piped.stage.ended[0]->out.head.data, "one");
	assert_string_equal(piped.stage.ended[0]->err_out.head.data, "two");
	assert_int_equal(piped.stage.ended[0]->out_bytes, 3);
	/* Theirs are ordinary pipes that their user may open again. */
	assert_int_equal(fstat(piped.passed.fds[0], &st), 0);
	assert_int_equal(st.st_uid, geteuid() == 0 ? 65534 : geteuid());
	assert_int_equal(fcntl(piped.passed.fds[0], F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_WRONLY);
	close_piped(&piped);
}

static void
test_merged_is_one(void **state)
{
	struct piped piped;

	(void)state;
	start_piped(&piped, SESSION_CALL_MERGED);
	assert_int_equal(piped.passed.len, 1);
	write_ends(&piped, 1, "both");
	say_exit(&piped.stage, 1, &fine);
	turn(&piped.stage);
	assert_string_equal(piped.stage.ended[0]->out.head.data, "both");
	close_piped(&piped);
}

static bool
says_pipes(struct stage *stage)
{
	static char bytes[1 << 16];
	struct runner_frame frame;
	struct runner_spawn spawn;
	struct hl_err err;
	size_t size;
	bool has = false, is_found = false;

	ssize_t n = recv(stage->far, bytes, sizeof(bytes), MSG_DONTWAIT);
	struct hl_buf view = { .data = bytes, .len = n > 0 ? (size_t)n : 0, .max = sizeof(bytes) };
	while (runner_frame_get(&view, &frame, &size, &err) == 1) {
		if (frame.type == RUNNER_SPAWN) {
			assert_int_equal(runner_spawn_get(&frame, &spawn, &err), 0);
			has = (spawn.flags & RUNNER_SPAWN_PIPES) != 0;
			is_found = true;
			runner_spawn_done(&spawn);
		}
		view.data += size;
		view.len -= size;
	}
	assert_true(is_found);
	return has;
}

/* A terminal has none; where they cannot be handed over or made output comes as frames. */
static void
test_where_there_are_none(void **state)
{
	struct piped piped;
	struct passed passed;
	struct rlimit old, few;

	(void)state;
	open_piped(&piped);
	call(&piped.stage, 0, SESSION_CALL_PTY);
	assert_false(says_pipes(&piped.stage));
	assert_false(receive(piped.socket, &passed));
	call(&piped.stage, 1, 0);
	assert_true(says_pipes(&piped.stage));
	assert_true(receive(piped.socket, &piped.passed));
	/* No number is left for a second pipe. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	HL_AUTO_FD int probe = fcntl(0, F_DUPFD_CLOEXEC, 3);
	few.rlim_cur = (rlim_t)probe + 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	call(&piped.stage, 2, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_false(says_pipes(&piped.stage));
	assert_false(receive(piped.socket, &passed));
	/* Nobody takes them. */
	close(piped.socket);
	call(&piped.stage, 3, 0);
	assert_false(says_pipes(&piped.stage));
	say(&piped.stage, RUNNER_STARTED, 4, "\2\0\0\0", 4);
	say(&piped.stage, RUNNER_OUT, 4, "\1frame", 6);
	say_exit(&piped.stage, 4, &fine);
	turn(&piped.stage);
	assert_string_equal(piped.stage.ended[3]->out.head.data, "frame");
	piped.socket = fcntl(0, F_DUPFD_CLOEXEC, 3);
	close_piped(&piped);
}

/* A runner that sends frames of what it has no part in is not believed. */
static void
test_frames_beside_pipes_are_hlb_01(void **state)
{
	struct piped piped;

	(void)state;
	start_piped(&piped, 0);
	say(&piped.stage, RUNNER_OUT, 1, "\1x", 2);
	turn(&piped.stage);
	assert_int_equal(piped.stage.closed.code, HLB_01);
	assert_int_equal(piped.stage.ended[0]->how, RUNNER_BACKEND_ERROR);
	close_piped(&piped);
}

/* Bytes that nobody has the credit for, behind which the end waits. */
static void
fill(const struct piped *piped, size_t len)
{
	static char block[4096];

	memset(block, 'f', sizeof(block));
	(void)fcntl(piped->passed.fds[0], F_SETPIPE_SZ, (int)len);
	for (size_t at = 0; at < len; at += sizeof(block))
		assert_int_equal(write(piped->passed.fds[0], block, sizeof(block)), sizeof(block));
}

enum {
	PAST = 65536 /* more than the window */
};

static void
start_paused(struct piped *piped)
{
	struct runner_exit left = fine;

	start_piped(piped, SESSION_CALL_PAUSED);
	for (int i = 0; i < RUNNER_WINDOW / PAST; i++) {
		fill(piped, PAST);
		turn(&piped->stage);
	}
	fill(piped, PAST);
	left.has_left = true;
	say_exit(&piped->stage, 1, &left);
	turn(&piped->stage);
	assert_int_equal(piped->stage.calls[0]->result.out_bytes, RUNNER_WINDOW);
	assert_null(piped->stage.ended[0]);
}

static void
test_the_end_waits_for_credit(void **state)
{
	(void)state;
	for (int is_closed = 0; is_closed < 2; is_closed++) {
		struct piped piped;
		start_paused(&piped);
		if (is_closed) {
			close_ends(&piped);
			say(&piped.stage, RUNNER_CLOSED, 1, NULL, 0);
			turn(&piped.stage);
			assert_null(piped.stage.ended[0]);
		}
		session_call_credit(piped.stage.calls[0], 1, PAST / 2);
		turn(&piped.stage);
		assert_null(piped.stage.ended[0]);
		session_call_credit(piped.stage.calls[0], 1, PAST / 2);
		turn(&piped.stage);
		assert_int_equal(piped.stage.ended[0]->how, RUNNER_EXITED);
		assert_int_equal(piped.stage.ended[0]->out_bytes, RUNNER_WINDOW + PAST);
		assert_int_equal(piped.stage.session->channels[1].state,
		    is_closed ? CHANNEL_FREE : CHANNEL_LEFT);
		/* Nothing is left of what was, when the end was told. */
		assert_int_equal(piped.stage.ended[0]->has_left, !is_closed);
		assert_false(piped.stage.is_closed);
		close_piped(&piped);
	}
}

/* What the end waits for can be taken away by whom the command has left running. */
static void
test_a_thief_does_not_hold_the_end(void **state)
{
	static char stolen[PAST];
	struct piped piped;
	char path[64];

	(void)state;
	start_paused(&piped);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", piped.passed.fds[0]);
	HL_AUTO_FD int thief = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(read(thief, stolen, sizeof(stolen)), PAST);
	session_call_credit(piped.stage.calls[0], 1, 1);
	turn(&piped.stage);
	assert_non_null(piped.stage.ended[0]);
	assert_int_equal(piped.stage.ended[0]->out_bytes, RUNNER_WINDOW);
	/* And what comes later is read as it always is. */
	write_ends(&piped, 1, "later");
	turn(&piped.stage);
	assert_int_equal(piped.stage.session->background.total, 5);
	close_piped(&piped);
}

/* A pipe whose content cannot be read (a page of a file, splice(2)) is no reason to end what other
 * calls run. */
static void
test_a_pipe_that_cannot_be_read_has_ended(void **state)
{
	struct piped piped;

	(void)state;
	open_piped(&piped);
	call(&piped.stage, 0, 0);
	assert_true(receive(piped.socket, &piped.passed));
	HL_AUTO_FD int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int pipe = piped.stage.session->channels[1].pipes[0].fd;
	assert_int_equal(dup3(folder, pipe, O_CLOEXEC), pipe);
	say(&piped.stage, RUNNER_STARTED, 1, "\2\0\0\0", 4);
	turn(&piped.stage);
	assert_false(piped.stage.is_closed);
	write_ends(&piped, 2, "still here");
	say_exit(&piped.stage, 1, &fine);
	turn(&piped.stage);
	assert_int_equal(piped.stage.ended[0]->how, RUNNER_EXITED);
	assert_string_equal(piped.stage.ended[0]->err_out.head.data, "still here");
	close_piped(&piped);
}

/* Whoever cancels gets an end, credit or not, and it is told as that. */
static void
test_a_cancel_does_not_wait(void **state)
{
	struct piped piped;

	(void)state;
	start_paused(&piped);
	session_call_cancel(piped.stage.calls[0]);
	turn(&piped.stage);
	assert_int_equal(piped.stage.ended[0]->how, RUNNER_CANCELLED);
	assert_int_equal(piped.stage.ended[0]->out_bytes, RUNNER_WINDOW + PAST);
	assert_false(piped.stage.is_closed);
	close_piped(&piped);
}

/* So does a time limit, which is not over when the command is. */
static void
test_a_time_limit_does_not_wait(void **state)
{
	struct piped piped;

	(void)state;
	start_paused(&piped);
	assert_true(call_set_deadline(piped.stage.calls[0], 1));
	turn(&piped.stage);
	turn(&piped.stage);
	assert_int_equal(piped.stage.ended[0]->how, RUNNER_TIMED_OUT);
	assert_false(piped.stage.is_closed);
	close_piped(&piped);
}

/* What is left running writes to the background log, to its last byte, and holds no call. */
static void
test_what_comes_later_is_the_backgrounds(void **state)
{
	struct runner_exit left = fine;
	struct piped piped;
	uint64_t offset;
	char text[16];

	(void)state;
	start_piped(&piped, 0);
	left.has_left = true;
	say_exit(&piped.stage, 1, &left);
	turn(&piped.stage);
	assert_true(piped.stage.ended[0]->has_left);
	write_ends(&piped, 1, "later");
	turn(&piped.stage);
	write_ends(&piped, 2, " last");
	close_ends(&piped);
	say(&piped.stage, RUNNER_CLOSED, 1, NULL, 0);
	turn(&piped.stage);
	assert_int_equal(piped.stage.out.len, 0);
	assert_int_equal(session_background(piped.stage.session, 0, text, sizeof(text), &offset),
	    10);
	assert_memory_equal(text, "later last", 10);
	assert_int_equal(piped.stage.session->channels[1].state, CHANNEL_FREE);
	/* And the channel is another call's. */
	assert_false(piped.stage.is_closed);
	close_piped(&piped);
}

/* A writer that goes on, in another call's hands, keeps neither EXIT nor CLOSED waiting. */
static void
test_a_writer_that_goes_on_holds_nothing(void **state)
{
	struct piped piped;

	(void)state;
	start_piped(&piped, 0);
	fill(&piped, PAST);
	say_exit(&piped.stage, 1, &fine);
	say(&piped.stage, RUNNER_CLOSED, 1, NULL, 0);
	turn(&piped.stage);
	assert_non_null(piped.stage.ended[0]);
	assert_int_equal(piped.stage.session->channels[1].state, CHANNEL_FREE);
	close_piped(&piped);
}

/* The sandbox is gone in the middle: what it wrote is there, and an end that was told counts. */
static void
test_the_sandbox_ends(void **state)
{
	struct piped piped;

	(void)state;
	start_piped(&piped, 0);
	write_ends(&piped, 1, "last words");
	close_ends(&piped);
	shutdown(piped.stage.far, SHUT_RDWR);
	turn(&piped.stage);
	assert_true(piped.stage.is_closed);
	assert_int_equal(piped.stage.ended[0]->how, RUNNER_BACKEND_ERROR);
	assert_string_equal(piped.stage.ended[0]->out.head.data, "last words");
	close_piped(&piped);

	start_paused(&piped);
	shutdown(piped.stage.far, SHUT_RDWR);
	turn(&piped.stage);
	assert_true(piped.stage.is_closed);
	assert_int_equal(piped.stage.ended[0]->how, RUNNER_EXITED);
	assert_int_equal(piped.stage.ended[0]->out_bytes, RUNNER_WINDOW + PAST);
	close_piped(&piped);
}

/* Whichever way a call ends its descriptors are closed: refused, closed, forgotten. */
static void
test_nothing_is_left_open(void **state)
{
	static const struct runner_exit refused = { .how = RUNNER_LAUNCHER_ERROR,
		.code = 127,
		.subject = "nothing" };

	(void)state;
	const unsigned before = open_fds();
	for (int i = 0; i < 4; i++) {
		struct piped piped;
		open_piped(&piped);
		const unsigned idle = open_fds();
		if (i > 0)
			start(&piped.stage, 0, 0);
		else
			call(&piped.stage, 0, 0);
		assert_true(receive(piped.socket, &piped.passed));
		close_ends(&piped);
		turn(&piped.stage);
		if (i == 0)
			say_exit(&piped.stage, 1, &refused);
		if (i == 1)
			say_exit(&piped.stage, 1, &fine);
		if (i <= 1) {
			say(&piped.stage, RUNNER_CLOSED, 1, NULL, 0);
			turn(&piped.stage);
			assert_non_null(piped.stage.ended[0]);
			assert_int_equal(open_fds(), idle);
		}
		if (i == 2)
			session_close(piped.stage.session);
		close_piped(&piped);
		assert_int_equal(open_fds(), before);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_is_the_calls),
		cmocka_unit_test(test_merged_is_one),
		cmocka_unit_test(test_where_there_are_none),
		cmocka_unit_test(test_frames_beside_pipes_are_hlb_01),
		cmocka_unit_test(test_the_end_waits_for_credit),
		cmocka_unit_test(test_a_thief_does_not_hold_the_end),
		cmocka_unit_test(test_a_pipe_that_cannot_be_read_has_ended),
		cmocka_unit_test(test_a_cancel_does_not_wait),
		cmocka_unit_test(test_a_time_limit_does_not_wait),
		cmocka_unit_test(test_what_comes_later_is_the_backgrounds),
		cmocka_unit_test(test_a_writer_that_goes_on_holds_nothing),
		cmocka_unit_test(test_the_sandbox_ends),
		cmocka_unit_test(test_nothing_is_left_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
