/*
 * The wire protocol: round trips, every truncation, and everything that a hostile side could put
 * where it may not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runner/runner.h"

#include "base/banned.h"

static struct hl_err err;

/* The frame at the front of out, which must be whole. */
static struct runner_frame
frame_of(const struct hl_buf *out)
{
	struct runner_frame frame;
	size_t size;

	assert_int_equal(runner_frame_get(out, &frame, &size, &err), 1);
	assert_int_equal(size, out->len);
	return frame;
}

static void
test_frame(void **state)
{
	struct runner_frame frame;
	struct hl_buf out;
	size_t size;

	(void)state;
	hl_buf_init(&out, 1 << 20);
	runner_frame_put(&out, RUNNER_STDIN, 1, "abc", 3);
	runner_frame_put(&out, RUNNER_GOODBYE, 0, NULL, 0);
	assert_int_equal(runner_frame_get(&out, &frame, &size, &err), 1);
	assert_int_equal(frame.type, RUNNER_STDIN);
	assert_int_equal(frame.channel, 1);
	assert_int_equal(frame.payload_len, 3);
	assert_memory_equal(frame.payload, "abc", 3);
	hl_buf_drop(&out, size);
	frame = frame_of(&out);
	assert_int_equal(frame.type, RUNNER_GOODBYE);
	assert_int_equal(frame.payload_len, 0);
	hl_buf_drop(&out, out.len);
	/* the longest, and one more */
	static char bytes[RUNNER_PAYLOAD_MAX + 1];
	runner_frame_put(&out, RUNNER_OUT, 1, bytes, RUNNER_PAYLOAD_MAX);
	assert_int_equal(frame_of(&out).payload_len, RUNNER_PAYLOAD_MAX);
	assert_false(out.failed);
	runner_frame_put(&out, RUNNER_OUT, 1, bytes, RUNNER_PAYLOAD_MAX + 1);
	assert_true(out.failed);
	hl_buf_done(&out);
	/* room for the header and not for the rest */
	hl_buf_init(&out, RUNNER_HEADER_SIZE + 2);
	runner_frame_put(&out, RUNNER_OUT, 1, "abc", 3);
	assert_true(out.failed);
	assert_int_equal(out.len, 0);
	hl_buf_reset(&out);
	runner_frame_put(&out, RUNNER_OUT, 1, "ab", 2);
	assert_int_equal(frame_of(&out).payload_len, 2);
	hl_buf_done(&out);
}

static void
test_partial_frames(void **state)
{
	struct runner_frame frame;
	struct hl_buf out;
	size_t size;

	(void)state;
	hl_buf_init(&out, 4096);
	runner_frame_put(&out, RUNNER_STDIN, 1, "abc", 3);
	for (size_t len = 0; len < RUNNER_HEADER_SIZE + 3; len++) {
		const struct hl_buf part = { .data = out.data, .len = len, .max = 4096 };
		assert_int_equal(runner_frame_get(&part, &frame, &size, &err), 0);
	}
	hl_buf_done(&out);
}

static const struct {
	unsigned char header[RUNNER_HEADER_SIZE];
} bad_headers[] = {
	{ { 1, 0, 4, 0, RUNNER_OUT, 0, 0, 0, 1 } },
	{ { 0, 0, 0, 0x80, RUNNER_OUT, 0, 0, 0, 1 } },
	{ { 0, 0, 0, 0, 0, 0, 0, 0, 1 } },
	{ { 0, 0, 0, 0, RUNNER_TYPE_MAX, 0, 0, 0, 1 } },
	{ { 0, 0, 0, 0, 255, 0, 0, 0, 1 } },
	{ { 0, 0, 0, 0, RUNNER_OUT, 1, 0, 0, 1 } },
	{ { 0, 0, 0, 0, RUNNER_OUT, 0, 1, 0, 1 } },
	{ { 0, 0, 0, 0, RUNNER_OUT, 0, 0, 1, 1 } },
	{ { 0, 0, 0, 0, RUNNER_OUT, 0, 0, 0, RUNNER_CALLS_MAX + 1 } },
	{ { 0, 0, 0, 0, RUNNER_OUT, 0, 0, 0, 1, 0, 0, 1 } },
};

