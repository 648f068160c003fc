/*
 * An answer of a verb is whole, or none of it is there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/launcher.h"

#include "base/banned.h"

/* What an answer leaves on standard output. */
static long
written(struct hl_buf *out, int *ret_status, struct hl_err *err)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	fflush(stdout);
	int saved = dup(STDOUT_FILENO);
	assert_int_equal(dup2(fileno(file), STDOUT_FILENO), STDOUT_FILENO);
	*ret_status = verb_answer(out, err);
	fflush(stdout);
	assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	close(saved);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	long len = ftell(file);
	fclose(file);
	return len;
}

static void
test_whole_or_nothing(void **state)
{
	struct hl_err err = { 0 };
	struct hl_buf out;
	int status;

	(void)state;
	hl_buf_init(&out, 16);
	hl_buf_puts(&out, "the answer");
	assert_int_equal(written(&out, &status, &err), 10);
	assert_int_equal(status, 0);
	hl_buf_init(&out, 16);
	hl_buf_puts(&out, "the answer");
	hl_buf_puts(&out, ", which is longer than can be held");
	assert_int_equal(written(&out, &status, &err), 0);
	assert_int_equal(status, -1);
	assert_int_equal(err.code, HLI_03);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
