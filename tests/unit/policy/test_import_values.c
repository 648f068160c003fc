/*
 * hermes-agent's settings as a policy: backends, what a file may be, and what single converters do
 * at the ends of what they take.
 */
#include "import_case.h"

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

/* Each of these takes a reader that does not look many seconds. */
static void
test_files_that_cost_time(void **state)
{
	static const struct {
		const char *begin, *again, *end;
	} cases[] = {
		{ "", "%TAG !a! !b\n", "---\nterminal: {}\n" },
		{ "terminal: ", "[", "" },
		{ "terminal:\n", "  k: v\n", "" },
		{ "", "[a]: {b: [c, d]}\n", "" },
	};
	struct hl_buf text;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases); i++) {
		hl_buf_init(&text, 1 << 20);
		hl_buf_puts(&text, cases[i].begin);
		while (!text.failed && text.len < 900000)
			hl_buf_puts(&text, cases[i].again);
		hl_buf_puts(&text, cases[i].end);
		uint64_t begin = hl_now_mono_ms();
		assert_int_equal(import(text.data, NULL), -1);
		assert_int_equal(err.code, HLU_40);
		assert_in_range(hl_now_mono_ms() - begin, 0, 3000);
		hl_buf_done(&text);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_backend),
		cmocka_unit_test(test_unknown_backend_is_never_local),
		cmocka_unit_test(test_no_backend_is_told),
		cmocka_unit_test(test_file_and_environment),
		cmocka_unit_test(test_other_parts_of_the_file_are_let_be),
		cmocka_unit_test(test_file_that_two_readers_read_differently),
		cmocka_unit_test(test_files_that_cost_time),
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
