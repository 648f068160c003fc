/*
 * How bytes move in one call: poll(2) over the stream, the signals and, where the command does not
 * have them itself, our stdin, stdout and stderr. Nothing here blocks: writes to descriptors that
 * others share (a terminal, a pipe) are at most PIPE_BUF bytes and follow a POLLOUT, because
 * O_NONBLOCK would change them for everybody who shares them.
 */
#include "session/loop.h"

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

/* Order of the pollfd array. */
enum {
	POLL_STREAM,
	POLL_SIGNAL,
	POLL_STDIN,
	POLL_STDOUT,
	POLL_STDERR,
	POLL_MAX
};

void
session_loop_init(struct session_loop *loop, struct sandbox *sandbox,
    const struct session_call *call, int signal_fd, struct session_result *result)
{
	*loop = (struct session_loop){
		.sandbox = sandbox,
		.call = call,
		.result = result,
		.signal_fd = signal_fd,
		.stdin_credit = RUNNER_WINDOW,
		.deadline_ms =
		    hl_now_mono_ms() + (call->start_ms > 0 ? call->start_ms : SESSION_START_MS),
		.stdin_ended =
		    sandbox->is_stdio_inherited || !(call->spawn->flags & RUNNER_SPAWN_STDIN),
	};
	hl_buf_init(&loop->from_runner, (size_t)2 * (RUNNER_PAYLOAD_MAX + RUNNER_HEADER_SIZE));
	/* LOCK and SPAWN may each be a whole frame; STDIN waits until there is room. */
	hl_buf_init(&loop->to_runner, (size_t)4 * (RUNNER_PAYLOAD_MAX + RUNNER_HEADER_SIZE));
	for (int i = 0; i < 2; i++) {
		hl_buf_init(&loop->out[i].pending, RUNNER_WINDOW);
		loop->out[i].fd = i == 0 ? call->stdout_fd : call->stderr_fd;
		loop->out[i].credit = RUNNER_WINDOW;
	}
}

void
session_loop_done(struct session_loop *loop)
{
	hl_buf_done(&loop->from_runner);
	hl_buf_done_secret(&loop->to_runner); /* SPAWN carries values */
	for (int i = 0; i < 2; i++)
		hl_buf_done(&loop->out[i].pending);
}

static void
broken(struct session_loop *loop, enum hl_code code, const char *what)
{
	hl_err_set(&loop->result->err, code, "%s", what);
	loop->result->how = RUNNER_BACKEND_ERROR;
	loop->is_over = true;
}

/* The number is a frame's whole payload. */
static void
send_u32(struct session_loop *loop, enum runner_type type, uint32_t number)
{
	unsigned char payload[4] = { (unsigned char)number, (unsigned char)(number >> 8),
		(unsigned char)(number >> 16), (unsigned char)(number >> 24) };

	runner_frame_put(&loop->to_runner, type, 1, payload, sizeof(payload));
}

static void
send_kill(struct session_loop *loop, enum runner_how how)
{
	unsigned char reason = (unsigned char)how;

	loop->kill_how = how;
	loop->deadline_ms = hl_now_mono_ms() + SESSION_KILL_MS;
	runner_frame_put(&loop->to_runner, RUNNER_KILL, 1, &reason, 1);
}

/* Gives the runner room for what was written on, in few frames. */
static void
return_credit(struct session_loop *loop, int i)
{
	struct session_out *out = &loop->out[i];
	struct hl_buf payload;

	if (out->returned == 0 || (out->returned < RUNNER_WINDOW / 8 && out->pending.len > 0))
		return;
	hl_buf_init(&payload, 16);
	hl_wire_put_u8(&payload, (uint8_t)(i + 1));
	hl_wire_put_u32(&payload, out->returned);
	runner_frame_put(&loop->to_runner, RUNNER_WINDOW_ADD, 1, payload.data, payload.len);
	hl_buf_done(&payload);
	out->credit += out->returned;
	out->returned = 0;
}

void
session_loop_out(struct session_loop *loop, const struct runner_frame *frame)
{
	int which = frame->payload_len > 0 ? frame->payload[0] : 0;

	if (which < 1 || which > 2 || frame->payload_len - 1 > loop->out[which - 1].credit) {
		broken(loop, HLB_01, "the runner sent output past its window");
		return;
	}
	struct session_out *out = &loop->out[which - 1];
	uint32_t len = frame->payload_len - 1;
	out->credit -= len;
	*(which == 1 ? &loop->result->out_bytes : &loop->result->err_bytes) += len;
	if (out->is_broken)
		out->returned += len;
	else
		hl_buf_put(&out->pending, frame->payload + 1, len);
	return_credit(loop, which - 1);
}

