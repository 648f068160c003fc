/*
 * Limits by control group: the v2 driver on a tree of ordinary files, since few hosts have every
 * controller there.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
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

#include "confine/apply/apply.h"
#include "confine/limits.h"

#include "base/banned.h"

struct tree {
	char top[64];
	char self_cgroup[128], mountinfo[128];
	struct cgroup_host host;
};

static void
put(const char *dir, const char *name, const char *text)
{
	char path[1200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void
get(const char *dir, const char *name, char *text, size_t size)
{
	char path[1200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	ssize_t n = read(fd, text, size - 1);
	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
}

/* A unified hierarchy at <top>/cg in which this process is in /team/me. */
static int
setup(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	char path[160], text[256];

	assert_non_null(tree);
	snprintf(tree->top, sizeof(tree->top), "/tmp/hl-limits-XXXXXX");
	assert_non_null(mkdtemp(tree->top));
	snprintf(tree->self_cgroup, sizeof(tree->self_cgroup), "%s/self", tree->top);
	snprintf(tree->mountinfo, sizeof(tree->mountinfo), "%s/mountinfo", tree->top);
	tree->host = (struct cgroup_host){
		.self_cgroup = tree->self_cgroup,
		.mountinfo = tree->mountinfo,
		.open_flags = O_CREAT,
	};
	put(tree->top, "self", "5:devices:/x\n1:name=systemd:/\n0::/team/me\n");
	snprintf(text, sizeof(text),
	    "20 1 0:1 / / rw - ext4 /dev/root rw\n"
	    "21 20 0:2 / %s/cg rw,nosuid shared:4 - cgroup2 cgroup rw\n",
	    tree->top);
	put(tree->top, "mountinfo", text);
	static const char *const dirs[] = { "cg", "cg/team", "cg/team/me" };
	for (size_t i = 0; i < HL_ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", tree->top, dirs[i]);
		assert_int_equal(mkdir(path, 0755), 0);
		put(path, "cgroup.controllers", "cpuset cpu memory pids\n");
		put(path, "cgroup.subtree_control", "");
	}
	*state = tree;
	return 0;
}

