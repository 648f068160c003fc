/*
 * Records of a session: each call's beginning and end, and the session's own end. Its beginning is
 * in record.c, because it says the same as a run's.
 */
#include <string.h>

#include "launcher/serve.h"

#include "base/banned.h"

static void
put_command(struct run *run, struct audit_record *record, const struct call_ask *ask)
{
	if ((ask->flags & SESSION_CALL_SHELL) == 0) {
		audit_put_strings(run->audit, record, "argv", ask->argv.v, ask->argv.len);
		return;
	}
	/* As run -c is recorded: the text after "-c" is read as shell when it is redacted. */
	HL_AUTO(hl_strv_done_secret) struct hl_strv argv;
	hl_strv_init(&argv, 3);
	hl_strv_add(&argv, "bash");
	hl_strv_add(&argv, "-c");
	hl_strv_add(&argv, ask->command);
	audit_put_strings(run->audit, record, "argv", argv.v, argv.len);
}

static void
put_names(struct hl_json *json, const struct hl_strv *env)
{
	if (env->len == 0)
		return;
	hl_json_key(json, "env");
	hl_json_array(json);
	for (size_t i = 0; i < env->len; i++)
		hl_json_stringn(json, env->v[i], strcspn(env->v[i], "="));
	hl_json_end_array(json);
}

int
record_call_start(const struct call *call, const struct call_ask *ask, struct hl_err *err)
{
	struct run *run = call->serve->run;
	struct audit_record record;

	if (run->audit == NULL)
		return 0;
	struct hl_json *json = audit_event(run->audit, AUDIT_CALL_START, &record);
	hl_json_key(json, "call");
	hl_json_u64(json, call->number);
	hl_json_key(json, "face");
	hl_json_string(json, ask->face);
	put_command(run, &record, ask);
	if (ask->cwd != NULL)
		audit_put_string(run->audit, &record, "cwd", ask->cwd);
	put_names(json, &ask->env);
	return record_append(run, &record, err);
}

int
record_call_end(const struct call *call, struct hl_err *err)
{
	static const char *const kept[] = {
		[RUNNER_STATE_NONE] = "none",
		[RUNNER_STATE_KEPT] = "kept",
		[RUNNER_STATE_LOST] = "lost",
	};
	struct run *run = call->serve->run;
	const struct session_result *result = call->result;
	struct audit_record record;

	if (run->audit == NULL)
		return 0;
	struct hl_json *json = audit_event(run->audit, AUDIT_CALL_END, &record);
	hl_json_key(json, "call");
	hl_json_u64(json, call->number);
	record_put_outcome(json, result, true);
	hl_json_key(json, "state");
	hl_json_string(json, kept[result->state]);
	return record_append(run, &record, err);
}

int
record_session_close(const struct serve *serve, struct hl_err *err)
{
	struct run *run = serve->run;
	struct audit_record record;

	if (run->audit == NULL || !run->was_recorded)
		return 0;
	struct hl_json *json = audit_event(run->audit, AUDIT_SESSION_CLOSE, &record);
	hl_json_key(json, "calls");
	hl_json_u64(json, serve->calls_made);
	if (serve->err.code != HL_OK) {
		hl_json_key(json, "err");
		hl_json_string(json, hl_code_info(serve->err.code)->id);
	}
	hl_json_key(json, "dur_ms");
	hl_json_u64(json, hl_now_mono_ms() - serve->start_ms);
	return record_append(run, &record, err);
}

int
record_call_secret(struct run *run, const char *entry, struct hl_err *err)
{
	if (run->audit == NULL || record_add_entry(run, entry, err) == 0)
		return 0;
	/* Too long, or more than a session's log can hide. */
	if (err->code == HLI_03)
		err->code = HLU_27;
	return -1;
}
