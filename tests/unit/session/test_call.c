/*
 * Many calls against a runner that the test plays itself, frame by frame: channels, windows,
 * credit, and what a hostile one can make us believe.
 */
#include <sys/socket.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/machine.h"
#include "tests/unit/session/stage.h"

static void
test_output_of_two_calls_is_kept_apart(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	start(&stage, 0, 0);
	start(&stage, 1, 0);
	say(&stage, RUNNER_OUT, 1, "\1one", 4);
	say(&stage, RUNNER_OUT, 2, "\2two", 4);
	say(&stage, RUNNER_OUT, 1, "\1!", 2);
	say_exit(&stage, 2, &fine);
	turn(&stage);
	assert_string_equal(stage.out.data, "0.1:one1.2:two0.1:!");
	assert_null(stage.ended[0]);
	assert_non_null(stage.ended[1]);
	assert_string_equal(stage.ended[1]->err_out.head.data, "two");
	assert_false(stage.is_closed);
	close_stage(&stage);
}

/* A channel is used again only after CLOSED; until then output is the background's. */
static void
test_channel_is_taken_until_closed(void **state)
{
	struct runner_exit left = fine;
	struct stage stage;
	uint64_t ids[2], offset;
	char text[8];

	(void)state;
	open_stage(&stage);
	start(&stage, 0, 0);
	left.has_left = true;
	say_exit(&stage, 1, &left);
	say(&stage, RUNNER_OUT, 1, "\1late", 5);
	turn(&stage);
	assert_true(stage.ended[0]->has_left);
	assert_int_equal(stage.out.len, 0);
	assert_int_equal(session_background(stage.session, 0, text, 8, &offset), 4);
	assert_int_equal(session_left(stage.session, ids, 2), 1);
	start(&stage, 1, 0);
	say(&stage, RUNNER_CLOSED, 1, NULL, 0);
	turn(&stage);
	assert_int_equal(session_left(stage.session, ids, 2), 0);
	assert_false(stage.is_closed);
	say(&stage, RUNNER_OUT, 1, "\1no", 3);
	turn(&stage);
	assert_int_equal(stage.closed.code, HLB_01);
	close_stage(&stage);
}

static void
put_blocks(struct stage *stage, size_t blocks)
{
	static char block[65537];

	block[0] = 1;
	for (size_t i = 0; i < blocks; i++) {
		say(stage, RUNNER_OUT, 1, block, sizeof(block));
		turn(stage);
	}
}

static void
test_credit_comes_back_in_few_frames(void **state)
{
	unsigned char payload[64] = { 0 };
	struct stage stage;

	(void)state;
	open_stage(&stage);
	start(&stage, 0, 0);
	put_blocks(&stage, 3);
	assert_false(hears(&stage, RUNNER_WINDOW_ADD, payload));
	put_blocks(&stage, 1);
	assert_true(hears(&stage, RUNNER_WINDOW_ADD, payload));
	assert_memory_equal(payload, "\1\0\0\4\0", 5); /* 262144 for stdout */
	close_stage(&stage);
}

/* PAUSED: the owner alone gives credit back, and never more than was used. */
static void
test_paused_call_holds_its_credit(void **state)
{
	unsigned char payload[64] = { 0 };
	struct stage stage;

	(void)state;
	open_stage(&stage);
	start(&stage, 0, SESSION_CALL_PAUSED);
	put_blocks(&stage, 5);
	assert_false(hears(&stage, RUNNER_WINDOW_ADD, payload));
	session_call_credit(stage.calls[0], 1, UINT32_MAX);
	assert_true(hears(&stage, RUNNER_WINDOW_ADD, payload));
	assert_memory_equal(payload, "\1\0\0\5\0", 5);
	session_call_credit(stage.calls[0], 1, UINT32_MAX);
	assert_false(hears(&stage, RUNNER_WINDOW_ADD, payload));
	put_blocks(&stage, 15);
	assert_false(stage.is_closed);
	put_blocks(&stage, 2);
	assert_int_equal(stage.closed.code, HLB_01);
	close_stage(&stage);
}

/* Whoever does not take output must not keep a killed call from its end: what was held comes back
 * at once, and what still comes does by itself. */
static void
test_killed_call_holds_no_credit(void **state)
{
	unsigned char payload[64] = { 0 };
	struct stage stage;

	(void)state;
	open_stage(&stage);
	start(&stage, 0, SESSION_CALL_PAUSED);
	put_blocks(&stage, 16);
	assert_false(session_call_is_killed(stage.calls[0]));
	assert_false(hears(&stage, RUNNER_WINDOW_ADD, payload));
	session_call_cancel(stage.calls[0]);
	assert_true(session_call_is_killed(stage.calls[0]));
	assert_true(hears(&stage, RUNNER_WINDOW_ADD, payload));
	assert_memory_equal(payload, "\1\0\0\x10\0", 5);
	put_blocks(&stage, 4);
	assert_true(hears(&stage, RUNNER_WINDOW_ADD, payload));
	assert_false(stage.is_closed);
	close_stage(&stage);
}

