/*
 * JSON-RPC: calls, and what can be done to one while it runs.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/rpc.h"

#include "base/banned.h"

enum {
	STDIN_ROOM = 256 * 1024, /* a stdin request is answered when no more than this waits */
	PIECE_MAX = 64 * 1024,   /* of output in one message: as JSON six times that at most */
	WINDOW_MAX = 10000,      /* rows and columns of a terminal */
	KILLED_QUEUE = 4 << 20,  /* when more than this waits, a killed call's output is left out */
};

void
rpc_exec_free(struct rpc_exec *exec)
{
	struct rpc_exec **link = &exec->rpc->execs;

	while (*link != exec)
		link = &(*link)->next;
	*link = exec->next;
	while (exec->waits != NULL) {
		struct rpc_wait *wait = exec->waits;
		exec->waits = wait->next;
		free(wait->id);
		free(wait);
	}
	if (exec->call != NULL)
		served_release(exec->call);
	free(exec->id);
	free(exec);
}

static void
answer_waits(struct rpc_exec *exec)
{
	while (exec->waits != NULL) {
		struct rpc_wait *wait = exec->waits;
		exec->waits = wait->next;
		rpc_done(exec->rpc, wait->id);
		free(wait->id);
		free(wait);
	}
}

/* ------------------------------------------------------------------------------------------------
 * What a call tells
 */
static void
put_call(struct hl_json *json, const struct rpc_exec *exec)
{
	hl_json_key(json, "call");
	if (exec->is_background) {
		char handle[CALL_HANDLE_SIZE];
		served_handle(exec->call, handle);
		hl_json_string(json, handle);
	} else {
		hl_json_raw(json, exec->id);
	}
}

static void
on_started(void *context, struct call *call)
{
	struct rpc_exec *exec = context;
	struct hl_buf out;
	struct hl_json json;

	(void)call;
	if (!exec->is_streamed)
		return;
	rpc_notify(exec->rpc, &out, &json, "started");
	put_call(&json, exec);
	hl_json_end_object(&json);
	rpc_send(exec->rpc, &out, &json, NULL);
}

static void
put_piece(struct rpc_exec *exec, int stream, const char *bytes, size_t len)
{
	struct hl_buf out;
	struct hl_json json;

	rpc_notify(exec->rpc, &out, &json, "output");
	put_call(&json, exec);
	hl_json_key(&json, "stream");
	hl_json_string(&json, stream == 1 ? "stdout" : "stderr");
	hl_json_key(&json, "data");
	hl_json_stringn(&json, bytes, len);
	hl_json_end_object(&json);
	rpc_send(exec->rpc, &out, &json, NULL);
}

static void
on_output(void *context, struct call *call, int stream, const char *bytes, size_t len)
{
	struct rpc_exec *exec = context;

	if (!exec->is_streamed)
		return;
	if (session_call_is_killed(call->session_call) &&
	    line_queued(&exec->rpc->conn->line) > KILLED_QUEUE) {
		call->dropped[stream - 1] += len;
		return;
	}
	for (size_t at = 0; at < len; at += PIECE_MAX)
		put_piece(exec, stream, bytes + at, len - at < PIECE_MAX ? len - at : PIECE_MAX);
	/* As long as the peer keeps up, the command need not wait for the queue to be empty. */
	if (line_queued(&exec->rpc->conn->line) < CALL_CREDIT)
		served_taken(call);
}

static void
on_input(void *context, struct call *call)
{
	struct rpc_exec *exec = context;

	if (served_waiting(call) <= STDIN_ROOM)
		answer_waits(exec);
}

static void
answer_result(const struct rpc_exec *exec, struct call *call)
{
	struct hl_buf out;
	struct hl_json json;

	jsonrpc_answer(&out, &json, exec->id);
	served_put_result(&json, call, !exec->is_streamed);
	if (out.failed) {
		hl_buf_done_secret(&out);
		served_leave_out(call);
		jsonrpc_answer(&out, &json, exec->id);
		served_put_result(&json, call, false);
	}
	rpc_send(exec->rpc, &out, &json, exec->id);
}

static void
on_end(void *context, struct call *call)
{
	struct rpc_exec *exec = context;
	struct rpc *rpc = exec->rpc;
	struct hl_buf out;
	struct hl_json json;

	answer_waits(exec);
	if (exec->is_background) {
		rpc_notify(rpc, &out, &json, "exited");
		put_call(&json, exec);
		hl_json_key(&json, "result");
		served_put_result(&json, call, false);
		hl_json_end_object(&json);
		rpc_send(rpc, &out, &json, NULL);
	} else {
		answer_result(exec, call);
	}
	rpc_exec_free(exec);
	conn_settle(rpc->conn);
}

