/*
 * What happens when the head and the segment do not agree: a process died between its two writes,
 * the power went, or somebody touched the files. What is complete and in the chain is taken; a torn
 * end stays where it is, is closed with an LF and told of by a recover record; records that the
 * head knows and the file has lost are told of by a gap record. Anything else is not continued: a
 * log that was changed must not look whole again because somebody appended to it.
 */
#include <sys/stat.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

static int
corrupt(struct hl_err *err, const struct audit *audit, const char *why, uint64_t offset)
{
	hl_err_set(err, HLA_05, "audit log '%s' is damaged at byte %llu of segment %llu: %s",
	    audit->log_id, (unsigned long long)offset, (unsigned long long)audit->segment_first,
	    why);
	return hl_err_help(err,
	    "see 'hermes-launch audit verify'; to go on, move the log's directory "
	    "to a safe place: the next run begins a new log");
}

/* The head is the only one who knows the hash of what was the last record. */
static bool
agrees(const struct chain *chain, const struct head *known)
{
	return known == NULL || known->size == HEAD_PENDING || chain->next_seq != known->next ||
	       memcmp(chain->prev, known->prev, LEAF_SIZE) == 0;
}

/* A way through the segment, and what was found at its end. */
struct scan {
	uint64_t offset;          /* where chain stands */
	uint64_t size;            /* how far */
	const struct head *known; /* or NULL */
	struct chain chain;
	bool has_lf; /* the last line */
};

static enum chain_fault
scan_line(struct scan *scan, const struct lines *lines, const struct line *line)
{
	enum chain_fault fault = audit_chain_step(&scan->chain, line);

	scan->has_lf = line->has_lf;
	/* The last one has no successor that vouches for it. */
	if (fault == CHAIN_FINE && lines->offset >= lines->end && !scan->chain.is_torn &&
	    audit_line_classify(line->text, line->len) != LINE_RECORD)
		return CHAIN_NOT_A_RECORD;
	return fault;
}

static int
run_scan(const struct audit *audit, struct scan *scan, struct hl_err *err)
{
	struct lines lines HL_AUTO(audit_lines_done) = { .fd = -1 };
	struct line line;
	char why[256];
	int rc;

	if (audit_lines_init(&lines, audit->segment, scan->offset, scan->size, err) != 0)
		return -1;
	scan->has_lf = true;
	while ((rc = audit_lines_next(&lines, &line, err)) == 1) {
		enum chain_fault fault = scan_line(scan, &lines, &line);
		if (fault != CHAIN_FINE) {
			audit_chain_explain(&scan->chain, fault, &line, why, sizeof(why));
			return corrupt(err, audit, why, line.offset);
		}
		if (!scan->chain.is_torn && !agrees(&scan->chain, scan->known))
			return corrupt(err, audit, "the record is not the one that was written",
			    line.offset);
	}
	return rc;
}

int
audit_recover_torn(struct audit *audit, struct head *head, const struct chain *torn, bool lead_lf,
    const char *cause)
{
	struct hl_sha256 ctx = torn->torn_hash;
	unsigned char digest[HL_SHA256_SIZE];
	char hex[HL_SHA256_HEX_SIZE];
	struct hl_buf fields HL_AUTO(hl_buf_done) = { 0 };
	size_t written;

	hl_sha256_final(&ctx, digest);
	hl_sha256_hex(digest, hex);
	hl_buf_init(&fields, FRAME_MAX);
	hl_buf_putf(&fields, ",\"offset\":%llu,\"length\":%llu,\"sha256\":\"%s\",\"cause\":\"%s\"",
	    (unsigned long long)torn->torn_offset, (unsigned long long)torn->torn_len, hex, cause);
	struct entry entry = { AUDIT_RECOVER, fields.data, fields.len, 0 };
	return audit_entry_write(audit, head, &entry, lead_lf, &written);
}