/* Output that is handed on or logged elsewhere is counted, and not kept a second time. */
static void
test_call_without_a_window(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	start(&stage, 0, SESSION_CALL_NO_WINDOW);
	say(&stage, RUNNER_OUT, 1, "\1one", 4);
	say_exit(&stage, 1, &fine);
	turn(&stage);
	assert_string_equal(stage.out.data, "0.1:one");
	assert_int_equal(stage.ended[0]->out_bytes, 3);
	assert_int_equal(stage.ended[0]->out.head.len, 0);
	assert_int_equal(stage.ended[0]->out.omitted, 0);
	close_stage(&stage);
}

/* What a call left running can go on when its owner held all of the window back. */
static void
test_exit_gives_held_credit_back(void **state)
{
	unsigned char payload[64] = { 0 };
	struct runner_exit left = fine;
	struct stage stage;

	(void)state;
	open_stage(&stage);
	start(&stage, 0, SESSION_CALL_PAUSED);
	put_blocks(&stage, 16);
	assert_false(hears(&stage, RUNNER_WINDOW_ADD, payload));
	left.has_left = true;
	say_exit(&stage, 1, &left);
	turn(&stage);
	assert_true(hears(&stage, RUNNER_WINDOW_ADD, payload));
	assert_memory_equal(payload, "\1\0\0\x10\0", 5);
	close_stage(&stage);
}

/* Each a conversation that no runner has; every open call ends with the session. */
static void
test_hostile_runner_is_hlb_01(void **state)
{
	static const struct {
		enum runner_type type;
		uint32_t channel;
		const char *payload;
		size_t len;
	} frames[] = {
		{ RUNNER_STARTED, 1, "\2\0\0\0", 4 }, /* a second time */
		{ RUNNER_STARTED, 2, "\2\0\0\0", 4 }, /* a channel of no call */
		{ RUNNER_OUT, 0, "\1x", 2 },
		{ RUNNER_OUT, 2, "\1x", 2 },
		{ RUNNER_OUT, 65, "\1x", 2 },
		{ RUNNER_OUT, 1, "\3x", 2 },
		{ RUNNER_OUT, 1, "", 0 },
		{ RUNNER_STATE, 1, "x", 1 }, /* of a call without */
		{ RUNNER_WINDOW_ADD, 1, "\0\1\0\0\0", 5 },
		{ RUNNER_WINDOW_ADD, 1, "\1\0\0\0\0", 5 },
		{ RUNNER_WINDOW_ADD, 1, "\0", 1 },
		{ RUNNER_EXIT, 1, "x", 1 },
		{ RUNNER_CLOSED, 1, "", 0 },
		{ RUNNER_HELLO, 0, "\2\0\0\0\0\0\0\0\1\0\0\0", 12 },
		{ RUNNER_LOCKED, 0, "\1\0\0\0\0", 5 },
		{ RUNNER_SPAWN, 1, "", 0 },
		{ RUNNER_PONG, 0, "", 0 },
	};
	struct stage stage;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(frames); i++) {
		open_stage(&stage);
		start(&stage, 0, 0);
		turn(&stage);
		assert_false(stage.is_closed);
		say(&stage, frames[i].type, frames[i].channel, frames[i].payload, frames[i].len);
		turn(&stage);
		if (!stage.is_closed || stage.closed.code != HLB_01)
			fail_msg("frame %zu was believed", i);
		assert_non_null(stage.ended[0]);
		assert_int_equal(stage.ended[0]->how, RUNNER_BACKEND_ERROR);
		assert_int_equal(stage.ended[0]->err.code, HLB_01);
		close_stage(&stage);
	}
}

/* Whoever tells a command to end asks the runner whether it listens, once for many signals; what a
 * command has its own use for asks nothing. An answer is believed once. */
static void
test_a_signal_for_the_end_asks_the_runner(void **state)
{
	unsigned char payload[64];
	struct stage stage;

	(void)state;
	open_stage(&stage);
	start(&stage, 0, 0);
	turn(&stage);
	session_call_signal(stage.calls[0], SIGUSR1);
	assert_false(hears(&stage, RUNNER_PING, payload));
	session_call_signal(stage.calls[0], SIGTERM);
	assert_true(hears(&stage, RUNNER_PING, payload));
	session_call_signal(stage.calls[0], SIGTERM);
	assert_false(hears(&stage, RUNNER_PING, payload));
	say(&stage, RUNNER_PONG, 0, "", 0);
	turn(&stage);
	assert_false(stage.is_closed);
	say(&stage, RUNNER_PONG, 0, "", 0);
	turn(&stage);
	assert_true(stage.is_closed);
	assert_int_equal(stage.closed.code, HLB_01);
	close_stage(&stage);

	open_stage(&stage);
	start(&stage, 0, 0);
	turn(&stage);
	session_call_signal(stage.calls[0], SIGINT);
	say(&stage, RUNNER_PONG, 0, "x", 1);
	turn(&stage);
	assert_int_equal(stage.closed.code, HLB_01);
	close_stage(&stage);
}

