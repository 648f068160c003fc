/*
 * Two policies against each other: each kind of field in each direction, containment, levels.
 */
#include "policy/state.h"
#include "stack.h"

#include "base/banned.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct policy_differences differences;

static struct policy *
load_text(const char *name, const char *body)
{
	char text[2048];
	struct policy *policy = NULL;
	struct policy_findings findings;
	struct hl_err err = { 0 };
	int len =
	    snprintf(text, sizeof(text), "version: 1\nid: acme/%s\nlevel: open@1\n%s", name, body);
	const struct policy_text only = { name, text, (size_t)len };

	if (policy_load_texts(&only, 1, &policy, &findings, &err) != 0)
		fail_msg("%s: %s", body, err.msg);
	policy_findings_done(&findings);
	return policy;
}

static enum policy_relation
relation(const char *old_body, const char *new_body, const char *what)
{
	struct policy *old = load_text("old", old_body), *new = load_text("new", new_body);
	struct hl_err err = { 0 };
	enum policy_relation found = POLICY_RELATION_SAME;

	assert_int_equal(policy_compare(old, new, &differences, &err), 0);
	for (size_t i = 0; i < differences.len; i++) {
		assert_int_not_equal(differences.items[i].relation, POLICY_RELATION_SAME);
		if (strcmp(differences.items[i].what, what) == 0)
			found = differences.items[i].relation;
		else
			fail_msg("%s differs as well", differences.items[i].what);
	}
	policy_free(old);
	policy_free(new);
	return found;
}

struct row {
	const char *key, *strict, *weak;
};

