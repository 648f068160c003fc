/*
 * The run's records. One function per event; the keys stand in the order of audit/events.def.
 * Values of variables never come here: names do, and what else carries text goes through the
 * redacting calls.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/plan_parts.h"
#include "launcher/run.h"

#include "base/banned.h"

/* Every value that must not be in the log, known before the first record is made. */
static int
add_secret(struct run *run, const char *name, size_t name_len, const char *value,
    struct hl_err *err)
{
	char label[160] = "env:";
	size_t n = name_len < 128 ? name_len : 128;

	memcpy(label + 4, name, n);
	label[4 + n] = '\0';
	struct audit_secret secret = { .name = label, .value = value, .len = strlen(value) };
	return audit_add_secret(run->audit, &secret, err);
}

int
record_add_entry(struct run *run, const char *entry, struct hl_err *err)
{
	const char *equals = strchr(entry, '=');

	return equals == NULL ? 0
			      : add_secret(run, entry, (size_t)(equals - entry), equals + 1, err);
}

static int
add_caller_secrets(struct run *run, struct hl_err *err)
{
	for (char *const *entry = run->host.environ_; *entry != NULL; entry++) {
		size_t len = strcspn(*entry, "=");
		if (policy_name_class(*entry, len) == POLICY_NAME_SECRET &&
		    record_add_entry(run, *entry, err) != 0)
			return -1;
	}
	for (size_t i = 0; i < run->request->env.len; i++)
		if (record_add_entry(run, run->request->env.items[i].text, err) != 0)
			return -1;
	return 0;
}

static bool
is_asked_to_pass(const struct request *request, const char *name)
{
	for (size_t i = 0; i < request->env.len; i++)
		if (strcmp(request->env.items[i].text, name) == 0)
			return true;
	return false;
}

int
record_policy_secrets(struct run *run, struct hl_err *err)
{
	const struct policy_value *set = policy_get(run->policy, POLICY_ENV_SET);

	if (run->audit == NULL)
		return 0;
	for (size_t i = 0; i < set->items_len; i++) {
		const struct policy_item *item = &set->items[i];
		if (add_secret(run, item->name, strlen(item->name), item->text, err) != 0)
			return -1;
	}
	for (char *const *entry = run->host.environ_; *entry != NULL; entry++) {
		char name[129];
		size_t len = strcspn(*entry, "=");
		if (len >= sizeof(name))
			continue;
		memcpy(name, *entry, len);
		name[len] = '\0';
		if ((plan_env_is_private(run->policy, name) ||
			is_asked_to_pass(run->request, name)) &&
		    record_add_entry(run, *entry, err) != 0)
			return -1;
	}
	return 0;
}

int
record_open(struct run *run, struct hl_err *err)
{
	struct audit_open_request open = {
		.state_dir = run->request->state_dir,
		.run = run->run_id,
		.version = HL_VERSION,
		.may_create = true,
	};

	if (audit_open(&open, &run->audit, err) != 0) {
		run->audit = NULL;
		return -1;
	}
	if (add_caller_secrets(run, err) == 0)
		return 0;
	/* A log that does not know what it must hide is none. */
	audit_close(run->audit);
	run->audit = NULL;
	return -1;
}

/* A failing log is fatal where it is required. */
static int
settle_failure(const struct run *run, const struct hl_err *err)
{
	if (run->policy == NULL || policy_get(run->policy, POLICY_AUDIT_REQUIRED)->number != 0)
		return -1;
	report_warning("the audit log could not be written: %s", err->msg);
	return 0;
}

int
record_append(struct run *run, struct audit_record *record, struct hl_err *err)
{
	return audit_append(run->audit, record, NULL, err) == 0 ? 0 : settle_failure(run, err);
}

static void
put_origin(struct run *run, struct audit_record *record, const struct hl_origin *origin)
{
	char text[512];

	if (origin->where.file != NULL)
		snprintf(text, sizeof(text), "%s:%u:%u", origin->where.file, origin->where.line,
		    origin->where.column);
	else
		snprintf(text, sizeof(text), "%s",
		    origin->layer != NULL ? origin->layer : "built-in");
	audit_put_string(run->audit, record, "origin", text);
}

