/*
 * The words of expect.def against the tables of the command line: each request is an option of run
 * that takes a value, and each control of conflicts.def has its place in the coverage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/conflicts_parts.h"
#include "launcher/options.h"
#include "launcher/trial.h"

static void
test_requests_are_options_of_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < POLICY_REQUEST_MAX; i++) {
		const struct option_row *row = NULL;
		const char *word = policy_request_word((enum policy_request_word)i);
		for (size_t j = 0; j < option_rows_len; j++) {
			if (strcmp(option_rows[j].name, word) == 0)
				row = &option_rows[j];
		}
		assert_non_null(row);
		assert_non_null(strchr(row->verbs, 'R'));
		assert_true(row->kind == OPTION_ITEM || row->kind == OPTION_ITEMS);
		assert_true(i == 0 || strcmp(policy_request_word((enum policy_request_word)(i - 1)),
					  word) < 0);
	}
	for (size_t i = 1; i < POLICY_EXPECT_MAX; i++)
		assert_true(strcmp(policy_expect_word((enum policy_expect_kind)(i - 1)),
				policy_expect_word((enum policy_expect_kind)i)) < 0);
}

static void
test_coverage_has_room(void **state)
{
	(void)state;
	assert_in_range(conflict_controls_len(), 1, TRIAL_CONTROLS_MAX);
}

static void
test_names_keep_what_is_private(void **state)
{
	static const struct {
		enum policy_request_word word;
		const char *text, *name;
	} rows[] = {
		{ POLICY_REQUEST_ENV, "CI", "allow --env=CI" },
		{ POLICY_REQUEST_ENGINE_ARG, "--cap-add=SYS_ADMIN",
		    "allow --engine-arg=--cap-add=SYS_ADMIN" },
		{ POLICY_REQUEST_ENGINE_ARG, "--privileged", "allow --engine-arg=--privileged" },
		{ POLICY_REQUEST_ENGINE_ARG, "--env=GH_TOKEN",
		    "allow --engine-arg=--env=GH_TOKEN" },
		{ POLICY_REQUEST_ENGINE_ARG, "--env=GH_TOKEN=sentinel",
		    "allow --engine-arg=--env=GH_TOKEN=..." },
		{ POLICY_REQUEST_ENGINE_ARG, "-eGH_TOKEN=sentinel",
		    "allow --engine-arg=--env=GH_TOKEN=..." },
		{ POLICY_REQUEST_ENGINE_ARG, "-ite=GH_TOKEN=sentinel", NULL },
		{ POLICY_REQUEST_ENGINE_ARG, "--frobnicate=sentinel",
		    "allow --engine-arg=--frobnicate=..." },
		{ POLICY_REQUEST_ENGINE_ARG, "GH_TOKEN=sentinel",
		    "allow --engine-arg=GH_TOKEN=..." },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		const struct policy_expectation expectation = {
			.kind = POLICY_EXPECT_ALLOW,
			.word = rows[i].word,
			.text = rows[i].text,
			.field = POLICY_FIELD_MAX,
		};
		struct hl_buf name;
		hl_buf_init(&name, 1024);
		trial_name(&expectation, &name);
		assert_null(strstr(name.data, "sentinel"));
		if (rows[i].name != NULL)
			assert_string_equal(name.data, rows[i].name);
		hl_buf_done(&name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_are_options_of_run),
		cmocka_unit_test(test_coverage_has_room),
		cmocka_unit_test(test_names_keep_what_is_private),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
