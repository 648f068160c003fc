/*
 * What the native sandbox refuses to start, what it leaves out, and what it says of it.
 */
#include "local_scene.h"

#include "base/banned.h"

/* ------------------------------------------------------------------------------------------------
 * Refusals
 */
static void
refused(struct scene *scene, const char *code)
{
	lowered_done(&scene->lowered);
	assert_int_equal(local()->lower(&scene->plan, &scene->lowered, &scene->err), 0);
	scene->err = (struct hl_err){ 0 };
	assert_int_equal(local()->start(&scene->plan, &scene->lowered, &scene->gaps,
			     &scene->sandbox, &scene->err),
	    -1);
	assert_string_equal(hl_code_info(scene->err.code)->id, code);
	assert_false(has_groups(scene));
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
}

static void
a_runner_that_others_could_change_is_refused(void **state)
{
	struct scene *scene = *state;
	char path[] = "/tmp/hl-runner-XXXXXX";
	struct report report;

	scene->plan.runner_path = "/tmp/no/such/runner";
	refused(scene, "HLB-22");
	scene->plan.runner_path = "/tmp";
	refused(scene, "HLB-22");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	scene->plan.runner_path = path;
	assert_int_equal(fchmod(fd, 0757), 0);
	refused(scene, "HLB-22");
	assert_int_equal(fchmod(fd, 0770), 0);
	refused(scene, "HLB-22");
	if (geteuid() == 0) {
		assert_int_equal(fchmod(fd, 0755), 0);
		assert_int_equal(fchown(fd, 0, 0), 0);
		assert_int_equal(fchown(fd, 12345, 12345), 0);
		scene->plan.runner_path = path;
		/* Root owns everything, but another user's file is that user's to change. */
		refused(scene, "HLB-22");
		assert_int_equal(fchown(fd, 0, 0), 0);
	}
	/* An empty file is no program: the step says so. */
	assert_int_equal(fchmod(fd, 0755), 0);
	refused(scene, "HLB-24");
	assert_non_null(strstr(scene->err.msg, "start the runner"));
	close(fd);
	unlink(path);
	/* The sibling: this program itself is fine. */
	scene->plan.runner_path = scene->self;
	start(scene, &report);
	stop(scene);
}

/* CVE-2024-21626: a directory among 0-2 is a way out. */
static void
a_directory_as_standard_input_is_refused(void **state)
{
	struct scene *scene = *state;
	int saved = fcntl(0, F_DUPFD_CLOEXEC, 10);
	int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(saved >= 0 && dir >= 0);
	assert_int_equal(dup2(dir, 0), 0);
	refused(scene, "HLB-23");
	int path = open("/etc/passwd", O_PATH | O_CLOEXEC);
	assert_int_equal(dup2(path, 0), 0);
	refused(scene, "HLB-23");
	assert_int_equal(dup2(saved, 0), 0);
	close(path);
	close(dir);
	close(saved);
}

static void
what_has_no_enforcer_is_a_gap_and_refused(void **state)
{
	struct scene *scene = *state;

	scene->plan.network = PLAN_NETWORK_PROXY;
	assert_int_equal(local()->probe(&scene->plan, &scene->gaps, &scene->err), 0);
	assert_int_equal(scene->gaps.len, 1);
	assert_int_equal(scene->gaps.items[0].control, CONTROL_NETWORK);
	assert_false(scene->gaps.items[0].may_degrade);
	refused(scene, "HLB-29");
	scene->plan.network = PLAN_NETWORK_BRIDGE;
	refused(scene, "HLB-29");
}

/* U31: a limit that cannot be had is a gap; whether it may be left out is the policy's to say, and
 * a built-in default may. */
static void
u31_a_limit_that_cannot_be_applied_is_a_gap(void **state)
{
	struct scene *scene = *state;
	struct plan_number *memory = &scene->plan.limits[PLAN_LIMIT_MEMORY];

	/* Half an exbibyte is taken by no driver as it is written: v1 and v2 clamp or refuse it. */
	*memory = (struct plan_number){ .has = true, .is_explicit = true, .value = UINT64_MAX };
	assert_int_equal(local()->probe(&scene->plan, &scene->gaps, &scene->err), 0);
	assert_int_equal(scene->gaps.len, 1);
	assert_int_equal(scene->gaps.items[0].control, CONTROL_LIMIT_MEMORY);
	assert_false(scene->gaps.items[0].may_degrade);
	assert_true(scene->gaps.items[0].reason[0] != '\0');
	scene->gaps.len = 0;
	refused(scene, "HLB-25");
	memory->may_degrade = true;
	assert_int_equal(local()->probe(&scene->plan, &scene->gaps, &scene->err), 0);
	assert_true(scene->gaps.items[0].may_degrade);
	struct report report;
	start(scene, &report);
	assert_false(scene->sandbox.limits_applied & (1U << PLAN_LIMIT_MEMORY));
	stop(scene);
	memory->may_degrade = false;
	memory->is_explicit = false;
	assert_int_equal(local()->probe(&scene->plan, &scene->gaps, &scene->err), 0);
	assert_true(scene->gaps.items[0].may_degrade);
}