static void
put_layers(struct run *run, struct audit_record *record, struct hl_json *json, const char *key)
{
	hl_json_key(json, key);
	hl_json_array(json);
	for (size_t i = 0; i < policy_layers_len(run->policy); i++) {
		const struct policy_layer *layer = policy_layer_at(run->policy, i);
		hl_json_object(json);
		hl_json_key(json, "layer");
		hl_json_string(json, layer->layer);
		audit_put_string(run->audit, record, "id", layer->id != NULL ? layer->id : "");
		hl_json_key(json, "rev");
		hl_json_u64(json, layer->revision);
		hl_json_key(json, "sha256");
		hl_json_string(json, layer->sha256);
		if (layer->signer != NULL)
			audit_put_string(run->audit, record, "signer", layer->signer);
		if (layer->file != NULL)
			audit_put_string(run->audit, record, "file", layer->file);
		hl_json_end_object(json);
	}
	hl_json_end_array(json);
}

void
record_put_effective(struct hl_json *json, const char *key, struct policy *policy)
{
	const char *digest = policy_effective_sha256(policy);

	hl_json_member(json, key, digest);
	/* Without memory for it there is none for what it stands in. */
	json->out->failed = json->out->failed || digest == NULL;
}

static const char *
mode_word(const struct policy *policy)
{
	return policy_field_words(POLICY_MODE)[policy_get(policy, POLICY_MODE)->number];
}

int
record_policy_load(struct run *run, const struct policy_findings *findings, struct hl_err *err)
{
	struct audit_record record;

	if (run->audit == NULL)
		return 0;
	struct hl_json *json = audit_event(run->audit, AUDIT_POLICY_LOAD, &record);
	put_layers(run, &record, json, "layers");
	record_put_effective(json, "eff", run->policy);
	hl_json_key(json, "mode");
	hl_json_string(json, mode_word(run->policy));
	hl_json_key(json, "level");
	hl_json_string(json, policy_level(run->policy));
	hl_json_key(json, "warnings");
	hl_json_u64(json, findings->warnings);
	return record_append(run, &record, err);
}

int
record_policy_refuse(struct run *run, const struct policy_findings *findings,
    const struct hl_err *cause, struct hl_err *err)
{
	struct audit_record record;
	const struct policy_finding *first = NULL;

	if (run->audit == NULL)
		return 0;
	const struct hl_where *where = &cause->where;
	struct hl_json *json = audit_event(run->audit, AUDIT_POLICY_REFUSE, &record);
	hl_json_key(json, "code");
	hl_json_string(json, hl_code_info(cause->code)->id);
	hl_json_key(json, "codes");
	hl_json_array(json);
	for (size_t i = 0; findings != NULL && i < findings->len; i++) {
		if (findings->items[i].severity != POLICY_ERROR)
			continue;
		if (first == NULL)
			first = &findings->items[i];
		hl_json_string(json, hl_code_info(findings->items[i].code)->id);
	}
	hl_json_end_array(json);
	if (first != NULL)
		where = &first->where;
	if (where->file != NULL) {
		audit_put_string(run->audit, &record, "file", where->file);
		hl_json_key(json, "line");
		hl_json_u64(json, where->line);
		hl_json_key(json, "col");
		hl_json_u64(json, where->column);
	}
	return record_append(run, &record, err);
}

int
record_conflict(struct run *run, const struct conflict *conflict, struct hl_err *err)
{
	static const char *const actions[] = {
		[CONFLICT_REFUSED] = "refused",
		[CONFLICT_WON] = "won",
		[CONFLICT_DROPPED] = "dropped",
	};
	struct audit_record record;

	if (run->audit == NULL)
		return 0;
	struct hl_json *json = audit_event(run->audit, AUDIT_CONFLICT, &record);
	hl_json_key(json, "code");
	hl_json_string(json, hl_code_info(conflict->code)->id);
	hl_json_key(json, "control");
	hl_json_string(json, conflict->control);
	audit_put_string(run->audit, &record, "door", conflict->door);
	audit_put_string(run->audit, &record, "asked", conflict->asked);
	audit_put_string(run->audit, &record, "bound", conflict->bound);
	put_origin(run, &record, &conflict->origin);
	hl_json_key(json, "action");
	hl_json_string(json, actions[conflict->action]);
	return record_append(run, &record, err);
}

