/*
 * explain, and that no key of a policy is silent: U41, U43, U44, U131.
 */
#include "launcher/explain.h"
#include "plan_fixture.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

enum {
	EXPLAIN_FORMS = 2
};

/* The plan as explain shows it. controls: with the table of controls. NULL: refused. */
static char *
explained(struct fixture *fixture, const char *policy, bool json, bool controls)
{
	struct lowered lowered;
	struct control_gaps gaps = { 0 };
	struct plan_notes notes;
	struct hl_buf out;

	if (load_text(fixture, "open@1", policy) != 0 || build_plan(fixture) != 0)
		return NULL;
	assert_int_equal(plan_notes(fixture->policy, &fixture->host, &fixture->plan, &notes,
			     &fixture->err),
	    0);
	lowered_init(&lowered);
	const struct explain explain = {
		.policy = fixture->policy,
		.request = &fixture->request,
		.plan = &fixture->plan,
		.backend = backend_find(fixture->plan.backend, &fixture->err),
		.lowered = &lowered,
		.gaps = &gaps,
		.notes = &notes,
	};
	assert_non_null(explain.backend);
	hl_buf_init(&out, EXPLAIN_MAX);
	if (json)
		explain_json(&explain, &out);
	else
		explain_plan_text(&explain, &out);
	if (!json && controls)
		explain_controls_text(&explain, &out);
	assert_int_equal(hl_buf_check(&out, "explain", &fixture->err), 0);
	plan_notes_done(&notes);
	lowered_done(&lowered);
	return hl_buf_take(&out);
}

/* Every key, set to something that is not its default. "%s" is the temporary tree. */
struct sample {
	enum policy_field field;
	const char *text;
};

static const struct sample samples[] = {
	{ POLICY_MODE, "mode: warn\n" },
	{ POLICY_BACKENDS, NULL }, /* below: the two backends themselves */
	{ POLICY_PROCESS_USER, "process: {user: \"1000:1000\"}\n" },
	{ POLICY_PROCESS_ALLOW_ROOT, "process: {allow_root: true}\n" },
	{ POLICY_PROCESS_NO_NEW_PRIVS, "process: {no_new_privs: false}\n" },
	{ POLICY_PROCESS_CAPS, "process: {caps: [CHOWN]}\n" },
	{ POLICY_PROCESS_SECCOMP_PROFILE, "process: {seccomp: {profile: broad}}\n" },
	{ POLICY_PROCESS_SECCOMP_DENY, "process: {seccomp: {deny: [ptrace]}}\n" },
	{ POLICY_PROCESS_SECCOMP_FILES, NULL }, /* tests/run/seccomp_files.sh, with files */
	{ POLICY_PROCESS_UMASK, "process: {umask: \"077\"}\n" },
	{ POLICY_LIMITS_WALL, "limits: {wall: 90s}\n" },
	{ POLICY_LIMITS_CPUS, "limits: {cpus: 0.5}\n" },
	{ POLICY_LIMITS_MEMORY, "limits: {memory: 512MiB}\n" },
	{ POLICY_LIMITS_PIDS, "limits: {pids: 32}\n" },
	{ POLICY_LIMITS_FILES, "limits: {files: 64}\n" },
	{ POLICY_LIMITS_SHM, "limits: {shm: 1MiB}\n" },
	{ POLICY_LIMITS_OUTPUT, "limits: {output: 2MiB}\n" },
	{ POLICY_LIMITS_DISK, "limits: {disk: 64MiB}\n" },
	{ POLICY_FS_ROOT, "fs: {root: writable}\n" },
	{ POLICY_FS_WORKDIR, "fs: {workdir: {access: ro}}\n" },
	{ POLICY_FS_MOUNTS, "fs: {mounts: [{src: /usr/share, dst: /mnt/x}]}\n" },
	{ POLICY_FS_TMPFS,
	    "fs: {tmpfs: [{dst: /scratch, size: 1MiB, exec: false, mode: \"1777\"}]}\n" },
	{ POLICY_FS_DENY, "fs: {deny: [\"/etc/hostname\"]}\n" },
	{ POLICY_FS_PROTECT, "fs: {protect: [kept]}\n" },
	{ POLICY_FS_DEVICES, NULL }, /* below: one that this machine has */
	{ POLICY_FS_HOME, "fs: {home: {kind: persist}}\n" },
	{ POLICY_FS_LANDLOCK, "fs: {landlock: none}\n" },
	{ POLICY_NETWORK_MODE, "network: {mode: host}\n" },
	{ POLICY_ENV_PASS, "env: {pass: [NO_SUCH_THING]}\n" },
	{ POLICY_ENV_SET, "env: {set: {SOME_NAME: hush-hush-value}}\n" },
	{ POLICY_IMAGE, "image: [\"y@sha256:" DIGEST "\"]\n" },
	{ POLICY_IMAGE_DIGEST, "image: {digest: false}\n" },
	{ POLICY_IMAGE_PULL, "image: {pull: never}\n" },
	{ POLICY_DOCKER_ENDPOINT, "docker: {endpoint: /t/y.sock}\n" },
	{ POLICY_DOCKER_ROOTLESS, "docker: {rootless: required}\n" },
	{ POLICY_DOCKER_CLIENT, "docker: {client: cli}\n" },
	{ POLICY_LOCAL_ISOLATION, "local: {isolation: strict}\n" },
	{ POLICY_AUDIT_REQUIRED, "audit: {required: false}\n" },
	{ POLICY_SESSION_PERSIST, "session: {persist: session}\n" },
	{ POLICY_SESSION_REUSE, "session: {reuse: identical}\n" },
	{ POLICY_SESSION_LEASE, "session: {lease: 2h}\n" },
};

