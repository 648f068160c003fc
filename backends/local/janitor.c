/*
 * The janitor: removes the sandbox's control groups when the launcher was killed and cannot.
 *
 * The kernel ends the sandbox itself then (the stream ends, the runner ends, and with pid 1 its
 * whole namespace), but an empty group stays until someone removes it. The janitor is a process on
 * the launcher's memory (CLONE_VM: no page tables to copy), in a session of its own so that a kill
 * of the launcher's process group does not take it along. It sleeps in read(2) on a pipe whose
 * other end only the launcher has. A byte: the launcher has done it itself. End of file: the
 * launcher is dead.
 *
 * Until then it makes raw system calls only, since errno, stdio and malloc are the launcher's. At
 * end of file the launcher is gone: calls of signal-safety(7) are safe, a lock may be held for
 * ever.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/local/local.h"

#include "base/banned.h"

enum {
	STACK_SIZE = 32 * 1024
};

struct janitor {
	const struct confine_cgroup *cgroup;
	int pidfd;
	int read_fd, write_fd;
	bool is_dismissed;
	/* In the heap: unmapping costs more than it gives back. */
	alignas(16) char stack[STACK_SIZE];
};

static int
janitor_run(void *context)
{
	const struct janitor *janitor = context;
	char byte;
	long n;

	HL_RAW3(SYS_setsid, 0, 0, 0);
	HL_RAW3(SYS_prctl, PR_SET_NAME, "hl-janitor", 0);
	/* Everything of the launcher's that would stay open in us: its stdout, the runner's stream,
	 * the pipe's own other end. */
	if (janitor->read_fd > 0)
		HL_RAW3(SYS_close_range, 0, janitor->read_fd - 1, 0);
	HL_RAW3(SYS_close_range, janitor->read_fd + 1, ~0U, 0);
	do {
		n = HL_RAW3(SYS_read, janitor->read_fd, &byte, 1);
	} while (n == -EINTR);
	if (n != 0)
		return 0;
	/* Nobody is left to be told when this fails. */
	return confine_cgroup_remove_dirs(janitor->cgroup->dirs, janitor->cgroup->dirs_len);
}

static int
janitor_clone(struct janitor *janitor, struct hl_err *err)
{
	sigset_t all, old;

	/* Stays blocked in the janitor: only SIGKILL ends it early. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	/* No signal at its end: no SIGCHLD to the launcher's loop. */
	long pid = hl_raw_clone(CLONE_VM | CLONE_PIDFD, janitor->stack + STACK_SIZE,
	    &janitor->pidfd, janitor_run, janitor);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid >= 0)
		return 0;
	errno = (int)-pid;
	return hl_err_sys(err, HLB_24, "the process that cleans up cannot be started");
}

int
janitor_start(const struct confine_cgroup *cgroup, struct janitor **ret_janitor, struct hl_err *err)
{
	int ends[2];
	struct janitor *janitor = calloc(1, sizeof(*janitor));

	if (janitor == NULL)
		return hl_err_oom(err);
	if (pipe2(ends, O_CLOEXEC) != 0) {
		free(janitor);
		return hl_err_sys(err, HLB_24, "cannot make a pipe");
	}
	janitor->cgroup = cgroup;
	janitor->pidfd = -1;
	janitor->read_fd = ends[0];
	janitor->write_fd = ends[1];
	if (janitor_clone(janitor, err) != 0) {
		janitor_end(janitor);
		return -1;
	}
	*ret_janitor = janitor;
	return 0;
}

void
janitor_dismiss(struct janitor *janitor)
{
	if (janitor == NULL || janitor->is_dismissed || janitor->pidfd < 0)
		return;
	/* We hold a reading end as well: neither EPIPE nor a full pipe can be. */
	ssize_t n = write(janitor->write_fd, "q", 1);
	HL_BUG_ON(n != 1);
	janitor->is_dismissed = true;
}

void
janitor_release(struct janitor *janitor)
{
	if (janitor == NULL || janitor->is_dismissed || janitor->pidfd < 0)
		return;
	hl_close_ptr(&janitor->write_fd);
	janitor->write_fd = -1;
	janitor->is_dismissed = true;
}

void
janitor_end(struct janitor *janitor)
{
	if (janitor == NULL)
		return;
	janitor_dismiss(janitor);
	if (janitor->pidfd >= 0) {
		while (waitid(P_PIDFD, (id_t)janitor->pidfd, &(siginfo_t){ 0 }, WEXITED | __WALL) !=
			   0 &&
		       errno == EINTR)
			;
		close(janitor->pidfd);
	}
	close(janitor->read_fd);
	hl_close_ptr(&janitor->write_fd);
	free(janitor);
}