int
record_degraded(struct run *run, const struct control_gap *gap, struct hl_err *err)
{
	struct audit_record record;
	struct hl_origin origin = { 0 };

	if (run->audit == NULL)
		return 0;
	struct hl_json *json = audit_event(run->audit, AUDIT_DEGRADED, &record);
	hl_json_key(json, "code");
	hl_json_string(json, hl_code_info(HLD_01)->id);
	hl_json_key(json, "control");
	hl_json_string(json, control_info(gap->control)->name);
	audit_put_string(run->audit, &record, "reason", gap->reason);
	policy_may_degrade(run->policy, control_info(gap->control)->name, &origin);
	put_origin(run, &record, &origin);
	return record_append(run, &record, err);
}

/* Digest of what is about to be applied: the lines that explain prints. */
static void
plan_digest(const struct run *run, char text[HL_SHA256_HEX_SIZE])
{
	struct hl_sha256 sha;
	unsigned char digest[HL_SHA256_SIZE];

	hl_sha256_init(&sha);
	for (size_t i = 0; i < run->lowered.lines_len; i++)
		hl_sha256_update(&sha, run->lowered.lines[i].text,
		    strlen(run->lowered.lines[i].text) + 1);
	hl_sha256_final(&sha, digest);
	hl_sha256_hex(digest, text);
}

static void
put_names(struct run *run, struct audit_record *record, struct hl_json *json)
{
	char digest[HL_SHA256_HEX_SIZE];

	hl_json_key(json, "env");
	hl_json_array(json);
	for (size_t i = 0; i < run->plan.env_len; i++)
		hl_json_string(json, run->plan.env[i].name);
	hl_json_end_array(json);
	plan_digest(run, digest);
	hl_json_key(json, "plan");
	hl_json_string(json, digest);
	if (run->conflicts.tightened > 0) {
		hl_json_key(json, "tightened");
		hl_json_u64(json, run->conflicts.tightened);
	}
	if (run->request->labels.len == 0)
		return;
	static char *labels[REQUEST_ITEMS_MAX];
	for (size_t i = 0; i < run->request->labels.len; i++)
		memcpy(&labels[i], &run->request->labels.items[i].text, sizeof(labels[i]));
	audit_put_strings(run->audit, record, "labels", labels, run->request->labels.len);
}

static int
add_plan_secrets(struct run *run, struct hl_err *err)
{
	for (size_t i = 0; i < run->plan.env_len; i++) {
		const struct plan_env *env = &run->plan.env[i];
		if (env->is_private &&
		    add_secret(run, env->name, strlen(env->name), env->value, err) != 0)
			return -1;
	}
	return 0;
}

/* Who, under what, where. */
static void
put_identity(struct run *run, struct audit_record *record, struct hl_json *json)
{
	hl_json_key(json, "actor");
	hl_json_object(json);
	hl_json_key(json, "uid");
	hl_json_u64(json, run->host.uid);
	audit_put_string(run->audit, record, "user", run->host.user);
	hl_json_key(json, "pid");
	hl_json_i64(json, getpid());
	hl_json_end_object(json);
	put_layers(run, record, json, "policy");
	record_put_effective(json, "eff", run->policy);
	hl_json_key(json, "mode");
	hl_json_string(json, mode_word(run->policy));
	hl_json_key(json, "backend");
	hl_json_string(json, run->backend->name);
	if (run->plan.image != NULL)
		audit_put_string(run->audit, record, "image", run->plan.image);
}

int
record_start(struct run *run, struct hl_err *err)
{
	struct audit_record record;

	if (run->audit == NULL)
		return 0;
	if (add_plan_secrets(run, err) != 0)
		return -1;
	struct hl_json *json = audit_event(run->audit, AUDIT_RUN_START, &record);
	put_identity(run, &record, json);
	audit_put_strings(run->audit, &record, "argv", run->plan.argv.v, run->plan.argv.len);
	audit_put_string(run->audit, &record, "cwd", run->plan.cwd);
	put_names(run, &record, json);
	if (record_append(run, &record, err) != 0)
		return -1;
	run->was_recorded = true;
	return 0;
}

