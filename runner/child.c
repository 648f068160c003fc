/*
 * A command between clone and exec. It shares the runner's memory, and where it has a supervisor
 * the runner's loop goes on beside it: raw system calls only, on a stack of its own, and why an
 * exec failed is left in the task.
 *
 * In this order: what needs the runner's own descriptors and limits first (stdio, state), then the
 * call lock (limits, the working directory, the signal scope), then exec.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "runner/loop.h"

#include "base/banned.h"

#ifndef SYS_landlock_restrict_self
# define SYS_landlock_restrict_self 446
#endif

static int
fail(struct task *task, enum task_step step, long status, const char *subject)
{
	task->failure = (struct task_failure){ .step = step,
		.sys_errno = status < 0 ? (int)-status : 0,
		.subject = subject };
	return -1;
}

/* dup3(2) refuses equal numbers; the caller gives none. The copy stays open over exec. */
static long
give(int fd, int number)
{
	return HL_RAW3(SYS_dup3, fd, number, 0);
}

static int
set_stdio(struct task *task)
{
	static const char *const subjects[3] = { "/dev/null", "standard output", "standard error" };

	if ((task->spawn->flags & RUNNER_SPAWN_INHERIT) != 0)
		return 0;
	for (int i = 0; i < 3; i++) {
		long fd = task->stdio[i];
		if (fd < 0)
			fd = HL_RAW3(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			fd = give((int)fd, i);
		if (fd < 0)
			return fail(task, TASK_STEP_STDIO, fd, subjects[i]);
	}
	return 0;
}

/* A process group of its own, so that a signal reaches what the command runs; with a terminal a
 * session, whose controlling terminal it becomes (tty_ioctl(4)). */
static int
set_group(struct task *task)
{
	long status;

	if ((task->spawn->flags & RUNNER_SPAWN_PTY) == 0) {
		status = HL_RAW3(SYS_setpgid, 0, 0, 0);
		return status < 0 ? fail(task, TASK_STEP_PROCESS, status, "process group") : 0;
	}
	status = HL_RAW3(SYS_setsid, 0, 0, 0);
	if (status >= 0)
		status = HL_RAW3(SYS_ioctl, 0, TIOCSCTTY, 0);
	return status < 0 ? fail(task, TASK_STEP_TERMINAL, status, "terminal") : 0;
}

static int
set_state(struct task *task)
{
	const int numbers[2][2] = { { task->state_text_fd, RUNNER_STATE_TEXT_FD },
		{ task->state_fd, RUNNER_STATE_FD } };

	for (int i = 0; i < 2; i++) {
		long status = numbers[i][0] >= 0 ? give(numbers[i][0], numbers[i][1]) : 0;
		if (status < 0)
			return fail(task, TASK_STEP_STDIO, status, "state");
	}
	return 0;
}

static const char *const rlimit_names[RLIM_NLIMITS] = {
	[RLIMIT_CPU] = "cpu time",
	[RLIMIT_FSIZE] = "file size",
	[RLIMIT_DATA] = "data",
	[RLIMIT_STACK] = "stack",
	[RLIMIT_CORE] = "core",
	[RLIMIT_RSS] = "resident memory",
	[RLIMIT_NPROC] = "processes",
	[RLIMIT_NOFILE] = "open files",
	[RLIMIT_MEMLOCK] = "locked memory",
	[RLIMIT_AS] = "address space",
	[RLIMIT_LOCKS] = "locks",
	[RLIMIT_SIGPENDING] = "pending signals",
	[RLIMIT_MSGQUEUE] = "message queues",
	[RLIMIT_NICE] = "nice",
	[RLIMIT_RTPRIO] = "real-time priority",
	[RLIMIT_RTTIME] = "real-time time",
};

static int
set_rlimits(struct task *task)
{
	const struct runner_spawn *spawn = task->spawn;

	for (uint32_t i = 0; i < spawn->rlimits_len; i++) {
		const struct runner_rlimit *wanted = &spawn->rlimits[i];
		/* The kernel's struct rlimit64, on every architecture. */
		const uint64_t limit[2] = { wanted->soft, wanted->hard };
		long status = HL_RAW3(SYS_prlimit64, 0, wanted->resource, limit);
		if (status < 0)
			return fail(task, TASK_STEP_RLIMIT, status,
			    wanted->resource < RLIM_NLIMITS ? rlimit_names[wanted->resource]
							    : "unknown limit");
	}
	return 0;
}

static int
set_place(struct task *task)
{
	long status = HL_RAW3(SYS_chdir, task->spawn->cwd, 0, 0);

	return status < 0 ? fail(task, TASK_STEP_CWD, status, task->spawn->cwd) : 0;
}

static int
set_scope(struct task *task)
{
	long status =
	    task->scope_fd >= 0 ? HL_RAW3(SYS_landlock_restrict_self, task->scope_fd, 0, 0) : 0;

	return status < 0 ? fail(task, TASK_STEP_SCOPE, status, "signal scope") : 0;
}

/* True when the name is there for us, whether or not it can be executed. The system call takes the
 * real ids, which are the effective ones here. */
static bool
exists(const char *path)
{
	return HL_RAW3(SYS_faccessat, AT_FDCWD, path, 0 /* F_OK */) == 0;
}

static const char *
variable(const struct runner_spawn *spawn, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < spawn->env.len; i++)
		if (strncmp(spawn->env.v[i], name, len) == 0 && spawn->env.v[i][len] == '=')
			return spawn->env.v[i] + len + 1;
	return NULL;
}

