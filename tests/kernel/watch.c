/*
 * See watch.h.
 */
#include "tests/kernel/watch.h"

#include <sys/wait.h>

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/banned.h"

void
watch_start_locked(struct watch *watch, unsigned flags)
{
	launch_start(&watch->launch, flags);
	launch_send_lock(&watch->launch, &watch->lock);
	watch->features = 0;
	watch->has_error = watch->has_pong = false;
	memset(watch->calls, 0, sizeof(watch->calls));
}

void
watch_start(struct watch *watch, unsigned flags)
{
	launch_lock_full(&watch->lock);
	watch_start_locked(watch, flags);
}

static void
spawn(struct watch *watch, uint32_t channel, uint32_t flags, const char *const *words)
{
	struct watched *call = &watch->calls[channel];
	bool holds_back = call->holds_back;

	memset(call, 0, sizeof(*call));
	call->holds_back = holds_back;
	watch->launch.channel = channel;
	launch_send_spawn(&watch->launch, flags, words);
}

void
watch_spawn(struct watch *watch, uint32_t channel, uint32_t flags, const char *text)
{
	const char *const words[] = { "sh", "-c", text, NULL };

	spawn(watch, channel, flags, words);
}

void
watch_bash(struct watch *watch, uint32_t channel, uint32_t flags, const char *text)
{
	const char *const words[] = { "bash", "-c", text, NULL };

	spawn(watch, channel, flags, words);
}

void
watch_send(struct watch *watch, uint32_t channel, enum runner_type type, const void *payload,
    size_t len)
{
	struct hl_buf frame;

	hl_buf_init(&frame, RUNNER_HEADER_SIZE + RUNNER_PAYLOAD_MAX);
	runner_frame_put(&frame, type, channel, payload, len);
	launch_send_raw(&watch->launch, frame.data, frame.len);
	hl_buf_done(&frame);
}

void
watch_kill(struct watch *watch, uint32_t channel, enum runner_how how)
{
	const unsigned char reason = (unsigned char)how;

	watch_send(watch, channel, RUNNER_KILL, &reason, 1);
}

static void
keep(char text[WATCH_TEXT], size_t *len, const void *bytes, size_t more)
{
	if (*len + more < WATCH_TEXT)
		memcpy(text + *len, bytes, more);
	*len += more;
}

static void
on_out(struct watch *watch, struct watched *call, const struct runner_frame *frame)
{
	const uint32_t len = frame->payload_len - 1;
	const unsigned char credit[5] = { frame->payload[0], (unsigned char)(len & 0xff),
		(unsigned char)(len >> 8 & 0xff), (unsigned char)(len >> 16), 0 };

	assert_true(call->has_started && !call->is_closed);
	assert_true(frame->payload_len > 1);
	if (frame->payload[0] == 1)
		keep(call->out, &call->out_len, frame->payload + 1, len);
	else
		keep(call->err, &call->err_len, frame->payload + 1, len);
	if (!call->holds_back)
		watch_send(watch, frame->channel, RUNNER_WINDOW_ADD, credit, sizeof(credit));
}

static void
on_exit(struct watched *call, const struct runner_frame *frame)
{
	struct hl_err err;

	assert_false(call->has_exit);
	assert_int_equal(runner_exit_get(frame, &call->exit, &err), 0);
	snprintf(call->subject, sizeof(call->subject), "%s", call->exit.subject);
	call->exit.subject = call->subject;
	call->has_exit = true;
}

static uint32_t
u32_at(const struct runner_frame *frame, uint32_t at)
{
	struct hl_wire wire;

	hl_wire_init(&wire, frame->payload + at, 4);
	return hl_wire_u32(&wire);
}

static void
on_call(struct watch *watch, const struct runner_frame *frame)
{
	struct watched *call = &watch->calls[frame->channel];

	if (frame->type == RUNNER_STARTED) {
		assert_false(call->has_started || call->has_exit);
		call->has_started = true;
		call->pid = u32_at(frame, 0);
	} else if (frame->type == RUNNER_OUT) {
		on_out(watch, call, frame);
	} else if (frame->type == RUNNER_STATE) {
		assert_false(call->has_exit);
		keep(call->state, &call->state_len, frame->payload, frame->payload_len);
	} else if (frame->type == RUNNER_EXIT) {
		on_exit(call, frame);
	} else if (frame->type == RUNNER_CLOSED) {
		assert_true(call->has_exit && !call->is_closed);
		call->is_closed = true;
	} else {
		assert_int_equal(frame->type, RUNNER_WINDOW_ADD);
	}
}

bool
watch_next(struct watch *watch)
{
	const struct runner_frame *frame = &watch->launch.frame;
	struct hl_err err;

	if (!launch_next(&watch->launch))
		return false;
	if (frame->channel != 0) {
		on_call(watch, frame);
	} else if (frame->type == RUNNER_HELLO) {
		assert_int_equal(u32_at(frame, 0), RUNNER_VERSION);
		watch->features = u32_at(frame, 4);
	} else if (frame->type == RUNNER_ERROR) {
		assert_int_equal(runner_error_get(frame, &watch->error, &err), 0);
		watch->has_error = true;
	} else if (frame->type == RUNNER_PONG) {
		watch->has_pong = true;
	} else {
		assert_int_equal(frame->type, RUNNER_LOCKED);
	}
	return true;
}

static void
go_on(struct watch *watch)
{
	if (!watch_next(watch))
		fail_msg("the stream ended: %s",
		    watch->has_error ? watch->error.subject : "no error told");
}

void
watch_until_started(struct watch *watch, uint32_t channel)
{
	while (!watch->calls[channel].has_started)
		go_on(watch);
}

void
watch_until_exit(struct watch *watch, uint32_t channel)
{
	while (!watch->calls[channel].has_exit)
		go_on(watch);
}

void
watch_until_closed(struct watch *watch, uint32_t channel)
{
	while (!watch->calls[channel].is_closed)
		go_on(watch);
}

void
watch_until_out(struct watch *watch, uint32_t channel, const char *text)
{
	while (strstr(watch->calls[channel].out, text) == NULL)
		go_on(watch);
}

bool
watch_is_quiet(struct watch *watch, int ms)
{
	struct pollfd fd = { .fd = watch->launch.from, .events = POLLIN };

	return poll(&fd, 1, ms) == 0;
}

struct watched *
watch_run(struct watch *watch, uint32_t channel, uint32_t flags, const char *text)
{
	watch_spawn(watch, channel, flags, text);
	watch_until_closed(watch, channel);
	return &watch->calls[channel];
}

void
watch_expect_broken(struct watch *watch)
{
	while (!watch->has_error && watch_next(watch))
		continue;
	assert_true(watch->has_error);
	assert_string_equal(hl_code_info((enum hl_code)watch->error.code)->id, "HLB-01");
	assert_int_equal(watch_end(watch), 70);
}

int
watch_end(struct watch *watch)
{
	int status = launch_end(&watch->launch);

	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}