/* In each row the first is inside the second, and not the other way round. */
static const struct row rows[] = {
	{ "mode", "mode: enforce\n", "mode: warn\n" },
	{ "backends", "backends: [local]\n", "backends: [local, docker]\n" },
	{ "process.user", "process: {user: \"1000\"}\n", "process: {user: {default: \"1000\"}}\n" },
	{ "process.allow_root", "process: {allow_root: false}\n", "process: {allow_root: true}\n" },
	{ "process.no_new_privs", "process: {no_new_privs: true}\n",
	    "process: {no_new_privs: false}\n" },
	{ "process.caps", "process: {caps: []}\n", "process: {caps: [CHOWN]}\n" },
	{ "process.caps", "process: {caps: [CHOWN]}\n",
	    "process: {caps: {allowed: [KILL, CHOWN], default: [CHOWN]}}\n" },
	{ "process.seccomp.deny", "process: {seccomp: {deny: [ptrace, bpf]}}\n",
	    "process: {seccomp: {deny: [bpf]}}\n" },
	{ "fs.devices", "fs: {devices: [gpu:1]}\n", "fs: {devices: [gpu:all]}\n" },
	{ "process.umask", "process: {umask: \"077\"}\n", "process: {umask: \"022\"}\n" },
	{ "process.umask", "process: {umask: \"072\"}\n", "process: {umask: \"050\"}\n" },
	{ "process.umask", "process: {umask: {min: \"022\"}}\n", "" },
	{ "process.umask", "process: {umask: {min: \"020\", default: \"077\"}}\n",
	    "process: {umask: {min: \"020\", default: \"027\"}}\n" },
	{ "fs.protect", "fs: {protect: [.git/hooks, .envrc]}\n", "fs: {protect: [.git/hooks]}\n" },
	{ "fs.protect", "fs: {protect: [.git/hooks/]}\n", "fs: {protect: [.git/hooks]}\n" },
	{ "fs.protect", "fs: {protect: [a]}\n", "fs: {protect: [a/b/]}\n" },
	{ "fs.protect", "fs: {protect: [a/]}\n", "fs: {protect: [a/b/]}\n" },
	{ "limits.memory", "limits: {memory: 1GiB}\n", "limits: {memory: 2GiB}\n" },
	{ "limits.memory", "limits: {memory: 1GiB}\n", "" },
	{ "limits.memory", "limits: {memory: {max: 4GiB, default: 1GiB}}\n",
	    "limits: {memory: {max: 4GiB, default: 2GiB}}\n" },
	{ "network.allow", "network: {allow: []}\n", "network: {allow: [{host: a.example}]}\n" },
	{ "network.allow", "network: {allow: [{host: a.x.example, ports: [443]}]}\n",
	    "network: {allow: [{host: \"*.x.example\", ports: [443, 80]}]}\n" },
	{ "network.allow", "network: {allow: [{host: a.example, methods: [GET]}]}\n",
	    "network: {allow: [{host: a.example}]}\n" },
	{ "network.allow", "network: {allow: [{host: a.example, paths: [/v1/x]}]}\n",
	    "network: {allow: [{host: a.example, paths: [\"/v1/*\"]}]}\n" },
	{ "network.allow", "network: {allow: [{host: a.example, tls: inspect}]}\n",
	    "network: {allow: [{host: a.example, tls: splice}]}\n" },
	{ "network.allow", "network: {allow: {allowed: [{host: a.example}], default: []}}\n", "" },
	{ "process.seccomp.files",
	    "process: {seccomp: {files: [{file: /a, sha256: " DIGEST "}]}}\n", "" },
	{ "network.deny", "network: {deny: [{host: \"*.example\"}]}\n",
	    "network: {deny: [{host: a.example, ports: [80]}]}\n" },
	{ "network.forward", "network: {forward: []}\n",
	    "network: {forward: [{listen: 1, to: \"a.example:1\"}]}\n" },
	{ "ssh.hosts", "ssh: {hosts: [{host: a.example, user: ci}]}\n",
	    "ssh: {hosts: [{host: a.example}]}\n" },
	{ "cloud.accounts", "cloud: {accounts: [{provider: modal, region: eu}]}\n",
	    "cloud: {accounts: [{provider: modal}]}\n" },
	{ "files", "files: [{src: /a, kind: credential}]\n",
	    "files: [{src: /a, kind: credential, refresh: true}]\n" },
	{ "secrets", "secrets: {}\n", "secrets: {A: {from: {env: A}, hosts: [a.example]}}\n" },
	{ "secrets", "secrets: {}\n", "" },
	{ "secrets", "secrets: {A: {from: {env: A}, hosts: [a.example], require: true}}\n",
	    "secrets: {A: {from: {env: A}, hosts: [a.example, b.example]}}\n" },
	{ "audit.retention", "audit: {retention: 90}\n", "audit: {retention: 30}\n" },
	{ "audit.retention", "audit: {retention: 400}\n", "" },
	{ "audit.retention", "audit: {retention: {min: 30, default: 90}}\n",
	    "audit: {retention: {min: 30, default: 60}}\n" },
	{ "limits.cpus", "limits: {cpus: 0.5}\n", "limits: {cpus: 4}\n" },
	{ "limits.wall", "limits: {wall: 90s}\n", "limits: {wall: 2m}\n" },
	{ "fs.deny", "fs: {deny: [/srv/a, /srv/b]}\n", "fs: {deny: [/srv/a]}\n" },
	{ "fs.deny", "fs: {deny: [/srv]}\n", "fs: {deny: [/srv/a]}\n" },
	{ "fs.mounts", "fs: {mounts: [{src: /a, dst: /b}]}\n",
	    "fs: {mounts: [{src: /a, dst: /b, access: rw}]}\n" },
	{ "fs.mounts", "fs: {mounts: []}\n", "fs: {mounts: [{src: /a, dst: /b}]}\n" },
	{ "fs.tmpfs", "fs: {tmpfs: [{dst: /tmp, size: 1MiB}]}\n",
	    "fs: {tmpfs: [{dst: /tmp, size: 2MiB}]}\n" },
	{ "fs.home", "fs: {home: tmpfs}\n", "fs: {home: persist}\n" },
	{ "fs.home", "fs: {home: {kind: tmpfs, size: 1MiB}}\n",
	    "fs: {home: {kind: tmpfs, size: 2MiB}}\n" },
	{ "fs.workdir", "fs: {workdir: {access: ro}}\n", "fs: {workdir: {access: rw}}\n" },
	{ "fs.workdir", "fs: {workdir: {path: /srv/x}}\n", "" },
	{ "network.mode", "network: {mode: none}\n",
	    "network: {mode: {max: host, default: none}}\n" },
	{ "env.pass", "env: {pass: [LC_ALL]}\n", "env: {pass: [\"LC_*\"]}\n" },
	{ "env.set", "env: {set: {A: a, B: b}}\n", "env: {set: {A: a}}\n" },
	{ "image.digest", "image: {digest: true}\n", "image: {digest: false}\n" },
	{ "limits.pids", "lock: [limits.pids]\n", "" },
	{ "degrade.allow", "", "degrade: {allow: [limits.memory]}\n" },
	{ "degrade.allow", "degrade: {allow: [limits.memory]}\n",
	    "degrade: {allow: [\"limits.*\"]}\n" },
};

