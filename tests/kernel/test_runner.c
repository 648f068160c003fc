/*
 * The runner as the host meets it: how calls end, what becomes of their bytes and of their
 * children, and what a hostile host gets.
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/kernel/launch.h"

#include "base/banned.h"

static struct launch_result result;

static void
run_shell(const char *text)
{
	const char *const words[] = { "sh", "-c", text, NULL };
	struct launch_lock lock;

	launch_lock_full(&lock);
	launch_run(&lock, 0, words, &result);
	assert_true(result.is_locked);
	assert_true(result.has_exit);
}

static void
begin(struct launch *launch, uint32_t flags, const char *text)
{
	const char *const words[] = { "sh", "-c", text, NULL };
	struct launch_lock lock;

	launch_lock_full(&lock);
	launch_start(launch, 0);
	launch_send_lock(launch, &lock);
	launch_send_spawn(launch, flags, words);
}

/* Until a frame of this type; the test fails when the stream ends before. */
static void
expect(struct launch *launch, enum runner_type type)
{
	do
		assert_true(launch_next(launch));
	while (launch->frame.type != type);
}

struct ending {
	const char *text;
	enum runner_how how;
	uint32_t code, signal;
};

static const struct ending endings[] = {
	{ "exit 0", RUNNER_EXITED, 0, 0 },
	{ "exit 42", RUNNER_EXITED, 42, 0 },
	{ "exit 125", RUNNER_EXITED, 125, 0 },
	{ "kill -TERM $$; exit 9", RUNNER_SIGNALED, 0, SIGTERM },
	{ "kill -KILL $$; exit 9", RUNNER_SIGNALED, 0, SIGKILL },
	{ "kill -SEGV $$", RUNNER_SIGNALED, 0, SIGSEGV },
	{ "sh -c 'kill -TERM $$'; exit $?", RUNNER_EXITED, 143, 0 },
	{ "no-such-program", RUNNER_EXITED, 127, 0 },
	/* the init is not to be had by its own */
	{ "kill -KILL 1; kill -STOP 1; kill -TERM 1; kill -CHLD 1; exit 7", RUNNER_EXITED, 7, 0 },
	/* signals and mask of a fresh process, whatever the launcher had */
	{ "grep -q 'SigIgn:.0*$' /proc/self/status && grep -q 'SigBlk:.0*$' /proc/self/status",
	    RUNNER_EXITED, 0, 0 },
	{ "test $(umask) = 0022", RUNNER_EXITED, 0, 0 },
	{ "test $(cat /proc/self/stat | cut -d' ' -f5) = $$", RUNNER_EXITED, 0, 0 },
	/* nothing but 0, 1, 2 (and the descriptor of the listing) */
	{ "test \"$(ls /proc/self/fd | tr '\\n' ' ')\" = '0 1 2 3 '", RUNNER_EXITED, 0, 0 },
	/* stdin is empty unless given */
	{ "read x", RUNNER_EXITED, 1, 0 },
	/* an environment as sent and no more */
	{ "test \"$(env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= | tr '\\n' ' ')\" = "
	  "'PATH=/usr/bin:/bin '",
	    RUNNER_EXITED, 0, 0 },
};

static void
run_supervised(const char *text)
{
	struct launch launch;

	begin(&launch, 0, text);
	launch_collect(&launch, &result);
	launch_end(&launch);
	assert_true(result.has_exit);
}

/* The same whether the command has the sandbox for itself or a supervisor. */
static void
test_endings(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * HL_ARRAY_SIZE(endings); i++) {
		const struct ending *ending = &endings[i / 2];
		if (i % 2 == 0)
			run_shell(ending->text);
		else
			run_supervised(ending->text);
		if (result.exit.how != ending->how || result.exit.code != ending->code ||
		    result.exit.signal != ending->signal)
			fail_msg("%s: %s %u %u: %s%s", ending->text,
			    runner_how_name(result.exit.how), result.exit.code, result.exit.signal,
			    result.out, result.err);
	}
}

