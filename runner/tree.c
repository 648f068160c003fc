/*
 * Every process below us. As pid 1 of a pid namespace, kill(2) with -1 reaches all of them at once
 * and orphans come to us by themselves. Elsewhere (a container whose init is another) we are a
 * child subreaper: orphans come to us as well, so that signalling our children until none is left
 * reaches everything in the end.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "runner/loop.h"

#include "base/banned.h"

static bool
is_pid_1(void)
{
	return getpid() == 1;
}

void
tree_prepare(void)
{
	/* Cannot fail on a kernel that has seccomp filters. */
	if (!is_pid_1())
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* proc(5): the children of a thread, with a space behind each; Linux 3.5. */
static void
signal_children(int signal_number)
{
	char text[4096];
	pid_t pid = 0;
	ssize_t n;
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	while ((n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			if (pid > 1)
				kill(pid, signal_number);
			pid = 0;
		}
	close(fd);
}

void
tree_signal(int signal_number)
{
	if (is_pid_1())
		kill(-1, signal_number);
	else
		signal_children(signal_number);
}

static uint64_t
microseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

static void
note(struct call *call, pid_t pid, int status, const struct rusage *usage)
{
	uint64_t rss = (uint64_t)usage->ru_maxrss;

	call->usage.user_us += microseconds(&usage->ru_utime);
	call->usage.system_us += microseconds(&usage->ru_stime);
	if (rss > call->usage.max_rss_kib)
		call->usage.max_rss_kib = rss;
	if (pid == call->pid) {
		call->has_ended = true;
		call->status = status;
	}
}

bool
tree_reap(struct call *call)
{
	struct rusage usage;
	int status;

	for (;;) {
		pid_t pid = wait4(-1, &status, WNOHANG | __WALL, &usage);
		if (pid == 0)
			return false;
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return true;
		note(call, pid, status, &usage);
	}
}

/* A process that changed its user, as `process.caps: [SETUID]` lets it, is not ours to signal, and
 * would be waited for without end: after the grace it is left to the end of pid 1 or of the
 * container, which needs no permission. */
void
tree_end(struct call *call)
{
	const uint64_t deadline = init_now_ms() + RUNNER_GRACE_MS;
	sigset_t set;

	if (call->is_empty)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	tree_signal(SIGKILL);
	while (!tree_reap(call)) {
		const uint64_t now = init_now_ms();
		if (now >= deadline) {
			call->has_immortals = true;
			break;
		}
		/* SIGCHLD is blocked: one that came since the reaping waits for us here. */
		const struct timespec patience = { .tv_sec = (time_t)((deadline - now) / 1000),
			.tv_nsec = (long)((deadline - now) % 1000) * 1000000 };
		sigtimedwait(&set, NULL, &patience);
		if (!is_pid_1())
			tree_signal(SIGKILL); /* what the dead left to us */
	}
	call->is_empty = true;
}
