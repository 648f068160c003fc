/*
 * Placeholders and the resolution of sources.
 */
#include "plan_fixture.h"

static void
test_placeholders(void **state)
{
	const struct fixture *fixture = *state;
	char want[PATH_MAX];
	char *text = NULL;
	struct hl_err err;

	assert_int_equal(plan_text_expand("${home}/x/${user}-${uid}", &fixture->host, NULL, &text,
			     &err),
	    0);
	snprintf(want, sizeof(want), "%s/x/alice-1000", fixture->home);
	assert_string_equal(text, want);
	free(text);
	assert_int_equal(plan_text_expand("${workdir}/${state}", &fixture->host, "/w", &text, &err),
	    0);
	snprintf(want, sizeof(want), "/w/%s", fixture->state);
	assert_string_equal(text, want);
	free(text);
	assert_int_equal(plan_text_expand("/a$b$/{c}", &fixture->host, NULL, &text, &err), 0);
	assert_string_equal(text, "/a$b$/{c}");
	free(text);
}

static void
test_bad_text(void **state)
{
	static const char *const texts[] = { "${HOME}/x", "${workdir}/x", "${home", "/a\nb",
		"/a\x7f" };
	const struct fixture *fixture = *state;
	char *text = NULL;
	struct hl_err err;

	/* U34: a newline is refused; HLU-11 */
	for (size_t i = 0; i < HL_ARRAY_SIZE(texts); i++) {
		assert_int_equal(plan_text_expand(texts[i], &fixture->host, NULL, &text, &err), -1);
		assert_int_equal(err.code, HLU_11);
	}
}

static void
test_resolve(void **state)
{
	const struct fixture *fixture = *state;
	struct plan_source source;
	struct stat st;
	struct hl_err err;

	make_dir(at(fixture, "real/dir"));
	make_file(at(fixture, "real/file"), "x");
	assert_int_equal(symlink("real", at(fixture, "link")), 0);
	assert_int_equal(plan_source_resolve(at(fixture, "link/dir"), &source, &err), 0);
	assert_string_equal(source.path, at(fixture, "real/dir"));
	assert_true(source.is_dir);
	assert_int_equal(stat(at(fixture, "real/dir"), &st), 0);
	assert_int_equal(source.ino, st.st_ino);
	plan_source_done(&source);
	assert_int_equal(plan_source_resolve(at(fixture, "real/file"), &source, &err), 0);
	assert_false(source.is_dir);
	plan_source_done(&source);
	assert_int_equal(plan_source_resolve(at(fixture, "real/none"), &source, &err), -1);
	assert_int_equal(err.code, HLU_10);
	assert_int_equal(err.sys_errno, ENOENT);
	/* a name that the link hides */
	make_dir(at(fixture, "real/new\nline"));
	assert_int_equal(symlink("new\nline", at(fixture, "real/clean")), 0);
	assert_int_equal(plan_source_resolve(at(fixture, "real/clean"), &source, &err), -1);
	assert_int_equal(err.code, HLU_11);
}

/* A deleted directory still has an inode, but no name that means it. */
static void
test_nameless(void **state)
{
	const struct fixture *fixture = *state;
	struct plan_source source;
	char path[64];
	struct hl_err err;

	make_dir(at(fixture, "gone"));
	int fd = open(at(fixture, "gone"), O_PATH | O_CLOEXEC);
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(plan_source_resolve(path, &source, &err), 0);
	plan_source_done(&source);
	assert_int_equal(rmdir(at(fixture, "gone")), 0);
	assert_int_equal(plan_source_resolve(path, &source, &err), -1);
	assert_int_equal(err.code, HLU_10);
	close(fd);
}

static void
test_settle(void **state)
{
	const struct fixture *fixture = *state;

	make_dir(at(fixture, "real"));
	assert_int_equal(symlink("real", at(fixture, "link")), 0);
	HL_AUTO_FREE char *path = plan_path_settle(at(fixture, "link/not/yet"));
	assert_string_equal(path, at(fixture, "real/not/yet"));
	HL_AUTO_FREE char *root = plan_path_settle("/");
	assert_string_equal(root, "/");
	HL_AUTO_FREE char *top = plan_path_settle("/no-such-directory-here/x");
	assert_string_equal(top, "/no-such-directory-here/x");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_placeholders, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resolve, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nameless, setup, teardown),
		cmocka_unit_test_setup_teardown(test_settle, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
