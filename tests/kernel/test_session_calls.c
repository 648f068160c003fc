/*
 * The bash contract over a real runner, where it is more than a conversation: calls side by side,
 * streams, limits, what is left running, the end.
 */
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/kernel/room.h"
#include "tests/lib/open_fds.h"

static void
test_hermes_8_own_variables_win_and_are_not_kept(void **state)
{
	struct room room;
	struct turn turn;
	struct hl_strv env;

	(void)state;
	room_enter(&room);
	hl_strv_init(&env, 4);
	hl_strv_add(&env, "INHERITED=own");
	hl_strv_add(&env, "ONCE=1");
	room_run(&room, &turn, "export INHERITED=mine");
	turn_done(&turn);
	struct session_request request =
	    room_shell(&room, "echo $INHERITED $ONCE; export ONCE=2 INHERITED=3");
	request.env = &env;
	room_begin(&room, &turn, &request);
	room_wait(&room);
	assert_string_equal(turn.out.data, "own 1\n");
	turn_done(&turn);
	room_run(&room, &turn, "echo $INHERITED ${ONCE-none}");
	assert_string_equal(turn.out.data, "mine none\n");
	turn_done(&turn);
	hl_strv_done(&env);
	room_leave(&room);
}

/* hermes 31, W5: many at once; each begins with the state of its start, all changes are there. */
static void
test_hermes_31_concurrent_calls_merge(void **state)
{
	enum {
		CALLS = 24
	};
	static char commands[CALLS][200];
	struct turn turns[CALLS], turn;
	struct room room;

	(void)state;
	room_enter(&room);
	for (size_t i = 0; i < CALLS; i++) {
		snprintf(commands[i], sizeof(commands[i]),
		    "echo ${V3-none}; sleep 0.$((RANDOM %% 3)); export V%zu=%zu; f%zu() { echo %zu; }; alias a%zu='echo %zu'",
		    i, i, i, i, i, i);
		const struct session_request request = room_shell(&room, commands[i]);
		room_begin(&room, &turns[i], &request);
	}
	room_wait(&room);
	for (size_t i = 0; i < CALLS; i++) {
		assert_string_equal(turns[i].out.data, "none\n");
		assert_int_equal(turns[i].result->state, RUNNER_STATE_KEPT);
		turn_done(&turns[i]);
	}
	room_run(&room, &turn,
	    "for i in {0..23}; do v=V$i; [ \"${!v}\" = $i ] || echo V$i; [ \"$(f$i)\" = $i ] || echo f$i; done; alias | wc -l; echo \"$PATH\"");
	assert_string_equal(turn.out.data, "24\n/usr/bin:/bin\n");
	turn_done(&turn);
	room_leave(&room);
}

static void
test_argv_form_has_no_shell_and_no_state(void **state)
{
	struct room room;
	struct turn turn;
	struct hl_strv argv;

	(void)state;
	room_enter(&room);
	hl_strv_init(&argv, 8);
	hl_strv_add(&argv, "printf");
	hl_strv_add(&argv, "%s|");
	hl_strv_add(&argv, "a b");
	hl_strv_add(&argv, "$x; id");
	const struct session_request request = { .argv = &argv, .state = room.state };
	room_begin(&room, &turn, &request);
	room_wait(&room);
	assert_string_equal(turn.out.data, "a b|$x; id|");
	assert_int_equal(turn.result->state, RUNNER_STATE_NONE);
	turn_done(&turn);
	hl_strv_done(&argv);
	room_leave(&room);
}

static void
test_stdin_reaches_the_whole_command(void **state)
{
	static const char *const bodies[] = { "", "a\n\n", "no newline", "C:\\path $var `x`\n" };
	struct room room;
	struct turn turn;

	(void)state;
	room_enter(&room);
	for (size_t i = 0; i < HL_ARRAY_SIZE(bodies); i++) {
		struct session_request request = room_shell(&room, "cat; echo end");
		char want[100];
		request.flags |= SESSION_CALL_STDIN;
		room_begin(&room, &turn, &request);
		assert_int_equal(session_call_stdin(turn.call, bodies[i], strlen(bodies[i])),
		    strlen(bodies[i]));
		session_call_stdin_end(turn.call);
		room_wait(&room);
		snprintf(want, sizeof(want), "%send\n", bodies[i]);
		assert_string_equal(turn.out.data, want); /* hermes 50, W10 */
		turn_done(&turn);
	}
	room_run(&room, &turn, "cat; [ -c /dev/stdin ] && echo null");
	assert_string_equal(turn.out.data, "null\n");
	turn_done(&turn);
	room_leave(&room);
}

