/*
 * One value as programs write it: plain, percent-encoded, base64 at each of the three places where
 * it can begin, hexadecimal, escaped for JSON and for a shell. A form that is the same as one
 * before costs nothing.
 */
#include <stdio.h>
#include <string.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

enum {
	/* \uXXXX is six times a byte. */
	FORM_MAX = 8 << 20
};

typedef void write_form_fn(struct hl_buf *out, const char *value, size_t len, unsigned variant);

static const char alphanumeric[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

static bool
is_in(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

static void
plain(struct hl_buf *out, const char *value, size_t len, unsigned variant)
{
	(void)variant;
	hl_buf_put(out, value, len);
}

/* What stays as it is beside letters and digits, by program. Each with capital and small digits. */
static const struct {
	const char *keep;
	bool has_plus; /* a space is '+' */
} percent_rules[] = {
	{ "-._~", false },                 /* RFC 3986; curl --data-urlencode, Go, Rust */
	{ "-._~!*'()", false },            /* encodeURIComponent */
	{ "-._~/", false },                /* Python quote() */
	{ "-._~!*'();,/?:@&=+$#", false }, /* encodeURI */
	{ "-._*", true },                  /* forms: HTML, Java */
	{ "-._~", true },                  /* Python quote_plus() */
	{ "", false },                     /* everything */
};

static void
percent(struct hl_buf *out, const char *value, size_t len, unsigned variant)
{
	const char *keep = percent_rules[variant / 2].keep;

	for (size_t i = 0; i < len; i++) {
		if (is_in(value[i], alphanumeric) || is_in(value[i], keep))
			hl_buf_putc(out, value[i]);
		else if (value[i] == ' ' && percent_rules[variant / 2].has_plus)
			hl_buf_putc(out, '+');
		else
			hl_buf_putf(out, variant % 2 == 0 ? "%%%02X" : "%%%02x",
			    (unsigned)(unsigned char)value[i]);
	}
}

static void
percent_all(struct hl_buf *out, const char *value, size_t len, unsigned variant)
{
	for (size_t i = 0; i < len; i++)
		hl_buf_putf(out, variant == 0 ? "%%%02X" : "%%%02x",
		    (unsigned)(unsigned char)value[i]);
}

/* The digits that the value alone decides when `variant / 2` bytes of something stand before it. */
static void
base64(struct hl_buf *out, const char *value, size_t len, unsigned variant)
{
	const char *last = variant % 2 == 0 ? "+/" : "-_";
	size_t before = variant / 2;
	size_t begin = (before * 8 + 5) / 6, end = (before + len) * 8 / 6;

	for (size_t digit = begin; digit < end; digit++) {
		size_t bit = digit * 6 - before * 8;
		unsigned pair = (unsigned)(unsigned char)value[bit / 8] << 8;
		if (bit / 8 + 1 < len)
			pair |= (unsigned char)value[bit / 8 + 1];
		unsigned six = pair >> (10 - bit % 8) & 63;
		hl_buf_putc(out, six < 62 ? alphanumeric[six] : last[six - 62]);
	}
}

static void
hexadecimal(struct hl_buf *out, const char *value, size_t len, unsigned variant)
{
	for (size_t i = 0; i < len; i++)
		hl_buf_putf(out, variant == 0 ? "%02x" : "%02X", (unsigned)(unsigned char)value[i]);
}

enum json_rule {
	JSON_SHORT = 1 << 0, /* \n and not \u000a */
	JSON_SLASH = 1 << 1, /* \/ */
	JSON_ASCII = 1 << 2, /* \u for everything past DEL */
};

static void
json_unit(struct hl_buf *out, uint32_t unit)
{
	hl_buf_putf(out, "\\u%04x", unit);
}

static void
json_point(struct hl_buf *out, const char *bytes, size_t n, uint32_t point, unsigned rules)
{
	static const char controls[] = "\b\t\n\f\r";
	static const char letters[] = "btnfr";
	const char *control = point > 0 && point < 0x20 ? strchr(controls, (char)point) : NULL;

	if (point == '"' || point == '\\' || (point == '/' && (rules & JSON_SLASH) != 0)) {
		hl_buf_putc(out, '\\');
		hl_buf_putc(out, (char)point);
	} else if (control != NULL && (rules & JSON_SHORT) != 0) {
		hl_buf_putc(out, '\\');
		hl_buf_putc(out, letters[control - controls]);
	} else if (point < 0x20) {
		json_unit(out, point);
	} else if (point > 0xffff && (rules & JSON_ASCII) != 0) {
		json_unit(out, 0xd800 + ((point - 0x10000) >> 10));
		json_unit(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
	} else if (point > 0x7e && (rules & JSON_ASCII) != 0) {
		json_unit(out, point);
	} else {
		hl_buf_put(out, bytes, n);
	}
}

static void
json(struct hl_buf *out, const char *value, size_t len, unsigned variant)
{
	uint32_t point;

	for (size_t n; len > 0; value += n, len -= n) {
		n = hl_utf8_next(value, len, &point);
		if (n == 0) {
			n = 1;
			hl_buf_put(out, value, 1);
		} else {
			json_point(out, value, n, point, variant);
		}
	}
}

/* 'it'\''s' without the outer quotes, and it\'s. */
static void
shell(struct hl_buf *out, const char *value, size_t len, unsigned variant)
{
	for (size_t i = 0; i < len; i++) {
		bool is_plain = is_in(value[i], alphanumeric) || is_in(value[i], "_@%+=:,./-");
		if (variant == 0 && value[i] == '\'')
			hl_buf_puts(out, "'\\''");
		else if (variant == 1 && !is_plain) {
			hl_buf_putc(out, '\\');
			hl_buf_putc(out, value[i]);
		} else
			hl_buf_putc(out, value[i]);
	}
}

static const struct {
	write_form_fn *write;
	unsigned variants;
	bool is_base64;
} forms[] = {
	{ plain, 1, false },
	{ percent, 2 * HL_ARRAY_SIZE(percent_rules), false },
	{ percent_all, 2, false },
	{ base64, 6, true },
	{ hexadecimal, 2, false },
	{ json, 8, false },
	{ shell, 2, false },
};

int
audit_forms_add(struct redactor *redactor, uint32_t secret, const char *value, size_t len)
{
	struct hl_buf form HL_AUTO(hl_buf_done_secret) = { 0 };

	hl_buf_init(&form, FORM_MAX);
	for (size_t i = 0; i < HL_ARRAY_SIZE(forms); i++) {
		for (unsigned variant = 0; variant < forms[i].variants; variant++) {
			hl_buf_reset(&form);
			forms[i].write(&form, value, len, variant);
			if (audit_needle_add(redactor, secret, &form, forms[i].is_base64) != 0)
				return -1;
		}
	}
	return 0;
}
