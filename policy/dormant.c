/*
 * What a tighter layer makes meaningless lies dormant: it is left out of what is effective, so that
 * no plan is built on it, and its bound stays. One file that says both is wrong, and of a stack it
 * is told (contradict.c); what is printed of a stack is one file, and must be right.
 */
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

/* Of contradictions.def: with the one field bounded to its strictest word, the other goes no
 * further than `most`; of a list nothing is left. */
static const struct {
	enum policy_field field, by;
	enum policy_across across;
	bool is_ruled; /* by a word */
	uint64_t most;
} rows[] = {
#define SOME    0
#define USED(n) 0
#define HELD(n) ((n) == 0)
#define CONTRADICTION(symbol, code, severity, across, most, field, is, by, by_is, ...) \
 { POLICY_##field, POLICY_##by, POLICY_ACROSS_##across, by_is, most },
#include "policy/contradictions.def"
#undef CONTRADICTION
};

/* The field that rules over this one, or NULL. */
static const struct policy_state *
ruler_of(const struct policy *policy, enum policy_field field, uint64_t *ret_most)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		const struct policy_state *by = &policy->states[rows[i].by];
		if (rows[i].field != field || rows[i].across != POLICY_ACROSS_DORMANT ||
		    !rows[i].is_ruled || !by->is_bounded || by->bound != 0)
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

/* Whether a mount or the working directory is there, which are settled before. */
static bool
is_taken(const struct policy *policy, const char *dst)
{
	const struct policy_items *mounts = &policy->states[POLICY_FS_MOUNTS].items;
	const struct policy_items *workdir = &policy->states[POLICY_FS_WORKDIR].items;

	for (size_t i = 0; i < mounts->len; i++)
		if (strcmp(mounts->v[i].mount.dst, dst) == 0)
			return true;
	return workdir->len > 0 && workdir->v[0].mount.dst != NULL &&
	       strcmp(workdir->v[0].mount.dst, dst) == 0;
}

/* Nobody asked for the default ones, nor a level's: what a file puts there is meant. */
static int
leave_out_taken(struct policy *policy, struct policy_items *tmpfs, struct hl_err *err)
{
	struct policy_items left = { 0 };

	left.v = policy_arena_array(&policy->arena, tmpfs->len, sizeof(*left.v));
	if (left.v == NULL)
		return hl_err_oom(err);
	for (size_t i = 0; i < tmpfs->len; i++) {
		const struct policy_item *item = &tmpfs->v[i];
		bool is_default = strcmp(item->origin.layer, "built-in") == 0 ||
				  strcmp(item->origin.layer, "level") == 0;
		if (!is_default || !is_taken(policy, item->tmpfs.dst))
			left.v[left.len++] = *item;
	}
	*tmpfs = left;
	return 0;
}

int
policy_list_dormant(struct policy *policy, enum policy_field field, struct policy_items *items,
    struct hl_err *err)
{
	uint64_t most;
	const struct policy_state *by = ruler_of(policy, field, &most);

	if (field == POLICY_FS_TMPFS)
		return leave_out_taken(policy, items, err);
	if (by == NULL || items->len == 0)
		return 0;
	items->len = 0;
	policy->states[field].origin = by->bound_origin;
	return 0;
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
