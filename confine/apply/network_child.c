/*
 * The child's half of network.c: raw system calls only, we go on meanwhile. What this file needs
 * from outside is looked at by tests/lint/after-fork.sh.
 */
#include "confine/apply/network_child.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <net/if.h>
#include <sched.h>

#include "base/base.h"

#include "base/banned.h"

/* ioctl(2) of sockets, Linux 4.10: a descriptor of the namespace that a socket is of. */
#ifndef SIOCGSKNS
# define SIOCGSKNS 0x894C
#endif

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

int
apply_network_make(void *argument)
{
	struct network_making *making = argument;

	making->step = CONFINE_STEP_NETWORK;
	making->status = HL_RAW3(SYS_unshare, CLONE_NEWNET, 0, 0);
	if (making->status < 0)
		return 1;
	making->step = CONFINE_STEP_LOOPBACK;
	making->status = make_loopback(&making->fd);
	return making->status < 0;
}
