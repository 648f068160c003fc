/*
 * The network namespace: with its loopback it takes as long to make as most of the file systems,
 * and needs nothing of them. So a child on our memory and our descriptors (CLONE_VM, CLONE_FILES)
 * makes it beside them and leaves a descriptor of it, and the lock joins it. Raw system calls only
 * in that child: we go on meanwhile.
 */
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdalign.h>

#include "base/base.h"
#include "confine/apply/apply.h"

#include "base/banned.h"

/* ioctl(2) of sockets, Linux 4.10: a descriptor of the namespace that a socket is of. */
#ifndef SIOCGSKNS
# define SIOCGSKNS 0x894C
#endif

enum {
	STACK_SIZE = 8192
};

/* One at a time: a runner has one. */
static struct {
	alignas(16) char stack[STACK_SIZE];
	int fd;      /* of the namespace, or -1 */
	long failed; /* step that did, and why */
	enum confine_step step;
	long pid; /* of the child, 0 = none */
} making = { .fd = -1 };

/* lo up, by this socket. 0 or -errno. */
static long
bring_up(long fd)
{
	struct ifreq request = { .ifr_name = "lo" };

	long status = HL_RAW3(SYS_ioctl, fd, SIOCGIFFLAGS, &request);
	if (status < 0)
		return status;
	request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
	return HL_RAW3(SYS_ioctl, fd, SIOCSIFFLAGS, &request);
}

/* In the namespace that we are in, with a descriptor of it. 0 or -errno. */
static long
make_loopback(int *ret_ns)
{
	long fd = HL_RAW3(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	long status = bring_up(fd);
	if (status >= 0) {
		status = HL_RAW3(SYS_ioctl, fd, SIOCGSKNS, 0);
		*ret_ns = (int)status;
	}
	HL_RAW3(SYS_close, fd, 0, 0);
	return status < 0 ? status : 0;
}

static int
make(void *unused)
{
	(void)unused;
	making.step = CONFINE_STEP_NETWORK;
	making.failed = HL_RAW3(SYS_unshare, CLONE_NEWNET, 0, 0);
	if (making.failed < 0)
		return 1;
	making.step = CONFINE_STEP_LOOPBACK;
	making.failed = make_loopback(&making.fd);
	return making.failed < 0;
}

int
apply_network_begin(struct apply *apply)
{
	making.step = CONFINE_STEP_NETWORK; /* also where the child never comes to say it */
	making.pid = hl_raw_clone(CLONE_VM | CLONE_FILES, making.stack + STACK_SIZE, 0, make, 0);
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
	return pid == making.pid ? making.failed : -ECHILD;
}

int
apply_loopback(struct apply *apply)
{
	const bool is_begun = (apply->early->flags & CONFINE_EARLY_NETWORK) != 0;

	/* Whatever network we are in, it is not the sandbox's. */
	if (!is_begun)
		make(NULL);
	long status = is_begun ? wait_for_child() : making.failed;
	if (status == 0 && is_begun) {
		making.step = CONFINE_STEP_NETWORK;
		status = HL_RAW3(SYS_setns, making.fd, CLONE_NEWNET, 0);
	}
	if (status < 0) {
		errno = (int)-status;
		return apply_fail(apply, making.step,
		    making.step == CONFINE_STEP_LOOPBACK ? "lo" : "");
	}
	HL_RAW3(SYS_close, making.fd, 0, 0);
	making.fd = -1;
	return 0;
}
