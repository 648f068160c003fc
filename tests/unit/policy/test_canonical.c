/*
 * The canonical form: its exact bytes for one file with everything in it, the same bytes when it is
 * made again, and the same policy for every good file of the tests.
 */
#include "policy/layer.h"
#include "stack.h"

#include "base/banned.h"

static struct hl_buf result;

static int
canonical(const char *text, size_t len)
{
	struct hl_buf bytes;

	stack_reset();
	hl_buf_done(&result);
	hl_buf_init(&result, 1 << 21);
	hl_buf_init(&t.text, 1 << 20);
	hl_buf_init(&bytes, 1 << 20);
	hl_buf_put(&bytes, text, len);
	int status = policy_canonical("p.yaml", &bytes, &result, &t.findings, &t.err);
	for (size_t i = 0; i < t.findings.len; i++)
		policy_finding_format(&t.findings.items[i], &t.text);
	hl_buf_done(&bytes);
	return status;
}

static void
expect_form(const char *text, const char *want)
{
	assert_int_equal(canonical(text, strlen(text)), 0);
	assert_string_equal(result.data, want);
	HL_AUTO_FREE char *first = hl_buf_take(&result);
	assert_int_equal(canonical(first, strlen(first)), 0);
	assert_string_equal(result.data, want);
}

static const char shuffled[] = "# header\n"
			       "\n\n"
			       "version: 1\n"
			       "env:\n"
			       "\n"
			       "    # names\n"
			       "    set:   {SHIFT: day}   # kept\n"
			       "\n\n"
			       "    pass:\n"
			       "    - LANG   \n"
			       "    - TZ\n"
			       "limits:   # of the work\n"
			       "      pids:  200\n"
			       "      # about memory\n"
			       "      memory:\n"
			       "         default: 1GiB\n"
			       "         max: 2GiB   # top\n"
			       "id: acme/x\n"
			       "fs:\n"
			       "  mounts:\n"
			       "    - src: /a\n"
			       "      dst: /b\n"
			       "      # inner\n"
			       "    - {src: /c,\n"
			       "       dst: /d}\n"
			       "  workdir:\n"
			       "    access: rw\n"
			       "    path: /srv\n"
			       "image:\n"
			       "  digest: true\n"
			       "  allowed: [\"r/*\"]\n"
			       "level: baseline@1\n"
			       "# the end\n";

static const char formed[] = "# header\n"
			     "\n"
			     "version: 1\n"
			     "id: acme/x\n"
			     "level: baseline@1\n"
			     "limits:  # of the work\n"
			     "  # about memory\n"
			     "  memory:\n"
			     "    max: 2GiB   # top\n"
			     "    default: 1GiB\n"
			     "  pids: 200\n"
			     "fs:\n"
			     "  workdir:\n"
			     "    path: /srv\n"
			     "    access: rw\n"
			     "  mounts:\n"
			     "    - src: /a\n"
			     "      dst: /b\n"
			     "      # inner\n"
			     "    - {src: /c,\n"
			     "       dst: /d}\n"
			     "env:\n"
			     "  pass:\n"
			     "  - LANG\n"
			     "  - TZ\n"
			     "\n"
			     "  # names\n"
			     "  set: {SHIFT: day}   # kept\n"
			     "image:\n"
			     "  allowed: [\"r/*\"]\n"
			     "  digest: true\n"
			     "# the end\n";

static void
keys_get_their_order_and_comments_stay_with_them(void **state)
{
	(void)state;
	expect_form(shuffled, formed);
}

static void
small_forms(void **state)
{
	(void)state;
	expect_form("version: 1\r\nid: a\r\n", "version: 1\nid: a\n");
	expect_form("version: 1\nid: a", "version: 1\nid: a\n");
	expect_form("version: 1\n\"mode\": warn\nid: \"a\"\n",
	    "version: 1\nid: \"a\"\n\"mode\": warn\n");
	/* Below a name the members have the order of their table, the names keep theirs. */
	expect_form("version: 1\nid: a\nsecrets:\n B:\n  require: true  # yes\n  hosts: [a.b]\n"
		    "  from:\n    env: X\n A: {hosts: [a.b], from: {fd: 3}}\n",
	    "version: 1\nid: a\nsecrets:\n  B:\n    from:\n      env: X\n    hosts: [a.b]\n"
	    "    require: true  # yes\n  A: {hosts: [a.b], from: {fd: 3}}\n");
	expect_form("version : 1\nid :   a  \n\n\n", "version: 1\nid: a\n");
}

/* A text over several lines, several keys in one line, and what is no policy. */
static void
what_cannot_be_moved_by_lines_is_refused(void **state)
{
	static const char *const hard[] = {
		"{version: 1, id: a}\n",
		"{version: 1,\nid: a}\n",
		"version: 1\nid: a\nowner: \"a\n  b\"\n",
		"version: 1\nid: a\nowner: |\n  x\n  y\n",
	};
	static const char *const wrong[] = { "", "version: 1\nid: a\nnetwrok: {}\n", "- a\n",
		"version: 1\nid: [\n" };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(hard); i++) {
		assert_int_equal(canonical(hard[i], strlen(hard[i])), -1);
		if (t.err.code != HLP_27 && t.err.code != HLY_09)
			fail_msg("%s: %s", hard[i], t.err.msg);
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(wrong); i++) {
		assert_int_equal(canonical(wrong[i], strlen(wrong[i])), -1);
		assert_true(t.findings.errors > 0);
	}
}

static void
try_file(const char *path, size_t *good)
{
	struct hl_buf bytes;
	struct hl_err err = { 0 };
	char digest[HL_SHA256_HEX_SIZE];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	hl_buf_init(&bytes, 1 << 20);
	assert_int_equal(hl_read_file(fd, &bytes, path, HLI_02, &err), 0);
	close(fd);
	if (bytes.len > 0 && stack_load_bytes(bytes.data, bytes.len) == 0) {
		snprintf(digest, sizeof(digest), "%s", policy_effective_sha256(t.policy));
		if (canonical(bytes.data, bytes.len) == 0) {
			HL_AUTO_FREE char *once = hl_buf_take(&result);
			assert_int_equal(stack_load(once), 0);
			assert_string_equal(digest, policy_effective_sha256(t.policy));
			assert_int_equal(canonical(once, strlen(once)), 0);
			assert_string_equal(once, result.data);
			(*good)++;
		}
		assert_int_not_equal(t.err.code, HLI_02);
	}
	hl_buf_done(&bytes);
}

static void
every_good_file_keeps_its_meaning(void **state)
{
	static const char *const dirs[] = { "tests/golden/policy", "examples",
		"tests/fuzz/corpus/fuzz_policy" };
	size_t good = 0;
	char path[512];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(dirs); i++) {
		DIR *stream = opendir(dirs[i]);
		for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;) {
			size_t len = strlen(entry->d_name);
			if (len < 5 || strcmp(entry->d_name + len - 5, ".yaml") != 0)
				continue;
			snprintf(path, sizeof(path), "%s/%s", dirs[i], entry->d_name);
			try_file(path, &good);
		}
		if (stream != NULL)
			closedir(stream);
	}
	assert_true(good >= 10);
}

static int
done(void **state)
{
	hl_buf_done(&result);
	return stack_teardown(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_get_their_order_and_comments_stay_with_them),
		cmocka_unit_test(small_forms),
		cmocka_unit_test(what_cannot_be_moved_by_lines_is_refused),
		cmocka_unit_test(every_good_file_keeps_its_meaning),
	};

	return cmocka_run_group_tests(tests, stack_setup, done);
}
