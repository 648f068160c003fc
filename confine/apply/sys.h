/*
 * Kernel interfaces newer than the C libraries that build us: numbers, constants and one-line
 * wrappers, written from the kernel's user API. The numbers from 424 on are the same on every
 * architecture.
 */
#ifndef HL_CONFINE_APPLY_SYS_H
#define HL_CONFINE_APPLY_SYS_H

#include <sys/syscall.h>
#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#ifndef SYS_open_tree
# define SYS_open_tree 428
#endif
#ifndef SYS_move_mount
# define SYS_move_mount 429
#endif
#ifndef SYS_fsopen
# define SYS_fsopen 430
#endif
#ifndef SYS_fsconfig
# define SYS_fsconfig 431
#endif
#ifndef SYS_fsmount
# define SYS_fsmount 432
#endif
#ifndef SYS_close_range
# define SYS_close_range 436
#endif
#ifndef SYS_openat2
# define SYS_openat2 437
#endif
#ifndef SYS_mount_setattr
# define SYS_mount_setattr 442
#endif
#ifndef SYS_landlock_create_ruleset
# define SYS_landlock_create_ruleset 444
# define SYS_landlock_add_rule       445
# define SYS_landlock_restrict_self  446
#endif

enum {
	SYS_AT_EMPTY_PATH = 0x1000,
	SYS_AT_RECURSIVE = 0x8000,
	SYS_OPEN_TREE_CLONE = 1,
	SYS_OPEN_TREE_CLOEXEC = 02000000,
	SYS_MOVE_F_EMPTY_PATH = 0x04,
	SYS_MOVE_T_EMPTY_PATH = 0x40,
	SYS_FSOPEN_CLOEXEC = 1,
	SYS_FSMOUNT_CLOEXEC = 1,
	SYS_FSCONFIG_SET_STRING = 1,
	SYS_FSCONFIG_CMD_CREATE = 6,
	SYS_MOUNT_RDONLY = 0x01,
	SYS_MOUNT_NOSUID = 0x02,
	SYS_MOUNT_NODEV = 0x04,
	SYS_MOUNT_NOEXEC = 0x08,
	SYS_RESOLVE_NO_MAGICLINKS = 0x02,
	SYS_RESOLVE_NO_SYMLINKS = 0x04,
	SYS_RESOLVE_BENEATH = 0x08,
	SYS_RESOLVE_IN_ROOT = 0x10,
};

struct sys_open_how {
	uint64_t flags, mode, resolve;
};

struct sys_mount_attr {
	uint64_t set, clear, propagation, userns_fd;
};

static inline int
sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t resolve)
{
	const struct sys_open_how how = { .flags = flags, .resolve = resolve };
	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

static inline int
sys_open_tree(int fd, unsigned recursive)
{
	return (int)syscall(SYS_open_tree, fd, "",
	    SYS_AT_EMPTY_PATH | SYS_OPEN_TREE_CLONE | SYS_OPEN_TREE_CLOEXEC | recursive);
}

static inline int
sys_move_mount(int tree, int dirfd, const char *path)
{
	return (int)syscall(SYS_move_mount, tree, "", dirfd, path,
	    SYS_MOVE_F_EMPTY_PATH | (path[0] == '\0' ? SYS_MOVE_T_EMPTY_PATH : 0));
}

static inline int
sys_mount_setattr_of(int fd, const struct sys_mount_attr *attr)
{
	return (int)syscall(SYS_mount_setattr, fd, "", SYS_AT_EMPTY_PATH, attr, sizeof(*attr));
}

static inline int
sys_mount_setattr(int fd, unsigned recursive, uint64_t set)
{
	const struct sys_mount_attr attr = { .set = set };
	return (int)syscall(SYS_mount_setattr, fd, "", SYS_AT_EMPTY_PATH | recursive, &attr,
	    sizeof(attr));
}

#endif
