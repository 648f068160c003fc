/*
 * The runner's own state, shared by its files. Private to runner/.
 *
 * One process, one poll loop: frames in (frames arrive in loop.c, mean something in init.c), one
 * call at a time (call.c starts it, output.c moves its bytes), and the duties of an init (tree.c).
 */
#ifndef HL_RUNNER_LOOP_H
#define HL_RUNNER_LOOP_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "runner/runner.h"

enum init_state {
	INIT_WAITS,   /* for LOCK */
	INIT_LOCKED,  /* no call was made yet */
	INIT_RUNNING, /* a call */
	INIT_IDLE,    /* a call has ended */
	INIT_OVER     /* everything is to end */
};

/* Sums over all processes of the call that we reaped, or that those reaped. */
struct usage {
	uint64_t user_us, system_us, max_rss_kib;
};

struct call {
	pid_t pid; /* leader of its process group */
	bool has_ended;
	int status;             /* of wait4(2), once has_ended */
	bool is_empty;          /* nothing of the call is left, or has_immortals */
	bool has_immortals;     /* KILL did not end all of it: only our own end will */
	enum runner_how killed; /* KILL came, and why; 0 = not */
	uint64_t deadline_ms;   /* when killed: TERM becomes KILL; 0 = did */
	struct usage usage;
	int out_fd[2]; /* -1: closed, or inherited */
	uint32_t out_window[2];
	int stdin_fd;
	struct hl_buf stdin_bytes; /* not yet taken by the command */
	uint32_t stdin_window;
	bool takes_stdin; /* frames of it are expected */
	bool stdin_ended;
};

struct init {
	int in_fd, out_fd; /* the stream */
	bool is_stdio;
	int signal_fd;
	enum init_state state;
	int exit_code;
	struct hl_buf in, out;
	bool wipe_in; /* in held a call's environment */
	struct call call;
};

/* loop.c */
int init_run(struct init *init);
/* Sends what waits, however long it takes: before an end. */
void init_flush(struct init *init);
uint64_t init_now_ms(void);

/* init.c */
void init_hello(struct init *init);
void init_frame(struct init *init, const struct runner_frame *frame);
/* The other side broke the protocol, or the lock failed: says so and ends everything. */
void init_fault(struct init *init, const struct runner_error *error);
void init_broken(struct init *init, const char *what);
/* The call is over and its output is out: EXIT. */
void init_call_done(struct init *init);
/* TERM to all, KILL after the grace. */
void init_kill(struct init *init, enum runner_how how);

/* call.c: what spawning found. step: 0 = started. */
enum spawn_step {
	SPAWN_FINE,
	SPAWN_PIPES,
	SPAWN_STDIO,
	SPAWN_RLIMIT,
	SPAWN_CWD,
	SPAWN_EXEC
};

struct spawn_failure {
	enum spawn_step step;
	int sys_errno;
	const char *subject;
};

int call_start(struct call *call, const struct runner_spawn *spawn,
    struct spawn_failure *ret_failure);
void call_close(struct call *call);

/* output.c */
void output_read(struct init *init, int which);
void output_drain(struct init *init);
bool output_is_open(const struct call *call);
void stdin_write(struct init *init);
void stdin_put(struct init *init, const unsigned char *bytes, uint32_t len);
void window_put(struct init *init, uint8_t stream, uint32_t bytes);

/* tree.c */
void tree_prepare(void);
/* To everything but ourselves. */
void tree_signal(int signal_number);
/* Takes the dead. True when no child is left. */
bool tree_reap(struct call *call);
/* KILL, and wait until nothing is left. */
void tree_end(struct call *call);

#endif
