/*
 * A peer that speaks in lines: cut lines, long ones, one who asks and does not listen, the end.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/launcher/line_scene.h"

#include "base/banned.h"

struct seen {
	struct line_scene at;
	char text[256];
	unsigned lines, ends;
	size_t answer; /* bytes for each line */
	bool closes;   /* inside of the first line */
	char why[64];
};

static void
on_line(void *context, const char *text, size_t len)
{
	struct seen *seen = context;
	static char answer[LINE_MAX_BYTES];

	seen->lines++;
	size_t have = strlen(seen->text);
	if (have + len + 2 < sizeof(seen->text)) {
		memcpy(seen->text + have, text, len);
		memcpy(seen->text + have + len, ";", 2);
	}
	if (seen->answer > 0)
		line_put(&seen->at.line, answer, seen->answer);
	if (seen->closes) {
		line_close(&seen->at.line);
		hl_loop_stop(seen->at.loop);
	}
}

static void
on_end(void *context, const char *why)
{
	struct seen *seen = context;

	seen->ends++;
	if (why != NULL)
		memcpy(seen->why, why, strlen(why) < 63 ? strlen(why) : 63);
	hl_loop_stop(seen->at.loop);
}

static void
stop(void *context, uint32_t events)
{
	(void)events;
	hl_loop_stop(context);
}

static int
begin(struct seen *seen)
{
	const struct line_calls calls = { on_line, on_end, on_drained, seen };

	line_scene_begin(&seen->at, &calls);
	return seen->at.peer;
}

static void
run_for(struct seen *seen, unsigned ms)
{
	struct hl_err err = { 0 };
	struct hl_source *source = NULL;
	const struct hl_watch watch = {
		.fd = -1,
		.when_ms = hl_now_mono_ms() + ms,
		.fn = stop,
		.context = seen->at.loop,
	};

	assert_int_equal(hl_loop_add(seen->at.loop, &watch, &source, &err), 0);
	assert_int_equal(hl_loop_run(seen->at.loop, &err), 0);
}

static void
finish(struct seen *seen)
{
	line_scene_finish(&seen->at);
	free(seen);
}

static void
test_cut_lines(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	int peer = begin(seen);

	(void)state;
	assert_int_equal(write(peer, "a\nb", 3), 3);
	run_for(seen, 20);
	assert_string_equal(seen->text, "a;");
	/* Nothing of what was taken stays in memory. */
	assert_memory_equal(seen->at.line.from.data, "b\0\0", 3);
	assert_int_equal(write(peer, "c\n\nd", 4), 4);
	shutdown(peer, SHUT_WR);
	run_for(seen, 1000);
	run_for(seen, 20);
	assert_string_equal(seen->text, "a;bc;;"); /* what has no end is no line */
	assert_int_equal(seen->ends, 1);
	assert_string_equal(seen->why, "");
	finish(seen);
}

static void
test_long_line(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	int peer = begin(seen);
	static char bytes[64 * 1024];

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	for (int i = 0; i < 64 && seen->ends == 0; i++) {
		ssize_t n = send(peer, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)n;
		run_for(seen, 5);
	}
	assert_int_equal(seen->ends, 1);
	assert_non_null(strstr(seen->why, "1 MiB"));
	assert_int_equal(seen->lines, 0);
	finish(seen);
}

/* What cannot be kept is not thrown away to read on. */
static void
test_no_memory(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	int peer = begin(seen);

	(void)state;
	seen->at.line.from.max = 4;
	assert_int_equal(write(peer, "abc\nd", 5), 5);
	run_for(seen, 100);
	assert_int_equal(seen->ends, 1);
	assert_string_equal(seen->why, "memory ended");
	assert_int_equal(seen->lines, 0);
	finish(seen);
}

/* Asking without listening stops the reading; memory stays within what one round of lines makes. */
static void
test_deaf_peer(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	int peer = begin(seen);

	(void)state;
	seen->answer = 512 * 1024;
	for (int i = 0; i < 200; i++) {
		ssize_t n = send(peer, "ask\n", 4, MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)n;
		run_for(seen, 1);
	}
	assert_true(seen->lines < 20);
	assert_true(line_queued(&seen->at.line) < 8U << 20);
	/* Listening again sets it going again. */
	static char sink[256 * 1024];
	unsigned before = seen->lines;
	for (int i = 0; i < 200; i++) {
		ssize_t n = recv(peer, sink, sizeof(sink), MSG_DONTWAIT);
		(void)n;
		run_for(seen, 1);
	}
	assert_true(seen->lines > before);
	finish(seen);
}

static void
test_close_inside(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	int peer = begin(seen);

	(void)state;
	seen->closes = true;
	assert_int_equal(write(peer, "a\nb\nc\n", 6), 6);
	run_for(seen, 100);
	assert_int_equal(seen->lines, 1);
	assert_int_equal(seen->ends, 0);
	finish(seen);
}

/* A pipe that nobody reads holds nobody: it blocks, and poll(2) is all that there is. */
static void
test_flush_into_an_unread_pipe(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	const struct line_calls calls = { on_line, on_end, on_drained, seen };
	static char much[1024 * 1024];
	struct hl_err err = { 0 };
	int in[2], out[2];

	(void)state;
	assert_non_null(seen);
	assert_int_equal(hl_loop_new(&seen->at.loop, &err), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(line_open(&seen->at.line, seen->at.loop, (int[]){ in[0], out[1] }, &calls,
			     &err),
	    0);
	line_put(&seen->at.line, much, sizeof(much));
	uint64_t begin_ms = hl_now_mono_ms();
	line_flush(&seen->at.line, 200);
	uint64_t took_ms = hl_now_mono_ms() - begin_ms;
	assert_true(took_ms >= 200 && took_ms < 5000);
	assert_true(line_queued(&seen->at.line) > 0);
	seen->at.peer = in[1];
	close(out[0]);
	finish(seen);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_lines),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_deaf_peer),
		cmocka_unit_test(test_close_inside),
		cmocka_unit_test(test_flush_into_an_unread_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
