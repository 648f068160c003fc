/*
 * A log to be read: found, its segments listed, and all of it as it was at one moment, so that the
 * writer of a living log is never taken for a forger. Nothing is asked of owners and modes: an
 * auditor reads a copy, from wherever he has it.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

static int
open_file(const struct reader *reader, const char *name)
{
	return openat(reader->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int
open_segment(const struct reader *reader, size_t i, struct stat *ret_st, struct hl_err *err)
{
	char name[SEGMENT_NAME_SIZE];

	audit_segment_name(reader->segments[i].first, name);
	int HL_AUTO_FD fd = open_file(reader, name);
	if (fd < 0 || fstat(fd, ret_st) != 0)
		return hl_err_sys(err, HLA_01, "cannot read segment '%s' of the audit log", name);
	if (!S_ISREG(ret_st->st_mode))
		return hl_err_set(err, HLA_02,
		    "segment '%s' of the audit log is not a regular file", name);
	return hl_take_fd(&fd);
}

static int
take_snapshot(struct reader *reader, struct hl_err *err)
{
	int HL_AUTO_FD head = open_file(reader, "head");
	struct stat st;

	reader->has_head = audit_head_read(head, &reader->head);
	if (audit_place_list_segments(reader->dir, &reader->segments, &reader->segments_len, err) !=
	    0)
		return -1;
	for (size_t i = 0; i < reader->segments_len; i++) {
		int HL_AUTO_FD fd = open_segment(reader, i, &st, err);
		if (fd < 0)
			return -1;
		reader->segments[i].size = (uint64_t)st.st_size;
	}
	return 0;
}

/* Writers hold the lock for microseconds. One that was stopped with it must not stop the auditor:
 * after a while he reads without. */
static void
lock_shared(int fd)
{
	const struct timespec wait = { 0, 1000000 };

	for (unsigned tries = 0; tries < 250; tries++) {
		if (flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			return;
		nanosleep(&wait, NULL);
	}
}

int
audit_reader_init(struct reader *reader, const char *state_dir, struct hl_err *err)
{
	*reader = (struct reader){ .dir = -1 };
	int HL_AUTO_FD audit_fd = audit_place_open_audit_for_reading(state_dir, err);
	if (audit_fd < 0 || audit_place_find_log(audit_fd, reader->log_id, err) != 0)
		return -1;
	if (reader->log_id[0] == '\0')
		return hl_err_set(err, HLA_07, "no audit log in '%s'", state_dir);
	reader->dir =
	    openat(audit_fd, reader->log_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (reader->dir < 0)
		return hl_err_sys(err, HLA_01, "cannot open audit log '%s'", reader->log_id);
	/* A copy has perhaps no lock file. */
	int HL_AUTO_FD lock = open_file(reader, "lock");
	if (lock >= 0)
		lock_shared(lock);
	int rc = take_snapshot(reader, err);
	if (rc != 0)
		audit_reader_done(reader);
	return rc;
}

void
audit_reader_done(struct reader *reader)
{
	hl_close_ptr(&reader->dir);
	free(reader->segments);
	*reader = (struct reader){ .dir = -1 };
}

int
audit_reader_lines(const struct reader *reader, size_t i, struct lines *lines, struct hl_err *err)
{
	struct stat st;
	int fd = open_segment(reader, i, &st, err);

	if (fd < 0)
		return -1;
	if (audit_lines_init(lines, fd, 0, reader->segments[i].size, err) != 0) {
		hl_close_ptr(&fd);
		return -1;
	}
	return 0;
}
