/*
 * Bounds of mounts and tmpfs: lists that meet by destination. What two layers allow at one place
 * becomes the stricter of both; what only one of them allows is not allowed.
 */
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

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

void
policy_bound_places(struct policy_fold *f, enum policy_field field,
    const struct policy_given *given, struct policy_state *state)
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
		policy_report_list(f, field, &given->allowed.v[i], &state->allowed,
		    &state->bound_origin);
		break;
	}
	if (!intersect(&f->policy->arena, kind, &state->allowed, &given->allowed, &met)) {
		f->is_oom = true;
		return;
	}
	bool is_tighter = false;
	for (size_t i = 0; i < state->allowed.len; i++)
		is_tighter =
		    is_tighter || !policy_place_is_inside(kind, &met, &state->allowed.v[i]);
	/* Whoever is asked to open it must be the one who closed it. */
	if (is_tighter)
		state->bound_origin = policy_origin(f->layer, given->at);
	state->allowed = met;
}

bool
policy_place_is_inside(enum policy_kind kind, const struct policy_items *allowed,
    const struct policy_item *item)
{
	struct policy_item cut = *item;

	return cut_item(kind, allowed, &cut) && is_same_item(kind, &cut, item);
}

bool
policy_cut_places(struct policy_arena *arena, enum policy_kind kind,
    const struct policy_items *allowed, struct policy_items *items)
{
	struct policy_items out = { 0 };
	size_t same = policy_is_same_list(items, allowed) ? items->len : 0;

	while (same < items->len && policy_place_is_inside(kind, allowed, &items->v[same]))
		same++;
	if (same == items->len)
		return true;
	out.v = policy_arena_array(arena, items->len, sizeof(*out.v));
	if (out.v == NULL)
		return false;
	for (size_t i = 0; i < items->len; i++) {
		struct policy_item cut = items->v[i];
		if (cut_item(kind, allowed, &cut))
			out.v[out.len++] = cut;
	}
	*items = out;
	return true;
}
