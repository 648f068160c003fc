/*
 * A session whose runner is the test itself, frame by frame.
 */
#ifndef HL_TESTS_UNIT_SESSION_STAGE_H
#define HL_TESTS_UNIT_SESSION_STAGE_H

#include <sys/socket.h>

#include <fcntl.h>
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

struct stage {
	int far; /* the runner's end */
	struct sandbox sandbox;
	struct hl_loop *loop;
	struct session *session;
	struct session_call *calls[4];
	struct session_result *ended[4];
	struct hl_buf out;
	struct hl_err closed;
	bool is_closed, is_ready;
};

struct actor {
	struct stage *stage;
	size_t number;
};

static struct actor actors[4];

static void
on_ready(void *context, const char *locked)
{
	struct stage *stage = context;

	assert_string_equal(locked, "verified");
	stage->is_ready = true;
}

static void
on_closed(void *context, const struct hl_err *err)
{
	struct stage *stage = context;

	stage->closed = *err;
	stage->is_closed = true;
}

static void
on_end(void *context, struct session_result *result)
{
	struct actor *actor = context;

	assert_null(actor->stage->ended[actor->number]);
	actor->stage->ended[actor->number] = result;
}

static void
on_output(void *context, int stream, const char *bytes, size_t len)
{
	struct actor *actor = context;

	hl_buf_putf(&actor->stage->out, "%zu.%d:", actor->number, stream);
	hl_buf_put(&actor->stage->out, bytes, len);
}

static void
say(struct stage *stage, enum runner_type type, uint32_t channel, const void *payload, size_t len)
{
	struct hl_buf frame;

	hl_buf_init(&frame, RUNNER_PAYLOAD_MAX + RUNNER_HEADER_SIZE);
	runner_frame_put(&frame, type, channel, payload, len);
	assert_int_equal(hl_write_full(stage->far, frame.data, frame.len), 0);
	hl_buf_done(&frame);
}

static void
say_exit(struct stage *stage, uint32_t channel, const struct runner_exit *ended)
{
	struct hl_buf frame;

	hl_buf_init(&frame, 4096);
	runner_exit_put(&frame, channel, ended);
	assert_int_equal(hl_write_full(stage->far, frame.data, frame.len), 0);
	hl_buf_done(&frame);
}

static const struct runner_exit fine = { .how = RUNNER_EXITED, .subject = "" };

static void
on_pause(void *context, uint32_t events)
{
	(void)events;
	hl_loop_stop(context);
}

/* Everything that is on its way is read. */
static void
turn(struct stage *stage)
{
	struct hl_source *source;
	struct hl_err err;
	const struct hl_watch pause = { .fd = -1,
		.when_ms = hl_now_mono_ms() + 30,
		.fn = on_pause,
		.context = stage->loop };

	assert_int_equal(hl_loop_add(stage->loop, &pause, &source, &err), 0);
	assert_int_equal(hl_loop_run(stage->loop, &err), 0);
}

static void
open_stage(struct stage *stage)
{
	struct session_config config = { .on_ready = on_ready,
		.is_scoped = true,
		.on_closed = on_closed,
		.context = stage,
		.output_bytes = 1000 };
	struct hl_buf hello;
	struct hl_err err;
	int ends[2];

	memset(stage, 0, sizeof(*stage));
	hl_buf_init(&stage->out, 1U << 20);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	stage->far = ends[1];
	stage->sandbox = (struct sandbox){ .stream = ends[0], .pass = -1, .pidfd = -1 };
	hl_buf_init(&stage->sandbox.lock, 64);
	assert_int_equal(hl_loop_new(&stage->loop, &err), 0);
	config.loop = stage->loop;
	config.sandbox = &stage->sandbox;
	assert_int_equal(session_open(&config, &stage->session, &err), 0);
	hl_buf_init(&hello, 256);
	hl_buf_put(&hello, RUNNER_MAGIC, RUNNER_MAGIC_SIZE);
	assert_int_equal(hl_write_full(stage->far, hello.data, hello.len), 0);
	hl_buf_reset(&hello);
	hl_wire_put_u32(&hello, RUNNER_VERSION);
	hl_wire_put_u32(&hello, 0);
	hl_wire_put_u32(&hello, 1);
	say(stage, RUNNER_HELLO, 0, hello.data, hello.len);
	hl_buf_reset(&hello);
	hl_wire_put_string(&hello, "verified");
	say(stage, RUNNER_LOCKED, 0, hello.data, hello.len);
	hl_buf_done(&hello);
	for (size_t i = 0; i < HL_ARRAY_SIZE(actors); i++)
		actors[i] = (struct actor){ .stage = stage, .number = i };
	turn(stage);
	assert_true(stage->is_ready);
}

static void
close_stage(struct stage *stage)
{
	session_free(stage->session);
	for (size_t i = 0; i < HL_ARRAY_SIZE(stage->calls); i++)
		session_call_free(stage->calls[i]);
	hl_loop_free(stage->loop);
	close(stage->far);
	close(stage->sandbox.stream);
	hl_buf_done(&stage->sandbox.lock);
	hl_buf_done(&stage->out);
}

/* Call number i, on channel i + 1. */
static void
call(struct stage *stage, size_t i, uint32_t flags)
{
	struct session_request request = { .flags = SESSION_CALL_SHELL | flags,
		.command = "true",
		.on_output = on_output,
		.on_end = on_end,
		.context = &actors[i] };
	struct hl_err err;

	assert_int_equal(session_call(stage->session, &request, &stage->calls[i], &err), 0);
	assert_int_equal(stage->calls[i]->channel, i + 1);
}

static void
start(struct stage *stage, size_t i, uint32_t flags)
{
	call(stage, i, flags);
	say(stage, RUNNER_STARTED, (uint32_t)i + 1, "\2\0\0\0", 4);
}

/* The next frame of type that the session has sent, payload after it; false when there is none. */
static bool
hears(struct stage *stage, enum runner_type type, unsigned char payload[64])
{
	static char bytes[1 << 20];
	struct runner_frame frame;
	struct hl_err err;
	size_t size;
	bool is_found = false;

	ssize_t n = recv(stage->far, bytes, sizeof(bytes), MSG_DONTWAIT);
	struct hl_buf view = { .data = bytes, .len = n > 0 ? (size_t)n : 0, .max = sizeof(bytes) };
	while (runner_frame_get(&view, &frame, &size, &err) == 1) {
		if (frame.type == type && frame.payload_len <= 64) {
			memcpy(payload, frame.payload, frame.payload_len);
			is_found = true;
		}
		view.data += size;
		view.len -= size;
	}
	return is_found;
}

#endif