static void
each_kind_has_a_direction(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		if (relation(row->weak, row->strict, row->key) != POLICY_RELATION_TIGHTER)
			fail_msg("%s: %s is not tighter than %s", row->key, row->strict, row->weak);
		if (relation(row->strict, row->weak, row->key) != POLICY_RELATION_LOOSER)
			fail_msg("%s: %s is not looser than %s", row->key, row->weak, row->strict);
		assert_int_equal(relation(row->weak, row->weak, row->key), POLICY_RELATION_SAME);
		assert_int_equal(differences.len, 0);
	}
}

/* Neither inside the other. */
static void
what_cannot_be_ordered_has_moved(void **state)
{
	static const struct row moved[] = {
		{ "process.user", "process: {user: \"1000\"}\n", "process: {user: \"1001\"}\n" },
		{ "env.set", "env: {set: {A: a}}\n", "env: {set: {A: b}}\n" },
		{ "process.umask", "process: {umask: \"050\"}\n", "process: {umask: \"027\"}\n" },
		{ "process.umask", "process: {umask: {min: \"020\", default: \"037\"}}\n",
		    "process: {umask: {min: \"020\", default: \"067\"}}\n" },
		{ "fs.devices", "fs: {devices: [gpu:0]}\n", "fs: {devices: [gpu:1]}\n" },
		{ "env.pass", "env: {pass: [A_1, B_1]}\n", "env: {pass: [B_1, C_1]}\n" },
		{ "backends", "backends: [local, docker]\n", "backends: [docker, local]\n" },
		{ "fs.workdir", "fs: {workdir: {path: /a}}\n", "fs: {workdir: {path: /b}}\n" },
		{ "limits.memory", "limits: {memory: {max: 4GiB, default: 1GiB}}\n",
		    "limits: {memory: {max: 3GiB, default: 2GiB}}\n" },
		{ "fs.mounts", "fs: {mounts: [{src: /a, dst: /m}]}\n",
		    "fs: {mounts: [{src: /b, dst: /m}]}\n" },
		{ "network.allow", "network: {allow: [{host: a.example, ports: [80, 443]}]}\n",
		    "network: {allow: [{host: a.example, methods: [GET], ports: [443, 1]}]}\n" },
		{ "process.seccomp.files",
		    "process: {seccomp: {files: [{file: /a, sha256: " DIGEST "}]}}\n",
		    "process: {seccomp: {files: [{file: /b, sha256: " DIGEST "}]}}\n" },
		{ "network.deny", "network: {deny: [{host: a.example, ports: [80]}]}\n",
		    "network: {deny: [{host: a.example, ports: [81]}]}\n" },
		{ "secrets", "secrets: {A: {from: {env: A}, hosts: [a.example]}}\n",
		    "secrets: {A: {from: {env: B}, hosts: [a.example]}}\n" },
		{ "secrets", "secrets: {A: {from: {env: A}, hosts: [a.example]}}\n",
		    "secrets: {A: {from: {env: A}, hosts: [a.example], in: [body]}}\n" },
		{ "secrets", "secrets: {A: {from: {env: A}, hosts: [a.example]}}\n",
		    "secrets: {B: {from: {env: A}, hosts: [a.example]}}\n" },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(moved); i++) {
		if (relation(moved[i].strict, moved[i].weak, moved[i].key) != POLICY_RELATION_MOVED)
			fail_msg("%s has not moved", moved[i].strict);
		assert_int_equal(differences.moved, 1);
	}
}

