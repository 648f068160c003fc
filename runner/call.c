/*
 * A call from SPAWN to CLOSED. Nothing here waits: what is due is done by call_progress() whenever
 * the loop comes round, from what the task's processes have written into it.
 */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"
#include "runner/loop.h"

#include "base/banned.h"

enum {
	KILL_PAUSE_MS = 2, /* between two walks through a tree that does not end, doubled up to */
	KILL_PAUSE_MAX_MS = 64
};

void
call_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The command's ends. */
static void
close_theirs(struct task *task)
{
	for (int i = 0; i < 3; i++) {
		const int fd = task->stdio[i];
		call_close_fd(&task->stdio[i]);
		for (int k = i + 1; k < 3; k++) /* one terminal, or MERGED */
			if (task->stdio[k] == fd)
				task->stdio[k] = -1;
	}
	call_close_fd(&task->state_text_fd);
	call_close_fd(&task->state_fd);
}

/* Its environment is wiped. */
static void
forget_spawn(struct call *call)
{
	runner_spawn_done(&call->spawn);
	call->spawn = (struct runner_spawn){ 0 };
	free(call->cwd);
	call->cwd = NULL;
}

/* Field by field: the stacks are many pages that nobody has touched yet. */
void
call_reset(struct call *call, uint32_t channel)
{
	struct task *task = &call->task;

	call->channel = channel;
	call->state = CALL_FREE;
	call->supervisor = 0;
	call->early_signals = 0;
	call->has_ended = call->is_empty = call->has_immortals = false;
	call->killed = (enum runner_how)0;
	call->term_until_ms = 0;
	call->is_ending = call->is_draining = call->needs_room = false;
	call->out_fd[0] = call->out_fd[1] = call->stdin_fd = call->terminal_fd = -1;
	call->state_text_fd = call->state_fd = -1;
	call->owed[0] = call->owed[1] = 0;
	call->is_wide[0] = call->is_wide[1] = false;
	call->out_window[0] = call->out_window[1] = call->stdin_window = RUNNER_WINDOW;
	call->takes_stdin = call->stdin_ended = false;
	hl_buf_init(&call->stdin_bytes, RUNNER_WINDOW + 1); /* and a terminal's end of input */
	hl_buf_init(&call->state_text, RUNNER_STATE_MAX);
	hl_buf_init(&call->state_out, RUNNER_STATE_MAX);
	task->stdio[0] = task->stdio[1] = task->stdio[2] = -1;
	task->state_text_fd = task->state_fd = task->scope_fd = -1;
	task->phase = TASK_STARTING;
	task->failure = (struct task_failure){ 0 };
	task->pid = 0;
	task->usage = (struct usage){ 0 };
	task->reaped = 0;
}

/* Everything of it but what the processes have. */
void
call_close(struct call *call)
{
	close_theirs(&call->task);
	for (int i = 0; i < 2; i++)
		call_close_fd(&call->out_fd[i]);
	call_close_fd(&call->stdin_fd);
	call_close_fd(&call->terminal_fd);
	hl_buf_done_secret(&call->stdin_bytes);
	state_close(call);
	forget_spawn(call);
}

/* ------------------------------------------------------------------------------------------------
 * Start
 */
int
call_raise_fd(int fd)
{
	if (fd != RUNNER_STATE_TEXT_FD && fd != RUNNER_STATE_FD)
		return fd;
	int raised = fcntl(fd, F_DUPFD_CLOEXEC, RUNNER_STATE_FD + 1);
	close(fd);
	return raised;
}

int
call_make_pipe(int *ret_ours, int *ret_theirs, int our_end)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	*ret_ours = ends[our_end];
	*ret_theirs = call_raise_fd(ends[1 - our_end]);
	if (*ret_theirs < 0)
		return -1;
	return fcntl(*ret_ours, F_SETFL, O_NONBLOCK);
}

static int
open_terminal(struct call *call)
{
	struct task *task = &call->task;
	int slave;

	if (terminal_open(&call->out_fd[0], &slave) != 0)
		return -1;
	task->stdio[0] = task->stdio[1] = task->stdio[2] = slave;
	return terminal_resize(call->out_fd[0], call->spawn.rows, call->spawn.columns);
}

static int
open_pipes(struct call *call)
{
	struct task *task = &call->task;
	const bool is_merged = (call->flags & RUNNER_SPAWN_MERGED) != 0;

	if ((call->flags & RUNNER_SPAWN_PIPES) == 0) {
		if (call_make_pipe(&call->out_fd[0], &task->stdio[1], 0) != 0)
			return -1;
		if (!is_merged && call_make_pipe(&call->out_fd[1], &task->stdio[2], 0) != 0)
			return -1;
	}
	if (is_merged)
		task->stdio[2] = task->stdio[1];
	if (task->stdio[1] < 0 || task->stdio[2] < 0) {
		errno = EMFILE; /* as they came: pipes.c */
		return -1;
	}
	if ((call->flags & RUNNER_SPAWN_STDIN) != 0)
		return call_make_pipe(&call->stdin_fd, &task->stdio[0], 1);
	return 0;
}

