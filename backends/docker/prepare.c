/*
 * What must be on this host before a container is made: the runner where we carry it, the seccomp
 * profile under the name that explain prints, the empty file and directory that cover denied paths,
 * and sources of mounts and devices that still are what they were when the plan was made.
 */
#include "backends/docker/prepare.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/settings.h"

#include "base/banned.h"

enum {
	PROFILE_MAX = 256 * 1024
};

/* Readable with exactly this content. */
static bool
has_content(const char *path, const char *content, size_t len, mode_t mode)
{
	struct stat st;
	struct hl_err ignored = { 0 };
	struct hl_buf found;
	int fd HL_AUTO_FD = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) != 0 || (st.st_mode & 07777) != mode)
		return false;
	hl_buf_init(&found, PROFILE_MAX);
	bool is_same = hl_read_file(fd, &found, path, HLB_57, &ignored) == 0 && found.len == len &&
		       memcmp(found.data, content, len) == 0;
	hl_buf_done(&found);
	return is_same;
}

int
docker_write_file(const char *path, const char *content, size_t len, mode_t mode,
    struct hl_err *err)
{
	char *temporary HL_AUTO_FREE = NULL;
	char ulid[HL_ULID_SIZE];

	if (has_content(path, content, len, mode))
		return 0;
	if (hl_ulid(ulid, err) < 0)
		return -1;
	if (asprintf(&temporary, "%s.%s", path, ulid) < 0) {
		temporary = NULL;
		return hl_err_oom(err);
	}
	int fd HL_AUTO_FD =
	    open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return hl_err_sys(err, HLB_57, "cannot make '%s'", temporary);
	/* One that is open for writing cannot be executed (ETXTBSY), hence the end before the name.
	 */
	bool is_written = hl_write_full(fd, content, len) == 0 && fchmod(fd, mode) == 0;
	if (!is_written || close(hl_take_fd(&fd)) != 0 || rename(temporary, path) < 0) {
		hl_err_sys(err, HLB_57, "cannot write '%s'", path);
		(void)unlink(temporary);
		return -1;
	}
	return 0;
}

int
docker_make_dir(const struct plan *plan, const char *name, struct hl_err *err)
{
	char *path HL_AUTO_FREE = NULL;

	if (asprintf(&path, "%s/%s", plan->state_dir, name) < 0) {
		path = NULL;
		return hl_err_oom(err);
	}
	return hl_mkdirs(path, 0700, err);
}

static int
write_seccomp(const struct plan *plan, struct hl_err *err)
{
	char *json HL_AUTO_FREE = NULL;

	if (docker_seccomp_json(plan, &json, err) != 0)
		return -1;
	if (json == NULL)
		return 0;
	char *path HL_AUTO_FREE = docker_seccomp_path(plan, json);
	if (path == NULL)
		return hl_err_oom(err);
	if (docker_make_dir(plan, "seccomp", err) < 0)
		return -1;
	return docker_write_file(path, json, strlen(json), 0600, err);
}

/* The engine mounts it for users that are not us. */
static int
write_runner(const struct plan *plan, struct hl_err *err)
{
	size_t len;
	const char *image = runner_image(&len);

	if (plan->runner_path != NULL)
		return 0;
	char *path HL_AUTO_FREE = docker_runner_path(plan);
	if (path == NULL)
		return hl_err_oom(err);
	if (docker_make_dir(plan, "runner", err) < 0)
		return -1;
	return docker_write_file(path, image, len, 0755, err);
}

static bool
is_empty_dir(const char *path)
{
	DIR *dir HL_AUTO_DIR = opendir(path);
	const struct dirent *entry;
	bool is_empty = dir != NULL;
	int more = 0;

	while (is_empty && (more = hl_dir_next(dir, &entry)) > 0)
		is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	return is_empty && more == 0;
}

/* Nothing can be read through a cover, nor written: it is mounted read-only. */
static int
make_covers(const struct plan *plan, struct hl_err *err)
{
	char *file HL_AUTO_FREE = docker_empty_path(plan, true);
	char *dir HL_AUTO_FREE = docker_empty_path(plan, false);

	if (file == NULL || dir == NULL)
		return hl_err_oom(err);
	if (docker_make_dir(plan, "empty", err) < 0)
		return -1;
	int fd HL_AUTO_FD = open(file, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0444);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return hl_err_sys(err, HLB_57, "cannot make '%s'", file);
	if (!S_ISREG(st.st_mode) || st.st_size != 0)
		return hl_err_set(err, HLB_57, "'%s' is not an empty file", file);
	if (mkdir(dir, 0555) < 0 && errno != EEXIST)
		return hl_err_sys(err, HLB_57, "cannot make '%s'", dir);
	if (!is_empty_dir(dir))
		return hl_err_set(err, HLB_57, "'%s' is not an empty directory", dir);
	return 0;
}

static int
check_source(const char *path, uint64_t dev, uint64_t ino, struct hl_err *err)
{
	struct stat st;

	/* The name was resolved: a symbolic link in its last place is new. */
	if (lstat(path, &st) < 0)
		return hl_err_sys(err, HLB_57, "cannot look at the source '%s'", path);
	if ((uint64_t)st.st_dev != dev || (uint64_t)st.st_ino != ino)
		return hl_err_set(err, HLB_57,
		    "the source '%s' was replaced since the plan was made", path);
	return 0;
}

/* An inode number can be given again, to another device; and whoever may make names in /dev may put
 * a directory there, of which an engine takes every device. */
static int
check_device(const struct plan_device *device, struct hl_err *err)
{
	struct stat st;

	if (lstat(device->src, &st) < 0)
		return hl_err_sys(err, HLB_57, "cannot look at the device '%s'", device->src);
	if ((uint64_t)st.st_dev != device->dev || (uint64_t)st.st_ino != device->ino ||
	    (uint64_t)st.st_rdev != device->rdev || (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode)))
		return hl_err_set(err, HLB_57,
		    "the device '%s' was replaced since the plan was made", device->src);
	return 0;
}

int
docker_prepare(const struct plan *plan, struct hl_err *err)
{
	for (size_t i = 0; i < plan->mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		if (check_source(mount->src, mount->dev, mount->ino, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < plan->devices_len; i++) {
		if (check_device(&plan->devices[i], err) < 0)
			return -1;
	}
	if (plan->home.kind != PLAN_HOME_TMPFS &&
	    check_source(plan->home.src, plan->home.dev, plan->home.ino, err) < 0)
		return -1;
	if (plan->deny.len > 0 && make_covers(plan, err) < 0)
		return -1;
	if (write_runner(plan, err) < 0)
		return -1;
	return write_seccomp(plan, err);
}
