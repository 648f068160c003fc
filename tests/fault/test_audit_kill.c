/*
 * kill -9 at every system call of an append, and of the making of a log: a tracer stops the writer
 * before and after each call and kills it there. Whatever it leaves is not called tampered, the
 * next writer goes on, verify is then ok, and once a record was there it is there at every later
 * point.
 */
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <signal.h>

#include "tests/unit/audit/log.h"

enum {
	STOPS_MAX = 400
};

typedef void writer_fn(struct log *log);

static void
append_one(struct log *log)
{
	struct audit *audit;
	struct hl_err err;

	if (log_try_open(log, &audit, &err) != 0)
		_exit(1);
	raise(SIGSTOP);
	if (log_try_append(audit, AUDIT_RUN_END, "the one", &err) != 0)
		_exit(1);
	_exit(0);
}

static void
make_log(struct log *log)
{
	struct audit *audit;
	struct hl_err err;

	raise(SIGSTOP);
	_exit(log_try_open(log, &audit, &err) == 0 ? 0 : 1);
}

/* Runs writer and kills it at its stop number `at`. False: it came to its end before that. */
static bool
run_until(writer_fn *writer, struct log *log, unsigned at)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(1);
		writer(log);
	}
	/* Stops for signals come first: that of raise() is the beginning. */
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, child, NULL,
			     (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)),
	    0);
	for (unsigned stop = 0; stop < at; stop++) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), 0);
			return false;
		}
		assert_true(WIFSTOPPED(status));
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	return true;
}

static bool
has_text(const struct log *log, const char *text)
{
	struct hl_buf bytes;

	hl_buf_init(&bytes, 1 << 20);
	file_read(log->segment, &bytes);
	bool has = strstr(bytes.data, text) != NULL;
	hl_buf_done(&bytes);
	return has;
}

static void
test_kill_append(void **state)
{
	bool was_there = false, is_killed = true;
	unsigned at = 1, killed_without = 0;

	(void)state;
	for (; is_killed; at++) {
		struct log log;
		assert_true(at < STOPS_MAX);
		log_make(&log);
		log_fill(&log, 2);
		is_killed = run_until(append_one, &log, at);
		struct audit_verify_result result = log_verify(&log);
		assert_int_not_equal(result.verdict, AUDIT_TAMPERED);
		bool is_there = has_text(&log, "the one");
		if (was_there && !is_there)
			fail_msg("stop %u: the record is not there any more", at);
		was_there = is_there;
		killed_without += !is_there;
		log_fill(&log, 1);
		log_expect(&log, AUDIT_OK, "after the kill");
		assert_int_equal(log_verify(&log).records, 4 + is_there);
		log_remove(&log);
	}
	assert_true(was_there);
	assert_true(killed_without >= 6);
	print_message("# killed at %u points, %u of them before the record was there\n", at - 2,
	    killed_without);
}

static void
test_kill_making(void **state)
{
	unsigned at = 1;

	(void)state;
	for (bool is_killed = true; is_killed; at++) {
		struct log log;
		assert_true(at < STOPS_MAX);
		log_make(&log);
		is_killed = run_until(make_log, &log, at);
		log_fill(&log, 1);
		log_expect(&log, AUDIT_OK, "after the kill");
		assert_int_equal(log_verify(&log).records, 2);
		log_remove(&log);
	}
	print_message("# killed at %u points\n", at - 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill_append),
		cmocka_unit_test(test_kill_making),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
