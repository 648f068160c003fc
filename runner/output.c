/*
 * The command's bytes: its output into frames, frames into its input. The windows bound what either
 * side can make the other keep.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runner/loop.h"

#include "base/banned.h"

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* -1: nothing there yet; 0: ended; else how much was taken. */
static ssize_t
take(struct init *init, int which)
{
	static char chunk[1 + 65536];
	struct call *call = &init->call;
	size_t want = sizeof(chunk) - 1;

	if (want > call->out_window[which])
		want = call->out_window[which];
	ssize_t n = read(call->out_fd[which], chunk + 1, want);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	if (n <= 0) {
		close_fd(&call->out_fd[which]);
		return 0;
	}
	chunk[0] = (char)(which + 1);
	runner_frame_put(&init->out, RUNNER_OUT, 1, chunk, (size_t)n + 1);
	call->out_window[which] -= (uint32_t)n;
	return n;
}

void
output_read(struct init *init, int which)
{
	if (init->call.out_fd[which] >= 0 && take(init, which) < 0)
		return;
}

/* The call has ended and nothing of it is left: what the pipes hold is all there will be. A pipe
 * that is still open without bytes is held by somebody outside, who is not waited for. */
void
output_drain(struct init *init)
{
	enum {
		ENOUGH = 256 * 1024
	};
	struct call *call = &init->call;

	for (int i = 0; i < 2; i++)
		while (call->out_fd[i] >= 0 && call->out_window[i] > 0 && init->out.len < ENOUGH)
			if (take(init, i) < 0)
				close_fd(&call->out_fd[i]);
}

bool
output_is_open(const struct call *call)
{
	return call->out_fd[0] >= 0 || call->out_fd[1] >= 0;
}

void
window_put(struct init *init, uint8_t stream, uint32_t bytes)
{
	struct hl_buf payload;

	if (bytes == 0)
		return;
	hl_buf_init(&payload, 16);
	hl_wire_put_u8(&payload, stream);
	hl_wire_put_u32(&payload, bytes);
	runner_frame_put(&init->out, RUNNER_WINDOW_ADD, 1, payload.data, payload.len);
	hl_buf_done(&payload);
}

/* What the command took, or what nobody will take any more, is given back. */
static void
give_back(struct init *init, size_t bytes)
{
	init->call.stdin_window += (uint32_t)bytes;
	window_put(init, 0, (uint32_t)bytes);
}

void
stdin_put(struct init *init, const unsigned char *bytes, uint32_t len)
{
	struct call *call = &init->call;

	call->stdin_window -= len;
	if (call->stdin_fd < 0) {
		give_back(init, len);
		return;
	}
	hl_buf_put(&call->stdin_bytes, bytes, len);
	stdin_write(init);
}

void
stdin_write(struct init *init)
{
	struct call *call = &init->call;
	struct hl_buf *bytes = &call->stdin_bytes;

	if (call->stdin_fd >= 0 && bytes->len > 0) {
		ssize_t n = write(call->stdin_fd, bytes->data, bytes->len);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			/* It does not read any more: EPIPE. */
			close_fd(&call->stdin_fd);
			n = (ssize_t)bytes->len;
		}
		hl_buf_drop(bytes, (size_t)n);
		give_back(init, (size_t)n);
	}
	if (bytes->len == 0 && call->stdin_ended)
		close_fd(&call->stdin_fd);
}
