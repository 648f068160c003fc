/*
 * The loop: one poll over the stream, the signals and the command's pipes. What has to be said is
 * collected and sent when the loop would wait, so that HELLO, LOCKED and STARTED are one write when
 * the host has sent everything already.
 */
#include "runner/loop.h"

#include <sys/signalfd.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

enum {
	SLOT_IN,
	SLOT_OUT,
	SLOT_SIGNAL,
	SLOT_WAKE,
	SLOT_CALLS, /* what the calls have open follows, in the order of slot_kind */

	CHUNK = 16384,
	/* A frame, and what may stand before the next one is whole. */
	IN_MAX = RUNNER_HEADER_SIZE + RUNNER_PAYLOAD_MAX + CHUNK,
	OUT_MAX = 4 * RUNNER_PAYLOAD_MAX,
	/* While more than this waits for a host that does not read, we do not read it either. */
	OUT_FULL = 2 * RUNNER_PAYLOAD_MAX,
	/* Of an end, with a host that says nothing more. */
	PATIENCE_MS = 2000
};

enum slot_kind {
	SLOT_STDOUT,
	SLOT_STDERR,
	SLOT_STDIN,
	SLOT_STATE,
	SLOT_STATE_TEXT,
	SLOT_KINDS
};

/* One round of poll(2): descriptors, and whose they are. */
struct round {
	struct pollfd fds[SLOT_CALLS + RUNNER_CALLS_MAX * SLOT_KINDS];
	struct {
		struct call *call;
		enum slot_kind kind;
	} owners[SLOT_CALLS + RUNNER_CALLS_MAX * SLOT_KINDS];
	nfds_t len;
};

uint64_t
init_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* An idle session keeps no memory for what may come; a busy one does not get it anew for each
 * frame.
 */
static void
empty(struct init *init, struct hl_buf *buf)
{
	for (uint32_t i = 0; i < init->calls_len; i++)
		if (init->calls[i].state != CALL_FREE) {
			hl_buf_reset(buf);
			return;
		}
	hl_buf_done_secret(buf);
}

/* Whole frames at the front of in; what is left moves to the front once. */
static void
take_frames(struct init *init)
{
	struct runner_frame frame;
	struct hl_err err;
	size_t used = 0, size;

	while (init->state != INIT_OVER) {
		struct hl_buf rest = { .data = init->in.data + used,
			.len = init->in.len - used,
			.max = init->in.max };
		int found = runner_frame_get(&rest, &frame, &size, &err);
		if (found < 0)
			init_broken(init, "what came is not a frame");
		if (found <= 0)
			break;
		init_frame(init, &frame);
		used += size;
	}
	if (init->wipe_in) {
		explicit_bzero(init->in.data, used);
		init->wipe_in = false;
	}
	if (used == init->in.len)
		empty(init, &init->in);
	else
		hl_buf_drop(&init->in, used);
}

static void
read_stream(struct init *init)
{
	static char chunk[CHUNK];
	size_t room = init->in.max - init->in.len;
	ssize_t n = read(init->in_fd, chunk, room < sizeof(chunk) ? room : sizeof(chunk));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		init->state = INIT_OVER;
		return;
	}
	hl_buf_put(&init->in, chunk, (size_t)n);
	/* Environments came through here. */
	explicit_bzero(chunk, (size_t)n);
	if (init->in.failed)
		init_broken(init, "memory ended");
	else
		take_frames(init);
}

void
init_write(struct init *init)
{
	if (init->out.len == 0)
		return;
	ssize_t n = write(init->out_fd, init->out.data, init->out.len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		hl_buf_reset(&init->out);
		init->state = INIT_OVER;
		return;
	}
	if ((size_t)n != init->out.len) {
		hl_buf_drop(&init->out, (size_t)n);
		return;
	}
	if (init->wipe_out)
		explicit_bzero(init->out.data, init->out.capacity);
	init->wipe_out = false;
	empty(init, &init->out);
}

