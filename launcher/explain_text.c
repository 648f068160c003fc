/*
 * explain for a person: the plan in sections, one value a line, each with the place it comes from.
 * Values of variables are never shown, names are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "launcher/explain.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

enum {
	KEY_WIDTH = 12,
	VALUE_WIDTH = 44
};

static void
section(struct hl_buf *out, const char *name)
{
	hl_buf_putf(out, "%s%s\n", out->len > 0 ? "\n" : "", name);
}

/* key, value, origin in columns; value is made printable. A NULL origin leaves the column out. */
static void
line(struct hl_buf *out, const char *key, const char *value, const struct hl_origin *origin)
{
	hl_buf_putf(out, "  %-*s ", KEY_WIDTH, key);
	size_t start = out->len;
	hl_buf_printable(out, value, strlen(value));
	if (origin != NULL) {
		do
			hl_buf_putc(out, ' ');
		while (!out->failed && out->len - start < VALUE_WIDTH);
		hl_buf_puts(out, "  ");
		origin_put(out, origin);
	}
	hl_buf_putc(out, '\n');
}

static void
line_buf(struct hl_buf *out, const char *key, struct hl_buf *value, const struct hl_origin *origin)
{
	out->failed |= value->failed;
	line(out, key, value->len > 0 ? value->data : "", origin);
	hl_buf_reset(value);
}

static void
text_run(const struct explain *explain, struct hl_buf *out, struct hl_buf *value)
{
	const struct plan *plan = explain->plan;
	const struct policy_value *mode = policy_get(explain->policy, POLICY_MODE);
	const struct policy_value *backends = policy_get(explain->policy, POLICY_BACKENDS);
	const struct policy_value *audit = policy_get(explain->policy, POLICY_AUDIT_REQUIRED);

	section(out, "run");
	line(out, "backend", plan->backend, &backends->origin);
	line(out, "mode", mode->number == 0 ? "enforce" : "warn", &mode->origin);
	line(out, "audit", audit->number != 0 ? "required" : "not required", &audit->origin);
	for (size_t i = 0; i < policy_layers_len(explain->policy); i++) {
		const struct policy_layer *layer = policy_layer_at(explain->policy, i);
		hl_buf_putf(value, "%s", layer->id != NULL ? layer->id : "");
		if (layer->revision > 0)
			hl_buf_putf(value, " rev %llu", (unsigned long long)layer->revision);
		if (layer->file != NULL)
			hl_buf_putf(value, "  %s", layer->file);
		line_buf(out, layer->layer, value, NULL);
	}
	for (size_t i = 0; i < plan->argv.len; i++) {
		hl_buf_puts(value, i > 0 ? " " : "");
		hl_buf_shell_word(value, plan->argv.v[i]);
	}
	line_buf(out, "command", value, NULL);
	line(out, "starts in", plan->cwd, &plan->cwd_origin);
}

static void
text_process(const struct explain *explain, struct hl_buf *out, struct hl_buf *value)
{
	const struct plan *plan = explain->plan;
	const struct policy_value *root = policy_get(explain->policy, POLICY_PROCESS_ALLOW_ROOT);

	section(out, "process");
	explain_put_user(value, plan);
	line_buf(out, "user", value, &plan->user_origin);
	line(out, "allow_root", plan->allow_root ? "true" : "false", &root->origin);
	explain_put_caps(value, plan->caps);
	line_buf(out, "caps", value, &plan->caps_origin);
	line(out, "new privs", plan->no_new_privs ? "never" : "possible",
	    &plan->no_new_privs_origin);
	line(out, "seccomp", policy_field_words(POLICY_PROCESS_SECCOMP_PROFILE)[plan->seccomp],
	    &plan->seccomp_origin);
	hl_buf_putf(value, "%03o", plan->umask);
	line_buf(out, "umask", value, &plan->umask_origin);
	for (size_t i = 0; i < plan->seccomp_files.len; i++)
		line(out, "seccomp file", plan->seccomp_files.v[i], &plan->seccomp_files_origin);
	for (size_t i = 0; i < plan->seccomp_deny.len; i++)
		line(out, "denied call", plan->seccomp_deny.v[i], &plan->seccomp_deny_origin);
	if (plan_is_local(plan)) {
		const struct policy_value *landlock =
		    policy_get(explain->policy, POLICY_FS_LANDLOCK);
		line(out, "isolation", policy_field_words(POLICY_LOCAL_ISOLATION)[plan->isolation],
		    &plan->isolation_origin);
		line(out, "landlock",
		    !plan->landlock              ? "none"
		    : plan->landlock_may_degrade ? "where the kernel has it"
						 : "required",
		    &landlock->origin);
	}
	line(out, "network", policy_field_words(POLICY_NETWORK_MODE)[plan->network],
	    &plan->network_origin);
	section(out, "limits");
	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++) {
		explain_put_limit(value, (enum plan_limit)i, &plan->limits[i]);
		if (plan->limits[i].is_explicit && plan->limits[i].may_degrade)
			hl_buf_puts(value, " (may degrade)");
		line_buf(out, explain_limit_name((enum plan_limit)i), value,
		    &plan->limits[i].origin);
	}
}

