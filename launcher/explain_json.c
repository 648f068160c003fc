/*
 * explain for a program: one JSON object, the same facts as the text form. An engine's own body
 * goes in as it stands ("body"). Values of variables are in neither.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "launcher/explain.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

static void
put_origin(struct hl_json *json, const struct hl_origin *origin)
{
	struct hl_buf text;

	hl_buf_init(&text, 8192);
	origin_put(&text, origin);
	json->out->failed |= text.failed;
	hl_json_key(json, "origin");
	hl_json_string(json, text.len > 0 ? text.data : "");
	hl_buf_done_secret(&text);
}

static void
put_bool(struct hl_json *json, const char *key, bool value)
{
	hl_json_key(json, key);
	hl_json_bool(json, value);
}

static void
put_strings(struct hl_json *json, const char *key, const struct hl_strv *strings)
{
	hl_json_key(json, key);
	hl_json_array(json);
	for (size_t i = 0; i < strings->len; i++)
		hl_json_string(json, strings->v[i]);
	hl_json_end_array(json);
}

/* "key":{"value":...,"origin":...}; the value's buffer is emptied. */
static void
put_value(struct hl_json *json, const char *key, struct hl_buf *value,
    const struct hl_origin *origin)
{
	json->out->failed |= value->failed;
	hl_json_key(json, key);
	hl_json_object(json);
	hl_json_member(json, "value", value->len > 0 ? value->data : "");
	put_origin(json, origin);
	hl_json_end_object(json);
	hl_buf_reset(value);
}

static void
put_layers(struct hl_json *json, const struct policy *policy)
{
	hl_json_key(json, "layers");
	hl_json_array(json);
	for (size_t i = 0; i < policy_layers_len(policy); i++) {
		const struct policy_layer *layer = policy_layer_at(policy, i);
		hl_json_object(json);
		hl_json_member(json, "layer", layer->layer);
		hl_json_member(json, "id", layer->id);
		hl_json_key(json, "revision");
		hl_json_u64(json, layer->revision);
		hl_json_member(json, "file", layer->file);
		hl_json_member(json, "sha256", layer->sha256);
		hl_json_end_object(json);
	}
	hl_json_end_array(json);
}

static void
put_process(struct hl_json *json, const struct plan *plan)
{
	struct hl_buf value;

	hl_buf_init(&value, 8192);
	explain_put_user(&value, plan);
	put_value(json, "user", &value, &plan->user_origin);
	explain_put_caps(&value, plan->caps);
	put_value(json, "caps", &value, &plan->caps_origin);
	hl_buf_puts(&value, plan->no_new_privs ? "true" : "false");
	put_value(json, "no_new_privs", &value, &plan->no_new_privs_origin);
	hl_buf_puts(&value, policy_field_words(POLICY_PROCESS_SECCOMP_PROFILE)[plan->seccomp]);
	put_value(json, "seccomp", &value, &plan->seccomp_origin);
	hl_buf_putf(&value, "%03o", plan->umask);
	put_value(json, "umask", &value, &plan->umask_origin);
	for (size_t i = 0; i < plan->seccomp_deny.len; i++)
		hl_buf_putf(&value, "%s%s", i > 0 ? " " : "", plan->seccomp_deny.v[i]);
	put_value(json, "seccomp_deny", &value, &plan->seccomp_deny_origin);
	for (size_t i = 0; i < plan->seccomp_files.len; i++)
		hl_buf_putf(&value, "%s%s", i > 0 ? ", " : "", plan->seccomp_files.v[i]);
	put_value(json, "seccomp_files", &value, &plan->seccomp_files_origin);
	hl_buf_puts(&value, policy_field_words(POLICY_LOCAL_ISOLATION)[plan->isolation]);
	if (plan_is_local(plan))
		put_value(json, "isolation", &value, &plan->isolation_origin);
	hl_buf_reset(&value);
	put_bool(json, "landlock", plan->landlock);
	hl_buf_puts(&value, policy_field_words(POLICY_NETWORK_MODE)[plan->network]);
	put_value(json, "network", &value, &plan->network_origin);
	hl_json_key(json, "limits");
	hl_json_object(json);
	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++) {
		explain_put_limit(&value, (enum plan_limit)i, &plan->limits[i]);
		put_value(json, explain_limit_name((enum plan_limit)i), &value,
		    &plan->limits[i].origin);
	}
	hl_json_end_object(json);
	hl_buf_done_secret(&value);
}

