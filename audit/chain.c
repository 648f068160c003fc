/*
 * The rule for readers, in one place for verify and for recovery: numbers without a hole, each
 * record carrying the hash of the one before, and lines that are no records only where a crash can
 * have left them: torn beginnings of records, told of by the next record, a recover, with their
 * exact offset, length and hash. Nothing else is legal.
 */
#include <stdio.h>
#include <string.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

void
audit_leaf_of(const char *line, size_t len, unsigned char ret_leaf[LEAF_SIZE])
{
	struct hl_sha256 ctx;

	/* The zero byte keeps leaves apart from inner nodes of a tree, RFC 6962 2.1. */
	hl_sha256_init(&ctx);
	hl_sha256_update(&ctx, "", 1);
	hl_sha256_update(&ctx, line, len);
	hl_sha256_final(&ctx, ret_leaf);
}

void
audit_chain_init(struct chain *chain, uint64_t next_seq, const unsigned char prev[LEAF_SIZE])
{
	*chain = (struct chain){ .next_seq = next_seq, .is_anchored = prev != NULL };
	if (prev != NULL)
		memcpy(chain->prev, prev, LEAF_SIZE);
}

static void
torn_add(struct chain *chain, const struct line *line)
{
	if (chain->is_torn) {
		hl_sha256_update(&chain->torn_hash, "\n", 1);
	} else {
		chain->is_torn = true;
		chain->torn_offset = line->offset;
		hl_sha256_init(&chain->torn_hash);
	}
	hl_sha256_update(&chain->torn_hash, line->text, line->len);
	chain->torn_len = line->offset + line->len - chain->torn_offset;
}

static bool
field_is_number(const struct frame *frame, const char *key, uint64_t expected)
{
	struct json_cursor cursor;
	uint64_t number;

	return audit_frame_field(frame, key, &cursor) && audit_json_take_number(&cursor, &number) &&
	       number == expected;
}

/* Does the recover record tell of the torn lines before it, and of nothing else? */
static bool
tells_of(const struct frame *frame, const struct chain *chain)
{
	struct hl_sha256 ctx = chain->torn_hash;
	unsigned char digest[HL_SHA256_SIZE];
	char hex[HL_SHA256_HEX_SIZE];
	struct json_cursor cursor;

	hl_sha256_final(&ctx, digest);
	hl_sha256_hex(digest, hex);
	return field_is_number(frame, "offset", chain->torn_offset) &&
	       field_is_number(frame, "length", chain->torn_len) &&
	       audit_frame_field(frame, "sha256", &cursor) && audit_json_take(&cursor, "\"") &&
	       audit_json_take(&cursor, hex) && audit_json_take(&cursor, "\"");
}

static bool
names_log(const struct frame *frame, const char *log_id)
{
	struct json_cursor cursor;

	return audit_frame_is(frame, AUDIT_LOG_OPEN) && audit_frame_field(frame, "log", &cursor) &&
	       audit_json_take(&cursor, "\"") && audit_json_take(&cursor, log_id) &&
	       audit_json_take(&cursor, "\"");
}

static enum chain_fault
check_record(const struct chain *chain, const struct frame *frame)
{
	bool is_recover = audit_frame_is(frame, AUDIT_RECOVER);

	if (chain->is_torn && !is_recover)
		return CHAIN_TORN;
	if (is_recover && (!chain->is_torn || !tells_of(frame, chain)))
		return CHAIN_RECOVER;
	/* A number is never used twice: after a loss the log goes on behind what was lost. */
	bool may_jump = is_recover || audit_frame_is(frame, AUDIT_GAP);
	if (frame->seq < chain->next_seq || (frame->seq > chain->next_seq && !may_jump))
		return CHAIN_SEQ;
	if (chain->is_anchored && memcmp(frame->prev, chain->prev, LEAF_SIZE) != 0)
		return CHAIN_PREV;
	if (frame->seq == 0 && chain->log_id != NULL && !names_log(frame, chain->log_id))
		return CHAIN_LOG;
	return CHAIN_FINE;
}

enum chain_fault
audit_chain_step(struct chain *chain, const struct line *line)
{
	struct frame frame;

	if (line->is_too_long)
		return CHAIN_NOT_A_RECORD;
	if (!audit_frame_read(line->text, line->len, &frame)) {
		if (audit_line_classify(line->text, line->len) != LINE_TORN)
			return CHAIN_NOT_A_RECORD;
		torn_add(chain, line);
		return CHAIN_FINE;
	}
	enum chain_fault fault = check_record(chain, &frame);
	if (fault != CHAIN_FINE)
		return fault;
	if (frame.seq > chain->next_seq) {
		chain->lost += frame.seq - chain->next_seq;
		chain->lost_before = frame.seq;
	}
	chain->recovered += chain->is_torn;
	chain->is_torn = false;
	chain->is_anchored = true;
	chain->records++;
	chain->next_seq = frame.seq + 1;
	audit_leaf_of(line->text, line->len, chain->prev);
	return CHAIN_FINE;
}

void
audit_chain_explain(const struct chain *chain, enum chain_fault fault, const struct line *line,
    char *text, size_t size)
{
	struct frame frame = { 0 };
	char expected[HL_SHA256_HEX_SIZE], found[HL_SHA256_HEX_SIZE];

	if (!line->is_too_long && !audit_frame_read(line->text, line->len, &frame))
		frame.seq = chain->next_seq;
	switch (fault) {
	case CHAIN_FINE:
		text[0] = '\0';
		return;
	case CHAIN_NOT_A_RECORD:
		snprintf(text, size, "the line is not a record");
		return;
	case CHAIN_SEQ:
		snprintf(text, size, "record number: expected %llu, found %llu",
		    (unsigned long long)chain->next_seq, (unsigned long long)frame.seq);
		return;
	case CHAIN_PREV:
		hl_sha256_hex(chain->prev, expected);
		hl_sha256_hex(frame.prev, found);
		snprintf(text, size, "hash of the record before: expected %s, found %s", expected,
		    found);
		return;
	case CHAIN_TORN:
		snprintf(text, size, "a torn line, and the next record does not tell of it");
		return;
	case CHAIN_LOG:
		snprintf(text, size, "the first record is not that of log '%s'", chain->log_id);
		return;
	case CHAIN_RECOVER:
		snprintf(text, size, "a recover record that does not fit what stands before it");
		return;
	}
}