static void
write_out(struct session_loop *loop, int i)
{
	struct session_out *out = &loop->out[i];
	size_t n = out->pending.len < PIPE_BUF ? out->pending.len : PIPE_BUF;
	ssize_t written = write(out->fd, out->pending.data, n);

	if (written < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (written < 0) {
		/* The reader is gone: the command is told as a pipe would tell it. */
		out->is_broken = true;
		written = (ssize_t)out->pending.len;
		send_u32(loop, RUNNER_SIGNAL, SIGPIPE);
	}
	hl_buf_drop(&out->pending, (size_t)written);
	out->returned += (uint32_t)written;
	if (!loop->has_exit)
		return_credit(loop, i);
}

static void
read_stdin(struct session_loop *loop)
{
	char chunk[12288];
	size_t want = sizeof(chunk) < loop->stdin_credit ? sizeof(chunk) : loop->stdin_credit;
	ssize_t n = read(loop->call->stdin_fd, chunk, want);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		loop->stdin_ended = true;
		runner_frame_put(&loop->to_runner, RUNNER_STDIN_EOF, 1, NULL, 0);
		return;
	}
	loop->stdin_credit -= (uint32_t)n;
	runner_frame_put(&loop->to_runner, RUNNER_STDIN, 1, chunk, (size_t)n);
}

/* Nobody reads what the command wrote: it may be over long since, and we would not hear of it. */
static bool
is_stuck(const struct session_loop *loop)
{
	return (loop->out[0].credit == 0 && loop->out[0].pending.len > 0) ||
	       (loop->out[1].credit == 0 && loop->out[1].pending.len > 0);
}