static void
put_session(struct hl_json *json, const struct explain *explain)
{
	static const enum policy_field fields[] = { POLICY_SESSION_PERSIST, POLICY_SESSION_REUSE,
		POLICY_SESSION_LEASE };
	struct hl_buf value;

	hl_buf_init(&value, 256);
	hl_json_key(json, "session");
	hl_json_object(json);
	for (size_t i = 0; i < HL_ARRAY_SIZE(fields); i++) {
		const struct policy_value *is = policy_get(explain->policy, fields[i]);
		if (fields[i] == POLICY_SESSION_LEASE)
			hl_buf_put_duration(&value, is->number);
		else
			hl_buf_puts(&value, policy_field_words(fields[i])[is->number]);
		put_value(json, strchr(policy_field_key(fields[i]), '.') + 1, &value, &is->origin);
	}
	hl_json_end_object(json);
	hl_buf_done(&value);
}

/* "all", or numbers. */
static void
put_gpus(struct hl_json *json, const struct plan_gpus *gpus)
{
	hl_json_key(json, "gpus");
	hl_json_array(json);
	if (gpus->is_all)
		hl_json_string(json, "all");
	for (unsigned i = 0; i < POLICY_GPUS_MAX; i++)
		if ((gpus->numbers >> i & 1U) != 0)
			hl_json_u64(json, i);
	hl_json_end_array(json);
}

static void
put_mounts(struct hl_json *json, const struct plan *plan)
{
	hl_json_key(json, "mounts");
	hl_json_array(json);
	for (size_t i = 0; i < plan->mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		hl_json_object(json);
		hl_json_member(json, "src", mount->src);
		hl_json_member(json, "dst", mount->dst);
		put_bool(json, "writable", mount->is_writable);
		put_bool(json, "exec", mount->is_exec);
		put_bool(json, "file", mount->is_file);
		put_bool(json, "volume", mount->is_volume);
		put_bool(json, "workdir", mount->is_workdir);
		put_origin(json, &mount->origin);
		hl_json_end_object(json);
	}
	hl_json_end_array(json);
	hl_json_key(json, "devices");
	hl_json_array(json);
	for (size_t i = 0; i < plan->devices_len; i++) {
		const struct plan_device *device = &plan->devices[i];
		hl_json_object(json);
		hl_json_member(json, "src", device->src);
		hl_json_member(json, "dst", device->dst);
		put_origin(json, &device->origin);
		hl_json_end_object(json);
	}
	hl_json_end_array(json);
	put_gpus(json, &plan->gpus);
	hl_json_key(json, "tmpfs");
	hl_json_array(json);
	for (size_t i = 0; i < plan->tmpfs_len; i++) {
		const struct plan_tmpfs *tmpfs = &plan->tmpfs[i];
		hl_json_object(json);
		hl_json_member(json, "dst", tmpfs->dst);
		hl_json_key(json, "size");
		hl_json_u64(json, tmpfs->size);
		put_bool(json, "exec", tmpfs->is_exec);
		hl_json_key(json, "mode");
		hl_json_u64(json, tmpfs->mode);
		put_origin(json, &tmpfs->origin);
		hl_json_end_object(json);
	}
	hl_json_end_array(json);
}

static void
put_files(struct hl_json *json, const struct plan *plan)
{
	static const char *const kinds[] = {
		[PLAN_HOME_TMPFS] = "tmpfs",
		[PLAN_HOME_PERSIST] = "persist",
		[PLAN_HOME_BIND] = "bind",
	};

	hl_json_key(json, "root");
	hl_json_object(json);
	put_bool(json, "writable", plan->root == PLAN_ROOT_WRITABLE);
	put_origin(json, &plan->root_origin);
	hl_json_end_object(json);
	put_mounts(json, plan);
	hl_json_key(json, "home");
	hl_json_object(json);
	hl_json_member(json, "kind", kinds[plan->home.kind]);
	hl_json_member(json, "path", plan->home.path);
	hl_json_member(json, "src", plan->home.src);
	hl_json_key(json, "size");
	hl_json_u64(json, plan->home.size);
	put_origin(json, &plan->home.origin);
	hl_json_end_object(json);
	hl_json_key(json, "covered");
	hl_json_array(json);
	for (size_t i = 0; i < plan->deny.len; i++) {
		hl_json_object(json);
		hl_json_member(json, "path", plan->deny.v[i]);
		put_origin(json, &plan->deny_origins[i]);
		hl_json_end_object(json);
	}
	hl_json_end_array(json);
}

