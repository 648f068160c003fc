/*
 * What either side of the runner's stream reads from the other, hostile, side: frames, the messages
 * in them, and the confinement. The first byte chooses the reader; what a reader takes must survive
 * being written and read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "confine/confine.h"
#include "runner/runner.h"

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
	switch (data[0] % 5) {
	case 0:
		read_stream(data + 1, size - 1);
		break;
	case 1:
		read_spawn(&frame);
		break;
	case 2:
		read_confinement(data + 1, size - 1);
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
