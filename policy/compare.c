/*
 * Two settled policies against each other, field by field: tighter, looser or moved. There is no
 * order of its own here. A bound or value of the one is inside the other's when the functions that
 * judge a caller's request (judge.c, sets.c, places.c) say so; all else is put together from that.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "policy/diag.h"
#include "policy/state.h"

#include "base/banned.h"

struct pair {
	const struct policy *outer, *inner;
	struct policy_arena *arena;
	bool is_oom;
};

bool
policy_number_is_allowed(enum policy_field field, const struct policy_state *state, uint64_t number)
{
	return !state->is_bounded || policy_number_is_inside(field, number, state->bound);
}

static size_t
len_without_slash(const char *path)
{
	size_t len = strlen(path);

	return len > 1 && path[len - 1] == '/' ? len - 1 : len;
}

/* A directory with a slash at its end is denied more: it cannot be made either. */
static bool
is_path_denied(const char *path, const char *denied)
{
	size_t len = len_without_slash(path), denied_len = len_without_slash(denied);

	if (len == denied_len && memcmp(path, denied, len) == 0)
		return path[len] == '\0' || denied[denied_len] == '/';
	return len > denied_len && memcmp(path, denied, denied_len) == 0 &&
	       (path[denied_len] == '/' || denied[denied_len - 1] == '/');
}

/* Of a list of denials, which is stricter the longer it is: whether some member covers it. */
static bool
is_denied(const struct policy_items *denials, const struct policy_item *item)
{
	const char *path = item->text;

	for (size_t i = 0; i < denials->len; i++) {
		const char *denied = denials->v[i].text;
		if (item->record != NULL) {
			if (policy_item_is_inside(item, &denials->v[i]))
				return true;
			continue;
		}
		if (strcmp(denied, path) == 0)
			return true;
		if (strpbrk(denied, "*?") == NULL && strpbrk(path, "*?") == NULL &&
		    is_path_denied(path, denied))
			return true;
	}
	return false;
}

static bool
are_all_denied(const struct policy_items *denials, const struct policy_items *items)
{
	for (size_t i = 0; i < items->len; i++) {
		if (!is_denied(denials, &items->v[i]))
			return false;
	}
	return true;
}

static bool
has_wide(const struct policy_state *state)
{
	for (size_t i = 0; i < state->lists_len; i++) {
		if (state->lists[i].index.wide_len > 0)
			return true;
	}
	return false;
}

static bool
is_list_inside(const struct policy_index *outer, const struct policy_items *inner)
{
	for (size_t i = 0; i < inner->len; i++) {
		if (!policy_index_has(outer, &inner->v[i]))
			return false;
	}
	return true;
}

/*
 * Every list of the outer conjunction has to hold all that the inner one lets through. One of the
 * inner lists being inside is enough; of plain names the intersection of all of them is exact.
 */
static bool
is_set_inside(struct pair *p, const struct policy_state *outer, const struct policy_state *inner)
{
	struct policy_refs flat = { 0 };
	bool is_exact = inner->lists_len > 0 && !has_wide(inner);

	if (is_exact && !policy_flatten(p->arena, inner, &flat)) {
		p->is_oom = true;
		return false;
	}
	for (size_t i = 0; i < outer->lists_len; i++) {
		bool is_inside = is_exact;
		for (size_t j = 0; j < flat.len; j++)
			is_inside =
			    is_inside && policy_index_has(&outer->lists[i].index, flat.v[j]);
		for (size_t j = 0; j < inner->lists_len && !is_inside; j++)
			is_inside = is_list_inside(&outer->lists[i].index, &inner->lists[j].items);
		if (!is_inside)
			return false;
	}
	return true;
}

static bool
are_places_inside(enum policy_kind kind, const struct policy_state *outer,
    const struct policy_state *inner)
{
	if (!outer->is_bounded)
		return true;
	for (size_t i = 0; i < inner->allowed.len; i++) {
		if (!policy_item_is_allowed(kind, outer, &inner->allowed.v[i]))
			return false;
	}
	return inner->is_bounded;
}

