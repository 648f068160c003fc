/*
 * Bounds of sets, of texts or of records. A bound is the conjunction of every layer's list, so
 * patterns of different layers need not be combined into one. Each list is indexed once: plain
 * names are found by binary search and only patterns and records are tried one by one, so a
 * thousand names cost no million comparisons.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/records.h"
#include "policy/state.h"

#include "base/banned.h"

enum {
	STEPS_A_LETTER = 2
};

/* A wildcard of the text is a letter that only a star of the bound can take: sound, because what a
 * star takes it takes whatever stands there. */
static bool
takes(const char *bound, const char *text, size_t len, size_t *steps)
{
	for (size_t i = 0; i < len; i++) {
		++*steps;
		if (text[i] == '*' || (bound[i] != '?' && bound[i] != text[i]))
			return false;
	}
	return true;
}

/* What stands between two stars, each piece at the first place that takes it. Lists are compared
 * pairwise: what would take more steps than a few for each letter is not told. */
static bool
takes_pieces(const char *piece, const char *last_star, const char *text, size_t len)
{
	const char *end = text + len;
	size_t steps = 0, most = STEPS_A_LETTER * (len + (size_t)(last_star - piece));

	while (piece < last_star) {
		size_t n = strcspn(piece, "*");
		while (n <= (size_t)(end - text) && steps < most && !takes(piece, text, n, &steps))
			text++;
		if (n > (size_t)(end - text) || steps >= most)
			return false;
		text += n;
		piece += n + 1;
	}
	return true;
}

static struct policy_shape
shape_of(const char *text)
{
	const char *first = strchr(text, '*');
	struct policy_shape shape = { .text = text, .len = strlen(text) };

	shape.has_star = first != NULL;
	shape.head = first != NULL ? (size_t)(first - text) : shape.len;
	if (first != NULL)
		shape.tail = shape.len - 1 - (size_t)(strrchr(first, '*') - text);
	return shape;
}

/* The ends first: of two patterns that are compared most differ there. */
static bool
shape_takes(const struct policy_shape *bound, const char *text, size_t len)
{
	const char *last = bound->text + bound->len - bound->tail;
	size_t steps = 0;

	if (!bound->has_star)
		return len == bound->len && takes(bound->text, text, len, &steps);
	return bound->head + bound->tail <= len && takes(bound->text, text, bound->head, &steps) &&
	       takes(last, text + len - bound->tail, bound->tail, &steps) &&
	       takes_pieces(bound->text + bound->head + 1, last - 1, text + bound->head,
		   len - bound->head - bound->tail);
}

bool
policy_pattern_is_inside(const char *pattern, const char *bound)
{
	const struct policy_shape shape = shape_of(bound);

	return shape_takes(&shape, pattern, strlen(pattern));
}

bool
policy_pattern_is_dear(const char *pattern)
{
	const char *first = strchr(pattern, '*');

	if (first == NULL)
		return false;
	const char *text = first + strspn(first, "*");
	return strchr(text, '*') != NULL;
}

bool
policy_item_is_inside(const struct policy_item *item, const struct policy_item *bound)
{
	if (bound->is_every_gpu && strncmp(item->text, POLICY_GPU, strlen(POLICY_GPU)) == 0)
		return true;
	if (bound->record == NULL)
		return policy_pattern_is_inside(item->text, bound->text);
	bool is_same_name = bound->name == NULL || strcmp(item->name, bound->name) == 0;
	return is_same_name && policy_record_is_inside(item->record, bound->record);
}

/* Whether it can hold others than itself. */
static bool
is_wide(const struct policy_item *item)
{
	return item->record != NULL || item->is_every_gpu || strpbrk(item->text, "*?") != NULL;
}

static struct policy_wide
wide_of(const struct policy_item *item)
{
	struct policy_wide wide = { .item = item };

	if (item->record == NULL && !item->is_every_gpu)
		wide.shape = shape_of(item->text);
	return wide;
}

