/*
 * Signed notes: what is one, what is none, and that what is written is read again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "policy/note.h"

#include "base/banned.h"

#define DASH "\xe2\x80\x94 "
/* Four bytes of id and 64 of signature, all zero. */
#define ZEROS64 \
 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define LINE DASH "a.example " ZEROS64 "\n"
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TEXT "hermes-launch/policy/v1\nacme/base\nrevision 7\nsha256 " HASH "\n"

static struct note note;
static struct hl_err err;

static int
parse(const char *bytes, size_t len)
{
	/* Exactly as large, so that the sanitizer sees one byte too many. */
	char *exact = malloc(len > 0 ? len : 1);

	assert_non_null(exact);
	memcpy(exact, bytes, len);
	int status = policy_note_parse(exact, len, &note, &err);
	free(exact);
	return status;
}

static void
the_example_of_the_specification_is_read(void **state)
{
	static const char example[] =
	    "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\n"
	    "ed \xc3\xa8 subito sera.\n\n" DASH
	    "quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKON"
	    "rMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n";

	(void)state;
	assert_int_equal(policy_note_parse(example, strlen(example), &note, &err), 0);
	assert_int_equal(note.len, 1);
	assert_int_equal(note.signatures[0].name_len, strlen("quasimodo.example/salvatore"));
	assert_true(note.signatures[0].is_ed25519);
	assert_memory_equal(note.signatures[0].id, "\x36\x7b\xa0\x4b", 4);
	/* Up to the last empty line, and not to the first. */
	assert_memory_equal(note.text + note.text_len - 6, "sera.\n", 6);
}

static void
a_verifiers_key_has_the_id_of_its_name(void **state)
{
	/* The example of golang.org/x/mod/sumdb/note. */
	static const char text[] = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/"
				   "LDE4izWy10TW\n";
	struct note_key key;
	struct hl_buf out;

	(void)state;
	assert_int_equal(policy_note_key_parse(text, strlen(text), &key, &err), 0);
	assert_string_equal(key.name, "PeterNeumann");
	assert_memory_equal(key.id, "\xc7\x4f\x20\xa3", 4);
	hl_buf_init(&out, NOTE_KEY_TEXT_MAX);
	policy_note_put_key(&out, &key);
	hl_buf_putc(&out, '\n');
	assert_string_equal(out.data, text);
	hl_buf_done(&out);
}

static void
keys_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"+",
		"++",
		"PeterNeumann",
		"PeterNeumann+c74f20a3+",
		"PeterNeumann+c74f20a3",
		"+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		/* another name, another id, upper case, another type, short, long, no base 64 */
		"PeterNeumanN+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a3+Ahpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy1w==",
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWAAAA",
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10T_",
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW ",
		"Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
	};
	struct note_key key;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		assert_int_equal(policy_note_key_parse(bad[i], strlen(bad[i]), &key, &err), -1);
		assert_int_equal(err.code, HLS_10);
	}
	assert_false(policy_note_is_key_name("", 0));
	assert_false(policy_note_is_key_name("a\0b", 3));
	assert_false(policy_note_is_key_name("a+b", 3));
	assert_false(policy_note_is_key_name("a\xc2\xa0", 3));
	assert_true(policy_note_is_key_name("secteam@acme.example/1", 22));
}

