/*
 * What the loader refuses before any key is looked at: every row of the table of YAML's dangers,
 * each with its code and place, and a sibling that is fine.
 */
#include <time.h>

#include "stack.h"

#include "base/banned.h"

static void
a_plain_policy_loads(void **state)
{
	(void)state;
	expect_good(HEAD "backends: [local]\n");
	expect_good("---\n" HEAD "...\n");
	expect_good("version: 1\r\nid: acme/team\r\nmode:\tenforce\r\n");
	expect_good("{\"version\": 1, \"id\": \"acme/team\", \"limits\": {\"pids\": 4}}");
}

static void
syntax_is_reported_with_its_place(void **state)
{
	(void)state;
	expect_error_at(HEAD "limits: {pids: 4\n", "HLY-01", 4, 1);
	expect_error_at(HEAD "\tlimits: 4\n", "HLY-01", 3, 1);
}

static void
sizes_have_caps(void **state)
{
	struct hl_buf text;

	(void)state;
	hl_buf_init(&text, 4 << 20);
	hl_buf_puts(&text, HEAD "owner: ");
	for (int i = 0; i < 8193; i++)
		hl_buf_putc(&text, 'x');
	hl_buf_putc(&text, '\n');
	expect_error_at(text.data, "HLY-02", 3, 8);
	hl_buf_reset(&text);
	hl_buf_puts(&text, HEAD);
	for (int i = 0; i < 65; i++)
		hl_buf_putc(&text, 'k');
	hl_buf_puts(&text, ": 1\n");
	expect_error_at(text.data, "HLY-02", 3, 1);
	hl_buf_reset(&text);
	hl_buf_puts(&text, HEAD "lock: [");
	for (int i = 0; i < 4097; i++)
		hl_buf_puts(&text, "a,");
	hl_buf_puts(&text, "]\n");
	expect_error(text.data, "HLY-02");
	hl_buf_reset(&text);
	hl_buf_puts(&text, HEAD "lock:\n");
	for (int i = 0; i < 70000; i++)
		hl_buf_putf(&text, " k%d: a\n", i);
	expect_error(text.data, "HLY-02");
	hl_buf_reset(&text);
	hl_buf_puts(&text, HEAD);
	while (text.len <= POLICY_FILE_MAX)
		hl_buf_puts(&text, "# a comment that only takes room\n");
	expect_error(text.data, "HLY-02");
	hl_buf_done(&text);
}

static void
one_document_without_directives(void **state)
{
	(void)state;
	expect_error_at(HEAD "---\nid: b\n", "HLY-03", 3, 1);
	expect_error_at(HEAD "...\n---\nid: b\n", "HLY-03", 4, 1);
	expect_error_at("%YAML 1.2\n---\n" HEAD, "HLY-04", 1, 1);
	expect_error_at("%TAG ! tag:x,2000:\n---\n" HEAD, "HLY-04", 1, 1);
}

/* The largest file of one unit, repeated; what it costs is told in seconds of CPU time. */
static double
cost_of(const char *head, const char *unit)
{
	struct hl_buf text;

	hl_buf_init(&text, POLICY_FILE_MAX);
	hl_buf_puts(&text, head);
	while (text.len + strlen(unit) < POLICY_FILE_MAX)
		hl_buf_puts(&text, unit);
	clock_t start = clock();
	assert_int_equal(stack_load_bytes(text.data, text.len), -1);
	clock_t end = clock();
	hl_buf_done(&text);
	return (double)(end - start) / CLOCKS_PER_SEC;
}

static void
no_shape_takes_quadratic_time(void **state)
{
	(void)state;
	/* 5 s, 1 s and 0.2 s once, without sanitizers; 0.1 s now. */
	assert_true(cost_of("", "%TAG !a! tag:x,2000:\n") < 1);
	expect_code("HLY-04");
	assert_true(cost_of(" \n  # a comment\n\n", "%TAG !a! tag:x,2000:\n") < 1);
	expect_code("HLY-04");
	assert_true(cost_of(HEAD "env: {set: {", "a: b, ") < 2);
	assert_true(cost_of(HEAD "owner: ", "\xe2\x80\xae") < 2);
	expect_code("HLY-12");
}

static void
anchors_aliases_and_merges_are_refused(void **state)
{
	(void)state;
	expect_error_at(HEAD "limits: &a {pids: 4}\n", "HLY-05", 3, 9);
	expect_error_at(HEAD "limits: *a\n", "HLY-05", 3, 9);
	expect_error_at(HEAD "limits:\n  <<: {pids: 4}\n", "HLY-05", 4, 3);
	expect_error_at(HEAD "limits: {pids: &a 4}\n", "HLY-05", 3, 16);
	expect_error_at(HEAD "*a : 4\n", "HLY-05", 3, 1);
}

