/*
 * The native sandbox's start and stop, seen from inside.
 */
#include "local_scene.h"

#include "base/banned.h"

/* U02, U10: nothing of the launcher's is in the first process: no variable, no descriptor, no
 * signal disposition, no path in its arguments. */
static void
u02_the_first_process_is_clean(void **state)
{
	struct scene *scene = *state;
	struct report report;

	int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int leak = fcntl(dir, F_DUPFD, 7); /* not close-on-exec, on purpose */
	assert_true(leak > RUNNER_STREAM_FD);
	close(dir);
	assert_int_equal(setenv("SECRET_TOKEN", "S3CRET-777", 1), 0);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigset_t set, old;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	start(scene, &report);
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	unsetenv("SECRET_TOKEN");
	close(leak);
	assert_int_equal(report.pid, 1);
	assert_int_equal(report.sid, 1);
	assert_int_equal(report.argc, 2); /* and which namespaces are its own */
	assert_string_equal(report.cmdline, "init");
	assert_int_equal(report.variables, 0);
	assert_int_equal(report.fds, 5); /* 0, 1, 2, the stream, the pipe beside it */
	assert_int_equal(report.signals_changed, 0);
	assert_int_equal(report.core <= 1, 1);
	assert_true(scene->sandbox.is_stdio_inherited);
	assert_true(scene->sandbox.lock.len > 0);
	stop(scene);
}

/* The first process can still set up: as user 0 by exec's rule, else by its ambient set. */
static void
the_first_process_may_set_up(void **state)
{
	struct scene *scene = *state;
	struct report report;

	start(scene, &report);
	assert_int_equal(report.uid, (int)geteuid());
	assert_int_equal(report.gid, (int)getegid());
	assert_true(report.caps_effective & (1ULL << 21)); /* CAP_SYS_ADMIN */
	stop(scene);
}

/* A launcher that is not dumpable cannot open its own id maps; it is for that moment, and not
 * after. */
static void
a_launcher_that_is_not_dumpable_stays_so(void **state)
{
	struct scene *scene = *state;
	struct report report;

	assert_int_equal(prctl(PR_SET_DUMPABLE, 0), 0);
	start(scene, &report);
	assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
	assert_int_equal(report.uid, (int)geteuid());
	stop(scene);
	assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
}

static void
limits_are_applied_and_leave_nothing(void **state)
{
	struct scene *scene = *state;
	struct report report;

	start(scene, &report);
	assert_true(scene->sandbox.limits_applied & (1U << PLAN_LIMIT_PIDS));
	if (has_groups(scene)) {
		assert_non_null(strstr(report.groups, scene->plan.run_id));
	} else {
		assert_int_equal(report.nproc, 64); /* no right to groups: by user namespace */
	}
	stop(scene);
	assert_false(has_groups(scene));
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1); /* no child of any kind */
	assert_int_equal(errno, ECHILD);
}

/* A launcher that is killed takes the sandbox along and leaves no group behind. */
static void
kill_9_of_the_launcher_leaves_nothing(void **state)
{
	struct scene *scene = *state;
	struct report report;
	int ends[2], status;
	char byte;
	pid_t init = 0;

	assert_int_equal(pipe(ends), 0);
	pid_t launcher = fork();
	assert_true(launcher >= 0);
	if (launcher == 0) {
		start(scene, &report);
		pid_t id = (pid_t)strtoumax(scene->sandbox.id, NULL, 10);
		if (write(ends[1], &id, sizeof(id)) != (ssize_t)sizeof(id))
			_exit(1);
		pause();
		_exit(0);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &init, sizeof(init)), (ssize_t)sizeof(init));
	bool had_groups = has_groups(scene);
	kill(launcher, SIGKILL);
	assert_int_equal(waitpid(launcher, &status, 0), launcher);
	for (int i = 0; i < 300 && (has_groups(scene) || kill(init, 0) == 0); i++)
		usleep(10000);
	assert_false(has_groups(scene));
	assert_int_equal(kill(init, 0), -1);
	/* Nobody holds the pipe any more: the janitor has left as well, or closed it. */
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	if (!had_groups)
		print_message(
		    "# without a right to control groups: only the process was watched\n");
}

/* At whatever moment it is killed. */
static void
kill_9_at_any_moment_leaves_no_group(void **state)
{
	struct scene *scene = *state;
	struct report report;
	unsigned seen = 0;
	int status;

	for (unsigned i = 0; i < 60; i++) {
		assert_int_equal(hl_ulid(scene->plan.run_id, &scene->err), 0);
		pid_t launcher = fork();
		assert_true(launcher >= 0);
		if (launcher == 0) {
			start(scene, &report);
			pause();
			_exit(0);
		}
		usleep(i * 250);
		seen += has_groups(scene);
		kill(launcher, SIGKILL);
		assert_int_equal(waitpid(launcher, &status, 0), launcher);
		for (int wait = 0; wait < 300 && has_groups(scene); wait++)
			usleep(10000);
		assert_false(has_groups(scene));
	}
	if (seen == 0) {
		print_message("# SKIP no control group can be made here\n");
		skip();
	}
}

/* ------------------------------------------------------------------------------------------------
 * What is begun before the plan is made
 */
static void
begin(struct scene *scene, bool has_network)
{
	const struct backend_early_facts facts = { .runner_path = scene->self,
		.has_network = has_network };

	assert_int_equal(local()->begin(&facts, &scene->plan.early, &scene->err), 0);
}

