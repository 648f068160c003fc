/*
 * Attempts on what belongs to others: a process and the IPC objects of the host, a second sandbox
 * of the same user, and what a later program of the user's would run.
 */
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/attack/attack.h"

static long
signal_host(void)
{
	return answer(kill(planted.pid, 0));
}

static long
pidfd_host(void)
{
	return answer(syscall(SYS_pidfd_open, planted.pid, 0));
}

static long
status_of_host(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", planted.pid);
	return file_has(path, "hl-planted");
}

static long
see_sibling(void)
{
	return see_process("hl-sibling");
}

/* Both have a /tmp; not the same one. */
static long
sibling_tmp(void)
{
	return try_open(tagged("/tmp/hl-sibling-"), O_RDONLY);
}

static long
sibling_abstract(void)
{
	return connect_abstract(tagged("hl-sibling-"));
}

static long
sysv_semaphore(void)
{
	return answer(semget(planted.shm_key, 0, 0));
}

static long
sysv_queue(void)
{
	return answer(msgget(planted.shm_key, 0));
}

static long
posix_queue(void)
{
	return answer((long)mq_open(tagged("/hl-attack-"), O_RDWR));
}

/* A program that is nowhere in any directory. */
static long
memfd_exec(void)
{
	static char bytes[65536];
	int status, from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("x", MFD_CLOEXEC);
	ssize_t n;

	if (from < 0 || fd < 0)
		return -(long)errno;
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(fd, bytes, (size_t)n) != n)
			return -EIO;
	pid_t pid = fork();
	if (pid == 0) {
		char *argv[] = { "x", NULL };
		fexecve(fd, argv, argv + 1);
		_exit(100 + (errno & 31));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -(long)errno;
	/* Without arguments this program leaves with 2. */
	return WIFEXITED(status) && WEXITSTATUS(status) == 2 ? 0 : -EACCES;
}

static long
ptrace_child(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	long result = answer(ptrace(PTRACE_ATTACH, pid, NULL, NULL));
	if (result == 0)
		waitpid(pid, &status, 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return result;
}

static long
real_time(void)
{
	const struct sched_param first = { .sched_priority = 1 };

	return answer(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &first));
}

static long
time_namespace(void)
{
	return answer(syscall(SYS_unshare, 0x80));
}

/* Run before, or instead of, what was asked for. */
static long
env_exec(void)
{
	static const char *const names[] = { "BASH_ENV", "ENV", "GIT_SSH_COMMAND", "LD_AUDIT",
		"NODE_OPTIONS", "PERL5OPT", "PROMPT_COMMAND", "PYTHONSTARTUP" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (getenv(names[i]) != NULL)
			return 0;
	return ABSENT;
}

static long
write_hook(void)
{
	return try_open(".git/hooks/pre-commit", O_WRONLY);
}

static long
add_hook(void)
{
	int fd = open(".git/hooks/hl-attack", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0700);

	if (fd < 0)
		return -(long)errno;
	close(fd);
	return answer(unlink(".git/hooks/hl-attack"));
}

static long
write_git_config(void)
{
	return try_open(".git/config", O_WRONLY);
}

/* A new one in its place would have hooks of its own. */
static long
move_git(void)
{
	if (rename(".git", ".git-moved") != 0)
		return -(long)errno;
	return answer(rename(".git-moved", ".git"));
}

static long
link_over_config(void)
{
	if (symlink("/tmp/x", ".git/hl-attack") != 0)
		return -(long)errno;
	long result = answer(rename(".git/hl-attack", ".git/config"));
	unlink(result == 0 ? ".git/config" : ".git/hl-attack");
	if (result == 0)
		close(open(".git/config", O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
	return result;
}

const struct attempt attempts_others[] = {
	{ "signal_host", signal_host, 0 },
	{ "pidfd_host", pidfd_host, 0 },
	{ "status_of_host", status_of_host, 0 },
	{ "see_sibling", see_sibling, 0 },
	{ "sibling_tmp", sibling_tmp, 0 },
	{ "sibling_abstract", sibling_abstract, 0 },
	{ "sysv_semaphore", sysv_semaphore, 0 },
	{ "sysv_queue", sysv_queue, 0 },
	{ "posix_queue", posix_queue, 0 },
	{ "memfd_exec", memfd_exec, 0 },
	{ "ptrace_child", ptrace_child, 0 },
	{ "real_time", real_time, 0 },
	{ "time_namespace", time_namespace, 0 },
	{ "env_exec", env_exec, 0 },
	{ "write_hook", write_hook, 0 },
	{ "add_hook", add_hook, 0 },
	{ "write_git_config", write_git_config, 0 },
	{ "move_git", move_git, 0 },
	{ "link_over_config", link_over_config, 0 },
};

const size_t attempts_others_len = sizeof(attempts_others) / sizeof(attempts_others[0]);
