/*
 * The stack while it is folded, and the settled policy.
 *
 * Bounds fold layer by layer (fold.c, lists.c) and never grow; defaults are taken from the last
 * layer that gives one and are cut to the bounds once, at the end (settle.c).
 */
#ifndef HL_POLICY_STATE_H
#define HL_POLICY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "policy/arena.h"
#include "policy/layer.h"
#include "policy/policy.h"

enum {
	/* Each file may bring a level. */
	POLICY_FOLDS_MAX = 2 * POLICY_LAYERS_MAX + 1
};

/* Members that are owned elsewhere. */
struct policy_refs {
	const struct policy_item **v;
	size_t len;
};

/* A pattern that many texts are held against. */
struct policy_shape {
	const char *text;
	size_t len, head, tail; /* bytes before the first star, and behind the last one */
	bool has_star;
};

/* What can hold more than itself. */
struct policy_wide {
	const struct policy_item *item;
	struct policy_shape shape; /* of a pattern; text NULL: it is something else */
};

/* A set for asking: names sorted, beside them the wide ones. Borrows all of it. */
struct policy_index {
	const char **names;
	size_t names_len;
	struct policy_wide *wide;
	size_t wide_len;
};

/* One layer's list of what a set may hold. A member must be inside every list. */
struct policy_bound_list {
	struct policy_items items;
	struct policy_index index;
	struct hl_origin origin;
};

struct policy_state {
	bool is_bounded;
	uint64_t bound;
	struct hl_origin bound_origin;
	struct policy_bound_list *lists; /* sets and records: a conjunction */
	size_t lists_len;
	struct policy_items allowed; /* mounts, tmpfs: the intersection itself */
	bool has_default;
	uint64_t number;
	const char *text;
	struct policy_items items;
	struct hl_origin origin;
	bool is_locked;
	struct hl_origin lock_origin;
};

struct policy {
	struct policy_arena arena;
	const struct policy_read *layers[POLICY_FOLDS_MAX];
	size_t layers_len;
	struct policy_state states[POLICY_FIELD_MAX];
	struct policy_value values[POLICY_FIELD_MAX];
	struct hl_origin home_src_origin; /* of its source, which later layers do not change */
	struct hl_origin workdir_path_origin, workdir_at_origin; /* likewise */
	const char *level;
	bool has_trust;                  /* signatures were asked for */
	char sha256[HL_SHA256_HEX_SIZE]; /* "": not asked for since the last change */
	struct policy_kept *kept;        /* NULL: policy_keep() was not called */
};

/* What requests change, as it was. */
struct policy_kept {
	struct policy_state states[POLICY_FIELD_MAX];
	struct policy_value values[POLICY_FIELD_MAX];
	struct policy_arena_mark mark;
};

/* The fold of one layer into all that came before. */
struct policy_fold {
	struct policy *policy;
	const struct policy_read *layer;
	struct diag *diag;
	bool is_oom;
};

/* load.c: texts that are in memory already, in place of files. For tests and fuzzers: no file rule.
 */
struct policy_text {
	const char *name;
	const char *bytes;
	size_t len;
};

int policy_load_texts(const struct policy_text *texts, size_t n, struct policy **ret_policy,
    struct policy_findings *findings, struct hl_err *err) HL_MUST_CHECK;

/* fold.c */
int policy_fold_layer(struct policy *policy, const struct policy_read *layer, struct diag *diag,
    struct hl_err *err) HL_MUST_CHECK;
/* "no effect", unless a level says it: two levels in one stack simply tighten. */
void policy_report_no_effect(struct policy_fold *f, enum policy_field field, struct diag_at at,
    const char *bound, const struct hl_origin *by);
void policy_report_outside(struct policy_fold *f, enum policy_field field, struct diag_at at,
    enum hl_code code, const struct hl_origin *by);

/* seen.c: items by name or by text, of which at most n differ. Borrows them. */
struct policy_seen {
	const struct policy_item **slots;
	size_t mask;
	bool is_by_name;
};

bool policy_seen_init(struct policy_arena *arena, size_t n, bool is_by_name,
    struct policy_seen *ret_seen);
/* The item that was given before with the same; NULL: none was, and from now on it is this one. */
const struct policy_item *policy_seen_first(struct policy_seen *seen,
    const struct policy_item *item);

/* lists.c */
/* One list, not two with equal members. */
bool policy_is_same_list(const struct policy_items *a, const struct policy_items *b);
struct diag_at policy_at_item(const struct policy_item *item);
void policy_report_list(struct policy_fold *f, enum policy_field field,
    const struct policy_item *item, const struct policy_items *bound, const struct hl_origin *by);
void policy_fold_list(struct policy_fold *f, enum policy_field field,
    const struct policy_given *given, struct policy_state *state);

/* sets.c */
bool policy_index_init(struct policy_arena *arena, const struct policy_items *items,
    struct policy_index *ret_index);
/* Certain only: false also when it cannot be told. Of patterns, records and plain texts. */
bool policy_item_is_inside(const struct policy_item *item, const struct policy_item *bound);
/* Whether the member, itself perhaps a pattern, is inside one of them. */
bool policy_index_has(const struct policy_index *index, const struct policy_item *member);
void policy_bound_set(struct policy_fold *f, enum policy_field field,
    const struct policy_given *given, struct policy_state *state);
bool policy_cut_set(struct policy_arena *arena, const struct policy_state *state,
    struct policy_items *items);
