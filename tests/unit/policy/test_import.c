/*
 * hermes-agent's settings as a policy. Most tests go over the rows of import.def: a row that is
 * added is tested by that. What a converter is given is chosen by the converter, not by the row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/import.h"

/* Two values that a converter takes and that make two policies, and one that it refuses. JSON,
 * which is YAML and what the environment has. wrong NULL: it takes whatever it is given. */
static const struct sample {
	int (*convert)(struct import *, const struct import_setting *, const struct import_value *);
	const char *one, *other, *wrong;
	const char *want; /* in the policy made from the first one */
} samples[] = {
	{ import_WALL, "90", "45", "soon", "default: 90s" },
	{ import_WALL_MAX, "7200", "3600", "0", "max: 2h" },
	{ import_MEGABYTES, "2048", "1024", "2g", "memory: 2GiB" },
	{ import_DOCKER_SIZE, "256m", "512M", "big", "shm: 256MiB" },
	{ import_CPUS, "1.50", "3", "many", "cpus: 1.5" },
	{ import_IMAGE, "one:1", "other:2", "no image", "default: \"one:1\"" },
	{ import_HOST_USER, "true", "false", "[]", "user: caller" },
	{ import_NETWORK, "false", "true", "{}", "mode: none" },
	{ import_PROXY, "true", "false", "[]", "mode: proxy" },
	{ import_HOME, "false", "true", "[]", "home: {kind: tmpfs, size: 1GiB}" },
	{ import_CWD, "/srv/one", "~/other", "relative/path", "path: /srv/one" },
	{ import_WORKSPACE, "true", "false", "[]", "at: /workspace" },
	{ import_NAMES, "[\"ONE\"]", "[\"OTHER\"]", "ONE", ", ONE]" },
	{ import_VARIABLES, "{\"ONE\":\"sentinel\"}", "{\"OTHER\":\"sentinel\"}", "[\"ONE\"]",
	    ", ONE]" },
	{ import_VOLUMES, "[\"/one:/in\"]", "[\"/other:/in:ro\"]", "/one:/in",
	    "{src: /one, dst: /in, access: rw}" },
	{ import_ENGINE_ARGS, "[\"--init\"]", "[\"--rm\"]", "--init", NULL },
};

static struct policy_import made;
static struct hl_err err;

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

static char *const *
variable_of(const char *name, const char *value)
{
	static char text[4096];
	static char *environment[2];

	snprintf(text, sizeof(text), "%s=%s", name, value);
	environment[0] = text;
	return environment;
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
	return row->convert != import_BACKEND;
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
		assert_true(row->convert != NULL || row->field == POLICY_FIELD_MAX);
		assert_true(row->convert != NULL || strlen(row->note) > 20);
		assert_true(row->fallback[0] == '\0' || row->convert != NULL);
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
		if (!is_plain_row(row) || row->convert == NULL)
			continue;
		const struct sample *sample = sample_of(row);
		const char *backend = row->convert == import_CWD ? "local" : backend_for(row, true);
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
			if (row->convert == import_ENGINE_ARGS)
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
		if (row->convert != NULL)
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
		if (!is_plain_row(row) || row->convert == NULL || row->note[0] == '\0')
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
		if (!is_plain_row(row) || row->convert == NULL)
			continue;
		const char *backend = row->convert == import_CWD ? "local" : backend_for(row, true);
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
		const char *value = row->convert != NULL ? sample_of(row)->one : "x";
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
		if (!is_plain_row(row) || row->convert == NULL || row->key[0] == '\0' ||
		    row->variable[0] == '\0')
			continue;
		const char *backend = row->convert == import_CWD ? "local" : backend_for(row, true);
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

/* ------------------------------------------------------------------------------------------------
 * Backends
 */

static void
test_every_backend(void **state)
{
	char text[128], want[64];

	(void)state;
	for (size_t i = 0; i < IMPORT_BACKEND_MAX; i++) {
		const struct import_backend *backend = &import_backends[i];
		for (int source = 0; source < 3; source++) {
			snprintf(text, sizeof(text), "terminal:\n  %s: %s\n",
			    source == 0 ? "backend" : "env_type", backend->word);
			if (source < 2)
				import_good(text, NULL);
			else
				import_good(NULL, variable_of("TERMINAL_ENV", backend->word));
			snprintf(want, sizeof(want), "\nlevel: %s\nbackends: [%s]\n",
			    backend->level, backend->ours);
			assert_non_null(strstr(made.text.data, want));
			assert_string_equal(made.backend, backend->ours);
			if (backend->note[0] != '\0')
				assert_true(has_note("", backend->note));
		}
	}
}

static void
test_unknown_backend_is_never_local(void **state)
{
	static const char *const words[] = { "apptainer", "Docker", "dokcer", "\"docker \"", "\"\"",
		"[docker]", "!!str docker" };
	char text[128];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(words); i++) {
		snprintf(text, sizeof(text), "terminal:\n  backend: %s\n", words[i]);
		assert_int_equal(import(text, NULL), -1);
		assert_true(err.code == HLU_42 || err.code == HLU_41);
		assert_int_equal(err.where.line, 2);
		assert_null(made.text.data != NULL && made.text.len > 0 ? made.text.data : NULL);
	}
	assert_int_equal(import(NULL, variable_of("TERMINAL_ENV", "kubernetes")), -1);
	assert_int_equal(err.code, HLU_42);
	assert_non_null(strstr(err.msg, "TERMINAL_ENV"));
}

