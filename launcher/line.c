/*
 * A peer that speaks in lines. Descriptors that we share with others (our own stdin and stdout)
 * stay in the mode they are in: O_NONBLOCK belongs to the open file, not to the descriptor, and
 * would change it for a shell that waits behind us. They are read only when something is there, and
 * written by at most PIPE_BUF bytes when poll says that there is room.
 */
#include "launcher/line.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum {
	READ_SIZE = 64 * 1024
};

/* What has gone by may have been anybody's secret: nothing of it stays in our memory. */
static void
drop(struct hl_buf *buf, size_t n)
{
	size_t len = buf->len;

	hl_buf_drop(buf, n);
	if (n > 0)
		explicit_bzero(buf->data + buf->len, len - buf->len);
}

static void
end(struct line *line, const char *why)
{
	if (line->is_ended)
		return;
	line->is_ended = true;
	hl_source_remove(line->in);
	line->in = NULL;
	line->calls.on_end(line->calls.context, why);
}

void
line_fail(struct line *line, const char *why)
{
	if (!line->is_closed)
		end(line, why);
}

size_t
line_queued(const struct line *line)
{
	return line->to.len - line->sent;
}

bool
line_is_writing(const struct line *line)
{
	return line->out != NULL && !line->to.failed && line_queued(line) > 0;
}

/* One write. false: not now, or never. */
static bool
write_some(struct line *line)
{
	size_t len = line_queued(line);

	if (len == 0 || line->out_fd < 0)
		return false;
	if (line->writes_pages && len > PIPE_BUF)
		len = PIPE_BUF;
	ssize_t n =
	    send(line->out_fd, line->to.data + line->sent, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno == ENOTSOCK)
		n = write(line->out_fd, line->to.data + line->sent, len);
	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return false;
		/* Nobody listens: what is queued is of no use, and the reader's end will say why.
		 */
		hl_source_remove(line->out);
		line->out = NULL;
		hl_buf_done_secret(&line->to);
		line->sent = 0;
		end(line, "the peer has gone");
		return false;
	}
	line->sent += (size_t)n;
	/* Moved only now and then, so that a large answer is not copied for each piece of it. */
	if (line->sent == line->to.len || line->sent >= LINE_HIGH) {
		drop(&line->to, line->sent);
		line->sent = 0;
	}
	return true;
}

static void
set_reading(struct line *line)
{
	bool wanted = line_queued(line) <= LINE_HIGH;

	if (line->in == NULL || wanted == line->is_reading)
		return;
	line->is_reading = wanted;
	hl_source_events(line->in, wanted ? EPOLLIN : 0);
}

static void
on_writable(void *context, uint32_t events)
{
	struct line *line = context;

	/* Hang-up is reported whether asked for or not (epoll_ctl(2)). */
	if (line_queued(line) == 0 && (events & (EPOLLERR | EPOLLHUP)) != 0) {
		hl_source_remove(line->out);
		line->out = NULL;
		end(line, "the peer has gone");
		return;
	}
	write_some(line);
	if (line->is_closed)
		return;
	set_reading(line);
	if (line_queued(line) > 0)
		return;
	if (line->out != NULL)
		hl_source_events(line->out, 0);
	line->calls.on_drained(line->calls.context);
}

void
line_put(struct line *line, const void *bytes, size_t len)
{
	if (line->is_closed || line->out == NULL)
		return;
	hl_buf_put(&line->to, bytes, len);
	if (line->to.failed) {
		end(line, "more answers wait than are kept");
		return;
	}
	hl_source_events(line->out, EPOLLOUT);
	set_reading(line);
}

/* Lines one after the other: a callback may close us. */
static void
take_lines(struct line *line)
{
	size_t start = 0;

	while (!line->is_closed && !line->is_ended) {
		char *from = line->from.data + start;
		char *newline = memchr(from, '\n', line->from.len - start);
		if (newline == NULL)
			break;
		size_t len = (size_t)(newline - from);
		start += len + 1;
		*newline = '\0';
		line->calls.on_line(line->calls.context, from, len);
	}
	if (line->is_closed)
		return;
	drop(&line->from, start);
	if (line->from.len >= LINE_MAX_BYTES)
		end(line, "a line is longer than 1 MiB");
}

static void
on_readable(void *context, uint32_t events)
{
	struct line *line = context;
	char bytes[READ_SIZE / 8];

	(void)events;
	ssize_t n = read(line->in_fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end(line, n == 0 ? NULL : "the peer has gone");
		return;
	}
	hl_buf_put(&line->from, bytes, (size_t)n);
	explicit_bzero(bytes, (size_t)n);
	if (line->from.failed) {
		end(line, "memory ended");
		return;
	}
	line->is_in_callback = true;
	take_lines(line);
	line->is_in_callback = false;
	if (line->is_closed)
		hl_buf_done_secret(&line->from);
}

int
line_open(struct line *line, struct hl_loop *loop, const int fds[2], const struct line_calls *calls,
    struct hl_err *err)
{
	struct stat st;
	struct hl_watch in = { .fd = fds[0], .events = EPOLLIN, .fn = on_readable };
	struct hl_watch out = { .fd = fds[1], .events = 0, .fn = on_writable };

	*line = (struct line){
		.loop = loop,
		.calls = *calls,
		.in_fd = fds[0],
		.out_fd = fds[1],
		.is_reading = true,
	};
	hl_buf_init(&line->from, LINE_MAX_BYTES + READ_SIZE);
	hl_buf_init(&line->to, LINE_QUEUE_MAX);
	in.context = out.context = line;
	line->writes_pages =
	    fstat(fds[1], &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISSOCK(st.st_mode));
	if (hl_loop_add(loop, &in, &line->in, err) == 0 &&
	    hl_loop_add(loop, &out, &line->out, err) == 0)
		return 0;
	line_close(line);
	return -1;
}

void
line_flush(struct line *line, unsigned ms)
{
	uint64_t end_ms = hl_now_mono_ms() + ms;

	while (!line->is_closed && line->out != NULL && line_queued(line) > 0) {
		uint64_t now = hl_now_mono_ms();
		struct pollfd pollfd = { .fd = line->out_fd, .events = POLLOUT };
		int ready = now < end_ms ? poll(&pollfd, 1, (int)(end_ms - now)) : 0;
		/* A pipe that has no room would hold whoever writes to it. */
		if (ready == 0 || (ready < 0 && errno != EINTR))
			return;
		if (ready > 0)
			write_some(line);
	}
}

void
line_close(struct line *line)
{
	if (line->is_closed || line->loop == NULL)
		return;
	line->is_closed = line->is_ended = true;
	hl_source_remove(line->in);
	hl_source_remove(line->out);
	line->in = line->out = NULL;
	close(line->in_fd);
	close(line->out_fd);
	line->in_fd = line->out_fd = -1;
	if (!line->is_in_callback)
		hl_buf_done_secret(&line->from);
	hl_buf_done_secret(&line->to);
}
