/*
 * fields.def as a table, and what a single value of a field looks like before any merging.
 */
#ifndef HL_POLICY_FIELD_H
#define HL_POLICY_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "policy/policy.h"

enum policy_merge {
	MERGE_MIN,
	MERGE_MAX,
	MERGE_ORD,
	MERGE_BITS, /* more of them are stricter, and of two masks often neither is */
	MERGE_INTERSECT,
	MERGE_UNION_DENY,
	MERGE_ONCE,
	MERGE_BY_DST,
};

struct policy_field_info {
	const char *key;
	enum policy_kind kind;
	enum policy_merge merge;
	const char *default_text;
	uint64_t min, max; /* 0, 0 = no range */
	const char *const *words;
	bool is_lockable;
	bool is_private;
	const char *since;
	const char *help;
};

const struct policy_field_info *policy_field_info(enum policy_field field);
/* What is set there may be a secret: no message repeats it, and no message shows its line. */
bool policy_field_is_private(enum policy_field field);
/* The same of what a message calls a value: a private field's key, and maybe more behind it. */
bool policy_key_is_private(const char *key);
/* By length. POLICY_FIELD_MAX when there is none. */
enum policy_field policy_field_findn(const char *key, size_t len);
/* Whether some field's key is prefix "." more. */
bool policy_field_has_below(const char *prefix, size_t len);
/* How many sections a key is in: "process.seccomp.profile" is in two. */
size_t policy_key_depth(const char *key);
/* The index of a word in a NULL-terminated list, by length; -1 when it is not there. */
int policy_word_index(const char *const *words, const char *text, size_t len);
/* Kinds whose value is one number, held as a rank (ENUM, BOOL, HOME) or as itself. */
bool policy_kind_is_number(enum policy_kind kind);
bool policy_kind_is_ranked(enum policy_kind kind);
bool policy_kind_is_list(enum policy_kind kind);
/* Lists of which a bound is the conjunction of every layer's (sets.c). */
bool policy_kind_is_set(enum policy_kind kind);
/* Whether more of it is stricter: its bound is the least that there must be. */
bool policy_field_is_least(enum policy_field field);
/* A number is held so that the smaller one is the stricter: of MERGE_MAX as what is missing from
 * the largest, of MERGE_BITS as the bits that are not there. From what a policy says to what is
 * held, and back again. */
uint64_t policy_number_turned(enum policy_field field, uint64_t number);
/* Of what is held: whether one is as strict as the other or stricter, and the loosest that is as
 * strict as both. */
bool policy_number_is_inside(enum policy_field field, uint64_t number, uint64_t bound);
uint64_t policy_number_of_both(enum policy_field field, uint64_t one, uint64_t other);
/* What is held, as struct policy_value has it. */
uint64_t policy_number_handed_out(enum policy_field field, uint64_t held);

#endif
