/*
 * Places under the new root. A directory that is bound from outside may hold symbolic links that
 * its owner chose; if a mount followed one, it would land elsewhere. So every path here is walked
 * from the new root's descriptor with RESOLVE_NO_SYMLINKS (openat2(2), Linux 5.6), and mount points
 * are made only in file systems of ours, and in a bind that says so. With no links on the way the
 * text of a path decides which mount it is in, so "ours" is a question to the list of operations.
 */
#include <sys/mount.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "confine/apply/apply.h"
#include "confine/apply/sys.h"

#include "base/banned.h"

bool
apply_is_beneath(const char *path, const char *parent)
{
	size_t len = strlen(parent);

	if (len == 1)
		return true;
	return strncmp(path, parent, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

const struct confine_op *
apply_governing(const struct confinement *confinement, size_t n, const char *path)
{
	const struct confine_op *found = NULL;
	size_t depth = 0;

	for (size_t i = 0; i < n; i++) {
		const struct confine_op *op = &confinement->ops[i];
		if (op->kind == CONFINE_OP_DIR || op->kind == CONFINE_OP_SYMLINK)
			continue;
		size_t len = strlen(op->dst);
		if (len >= depth && apply_is_beneath(path, op->dst)) {
			found = op;
			depth = len;
		}
	}
	return found;
}

/* May something be made at path, which op number n asks for? */
static bool
is_ours(const struct apply *apply, size_t n, const char *path)
{
	const struct confine_op *op = apply_governing(apply->confinement, n, path);

	return op == NULL || op->kind == CONFINE_OP_TMPFS || op->kind == CONFINE_OP_DEV ||
	       (op->flags & CONFINE_OP_PLACES) != 0;
}

int
apply_place_open(struct apply *apply, const char *dst)
{
	return sys_openat2(apply->root_fd, dst, O_PATH | O_CLOEXEC,
	    SYS_RESOLVE_IN_ROOT | SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS);
}

/* One component below dirfd; made when it is missing and may_make. mode 0: an empty file. */
static int
step_into(int dirfd, const char *name, bool may_make, mode_t mode)
{
	const uint64_t resolve = SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS;
	int fd = sys_openat2(dirfd, name, O_PATH | O_CLOEXEC, resolve);

	if (fd >= 0 || errno != ENOENT || !may_make)
		return fd;
	if ((mode == 0 ? mknodat(dirfd, name, S_IFREG, 0) : mkdirat(dirfd, name, mode)) != 0)
		return -1;
	return sys_openat2(dirfd, name, O_PATH | O_CLOEXEC, resolve);
}

/* Walks from the root to path component by component and makes what is missing. */
static int
make_path(struct apply *apply, size_t n, const char *path, mode_t mode)
{
	char part[4096];
	int dirfd = apply->root_fd;
	size_t len = strlen(path), start = 1;

	if (len >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(part, path, len + 1);
	while (start < len) {
		size_t end = start;
		while (part[end] != '/' && part[end] != '\0')
			end++;
		bool is_last = part[end] == '\0';
		part[end] = '\0';
		int next =
		    step_into(dirfd, part + start, is_ours(apply, n, part), is_last ? mode : 0755);
		int saved = errno;
		if (dirfd != apply->root_fd)
			close(dirfd);
		errno = saved;
		if (next < 0)
			return -1;
		part[end] = '/';
		dirfd = next;
		start = end + 1;
	}
	return dirfd;
}

int
apply_place(struct apply *apply, size_t n, bool is_file, mode_t mode)
{
	const char *dst = apply->confinement->ops[n].dst;
	/* Most places are new names in the new root itself: made without asking first. */
	bool is_top = strchr(dst + 1, '/') == NULL && dst[1] != '\0' && !is_file &&
		      apply_governing(apply->confinement, n, dst) == NULL;
	if (is_top && mkdirat(apply->root_fd, dst + 1, mode) != 0 && errno != EEXIST)
		return apply_fail(apply, CONFINE_STEP_PLACE, dst);
	int fd = apply_place_open(apply, dst);

	if (fd < 0 && errno == ENOENT)
		fd = make_path(apply, n, dst, is_file ? 0 : mode);
	return fd >= 0 ? fd : apply_fail(apply, CONFINE_STEP_PLACE, dst);
}

int
apply_place_parent(struct apply *apply, size_t n, const char **ret_name)
{
	const char *dst = apply->confinement->ops[n].dst;
	const char *name = strrchr(dst, '/') + 1;
	size_t len = (size_t)(name - dst);
	char parent[4096];

	if (len >= sizeof(parent)) {
		errno = ENAMETOOLONG;
		return apply_fail(apply, CONFINE_STEP_PLACE, dst);
	}
	memcpy(parent, dst, len);
	parent[len > 1 ? len - 1 : len] = '\0';
	if (!is_ours(apply, n, parent)) {
		errno = EROFS;
		return apply_fail(apply, CONFINE_STEP_PLACE, dst);
	}
	int fd = apply_place_open(apply, parent);
	if (fd < 0 && errno == ENOENT)
		fd = make_path(apply, n, parent, 0755);
	if (fd < 0)
		return apply_fail(apply, CONFINE_STEP_PLACE, dst);
	*ret_name = name;
	return fd;
}

int
apply_cover(int from, int over, uint64_t attributes)
{
	int tree = sys_open_tree(from, 0);

	if (tree < 0)
		return -1;
	int status = sys_mount_setattr(tree, 0, attributes);
	if (status == 0)
		status = sys_move_mount(tree, over, "");
	int saved = errno;
	close(tree);
	errno = saved;
	return status;
}

/* ",name=number" without stdio: its pages would be touched at every start. Returns the end. */
static char *
put_option(char *at, const char *name, uint64_t number, unsigned base)
{
	char digits[24];
	size_t n = 0, len = strlen(name);

	memcpy(at, name, len);
	at += len;
	do {
		digits[n++] = (char)('0' + (char)(number % base));
		number /= base;
	} while (number > 0);
	while (n > 0)
		*at++ = digits[--n];
	*at = '\0';
	return at;
}

int
apply_tmpfs_over(int fd, const struct confine_op *op, const struct confinement *confinement)
{
	enum {
		BYTES_PER_INODE = 1024,
		INODES_MIN = 1024
	};
	char options[192];
	unsigned long flags = MS_NOSUID | MS_NODEV;
	char *end = put_option(options, "mode=", op->mode != 0 ? op->mode : 0755, 8);

	/* Names and inodes are memory that the size does not count, and by default there may be as
	 * many as fit into half of the machine (tmpfs(5)): what is small has few. */
	if (op->size > 0) {
		uint64_t inodes = op->size / BYTES_PER_INODE;
		end = put_option(end, ",size=", op->size, 10);
		end = put_option(end, ",nr_inodes=", inodes > INODES_MIN ? inodes : INODES_MIN, 10);
	}
	if ((confinement->flags & CONFINE_IDENTITY) != 0) {
		end = put_option(end, ",uid=", confinement->uid, 10);
		put_option(end, ",gid=", confinement->gid, 10);
	}
	if ((op->flags & CONFINE_OP_NOEXEC) != 0)
		flags |= MS_NOEXEC;
	if (fchdir(fd) != 0)
		return -1;
	return mount("tmpfs", ".", "tmpfs", flags, options);
}
