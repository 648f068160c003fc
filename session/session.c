/*
 * The life of a session and of its stream: LOCK, ready, frames in and out, the end. What a frame
 * means is in frames.c. Bytes of the stream are read into one buffer and handed on from there, so
 * that output is not copied on its way; the buffer is as large as the traffic asks, and small again
 * when there is none.
 */
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/machine.h"

#include "base/banned.h"

enum {
	CLOSE_MS = 5000
};

/* ------------------------------------------------------------------------------------------------
 * Callbacks may free the session: it goes when the last of them is back.
 */
/* Output, and the state of a shell, came through it. */
static void
forget_in(struct session *session)
{
	if (session->in != NULL)
		explicit_bzero(session->in, session->in_capacity);
	free(session->in);
	session->in = NULL;
	session->in_capacity = 0;
}

static void
destroy(struct session *session)
{
	hl_source_remove(session->stream);
	hl_source_remove(session->deadline);
	for (unsigned i = 1; i <= RUNNER_CALLS_MAX; i++)
		pipes_close(&session->channels[i]);
	hl_buf_done_secret(&session->out);
	pairs_done(&session->base);
	background_done(&session->background);
	free(session->cwd);
	free(session->spill_dir);
	forget_in(session);
	free(session);
}

void
session_enter(struct session *session)
{
	session->busy++;
}

void
session_leave(struct session *session)
{
	if (--session->busy == 0 && session->is_freed)
		destroy(session);
}

/* ------------------------------------------------------------------------------------------------
 * Out
 */
