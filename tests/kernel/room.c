/*
 * The tests' session: see room.h.
 */
#include "tests/kernel/room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
	if (--turn->room->running == 0)
		hl_loop_stop(turn->room->loop);
}

void
room_enter_with(struct room *room, const struct session_config *extra)
{
	struct session_config config = *extra;
	struct launch_lock lock;
	struct hl_err err = { 0 };

	memset(room, 0, sizeof(*room));
	config.is_scoped = true;
	launch_lock_full(&lock);
	launch_start(&room->launch, LAUNCH_PASS);
	room->sandbox = (struct sandbox){ .stream = room->launch.to,
		.pass = room->launch.pass,
		.uid = lock.confinement.uid,
		.gid = lock.confinement.gid,
		.pidfd = -1 };
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
	config.output_bytes = ROOM_WINDOW;
	config.on_closed = on_closed;
	config.context = room;
	assert_int_equal(session_open(&config, &room->session, &err), 0);
	assert_int_equal(session_state_new("/tmp", &room->state, &err), 0);
	const struct hl_watch late = { .fd = -1,
		.when_ms = hl_now_mono_ms() + ROOM_PATIENCE_MS,
		.fn = on_late };
	assert_int_equal(hl_loop_add(room->loop, &late, &room->alarm, &err), 0);
}

void
room_enter(struct room *room)
{
	const struct session_config plain = { 0 };

	room_enter_with(room, &plain);
}

void
room_leave(struct room *room)
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

void
room_begin(struct room *room, struct turn *turn, const struct session_request *asked)
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

void
room_wait(struct room *room)
{
	struct hl_err err;

	if (room->running > 0)
		assert_int_equal(hl_loop_run(room->loop, &err), 0);
	assert_int_equal(room->running, 0);
}

void
turn_done(struct turn *turn)
{
	hl_buf_done(&turn->out);
	hl_buf_done(&turn->err_out);
	session_call_free(turn->call);
}

struct session_request
room_shell(struct room *room, const char *command)
{
	return (struct session_request){ .flags = SESSION_CALL_SHELL,
		.command = command,
		.state = room->state };
}

void
room_run(struct room *room, struct turn *turn, const char *command)
{
	const struct session_request request = room_shell(room, command);

	room_begin(room, turn, &request);
	room_wait(room);
}
