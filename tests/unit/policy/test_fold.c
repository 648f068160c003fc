/*
 * Bounds and defaults of several layers, and contradictions inside one.
 */
#include "stack.h"

#include "base/banned.h"

static void
expect_two(const char *base, const char *team)
{
	if (stack_load_two(base, team) != 0)
		fail_msg("refused: %s", stack_text());
}

static void
expect_two_error(const char *base, const char *team, const char *id)
{
	assert_int_equal(stack_load_two(base, team), -1);
	expect_code(id);
}

static void
numbers_take_the_smaller_bound(void **state)
{
	(void)state;
	expect_two(BASE "limits: {memory: 4GiB}\n", HEAD "limits: {memory: 2GiB}\n");
	assert_string_equal(spelled(POLICY_LIMITS_MEMORY), "2GiB");
	assert_int_equal(t.findings.warnings, 0);
	assert_string_equal(value_of(POLICY_LIMITS_MEMORY)->bound_origin.id, "acme/team");
	expect_two(BASE "limits: {memory: 4GiB}\n", HEAD "limits: {memory: 8GiB}\n");
	assert_string_equal(spelled(POLICY_LIMITS_MEMORY), "4GiB");
	expect_code("HLP-21");
	/* One origin: the first layer that reaches the bound. */
	expect_two(BASE "limits: {memory: 4GiB}\n", HEAD "limits: {memory: 4GiB}\n");
	assert_int_equal(t.findings.warnings, 0);
	assert_string_equal(value_of(POLICY_LIMITS_MEMORY)->bound_origin.id, "acme/base");
}

static void
defaults_move_inside_the_bound(void **state)
{
	(void)state;
	expect_two(BASE "limits: {memory: {max: 4GiB, default: 1GiB}}\n",
	    HEAD "limits: {memory: {default: 3GiB}}\n");
	assert_string_equal(spelled(POLICY_LIMITS_MEMORY), "3GiB");
	assert_int_equal(value_of(POLICY_LIMITS_MEMORY)->bound_number, 4ULL << 30);
	expect_two(BASE "limits: {memory: {default: 3GiB}}\n",
	    HEAD "limits: {memory: {max: 2GiB}}\n");
	assert_string_equal(spelled(POLICY_LIMITS_MEMORY), "2GiB");
	expect_two_error(BASE "limits: {memory: 4GiB}\n",
	    HEAD "limits: {memory: {default: 8GiB}}\n", "HLP-19");
	expect_error(OPEN "limits: {memory: {max: 1GiB, default: 2GiB}}\n", "HLP-17");
	expect_good(OPEN "limits: {memory: {default: 2GiB}}\n");
	assert_false(value_of(POLICY_LIMITS_MEMORY)->is_bounded);
	/* Built-in defaults bound nothing, and are cut to a bound like others. */
	expect_good(OPEN "limits: {pids: {max: 10}}\n");
	assert_int_equal(value_of(POLICY_LIMITS_PIDS)->number, 10);
	expect_good(OPEN "limits: {pids: 100000}\n");
	assert_int_equal(value_of(POLICY_LIMITS_PIDS)->number, 100000);
}

/* The other way round: more is stricter. */
static void
days_grow(void **state)
{
	(void)state;
	expect_good(OPEN);
	assert_int_equal(value_of(POLICY_AUDIT_RETENTION)->number, 400);
	assert_false(value_of(POLICY_AUDIT_RETENTION)->is_bounded);
	expect_two(BASE "audit: {retention: 90}\n", HEAD "audit: {retention: 365}\n");
	assert_string_equal(spelled(POLICY_AUDIT_RETENTION), "365");
	assert_int_equal(value_of(POLICY_AUDIT_RETENTION)->bound_number, 365);
	expect_two(BASE "audit: {retention: 90}\n", HEAD "audit: {retention: 30}\n");
	assert_string_equal(spelled(POLICY_AUDIT_RETENTION), "90");
	expect_code("HLP-21");
	assert_non_null(strstr(stack_text(), "acme/base asks for at least 90"));
	expect_two(BASE "audit: {retention: {min: 30, default: 60}}\n",
	    HEAD "audit: {retention: {default: 45}}\n");
	assert_string_equal(spelled(POLICY_AUDIT_RETENTION), "45");
	expect_two_error(BASE "audit: {retention: 30}\n",
	    HEAD "audit: {retention: {default: 20}}\n", "HLP-19");
	expect_error(OPEN "audit: {retention: {min: 30, default: 20}}\n", "HLP-17");
	expect_error(OPEN "audit: {retention: {max: 30}}\n", "HLP-04");
	expect_good(OPEN "audit: {retention: {default: 1}}\n");
	assert_string_equal(spelled(POLICY_AUDIT_RETENTION), "1");
}