static void
want_out(struct session *session, bool does)
{
	if (session->wants_out == does || session->stream == NULL)
		return;
	session->wants_out = does;
	hl_source_events(session->stream, does ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void
session_flush(struct session *session)
{
	struct hl_buf *out = &session->out;

	if (out->len == 0 || session->phase == SESSION_CLOSED)
		return;
	ssize_t n =
	    send(session->config.sandbox->stream, out->data, out->len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		n = (ssize_t)
			out->len; /* the other side is gone; what it said is still to be read */
	if (n == (ssize_t)out->len)
		hl_buf_done_secret(out); /* SPAWN carries values */
	else if (n > 0)
		hl_buf_drop(out, (size_t)n);
	want_out(session, out->len > 0);
}

void
session_send(struct session *session, enum runner_type type, uint32_t channel, const void *payload,
    size_t len)
{
	runner_frame_put(&session->out, type, channel, payload, len);
}

void
session_send_u32(struct session *session, enum runner_type type, uint32_t channel, uint32_t number)
{
	unsigned char payload[4] = { (unsigned char)number, (unsigned char)(number >> 8),
		(unsigned char)(number >> 16), (unsigned char)(number >> 24) };

	session_send(session, type, channel, payload, sizeof(payload));
}

/* ------------------------------------------------------------------------------------------------
 * The end
 */
static void
end_calls(struct session *session)
{
	for (unsigned i = 1; i <= RUNNER_CALLS_MAX; i++) {
		struct channel *channel = &session->channels[i];
		pipes_last(channel);
		struct session_call *call = channel->call;
		const struct runner_exit ended = channel->ended;
		const bool has_ended = channel->state == CHANNEL_DRAINING;
		*channel = (struct channel){ .state = CHANNEL_FREE };
		if (call != NULL && has_ended)
			call_exit(call, &ended);
		else if (call != NULL)
			call_abandon(call, &session->err);
	}
}

static void
close_now(struct session *session)
{
	if (session->phase == SESSION_CLOSED)
		return;
	session_enter(session);
	session_flush(session);
	session->phase = SESSION_CLOSED;
	hl_source_remove(session->stream);
	hl_source_remove(session->deadline);
	session->stream = session->deadline = NULL;
	end_calls(session);
	if (session->config.on_closed != NULL && !session->is_freed)
		session->config.on_closed(session->config.context, &session->err);
	session_leave(session);
}

void
session_fail(struct session *session, enum hl_code code, const char *format, ...)
{
	va_list ap;
	char text[sizeof(session->err.msg)];

	if (session->phase == SESSION_CLOSED)
		return;
	if (session->phase != SESSION_ENDING) {
		struct hl_buf message;
		hl_buf_init(&message, sizeof(text) - 1);
		va_start(ap, format);
		hl_buf_vputf(&message, format, ap);
		va_end(ap);
		hl_err_set(&session->err, code, "%s",
		    message.failed ? "the session failed" : message.data);
		hl_buf_done(&message);
	}
	close_now(session);
}

static void read_stream(struct session *session);

/* Who told a command to end wants it to have ended: that is what it is recorded as. An answer that
 * came while we ourselves were stopped is one. */
static void
give_up(struct session *session)
{
	read_stream(session);
	if (session->phase == SESSION_CLOSED || !session->awaits_pong)
		return;
	for (unsigned i = 1; i <= RUNNER_CALLS_MAX; i++) {
		struct session_call *call = session->channels[i].call;
		if (call != NULL && call->was_told_to_end && call->killed == 0)
			call->killed = RUNNER_CANCELLED;
	}
	session_fail(session, HLB_07, "the runner in the sandbox does not answer");
}

static void
on_deadline(void *context, uint32_t events)
{
	struct session *session = context;

	(void)events;
	session->deadline = NULL;
	session_enter(session);
	if (session->awaits_pong) {
		give_up(session);
	} else if (session->phase == SESSION_ENDING) {
		/* It was told and does not go: the kernel ends what is below its first process. */
		if (session->config.sandbox->pidfd >= 0)
			syscall(SYS_pidfd_send_signal, session->config.sandbox->pidfd, SIGKILL,
			    NULL, 0);
		close_now(session);
	} else {
		session_fail(session, HLB_08, "the sandbox did not become ready in time");
	}
	session_leave(session);
}

void
session_no_deadline(struct session *session)
{
	hl_source_remove(session->deadline);
	session->deadline = NULL;
}

static int
set_deadline(struct session *session, uint64_t after_ms, struct hl_err *err)
{
	const struct hl_watch watch = { .fd = -1,
		.when_ms = hl_now_mono_ms() + after_ms,
		.fn = on_deadline,
		.context = session };

	session_no_deadline(session);
	return hl_loop_add(session->config.loop, &watch, &session->deadline, err);
}

/* Nothing else would say it: a command may well go on after a signal, a runner always answers. */
void
session_ask(struct session *session)
{
	struct hl_err err;

	if (session->phase != SESSION_READY || session->awaits_pong)
		return;
	if (set_deadline(session, SESSION_KILL_MS, &err) != 0) {
		session_fail(session, err.code, "%s", err.msg);
		return;
	}
	session->awaits_pong = true;
	session_send(session, RUNNER_PING, 0, NULL, 0);
}

void
session_close(struct session *session)
{
	struct hl_err err;

	if (session->phase >= SESSION_ENDING)
		return;
	session_enter(session);
	session->awaits_pong = false;
	session_send(session, RUNNER_GOODBYE, 0, NULL, 0);
	session->phase = SESSION_ENDING;
	/* Whoever cannot be waited for is not. */
	if (set_deadline(session, CLOSE_MS, &err) != 0)
		close_now(session);
	session_flush(session);
	session_leave(session);
}

void
session_free(struct session *session)
{
	if (session == NULL || session->is_freed)
		return;
	session->is_freed = true;
	session_enter(session);
	if (session->phase != SESSION_CLOSED) {
		if (!session->is_over)
			session_send(session, RUNNER_GOODBYE, 0, NULL, 0);
		session_flush(session);
		session->phase = SESSION_CLOSED;
	}
	/* Calls stay their owner's, without a session. */
	for (unsigned i = 1; i <= RUNNER_CALLS_MAX; i++)
		if (session->channels[i].call != NULL) {
			struct session_call *call = session->channels[i].call;
			hl_source_remove(call->deadline);
			call->deadline = NULL;
			call->session = NULL;
			session->channels[i].call = NULL;
		}
	session_leave(session);
}

/* ------------------------------------------------------------------------------------------------
 * In
 */
/* Skips what stands before the magic. Bytes that are used; has_magic says whether frames follow. */
static size_t
skip_noise(struct session *session)
{
	const unsigned char *magic =
	    memmem(session->in, session->in_len, RUNNER_MAGIC, RUNNER_MAGIC_SIZE);
	/* The last bytes may be the magic's beginning. */
	size_t skip = magic != NULL ? (size_t)(magic - session->in)
		      : session->in_len >= RUNNER_MAGIC_SIZE
			  ? session->in_len - RUNNER_MAGIC_SIZE + 1
			  : 0;

	session->noise += skip;
	if (session->noise > RUNNER_NOISE_MAX) {
		session_fail(session, HLB_06,
		    "the sandbox sent something else than a runner's hello");
		return skip;
	}
	session->has_magic = magic != NULL;
	return magic != NULL ? skip + RUNNER_MAGIC_SIZE : skip;
}

static void
take_frames(struct session *session)
{
	struct runner_frame frame;
	struct hl_err err;
	size_t size, used = session->has_magic ? 0 : skip_noise(session);

	while (session->has_magic && session->phase != SESSION_CLOSED) {
		const struct hl_buf rest = { .data = (char *)session->in + used,
			.len = session->in_len - used,
			.max = SESSION_IN_MAX };
		int found = runner_frame_get(&rest, &frame, &size, &err);
		if (found < 0)
			session_fail(session, HLB_01,
			    "the runner sent something that is not a frame");
		if (found <= 0)
			break;
		session_frame(session, &frame);
		used += size;
	}
	session->in_len -= used;
	if (session->in_len > 0 && used > 0)
		memmove(session->in, session->in + used, session->in_len);
}

/* Room for what comes: more when the last read filled it. A whole frame fits at the most. */
static bool
make_room(struct session *session)
{
	size_t capacity = session->in_capacity > 0 ? session->in_capacity : SESSION_IN_FIRST;

	if (session->in_was_full)
		capacity *= 4;
	if (capacity > SESSION_IN_MAX)
		capacity = SESSION_IN_MAX;
	if (capacity == session->in_capacity)
		return true;
	unsigned char *in = malloc(capacity);
	if (in == NULL)
		return false;
	if (session->in_len > 0)
		memcpy(in, session->in, session->in_len);
	forget_in(session);
	session->in = in;
	session->in_capacity = capacity;
	return true;
}

/* An idle session holds no buffer of the size of a flood. */
static void
give_room_back(struct session *session, size_t last_read)
{
	if (session->in_len > 0 || last_read >= SESSION_IN_FIRST / 2 ||
	    session->in_capacity <= SESSION_IN_FIRST)
		return;
	forget_in(session);
}

static void
read_stream(struct session *session)
{
	if (!make_room(session)) {
		session_fail(session, HLI_01, "memory ended");
		return;
	}
	size_t room = session->in_capacity - session->in_len;
	ssize_t n = recv(session->config.sandbox->stream, session->in + session->in_len, room,
	    MSG_DONTWAIT);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0 && session->is_over) { /* -1: it did not read our last words */
		close_now(session);
		return;
	}
	if (n <= 0) {
		bool is_early = session->phase < SESSION_HELLO;
		session_fail(session, is_early ? HLB_06 : HLB_07,
		    is_early ? "the sandbox ended before its runner said hello"
			     : "the sandbox ended while the command ran");
		return;
	}
	session->in_len += (size_t)n;
	session->in_was_full = (size_t)n == room;
	take_frames(session);
	give_room_back(session, (size_t)n);
}

static void
on_stream(void *context, uint32_t events)
{
	struct session *session = context;

	session_enter(session);
	if (events & EPOLLOUT)
		session_flush(session);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_stream(session);
	session_flush(session);
	if (session->out.failed)
		session_fail(session, HLI_03, "the queue to the runner is full");
	session_leave(session);
}

/* ------------------------------------------------------------------------------------------------
 * Open
 */
static int
copy_config(struct session *session, struct hl_err *err)
{
	struct session_config *config = &session->config;

	if (config->env != NULL && config->env->len > RUNNER_ENV_MAX)
		return hl_err_set(err, HLI_03, "the environment: more than %d entries",
		    RUNNER_ENV_MAX);
	if (config->env != NULL && pairs_from_env(&session->base, config->env) != 0)
		return hl_err_oom(err);
	session->cwd = strdup(config->cwd != NULL ? config->cwd : "/");
	if (session->cwd == NULL)
		return hl_err_oom(err);
	config->env = NULL;
	config->cwd = NULL;
	if (config->spill_dir != NULL) {
		session->spill_dir = strdup(config->spill_dir);
		if (session->spill_dir == NULL)
			return hl_err_oom(err);
		config->spill_dir = session->spill_dir;
	}
	return 0;
}

int
session_open(const struct session_config *config, struct session **ret_session, struct hl_err *err)
{
	struct session *session = calloc(1, sizeof(*session));
	const struct hl_watch watch = { .fd = config->sandbox->stream,
		.events = EPOLLIN,
		.fn = on_stream,
		.context = session };

	if (session == NULL)
		return hl_err_oom(err);
	session->config = *config;
	hl_buf_init(&session->out, SESSION_OUT_MAX);
	session_send(session, RUNNER_LOCK, 0, config->sandbox->lock.data,
	    config->sandbox->lock.len);
	if (session->out.failed) {
		destroy(session);
		return hl_err_oom(err);
	}
	hl_buf_drop(&session->out, config->sandbox->lock_sent);
	const uint64_t start_ms = config->start_ms > 0 ? config->start_ms : SESSION_START_MS;
	if (copy_config(session, err) != 0 || set_deadline(session, start_ms, err) != 0 ||
	    hl_loop_add(config->loop, &watch, &session->stream, err) != 0) {
		destroy(session);
		return -1;
	}
	/* The runner works on its lock while the caller does what must be done before a command. */
	session_flush(session);
	*ret_session = session;
	return 0;
}

size_t
session_background(struct session *session, uint64_t offset, void *bytes, size_t len,
    uint64_t *ret_offset)
{
	return background_read(&session->background, offset, bytes, len, ret_offset);
}

size_t
session_left(const struct session *session, uint64_t *ids, size_t max)
{
	size_t n = 0;

	for (unsigned i = 1; i <= RUNNER_CALLS_MAX; i++) {
		const struct channel *channel = &session->channels[i];
		if (channel->state != CHANNEL_LEFT)
			continue;
		/* Oldest first: a channel's number says nothing about its age. */
		size_t at = n < max ? n : max;
		for (; at > 0 && ids[at - 1] > channel->id; at--)
			if (at < max)
				ids[at] = ids[at - 1];
		if (at < max)
			ids[at] = channel->id;
		n++;
	}
	return n;
}

bool
session_left_end(struct session *session, uint64_t id)
{
	const unsigned char reason = RUNNER_CANCELLED;

	for (unsigned i = 1; i <= RUNNER_CALLS_MAX; i++) {
		if (session->channels[i].state != CHANNEL_LEFT || session->channels[i].id != id)
			continue;
		session_send(session, RUNNER_KILL, i, &reason, 1);
		session_flush(session);
		return true;
	}
	return false;
}
