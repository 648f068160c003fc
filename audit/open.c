/*
 * An open log: its files, and the making of a new one. A log appears whole or not at all: it is
 * made under a name that is no log's, with its first record in it, flushed, and then renamed. What
 * a crash leaves under that name the next maker clears away.
 */
#include <sys/stat.h>
#include <sys/utsname.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

static const char unfinished[] = ".new";

static void
read_boot(char boot[9])
{
	int HL_AUTO_FD fd =
	    openat(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	/* Tells reboots apart, nothing depends on it. */
	memcpy(boot, "00000000", 9);
	if (fd >= 0 && hl_read_full(fd, boot, 8) != 8)
		memcpy(boot, "00000000", 9);
}

/* Removes what a maker that died has left. */
static void
clear_unfinished(int audit_fd)
{
	static const char *const names[] = {
		"lock",
		"head",
		"reserve",
		"00000000000000000000.jsonl",
	};
	int HL_AUTO_FD dir =
	    openat(audit_fd, unfinished, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return;
	/* What cannot be removed makes mkdirat fail, which says it. */
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++)
		(void)unlinkat(dir, names[i], 0);
	(void)unlinkat(audit_fd, unfinished, AT_REMOVEDIR);
}

static int
open_segment(struct audit *audit, uint64_t first, int flags, struct hl_err *err)
{
	char name[SEGMENT_NAME_SIZE];

	audit_segment_name(first, name);
	audit->segment = audit_place_open_file(audit->dir, name, O_RDWR | O_APPEND | flags, err);
	audit->segment_first = first;
	return audit->segment >= 0 ? 0 : -1;
}

static int
open_last_segment(struct audit *audit, struct hl_err *err)
{
	struct head head;
	struct segment *segments HL_AUTO_FREE = NULL;
	size_t len;

	if (audit_head_read(audit->head, &head)) {
		if (open_segment(audit, head.first, 0, err) == 0)
			return 0;
		if (err->sys_errno != ENOENT)
			return -1;
	}
	if (audit_place_list_segments(audit->dir, &segments, &len, err) != 0)
		return -1;
	if (len == 0)
		return hl_err_set(err, HLA_05, "audit log '%s' has lost its segments",
		    audit->log_id);
	return open_segment(audit, segments[len - 1].first, 0, err);
}

static int
open_files(struct audit *audit, bool is_new, struct hl_err *err)
{
	audit->lock = audit_place_open_file(audit->dir, "lock", O_RDWR | O_CREAT, err);
	if (audit->lock < 0)
		return -1;
	audit->head = audit_place_open_file(audit->dir, "head", O_RDWR | O_CREAT, err);
	if (audit->head < 0)
		return -1;
	int rc =
	    is_new ? open_segment(audit, 0, O_CREAT | O_EXCL, err) : open_last_segment(audit, err);
	return rc == 0 ? audit_reserve_ensure(audit->dir, &audit->is_full, err) : -1;
}

static int
open_dir(struct audit *audit, int audit_fd, const char *name, struct hl_err *err)
{
	audit->dir = openat(audit_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (audit->dir < 0)
		return hl_err_sys(err, errno == ELOOP || errno == ENOTDIR ? HLA_02 : HLA_01,
		    "cannot open audit log '%s'", name);
	return audit_place_check_owner(audit->dir, name, err);
}

static int
write_first_record(struct audit *audit, const char *version, struct hl_err *err)
{
	struct audit_record record;
	struct hl_json *json = audit_event(audit, AUDIT_LOG_OPEN, &record);
	struct head head = { 0 };
	struct utsname host;
	size_t written;

	HL_BUG_ON(uname(&host) != 0);
	hl_json_key(json, "log");
	hl_json_string(json, audit->log_id);
	audit_put_string(audit, &record, "host", host.nodename);
	audit_put_string(audit, &record, "version", version);
	hl_json_key(json, "uid");
	hl_json_u64(json, geteuid());
	struct entry entry = {
		.event = AUDIT_LOG_OPEN,
		.fields = record.fields.data,
		.fields_len = record.fields.len,
		.redacted = record.redacted,
	};
	bool is_whole = !record.fields.failed;
	int rc = is_whole ? audit_entry_write(audit, &head, &entry, false, &written) : -1;
	if (rc != 0)
		hl_err_sys(err, audit_is_no_space(errno) ? HLA_06 : HLA_01,
		    "cannot write the first record of an audit log");
	else if (!audit_head_write(audit->head, &head))
		rc = hl_err_sys(err, audit_is_no_space(errno) ? HLA_06 : HLA_01,
		    "cannot write the head of an audit log");
	audit_record_done(&record);
	return rc;
}

static int
make_log(struct audit *audit, int audit_fd, const char *version, struct hl_err *err)
{
	if (hl_ulid(audit->log_id, err) != 0)
		return -1;
	if (mkdirat(audit_fd, unfinished, 0700) != 0)
		return hl_err_sys(err, audit_is_no_space(errno) ? HLA_06 : HLA_01,
		    "cannot create a directory for the audit log");
	if (open_dir(audit, audit_fd, unfinished, err) != 0 || open_files(audit, true, err) != 0)
		return -1;
	if (audit->is_full)
		return hl_err_set(err, HLA_06, "no space for an audit log of %d bytes at least",
		    RESERVE_SIZE);
	if (write_first_record(audit, version, err) != 0)
		return -1;
	/* The record, its name in the directory, and the directory's own name. */
	if (fsync(audit->segment) != 0 || fsync(audit->dir) != 0 ||
	    renameat(audit_fd, unfinished, audit_fd, audit->log_id) != 0 || fsync(audit_fd) != 0)
		return hl_err_sys(err, audit_is_no_space(errno) ? HLA_06 : HLA_01,
		    "cannot put a new audit log in its place");
	return 0;
}

/* Of two makers the second finds what the first has made. */
static int
make_log_once(struct audit *audit, int audit_fd, const char *version, struct hl_err *err)
{
	if (audit_lock_take(audit_fd, -1, "the audit directory", err) != 0)
		return -1;
	int rc = audit_place_find_log(audit_fd, audit->log_id, err);
	if (rc == 0 && audit->log_id[0] == '\0') {
		clear_unfinished(audit_fd);
		rc = make_log(audit, audit_fd, version, err);
		if (rc != 0)
			clear_unfinished(audit_fd);
	}
	audit_lock_drop(audit_fd);
	return rc;
}

static int
open_log(struct audit *audit, const struct audit_open_request *request, struct hl_err *err)
{
	int HL_AUTO_FD audit_fd =
	    audit_place_open_audit(request->state_dir, request->may_create, err);

	if (audit_fd < 0 || audit_place_find_log(audit_fd, audit->log_id, err) != 0)
		return -1;
	if (audit->log_id[0] == '\0' && !request->may_create)
		return hl_err_set(err, HLA_07, "no audit log in '%s'", request->state_dir);
	if (audit->log_id[0] == '\0' && make_log_once(audit, audit_fd, request->version, err) != 0)
		return -1;
	if (audit->dir >= 0)
		return 0;
	if (open_dir(audit, audit_fd, audit->log_id, err) != 0)
		return -1;
	return open_files(audit, false, err);
}

static int
set_run(struct audit *audit, const char *run, struct hl_err *err)
{
	if (run == NULL)
		return 0;
	size_t len = strlen(run);
	if (len != HL_ULID_SIZE - 1 ||
	    strspn(run, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != HL_ULID_SIZE - 1)
		return hl_err_set(err, HLI_02, "'%.40s' is not the name of a run", run);
	memcpy(audit->run, run, HL_ULID_SIZE);
	return 0;
}

int
audit_open(const struct audit_open_request *request, struct audit **ret_audit, struct hl_err *err)
{
	struct audit *audit = calloc(1, sizeof(*audit));

	if (audit == NULL)
		return hl_err_oom(err);
	audit->dir = audit->lock = audit->head = audit->segment = -1;
	audit_redactor_init(&audit->redactor);
	hl_buf_init(&audit->line, AUDIT_RECORD_MAX);
	hl_buf_init(&audit->fields, FIELDS_MAX);
	hl_buf_init(&audit->scratch, SCRATCH_MAX);
	read_boot(audit->boot);
	if (set_run(audit, request->run, err) != 0 || open_log(audit, request, err) != 0) {
		audit_close(audit);
		return -1;
	}
	*ret_audit = audit;
	return 0;
}

void
audit_close(struct audit *audit)
{
	if (audit == NULL)
		return;
	hl_close_ptr(&audit->segment);
	hl_close_ptr(&audit->head);
	hl_close_ptr(&audit->lock);
	hl_close_ptr(&audit->dir);
	audit_redactor_done(&audit->redactor);
	hl_buf_done(&audit->line);
	hl_buf_done(&audit->fields);
	hl_buf_done(&audit->scratch);
	free(audit);
}

int
audit_add_secret(struct audit *audit, const struct audit_secret *secret, struct hl_err *err)
{
	return audit_redactor_add(&audit->redactor, secret, err);
}

const char *
audit_log_id(const struct audit *audit)
{
	return audit->log_id;
}
