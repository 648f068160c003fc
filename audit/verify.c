/*
 * Was the log changed? Reads every line once and follows the chain; the head vouches for the last
 * record, which no later one does. Three answers: ok; tampered, with the first record that is not
 * what was written; incomplete, when something is missing that a crash can also have taken.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

struct verifier {
	const struct reader *reader;
	struct chain chain;
	struct audit_verify_result *result;
	uint64_t last_offset; /* of the last record that was taken */
	bool is_whole;        /* of the last line: has an LF */
};

static void
tampered(struct verifier *verifier, uint64_t seq, uint64_t offset, const char *detail)
{
	struct audit_verify_result *result = verifier->result;

	result->verdict = AUDIT_TAMPERED;
	result->bad_seq = seq;
	result->bad_offset = offset;
	snprintf(result->detail, sizeof(result->detail), "%s", detail);
}

/* Does the head hold the hash of the record before seq? */
static bool
head_vouches(const struct verifier *verifier, uint64_t seq)
{
	const struct reader *reader = verifier->reader;

	return reader->has_head && reader->head.size != HEAD_PENDING && reader->head.next == seq;
}

/* The first reason stays. */
static void __attribute__((format(printf, 3, 4)))
incomplete(struct verifier *verifier, uint64_t seq, const char *format, ...)
{
	struct audit_verify_result *result = verifier->result;
	va_list ap;

	if (result->verdict != AUDIT_OK)
		return;
	result->verdict = AUDIT_INCOMPLETE;
	result->bad_seq = seq;
	va_start(ap, format);
	vsnprintf(result->detail, sizeof(result->detail), format, ap);
	va_end(ap);
}

/* Who is wrong, the record before this one or the hash of it that stands in this one? The next
 * record, or the head, vouches for this one. */
static int
vouches(const struct verifier *verifier, struct lines *lines, uint64_t seq,
    const unsigned char leaf[LEAF_SIZE], struct hl_err *err)
{
	const struct head *head = &verifier->reader->head;
	struct line next;
	struct frame frame;
	int rc = audit_lines_next(lines, &next, err);

	if (rc < 0)
		return -1;
	if (rc == 1 && audit_frame_read(next.text, next.len, &frame))
		return memcmp(frame.prev, leaf, LEAF_SIZE) == 0;
	if (!head_vouches(verifier, seq + 1))
		return 1;
	return memcmp(head->prev, leaf, LEAF_SIZE) == 0;
}

static int
found_fault(struct verifier *verifier, enum chain_fault fault, const struct line *line,
    struct lines *lines, struct hl_err *err)
{
	const struct chain *chain = &verifier->chain;
	uint64_t seq = chain->next_seq, offset = line->offset;
	unsigned char leaf[LEAF_SIZE];
	char detail[sizeof(verifier->result->detail)];

	audit_chain_explain(chain, fault, line, detail, sizeof(detail));
	/* Two lines that have become one have the frame of a record and are none. */
	if (fault == CHAIN_PREV && audit_line_classify(line->text, line->len) == LINE_RECORD) {
		audit_leaf_of(line->text, line->len, leaf);
		int is_this_good = vouches(verifier, lines, seq, leaf, err);
		if (is_this_good < 0)
			return -1;
		if (is_this_good == 1 && chain->records > 0) {
			seq--;
			offset = verifier->last_offset;
		}
	}
	if (chain->is_torn && (fault == CHAIN_TORN || fault == CHAIN_RECOVER))
		offset = chain->torn_offset;
	tampered(verifier, seq, offset, detail);
	return 0;
}

/* What is known beside the chain about a record that was just taken. */
static void
check_taken(struct verifier *verifier, const struct segment *segment, const struct line *line)
{
	const struct head *head = &verifier->reader->head;
	const struct chain *chain = &verifier->chain;

	verifier->last_offset = line->offset;
	if (!head_vouches(verifier, chain->next_seq))
		return;
	if (memcmp(head->prev, chain->prev, LEAF_SIZE) != 0)
		tampered(verifier, chain->next_seq - 1, line->offset,
		    "the record's hash is not the one that the head holds");
	else if (head->first != segment->first || head->size != line->offset + line->len + 1)
		tampered(verifier, chain->next_seq - 1, line->offset,
		    "the record does not end where the head says");
}

