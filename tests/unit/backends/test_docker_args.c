/*
 * The option table of docker and podman, and the grammar by which a caller's arguments are read.
 *
 * Every row is read in every legal spelling, so a new row is tested by being there; what pflag
 * refuses, and what it takes for something else than an option, must be an error here as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "backends/docker/docker.h"

#include "base/banned.h"

enum {
	ARGS_MAX = 8
};

/* Whose grammar is tested. */
static enum docker_engines engine = DOCKER_ENGINES_DOCKER;

static int
parse(const char *const *args, struct engine_settings *ret_settings, struct hl_err *err)
{
	struct engine_arg list[ARGS_MAX];
	size_t len = 0;

	for (; args[len] != NULL; len++) {
		assert_true(len < ARGS_MAX);
		list[len] = (struct engine_arg){ .text = args[len], .argument = (int)len + 5 };
	}
	return engine_args_parse(engine == DOCKER_ENGINES_PODMAN ? "podman" : "docker", list, len,
	    ret_settings, err);
}

/* The last setting read from args is the row with that value; returns how many came before. */
static void
assert_reads(const char *const *args, const struct docker_option *option, const char *value)
{
	struct engine_settings settings = { 0 };
	struct hl_err err = { 0 };
	const struct engine_setting *last;

	if (parse(args, &settings, &err) == -1)
		fail_msg("%s %s: %s", args[0], args[1] != NULL ? args[1] : "", err.msg);
	assert_true(settings.len > 0);
	last = &settings.items[settings.len - 1];
	assert_string_equal(last->flag, option->flag);
	assert_string_equal(last->control, option->control);
	assert_string_equal(last->value, value);
	assert_int_equal(last->rule, option->rule);
	assert_int_equal(last->is_repeatable, option->is_repeatable);
	assert_true(last->argument >= 5);
	engine_settings_done(&settings);
}

static void
assert_fails(const char *const *args, enum hl_code code, const char *text)
{
	struct engine_settings settings = { 0 };
	struct hl_err err = { 0 };

	if (parse(args, &settings, &err) == 0)
		fail_msg("%s was read", args[0]);
	assert_int_equal(err.code, code);
	if (strstr(err.msg, text) == NULL)
		fail_msg("'%s' does not say '%s'", err.msg, text);
}

#define ARGS(...)      \
 (const char *const[]) \
 {                     \
  __VA_ARGS__, NULL    \
 }

static void
check_value_spellings(const struct docker_option *option, const char *value)
{
	char text[5][512];

	snprintf(text[0], sizeof(text[0]), "%s=%s", option->flag, value);
	assert_reads(ARGS(text[0]), option, value);
	assert_reads(ARGS(option->flag, value), option, value);
	assert_reads(ARGS("--read-only", option->flag, value), option, value);
	if (option->letter == '\0')
		return;
	snprintf(text[0], sizeof(text[0]), "-%c", option->letter);
	snprintf(text[1], sizeof(text[1]), "-%c%s", option->letter, value);
	snprintf(text[2], sizeof(text[2]), "-%c=%s", option->letter, value);
	snprintf(text[3], sizeof(text[3]), "-it%c%s", option->letter, value);
	snprintf(text[4], sizeof(text[4]), "-itP%c", option->letter);
	assert_reads(ARGS(text[0], value), option, value);
	assert_reads(ARGS(text[1]), option, value);
	assert_reads(ARGS(text[2]), option, value);
	assert_reads(ARGS(text[3]), option, value);
	assert_reads(ARGS(text[4], value), option, value);
}

