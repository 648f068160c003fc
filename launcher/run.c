/*
 * One run, in its only order: policy, conflicts, plan, lowering, what this host can do, the record
 * that it starts, the sandbox, the call, the end. What a native sandbox begins with is made beside
 * this; no command is in it before the record is on the disk. Whatever fails, everything that was
 * started is ended and the ledger says so.
 */
#include "launcher/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum {
	RUN_FAILED = 125
};

static bool
is_enforcing(const struct run *run)
{
	return policy_get(run->policy, POLICY_MODE)->number == 0;
}

/* A refused policy: the findings were printed; the record says which codes. */
static int
refuse_policy(struct run *run, const struct policy_findings *findings, struct hl_err *err)
{
	struct hl_err audit_err;

	if (record_policy_refuse(run, findings, err, &audit_err) != 0)
		report_error(&audit_err);
	return -1;
}

/* The log is opened before the policy is read, so that a refused policy is recorded too. */
static int
settle_policy(struct run *run, struct hl_err *err)
{
	struct policy_findings findings;
	struct hl_err audit_err;
	int status = 0;

	bool has_audit = record_open(run, &audit_err) == 0;
	if (load_policy(&run->request->policies, &run->host, &run->policy, &findings, err) != 0) {
		report_findings(&findings, run->request);
		if (!has_audit)
			report_error(&audit_err);
		status = refuse_policy(run, &findings, err);
	} else {
		report_findings(&findings, run->request);
		if (!has_audit && policy_get(run->policy, POLICY_AUDIT_REQUIRED)->number != 0) {
			*err = audit_err;
			status = -1;
		} else if (!has_audit) {
			report_warning("running without an audit log: %s", audit_err.msg);
		} else {
			status = record_policy_secrets(run, err);
			if (status == 0)
				status = record_policy_load(run, &findings, err);
		}
		if (status == 0)
			status = policy_remember(run->policy, run->host.state_dir, err);
	}
	policy_findings_done(&findings);
	return status;
}

static int
settle_conflicts(struct run *run, struct hl_err *err)
{
	if (conflicts_judge(run->policy, run->request, &run->conflicts, err) != 0)
		return -1;
	for (size_t i = 0; i < run->conflicts.len; i++) {
		report_conflict(&run->conflicts.items[i]);
		if (record_conflict(run, &run->conflicts.items[i], err) != 0)
			return -1;
	}
	const struct conflict *refusal = conflicts_refusal(&run->conflicts);
	if (refusal == NULL)
		return 0;
	return hl_err_set(err, refusal->code, "nothing was started: %zu override%s refused",
	    run->conflicts.refused, run->conflicts.refused == 1 ? " was" : "s were");
}

/* Only what a policy can do without is offered as a degradation: naming another control there
 * changes nothing. */
static int
help_gap(const struct control_gap *gap, const char *name, struct hl_err *err)
{
	bool is_limit = strncmp(name, "limits.", 7) == 0 && gap->control != CONTROL_LIMIT_DISK;

	if (gap->mend != NULL)
		return hl_err_help(err,
		    "%s, or let the policy say degrade: {allow: [%s]} to go without", gap->mend,
		    name);
	if (gap->control == CONTROL_LIMIT_DISK)
		return hl_err_help(err,
		    "give the engine a storage driver with quotas (overlay2 on xfs with pquota, btrfs, zfs), or let the policy say degrade: {allow: [%s]} to go without",
		    name);
	if (is_limit || gap->control == CONTROL_LANDLOCK)
		return hl_err_help(err, "%slet the policy say degrade: {allow: [%s]} to go without",
		    is_limit ? "give the caller a control group (see POLICY.md), or " : "", name);
	return hl_err_help(err, "let the policy give %s another value, or name another backend",
	    name);
}

/* What fails here is told by whoever needs it. */
static void
reach_early(struct run *run)
{
	struct hl_err ignored;

	if (run->plan.early != NULL || run->backend->reach == NULL ||
	    run->backend->reach(&run->plan, &run->early, &ignored) != 0)
		return;
	run->plan.early = run->early;
	run->early_backend = run->backend;
}

/* Gaps: refused, or degraded loudly. */
int
run_settle_gaps(struct run *run, struct hl_err *err)
{
	if (run->backend->probe(&run->plan, &run->gaps, err) != 0)
		return -1;
	for (size_t i = 0; i < run->gaps.len; i++) {
		struct control_gap *gap = &run->gaps.items[i];
		const char *name = control_info(gap->control)->name;
		if (!gap->may_degrade && is_enforcing(run)) {
			hl_err_set(err, HLD_01, "%s cannot be applied by backend %s here: %s", name,
			    run->backend->name, gap->reason);
			return help_gap(gap, name, err);
		}
		report_warning("degraded: %s is not applied: %s [%s]", name, gap->reason,
		    hl_code_info(HLD_01)->id);
		if (record_degraded(run, gap, err) != 0)
			return -1;
	}
	return 0;
}

