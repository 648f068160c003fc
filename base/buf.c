/*
 * A growing byte buffer with a maximum and a sticky error: writers do not look, the owner checks
 * once at the end. Growth doubles, so that n bytes cost O(n).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#include "base/banned.h"

/* What data points to before anything was written: never freed, never written through. */
static char empty[1];

void
hl_buf_init(struct hl_buf *buf, size_t max)
{
	*buf = (struct hl_buf){ .data = empty, .max = max };
}

void
hl_buf_done(struct hl_buf *buf)
{
	if (buf->capacity > 0)
		free(buf->data);
	*buf = (struct hl_buf){ .data = empty, .max = buf->max };
}

void
hl_buf_done_secret(struct hl_buf *buf)
{
	if (buf->capacity > 0)
		explicit_bzero(buf->data, buf->capacity);
	hl_buf_done(buf);
}

void
hl_buf_reset(struct hl_buf *buf)
{
	buf->len = 0;
	buf->failed = false;
	if (buf->capacity > 0)
		buf->data[0] = '\0';
}

bool
hl_buf_reserve(struct hl_buf *buf, size_t more)
{
	if (buf->failed)
		return false;
	if (more > buf->max || buf->len > buf->max - more) {
		buf->failed = true;
		return false;
	}
	size_t need = buf->len + more + 1; /* and the NUL */
	if (need <= buf->capacity)
		return true;
	size_t capacity = buf->capacity > 0 ? buf->capacity * 2 : 64;
	if (capacity < need)
		capacity = need; /* all of it is wiped at the end */
	/* Not realloc: it may leave a copy of a protected value behind where it cannot be wiped. */
	char *data = malloc(capacity);
	if (data == NULL) {
		buf->failed = true;
		return false;
	}
	memcpy(data, buf->data, buf->len);
	data[buf->len] = '\0';
	if (buf->capacity > 0) {
		/* Behind what is there stands what was dropped. */
		explicit_bzero(buf->data, buf->capacity);
		free(buf->data);
	}
	buf->data = data;
	buf->capacity = capacity;
	return true;
}

void
hl_buf_put(struct hl_buf *buf, const void *bytes, size_t len)
{
	if (!hl_buf_reserve(buf, len) || len == 0)
		return;
	memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void
hl_buf_puts(struct hl_buf *buf, const char *string)
{
	hl_buf_put(buf, string, strlen(string));
}

void
hl_buf_putc(struct hl_buf *buf, char byte)
{
	hl_buf_put(buf, &byte, 1);
}

void
hl_buf_vputf(struct hl_buf *buf, const char *format, va_list ap)
{
	size_t room = buf->failed ? 0 : buf->capacity - buf->len;
	va_list again;

	/* Most of what is written fits; what does not is formatted twice. */
	va_copy(again, ap);
	int n = vsnprintf(room > 0 ? buf->data + buf->len : NULL, room, format, again);
	va_end(again);
	buf->failed = buf->failed || n < 0;
	if (n <= 0 || !hl_buf_reserve(buf, (size_t)n)) {
		if (room > 0)
			buf->data[buf->len] = '\0';
		return;
	}
	if ((size_t)n >= room)
		vsnprintf(buf->data + buf->len, (size_t)n + 1, format, ap);
	buf->len += (size_t)n;
}

void
hl_buf_putf(struct hl_buf *buf, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	hl_buf_vputf(buf, format, ap);
	va_end(ap);
}

void
hl_buf_drop(struct hl_buf *buf, size_t n)
{
	HL_BUG_ON(n > buf->len);
	if (n == 0)
		return;
	memmove(buf->data, buf->data + n, buf->len - n);
	buf->len -= n;
	buf->data[buf->len] = '\0';
}

int
hl_buf_check(const struct hl_buf *buf, const char *what, struct hl_err *err)
{
	if (!buf->failed)
		return 0;
	return hl_err_set(err, HLI_03, "%s is longer than %zu bytes, or memory ended", what,
	    buf->max);
}

char *
hl_buf_take(struct hl_buf *buf)
{
	if (!hl_buf_reserve(buf, 0)) {
		hl_buf_done(buf);
		return NULL;
	}
	char *data = buf->data;
	*buf = (struct hl_buf){ .data = empty, .max = buf->max };
	return data;
}