static void
check_bool_spellings(const struct docker_option *option)
{
	static const char *const words[2][6] = { { "0", "f", "F", "FALSE", "false", "False" },
		{ "1", "t", "T", "TRUE", "true", "True" } };
	static const char *const values[2] = { "false", "true" };
	char text[512];

	assert_reads(ARGS(option->flag), option, "true");
	for (size_t value = 0; value < 2; value++) {
		for (size_t i = 0; i < 6; i++) {
			snprintf(text, sizeof(text), "%s=%s", option->flag, words[value][i]);
			assert_reads(ARGS(text), option, values[value]);
			if (option->letter == '\0')
				continue;
			snprintf(text, sizeof(text), "-%c=%s", option->letter, words[value][i]);
			assert_reads(ARGS(text), option, values[value]);
		}
	}
	if (option->letter == '\0')
		return;
	snprintf(text, sizeof(text), "-it%c", option->letter);
	assert_reads(ARGS(text), option, "true");
}

static void
check_every_row_in_every_spelling(void)
{
	static const char *const values[] = { "x", "A=b", "/a:/b", "--privileged", "-1",
		"a b,c=\"d\"" };

	for (size_t i = 0; i < DOCKER_OPTION_MAX; i++) {
		const struct docker_option *option = docker_option((enum docker_option_id)i);

		if ((option->engines & engine) == 0)
			continue;
		if (option->kind == DOCKER_KIND_BOOL) {
			check_bool_spellings(option);
			continue;
		}
		for (size_t k = 0; k < HL_ARRAY_SIZE(values); k++)
			check_value_spellings(option, values[k]);
	}
}

static void
test_every_row_in_every_spelling(void **state)
{
	(void)state;
	check_every_row_in_every_spelling();
	engine = DOCKER_ENGINES_PODMAN;
	check_every_row_in_every_spelling();
	engine = DOCKER_ENGINES_DOCKER;
}

/* The row is the only one of its flag and letter that its engine has. */
static void
check_is_found(const struct docker_option *option, enum docker_engines of)
{
	if ((option->engines & of) == 0)
		return;
	assert_ptr_equal(docker_option_find(of, option->flag, strlen(option->flag)), option);
	if (option->letter != '\0')
		assert_ptr_equal(docker_option_by_letter(of, option->letter), option);
}

static void
test_the_table_is_sorted_unique_and_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < DOCKER_OPTION_MAX; i++) {
		const struct docker_option *option = docker_option((enum docker_option_id)i);
		bool is_dockers = (option->engines & DOCKER_ENGINES_DOCKER) != 0;

		assert_true(strlen(option->flag) > 3 && strncmp(option->flag, "--", 2) == 0);
		if (i > 0 &&
		    strcmp(docker_option((enum docker_option_id)(i - 1))->flag, option->flag) > 0)
			fail_msg("%s is out of order", option->flag);
		assert_true((option->engines & DOCKER_ENGINES_BOTH) != 0);
		check_is_found(option, DOCKER_ENGINES_DOCKER);
		check_is_found(option, DOCKER_ENGINES_PODMAN);
		assert_true(option->rule > ENGINE_RULE_UNKNOWN && option->rule < ENGINE_RULE_MAX);
		assert_true(strlen(option->help) > 4);
		assert_int_equal(option->help[strlen(option->help) - 1], '.');
		assert_true(strlen(option->control) > 2);
		assert_int_equal(strncmp(option->since, "1.", 2) == 0, is_dockers);
		/* A rule that hands its option to docker's API needs a place to put it. */
		if (is_dockers &&
		    (option->rule == ENGINE_RULE_KEPT || option->rule == ENGINE_RULE_NUMBER_KEPT))
			assert_true(option->json[0] != '\0');
		assert_true(is_dockers || option->json[0] == '\0');
	}
}

