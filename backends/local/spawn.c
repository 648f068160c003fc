/*
 * Makes the child: clone3(2) with the sandbox's namespaces, on the launcher's memory and a stack of
 * its own, the launcher held until the child has exec'd (CLONE_VM | CLONE_VFORK). That saves the
 * copy of the page tables, which is most of what fork costs, and makes the report of a failed step
 * a plain write to memory.
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/local/clone.h"
#include "backends/local/local.h"

#include "base/banned.h"

enum {
	STACK_SIZE = 64 * 1024
};

const char *
child_step_text(enum child_step step)
{
	static const char *const texts[CHILD_STEP_MAX] = {
		[CHILD_STEP_NONE] = "none",
#define CHILD_STEP(symbol, text) [CHILD_STEP_##symbol] = (text),
#include "backends/local/steps.def"
#undef CHILD_STEP
	};

	return (unsigned)step < CHILD_STEP_MAX ? texts[step] : "unknown";
}

static void
run_child(void *context)
{
	child_run(context);
}

struct cause_row {
	const char *path; /* of a sysctl */
	char blocks;      /* its first byte when it is in the way */
	const char *help;
};

static const struct cause_row user_ns_causes[] = {
	{ "/proc/sys/user/max_user_namespaces", '0', "sysctl user.max_user_namespaces=15000" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", '0',
	    "sysctl kernel.unprivileged_userns_clone=1" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
	    "give hermes-launch an AppArmor profile with 'userns', or sysctl"
	    " kernel.apparmor_restrict_unprivileged_userns=0" },
};

/* Which switch of the host stands in the way; the errno of clone3 alone does not say. */
static void
explain_user_ns(struct hl_err *err)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(user_ns_causes); i++) {
		char first = '\0';
		HL_AUTO_FD int fd = open(user_ns_causes[i].path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && read(fd, &first, 1) == 1 && first == user_ns_causes[i].blocks) {
			hl_err_help(err, "%s", user_ns_causes[i].help);
			return;
		}
	}
	hl_err_help(err, "a container's own system call filter may forbid namespaces");
}

static int
report_step(const struct child_plan *child, struct hl_err *err)
{
	errno = child->failed_errno;
	hl_err_sys(err, HLB_24, "the sandbox cannot be started: %s",
	    child_step_text(child->failed_step));
	if (child->failed_step == CHILD_STEP_MAPS)
		explain_user_ns(err);
	return -1;
}

int
local_spawn(const struct spawn_request *request, pid_t *ret_pid, int *ret_pidfd, struct hl_err *err)
{
	int pidfd = -1;
	sigset_t all, old;

	void *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	if (stack == MAP_FAILED)
		return hl_err_oom(err);
	struct clone_args args = {
		.flags = request->namespaces | CLONE_VM | CLONE_VFORK | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
		.stack = (uint64_t)(uintptr_t)stack,
		.stack_size = STACK_SIZE,
	};
	/* A handler of ours must not run in the child, on memory that is ours as well. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	long pid = local_clone(&args, run_child, request->child);
	sigprocmask(SIG_SETMASK, &old, NULL);
	munmap(stack, STACK_SIZE);
	if (pid < 0) {
		errno = (int)-pid;
		hl_err_sys(err, HLB_24, "the sandbox's namespaces cannot be made");
		if (request->namespaces & CLONE_NEWUSER)
			explain_user_ns(err);
		return -1;
	}
	if (request->child->failed_step != CHILD_STEP_NONE) {
		waitid(P_PIDFD, (id_t)pidfd, &(siginfo_t){ 0 }, WEXITED);
		close(pidfd);
		return report_step(request->child, err);
	}
	*ret_pid = (pid_t)pid;
	*ret_pidfd = pidfd;
	return 0;
}