struct refusal {
	const char *program;
	uint32_t code;
	int sys_errno;
	const char *subject;
};

static const struct refusal refusals[] = {
	{ "no-such-program", 127, 0, "no-such-program" },
	{ "/no/such/program", 127, 0, "/no/such/program" },
	{ "/usr", 126, EACCES, "/usr" },
	{ "/dev/null", 126, EACCES, "/dev/null" },
	{ "/proc/self/status", 126, EACCES, "/proc/self/status" },
};

/* U73: not found is 127, not usable 126, and how says that nothing ran. */
static void
test_exec_refusals(void **state)
{
	struct launch_lock lock;

	(void)state;
	launch_lock_full(&lock);
	for (size_t i = 0; i < HL_ARRAY_SIZE(refusals); i++) {
		const struct refusal *refusal = &refusals[i];
		const char *const words[] = { refusal->program, NULL };
		launch_run(&lock, 0, words, &result);
		assert_true(result.has_exit);
		assert_int_equal(result.exit.how, RUNNER_LAUNCHER_ERROR);
		assert_int_equal(result.exit.code, refusal->code);
		assert_int_equal(result.exit.sys_errno, refusal->sys_errno);
		assert_string_equal(result.subject, refusal->subject);
	}
	/* a script whose interpreter is missing, made by one call and run by the next */
	const char *const make[] = { "sh", "-c",
		"printf '#!/nowhere/sh\\n' >/tmp/s; chmod +x /tmp/s; printf x >/tmp/t", NULL };
	const char *const script[] = { "/tmp/s", NULL };
	const char *const plain[] = { "/tmp/t", NULL };
	struct launch launch;
	launch_start(&launch, 0);
	launch_send_lock(&launch, &lock);
	launch_send_spawn(&launch, 0, make);
	launch_collect(&launch, &result);
	assert_int_equal(result.exit.code, 0);
	launch_send_spawn(&launch, 0, script);
	launch_collect(&launch, &result);
	assert_int_equal(result.exit.code, 126);
	assert_int_equal(result.exit.sys_errno, ENOENT);
	launch_send_spawn(&launch, 0, plain);
	launch_collect(&launch, &result);
	assert_int_equal(result.exit.code, 126);
	assert_int_equal(result.exit.sys_errno, EACCES);
	launch_end(&launch);
}

static void
send_spawn_in(struct launch *launch, const char *cwd, uint32_t resource, uint64_t limit)
{
	struct runner_spawn spawn = { .umask = 077, .cwd = cwd };
	struct hl_buf frame;

	hl_strv_init(&spawn.argv, 8);
	hl_strv_init(&spawn.env, 8);
	hl_strv_add(&spawn.argv, "sh");
	hl_strv_add(&spawn.argv, "-c");
	hl_strv_add(&spawn.argv, "pwd; ulimit -n; umask");
	if (limit > 0) {
		spawn.rlimits_len = 1;
		spawn.rlimits[0] = (struct runner_rlimit){ resource, limit, limit };
	}
	hl_buf_init(&frame, RUNNER_PAYLOAD_MAX);
	runner_spawn_put(&frame, 1, &spawn);
	launch_send_raw(launch, frame.data, frame.len);
	hl_buf_done(&frame);
	runner_spawn_done(&spawn);
}

static void
run_in(const char *cwd, uint32_t resource, uint64_t limit)
{
	struct launch_lock lock;
	struct launch launch;

	launch_lock_full(&lock);
	launch_start(&launch, 0);
	launch_send_lock(&launch, &lock);
	send_spawn_in(&launch, cwd, resource, limit);
	launch_collect(&launch, &result);
	launch_end(&launch);
}

