/*
 * How long a call may take: to its start, to its end, and from KILL to the runner's answer. A
 * runner that does not answer is the end of the session, because nobody can say what runs in it.
 */
#include "session/machine.h"

#include "base/banned.h"

static void on_deadline(void *context, uint32_t events);

int
call_arm(struct session_call *call, struct session *session, uint64_t ms, struct hl_err *err)
{
	const struct hl_watch watch = { .fd = -1,
		.when_ms = hl_now_mono_ms() + ms,
		.fn = on_deadline,
		.context = call };

	hl_source_remove(call->deadline);
	call->deadline = NULL;
	return ms > 0 ? hl_loop_add(session->config.loop, &watch, &call->deadline, err) : 0;
}

bool
call_set_deadline(struct session_call *call, uint64_t ms)
{
	struct session *session = call->session;
	struct hl_err err;

	if (call_arm(call, session, ms, &err) == 0)
		return true;
	session_fail(session, err.code, "%s", err.msg);
	return false;
}

void
call_send_kill(struct session_call *call, enum runner_how how)
{
	unsigned char reason = (unsigned char)how;

	call->killed = how;
	/* Whoever does not take what there is must not keep the end waiting. */
	call->request.flags &= ~(uint32_t)SESSION_CALL_PAUSED;
	channel_release_held(call->session, &call->session->channels[call->channel]);
	session_send(call->session, RUNNER_KILL, call->channel, &reason, 1);
	(void)call_set_deadline(call, SESSION_KILL_MS);
}

static uint64_t
shorter(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

uint64_t
call_wall(const struct session_call *call, const struct session *session)
{
	return shorter(call->wall_ms, session->config.wall_ms);
}

static uint64_t
start_of(const struct session *session)
{
	return session->config.start_ms > 0 ? session->config.start_ms : SESSION_START_MS;
}

/* The wall limit is the command's own time, which has not begun; but what is not started in it by a
 * runner that is ready has no more time than what is not ended. */
uint64_t
call_start_patience(const struct session_call *call, const struct session *session)
{
	const uint64_t wall_ms = call_wall(call, session), start_ms = start_of(session);

	if (session->phase != SESSION_READY || wall_ms == 0 || wall_ms >= start_ms)
		return start_ms;
	return shorter(wall_ms + SESSION_KILL_MS, start_ms);
}

void
call_ready(struct session_call *call)
{
	if (call->killed == 0)
		(void)call_set_deadline(call, call_start_patience(call, call->session));
}

static void
fail_start(struct session_call *call, struct session *session)
{
	const bool is_timed_out = call_start_patience(call, session) < start_of(session);

	if (is_timed_out)
		call->killed = RUNNER_TIMED_OUT;
	session_fail(session, is_timed_out ? HLB_07 : HLB_08,
	    "the sandbox did not start a command in time");
}

static void
on_deadline(void *context, uint32_t events)
{
	struct session_call *call = context;
	struct session *session = call->session;

	(void)events;
	call->deadline = NULL;
	session_enter(session);
	if (call->killed != 0)
		session_fail(session, HLB_07,
		    "the sandbox did not end a command when it was told to");
	else if (session->channels[call->channel].state >= CHANNEL_RUNNING)
		call_send_kill(call, RUNNER_TIMED_OUT);
	else if (session->phase >= SESSION_READY)
		fail_start(call, session);
	session_flush(session);
	session_leave(session);
}
