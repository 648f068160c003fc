/*
 * What each frame of the runner means and when it may come: the table below is the host's side of
 * the protocol in runner/runner.h. The runner is held for hostile: what the table does not allow
 * ends the session, and nothing that it says is repeated unescaped.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "session/machine.h"

#include "base/banned.h"

static void
malformed(struct session *session, const char *name)
{
	session_fail(session, HLB_01, "the runner sent a malformed %s frame", name);
}

/* Gives the runner room for what was used, in few frames. */
void
channel_return_credit(struct session *session, struct channel *channel, int stream, uint32_t bytes)
{
	struct hl_buf payload;

	if (channel->has_pipes) {
		channel->credit[stream - 1] += bytes;
		pipes_watch(channel);
		return;
	}
	channel->returned[stream - 1] += bytes;
	if (channel->returned[stream - 1] < SESSION_CREDIT_STEP)
		return;
	hl_buf_init(&payload, 16);
	hl_wire_put_u8(&payload, (uint8_t)stream);
	hl_wire_put_u32(&payload, channel->returned[stream - 1]);
	session_send(session, RUNNER_WINDOW_ADD, (uint32_t)(channel - session->channels),
	    payload.data, payload.len);
	hl_buf_done(&payload);
	channel->credit[stream - 1] += channel->returned[stream - 1];
	channel->returned[stream - 1] = 0;
}

void
channel_release_held(struct session *session, struct channel *channel)
{
	for (int stream = 1; stream <= 2; stream++) {
		uint32_t held = channel->held[stream - 1];
		channel->held[stream - 1] = 0;
		channel_return_credit(session, channel, stream, held);
	}
}

static void
on_hello(struct session *session, struct channel *channel, const struct runner_frame *frame)
{
	struct hl_wire wire;

	(void)channel;
	hl_wire_init(&wire, frame->payload, frame->payload_len);
	uint32_t version = hl_wire_u32(&wire);
	hl_wire_u32(&wire); /* features: facts for the record, not for us */
	hl_wire_u32(&wire); /* pid */
	if (!hl_wire_is_complete(&wire) || version != RUNNER_VERSION) {
		session_fail(session, HLB_03,
		    "the runner in the sandbox speaks another version of the protocol");
		return;
	}
	session->phase = SESSION_HELLO;
}

static void
on_locked(struct session *session, struct channel *channel, const struct runner_frame *frame)
{
	struct hl_wire wire;
	struct hl_buf safe;

	(void)channel;
	hl_wire_init(&wire, frame->payload, frame->payload_len);
	const char *text = hl_wire_string(&wire);
	if (!hl_wire_is_complete(&wire)) {
		malformed(session, "LOCKED");
		return;
	}
	hl_buf_init(&safe, sizeof(session->locked) * 4);
	hl_buf_printable(&safe, text, strlen(text));
	snprintf(session->locked, sizeof(session->locked), "%s", safe.data);
	hl_buf_done(&safe);
	session->phase = SESSION_READY;
	session_no_deadline(session);
	for (unsigned i = 1; i <= RUNNER_CALLS_MAX && session->phase == SESSION_READY; i++)
		if (session->channels[i].call != NULL)
			call_ready(session->channels[i].call);
	if (session->config.on_ready != NULL)
		session->config.on_ready(session->config.context, session->locked);
}

/* Only what was asked has an answer. */
static void
on_pong(struct session *session, struct channel *channel, const struct runner_frame *frame)
{
	(void)channel;
	if (!session->awaits_pong || frame->payload_len != 0) {
		session_fail(session, HLB_01, "the runner sent an answer that was not asked for");
		return;
	}
	session->awaits_pong = false;
	session_no_deadline(session);
}

/* Only families that a runner may speak of are believed. */
static enum hl_code
believed(uint32_t number)
{
	if (number == HL_OK || number >= HL_CODE_MAX)
		return HLB_02;
	char family = hl_code_info((enum hl_code)number)->id[2];
	return family == 'B' || family == 'D' ? (enum hl_code)number : HLB_02;
}

static void
on_error(struct session *session, struct channel *channel, const struct runner_frame *frame)
{
	struct runner_error error;
	struct hl_buf subject;
	struct hl_err ignored;

	(void)channel;
	if (runner_error_get(frame, &error, &ignored) != 0) {
		malformed(session, "ERROR");
		return;
	}
	hl_buf_init(&subject, 4096);
	hl_buf_printable(&subject, error.subject, strlen(error.subject));
	const char *step = error.step < CONFINE_STEP_MAX
			       ? confine_step_text((enum confine_step)error.step)
			       : "an unknown step";
	session->err.sys_errno = error.sys_errno;
	session_fail(session, believed(error.code),
	    "the sandbox could not be locked: %s%s%.300s%s%s%s", step, subject.len > 0 ? " '" : "",
	    subject.data, subject.len > 0 ? "'" : "", error.sys_errno != 0 ? ": " : "",
	    error.sys_errno != 0 ? strerror(error.sys_errno) : "");
	hl_buf_done(&subject);
}

static void
on_started(struct session *session, struct channel *channel, const struct runner_frame *frame)
{
	(void)session;
	(void)frame;
	channel->state = CHANNEL_RUNNING;
	pipes_watch(channel);
	call_started(channel->call);
}

