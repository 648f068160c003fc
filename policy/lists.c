/*
 * Bounds of lists. A set's bound is the conjunction of every layer's list, so patterns of different
 * layers need not be combined into one; mounts and tmpfs meet by destination, and what two layers
 * allow at one place becomes the stricter of both.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

/* A wildcard of the pattern is a letter that only a star of the bound can take: sound, because what
 * a star takes it takes whatever stands there. */
bool
policy_pattern_is_inside(const char *pattern, const char *bound)
{
	const char *star = NULL, *resume = NULL;

	while (*pattern != '\0') {
		if (*bound == '*') {
			star = bound++;
			resume = pattern;
		} else if (*pattern != '*' &&
			   (*bound == '?' || (*bound == *pattern && *bound != '\0'))) {
			bound++;
			pattern++;
		} else if (star != NULL) {
			bound = star + 1;
			pattern = ++resume;
		} else {
			return false;
		}
	}
	while (*bound == '*')
		bound++;
	return *bound == '\0';
}

static bool
is_inside_list(const char *member, const struct policy_items *list)
{
	for (size_t i = 0; i < list->len; i++) {
		if (policy_pattern_is_inside(member, list->v[i].text))
			return true;
	}
	return false;
}

size_t
policy_lists_outside(const struct policy_state *state, const char *member)
{
	size_t i = 0;

	while (i < state->lists_len && is_inside_list(member, &state->lists[i].items))
		i++;
	return i;
}

/* ------------------------------------------------------------------------------------------------
 * Mounts and tmpfs
 */

static enum policy_access
stricter_access(enum policy_access a, enum policy_access b)
{
	return a < b ? a : b;
}

/* Same source and destination, or the same way below both. Nothing of access yet. */
static bool
is_same_tree(const struct policy_mount *mount, const struct policy_mount *bound)
{
	size_t src = strlen(bound->src), dst = strlen(bound->dst);

	if (mount->is_volume != bound->is_volume)
		return false;
	if (strcmp(mount->src, bound->src) == 0 && strcmp(mount->dst, bound->dst) == 0)
		return true;
	if (mount->is_volume || strncmp(mount->src, bound->src, src) != 0 ||
	    strncmp(mount->dst, bound->dst, dst) != 0)
		return false;
	return mount->src[src] == '/' && strcmp(mount->src + src, mount->dst + dst) == 0;
}

bool
policy_mount_is_inside(const struct policy_mount *mount, const struct policy_mount *bound)
{
	return is_same_tree(mount, bound) && mount->access <= bound->access &&
	       (!mount->exec || bound->exec);
}

/* What item may be under bound; false: nothing. */
static bool
meet(enum policy_kind kind, const struct policy_item *item, const struct policy_item *bound,
    struct policy_item *ret_item)
{
	struct policy_item met = *item;

	if (kind == POLICY_KIND_TMPFS) {
		if (strcmp(item->tmpfs.dst, bound->tmpfs.dst) != 0)
			return false;
		if (bound->tmpfs.size < met.tmpfs.size)
			met.tmpfs.size = bound->tmpfs.size;
		met.tmpfs.exec = met.tmpfs.exec && bound->tmpfs.exec;
		met.tmpfs.mode &= bound->tmpfs.mode;
	} else {
		if (!is_same_tree(&item->mount, &bound->mount))
			return false;
		met.mount.access = stricter_access(met.mount.access, bound->mount.access);
		met.mount.exec = met.mount.exec && bound->mount.exec;
	}
	*ret_item = met;
	return true;
}

static const char *
dst_of(enum policy_kind kind, const struct policy_item *item)
{
	return kind == POLICY_KIND_TMPFS ? item->tmpfs.dst : item->mount.dst;
}

static bool
is_same_item(enum policy_kind kind, const struct policy_item *a, const struct policy_item *b)
{
	if (kind == POLICY_KIND_TMPFS)
		return strcmp(a->tmpfs.dst, b->tmpfs.dst) == 0 && a->tmpfs.size == b->tmpfs.size &&
		       a->tmpfs.exec == b->tmpfs.exec && a->tmpfs.mode == b->tmpfs.mode;
	return policy_mount_is_inside(&a->mount, &b->mount) &&
	       policy_mount_is_inside(&b->mount, &a->mount);
}

/* Two ways to one place: the weaker stays, for a bound is what any of its members allows. */
static void
add_bound(enum policy_kind kind, struct policy_items *items, const struct policy_item *item)
{
	for (size_t i = 0; i < items->len; i++) {
		struct policy_item *old = &items->v[i];
		struct policy_item met;
		if (strcmp(dst_of(kind, old), dst_of(kind, item)) != 0)
			continue;
		if (!meet(kind, old, item, &met))
			continue;
		if (is_same_item(kind, &met, item))
			return;
		if (is_same_item(kind, &met, old)) {
			*old = *item;
			return;
		}
	}
	items->v[items->len++] = *item;
}

