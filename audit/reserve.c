/*
 * Room for the last words. A file of 256 KiB stands beside the log; when the file system is full it
 * is emptied, so that the end of what runs, and the note of what could not be written, still fit.
 * While it cannot be had again nothing new is begun.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

static const char name[] = "reserve";

bool
audit_is_no_space(int number)
{
	return number == ENOSPC || number == EDQUOT;
}

/* For file systems without fallocate(2). */
static int
fill(int fd)
{
	static const char zeros[4096];

	for (unsigned i = 0; i < RESERVE_SIZE / sizeof(zeros); i++)
		if (hl_write_full(fd, zeros, sizeof(zeros)) != 0)
			return -1;
	return 0;
}

int
audit_reserve_ensure(int log_fd, bool *ret_is_full, struct hl_err *err)
{
	struct stat st;

	*ret_is_full = false;
	if (fstatat(log_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size >= RESERVE_SIZE)
		return 0;
	int HL_AUTO_FD fd = audit_place_open_file(log_fd, name, O_WRONLY | O_CREAT, err);
	if (fd < 0) {
		*ret_is_full = audit_is_no_space(err->sys_errno);
		return *ret_is_full ? 0 : -1;
	}
	int rc = fallocate(fd, 0, 0, RESERVE_SIZE);
	if (rc != 0 && errno == EOPNOTSUPP)
		rc = fill(fd);
	if (rc == 0)
		return 0;
	int saved = errno;
	*ret_is_full = audit_is_no_space(saved);
	/* A part of it would only take room from the log; nothing to do when that fails. */
	(void)!ftruncate(fd, 0);
	errno = saved;
	return *ret_is_full ? 0
			    : hl_err_sys(err, HLA_01, "cannot write '%s' of the audit log", name);
}

void
audit_reserve_free(int log_fd)
{
	int HL_AUTO_FD fd = openat(log_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	/* When it cannot be emptied the next write fails as well and says so. */
	if (fd >= 0)
		(void)!ftruncate(fd, 0);
}
