/*
 * audit - the ledger.
 *
 * One line of canonical JSON per event, appended by the process that acts: one write(2) with
 * O_APPEND under flock(2). Each record carries the SHA-256 of the one before it, so that a changed,
 * removed or inserted record shows (audit_verify). What the caller knows to be private, and what
 * looks like a credential, is redacted before the lock is taken. A log is tamper-evident, never
 * tamper-proof: whoever owns the file can rewrite it whole.
 *
 * Files, below $STATE/audit/<log-id>/ (0700; refused on NFS, CIFS, FUSE and their like):
 *
 *	lock		flock target, empty
 *	<20 digits>.jsonl
 *			segment, named by its first seq; never renamed, never truncated
 *	head		cache: next seq, size, prev; with a checksum; rebuilt when stale
 *	reserve		256 KiB, given up on a full disk, so that run.end still fits
 *
 * Record: {"v":1,"seq":N,"t":"...","mono":N,"boot":"...","ev":"run.start","run":"...", the event's
 * fields in the order of audit/events.def, "redacted":N when places were, "prev":"..."}. prev of
 * record i is SHA-256(0x00 || line i-1 without its LF) in hex, 64 zeros at seq 0. Numbers are below
 * 2^53. A line that is no record is legal only if it is the beginning of one and the next record is
 * a `recover` that gives its offset, length and hash. A seq is never used twice: after a loss the
 * log goes on behind what was lost, with a `gap` that says so, and is incomplete for ever.
 *
 * Life cycle: audit_open(); per event audit_event() / fields / audit_append(); audit_close().
 */
#ifndef HL_AUDIT_AUDIT_H
#define HL_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct audit; /* an open log */

enum {
	AUDIT_RECORD_MAX = 65536,
	AUDIT_COMMAND_MAX = 8192
};

enum audit_event {
#define AUDIT_EVENT(symbol, ...) AUDIT_##symbol,
#include "audit/events.def"
#undef AUDIT_EVENT
	AUDIT_EVENT_MAX
};

/* What must never be in a record: values by name. Values shorter than 8 bytes are not searched for
 * (they would match by chance); names are enough for those. Copies are wiped at audit_close(). */
struct audit_secret {
	const char *name; /* "env:CI_TOKEN" */
	const char *value;
	size_t len;
};

struct audit_open_request {
	const char *state_dir; /* $STATE; created 0700 when missing */
	const char *run;       /* ULID, or NULL */
	const char *version;   /* of the program, for log.open */
	bool may_create;       /* false: a missing log is an error (verify, show) */
};

/* HLA codes: not writable, not ours, on a network file system, locked for too long, corrupt. */
int audit_open(const struct audit_open_request *request, struct audit **ret_audit,
    struct hl_err *err) HL_MUST_CHECK;
void audit_close(struct audit *audit);
/* Adds a value to redact in this and every later record. */
int audit_add_secret(struct audit *audit, const struct audit_secret *secret,
    struct hl_err *err) HL_MUST_CHECK;

/* A stream of bytes that is kept elsewhere, with the same places replaced as in a record. What may
 * be the beginning of a value is held back; is_end lets go of it. Lives no longer than audit. */
struct audit_stream;

struct audit_stream *audit_stream_new(const struct audit *audit); /* NULL: no memory */
/* -1: no memory, or a value that does not end; what was passed before is good. */
int audit_stream_pass(struct audit_stream *stream, const char *bytes, size_t len, bool is_end,
    struct hl_buf *out) HL_MUST_CHECK;
void audit_stream_free(struct audit_stream *stream);

/* A record under construction: the caller writes fields in the order of events.def. */
struct audit_record {
	enum audit_event event;
	struct hl_buf fields; /* ,"key":value ... */
	struct hl_json json;
	uint64_t redacted; /* places */
};

/* Returns the writer for the event's own fields: hl_json_key(with, "applied"); hl_json_u64(with, n)
 * and so on. Fields may be left out, but those that are there stand in the order of events.def: a
 * record that breaks this is an internal error of audit_append(). Text that is not our own words
 * goes through audit_put_string(), which redacts and cuts; inside an array its key is NULL. */
struct hl_json *audit_event(struct audit *audit, enum audit_event event,
    struct audit_record *ret_record);
void audit_put_string(struct audit *audit, struct audit_record *record, const char *key,
    const char *text);
/* One array. Made for commands: "--password" hides the text after it, the text after "-c" is read
 * as shell, and what goes past AUDIT_COMMAND_MAX in all is left out, with the length and the digest
 * of the whole (after redaction) in its place. */
void audit_put_strings(struct audit *audit, struct audit_record *record, const char *key,
    char *const *texts, size_t n);
/* A record that is not appended after all. audit_append() does this itself. */
void audit_record_done(struct audit_record *record);
/* Returns when everything that was appended is on the disk (fdatasync(2)). A run's start is flushed
 * by this, after its sandbox was made and before its command is started: the two take their time
 * side by side. */
int audit_flush(struct audit *audit, struct hl_err *err) HL_MUST_CHECK;
/* Writes it; durable events return only after fdatasync(2). *ret_seq may be NULL. The record is
 * done afterwards, also on failure. */
int audit_append(struct audit *audit, struct audit_record *record, uint64_t *ret_seq,
    struct hl_err *err) HL_MUST_CHECK;
/* Whether the log's end is one that an append would continue: HLA_05 where it was changed. Nothing
 * is written, a torn end neither mended. */
int audit_can_append(struct audit *audit, struct hl_err *err) HL_MUST_CHECK;
const char *audit_log_id(const struct audit *audit);

/* ------------------------------------------------------------------------------------------------
 * Readers
 */
enum audit_verdict {
	AUDIT_OK = 0,
	AUDIT_TAMPERED = 1,
	AUDIT_INCOMPLETE = 2
};

struct audit_verify_result {
	enum audit_verdict verdict;
	uint64_t records;
	uint64_t bad_seq;    /* TAMPERED: first bad record */
	uint64_t bad_offset; /* in its segment */
	uint64_t recovered;  /* torn lines with their recover record */
	char log_id[HL_ULID_SIZE];
	char detail[256]; /* which rule, expected and found */
};

/* Reads only; works on a copied directory and on a live log (up to its size at the start). */
int audit_verify(const char *state_dir, struct audit_verify_result *ret_result,
    struct hl_err *err) HL_MUST_CHECK;

/* Text form is one line a person reads. */
enum audit_format {
	AUDIT_TEXT,
	AUDIT_JSON
};
typedef int audit_line_fn(const char *line, size_t len, void *context);

struct audit_view {
	enum audit_format format;
	const char *run;     /* whose records; NULL = all, and what is no record */
	audit_line_fn *line; /* for each of them, oldest first */
	void *context;
};

int audit_show(const char *state_dir, const struct audit_view *view,
    struct hl_err *err) HL_MUST_CHECK;

#endif