static void
a_bomb_of_aliases_is_not_expanded(void **state)
{
	struct hl_buf text;

	(void)state;
	hl_buf_init(&text, 1 << 16);
	hl_buf_puts(&text, HEAD "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 10; i++)
		hl_buf_putf(&text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i,
		    i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	expect_error(text.data, "HLY-05");
	hl_buf_done(&text);
}

static void
a_key_given_twice_names_both_places(void **state)
{
	(void)state;
	expect_error_at(HEAD "mode: warn\nmode: enforce\n", "HLY-06", 4, 1);
	assert_int_equal(stack_find("HLY-06")->other.line, 3);
	expect_error_at(HEAD "limits: {pids: 4, memory: 1GiB, pids: 5}\n", "HLY-06", 3, 33);
	assert_int_equal(stack_find("HLY-06")->other.column, 10);
	/* Other spellings of one key are the same key. */
	expect_error_at(HEAD "mode: warn\n\"mode\": enforce\n", "HLY-06", 4, 1);
	expect_error_at(HEAD "mode: warn\n\"\\x6dode\": enforce\n", "HLY-06", 4, 1);
}

static void
tags_are_refused(void **state)
{
	(void)state;
	expect_error_at(HEAD "limits: {pids: !!int 4}\n", "HLY-07", 3, 16);
	expect_error_at(HEAD "limits: !!python/object {pids: 4}\n", "HLY-07", 3, 9);
	expect_error_at(HEAD "mode: !x warn\n", "HLY-07", 3, 7);
	expect_error_at(HEAD "mode: ! warn\n", "HLY-07", 3, 7);
}

static void
expect_bytes_error(const char *bytes, size_t len, const char *id, uint32_t line, uint32_t column)
{
	assert_int_equal(stack_load_bytes(bytes, len), -1);
	expect_code(id);
	assert_int_equal(stack_find(id)->where.line, line);
	assert_int_equal(stack_find(id)->where.column, column);
}

static void
other_encodings_are_refused(void **state)
{
	static const char bom[] = "\xef\xbb\xbf" HEAD;
	static const char utf16_le[] = "\xff\xfev\0e\0r\0";
	static const char utf16_be[] = "\xfe\xff\0v\0e\0r";
	static const char nul[] = HEAD "mode: wa\0rn\n";
	static const char latin[] = HEAD "owner: J\xfcrgen\n";
	static const char overlong[] = HEAD "owner: a\xc0\xafz\n";
	static const char surrogate[] = HEAD "owner: a\xed\xa0\x80z\n";

	(void)state;
	expect_bytes_error(bom, sizeof(bom) - 1, "HLY-08", 1, 1);
	assert_non_null(strstr(stack_text(), "remove the byte order mark"));
	expect_bytes_error(utf16_le, sizeof(utf16_le) - 1, "HLY-08", 1, 1);
	expect_bytes_error(utf16_be, sizeof(utf16_be) - 1, "HLY-08", 1, 1);
	expect_bytes_error(nul, sizeof(nul) - 1, "HLY-08", 3, 9);
	expect_bytes_error(latin, sizeof(latin) - 1, "HLY-08", 3, 9);
	expect_bytes_error(overlong, sizeof(overlong) - 1, "HLY-08", 3, 9);
	expect_bytes_error(surrogate, sizeof(surrogate) - 1, "HLY-08", 3, 9);
	expect_good(HEAD "owner: Jürgen\n");
}

static void
control_characters_are_refused(void **state)
{
	(void)state;
	expect_error_at(HEAD "owner: \"x\\0y\"\n", "HLY-09", 3, 8);
	expect_error_at(HEAD "owner: \"x\\x00y\"\n", "HLY-09", 3, 8);
	expect_error_at(HEAD "owner: \"x\\ny\"\n", "HLY-09", 3, 8);
	expect_error_at(HEAD "owner: \"x\\ty\"\n", "HLY-09", 3, 8);
	expect_error_at(HEAD "owner: \"x\\x7fy\"\n", "HLY-09", 3, 8);
	expect_error_at(HEAD "owner: \"x\\u0085y\"\n", "HLY-09", 3, 8);
	expect_error_at(HEAD "owner: |\n  two\n  lines\n", "HLY-09", 3, 8);
	expect_error_at(HEAD "owner: a\x1b[0mz\n", "HLY-09", 3, 9);
	expect_error_at(HEAD "owner: a\xc2\x85z\n", "HLY-09", 3, 9);
	expect_error_at(HEAD "# comment \rmode: warn\n", "HLY-09", 3, 11);
	expect_error_at(HEAD "# comment \x7f\n", "HLY-09", 3, 11);
}

static void
keys_are_scalars(void **state)
{
	(void)state;
	expect_error_at(HEAD "? {a: b}\n: 1\n", "HLY-10", 3, 3);
	expect_error_at(HEAD "? [a]\n: 1\n", "HLY-10", 3, 3);
	expect_error_at(HEAD "{a: b}: 1\n", "HLY-10", 3, 1);
	expect_good(HEAD "? mode\n: warn\n");
}

static double
cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* libyaml alone needs 20 s for this; the sanitizers slow us down, so the limit here is generous. */
static void
depth_is_stopped_in_the_event_loop(void **state)
{
	struct hl_buf text;

	(void)state;
	hl_buf_init(&text, 1 << 20);
	hl_buf_puts(&text, HEAD "lock: ");
	for (int i = 0; i < 100 * 1024; i++)
		hl_buf_putc(&text, '[');
	double start = cpu_seconds();
	expect_error_at(text.data, "HLY-11", 3, 22);
	double spent = cpu_seconds() - start;
	if (spent > 0.5)
		fail_msg("100 KB of [ took %.3f s", spent);
	hl_buf_reset(&text);
	hl_buf_puts(&text, HEAD "lock: ");
	for (int i = 0; i < 50 * 1024; i++)
		hl_buf_puts(&text, "{a: ");
	expect_error(text.data, "HLY-11");
	hl_buf_reset(&text);
	hl_buf_puts(&text, HEAD);
	for (int i = 0; i < 100; i++)
		hl_buf_putf(&text, "%*sk:\n", i, "");
	expect_error(text.data, "HLY-11");
	hl_buf_done(&text);
}

static void
hidden_characters_are_refused(void **state)
{
	static const char *const hidden[] = { "\u202e", "\u200b", "\u2066", "\ufeff", "\u00ad",
		"\u2028", "\U000e0041" };
	char text[200];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(hidden); i++) {
		snprintf(text, sizeof(text), HEAD "owner: a%sz\n", hidden[i]);
		expect_error_at(text, "HLY-12", 3, 9);
		snprintf(text, sizeof(text), HEAD "# a%sz\n", hidden[i]);
		expect_error_at(text, "HLY-12", 3, 4);
	}
	expect_error_at(HEAD "owner: \"a\\u202ez\"\n", "HLY-12", 3, 8);
	assert_null(strstr(stack_text(), "\u202e"));
}

static void
columns_count_bytes(void **state)
{
	(void)state;
	/* Three characters of nine bytes stand before the unknown key. */
	expect_error_at(HEAD "limits: {\"\u65e5\u672c\u8a9e\": 1, pids: no}\n", "HLP-11", 3, 32);
	expect_error_at("version: 1\nid: acme/team\nowner: \"\u00e9\u00e9\"\nmode: \"\u00e9\"\n",
	    "HLP-13", 4, 7);
}

static void
all_findings_in_one_run(void **state)
{
	(void)state;
	expect_error(HEAD "mode: &a warn\nmode: warn\nlimits: {pids: no}\nfoo: 1\n", "HLY-05");
	expect_code("HLY-06");
	expect_code("HLP-11");
	expect_code("HLP-04");
	assert_int_equal(t.findings.errors, 4);
	assert_false(t.findings.is_cut);
}

static void
findings_are_counted_beyond_those_kept(void **state)
{
	struct hl_buf text;

	(void)state;
	hl_buf_init(&text, 1 << 16);
	hl_buf_puts(&text, HEAD);
	for (int i = 0; i < 100; i++)
		hl_buf_putf(&text, "k%d: 1\n", i);
	expect_error(text.data, "HLP-04");
	assert_int_equal(t.findings.len, POLICY_FINDINGS_MAX);
	assert_int_equal(t.findings.errors, 100);
	assert_true(t.findings.is_cut);
	hl_buf_done(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_policy_loads),
		cmocka_unit_test(syntax_is_reported_with_its_place),
		cmocka_unit_test(sizes_have_caps),
		cmocka_unit_test(one_document_without_directives),
		cmocka_unit_test(no_shape_takes_quadratic_time),
		cmocka_unit_test(anchors_aliases_and_merges_are_refused),
		cmocka_unit_test(a_bomb_of_aliases_is_not_expanded),
		cmocka_unit_test(a_key_given_twice_names_both_places),
		cmocka_unit_test(tags_are_refused),
		cmocka_unit_test(other_encodings_are_refused),
		cmocka_unit_test(control_characters_are_refused),
		cmocka_unit_test(keys_are_scalars),
		cmocka_unit_test(depth_is_stopped_in_the_event_loop),
		cmocka_unit_test(hidden_characters_are_refused),
		cmocka_unit_test(columns_count_bytes),
		cmocka_unit_test(all_findings_in_one_run),
		cmocka_unit_test(findings_are_counted_beyond_those_kept),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
