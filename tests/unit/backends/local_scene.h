/*
 * The scene of the native sandbox's tests. The test program is its own runner: started by the
 * backend as "init" it tells over descriptor 3 what it finds; started by the test runner it is the
 * test.
 */
#ifndef HL_TESTS_LOCAL_SCENE_H
#define HL_TESTS_LOCAL_SCENE_H

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
#include "confine/apply/apply.h"
#include "runner/runner.h"

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
	char argument[16]; /* what the runner may begin with */
};

static inline void
read_small(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	text[n < 0 ? 0 : n] = '\0';
	if (fd >= 0)
		close(fd);
}

static inline int
count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static inline int
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

static inline uint64_t
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

/* Like a runner: nothing is done before the lock is there, and its groups come first. */
static inline bool
take_lock(void)
{
	static char bytes[RUNNER_HEADER_SIZE + RUNNER_PAYLOAD_MAX];
	struct hl_buf in = { .data = bytes, .len = RUNNER_HEADER_SIZE };
	struct confine_failure failure = { 0 };
	struct confinement lock;
	struct runner_frame frame;
	struct hl_err err;
	uint32_t len;
	size_t size;

	if (hl_read_full(RUNNER_STREAM_FD, bytes, RUNNER_HEADER_SIZE) != RUNNER_HEADER_SIZE)
		return false;
	memcpy(&len, bytes, sizeof(len));
	if (len > RUNNER_PAYLOAD_MAX ||
	    hl_read_full(RUNNER_STREAM_FD, bytes + RUNNER_HEADER_SIZE, len) != (ssize_t)len)
		return false;
	in.len += len;
	if (runner_frame_get(&in, &frame, &size, &err) != 1 || frame.type != RUNNER_LOCK ||
	    confine_decode(frame.payload, frame.payload_len, &lock, &err) != 0)
		return false;
	struct apply apply = { .confinement = &lock, .failure = &failure };
	bool is_in = apply_groups(&apply) == 0;
	confinement_done(&lock);
	return is_in;
}

static inline int
inside(int argc, char **argv)
{
	struct report report = { .pid = getpid(), .sid = getsid(0) };
	struct rlimit limit;
	char byte;

	if (!take_lock())
		return 0;
	report.uid = (int)getuid();
	report.gid = (int)getgid();
	report.argc = argc;
	snprintf(report.argument, sizeof(report.argument), "%s", argc > 1 ? argv[1] : "");
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

static inline int
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

static inline int
teardown(void **state)
{
	struct scene *scene = *state;

	lowered_done(&scene->lowered);
	free(scene);
	return 0;
}

static inline const struct backend *
local(void)
{
	return backend_find("local", &(struct hl_err){ 0 });
}

static inline void
start(struct scene *scene, struct report *report)
{
	lowered_done(&scene->lowered);
	assert_int_equal(local()->lower(&scene->plan, &scene->lowered, &scene->err), 0);
	assert_int_equal(local()->probe(&scene->plan, &scene->gaps, &scene->err), 0);
	if (local()->start(&scene->plan, &scene->lowered, &scene->gaps, &scene->sandbox,
		&scene->err) != 0)
		fail_msg("%s", scene->err.msg);
	struct hl_buf frame HL_AUTO(hl_buf_done) = { 0 };
	hl_buf_init(&frame, RUNNER_HEADER_SIZE + RUNNER_PAYLOAD_MAX);
	runner_frame_put(&frame, RUNNER_LOCK, 0, scene->sandbox.lock.data, scene->sandbox.lock.len);
	assert_int_equal(hl_write_full(scene->sandbox.stream, frame.data + scene->sandbox.lock_sent,
			     frame.len - scene->sandbox.lock_sent),
	    0);
	assert_int_equal(hl_read_full(scene->sandbox.stream, report, sizeof(*report)),
	    (ssize_t)sizeof(*report));
}

static inline void
stop(struct scene *scene)
{
	assert_int_equal(local()->stop(&scene->sandbox, &scene->err), 0);
	assert_int_equal(local()->stop(&scene->sandbox, &scene->err), 0);
	sandbox_done(&scene->sandbox);
}

/* Is there a group of this run anywhere? */
static inline bool
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

#define SCENE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
