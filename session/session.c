/*
 * One call, from LOCK to EXIT: the order of frames and what each one means. The bytes are moved by
 * loop.c, so that this file reads like the table in runner/runner.h.
 */
#include "session/session.h"

#include <sys/signalfd.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "session/loop.h"

#include "base/banned.h"

/* Signals that a person or a supervisor sends to the launcher and means for the command. */
static const int forwarded[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

int
session_signals(sigset_t *ret_old, int *ret_fd, struct hl_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < HL_ARRAY_SIZE(forwarded); i++)
		sigaddset(&set, forwarded[i]);
	if (sigprocmask(SIG_BLOCK, &set, ret_old) != 0)
		return hl_err_sys(err, HLI_02, "cannot block signals");
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return hl_err_sys(err, HLI_02, "cannot make a signal descriptor");
	*ret_fd = fd;
	return 0;
}

/* Ends the loop with a fault of runner or engine. */
static void
fault(struct session_loop *loop, enum hl_code code, const char *what)
{
	hl_err_set(&loop->result->err, code, "%s", what);
	loop->result->how = RUNNER_BACKEND_ERROR;
	loop->is_over = true;
}

static void
on_locked(struct session_loop *loop, const struct runner_frame *frame)
{
	struct hl_wire wire;

	hl_wire_init(&wire, frame->payload, frame->payload_len);
	const char *text = hl_wire_string(&wire);
	if (!hl_wire_is_complete(&wire)) {
		fault(loop, HLB_01, "the runner sent a malformed LOCKED frame");
		return;
	}
	struct hl_buf safe;
	hl_buf_init(&safe, sizeof(loop->result->locked) * 4);
	hl_buf_printable(&safe, text, strlen(text));
	snprintf(loop->result->locked, sizeof(loop->result->locked), "%s", safe.data);
	hl_buf_done(&safe);
	loop->state = SESSION_LOCKED;
}

static void
on_started(struct session_loop *loop, const struct runner_frame *frame)
{
	(void)frame;
	loop->state = SESSION_RUNNING;
	loop->result->was_started = true;
	loop->deadline_ms = loop->call->wall_ms > 0 ? hl_now_mono_ms() + loop->call->wall_ms : 0;
}

/* Only families that a runner may speak of are believed; the text is ours, the subject is escaped.
 */
static void
on_error(struct session_loop *loop, const struct runner_frame *frame)
{
	struct runner_error error;
	struct hl_err ignored;

	if (runner_error_get(frame, &error, &ignored) != 0) {
		fault(loop, HLB_01, "the runner sent a malformed ERROR frame");
		return;
	}
	enum hl_code code = HLB_02;
	if (error.code < HL_CODE_MAX) {
		char family = hl_code_info((enum hl_code)error.code)->id[2];
		if (error.code != HL_OK && (family == 'B' || family == 'D'))
			code = (enum hl_code)error.code;
	}
	struct hl_buf subject;
	hl_buf_init(&subject, 4096);
	hl_buf_printable(&subject, error.subject, strlen(error.subject));
	const char *step = error.step < CONFINE_STEP_MAX
			       ? confine_step_text((enum confine_step)error.step)
			       : "an unknown step";
	hl_err_set(&loop->result->err, code, "the sandbox could not be locked: %s%s%.300s%s%s%s",
	    step, subject.len > 0 ? " '" : "", subject.data, subject.len > 0 ? "'" : "",
	    error.sys_errno != 0 ? ": " : "",
	    error.sys_errno != 0 ? strerror(error.sys_errno) : "");
	hl_buf_done(&subject);
	loop->result->err.sys_errno = error.sys_errno;
	loop->result->how = RUNNER_LAUNCHER_ERROR;
	loop->is_over = true;
}

static void
on_exit(struct session_loop *loop, const struct runner_frame *frame)
{
	struct session_result *result = loop->result;
	struct runner_exit ended;
	struct hl_err ignored;

	if (runner_exit_get(frame, &ended, &ignored) != 0) {
		fault(loop, HLB_01, "the runner sent a malformed EXIT frame");
		return;
	}
	result->how = ended.how;
	result->code = ended.code;
	result->signal = ended.signal;
	result->user_us = ended.user_us;
	result->system_us = ended.system_us;
	result->max_rss_kib = ended.max_rss_kib;
	if (ended.how == RUNNER_LAUNCHER_ERROR) {
		struct hl_buf subject;
		hl_buf_init(&subject, 4096);
		hl_buf_printable(&subject, ended.subject, strlen(ended.subject));
		hl_err_set(&result->err, ended.code == 127 ? HLB_04 : HLB_05,
		    "cannot start '%.300s': %s", subject.data,
		    ended.sys_errno != 0                 ? strerror(ended.sys_errno)
		    : strchr(ended.subject, '/') != NULL ? "no such program inside"
							 : "not found in PATH");
		hl_buf_done(&subject);
	}
	loop->has_exit = true;
}

/* Nothing to do: EXIT of a call that is alone is the end of everything. */
static void
on_closed(struct session_loop *loop, const struct runner_frame *frame)
{
	(void)loop;
	(void)frame;
}