static int
read_segment(struct verifier *verifier, size_t i, struct lines *lines, struct hl_err *err)
{
	const struct segment *segment = &verifier->reader->segments[i];
	struct line line;
	int rc;

	while ((rc = audit_lines_next(lines, &line, err)) == 1) {
		enum chain_fault fault = audit_chain_step(&verifier->chain, &line);
		if (fault != CHAIN_FINE)
			return found_fault(verifier, fault, &line, lines, err);
		verifier->is_whole = line.has_lf;
		if (verifier->chain.is_torn)
			continue;
		/* Nothing later vouches for the last line of all: it must be a record to the end.
		 */
		if (lines->offset >= lines->end &&
		    audit_line_classify(line.text, line.len) != LINE_RECORD) {
			tampered(verifier, verifier->chain.next_seq - 1, line.offset,
			    "the line is not a record");
			return 0;
		}
		check_taken(verifier, segment, &line);
		if (verifier->result->verdict == AUDIT_TAMPERED)
			return 0;
	}
	return rc;
}

/* Do the segments follow one another? */
static bool
begin_segment(struct verifier *verifier, size_t i)
{
	static const unsigned char zeros[LEAF_SIZE];
	struct chain *chain = &verifier->chain;
	uint64_t first = verifier->reader->segments[i].first;

	if (i == 0) {
		audit_chain_init(chain, first, first == 0 ? zeros : NULL);
		chain->log_id = verifier->reader->log_id;
		if (first > 0)
			incomplete(verifier, 0, "the segments before record %llu are missing",
			    (unsigned long long)first);
		return true;
	}
	if (chain->is_torn || !verifier->is_whole) {
		tampered(verifier, chain->next_seq, 0,
		    "a segment does not end with a whole record");
		return false;
	}
	if (first < chain->next_seq) {
		tampered(verifier, chain->next_seq, 0, "two segments hold the same records");
		return false;
	}
	if (first > chain->next_seq) {
		incomplete(verifier, chain->next_seq, "records %llu to %llu are missing",
		    (unsigned long long)chain->next_seq, (unsigned long long)first - 1);
		chain->next_seq = first;
		chain->is_anchored = false;
	}
	return true;
}

static void
check_end(struct verifier *verifier)
{
	const struct reader *reader = verifier->reader;
	const struct chain *chain = &verifier->chain;
	unsigned long long next = chain->next_seq;

	if (reader->has_head && reader->head.next > chain->next_seq)
		incomplete(verifier, next, "the end is missing: records %llu to %llu", next,
		    (unsigned long long)reader->head.next - 1);
	if (chain->is_torn)
		incomplete(verifier, next,
		    "the last line is torn, and no record tells of it yet (%llu bytes)",
		    (unsigned long long)chain->torn_len);
	else if (!verifier->is_whole)
		incomplete(verifier, next, "the last line has no end");
	if (chain->lost > 0)
		incomplete(verifier, chain->lost_before, "%llu records before %llu were lost",
		    (unsigned long long)chain->lost, (unsigned long long)chain->lost_before);
	if (!reader->has_head || reader->head.size == HEAD_PENDING)
		incomplete(verifier, next,
		    "'head' is missing or damaged: nothing vouches for the last record");
	if (chain->records == 0)
		incomplete(verifier, 0, "there are no records");
}

static int
verify(struct verifier *verifier, struct hl_err *err)
{
	const struct reader *reader = verifier->reader;

	verifier->is_whole = true;
	for (size_t i = 0; i < reader->segments_len; i++) {
		struct lines lines;
		if (!begin_segment(verifier, i))
			return 0;
		if (audit_reader_lines(reader, i, &lines, err) != 0)
			return -1;
		int rc = read_segment(verifier, i, &lines, err);
		hl_close_ptr(&lines.fd);
		audit_lines_done(&lines);
		if (rc != 0)
			return -1;
		if (verifier->result->verdict == AUDIT_TAMPERED)
			return 0;
	}
	check_end(verifier);
	return 0;
}

int
audit_verify(const char *state_dir, struct audit_verify_result *ret_result, struct hl_err *err)
{
	struct reader reader;
	struct audit_verify_result result = { .verdict = AUDIT_OK };

	if (audit_reader_init(&reader, state_dir, err) != 0)
		return -1;
	struct verifier verifier = { .reader = &reader, .result = &result };
	memcpy(result.log_id, reader.log_id, sizeof(result.log_id));
	int rc = verify(&verifier, err);
	result.records = verifier.chain.records;
	result.recovered = verifier.chain.recovered;
	audit_reader_done(&reader);
	if (rc == 0)
		*ret_result = result;
	return rc;
}
