/*
 * Escapers, and nothing else: JSON, one shell word, a person's terminal, hexadecimal, base 64. Text
 * from a sandbox, a policy or the network reaches a log or a screen only through these.
 */
#include <string.h>

#include "base/base.h"

#include "base/banned.h"

static const char hex_digits[] = "0123456789abcdef";

void
hl_buf_base64(struct hl_buf *buf, const unsigned char *bytes, size_t len)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		uint32_t group = (uint32_t)bytes[i] << 16;
		if (i + 1 < len)
			group |= (uint32_t)bytes[i + 1] << 8;
		if (i + 2 < len)
			group |= bytes[i + 2];
		char text[4] = {
			digits[group >> 18],
			digits[(group >> 12) & 63],
			i + 1 < len ? digits[(group >> 6) & 63] : '=',
			i + 2 < len ? digits[group & 63] : '=',
		};
		hl_buf_put(buf, text, sizeof(text));
	}
}

static void
json_point(struct hl_buf *buf, const char *bytes, size_t n, uint32_t point)
{
	if (point == '"' || point == '\\') {
		hl_buf_putc(buf, '\\');
		hl_buf_putc(buf, (char)point);
	} else if (point < 0x20 || point == 0x7f || hl_utf8_is_deceptive(point)) {
		char text[6] = { '\\', 'u', hex_digits[point >> 12 & 15],
			hex_digits[point >> 8 & 15], hex_digits[point >> 4 & 15],
			hex_digits[point & 15] };
		hl_buf_put(buf, text, sizeof(text));
	} else {
		hl_buf_put(buf, bytes, n);
	}
}

void
hl_buf_json_string(struct hl_buf *buf, const char *string, size_t len)
{
	uint32_t point;

	/* A NUL is in no text, and escaped it is six bytes. */
	if (!hl_is_utf8(string, len) || memchr(string, '\0', len) != NULL) {
		hl_buf_puts(buf, "{\"b64\":\"");
		hl_buf_base64(buf, (const unsigned char *)string, len);
		hl_buf_puts(buf, "\"}");
		return;
	}
	hl_buf_putc(buf, '"');
	for (size_t n; len > 0; string += n, len -= n) {
		n = hl_utf8_next(string, len, &point);
		json_point(buf, string, n, point);
	}
	hl_buf_putc(buf, '"');
}

void
hl_buf_shell_quoted(struct hl_buf *buf, const char *word)
{
	hl_buf_putc(buf, '\'');
	for (const char *quote; (quote = strchr(word, '\'')) != NULL; word = quote + 1) {
		hl_buf_put(buf, word, (size_t)(quote - word));
		hl_buf_puts(buf, "'\\''");
	}
	hl_buf_puts(buf, word);
	hl_buf_putc(buf, '\'');
}

void
hl_buf_shell_word(struct hl_buf *buf, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "_@%+=:,./-";

	if (word[0] != '\0' && word[strspn(word, plain)] == '\0')
		hl_buf_puts(buf, word);
	else
		hl_buf_shell_quoted(buf, word);
}

void
hl_buf_printable(struct hl_buf *buf, const char *string, size_t len)
{
	uint32_t point;

	for (size_t n; len > 0; string += n, len -= n) {
		n = hl_utf8_next(string, len, &point);
		if (n == 0) {
			n = 1;
			hl_buf_putf(buf, "\\x%02x", (unsigned)(unsigned char)string[0]);
		} else if (point < 0x20 || point == 0x7f) {
			hl_buf_putf(buf, "\\x%02x", point);
		} else if (hl_utf8_is_deceptive(point)) {
			hl_buf_putf(buf, "\\u{%x}", point);
		} else {
			hl_buf_put(buf, string, n);
		}
	}
}

void
hl_buf_hex(struct hl_buf *buf, const void *bytes, size_t len)
{
	const unsigned char *next = bytes;

	for (size_t i = 0; i < len; i++) {
		char text[2] = { hex_digits[next[i] >> 4], hex_digits[next[i] & 15] };
		hl_buf_put(buf, text, sizeof(text));
	}
}
