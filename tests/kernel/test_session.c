/*
 * The bash contract over a real runner in a real sandbox: what a call may rely on. Each table row
 * is a conversation: commands one after the other in one session, and what each must come to. Names
 * of cases begin with the number of the case that they are about.
 */
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/session.h"
#include "tests/kernel/launch.h"

enum {
	WINDOW = 50000,
	PATIENCE_MS = 20000
};

struct room {
	struct launch launch;
	struct sandbox sandbox;
	struct hl_loop *loop;
	struct session *session;
	struct session_state *state;
	struct hl_strv env;
	struct hl_source *alarm;
	struct hl_err closed;
	bool is_closed;
	size_t running;
};

/* One call, and what became of it. */
struct turn {
	struct room *room;
	struct session_call *call;
	struct session_result *result;
	struct hl_buf out, err_out; /* everything, also past the window */
	bool has_ended;
};

static void
on_late(void *context, uint32_t events)
{
	(void)context;
	(void)events;
	fail_msg("the test took too long");
}

static void
on_closed(void *context, const struct hl_err *err)
{
	struct room *room = context;

	room->closed = *err;
	room->is_closed = true;
	hl_loop_stop(room->loop);
}

static void
on_output(void *context, int stream, const char *bytes, size_t len)
{
	struct turn *turn = context;

	hl_buf_put(stream == 1 ? &turn->out : &turn->err_out, bytes, len);
}

static void
on_end(void *context, struct session_result *result)
{
	struct turn *turn = context;

	turn->result = result;
	turn->has_ended = true;
	if (--turn->room->running == 0)
		hl_loop_stop(turn->room->loop);
}

static void
enter_with(struct room *room, const struct session_config *extra)
{
	struct session_config config = *extra;
	struct launch_lock lock;
	struct hl_err err = { 0 };

	memset(room, 0, sizeof(*room));
	launch_lock_full(&lock);
	launch_start(&room->launch, 0);
	room->sandbox = (struct sandbox){ .stream = room->launch.to, .pidfd = -1 };
	hl_buf_init(&room->sandbox.lock, RUNNER_PAYLOAD_MAX);
	assert_int_equal(confine_encode(&lock.confinement, &room->sandbox.lock, &err), 0);
	hl_strv_init(&room->env, 16);
	hl_strv_add(&room->env, "PATH=/usr/bin:/bin");
	hl_strv_add(&room->env, "HOME=/tmp");
	hl_strv_add(&room->env, "INHERITED=1");
	hl_strv_add(&room->env, "TOKEN=S3CRET-777");
	assert_int_equal(hl_loop_new(&room->loop, &err), 0);
	config.loop = room->loop;
	config.sandbox = &room->sandbox;
	config.env = &room->env;
	config.cwd = "/tmp";
	config.umask = 022;
	config.output_bytes = WINDOW;
	config.on_closed = on_closed;
	config.context = room;
	assert_int_equal(session_open(&config, &room->session, &err), 0);
	assert_int_equal(session_state_new("/tmp", &room->state, &err), 0);
	const struct hl_watch late = { .fd = -1,
		.when_ms = hl_now_mono_ms() + PATIENCE_MS,
		.fn = on_late };
	assert_int_equal(hl_loop_add(room->loop, &late, &room->alarm, &err), 0);
}

static void
enter(struct room *room)
{
	const struct session_config plain = { 0 };

	enter_with(room, &plain);
}

static void
leave(struct room *room)
{
	struct hl_err err;

	if (!room->is_closed) {
		session_close(room->session);
		assert_int_equal(hl_loop_run(room->loop, &err), 0);
		assert_int_equal(room->closed.code, HL_OK);
	}
	assert_true(room->is_closed);
	session_free(room->session);
	session_state_free(room->state);
	hl_source_remove(room->alarm);
	hl_loop_free(room->loop);
	hl_strv_done(&room->env);
	hl_buf_done(&room->sandbox.lock);
	launch_end(&room->launch);
}

static void
begin(struct room *room, struct turn *turn, const struct session_request *asked)
{
	struct session_request request = *asked;
	struct hl_err err = { 0 };

	memset(turn, 0, sizeof(*turn));
	turn->room = room;
	hl_buf_init(&turn->out, 64U << 20);
	hl_buf_init(&turn->err_out, 64U << 20);
	if (request.on_output == NULL)
		request.on_output = on_output;
	request.on_end = on_end;
	request.context = turn;
	if (session_call(room->session, &request, &turn->call, &err) != 0)
		fail_msg("%s", err.msg);
	room->running++;
}

static void
wait_all(struct room *room)
{
	struct hl_err err;

	if (room->running > 0)
		assert_int_equal(hl_loop_run(room->loop, &err), 0);
	assert_int_equal(room->running, 0);
}

static void
done(struct turn *turn)
{
	hl_buf_done(&turn->out);
	hl_buf_done(&turn->err_out);
	session_call_free(turn->call);
}

