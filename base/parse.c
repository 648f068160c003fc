/*
 * Numbers, sizes and times as a policy writes them. One meaning for every reader: whole string, no
 * sign, no leading zero, and a unit where the quantity has one.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"

#include "base/banned.h"

struct unit {
	const char *name;
	uint64_t factor;
};

/* Largest first: the reverse functions take the first that divides. */
static const struct unit size_units[] = {
	{ "TiB", 1ULL << 40 },
	{ "GiB", 1ULL << 30 },
	{ "MiB", 1ULL << 20 },
	{ "KiB", 1ULL << 10 },
	{ "B", 1 },
};

static const struct unit time_units[] = {
	{ "d", 86400000 },
	{ "h", 3600000 },
	{ "m", 60000 },
	{ "s", 1000 },
	{ "ms", 1 },
};

/* Digits at the front of text: *ret_len of them. False: none, a leading zero, or past 2^64-1. */
static bool
digits(const char *text, uint64_t *ret_value, size_t *ret_len)
{
	uint64_t value = 0;
	size_t len = 0;

	for (; text[len] >= '0' && text[len] <= '9'; len++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text[len] - '0'), &value))
			return false;
	}
	if (len == 0 || (len > 1 && text[0] == '0'))
		return false;
	*ret_value = value;
	*ret_len = len;
	return true;
}

int
hl_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value, struct hl_err *err)
{
	uint64_t value;
	size_t len;

	if (!digits(text, &value, &len) || text[len] != '\0')
		return hl_err_set(err, HLU_01, "'%.40s' is not a whole number", text);
	if (value < min || value > max)
		return hl_err_set(err, HLU_01, "'%.40s' is not between %llu and %llu", text,
		    (unsigned long long)min, (unsigned long long)max);
	*ret_value = value;
	return 0;
}

static int
parse_unit(const char *text, const struct unit *units, size_t n, uint64_t *ret_value)
{
	uint64_t value, product;
	size_t len;

	if (!digits(text, &value, &len))
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(text + len, units[i].name) != 0)
			continue;
		/* On overflow the builtin writes what is left of it: not into the caller's. */
		if (__builtin_mul_overflow(value, units[i].factor, &product))
			return -1;
		*ret_value = product;
		return 0;
	}
	return -1;
}

/* The mistake worth a help of its own: a number without a unit. */
static bool
is_bare_number(const char *text)
{
	return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

int
hl_parse_size(const char *text, uint64_t *ret_bytes, struct hl_err *err)
{
	if (parse_unit(text, size_units, HL_ARRAY_SIZE(size_units), ret_bytes) == 0)
		return 0;
	hl_err_set(err, HLU_01, "'%.40s' is not a size with a unit", text);
	if (is_bare_number(text) && strlen(text) <= 20)
		return hl_err_help(err,
		    "write \"%sMiB\" or \"%sB\": a plain number means bytes to some "
		    "readers and MiB to others",
		    text, text);
	return hl_err_help(err,
	    "write a whole number and B, KiB, MiB, GiB or TiB, as in \"512MiB\"");
}

int
hl_parse_duration(const char *text, uint64_t *ret_ms, struct hl_err *err)
{
	if (parse_unit(text, time_units, HL_ARRAY_SIZE(time_units), ret_ms) == 0)
		return 0;
	hl_err_set(err, HLU_01, "'%.40s' is not a time with a unit", text);
	if (is_bare_number(text) && strlen(text) <= 20)
		return hl_err_help(err,
		    "write \"%ss\" or \"%sms\": a plain number means seconds to some "
		    "readers and milliseconds to others",
		    text, text);
	return hl_err_help(err, "write a whole number and ms, s, m, h or d, as in \"90s\"");
}

/* ".5" or nothing, as thousandths. */
static bool
fraction(const char *text, uint64_t *ret_milli)
{
	uint64_t milli = 0;

	if (text[0] == '\0') {
		*ret_milli = 0;
		return true;
	}
	size_t n = strspn(text + 1, "0123456789");
	if (text[0] != '.' || n < 1 || n > 3 || text[1 + n] != '\0')
		return false;
	for (size_t i = 0; i < 3; i++)
		milli = milli * 10 + (i < n ? (uint64_t)(text[1 + i] - '0') : 0);
	*ret_milli = milli;
	return true;
}

int
hl_parse_milli(const char *text, uint64_t *ret_milli, struct hl_err *err)
{
	uint64_t whole, rest;
	size_t len;

	if (!digits(text, &whole, &len) || whole > UINT64_MAX / 1000 - 1 ||
	    !fraction(text + len, &rest))
		return hl_err_set(err, HLU_01,
		    "'%.40s' is not a number with at most three decimals", text);
	*ret_milli = whole * 1000 + rest;
	return 0;
}

int
hl_parse_mode(const char *text, uint32_t *ret_mode, struct hl_err *err)
{
	uint32_t mode = 0;
	size_t len = strspn(text, "01234567");

	if (len < 1 || len > 4 || text[len] != '\0')
		return hl_err_set(err, HLU_01, "'%.40s' is not a mode of one to four octal digits",
		    text);
	for (size_t i = 0; i < len; i++)
		mode = mode << 3 | (uint32_t)(text[i] - '0');
	*ret_mode = mode;
	return 0;
}

static void
put_unit(struct hl_buf *buf, uint64_t value, const struct unit *units, size_t n)
{
	size_t i = 0;

	while (i + 1 < n && (value == 0 || value % units[i].factor != 0))
		i++;
	hl_buf_putf(buf, "%llu%s", (unsigned long long)(value / units[i].factor), units[i].name);
}

void
hl_buf_put_size(struct hl_buf *buf, uint64_t bytes)
{
	put_unit(buf, bytes, size_units, HL_ARRAY_SIZE(size_units));
}

void
hl_buf_put_duration(struct hl_buf *buf, uint64_t ms)
{
	put_unit(buf, ms, time_units, HL_ARRAY_SIZE(time_units));
}

void
hl_buf_put_milli(struct hl_buf *buf, uint64_t milli)
{
	hl_buf_putf(buf, "%llu", (unsigned long long)(milli / 1000));
	if (milli % 1000 == 0)
		return;
	char text[5];
	snprintf(text, sizeof(text), ".%03u", (unsigned)(milli % 1000));
	size_t len = 4;
	while (text[len - 1] == '0')
		len--;
	hl_buf_put(buf, text, len);
}
