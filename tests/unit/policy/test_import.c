/*
 * hermes-agent's settings as a policy, over the rows of import.def: a row that is added is tested
 * by that. What a converter is given is chosen by the converter, not by the row.
 */
#include "import_case.h"

/* Two values that a converter takes and that make two policies, and one that it refuses. JSON,
 * which is YAML and what the environment has. wrong NULL: it takes whatever it is given. */
static const struct sample {
	enum import_convert convert;
	const char *one, *other, *wrong;
	const char *want; /* in the policy made from the first one */
} samples[] = {
	{ IMPORT_WALL, "90", "45", "soon", "default: 90s" },
	{ IMPORT_WALL_MAX, "7200", "3600", "0", "max: 2h" },
	{ IMPORT_MEGABYTES, "2048", "1024", "2g", "memory: 2GiB" },
	{ IMPORT_DOCKER_SIZE, "256m", "512M", "big", "shm: 256MiB" },
	{ IMPORT_CPUS, "1.50", "3", "many", "cpus: 1.5" },
	{ IMPORT_IMAGE, "one:1", "other:2", "no image", "default: \"one:1\"" },
	{ IMPORT_HOST_USER, "true", "false", "[]", "user: caller" },
	{ IMPORT_NETWORK, "false", "true", "{}", "mode: none" },
	{ IMPORT_PROXY, "true", "false", "[]", "mode: proxy" },
	{ IMPORT_HOME, "false", "true", "[]", "home: {kind: tmpfs, size: 1GiB}" },
	{ IMPORT_CWD, "/srv/one", "~/other", "relative/path", "path: /srv/one" },
	{ IMPORT_WORKSPACE, "true", "false", "[]", "at: /workspace" },
	{ IMPORT_NAMES, "[\"ONE\"]", "[\"OTHER\"]", "ONE", ", ONE]" },
	{ IMPORT_VARIABLES, "{\"ONE\":\"sentinel\"}", "{\"OTHER\":\"sentinel\"}", "[\"ONE\"]",
	    ", ONE]" },
	{ IMPORT_VOLUMES, "[\"/one:/in\"]", "[\"/other:/in:ro\"]", "/one:/in",
	    "{src: /one, dst: /in, access: rw}" },
	{ IMPORT_ENGINE_ARGS, "[\"--init\"]", "[\"--rm\"]", "--init", NULL },
};

static const struct sample *
sample_of(const struct import_setting *row)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(samples); i++) {
		if (samples[i].convert == row->convert)
			return &samples[i];
	}
	fail_msg("no sample for the converter of '%s%s'", row->key, row->variable);
	return NULL;
}

static const char *const sections[] = { "terminal", "proxy" };

/* A backend that the row is about, or is not about; NULL: there is none such. */
static const char *
backend_for(const struct import_setting *row, bool is_about)
{
	for (size_t i = 0; i < IMPORT_BACKEND_MAX; i++) {
		if (((row->scope >> i) & 1) == is_about)
			return import_backends[i].word;
	}
	return NULL;
}

/* The row's key with that value, below a backend; value NULL: not given. */
static const char *
config_of(const struct import_setting *row, const char *backend, const char *value)
{
	static char text[4096];
	bool is_terminal = row->section == IMPORT_terminal;
	int n = snprintf(text, sizeof(text), "terminal:\n  backend: %s\n", backend);

	if (value != NULL && row->key[0] != '\0')
		snprintf(text + n, sizeof(text) - (size_t)n, "%s  %s: %s\n",
		    is_terminal ? "" : "proxy:\n", row->key, value);
	return text;
}

/* A name that the row's variable, perhaps a pattern, stands for. */
static const char *
name_of(const struct import_setting *row)
{
	static char name[128];
	size_t len = strcspn(row->variable, "*");

	snprintf(name, sizeof(name), "%.*s%s", (int)len, row->variable,
	    row->variable[len] != '\0' ? "ANY" : "");
	return name;
}

static bool
is_plain_row(const struct import_setting *row)
{
	return row->convert != IMPORT_BACKEND;
}

