/*
 * struct hl_buf: the maximum, the sticky error, and that content is wiped when it moves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static void
test_grows(void **state)
{
	struct hl_buf buf;

	(void)state;
	hl_buf_init(&buf, 1000);
	assert_string_equal(buf.data, "");
	for (unsigned i = 0; i < 100; i++)
		hl_buf_puts(&buf, "0123456789");
	assert_int_equal(buf.len, 1000);
	assert_false(buf.failed);
	assert_int_equal(strlen(buf.data), 1000);
	hl_buf_put(&buf, "", 0);
	assert_false(buf.failed);
	hl_buf_done(&buf);
	hl_buf_done(&buf);
	assert_string_equal(buf.data, "");
}

/* HLI-03, once, at the end; what was there stays. */
static void
test_maximum_is_sticky(void **state)
{
	struct hl_buf buf;
	struct hl_err err = { 0 };

	(void)state;
	hl_buf_init(&buf, 8);
	hl_buf_puts(&buf, "1234567");
	assert_int_equal(hl_buf_check(&buf, "it", &err), 0);
	hl_buf_puts(&buf, "89");
	assert_true(buf.failed);
	hl_buf_putc(&buf, '8');
	hl_buf_putf(&buf, "%d", 8);
	assert_string_equal(buf.data, "1234567");
	assert_int_equal(hl_buf_check(&buf, "it", &err), -1);
	assert_int_equal(err.code, HLI_03);
	assert_non_null(strstr(err.msg, "it"));
	assert_null(hl_buf_take(&buf));
	hl_buf_reset(&buf);
	hl_buf_puts(&buf, "12345678");
	assert_false(buf.failed);
	hl_buf_put(&buf, "x", SIZE_MAX);
	assert_true(buf.failed);
	hl_buf_done(&buf);
}

static void
test_putf(void **state)
{
	struct hl_buf buf;

	(void)state;
	hl_buf_init(&buf, 100);
	hl_buf_putf(&buf, "%s-%03d", "a", 7);
	hl_buf_putf(&buf, "%s", "");
	assert_string_equal(buf.data, "a-007");
	hl_buf_putf(&buf, "%0200d", 1);
	assert_true(buf.failed);
	assert_string_equal(buf.data, "a-007");
	hl_buf_done(&buf);
}

static void
test_drop_and_take(void **state)
{
	struct hl_buf buf;

	(void)state;
	hl_buf_init(&buf, 100);
	hl_buf_drop(&buf, 0);
	hl_buf_puts(&buf, "abcdef");
	hl_buf_drop(&buf, 2);
	assert_string_equal(buf.data, "cdef");
	hl_buf_drop(&buf, 4);
	assert_string_equal(buf.data, "");
	hl_buf_puts(&buf, "x");
	char *taken = hl_buf_take(&buf);
	assert_string_equal(taken, "x");
	free(taken);
	assert_int_equal(buf.len, 0);
	/* Also of nothing: a string, not NULL. */
	taken = hl_buf_take(&buf);
	assert_string_equal(taken, "");
	free(taken);
	hl_buf_puts(&buf, "again");
	assert_string_equal(buf.data, "again");
	hl_buf_done_secret(&buf);
	hl_buf_done_secret(&buf);
}

/* Two buffers that were never written share the empty string: neither may write into it. */
static void
test_empty_is_shared(void **state)
{
	struct hl_buf a, b;

	(void)state;
	hl_buf_init(&a, 10);
	hl_buf_init(&b, 10);
	hl_buf_reset(&a);
	hl_buf_puts(&a, "a");
	assert_string_equal(b.data, "");
	hl_buf_done(&a);
	hl_buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_maximum_is_sticky),
		cmocka_unit_test(test_putf),
		cmocka_unit_test(test_drop_and_take),
		cmocka_unit_test(test_empty_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
