/*
 * The policy language as a JSON Schema (draft-07), for editors: the language servers for YAML read
 * that one. It is made of the same tables as the reader, and says what such a schema can: keys,
 * types, words, ranges of numbers. Ranges of sizes and times, paths and what two keys mean together
 * are for policy check.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "policy/layer.h"
#include "policy/note.h"
#include "policy/records.h"
#include "policy/state.h"
#include "policy/structures.h"

#include "base/banned.h"

/* A number as it stands in its definition. */
#define TEXT(number)  TEXT_(number)
#define TEXT_(number) #number

static const char level_schema[] = "{\"enum\":["
#define FIRST(name) "\"" name "\""
#define NEXT(name)  ",\"" name "\""
#define LAST(name)  ",\"" name "\""
#include "policy/levels.def"
#undef FIRST
#undef NEXT
#undef LAST
				   "],\"description\":\"The built-in layer below this one.\"}";

/* The frame's keys: what frame.c reads. A test compares the names. Beside a reference draft-07
 * reads nothing, so that one with a description is in a list of its own. */
static const struct {
	const char *key, *schema;
} frame[] = {
	{ "version", "{\"const\":1,\"description\":\"The language's version; the first key.\"}" },
	{ "id",
	    "{\"type\":\"string\",\"pattern\":\"^[a-z0-9][a-z0-9._/-]{0,127}$\",\"description\":\"Name of the policy.\"}" },
	{ "layer",
	    "{\"enum\":[\"host\",\"org\",\"team\",\"task\"],\"description\":\"Where it stands in the stack. Default: task.\"}" },
	{ "level", level_schema },
	{ "revision", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":" TEXT(
			  POLICY_REVISION_MAX) ",\"description\":\"Grows with each change.\"}" },
	{ "requires",
	    "{\"allOf\":[{\"$ref\":\"#/definitions/layers\"}],\"description\":\"Layers that this one needs.\"}" },
	{ "mandatory_layers",
	    "{\"allOf\":[{\"$ref\":\"#/definitions/layers\"}],\"description\":\"Host layer only: without these nothing runs.\"}" },
	{ "owner",
	    "{\"type\":\"string\",\"maxLength\":200,\"description\":\"Who is asked to widen a bound.\"}" },
	{ "review_by",
	    "{\"type\":\"string\",\"pattern\":\"^[0-9]{4}-[0-9]{2}-[0-9]{2}$\",\"description\":\"After that day a check warns.\"}" },
	{ "lock",
	    "{\"allOf\":[{\"$ref\":\"#/definitions/names\"}],\"description\":\"Keys that later layers and callers may not touch.\"}" },
	{ "degrade",
	    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"allow\":{\"$ref\":\"#/definitions/names\"}},\"description\":\"Controls that may be missing.\"}" },
	{ "examples",
	    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"allow\":{\"$ref\":\"#/definitions/requests\"},\"refuse\":{\"$ref\":\"#/definitions/requests\"}},\"description\":\"Requests of a caller that the policy allows or refuses, for policy test.\"}" },
};

static const char definitions[] =
    "{\"layers\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
    "\"required\":[\"id\"],\"properties\":{\"id\":{\"type\":\"string\"},"
    "\"revision\":{\"type\":\"integer\",\"minimum\":1}}}},"
    "\"requests\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
    "\"properties\":{\"code\":{\"type\":\"string\",\"pattern\":\"^HL[A-Z]-[0-9]{2}$\"}"
#define POLICY_REQUEST(symbol, word, field) ",\"" word "\":{\"type\":\"string\"}"
#include "policy/expect.def"
    "}}},"
    "\"names\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":\"^[a-z0-9_*][a-z0-9._*]*$\"}},"
    "\"size\":{\"type\":\"string\",\"pattern\":\"^(0|[1-9][0-9]*)(B|KiB|MiB|GiB|TiB)$\"},"
    "\"time\":{\"type\":\"string\",\"pattern\":\"^(0|[1-9][0-9]*)(ms|s|m|h|d)$\"},"
    "\"mode\":{\"type\":\"string\",\"pattern\":\"^[0-7]{1,4}$\"},"
    "\"path\":{\"type\":\"string\",\"pattern\":\"^(/|[$][{])\"}}";