/* Of two masks often neither is the stricter: then the bound is neither, but all bits of both. */
static void
bits_add_up(void **state)
{
	(void)state;
	expect_good(OPEN);
	assert_string_equal(spelled(POLICY_PROCESS_UMASK), "\"022\"");
	assert_false(value_of(POLICY_PROCESS_UMASK)->is_bounded);
	expect_two(BASE "process: {umask: \"050\"}\n", HEAD "process: {umask: \"027\"}\n");
	assert_string_equal(spelled(POLICY_PROCESS_UMASK), "\"077\"");
	assert_int_equal(value_of(POLICY_PROCESS_UMASK)->bound_number, 077);
	assert_string_equal(value_of(POLICY_PROCESS_UMASK)->bound_origin.id, "acme/team");
	assert_int_equal(t.findings.warnings, 0);
	expect_two(BASE "process: {umask: \"077\"}\n", HEAD "process: {umask: \"027\"}\n");
	assert_string_equal(spelled(POLICY_PROCESS_UMASK), "\"077\"");
	assert_string_equal(value_of(POLICY_PROCESS_UMASK)->bound_origin.id, "acme/base");
	expect_code("HLP-21");
	assert_non_null(strstr(stack_text(), "acme/base asks for at least \"077\""));
	expect_two(BASE "process: {umask: {min: \"020\", default: \"077\"}}\n",
	    HEAD "process: {umask: {default: \"030\"}}\n");
	assert_string_equal(spelled(POLICY_PROCESS_UMASK), "\"030\"");
	/* More than 020 as a number, and has not its bit. */
	expect_two_error(BASE "process: {umask: \"020\"}\n",
	    HEAD "process: {umask: {default: \"707\"}}\n", "HLP-19");
	expect_error(OPEN "process: {umask: {min: \"020\", default: \"707\"}}\n", "HLP-17");
	assert_non_null(strstr(stack_text(), "each bit of min"));
	expect_good(OPEN "process: {umask: \"000\"}\n");
	assert_string_equal(spelled(POLICY_PROCESS_UMASK), "\"000\"");
}

/* A caller may add bits to the bound and take none of it away. */
static void
a_request_adds_bits(void **state)
{
	static const struct {
		const char *text;
		enum policy_verdict verdict;
	} asks[] = { { "027", POLICY_SAME }, { "037", POLICY_TIGHTER }, { "020", POLICY_TIGHTER },
		{ "077", POLICY_TIGHTER }, { "007", POLICY_LOOSER }, { "707", POLICY_LOOSER } };
	struct policy_judgement judgement;
	struct hl_err err = { 0 };

	(void)state;
	expect_good(OPEN "process: {umask: {min: \"020\", default: \"027\"}}\n");
	for (size_t i = 0; i < HL_ARRAY_SIZE(asks); i++) {
		assert_int_equal(policy_judge(t.policy, POLICY_PROCESS_UMASK, asks[i].text,
				     &judgement, &err),
		    0);
		if (judgement.verdict != asks[i].verdict)
			fail_msg("%s: %d", asks[i].text, (int)judgement.verdict);
		assert_string_equal(judgement.bound, "\"020\"");
	}
	assert_int_equal(policy_judge(t.policy, POLICY_PROCESS_UMASK, "0777", &judgement, &err),
	    -1);
}

