/*
 * Inside of the limits: where a test can put its own tree, and the half that a janitor may call
 * after the launcher was killed. Private to confine/.
 */
#ifndef HL_CONFINE_LIMITS_H
#define HL_CONFINE_LIMITS_H

#include <limits.h>

#include "confine/confine.h"

/* Where this process learns its groups from. open_flags is added when a control file is opened for
 * writing: 0 on the real thing, O_CREAT on a tree of ordinary files. */
struct cgroup_host {
	const char *self_cgroup; /* "/proc/self/cgroup" */
	const char *mountinfo;   /* "/proc/self/mountinfo" */
	const char *swaps;       /* "/proc/swaps" */
	const char *absent;      /* a control file that a test takes away; NULL on the real thing */
	int open_flags;
};

enum {
	CGROUP_PATH_MAX = 1024
};

/* Directory of the groups of all launchers, below the group that they are made in. */
#define CGROUP_OF_ALL "hermes-launch"

/* The group of this process in the hierarchy that has one controller. */
struct cgroup_place {
	char own[CGROUP_PATH_MAX];  /* directory of the group */
	char root[CGROUP_PATH_MAX]; /* mount point of the hierarchy */
	bool is_v2;
};

/* false with the cause in reason when no mounted hierarchy has the controller. */
bool cgroup_place_find(const struct cgroup_host *host, const char *controller,
    struct cgroup_place *ret_place, char reason[160]) HL_MUST_CHECK;

int confine_cgroup_create_at(const struct cgroup_host *host, const struct confine_limits *limits,
    const char *name, struct confine_cgroup *ret_cgroup, struct hl_err *err) HL_MUST_CHECK;

#endif