/* Settings without effect, variables that are not there: told on every run; lesser ones by -v. */
static int
tell_warnings(const struct run *run, struct hl_err *err)
{
	struct plan_notes notes;

	if (plan_notes(run->policy, &run->host, &run->plan, &notes, err) != 0)
		return -1;
	for (size_t i = 0; i < notes.warnings.len; i++)
		report_note("warning: %s", notes.warnings.v[i]);
	for (size_t i = 0; report_is_verbose() && i < notes.lines.len; i++)
		report_note("%s", notes.lines.v[i]);
	plan_notes_done(&notes);
	return 0;
}

/* What every start of a native sandbox needs takes as long to make as all that is decided before
 * the start, so it is made meanwhile: by the first backend that has something to begin, unless the
 * caller names another. Nothing of the command is in it, and it ends unused when the policy wants
 * another backend or refuses. */
static void
begin_early(struct run *run)
{
	static const char name[] = "local";
	const struct request *request = run->request;
	const struct backend_early_facts facts = {
		.runner_path = run->host.runner_path,
		.has_network =
		    request->network.text != NULL && strcmp(request->network.text, "host") == 0,
	};
	struct hl_err ignored;

	if (!run->may_begin_early ||
	    (request->backend.text != NULL && strcmp(request->backend.text, name) != 0))
		return;
	run->early_backend = backend_find(name, &ignored);
	/* What stands in the way is told by start(), when it is known to be needed. */
	if (run->early_backend == NULL ||
	    run->early_backend->begin(&facts, &run->early, &ignored) != 0)
		run->early = NULL;
}

static void
abandon_early(struct run *run)
{
	if (run->early != NULL)
		run->early_backend->abandon(run->early);
	run->early = NULL;
}

int
run_settle(struct run *run, struct hl_err *err)
{
	if (host_programs(&run->host, err) != 0)
		return -1;
	begin_early(run);
	if (run->may_begin_early)
		pages_ask(run->request);
	if (host_caller(run->request, &run->host, err) != 0)
		return -1;
	if (settle_policy(run, err) != 0 || settle_conflicts(run, err) != 0)
		return -1;
	const struct plan_input input = {
		.policy = run->policy,
		.request = run->request,
		.conflicts = &run->conflicts,
		.host = &run->host,
	};
	if (plan_build(&input, &run->plan, err) != 0)
		return -1;
	run->has_plan = true;
	if (tell_warnings(run, err) != 0)
		return -1;
	memcpy(run->plan.run_id, run->run_id, sizeof(run->plan.run_id));
	run->plan.cancel_fd = run->signal_fd;
	run->plan.on_pull = pulling_tell;
	run->plan.on_pull_context = &run->pulling;
	run->backend = backend_find(run->plan.backend, err);
	if (run->backend == run->early_backend)
		run->plan.early = run->early;
	else
		abandon_early(run);
	/* Of a named session another process goes on: what it starts has to be its own child. */
	if (run->backend != NULL && run->request->name.text == NULL)
		reach_early(run);
	if (run->backend == NULL || run->backend->lower(&run->plan, &run->lowered, err) != 0)
		return -1;
	run->has_lowered = true;
	if (run->request->name.text == NULL && run_settle_gaps(run, err) != 0)
		return -1;
	if (run->plan.withheld > 0 && report_is_verbose())
		report_note(
		    "%zu variables withheld from the command; 'hermes-launch explain' names them",
		    run->plan.withheld);
	return 0;
}

/* The first cause is the one to tell: a log that fails now adds its own. */
void
run_refused(struct run *run, const struct hl_err *cause)
{
	struct hl_err audit_err;

	if (run->policy == NULL || run->conflicts.refused > 0)
		return;
	if (record_policy_refuse(run, NULL, cause, &audit_err) != 0 &&
	    audit_err.code != cause->code)
		report_error(&audit_err);
}

static void
fill_spawn(const struct run *run, struct runner_spawn *spawn)
{
	const struct plan *plan = &run->plan;

	*spawn = (struct runner_spawn){
		.flags =
		    run->sandbox.is_stdio_inherited ? RUNNER_SPAWN_INHERIT : RUNNER_SPAWN_STDIN,
		.umask = plan->umask,
		.cwd = plan->cwd,
		.argv = plan->argv,
		.env = run->env,
	};
	plan_rlimits(plan, spawn);
}

/* The record that the run starts is on the disk before the command is started. */
static int
flush_start(void *context, struct hl_err *err)
{
	return record_flush(context, err);
}

static int
call(struct run *run, struct hl_err *err)
{
	struct runner_spawn spawn;
	struct session_once session = { .spawn = &spawn,
		.is_shell = run->request->shell_text != NULL,
		.before_spawn = flush_start,
		.context = run,
		.stdin_fd = 0,
		.stdout_fd = 1,
		.stderr_fd = 2 };

	if (record_sandbox(run, err) != 0)
		return -1;
	hl_strv_init(&run->env, RUNNER_ENV_MAX);
	if (plan_call_environment(&run->plan, &run->sandbox.image_env, &run->env, err) != 0)
		return -1;
	fill_spawn(run, &spawn);
	const struct plan_number *wall = &run->plan.limits[PLAN_LIMIT_WALL];
	session.wall_ms = wall->has ? wall->value : 0;
	return session_run(&run->sandbox, &session, run->signal_fd, &run->result, err);
}

