/*
 * A sandbox that serves many calls, behind whatever face asks for them: JSON-RPC (rpc*.c), the
 * Model Context Protocol (mcp*.c), our own streams (face_call.c), a named session's keeper
 * (keeper*.c). Private to launcher/.
 *
 *  1. run_init(), run_settle(): as for a single run.
 *  2. serve_open(): record, sandbox, session.
 *  3. served_start() as often as wanted; each call is judged, recorded, and told about by
 * callbacks.
 *  4. serve_close(); when on_closed() has come, serve_end() stops the sandbox and records the end.
 */
#ifndef HL_LAUNCHER_SERVE_H
#define HL_LAUNCHER_SERVE_H

#include "launcher/run.h"

enum {
	CALL_INPUT_MAX = 4 << 20, /* bytes that wait for one call's standard input */
	CALL_LOG_MAX = 1 << 20,   /* of a background call, per call: the newest */
	CALL_CREDIT = 256 * 1024, /* of output is on its way to a peer before it must listen */
	CALL_HANDLE_SIZE = 24,
	CALL_ENDED_MAX = 32, /* background calls that are over and can still be looked at */
};

struct call;

struct serve {
	struct run *run;
	struct hl_loop *loop;
	struct session *session;
	struct runner_spawn limits;   /* the rlimits of every call; nothing else of it */
	struct session_state *common; /* of whoever has none of its own */
	const char *face, *name;      /* name NULL: dies with us */
	struct call *calls;           /* running, or still looked at */
	uint64_t calls_made, start_ms;
	char spill_dir[4096];
	bool is_closing, is_closed, has_ended;
	bool is_discarded; /* nothing of it is kept */
	struct hl_err err; /* why it closed by itself */
	void (*on_closed)(void *context);
	void *context;
	struct conflicts judged; /* of the variable that is looked at */
};

/* spill.c: with --spill, where outputs beyond the window are kept. */
int spill_prepare(struct serve *serve, struct session_config *config,
    struct hl_err *err) HL_MUST_CHECK;

/* run was settled. Records the session, starts the sandbox, opens the session in loop. On failure
 * nothing is left but run, which is the caller's to finish. */
int serve_open(struct serve *serve, struct hl_loop *loop, struct hl_err *err) HL_MUST_CHECK;
/* Calls that run end as cancelled; then on_closed(). Idempotent. */
void serve_close(struct serve *serve);
/* After on_closed(), or when the loop has failed: everything ends here, once. */
int serve_end(struct serve *serve, struct hl_err *err) HL_MUST_CHECK;
/* Variables of one call, NAME=VALUE: refused ones are an error (HLC-..), those that mode warn
 * leaves out are not in ret_env. */
int serve_judge_env(struct serve *serve, const struct hl_strv *env, struct hl_strv *ret_env,
    struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * A call
 */
struct call_ask {
	const char *face;
	uint32_t flags;      /* enum session_call_flags, but PAUSED */
	const char *command; /* with SESSION_CALL_SHELL */
	struct hl_strv argv; /* without */
	const char *cwd;     /* NULL: the state's */
	struct hl_strv env;  /* not judged yet */
	struct session_state *state;
	uint64_t wall_ms;
	uint32_t rows, columns;
	bool is_background; /* keeps a log that can be read by offset */
	/* Output is handed over as it comes and served_taken() gives credit back. */
	bool is_streamed;
	uint64_t keep; /* bytes of stdout to keep whole, beside the window; 0 = none */
	void (*on_started)(void *context, struct call *call);
	void (*on_output)(void *context, struct call *call, int stream, const char *bytes,
	    size_t len);
	/* Bytes of standard input have left: served_waiting() is less. */
	void (*on_input)(void *context, struct call *call);
	void (*on_end)(void *context, struct call *call);
	void *context;
};

/* Told once, when the call is over. */
struct call_watch {
	struct call_watch *next;
	void (*fn)(void *context, struct call *call);
	void *context;
};

struct call {
	struct serve *serve;
	struct call *next;
	struct call_watch *watches;
	struct session_call *session_call;
	struct call_ask ask; /* strings are not kept */
	struct session_state *own_state;
	uint64_t number;
	struct hl_buf input; /* waits for the call */
	struct hl_buf log;   /* background: newest bytes */
	uint64_t log_start;  /* offset of log's first byte */
	struct hl_buf kept;
	uint64_t owed[2];    /* output handed over and not taken yet */
	uint64_t dropped[2]; /* of a streamed call: its face could not hand it on */
	bool input_ends, is_over, is_released;
	const struct session_result *result; /* once it is over */
};

/* Judged, recorded, sent. What ask points to is not needed afterwards, but context. */
int served_start(struct serve *serve, const struct call_ask *ask, struct call **ret_call,
    struct hl_err *err) HL_MUST_CHECK;
/* HLU-27: more than CALL_INPUT_MAX wait. */
int served_input(struct call *call, const void *bytes, size_t len,
    struct hl_err *err) HL_MUST_CHECK;
void served_input_end(struct call *call);
size_t served_waiting(const struct call *call);
/* The peer has everything: the command may go on writing. */
void served_taken(struct call *call);
/* The command, or what it has left running. */
void served_cancel(struct call *call);
/* No callback comes any more; the call is freed when it is over and nothing of it is left. */
void served_release(struct call *call);
/* Background calls, and what calls have left running, belong to the session: whoever is attached
 * can find them. text: "bg-3". NULL: none of that name. */
struct call *served_find(const struct serve *serve, const char *text);
void served_handle(const struct call *call, char text[CALL_HANDLE_SIZE]);
bool served_is_listed(const struct call *call);
/* It is over, and processes of it live on. */
bool served_has_left(const struct call *call);
/* After the session is freed. */
void calls_free(struct serve *serve);
/* Bytes of a background call's log from *offset on; *offset becomes where they begin. */
size_t served_log(const struct call *call, uint64_t *offset, const char **ret_bytes);

/* The result of a call that is over, as a JSON object. has_output false: without the windows. */
void served_put_result(struct hl_json *json, const struct call *call, bool has_output);
/* "call", "running", "left" and, when it is over, "result" of a background call: members of an
 * object that is begun. */
void served_put_state(struct hl_json *json, const struct call *call);
/* An answer with the windows would be too large: all of them counts as left out. */
void served_leave_out(struct call *call);
/* The window as text for a person: invalid bytes become U+FFFD. */
void served_put_text(struct hl_buf *out, const struct session_window *window);
void text_put_lossy(struct hl_buf *out, const char *bytes, size_t len);
/* A message, which is always a text in JSON: one that repeats a name may hold any bytes, or be cut
 * inside of a character. */
void text_put_json(struct hl_json *json, const char *text);
const char *served_stage(const struct session_result *result);

/* record_call.c */
int record_call_start(const struct call *call, const struct call_ask *ask,
    struct hl_err *err) HL_MUST_CHECK;
int record_call_end(const struct call *call, struct hl_err *err) HL_MUST_CHECK;
int record_session_close(const struct serve *serve, struct hl_err *err) HL_MUST_CHECK;
/* A value that a call was given is hidden in every later record. */
int record_call_secret(struct run *run, const char *entry, struct hl_err *err) HL_MUST_CHECK;

#endif
