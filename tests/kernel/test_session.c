/*
 * The bash contract over a real runner in a real sandbox: what a call may rely on. Each table row
 * is a conversation: commands one after the other in one session, and what each must come to. Names
 * of cases begin with the number of the case that they are about.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernel/room.h"

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
#include "tests/kernel/session_talks.def"
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

	room_enter(&room);
	for (size_t i = 0; i < HL_ARRAY_SIZE(talk->lines) && talk->lines[i].command != NULL; i++) {
		struct session_request request = room_shell(&room, talk->lines[i].command);
		request.flags |= talk->lines[i].flags;
		room_begin(&room, &turn, &request);
		room_wait(&room);
		check_line(talk, i, &turn);
		turn_done(&turn);
	}
	room_leave(&room);
}

int
main(void)
{
	static struct CMUnitTest tests[HL_ARRAY_SIZE(talks)];
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
	return cmocka_run_group_tests(tests, NULL, NULL);
}
