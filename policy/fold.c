/*
 * One layer into the stack. Bounds only tighten: whatever the order of layers, the result is the
 * strictest of all, so no file that comes later can open what an earlier one closed. What cannot be
 * taken is said: a looser bound has no effect (a warning), a default outside an earlier bound or a
 * touched lock is an error.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

static void
describe(const struct hl_origin *origin, char *text, size_t size)
{
	const char *who = origin->id != NULL ? origin->id : origin->layer;

	snprintf(text, size, "%s", who != NULL ? who : "an earlier layer");
}

void
policy_report_no_effect(struct policy_fold *f, enum policy_field field, struct diag_at at,
    const char *bound, const struct hl_origin *by)
{
	char who[160];

	if (f->layer->is_level)
		return;
	describe(by, who, sizeof(who));
	policy_diag_warn(f->diag, HLP_21, at, "%s has no effect: %s %s %.100s (%s:%u:%u)",
	    policy_field_key(field), who,
	    policy_field_is_least(field) ? "asks for at least" : "allows at most", bound,
	    by->where.file, by->where.line, by->where.column);
}

void
policy_report_outside(struct policy_fold *f, enum policy_field field, struct diag_at at,
    enum hl_code code, const struct hl_origin *by)
{
	char who[160];

	if (f->layer->is_level)
		return;
	describe(by, who, sizeof(who));
	policy_diag_error(f->diag, code, at,
	    code == HLP_20 ? "%s is decided by %s" : "the default of %s is outside the bound of %s",
	    policy_field_key(field), who);
	policy_diag_other(f->diag, by->where,
	    code == HLP_20 ? "decided here" : "the bound is here");
}

/* ------------------------------------------------------------------------------------------------
 * Numbers and ranks: the smaller one
 */

static void
fold_bound(struct policy_fold *f, enum policy_field field, const struct policy_given *given,
    struct policy_state *state)
{
	struct hl_buf text;

	uint64_t both = state->is_bounded ? policy_number_of_both(field, given->bound, state->bound)
					  : given->bound;

	if (!state->is_bounded || both != state->bound) {
		state->is_bounded = true;
		state->bound = both;
		state->bound_origin = policy_origin(f->layer, given->at);
		return;
	}
	if (given->bound == state->bound)
		return;
	hl_buf_init(&text, 128);
	policy_put_number(&text, field, state->bound);
	policy_report_no_effect(f, field, given->at, text.data, &state->bound_origin);
	hl_buf_done(&text);
}

static void
fold_number(struct policy_fold *f, enum policy_field field, const struct policy_given *given,
    struct policy_state *state)
{
	if (given->has_bound)
		fold_bound(f, field, given, state);
	if (!given->has_default)
		return;
	if (!given->is_short && state->is_bounded &&
	    !policy_number_is_inside(field, given->number, state->bound)) {
		/* Its own bound was told of by policy_check_file(). */
		if (!given->has_bound ||
		    policy_number_is_inside(field, given->number, given->bound))
			policy_report_outside(f, field, given->default_at, HLP_19,
			    &state->bound_origin);
	}
	state->has_default = true;
	state->number = given->number;
	state->origin = policy_origin(f->layer, given->default_at);
}

/* The home's kind folds like a rank; its size is the smallest that any layer gives, and its source
 * is what the first one that has any gives. */
static void
fold_home(struct policy_fold *f, enum policy_field field, const struct policy_given *given,
    struct policy_state *state)
{
	struct policy_home_value old = { .size = POLICY_UNLIMITED };

	if (state->items.len > 0)
		old = state->items.v[0].home;
	bool is_other = given->items.len > 0 && old.src != NULL &&
			given->items.v[0].home.src != NULL &&
			strcmp(old.src, given->items.v[0].home.src) != 0;
	if (is_other)
		policy_report_outside(f, field, given->at, HLP_20, &f->policy->home_src_origin);
	fold_number(f, field, given, state);
	if (!given->has_default || given->items.len == 0)
		return;
	state->items = given->items;
	struct policy_home_value *home = &state->items.v[0].home;
	if (old.src == NULL && home->src != NULL)
		f->policy->home_src_origin = state->origin;
	if (old.src != NULL)
		home->src = old.src;
	if (old.size < home->size)
		home->size = old.size;
}

/* ------------------------------------------------------------------------------------------------
 * What the first layer decides
 */

static void
fold_text(struct policy_fold *f, enum policy_field field, const struct policy_given *given,
    struct policy_state *state)
{
	bool is_other = state->is_bounded && strcmp(state->text, given->text) != 0;

