/*
 * The runner's own state, shared by its files. Private to runner/.
 *
 * One poll loop: frames in (they arrive in loop.c, mean something in init.c), calls side by side
 * (call.c starts and ends them, output.c and state.c move their bytes), and the duties of an init
 * (tree.c). What runs beside the loop, on memory shared with it, is a supervisor per call
 * (supervisor.c) and a command before its exec (child.c): raw system calls only, and nothing of the
 * loop's is written by them but their struct task.
 */
#ifndef HL_RUNNER_LOOP_H
#define HL_RUNNER_LOOP_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "confine/confine.h"
#include "runner/runner.h"

enum init_state {
	INIT_WAITS,  /* for LOCK */
	INIT_LOCKED, /* calls may come */
	INIT_OVER    /* everything is to end */
};

/* ------------------------------------------------------------------------------------------------
 * A command on its way to its exec, and its supervisor. Written by the processes that run them,
 * read by the loop.
 */
enum task_step {
	TASK_STEP_FINE,
	TASK_STEP_CLONE,
	TASK_STEP_PROCESS, /* signals, umask, process group, who ends it and what it leaves */
	TASK_STEP_STDIO,
	TASK_STEP_TERMINAL,
	TASK_STEP_RLIMIT,
	TASK_STEP_CWD,
	TASK_STEP_SCOPE,
	TASK_STEP_EXEC
};

struct task_failure {
	enum task_step step;
	int sys_errno;
	const char *subject;
};

enum task_phase {
	TASK_STARTING, /* no exec yet */
	TASK_FAILED,   /* no exec: see failure; nothing is left */
	TASK_RUNNING,
	TASK_ENDED, /* the command did; others of its tree live */
	TASK_EMPTY  /* nothing is left */
};

/* Sums over all processes that were reaped, or that those reaped. */
struct usage {
	uint64_t user_us, system_us, max_rss_kib;
};

enum {
	TASK_PATH_SIZE = 4096,
	TASK_CHILD_STACK = 16384,
	TASK_SUPERVISOR_STACK = 4096,
	TASK_SIGSET_SIZE = 8 /* of a raw rt_sigprocmask(2) */
};

struct task {
	/* Set before it starts. */
	const struct runner_spawn *spawn;
	int stdio[3]; /* -1: inherited, or /dev/null for input */
	int state_text_fd, state_fd;
	int scope_fd; /* Landlock ruleset of the call lock; -1 = none */
	int wake_fd;  /* of the loop */
	pid_t runner;
	/* Results. phase is the one field that is read while others may be written: it is stored
	 * last (release) and loaded first (acquire). */
	int phase;
	struct task_failure failure;
	pid_t pid;  /* of the command; leader of its process group */
	int status; /* of wait4(2) */
	struct usage usage;
	uint32_t reaped;
	char path[TASK_PATH_SIZE]; /* of the program that was tried */
	char supervisor_stack[TASK_SUPERVISOR_STACK] __attribute__((aligned(16)));
	char child_stack[TASK_CHILD_STACK] __attribute__((aligned(16)));
};

/* child.c: the command's side, from clone to exec. Argument: its task. */
int child_main(void *argument);
/* supervisor.c: starts the task's command and reaps its tree. Argument: the task. */
int supervisor_main(void *argument);
void usage_add(struct usage *usage, const void *rusage);

/* ------------------------------------------------------------------------------------------------
 * A call
 */
enum call_state {
	CALL_FREE, /* STATE may have come */
	CALL_STARTING,
	CALL_RUNNING, /* until EXIT */
	CALL_LEFT     /* until CLOSED */
};

/* Where the processes of a call are found. */
enum call_tree {
	TREE_SUPERVISED, /* below its supervisor */
	TREE_ALONE,      /* all there are below us */
	TREE_ORPHANED    /* the supervisor was killed: our children but the other supervisors */
};

struct call {
	uint32_t channel;
	enum call_state state;
	bool was_used; /* frames that come late are expected */
	uint32_t flags;
	enum call_tree tree;
	struct runner_spawn spawn; /* until the exec */
	char *cwd;                 /* spawn's, which was borrowed from the frame */
	struct task task;
	pid_t supervisor; /* 0: none, or reaped */
	uint64_t early_signals;

	bool has_ended; /* the command */
	bool is_empty;  /* nothing of the call is left, or has_immortals */
	bool has_immortals;
	enum runner_how killed; /* KILL came, and why; 0 = not */
	uint64_t term_until_ms; /* killed: then TERM becomes KILL; 0 = did */
	bool is_ending;         /* KILL goes to the tree until it is empty */
	uint64_t next_kill_ms, give_up_ms, kill_pause_ms;
	uint32_t kill_seen; /* task.reaped when last looked at */

	int out_fd[2];   /* -1: closed, or inherited; [0] is the terminal of a PTY call */
	bool is_wide[2]; /* its pipe was made larger */
	int terminal_fd; /* the command's end of it, until it has ended */
	uint32_t out_window[2];
	bool is_draining;
	bool needs_room;  /* there is more to be said than fits in what waits for the host */
	uint32_t owed[2]; /* is_draining: bytes to be sent before EXIT or CLOSED */
	int stdin_fd;
	struct hl_buf stdin_bytes; /* not yet taken by the command */
	uint32_t stdin_window;
	bool takes_stdin; /* frames of it are expected */
	bool stdin_ended;