static void
on_window(struct session_loop *loop, const struct runner_frame *frame)
{
	struct hl_wire wire;

	hl_wire_init(&wire, frame->payload, frame->payload_len);
	uint8_t stream = hl_wire_u8(&wire);
	uint32_t bytes = hl_wire_u32(&wire);
	if (!hl_wire_is_complete(&wire) || stream != 0 ||
	    bytes > RUNNER_WINDOW - loop->stdin_credit) {
		fault(loop, HLB_01, "the runner sent a malformed WINDOW_ADD frame");
		return;
	}
	loop->stdin_credit += bytes;
}

static void
on_hello(struct session_loop *loop, const struct runner_frame *frame)
{
	struct hl_wire wire;

	hl_wire_init(&wire, frame->payload, frame->payload_len);
	uint32_t version = hl_wire_u32(&wire);
	hl_wire_u32(&wire); /* features: none are known to this version */
	hl_wire_u32(&wire); /* pid */
	if (!hl_wire_is_complete(&wire) || version != RUNNER_VERSION) {
		fault(loop, HLB_03,
		    "the runner in the sandbox speaks another version of the protocol");
		return;
	}
	loop->state = SESSION_HELLO;
}

/* A frame, the one state in which it may come (OUT and WINDOW_ADD: from there on), and what it
 * does. */
struct frame_rule {
	enum runner_type type;
	enum session_state from, to;
	void (*handle)(struct session_loop *loop, const struct runner_frame *frame);
};

static const struct frame_rule rules[] = {
	{ RUNNER_HELLO, SESSION_MAGIC, SESSION_MAGIC, on_hello },
	{ RUNNER_LOCKED, SESSION_HELLO, SESSION_HELLO, on_locked },
	{ RUNNER_ERROR, SESSION_HELLO, SESSION_RUNNING, on_error },
	{ RUNNER_STARTED, SESSION_LOCKED, SESSION_LOCKED, on_started },
	{ RUNNER_EXIT, SESSION_LOCKED, SESSION_RUNNING, on_exit },
	{ RUNNER_CLOSED, SESSION_LOCKED, SESSION_RUNNING, on_closed },
	{ RUNNER_OUT, SESSION_RUNNING, SESSION_RUNNING, session_loop_out },
	{ RUNNER_WINDOW_ADD, SESSION_RUNNING, SESSION_RUNNING, on_window },
};

void
session_frame(struct session_loop *loop, const struct runner_frame *frame)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(rules); i++) {
		const struct frame_rule *rule = &rules[i];
		if (rule->type != frame->type || loop->state < rule->from || loop->state > rule->to)
			continue;
		if (loop->has_exit != (rule->type == RUNNER_CLOSED))
			break;
		rule->handle(loop, frame);
		return;
	}
	fault(loop, HLB_01, "the runner sent a frame out of order");
}

void
session_stream_ended(struct session_loop *loop)
{
	if (loop->has_exit) {
		loop->is_over = true;
		return;
	}
	if (loop->kill_how != 0) {
		/* We asked for the end and got it, only without the answer. */
		loop->result->how = loop->kill_how;
		loop->is_over = true;
		return;
	}
	fault(loop, loop->state < SESSION_HELLO ? HLB_06 : HLB_07,
	    loop->state < SESSION_HELLO ? "the sandbox ended before its runner said hello"
					: "the sandbox ended while the command ran");
}

/* What the launcher's own exit status is to be. */
static int
exit_status(const struct session_result *result)
{
	switch (result->how) {
	case RUNNER_EXITED:
		return (int)(result->code & 0xff);
	case RUNNER_SIGNALED:
		return 128 + (int)(result->signal & 0x7f);
	case RUNNER_TIMED_OUT:
		return 124;
	case RUNNER_CANCELLED:
		return 130;
	case RUNNER_LAUNCHER_ERROR:
		return result->code == 126 || result->code == 127 ? (int)result->code : 125;
	case RUNNER_BACKEND_ERROR:
	case RUNNER_HOW_MAX:
		break;
	}
	return 125;
}

int
session_run(struct sandbox *sandbox, const struct session_call *call, int signal_fd,
    struct session_result *ret_result, struct hl_err *err)
{
	struct session_loop loop;

	memset(ret_result, 0, sizeof(*ret_result));
	session_loop_init(&loop, sandbox, call, signal_fd, ret_result);
	uint64_t begin = hl_now_mono_ms();
	runner_frame_put(&loop.to_runner, RUNNER_LOCK, 0, sandbox->lock.data, sandbox->lock.len);
	/* The runner works on its lock while we wait for what must be done before the command
	 * starts. */
	session_loop_send(&loop);
	int status = call->before_spawn != NULL ? call->before_spawn(call->context, err) : 0;
	if (status == 0) {
		struct runner_spawn spawn = *call->spawn;
		spawn.flags |= RUNNER_SPAWN_ALONE;
		runner_spawn_put(&loop.to_runner, 1, &spawn);
		status = hl_buf_check(&loop.to_runner, "the call", err);
	}
	if (status == 0)
		status = session_loop_run(&loop, err);
	session_loop_done(&loop);
	ret_result->wall_ms = hl_now_mono_ms() - begin;
	ret_result->status = exit_status(ret_result);
	return status;
}
