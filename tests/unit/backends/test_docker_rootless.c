/*
 * Engines that run without root: whose they are, when the caller's ids are kept, what is expected
 * to be found inside, and what is said of limits.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/lower.h"
#include "backends/docker/rootless.h"
#include "tests/unit/backends/docker_scene.h"

#include "base/banned.h"

/* ------------------------------------------------------------------------------------------------
 * Whose it is
 */
static int
listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void
test_owner_is_who_listens(void **state)
{
	char dir[] = "/tmp/test-rootless-XXXXXX", path[64], long_path[256];
	uint32_t uid = 7;
	bool is_here = false;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	assert_false(engine_owner(path, &uid, &is_here));
	int fd = listen_at(path);
	/* The overflow user is whoever this namespace has no number for. */
	assert_int_equal(engine_owner(path, &uid, &is_here), getuid() != 65534);
	assert_int_equal(uid, getuid() != 65534 ? getuid() : 7);
	assert_int_equal(is_here, getuid() != 65534);
	close(fd);
	/* The name is there, and nobody behind it. */
	assert_false(engine_owner(path, &uid, &is_here));
	unlink(path);
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[0] = '/';
	long_path[sizeof(long_path) - 1] = '\0';
	assert_false(engine_owner(long_path, &uid, &is_here));
	rmdir(dir);
}

/* Whoever listens is meant, not whoever has the name: of another user's where we can be one. */
static void
test_owner_is_not_who_has_the_name(void **state)
{
	char dir[] = "/tmp/test-rootless-XXXXXX", path[64];
	uint32_t uid = 7;
	bool is_here = false;
	char ready;
	int ends[2];

	(void)state;
	if (geteuid() != 0) {
		print_message("# SKIP only root can be another user\n");
		skip();
	}
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0777), 0);
	snprintf(path, sizeof(path), "%s/s", dir);
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (setgid(1234) != 0 || setuid(1234) != 0)
			_exit(1);
		(void)listen_at(path);
		(void)!write(ends[1], "r", 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &ready, 1), 1);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_true(engine_owner(path, &uid, &is_here));
	assert_int_equal(uid, 1234);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(path);
	rmdir(dir);
	close(ends[0]);
	close(ends[1]);
}

/* A process of a namespace below this one counts otherwise, and its numbers are not ours. */
static void
test_owner_in_a_namespace_below_is_not_here(void **state)
{
	char dir[] = "/tmp/test-rootless-XXXXXX", path[64];
	uint32_t uid = 7;
	bool is_here = true;
	char ready;
	int ends[2];

	(void)state;
	if (geteuid() != 0) {
		print_message("# SKIP only root has a namespace of processes\n");
		skip();
	}
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWPID) != 0)
			_exit(1);
		pid_t below = fork();
		if (below == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)listen_at(path);
			(void)!write(ends[1], "r", 1);
			pause();
			_exit(0);
		}
		waitpid(below, NULL, 0);
		_exit(0);
	}
	assert_int_equal(read(ends[0], &ready, 1), 1);
	assert_true(engine_owner(path, &uid, &is_here));
	assert_int_equal(uid, 0);
	assert_false(is_here);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(path);
	rmdir(dir);
	close(ends[0]);
	close(ends[1]);
}

/* ------------------------------------------------------------------------------------------------
 * Whether it has to be one
 */
static void
test_u53_rootless_is_decided_by_this_table(void **state)
{
	static const struct {
		bool is_program, has_client, is_known;
		uint32_t uid;
		const char *reason; /* NULL = it may be used */
	} rows[] = {
		{ false, false, true, 1000, NULL },
		{ false, false, true, 0, "the engine is root's" },
		{ false, false, true, UINT32_MAX, "the engine is root's" }, /* in no map of ours */
		{ false, false, false, 0, "nobody listens" },
		{ false, false, false, 1000, "nobody listens" },
		{ true, false, true, 1000, NULL },
		{ true, false, true, 0, "the caller is root" },
		{ false, true, true, 1000, NULL },
		{ false, true, true, 0, "the engine is root's" },
		{ false, true, false, 1000, "nobody listens" },
		{ true, true, false, 1000, "is told no socket" },
		{ true, true, false, 0, "is told no socket" },
	};
	struct fixture *f = *state;
	struct docker_root_gap gap;

	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		f->plan.is_endpoint_program = rows[i].is_program;
		f->plan.client = rows[i].has_client ? "/usr/bin/docker" : NULL;
		f->plan.is_engine_known = rows[i].is_known;
		f->plan.engine_uid = rows[i].uid;
		f->plan.needs_rootless = false;
		assert_false(docker_root_gap(&f->plan, &gap)); /* sibling: nobody asks */
		f->plan.needs_rootless = true;
		bool is_gap = docker_root_gap(&f->plan, &gap);
		if (is_gap != (rows[i].reason != NULL))
			fail_msg("row %zu: %s", i, is_gap ? gap.reason : "used");
		if (!is_gap)
			continue;
		assert_non_null(strstr(gap.reason, rows[i].reason));
		assert_non_null(strstr(gap.reason, socket_path));
		assert_non_null(strstr(gap.mend, "docker.endpoint"));
	}
}

