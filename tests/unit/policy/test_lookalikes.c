/*
 * Characters that look like others: which words are told, and which of another script are not.
 * Cyrillic and Greek letters are written as bytes, so that this file is what it looks like.
 */
#include "policy/layer.h"
#include "stack.h"

#include "base/banned.h"

#define CYR_A "\xd0\xb0"
#define CYR_E "\xd0\xb5"
#define CYR_O "\xd0\xbe"
#define CYR_S "\xd1\x81"
#define CYR_D "\xd0\xb4" /* like nothing in ASCII */
#define GRK_O "\xce\xbf"

static const struct {
	uint32_t first, last;
	char ascii;
} rows[] = {
#define LOOKALIKE(first, last, ascii, what) { first, last, ascii },
#include "policy/lookalikes.def"
#undef LOOKALIKE
};

static void
rows_are_sorted_and_none_is_ascii(void **state)
{
	(void)state;
	assert_true(HL_ARRAY_SIZE(rows) > 50);
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		assert_true(rows[i].first >= 0x80);
		assert_true(rows[i].last >= rows[i].first);
		assert_true((uint32_t)rows[i].ascii + rows[i].last - rows[i].first < 0x7f);
		if (i > 0)
			assert_true(rows[i].first > rows[i - 1].last);
	}
}

static void
misleading_words_are_found(void **state)
{
	static const struct {
		const char *text;
		uint32_t code;
		char ascii;
	} cases[] = {
		{ "/srv/p" CYR_A "yroll", 0x430, 'a' },
		{ "/h" CYR_O "me/x", 0x43e, 'o' },
		{ "/srv/" CYR_S CYR_O "/x", 0x441, 'c' }, /* a whole word that reads as "co" */
		{ "/srv/" CYR_S "2", 0x441, 'c' },
		{ "/" GRK_O "pt", 0x3bf, 'o' },
		{ "/srv\xe2\x88\x95keys", 0x2215, '/' },
		{ "/srv/a\xef\xbc\x8f"
		  "b",
		    0xff0f, '/' },
		{ "/\xef\xbd\x94mp", 0xff54, 't' },
		{ "/x/\xef\xbc\xa1\xef\xbc\xa3", 0xff21, 'A' },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases); i++) {
		struct policy_lookalike found = { 0 };
		if (!policy_find_lookalike(cases[i].text, &found))
			fail_msg("not found: %s", cases[i].text);
		assert_int_equal(found.code, cases[i].code);
		assert_int_equal(found.ascii, cases[i].ascii);
	}
}

static void
words_of_another_script_are_not(void **state)
{
	static const char *const cases[] = {
		"/srv/payroll",
		"/srv/" CYR_D CYR_A CYR_D CYR_E ".txt", /* not beside ASCII within the word */
		"/srv/" CYR_D CYR_A "_v2",
		"/srv/" CYR_D CYR_A "2024",
		"/srv/" CYR_A, /* one letter may be a symbol */
		"/srv/b\xc3\xbc"
		"cher",                          /* u with dots is nobody's double */
		"/srv/\xe8\xb3\x87\xe6\x96\x99", /* Chinese */
		"/srv/\xe8\xb3\x87\xef\xbc\xa1", /* with a fullwidth letter in the word */
		"/srv/a\xe2\x80\x94" CYR_D CYR_A,
		"",
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases); i++) {
		struct policy_lookalike found;
		if (policy_find_lookalike(cases[i], &found))
			fail_msg("found in: %s", cases[i]);
	}
}

/* Of every key that holds a path; none of them is refused for it. */
static void
every_path_is_looked_at(void **state)
{
	static const char *const lines[] = {
		"fs: {mounts: [{src: \"/p" CYR_A "y\", dst: /d}]}",
		"fs: {mounts: [{src: /d, dst: \"/p" CYR_A "y\"}]}",
		"fs: {tmpfs: [{dst: \"/p" CYR_A "y\"}]}",
		"fs: {deny: [\"~/p" CYR_A "y\"]}",
		"fs: {protect: [\".p" CYR_A "y\"]}",
		"fs: {devices: [\"/dev/p" CYR_A "y\"]}",
		"fs: {workdir: {path: \"/p" CYR_A "y\"}}",
		"fs: {workdir: {at: \"/p" CYR_A "y\"}}",
		"fs: {home: {kind: bind, src: \"/p" CYR_A "y\"}}",
		"docker: {endpoint: \"/p" CYR_A "y\"}",
		"audit: {dir: \"/p" CYR_A "y\"}",
		"files: [{src: \"/p" CYR_A "y\", kind: cache}]",
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(lines); i++) {
		char text[400];
		snprintf(text, sizeof(text), OPEN "%s\n", lines[i]);
		expect_good(text);
		assert_int_equal(t.findings.warnings, 1);
		expect_code("HLP-28");
		assert_non_null(strstr(stack_text(), "U+0430 (Cyrillic), which looks like \"a\""));
	}
	expect_good(OPEN "fs: {deny: [\"~/pay\"], devices: [/dev/pay]}\n");
	assert_int_equal(t.findings.warnings, 0);
}

/* Nothing of a private key's value is told, and a host is refused and told what is wrong. */
static void
private_paths_and_hosts(void **state)
{
	(void)state;
	expect_good(OPEN "secrets: {T: {from: {file: \"/p" CYR_A "y\"}, hosts: [a.example]}}\n");
	assert_int_equal(t.findings.warnings, 0);
	expect_error(OPEN "network: {allow: [{host: \"" CYR_A "pi.example\"}]}\n", "HLP-07");
	assert_non_null(strstr(stack_text(), "it has U+0430 (Cyrillic)"));
	assert_non_null(strstr(stack_text(), "xn-- for others"));
	expect_error(OPEN "network: {deny: [{host: \"b\xc3\xbc"
			  "cher.example\"}]}\n",
	    "HLP-07");
	assert_null(strstr(stack_text(), "looks like"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sorted_and_none_is_ascii),
		cmocka_unit_test(misleading_words_are_found),
		cmocka_unit_test(words_of_another_script_are_not),
		cmocka_unit_test(every_path_is_looked_at),
		cmocka_unit_test(private_paths_and_hosts),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