/* The groups that probe() made to find out are those that the sandbox lives in. */
static void
what_was_begun_is_what_starts(void **state)
{
	struct scene *scene = *state;
	struct report report;

	begin(scene, false);
	start(scene, &report);
	assert_int_equal(report.pid, 1);
	assert_int_equal(report.fds, 5);
	assert_int_equal(report.signals_changed, 0);
	if (has_groups(scene))
		assert_non_null(strstr(report.groups, scene->plan.run_id));
	/* The runner makes its network itself: tests/kernel/test_early.c. */
	assert_string_equal(report.argument, "own-network");
	stop(scene);
	scene->plan.early = NULL;
	assert_false(has_groups(scene));
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
}

static void
what_was_begun_for_another_network_is_not_used(void **state)
{
	struct scene *scene = *state;
	struct report report;

	begin(scene, true);
	start(scene, &report);
	assert_string_equal(report.argument, "own-network");
	stop(scene);
	begin(scene, false);
	scene->plan.network = PLAN_NETWORK_HOST;
	start(scene, &report);
	assert_string_equal(report.argument, "own-root");
	stop(scene);
	scene->plan.early = NULL;
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
}

static void
what_was_begun_and_abandoned_leaves_nothing(void **state)
{
	struct scene *scene = *state;

	begin(scene, false);
	local()->abandon(scene->plan.early);
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	for (int is_ahead = 0; is_ahead < 2; is_ahead++) {
		begin(scene, false);
		lowered_done(&scene->lowered);
		assert_int_equal(local()->lower(&scene->plan, &scene->lowered, &scene->err), 0);
		assert_int_equal(local()->probe(&scene->plan, &scene->gaps, &scene->err), 0);
		if (is_ahead)
			local()->ahead(&scene->plan, &scene->lowered, &scene->gaps);
		local()->abandon(scene->plan.early);
		scene->plan.early = NULL;
		assert_false(has_groups(scene));
		assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	}
	local()->abandon(NULL);
}

/* The lock is in the stream once, whole, before start(), and the runner in its groups. */
static void
the_lock_goes_ahead(void **state)
{
	struct scene *scene = *state;
	struct report report;

	begin(scene, false);
	lowered_done(&scene->lowered);
	assert_int_equal(local()->lower(&scene->plan, &scene->lowered, &scene->err), 0);
	assert_int_equal(local()->probe(&scene->plan, &scene->gaps, &scene->err), 0);
	local()->ahead(&scene->plan, &scene->lowered, &scene->gaps);
	assert_int_equal(local()->start(&scene->plan, &scene->lowered, &scene->gaps,
			     &scene->sandbox, &scene->err),
	    0);
	assert_true(scene->sandbox.lock.len > 0);
	assert_int_equal(scene->sandbox.lock_sent, RUNNER_HEADER_SIZE + scene->sandbox.lock.len);
	assert_int_equal(hl_read_full(scene->sandbox.stream, &report, sizeof(report)),
	    (ssize_t)sizeof(report));
	if (has_groups(scene))
		assert_non_null(strstr(report.groups, scene->plan.run_id));
	stop(scene);
	scene->plan.early = NULL;
	/* Without it the lock is the session's to send. */
	start(scene, &report);
	assert_int_equal(scene->sandbox.lock_sent, 0);
	stop(scene);
}

/* No namespace and no capability; nothing inherited; told at every start; nothing left. What was
 * begun in namespaces is of no use to it. */
static void
scrub_shares_the_caller_s_world_and_says_so(void **state)
{
	struct scene *scene = *state;
	struct report report;

	begin(scene, false);
	scene->plan.isolation = PLAN_ISOLATION_SCRUB;
	start(scene, &report);
	assert_int_equal(scene->gaps.len, 1);
	assert_int_equal(scene->gaps.items[0].control, CONTROL_ISOLATION);
	assert_true(scene->gaps.items[0].may_degrade);
	assert_non_null(strstr(scene->gaps.items[0].reason, "no boundary"));
	assert_int_equal(report.pid, (int)strtoimax(scene->sandbox.id, NULL, 10));
	assert_int_equal(report.sid, report.pid);
	assert_int_equal(report.variables, 0);
	assert_int_equal(report.fds, 5);
	assert_true(geteuid() == 0 || report.caps_effective == 0);
	stop(scene);
	scene->plan.early = NULL;
	assert_int_equal(kill(report.pid, 0), -1);
	assert_false(has_groups(scene));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SCENE(u02_the_first_process_is_clean),
		SCENE(the_first_process_may_set_up),
		SCENE(a_launcher_that_is_not_dumpable_stays_so),
		SCENE(limits_are_applied_and_leave_nothing),
		SCENE(kill_9_of_the_launcher_leaves_nothing),
		SCENE(kill_9_at_any_moment_leaves_no_group),
		SCENE(what_was_begun_is_what_starts),
		SCENE(what_was_begun_for_another_network_is_not_used),
		SCENE(what_was_begun_and_abandoned_leaves_nothing),
		SCENE(the_lock_goes_ahead),
		SCENE(scrub_shares_the_caller_s_world_and_says_so),
	};

	if (argc > 0 && strcmp(argv[0], "init") == 0)
		return inside(argc, argv);
	return cmocka_run_group_tests_name("local", tests, NULL, NULL);
}