/* Sends what waits, as long as somebody takes it: before an end. */
static void
flush(struct init *init)
{
	struct pollfd fd = { .fd = init->out_fd, .events = POLLOUT };

	while (init->out.len > 0 && !init->out.failed) {
		size_t before = init->out.len;
		init_write(init);
		if (init->out.len == before && poll(&fd, 1, PATIENCE_MS) <= 0)
			break;
	}
}

/* What the host sends us to the end is taken and not read: podman drops what it has not handed on
 * of a container's output when it cannot write to its input, and credit for that output is under
 * way. The host ends the stream as soon as it has our last word. */
static void
linger(const struct init *init)
{
	struct pollfd fd = { .fd = init->in_fd, .events = POLLIN };
	char bytes[512];
	ssize_t n = 1;

	while (init->is_stdio && n > 0 && poll(&fd, 1, PATIENCE_MS) > 0)
		n = read(init->in_fd, bytes, sizeof(bytes));
	explicit_bzero(bytes, sizeof(bytes));
}

/* An engine that stops a container sends pid 1 a TERM from outside its namespace: sender 0. That is
 * no proof: a signal for which no queue entry is left (RLIMIT_SIGPENDING of our user, which the
 * command can use up) arrives without its sender and looks the same. So a native sandbox, whose
 * launcher has the stream to say it, does not listen. */
static bool
is_stop(const struct init *init, const struct signalfd_siginfo *info)
{
	return init->is_stdio && info->ssi_signo == SIGTERM && info->ssi_pid == 0 &&
	       (info->ssi_code == SI_USER || info->ssi_code == SI_KERNEL);
}

static void
read_signals(struct init *init)
{
	struct signalfd_siginfo info[4];
	ssize_t n = read(init->signal_fd, info, sizeof(info));

	for (ssize_t i = 0; i * (ssize_t)sizeof(info[0]) < n; i++)
		if (is_stop(init, &info[i]))
			init_stop(init);
	tree_reap(init);
}

static void
add(struct round *round, struct call *call, enum slot_kind kind, int fd)
{
	const bool is_output = kind == SLOT_STDIN || kind == SLOT_STATE_TEXT;

	if (fd < 0)
		return;
	round->fds[round->len] =
	    (struct pollfd){ .fd = fd, .events = is_output ? POLLOUT : POLLIN };
	round->owners[round->len].call = call;
	round->owners[round->len].kind = kind;
	round->len++;
}

/* What a command says is heard when it is known to be one. */
static void
add_call(const struct init *init, struct round *round, struct call *call)
{
	const bool is_terminal = (call->flags & RUNNER_SPAWN_PTY) != 0;

	if (call->state != CALL_RUNNING && call->state != CALL_LEFT)
		return;
	for (int i = 0; i < 2; i++)
		if (call->out_window[i] > 0 && init->out.len < OUT_BUSY)
			add(round, call, i == 0 ? SLOT_STDOUT : SLOT_STDERR, call->out_fd[i]);
	if (call->stdin_bytes.len > 0)
		add(round, call, SLOT_STDIN, is_terminal ? call->out_fd[0] : call->stdin_fd);
	add(round, call, SLOT_STATE, call->state_fd);
	add(round, call, SLOT_STATE_TEXT, call->state_text_fd);
}

static void
prepare(const struct init *init, struct round *round)
{
	round->len = SLOT_CALLS;
	round->fds[SLOT_IN] =
	    (struct pollfd){ .fd = init->in_fd, .events = init->out.len < OUT_FULL ? POLLIN : 0 };
	round->fds[SLOT_OUT] =
	    (struct pollfd){ .fd = init->out.len > 0 ? init->out_fd : -1, .events = POLLOUT };
	round->fds[SLOT_SIGNAL] = (struct pollfd){ .fd = init->signal_fd, .events = POLLIN };
	round->fds[SLOT_WAKE] = (struct pollfd){ .fd = init->wake_fd, .events = POLLIN };
	for (uint32_t i = 0; i < init->calls_len; i++)
		add_call(init, round, &init->calls[i]);
}

