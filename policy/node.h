/*
 * A policy's text as a tree, with the place of every key and value.
 *
 * Life cycle: policy_source_init() checks the bytes (encoding, control and hidden characters) and
 * finds the lines; policy_yaml_load() makes the tree. Nodes live in the arena; a source borrows its
 * bytes and name. Lines and columns count from 1, columns in bytes.
 */
#ifndef HL_POLICY_NODE_H
#define HL_POLICY_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "policy/arena.h"
#include "policy/diag.h"

enum node_kind {
	NODE_SCALAR,
	NODE_LIST,
	NODE_MAP,
	NODE_BROKEN, /* something that was reported already: say nothing more about it */
};

struct node {
	enum node_kind kind;
	bool is_plain; /* a scalar without quotes */
	const char *text;
	size_t len; /* text has no NUL inside, but is compared by length all the same */
	uint32_t line, column;
	uint32_t width;    /* bytes on that line */
	uint32_t end_line; /* 0 while open */
	struct node *key;  /* of a map's child */
	struct node *first, *last, *next;
	size_t children;
};

struct policy_source {
	const char *name; /* as messages print it */
	const char *bytes;
	size_t len;
	bool is_ascii;    /* every character is one byte */
	bool has_hidden;  /* such characters were reported: values with them say no more */
	uint32_t *starts; /* offset of each line */
	size_t lines;
	size_t last_len; /* bytes of the last line */
	/* Where the last libyaml mark was: marks nearly always move forward. */
	size_t mark_index;
	size_t mark_offset;
};

enum {
	POLICY_DEPTH_MAX = 16,
	POLICY_SCALAR_MAX = 8192,
	POLICY_KEY_MAX = 64,
	POLICY_NODES_MAX = 65536,
	POLICY_LIST_MAX = 4096,
};

/* -1 only without memory. *ret_is_text is false when the bytes are not fit to be parsed at all. */
int policy_source_init(struct policy_source *source, struct diag *diag, bool *ret_is_text,
    struct hl_err *err) HL_MUST_CHECK;
/* Reports the first control, hidden or reordering character of a value. False: there is one. */
bool policy_text_check(const char *text, size_t len, struct diag_at at, struct diag *diag);
void policy_source_done(struct policy_source *source);
/* The line's bytes without its end; "" for a line that is not there. */
const char *policy_source_line(const struct policy_source *source, uint32_t line, size_t *ret_len);

/* *ret_root: NULL when nothing usable could be read (then diag has an error). -1: no memory. */
int policy_yaml_load(struct policy_source *source, struct policy_arena *arena, struct diag *diag,
    struct node **ret_root, struct hl_err *err) HL_MUST_CHECK;

/* Whether a line may hold values that no message repeats (env.set): see private.c. */
bool policy_line_is_private(const struct policy_source *source, const struct node *root,
    uint32_t line);

bool policy_node_is(const struct node *node, const char *text);
/* "key:" with nothing behind it. */
bool policy_node_is_empty(const struct node *node);
/* The first child with that key, or NULL. */
const struct node *policy_node_find(const struct node *map, const char *key);

#endif
