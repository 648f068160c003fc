/*
 * One record into the log: lock, look at the head, one write(2) with O_APPEND, head, unlock, and
 * for durable events fdatasync(2) outside the lock, where waiting writers share one flush. A full
 * disk gives up the reserve, so that what must be said still fits; everything else is refused.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

static uint64_t
now_mono_us(void)
{
	struct timespec now;

	HL_BUG_ON(clock_gettime(CLOCK_MONOTONIC, &now) != 0);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void
make_line(struct audit *audit, const struct head *head, const struct entry *entry)
{
	struct hl_buf *line = &audit->line;
	char time[HL_ISO_TIME_SIZE], prev[HL_SHA256_HEX_SIZE];

	hl_iso_time(hl_now_real_us(), time);
	hl_buf_putf(line,
	    "{\"v\":1,\"seq\":%llu,\"t\":\"%s\",\"mono\":%llu,\"boot\":\"%s\",\"ev\":\"%s\",",
	    (unsigned long long)head->next, time, (unsigned long long)now_mono_us(), audit->boot,
	    audit_event_name(entry->event));
	if (audit->run[0] != '\0')
		hl_buf_putf(line, "\"run\":\"%s\"", audit->run);
	else
		hl_buf_puts(line, "\"run\":null");
	hl_buf_put(line, entry->fields, entry->fields_len);
	if (entry->redacted > 0)
		hl_buf_putf(line, ",\"redacted\":%llu", (unsigned long long)entry->redacted);
	hl_sha256_hex(head->prev, prev);
	hl_buf_putf(line, ",\"prev\":\"%s\"}\n", prev);
}

/* Writes on after a short write: under the lock nobody comes between. */
static int
write_counted(int fd, const char *bytes, size_t len, size_t *ret_written)
{
	*ret_written = 0;
	while (*ret_written < len) {
		ssize_t n = write(fd, bytes + *ret_written, len - *ret_written);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		*ret_written += (size_t)n;
	}
	return 0;
}

int
audit_entry_write(struct audit *audit, struct head *head, const struct entry *entry, bool lead_lf,
    size_t *ret_written)
{
	struct hl_buf *line = &audit->line;

	*ret_written = 0;
	hl_buf_reset(line);
	if (lead_lf)
		hl_buf_putc(line, '\n');
	make_line(audit, head, entry);
	if (line->failed) {
		errno = ENOMEM;
		return -1;
	}
	if (write_counted(audit->segment, line->data, line->len, ret_written) != 0)
		return -1;
	audit_leaf_of(line->data + lead_lf, line->len - lead_lf - 1, head->prev);
	head->next++;
	head->size += line->len;
	return 0;
}

static bool
must_fit(enum audit_event event)
{
	return event == AUDIT_RUN_END || event == AUDIT_SESSION_CLOSE || event == AUDIT_CALL_END ||
	       event == AUDIT_GAP || event == AUDIT_RECOVER;
}

/* The beginning of audit->line stands at the end of the segment, `written` bytes of it. */
static int
close_torn(struct audit *audit, struct head *head, size_t written)
{
	struct line line = {
		.text = audit->line.data,
		.len = written,
		.offset = head->size,
	};
	struct chain torn;

	if (written + 1 == audit->line.len) {
		/* All but the LF: it is a record. */
		if (hl_write_full(audit->segment, "\n", 1) != 0)
			return -1;
		audit_leaf_of(line.text, written, head->prev);
		head->next++;
		head->size += written + 1;
		return 1;
	}
	audit_chain_init(&torn, head->next, head->prev);
	if (audit_chain_step(&torn, &line) != CHAIN_FINE || !torn.is_torn) {
		errno = EIO;
		return -1;
	}
	head->size += written;
	return audit_recover_torn(audit, head, &torn, true, "no space");
}

static int
tell_of_refusal(struct audit *audit, struct head *head, enum audit_event event)
{
	struct hl_buf fields HL_AUTO(hl_buf_done) = { 0 };
	size_t written;

	hl_buf_init(&fields, FRAME_MAX);
	hl_buf_putf(&fields, ",\"event\":\"%s\",\"cause\":\"no space\"", audit_event_name(event));
	struct entry entry = { AUDIT_GAP, fields.data, fields.len, 0 };
	return audit_entry_write(audit, head, &entry, false, &written);
}

static int
no_space(struct hl_err *err, const struct audit *audit, enum audit_event event)
{
	hl_err_set(err, HLA_06, "no space for the audit record '%s' in log '%s'",
	    audit_event_name(event), audit->log_id);
	return hl_err_help(err, "make room on the file system of the state directory");
}

/* The write of entry failed with errno after `written` bytes. */
static int
write_failed(struct audit *audit, struct head *head, const struct entry *entry, size_t written,
    struct hl_err *err)
{
	int rc = 0;

