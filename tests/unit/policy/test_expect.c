/*
 * Files of tests and examples: what may be written, and whether a policy has the values that are
 * expected. For each field what policy show prints is an expectation that holds.
 */
#include "policy/state.h"
#include "stack.h"

#include "base/banned.h"

static struct policy_tests *tests;

static int
load_tests(const char *text)
{
	static const char *const file = "p.test.yaml";
	struct policy_load_request request = {
		.files = &file,
		.files_len = 1,
		.cwd = t.dir,
		.caller = getuid(),
	};

	stack_reset();
	policy_tests_free(tests);
	tests = NULL;
	hl_buf_init(&t.text, 1 << 20);
	stack_write(file, text, strlen(text));
	t.result = policy_tests_load(&request, &tests, &t.findings, &t.err);
	for (size_t i = 0; i < t.findings.len; i++)
		policy_finding_format(&t.findings.items[i], &t.text);
	return t.result;
}

static void
expect_wrong(const char *text, const char *id)
{
	if (load_tests(text) == 0)
		fail_msg("taken: %s", text);
	expect_code(id);
}

static bool
holds(const char *kind, const char *key, const char *value, char *have_text)
{
	char text[8192];
	struct hl_buf want, have;
	bool is_held = false;

	snprintf(text, sizeof(text), "version: 1\ntests:\n  - name: x\n    %s: {%s: %s}\n", kind,
	    key, value);
	struct policy *policy = t.policy;
	t.policy = NULL;
	if (load_tests(text) != 0)
		fail_msg("%s\n%s", text, stack_text());
	t.policy = policy;
	hl_buf_init(&want, 1 << 16);
	hl_buf_init(&have, 1 << 16);
	assert_int_equal(policy_expectation_holds(t.policy,
			     &policy_tests_at(tests, 0)->expectations.v[0], &is_held, &want, &have),
	    0);
	if (have_text != NULL)
		snprintf(have_text, 4096, "%s", have.data);
	hl_buf_done(&want);
	hl_buf_done(&have);
	return is_held;
}

static void
what_is_shown_holds(void **state)
{
	static const char *const policies[] = {
		OPEN,
		HEAD
		"level: hermes@1\nbackends: [docker, local]\nimage: {allowed: [\"a:1\", \"b:*\"], "
		"default: \"a:1\"}\nenv: {set: {A: \"b\", C: \"d e\"}, pass: [Z, A]}\n"
		"fs: {mounts: [{src: /a, dst: /b, access: ro}, {src: v, dst: /c, access: rw, "
		"kind: volume}], workdir: {access: ro, at: /w}, deny: [/x, \"~/y\"]}\n",
	};
	char have[4096];

	(void)state;
	for (size_t p = 0; p < HL_ARRAY_SIZE(policies); p++) {
		expect_good(policies[p]);
		for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
			enum policy_field field = (enum policy_field)i;
			char text[4096];
			snprintf(text, sizeof(text), "%s", spelled(field));
			/* What nobody has said has no spelling. */
			if (strcmp(text, "\"\"") == 0)
				continue;
			if (!holds("effective", policy_field_key(field), text, have))
				fail_msg("%s is %s, and does not hold: %s", policy_field_key(field),
				    text, have);
		}
	}
}

static void
other_values_do_not_hold(void **state)
{
	static const struct {
		const char *key, *value;
	} wrong[] = {
		{ "mode", "warn" },
		{ "backends", "[local, docker]" }, /* the first is the one that is used */
		{ "backends", "[docker]" },
		{ "limits.memory", "1GiB" },
		{ "limits.memory", "unlimited" },
		{ "process.allow_root", "true" },
		{ "env.pass", "[A]" },
		{ "env.pass", "[A, B, Z]" },
		{ "env.set", "{A: \"c\"}" },
		{ "fs.workdir", "{access: rw}" },
		{ "process.user", "image" },
		{ "network.allow", "[{host: a.example, ports: [80]}]" },
		{ "audit.retention", "30" },
	};
	static const struct {
		const char *key, *value;
	} private[] = {
		{ "audit.redact", "[\"other\"]" },
		{ "audit.anchor", "[\"https://other.example\"]" },
		{ "engine_args", "[\"--log-opt=token=other\"]" },
		{ "exec.allowed", "[\"/bin/other\"]" },
		{ "env.deny", "[OTHER]" },
		{ "secrets", "{T: {from: {env: B}, hosts: [a.example]}}" },
		{ "egress.proxy.url", "\"http://other.example\"" },
		{ "egress.proxy.ca", "\"/other\"" },
	};
	char have[4096];

	(void)state;
	expect_good(OPEN "backends: [docker, local]\nlimits: {memory: {max: 4GiB, default: 2GiB}}\n"
			 "process: {allow_root: false}\nenv: {pass: [Z, A], set: {A: \"b\"}}\n"
			 "fs: {workdir: {access: ro}}\nnetwork: {allow: [{host: a.example}]}\n"
			 "audit: {retention: 90}\n"
			 "secrets: {T: {from: {env: A}, hosts: [a.example]}}\n");
	for (size_t i = 0; i < HL_ARRAY_SIZE(wrong); i++) {
		if (holds("effective", wrong[i].key, wrong[i].value, have))
			fail_msg("%s: %s holds", wrong[i].key, wrong[i].value);
	}
	/* Nothing that may be a secret is told. */
	for (size_t i = 0; i < HL_ARRAY_SIZE(private); i++) {
		assert_false(holds("effective", private[i].key, private[i].value, have));
		assert_string_equal(have, "something else");
	}
	assert_false(holds("effective", "env.set", "{A: \"c\"}", have));
	assert_string_equal(have, "something else");
	assert_true(holds("effective", "env.pass", "[A, Z]", NULL));
	assert_true(holds("effective", "network.allow", "[{ports: [443], host: a.example}]", NULL));
	assert_true(
	    holds("effective", "secrets", "{T: {hosts: [a.example], from: {env: A}}}", NULL));
	assert_true(holds("bound", "secrets", "{T: {hosts: [a.example], from: {env: A}}}", NULL));
	assert_true(holds("bound", "audit.retention", "90", NULL));
	assert_true(holds("effective", "limits.memory", "2GiB", NULL));
}

