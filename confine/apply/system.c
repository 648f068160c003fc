/*
 * A fresh /proc and a minimal /dev. Neither asks first whether a cover is needed: files of
 * /proc/sys check the user id and no capability, so a question by access(2) is answered wrongly for
 * root.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "confine/apply/apply.h"
#include "confine/apply/sys.h"

#include "base/banned.h"

enum {
	ATTR_READ_ONLY = SYS_MOUNT_RDONLY | SYS_MOUNT_NOSUID | SYS_MOUNT_NODEV | SYS_MOUNT_NOEXEC,
	ATTR_DEVICE = SYS_MOUNT_RDONLY | SYS_MOUNT_NOSUID | SYS_MOUNT_NOEXEC,
	PROC_MAGIC = 0x9fa0,
};

/* Settings of the whole kernel, readable by programs that look at them. */
static const char *const proc_read_only[] = { "sys", "sysrq-trigger", "irq", "bus", "fs" };

/* What tells about the kernel or the host and about nothing that a command needs. */
static const char *const proc_masked[] = { "acpi", "asound", "kallsyms", "kcore", "keys",
	"key-users", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats",
	"sched_debug", "scsi", "timer_list", "timer_stats" };

/* A name that this kernel does not have needs no cover. */
static int
cover_in(const struct apply *apply, int proc, const char *name, bool is_masked)
{
	struct stat st;
	int place = openat(proc, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);

	if (place < 0)
		return errno == ENOENT ? 0 : -1;
	if (is_masked && fstat(place, &st) != 0)
		return -1;
	int from = is_masked ? apply->mask_fd[S_ISDIR(st.st_mode) ? 1 : 0] : place;
	int status = apply_cover(from, place, ATTR_READ_ONLY);
	int saved = errno;
	close(place);
	errno = saved;
	return status;
}

static int
cover_proc(struct apply *apply, int proc)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(proc_read_only); i++)
		if (cover_in(apply, proc, proc_read_only[i], false) != 0)
			return apply_fail(apply, CONFINE_STEP_PROC, proc_read_only[i]);
	for (size_t i = 0; i < HL_ARRAY_SIZE(proc_masked); i++)
		if (cover_in(apply, proc, proc_masked[i], true) != 0)
			return apply_fail(apply, CONFINE_STEP_PROC, proc_masked[i]);
	return 0;
}

/* Over the directory place. What is there is looked at from base, by name. */
static int
mount_proc(struct apply *apply, int place, bool is_subset)
{
	if (fchdir(place) == 0 && mount("proc", ".", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
				      is_subset ? "subset=pid,hidepid=invisible" : NULL) == 0)
		return 0;
	/* The kernel lets an unprivileged user namespace mount proc only where a fully visible one
	 * exists; in a container whose engine masks parts of /proc none does. */
	return apply_fail(apply, CONFINE_STEP_PROC,
	    errno == EPERM ? "/proc (an outer container masks parts of its own /proc)" : "/proc");
}

int
apply_check_proc(int fd)
{
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) != 0)
		return -1;
	if (fs.f_type == PROC_MAGIC)
		return 0;
	errno = ESTALE;
	return -1;
}

static int
finish_proc(struct apply *apply, int proc, bool is_subset)
{
	if (apply_check_proc(proc) != 0)
		return apply_fail(apply, CONFINE_STEP_PROC, "/proc");
	return is_subset ? 0 : cover_proc(apply, proc);
}

int
apply_proc(struct apply *apply, size_t n)
{
	const struct confine_op *op = &apply->confinement->ops[n];
	bool is_subset = (op->flags & CONFINE_OP_SUBSET) != 0;

	if (apply->uses_early_proc)
		return 0;
	int place = apply_place(apply, n, false, 0755);
	if (place < 0 || mount_proc(apply, place, is_subset) != 0)
		return -1;
	close(place);
	int proc = apply_place_open(apply, op->dst);
	if (finish_proc(apply, proc, is_subset) != 0)
		return -1;
	close(proc);
	return 0;
}

