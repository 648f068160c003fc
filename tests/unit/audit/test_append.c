/*
 * Making and appending: what is in the record, who may not write where, and every error code of the
 * room that an append can end with (the full disk is in tests/fault).
 */
#include <sys/file.h>
#include <sys/wait.h>

#include <signal.h>
#include <time.h>

#include "tests/unit/audit/log.h"

static int
collect(const char *line, size_t len, void *context)
{
	struct hl_buf *out = context;

	hl_buf_put(out, line, len);
	hl_buf_putc(out, '\n');
	return 0;
}

static void
show(const struct log *log, enum audit_format format, struct hl_buf *out)
{
	const struct audit_view view = { .format = format, .line = collect, .context = out };
	struct hl_err err = { 0 };

	hl_buf_reset(out);
	assert_int_equal(audit_show(log->state, &view, &err), 0);
}

/* Of one run: its own records, whatever others have in their texts. */
static void
test_show_one_run(void **state)
{
	static const char mine[] = "01JDV3ABCDEFGHJKMNPQRSTVWX",
			  other[] = "01JDV3ABCDEFGHJKMNPQRSTVWY";
	static const char *const runs[] = { mine, other, NULL };
	struct log log;
	struct hl_buf out;
	struct hl_err err = { 0 };

	(void)state;
	log_make(&log);
	hl_buf_init(&out, 1 << 20);
	for (size_t i = 0; i < HL_ARRAY_SIZE(runs); i++) {
		const struct audit_open_request request = { .state_dir = log.state,
			.run = runs[i],
			.version = "0.1.0",
			.may_create = true };
		struct audit *audit = NULL;
		if (audit_open(&request, &audit, &err) != 0)
			fail_msg("audit_open: %s", err.msg);
		/* A text that reads as a member, and as a word. */
		log_append(audit, "\",\"run\":\"01JDV3ABCDEFGHJKMNPQRSTVWX\" "
				  "01JDV3ABCDEFGHJKMNPQRSTVWX ");
		audit_close(audit);
	}
	for (enum audit_format format = AUDIT_TEXT; format <= AUDIT_JSON; format++) {
		static const struct {
			const char *run;
			size_t lines;
		} rows[] = { { NULL, 4 }, { mine, 2 }, { other, 1 }, { "", 0 }, { "-", 0 },
			{ "01JDV3ABCDEFGHJKMNPQRSTVW", 0 }, { "01JDV3ABCDEFGHJKMNPQRSTVWXX", 0 } };
		for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
			const struct audit_view view = { format, rows[i].run, collect, &out };
			size_t lines = 0;
			hl_buf_reset(&out);
			assert_int_equal(audit_show(log.state, &view, &err), 0);
			for (size_t at = 0; at < out.len; at++)
				lines += out.data[at] == '\n';
			assert_int_equal(lines, rows[i].lines);
		}
	}
	hl_buf_done(&out);
	log_remove(&log);
}

static void
test_records(void **state)
{
	struct log log;
	struct hl_buf out;
	struct audit_record record;
	struct hl_err err = { 0 };
	uint64_t seq = 99;

	(void)state;
	log_make(&log);
	hl_buf_init(&out, 1 << 20);
	struct audit *audit = log_open(&log);
	struct hl_json *json = audit_event(audit, AUDIT_RUN_START, &record);
	char *argv[] = { (char[]){ "make" }, (char[]){ "a b" } };
	audit_put_strings(audit, &record, "argv", argv, 2);
	audit_put_string(audit, &record, "cwd", "/w\n\x1b[2J");
	hl_json_key(json, "env");
	hl_json_array(json);
	hl_json_end_array(json);
	assert_int_equal(audit_append(audit, &record, &seq, &err), 0);
	assert_int_equal(seq, 1);
	audit_close(audit);

	file_read(log.segment, &out);
	assert_non_null(strstr(out.data, "{\"v\":1,\"seq\":0,\"t\":\""));
	assert_non_null(
	    strstr(out.data, "\"ev\":\"log.open\",\"run\":\"01JDV3ABCDEFGHJKMNPQRSTVWX\","
			     "\"log\":\""));
	assert_non_null(
	    strstr(out.data, "\"ev\":\"run.start\",\"run\":\"01JDV3ABCDEFGHJKMNPQRSTVWX\","
			     "\"argv\":[\"make\",\"a b\"],"
			     "\"cwd\":\"/w\\u000a\\u001b[2J\",\"env\":[],\"prev\":\""));
	assert_null(strstr(out.data, "redacted"));
	log_expect(&log, AUDIT_OK, "two records");
	show(&log, AUDIT_TEXT, &out);
	assert_non_null(strstr(out.data, "       1  20"));
	assert_non_null(strstr(out.data, "  run.start  "));
	assert_non_null(strstr(out.data, "argv=[make \"a b\"] cwd=\"/w\\u000a\\u001b[2J\" env=[]"));
	assert_null(strchr(out.data, '\x1b'));
	hl_buf_done(&out);
	log_remove(&log);
}

