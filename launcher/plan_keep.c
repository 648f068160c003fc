/*
 * A sandbox that is shared, or stays: whose it is, and for how long. A name makes it: without one
 * nobody could find it again.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "launcher/plan_parts.h"

#include "base/banned.h"

int
plan_profile(const struct fs_scope *scope, char digest[HL_SHA256_HEX_SIZE], struct hl_err *err)
{
	size_t layers = policy_layers_len(scope->policy);
	const char *id = layers > 0 ? policy_layer_at(scope->policy, layers - 1)->id : "";
	struct hl_buf key;

	hl_buf_init(&key, (size_t)4 * PATH_MAX);
	hl_wire_put_string(&key, scope->plan->backend);
	hl_wire_put_u32(&key, scope->host->uid);
	hl_wire_put_string(&key, id);
	hl_wire_put_string(&key, scope->workdir);
	int rc = hl_buf_check(&key, "profile", err);
	if (rc == 0)
		hl_sha256_text(key.data, key.len, digest);
	hl_buf_done(&key);
	return rc;
}

/* An engine is one for all state directories, whose sessions know nothing of each other. */
static void
add_place(const struct fs_scope *scope, const char *profile, char digest[HL_SHA256_HEX_SIZE])
{
	const char *const parts[] = { profile, scope->host->state_dir };

	hl_sha256_parts(parts, HL_ARRAY_SIZE(parts), digest);
}

/* A sandbox on this host has no root of its own that could be kept; not every container that has is
 * found again. */
bool
plan_can_keep(const struct plan *plan)
{
	return control_enforcer(CONTROL_SESSION_LEASE, plan_backend_id(plan), plan) !=
	       ENFORCER_NONE;
}

/* On this host that nothing is kept is told; a container has a root, and whoever gives it a name
 * relies on what is in it. */
static int
check_task(const struct fs_scope *scope, const struct policy_value *persist, struct hl_err *err)
{
	const struct plan *plan = scope->plan;

	if (persist->number != PLAN_PERSIST_TASK || plan_can_keep(plan) || plan_is_local(plan) ||
	    !plan_is_enforced(scope->policy) ||
	    policy_may_degrade(scope->policy, policy_field_key(POLICY_SESSION_PERSIST), NULL))
		return 0;
	hl_err_set(err, HLD_20, "session.persist: task has no effect on backend %s: %s",
	    plan->backend, control_note(CONTROL_SESSION_LEASE, plan_backend_id(plan), plan));
	err->where = persist->origin.where;
	return hl_err_help(err, "write session: {persist: session}, leave --name away, or take "
				"what keeps it from that out of fs.devices");
}

int
plan_keep(const struct fs_scope *scope, struct hl_err *err)
{
	const struct policy_value *persist = policy_get(scope->policy, POLICY_SESSION_PERSIST);
	const struct policy_value *lease = policy_get(scope->policy, POLICY_SESSION_LEASE);
	struct plan_keep *keep = &scope->plan->keep;
	char profile[HL_SHA256_HEX_SIZE];

	keep->persist_origin = persist->origin;
	keep->lease_origin = lease->origin;
	if (scope->request->name.text == NULL)
		return 0;
	if (check_task(scope, persist, err) != 0 || plan_profile(scope, profile, err) != 0)
		return -1;
	add_place(scope, profile, keep->profile);
	keep->session = scope->request->name.text;
	keep->is_kept = persist->number == PLAN_PERSIST_TASK && plan_can_keep(scope->plan);
	keep->lease_ms = lease->number;
	return 0;
}