static void
test_bad_headers(void **state)
{
	struct runner_frame frame;
	struct hl_buf in;
	size_t size;

	(void)state;
	hl_buf_init(&in, 4096);
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad_headers); i++) {
		hl_buf_reset(&in);
		hl_buf_put(&in, bad_headers[i].header, RUNNER_HEADER_SIZE);
		assert_int_equal(runner_frame_get(&in, &frame, &size, &err), -1);
		assert_string_equal(hl_code_info(err.code)->id, "HLB-01");
	}
	hl_buf_done(&in);
}

static void
put_sample_spawn(struct hl_buf *out, uint32_t flags)
{
	struct runner_spawn spawn = { .flags = flags, .umask = 027, .cwd = "/work" };

	hl_strv_init(&spawn.argv, 8);
	hl_strv_init(&spawn.env, 8);
	hl_strv_add(&spawn.argv, "prog");
	hl_strv_add(&spawn.argv, "a b");
	hl_strv_add(&spawn.argv, "");
	hl_strv_add(&spawn.env, "A=1");
	hl_strv_add(&spawn.env, "EMPTY=");
	spawn.rows = 24;
	spawn.columns = 80;
	spawn.rlimits_len = 2;
	spawn.rlimits[0] = (struct runner_rlimit){ 7, 1024, 4096 };
	spawn.rlimits[1] = (struct runner_rlimit){ 4, 0, UINT64_MAX };
	runner_spawn_put(out, 7, &spawn);
	runner_spawn_done(&spawn);
	runner_spawn_done(&spawn);
}

static void
test_spawn(void **state)
{
	struct runner_spawn spawn;
	struct hl_buf out;

	(void)state;
	hl_buf_init(&out, 1 << 20);
	put_sample_spawn(&out, RUNNER_SPAWN_STDIN);
	struct runner_frame frame = frame_of(&out);
	assert_int_equal(frame.type, RUNNER_SPAWN);
	assert_int_equal(frame.channel, 7);
	assert_int_equal(runner_spawn_get(&frame, &spawn, &err), 0);
	assert_int_equal(spawn.flags, RUNNER_SPAWN_STDIN);
	assert_int_equal(spawn.umask, 027);
	assert_string_equal(spawn.cwd, "/work");
	assert_int_equal(spawn.rows, 24);
	assert_int_equal(spawn.columns, 80);
	assert_int_equal(spawn.rlimits_len, 2);
	assert_int_equal(spawn.rlimits[0].soft, 1024);
	assert_int_equal(spawn.rlimits[1].hard, UINT64_MAX);
	assert_int_equal(spawn.argv.len, 3);
	assert_string_equal(spawn.argv.v[1], "a b");
	assert_string_equal(spawn.argv.v[2], "");
	assert_int_equal(spawn.env.len, 2);
	assert_string_equal(spawn.env.v[1], "EMPTY=");
	runner_spawn_done(&spawn);
	hl_buf_done(&out);
}

/* Cut at every byte and changed at every byte. */
static void
test_spawn_mutations(void **state)
{
	struct runner_spawn spawn;
	struct hl_buf out;

	(void)state;
	hl_buf_init(&out, 1 << 20);
	put_sample_spawn(&out, 0);
	struct runner_frame whole = frame_of(&out);
	for (uint32_t len = 0; len < whole.payload_len; len++) {
		unsigned char *copy = malloc(len > 0 ? len : 1);
		memcpy(copy, whole.payload, len);
		const struct runner_frame part = { .type = RUNNER_SPAWN,
			.payload = copy,
			.payload_len = len };
		assert_int_equal(runner_spawn_get(&part, &spawn, &err), -1);
		assert_string_equal(hl_code_info(err.code)->id, "HLB-01");
		free(copy);
	}
	for (size_t i = RUNNER_HEADER_SIZE; i < out.len; i++)
		for (unsigned change = 1; change < 256; change += 31) {
			out.data[i] = (char)((unsigned char)out.data[i] ^ change);
			if (runner_spawn_get(&whole, &spawn, &err) == 0)
				runner_spawn_done(&spawn);
			out.data[i] = (char)((unsigned char)out.data[i] ^ change);
		}
	hl_buf_done(&out);
}

struct bad_spawn {
	uint32_t flags, umask, rlimits;
	const char *cwd, *word, *env;
	uint32_t rows, columns;
};

