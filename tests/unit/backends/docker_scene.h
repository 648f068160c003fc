/*
 * A plan for docker as the launcher would make one, and what it is lowered to.
 */
#ifndef HL_TESTS_UNIT_BACKENDS_DOCKER_SCENE_H
#define HL_TESTS_UNIT_BACKENDS_DOCKER_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backends/docker/settings.h"
#include "backends/docker/start.h"

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct fixture {
	struct plan plan;
	struct plan_mount mounts[8];
	struct plan_tmpfs tmpfs[8];
	struct lowered lowered;
	struct hl_err err;
};

static char home_path[] = "/home/agent";
static char image_name[] = "example/tools@" DIGEST;
static char socket_path[] = "/var/run/docker.sock";

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->plan = (struct plan){
		.run_id = "01ARZ3NDEKTSV4RRFFQ69G5FAV",
		.backend = "docker",
		.state_dir = "/state",
		.runner_path = "/usr/libexec/hermes-launch/hermes-runner",
		.helper_path = "/usr/libexec/hermes-launch/hl-engine",
		.user_kind = PLAN_USER_NUMERIC,
		.uid = 1000,
		.gid = 1000,
		.no_new_privs = true,
		.seccomp = CONFINE_PROFILE_NONE,
		.root = PLAN_ROOT_READ_ONLY,
		.mounts = f->mounts,
		.tmpfs = f->tmpfs,
		.home = { .kind = PLAN_HOME_TMPFS, .path = home_path, .size = 1048576 },
		.image = image_name,
		.image_digest = true,
		.pull = PLAN_PULL_MISSING,
		.endpoint = socket_path,
		.cancel_fd = -1,
	};
	hl_strv_init(&f->plan.deny, 16);
	lowered_init(&f->lowered);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	hl_strv_done(&f->plan.deny);
	lowered_done(&f->lowered);
	free(f);
	return 0;
}

static void
lower(struct fixture *f)
{
	const struct backend *backend = backend_find(f->plan.backend, &f->err);

	if (backend == NULL || backend->lower(&f->plan, &f->lowered, &f->err) != 0)
		fail_msg("%s: %s", hl_code_info(f->err.code)->id, f->err.msg);
}

#endif
