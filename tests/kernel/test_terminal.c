/*
 * What travels with a call beside its pipes: the state of a shell, and a terminal.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/kernel/watch.h"

#include "base/banned.h"

static struct watch watch;

static struct watched *
run_bash(uint32_t flags, const char *text)
{
	watch_bash(&watch, 1, flags, text);
	watch_until_closed(&watch, 1);
	return &watch.calls[1];
}

/* ------------------------------------------------------------------------------------------------
 * State
 */
static void
send_text(const char *text)
{
	watch_send(&watch, 1, RUNNER_STATE, text, strlen(text));
}

static void
test_state(void **state)
{
	(void)state;
	watch_start(&watch, 0);
	/* the text is read before the command, in as many frames as it came in */
	send_text("unset BASH_ENV; X='a ");
	send_text("b'; f() { echo \"f:$1\"; }\n");
	send_text("trap 'printf %s \"$X|$PWD\" >&99' EXIT\n");
	const struct watched *call =
	    run_bash(RUNNER_SPAWN_STATE, "f \"$X\"; X=new; cd /tmp; exit 4");
	assert_string_equal(call->out, "f:a b\n");
	assert_string_equal(call->state, "new|/tmp");
	assert_int_equal(call->exit.code, 4);
	assert_int_equal(call->exit.state, RUNNER_STATE_KEPT);
	/* nothing of it stays: the next call has its own */
	call = run_bash(RUNNER_SPAWN_STATE, "type -t f; echo \"<$X>\"");
	assert_string_equal(call->out, "<>\n");
	assert_int_equal(call->exit.state, RUNNER_STATE_LOST);
	/* without the flag there are no descriptors for it */
	call = run_bash(0, "echo ${BASH_ENV-none}; ls /proc/self/fd | wc -l");
	assert_string_equal(call->out, "none\n4\n");
	assert_int_equal(call->exit.state, RUNNER_STATE_NONE);
	assert_int_equal(watch_end(&watch), 0);
}

struct ending {
	const char *text;
	enum runner_how how;
	enum runner_state_kept kept;
};

/* Behind "trap 'echo s >&99' EXIT". */
static const struct ending endings[] = {
	{ "true", RUNNER_EXITED, RUNNER_STATE_KEPT },
	{ "set -e; false; true", RUNNER_EXITED, RUNNER_STATE_KEPT },
	{ "kill -TERM $$", RUNNER_SIGNALED, RUNNER_STATE_KEPT },
	{ "exec true", RUNNER_EXITED, RUNNER_STATE_LOST },
	{ "kill -KILL $$", RUNNER_SIGNALED, RUNNER_STATE_LOST },
	{ "echo half >&99; kill -KILL $$", RUNNER_SIGNALED, RUNNER_STATE_LOST },
	{ "head -c 1048576 /dev/zero >&99; exec true", RUNNER_EXITED, RUNNER_STATE_KEPT },
	{ "head -c 1048577 /dev/zero >&99", RUNNER_EXITED, RUNNER_STATE_LOST },
	/* forged, endless and from somebody else: the end comes nevertheless */
	{ "timeout 0.3 yes >&99; exit 0", RUNNER_EXITED, RUNNER_STATE_LOST },
	{ "(setsid sh -c 'yes >&99' &) ; exit 0", RUNNER_EXITED, RUNNER_STATE_LOST },
	{ "exec 99>&-", RUNNER_EXITED, RUNNER_STATE_LOST },
};

static void
test_state_endings(void **state)
{
	(void)state;
	watch_start(&watch, 0);
	for (size_t i = 0; i < HL_ARRAY_SIZE(endings); i++) {
		const struct ending *ending = &endings[i];
		send_text("trap 'echo s >&99' EXIT");
		const struct watched *call = run_bash(RUNNER_SPAWN_STATE, ending->text);
		/* a flood may also be cut while it is small enough */
		bool is_flood = strstr(ending->text, "yes") != NULL;
		if (call->exit.how != ending->how ||
		    (call->exit.state != ending->kept && !is_flood) ||
		    call->state_len > RUNNER_STATE_MAX ||
		    (call->exit.state == RUNNER_STATE_LOST && call->state_len > 0))
			fail_msg("%s: %s, state %d, %zu bytes", ending->text,
			    runner_how_name(call->exit.how), (int)call->exit.state,
			    call->state_len);
	}
	assert_int_equal(watch_end(&watch), 0);
}

