/*
 * One meaning for every reader: what each kind of value takes, and what it refuses.
 */
#include "stack.h"

#include "base/banned.h"

static void
expect_line(const char *line, const char *id)
{
	char text[512];

	snprintf(text, sizeof(text), OPEN "%s\n", line);
	expect_error(text, id);
}

static int
stack_load_line(const char *line)
{
	char text[512];

	snprintf(text, sizeof(text), OPEN "%s\n", line);
	return stack_load(text);
}

static void
expect_line_good(const char *line)
{
	char text[512];

	snprintf(text, sizeof(text), OPEN "%s\n", line);
	expect_good(text);
}

static void
truth_values(void **state)
{
	static const char *const bad[] = { "yes", "no", "on", "off", "True", "FALSE", "y", "1", "0",
		"\"true\"", "'false'" };
	char line[80];

	(void)state;
	expect_line_good("process: {no_new_privs: true}");
	assert_int_equal(value_of(POLICY_PROCESS_NO_NEW_PRIVS)->number, 1);
	expect_line_good("process: {no_new_privs: false}");
	assert_int_equal(value_of(POLICY_PROCESS_NO_NEW_PRIVS)->number, 0);
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		snprintf(line, sizeof(line), "process: {no_new_privs: %s}", bad[i]);
		expect_line(line, "HLP-11");
	}
}

static void
whole_numbers(void **state)
{
	static const char *const bad[] = { "010", "1_000", "0x1F", "0o17", "1e3", "+4", "-4", "4.0",
		"\"4\"", "'4'", "12:30", "18446744073709551615", "~x" };
	char line[80];

	(void)state;
	expect_line_good("limits: {pids: 4}");
	assert_int_equal(value_of(POLICY_LIMITS_PIDS)->number, 4);
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		snprintf(line, sizeof(line), "limits: {pids: %s}", bad[i]);
		expect_line(line, strlen(bad[i]) == 20 ? "HLP-12" : "HLP-11");
	}
	expect_line_good("limits: {pids: 4} # \u00e9");
	expect_line("limits: {pids: 0}", "HLP-12");
	expect_line("limits: {pids: 4194305}", "HLP-12");
	expect_line("limits: {pids: unlimited}", "HLP-11");
}

static void
sizes_and_times(void **state)
{
	(void)state;
	expect_line_good("limits: {memory: 512MiB, wall: 90s}");
	assert_int_equal(value_of(POLICY_LIMITS_MEMORY)->number, 512ULL << 20);
	assert_int_equal(value_of(POLICY_LIMITS_WALL)->number, 90000);
	expect_line_good("limits: {memory: \"1GiB\", wall: '2h'}");
	expect_line_good("limits: {memory: unlimited, wall: unlimited}");
	assert_true(value_of(POLICY_LIMITS_MEMORY)->number == POLICY_UNLIMITED);
	expect_line("limits: {memory: 4096}", "HLP-11");
	assert_non_null(strstr(stack_text(), "\"4096MiB\" (or \"4GiB\")"));
	expect_line("limits: {memory: 1.5GiB}", "HLP-11");
	expect_line("limits: {memory: 512MB}", "HLP-11");
	expect_line("limits: {memory: 512 MiB}", "HLP-11");
	expect_line("limits: {memory: 99999999999TiB}", "HLP-11");
	expect_line("limits: {memory: 1MiB}", "HLP-12");
	expect_line("limits: {shm: unlimited}", "HLP-11");
	expect_line("limits: {wall: 90}", "HLP-11");
	expect_line("limits: {wall: 1ms}", "HLP-12");
	expect_line("limits: {wall: 31d}", "HLP-12");
}

static void
decimals(void **state)
{
	(void)state;
	expect_line_good("limits: {cpus: 0.5}");
	assert_int_equal(value_of(POLICY_LIMITS_CPUS)->number, 500);
	expect_line_good("limits: {cpus: 4}");
	expect_line("limits: {cpus: \"4\"}", "HLP-11");
	expect_line("limits: {cpus: 0.0001}", "HLP-11");
	expect_line("limits: {cpus: .5}", "HLP-11");
	expect_line("limits: {cpus: 1e1}", "HLP-11");
	expect_line("limits: {cpus: 0.001}", "HLP-12");
}

