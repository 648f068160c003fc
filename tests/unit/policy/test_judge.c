/*
 * Requests of the caller against the bounds, and what they change when they are granted.
 */
#include "stack.h"

#include "base/banned.h"

static const struct hl_origin caller = {
	.layer = "caller",
	.where = { .file = "--flag" },
};

static struct policy_judgement
judge(enum policy_field field, const char *text)
{
	struct policy_judgement judgement = { 0 };
	struct hl_err err = { 0 };

	if (policy_judge(t.policy, field, text, &judgement, &err) != 0)
		fail_msg("%s: %s", text, err.msg);
	return judgement;
}

static void
expect_verdict(enum policy_field field, const char *text, enum policy_verdict verdict)
{
	struct policy_judgement judgement = judge(field, text);

	if (judgement.verdict != verdict)
		fail_msg("%s %s: %d", policy_field_key(field), text, (int)judgement.verdict);
}

static void
expect_no_value(enum policy_field field, const char *text)
{
	struct policy_judgement judgement;
	struct hl_err err = { 0 };

	assert_int_equal(policy_judge(t.policy, field, text, &judgement, &err), -1);
	assert_int_not_equal(err.code, HL_OK);
}

static void
apply(enum policy_field field, const char *name, const char *text)
{
	struct hl_err err = { 0 };

	if (policy_apply(t.policy, field, &(struct policy_change){ name, text, &caller }, &err) !=
	    0)
		fail_msg("%s: %s", text, err.msg);
}

static void
numbers_and_words(void **state)
{
	(void)state;
	expect_good(OPEN "limits: {memory: {max: 4GiB, default: 1GiB}}\n"
			 "network: {mode: {max: proxy, default: none}}\n");
	expect_verdict(POLICY_LIMITS_MEMORY, "1GiB", POLICY_SAME);
	expect_verdict(POLICY_LIMITS_MEMORY, "1024MiB", POLICY_SAME);
	expect_verdict(POLICY_LIMITS_MEMORY, "512MiB", POLICY_TIGHTER);
	/* The bound decides, not the default. */
	expect_verdict(POLICY_LIMITS_MEMORY, "4GiB", POLICY_TIGHTER);
	expect_verdict(POLICY_LIMITS_MEMORY, "5GiB", POLICY_LOOSER);
	expect_verdict(POLICY_LIMITS_MEMORY, "unlimited", POLICY_LOOSER);
	assert_string_equal(judge(POLICY_LIMITS_MEMORY, "5GiB").bound, "4GiB");
	assert_int_equal(judge(POLICY_LIMITS_MEMORY, "5GiB").origin.where.line, 4);
	expect_verdict(POLICY_NETWORK_MODE, "none", POLICY_SAME);
	expect_verdict(POLICY_NETWORK_MODE, "proxy", POLICY_TIGHTER);
	expect_verdict(POLICY_NETWORK_MODE, "host", POLICY_LOOSER);
	/* What nothing bounds is free. */
	expect_verdict(POLICY_LIMITS_FILES, "1000", POLICY_TIGHTER);
	expect_no_value(POLICY_LIMITS_MEMORY, "4096");
	expect_no_value(POLICY_LIMITS_MEMORY, "");
	expect_no_value(POLICY_NETWORK_MODE, "Host");
	expect_no_value(POLICY_LIMITS_PIDS, "4 ");
	expect_no_value(POLICY_LIMITS_PIDS, "4\n");
	expect_no_value(POLICY_FS_MOUNTS, "/a:/b");
}

static void
the_mode_is_only_raised(void **state)
{
	(void)state;
	expect_good(OPEN);
	expect_verdict(POLICY_MODE, "enforce", POLICY_SAME);
	expect_verdict(POLICY_MODE, "warn", POLICY_LOOSER);
	expect_good(OPEN "mode: warn\n");
	expect_verdict(POLICY_MODE, "warn", POLICY_SAME);
	expect_verdict(POLICY_MODE, "enforce", POLICY_TIGHTER);
	apply(POLICY_MODE, NULL, "enforce");
	assert_string_equal(spelled(POLICY_MODE), "enforce");
	assert_string_equal(value_of(POLICY_MODE)->origin.layer, "caller");
}