/* ------------------------------------------------------------------------------------------------
 * Over the rows
 */

static void
test_table(void **state)
{
	(void)state;
	assert_true(import_settings_len > 60);
	for (size_t i = 0; i < import_settings_len; i++) {
		const struct import_setting *row = &import_settings[i], *last = row - (i > 0);
		assert_true(row->key[0] != '\0' || row->variable[0] != '\0');
		int order = strcmp(last->key, row->key);
		if (i > 0 && row->section == last->section)
			assert_true(
			    order < 0 || (order == 0 && strcmp(last->variable, row->variable) < 0));
		else if (i > 0)
			assert_true(row->section == IMPORT_terminal); /* "proxy" comes first */
		/* Without a converter there is nothing to write, but something to say. */
		assert_true(row->convert != IMPORT_NOTHING || row->field == POLICY_FIELD_MAX);
		assert_true(row->convert != IMPORT_NOTHING || strlen(row->note) > 20);
		assert_true(row->fallback[0] == '\0' || row->convert != IMPORT_NOTHING);
		assert_non_null(backend_for(row, true));
	}
}

/* Each source of each row: a value makes the line that it should, another one another policy. */
static void
test_every_row_has_an_effect(void **state)
{
	(void)state;
	for (size_t i = 0; i < import_settings_len; i++) {
		const struct import_setting *row = &import_settings[i];
		if (!is_plain_row(row) || row->convert == IMPORT_NOTHING)
			continue;
		const struct sample *sample = sample_of(row);
		const char *backend = row->convert == IMPORT_CWD ? "local" : backend_for(row, true);
		for (int source = 0; source < 2; source++) {
			if ((source == 0 ? row->key : row->variable)[0] == '\0')
				continue;
			char *one = NULL;
			for (int turn = 0; turn < 2; turn++) {
				const char *value = turn == 0 ? sample->one : sample->other;
				if (source == 0)
					import_good(config_of(row, backend, value), NULL);
				else
					import_good(config_of(row, backend, NULL),
					    variable_of(row->variable, value));
				if (turn == 0 && sample->want != NULL &&
				    strstr(made.text.data, sample->want) == NULL)
					fail_msg("%s%s: no '%s' in:\n%s", row->key, row->variable,
					    sample->want, made.text.data);
				if (turn == 0)
					one = strdup(body());
			}
			assert_non_null(one);
			if (row->convert == IMPORT_ENGINE_ARGS)
				assert_string_equal(made.engine_args.v[0], "--rm");
			else
				assert_string_not_equal(one, body());
			free(one);
		}
	}
}

/* What has no counterpart is told by its name with the reason, and changes nothing. */
static void
test_every_row_without_counterpart_is_told(void **state)
{
	char from[160];

	(void)state;
	for (size_t i = 0; i < import_settings_len; i++) {
		const struct import_setting *row = &import_settings[i];
		if (row->convert != IMPORT_NOTHING)
			continue;
		const char *backend = backend_for(row, true);
		import_good(config_of(row, backend, NULL), NULL);
		char *without = strdup(body());
		assert_non_null(without);
		if (row->key[0] != '\0') {
			import_good(config_of(row, backend, "sentinel-of-a-secret"), NULL);
			snprintf(from, sizeof(from), "%s.%s: ", sections[row->section], row->key);
			expect_note(from, row->note);
			assert_string_equal(without, body());
		}
		if (row->variable[0] != '\0') {
			import_good(config_of(row, backend, NULL),
			    variable_of(name_of(row), "sentinel-of-a-secret"));
			snprintf(from, sizeof(from), "%s: ", name_of(row));
			expect_note(from, row->note);
			assert_string_equal(without, body());
		}
		free(without);
	}
}

/* The note of a row that is converted is told as well. */
static void
test_every_row_with_a_note_tells_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < import_settings_len; i++) {
		const struct import_setting *row = &import_settings[i];
		if (!is_plain_row(row) || row->convert == IMPORT_NOTHING || row->note[0] == '\0')
			continue;
		import_good(config_of(row, backend_for(row, true), sample_of(row)->one), NULL);
		expect_note(sections[row->section], row->note);
	}
}

