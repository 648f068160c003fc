/*
 * Where the log is. Whoever can put a link or a directory of his own in its place owns the log, so
 * a writer looks at what it has opened, not at what it has named: no link at the end, our own,
 * nobody else's to write, and on a file system where locks and fsync mean something.
 */
#include <sys/stat.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

/* Where flock(2) is local to a client, or a flush ends in somebody's user space. Numbers that
 * linux/magic.h lacks are those of statfs(2) and of the file systems' own sources. */
static const struct {
	uint32_t magic;
	const char *name;
} refused_systems[] = {
	{ NFS_SUPER_MAGIC, "NFS" },
	{ 0xff534d42, "CIFS" },
	{ 0xfe534d42, "SMB2" },
	{ SMB_SUPER_MAGIC, "SMB" },
	{ 0x65735546, "FUSE" },
	{ V9FS_MAGIC, "9p" },
	{ AFS_SUPER_MAGIC, "AFS" },
	{ 0x00c36400, "Ceph" },
	{ CODA_SUPER_MAGIC, "Coda" },
	{ 0x0bd00bd0, "Lustre" },
};

int
audit_place_check_owner(int fd, const char *what, struct hl_err *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return hl_err_sys(err, HLA_01, "cannot look at '%s'", what);
	if (st.st_uid != geteuid())
		return hl_err_set(err, HLA_02, "'%s' belongs to user %u, not to user %u", what,
		    st.st_uid, geteuid());
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		hl_err_set(err, HLA_02, "'%s' is writable by others (mode %04o)", what,
		    st.st_mode & 07777U);
		return hl_err_help(err, "chmod go-w '%s'", what);
	}
	return 0;
}

static int
check_system(int fd, const char *what, struct hl_err *err)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return hl_err_sys(err, HLA_01, "cannot look at the file system of '%s'", what);
	for (size_t i = 0; i < HL_ARRAY_SIZE(refused_systems); i++)
		if ((uint32_t)fs.f_type == refused_systems[i].magic)
			return hl_err_set(err, HLA_03, "'%s' is on %s", what,
			    refused_systems[i].name);
	return 0;
}

/* Fills err for a directory that could not be opened. */
static int
not_opened(const char *what, struct hl_err *err)
{
	if (errno == ENOENT)
		return hl_err_sys(err, HLA_07, "no audit log in '%s'", what);
	if (errno == ELOOP || errno == ENOTDIR)
		return hl_err_sys(err, HLA_02, "'%s' is not a directory", what);
	return hl_err_sys(err, HLA_01, "cannot open '%s'", what);
}

static int
open_dir(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int
create_state_dir(const char *path, struct hl_err *err)
{
	char *normal HL_AUTO_FREE = hl_path_normalise("/", path);

	if (normal == NULL)
		return hl_err_oom(err);
	if (path[0] != '/')
		return hl_err_set(err, HLU_01, "state directory '%s' is not an absolute path",
		    path);
	if (hl_mkdirs(normal, 0700, err) != 0) {
		err->code = audit_is_no_space(err->sys_errno) ? HLA_06 : HLA_01;
		return -1;
	}
	return 0;
}

static int
open_state(const char *path, bool may_create, struct hl_err *err)
{
	int fd = open_dir(AT_FDCWD, path);

	if (fd < 0 && errno == ENOENT && may_create) {
		if (create_state_dir(path, err) != 0)
			return -1;
		fd = open_dir(AT_FDCWD, path);
	}
	return fd >= 0 ? fd : not_opened(path, err);
}

/* $STATE/audit, made when missing. */
static int
open_audit(int state, const char *path, struct hl_err *err)
{
	int fd = open_dir(state, "audit");

	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(state, "audit", 0700) != 0 && errno != EEXIST)
			return hl_err_sys(err, audit_is_no_space(errno) ? HLA_06 : HLA_01,
			    "cannot create directory 'audit' in '%s'", path);
		if (fsync(state) != 0)
			return hl_err_sys(err, HLA_01, "cannot flush '%s' to its disk", path);
		fd = open_dir(state, "audit");
	}
	return fd >= 0 ? fd : not_opened(path, err);
}

int
audit_place_open_audit(const char *state_dir, bool may_create, struct hl_err *err)
{
	int HL_AUTO_FD state = open_state(state_dir, may_create, err);

	if (state < 0 || audit_place_check_owner(state, state_dir, err) != 0 ||
	    check_system(state, state_dir, err) != 0)
		return -1;
	int HL_AUTO_FD fd =
	    may_create ? open_audit(state, state_dir, err) : open_dir(state, "audit");
	if (fd < 0)
		return may_create ? -1 : not_opened(state_dir, err);
	if (audit_place_check_owner(fd, "audit", err) != 0 || check_system(fd, "audit", err) != 0)
		return hl_err_wrap(err, "%s", state_dir);
	return hl_take_fd(&fd);
}

