/*
 * The exact bytes of messages: each tests/golden/policy/NAME.yaml, under NAME.base.yaml where there
 * is one, must print NAME.txt. HL_GOLDEN_WRITE=1 writes the files anew, to be read like code before
 * they are kept.
 */
#include "stack.h"

#include "base/banned.h"

static const char golden_dir[] = "tests/golden/policy";

enum {
	CASES_MIN = 80,
	MESSAGE_MAX = 512,
	CASES_MAX = 256,
};

static bool
read_golden(const char *name, const char *suffix, struct hl_buf *bytes)
{
	char path[256];
	struct hl_err err = { 0 };

	snprintf(path, sizeof(path), "%s/%s%s", golden_dir, name, suffix);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	hl_buf_init(bytes, 1 << 20);
	assert_int_equal(hl_read_file(fd, bytes, path, HLI_02, &err), 0);
	close(fd);
	return true;
}

static void
load_case(const char *name)
{
	struct hl_buf bytes;
	char file[128];
	const char *files[2];
	size_t n = 0;

	if (read_golden(name, ".base.yaml", &bytes)) {
		stack_write("base.yaml", bytes.data, bytes.len);
		files[n++] = "base.yaml";
		hl_buf_done(&bytes);
	}
	assert_true(read_golden(name, ".yaml", &bytes));
	snprintf(file, sizeof(file), "%s.yaml", name);
	stack_write(file, bytes.len > 0 ? bytes.data : "", bytes.len);
	hl_buf_done(&bytes);
	files[n++] = file;
	stack_load_files(files, n);
}

static void
write_golden(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.txt", golden_dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(hl_write_full(fd, stack_text(), t.text.len), 0);
	close(fd);
}

static void
check_case(const char *name)
{
	struct hl_buf expected;

	load_case(name);
	assert_null(strstr(stack_text(), "hush"));
	assert_null(strstr(stack_text(), "do-not-show"));
	for (size_t i = 0; i < t.findings.len; i++) {
		struct hl_buf one;
		hl_buf_init(&one, 1 << 16);
		policy_finding_format(&t.findings.items[i], &one);
		if (one.len > MESSAGE_MAX)
			fail_msg("%s: a message of %zu bytes:\n%s", name, one.len, one.data);
		hl_buf_done(&one);
	}
	if (getenv("HL_GOLDEN_WRITE") != NULL)
		write_golden(name);
	if (!read_golden(name, ".txt", &expected))
		fail_msg("%s has no expected text", name);
	if (strcmp(expected.data, stack_text()) != 0)
		fail_msg("%s: expected\n%s\ngot\n%s", name, expected.data, stack_text());
	hl_buf_done(&expected);
}

static void
messages_have_their_exact_bytes(void **state)
{
	DIR *stream = opendir(golden_dir);
	struct hl_strv names;

	(void)state;
	assert_non_null(stream);
	hl_strv_init(&names, CASES_MAX);
	for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
		const char *dot = strstr(entry->d_name, ".yaml");
		if (dot != NULL && strstr(entry->d_name, ".base.yaml") == NULL)
			hl_strv_addn(&names, entry->d_name, (size_t)(dot - entry->d_name));
	}
	closedir(stream);
	hl_strv_sort(&names);
	assert_true(names.len >= CASES_MIN);
	for (size_t i = 0; i < names.len; i++)
		check_case(names.v[i]);
	hl_strv_done(&names);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_have_their_exact_bytes),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