static void
put_mount(struct hl_buf *value, const struct plan_mount *mount)
{
	hl_buf_putf(value, "%s", mount->dst);
	if (strcmp(mount->src, mount->dst) != 0)
		hl_buf_putf(value, " <- %s", mount->src);
	hl_buf_putf(value, " %s%s%s", mount->is_writable ? "rw" : "ro",
	    mount->is_exec ? "" : " noexec", mount->is_file ? " file" : "");
}

static void
text_gpus(const struct plan_gpus *gpus, struct hl_buf *out, struct hl_buf *value)
{
	const char *between = "";

	if (!gpus->is_all && gpus->numbers == 0)
		return;
	if (gpus->is_all)
		hl_buf_puts(value, "all");
	for (unsigned i = 0; i < POLICY_GPUS_MAX; i++) {
		if ((gpus->numbers >> i & 1U) == 0)
			continue;
		hl_buf_putf(value, "%s%u", between, i);
		between = " ";
	}
	line_buf(out, "gpus", value, &gpus->origin);
}

static void
text_home(const struct plan *plan, struct hl_buf *out, struct hl_buf *value)
{
	static const char *const kinds[] = {
		[PLAN_HOME_TMPFS] = "tmpfs",
		[PLAN_HOME_PERSIST] = "kept",
		[PLAN_HOME_BIND] = "bind",
	};
	const struct plan_home *home = &plan->home;

	hl_buf_putf(value, "%s %s", home->path, kinds[home->kind]);
	if (home->src != NULL)
		hl_buf_putf(value, " <- %s", home->src);
	if (home->kind == PLAN_HOME_TMPFS && home->size > 0) {
		hl_buf_putc(value, ' ');
		hl_buf_put_size(value, home->size);
	}
	line_buf(out, "home", value, &home->origin);
}

static void
text_files(const struct explain *explain, struct hl_buf *out, struct hl_buf *value)
{
	const struct plan *plan = explain->plan;
	const struct policy_value *mounts = policy_get(explain->policy, POLICY_FS_MOUNTS);
	const struct policy_value *deny = policy_get(explain->policy, POLICY_FS_DENY);
	const struct policy_value *protect = policy_get(explain->policy, POLICY_FS_PROTECT);

	section(out, "files");
	if (plan_is_scrub(plan)) {
		line(out, "boundary", "none: the command sees and changes what its user may",
		    &plan->isolation_origin);
		return;
	}
	line(out, "root", plan->root == PLAN_ROOT_READ_ONLY ? "read-only" : "writable",
	    &plan->root_origin);
	for (size_t i = 0; i < plan->mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		put_mount(value, mount);
		line_buf(out,
		    mount->is_workdir  ? "workdir"
		    : mount->is_volume ? "volume"
				       : "mount",
		    value, &mount->origin);
	}
	if (mounts->items_len == 0)
		line(out, "mounts", "none", &mounts->origin);
	text_home(plan, out, value);
	for (size_t i = 0; i < plan->tmpfs_len; i++) {
		const struct plan_tmpfs *tmpfs = &plan->tmpfs[i];
		hl_buf_putf(value, "%s ", tmpfs->dst);
		hl_buf_put_size(value, tmpfs->size);
		hl_buf_putf(value, " %s mode %o", tmpfs->is_exec ? "exec" : "noexec", tmpfs->mode);
		line_buf(out, "tmpfs", value, &tmpfs->origin);
	}
	for (size_t i = 0; i < plan->devices_len; i++) {
		const struct plan_device *device = &plan->devices[i];
		hl_buf_puts(value, device->dst);
		if (strcmp(device->src, device->dst) != 0)
			hl_buf_putf(value, " <- %s", device->src);
		line_buf(out, "device", value, &device->origin);
	}
	text_gpus(&plan->gpus, out, value);
	for (size_t i = 0; protect->is_explicit && i < protect->items_len; i++)
		line(out, "protect", protect->items[i].text, &protect->items[i].origin);
	for (size_t i = 0; i < deny->items_len; i++)
		line(out, "deny", deny->items[i].text, &deny->items[i].origin);
	for (size_t i = 0; i < plan->deny.len; i++)
		line(out, "covered", plan->deny.v[i], &plan->deny_origins[i]);
}

static void
text_engine(const struct plan *plan, struct hl_buf *out)
{
	if (plan_is_local(plan))
		return;
	section(out, "engine");
	line(out, "client", plan->client != NULL ? plan->client : "the engine's API",
	    &plan->client_origin);
	line(out, "endpoint", plan->endpoint, &plan->endpoint_origin);
	if (plan->is_rootless) {
		char owner[64];
		snprintf(owner, sizeof(owner), "user %u, without root", plan->engine_uid);
		line(out, "runs as", owner, NULL);
	}
	line(out, "rootless", plan->needs_rootless ? "required" : "not required",
	    &plan->rootless_origin);
	line(out, "image", plan->image != NULL ? plan->image : "none named", &plan->image_origin);
	line(out, "digest", plan->image_digest ? "required" : "not required", &plan->digest_origin);
	line(out, "pull", policy_field_words(POLICY_IMAGE_PULL)[plan->pull], &plan->pull_origin);
	for (size_t i = 0; i < plan->engine_args.len; i++)
		line(out, "argument", plan->engine_args.v[i], NULL);
}

