/*
 * What each frame means and when it may come: the table below is the protocol. Whatever it does not
 * allow ends the stream with a typed error, and with the stream the sandbox.
 */
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"
#include "runner/loop.h"

#include "base/banned.h"

enum {
	EXIT_FAULT = 70
};

void
init_fault(struct init *init, const struct runner_error *error)
{
	runner_error_put(&init->out, error);
	init->exit_code = EXIT_FAULT;
	init->state = INIT_OVER;
}

void
init_broken(struct init *init, const char *what)
{
	const struct runner_error error = { .code = HLB_01, .subject = what };

	init_fault(init, &error);
}

void
init_hello(struct init *init)
{
	struct hl_buf payload;

	hl_buf_init(&payload, 64);
	hl_wire_put_u32(&payload, RUNNER_VERSION);
	hl_wire_put_u32(&payload, 0);
	hl_wire_put_u32(&payload, (uint32_t)getpid());
	hl_buf_put(&init->out, RUNNER_MAGIC, RUNNER_MAGIC_SIZE);
	runner_frame_put(&init->out, RUNNER_HELLO, 0, payload.data, payload.len);
	hl_buf_done(&payload);
}

static void
make_signal_fd(struct init *init)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	init->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (init->signal_fd < 0)
		init_broken(init, "signalfd");
}

/* A kernel that lacks the thing is told apart from a thing that failed. */
static uint32_t
lock_code(const struct confine_failure *failure)
{
	bool is_missing = failure->sys_errno == ENOSYS || failure->sys_errno == EOPNOTSUPP;

	return is_missing ? HLD_01 : HLB_02;
}

/* What was read back, by name: never more than was looked at. */
static void
put_verified(struct hl_buf *payload, uint32_t flags)
{
	static const struct {
		uint32_t flags;
		const char *name;
	} parts[] = {
		{ CONFINE_IDENTITY | CONFINE_SEEN_IDENTITY, "ids, " },
		{ CONFINE_CAPS | CONFINE_SEEN_CAPS, "capabilities, " },
		{ CONFINE_NO_NEW_PRIVS, "no_new_privs, " },
		{ CONFINE_SECCOMP | CONFINE_SEEN_SECCOMP, "filter, " },
		{ CONFINE_MOUNTS, "mounts, " },
	};
	struct hl_buf text;

	hl_buf_init(&text, 256);
	for (size_t i = 0; i < HL_ARRAY_SIZE(parts); i++)
		if ((flags & parts[i].flags) != 0)
			hl_buf_puts(&text, parts[i].name);
	hl_buf_puts(&text, "descriptors read back as asked");
	hl_wire_put_string(payload, text.data);
	hl_buf_done(&text);
}

static void
on_lock(struct init *init, const struct runner_frame *frame)
{
	struct confinement confinement;
	struct confine_failure failure = { 0 };
	struct hl_err err;
	int keep_fd = init->is_stdio ? STDERR_FILENO : RUNNER_STREAM_FD;

	if (confine_decode(frame->payload, frame->payload_len, &confinement, &err) != 0) {
		init_broken(init, err.msg);
		return;
	}
	if (confine_apply(&confinement, keep_fd, &failure) != 0 ||
	    confine_verify(&confinement, keep_fd, &failure) != 0) {
		const struct runner_error error = { .step = failure.step,
			.code = lock_code(&failure),
			.sys_errno = failure.sys_errno,
			.subject = failure.subject };
		init_fault(init, &error);
	} else {
		struct hl_buf payload;
		hl_buf_init(&payload, 512);
		put_verified(&payload, confinement.flags);
		runner_frame_put(&init->out, RUNNER_LOCKED, 0, payload.data, payload.len);
		hl_buf_done(&payload);
		init->state = INIT_LOCKED;
		make_signal_fd(init);
	}
	confinement_done(&confinement);
}

