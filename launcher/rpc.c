/*
 * JSON-RPC 2.0 (jsonrpc.org/specification), one object a line, no batches: what a message is, which
 * method it means, and how answers look.
 */
#include "launcher/rpc.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static rpc_method rpc_close;

static const struct {
	const char *name;
	rpc_method *function;
	const char *params[16];
} methods[] = {
	{ "background.kill", rpc_background_kill, { "call" } },
	{ "background.list", rpc_background_list, { NULL } },
	{ "background.read", rpc_background_read, { "call", "offset", "length" } },
	{ "cancel", rpc_cancel, { "call" } },
	{ "close", rpc_close, { "wait" } },
	{ "exec", rpc_exec_method,
	    { "command", "argv", "cwd", "env", "timeout", "stdin", "pty", "merged", "stream",
		"background", "options", "shared" } },
	{ "resize", rpc_resize, { "call", "rows", "columns" } },
	{ "signal", rpc_signal, { "call", "signal" } },
	{ "state", rpc_state, { "cwd", "set", "unset", "shared" } },
	{ "stdin", rpc_stdin, { "call", "data", "end" } },
	{ "stdin_end", rpc_stdin_end, { "call" } },
};

/* ------------------------------------------------------------------------------------------------
 * Out
 */
void
rpc_notify(struct rpc *rpc, struct hl_buf *out, struct hl_json *json, const char *method)
{
	jsonrpc_notify(out, json, method);
	hl_json_key(json, "seq");
	hl_json_u64(json, rpc->seq++);
}

void
rpc_send(struct rpc *rpc, struct hl_buf *out, struct hl_json *json, const char *id)
{
	jsonrpc_send(&rpc->conn->line, out, json, id);
}

void
rpc_done(struct rpc *rpc, const char *id)
{
	struct hl_buf out;
	struct hl_json json;

	jsonrpc_answer(&out, &json, id);
	hl_json_object(&json);
	hl_json_end_object(&json);
	rpc_send(rpc, &out, &json, id);
}

/* ------------------------------------------------------------------------------------------------
 * In
 */
static void
call_method(struct rpc *rpc, const struct jsonrpc *message)
{
	struct line *line = &rpc->conn->line;
	struct hl_err err = { 0 };

	for (size_t i = 0; i < HL_ARRAY_SIZE(methods); i++) {
		if (strcmp(methods[i].name, message->method) != 0)
			continue;
		if (message->id == NULL) {
			hl_err_set(&err, HLU_20, "method '%s' needs an id", message->method);
			jsonrpc_fail(line, NULL, JSONRPC_INVALID, &err);
		} else if (json_in_only(message->params, methods[i].params, &err) != 0 ||
			   methods[i].function(rpc, message, &err) != 0) {
			jsonrpc_fail(line, message->id, jsonrpc_number(&err), &err);
		}
		return;
	}
	if (message->id == NULL)
		return; /* a notification that we do not know asks for nothing */
	hl_err_set(&err, HLU_20, "there is no method '%.60s'", message->method);
	jsonrpc_fail(line, message->id, JSONRPC_NO_METHOD, &err);
}

static void
rpc_line(void *self, const char *text, size_t len)
{
	struct rpc *rpc = self;
	struct jsonrpc message;

	if (jsonrpc_read(&rpc->conn->line, text, len, &message))
		call_method(rpc, &message);
	jsonrpc_done(&message);
	conn_settle(rpc->conn);
}

/* With wait, calls in the foreground end by themselves first; without, they are cancelled. */
static int
rpc_close(struct rpc *rpc, const struct jsonrpc *message, struct hl_err *err)
{
	bool waits = false;

	if (json_in_bool(message->params, "wait", &waits, err) != 0)
		return -1;
	rpc->conn->is_closing = true;
	rpc_done(rpc, message->id);
	for (struct rpc_exec *exec = rpc->execs; exec != NULL && !waits; exec = exec->next)
		served_cancel(exec->call);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * As a protocol
 */
static void *
rpc_open(struct conn *conn)
{
	struct hl_err ignored;
	struct rpc *rpc = calloc(1, sizeof(*rpc));

	if (rpc == NULL)
		return NULL;
	rpc->conn = conn;
	if (session_state_new(conn->serve->run->plan.cwd, &rpc->state, &ignored) == 0)
		return rpc;
	free(rpc);
	return NULL;
}

static void
rpc_drained(void *self)
{
	struct rpc *rpc = self;

	for (struct rpc_exec *exec = rpc->execs; exec != NULL; exec = exec->next)
		if (exec->is_streamed)
			served_taken(exec->call);
	conn_settle(rpc->conn);
}

static void
rpc_ended(void *self)
{
	struct rpc *rpc = self;

	for (struct rpc_exec *exec = rpc->execs; exec != NULL; exec = exec->next)
		if (!exec->is_background)
			served_cancel(exec->call);
}

static bool
rpc_is_idle(const void *self)
{
	const struct rpc *rpc = self;

	for (const struct rpc_exec *exec = rpc->execs; exec != NULL; exec = exec->next)
		if (!exec->is_background)
			return false;
	return true;
}

static void
rpc_free(void *self)
{
	struct rpc *rpc = self;

	while (rpc->execs != NULL)
		rpc_exec_free(rpc->execs);
	session_state_free(rpc->state);
	free(rpc);
}

const struct protocol protocol_rpc = {
	.name = "rpc",
	.open = rpc_open,
	.line = rpc_line,
	.drained = rpc_drained,
	.ended = rpc_ended,
	.is_idle = rpc_is_idle,
	.free = rpc_free,
};
