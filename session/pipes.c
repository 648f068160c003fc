/*
 * Output that does not come through the stream: pipes of our own, whose writing ends go to the
 * runner with the call (runner.h, Pipes). What was written before EXIT belongs to the call, so an
 * EXIT waits here for what the pipes hold and whoever has the credit; what comes later goes to the
 * background log, until CLOSED.
 *
 * Credit is what it is for frames, but nobody is told of it: a pipe without credit is not read, and
 * its writer waits.
 */
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "session/machine.h"

#include "base/banned.h"

enum {
	PIPE_SIZE = 65536, /* as it is made: pipe(7) */
	PIPE_SIZE_FLOOD = 4 * PIPE_SIZE,
	CHUNK = 2 * PIPE_SIZE,
	TURNS = 8 /* of one pipe, before the others and the stream are looked at */
};

/* Of whichever call is read at the moment. used_len: what is to be wiped when nobody hears of it
 * any more, at the end of each turn. */
static char bytes[CHUNK];
static size_t used_len;

static void
wipe(void)
{
	explicit_bzero(bytes, used_len);
	used_len = 0;
}

/* ------------------------------------------------------------------------------------------------
 * Making them
 */
/* A command may open them again by name (/dev/stdout), so they are its user's. */
static int
make_pipe(const struct sandbox *sandbox, int *ret_ours, int *ret_theirs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	*ret_ours = ends[0];
	*ret_theirs = ends[1];
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
		return -1;
	return geteuid() != 0 || sandbox->uid == 0 ? 0
						   : fchown(ends[0], sandbox->uid, sandbox->gid);
}

static void
close_theirs(int theirs[2])
{
	for (int i = 0; i < 2; i++)
		hl_close_ptr(&theirs[i]);
}

bool
pipes_open(struct session *session, unsigned number, uint32_t flags, int theirs[2])
{
	const struct sandbox *sandbox = session->config.sandbox;
	struct channel *channel = &session->channels[number];
	const int count = (flags & RUNNER_SPAWN_MERGED) != 0 ? 1 : 2;

	theirs[0] = theirs[1] = -1;
	if (sandbox->pass <= STDERR_FILENO ||
	    (flags & (RUNNER_SPAWN_INHERIT | RUNNER_SPAWN_PTY)) != 0)
		return false;
	for (int i = 0; i < count; i++) {
		struct pipe_end *end = &channel->pipes[i];
		*end = (struct pipe_end){ .session = session,
			.channel = number,
			.stream = i + 1,
			.fd = -1 };
		const bool is_made = make_pipe(sandbox, &end->fd, &theirs[i]) == 0;
		end->is_open = end->fd >= 0;
		if (!is_made) {
			close_theirs(theirs);
			pipes_close(channel);
			return false;
		}
	}
	channel->has_pipes = true;
	return true;
}

bool
pipes_pass(struct session *session, unsigned number, int theirs[2])
{
	const size_t size = (theirs[1] >= 0 ? 2 : 1) * sizeof(int);
	unsigned char text[4] = { (unsigned char)number, (unsigned char)(number >> 8) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = text, .iov_len = sizeof(text) };
	const struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = (socklen_t)CMSG_SPACE(size) }; /* two C libraries, two types */

	control.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
		.cmsg_len = (socklen_t)CMSG_LEN(size) };
	memcpy(CMSG_DATA(&control.head), theirs, size);
	const ssize_t n =
	    sendmsg(session->config.sandbox->pass, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	close_theirs(theirs);
	if (n == (ssize_t)sizeof(text))
		return true;
	/* As many are under way as there may be (ETOOMANYREFS), or the runner does not read. */
	pipes_close(&session->channels[number]);
	return false;
}

void
pipes_close(struct channel *channel)
{
	for (int i = 0; i < 2; i++) {
		struct pipe_end *end = &channel->pipes[i];
		hl_source_remove(end->source);
		if (end->is_open)
			close(end->fd);
		*end = (struct pipe_end){ 0 };
	}
	channel->has_pipes = false;
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */
static struct channel *
channel_of(const struct pipe_end *end)
{
	return &end->session->channels[end->channel];
}

static void
rest(struct pipe_end *end)
{
	hl_source_remove(end->source);
	end->source = NULL;
}

static void
end_pipe(struct pipe_end *end)
{
	rest(end);
	close(end->fd);
	end->is_open = false;
	end->owed = 0;
}

/* A writer that fills its pipe waits for us at every turn: a larger one lets it go on meanwhile.
 * Where the user's pages for pipes are used up (fs.pipe-user-pages-soft) it stays as it is. */
static void
widen(struct pipe_end *end)
{
	if (!end->is_wide)
		(void)fcntl(end->fd, F_SETPIPE_SZ, PIPE_SIZE_FLOOD);
	end->is_wide = true;
}

/* True when there may be more. A read takes what is there and not just what is owed: the rest of a
 * packet (O_DIRECT in pipe(2), which a command may ask for) would be lost. A pipe that cannot be
 * read has ended, and nothing else has: what lies in it is the command's to choose (splice(2)).
 * Whoever hears of output may end the session and with it the pipe. */
static bool
take(struct pipe_end *end)
{
	struct session *session = end->session;
	struct channel *channel = channel_of(end);
	const uint32_t credit = channel->credit[end->stream - 1];
	const size_t want = credit < sizeof(bytes) ? credit : sizeof(bytes);

	if (want == 0) {
		rest(end);
		return false;
	}
	const ssize_t n = read(end->fd, bytes, want);
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN)
		end->owed = 0;
	else if (n <= 0)
		end_pipe(end);
	if (n <= 0)
		return false;
	if (used_len < (size_t)n)
		used_len = (size_t)n;
	if (n >= PIPE_SIZE)
		widen(end);
	end->owed -= (uint32_t)n < end->owed ? (uint32_t)n : end->owed;
	call_output(channel, session, end->stream, bytes, (uint32_t)n);
	return end->is_open;
}

