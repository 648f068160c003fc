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
	SLOT_STDOUT,
	SLOT_STDERR,
	SLOT_STDIN,
	SLOT_MAX,

	CHUNK = 16384,
	/* A frame, and what may stand before the next one is whole. */
	IN_MAX = RUNNER_HEADER_SIZE + RUNNER_PAYLOAD_MAX + CHUNK,
	OUT_MAX = 4 * RUNNER_PAYLOAD_MAX,
	/* More output is taken from the command only while less than this waits. */
	OUT_BUSY = 64 * 1024
};

uint64_t
init_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
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
		hl_buf_done(&init->in); /* most calls have one: the memory goes back */
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
	if (init->in.failed) {
		init_broken(init, "memory ended");
		return;
	}
	take_frames(init);
	/* Environments came through here. */
	explicit_bzero(chunk, (size_t)n);
}

static void
write_stream(struct init *init)
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
	hl_buf_drop(&init->out, (size_t)n);
}

void
init_flush(struct init *init)
{
	struct pollfd fd = { .fd = init->out_fd, .events = POLLOUT };
	enum {
		PATIENCE_MS = 2000
	};

	while (init->out.len > 0 && !init->out.failed) {
		size_t before = init->out.len;
		write_stream(init);
		if (init->out.len == before && poll(&fd, 1, PATIENCE_MS) <= 0)
			break;
	}
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
			init_kill(init, RUNNER_CANCELLED);
	if (init->state != INIT_RUNNING) {
		struct call ignored = { 0 };
		tree_reap(&ignored);
		return;
	}
	struct call *call = &init->call;
	call->is_empty = tree_reap(call);
	/* Asked to end, the rest of the tree has the same grace as the command. */
	if (call->has_ended && call->killed != 0 && !call->is_empty)
		return;
	if (call->has_ended)
		tree_end(call);
}

static void
prepare(const struct init *init, struct pollfd fds[SLOT_MAX])
{
	const struct call *call = &init->call;

	for (int i = 0; i < SLOT_MAX; i++)
		fds[i] = (struct pollfd){ .fd = -1 };
	fds[SLOT_IN] = (struct pollfd){ .fd = init->in_fd, .events = POLLIN };
	if (init->out.len > 0)
		fds[SLOT_OUT] = (struct pollfd){ .fd = init->out_fd, .events = POLLOUT };
	fds[SLOT_SIGNAL] = (struct pollfd){ .fd = init->signal_fd, .events = POLLIN };
	if (init->state != INIT_RUNNING)
		return;
	for (int i = 0; i < 2; i++)
		if (call->out_window[i] > 0 && init->out.len < OUT_BUSY)
			fds[SLOT_STDOUT + i] =
			    (struct pollfd){ .fd = call->out_fd[i], .events = POLLIN };
	if (call->stdin_bytes.len > 0)
		fds[SLOT_STDIN] = (struct pollfd){ .fd = call->stdin_fd, .events = POLLOUT };
}

static int
timeout(const struct init *init)
{
	const struct call *call = &init->call;

	if (init->state != INIT_RUNNING || call->deadline_ms == 0)
		return -1;
	uint64_t now = init_now_ms();
	return now >= call->deadline_ms ? 0 : (int)(call->deadline_ms - now);
}

static void
step(struct init *init, const struct pollfd fds[SLOT_MAX])
{
	if (fds[SLOT_OUT].revents != 0)
		write_stream(init);
	if (fds[SLOT_SIGNAL].revents != 0)
		read_signals(init);
	for (int i = 0; i < 2; i++)
		if (fds[SLOT_STDOUT + i].revents != 0)
			output_read(init, i);
	if (fds[SLOT_STDIN].revents != 0)
		stdin_write(init);
	if (fds[SLOT_IN].revents != 0 && init->state != INIT_OVER)
		read_stream(init);
}

static void
after_step(struct init *init)
{
	struct call *call = &init->call;

	if (init->state != INIT_RUNNING)
		return;
	if (timeout(init) == 0) {
		call->deadline_ms = 0;
		tree_end(call);
	}
	if (!call->is_empty || (!call->has_ended && !call->has_immortals))
		return;
	output_drain(init);
	if (!output_is_open(call) || call->has_immortals)
		init_call_done(init);
}

int
init_run(struct init *init)
{
	struct pollfd fds[SLOT_MAX];

	init->signal_fd = -1; /* made after the lock, which closes what it does not know */
	hl_buf_init(&init->in, IN_MAX);
	hl_buf_init(&init->out, OUT_MAX);
	tree_prepare();
	init_hello(init);
	read_stream(init);
	while (init->state != INIT_OVER && !init->out.failed) {
		write_stream(init);
		prepare(init, fds);
		if (poll(fds, SLOT_MAX, timeout(init)) > 0)
			step(init, fds);
		after_step(init);
	}
	init_flush(init);
	/* As pid 1 our own end is everybody's; elsewhere it has to be made. */
	tree_end(&init->call);
	return init->exit_code;
}
