/*
 * Escapers. Nothing that comes out may steer a terminal or end the string early, and a shell must
 * read back what went in.
 */
#include <sys/wait.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

static void
expect_json(const char *in, size_t len, const char *expected)
{
	struct hl_buf out;

	hl_buf_init(&out, 4096);
	hl_buf_json_string(&out, in, len);
	assert_string_equal(out.data, expected);
	hl_buf_done(&out);
}

static void
test_json(void **state)
{
	(void)state;
	expect_json("", 0, "\"\"");
	expect_json("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
	expect_json("\n\t\x01\x1f\x7f", 5, "\"\\u000a\\u0009\\u0001\\u001f\\u007f\"");
	expect_json("a\0b", 3, "{\"b64\":\"YQBi\"}");
	expect_json("é€😀", 9, "\"é€😀\"");
	/* C1, line separators, bidi controls, the mark at the beginning of a file. */
	expect_json("\xc2\x9b", 2, "\"\\u009b\"");
	expect_json("\xe2\x80\xa8\xe2\x80\xa9", 6, "\"\\u2028\\u2029\"");
	expect_json("\xe2\x80\xae\xe2\x81\xa6", 6, "\"\\u202e\\u2066\"");
	expect_json("\xef\xbb\xbf", 3, "\"\\ufeff\"");
	/* Not UTF-8: lone bytes, overlong, surrogates, past the end of Unicode. */
	expect_json("\xff", 1, "{\"b64\":\"/w==\"}");
	expect_json("a\xc0\x80", 3, "{\"b64\":\"YcCA\"}");
	expect_json("\xed\xa0\x80", 3, "{\"b64\":\"7aCA\"}");
	expect_json("\xf4\x90\x80\x80", 4, "{\"b64\":\"9JCAgA==\"}");
	expect_json("\xe2\x82", 2, "{\"b64\":\"4oI=\"}");
}

static void
test_printable(void **state)
{
	static const char in[] = "a\x1b[2J\n\x7f\xc2\x9b\xe2\x80\xae\xff€";
	struct hl_buf out;

	(void)state;
	hl_buf_init(&out, 4096);
	hl_buf_printable(&out, in, sizeof(in) - 1);
	assert_string_equal(out.data, "a\\x1b[2J\\x0a\\x7f\\u{9b}\\u{202e}\\xff€");
	hl_buf_reset(&out);
	hl_buf_printable(&out, "\xe2\x82", 2);
	assert_string_equal(out.data, "\\xe2\\x82");
	hl_buf_done(&out);
}

/* What a real shell makes of it. */
static void
read_back(const char *word)
{
	struct hl_buf text, answer;
	int pipes[2];

	hl_buf_init(&text, 4096);
	hl_buf_init(&answer, 4096);
	hl_buf_puts(&text, "printf %s%s ");
	hl_buf_shell_word(&text, word);
	hl_buf_putc(&text, ' ');
	hl_buf_shell_quoted(&text, word);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(pipes[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", text.data, (char *)NULL);
		_exit(127);
	}
	close(pipes[1]);
	struct hl_err err;
	assert_int_equal(hl_read_file(pipes[0], &answer, "answer", HLU_02, &err), 0);
	close(pipes[0]);
	waitpid(child, NULL, 0);
	hl_buf_reset(&text);
	hl_buf_putf(&text, "%s%s", word, word);
	assert_string_equal(answer.data, text.data);
	hl_buf_done(&text);
	hl_buf_done(&answer);
}

static void
test_shell_word(void **state)
{
	static const char *const words[] = { "plain", "", "a b", "it's", "''", "$HOME `id` $(id)",
		"a\nb", "*", "~root", "-n", "é", "a;b|c&d>e", "\\", "!x", "#no" };
	struct hl_buf out;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(words); i++)
		read_back(words[i]);
	hl_buf_init(&out, 100);
	hl_buf_shell_word(&out, "a/b.c-d=e");
	assert_string_equal(out.data, "a/b.c-d=e");
	hl_buf_reset(&out);
	hl_buf_shell_word(&out, "");
	assert_string_equal(out.data, "''");
	hl_buf_reset(&out);
	hl_buf_shell_quoted(&out, "ls");
	assert_string_equal(out.data, "'ls'");
	hl_buf_done(&out);
}

static void
test_hex(void **state)
{
	struct hl_buf out;

	(void)state;
	hl_buf_init(&out, 100);
	hl_buf_hex(&out, "\x00\x9f\xff", 3);
	assert_string_equal(out.data, "009fff");
	hl_buf_done(&out);
}

/* One text for one value. */
static void
test_base64(void **state)
{
	static const struct {
		const char *text, *bytes;
		int len; /* -1: refused */
	} rows[] = { { "", "", 0 }, { "/w==", "\xff", 1 }, { "/wA=", "\xff\0", 2 },
		{ "/wBh", "\xff\0a", 3 }, { "/wBhYg==", "\xff\0ab", 4 },
		{ "+/AZaz09", "\xfb\xf0\x19\x6b\x3d\x3d", 6 }, { "/", "", -1 }, { "/w", "", -1 },
		{ "/w=", "", -1 }, { "/wBhY", "", -1 }, { "/x==", "", -1 }, { "/wB=", "", -1 },
		{ "/w==/w==", "", -1 }, { "/wA=/w==", "", -1 }, { "====", "", -1 },
		{ "/===", "", -1 }, { "/w=A", "", -1 }, { "=w==", "", -1 }, { "/w A", "", -1 },
		{ "/w==\n", "", -1 }, { "_w==", "", -1 }, { "-w==", "", -1 },
		{ "\xffw==", "", -1 } };
	struct hl_buf text;
	unsigned char all[256], bytes[256];
	size_t n;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		n = 99;
		bool is_right =
		    hl_base64_read(rows[i].text, strlen(rows[i].text), bytes, sizeof(bytes), &n);
		assert_int_equal(is_right, rows[i].len >= 0);
		if (is_right) {
			assert_int_equal(n, rows[i].len);
			assert_memory_equal(bytes, rows[i].bytes, n);
		}
	}
	/* No more than there is room for, and the number of all. */
	bytes[2] = 'x';
	assert_true(hl_base64_read("/wBhYg==", 8, bytes, 2, &n));
	assert_int_equal(n, 4);
	assert_int_equal(bytes[2], 'x');
	/* Each length and each byte, there and back. */
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)i;
	hl_buf_init(&text, 1024);
	for (size_t len = 0; len <= sizeof(all); len++) {
		hl_buf_reset(&text);
		hl_buf_base64(&text, all + sizeof(all) - len, len);
		assert_true(
		    hl_base64_read(len > 0 ? text.data : "", text.len, bytes, sizeof(bytes), &n));
		assert_int_equal(n, len);
		assert_memory_equal(bytes, all + sizeof(all) - len, len);
	}
	hl_buf_done(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_printable),
		cmocka_unit_test(test_shell_word),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
