/*
 * After a crash. A process that is killed, or a machine that loses power, leaves some prefix of
 * what was being written: every one of them is tried, with every head that can stand beside it. The
 * next append must go on, verify must then be ok, and no record that was whole may be gone.
 */
#include "tests/unit/audit/log.h"

struct image {
	struct hl_buf bytes; /* of the segment */
	struct hl_buf head;
};

static void
image_init(struct image *image)
{
	hl_buf_init(&image->bytes, 1 << 20);
	hl_buf_init(&image->head, 4096);
}

static void
image_done(struct image *image)
{
	hl_buf_done(&image->bytes);
	hl_buf_done(&image->head);
}

static void
image_take(struct image *image, const struct log *log)
{
	file_read(log->segment, &image->bytes);
	file_read(log->head, &image->head);
}

static uint64_t
count_lines(const char *bytes, size_t len)
{
	uint64_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += bytes[i] == '\n';
	return n;
}

static void
put_image(const struct log *log, const void *bytes, size_t len, const struct hl_buf *head)
{
	file_write(log->segment, bytes, len);
	if (head == NULL)
		unlink(log->head);
	else
		file_write(log->head, head->data, head->len);
}

/* The image as it is must not be called tampered; after one append it is ok. */
static void
check_image(struct log *log, uint64_t whole, bool knows_more, const char *what, size_t at)
{
	struct audit_verify_result result = log_verify(log);

	if (result.verdict == AUDIT_TAMPERED)
		fail_msg("%s, %zu bytes: tampered: %s", what, at, result.detail);
	log_fill(log, 1);
	result = log_verify(log);
	if (result.verdict != (knows_more ? AUDIT_INCOMPLETE : AUDIT_OK))
		fail_msg("%s, %zu bytes: verdict %u after an append: %s", what, at, result.verdict,
		    result.detail);
	if (result.records < whole + 1)
		fail_msg("%s, %zu bytes: %llu records, there were %llu whole ones", what, at,
		    (unsigned long long)result.records, (unsigned long long)whole);
	if (result.recovered > 2)
		fail_msg("%s, %zu bytes: %llu recovered", what, at,
		    (unsigned long long)result.recovered);
}

static void
test_every_prefix(void **state)
{
	struct log log;
	struct image before, after;

	(void)state;
	log_make(&log);
	image_init(&before);
	image_init(&after);
	log_fill(&log, 2);
	image_take(&before, &log);
	log_fill(&log, 3);
	image_take(&after, &log);
	for (size_t len = before.bytes.len; len <= after.bytes.len; len++) {
		uint64_t whole = count_lines(after.bytes.data, len);
		put_image(&log, after.bytes.data, len, &before.head);
		check_image(&log, whole, false, "stale head", len);
		put_image(&log, after.bytes.data, len, NULL);
		check_image(&log, whole, false, "no head", len);
		put_image(&log, after.bytes.data, len, &after.head);
		check_image(&log, whole, whole < 6 && len + 1 < after.bytes.len, "head ahead", len);
	}
	image_done(&before);
	image_done(&after);
	log_remove(&log);
}

/* The one that mends is killed too, at any byte. */
static void
test_crash_while_mending(void **state)
{
	struct log log;
	struct image before, mended;

	(void)state;
	log_make(&log);
	image_init(&before);
	image_init(&mended);
	log_fill(&log, 3);
	image_take(&before, &log);
	size_t torn = before.bytes.len - 100;
	put_image(&log, before.bytes.data, torn, NULL);
	log_fill(&log, 1);
	image_take(&mended, &log);
	for (size_t len = torn; len <= mended.bytes.len; len++) {
		uint64_t whole = count_lines(mended.bytes.data, len);
		put_image(&log, mended.bytes.data, len, NULL);
		check_image(&log, whole > 0 ? whole - 1 : 0, false, "mending", len);
	}
	image_done(&before);
	image_done(&mended);
	log_remove(&log);
}

/* The same with a head that knows of records which are gone: a gap that is told of, for ever. */
static void
test_crash_while_telling_of_loss(void **state)
{
	struct log log;
	struct image before, mended;
	struct hl_buf head;

	(void)state;
	log_make(&log);
	image_init(&before);
	image_init(&mended);
	hl_buf_init(&head, 4096);
	log_fill(&log, 4);
	image_take(&before, &log);
	size_t torn = before.bytes.len - 300;
	put_image(&log, before.bytes.data, torn, &before.head);
	log_expect(&log, AUDIT_INCOMPLETE, "cut");
	log_fill(&log, 1);
	image_take(&mended, &log);
	assert_non_null(strstr(mended.bytes.data, "\"ev\":\"recover\""));
	assert_non_null(strstr(mended.bytes.data, "\"ev\":\"gap\""));
	assert_non_null(strstr(mended.bytes.data, "\"cause\":\"lost\""));
	/* The head that stands meanwhile. */
	struct head pending = { .next = 5, .size = HEAD_PENDING };
	int fd = open(log.head, O_RDWR | O_CLOEXEC);
	assert_true(audit_head_write(fd, &pending));
	close(fd);
	file_read(log.head, &head);
	for (size_t len = torn; len <= mended.bytes.len; len++) {
		put_image(&log, mended.bytes.data, len, &head);
		log_expect(&log, AUDIT_INCOMPLETE, "telling");
		check_image(&log, 0, true, "telling", len);
	}
	image_done(&before);
	image_done(&mended);
	hl_buf_done(&head);
	log_remove(&log);
}

