/*
 * What either side of the runner's stream reads from the other, hostile, side: frames, the messages
 * in them, and the confinement. The first byte chooses the reader; what a reader takes must survive
 * being written and read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "confine/confine.h"
#include "runner/loop.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A stream of frames, taken as both sides take it. */
static void
read_stream(const uint8_t *data, size_t size)
{
	struct runner_frame frame;
	struct hl_err err;
	struct hl_buf in;
	size_t used;

	hl_buf_init(&in, size + 1);
	hl_buf_put(&in, data, size);
	while (runner_frame_get(&in, &frame, &used, &err) == 1) {
		HL_BUG_ON(used > in.len);
		HL_BUG_ON(frame.payload_len > RUNNER_PAYLOAD_MAX);
		HL_BUG_ON(frame.channel > RUNNER_CALLS_MAX);
		HL_BUG_ON(frame.type == 0 || frame.type >= RUNNER_TYPE_MAX);
		hl_buf_drop(&in, used);
	}
	hl_buf_done(&in);
}

/* Put again it is what it was: nothing that was taken is lost, and nothing else is taken. */
static void
same_again(const struct runner_frame *frame, struct hl_buf *out)
{
	struct runner_frame copy;
	struct hl_err err;
	size_t used;

	HL_BUG_ON(runner_frame_get(out, &copy, &used, &err) != 1 || used != out->len);
	HL_BUG_ON(copy.channel != frame->channel || copy.payload_len != frame->payload_len);
	HL_BUG_ON(memcmp(copy.payload, frame->payload, frame->payload_len) != 0);
	hl_buf_done(out);
}

static void
read_spawn(const struct runner_frame *frame)
{
	struct runner_spawn spawn, again;
	struct hl_err err;
	struct hl_buf out;

	if (runner_spawn_get(frame, &spawn, &err) != 0)
		return;
	HL_BUG_ON(runner_spawn_get(frame, &again, &err) != 0);
	runner_spawn_done(&again);
	hl_buf_init(&out, RUNNER_HEADER_SIZE + RUNNER_PAYLOAD_MAX);
	runner_spawn_put(&out, 1, &spawn);
	HL_BUG_ON(out.failed);
	same_again(frame, &out);
	runner_spawn_done(&spawn);
}

static void
read_exit(const struct runner_frame *frame)
{
	struct runner_exit ended;
	struct hl_err err;
	struct hl_buf out;

	if (runner_exit_get(frame, &ended, &err) != 0)
		return;
	HL_BUG_ON((unsigned)ended.how == 0 || (unsigned)ended.how >= RUNNER_HOW_MAX);
	HL_BUG_ON((unsigned)ended.state > RUNNER_STATE_LOST);
	/* More of an errno than there are is cut off: the one thing that is not kept. */
	hl_buf_init(&out, RUNNER_HEADER_SIZE + RUNNER_PAYLOAD_MAX);
	runner_exit_put(&out, frame->channel, &ended);
	if (frame->payload[37] == 0 && frame->payload[38] == 0)
		same_again(frame, &out);
	hl_buf_done(&out);
}

static void
read_confinement(const uint8_t *data, size_t size)
{
	struct confinement confinement;
	struct hl_err err;
	struct hl_buf out;

	if (confine_decode(data, size, &confinement, &err) != 0)
		return;
	hl_buf_init(&out, size + 1);
	HL_BUG_ON(confine_encode(&confinement, &out, &err) != 0);
	HL_BUG_ON(out.len != size || memcmp(out.data, data, size) != 0);
	hl_buf_done(&out);
	confinement_done(&confinement);
}

/* Calls in every state, of which nothing is left that could be signalled. */
static void
set_calls(struct init *init)
{
	for (; init->calls_len < 6; init->calls_len++) {
		struct call *call = &init->calls[init->calls_len];
		call_reset(call, init->calls_len + 1);
		call->was_used = init->calls_len > 0;
		call->state = (enum call_state)(init->calls_len % (CALL_LEFT + 1));
		call->flags = init->calls_len == 2 ? RUNNER_SPAWN_PTY : 0;
		call->takes_stdin = call->state == CALL_STARTING || call->state == CALL_RUNNING;
		call->has_ended = call->is_empty = true;
	}
}

/* What the runner does with a host's frames, all but the two that change this process. */
static void
obey(const uint8_t *data, size_t size)
{
	static struct call calls[RUNNER_CALLS_MAX];
	struct init init = { .in_fd = -1,
		.out_fd = -1,
		.signal_fd = -1,
		.wake_fd = -1,
		.scope_fd = -1,
		.state = INIT_LOCKED,
		.calls = calls };
	struct runner_frame frame;
	struct hl_err err;
	struct hl_buf in;
	size_t used;

	hl_buf_init(&in, size + 1);
	hl_buf_init(&init.out, (size_t)8 * RUNNER_PAYLOAD_MAX);
	hl_buf_put(&in, data, size);
	set_calls(&init);
	while (init.state == INIT_LOCKED && runner_frame_get(&in, &frame, &used, &err) == 1) {
		if (frame.type != RUNNER_SPAWN)
			init_frame(&init, &frame);
		hl_buf_drop(&in, used);
	}
	for (uint32_t i = 0; i < init.calls_len; i++) {
		const struct call *call = &init.calls[i];
		HL_BUG_ON(
		    call->out_window[0] > RUNNER_WINDOW || call->out_window[1] > RUNNER_WINDOW);
		HL_BUG_ON(call->stdin_window > RUNNER_WINDOW);
		HL_BUG_ON(call->stdin_bytes.len > RUNNER_WINDOW + 1);
		HL_BUG_ON(call->state_text.len > RUNNER_STATE_MAX);
		call_close(&init.calls[i]);
	}
	hl_buf_done(&init.out);
	hl_buf_done(&in);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct runner_error error;
	struct hl_err err;

	if (size == 0 || size > RUNNER_PAYLOAD_MAX)
		return 0;
	const struct runner_frame frame = { .type = RUNNER_SPAWN,
		.channel = 1,
		.payload = data + 1,
		.payload_len = (uint32_t)(size - 1) };
	switch (data[0] % 6) {
	case 0:
		read_stream(data + 1, size - 1);
		break;
	case 1:
		read_spawn(&frame);
		break;
	case 2:
		read_confinement(data + 1, size - 1);
		break;
	case 5:
		obey(data + 1, size - 1);
		break;
	case 3:
		if (runner_error_get(&frame, &error, &err) == 0)
			HL_BUG_ON(strlen(error.subject) > 512);
		break;
	default:
		read_exit(&frame);
		break;
	}
	return 0;
}
