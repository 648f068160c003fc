/*
 * The command line: tables in order, each option's spellings, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/launcher.h"
#include "launcher/options.h"

static struct request request;
static struct hl_err err;

#define PARSE(...) parse((const char *[]){ "hermes-launch", __VA_ARGS__, NULL })

/* In the program the settled state directory lives as long as the process. */
static void
done(void)
{
	char *dir;

	memcpy(&dir, &request.state_dir, sizeof(dir));
	free(dir);
	request.state_dir = NULL;
}

static int
parse(const char **words)
{
	int argc = 0;
	static char *argv[64];

	for (; words[argc] != NULL; argc++)
		memcpy(&argv[argc], &words[argc], sizeof(argv[argc]));
	argv[argc] = NULL;
	memset(&err, 0, sizeof(err));
	done();
	memset(&request, 0, sizeof(request));
	return options_parse(argc, argv, &request, &err);
}

static void
test_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_rows_len; i++) {
		const struct option_row *row = &option_rows[i];
		assert_true(i == 0 || strcmp(option_rows[i - 1].name, row->name) < 0);
		assert_true(strlen(row->help) > 8);
		assert_true((row->kind == OPTION_FLAG) == (row->argument == NULL));
		for (size_t j = 0; j < i; j++)
			assert_true(row->letter == 0 || row->letter != option_rows[j].letter);
		for (const char *verb = row->verbs; *verb != '\0'; verb++) {
			bool known = *verb == '*';
			for (size_t j = 0; j < VERB_MAX; j++)
				known = known || verb_rows[j].options == *verb;
			assert_true(known);
		}
	}
	for (size_t i = 0; i < VERB_MAX; i++)
		assert_true(verb_rows[i].function != NULL && strlen(verb_rows[i].help) > 8);
}

static void
test_run_is_the_default_verb(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--policy", "a.yaml", "-pb.yaml", "--policy=c.yaml", "-qv", "--",
			     "make", "-j2"),
	    0);
	assert_int_equal(request.verb, VERB_RUN);
	assert_int_equal(request.policies.len, 3);
	assert_string_equal(request.policies.items[1].text, "b.yaml");
	assert_true(request.is_quiet && request.is_verbose);
	assert_int_equal(request.argv_len, 2);
	assert_string_equal(request.argv[1], "-j2");
	assert_int_equal(PARSE("run", "-p", "a", "-c", "echo $x"), 0);
	assert_string_equal(request.shell_text, "echo $x");
}

static void
test_verbs(void **state)
{
	(void)state;
	assert_int_equal(PARSE("explain", "-p", "a", "--format", "argv", "--", "true"), 0);
	assert_int_equal(request.verb, VERB_EXPLAIN);
	assert_int_equal(request.format, FORMAT_ARGV);
	assert_int_equal(PARSE("policy", "check", "a.yaml", "b.yaml"), 0);
	assert_int_equal(request.verb, VERB_POLICY_CHECK);
	assert_int_equal(request.argv_len, 2);
	/* Options may stand behind and among them; behind '--' nothing is one. */
	assert_int_equal(PARSE("policy", "check", "a.yaml", "--format", "json", "b.yaml",
			     "--fail-on=warning", "--", "--c.yaml"),
	    0);
	assert_int_equal(request.format, FORMAT_JSON);
	assert_int_equal(request.argv_len, 3);
	assert_string_equal(request.argv[0], "a.yaml");
	assert_string_equal(request.argv[1], "b.yaml");
	assert_string_equal(request.argv[2], "--c.yaml");
	assert_null(request.argv[3]);
	assert_int_equal(PARSE("policy", "check", "a.yaml", "--no-such"), -1);
	assert_int_equal(err.code, HLU_01);
	assert_int_equal(PARSE("policy", "show", "--effective", "--origins", "-p", "a"), 0);
	assert_true(request.show_effective && request.show_origins);
	assert_int_equal(PARSE("audit", "verify", "--format=json"), 0);
	assert_int_equal(request.format, FORMAT_JSON);
	assert_int_equal(PARSE("--version"), 0);
	assert_int_equal(request.verb, VERB_VERSION);
	assert_int_equal(PARSE("policy", "check", "--help"), 0);
	assert_int_equal(request.verb, VERB_HELP);
	assert_int_equal(request.help_for, VERB_POLICY_CHECK);
	assert_int_equal(PARSE("audit", "--help"), 0);
	assert_int_equal(request.verb, VERB_HELP);
	assert_int_equal(request.argv_len, 1);
	assert_string_equal(request.argv[0], "audit");
	assert_int_equal(PARSE("-p", "a", "--label", "team=a", "--name", "n", "--idle", "5s", "--",
			     "true"),
	    0);
}

static void
test_argument_numbers_are_kept(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-p", "a", "--engine-arg=--privileged", "--engine-arg", "-e", "--",
			     "true"),
	    0);
	assert_int_equal(request.engine_args.items[0].argument, 3);
	assert_int_equal(request.engine_args.items[1].argument, 5);
	assert_string_equal(request.engine_args.items[1].text, "-e");
}

