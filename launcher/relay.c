/*
 * Bytes between our standard streams and a keeper's socket: what session and mcp are when the
 * sandbox is somebody else's. The socket's end is the end; ours is told by a half close, behind
 * which the keeper's last answers still come.
 */
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "launcher/face.h"

#include "base/banned.h"

enum {
	RELAY_SIZE = 64 * 1024
};

/* One direction. While something waits to be written nothing is read, and neither direction waits
 * for the other: a peer that asks much before it listens cannot bring both to a stand. */
struct flow {
	int from, to;
	size_t start, len;
	bool has_ended;
	char bytes[RELAY_SIZE];
};

static bool
is_fault(void)
{
	return errno != EINTR && errno != EAGAIN;
}

static void
fill(struct flow *flow)
{
	ssize_t n = read(flow->from, flow->bytes, sizeof(flow->bytes));

	if (n > 0) {
		flow->start = 0;
		flow->len = (size_t)n;
	} else if (n == 0 || is_fault()) {
		flow->has_ended = true;
	}
}

/* What is no socket may block: PIPE_BUF bytes find room when poll says so (pipe(7)). */
static void
drain(struct flow *flow)
{
	ssize_t n =
	    send(flow->to, flow->bytes + flow->start, flow->len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == ENOTSOCK)
		n = write(flow->to, flow->bytes + flow->start,
		    flow->len < PIPE_BUF ? flow->len : PIPE_BUF);
	if (n < 0 && is_fault()) {
		explicit_bzero(flow->bytes + flow->start, flow->len);
		flow->has_ended = true;
		flow->len = 0;
	} else if (n > 0) {
		explicit_bzero(flow->bytes + flow->start, (size_t)n);
		flow->start += (size_t)n;
		flow->len -= (size_t)n;
	}
}

static void
watch(const struct flow *flow, struct pollfd *in, struct pollfd *out)
{
	in->fd = !flow->has_ended && flow->len == 0 ? flow->from : -1;
	out->fd = flow->len > 0 ? flow->to : -1;
	in->events = POLLIN;
	out->events = POLLOUT;
}

int
relay_run(int socket, int signal_fd, struct hl_err *err)
{
	static struct flow to_keeper, from_keeper; /* too large for a stack */
	bool is_shut = false;

	to_keeper = (struct flow){ .from = STDIN_FILENO, .to = socket };
	from_keeper = (struct flow){ .from = socket, .to = STDOUT_FILENO };
	while (!from_keeper.has_ended || from_keeper.len > 0) {
		struct pollfd fds[5] = { [4] = { .fd = signal_fd, .events = POLLIN } };
		watch(&to_keeper, &fds[0], &fds[1]);
		watch(&from_keeper, &fds[2], &fds[3]);
		if (poll(fds, HL_ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return hl_err_sys(err, HLI_02, "poll failed");
		struct signalfd_siginfo info;
		if (fds[4].revents != 0 && read(signal_fd, &info, sizeof(info)) == sizeof(info))
			return 128 + (int)info.ssi_signo;
		if (fds[0].revents != 0)
			fill(&to_keeper);
		if (fds[1].revents != 0)
			drain(&to_keeper);
		if (fds[2].revents != 0)
			fill(&from_keeper);
		if (fds[3].revents != 0)
			drain(&from_keeper);
		if (to_keeper.has_ended && to_keeper.len == 0 && !is_shut) {
			is_shut = true;
			shutdown(socket, SHUT_WR);
		}
	}
	return 0;
}
