/*
 * What stays read-only in a writable directory: policies, and fs.protect.
 */
#include "plan_fixture.h"

static void
test_listed_paths_are_read_only(void **state)
{
	struct fixture *fixture = *state;

	make_dir(at(fixture, "work/.git/hooks"));
	make_file(at(fixture, "work/.git/config"), "[core]\n");
	make_file(at(fixture, "work/.envrc"), "x\n");
	assert_planned(fixture, "");
	const struct plan_mount *git = mount_of(fixture, at(fixture, "work/.git"));
	const struct plan_mount *hooks = mount_of(fixture, at(fixture, "work/.git/hooks"));
	const struct plan_mount *config = mount_of(fixture, at(fixture, "work/.git/config"));
	const struct plan_mount *envrc = mount_of(fixture, at(fixture, "work/.envrc"));
	/* The way is a mount, so that it cannot be renamed, and as writable as it was. */
	assert_true(git != NULL && git->is_writable && git->is_part);
	assert_true(hooks != NULL && !hooks->is_writable && !hooks->is_file);
	assert_true(config != NULL && !config->is_writable && config->is_file);
	assert_true(envrc != NULL && !envrc->is_writable && envrc->is_file);
	assert_null(mount_of(fixture, at(fixture, "work/.vscode"))); /* is not there */
	/* A list of one's own replaces the built-in one; two add up. */
	assert_planned(fixture, "fs: {protect: [.git/config]}\n");
	assert_non_null(mount_of(fixture, at(fixture, "work/.git/config")));
	assert_null(mount_of(fixture, at(fixture, "work/.git/hooks")));
	assert_planned(fixture, "fs: {protect: []}\n");
	assert_null(mount_of(fixture, at(fixture, "work/.git")));
	/* Nothing to keep in a directory that is read-only as a whole. */
	assert_planned(fixture, "fs: {workdir: {access: ro}}\n");
	assert_null(mount_of(fixture, at(fixture, "work/.git/hooks")));
}

/* The way to one thing, and a thing itself. */
static void
test_a_way_can_be_protected_as_well(void **state)
{
	struct fixture *fixture = *state;

	make_dir(at(fixture, "work/a/b"));
	assert_planned(fixture, "fs: {protect: [a/b, a]}\n");
	assert_false(mount_of(fixture, at(fixture, "work/a"))->is_writable);
	assert_false(mount_of(fixture, at(fixture, "work/a/b"))->is_writable);
}

static void
test_another_mount_at_the_place_is_meant(void **state)
{
	struct fixture *fixture = *state;
	char text[1024];

	make_dir(at(fixture, "work/.vscode"));
	make_dir(at(fixture, "other"));
	snprintf(text, sizeof(text), "fs: {mounts: [{src: %s, dst: %s, access: rw}]}\n",
	    at(fixture, "other"), at(fixture, "work/.vscode"));
	assert_planned(fixture, text);
	const struct plan_mount *mount = mount_of(fixture, at(fixture, "work/.vscode"));
	assert_true(mount != NULL && mount->is_writable && !mount->is_part);
	assert_string_equal(mount->src, at(fixture, "other"));
}

/* HLD-01: a link can be replaced. Left alone where only the built-in list names it. */
static void
test_links(void **state)
{
	struct fixture *fixture = *state;

	make_dir(at(fixture, "work/real/hooks"));
	assert_int_equal(symlink("real", at(fixture, "work/.git")), 0);
	assert_int_equal(symlink("real", at(fixture, "work/.vscode")), 0);
	/* One that leads nowhere, which a command may have left, stops no later run. */
	assert_int_equal(symlink("/no/such/place", at(fixture, "work/.envrc")), 0);
	assert_planned(fixture, "");
	assert_null(mount_of(fixture, at(fixture, "work/.vscode")));
	assert_refused(fixture, "fs: {protect: [.envrc]}\n", HLD_01, ".envrc");
	assert_refused(fixture, "fs: {protect: [.vscode]}\n", HLD_01, ".vscode");
	assert_refused(fixture, "fs: {protect: [.git/hooks]}\n", HLD_01, ".git/hooks");
	assert_planned(fixture, "fs: {protect: [real/hooks]}\n");
	/* Nor does one that leads to itself. */
	assert_int_equal(unlink(at(fixture, "work/.git")), 0);
	assert_int_equal(symlink(".git", at(fixture, "work/.git")), 0);
	assert_planned(fixture, "");
	assert_refused(fixture, "fs: {protect: [.git/hooks]}\n", HLD_01, ".git/hooks");
}

