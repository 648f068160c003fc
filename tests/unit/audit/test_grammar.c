/*
 * Canonical JSON and the frame: what our writer makes is a record, every beginning of it is torn,
 * and anything else is neither.
 */
#include "tests/unit/audit/log.h"

static enum json_state
state_of(const char *text, size_t len)
{
	struct json_cursor cursor = { text, text + len };
	enum json_state state = audit_json_skip_value(&cursor, 0);

	return state == JSON_COMPLETE && cursor.next != cursor.end ? JSON_INVALID : state;
}

static void
test_values(void **state)
{
	static const char *const good[] = { "{}", "[]", "\"\"", "0", "-1", "9007199254740991",
		"true", "false", "null", "{\"a\":[1,{\"b\":\"c\"}],\"d\":null}",
		"\"\\\"\\\\\\u000a\\u202e\"", "\"é€😀\"", "[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]" };
	static const char *const bad[] = { " {}", "{ }", "[1, 2]", "[1,]", "{\"a\":1,}",
		"{\"a\" :1}", "{a:1}", "01", "-0", "+1", "1.0x", "9007199254740992", "\"\\n\"",
		"\"\\u000A\"", "\"\\u0041\"", "\"\\/\"", "\"\x7f\"", "\"\n\"", "\"\xc2\x9b\"",
		"\"\xe2\x80\xae\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "tru}", "{}{}",
		"]", "{\"a\"}", "{1:2}", "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "'a'", "NaN" };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(good); i++) {
		if (state_of(good[i], strlen(good[i])) != JSON_COMPLETE)
			fail_msg("refused: %s", good[i]);
		/* Every beginning is cut or, for numbers and nothing else, a value itself. */
		for (size_t len = 0; len < strlen(good[i]); len++)
			if (state_of(good[i], len) == JSON_INVALID)
				fail_msg("%zu bytes of %s", len, good[i]);
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++)
		if (state_of(bad[i], strlen(bad[i])) != JSON_INVALID)
			fail_msg("taken: %s", bad[i]);
}

static const char record[] =
    "{\"v\":1,\"seq\":12,\"t\":\"2026-11-29T15:40:12.123456Z\",\"mono\":5,\"boot\":\"6f1c2a9e\","
    "\"ev\":\"run.end\",\"run\":\"01JDV3ABCDEFGHJKMNPQRSTVWX\",\"how\":\"exited\",\"code\":3,"
    "\"prev\":\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"}";

static void
test_frame(void **state)
{
	struct frame frame;
	struct json_cursor cursor;
	uint64_t number = 0;

	(void)state;
	assert_true(audit_frame_read(record, strlen(record), &frame));
	assert_int_equal(frame.seq, 12);
	assert_int_equal(frame.mono, 5);
	assert_true(audit_frame_is(&frame, AUDIT_RUN_END));
	assert_false(audit_frame_is(&frame, AUDIT_RUN_START));
	assert_memory_equal(frame.run, "01JDV3", 6);
	assert_int_equal(frame.prev[1], 0x11);
	assert_int_equal(frame.prev[31], 0xff);
	assert_true(audit_frame_field(&frame, "code", &cursor));
	assert_true(audit_json_take_number(&cursor, &number));
	assert_int_equal(number, 3);
	assert_false(audit_frame_field(&frame, "cod", &cursor));
	assert_false(audit_frame_field(&frame, "prev", &cursor));
}

static void
test_classify(void **state)
{
	size_t len = strlen(record);
	char text[512];

	(void)state;
	assert_int_equal(audit_line_classify(record, len), LINE_RECORD);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(audit_line_classify(record, i), LINE_TORN);
	memset(text, 0, sizeof(text));
	memcpy(text, record, 50);
	assert_int_equal(audit_line_classify(text, 300), LINE_TORN);
	assert_int_equal(audit_line_classify(text + 50, 300), LINE_TORN);
	text[200] = 'x';
	assert_int_equal(audit_line_classify(text, 300), LINE_BAD);
	/* Each byte of the frame counts. */
	for (size_t i = 0; i < len; i++) {
		memcpy(text, record, len);
		text[i] = '\x01';
		assert_int_not_equal(audit_line_classify(text, len), LINE_RECORD);
	}
	static const char *const bad[] = { "{}", "[", "{\"v\":2,", "x", "{\"v\":1,\"seq\":1}",
		"{\"v\":1,\"seq\":01,\"t\"", " " };
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++)
		assert_int_equal(audit_line_classify(bad[i], strlen(bad[i])), LINE_BAD);
}

/* Lines longer than a record, longer than the buffer, without an end, empty. */
static void
test_lines(void **state)
{
	char path[] = "/tmp/hl-lines-XXXXXX";
	size_t size = 5 * AUDIT_RECORD_MAX;
	char *bytes = malloc(size);
	struct hl_err err = { 0 };
	struct lines lines;
	struct line line;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'x', size);
	int fd = mkstemp(path);
	unlink(path);
	assert_int_equal(hl_write_full(fd, "one\n\n", 5), 0);
	assert_int_equal(hl_write_full(fd, bytes, size), 0);
	assert_int_equal(hl_write_full(fd, "\nlast", 5), 0);
	assert_int_equal(audit_lines_init(&lines, fd, 0, 10 + size, &err), 0);
	assert_int_equal(audit_lines_next(&lines, &line, &err), 1);
	assert_int_equal(line.len, 3);
	assert_true(line.has_lf);
	assert_int_equal(audit_lines_next(&lines, &line, &err), 1);
	assert_int_equal(line.len, 0);
	assert_int_equal(line.offset, 4);
	assert_int_equal(audit_lines_next(&lines, &line, &err), 1);
	assert_true(line.is_too_long);
	uint64_t seen = line.len;
	while (!line.has_lf) {
		assert_int_equal(audit_lines_next(&lines, &line, &err), 1);
		seen += line.len;
	}
	assert_int_equal(seen, size);
	assert_int_equal(audit_lines_next(&lines, &line, &err), 1);
	assert_int_equal(line.len, 4);
	assert_false(line.has_lf);
	assert_int_equal(line.offset, 6 + size);
	assert_int_equal(audit_lines_next(&lines, &line, &err), 0);
	audit_lines_done(&lines);
	/* What came after the snapshot is not read; what was cut off since is not waited for. */
	assert_int_equal(audit_lines_init(&lines, fd, 0, 6, &err), 0);
	assert_int_equal(audit_lines_next(&lines, &line, &err), 1);
	assert_int_equal(audit_lines_next(&lines, &line, &err), 1);
	assert_int_equal(audit_lines_next(&lines, &line, &err), 1);
	assert_int_equal(line.len, 1);
	assert_int_equal(audit_lines_next(&lines, &line, &err), 0);
	audit_lines_done(&lines);
	assert_int_equal(ftruncate(fd, 2), 0);
	assert_int_equal(audit_lines_init(&lines, fd, 0, 100, &err), 0);
	assert_int_equal(audit_lines_next(&lines, &line, &err), 1);
	assert_int_equal(line.len, 2);
	assert_int_equal(audit_lines_next(&lines, &line, &err), 0);
	audit_lines_done(&lines);
	close(fd);
	free(bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_frame),
		cmocka_unit_test(test_classify),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
