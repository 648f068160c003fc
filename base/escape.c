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

static int
digit_of(char byte)
{
	if (byte >= 'A' && byte <= 'Z')
		return byte - 'A';
	if (byte >= 'a' && byte <= 'z')
		return byte - 'a' + 26;
	if (byte >= '0' && byte <= '9')
		return byte - '0' + 52;
	if (byte == '+')
		return 62;
	return byte == '/' ? 63 : -1;
}

/* Four characters into at most three bytes; 0 = they are none. */
static size_t
read_group(const char text[4], unsigned char out[3])
{
	size_t n = text[3] != '=' ? 3 : text[2] != '=' ? 2 : 1;
	uint32_t bits = 0;

	for (size_t i = 0; i < 4; i++) {
		int digit = i <= n ? digit_of(text[i]) : 0;
		if (digit < 0)
			return 0;
		bits = bits << 6 | (uint32_t)digit;
	}
	/* Bits that no byte takes are zero. */
	if ((bits & (n == 3 ? 0U : n == 2 ? 0xffU : 0xffffU)) != 0)
		return 0;
	out[0] = (unsigned char)(bits >> 16);
	out[1] = (unsigned char)(bits >> 8);
	out[2] = (unsigned char)bits;
	return n;
}

bool
hl_base64_read(const char *text, size_t len, unsigned char *bytes, size_t max, size_t *ret_len)
{
	size_t done = 0;

	if (len % 4 != 0)
		return false;
	for (size_t at = 0; at < len; at += 4) {
		unsigned char group[3];
		size_t n = read_group(text + at, group);
		if (n == 0 || (n < 3 && at + 4 < len))
			return false;
		for (size_t i = 0; i < n; i++, done++)
			if (done < max)
				bytes[done] = group[i];
	}
	*ret_len = done;
	return true;
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
