/*
 * The runner's wire protocol as bytes: frames and the messages in them. Both sides link this file,
 * and each of them reads what the other, possibly hostile, side has written: lengths are checked
 * before use, reserved fields are zero, enums are in range, vectors are capped.
 */
#include <string.h>

#include "base/base.h"
#include "runner/runner.h"

#include "base/banned.h"

enum {
	CHANNEL_CONTROL = 0,
	SUBJECT_MAX = 512,
	TERMINAL_MAX = 65535 /* rows or columns: struct winsize */
};

static const char *const how_names[RUNNER_HOW_MAX] = {
	[RUNNER_EXITED] = "exited",
	[RUNNER_SIGNALED] = "signaled",
	[RUNNER_TIMED_OUT] = "timed_out",
	[RUNNER_CANCELLED] = "cancelled",
	[RUNNER_LAUNCHER_ERROR] = "launcher_error",
	[RUNNER_BACKEND_ERROR] = "backend_error",
};

const char *
runner_how_name(enum runner_how how)
{
	const char *name = (unsigned)how < RUNNER_HOW_MAX ? how_names[how] : NULL;

	return name != NULL ? name : "unknown";
}

void
runner_header_put(struct hl_buf *out, enum runner_type type, uint32_t channel, size_t len)
{
	const unsigned char header[RUNNER_HEADER_SIZE] = {
		(unsigned char)(len & 0xff),
		(unsigned char)(len >> 8 & 0xff),
		(unsigned char)(len >> 16 & 0xff),
		(unsigned char)(len >> 24 & 0xff),
		(unsigned char)type,
		[8] = (unsigned char)(channel & 0xff),
		[9] = (unsigned char)(channel >> 8 & 0xff),
		[10] = (unsigned char)(channel >> 16 & 0xff),
		[11] = (unsigned char)(channel >> 24 & 0xff),
	};
	hl_buf_put(out, header, sizeof(header));
}

void
runner_frame_put(struct hl_buf *out, enum runner_type type, uint32_t channel, const void *payload,
    size_t len)
{
	if (len > RUNNER_PAYLOAD_MAX) {
		out->failed = true;
		return;
	}
	/* A buffer without room takes nothing of a frame. */
	if (!hl_buf_reserve(out, RUNNER_HEADER_SIZE + len))
		return;
	runner_header_put(out, type, channel, len);
	if (len > 0)
		hl_buf_put(out, payload, len);
}

