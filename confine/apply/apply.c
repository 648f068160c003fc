/*
 * The lock, step by step. This half runs inside, as the last privileged code before a hostile
 * command: a table of steps, system calls only, no allocation, no stdio. The first step that fails
 * ends it; there is no "go on without".
 */
#include "confine/apply/apply.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/seccomp.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "confine/apply/sys.h"

#include "base/banned.h"

/* struct sock_fprog of the kernel; its instruction has the layout of ours. */
struct bpf_program {
	unsigned short len;
	const struct confine_bpf *instructions;
};

_Static_assert(sizeof(struct confine_bpf) == 8 && offsetof(struct confine_bpf, jt) == 2 &&
		   offsetof(struct confine_bpf, k) == 4,
    "an instruction is handed to the kernel as it is");

int
apply_fail(struct apply *apply, enum confine_step step, const char *subject)
{
	apply->failure->sys_errno = errno;
	apply->failure->step = step;
	apply->failure->subject = subject;
	return -1;
}

/* exec and a change of user reset both settings, so they come after the last of each. A parent that
 * died before the signal was set is seen by the stream's end. Where the runner is not the first
 * process of a namespace, its sudden end would leave what the command started behind: there the
 * stream's end alone tells it, and it ends the tree itself. */
static int
apply_death_signal(struct apply *apply)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return apply_fail(apply, CONFINE_STEP_DEATH_SIGNAL, "dumpable");
	if (apply->keep_fd <= STDERR_FILENO)
		return 0;
	const int signal_number = getpid() == 1 ? SIGKILL : 0;
	struct pollfd stream = { .fd = STDERR_FILENO + 1, .events = POLLRDHUP };
	if (prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0) != 0 || poll(&stream, 1, 0) < 0)
		return apply_fail(apply, CONFINE_STEP_DEATH_SIGNAL, "");
	if ((stream.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) {
		errno = EPIPE;
		return apply_fail(apply, CONFINE_STEP_DEATH_SIGNAL, "the launcher is gone");
	}
	return 0;
}

/* A directory, or a path descriptor, that reaches the command leads out of the new root. */
static int
apply_descriptors(struct apply *apply)
{
	static const char *const names[] = { "standard input", "standard output",
		"standard error" };
	struct stat st;

	for (int fd = 0; fd < 3; fd++) {
		int flags = fcntl(fd, F_GETFL);
		if (flags < 0)
			continue;
		if ((flags & O_PATH) != 0 || fstat(fd, &st) != 0 || S_ISDIR(st.st_mode)) {
			errno = EISDIR;
			return apply_fail(apply, CONFINE_STEP_DESCRIPTORS, names[fd]);
		}
	}
	if (syscall(SYS_close_range, (unsigned)apply->keep_fd + 1, ~0U, 0) != 0)
		return apply_fail(apply, CONFINE_STEP_DESCRIPTORS, "");
	return 0;
}

static int
apply_seccomp(struct apply *apply)
{
	const struct bpf_program program = { .len = (unsigned short)apply->confinement->bpf_len,
		.instructions = apply->confinement->bpf };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		return apply_fail(apply, CONFINE_STEP_SECCOMP, "");
	return 0;
}

/* flags 0: always. */
struct step {
	uint32_t flags;
	int (*run)(struct apply *apply);
};

static const struct step steps[] = {
	{ 0, apply_groups },
	{ CONFINE_MOUNTS, apply_private },
	{ CONFINE_MOUNTS, apply_root },
	{ CONFINE_MOUNTS, apply_early_rest },
	{ CONFINE_MOUNTS, apply_ops },
	{ CONFINE_MOUNTS, apply_read_only },
	{ CONFINE_MOUNTS, apply_pivot },
	{ CONFINE_LANDLOCK, apply_landlock_prepare },
	{ CONFINE_CGROUP_NS, apply_cgroup_ns },
	{ CONFINE_HOSTNAME, apply_hostname },
	{ CONFINE_LOOPBACK, apply_loopback },
	{ CONFINE_KEYRING, apply_keyring },
	{ CONFINE_CAPS, apply_bounding },
	{ CONFINE_CAPS, apply_securebits },
	{ CONFINE_IDENTITY, apply_identity },
	{ CONFINE_CAPS, apply_caps },
	{ CONFINE_NO_NEW_PRIVS, apply_no_new_privs },
	{ CONFINE_LANDLOCK, apply_landlock },
	{ 0, apply_death_signal },
	{ 0, apply_descriptors },
	{ CONFINE_SECCOMP, apply_seccomp },
};

/* A lock that does not have what was begun for it is not the one that the host meant. */
static int
check_early(struct apply *apply)
{
	const uint32_t flags = apply->confinement->flags, early = apply->early->flags;

	if (apply->early->failure.step != CONFINE_STEP_NONE) {
		*apply->failure = apply->early->failure;
		return -1;
	}
	if (((early & CONFINE_EARLY_ROOT) != 0 && (flags & CONFINE_MOUNTS) == 0) ||
	    ((early & CONFINE_EARLY_NETWORK) != 0 && (flags & CONFINE_LOOPBACK) == 0)) {
		errno = EINVAL;
		return apply_fail(apply, CONFINE_STEP_ROOT, "begun for another lock");
	}
	return 0;
}

int
confine_apply(const struct confinement *confinement, const struct confine_early *early, int keep_fd,
    struct confine_failure *ret_failure)
{
	struct apply apply = { .confinement = confinement,
		.early = early,
		.failure = ret_failure,
		.keep_fd = keep_fd,
		.base_fd = early->base_fd,
		.root_fd = -1,
		.mask_fd = { early->mask_fd[0], early->mask_fd[1] },
		.ruleset_fd = -1 };

	if (check_early(&apply) != 0)
		return -1;
	for (size_t i = 0; i < HL_ARRAY_SIZE(steps); i++)
		if (steps[i].flags == 0 || (confinement->flags & steps[i].flags) != 0)
			if (steps[i].run(&apply) != 0)
				return -1;
	return 0;
}
