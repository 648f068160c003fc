/*
 * Whether a test has failed is counted, and does not hang on what could be told of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/tester.h"

#include "base/banned.h"

static struct tester tester;
static struct request request;

static void
begin(enum output_format format)
{
	memset(&tester, 0, sizeof(tester));
	request.format = format;
	tester.request = &request;
	hl_buf_init(&tester.out, TESTER_OUT_MAX);
}

static void
test_what_is_not_told_has_failed_all_the_same(void **state)
{
	static const struct {
		enum output_format format;
		const char *begin;
	} rows[] = {
		{ FORMAT_TAP, "not ok 1 - f: n\n" },
		{ FORMAT_JSON, "{\"file\":\"f\",\"test\":\"n\",\"ok\":false," },
		{ FORMAT_JUNIT, "    <testcase classname=\"f\" name=\"n\">\n" },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		struct verdict verdict;
		begin(rows[i].format);
		verdict_init(&verdict);
		verdict.why.max = 4; /* as where memory has ended */
		tester_why(&tester, NULL, "it is something else", &verdict);
		assert_true(verdict.why.failed);
		verdict.why.failed = false; /* so that something is written */
		tester_case(&tester, "f", "n", &verdict);
		assert_int_equal(tester.failed, 1);
		assert_memory_equal(tester.out.data, rows[i].begin, strlen(rows[i].begin));
		verdict.why.failed = true;
		tester_case(&tester, "f", "n", &verdict);
		assert_int_equal(tester.failed, 2);
		assert_true(tester.out.failed);
		verdict_done(&verdict);
		hl_buf_done(&tester.out);
	}
}

static void
test_what_is_met_has_not_failed(void **state)
{
	struct verdict verdict;

	(void)state;
	begin(FORMAT_TAP);
	verdict_init(&verdict);
	tester_case(&tester, "f", "n", &verdict);
	assert_int_equal(tester.failed, 0);
	assert_string_equal(tester.out.data, "ok 1 - f: n\n");
	verdict_done(&verdict);
	hl_buf_done(&tester.out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_not_told_has_failed_all_the_same),
		cmocka_unit_test(test_what_is_met_has_not_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
