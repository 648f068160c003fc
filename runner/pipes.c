/*
 * The pipes that the host has handed over for a call: one message of the socket beside the stream,
 * read when SPAWN speaks of it. Nothing else is taken from there, so that a host which sends what
 * it does not speak of, or speaks of what it has not sent, is told as one that breaks the protocol.
 */
#include <sys/socket.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runner/loop.h"

#include "base/banned.h"

enum {
	PIPES_MAX = 2,
	/* More, so that too many are told from too few numbers for them; and even: CMSG_SPACE of an
	 * odd number has room for one beyond it, and the kernel would use it. */
	ROOM = 2 * PIPES_MAX
};

/* Of the whole message the descriptors, all of them ours to close: how many, at most ROOM; -1 when
 * it is not of that form. The kernel closes those for which no number is free, and says that it did
 * (MSG_CTRUNC, unix(7)). */
static int
take_message(int socket, uint32_t *ret_channel, int fds[ROOM], bool *ret_has_lost)
{
	unsigned char number[4];
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(ROOM * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = number, .iov_len = sizeof(number) };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	int len = 0;

	const ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -1;
	const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
		len = (int)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(head), (size_t)len * sizeof(int));
	}
	*ret_channel = (uint32_t)number[0] | (uint32_t)number[1] << 8 | (uint32_t)number[2] << 16 |
		       (uint32_t)number[3] << 24;
	*ret_has_lost = (message.msg_flags & MSG_CTRUNC) != 0;
	if (n == sizeof(number) && (message.msg_flags & MSG_TRUNC) == 0)
		return len;
	for (int i = 0; i < len; i++)
		close(fds[i]);
	return -1;
}

const char *
pipes_take(const struct init *init, struct call *call, uint32_t flags)
{
	const int want = (flags & RUNNER_SPAWN_MERGED) != 0 ? 1 : 2;
	uint32_t channel;
	bool has_lost;
	int fds[ROOM];

	if (init->pass_fd < 0)
		return "pipes where there is no socket for them";
	const int len = take_message(init->pass_fd, &channel, fds, &has_lost);
	if (len < 0)
		return "SPAWN with pipes that have not come";
	/* From here on they are closed with the call, whatever becomes of it. */
	for (int i = 0; i < len; i++)
		if (i < want)
			call->task.stdio[1 + i] = call_raise_fd(fds[i]);
		else
			close(fds[i]);
	/* Where one is missing for want of a number the call is refused, when it is to begin. */
	return channel == call->channel && (len == want || (has_lost && len < want))
		   ? NULL
		   : "pipes of another call";
}