static int
teardown(void **state)
{
	struct tree *tree = *state;
	char command[128];
	int status;

	snprintf(command, sizeof(command), "%s", tree->top);
	pid_t pid = fork();
	if (pid == 0) {
		execl("/bin/rm", "rm", "-rf", command, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	free(tree);
	return status;
}

static const struct confine_limits all_limits = {
	.has_pids = true,
	.pids = 64,
	.has_memory = true,
	.memory = 256 * 1024 * 1024 + 1,
	.has_cpus = true,
	.cpus = 1500,
};

static void
v2_applies_all_in_one_group(void **state)
{
	struct tree *tree = *state;
	struct confine_cgroup cgroup;
	struct hl_err err;
	char text[64];

	assert_int_equal(confine_cgroup_create_at(&tree->host, &all_limits, "RUN1", &cgroup, &err),
	    0);
	assert_int_equal(cgroup.applied, 7);
	assert_int_equal(cgroup.dirs_len, 1);
	assert_non_null(strstr(cgroup.dirs[0], "/cg/team/me/hermes-launch/RUN1"));
	assert_non_null(strstr(cgroup.entries[0], "/hermes-launch/RUN1/cgroup.procs"));
	get(cgroup.dirs[0], "pids.max", text, sizeof(text));
	assert_string_equal(text, "64");
	get(cgroup.dirs[0], "memory.max", text, sizeof(text));
	assert_string_equal(text, "268435456");
	get(cgroup.dirs[0], "memory.swap.max", text, sizeof(text));
	assert_string_equal(text, "0");
	get(cgroup.dirs[0], "cpu.max", text, sizeof(text));
	assert_string_equal(text, "150000 100000");
	confine_cgroup_done(&cgroup);
	confine_cgroup_done(&cgroup);
}

static void
v2_without_the_controller_names_it(void **state)
{
	struct tree *tree = *state;
	struct confine_cgroup cgroup;
	struct hl_err err;
	char dir[160];

	snprintf(dir, sizeof(dir), "%s/cg/team/me", tree->top);
	put(dir, "cgroup.controllers", "cpu memory\n");
	assert_int_equal(confine_cgroup_create_at(&tree->host, &all_limits, "RUN2", &cgroup, &err),
	    0);
	assert_int_equal(cgroup.applied, 1 << CONFINE_LIMIT_MEMORY | 1 << CONFINE_LIMIT_CPUS);
	assert_non_null(strstr(cgroup.missing[CONFINE_LIMIT_PIDS], "'pids' is not delegated"));
	confine_cgroup_done(&cgroup);
}

static const struct confine_limits one_cpu = { .has_cpus = true, .cpus = 1000 };

/* This process is in /team/me, which has processes, and nobody above it has handed cpu down. */
static void
nobody_needs_cpu(const struct tree *tree, char top[160], char base[160], char own[160])
{
	snprintf(top, 160, "%s/cg", tree->top);
	snprintf(base, 160, "%s/cg/team", tree->top);
	snprintf(own, 160, "%s/cg/team/me", tree->top);
	put(own, "cgroup.type", "domain\n");
	put(own, "cgroup.controllers", "memory pids\n");
	put(base, "cgroup.subtree_control", "memory pids\n");
	put(top, "cgroup.subtree_control", "memory pids\n");
}

/* systemd lets cpu down from the top only when a unit wants it: who may, does it here. */
static void
v2_hands_a_controller_down_from_the_top(void **state)
{
	struct tree *tree = *state;
	struct confine_cgroup cgroup;
	struct hl_err err;
	char top[160], base[160], own[160], text[64];

	nobody_needs_cpu(tree, top, base, own);
	assert_int_equal(confine_cgroup_create_at(&tree->host, &one_cpu, "RUN9", &cgroup, &err), 0);
	assert_int_equal(cgroup.applied, 1 << CONFINE_LIMIT_CPUS);
	get(top, "cgroup.subtree_control", text, sizeof(text));
	assert_memory_equal(text, "+cpu", 4);
	get(base, "cgroup.subtree_control", text, sizeof(text));
	assert_memory_equal(text, "+cpu", 4);
	get(own, "cgroup.subtree_control", text, sizeof(text));
	assert_string_equal(text, "");
	confine_cgroup_done(&cgroup);

	/* Where the base has it, so have those above: nothing is written. */
	put(base, "cgroup.subtree_control", "cpu memory pids\n");
	put(top, "cgroup.subtree_control", "");
	assert_int_equal(confine_cgroup_create_at(&tree->host, &one_cpu, "RUN10", &cgroup, &err),
	    0);
	assert_int_equal(cgroup.applied, 1 << CONFINE_LIMIT_CPUS);
	get(top, "cgroup.subtree_control", text, sizeof(text));
	assert_string_equal(text, "");
	confine_cgroup_done(&cgroup);
}

/* For others the cause is that nobody gave it to them, wherever on the way that is. */
static void
v2_that_cannot_be_handed_down_is_told(void **state)
{
	struct tree *tree = *state;
	struct confine_cgroup cgroup;
	struct hl_err err;
	char top[160], base[160], own[160], file[200];
	const uid_t uid = geteuid();

	nobody_needs_cpu(tree, top, base, own);
	/* Root may write all: be somebody else. */
	assert_int_equal(chmod(tree->top, 0755), 0);
	for (int i = 0; i < 2; i++) {
		snprintf(file, sizeof(file), "%s/cgroup.subtree_control", i == 0 ? top : base);
		assert_int_equal(chmod(file, 0444), 0);
		assert_int_equal(uid == 0 ? seteuid(65534) : 0, 0);
		assert_int_equal(confine_cgroup_create_at(&tree->host, &one_cpu, "RUN11", &cgroup,
				     &err),
		    0);
		assert_int_equal(seteuid(uid), 0);
		assert_int_equal(cgroup.applied, 0);
		assert_non_null(
		    strstr(cgroup.missing[CONFINE_LIMIT_CPUS], "'cpu' is not delegated"));
		confine_cgroup_done(&cgroup);
		put(top, "cgroup.subtree_control", "cpu\n");
	}
	/* The top has none to hand down. */
	put(top, "cgroup.subtree_control", "memory\n");
	put(top, "cgroup.controllers", "memory pids\n");
	assert_int_equal(confine_cgroup_create_at(&tree->host, &one_cpu, "RUN12", &cgroup, &err),
	    0);
	assert_int_equal(cgroup.applied, 0);
	assert_non_null(strstr(cgroup.missing[CONFINE_LIMIT_CPUS], "'cpu' is not delegated"));
	confine_cgroup_done(&cgroup);
	/* What is no question of rights is told as what it is. */
	put(top, "cgroup.controllers", "cpu\n");
	assert_int_equal(unlink(file), 0);
	assert_int_equal(mkdir(file, 0755), 0);
	assert_int_equal(confine_cgroup_create_at(&tree->host, &one_cpu, "RUN13", &cgroup, &err),
	    0);
	assert_int_equal(cgroup.applied, 0);
	assert_non_null(strstr(cgroup.missing[CONFINE_LIMIT_CPUS], "cannot be handed down: Is a"));
	confine_cgroup_done(&cgroup);
}

/* A group with processes in it that is not the root of the tree: the kernel would hand pids and cpu
 * down from it, and then let nobody enter what is below. Nothing is written there, and all limits
 * are in one group: a process can be in one only. */
static void
v2_uses_the_group_beside_ours_when_ours_has_processes(void **state)
{
	struct tree *tree = *state;
	struct confine_cgroup cgroup;
	struct hl_err err;
	char dir[160], text[64];

	snprintf(dir, sizeof(dir), "%s/cg/team/me", tree->top);
	put(dir, "cgroup.type", "domain\n");
	assert_int_equal(confine_cgroup_create_at(&tree->host, &all_limits, "RUN3", &cgroup, &err),
	    0);
	assert_int_equal(cgroup.applied, 7);
	assert_int_equal(cgroup.dirs_len, 1);
	assert_non_null(strstr(cgroup.dirs[0], "/cg/team/hermes-launch/RUN3"));
	get(dir, "cgroup.subtree_control", text, sizeof(text));
	assert_string_equal(text, "");
	confine_cgroup_done(&cgroup);
}

/* In a container the top of what is mounted is a group with processes, and nothing is beside it. */
static void
v2_without_a_place_beside_ours_says_so(void **state)
{
	struct tree *tree = *state;
	struct confine_cgroup cgroup;
	struct hl_err err;
	char dir[160], text[64];

	put(tree->top, "self", "0::/\n");
	snprintf(dir, sizeof(dir), "%s/cg", tree->top);
	put(dir, "cgroup.type", "domain\n");
	assert_int_equal(confine_cgroup_create_at(&tree->host, &all_limits, "RUN6", &cgroup, &err),
	    0);
	assert_int_equal(cgroup.applied, 0);
	assert_int_equal(cgroup.dirs_len, 0);
	for (int i = 0; i < CONFINE_LIMIT_MAX; i++)
		assert_non_null(strstr(cgroup.missing[i], "beside this process's own"));
	get(dir, "cgroup.subtree_control", text, sizeof(text));
	assert_string_equal(text, "");
	confine_cgroup_done(&cgroup);
}

static void
a_group_that_exists_or_cannot_be_entered_is_not_used(void **state)
{
	struct tree *tree = *state;
	struct confine_cgroup cgroup;
	struct hl_err err;
	char dir[200], link_path[256];

	snprintf(dir, sizeof(dir), "%s/cg/team/me/hermes-launch", tree->top);
	assert_int_equal(mkdir(dir, 0755), 0);
	put(dir, "cgroup.subtree_control", "pids");
	/* The group exists already: somebody else's, or a leftover. Never used. */
	snprintf(link_path, sizeof(link_path), "%s/RUN4", dir);
	assert_int_equal(mkdir(link_path, 0755), 0);
	assert_int_equal(confine_cgroup_create_at(&tree->host, &all_limits, "RUN4", &cgroup, &err),
	    0);
	assert_int_equal(cgroup.applied, 0);
	assert_non_null(strstr(cgroup.missing[CONFINE_LIMIT_PIDS], "no group can be made"));
	confine_cgroup_done(&cgroup);

	const struct confine_limits pids = { .has_pids = true, .pids = 5 };
	tree->host.open_flags = 0; /* files are not made: pids.max is "not in this kernel" */
	assert_int_equal(confine_cgroup_create_at(&tree->host, &pids, "RUN5", &cgroup, &err), 0);
	assert_int_equal(cgroup.applied, 0);
	assert_non_null(strstr(cgroup.missing[CONFINE_LIMIT_PIDS], "cannot be entered"));
	confine_cgroup_done(&cgroup);
}

static void
places_are_found_or_their_absence_is_told(void **state)
{
	struct tree *tree = *state;
	struct cgroup_place place;
	char reason[160], text[512];

	assert_true(cgroup_place_find(&tree->host, "pids", &place, reason));
	assert_true(place.is_v2);
	/* A v1 controller goes before the unified hierarchy; the mount shows a part of it. */
	put(tree->top, "self", "8:cpu,cpuacct:/docker/abc/me\n0::/\n");
	snprintf(text, sizeof(text),
	    "21 20 0:2 / %s/cg rw - cgroup2 cgroup rw\n"
	    "22 20 0:3 /docker/abc /cpu rw master:1 shared:2 - cgroup cgroup rw,cpu,cpuacct\n"
	    "23 20 0:4 / /broken\n",
	    tree->top);
	put(tree->top, "mountinfo", text);
	assert_true(cgroup_place_find(&tree->host, "cpu", &place, reason));
	assert_false(place.is_v2);
	assert_string_equal(place.own, "/cpu/me");
	/* "cpuset" is not "cpu", and no v1 mount has it: unified. */
	assert_true(cgroup_place_find(&tree->host, "cpuset", &place, reason));
	assert_true(place.is_v2);
	/* A group outside what is mounted cannot be reached. */
	put(tree->top, "self", "8:cpu,cpuacct:/other\n");
	assert_false(cgroup_place_find(&tree->host, "cpu", &place, reason));
	assert_non_null(strstr(reason, "outside the mounted tree"));
	assert_false(cgroup_place_find(&tree->host, "pids", &place, reason));
	assert_non_null(strstr(reason, "no cgroup controller 'pids'"));
	put(tree->top, "self", "8:pids:/\n");
	assert_false(cgroup_place_find(&tree->host, "pids", &place, reason));
	assert_non_null(strstr(reason, "not mounted"));
	assert_int_equal(unlink(tree->self_cgroup), 0);
	assert_false(cgroup_place_find(&tree->host, "pids", &place, reason));
}

static void
a_name_with_a_slash_is_refused(void **state)
{
	struct tree *tree = *state;
	struct confine_cgroup cgroup;
	struct hl_err err;

	assert_int_equal(confine_cgroup_create_at(&tree->host, &all_limits, "../x", &cgroup, &err),
	    -1);
	assert_string_equal(hl_code_info(err.code)->id, "HLI-02");
}

/* Memory without a limit on swap is no limit, but where there is no swap. */
static void
swap_that_cannot_be_counted_is_missing(void **state)
{
	struct tree *tree = *state;
	static const char title[] = "Filename\tType\tSize\tUsed\tPriority\n";
	struct confine_cgroup cgroup;
	struct hl_err err = { 0 };
	char swaps[128], text[256];

	snprintf(swaps, sizeof(swaps), "%s/swaps", tree->top);
	tree->host.swaps = swaps;
	for (int i = 0; i < 4; i++) {
		bool is_absent = i < 3, has_swap = i != 1;
		snprintf(text, sizeof(text), "%s%s", title,
		    has_swap ? "/dev/vdb\tpartition\t1\t0\t-2\n" : "");
		put(tree->top, "swaps", text);
		if (i == 2)
			tree->host.swaps = "/nowhere/swaps";
		tree->host.absent = is_absent ? "memory.swap.max" : NULL;
		snprintf(text, sizeof(text), "run%d", i);
		assert_int_equal(confine_cgroup_create_at(&tree->host, &all_limits, text, &cgroup,
				     &err),
		    0);
		bool is_applied = (cgroup.applied & (1U << CONFINE_LIMIT_MEMORY)) != 0;
		assert_int_equal(is_applied, i == 1 || i == 3);
		if (!is_applied)
			assert_non_null(strstr(cgroup.missing[CONFINE_LIMIT_MEMORY], "swap"));
		confine_cgroup_done(&cgroup);
	}
}

struct announced {
	const struct confine_cgroup *cgroup;
	int times, answer;
};

static int
on_announced(void *context, struct hl_err *err)
{
	struct announced *announced = context;
	struct stat st;

	announced->times++;
	assert_int_equal(announced->cgroup->dirs_len, 1);
	assert_int_equal(stat(announced->cgroup->dirs[0], &st), -1);
	return announced->answer == 0 ? 0 : hl_err_set(err, HLB_24, "no janitor");
}

/* Whoever removes what a killed launcher leaves is there, and knows the name, before there is
 * anything; without it nothing is made. */
static void
groups_are_announced_before_they_are_made(void **state)
{
	struct tree *tree = *state;
	struct confine_cgroup cgroup;
	struct announced announced = { .cgroup = &cgroup };
	struct confine_limits limits = all_limits;
	struct hl_err err;
	struct stat st;

	limits.before = on_announced;
	limits.context = &announced;
	assert_int_equal(confine_cgroup_create_at(&tree->host, &limits, "RUN7", &cgroup, &err), 0);
	assert_int_equal(announced.times, 1);
	assert_int_equal(stat(cgroup.dirs[0], &st), 0);
	char *dir = strdup(cgroup.dirs[0]);
	dir[strlen(dir) - 1] = '8';
	confine_cgroup_done(&cgroup);
	announced.answer = -1;
	assert_int_equal(confine_cgroup_create_at(&tree->host, &limits, "RUN8", &cgroup, &err), -1);
	assert_int_equal(err.code, HLB_24);
	assert_int_equal(announced.times, 2);
	assert_int_equal(cgroup.dirs_len, 0);
	assert_int_equal(stat(dir, &st), -1);
	free(dir);
}

/* A group that cannot be entered ends the lock, and is named. */
static void
a_group_that_cannot_be_entered_is_told(void **state)
{
	static const struct {
		const char *path;
		int expected;
	} rows[] = { { "/no/such/group/tasks", ENOENT }, { "/proc/self/exe", ELOOP },
		{ "/dev/full", ENOSPC }, { "/tmp", EISDIR } };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		const struct confinement lock = { .groups = { "/dev/null", rows[i].path },
			.groups_len = 2 };
		struct confine_failure failure = { 0 };
		struct apply apply = { .confinement = &lock, .failure = &failure };
		assert_int_equal(apply_groups(&apply), -1);
		assert_int_equal(failure.step, CONFINE_STEP_GROUPS);
		assert_int_equal(failure.sys_errno, rows[i].expected);
		assert_string_equal(failure.subject, rows[i].path);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(v2_applies_all_in_one_group, setup, teardown),
		cmocka_unit_test_setup_teardown(v2_without_the_controller_names_it, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(v2_hands_a_controller_down_from_the_top, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(v2_that_cannot_be_handed_down_is_told, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    v2_uses_the_group_beside_ours_when_ours_has_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(v2_without_a_place_beside_ours_says_so, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    a_group_that_exists_or_cannot_be_entered_is_not_used, setup, teardown),
		cmocka_unit_test_setup_teardown(places_are_found_or_their_absence_is_told, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(a_name_with_a_slash_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(groups_are_announced_before_they_are_made, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(swap_that_cannot_be_counted_is_missing, setup,
		    teardown),
		cmocka_unit_test(a_group_that_cannot_be_entered_is_told),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
