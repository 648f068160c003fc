/*
 * One call as the one who asked for it sees it: what a session says is taken whole, or the call has
 * failed.
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

#include "launcher/face.h"

#include "base/banned.h"

#define OUTPUT(stream, data)                                                                   \
 "{\"jsonrpc\":\"2.0\",\"method\":\"output\",\"params\":{\"stream\":" stream ",\"data\":" data \
 "}}\n"
#define ENDED                                                                                       \
 "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"how\":\"exited\",\"stage\":\"command\",\"status\":3," \
 "\"code\":3}}\n"

static struct run run;
static struct request request;

/* Nothing comes on our own standard input or as a signal; the session has said it all. */
static int
call(const char *said, struct hl_err *err)
{
	char *argv[] = { (char[]){ "true" }, NULL };
	const struct client_ask ask = { .request = &request, .is_shared = true };
	struct hl_loop *loop = NULL;
	int ends[2], quiet[2];

	*err = (struct hl_err){ 0 };
	request.argv = argv;
	request.argv_len = 1;
	run = (struct run){ .request = &request };
	assert_int_equal(pipe2(quiet, O_CLOEXEC), 0);
	run.signal_fd = fcntl(quiet[0], F_DUPFD_CLOEXEC, 3);
	assert_int_equal(dup2(quiet[0], STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(hl_write_full(ends[1], said, strlen(said)), 0);
	assert_int_equal(shutdown(ends[1], SHUT_WR), 0);
	assert_int_equal(hl_loop_new(&loop, err), 0);
	int status = client_run(&run, loop, ends[0], &ask, err);
	hl_loop_free(loop);
	close(ends[1]);
	close(quiet[0]);
	close(quiet[1]);
	close(run.signal_fd);
	return status;
}

static void
test_whole(void **state)
{
	struct hl_err err;

	(void)state;
	assert_int_equal(call(OUTPUT("\"stdout\"", "\"\"") ENDED, &err), 0);
	assert_int_equal(run.result.status, 3);
	/* What is not known to the one who asked may be told all the same. */
	assert_int_equal(call("{\"jsonrpc\":\"2.0\",\"method\":\"news\",\"params\":{}}\n" ENDED,
			     &err),
	    0);
}

/* A good end behind it does not make it whole. */
static void
test_not_whole(void **state)
{
	static const char *const said[] = {
		"nothing\n" ENDED,
		"{\"jsonrpc\":\"2.0\"}\n" ENDED,
		OUTPUT("\"stdout\"", "7") ENDED,
		OUTPUT("\"stdout\"", "{\"b64\":\"?\"}") ENDED,
		OUTPUT("\"third\"", "\"\"") ENDED,
		OUTPUT("null", "\"\"") ENDED,
		"{\"jsonrpc\":\"2.0\",\"method\":\"output\",\"params\":{}}\n" ENDED,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n" ENDED,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"how\":\"went\"}}\n" ENDED,
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"message\":\"no\"}}\n" ENDED,
	};
	struct hl_err err;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(said); i++) {
		if (call(said[i], &err) == 0)
			fail_msg("taken: %s", said[i]);
		assert_int_equal(err.code, HLI_02);
	}
	assert_int_equal(call("", &err), -1);
	assert_int_equal(err.code, HLB_07);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_not_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
