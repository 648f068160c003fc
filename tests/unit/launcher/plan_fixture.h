/*
 * A host of its own for tests of the plan: a temporary tree with a home, a working directory and a
 * state directory, a policy loaded from text, and a plan built from them. Nothing of the machine's
 * own home or state is looked at.
 */
#ifndef HL_TESTS_PLAN_FIXTURE_H
#define HL_TESTS_PLAN_FIXTURE_H

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/plan_parts.h"

#define FIXTURE __attribute__((unused)) static

struct fixture {
	char root[64]; /* the kernel's name of the temporary tree */
	char home[96], work[96], state[96];
	char *environment[64];
	size_t environment_len;
	struct host host;
	struct request request;
	struct conflicts conflicts;
	struct policy *policy;
	struct policy_findings findings;
	struct plan plan;
	struct hl_err err;
};

FIXTURE void
make_dir(const char *path)
{
	struct hl_err err;

	assert_int_equal(hl_mkdirs(path, 0755, &err), 0);
}

FIXTURE void
make_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(hl_write_full(fd, text, strlen(text)), 0);
	close(fd);
}

/* root/name; a static buffer of four, for use within one call. */
FIXTURE const char *
at(const struct fixture *fixture, const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", fixture->root, name);
	return path;
}

FIXTURE void
set_variable(struct fixture *fixture, const char *entry)
{
	assert_true(fixture->environment_len + 1 < HL_ARRAY_SIZE(fixture->environment));
	fixture->environment[fixture->environment_len] = strdup(entry);
	assert_non_null(fixture->environment[fixture->environment_len++]);
}

FIXTURE int
setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	snprintf(fixture->root, sizeof(fixture->root), "/tmp/hl-plan-test.XXXXXX");
	assert_non_null(mkdtemp(fixture->root));
	snprintf(fixture->home, sizeof(fixture->home), "%s/home", fixture->root);
	snprintf(fixture->work, sizeof(fixture->work), "%s/work", fixture->root);
	snprintf(fixture->state, sizeof(fixture->state), "%s/state", fixture->root);
	assert_int_equal(mkdir(fixture->home, 0755), 0);
	assert_int_equal(mkdir(fixture->work, 0755), 0);
	fixture->host = (struct host){
		.uid = 1000,
		.gid = 1000,
		.user = "alice",
		.home = fixture->home,
		.cwd = fixture->work,
		.environ_ = fixture->environment,
		.state_dir = fixture->state,
		.runner_path = "/usr/bin/true",
		.helper_path = "/usr/bin/true",
	};
	fixture->request.verb = VERB_EXPLAIN;
	fixture->request.state_dir = fixture->state;
	*state = fixture;
	return 0;
}

FIXTURE void
unload(struct fixture *fixture)
{
	plan_done(&fixture->plan);
	policy_free(fixture->policy);
	policy_findings_done(&fixture->findings);
	fixture->policy = NULL;
}

FIXTURE int
remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

FIXTURE int
teardown(void **state)
{
	struct fixture *fixture = *state;

	unload(fixture);
	conflicts_done(&fixture->conflicts);
	for (size_t i = 0; i < fixture->environment_len; i++)
		free(fixture->environment[i]);
	nftw(fixture->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(fixture);
	return 0;
}

/* Loads the policy at path. 0 or -1 with fixture->err. */
FIXTURE int
load_file(struct fixture *fixture, const char *path)
{
	const struct policy_load_request load = {
		.files = &path,
		.files_len = 1,
		.cwd = fixture->work,
		.caller = getuid(),
		.home = fixture->home,
	};

	unload(fixture);
	return policy_load(&load, &fixture->policy, &fixture->findings, &fixture->err);
}

/* The text below the four lines that every policy has. */
FIXTURE int
load_text(struct fixture *fixture, const char *level, const char *text)
{
	char policy[16384];

	snprintf(policy, sizeof(policy), "version: 1\nid: test/plan\nlevel: %s\n%s", level, text);
	make_dir(at(fixture, "policies"));
	make_file(at(fixture, "policies/p.yaml"), policy);
	return load_file(fixture, at(fixture, "policies/p.yaml"));
}

FIXTURE int
build_plan(struct fixture *fixture)
{
	const struct plan_input input = {
		.policy = fixture->policy,
		.request = &fixture->request,
		.conflicts = &fixture->conflicts,
		.host = &fixture->host,
	};

	plan_done(&fixture->plan);
	return plan_build(&input, &fixture->plan, &fixture->err);
}

/* Must load; returns what plan_build() does. */
FIXTURE int
plan_of(struct fixture *fixture, const char *text)
{
	if (load_text(fixture, "baseline@1", text) != 0)
		fail_msg("policy: %s", fixture->findings.len > 0
					   ? fixture->findings.items[0].message
					   : fixture->err.msg);
	return build_plan(fixture);
}

#define assert_planned(fixture, text)               \
 do {                                               \
  if (plan_of(fixture, text) != 0)                  \
   fail_msg("not planned: %s", (fixture)->err.msg); \
 } while (0)

/* Refused with that code, and a word of the message. */
#define assert_refused(fixture, text, code_, word)                                     \
 do {                                                                                  \
  if (plan_of(fixture, text) == 0)                                                     \
   fail_msg("planned, not refused: %s", text);                                         \
  assert_string_equal(hl_code_info((fixture)->err.code)->id, hl_code_info(code_)->id); \
  assert_non_null(strstr((fixture)->err.msg, word));                                   \
 } while (0)

FIXTURE const struct plan_mount *
mount_of(const struct fixture *fixture, const char *dst)
{
	for (size_t i = 0; i < fixture->plan.mounts_len; i++)
		if (strcmp(fixture->plan.mounts[i].dst, dst) == 0)
			return &fixture->plan.mounts[i];
	return NULL;
}

FIXTURE const struct plan_env *
variable_of(const struct fixture *fixture, const char *name)
{
	for (size_t i = 0; i < fixture->plan.env_len; i++)
		if (strcmp(fixture->plan.env[i].name, name) == 0)
			return &fixture->plan.env[i];
	return NULL;
}

#endif
