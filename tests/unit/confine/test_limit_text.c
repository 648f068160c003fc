/*
 * What a control group's files say against what was asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "confine/confine.h"

#include "base/banned.h"

static const struct {
	enum confine_limit limit;
	const char *text;
	uint64_t wanted;
	bool is;
} rows[] = {
	{ CONFINE_LIMIT_PIDS, "64\n", 64, true },
	{ CONFINE_LIMIT_PIDS, "64", 64, true },
	{ CONFINE_LIMIT_PIDS, "640\n", 64, false },
	{ CONFINE_LIMIT_PIDS, "64 65\n", 64, false },
	{ CONFINE_LIMIT_PIDS, "max\n", 64, false },
	{ CONFINE_LIMIT_PIDS, "-1\n", 64, false },
	{ CONFINE_LIMIT_PIDS, "64x\n", 64, false },
	{ CONFINE_LIMIT_PIDS, "", 64, false },
	{ CONFINE_LIMIT_PIDS, "18446744073709551680\n", 64, false }, /* 2^64 + 64 */
	{ CONFINE_LIMIT_PIDS, "0000000000000000000000000000000064\n", 64, false },
	{ CONFINE_LIMIT_MEMORY, "8192\n", 8192, true },
	{ CONFINE_LIMIT_MEMORY, "8192\n", 8193, true }, /* whole pages */
	{ CONFINE_LIMIT_MEMORY, "8193\n", 8193, true },
	{ CONFINE_LIMIT_MEMORY, "12288\n", 8193, false },
	{ CONFINE_LIMIT_MEMORY, "4096\n", 8193, false },
	{ CONFINE_LIMIT_CPUS, "50000 100000\n", 500, true },
	{ CONFINE_LIMIT_CPUS, "50000\n100000\n", 500, true }, /* two files of version 1 */
	{ CONFINE_LIMIT_CPUS, "50000 10000\n", 500, false },  /* five processors */
	{ CONFINE_LIMIT_CPUS, "50000 1000000\n", 500, false },
	{ CONFINE_LIMIT_CPUS, "50000 100000 1\n", 500, false },
	{ CONFINE_LIMIT_CPUS, "50000\n", 500, false },
	{ CONFINE_LIMIT_CPUS, "60000 100000\n", 500, false },
	{ CONFINE_LIMIT_CPUS, "max 100000\n", 500, false },
	{ CONFINE_LIMIT_CPUS, "-1\n100000\n", 500, false },
	{ CONFINE_LIMIT_MAX, "64\n", 64, false },
};

static void
test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++)
		if (confine_limit_is(rows[i].limit, rows[i].text, rows[i].wanted) != rows[i].is)
			fail_msg("'%s' of %llu", rows[i].text, (unsigned long long)rows[i].wanted);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
