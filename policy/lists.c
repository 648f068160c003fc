/*
 * One layer's list into the stack: sets (sets.c), places (places.c) and denials, which only add up.
 */
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

struct diag_at
policy_at_item(const struct policy_item *item)
{
	return (struct diag_at){ item->origin.where.line, item->origin.where.column, 1 };
}

bool
policy_is_same_list(const struct policy_items *a, const struct policy_items *b)
{
	return a->v == b->v && a->len == b->len;
}

void
policy_report_list(struct policy_fold *f, enum policy_field field, const struct policy_item *item,
    const struct policy_items *bound, const struct hl_origin *by)
{
	struct hl_buf text;

	hl_buf_init(&text, 4096);
	policy_put_items(&text, policy_field_kind(field), bound);
	bool is_told = !text.failed && !policy_field_is_private(field);
	policy_report_no_effect(f, field, policy_at_item(item),
	    is_told ? text.data : "its own list", by);
	hl_buf_done(&text);
}

bool
policy_item_is_allowed(enum policy_kind kind, const struct policy_state *state,
    const struct policy_item *item)
{
	if (policy_kind_is_set(kind))
		return policy_lists_outside(state, item) == state->lists_len;
	return !state->is_bounded || policy_place_is_inside(kind, &state->allowed, item);
}

static void
check_default(struct policy_fold *f, enum policy_field field, const struct policy_given *given,
    const struct policy_state *state)
{
	enum policy_kind kind = policy_field_kind(field);

	for (size_t i = 0; i < given->items.len; i++) {
		const struct policy_item *item = &given->items.v[i];
		if (policy_item_is_allowed(kind, state, item))
			continue;
		size_t list = policy_kind_is_set(kind) ? policy_lists_outside(state, item) : 0;
		policy_report_outside(f, field, policy_at_item(item), HLP_19,
		    policy_kind_is_set(kind) ? &state->lists[list].origin : &state->bound_origin);
		return;
	}
}

static void
add_denials(struct policy_fold *f, const struct policy_given *given, struct policy_state *state)
{
	size_t room = state->items.len + given->items.len;
	struct policy_items all = { 0 };
	struct policy_seen seen;

	all.v = policy_arena_array(&f->policy->arena, room, sizeof(*all.v));
	if (all.v == NULL || !policy_seen_init(&f->policy->arena, room, false, &seen)) {
		f->is_oom = true;
		return;
	}
	for (size_t i = 0; i < room; i++) {
		const struct policy_item *item = i < state->items.len
						     ? &state->items.v[i]
						     : &given->items.v[i - state->items.len];
		if (policy_seen_first(&seen, item) == NULL)
			all.v[all.len++] = *item;
	}
	state->items = all;
}

void
policy_fold_list(struct policy_fold *f, enum policy_field field, const struct policy_given *given,
    struct policy_state *state)
{
	enum policy_kind kind = policy_field_kind(field);

	if (policy_field_info(field)->merge == MERGE_UNION_DENY) {
		add_denials(f, given, state);
	} else {
		if (given->has_default && !given->is_short)
			check_default(f, field, given, state);
		if (given->has_bound && policy_kind_is_set(kind))
			policy_bound_set(f, field, given, state);
		else if (given->has_bound)
			policy_bound_places(f, field, given, state);
		if (given->has_default)
			state->items = given->items;
	}
	if (given->has_default) {
		state->has_default = true;
		state->origin = policy_origin(f->layer, given->default_at);
	}
}

bool
policy_cut_list(struct policy_arena *arena, enum policy_kind kind, const struct policy_state *state,
    struct policy_items *items)
{
	if (policy_kind_is_set(kind))
		return policy_cut_set(arena, state, items);
	return !state->is_bounded || policy_cut_places(arena, kind, &state->allowed, items);
}