/* U38: a working directory that is not there: 126, and nothing ran. */
static void
test_call_lock(void **state)
{
	(void)state;
	run_in("/tmp", RLIMIT_NOFILE, 33);
	assert_string_equal(result.out, "/tmp\n33\n0077\n");
	run_in("/nope", 0, 0);
	assert_int_equal(result.exit.how, RUNNER_LAUNCHER_ERROR);
	assert_int_equal(result.exit.code, 126);
	assert_int_equal(result.exit.sys_errno, ENOENT);
	assert_string_equal(result.subject, "/nope");
	/* a limit that cannot be set is a control that is missing */
	run_in("/", RLIMIT_NOFILE, UINT64_C(1) << 40);
	assert_true(result.has_error);
	assert_int_equal(result.error.code, HLD_01);
	assert_int_equal(result.error.step, CONFINE_STEP_RLIMITS);
	assert_string_equal(result.subject, "open files");
	run_in("/", 99, 1);
	assert_int_equal(result.error.sys_errno, EINVAL);
}

static void
test_output(void **state)
{
	(void)state;
	run_shell("echo out; echo err >&2; echo out2");
	assert_string_equal(result.out, "out\nout2\n");
	assert_string_equal(result.err, "err\n");
	/* three windows full, byte for byte */
	run_shell("head -c 3145728 /dev/zero; head -c 2097152 /dev/zero >&2");
	assert_int_equal(result.out_len, 3145728);
	assert_int_equal(result.err_len, 2097152);
	/* a command that closes its output goes on */
	run_shell("exec >&- 2>&-; sleep 0.1; exit 3");
	assert_int_equal(result.exit.code, 3);
}

/* The host gives no credit: at most the window comes, and the runner neither grows nor ends. */
static void
test_window(void **state)
{
	struct launch launch;
	size_t len = 0;

	(void)state;
	begin(&launch, 0, "head -c 8388608 /dev/zero");
	expect(&launch, RUNNER_STARTED);
	while (len < RUNNER_WINDOW) {
		expect(&launch, RUNNER_OUT);
		len += launch.frame.payload_len - 1;
	}
	assert_int_equal(len, RUNNER_WINDOW);
	struct pollfd fd = { .fd = launch.from, .events = POLLIN };
	assert_int_equal(poll(&fd, 1, 200), 0);
	/* control frames still pass */
	const unsigned char reason = RUNNER_CANCELLED;
	launch_send(&launch, RUNNER_KILL, &reason, 1);
	/* the rest of the pipe is held back by the window: the host has to take it or leave */
	assert_int_equal(WEXITSTATUS(launch_end(&launch)), 0);
}

static void
test_stdin(void **state)
{
	static char bytes[200000];
	struct launch launch;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	begin(&launch, RUNNER_SPAWN_STDIN, "wc -c");
	expect(&launch, RUNNER_STARTED);
	for (int i = 0; i < 5; i++)
		launch_send(&launch, RUNNER_STDIN, bytes, sizeof(bytes));
	launch_send(&launch, RUNNER_STDIN_EOF, NULL, 0);
	launch_collect(&launch, &result);
	launch_end(&launch);
	assert_string_equal(result.out, "1000000\n");
	/* one that does not read gives the credit back and is no obstacle */
	begin(&launch, RUNNER_SPAWN_STDIN, "exec <&-; sleep 0.2; exit 5");
	expect(&launch, RUNNER_STARTED);
	for (int i = 0; i < 5; i++)
		launch_send(&launch, RUNNER_STDIN, bytes, sizeof(bytes));
	launch_collect(&launch, &result);
	launch_end(&launch);
	assert_int_equal(result.exit.code, 5);
}

static void
test_signal(void **state)
{
	const unsigned char usr1[4] = { SIGUSR1, 0, 0, 0 };
	struct launch launch;

	(void)state;
	/* to the whole group: the trap of the shell and the death of its child */
	begin(&launch, 0, "trap 'exit 55' USR1; echo ready; while :; do sleep 0.05; done");
	expect(&launch, RUNNER_OUT);
	launch_send(&launch, RUNNER_SIGNAL, usr1, sizeof(usr1));
	launch_collect(&launch, &result);
	assert_int_equal(result.exit.how, RUNNER_EXITED);
	assert_int_equal(result.exit.code, 55);
	/* late ones are no fault */
	launch_send(&launch, RUNNER_SIGNAL, usr1, sizeof(usr1));
	assert_int_equal(WEXITSTATUS(launch_end(&launch)), 0);
}