static void
words_are_compared_by_byte(void **state)
{
	(void)state;
	expect_line_good("network: {mode: host}");
	expect_line_good("network: {mode: \"host\"}");
	expect_line("network: {mode: Host}", "HLP-13");
	expect_line("network: {mode: hosts}", "HLP-13");
	assert_non_null(strstr(stack_text(), "did you mean \"host\"?"));
	expect_line("network: {mode: \"\"}", "HLP-13");
	expect_line("network: {mode: \"host\\0\"}", "HLY-09");
}

static void
texts_that_others_read_as_something_else(void **state)
{
	static const char *const bad[] = { "no", "NO", "No", "yes", "on", "Off", "y", "N", "~",
		"null", "Null", "true", "FALSE", "12", "-1", "010", "0x1F", "1_000", "1e3", "3.14",
		".5", "1.", ".inf", "-.inf", ".NaN", "12:30:45", "1:30", "2027-03-31",
		"2027-3-1T10:00:00Z", "10.0.0.1", "=", "1,000", "0b1", "+12e-3" };
	static const char *const good[] = { "nope", "a.b", "10.0.0.1x", "12:99", "1000:1000", "v1",
		"20270331x", "sec@acme", "a=b", "12ab" };
	char line[80];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		snprintf(line, sizeof(line), "owner: %s", bad[i]);
		if (stack_load_line(line) == 0)
			fail_msg("%s was taken", line);
		expect_code("HLY-13");
		snprintf(line, sizeof(line), "owner: \"%s\"", bad[i]);
		expect_line_good(line);
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(good); i++) {
		snprintf(line, sizeof(line), "owner: %s", good[i]);
		expect_line_good(line);
	}
}

static void
empty_values(void **state)
{
	(void)state;
	expect_line("limits: {pids: }", "HLP-10");
	expect_line("limits:\n  pids:\n  memory: 1GiB", "HLP-10");
	expect_line("mode:", "HLP-10");
	expect_line("backends:", "HLP-10");
	expect_line("fs:\n  mounts:\n    - {src: /a, dst: }", "HLP-10");
	expect_line("fs:\n  mounts:\n    -", "HLP-10");
	expect_line("limits: {pids: {}}", "HLP-10");
	expect_line("env: {set: {A: }}", "HLP-10");
	expect_line_good("env: {set: {A: \"\"}}");
	expect_line_good("env: {pass: []}");
}

static void
container_kinds(void **state)
{
	(void)state;
	expect_line("limits: []", "HLP-05");
	expect_line("limits: 4", "HLP-05");
	expect_line("limits: {pids: [4]}", "HLP-05");
	expect_line("mode: {max: [warn]}", "HLP-05");
	expect_line("env: {set: [A]}", "HLP-05");
	expect_line("env: {set: {A: [b]}}", "HLP-05");
	expect_line("fs: {mounts: {src: /a}}", "HLP-04");
	expect_line("fs: {mounts: [/a]}", "HLP-05");
	expect_line("fs: {deny: {default: [/a]}}", "HLP-05");
	expect_line("version: [1]\n", "HLY-06");
	expect_line("docker: {endpoint: [/run/docker.sock]}", "HLP-05");
}