static void
bounds(void **state)
{
	char have[4096];

	(void)state;
	expect_good(OPEN
	    "limits: {memory: {max: 4GiB, default: 2GiB}, files: {default: 77}}\n"
	    "env: {pass: {allowed: [A, B], default: [A]}}\nnetwork: {mode: {max: bridge, default: none}}\n"
	    "image: {allowed: [\"z:1\", \"a:1\"], default: \"z:1\"}\nfs: {mounts: {allowed: [{src: /a, dst: /b}], default: []}}\n");
	assert_true(holds("bound", "limits.memory", "4GiB", NULL));
	assert_false(holds("bound", "limits.memory", "2GiB", NULL));
	assert_true(holds("bound", "limits.files", "unlimited", NULL));
	assert_true(holds("bound", "env.pass", "[B, A]", NULL));
	assert_false(holds("bound", "env.pass", "[A]", NULL));
	assert_true(holds("bound", "network.mode", "bridge", NULL));
	assert_true(holds("bound", "image", "[\"z:1\", \"a:1\"]", NULL));
	assert_true(holds("bound", "fs.mounts", "[{src: /a, dst: /b}]", NULL));
	assert_false(holds("bound", "fs.root", "writable", have));
	assert_string_equal(have, "(unbounded)");
	assert_false(holds("bound", "process.caps", "[]", have));
	assert_string_equal(have, "(unbounded)");
}

static void
a_file_of_tests(void **state)
{
	size_t n;

	(void)state;
	assert_int_equal(
	    load_tests("version: 1\npolicy: [../base.yaml, team.yaml]\ntests:\n"
		       "  - name: one\n    allow: [{network: none}, {limit: pids=5}]\n"
		       "    refuse: [{engine-arg: --privileged, backend: docker, code: HLC-12}]\n"
		       "  - {name: 7, hidden: [/etc/shadow, ~/.ssh], pass: [LANG]}\n"),
	    0);
	assert_int_equal(policy_tests_len(tests), 2);
	assert_string_equal(policy_tests_files(tests, &n)[0], "../base.yaml");
	assert_int_equal(n, 2);
	const struct policy_test *one = policy_tests_at(tests, 0);
	assert_string_equal(one->name, "one");
	assert_int_equal(one->expectations.len, 3);
	assert_int_equal(one->expectations.v[1].field, POLICY_LIMITS_PIDS);
	assert_int_equal(one->expectations.v[2].code, HLC_12);
	assert_int_equal(one->expectations.v[2].word, POLICY_REQUEST_ENGINE_ARG);
	assert_string_equal(one->expectations.v[2].backend, "docker");
	assert_int_equal(one->expectations.v[2].where.line, 6);
	assert_int_equal(policy_tests_at(tests, 1)->expectations.len, 3);
	/* Without a policy it is about the one beside it. */
	assert_int_equal(load_tests("version: 1\ntests: [{name: x, pass: [A]}]\n"), 0);
	assert_string_equal(policy_tests_files(tests, &n)[0], "p.yaml");
	assert_int_equal(n, 1);
	assert_int_equal(load_tests(
			     "version: 1\ntests: [{name: x, refuse: [{backend: docker}]}]\n"),
	    0);
	assert_int_equal(policy_tests_at(tests, 0)->expectations.v[0].word, POLICY_REQUEST_BACKEND);
}

#define TEST(text) "version: 1\ntests: [{name: x, " text "}]\n"