static void
read_signal(struct session_loop *loop)
{
	struct signalfd_siginfo info;

	if (read(loop->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	bool is_for_end = info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGUSR2;
	if (loop->has_exit)
		/* Only output is left, for somebody who does not read it. */
		loop->is_over = loop->is_over || is_for_end;
	else if (loop->state == SESSION_RUNNING && loop->kill_how == 0 && is_for_end &&
		 is_stuck(loop))
		send_kill(loop, RUNNER_CANCELLED); /* which ends also when nobody ever reads */
	else if (loop->state == SESSION_RUNNING)
		send_u32(loop, RUNNER_SIGNAL, info.ssi_signo);
	else if (loop->kill_how == 0)
		send_kill(loop, RUNNER_CANCELLED); /* nothing runs yet that could answer */
}

/* Skips what stands before the magic. True when frames may be read. */
static bool
skip_noise(struct session_loop *loop)
{
	struct hl_buf *in = &loop->from_runner;

	if (loop->has_magic)
		return true;
	const char *magic = memmem(in->data, in->len, RUNNER_MAGIC, RUNNER_MAGIC_SIZE);
	/* The last bytes may be the magic's beginning. */
	size_t skip = magic != NULL                 ? (size_t)(magic - in->data)
		      : in->len > RUNNER_MAGIC_SIZE ? in->len - RUNNER_MAGIC_SIZE
						    : 0;
	loop->noise += skip;
	hl_buf_drop(in, skip);
	if (loop->noise > RUNNER_NOISE_MAX) {
		broken(loop, HLB_06, "the sandbox sent something else than a runner's hello");
		return false;
	}
	if (magic == NULL)
		return false;
	hl_buf_drop(in, RUNNER_MAGIC_SIZE);
	loop->has_magic = true;
	return true;
}

static void
take_frames(struct session_loop *loop)
{
	struct hl_buf *in = &loop->from_runner;
	struct runner_frame frame;
	struct hl_err err;
	size_t size, used = 0;

	if (!skip_noise(loop))
		return;
	while (!loop->is_over) {
		/* A view behind what was taken: the buffer is moved once, not per frame. */
		struct hl_buf rest = { .data = in->data + used,
			.len = in->len - used,
			.max = in->max };
		int found = runner_frame_get(&rest, &frame, &size, &err);
		if (found < 0)
			broken(loop, HLB_01, "the runner sent something that is not a frame");
		if (found <= 0)
			break;
		session_frame(loop, &frame);
		used += size;
	}
	hl_buf_drop(in, used);
}

static void
read_stream(struct session_loop *loop)
{
	char chunk[12288];
	size_t room = loop->from_runner.max - loop->from_runner.len;
	ssize_t n = recv(loop->sandbox->stream, chunk, room < sizeof(chunk) ? room : sizeof(chunk),
	    MSG_DONTWAIT);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		session_stream_ended(loop);
		return;
	}
	hl_buf_put(&loop->from_runner, chunk, (size_t)n);
	take_frames(loop);
}

void
session_loop_send(struct session_loop *loop)
{
	struct hl_buf *out = &loop->to_runner;
	ssize_t n = send(loop->sandbox->stream, out->data, out->len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0) {
		/* The other side is gone; what it said before is still to be read. */
		hl_buf_reset(out);
		return;
	}
	hl_buf_drop(out, (size_t)n);
}

/* A deadline passed: the start's, the wall limit's, or the one after KILL. */
static void
expire(struct session_loop *loop)
{
	if (loop->has_exit) {
		/* Killed, and what it wrote is not read. */
		loop->is_over = true;
	} else if (loop->kill_how != 0) {
		/* The runner did not answer: end it from outside, the kernel ends what is below it.
		 */
		if (loop->sandbox->pidfd >= 0)
			syscall(SYS_pidfd_send_signal, loop->sandbox->pidfd, SIGKILL, NULL, 0);
		loop->result->how = loop->kill_how;
		loop->is_over = true;
	} else if (loop->state == SESSION_RUNNING) {
		send_kill(loop, RUNNER_TIMED_OUT);
	} else {
		broken(loop, HLB_08, "the sandbox did not become ready in time");
	}
}

static void
prepare(struct session_loop *loop, struct pollfd fds[POLL_MAX])
{
	bool wants_stdin = loop->state == SESSION_RUNNING && !loop->has_exit &&
			   !loop->stdin_ended && loop->stdin_credit > 0 &&
			   loop->to_runner.len < RUNNER_PAYLOAD_MAX;

	for (int i = 0; i < POLL_MAX; i++)
		fds[i] = (struct pollfd){ .fd = -1 };
	if (!loop->has_exit) {
		fds[POLL_STREAM].fd = loop->sandbox->stream;
		fds[POLL_STREAM].events = (short)(POLLIN | (loop->to_runner.len > 0 ? POLLOUT : 0));
	}
	fds[POLL_SIGNAL] = (struct pollfd){ .fd = loop->signal_fd, .events = POLLIN };
	if (wants_stdin)
		fds[POLL_STDIN] = (struct pollfd){ .fd = loop->call->stdin_fd, .events = POLLIN };
	for (int i = 0; i < 2; i++)
		if (loop->out[i].pending.len > 0)
			fds[POLL_STDOUT + i] =
			    (struct pollfd){ .fd = loop->out[i].fd, .events = POLLOUT };
}

static int
timeout(const struct session_loop *loop)
{
	/* A command that ended by itself may have a slow reader; a killed one has no more time. */
	if (loop->deadline_ms == 0 || (loop->has_exit && loop->kill_how == 0))
		return -1;
	uint64_t now = hl_now_mono_ms();
	if (now >= loop->deadline_ms)
		return 0;
	uint64_t left = loop->deadline_ms - now;
	return left < INT_MAX ? (int)left : INT_MAX;
}

static void
step(struct session_loop *loop, const struct pollfd fds[POLL_MAX])
{
	/* Output first: it frees the window that the stream waits for. */
	for (int i = 0; i < 2; i++)
		if (fds[POLL_STDOUT + i].revents != 0)
			write_out(loop, i);
	if (fds[POLL_SIGNAL].revents != 0)
		read_signal(loop);
	if (fds[POLL_STDIN].revents != 0)
		read_stdin(loop);
	if (fds[POLL_STREAM].revents & POLLOUT)
		session_loop_send(loop);
	if (fds[POLL_STREAM].revents & ~POLLOUT)
		read_stream(loop);
}

int
session_loop_run(struct session_loop *loop, struct hl_err *err)
{
	struct pollfd fds[POLL_MAX];

	while (!loop->is_over) {
		prepare(loop, fds);
		if (loop->has_exit && loop->out[0].pending.len == 0 &&
		    loop->out[1].pending.len == 0)
			break;
		int n = poll(fds, POLL_MAX, timeout(loop));
		if (n < 0 && errno != EINTR)
			return hl_err_sys(err, HLI_02, "cannot wait for the sandbox");
		if (n > 0)
			step(loop, fds);
		if (!loop->is_over && timeout(loop) == 0)
			expire(loop);
		if (hl_buf_check(&loop->to_runner, "the queue to the runner", err) != 0)
			return -1;
	}
	/* A polite end; the sandbox dies with the stream in any case. */
	runner_frame_put(&loop->to_runner, RUNNER_GOODBYE, 0, NULL, 0);
	session_loop_send(loop);
	return 0;
}