struct feed {
	struct turn turn;
	uint64_t left;
};

static void
on_stdin_room(void *context)
{
	static const char block[65536];
	struct feed *feed = context;

	while (feed->left > 0) {
		size_t n = feed->left < sizeof(block) ? (size_t)feed->left : sizeof(block);
		size_t taken = session_call_stdin(feed->turn.call, block, n);
		if (taken == 0)
			return;
		feed->left -= taken;
	}
	session_call_stdin_end(feed->turn.call);
}

static void
test_stdin_of_any_length(void **state)
{
	struct room room;
	struct feed feed = { .left = 9U << 20 };

	(void)state;
	room_enter(&room);
	struct session_request request = room_shell(&room, "wc -c");
	request.flags |= SESSION_CALL_STDIN;
	request.on_stdin_room = on_stdin_room;
	uint64_t left = feed.left;
	room_begin(&room, &feed.turn, &request);
	feed.left = left;
	on_stdin_room(&feed);
	room_wait(&room);
	assert_string_equal(feed.turn.out.data, "9437184\n");
	turn_done(&feed.turn);
	room_leave(&room);
}

/* hermes 40, W7: how a call ended is a field of its own; the state is kept, other calls go on. */
static void
test_hermes_40_timeout_and_cancel(void **state)
{
	struct room room;
	struct turn slow, other, turn;

	(void)state;
	room_enter(&room);
	struct session_request request =
	    room_shell(&room, "cd /usr; export A=1; sleep 30; echo no");
	request.wall_ms = 300;
	room_begin(&room, &slow, &request);
	request = room_shell(&room, "sleep 0.8; echo other");
	room_begin(&room, &other, &request);
	room_wait(&room);
	assert_int_equal(slow.result->how, RUNNER_TIMED_OUT);
	assert_int_equal(slow.result->status, 124);
	assert_int_equal(slow.out.len, 0);
	assert_int_equal(slow.result->state, RUNNER_STATE_KEPT);
	assert_true(slow.result->wall_ms < 2000);
	assert_string_equal(other.out.data, "other\n");
	assert_int_equal(other.result->how, RUNNER_EXITED);
	turn_done(&slow);
	turn_done(&other);
	room_run(&room, &turn, "echo $A $PWD");
	assert_string_equal(turn.out.data, "1 /usr\n");
	turn_done(&turn);
	request = room_shell(&room, "sleep 30");
	room_begin(&room, &turn, &request);
	session_call_cancel(turn.call);
	room_wait(&room);
	assert_int_equal(turn.result->how, RUNNER_CANCELLED);
	assert_int_equal(turn.result->status, 130);
	turn_done(&turn);
	room_leave(&room);
}

/* U67, hermes 44, W16: a call's own tree ends with it, however it hides, and no other call's. */
static void
test_u67_a_timeout_ends_the_tree(void **state)
{
	struct room room;
	struct turn slow, turn;

	(void)state;
	room_enter(&room);
	room_run(&room, &turn, "sleep 4711 & echo up");
	assert_true(turn.result->has_left);
	turn_done(&turn);
	struct session_request request = room_shell(&room,
	    "trap '' TERM; (setsid sleep 4712 &) ; setsid sleep 4712 & sleep 4712");
	request.wall_ms = 300;
	room_begin(&room, &slow, &request);
	room_wait(&room);
	assert_int_equal(slow.result->how, RUNNER_TIMED_OUT);
	turn_done(&slow);
	room_run(&room, &turn,
	    "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null; echo; done | grep -c '^sleep 471[12]'");
	assert_string_equal(turn.out.data, "1\n");
	turn_done(&turn);
	room_leave(&room);
}