static void
test_what_pflag_takes_for_something_else(void **state)
{
	const struct docker_option *env = docker_option(DOCKER_ENV);

	(void)state;
	/* The value of a boolean that stands alone would be the image. */
	assert_fails(ARGS("--privileged", "true"), HLC_08, "argument 6 is not a flag");
	assert_fails(ARGS("image"), HLC_08, "for the image"); /* HLC-08 */
	assert_fails(ARGS("-"), HLC_08, "not a flag");
	assert_fails(ARGS(""), HLC_08, "not a flag");
	assert_fails(ARGS("--", "--read-only"), HLC_08, "not a flag");
	assert_fails(ARGS("---privileged"), HLC_08, "bad syntax");
	assert_fails(ARGS("--=x"), HLC_08, "bad syntax");
	assert_fails(ARGS("--privileged=yes"), HLC_08, "is a boolean");
	assert_fails(ARGS("--privileged="), HLC_08, "is a boolean");
	assert_fails(ARGS("--privileged=tRUE"), HLC_08, "is a boolean");
	assert_fails(ARGS("--cap-add"), HLC_08, "needs a value");
	assert_fails(ARGS("-e"), HLC_08, "needs a value");
	assert_fails(ARGS("-ite"), HLC_08, "needs a value");
	/* A flag that wants a value takes the next argument, whatever it is. */
	assert_reads(ARGS("-e", "--privileged"), env, "--privileged");
	assert_reads(ARGS("-e", "--"), env, "--");
	assert_reads(ARGS("-e", ""), env, "");
	assert_reads(ARGS("--env="), env, "");
	assert_reads(ARGS("-e="), env, "=");
	assert_reads(ARGS("-e=="), env, "=");
	assert_reads(ARGS("-e=A"), env, "A");
	assert_reads(ARGS("-teA=b"), env, "A=b");
	assert_reads(ARGS("--read-only", "-e", "A", "--"), env, "A");
}

static void
assert_unknown(const char *arg, const char *flag, const char *value)
{
	struct engine_settings settings = { 0 };
	struct hl_err err = { 0 };
	const struct engine_setting *last;

	assert_int_equal(parse(ARGS(arg), &settings, &err), 0);
	assert_true(settings.len > 0);
	last = &settings.items[settings.len - 1];
	assert_int_equal(last->rule, ENGINE_RULE_UNKNOWN);
	assert_string_equal(last->flag, flag);
	assert_string_equal(last->value, value);
	engine_settings_done(&settings);
}

static void
test_no_abbreviation_is_known(void **state)
{
	char flag[64];

	(void)state;
	for (size_t i = 0; i < DOCKER_OPTION_MAX; i++) {
		const struct docker_option *option = docker_option((enum docker_option_id)i);

		for (size_t len = 3; len < strlen(option->flag); len++) {
			memcpy(flag, option->flag, len);
			flag[len] = '\0';
			if (docker_option_find(engine, flag, len) == NULL)
				assert_unknown(flag, flag, "");
		}
	}
	assert_unknown("--priv=true", "--priv", "true");
	assert_unknown("--PRIVILEGED", "--PRIVILEGED", "");
	assert_unknown("--cap_add=ALL", "--cap_add", "ALL");
	assert_unknown("-z", "-z", "");
	assert_unknown("-itzv/a:/b", "-z", "v/a:/b");
	assert_unknown("-i=", "-=", "");
}

static void
assert_list(const char *arg, const char *const *values)
{
	struct engine_settings settings = { 0 };
	struct hl_err err = { 0 };
	size_t len = 0;

	assert_int_equal(parse(ARGS(arg), &settings, &err), 0);
	for (; values[len] != NULL; len++) {
		assert_true(len < settings.len);
		assert_string_equal(settings.items[len].value, values[len]);
		assert_string_equal(settings.items[len].flag, settings.items[0].flag);
		assert_int_equal(settings.items[len].argument, 5);
	}
	assert_int_equal(settings.len, len);
	engine_settings_done(&settings);
}

static void
test_podman_splits_lists(void **state)
{
	(void)state;
	assert_list("--cap-add=A,B", ARGS("A,B"));
	engine = DOCKER_ENGINES_PODMAN;
	assert_list("--cap-add=A", ARGS("A"));
	assert_list("--cap-add=A,B", ARGS("A", "B"));
	assert_list("--cap-add=,A,,B,", ARGS("", "A", "", "B", ""));
	assert_list("--cap-add=A, B", ARGS("A", " B"));
	assert_list("-p80:80,81:81", ARGS("80:80", "81:81"));
	assert_list("--cap-add=\"A,B\"", ARGS("\"A,B\""));
	assert_list("--cap-add=A,B\nC", ARGS("A,B\nC"));
	assert_list("--cap-add=A,B\rC", ARGS("A,B\rC"));
	/* An array of podman's is not a list of its: each value is one. */
	assert_list("--env=A=1,2", ARGS("A=1,2"));
	assert_list("--mount=type=bind,src=/a,dst=/b", ARGS("type=bind,src=/a,dst=/b"));
	engine = DOCKER_ENGINES_DOCKER;
}

