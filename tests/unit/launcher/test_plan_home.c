/*
 * HOME inside and the directory a command starts in.
 */
#include "plan_fixture.h"

#define DOCKER "backends: [docker]\nimage: [\"x@sha256:" DIGEST "\"]\n"
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void
test_home_path(void **state)
{
	struct fixture *fixture = *state;

	assert_planned(fixture, "");
	assert_string_equal(fixture->plan.home.path, fixture->home);
	assert_int_equal(fixture->plan.home.kind, PLAN_HOME_TMPFS);
	assert_planned(fixture, DOCKER);
	assert_string_equal(fixture->plan.home.path, "/home/hermes");
	fixture->host.uid = fixture->host.gid = 0;
	assert_planned(fixture, DOCKER);
	assert_string_equal(fixture->plan.home.path, "/home/hermes");
	assert_planned(fixture, DOCKER "process: {allow_root: true}\n");
	assert_string_equal(fixture->plan.home.path, "/root");
	/* an account without a home */
	fixture->host.home = "/nonexistent";
	assert_planned(fixture, "");
	assert_string_equal(fixture->plan.home.path, "/tmp/home");
}

static void
test_home_bind(void **state)
{
	struct fixture *fixture = *state;
	char text[512];

	make_dir(at(fixture, "other-home"));
	snprintf(text, sizeof(text),
	    "local: {isolation: confined}\nfs: {home: {kind: bind, src: %s}}\n",
	    at(fixture, "other-home"));
	if (load_text(fixture, "open@1", text) != 0)
		fail_msg("policy: %s", fixture->err.msg);
	if (build_plan(fixture) != 0)
		fail_msg("not planned: %s", fixture->err.msg);
	assert_string_equal(fixture->plan.home.src, at(fixture, "other-home"));
	assert_int_not_equal(fixture->plan.home.ino, 0);
	assert_int_equal(load_text(fixture, "open@1",
			     "local: {isolation: confined}\n"
			     "fs: {home: {kind: bind, src: \"${home}\"}}\n"),
	    0);
	assert_int_equal(build_plan(fixture), -1);
	assert_true(fixture->err.code == HLC_70 || fixture->err.code == HLC_71);
}