static void
sets(void **state)
{
	(void)state;
	expect_good(OPEN "process: {caps: [CHOWN, FOWNER]}\nbackends: [local, docker]\n"
			 "env: {pass: {allowed: [\"CI_*\", LANG], default: [LANG]}}\n");
	expect_verdict(POLICY_PROCESS_CAPS, "cap_chown", POLICY_SAME);
	expect_verdict(POLICY_PROCESS_CAPS, "SYS_ADMIN", POLICY_LOOSER);
	assert_string_equal(judge(POLICY_PROCESS_CAPS, "SYS_ADMIN").bound, "[CHOWN, FOWNER]");
	expect_no_value(POLICY_PROCESS_CAPS, "ALL");
	expect_verdict(POLICY_BACKENDS, "local", POLICY_SAME);
	expect_verdict(POLICY_BACKENDS, "docker", POLICY_TIGHTER);
	expect_verdict(POLICY_BACKENDS, "podman", POLICY_LOOSER);
	expect_verdict(POLICY_ENV_PASS, "LANG", POLICY_SAME);
	expect_verdict(POLICY_ENV_PASS, "CI_JOB", POLICY_TIGHTER);
	expect_verdict(POLICY_ENV_PASS, "CI_*", POLICY_TIGHTER);
	expect_verdict(POLICY_ENV_PASS, "C*", POLICY_LOOSER);
	expect_verdict(POLICY_ENV_PASS, "MY_TOKEN", POLICY_LOOSER);
	/* U05, U19: protected names are outside every bound. */
	expect_verdict(POLICY_ENV_PASS, "OPENAI_API_KEY", POLICY_LOOSER);
	expect_good(OPEN);
	expect_verdict(POLICY_ENV_PASS, "MY_TOKEN", POLICY_TIGHTER);
	expect_verdict(POLICY_ENV_PASS, "openai_api_key", POLICY_LOOSER);
	expect_verdict(POLICY_ENV_SET, "LD_PRELOAD=/x", POLICY_LOOSER);
	expect_verdict(POLICY_FS_DENY, "/srv", POLICY_TIGHTER);
}