/* hermes 46: no other directory is taken for one that is gone, and nothing is started. */
static void
test_cwd_that_is_missing_is_hlb_05(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	room_enter(&room);
	struct session_request request = room_shell(&room, "echo ran >/tmp/ran");
	request.cwd = "/no/such";
	room_begin(&room, &turn, &request);
	room_wait(&room);
	assert_int_equal(turn.result->how, RUNNER_LAUNCHER_ERROR);
	assert_int_equal(turn.result->status, 126);
	assert_int_equal(turn.result->err.code, HLB_05);
	assert_string_equal(turn.result->err.msg,
	    "cannot start in '/no/such': No such file or directory");
	assert_false(turn.result->was_started);
	turn_done(&turn);
	room_run(&room, &turn, "ls /tmp; mkdir /tmp/d; cd /tmp/d; rmdir /tmp/d");
	assert_string_equal(turn.out.data, "");
	assert_int_equal(turn.result->state, RUNNER_STATE_KEPT);
	turn_done(&turn);
	room_run(&room, &turn, "echo ran"); /* the directory of the state is gone */
	assert_int_equal(turn.result->status, 126);
	turn_done(&turn);
	struct hl_err err;
	assert_int_equal(session_state_set_cwd(room.state, "/tmp", &err), 0);
	room_run(&room, &turn, "pwd");
	assert_string_equal(turn.out.data, "/tmp\n");
	turn_done(&turn);
	room_leave(&room);
}

/* hermes 35: without a bash a call says so, and the session is there for the next. */
static void
test_no_bash_is_hlb_15(void **state)
{
	struct room room;
	struct turn turn;
	struct hl_strv env;

	(void)state;
	room_enter(&room);
	hl_strv_init(&env, 2);
	hl_strv_add(&env, "PATH=/nowhere");
	struct session_request request = room_shell(&room, "true");
	request.env = &env;
	room_begin(&room, &turn, &request);
	room_wait(&room);
	assert_int_equal(turn.result->status, 127);
	assert_int_equal(turn.result->err.code, HLB_15);
	turn_done(&turn);
	room_run(&room, &turn, "echo on");
	assert_string_equal(turn.out.data, "on\n");
	turn_done(&turn);
	hl_strv_done(&env);
	room_leave(&room);
}

/* U68, hermes W8: what a background child writes later is not lost, and it can be ended. */
static void
test_u68_late_output_is_in_the_background_log(void **state)
{
	struct room room;
	struct turn turn;
	char text[100];
	uint64_t ids[4], offset;

	(void)state;
	room_enter(&room);
	room_run(&room, &turn, "(sleep 0.5; echo late; sleep 60) & echo now");
	assert_string_equal(turn.out.data, "now\n");
	assert_true(turn.result->wall_ms < 500);
	assert_true(turn.result->has_left);
	assert_int_equal(session_left(room.session, ids, 4), 1);
	assert_int_equal(ids[0], turn.result->id);
	turn_done(&turn);
	room_run(&room, &turn, "sleep 1");
	turn_done(&turn);
	size_t n = session_background(room.session, 0, text, sizeof(text), &offset);
	assert_int_equal(n, 5);
	assert_memory_equal(text, "late\n", 5);
	assert_true(session_left_end(room.session, ids[0]));
	room_run(&room, &turn, "sleep 0.3");
	turn_done(&turn);
	assert_int_equal(session_left(room.session, ids, 4), 0);
	assert_false(session_left_end(room.session, ids[0]));
	room_leave(&room);
}

/* U14: the same policy for the first call and for later ones. */
static void
test_u14_every_call_sees_the_same_environment(void **state)
{
	struct room room;
	struct turn first, turn;

	(void)state;
	room_enter(&room);
	room_run(&room, &first, "env | sort");
	for (int i = 0; i < 2; i++) {
		room_run(&room, &turn, "env | sort");
		assert_string_equal(turn.out.data, first.out.data);
		turn_done(&turn);
	}
	room_run(&room, &turn, "env | sort & wait");
	assert_string_equal(turn.out.data, first.out.data);
	turn_done(&turn);
	assert_non_null(strstr(first.out.data, "TOKEN=S3CRET-777\n"));
	turn_done(&first);
	room_leave(&room);
}