static int
timeout(const struct init *init)
{
	uint64_t due = UINT64_MAX;

	for (uint32_t i = 0; i < init->calls_len; i++) {
		const uint64_t call_due = call_due_ms(&init->calls[i]);
		due = call_due < due ? call_due : due;
		/* What stood in its way has been sent. */
		if (init->calls[i].needs_room && init->out.len < OUT_BUSY)
			return 0;
	}
	if (due == UINT64_MAX)
		return -1;
	const uint64_t now = init_now_ms();
	return now >= due ? 0 : (int)(due - now);
}

static void
step_call(struct init *init, struct call *call, enum slot_kind kind)
{
	switch (kind) {
	case SLOT_STDOUT:
	case SLOT_STDERR:
		/* Others may have filled what was free when the round began. */
		if (init->out.len < OUT_ENOUGH)
			output_read(init, call, kind == SLOT_STDOUT ? 0 : 1);
		break;
	case SLOT_STDIN:
		stdin_write(init, call);
		break;
	case SLOT_STATE:
		(void)state_read(call);
		break;
	case SLOT_STATE_TEXT:
		state_text_write(call);
		break;
	case SLOT_KINDS:
		break;
	}
}

static void
step(struct init *init, const struct round *round)
{
	uint64_t count;

	if (round->fds[SLOT_OUT].revents != 0)
		init_write(init);
	/* Whatever it said is looked at in any case. */
	if (round->fds[SLOT_WAKE].revents != 0)
		(void)!read(init->wake_fd, &count, sizeof(count));
	if (round->fds[SLOT_SIGNAL].revents != 0)
		read_signals(init);
	/* Each round begins with another: floods must not take all there is to those behind. */
	const nfds_t calls = round->len - SLOT_CALLS;
	const nfds_t first = calls > 0 ? init->rounds++ % calls : 0;
	for (nfds_t n = 0; n < calls; n++) {
		const nfds_t i = SLOT_CALLS + (first + n) % calls;
		if (round->fds[i].revents != 0)
			step_call(init, round->owners[i].call, round->owners[i].kind);
	}
	if (round->fds[SLOT_IN].revents != 0 && init->state != INIT_OVER)
		read_stream(init);
}

static void
progress(struct init *init)
{
	const uint64_t now = init_now_ms();

	for (uint32_t i = 0; i < init->calls_len; i++)
		call_progress(init, &init->calls[i], now);
}

int
init_run(struct init *init)
{
	static struct round round;

	/* Made after the lock, which closes what it does not know. */
	init->signal_fd = init->wake_fd = init->scope_fd = -1;
	hl_buf_init(&init->in, IN_MAX);
	hl_buf_init(&init->out, OUT_MAX);
	init_hello(init);
	if (!tree_prepare())
		init_fault(init, &(const struct runner_error){ .code = HLD_01,
				     .sys_errno = errno,
				     .subject = "child subreaper" });
	if (init->state != INIT_OVER)
		read_stream(init);
	while (init->state != INIT_OVER && !init->out.failed) {
		init_write(init);
		if (init->is_done && init->out.len == 0)
			break;
		prepare(init, &round);
		int ready = poll(round.fds, round.len, timeout(init));
		if (ready > 0)
			step(init, &round);
		/* Without it nothing more is heard: neither the host nor the command's end. */
		else if (ready < 0 && errno != EINTR)
			init_fault(init, &(const struct runner_error){ .code = HLD_01,
					     .sys_errno = errno,
					     .subject = "wait for events" });
		if (init->state != INIT_OVER)
			progress(init);
	}
	flush(init);
	/* As pid 1 our own end is everybody's; elsewhere it has to be made. */
	tree_end(init);
	linger(init);
	return init->exit_code;
}