/* It is a gap that ends the looking: nothing is tried on such an engine, and here there is none. */
static void
test_u53_nothing_is_tried_on_an_engine_of_root_s(void **state)
{
	static char nowhere[] = "/nowhere/engine.sock";
	struct fixture *f = *state;
	struct control_gaps gaps;

	f->plan.needs_rootless = true;
	f->plan.endpoint = nowhere;
	f->plan.limits[PLAN_LIMIT_MEMORY] = (struct plan_number){ .has = true, .value = 1 << 26 };
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
	assert_int_equal(gaps.len, 1);
	assert_int_equal(gaps.items[0].control, CONTROL_DOCKER_ROOTLESS);
	assert_false(gaps.items[0].may_degrade);
	assert_non_null(gaps.items[0].mend);
	/* Siblings: where the policy can do without, or does not ask, the engine is looked for. */
	f->plan.rootless_may_degrade = true;
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), -1);
	f->plan.needs_rootless = false;
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), -1);
}

/* ------------------------------------------------------------------------------------------------
 * What an engine has to tell
 */
enum first_answer {
	FIRST_GOES_ON,
	FIRST_IS_TOLD, /* goes on, with a word about it */
	FIRST_IS_REFUSED
};

struct first_row {
	bool is_here, needs_rootless, has_ended;
	enum plan_user_kind kind;
	uint32_t pid;
	enum first_answer answer;
};

static void
look_at_first(struct fixture *f, const struct first_row *row)
{
	struct docker_first first = { .pid = row->pid };
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	if (row->has_ended)
		close(ends[1]);
	else
		assert_int_equal(write(ends[1], "h", 1), 1);
	first.stream = ends[0];
	f->plan.user_kind = row->kind;
	f->plan.uid = geteuid();
	f->plan.is_engine_here = row->is_here;
	f->plan.is_engine_known = true;
	f->plan.engine_uid = 1000;
	f->plan.needs_rootless = row->needs_rootless;
	f->err = (struct hl_err){ 0 };
	int status = docker_check_first(&f->plan, &first, &f->err);
	enum first_answer answer = status != 0            ? FIRST_IS_REFUSED
				   : first.unseen[0] != 0 ? FIRST_IS_TOLD
							  : FIRST_GOES_ON;
	if (answer != row->answer)
		fail_msg("pid %u here %d required %d: %u, not %u: %s", row->pid, row->is_here,
		    row->needs_rootless, answer, row->answer, f->err.msg);
	if (status != 0)
		assert_int_equal(f->err.code, HLB_53);
	close(ends[0]);
	if (!row->has_ended)
		close(ends[1]);
}

static void
test_u53_an_engine_of_this_host_tells_the_process(void **state)
{
	static const enum plan_user_kind caller = PLAN_USER_CALLER, other = PLAN_USER_NUMERIC;
	const uint32_t mine = (uint32_t)getpid(); /* which is no runner */
	const struct first_row rows[] = {
		{ true, false, false, caller, 0, FIRST_IS_REFUSED },
		{ false, false, false, caller, 0, FIRST_IS_TOLD },
		{ true, false, false, other, 0, FIRST_GOES_ON }, /* nobody who owns anything here */
		{ true, false, true, caller, 0, FIRST_GOES_ON }, /* whose end the stream tells */
		{ true, false, false, caller, mine, FIRST_IS_TOLD },
		{ false, false, false, caller, mine, FIRST_IS_TOLD },
		{ true, false, false, other, mine, FIRST_GOES_ON },
		{ true, true, false, other, 0, FIRST_IS_REFUSED },
		{ false, true, false, other, 0, FIRST_IS_REFUSED },
		{ false, true, false, caller, mine, FIRST_IS_REFUSED },
		{ true, true, false, other, mine, FIRST_IS_REFUSED },
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++)
		look_at_first(*state, &rows[i]);
}

/* ------------------------------------------------------------------------------------------------
 * When ids are kept
 */
static void
make_rootless(struct fixture *f)
{
	f->plan.backend = "podman";
	f->plan.is_rootless = true;
	f->plan.engine_uid = 1000;
	f->plan.user_kind = PLAN_USER_CALLER;
}

static void
test_ids_are_kept_for_the_caller_alone(void **state)
{
	struct fixture *f = *state;

	make_rootless(f);
	assert_true(plan_keeps_id(&f->plan));
	f->plan.user_kind = PLAN_USER_NUMERIC;
	assert_false(plan_keeps_id(&f->plan));
	f->plan.user_kind = PLAN_USER_IMAGE;
	assert_false(plan_keeps_id(&f->plan));
	f->plan.user_kind = PLAN_USER_CALLER;
	f->plan.engine_uid = 1001; /* somebody else's */
	assert_false(plan_keeps_id(&f->plan));
	f->plan.engine_uid = 1000;
	f->plan.is_rootless = false;
	assert_false(plan_keeps_id(&f->plan));
	f->plan.is_rootless = true;
	f->plan.backend = "docker"; /* which cannot */
	assert_false(plan_keeps_id(&f->plan));
}

