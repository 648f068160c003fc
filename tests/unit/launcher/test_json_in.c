/*
 * JSON from a peer: what is refused, and bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/json_in.h"

#include "base/banned.h"

static json_t *
parse(const char *text)
{
	json_t *value = NULL;
	struct hl_err err = { 0 };

	assert_int_equal(json_in_parse(text, strlen(text), &value, &err), 0);
	return value;
}

static void
test_refuses(void **state)
{
	static const char *const bad[] = { "", "{", "{} {}", "{\"a\":1,\"a\":2}", "nul",
		"{\"a\":01}", "\"\xff\"", "{'a':1}" };
	struct hl_err err = { 0 };
	json_t *value;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		assert_int_equal(json_in_parse(bad[i], strlen(bad[i]), &value, &err), -1);
		assert_int_equal(err.code, HLU_20);
	}
}

static void
test_depth(void **state)
{
	char text[2 * JSON_IN_DEPTH_MAX + 3];
	struct hl_err err = { 0 };
	json_t *value;

	(void)state;
	memset(text, '[', JSON_IN_DEPTH_MAX);
	memset(text + JSON_IN_DEPTH_MAX, ']', JSON_IN_DEPTH_MAX);
	assert_int_equal(json_in_parse(text, 2 * JSON_IN_DEPTH_MAX, &value, &err), 0);
	json_decref(value);
	memset(text, '[', JSON_IN_DEPTH_MAX + 1);
	memset(text + JSON_IN_DEPTH_MAX + 1, ']', JSON_IN_DEPTH_MAX + 1);
	assert_int_equal(json_in_parse(text, 2 * JSON_IN_DEPTH_MAX + 2, &value, &err), -1);
	/* Brackets in a text are no depth. */
	memset(text, '[', JSON_IN_DEPTH_MAX + 3);
	text[1] = text[JSON_IN_DEPTH_MAX + 3] = '"';
	text[JSON_IN_DEPTH_MAX + 4] = ']';
	assert_int_equal(json_in_parse(text, JSON_IN_DEPTH_MAX + 5, &value, &err), 0);
	json_decref(value);
}

static void
test_members(void **state)
{
	static const char *const names[] = { "a", "b", NULL };
	struct hl_err err = { 0 };
	const char *text = "kept";
	uint64_t number = 7;
	bool flag = true;
	json_t *object = parse("{\"a\":\"x\",\"b\":3,\"c\":null}");

	(void)state;
	assert_int_equal(json_in_only(object, names, &err), -1);
	assert_non_null(strstr(err.msg, "'c'"));
	assert_int_equal(json_in_string(object, "c", &text, &err), 0);
	assert_string_equal(text, "kept");
	assert_int_equal(json_in_string(object, "a", &text, &err), 0);
	assert_string_equal(text, "x");
	assert_int_equal(json_in_string(object, "b", &text, &err), -1);
	assert_int_equal(json_in_u64(object, "b", 2, &number, &err), -1);
	assert_int_equal(json_in_u64(object, "b", 3, &number, &err), 0);
	assert_int_equal(number, 3);
	assert_int_equal(json_in_bool(object, "b", &flag, &err), -1);
	assert_int_equal(json_in_bool(object, "none", &flag, &err), 0);
	assert_true(flag);
	json_decref(object);
}

/* A text that reads otherwise behind a NUL is none; bytes may have one. */
static void
test_nul(void **state)
{
	struct hl_err err = { 0 };
	const char *text = NULL;
	struct hl_buf out;
	json_t *object = parse("{\"a\":\"x\\u0000y\",\"v\":[\"x\\u0000y\"]}");
	struct hl_strv strings;

	(void)state;
	hl_buf_init(&out, 16);
	hl_strv_init(&strings, 4);
	assert_int_equal(json_in_string(object, "a", &text, &err), -1);
	assert_int_equal(json_in_strings(object, "v", &strings, &err), -1);
	assert_int_equal(json_in_bytes(json_object_get(object, "a"), &out, &err), 0);
	assert_int_equal(out.len, 3);
	assert_memory_equal(out.data, "x\0y", 3);
	hl_buf_done(&out);
	hl_strv_done(&strings);
	json_decref(object);
}