/* A degraded Landlock is not in what the runner is told to apply. */
static void
an_accepted_gap_is_left_out_of_the_lock(void **state)
{
	struct scene *scene = *state;
	struct confinement confinement;
	struct report report;

	start(scene, &report);
	assert_int_equal(confine_decode(scene->sandbox.lock.data, scene->sandbox.lock.len,
			     &confinement, &scene->err),
	    0);
	assert_true(confinement.flags & CONFINE_LANDLOCK);
	confinement_done(&confinement);
	stop(scene);
	scene->gaps.items[0] =
	    (struct control_gap){ .control = CONTROL_LANDLOCK, .may_degrade = true };
	scene->gaps.len = 1;
	assert_int_equal(local()->start(&scene->plan, &scene->lowered, &scene->gaps,
			     &scene->sandbox, &scene->err),
	    0);
	assert_int_equal(confine_decode(scene->sandbox.lock.data, scene->sandbox.lock.len,
			     &confinement, &scene->err),
	    0);
	assert_false(confinement.flags & CONFINE_LANDLOCK);
	confinement_done(&confinement);
	stop(scene);
}

static void
steps_have_texts(void **state)
{
	(void)state;
	for (enum child_step i = CHILD_STEP_NONE; i < CHILD_STEP_MAX; i++)
		assert_true(strlen(child_step_text(i)) > 3);
	assert_string_equal(child_step_text(CHILD_STEP_MAX), "unknown");
}

/* The command of a root caller is somebody else, who must be able to reopen its own output. */
static void
a_root_callers_pipes_are_given_to_the_command(void **state)
{
	struct scene *scene = *state;
	struct report report;
	struct stat st;
	int ends[2], saved = fcntl(2, F_DUPFD_CLOEXEC, 10);

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(dup2(ends[1], 2), 2);
	start(scene, &report);
	assert_int_equal(dup2(saved, 2), 2);
	assert_int_equal(fstat(ends[0], &st), 0);
	assert_int_equal(st.st_uid, scene->plan.uid);
	stop(scene);
	close(ends[0]);
	close(ends[1]);
	close(saved);
}

/* HLB-24: where namespaces cannot be made the message says so, and nothing is left. */
static void
no_namespaces_is_told(void **state)
{
	struct scene *scene = *state;
	int status;

	if (geteuid() != 0) {
		print_message("# SKIP an ordinary user has a user namespace to fall back to\n");
		skip();
	}
	pid_t pid = fork();
	if (pid == 0) {
		/* Without capabilities and as user 0 there is no user namespace to fall back to. */
		if (prctl(PR_CAPBSET_DROP, 21, 0, 0, 0) != 0)
			_exit(1);
		struct {
			uint32_t version;
			int pid;
		} header = { 0x20080522, 0 };
		uint32_t data[6] = { 0 };
		if (syscall(SYS_capset, &header, data) != 0)
			_exit(2);
		scene->plan.limits[PLAN_LIMIT_PIDS].has = false;
		lowered_done(&scene->lowered);
		if (local()->lower(&scene->plan, &scene->lowered, &scene->err) != 0)
			_exit(3);
		if (local()->start(&scene->plan, &scene->lowered, &scene->gaps, &scene->sandbox,
			&scene->err) == 0)
			_exit(4);
		_exit(strcmp(hl_code_info(scene->err.code)->id, "HLB-24") == 0 ? 0 : 5);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SCENE(a_runner_that_others_could_change_is_refused),
		SCENE(a_directory_as_standard_input_is_refused),
		SCENE(what_has_no_enforcer_is_a_gap_and_refused),
		SCENE(u31_a_limit_that_cannot_be_applied_is_a_gap),
		SCENE(an_accepted_gap_is_left_out_of_the_lock),
		SCENE(steps_have_texts),
		SCENE(a_root_callers_pipes_are_given_to_the_command),
		SCENE(no_namespaces_is_told),
	};

	if (argc > 0 && strcmp(argv[0], "init") == 0)
		return inside(argc, argv);
	return cmocka_run_group_tests_name("local refusals", tests, NULL, NULL);
}