static void
put_words(struct hl_json *json, const char *const *words)
{
	hl_json_array(json);
	for (size_t i = 0; words[i] != NULL; i++)
		hl_json_string(json, words[i]);
	hl_json_end_array(json);
}

static void
put_pair(struct hl_json *json, const char *key, const char *raw)
{
	hl_json_key(json, key);
	hl_json_raw(json, raw);
}

static void
put_milli(struct hl_json *json, const char *key, uint64_t milli)
{
	struct hl_buf text;

	hl_buf_init(&text, 64);
	hl_buf_put_milli(&text, milli);
	put_pair(json, key, text.failed ? "0" : text.data);
	json->out->failed |= text.failed;
	hl_buf_done(&text);
}

/* One number of the field, without "unlimited". */
static void
put_number(struct hl_json *json, const struct policy_field_info *info)
{
	hl_json_object(json);
	switch (info->kind) {
	case POLICY_KIND_BOOL:
		put_pair(json, "type", "\"boolean\"");
		break;
	case POLICY_KIND_ENUM:
		hl_json_key(json, "enum");
		put_words(json, info->words);
		break;
	case POLICY_KIND_INT:
		put_pair(json, "type", "\"integer\"");
		hl_json_key(json, "minimum");
		hl_json_u64(json, info->min);
		hl_json_key(json, "maximum");
		hl_json_u64(json, info->max);
		break;
	case POLICY_KIND_MILLI:
		put_pair(json, "type", "\"number\"");
		put_milli(json, "minimum", info->min);
		put_milli(json, "maximum", info->max);
		break;
	case POLICY_KIND_BITS:
		put_pair(json, "type", "\"string\"");
		put_pair(json, "pattern", "\"^[0-7]{3}$\""); /* umask is the only one */
		break;
	case POLICY_KIND_SIZE:
		put_pair(json, "$ref", "\"#/definitions/size\"");
		break;
	case POLICY_KIND_DURATION:
		put_pair(json, "$ref", "\"#/definitions/time\"");
		break;
	case POLICY_KIND_STRING:
	case POLICY_KIND_SET:
	case POLICY_KIND_RECORDS:
	case POLICY_KIND_NAMED:
	case POLICY_KIND_MAP:
	case POLICY_KIND_MOUNTS:
	case POLICY_KIND_TMPFS:
	case POLICY_KIND_WORKDIR:
	case POLICY_KIND_HOME:
	case POLICY_KIND_MAX:
		hl_bug(__FILE__, __LINE__, "not a number");
	}
	hl_json_end_object(json);
}

static void
put_member_type(struct hl_json *json, const struct member *member)
{
	static const char *const types[] = {
		[MEMBER_PATH] = "{\"$ref\":\"#/definitions/path\"}",
		[MEMBER_TEXT] = "{\"type\":\"string\",\"minLength\":1}",
		[MEMBER_BOOL] = "{\"type\":\"boolean\"}",
		[MEMBER_WORD] = "",
		[MEMBER_SIZE] = "{\"$ref\":\"#/definitions/size\"}",
		[MEMBER_MODE] = "{\"$ref\":\"#/definitions/mode\"}",
	};

	hl_json_key(json, member->key);
	if (member->type != MEMBER_WORD) {
		hl_json_raw(json, types[member->type]);
		return;
	}
	hl_json_object(json);
	hl_json_key(json, "enum");
	put_words(json, member->words);
	hl_json_end_object(json);
}