static void
test_kept_ids_are_looked_at_inside(void **state)
{
	struct fixture *f = *state;

	make_rootless(f);
	lower(f);
	assert_int_equal(f->lowered.confinement.flags & CONFINE_SEEN_KEPT_ID, CONFINE_SEEN_KEPT_ID);
	assert_int_equal(f->lowered.confinement.uid, 1000);
	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	f->plan.user_kind = PLAN_USER_NUMERIC;
	lower(f);
	assert_int_equal(f->lowered.confinement.flags & CONFINE_SEEN_KEPT_ID, 0);
}

/* ------------------------------------------------------------------------------------------------
 * Limits
 */
static void
test_a_socket_is_asked_what_it_can(void **state)
{
	struct fixture *f = *state;

	make_rootless(f);
	assert_null(docker_rootless_lacks(&f->plan, PLAN_LIMIT_MEMORY));
	assert_non_null(docker_rootless_mend(&f->plan, PLAN_LIMIT_MEMORY));
	assert_null(docker_rootless_mend(&f->plan, PLAN_LIMIT_DISK));
	f->plan.is_rootless = false;
	f->plan.is_endpoint_program = true;
	assert_null(docker_rootless_lacks(&f->plan, PLAN_LIMIT_MEMORY));
	assert_null(docker_rootless_mend(&f->plan, PLAN_LIMIT_MEMORY));
}

/* What follows is of this host: version 1 has it, or version 2. */
static void
test_a_program_has_what_this_host_gives(void **state)
{
	struct fixture *f = *state;

	make_rootless(f);
	f->plan.is_endpoint_program = true;
	bool lacks = docker_rootless_lacks(&f->plan, PLAN_LIMIT_MEMORY) != NULL;
	assert_int_equal(lacks, docker_rootless_lacks(&f->plan, PLAN_LIMIT_CPUS) != NULL);
	assert_null(docker_rootless_lacks(&f->plan, PLAN_LIMIT_FILES));
	assert_null(docker_rootless_lacks(&f->plan, PLAN_LIMIT_SHM));
	bool is_nproc = docker_pids_by_nproc(&f->plan);
	assert_int_equal(lacks && !is_nproc,
	    docker_rootless_lacks(&f->plan, PLAN_LIMIT_PIDS) != NULL);
	if (is_nproc) {
		f->plan.no_new_privs =
		    false; /* somebody may become another user, who is not counted */
		assert_false(docker_pids_by_nproc(&f->plan));
		f->plan.no_new_privs = true;
	}
	f->plan.user_kind = PLAN_USER_NUMERIC; /* nothing counts by container then */
	assert_false(docker_pids_by_nproc(&f->plan));
	assert_int_equal(lacks, docker_rootless_lacks(&f->plan, PLAN_LIMIT_PIDS) != NULL);
}

static void
test_the_host_s_network_is_not_podman_s_to_give(void **state)
{
	struct fixture *f = *state;

	make_rootless(f);
	assert_null(docker_rootless_refuses(&f->plan));
	f->plan.network = PLAN_NETWORK_HOST;
	assert_non_null(docker_rootless_refuses(&f->plan));
	f->plan.is_rootless = false; /* root's own gives it */
	assert_null(docker_rootless_refuses(&f->plan));
	f->plan.is_rootless = true;
	f->plan.backend = "docker";
	assert_null(docker_rootless_refuses(&f->plan));
}

static void
test_defaults_are_no_higher_than_the_caller_s(void **state)
{
	struct fixture *f = *state;
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max > 2000) {
		limit.rlim_cur = limit.rlim_max = 2000;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
	make_rootless(f);
	assert_int_equal(docker_rlimit_within(&f->plan, "nofile", 4096), 4096); /* its own */
	f->plan.is_endpoint_program = true;
	assert_int_equal(docker_rlimit_within(&f->plan, "nofile", 4096), limit.rlim_max);
	assert_int_equal(docker_rlimit_within(&f->plan, "nofile", 10), 10);
	assert_int_equal(docker_rlimit_within(&f->plan, "core", 1U << 31), 1U << 31);
	f->plan.is_rootless = false;
	assert_int_equal(docker_rlimit_within(&f->plan, "nofile", 4096), 4096);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owner_is_who_listens),
		cmocka_unit_test(test_owner_is_not_who_has_the_name),
		cmocka_unit_test(test_owner_in_a_namespace_below_is_not_here),
		CASE(test_u53_rootless_is_decided_by_this_table),
		CASE(test_u53_nothing_is_tried_on_an_engine_of_root_s),
		CASE(test_u53_an_engine_of_this_host_tells_the_process),
		CASE(test_ids_are_kept_for_the_caller_alone),
		CASE(test_kept_ids_are_looked_at_inside),
		CASE(test_a_socket_is_asked_what_it_can),
		CASE(test_a_program_has_what_this_host_gives),
		CASE(test_the_host_s_network_is_not_podman_s_to_give),
		CASE(test_defaults_are_no_higher_than_the_caller_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
