/*
 * A peer that speaks in lines: cut lines, long ones, one who asks and does not listen, the end.
 */
#include <sys/socket.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/line.h"

#include "base/banned.h"

struct seen {
	struct hl_loop *loop;
	struct line line;
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
		line_put(&seen->line, answer, seen->answer);
	if (seen->closes) {
		line_close(&seen->line);
		hl_loop_stop(seen->loop);
	}
}

static void
on_end(void *context, const char *why)
{
	struct seen *seen = context;

	seen->ends++;
	if (why != NULL)
		memcpy(seen->why, why, strlen(why) < 63 ? strlen(why) : 63);
	hl_loop_stop(seen->loop);
}

static void
on_drained(void *context)
{
	(void)context;
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
	struct hl_err err = { 0 };
	int ends[2];
	const struct line_calls calls = { on_line, on_end, on_drained, seen };

	assert_int_equal(hl_loop_new(&seen->loop, &err), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	int fds[2] = { ends[0], fcntl(ends[0], F_DUPFD_CLOEXEC, 3) };
	assert_int_equal(line_open(&seen->line, seen->loop, fds, &calls, &err), 0);
	return ends[1];
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
		.context = seen->loop,
	};

	assert_int_equal(hl_loop_add(seen->loop, &watch, &source, &err), 0);
	assert_int_equal(hl_loop_run(seen->loop, &err), 0);
}

static void
finish(struct seen *seen, int peer)
{
	line_close(&seen->line);
	hl_loop_free(seen->loop);
	close(peer);
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
	assert_int_equal(write(peer, "c\n\nd", 4), 4);
	shutdown(peer, SHUT_WR);
	run_for(seen, 1000);
	run_for(seen, 20);
	assert_string_equal(seen->text, "a;bc;;"); /* what has no end is no line */
	assert_int_equal(seen->ends, 1);
	assert_string_equal(seen->why, "");
	finish(seen, peer);
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
	finish(seen, peer);
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
	assert_true(line_queued(&seen->line) < 8U << 20);
	/* Listening again sets it going again. */
	static char sink[256 * 1024];
	unsigned before = seen->lines;
	for (int i = 0; i < 200; i++) {
		ssize_t n = recv(peer, sink, sizeof(sink), MSG_DONTWAIT);
		(void)n;
		run_for(seen, 1);
	}
	assert_true(seen->lines > before);
	finish(seen, peer);
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
	finish(seen, peer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_lines),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_deaf_peer),
		cmocka_unit_test(test_close_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