static void
put_environment(struct hl_json *json, const struct explain *explain)
{
	const struct plan *plan = explain->plan;

	hl_json_key(json, "environment");
	hl_json_array(json);
	for (size_t i = 0; i < plan->env_len; i++) {
		hl_json_object(json);
		hl_json_member(json, "name", plan->env[i].name);
		hl_json_member(json, "from", explain_env_source(explain->policy, &plan->env[i]));
		put_origin(json, &plan->env[i].origin);
		hl_json_end_object(json);
	}
	hl_json_end_array(json);
	put_strings(json, "withheld", &explain->notes->withheld);
}

static void
put_engine(struct hl_json *json, const struct plan *plan)
{
	if (plan_is_local(plan))
		return;
	hl_json_key(json, "engine");
	hl_json_object(json);
	hl_json_member(json, "client", plan->client);
	hl_json_member(json, "endpoint", plan->endpoint);
	put_bool(json, "rootless", plan->is_rootless);
	put_bool(json, "rootless_required", plan->needs_rootless);
	hl_json_member(json, "image", plan->image);
	put_bool(json, "digest_required", plan->image_digest);
	hl_json_member(json, "pull", policy_field_words(POLICY_IMAGE_PULL)[plan->pull]);
	put_strings(json, "arguments", &plan->engine_args);
	hl_json_end_object(json);
}

static void
put_controls(struct hl_json *json, const struct explain *explain)
{
	struct hl_buf value;

	hl_buf_init(&value, EXPLAIN_MAX);
	hl_json_key(json, "controls");
	hl_json_array(json);
	for (unsigned i = 0; i < CONTROL_MAX; i++) {
		const struct control_info *info = control_info((enum control)i);
		const struct control_gap *gap = control_gaps_find(explain->gaps, (enum control)i);
		enum policy_field field = policy_field_find(info->name);
		enum enforcer enforcer =
		    control_enforcer((enum control)i, explain->backend->id, explain->plan);
		hl_json_object(json);
		hl_json_member(json, "control", info->name);
		hl_json_member(json, "enforcer", enforcer_name(enforcer));
		explain_put_value(&value, explain->policy, field);
		json->out->failed |= value.failed;
		hl_json_member(json, "value", value.len > 0 ? value.data : "");
		hl_buf_reset(&value);
		if (enforcer == ENFORCER_NONE)
			hl_json_member(json, "note", info->note);
		if (gap != NULL)
			hl_json_member(json, "gap", gap->reason);
		hl_json_end_object(json);
	}
	hl_json_end_array(json);
	hl_buf_done_secret(&value);
}

void
explain_json(const struct explain *explain, struct hl_buf *out)
{
	const struct plan *plan = explain->plan;
	const struct lowered *lowered = explain->lowered;
	struct hl_json json;

	hl_json_init(&json, out);
	hl_json_object(&json);
	hl_json_member(&json, "backend", plan->backend);
	hl_json_member(&json, "mode",
	    policy_get(explain->policy, POLICY_MODE)->number == 0 ? "enforce" : "warn");
	put_layers(&json, explain->policy);
	put_strings(&json, "command", &plan->argv);
	hl_json_member(&json, "cwd", plan->cwd);
	put_process(&json, plan);
	put_files(&json, plan);
	put_engine(&json, plan);
	put_environment(&json, explain);
	put_session(&json, explain);
	put_controls(&json, explain);
	put_strings(&json, "warnings", &explain->notes->warnings);
	put_strings(&json, "notes", &explain->notes->lines);
	hl_json_key(&json, "lowered");
	hl_json_array(&json);
	for (size_t i = 0; i < lowered->lines_len; i++) {
		hl_json_object(&json);
		hl_json_member(&json, "line", lowered->lines[i].text);
		put_origin(&json, &lowered->lines[i].origin);
		hl_json_end_object(&json);
	}
	hl_json_end_array(&json);
	if (lowered->argv.len > 0)
		put_strings(&json, "argv", &lowered->argv);
	if (lowered->body.len > 0) {
		hl_json_key(&json, "body");
		hl_json_raw(&json, lowered->body.data);
	}
	hl_json_end_object(&json);
	hl_buf_putc(out, '\n');
}