static const char *const backends[] = { "backends: [local]\n", "backends: [docker]\n" };

static bool
is_applied_nowhere(const char *key)
{
	for (unsigned i = 0; i < CONTROL_MAX; i++)
		if (strcmp(control_info((enum control)i)->name, key) == 0)
			return !control_is_applied_somewhere((enum control)i);
	return false;
}

static void
test_u41_samples_are_complete(void **state)
{
	(void)state;
	size_t next = 0;
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		/* test_plan_keys.c has those that no backend applies, each with all its words. */
		if (is_applied_nowhere(policy_field_key((enum policy_field)i)))
			continue;
		assert_true(next < HL_ARRAY_SIZE(samples));
		assert_int_equal(samples[next++].field, i);
	}
	assert_int_equal(next, HL_ARRAY_SIZE(samples));
}

/* U41: each key changes what explain shows of the plan, or is refused by name; none is silent. The
 * table of controls prints every key anyway and so is left out of the comparison. */
static void
test_u41_no_key_is_silent(void **state)
{
	struct fixture *fixture = *state;
	char text[2048];

	for (size_t b = 0; b < HL_ARRAY_SIZE(backends); b++) {
		HL_AUTO_FREE char *plain = explained(fixture, backends[b], false, false);
		if (plain == NULL)
			fail_msg("%s: %s", backends[b], fixture->err.msg);
		for (size_t i = 0; i < HL_ARRAY_SIZE(samples); i++) {
			if (samples[i].text == NULL)
				continue;
			snprintf(text, sizeof(text), "%s%s", backends[b], samples[i].text);
			HL_AUTO_FREE char *changed = explained(fixture, text, false, false);
			const char *key = policy_field_key(samples[i].field);
			if (changed != NULL && strcmp(changed, plain) == 0)
				fail_msg("%s is silent with %s", key, backends[b]);
			if (changed == NULL && fixture->findings.errors == 0) {
				if (strstr(fixture->err.msg, key) == NULL)
					fail_msg("%s with %s: %s", key, backends[b],
					    fixture->err.msg);
				assert_int_equal(fixture->err.code, HLD_20);
			}
		}
	}
}

