/*
 * Redaction of a stream: whatever the cuts, no value gets through and nothing else is changed; what
 * never ends is given up.
 */
#include "tests/unit/audit/log.h"

static const char value[] = "s3cret-value-0123456789";

/* Text with the value at odd places, larger than what is held back. */
static void
make_text(struct hl_buf *text, size_t seed)
{
	hl_buf_reset(text);
	for (size_t i = 0; text->len < 60000; i++) {
		hl_buf_putf(text, "line %zu of some output\n", i);
		if ((i * 7 + seed) % 11 == 0)
			hl_buf_puts(text, value);
	}
	hl_buf_puts(text, value);
}

static void
pass_in_pieces(struct audit_stream *stream, const struct hl_buf *text, size_t piece,
    struct hl_buf *out)
{
	for (size_t at = 0; at < text->len; at += piece) {
		size_t len = piece < text->len - at ? piece : text->len - at;
		assert_int_equal(audit_stream_pass(stream, text->data + at, len, false, out), 0);
	}
	assert_int_equal(audit_stream_pass(stream, "", 0, true, out), 0);
}

static void
test_every_cut_is_as_none(void **state)
{
	static const size_t pieces[] = { 1, 7, 22, 23, 24, 4095, 4096, 4100, 16400, 60000,
		1 << 20 };
	struct audit audit = { 0 };
	const struct audit_secret secret = { .name = "env:CI",
		.value = value,
		.len = strlen(value) };
	struct hl_buf text, out, whole;
	struct hl_err err;

	(void)state;
	audit_redactor_init(&audit.redactor);
	assert_int_equal(audit_redactor_add(&audit.redactor, &secret, &err), 0);
	hl_buf_init(&text, 1 << 20);
	hl_buf_init(&out, 1 << 20);
	hl_buf_init(&whole, 1 << 20);
	for (size_t i = 0; i < HL_ARRAY_SIZE(pieces); i++) {
		struct redact_state shell = { 0 };
		struct audit_stream *stream = audit_stream_new(&audit);
		assert_non_null(stream);
		make_text(&text, i);
		hl_buf_reset(&out);
		hl_buf_reset(&whole);
		pass_in_pieces(stream, &text, pieces[i], &out);
		assert_null(strstr(out.data, "s3cret"));
		assert_non_null(strstr(out.data, "redacted:env:CI"));
		audit_redact(&audit.redactor, &shell, text.data, text.len, &whole);
		assert_string_equal(out.data, whole.data);
		audit_stream_free(stream);
	}
	hl_buf_done(&text);
	hl_buf_done(&out);
	hl_buf_done(&whole);
	audit_redactor_done(&audit.redactor);
}

/* A credential without a known value is told by what stands before it: a cut between the two, with
 * lines around it or in one that is longer than all that is looked at, shows nothing of it. */
static void
test_cut_behind_a_name(void **state)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{ "Authorization: Bearer abcdefghijklmnop", "abcdefgh" },
		{ "{\"token\":\"hunter-two-and-more\"}", "hunter-two" },
		{ "mypassword=hunter-two", "hunter-two" },
	};
	static const size_t pieces[] = { 1, 100, 4095, 16400, 1 << 20 };
	/* The first cut is 3 * (4096 + 4) bytes into the text. */
	const size_t cut = 12300;
	struct audit audit = { 0 };
	struct hl_buf text, out, whole;

	(void)state;
	audit_redactor_init(&audit.redactor);
	hl_buf_init(&text, 1 << 20);
	hl_buf_init(&out, 1 << 20);
	hl_buf_init(&whole, 1 << 20);
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases) * HL_ARRAY_SIZE(pieces) * 2; i++) {
		const size_t kind = i / 2 / HL_ARRAY_SIZE(pieces);
		const size_t piece = pieces[i / 2 % HL_ARRAY_SIZE(pieces)];
		const char *filler = i % 2 == 0 ? "a word,\n" : "a word, ";
		for (size_t at = cut - 60; at <= cut + 8; at++) {
			struct redact_state shell = { 0 };
			struct audit_stream *stream = audit_stream_new(&audit);
			assert_non_null(stream);
			hl_buf_reset(&text);
			hl_buf_reset(&out);
			hl_buf_reset(&whole);
			while (text.len < at)
				hl_buf_puts(&text, filler + (8 - (at - text.len) % 8) % 8);
			assert_int_equal(text.len, at);
			hl_buf_putf(&text, "%s\n", cases[kind].text);
			while (text.len < 40000)
				hl_buf_puts(&text, filler);
			pass_in_pieces(stream, &text, piece, &out);
			assert_null(strstr(out.data, cases[kind].value));
			audit_redact(&audit.redactor, &shell, text.data, text.len, &whole);
			assert_string_equal(out.data, whole.data);
			audit_stream_free(stream);
		}
	}
	hl_buf_done(&text);
	hl_buf_done(&out);
	hl_buf_done(&whole);
	audit_redactor_done(&audit.redactor);
}

/* Without values, and with nothing that looks like one, every byte comes out as it went in. */
static void
test_what_is_not_private_is_kept(void **state)
{
	struct audit audit = { 0 };
	struct hl_buf out;

	(void)state;
	audit_redactor_init(&audit.redactor);
	struct audit_stream *stream = audit_stream_new(&audit);
	hl_buf_init(&out, 1 << 20);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(audit_stream_pass(stream, "\0\xff binary \n", 12, false, &out), 0);
	assert_int_equal(audit_stream_pass(stream, "", 0, true, &out), 0);
	assert_int_equal(out.len, 12000);
	for (size_t i = 0; i < out.len; i += 12)
		assert_memory_equal(out.data + i, "\0\xff binary \n", 12);
	hl_buf_done(&out);
	audit_stream_free(stream);
	audit_stream_free(NULL);
	audit_redactor_done(&audit.redactor);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cut_is_as_none),
		cmocka_unit_test(test_cut_behind_a_name),
		cmocka_unit_test(test_what_is_not_private_is_kept),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