static void
test_no_backend_is_told(void **state)
{
	static char *const nothing[] = { NULL };

	(void)state;
	import_good("model: x\n", NULL);
	expect_note("terminal.backend: not given", "no variables were read");
	assert_string_equal(made.backend, "local");
	import_good("terminal:\n  backend:\n  timeout: 3\n", nothing);
	expect_note("terminal.backend: not given:", "on this host (local)");
}

/* E13, E14, E17: the file goes before the environment, key by key. */
static void
test_file_and_environment(void **state)
{
	(void)state;
	import_good("terminal: {backend: docker}\n", variable_of("TERMINAL_ENV", "local"));
	assert_string_equal(made.backend, "docker");
	expect_note("TERMINAL_ENV", "not read");
	import_good("terminal: {backend: docker}\n",
	    variable_of("TERMINAL_DOCKER_IMAGE", "env/image:2"));
	assert_non_null(strstr(made.text.data, "default: \"env/image:2\""));
	import_good("model: {name: x}\n", variable_of("TERMINAL_ENV", "ssh"));
	assert_string_equal(made.backend, "ssh");
	import_good("terminal: {backend: ssh, env_type: docker}\n", NULL);
	assert_string_equal(made.backend, "ssh");
	expect_note("terminal.env_type", "not read");
}

/* ------------------------------------------------------------------------------------------------
 * The file
 */

static void
test_other_parts_of_the_file_are_let_be(void **state)
{
	(void)state;
	import_good("base: &base\n  x: 1\nagent:\n  <<: *base\n  prompt: |\n    many\n    lines\n"
		    "  tag: !!python/tuple [1]\n? [a, b]\n: c\n"
		    "\"\\u200bhidden\": yes\nterminal:\n  backend: docker\n",
	    NULL);
	assert_string_equal(made.backend, "docker");
}

static void
test_file_that_two_readers_read_differently(void **state)
{
	static const char *const texts[] = {
		"terminal: {backend: docker}\nterminal: {backend: local}\n",
		"terminal: {backend: docker, backend: local}\n",
		"x: &x {backend: docker}\nterminal: *x\n",
		"x: &x {backend: docker}\nterminal: {<<: *x}\n",
		"x: &x {terminal: {backend: docker}}\n<<: *x\n",
		"terminal: {backend: docker}\n---\nterminal: {backend: local}\n",
		"!!str terminal: {backend: docker}\n",
		"terminal: {!!str backend: docker}\n",
		"terminal: docker\n",
		"- terminal\n",
		"terminal: {backend: docker\n",
		"a: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n",
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(texts); i++) {
		if (import(texts[i], NULL) != -1 || err.code != HLU_40)
			fail_msg("taken: %s", texts[i]);
		assert_string_equal(err.where.file, "config.yaml");
		assert_true(err.where.line > 0);
	}
}

static void
test_unknown_settings_are_named(void **state)
{
	(void)state;
	import_good("terminal: {backend: docker, dokcer_image: sentinel}\n",
	    variable_of("TERMINAL_NEW_THING", "sentinel"));
	expect_note("terminal.dokcer_image: ", "not known");
	expect_note("TERMINAL_NEW_THING: ", "not known");
	import_good("terminal: {backend: docker}\n", variable_of("OPENAI_API_KEY", "sentinel"));
	assert_false(has_note("OPENAI_API_KEY", ""));
}

/* ------------------------------------------------------------------------------------------------
 * Single converters
 */