static void
test_private_files(void **state)
{
	struct log log;
	struct stat st;
	char path[256];

	(void)state;
	log_make(&log);
	umask(0);
	log_fill(&log, 1);
	umask(022);
	assert_int_equal(stat(log.segment, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(log.head, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	snprintf(path, sizeof(path), "%s/audit", log.state);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	log_remove(&log);
}

/* A state directory that is missing is made, all of it. */
static void
test_missing_directories(void **state)
{
	struct log log, below;

	(void)state;
	log_make(&log);
	below = log;
	strcat(below.state, "/a/b");
	log_fill(&below, 1);
	log_expect(&below, AUDIT_OK, "made");
	log_remove(&log);
}

static enum hl_code
open_code(const struct log *log)
{
	struct audit *audit;
	struct hl_err err = { 0 };

	if (log_try_open(log, &audit, &err) == 0) {
		audit_close(audit);
		return HL_OK;
	}
	assert_true(err.msg[0] != '\0');
	return err.code;
}

/* HLA-02: a link in the place of the state directory, of audit/, of the segment; others may write.
 */
static void
test_unsafe_places(void **state)
{
	struct log log, link_log;
	char path[256], other[256];

	(void)state;
	log_make(&log);
	link_log = log;
	strcat(link_log.state, "-link");
	assert_int_equal(symlink(log.state, link_log.state), 0);
	assert_int_equal(open_code(&link_log), HLA_02);
	assert_int_equal(unlink(link_log.state), 0);
	assert_int_equal(chmod(log.state, 0770), 0);
	assert_int_equal(open_code(&log), HLA_02);
	assert_int_equal(chmod(log.state, 0700), 0);
	snprintf(path, sizeof(path), "%s/audit", log.state);
	assert_int_equal(symlink("/tmp", path), 0);
	assert_int_equal(open_code(&log), HLA_02);
	assert_int_equal(unlink(path), 0);
	log_fill(&log, 2); /* the sibling: nothing wrong any more */
	snprintf(other, sizeof(other), "%s/other", log.state);
	assert_int_equal(rename(log.segment, other), 0);
	assert_int_equal(symlink(other, log.segment), 0);
	assert_int_equal(open_code(&log), HLA_02);
	assert_int_equal(unlink(log.segment), 0);
	assert_int_equal(mkfifo(log.segment, 0600), 0);
	assert_int_equal(open_code(&log), HLA_02);
	assert_int_equal(unlink(log.segment), 0);
	assert_int_equal(rename(other, log.segment), 0);
	assert_int_equal(chmod(log.segment, 0666), 0);
	assert_int_equal(open_code(&log), HLA_02);
	assert_int_equal(chmod(log.segment, 0600), 0);
	assert_int_equal(open_code(&log), HL_OK);
	log_remove(&log);
}

/* HLA-02: root looks into a directory of somebody else. */
static void
test_foreign_owner(void **state)
{
	struct log log;

	(void)state;
	if (geteuid() != 0) {
		print_message("# SKIP only root can give a directory away\n");
		skip();
	}
	log_make(&log);
	assert_int_equal(chown(log.state, 65534, 65534), 0);
	assert_int_equal(open_code(&log), HLA_02);
	assert_int_equal(chown(log.state, 0, 0), 0);
	assert_int_equal(open_code(&log), HL_OK);
	log_remove(&log);
}

/* HLA-01 by a name that no file system takes, HLA-07 without may_create. */
static void
test_no_log(void **state)
{
	struct log log;
	struct audit *audit;
	struct audit_verify_result result;
	struct hl_err err = { 0 };
	char path[512];

	(void)state;
	log_make(&log);
	struct audit_open_request request = { .state_dir = log.state, .version = "0" };
	assert_int_equal(audit_open(&request, &audit, &err), -1);
	assert_int_equal(err.code, HLA_07);
	assert_int_equal(audit_verify(log.state, &result, &err), -1);
	assert_int_equal(err.code, HLA_07);
	assert_int_equal(audit_show(log.state, &(struct audit_view){ .line = collect }, &err), -1);
	assert_int_equal(err.code, HLA_07);
	snprintf(path, sizeof(path), "%s/%0300d", log.state, 0);
	request.state_dir = path;
	request.may_create = true;
	assert_int_equal(audit_open(&request, &audit, &err), -1);
	assert_int_equal(err.code, HLA_01);
	log_remove(&log);
}

/* HLI-02: a field that the event does not have, fields out of order, a run that is no ULID. */
static void
test_field_order(void **state)
{
	struct log log;
	struct audit_record record;
	struct hl_err err = { 0 };
	struct audit *bad = NULL;

	(void)state;
	log_make(&log);
	struct audit *audit = log_open(&log);
	audit_event(audit, AUDIT_RUN_START, &record);
	audit_put_string(audit, &record, "cwd", "/");
	audit_put_string(audit, &record, "argv", "x");
	assert_int_equal(audit_append(audit, &record, NULL, &err), -1);
	assert_int_equal(err.code, HLI_02);
	audit_event(audit, AUDIT_RUN_START, &record);
	audit_put_string(audit, &record, "colour", "x");
	assert_int_equal(audit_append(audit, &record, NULL, &err), -1);
	assert_int_equal(err.code, HLI_02);
	struct hl_json *json = audit_event(audit, AUDIT_RUN_START, &record);
	hl_json_key(json, "eff");
	hl_json_raw(json, "{\"not\": \"canonical\"}");
	assert_int_equal(audit_append(audit, &record, NULL, &err), -1);
	assert_int_equal(err.code, HLI_02);
	audit_close(audit);
	log_expect(&log, AUDIT_OK, "nothing of it was written");
	assert_int_equal(log_verify(&log).records, 1);
	struct audit_open_request request = {
		.state_dir = log.state,
		.run = "not a ULID",
		.version = "0",
	};
	assert_int_equal(audit_open(&request, &bad, &err), -1);
	assert_int_equal(err.code, HLI_02);
	log_remove(&log);
}

/* Long texts are cut, with their length and digest; HLA-08 is left for what cannot be cut. */
static void
test_long(void **state)
{
	struct log log;
	struct audit_record record;
	struct hl_err err = { 0 };
	struct hl_buf out, text;
	char mark[160], hex[HL_SHA256_HEX_SIZE];

	(void)state;
	log_make(&log);
	hl_buf_init(&out, 1 << 20);
	hl_buf_init(&text, 1 << 20);
	for (unsigned i = 0; i < 40000; i++)
		hl_buf_puts(&text, i % 2 == 0 ? "\x01" : "é");
	struct audit *audit = log_open(&log);
	struct hl_json *json = audit_event(audit, AUDIT_RUN_START, &record);
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, text.data, (char[]){ "last" } };
	audit_put_strings(audit, &record, "argv", argv, 4);
	audit_put_string(audit, &record, "cwd", text.data);
	hl_json_key(json, "env");
	hl_json_array(json);
	for (unsigned i = 0; i < 20; i++)
		audit_put_string(audit, &record, NULL, text.data);
	hl_json_end_array(json);
	assert_int_equal(audit_append(audit, &record, NULL, &err), 0);
	file_read(log.segment, &out);
	hl_sha256_text(text.data, text.len, hex);
	snprintf(mark, sizeof(mark), "‹cut:%zu bytes:sha256:%s›\"", text.len, hex);
	assert_non_null(strstr(out.data, mark));
	struct hl_sha256 sha;
	unsigned char digest[32];
	hl_sha256_init(&sha);
	for (unsigned i = 0; i < 4; i++)
		hl_sha256_update(&sha, argv[i], strlen(argv[i]) + 1);
	hl_sha256_final(&sha, digest);
	hl_sha256_hex(digest, hex);
	snprintf(mark, sizeof(mark), "\"‹cut:%zu bytes:sha256:%s›\"]", text.len + 1 + 3 + 3 + 5,
	    hex);
	assert_non_null(strstr(out.data, mark));
	assert_null(strstr(out.data, "\"last\""));

	json = audit_event(audit, AUDIT_RUN_START, &record);
	hl_json_key(json, "eff");
	hl_json_string(json, text.data);
	assert_int_equal(audit_append(audit, &record, NULL, &err), -1);
	assert_int_equal(err.code, HLA_08);
	audit_close(audit);
	log_expect(&log, AUDIT_OK, "cut records");
	hl_buf_done(&out);
	hl_buf_done(&text);
	log_remove(&log);
}

/* Values that are no UTF-8 keep the record canonical. */
static void
test_bytes(void **state)
{
	struct log log;
	struct hl_buf out;

	(void)state;
	log_make(&log);
	hl_buf_init(&out, 1 << 20);
	struct audit *audit = log_open(&log);
	log_append(audit, "\xff\xfe\n");
	audit_close(audit);
	file_read(log.segment, &out);
	assert_non_null(strstr(out.data, "\"id\":{\"b64\":\"//4K\"}"));
	log_expect(&log, AUDIT_OK, "bytes");
	hl_buf_done(&out);
	log_remove(&log);
}

/* HLA-04: the holder was stopped; the message names it. It goes on: no error any more. */
static void
test_stopped_holder(void **state)
{
	struct log log;
	struct hl_err err = { 0 };
	char path[256], word[32];
	int ready[2];
	char byte;

	(void)state;
	log_make(&log);
	struct audit *audit = log_open(&log);
	snprintf(path, sizeof(path), "%.*slock", (int)(strlen(log.head) - 4), log.head);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		int fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	uint64_t begin = hl_now_mono_ms();
	assert_int_equal(log_try_append(audit, AUDIT_RUN_SANDBOX, "x", &err), -1);
	assert_in_range(hl_now_mono_ms() - begin, 1900, 3500);
	assert_int_equal(err.code, HLA_04);
	snprintf(word, sizeof(word), "process %d", child);
	assert_non_null(strstr(err.msg, word));
	kill(child, SIGCONT);
	waitpid(child, NULL, 0);
	log_append(audit, "y");
	audit_close(audit);
	log_expect(&log, AUDIT_OK, "after the holder");
	assert_int_equal(log_verify(&log).records, 2);
	close(ready[0]);
	close(ready[1]);
	log_remove(&log);
}

/* Others that get on are waited for longer than one that does not. */
static void
test_a_queue_is_no_fault(void **state)
{
	char name[] = "/tmp/hl-lock-XXXXXX", grows[] = "/tmp/hl-grows-XXXXXX";
	struct hl_err err = { 0 };
	int ready[2];
	char byte;

	(void)state;
	int lock = mkostemp(name, O_CLOEXEC), growing = mkostemp(grows, O_CLOEXEC);
	assert_true(lock >= 0 && growing >= 0);
	for (int is_growing = 0; is_growing < 2; is_growing++) {
		assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
		pid_t child = fork();
		if (child == 0) {
			const struct timespec turn = { 0, 100000000 };
			int fd = open(name, O_RDWR | O_CLOEXEC);
			if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(ready[1], "x", 1) != 1)
				_exit(1);
			for (int i = 0; i < 30; i++) {
				if (is_growing && write(growing, "x", 1) != 1)
					_exit(1);
				nanosleep(&turn, NULL);
			}
			_exit(0);
		}
		assert_int_equal(read(ready[0], &byte, 1), 1);
		int rc = audit_lock_take(lock, growing, "it", &err);
		assert_int_equal(rc, is_growing ? 0 : -1);
		if (rc != 0)
			assert_int_equal(err.code, HLA_04);
		waitpid(child, NULL, 0);
		close(ready[0]);
		close(ready[1]);
	}
	close(lock);
	close(growing);
	unlink(name);
	unlink(grows);
}

/* HLA-05: a log that was changed is not continued; the second log in one state directory neither.
 */
static void
test_corrupt(void **state)
{
	struct log log;
	struct hl_buf out;
	struct hl_err err = { 0 };
	char path[256];

	(void)state;
	log_make(&log);
	hl_buf_init(&out, 1 << 20);
	log_fill(&log, 5);
	file_read(log.segment, &out);
	size_t len = out.len;
	out.data[len / 2] ^= 1;
	file_write(log.segment, out.data, len);
	struct audit *audit = log_open(&log);
	log_append(audit, "the head still fits, so nothing is seen here: verify sees it");
	log_expect(&log, AUDIT_TAMPERED, "changed");
	unlink(log.head);
	audit_close(audit);
	audit = log_open(&log);
	assert_int_equal(log_try_append(audit, AUDIT_RUN_SANDBOX, "x", &err), -1);
	assert_int_equal(err.code, HLA_05);
	assert_true(err.help[0] != '\0');
	audit_close(audit);
	snprintf(path, sizeof(path), "%s/audit/01JDV3ABCDEFGHJKMNPQRSTVWX", log.state);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(open_code(&log), HLA_05);
	hl_buf_done(&out);
	log_remove(&log);
}

/* The log's directory is removed while it is open: not written into nothing. */
static void
test_removed(void **state)
{
	struct log log;
	struct hl_err err = { 0 };

	(void)state;
	log_make(&log);
	struct audit *audit = log_open(&log);
	log_append(audit, "x");
	unlink(log.segment);
	assert_int_equal(log_try_append(audit, AUDIT_RUN_SANDBOX, "y", &err), -1);
	assert_int_equal(err.code, HLA_05);
	audit_close(audit);
	log_remove(&log);
}

/* What a maker that died leaves behind is cleared by the next. */
static void
test_unfinished(void **state)
{
	struct log log;
	char path[256];

	(void)state;
	log_make(&log);
	snprintf(path, sizeof(path), "%s/audit", log.state);
	assert_int_equal(mkdir(path, 0700), 0);
	strcat(path, "/.new");
	assert_int_equal(mkdir(path, 0700), 0);
	strcat(path, "/00000000000000000000.jsonl");
	file_write(path, "{\"v\":1,", 7);
	log_fill(&log, 1);
	log_expect(&log, AUDIT_OK, "after an unfinished one");
	assert_int_equal(access(path, F_OK), -1);
	log_remove(&log);
}

/* Every event's row is complete, and every event can be written and read back. */
static void
test_events(void **state)
{
	struct log log;
	struct hl_err err = { 0 };

	(void)state;
	log_make(&log);
	struct audit *audit = log_open(&log);
	for (unsigned i = 0; i < AUDIT_EVENT_MAX; i++) {
		struct audit_record record;
		char fields[256], *rest = NULL;
		struct hl_json *json;
		if (i == AUDIT_RECOVER)
			continue; /* legal only behind a torn line */
		json = audit_event(audit, (enum audit_event)i, &record);
		snprintf(fields, sizeof(fields), "%s", audit_event_fields((enum audit_event)i));
		for (char *key = strtok_r(fields, " ", &rest); key != NULL;
		     key = strtok_r(NULL, " ", &rest)) {
			hl_json_key(json, key);
			hl_json_u64(json, 7);
		}
		assert_int_equal(audit_append(audit, &record, NULL, &err), 0);
	}
	audit_close(audit);
	log_expect(&log, AUDIT_OK, "all events");
	assert_int_equal(log_verify(&log).records, AUDIT_EVENT_MAX);
	log_remove(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_show_one_run),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_private_files),
		cmocka_unit_test(test_missing_directories),
		cmocka_unit_test(test_unsafe_places),
		cmocka_unit_test(test_foreign_owner),
		cmocka_unit_test(test_no_log),
		cmocka_unit_test(test_field_order),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_stopped_holder),
		cmocka_unit_test(test_a_queue_is_no_fault),
		cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
