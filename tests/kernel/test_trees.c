/*
 * Everything that a call starts, and its end: by KILL, with the command, after its supervisor; and
 * what a command can do to those who watch it. Attacks run twice: with the control, and without.
 */
#include <sys/socket.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/kernel/watch.h"

#include "base/banned.h"

static struct watch watch;

/* A process that neither TERM nor HUP ends, in a session of its own, by a parent that is gone: its
 * argv says whose it is. */
#define DAEMON(mark) \
 "(setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; done; : " mark "' &) ; "

/* How many processes carry the mark; the one that asks does not. */
static uint32_t
count_marked(const char *mark)
{
	char text[256];

	snprintf(text, sizeof(text),
	    "exit $(grep -lza ': %s$' /proc/[0-9]*/cmdline 2>/dev/null | wc -l)", mark);
	return watch_run(&watch, 60, 0, text)->exit.code;
}

static bool
has_scopes(void)
{
	const bool is_told = (watch.features & RUNNER_FEATURE_SCOPES) != 0;

	assert_int_equal(is_told, launch_landlock_abi() >= 6);
	return is_told;
}

/* Cancel and timeout end one call's tree, daemons included, and nothing of another's. */
static void
test_kill_one(void **state)
{
	uint64_t before;

	(void)state;
	watch_start(&watch, 0);
	watch_spawn(&watch, 1, 0,
	    DAEMON("one") DAEMON("one") "trap '' TERM; echo on; while :; do sleep 1; done");
	watch_spawn(&watch, 2, 0, DAEMON("two") "echo on; sleep 60");
	watch_until_out(&watch, 1, "on");
	watch_until_out(&watch, 2, "on");
	while (count_marked("one") < 2 || count_marked("two") < 1)
		continue;
	before = hl_now_mono_ms();
	watch_kill(&watch, 1, RUNNER_TIMED_OUT);
	watch_until_closed(&watch, 1);
	assert_int_equal(watch.calls[1].exit.how, RUNNER_TIMED_OUT);
	assert_true(hl_now_mono_ms() - before >= RUNNER_GRACE_MS);
	assert_true(hl_now_mono_ms() - before < RUNNER_GRACE_MS + 2000);
	assert_int_equal(count_marked("one"), 0);
	assert_int_equal(count_marked("two"), 1);
	assert_false(watch.calls[2].has_exit);
	/* the same end without being asked: the command is over */
	watch_run(&watch, 3, 0, DAEMON("three") "exit 7");
	assert_int_equal(watch.calls[3].exit.code, 7);
	assert_int_equal(count_marked("three"), 0);
	assert_int_equal(count_marked("two"), 1);
	assert_int_equal(watch_end(&watch), 0);
}

static void
test_grace(void **state)
{
	(void)state;
	watch_start(&watch, 0);
	/* TERM reaches what is deep below, in other sessions, also when it is stopped */
	watch_spawn(&watch, 1, 0,
	    "sh -c \"setsid sh -c 'trap \\\"echo deep; exit\\\" TERM; echo ready; kill -STOP \\$\\$; "
	    "while :; do sleep 0.05; done'; :\" ; :");
	watch_until_out(&watch, 1, "ready");
	uint64_t before = hl_now_mono_ms();
	watch_kill(&watch, 1, RUNNER_CANCELLED);
	watch_until_closed(&watch, 1);
	assert_string_equal(watch.calls[1].out, "ready\ndeep\n");
	assert_true(hl_now_mono_ms() - before < RUNNER_GRACE_MS);
	/* KILL that comes with SPAWN, before there is anything to kill */
	for (int i = 0; i < 20; i++) {
		watch_spawn(&watch, 1, 0, "sleep 60");
		watch_kill(&watch, 1, RUNNER_CANCELLED);
		watch_until_closed(&watch, 1);
		assert_int_equal(watch.calls[1].exit.how, RUNNER_CANCELLED);
	}
	/* and SIGNAL */
	watch_spawn(&watch, 1, 0, "sleep 60");
	watch_send(&watch, 1, RUNNER_SIGNAL, "\x0f\0\0\0", 4);
	watch_until_closed(&watch, 1);
	assert_int_equal(watch.calls[1].exit.how, RUNNER_SIGNALED);
	assert_int_equal(watch.calls[1].exit.signal, SIGTERM);
	assert_int_equal(watch_end(&watch), 0);
}

