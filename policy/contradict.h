/*
 * Looking for contradictions: what a rule sees, and who looks. Private to contradict.c and
 * contradict_lists.c.
 */
#ifndef HL_POLICY_CONTRADICT_H
#define HL_POLICY_CONTRADICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/state.h"

enum when {
	WHEN_SOME,
	WHEN_USED,
	WHEN_HELD
};

enum finder {
	FIND_pair,
	FIND_backends,
	FIND_denied,
	FIND_home,
	FIND_places,
	FIND_root,
	FIND_secrets,
	FIND_times,
	FIND_user,
	FIND_variables
};

enum kind_of_backends {
	BACKENDS_any,
	BACKENDS_cloud,
	BACKENDS_ssh
};

struct state_of_key {
	enum when when;
	uint64_t rank;
};

/* No pointers: this is looked at in every start (ARCHITECTURE.md). */
struct policy_contradiction_rule {
	enum hl_code code;
	enum policy_severity severity;
	enum policy_across across;
	enum policy_field field, by;
	struct state_of_key is, by_is;
	enum kind_of_backends backends;
	enum finder find;
	char message[80], rest[40], other[32], help[80];
};

/* Where something is said, and how many bytes of it are underlined. */
struct spot {
	struct hl_origin origin;
	uint32_t width;
};

struct said {
	bool is_set, is_bounded, is_used;
	uint64_t bound, number;
	const char *text;
	struct policy_items items; /* that are used */
	struct spot bound_at, used_at;
};

/* One file (layer) or a stack (policy). */
struct look {
	const struct policy_read *layer;
	struct policy *policy;
	const struct policy_contradiction_rule *rule;
	struct policy_contradictions *out;
	bool is_oom;
};

struct said contradict_said(struct look *look, enum policy_field field);
/* Whether it is as a row means it. */
bool contradict_is_so(const struct said *said, const struct state_of_key *is);
struct spot contradict_spot(const struct hl_origin *origin);
/* Members that a file or a stack lets be used: its bound, or without one what is used. False: no
 * memory. */
bool contradict_allowed(struct look *look, enum policy_field field, struct policy_refs *ret_refs);
/* The layer in which it is said; -1: none. */
int contradict_layer(const struct policy *policy, const struct hl_origin *origin);
/* Nothing more of this row would be kept. */
bool contradict_is_full(const struct look *look);
/* One is found. name and rest as the row says, or NULL. */
void contradict_found(struct look *look, const struct spot *at, const struct spot *other,
    const char *name, const char *rest);

/* contradict_lists.c */
void contradict_denied(struct look *look);
void contradict_places(struct look *look);
void contradict_home(struct look *look);
void contradict_root(struct look *look);
void contradict_variables(struct look *look);
void contradict_secrets(struct look *look);

#endif