static int
call_open(struct call *call)
{
	struct task_failure *failure = &call->task.failure;
	int status = 0;

	failure->subject = "state";
	if (state_open(call) != 0) {
		status = -1;
	} else if ((call->flags & RUNNER_SPAWN_PTY) != 0) {
		failure->subject = "terminal";
		status = open_terminal(call);
	} else if ((call->flags & RUNNER_SPAWN_INHERIT) == 0) {
		failure->subject = "pipe";
		status = open_pipes(call);
	}
	if (status != 0) {
		failure->step = TASK_STEP_STDIO;
		failure->sys_errno = errno;
	}
	return status;
}

static void
start_alone(struct call *call)
{
	struct task *task = &call->task;
	unsigned long flags = CLONE_VM | CLONE_VFORK | SIGCHLD;

	long pid = hl_raw_clone(flags, task->child_stack + sizeof(task->child_stack), NULL,
	    child_main, task);
	if (pid < 0)
		task->failure = (struct task_failure){ TASK_STEP_CLONE, (int)-pid, "process" };
	if (pid > 0)
		task->pid = (pid_t)pid;
	if (pid > 0 && task->failure.step != TASK_STEP_FINE)
		waitpid((pid_t)pid, NULL, __WALL);
	task->phase = task->failure.step == TASK_STEP_FINE ? TASK_RUNNING : TASK_FAILED;
}

static void
start_supervised(struct call *call)
{
	struct task *task = &call->task;
	unsigned long flags = CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD;

	long pid = hl_raw_clone(flags, task->supervisor_stack + sizeof(task->supervisor_stack),
	    NULL, supervisor_main, task);
	if (pid < 0) {
		task->failure = (struct task_failure){ TASK_STEP_CLONE, (int)-pid, "process" };
		task->phase = TASK_FAILED;
		return;
	}
	call->supervisor = (pid_t)pid;
}

void
call_start(struct init *init, struct call *call, struct runner_spawn *spawn)
{
	struct task *task = &call->task;

	call->spawn = *spawn;
	call->cwd = strdup(spawn->cwd);
	call->spawn.cwd = call->cwd;
	call->flags = spawn->flags;
	call->was_used = true;
	call->state = CALL_STARTING;
	call->tree = (call->flags & RUNNER_SPAWN_ALONE) != 0 ? TREE_ALONE : TREE_SUPERVISED;
	call->takes_stdin = (call->flags & RUNNER_SPAWN_STDIN) != 0;
	if ((call->flags & RUNNER_SPAWN_STATE) != 0)
		hl_strv_addf(&call->spawn.env, "BASH_ENV=/proc/self/fd/%d", RUNNER_STATE_TEXT_FD);
	task->spawn = &call->spawn;
	task->runner = getpid();
	task->wake_fd = init->wake_fd;
	task->scope_fd = (call->flags & RUNNER_SPAWN_SCOPED) != 0 ? init->scope_fd : -1;
	if (call->spawn.env.failed || call->cwd == NULL) {
		task->failure = (struct task_failure){ TASK_STEP_CLONE, ENOMEM, "memory" };
		task->phase = TASK_FAILED;
	} else if (call_open(call) != 0) {
		task->phase = TASK_FAILED;
	} else {
		task->failure = (struct task_failure){ 0 };
		if (call->tree == TREE_ALONE)
			start_alone(call);
		else
			start_supervised(call);
	}
}

/* ------------------------------------------------------------------------------------------------
 * On the way
 */
void
call_signal(struct call *call, int number)
{
	if (call->state == CALL_STARTING)
		call->early_signals |= UINT64_C(1) << (number - 1);
	if (call->state != CALL_RUNNING || call->has_ended || call->task.pid <= 1 ||
	    __atomic_load_n(&call->task.phase, __ATOMIC_ACQUIRE) >= TASK_ENDED)
		return;
	/* A group without members has ended: nothing to tell. The leader's number is not another's
	 * before it is reaped, and we or its supervisor tell that. */
	if ((call->flags & RUNNER_SPAWN_PTY) != 0)
		terminal_signal(call->out_fd[0], number);
	else
		kill(-call->task.pid, number);
}

void
call_kill(struct init *init, struct call *call, enum runner_how how)
{
	if (call->killed != 0 || call->state == CALL_FREE)
		return;
	call->killed = how;
	call->term_until_ms = init_now_ms() + RUNNER_GRACE_MS;
	if (call->state != CALL_STARTING && !call->is_empty)
		tree_signal(init, call, SIGTERM);
}