static void
paths(void **state)
{
	(void)state;
	expect_line_good("fs: {deny: [/root, \"~/.ssh\", \"${home}/.aws\", \"${workdir}/**/x\"]}");
	expect_line("fs: {deny: [root]}", "HLP-14");
	expect_line("fs: {deny: [/a/../b]}", "HLP-14");
	expect_line("fs: {deny: [/a/]}", "HLP-14");
	expect_line("fs: {deny: [\"~root/x\"]}", "HLP-14");
	expect_line("fs: {deny: [\"${HOME}/x\"]}", "HLP-14");
	expect_line("fs: {deny: [\"${home/x\"]}", "HLP-14");
	expect_line_good("fs: {mounts: [{src: \"/t/a:b,c \\\"d\", dst: /x}]}");
	expect_line("fs: {mounts: [{src: \"/t/a\\nb\", dst: /x}]}", "HLY-09");
	expect_line("fs: {mounts: [{src: /a, dst: /}]}", "HLP-14");
	expect_line("fs: {mounts: [{src: /a, dst: /dev/x}]}", "HLP-14");
	expect_line("fs: {workdir: {at: /sys/x}}", "HLP-14");
	expect_line_good("fs: {workdir: {path: ., at: /w, access: ro, as: bind}}");
	expect_line("fs: {workdir: {path: sub}}", "HLP-14");
	expect_line("docker: {endpoint: docker.sock}", "HLP-14");
}

/* U40: a working directory inside the kernel's own file systems */
static void
u40_workdir_under_proc_is_refused(void **state)
{
	(void)state;
	expect_line("fs: {workdir: {at: /proc/self/fd/7}}", "HLP-14");
	expect_line("fs: {workdir: {at: /workspace/../proc/self/cwd}}", "HLP-14");
	expect_line_good("fs: {workdir: {at: /workspace}}");
}

static void
members_of_structures(void **state)
{
	(void)state;
	expect_line_good(
	    "fs: {tmpfs: [{dst: /work}, {dst: /x, size: 1MiB, exec: true, mode: \"700\"}]}");
	/* U29: the mode is never left to the engine */
	assert_int_equal(value_of(POLICY_FS_TMPFS)->items[0].tmpfs.mode, 01777);
	assert_false(value_of(POLICY_FS_TMPFS)->items[0].tmpfs.exec);
	assert_int_equal(value_of(POLICY_FS_TMPFS)->items[1].tmpfs.mode, 0700);
	expect_line("fs: {tmpfs: [{dst: /w, mode: 1777}]}", "HLY-13");
	expect_line("fs: {tmpfs: [{dst: /w, mode: \"1778\"}]}", "HLP-11");
	expect_line("fs: {tmpfs: [{size: 1MiB}]}", "HLP-03");
	expect_line("fs: {tmpfs: [{dst: /w, sice: 1MiB}]}", "HLP-04");
	expect_line("fs: {mounts: [{src: /a}]}", "HLP-03");
	expect_line("fs: {mounts: [{src: /a, dst: /b, access: wr}]}", "HLP-13");
	expect_line("fs: {mounts: [{src: /a, dst: /b, exec: no}]}", "HLP-11");
	expect_line_good("fs: {mounts: [{src: cache-1, dst: /b, kind: volume}]}");
	assert_true(value_of(POLICY_FS_MOUNTS)->items[0].mount.is_volume);
	expect_line("fs: {mounts: [{src: /a, dst: /b, kind: volume}]}", "HLP-07");
	expect_line_good("fs: {home: persist}");
	expect_line_good("fs: {home: {kind: bind, src: /srv/h}}");
	expect_line("fs: {home: bind}", "HLP-03");
	expect_line("fs: {home: {kind: bind}}", "HLP-03");
	expect_line("fs: {home: {kind: tmpfs, src: /h}}", "HLP-15");
	expect_line("fs: {home: {kind: persist, size: 1GiB}}", "HLP-15");
	expect_line("fs: {home: ramfs}", "HLP-13");
}

