/*
 * A program beside us, started with nothing of ours but what it is given: its descriptors, words
 * and variables. That it could not be started is known when the call returns.
 */
#include "base/child.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/banned.h"

static void
close_all(struct child_begun *begun)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(begun->fds); i++) {
		hl_close_ptr(&begun->fds[i]);
		begun->fds[i] = -1;
	}
}

/* Copies above the numbers that the child gives out. */
static bool
raise_all(struct child_begun *begun, int null, int status)
{
	const struct hl_child *child = begun->child;

	for (size_t i = 0; i <= child->fds_len; i++) {
		int from = i == child->fds_len ? status : child->fds[i] >= 0 ? child->fds[i] : null;
		begun->fds[i] = fcntl(from, F_DUPFD_CLOEXEC, (int)child->fds_len + 1);
		if (begun->fds[i] < 0)
			return false;
	}
	return true;
}

/* Returns -1, with the errno that there is. */
static int
give_up(pid_t pid)
{
	int why = errno;

	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	errno = why;
	return -1;
}

static int
begin(struct child_begun *begun, int status_read, pid_t *ret_pid, int *ret_pidfd)
{
	int cause = 0;
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (pid == 0)
		child_become(begun);
	close_all(begun);
	if (hl_read_full(status_read, &cause, sizeof(cause)) == (ssize_t)sizeof(cause)) {
		errno = cause;
		return give_up(pid);
	}
	/* It is not reaped before the caller does, so its number is still its own. */
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return give_up(pid);
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	return 0;
}

int
hl_child_start(const struct hl_child *child, pid_t *ret_pid, int *ret_pidfd)
{
	struct child_begun begun = { .child = child, .parent = getpid() };
	int status[2] = { -1, -1 }, result = -1;

	HL_BUG_ON(child->fds_len > HL_CHILD_FDS_MAX);
	*ret_pid = 0;
	*ret_pidfd = -1;
	for (size_t i = 0; i < HL_ARRAY_SIZE(begun.fds); i++)
		begun.fds[i] = -1;
	int null HL_AUTO_FD = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool is_ready =
	    null >= 0 && pipe2(status, O_CLOEXEC) == 0 && raise_all(&begun, null, status[1]);
	/* Before it is read: it ends when nobody can write to it any more. */
	hl_close_ptr(&status[1]);
	if (is_ready)
		result = begin(&begun, status[0], ret_pid, ret_pidfd);
	close_all(&begun);
	hl_close_ptr(&status[0]);
	return result;
}
