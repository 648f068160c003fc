/*
 * A full disk (U130): a tmpfs of a few pages. HLA-06 for everything that can be refused; what has
 * to be written still fits; the log is whole at every moment; and with room again work goes on.
 */
#include <sys/mount.h>

#include <sched.h>

#include "tests/unit/audit/log.h"

/* Mounts of our own; false where that is not allowed. */
static bool
leave_namespace(void)
{
	uid_t uid = getuid();
	char map[64];

	if (uid == 0)
		return unshare(CLONE_NEWNS) == 0 &&
		       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return false;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	bool fine = fd >= 0 && write(fd, map, strlen(map)) > 0;
	close(fd);
	return fine && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool
mount_small(struct log *log, const char *size)
{
	char options[64];

	log_make(log);
	snprintf(options, sizeof(options), "size=%s,mode=0700", size);
	if (mount("tmpfs", log->state, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0)
		return true;
	print_message("# SKIP no tmpfs can be mounted here\n");
	rmdir(log->state);
	return false;
}

static void
unmount(struct log *log)
{
	assert_int_equal(umount2(log->state, MNT_DETACH), 0);
	rmdir(log->state);
}

static enum hl_code
append_code(struct audit *audit, enum audit_event event, const char *text)
{
	struct hl_err err = { 0 };

	return log_try_append(audit, event, text, &err) == 0 ? HL_OK : err.code;
}

/* Not even a log can be made. */
static void
test_too_small(void **state)
{
	static const char *const sizes[] = { "4k", "8k", "64k", "256k" };
	struct log log;
	struct audit *audit;
	struct hl_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(sizes); i++) {
		if (!mount_small(&log, sizes[i])) {
			skip();
			return;
		}
		assert_int_equal(log_try_open(&log, &audit, &err), -1);
		if (err.code != HLA_06)
			fail_msg("%s: %s: %s", sizes[i], hl_code_info(err.code)->id, err.msg);
		unmount(&log);
	}
}

/* Fills the log with records of that length until one is refused. */
static unsigned
fill_up(struct audit *audit, size_t len)
{
	char text[8192];
	enum hl_code code = HL_OK;
	unsigned n = 0;

	memset(text, 'x', sizeof(text));
	text[len] = '\0';
	while ((code = append_code(audit, AUDIT_RUN_SANDBOX, text)) == HL_OK)
		n++;
	assert_int_equal(code, HLA_06);
	return n;
}

static void
check_full(struct log *log, size_t len)
{
	struct audit *audit = log_open(log);
	struct hl_buf bytes;

	assert_true(fill_up(audit, len) > 10);
	hl_buf_init(&bytes, 1 << 20);
	/* In the log stands what could not be written. */
	file_read(log->segment, &bytes);
	assert_non_null(strstr(bytes.data, "\"event\":\"run.sandbox\",\"cause\":\"no space\""));
	log_expect(log, AUDIT_OK, "full");
	/* Nothing new is begun, what runs can end. */
	assert_int_equal(append_code(audit, AUDIT_RUN_START, "/w"), HLA_06);
	assert_int_equal(append_code(audit, AUDIT_RUN_END, "exited"), HL_OK);
	log_expect(log, AUDIT_OK, "ended");
	audit_close(audit);
	audit = log_open(log);
	assert_int_equal(append_code(audit, AUDIT_RUN_START, "/w"), HLA_06);
	assert_int_equal(append_code(audit, AUDIT_RUN_END, "exited"), HL_OK);
	audit_close(audit);
	hl_buf_done(&bytes);
}

static void
test_full(void **state)
{
	static const size_t lengths[] = { 1, 100, 333, 1000, 4000, 7777 };
	struct log log;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(lengths); i++) {
		if (!mount_small(&log, "512k")) {
			skip();
			return;
		}
		check_full(&log, lengths[i]);
		/* The sibling: with room, all of it goes again. */
		assert_int_equal(mount("tmpfs", log.state, "tmpfs", MS_REMOUNT, "size=4m"), 0);
		struct audit *audit = log_open(&log);
		assert_int_equal(append_code(audit, AUDIT_RUN_START, "/w"), HL_OK);
		audit_close(audit);
		log_expect(&log, AUDIT_OK, "with room again");
		unmount(&log);
	}
}

/* Somebody else takes the last page, and the reserve is gone: nothing fits, nothing breaks. */
static void
test_nothing_left(void **state)
{
	struct log log;
	char path[256], page[4096] = { 0 };

	(void)state;
	if (!mount_small(&log, "512k")) {
		skip();
		return;
	}
	struct audit *audit = log_open(&log);
	fill_up(audit, 500);
	snprintf(path, sizeof(path), "%s/filler", log.state);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	while (write(fd, page, sizeof(page)) > 0)
		;
	close(fd);
	enum hl_code code = HL_OK;
	for (unsigned i = 0; i < 200 && code == HL_OK; i++)
		code = append_code(audit, AUDIT_RUN_END, "exited");
	assert_int_equal(code, HLA_06);
	assert_int_not_equal(log_verify(&log).verdict, AUDIT_TAMPERED);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(append_code(audit, AUDIT_RUN_END, "exited"), HL_OK);
	audit_close(audit);
	log_expect(&log, AUDIT_OK, "after the filler went");
	unmount(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_small),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_nothing_left),
	};

	if (!leave_namespace()) {
		print_message("1..0 # SKIP no mount namespace can be made here\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
