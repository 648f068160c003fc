/*
 * The bytes of a policy before any YAML: what must not be in them at all, and where the lines are.
 *
 * A reviewer, an editor and this program have to see the same text. So: UTF-8 only, no byte order
 * mark, no control characters, no carriage return outside a line end, and none of the characters
 * that reorder or hide what stands around them (Trojan-source attacks).
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/node.h"

#include "base/banned.h"

/* Bytes that end the scan, because everything behind them would be a guess. */
static bool
has_foreign_encoding(struct policy_source *source, struct diag *diag)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *message;
		const char *help;
	} marks[] = {
		{ "\xef\xbb\xbf", 3, "the file begins with a byte order mark",
		    "remove the byte order mark (EF BB BF)" },
		{ "\xff\xfe", 2, "the file is UTF-16, not UTF-8", "save it as UTF-8" },
		{ "\xfe\xff", 2, "the file is UTF-16, not UTF-8", "save it as UTF-8" },
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(marks); i++) {
		if (source->len < marks[i].len ||
		    memcmp(source->bytes, marks[i].bytes, marks[i].len) != 0)
			continue;
		policy_diag_error(diag, HLY_08, (struct diag_at){ 1, 1, 0 }, "%s",
		    marks[i].message);
		policy_diag_help(diag, "%s", marks[i].help);
		return true;
	}
	return false;
}

/* Adds the hidden characters that hl_utf8_is_deceptive() leaves to others. */
static bool
is_hidden(uint32_t point)
{
	return hl_utf8_is_deceptive(point) || point == 0xad || point == 0x34f || point == 0x180e ||
	       (point >= 0x2060 && point <= 0x206f) || (point >= 0xfff9 && point <= 0xfffb) ||
	       (point >= 0xe0000 && point <= 0xe007f);
}

/* How many bytes from here nothing is asked about: nearly all of a policy. Eight at a time. */
static size_t
plain_len(const char *text, size_t len)
{
	const uint64_t ones = UINT64_MAX / 255, tops = ones << 7;
	size_t n = 0;

	for (uint64_t word; len - n >= sizeof(word); n += sizeof(word)) {
		memcpy(&word, text + n, sizeof(word));
		/* The top bit of a byte that is 0x80 or more, or 0x7f, or below 0x20. */
		if (((word | (word + ones) | (word - ones * 0x20)) & tops) != 0)
			break;
	}
	while (n < len && text[n] >= 0x20 && text[n] < 0x7f)
		n++;
	return n;
}

bool
policy_text_check(const char *text, size_t len, struct diag_at at, struct diag *diag)
{
	uint32_t point;

	for (size_t n; len > 0; text += n, len -= n) {
		n = plain_len(text, len);
		if (n > 0)
			continue;
		n = hl_utf8_next(text, len, &point);
		if (n == 0)
			return false;
		if (point < 0x20 || (point >= 0x7f && point <= 0x9f)) {
			policy_diag_error(diag, HLY_09, at,
			    "a value holds the control character U+%04X", point);
			policy_diag_help(diag,
			    "values are one line of plain text; remove the character");
			return false;
		}
		if (is_hidden(point)) {
			policy_diag_error(diag, HLY_12, at,
			    "a value holds the hidden or reordering character U+%04X", point);
			policy_diag_help(diag,
			    "remove it: what a reviewer sees must be what is read");
			return false;
		}
	}
	return true;
}

/* One character that is not plain text. False: stop here. */
static bool
report_point(struct diag *diag, uint32_t point, struct diag_at at)
{
	if (point == 0) {
		policy_diag_error(diag, HLY_08, at, "the file holds a NUL byte");
		return false;
	}
	if (point < 0x20 || (point >= 0x7f && point <= 0x9f)) {
		policy_diag_error(diag, HLY_09, at, "the file holds the control character U+%04X",
		    point);
		/* A lone carriage return or U+0085 is a line end to some readers only. */
		return point != '\r' && point != 0x85;
	}
	policy_diag_error(diag, HLY_12, at,
	    "the file holds the hidden or reordering character U+%04X", point);
	policy_diag_help(diag, "remove it: what a reviewer sees must be what is read");
	return point != 0x2028 && point != 0x2029;
}

static bool
is_plain_point(const struct policy_source *source, size_t offset, uint32_t point)
{
	if (point == '\r')
		return offset + 1 < source->len && source->bytes[offset + 1] == '\n';
	if (point == '\t' || (point >= 0x20 && point < 0x7f))
		return true;
	return point >= 0xa0 && !is_hidden(point);
}

static bool
scan(struct policy_source *source, struct diag *diag)
{
	size_t line_start = 0;
	uint32_t point;

	source->is_ascii = true;

	for (size_t at = 0, n; at < source->len; at += n) {
		struct diag_at place = { (uint32_t)source->lines, (uint32_t)(at - line_start + 1),
			1 };
		if (source->bytes[at] == '\n') {
			n = 1;
			line_start = at + 1;
			source->starts[source->lines++] = (uint32_t)line_start;
			continue;
		}
		n = plain_len(source->bytes + at, source->len - at);
		if (n > 0)
			continue;
		n = hl_utf8_next(source->bytes + at, source->len - at, &point);
		source->is_ascii = source->is_ascii && n == 1;
		if (n == 0) {
			policy_diag_error(diag, HLY_08, place, "the file is not valid UTF-8 here");
			policy_diag_help(diag, "save it as UTF-8");
			return false;
		}
		place.width = (uint32_t)n;
		if (is_plain_point(source, at, point))
			continue;
		source->has_hidden = source->has_hidden || is_hidden(point);
		if (!report_point(diag, point, place))
			return false;
	}
	return true;
}

/* Looked for once: a file can be one line of 1 MiB with a place in it for every value. A scan that
 * broke off knows no line after the one it stopped in. */
static size_t
last_line_len(const struct policy_source *source)
{
	const char *start = source->bytes + source->starts[source->lines - 1];
	size_t len = source->len - source->starts[source->lines - 1];
	const char *end = memchr(start, '\n', len);

	return end != NULL ? (size_t)(end - start) : len;
}

int
policy_source_init(struct policy_source *source, struct diag *diag, bool *ret_is_text,
    struct hl_err *err)
{
	const char *end = source->bytes + source->len;
	size_t lines = 2;

	for (const char *at = source->bytes; (at = memchr(at, '\n', (size_t)(end - at))) != NULL;
	     at++)
		lines++;
	source->starts = calloc(lines, sizeof(*source->starts));
	if (source->starts == NULL)
		return hl_err_oom(err);
	source->lines = 1;
	*ret_is_text = !has_foreign_encoding(source, diag) && scan(source, diag);
	source->last_len = last_line_len(source);
	return 0;
}

void
policy_source_done(struct policy_source *source)
{
	free(source->starts);
	*source = (struct policy_source){ 0 };
}

const char *
policy_source_line(const struct policy_source *source, uint32_t line, size_t *ret_len)
{
	*ret_len = 0;
	if (line == 0 || line > source->lines)
		return "";
	const char *start = source->bytes + source->starts[line - 1];
	size_t len = line < source->lines ? source->starts[line] - 1 - source->starts[line - 1]
					  : source->last_len;
	if (len > 0 && start[len - 1] == '\r')
		len--;
	*ret_len = len;
	return start;
}