static struct session_request
shell(struct room *room, const char *command)
{
	return (struct session_request){ .flags = SESSION_CALL_SHELL,
		.command = command,
		.state = room->state };
}

static void
run(struct room *room, struct turn *turn, const char *command)
{
	const struct session_request request = shell(room, command);

	begin(room, turn, &request);
	wait_all(room);
}

/* ------------------------------------------------------------------------------------------------
 * Conversations
 */
struct line {
	const char *command;
	int status;
	const char *out; /* NULL = not looked at */
	const char *err_out;
	bool is_lost; /* the state */
	uint32_t flags;
};

struct talk {
	const char *name;
	struct line lines[8];
};

static const struct talk talks[] = {
	{ "hermes 1: output is what was written",
	    { { "printf hello", 0, "hello", "", false, 0 } } },
	{ "hermes 2: nothing is added", { { "echo hello", 0, "hello\n", "", false, 0 } } },
	{ "hermes 4: only what is exported is kept",
	    { { "export A=1; B=2", 0, "", "", false, 0 },
		{ "echo \"$A|$B\"", 0, "1|\n", "", false, 0 } } },
	{ "hermes 5: functions and aliases are kept",
	    { { "f() { echo f; }; __h() { echo h; }; _g() { echo g; }; a-b() { echo ab; }; "
		"alias ll='echo alias'",
		  0, "", "", false, 0 },
		{ "f; __h; _g; a-b; ll x", 0, "f\nh\ng\nab\nalias x\n", "", false, 0 },
		{ "unset -f f; unalias ll", 0, "", "", false, 0 }, { "f", 127, "", NULL, false, 0 },
		{ "__h; ll", 127, "h\n", NULL, false, 0 } } },
	{ "hermes 7: what was unset stays unset",
	    { { "unset INHERITED", 0, "", "", false, 0 },
		{ "echo ${INHERITED-gone}; env | grep -c ^INHERITED=", 1, "gone\n0\n", "", false,
		    0 } } },
	{ "hermes 10: a failing set -e loses nothing",
	    { { "export A=1; cd /usr && set -e; false; echo after", 1, "", "", false, 0 },
		{ "echo $A $PWD; false; echo on", 0, "1 /usr\non\n", "", false, 0 } } },
	{ "hermes W1: exit loses nothing", { { "export A=1; cd /usr; exit 7", 7, "", "", false, 0 },
					       { "echo $A $PWD", 0, "1 /usr\n", "", false, 0 } } },
	{ "hermes 11: exec loses the state, and it is said",
	    { { "export Z=8", 0, "", "", false, 0 },
		{ "export Z=9; exec true", 0, "", "", true, 0 },
		{ "echo $Z", 0, "8\n", "", false, 0 } } },
	{ "hermes 13: SIGKILL of the shell loses the state, and it is said",
	    { { "cd /usr; kill -9 $$", 137, "", "", true, 0 },
		{ "pwd", 0, "/tmp\n", "", false, 0 } } },
	{ "hermes W1: a TERM of the shell loses nothing",
	    { { "cd /usr; export A=1; kill -TERM $$; sleep 5", 143, "", NULL, false, 0 },
		{ "echo $A $PWD", 0, "1 /usr\n", "", false, 0 } } },
	{ "hermes 14: values survive byte for byte",
	    { { "export N=$'a\\nb' Q=\"it's \\\"q\\\" \\$x \\`y\\` \\\\\" U=$'\\xff\\xfe\\001\\177' W='日本' E=",
		  0, "", "", false, 0 },
		{ "printf '%s|' \"$N\" \"$Q\" \"$U\" \"$W\" \"${E-unset}\"", 0,
		    "a\nb|it's \"q\" $x `y` \\|\xff\xfe\001\177|\xe6\x97\xa5\xe6\x9c\xac||", "",
		    false, 0 },
		{ "printf '%s|' \"$N\" \"$U\"", 0, "a\nb|\xff\xfe\001\177|", "", false, 0 } } },
	{ "hermes 16: there is no marker in the output to be forged",
	    { { "cd /usr; printf '__HERMES_CWD__/evil__HERMES_CWD__\\n'", 0,
		  "__HERMES_CWD__/evil__HERMES_CWD__\n", "", false, 0 },
		{ "pwd", 0, "/usr\n", "", false, 0 } } },
	{ "hermes 19: of a readonly variable the value is kept",
	    { { "declare -rx RO=1", 0, "", "", false, 0 },
		{ "echo $RO; RO=2; echo $RO", 0, "1\n2\n", "", false, 0 } } },
	{ "hermes 20: options are off again",
	    { { "set -u; shopt -s nullglob; set -f", 0, "", "", false, 0 },
		{ "echo \"$nope\"; shopt -q nullglob || echo off; echo /usr/bi*", 0,
		    "\noff\n/usr/bin\n", "", false, 0 } } },
	{ "options are kept when asked for",
	    { { "set -f; set -o pipefail; shopt -s nullglob extglob; shopt -u sourcepath", 0, "",
		  "", false, SESSION_CALL_OPTIONS },
		{ "echo /usr/bi*; false | true; echo $?; shopt -q nullglob extglob && echo on; "
		  "shopt -q sourcepath || echo off; [[ -v IFS ]] && echo \"${#IFS}\"",
		    0, "/usr/bi*\n1\non\noff\n3\n", "", false, SESSION_CALL_OPTIONS },
		{ "false | true; echo $?", 0, "0\n", "", false, 0 },
		{ "set -e", 0, "", "", false, SESSION_CALL_OPTIONS },
		{ "false; echo not", 1, "", "", false, SESSION_CALL_OPTIONS },
		{ "set +e; set -n", 0, "", "", true, SESSION_CALL_OPTIONS },
		{ "false || true; echo back", 0, "back\n", "", false, SESSION_CALL_OPTIONS } } },
	{ "hermes 22: a syntax error is bash's own 2, and loses nothing",
	    { { "export A=1", 0, "", "", false, 0 }, { "echo 'open", 2, "", NULL, false, 0 },
		{ "echo $A", 0, "1\n", "", false, 0 } } },
	{ "hermes 23: a here-document works",
	    { { "cat <<E\na\n  $((1+1))\nE", 0, "a\n  2\n", "", false, 0 } } },
	{ "hermes 25: quotes reach bash as they are",
	    { { "echo 'hello world' \"it's\" \\\\ \\$x", 0, "hello world it's \\ $x\n", "", false,
		0 } } },
	{ "hermes 49, U68: a background child does not hold the call",
	    { { "true && sleep 20 & echo s", 0, "s\n", "", false, 0 } } },
	{ "hermes W10: the text is not rewritten",
	    { { "A=1 && B=2 & wait; echo \"[$A$B]\"; x='a && b &'; echo \"$x\"", 0,
		"[]\na && b &\n", "", false, 0 } } },
	{ "an EXIT trap of the user's is chained",
	    { { "trap 'echo bye $?; cd /usr' EXIT; export A=1; exit 3", 3, "bye 3\n", "", false,
		  0 },
		{ "echo $A $PWD; trap -p", 0, "1 /usr\n", "", false, 0 },
		{ "trap 'echo bye; export A=2; exit 9' EXIT; cd /; (exit 3)", 9, "bye\n", "", false,
		    0 },
		{ "echo $A $PWD", 0, "1 /\n", "", false, 0 } } },
	{ "an EXIT trap of the user's can be taken back",
	    { { "trap 'echo no' EXIT; trap - EXIT; cd /usr", 0, "", "", false, 0 },
		{ "trap 'echo no' 0; trap '' EXIT; trap -p; pwd", 0, "trap -- '' EXIT\n/usr\n", "",
		    false, 0 } } },
	{ "EXIT traps of subshells are bash's own",
	    { { "(trap 'echo sub' EXIT); x=$(trap 'echo cs' EXIT; echo in); echo $x; "
		"trap 'echo main' EXIT; { trap 'echo bg' EXIT; } & wait",
		0, "sub\nin cs\nbg\nmain\n", "", false, 0 } } },
	{ "an EXIT trap with set -e, set -u and a syntax error",
	    { { "set -e; trap 'echo bye $?' EXIT; cd /usr; false", 1, "bye 1\n", "", false, 0 },
		{ "set -u; trap 'echo bye' EXIT; cd /; echo $nope", 127, "bye\n", NULL, false, 0 },
		{ "trap 'if' EXIT; cd /usr", 0, "", NULL, false, 0 },
		{ "pwd", 0, "/usr\n", "", false, 0 } } },
	{ "other traps work as ever",
	    { { "f() { trap 'echo ret' RETURN; echo in; }; f; trap - RETURN; f() { :; }; f; echo out",
		  0, "in\nret\nout\n", "", false, 0 },
		{ "trap 'echo err' ERR; false; trap - ERR; false; echo ok", 0, "err\nok\n", "",
		    false, 0 },
		{ "trap 'echo dbg' DEBUG; echo 1; trap - DEBUG; echo 2", 0, "dbg\n1\ndbg\n2\n", "",
		    false, 0 },
		{ "trap 'echo usr' USR1; kill -USR1 $$; trap; trap nosuch 2>/dev/null || echo bad",
		    0, "usr\ntrap -- 'echo usr' SIGUSR1\nbad\n", "", false, 0 } } },
	{ "tracing shows the command's own lines",
	    { { "set -x; true", 0, "", "+ true\n", false, 0 },
		{ "set -x; trap 'echo b' INT; true", 0, "", "+ trap 'echo b' INT\n+ true\n", false,
		    0 } } },
	{ "a DEBUG trap is not seen at the end",
	    { { "set -T; trap 'echo dbg >&2' DEBUG; echo x; trap - DEBUG", 0, "x\n", NULL, false,
		0 } } },
	{ "POSIX mode and POSIXLY_CORRECT",
	    { { "set -o posix; cd /usr; export A=1", 0, "", "", false, 0 },
		{ "echo $A $PWD; export POSIXLY_CORRECT=y", 0, "1 /usr\n", "", false, 0 },
		{ "f() { echo f; }; export A=2; [[ -o posix ]] && echo posix", 0, "posix\n", "",
		    false, 0 },
		{ "f; echo $A; unset POSIXLY_CORRECT", 0, "f\n2\n", "", false, 0 },
		{ "[[ -o posix ]] || echo bash", 0, "bash\n", "", false, 0 } } },
	{ "exported functions stay exported",
	    { { "f() { echo \"f $1\"; }; export -f f", 0, "", "", false, 0 },
		{ "bash -c 'f in'", 0, "f in\n", "", false, 0 } } },
	{ "functions of every shape come back",
	    { { "a() ( echo sub; )\nb() { cat <<E\n}\nc () \n{ \nE\n}\nc() { echo c; } 2>&1\n"
		"d() for i in 1 2; do echo $i; done\nfunction e+f { echo ef; }\n"
		"g() { case $1 in +(x|y)) echo xy;; esac; }",
		  2, "", NULL, false, 0 },
		{ "shopt -s extglob\na() ( echo sub; )\nb() { cat <<E\n}\nc () \n{ \nE\n}\nc() { echo c; } 2>&1\n"
		  "d() for i in 1 2; do echo $i; done\nfunction e+f { echo ef; }\n"
		  "g() { case $1 in +(x|y)) echo xy;; esac; }",
		    0, "", "", false, 0 },
		{ "a; b; c; d; e+f; shopt -q extglob || echo off; shopt -s extglob; g xyx", 0,
		    "sub\n}\nc () \n{ \nc\n1\n2\nef\noff\nxy\n", "", false, 0 } } },
	{ "an alias does not get into a function",
	    { { "alias echo='echo aliased'; f() { echo x; }", 0, "", "", false, 0 },
		{ "f; echo y", 0, "x\naliased y\n", "", false, 0 },
		{ "f; \\echo z", 0, "x\nz\n", "", false, 0 } } },
	{ "a user's own functions and aliases of builtins do no harm",
	    { { "alias export='echo no' pwd='echo no' printf='echo no'; cd() { builtin cd \"$@\"; "
		"}; declare() { echo no; }; shopt() { echo no; }; eval() { echo no; }",
		  0, "", "", false, 0 },
		{ "cd /usr; \\export A=1", 0, "", "", false, 0 },
		{ "echo $A; \\pwd", 0, "1\n/usr\n", "", false, 0 } } },
	{ "cd - and symbolic links",
	    { { "ln -s /usr/share /tmp/l; cd /tmp/l; pwd", 0, "/tmp/l\n", "", false, 0 },
		{ "pwd; pwd -P; cd -", 0, "/tmp/l\n/usr/share\n/tmp\n", "", false, 0 },
		{ "PWD=/lie; cd /usr; PWD=/lie", 0, "", "", false, 0 },
		{ "pwd; rm /tmp/l", 0, "/usr\n", "", false, 0 } } },
	{ "descriptor 99 used by the command: its file stays its own, the state is lost",
	    { { "exec 99>/tmp/f; cd /usr", 0, "", "", true, 0 },
		{ "pwd; wc -c </tmp/f", 0, "/tmp\n0\n", "", false, 0 },
		{ "exec 99>&-; cd /usr", 0, "", "", true, 0 },
		{ "echo forged >&99; cd /usr", 0, "", "", true, 0 },
		{ "pwd", 0, "/tmp\n", "", false, 0 } } },
	{ "arrays, references and unexported variables are not kept",
	    { { "declare -ax R=(1 2); declare -Ax M=([a]=b); declare -x S=1; T=2", 0, "", "", false,
		  0 },
		{ "echo \"${R-no} ${M-no} $S ${T-no}\"", 0, "no no 1 no\n", "", false, 0 } } },
	{ "traps, umask, ulimit and jobs are not kept",
	    { { "trap 'echo t' USR1; umask 077; ulimit -n 32; sleep 20 &", 0, "", "", false, 0 },
		{ "trap; umask; [ $(ulimit -n) != 32 ] && jobs", 0, "0022\n", "", false, 0 } } },
	{ "a nested bash has no trace of ours",
	    { { "bash -c 'declare -F; trap -p; echo ${BASH_ENV-none}'; env | grep -c -e __hl -e BASH_ENV",
		1, "none\n0\n", "", false, 0 } } },
	{ "set -a exports nothing of ours",
	    { { "set -a; X=1; trap 'env | grep -c __hl_f' EXIT", 0, "0\n", "", false, 0 },
		{ "echo $X; env | grep -c __hl", 1, "1\n0\n", "", false, 0 } } },
	{ "U73: the command's own 124 to 127 are its own",
	    { { "exit 124", 124, "", "", false, 0 }, { "exit 125", 125, "", "", false, 0 },
		{ "no-such-program", 127, "", NULL, false, 0 },
		{ ": >/tmp/x; /tmp/x", 126, "", NULL, false, 0 } } },
	{ "an oversized state is lost, the session goes on",
	    { { "export A=1", 0, "", "", false, 0 },
		{ "export B=2 BIG=$(head -c 100000 /dev/zero | tr '\\0' x)", 0, "", "", true, 0 },
		{ "echo $A ${B-none} ${#BIG}", 0, "1 none 0\n", "", false, 0 },
		{ "export B=$(head -c 3000000 /dev/zero | tr '\\0' x); cd /usr", 0, "", "", true,
		    0 },
		{ "echo $A; pwd", 0, "1\n/tmp\n", "", false, 0 } } },
};

