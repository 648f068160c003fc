/*
 * What a tighter layer makes meaningless lies dormant: it is left out of what is effective, so that
 * no plan is built on it, and its bound stays. One file that says both is wrong (check.c); what is
 * printed of a stack is one file, and must be right.
 */
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

/* With the one field bounded to its strictest word, the other goes no further than `most`; of a
 * list nothing is left. */
static const struct {
	enum policy_field field, by;
	uint64_t most;
} rows[] = {
	{ POLICY_PROCESS_CAPS, POLICY_PROCESS_SECCOMP_PROFILE, 0 },
	{ POLICY_NETWORK_PUBLISH, POLICY_NETWORK_MODE, 0 },
	{ POLICY_NETWORK_DNS, POLICY_NETWORK_MODE, 1 }, /* proxy, which is what nobody asks for */
	{ POLICY_SSH_RUNNER, POLICY_FS_LANDLOCK, 0 },
};

/* The field that rules over this one, or NULL. */
static const struct policy_state *
ruler_of(const struct policy *policy, enum policy_field field, uint64_t *ret_most)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		const struct policy_state *by = &policy->states[rows[i].by];
		if (rows[i].field != field || !by->is_bounded || by->bound != 0)
			continue;
		*ret_most = rows[i].most;
		return by;
	}
	return NULL;
}

bool
policy_is_cloud(const char *backend)
{
	static const char *const words[] = { "modal", "daytona", "vercel" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(words); i++)
		if (strcmp(words[i], backend) == 0)
			return true;
	return false;
}

static bool
are_all_cloud(struct policy *policy, bool *ret_are)
{
	const struct policy_state *backends = &policy->states[POLICY_BACKENDS];
	struct policy_refs flat = { 0 };
	bool are = backends->is_bounded;

	if (are && !policy_flatten(&policy->arena, backends, &flat))
		return false;
	for (size_t i = 0; i < flat.len; i++)
		are = are && policy_is_cloud(flat.v[i]->text);
	*ret_are = are && flat.len > 0;
	return true;
}

/* A command cannot outlive its sandbox, where every backend is one whose sandbox ends. */
static int
shorten_wall(struct policy *policy, struct hl_err *err)
{
	struct policy_state *wall = &policy->states[POLICY_LIMITS_WALL];
	const struct policy_state *life = &policy->states[POLICY_CLOUD_LIFETIME];
	bool are_cloud;

	if (!life->is_bounded || wall->number == POLICY_UNLIMITED || wall->number <= life->bound)
		return 0;
	if (!are_all_cloud(policy, &are_cloud))
		return hl_err_oom(err);
	if (are_cloud) {
		wall->number = life->bound;
		wall->origin = life->bound_origin;
	}
	return 0;
}

int
policy_number_dormant(struct policy *policy, enum policy_field field, struct hl_err *err)
{
	struct policy_state *state = &policy->states[field];
	uint64_t most;
	const struct policy_state *by = ruler_of(policy, field, &most);

	if (by != NULL && state->number > most) {
		state->number = most;
		state->origin = by->bound_origin;
	}
	return field == POLICY_LIMITS_WALL ? shorten_wall(policy, err) : 0;
}

void
policy_list_dormant(struct policy *policy, enum policy_field field, struct policy_items *items)
{
	uint64_t most;
	const struct policy_state *by = ruler_of(policy, field, &most);

	if (by == NULL || items->len == 0)
		return;
	items->len = 0;
	policy->states[field].origin = by->bound_origin;
}

bool
policy_name_is_denied(const struct policy_items *denied, const char *name, size_t *ret_by)
{
	for (size_t i = 0; i < denied->len; i++) {
		if (!hl_glob_match(denied->v[i].text, name))
			continue;
		*ret_by = i;
		return true;
	}
	return false;
}

/* What was decided stays decided: only the value loses them. */
int
policy_names_dormant(struct policy *policy, struct policy_items *ret_left, struct hl_err *err)
{
	const struct policy_state *set = &policy->states[POLICY_ENV_SET];
	const struct policy_items *denied = &policy->states[POLICY_ENV_DENY].items;
	struct policy_items left = { 0 };
	size_t by;

	if (set->items.len == 0 || denied->len == 0) {
		*ret_left = set->items;
		return 0;
	}
	left.v = policy_arena_array(&policy->arena, set->items.len, sizeof(*left.v));
	if (left.v == NULL)
		return hl_err_oom(err);
	for (size_t i = 0; i < set->items.len; i++)
		if (!policy_name_is_denied(denied, set->items.v[i].name, &by))
			left.v[left.len++] = set->items.v[i];
	*ret_left = left;
	return 0;
}