	if (is_other && given->has_bound)
		policy_report_outside(f, field, given->at, HLP_20, &state->bound_origin);
	else if (is_other)
		policy_report_outside(f, field, given->default_at, HLP_19, &state->bound_origin);
	if (state->is_bounded)
		return;
	state->text = given->text;
	state->has_default = true;
	state->origin = policy_origin(f->layer, given->default_at);
	if (given->has_bound) {
		state->is_bounded = true;
		state->bound_origin = policy_origin(f->layer, given->at);
	}
}

/* Names of the environment are told, their values never. */
static void
report_other_value(struct policy_fold *f, const struct policy_item *item,
    const struct policy_item *old)
{
	struct diag_at at = { item->origin.where.line, item->origin.where.column,
		(uint32_t)strlen(item->name) };
	char who[160];

	describe(&old->origin, who, sizeof(who));
	policy_diag_error(f->diag, HLP_20, at, "env.set %.60s is decided by %s", item->name, who);
	policy_diag_other(f->diag, old->origin.where, "decided here");
}

static void
fold_map(struct policy_fold *f, const struct policy_given *given, struct policy_state *state)
{
	size_t room = state->items.len + given->items.len;
	struct policy_items all = { 0 };
	struct policy_seen seen;

	state->has_default = true;
	state->origin = policy_origin(f->layer, given->at);
	/* Of one file no name is there twice. */
	if (state->items.len == 0) {
		state->items = given->items;
		return;
	}
	all.v = policy_arena_array(&f->policy->arena, room, sizeof(*all.v));
	if (all.v == NULL || !policy_seen_init(&f->policy->arena, room, true, &seen)) {
		f->is_oom = true;
		return;
	}
	for (size_t i = 0; i < room; i++) {
		const struct policy_item *item = i < state->items.len
						     ? &state->items.v[i]
						     : &given->items.v[i - state->items.len];
		const struct policy_item *old = policy_seen_first(&seen, item);
		if (old == NULL)
			all.v[all.len++] = *item;
		else if (strcmp(old->text, item->text) != 0)
			report_other_value(f, item, old);
	}
	state->items = all;
}

/* origin: of who decided it. */
static void
fold_place(struct policy_fold *f, const struct policy_given *given, const char *path,
    const char **into, struct hl_origin *origin)
{
	if (path == NULL)
		return;
	if (*into == NULL) {
		*into = path;
		*origin = policy_origin(f->layer, given->at);
	} else if (strcmp(*into, path) != 0) {
		policy_report_outside(f, POLICY_FS_WORKDIR, given->at, HLP_20, origin);
	}
}

/* path and at are decided once, access is the stricter. */
static void
fold_workdir(struct policy_fold *f, const struct policy_given *given, struct policy_state *state)
{
	const struct policy_mount *mount = &given->items.v[0].mount;

	if (state->items.len == 0) {
		state->items.v = policy_arena_array(&f->policy->arena, 1, sizeof(*state->items.v));
		if (state->items.v == NULL) {
			f->is_oom = true;
			return;
		}
		state->items.len = 1;
	}
	fold_place(f, given, mount->src, &state->items.v[0].mount.src,
	    &f->policy->workdir_path_origin);
	fold_place(f, given, mount->dst, &state->items.v[0].mount.dst,
	    &f->policy->workdir_at_origin);
	if (given->has_bound)
		fold_bound(f, POLICY_FS_WORKDIR, given, state);
	state->has_default = true;
	state->origin = policy_origin(f->layer, given->at);
}

/* ------------------------------------------------------------------------------------------------
 * The layer
 */

static void
fold_field(struct policy_fold *f, enum policy_field field, const struct policy_given *given)
{
	struct policy_state *state = &f->policy->states[field];

	switch (policy_field_kind(field)) {
	case POLICY_KIND_BOOL:
	case POLICY_KIND_ENUM:
	case POLICY_KIND_INT:
	case POLICY_KIND_BITS:
	case POLICY_KIND_SIZE:
	case POLICY_KIND_DURATION:
	case POLICY_KIND_MILLI:
		fold_number(f, field, given, state);
		break;
	case POLICY_KIND_HOME:
		fold_home(f, field, given, state);
		break;
	case POLICY_KIND_STRING:
		if (given->text != NULL)
			fold_text(f, field, given, state);
		break;
	case POLICY_KIND_SET:
	case POLICY_KIND_RECORDS:
	case POLICY_KIND_NAMED:
	case POLICY_KIND_MOUNTS:
	case POLICY_KIND_TMPFS:
		policy_fold_list(f, field, given, state);
		break;
	case POLICY_KIND_MAP:
		fold_map(f, given, state);
		break;
	case POLICY_KIND_WORKDIR:
		if (given->items.len > 0)
			fold_workdir(f, given, state);
		break;
	case POLICY_KIND_MAX:
		break;
	}
}

