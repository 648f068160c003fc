/*
 * Variable names, globs, and the nearest word.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/base.h"

static void
test_env_names(void **state)
{
	char longest[130];

	(void)state;
	assert_true(hl_is_env_name("A", 1));
	assert_true(hl_is_env_name("_a9_Z", 5));
	assert_false(hl_is_env_name("", 0));
	assert_false(hl_is_env_name("9A", 2));
	assert_false(hl_is_env_name("A-B", 3));
	assert_false(hl_is_env_name("A=B", 3));
	assert_false(hl_is_env_name("A\0B", 3));
	assert_false(hl_is_env_name("A\n", 2));
	assert_false(hl_is_env_name("\xc3\xa9", 2));
	memset(longest, 'A', sizeof(longest));
	assert_true(hl_is_env_name(longest, 128));
	assert_false(hl_is_env_name(longest, 129));
}

static void
test_glob(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} rows[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "*", "anything", true },
		{ "?", "", false },
		{ "?", "a", true },
		{ "a*c", "abbbc", true },
		{ "a*c", "abbb", false },
		{ "*_TOKEN", "CI_TOKEN", true },
		{ "*_TOKEN", "CI_TOKENS", false },
		{ "a*b*c", "axbxbxc", true },
		{ "a**", "a", true },
		{ "limits.*", "limits.cpus", true },
		{ "limits.*", "limits", false },
		{ "[a]", "a", false },
		{ "\\*", "\\x", true },
		{ "a?c", "ac", false },
		{ "*a", "aaab", false },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++)
		if (hl_glob_match(rows[i].pattern, rows[i].name) != rows[i].matches)
			fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].name);
}

/* Stars do not multiply: a pattern that ruins a recursive matcher. */
static void
test_glob_is_fast(void **state)
{
	char name[2001];
	clock_t begin = clock();

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_false(hl_glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", name));
	assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 1.0);
}

static void
test_nearest(void **state)
{
	static const char *const words[] = { "network", "process.caps", "fs.mounts", "env" };
	char longest[200];

	(void)state;
	assert_string_equal(hl_nearest("netwrok", words, 4), "network");
	assert_string_equal(hl_nearest("process.cap", words, 4), "process.caps");
	assert_string_equal(hl_nearest("evn", words, 4), "env");
	assert_string_equal(hl_nearest("env", words, 4), "env");
	assert_null(hl_nearest("something else", words, 4));
	assert_null(hl_nearest("network", words, 0));
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_null(hl_nearest(longest, words, 4));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_env_names),
		cmocka_unit_test(test_glob),
		cmocka_unit_test(test_glob_is_fast),
		cmocka_unit_test(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
