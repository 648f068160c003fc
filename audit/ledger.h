/*
 * What the files of this room share. Not a door: nobody else includes it.
 *
 *	place.c		where the log is: directories, owners, file systems
 *	open.c		audit_open(): files and the first record
 *	record.c	a record under construction, field order, cutting
 *	redact.c	spans of text that must not be written; forms.c and patterns.c say which
 *	append.c	lock, write, full disk
 *	head.c		the cache beside the segments
 *	recover.c	after a crash
 *	grammar.c	canonical JSON and the frame of a record
 *	chain.c		the rule for readers: sequence, hashes, torn lines
 *	lines.c		a segment as lines; verify.c and show.c read with it
 */
#ifndef HL_AUDIT_LEDGER_H
#define HL_AUDIT_LEDGER_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "base/base.h"

enum {
	LEAF_SIZE = HL_SHA256_SIZE,
	/* Everything of a record but its own fields, with room to spare. */
	FRAME_MAX = 512,
	FIELDS_MAX = AUDIT_RECORD_MAX - FRAME_MAX,
	RESERVE_SIZE = 256 * 1024,
	LOCK_WAIT_MS = 2000,
	LOCK_CROWD_MS = 60000,
	SEGMENT_NAME_SIZE = 27, /* 20 digits, ".jsonl", NUL */
	NESTING_MAX = 16,
	SCRATCH_MAX = 16 << 20,
};

/* ------------------------------------------------------------------------------------------------
 * grammar.c
 */
enum json_state {
	JSON_COMPLETE,
	JSON_CUT, /* the text ended inside a value: what a torn write leaves */
	JSON_INVALID,
};

struct json_cursor {
	const char *next;
	const char *end;
};

/* Moves behind one canonical value. */
enum json_state audit_json_skip_value(struct json_cursor *cursor, unsigned depth);
/* Moves behind the literal, or stays and says false. */
bool audit_json_take(struct json_cursor *cursor, const char *literal);
/* Moves behind an integer 0 ... 2^53-1. */
bool audit_json_take_number(struct json_cursor *cursor, uint64_t *ret_number);

struct frame {
	uint64_t seq;
	uint64_t mono;
	const char *time; /* HL_ISO_TIME_SIZE - 1 characters, no NUL */
	const char *event;
	size_t event_len;
	const char *run; /* NULL = null */
	size_t run_len;
	const char *fields; /* ,"key":value ... up to ,"prev" */
	size_t fields_len;
	unsigned char prev[LEAF_SIZE];
};

enum line_kind {
	LINE_RECORD,
	LINE_TORN, /* the beginning of a record: legal when a recover record tells of it */
	LINE_BAD,
};

/* line without its LF. The fields are not looked into: the chain vouches for them. */
bool audit_frame_read(const char *line, size_t len, struct frame *ret_frame);
/* The whole of it. */
enum line_kind audit_line_classify(const char *line, size_t len);
bool audit_frame_is(const struct frame *frame, enum audit_event event);
/* A top-level field of the record; its JSON text is at cursor. False when there is none. */
bool audit_frame_field(const struct frame *frame, const char *key, struct json_cursor *ret_cursor);
struct field {
	const char *key;
	size_t key_len;
	struct json_cursor value; /* exactly its JSON text */
};

/* Of the text ,"key":value,"key":value ... False: its end, or something that is not one. */
bool audit_field_next(struct json_cursor *cursor, struct field *ret_field);
/* Names and key lists of events.def. */
const char *audit_event_name(enum audit_event event);
const char *audit_event_fields(enum audit_event event);
bool audit_event_is_durable(enum audit_event event);

/* ------------------------------------------------------------------------------------------------
 * chain.c
 */
enum chain_fault {
	CHAIN_FINE,
	CHAIN_NOT_A_RECORD,
	CHAIN_SEQ,
	CHAIN_PREV,
	CHAIN_TORN,    /* a torn line, and the next record does not tell of it */
	CHAIN_RECOVER, /* a recover record that tells of nothing that is there */
	CHAIN_LOG,     /* the first record is not that of this log */
};

struct chain {
	const char *log_id; /* that record 0 must name, or NULL */
	uint64_t next_seq;
	unsigned char prev[LEAF_SIZE];
	uint64_t records;
	uint64_t recovered; /* torn stretches with their recover record */
	uint64_t lost;      /* sequence numbers that a recover or gap record jumped over */
	uint64_t lost_before;
	bool is_anchored; /* false: prev is taken from the first record (a segment read alone) */
	bool is_torn;     /* the last lines were torn and no record came since */
	uint64_t torn_offset;
	uint64_t torn_len;
	struct hl_sha256 torn_hash;
};