static bool
means_absent(long status)
{
	return status == -ENOENT || status == -ENOTDIR || status == -EACCES || status == -ELOOP ||
	       status == -ENAMETOOLONG;
}

/* Tries one path. Returns when it cannot be run: 0 to go on looking, -1 when the answer is final.
 * An ENOENT of a file that is there means its interpreter: that is "not usable", not "not found".
 */
static int
try_path(struct task *task, const char *path)
{
	const struct runner_spawn *spawn = task->spawn;
	long status = HL_RAW3(SYS_execve, path, spawn->argv.v, spawn->env.v);

	if (means_absent(status) && !exists(path))
		return 0;
	return fail(task, TASK_STEP_EXEC, status, path);
}

static int
not_found(struct task *task)
{
	return fail(task, TASK_STEP_EXEC, 0, task->spawn->argv.v[0]);
}

/* As execvp(3), with the PATH of the command's environment and without its shell. */
static int
run(struct task *task)
{
	const char *name = task->spawn->argv.v[0];
	const char *dir = variable(task->spawn, "PATH");
	size_t name_len = strlen(name);
	bool is_refused = false;

	if (strchr(name, '/') != NULL)
		return try_path(task, name) != 0 ? -1 : not_found(task);
	if (dir == NULL)
		dir = "/usr/local/bin:/usr/bin:/bin";
	for (; *dir != '\0'; dir += *dir == ':' ? 1 : 0) {
		size_t len = strcspn(dir, ":");
		/* An empty or relative entry means the working directory, which is the workspace:
		 * what lies there is not what the name means. */
		if (len > 0 && dir[0] == '/' && len + name_len + 2 <= sizeof(task->path)) {
			memcpy(task->path, dir, len);
			task->path[len] = '/';
			memcpy(task->path + len + 1, name, name_len + 1);
			if (try_path(task, task->path) != 0) {
				if (task->failure.sys_errno != EACCES)
					return -1;
				/* The next one may do, and then there is none. */
				task->failure = (struct task_failure){ 0 };
				is_refused = true;
			}
		}
		dir += len;
	}
	return is_refused ? fail(task, TASK_STEP_EXEC, -EACCES, name) : not_found(task);
}

/* Below pid 1 the kernel ends what its namespace holds; elsewhere the death signal does. */
static int
set_process(struct task *task)
{
	long status = task->runner != 1 ? HL_RAW3(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0) : 0;

	if (status < 0)
		return fail(task, TASK_STEP_PROCESS, status, "death signal");
	/* The kernel cannot fail at it, a filter can. */
	status = HL_RAW3(SYS_umask, task->spawn->umask, 0, 0);
	return status < 0 ? fail(task, TASK_STEP_PROCESS, status, "umask") : 0;
}

static int
set_signals(struct task *task)
{
	static const unsigned long none[2];
	long status = HL_RAW5(SYS_rt_sigprocmask, SIG_SETMASK, none, 0, TASK_SIGSET_SIZE, 0);

	return status < 0 ? fail(task, TASK_STEP_PROCESS, status, "signal mask") : 0;
}

/* The policy's filter is on already, and may refuse any of these calls: what cannot be done is
 * told, never left out. */
int
child_main(void *argument)
{
	struct task *task = argument;

	if (set_process(task) == 0 && set_stdio(task) == 0 && set_group(task) == 0 &&
	    set_state(task) == 0 && set_rlimits(task) == 0 && set_place(task) == 0 &&
	    set_scope(task) == 0 && set_signals(task) == 0)
		run(task);
	return 127;
}
