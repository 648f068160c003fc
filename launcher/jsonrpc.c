/*
 * JSON-RPC 2.0 (jsonrpc.org/specification): what makes a line a request, an answer or a
 * notification, and how they look.
 */
#include "launcher/jsonrpc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/serve.h"

#include "base/banned.h"

int
jsonrpc_number(const struct hl_err *err)
{
	return err->code == HLU_20   ? JSONRPC_BAD_PARAMS
	       : err->code == HLI_01 ? JSONRPC_INTERNAL
				     : JSONRPC_REFUSED;
}

/* ------------------------------------------------------------------------------------------------
 * Out
 */
static void
begin(struct hl_buf *out, struct hl_json *json, const char *id)
{
	hl_buf_init(out, LINE_QUEUE_MAX);
	hl_json_init(json, out);
	hl_json_object(json);
	hl_json_key(json, "jsonrpc");
	hl_json_string(json, "2.0");
	if (id == NULL)
		return;
	hl_json_key(json, "id");
	hl_json_raw(json, id);
}

void
jsonrpc_answer(struct hl_buf *out, struct hl_json *json, const char *id)
{
	begin(out, json, id);
	hl_json_key(json, "result");
}

static void
put_method(struct hl_json *json, const char *method)
{
	hl_json_key(json, "method");
	hl_json_string(json, method);
	hl_json_key(json, "params");
	hl_json_object(json);
}

void
jsonrpc_request(struct hl_buf *out, struct hl_json *json, uint64_t id, const char *method)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, id);
	begin(out, json, text);
	put_method(json, method);
}

void
jsonrpc_notify(struct hl_buf *out, struct hl_json *json, const char *method)
{
	begin(out, json, NULL);
	put_method(json, method);
}

/* A piece of a message must never look like a whole one, and nobody may wait for ever. */
static void
not_sent(struct line *line, const char *id)
{
	struct hl_err err = { 0 };

	if (id == NULL) {
		line_fail(line, "a message is larger than can be held");
		return;
	}
	hl_err_set(&err, HLU_27, "it was done, but its answer is larger than can be held");
	hl_err_help(&err, "ask for less: \"stream\", or a smaller limits.output");
	jsonrpc_fail(line, id, JSONRPC_REFUSED, &err);
}

void
jsonrpc_send(struct line *line, struct hl_buf *out, struct hl_json *json, const char *id)
{
	hl_json_end_object(json);
	hl_buf_putc(out, '\n');
	bool is_whole = !out->failed;
	if (is_whole)
		line_put(line, out->data, out->len);
	hl_buf_done_secret(out);
	if (!is_whole)
		not_sent(line, id);
}

void
jsonrpc_fail(struct line *line, const char *id, int number, const struct hl_err *err)
{
	struct hl_buf out;
	struct hl_json json;

	begin(&out, &json, id != NULL ? id : "null");
	hl_json_key(&json, "error");
	hl_json_object(&json);
	hl_json_key(&json, "code");
	hl_json_i64(&json, number);
	hl_json_key(&json, "message");
	text_put_json(&json, err->msg);
	hl_json_key(&json, "data");
	hl_json_object(&json);
	hl_json_key(&json, "code");
	hl_json_string(&json, hl_code_info(err->code)->id);
	if (err->help[0] != '\0') {
		hl_json_key(&json, "help");
		text_put_json(&json, err->help);
	}
	hl_json_end_object(&json);
	hl_json_end_object(&json);
	jsonrpc_send(line, &out, &json, NULL);
}

/* ------------------------------------------------------------------------------------------------
 * In
 */
static int
check_id(const json_t *id, struct hl_err *err)
{
	if (id == NULL || json_is_string(id) || json_is_integer(id))
		return 0;
	return hl_err_set(err, HLU_20, "'id' is not a text or a whole number");
}

