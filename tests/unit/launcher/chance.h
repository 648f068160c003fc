/*
 * Chance for tests that respell attacks: the seed is printed, and HL_TEST_SEED=N repeats a run.
 */
#ifndef HL_TESTS_LAUNCHER_CHANCE_H
#define HL_TESTS_LAUNCHER_CHANCE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/base.h"

static uint64_t chance;

static inline void
chance_begin(void)
{
	const char *given = getenv("HL_TEST_SEED");
	struct hl_err err;

	chance = (uint64_t)time(NULL) | 1;
	if (given != NULL)
		assert_int_equal(hl_parse_u64(given, 1, UINT64_MAX, &chance, &err), 0);
	print_message("HL_TEST_SEED=%" PRIu64 "\n", chance);
}

/* One of n. xorshift64*: good enough to choose spellings with. */
static inline unsigned
pick(unsigned n)
{
	chance ^= chance >> 12;
	chance ^= chance << 25;
	chance ^= chance >> 27;
	return (unsigned)((chance * UINT64_C(2685821657736338717)) >> 33) % n;
}

/* Each letter of text from..to in a random case. */
static inline void
shuffle_case(char *text, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		char c = text[i];

		if (pick(2) == 0 && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			text[i] = (char)(c ^ 0x20);
	}
}

#endif
