/*
 * What contradicts itself in one file is an error that shows both places; the same from two layers
 * is nobody's mistake, and what the tighter one makes meaningless is not effective.
 */
#include "stack.h"

#include "base/banned.h"

#define SSH                                                       \
 "backends: [ssh]\nssh:\n  hosts: [{host: ci.example, host_key: " \
 "\"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]\n"
#define FILES                       \
 "files: [{file: /p.json, sha256: " \
 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef}]\n"

/* In each text the two lines that are marked; a sibling is good without one of them. */
struct contradiction {
	const char *code;
	const char *text;
	const char *siblings[3];
};

static const struct contradiction contradictions[] = {
	{ "HLP-29", "network:\n  mode: none\n  publish: [\"8080\"]\n",
	    { "network:\n  mode: none\n  publish: []\n",
		"network:\n  mode: none\n  publish: {allowed: [\"8080\"], default: []}\n",
		"network:\n  mode: {max: bridge, default: none}\n  publish: [\"8080\"]\n" } },
	{ "HLP-29", "network:\n  mode: none\n  dns: system\n",
	    { "network:\n  mode: none\n  dns: proxy\n", "network:\n  mode: bridge\n  dns: system\n",
		"network:\n  mode: none\n  dns: {max: system, default: none}\n" } },
	{ "HLP-15", "limits:\n  wall: 2h\nbackends: [modal, vercel]\ncloud:\n  lifetime: 1h\n",
	    { "limits:\n  wall: 1h\nbackends: [modal, vercel]\ncloud:\n  lifetime: 1h\n",
		"limits:\n  wall: 2h\nbackends: [modal, local]\ncloud:\n  lifetime: 1h\n",
		"limits:\n  wall: unlimited\nbackends: [modal]\ncloud:\n  lifetime: 1h\n" } },
	{ "HLP-15", "process:\n  caps: [CHOWN]\n  seccomp: {profile: strict}\n",
	    { "process:\n  caps: []\n  seccomp: {profile: strict}\n",
		"process:\n  caps: [CHOWN]\n  seccomp: {profile: default}\n" } },
	{ "HLP-15", "process:\n  seccomp:\n    profile: none\n    " FILES,
	    { "process:\n  seccomp:\n    profile: none\n    files: []\n",
		"process:\n  seccomp:\n    profile: broad\n    " FILES,
		"process:\n  seccomp:\n    profile: {max: none, default: broad}\n    " FILES } },
	{ "HLP-15", "fs:\n  root: read_only\n  workdir: {at: /}\n",
	    { "fs:\n  root: writable\n  workdir: {at: /}\n",
		"fs:\n  root: read_only\n  workdir: {at: /w}\n" } },
	{ "HLP-15", "fs:\n  mounts:\n    - {src: /a, dst: /d}\n    - {src: /b, dst: /d}\n",
	    { "fs:\n  mounts:\n    - {src: /a, dst: /d}\n    - {src: /b, dst: /d/e}\n" } },
	{ "HLP-15", SSH "  runner: optional\nfs: {landlock: required}\n",
	    { SSH "  runner: required\nfs: {landlock: required}\n",
		SSH "  runner: optional\nfs: {landlock: none}\n" } },
	{ "HLP-15", "env:\n  set: {CI_A: a}\n  deny: [\"CI_*\"]\n",
	    { "env:\n  set: {CI_A: a}\n  deny: [\"CJ_*\"]\n", "env:\n  deny: [\"CI_*\"]\n" } },
	{ "HLP-15",
	    "network:\n  allow: [{host: a.example}]\nsecrets:\n  T: {from: {env: T}, hosts: [b.example]}\n",
	    { "network:\n  allow: [{host: b.example}]\nsecrets:\n  T: {from: {env: T}, hosts: [b.example]}\n" } },
	{ "HLP-15", "process:\n  user: \"0:0\"\n  allow_root: false\n",
	    { "process:\n  user: \"0:0\"\n  allow_root: true\n",
		"process:\n  user: \"1:1\"\n  allow_root: false\n" } },
};

static void
contradictions_show_both_places(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(contradictions); i++) {
		const struct contradiction *row = &contradictions[i];
		char text[600];
		snprintf(text, sizeof(text), OPEN "%s", row->text);
		expect_error(text, row->code);
		const struct policy_finding *finding = stack_find(row->code);
		if (t.findings.errors != 1 || finding->other.file == NULL ||
		    finding->where.line == 0 || finding->other.line == 0 ||
		    finding->where.line == finding->other.line)
			fail_msg("not one error with both places:\n%s", stack_text());
		for (size_t j = 0; j < HL_ARRAY_SIZE(row->siblings) && row->siblings[j] != NULL;
		     j++) {
			snprintf(text, sizeof(text), OPEN "%s", row->siblings[j]);
			expect_good(text);
		}
	}
}

/* What the file itself cannot know is no contradiction: a default outside what is allowed, a name
 * that no sandbox gets. */
static void
one_key_contradicts_itself(void **state)
{
	(void)state;
	expect_error(OPEN "backends: {allowed: [local], default: docker}\n", "HLP-17");
	expect_good(OPEN "backends: {allowed: [local, docker], default: docker}\n");
	expect_error(OPEN "env: {set: {LD_PRELOAD: x}}\n", "HLP-16");
	expect_good(OPEN "env: {set: {PRELOAD: x}}\n");
}