static void
kill_it(struct launch *launch, enum runner_how how)
{
	const unsigned char reason = (unsigned char)how;

	expect(launch, RUNNER_OUT);
	uint64_t before = hl_now_mono_ms();
	launch_send(launch, RUNNER_KILL, &reason, 1);
	launch_collect(launch, &result);
	result.out_len = (size_t)(hl_now_mono_ms() - before);
	launch_end(launch);
}

static void
test_kill(void **state)
{
	struct launch launch;

	(void)state;
	/* one that listens ends at once, with its own last words */
	begin(&launch, 0, "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done");
	kill_it(&launch, RUNNER_CANCELLED);
	assert_int_equal(result.exit.how, RUNNER_CANCELLED);
	assert_string_equal(result.out, "bye\n");
	assert_true(result.out_len < RUNNER_GRACE_MS);
	/* U-timeout: one that does not is killed after the grace, with all that it detached */
	begin(&launch, 0,
	    "trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' &) ; "
	    "echo ready; while :; do sleep 1; done");
	kill_it(&launch, RUNNER_TIMED_OUT);
	assert_int_equal(result.exit.how, RUNNER_TIMED_OUT);
	assert_true(result.out_len >= RUNNER_GRACE_MS);
	/* a stopped one hears TERM as well */
	begin(&launch, 0, "echo ready; kill -STOP $$");
	kill_it(&launch, RUNNER_CANCELLED);
	assert_true(result.out_len < RUNNER_GRACE_MS);
	/* a child that cleans up has the grace although the shell is gone */
	begin(&launch, 0,
	    "sh -c 'trap \"sleep 0.3; echo cleaned; exit\" TERM; echo ready; "
	    "while :; do sleep 0.05; done' & wait");
	kill_it(&launch, RUNNER_CANCELLED);
	assert_string_equal(result.out, "cleaned\n");
}

/* fork-detach: what a command leaves behind neither holds the call nor outlives it. */
static void
test_background(void **state)
{
	(void)state;
	uint64_t before = hl_now_mono_ms();
	run_shell("(setsid sleep 60 &) ; sleep 60 & echo started; exit 4");
	assert_int_equal(result.exit.code, 4);
	assert_string_equal(result.out, "started\n");
	assert_true(hl_now_mono_ms() - before < 5000);
	/* orphans are reaped: no zombie is seen while the command lives */
	run_shell("for i in 1 2 3 4 5; do (true & ) ; done; sleep 0.2; "
		  "test $(grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l) = 0");
	assert_int_equal(result.exit.code, 0);
	run_shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
	assert_true(result.exit.user_us > 0);
	assert_true(result.exit.max_rss_kib > 100);
}

/* The stream's end is the sandbox' end. */
static void
test_stream_end(void **state)
{
	struct launch launch;
	int status;

	(void)state;
	begin(&launch, 0, "trap '' TERM; echo ready; while :; do sleep 1; done");
	expect(&launch, RUNNER_OUT);
	close(launch.to);
	assert_int_equal(waitpid(launch.pid, &status, 0), launch.pid);
	assert_true(WIFEXITED(status));
	hl_buf_done(&launch.in);
}

/* A host that writes what it may not: a typed error, and an end. */
static void
expect_broken(struct launch *launch)
{
	launch_collect(launch, &result);
	assert_true(result.has_error);
	assert_string_equal(hl_code_info((enum hl_code)result.error.code)->id, "HLB-01");
	assert_int_equal(WEXITSTATUS(launch_end(launch)), 70);
}

