/*
 * The frame of a file: version, id, place in the stack, what it needs of others, locks,
 * degradation.
 */
#include "stack.h"

#include "base/banned.h"

static void
version_comes_first_and_is_ours(void **state)
{
	(void)state;
	expect_error_at("id: a\nversion: 1\n", "HLP-01", 1, 1);
	expect_error("id: a\n", "HLP-01");
	expect_error("", "HLP-01");
	expect_error("# nothing but a comment\n", "HLP-01");
	expect_error("version:\nid: a\n", "HLP-10");
	expect_error("version: \"1\"\nid: a\n", "HLP-11");
	/* A file for a later program has one clear message, whatever else is in it. */
	expect_error_at("version: 2\nid: a\nnew_thing: [1, 2]\n", "HLP-02", 1, 10);
	assert_int_equal(t.findings.errors, 1);
}

static void
ids(void **state)
{
	char text[400], longest[130];

	(void)state;
	expect_error("version: 1\n", "HLP-03");
	expect_error("version: 1\nid: Acme\n", "HLP-07");
	expect_error("version: 1\nid: -a\n", "HLP-07");
	expect_error("version: 1\nid: a/../b\n", "HLP-07");
	expect_error("version: 1\nid: \"\"\n", "HLP-07");
	memset(longest, 'a', sizeof(longest));
	snprintf(text, sizeof(text), "version: 1\nid: %.128s\n", longest);
	expect_good(text);
	snprintf(text, sizeof(text), "version: 1\nid: %.129s\n", longest);
	expect_error(text, "HLP-07");
}

static void
owner_revision_and_review(void **state)
{
	(void)state;
	expect_good(HEAD "owner: sec@acme.example\nrevision: 12\nreview_by: \"2999-12-31\"\n");
	const struct policy_layer *row = policy_layer_at(t.policy, policy_layers_len(t.policy) - 1);
	assert_string_equal(row->owner, "sec@acme.example");
	assert_string_equal(row->id, "acme/team");
	assert_string_equal(row->layer, "task");
	assert_int_equal(row->revision, 12);
	assert_int_equal(strlen(row->sha256), 64);
	assert_non_null(strstr(row->file, "/p.yaml"));
	expect_error(HEAD "revision: 0\n", "HLP-12");
	expect_error(HEAD "revision: 9007199254740992\n", "HLP-12");
	expect_good(HEAD "revision: 9007199254740991\n");
	expect_error(HEAD "review_by: \"2027-13-01\"\n", "HLP-07");
	expect_error(HEAD "review_by: \"27-01-01\"\n", "HLP-07");
	expect_good(HEAD "review_by: \"2020-01-01\"\n");
	expect_code("HLP-22");
	assert_int_equal(t.findings.warnings, 1);
}

static void
levels_are_pinned(void **state)
{
	static const char *const names[] = { "open@1", "hermes@1", "baseline@1", "restricted@1" };
	char text[128];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++) {
		assert_string_equal(policy_level_name(i), names[i]);
		assert_non_null(policy_level_text(names[i]));
		snprintf(text, sizeof(text), HEAD "level: %s\nbackends: [local, docker]\n",
		    names[i]);
		expect_good(text);
		assert_int_equal(t.findings.warnings, 0);
		assert_string_equal(policy_level(t.policy), names[i]);
		/* Every level leaves the choice of backends to the policy. */
		assert_string_equal(spelled(POLICY_BACKENDS), "[local, docker]");
	}
	assert_null(policy_level_name(HL_ARRAY_SIZE(names)));
	assert_null(policy_level_text("baseline"));
	expect_error(HEAD "level: baseline\n", "HLP-08");
	expect_error(HEAD "level: baseline@2\n", "HLP-08");
	expect_good(HEAD);
	assert_string_equal(policy_level(t.policy), "restricted@1");
	assert_string_equal(policy_layer_at(t.policy, 0)->id, "restricted@1");
	assert_string_equal(policy_layer_at(t.policy, 0)->layer, "level");
	assert_null(policy_layer_at(t.policy, 0)->file);
}

static void
what_the_levels_say(void **state)
{
	(void)state;
	expect_good(HEAD "level: restricted@1\n");
	assert_string_equal(spelled(POLICY_FS_ROOT), "read_only");
	assert_string_equal(spelled(POLICY_FS_WORKDIR), "{access: ro}");
	assert_string_equal(spelled(POLICY_FS_LANDLOCK), "required");
	assert_string_equal(spelled(POLICY_IMAGE_DIGEST), "true");
	assert_string_equal(spelled(POLICY_AUDIT_REQUIRED), "true");
	expect_good(HEAD "level: baseline@1\n");
	assert_string_equal(spelled(POLICY_FS_WORKDIR), "{access: rw}");
	assert_string_equal(spelled(POLICY_PROCESS_CAPS), "[]");
	assert_string_equal(spelled(POLICY_NETWORK_MODE), "none");
	assert_int_equal(value_of(POLICY_NETWORK_MODE)->bound_number, 1);
	expect_good(HEAD "level: open@1\n");
	assert_string_equal(spelled(POLICY_LOCAL_ISOLATION), "scrub");
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++)
		assert_false(value_of((enum policy_field)i)->is_bounded && i != POLICY_MODE);
	expect_good(HEAD "level: hermes@1\n");
	assert_string_equal(spelled(POLICY_PROCESS_USER), "image");
	assert_string_equal(spelled(POLICY_PROCESS_ALLOW_ROOT), "true");
	assert_string_equal(spelled(POLICY_PROCESS_CAPS), "[DAC_OVERRIDE, CHOWN, FOWNER]");
	assert_string_equal(spelled(POLICY_FS_ROOT), "writable");
	assert_int_equal(value_of(POLICY_LIMITS_PIDS)->number, 256);
	assert_int_equal(value_of(POLICY_FS_TMPFS)->items_len, 3);
	assert_true(policy_may_degrade(t.policy, "limits.memory", NULL));
	assert_false(policy_may_degrade(t.policy, "fs.landlock", NULL));
	/* The level's user is a default: a file may name another. */
	expect_good(HEAD "level: hermes@1\nprocess: {user: caller}\n");
	assert_string_equal(spelled(POLICY_PROCESS_USER), "caller");
}