static void
values_of_variables_are_not_told(void **state)
{
	(void)state;
	relation("env: {set: {A: hush-1}}\n", "env: {set: {A: hush-2}}\n", "env.set");
	assert_null(strstr(differences.items[0].old_text, "hush"));
	assert_null(strstr(differences.items[0].new_text, "hush"));
	assert_non_null(strstr(differences.items[0].new_text, "A"));
}

/* What field.h calls private: neither where two policies differ, nor where one goes past another.
 */
static void
what_may_be_a_secret_is_not_told(void **state)
{
	static const struct row private[] = {
		{ "secrets", "secrets: {T: {from: {command: [p, hush-1]}, hosts: [a.example]}}\n",
		    "secrets: {T: {from: {command: [p, hush-2]}, hosts: [b.example]}}\n" },
		{ "exec.allowed", "exec: {allowed: [/bin/hush-1]}\n",
		    "exec: {allowed: [/bin/hush-2]}\n" },
		{ "engine_args", "engine_args: [\"--label=hush-1\"]\n",
		    "engine_args: [\"--label=hush-2\"]\n" },
		{ "audit.redact", "audit: {redact: [hush-1]}\n", "audit: {redact: [hush-2]}\n" },
		{ "egress.proxy.url", "egress: {proxy: {url: \"http://hush-1.example\"}}\n",
		    "egress: {proxy: {url: \"http://hush-2.example\"}}\n" },
		{ "env.set", "env: {set: {T: hush-1}}\n", "env: {set: {T: hush-2}}\n" },
	};
	struct hl_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(private); i++) {
		const struct row *row = &private[i];
		assert_int_equal(relation(row->strict, row->weak, row->key), POLICY_RELATION_MOVED);
		assert_null(strstr(differences.items[0].old_text, "hush"));
		assert_null(strstr(differences.items[0].new_text, "hush"));
		assert_true(differences.items[0].new_text[0] != '\0');
		struct policy *outer = load_text("outer", row->strict);
		struct policy *inner = load_text("inner", row->weak);
		struct policy_findings gaps = { 0 };
		assert_int_equal(policy_within(inner, outer, "x.yaml", &gaps, &err), 0);
		assert_int_equal(gaps.errors, 1);
		assert_non_null(strstr(gaps.items[0].message, row->key));
		assert_null(strstr(gaps.items[0].message, "hush"));
		policy_findings_done(&gaps);
		policy_free(inner);
		policy_free(outer);
	}
}

/* A layer that sets a control and does not let it go takes a piece out of a wider layer's pattern;
 * what is left of the pattern is a difference, though the pattern itself holds nowhere. */
static void
what_is_left_of_a_pattern_is_compared(void **state)
{
	static const char org[] = BASE "limits: {memory: 1GiB}\n";
	static const char task[] = OPEN "layer: task\n";
	static const char loose[] = OPEN "layer: task\ndegrade: {allow: [\"limits.*\"]}\n";
	struct policy *without;
	struct policy_findings gaps = { 0 };
	struct hl_err err = { 0 };

	(void)state;
	assert_int_equal(stack_load_two(org, task), 0);
	without = t.policy;
	t.policy = NULL;
	assert_int_equal(stack_load_two(org, loose), 0);
	assert_false(policy_may_degrade(t.policy, "limits.*", NULL));
	assert_false(policy_may_degrade(t.policy, "limits.memory", NULL));
	assert_true(policy_may_degrade(t.policy, "limits.pids", NULL));
	assert_int_equal(policy_compare(without, t.policy, &differences, &err), 0);
	assert_int_equal(differences.len, 1);
	assert_string_equal(differences.items[0].what, "degrade.allow");
	assert_int_equal(differences.items[0].relation, POLICY_RELATION_LOOSER);
	assert_int_equal(policy_compare(t.policy, without, &differences, &err), 0);
	assert_int_equal(differences.len, 1);
	assert_int_equal(differences.items[0].relation, POLICY_RELATION_TIGHTER);
	assert_int_equal(policy_within(t.policy, without, "x.yaml", &gaps, &err), 0);
	assert_int_equal(gaps.errors, 1);
	policy_findings_done(&gaps);
	policy_free(without);
}