static void
check_line(const struct talk *talk, size_t number, const struct turn *turn)
{
	const struct line *line = &talk->lines[number];
	const struct session_result *result = turn->result;
	bool is_lost = result->state == RUNNER_STATE_LOST;

	if (result->status == line->status && is_lost == line->is_lost &&
	    (line->out == NULL || strcmp(turn->out.data, line->out) == 0) &&
	    (line->err_out == NULL || strcmp(turn->err_out.data, line->err_out) == 0))
		return;
	fail_msg(
	    "%s\n  line %zu: %s\n  status %d (want %d), state %s\n  out [%s]\n  err [%s]\n  %s %s",
	    talk->name, number + 1, line->command, result->status, line->status,
	    is_lost ? "lost" : "kept", turn->out.data, turn->err_out.data, result->err.msg,
	    result->state_note != NULL ? result->state_note : "");
}

static void
converse(void **state)
{
	const struct talk *talk = *state;
	struct room room;
	struct turn turn;

	enter(&room);
	for (size_t i = 0; i < HL_ARRAY_SIZE(talk->lines) && talk->lines[i].command != NULL; i++) {
		struct session_request request = shell(&room, talk->lines[i].command);
		request.flags |= talk->lines[i].flags;
		begin(&room, &turn, &request);
		wait_all(&room);
		check_line(talk, i, &turn);
		done(&turn);
	}
	leave(&room);
}

