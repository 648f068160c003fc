/*
 * What runs between clone and exec, in the launcher's own memory (CLONE_VM) while the
 * thread that made it is held (CLONE_VFORK). Only raw system calls, on values that were made
 * before: no allocation, no stdio, no libc function that could take a lock or set errno. A failing
 * step is written into the child_plan, where the launcher reads it when it goes on.
 *
 * In this order: a session of its own first, so that a signal from the terminal does not hit us
 * half done; id maps before anything that needs an identity; descriptors after the last use of one.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <linux/capability.h>
#include <linux/close_range.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "backends/local/local.h"

#include "base/banned.h"

enum {
	KERNEL_SIGNALS = 64,
	KERNEL_SIGSET_SIZE = 8
};

/* The kernel's own struct sigaction, all zero: SIG_DFL, no flags, empty mask. Its largest layout
 * has four words. */
struct kernel_sigaction {
	unsigned long words[4];
};

typedef long step_fn(const struct child_plan *plan);

static long
write_text(const char *path, const char *text, size_t len)
{
	long fd = HL_RAW3(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	long n = HL_RAW3(SYS_write, fd, text, len);
	HL_RAW3(SYS_close, fd, 0, 0);
	if (n < 0)
		return n;
	return (size_t)n == len ? 0 : -EIO;
}

static long
step_session(const struct child_plan *plan)
{
	(void)plan;
	long sid = HL_RAW3(SYS_setsid, 0, 0, 0);
	return sid < 0 ? sid : 0;
}

/* user_namespaces(7): one line with our own ids, and setgroups denied before gid_map, is what an
 * unprivileged process may write itself. The files belong to root while the process is not
 * dumpable, so it is for these three writes, and with it the launcher, which shares the memory that
 * the flag belongs to and goes on meanwhile: begun first of all, this comes before the launcher has
 * read a policy in all but a slow start. */
static long
step_maps(const struct child_plan *plan)
{
	if (!plan->has_user_ns)
		return 0;
	if (!plan->is_dumpable)
		HL_RAW3(SYS_prctl, PR_SET_DUMPABLE, 1, 0);
	long status = write_text("/proc/self/setgroups", "deny", 4);
	if (status == 0)
		status = write_text("/proc/self/uid_map", plan->uid_map, plan->uid_map_len);
	if (status == 0)
		status = write_text("/proc/self/gid_map", plan->gid_map, plan->gid_map_len);
	if (!plan->is_dumpable)
		HL_RAW3(SYS_prctl, PR_SET_DUMPABLE, 0, 0);
	return status;
}

/* A core limit of 1 is the kernel's word for "no dump at all, not even to a core_pattern pipe"
 * (core(5), do_coredump): a crash inside must not start a handler outside. Hard limits are never
 * raised. */
static long
step_core(const struct child_plan *plan)
{
	struct rlimit64 limit;

	(void)plan;
	long status = HL_RAW5(SYS_prlimit64, 0, RLIMIT_CORE, 0, &limit, 0);
	if (status < 0)
		return status;
	if (limit.rlim_max > 1)
		limit.rlim_max = 1;
	limit.rlim_cur = limit.rlim_max;
	return HL_RAW3(SYS_prlimit64, 0, RLIMIT_CORE, &limit);
}

/* Our full set in the new user namespace is lost at exec, since we are not its root
 * (capabilities(7)): the ambient set carries it to the runner, which drops it. */
static long
step_caps(const struct child_plan *plan)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (!plan->has_user_ns)
		return 0;
	long status = HL_RAW3(SYS_capget, &header, data, 0);
	if (status < 0)
		return status;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i].inheritable = data[i].permitted;
	status = HL_RAW3(SYS_capset, &header, data, 0);
	if (status < 0)
		return status;
	for (int cap = 0; cap < 64; cap++) {
		if ((data[cap / 32].permitted & (1U << (cap % 32))) == 0)
			continue;
		status = HL_RAW3(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap);
		if (status < 0)
			return status;
	}
	return 0;
}

/* 0-2 as they are, the stream as 3, the socket beside it as 4, and nothing else past exec. */
static long
step_descriptors(const struct child_plan *plan)
{
	long status = HL_RAW3(SYS_dup3, plan->stream_fd, RUNNER_STREAM_FD, 0);
	if (status < 0)
		return status;
	status = HL_RAW3(SYS_dup3, plan->pass_fd, RUNNER_PASS_FD, 0);
	if (status < 0)
		return status;
	return HL_RAW3(SYS_close_range, RUNNER_PASS_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

static long
step_signals(const struct child_plan *plan)
{
	static const struct kernel_sigaction by_default;
	static const unsigned long none;

	(void)plan;
	for (int number = 1; number <= KERNEL_SIGNALS; number++) {
		long status =
		    HL_RAW5(SYS_rt_sigaction, number, &by_default, 0, KERNEL_SIGSET_SIZE, 0);
		if (status < 0 && number != SIGKILL && number != SIGSTOP)
			return status;
	}
	return HL_RAW5(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, KERNEL_SIGSET_SIZE, 0);
}

/* By descriptor: what was checked is what runs. No path in argv, nothing in the environment. */
static long
step_exec(const struct child_plan *plan)
{
	const char *const argv[] = { "init", plan->argument, 0 };
	static const char *const envp[] = { 0 };

	return HL_RAW5(SYS_execveat, plan->runner_fd, "", argv, envp, AT_EMPTY_PATH);
}

struct step_row {
	enum child_step step;
	step_fn *run;
};

static const struct step_row steps[] = {
	{ CHILD_STEP_SESSION, step_session },
	{ CHILD_STEP_MAPS, step_maps },
	{ CHILD_STEP_CORE, step_core },
	{ CHILD_STEP_CAPS, step_caps },
	{ CHILD_STEP_DESCRIPTORS, step_descriptors },
	{ CHILD_STEP_SIGNALS, step_signals },
	{ CHILD_STEP_EXEC, step_exec },
};

void
child_run(struct child_plan *plan)
{
	for (unsigned i = 0; i < HL_ARRAY_SIZE(steps); i++) {
		long status = steps[i].run(plan);
		if (status < 0) {
			plan->failed_step = steps[i].step;
			plan->failed_errno = (int)-status;
			return;
		}
	}
}