/* The call never began: how and why, in the place of STARTED. */
static void
refuse(struct init *init, const struct spawn_failure *failure)
{
	struct runner_exit exit = { .how = RUNNER_LAUNCHER_ERROR,
		.code = 126,
		.sys_errno = failure->sys_errno,
		.subject = failure->subject };
	struct runner_error error = { .step = CONFINE_STEP_RLIMITS,
		.code = HLD_01,
		.sys_errno = failure->sys_errno,
		.subject = failure->subject };

	switch (failure->step) {
	case SPAWN_EXEC:
		if (failure->sys_errno == 0)
			exit.code = 127;
		break;
	case SPAWN_CWD:
		break;
	case SPAWN_RLIMIT:
		init_fault(init, &error);
		return;
	case SPAWN_PIPES:
	case SPAWN_STDIO:
	case SPAWN_FINE:
		error.step = CONFINE_STEP_NONE;
		error.code = HLB_02;
		init_fault(init, &error);
		return;
	}
	runner_exit_put(&init->out, 1, &exit);
	init->state = INIT_IDLE;
}

static void
on_spawn(struct init *init, const struct runner_frame *frame)
{
	struct runner_spawn spawn;
	struct spawn_failure failure = { 0 };
	struct hl_err err;

	init->wipe_in = true;
	if (runner_spawn_get(frame, &spawn, &err) != 0) {
		init_broken(init, "SPAWN");
		return;
	}
	if (init->is_stdio && (spawn.flags & RUNNER_SPAWN_INHERIT) != 0) {
		/* Its standard input and output are this stream. */
		init_broken(init, "SPAWN with the runner's own descriptors");
	} else if (call_start(&init->call, &spawn, &failure) != 0) {
		refuse(init, &failure);
	} else {
		struct hl_buf payload;
		hl_buf_init(&payload, 16);
		hl_wire_put_u32(&payload, (uint32_t)init->call.pid);
		runner_frame_put(&init->out, RUNNER_STARTED, 1, payload.data, payload.len);
		hl_buf_done(&payload);
		init->state = INIT_RUNNING;
	}
	runner_spawn_done(&spawn);
}

static void
on_stdin(struct init *init, const struct runner_frame *frame)
{
	struct call *call = &init->call;

	if (!call->takes_stdin || call->stdin_ended || frame->payload_len > call->stdin_window) {
		init_broken(init, "STDIN that was not asked for");
		return;
	}
	stdin_put(init, frame->payload, frame->payload_len);
}

static void
on_stdin_eof(struct init *init, const struct runner_frame *frame)
{
	if (frame->payload_len != 0 || !init->call.takes_stdin) {
		init_broken(init, "STDIN_EOF");
		return;
	}
	init->call.stdin_ended = true;
	stdin_write(init);
}

static void
on_window(struct init *init, const struct runner_frame *frame)
{
	struct call *call = &init->call;
	struct hl_wire wire;

	hl_wire_init(&wire, frame->payload, frame->payload_len);
	uint8_t stream = hl_wire_u8(&wire);
	uint32_t bytes = hl_wire_u32(&wire);
	if (!hl_wire_is_complete(&wire) || stream < 1 || stream > 2 ||
	    bytes > RUNNER_WINDOW - call->out_window[stream - 1]) {
		init_broken(init, "WINDOW_ADD");
		return;
	}
	call->out_window[stream - 1] += bytes;
}

static void
on_signal(struct init *init, const struct runner_frame *frame)
{
	struct hl_wire wire;

	hl_wire_init(&wire, frame->payload, frame->payload_len);
	uint32_t number = hl_wire_u32(&wire);
	if (!hl_wire_is_complete(&wire) || number < 1 || number > 64) {
		init_broken(init, "SIGNAL");
		return;
	}
	/* A group without members has ended: nothing to tell. The leader is not reaped before its
	 * end is reported, so that the number is not another's. */
	if (!init->call.has_ended)
		kill(-init->call.pid, (int)number);
}