/* A whole state: as a file in memory, and as a pipe where such files are refused. */
static void
test_large_state(void **state)
{
	enum {
		PIECE = 250000
	};
	char *bytes = malloc(RUNNER_STATE_MAX + 1);
	struct watched *call;

	(void)state;
	for (unsigned flags = 0; flags <= LAUNCH_NO_MEMFD; flags += LAUNCH_NO_MEMFD) {
		memset(bytes, '#', RUNNER_STATE_MAX);
		memcpy(bytes + RUNNER_STATE_MAX - 16, "\necho all >&99;\n", 16);
		watch_start(&watch, flags);
		for (size_t at = 0; at < RUNNER_STATE_MAX; at += PIECE) {
			size_t left = RUNNER_STATE_MAX - at;
			watch_send(&watch, 1, RUNNER_STATE, bytes + at,
			    left < PIECE ? left : PIECE);
		}
		call = run_bash(RUNNER_SPAWN_STATE, "readlink /proc/self/fd/98");
		assert_string_equal(call->state, "all\n");
		assert_non_null(strstr(call->out, flags == 0 ? "memfd" : "pipe"));
		/* a command that does not read it does not hold the call */
		for (int i = 0; i < 4; i++)
			watch_send(&watch, 1, RUNNER_STATE, bytes, PIECE);
		assert_int_equal(watch_run(&watch, 1, RUNNER_SPAWN_STATE, "exit 3")->exit.code, 3);
		/* one byte more than may be */
		for (int i = 0; i < 4; i++)
			watch_send(&watch, 2, RUNNER_STATE, bytes, RUNNER_STATE_MAX / 4);
		watch_send(&watch, 2, RUNNER_STATE, bytes, 1);
		watch_expect_broken(&watch);
	}
	free(bytes);
}

/* ------------------------------------------------------------------------------------------------
 * Terminal
 */
static void
spawn_terminal(const char *text, uint32_t rows, uint32_t columns)
{
	struct runner_spawn spawn = { .flags = RUNNER_SPAWN_PTY | RUNNER_SPAWN_STDIN,
		.cwd = "/",
		.rows = rows,
		.columns = columns };
	struct hl_buf frame;

	memset(&watch.calls[1], 0, sizeof(watch.calls[1]));
	hl_strv_init(&spawn.argv, 8);
	hl_strv_init(&spawn.env, 8);
	hl_strv_add(&spawn.argv, "bash");
	hl_strv_add(&spawn.argv, "-c");
	hl_strv_add(&spawn.argv, text);
	hl_strv_add(&spawn.env, "PATH=/usr/bin:/bin");
	hl_buf_init(&frame, RUNNER_PAYLOAD_MAX);
	runner_spawn_put(&frame, 1, &spawn);
	launch_send_raw(&watch.launch, frame.data, frame.len);
	hl_buf_done(&frame);
	runner_spawn_done(&spawn);
}

static void
type(const char *text)
{
	watch_send(&watch, 1, RUNNER_STDIN, text, strlen(text));
}

static void
test_terminal(void **state)
{
	const struct watched *call = &watch.calls[1];

	(void)state;
	watch_start(&watch, 0);
	spawn_terminal("tty; stty size; test -t 0 -a -t 1 -a -t 2 && echo all; echo err >&2; "
		       "ps -o tty= -p $$ >/dev/null; ls -l /proc/self/fd | wc -l",
	    24, 80);
	watch_until_closed(&watch, 1);
	assert_string_equal(call->out, "/dev/pts/0\r\n24 80\r\nall\r\nerr\r\n5\r\n");
	assert_int_equal(call->err_len, 0);
	assert_int_equal(call->exit.code, 0);
	/* what is typed, line by line, and its end */
	spawn_terminal("stty -echo; echo on; cat; echo over", 0, 0);
	watch_until_out(&watch, 1, "on");
	type("one\n");
	watch_until_out(&watch, 1, "one\r\n");
	type("two\n");
	watch_send(&watch, 1, RUNNER_STDIN_EOF, NULL, 0);
	watch_until_closed(&watch, 1);
	assert_string_equal(call->out, "on\r\none\r\ntwo\r\nover\r\n");
	/* keys */
	spawn_terminal("trap 'echo int; exit 3' INT; echo on; while :; do sleep 0.05; done", 0, 0);
	watch_until_out(&watch, 1, "on");
	type("\003");
	watch_until_closed(&watch, 1);
	assert_int_equal(call->exit.code, 3);
	/* a signal from the host goes to the foreground */
	spawn_terminal("set -m; trap '' QUIT; (trap 'echo fore; exit 4' QUIT; echo on; "
		       "while :; do sleep 0.05; done); exit $?",
	    0, 0);
	watch_until_out(&watch, 1, "on");
	watch_send(&watch, 1, RUNNER_SIGNAL, "\3\0\0\0", 4);
	watch_until_closed(&watch, 1);
	assert_int_equal(call->exit.code, 4);
	/* the window */
	spawn_terminal("trap 'stty size; exit 5' WINCH; echo on; while :; do sleep 0.05; done", 1,
	    2);
	watch_until_out(&watch, 1, "on");
	watch_send(&watch, 1, RUNNER_RESIZE, "\x28\0\0\0\x64\0\0\0", 8);
	watch_until_closed(&watch, 1);
	assert_int_equal(call->exit.code, 5);
	assert_non_null(strstr(call->out, "40 100"));
	assert_int_equal(watch_end(&watch), 0);
}