static void
put_structure(struct hl_json *json, enum policy_kind kind)
{
	const struct member *members = policy_members(kind);

	hl_json_object(json);
	put_pair(json, "type", "\"object\"");
	put_pair(json, "additionalProperties", "false");
	hl_json_key(json, "required");
	hl_json_array(json);
	for (size_t i = 0; i < MEMBERS_MAX && members[i].key != NULL; i++)
		if (members[i].is_needed)
			hl_json_string(json, members[i].key);
	hl_json_end_array(json);
	hl_json_key(json, "properties");
	hl_json_object(json);
	for (size_t i = 0; i < MEMBERS_MAX && members[i].key != NULL; i++)
		put_member_type(json, &members[i]);
	hl_json_end_object(json);
	hl_json_end_object(json);
}

static void
put_record_value(struct hl_json *json, const struct record_member *row)
{
	bool is_list = row->many != RECORD_ONE;

	hl_json_object(json);
	hl_json_key(json, "description");
	hl_json_string(json, row->help);
	if (is_list) {
		put_pair(json, "type", "\"array\"");
		put_pair(json, "minItems", "1");
		hl_json_key(json, "maxItems");
		hl_json_u64(json, RECORD_VALUES_MAX);
		hl_json_key(json, "items");
	} else {
		hl_json_key(json, "allOf");
		hl_json_array(json);
	}
	if (row->type == RECORD_TYPE_WORD) {
		hl_json_object(json);
		hl_json_key(json, "enum");
		put_words(json, row->words);
		hl_json_end_object(json);
	} else {
		hl_json_raw(json, policy_record_type(row->type)->schema);
	}
	if (!is_list)
		hl_json_end_array(json);
	hl_json_end_object(json);
}

/* The rows of a group, of which one is given; returns the row behind them. */
static size_t
put_group(struct hl_json *json, const struct record_member *rows, size_t from, size_t len)
{
	size_t prefix = policy_record_key_len(&rows[from]), i = from;

	hl_json_object(json);
	put_pair(json, "type", "\"object\"");
	put_pair(json, "additionalProperties", "false");
	put_pair(json, "minProperties", "1");
	put_pair(json, "maxProperties", "1");
	hl_json_key(json, "properties");
	hl_json_object(json);
	for (; i < len && strncmp(rows[i].key, rows[from].key, prefix + 1) == 0; i++) {
		hl_json_key(json, rows[i].key + prefix + 1);
		put_record_value(json, &rows[i]);
	}
	hl_json_end_object(json);
	hl_json_end_object(json);
	return i;
}

static void
put_record_key(struct hl_json *json, const struct record_member *row)
{
	char key[POLICY_KEY_MAX + 1] = "";
	size_t len = policy_record_key_len(row);

	HL_BUG_ON(len >= sizeof(key));
	memcpy(key, row->key, len);
	hl_json_key(json, key);
}

static void
put_record(struct hl_json *json, enum policy_field field)
{
	size_t len;
	const struct record_member *rows = policy_record_members(field, &len, NULL);

	hl_json_object(json);
	put_pair(json, "type", "\"object\"");
	put_pair(json, "additionalProperties", "false");
	hl_json_key(json, "required");
	hl_json_array(json);
	for (size_t i = 0; i < len; i++)
		if (rows[i].missing[0] == '!')
			hl_json_stringn(json, rows[i].key, policy_record_key_len(&rows[i]));
	hl_json_end_array(json);
	hl_json_key(json, "properties");
	hl_json_object(json);
	for (size_t i = 0; i < len;) {
		put_record_key(json, &rows[i]);
		if (rows[i].key[policy_record_key_len(&rows[i])] == '.')
			i = put_group(json, rows, i, len);
		else
			put_record_value(json, &rows[i++]);
	}
	hl_json_end_object(json);
	hl_json_end_object(json);
}

