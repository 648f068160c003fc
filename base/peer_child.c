/*
 * Between fork and exec of a program of ours beside us: calls of signal-safety(7) only, which
 * tests/lint/after-fork.sh looks for.
 */
#include "base/peer_child.h"

#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

void
peer_become(const struct peer_child *child)
{
	char name[sizeof(child->kind->name)];
	char *const argv[] = { name, NULL }, *const envp[] = { NULL };
	sigset_t none;
	int status = child->fds[child->status];
	bool is_set = !child->kind->has_session || setsid() >= 0;

	memcpy(name, child->kind->name, sizeof(name));
	for (int fd = 0; is_set && fd < child->status; fd++)
		is_set = dup2(child->fds[fd], fd) == fd;
	if (is_set && dup3(status, child->status, O_CLOEXEC) >= 0)
		status = child->status;
	else
		is_set = false;
	if (is_set && syscall(SYS_close_range, status + 1, ~0U, 0) == 0) {
		sigemptyset(&none);
		for (int number = 1; number < NSIG; number++)
			(void)signal(number, SIG_DFL);
		if (sigprocmask(SIG_SETMASK, &none, NULL) == 0)
			execve(child->path, argv, envp);
	}
	int cause = errno;
	while (write(status, &cause, sizeof(cause)) < 0 && errno == EINTR)
		;
	_exit(127);
}
