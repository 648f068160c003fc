/*
 * session - the bash contract from the host's side, over any stream.
 *
 * A session is one sandbox, one stream and many calls. It lives in a struct hl_loop, sends LOCK
 * once, gives each call a channel, and knows no backend beyond the stream. What a call may rely on:
 *
 *  - one call is one fresh `bash -c` with the command byte for byte, or one argv without a shell;
 *  - exported variables (set and unset), functions, aliases and the working directory are kept from
 *    call to call, also after `exit N` and a failing `set -e`; unexported variables, traps, jobs,
 *    ulimits and umask are not; shell options when asked for;
 *  - calls may run at the same time: each starts from the state as it was at its start, results
 *    merge variable by variable, the last to end wins;
 *  - stdout and stderr are bytes, in order within each; the window keeps head and tail of what was
 *    written, with the exact count of what it left out; a programmatic reader gets everything;
 *  - a child left in the background does not hold the call; what it writes later goes to the
 *    session's background log;
 *  - how a call ended is a field of its own, never read out of a number; nothing is ever run twice.
 *
 * State is a difference to the session's first environment, held on the host and nowhere else.
 * Variables travel in the environment of the call, byte for byte. Functions, aliases and options
 * are text that bash reads through BASH_ENV (session/state_text.c); what an EXIT trap reports at
 * the end is taken apart strictly, whole or not at all (session/state_parse.c), and merged by the
 * difference that it makes (session/state.c). A call whose shell could not report - exec, SIGKILL -
 * leaves the state as it was, which its result says. A command that is seen to run programs and
 * nothing else is asked for no report (session/plain.c).
 *
 * Kept with less than all: of a readonly or integer variable the value only; arrays and references
 * not at all; shell options as one set. Never kept: variables of the call's own environment, what
 * may_keep() refuses, what bash keeps for itself (BASH_*, SHLVL, ...), functions named trap or
 * builtin. The limits are SESSION_ENV_MAX and SESSION_STATE_MAX; past them a call keeps nothing.
 */
#ifndef HL_SESSION_SESSION_H
#define HL_SESSION_SESSION_H

#include <signal.h>

#include "backends/backends.h"
#include "base/base.h"
#include "runner/runner.h"

struct session;
struct session_call;

/* ------------------------------------------------------------------------------------------------
 * State: what is kept from call to call. A session has one; whoever attaches may have its own.
 */
struct session_state;

enum {
	SESSION_STATE_MAX = RUNNER_STATE_MAX, /* bytes of one text */
	SESSION_NAMES_MAX = 4096,             /* variables, functions, aliases: each */
	SESSION_ENV_MAX = 96 * 1024,          /* bytes of kept variables, names included */
	SESSION_START_MS = 60000,
};

/* Empty: the session's own environment and working directory. */
int session_state_new(const char *cwd, struct session_state **ret_state,
    struct hl_err *err) HL_MUST_CHECK;
int session_state_copy(const struct session_state *state, struct session_state **ret_copy,
    struct hl_err *err) HL_MUST_CHECK;
void session_state_free(struct session_state *state);
const char *session_state_cwd(const struct session_state *state);
/* Refused (HLB-13) for a path that is not normal and absolute. */
int session_state_set_cwd(struct session_state *state, const char *cwd,
    struct hl_err *err) HL_MUST_CHECK;
/* value NULL = unset. The caller has judged the name; HLB-13 for one that a shell cannot have or
 * that bash keeps for itself, and when the state would grow past its limits. */