/* What is decided by name stays decided: each of the outer's has the same text in the inner. */
static bool
are_pairs_kept(const struct policy_items *outer, const struct policy_items *inner)
{
	for (size_t i = 0; i < outer->len; i++) {
		bool is_kept = false;
		for (size_t j = 0; j < inner->len; j++)
			is_kept = is_kept || (strcmp(outer->v[i].name, inner->v[j].name) == 0 &&
						 strcmp(outer->v[i].text, inner->v[j].text) == 0);
		if (!is_kept)
			return false;
	}
	return true;
}

/* "" is a place that nobody has decided. */
static bool
is_place_kept(const char *outer, const char *inner)
{
	return outer[0] == '\0' || strcmp(outer, inner) == 0;
}

/* What a field without a bound can come to: of words the weakest. */
static uint64_t
loosest(enum policy_field field)
{
	const struct policy_field_info *info = policy_field_info(field);
	uint64_t n = 0;

	if (info->kind == POLICY_KIND_WORKDIR)
		return POLICY_ACCESS_RW;
	if (info->kind == POLICY_KIND_BITS)
		return info->max;
	if (!policy_kind_is_ranked(info->kind))
		return POLICY_UNLIMITED;
	while (info->words[n + 1] != NULL)
		n++;
	return n;
}

static bool
is_number_inside(enum policy_field field, const struct policy_state *outer,
    const struct policy_state *inner)
{
	return policy_number_is_allowed(field, outer,
	    inner->is_bounded ? inner->bound : loosest(field));
}

static bool
is_workdir_inside(const struct policy_state *outer, const struct policy_state *inner)
{
	const struct policy_mount *o = &outer->items.v[0].mount, *i = &inner->items.v[0].mount;

	return is_place_kept(o->src, i->src) && is_place_kept(o->dst, i->dst) &&
	       is_number_inside(POLICY_FS_WORKDIR, outer, inner);
}

/* Whether all that the inner policy's bound lets through is inside the outer's. */
static bool
is_bound_inside(struct pair *p, enum policy_field field)
{
	const struct policy_state *outer = &p->outer->states[field];
	const struct policy_state *inner = &p->inner->states[field];

	switch (policy_field_kind(field)) {
	case POLICY_KIND_BOOL:
	case POLICY_KIND_ENUM:
	case POLICY_KIND_INT:
	case POLICY_KIND_BITS:
	case POLICY_KIND_SIZE:
	case POLICY_KIND_DURATION:
	case POLICY_KIND_MILLI:
	case POLICY_KIND_HOME:
		return is_number_inside(field, outer, inner);
	case POLICY_KIND_STRING:
		return !outer->is_bounded ||
		       (inner->is_bounded && strcmp(outer->text, inner->text) == 0);
	case POLICY_KIND_SET:
	case POLICY_KIND_RECORDS:
	case POLICY_KIND_NAMED:
		if (policy_field_info(field)->merge == MERGE_UNION_DENY)
			return are_all_denied(&inner->items, &outer->items);
		return is_set_inside(p, outer, inner);
	case POLICY_KIND_MOUNTS:
	case POLICY_KIND_TMPFS:
		return are_places_inside(policy_field_kind(field), outer, inner);
	case POLICY_KIND_MAP:
		return are_pairs_kept(&outer->items, &inner->items);
	case POLICY_KIND_WORKDIR:
		return is_workdir_inside(outer, inner);
	case POLICY_KIND_MAX:
		break;
	}
	hl_bug(__FILE__, __LINE__, "a field of no kind");
}

/* The values that are used when nobody asks, as if the outer one's were a bound. */
static bool
is_list_value_inside(enum policy_field field, const struct policy_items *outer,
    const struct policy_items *inner)
{
	enum policy_kind kind = policy_field_kind(field);

	/* Of these one is used: the first. */
	if (field == POLICY_BACKENDS || field == POLICY_IMAGE)
		return inner->len == 0 ||
		       (outer->len > 0 && strcmp(outer->v[0].text, inner->v[0].text) == 0);
	for (size_t i = 0; i < inner->len; i++) {
		bool is_inside =
		    !policy_kind_is_set(kind) && policy_place_is_inside(kind, outer, &inner->v[i]);
		for (size_t j = 0; policy_kind_is_set(kind) && j < outer->len; j++)
			is_inside = is_inside || policy_item_is_inside(&inner->v[i], &outer->v[j]);
		if (!is_inside)
			return false;
	}
	return true;
}

