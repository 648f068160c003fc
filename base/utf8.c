/*
 * UTF-8, strictly: no overlong form, no surrogate, nothing past U+10FFFF. escape.c
 * and the policy loader walk code points, others ask hl_is_utf8().
 */
#include "base/base.h"

#include "base/banned.h"

size_t
hl_utf8_next(const char *bytes, size_t len, uint32_t *ret_point)
{
	static const uint32_t smallest[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *b = (const unsigned char *)bytes;
	size_t n = b[0] < 0x80       ? 1
		   : b[0] >> 5 == 6  ? 2
		   : b[0] >> 4 == 14 ? 3
		   : b[0] >> 3 == 30 ? 4
				     : 0;

	if (n == 0 || n > len)
		return 0;
	uint32_t point = n == 1 ? b[0] : b[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if (b[i] >> 6 != 2)
			return 0;
		point = point << 6 | (b[i] & 0x3fU);
	}
	if (point < smallest[n] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret_point = point;
	return n;
}

bool
hl_is_utf8(const char *bytes, size_t len)
{
	uint32_t point;

	for (size_t n; len > 0; bytes += n, len -= n) {
		n = hl_utf8_next(bytes, len, &point);
		if (n == 0)
			return false;
	}
	return true;
}

bool
hl_utf8_is_deceptive(uint32_t point)
{
	/* C1 controls, bidi embeddings, overrides and isolates, marks, line and paragraph
	 * separators. */
	return (point >= 0x80 && point <= 0x9f) || (point >= 0x202a && point <= 0x202e) ||
	       (point >= 0x2066 && point <= 0x2069) || (point >= 0x200b && point <= 0x200f) ||
	       point == 0x2028 || point == 0x2029 || point == 0x061c || point == 0xfeff;
}
