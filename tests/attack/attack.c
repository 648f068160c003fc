/*
 * Runs attempts and prints one line for each: "id ALLOWED", "id EPERM", "id SIGSYS", "id ABSENT"
 *... The script knows which answer is right. Static, so that it runs in any root.
 *
 *	attack inside TAG PORT KEY PID		everything
 *	attack outside TAG PORT KEY PID id...	those, if they cannot harm the machine
 *	attack plant TAG	holds sockets, a queue and SysV objects until its stdin ends;
 *				prints "PORT KEY PID"
 *	attack keyed TAG PROGRAM ARGUMENT...	runs that with a key in a session keyring of its own
 *	attack sibling TAG	a process, a file and a socket to look for, until its stdin ends
 */
#include "tests/attack/attack.h"

#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct planted planted = { .tag = "none" };

long
answer(long status)
{
	return status < 0 ? -(long)errno : 0;
}

long
try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -(long)errno;
	close(fd);
	return 0;
}

const char *
tagged(const char *prefix)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s%s", prefix, planted.tag);
	return text;
}

long
file_has(const char *path, const char *text)
{
	static char bytes[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -(long)errno;
	ssize_t n = read(fd, bytes, sizeof(bytes));
	long status = n < 0 ? -(long)errno : 0;
	close(fd);
	if (n <= 0)
		return status < 0 ? status : ABSENT;
	return memmem(bytes, (size_t)n, text, strlen(text)) != NULL ? 0 : ABSENT;
}

struct word {
	int number;
	const char *text;
};

static const struct word errnos[] = {
	{ EPERM, "EPERM" },
	{ ENOENT, "ENOENT" },
	{ ESRCH, "ESRCH" },
	{ ENXIO, "ENXIO" },
	{ EBADF, "EBADF" },
	{ EAGAIN, "EAGAIN" },
	{ ENOMEM, "ENOMEM" },
	{ EACCES, "EACCES" },
	{ EFAULT, "EFAULT" },
	{ EBUSY, "EBUSY" },
	{ EEXIST, "EEXIST" },
	{ EXDEV, "EXDEV" },
	{ ENODEV, "ENODEV" },
	{ EINVAL, "EINVAL" },
	{ EMFILE, "EMFILE" },
	{ ENOTTY, "ENOTTY" },
	{ ETXTBSY, "ETXTBSY" },
	{ ENOSPC, "ENOSPC" },
	{ EROFS, "EROFS" },
	{ ENOSYS, "ENOSYS" },
	{ ENETUNREACH, "ENETUNREACH" },
	{ ECONNREFUSED, "ECONNREFUSED" },
	{ EAFNOSUPPORT, "EAFNOSUPPORT" },
	{ EPROTONOSUPPORT, "EPROTONOSUPPORT" },
	{ EOPNOTSUPP, "EOPNOTSUPP" },
	{ ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT" },
	{ ENOKEY, "ENOKEY" },
	{ EDQUOT, "EDQUOT" },
	{ EISDIR, "EISDIR" },
	{ ENOTDIR, "ENOTDIR" },
};

static const struct word words[] = {
	{ 0, "ALLOWED" },
	{ ABSENT, "ABSENT" },
	{ HARMLESS, "HARMLESS" },
	{ CAPPED, "CAPPED" },
};

static void
report(const char *id, long result)
{
	const struct word *table = result < 0 ? errnos : words;
	size_t len =
	    result < 0 ? sizeof(errnos) / sizeof(errnos[0]) : sizeof(words) / sizeof(words[0]);

	for (size_t i = 0; i < len; i++) {
		if (table[i].number == (int)labs(result)) {
			printf("%s %s\n", id, table[i].text);
			return;
		}
	}
	printf("%s E%ld\n", id, labs(result));
}

/* Each in a process of its own: an attempt may be killed, and may change what it likes. */
static void
run_one(const struct attempt *attempt)
{
	int ends[2], status;
	long result = -EIO;

	if (pipe(ends) != 0)
		exit(1);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		alarm(20);
		result = attempt->run();
		_exit(write(ends[1], &result, sizeof(result)) == (ssize_t)sizeof(result) ? 0 : 1);
	}
	close(ends[1]);
	bool has_result =
	    pid > 0 && read(ends[0], &result, sizeof(result)) == (ssize_t)sizeof(result);
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (has_result)
		report(attempt->id, result);
	else if (pid > 0 && WIFSIGNALED(status))
		printf("%s %s\n", attempt->id, WTERMSIG(status) == SIGSYS ? "SIGSYS" : "SIGNAL");
	else
		printf("%s NORESULT\n", attempt->id);
}

static bool
is_named(const char *id, char **ids)
{
	for (; *ids != NULL; ids++)
		if (strcmp(*ids, id) == 0)
			return true;
	return false;
}

/* ids NULL: all of them, inside. */
static void
run_table(const struct attempt *attempts, size_t len, char **ids)
{
	for (size_t i = 0; i < len; i++) {
		if (ids != NULL &&
		    ((attempts[i].flags & ONLY_INSIDE) != 0 || !is_named(attempts[i].id, ids)))
			continue;
		run_one(&attempts[i]);
	}
}

static int
listen_unix(const char *name, bool is_abstract)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path + is_abstract, sizeof(address.sun_path) - 1, "%s", name);
	socklen_t len =
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + is_abstract + strlen(name));
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 || listen(fd, 8) != 0)
		exit(1);
	return fd;
}