/* Cuts one item to a bound of items; false: it is not allowed at all. */
static bool
cut_item(enum policy_kind kind, const struct policy_items *allowed, struct policy_item *item)
{
	struct policy_item best, met;
	bool has_best = false;

	for (size_t i = 0; i < allowed->len; i++) {
		if (!meet(kind, item, &allowed->v[i], &met))
			continue;
		if (!has_best || is_same_item(kind, &met, item))
			best = met;
		has_best = true;
	}
	if (has_best)
		*item = best;
	return has_best;
}

static bool
intersect(struct policy_arena *arena, enum policy_kind kind, const struct policy_items *old,
    const struct policy_items *new, struct policy_items *ret_items)
{
	struct policy_items out = { 0 };
	struct policy_item met;
	size_t room;

	if (__builtin_mul_overflow(old->len, new->len, &room))
		return false;
	out.v = policy_arena_array(arena, room < POLICY_LIST_MAX ? room : POLICY_LIST_MAX,
	    sizeof(*out.v));
	if (out.v == NULL)
		return false;
	for (size_t i = 0; i < old->len; i++) {
		for (size_t j = 0; j < new->len; j++) {
			/* Past the room the rest is dropped: a bound may always be tighter. */
			if (out.len == POLICY_LIST_MAX)
				break;
			if (meet(kind, &new->v[j], &old->v[i], &met) ||
			    meet(kind, &old->v[i], &new->v[j], &met))
				add_bound(kind, &out, &met);
		}
	}
	*ret_items = out;
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * Folding
 */

static struct diag_at
at_item(const struct policy_item *item)
{
	return (struct diag_at){ item->origin.where.line, item->origin.where.column, 1 };
}

static void
report_list(struct policy_fold *f, enum policy_field field, const struct policy_item *item,
    const struct policy_items *bound, const struct hl_origin *by)
{
	struct hl_buf text;

	hl_buf_init(&text, 4096);
	policy_put_items(&text, policy_field_kind(field), bound);
	policy_report_no_effect(f, field, at_item(item), text.failed ? "a shorter list" : text.data,
	    by);
	hl_buf_done(&text);
}

static void
report_clamped_set(struct policy_fold *f, enum policy_field field,
    const struct policy_items *allowed, const struct policy_state *state)
{
	for (size_t i = 0; i < allowed->len; i++) {
		size_t list = policy_lists_outside(state, allowed->v[i].text);
		if (list < state->lists_len) {
			report_list(f, field, &allowed->v[i], &state->lists[list].items,
			    &state->lists[list].origin);
			return;
		}
	}
}

/* A list that some earlier one lies wholly inside of adds nothing. */
static bool
adds_nothing(const struct policy_state *state, const struct policy_items *allowed)
{
	for (size_t i = 0; i < state->lists_len; i++) {
		const struct policy_items *old = &state->lists[i].items;
		size_t j = 0;
		while (j < old->len && is_inside_list(old->v[j].text, allowed))
			j++;
		if (j == old->len)
			return true;
	}
	return false;
}

static void
bound_set(struct policy_fold *f, enum policy_field field, const struct policy_given *given,
    struct policy_state *state)
{
	report_clamped_set(f, field, &given->allowed, state);
	if (adds_nothing(state, &given->allowed))
		return;
	struct policy_bound_list *lists =
	    policy_arena_array(&f->policy->arena, state->lists_len + 1, sizeof(*lists));
	if (lists == NULL) {
		f->is_oom = true;
		return;
	}
	for (size_t i = 0; i < state->lists_len; i++)
		lists[i] = state->lists[i];
	lists[state->lists_len] =
	    (struct policy_bound_list){ given->allowed, policy_origin(f->layer, given->at) };
	state->lists = lists;
	state->lists_len++;
	state->is_bounded = true;
	state->bound_origin = lists[state->lists_len - 1].origin;
}

static void
bound_places(struct policy_fold *f, enum policy_field field, const struct policy_given *given,
    struct policy_state *state)
{
	enum policy_kind kind = policy_field_kind(field);
	struct policy_items met;

	if (!state->is_bounded) {
		state->is_bounded = true;
		state->allowed = given->allowed;
		state->bound_origin = policy_origin(f->layer, given->at);
		return;
	}
	for (size_t i = 0; i < given->allowed.len; i++) {
		struct policy_item cut = given->allowed.v[i];
		if (cut_item(kind, &state->allowed, &cut) &&
		    is_same_item(kind, &cut, &given->allowed.v[i]))
			continue;
		report_list(f, field, &given->allowed.v[i], &state->allowed, &state->bound_origin);
		break;
	}
	if (!intersect(&f->policy->arena, kind, &state->allowed, &given->allowed, &met)) {
		f->is_oom = true;
		return;
	}
	state->allowed = met;
}

bool
policy_item_is_allowed(enum policy_kind kind, const struct policy_state *state,
    const struct policy_item *item)
{
	struct policy_item cut = *item;

	if (kind == POLICY_KIND_SET)
		return policy_lists_outside(state, item->text) == state->lists_len;
	return !state->is_bounded ||
	       (cut_item(kind, &state->allowed, &cut) && is_same_item(kind, &cut, item));
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
		size_t list = kind == POLICY_KIND_SET ? policy_lists_outside(state, item->text) : 0;
		policy_report_outside(f, field, at_item(item), HLP_19,
		    kind == POLICY_KIND_SET ? &state->lists[list].origin : &state->bound_origin);
		return;
	}
}

