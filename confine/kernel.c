/*
 * What this kernel offers to this caller, learned by trying rather than by version: distributions
 * backport, containers filter, administrators switch off. User namespaces are tried in a child that
 * shares our memory, so that a probe costs no page tables.
 */
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <linux/magic.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"

#include "base/banned.h"

#ifndef SYS_landlock_create_ruleset
# define SYS_landlock_create_ruleset 444
#endif

enum {
	LANDLOCK_VERSION = 1,
	STACK = 65536
};

int
confine_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);

	return abi > 0 ? (int)abi : 0;
}

bool
confine_groups_are_unified(void)
{
	struct statfs fs;

	return statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* By user namespace since Linux 5.14. A root caller's sandboxes have none of their own, and there
 * it would count the user everywhere. */
bool
confine_nproc_is_per_namespace(void)
{
	struct utsname name;
	uint64_t major, minor;
	struct hl_err ignored = { 0 };

	if (geteuid() == 0 || uname(&name) != 0)
		return false;
	char *rest = name.release;
	const char *first = strsep(&rest, ".");
	if (rest == NULL)
		return false;
	rest[strspn(rest, "0123456789")] = '\0';
	if (hl_parse_u64(first, 0, 1000, &major, &ignored) != 0 ||
	    hl_parse_u64(rest, 0, 100000, &minor, &ignored) != 0)
		return false;
	return major > 5 || (major == 5 && minor >= 14);
}

/* Asks whether an action exists; loads nothing. */
static bool
has_seccomp(void)
{
	const uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

struct attempt {
	int sys_errno;
	const char *failed; /* what it was that failed; NULL = nothing */
};

/* In the new namespace: is it one whose capabilities are real? Some AppArmor profiles grant the
 * namespace and take the rest. The id maps are not tried: a launcher that is not dumpable cannot
 * write them, and the sandbox's start reports them by itself. */
static int
in_namespace(void *argument)
{
	struct attempt *attempt = argument;

	if (unshare(CLONE_NEWNS) != 0) {
		attempt->sys_errno = errno;
		attempt->failed = "making a mount namespace in a user namespace";
	}
	_exit(0);
}

/* The first byte of a sysctl that holds a number, or 0. */
static char
setting(const char *path)
{
	char byte = '\0';
	int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return '\0';
	ssize_t n = read(fd, &byte, 1);
	close(fd);
	return n == 1 ? byte : '\0';
}

/* A setting that is known to forbid user namespaces, and the value with which it does. */
struct cause {
	const char *path;
	char forbids;
	const char *text;
};

static const struct cause causes[] = {
	{ "/proc/sys/user/max_user_namespaces", '0',
	    "sysctl user.max_user_namespaces is 0; set it to 10000 or more" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", '0',
	    "sysctl kernel.unprivileged_userns_clone is 0; set it to 1" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
	    "sysctl kernel.apparmor_restrict_unprivileged_userns is 1; give the launcher an AppArmor "
	    "profile with 'userns,' or set it to 0" },
};

static void
explain(const struct attempt *attempt, char *text, size_t size)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(causes); i++)
		if (setting(causes[i].path) == causes[i].forbids) {
			snprintf(text, size, "%s", causes[i].text);
			return;
		}
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2) {
		snprintf(text, size,
		    "%s: %s; a seccomp filter is on this process, as in a container",
		    attempt->failed, strerror(attempt->sys_errno));
		return;
	}
	snprintf(text, size, "%s: %s", attempt->failed, strerror(attempt->sys_errno));
}

static void
probe_user_ns(struct confine_kernel *kernel)
{
	static char stack[STACK] __attribute__((aligned(16)));
	struct attempt attempt = { 0 };
	pid_t pid = clone(in_namespace, stack + sizeof(stack),
	    CLONE_VM | CLONE_VFORK | CLONE_NEWUSER | SIGCHLD, &attempt);

	if (pid < 0) {
		attempt.sys_errno = errno;
		attempt.failed = "making a user namespace";
	} else {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	kernel->has_user_ns = attempt.failed == NULL;
	if (!kernel->has_user_ns)
		explain(&attempt, kernel->user_ns_cause, sizeof(kernel->user_ns_cause));
}

void
confine_kernel_probe(struct confine_kernel *ret_kernel)
{
	memset(ret_kernel, 0, sizeof(*ret_kernel));
	ret_kernel->landlock_abi = confine_landlock_abi();
	ret_kernel->has_seccomp = has_seccomp();
	if (geteuid() == 0)
		snprintf(ret_kernel->user_ns_cause, sizeof(ret_kernel->user_ns_cause),
		    "not tried: root needs none");
	else
		probe_user_ns(ret_kernel);
}
