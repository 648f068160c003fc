/*
 * docker, the launcher's half of talking to hl-engine. Private to backends/docker.
 *
 * Life cycle: start, then ask (each request has one answer), then end, on every way.
 */
#ifndef HL_BACKENDS_DOCKER_HELPER_H
#define HL_BACKENDS_DOCKER_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/backends.h"
#include "backends/docker/protocol.h"
#include "base/base.h"

struct docker_helper {
	struct hl_peer peer;
	int stream;
};

/* cancel_fd: of the plan; -1 = do not listen. */
int docker_helper_start(struct docker_helper *helper, const char *path, int cancel_fd,
    struct hl_err *err) HL_MUST_CHECK;
/* Closes its control socket, at which it removes what it made, and waits for it. */
void docker_helper_end(struct docker_helper *helper);

/* What OPEN tells. */
struct docker_opened {
	struct hl_buf answer; /* owner of the strings */
	const char *engine, *image_id, *digest, *user;
	struct hl_strv env, volumes;
};

int docker_helper_open(struct docker_helper *helper, const struct plan *plan,
    struct docker_opened *ret_opened, struct hl_err *err) HL_MUST_CHECK;
void docker_opened_done(struct docker_opened *opened);
struct docker_reach {
	const char *helper_path;
	const char *endpoint; /* docker_endpoint_text() */
	int patience_ms;      /* for each answer and for its end; 0 = hl-engine's own */
};

/* Start and open, for who has no plan and asks about no image. Nothing is left on failure. */
int docker_helper_reach(struct docker_helper *helper, const struct docker_reach *reach,
    struct docker_opened *ret_opened, struct hl_err *err) HL_MUST_CHECK;

struct docker_created {
	char id[80];
	struct hl_strv warnings;
	enum sandbox_reuse reuse;
	char run_id[HL_ULID_SIZE]; /* REUSED: of the run that made it */
	char why[200];             /* REPLACED */
};

struct docker_create_call {
	const char *name, *body;
	const char *id; /* that a kept one must have, "" = any */
	bool is_kept;
	struct hl_strv words; /* for a client; empty where the API is used */
};

/* id and warnings. */
int docker_helper_create(struct docker_helper *helper, const struct docker_create_call *call,
    struct docker_created *ret_created, struct hl_err *err) HL_MUST_CHECK;
/* Everything but warnings. One that was kept and is the same is as good as created; one that
 * differs is removed. FRESH: there was none. */
int docker_helper_find(struct docker_helper *helper, const struct docker_create_call *call,
    struct docker_created *ret_created, struct hl_err *err) HL_MUST_CHECK;
int docker_helper_start_container(struct docker_helper *helper, uint32_t *ret_pid,
    struct hl_err *err) HL_MUST_CHECK;

struct docker_end {
	uint32_t flags; /* enum engine_end_flags */
	uint32_t exit_code;
	char diagnosis[ENGINE_STDERR_MAX + 1]; /* hostile bytes */
	char why[ENGINE_TEXT_MAX];
};

struct docker_remove_call {
	const char *name, *run_id;
	bool is_forced; /* also while it runs */
};

/* Of a run that is over. The engine's side looks at the run label again before it removes. */
int docker_helper_remove(struct docker_helper *helper, const struct docker_remove_call *call,
    struct hl_err *err) HL_MUST_CHECK;
/* discard: also one that is kept. */
int docker_helper_stop(struct docker_helper *helper, bool discard, struct docker_end *ret_end,
    struct hl_err *err) HL_MUST_CHECK;

#endif