static void
text_environment(const struct explain *explain, struct hl_buf *out, struct hl_buf *value)
{
	const struct plan *plan = explain->plan;
	const struct policy_value *pass = policy_get(explain->policy, POLICY_ENV_PASS);

	section(out, "environment (names only)");
	for (size_t i = 0; i < plan->env_len; i++)
		line(out, explain_env_source(explain->policy, &plan->env[i]), plan->env[i].name,
		    &plan->env[i].origin);
	for (size_t i = 0; i < pass->items_len; i++)
		line(out, "rule", pass->items[i].text, &pass->items[i].origin);
	for (size_t i = 0; i < explain->notes->withheld.len; i++) {
		hl_buf_putf(value, "%s%s", value->len > 0 ? " " : "",
		    explain->notes->withheld.v[i]);
		if (value->len < 64 && i + 1 < explain->notes->withheld.len)
			continue;
		line_buf(out, "withheld", value, NULL);
	}
}

/* What a name would get, or gets. */
static void
text_session(const struct explain *explain, struct hl_buf *out, struct hl_buf *value)
{
	static const enum policy_field words[] = { POLICY_SESSION_PERSIST, POLICY_SESSION_REUSE };
	const struct policy_value *lease = policy_get(explain->policy, POLICY_SESSION_LEASE);

	section(out, "session");
	for (size_t i = 0; i < HL_ARRAY_SIZE(words); i++) {
		const struct policy_value *word = policy_get(explain->policy, words[i]);
		line(out, strchr(policy_field_key(words[i]), '.') + 1,
		    policy_field_words(words[i])[word->number], &word->origin);
	}
	if (!plan_can_keep(explain->plan))
		return;
	hl_buf_put_duration(value, lease->number);
	line_buf(out, "lease", value, &lease->origin);
}

static void
text_notes(const struct explain *explain, struct hl_buf *out)
{
	const struct plan_notes *notes = explain->notes;

	if (notes->warnings.len + notes->lines.len == 0)
		return;
	section(out, "notes");
	for (size_t i = 0; i < notes->warnings.len; i++)
		line(out, "warning", notes->warnings.v[i], NULL);
	for (size_t i = 0; i < notes->lines.len; i++)
		line(out, "note", notes->lines.v[i], NULL);
}

void
explain_plan_text(const struct explain *explain, struct hl_buf *out)
{
	struct hl_buf value;

	hl_buf_init(&value, EXPLAIN_MAX);
	text_run(explain, out, &value);
	text_process(explain, out, &value);
	text_files(explain, out, &value);
	text_engine(explain->plan, out);
	text_environment(explain, out, &value);
	text_session(explain, out, &value);
	text_notes(explain, out);
	section(out, "lowered");
	for (size_t i = 0; i < explain->lowered->lines_len; i++)
		line(out, explain->plan->backend, explain->lowered->lines[i].text,
		    &explain->lowered->lines[i].origin);
	hl_buf_done_secret(&value);
}

void
explain_controls_text(const struct explain *explain, struct hl_buf *out)
{
	struct hl_buf value;

	hl_buf_init(&value, EXPLAIN_MAX);
	section(out, "controls");
	for (unsigned i = 0; i < CONTROL_MAX; i++) {
		const struct control_info *info = control_info((enum control)i);
		const struct control_gap *gap = control_gaps_find(explain->gaps, (enum control)i);
		enum policy_field field = policy_field_find(info->name);
		enum enforcer enforcer =
		    control_enforcer((enum control)i, explain->backend->id, explain->plan);
		/* What no backend has, and nobody asks for, is told by `policy schema`. */
		if (!control_is_applied_somewhere((enum control)i) && field != POLICY_FIELD_MAX &&
		    !policy_get(explain->policy, field)->is_explicit)
			continue;
		hl_buf_putf(out, "  %-24s %-9s ", info->name, enforcer_name(enforcer));
		if (gap != NULL)
			hl_buf_putf(&value, "not applied here: %s", gap->reason);
		else if (enforcer == ENFORCER_NONE)
			hl_buf_putf(&value, "%s",
			    control_note((enum control)i, explain->backend->id, explain->plan));
		else
			explain_put_value(&value, explain->policy, field);
		out->failed |= value.failed;
		hl_buf_printable(out, value.len > 0 ? value.data : "", value.len);
		hl_buf_putc(out, '\n');
		hl_buf_reset(&value);
	}
	hl_buf_done_secret(&value);
}
