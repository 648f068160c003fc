/*
 * A small launcher for tests of the runner and of the lock: starts build/hermes-runner (or
 * $HL_RUNNER) in new namespaces as the native backend does, and speaks the protocol with it. As an
 * ordinary user it makes a user namespace as well.
 */
#ifndef HL_TESTS_KERNEL_LAUNCH_H
#define HL_TESTS_KERNEL_LAUNCH_H

#include <sys/types.h>

#include <stdbool.h>

#include "confine/confine.h"
#include "runner/runner.h"

enum launch_flags {
	LAUNCH_STDIO = 1 << 0,       /* "hermes-runner --stdio", no namespaces */
	LAUNCH_LEAK = 1 << 1,        /* descriptor 7 is a directory of the host */
	LAUNCH_SHARE_NET = 1 << 2,   /* no network namespace of its own */
	LAUNCH_STDIN_DIR = 1 << 3,   /* standard input is a directory of the host */
	LAUNCH_NO_LANDLOCK = 1 << 4, /* as on a kernel without it */
	LAUNCH_NO_MEMFD = 1 << 5,    /* memfd_create(2) is refused */
	LAUNCH_NO_UNSHARE = 1 << 6,  /* so is unshare(2) */
	LAUNCH_OWN_ROOT = 1 << 7,    /* "own-root": what every lock begins with is done before it */
	LAUNCH_OWN_NETWORK = 1 << 8, /* "own-network": and a network namespace is made beside it */
	LAUNCH_PASS = 1 << 9,        /* a socket for pipes beside the stream */
};

enum {
	LAUNCH_OPS = 64,
	LAUNCH_RULES = 32,
	LAUNCH_OUT = 64 * 1024
};

/* A confinement being put together; strings are borrowed. */
struct launch_lock {
	struct confinement confinement;
	struct confine_op ops[LAUNCH_OPS];
	struct confine_rule rules[LAUNCH_RULES];
};

/* Everything on: strict root with /usr, /proc, /dev, /tmp, the probe at /probe; seccomp default. */
void launch_lock_full(struct launch_lock *lock);
/* Nothing on. */
void launch_lock_none(struct launch_lock *lock);
struct confine_op *launch_op(struct launch_lock *lock, enum confine_op_kind kind, const char *src,
    const char *dst, uint32_t flags);
struct confine_op *launch_find(struct launch_lock *lock, const char *dst);
void launch_remove(struct launch_lock *lock, const char *dst);
void launch_set_profile(struct launch_lock *lock, enum confine_profile profile);
void launch_rule(struct launch_lock *lock, const char *path, uint32_t access);

struct launch {
	pid_t pid;
	int to, from;     /* the stream */
	int pass;         /* LAUNCH_PASS; -1 = none */
	uint32_t channel; /* of what is sent; 1 at the start */
	struct hl_buf in;
	bool has_magic;
	struct runner_frame frame; /* the last that was read */
	size_t frame_size;
};

/* What a run came to. */
struct launch_result {
	bool is_locked, has_error, has_exit;
	struct runner_error error;
	char subject[600]; /* of error or exit */
	struct runner_exit exit;
	char out[LAUNCH_OUT], err[LAUNCH_OUT]; /* NUL-terminated */
	size_t out_len, err_len;
};

void launch_start(struct launch *launch, unsigned flags);
void launch_send(struct launch *launch, enum runner_type type, const void *payload, size_t len);
void launch_send_raw(struct launch *launch, const void *bytes, size_t len);
void launch_send_lock(struct launch *launch, const struct launch_lock *lock);
/* flags of the call; words: the command, NULL at the end. */
void launch_send_spawn(struct launch *launch, uint32_t flags, const char *const *words);
/* The next frame, or false at the end of the stream. Fails the test after ten seconds. */
bool launch_next(struct launch *launch);
/* Reads until EXIT, ERROR or the end. */
void launch_collect(struct launch *launch, struct launch_result *ret_result);
/* Ends it and waits. Returns the runner's wait status. */
int launch_end(struct launch *launch);
/* All of the above: one command that has the sandbox for itself, output in frames. */
void launch_run(const struct launch_lock *lock, unsigned flags, const char *const *words,
    struct launch_result *ret_result);

/* Such a lock is refused (HLB-02), and nothing is started. */
void launch_refused(const struct launch_lock *lock, enum confine_step step, int sys_errno,
    const char *subject);

/* "/absolute/path/of/build/kernel/probe" */
const char *launch_probe(void);
/* The errno (0 = it worked) with which an attempt of the probe ends inside. */
int launch_attempt(const struct launch_lock *lock, const char *name, const char *a, const char *b);
/* The same, with LAUNCH_ flags. */
int launch_attempt_with(const struct launch_lock *lock, unsigned flags, const char *name,
    const char *a, const char *b);
bool launch_is_root(void);
/* Landlock's version by the kernel's own word, not by what is tested; 0 = none. */
int launch_landlock_abi(void);

#endif