/* ------------------------------------------------------------------------------------------------
 * What is more than a conversation
 */
static void
test_hermes_8_own_variables_win_and_are_not_kept(void **state)
{
	struct room room;
	struct turn turn;
	struct hl_strv env;

	(void)state;
	enter(&room);
	hl_strv_init(&env, 4);
	hl_strv_add(&env, "INHERITED=own");
	hl_strv_add(&env, "ONCE=1");
	run(&room, &turn, "export INHERITED=mine");
	done(&turn);
	struct session_request request =
	    shell(&room, "echo $INHERITED $ONCE; export ONCE=2 INHERITED=3");
	request.env = &env;
	begin(&room, &turn, &request);
	wait_all(&room);
	assert_string_equal(turn.out.data, "own 1\n");
	done(&turn);
	run(&room, &turn, "echo $INHERITED ${ONCE-none}");
	assert_string_equal(turn.out.data, "mine none\n");
	done(&turn);
	hl_strv_done(&env);
	leave(&room);
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
	enter(&room);
	for (size_t i = 0; i < CALLS; i++) {
		snprintf(commands[i], sizeof(commands[i]),
		    "echo ${V3-none}; sleep 0.$((RANDOM %% 3)); export V%zu=%zu; f%zu() { echo %zu; }; alias a%zu='echo %zu'",
		    i, i, i, i, i, i);
		const struct session_request request = shell(&room, commands[i]);
		begin(&room, &turns[i], &request);
	}
	wait_all(&room);
	for (size_t i = 0; i < CALLS; i++) {
		assert_string_equal(turns[i].out.data, "none\n");
		assert_int_equal(turns[i].result->state, RUNNER_STATE_KEPT);
		done(&turns[i]);
	}
	run(&room, &turn,
	    "for i in {0..23}; do v=V$i; [ \"${!v}\" = $i ] || echo V$i; [ \"$(f$i)\" = $i ] || echo f$i; done; alias | wc -l; echo \"$PATH\"");
	assert_string_equal(turn.out.data, "24\n/usr/bin:/bin\n");
	done(&turn);
	leave(&room);
}