/* HLP-31, a warning: where both are what the file comes to. */
static void
what_is_kept_is_recorded(void **state)
{
	static const char *const quiet[] = {
		"session: {persist: task}\n",
		"session: {persist: task}\naudit: {required: true}\n",
		"session: {persist: session}\naudit: {required: false}\n",
		"session: {persist: {max: task}}\naudit: {required: false}\n",
		"session: {persist: task}\naudit: {required: {max: false}}\n",
	};

	(void)state;
	expect_good(OPEN "session: {persist: task}\naudit: {required: false}\n");
	assert_int_equal(t.findings.warnings, 1);
	expect_code("HLP-31");
	for (size_t i = 0; i < HL_ARRAY_SIZE(quiet); i++) {
		char text[256];
		snprintf(text, sizeof(text), OPEN "%s", quiet[i]);
		expect_good(text);
		assert_int_equal(t.findings.warnings, 0);
	}
}

/* Neither names what env.set sets it to. */
static void
no_value_is_told(void **state)
{
	(void)state;
	expect_error(OPEN "env: {set: {CI_A: do-not-show}, deny: [\"CI_*\"]}\n", "HLP-15");
	assert_null(strstr(stack_text(), "do-not-show"));
	assert_non_null(strstr(stack_text(), "env.set names CI_A"));
}

static void
expect_two(const char *base, const char *team)
{
	if (stack_load_two(base, team) != 0)
		fail_msg("refused: %s\n%s", t.err.msg, stack_text());
	assert_int_equal(t.findings.errors, 0);
}

/* The effective policy as one file, which must be a good one. */
static void
expect_prints_well(void)
{
	struct hl_buf text;
	struct hl_err err = { 0 };

	hl_buf_init(&text, 1 << 20);
	assert_int_equal(policy_show(t.policy, 0, &text, &err), 0);
	if (stack_load_bytes(text.data, text.len) != 0)
		fail_msg("what is printed is wrong: %s\n%s", stack_text(), text.data);
	hl_buf_done(&text);
}

static void
across_layers_they_are_dormant(void **state)
{
	(void)state;
	expect_two(BASE "network: {publish: [\"8080\"], dns: system}\n",
	    HEAD "network: {mode: none}\n");
	assert_string_equal(spelled(POLICY_NETWORK_PUBLISH), "[]");
	assert_string_equal(spelled(POLICY_NETWORK_DNS), "proxy");
	assert_string_equal(value_of(POLICY_NETWORK_PUBLISH)->origin.where.file, "team.yaml");
	expect_prints_well();
	expect_two(BASE "network: {publish: [\"8080\"], dns: system}\n",
	    HEAD "network: {mode: bridge}\n");
	assert_string_equal(spelled(POLICY_NETWORK_PUBLISH), "[\"8080\"]");
	assert_string_equal(spelled(POLICY_NETWORK_DNS), "system");

	expect_two(BASE "process: {caps: [CHOWN]}\n",
	    HEAD "process: {seccomp: {profile: strict}}\n");
	assert_string_equal(spelled(POLICY_PROCESS_CAPS), "[]");
	expect_prints_well();

	expect_two(BASE "env: {deny: [\"CI_*\"]}\n", HEAD "env: {set: {CI_A: a, OTHER: b}}\n");
	assert_int_equal(value_of(POLICY_ENV_SET)->items_len, 1);
	assert_string_equal(value_of(POLICY_ENV_SET)->items[0].name, "OTHER");
	expect_prints_well();
}

static void
a_life_shortens_what_is_longer(void **state)
{
	static const char *const org = BASE "cloud: {lifetime: 1h}\n";

	(void)state;
	expect_two(org, HEAD "backends: [modal]\nlimits: {wall: 2h}\n");
	assert_string_equal(spelled(POLICY_LIMITS_WALL), "1h");
	expect_prints_well();
	expect_two(org, HEAD "backends: [local, modal]\nlimits: {wall: 2h}\n");
	assert_string_equal(spelled(POLICY_LIMITS_WALL), "2h");
	expect_prints_well();
	expect_two(BASE "fs: {landlock: required}\n", HEAD SSH "  runner: optional\n");
	assert_string_equal(spelled(POLICY_SSH_RUNNER), "required");
	expect_prints_well();
}

static int
knows_ptrace(const char *name, struct hl_err *err)
{
	if (strcmp(name, "ptrace") == 0)
		return 0;
	hl_err_set(err, HLU_01, "'%s' is not a system call", name);
	return hl_err_help(err, "did you mean 'ptrace'?");
}

/* The room itself knows no system call; who loads a policy for a sandbox does. */
static void
names_of_calls_are_asked_for(void **state)
{
	static const char *const file = "p.yaml";
	static const char *const text = OPEN "process: {seccomp: {deny: [ptrace, ptrce]}}\n";
	struct policy_load_request request = {
		.files = &file,
		.files_len = 1,
		.cwd = t.dir,
		.caller = getuid(),
	};

	(void)state;
	expect_good(text);
	request.check_call = knows_ptrace;
	assert_int_equal(stack_load_request(&request), -1);
	expect_code("HLP-13");
	const struct policy_finding *finding = stack_find("HLP-13");
	assert_int_equal(finding->where.line, 4);
	assert_int_equal(finding->where.column, 36);
	assert_non_null(strstr(stack_text(), "^~~~~"));
	assert_non_null(strstr(stack_text(), "did you mean 'ptrace'?"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contradictions_show_both_places),
		cmocka_unit_test(one_key_contradicts_itself),
		cmocka_unit_test(what_is_kept_is_recorded),
		cmocka_unit_test(no_value_is_told),
		cmocka_unit_test(across_layers_they_are_dormant),
		cmocka_unit_test(a_life_shortens_what_is_longer),
		cmocka_unit_test(names_of_calls_are_asked_for),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
