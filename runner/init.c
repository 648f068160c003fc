/*
 * What each frame means and when it may come: the table at the end is the protocol. Whatever it
 * does not allow ends the stream with a typed error, and with the stream the sandbox.
 */
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"
#include "runner/loop.h"

#include "base/banned.h"

#ifndef SYS_landlock_create_ruleset
# define SYS_landlock_create_ruleset 444
#endif

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

/* Landlock's version says what it can (landlock_create_ruleset(2)): scopes since ABI 6, Linux 6.12.
 */
static bool
has_scopes(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* VERSION */) >= 6;
}

void
init_hello(struct init *init)
{
	struct hl_buf payload;

	init->features =
	    (getpid() == 1 ? RUNNER_FEATURE_PID1 : 0) | (has_scopes() ? RUNNER_FEATURE_SCOPES : 0);
	hl_buf_init(&payload, 64);
	hl_wire_put_u32(&payload, RUNNER_VERSION);
	hl_wire_put_u32(&payload, init->features);
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
	/* A group that cannot be entered as it is says EOPNOTSUPP as well (cgroups(7)). */
	bool is_missing = failure->sys_errno == ENOSYS || (failure->sys_errno == EOPNOTSUPP &&
							      failure->step != CONFINE_STEP_GROUPS);

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
		{ CONFINE_IDENTITY | CONFINE_SEEN_IDENTITY | CONFINE_SEEN_NOT_ROOT, "ids, " },
		{ CONFINE_CAPS | CONFINE_SEEN_CAPS, "capabilities, " },
		{ CONFINE_NO_NEW_PRIVS, "no_new_privs, " },
		{ CONFINE_SECCOMP | CONFINE_SEEN_SECCOMP, "filter, " },
		{ CONFINE_MOUNTS | CONFINE_SEEN_MOUNTS, "mounts, " },
		{ CONFINE_SEEN_KEPT_ID, "user namespace, " },
		{ CONFINE_SEEN_LIMITS | CONFINE_SEEN_NPROC, "limits, " },
		{ CONFINE_SEEN_ENV, "environment, " },
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
	uint32_t read_back = 0;
	struct hl_err err;
	int keep_fd = init->is_stdio ? STDERR_FILENO : RUNNER_STREAM_FD;

	if (init->pass_fd >= 0)
		keep_fd = init->pass_fd;
	if (confine_decode(frame->payload, frame->payload_len, &confinement, &err) != 0) {
		init_broken(init, err.msg);
		return;
	}
	if (confine_apply(&confinement, &init->early, keep_fd, &failure) != 0 ||
	    confine_verify(&confinement, keep_fd, &read_back, &failure) != 0) {
		const struct runner_error error = { .step = failure.step,
			.code = lock_code(&failure),
			.sys_errno = failure.sys_errno,
			.subject = failure.subject };
		init_fault(init, &error);
	} else {
		struct hl_buf payload;
		hl_buf_init(&payload, 512);
		put_verified(&payload, read_back);
		runner_frame_put(&init->out, RUNNER_LOCKED, 0, payload.data, payload.len);
		hl_buf_done(&payload);
		init->state = INIT_LOCKED;
		make_signal_fd(init);
	}
	confinement_done(&confinement);
}

/* ------------------------------------------------------------------------------------------------
 * Calls
 */