static void
test_home_persist(void **state)
{
	struct fixture *fixture = *state;
	struct stat st;
	char first[PATH_MAX];

	/* the one identity that every caller, also root of a user namespace, can give a file */
	fixture->host.uid = getuid();
	fixture->host.gid = getgid();
	/* explain leaves nothing behind */
	assert_planned(fixture, "process: {allow_root: true}\nfs: {home: {kind: persist}}\n");
	assert_int_not_equal(stat(fixture->state, &st), 0);
	assert_int_equal(fixture->plan.home.ino, 0);
	fixture->request.verb = VERB_RUN;
	assert_int_equal(build_plan(fixture), 0);
	assert_int_equal(stat(fixture->plan.home.src, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(st.st_ino, fixture->plan.home.ino);
	assert_true(hl_path_is_beneath(fixture->plan.home.src, fixture->state));
	snprintf(first, sizeof(first), "%s", fixture->plan.home.src);
	assert_int_equal(build_plan(fixture), 0);
	assert_string_equal(fixture->plan.home.src, first);
	/* U59: another working directory, another home */
	make_dir(at(fixture, "work2"));
	fixture->host.cwd = at(fixture, "work2");
	assert_int_equal(build_plan(fixture), 0);
	assert_string_not_equal(fixture->plan.home.src, first);
}

/* Whatever starts a sandbox makes it, and nothing else does. */
static void
test_home_persist_by_verb(void **state)
{
	struct fixture *fixture = *state;
	struct stat st;

	fixture->host.uid = getuid();
	fixture->host.gid = getgid();
	for (unsigned i = 0; i < VERB_MAX; i++) {
		fixture->request.verb = (enum verb)i;
		bool starts =
		    i == VERB_RUN || i == VERB_SESSION || i == VERB_MCP || i == VERB_SHELL;
		assert_planned(fixture,
		    "process: {allow_root: true}\nfs: {home: {kind: persist}}\n");
		assert_int_equal(stat(fixture->plan.home.src, &st), starts ? 0 : -1);
		if (starts)
			assert_int_equal(rmdir(fixture->plan.home.src), 0);
	}
}

static int
start_in(struct fixture *fixture, const char *cwd)
{
	fixture->request.cwd.text = cwd;
	return build_plan(fixture);
}

/* U38: never created, and an error of ours, not of the command. */
static void
test_u38_bad_cwd(void **state)
{
	struct fixture *fixture = *state;
	static const char *const absolute[] = { "/nope", "/workspace/..???", "/work/../etc",
		"/tmp/x", "/usr/", "/usr//lib", "rel/x", "file" };
	struct stat st;

	make_file(at(fixture, "work/file"), "");
	make_dir(at(fixture, "work/sub/deep"));
	assert_planned(fixture, "");
	for (size_t i = 0; i < HL_ARRAY_SIZE(absolute); i++) {
		assert_int_equal(start_in(fixture, absolute[i]), -1);
		assert_int_equal(fixture->err.code, HLU_12);
	}
	assert_int_not_equal(stat(at(fixture, "work/rel"), &st), 0);
	assert_int_equal(start_in(fixture, "sub/deep"), 0);
	assert_string_equal(fixture->plan.cwd, at(fixture, "work/sub/deep"));
	assert_int_equal(start_in(fixture, "sub/.."), 0);
	assert_string_equal(fixture->plan.cwd, fixture->work);
	assert_int_equal(start_in(fixture, "/usr/lib"), 0);
	assert_int_equal(start_in(fixture, "/tmp"), 0);
	assert_int_equal(start_in(fixture, fixture->home), 0);
	fixture->request.cwd.text = NULL;
}

/* U40: doors of the kernel. */
static void
test_u40_kernel_cwd(void **state)
{
	static const char *const places[] = { "/proc/self/fd/7", "/proc/1/root", "/proc", "/sys",
		"/dev/fd", "/dev" };
	struct fixture *fixture = *state;

	assert_planned(fixture, "");
	for (size_t i = 0; i < HL_ARRAY_SIZE(places); i++) {
		assert_int_equal(start_in(fixture, places[i]), -1);
		assert_int_equal(fixture->err.code, HLC_70);
	}
	/* not in normal form at all */
	assert_int_equal(start_in(fixture, "/workspace/../proc/self/cwd"), -1);
	assert_int_equal(fixture->err.code, HLU_12);
	assert_int_equal(start_in(fixture, "../../../../../../proc/self/cwd"), -1);
	assert_int_equal(fixture->err.code, HLC_70);
	fixture->request.cwd.text = NULL;
}

static void
test_cwd_leaves_the_mount(void **state)
{
	struct fixture *fixture = *state;

	make_dir(at(fixture, "outside"));
	make_dir(at(fixture, "work/inside"));
	assert_int_equal(symlink(at(fixture, "outside"), at(fixture, "work/out")), 0);
	assert_int_equal(symlink("inside", at(fixture, "work/in")), 0);
	assert_planned(fixture, "");
	assert_int_equal(start_in(fixture, "out"), -1);
	assert_int_equal(fixture->err.code, HLU_12);
	assert_int_equal(start_in(fixture, "in"), 0);
	fixture->request.cwd.text = NULL;
}

static void
test_cwd_in_a_container(void **state)
{
	struct fixture *fixture = *state;

	make_dir(at(fixture, "work/sub"));
	assert_planned(fixture, DOCKER);
	assert_int_equal(start_in(fixture, "sub"), 0);
	assert_string_equal(fixture->plan.cwd, "/workspace/sub");
	assert_int_equal(start_in(fixture, "/workspace/none"), -1);
	assert_int_equal(fixture->err.code, HLU_12);
	/* a directory of the image: only the runner can tell */
	assert_int_equal(start_in(fixture, "/opt/of-the-image"), 0);
	assert_int_equal(start_in(fixture, "/proc/self/cwd"), -1);
	assert_int_equal(fixture->err.code, HLC_70);
	fixture->request.cwd.text = NULL;
}

static void
test_cwd_denied(void **state)
{
	struct fixture *fixture = *state;
	char text[256];

	make_dir(at(fixture, "work/shut/in"));
	snprintf(text, sizeof(text), "fs: {deny: [\"%s/shut\"]}\n", fixture->work);
	assert_planned(fixture, text);
	assert_int_equal(start_in(fixture, "shut/in"), -1);
	assert_int_equal(fixture->err.code, HLU_12);
	fixture->request.cwd.text = NULL;
	assert_planned(fixture, "");
	assert_int_equal(start_in(fixture, "shut/in"), 0);
	fixture->request.cwd.text = NULL;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_home_path, setup, teardown),
		cmocka_unit_test_setup_teardown(test_home_bind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_home_persist, setup, teardown),
		cmocka_unit_test_setup_teardown(test_home_persist_by_verb, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u38_bad_cwd, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u40_kernel_cwd, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cwd_leaves_the_mount, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cwd_in_a_container, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cwd_denied, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