/* U17, hermes W4: no value is in any file or argument of the sandbox. */
static void
test_u17_no_value_is_in_a_file(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	room_enter(&room);
	room_run(&room, &turn, "export OTHER=S3CRET-778; f() { :; }");
	turn_done(&turn);
	room_run(&room, &turn,
	    "grep -rlE 'S3CRET-77[78]' /tmp /dev/shm 2>/dev/null; "
	    "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -cE 'S3CRET-77[78]'; "
	    "readlink /proc/self/fd/* | grep -c memfd");
	assert_string_equal(turn.out.data, "0\n0\n");
	turn_done(&turn);
	/* The sibling: where they are, they are found. */
	room_run(&room, &turn,
	    "echo $OTHER >/tmp/other; sh -c 'sleep 20; :' $OTHER & until tr '\\0' '\\n' "
	    "</proc/$!/cmdline | grep -qE 'S3CRET-77[78]'; do sleep 0.1; done; "
	    "grep -rlE 'S3CRET-77[78]' /tmp /dev/shm 2>/dev/null; "
	    "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -cE 'S3CRET-77[78]'; kill $!");
	assert_string_equal(turn.out.data, "/tmp/other\n1\n");
	turn_done(&turn);
	room_leave(&room);
}

static void
test_too_many_calls_are_hlb_10(void **state)
{
	static struct turn turns[RUNNER_CALLS_MAX];
	struct room room;
	struct session_call *call;
	struct hl_err err;

	(void)state;
	room_enter(&room);
	const struct session_request request = room_shell(&room, "sleep 0.2");
	for (size_t i = 0; i < RUNNER_CALLS_MAX; i++)
		room_begin(&room, &turns[i], &request);
	assert_int_equal(session_call(room.session, &request, &call, &err), -1);
	assert_int_equal(err.code, HLB_10);
	room_wait(&room);
	for (size_t i = 0; i < RUNNER_CALLS_MAX; i++) {
		assert_int_equal(turns[i].result->status, 0);
		turn_done(&turns[i]);
	}
	room_run(&room, &turns[0], "echo again");
	assert_string_equal(turns[0].out.data, "again\n");
	turn_done(&turns[0]);
	room_leave(&room);
}

static void
test_close_ends_calls_as_cancelled(void **state)
{
	struct room room;
	struct turn turn;
	struct session_call *call;
	struct hl_err err;

	(void)state;
	room_enter(&room);
	const struct session_request request = room_shell(&room, "sleep 60");
	room_begin(&room, &turn, &request);
	session_close(room.session);
	assert_int_equal(session_call(room.session, &request, &call, &err), -1);
	assert_int_equal(err.code, HLB_12);
	room_wait(&room);
	assert_int_equal(turn.result->how, RUNNER_CANCELLED);
	assert_int_equal(turn.result->status, 130);
	turn_done(&turn);
	room_leave(&room);
}

static void
test_terminal(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	room_enter(&room);
	struct session_request request = room_shell(&room, "tty; stty size; export A=1");
	request.flags |= SESSION_CALL_PTY;
	request.rows = 11;
	request.columns = 77;
	room_begin(&room, &turn, &request);
	room_wait(&room);
	assert_non_null(strstr(turn.out.data, "/dev/pts/"));
	assert_non_null(strstr(turn.out.data, "11 77"));
	turn_done(&turn);
	room_run(&room, &turn, "echo $A");
	assert_string_equal(turn.out.data, "1\n");
	turn_done(&turn);
	room_leave(&room);
}

