/*
 * The codec: what is written reads back, and nothing that is cut, too long or has a NUL in the
 * wrong place is read at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static void
write_all(struct hl_buf *buf)
{
	struct hl_strv strv;

	hl_strv_init(&strv, 8);
	hl_strv_add(&strv, "one");
	hl_strv_add(&strv, "");
	hl_wire_put_u8(buf, 0xfe);
	hl_wire_put_u32(buf, 0x01020304);
	hl_wire_put_u64(buf, 0x0102030405060708);
	hl_wire_put_string(buf, "text");
	hl_wire_put_string(buf, NULL);
	hl_wire_put_bytes(buf, "a\0b", 3);
	hl_wire_put_strv(buf, &strv);
	hl_strv_done(&strv);
}

/* True when all of it could be read and was what was written. */
static bool
read_all(const void *bytes, size_t len)
{
	struct hl_wire wire;
	struct hl_strv strv;
	size_t n = 99;

	hl_strv_init(&strv, 8);
	hl_wire_init(&wire, bytes, len);
	bool fine = hl_wire_u8(&wire) == 0xfe;
	fine = hl_wire_u32(&wire) == 0x01020304 && fine;
	fine = hl_wire_u64(&wire) == 0x0102030405060708 && fine;
	const char *text = hl_wire_string(&wire);
	fine = text != NULL && strcmp(text, "text") == 0 && fine;
	text = hl_wire_string(&wire);
	fine = text != NULL && text[0] == '\0' && fine;
	const void *data = hl_wire_bytes(&wire, &n);
	fine = data != NULL && n == 3 && memcmp(data, "a\0b", 3) == 0 && fine;
	hl_wire_strv(&wire, &strv);
	fine = strv.len == 2 && strcmp(strv.v[0], "one") == 0 && fine;
	bool is_complete = hl_wire_is_complete(&wire);
	hl_strv_done(&strv);
	return fine && is_complete;
}

static void
test_round_trip(void **state)
{
	struct hl_buf buf;

	(void)state;
	hl_buf_init(&buf, 1000);
	write_all(&buf);
	assert_memory_equal(buf.data, "\xfe\x04\x03\x02\x01\x08\x07\x06\x05\x04\x03\x02\x01", 13);
	assert_true(read_all(buf.data, buf.len));
	for (size_t len = 0; len < buf.len; len++)
		assert_false(read_all(buf.data, len));
	hl_buf_putc(&buf, 'x');
	assert_false(read_all(buf.data, buf.len));
	hl_buf_done(&buf);
}

/* A failed reader hands out zeros, also for what would have been there. */
static void
test_sticky(void **state)
{
	struct hl_wire wire;
	size_t n = 7;

	(void)state;
	hl_wire_init(&wire, "\x01\x02\x03", 3);
	assert_int_equal(hl_wire_u32(&wire), 0);
	assert_int_equal(hl_wire_u8(&wire), 0);
	assert_null(hl_wire_string(&wire));
	assert_null(hl_wire_bytes(&wire, &n));
	assert_int_equal(n, 0);
	assert_false(hl_wire_is_complete(&wire));
	hl_wire_init(&wire, "", 0);
	assert_true(hl_wire_is_complete(&wire));
}

static const char *
read_string(const char *bytes, size_t len)
{
	struct hl_wire wire;

	hl_wire_init(&wire, bytes, len);
	return hl_wire_string(&wire);
}

static void
test_strings(void **state)
{
	(void)state;
	assert_string_equal(read_string("\x02\0\0\0a\0", 6), "a");
	assert_null(read_string("\x00\0\0\0", 4));
	assert_null(read_string("\x01\0\0\0a", 5));
	assert_null(read_string("\x03\0\0\0a\0b", 7));
	assert_null(read_string("\x03\0\0\0a\0\0", 7));
	assert_null(read_string("\xff\xff\xff\xff"
				"a\0",
	    6));
}

static bool
read_strv(const void *bytes, size_t len)
{
	struct hl_wire wire;
	struct hl_strv strv;

	hl_strv_init(&strv, 3);
	hl_wire_init(&wire, bytes, len);
	hl_wire_strv(&wire, &strv);
	bool fine = hl_wire_is_complete(&wire);
	hl_strv_done(&strv);
	return fine;
}

/* A count that lies costs nothing: no allocation by what the other side says. */
static void
test_vectors(void **state)
{
	(void)state;
	assert_true(read_strv("\0\0\0\0", 4));
	assert_true(read_strv("\x01\0\0\0\x02\0\0\0a\0", 10));
	assert_false(read_strv("\xff\xff\xff\xff\x02\0\0\0a\0", 10));
	assert_false(read_strv("\x02\0\0\0\x02\0\0\0a\0", 10));
	assert_false(read_strv("\x04\0\0\0\x01\0\0\0\0\x01\0\0\0\0\x01\0\0\0\0\x01\0\0\0\0", 24));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_sticky),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
