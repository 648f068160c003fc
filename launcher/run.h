/*
 * What one run knows, shared by run.c (the order), record.c (the ledger) and result.c (the object
 * for programs). Private to launcher/.
 */
#ifndef HL_LAUNCHER_RUN_H
#define HL_LAUNCHER_RUN_H

#include "launcher/launcher.h"

/* Who is to blame when a run does not end by its command. */
enum run_stage {
	RUN_STAGE_LAUNCHER,
	RUN_STAGE_BACKEND,
	RUN_STAGE_COMMAND
};

/* How a pull is told (pulling.c): for plan->on_pull. */
struct pulling {
	uint64_t since_ms;
	bool is_on_terminal;
};

void pulling_tell(void *context, const struct image_progress *progress);

struct run {
	const struct request *request;
	struct host host;
	struct policy *policy;
	struct conflicts conflicts;
	struct plan plan;
	const struct backend *backend;
	bool may_begin_early; /* the process that settles is the one that starts, with its own
				 0, 1, 2 */
	struct backend_early *early; /* begun or reached, and not taken by start() yet */
	const struct backend *early_backend;
	struct pulling pulling;
	struct lowered lowered;
	struct control_gaps gaps;
	struct sandbox sandbox;
	struct hl_strv env;  /* of the call; values: wiped at the end */
	struct audit *audit; /* NULL: cannot be written, and the policy does not require it */
	struct session_result result;
	enum run_stage stage;
	char run_id[HL_ULID_SIZE];
	int signal_fd, result_fd;
	bool has_plan, has_lowered, has_sandbox, was_recorded;
};

/* The order of a run, in pieces for whoever makes more than one call in a sandbox (face_*.c,
 * keeper.c): init, settle, then start or refused, in the end done. run is zero before. */
int run_init(struct run *run, const struct request *request, struct hl_err *err) HL_MUST_CHECK;
/* Policy, conflicts, plan, lowering, gaps: everything that is decided before something starts. Of
 * a named session without the gaps: they are the business of whoever makes it. */
int run_settle(struct run *run, struct hl_err *err) HL_MUST_CHECK;
int run_settle_gaps(struct run *run, struct hl_err *err) HL_MUST_CHECK;
/* Warns where nobody could see who the command is on this host. */
void run_tell_unseen(const struct run *run);
/* Records that nothing was started after the policy was settled, unless a conflict, which has its
 * own record, is the cause. */
void run_refused(struct run *run, const struct hl_err *cause);
/* Our own failure, or the backend's, in the shape of a result. */
void run_failed(struct run *run, enum runner_how how, const struct hl_err *err);
/* run --name (face_call.c): the exit status. */
int face_named_run(const struct request *request);
/* Releases everything; the sandbox, if any, has been stopped. */
void run_done(struct run *run);

/* The ledger. Each returns -1 when a record could not be written and the policy requires the log.
 */
int record_open(struct run *run, struct hl_err *err) HL_MUST_CHECK;
/* What the policy sets and lets pass, before any record repeats what was asked. */
int record_policy_secrets(struct run *run, struct hl_err *err) HL_MUST_CHECK;
/* entry: NAME=VALUE, whose value is hidden from now on; or a NAME alone, which brings none. */
int record_add_entry(struct run *run, const char *entry, struct hl_err *err) HL_MUST_CHECK;
int record_policy_load(struct run *run, const struct policy_findings *findings,
    struct hl_err *err) HL_MUST_CHECK;
/* findings NULL: the policy itself is good, and what was asked cannot be done under it. */
int record_policy_refuse(struct run *run, const struct policy_findings *findings,
    const struct hl_err *cause, struct hl_err *err) HL_MUST_CHECK;
int record_conflict(struct run *run, const struct conflict *conflict,
    struct hl_err *err) HL_MUST_CHECK;
int record_degraded(struct run *run, const struct control_gap *gap,
    struct hl_err *err) HL_MUST_CHECK;
int record_start(struct run *run, struct hl_err *err) HL_MUST_CHECK;
int record_flush(struct run *run, struct hl_err *err) HL_MUST_CHECK;
int record_sandbox(struct run *run, struct hl_err *err) HL_MUST_CHECK;
/* The digest of the policy as it is now. */
void record_put_effective(struct hl_json *json, const char *key, struct policy *policy);
/* The fields that the end of a run and of a call have in common. */
void record_put_outcome(struct hl_json *json, const struct session_result *result,
    bool has_seen_output);
/* Ends a record. Without a log there is nothing to do. */
int record_append(struct run *run, struct audit_record *record, struct hl_err *err) HL_MUST_CHECK;
/* In the place of record_start() for a sandbox of many calls; name may be NULL. */
int record_session_open(struct run *run, const char *face, const char *name,
    struct hl_err *err) HL_MUST_CHECK;
int record_end(struct run *run, struct hl_err *err) HL_MUST_CHECK;

/* --result: opened before anything is started, written once at the end. */
int result_open(struct run *run, struct hl_err *err) HL_MUST_CHECK;
void result_write(struct run *run);
/* "error": {"code":..., "message":...}, or null. */
void result_put_error(struct hl_json *json, const struct hl_err *err);
/* "degraded": [control...], "limits_applied": [key...] */
void result_put_controls(struct hl_json *json, const struct run *run);

#endif
