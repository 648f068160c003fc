/*
 * .env files of hermes-agent: which lines are settings, how their values are written, and that
 * nothing else of the file is kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/import.h"

static struct hl_strv variables;
static struct hl_err err;

static int
read_bytes(const char *bytes, size_t len)
{
	hl_strv_done_secret(&variables);
	hl_strv_init(&variables, 16);
	err = (struct hl_err){ 0 };
	return import_variables_read("hermes.env", bytes, len, &variables, &err);
}

static int
read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

static void
test_forms_of_a_line(void **state)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "TERMINAL_ENV=docker", "TERMINAL_ENV=docker" },
		{ "  export TERMINAL_ENV = docker  ", "TERMINAL_ENV=docker" },
		{ "TERMINAL_ENV=docker # why", "TERMINAL_ENV=docker" },
		{ "TERMINAL_CWD=/a#b", "TERMINAL_CWD=/a#b" },
		{ "TERMINAL_CWD=\"/a # b\" # why", "TERMINAL_CWD=/a # b" },
		{ "TERMINAL_DOCKER_ENV='{\"A\":\"b\"}'", "TERMINAL_DOCKER_ENV={\"A\":\"b\"}" },
		{ "TERMINAL_DOCKER_ENV=\"{\\\"A\\\":1}\"", "TERMINAL_DOCKER_ENV={\"A\":1}" },
		{ "TERMINAL_CWD=", "TERMINAL_CWD=" },
		{ "TERMINAL_ENV=docker\r", "TERMINAL_ENV=docker" },
		{ "HERMES_DOCKER_BINARY=/usr/bin/podman", "HERMES_DOCKER_BINARY=/usr/bin/podman" },
		/* A password is not kept, only that there is one. */
		{ "SUDO_PASSWORD=sentinel", "SUDO_PASSWORD=set" },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_text(cases[i].line), 0);
		assert_int_equal(variables.len, 1);
		assert_string_equal(variables.v[0], cases[i].want);
	}
}

static void
test_other_lines_are_not_looked_at(void **state)
{
	(void)state;
	assert_int_equal(read_text(
			     "# TERMINAL_ENV=docker\n\nOPENAI_API_KEY=\"sentinel\nxTERMINAL_A=1\n"
			     "MY_TERMINAL_A=1\nexport\nexportTERMINAL_A=1\nnonsense\n=\n"),
	    0);
	assert_int_equal(variables.len, 0);
}

static void
test_the_last_one_wins(void **state)
{
	(void)state;
	assert_int_equal(read_text("TERMINAL_ENV=docker\nTERMINAL_ENVY=1\nTERMINAL_ENV=ssh\n"), 0);
	assert_int_equal(variables.len, 2);
	assert_string_equal(variables.v[0], "TERMINAL_ENV=ssh");
	assert_string_equal(variables.v[1], "TERMINAL_ENVY=1");
}

static void
test_what_cannot_be_read(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} cases[] = {
		{ "A=1\nTERMINAL_ENV\n", 17 },
		{ "A=1\nTERMINAL_ENV='sentinel\n", 27 },
		{ "A=1\nTERMINAL_ENV=\"sentinel\\\"\n", 30 },
		{ "A=1\nTERMINAL_ENV=a\0b\n", 21 },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_bytes(cases[i].text, cases[i].len), -1);
		assert_int_equal(err.code, HLU_40);
		assert_string_equal(err.where.file, "hermes.env");
		assert_int_equal(err.where.line, 2);
		assert_null(strstr(err.msg, "sentinel"));
	}
}

static void
test_the_environment(void **state)
{
	static const char *const texts[] = { "PATH=/bin", "TERMINAL_ENV=docker", "nothing",
		"SUDO_PASSWORD=sentinel" };

	(void)state;
	hl_strv_done(&variables);
	hl_strv_init(&variables, 16);
	for (size_t i = 0; i < HL_ARRAY_SIZE(texts); i++)
		import_variable_keep(&variables, texts[i], strlen(texts[i]));
	assert_int_equal(variables.len, 2);
	assert_string_equal(variables.v[0], "TERMINAL_ENV=docker");
	assert_string_equal(variables.v[1], "SUDO_PASSWORD=set");
}

static int
teardown(void **state)
{
	(void)state;
	hl_strv_done_secret(&variables);
	return 0;
}

/* What found no room is not taken for an empty value, or for the beginning of one. */
static void
test_no_half_value(void **state)
{
	static const char *const begin[] = { "TERMINAL_CWD=", "TERMINAL_CWD='", "SUDO_PASSWORD=" };
	struct hl_buf text;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(begin); i++) {
		hl_buf_init(&text, 4U << 20);
		hl_buf_puts(&text, begin[i]);
		for (size_t n = 0; n < 2U << 20; n++)
			hl_buf_putc(&text, 'a');
		hl_buf_puts(&text, i == 1 ? "'\n" : "\n");
		assert_int_equal(read_bytes(text.data, text.len), -1);
		assert_int_equal(err.code, HLI_03);
		assert_int_equal(variables.len, 0);
		hl_buf_done(&text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms_of_a_line),
		cmocka_unit_test(test_no_half_value),
		cmocka_unit_test(test_other_lines_are_not_looked_at),
		cmocka_unit_test(test_the_last_one_wins),
		cmocka_unit_test(test_what_cannot_be_read),
		cmocka_unit_test(test_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