struct call *
call_of_supervisor(const struct init *init, pid_t pid)
{
	for (uint32_t i = 0; i < init->calls_len; i++)
		if (init->calls[i].supervisor == pid)
			return &init->calls[i];
	return NULL;
}

/* A supervisor that ends before its call is empty was killed; what it had is ours now. */
void
call_lost_supervisor(struct call *call)
{
	int phase = __atomic_load_n(&call->task.phase, __ATOMIC_ACQUIRE);

	if (phase == TASK_EMPTY || phase == TASK_FAILED)
		return;
	call->tree = TREE_ORPHANED;
	if (phase == TASK_ENDED)
		call->has_ended = true;
}

static void
begin_ending(struct call *call, uint64_t now)
{
	call->term_until_ms = 0;
	if (call->is_ending || call->is_empty)
		return;
	call->is_ending = true;
	call->kill_pause_ms = KILL_PAUSE_MS;
	call->kill_seen = __atomic_load_n(&call->task.reaped, __ATOMIC_RELAXED);
	call->give_up_ms = now + RUNNER_GRACE_MS;
	call->next_kill_ms = now;
	/* In the middle of an exec that does not end: see child_main. */
	if (call->state == CALL_STARTING && call->tree == TREE_SUPERVISED && call->supervisor > 0)
		kill(call->supervisor, SIGKILL);
}

/* KILL again and again, with longer pauses, until nothing is left or nothing changes. */
static void
go_on_ending(struct init *init, struct call *call, uint64_t now)
{
	uint32_t reaped = __atomic_load_n(&call->task.reaped, __ATOMIC_RELAXED);

	if (!call->is_ending || call->is_empty || now < call->next_kill_ms)
		return;
	if (reaped != call->kill_seen) {
		call->kill_seen = reaped;
		call->give_up_ms = now + RUNNER_GRACE_MS;
	} else if (now >= call->give_up_ms) {
		call->has_immortals = true;
		call->is_empty = true;
		return;
	}
	tree_signal(init, call, SIGKILL);
	call->next_kill_ms = now + call->kill_pause_ms;
	if (call->kill_pause_ms < KILL_PAUSE_MAX_MS)
		call->kill_pause_ms *= 2;
}

uint64_t
call_due_ms(const struct call *call)
{
	if (call->state == CALL_FREE || call->is_empty)
		return UINT64_MAX;
	if (call->is_ending)
		return call->next_kill_ms;
	return call->term_until_ms != 0 ? call->term_until_ms : UINT64_MAX;
}

/* ------------------------------------------------------------------------------------------------
 * Ends
 */
static void
put_closed(struct init *init, struct call *call)
{
	runner_frame_put(&init->out, RUNNER_CLOSED, call->channel, NULL, 0);
	call_close(call);
	/* What is still there must not live beside another call. */
	if (call->has_immortals)
		init->state = INIT_OVER;
	/* Where there will be no other call the host need not say so. */
	init->is_done = init->is_alone;
	call_reset(call, call->channel);
}

/* The call never began: how and why, in the place of STARTED. A control that cannot be applied ends
 * everything; what was missing for this call alone (a program, a descriptor, a process) does not.
 */
static void
refuse(struct init *init, struct call *call)
{
	const struct task_failure *failure = &call->task.failure;
	struct runner_exit exit = { .how = RUNNER_LAUNCHER_ERROR,
		.code = 126,
		.sys_errno = failure->sys_errno,
		.subject = failure->subject };
	const struct runner_error error = { .step = failure->step == TASK_STEP_SCOPE
							? CONFINE_STEP_LANDLOCK
							: CONFINE_STEP_RLIMITS,
		.code = HLD_01,
		.sys_errno = failure->sys_errno,
		.subject = failure->subject };

	if (failure->step == TASK_STEP_RLIMIT || failure->step == TASK_STEP_SCOPE) {
		init_fault(init, &error);
		return;
	}
	if (failure->step == TASK_STEP_EXEC && failure->sys_errno == 0)
		exit.code = 127;
	if (call->killed != 0)
		exit = (struct runner_exit){ .how = call->killed };
	runner_exit_put(&init->out, call->channel, &exit);
	put_closed(init, call);
}

