/*
 * JSON from a peer. jansson parses; what it is lenient about is refused here: depth before a byte
 * is parsed, unknown members, wrong types, sloppy base64.
 */
#include "launcher/json_in.h"

#include <string.h>

#include "base/banned.h"

static int
malformed(struct hl_err *err, const char *name, const char *want)
{
	return hl_err_set(err, HLU_20, "'%.60s' is not %s", name, want);
}

/* Brackets outside of strings; jansson's own maximum is 2048, on the stack. */
static bool
is_too_deep(const char *text, size_t len)
{
	size_t depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < len; i++) {
		if (in_string) {
			if (text[i] == '\\')
				i++;
			else if (text[i] == '"')
				in_string = false;
			continue;
		}
		if (text[i] == '"')
			in_string = true;
		else if (text[i] == '{' || text[i] == '[')
			depth++;
		else if ((text[i] == '}' || text[i] == ']') && depth > 0)
			depth--;
		if (depth > JSON_IN_DEPTH_MAX)
			return true;
	}
	return false;
}

int
json_in_parse(const char *text, size_t len, json_t **ret_value, struct hl_err *err)
{
	json_error_t why;

	if (is_too_deep(text, len))
		return hl_err_set(err, HLU_20, "the message is nested more than %d deep",
		    JSON_IN_DEPTH_MAX);
	*ret_value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	if (*ret_value != NULL)
		return 0;
	/* jansson's text repeats a piece of the input, which may hold a value. */
	return hl_err_set(err, HLU_20, "the message is not JSON, at byte %d", why.position);
}

int
json_in_only(const json_t *object, const char *const *names, struct hl_err *err)
{
	const char *key;
	json_t *value;

	/* json_object_foreach() wants a pointer that is not const, and does not change it. */
	json_t *mutable = json_incref((json_t *)(uintptr_t)object);
	int status = 0;
	json_object_foreach(mutable, key, value)
	{
		const char *const *name = names;
		while (*name != NULL && strcmp(*name, key) != 0)
			name++;
		if (*name == NULL && status == 0)
			status = hl_err_set(err, HLU_20, "there is no parameter '%.60s'", key);
	}
	json_decref(mutable);
	return status;
}

/* NULL: not there, or null. */
static json_t *
member(const json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	return json_is_null(value) ? NULL : value;
}

/* A NUL is fine in bytes; a text that reads otherwise behind one is none. */
static bool
is_text(const json_t *value)
{
	return json_is_string(value) &&
	       strlen(json_string_value(value)) == json_string_length(value);
}

int
json_in_string(const json_t *object, const char *name, const char **ret_text, struct hl_err *err)
{
	json_t *value = member(object, name);

	if (value == NULL)
		return 0;
	const char *text = json_in_text(value);
	if (text == NULL)
		return malformed(err, name, "a text");
	*ret_text = text;
	return 0;
}

int
json_in_bool(const json_t *object, const char *name, bool *ret_value, struct hl_err *err)
{
	const json_t *value = member(object, name);

	if (value == NULL)
		return 0;
	if (!json_is_boolean(value))
		return malformed(err, name, "true or false");
	*ret_value = json_is_true(value);
	return 0;
}

int
json_in_u64(const json_t *object, const char *name, uint64_t max, uint64_t *ret_value,
    struct hl_err *err)
{
	const json_t *value = member(object, name);

	if (value == NULL)
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return malformed(err, name, "a whole number");
	uint64_t number = (uint64_t)json_integer_value(value);
	if (number > max)
		return hl_err_set(err, HLU_20, "'%.60s' is more than %llu", name,
		    (unsigned long long)max);
	*ret_value = number;
	return 0;
}

/* Piece by piece: padding ends a text, and so does a piece that is not full. */
static bool
put_base64(const char *text, size_t len, struct hl_buf *out)
{
	unsigned char bytes[3072];
	size_t n = 0;
	bool is_good = true;

	for (size_t piece; len > 0 && is_good; text += piece, len -= piece) {
		piece = len < sizeof(bytes) / 3 * 4 ? len : sizeof(bytes) / 3 * 4;
		is_good = hl_base64_read(text, piece, bytes, sizeof(bytes), &n) &&
			  (piece == len || n == sizeof(bytes));
		if (is_good)
			hl_buf_put(out, bytes, n);
	}
	explicit_bzero(bytes, sizeof(bytes)); /* a command's input may be a secret */
	return is_good;
}

int
json_in_bytes(const json_t *value, struct hl_buf *out, struct hl_err *err)
{
	const json_t *text = value;

	if (json_is_object(value)) {
		text = json_object_get(value, "b64");
		if (!json_is_string(text) || json_object_size(value) != 1)
			return malformed(err, "b64", "the only member of bytes");
		if (!put_base64(json_string_value(text), json_string_length(text), out))
			return malformed(err, "b64", "base64");
		return hl_buf_check(out, "bytes", err);
	}
	if (!json_is_string(text))
		return hl_err_set(err, HLU_20, "bytes are a text or {\"b64\":\"...\"}");
	hl_buf_put(out, json_string_value(text), json_string_length(text));
	return hl_buf_check(out, "bytes", err);
}

/* What was decoded is kept in the object that said it. */
const char *
json_in_text(json_t *value)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf bytes;
	struct hl_err ignored;

	hl_buf_init(&bytes, JSON_IN_TEXT_MAX);
	if (is_text(value))
		return json_string_value(value);
	if (!json_is_object(value) || json_in_bytes(value, &bytes, &ignored) != 0 ||
	    strlen(bytes.data) != bytes.len ||
	    json_object_set_new(value, "text", json_stringn_nocheck(bytes.data, bytes.len)) != 0)
		return NULL;
	return json_string_value(json_object_get(value, "text"));
}

int
json_in_strings(const json_t *object, const char *name, struct hl_strv *strv, struct hl_err *err)
{
	const json_t *array = member(object, name);

	if (array == NULL)
		return 0;
	if (!json_is_array(array))
		return malformed(err, name, "a list of texts");
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *text = json_in_text(json_array_get(array, i));
		if (text == NULL)
			return malformed(err, name, "a list of texts");
		hl_strv_add(strv, text);
	}
	return hl_strv_check(strv, name, err);
}
