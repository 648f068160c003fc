/*
 * Paths: normal form, containment by component, making directories.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

static void
test_is_normal(void **state)
{
	static const char *const good[] = { "/", "/a", "/a/b", "/...", "/a..", "/.a/..b", "/a b" };
	static const char *const bad[] = { "", "a", "a/b", "//", "/a/", "/a//b", "/.", "/..",
		"/a/.", "/a/../b", "/./a", "./a" };
	char longest[PATH_MAX + 1];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(good); i++)
		if (!hl_path_is_normal(good[i]))
			fail_msg("'%s' is normal", good[i]);
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++)
		if (hl_path_is_normal(bad[i]))
			fail_msg("'%s' is not normal", bad[i]);
	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	longest[PATH_MAX] = '\0';
	assert_false(hl_path_is_normal(longest));
	longest[PATH_MAX - 1] = '\0';
	assert_true(hl_path_is_normal(longest));
}

static void
test_normalise(void **state)
{
	static const struct {
		const char *base, *path, *result;
	} rows[] = {
		{ "/w", "a", "/w/a" },
		{ "/w/x", "../a/./b//c/", "/w/a/b/c" },
		{ "/w", "/a/../../..", "/" },
		{ "/w", "", "/w" },
		{ "/w", ".", "/w" },
		{ "/", "..", "/" },
		{ "/", "a", "/a" },
		{ "/a//b/../c", "d", "/a/c/d" },
		{ "/w", "...", "/w/..." },
		{ "/w", "/", "/" },
		{ "/w", "../..", "/" },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		char *path HL_AUTO_FREE = hl_path_normalise(rows[i].base, rows[i].path);
		assert_string_equal(path, rows[i].result);
		assert_true(hl_path_is_normal(path));
	}
}

static void
test_is_beneath(void **state)
{
	(void)state;
	assert_true(hl_path_is_beneath("/a", "/a"));
	assert_true(hl_path_is_beneath("/a/b", "/a"));
	assert_true(hl_path_is_beneath("/a", "/"));
	assert_true(hl_path_is_beneath("/", "/"));
	assert_false(hl_path_is_beneath("/ab", "/a"));
	assert_false(hl_path_is_beneath("/", "/a"));
	assert_false(hl_path_is_beneath("/a", "/a/b"));
	assert_false(hl_path_is_beneath("/b/a", "/a"));
}

static void
test_of_fd(void **state)
{
	int HL_AUTO_FD fd = open("/usr", O_PATH | O_CLOEXEC);
	char *path HL_AUTO_FREE = hl_path_of_fd(fd);

	(void)state;
	assert_string_equal(path, "/usr");
	assert_null(hl_path_of_fd(-1));
	assert_null(hl_path_of_fd(9999));
}

static void
test_mkdirs(void **state)
{
	char root[] = "/tmp/hl-path-XXXXXX";
	char path[128];
	struct stat st;
	struct hl_err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/a/b/c", root);
	assert_int_equal(hl_mkdirs(path, 0700, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	/* What is there stays as it is. */
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(hl_mkdirs(path, 0700, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(hl_mkdirs("relative", 0700, &err), -1);
	assert_int_equal(hl_mkdirs("/tmp/../tmp/x", 0700, &err), -1);
	/* A file in the way. */
	snprintf(path, sizeof(path), "%s/file", root);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	strcat(path, "/x");
	assert_int_equal(hl_mkdirs(path, 0700, &err), -1);
	assert_int_equal(err.sys_errno, ENOTDIR);
	path[strlen(path) - 2] = '\0';
	assert_int_equal(hl_mkdirs(path, 0700, &err), -1);
	assert_int_equal(unlink(path), 0);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", root, &"/a/b/c\0/a/b\0\0\0/a"[i * 7]);
		assert_int_equal(rmdir(path), 0);
	}
	assert_int_equal(rmdir(root), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_normal),
		cmocka_unit_test(test_normalise),
		cmocka_unit_test(test_is_beneath),
		cmocka_unit_test(test_of_fd),
		cmocka_unit_test(test_mkdirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
