/*
 * The head: where the log ends, so that an append need not read the log. Only a cache, and not
 * believed when its checksum or the size of the segment says otherwise; but it is also the only
 * thing that knows the hash of the last record, so a reader compares.
 *
 * 128 bytes, little-endian: magic, first, next, size, prev, zeros, and in the last eight a checksum
 * of what stands before. It finds what a crash has left half-written; against malice nothing that
 * fits in this file would help, so a fast one does.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

static const char magic[8] = "HLHEAD1\n";

enum {
	CHECKSUM_SIZE = 8,
	BODY_SIZE = HEAD_SIZE - CHECKSUM_SIZE,
	PREV_OFFSET = 32
};

static void
put_number(unsigned char *bytes, uint64_t number)
{
	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(number >> (8 * i));
}

static uint64_t
get_number(const unsigned char *bytes)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < 8; i++)
		number |= (uint64_t)bytes[i] << (8 * i);
	return number;
}

/* Each step can be undone, so that no change of one word leaves the sum as it was. */
static uint64_t
checksum(const unsigned char *body)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < BODY_SIZE; i += 8) {
		sum = (sum ^ get_number(body + i)) * 0x9e3779b97f4a7c15ULL;
		sum ^= sum >> 32;
	}
	return sum;
}

bool
audit_head_read(int fd, struct head *ret_head)
{
	unsigned char bytes[HEAD_SIZE];

	if (fd < 0 || pread(fd, bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes) ||
	    memcmp(bytes, magic, sizeof(magic)) != 0 ||
	    get_number(bytes + BODY_SIZE) != checksum(bytes))
		return false;
	ret_head->first = get_number(bytes + 8);
	ret_head->next = get_number(bytes + 16);
	ret_head->size = get_number(bytes + 24);
	memcpy(ret_head->prev, bytes + PREV_OFFSET, LEAF_SIZE);
	return true;
}

bool
audit_head_write(int fd, const struct head *head)
{
	unsigned char bytes[HEAD_SIZE] = { 0 };

	memcpy(bytes, magic, sizeof(magic));
	put_number(bytes + 8, head->first);
	put_number(bytes + 16, head->next);
	put_number(bytes + 24, head->size);
	memcpy(bytes + PREV_OFFSET, head->prev, LEAF_SIZE);
	put_number(bytes + BODY_SIZE, checksum(bytes));
	return pwrite(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes);
}

void
audit_segment_name(uint64_t first, char name[SEGMENT_NAME_SIZE])
{
	snprintf(name, SEGMENT_NAME_SIZE, "%020llu.jsonl", (unsigned long long)first);
}

bool
audit_segment_parse(const char *name, uint64_t *ret_first)
{
	uint64_t first = 0;

	if (strlen(name) != SEGMENT_NAME_SIZE - 1 || strcmp(name + 20, ".jsonl") != 0)
		return false;
	for (unsigned i = 0; i < 20; i++) {
		if (name[i] < '0' || name[i] > '9' || __builtin_mul_overflow(first, 10, &first) ||
		    __builtin_add_overflow(first, (uint64_t)(name[i] - '0'), &first))
			return false;
	}
	*ret_first = first;
	return true;
}
