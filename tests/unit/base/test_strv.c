/*
 * struct hl_strv: a vector for execve that is always terminated, with a maximum and a sticky error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static void
test_add(void **state)
{
	struct hl_strv strv;

	(void)state;
	hl_strv_init(&strv, 1000);
	assert_non_null(hl_strv_argv(&strv));
	assert_null(hl_strv_argv(&strv)[0]);
	for (unsigned i = 0; i < 1000; i++) {
		hl_strv_addf(&strv, "%u", 999 - i);
		assert_null(hl_strv_argv(&strv)[i + 1]);
	}
	assert_int_equal(strv.len, 1000);
	assert_string_equal(strv.v[999], "0");
	hl_strv_sort(&strv);
	assert_string_equal(strv.v[0], "0");
	assert_string_equal(strv.v[999], "999");
	assert_true(hl_strv_contains(&strv, "500"));
	assert_false(hl_strv_contains(&strv, "1000"));
	hl_strv_done(&strv);
	hl_strv_done(&strv);
	assert_int_equal(strv.len, 0);
}

/* HLI-03, and nothing more is taken. */
static void
test_maximum(void **state)
{
	struct hl_strv strv;
	struct hl_err err = { 0 };

	(void)state;
	hl_strv_init(&strv, 2);
	hl_strv_add(&strv, "a");
	hl_strv_addn(&strv, "bcd", 2);
	assert_int_equal(hl_strv_check(&strv, "words", &err), 0);
	hl_strv_add(&strv, "c");
	assert_int_equal(hl_strv_check(&strv, "words", &err), -1);
	assert_int_equal(err.code, HLI_03);
	assert_int_equal(strv.len, 2);
	assert_string_equal(strv.v[1], "bc");
	assert_null(strv.v[2]);
	hl_strv_done_secret(&strv);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