static void
words_and_truth_values_take_the_stricter(void **state)
{
	(void)state;
	expect_two(BASE "network: {mode: {max: proxy, default: none}}\n",
	    HEAD "network: {mode: {default: proxy}}\n");
	assert_string_equal(spelled(POLICY_NETWORK_MODE), "proxy");
	expect_two(BASE "process: {no_new_privs: true}\n", HEAD "process: {no_new_privs: false}\n");
	assert_string_equal(spelled(POLICY_PROCESS_NO_NEW_PRIVS), "true");
	assert_int_equal(value_of(POLICY_PROCESS_NO_NEW_PRIVS)->bound_number, 1);
	expect_two(BASE "process: {allow_root: false}\n", HEAD "process: {allow_root: true}\n");
	assert_string_equal(spelled(POLICY_PROCESS_ALLOW_ROOT), "false");
	expect_two(BASE "process: {allow_root: true}\n", HEAD "process: {allow_root: true}\n");
	assert_string_equal(spelled(POLICY_PROCESS_ALLOW_ROOT), "true");
	expect_two(BASE "fs: {home: persist}\n", HEAD "fs: {home: {kind: bind, src: /h}}\n");
	assert_string_equal(spelled(POLICY_FS_HOME), "{kind: persist}");
	expect_code("HLP-21");
	expect_two(BASE "fs: {home: {kind: tmpfs, size: 1GiB}}\n",
	    HEAD "fs: {home: {kind: tmpfs, size: 2GiB}}\n");
	assert_string_equal(spelled(POLICY_FS_HOME), "{kind: tmpfs, size: 1GiB}");
}

static void
modes(void **state)
{
	(void)state;
	expect_good(OPEN);
	assert_string_equal(spelled(POLICY_MODE), "enforce");
	assert_true(value_of(POLICY_MODE)->is_bounded);
	expect_good(OPEN "mode: warn\n");
	assert_string_equal(spelled(POLICY_MODE), "warn");
	expect_two(BASE "mode: enforce\n", HEAD "mode: warn\n");
	assert_string_equal(spelled(POLICY_MODE), "enforce");
	/* Silence is enforce, wherever it stands. */
	expect_two(BASE, HEAD "mode: warn\n");
	assert_int_equal(value_of(POLICY_MODE)->number, 0);
	assert_string_equal(value_of(POLICY_MODE)->bound_origin.id, "acme/base");
	expect_code("HLP-21");
	expect_two(BASE "mode: warn\n", HEAD);
	assert_int_equal(value_of(POLICY_MODE)->number, 0);
	expect_two(BASE "mode: warn\n", HEAD "mode: warn\n");
	assert_int_equal(value_of(POLICY_MODE)->number, 1);
	expect_two(BASE "mode: warn\n", HEAD "mode: enforce\n");
	assert_string_equal(spelled(POLICY_MODE), "enforce");
	/* Silence is enforce, whoever is silent. */
	expect_two(BASE, HEAD "mode: warn\n");
	assert_string_equal(spelled(POLICY_MODE), "enforce");
	expect_code("HLP-21");
	expect_two(BASE "mode: warn\n", HEAD);
	assert_string_equal(spelled(POLICY_MODE), "enforce");
	expect_two(BASE "mode: warn\n", HEAD "mode: warn\n");
	assert_string_equal(spelled(POLICY_MODE), "warn");
}

static void
sets_are_inside_every_list(void **state)
{
	(void)state;
	expect_two(BASE "backends: [docker, local]\n", HEAD "backends: [local]\n");
	assert_string_equal(spelled(POLICY_BACKENDS), "[local]");
	expect_two(BASE "backends: [docker, local]\n", HEAD "backends: [ssh, local]\n");
	assert_string_equal(spelled(POLICY_BACKENDS), "[local]");
	expect_code("HLP-21");
	expect_two_error(BASE "backends: [docker]\n", HEAD "backends: [local]\n", "HLP-15");
	expect_two_error(BASE "backends: [docker]\n", HEAD "backends: {default: local}\n",
	    "HLP-19");
	expect_good(OPEN "backends: {allowed: [local, docker], default: docker}\n");
	assert_string_equal(spelled(POLICY_BACKENDS), "[docker]");
	/* With no default among those allowed, the first that is. */
	expect_good(OPEN "backends: {allowed: [docker]}\n");
	assert_string_equal(spelled(POLICY_BACKENDS), "[docker]");
	expect_error(OPEN "backends: {allowed: [local], default: [docker]}\n", "HLP-17");
	expect_error(OPEN "backends: []\n", "HLP-15");
	expect_good(OPEN "image: {allowed: [\"a@*\"]}\nenv: {pass: []}\n");
	assert_string_equal(spelled(POLICY_ENV_PASS), "[]");
	assert_true(value_of(POLICY_ENV_PASS)->is_bounded);
}