static int
plant(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	char byte, path[300];
	int key = 0x484c0000 | (getpid() & 0xffff);

	prctl(PR_SET_NAME, "hl-planted");
	int tcp = socket(AF_INET, SOCK_STREAM, 0);
	if (tcp < 0 || bind(tcp, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(tcp, 512) != 0 || getsockname(tcp, (struct sockaddr *)&address, &len) != 0)
		return 1;
	listen_unix(tagged("hl-abstract-"), true);
	snprintf(path, sizeof(path), "%s.sock", tagged("/tmp/hl-attack-"));
	listen_unix(path, false);
	chmod(path, 0777);
	int shm = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0666);
	int sem = semget(key, 1, IPC_CREAT | IPC_EXCL | 0666);
	int msg = msgget(key, IPC_CREAT | IPC_EXCL | 0666);
	umask(0);
	mqd_t queue = mq_open(tagged("/hl-attack-"), O_CREAT | O_RDWR, 0666, NULL);
	if (shm < 0 || sem < 0 || msg < 0 || queue < 0)
		return 1;
	printf("%d %d %d\n", ntohs(address.sin_port), key, getpid());
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	shmctl(shm, IPC_RMID, NULL);
	semctl(sem, 0, IPC_RMID);
	msgctl(msg, IPC_RMID, NULL);
	mq_unlink(tagged("/hl-attack-"));
	unlink(path);
	return 0;
}

static int
sibling(void)
{
	char byte;
	int fd = open(tagged("/tmp/hl-sibling-"), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0)
		return 1;
	prctl(PR_SET_NAME, "hl-sibling");
	listen_unix(tagged("hl-sibling-"), true);
	printf("ready\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	unlink(tagged("/tmp/hl-sibling-"));
	return 0;
}

/* A session as a login makes it, with a key of the caller's in it. Where none can be made, the
 * attempt that looks for it says so. */
static int
keyed(char **argv)
{
	if (syscall(SYS_keyctl, 1 /* join a session keyring */, NULL) >= 0)
		syscall(SYS_add_key, "user", tagged("hl-attack-"), "canary", 6, -3 /* session */);
	execvp(argv[0], argv);
	return 1;
}

int
main(int argc, char **argv)
{
	bool is_inside = argc == 6 && strcmp(argv[1], "inside") == 0;
	bool is_outside = argc > 6 && strcmp(argv[1], "outside") == 0;

	if (argc == 3 && strcmp(argv[1], "sibling") == 0) {
		planted.tag = argv[2];
		return sibling();
	}
	if (argc > 3 && strcmp(argv[1], "keyed") == 0) {
		planted.tag = argv[2];
		return keyed(argv + 3);
	}
	if (argc == 3 && strcmp(argv[1], "plant") == 0) {
		planted.tag = argv[2];
		return plant();
	}
	if (!is_inside && !is_outside)
		return 2;
	planted = (struct planted){
		.tag = argv[2],
		.tcp_port = (int)strtoul(argv[3], NULL, 10),
		.shm_key = (int)strtoul(argv[4], NULL, 10),
		.pid = (int)strtoul(argv[5], NULL, 10),
	};
	char **ids = is_outside ? argv + 6 : NULL;
	run_table(attempts_kernel, attempts_kernel_len, ids);
	run_table(attempts_proc, attempts_proc_len, ids);
	run_table(attempts_files, attempts_files_len, ids);
	run_table(attempts_net, attempts_net_len, ids);
	run_table(attempts_others, attempts_others_len, ids);
	return 0;
}
