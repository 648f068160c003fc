/*
 * Numbers as a policy writes them: one reading each, an error for everything else, and outputs that
 * are written on success only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

typedef int parse_fn(const char *text, uint64_t *ret, struct hl_err *err);

struct row {
	const char *text;
	uint64_t value;
};

enum {
	UNTOUCHED = 424242
};

static int
any_u64(const char *text, uint64_t *ret, struct hl_err *err)
{
	return hl_parse_u64(text, 0, UINT64_MAX, ret, err);
}

static void
accept(parse_fn *parse, const struct row *rows, size_t n)
{
	struct hl_err err;

	for (size_t i = 0; i < n; i++) {
		uint64_t value = UNTOUCHED;
		if (parse(rows[i].text, &value, &err) != 0)
			fail_msg("'%s': %s", rows[i].text, err.msg);
		assert_int_equal(value, rows[i].value);
	}
}

/* HLU-01, and the output stays as it was. */
static void
refuse(parse_fn *parse, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct hl_err err = { 0 };
		uint64_t value = UNTOUCHED;
		if (parse(texts[i], &value, &err) == 0)
			fail_msg("'%s' is taken as %llu", texts[i], (unsigned long long)value);
		assert_int_equal(err.code, HLU_01);
		if (value != UNTOUCHED)
			fail_msg("'%s': the output was written", texts[i]);
	}
}

static void
test_u64(void **state)
{
	static const struct row good[] = { { "0", 0 }, { "7", 7 }, { "10", 10 },
		{ "18446744073709551615", UINT64_MAX } };
	static const char *const bad[] = { "", " ", "-1", "+1", " 1", "1 ", "01", "00", "1.0",
		"1e3", "0x10", "18446744073709551616", "99999999999999999999999", "1\n", "١" };
	struct hl_err err;
	uint64_t value = UNTOUCHED;

	(void)state;
	accept(any_u64, good, HL_ARRAY_SIZE(good));
	refuse(any_u64, bad, HL_ARRAY_SIZE(bad));
	assert_int_equal(hl_parse_u64("5", 5, 6, &value, &err), 0);
	assert_int_equal(hl_parse_u64("4", 5, 6, &value, &err), -1);
	assert_int_equal(hl_parse_u64("7", 5, 6, &value, &err), -1);
	assert_int_equal(value, 5);
}

static void
test_size(void **state)
{
	static const struct row good[] = { { "0B", 0 }, { "1B", 1 }, { "1KiB", 1024 },
		{ "512MiB", 512ULL << 20 }, { "2GiB", 2ULL << 30 }, { "1TiB", 1ULL << 40 },
		{ "16777215TiB", 16777215ULL << 40 } };
	static const char *const bad[] = { "", "512", "MiB", "1 MiB", "1mib", "1MB", "1M", "1.5GiB",
		"-1B", "01B", "16777216TiB", "18446744073709551615KiB", "1BB", "1KiB " };
	struct hl_err err;
	uint64_t value;

	(void)state;
	accept(hl_parse_size, good, HL_ARRAY_SIZE(good));
	refuse(hl_parse_size, bad, HL_ARRAY_SIZE(bad));
	assert_int_equal(hl_parse_size("512", &value, &err), -1);
	assert_non_null(strstr(err.help, "\"512MiB\""));
	assert_non_null(strstr(err.help, "\"512B\""));
}

static void
test_duration(void **state)
{
	static const struct row good[] = { { "0s", 0 }, { "1ms", 1 }, { "90s", 90000 },
		{ "5m", 300000 }, { "2h", 7200000 }, { "1d", 86400000 } };
	static const char *const bad[] = { "", "90", "s", "90 s", "90S", "1.5h", "-1s", "1h30m",
		"213503982335d", "18446744073709551615s", "1sec" };
	struct hl_err err;
	uint64_t value;

	(void)state;
	accept(hl_parse_duration, good, HL_ARRAY_SIZE(good));
	refuse(hl_parse_duration, bad, HL_ARRAY_SIZE(bad));
	assert_int_equal(hl_parse_duration("90", &value, &err), -1);
	assert_non_null(strstr(err.help, "\"90s\""));
}

static void
test_milli(void **state)
{
	static const struct row good[] = { { "0", 0 }, { "4", 4000 }, { "0.5", 500 },
		{ "1.25", 1250 }, { "0.001", 1 }, { "2.500", 2500 } };
	static const char *const bad[] = { "", ".5", "1.", "1.0000", "-1", "1e3", "1,5", "01.5",
		"18446744073709551615", "18446744073709551", "1.5 ", "1..5" };

	(void)state;
	accept(hl_parse_milli, good, HL_ARRAY_SIZE(good));
	refuse(hl_parse_milli, bad, HL_ARRAY_SIZE(bad));
}

static void
test_mode(void **state)
{
	static const char *const bad[] = { "", "8", "00000", "0o22", "-1", "22 ", "u=rwx" };
	struct hl_err err = { 0 };
	uint32_t mode = UNTOUCHED;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++)
		assert_int_equal(hl_parse_mode(bad[i], &mode, &err), -1);
	assert_int_equal(mode, UNTOUCHED);
	assert_int_equal(err.code, HLU_01);
	assert_int_equal(hl_parse_mode("022", &mode, &err), 0);
	assert_int_equal(mode, 022);
	assert_int_equal(hl_parse_mode("1777", &mode, &err), 0);
	assert_int_equal(mode, 01777);
}

/* What is written reads back to the same value. */
static void
test_reverse(void **state)
{
	static const uint64_t values[] = { 0, 1, 999, 1000, 1023, 1024, 1536, 60000, 61000,
		86400000, 512ULL << 20, 3ULL << 40, (1ULL << 40) + 1, UINT64_MAX / 2000 };
	struct hl_buf out;
	struct hl_err err;
	uint64_t value;

	(void)state;
	hl_buf_init(&out, 100);
	for (size_t i = 0; i < HL_ARRAY_SIZE(values); i++) {
		hl_buf_reset(&out);
		hl_buf_put_size(&out, values[i]);
		assert_int_equal(hl_parse_size(out.data, &value, &err), 0);
		assert_int_equal(value, values[i]);
		hl_buf_reset(&out);
		hl_buf_put_duration(&out, values[i]);
		assert_int_equal(hl_parse_duration(out.data, &value, &err), 0);
		assert_int_equal(value, values[i]);
		hl_buf_reset(&out);
		hl_buf_put_milli(&out, values[i]);
		assert_int_equal(hl_parse_milli(out.data, &value, &err), 0);
		assert_int_equal(value, values[i]);
	}
	hl_buf_reset(&out);
	hl_buf_put_size(&out, 1536 * 1024);
	hl_buf_putc(&out, ' ');
	hl_buf_put_duration(&out, 90000);
	hl_buf_putc(&out, ' ');
	hl_buf_put_milli(&out, 1250);
	assert_string_equal(out.data, "1536KiB 90s 1.25");
	hl_buf_done(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_milli),
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_reverse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
