/*
 * The network namespace: with its loopback it takes as long to make as most of the file systems,
 * and needs nothing of them. So a child on our memory and our descriptors (CLONE_VM, CLONE_FILES)
 * makes it beside them and leaves a descriptor of it, and the lock joins it. Raw system calls only
 * in that child (network_child.c): we go on meanwhile.
 */
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <sched.h>
#include <stdalign.h>

#include "base/base.h"
#include "confine/apply/apply.h"
#include "confine/apply/network_child.h"

#include "base/banned.h"

enum {
	STACK_SIZE = 8192
};

/* One at a time: a runner has one. */
static struct {
	alignas(16) char stack[STACK_SIZE];
	struct network_making network;
	long pid; /* of the child, 0 = none */
} making = { .network.fd = -1 };

int
apply_network_begin(struct apply *apply)
{
	/* Also where the child never comes to say it. */
	making.network.step = CONFINE_STEP_NETWORK;
	making.pid = hl_raw_clone(CLONE_VM | CLONE_FILES, making.stack + STACK_SIZE, 0,
	    apply_network_make, &making.network);
	if (making.pid < 0) {
		errno = (int)-making.pid;
		return apply_fail(apply, CONFINE_STEP_NETWORK, "process");
	}
	return 0;
}

/* __WALL, since it has no exit signal. 0 or -errno. */
static long
wait_for_child(void)
{
	long pid;

	do
		pid = HL_RAW5(SYS_wait4, making.pid, 0, __WALL, 0, 0);
	while (pid == -EINTR);
	return pid == making.pid ? making.network.status : -ECHILD;
}

int
apply_loopback(struct apply *apply)
{
	const bool is_begun = (apply->early->flags & CONFINE_EARLY_NETWORK) != 0;
	struct network_making *network = &making.network;

	/* Whatever network we are in, it is not the sandbox's. */
	if (!is_begun)
		apply_network_make(network);
	long status = is_begun ? wait_for_child() : network->status;
	if (status == 0 && is_begun) {
		network->step = CONFINE_STEP_NETWORK;
		status = HL_RAW3(SYS_setns, network->fd, CLONE_NEWNET, 0);
	}
	if (status < 0) {
		errno = (int)-status;
		return apply_fail(apply, network->step,
		    network->step == CONFINE_STEP_LOOPBACK ? "lo" : "");
	}
	HL_RAW3(SYS_close, network->fd, 0, 0);
	network->fd = -1;
	return 0;
}
