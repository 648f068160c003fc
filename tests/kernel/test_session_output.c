/*
 * Output of a session's calls in a real sandbox, through pipes of the session's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernel/room.h"

#include "base/banned.h"

static void
test_u71_a_flood_keeps_head_and_tail(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	room_enter(&room);
	room_run(&room, &turn,
	    "printf H; head -c 20000000 /dev/zero | tr '\\0' x; printf T; echo e >&2");
	const struct session_window *out = &turn.result->out;
	assert_int_equal(turn.result->status, 0);
	assert_int_equal(turn.out.len, 20000002);
	assert_int_equal(out->total, 20000002);
	assert_int_equal(out->head.len, ROOM_WINDOW * 2 / 5);
	assert_int_equal(out->tail.len, ROOM_WINDOW * 3 / 5);
	assert_int_equal(out->omitted, 20000002 - ROOM_WINDOW);
	assert_int_equal(out->head.data[0], 'H');
	assert_int_equal(out->tail.data[out->tail.len - 1], 'T');
	assert_string_equal(turn.result->err_out.head.data, "e\n");
	assert_null(turn.result->spill);
	turn_done(&turn);
	room_leave(&room);
}

static void
test_merged_output_is_in_order(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	room_enter(&room);
	struct session_request request =
	    room_shell(&room, "echo 1; echo 2 >&2; echo 3; echo 4 >&2");
	request.flags |= SESSION_CALL_MERGED;
	room_begin(&room, &turn, &request);
	room_wait(&room);
	assert_string_equal(turn.out.data, "1\n2\n3\n4\n");
	assert_int_equal(turn.err_out.len, 0);
	turn_done(&turn);
	room_leave(&room);
}

/* The pipes are made by the launcher and are the command's user's: /dev/stdout and its kin can be
 * opened, also where a call's input is a pipe. */
static void
test_output_can_be_opened_by_name(void **state)
{
	struct room room;
	struct turn turn;

	(void)state;
	room_enter(&room);
	room_run(&room, &turn,
	    "echo out >/dev/stdout; echo err >/dev/stderr; echo x | cat >/dev/fd/1");
	assert_int_equal(turn.result->status, 0);
	assert_string_equal(turn.out.data, "out\nx\n");
	assert_string_equal(turn.err_out.data, "err\n");
	turn_done(&turn);
	room_leave(&room);
}

/* What one call makes of its pipe, or reads out of it itself, is nothing to another. */
static void
test_a_pipe_is_one_calls(void **state)
{
	struct room room;
	struct turn robber, other;

	(void)state;
	room_enter(&room);
	struct session_request first = room_shell(&room,
	    "echo mine; sleep 0.1; timeout 1 cat </proc/self/fd/1 >/dev/null; echo end");
	struct session_request second =
	    room_shell(&room, "for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.05; done");
	room_begin(&room, &robber, &first);
	room_begin(&room, &other, &second);
	room_wait(&room);
	assert_string_equal(other.out.data, "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
	assert_int_equal(strncmp(robber.out.data, "mine\n", 5), 0);
	turn_done(&robber);
	turn_done(&other);
	room_leave(&room);
}

/* A writer that the call has left behind holds neither its end nor, killed, the channel. */
static void
test_a_flood_that_is_left_behind(void **state)
{
	struct room room;
	struct turn turn;
	uint64_t id, offset;
	char text[8];

	(void)state;
	room_enter(&room);
	room_run(&room, &turn, "yes & echo $!");
	assert_int_equal(turn.result->status, 0);
	assert_true(turn.result->has_left);
	turn_done(&turn);
	for (int i = 0; i < 3; i++) {
		room_run(&room, &turn, "sleep 0.05; echo beside");
		assert_string_equal(turn.out.data, "beside\n");
		turn_done(&turn);
	}
	assert_int_equal(session_left(room.session, &id, 1), 1);
	assert_true(session_left_end(room.session, id));
	while (session_left(room.session, &id, 1) > 0) {
		room_run(&room, &turn, "sleep 0.05");
		turn_done(&turn);
	}
	assert_true(session_background(room.session, 1U << 20, text, sizeof(text), &offset) > 0);
	room_leave(&room);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u71_a_flood_keeps_head_and_tail),
		cmocka_unit_test(test_merged_output_is_in_order),
		cmocka_unit_test(test_output_can_be_opened_by_name),
		cmocka_unit_test(test_a_pipe_is_one_calls),
		cmocka_unit_test(test_a_flood_that_is_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
