/*
 * The Model Context Protocol: messages, the life of a tool's call, progress and cancellation. What
 * goes wrong in a tool is a result with isError, which a model can read; what goes wrong in the
 * protocol is an error of JSON-RPC.
 */
#include "launcher/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "mcp_tools.h"

#include "base/banned.h"

enum {
	PROGRESS_QUEUE = 256 * 1024, /* when more than this waits, progress is left out */
	PROGRESS_PIECE = 16 * 1024,
};

/* Newest first: what a client does not ask for by name is answered with the newest. */
static const char *const versions[] = { "2025-06-18", "2025-03-26", "2024-11-05" };

static const struct {
	const char *name;
	mcp_tool *function;
} tools[] = {
	{ "files", mcp_files },
	{ "process", mcp_process },
	{ "terminal", mcp_terminal },
};

/* ------------------------------------------------------------------------------------------------
 * Answers
 */
void
mcp_answer(struct hl_buf *out, struct hl_json *json, const char *id, const struct hl_buf *text,
    bool is_error)
{
	jsonrpc_answer(out, json, id);
	hl_json_object(json);
	hl_json_key(json, "content");
	hl_json_array(json);
	hl_json_object(json);
	hl_json_key(json, "type");
	hl_json_string(json, "text");
	hl_json_key(json, "text");
	hl_json_stringn(json, text->data, text->len);
	out->failed |= text->failed;
	hl_json_end_object(json);
	hl_json_end_array(json);
	hl_json_key(json, "isError");
	hl_json_bool(json, is_error);
	hl_json_key(json, "structuredContent");
}

void
mcp_answer_end(struct mcp *mcp, struct hl_buf *out, struct hl_json *json, const char *id)
{
	hl_json_end_object(json);
	jsonrpc_send(&mcp->conn->line, out, json, id);
}

void
mcp_answer_error(struct mcp *mcp, const char *id, const struct hl_err *err)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf text;
	struct hl_buf out;
	struct hl_json json;

	hl_buf_init(&text, 4096);
	text_put_lossy(&text, err->msg, strlen(err->msg));
	hl_buf_putf(&text, " [%s]", hl_code_info(err->code)->id);
	if (err->help[0] != '\0')
		hl_buf_putc(&text, '\n');
	text_put_lossy(&text, err->help, strlen(err->help));
	mcp_answer(&out, &json, id, &text, true);
	hl_json_object(&json);
	hl_json_key(&json, "code");
	hl_json_string(&json, hl_code_info(err->code)->id);
	hl_json_key(&json, "message");
	text_put_json(&json, err->msg);
	hl_json_end_object(&json);
	mcp_answer_end(mcp, &out, &json, id);
}

/* ------------------------------------------------------------------------------------------------
 * The life of a call
 */
struct mcp_call *
mcp_call_new(struct mcp *mcp, const struct jsonrpc *message, struct hl_err *err)
{
	struct mcp_call *call = calloc(1, sizeof(*call));
	const json_t *token =
	    json_object_get(json_object_get(message->params, "_meta"), "progressToken");

	if (call == NULL) {
		hl_err_oom(err);
		return NULL;
	}
	call->mcp = mcp;
	call->id = strdup(message->id);
	if (json_is_string(token) || json_is_integer(token))
		call->token = json_dumps(token, JSON_ENCODE_ANY | JSON_COMPACT);
	call->next = mcp->calls;
	mcp->calls = call;
	if (call->id != NULL)
		return call;
	mcp_call_free(call);
	hl_err_oom(err);
	return NULL;
}

static void
unwatch(struct mcp_call *call)
{
	if (call->watched == NULL)
		return;
	struct call_watch **link = &call->watched->watches;
	while (*link != NULL && *link != &call->watch)
		link = &(*link)->next;
	if (*link != NULL)
		*link = call->watch.next;
	call->watched = NULL;
}

void
mcp_call_free(struct mcp_call *call)
{
	struct mcp_call **link = &call->mcp->calls;

	while (*link != call)
		link = &(*link)->next;
	*link = call->next;
	unwatch(call);
	hl_source_remove(call->deadline);
	if (call->call != NULL)
		served_release(call->call);
	free(call->id);
	free(call->token);
	free(call->path);
	free(call);
}

static void
on_end(void *context, struct call *ended)
{
	struct mcp_call *call = context;
	struct mcp *mcp = call->mcp;

	(void)ended;
	if (!call->was_cancelled)
		call->answer(call);
	mcp_call_free(call);
	conn_settle(mcp->conn);
}

