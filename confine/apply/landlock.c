/*
 * Landlock (landlock(7), Linux 5.13): what the mount namespace does not say by itself - rights per
 * path, no signal and no abstract socket out of the sandbox, no TCP where there is nobody to talk
 * to. The constants are ours, up to ABI 7; what a kernel does not know is not asked of it, but a
 * kernel without Landlock is an error. The flags of ABI 7 choose what the kernel's audit log tells;
 * we leave them off: a command's refusals are not logged after its exec, so that it cannot fill the
 * host's log.
 *
 * The ruleset is made right after pivot_root, while every path can be opened, and enforced much
 * later, after the identity has changed.
 */
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "confine/apply/apply.h"
#include "confine/apply/sys.h"

#include "base/banned.h"

enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_REMOVE_DIR = 1 << 4,
	FS_REMOVE_FILE = 1 << 5,
	FS_MAKE_CHAR = 1 << 6,
	FS_MAKE_DIR = 1 << 7,
	FS_MAKE_REG = 1 << 8,
	FS_MAKE_SOCK = 1 << 9,
	FS_MAKE_FIFO = 1 << 10,
	FS_MAKE_BLOCK = 1 << 11,
	FS_MAKE_SYM = 1 << 12,
	FS_REFER = 1 << 13,     /* ABI 2, Linux 5.19 */
	FS_TRUNCATE = 1 << 14,  /* ABI 3, Linux 6.2 */
	FS_IOCTL_DEV = 1 << 15, /* ABI 5, Linux 6.10 */

	FS_ABI_1 = FS_REFER - 1,
	FS_OF_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
	FS_READ = FS_READ_FILE | FS_READ_DIR,
	/* Devices are never made; an ioctl on one that may be written is what a terminal needs. */
	FS_WRITE = FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG |
		   FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_SYM | FS_REFER | FS_TRUNCATE |
		   FS_IOCTL_DEV,

	NET_BIND_TCP = 1 << 0, /* ABI 4, Linux 6.7 */
	NET_CONNECT_TCP = 1 << 1,

	SCOPE_ABSTRACT_UNIX = 1 << 0, /* ABI 6, Linux 6.12 */
	SCOPE_SIGNAL = 1 << 1,

	CREATE_VERSION = 1,
	RULE_PATH_BENEATH = 1,
};

struct ruleset_attr {
	uint64_t handled_fs, handled_net, scoped;
};

struct path_beneath_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

static uint64_t
handled_by(long abi)
{
	uint64_t handled = FS_ABI_1;

	if (abi >= 2)
		handled |= FS_REFER;
	if (abi >= 3)
		handled |= FS_TRUNCATE;
	if (abi >= 5)
		handled |= FS_IOCTL_DEV;
	return handled;
}

static int
add_rule(int ruleset, int fd, uint64_t allowed)
{
	struct path_beneath_attr attr = { .allowed = allowed, .parent_fd = fd };

	return (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0);
}

static uint64_t
rights_of(uint32_t access)
{
	uint64_t rights = 0;

	if ((access & CONFINE_READ) != 0)
		rights |= FS_READ;
	if ((access & CONFINE_WRITE) != 0)
		rights |= FS_WRITE;
	if ((access & CONFINE_EXEC) != 0)
		rights |= FS_EXECUTE;
	return rights;
}

static int
add_path(int ruleset, const struct confine_rule *rule, uint64_t handled)
{
	struct stat st;
	uint64_t rights = rights_of(rule->access) & handled;
	int fd = sys_openat2(AT_FDCWD, rule->path, O_PATH | O_CLOEXEC,
	    SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS);

	if (fd < 0 || fstat(fd, &st) != 0)
		return -1;
	if (!S_ISDIR(st.st_mode))
		rights &= FS_OF_FILES;
	int status = add_rule(ruleset, fd, rights);
	int saved = errno;
	close(fd);
	errno = saved;
	return status;
}

/* What the caller handed over as 0, 1, 2 may be opened again by its name in /dev, with the rights
 * that the descriptor has anyway. Pipes and sockets have no place that a rule could name (EBADFD)
 * and need none. */
static int
add_descriptor(int ruleset, int fd, uint64_t handled)
{
	struct stat st;
	uint64_t rights = FS_IOCTL_DEV;
	int mode = fcntl(fd, F_GETFL);

	if (mode < 0)
		return errno == EBADF ? 0 : -1;
	if ((mode & O_PATH) != 0 || fstat(fd, &st) != 0 || S_ISDIR(st.st_mode))
		return 0;
	if ((mode & O_ACCMODE) != O_WRONLY)
		rights |= FS_READ_FILE;
	if ((mode & O_ACCMODE) != O_RDONLY)
		rights |= FS_WRITE_FILE | FS_TRUNCATE;
	rights &= handled;
	if (add_rule(ruleset, fd, rights) != 0 && errno != EBADFD)
		return -1;
	return 0;
}

int
apply_landlock_prepare(struct apply *apply)
{
	const struct confinement *confinement = apply->confinement;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	if (abi < 0)
		return apply_fail(apply, CONFINE_STEP_LANDLOCK, "this kernel");
	uint64_t handled = handled_by(abi);
	bool has_no_tcp = abi >= 4 && (confinement->flags & CONFINE_NO_TCP) != 0;
	const struct ruleset_attr attr = { .handled_fs = handled,
		.handled_net = has_no_tcp ? NET_BIND_TCP | NET_CONNECT_TCP : 0,
		.scoped = abi >= 6 ? SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL : 0 };
	size_t size = abi >= 6   ? sizeof(attr)
		      : abi >= 4 ? offsetof(struct ruleset_attr, scoped)
				 : sizeof(attr.handled_fs);
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (ruleset < 0)
		return apply_fail(apply, CONFINE_STEP_LANDLOCK, "ruleset");
	for (size_t i = 0; i < confinement->rules_len; i++)
		if (add_path(ruleset, &confinement->rules[i], handled) != 0)
			return apply_fail(apply, CONFINE_STEP_LANDLOCK, confinement->rules[i].path);
	for (int fd = 0; fd < 3; fd++)
		if (add_descriptor(ruleset, fd, handled) != 0)
			return apply_fail(apply, CONFINE_STEP_LANDLOCK, "standard descriptors");
	apply->ruleset_fd = ruleset;
	return 0;
}

int
apply_landlock(struct apply *apply)
{
	if (syscall(SYS_landlock_restrict_self, apply->ruleset_fd, 0) != 0)
		return apply_fail(apply, CONFINE_STEP_LANDLOCK, "");
	close(apply->ruleset_fd);
	return 0;
}
