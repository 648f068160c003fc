/*
 * What bash wrote at its end is taken apart byte for byte, or not at all.
 */
#include "report.h"

/* One export line, and what it must be read as; value NULL: not kept. */
static void
exports_as(const char *line, const char *name, const char *value)
{
	struct fields fields = plain;
	struct report report;

	fields.exports = line;
	assert_true(parses(&fields, &report));
	const struct pair *pair = pairs_find(&report.variables, name);
	if (value == NULL) {
		assert_null(pair);
	} else {
		assert_non_null(pair);
		assert_string_equal(pair->value, value);
	}
	report_done(&report);
}

static void
refused_exports(const char *line)
{
	struct fields fields = plain;
	struct report report;

	fields.exports = line;
	if (parses(&fields, &report))
		fail_msg("was taken: %s", line);
}

static void
test_hermes_14_values_byte_for_byte(void **state)
{
	(void)state;
	exports_as("declare -x A=\"plain\"\n", "A", "plain");
	exports_as("declare -x A=\"\"\n", "A", "");
	exports_as("declare -x A=\"two\nlines\"\n", "A", "two\nlines");
	exports_as("declare -x A=\"q\\\"d\\$b\\`s\\\\\"\n", "A", "q\"d$b`s\\");
	exports_as("declare -x A=$'a\\nb\\001\\377\\'\\\\\\t\\E'\n", "A", "a\nb\001\377'\\\t\033");
	exports_as("declare -x A=\"\xff\xfe\"\n", "A", "\xff\xfe");
	exports_as("declare -x A=\"x\ndeclare -x B=\\\"no\\\"\"\n", "B", NULL);
	exports_as("export A=\"posix\"\n", "A", "posix");
	exports_as("declare -x A\n", "A", NULL);
}

/* Attributes that an environment cannot carry: the value is kept, the attribute is not; arrays and
 * references are not kept at all. */
static void
test_attributes(void **state)
{
	(void)state;
	exports_as("declare -irx A=\"5\"\n", "A", "5");
	exports_as("declare -ax A=([0]=\"x\" [1]=\"a) b\" [2]=$'\\')')\n", "A", NULL);
	exports_as("declare -Ax A=([\"k (\"]=\"v\" )\n", "A", NULL);
	exports_as("declare -ax A='([0]=\"x\")'\n", "A", NULL);
	exports_as("declare -nx A=\"B\"\n", "A", NULL);
	exports_as("declare -ax A=([0]=\"x\")\ndeclare -x B=\"y\"\n", "B", "y");
}

static void
test_strange_exports_are_hlb_13(void **state)
{
	(void)state;
	refused_exports("declare -x A=\"open\n");
	refused_exports("declare -x A=\"a\"b\n");
	refused_exports("declare -x A=\"\\n\"\n");
	refused_exports("declare -x A=$'\\000'\n");
	refused_exports("declare -x A=$'\\400'\n");
	refused_exports("declare -x A=$'\\z'\n");
	refused_exports("declare -x A=bare\n");
	refused_exports("declare -x A=\"x\"");
	refused_exports("declare -x 1A=\"x\"\n");
	refused_exports("declare -x A.B=\"x\"\n");
	refused_exports("declare -x =\"x\"\n");
	refused_exports("declare -z A=\"x\"\n");
	refused_exports("declare - A=\"x\"\n");
	refused_exports("rm -rf /\n");
	refused_exports("\n");
	refused_exports("declare -x A=([0]=\"x\")\n");
	refused_exports("declare -ax A=([0]=\"x\"\n");
	refused_exports("declare -ax A=($(id))\n");
}

static void
test_aliases(void **state)
{
	struct fields fields = plain;
	struct report report;

	(void)state;
	fields.aliases = "alias ll='ls -l'\nalias q='it'\\''s\ntwo'\nalias -- -x='y'\nalias s=\\'\n"
			 "alias e=''\n";
	assert_true(parses(&fields, &report));
	assert_int_equal(report.aliases.len, 5);
	assert_string_equal(pairs_find(&report.aliases, "ll")->value, "ls -l");
	assert_string_equal(pairs_find(&report.aliases, "q")->value, "it's\ntwo");
	assert_string_equal(pairs_find(&report.aliases, "-x")->value, "y");
	assert_string_equal(pairs_find(&report.aliases, "s")->value, "'");
	assert_string_equal(pairs_find(&report.aliases, "e")->value, "");
	report_done(&report);
	fields.aliases = "alias a=b\n";
	assert_false(parses(&fields, &report));
	fields.aliases = "alias a='b'; id\n";
	assert_false(parses(&fields, &report));
	fields.aliases = "alias a='b";
	assert_false(parses(&fields, &report));
}