static void
test_spill_file(void **state)
{
	char dir[] = "/tmp/test_session.XXXXXX";
	struct session_config config = { 0 };
	struct room room;
	struct turn turn;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	config.spill_dir = dir;
	room_enter_with(&room, &config);
	room_run(&room, &turn, "seq 1 20000");
	assert_non_null(turn.result->spill);
	assert_false(turn.result->out.is_capped);
	assert_int_equal(stat(turn.result->spill, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, turn.result->out.total);
	assert_int_equal(unlink(turn.result->spill), 0);
	turn_done(&turn);
	room_run(&room, &turn, "echo short");
	assert_null(turn.result->spill);
	turn_done(&turn);
	room_leave(&room);
	assert_int_equal(rmdir(dir), 0);
}

/* A hundred calls, one after the other: no descriptor is left behind on our side. */
static void
test_hundred_calls_leave_nothing(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	room_enter(&room);
	room_run(&room, &turn, "export N=0");
	turn_done(&turn);
	size_t before = open_fds();
	for (int i = 0; i < 100; i++) {
		room_run(&room, &turn, "export N=$((N + 1))");
		assert_int_equal(turn.result->state, RUNNER_STATE_KEPT);
		turn_done(&turn);
	}
	assert_int_equal(open_fds(), before);
	room_run(&room, &turn,
	    "echo $N; ls /proc/self/fd | wc -l; grep -c '^State:.Z' /proc/[0-9]*/status | grep -vc ':0'");
	assert_string_equal(turn.out.data, "100\n4\n0\n");
	turn_done(&turn);
	room_leave(&room);
}

/* As execvp(3): one that may not be run is passed over for one that may, and the call has run. */
static void
test_a_name_is_looked_up_past_what_may_not_be_run(void **state)
{
	struct hl_strv argv, env;
	struct room room;
	struct turn turn;

	(void)state;
	room_enter(&room);
	room_run(&room, &turn,
	    "mkdir a b; cp /bin/echo a/tool; cp a/tool b; cp a/tool a/only; chmod 644 a/*");
	turn_done(&turn);
	hl_strv_init(&argv, 4);
	hl_strv_init(&env, 4);
	hl_strv_add(&env, "PATH=/tmp/a:/tmp/b");
	hl_strv_add(&argv, "tool");
	hl_strv_add(&argv, "ran");
	struct session_request request = { .argv = &argv, .env = &env };
	room_begin(&room, &turn, &request);
	room_wait(&room);
	assert_string_equal(turn.out.data, "ran\n");
	assert_int_equal(turn.result->how, RUNNER_EXITED);
	assert_int_equal(turn.result->status, 0);
	turn_done(&turn);
	/* And where there is no other it is refused for its rights, not as absent. */
	hl_strv_done(&argv);
	hl_strv_init(&argv, 4);
	hl_strv_add(&argv, "only");
	room_begin(&room, &turn, &request);
	room_wait(&room);
	assert_int_equal(turn.result->how, RUNNER_LAUNCHER_ERROR);
	assert_int_equal(turn.result->status, 126);
	turn_done(&turn);
	hl_strv_done(&argv);
	hl_strv_done(&env);
	room_leave(&room);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hermes_8_own_variables_win_and_are_not_kept),
		cmocka_unit_test(test_hermes_31_concurrent_calls_merge),
		cmocka_unit_test(test_argv_form_has_no_shell_and_no_state),
		cmocka_unit_test(test_stdin_reaches_the_whole_command),
		cmocka_unit_test(test_stdin_of_any_length),
		cmocka_unit_test(test_hermes_40_timeout_and_cancel),
		cmocka_unit_test(test_u67_a_timeout_ends_the_tree),
		cmocka_unit_test(test_cwd_that_is_missing_is_hlb_05),
		cmocka_unit_test(test_no_bash_is_hlb_15),
		cmocka_unit_test(test_u68_late_output_is_in_the_background_log),
		cmocka_unit_test(test_u14_every_call_sees_the_same_environment),
		cmocka_unit_test(test_u17_no_value_is_in_a_file),
		cmocka_unit_test(test_too_many_calls_are_hlb_10),
		cmocka_unit_test(test_close_ends_calls_as_cancelled),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_spill_file),
		cmocka_unit_test(test_hundred_calls_leave_nothing),
		cmocka_unit_test(test_a_name_is_looked_up_past_what_may_not_be_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
