/*
 * Engines that run without root: whose they are, when the caller's ids are kept, what is expected
 * to be found inside, and what is said of limits.
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

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

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	assert_false(engine_owner(path, &uid));
	int fd = listen_at(path);
	/* The overflow user is whoever this namespace has no number for. */
	assert_int_equal(engine_owner(path, &uid), getuid() != 65534);
	assert_int_equal(uid, getuid() != 65534 ? getuid() : 7);
	close(fd);
	assert_false(engine_owner(path, &uid)); /* the name is there, and nobody behind it */
	unlink(path);
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[0] = '/';
	long_path[sizeof(long_path) - 1] = '\0';
	assert_false(engine_owner(long_path, &uid));
	rmdir(dir);
}

/* Whoever listens is meant, not whoever has the name: of another user's where we can be one. */
static void
test_owner_is_not_who_has_the_name(void **state)
{
	char dir[] = "/tmp/test-rootless-XXXXXX", path[64];
	uint32_t uid = 7;
	char ready;
	int ends[2];

	(void)state;
	if (geteuid() != 0)
		skip();
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
	assert_true(engine_owner(path, &uid));
	assert_int_equal(uid, 1234);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(path);
	rmdir(dir);
	close(ends[0]);
	close(ends[1]);
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
		CASE(test_ids_are_kept_for_the_caller_alone),
		CASE(test_kept_ids_are_looked_at_inside),
		CASE(test_a_socket_is_asked_what_it_can),
		CASE(test_a_program_has_what_this_host_gives),
		CASE(test_the_host_s_network_is_not_podman_s_to_give),
		CASE(test_defaults_are_no_higher_than_the_caller_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