/* The last words of a terminal are on their way when its command ends. */
static void
test_terminal_output(void **state)
{
	const struct watched *call = &watch.calls[1];

	(void)state;
	watch_start(&watch, 0);
	for (int i = 0; i < 30; i++) {
		spawn_terminal("stty -onlcr; head -c 20000 /dev/zero; printf last", 0, 0);
		watch_until_closed(&watch, 1);
		assert_int_equal(call->out_len, 20004);
	}
	/* its end is the end of what is on it, or of what ignores that */
	spawn_terminal("trap '' HUP; (trap '' HUP; sleep 60) & echo on; wait", 0, 0);
	watch_until_out(&watch, 1, "on");
	watch_kill(&watch, 1, RUNNER_CANCELLED);
	watch_until_closed(&watch, 1);
	assert_int_equal(call->exit.how, RUNNER_CANCELLED);
	assert_int_equal(watch_end(&watch), 0);
}

/* A command that closes its terminal is not hung up, and can open it again. */
static void
test_terminal_closed(void **state)
{
	const struct watched *call = &watch.calls[1];

	(void)state;
	watch_start(&watch, 0);
	spawn_terminal("exec 0<&- 1>&- 2>&-; sleep 0.2; exit 5", 24, 80);
	watch_until_closed(&watch, 1);
	assert_int_equal(call->exit.how, RUNNER_EXITED);
	assert_int_equal(call->exit.code, 5);
	spawn_terminal("exec 0<&- 1>&- 2>&-; sleep 0.2; head -c 100000 /dev/zero >/dev/tty; exit 6",
	    24, 80);
	watch_until_closed(&watch, 1);
	assert_int_equal(call->exit.code, 6);
	assert_int_equal(call->out_len, 100000);
	assert_int_equal(watch_end(&watch), 0);
}

/* tiocsti: bytes put into the terminal's input, with the filter and without. */
static void
test_terminal_injection(void **state)
{
	const struct watched *call = &watch.calls[1];

	(void)state;
	watch_start(&watch, 0);
	spawn_terminal("/probe ioctl 0x5412", 24, 80);
	watch_until_closed(&watch, 1);
	assert_int_equal(call->exit.code, 1 /* EPERM */);
	spawn_terminal("/probe ioctl 0x100005412", 24, 80);
	watch_until_closed(&watch, 1);
	assert_int_equal(call->exit.code, 1);
	assert_int_equal(watch_end(&watch), 0);
	/* without it the kernel does as it is told, or says EIO where dev.tty.legacy_tiocsti is off
	 */
	launch_lock_full(&watch.lock);
	watch.lock.confinement.flags &= ~(uint32_t)CONFINE_SECCOMP;
	watch.lock.confinement.bpf_len = 0;
	watch_start_locked(&watch, 0);
	spawn_terminal("/probe ioctl 0x5412", 24, 80);
	watch_until_closed(&watch, 1);
	assert_true(call->exit.code == 0 || call->exit.code == 5 /* EIO */);
	assert_int_equal(watch_end(&watch), 0);
}

/* Where no terminal can be had the call does not begin, and others do. */
static void
test_no_terminal(void **state)
{
	(void)state;
	launch_lock_full(&watch.lock);
	launch_remove(&watch.lock, "/dev");
	watch.lock.confinement.rules_len = 0;
	launch_rule(&watch.lock, "/", CONFINE_READ | CONFINE_EXEC);
	watch_start_locked(&watch, 0);
	spawn_terminal("echo ran", 24, 80);
	watch_until_closed(&watch, 1);
	assert_int_equal(watch.calls[1].exit.how, RUNNER_LAUNCHER_ERROR);
	assert_int_equal(watch.calls[1].exit.code, 126);
	assert_string_equal(watch.calls[1].subject, "terminal");
	watch_run(&watch, 2, RUNNER_SPAWN_STDIN, "exit 6");
	assert_int_equal(watch.calls[2].exit.code, 6);
	/* nor is there /dev/null for one without input */
	watch_run(&watch, 2, 0, "exit 6");
	assert_string_equal(watch.calls[2].subject, "/dev/null");
	assert_int_equal(watch_end(&watch), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_state_endings),
		cmocka_unit_test(test_large_state),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_terminal_output),
		cmocka_unit_test(test_terminal_closed),
		cmocka_unit_test(test_terminal_injection),
		cmocka_unit_test(test_no_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
