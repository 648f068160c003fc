/*
 * The supervisor of a call: a child of the runner that shares its memory and descriptors, starts
 * the command and, as a child subreaper (prctl(2), Linux 3.4), is where everything that the command
 * leaves behind comes to. It only waits: signals are sent by the loop, and what happened is written
 * into the task. It ends when nothing of the call is left, which the loop hears as SIGCHLD; what
 * happens before goes to the loop's event descriptor.
 *
 * It shares the runner's memory so that it costs neither page tables nor pages, and so that the
 * runner's protections (not dumpable, no name in its argv) are its own. It may be killed at any
 * time by a command of the same user where the kernel has no signal scope: then its phase never
 * becomes TASK_EMPTY, its children become the runner's, and those are ended there.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>

#include "runner/loop.h"

#include "base/banned.h"

static void
tell(struct task *task, enum task_phase phase)
{
	static const uint64_t one = 1;

	__atomic_store_n(&task->phase, (int)phase, __ATOMIC_RELEASE);
	HL_RAW3(SYS_write, task->wake_fd, &one, sizeof(one));
}

static uint64_t
microseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

void
usage_add(struct usage *usage, const void *rusage)
{
	const struct rusage *more = rusage;
	uint64_t rss = (uint64_t)more->ru_maxrss;

	usage->user_us += microseconds(&more->ru_utime);
	usage->system_us += microseconds(&more->ru_stime);
	if (rss > usage->max_rss_kib)
		usage->max_rss_kib = rss;
}

/* The number of the one that was reaped, 0 (WNOHANG: none has ended), or -errno. */
static long
reap(struct task *task, int flags)
{
	struct rusage usage;
	int status;

	long pid = HL_RAW5(SYS_wait4, -1, &status, flags | __WALL, &usage, 0);
	if (pid <= 0)
		return pid;
	usage_add(&task->usage, &usage);
	if (pid == task->pid)
		task->status = status;
	__atomic_store_n(&task->reaped, task->reaped + 1, __ATOMIC_RELAXED);
	return pid;
}

static int
start(struct task *task)
{
	long pid = hl_raw_clone(CLONE_VM | CLONE_VFORK | SIGCHLD,
	    task->child_stack + sizeof(task->child_stack), NULL, child_main, task);

	if (pid < 0) {
		task->failure = (struct task_failure){ .step = TASK_STEP_CLONE,
			.sys_errno = (int)-pid,
			.subject = "process" };
		return -1;
	}
	task->pid = (pid_t)pid;
	return task->failure.step == TASK_STEP_FINE ? 0 : -1;
}

static int
end(struct task *task, enum task_phase phase)
{
	__atomic_store_n(&task->phase, (int)phase, __ATOMIC_RELEASE);
	return 0;
}

/* What makes it a supervisor. The policy's filter is on already and may refuse any of it: then
 * there is no call, because nobody would find what it leaves behind. */
static int
become_supervisor(struct task *task)
{
	static const unsigned long all[2] = { ~0UL, ~0UL };

	long status = HL_RAW5(SYS_rt_sigprocmask, SIG_SETMASK, all, 0, TASK_SIGSET_SIZE, 0);
	if (status >= 0)
		status = HL_RAW3(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0);
	if (status >= 0 && task->runner != 1)
		status = HL_RAW3(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0);
	if (status >= 0)
		return 0;
	task->failure = (struct task_failure){ .step = TASK_STEP_PROCESS,
		.sys_errno = (int)-status,
		.subject = "supervisor" };
	return -1;
}

int
supervisor_main(void *argument)
{
	struct task *task = argument;
	int flags = 0;
	long pid;

	if (become_supervisor(task) != 0)
		return end(task, TASK_FAILED);
	if (task->runner != 1 && HL_RAW3(SYS_getppid, 0, 0, 0) != task->runner)
		return 1;
	if (start(task) != 0) {
		do
			pid = reap(task, 0);
		while (pid > 0 || pid == -EINTR);
		return end(task, TASK_FAILED);
	}
	tell(task, TASK_RUNNING);
	for (;;) {
		pid = reap(task, flags);
		if (pid == -ECHILD)
			return end(task, TASK_EMPTY);
		/* What it has is the runner's from here on, which ends it. */
		if (pid < 0 && pid != -EINTR)
			return 1;
		if (pid == 0) {
			/* The command is gone, others are not: this is told once. */
			tell(task, TASK_ENDED);
			flags = 0;
		} else if (pid == task->pid) {
			flags = WNOHANG;
		}
	}
}