/* Everything that makes an object a request, but what its method is. */
static int
check_request(const struct jsonrpc *message, struct hl_err *err)
{
	static const char *const members[] = { "jsonrpc", "id", "method", "params", NULL };
	const json_t *object = message->object;
	const char *version = json_string_value(json_object_get(object, "jsonrpc"));

	if (!json_is_object(object))
		return hl_err_set(err, HLU_20, "a message is one object");
	if (version == NULL || strcmp(version, "2.0") != 0)
		return hl_err_set(err, HLU_20, "'jsonrpc' is not \"2.0\"");
	if (message->method == NULL)
		return hl_err_set(err, HLU_20, "'method' is not a text");
	if (message->params != NULL && !json_is_object(message->params))
		return hl_err_set(err, HLU_20, "'params' is not an object");
	return check_id(json_object_get(object, "id"), err) != 0
		   ? -1
		   : json_in_only(object, members, err);
}

bool
jsonrpc_read(struct line *line, const char *text, size_t len, struct jsonrpc *ret_message)
{
	struct jsonrpc *message = ret_message;
	struct hl_err err = { 0 };

	*message = (struct jsonrpc){ 0 };
	if (json_in_parse(text, len, &message->object, &err) != 0) {
		jsonrpc_fail(line, NULL, JSONRPC_PARSE, &err);
		return false;
	}
	const json_t *id = json_object_get(message->object, "id");
	message->params = json_object_get(message->object, "params");
	message->method = json_string_value(json_object_get(message->object, "method"));
	if (id != NULL && check_id(id, &err) == 0)
		message->id = json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);
	if (check_request(message, &err) == 0)
		return true;
	jsonrpc_fail(line, message->id, JSONRPC_INVALID, &err);
	return false;
}

void
jsonrpc_done(struct jsonrpc *message)
{
	free(message->id);
	json_decref(message->object);
	*message = (struct jsonrpc){ 0 };
}

/* {"result":{...}} or {"error":{"code":N,"message":TEXT,"data":{...}}}, and the id. */
static bool
is_answer(struct jsonrpc_reply *reply)
{
	const json_t *id = json_object_get(reply->object, "id");
	const json_t *error = json_object_get(reply->object, "error");
	const json_t *result = json_object_get(reply->object, "result");

	reply->message = json_string_value(json_object_get(error, "message"));
	reply->data = json_object_get(error, "data");
	reply->result = result;
	/* Only an error may be an answer to nobody. */
	if (json_is_integer(id) && json_integer_value(id) > 0)
		reply->id = (uint64_t)json_integer_value(id);
	else if (!json_is_null(id) || error == NULL)
		return false;
	return error == NULL ? json_is_object(result) : result == NULL && reply->message != NULL;
}

static bool
is_reply(struct jsonrpc_reply *reply)
{
	const char *version = json_string_value(json_object_get(reply->object, "jsonrpc"));
	const json_t *method = json_object_get(reply->object, "method");

	if (version == NULL || strcmp(version, "2.0") != 0)
		return false;
	if (method == NULL)
		return is_answer(reply);
	reply->method = json_string_value(method);
	reply->params = json_object_get(reply->object, "params");
	return reply->method != NULL && json_is_object(reply->params) &&
	       json_object_get(reply->object, "id") == NULL;
}

int
jsonrpc_read_reply(const char *text, size_t len, struct jsonrpc_reply *ret_reply,
    struct hl_err *err)
{
	struct jsonrpc_reply reply = { 0 };

	if (json_in_parse(text, len, &reply.object, err) != 0) {
		err->code = HLI_02;
		return hl_err_wrap(err, "the session's answer");
	}
	if (!is_reply(&reply)) {
		jsonrpc_reply_done(&reply);
		return hl_err_set(err, HLI_02, "the session's answer is of no known form");
	}
	*ret_reply = reply;
	return 0;
}

void
jsonrpc_reply_done(struct jsonrpc_reply *reply)
{
	json_decref(reply->object);
	*reply = (struct jsonrpc_reply){ 0 };
}
