/*
 * What one key says against itself, and names that somebody else knows.
 */
#include "stack.h"

#include "base/banned.h"

/* What the file itself cannot know is no contradiction: a default outside what is allowed, a name
 * that no sandbox gets. */
static void
one_key_contradicts_itself(void **state)
{
	(void)state;
	expect_error(OPEN "backends: {allowed: [local], default: docker}\n", "HLP-17");
	expect_good(OPEN "backends: {allowed: [local, docker], default: docker}\n");
	expect_error(OPEN "env: {set: {LD_PRELOAD: x}}\n", "HLP-16");
	expect_good(OPEN "env: {set: {PRELOAD: x}}\n");
}

static int
knows_ptrace(const char *name, struct hl_err *err)
{
	if (strcmp(name, "ptrace") == 0)
		return 0;
	hl_err_set(err, HLU_01, "'%s' is not a system call", name);
	return hl_err_help(err, "did you mean 'ptrace'?");
}

/* The room itself knows no system call; who loads a policy for a sandbox does. */
static void
names_of_calls_are_asked_for(void **state)
{
	static const char *const file = "p.yaml";
	static const char *const text = OPEN "process: {seccomp: {deny: [ptrace, ptrce]}}\n";
	struct policy_load_request request = {
		.files = &file,
		.files_len = 1,
		.cwd = t.dir,
		.caller = getuid(),
	};

	(void)state;
	expect_good(text);
	request.check_call = knows_ptrace;
	assert_int_equal(stack_load_request(&request), -1);
	expect_code("HLP-13");
	const struct policy_finding *finding = stack_find("HLP-13");
	assert_int_equal(finding->where.line, 4);
	assert_int_equal(finding->where.column, 36);
	assert_non_null(strstr(stack_text(), "^~~~~"));
	assert_non_null(strstr(stack_text(), "did you mean 'ptrace'?"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_key_contradicts_itself),
		cmocka_unit_test(names_of_calls_are_asked_for),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
