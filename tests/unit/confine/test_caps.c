/*
 * Names of capabilities against libcap's, and the spellings that are taken.
 */
#include <sys/capability.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "confine/confine.h"

#include "base/banned.h"

static void
test_names(void **state)
{
	unsigned number = 0;

	(void)state;
	for (; confine_cap_name(number) != NULL; number++) {
		char *theirs = cap_to_name((cap_value_t)number);
		assert_non_null(theirs);
		assert_int_equal(strncmp(theirs, "cap_", 4), 0);
		assert_int_equal(strcasecmp(theirs + 4, confine_cap_name(number)), 0);
		cap_free(theirs);
	}
	assert_int_equal(number, CAP_LAST_CAP + 1);
	assert_null(confine_cap_name(64));
}

static void
test_parse(void **state)
{
	static const char *const spellings[] = { "NET_RAW", "net_raw", "CAP_NET_RAW",
		"cap_Net_Raw" };
	struct hl_err err;
	uint64_t mask;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(spellings); i++) {
		mask = 0;
		assert_int_equal(confine_cap_parse(spellings[i], &mask, &err), 0);
		assert_int_equal(mask, UINT64_C(1) << CAP_NET_RAW);
	}
	for (unsigned i = 0; confine_cap_name(i) != NULL; i++) {
		assert_int_equal(confine_cap_parse(confine_cap_name(i), &mask, &err), 0);
		assert_int_equal(mask, UINT64_C(1) << i);
	}
}

static void
test_unknown(void **state)
{
	static const char *const wrong[] = { "", "CAP_", "all", "NET", "NET_RAW ", "CAP_CAP_KILL",
		"a very long name that no capability ever had" };
	struct hl_err err;
	uint64_t mask = 5;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(wrong); i++)
		assert_int_equal(confine_cap_parse(wrong[i], &mask, &err), -1);
	assert_int_equal(mask, 5);
	assert_int_equal(confine_cap_parse("cap_net_rwa", &mask, &err), -1);
	assert_non_null(strstr(err.help, "NET_RAW"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