static void
on_out(struct session *session, struct channel *channel, const struct runner_frame *frame)
{
	int stream = frame->payload_len > 0 ? frame->payload[0] : 0;

	if (channel->has_pipes || stream < 1 || stream > 2 ||
	    frame->payload_len - 1 > channel->credit[stream - 1]) {
		session_fail(session, HLB_01, "the runner sent output past its window");
		return;
	}
	call_output(channel, session, stream, (const char *)frame->payload + 1,
	    frame->payload_len - 1);
}

static void
on_window(struct session *session, struct channel *channel, const struct runner_frame *frame)
{
	struct session_call *call = channel->call;
	struct hl_wire wire;

	hl_wire_init(&wire, frame->payload, frame->payload_len);
	uint8_t stream = hl_wire_u8(&wire);
	uint32_t bytes = hl_wire_u32(&wire);
	if (!hl_wire_is_complete(&wire) || stream != 0 ||
	    (call != NULL && bytes > RUNNER_WINDOW - call->stdin_credit)) {
		malformed(session, "WINDOW_ADD");
		return;
	}
	if (call != NULL)
		call_window_add(call, bytes);
}

static void
on_state(struct session *session, struct channel *channel, const struct runner_frame *frame)
{
	struct session_call *call = channel->call;

	if (!call->has_report || frame->payload_len > SESSION_STATE_MAX - call->report.len) {
		session_fail(session, HLB_01, "the runner sent state that was not asked for");
		return;
	}
	hl_buf_put(&call->report, frame->payload, frame->payload_len);
}

static void
on_exit(struct session *session, struct channel *channel, const struct runner_frame *frame)
{
	struct session_call *call = channel->call;
	struct runner_exit ended;
	struct hl_err ignored;

	if (runner_exit_get(frame, &ended, &ignored) != 0) {
		malformed(session, "EXIT");
		return;
	}
	bool was_started = channel->state == CHANNEL_RUNNING;
	if (!was_started && (ended.how == RUNNER_EXITED || ended.how == RUNNER_SIGNALED)) {
		session_fail(session, HLB_01, "the runner ended a command that it never started");
		return;
	}
	if (was_started && channel->has_pipes) {
		pipes_exit(channel, &ended);
		return;
	}
	channel->state = CHANNEL_LEFT;
	channel->call = NULL;
	/* What the call's owner still holds back is not held against what it left running. */
	channel_release_held(session, channel);
	call_exit(call, &ended);
}

void
channel_free(struct session *session, struct channel *channel)
{
	pipes_close(channel);
	*channel = (struct channel){ .state = CHANNEL_FREE };
	session->is_over = session->is_alone;
}

static void
on_closed(struct session *session, struct channel *channel, const struct runner_frame *frame)
{
	(void)frame;
	if (channel->has_pipes)
		pipes_closed(channel);
	else
		channel_free(session, channel);
}

/* A frame, the phase or the channel's states in which it may come, and what it does. */
struct frame_rule {
	enum runner_type type;
	bool has_channel;
	unsigned from, to;
	void (*handle)(struct session *session, struct channel *channel,
	    const struct runner_frame *frame);
};

static const struct frame_rule rules[] = {
	{ RUNNER_HELLO, false, SESSION_MAGIC, SESSION_MAGIC, on_hello },
	{ RUNNER_LOCKED, false, SESSION_HELLO, SESSION_HELLO, on_locked },
	{ RUNNER_ERROR, false, SESSION_HELLO, SESSION_READY, on_error },
	{ RUNNER_PONG, false, SESSION_READY, SESSION_READY, on_pong },
	{ RUNNER_STARTED, true, CHANNEL_SPAWNED, CHANNEL_SPAWNED, on_started },
	{ RUNNER_OUT, true, CHANNEL_RUNNING, CHANNEL_LEFT, on_out },
	{ RUNNER_WINDOW_ADD, true, CHANNEL_SPAWNED, CHANNEL_LEFT, on_window },
	{ RUNNER_STATE, true, CHANNEL_RUNNING, CHANNEL_RUNNING, on_state },
	{ RUNNER_EXIT, true, CHANNEL_SPAWNED, CHANNEL_RUNNING, on_exit },
	{ RUNNER_CLOSED, true, CHANNEL_DRAINING, CHANNEL_LEFT, on_closed },
};

void
session_frame(struct session *session, const struct runner_frame *frame)
{
	bool has_channel = frame->channel > 0;

	for (size_t i = 0; i < HL_ARRAY_SIZE(rules) && frame->channel <= RUNNER_CALLS_MAX; i++) {
		const struct frame_rule *rule = &rules[i];
		struct channel *channel = &session->channels[frame->channel];
		unsigned state = has_channel ? (unsigned)channel->state : (unsigned)session->phase;
		if (rule->type != frame->type || rule->has_channel != has_channel)
			continue;
		/* Between GOODBYE and the end what comes is still read. */
		if (!has_channel && session->phase == SESSION_ENDING)
			return;
		if (state < rule->from || state > rule->to ||
		    (has_channel && session->phase < SESSION_READY))
			break;
		rule->handle(session, channel, frame);
		return;
	}
	session_fail(session, HLB_01, "the runner sent a frame out of order");
}
