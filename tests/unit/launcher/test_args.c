/*
 * The arguments as the kernel shows them: copied whole, then hidden whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/launcher.h"

#include "base/banned.h"

static void
release(struct args *args)
{
	free(args->argv[0]);
	free(args->argv);
}

static void
test_hidden(void **state)
{
	char area[] = "hermes-launch\0run\0-c\0S3CRET-777\0--name\0one\0the environment";
	char *argv[] = { area, area + 14, area + 18, area + 21, area + 32, area + 39, NULL };
	struct args args;
	struct hl_err err;

	(void)state;
	assert_int_equal(args_take(6, argv, &args, &err), 0);
	args_hide(&args, "one");
	assert_string_equal(area, "hermes-launch: session one");
	for (size_t i = strlen(area); i < 43; i++)
		assert_int_equal(area[i], '\0');
	assert_string_equal(area + 43, "the environment");
	assert_string_equal(args.argv[0], "hermes-launch");
	assert_string_equal(args.argv[3], "S3CRET-777");
	assert_string_equal(args.argv[5], "one");
	assert_null(args.argv[6]);
	release(&args);
}

/* The title is cut, and what stands behind is not ours. */
static void
test_little_room(void **state)
{
	char area[] = "./h\0-c\0x\0the environment";
	char *argv[] = { area, area + 4, area + 7, NULL };
	struct args args;
	struct hl_err err;

	(void)state;
	assert_int_equal(args_take(3, argv, &args, &err), 0);
	args_hide(&args, "one");
	assert_string_equal(area, "hermes-l");
	assert_string_equal(area + 9, "the environment");
	release(&args);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_little_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