/* Whether what is locked lets through what the layer's bound would not. */
static bool
would_tighten(struct policy_fold *f, enum policy_field field, const struct policy_given *given)
{
	const struct policy_state *state = &f->policy->states[field];
	struct policy_refs flat = { 0 };
	struct policy_index index;

	if (!given->has_bound || !state->is_bounded)
		return given->has_bound;
	if (!policy_kind_is_set(policy_field_kind(field)))
		return !policy_kind_is_list(policy_field_kind(field)) &&
		       !policy_number_is_inside(field, state->bound, given->bound);
	if (!policy_flatten(&f->policy->arena, state, &flat) ||
	    !policy_index_init(&f->policy->arena, &given->allowed, &index)) {
		f->is_oom = true;
		return false;
	}
	for (size_t i = 0; i < flat.len; i++)
		if (!policy_index_has(&index, flat.v[i]))
			return true;
	return false;
}

/* A level is not somebody's wish: what was locked before it stays as it is. Who names the level is
 * told what of it does not hold. */
static bool
lock_out_level(struct policy_fold *f, enum policy_field field, const struct policy_given *given)
{
	const struct policy_state *state = &f->policy->states[field];
	char who[160];

	if (!would_tighten(f, field, given))
		return true;
	describe(&state->lock_origin, who, sizeof(who));
	policy_diag_warn(f->diag, HLP_18, given->at, "%.40s does not tighten %s, locked by %s",
	    f->layer->name, policy_field_key(field), who);
	policy_diag_other(f->diag, state->lock_origin.where, "locked here");
	policy_diag_help(f->diag, "name another level, or have the lock's owner tighten it");
	return true;
}

/* True when the layer may not say anything of the field. */
static bool
is_locked_out(struct policy_fold *f, enum policy_field field, const struct policy_given *given)
{
	const struct policy_state *state = &f->policy->states[field];
	char who[160];

	if (!state->is_locked)
		return false;
	if (f->layer->is_level)
		return lock_out_level(f, field, given);
	describe(&state->lock_origin, who, sizeof(who));
	policy_diag_error(f->diag, HLP_18, given->at, "%s is locked by %s", policy_field_key(field),
	    who);
	policy_diag_other(f->diag, state->lock_origin.where, "locked here");
	policy_diag_help(f->diag, "remove the key");
	return true;
}

static void
apply_locks(struct policy *policy, const struct policy_read *layer)
{
	for (size_t i = 0; i < layer->locks.len; i++) {
		for (size_t field = 0; field < POLICY_FIELD_MAX; field++) {
			struct policy_state *state = &policy->states[field];
			const struct policy_field_info *info =
			    policy_field_info((enum policy_field)field);
			if (state->is_locked || !info->is_lockable ||
			    !hl_glob_match(layer->locks.v[i].text, info->key))
				continue;
			state->is_locked = true;
			state->lock_origin = policy_origin(layer, layer->locks.v[i].at);
		}
	}
}

/* A file that says nothing of the mode says enforce: no other file of the stack, which may be the
 * caller's own, turns its bounds into advice. */
static void
fold_silent_mode(struct policy_fold *f)
{
	const struct policy_given enforce = { .bound = 0, .at = { 1, 1, 0 } };

	if (!f->layer->is_level && !f->layer->given[POLICY_MODE].is_set)
		fold_bound(f, POLICY_MODE, &enforce, &f->policy->states[POLICY_MODE]);
}

int
policy_fold_layer(struct policy *policy, const struct policy_read *layer, struct diag *diag,
    struct hl_err *err)
{
	struct policy_fold f = { .policy = policy, .layer = layer, .diag = diag };

	HL_BUG_ON(policy->layers_len == POLICY_FOLDS_MAX);
	policy->layers[policy->layers_len++] = layer;
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const struct policy_given *given = &layer->given[i];
		if (given->is_set && !is_locked_out(&f, (enum policy_field)i, given))
			fold_field(&f, (enum policy_field)i, given);
	}
	fold_silent_mode(&f);
	apply_locks(policy, layer);
	return f.is_oom ? hl_err_oom(err) : 0;
}