static void
what_is_wrong_in_tests(void **state)
{
	(void)state;
	expect_wrong("", "HLP-01");
	expect_wrong("tests: []\n", "HLP-01");
	expect_wrong("version: 2\ntests: []\n", "HLP-12");
	expect_wrong("version: 1\n", "HLP-03");
	expect_wrong("version: 1\ntest: []\n", "HLP-04");
	expect_wrong("version: 1\npolicy: []\ntests: []\n", "HLP-07");
	expect_wrong("version: 1\npolicy: base.yaml\ntests: []\n", "HLP-05");
	expect_wrong("version: 1\ntests: [{allow: [{network: none}]}]\n", "HLP-03");
	expect_wrong("version: 1\ntests: [{name: x}]\n", "HLP-03");
	expect_wrong(TEST("allow: []"), "HLP-03");
	expect_wrong(TEST("refuse: []"), "HLP-03");
	expect_wrong(TEST("effective: {}"), "HLP-03");
	expect_wrong(TEST("bound: {}"), "HLP-03");
	expect_wrong(TEST("hidden: [], pass: []"), "HLP-03");
	expect_wrong("version: 1\ntests: [x]\n", "HLP-05");
	expect_wrong(TEST("allows: []"), "HLP-04");
	expect_wrong(TEST("allow: {network: none}"), "HLP-05");
	expect_wrong(TEST("allow: [network]"), "HLP-05");
	expect_wrong(TEST("allow: [{netwrok: none}]"), "HLP-04");
	expect_wrong(TEST("allow: [{}]"), "HLP-03");
	expect_wrong(TEST("allow: [{network: none, timeout: 5m}]"), "HLP-03");
	expect_wrong(TEST("allow: [{network: none, code: HLC-31}]"), "HLP-07");
	expect_wrong(TEST("refuse: [{network: none, code: HLC-99}]"), "HLP-07");
	expect_wrong(TEST("refuse: [{code: HLC-31}]"), "HLP-03");
	expect_wrong(TEST("allow: [{env: \"A=sentinel\"}]"), "HLP-07");
	assert_null(strstr(t.findings.items[0].message, "sentinel"));
	expect_wrong(TEST("effective: {limits.memroy: 1GiB}"), "HLP-04");
	expect_wrong(TEST("effective: {limits.memory: 4096}"), "HLP-11");
	expect_wrong(TEST("bound: {network.mode: nothing}"), "HLP-13");
	expect_wrong(TEST("pass: LANG"), "HLP-05");
	expect_wrong("version: 1\ntests: &a []\n", "HLY-05");
}

static void
examples_of_a_policy(void **state)
{
	(void)state;
	expect_good(OPEN "examples:\n  allow:\n    - {network: host}\n  refuse:\n"
			 "    - {timeout: 5m, code: HLC-30}\n");
	const struct policy_expectations *examples =
	    policy_examples(t.policy, policy_layers_len(t.policy) - 1);
	assert_int_equal(examples->len, 2);
	assert_int_equal(examples->v[0].kind, POLICY_EXPECT_ALLOW);
	assert_int_equal(examples->v[1].code, HLC_30);
	assert_int_equal(examples->v[1].where.line, 8);
	assert_string_equal(examples->v[1].where.file, "p.yaml");
	assert_int_equal(policy_examples(t.policy, 0)->len, 0);
	expect_error(OPEN "examples: {hidden: [/x]}\n", "HLP-04");
	expect_error(OPEN "examples: []\n", "HLP-05");
	expect_error(OPEN "examples: {allow: [{netwrok: none}]}\n", "HLP-04");
	/* They are no value of the policy. */
	expect_good(OPEN);
	char digest[HL_SHA256_HEX_SIZE];
	snprintf(digest, sizeof(digest), "%s", policy_effective_sha256(t.policy));
	expect_good(OPEN "examples: {allow: [{network: host}]}\n");
	assert_string_equal(digest, policy_effective_sha256(t.policy));
}

static void
there_is_an_end_to_examples(void **state)
{
	struct hl_buf text;

	(void)state;
	hl_buf_init(&text, 1 << 16);
	hl_buf_puts(&text, OPEN "examples:\n  allow:\n");
	for (int i = 0; i < 200; i++)
		hl_buf_puts(&text, "    - {network: host}\n");
	expect_good(text.data);
	hl_buf_puts(&text, "    - {network: host}\n");
	expect_error(text.data, "HLY-02");
	hl_buf_done(&text);
}

static int
teardown(void **state)
{
	policy_tests_free(tests);
	return stack_teardown(state);
}

int
main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(what_is_shown_holds),
		cmocka_unit_test(other_values_do_not_hold),
		cmocka_unit_test(bounds),
		cmocka_unit_test(a_file_of_tests),
		cmocka_unit_test(what_is_wrong_in_tests),
		cmocka_unit_test(examples_of_a_policy),
		cmocka_unit_test(there_is_an_end_to_examples),
	};

	return cmocka_run_group_tests(all, stack_setup, teardown);
}