/* ------------------------------------------------------------------------------------------------
 * exec
 */
int
rpc_env(const json_t *object, struct hl_strv *env, struct hl_err *err)
{
	const char *key;
	json_t *value;
	json_t *mutable = json_incref((json_t *)(uintptr_t)object);
	int status = 0;

	if (object != NULL && !json_is_null(object) && !json_is_object(object))
		status = hl_err_set(err, HLU_20, "variables are an object of texts");
	json_object_foreach(mutable, key, value)
	{
		const char *text = json_in_text(value);
		if (text == NULL && status == 0)
			status = hl_err_set(err, HLU_20, "variable '%.60s' is not a text", key);
		else if (status == 0 && !hl_is_env_name(key, strlen(key)))
			status =
			    hl_err_set(err, HLU_20, "'%.60s' is not the name of a variable", key);
		else if (status == 0)
			hl_strv_addf(env, "%s=%s", key, text);
	}
	json_decref(mutable);
	return status != 0 ? -1 : hl_strv_check(env, "env", err);
}

/* A wall limit may only tighten, as --timeout. */
int
rpc_timeout(const struct serve *serve, const char *text, uint64_t *ret_ms, struct hl_err *err)
{
	const struct plan_number *wall = &serve->run->plan.limits[PLAN_LIMIT_WALL];

	if (text == NULL)
		return 0;
	if (hl_parse_duration(text, ret_ms, err) != 0) {
		err->code = HLU_20;
		return hl_err_wrap(err, "timeout");
	}
	if (*ret_ms == 0)
		return hl_err_set(err, HLU_20, "a timeout of nothing ends every call");
	if (wall->has && *ret_ms > wall->value)
		return hl_err_set(err, HLC_30, "timeout %.40s is more than limits.wall", text);
	return 0;
}

static int
read_pty(const json_t *params, struct call_ask *ask, struct hl_err *err)
{
	static const char *const members[] = { "rows", "columns", NULL };
	const json_t *pty = json_object_get(params, "pty");
	uint64_t rows = 24, columns = 80;

	if (pty == NULL || json_is_null(pty) || json_is_false(pty))
		return 0;
	if (!json_is_true(pty) && !json_is_object(pty))
		return hl_err_set(err, HLU_20, "'pty' is not true or {\"rows\":N,\"columns\":N}");
	if (json_is_object(pty) && (json_in_only(pty, members, err) != 0 ||
				       json_in_u64(pty, "rows", WINDOW_MAX, &rows, err) != 0 ||
				       json_in_u64(pty, "columns", WINDOW_MAX, &columns, err) != 0))
		return -1;
	ask->flags |= SESSION_CALL_PTY;
	ask->rows = (uint32_t)rows;
	ask->columns = (uint32_t)columns;
	return 0;
}

static int
read_flags(const json_t *params, struct call_ask *ask, struct hl_err *err)
{
	bool merged = false, options = false;

	if (json_in_bool(params, "merged", &merged, err) != 0 ||
	    json_in_bool(params, "options", &options, err) != 0 ||
	    json_in_bool(params, "stream", &ask->is_streamed, err) != 0 ||
	    json_in_bool(params, "background", &ask->is_background, err) != 0)
		return -1;
	ask->flags |= merged ? SESSION_CALL_MERGED : 0;
	ask->flags |= options ? SESSION_CALL_OPTIONS : 0;
	return read_pty(params, ask, err);
}

static int
read_command(const json_t *params, struct call_ask *ask, struct hl_err *err)
{
	if (json_in_string(params, "command", &ask->command, err) != 0 ||
	    json_in_strings(params, "argv", &ask->argv, err) != 0)
		return -1;
	if ((ask->command != NULL) == (ask->argv.len > 0))
		return hl_err_set(err, HLU_20, "exec needs 'command', or 'argv', and not both");
	if (ask->command != NULL)
		ask->flags |= SESSION_CALL_SHELL;
	return json_in_string(params, "cwd", &ask->cwd, err);
}

/* text or bytes: all of the input; true: it comes in stdin requests. */
static int
read_stdin(const json_t *params, struct call_ask *ask, struct hl_buf *input, bool *ret_ends,
    struct hl_err *err)
{
	const json_t *value = json_object_get(params, "stdin");

	*ret_ends = false;
	if (value == NULL || json_is_null(value) || json_is_false(value))
		return 0;
	ask->flags |= SESSION_CALL_STDIN;
	if (json_is_true(value))
		return 0;
	*ret_ends = true;
	return json_in_bytes(value, input, err);
}