int
record_session_open(struct run *run, const char *face, const char *name, struct hl_err *err)
{
	struct audit_record record;

	if (run->audit == NULL)
		return 0;
	if (add_plan_secrets(run, err) != 0)
		return -1;
	struct hl_json *json = audit_event(run->audit, AUDIT_SESSION_OPEN, &record);
	hl_json_key(json, "face");
	hl_json_string(json, face);
	if (name != NULL)
		audit_put_string(run->audit, &record, "name", name);
	put_identity(run, &record, json);
	audit_put_string(run->audit, &record, "cwd", run->plan.cwd);
	put_names(run, &record, json);
	if (record_append(run, &record, err) != 0)
		return -1;
	run->was_recorded = true;
	return 0;
}

int
record_flush(struct run *run, struct hl_err *err)
{
	if (run->audit == NULL || audit_flush(run->audit, err) == 0)
		return 0;
	return settle_failure(run, err);
}

static void
put_replaced(struct run *run, struct audit_record *record)
{
	char text[sizeof(run->sandbox.reuse_why) + 16];

	snprintf(text, sizeof(text), "replaced: %s", run->sandbox.reuse_why);
	audit_put_string(run->audit, record, "reuse", text);
}

int
record_sandbox(struct run *run, struct hl_err *err)
{
	static const char *const limits[PLAN_LIMIT_MAX] = { "wall", "cpus", "memory", "pids",
		"files", "shm", "disk", "output" };
	struct audit_record record;

	if (run->audit == NULL)
		return 0;
	struct hl_json *json = audit_event(run->audit, AUDIT_RUN_SANDBOX, &record);
	audit_put_string(run->audit, &record, "id", run->sandbox.id != NULL ? run->sandbox.id : "");
	if (run->sandbox.engine != NULL)
		audit_put_string(run->audit, &record, "engine", run->sandbox.engine);
	if (run->sandbox.image_digest != NULL)
		audit_put_string(run->audit, &record, "image", run->sandbox.image_digest);
	hl_json_key(json, "runner");
	hl_json_string(json, HL_VERSION);
	hl_json_key(json, "applied");
	hl_json_array(json);
	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++)
		if (run->sandbox.limits_applied & (1U << i))
			hl_json_string(json, limits[i]);
	hl_json_end_array(json);
	if (run->sandbox.reuse == SANDBOX_REUSED)
		audit_put_string(run->audit, &record, "reuse", "reused");
	else if (run->sandbox.reuse == SANDBOX_REPLACED)
		put_replaced(run, &record);
	if (run->sandbox.unseen[0] != '\0')
		audit_put_string(run->audit, &record, "unseen", run->sandbox.unseen);
	return record_append(run, &record, err);
}

void
record_put_outcome(struct hl_json *json, const struct session_result *result, bool has_seen_output)
{
	hl_json_key(json, "how");
	hl_json_string(json, runner_how_name(result->how));
	hl_json_key(json, "code");
	hl_json_u64(json, result->code);
	hl_json_key(json, "signal");
	hl_json_u64(json, result->signal);
	hl_json_key(json, "status");
	hl_json_i64(json, result->status);
	if (result->err.code != HL_OK) {
		hl_json_key(json, "err");
		hl_json_string(json, hl_code_info(result->err.code)->id);
	}
	hl_json_key(json, "dur_ms");
	hl_json_u64(json, result->wall_ms);
	hl_json_key(json, "cpu_ms");
	hl_json_u64(json, (result->user_us + result->system_us) / 1000);
	hl_json_key(json, "rss_kib");
	hl_json_u64(json, result->max_rss_kib);
	if (!has_seen_output)
		return;
	hl_json_key(json, "out_bytes");
	hl_json_u64(json, result->out_bytes);
	hl_json_key(json, "err_bytes");
	hl_json_u64(json, result->err_bytes);
}

int
record_end(struct run *run, struct hl_err *err)
{
	struct audit_record record;

	if (run->audit == NULL || !run->was_recorded)
		return 0;
	struct hl_json *json = audit_event(run->audit, AUDIT_RUN_END, &record);
	record_put_outcome(json, &run->result, !run->sandbox.is_stdio_inherited);
	return record_append(run, &record, err);
}
