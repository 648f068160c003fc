/*
 * What a shell keeps between calls, carried and not looked at: a text that the shell reads as it
 * starts (BASH_ENV), and bytes that it writes as it ends. The text is a file in memory, because
 * bash before 4 reads regular files only; where the filter knows no memfd_create(2) it is a pipe
 * that the loop fills. Nothing of it has a name in the sandbox.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runner/loop.h"

#include "base/banned.h"

static int
open_text(struct call *call)
{
	struct hl_buf *text = &call->state_text;

	int fd = (int)syscall(SYS_memfd_create, "state", 1U /* MFD_CLOEXEC */);
	if (fd < 0)
		return call_make_pipe(&call->state_text_fd, &call->task.state_text_fd, 1);
	if (hl_write_full(fd, text->data, text->len) != 0) {
		close(fd);
		return -1;
	}
	call->task.state_text_fd = call_raise_fd(fd);
	return call->task.state_text_fd < 0 ? -1 : 0;
}

int
state_open(struct call *call)
{
	if ((call->flags & RUNNER_SPAWN_STATE) == 0)
		return 0;
	if (open_text(call) != 0 || call_make_pipe(&call->state_fd, &call->task.state_fd, 0) != 0)
		return -1;
	if (call->state_text_fd < 0)
		hl_buf_done_secret(&call->state_text);
	return 0;
}

void
state_text_write(struct call *call)
{
	struct hl_buf *text = &call->state_text;

	ssize_t n = write(call->state_text_fd, text->data, text->len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		hl_buf_drop(text, (size_t)n);
	if (n < 0 || text->len == 0) {
		hl_buf_done_secret(text);
		call_close_fd(&call->state_text_fd);
	}
}

ssize_t
state_read(struct call *call)
{
	static char chunk[16384];

	ssize_t n = read(call->state_fd, chunk, sizeof(chunk));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return n;
	if (n <= 0) {
		call_close_fd(&call->state_fd);
		return n;
	}
	if (!call->state_is_lost)
		hl_buf_put(&call->state_out, chunk, (size_t)n);
	explicit_bzero(chunk, (size_t)n);
	if (call->state_out.failed) {
		/* More than a state may be, or no memory: half of one is of no use. It is taken on
		 * nevertheless: a shell that could not write would end otherwise than it does. */
		call->state_is_lost = true;
		hl_buf_done_secret(&call->state_out);
	}
	return n;
}

/* What the pipe holds now and no more: somebody left behind may go on writing. */
void
state_finish(struct call *call, bool was_killed)
{
	int left = 0;

	if (call->state_fd >= 0 && ioctl(call->state_fd, FIONREAD, &left) == 0)
		for (ssize_t n = 1; n > 0 && left > 0; left -= (int)n)
			n = state_read(call);
	if (was_killed) {
		call->state_is_lost = true;
		hl_buf_done_secret(&call->state_out);
	}
	call_close_fd(&call->state_fd);
}

bool
state_send(struct init *init, struct call *call)
{
	struct hl_buf *state = &call->state_out;
	enum {
		PIECE = 64 * 1024
	};

	while (call->state_sent < state->len) {
		size_t left = state->len - call->state_sent;
		init->wipe_out = true;
		call->needs_room = init->out.len >= OUT_BUSY;
		if (call->needs_room)
			return false;
		if (left > PIECE)
			left = PIECE;
		runner_frame_put(&init->out, RUNNER_STATE, call->channel,
		    state->data + call->state_sent, left);
		call->state_sent += left;
	}
	return true;
}

enum runner_state_kept
state_kept(const struct call *call)
{
	if ((call->flags & RUNNER_SPAWN_STATE) == 0)
		return RUNNER_STATE_NONE;
	return call->state_is_lost || call->state_sent == 0 ? RUNNER_STATE_LOST : RUNNER_STATE_KEPT;
}

void
state_close(struct call *call)
{
	hl_buf_done_secret(&call->state_text);
	hl_buf_done_secret(&call->state_out);
	call->state_sent = 0;
	call->state_is_lost = false;
	call_close_fd(&call->state_text_fd);
	call_close_fd(&call->state_fd);
}