	struct hl_buf state_text; /* of STATE frames before SPAWN */
	int state_text_fd;        /* where a pipe has to be filled: our end */
	struct hl_buf state_out;  /* what the shell wrote */
	size_t state_sent;
	int state_fd;
	bool state_is_lost;
};

struct init {
	int in_fd, out_fd; /* the stream */
	int pass_fd;       /* of pipes, beside it; -1 = none */
	bool is_stdio;
	struct confine_early early; /* what was begun before the lock came */
	int signal_fd, wake_fd, scope_fd;
	uint32_t features;
	enum init_state state;
	int exit_code;
	struct hl_buf in, out;
	bool wipe_in;  /* in held a call's environment */
	bool wipe_out; /* out held a shell's state */
	unsigned rounds;
	bool had_call, is_alone; /* ALONE: there will be no other */
	bool is_done;       /* and it is over: what waits is sent, however slow the host reads */
	struct call *calls; /* RUNNER_CALLS_MAX, of which the first calls_len were ever used: */
	uint32_t calls_len; /* the pages of the others are not touched */
};

enum {
	/* More output is taken from commands only while less than this waits. */
	OUT_BUSY = 64 * 1024,
	OUT_ENOUGH = 256 * 1024
};

/* loop.c */
int init_run(struct init *init);
/* Of out what the stream takes now. */
void init_write(struct init *init);
uint64_t init_now_ms(void);

/* init.c */
void init_hello(struct init *init);
void init_frame(struct init *init, const struct runner_frame *frame);
/* The other side broke the protocol, or a lock failed: says so and ends everything. */
void init_fault(struct init *init, const struct runner_error *error);
void init_broken(struct init *init, const char *what);
/* The engine stops us: every call is cancelled. */
void init_stop(struct init *init);

/* call.c */
/* Closes what is open and says so. */
void call_close_fd(int *fd);
/* A pipe whose far end is the command's: ours never blocks, the command's is an ordinary one, and
 * out of the way of the two numbers of a state. */
int call_make_pipe(int *ret_ours, int *ret_theirs, int our_end);
int call_raise_fd(int fd);
void call_reset(struct call *call, uint32_t channel);
/* Takes over *spawn. */
void call_start(struct init *init, struct call *call, struct runner_spawn *spawn);
void call_signal(struct call *call, int number);
/* TERM to the tree, KILL after the grace. */
void call_kill(struct init *init, struct call *call, enum runner_how how);
/* Does what is due: STARTED, the end of what is left, EXIT, CLOSED. */
void call_progress(struct init *init, struct call *call, uint64_t now_ms);
/* When progress is due without an event; UINT64_MAX = never. */
uint64_t call_due_ms(const struct call *call);
/* Its supervisor was reaped. */
void call_lost_supervisor(struct call *call);
void call_close(struct call *call);
/* NULL when it is no call's. */
struct call *call_of_supervisor(const struct init *init, pid_t pid);

/* pipes.c: those that SPAWN speaks of. NULL, or why they are not the call's; one for which no
 * number was free is -1. */
const char *pipes_take(const struct init *init, struct call *call, uint32_t flags);

/* output.c */
void output_read(struct init *init, struct call *call, int which);
/* What is there now is to be sent before the next end. */
void output_begin_drain(struct call *call);
/* Sends what is owed and fits. True when nothing is owed any more. */
bool output_drain(struct init *init, struct call *call);
void stdin_write(struct init *init, struct call *call);
void stdin_put(struct init *init, struct call *call, const unsigned char *bytes, uint32_t len);
void stdin_end(struct init *init, struct call *call);

/* state.c */
/* The descriptors of a STATE call, for the command. */
int state_open(struct call *call);
void state_text_write(struct call *call);
/* As read(2). */
ssize_t state_read(struct call *call);
/* The shell has ended, or was killed in the middle of a word: takes the rest. */
void state_finish(struct call *call, bool was_killed);
/* Sends what fits. True when all is sent. */
bool state_send(struct init *init, struct call *call);
enum runner_state_kept state_kept(const struct call *call);
void state_close(struct call *call);

/* terminal.c: master and slave. */
int terminal_open(int *ret_master, int *ret_slave);
int terminal_resize(int master, uint32_t rows, uint32_t columns);
void terminal_signal(int master, int number);
/* The character that means the end of input to this terminal; 0 = none. */
char terminal_end_of_input(int master);

/* tree.c */
/* False when this kernel does not tell a process' children. */
bool tree_is_known(void);
/* False when what is orphaned would not come to us. */
bool tree_prepare(void);
/* False, with errno, when the dead cannot be waited for: before there is a child. */
bool tree_can_reap(void);
void tree_signal(const struct init *init, const struct call *call, int number);
/* Takes the dead and tells the calls. */
void tree_reap(struct init *init);
/* KILL to everything, and wait until nothing is left. */
void tree_end(struct init *init);

#endif