static void
test_every_row_refuses_what_it_cannot_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < import_settings_len; i++) {
		const struct import_setting *row = &import_settings[i];
		if (!is_plain_row(row) || row->convert == IMPORT_NOTHING)
			continue;
		const char *backend = row->convert == IMPORT_CWD ? "local" : backend_for(row, true);
		const char *wrong = sample_of(row)->wrong;
		if (row->key[0] != '\0') {
			assert_int_equal(import(config_of(row, backend, wrong), NULL), -1);
			assert_int_equal(err.code, HLU_41);
			assert_int_equal(err.where.line, row->section == IMPORT_terminal ? 3 : 4);
			assert_non_null(strstr(err.msg, row->key));
		}
		/* A flag that is a text is false to hermes-agent. */
		if (row->variable[0] != '\0' && wrong[0] != '[' && wrong[0] != '{') {
			assert_int_equal(import(config_of(row, backend, NULL),
					     variable_of(row->variable, wrong)),
			    -1);
			assert_int_equal(err.code, HLU_41);
			assert_non_null(strstr(err.msg, row->variable));
		}
	}
}

/* A default is what hermes-agent would do: saying it changes nothing. */
static void
test_every_default_is_what_it_would_be_when_given(void **state)
{
	(void)state;
	for (size_t i = 0; i < import_settings_len; i++) {
		const struct import_setting *row = &import_settings[i];
		if (!is_plain_row(row) || row->fallback[0] == '\0')
			continue;
		const char *backend = backend_for(row, true);
		import_good(config_of(row, backend, NULL), NULL);
		assert_non_null(strstr(made.text.data, policy_field_key(row->field)));
		char *without = strdup(body());
		assert_non_null(without);
		import_good(config_of(row, backend, NULL),
		    variable_of(row->variable, row->fallback));
		assert_string_equal(without, body());
		free(without);
	}
}

static void
test_every_row_is_told_where_it_has_no_effect(void **state)
{
	(void)state;
	for (size_t i = 0; i < import_settings_len; i++) {
		const struct import_setting *row = &import_settings[i];
		const char *backend = backend_for(row, false);
		if (backend == NULL)
			continue;
		const char *value = row->convert != IMPORT_NOTHING ? sample_of(row)->one : "x";
		if (row->key[0] != '\0')
			import_good(config_of(row, backend, value), NULL);
		else
			import_good(config_of(row, backend, NULL),
			    variable_of(name_of(row), value));
		expect_note(row->key[0] != '\0' ? sections[row->section] : name_of(row),
		    "has no effect on the backend");
	}
}

static void
test_every_key_goes_before_its_variable(void **state)
{
	(void)state;
	for (size_t i = 0; i < import_settings_len; i++) {
		const struct import_setting *row = &import_settings[i];
		if (!is_plain_row(row) || row->convert == IMPORT_NOTHING || row->key[0] == '\0' ||
		    row->variable[0] == '\0')
			continue;
		const char *backend = row->convert == IMPORT_CWD ? "local" : backend_for(row, true);
		const struct sample *sample = sample_of(row);
		import_good(config_of(row, backend, sample->one), NULL);
		char *alone = strdup(body());
		assert_non_null(alone);
		import_good(config_of(row, backend, sample->one),
		    variable_of(row->variable, sample->other));
		assert_string_equal(alone, body());
		expect_note(row->variable, "goes before it");
		free(alone);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_every_row_has_an_effect),
		cmocka_unit_test(test_every_row_without_counterpart_is_told),
		cmocka_unit_test(test_every_row_with_a_note_tells_it),
		cmocka_unit_test(test_every_row_refuses_what_it_cannot_read),
		cmocka_unit_test(test_every_default_is_what_it_would_be_when_given),
		cmocka_unit_test(test_every_row_is_told_where_it_has_no_effect),
		cmocka_unit_test(test_every_key_goes_before_its_variable),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