/* What several layers allow together is less than each of them does. */
static void
a_stack_is_inside_what_its_layers_allow_together(void **state)
{
	struct policy *outer = load_text("outer", "env: {pass: [A_1]}\n");
	struct policy_findings gaps = { 0 };
	struct hl_err err = { 0 };

	(void)state;
	assert_int_equal(stack_load_two(BASE "env: {pass: [A_1, B_1]}\n",
			     OPEN "env: {pass: [A_1, C_1]}\n"),
	    0);
	assert_int_equal(policy_within(t.policy, outer, "x.yaml", &gaps, &err), 0);
	assert_int_equal(gaps.errors, 0);
	assert_int_equal(policy_within(outer, t.policy, "x.yaml", &gaps, &err), 0);
	assert_int_equal(gaps.errors, 0);
	policy_findings_done(&gaps);
	policy_free(outer);
}

static void
what_exceeds_is_told_with_both_places(void **state)
{
	struct policy *outer = load_text("outer", "limits: {memory: 1GiB, pids: 10}\n");
	struct policy *inner = load_text("inner", "limits: {memory: 2GiB}\n");
	struct policy_findings gaps = { 0 };
	struct hl_err err = { 0 };

	(void)state;
	assert_int_equal(policy_within(inner, outer, "x.yaml", &gaps, &err), 0);
	assert_int_equal(gaps.errors, 2);
	assert_int_equal(gaps.items[0].code, HLP_26);
	assert_string_equal(gaps.items[0].where.file, "inner");
	assert_int_equal(gaps.items[0].where.line, 4);
	assert_string_equal(gaps.items[0].other.file, "outer");
	assert_int_equal(gaps.items[0].other.line, 4);
	/* Where it says nothing there is no place but the file. */
	assert_string_equal(gaps.items[1].where.file, "x.yaml");
	assert_int_equal(gaps.items[1].where.line, 0);
	policy_findings_done(&gaps);
	policy_free(inner);
	policy_free(outer);
}

static size_t
gaps_of(const char *level, const char *text)
{
	struct policy *strict = NULL;
	struct policy_findings gaps = { 0 };
	struct hl_err err = { 0 };

	assert_int_equal(policy_load_level(level, &strict, &err), 0);
	expect_good(text);
	assert_int_equal(policy_within(t.policy, strict, "p.yaml", &gaps, &err), 0);
	size_t n = gaps.errors;
	policy_findings_done(&gaps);
	policy_free(strict);
	return n;
}

static void
a_level_is_met_or_not(void **state)
{
	struct policy *none = NULL;
	struct hl_err err = { 0 };

	(void)state;
	assert_int_equal(gaps_of("restricted@1", HEAD "level: restricted@1\n"), 0);
	assert_int_equal(gaps_of("baseline@1", HEAD "level: restricted@1\n"), 0);
	assert_true(gaps_of("restricted@1", HEAD "level: baseline@1\n") >= 4);
	assert_true(gaps_of("baseline@1", OPEN) >= 4);
	/* What a level asks for is not met when it may go missing, or only be advice. */
	assert_int_equal(gaps_of("restricted@1",
			     HEAD "level: restricted@1\ndegrade: {allow: [fs.landlock]}\n"),
	    1);
	assert_int_equal(gaps_of("restricted@1", HEAD "level: restricted@1\nmode: warn\n"), 1);
	assert_int_equal(policy_load_level("strict@9", &none, &err), -1);
	assert_int_equal(err.code, HLU_01);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_has_a_direction),
		cmocka_unit_test(what_cannot_be_ordered_has_moved),
		cmocka_unit_test(values_of_variables_are_not_told),
		cmocka_unit_test(what_may_be_a_secret_is_not_told),
		cmocka_unit_test(what_is_left_of_a_pattern_is_compared),
		cmocka_unit_test(a_stack_is_inside_what_its_layers_allow_together),
		cmocka_unit_test(what_exceeds_is_told_with_both_places),
		cmocka_unit_test(a_level_is_met_or_not),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