struct line {
	const char *text; /* without LF */
	size_t len;
	uint64_t offset; /* in its segment */
	bool has_lf;
	bool is_too_long;
};

void audit_leaf_of(const char *line, size_t len, unsigned char ret_leaf[LEAF_SIZE]);
void audit_chain_init(struct chain *chain, uint64_t next_seq, const unsigned char prev[LEAF_SIZE]);
enum chain_fault audit_chain_step(struct chain *chain, const struct line *line);
/* One sentence for a person about the fault that audit_chain_step() found in line. */
void audit_chain_explain(const struct chain *chain, enum chain_fault fault, const struct line *line,
    char *text, size_t size);

/* ------------------------------------------------------------------------------------------------
 * lines.c
 */
struct lines {
	int fd;
	uint64_t offset; /* of the next line */
	uint64_t end;    /* what lies behind is not read */
	char *buffer;
	size_t buffer_size;
	size_t buffer_len;
	size_t used; /* bytes of buffer that were handed out */
};

int audit_lines_init(struct lines *lines, int fd, uint64_t offset, uint64_t end,
    struct hl_err *err) HL_MUST_CHECK;
void audit_lines_done(struct lines *lines);
/* 1: a line, valid until the next call. 0: the end. -1: err. */
int audit_lines_next(struct lines *lines, struct line *ret_line, struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * head.c
 */
struct head {
	uint64_t first; /* seq in the segment's name */
	uint64_t next;  /* seq of the next record */
	uint64_t size;  /* of the segment, or HEAD_PENDING */
	unsigned char prev[LEAF_SIZE];
};

enum {
	HEAD_SIZE = 128
};

/* While a loss is being told of: only next means something, which must not be forgotten. */
#define HEAD_PENDING UINT64_MAX

bool audit_head_read(int fd, struct head *ret_head);
bool audit_head_write(int fd, const struct head *head) HL_MUST_CHECK;
void audit_segment_name(uint64_t first, char name[SEGMENT_NAME_SIZE]);
bool audit_segment_parse(const char *name, uint64_t *ret_first);

/* ------------------------------------------------------------------------------------------------
 * redact.c and its two sources
 */
struct needle {
	char *text;
	size_t len;
	uint32_t secret; /* index in names */
	uint32_t next;   /* of the same hash, index + 1 */
	bool is_base64;  /* its neighbours may hold bits of the value */
};

enum {
	NEEDLE_MIN = 8,
	NEEDLE_BUCKETS = 2048
};

struct redactor {
	struct hl_strv names;
	unsigned char (*digests)[HL_SHA256_SIZE]; /* of name and value, in the order of names */
	size_t digests_capacity;
	struct needle *needles;
	size_t needles_len;
	size_t needles_capacity;
	uint32_t buckets[NEEDLE_BUCKETS]; /* index + 1 */
};

/* What one text leaves behind for the next of the same command. */
struct redact_state {
	bool is_argument;    /* the text is one argument, not a shell command */
	bool is_next_secret; /* "--password" was the argument before */
	unsigned next_style;
	bool is_next_shell;      /* "-c" was */
	const struct tool *tool; /* a program whose options carry passwords was named */
};

struct span {
	size_t begin;
	size_t end;
	int32_t secret; /* index in names, or -1 */
	const char *pattern;
};

struct spans {
	struct span *items;
	size_t len;
	size_t capacity;
	bool failed;
};

void audit_redactor_init(struct redactor *redactor);
void audit_redactor_done(struct redactor *redactor);
int audit_redactor_add(struct redactor *redactor, const struct audit_secret *secret,
    struct hl_err *err) HL_MUST_CHECK;
/* Appends text to out with what must not be seen replaced; returns how many places that were. */
size_t audit_redact(const struct redactor *redactor, struct redact_state *state, const char *text,
    size_t len, struct hl_buf *out);
/* In order of begin; overlapping spans become one. */
void audit_spans_add(struct spans *spans, const struct span *span);
/* forms.c: the value as programs write it. Calls add for each different form. */
int audit_forms_add(struct redactor *redactor, uint32_t secret, const char *value,
    size_t len) HL_MUST_CHECK;
int audit_needle_add(struct redactor *redactor, uint32_t secret, const struct hl_buf *form,
    bool is_base64) HL_MUST_CHECK;
/* patterns.c: shapes of credentials. */
void audit_patterns_find(struct redact_state *state, const char *text, size_t len,
    struct spans *spans);

/* ------------------------------------------------------------------------------------------------
 * place.c
 */
/* Directory of the log, opened. Writers create and check owners; readers take what is there. */
int audit_place_open_audit(const char *state_dir, bool may_create,
    struct hl_err *err) HL_MUST_CHECK;
int audit_place_open_audit_for_reading(const char *state_dir, struct hl_err *err) HL_MUST_CHECK;
/* *ret_id is "" when there is no log yet; more than one is an error. */
int audit_place_find_log(int audit_fd, char ret_id[HL_ULID_SIZE], struct hl_err *err) HL_MUST_CHECK;
int audit_place_check_owner(int fd, const char *what, struct hl_err *err) HL_MUST_CHECK;
/* A file of the log: not a link, regular, ours. -1 with errno ENOENT in err->sys_errno. */
int audit_place_open_file(int dir, const char *name, int flags, struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * reader.c: a log to be read, as it was at one moment
 */
struct segment {
	uint64_t first;
	uint64_t size;
};

struct reader {
	int dir;
	char log_id[HL_ULID_SIZE];
	bool has_head;
	struct head head;
	struct segment *segments; /* by first */
	size_t segments_len;
};

int audit_reader_init(struct reader *reader, const char *state_dir,
    struct hl_err *err) HL_MUST_CHECK;
void audit_reader_done(struct reader *reader);
/* The lines of one segment; lines->fd is the caller's to close. */
int audit_reader_lines(const struct reader *reader, size_t i, struct lines *lines,
    struct hl_err *err) HL_MUST_CHECK;
int audit_place_list_segments(int log_fd, struct segment **ret_segments, size_t *ret_len,
    struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * The open log
 */
struct audit {
	int dir;
	int lock;
	int head;
	int segment;
	uint64_t segment_first;
	bool is_full; /* the reserve could not be had: only records that must fit are written */
	char log_id[HL_ULID_SIZE];
	char boot[9];
	char run[HL_ULID_SIZE]; /* or "" */
	struct redactor redactor;
	struct hl_buf line;
	struct hl_buf fields;  /* of the last record, kept for the next: no allocation for each */
	struct hl_buf scratch; /* a text being redacted */
};

/* One record, ready but for seq, time and prev. fields: ,"key":value ... */
struct entry {
	enum audit_event event;
	const char *fields;
	size_t fields_len;
	uint64_t redacted;
};

/* append.c. The caller holds the lock; head says where the log ends and is moved on. *ret_written
 * is what reached the file when it failed (errno set). */
int audit_entry_write(struct audit *audit, struct head *head, const struct entry *entry,
    bool lead_lf, size_t *ret_written) HL_MUST_CHECK;
/* lock.c: flock(2), for at most LOCK_WAIT_MS in which nobody else gets on: growing is a file that
 * every holder makes longer, -1 = none; and for LOCK_CROWD_MS in all. */
int audit_lock_take(int fd, int growing, const char *what, struct hl_err *err) HL_MUST_CHECK;
void audit_lock_drop(int fd);
/* reserve.c: room that is kept free for the records that must fit. */
int audit_reserve_ensure(int log_fd, bool *ret_is_full, struct hl_err *err) HL_MUST_CHECK;
void audit_reserve_free(int log_fd);
bool audit_is_no_space(int number);
/* recover.c: makes head true, and the log whole, when they do not agree; can_recover only looks
 * whether that can be done (known is what the head says, or NULL). */
int audit_recover(struct audit *audit, struct head *head, bool has_head, uint64_t size,
    struct hl_err *err) HL_MUST_CHECK;
int audit_can_recover(const struct audit *audit, const struct head *known, uint64_t size,
    struct hl_err *err) HL_MUST_CHECK;
int audit_recover_torn(struct audit *audit, struct head *head, const struct chain *torn,
    bool lead_lf, const char *cause) HL_MUST_CHECK;
/* record.c */
int audit_record_check_fields(enum audit_event event, const char *fields, size_t len,
    struct hl_err *err) HL_MUST_CHECK;

#endif