/* A directory of the base, made now. */
static int
open_in_base(const struct apply *apply, const char *name)
{
	return openat(apply->base_fd, name, O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
}

int
apply_proc_early(struct apply *apply)
{
	if (mkdirat(apply->base_fd, "proc", 0755) != 0)
		return apply_fail(apply, CONFINE_STEP_PROC, "/proc");
	int place = open_in_base(apply, "proc");
	if (place < 0 || mount_proc(apply, place, false) != 0)
		return -1;
	close(place);
	int proc = open_in_base(apply, "proc");
	if (finish_proc(apply, proc, false) != 0)
		return -1;
	close(proc);
	return 0;
}

struct device {
	const char *path, *name;
	unsigned major, minor;
};

static const struct device devices[] = {
	{ "/dev/null", "null", 1, 3 },
	{ "/dev/zero", "zero", 1, 5 },
	{ "/dev/full", "full", 1, 7 },
	{ "/dev/random", "random", 1, 8 },
	{ "/dev/urandom", "urandom", 1, 9 },
	{ "/dev/tty", "tty", 5, 0 },
};

static const char *const links[][2] = {
	{ "pts/ptmx", "ptmx" },
	{ "/proc/self/fd", "fd" },
	{ "/proc/self/fd/0", "stdin" },
	{ "/proc/self/fd/1", "stdout" },
	{ "/proc/self/fd/2", "stderr" },
};

/* The host's node, if it is what its name says: a planted /dev/null would be the sink of every mask
 * and the source of every read. */
static int
bind_device(int dev, const struct device *device)
{
	struct stat st;
	int source = sys_openat2(AT_FDCWD, device->path, O_PATH | O_CLOEXEC,
	    SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS);

	if (source < 0 || fstat(source, &st) != 0)
		return -1;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(device->major, device->minor)) {
		errno = ENODEV;
		return -1;
	}
	int tree = sys_open_tree(source, 0);
	if (tree < 0 || sys_mount_setattr(tree, 0, ATTR_DEVICE) != 0 ||
	    mknodat(dev, device->name, S_IFREG, 0) != 0 ||
	    sys_move_mount(tree, dev, device->name) != 0)
		return -1;
	close(tree);
	close(source);
	return 0;
}

static int
enter(int dirfd, const char *name, mode_t mode)
{
	if (mkdirat(dirfd, name, mode) != 0)
		return -1;
	int fd = openat(dirfd, name, O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
	if (fd < 0)
		return -1;
	int status = fchdir(fd);
	close(fd);
	return status;
}

static int
mount_dev(struct apply *apply, int place)
{
	if (fchdir(place) == 0 && mount("tmpfs", ".", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
				      "mode=755,size=64k") == 0)
		return 0;
	return apply_fail(apply, CONFINE_STEP_DEV, "/dev");
}

static int
fill_dev(struct apply *apply, int dev)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(devices); i++)
		if (bind_device(dev, &devices[i]) != 0)
			return apply_fail(apply, CONFINE_STEP_DEV, devices[i].path);
	for (size_t i = 0; i < HL_ARRAY_SIZE(links); i++)
		if (symlinkat(links[i][0], dev, links[i][1]) != 0)
			return apply_fail(apply, CONFINE_STEP_DEV, links[i][1]);
	if (enter(dev, "pts", 0755) != 0 || mount("devpts", ".", "devpts", MS_NOSUID | MS_NOEXEC,
						"newinstance,ptmxmode=0666,mode=0620") != 0)
		return apply_fail(apply, CONFINE_STEP_DEV, "pts");
	if (mkdirat(dev, "shm", 01777) != 0)
		return apply_fail(apply, CONFINE_STEP_DEV, "shm");
	return 0;
}

/* Size and owner are the policy's. */
static int
mount_shm(struct apply *apply, int dev, const struct confine_op *op)
{
	const struct confine_op shm = { .mode = 01777,
		.size = op->size,
		.flags = CONFINE_OP_NOEXEC };
	int fd = openat(dev, "shm", O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);

	if (fd < 0 || apply_tmpfs_over(fd, &shm, apply->confinement) != 0)
		return apply_fail(apply, CONFINE_STEP_DEV, "shm");
	close(fd);
	return 0;
}

int
apply_dev(struct apply *apply, size_t n)
{
	const struct confine_op *op = &apply->confinement->ops[n];

	if (!apply->uses_early_dev) {
		int place = apply_place(apply, n, false, 0755);
		if (place < 0 || mount_dev(apply, place) != 0)
			return -1;
		close(place);
	}
	int dev = apply_place_open(apply, op->dst);
	if (dev < 0)
		return apply_fail(apply, CONFINE_STEP_DEV, op->dst);
	if ((!apply->uses_early_dev && fill_dev(apply, dev) != 0) || mount_shm(apply, dev, op) != 0)
		return -1;
	close(dev);
	return 0;
}

int
apply_dev_early(struct apply *apply)
{
	if (mkdirat(apply->base_fd, "dev", 0755) != 0)
		return apply_fail(apply, CONFINE_STEP_DEV, "/dev");
	int place = open_in_base(apply, "dev");
	if (place < 0 || mount_dev(apply, place) != 0)
		return -1;
	close(place);
	int dev = open_in_base(apply, "dev");
	if (dev < 0)
		return apply_fail(apply, CONFINE_STEP_DEV, "/dev");
	if (fill_dev(apply, dev) != 0)
		return -1;
	close(dev);
	return 0;
}
