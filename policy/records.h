/*
 * Records: the entries of fields that are lists, or maps by name, of mappings (records.def).
 *
 * A record is read once, strictly, and has two forms from then on: its values, member by member,
 * which tell whether it is inside another one; and its text, in which equal records are equal bytes
 * whatever order their members had, which is what is shown, compared and hashed. Sets of records
 * are bounded like sets of patterns (sets.c).
 */
#ifndef HL_POLICY_RECORDS_H
#define HL_POLICY_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/layer.h"
#include "policy/policy.h"

enum record_type {
	RECORD_TYPE_BOOL,
	RECORD_TYPE_WORD,
	RECORD_TYPE_PORT,
	RECORD_TYPE_DESCRIPTOR,
	RECORD_TYPE_FILE,
	RECORD_TYPE_DIGEST,
	RECORD_TYPE_HOST,
	RECORD_TYPE_ENDPOINT,
	RECORD_TYPE_METHOD,
	RECORD_TYPE_WEB_PATH,
	RECORD_TYPE_USER,
	RECORD_TYPE_FINGERPRINT,
	RECORD_TYPE_PUBLIC_KEY,
	RECORD_TYPE_JUMP,
	RECORD_TYPE_LABEL,
	RECORD_TYPE_VARIABLE,
	RECORD_TYPE_ARGUMENT,
	RECORD_TYPE_PLACE,
	RECORD_TYPE_MAX
};

enum record_many {
	RECORD_ONE,
	RECORD_SET,
	RECORD_LIST
};

enum record_rule {
	RECORD_RULE_WITHIN,
	RECORD_RULE_SAME,
	RECORD_RULE_UNIQUE,
	RECORD_RULE_KNOWN,
	RECORD_RULE_ORD,
	RECORD_RULE_SHORT
};

enum record_index {
#define RECORD(field, member, ...) RECORD_##field##_##member,
#include "policy/records.def"
#undef RECORD
	RECORD_INDEX_MAX
};

enum {
	RECORD_MEMBERS_MAX = 12, /* of one field */
	RECORD_VALUES_MAX = 64   /* of one member */
};

struct record_member {
	enum policy_field field;
	const char *key;
	enum record_type type;
	enum record_many many;
	enum record_rule rule;
	const char *missing;
	const char *const *words;
	const char *help;
};

/* Every value is a text: numbers as they are written, which is one way only. */
struct record_value {
	const char *const *v; /* NULL: missing */
	size_t len;
};

struct policy_record {
	enum policy_field field;
	size_t len;
	struct record_value values[]; /* in the order of the field's members */
};

/* records.c: the rows of a field; the first one's index is *ret_first, which may be NULL. */
const struct record_member *policy_record_members(enum policy_field field, size_t *ret_len,
    enum record_index *ret_first);
/* Of all fields; below RECORD_INDEX_MAX. */
const struct record_member *policy_record_member(size_t index);
/* "from" of "from.env", else all of the key. */
size_t policy_record_key_len(const struct record_member *member);
/* The value of a member, and its first text; NULL: missing. */
const struct record_value *policy_record_value(const struct policy_record *record,
    enum record_index index);
const char *policy_record_text(const struct policy_record *record, enum record_index index);

/* Adds up the paths, and those of them that are dear to compare. */
void policy_record_count_paths(const struct policy_record *record, size_t *paths, size_t *dear);

/* record_read.c: one entry of the field's list, or of its map. */
bool policy_read_record(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_item *item);

/* records.c. Certain only: false also when it cannot be told. */
bool policy_record_is_inside(const struct policy_record *record, const struct policy_record *bound);
bool policy_host_is_inside(const char *host, const char *bound);

/* record_types.c */
struct record_type_info {
	uint64_t min, max; /* of a number; of a text max is the most bytes */
	bool is_number;
	bool (*is_good)(const char *text); /* of texts that need more than bytes, or NULL */
	const char *bytes;                 /* or NULL */
	const char *help;
	const char *schema; /* JSON */
};

const struct record_type_info *policy_record_type(enum record_type type);
bool policy_record_text_is_good(enum record_type type, const char *text);
/* An address in its one spelling, not a name. */
bool policy_is_address(const char *text);

#endif
