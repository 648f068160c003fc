/*
 * A command's bytes: its output into frames, frames into its input. The windows bound what either
 * side can make the other keep.
 */
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <string.h>
#include <unistd.h>

#include "runner/loop.h"

#include "base/banned.h"

static bool
is_terminal(const struct call *call)
{
	return (call->flags & RUNNER_SPAWN_PTY) != 0;
}

enum {
	PAGE = 4096,
	PIPE_SIZE = 65536, /* as it is made: pipe(7) */
	PIPE_SIZE_FLOOD = 16 * PIPE_SIZE,
	CHUNK = 3 * PIPE_SIZE,
};

/* A writer that fills its pipe waits for us at every turn: a larger one lets it go on meanwhile.
 * Where the user's pages for pipes are used up (fs.pipe-user-pages-soft) it stays as it is. */
static void
widen(struct call *call, int which)
{
	if (is_terminal(call) || call->is_wide[which])
		return;
	call->is_wide[which] = true;
	fcntl(call->out_fd[which], F_SETPIPE_SZ, PIPE_SIZE_FLOOD);
}

/* A number of bytes of one of the call's streams, 0 for its input. */
static void
put_count(struct init *init, const struct call *call, enum runner_type type, int stream, uint32_t n)
{
	const unsigned char payload[5] = { (unsigned char)stream, (unsigned char)(n & 0xff),
		(unsigned char)(n >> 8 & 0xff), (unsigned char)(n >> 16 & 0xff),
		(unsigned char)(n >> 24 & 0xff) };

	runner_frame_put(&init->out, type, call->channel, payload, sizeof(payload));
}

static void
count(struct call *call, int which, size_t n)
{
	call->out_window[which] -= (uint32_t)n;
	call->owed[which] -= (uint32_t)n < call->owed[which] ? (uint32_t)n : call->owed[which];
}

/* Sent from where it was read, when nothing waits before it; what the stream does not take waits.
 */
static void
put_output(struct init *init, const struct call *call, int which, char *bytes, size_t len)
{
	char head[RUNNER_HEADER_SIZE + 1 + 1]; /* and a NUL, as every buffer has */
	struct hl_buf text = { .data = head, .capacity = sizeof(head), .max = sizeof(head) - 1 };
	ssize_t n = 0;

	runner_header_put(&text, RUNNER_OUT, call->channel, len + 1);
	hl_buf_putc(&text, (char)(which + 1));
	if (init->out.len == 0 && !init->out.failed) {
		const struct iovec parts[] = { { head, text.len }, { bytes, len } };
		n = writev(init->out_fd, parts, HL_ARRAY_SIZE(parts));
	}
	size_t sent = n > 0 ? (size_t)n : 0;
	if (!hl_buf_reserve(&init->out, text.len + len - sent))
		return;
	if (sent < text.len) {
		hl_buf_put(&init->out, head + sent, text.len - sent);
		sent = text.len;
	}
	hl_buf_put(&init->out, bytes + (sent - text.len), len - (sent - text.len));
}

/* -1: nothing there yet; 0: ended; else how much was taken. */
static ssize_t
take(struct init *init, struct call *call, int which)
{
	/* Of the pipe's pages as they lie: a copy to another place in a page takes twice as long.
	 */
	static alignas(PAGE) char chunk[CHUNK];
	size_t want = sizeof(chunk);

	if (want > call->out_window[which])
		want = call->out_window[which];
	ssize_t n = read(call->out_fd[which], chunk, want);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	if (n <= 0) {
		/* A terminal that nobody has open any more says EIO, after its last byte. */
		call_close_fd(&call->out_fd[which]);
		return 0;
	}
	if (n == PIPE_SIZE)
		widen(call, which);
	put_output(init, call, which, chunk, (size_t)n);
	count(call, which, (size_t)n);
	return n;
}

void
output_read(struct init *init, struct call *call, int which)
{
	if (call->out_fd[which] >= 0)
		(void)take(init, call, which);
}

/* A pipe tells how much it holds. What a terminal holds is partly on its way, but bounded; its end,
 * or that there is nothing, is told by reading. */
void
output_begin_drain(struct call *call)
{
	enum {
		TERMINAL_HOLDS = 65536
	};
	int held;

	call->is_draining = true;
	for (int i = 0; i < 2; i++) {
		call->owed[i] = 0;
		if (call->out_fd[i] < 0)
			continue;
		if (is_terminal(call))
			call->owed[i] = TERMINAL_HOLDS;
		else if (ioctl(call->out_fd[i], FIONREAD, &held) == 0 && held > 0)
			call->owed[i] = (uint32_t)held;
	}
}

bool
output_drain(struct init *init, struct call *call)
{
	for (int i = 0; i < 2; i++)
		while (call->owed[i] > 0) {
			if (call->out_fd[i] < 0) {
				call->owed[i] = 0;
				break;
			}
			call->needs_room = init->out.len >= OUT_BUSY;
			if (call->out_window[i] == 0 || call->needs_room)
				return false;
			if (take(init, call, i) < 0)
				call->owed[i] = 0;
		}
	return true;
}

/* What the command took, or what nobody will take any more, is given back. */
static void
give_back(struct init *init, struct call *call, size_t bytes)
{
	/* The key that ends a terminal's input is our own: it came out of no window. */
	if (bytes > RUNNER_WINDOW - call->stdin_window)
		bytes = RUNNER_WINDOW - call->stdin_window;
	call->stdin_window += (uint32_t)bytes;
	if (bytes > 0)
		put_count(init, call, RUNNER_WINDOW_ADD, 0, (uint32_t)bytes);
}

/* The input of a terminal is its master, which stays open for its output. */
static int *
input_of(struct call *call)
{
	return is_terminal(call) ? &call->out_fd[0] : &call->stdin_fd;
}

void
stdin_put(struct init *init, struct call *call, const unsigned char *bytes, uint32_t len)
{
	call->stdin_window -= len;
	if (*input_of(call) < 0) {
		give_back(init, call, len);
		return;
	}
	hl_buf_put(&call->stdin_bytes, bytes, len);
	stdin_write(init, call);
}

void
stdin_write(struct init *init, struct call *call)
{
	struct hl_buf *bytes = &call->stdin_bytes;
	int *fd = input_of(call);

	if (*fd >= 0 && bytes->len > 0) {
		ssize_t n = write(*fd, bytes->data, bytes->len);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			/* It does not read any more: EPIPE. */
			n = (ssize_t)bytes->len;
			if (!is_terminal(call))
				call_close_fd(&call->stdin_fd);
		}
		hl_buf_drop(bytes, (size_t)n);
		give_back(init, call, (size_t)n);
	}
	if (bytes->len == 0) {
		hl_buf_done_secret(bytes);
		if (call->stdin_ended && !is_terminal(call))
			call_close_fd(&call->stdin_fd);
	}
}

void
stdin_end(struct init *init, struct call *call)
{
	call->stdin_ended = true;
	if (is_terminal(call)) {
		const char end = terminal_end_of_input(call->out_fd[0]);
		if (end != 0)
			hl_buf_putc(&call->stdin_bytes, end);
	}
	stdin_write(init, call);
}
