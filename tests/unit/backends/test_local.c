/*
 * The native sandbox's start and stop, seen from inside: this program is its own runner. Started by
 * the backend as "init" it tells over descriptor 3 what it finds; started by the test runner it is
 * the test.
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/backends.h"
#include "backends/local/local.h"

#include "base/banned.h"

/* ------------------------------------------------------------------------------------------------
 * Inside
 */
struct report {
	int pid, sid, uid, gid;
	int argc, variables;
	int fds;             /* open descriptors, without the one that counts them */
	int signals_changed; /* blocked or not by default */
	uint64_t caps_effective;
	uint64_t nproc, core;
	char groups[4096];
	char cmdline[64];
};

static void
read_small(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	text[n < 0 ? 0 : n] = '\0';
	if (fd >= 0)
		close(fd);
}

static int
count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int
count_signals(void)
{
	sigset_t blocked;
	int n = 0;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int number = 1; number < 32; number++) {
		struct sigaction action;
		/* The sanitizer's own handlers are not what was inherited. */
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			n++;
		n += sigismember(&blocked, number) == 1;
	}
	return n;
}

static uint64_t
effective_caps(void)
{
	char text[8192];
	unsigned long long caps = 0;

	/* The host's /proc is still mounted: it knows us by our number out there. */
	read_small("/proc/self/status", text, sizeof(text));
	const char *at = strstr(text, "CapEff:\t");
	for (at = at == NULL ? "" : at + 8; *at != '\0' && *at != '\n'; at++)
		caps = caps * 16 + (unsigned long long)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
	return caps;
}

static int
inside(int argc)
{
	struct report report = { .pid = getpid(), .sid = getsid(0) };
	struct rlimit limit;
	char byte;

	report.uid = (int)getuid();
	report.gid = (int)getgid();
	report.argc = argc;
	for (char **at = environ; at != NULL && *at != NULL; at++)
		report.variables++;
	report.fds = count_fds();
	report.signals_changed = count_signals();
	report.caps_effective = effective_caps();
	getrlimit(RLIMIT_NPROC, &limit);
	report.nproc = limit.rlim_cur;
	getrlimit(RLIMIT_CORE, &limit);
	report.core = limit.rlim_max;
	read_small("/proc/self/cgroup", report.groups, sizeof(report.groups));
	read_small("/proc/self/cmdline", report.cmdline, sizeof(report.cmdline));
	if (hl_write_full(RUNNER_STREAM_FD, &report, sizeof(report)) != 0)
		return 1;
	/* Like a runner: the end of the stream is the end. */
	while (read(RUNNER_STREAM_FD, &byte, 1) > 0)
		;
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The test
 */
struct scene {
	struct plan plan;
	struct lowered lowered;
	struct control_gaps gaps;
	struct sandbox sandbox;
	struct hl_err err;
	char self[4096];
};

static int
setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	assert_true(readlink("/proc/self/exe", scene->self, sizeof(scene->self) - 1) > 0);
	assert_int_equal(hl_ulid(scene->plan.run_id, &scene->err), 0);
	scene->plan.runner_path = scene->self;
	scene->plan.uid = geteuid() == 0 ? 65534 : geteuid();
	scene->plan.gid = geteuid() == 0 ? 65534 : getegid();
	scene->plan.isolation = PLAN_ISOLATION_CONFINED;
	scene->plan.no_new_privs = true;
	scene->plan.landlock = true;
	scene->plan.limits[PLAN_LIMIT_PIDS] = (struct plan_number){ .has = true, .value = 64 };
	lowered_init(&scene->lowered);
	*state = scene;
	return 0;
}

static int
teardown(void **state)
{
	struct scene *scene = *state;

	lowered_done(&scene->lowered);
	free(scene);
	return 0;
}

static const struct backend *
local(void)
{
	return backend_find("local", &(struct hl_err){ 0 });
}

static void
start(struct scene *scene, struct report *report)
{
	lowered_done(&scene->lowered);
	assert_int_equal(local()->lower(&scene->plan, &scene->lowered, &scene->err), 0);
	assert_int_equal(local()->probe(&scene->plan, &scene->gaps, &scene->err), 0);
	if (local()->start(&scene->plan, &scene->lowered, &scene->gaps, &scene->sandbox,
		&scene->err) != 0)
		fail_msg("%s", scene->err.msg);
	assert_int_equal(hl_read_full(scene->sandbox.stream, report, sizeof(*report)),
	    (ssize_t)sizeof(*report));
}

static void
stop(struct scene *scene)
{
	assert_int_equal(local()->stop(&scene->sandbox, &scene->err), 0);
	assert_int_equal(local()->stop(&scene->sandbox, &scene->err), 0);
	sandbox_done(&scene->sandbox);
}

/* Is there a group of this run anywhere? */
static bool
has_groups(const struct scene *scene)
{
	static const char *const roots[] = { "/sys/fs/cgroup/pids/hermes-launch",
		"/sys/fs/cgroup/hermes-launch" };
	char path[200];
	struct stat st;

	for (size_t i = 0; i < HL_ARRAY_SIZE(roots); i++) {
		snprintf(path, sizeof(path), "%s/%s", roots[i], scene->plan.run_id);
		if (stat(path, &st) == 0)
			return true;
	}
	return false;
}

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
	assert_int_equal(report.argc, 1);
	assert_string_equal(report.cmdline, "init");
	assert_int_equal(report.variables, 0);
	assert_int_equal(report.fds, 4); /* 0, 1, 2 and the stream */
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
	if (strstr(report.groups, "hermes-launch") != NULL) {
		assert_non_null(strstr(report.groups, scene->plan.run_id));
		assert_true(has_groups(scene));
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
	scene->plan.network = PLAN_NETWORK_NONE;
	scene->plan.isolation = PLAN_ISOLATION_SCRUB;
	assert_int_equal(local()->probe(&scene->plan, &scene->gaps, &scene->err), 0);
	assert_int_equal(scene->gaps.items[0].control, CONTROL_ISOLATION);
	assert_false(scene->gaps.items[0].may_degrade);
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

#define SCENE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SCENE(u02_the_first_process_is_clean),
		SCENE(the_first_process_may_set_up),
		SCENE(a_launcher_that_is_not_dumpable_stays_so),
		SCENE(limits_are_applied_and_leave_nothing),
		SCENE(kill_9_of_the_launcher_leaves_nothing),
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
		return inside(argc);
	return cmocka_run_group_tests_name("local", tests, NULL, NULL);
}