static int
read_exec(struct rpc *rpc, const json_t *params, struct call_ask *ask, struct hl_err *err)
{
	bool shared = false;
	const char *timeout = NULL;

	if (read_command(params, ask, err) != 0 || read_flags(params, ask, err) != 0 ||
	    json_in_string(params, "timeout", &timeout, err) != 0 ||
	    rpc_timeout(rpc->conn->serve, timeout, &ask->wall_ms, err) != 0 ||
	    json_in_bool(params, "shared", &shared, err) != 0 ||
	    rpc_env(json_object_get(params, "env"), &ask->env, err) != 0)
		return -1;
	ask->state = shared ? rpc->conn->serve->common : rpc->state;
	return 0;
}

static int
check_new(const struct rpc *rpc, const char *id, struct hl_err *err)
{
	for (const struct rpc_exec *exec = rpc->execs; exec != NULL; exec = exec->next)
		if (strcmp(exec->id, id) == 0)
			return hl_err_set(err, HLU_20, "a call of this id is running");
	return 0;
}

static int
start(struct rpc *rpc, const char *id, struct call_ask *ask, struct rpc_exec **ret_exec,
    struct hl_err *err)
{
	struct rpc_exec *exec = calloc(1, sizeof(*exec));

	if (exec == NULL)
		return hl_err_oom(err);
	exec->rpc = rpc;
	exec->id = strdup(id);
	exec->is_streamed = ask->is_streamed;
	exec->is_background = ask->is_background;
	exec->next = rpc->execs;
	rpc->execs = exec;
	ask->context = exec;
	if (exec->id == NULL) {
		rpc_exec_free(exec);
		return hl_err_oom(err);
	}
	if (served_start(rpc->conn->serve, ask, &exec->call, err) != 0) {
		exec->call = NULL;
		rpc_exec_free(exec);
		return -1;
	}
	*ret_exec = exec;
	return 0;
}

static void
answer_background(struct rpc_exec *exec)
{
	struct hl_buf out;
	struct hl_json json;

	jsonrpc_answer(&out, &json, exec->id);
	hl_json_object(&json);
	put_call(&json, exec);
	hl_json_end_object(&json);
	rpc_send(exec->rpc, &out, &json, exec->id);
}

int
rpc_exec_method(struct rpc *rpc, const struct jsonrpc *message, struct hl_err *err)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf input;
	struct call_ask ask = {
		.face = "rpc",
		.on_started = on_started,
		.on_output = on_output,
		.on_input = on_input,
		.on_end = on_end,
	};
	struct rpc_exec *exec = NULL;
	bool ends = false;

	hl_buf_init(&input, LINE_MAX_BYTES);
	hl_strv_init(&ask.argv, RUNNER_ARGV_MAX);
	hl_strv_init(&ask.env, RUNNER_ENV_MAX);
	int status = check_new(rpc, message->id, err);
	if (status == 0)
		status = read_exec(rpc, message->params, &ask, err);
	if (status == 0)
		status = read_stdin(message->params, &ask, &input, &ends, err);
	if (status == 0)
		status = start(rpc, message->id, &ask, &exec, err);
	hl_strv_done_secret(&ask.argv);
	hl_strv_done_secret(&ask.env);
	if (status != 0)
		return -1;
	if (ask.is_background)
		answer_background(exec);
	if (ends && served_input(exec->call, input.data, input.len, err) != 0)
		served_cancel(exec->call); /* it has begun: its own answer says how it ended */
	if (ends)
		served_input_end(exec->call);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * While it runs
 */
int
rpc_find(struct rpc *rpc, const json_t *params, struct rpc_exec **ret_exec, struct call **ret_call,
    struct hl_err *err)
{
	const json_t *name = json_object_get(params, "call");
	HL_AUTO_FREE char *id =
	    name != NULL ? json_dumps(name, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	*ret_exec = NULL;
	for (struct rpc_exec *exec = rpc->execs; id != NULL && exec != NULL; exec = exec->next) {
		if (strcmp(exec->id, id) != 0 || exec->is_background)
			continue;
		*ret_exec = exec;
		*ret_call = exec->call;
		return 0;
	}
	*ret_call =
	    json_is_string(name) ? served_find(rpc->conn->serve, json_string_value(name)) : NULL;
	if (*ret_call == NULL)
		return hl_err_set(err, HLU_26, "there is no call %.60s", id != NULL ? id : "named");
	for (struct rpc_exec *exec = rpc->execs; exec != NULL; exec = exec->next)
		if (exec->call == *ret_call)
			*ret_exec = exec;
	return 0;
}

/* Answered when the call has taken most of it: whoever waits for the answer cannot flood us. */
int
rpc_stdin(struct rpc *rpc, const struct jsonrpc *message, struct hl_err *err)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf bytes;
	struct rpc_exec *exec;
	struct call *call;
	bool ends = false;
	const json_t *data = json_object_get(message->params, "data");