	if (!audit_is_no_space(errno))
		return hl_err_sys(err, HLA_01, "cannot write to the audit log");
	audit_reserve_free(audit->dir);
	audit->is_full = true;
	if (written > 0)
		rc = close_torn(audit, head, written);
	if (rc == 1)
		return 0;
	if (rc == 0 && must_fit(entry->event) &&
	    audit_entry_write(audit, head, entry, false, &written) == 0)
		return 0;
	if (rc == 0 && !must_fit(entry->event))
		rc = tell_of_refusal(audit, head, entry->event);
	/* When even that failed, the next append finds a torn end and tells of it. */
	if (rc == 0)
		(void)!audit_head_write(audit->head, head);
	return no_space(err, audit, entry->event);
}

/* 1: head tells where the log ends, 0: it does not, -1: there is no such log. */
static int
is_at_end(const struct audit *audit, const struct head *head, bool has_head, uint64_t *ret_size,
    struct hl_err *err)
{
	struct stat st;

	if (fstat(audit->segment, &st) != 0)
		return hl_err_sys(err, HLA_01, "cannot look at the audit log");
	if (st.st_nlink == 0)
		return hl_err_set(err, HLA_05, "audit log '%s' was removed", audit->log_id);
	*ret_size = (uint64_t)st.st_size;
	return has_head && head->first == audit->segment_first && head->size == *ret_size;
}

/* Where the log ends, or -1. */
static int
find_end(struct audit *audit, struct head *head, struct hl_err *err)
{
	bool has_head = audit_head_read(audit->head, head);
	uint64_t size = 0;

	for (unsigned tries = 0; tries < 2; tries++) {
		int known = is_at_end(audit, head, has_head, &size, err);
		if (known != 0)
			return known == 1 ? 0 : -1;
		if (audit_recover(audit, head, has_head, size, err) == 0)
			return 0;
		if (err->code != HLA_06)
			return -1;
		audit_reserve_free(audit->dir);
		audit->is_full = true;
		has_head = audit_head_read(audit->head, head);
	}
	return -1;
}

static int
append_locked(struct audit *audit, const struct entry *entry, uint64_t *ret_seq, struct hl_err *err)
{
	struct head head;
	size_t written;

	if (find_end(audit, &head, err) != 0)
		return -1;
	if (audit_entry_write(audit, &head, entry, false, &written) != 0 &&
	    write_failed(audit, &head, entry, written, err) != 0)
		return -1;
	*ret_seq = head.next - 1;
	/* Only a cache: a head that could not be written is found out by the next append. */
	(void)!audit_head_write(audit->head, &head);
	return 0;
}

int
audit_flush(struct audit *audit, struct hl_err *err)
{
	if (fdatasync(audit->segment) != 0)
		return hl_err_sys(err, HLA_01, "cannot flush the audit log to its disk");
	return 0;
}

static int
append_entry(struct audit *audit, const struct entry *entry, uint64_t *ret_seq, struct hl_err *err)
{
	if (audit->is_full && !must_fit(entry->event))
		return no_space(err, audit, entry->event);
	if (audit_lock_take(audit->lock, audit->segment, "the audit log", err) != 0)
		return -1;
	int rc = append_locked(audit, entry, ret_seq, err);
	audit_lock_drop(audit->lock);
	if (rc != 0)
		return -1;
	return audit_event_is_durable(entry->event) ? audit_flush(audit, err) : 0;
}

int
audit_can_append(struct audit *audit, struct hl_err *err)
{
	struct head head;
	uint64_t size = 0;

	if (audit_lock_take(audit->lock, audit->segment, "the audit log", err) != 0)
		return -1;
	bool has_head = audit_head_read(audit->head, &head);
	int rc = is_at_end(audit, &head, has_head, &size, err);
	if (rc == 0)
		rc = audit_can_recover(audit, has_head ? &head : NULL, size, err);
	audit_lock_drop(audit->lock);
	return rc < 0 ? -1 : 0;
}

int
audit_append(struct audit *audit, struct audit_record *record, uint64_t *ret_seq,
    struct hl_err *err)
{
	struct entry entry = {
		.event = record->event,
		.fields = record->fields.data,
		.fields_len = record->fields.len,
		.redacted = record->redacted,
	};
	uint64_t seq = 0;
	int rc;

	if (record->fields.failed)
		rc = hl_err_set(err, HLA_08, "the audit record '%s' is longer than %d bytes",
		    audit_event_name(record->event), AUDIT_RECORD_MAX);
	else
		rc = audit_record_check_fields(record->event, entry.fields, entry.fields_len, err);
	if (rc == 0)
		rc = append_entry(audit, &entry, &seq, err);
	/* Its buffer serves the next record. */
	hl_buf_done(&audit->fields);
	audit->fields = record->fields;
	hl_buf_init(&record->fields, FIELDS_MAX);
	if (rc == 0 && ret_seq != NULL)
		*ret_seq = seq;
	return rc;
}
