/*
 * The file rule: a policy is believed only when nobody but root and the caller could have written
 * it.
 *
 * A regular file, no symbolic link at its end, owned by root or the caller, not writable by group
 * or others; every directory above it, by the name that was given and by the name the kernel has
 * for it, of the same kind (or with the sticky bit, as /tmp has). At most 1 MiB, read once: what is
 * hashed is what is parsed.
 */
#include "policy/file.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/openat2.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#include "base/banned.h"

/* Magic links (/proc/self/fd/7) are no names of files; openat2 since Linux 5.6. */
static int
open_plain(const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK,
		.resolve = RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static bool
is_trusted(const struct stat *st, uid_t caller)
{
	return (st->st_uid == 0 || st->st_uid == caller) &&
	       (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int
unsafe(const char *path, const struct stat *st, struct hl_err *err)
{
	const char *what = S_ISDIR(st->st_mode) ? "directory" : "file";

	if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		hl_err_set(err, HLP_06, "the %s '%s' can be written by others (mode %03o)", what,
		    path, st->st_mode & 07777U);
		return hl_err_help(err, "chmod go-w '%.200s'", path);
	}
	hl_err_set(err, HLP_06, "the %s '%s' belongs to user %u, who is neither root nor you", what,
	    path, st->st_uid);
	return hl_err_help(err, "a policy must be root's or the caller's own");
}

/* Every directory above path. */
static int
check_parents(const char *path, uid_t caller, struct hl_err *err)
{
	HL_AUTO_FREE char *part = strdup(path);
	struct stat st;

	if (part == NULL)
		return hl_err_oom(err);
	for (char *slash = strrchr(part, '/'); slash != NULL; slash = strrchr(part, '/')) {
		bool is_root = slash == part;
		slash[is_root ? 1 : 0] = '\0';
		if (stat(part, &st) != 0)
			return hl_err_sys(err, HLU_02, "cannot look at '%s'", part);
		bool is_sticky =
		    (st.st_mode & S_ISVTX) != 0 && (st.st_uid == 0 || st.st_uid == caller);
		if (!is_trusted(&st, caller) && !is_sticky)
			return unsafe(part, &st, err);
		if (is_root)
			break;
	}
	return 0;
}

static int
check_file(int fd, const char *path, uid_t caller, bool *ret_is_roots, struct hl_err *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return hl_err_sys(err, HLU_02, "cannot look at '%s'", path);
	if (S_ISDIR(st.st_mode))
		return hl_err_set(err, HLP_06, "'%s' is a directory, not a policy file", path);
	if (!S_ISREG(st.st_mode))
		return hl_err_set(err, HLP_06, "'%s' is not a regular file", path);
	if (!is_trusted(&st, caller))
		return unsafe(path, &st, err);
	if (st.st_size > POLICY_FILE_MAX)
		return hl_err_set(err, HLY_02, "'%s' is larger than %d bytes", path,
		    POLICY_FILE_MAX);
	*ret_is_roots = st.st_uid == 0;
	return 0;
}

int
policy_file_read(const char *path, uid_t caller, struct hl_buf *bytes, struct policy_file *ret_file,
    struct hl_err *err)
{
	bool is_roots;

	HL_AUTO_FD int fd = open_plain(path);

	if (fd < 0 && errno == ELOOP) {
		hl_err_set(err, HLP_06, "'%s' is a symbolic link", path);
		return hl_err_help(err, "name the file itself");
	}
	if (fd < 0)
		return hl_err_sys(err, HLU_02, "cannot open the policy '%s'", path);
	if (check_file(fd, path, caller, &is_roots, err) != 0 ||
	    check_parents(path, caller, err) != 0)
		return -1;
	HL_AUTO_FREE char *real = hl_path_of_fd(fd);
	if (real == NULL)
		return hl_err_sys(err, HLU_02, "cannot find the true name of '%s'", path);
	bool is_other = strcmp(real, path) != 0;
	if ((is_other && check_parents(real, caller, err) != 0) ||
	    hl_read_file(fd, bytes, path, HLY_02, err) != 0)
		return -1;
	*ret_file = (struct policy_file){ HL_TAKE_PTR(real), is_roots };
	return 0;
}