/* What the first call of its kind needs, made once. */
static bool
prepare_calls(struct init *init, uint32_t flags)
{
	const struct {
		uint64_t handled_fs, handled_net, scoped;
	} scopes = { .scoped = 3 /* abstract unix sockets, signals */ };
	struct runner_error error = { .code = HLD_01 };

	/* Without it no call would ever be known to have ended. */
	if (!init->had_call && !tree_can_reap()) {
		error.subject = "wait for processes";
		error.sys_errno = errno;
		init_fault(init, &error);
		return false;
	}
	if ((flags & RUNNER_SPAWN_ALONE) == 0 && init->wake_fd < 0) {
		/* Without it no tree could be ended. */
		error.subject = "the list of a process' children";
		error.sys_errno = ENOENT;
		if (tree_is_known()) {
			error.subject = "eventfd";
			init->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
			error.sys_errno = errno;
		}
		if (init->wake_fd < 0) {
			init_fault(init, &error);
			return false;
		}
	}
	if ((flags & RUNNER_SPAWN_SCOPED) != 0 && init->scope_fd < 0 &&
	    (init->features & RUNNER_FEATURE_SCOPES) != 0) {
		init->scope_fd =
		    (int)syscall(SYS_landlock_create_ruleset, &scopes, sizeof(scopes), 0);
		error.step = CONFINE_STEP_LANDLOCK;
		error.subject = "signal scope";
		error.sys_errno = errno;
		if (init->scope_fd < 0) {
			init_fault(init, &error);
			return false;
		}
	}
	return true;
}

static const char *
spawn_fault(const struct init *init, const struct runner_spawn *spawn)
{
	/* Its standard input and output are this stream. */
	if (init->is_stdio && (spawn->flags & RUNNER_SPAWN_INHERIT) != 0)
		return "SPAWN with the runner's own descriptors";
	if (init->is_alone || (init->had_call && (spawn->flags & RUNNER_SPAWN_ALONE) != 0))
		return "SPAWN beside a call that is alone";
	return NULL;
}

static void
on_spawn(struct init *init, struct call *call, const struct runner_frame *frame)
{
	struct runner_spawn spawn;
	struct hl_err err;

	init->wipe_in = true;
	if (runner_spawn_get(frame, &spawn, &err) != 0) {
		init_broken(init, "SPAWN");
		return;
	}
	const char *fault = spawn_fault(init, &spawn);
	if (fault == NULL && call->state_text.len > 0 && (spawn.flags & RUNNER_SPAWN_STATE) == 0)
		fault = "STATE for a call without it";
	if (fault == NULL && (spawn.flags & RUNNER_SPAWN_PIPES) != 0)
		fault = pipes_take(init, call, spawn.flags);
	if (fault != NULL)
		init_broken(init, fault);
	if (fault != NULL || !prepare_calls(init, spawn.flags)) {
		runner_spawn_done(&spawn);
		return;
	}
	init->had_call = true;
	init->is_alone = (spawn.flags & RUNNER_SPAWN_ALONE) != 0;
	call_start(init, call, &spawn);
	call_progress(init, call, init_now_ms());
}

static void
on_state(struct init *init, struct call *call, const struct runner_frame *frame)
{
	init->wipe_in = true;
	hl_buf_put(&call->state_text, frame->payload, frame->payload_len);
	if (call->state_text.failed)
		init_broken(init, "STATE past its maximum");
}

static void
on_stdin(struct init *init, struct call *call, const struct runner_frame *frame)
{
	if (!call->takes_stdin || call->stdin_ended || frame->payload_len > call->stdin_window) {
		init_broken(init, "STDIN that was not asked for");
		return;
	}
	stdin_put(init, call, frame->payload, frame->payload_len);
}

static void
on_stdin_eof(struct init *init, struct call *call, const struct runner_frame *frame)
{
	if (frame->payload_len != 0 || !call->takes_stdin || call->stdin_ended) {
		init_broken(init, "STDIN_EOF");
		return;
	}
	stdin_end(init, call);
}

