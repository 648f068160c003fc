/*
 * A program of ours beside us: made with nothing of ours but its descriptors, asked packet by
 * packet, and ended by closing its socket.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#include "base/banned.h"

enum {
	CONTROL_FD = 3,
	TERM_MS = 1000 /* from SIGTERM to SIGKILL */
};

int
hl_peer_start(struct hl_peer *peer, const struct hl_peer_kind *kind, const char *path,
    const int *fds, struct hl_err *err)
{
	_Static_assert(CONTROL_FD + 1 + HL_PEER_FDS_MAX <= HL_CHILD_FDS_MAX, "all of them");
	char name[sizeof(kind->name)];
	char *const argv[] = { name, NULL }, *const envp[] = { NULL };
	int control[2] = { -1, -1 }, given[HL_CHILD_FDS_MAX] = { -1, -1, -1 };
	const struct hl_child child = {
		.path = path,
		.argv = argv,
		.envp = envp,
		.fds = given,
		.fds_len = CONTROL_FD + 1 + kind->fds_len,
		.has_session = kind->has_session,
	};

	HL_BUG_ON(kind->fds_len > HL_PEER_FDS_MAX);
	memcpy(name, kind->name, sizeof(name));
	*peer = (struct hl_peer){ .kind = kind,
		.pidfd = -1,
		.control = -1,
		.cancel_fd = -1,
		.answer_ms = kind->answer_ms,
		.end_ms = kind->end_ms };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0)
		return hl_err_sys(err, kind->broken, "cannot make a socket for '%s'", path);
	given[CONTROL_FD] = control[1];
	for (size_t i = 0; i < kind->fds_len; i++)
		given[CONTROL_FD + 1 + i] = fds[i];
	int result = hl_child_start(&child, &peer->pid, &peer->pidfd);
	if (result == 0)
		peer->control = hl_take_fd(&control[0]);
	else
		hl_err_sys(err, kind->broken, "cannot start '%s'", path);
	hl_close_ptr(&control[0]);
	hl_close_ptr(&control[1]);
	return result;
}

/* ------------------------------------------------------------------------------------------------
 * Ask, end
 */
enum waited {
	FAILED = -1,
	TOO_LATE,
	READY,
	CANCELLED,
};

/* A signal does not make it begin anew. */
static enum waited
wait_for(int fd, int cancel_fd, int timeout_ms)
{
	struct pollfd ready[2] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = cancel_fd, .events = POLLIN },
	};
	const uint64_t end = hl_now_mono_ms() + (uint64_t)timeout_ms;
	int n;

	do {
		uint64_t now = hl_now_mono_ms();
		n = poll(ready, 2, now < end ? (int)(end - now) : 0);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? FAILED : TOO_LATE;
	return ready[0].revents != 0 ? READY : CANCELLED;
}

void
hl_peer_end(struct hl_peer *peer)
{
	if (peer->pid > 0) {
		hl_close_ptr(&peer->control);
		/* Told to end before it is killed: it may have turned a terminal's echo off. */
		bool has_ended =
		    peer->pidfd >= 0 && wait_for(peer->pidfd, -1, peer->end_ms) == READY;
		if (!has_ended && peer->pidfd >= 0) {
			kill(peer->pid, SIGTERM);
			has_ended = wait_for(peer->pidfd, -1, TERM_MS) == READY;
		}
		if (!has_ended)
			kill(peer->pid, SIGKILL);
		while (waitpid(peer->pid, NULL, 0) < 0 && errno == EINTR)
			;
		hl_close_ptr(&peer->pidfd);
	}
	peer->pid = 0;
	peer->pidfd = peer->control = -1;
}

int
hl_peer_malformed(struct hl_peer *peer, struct hl_err *err)
{
	peer->is_broken = true;
	return hl_err_set(err, peer->kind->broken, "%s sent a malformed answer", peer->kind->name);
}

