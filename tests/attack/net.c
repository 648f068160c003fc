/*
 * Attempts over sockets and over what other processes of the host share: SysV segments, queues.
 */
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/attack/attack.h"

enum {
	PROTO_MPTCP = 262,
	FLAG_FASTOPEN = 0x20000000
};

static long
connect_unix(const char *name, bool is_abstract)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -(long)errno;
	snprintf(address.sun_path + is_abstract, sizeof(address.sun_path) - 1, "%s", name);
	return answer(connect(fd, (struct sockaddr *)&address,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + is_abstract + strlen(name))));
}

long
connect_abstract(const char *name)
{
	return connect_unix(name, true);
}

static long
abstract_socket(void)
{
	return connect_unix(tagged("hl-abstract-"), true);
}

static long
path_socket(void)
{
	char path[300];

	snprintf(path, sizeof(path), "%s.sock", tagged("/tmp/hl-attack-"));
	return connect_unix(path, false);
}

static long
docker_socket(void)
{
	return connect_unix("/var/run/docker.sock", false);
}

static long
connect_tcp(int protocol, unsigned long address)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((unsigned short)planted.tcp_port),
		.sin_addr.s_addr = htonl((unsigned)address),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

	if (fd < 0)
		return -(long)errno;
	long status = answer(connect(fd, (struct sockaddr *)&to, sizeof(to)));
	return status == -EINPROGRESS ? 0 : status;
}

/* The host's loopback, where its unprotected services are. */
static long
tcp_host(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((unsigned short)planted.tcp_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	return fd < 0 ? -(long)errno : answer(connect(fd, (struct sockaddr *)&to, sizeof(to)));
}

static long
tcp_outside(void)
{
	return connect_tcp(0, 0x01010101);
}

static long
metadata_service(void)
{
	return connect_tcp(0, 0xa9fea9fe); /* 169.254.169.254 */
}

static long
mptcp(void)
{
	return answer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, PROTO_MPTCP));
}

/* Connects by sending: past a rule that looks at connect. */
static long
fast_open(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((unsigned short)planted.tcp_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	return fd < 0
		   ? -(long)errno
		   : answer(sendto(fd, "x", 1, FLAG_FASTOPEN, (struct sockaddr *)&to, sizeof(to)));
}

static long
raw_icmp(void)
{
	return answer(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1));
}

static long
packet(void)
{
	return answer(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static long
family(int number, int type, int protocol)
{
	return answer(socket(number, type | SOCK_CLOEXEC, protocol));
}

static long
vsock(void)
{
	return family(40, SOCK_STREAM, 0);
}

static long
alg(void)
{
	return family(38, SOCK_SEQPACKET, 0);
}

static long
tipc(void)
{
	return family(30, SOCK_STREAM, 0);
}

static long
can(void)
{
	return family(29, SOCK_RAW, 1);
}

static long
xdp(void)
{
	return family(44, SOCK_RAW, 0);
}

static long
bluetooth(void)
{
	return family(31, SOCK_RAW, 1);
}

static long
smc(void)
{
	return family(43, SOCK_STREAM, 0);
}

static long
key_family(void)
{
	return family(15, SOCK_RAW, 2);
}

static long
netlink_netfilter(void)
{
	return family(AF_NETLINK, SOCK_RAW, 12);
}

static long
netlink_audit(void)
{
	return family(AF_NETLINK, SOCK_RAW, 9);
}

static long
netlink_uevent(void)
{
	return family(AF_NETLINK, SOCK_RAW, 15);
}

static long
netlink_xfrm(void)
{
	return family(AF_NETLINK, SOCK_RAW, 6);
}

/* What getifaddrs(3) needs: wanted, so that the others are not refused by chance. */
static long
netlink_route(void)
{
	return family(AF_NETLINK, SOCK_RAW, 0);
}

static long
listen_loopback(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in any = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) != 0)
		return -(long)errno;
	return answer(listen(fd, 1));
}

static long
sysv_segment(void)
{
	return answer(shmget(planted.shm_key, 0, 0));
}

const struct attempt attempts_net[] = {
	{ "abstract_socket", abstract_socket, 0 },
	{ "path_socket", path_socket, 0 },
	{ "docker_socket", docker_socket, 0 },
	{ "tcp_host", tcp_host, 0 },
	{ "tcp_outside", tcp_outside, ONLY_INSIDE },
	{ "metadata_service", metadata_service, ONLY_INSIDE },
	{ "mptcp", mptcp, 0 },
	{ "fast_open", fast_open, 0 },
	{ "raw_icmp", raw_icmp, 0 },
	{ "packet", packet, 0 },
	{ "vsock", vsock, 0 },
	{ "alg", alg, 0 },
	{ "tipc", tipc, 0 },
	{ "can", can, 0 },
	{ "xdp", xdp, 0 },
	{ "bluetooth", bluetooth, 0 },
	{ "smc", smc, 0 },
	{ "key_family", key_family, 0 },
	{ "netlink_netfilter", netlink_netfilter, 0 },
	{ "netlink_audit", netlink_audit, 0 },
	{ "netlink_uevent", netlink_uevent, 0 },
	{ "netlink_xfrm", netlink_xfrm, 0 },
	{ "netlink_route", netlink_route, 0 },
	{ "listen_loopback", listen_loopback, 0 },
	{ "sysv_segment", sysv_segment, 0 },
};

const size_t attempts_net_len = sizeof(attempts_net) / sizeof(attempts_net[0]);