static void
test_argv_form_has_no_shell_and_no_state(void **state)
{
	struct room room;
	struct turn turn;
	struct hl_strv argv;

	(void)state;
	enter(&room);
	hl_strv_init(&argv, 8);
	hl_strv_add(&argv, "printf");
	hl_strv_add(&argv, "%s|");
	hl_strv_add(&argv, "a b");
	hl_strv_add(&argv, "$x; id");
	const struct session_request request = { .argv = &argv, .state = room.state };
	begin(&room, &turn, &request);
	wait_all(&room);
	assert_string_equal(turn.out.data, "a b|$x; id|");
	assert_int_equal(turn.result->state, RUNNER_STATE_NONE);
	done(&turn);
	hl_strv_done(&argv);
	leave(&room);
}

static void
test_stdin_reaches_the_whole_command(void **state)
{
	static const char *const bodies[] = { "", "a\n\n", "no newline", "C:\\path $var `x`\n" };
	struct room room;
	struct turn turn;

	(void)state;
	enter(&room);
	for (size_t i = 0; i < HL_ARRAY_SIZE(bodies); i++) {
		struct session_request request = shell(&room, "cat; echo end");
		char want[100];
		request.flags |= SESSION_CALL_STDIN;
		begin(&room, &turn, &request);
		assert_int_equal(session_call_stdin(turn.call, bodies[i], strlen(bodies[i])),
		    strlen(bodies[i]));
		session_call_stdin_end(turn.call);
		wait_all(&room);
		snprintf(want, sizeof(want), "%send\n", bodies[i]);
		assert_string_equal(turn.out.data, want); /* hermes 50, W10 */
		done(&turn);
	}
	run(&room, &turn, "cat; [ -c /dev/stdin ] && echo null");
	assert_string_equal(turn.out.data, "null\n");
	done(&turn);
	leave(&room);
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
	enter(&room);
	struct session_request request = shell(&room, "wc -c");
	request.flags |= SESSION_CALL_STDIN;
	request.on_stdin_room = on_stdin_room;
	uint64_t left = feed.left;
	begin(&room, &feed.turn, &request);
	feed.left = left;
	on_stdin_room(&feed);
	wait_all(&room);
	assert_string_equal(feed.turn.out.data, "9437184\n");
	done(&feed.turn);
	leave(&room);
}