static void
names_have_one_spelling(void **state)
{
	(void)state;
	expect_line_good("process: {caps: [cap_chown, Fowner, SETUID]}");
	assert_string_equal(spelled(POLICY_PROCESS_CAPS), "[CHOWN, FOWNER, SETUID]");
	expect_line("process: {caps: [ALL]}", "HLP-13");
	expect_line("process: {caps: [CAP_CAP_CHOWN]}", "HLP-13");
	expect_line_good("backends: [apptainer]");
	assert_string_equal(spelled(POLICY_BACKENDS), "[singularity]");
	expect_line("backends: [dokcer]", "HLP-13");
	expect_line_good("process: {user: \"1000\"}");
	expect_line_good("process: {user: 1000:1000}");
	expect_line("process: {user: root}", "HLP-07");
	expect_line("process: {user: \"4294967295\"}", "HLP-07");
	expect_line("process: {user: \"-1:5\"}", "HLP-07");
	expect_line("process: {user: \"01:5\"}", "HLP-07");
	expect_line_good("image: [\"a.b/c:1\", \"a@*\"]");
	expect_line("image: [\"-v\"]", "HLP-07");
	expect_line("image: [\"a b\"]", "HLP-07");
	expect_line("image: [\"\"]", "HLP-07");
}

/* U43: settings of a backend that is not used are typed; what cannot work there only warns */
static void
u43_unused_backends_do_not_break_others(void **state)
{
	(void)state;
	expect_line("backends: [local]\ndocker: {endpoint: 5}", "HLY-13");
	expect_line_good("backends: [local]\nimage: {default: \"python:3.12\", digest: true}");
	expect_code("HLP-23");
	assert_int_equal(t.findings.warnings, 1);
	expect_line_good("backends: [local]\nimage: {default: \"python:3.12\", digest: false}");
	assert_int_equal(t.findings.warnings, 0);
}

/* U41: every key has its own spelling, and a near miss is an error that names it */
static void
u41_each_key_misspelled_is_an_error(void **state)
{
	char text[256];

	(void)state;
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const char *key = policy_field_key((enum policy_field)i);
		size_t used = (size_t)snprintf(text, sizeof(text), OPEN);
		size_t depth = 0;
		while (strchr(key, '.') != NULL) {
			size_t len = strcspn(key, ".");
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%*s%.*s:\n",
			    (int)(depth & 7) * 2, "", (int)len, key);
			key += len + 1;
			depth++;
		}
		snprintf(text + used, sizeof(text) - used, "%*s%sx: 1\n", (int)(depth & 7) * 2, "",
		    key);
		expect_error(text, "HLP-04");
		char wanted[128];
		snprintf(wanted, sizeof(wanted), "did you mean \"%s\"?", key);
		if (strstr(stack_text(), wanted) == NULL)
			fail_msg("%sx: no '%s' in\n%s", key, wanted, stack_text());
	}
}

/* What somebody wrote behind a name that passes is neither in the message nor in the line it shows.
 */
static void
a_value_in_env_pass_is_not_repeated(void **state)
{
	(void)state;
	expect_error("version: 1\nid: t/x\nlevel: baseline@1\nenv: {pass: [FOO=s3cr3t-value]}\n",
	    "HLP-07");
	assert_non_null(strstr(stack_text(), "\"FOO\""));
	assert_null(strstr(stack_text(), "s3cr3t"));
	expect_error(
	    "version: 1\nid: t/x\nlevel: baseline@1\nenv:\n  pass:\n    - FOO=s3cr3t-value\n",
	    "HLP-07");
	assert_null(strstr(stack_text(), "s3cr3t"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_in_env_pass_is_not_repeated),
		cmocka_unit_test(truth_values),
		cmocka_unit_test(whole_numbers),
		cmocka_unit_test(sizes_and_times),
		cmocka_unit_test(decimals),
		cmocka_unit_test(words_are_compared_by_byte),
		cmocka_unit_test(texts_that_others_read_as_something_else),
		cmocka_unit_test(empty_values),
		cmocka_unit_test(container_kinds),
		cmocka_unit_test(paths),
		cmocka_unit_test(u40_workdir_under_proc_is_refused),
		cmocka_unit_test(members_of_structures),
		cmocka_unit_test(names_have_one_spelling),
		cmocka_unit_test(u43_unused_backends_do_not_break_others),
		cmocka_unit_test(u41_each_key_misspelled_is_an_error),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
