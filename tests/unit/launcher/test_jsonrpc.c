/*
 * What goes out as JSON-RPC: a message that cannot be held, and one that is no text. What comes in
 * as an answer.
 */
#include <stdlib.h>
#include <string.h>

#include "launcher/jsonrpc.h"
#include "tests/unit/launcher/line_scene.h"

#include "base/banned.h"

struct scene {
	struct line_scene at;
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
begin(struct scene *scene)
{
	const struct line_calls calls = { on_line, on_end, on_drained, scene };

	*scene = (struct scene){ 0 };
	line_scene_begin(&scene->at, &calls);
}

static void
finish(struct scene *scene)
{
	line_flush(&scene->at.line, 1000);
	ssize_t n =
	    recv(scene->at.peer, scene->text, sizeof(scene->text) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	scene->text[n > 0 ? n : 0] = '\0';
	line_scene_finish(&scene->at);
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
	jsonrpc_send(&scene.at.line, &out, &json, "\"seven\"");
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
	jsonrpc_send(&scene.at.line, &out, &json, NULL);
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
	jsonrpc_fail(&scene.at.line, "1", JSONRPC_BAD_PARAMS, &err);
	finish(&scene);
	assert_non_null(strstr(scene.text, "\"message\":\"no '\xef\xbf\xbd'\""));
	assert_non_null(strstr(scene.text, "\"help\":\"not \xef\xbf\xbd\""));
}

static int
read_reply(const char *text, struct jsonrpc_reply *reply)
{
	struct hl_err err = { 0 };

	int status = jsonrpc_read_reply(text, strlen(text), reply, &err);
	assert_int_equal(err.code, status == 0 ? HL_OK : HLI_02);
	return status;
}

static void
test_reply(void **state)
{
	struct jsonrpc_reply reply;

	(void)state;
	assert_int_equal(read_reply("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", &reply), 0);
	assert_true(reply.method == NULL && reply.id == 7 && reply.result != NULL);
	jsonrpc_reply_done(&reply);
	assert_int_equal(
	    read_reply("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"message\":\"no\"}}", &reply),
	    0);
	assert_true(reply.id == 0 && reply.result == NULL);
	assert_string_equal(reply.message, "no");
	jsonrpc_reply_done(&reply);
	assert_int_equal(read_reply("{\"jsonrpc\":\"2.0\",\"method\":\"output\",\"params\":{}}",
			     &reply),
	    0);
	assert_string_equal(reply.method, "output");
	jsonrpc_reply_done(&reply);
}

static void
test_no_reply(void **state)
{
	static const char *const texts[] = {
		"",
		"nothing",
		"[]",
		"1",
		"{}",
		"{\"jsonrpc\":\"2.0\"}",
		"{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":-1,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{\"message\":\"no\"}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":1,\"params\":{}}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"output\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"output\",\"params\":[]}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"output\",\"params\":{}}",
	};
	struct jsonrpc_reply reply;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(texts); i++)
		if (read_reply(texts[i], &reply) == 0)
			fail_msg("taken: %s", texts[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer_too_large),
		cmocka_unit_test(test_notification_too_large),
		cmocka_unit_test(test_message_is_a_text),
		cmocka_unit_test(test_reply),
		cmocka_unit_test(test_no_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