/* The same for devices, which a machine has or has not. */
static void
test_u41_devices_are_not_silent(void **state)
{
	static const char *const paths[] = { "/dev/net/tun", "/dev/fuse", "/dev/kvm", "/dev/hwrng",
		"/dev/loop0" };
	struct fixture *fixture = *state;
	const char *found = NULL;
	char text[256];

	for (size_t i = 0; i < HL_ARRAY_SIZE(paths) && found == NULL; i++)
		found = access(paths[i], F_OK) == 0 ? paths[i] : NULL;
	if (found == NULL) {
		print_message(
		    "# SKIP this machine has none of the devices that a policy may name\n");
		skip();
	}
	for (size_t b = 0; b < HL_ARRAY_SIZE(backends); b++) {
		snprintf(text, sizeof(text), "%s%sfs: {devices: [%s]}\n", backends[b],
		    b == 0 ? "local: {isolation: confined}\n" : "", found);
		HL_AUTO_FREE char *changed = explained(fixture, text, false, false);
		if (changed == NULL)
			fail_msg("%s: %s", backends[b], fixture->err.msg);
		assert_non_null(strstr(changed, found));
	}
}

/* HLD-20: in enforce an error; in warn a warning; in a policy that also allows the backend, a note.
 */
static void
test_u131_no_effect(void **state)
{
	struct fixture *fixture = *state;
	static const char policy[] = "image: [\"y@sha256:" DIGEST "\"]\n";
	struct plan_notes notes;
	char text[512];

	if (load_text(fixture, "baseline@1", policy) == 0) {
		assert_int_equal(build_plan(fixture), -1);
		assert_int_equal(fixture->err.code, HLD_20);
		assert_non_null(strstr(fixture->err.msg, "image"));
	}
	snprintf(text, sizeof(text), "mode: warn\n%s", policy);
	if (load_text(fixture, "baseline@1", text) == 0) {
		assert_int_equal(build_plan(fixture), 0);
		assert_int_equal(plan_notes(fixture->policy, &fixture->host, &fixture->plan, &notes,
				     &fixture->err),
		    0);
		assert_int_equal(notes.warnings.len, 1);
		plan_notes_done(&notes);
	}
	/* U43: what waits for its own backend disturbs nobody */
	snprintf(text, sizeof(text), "backends: [local, docker]\n%s", policy);
	assert_planned(fixture, text);
	assert_int_equal(plan_notes(fixture->policy, &fixture->host, &fixture->plan, &notes,
			     &fixture->err),
	    0);
	assert_int_equal(notes.warnings.len, 0);
	size_t about_image = 0;
	for (size_t i = 0; i < notes.lines.len; i++)
		about_image += strstr(notes.lines.v[i], "image") != NULL;
	plan_notes_done(&notes);
	assert_int_equal(about_image, 1);
}

/* Without a boundary what asks for one is refused, whoever asks, and what asks for none is not. */
static void
test_scrub_keeps_no_promise(void **state)
{
	static const char *const asking[] = {
		"network: {mode: none}\n",
		"process: {no_new_privs: true}\n",
		"process: {seccomp: {profile: broad}}\n",
		"fs: {mounts: []}\n",
		"fs: {deny: [/opt/secret]}\n",
		"fs: {landlock: required}\n",
		"fs: {workdir: {access: ro}}\n",
	};
	static const char *const silent[] = {
		"network: {mode: host}\n",
		"process: {no_new_privs: false, seccomp: {profile: none}}\n",
		"fs: {root: writable, landlock: none, workdir: {access: rw}}\n",
		"limits: {wall: 5s, files: 64}\n",
		"env: {pass: [LANG]}\n",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(asking); i++) {
		assert_int_equal(load_text(fixture, "open@1", asking[i]), 0);
		assert_int_equal(build_plan(fixture), -1);
		assert_int_equal(fixture->err.code, HLD_20);
		assert_non_null(strstr(fixture->err.msg, "scrub"));
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(silent); i++) {
		assert_int_equal(load_text(fixture, "open@1", silent[i]), 0);
		assert_int_equal(build_plan(fixture), 0);
		assert_int_equal(fixture->plan.isolation, PLAN_ISOLATION_SCRUB);
		assert_int_equal(fixture->plan.tmpfs_len, 0);
		assert_int_equal(fixture->plan.deny.len, 0);
		assert_string_equal(fixture->plan.home.path, fixture->home);
	}
}