static const unsigned char hostile[][16] = {
	{ 0xff, 0xff, 0xff, 0xff, RUNNER_LOCK },          /* too long */
	{ 0, 0, 0, 0, 0 },                                /* no type */
	{ 0, 0, 0, 0, RUNNER_TYPE_MAX },                  /* unknown type */
	{ 0, 0, 0, 0, RUNNER_LOCK, 1 },                   /* flags */
	{ 0, 0, 0, 0, RUNNER_LOCK, 0, 1 },                /* reserved */
	{ 0, 0, 0, 0, RUNNER_LOCK, 0, 0, 0, 2 },          /* unknown channel */
	{ 0, 0, 0, 0, RUNNER_LOCK, 0, 0, 0, 1 },          /* wrong channel */
	{ 0, 0, 0, 0, RUNNER_LOCK },                      /* empty */
	{ 4, 0, 0, 0, RUNNER_LOCK, 0, 0, 0, 0, 0, 0, 0 }, /* cut short inside */
	{ 0, 0, 0, 0, RUNNER_SPAWN, 0, 0, 0, 1 },         /* before LOCK */
	{ 0, 0, 0, 0, RUNNER_HELLO },                     /* the runner's own */
	{ 0, 0, 0, 0, RUNNER_STDIN, 0, 0, 0, 1 },         /* nothing runs */
	{ 1, 0, 0, 0, RUNNER_KILL, 0, 0, 0, 1, 0, 0, 0, RUNNER_CANCELLED },
	{ 'G', 'E', 'T', ' ', '/', ' ', 'H', 'T', 'T', 'P' },
};

static void
test_hostile_frames(void **state)
{
	struct launch launch;
	struct launch_lock lock;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(hostile); i++) {
		launch_start(&launch, 0);
		launch_send_raw(&launch, hostile[i], sizeof(hostile[i]));
		expect_broken(&launch);
	}
	/* twice locked */
	launch_lock_full(&lock);
	launch_start(&launch, 0);
	launch_send_lock(&launch, &lock);
	launch_send_lock(&launch, &lock);
	expect_broken(&launch);
	/* two calls at once */
	begin(&launch, 0, "sleep 30");
	launch_send_spawn(&launch, 0, (const char *const[]){ "true", NULL });
	expect_broken(&launch);
	/* input that nobody asked for */
	begin(&launch, 0, "sleep 30");
	launch_send(&launch, RUNNER_STDIN, "x", 1);
	expect_broken(&launch);
	/* more credit than there is */
	begin(&launch, 0, "sleep 30");
	launch_send(&launch, RUNNER_WINDOW_ADD, "\1\1\0\0\0", 5);
	expect_broken(&launch);
	begin(&launch, 0, "sleep 30");
	launch_send(&launch, RUNNER_SIGNAL, "\0\0\0\0", 4);
	expect_broken(&launch);
}

/* In a container: the stream is 0 and 1, the runner a subreaper, the command's output in frames. */
static void
test_stdio(void **state)
{
	const char *const words[] = { "sh", "-c",
		"grep NoNewPrivs /proc/self/status; (setsid sleep 60 &) ; exit 6", NULL };
	const char *const quiet[] = { "true", NULL };
	struct launch_lock lock;
	struct launch launch;

	(void)state;
	launch_lock_none(&lock);
	lock.confinement.flags = CONFINE_NO_NEW_PRIVS;
	launch_run(&lock, LAUNCH_STDIO, words, &result);
	assert_true(result.has_exit);
	assert_int_equal(result.exit.code, 6);
	assert_string_equal(result.out, "NoNewPrivs:\t1\n");
	/* its own 0 and 1 are the stream: the command may not have them */
	launch_start(&launch, LAUNCH_STDIO);
	launch_send_lock(&launch, &lock);
	launch_send_spawn(&launch, RUNNER_SPAWN_INHERIT, quiet);
	expect_broken(&launch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endings),
		cmocka_unit_test(test_exec_refusals),
		cmocka_unit_test(test_call_lock),
		cmocka_unit_test(test_output),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_stdin),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_background),
		cmocka_unit_test(test_stream_end),
		cmocka_unit_test(test_hostile_frames),
		cmocka_unit_test(test_stdio),
	};

	/* What the runner must not hand on. */
	static const unsigned long ignored[4] = { 1 }; /* the kernel's struct: SIG_IGN */
	signal(SIGINT, SIG_IGN);
	syscall(SYS_rt_sigaction, 33, ignored, NULL, 8);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
