/*
 * Patterns of fs.deny against a real tree.
 */
#include "plan_fixture.h"

static size_t
expand(const struct fixture *fixture, const char *pattern, struct hl_strv *found)
{
	unsigned dirs = 0;
	struct hl_err err;

	hl_strv_done(found);
	hl_strv_init(found, 64);
	assert_int_equal(plan_glob_expand(at(fixture, pattern), &dirs, found, &err), 0);
	hl_strv_sort(found);
	return found->len;
}

static void
test_names(void **state)
{
	const struct fixture *fixture = *state;
	HL_AUTO(hl_strv_done) struct hl_strv found = { 0 };

	make_dir(at(fixture, "a/one"));
	make_dir(at(fixture, "a/two/deep/er"));
	make_file(at(fixture, "a/two/key.pem"), "");
	make_file(at(fixture, "a/two/deep/key.pem"), "");
	make_file(at(fixture, "a/.env"), "");

	assert_int_equal(expand(fixture, "a/one", &found), 1);
	assert_int_equal(expand(fixture, "a/none", &found), 0);
	/* a leading dot is a name like any other */
	assert_int_equal(expand(fixture, "a/*", &found), 3);
	assert_string_equal(found.v[0], at(fixture, "a/.env"));
	assert_int_equal(expand(fixture, "a/t?o", &found), 1);
	assert_int_equal(expand(fixture, "a/*/deep", &found), 1);
	assert_int_equal(expand(fixture, "a/**", &found), 1);
	assert_string_equal(found.v[0], at(fixture, "a"));
	assert_int_equal(expand(fixture, "a/**/*.pem", &found), 2);
	assert_int_equal(expand(fixture, "a/**/key.pem", &found), 2);
	assert_int_equal(expand(fixture, "a/**/.env", &found), 1);
	assert_int_equal(expand(fixture, "a/**/er/**", &found), 1);
}

static void
test_links_are_not_walked(void **state)
{
	const struct fixture *fixture = *state;
	HL_AUTO(hl_strv_done) struct hl_strv found = { 0 };

	make_dir(at(fixture, "b/real"));
	make_file(at(fixture, "b/real/x"), "");
	assert_int_equal(symlink(at(fixture, "b"), at(fixture, "b/loop")), 0);
	assert_int_equal(expand(fixture, "b/**/x", &found), 1);
	/* named outright, a link is followed */
	assert_int_equal(expand(fixture, "b/loop/real/x", &found), 1);
}

static void
test_bounds(void **state)
{
	const struct fixture *fixture = *state;
	HL_AUTO(hl_strv_done) struct hl_strv found = { 0 };
	unsigned dirs = PLAN_DENY_WALK_MAX;
	struct hl_err err;

	make_dir(at(fixture, "c"));
	hl_strv_init(&found, 64);
	/* HLI-03: one directory more than may be read */
	assert_int_equal(plan_glob_expand(at(fixture, "c/**/x"), &dirs, &found, &err), -1);
	assert_int_equal(err.code, HLI_03);
	dirs = PLAN_DENY_WALK_MAX - 1;
	assert_int_equal(plan_glob_expand(at(fixture, "c/**/x"), &dirs, &found, &err), 0);
	dirs = 0;
	assert_int_equal(plan_glob_expand(at(fixture, "c/**x"), &dirs, &found, &err), -1);
	assert_int_equal(err.code, HLU_11);
	assert_int_equal(plan_glob_expand("relative/*", &dirs, &found, &err), -1);
	assert_int_equal(err.code, HLU_11);
}

/* What the caller cannot look into is covered as a whole, for somebody else may be able to. */
static void
test_unreadable(void **state)
{
	const struct fixture *fixture = *state;
	HL_AUTO(hl_strv_done) struct hl_strv found = { 0 };
	struct stat st;

	make_dir(at(fixture, "d/shut/in"));
	make_file(at(fixture, "d/shut/in/x"), "");
	assert_int_equal(chmod(at(fixture, "d/shut"), 0), 0);
	if (stat(at(fixture, "d/shut/in"), &st) == 0) {
		/* root reads everything: the pattern reaches its goal */
		assert_int_equal(expand(fixture, "d/*/in/x", &found), 1);
		assert_string_equal(found.v[0], at(fixture, "d/shut/in/x"));
	} else {
		assert_int_equal(expand(fixture, "d/*/in/x", &found), 1);
		assert_string_equal(found.v[0], at(fixture, "d/shut"));
		assert_int_equal(expand(fixture, "d/**/x", &found), 1);
		assert_string_equal(found.v[0], at(fixture, "d/shut"));
	}
	assert_int_equal(chmod(at(fixture, "d/shut"), 0755), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_are_not_walked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