/* One member of a list. */
static void
put_item(struct hl_json *json, const struct policy_field_info *info)
{
	if (info->kind == POLICY_KIND_RECORDS || info->kind == POLICY_KIND_NAMED) {
		put_record(json, policy_field_find(info->key));
		return;
	}
	if (info->kind != POLICY_KIND_SET) {
		put_structure(json, info->kind);
		return;
	}
	hl_json_object(json);
	if (info->words[0] == NULL) {
		put_pair(json, "type", "\"string\"");
		put_pair(json, "minLength", "1");
	} else {
		hl_json_key(json, "enum");
		hl_json_array(json);
		for (size_t i = 0; info->words[i] != NULL; i++)
			hl_json_string(json, info->words[i]);
		/* Read as singularity. */
		if (strcmp(info->key, "backends") == 0)
			hl_json_string(json, "apptainer");
		hl_json_end_array(json);
	}
	hl_json_end_object(json);
}

#define VARIABLE_NAME "{\"pattern\":\"^[A-Za-z_][A-Za-z0-9_]{0,127}$\"}"

static void
put_named(struct hl_json *json, const struct policy_field_info *info)
{
	hl_json_object(json);
	put_pair(json, "type", "\"object\"");
	put_pair(json, "propertyNames", VARIABLE_NAME);
	hl_json_key(json, "additionalProperties");
	put_item(json, info);
	hl_json_end_object(json);
}

static void
put_list(struct hl_json *json, const struct policy_field_info *info)
{
	hl_json_object(json);
	put_pair(json, "type", "\"array\"");
	if (info->kind == POLICY_KIND_RECORDS)
		put_pair(json, "uniqueItems", "true");
	hl_json_key(json, "items");
	put_item(json, info);
	hl_json_end_object(json);
}

/* The shortest form of a value. */
static void
put_short(struct hl_json *json, const struct policy_field_info *info)
{
	if (info->kind == POLICY_KIND_NAMED) {
		put_named(json, info);
	} else if (policy_kind_is_list(info->kind)) {
		put_list(json, info);
	} else if (info->kind == POLICY_KIND_STRING) {
		hl_json_raw(json, "{\"type\":\"string\",\"minLength\":1}");
	} else if (info->kind == POLICY_KIND_MAP) {
		hl_json_raw(json, "{\"type\":\"object\",\"propertyNames\":" VARIABLE_NAME
				  ",\"additionalProperties\":{\"type\":\"string\"}}");
	} else if (info->kind == POLICY_KIND_WORKDIR) {
		put_structure(json, info->kind);
	} else if (info->kind == POLICY_KIND_HOME) {
		hl_json_object(json);
		hl_json_key(json, "anyOf");
		hl_json_array(json);
		hl_json_raw(json, "{\"enum\":[\"tmpfs\",\"persist\"]}");
		put_structure(json, info->kind);
		hl_json_end_array(json);
		hl_json_end_object(json);
	} else if (strcmp(info->default_text, "unlimited") == 0) {
		hl_json_object(json);
		hl_json_key(json, "anyOf");
		hl_json_array(json);
		put_number(json, info);
		hl_json_raw(json, "{\"const\":\"unlimited\"}");
		hl_json_end_array(json);
		hl_json_end_object(json);
	} else {
		put_number(json, info);
	}
}

static void
put_default_form(struct hl_json *json, const struct policy_field_info *info)
{
	hl_json_key(json, "default");
	/* Of a list of texts the default may be one text. */
	if (info->kind != POLICY_KIND_SET) {
		put_short(json, info);
		return;
	}
	hl_json_object(json);
	hl_json_key(json, "anyOf");
	hl_json_array(json);
	put_list(json, info);
	put_item(json, info);
	hl_json_end_array(json);
	hl_json_end_object(json);
}

static void put_keys_below(struct hl_json *json, const char *prefix);

/* {max, default}, {allowed, default}, {default}, and the keys of fields that begin with this one's.
 */
static void
put_long(struct hl_json *json, const struct policy_field_info *info, const char *const *forms)
{
	char prefix[80];

	hl_json_object(json);
	put_pair(json, "type", "\"object\"");
	put_pair(json, "additionalProperties", "false");
	put_pair(json, "minProperties", "1");
	hl_json_key(json, "properties");
	hl_json_object(json);
	for (size_t i = 0; forms[i] != NULL; i++) {
		if (strcmp(forms[i], "default") == 0) {
			put_default_form(json, info);
			continue;
		}
		hl_json_key(json, forms[i]);
		put_short(json, info);
	}
	snprintf(prefix, sizeof(prefix), "%s.", info->key);
	put_keys_below(json, prefix);
	hl_json_end_object(json);
	hl_json_end_object(json);
}