/* Only what it can be the cause of is believed. */
static int
take_failure(struct hl_peer *peer, struct hl_wire *wire, struct hl_err *err)
{
	static const char ours[] = "HLI-";
	const char *id = hl_wire_string(wire);
	const char *message = hl_wire_string(wire);
	const char *help = hl_wire_string(wire);

	if (!hl_wire_is_complete(wire))
		return hl_peer_malformed(peer, err);
	enum hl_code code = hl_code_from_id(id);
	if (code == HL_OK || (strncmp(id, hl_code_info(peer->kind->broken)->id, 4) != 0 &&
				 strncmp(id, ours, 4) != 0))
		code = peer->kind->broken;
	hl_err_set(err, code, "%s", message);
	if (help[0] != '\0')
		hl_err_help(err, "%s", help);
	return -1;
}

static int
await(struct hl_peer *peer, struct hl_err *err)
{
	const char *name = peer->kind->name;

	switch (wait_for(peer->control, peer->cancel_fd, peer->answer_ms)) {
	case READY:
		return 0;
	case FAILED:
		return hl_err_sys(err, HLI_02, "poll");
	case CANCELLED:
		return hl_err_set(err, peer->kind->cancelled,
		    "interrupted before the command was started");
	case TOO_LATE:
		break;
	}
	/* An answer that comes after all is not taken for the next one's. */
	(void)shutdown(peer->control, SHUT_RDWR);
	return hl_err_set(err, peer->kind->broken, "%s does not answer", name);
}

static bool
is_progress(struct hl_peer *peer, const char *packet, size_t len)
{
	struct hl_wire wire;

	hl_wire_init(&wire, packet, len);
	if (peer->kind->progress == 0 || hl_wire_u8(&wire) != peer->kind->progress)
		return false;
	if (peer->on_progress != NULL)
		peer->on_progress(peer->context, &wire);
	return true;
}

static int
receive(struct hl_peer *peer, char *packet, struct hl_buf *answer, struct hl_err *err)
{
	const char *name = peer->kind->name;
	ssize_t n;

	do {
		if (await(peer, err) != 0)
			return -1;
		n = recv(peer->control, packet, peer->kind->packet_max, MSG_TRUNC);
		if (n > (ssize_t)peer->kind->packet_max)
			return hl_peer_malformed(peer, err);
		if (n < 0)
			return hl_err_sys(err, peer->kind->broken, "%s has ended", name);
		if (n == 0)
			return hl_err_set(err, peer->kind->broken, "%s has ended", name);
	} while (is_progress(peer, packet, (size_t)n));
	hl_buf_put(answer, packet, (size_t)n);
	return hl_buf_check(answer, "answer", err);
}

static int
exchange(struct hl_peer *peer, const struct hl_buf *request, struct hl_buf *answer,
    struct hl_err *err)
{
	const char *name = peer->kind->name;
	char *packet HL_AUTO_FREE = malloc(peer->kind->packet_max);

	if (packet == NULL)
		return hl_err_oom(err);
	ssize_t sent;

	/* It is asked one thing at a time: a socket that has no room is of one that does not read.
	 */
	do
		sent =
		    send(peer->control, request->data, request->len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent != (ssize_t)request->len)
		return hl_err_sys(err, peer->kind->broken,
		    errno == EAGAIN ? "%s takes no question" : "%s has ended", name);
	return receive(peer, packet, answer, err);
}

int
hl_peer_ask(struct hl_peer *peer, const struct hl_buf *request, uint8_t want,
    struct hl_buf *ret_answer, struct hl_err *err)
{
	struct hl_wire wire;

	hl_buf_init(ret_answer, peer->kind->packet_max);
	if (hl_buf_check(request, "request", err) != 0)
		return -1;
	/* What it still answers is an answer to an earlier question. */
	if (peer->is_broken)
		return hl_err_set(err, peer->kind->broken, "%s was given up on", peer->kind->name);
	if (exchange(peer, request, ret_answer, err) != 0) {
		peer->is_broken = true;
		hl_buf_done(ret_answer);
		return -1;
	}
	hl_wire_init(&wire, ret_answer->data, ret_answer->len);
	uint8_t type = hl_wire_u8(&wire);
	if (type == want)
		return 0;
	if (type == peer->kind->failed)
		take_failure(peer, &wire, err);
	else
		hl_peer_malformed(peer, err);
	hl_buf_done(ret_answer);
	return -1;
}