static void
test_u71_a_flood_keeps_head_and_tail(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	enter(&room);
	run(&room, &turn,
	    "printf H; head -c 20000000 /dev/zero | tr '\\0' x; printf T; echo e >&2");
	const struct session_window *out = &turn.result->out;
	assert_int_equal(turn.result->status, 0);
	assert_int_equal(turn.out.len, 20000002);
	assert_int_equal(out->total, 20000002);
	assert_int_equal(out->head.len, WINDOW * 2 / 5);
	assert_int_equal(out->tail.len, WINDOW * 3 / 5);
	assert_int_equal(out->omitted, 20000002 - WINDOW);
	assert_int_equal(out->head.data[0], 'H');
	assert_int_equal(out->tail.data[out->tail.len - 1], 'T');
	assert_string_equal(turn.result->err_out.head.data, "e\n");
	assert_null(turn.result->spill);
	done(&turn);
	leave(&room);
}

static void
test_merged_output_is_in_order(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	enter(&room);
	struct session_request request = shell(&room, "echo 1; echo 2 >&2; echo 3; echo 4 >&2");
	request.flags |= SESSION_CALL_MERGED;
	begin(&room, &turn, &request);
	wait_all(&room);
	assert_string_equal(turn.out.data, "1\n2\n3\n4\n");
	assert_int_equal(turn.err_out.len, 0);
	done(&turn);
	leave(&room);
}

/* hermes 40, W7: how a call ended is a field of its own; the state is kept, other calls go on. */
static void
test_hermes_40_timeout_and_cancel(void **state)
{
	struct room room;
	struct turn slow, other, turn;

	(void)state;
	enter(&room);
	struct session_request request = shell(&room, "cd /usr; export A=1; sleep 30; echo no");
	request.wall_ms = 300;
	begin(&room, &slow, &request);
	request = shell(&room, "sleep 0.8; echo other");
	begin(&room, &other, &request);
	wait_all(&room);
	assert_int_equal(slow.result->how, RUNNER_TIMED_OUT);
	assert_int_equal(slow.result->status, 124);
	assert_int_equal(slow.out.len, 0);
	assert_int_equal(slow.result->state, RUNNER_STATE_KEPT);
	assert_true(slow.result->wall_ms < 2000);
	assert_string_equal(other.out.data, "other\n");
	assert_int_equal(other.result->how, RUNNER_EXITED);
	done(&slow);
	done(&other);
	run(&room, &turn, "echo $A $PWD");
	assert_string_equal(turn.out.data, "1 /usr\n");
	done(&turn);
	request = shell(&room, "sleep 30");
	begin(&room, &turn, &request);
	session_call_cancel(turn.call);
	wait_all(&room);
	assert_int_equal(turn.result->how, RUNNER_CANCELLED);
	assert_int_equal(turn.result->status, 130);
	done(&turn);
	leave(&room);
}