static void
notes_that_are_none_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
#define BAD(text) { text, sizeof(text) - 1 }
		BAD(""),
		BAD("\n"),
		BAD("\n\n"),
		BAD(TEXT),
		BAD(TEXT "\n"),
		BAD(TEXT LINE),
		BAD(TEXT "\n" LINE "\n"),
		BAD(TEXT "\n" DASH "a.example " ZEROS64),
		BAD(TEXT "\n" DASH "a.example\n"),
		BAD(TEXT "\n" DASH " " ZEROS64 "\n"),
		BAD(TEXT "\n" DASH "\n"),
		BAD(TEXT "\n- a.example " ZEROS64 "\n"),
		BAD(TEXT "\n" DASH "a+b " ZEROS64 "\n"),
		BAD(TEXT "\n" DASH "a\xc2\xa0z " ZEROS64 "\n"),
		BAD(TEXT "\n" DASH "a\xe2\x80\xae " ZEROS64 "\n"),
		BAD(TEXT "\n" DASH "a.example  " ZEROS64 "\n"),
		BAD(TEXT "\n" DASH "a.example AAAA\n"),
		BAD(TEXT "\n" DASH "a.example AAAAAAB=\n"),
		BAD(TEXT "\n" DASH "a.example AAAA=AAA\n"),
		BAD(TEXT "\n" DASH "a.example AAA=AAAA\n"),
		BAD(TEXT "\n" DASH "a.example AAAAAAAAA\n"),
		BAD(TEXT "\n" DASH "a.example " ZEROS64 " \n"),
		BAD(TEXT "\n" DASH "a.example " ZEROS64 "\r\n"),
		BAD("a\0b\n\n" LINE),
		BAD("a\tb\n\n" LINE),
		BAD("a\xff\n\n" LINE),
#undef BAD
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		assert_int_equal(parse(bad[i].bytes, bad[i].len), -1);
		assert_int_equal(err.code, HLS_04);
	}
	assert_int_equal(parse(TEXT "\n" LINE, strlen(TEXT "\n" LINE)), 0);
}

static void
lengths_have_a_maximum(void **state)
{
	struct hl_buf text;

	(void)state;
	hl_buf_init(&text, 1 << 20);
	for (int i = 0; i < 64; i++)
		hl_buf_puts(&text, i == 0 ? TEXT "\n" LINE : LINE);
	assert_int_equal(parse(text.data, text.len), 0);
	assert_int_equal(note.len, 64);
	hl_buf_puts(&text, LINE);
	assert_int_equal(parse(text.data, text.len), -1);

	hl_buf_reset(&text);
	for (int i = 0; i < NOTE_TEXT_MAX - 1; i++)
		hl_buf_putc(&text, 'a');
	hl_buf_puts(&text, "\n\n" LINE);
	assert_int_equal(parse(text.data, text.len), 0);
	hl_buf_reset(&text);
	for (int i = 0; i < NOTE_TEXT_MAX; i++)
		hl_buf_putc(&text, 'a');
	hl_buf_puts(&text, "\n\n" LINE);
	assert_int_equal(parse(text.data, text.len), -1);

	hl_buf_reset(&text);
	while (text.len <= NOTE_MAX)
		hl_buf_puts(&text, LINE);
	assert_int_equal(parse(text.data, text.len), -1);
	hl_buf_done(&text);
}

static void
unknown_signatures_are_passed_over(void **state)
{
	static const char text[] = TEXT "\n" DASH "pq.example AAAAAAAAAAAA\n" DASH
					"f\xc3\xb6hn.example " ZEROS64 "\n" LINE;
	struct note_key key = { .name = "a.example" };

	(void)state;
	assert_int_equal(policy_note_parse(text, strlen(text), &note, &err), 0);
	assert_int_equal(note.len, 3);
	assert_false(note.signatures[0].is_ed25519);
	/* The id is zero in all of them: the name tells them apart, and the other way round. */
	assert_false(policy_note_is_by(&note.signatures[1], &key));
	assert_true(policy_note_is_by(&note.signatures[2], &key));
	key.id[3] = 1;
	assert_false(policy_note_is_by(&note.signatures[2], &key));
}

