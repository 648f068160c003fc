/*
 * UTF-8, strictly: every code point there is, and every pair of bytes with what can follow, against
 * a second reading of RFC 3629's own table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static size_t
encode(uint32_t point, unsigned char bytes[4])
{
	if (point < 0x80) {
		bytes[0] = (unsigned char)point;
		return 1;
	}
	size_t n = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	for (size_t i = n; i-- > 1; point >>= 6)
		bytes[i] = (unsigned char)(0x80 | (point & 0x3f));
	bytes[0] = (unsigned char)((0xf00U >> n & 0xff) | point);
	return n;
}

static void
test_every_point(void **state)
{
	unsigned char bytes[4];
	uint32_t point;

	(void)state;
	for (uint32_t i = 0; i <= 0x10ffff; i++) {
		size_t n = encode(i, bytes);
		bool is_surrogate = i >= 0xd800 && i <= 0xdfff;
		size_t got = hl_utf8_next((const char *)bytes, n, &point);
		if (is_surrogate ? got != 0 : got != n || point != i)
			fail_msg("U+%04X", i);
		if (n > 1 && hl_utf8_next((const char *)bytes, n - 1, &point) != 0)
			fail_msg("U+%04X, cut", i);
	}
	assert_int_equal(hl_utf8_next("\xf4\x90\x80\x80", 4, &point), 0);
	assert_int_equal(hl_utf8_next("\xf8\x88\x80\x80\x80", 5, &point), 0);
}

/* RFC 3629 section 4: UTF8-2 and UTF8-3 by their ranges. */
static bool
is_by_table(const unsigned char *b, size_t len)
{
	bool tail1 = len > 1 && b[1] >= 0x80 && b[1] <= 0xbf;
	bool tail2 = len > 2 && b[2] >= 0x80 && b[2] <= 0xbf;

	if (len == 1)
		return b[0] < 0x80;
	if (len == 2)
		return b[0] >= 0xc2 && b[0] <= 0xdf && tail1;
	if (b[0] == 0xe0)
		return b[1] >= 0xa0 && tail1 && tail2;
	if (b[0] == 0xed)
		return b[1] <= 0x9f && tail1 && tail2;
	return b[0] >= 0xe1 && b[0] <= 0xef && tail1 && tail2;
}

static void
test_every_sequence(void **state)
{
	static const unsigned char thirds[] = { 0, 0x7f, 0x80, 0x9f, 0xa0, 0xbf, 0xc0, 0xff };
	uint32_t point;

	(void)state;
	for (unsigned i = 0; i < 65536 * HL_ARRAY_SIZE(thirds); i++) {
		unsigned char b[3] = { (unsigned char)(i >> 8), (unsigned char)i, thirds[i >> 16] };
		for (size_t len = 1; len <= 3; len++) {
			bool whole = hl_utf8_next((const char *)b, len, &point) == len;
			if (whole != is_by_table(b, len))
				fail_msg("%02x %02x %02x as %zu bytes", b[0], b[1], b[2], len);
		}
	}
}

static void
test_strings(void **state)
{
	(void)state;
	assert_true(hl_is_utf8("", 0));
	assert_true(hl_is_utf8("aé€😀\0z", 12));
	assert_false(hl_is_utf8("aé€😀\xff", 11));
	assert_false(hl_is_utf8("\x80", 1));
}

static void
test_deceptive(void **state)
{
	static const uint32_t deceptive[] = { 0x80, 0x9b, 0x9f, 0x61c, 0x200b, 0x200f, 0x2028,
		0x2029, 0x202a, 0x202e, 0x2066, 0x2069, 0xfeff };
	static const uint32_t plain[] = { 'a', 0x7e, 0xa0, 0xe9, 0x200a, 0x2010, 0x2027, 0x2030,
		0x2065, 0x206a, 0x1f600 };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(deceptive); i++)
		assert_true(hl_utf8_is_deceptive(deceptive[i]));
	for (size_t i = 0; i < HL_ARRAY_SIZE(plain); i++)
		assert_false(hl_utf8_is_deceptive(plain[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_point),
		cmocka_unit_test(test_every_sequence),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_deceptive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