static void
test_an_end_without_a_beginning_is_hlb_01(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	call(&stage, 0, 0);
	say_exit(&stage, 1, &fine);
	turn(&stage);
	assert_int_equal(stage.closed.code, HLB_01);
	assert_false(stage.ended[0]->was_started);
	close_stage(&stage);
}

static void
test_lost_sandbox_is_hlb_07(void **state)
{
	struct session_call *refused;
	struct hl_err err;
	struct stage stage;

	(void)state;
	open_stage(&stage);
	start(&stage, 0, 0);
	call(&stage, 1, 0);
	shutdown(stage.far, SHUT_WR);
	turn(&stage);
	assert_int_equal(stage.closed.code, HLB_07);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stage.ended[i]->how, RUNNER_BACKEND_ERROR);
		assert_int_equal(stage.ended[i]->status, 125);
	}
	const struct session_request request = { .flags = SESSION_CALL_SHELL, .command = "true" };
	assert_int_equal(session_call(stage.session, &request, &refused, &err), -1);
	assert_int_equal(err.code, HLB_12);
	close_stage(&stage);
}

/* Larger than a frame: refused, and the session goes on. Sibling: what just fits is sent. */
static void
test_too_large_a_call_is_hlb_11(void **state)
{
	static char text[RUNNER_PAYLOAD_MAX + 1];
	struct session_request request = { .flags = SESSION_CALL_SHELL,
		.command = text,
		.on_end = on_end,
		.context = &actors[0] };
	struct session_call *refused;
	struct hl_err err;
	struct stage stage;

	(void)state;
	open_stage(&stage);
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(session_call(stage.session, &request, &refused, &err), -1);
	assert_int_equal(err.code, HLB_11);
	text[100000] = '\0';
	assert_int_equal(session_call(stage.session, &request, &stage.calls[0], &err), 0);
	close_stage(&stage);
}

/* Memory may end within what a shell reports; what came of it may look whole. */
static void
test_a_report_without_memory_is_not_believed(void **state)
{
	static const char report[] = "HLS2\0/there\n\0\0\0\0\0hashall \0END";
	const struct runner_exit ended = { .how = RUNNER_EXITED,
		.state = RUNNER_STATE_KEPT,
		.subject = "" };
	struct session_state *kept;
	struct stage stage;
	struct hl_err err;

	(void)state;
	open_stage(&stage);
	assert_int_equal(session_state_new("/here", &kept, &err), 0);
	for (size_t i = 0; i < 2; i++) {
		const struct session_request request = { .flags = SESSION_CALL_SHELL,
			.command = "cd /there",
			.state = kept,
			.on_end = on_end,
			.context = &actors[i] };
		const uint32_t channel = (uint32_t)i + 1;
		assert_int_equal(session_call(stage.session, &request, &stage.calls[i], &err), 0);
		say(&stage, RUNNER_STARTED, channel, "\2\0\0\0", 4);
		say(&stage, RUNNER_STATE, channel, report, sizeof(report));
		turn(&stage);
		stage.calls[i]->report.failed = i == 0;
		say_exit(&stage, channel, &ended);
		turn(&stage);
		assert_non_null(stage.ended[i]);
		assert_int_equal(stage.ended[i]->state,
		    i == 0 ? RUNNER_STATE_LOST : RUNNER_STATE_KEPT);
		assert_string_equal(session_state_cwd(kept), i == 0 ? "/here" : "/there");
	}
	assert_string_equal(stage.ended[0]->state_note, "memory ended");
	session_state_free(kept);
	close_stage(&stage);
}

static void
test_free_without_callbacks(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	start(&stage, 0, 0);
	turn(&stage);
	session_free(stage.session);
	stage.session = NULL;
	assert_false(stage.is_closed);
	assert_null(stage.ended[0]);
	/* A call without a session takes nothing and does nothing. */
	assert_int_equal(session_call_stdin(stage.calls[0], "x", 1), 0);
	session_call_signal(stage.calls[0], 15);
	session_call_cancel(stage.calls[0]);
	session_call_credit(stage.calls[0], 1, 1);
	close_stage(&stage);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_of_two_calls_is_kept_apart),
		cmocka_unit_test(test_channel_is_taken_until_closed),
		cmocka_unit_test(test_credit_comes_back_in_few_frames),
		cmocka_unit_test(test_paused_call_holds_its_credit),
		cmocka_unit_test(test_killed_call_holds_no_credit),
		cmocka_unit_test(test_call_without_a_window),
		cmocka_unit_test(test_exit_gives_held_credit_back),
		cmocka_unit_test(test_hostile_runner_is_hlb_01),
		cmocka_unit_test(test_a_signal_for_the_end_asks_the_runner),
		cmocka_unit_test(test_an_end_without_a_beginning_is_hlb_01),
		cmocka_unit_test(test_lost_sandbox_is_hlb_07),
		cmocka_unit_test(test_too_large_a_call_is_hlb_11),
		cmocka_unit_test(test_a_report_without_memory_is_not_believed),
		cmocka_unit_test(test_free_without_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