/* What one engine has and the other has not. */
static void
test_each_engine_has_its_own_options(void **state)
{
	(void)state;
	assert_unknown("--uidmap=0:0:1", "--uidmap", "0:0:1");
	assert_reads(ARGS("--net-alias", "x"), docker_option(DOCKER_NET_ALIAS), "x");
	assert_reads(ARGS("--storage-opt=size=1"), docker_option(DOCKER_STORAGE_OPT), "size=1");
	engine = DOCKER_ENGINES_PODMAN;
	assert_unknown("--net-alias=x", "--net-alias", "x");
	assert_reads(ARGS("--uidmap", "0:0:1"), docker_option(DOCKER_UIDMAP), "0:0:1");
	assert_reads(ARGS("--storage-opt=size=1"), docker_option(DOCKER_STORAGE_DRIVER_OPT),
	    "size=1");
	assert_fails(ARGS("--rootfs", "/"), HLC_08, "argument 6 is not a flag");
	engine = DOCKER_ENGINES_DOCKER;
}

static void
test_only_engines_take_engine_arguments(void **state)
{
	struct engine_arg arg = { .text = "--read-only", .argument = 3 };
	struct engine_settings settings = { 0 };
	struct hl_err err = { 0 };

	(void)state;
	assert_int_equal(engine_args_parse("local", &arg, 1, &settings, &err), -1);
	assert_int_equal(err.code, HLC_07); /* HLC-07 */
	assert_non_null(strstr(err.msg, "argument 3"));
	assert_int_equal(engine_args_parse("local", NULL, 0, &settings, &err), 0);
	assert_int_equal(settings.len, 0);
	engine_settings_done(&settings);
}

static void
test_a_flood_of_settings_is_an_error(void **state)
{
	static char chain[ENGINE_SETTINGS_MAX + 3];
	struct engine_arg arg = { .text = chain, .argument = 2 };
	struct engine_settings settings = { 0 };
	struct hl_err err = { 0 };

	(void)state;
	chain[0] = '-';
	memset(chain + 1, 'i', ENGINE_SETTINGS_MAX);
	assert_int_equal(engine_args_parse("docker", &arg, 1, &settings, &err), 0);
	assert_int_equal(settings.len, ENGINE_SETTINGS_MAX);
	engine_settings_done(&settings);
	chain[ENGINE_SETTINGS_MAX + 1] = 'i';
	assert_int_equal(engine_args_parse("docker", &arg, 1, &settings, &err), -1);
	assert_int_equal(err.code, HLC_08);
	/* Many settings of one argument count as what they are. */
	memcpy(chain, "--dns=", 6);
	memset(chain + 6, ',', ENGINE_SETTINGS_MAX - 5);
	chain[ENGINE_SETTINGS_MAX + 1] = '\0';
	assert_int_equal(engine_args_parse("podman", &arg, 1, &settings, &err), 0);
	assert_int_equal(settings.len, ENGINE_SETTINGS_MAX - 4);
	engine_settings_done(&settings);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_in_every_spelling),
		cmocka_unit_test(test_the_table_is_sorted_unique_and_whole),
		cmocka_unit_test(test_what_pflag_takes_for_something_else),
		cmocka_unit_test(test_no_abbreviation_is_known),
		cmocka_unit_test(test_podman_splits_lists),
		cmocka_unit_test(test_each_engine_has_its_own_options),
		cmocka_unit_test(test_only_engines_take_engine_arguments),
		cmocka_unit_test(test_a_flood_of_settings_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