static void
required_layers(void **state)
{
	(void)state;
	expect_error(HEAD "requires: [{id: acme/base, revision: 7}]\n", "HLP-24");
	assert_int_equal(stack_load_two(BASE "revision: 6\n",
			     HEAD "requires: [{id: acme/base, revision: 7}]\n"),
	    -1);
	expect_code("HLP-24");
	assert_int_equal(stack_load_two(BASE "revision: 7\n",
			     HEAD "requires: [{id: acme/base, revision: 7}]\n"),
	    0);
	assert_int_equal(stack_load_two(BASE, HEAD "requires: [{id: acme/base}]\n"), 0);
	expect_error(HEAD "requires: [{revision: 7}]\n", "HLP-03");
	expect_error(HEAD "requires: [{id: a, version: 7}]\n", "HLP-04");
	expect_error(HEAD "requires: {id: a}\n", "HLP-05");
	/* A level is no layer that could be required by its name. */
	expect_error(HEAD "requires: [{id: restricted1}]\n", "HLP-24");
}

static void
mandatory_layers(void **state)
{
	(void)state;
	expect_error(HEAD "mandatory_layers: [{id: acme/base}]\n", "HLP-09");
	expect_error(HEAD "layer: org\nmandatory_layers: [{id: acme/base}]\n", "HLP-09");
	expect_error(HEAD "layer: host\nmandatory_layers: [{id: acme/base}]\n", "HLP-24");
	expect_good(HEAD "layer: host\nmandatory_layers: [{id: acme/team}]\n");
	expect_error(HEAD "layer: site\n", "HLP-13");
}

static void
locks_name_keys(void **state)
{
	(void)state;
	expect_error(HEAD "lock: [proces.caps]\n", "HLP-25");
	expect_error(HEAD "lock: [mode]\n", "HLP-25");
	expect_error(HEAD "lock: [\"a b\"]\n", "HLP-07");
	expect_good(HEAD "lock: [process.caps, \"fs.*\", \"*\"]\n");
	assert_true(value_of(POLICY_LIMITS_PIDS)->is_locked);
	assert_false(value_of(POLICY_MODE)->is_locked);
}

static void
degradation_must_hold_in_every_file(void **state)
{
	struct hl_origin origin;

	(void)state;
	expect_good(OPEN);
	assert_false(policy_may_degrade(t.policy, "limits.memory", NULL));
	expect_good(OPEN "degrade: {allow: [limits.memory]}\n");
	assert_true(policy_may_degrade(t.policy, "limits.memory", &origin));
	assert_int_equal(origin.where.line, 4);
	assert_string_equal(origin.id, "acme/team");
	assert_false(policy_may_degrade(t.policy, "limits.cpus", NULL));
	stack_load_two(BASE "degrade: {allow: []}\n", HEAD "degrade: {allow: [\"limits.*\"]}\n");
	assert_false(policy_may_degrade(t.policy, "limits.memory", NULL));
	stack_load_two(BASE, HEAD "degrade: {allow: [\"limits.*\"]}\n");
	assert_true(policy_may_degrade(t.policy, "limits.memory", NULL));
	/* What an earlier file asks for is not taken back by a later one. */
	stack_load_two(BASE "limits: {memory: 1GiB}\n", HEAD "degrade: {allow: [\"limits.*\"]}\n");
	assert_false(policy_may_degrade(t.policy, "limits.memory", NULL));
	assert_true(policy_may_degrade(t.policy, "limits.cpus", NULL));
	stack_load_two("version: 1\nid: acme/base\nlayer: org\nlevel: baseline@1\n",
	    HEAD "degrade: {allow: [\"*\"]}\n");
	assert_false(policy_may_degrade(t.policy, "local.isolation", NULL));
	assert_true(policy_may_degrade(t.policy, "limits.cpus", NULL));
	stack_load_two(BASE "limits: {memory: 1GiB}\ndegrade: {allow: [limits.memory]}\n",
	    HEAD "limits: {memory: 512MiB}\n");
	assert_true(policy_may_degrade(t.policy, "limits.memory", NULL));
	stack_load_two(BASE "degrade: {allow: [\"limits.*\"]}\n",
	    HEAD "degrade: {allow: [limits.memory, fs.landlock]}\n");
	assert_true(policy_may_degrade(t.policy, "limits.memory", NULL));
	assert_false(policy_may_degrade(t.policy, "limits.cpus", NULL));
	assert_false(policy_may_degrade(t.policy, "fs.landlock", NULL));
	expect_error(OPEN "degrade: {alow: []}\n", "HLP-04");
	expect_error(OPEN "degrade: [limits.memory]\n", "HLP-05");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_comes_first_and_is_ours),
		cmocka_unit_test(ids),
		cmocka_unit_test(owner_revision_and_review),
		cmocka_unit_test(levels_are_pinned),
		cmocka_unit_test(what_the_levels_say),
		cmocka_unit_test(required_layers),
		cmocka_unit_test(mandatory_layers),
		cmocka_unit_test(locks_name_keys),
		cmocka_unit_test(degradation_must_hold_in_every_file),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
