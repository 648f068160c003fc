/*
 * Values as explain writes them, the same in its text and its JSON form.
 */
#include <string.h>

#include "base/base.h"
#include "launcher/explain.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

void
explain_put_caps(struct hl_buf *out, uint64_t caps)
{
	size_t start = out->len;

	for (unsigned i = 0; i < 64; i++) {
		const char *name = confine_cap_name(i);
		if ((caps >> i & 1) != 0 && name != NULL)
			hl_buf_putf(out, "%s%s", out->len > start ? " " : "", name);
	}
	if (out->len == start)
		hl_buf_puts(out, "none");
}

struct limit_form {
	const char *name;
	void (*put)(struct hl_buf *out, uint64_t value);
};

static void
put_count(struct hl_buf *out, uint64_t value)
{
	hl_buf_putf(out, "%llu", (unsigned long long)value);
}

static const struct limit_form limit_forms[PLAN_LIMIT_MAX] = {
	[PLAN_LIMIT_WALL] = { "wall", hl_buf_put_duration },
	[PLAN_LIMIT_CPUS] = { "cpus", hl_buf_put_milli },
	[PLAN_LIMIT_MEMORY] = { "memory", hl_buf_put_size },
	[PLAN_LIMIT_PIDS] = { "pids", put_count },
	[PLAN_LIMIT_FILES] = { "files", put_count },
	[PLAN_LIMIT_SHM] = { "shm", hl_buf_put_size },
	[PLAN_LIMIT_DISK] = { "disk", hl_buf_put_size },
	[PLAN_LIMIT_OUTPUT] = { "output", hl_buf_put_size },
};

const char *
explain_limit_name(enum plan_limit limit)
{
	return limit_forms[limit].name;
}

void
explain_put_limit(struct hl_buf *out, enum plan_limit limit, const struct plan_number *number)
{
	if (number->has)
		limit_forms[limit].put(out, number->value);
	else
		hl_buf_puts(out, "unlimited");
}

void
explain_put_user(struct hl_buf *out, const struct plan *plan)
{
	if (plan->user_kind == PLAN_USER_IMAGE)
		hl_buf_puts(out, "of the image");
	else
		hl_buf_putf(out, "%u:%u%s", plan->uid, plan->gid,
		    plan->user_kind == PLAN_USER_CALLER ? " (caller)" : "");
}

const char *
explain_env_source(const struct policy *policy, const struct plan_env *env)
{
	const struct policy_value *set = policy_get(policy, POLICY_ENV_SET);

	for (size_t i = 0; i < set->items_len; i++)
		if (strcmp(set->items[i].name, env->name) == 0)
			return "set";
	return plan_env_is_built(env) ? "built" : "passed";
}

void
explain_put_value(struct hl_buf *out, const struct policy *policy, enum policy_field field)
{
	const struct policy_value *value = policy_get(policy, field);

	if (value->kind == POLICY_KIND_MAP) /* its values may be private */
		for (size_t i = 0; i < value->items_len; i++)
			hl_buf_putf(out, "%s%s", i > 0 ? " " : "", value->items[i].name);
	else
		policy_value_format(value, field, out);
}