/* What a client wants to show while it waits. It is told again, whole, in the answer. */
static void
on_output(void *context, struct call *running, int stream, const char *bytes, size_t len)
{
	struct mcp_call *call = context;
	struct line *line = &call->mcp->conn->line;
	struct hl_buf out, text;
	struct hl_json json;

	(void)running;
	(void)stream;
	if (call->token == NULL || call->was_cancelled || line_queued(line) > PROGRESS_QUEUE)
		return;
	hl_buf_init(&text, PROGRESS_PIECE * 4);
	text_put_lossy(&text, bytes, len < PROGRESS_PIECE ? len : PROGRESS_PIECE);
	jsonrpc_notify(&out, &json, "notifications/progress");
	hl_json_key(&json, "progressToken");
	hl_json_raw(&json, call->token);
	hl_json_key(&json, "progress");
	hl_json_u64(&json, ++call->progress);
	hl_json_key(&json, "message");
	hl_json_stringn(&json, text.data, text.len);
	hl_json_end_object(&json);
	jsonrpc_send(line, &out, &json, NULL);
	hl_buf_done_secret(&text);
}

int
mcp_call_start(struct mcp_call *call, struct call_ask *ask, const struct hl_buf *input,
    struct hl_err *err)
{
	ask->face = "mcp";
	ask->context = call;
	ask->on_end = on_end;
	if (call->token != NULL)
		ask->on_output = on_output;
	if (input != NULL)
		ask->flags |= SESSION_CALL_STDIN;
	if (served_start(call->mcp->conn->serve, ask, &call->call, err) != 0) {
		call->call = NULL;
		mcp_call_free(call);
		return -1;
	}
	if (input == NULL)
		return 0;
	if (served_input(call->call, input->data, input->len, err) != 0)
		served_cancel(call->call); /* it has begun: its own answer says how it ended */
	served_input_end(call->call);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Messages
 */
static int
initialize(struct mcp *mcp, const struct jsonrpc *message, struct hl_err *err)
{
	const char *asked = json_string_value(json_object_get(message->params, "protocolVersion"));
	const char *version = versions[0];
	struct hl_buf out;
	struct hl_json json;

	(void)err;
	for (size_t i = 0; asked != NULL && i < HL_ARRAY_SIZE(versions); i++)
		if (strcmp(versions[i], asked) == 0)
			version = versions[i];
	mcp->is_initialized = true;
	jsonrpc_answer(&out, &json, message->id);
	hl_json_object(&json);
	hl_json_key(&json, "protocolVersion");
	hl_json_string(&json, version);
	hl_json_key(&json, "capabilities");
	hl_json_raw(&json, "{\"tools\":{}}");
	hl_json_key(&json, "serverInfo");
	hl_json_object(&json);
	hl_json_key(&json, "name");
	hl_json_string(&json, "hermes-launch");
	hl_json_key(&json, "version");
	hl_json_string(&json, HL_VERSION);
	hl_json_end_object(&json);
	hl_json_key(&json, "instructions");
	hl_json_string(&json,
	    "Commands run in one sandbox under a policy. Working directory, exported variables, "
	    "functions and aliases are kept from one terminal call to the next.");
	hl_json_end_object(&json);
	jsonrpc_send(&mcp->conn->line, &out, &json, message->id);
	return 0;
}

static int
ping(struct mcp *mcp, const struct jsonrpc *message, struct hl_err *err)
{
	struct hl_buf out;
	struct hl_json json;

	(void)err;
	jsonrpc_answer(&out, &json, message->id);
	hl_json_raw(&json, "{}");
	jsonrpc_send(&mcp->conn->line, &out, &json, message->id);
	return 0;
}

static int
tools_list(struct mcp *mcp, const struct jsonrpc *message, struct hl_err *err)
{
	struct hl_buf out;
	struct hl_json json;

	(void)err;
	jsonrpc_answer(&out, &json, message->id);
	hl_json_object(&json);
	hl_json_key(&json, "tools");
	for (size_t i = 0; i < HL_ARRAY_SIZE(tool_lines); i++)
		hl_buf_puts(&out, tool_lines[i]);
	json.need_comma = true;
	hl_json_end_object(&json);
	jsonrpc_send(&mcp->conn->line, &out, &json, message->id);
	return 0;
}

static bool
is_running(const struct mcp *mcp, const char *id)
{
	for (const struct mcp_call *call = mcp->calls; call != NULL; call = call->next)
		if (strcmp(call->id, id) == 0)
			return true;
	return false;
}

static int
tools_call(struct mcp *mcp, const struct jsonrpc *message, struct hl_err *err)
{
	const char *name = json_string_value(json_object_get(message->params, "name"));
	const json_t *arguments = json_object_get(message->params, "arguments");

	if (arguments != NULL && !json_is_object(arguments))
		return hl_err_set(err, HLU_20, "'arguments' is not an object");
	if (is_running(mcp, message->id))
		return hl_err_set(err, HLU_20, "a call of this id is running");
	for (size_t i = 0; name != NULL && i < HL_ARRAY_SIZE(tools); i++) {
		struct hl_err refused = { 0 };
		if (strcmp(tools[i].name, name) != 0)
			continue;
		if (tools[i].function(mcp, message, arguments, &refused) != 0)
			mcp_answer_error(mcp, message->id, &refused);
		return 0;
	}
	return hl_err_set(err, HLU_20, "there is no tool '%.60s'", name != NULL ? name : "");
}

static const struct {
	const char *name;
	int (*function)(struct mcp *mcp, const struct jsonrpc *message, struct hl_err *err);
} methods[] = {
	{ "initialize", initialize },
	{ "ping", ping },
	{ "tools/call", tools_call },
	{ "tools/list", tools_list },
};

/* Nothing of it may be answered, whether or not the command has ended already. */
static void
cancelled(struct mcp *mcp, const json_t *params)
{
	const json_t *asked = json_object_get(params, "requestId");
	HL_AUTO_FREE char *id =
	    asked != NULL ? json_dumps(asked, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	for (struct mcp_call *call = mcp->calls; id != NULL && call != NULL; call = call->next) {
		if (strcmp(call->id, id) != 0)
			continue;
		call->was_cancelled = true;
		if (call->call != NULL)
			served_cancel(call->call);
		else
			mcp_call_free(call);
		return;
	}
}

static void
handle(struct mcp *mcp, const struct jsonrpc *message)
{
	struct line *line = &mcp->conn->line;
	struct hl_err err = { 0 };

	if (message->id == NULL) {
		if (strcmp(message->method, "notifications/cancelled") == 0)
			cancelled(mcp, message->params);
		return;
	}
	if (!mcp->is_initialized && strcmp(message->method, "initialize") != 0 &&
	    strcmp(message->method, "ping") != 0) {
		hl_err_set(&err, HLU_20, "'initialize' comes first");
		jsonrpc_fail(line, message->id, JSONRPC_INVALID, &err);
		return;
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(methods); i++) {
		if (strcmp(methods[i].name, message->method) != 0)
			continue;
		if (methods[i].function(mcp, message, &err) != 0)
			jsonrpc_fail(line, message->id, jsonrpc_number(&err), &err);
		return;
	}
	hl_err_set(&err, HLU_20, "there is no method '%.60s'", message->method);
	jsonrpc_fail(line, message->id, JSONRPC_NO_METHOD, &err);
}

static void
mcp_line(void *self, const char *text, size_t len)
{
	struct mcp *mcp = self;
	struct jsonrpc message;

	if (jsonrpc_read(&mcp->conn->line, text, len, &message))
		handle(mcp, &message);
	jsonrpc_done(&message);
	conn_settle(mcp->conn);
}

/* ------------------------------------------------------------------------------------------------
 * As a protocol
 */
static void *
mcp_open(struct conn *conn)
{
	struct hl_err ignored;
	struct mcp *mcp = calloc(1, sizeof(*mcp));

	if (mcp == NULL)
		return NULL;
	mcp->conn = conn;
	if (session_state_new(conn->serve->run->plan.cwd, &mcp->state, &ignored) == 0)
		return mcp;
	free(mcp);
	return NULL;
}

static void
mcp_drained(void *self)
{
	struct mcp *mcp = self;

	conn_settle(mcp->conn);
}

static void
mcp_ended(void *self)
{
	struct mcp *mcp = self;
	struct mcp_call *next;

	for (struct mcp_call *call = mcp->calls; call != NULL; call = next) {
		next = call->next;
		call->was_cancelled = true;
		if (call->call == NULL)
			mcp_call_free(call);
		else
			served_cancel(call->call);
	}
}

static bool
mcp_is_idle(const void *self)
{
	const struct mcp *mcp = self;

	return mcp->calls == NULL;
}

static void
mcp_free(void *self)
{
	struct mcp *mcp = self;

	while (mcp->calls != NULL)
		mcp_call_free(mcp->calls);
	while (mcp->seen != NULL) {
		struct mcp_seen *seen = mcp->seen;
		mcp->seen = seen->next;
		free(seen);
	}
	session_state_free(mcp->state);
	free(mcp);
}

const struct protocol protocol_mcp = {
	.name = "mcp",
	.open = mcp_open,
	.line = mcp_line,
	.drained = mcp_drained,
	.ended = mcp_ended,
	.is_idle = mcp_is_idle,
	.free = mcp_free,
};