static void
note_owed(struct channel *channel)
{
	for (int i = 0; i < 2; i++) {
		struct pipe_end *end = &channel->pipes[i];
		int held;
		end->owed = 0;
		if (end->is_open && ioctl(end->fd, FIONREAD, &held) == 0 && held > 0)
			end->owed = (uint32_t)held;
	}
}

static void
take_owed(struct channel *channel)
{
	for (int i = 0; i < 2; i++)
		while (channel->pipes[i].owed > 0 && take(&channel->pipes[i]))
			;
	wipe();
}

static bool
is_owed(const struct channel *channel)
{
	return channel->pipes[0].owed > 0 || channel->pipes[1].owed > 0;
}

/* What the call has left running writes until it is closed. */
static void
settle(struct session *session, struct channel *channel)
{
	struct session_call *call = channel->call;

	if (channel->state != CHANNEL_DRAINING || is_owed(channel))
		return;
	const bool is_closed = channel->is_closed;
	if (is_closed)
		channel->ended.has_left = false;
	if (call->killed != 0)
		channel->ended.how = call->killed;
	const struct runner_exit ended = channel->ended;
	channel->state = CHANNEL_LEFT;
	channel->call = NULL;
	channel_release_held(session, channel);
	if (is_closed)
		channel_free(session, channel);
	call_exit(call, &ended);
}

static void
on_readable(void *context, uint32_t events)
{
	struct pipe_end *end = context;
	struct session *session = end->session;
	struct channel *channel = channel_of(end);

	(void)events;
	session_enter(session);
	for (int i = 0; i < TURNS && session->phase != SESSION_CLOSED && take(end); i++)
		;
	wipe();
	if (session->phase != SESSION_CLOSED)
		settle(session, channel);
	session_flush(session);
	session_leave(session);
}

/* A command can open its pipe again and read it (/proc/self/fd): what was seen there at its end may
 * be gone, and then nothing makes the pipe readable. So what is owed is looked for, not waited for.
 */
static void
on_owed(void *context, uint32_t events)
{
	struct pipe_end *end = context;
	struct session *session = end->session;
	struct channel *channel = channel_of(end);

	end->source = NULL;
	session_enter(session);
	on_readable(end, events);
	pipes_watch(channel);
	session_leave(session);
}

void
pipes_watch(struct channel *channel)
{
	if (!channel->has_pipes || channel->state < CHANNEL_RUNNING)
		return;
	for (int i = 0; i < 2; i++) {
		struct pipe_end *end = &channel->pipes[i];
		struct hl_err err;
		const struct hl_watch readable = { .fd = end->fd,
			.events = EPOLLIN,
			.fn = on_readable,
			.context = end };
		const struct hl_watch owed = { .fd = -1,
			.when_ms = hl_now_mono_ms(),
			.fn = on_owed,
			.context = end };
		if (!end->is_open || end->source != NULL || channel->credit[i] == 0 ||
		    end->session->phase == SESSION_CLOSED)
			continue;
		if (hl_loop_add(end->session->config.loop, end->owed > 0 ? &owed : &readable,
			&end->source, &err) != 0)
			session_fail(end->session, err.code, "%s", err.msg);
	}
}

/* ------------------------------------------------------------------------------------------------
 * The end
 */
void
pipes_exit(struct channel *channel, const struct runner_exit *ended)
{
	struct session *session = channel->call->session;

	channel->state = CHANNEL_DRAINING;
	channel->ended = *ended;
	channel->ended.subject = NULL;
	note_owed(channel);
	take_owed(channel);
	if (session->phase != SESSION_CLOSED)
		settle(session, channel);
}

void
pipes_closed(struct channel *channel)
{
	if (channel->state == CHANNEL_DRAINING) {
		channel->is_closed = true;
		return;
	}
	struct session *session = channel->pipes[0].session;
	note_owed(channel);
	take_owed(channel);
	if (session->phase != SESSION_CLOSED)
		channel_free(session, channel);
}

void
pipes_last(struct channel *channel)
{
	if (!channel->has_pipes)
		return;
	channel->credit[0] = channel->credit[1] = UINT32_MAX / 2; /* and what is given back */
	note_owed(channel);
	take_owed(channel);
	pipes_close(channel);
}