static void
test_landlock_on_docker(void **state)
{
	struct fixture *fixture = *state;
	static const char policy[] =
	    "backends: [docker]\nimage: [\"y@sha256:" DIGEST "\"]\nfs: {landlock: required}\n";
	char text[512];

	if (load_text(fixture, "baseline@1", policy) == 0) {
		assert_int_equal(build_plan(fixture), -1);
		assert_int_equal(fixture->err.code, HLD_20);
	}
	snprintf(text, sizeof(text), "degrade: {allow: [fs.landlock]}\n%s", policy);
	assert_planned(fixture, text);
	/* restricted@1 brings it along for the backends that have it */
	assert_int_equal(load_text(fixture, "restricted@1",
			     "backends: [docker]\nimage: [\"y@sha256:" DIGEST "\"]\n"),
	    0);
	assert_int_equal(build_plan(fixture), 0);
}

/* U44: an empty list is shown as one, with its place. */
static void
test_u44_origins(void **state)
{
	struct fixture *fixture = *state;
	char want[256];

	HL_AUTO_FREE char *text = explained(fixture,
	    "backends: [local]\nfs: {mounts: []}\nlocal: {isolation: confined}\n", false, true);
	assert_non_null(text);
	snprintf(want, sizeof(want), "%s:5:", at(fixture, "policies/p.yaml"));
	const char *line = strstr(text, "\n  mounts");
	assert_non_null(line);
	assert_non_null(strstr(line, "none"));
	assert_non_null(strstr(line, want));
	assert_non_null(strstr(line, "(task, test/plan)"));
	assert_non_null(strstr(text, "\ncontrols\n"));
	assert_non_null(strstr(text, "image"));
	assert_non_null(strstr(text, "there is no image on this host's own root"));
}

static void
test_no_values(void **state)
{
	struct fixture *fixture = *state;

	set_variable(fixture, "WITHHELD_NAME=hush-hush-1");
	set_variable(fixture, "PASSED_NAME=hush-hush-2");
	for (int form = 0; form < EXPLAIN_FORMS; form++) {
		HL_AUTO_FREE char *text = explained(fixture,
		    "backends: [local]\nenv: {pass: [PASSED_NAME], set: {SET_NAME: hush-hush-3}}\n",
		    form == 1, true);
		assert_non_null(text);
		assert_non_null(strstr(text, "WITHHELD_NAME"));
		assert_non_null(strstr(text, "PASSED_NAME"));
		assert_non_null(strstr(text, "SET_NAME"));
		assert_null(strstr(text, "hush-hush"));
	}
}

/* Brackets of the JSON form, outside strings, are balanced, and it is one line. */
static void
test_json(void **state)
{
	struct fixture *fixture = *state;
	int depth = 0;
	bool in_string = false;

	HL_AUTO_FREE char *text = explained(fixture, "backends: [local]\n", true, true);
	assert_non_null(text);
	for (const char *p = text; *p != '\0'; p++) {
		if (in_string && *p == '\\')
			p++;
		else if (*p == '"')
			in_string = !in_string;
		else if (!in_string)
			depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
		assert_true(depth >= 0);
	}
	assert_int_equal(depth, 0);
	assert_false(in_string);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u41_samples_are_complete),
		cmocka_unit_test_setup_teardown(test_u41_no_key_is_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u41_devices_are_not_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u131_no_effect, setup, teardown),
		cmocka_unit_test_setup_teardown(test_landlock_on_docker, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scrub_keeps_no_promise, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u44_origins, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_json, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