static bool
wide_takes(const struct policy_wide *wide, const struct policy_item *item, size_t len)
{
	return wide->shape.text != NULL ? shape_takes(&wide->shape, item->text, len)
					: policy_item_is_inside(item, wide->item);
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool
policy_index_init(struct policy_arena *arena, const struct policy_items *items,
    struct policy_index *ret_index)
{
	struct policy_index index = { 0 };

	index.names = policy_arena_array(arena, items->len, sizeof(char *));
	index.wide = policy_arena_array(arena, items->len, sizeof(*index.wide));
	if (index.names == NULL || index.wide == NULL)
		return false;
	for (size_t i = 0; i < items->len; i++) {
		if (is_wide(&items->v[i]))
			index.wide[index.wide_len++] = wide_of(&items->v[i]);
		else
			index.names[index.names_len++] = items->v[i].text;
	}
	if (index.names_len > 1)
		qsort(index.names, index.names_len, sizeof(char *), compare_names);
	*ret_index = index;
	return true;
}

bool
policy_index_has(const struct policy_index *index, const struct policy_item *member)
{
	if (index->names_len > 0 && bsearch(&member->text, index->names, index->names_len,
					sizeof(char *), compare_names) != NULL)
		return true;
	size_t len = index->wide_len > 0 ? strlen(member->text) : 0;
	for (size_t i = 0; i < index->wide_len; i++) {
		if (wide_takes(&index->wide[i], member, len))
			return true;
	}
	return false;
}

size_t
policy_lists_outside(const struct policy_state *state, const struct policy_item *member)
{
	size_t i = 0;

	while (i < state->lists_len && policy_index_has(&state->lists[i].index, member))
		i++;
	return i;
}

/* A list that some earlier one lies wholly inside of adds nothing. */
static bool
adds_nothing(const struct policy_state *state, const struct policy_index *allowed)
{
	for (size_t i = 0; i < state->lists_len; i++) {
		const struct policy_items *old = &state->lists[i].items;
		size_t j = 0;
		while (j < old->len && policy_index_has(allowed, &old->v[j]))
			j++;
		if (j == old->len)
			return true;
	}
	return false;
}

static void
report_clamped_set(struct policy_fold *f, enum policy_field field,
    const struct policy_items *allowed, const struct policy_state *state)
{
	for (size_t i = 0; i < allowed->len; i++) {
		size_t list = policy_lists_outside(state, &allowed->v[i]);
		if (list < state->lists_len) {
			policy_report_list(f, field, &allowed->v[i], &state->lists[list].items,
			    &state->lists[list].origin);
			return;
		}
	}
}

void
policy_bound_set(struct policy_fold *f, enum policy_field field, const struct policy_given *given,
    struct policy_state *state)
{
	struct policy_arena *arena = &f->policy->arena;
	struct policy_bound_list *lists =
	    policy_arena_array(arena, state->lists_len + 1, sizeof(*lists));
	struct policy_index index;

	report_clamped_set(f, field, &given->allowed, state);
	if (lists == NULL || !policy_index_init(arena, &given->allowed, &index)) {
		f->is_oom = true;
		return;
	}
	if (adds_nothing(state, &index))
		return;
	for (size_t i = 0; i < state->lists_len; i++)
		lists[i] = state->lists[i];
	lists[state->lists_len] = (struct policy_bound_list){
		.items = given->allowed,
		.index = index,
		.origin = policy_origin(f->layer, given->at),
	};
	state->bound_origin = lists[state->lists_len].origin;
	state->lists = lists;
	state->lists_len++;
	state->is_bounded = true;
}

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
add_members(const struct policy_state *state, const struct policy_index *wanted,
    struct policy_refs *out)
{
	for (size_t i = 0; i < state->lists_len; i++) {
		for (size_t j = 0; j < state->lists[i].items.len; j++) {
			const struct policy_item *item = &state->lists[i].items.v[j];
			if ((wanted == NULL || policy_index_has(wanted, item)) &&
			    policy_lists_outside(state, item) == state->lists_len)
				out->v[out->len++] = item;
		}
	}
}

static int
compare_refs(const void *a, const void *b)
{
	const struct policy_item *x = *(const struct policy_item *const *)a;
	const struct policy_item *y = *(const struct policy_item *const *)b;

	return strcmp(x->text, y->text);
}

/* Whether another of them takes it as well. Of two that are inside each other, such as "*" and
 * "**", the first stays. */
static bool
is_covered(const struct policy_index *index, const struct policy_item *item)
{
	size_t len = strlen(item->text);

	for (size_t i = 0; i < index->wide_len; i++) {
		const struct policy_wide *other = &index->wide[i];
		if (other->item != item && wide_takes(other, item, len) &&
		    (strcmp(other->item->text, item->text) < 0 ||
			!policy_item_is_inside(other->item, item)))
			return true;
	}
	return false;
}

/* Sorts, and drops what is there twice or inside another one. */
static bool
tidy(struct policy_arena *arena, struct policy_refs *refs)
{
	struct policy_index index = { 0 };
	size_t kept = 0;

	if (refs->len > 1)
		qsort(refs->v, refs->len, sizeof(*refs->v), compare_refs);
	index.wide = policy_arena_array(arena, refs->len, sizeof(*index.wide));
	if (index.wide == NULL)
		return false;
	for (size_t i = 0; i < refs->len; i++) {
		if (kept > 0 && strcmp(refs->v[kept - 1]->text, refs->v[i]->text) == 0)
			continue;
		refs->v[kept++] = refs->v[i];
		if (is_wide(refs->v[i]))
			index.wide[index.wide_len++] = wide_of(refs->v[i]);
	}
	refs->len = kept;
	kept = 0;
	for (size_t i = 0; i < refs->len; i++) {
		if (!is_covered(&index, refs->v[i]))
			refs->v[kept++] = refs->v[i];
	}
	refs->len = kept;
	return true;
}

static bool
is_all_inside(const struct policy_state *state, const struct policy_items *items)
{
	/* What is bound and default at once is inside itself. */
	if (state->lists_len == 1 && policy_is_same_list(&state->lists[0].items, items))
		return true;
	for (size_t i = 0; i < items->len; i++) {
		if (policy_lists_outside(state, &items->v[i]) < state->lists_len)
			return false;
	}
	return true;
}

bool
policy_cut_set(struct policy_arena *arena, const struct policy_state *state,
    struct policy_items *items)
{
	struct policy_items out = { 0 };
	struct policy_refs more = { 0 };
	struct policy_index wanted, has;

	if (is_all_inside(state, items))
		return true;
	out.v = policy_arena_array(arena, items->len + count_members(state), sizeof(*out.v));
	more.v = policy_arena_array(arena, count_members(state), sizeof(*more.v));
	if (out.v == NULL || more.v == NULL)
		return false;
	for (size_t i = 0; i < items->len; i++) {
		if (policy_lists_outside(state, &items->v[i]) == state->lists_len)
			out.v[out.len++] = items->v[i];
	}
	if (!policy_index_init(arena, items, &wanted) || !policy_index_init(arena, &out, &has))
		return false;
	add_members(state, &wanted, &more);
	if (!tidy(arena, &more))
		return false;
	for (size_t i = 0; i < more.len; i++) {
		if (!policy_index_has(&has, more.v[i]))
			out.v[out.len++] = *more.v[i];
	}
	*items = out;
	return true;
}

bool
policy_flatten(struct policy_arena *arena, const struct policy_state *state,
    struct policy_refs *ret_refs)
{
	struct policy_refs out = { 0 };

	out.v = policy_arena_array(arena, count_members(state), sizeof(*out.v));
	if (out.v == NULL)
		return false;
	add_members(state, NULL, &out);
	if (!tidy(arena, &out))
		return false;
	*ret_refs = out;
	return true;
}
