/*
 * Clocks and ULIDs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/base.h"

static void
test_iso(void **state)
{
	char text[HL_ISO_TIME_SIZE];

	(void)state;
	hl_iso_time(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00.000000Z");
	hl_iso_time(1795966812123456ULL, text);
	assert_string_equal(text, "2026-11-29T15:40:12.123456Z");
	hl_iso_time(951782399999999ULL, text);
	assert_string_equal(text, "2000-02-28T23:59:59.999999Z");
	hl_iso_time(951782400000001ULL, text);
	assert_string_equal(text, "2000-02-29T00:00:00.000001Z");
	/* The caller's time zone has no say. */
	setenv("TZ", "Pacific/Kiritimati", 1);
	tzset();
	hl_iso_time(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00.000000Z");
}

/* Every day of four centuries, against the library's own calendar. */
static void
test_calendar(void **state)
{
	char text[HL_ISO_TIME_SIZE], want[HL_ISO_TIME_SIZE];

	(void)state;
	for (uint64_t day = 0; day < 146097 + 1; day++) {
		time_t seconds = (time_t)(day * 86400 + day % 86400);
		struct tm tm;
		assert_non_null(gmtime_r(&seconds, &tm));
		assert_true(strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S.000000Z", &tm) > 0);
		hl_iso_time((uint64_t)seconds * 1000000, text);
		assert_string_equal(text, want);
	}
}

static void
test_clocks(void **state)
{
	uint64_t mono = hl_now_mono_ms();
	uint64_t real = hl_now_real_us();

	(void)state;
	assert_true(hl_now_mono_ms() >= mono);
	assert_true(real / 1000000 + 2 >= (uint64_t)time(NULL));
	assert_true(real / 1000000 <= (uint64_t)time(NULL));
}

static int
compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void
test_ulid(void **state)
{
	static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	enum {
		N = 2000
	};
	static char ids[N][HL_ULID_SIZE];
	struct hl_err err;
	bool seen[26][32] = { 0 };

	(void)state;
	uint64_t before = hl_now_real_us() / 1000;
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(hl_ulid(ids[i], &err), 0);
		assert_int_equal(strlen(ids[i]), HL_ULID_SIZE - 1);
		assert_int_equal(strspn(ids[i], alphabet), HL_ULID_SIZE - 1);
		for (unsigned k = 0; k < 26; k++)
			seen[k][strchr(alphabet, ids[i][k]) - alphabet] = true;
	}
	/* Ten digits of time, exactly. */
	uint64_t ms = 0;
	for (unsigned k = 0; k < 10; k++)
		ms = ms << 5 | (uint64_t)(strchr(alphabet, ids[0][k]) - alphabet);
	assert_in_range(ms, before, before + 60000);
	/* All five bits of each of the sixteen others are noise. */
	for (unsigned k = 10; k < 26; k++)
		for (unsigned digit = 0; digit < 32; digit++)
			assert_true(seen[k][digit]);
	qsort(ids, N, sizeof(ids[0]), compare);
	for (unsigned i = 1; i < N; i++)
		assert_string_not_equal(ids[i - 1], ids[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_iso),
		cmocka_unit_test(test_calendar),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_ulid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
