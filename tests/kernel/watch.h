/*
 * Many calls in one sandbox, as a host sees them: what came on each channel, and in which order.
 */
#ifndef HL_TESTS_KERNEL_WATCH_H
#define HL_TESTS_KERNEL_WATCH_H

#include "tests/kernel/launch.h"

enum {
	WATCH_TEXT = 8192
};

struct watched {
	bool holds_back; /* no credit is given for what comes */
	bool has_started, has_exit, is_closed;
	uint32_t pid;
	struct runner_exit exit;
	char subject[600];
	char out[WATCH_TEXT], err[WATCH_TEXT]; /* NUL-terminated; what does not fit is counted */
	size_t out_len, err_len;
	char state[WATCH_TEXT];
	size_t state_len;
};

struct watch {
	struct launch launch;
	struct launch_lock lock;
	uint32_t features;
	bool has_error, has_pong;
	struct runner_error error;
	struct watched calls[RUNNER_CALLS_MAX + 1];
};

/* A sandbox with everything on, or with what was done to watch->lock after launch_lock_full(). */
void watch_start(struct watch *watch, unsigned flags);
void watch_start_locked(struct watch *watch, unsigned flags);
/* sh -c text, on a channel that is free. */
void watch_spawn(struct watch *watch, uint32_t channel, uint32_t flags, const char *text);
void watch_bash(struct watch *watch, uint32_t channel, uint32_t flags, const char *text);
/* On that channel, whatever the type. */
void watch_send(struct watch *watch, uint32_t channel, enum runner_type type, const void *payload,
    size_t len);
void watch_kill(struct watch *watch, uint32_t channel, enum runner_how how);
/* The next frame. False at the end of the stream. */
bool watch_next(struct watch *watch);
void watch_until_started(struct watch *watch, uint32_t channel);
void watch_until_exit(struct watch *watch, uint32_t channel);
void watch_until_closed(struct watch *watch, uint32_t channel);
/* Until the call has written this. */
void watch_until_out(struct watch *watch, uint32_t channel, const char *text);
/* Nothing comes for so long. */
bool watch_is_quiet(struct watch *watch, int ms);
/* All in one, on a channel of its own; returns what came. */
struct watched *watch_run(struct watch *watch, uint32_t channel, uint32_t flags, const char *text);
/* The runner has broken the stream off with this. */
void watch_expect_broken(struct watch *watch);
/* GOODBYE; the runner's exit status. */
int watch_end(struct watch *watch);

#endif