static void
patterns_narrow_with_certainty(void **state)
{
	(void)state;
	expect_two(BASE "env: {pass: [\"CI_*\", LANG]}\n",
	    HEAD "env: {pass: [CI_JOB, \"CI_X_*\"]}\n");
	assert_string_equal(spelled(POLICY_ENV_PASS), "[CI_JOB, CI_X_*]");
	assert_int_equal(t.findings.warnings, 0);
	/* What is left of a wider default is what the narrower bound names. */
	expect_good("version: 1\nid: a\nlevel: open@1\nenv: {pass: {allowed: [LC_ALL, TZ]}}\n");
	assert_string_equal(spelled(POLICY_ENV_PASS), "[LC_ALL, TZ]");
	/* Overlap without inclusion is not certain, so it does not pass. */
	expect_two(BASE "env: {pass: [\"A*\"]}\n", HEAD "env: {pass: [\"*B\", AB]}\n");
	assert_string_equal(spelled(POLICY_ENV_PASS), "[AB]");
	expect_two(BASE "env: {pass: [\"A?C\"]}\n", HEAD "env: {pass: [\"A*C\"]}\n");
	assert_string_equal(spelled(POLICY_ENV_PASS), "[\"A?C\"]");
	expect_two(BASE "image: [\"reg/x@*\"]\n",
	    HEAD "image: {default: \"reg/x@sha256:"
		 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}\n");
	assert_int_equal(value_of(POLICY_IMAGE)->items_len, 1);
	expect_two_error(BASE "image: [\"reg/x@*\"]\n", HEAD "image: {default: \"reg/y:1\"}\n",
	    "HLP-19");
}

static void
denials_add_up(void **state)
{
	(void)state;
	expect_two(BASE "fs: {deny: [/a, /b]}\n", HEAD "fs: {deny: [/b, /c]}\n");
	assert_string_equal(spelled(POLICY_FS_DENY), "[/a, /b, /c]");
}

static void
first_layer_decides(void **state)
{
	(void)state;
	expect_two_error(BASE "process: {user: \"5:5\"}\n", HEAD "process: {user: \"6:6\"}\n",
	    "HLP-20");
	expect_two(BASE "process: {user: \"5:5\"}\n", HEAD "process: {user: \"5:5\"}\n");
	assert_string_equal(value_of(POLICY_PROCESS_USER)->origin.id, "acme/base");
	expect_two(BASE "process: {user: {default: image}}\n", HEAD "process: {user: caller}\n");
	assert_string_equal(spelled(POLICY_PROCESS_USER), "caller");
	expect_two_error(BASE "process: {user: caller}\n",
	    HEAD "process: {user: {default: image}}\n", "HLP-19");
	expect_two_error(BASE "env: {set: {A: x}}\n", HEAD "env: {set: {A: z}}\n", "HLP-20");
	expect_two(BASE "env: {set: {A: x}}\n", HEAD "env: {set: {A: x, B: z}}\n");
	assert_string_equal(spelled(POLICY_ENV_SET), "{A: x, B: z}");
	expect_two_error(BASE "fs: {workdir: {path: /a}}\n", HEAD "fs: {workdir: {path: /b}}\n",
	    "HLP-20");
	expect_two_error(BASE "fs: {home: {kind: bind, src: /a}}\n",
	    HEAD "fs: {home: {kind: bind, src: /b}}\n", "HLP-20");
	expect_two(BASE "fs: {home: {kind: bind, src: /a}}\n",
	    HEAD "fs: {home: {kind: bind, src: /a}}\n");
	expect_two(BASE "fs: {home: {kind: bind, src: /a}}\n", HEAD "fs: {home: tmpfs}\n");
	assert_string_equal(spelled(POLICY_FS_HOME), "{kind: tmpfs}");
	expect_two(BASE "fs: {workdir: {path: /a, access: ro}}\n",
	    HEAD "fs: {workdir: {at: /w, access: rw}}\n");
	assert_string_equal(spelled(POLICY_FS_WORKDIR), "{access: ro, path: /a, at: /w}");
	expect_code("HLP-21");
}