/* Our own failure, or the backend's, in the shape of a result. */
void
run_failed(struct run *run, enum runner_how how, const struct hl_err *err)
{
	run->result.how = how;
	run->result.status = RUN_FAILED;
	run->result.err = *err;
	run->stage = how == RUNNER_BACKEND_ERROR ? RUN_STAGE_BACKEND : RUN_STAGE_LAUNCHER;
}

static void
judge_stage(struct run *run)
{
	switch (run->result.how) {
	case RUNNER_BACKEND_ERROR:
		run->stage = RUN_STAGE_BACKEND;
		break;
	case RUNNER_LAUNCHER_ERROR:
		run->stage = RUN_STAGE_LAUNCHER;
		break;
	case RUNNER_EXITED:
	case RUNNER_SIGNALED:
	case RUNNER_TIMED_OUT:
	case RUNNER_CANCELLED:
	case RUNNER_HOW_MAX:
		run->stage = RUN_STAGE_COMMAND;
		break;
	}
}

void
run_tell_unseen(const struct run *run)
{
	if (run->sandbox.unseen[0] != '\0')
		report_warning(
		    "that the command is the caller on this host is the engine's word alone: %s",
		    run->sandbox.unseen);
}

static void
start_and_call(struct run *run)
{
	struct hl_err err = { 0 };

	if (run->plan.early != NULL && run->backend->ahead != NULL)
		run->backend->ahead(&run->plan, &run->lowered, &run->gaps);
	if (record_start(run, &err) != 0) {
		run_failed(run, RUNNER_LAUNCHER_ERROR, &err);
		return;
	}
	if (run->plan.early != NULL)
		run->early = NULL; /* start() takes it */
	if (run->backend->start(&run->plan, &run->lowered, &run->gaps, &run->sandbox, &err) != 0) {
		run_failed(run, RUNNER_BACKEND_ERROR, &err);
		return;
	}
	run->has_sandbox = true;
	run_tell_unseen(run);
	if (call(run, &err) != 0)
		run_failed(run, RUNNER_LAUNCHER_ERROR, &err);
	else
		judge_stage(run);
}

/* The sandbox goes first, so that nothing is left when the record says that the run has ended. */
static void
finish(struct run *run)
{
	struct hl_err err;

	/* What could not be cleaned up is an error of the run, also when the command ended well. */
	if (run->has_sandbox && run->backend->stop(&run->sandbox, &err) != 0) {
		if (run->result.err.code == HL_OK)
			run->result.err = err;
		else
			report_error(&err);
	}
	if (run->result.err.code != HL_OK) {
		plan_user_hint(&run->plan, &run->result.err);
		plan_seccomp_hint(&run->plan, &run->result.err);
		report_error(&run->result.err);
	}
	if (run->result.how == RUNNER_TIMED_OUT)
		report_note("timed out: the command and everything it started were ended");
	if (record_end(run, &err) != 0) {
		report_error(&err);
		run->result.status = RUN_FAILED;
		if (run->result.err.code == HL_OK)
			run->result.err = err;
	}
	result_write(run);
}

void
run_done(struct run *run)
{
	hl_strv_done_secret(&run->env);
	abandon_early(run);
	if (run->has_sandbox)
		sandbox_done(&run->sandbox);
	if (run->has_lowered)
		lowered_done(&run->lowered);
	if (run->has_plan)
		plan_done(&run->plan);
	conflicts_done(&run->conflicts);
	policy_free(run->policy);
	if (run->audit != NULL)
		audit_close(run->audit);
}

int
run_init(struct run *run, const struct request *request, struct hl_err *err)
{
	sigset_t old;

	run->request = request;
	run->signal_fd = run->result_fd = -1;
	run->stage = RUN_STAGE_LAUNCHER;
	lowered_init(&run->lowered);
	if (hl_ulid(run->run_id, err) != 0 || result_open(run, err) != 0)
		return -1;
	return session_signals(&old, &run->signal_fd, err);
}

int
verb_run(const struct request *request)
{
	static struct run run; /* zero: its pages come when they are touched, not from the file */
	struct hl_err err = { 0 };

	if (request->name.text != NULL)
		return face_named_run(request);
	run.may_begin_early = true;
	if (run_init(&run, request, &err) != 0 || run_settle(&run, &err) != 0) {
		run_refused(&run, &err);
		run_failed(&run, RUNNER_LAUNCHER_ERROR, &err);
	} else {
		start_and_call(&run);
	}
	finish(&run);
	run_done(&run);
	return run.result.status;
}
