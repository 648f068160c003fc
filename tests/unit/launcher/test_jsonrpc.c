/*
 * What goes out as JSON-RPC: a message that cannot be held, and one that is no text.
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

#include "launcher/jsonrpc.h"

#include "base/banned.h"

struct scene {
	struct hl_loop *loop;
	struct line line;
	int peer;
	unsigned ends;
	char text[4096]; /* what the peer has read */
};

static void
on_line(void *context, const char *text, size_t len)
{
	(void)context, (void)text, (void)len;
}

static void
on_end(void *context, const char *why)
{
	struct scene *scene = context;

	assert_non_null(why);
	scene->ends++;
}

static void
on_drained(void *context)
{
	(void)context;
}

static void
begin(struct scene *scene)
{
	struct hl_err err = { 0 };
	int ends[2];
	const struct line_calls calls = { on_line, on_end, on_drained, scene };

	*scene = (struct scene){ 0 };
	assert_int_equal(hl_loop_new(&scene->loop, &err), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	int fds[2] = { ends[0], fcntl(ends[0], F_DUPFD_CLOEXEC, 3) };
	assert_int_equal(line_open(&scene->line, scene->loop, fds, &calls, &err), 0);
	scene->peer = ends[1];
}

static void
finish(struct scene *scene)
{
	line_flush(&scene->line, 1000);
	ssize_t n =
	    recv(scene->peer, scene->text, sizeof(scene->text) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	scene->text[n > 0 ? n : 0] = '\0';
	line_close(&scene->line);
	hl_loop_free(scene->loop);
	close(scene->peer);
}

/* HLU-27: whoever asked is told; nothing of the message itself is. */
static void
test_answer_too_large(void **state)
{
	struct scene scene;
	struct hl_json json;
	struct hl_buf out;

	(void)state;
	begin(&scene);
	jsonrpc_answer(&out, &json, "\"seven\"");
	hl_json_string(&json, "piece");
	out.failed = true;
	jsonrpc_send(&scene.line, &out, &json, "\"seven\"");
	finish(&scene);
	assert_int_equal(scene.ends, 0);
	assert_non_null(strstr(scene.text, "\"id\":\"seven\",\"error\""));
	assert_non_null(strstr(scene.text, "HLU-27"));
	assert_null(strstr(scene.text, "piece"));
}

/* Nobody waits for it, but a number of the sequence would be missing. */
static void
test_notification_too_large(void **state)
{
	struct scene scene;
	struct hl_json json;
	struct hl_buf out;

	(void)state;
	begin(&scene);
	jsonrpc_notify(&out, &json, "output");
	hl_json_end_object(&json);
	out.failed = true;
	jsonrpc_send(&scene.line, &out, &json, NULL);
	finish(&scene);
	assert_int_equal(scene.ends, 1);
	assert_string_equal(scene.text, "");
}

static void
test_message_is_a_text(void **state)
{
	struct scene scene;
	struct hl_err err = { 0 };

	(void)state;
	begin(&scene);
	hl_err_set(&err, HLU_20, "no '%s'", "\xc3");
	hl_err_help(&err, "not %s", "\xff");
	jsonrpc_fail(&scene.line, "1", JSONRPC_BAD_PARAMS, &err);
	finish(&scene);
	assert_non_null(strstr(scene.text, "\"message\":\"no '\xef\xbf\xbd'\""));
	assert_non_null(strstr(scene.text, "\"help\":\"not \xef\xbf\xbd\""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer_too_large),
		cmocka_unit_test(test_notification_too_large),
		cmocka_unit_test(test_message_is_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
