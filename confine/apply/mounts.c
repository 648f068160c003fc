/*
 * The new root: a list of operations carried out in order, by descriptor. Attributes of a bind are
 * set on the detached clone before it is attached, recursively, so that no moment exists in which a
 * part of it is writable.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "confine/apply/apply.h"
#include "confine/apply/sys.h"

#include "base/banned.h"

enum {
	ATTR_ALWAYS = SYS_MOUNT_NOSUID | SYS_MOUNT_NODEV,
	ATTR_MASK = ATTR_ALWAYS | SYS_MOUNT_NOEXEC | SYS_MOUNT_RDONLY,
};

static const char mask_file[] = ".masked-file";
static const char mask_dir[] = ".masked-directory";

int
apply_private(struct apply *apply)
{
	if ((apply->early->flags & CONFINE_EARLY_ROOT) != 0)
		return 0;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return apply_fail(apply, CONFINE_STEP_PRIVATE, "/");
	return 0;
}

static int
new_tmpfs(void)
{
	int fs = (int)syscall(SYS_fsopen, "tmpfs", SYS_FSOPEN_CLOEXEC);

	if (fs < 0)
		return -1;
	int fd = -1;
	if (syscall(SYS_fsconfig, fs, SYS_FSCONFIG_SET_STRING, "mode", "755", 0) == 0 &&
	    syscall(SYS_fsconfig, fs, SYS_FSCONFIG_SET_STRING, "size", "1m", 0) == 0 &&
	    syscall(SYS_fsconfig, fs, SYS_FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = (int)syscall(SYS_fsmount, fs, SYS_FSMOUNT_CLOEXEC,
		    ATTR_ALWAYS | SYS_MOUNT_NOEXEC);
	int saved = errno;
	close(fs);
	errno = saved;
	return fd;
}

/* The file and the directory that masks are clones of. Their names are removed in the end. */
static int
make_masks(struct apply *apply)
{
	int base = apply->base_fd;

	if (mknodat(base, mask_file, S_IFREG, 0) != 0 || mkdirat(base, mask_dir, 0555) != 0)
		return -1;
	apply->mask_fd[0] = openat(base, mask_file, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	apply->mask_fd[1] = openat(base, mask_dir, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	return apply->mask_fd[0] >= 0 && apply->mask_fd[1] >= 0 ? 0 : -1;
}

int
apply_root(struct apply *apply)
{
	umask(0);
	if ((apply->early->flags & CONFINE_EARLY_ROOT) != 0) {
		apply->root_fd = apply->base_fd;
		return 0;
	}
	apply->base_fd = new_tmpfs();
	if (apply->base_fd < 0 || sys_move_mount(apply->base_fd, AT_FDCWD, "/") != 0 ||
	    make_masks(apply) != 0)
		return apply_fail(apply, CONFINE_STEP_ROOT, "tmpfs");
	apply->root_fd = apply->base_fd;
	return 0;
}

static int
op_dir(struct apply *apply, size_t n)
{
	int fd = apply_place(apply, n, false, apply->confinement->ops[n].mode);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int
op_symlink(struct apply *apply, size_t n)
{
	const struct confine_op *op = &apply->confinement->ops[n];
	const char *name;
	int dirfd = apply_place_parent(apply, n, &name);

	if (dirfd < 0)
		return -1;
	if (symlinkat(op->src, dirfd, name) != 0)
		return apply_fail(apply, CONFINE_STEP_PLACE, op->dst);
	close(dirfd);
	return 0;
}

/* The source by the name that the host resolved, when it is still what the host saw. */
static int
open_source(struct apply *apply, const struct confine_op *op)
{
	struct stat st;
	int fd = sys_openat2(AT_FDCWD, op->src, O_PATH | O_CLOEXEC,
	    SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS);

	if (fd < 0 || fstat(fd, &st) != 0)
		return apply_fail(apply, CONFINE_STEP_SOURCE, op->src);
	bool is_file = (op->flags & CONFINE_OP_FILE) != 0;
	bool is_same =
	    st.st_dev == op->dev && st.st_ino == op->ino && S_ISDIR(st.st_mode) != is_file;
	/* An inode number can be given again, to another device. */
	if ((op->flags & CONFINE_OP_DEVICE) != 0)
		is_same = is_same && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) &&
			  st.st_rdev == op->size;
	if (!is_same) {
		errno = ESTALE;
		return apply_fail(apply, CONFINE_STEP_SOURCE, op->src);
	}
	return fd;
}

/* A clone of the whole of "/" would have the base on top of it, since that lies over "/": for the
 * moment of cloning it is made unbindable, which leaves it out. */
static int
clone_source(const struct apply *apply, int source, const char *src, unsigned recursive)
{
	struct sys_mount_attr attr = { .propagation = MS_UNBINDABLE };

	if (src[1] != '\0' || recursive == 0)
		return sys_open_tree(source, recursive);
	if (sys_mount_setattr_of(apply->base_fd, &attr) != 0)
		return -1;
	int tree = sys_open_tree(source, recursive);
	attr.propagation = MS_PRIVATE;
	if (tree < 0 || sys_mount_setattr_of(apply->base_fd, &attr) == 0)
		return tree;
	return -1;
}

static int
op_bind(struct apply *apply, size_t n)
{
	const struct confine_op *op = &apply->confinement->ops[n];
	unsigned recursive = (op->flags & CONFINE_OP_RECURSIVE) != 0 ? SYS_AT_RECURSIVE : 0;
	uint64_t attributes = ATTR_ALWAYS;
	int source = open_source(apply, op);

	if (source < 0)
		return -1;
	if ((op->flags & CONFINE_OP_RDONLY) != 0)
		attributes |= SYS_MOUNT_RDONLY;
	if ((op->flags & CONFINE_OP_NOEXEC) != 0)
		attributes |= SYS_MOUNT_NOEXEC;
	/* A file system of the host that has no devices stays so: that is not taken away. */
	if ((op->flags & CONFINE_OP_DEVICE) != 0)
		attributes &= ~(uint64_t)SYS_MOUNT_NODEV;
	int tree = clone_source(apply, source, op->src, recursive);
	if (tree < 0)
		return apply_fail(apply, CONFINE_STEP_BIND, op->src);
	close(source);
	if (sys_mount_setattr(tree, recursive, attributes) != 0)
		return apply_fail(apply, CONFINE_STEP_READ_ONLY, op->dst);
	int place = apply_place(apply, n, (op->flags & CONFINE_OP_FILE) != 0, 0755);
	if (place < 0)
		return -1;
	if (sys_move_mount(tree, place, "") != 0)
		return apply_fail(apply, CONFINE_STEP_BIND, op->dst);
	close(place);
	if (op->dst[1] == '\0')
		apply->root_fd = tree;
	else
		close(tree);
	return 0;
}

static int
op_tmpfs(struct apply *apply, size_t n)
{
	const struct confine_op *op = &apply->confinement->ops[n];
	int place = apply_place(apply, n, false, 0755);

	if (place < 0)
		return -1;
	if (apply_tmpfs_over(place, op, apply->confinement) != 0)
		return apply_fail(apply, CONFINE_STEP_TMPFS, op->dst);
	close(place);
	return 0;
}

static int
op_mask(struct apply *apply, size_t n)
{
	const struct confine_op *op = &apply->confinement->ops[n];
	struct stat st;
	int place = apply_place_open(apply, op->dst);

	if (place < 0 && errno == ENOENT && (op->flags & CONFINE_OP_OPTIONAL) != 0)
		return 0;
	if (place < 0 || fstat(place, &st) != 0)
		return apply_fail(apply, CONFINE_STEP_MASK, op->dst);
	if (apply_cover(apply->mask_fd[S_ISDIR(st.st_mode) ? 1 : 0], place, ATTR_MASK) != 0)
		return apply_fail(apply, CONFINE_STEP_MASK, op->dst);
	close(place);
	return 0;
}

static int (*const handlers[CONFINE_OP_MAX])(struct apply *apply, size_t n) = {
	[CONFINE_OP_DIR] = op_dir,
	[CONFINE_OP_SYMLINK] = op_symlink,
	[CONFINE_OP_BIND] = op_bind,
	[CONFINE_OP_TMPFS] = op_tmpfs,
	[CONFINE_OP_PROC] = apply_proc,
	[CONFINE_OP_DEV] = apply_dev,
	[CONFINE_OP_MASK] = op_mask,
};

int
apply_ops(struct apply *apply)
{
	for (size_t n = 0; n < apply->confinement->ops_len; n++)
		if (handlers[apply->confinement->ops[n].kind](apply, n) != 0)
			return -1;
	return 0;
}

/* What later operations needed writable: our own file systems. */
int
apply_read_only(struct apply *apply)
{
	const struct confinement *confinement = apply->confinement;

	for (size_t n = 0; n < confinement->ops_len; n++) {
		const struct confine_op *op = &confinement->ops[n];
		if (op->kind != CONFINE_OP_DEV &&
		    (op->kind != CONFINE_OP_TMPFS || (op->flags & CONFINE_OP_RDONLY) == 0))
			continue;
		int fd = apply_place_open(apply, op->dst);
		if (fd < 0 || sys_mount_setattr(fd, 0, SYS_MOUNT_RDONLY) != 0)
			return apply_fail(apply, CONFINE_STEP_READ_ONLY, op->dst);
		close(fd);
	}
	if (unlinkat(apply->base_fd, mask_file, 0) != 0 ||
	    unlinkat(apply->base_fd, mask_dir, AT_REMOVEDIR) != 0 ||
	    sys_mount_setattr(apply->base_fd, 0, SYS_MOUNT_RDONLY) != 0)
		return apply_fail(apply, CONFINE_STEP_READ_ONLY, "/");
	return 0;
}

int
apply_pivot(struct apply *apply)
{
	/* pivot_root(2): with "." twice the old root is laid over the new one and then let go. */
	if (fchdir(apply->root_fd) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 ||
	    umount2(".", MNT_DETACH) != 0)
		return apply_fail(apply, CONFINE_STEP_PIVOT, "/");
	/* Where the root is a bind, the base lies between it and the old root, and went up with
	 * that. */
	if (apply->root_fd != apply->base_fd && umount2(".", MNT_DETACH) != 0)
		return apply_fail(apply, CONFINE_STEP_PIVOT, "base");
	if (chdir("/") != 0)
		return apply_fail(apply, CONFINE_STEP_PIVOT, "/");
	return 0;
}