int session_state_set(struct session_state *state, const char *name, const char *value,
    struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * How a call ended
 */
/* Head 40 %, tail 60 % of the limit, in bytes. */
struct session_window {
	struct hl_buf head, tail; /* read them when the call is over: head, then tail */
	uint64_t total;           /* bytes written by the command */
	uint64_t omitted;         /* total - head - tail */
	char *spill;              /* the file that has all of it; NULL = none was needed */
	bool is_capped;           /* the file ends at spill_bytes, or the disk was full */
};

struct session_result {
	enum runner_how how;
	int status;      /* what a launcher exits with (exit statuses: README) */
	uint32_t code;   /* EXITED */
	uint32_t signal; /* SIGNALED */
	uint64_t wall_ms, user_us, system_us, max_rss_kib;
	uint64_t out_bytes, err_bytes; /* 0 when inherited: not seen */
	struct session_window out, err_out;
	char *cwd;         /* after the call; NULL = unknown */
	const char *spill; /* of out, else of err_out; NULL = none was needed */
	enum runner_state_kept state;
	const char *state_note; /* LOST: why, static; else NULL */
	bool has_left;          /* background processes live on: see session_left() */
	uint64_t id;            /* of the call in its session, from 1 */
	bool was_started;       /* the command ran, at least in part, or may have: nobody can say */
	char locked[256];       /* the runner's own line about what it verified */
	struct hl_err err;      /* LAUNCHER_ERROR, BACKEND_ERROR: what happened */
};

void session_result_done(struct session_result *result);

/* ------------------------------------------------------------------------------------------------
 * A session
 */
/* Makes what goes to a file safe to keep (known values out). One stream of output is one begin, its
 * bytes in any cut, pass with is_end, and one end. A stream that cannot be filtered is not kept. */
struct session_filter {
	void *(*begin)(void *context); /* NULL = memory ended */
	int (*pass)(void *stream, const char *bytes, size_t len, bool is_end, struct hl_buf *out);
	void (*end)(void *stream);
};

struct session_config {
	struct hl_loop *loop;
	struct sandbox *sandbox; /* stays the caller's; its stream is the session's until closed */
	const struct hl_strv *env; /* the environment every call begins with */
	const char *cwd;
	/* No call can signal another one's processes. The kernel has that only with no_new_privs
	 * (landlock_restrict_self(2)). */
	bool is_scoped;
	uint32_t umask;
	const struct runner_rlimit *rlimits;
	uint32_t rlimits_len;
	uint64_t start_ms;         /* for the sandbox to become ready; 0 = SESSION_START_MS */
	uint64_t wall_ms;          /* a call's longest; 0 = no limit */
	uint64_t output_bytes;     /* limits.output: of the window, per stream */
	uint64_t background_bytes; /* of the background log, a ring; 0 = 1 MiB */
	const char *spill_dir;     /* 0700; NULL = no spill files */
	uint64_t spill_bytes;      /* of one file; 0 = 64 MiB */
	const struct session_filter *filter; /* NULL = spill files are written as it comes */
	/* Whether a variable that a command set or unset may be kept. NULL = all may. */
	bool (*may_keep)(void *context, const char *name);
	void (*on_ready)(void *context, const char *locked);
	/* Once, when no call can be made any more; every open call has had its on_end before. */
	void (*on_closed)(void *context, const struct hl_err *err); /* code HL_OK: as asked */
	void *context;
};

int session_open(const struct session_config *config, struct session **ret_session,
    struct hl_err *err) HL_MUST_CHECK;
/* GOODBYE: running calls end as cancelled, then on_closed. */
void session_close(struct session *session);
/* After on_closed, or at any time without further callbacks. */
void session_free(struct session *session);
/* Calls that have ended and left processes behind: their ids, oldest first, at most max; returns
 * how many there are. */
size_t session_left(const struct session *session, uint64_t *ids, size_t max);
/* Ends what is left of a call. False when there is nothing left of it. */
bool session_left_end(struct session *session, uint64_t id);
/* Bytes of the background log from offset on, at most len; *ret_offset is where what
 * was read begins: later than asked for when the ring has overwritten some. */
size_t session_background(struct session *session, uint64_t offset, void *bytes, size_t len,
    uint64_t *ret_offset);

/* ------------------------------------------------------------------------------------------------
 * A call
 */
enum session_call_flags {
	SESSION_CALL_SHELL = 1 << 0,  /* text in command; else argv */
	SESSION_CALL_STDIN = 1 << 1,  /* session_call_stdin() feeds it; else /dev/null */
	SESSION_CALL_MERGED = 1 << 2, /* stderr into stdout, in order of arrival */
	SESSION_CALL_PTY = 1 << 3,
	SESSION_CALL_OPTIONS = 1 << 4, /* shell options (set -o, shopt) are kept as well */
	/* Credit is returned by session_call_credit() only, until the call is killed. */
	SESSION_CALL_PAUSED = 1 << 5,
	SESSION_CALL_NO_WINDOW = 1 << 6, /* output goes to on_output only, and is counted */
};

struct session_request {
	uint32_t flags; /* enum session_call_flags */
	const char *command;
	const struct hl_strv *argv;
	/* Read at the start, merged at the end, and there until on_end. NULL = none is kept. */
	struct session_state *state;
	const char *cwd;           /* instead of the state's */
	const struct hl_strv *env; /* NAME=VALUE, of this call only: never in the state */
	uint64_t wall_ms;          /* shorter than the session's; 0 = the session's */
	uint32_t rows, columns;
	void (*on_started)(void *context);
	void (*on_stdin_room)(void *context);
	/* Each piece as it comes; stream 1 or 2. NULL = the window only. */
	void (*on_output)(void *context, int stream, const char *bytes, size_t len);
	/* Once; the result is the callee's to read and stays the call's. */
	void (*on_end)(void *context, struct session_result *result);
	void *context;
};

/* Never blocks. A call made before the session is ready waits for it. -1: refused at once and
 * nothing was sent: HLB-10 (as many calls as RUNNER_CALLS_MAX run or have left something behind),
 * HLB-11 (too large for a frame), HLB-12 (the session is closed), HLB-05 (no runner takes it: an
 * empty program, a directory that is not absolute). The request is copied. */
int session_call(struct session *session, const struct session_request *request,
    struct session_call **ret_call, struct hl_err *err) HL_MUST_CHECK;
/* How many bytes the call takes now: 0 = wait for on_stdin_room. */
size_t session_call_stdin(struct session_call *call, const void *bytes, size_t len);
void session_call_stdin_end(struct session_call *call);
void session_call_credit(struct session_call *call, int stream, uint32_t bytes);
void session_call_signal(struct session_call *call, int signal_number);
void session_call_resize(struct session_call *call, uint32_t rows, uint32_t columns);
void session_call_cancel(struct session_call *call);
/* It was told to end, by cancel or by a time limit: what it still writes comes without credit. */
bool session_call_is_killed(const struct session_call *call);
/* Only after on_end. */
void session_call_free(struct session_call *call);

/* ------------------------------------------------------------------------------------------------
 * One call and no more, in the foreground: what `run` does
 */
struct session_once {
	const struct runner_spawn *spawn;
	bool is_shell; /* argv is bash and the user's text: no bash is then an error of its own */
	/* Called once, when the lock is on its way and before the command is: -1 ends the call
	 * before anything of it has run. NULL = nothing to wait for. */
	int (*before_spawn)(void *context, struct hl_err *err);
	void *context;
	uint64_t wall_ms;  /* 0 = no limit */
	uint64_t start_ms; /* for the sandbox to become ready; 0 = SESSION_START_MS */
	int stdin_fd, stdout_fd, stderr_fd; /* used unless the sandbox inherited ours */
};

/* Blocks TERM, INT, HUP and QUIT and returns a signalfd for them. Call before anything is started,
 * so that no signal is lost between start and loop. *ret_old is for sigprocmask at the end. */
int session_signals(sigset_t *ret_old, int *ret_fd, struct hl_err *err) HL_MUST_CHECK;

/* Runs one call to its end. Faults of runner, stream and engine end in a result, not in -1; -1 is
 * for our own (memory, epoll). signal_fd: from session_signals(). */
int session_run(struct sandbox *sandbox, const struct session_once *call, int signal_fd,
    struct session_result *ret_result, struct hl_err *err) HL_MUST_CHECK;

#endif