static void
on_window(struct init *init, struct call *call, const struct runner_frame *frame)
{
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
on_signal(struct init *init, struct call *call, const struct runner_frame *frame)
{
	struct hl_wire wire;

	hl_wire_init(&wire, frame->payload, frame->payload_len);
	uint32_t number = hl_wire_u32(&wire);
	if (!hl_wire_is_complete(&wire) || number < 1 || number > 64) {
		init_broken(init, "SIGNAL");
		return;
	}
	call_signal(call, (int)number);
}

static void
on_resize(struct init *init, struct call *call, const struct runner_frame *frame)
{
	struct hl_wire wire;

	hl_wire_init(&wire, frame->payload, frame->payload_len);
	uint32_t rows = hl_wire_u32(&wire);
	uint32_t columns = hl_wire_u32(&wire);
	if (!hl_wire_is_complete(&wire) || rows > UINT16_MAX || columns > UINT16_MAX ||
	    (call->flags & RUNNER_SPAWN_PTY) == 0) {
		init_broken(init, "RESIZE");
		return;
	}
	/* One that is closed already has nobody to look at it. */
	if (call->out_fd[0] >= 0)
		(void)terminal_resize(call->out_fd[0], rows, columns);
}

static void
on_kill(struct init *init, struct call *call, const struct runner_frame *frame)
{
	if (frame->payload_len != 1 || frame->payload[0] == 0 ||
	    frame->payload[0] >= RUNNER_HOW_MAX) {
		init_broken(init, "KILL");
		return;
	}
	call_kill(init, call, (enum runner_how)frame->payload[0]);
}

/* What was on its way when the call ended. */
static void
on_late(struct init *init, struct call *call, const struct runner_frame *frame)
{
	(void)frame;
	if (!call->was_used)
		init_broken(init, "a frame for a call that is not there");
}

void
init_stop(struct init *init)
{
	for (uint32_t i = 0; i < init->calls_len; i++)
		call_kill(init, &init->calls[i], RUNNER_CANCELLED);
}

/* ------------------------------------------------------------------------------------------------
 * Which frame may come when
 */
struct call_rule {
	enum runner_type type;
	void (*handle[CALL_LEFT + 1])(struct init *init, struct call *call,
	    const struct runner_frame *frame);
};

/* By state: FREE, STARTING, RUNNING, LEFT. */
static const struct call_rule call_rules[] = {
	{ RUNNER_STATE, { on_state, NULL, NULL, NULL } },
	{ RUNNER_SPAWN, { on_spawn, NULL, NULL, NULL } },
	{ RUNNER_STDIN, { on_late, on_stdin, on_stdin, on_late } },
	{ RUNNER_STDIN_EOF, { on_late, on_stdin_eof, on_stdin_eof, on_late } },
	{ RUNNER_RESIZE, { on_late, on_resize, on_resize, on_late } },
	{ RUNNER_WINDOW_ADD, { on_late, on_window, on_window, on_window } },
	{ RUNNER_SIGNAL, { on_late, on_signal, on_signal, on_late } },
	{ RUNNER_KILL, { on_late, on_kill, on_kill, on_kill } },
};

static void
call_frame(struct init *init, const struct runner_frame *frame)
{
	struct call *call = &init->calls[frame->channel - 1];

	for (; init->calls_len < frame->channel; init->calls_len++)
		call_reset(&init->calls[init->calls_len], init->calls_len + 1);
	for (size_t i = 0; init->state == INIT_LOCKED && i < HL_ARRAY_SIZE(call_rules); i++)
		if (call_rules[i].type == frame->type &&
		    call_rules[i].handle[call->state] != NULL) {
			call_rules[i].handle[call->state](init, call, frame);
			return;
		}
	init_broken(init, "a frame out of order");
}

void
init_frame(struct init *init, const struct runner_frame *frame)
{
	const bool is_locked = init->state == INIT_LOCKED;

	if (frame->channel != 0) {
		call_frame(init, frame);
	} else if (frame->type == RUNNER_LOCK && !is_locked) {
		on_lock(init, frame);
	} else if (frame->type == RUNNER_PING && is_locked && frame->payload_len <= 8) {
		runner_frame_put(&init->out, RUNNER_PONG, 0, frame->payload, frame->payload_len);
	} else if (frame->type == RUNNER_GOODBYE && frame->payload_len == 0) {
		init->state = INIT_OVER;
	} else {
		init_broken(init, "a frame out of order");
	}
}