static void
put_field(struct hl_json *json, enum policy_field field)
{
	const struct policy_field_info *info = policy_field_info(field);
	const char *const *forms = policy_field_forms(field);
	char text[600];

	snprintf(text, sizeof(text), "%s%s%s%s", info->help,
	    info->default_text[0] != '\0' ? " Default: " : "", info->default_text,
	    info->default_text[0] != '\0' ? "." : "");
	hl_json_object(json);
	hl_json_key(json, "description");
	hl_json_string(json, text);
	hl_json_key(json, "anyOf");
	hl_json_array(json);
	put_short(json, info);
	if (forms[0] != NULL)
		put_long(json, info, forms);
	hl_json_end_array(json);
	hl_json_end_object(json);
}

/* Whether an earlier field has the same next part of its key: then the section stands already. */
static bool
is_begun(size_t field, const char *prefix, size_t part)
{
	const char *key = policy_field_key((enum policy_field)field);
	size_t len = strlen(prefix) + part;

	for (size_t i = 0; i < field; i++) {
		const char *other = policy_field_key((enum policy_field)i);
		if (strncmp(other, key, len) == 0 && (other[len] == '.' || other[len] == '\0'))
			return true;
	}
	return false;
}

enum {
	PATH_SIZE = 80
};

/* prefix, len bytes of rest, and end; keys are ours and short. */
static void
join(char path[PATH_SIZE], const char *prefix, const char *rest, size_t len)
{
	size_t before = strlen(prefix);

	HL_BUG_ON(before + len + 2 > PATH_SIZE);
	memcpy(path, prefix, before);
	memcpy(path + before, rest, len);
	path[before + len] = '\0';
}

/* Members of one section. Recursion ends with the parts of the longest key. */
static void
put_keys_below(struct hl_json *json, const char *prefix)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const char *key = policy_field_key((enum policy_field)i);
		const char *rest = key + strlen(prefix);
		char path[PATH_SIZE];
		if (strncmp(key, prefix, strlen(prefix)) != 0)
			continue;
		size_t part = strcspn(rest, ".");
		if (is_begun(i, prefix, part))
			continue;
		join(path, "", rest, part);
		hl_json_key(json, path);
		if (rest[part] == '\0') {
			put_field(json, (enum policy_field)i);
			continue;
		}
		join(path, prefix, rest, part);
		memcpy(path + strlen(path), ".", 2);
		hl_json_object(json);
		put_pair(json, "type", "\"object\"");
		put_pair(json, "additionalProperties", "false");
		hl_json_key(json, "properties");
		hl_json_object(json);
		put_keys_below(json, path);
		hl_json_end_object(json);
		hl_json_end_object(json);
	}
}

int
policy_json_schema(struct hl_buf *out, struct hl_err *err)
{
	struct hl_json json;

	hl_json_init(&json, out);
	hl_json_object(&json);
	put_pair(&json, "$schema", "\"http://json-schema.org/draft-07/schema#\"");
	put_pair(&json, "title", "\"hermes-launch policy\"");
	put_pair(&json, "type", "\"object\"");
	put_pair(&json, "additionalProperties", "false");
	put_pair(&json, "required", "[\"version\",\"id\"]");
	hl_json_key(&json, "properties");
	hl_json_object(&json);
	for (size_t i = 0; i < HL_ARRAY_SIZE(frame); i++)
		put_pair(&json, frame[i].key, frame[i].schema);
	put_keys_below(&json, "");
	hl_json_end_object(&json);
	put_pair(&json, "definitions", definitions);
	hl_json_end_object(&json);
	hl_buf_putc(out, '\n');
	return hl_buf_check(out, "schema", err);
}
