/*
 * The Model Context Protocol: tools terminal (a command, to its end) and process (commands in the
 * background).
 */
#include <stdlib.h>
#include <string.h>

#include "launcher/mcp.h"
#include "launcher/rpc.h"

#include "base/banned.h"

enum {
	TEXT_MAX = 64 << 20,
	WAIT_MS = 30 * 1000,
	WAIT_MAX_MS = 10 * 60 * 1000,
	LOG_MAX = 64 * 1024,
};

/* ------------------------------------------------------------------------------------------------
 * terminal
 */
static void
put_message(struct hl_buf *text, const struct hl_err *err)
{
	hl_buf_putc(text, '\n');
	text_put_lossy(text, err->msg, strlen(err->msg));
	hl_buf_putf(text, " [%s]", hl_code_info(err->code)->id);
}

static void
put_end(struct hl_buf *text, const struct session_result *result)
{
	if (result->how == RUNNER_EXITED && result->code != 0)
		hl_buf_putf(text, "\n[exit status %u]", result->code);
	else if (result->how == RUNNER_SIGNALED)
		hl_buf_putf(text, "\n[ended by signal %u]", result->signal);
	else if (result->how != RUNNER_EXITED)
		hl_buf_putf(text, "\n[%s]", runner_how_name(result->how));
	if (result->err.code != HL_OK)
		put_message(text, &result->err);
}

static void
put_output(struct hl_buf *text, const struct session_result *result)
{
	served_put_text(text, &result->out);
	if (result->err_out.total > 0) {
		hl_buf_puts(text, text->len > 0 ? "\n[stderr]\n" : "[stderr]\n");
		served_put_text(text, &result->err_out);
	}
}

static void
answer_with(const struct mcp_call *call, bool has_output, struct hl_buf *out, struct hl_json *json)
{
	const struct session_result *result = call->call->result;
	HL_AUTO(hl_buf_done_secret) struct hl_buf text;

	hl_buf_init(&text, TEXT_MAX);
	if (has_output)
		put_output(&text, result);
	else
		hl_buf_puts(&text, "[the output is larger than an answer may be]");
	put_end(&text, result);
	/* A command that says no has been run: only one that could not be is an error. */
	mcp_answer(out, json, call->id, &text,
	    result->how != RUNNER_EXITED && result->how != RUNNER_SIGNALED);
	served_put_result(json, call->call, has_output);
	out->failed |= text.failed;
}

static void
answer_terminal(struct mcp_call *call)
{
	struct hl_buf out;
	struct hl_json json;

	answer_with(call, true, &out, &json);
	if (out.failed) {
		hl_buf_done_secret(&out);
		served_leave_out(call->call);
		answer_with(call, false, &out, &json);
	}
	mcp_answer_end(call->mcp, &out, &json, call->id);
}

/* What terminal and process start have in common. */
static int
read_ask(struct mcp *mcp, const json_t *arguments, struct call_ask *ask, struct hl_err *err)
{
	const char *timeout = NULL;

	ask->state = mcp->state;
	ask->flags |= SESSION_CALL_SHELL;
	if (json_in_string(arguments, "command", &ask->command, err) != 0 ||
	    json_in_string(arguments, "cwd", &ask->cwd, err) != 0 ||
	    json_in_string(arguments, "timeout", &timeout, err) != 0 ||
	    rpc_env(json_object_get(arguments, "env"), &ask->env, err) != 0)
		return -1;
	if (ask->command == NULL)
		return hl_err_set(err, HLU_20, "'command' is missing");
	return rpc_timeout(mcp->conn->serve, timeout, &ask->wall_ms, err);
}

int
mcp_terminal(struct mcp *mcp, const struct jsonrpc *message, const json_t *arguments,
    struct hl_err *err)
{
	static const char *const names[] = { "command", "cwd", "env", "timeout", "stdin", NULL };
	const json_t *bytes = json_object_get(arguments, "stdin");
	HL_AUTO(hl_buf_done_secret) struct hl_buf input;
	struct call_ask ask = { 0 };
	struct mcp_call *call = NULL;

	hl_buf_init(&input, LINE_MAX_BYTES);
	hl_strv_init(&ask.env, RUNNER_ENV_MAX);
	int status = json_in_only(arguments, names, err);
	if (status == 0)
		status = read_ask(mcp, arguments, &ask, err);
	if (status == 0 && bytes != NULL)
		status = json_in_bytes(bytes, &input, err);
	if (status == 0) {
		call = mcp_call_new(mcp, message, err);
		status = call != NULL ? 0 : -1;
	}
	if (status == 0) {
		call->answer = answer_terminal;
		status = mcp_call_start(call, &ask, bytes != NULL ? &input : NULL, err);
	}
	hl_strv_done_secret(&ask.env);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * process
 */
static void
put_line(struct hl_buf *text, const struct call *call)
{
	char handle[CALL_HANDLE_SIZE];

	served_handle(call, handle);
	hl_buf_putf(text, "%s ", handle);
	if (!call->is_over)
		hl_buf_puts(text, "runs");
	else
		hl_buf_putf(text, "%s, status %d%s", runner_how_name(call->result->how),
		    call->result->status, served_has_left(call) ? ", processes of it run on" : "");
}

static void
answer_state(struct mcp *mcp, const char *id, const struct call *call, const struct hl_buf *output)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf text;
	struct hl_buf out;
	struct hl_json json;