static bool
is_home_value_inside(const struct policy_state *outer, const struct policy_state *inner)
{
	const struct policy_home_value *o = &outer->items.v[0].home, *i = &inner->items.v[0].home;

	if (inner->number != outer->number)
		return inner->number < outer->number;
	if (o->kind == POLICY_HOME_BIND)
		return strcmp(o->src, i->src) == 0;
	return o->kind != POLICY_HOME_TMPFS || i->size <= o->size;
}

static bool
is_value_inside(const struct policy *outer_policy, const struct policy *inner_policy,
    enum policy_field field)
{
	const struct policy_state *outer = &outer_policy->states[field];
	const struct policy_state *inner = &inner_policy->states[field];
	enum policy_kind kind = policy_field_kind(field);

	if (kind == POLICY_KIND_STRING)
		return strcmp(outer->text, inner->text) == 0;
	if (kind == POLICY_KIND_HOME)
		return is_home_value_inside(outer, inner);
	/* What is decided is all there is of these. */
	if (kind == POLICY_KIND_MAP || kind == POLICY_KIND_WORKDIR ||
	    policy_field_info(field)->merge == MERGE_UNION_DENY)
		return true;
	if (policy_kind_is_list(kind))
		return is_list_value_inside(field, &outer->items, &inner->items);
	return policy_number_is_inside(field, inner->number, outer->number);
}

static bool
is_inside(struct pair *p, enum policy_field field)
{
	if (p->outer->states[field].is_locked && !p->inner->states[field].is_locked)
		return false;
	return is_bound_inside(p, field) && is_value_inside(p->outer, p->inner, field);
}

static enum policy_relation
relation_of(bool is_new_inside, bool is_old_inside)
{
	if (is_new_inside && is_old_inside)
		return POLICY_RELATION_SAME;
	if (is_new_inside)
		return POLICY_RELATION_TIGHTER;
	return is_old_inside ? POLICY_RELATION_LOOSER : POLICY_RELATION_MOVED;
}

/* Of what may be a secret the names, or how many there are. */
static void
put_private(const struct policy_value *value, struct hl_buf *out)
{
	bool is_named = value->kind == POLICY_KIND_MAP || value->kind == POLICY_KIND_NAMED;

	if (value->kind == POLICY_KIND_STRING)
		hl_buf_puts(out, value->text[0] != '\0' ? "a value" : "no value");
	else if (!is_named || value->items_len == 0)
		hl_buf_putf(out, "%zu members", value->items_len);
	for (size_t i = 0; is_named && i < value->items_len; i++)
		hl_buf_putf(out, "%s%s", i > 0 ? " " : "", value->items[i].name);
}

static int
put_text(const struct policy *policy, enum policy_field field, struct hl_buf *out)
{
	struct hl_err ignored = { 0 };

	if (!policy_field_is_private(field))
		return policy_put_field_text(policy, field, out, &ignored);
	put_private(&policy->values[field], out);
	return out->failed ? -1 : 0;
}

/* As policy show prints it, shortened. */
static void
say(const struct policy *policy, enum policy_field field, char *text, size_t size)
{
	struct hl_buf buf;

	hl_buf_init(&buf, (size_t)POLICY_FILE_MAX * 4);
	if (put_text(policy, field, &buf) != 0) {
		/* Never an empty text, which would be a value of its own. */
		hl_buf_done_secret(&buf);
		hl_buf_init(&buf, 64);
		hl_buf_puts(&buf, "(not enough memory to say)");
	}
	if (policy->states[field].is_locked)
		hl_buf_puts(&buf, " (locked)");
	snprintf(text, size, "%s", buf.data != NULL ? buf.data : "");
	if (buf.len >= size)
		memcpy(text + size - 4, "...", 4);
	hl_buf_done_secret(&buf);
}

static struct hl_origin
origin_of(const struct policy *policy, enum policy_field field)
{
	const struct policy_value *value = &policy->values[field];

	return value->is_bounded ? value->bound_origin : value->origin;
}

static void
add(struct policy_differences *out, const struct policy_difference *difference)
{
	out->looser += difference->relation == POLICY_RELATION_LOOSER;
	out->moved += difference->relation == POLICY_RELATION_MOVED;
	out->items[out->len++] = *difference;
}

