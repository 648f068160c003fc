/*
 * Sixteen processes, five hundred records each, into one log that does not exist yet: no gap, no
 * record twice, none lost, the chain whole. And four that are killed at some moment meanwhile.
 */
#include <sys/wait.h>

#include <signal.h>

#include "tests/unit/audit/log.h"

enum {
	PROCESSES = 16,
	RECORDS = 500
};

static void
write_all(const struct log *log, unsigned process, unsigned n)
{
	struct audit *audit;
	struct hl_err err = { 0 };
	char text[64];

	if (log_try_open(log, &audit, &err) != 0) {
		fprintf(stderr, "# open: %s\n", err.msg);
		_exit(1);
	}
	for (unsigned i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "process %u record %u.", process, i);
		if (log_try_append(audit, AUDIT_RUN_SANDBOX, text, &err) != 0) {
			fprintf(stderr, "# append: %s\n", err.msg);
			_exit(1);
		}
	}
	audit_close(audit);
	_exit(0);
}

struct seen {
	unsigned times[PROCESSES][RECORDS];
	uint64_t next_seq;
	bool is_in_order;
};

static uint64_t
number_behind(const char *line, const char *key)
{
	const char *at = strstr(line, key);
	struct hl_err err;
	uint64_t number = UINT64_MAX;
	char digits[24] = { 0 };

	if (at == NULL)
		return UINT64_MAX;
	at += strlen(key);
	memcpy(digits, at, strspn(at, "0123456789") % sizeof(digits));
	return hl_parse_u64(digits, 0, UINT64_MAX, &number, &err) == 0 ? number : UINT64_MAX;
}

static int
see(const char *line, size_t len, void *context)
{
	struct seen *seen = context;
	uint64_t process = number_behind(line, "process ");
	uint64_t record = number_behind(line, " record ");

	(void)len;
	seen->is_in_order = seen->is_in_order && number_behind(line, "\"seq\":") == seen->next_seq;
	seen->next_seq++;
	if (process < PROCESSES && record < RECORDS)
		seen->times[process][record]++;
	return 0;
}

static void
test_many(void **state)
{
	static struct seen seen;
	struct log log;
	struct hl_err err = { 0 };
	pid_t children[PROCESSES];

	(void)state;
	log_make(&log);
	for (unsigned i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		if (children[i] == 0)
			write_all(&log, i, RECORDS);
	}
	/* An auditor meanwhile never sees a forged log. */
	for (unsigned i = 0; i < PROCESSES; i++) {
		struct audit_verify_result result;
		int status;
		if (audit_verify(log.state, &result, &err) == 0)
			assert_int_equal(result.verdict, AUDIT_OK);
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	struct audit_verify_result result = log_verify(&log);
	assert_int_equal(result.verdict, AUDIT_OK);
	assert_int_equal(result.records, 1 + PROCESSES * RECORDS);
	seen.is_in_order = true;
	const struct audit_view view = { .format = AUDIT_JSON, .line = see, .context = &seen };
	assert_int_equal(audit_show(log.state, &view, &err), 0);
	assert_true(seen.is_in_order);
	for (unsigned i = 0; i < PROCESSES; i++)
		for (unsigned j = 0; j < RECORDS; j++)
			assert_int_equal(seen.times[i][j], 1);
	log_remove(&log);
}

static void
test_killed_meanwhile(void **state)
{
	struct log log;
	pid_t children[8];

	(void)state;
	for (unsigned round = 0; round < 10; round++) {
		log_make(&log);
		log_fill(&log, 1);
		for (unsigned i = 0; i < 8; i++) {
			children[i] = fork();
			if (children[i] == 0)
				write_all(&log, i, i < 4 ? 100000 : 50);
		}
		for (unsigned i = 0; i < 4; i++) {
			usleep(3000 + 1000 * round);
			kill(children[i], SIGKILL);
		}
		for (unsigned i = 0; i < 8; i++) {
			int status;
			assert_int_equal(waitpid(children[i], &status, 0), children[i]);
			assert_true(i < 4 ? WIFSIGNALED(status) : status == 0);
		}
		assert_int_not_equal(log_verify(&log).verdict, AUDIT_TAMPERED);
		log_fill(&log, 1);
		log_expect(&log, AUDIT_OK, "after the kills");
		assert_true(log_verify(&log).records >= 4 * 50 + 3);
		log_remove(&log);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_killed_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
