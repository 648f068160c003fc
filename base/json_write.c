/*
 * A JSON writer that puts the commas. Canonical by construction: no spaces, keys in call order,
 * integers only.
 */
#include <string.h>

#include "base/base.h"

#include "base/banned.h"

void
hl_json_init(struct hl_json *json, struct hl_buf *out)
{
	*json = (struct hl_json){ .out = out };
}

static void
value(struct hl_json *json)
{
	if (json->need_comma)
		hl_buf_putc(json->out, ',');
	json->need_comma = true;
}

static void
open_with(struct hl_json *json, char bracket)
{
	value(json);
	hl_buf_putc(json->out, bracket);
	json->need_comma = false;
}

static void
close_with(struct hl_json *json, char bracket)
{
	hl_buf_putc(json->out, bracket);
	json->need_comma = true;
}

void
hl_json_object(struct hl_json *json)
{
	open_with(json, '{');
}

void
hl_json_end_object(struct hl_json *json)
{
	close_with(json, '}');
}

void
hl_json_array(struct hl_json *json)
{
	open_with(json, '[');
}

void
hl_json_end_array(struct hl_json *json)
{
	close_with(json, ']');
}

void
hl_json_key(struct hl_json *json, const char *key)
{
	value(json);
	hl_buf_json_string(json->out, key, strlen(key));
	hl_buf_putc(json->out, ':');
	json->need_comma = false;
}

void
hl_json_string(struct hl_json *json, const char *string)
{
	if (string == NULL)
		hl_json_raw(json, "null");
	else
		hl_json_stringn(json, string, strlen(string));
}

void
hl_json_stringn(struct hl_json *json, const char *string, size_t len)
{
	value(json);
	hl_buf_json_string(json->out, string, len);
}

void
hl_json_member(struct hl_json *json, const char *key, const char *text)
{
	hl_json_key(json, key);
	hl_json_string(json, text);
}

void
hl_json_u64(struct hl_json *json, uint64_t number)
{
	value(json);
	hl_buf_putf(json->out, "%llu", (unsigned long long)number);
}

void
hl_json_i64(struct hl_json *json, int64_t number)
{
	value(json);
	hl_buf_putf(json->out, "%lld", (long long)number);
}

void
hl_json_bool(struct hl_json *json, bool is_true)
{
	hl_json_raw(json, is_true ? "true" : "false");
}

void
hl_json_raw(struct hl_json *json, const char *text)
{
	value(json);
	hl_buf_puts(json->out, text);
}