	hl_buf_init(&text, TEXT_MAX);
	put_line(&text, call);
	if (output != NULL && output->len > 0) {
		hl_buf_putc(&text, '\n');
		text_put_lossy(&text, output->data, output->len);
	}
	mcp_answer(&out, &json, id, &text, false);
	hl_json_object(&json);
	served_put_state(&json, call);
	if (output != NULL) {
		hl_json_key(&json, "output");
		hl_json_stringn(&json, output->data, output->len);
		out.failed |= output->failed || call->log.failed;
	}
	hl_json_end_object(&json);
	mcp_answer_end(mcp, &out, &json, id);
}

static int
process_start(struct mcp *mcp, const struct jsonrpc *message, const json_t *arguments,
    struct hl_err *err)
{
	struct call_ask ask = { .face = "mcp", .is_background = true };
	struct call *call = NULL;
	bool takes_input = false;

	hl_strv_init(&ask.env, RUNNER_ENV_MAX);
	int status = read_ask(mcp, arguments, &ask, err);
	if (status == 0)
		status = json_in_bool(arguments, "input", &takes_input, err);
	ask.flags |= takes_input ? SESSION_CALL_STDIN : 0;
	if (status == 0)
		status = served_start(mcp->conn->serve, &ask, &call, err);
	hl_strv_done_secret(&ask.env);
	if (status != 0)
		return -1;
	served_release(call); /* the session's, to be found by its handle */
	answer_state(mcp, message->id, call, NULL);
	return 0;
}

static int
process_list(struct mcp *mcp, const struct jsonrpc *message, const json_t *arguments,
    struct hl_err *err)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf text;
	struct hl_buf out;
	struct hl_json json;

	(void)arguments;
	(void)err;
	hl_buf_init(&text, 1 << 20);
	for (const struct call *call = mcp->conn->serve->calls; call != NULL; call = call->next) {
		if (!served_is_listed(call))
			continue;
		put_line(&text, call);
		hl_buf_putc(&text, '\n');
	}
	mcp_answer(&out, &json, message->id, &text, false);
	hl_json_object(&json);
	hl_json_key(&json, "calls");
	hl_json_array(&json);
	for (const struct call *call = mcp->conn->serve->calls; call != NULL; call = call->next) {
		if (!served_is_listed(call))
			continue;
		hl_json_object(&json);
		served_put_state(&json, call);
		hl_json_end_object(&json);
	}
	hl_json_end_array(&json);
	hl_json_end_object(&json);
	mcp_answer_end(mcp, &out, &json, message->id);
	return 0;
}

static int
find(struct mcp *mcp, const json_t *arguments, struct call **ret_call, struct hl_err *err)
{
	const char *name = NULL;

	if (json_in_string(arguments, "call", &name, err) != 0)
		return -1;
	*ret_call = name != NULL ? served_find(mcp->conn->serve, name) : NULL;
	if (*ret_call == NULL)
		return hl_err_set(err, HLU_26, "there is no background call '%.40s'",
		    name != NULL ? name : "");
	return 0;
}

/* A call that cannot be looked at any more leaves nothing behind. */
static void
forget_gone(struct mcp *mcp)
{
	for (struct mcp_seen **link = &mcp->seen; *link != NULL;) {
		struct mcp_seen *seen = *link;
		const struct call *call = mcp->conn->serve->calls;
		while (call != NULL && call->number != seen->number)
			call = call->next;
		if (call != NULL) {
			link = &seen->next;
			continue;
		}
		*link = seen->next;
		free(seen);
	}
}

static struct mcp_seen *
seen_of(struct mcp *mcp, const struct call *call)
{
	for (struct mcp_seen *seen = mcp->seen; seen != NULL; seen = seen->next)
		if (seen->number == call->number)
			return seen;
	forget_gone(mcp);
	struct mcp_seen *seen = calloc(1, sizeof(*seen));
	if (seen == NULL)
		return NULL;
	seen->number = call->number;
	seen->next = mcp->seen;
	mcp->seen = seen;
	return seen;
}

/* What is new since the last poll of this connection. */
static int
process_poll(struct mcp *mcp, const struct jsonrpc *message, const json_t *arguments,
    struct hl_err *err)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf bytes;
	struct call *call;
	const char *at;

	hl_buf_init(&bytes, LOG_MAX);
	if (find(mcp, arguments, &call, err) != 0)
		return -1;
	struct mcp_seen *seen = seen_of(mcp, call);
	if (seen == NULL)
		return hl_err_oom(err);
	size_t n = served_log(call, &seen->offset, &at);
	n = n < LOG_MAX ? n : LOG_MAX;
	hl_buf_put(&bytes, at, n);
	seen->offset += n;
	answer_state(mcp, message->id, call, &bytes);
	return 0;
}