/* U67, hermes W16: a call's own tree ends with it, however it hides, and no other call's. */
static void
test_u67_a_timeout_ends_the_tree(void **state)
{
	struct room room;
	struct turn slow, turn;

	(void)state;
	enter(&room);
	run(&room, &turn, "sleep 4711 & echo up");
	assert_true(turn.result->has_left);
	done(&turn);
	struct session_request request =
	    shell(&room, "trap '' TERM; (setsid sleep 4712 &) ; setsid sleep 4712 & sleep 4712");
	request.wall_ms = 300;
	begin(&room, &slow, &request);
	wait_all(&room);
	assert_int_equal(slow.result->how, RUNNER_TIMED_OUT);
	done(&slow);
	run(&room, &turn,
	    "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null; echo; done | grep -c '^sleep 471[12]'");
	assert_string_equal(turn.out.data, "1\n");
	done(&turn);
	leave(&room);
}

static void
test_cwd_that_is_missing_is_hlb_05(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	enter(&room);
	struct session_request request = shell(&room, "echo ran >/tmp/ran");
	request.cwd = "/no/such";
	begin(&room, &turn, &request);
	wait_all(&room);
	assert_int_equal(turn.result->how, RUNNER_LAUNCHER_ERROR);
	assert_int_equal(turn.result->status, 126);
	assert_int_equal(turn.result->err.code, HLB_05);
	assert_false(turn.result->was_started);
	done(&turn);
	run(&room, &turn, "ls /tmp; mkdir /tmp/d; cd /tmp/d; rmdir /tmp/d");
	assert_string_equal(turn.out.data, "");
	assert_int_equal(turn.result->state, RUNNER_STATE_KEPT);
	done(&turn);
	run(&room, &turn, "echo ran"); /* the directory of the state is gone */
	assert_int_equal(turn.result->status, 126);
	done(&turn);
	struct hl_err err;
	assert_int_equal(session_state_set_cwd(room.state, "/tmp", &err), 0);
	run(&room, &turn, "pwd");
	assert_string_equal(turn.out.data, "/tmp\n");
	done(&turn);
	leave(&room);
}

static void
test_no_bash_is_hlb_15(void **state)
{
	struct room room;
	struct turn turn;
	struct hl_strv env;

	(void)state;
	enter(&room);
	hl_strv_init(&env, 2);
	hl_strv_add(&env, "PATH=/nowhere");
	struct session_request request = shell(&room, "true");
	request.env = &env;
	begin(&room, &turn, &request);
	wait_all(&room);
	assert_int_equal(turn.result->status, 127);
	assert_int_equal(turn.result->err.code, HLB_15);
	done(&turn);
	hl_strv_done(&env);
	leave(&room);
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
	enter(&room);
	run(&room, &turn, "(sleep 0.5; echo late; sleep 60) & echo now");
	assert_string_equal(turn.out.data, "now\n");
	assert_true(turn.result->wall_ms < 500);
	assert_true(turn.result->has_left);
	assert_int_equal(session_left(room.session, ids, 4), 1);
	assert_int_equal(ids[0], turn.result->id);
	done(&turn);
	run(&room, &turn, "sleep 1");
	done(&turn);
	size_t n = session_background(room.session, 0, text, sizeof(text), &offset);
	assert_int_equal(n, 5);
	assert_memory_equal(text, "late\n", 5);
	assert_true(session_left_end(room.session, ids[0]));
	run(&room, &turn, "sleep 0.3");
	done(&turn);
	assert_int_equal(session_left(room.session, ids, 4), 0);
	assert_false(session_left_end(room.session, ids[0]));
	leave(&room);
}

/* U14: the same policy for the first call and for later ones. */
static void
test_u14_every_call_sees_the_same_environment(void **state)
{
	struct room room;
	struct turn first, turn;

	(void)state;
	enter(&room);
	run(&room, &first, "env | sort");
	for (int i = 0; i < 2; i++) {
		run(&room, &turn, "env | sort");
		assert_string_equal(turn.out.data, first.out.data);
		done(&turn);
	}
	run(&room, &turn, "env | sort & wait");
	assert_string_equal(turn.out.data, first.out.data);
	done(&turn);
	assert_non_null(strstr(first.out.data, "TOKEN=S3CRET-777\n"));
	done(&first);
	leave(&room);
}

/* U17, hermes W4: no value is in any file or argument of the sandbox. */
static void
test_u17_no_value_is_in_a_file(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	enter(&room);
	run(&room, &turn, "export OTHER=S3CRET-778; f() { :; }");
	done(&turn);
	run(&room, &turn,
	    "grep -rlE 'S3CRET-77[78]' /tmp /dev/shm 2>/dev/null; "
	    "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -v S3CRET-77.7.8 | grep -cE 'S3CRET-77[7]'; "
	    "readlink /proc/self/fd/* | grep -c memfd");
	assert_string_equal(turn.out.data, "0\n0\n");
	done(&turn);
	leave(&room);
}

