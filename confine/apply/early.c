/*
 * What every lock with a root of its own begins with, done before the lock has come: it takes as
 * long as the host takes to decide, and asks nothing of the policy. A lock that wants something
 * else in its place has it taken away first; a lock that wants no root at all is refused.
 */
#include <sys/mount.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "confine/apply/apply.h"

#include "base/banned.h"

static int
begin_root(struct apply *apply, struct confine_early *early)
{
	if (apply_private(apply) != 0 || apply_root(apply) != 0)
		return -1;
	early->base_fd = apply->base_fd;
	early->mask_fd[0] = apply->mask_fd[0];
	early->mask_fd[1] = apply->mask_fd[1];
	return apply_dev_early(apply) != 0 ? -1 : apply_proc_early(apply);
}

void
confine_begin(uint32_t flags, struct confine_early *ret_early)
{
	static const struct confine_early nothing = { .base_fd = -1, .mask_fd = { -1, -1 } };
	struct apply apply = { .early = &nothing,
		.failure = &ret_early->failure,
		.base_fd = -1,
		.root_fd = -1,
		.mask_fd = { -1, -1 } };

	*ret_early = nothing;
	ret_early->flags = flags;
	if ((flags & CONFINE_EARLY_NETWORK) != 0 && apply_network_begin(&apply) != 0)
		return;
	if ((flags & CONFINE_EARLY_ROOT) != 0 && begin_root(&apply, ret_early) != 0)
		return;
}

/* The op that is just what was begun at dst, and nothing lies over its place. */
static bool
is_wanted(const struct confinement *confinement, enum confine_op_kind kind, const char *dst)
{
	for (size_t n = 0; n < confinement->ops_len; n++) {
		const struct confine_op *op = &confinement->ops[n];
		if (op->kind == kind && strcmp(op->dst, dst) == 0)
			return (op->flags & CONFINE_OP_SUBSET) == 0 &&
			       apply_governing(confinement, n, dst) == NULL;
	}
	return false;
}

static int
take_away(struct apply *apply, const char *name, enum confine_step step)
{
	if (fchdir(apply->base_fd) != 0 || umount2(name, MNT_DETACH | UMOUNT_NOFOLLOW) != 0 ||
	    unlinkat(apply->base_fd, name, AT_REMOVEDIR) != 0)
		return apply_fail(apply, step, name);
	return 0;
}

int
apply_early_rest(struct apply *apply)
{
	/* A beginning that failed half way has failed the lock before this. */
	if ((apply->early->flags & CONFINE_EARLY_ROOT) == 0)
		return 0;
	apply->uses_early_dev = is_wanted(apply->confinement, CONFINE_OP_DEV, "/dev");
	apply->uses_early_proc = is_wanted(apply->confinement, CONFINE_OP_PROC, "/proc");
	if (!apply->uses_early_dev && take_away(apply, "dev", CONFINE_STEP_DEV) != 0)
		return -1;
	if (!apply->uses_early_proc && take_away(apply, "proc", CONFINE_STEP_PROC) != 0)
		return -1;
	return 0;
}