static void
every_layers_list_counts(void **state)
{
	(void)state;
	assert_int_equal(stack_load_two(BASE "image: {allowed: [\"reg/*\"]}\n",
			     HEAD "image: {allowed: [\"*@sha256:*\"]}\n"),
	    0);
	expect_verdict(POLICY_IMAGE,
	    "reg/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	    POLICY_TIGHTER);
	expect_verdict(POLICY_IMAGE, "reg/a:1", POLICY_LOOSER);
	assert_string_equal(judge(POLICY_IMAGE, "reg/a:1").origin.id, "acme/team");
	expect_verdict(POLICY_IMAGE,
	    "other/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	    POLICY_LOOSER);
}

static void
texts_and_users(void **state)
{
	(void)state;
	expect_good(OPEN "process: {user: \"5:5\"}\n");
	expect_verdict(POLICY_PROCESS_USER, "5:5", POLICY_SAME);
	expect_verdict(POLICY_PROCESS_USER, "6:6", POLICY_LOOSER);
	expect_good(OPEN);
	expect_verdict(POLICY_PROCESS_USER, "6:6", POLICY_TIGHTER);
	expect_verdict(POLICY_PROCESS_USER, "0:0", POLICY_LOOSER);
	expect_verdict(POLICY_PROCESS_USER, "0", POLICY_LOOSER);
	expect_no_value(POLICY_PROCESS_USER, "root");
	expect_good(OPEN "process: {allow_root: true}\n");
	expect_verdict(POLICY_PROCESS_USER, "0:0", POLICY_TIGHTER);
	apply(POLICY_PROCESS_USER, NULL, "7:7");
	assert_string_equal(value_of(POLICY_PROCESS_USER)->text, "7:7");
}

static void
variables(void **state)
{
	(void)state;
	expect_good(OPEN "env: {set: {A: x}, pass: [B]}\n");
	expect_verdict(POLICY_ENV_SET, "A=x", POLICY_SAME);
	expect_verdict(POLICY_ENV_SET, "A=z", POLICY_LOOSER);
	expect_verdict(POLICY_ENV_SET, "B=z", POLICY_SAME);
	expect_verdict(POLICY_ENV_SET, "C=z", POLICY_LOOSER);
	assert_null(strstr(judge(POLICY_ENV_SET, "A=z").bound, "x"));
	apply(POLICY_ENV_SET, "B", "z");
	assert_string_equal(spelled(POLICY_ENV_SET), "{A: x, B: z}");
	apply(POLICY_ENV_SET, "A", "w");
	assert_string_equal(spelled(POLICY_ENV_SET), "{B: z, A: w}");
	struct hl_err err = { 0 };
	assert_int_equal(policy_apply(t.policy, POLICY_ENV_SET,
			     &(struct policy_change){ "LD_PRELOAD", "x", &caller }, &err),
	    -1);
	assert_int_equal(err.code, HLP_16);
	assert_int_equal(policy_apply(t.policy, POLICY_ENV_SET,
			     &(struct policy_change){ "a b", "x", &caller }, &err),
	    -1);
}

static void
locked_fields(void **state)
{
	(void)state;
	expect_good(OPEN "limits: {pids: 10}\nlock: [limits.pids, fs.mounts]\n");
	assert_true(judge(POLICY_LIMITS_PIDS, "5").is_locked);
	expect_verdict(POLICY_LIMITS_PIDS, "5", POLICY_LOOSER);
	expect_verdict(POLICY_LIMITS_PIDS, "10", POLICY_SAME);
	assert_int_equal(judge(POLICY_LIMITS_PIDS, "5").origin.where.line, 5);
}

static void
mounts(void **state)
{
	struct policy_mount mount = { .src = "/s/x", .dst = "/d/x", .exec = true };
	struct policy_judgement judgement;
	struct hl_err err = { 0 };

	(void)state;
	expect_good(OPEN "fs: {mounts: [{src: /s, dst: /d}]}\n");
	assert_int_equal(policy_judge_mount(t.policy, &mount, &judgement, &err), 0);
	assert_int_equal(judgement.verdict, POLICY_TIGHTER);
	mount.access = POLICY_ACCESS_RW;
	assert_int_equal(policy_judge_mount(t.policy, &mount, &judgement, &err), 0);
	assert_int_equal(judgement.verdict, POLICY_LOOSER);
	assert_string_equal(judgement.bound, "[{src: /s, dst: /d, access: ro}]");
	mount = (struct policy_mount){ .src = "/s", .dst = "/d", .exec = true };
	assert_int_equal(policy_judge_mount(t.policy, &mount, &judgement, &err), 0);
	assert_int_equal(judgement.verdict, POLICY_SAME);
	mount.dst = "/e";
	assert_int_equal(policy_judge_mount(t.policy, &mount, &judgement, &err), 0);
	assert_int_equal(judgement.verdict, POLICY_LOOSER);
	assert_int_equal(policy_apply_mount(t.policy, &mount, &caller, &err), 0);
	assert_int_equal(value_of(POLICY_FS_MOUNTS)->items_len, 2);
	/* The same destination again is replaced. */
	mount.src = "/other";
	assert_int_equal(policy_apply_mount(t.policy, &mount, &caller, &err), 0);
	assert_int_equal(value_of(POLICY_FS_MOUNTS)->items_len, 2);
	assert_string_equal(value_of(POLICY_FS_MOUNTS)->items[1].mount.src, "/other");
	/* U34: control characters are no part of a path. */
	mount.src = "/a\nb";
	assert_int_equal(policy_judge_mount(t.policy, &mount, &judgement, &err), -1);
	mount.src = "relative";
	assert_int_equal(policy_judge_mount(t.policy, &mount, &judgement, &err), -1);
	mount = (struct policy_mount){ .src = "/a", .dst = "/proc/x" };
	assert_int_equal(policy_judge_mount(t.policy, &mount, &judgement, &err), -1);
	assert_int_equal(policy_apply_mount(t.policy, &mount, &caller, &err), -1);
	expect_good(OPEN);
	mount = (struct policy_mount){ .src = "/t/a:b,c \"d", .dst = "/x" };
	assert_int_equal(policy_judge_mount(t.policy, &mount, &judgement, &err), 0);
	assert_int_equal(judgement.verdict, POLICY_TIGHTER);
}

static void
applied_members(void **state)
{
	struct policy_tmpfs tmpfs = { .dst = "/tmp",
		.size = 1 << 20,
		.exec = false,
		.mode = 01777 };
	struct hl_err err = { 0 };

	(void)state;
	expect_good(OPEN "backends: [local, docker]\nprocess: {caps: [CHOWN, FOWNER]}\n");
	char before[HL_SHA256_HEX_SIZE];
	snprintf(before, sizeof(before), "%s", policy_effective_sha256(t.policy));
	apply(POLICY_BACKENDS, NULL, "docker");
	assert_string_equal(spelled(POLICY_BACKENDS), "[docker]");
	assert_string_not_equal(before, policy_effective_sha256(t.policy));
	/* Bounds stay: the other one is still allowed. */
	expect_verdict(POLICY_BACKENDS, "local", POLICY_TIGHTER);
	apply(POLICY_ENV_PASS, NULL, "MY_TOKEN");
	apply(POLICY_ENV_PASS, NULL, "MY_TOKEN");
	assert_string_equal(spelled(POLICY_ENV_PASS), "[\"*\", MY_TOKEN]");
	assert_int_equal(policy_apply_tmpfs(t.policy, &tmpfs, &caller, &err), 0);
	assert_int_equal(value_of(POLICY_FS_TMPFS)->items_len, 3);
	assert_string_equal(value_of(POLICY_FS_TMPFS)->items[2].tmpfs.dst, "/tmp");
	assert_int_equal(policy_withdraw(t.policy, POLICY_PROCESS_CAPS, "cap_chown", &caller, &err),
	    0);
	assert_string_equal(spelled(POLICY_PROCESS_CAPS), "[FOWNER]");
	assert_int_equal(policy_withdraw(t.policy, POLICY_PROCESS_CAPS, "KILL", &caller, &err), 0);
	assert_int_equal(policy_withdraw(t.policy, POLICY_PROCESS_CAPS, NULL, &caller, &err), 0);
	assert_string_equal(spelled(POLICY_PROCESS_CAPS), "[]");
	apply(POLICY_LIMITS_MEMORY, NULL, "64MiB");
	assert_string_equal(spelled(POLICY_LIMITS_MEMORY), "64MiB");
	apply(POLICY_PROCESS_NO_NEW_PRIVS, NULL, "false");
	assert_int_equal(value_of(POLICY_PROCESS_NO_NEW_PRIVS)->number, 0);
	apply(POLICY_FS_WORKDIR, NULL, "/srv/w");
	apply(POLICY_FS_WORKDIR, "at", "/w");
	apply(POLICY_FS_WORKDIR, "access", "ro");
	assert_string_equal(spelled(POLICY_FS_WORKDIR), "{access: ro, path: /srv/w, at: /w}");
	apply(POLICY_FS_HOME, NULL, "persist");
	assert_string_equal(spelled(POLICY_FS_HOME), "{kind: persist}");
	assert_int_equal(policy_apply(t.policy, POLICY_FS_HOME,
			     &(struct policy_change){ NULL, "bind", &caller }, &err),
	    -1);
	assert_int_equal(policy_apply(t.policy, POLICY_FS_MOUNTS,
			     &(struct policy_change){ NULL, "/a", &caller }, &err),
	    -1);
}

static void
working_directories(void **state)
{
	(void)state;
	expect_good(OPEN);
	expect_verdict(POLICY_FS_WORKDIR, "/srv", POLICY_TIGHTER);
	expect_no_value(POLICY_FS_WORKDIR, "rel/x");
	expect_good(OPEN "fs: {workdir: {path: /srv}}\n");
	expect_verdict(POLICY_FS_WORKDIR, "/srv", POLICY_SAME);
	expect_verdict(POLICY_FS_WORKDIR, "/srv/x", POLICY_TIGHTER);
	expect_verdict(POLICY_FS_WORKDIR, "/srvx", POLICY_LOOSER);
	expect_verdict(POLICY_FS_WORKDIR, "/", POLICY_LOOSER);
}

/* Whatever was applied, in whatever order, the policy is what it was, and so is its memory. */
static void
kept_is_restored(void **state)
{
	static const struct policy_mount mount = { .src = "/t/a", .dst = "/x" };
	static const struct policy_tmpfs tmpfs = { .dst = "/tmp", .size = 1 << 20, .mode = 01777 };
	struct hl_err err = { 0 };
	char before[HL_SHA256_HEX_SIZE];

	(void)state;
	expect_good(OPEN "backends: [local, docker]\nprocess: {caps: [CHOWN]}\nmode: warn\n");
	assert_int_equal(policy_keep(t.policy, &err), 0);
	snprintf(before, sizeof(before), "%s", policy_effective_sha256(t.policy));
	for (int i = 0; i < 300; i++) {
		apply(POLICY_BACKENDS, NULL, "docker");
		apply(POLICY_LIMITS_PIDS, NULL, "5");
		apply(POLICY_MODE, NULL, "enforce");
		apply(POLICY_ENV_PASS, NULL, "SOME_NAME");
		apply(POLICY_ENV_SET, "CI", "1");
		apply(POLICY_PROCESS_USER, NULL, "1:1");
		apply(POLICY_FS_WORKDIR, "at", "/w");
		assert_int_equal(policy_apply_mount(t.policy, &mount, &caller, &err), 0);
		assert_int_equal(policy_apply_tmpfs(t.policy, &tmpfs, &caller, &err), 0);
		assert_int_equal(policy_withdraw(t.policy, POLICY_PROCESS_CAPS, "CHOWN", &caller,
				     &err),
		    0);
		assert_string_equal(spelled(POLICY_LIMITS_PIDS), "5");
		assert_string_not_equal(before, policy_effective_sha256(t.policy));
		policy_restore(t.policy);
		assert_string_equal(before, policy_effective_sha256(t.policy));
	}
	assert_string_equal(spelled(POLICY_PROCESS_CAPS), "[CHOWN]");
	assert_string_equal(value_of(POLICY_LIMITS_PIDS)->origin.layer, "built-in");
	expect_verdict(POLICY_BACKENDS, "docker", POLICY_TIGHTER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_words),
		cmocka_unit_test(the_mode_is_only_raised),
		cmocka_unit_test(sets),
		cmocka_unit_test(every_layers_list_counts),
		cmocka_unit_test(texts_and_users),
		cmocka_unit_test(variables),
		cmocka_unit_test(locked_fields),
		cmocka_unit_test(mounts),
		cmocka_unit_test(applied_members),
		cmocka_unit_test(kept_is_restored),
		cmocka_unit_test(working_directories),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
