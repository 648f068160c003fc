/*
 * What an id of a user namespace is one further up, by the kernel's text of the map; and what is no
 * such text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "confine/confine.h"

#include "base/banned.h"

#define KEPT                          \
 "         0          1       1000\n" \
 "      1000          0          1\n" \
 "      1001       1001      64536\n"

static const struct {
	const char *map;
	uint32_t id;
	bool is_there;
	uint32_t outside;
} rows[] = {
	{ "         0          0 4294967295\n", 1000, true, 1000 },
	{ "0 1000 1\n1 100000 65536", 0, true, 1000 },
	{ "0 1000 1\n1 100000 65536\n", 65536, true, 165535 },
	{ "0 1000 1\n1 100000 65536\n", 65537, false, 0 }, { KEPT, 1000, true, 0 },
	{ KEPT, 999, true, 1000 }, { KEPT, 1001, true, 1001 }, { KEPT, 0, true, 1 },
	{ "1000 0 1\n", 1000, true, 0 }, /* an account without a range */
	{ "1000 0 1\n", 0, false, 0 },
	{ "5 7 4294967295\n", 4294967294U, false, 0 }, /* it would be past the last */
	{ "", 0, false, 0 }, { "\n", 0, false, 0 }, { "0 0\n", 0, false, 0 },
	{ "0 0 1 1\n", 0, false, 0 }, { "0 x 1\n", 0, false, 0 }, { "0 -1 1\n", 0, false, 0 },
	{ "0 0 4294967296\n", 0, false, 0 }, { "0 0 0000000000000000001\n", 0, false, 0 },
	{ "1000 0 1\n1001 5", 1000, false, 0 }, /* cut */
};

static void
test_maps(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		uint32_t outside = 0;
		bool is_there = confine_id_outside(rows[i].map, rows[i].id, &outside);
		if (is_there != rows[i].is_there || (is_there && outside != rows[i].outside))
			fail_msg("%u of '%s': %u", rows[i].id, rows[i].map, outside);
	}
}

/* Fail closed: what is no map, or an empty one, does not say that nobody is root outside. */
static void
test_maps_without_root(void **state)
{
	static const struct {
		const char *map;
		bool lacks_root;
	} maps[] = {
		{ "0 1000 1\n1 100000 65536\n", true },
		{ "0 100000 65536", true },
		{ "         0          0 4294967295\n", false },
		{ KEPT, false }, /* as it is seen from inside */
		{ "0 1000 1\n1000 0 1\n", false },
		{ "0 1000 1\n1 4294967295 1\n", false },
		{ "", false },
		{ "\n", false },
		{ "0 1000 1\n1 x 1\n", false },
		{ "0 1000", false },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(maps); i++)
		if (confine_map_lacks_root(maps[i].map) != maps[i].lacks_root)
			fail_msg("'%s'", maps[i].map);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_maps_without_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