static void
on_kill(struct init *init, const struct runner_frame *frame)
{
	if (frame->payload_len != 1 || frame->payload[0] == 0 ||
	    frame->payload[0] >= RUNNER_HOW_MAX) {
		init_broken(init, "KILL");
		return;
	}
	init_kill(init, (enum runner_how)frame->payload[0]);
}

void
init_kill(struct init *init, enum runner_how how)
{
	struct call *call = &init->call;

	if (init->state == INIT_RUNNING && call->killed == 0) {
		call->killed = how;
		call->deadline_ms = init_now_ms() + RUNNER_GRACE_MS;
		tree_signal(SIGTERM);
		tree_signal(SIGCONT); /* a stopped one does not hear TERM */
	} else if (init->state == INIT_LOCKED) {
		const struct runner_exit exit = { .how = how };
		runner_exit_put(&init->out, 1, &exit);
		init->state = INIT_IDLE;
	}
}

static void
on_goodbye(struct init *init, const struct runner_frame *frame)
{
	(void)frame;
	init->state = INIT_OVER;
}

/* What was on its way when the call ended. */
static void
on_late(struct init *init, const struct runner_frame *frame)
{
	(void)init;
	(void)frame;
}

struct frame_rule {
	enum runner_type type;
	uint32_t channel;
	enum init_state state;
	void (*handle)(struct init *init, const struct runner_frame *frame);
};

static const struct frame_rule rules[] = {
	{ RUNNER_LOCK, 0, INIT_WAITS, on_lock },
	{ RUNNER_SPAWN, 1, INIT_LOCKED, on_spawn },
	{ RUNNER_SPAWN, 1, INIT_IDLE, on_spawn },
	{ RUNNER_STDIN, 1, INIT_RUNNING, on_stdin },
	{ RUNNER_STDIN, 1, INIT_IDLE, on_late },
	{ RUNNER_STDIN_EOF, 1, INIT_RUNNING, on_stdin_eof },
	{ RUNNER_STDIN_EOF, 1, INIT_IDLE, on_late },
	{ RUNNER_WINDOW_ADD, 1, INIT_RUNNING, on_window },
	{ RUNNER_WINDOW_ADD, 1, INIT_IDLE, on_late },
	{ RUNNER_SIGNAL, 1, INIT_RUNNING, on_signal },
	{ RUNNER_SIGNAL, 1, INIT_IDLE, on_late },
	{ RUNNER_KILL, 1, INIT_LOCKED, on_kill },
	{ RUNNER_KILL, 1, INIT_RUNNING, on_kill },
	{ RUNNER_KILL, 1, INIT_IDLE, on_late },
	{ RUNNER_GOODBYE, 0, INIT_WAITS, on_goodbye },
	{ RUNNER_GOODBYE, 0, INIT_LOCKED, on_goodbye },
	{ RUNNER_GOODBYE, 0, INIT_RUNNING, on_goodbye },
	{ RUNNER_GOODBYE, 0, INIT_IDLE, on_goodbye },
};

void
init_frame(struct init *init, const struct runner_frame *frame)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(rules); i++)
		if (rules[i].type == frame->type && rules[i].channel == frame->channel &&
		    rules[i].state == init->state) {
			rules[i].handle(init, frame);
			return;
		}
	init_broken(init, "a frame out of order");
}

void
init_call_done(struct init *init)
{
	struct call *call = &init->call;
	struct runner_exit exit = { .user_us = call->usage.user_us,
		.system_us = call->usage.system_us,
		.max_rss_kib = call->usage.max_rss_kib };

	if (WIFSIGNALED(call->status)) {
		exit.how = RUNNER_SIGNALED;
		exit.signal = (uint32_t)WTERMSIG(call->status);
	} else {
		exit.how = RUNNER_EXITED;
		exit.code = (uint32_t)WEXITSTATUS(call->status);
	}
	if (call->killed != 0)
		exit.how = call->killed;
	runner_exit_put(&init->out, 1, &exit);
	call_close(call);
	/* What is still there must not live beside another call. */
	init->state = call->has_immortals ? INIT_OVER : INIT_IDLE;
}