static void
a_statement_is_read_as_it_is_written(void **state)
{
	static const char text[] = TEXT "not-after 2027-06-30T00:00:00Z\n";
	struct policy_statement statement;
	struct hl_buf out;

	(void)state;
	assert_int_equal(policy_statement_parse(text, strlen(text), &statement, &err), 0);
	assert_string_equal(statement.id, "acme/base");
	assert_int_equal(statement.revision, 7);
	assert_string_equal(statement.sha256, HASH);
	hl_buf_init(&out, NOTE_TEXT_MAX);
	policy_statement_put(&out, &statement);
	assert_string_equal(out.data, text);
	hl_buf_done(&out);
	/* 2027-06-30T00:00:00Z is second 1814313600. */
	assert_false(policy_statement_is_over(&statement, UINT64_C(1814313599999999)));
	assert_true(policy_statement_is_over(&statement, UINT64_C(1814313600000000)));
	assert_int_equal(policy_statement_parse(TEXT, strlen(TEXT), &statement, &err), 0);
	assert_false(policy_statement_is_over(&statement, UINT64_MAX / 4));
}

static void
statements_that_are_none_are_refused(void **state)
{
#define FIRST "hermes-launch/policy/v1\n"
	static const char *const bad[] = {
		"",
		"hermes-launch/policy/v1",
		FIRST,
		"hermes-launch/policy/v2\nacme/base\nrevision 7\nsha256 " HASH "\n",
		"hermes-launch/h/1\n48213\nAAAA\n",
		FIRST "\nrevision 7\nsha256 " HASH "\n",
		FIRST "Acme/base\nrevision 7\nsha256 " HASH "\n",
		FIRST "/base\nrevision 7\nsha256 " HASH "\n",
		FIRST "acme base\nrevision 7\nsha256 " HASH "\n",
		FIRST "acme/base\nrevision 0\nsha256 " HASH "\n",
		FIRST "acme/base\nrevision 07\nsha256 " HASH "\n",
		FIRST "acme/base\nrevision 9007199254740992\nsha256 " HASH "\n",
		FIRST "acme/base\nrevision -7\nsha256 " HASH "\n",
		FIRST "acme/base\nrevision 99999999999999999999999999\nsha256 " HASH "\n",
		FIRST "acme/base\nsha256 " HASH "\nrevision 7\n",
		FIRST "acme/base\nrevision 7\nsha256 " HASH "0\n",
		FIRST "acme/base\nrevision 7\nsha256 0123\n",
		FIRST "acme/base\nrevision 7\nsha256 " HASH,
		TEXT "not-after 2027-06-30\n",
		TEXT "not-after 2027-13-30T00:00:00Z\n",
		TEXT "not-after 2027-06-30T24:00:00Z\n",
		TEXT "not-after 2027-06-30T00:00:00Z\nnot-after 2028-06-30T00:00:00Z\n",
		TEXT "extra\n",
		TEXT "\n",
	};
	struct policy_statement statement;
	char time[NOTE_TIME_SIZE];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		assert_int_equal(policy_statement_parse(bad[i], strlen(bad[i]), &statement, &err),
		    -1);
		assert_int_equal(err.code, HLS_04);
	}
	assert_int_equal(policy_statement_time("2027-06-30", time, &err), 0);
	assert_string_equal(time, "2027-06-30T00:00:00Z");
	assert_int_equal(policy_statement_time("2027-06-30T12:00:00Z", time, &err), 0);
	assert_int_equal(policy_statement_time("2027-06-31T12:00:00+02:00", time, &err), -1);
	assert_int_equal(policy_statement_time("tomorrow", time, &err), -1);
	assert_int_equal(policy_statement_time("2027-00-30", time, &err), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_of_the_specification_is_read),
		cmocka_unit_test(a_verifiers_key_has_the_id_of_its_name),
		cmocka_unit_test(keys_that_are_none_are_refused),
		cmocka_unit_test(notes_that_are_none_are_refused),
		cmocka_unit_test(lengths_have_a_maximum),
		cmocka_unit_test(unknown_signatures_are_passed_over),
		cmocka_unit_test(a_statement_is_read_as_it_is_written),
		cmocka_unit_test(statements_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