static void
compare_field(struct pair *forward, enum policy_field field, struct policy_differences *out)
{
	const struct policy *old = forward->outer, *new = forward->inner;
	struct pair backward = { .outer = new, .inner = old, .arena = forward->arena };
	struct policy_difference difference = { .what = policy_field_key(field) };

	bool is_new_inside = is_inside(forward, field), is_old_inside = is_inside(&backward, field);
	forward->is_oom = forward->is_oom || backward.is_oom;
	difference.relation = relation_of(is_new_inside, is_old_inside);
	if (difference.relation == POLICY_RELATION_SAME)
		return;
	say(old, field, difference.old_text, sizeof(difference.old_text));
	say(new, field, difference.new_text, sizeof(difference.new_text));
	difference.old_origin = origin_of(old, field);
	difference.new_origin = origin_of(new, field);
	add(out, &difference);
}

/* The first control that the one lets go missing and the other does not; NULL: there is none. */
static const char *
first_degraded(const struct policy *policy, const struct policy *other, struct hl_origin *origin)
{
	for (size_t i = 0; i < policy->layers_len; i++) {
		const struct policy_marks *names = &policy->layers[i]->degrade;
		for (size_t j = 0; j < names->len; j++) {
			const char *name = names->v[j].text;
			if (policy_may_degrade(policy, name, origin) &&
			    !policy_may_degrade(other, name, NULL))
				return name;
		}
	}
	/* What is left of a pattern that does not hold as a whole. */
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const char *key = policy_field_key((enum policy_field)i);
		if (policy_may_degrade(policy, key, origin) &&
		    !policy_may_degrade(other, key, NULL))
			return key;
	}
	return NULL;
}

static void
compare_degrade(const struct policy *old, const struct policy *new, struct policy_differences *out)
{
	struct policy_difference difference = { .what = "degrade.allow" };
	const char *more = first_degraded(new, old, &difference.new_origin);
	const char *less = first_degraded(old, new, &difference.old_origin);

	difference.relation = relation_of(more == NULL, less == NULL);
	if (difference.relation == POLICY_RELATION_SAME)
		return;
	snprintf(difference.old_text, sizeof(difference.old_text), "%.200s",
	    less != NULL ? less : "not");
	snprintf(difference.new_text, sizeof(difference.new_text), "%.200s",
	    more != NULL ? more : "not");
	add(out, &difference);
}

/* ------------------------------------------------------------------------------------------------
 * Layers that must be there
 */

static const struct policy_marks *
marks_of(const struct policy *policy, size_t i, bool is_mandatory)
{
	const struct policy_read *layer = policy->layers[i];

	return is_mandatory ? &layer->mandatory : &layer->requires;
}

static bool
demands(const struct policy *policy, bool is_mandatory, const struct policy_mark *wanted)
{
	for (size_t i = 0; i < policy->layers_len; i++) {
		const struct policy_marks *marks = marks_of(policy, i, is_mandatory);
		for (size_t j = 0; j < marks->len; j++) {
			if (strcmp(marks->v[j].text, wanted->text) == 0 &&
			    marks->v[j].revision >= wanted->revision)
				return true;
		}
	}
	return false;
}

/* The first layer that the one demands and the other does not, or at an older revision. */
static const struct policy_mark *
first_demanded(const struct policy *policy, const struct policy *other, bool is_mandatory,
    struct hl_origin *origin)
{
	for (size_t i = 0; i < policy->layers_len; i++) {
		const struct policy_marks *marks = marks_of(policy, i, is_mandatory);
		for (size_t j = 0; j < marks->len; j++) {
			if (demands(other, is_mandatory, &marks->v[j]))
				continue;
			*origin = policy_origin(policy->layers[i], marks->v[j].at);
			return &marks->v[j];
		}
	}
	return NULL;
}

static void
say_mark(const struct policy_mark *mark, char *text, size_t size)
{
	if (mark == NULL)
		snprintf(text, size, "not");
	else if (mark->revision == 0)
		snprintf(text, size, "%.130s", mark->text);
	else
		snprintf(text, size, "%.130s at revision %llu", mark->text,
		    (unsigned long long)mark->revision);
}

/* Who demands a layer runs nothing without its bounds: more of them is tighter. */
static void
compare_layers(const struct policy *old, const struct policy *new, bool is_mandatory,
    struct policy_differences *out)
{
	struct policy_difference difference = {
		.what = is_mandatory ? "mandatory_layers" : "requires",
	};
	const struct policy_mark *less =
	    first_demanded(old, new, is_mandatory, &difference.old_origin);
	const struct policy_mark *more =
	    first_demanded(new, old, is_mandatory, &difference.new_origin);

