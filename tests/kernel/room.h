/*
 * A session in a real sandbox, for tests: one room, one state, and turns, which are calls of which
 * everything is kept. No test waits longer than its patience.
 */
#ifndef HL_TESTS_KERNEL_ROOM_H
#define HL_TESTS_KERNEL_ROOM_H

#include "session/session.h"
#include "tests/kernel/launch.h"

enum {
	ROOM_WINDOW = 50000,
	ROOM_PATIENCE_MS = 20000
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
};

/* extra: what the session's config has beside what every room has. */
void room_enter_with(struct room *room, const struct session_config *extra);
void room_enter(struct room *room);
/* Closes, and checks that nothing was wrong. */
void room_leave(struct room *room);
struct session_request room_shell(struct room *room, const char *command);
/* The callbacks of asked but on_output and context are the turn's. */
void room_begin(struct room *room, struct turn *turn, const struct session_request *asked);
void room_wait(struct room *room);
/* A shell call with the room's state, to its end. */
void room_run(struct room *room, struct turn *turn, const char *command);
void turn_done(struct turn *turn);

#endif
