/*
 * The machine of a session: session.c (life of the session and its stream), frames.c (what each
 * frame means), call.c (life of a call), deadline.c (how long it may take), result.c (what is known
 * at its end), and the places where output goes (window.c, spill.c, background.c). Private to
 * session/.
 */
#ifndef HL_SESSION_MACHINE_H
#define HL_SESSION_MACHINE_H

#include "session/session.h"
#include "session/state.h"

enum {
	SESSION_KILL_MS = RUNNER_GRACE_MS + 3000,
	SESSION_BACKGROUND_BYTES = 1024 * 1024,
	SESSION_SPILL_BYTES = 64 * 1024 * 1024,
	/* Given back in few frames: the runner goes on while a frame is on its way. */
	SESSION_CREDIT_STEP = RUNNER_WINDOW / 4,
	/* Waiting for the runner: STDIN waits beyond the one, calls are refused near the other. */
	SESSION_OUT_BUSY = 1024 * 1024,
	SESSION_OUT_MAX = 32 * 1024 * 1024,
	SESSION_IN_FIRST = 8 * 1024,
	SESSION_IN_MAX = RUNNER_PAYLOAD_MAX + RUNNER_HEADER_SIZE + 64 * 1024,
};

enum session_phase {
	SESSION_MAGIC,  /* the magic or the HELLO frame has not come */
	SESSION_HELLO,  /* LOCKED is awaited */
	SESSION_READY,  /* calls run */
	SESSION_ENDING, /* GOODBYE was sent */
	SESSION_CLOSED,
};

enum channel_state {
	CHANNEL_FREE,
	CHANNEL_SPAWNED,  /* STARTED or EXIT is awaited */
	CHANNEL_RUNNING,  /* EXIT is awaited */
	CHANNEL_DRAINING, /* EXIT came, and what the command wrote before is still in its pipes */
	CHANNEL_LEFT,     /* the call is over; CLOSED is awaited */
};

/* The reading end of a call's pipe. What was written before EXIT is part of the call. */
struct pipe_end {
	struct session *session;
	unsigned channel;
	int stream; /* 1 stdout, 2 stderr */
	bool is_open, is_wide;
	int fd;
	struct hl_source *source; /* NULL: not started yet, or no credit */
	uint32_t owed;            /* DRAINING, or at CLOSED: to be read before the end */
};

/* One per number; belongs to the runner's side until CLOSED, whatever becomes of the call. */
struct channel {
	enum channel_state state;
	struct session_call *call; /* NULL when LEFT */
	uint64_t id;
	uint32_t credit[2];   /* what the runner may still send */
	uint32_t returned[2]; /* used and not given back yet */
	uint32_t held[2];     /* used, and for session_call_credit() to give back */
	bool has_pipes;       /* output comes through them; the credit is for ourselves */
	bool is_closed;       /* DRAINING: CLOSED came as well */
	struct pipe_end pipes[2];
	struct runner_exit ended; /* DRAINING; without a subject */
};

/* Where one stream of a call goes. */
struct window {
	struct session_window *public;
	size_t head_max, tail_max;
	char *ring; /* the last tail_max bytes behind the head */
	size_t ring_len, ring_capacity, ring_at;
	struct spill *spill;
	bool was_spilled;
};

struct background {
	char *ring;
	size_t size;    /* 0 = nothing was written yet */
	uint64_t total; /* bytes ever */
};

struct session {
	struct session_config config; /* of the pointers in it env and cwd are gone */
	struct pairs base;
	char *cwd;
	char *spill_dir;
	enum session_phase phase;
	bool has_magic;
	size_t noise; /* bytes skipped before the magic */
	struct hl_source *stream, *deadline;
	bool wants_out;
	unsigned char *in;
	size_t in_len, in_capacity;
	bool in_was_full; /* the last read took all that there was room for */
	bool is_alone;    /* its one call has the sandbox for itself */
	bool is_over;     /* and is CLOSED: the end of the stream is what comes next */
	bool awaits_pong; /* PING was sent, and deadline is that of its answer */
	struct hl_buf out;
	struct channel channels[RUNNER_CALLS_MAX + 1];
	unsigned last_channel;
	uint64_t last_id;
	struct background background;
	char locked[256];
	struct hl_err err;
	int busy; /* callbacks on the way: freed when they are back */
	bool is_freed;
};

