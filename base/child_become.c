/*
 * Between fork and exec of a program beside us: calls of signal-safety(7) only, which
 * tests/lint/after-fork.sh looks for. Whoever kills us leaves none that wants a signal then.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/child.h"

#include "base/banned.h"

static void
put_pid(char *digits, pid_t pid)
{
	for (int i = HL_CHILD_PID_DIGITS - 1; i >= 0; i--) {
		digits[i] = (char)('0' + pid % 10);
		pid /= 10;
	}
}

static bool
set_process(const struct child_begun *begun)
{
	const struct hl_child *child = begun->child;

	if (child->has_session && setsid() < 0)
		return false;
	/* We may have ended before it was said. */
	if (child->death_signal != 0 &&
	    (prctl(PR_SET_PDEATHSIG, child->death_signal) != 0 || getppid() != begun->parent))
		return false;
	if (child->pid_digits != NULL)
		put_pid(child->pid_digits, getpid());
	return child->dir == NULL || chdir(child->dir) == 0;
}

void
child_become(const struct child_begun *begun)
{
	const struct hl_child *child = begun->child;
	int last = (int)child->fds_len, status = begun->fds[last];
	bool is_set = set_process(begun);
	sigset_t none;

	for (int fd = 0; is_set && fd < last; fd++)
		is_set = dup2(begun->fds[fd], fd) == fd;
	if (is_set && dup3(status, last, O_CLOEXEC) >= 0)
		status = last;
	else
		is_set = false;
	if (is_set && syscall(SYS_close_range, last + 1, ~0U, 0) == 0) {
		sigemptyset(&none);
		for (int number = 1; number < NSIG; number++)
			(void)signal(number, SIG_DFL);
		if (sigprocmask(SIG_SETMASK, &none, NULL) == 0)
			execve(child->path, child->argv, child->envp);
	}
	int cause = errno;
	while (write(status, &cause, sizeof(cause)) < 0 && errno == EINTR)
		;
	_exit(127);
}
