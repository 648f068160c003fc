/*
 * HLA-03: no log where locks and flushes mean nothing. This program has its own fstatfs(2), which
 * says what the test wants to be told; everything else is the real thing.
 */
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "tests/unit/audit/log.h"

static uint32_t pretended; /* 0 = the truth */

int
fstatfs(int fd, struct statfs *buf)
{
	int rc = (int)syscall(SYS_fstatfs, fd, buf);

	if (pretended != 0)
		buf->f_type = (__typeof__(buf->f_type))pretended;
	return rc;
}

static void
test_file_systems(void **state)
{
	static const struct {
		uint32_t magic;
		bool is_refused;
	} rows[] = {
		{ 0x6969, true },      /* NFS */
		{ 0xff534d42, true },  /* CIFS */
		{ 0xfe534d42, true },  /* SMB2 */
		{ 0x517b, true },      /* SMB */
		{ 0x65735546, true },  /* FUSE */
		{ 0x01021997, true },  /* 9p */
		{ 0xef53, false },     /* ext4 */
		{ 0x58465342, false }, /* XFS */
		{ 0x9123683e, false }, /* btrfs */
		{ 0x01021994, false }, /* tmpfs */
		{ 0, false },
	};
	struct log log;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		struct audit *audit = NULL;
		struct hl_err err = { 0 };
		log_make(&log);
		pretended = rows[i].magic;
		int rc = log_try_open(&log, &audit, &err);
		pretended = 0;
		if (rc != (rows[i].is_refused ? -1 : 0))
			fail_msg("%x: %s", rows[i].magic, err.msg);
		if (rows[i].is_refused)
			assert_int_equal(err.code, HLA_03);
		audit_close(audit);
		log_remove(&log);
	}
}

/* Who only reads is not asked: an auditor may have the copy on a stick. */
static void
test_reading(void **state)
{
	struct log log;

	(void)state;
	log_make(&log);
	log_fill(&log, 2);
	assert_int_equal(chmod(log.state, 0777), 0);
	pretended = 0x65735546;
	log_expect(&log, AUDIT_OK, "read from FUSE");
	pretended = 0;
	log_remove(&log);
}

static void
test_segment_names(void **state)
{
	static const char *const bad[] = { "", "head", "0.jsonl", "00000000000000000000.json",
		"00000000000000000000.jsonl~", "0000000000000000000a.jsonl",
		"99999999999999999999.jsonl", "+0000000000000000000.jsonl" };
	char name[SEGMENT_NAME_SIZE];
	uint64_t first = 7;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++)
		assert_false(audit_segment_parse(bad[i], &first));
	assert_int_equal(first, 7);
	audit_segment_name(41216, name);
	assert_string_equal(name, "00000000000000041216.jsonl");
	assert_true(audit_segment_parse(name, &first));
	assert_int_equal(first, 41216);
	audit_segment_name(UINT64_MAX, name);
	assert_true(audit_segment_parse(name, &first));
	assert_true(first == UINT64_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_systems),
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_segment_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