static const struct bad_spawn bad_spawns[] = {
	{ 1 << 9, 022, 0, "/", "a", "A=1", 0, 0 }, /* unknown flag */
	{ RUNNER_SPAWN_INHERIT | RUNNER_SPAWN_PIPES, 022, 0, "/", "a", "A=1", 0, 0 },
	{ RUNNER_SPAWN_PTY | RUNNER_SPAWN_PIPES, 022, 0, "/", "a", "A=1", 0, 0 },
	{ RUNNER_SPAWN_INHERIT | RUNNER_SPAWN_STDIN, 022, 0, "/", "a", "A=1", 0, 0 },
	{ RUNNER_SPAWN_INHERIT | RUNNER_SPAWN_MERGED, 022, 0, "/", "a", "A=1", 0, 0 },
	{ RUNNER_SPAWN_INHERIT | RUNNER_SPAWN_PTY, 022, 0, "/", "a", "A=1", 0, 0 },
	{ RUNNER_SPAWN_PTY | RUNNER_SPAWN_MERGED, 022, 0, "/", "a", "A=1", 0, 0 },
	{ RUNNER_SPAWN_ALONE | RUNNER_SPAWN_LEAVE, 022, 0, "/", "a", "A=1", 0, 0 },
	{ RUNNER_SPAWN_STATE, 022, 0, "/", "a", "BASH_ENV=/x", 0, 0 }, /* the runner's own */
	{ RUNNER_SPAWN_PTY, 022, 0, "/", "a", "A=1", 65536, 80 },      /* no such window */
	{ RUNNER_SPAWN_PTY, 022, 0, "/", "a", "A=1", 24, 65536 },
	{ 0, 01000, 0, "/", "a", "A=1", 0, 0 }, /* umask */
	{ 0, 022, 17, "/", "a", "A=1", 0, 0 },  /* too many limits */
	{ 0, 022, 0, "tmp", "a", "A=1", 0, 0 }, /* relative */
	{ 0, 022, 0, "", "a", "A=1", 0, 0 },    /* nothing */
	{ 0, 022, 0, "/", "", "A=1", 0, 0 },    /* no name */
	{ 0, 022, 0, "/", NULL, "A=1", 0, 0 },  /* no words */
	{ 0, 022, 0, "/", "a", "=1", 0, 0 },    /* no name of a variable */
	{ 0, 022, 0, "/", "a", "A", 0, 0 },     /* no value */
};

static void
test_bad_spawns(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad_spawns); i++) {
		const struct bad_spawn *bad = &bad_spawns[i];
		struct runner_spawn spawn;
		struct hl_buf payload;
		hl_buf_init(&payload, 4096);
		hl_wire_put_u32(&payload, bad->flags);
		hl_wire_put_u32(&payload, bad->umask);
		hl_wire_put_u32(&payload, bad->rlimits);
		for (uint32_t k = 0; k < bad->rlimits; k++) {
			hl_wire_put_u32(&payload, 0);
			hl_wire_put_u64(&payload, 0);
			hl_wire_put_u64(&payload, 0);
		}
		hl_wire_put_u32(&payload, bad->rows);
		hl_wire_put_u32(&payload, bad->columns);
		hl_wire_put_string(&payload, bad->cwd);
		hl_wire_put_u32(&payload, bad->word != NULL ? 1 : 0);
		if (bad->word != NULL)
			hl_wire_put_string(&payload, bad->word);
		hl_wire_put_u32(&payload, 1);
		hl_wire_put_string(&payload, bad->env);
		const struct runner_frame frame = { .type = RUNNER_SPAWN,
			.payload = (const unsigned char *)payload.data,
			.payload_len = (uint32_t)payload.len };
		if (runner_spawn_get(&frame, &spawn, &err) == 0)
			fail_msg("spawn %zu was taken", i);
		hl_buf_done(&payload);
	}
}

/* A call larger than a frame is a failure of the buffer, not half a call. */
static void
test_large_spawn(void **state)
{
	static char word[RUNNER_PAYLOAD_MAX];
	struct runner_spawn spawn = { .cwd = "/" };
	struct hl_buf out;

	(void)state;
	memset(word, 'x', sizeof(word) - 1);
	hl_strv_init(&spawn.argv, 8);
	hl_strv_init(&spawn.env, 8);
	hl_strv_add(&spawn.argv, word);
	hl_buf_init(&out, 4 << 20);
	runner_spawn_put(&out, 1, &spawn);
	assert_true(out.failed);
	hl_buf_done(&out);
	runner_spawn_done(&spawn);
}