/* Each of these is HLU-01 and says something a person can use. */
static void
test_refusals(void **state)
{
	(void)state;
	static const char *const bad[][9] = {
		{ "--polcy", "a", "--", "true" },
		{ "-p", "a" },
		{ "-p", "a", "--" },
		{ "-p", "a", "true" },
		{ "-p" },
		{ "--policy" },
		{ "-p", "a", "-c", "x", "--", "true" },
		{ "-p", "a", "--quiet=yes", "--", "true" },
		{ "-p", "a", "--format", "xml", "--", "true" },
		{ "explain", "-p", "a", "--format", "xml", "--", "true" },
		{ "policy", "check", "--format", "argv", "a" },
		{ "-p", "a", "--timeout", "1s", "--timeout", "2s", "--", "true" },
		{ "polcy", "check", "a" },
		{ "policy", "chek", "a" },
		{ "policy" },
		{ "audit", "--polcy" },
		{ "-p", "a", "--timeout", "--", "true" },
		{ "-p", "--", "true" },
		{ "-p", "a", "--idle", "5s", "--", "true" },
		{ "-p", "a", "--label", "x", "--", "true" },
		{ "-p", "a", "--label", "=x", "--", "true" },
		{ "policy", "check", "--mount", "a:b" },
		{ "audit", "verify", "--policy", "a" },
		{ "-Z", "--", "true" },
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		const char *words[11] = { "hermes-launch" };
		for (size_t j = 0; bad[i][j] != NULL; j++)
			words[j + 1] = bad[i][j];
		assert_int_equal(parse(words), -1);
		assert_int_equal(err.code, HLU_01);
		assert_true(err.msg[0] != '\0');
	}
	assert_int_equal(PARSE("--polcy", "a", "--", "true"), -1);
	assert_string_equal(err.help, "did you mean '--policy'?");
	assert_int_equal(PARSE("-q", "audit", "show"), -1);
	assert_string_equal(err.help,
	    "a verb stands before all options, and '--' before a command");
	assert_int_equal(PARSE("-q", "aud"), -1);
	assert_string_equal(err.help, "put '--' before the command");
	assert_int_equal(PARSE("audit"), -1);
	assert_string_equal(err.msg, "'audit' is only half a verb");
	assert_string_equal(err.help, "it is audit show or audit verify");
	assert_int_equal(request.verb, VERB_HELP); /* not run, whose faults are 125 */
	assert_int_equal(PARSE("-p", "a", "--timeout", "--", "true"), -1);
	assert_string_equal(err.msg, "option '--timeout' needs TIME");
	assert_int_equal(PARSE("-p", "--", "true"), -1);
	assert_string_equal(err.msg, "option '-p' needs FILE");
	assert_int_equal(PARSE("ls"), -1);
	assert_string_equal(err.msg, "'ls' is not a verb");
}

/* What was meant to be a variable's value is not told, however its option was misspelled. */
static void
test_no_value_is_told(void **state)
{
	static const char *const given[] = { "--evn=TOKEN=s3cret", "--evn=s3cret", "-XTOKEN=s3cret",
		"TOKEN=s3cret", "--env:s3cret", "--label==s3cret" };
	(void)state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(given); i++) {
		assert_int_equal(PARSE(given[i], "--", "true"), -1);
		assert_null(strstr(err.msg, "s3cret"));
		assert_int_equal(PARSE("-q", given[i], "--", "true"), -1);
		assert_null(strstr(err.msg, "s3cret"));
	}
	assert_int_equal(PARSE("--evn=TOKEN=s3cret", "--", "true"), -1);
	assert_string_equal(err.msg, "unknown option '--evn' for 'run'");
	assert_string_equal(err.help, "did you mean '--env'?");
}

/* U128: the order of the options does not matter. */
static void
test_order_does_not_matter(void **state)
{
	(void)state;
	static struct request first;

	assert_int_equal(PARSE("-p", "a", "-b", "docker", "-q", "--user", "1:1", "--", "true"), 0);
	first = request;
	request.state_dir = NULL;
	assert_int_equal(PARSE("--user", "1:1", "-q", "-b", "docker", "-p", "a", "--", "true"), 0);
	assert_string_equal(first.backend.text, request.backend.text);
	assert_string_equal(first.user.text, request.user.text);
	assert_string_equal(first.policies.items[0].text, request.policies.items[0].text);
	assert_int_equal(first.is_quiet, request.is_quiet);
	done();
	request.state_dir = first.state_dir;
}

static void
test_state_dir(void **state)
{
	(void)state;
	setenv("HERMES_LAUNCH_STATE", "/var/tmp/../tmp/s/", 1);
	assert_int_equal(PARSE("-p", "a", "--", "true"), 0);
	assert_string_equal(request.state_dir, "/var/tmp/s");
	assert_int_equal(PARSE("-p", "a", "--state-dir", "/x/./y", "--", "true"), 0);
	assert_string_equal(request.state_dir, "/x/y");
	unsetenv("HERMES_LAUNCH_STATE");
	done();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_run_is_the_default_verb),
		cmocka_unit_test(test_verbs),
		cmocka_unit_test(test_argument_numbers_are_kept),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_no_value_is_told),
		cmocka_unit_test(test_order_does_not_matter),
		cmocka_unit_test(test_state_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