static void
test_flags_as_hermes_agent_reads_them(void **state)
{
	static const struct {
		const char *word;
		bool is_true;
	} words[] = {
		{ "yes", true },
		{ "TRUE", true },
		{ "1", true },
		{ "on", true },
		{ "On", true },
		{ "\"yes\"", true },
		{ "\"1\"", true },
		{ "no", false },
		{ "off", false },
		{ "0", false },
		{ "\"on\"", false },
		{ "enabled", false },
		{ "2", false },
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(words); i++) {
		snprintf(text, sizeof(text), "terminal: {backend: docker, docker_network: %s}\n",
		    words[i].word);
		import_good(text, NULL);
		assert_non_null(
		    strstr(made.text.data, words[i].is_true ? "mode: bridge" : "mode: none"));
	}
	expect_note("terminal.docker_network", "neither true nor false");
}

static void
test_the_strictest_network(void **state)
{
	(void)state;
	import_good("terminal: {backend: docker, docker_network: false}\nproxy: {enabled: true}\n",
	    NULL);
	assert_non_null(strstr(made.text.data, "mode: none"));
	import_good("terminal: {backend: docker, docker_network: true}\nproxy: {enabled: true}\n",
	    NULL);
	assert_non_null(strstr(made.text.data, "mode: proxy"));
	assert_false(has_note("terminal.docker_network", "every host"));
	import_good("terminal: {backend: docker}\nproxy: {enabled: false}\n", NULL);
	assert_non_null(strstr(made.text.data, "mode: bridge"));
}

static void
test_volumes(void **state)
{
	static const struct {
		const char *volume, *want, *note;
	} cases[] = {
		{ "/srv/a/../b:/in/:ro", "{src: /srv/b, dst: /in, access: ro}", NULL },
		{ "cache:/in", "{src: cache, dst: /in, access: rw, kind: volume}", NULL },
		{ "~/x:/in", "{src: \"${home}/x\", dst: /in, access: rw}", NULL },
		{ "/a:/in:ro,Z", "{src: /a, dst: /in, access: ro}", "option 'Z'" },
		{ "/a", NULL, "not of the form" },
		{ "/a:b", NULL, "not of the form" },
		{ ":/b", NULL, "not of the form" },
		{ "./a:/b", NULL, "neither an absolute path" },
		{ "/var/run/docker.sock:/s", NULL, "never given" },
		{ "/proc/1:/p", NULL, "never given" },
		{ "/:/host", NULL, "never given" },
		{ "/a:/proc", NULL, "nothing can be mounted there" },
		{ "/a:/", NULL, "nothing can be mounted there" },
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text),
		    "terminal: {backend: docker, docker_volumes: [\"%s\"]}\n", cases[i].volume);
		import_good(text, NULL);
		assert_true((cases[i].want == NULL) == (strstr(made.text.data, "mounts:") == NULL));
		if (cases[i].note != NULL)
			expect_note("terminal.docker_volumes: volume 1", cases[i].note);
		if (cases[i].want != NULL)
			assert_non_null(strstr(made.text.data, cases[i].want));
	}
	import_good("terminal: {backend: docker, docker_volumes: [\"/a:/in\", \"/b:/in\", 7]}\n",
	    NULL);
	expect_note("terminal.docker_volumes: volume 2", "same place");
	expect_note("terminal.docker_volumes: volume 3", "not of the form");
	/* A volume has the place of the working directory. */
	import_good("terminal: {backend: docker, docker_volumes: [\"/a:/workspace\"], "
		    "docker_mount_cwd_to_workspace: true}\n",
	    NULL);
	assert_null(strstr(made.text.data, "at: /workspace"));
	expect_note("terminal.docker_mount_cwd_to_workspace", "a volume has /workspace");
}

static void
test_variables_pass_by_name(void **state)
{
	(void)state;
	import_good(
	    "terminal:\n  backend: docker\n"
	    "  docker_env: {PLAIN: sentinel, AWS_SECRET_ACCESS_KEY: sentinel, 1X: sentinel}\n"
	    "  docker_forward_env: [CI, GITHUB_TOKEN, LD_PRELOAD, \"A=sentinel\"]\n"
	    "  env_passthrough: [CI, EXTRA]\n",
	    NULL);
	assert_non_null(strstr(made.text.data, "[LANG, \"LC_*\", TERM, TZ, PLAIN, CI, EXTRA]\n"));
	expect_note("terminal.docker_env: ", "AWS_SECRET_ACCESS_KEY carries a credential");
	expect_note("terminal.docker_env: ", "no name of a variable");
	expect_note("terminal.docker_forward_env: ", "GITHUB_TOKEN carries a credential");
	expect_note("terminal.docker_forward_env: ", "LD_PRELOAD runs code");
	expect_note("terminal.docker_forward_env: ", "no name of a variable");
}