static int
process_log(struct mcp *mcp, const struct jsonrpc *message, const json_t *arguments,
    struct hl_err *err)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf bytes;
	uint64_t offset = 0, length = LOG_MAX;
	struct call *call;
	const char *at;

	hl_buf_init(&bytes, LOG_MAX);
	if (find(mcp, arguments, &call, err) != 0 ||
	    json_in_u64(arguments, "offset", UINT64_MAX / 4, &offset, err) != 0 ||
	    json_in_u64(arguments, "length", LOG_MAX, &length, err) != 0)
		return -1;
	size_t n = served_log(call, &offset, &at);
	hl_buf_put(&bytes, at, n < length ? n : (size_t)length);
	answer_state(mcp, message->id, call, &bytes);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * process wait: an answer that comes when the command ends, or when the time is up
 */
static void
answer_wait(struct mcp_call *wait, struct call *call)
{
	struct mcp *mcp = wait->mcp;

	if (!wait->was_cancelled)
		answer_state(mcp, wait->id, call, NULL);
	mcp_call_free(wait);
	conn_settle(mcp->conn);
}

static void
on_watched_end(void *context, struct call *call)
{
	struct mcp_call *wait = context;

	wait->watched = NULL; /* unlinked already */
	answer_wait(wait, call);
}

static void
on_wait_deadline(void *context, uint32_t events)
{
	struct mcp_call *wait = context;

	(void)events;
	wait->deadline = NULL;
	answer_wait(wait, wait->watched);
}

static int
process_wait(struct mcp *mcp, const struct jsonrpc *message, const json_t *arguments,
    struct hl_err *err)
{
	uint64_t ms = WAIT_MS;
	const char *timeout = NULL;
	struct call *call;

	if (find(mcp, arguments, &call, err) != 0 ||
	    json_in_string(arguments, "timeout", &timeout, err) != 0)
		return -1;
	if (timeout != NULL && hl_parse_duration(timeout, &ms, err) != 0) {
		err->code = HLU_20;
		return -1;
	}
	if (call->is_over) {
		answer_state(mcp, message->id, call, NULL);
		return 0;
	}
	struct mcp_call *wait = mcp_call_new(mcp, message, err);
	if (wait == NULL)
		return -1;
	const struct hl_watch watch = {
		.fd = -1,
		.when_ms = hl_now_mono_ms() + (ms < WAIT_MAX_MS ? ms : WAIT_MAX_MS),
		.fn = on_wait_deadline,
		.context = wait,
	};
	if (hl_loop_add(mcp->conn->serve->loop, &watch, &wait->deadline, err) != 0) {
		mcp_call_free(wait);
		return -1;
	}
	wait->watched = call;
	wait->watch = (struct call_watch){ call->watches, on_watched_end, wait };
	call->watches = &wait->watch;
	return 0;
}

static int
process_kill(struct mcp *mcp, const struct jsonrpc *message, const json_t *arguments,
    struct hl_err *err)
{
	struct call *call;

	if (find(mcp, arguments, &call, err) != 0)
		return -1;
	served_cancel(call);
	answer_state(mcp, message->id, call, NULL);
	return 0;
}

static int
process_write(struct mcp *mcp, const struct jsonrpc *message, const json_t *arguments,
    struct hl_err *err)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf bytes;
	const json_t *data = json_object_get(arguments, "data");
	bool ends = false;
	struct call *call;

	hl_buf_init(&bytes, LINE_MAX_BYTES);
	if (find(mcp, arguments, &call, err) != 0 ||
	    json_in_bool(arguments, "end", &ends, err) != 0 ||
	    (data != NULL && json_in_bytes(data, &bytes, err) != 0) ||
	    served_input(call, bytes.data, bytes.len, err) != 0)
		return -1;
	if (ends)
		served_input_end(call);
	answer_state(mcp, message->id, call, NULL);
	return 0;
}

int
mcp_process(struct mcp *mcp, const struct jsonrpc *message, const json_t *arguments,
    struct hl_err *err)
{
	static const struct {
		const char *name;
		mcp_tool *function;
		const char *names[8];
	} actions[] = {
		{ "kill", process_kill, { "action", "call" } },
		{ "list", process_list, { "action" } },
		{ "log", process_log, { "action", "call", "offset", "length" } },
		{ "poll", process_poll, { "action", "call" } },
		{ "start", process_start,
		    { "action", "command", "cwd", "env", "timeout", "input" } },
		{ "wait", process_wait, { "action", "call", "timeout" } },
		{ "write", process_write, { "action", "call", "data", "end" } },
	};
	const char *action = json_string_value(json_object_get(arguments, "action"));

	for (size_t i = 0; action != NULL && i < HL_ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].name, action) != 0)
			continue;
		return json_in_only(arguments, actions[i].names, err) != 0
			   ? -1
			   : actions[i].function(mcp, message, arguments, err);
	}
	return hl_err_set(err, HLU_20,
	    "'action' is one of start, list, poll, log, wait, kill, write");
}