static void
test_functions(void **state)
{
	struct fields fields = plain;
	struct report report;

	(void)state;
	fields.names = "declare -f a-b\ndeclare -fx g\ndeclare -f trap\ndeclare -f if\n";
	fields.functions = "a-b () \n{ \n    cat <<E\n}\nno ()\nE\n\n}\ng () \n{ \n    :\n} > /x\n"
			   "trap () \n{ \n    :\n}\nfunction if () \n{ \n    :\n}\n";
	assert_true(parses(&fields, &report));
	assert_int_equal(report.functions.len, 3);
	assert_string_equal(pairs_find(&report.functions, "a-b")->value,
	    "a-b () \n{ \n    cat <<E\n}\nno ()\nE\n\n}\n");
	assert_false(pairs_find(&report.functions, "a-b")->is_exported);
	assert_string_equal(pairs_find(&report.functions, "g")->value,
	    "g () \n{ \n    :\n} > /x\n");
	assert_true(pairs_find(&report.functions, "g")->is_exported);
	assert_null(pairs_find(&report.functions, "trap"));
	assert_non_null(pairs_find(&report.functions, "if"));
	report_done(&report);
}

/* A here-document that looks like the next function's beginning: nobody can tell which is meant, so
 * the two stay one text. */
static void
test_functions_that_look_like_two(void **state)
{
	struct fields fields = plain;
	struct report report;

	(void)state;
	fields.names = "declare -f a\ndeclare -f b\ndeclare -f c\n";
	fields.functions = "a () \n{ \n    cat <<E\n}\nb () \n{ \n}\nE\n\n}\nb () \n{ \n    :\n}\n"
			   "c () \n{ \n    :\n}\n";
	assert_true(parses(&fields, &report));
	assert_int_equal(report.functions.len, 2);
	assert_non_null(strstr(pairs_find(&report.functions, "a")->value, "b () \n{ \n    :"));
	assert_string_equal(pairs_find(&report.functions, "c")->value, "c () \n{ \n    :\n}\n");
	report_done(&report);
}

static void
test_functions_that_do_not_fit_are_hlb_13(void **state)
{
	struct fields fields = plain;
	struct report report;

	(void)state;
	fields.names = "declare -f a\n";
	fields.functions = "";
	assert_false(parses(&fields, &report));
	fields.functions = "rm -rf /\na () \n{ \n}\n";
	assert_false(parses(&fields, &report));
	fields.functions = "a () \n{ \n}";
	assert_false(parses(&fields, &report));
	fields.names = "";
	fields.functions = "a () \n{ \n}\n";
	assert_false(parses(&fields, &report));
	fields.names = "declare -f b\ndeclare -f a\n";
	fields.functions = "a () \n{ \n}\nb () \n{ \n}\n";
	assert_false(parses(&fields, &report));
	fields.names = "declare -f a b\n";
	assert_false(parses(&fields, &report));
}

/* hermes W2: what is not whole is not believed; the last whole one counts. */
static void
test_whole_or_nothing(void **state)
{
	struct fields first = plain, second = plain;
	struct report report;
	struct hl_buf text;
	struct hl_err err;

	(void)state;
	first.cwd = "/one\n";
	second.cwd = "/two\n";
	hl_buf_init(&text, 65536);
	put_report(&text, &first);
	size_t one = text.len;
	for (size_t cut = 0; cut < one; cut++)
		assert_int_equal(report_parse(text.data, cut, &report, &err), -1);
	put_report(&text, &second);
	for (size_t cut = one; cut <= text.len; cut++) {
		assert_int_equal(report_parse(text.data, cut, &report, &err), 0);
		assert_string_equal(report.cwd, cut == text.len ? "/two" : "/one");
		report_done(&report);
	}
	hl_buf_puts(&text, "forged");
	assert_int_equal(report_parse(text.data, text.len, &report, &err), -1);
	hl_buf_done(&text);
}

static void
test_cwd(void **state)
{
	struct fields fields = plain;
	struct report report;

	(void)state;
	fields.cwd = "//tmp\n";
	assert_true(parses(&fields, &report));
	assert_string_equal(report.cwd, "/tmp");
	report_done(&report);
	fields.cwd = "/a\nb\n";
	assert_true(parses(&fields, &report));
	assert_string_equal(report.cwd, "/a\nb");
	report_done(&report);
	fields.cwd = "relative\n";
	assert_false(parses(&fields, &report));
	fields.cwd = "/tmp";
	assert_false(parses(&fields, &report));
	fields.cwd = "";
	assert_false(parses(&fields, &report));
}

static void
test_options_are_names_only(void **state)
{
	struct fields fields = plain;
	struct report report;

	(void)state;
	fields.options = "braceexpand:hashall cmdhist:extglob";
	assert_true(parses(&fields, &report));
	assert_string_equal(report.options, fields.options);
	report_done(&report);
	fields.options = "hashall; id";
	assert_false(parses(&fields, &report));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hermes_14_values_byte_for_byte),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_strange_exports_are_hlb_13),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_functions_that_look_like_two),
		cmocka_unit_test(test_functions_that_do_not_fit_are_hlb_13),
		cmocka_unit_test(test_whole_or_nothing),
		cmocka_unit_test(test_cwd),
		cmocka_unit_test(test_options_are_names_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
