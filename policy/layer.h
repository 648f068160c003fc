/*
 * One file or level after reading: what it says of each field, typed, and nothing merged yet.
 *
 * Values of ranked kinds (ENUM, BOOL, HOME) are held as ranks, strict first, until the settled
 * value is handed out; so every merge of them is "the smaller one".
 */
#ifndef HL_POLICY_LAYER_H
#define HL_POLICY_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "policy/arena.h"
#include "policy/diag.h"
#include "policy/field.h"
#include "policy/node.h"
#include "policy/policy.h"

struct policy_items {
	struct policy_item *v;
	size_t len;
};

struct policy_given {
	bool is_set; /* the key is there */
	bool has_bound;
	bool has_default;
	bool
	    is_short; /* one value for both: a default of this kind gives way to an earlier bound */
	uint64_t bound;
	uint64_t number; /* the default */
	const char *text;
	struct policy_items allowed; /* the bound of a list */
	struct policy_items
	    items; /* the default of a list; the content of a map, workdir or home */
	struct diag_at at, default_at;
};

/* A text of the frame with its place: a lock, a control, a required layer. */
struct policy_mark {
	const char *text;
	uint64_t revision;
	struct diag_at at;
};

struct policy_marks {
	struct policy_mark *v;
	size_t len;
};

struct policy_read {
	struct policy_layer row;
	const char *name; /* as messages print it */
	bool is_level;
	bool is_warn;      /* mode: warn */
	bool is_roots;     /* the file's owner is root */
	bool is_host_file; /* of the host directory, and not only of the layer that it says */
	bool has_degrade;
	int rank;          /* host 0 ... task 3 */
	const char *level; /* or NULL */
	struct diag_at level_at, review_at;
	const char *review_by;
	struct policy_marks requires, mandatory, locks, degrade;
	struct policy_expectations examples;
	struct policy_given given[POLICY_FIELD_MAX];
};

/* levels.c: "the levels are ...", for whoever named another. */
extern const char policy_level_help[];

/* What is open while one file is read. */
struct policy_reader {
	struct policy_arena *arena;
	struct diag *diag;
	struct policy_read *layer;
	int (*check_call)(const char *name, struct hl_err *err); /* or NULL */
	bool is_oom; /* sticky; checked once at the end */
};

struct policy_range {
	uint64_t min, max;
};

struct hl_origin policy_origin(const struct policy_read *layer, struct diag_at at);

/* schema.c: the whole tree into r->layer. -1: no memory. */
int policy_schema_read(struct policy_reader *r, const struct node *root,
    struct hl_err *err) HL_MUST_CHECK;
void policy_unknown_key(struct policy_reader *r, const struct node *key, const char *prefix,
    const char *const *candidates, size_t n);

/* Keys of a mapping that gives bound and default apart; empty when there is no such mapping. */
const char *const *policy_field_forms(enum policy_field field);

/* One value for bound and default, as a file may write it behind a field's key. */
bool policy_read_short(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_given *given);

/* expect.c: the mapping of a test, without its name, or that of a policy's examples. */
void policy_read_expectations(struct policy_reader *r, const struct node *map, bool is_examples,
    struct policy_expectations *ret_expectations);

/* frame.c: false when the key is none of the frame's. */
bool policy_frame_read(struct policy_reader *r, const struct node *node);
/* False: the file is not for this program, and nothing else of it is looked at. */
bool policy_frame_check(struct policy_reader *r, const struct node *root);
/* What can be told once the whole frame is read. */
void policy_frame_finish(struct policy_reader *r, const struct node *root);
const char *const *policy_frame_keys(size_t *ret_len);

/* canonical.c: what policy_format_file() does with the bytes of a file. */
int policy_canonical(const char *name, const struct hl_buf *bytes, struct hl_buf *out,
    struct policy_findings *findings, struct hl_err *err) HL_MUST_CHECK;

/* types.c: each reports what is wrong and answers whether the value may be used. */
bool policy_read_number(struct policy_reader *r, enum policy_field field, const struct node *node,
    uint64_t *ret_number);
bool policy_read_string(struct policy_reader *r, const char *key, const struct node *node,
    const char **ret_text);
bool policy_read_bool(struct policy_reader *r, const char *key, const struct node *node,
    bool *ret_value);
bool policy_read_word(struct policy_reader *r, const char *key, const char *const *words,
    const struct node *node, uint64_t *ret_rank);
bool policy_read_u64(struct policy_reader *r, const char *key, const struct node *node,
    struct policy_range range, uint64_t *ret_value);
bool policy_read_size(struct policy_reader *r, const char *key, const struct node *node,
    uint64_t *ret_value);
/* Not empty, a scalar, not broken. */
bool policy_expect_scalar(struct policy_reader *r, const char *key, const struct node *node);
bool policy_expect(struct policy_reader *r, const char *key, const struct node *node,
    enum node_kind kind);
bool policy_is_ambiguous(const char *text, size_t len);

/* members.c: one member of a set or the text of a string field, checked and in its normal form. */
bool policy_read_member(struct policy_reader *r, enum policy_field field, const struct node *node,
    const char **ret_text);
bool policy_read_map(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_items *ret_items);
bool policy_check_path(struct policy_reader *r, const char *key, const struct node *node,
    const char *text);

/* lookalikes.c: a character that is taken for one of ASCII where it stands. */
struct policy_lookalike {
	uint32_t code;
	char ascii;
	const char *what;
};

bool policy_find_lookalike(const char *text, struct policy_lookalike *ret_lookalike);
/* Warns of it. */
void policy_lint_path(struct policy_reader *r, const char *key, const struct node *node,
    const char *text);

/* texts.c: a text of which the shape is enough. */
bool policy_read_shaped(struct policy_reader *r, enum policy_field field, const struct node *node,
    const char *text);

/* items.c: lists of structures. */
void policy_help_members(struct policy_reader *r, const char *const *names, size_t n);
void policy_unknown_member(struct policy_reader *r, const struct node *key,
    const char *const *names, size_t n);
/* What stands where a variable's name should: {NAME: value}. */
void policy_not_a_name(struct policy_reader *r, const struct node *node);
bool policy_check_count(struct policy_reader *r, const char *key, const struct node *node,
    size_t max);
bool policy_read_list(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_items *ret_items);
bool policy_read_workdir(struct policy_reader *r, const struct node *node,
    struct policy_given *given);
bool policy_read_home_word(struct policy_reader *r, const struct node *node,
    struct policy_given *given);
bool policy_read_home(struct policy_reader *r, const struct node *node, struct policy_given *given);
bool policy_check_mount(const struct policy_mount *mount, struct hl_err *err);

#endif