int
audit_place_open_audit_for_reading(const char *state_dir, struct hl_err *err)
{
	int HL_AUTO_FD state = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (state < 0)
		return not_opened(state_dir, err);
	int fd = open_dir(state, "audit");
	return fd >= 0 ? fd : not_opened(state_dir, err);
}

static int
each_name(int dir_fd, void (*see)(const char *name, void *context), void *context,
    struct hl_err *err)
{
	/* A description of its own: reading moves the position. */
	int HL_AUTO_FD fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return hl_err_sys(err, HLA_01, "cannot open the directory of the audit log");
	DIR *dir HL_AUTO_DIR = fdopendir(fd);
	if (dir == NULL)
		return hl_err_sys(err, HLA_01, "cannot read the directory of the audit log");
	hl_take_fd(&fd);
	const struct dirent *entry;
	int more;
	while ((more = hl_dir_next(dir, &entry)) > 0)
		see(entry->d_name, context);
	return more == 0 ? 0 : hl_err_sys(err, HLA_01, "cannot read the audit log's directory");
}

static bool
is_ulid(const char *name)
{
	return strlen(name) == HL_ULID_SIZE - 1 &&
	       strspn(name, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == HL_ULID_SIZE - 1;
}

struct found_log {
	unsigned n;
	char id[HL_ULID_SIZE];
};

static void
see_log(const char *name, void *context)
{
	struct found_log *found = context;

	if (!is_ulid(name))
		return;
	found->n++;
	memcpy(found->id, name, HL_ULID_SIZE);
}

int
audit_place_find_log(int audit_fd, char ret_id[HL_ULID_SIZE], struct hl_err *err)
{
	struct found_log found = { 0 };

	if (each_name(audit_fd, see_log, &found, err) != 0)
		return -1;
	if (found.n > 1)
		return hl_err_set(err, HLA_05,
		    "the state directory holds %u audit logs where there can be one", found.n);
	memcpy(ret_id, found.id, HL_ULID_SIZE);
	return 0;
}

struct found_segments {
	struct segment *items;
	size_t len;
	size_t capacity;
	bool failed;
};

static void
see_segment(const char *name, void *context)
{
	struct found_segments *found = context;
	uint64_t first;

	if (found->failed || !audit_segment_parse(name, &first))
		return;
	if (found->len == found->capacity) {
		size_t capacity = found->capacity > 0 ? found->capacity * 2 : 16;
		struct segment *items = reallocarray(found->items, capacity, sizeof(*items));
		if (items == NULL) {
			found->failed = true;
			return;
		}
		found->items = items;
		found->capacity = capacity;
	}
	found->items[found->len++] = (struct segment){ .first = first };
}

static int
compare_segments(const void *a, const void *b)
{
	const struct segment *left = a, *right = b;

	return left->first < right->first ? -1 : left->first > right->first;
}

int
audit_place_list_segments(int log_fd, struct segment **ret_segments, size_t *ret_len,
    struct hl_err *err)
{
	struct found_segments found = { 0 };

	if (each_name(log_fd, see_segment, &found, err) != 0 || found.failed) {
		free(found.items);
		return found.failed ? hl_err_oom(err) : -1;
	}
	if (found.len > 1)
		qsort(found.items, found.len, sizeof(*found.items), compare_segments);
	*ret_segments = found.items;
	*ret_len = found.len;
	return 0;
}

int
audit_place_open_file(int dir, const char *name, int flags, struct hl_err *err)
{
	/* O_NONBLOCK: a FIFO that was put in the file's place must not stop us. */
	int HL_AUTO_FD fd =
	    openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0)
		return hl_err_sys(err,
		    errno == ELOOP             ? HLA_02
		    : audit_is_no_space(errno) ? HLA_06
					       : HLA_01,
		    "cannot open '%s' of the audit log", name);
	if (fstat(fd, &st) != 0)
		return hl_err_sys(err, HLA_01, "cannot look at '%s' of the audit log", name);
	if (!S_ISREG(st.st_mode))
		return hl_err_set(err, HLA_02, "'%s' of the audit log is not a regular file", name);
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return hl_err_set(err, HLA_02, "'%s' of the audit log is not ours alone", name);
	return hl_take_fd(&fd);
}