/* The index of the first list that the member is not inside of; lists_len: inside all. */
size_t policy_lists_outside(const struct policy_state *state, const struct policy_item *member);
/* items, cut to what the bounds allow. NULL items on no memory. */
bool policy_cut_list(struct policy_arena *arena, enum policy_kind kind,
    const struct policy_state *state, struct policy_items *items);
/* Whether the bounds take an item as it is. */
bool policy_item_is_allowed(enum policy_kind kind, const struct policy_state *state,
    const struct policy_item *item);
/* The conjunction as one list, sorted: exact unless two patterns overlap without one being inside
 * the other; then what is only in both is left out. */
bool policy_flatten(struct policy_arena *arena, const struct policy_state *state,
    struct policy_refs *ret_refs);

/* places.c */
void policy_bound_places(struct policy_fold *f, enum policy_field field,
    const struct policy_given *given, struct policy_state *state);
bool policy_place_is_inside(enum policy_kind kind, const struct policy_items *allowed,
    const struct policy_item *item);
bool policy_cut_places(struct policy_arena *arena, enum policy_kind kind,
    const struct policy_items *allowed, struct policy_items *items);
bool policy_mount_is_inside(const struct policy_mount *mount, const struct policy_mount *bound);
/* Certain only: false also when it cannot be told. */
bool policy_pattern_is_inside(const char *pattern, const char *bound);
/* Text between two stars has to be looked for; all else of a pattern has its place. */
bool policy_pattern_is_dear(const char *pattern);

/* compare.c: whether a number, or rank, is inside the bound. */
bool policy_number_is_allowed(enum policy_field field, const struct policy_state *state,
    uint64_t number);

/* check.c: what is wrong with one key of one file. */
void policy_check_file(const struct policy_read *layer, struct diag *diag);

/* contradict.c: what two keys may not say together, by contradictions.def. */
enum policy_across {
	POLICY_ACROSS_REFUSED,
	POLICY_ACROSS_DORMANT
};

struct policy_contradiction_rule;

struct policy_contradiction {
	const struct policy_contradiction_rule *rule;
	enum policy_severity severity;
	struct hl_origin at, other;
	uint32_t width;
	const char *name, *rest; /* or NULL */
};

struct policy_contradictions {
	struct policy_contradiction v[POLICY_FINDINGS_MAX + 1];
	size_t len;
};

/* Tells what the file says itself. */
int policy_contradictions_in_file(struct policy *policy, const struct policy_read *layer,
    struct diag *diag, struct hl_err *err) HL_MUST_CHECK;
/* Of a stack that is folded and not settled yet: then what lies dormant is gone. */
int policy_contradictions_find(struct policy *policy, struct policy_contradictions *ret_found,
    struct hl_err *err) HL_MUST_CHECK;
/* Those whose place is in that file. */
void policy_contradictions_tell(const struct policy_contradictions *found,
    const struct policy_read *layer, struct diag *diag);

/* dormant.c: what other layers' bounds leave of a number, a list, and of env.set. */
int policy_number_dormant(struct policy *policy, enum policy_field field,
    struct hl_err *err) HL_MUST_CHECK;
int policy_list_dormant(struct policy *policy, enum policy_field field, struct policy_items *items,
    struct hl_err *err) HL_MUST_CHECK;
int policy_names_dormant(struct policy *policy, struct policy_items *ret_left,
    struct hl_err *err) HL_MUST_CHECK;
/* Whether one of these patterns takes the name, and which. */
bool policy_name_is_denied(const struct policy_items *denied, const char *name, size_t *ret_by);
bool policy_is_cloud(const char *backend);

/* settle.c */
int policy_settle(struct policy *policy, struct hl_err *err) HL_MUST_CHECK;
int policy_settle_field(struct policy *policy, enum policy_field field,
    struct hl_err *err) HL_MUST_CHECK;
/* Findings about the whole stack; at file and place of what is wrong. */
void policy_check_settled(const struct policy *policy, struct diag *diag,
    const struct policy_read *layer);
/* The layers that this one needs are there. */
void policy_check_layers(const struct policy *policy, struct diag *diag,
    const struct policy_read *layer);

/* format.c */
void policy_put_scalar(struct hl_buf *out, const char *text);
void policy_put_number(struct hl_buf *out, enum policy_field field, uint64_t number);
void policy_put_items(struct hl_buf *out, enum policy_kind kind, const struct policy_items *items);
void policy_put_list(struct hl_buf *out, enum policy_kind kind, const struct policy_item *items,
    size_t len);
/* Beside enum policy_show_flags: of a map's entries the names only. */
#define POLICY_BODY_NAMES (1U << 8)

/* The body of policy_show(), which is what the digest is made of. */
int policy_put_body(const struct policy *policy, unsigned flags, struct hl_buf *out,
    struct hl_err *err) HL_MUST_CHECK;

/* What policy_show() writes behind a field's key, in one line; of env.set the names only. */
int policy_put_field_text(const struct policy *policy, enum policy_field field, struct hl_buf *out,
    struct hl_err *err) HL_MUST_CHECK;

/* A value given as text, outside any file. -1: it is none of the field's. */
int policy_parse_number(enum policy_field field, const char *text, uint64_t *ret_number,
    struct hl_err *err) HL_MUST_CHECK;
int policy_parse_member(struct policy_arena *arena, enum policy_field field, const char *text,
    const char **ret_text, struct hl_err *err) HL_MUST_CHECK;
int policy_parse_tmpfs(struct policy_arena *arena, const char *text, struct policy_tmpfs *ret_tmpfs,
    struct hl_err *err) HL_MUST_CHECK;

#endif