static void
put_exit(struct init *init, struct call *call)
{
	const struct task *task = &call->task;
	struct runner_exit exit = { .user_us = task->usage.user_us,
		.system_us = task->usage.system_us,
		.max_rss_kib = task->usage.max_rss_kib,
		.state = state_kept(call),
		.has_left = !call->is_empty };

	if (!call->has_ended) {
		/* Killed by us, after its supervisor was. */
		exit.how = RUNNER_SIGNALED;
		exit.signal = SIGKILL;
	} else if (WIFSIGNALED(task->status)) {
		exit.how = RUNNER_SIGNALED;
		exit.signal = (uint32_t)WTERMSIG(task->status);
	} else {
		exit.how = RUNNER_EXITED;
		exit.code = (uint32_t)WEXITSTATUS(task->status);
	}
	if (call->killed != 0)
		exit.how = call->killed;
	runner_exit_put(&init->out, call->channel, &exit);
	call->state = CALL_LEFT;
	/* Nobody is left to take input, and it is nobody's any more. */
	call->takes_stdin = false;
	hl_buf_done_secret(&call->stdin_bytes);
	call_close_fd(&call->stdin_fd);
}

/* A terminal that nobody has open says that it has ended. A command that closes its own, as many do
 * before they exit, is to find it there again (/dev/tty), and not to be hung up. */
static void
keep_terminal(struct call *call)
{
	int *stdio = call->task.stdio;

	if ((call->flags & RUNNER_SPAWN_PTY) == 0)
		return;
	call->terminal_fd = stdio[0];
	stdio[0] = stdio[1] = stdio[2] = -1;
}

static void
started(struct init *init, struct call *call)
{
	const uint32_t pid = (uint32_t)call->task.pid;
	const unsigned char payload[4] = { (unsigned char)(pid & 0xff),
		(unsigned char)(pid >> 8 & 0xff), (unsigned char)(pid >> 16 & 0xff),
		(unsigned char)(pid >> 24 & 0xff) };

	keep_terminal(call);
	close_theirs(&call->task);
	forget_spawn(call);
	runner_frame_put(&init->out, RUNNER_STARTED, call->channel, payload, sizeof(payload));
	call->state = CALL_RUNNING;
	for (int number = 1; number <= 64; number++)
		if ((call->early_signals >> (number - 1) & 1) != 0)
			call_signal(call, number);
	if (call->killed != 0)
		tree_signal(init, call, SIGTERM);
}

/* What the supervisor has written. False when the call is over by it. */
static bool
look_at_task(struct init *init, struct call *call)
{
	int phase = __atomic_load_n(&call->task.phase, __ATOMIC_ACQUIRE);
	/* Its last words count when it is gone: its stack is not used any more. */
	bool is_gone = call->supervisor == 0;

	if (call->state == CALL_STARTING) {
		if (phase == TASK_FAILED && is_gone) {
			refuse(init, call);
			return false;
		}
		if (phase == TASK_STARTING || phase == TASK_FAILED) {
			if (call->tree != TREE_ORPHANED || !call->is_empty)
				return true;
			/* Killed before it could say how it went. Without a failure the command may
			 * have been what killed it: what may have run is never told as refused. */
			if (call->task.failure.step != TASK_STEP_FINE) {
				refuse(init, call);
				return false;
			}
		}
		started(init, call);
	}
	if (call->tree == TREE_SUPERVISED) {
		/* Empty, and the supervisor still on its way out: not yet over, or it would be told
		 * as if it had left something behind. */
		bool is_over = phase == TASK_EMPTY && is_gone;
		call->has_ended = call->has_ended || phase == TASK_ENDED || is_over;
		call->is_empty = call->is_empty || is_over;
	}
	return true;
}

/* Before it could have written all of its state. */
static bool
was_killed(const struct call *call)
{
	return !call->has_ended ||
	       (WIFSIGNALED(call->task.status) && WTERMSIG(call->task.status) == SIGKILL);
}

/* The command is over, and with it, unless it may leave something, its tree. */
static bool
may_exit(const struct call *call)
{
	bool may_leave = (call->flags & RUNNER_SPAWN_LEAVE) != 0 && call->killed == 0;

	return call->is_empty || (call->has_ended && may_leave);
}

void
call_progress(struct init *init, struct call *call, uint64_t now)
{
	call->needs_room = false;
	if (call->state == CALL_FREE || !look_at_task(init, call))
		return;
	if (call->tree == TREE_ORPHANED)
		begin_ending(call, now);
	if (call->has_ended && !may_exit(call) && call->killed == 0)
		begin_ending(call, now);
	if (call->term_until_ms != 0 && now >= call->term_until_ms)
		begin_ending(call, now);
	go_on_ending(init, call, now);
	if (call->state == CALL_RUNNING && may_exit(call)) {
		if (!call->is_draining) {
			call_close_fd(&call->terminal_fd);
			output_begin_drain(call);
			state_finish(call, was_killed(call));
		}
		if (!output_drain(init, call) || !state_send(init, call))
			return;
		put_exit(init, call);
		call->is_draining = false;
		if (call->is_empty) {
			put_closed(init, call);
			return;
		}
	}
	if (call->state == CALL_LEFT && call->is_empty) {
		if (!call->is_draining)
			output_begin_drain(call);
		if (output_drain(init, call))
			put_closed(init, call);
	}
}
