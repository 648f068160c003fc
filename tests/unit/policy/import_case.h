/*
 * What the tests of import share: settings in, the policy, its notes or the refusal out. Each test
 * program includes this once.
 */
#ifndef HL_TEST_POLICY_IMPORT_CASE_H
#define HL_TEST_POLICY_IMPORT_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/import.h"

static struct policy_import made;
static struct hl_err err;

static void
done(void)
{
	policy_import_done(&made);
	memset(&made, 0, sizeof(made));
}

static int
import(const char *config, char *const *environment)
{
	const struct policy_import_source source = {
		.config_name = "config.yaml",
		.config = config,
		.config_len = config != NULL ? strlen(config) : 0,
		.environment = environment,
	};

	done();
	err = (struct hl_err){ 0 };
	return policy_import_hermes(&source, &made, &err);
}

static void
import_good(const char *config, char *const *environment)
{
	if (import(config, environment) != 0)
		fail_msg("%s [%s] from:\n%s", err.msg, hl_code_info(err.code)->id,
		    config != NULL ? config : "variables");
	/* No value of a variable, wherever it was. */
	assert_null(strstr(made.text.data, "sentinel"));
	for (size_t i = 0; i < made.notes.len; i++)
		assert_null(strstr(made.notes.v[i], "sentinel"));
}

static bool
has_note(const char *begin, const char *rest)
{
	size_t len = strlen(begin);

	for (size_t i = 0; i < made.notes.len; i++) {
		if (strncmp(made.notes.v[i], begin, len) == 0 &&
		    strstr(made.notes.v[i] + len, rest) != NULL)
			return true;
	}
	return false;
}

static void
expect_note(const char *begin, const char *rest)
{
	if (has_note(begin, rest))
		return;
	for (size_t i = 0; i < made.notes.len; i++)
		print_message("note: %s\n", made.notes.v[i]);
	fail_msg("no note '%s ... %s'", begin, rest);
}

/* Without comments, which say what was not given. */
static const char *
body(void)
{
	return strstr(made.text.data, "version: 1");
}

static char *const *
variable_of(const char *name, const char *value)
{
	static char text[4096];
	static char *environment[2];

	snprintf(text, sizeof(text), "%s=%s", name, value);
	environment[0] = text;
	return environment;
}

static int
teardown(void **state)
{
	(void)state;
	done();
	return 0;
}

#endif
