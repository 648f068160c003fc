/*
 * A sandbox that serves many calls: opened as a run is, closed with nothing left.
 */
#include "launcher/serve.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

static void
on_closed(void *context, const struct hl_err *err)
{
	struct serve *serve = context;

	serve->is_closed = true;
	if (err != NULL && err->code != HL_OK)
		serve->err = *err;
	if (serve->on_closed != NULL)
		serve->on_closed(serve->context);
}

/* The native sandbox's first process gets our 0, 1 and 2: in a session these are a protocol's, or a
 * terminal's, and nothing inside may have them. */
static int
start_apart(struct run *run, struct hl_err *err)
{
	int saved[3] = { -1, -1, -1 }, status = 0;
	HL_AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return hl_err_sys(err, HLI_02, "cannot open '/dev/null'");
	for (int fd = 0; fd <= 2 && status == 0; fd++) {
		saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
		if (saved[fd] < 0 || dup2(null, fd) < 0)
			status = hl_err_sys(err, HLI_02, "cannot replace descriptor %d", fd);
	}
	if (status == 0) {
		run->early = NULL; /* start() takes it */
		status =
		    run->backend->start(&run->plan, &run->lowered, &run->gaps, &run->sandbox, err);
	}
	run->has_sandbox = status == 0;
	for (int fd = 0; fd <= 2 && saved[fd] >= 0; fd++) {
		if (dup2(saved[fd], fd) < 0)
			status = hl_err_sys(err, HLI_02, "cannot restore descriptor %d", fd);
		close(saved[fd]);
	}
	return status;
}

/* Protected names are never in the state, whoever set them. */
static bool
may_keep(void *context, const char *name)
{
	(void)context;
	return policy_name_class(name, strlen(name)) == POLICY_NAME_PLAIN;
}

static void
fill_config(struct serve *serve, struct session_config *config)
{
	struct run *run = serve->run;
	const struct plan_number *wall = &run->plan.limits[PLAN_LIMIT_WALL];
	const struct plan_number *output = &run->plan.limits[PLAN_LIMIT_OUTPUT];

	*config = (struct session_config){
		.loop = serve->loop,
		.sandbox = &run->sandbox,
		.env = &run->env,
		.cwd = run->plan.cwd,
		.umask = run->plan.umask,
		.is_scoped = (run->lowered.confinement.flags & CONFINE_NO_NEW_PRIVS) != 0,
		.rlimits = serve->limits.rlimits,
		.rlimits_len = serve->limits.rlimits_len,
		.wall_ms = wall->has ? wall->value : 0,
		.output_bytes = output->has ? output->value : 64U << 20,
		.may_keep = may_keep,
		.on_closed = on_closed,
		.context = serve,
	};
}

static int
open_session(struct serve *serve, struct hl_err *err)
{
	struct run *run = serve->run;
	struct session_config config;

	if (run->sandbox.reuse == SANDBOX_REPLACED)
		report_warning("session '%s' begins anew, what was kept of it is removed: %s",
		    serve->name, run->sandbox.reuse_why);
	run_tell_unseen(run);
	if (record_sandbox(run, err) != 0)
		return -1;
	hl_strv_init(&run->env, RUNNER_ENV_MAX);
	if (plan_call_environment(&run->plan, &run->sandbox.image_env, &run->env, err) != 0)
		return -1;
	plan_rlimits(&run->plan, &serve->limits);
	fill_config(serve, &config);
	if (spill_prepare(serve, &config, err) != 0)
		return -1;
	if (session_state_new(run->plan.cwd, &serve->common, err) != 0)
		return -1;
	return session_open(&config, &serve->session, err);
}

int
serve_open(struct serve *serve, struct hl_loop *loop, struct hl_err *err)
{
	struct run *run = serve->run;
	struct hl_err second;

	serve->loop = loop;
	serve->start_ms = hl_now_mono_ms();
	if (record_session_open(run, serve->face, serve->name, err) != 0)
		return -1;
	int status = start_apart(run, err);
	if (status == 0)
		status = open_session(serve, err);
	if (status == 0)
		return 0;
	serve->err = *err;
	if (serve_end(serve, &second) != 0 && second.code != err->code)
		report_error(&second);
	return -1;
}

void
serve_close(struct serve *serve)
{
	if (serve->is_closing || serve->session == NULL)
		return;
	serve->is_closing = true;
	session_close(serve->session);
}

int
serve_end(struct serve *serve, struct hl_err *err)
{
	struct run *run = serve->run;
	int status = 0;

	if (serve->has_ended)
		return 0;
	serve->has_ended = true;
	session_free(serve->session);
	serve->session = NULL;
	calls_free(serve);
	session_state_free(serve->common);
	serve->common = NULL;
	run->sandbox.is_discarded = serve->is_discarded;
	if (run->has_sandbox && run->backend->stop(&run->sandbox, err) != 0) {
		if (serve->err.code == HL_OK)
			serve->err = *err;
		status = -1;
	}
	struct hl_err audit_err;
	if (record_session_close(serve, &audit_err) != 0) {
		*err = audit_err;
		status = -1;
	}
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * Variables
 */
static int
judge_one(struct serve *serve, const char *entry, bool *ret_passes, struct hl_err *err)
{
	struct run *run = serve->run;

	/* First of all: the record of the conflict must not hold it either. */
	if (record_call_secret(run, entry, err) != 0 ||
	    conflicts_judge_variable(run->policy, entry, &serve->judged, ret_passes, err) != 0)
		return -1;
	for (size_t i = 0; i < serve->judged.len; i++) {
		const struct conflict *conflict = &serve->judged.items[i];
		report_conflict(conflict);
		if (record_conflict(run, conflict, err) != 0)
			return -1;
		if (conflict->action == CONFLICT_REFUSED)
			return hl_err_set(err, conflict->code, "%.80s loosens %s: it allows %.200s",
			    conflict->asked, conflict->control, conflict->bound);
	}
	return 0;
}

int
serve_judge_env(struct serve *serve, const struct hl_strv *env, struct hl_strv *ret_env,
    struct hl_err *err)
{
	hl_strv_init(ret_env, RUNNER_ENV_MAX);
	for (size_t i = 0; i < env->len; i++) {
		bool passes = false;
		if (judge_one(serve, env->v[i], &passes, err) != 0) {
			hl_strv_done_secret(ret_env);
			return -1;
		}
		if (passes)
			hl_strv_add(ret_env, env->v[i]);
	}
	return hl_strv_check(ret_env, "env", err);
}