	difference.relation = relation_of(less == NULL, more == NULL);
	if (difference.relation == POLICY_RELATION_SAME)
		return;
	say_mark(less, difference.old_text, sizeof(difference.old_text));
	say_mark(more, difference.new_text, sizeof(difference.new_text));
	add(out, &difference);
}

int
policy_compare(const struct policy *old, const struct policy *new,
    struct policy_differences *ret_differences, struct hl_err *err)
{
	struct policy_arena arena = { 0 };
	struct pair pair = { .outer = old, .inner = new, .arena = &arena };

	*ret_differences = (struct policy_differences){ 0 };
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++)
		compare_field(&pair, (enum policy_field)i, ret_differences);
	compare_degrade(old, new, ret_differences);
	compare_layers(old, new, false, ret_differences);
	compare_layers(old, new, true, ret_differences);
	policy_arena_done(&arena);
	return pair.is_oom ? hl_err_oom(err) : 0;
}

/* ------------------------------------------------------------------------------------------------
 * Containment: bounds only
 */

static struct diag_at
place_of(const struct hl_origin *origin)
{
	return (struct diag_at){ origin->where.line, origin->where.column, 0 };
}

/* A built-in value has no place: then the file as a whole. */
static void
report_exceeds(const struct pair *p, enum policy_field field, const char *file,
    struct policy_findings *findings)
{
	enum {
		TOLD = 120
	};
	char text[2][200];
	struct hl_origin inner = origin_of(p->inner, field), outer = origin_of(p->outer, field);
	struct diag diag;
	bool is_ours = inner.where.file != NULL && strcmp(inner.layer, "level") != 0;

	say(p->inner, field, text[0], sizeof(text[0]));
	say(p->outer, field, text[1], sizeof(text[1]));
	policy_diag_init(&diag, findings,
	    policy_findings_name(findings, is_ours ? inner.where.file : file));
	policy_diag_error(&diag, HLP_26, is_ours ? place_of(&inner) : (struct diag_at){ 0 },
	    "%s goes past the outer policy: %.*s%s, where it has %.*s%s", policy_field_key(field),
	    TOLD, text[0], strlen(text[0]) > TOLD ? " ..." : "", TOLD, text[1],
	    strlen(text[1]) > TOLD ? " ..." : "");
	policy_diag_other(&diag, outer.where, "the bound is here");
	policy_diag_help(&diag,
	    is_ours || p->inner->states[field].is_bounded
		? "tighten it until it is inside that bound"
		: "nothing bounds it here: write a bound that is inside that one");
}

int
policy_within(const struct policy *inner, const struct policy *outer, const char *file,
    struct policy_findings *findings, struct hl_err *err)
{
	struct policy_arena arena = { 0 };
	struct pair pair = { .outer = outer, .inner = inner, .arena = &arena };
	struct hl_origin origin;
	struct diag diag;

	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		if (!is_bound_inside(&pair, (enum policy_field)i))
			report_exceeds(&pair, (enum policy_field)i, file, findings);
	}
	const char *name = first_degraded(inner, outer, &origin);
	if (name != NULL) {
		policy_diag_init(&diag, findings,
		    policy_findings_name(findings,
			origin.where.file != NULL ? origin.where.file : file));
		policy_diag_error(&diag, HLP_26, place_of(&origin),
		    "degrade.allow lets %.80s go missing, which the outer policy does not", name);
		policy_diag_help(&diag, "take the name out of degrade.allow");
	}
	policy_arena_done(&arena);
	return pair.is_oom ? hl_err_oom(err) : 0;
}

/* As policy_within(), one field at a time. */
int
policy_is_within(const struct policy *inner, const struct policy *outer, enum policy_field field,
    bool *ret_is_within, struct hl_err *err)
{
	struct policy_arena arena = { 0 };
	struct pair pair = { .outer = outer, .inner = inner, .arena = &arena };
	struct hl_origin origin;

	*ret_is_within = field == POLICY_FIELD_MAX ? first_degraded(inner, outer, &origin) == NULL
						   : is_bound_inside(&pair, field);
	policy_arena_done(&arena);
	return pair.is_oom ? hl_err_oom(err) : 0;
}
