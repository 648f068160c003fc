/*
 * Tries one thing from inside and exits with its errno, 0 when it worked: "probe socket 40 1 0".
 * Static, so that it runs in a root that has nothing else. 250 means a wrong call of the probe.
 */
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	WRONG = 250
};

static long
number(const char *text)
{
	char *end;
	long value = (long)strtoull(text, &end, 0);

	if (end == text || *end != '\0')
		_exit(WRONG);
	return value;
}

/* 0 or errno, of a call that returns a negative number on failure. */
static int
outcome(long result)
{
	return result < 0 ? errno : 0;
}

/* syscall NUMBER [A [B]]: any, with the other arguments 0 */
static int
try_syscall(char **words)
{
	long a = words[1] != NULL ? number(words[1]) : 0;
	long b = words[1] != NULL && words[2] != NULL ? number(words[2]) : 0;

	return outcome(syscall(number(words[0]), a, b, 0, 0, 0, 0));
}

/* socket FAMILY PROTOCOL (stream; raw for netlink and packet) */
static int
try_socket(char **words)
{
	int family = (int)number(words[0]);
	int type = family == AF_NETLINK || family == AF_PACKET ? SOCK_RAW
		   : family == AF_VSOCK || family <= AF_INET6  ? SOCK_STREAM
							       : SOCK_SEQPACKET;

	return outcome(syscall(SYS_socket, number(words[0]), type, number(words[1])));
}

static int
try_open(char **words)
{
	int flags = strcmp(words[1], "w") == 0 ? O_WRONLY : O_RDONLY;

	return outcome(open(words[0], flags | O_CLOEXEC | O_NOCTTY));
}

static int
try_create(char **words)
{
	return outcome(open(words[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

/* Bytes in a file of /proc that is masked: 0 = it can be read and says something. */
static int
try_read(char **words)
{
	char byte;
	int fd = open(words[0], O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	ssize_t n = read(fd, &byte, 1);
	return n < 0 ? errno : n == 0 ? ENODATA : 0;
}

/* The descriptor that the launcher leaked: a directory of the host. */
static int
try_leak(char **words)
{
	(void)words;
	return outcome(openat(7, "etc", O_RDONLY | O_CLOEXEC));
}

static int
try_ioctl(char **words)
{
	char byte = '#';

	return outcome(syscall(SYS_ioctl, 0, number(words[0]), &byte));
}

/* RNDGETENTCNT (random(4)): an ioctl that everybody may make on a device. */
static int
try_entropy(char **words)
{
	int count, fd = open(words[0], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : outcome(ioctl(fd, (int)0x80045200U, &count));
}

static int
try_clone(char **words)
{
	long pid = syscall(SYS_clone, number(words[0]) | SIGCHLD, NULL, NULL, NULL, 0);

	if (pid == 0)
		_exit(0);
	return outcome(pid);
}

static int
try_ptrace(char **words)
{
	return outcome(ptrace(PTRACE_ATTACH, (pid_t)number(words[0]), NULL, NULL));
}

static int
try_mount(char **words)
{
	return outcome(mount("tmpfs", words[0], "tmpfs", 0, NULL));
}

static int
try_remount(char **words)
{
	return outcome(mount(NULL, words[0], NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int
try_umount(char **words)
{
	return outcome(umount2(words[0], MNT_DETACH));
}

static int
try_whiteout(char **words)
{
	(void)words;
	if (close(open("/tmp/w", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) != 0)
		return errno;
	return outcome(syscall(SYS_renameat2, AT_FDCWD, "/tmp/w", AT_FDCWD, "/tmp/v", 4));
}

static int
try_mknod(char **words)
{
	return outcome(mknod("/tmp/node", S_IFCHR | 0600,
	    makedev((unsigned)number(words[0]), (unsigned)number(words[1]))));
}

/* Connects to a listener of its own with data in the first packet. */
static int
try_fastopen(char **words)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int client = socket(AF_INET, SOCK_STREAM, 0);

	(void)words;
	if (bind(listener, (struct sockaddr *)&address, len) != 0 || listen(listener, 1) != 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &len) != 0)
		return errno;
	return outcome(sendto(client, "x", 1, 0x20000000, (struct sockaddr *)&address, len));
}

static int
try_setsockopt(char **words)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

	return outcome(
	    setsockopt(fd, (int)number(words[0]), (int)number(words[1]), &one, sizeof(one)));
}

static int
try_personality(char **words)
{
	return outcome(personality((unsigned long)number(words[0])));
}

static int
try_kill(char **words)
{
	return outcome(kill((pid_t)number(words[0]), (int)number(words[1])));
}

/* Abstract socket by name. */
static int
try_abstract(char **words)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(words[0]);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(address.sun_path + 1, words[0], len);
	return outcome(connect(fd, (struct sockaddr *)&address,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)));
}

/* Loopback is up: a connection to nobody is refused, not unreachable. */
static int
try_loopback(char **words)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)words;
	return outcome(connect(fd, (struct sockaddr *)&address, sizeof(address)));
}

/* A server of one's own: 0 = it listens. */
static int
try_listen(char **words)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)words;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		return errno;
	return outcome(listen(fd, 1));
}

static int
try_setuid(char **words)
{
	return outcome(setresuid((uid_t)number(words[0]), (uid_t)-1, (uid_t)-1));
}

/* Is a capability in the effective set? 0 = yes. */
static int
try_capability(char **words)
{
	char line[256];
	FILE *status = fopen("/proc/self/status", "re");

	while (status != NULL && fgets(line, sizeof(line), status) != NULL)
		if (strncmp(line, "CapEff:", 7) == 0)
			return (strtoull(line + 7, NULL, 16) >> number(words[0]) & 1) != 0 ? 0
											   : EPERM;
	return WRONG;
}

/* Executes itself from a place of its own making: noexec? */
static int
try_execute(char **words)
{
	static char bytes[65536];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(words[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	ssize_t n;

	if (from < 0 || to < 0)
		return errno;
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)n) != n)
			return errno;
	close(to);
	execl(words[0], "probe", "nothing", (char *)NULL);
	return errno;
}

