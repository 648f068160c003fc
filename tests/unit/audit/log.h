/*
 * A log of its own for each test: in a temporary directory that is removed afterwards.
 */
#ifndef HL_TESTS_UNIT_AUDIT_LOG_H
#define HL_TESTS_UNIT_AUDIT_LOG_H

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/audit.h"
#include "audit/ledger.h"

#define MAYBE_UNUSED __attribute__((unused))

static const char test_run[] = "01JDV3ABCDEFGHJKMNPQRSTVWX";

struct log {
	char state[64];    /* $STATE */
	char segment[160]; /* of the first segment, once there is one */
	char head[160];
};

static int MAYBE_UNUSED
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void MAYBE_UNUSED
log_make(struct log *log)
{
	memset(log, 0, sizeof(*log));
	snprintf(log->state, sizeof(log->state), "/tmp/hl-audit-XXXXXX");
	assert_non_null(mkdtemp(log->state));
}

static void MAYBE_UNUSED
log_remove(struct log *log)
{
	nftw(log->state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int MAYBE_UNUSED
log_try_open(const struct log *log, struct audit **ret_audit, struct hl_err *err)
{
	struct audit_open_request request = {
		.state_dir = log->state,
		.run = test_run,
		.version = "0.1.0",
		.may_create = true,
	};

	return audit_open(&request, ret_audit, err);
}

static struct audit *MAYBE_UNUSED
log_open(struct log *log)
{
	struct audit *audit = NULL;
	struct hl_err err = { 0 };

	if (log_try_open(log, &audit, &err) != 0)
		fail_msg("audit_open: %s", err.msg);
	snprintf(log->segment, sizeof(log->segment), "%s/audit/%s/00000000000000000000.jsonl",
	    log->state, audit_log_id(audit));
	snprintf(log->head, sizeof(log->head), "%s/audit/%s/head", log->state, audit_log_id(audit));
	return audit;
}

/* Not durable, so that tests are fast: a sandbox record with a number in it. */
static int MAYBE_UNUSED
log_try_append(struct audit *audit, enum audit_event event, const char *text, struct hl_err *err)
{
	struct audit_record record;

	audit_event(audit, event, &record);
	if (event == AUDIT_RUN_SANDBOX)
		audit_put_string(audit, &record, "id", text);
	else if (event == AUDIT_RUN_START)
		audit_put_string(audit, &record, "cwd", text);
	else
		audit_put_string(audit, &record, "how", text);
	return audit_append(audit, &record, NULL, err);
}

static void MAYBE_UNUSED
log_append(struct audit *audit, const char *text)
{
	struct hl_err err = { 0 };

	if (log_try_append(audit, AUDIT_RUN_SANDBOX, text, &err) != 0)
		fail_msg("audit_append: %s", err.msg);
}

/* n records after log.open, and closed. */
static void MAYBE_UNUSED
log_fill(struct log *log, unsigned n)
{
	struct audit *audit = log_open(log);
	char text[64];

	for (unsigned i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "sandbox number %u", i);
		log_append(audit, text);
	}
	audit_close(audit);
}

static void MAYBE_UNUSED
file_read(const char *path, struct hl_buf *out)
{
	struct hl_err err = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	hl_buf_reset(out);
	assert_int_equal(hl_read_file(fd, out, path, HLU_02, &err), 0);
	close(fd);
}

static void MAYBE_UNUSED
file_write(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(hl_write_full(fd, bytes, len), 0);
	close(fd);
}

static struct audit_verify_result MAYBE_UNUSED
log_verify(const struct log *log)
{
	struct audit_verify_result result = { 0 };
	struct hl_err err = { 0 };

	if (audit_verify(log->state, &result, &err) != 0)
		fail_msg("audit_verify: %s", err.msg);
	return result;
}

static void MAYBE_UNUSED
log_expect(const struct log *log, enum audit_verdict verdict, const char *what)
{
	struct audit_verify_result result = log_verify(log);

	if (result.verdict != verdict)
		fail_msg("%s: verdict %u, expected %u: seq %llu: %s", what, result.verdict, verdict,
		    (unsigned long long)result.bad_seq, result.detail);
}

#endif