static void
mounts_meet_by_destination(void **state)
{
	(void)state;
	expect_two(BASE "fs: {mounts: [{src: /s, dst: /d, access: rw}, {src: /t, dst: /e}]}\n",
	    HEAD "fs: {mounts: [{src: /s, dst: /d, exec: false}]}\n");
	assert_string_equal(spelled(POLICY_FS_MOUNTS),
	    "[{src: /s, dst: /d, access: ro, exec: false}]");
	assert_int_equal(t.findings.warnings, 0);
	/* Looser access is cut, another source or place is dropped; both are told. */
	expect_two(BASE "fs: {mounts: [{src: /s, dst: /d}]}\n",
	    HEAD "fs: {mounts: [{src: /s, dst: /d, access: rw}]}\n");
	assert_string_equal(value_of(POLICY_FS_MOUNTS)->bound_origin.id, "acme/base");
	assert_string_equal(spelled(POLICY_FS_MOUNTS), "[{src: /s, dst: /d, access: ro}]");
	expect_code("HLP-21");
	expect_two(BASE "fs: {mounts: [{src: /s, dst: /d}]}\n",
	    HEAD "fs: {mounts: [{src: /x, dst: /d}]}\n");
	assert_int_equal(value_of(POLICY_FS_MOUNTS)->items_len, 0);
	expect_code("HLP-21");
	assert_string_equal(value_of(POLICY_FS_MOUNTS)->bound_origin.id, "acme/team");
	/* The same way below both ends is inside. */
	expect_two(BASE "fs: {mounts: [{src: /s, dst: /d}]}\n",
	    HEAD "fs: {mounts: [{src: /s/x, dst: /d/x}]}\n");
	assert_int_equal(value_of(POLICY_FS_MOUNTS)->items_len, 1);
	assert_int_equal(t.findings.warnings, 0);
	expect_two(BASE "fs: {mounts: [{src: /s, dst: /d}]}\n",
	    HEAD "fs: {mounts: [{src: /sx, dst: /dx}, {src: /s/a, dst: /d/b}]}\n");
	assert_int_equal(value_of(POLICY_FS_MOUNTS)->items_len, 0);
	expect_two_error(BASE "fs: {mounts: [{src: /s, dst: /d}]}\n",
	    HEAD "fs: {mounts: {default: [{src: /x, dst: /d}]}}\n", "HLP-19");
	expect_two(BASE "fs: {tmpfs: [{dst: /tmp, size: 8MiB, exec: true}]}\n",
	    HEAD "fs: {tmpfs: [{dst: /tmp, size: 4MiB}, {dst: /work}]}\n");
	assert_string_equal(spelled(POLICY_FS_TMPFS),
	    "[{dst: /tmp, size: 4MiB, exec: false, mode: \"1777\"}]");
}

/* U44: an empty list is a value with an origin, not the absence of one */
static void
u44_an_empty_list_has_its_origin(void **state)
{
	struct hl_buf text;

	(void)state;
	expect_good(OPEN "fs: {mounts: []}\n");
	assert_int_equal(value_of(POLICY_FS_MOUNTS)->items_len, 0);
	assert_true(value_of(POLICY_FS_MOUNTS)->is_explicit);
	assert_int_equal(value_of(POLICY_FS_MOUNTS)->origin.where.line, 4);
	hl_buf_init(&text, 1 << 16);
	assert_int_equal(policy_show(t.policy, POLICY_SHOW_ORIGINS, &text, &t.err), 0);
	assert_non_null(strstr(text.data, "mounts: []  # p.yaml:4:14 (task, acme/team)\n"));
	hl_buf_done(&text);
	expect_good(OPEN);
	assert_false(value_of(POLICY_FS_MOUNTS)->is_explicit);
	assert_string_equal(value_of(POLICY_FS_MOUNTS)->origin.layer, "built-in");
}

