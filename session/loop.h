/*
 * The loop of one call, shared by session.c (what frames mean) and loop.c (how bytes move). Private
 * to session/.
 */
#ifndef HL_SESSION_LOOP_H
#define HL_SESSION_LOOP_H

#include "session/session.h"

enum session_state {
	SESSION_MAGIC,   /* the magic or the HELLO frame has not come */
	SESSION_HELLO,   /* LOCKED is awaited */
	SESSION_LOCKED,  /* STARTED is awaited */
	SESSION_RUNNING, /* EXIT is awaited */
};

enum {
	SESSION_START_MS = 60000,
	SESSION_KILL_MS = RUNNER_GRACE_MS + 3000
};

/* One of the command's two output streams on its way to a descriptor of ours. */
struct session_out {
	struct hl_buf pending; /* at most RUNNER_WINDOW bytes: the window bounds it */
	int fd;
	uint32_t credit;   /* what the runner may still send */
	uint32_t returned; /* written since the last WINDOW_ADD */
	bool is_broken;    /* nobody reads: bytes are dropped */
};

struct session_loop {
	struct sandbox *sandbox;
	const struct session_call *call;
	struct session_result *result;
	int signal_fd;
	enum session_state state;
	bool has_magic;
	bool has_exit; /* EXIT came: flush, then over */
	bool is_over;
	bool stdin_ended;
	size_t noise; /* bytes skipped before the magic */
	uint32_t stdin_credit;
	uint64_t deadline_ms;     /* on the monotonic clock; 0 = none */
	enum runner_how kill_how; /* KILL was sent, and why; 0 = not */
	struct hl_buf from_runner, to_runner;
	struct session_out out[2];
};

void session_loop_init(struct session_loop *loop, struct sandbox *sandbox,
    const struct session_call *call, int signal_fd, struct session_result *result);
int session_loop_run(struct session_loop *loop, struct hl_err *err) HL_MUST_CHECK;
/* Sends what the stream takes now. */
void session_loop_send(struct session_loop *loop);
void session_loop_done(struct session_loop *loop);
/* Handler of OUT frames. */
void session_loop_out(struct session_loop *loop, const struct runner_frame *frame);

/* session.c: one whole frame; the end of the stream. */
void session_frame(struct session_loop *loop, const struct runner_frame *frame);
void session_stream_ended(struct session_loop *loop);

#endif
