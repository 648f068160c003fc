/*
 * Limits by control group in this host's own hierarchies, of whichever version: what the kernel
 * refuses, and the removal. Where there are none, or no right to them, the tests say so.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "confine/limits.h"

#include "base/banned.h"

static bool
try_here(const struct confine_limits *limits, uint32_t wanted, struct confine_cgroup *ret_cgroup)
{
	struct hl_err err;
	char name[HL_ULID_SIZE];

	assert_int_equal(hl_ulid(name, &err), 0);
	assert_int_equal(confine_cgroup_create(limits, name, ret_cgroup, &err), 0);
	return (ret_cgroup->applied & wanted) == wanted;
}

/* Where this host has no such group, the test is skipped, for the reason that was told. */
static void
make_here(const struct confine_limits *limits, uint32_t wanted, struct confine_cgroup *ret_cgroup)
{
	struct hl_err err;

	if (try_here(limits, wanted, ret_cgroup))
		return;
	for (int i = 0; i < CONFINE_LIMIT_MAX; i++)
		if (ret_cgroup->missing[i][0] != '\0')
			print_message("# SKIP %s\n", ret_cgroup->missing[i]);
	assert_int_equal(confine_cgroup_remove(ret_cgroup, &err), 0);
	skip();
}

static bool
enter(const char *entry)
{
	int fd = open(entry, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, "0", 1) == 1 && close(fd) == 0;
}

/* Enters the groups and forks until it is refused; the number of children is the exit status. */
static int
count_forks(const struct confine_cgroup *cgroup)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int n = 0;
		for (size_t i = 0; i < cgroup->dirs_len; i++)
			if (!enter(cgroup->entries[i]))
				_exit(99);
		while (n < 40) {
			pid_t child = fork();
			if (child < 0)
				break;
			if (child == 0) {
				pause();
				_exit(0);
			}
			n++;
		}
		_exit(n);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* U32: what counts is not what a file says but that the kernel refuses. And what is left in a group
 * is killed when the group is removed. */
static void
u32_the_kernel_refuses_past_pids_and_removal_kills(void **state)
{
	struct confine_cgroup cgroup;
	struct hl_err err;
	struct stat st;
	char dir[1200];

	(void)state;
	const struct confine_limits ten = { .has_pids = true, .pids = 10 };
	make_here(&ten, 1 << CONFINE_LIMIT_PIDS, &cgroup);
	assert_int_equal(count_forks(&cgroup), 9);
	snprintf(dir, sizeof(dir), "%s", cgroup.dirs[0]);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(confine_cgroup_remove(&cgroup, &err), 0);
	assert_int_equal(stat(dir, &st), -1);
	assert_int_equal(confine_cgroup_remove(&cgroup, &err), 0); /* twice is nothing */

	/* The sibling: a higher limit lets all 40 through. */
	const struct confine_limits hundred = { .has_pids = true, .pids = 100 };
	assert_true(try_here(&hundred, 1 << CONFINE_LIMIT_PIDS, &cgroup));
	assert_int_equal(count_forks(&cgroup), 40);
	assert_int_equal(confine_cgroup_remove(&cgroup, &err), 0);
}

/* A number that the kernel does not take is a limit that is missing, with the number in the cause.
 */
static void
a_refused_number_is_missing(void **state)
{
	struct confine_cgroup cgroup;
	struct hl_err err;
	const struct confine_limits ten = { .has_pids = true, .pids = 10 };
	const struct confine_limits absurd = { .has_pids = true, .pids = 1ULL << 62 };

	(void)state;
	make_here(&ten, 1 << CONFINE_LIMIT_PIDS, &cgroup);
	assert_int_equal(confine_cgroup_remove(&cgroup, &err), 0);
	assert_int_equal(confine_cgroup_create(&absurd, "HL-TEST-ABSURD", &cgroup, &err), 0);
	assert_int_equal(cgroup.applied, 0);
	assert_non_null(strstr(cgroup.missing[CONFINE_LIMIT_PIDS], "pids.max=4611686018427387904"));
	assert_int_equal(confine_cgroup_remove(&cgroup, &err), 0);
}

/* Dies of SIGKILL past the limit; the sibling has room. */
static int
touch_memory(const struct confine_cgroup *cgroup, size_t bytes)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		for (size_t i = 0; i < cgroup->dirs_len; i++)
			if (!enter(cgroup->entries[i]))
				_exit(99);
		execl("/bin/sh", "sh", "-c",
		    "head -c \"$0\" /dev/zero | tail -c 1k >/dev/null; "
		    "x=$(head -c \"$0\" /dev/zero | tr '\\0' x); "
		    "test ${#x} -eq \"$0\"",
		    bytes > 50000000 ? "150000000" : "1000000", (char *)NULL);
		_exit(98);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
memory_and_cpus_are_applied_here(void **state)
{
	struct confine_cgroup cgroup;
	struct hl_err err;
	const struct confine_limits limits = {
		.has_memory = true,
		.memory = 64 * 1024 * 1024,
		.has_cpus = true,
		.cpus = 500,
	};

	(void)state;
	make_here(&limits, 1 << CONFINE_LIMIT_MEMORY | 1 << CONFINE_LIMIT_CPUS, &cgroup);
	assert_int_equal(touch_memory(&cgroup, 1000000), 0);
	assert_int_not_equal(touch_memory(&cgroup, 150000000), 0);
	assert_int_equal(confine_cgroup_remove(&cgroup, &err), 0);
}

/* A group that cannot be removed is told (HLB-26), and is removed once it can be. */
static void
a_group_that_stays_busy_is_told(void **state)
{
	struct confine_cgroup cgroup;
	struct hl_err err;
	char inner[1200];

	(void)state;
	const struct confine_limits ten = { .has_pids = true, .pids = 10 };
	make_here(&ten, 1 << CONFINE_LIMIT_PIDS, &cgroup);
	snprintf(inner, sizeof(inner), "%s/inner", cgroup.dirs[0]);
	assert_int_equal(mkdir(inner, 0755), 0);
	assert_int_equal(confine_cgroup_remove(&cgroup, &err), -1);
	assert_string_equal(hl_code_info(err.code)->id, "HLB-26");
	assert_int_equal(rmdir(inner), 0);
	assert_int_equal(confine_cgroup_remove(&cgroup, &err), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(u32_the_kernel_refuses_past_pids_and_removal_kills),
		cmocka_unit_test(a_refused_number_is_missing),
		cmocka_unit_test(memory_and_cpus_are_applied_here),
		cmocka_unit_test(a_group_that_stays_busy_is_told),
	};

	return cmocka_run_group_tests_name("limits here", tests, NULL, NULL);
}