struct session_call {
	struct session *session; /* NULL after its end */
	unsigned channel;
	struct session_request request;    /* pointers in it are gone but callbacks and context */
	bool is_shell, has_state, is_sink; /* is_sink: no window */
	bool has_report; /* has_state, and the command may change it: the shell tells at its end */
	struct session_state *state;
	struct start start; /* with state */
	char *cwd;
	struct hl_strv own_env;
	struct hl_buf report; /* STATE frames */
	uint64_t begin_ms, wall_ms;
	struct hl_source *deadline;
	enum runner_how killed; /* KILL was sent, and why; 0 = not */
	bool was_told_to_end;   /* by a signal, which it may have a use for */
	bool takes_stdin;
	uint32_t stdin_credit;
	struct window windows[2];
	struct session_result result;
};

/* session.c */
void session_send(struct session *session, enum runner_type type, uint32_t channel,
    const void *payload, size_t len);
void session_send_u32(struct session *session, enum runner_type type, uint32_t channel,
    uint32_t number);
/* Writes what the stream takes now. */
void session_flush(struct session *session);
/* The end of the session: every call ends with it. code HL_OK: as asked. */
void session_fail(struct session *session, enum hl_code code, const char *format, ...)
    HL_PRINTF(3, 4);
void session_enter(struct session *session);
/* May free the session. */
void session_leave(struct session *session);
void session_no_deadline(struct session *session);
/* Asks the runner whether it still listens: one that does not answer is the end of the session. */
void session_ask(struct session *session);

/* frames.c */
void session_frame(struct session *session, const struct runner_frame *frame);
void channel_return_credit(struct session *session, struct channel *channel, int stream,
    uint32_t bytes);
/* What session_call_credit() has not given back yet. */
void channel_release_held(struct session *session, struct channel *channel);

/* pipes.c: output that does not come through the stream */
/* Makes the pipes of a call with these flags (enum runner_spawn_flags); theirs are the writing
 * ends. False where output is to come as frames. */
bool pipes_open(struct session *session, unsigned channel, uint32_t flags,
    int theirs[2]) HL_MUST_CHECK;
/* Hands them over; false: they are closed, and output is to come as frames. */
bool pipes_pass(struct session *session, unsigned channel, int theirs[2]) HL_MUST_CHECK;
/* STARTED, credit: reads on. */
void pipes_watch(struct channel *channel);
/* EXIT: the call ends when what it wrote is read. */
void pipes_exit(struct channel *channel, const struct runner_exit *ended);
/* CLOSED: no process is left that could write. */
void pipes_closed(struct channel *channel);
/* The session's end: what is in them comes as output, without regard to credit. */
void pipes_last(struct channel *channel);
void pipes_close(struct channel *channel);
/* frames.c: nothing of the channel is awaited any more. */
void channel_free(struct session *session, struct channel *channel);

/* deadline.c */
int call_arm(struct session_call *call, struct session *session, uint64_t ms,
    struct hl_err *err) HL_MUST_CHECK;
/* False when it cannot be set: the session has failed then, and the call is its owner's. */
bool call_set_deadline(struct session_call *call, uint64_t ms);
/* The call may be gone afterwards. */
void call_send_kill(struct session_call *call, enum runner_how how);
uint64_t call_wall(const struct session_call *call, const struct session *session);
/* How long it may take until the command is started. */
uint64_t call_start_patience(const struct session_call *call, const struct session *session);
/* The session is ready, and call waits in it. */
void call_ready(struct session_call *call);

/* call.c */
/* What session_call() and session_run() have in common: spawn is sent on a channel of its own. */
int call_open(struct session *session, struct session_call *call, const struct runner_spawn *spawn,
    const struct hl_buf *state_text, struct hl_err *err) HL_MUST_CHECK;
void call_started(struct session_call *call);
void call_output(struct channel *channel, struct session *session, int stream, const char *bytes,
    uint32_t len);
void call_exit(struct session_call *call, const struct runner_exit *ended);
/* The session's end is the call's. */
void call_abandon(struct session_call *call, const struct hl_err *err);
void call_window_add(struct session_call *call, uint32_t bytes);

/* result.c */
int session_exit_status(const struct session_result *result);

/* window.c */
void window_init(struct window *window, struct session_window *public, uint64_t limit);
/* Past the limit all of it goes to the spill file as well, from its first byte on. */
void window_put(struct window *window, const char *bytes, size_t len,
    const struct session_config *config);
/* The ring becomes the public tail. */
void window_end(struct window *window);
void window_done(struct window *window);

/* spill.c: NULL when the file cannot be made: a full disk does not break a command. */
struct spill *spill_open(const struct session_config *config, char **ret_path);
void spill_put(struct spill *spill, const char *bytes, size_t len);
/* True when the file has not all that was put. */
bool spill_close(struct spill *spill);

/* background.c */
void background_put(struct background *background, uint64_t limit, const char *bytes, size_t len);
size_t background_read(const struct background *background, uint64_t offset, void *bytes,
    size_t len, uint64_t *ret_offset);
void background_done(struct background *background);

#endif