static int
tell_of_loss(struct audit *audit, struct head *head, uint64_t from, uint64_t to)
{
	struct hl_buf fields HL_AUTO(hl_buf_done) = { 0 };
	size_t written;

	hl_buf_init(&fields, FRAME_MAX);
	hl_buf_putf(&fields, ",\"from\":%llu,\"to\":%llu,\"cause\":\"lost\"",
	    (unsigned long long)from, (unsigned long long)to);
	struct entry entry = { AUDIT_GAP, fields.data, fields.len, 0 };
	return audit_entry_write(audit, head, &entry, false, &written);
}

static int
close_last_line(const struct audit *audit, struct head *head)
{
	if (hl_write_full(audit->segment, "\n", 1) != 0)
		return -1;
	head->size++;
	return 0;
}

/* The segment was read to its end: writes what has to be told. */
static int
mend(struct audit *audit, struct head *head, const struct scan *scan, uint64_t known_next)
{
	const struct chain *chain = &scan->chain;
	uint64_t from = chain->next_seq;
	bool has_loss = known_next > from;

	if (has_loss) {
		/* The old head could fit the mended file by chance; one that fits none stands until
		 * all is told, and keeps the number. */
		struct head pending = { head->first, known_next, HEAD_PENDING, { 0 } };
		if (!audit_head_write(audit->head, &pending) || fdatasync(audit->head) != 0)
			return -1;
		head->next = known_next;
	}
	if (chain->is_torn && audit_recover_torn(audit, head, chain, !scan->has_lf, "torn") != 0)
		return -1;
	if (!chain->is_torn && !scan->has_lf && close_last_line(audit, head) != 0)
		return -1;
	if (has_loss && tell_of_loss(audit, head, from, known_next - 1) != 0)
		return -1;
	return 0;
}

/* Only what came after the head was written; false when that leads nowhere. */
static bool
scan_behind_head(const struct audit *audit, const struct head *head, uint64_t size,
    struct scan *scan)
{
	struct hl_err ignored;

	if (head->first != audit->segment_first || head->size > size)
		return false;
	*scan = (struct scan){ .offset = head->size, .size = size };
	audit_chain_init(&scan->chain, head->next, head->prev);
	return run_scan(audit, scan, &ignored) == 0;
}

static int
scan_all(const struct audit *audit, const struct head *known, uint64_t size, struct scan *scan,
    struct hl_err *err)
{
	static const unsigned char zeros[LEAF_SIZE];
	uint64_t first = audit->segment_first;

	*scan = (struct scan){ .size = size, .known = known };
	audit_chain_init(&scan->chain, first, first == 0 ? zeros : NULL);
	scan->chain.log_id = audit->log_id;
	if (run_scan(audit, scan, err) != 0)
		return -1;
	if (scan->chain.records == 0)
		return corrupt(err, audit, "its first record is missing", 0);
	return 0;
}

static int
scan_to_end(const struct audit *audit, const struct head *known, uint64_t size, struct scan *scan,
    struct hl_err *err)
{
	if (known != NULL && scan_behind_head(audit, known, size, scan))
		return 0;
	return scan_all(audit, known, size, scan, err);
}

int
audit_can_recover(const struct audit *audit, const struct head *known, uint64_t size,
    struct hl_err *err)
{
	struct scan scan;

	return scan_to_end(audit, known, size, &scan, err);
}

int
audit_recover(struct audit *audit, struct head *head, bool has_head, uint64_t size,
    struct hl_err *err)
{
	struct scan scan;
	uint64_t known_next = has_head ? head->next : 0;

	if (scan_to_end(audit, has_head ? head : NULL, size, &scan, err) != 0)
		return -1;
	*head = (struct head){
		.first = audit->segment_first,
		.next = scan.chain.next_seq,
		.size = size,
	};
	memcpy(head->prev, scan.chain.prev, LEAF_SIZE);
	if (mend(audit, head, &scan, known_next) != 0)
		return hl_err_sys(err, audit_is_no_space(errno) ? HLA_06 : HLA_01,
		    "cannot mend the audit log after a crash");
	if (!audit_head_write(audit->head, head))
		return hl_err_sys(err, HLA_01, "cannot write 'head' of the audit log");
	return 0;
}