/* HLD-01: what cannot be looked at is not taken for something that is not there. */
static void
test_what_cannot_be_looked_at(void **state)
{
	struct fixture *fixture = *state;
	char name[301], text[400];

	make_file(at(fixture, "work/file"), "");
	assert_planned(fixture, "fs: {protect: [none/x, file/x]}\n");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text), "fs: {protect: [%s]}\n", name);
	assert_refused(fixture, text, HLD_01, "cannot look at");
}

static void
test_forms(void **state)
{
	static const char *const bad[] = { "/abs", "~/x", "${home}", "../x", "a//b", "a//", "/",
		"./", "../", "*.c", "" };
	struct fixture *fixture = *state;
	char text[128];

	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), "fs: {protect: [\"%s\"]}\n", bad[i]);
		assert_int_equal(load_text(fixture, "baseline@1", text), -1);
	}
	assert_planned(fixture, "fs: {protect: [\"a.b/c d\", \"a.b/e/\"]}\n");
}

/* U125: hooks of a repository that has none cannot be made by the command, and so cannot be in a
 * repository that is no directory here. */
static void
test_absent_hooks_are_made(void **state)
{
	static const char others[] = "fs: {protect: [.git/hooks, .git/info]}\n";
	struct fixture *fixture = *state;
	struct stat st;

	fixture->host.uid = getuid();
	fixture->host.gid = getgid();
	make_dir(at(fixture, "work/.git"));
	fixture->request.verb = VERB_EXPLAIN;
	assert_planned(fixture, "");
	assert_int_equal(lstat(at(fixture, "work/.git/hooks"), &st), -1);
	fixture->request.verb = VERB_RUN;
	assert_planned(fixture, others); /* without a slash: as it was */
	assert_int_equal(lstat(at(fixture, "work/.git/hooks"), &st), -1);
	assert_planned(fixture, "");
	assert_int_equal(lstat(at(fixture, "work/.git/hooks"), &st), 0);
	assert_true(S_ISDIR(st.st_mode) && st.st_uid == getuid());
	const struct plan_mount *hooks = mount_of(fixture, at(fixture, "work/.git/hooks"));
	assert_true(hooks != NULL && !hooks->is_writable);
	assert_planned(fixture, "fs: {protect: [.vscode/]}\n");
	assert_int_equal(lstat(at(fixture, "work/.vscode"), &st), 0);
}

/* Nothing is made through a link, nor below a file, which a command may have left. */
static void
test_nothing_is_made_through_a_link(void **state)
{
	struct fixture *fixture = *state;
	struct stat st;

	fixture->host.uid = getuid();
	fixture->host.gid = getgid();
	fixture->request.verb = VERB_RUN;
	make_dir(at(fixture, "elsewhere"));
	assert_int_equal(symlink("../elsewhere", at(fixture, "work/.git")), 0);
	assert_planned(fixture, "");
	assert_int_equal(lstat(at(fixture, "elsewhere/hooks"), &st), -1);
	assert_int_equal(unlink(at(fixture, "work/.git")), 0);
	make_file(at(fixture, "work/.git"), "gitdir: ../elsewhere\n");
	assert_planned(fixture, "");
	/* Which is kept itself. */
	const struct plan_mount *file = mount_of(fixture, at(fixture, "work/.git"));
	assert_true(file != NULL && !file->is_writable && file->is_file);
	assert_int_equal(lstat(at(fixture, "elsewhere/hooks"), &st), -1);
}

/* A run makes .hermes where there is none, so that the command cannot; a question makes
 * nothing. */
