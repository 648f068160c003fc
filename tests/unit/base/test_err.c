/*
 * Errors: codes and their table, messages that do not fit, errno, cleanup that keeps errno.
 */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
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
test_table(void **state)
{
	(void)state;
	assert_string_equal(hl_code_info(HL_OK)->id, "HL-00");
	for (unsigned i = 1; i < HL_CODE_MAX; i++) {
		const struct hl_code_info *info = hl_code_info((enum hl_code)i);
		assert_int_equal(strlen(info->id), 6);
		assert_memory_equal(info->id, "HL", 2);
		assert_int_equal(info->id[3], '-');
		assert_true(info->name[0] != '\0');
		assert_true(info->help[strlen(info->help) - 1] == '.');
		assert_in_range(info->exit_status, 1, 78);
		assert_int_equal(hl_code_from_id(info->id), i);
		for (unsigned j = 1; j < i; j++) {
			assert_string_not_equal(hl_code_info((enum hl_code)j)->id, info->id);
			if (strcmp(info->name, "reserved") != 0)
				assert_string_not_equal(hl_code_info((enum hl_code)j)->name,
				    info->name);
		}
	}
	assert_int_equal(hl_code_from_id("hli-02"), HLI_02);
	assert_int_equal(hl_code_from_id("HLI-99"), HL_OK);
	assert_int_equal(hl_code_from_id(""), HL_OK);
	assert_int_equal(hl_code_from_id("HL-00"), HL_OK);
}

static void
test_set(void **state)
{
	struct hl_err err = { .sys_errno = 5, .help = "old" };

	(void)state;
	assert_int_equal(hl_err_set(&err, HLU_01, "cannot '%s'", "x"), -1);
	assert_int_equal(err.code, HLU_01);
	assert_int_equal(err.sys_errno, 0);
	assert_string_equal(err.msg, "cannot 'x'");
	assert_string_equal(err.help, "");
	assert_int_equal(hl_err_help(&err, "do %d", 7), -1);
	assert_string_equal(err.help, "do 7");
	assert_int_equal(hl_err_oom(&err), -1);
	assert_int_equal(err.code, HLI_01);
	errno = ENOENT;
	assert_int_equal(hl_err_sys(&err, HLU_02, "cannot open '%s'", "f"), -1);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_string_equal(err.msg, "cannot open 'f': No such file or directory");
}

static void
test_long_messages(void **state)
{
	struct hl_err err;
	char text[2000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	hl_err_set(&err, HLU_01, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	errno = EIO;
	hl_err_sys(&err, HLU_01, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	hl_err_wrap(&err, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	hl_err_help(&err, "%s", text);
	assert_int_equal(strlen(err.help), sizeof(err.help) - 1);
	/* A long context leaves room for the cause. */
	hl_err_set(&err, HLU_01, "the cause");
	hl_err_wrap(&err, "%s", text);
	assert_non_null(strstr(err.msg, ": the cause"));
}

static void
test_wrap(void **state)
{
	struct hl_err err;

	(void)state;
	hl_err_set(&err, HLU_02, "gone");
	assert_int_equal(hl_err_wrap(&err, "mount %d", 3), -1);
	assert_string_equal(err.msg, "mount 3: gone");
	assert_int_equal(err.code, HLU_02);
	hl_err_wrap(&err, "%s", "");
	assert_string_equal(err.msg, ": mount 3: gone");
}

/* Cleanups run on the way out of an error and must not change what it was. */
static void
test_cleanup_keeps_errno(void **state)
{
	(void)state;
	errno = ENOSPC;
	{
		char *text HL_AUTO_FREE = strdup("x");
		int HL_AUTO_FD fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		int HL_AUTO_FD bad = 99999;
		int HL_AUTO_FD none = -1;
		(void)text;
		(void)fd;
		(void)bad;
		(void)none;
		errno = ENOSPC;
	}
	assert_int_equal(errno, ENOSPC);
}

static void
test_take(void **state)
{
	int fd = 7;
	char *text = strdup("x");

	(void)state;
	assert_int_equal(hl_take_fd(&fd), 7);
	assert_int_equal(fd, -1);
	char *taken = HL_TAKE_PTR(text);
	assert_null(text);
	assert_string_equal(taken, "x");
	free(taken);
}

static void
test_bug_aborts(void **state)
{
	int status = 0;

	(void)state;
	pid_t child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(null, STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		HL_BUG_ON(child == 0);
		_exit(0);
	}
	waitpid(child, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	HL_BUG_ON(child == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_long_messages),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_cleanup_keeps_errno),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_bug_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
