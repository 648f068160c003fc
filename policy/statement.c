/*
 * What a note says of a policy: one line each for id, revision, digest and, where there is one, the
 * time it ends. One text for one statement: what is read is what policy_statement_put() writes.
 */
#include <stdio.h>
#include <string.h>

#include "policy/note.h"

#include "base/banned.h"

const char policy_statement_origin[] = "hermes-launch/policy/v1\n";

/* The next line, without prefix and newline, into out. False: there is none, or it does not begin
 * so, or is longer. */
static bool
take_line(const char **at, const char *end, const char *prefix, char *out, size_t size)
{
	const char *newline = memchr(*at, '\n', (size_t)(end - *at));
	size_t prefix_len = strlen(prefix);

	if (newline == NULL || (size_t)(newline - *at) < prefix_len ||
	    memcmp(*at, prefix, prefix_len) != 0)
		return false;
	size_t len = (size_t)(newline - *at) - prefix_len;
	if (len == 0 || len >= size)
		return false;
	memcpy(out, *at + prefix_len, len);
	out[len] = '\0';
	*at = newline + 1;
	return true;
}

static bool
is_policy_id(const char *id)
{
	static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789._/-";

	return strchr("._/-", id[0]) == NULL && strspn(id, rest) == strlen(id);
}

static bool
is_digest(const char *text)
{
	return strlen(text) == HL_SHA256_HEX_SIZE - 1 &&
	       strspn(text, "0123456789abcdef") == HL_SHA256_HEX_SIZE - 1;
}

/* Two digits of a time, from low to high. */
static bool
is_between(const char *digits, unsigned low, unsigned high)
{
	unsigned value = (unsigned)(digits[0] - '0') * 10 + (unsigned)(digits[1] - '0');

	return value >= low && value <= high;
}

static bool
is_time(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";

	if (strlen(text) != sizeof(form) - 1)
		return false;
	for (size_t i = 0; form[i] != '\0'; i++) {
		bool is_digit = text[i] >= '0' && text[i] <= '9';
		if (form[i] == 'd' ? !is_digit : text[i] != form[i])
			return false;
	}
	return is_between(text + 5, 1, 12) && is_between(text + 8, 1, 31) &&
	       is_between(text + 11, 0, 23) && is_between(text + 14, 0, 59) &&
	       is_between(text + 17, 0, 59);
}

int
policy_statement_time(const char *text, char ret_time[NOTE_TIME_SIZE], struct hl_err *err)
{
	char time[NOTE_TIME_SIZE] = { 0 };
	int n = snprintf(time, sizeof(time), "%s%s", text, strlen(text) == 10 ? "T00:00:00Z" : "");

	if (n != NOTE_TIME_SIZE - 1 || !is_time(time)) {
		hl_err_set(err, HLU_01, "'%.40s' is not a time", text);
		return hl_err_help(err, "write 2027-06-30 or 2027-06-30T12:00:00Z (UTC)");
	}
	memcpy(ret_time, time, sizeof(time));
	return 0;
}

int
policy_statement_parse(const char *text, size_t len, struct policy_statement *ret_statement,
    struct hl_err *err)
{
	struct policy_statement statement = { 0 };
	size_t origin_len = strlen(policy_statement_origin);
	const char *at = text + origin_len, *end = text + len;
	char revision[24];

	if (len < origin_len || memcmp(text, policy_statement_origin, origin_len) != 0)
		return hl_err_set(err, HLS_04, "the note is not about a policy");
	if (!take_line(&at, end, "", statement.id, sizeof(statement.id)) ||
	    !is_policy_id(statement.id))
		return hl_err_set(err, HLS_04, "the note's second line is no policy id");
	if (!take_line(&at, end, "revision ", revision, sizeof(revision)) ||
	    hl_parse_u64(revision, 1, POLICY_REVISION_MAX, &statement.revision, err) != 0)
		return hl_err_set(err, HLS_04, "the note's third line is no revision");
	if (!take_line(&at, end, "sha256 ", statement.sha256, sizeof(statement.sha256)) ||
	    !is_digest(statement.sha256))
		return hl_err_set(err, HLS_04, "the note's fourth line is no SHA-256");
	if (at < end &&
	    (!take_line(&at, end, "not-after ", statement.not_after, sizeof(statement.not_after)) ||
		!is_time(statement.not_after)))
		return hl_err_set(err, HLS_04, "the note's fifth line is no time of its end");
	if (at != end)
		return hl_err_set(err, HLS_04, "the note says more than this version knows");
	*ret_statement = statement;
	return 0;
}

void
policy_statement_put(struct hl_buf *out, const struct policy_statement *statement)
{
	hl_buf_putf(out, "%s%s\nrevision %llu\nsha256 %s\n", policy_statement_origin, statement->id,
	    (unsigned long long)statement->revision, statement->sha256);
	if (statement->not_after[0] != '\0')
		hl_buf_putf(out, "not-after %s\n", statement->not_after);
}

/* Both are texts of one form, so their order is that of the times. */
bool
policy_statement_is_over(const struct policy_statement *statement, uint64_t real_us)
{
	char now[HL_ISO_TIME_SIZE];

	hl_iso_time(real_us, now);
	return statement->not_after[0] != '\0' &&
	       memcmp(now, statement->not_after, sizeof("2027-06-30T00:00:00") - 1) >= 0;
}