static void
test_too_many_calls_are_hlb_10(void **state)
{
	static struct turn turns[RUNNER_CALLS_MAX];
	struct room room;
	struct session_call *call;
	struct hl_err err;

	(void)state;
	enter(&room);
	const struct session_request request = shell(&room, "sleep 0.2");
	for (size_t i = 0; i < RUNNER_CALLS_MAX; i++)
		begin(&room, &turns[i], &request);
	assert_int_equal(session_call(room.session, &request, &call, &err), -1);
	assert_int_equal(err.code, HLB_10);
	wait_all(&room);
	for (size_t i = 0; i < RUNNER_CALLS_MAX; i++) {
		assert_int_equal(turns[i].result->status, 0);
		done(&turns[i]);
	}
	run(&room, &turns[0], "echo again");
	assert_string_equal(turns[0].out.data, "again\n");
	done(&turns[0]);
	leave(&room);
}

static void
test_close_ends_calls_as_cancelled(void **state)
{
	struct room room;
	struct turn turn;
	struct session_call *call;
	struct hl_err err;

	(void)state;
	enter(&room);
	const struct session_request request = shell(&room, "sleep 60");
	begin(&room, &turn, &request);
	session_close(room.session);
	assert_int_equal(session_call(room.session, &request, &call, &err), -1);
	assert_int_equal(err.code, HLB_12);
	wait_all(&room);
	assert_int_equal(turn.result->how, RUNNER_CANCELLED);
	assert_int_equal(turn.result->status, 130);
	done(&turn);
	leave(&room);
}

static void
test_terminal(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	enter(&room);
	struct session_request request = shell(&room, "tty; stty size; export A=1");
	request.flags |= SESSION_CALL_PTY;
	request.rows = 11;
	request.columns = 77;
	begin(&room, &turn, &request);
	wait_all(&room);
	assert_non_null(strstr(turn.out.data, "/dev/pts/"));
	assert_non_null(strstr(turn.out.data, "11 77"));
	done(&turn);
	run(&room, &turn, "echo $A");
	assert_string_equal(turn.out.data, "1\n");
	done(&turn);
	leave(&room);
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
	enter_with(&room, &config);
	run(&room, &turn, "seq 1 20000");
	assert_non_null(turn.result->spill);
	assert_false(turn.result->out.is_capped);
	assert_int_equal(stat(turn.result->spill, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, turn.result->out.total);
	assert_int_equal(unlink(turn.result->spill), 0);
	done(&turn);
	run(&room, &turn, "echo short");
	assert_null(turn.result->spill);
	done(&turn);
	leave(&room);
	assert_int_equal(rmdir(dir), 0);
}

/* A hundred calls, one after the other: no descriptor is left behind on our side. */
static size_t
count_fds(void)
{
	size_t n = 0;
	DIR *dir = opendir("/proc/self/fd");

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static void
test_hundred_calls_leave_nothing(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	enter(&room);
	run(&room, &turn, "export N=0");
	done(&turn);
	size_t before = count_fds();
	for (int i = 0; i < 100; i++) {
		run(&room, &turn, "export N=$((N + 1))");
		assert_int_equal(turn.result->state, RUNNER_STATE_KEPT);
		done(&turn);
	}
	assert_int_equal(count_fds(), before);
	run(&room, &turn,
	    "echo $N; ls /proc/self/fd | wc -l; grep -c '^State:.Z' /proc/[0-9]*/status | grep -vc ':0'");
	assert_string_equal(turn.out.data, "100\n5\n0\n");
	done(&turn);
	leave(&room);
}

int
main(void)
{
	static const struct CMUnitTest others[] = {
		cmocka_unit_test(test_hermes_8_own_variables_win_and_are_not_kept),
		cmocka_unit_test(test_hermes_31_concurrent_calls_merge),
		cmocka_unit_test(test_argv_form_has_no_shell_and_no_state),
		cmocka_unit_test(test_stdin_reaches_the_whole_command),
		cmocka_unit_test(test_stdin_of_any_length),
		cmocka_unit_test(test_u71_a_flood_keeps_head_and_tail),
		cmocka_unit_test(test_merged_output_is_in_order),
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
	};
	static struct CMUnitTest tests[HL_ARRAY_SIZE(talks) + HL_ARRAY_SIZE(others)];
	union {
		const struct talk *from;
		void *to;
	} talk;

	for (size_t i = 0; i < HL_ARRAY_SIZE(talks); i++) {
		talk.from = &talks[i];
		tests[i] = (struct CMUnitTest){ .name = talks[i].name,
			.test_func = converse,
			.initial_state = talk.to };
	}
	memcpy(tests + HL_ARRAY_SIZE(talks), others, sizeof(others));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
