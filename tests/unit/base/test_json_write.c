/*
 * The JSON writer: commas in the right places, whatever is nested in what.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static void
test_all(void **state)
{
	struct hl_buf out;
	struct hl_json json;

	(void)state;
	hl_buf_init(&out, 4096);
	hl_json_init(&json, &out);
	hl_json_object(&json);
	hl_json_key(&json, "a\"");
	hl_json_string(&json, "x\n");
	hl_json_key(&json, "none");
	hl_json_string(&json, NULL);
	hl_json_key(&json, "list");
	hl_json_array(&json);
	hl_json_u64(&json, UINT64_MAX);
	hl_json_i64(&json, INT64_MIN);
	hl_json_bool(&json, true);
	hl_json_array(&json);
	hl_json_end_array(&json);
	hl_json_object(&json);
	hl_json_end_object(&json);
	hl_json_stringn(&json, "a\0b", 3);
	hl_json_end_array(&json);
	hl_json_key(&json, "raw");
	hl_json_raw(&json, "[1]");
	hl_json_key(&json, "no");
	hl_json_bool(&json, false);
	hl_json_end_object(&json);
	assert_string_equal(out.data,
	    "{\"a\\\"\":\"x\\u000a\",\"none\":null,\"list\":[18446744073709551615,"
	    "-9223372036854775808,true,[],{},{\"b64\":\"YQBi\"}],\"raw\":[1],\"no\":false}");
	hl_buf_done(&out);
}

/* What does not fit leaves the buffer's error, which is checked once. */
static void
test_full(void **state)
{
	struct hl_buf out;
	struct hl_json json;

	(void)state;
	hl_buf_init(&out, 10);
	hl_json_init(&json, &out);
	hl_json_array(&json);
	for (unsigned i = 0; i < 100; i++)
		hl_json_u64(&json, i);
	hl_json_end_array(&json);
	assert_true(out.failed);
	hl_buf_done(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