static void
test_error(void **state)
{
	static char subject[600];
	struct runner_error in = { .step = 3, .code = HLD_01, .sys_errno = 38, .subject = "/proc" };
	struct runner_error out;
	struct hl_buf bytes;

	(void)state;
	hl_buf_init(&bytes, 4096);
	runner_error_put(&bytes, &in);
	struct runner_frame frame = frame_of(&bytes);
	assert_int_equal(runner_error_get(&frame, &out, &err), 0);
	assert_int_equal(out.step, 3);
	assert_int_equal(out.code, HLD_01);
	assert_int_equal(out.sys_errno, 38);
	assert_string_equal(out.subject, "/proc");
	for (frame.payload_len--; frame.payload_len > 0; frame.payload_len--)
		assert_int_equal(runner_error_get(&frame, &out, &err), -1);
	/* cut by an honest side, refused from another */
	memset(subject, 'x', sizeof(subject) - 1);
	in.subject = subject;
	hl_buf_reset(&bytes);
	runner_error_put(&bytes, &in);
	frame = frame_of(&bytes);
	assert_int_equal(runner_error_get(&frame, &out, &err), 0);
	assert_int_equal(strlen(out.subject), 512);
	hl_buf_reset(&bytes);
	for (int i = 0; i < 3; i++)
		hl_wire_put_u32(&bytes, 0);
	hl_wire_put_string(&bytes, subject);
	frame.payload = (const unsigned char *)bytes.data;
	frame.payload_len = (uint32_t)bytes.len;
	assert_int_equal(runner_error_get(&frame, &out, &err), -1);
	hl_buf_done(&bytes);
}

static void
test_exit(void **state)
{
	const struct runner_exit in = { .how = RUNNER_TIMED_OUT,
		.code = 3,
		.signal = 9,
		.user_us = 1,
		.system_us = UINT64_MAX,
		.max_rss_kib = 77,
		.state = RUNNER_STATE_LOST,
		.has_left = true,
		.sys_errno = 2 };
	struct runner_exit out;
	struct hl_buf bytes;

	(void)state;
	hl_buf_init(&bytes, 4096);
	runner_exit_put(&bytes, RUNNER_CALLS_MAX, &in);
	struct runner_frame frame = frame_of(&bytes);
	assert_int_equal(frame.channel, RUNNER_CALLS_MAX);
	assert_int_equal(runner_exit_get(&frame, &out, &err), 0);
	assert_int_equal(out.how, RUNNER_TIMED_OUT);
	assert_int_equal(out.signal, 9);
	assert_int_equal(out.system_us, UINT64_MAX);
	assert_int_equal(out.max_rss_kib, 77);
	assert_int_equal(out.state, RUNNER_STATE_LOST);
	assert_true(out.has_left);
	assert_string_equal(out.subject, "");
	/* how is an enum of ours: nothing else may come in */
	for (unsigned how = 0; how < 256; how++) {
		bytes.data[RUNNER_HEADER_SIZE] = (char)how;
		assert_int_equal(runner_exit_get(&frame, &out, &err) == 0,
		    how >= RUNNER_EXITED && how < RUNNER_HOW_MAX);
	}
	/* so is what became of the state, and a truth value has two values */
	bytes.data[RUNNER_HEADER_SIZE] = RUNNER_EXITED;
	for (size_t at = RUNNER_HEADER_SIZE + 33; at < RUNNER_HEADER_SIZE + 35; at++)
		for (unsigned value = 0; value < 256; value++) {
			char before = bytes.data[at];
			bytes.data[at] = (char)value;
			assert_int_equal(runner_exit_get(&frame, &out, &err) == 0,
			    value <= (at == RUNNER_HEADER_SIZE + 33 ? RUNNER_STATE_LOST : 1));
			bytes.data[at] = before;
		}
	hl_buf_done(&bytes);
}

static void
test_how_names(void **state)
{
	(void)state;
	for (unsigned how = RUNNER_EXITED; how < RUNNER_HOW_MAX; how++)
		assert_string_not_equal(runner_how_name((enum runner_how)how), "unknown");
	assert_string_equal(runner_how_name(RUNNER_TIMED_OUT), "timed_out");
	assert_string_equal(runner_how_name(RUNNER_HOW_MAX), "unknown");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame),
		cmocka_unit_test(test_partial_frames),
		cmocka_unit_test(test_bad_headers),
		cmocka_unit_test(test_spawn),
		cmocka_unit_test(test_spawn_mutations),
		cmocka_unit_test(test_bad_spawns),
		cmocka_unit_test(test_large_spawn),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_exit),
		cmocka_unit_test(test_how_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