/* What a text means may be bytes: a path, a command, a value need not be UTF-8. */
static void
test_bytes_as_text(void **state)
{
	static const char *const names[] = { "a", "v", "more", "nul", "both", NULL };
	struct hl_err err = { 0 };
	const char *text = NULL;
	struct hl_strv strings;
	json_t *object =
	    parse("{\"a\":{\"b64\":\"YS//\"},\"v\":[\"x\",{\"b64\":\"/w==\"}],"
		  "\"nul\":{\"b64\":\"YQBi\"},\"more\":{\"b64\":\"YQ==\",\"text\":\"b\"}}");

	(void)state;
	hl_strv_init(&strings, 4);
	assert_int_equal(json_in_only(object, names, &err), 0);
	assert_int_equal(json_in_string(object, "a", &text, &err), 0);
	assert_string_equal(text, "a/\xff");
	assert_int_equal(json_in_strings(object, "v", &strings, &err), 0);
	assert_int_equal(strings.len, 2);
	assert_string_equal(strings.v[1], "\xff");
	text = "kept";
	assert_int_equal(json_in_string(object, "nul", &text, &err), -1);
	assert_int_equal(json_in_string(object, "more", &text, &err), -1);
	assert_string_equal(text, "kept");
	hl_strv_done(&strings);
	json_decref(object);
}

static void
test_base64(void **state)
{
	static const struct {
		const char *text, *bytes;
		int len; /* -1: refused */
	} rows[] = { { "", "", 0 }, { "/w==", "\xff", 1 }, { "/wA=", "\xff\0", 2 },
		{ "/wBh", "\xff\0a", 3 }, { "/wBhYg==", "\xff\0ab", 4 }, { "/w=", "", -1 },
		{ "/w", "", -1 }, { "/x==", "", -1 }, { "/w==/w==", "", -1 }, { "====", "", -1 },
		{ "/w=A", "", -1 }, { "/w A", "", -1 }, { "_w==", "", -1 } };
	struct hl_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		struct hl_buf out;
		json_t *object = json_pack("{s:s}", "b64", rows[i].text);
		hl_buf_init(&out, 16);
		int status = json_in_bytes(object, &out, &err);
		assert_int_equal(status, rows[i].len < 0 ? -1 : 0);
		if (status == 0) {
			assert_int_equal(out.len, rows[i].len);
			assert_memory_equal(out.data, rows[i].bytes, out.len);
		}
		hl_buf_done(&out);
		json_decref(object);
	}
	/* Longer than what is read at once; padding where one piece of it may end is padding
	 * inside. */
	static char text[8 * 4096 + 1];
	struct hl_buf out;
	for (size_t end = 4; end < sizeof(text); end += 4) {
		memset(text, 'A', sizeof(text) - 1);
		memcpy(text + end - 4, "QQ==", 4);
		json_t *object = json_pack("{s:s}", "b64", text);
		hl_buf_init(&out, sizeof(text));
		bool is_last = end == sizeof(text) - 1;
		assert_int_equal(json_in_bytes(object, &out, &err), is_last ? 0 : -1);
		assert_true(!is_last || (out.len == (sizeof(text) - 1) / 4 * 3 - 2 &&
					    out.data[out.len - 1] == 'A' && out.data[0] == '\0'));
		hl_buf_done(&out);
		json_decref(object);
	}
	json_t *more = parse("{\"b64\":\"\",\"x\":1}");
	hl_buf_init(&out, 16);
	assert_int_equal(json_in_bytes(more, &out, &err), -1);
	hl_buf_done(&out);
	json_decref(more);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_nul),
		cmocka_unit_test(test_bytes_as_text),
		cmocka_unit_test(test_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
