/*
 * The table of fields, made from fields.def.
 */
#include "policy/field.h"

#include <string.h>

#include "base/base.h"

#include "base/banned.h"

#define WORDS(...) __VA_ARGS__
#define POLICY_FIELD(symbol, key, kind, merge, default_text, min, max, words, ...) \
 static const char *const words_##symbol[] = { WORDS words };
#include "policy/fields.def"
#undef POLICY_FIELD

static const struct policy_field_info fields[] = {
#define POLICY_FIELD(symbol, key, kind, merge, default_text, min, max, words, lockable, private, \
    since, help)                                                                                 \
 [POLICY_##symbol] = { key, POLICY_KIND_##kind, MERGE_##merge, default_text, min, max,           \
	 words_##symbol, lockable, private, since, help },
#include "policy/fields.def"
#undef POLICY_FIELD
};

const struct policy_field_info *
policy_field_info(enum policy_field field)
{
	HL_BUG_ON((size_t)field >= POLICY_FIELD_MAX);
	return &fields[field];
}

bool
policy_field_is_private(enum policy_field field)
{
	return policy_field_info(field)->is_private;
}

bool
policy_key_is_private(const char *key)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++)
		if (fields[i].is_private && strncmp(key, fields[i].key, strlen(fields[i].key)) == 0)
			return true;
	return false;
}

const char *
policy_field_key(enum policy_field field)
{
	return policy_field_info(field)->key;
}

const char *
policy_field_help(enum policy_field field)
{
	return policy_field_info(field)->help;
}

enum policy_kind
policy_field_kind(enum policy_field field)
{
	return policy_field_info(field)->kind;
}

const char *const *
policy_field_words(enum policy_field field)
{
	return policy_field_info(field)->words;
}

enum policy_field
policy_field_findn(const char *key, size_t len)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		/* The first letter tells most of them apart, without a call. */
		if (fields[i].key[0] == key[0] && strlen(fields[i].key) == len &&
		    memcmp(fields[i].key, key, len) == 0)
			return (enum policy_field)i;
	}
	return POLICY_FIELD_MAX;
}

enum policy_field
policy_field_find(const char *key)
{
	return policy_field_findn(key, strlen(key));
}

bool
policy_field_has_below(const char *prefix, size_t len)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		if (strncmp(fields[i].key, prefix, len) == 0 && fields[i].key[len] == '.')
			return true;
	}
	return false;
}

size_t
policy_key_depth(const char *key)
{
	size_t n = 0;

	for (; *key != '\0'; key++)
		n += *key == '.';
	return n;
}

int
policy_word_index(const char *const *words, const char *text, size_t len)
{
	for (int i = 0; words[i] != NULL; i++) {
		if (strlen(words[i]) == len && memcmp(words[i], text, len) == 0)
			return i;
	}
	return -1;
}

bool
policy_kind_is_number(enum policy_kind kind)
{
	return kind == POLICY_KIND_INT || kind == POLICY_KIND_SIZE ||
	       kind == POLICY_KIND_DURATION || kind == POLICY_KIND_MILLI;
}

bool
policy_kind_is_ranked(enum policy_kind kind)
{
	return kind == POLICY_KIND_BOOL || kind == POLICY_KIND_ENUM || kind == POLICY_KIND_HOME;
}

bool
policy_field_is_least(enum policy_field field)
{
	enum policy_merge merge = policy_field_info(field)->merge;

	return merge == MERGE_MAX || merge == MERGE_BITS;
}

uint64_t
policy_number_turned(enum policy_field field, uint64_t number)
{
	/* The largest mask has every bit, so that what is missing from it are the others. */
	return policy_field_is_least(field) ? policy_field_info(field)->max - number : number;
}

bool
policy_number_is_inside(enum policy_field field, uint64_t number, uint64_t bound)
{
	if (policy_field_info(field)->merge == MERGE_BITS)
		return (number & ~bound) == 0;
	return number <= bound;
}

uint64_t
policy_number_of_both(enum policy_field field, uint64_t one, uint64_t other)
{
	if (policy_field_info(field)->merge == MERGE_BITS)
		return one & other;
	return one < other ? one : other;
}

uint64_t
policy_number_handed_out(enum policy_field field, uint64_t held)
{
	const struct policy_field_info *info = policy_field_info(field);

	if (info->kind != POLICY_KIND_BOOL)
		return policy_number_turned(field, held);
	return strcmp(info->words[held], "true") == 0;
}

bool
policy_kind_is_list(enum policy_kind kind)
{
	return policy_kind_is_set(kind) || kind == POLICY_KIND_MOUNTS || kind == POLICY_KIND_TMPFS;
}

bool
policy_kind_is_set(enum policy_kind kind)
{
	return kind == POLICY_KIND_SET || kind == POLICY_KIND_RECORDS || kind == POLICY_KIND_NAMED;
}