/* Trees that grow while they are being cut. */
static const char *const growing[] = {
	/* many, all deaf */
	"i=0; while [ $i -lt 150 ]; do i=$((i+1)); "
	"(trap '' TERM HUP; setsid sleep 60 &) ; done; echo on; trap '' TERM; sleep 60; sleep 60",
	/* one that starts the next when it is gone */
	"trap '' TERM; echo on; while :; do sh -c 'trap \"\" TERM; sleep 60'; done",
	/* a chain: each one's child starts the next and leaves */
	"trap '' TERM; cat >/tmp/chain <<'X'\n"
	"trap '' TERM\nsetsid sh /tmp/chain &\nexit 0\nX\n"
	"sh /tmp/chain; echo on; sleep 60; sleep 60",
	/* its own subreaper would keep them: here a shell that never waits */
	"trap '' TERM; (trap '' TERM; exec sh -c 'setsid sleep 60 & setsid sleep 60 & "
	"kill -STOP $$') & echo on; wait; sleep 60",
};

static void
test_growing(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(growing); i++) {
		watch_start(&watch, 0);
		watch_spawn(&watch, 1, 0, growing[i]);
		watch_until_out(&watch, 1, "on");
		watch_kill(&watch, 1, RUNNER_CANCELLED);
		watch_until_closed(&watch, 1);
		assert_int_equal(watch.calls[1].exit.how, RUNNER_CANCELLED);
		/* itself, the runner and its supervisor */
		watch_run(&watch, 2, 0, "set -- /proc/[0-9]*; exit $#");
		if (watch.calls[2].exit.code > 3)
			fail_msg("tree %zu: %u processes", i, watch.calls[2].exit.code);
		assert_int_equal(watch_end(&watch), 0);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Attacks on the supervisor: the parent of the command
 */

/* Without the signal scope it can be killed, and then all that it had is ended; other calls and the
 * runner go on. */
static void
test_kill_supervisor(void **state)
{
	(void)state;
	watch_start(&watch, 0);
	watch_spawn(&watch, 2, 0, "echo on; sleep 0.7; exit 8");
	watch_until_out(&watch, 2, "on");
	uint64_t before = hl_now_mono_ms();
	watch_run(&watch, 1, 0,
	    DAEMON("lost") "trap '' TERM; kill -KILL $PPID; while :; do sleep 1; done");
	assert_int_equal(watch.calls[1].exit.how, RUNNER_SIGNALED);
	assert_int_equal(watch.calls[1].exit.signal, SIGKILL);
	assert_true(hl_now_mono_ms() - before < 2000);
	assert_int_equal(count_marked("lost"), 0);
	/* also at its very first step, before the supervisor could say that there is one */
	for (int i = 0; i < 20; i++) {
		watch_run(&watch, 1, 0, "kill -KILL $PPID; while :; do :; done");
		assert_true(watch.calls[1].has_started);
		assert_int_equal(watch.calls[1].exit.how, RUNNER_SIGNALED);
	}
	/* what it left after its end, with no supervisor, as well */
	watch_spawn(&watch, 1, RUNNER_SPAWN_LEAVE,
	    "(setsid sh -c 'sleep 0.2; kill -KILL '$PPID'; sleep 60; : left' &) ; exit 3");
	watch_until_closed(&watch, 1);
	assert_int_equal(watch.calls[1].exit.code, 3);
	assert_true(watch.calls[1].exit.has_left);
	assert_int_equal(count_marked("left"), 0);
	watch_until_closed(&watch, 2);
	assert_int_equal(watch.calls[2].exit.code, 8);
	/* over and over, with others beside */
	for (int i = 0; i < 20; i++) {
		watch_spawn(&watch, 2, 0, "exit 4");
		watch_run(&watch, 1, 0, "kill -KILL $PPID; sleep 60");
		watch_until_closed(&watch, 2);
		assert_int_equal(watch.calls[2].exit.code, 4);
	}
	assert_int_equal(watch_end(&watch), 0);
}

static void
test_stop_supervisor(void **state)
{
	(void)state;
	watch_start(&watch, 0);
	assert_int_equal(watch_run(&watch, 1, 0, "kill -STOP $PPID; exit 6")->exit.code, 6);
	watch_spawn(&watch, 1, 0, "trap '' TERM; kill -STOP $PPID; echo on; sleep 60; sleep 60");
	watch_until_out(&watch, 1, "on");
	watch_kill(&watch, 1, RUNNER_CANCELLED);
	watch_until_closed(&watch, 1);
	assert_int_equal(watch.calls[1].exit.how, RUNNER_CANCELLED);
	/* signals that would end it if it listened */
	watch_run(&watch, 1, 0, "for s in TERM INT HUP USR1 PIPE; do kill -$s $PPID; done; exit 5");
	assert_int_equal(watch.calls[1].exit.code, 5);
	/* it is as closed as the runner whose memory it shares */
	watch_run(&watch, 1, 0,
	    "for f in mem environ fd maps; do cat /proc/$PPID/$f >/dev/null && echo $f; done 2>/dev/null; "
	    "ls /proc/$PPID/fd/ 2>/dev/null; "
	    "/probe ptrace $PPID");
	assert_string_equal(watch.calls[1].out, "");
	assert_int_equal(watch.calls[1].exit.code, 1 /* EPERM */);
	assert_int_equal(watch_end(&watch), 0);
}

static void
skip_without_scopes(void)
{
	print_message("# SKIP this kernel has no Landlock scopes (ABI 6, Linux 6.12)\n");
	skip();
}

/* Call lock: no signal out of the call. Each attempt works without the flag. */
static void
test_scope(void **state)
{
	static const char *const targets[] = { "$PPID", "%u" };
	char text[64];

	(void)state;
	watch_start(&watch, 0);
	watch_spawn(&watch, 2, RUNNER_SPAWN_SCOPED, "echo on; sleep 60");
	watch_until_out(&watch, 2, "on");
	if (!has_scopes()) {
		assert_int_equal(watch_end(&watch), 0);
		skip_without_scopes();
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(targets); i++) {
		if (i == 0)
			snprintf(text, sizeof(text), "/probe kill $PPID 0");
		else
			snprintf(text, sizeof(text), "/probe kill %u 0", watch.calls[2].pid);
		assert_int_equal(watch_run(&watch, 1, 0, text)->exit.code, 0);
		assert_int_equal(watch_run(&watch, 1, RUNNER_SPAWN_SCOPED, text)->exit.code,
		    1 /* EPERM */);
	}
	assert_int_equal(watch_run(&watch, 1, RUNNER_SPAWN_SCOPED, "/probe kill 1 9")->exit.code,
	    1);
	watch_run(&watch, 1, RUNNER_SPAWN_SCOPED, "kill -KILL $PPID 2>/dev/null; exit 5");
	assert_int_equal(watch.calls[1].exit.code, 5);
	/* its own it may signal, and the host reaches it */
	watch_run(&watch, 1, RUNNER_SPAWN_SCOPED, "sleep 60 & kill $!; wait $!; exit $?");
	assert_int_equal(watch.calls[1].exit.code, 128 + SIGTERM);
	watch_kill(&watch, 2, RUNNER_CANCELLED);
	watch_until_closed(&watch, 2);
	assert_int_equal(watch.calls[2].exit.how, RUNNER_CANCELLED);
	assert_int_equal(watch_end(&watch), 0);
}

/* A scope that cannot be had is a missing control: nothing is started, and all ends. */
static void
test_scope_refused(void **state)
{
	(void)state;
	launch_lock_full(&watch.lock);
	/* an unprivileged process may restrict itself only with no_new_privs */
	watch.lock.confinement.flags &=
	    ~(uint32_t)(CONFINE_NO_NEW_PRIVS | CONFINE_LANDLOCK | CONFINE_SECCOMP);
	watch.lock.confinement.bpf_len = 0;
	watch_start_locked(&watch, 0);
	watch_run(&watch, 1, 0, "true");
	assert_int_equal(watch.calls[1].exit.how, RUNNER_EXITED);
	if (!has_scopes()) {
		assert_int_equal(watch_end(&watch), 0);
		skip_without_scopes();
	}
	watch_spawn(&watch, 1, RUNNER_SPAWN_SCOPED, "echo ran");
	while (!watch.has_error && watch_next(&watch))
		continue;
	assert_true(watch.has_error);
	assert_string_equal(hl_code_info((enum hl_code)watch.error.code)->id, "HLD-01");
	assert_int_equal(watch.error.step, CONFINE_STEP_LANDLOCK);
	assert_int_equal(watch.calls[1].out_len, 0);
	watch_end(&watch);
}

/* In a container: not pid 1, so that trees are found by walking only. */
static void
test_subreaper(void **state)
{
	(void)state;
	launch_lock_none(&watch.lock);
	watch.lock.confinement.flags = CONFINE_NO_NEW_PRIVS;
	watch_start_locked(&watch, LAUNCH_STDIO);
	watch_spawn(&watch, 2, 0, DAEMON("two-sub") "echo on; sleep 60");
	watch_until_out(&watch, 2, "on");
	assert_true((watch.features & RUNNER_FEATURE_PID1) == 0);
	watch_run(&watch, 1, 0, DAEMON("one-sub") "exit 3");
	assert_int_equal(watch.calls[1].exit.code, 3);
	assert_int_equal(count_marked("one-sub"), 0);
	assert_int_equal(count_marked("two-sub"), 1);
	watch_run(&watch, 1, 0, DAEMON("orphan-sub") "kill -KILL $PPID; sleep 60");
	assert_int_equal(watch.calls[1].exit.signal, SIGKILL);
	assert_int_equal(count_marked("orphan-sub"), 0);
	assert_int_equal(count_marked("two-sub"), 1);
	assert_int_equal(watch_end(&watch), 0);
	/* and with the runner everything, which only another can see */
	watch_start_locked(&watch, LAUNCH_STDIO);
	assert_int_equal(count_marked("two-sub"), 0);
	assert_int_equal(watch_end(&watch), 0);
}

/* The launcher is gone: so is everything. */
static void
test_stream_end(void **state)
{
	(void)state;
	launch_lock_none(&watch.lock);
	watch.lock.confinement.flags = CONFINE_NO_NEW_PRIVS;
	for (unsigned flags = 0; flags <= LAUNCH_STDIO; flags += LAUNCH_STDIO) {
		if (flags == 0)
			launch_lock_full(&watch.lock);
		watch_start_locked(&watch, flags);
		watch_spawn(&watch, 1, 0, DAEMON("end-one") "echo on; sleep 60");
		watch_spawn(&watch, 2, RUNNER_SPAWN_LEAVE, DAEMON("end-two") "echo on");
		watch_until_out(&watch, 1, "on");
		watch_until_exit(&watch, 2);
		/* no GOODBYE */
		shutdown(watch.launch.to, SHUT_WR);
		assert_int_equal(watch_end(&watch), 0);
		launch_lock_none(&watch.lock);
		watch.lock.confinement.flags = CONFINE_NO_NEW_PRIVS;
		watch_start_locked(&watch, LAUNCH_STDIO);
		assert_int_equal(count_marked("end-one") + count_marked("end-two"), 0);
		assert_int_equal(watch_end(&watch), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill_one),
		cmocka_unit_test(test_grace),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_kill_supervisor),
		cmocka_unit_test(test_stop_supervisor),
		cmocka_unit_test(test_scope),
		cmocka_unit_test(test_scope_refused),
		cmocka_unit_test(test_subreaper),
		cmocka_unit_test(test_stream_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
