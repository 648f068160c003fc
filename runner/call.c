/*
 * Starting a command. The child shares our memory until it execs (CLONE_VM | CLONE_VFORK): no page
 * tables are copied, and why an exec failed is simply left in a variable. The child therefore makes
 * system calls only, on a stack of its own.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "runner/loop.h"

#include "base/banned.h"

enum {
	STACK = 16384,
	PATH_SIZE = 4096
};

/* What the child needs and what it leaves behind. */
struct child {
	const struct runner_spawn *spawn;
	int stdio[3]; /* its ends of the pipes; -1 = inherit, or /dev/null for input */
	pid_t runner;
	struct spawn_failure failure;
	char path[PATH_SIZE]; /* of the program that was tried */
};

static int
fail(struct child *child, enum spawn_step step, const char *subject)
{
	child->failure =
	    (struct spawn_failure){ .step = step, .sys_errno = errno, .subject = subject };
	return -1;
}

static int
set_stdio(struct child *child)
{
	if ((child->spawn->flags & RUNNER_SPAWN_INHERIT) != 0)
		return 0;
	if (child->stdio[0] < 0)
		child->stdio[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		if (child->stdio[i] < 0 || dup2(child->stdio[i], i) < 0)
			return fail(child, SPAWN_STDIO, i == 0 ? "/dev/null" : "pipe");
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
set_rlimits(struct child *child)
{
	const struct runner_spawn *spawn = child->spawn;

	for (uint32_t i = 0; i < spawn->rlimits_len; i++) {
		const struct runner_rlimit *wanted = &spawn->rlimits[i];
		const struct rlimit limit = { .rlim_cur = wanted->soft, .rlim_max = wanted->hard };
		if (setrlimit((int)wanted->resource, &limit) != 0)
			return fail(child, SPAWN_RLIMIT,
			    wanted->resource < RLIM_NLIMITS ? rlimit_names[wanted->resource]
							    : "unknown limit");
	}
	return 0;
}

/* True when the name is there for us, whether or not it can be executed. */
static bool
exists(const char *path)
{
	int saved = errno;
	bool does = faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0;

	errno = saved;
	return does;
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

/* Tries one path. Returns when it cannot be run: 0 to go on looking, -1 when the answer is final.
 * An ENOENT of a file that is there means its interpreter: that is "not usable", not "not found".
 */
static int
try_path(struct child *child, const char *path)
{
	char *const *env = hl_strv_argv(&child->spawn->env);

	execve(path, hl_strv_argv(&child->spawn->argv), env);
	if (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP ||
	    errno == ENAMETOOLONG)
		if (!exists(path))
			return 0;
	return fail(child, SPAWN_EXEC, path);
}

static int
not_found(struct child *child)
{
	errno = 0;
	return fail(child, SPAWN_EXEC, child->spawn->argv.v[0]);
}

/* As execvp(3), with the PATH of the command's environment and without its shell. */
static int
run(struct child *child)
{
	const char *name = child->spawn->argv.v[0];
	const char *dir = variable(child->spawn, "PATH");
	size_t name_len = strlen(name);

	if (strchr(name, '/') != NULL)
		return try_path(child, name) != 0 ? -1 : not_found(child);
	if (dir == NULL)
		dir = "/usr/local/bin:/usr/bin:/bin";
	bool is_refused = false;
	for (; *dir != '\0'; dir += *dir == ':' ? 1 : 0) {
		size_t len = strcspn(dir, ":");
		/* An empty or relative entry means the working directory, which is the workspace:
		 * what lies there is not what the name means. */
		if (len > 0 && dir[0] == '/' && len + name_len + 2 <= sizeof(child->path)) {
			memcpy(child->path, dir, len);
			child->path[len] = '/';
			memcpy(child->path + len + 1, name, name_len + 1);
			if (try_path(child, child->path) != 0) {
				if (child->failure.sys_errno != EACCES)
					return -1;
				is_refused = true;
			}
		}
		dir += len;
	}
	if (!is_refused)
		return not_found(child);
	errno = EACCES;
	return fail(child, SPAWN_EXEC, name);
}

static int
child_main(void *argument)
{
	struct child *child = argument;
	sigset_t none;

	setpgid(0, 0);
	if (child->runner != 1)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	umask((mode_t)child->spawn->umask);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (set_stdio(child) == 0 && set_rlimits(child) == 0) {
		if (chdir(child->spawn->cwd) != 0)
			fail(child, SPAWN_CWD, child->spawn->cwd);
		else
			run(child);
	}
	_exit(127);
}

static void
close_ends(int stdio[3])
{
	for (int i = 0; i < 3; i++)
		if (stdio[i] >= 0)
			close(stdio[i]);
}

/* A pipe whose far end is the command's: ours never blocks, the command's is an ordinary one. */
static int
make_pipe(int *ret_ours, int *ret_theirs, bool is_input)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	*ret_ours = ends[is_input ? 1 : 0];
	*ret_theirs = ends[is_input ? 0 : 1];
	return fcntl(*ret_ours, F_SETFL, O_NONBLOCK);
}

static int
make_pipes(struct call *call, struct child *child)
{
	if ((child->spawn->flags & RUNNER_SPAWN_INHERIT) != 0)
		return 0;
	for (int i = 0; i < 2; i++)
		if (make_pipe(&call->out_fd[i], &child->stdio[i + 1], false) != 0)
			return fail(child, SPAWN_PIPES, "pipe");
	if ((child->spawn->flags & RUNNER_SPAWN_STDIN) != 0 &&
	    make_pipe(&call->stdin_fd, &child->stdio[0], true) != 0)
		return fail(child, SPAWN_PIPES, "pipe");
	return 0;
}

void
call_close(struct call *call)
{
	for (int i = 0; i < 2; i++) {
		if (call->out_fd[i] >= 0)
			close(call->out_fd[i]);
		call->out_fd[i] = -1;
	}
	if (call->stdin_fd >= 0)
		close(call->stdin_fd);
	call->stdin_fd = -1;
	hl_buf_done_secret(&call->stdin_bytes);
}

int
call_start(struct call *call, const struct runner_spawn *spawn, struct spawn_failure *ret_failure)
{
	static char stack[STACK] __attribute__((aligned(16)));
	static struct child child; /* too large for a frame of the stack */

	child = (struct child){ .spawn = spawn, .stdio = { -1, -1, -1 }, .runner = getpid() };
	*call = (struct call){ .out_fd = { -1, -1 },
		.stdin_fd = -1,
		.out_window = { RUNNER_WINDOW, RUNNER_WINDOW },
		.stdin_window = RUNNER_WINDOW,
		.takes_stdin = (spawn->flags & RUNNER_SPAWN_STDIN) != 0 };
	hl_buf_init(&call->stdin_bytes, RUNNER_WINDOW);
	if (make_pipes(call, &child) == 0) {
		call->pid = clone(child_main, stack + sizeof(stack),
		    CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
		if (call->pid < 0)
			fail(&child, SPAWN_PIPES, "clone");
	}
	close_ends(child.stdio);
	if (child.failure.step == SPAWN_FINE)
		return 0;
	/* The child that could not exec is gone already, or a zombie of ours. */
	tree_end(call);
	call_close(call);
	*ret_failure = child.failure;
	return -1;
}