static void
test_a_directory_without_policy_is_closed(void **state)
{
	struct fixture *fixture = *state;
	struct stat st;

	fixture->host.uid = getuid();
	fixture->host.gid = getgid();
	for (unsigned i = 0; i < VERB_MAX; i++) {
		fixture->request.verb = (enum verb)i;
		if (request_starts(&fixture->request))
			continue;
		assert_planned(fixture, "");
		assert_int_equal(lstat(at(fixture, "work/.hermes"), &st), -1);
	}
	fixture->request.verb = VERB_RUN;
	assert_planned(fixture, "fs: {workdir: {access: ro}}\n");
	assert_int_equal(lstat(at(fixture, "work/.hermes"), &st), -1);
	assert_planned(fixture, "");
	assert_int_equal(lstat(at(fixture, "work/.hermes"), &st), 0);
	assert_true(S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0755);
	const struct plan_mount *mount = mount_of(fixture, at(fixture, "work/.hermes"));
	assert_true(mount != NULL && !mount->is_writable);
	/* The next run finds it as it is. */
	assert_planned(fixture, "");
	assert_non_null(mount_of(fixture, at(fixture, "work/.hermes")));
	/* HLC-74: a link in its place is no protection. */
	assert_int_equal(rmdir(at(fixture, "work/.hermes")), 0);
	assert_int_equal(symlink("/tmp", at(fixture, "work/.hermes")), 0);
	assert_refused(fixture, "", HLC_74, ".hermes");
}

/* U125: a home that is a directory of the host's is one of the directories that are written. */
static void
test_a_home_of_the_host(void **state)
{
	struct fixture *fixture = *state;
	char text[256], inside[256];

	make_dir(at(fixture, "agent/.git/hooks"));
	make_file(at(fixture, "agent/.bashrc"), "own\n");
	snprintf(text, sizeof(text),
	    "version: 1\nid: test/plan\nlevel: open@1\nlocal: {isolation: confined}\n"
	    "fs: {home: {kind: bind, src: %s}}\n",
	    at(fixture, "agent"));
	make_dir(at(fixture, "policies"));
	make_file(at(fixture, "policies/p.yaml"), text);
	assert_int_equal(load_file(fixture, at(fixture, "policies/p.yaml")), 0);
	fixture->request.verb = VERB_RUN;
	assert_int_equal(build_plan(fixture), 0);
	static const char *const kept[] = { ".bashrc", ".git/hooks", ".hermes" };
	for (size_t i = 0; i < HL_ARRAY_SIZE(kept); i++) {
		snprintf(inside, sizeof(inside), "%s/%s", fixture->plan.home.path, kept[i]);
		const struct plan_mount *mount = mount_of(fixture, inside);
		assert_true(mount != NULL && !mount->is_writable);
	}
	/* On the way to one of them, and as before. */
	snprintf(inside, sizeof(inside), "%s/.git", fixture->plan.home.path);
	const struct plan_mount *way = mount_of(fixture, inside);
	assert_true(way != NULL && way->is_writable && way->is_part);
}

/* process.seccomp.deny: names of the table, in any file, and HLU-01 for others. */
static void
test_denied_calls(void **state)
{
	struct fixture *fixture = *state;

	assert_planned(fixture, "");
	assert_int_equal(fixture->plan.seccomp_deny.len, 0);
	assert_planned(fixture, "process: {seccomp: {deny: [ptrace, bpf]}}\n");
	assert_int_equal(fixture->plan.seccomp_deny.len, 2);
	assert_string_equal(fixture->plan.seccomp_deny.v[0], "bpf");
	assert_string_equal(fixture->plan.seccomp_deny_origin.layer, "task");
	assert_refused(fixture, "process: {seccomp: {deny: [ptrcae]}}\n", HLU_01, "ptrcae");
	assert_int_equal(load_text(fixture, "baseline@1",
			     "process: {seccomp: {deny: [\"a b\"]}}\n"),
	    -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_listed_paths_are_read_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_way_can_be_protected_as_well, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_another_mount_at_the_place_is_meant, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_links, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_looked_at, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_absent_hooks_are_made, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_made_through_a_link, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_a_directory_without_policy_is_closed, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_a_home_of_the_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_denied_calls, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