	hl_buf_init(&bytes, LINE_MAX_BYTES);
	if (rpc_find(rpc, message->params, &exec, &call, err) != 0 ||
	    json_in_bool(message->params, "end", &ends, err) != 0 ||
	    (data != NULL && json_in_bytes(data, &bytes, err) != 0) ||
	    served_input(call, bytes.data, bytes.len, err) != 0)
		return -1;
	if (ends)
		served_input_end(call);
	if (exec == NULL || served_waiting(call) <= STDIN_ROOM) {
		rpc_done(rpc, message->id);
		return 0;
	}
	struct rpc_wait *wait = calloc(1, sizeof(*wait));
	if (wait == NULL)
		return hl_err_oom(err);
	wait->id = strdup(message->id);
	if (wait->id == NULL) {
		free(wait);
		return hl_err_oom(err);
	}
	wait->next = exec->waits;
	exec->waits = wait;
	return 0;
}

int
rpc_stdin_end(struct rpc *rpc, const struct jsonrpc *message, struct hl_err *err)
{
	struct rpc_exec *exec;
	struct call *call;

	if (rpc_find(rpc, message->params, &exec, &call, err) != 0)
		return -1;
	served_input_end(call);
	rpc_done(rpc, message->id);
	return 0;
}

/* The exec's own answer says how it ended; this one says that it was asked. */
int
rpc_cancel(struct rpc *rpc, const struct jsonrpc *message, struct hl_err *err)
{
	struct rpc_exec *exec;
	struct call *call;

	if (rpc_find(rpc, message->params, &exec, &call, err) != 0)
		return -1;
	rpc_done(rpc, message->id);
	served_cancel(call);
	return 0;
}

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "ABRT", SIGABRT },
	{ "ALRM", SIGALRM },
	{ "CHLD", SIGCHLD },
	{ "CONT", SIGCONT },
	{ "HUP", SIGHUP },
	{ "INT", SIGINT },
	{ "KILL", SIGKILL },
	{ "PIPE", SIGPIPE },
	{ "QUIT", SIGQUIT },
	{ "STOP", SIGSTOP },
	{ "TERM", SIGTERM },
	{ "TSTP", SIGTSTP },
	{ "TTIN", SIGTTIN },
	{ "TTOU", SIGTTOU },
	{ "USR1", SIGUSR1 },
	{ "USR2", SIGUSR2 },
	{ "WINCH", SIGWINCH },
};

/* "TERM", "SIGTERM" or a number. */
static int
read_signal(const json_t *params, int *ret_number, struct hl_err *err)
{
	const json_t *value = json_object_get(params, "signal");
	const char *name = json_string_value(value);

	if (json_is_integer(value) && json_integer_value(value) >= 1 &&
	    json_integer_value(value) <= 64) {
		*ret_number = (int)json_integer_value(value);
		return 0;
	}
	if (name != NULL && strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (size_t i = 0; name != NULL && i < HL_ARRAY_SIZE(signals); i++) {
		if (strcmp(signals[i].name, name) == 0) {
			*ret_number = signals[i].number;
			return 0;
		}
	}
	return hl_err_set(err, HLU_20, "'signal' is no signal's name or number");
}

int
rpc_signal(struct rpc *rpc, const struct jsonrpc *message, struct hl_err *err)
{
	struct rpc_exec *exec;
	struct call *call;
	int number = 0;

	if (rpc_find(rpc, message->params, &exec, &call, err) != 0 ||
	    read_signal(message->params, &number, err) != 0)
		return -1;
	if (call->is_over)
		return hl_err_set(err, HLU_26, "the call has ended");
	session_call_signal(call->session_call, number);
	rpc_done(rpc, message->id);
	return 0;
}

int
rpc_resize(struct rpc *rpc, const struct jsonrpc *message, struct hl_err *err)
{
	uint64_t rows = 0, columns = 0;
	struct rpc_exec *exec;
	struct call *call;

	if (rpc_find(rpc, message->params, &exec, &call, err) != 0 ||
	    json_in_u64(message->params, "rows", WINDOW_MAX, &rows, err) != 0 ||
	    json_in_u64(message->params, "columns", WINDOW_MAX, &columns, err) != 0)
		return -1;
	if (rows == 0 || columns == 0 || (call->ask.flags & SESSION_CALL_PTY) == 0)
		return hl_err_set(err, HLU_20, "resize needs a call with a pty, rows and columns");
	if (!call->is_over)
		session_call_resize(call->session_call, (uint32_t)rows, (uint32_t)columns);
	rpc_done(rpc, message->id);
	return 0;
}
