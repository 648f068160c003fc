/*
 * The members of records as a table, and when one record is inside another: when each member says
 * so, by its own rule. What cannot be told is not inside.
 */
#include "policy/records.h"

#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

#define WORDS(...) __VA_ARGS__
#define RECORD(field, member, key, type, many, rule, missing, words, help) \
 static const char *const words_##field##_##member[] = { WORDS words };
#include "policy/records.def"
#undef RECORD

static const struct record_member members[RECORD_INDEX_MAX] = {
#define RECORD(field, member, key, type, many, rule, missing, words, help)               \
 [RECORD_##field##_##member] = { POLICY_##field, key, RECORD_TYPE_##type, RECORD_##many, \
	 RECORD_RULE_##rule, missing, words_##field##_##member, help },
#include "policy/records.def"
#undef RECORD
};

const struct record_member *
policy_record_members(enum policy_field field, size_t *ret_len, enum record_index *ret_first)
{
	size_t first = 0, len = 0;

	while (first < RECORD_INDEX_MAX && members[first].field != field)
		first++;
	while (first + len < RECORD_INDEX_MAX && members[first + len].field == field)
		len++;
	HL_BUG_ON(len == 0 || len > RECORD_MEMBERS_MAX);
	*ret_len = len;
	if (ret_first != NULL)
		*ret_first = (enum record_index)first;
	return &members[first];
}

const struct record_member *
policy_record_member(size_t index)
{
	HL_BUG_ON(index >= RECORD_INDEX_MAX);
	return &members[index];
}

size_t
policy_record_key_len(const struct record_member *member)
{
	return strcspn(member->key, ".");
}

const struct record_value *
policy_record_value(const struct policy_record *record, enum record_index index)
{
	enum record_index first;
	size_t len;

	policy_record_members(record->field, &len, &first);
	HL_BUG_ON(index < first || (size_t)index - first >= record->len);
	return &record->values[(size_t)index - first];
}

const char *
policy_record_text(const struct policy_record *record, enum record_index index)
{
	const struct record_value *value = policy_record_value(record, index);

	return value->v != NULL ? value->v[0] : NULL;
}

void
policy_record_count_paths(const struct policy_record *record, size_t *paths, size_t *dear)
{
	size_t len;
	const struct record_member *rows = policy_record_members(record->field, &len, NULL);

	for (size_t i = 0; i < len; i++) {
		if (rows[i].type != RECORD_TYPE_WEB_PATH)
			continue;
		*paths += record->values[i].len;
		for (size_t j = 0; j < record->values[i].len; j++)
			*dear += policy_pattern_is_dear(record->values[i].v[j]);
	}
}

const char *
policy_record_get(const struct policy_record *record, const char *key)
{
	size_t len;
	enum record_index first;
	const struct record_member *rows = policy_record_members(record->field, &len, &first);

	for (size_t i = 0; i < len; i++)
		if (strcmp(rows[i].key, key) == 0)
			return policy_record_text(record, (enum record_index)(first + i));
	return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Inside
 */

/* A star stands for one label. */
bool
policy_host_is_inside(const char *host, const char *bound)
{
	const char *dot = strchr(host, '.');

	if (strcmp(host, bound) == 0)
		return true;
	return bound[0] == '*' && dot != NULL && dot != host && strcmp(dot, bound + 1) == 0;
}

static bool
is_text_inside(enum record_type type, const char *text, const char *bound)
{
	if (type == RECORD_TYPE_HOST)
		return policy_host_is_inside(text, bound);
	if (type == RECORD_TYPE_WEB_PATH)
		return policy_pattern_is_inside(text, bound);
	return strcmp(text, bound) == 0;
}

static bool
are_among(enum record_type type, const struct record_value *value, const struct record_value *bound)
{
	bool is_exact = type != RECORD_TYPE_HOST && type != RECORD_TYPE_WEB_PATH;
	size_t j = 0;

	for (size_t i = 0; i < value->len; i++) {
		/* Both are sorted alike: of texts that stand for themselves, the next is behind. */
		j = is_exact ? j : 0;
		while (j < bound->len && !is_text_inside(type, value->v[i], bound->v[j]))
			j++;
		if (j == bound->len)
			return false;
	}
	return true;
}

static bool
is_same(const struct record_value *a, const struct record_value *b)
{
	if ((a->v == NULL) != (b->v == NULL) || a->len != b->len)
		return false;
	for (size_t i = 0; i < a->len; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return true;
}

static int
rank_of(const struct record_member *member, const struct record_value *value)
{
	int rank = policy_word_index(member->words, value->v[0], strlen(value->v[0]));

	HL_BUG_ON(rank < 0);
	return rank;
}

static bool
is_value_inside(const struct record_member *member, const struct record_value *value,
    const struct record_value *bound)
{
	switch (member->rule) {
	case RECORD_RULE_WITHIN:
		if (bound->v == NULL)
			return true;
		return value->v != NULL && are_among(member->type, value, bound);
	case RECORD_RULE_KNOWN:
		return (value->v == NULL) == (bound->v == NULL) &&
		       are_among(member->type, value, bound);
	case RECORD_RULE_ORD:
		return rank_of(member, value) <= rank_of(member, bound);
	case RECORD_RULE_SAME:
	case RECORD_RULE_UNIQUE:
	case RECORD_RULE_SHORT:
		break;
	}
	return is_same(value, bound);
}

bool
policy_record_is_inside(const struct policy_record *record, const struct policy_record *bound)
{
	size_t len;
	const struct record_member *rows = policy_record_members(bound->field, &len, NULL);

	if (record->field != bound->field)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_value_inside(&rows[i], &record->values[i], &bound->values[i]))
			return false;
	return true;
}