static void
locks_hold_against_later_files(void **state)
{
	(void)state;
	expect_two_error(BASE "limits: {pids: 10}\nlock: [limits.pids]\n",
	    HEAD "limits: {pids: 5}\n", "HLP-18");
	expect_two(BASE "limits: {pids: 10}\nlock: [limits.pids]\n", HEAD "limits: {files: 50}\n");
	assert_int_equal(value_of(POLICY_LIMITS_PIDS)->number, 10);
	assert_true(value_of(POLICY_LIMITS_PIDS)->is_locked);
	/* A level of a later file changes nothing that is locked, and is no mistake. */
	expect_two(BASE "process: {caps: [CHOWN]}\nlock: [process.caps]\n",
	    HEAD "level: baseline@1\n");
	assert_string_equal(spelled(POLICY_PROCESS_CAPS), "[CHOWN]");
	/* The file that locks may set its own values after the lock in the text. */
	expect_good(OPEN "lock: [limits.pids]\nlimits: {pids: 7}\n");
	assert_int_equal(value_of(POLICY_LIMITS_PIDS)->number, 7);
}

static void
layers_have_their_order(void **state)
{
	static const char *const files[] = { "base.yaml", "team.yaml" };

	(void)state;
	/* Named first, but a task: the org's file folds before it, so its lock comes first. */
	stack_write(files[0], HEAD "layer: task\nlimits: {pids: 5}\n", strlen(HEAD) + 30);
	stack_write(files[1], BASE "lock: [limits.pids]\n", strlen(BASE) + 20);
	assert_int_equal(stack_load_files(files, 2), -1);
	expect_code("HLP-18");
}

static void
levels_fold_before_their_file(void **state)
{
	(void)state;
	/* A stricter level of a later file tightens what an earlier one left open. */
	expect_two(BASE "network: {mode: host}\n", HEAD "level: baseline@1\n");
	assert_string_equal(spelled(POLICY_NETWORK_MODE), "none");
	assert_string_equal(value_of(POLICY_NETWORK_MODE)->bound_origin.layer, "level");
	assert_string_equal(policy_level(t.policy), "baseline@1");
	/* The same level again undoes no default. */
	expect_two("version: 1\nid: acme/base\nlayer: org\nlevel: baseline@1\n"
		   "network: {mode: {max: proxy, default: proxy}}\n",
	    HEAD "level: baseline@1\n");
	assert_string_equal(spelled(POLICY_NETWORK_MODE), "proxy");
	/* Looser than the file's own level: told, and without effect. */
	expect_good(HEAD "level: baseline@1\nnetwork: {mode: host}\n");
	expect_code("HLP-21");
	assert_string_equal(spelled(POLICY_NETWORK_MODE), "proxy");
}

static void
contradictions_inside_one_file(void **state)
{
	(void)state;
	expect_error(OPEN "fs: {mounts: [{src: /a, dst: /d}, {src: /b, dst: /d}]}\n", "HLP-15");
	expect_good(OPEN "fs: {mounts: [{src: /a, dst: /d}, {src: /b, dst: /d/e}]}\n");
	expect_error(OPEN "fs: {mounts: [{src: /a, dst: /d}], tmpfs: [{dst: /d}]}\n", "HLP-15");
	expect_error(OPEN "fs: {mounts: [{src: /a, dst: /d}], workdir: {at: /d}}\n", "HLP-15");
	expect_error(OPEN "fs: {tmpfs: [{dst: /d}, {dst: /d}]}\n", "HLP-15");
	expect_error(OPEN "fs: {root: read_only, workdir: {at: /}}\n", "HLP-15");
	expect_error(OPEN "process: {caps: [CHOWN], seccomp: {profile: strict}}\n", "HLP-15");
	expect_good(OPEN "process: {caps: [], seccomp: {profile: strict}}\n");
	expect_error(OPEN "process: {user: \"0:0\"}\n", "HLP-15");
	expect_good(OPEN "process: {user: \"0:0\", allow_root: true}\n");
	/* Across layers it is nobody's mistake: strict simply makes the capability useless. */
	expect_two(BASE "process: {caps: [CHOWN]}\n",
	    HEAD "process: {seccomp: {profile: strict}}\n");
	assert_int_equal(policy_get(t.policy, POLICY_PROCESS_CAPS)->items_len, 0);
	expect_two(BASE "process: {caps: [CHOWN]}\n",
	    HEAD "process: {seccomp: {profile: default}}\n");
	assert_int_equal(policy_get(t.policy, POLICY_PROCESS_CAPS)->items_len, 1);
}