static void
test_numbers_at_their_ends(void **state)
{
	(void)state;
	import_good("terminal: {backend: docker, container_cpu: 0, container_memory: 0, "
		    "docker_shm_size: \"0\"}\n",
	    NULL);
	assert_null(strstr(body(), "cpus:"));
	assert_null(strstr(body(), "memory:"));
	assert_null(strstr(body(), "shm:"));
	expect_note("terminal.container_memory: ", "no limit");
	/* hermes-agent would, and no policy can. */
	assert_int_equal(import("terminal: {backend: docker, container_memory: 4}\n", NULL), -1);
	assert_int_equal(err.code, HLU_41);
	assert_non_null(strstr(err.msg, "limits.memory"));
	assert_int_equal(import("terminal: {backend: docker, container_cpu: 99999}\n", NULL), -1);
	assert_int_equal(import("terminal: {timeout: -1}\n", NULL), -1);
	assert_int_equal(import("terminal: {timeout: 0}\n", NULL), -1);
	assert_int_equal(import("terminal: {backend: docker, docker_shm_size: 99999999999t}\n",
			     NULL),
	    -1);
	/* A default above the longest foreground call raises it. */
	import_good("terminal: {timeout: 3600}\n", NULL);
	assert_non_null(strstr(made.text.data, "wall: {max: 1h, default: 1h}"));
}

static void
test_working_directory(void **state)
{
	(void)state;
	import_good("terminal: {backend: local, cwd: \".\"}\n", NULL);
	assert_non_null(strstr(made.text.data, "workdir: {access: rw}"));
	import_good("terminal: {backend: local, cwd: ~/p}\n", NULL);
	assert_non_null(strstr(made.text.data, "path: \"${home}/p\""));
	import_good("terminal: {backend: local, cwd: \"~\"}\n", NULL);
	expect_note("terminal.cwd: ", "no home and no whole system");
	import_good("terminal: {backend: local, cwd: /}\n", NULL);
	expect_note("terminal.cwd: ", "no home and no whole system");
	import_good("terminal: {backend: docker, cwd: /root/x}\n", NULL);
	expect_note("terminal.cwd: ", "--cwd");
}

/* What is in a value does not get out of it: neither into the policy's structure nor into a
 * comment. */
static void
test_values_do_not_break_out(void **state)
{
	static const char *const values[] = {
		"\"x:1\\\"\\nmode: warn\"",
		"\"a\\0b\"",
		"\"x]\\nnetwork: {mode: host}\"",
		"|\n    x\n    mode: warn\n",
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(values); i++) {
		snprintf(text, sizeof(text), "terminal:\n  backend: docker\n  docker_image: %s\n",
		    values[i]);
		assert_int_equal(import(text, NULL), -1);
		assert_int_equal(err.code, HLU_41);
		snprintf(text, sizeof(text), "terminal:\n  backend: local\n  cwd: %s\n", values[i]);
		assert_int_equal(import(text, NULL), -1);
	}
	import_good("terminal: {backend: local, cwd: \"/a: {b} # \\\"c\\\\\"}\n", NULL);
	assert_non_null(strstr(made.text.data, "path: \"/a: {b} # \\\"c\\\\\""));
}

static int
teardown(void **state)
{
	(void)state;
	done();
	return 0;
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
		cmocka_unit_test(test_every_backend),
		cmocka_unit_test(test_unknown_backend_is_never_local),
		cmocka_unit_test(test_no_backend_is_told),
		cmocka_unit_test(test_file_and_environment),
		cmocka_unit_test(test_other_parts_of_the_file_are_let_be),
		cmocka_unit_test(test_file_that_two_readers_read_differently),
		cmocka_unit_test(test_unknown_settings_are_named),
		cmocka_unit_test(test_flags_as_hermes_agent_reads_them),
		cmocka_unit_test(test_the_strictest_network),
		cmocka_unit_test(test_volumes),
		cmocka_unit_test(test_variables_pass_by_name),
		cmocka_unit_test(test_numbers_at_their_ends),
		cmocka_unit_test(test_working_directory),
		cmocka_unit_test(test_values_do_not_break_out),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
