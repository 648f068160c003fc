/*
 * session - the bash contract from the host's side, over any stream.
 *
 * One event loop (epoll; signalfd, timerfd, stream, stdio) drives one call: it sends LOCK and
 * SPAWN, forwards signals, streams stdin, stdout and stderr where the command does not have them
 * itself, keeps the wall limit, and returns how the call ended. It knows no backend beyond the
 * stream.
 */
#ifndef HL_SESSION_SESSION_H
#define HL_SESSION_SESSION_H

#include <signal.h>

#include "backends/backends.h"
#include "base/base.h"
#include "runner/runner.h"

struct session_call {
	const struct runner_spawn *spawn;
	/* Called once, when the lock is on its way and before the command is: -1 ends the call
	 * before anything of it has run. NULL = nothing to wait for. */
	int (*before_spawn)(void *context, struct hl_err *err);
	void *context;
	uint64_t wall_ms;  /* 0 = no limit */
	uint64_t start_ms; /* for the sandbox to become ready; 0 = SESSION_START_MS */
	int stdin_fd, stdout_fd, stderr_fd; /* used unless the sandbox inherited ours */
};

struct session_result {
	enum runner_how how;
	int status;      /* what the launcher exits with (design of exit statuses: README) */
	uint32_t code;   /* EXITED */
	uint32_t signal; /* SIGNALED */
	uint64_t wall_ms, user_us, system_us, max_rss_kib;
	uint64_t out_bytes, err_bytes; /* 0 when inherited: not seen */
	bool was_started;              /* exec succeeded: the command ran, at least in part */
	char locked[256];              /* the runner's own line about what it verified */
	struct hl_err err;             /* LAUNCHER_ERROR, BACKEND_ERROR: what happened */
};

/* Blocks TERM, INT, HUP and QUIT and returns a signalfd for them. Call before anything is started,
 * so that no signal is lost between start and loop. *ret_old is for sigprocmask at the end. */
int session_signals(sigset_t *ret_old, int *ret_fd, struct hl_err *err) HL_MUST_CHECK;

/* Runs one call to its end. Faults of runner, stream and engine end in a result, not in -1; -1 is
 * for our own (memory, epoll). signal_fd: from session_signals(). */
int session_run(struct sandbox *sandbox, const struct session_call *call, int signal_fd,
    struct session_result *ret_result, struct hl_err *err) HL_MUST_CHECK;

#endif