static void
lists_have_caps(void **state)
{
	struct hl_buf text;

	(void)state;
	hl_buf_init(&text, 1 << 20);
	hl_buf_puts(&text, OPEN "env: {pass: [");
	for (int i = 0; i < 1025; i++)
		hl_buf_putf(&text, "A%d, ", i);
	hl_buf_puts(&text, "]}\n");
	expect_error(text.data, "HLP-12");
	hl_buf_reset(&text);
	hl_buf_puts(&text, OPEN "fs:\n  mounts:\n");
	for (int i = 0; i < 257; i++)
		hl_buf_putf(&text, "    - {src: /a, dst: /d%d}\n", i);
	expect_error(text.data, "HLP-12");
	hl_buf_done(&text);
}

/* A lock holds also against a level that comes later, and who names that is told what it does not
 * bring; where the lock is as tight nothing is told. */
static void
a_level_above_a_lock(void **state)
{
	static const char *const level = HEAD "level: restricted@1\n";

	(void)state;
	assert_int_equal(stack_load_two(BASE "lock: [network.mode, process.caps]\n"
					     "network: {mode: bridge}\nprocess: {caps: [CHOWN]}\n",
			     level),
	    0);
	assert_int_equal(t.findings.warnings, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(t.findings.items[i].code, HLP_18);
		assert_string_equal(t.findings.items[i].where.file, "team.yaml");
		assert_int_equal(t.findings.items[i].where.line, 3);
		assert_string_equal(t.findings.items[i].other.file, "base.yaml");
	}
	assert_non_null(strstr(stack_text(),
	    "restricted@1 does not tighten network.mode, locked by acme/base"));
	assert_string_equal(spelled(POLICY_NETWORK_MODE), "bridge");
	assert_int_equal(stack_load_two(BASE "lock: [network.mode, process.caps]\n"
					     "network: {mode: none}\nprocess: {caps: []}\n",
			     level),
	    0);
	assert_int_equal(t.findings.len, 0);
	/* What is locked and bounded by nobody lets everything through. */
	assert_int_equal(stack_load_two(BASE "lock: [network.mode]\n", level), 0);
	assert_int_equal(t.findings.warnings, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_take_the_smaller_bound),
		cmocka_unit_test(a_level_above_a_lock),
		cmocka_unit_test(defaults_move_inside_the_bound),
		cmocka_unit_test(days_grow),
		cmocka_unit_test(bits_add_up),
		cmocka_unit_test(a_request_adds_bits),
		cmocka_unit_test(words_and_truth_values_take_the_stricter),
		cmocka_unit_test(modes),
		cmocka_unit_test(sets_are_inside_every_list),
		cmocka_unit_test(patterns_narrow_with_certainty),
		cmocka_unit_test(denials_add_up),
		cmocka_unit_test(first_layer_decides),
		cmocka_unit_test(mounts_meet_by_destination),
		cmocka_unit_test(u44_an_empty_list_has_its_origin),
		cmocka_unit_test(locks_hold_against_later_files),
		cmocka_unit_test(layers_have_their_order),
		cmocka_unit_test(levels_fold_before_their_file),
		cmocka_unit_test(contradictions_inside_one_file),
		cmocka_unit_test(lists_have_caps),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
