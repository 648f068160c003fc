/*
 * The list of what is made in the new root, and the three rules about it: the parents of a mount
 * point are made where the file system is ours; a denied path is covered in every place where a
 * bind shows it; parents stand before children, and a cover behind what it covers.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/local/local.h"

#include "base/banned.h"

static bool
is_mount(const struct layout_item *item)
{
	return item->op.kind == CONFINE_OP_BIND || item->op.kind == CONFINE_OP_TMPFS ||
	       item->op.kind == CONFINE_OP_PROC || item->op.kind == CONFINE_OP_DEV;
}

/* By growing: most layouts have fifty items, and room for two thousand is pages to clear. */
static bool
has_room(struct layout *layout)
{
	if (layout->len < layout->capacity)
		return true;
	size_t capacity = layout->capacity == 0 ? 64 : layout->capacity * 2;
	if (capacity > CONFINE_OPS_MAX)
		return false;
	struct layout_item *items = realloc(layout->items, capacity * sizeof(*items));
	if (items == NULL)
		return false;
	layout->items = items;
	layout->capacity = capacity;
	return true;
}

void
layout_add(struct layout *layout, enum layout_rank rank, const struct hl_origin *origin,
    const struct confine_op *op)
{
	struct layout_item item = { .op = *op, .rank = rank };

	item.origin = origin == NULL ? (struct hl_origin){ .layer = "built-in" } : *origin;
	if (rank != LAYOUT_MASK) {
		for (size_t i = 0; i < layout->len; i++) {
			struct layout_item *old = &layout->items[i];
			if (strcmp(old->op.dst, op->dst) != 0)
				continue;
			if (old->rank < rank)
				*old = item;
			return;
		}
	}
	if (!has_room(layout)) {
		layout->failed = true;
		return;
	}
	layout->items[layout->len++] = item;
}

const struct layout_item *
layout_mount_at(const struct layout *layout, const char *path)
{
	const struct layout_item *best = NULL;

	for (size_t i = 0; i < layout->len; i++) {
		const struct layout_item *item = &layout->items[i];
		if (!is_mount(item) || !hl_path_is_beneath(path, item->op.dst))
			continue;
		if (best == NULL || strlen(item->op.dst) > strlen(best->op.dst))
			best = item;
	}
	return best;
}

/* The root and every tmpfs start empty and take what we make in them; the rest is as it is. */
static bool
is_ours(const struct layout_item *mount)
{
	return mount == NULL || mount->op.kind == CONFINE_OP_TMPFS;
}

void
layout_add_parents(struct layout *layout, struct lowered *lowered)
{
	size_t len = layout->len; /* what is added here has its own parents added with it */
	char path[PATH_MAX];

	for (size_t i = 0; i < len; i++) {
		snprintf(path, sizeof(path), "%s", layout->items[i].op.dst);
		for (char *slash = strchr(path + 1, '/'); slash != NULL;
		     slash = strchr(slash + 1, '/')) {
			*slash = '\0';
			if (is_ours(layout_mount_at(layout, path)))
				layout_add(layout, LAYOUT_PARENT, &layout->items[i].origin,
				    &(struct confine_op){
					.kind = CONFINE_OP_DIR,
					.mode = 0755,
					.dst = lowered_string(lowered, path),
				    });
			*slash = '/';
		}
	}
}

/* A cover would be above something that the plan places on purpose: which of the two is meant, only
 * the author of the policy knows. */
static int
check_nothing_below(const struct layout *layout, const char *covered, struct hl_err *err)
{
	for (size_t i = 0; i < layout->len; i++) {
		const struct layout_item *item = &layout->items[i];
		if (item->rank > LAYOUT_BASE && item->rank < LAYOUT_MASK &&
		    hl_path_is_beneath(item->op.dst, covered))
			return hl_err_set(err, HLB_28,
			    "'%.150s' is to be mounted, but fs.deny covers '%.150s' above it",
			    item->op.dst, covered);
	}
	return 0;
}

/* What all covers of one layout have in common. */
struct masking {
	struct layout *layout;
	const struct hl_origin *origin;
	struct lowered *lowered;
};

static int
add_mask(const struct masking *masking, const struct layout_item *bind, const char *denied,
    struct hl_err *err)
{
	char path[PATH_MAX];
	const char *rest = denied + (strcmp(bind->op.src, "/") == 0 ? 0 : strlen(bind->op.src));
	const char *dst = strcmp(bind->op.dst, "/") == 0 ? "" : bind->op.dst;

	int len = snprintf(path, sizeof(path), "%s%s", dst, rest);
	if (len < 0 || (size_t)len >= sizeof(path))
		return hl_err_set(err, HLB_28, "'%.200s' is too long to be covered", denied);
	if (layout_mount_at(masking->layout, path) != bind)
		return 0; /* another mount stands there: this bind does not show it */
	if (strcmp(path, bind->op.dst) == 0 && bind->rank > LAYOUT_BASE)
		return hl_err_set(err, HLB_28, "'%.200s' is to be mounted, but fs.deny covers it",
		    denied);
	if (check_nothing_below(masking->layout, path, err) != 0)
		return -1;
	layout_add(masking->layout, LAYOUT_MASK, masking->origin,
	    &(struct confine_op){
		.kind = CONFINE_OP_MASK,
		.flags = CONFINE_OP_OPTIONAL,
		.dst = lowered_string(masking->lowered, path),
	    });
	return 0;
}

int
layout_add_masks(struct layout *layout, const struct plan *plan, struct lowered *lowered,
    struct hl_err *err)
{
	const struct masking masking = { layout, &plan->deny_origin, lowered };
	size_t len = layout->len;

	for (size_t i = 0; i < plan->deny.len; i++) {
		const char *denied = plan->deny.v[i];
		for (size_t j = 0; j < len; j++) {
			const struct layout_item *item = &layout->items[j];
			if (item->op.kind == CONFINE_OP_BIND &&
			    hl_path_is_beneath(denied, item->op.src) &&
			    add_mask(&masking, item, denied, err) != 0)
				return -1;
		}
	}
	return 0;
}

/* By name: a parent is a prefix of its children and so sorts before them. At the same place the
 * order is that of the ranks. */
static int
compare_items(const void *left, const void *right)
{
	const struct layout_item *a = left, *b = right;
	int order = strcmp(a->op.dst, b->op.dst);

	if (order != 0)
		return order;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

void
layout_sort(struct layout *layout)
{
	qsort(layout->items, layout->len, sizeof(*layout->items), compare_items);
}
