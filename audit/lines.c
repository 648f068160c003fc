/*
 * A segment as lines, without a limit to trust: pread(2) into one buffer, never mmap(2), because a
 * file that shrinks under a mapping kills its reader. A line longer than a record can be is handed
 * out cut and marked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

enum {
	BUFFER_SIZE = 4 * AUDIT_RECORD_MAX
};

int
audit_lines_init(struct lines *lines, int fd, uint64_t offset, uint64_t end, struct hl_err *err)
{
	*lines = (struct lines){ .fd = fd, .offset = offset, .end = end };
	uint64_t left = end > offset ? end - offset : 0;
	lines->buffer_size = left < BUFFER_SIZE ? (size_t)left : BUFFER_SIZE;
	lines->buffer = malloc(lines->buffer_size + 1);
	return lines->buffer != NULL ? 0 : hl_err_oom(err);
}

void
audit_lines_done(struct lines *lines)
{
	free(lines->buffer);
	*lines = (struct lines){ .fd = -1 };
}

/* Moves what is left to the front and fills up. */
static int
refill(struct lines *lines, struct hl_err *err)
{
	lines->buffer_len -= lines->used;
	memmove(lines->buffer, lines->buffer + lines->used, lines->buffer_len);
	lines->used = 0;
	while (lines->buffer_len < lines->buffer_size) {
		uint64_t at = lines->offset + lines->buffer_len;
		uint64_t want = lines->end - at;
		if (want > lines->buffer_size - lines->buffer_len)
			want = lines->buffer_size - lines->buffer_len;
		ssize_t n = want == 0 ? 0
				      : pread(lines->fd, lines->buffer + lines->buffer_len,
					    (size_t)want, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hl_err_sys(err, HLA_01, "cannot read the audit log");
		if (n == 0)
			lines->end = at;
		if (n == 0)
			return 0;
		lines->buffer_len += (size_t)n;
	}
	return 0;
}

int
audit_lines_next(struct lines *lines, struct line *ret_line, struct hl_err *err)
{
	const char *text = lines->buffer + lines->used;
	size_t len = lines->buffer_len - lines->used;
	const char *lf = len > 0 ? memchr(text, '\n', len) : NULL;

	if (lf == NULL && lines->offset + len < lines->end) {
		if (refill(lines, err) != 0)
			return -1;
		text = lines->buffer;
		len = lines->buffer_len;
		lf = len > 0 ? memchr(text, '\n', len) : NULL;
	}
	if (len == 0)
		return 0;
	if (lf != NULL)
		len = (size_t)(lf - text);
	*ret_line = (struct line){
		.text = text,
		.len = len,
		.offset = lines->offset,
		.has_lf = lf != NULL,
		.is_too_long = len >= AUDIT_RECORD_MAX,
	};
	lines->used += len + (lf != NULL);
	lines->offset += len + (lf != NULL);
	return 1;
}