static uint32_t
u32_at(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

int
runner_frame_get(const struct hl_buf *in, struct runner_frame *ret_frame, size_t *ret_size,
    struct hl_err *err)
{
	const unsigned char *bytes = (const unsigned char *)in->data;

	if (in->len < RUNNER_HEADER_SIZE)
		return 0;
	uint32_t len = u32_at(bytes);
	uint32_t channel = u32_at(bytes + 8);
	if (len > RUNNER_PAYLOAD_MAX)
		return hl_err_set(err, HLB_01, "a frame is longer than a frame may be");
	if (bytes[4] == 0 || bytes[4] >= RUNNER_TYPE_MAX)
		return hl_err_set(err, HLB_01, "a frame is of an unknown type");
	if (bytes[5] != 0 || bytes[6] != 0 || bytes[7] != 0)
		return hl_err_set(err, HLB_01, "a reserved field of a frame is not zero");
	if (channel > RUNNER_CALLS_MAX)
		return hl_err_set(err, HLB_01, "a frame is for an unknown channel");
	if (in->len - RUNNER_HEADER_SIZE < len)
		return 0;
	*ret_frame = (struct runner_frame){ .type = (enum runner_type)bytes[4],
		.channel = channel,
		.payload = bytes + RUNNER_HEADER_SIZE,
		.payload_len = len };
	*ret_size = RUNNER_HEADER_SIZE + (size_t)len;
	return 1;
}

/* Room for a header whose length is not known yet; frame_end() fills it in. Returns where. */
static size_t
frame_begin(struct hl_buf *out, enum runner_type type, uint32_t channel)
{
	size_t start = out->len;

	runner_frame_put(out, type, channel, NULL, 0);
	return start;
}

static void
frame_end(struct hl_buf *out, size_t start)
{
	if (out->failed)
		return;
	size_t len = out->len - start - RUNNER_HEADER_SIZE;
	if (len > RUNNER_PAYLOAD_MAX) {
		out->failed = true;
		return;
	}
	for (unsigned i = 0; i < 4; i++)
		out->data[start + i] = (char)(unsigned char)(len >> (8 * i) & 0xff);
}

/* A subject is for a person: cut rather than refused when it is too long. */
static void
put_subject(struct hl_buf *out, const char *subject)
{
	char cut[SUBJECT_MAX + 1];

	if (subject == NULL)
		subject = "";
	size_t len = strnlen(subject, SUBJECT_MAX);
	memcpy(cut, subject, len);
	cut[len] = '\0';
	hl_wire_put_string(out, cut);
}

/* Never NULL; a longer one fails the message. */
static const char *
get_subject(struct hl_wire *wire)
{
	const char *subject = hl_wire_string(wire);

	if (subject == NULL || strlen(subject) > SUBJECT_MAX) {
		wire->failed = true;
		return "";
	}
	return subject;
}

static int
finish(const struct hl_wire *wire, const char *what, struct hl_err *err)
{
	if (hl_wire_is_complete(wire))
		return 0;
	return hl_err_set(err, HLB_01, "a frame of the type %s is malformed", what);
}

void
runner_error_put(struct hl_buf *out, const struct runner_error *error)
{
	size_t start = frame_begin(out, RUNNER_ERROR, CHANNEL_CONTROL);

	hl_wire_put_u32(out, error->step);
	hl_wire_put_u32(out, error->code);
	hl_wire_put_u32(out, (uint32_t)error->sys_errno);
	put_subject(out, error->subject);
	frame_end(out, start);
}

int
runner_error_get(const struct runner_frame *frame, struct runner_error *ret_error,
    struct hl_err *err)
{
	struct runner_error error = { 0 };
	struct hl_wire wire;

	hl_wire_init(&wire, frame->payload, frame->payload_len);
	error.step = hl_wire_u32(&wire);
	error.code = hl_wire_u32(&wire);
	error.sys_errno = (int)(hl_wire_u32(&wire) & 0xffff);
	error.subject = get_subject(&wire);
	if (finish(&wire, "ERROR", err) != 0)
		return -1;
	*ret_error = error;
	return 0;
}

void
runner_spawn_put(struct hl_buf *out, uint32_t channel, const struct runner_spawn *spawn)
{
	size_t start = frame_begin(out, RUNNER_SPAWN, channel);

	if (spawn->rlimits_len > RUNNER_RLIMITS_MAX || spawn->argv.len == 0) {
		out->failed = true;
		return;
	}
	hl_wire_put_u32(out, spawn->flags);
	hl_wire_put_u32(out, spawn->umask);
	hl_wire_put_u32(out, spawn->rlimits_len);
	for (uint32_t i = 0; i < spawn->rlimits_len; i++) {
		hl_wire_put_u32(out, spawn->rlimits[i].resource);
		hl_wire_put_u64(out, spawn->rlimits[i].soft);
		hl_wire_put_u64(out, spawn->rlimits[i].hard);
	}
	hl_wire_put_u32(out, spawn->rows);
	hl_wire_put_u32(out, spawn->columns);
	hl_wire_put_string(out, spawn->cwd);
	hl_wire_put_strv(out, &spawn->argv);
	hl_wire_put_strv(out, &spawn->env);
	frame_end(out, start);
}

/* The flags are the first number of the payload. */
void
runner_spawn_has_pipes(struct hl_buf *frame)
{
	frame->data[RUNNER_HEADER_SIZE + 1] |= RUNNER_SPAWN_PIPES >> 8;
}

/* Flags that exclude each other: any two of a row. */
static const uint32_t exclusive[][2] = {
	{ RUNNER_SPAWN_INHERIT,
	    RUNNER_SPAWN_STDIN | RUNNER_SPAWN_MERGED | RUNNER_SPAWN_PTY | RUNNER_SPAWN_PIPES },
	{ RUNNER_SPAWN_PTY, RUNNER_SPAWN_MERGED | RUNNER_SPAWN_PIPES },
	{ RUNNER_SPAWN_ALONE, RUNNER_SPAWN_LEAVE },
};

static bool
flags_are_sane(uint32_t flags)
{
	const uint32_t known = RUNNER_SPAWN_INHERIT | RUNNER_SPAWN_STDIN | RUNNER_SPAWN_ALONE |
			       RUNNER_SPAWN_STATE | RUNNER_SPAWN_MERGED | RUNNER_SPAWN_PTY |
			       RUNNER_SPAWN_LEAVE | RUNNER_SPAWN_SCOPED | RUNNER_SPAWN_PIPES;

	for (size_t i = 0; i < HL_ARRAY_SIZE(exclusive); i++)
		if ((flags & exclusive[i][0]) != 0 && (flags & exclusive[i][1]) != 0)
			return false;
	return (flags & ~known) == 0;
}

/* The variable that carries the state is set by the runner: two would be one too many. */
static bool
variable_is_sane(const struct runner_spawn *spawn, const char *variable)
{
	const char *equals = strchr(variable, '=');

	if (equals == NULL || equals == variable)
		return false;
	return (spawn->flags & RUNNER_SPAWN_STATE) == 0 || strncmp(variable, "BASH_ENV=", 9) != 0;
}

/* What the fields must satisfy beside being readable. */
bool
runner_spawn_is_sane(const struct runner_spawn *spawn)
{
	if (!flags_are_sane(spawn->flags) || spawn->rows > TERMINAL_MAX ||
	    spawn->columns > TERMINAL_MAX)
		return false;
	if ((spawn->umask & ~0777U) != 0 || spawn->argv.len == 0 || spawn->argv.v[0][0] == '\0')
		return false;
	if (spawn->cwd == NULL || spawn->cwd[0] != '/')
		return false;
	for (size_t i = 0; i < spawn->env.len; i++)
		if (!variable_is_sane(spawn, spawn->env.v[i]))
			return false;
	return true;
}

int
runner_spawn_get(const struct runner_frame *frame, struct runner_spawn *ret_spawn,
    struct hl_err *err)
{
	struct runner_spawn spawn = { 0 };
	struct hl_wire wire;

	hl_strv_init(&spawn.argv, RUNNER_ARGV_MAX);
	hl_strv_init(&spawn.env, RUNNER_ENV_MAX);
	hl_wire_init(&wire, frame->payload, frame->payload_len);
	spawn.flags = hl_wire_u32(&wire);
	spawn.umask = hl_wire_u32(&wire);
	spawn.rlimits_len = hl_wire_u32(&wire);
	if (spawn.rlimits_len > RUNNER_RLIMITS_MAX)
		wire.failed = true;
	for (uint32_t i = 0; i < spawn.rlimits_len && !wire.failed; i++) {
		spawn.rlimits[i].resource = hl_wire_u32(&wire);
		spawn.rlimits[i].soft = hl_wire_u64(&wire);
		spawn.rlimits[i].hard = hl_wire_u64(&wire);
	}
	spawn.rows = hl_wire_u32(&wire);
	spawn.columns = hl_wire_u32(&wire);
	spawn.cwd = hl_wire_string(&wire);
	hl_wire_strv(&wire, &spawn.argv);
	hl_wire_strv(&wire, &spawn.env);
	if (finish(&wire, "SPAWN", err) != 0 || !runner_spawn_is_sane(&spawn)) {
		runner_spawn_done(&spawn);
		return hl_err_set(err, HLB_01, "a frame of the type SPAWN is malformed");
	}
	*ret_spawn = spawn;
	return 0;
}

void
runner_spawn_done(struct runner_spawn *spawn)
{
	hl_strv_done(&spawn->argv);
	hl_strv_done_secret(&spawn->env);
}

void
runner_exit_put(struct hl_buf *out, uint32_t channel, const struct runner_exit *exit)
{
	size_t start = frame_begin(out, RUNNER_EXIT, channel);

	hl_wire_put_u8(out, (uint8_t)exit->how);
	hl_wire_put_u32(out, exit->code);
	hl_wire_put_u32(out, exit->signal);
	hl_wire_put_u64(out, exit->user_us);
	hl_wire_put_u64(out, exit->system_us);
	hl_wire_put_u64(out, exit->max_rss_kib);
	hl_wire_put_u8(out, (uint8_t)exit->state);
	hl_wire_put_u8(out, exit->has_left ? 1 : 0);
	hl_wire_put_u32(out, (uint32_t)exit->sys_errno);
	put_subject(out, exit->subject);
	frame_end(out, start);
}

int
runner_exit_get(const struct runner_frame *frame, struct runner_exit *ret_exit, struct hl_err *err)
{
	struct runner_exit exit = { 0 };
	struct hl_wire wire;

	hl_wire_init(&wire, frame->payload, frame->payload_len);
	uint8_t how = hl_wire_u8(&wire);
	exit.how = (enum runner_how)how;
	exit.code = hl_wire_u32(&wire);
	exit.signal = hl_wire_u32(&wire);
	exit.user_us = hl_wire_u64(&wire);
	exit.system_us = hl_wire_u64(&wire);
	exit.max_rss_kib = hl_wire_u64(&wire);
	uint8_t state = hl_wire_u8(&wire);
	uint8_t has_left = hl_wire_u8(&wire);
	exit.state = (enum runner_state_kept)state;
	exit.has_left = has_left == 1;
	exit.sys_errno = (int)(hl_wire_u32(&wire) & 0xffff);
	exit.subject = get_subject(&wire);
	if (how == 0 || how >= RUNNER_HOW_MAX || state > RUNNER_STATE_LOST || has_left > 1)
		wire.failed = true;
	if (finish(&wire, "EXIT", err) != 0)
		return -1;
	*ret_exit = exit;
	return 0;
}
