/*
 * The place of a named session: whose it is, and what its end may take away.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/keeper.h"

struct trial {
	char state_dir[64];
	struct hl_err err;
};

static int
setup(void **state)
{
	struct trial *trial = calloc(1, sizeof(*trial));

	snprintf(trial->state_dir, sizeof(trial->state_dir), "/tmp/hl-keeper-place.XXXXXX");
	*state = trial;
	return mkdtemp(trial->state_dir) != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	struct trial *trial = *state;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sessions", trial->state_dir);
	int status = rmdir(path) != 0 || rmdir(trial->state_dir) != 0 ? -1 : 0;
	free(trial);
	return status;
}

static struct keeper_place
open_place(struct trial *trial, bool may_create)
{
	struct keeper_place place;

	if (keeper_place_open(trial->state_dir, "one", may_create, &place, &trial->err) != 0)
		fail_msg("not opened: %s", trial->err.msg);
	return place;
}

static bool
has(const struct keeper_place *place, const char *name)
{
	return faccessat(place->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void
test_one_holds_it(void **state)
{
	struct trial *trial = *state;
	struct keeper_place first, second;

	assert_int_equal(keeper_place_open(trial->state_dir, "one", false, &first, &trial->err),
	    -1);
	assert_int_equal(trial->err.code, HLU_24);
	first = open_place(trial, true);
	assert_true(first.is_ours);
	second = open_place(trial, false);
	assert_false(second.is_ours);
	keeper_place_close(&second);
	keeper_place_remove(trial->state_dir, "one", &first);
	assert_int_equal(keeper_place_open(trial->state_dir, "one", false, &second, &trial->err),
	    -1);
	assert_int_equal(trial->err.code, HLU_24);
	keeper_place_close(&first);
}

/* The keeper has removed its lock and not yet its directory when somebody asks: nothing is made
 * there that would keep the directory, and nobody is taken for killed. */
static void
test_whoever_asks_leaves_nothing(void **state)
{
	struct trial *trial = *state;
	struct keeper_place old = open_place(trial, true), seen;

	assert_int_equal(keeper_place_look(trial->state_dir, "one", &seen, &trial->err), 0);
	assert_false(seen.is_ours);
	keeper_place_close(&seen);
	assert_int_equal(unlinkat(old.dir, "lock", 0), 0);
	assert_int_equal(keeper_place_look(trial->state_dir, "one", &seen, &trial->err), -1);
	assert_int_equal(trial->err.code, HLU_25);
	assert_false(has(&old, "lock"));
	char path[256];
	snprintf(path, sizeof(path), "%s/sessions/one", trial->state_dir);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(keeper_place_look(trial->state_dir, "one", &seen, &trial->err), -1);
	assert_int_equal(trial->err.code, HLU_24);
	keeper_place_close(&old);
	/* The sibling: whoever opens it to use it makes a lock, and it stays. */
	old = open_place(trial, true);
	assert_int_equal(unlinkat(old.dir, "lock", 0), 0);
	seen = open_place(trial, false);
	assert_true(seen.is_ours);
	keeper_place_remove(trial->state_dir, "one", &seen);
	keeper_place_close(&seen);
	keeper_place_close(&old);
}

/* The old keeper has removed its lock and not yet its directory when the next one comes. */
static void
test_the_next_one_is_left_alone(void **state)
{
	struct trial *trial = *state;
	struct keeper_place old = open_place(trial, true);

	assert_true(old.is_ours);
	assert_int_equal(unlinkat(old.dir, "lock", 0), 0);
	struct keeper_place next = open_place(trial, true);
	assert_true(next.is_ours);
	HL_AUTO_FD int fd = openat(next.dir, "info", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	keeper_place_remove(trial->state_dir, "one", &old);
	assert_true(has(&next, "info") && has(&next, "lock"));
	/* The sibling: its own end takes everything away. */
	keeper_place_remove(trial->state_dir, "one", &next);
	assert_false(has(&next, "info") || has(&next, "lock"));
	keeper_place_close(&old);
	keeper_place_close(&next);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_holds_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_next_one_is_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_whoever_asks_leaves_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
