/*
 * hl-engine, between fork and exec of a service: calls of signal-safety(7) only, which
 * tests/lint/after-fork.sh looks for. The service gets its listening socket as a service manager
 * hands one over (sd_listen_fds(3)), in a variable with its own number in it, and a signal when we
 * die: whoever kills us leaves none. It works where no file can be made: conmon 2.1.6 leaves one
 * named "oom" there.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	FD_STATUS = 4,
	FDS = 5
};

static void
put_pid(char *digits, pid_t pid)
{
	for (int i = SERVICE_PID_DIGITS - 1; i >= 0; i--) {
		digits[i] = (char)('0' + pid % 10);
		pid /= 10;
	}
}

void
service_become(const struct service_child *child)
{
	int status = child->fds[FD_STATUS];
	sigset_t none;
	bool is_set = setsid() >= 0 && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 &&
		      getppid() == child->parent && chdir("/proc") == 0;

	for (int fd = 0; is_set && fd < FD_STATUS; fd++)
		is_set = dup2(child->fds[fd], fd) == fd;
	if (is_set && dup3(status, FD_STATUS, O_CLOEXEC) >= 0)
		status = FD_STATUS;
	else
		is_set = false;
	if (is_set && syscall(SYS_close_range, FDS, ~0U, 0) == 0) {
		put_pid(child->pid_digits, getpid());
		sigemptyset(&none);
		for (int number = 1; number < NSIG; number++)
			(void)signal(number, SIG_DFL);
		if (sigprocmask(SIG_SETMASK, &none, NULL) == 0)
			execve(child->program, child->argv, child->envp);
	}
	int cause = errno;
	while (write(status, &cause, sizeof(cause)) < 0 && errno == EINTR)
		;
	_exit(127);
}