static void
add_denials(struct policy_fold *f, const struct policy_given *given, struct policy_state *state)
{
	struct policy_items all = { .len = state->items.len };

	all.v = policy_arena_array(&f->policy->arena, state->items.len + given->items.len,
	    sizeof(*all.v));
	if (all.v == NULL) {
		f->is_oom = true;
		return;
	}
	for (size_t i = 0; i < state->items.len; i++)
		all.v[i] = state->items.v[i];
	for (size_t i = 0; i < given->items.len; i++) {
		size_t j = 0;
		while (j < all.len && strcmp(all.v[j].text, given->items.v[i].text) != 0)
			j++;
		if (j == all.len)
			all.v[all.len++] = given->items.v[i];
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
		if (given->has_bound && kind == POLICY_KIND_SET)
			bound_set(f, field, given, state);
		else if (given->has_bound)
			bound_places(f, field, given, state);
		if (given->has_default)
			state->items = given->items;
	}
	if (given->has_default) {
		state->has_default = true;
		state->origin = policy_origin(f->layer, given->default_at);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Settling
 */

static size_t
count_members(const struct policy_state *state)
{
	size_t n = 0;

	for (size_t i = 0; i < state->lists_len; i++)
		n += state->lists[i].items.len;
	return n;
}

/*
 * The members of all lists that are inside every list, and inside one of wanted where that is
 * given: what is left of LC_* under [LC_ALL] is LC_ALL. The order of the lists makes no difference.
 * What only two overlapping patterns have in common has no name here and is left out.
 */
static void
add_members(const struct policy_state *state, const struct policy_items *wanted,
    struct policy_items *out)
{
	for (size_t i = 0; i < state->lists_len; i++) {
		for (size_t j = 0; j < state->lists[i].items.len; j++) {
			const struct policy_item *item = &state->lists[i].items.v[j];
			if ((wanted == NULL || is_inside_list(item->text, wanted)) &&
			    policy_lists_outside(state, item->text) == state->lists_len &&
			    !is_inside_list(item->text, out))
				out->v[out->len++] = *item;
		}
	}
}

static bool
cut_set(struct policy_arena *arena, const struct policy_state *state, struct policy_items *items)
{
	struct policy_items out = { 0 };

	if (state->lists_len == 0)
		return true;
	out.v = policy_arena_array(arena, items->len + count_members(state), sizeof(*out.v));
	if (out.v == NULL)
		return false;
	for (size_t i = 0; i < items->len; i++) {
		if (policy_lists_outside(state, items->v[i].text) == state->lists_len)
			out.v[out.len++] = items->v[i];
	}
	add_members(state, items, &out);
	*items = out;
	return true;
}

bool
policy_cut_list(struct policy_arena *arena, enum policy_kind kind, const struct policy_state *state,
    struct policy_items *items)
{
	struct policy_items out = { 0 };

	if (kind == POLICY_KIND_SET)
		return cut_set(arena, state, items);
	if (!state->is_bounded)
		return true;
	out.v = policy_arena_array(arena, items->len, sizeof(*out.v));
	if (out.v == NULL)
		return false;
	for (size_t i = 0; i < items->len; i++) {
		struct policy_item cut = items->v[i];
		if (cut_item(kind, &state->allowed, &cut))
			out.v[out.len++] = cut;
	}
	*items = out;
	return true;
}

static int
compare_texts(const void *a, const void *b)
{
	return strcmp(((const struct policy_item *)a)->text, ((const struct policy_item *)b)->text);
}

bool
policy_flatten(struct policy_arena *arena, const struct policy_state *state,
    struct policy_items *ret_items)
{
	struct policy_items out = { 0 };
	size_t kept = 0;

	out.v = policy_arena_array(arena, count_members(state), sizeof(*out.v));
	if (out.v == NULL)
		return false;
	add_members(state, NULL, &out);
	qsort(out.v, out.len, sizeof(*out.v), compare_texts);
	/* A wider pattern may have come after what is inside it. */
	for (size_t i = 0; i < out.len; i++) {
		bool is_covered = false;
		for (size_t j = 0; j < out.len && !is_covered; j++)
			is_covered =
			    i != j && policy_pattern_is_inside(out.v[i].text, out.v[j].text) &&
			    (j < i || !policy_pattern_is_inside(out.v[j].text, out.v[i].text));
		if (!is_covered)
			out.v[kept++] = out.v[i];
	}
	out.len = kept;
	*ret_items = out;
	return true;
}