/* Of the session keyring: 0 = there is a key of that name. */
static int
try_key(char **words)
{
	return outcome(syscall(SYS_keyctl, 10 /* search */, -3 /* session */, "user", words[0], 0));
}

static int
try_nothing(char **words)
{
	(void)words;
	return 0;
}

static int
try_x32(char **words)
{
	(void)words;
	return outcome(syscall(0x40000000 | 39));
}

static int
try_fill(char **words)
{
	static char bytes[65536];
	int fd = open(words[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	long left = number(words[1]);

	if (fd < 0)
		return errno;
	for (; left > 0; left -= (long)sizeof(bytes))
		if (write(fd, bytes, sizeof(bytes)) < 0)
			return errno;
	return 0;
}

struct attempt {
	const char *name;
	int words;
	int (*run)(char **words);
};

static const struct attempt attempts[] = {
	{ "abstract", 1, try_abstract },
	{ "capability", 1, try_capability },
	{ "clone", 1, try_clone },
	{ "create", 1, try_create },
	{ "entropy", 1, try_entropy },
	{ "execute", 1, try_execute },
	{ "fastopen", 0, try_fastopen },
	{ "fill", 2, try_fill },
	{ "ioctl", 1, try_ioctl },
	{ "key", 1, try_key },
	{ "kill", 2, try_kill },
	{ "leak", 0, try_leak },
	{ "listen", 0, try_listen },
	{ "loopback", 0, try_loopback },
	{ "mknod", 2, try_mknod },
	{ "mount", 1, try_mount },
	{ "nothing", 0, try_nothing },
	{ "open", 2, try_open },
	{ "personality", 1, try_personality },
	{ "ptrace", 1, try_ptrace },
	{ "read", 1, try_read },
	{ "remount", 1, try_remount },
	{ "setsockopt", 2, try_setsockopt },
	{ "setuid", 1, try_setuid },
	{ "socket", 2, try_socket },
	{ "syscall", 1, try_syscall },
	{ "umount", 1, try_umount },
	{ "whiteout", 0, try_whiteout },
	{ "x32", 0, try_x32 },
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(attempts) / sizeof(attempts[0]); i++)
		if (strcmp(argv[1], attempts[i].name) == 0 && argc - 2 >= attempts[i].words)
			return attempts[i].run(argv + 2);
	return WRONG;
}