/* Zeros where the file system had given room and the power went. */
static void
test_zeros(void **state)
{
	static const char zeros[4096];
	struct log log;
	struct image image;

	(void)state;
	log_make(&log);
	image_init(&image);
	log_fill(&log, 3);
	image_take(&image, &log);
	size_t len = image.bytes.len;
	hl_buf_put(&image.bytes, zeros, sizeof(zeros));
	put_image(&log, image.bytes.data, image.bytes.len, &image.head);
	check_image(&log, 4, false, "zeros", len);
	assert_int_equal(log_verify(&log).recovered, 1);
	image_done(&image);
	log_remove(&log);
}

/* HLA-05: what no crash leaves is not mended. Each has a head that says nothing, and one that does.
 */
static void
test_not_mended(void **state)
{
	struct log log;
	struct image image;
	struct hl_buf bad;
	struct hl_err err = { 0 };

	(void)state;
	log_make(&log);
	image_init(&image);
	hl_buf_init(&bad, 1 << 20);
	log_fill(&log, 3);
	image_take(&image, &log);
	for (unsigned kind = 0; kind < 6; kind++) {
		hl_buf_reset(&bad);
		hl_buf_put(&bad, image.bytes.data, image.bytes.len);
		if (kind < 2)
			hl_buf_puts(&bad, "garbage");
		else if (kind < 4)
			hl_buf_puts(&bad, "{\"v\":1,\"seq\":99}\n");
		else
			bad.data[bad.len / 2] ^= 4;
		put_image(&log, bad.data, bad.len, kind % 2 == 0 ? NULL : &image.head);
		if (kind == 5)
			put_image(&log, bad.data, bad.len - 1, &image.head);
		struct audit *audit = log_open(&log);
		assert_int_equal(audit_can_append(audit, &err), -1);
		assert_int_equal(err.code, HLA_05);
		assert_int_equal(log_try_append(audit, AUDIT_RUN_SANDBOX, "x", &err), -1);
		assert_int_equal(err.code, HLA_05);
		audit_close(audit);
		log_expect(&log, AUDIT_TAMPERED, "not mended");
	}
	/* The last record was changed, and made longer so that the head does not fit. */
	hl_buf_reset(&bad);
	hl_buf_put(&bad, image.bytes.data, image.bytes.len);
	char *number = strstr(bad.data, "sandbox number 2");
	assert_non_null(number);
	hl_buf_reset(&bad);
	size_t at = (size_t)(number - bad.data);
	hl_buf_put(&bad, image.bytes.data, at);
	hl_buf_puts(&bad, "my");
	hl_buf_put(&bad, image.bytes.data + at, image.bytes.len - at);
	put_image(&log, bad.data, bad.len, &image.head);
	struct audit *audit = log_open(&log);
	assert_int_equal(log_try_append(audit, AUDIT_RUN_SANDBOX, "x", &err), -1);
	assert_int_equal(err.code, HLA_05);
	audit_close(audit);
	image_done(&image);
	hl_buf_done(&bad);
	log_remove(&log);
}

/* Heads that are garbage, short, long, a directory's worth of nothing. Who looks whether the log
 * can be continued does not mend it. */
static void
test_garbage_heads(void **state)
{
	static const char *const heads[] = { "", "x", "HLHEAD1\n", "HLHEAD2\nxxxxxxxxxxxxxxxxx" };
	struct log log;
	struct hl_err err = { 0 };

	(void)state;
	log_make(&log);
	log_fill(&log, 2);
	for (size_t i = 0; i < HL_ARRAY_SIZE(heads); i++) {
		file_write(log.head, heads[i], strlen(heads[i]));
		struct audit *audit = log_open(&log);
		if (audit_can_append(audit, &err) != 0)
			fail_msg("%s", err.msg);
		audit_close(audit);
		log_expect(&log, AUDIT_INCOMPLETE, "garbage head");
		log_fill(&log, 1);
		log_expect(&log, AUDIT_OK, "after garbage");
	}
	assert_int_equal(log_verify(&log).records, 3 + HL_ARRAY_SIZE(heads));
	log_remove(&log);
}

/* HLA-05: the segments are gone and the log still stands. */
static void
test_no_segments(void **state)
{
	struct log log;
	struct audit *audit;
	struct hl_err err = { 0 };

	(void)state;
	log_make(&log);
	log_fill(&log, 2);
	assert_int_equal(unlink(log.segment), 0);
	assert_int_equal(log_try_open(&log, &audit, &err), -1);
	assert_int_equal(err.code, HLA_05);
	file_write(log.segment, "", 0);
	audit = log_open(&log);
	assert_int_equal(log_try_append(audit, AUDIT_RUN_SANDBOX, "x", &err), -1);
	assert_int_equal(err.code, HLA_05);
	audit_close(audit);
	log_expect(&log, AUDIT_INCOMPLETE, "an empty segment");
	log_remove(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_prefix),
		cmocka_unit_test(test_crash_while_mending),
		cmocka_unit_test(test_crash_while_telling_of_loss),
		cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_not_mended),
		cmocka_unit_test(test_garbage_heads),
		cmocka_unit_test(test_no_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
