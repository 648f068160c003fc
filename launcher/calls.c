/*
 * Calls of a session, for whichever face asks: judged, recorded, fed, and told about. A call's
 * memory is bounded: what waits for its input, the window of its output, a background log, and
 * what its face has not taken yet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/serve.h"

#include "base/banned.h"

enum {
	LOG_DROP = CALL_LOG_MAX / 4
};

static void
unlink_call(struct call *call)
{
	struct call **link = &call->serve->calls;

	while (*link != NULL && *link != call)
		link = &(*link)->next;
	if (*link == call)
		*link = call->next;
}

static void
free_call(struct call *call)
{
	unlink_call(call);
	if (call->session_call != NULL)
		session_call_free(call->session_call);
	hl_buf_done_secret(&call->input);
	hl_buf_done_secret(&call->log);
	hl_buf_done_secret(&call->kept);
	session_state_free(call->own_state);
	free(call);
}

/* ------------------------------------------------------------------------------------------------
 * Input
 */
static void
feed(struct call *call)
{
	size_t before = call->input.len;

	if (call->session_call == NULL || call->is_over)
		return;
	while (call->input.len > 0) {
		size_t n =
		    session_call_stdin(call->session_call, call->input.data, call->input.len);
		if (n == 0)
			break;
		hl_buf_drop(&call->input, n);
	}
	if (call->input.len == 0 && call->input_ends) {
		call->input_ends = false;
		session_call_stdin_end(call->session_call);
	}
	if (call->input.len < before && !call->is_released && call->ask.on_input != NULL)
		call->ask.on_input(call->ask.context, call);
}

int
served_input(struct call *call, const void *bytes, size_t len, struct hl_err *err)
{
	if (call->is_over || (call->ask.flags & (SESSION_CALL_STDIN | SESSION_CALL_PTY)) == 0)
		return hl_err_set(err, HLU_26, "the call takes no input");
	if (call->input.len + len > CALL_INPUT_MAX)
		return hl_err_set(err, HLU_27, "more than 4 MiB wait for the call to read");
	hl_buf_put(&call->input, bytes, len);
	if (hl_buf_check(&call->input, "input", err) != 0)
		return -1;
	feed(call);
	return 0;
}

void
served_input_end(struct call *call)
{
	call->input_ends = true;
	feed(call);
}

size_t
served_waiting(const struct call *call)
{
	return call->input.len;
}

/* ------------------------------------------------------------------------------------------------
 * What the session tells
 */
static void
on_started(void *context)
{
	struct call *call = context;

	if (!call->is_released && call->ask.on_started != NULL)
		call->ask.on_started(call->ask.context, call);
}

static void
on_stdin_room(void *context)
{
	feed(context);
}

static void
keep_log(struct call *call, const char *bytes, size_t len)
{
	if (len > CALL_LOG_MAX) {
		call->log_start += call->log.len + len - CALL_LOG_MAX;
		hl_buf_reset(&call->log);
		bytes += len - CALL_LOG_MAX;
		len = CALL_LOG_MAX;
	}
	if (call->log.len + len > CALL_LOG_MAX + LOG_DROP) {
		size_t drop = call->log.len + len - CALL_LOG_MAX;
		hl_buf_drop(&call->log, drop);
		call->log_start += drop;
	}
	hl_buf_put(&call->log, bytes, len);
}

static void
on_output(void *context, int stream, const char *bytes, size_t len)
{
	struct call *call = context;

	if (call->ask.is_background)
		keep_log(call, bytes, len);
	if (call->ask.keep > 0 && stream == 1 && call->kept.len < call->ask.keep) {
		uint64_t room = call->ask.keep - call->kept.len;
		hl_buf_put(&call->kept, bytes, len < room ? len : (size_t)room);
	}
	if (call->ask.is_streamed)
		call->owed[stream - 1] += len;
	if (!call->is_released && call->ask.on_output != NULL)
		call->ask.on_output(call->ask.context, call, stream, bytes, len);
	else if (call->ask.is_streamed)
		served_taken(call);
}

/* A log that is required and cannot say that a call has ended ends the session. */
static void
record_end_of(struct call *call)
{
	struct hl_err err;

	if (record_call_end(call, &err) == 0)
		return;
	report_error(&err);
	call->serve->err = err;
	serve_close(call->serve);
}

static void
on_end(void *context, struct session_result *result)
{
	struct call *call = context;

	call->is_over = true;
	call->result = result;
	hl_buf_done_secret(&call->input);
	hl_buf_init(&call->input, CALL_INPUT_MAX);
	record_end_of(call);
	while (call->watches != NULL) {
		struct call_watch *watch = call->watches;
		call->watches = watch->next;
		watch->fn(watch->context, call);
	}
	if (!call->is_released)
		call->ask.on_end(call->ask.context, call);
	else
		served_release(call);
}

/* ------------------------------------------------------------------------------------------------
 * Start, end
 */
static int
send_call(struct call *call, const struct call_ask *ask, const struct hl_strv *env,
    struct hl_err *err)
{
	/* Who is told as it comes, or reads the log, never asks for the window, which can be large;
	 * but a spill file begins with it. */
	const bool has_window =
	    (!ask->is_streamed && !ask->is_background) || call->serve->run->request->keeps_output;
	const struct session_request request = {
		.flags = ask->flags | (ask->is_streamed ? SESSION_CALL_PAUSED : 0U) |
			 (has_window ? 0U : SESSION_CALL_NO_WINDOW),
		.command = ask->command,
		.argv = &ask->argv,
		.state = call->ask.state,
		.cwd = ask->cwd,
		.env = env,
		.wall_ms = ask->wall_ms,
		.rows = ask->rows,
		.columns = ask->columns,
		.on_started = on_started,
		.on_stdin_room = on_stdin_room,
		.on_output = on_output,
		.on_end = on_end,
		.context = call,
	};

	return session_call(call->serve->session, &request, &call->session_call, err);
}

/* It stands in the log as begun: a beginning has an end. */
static int
refuse(struct call *call, const struct hl_err *why)
{
	const struct session_result result = {
		.how = RUNNER_LAUNCHER_ERROR,
		.status = 125,
		.err = *why,
	};

	call->result = &result;
	record_end_of(call);
	call->result = NULL;
	free_call(call);
	return -1;
}

/* A background call outlives whoever asked for it: it begins with a copy and changes nothing. */
static int
own_state(struct call *call, struct hl_err *err)
{
	if (!call->ask.is_background || call->ask.state == NULL)
		return 0;
	if (session_state_copy(call->ask.state, &call->own_state, err) != 0)
		return -1;
	call->ask.state = call->own_state;
	return 0;
}

int
served_start(struct serve *serve, const struct call_ask *ask, struct call **ret_call,
    struct hl_err *err)
{
	HL_AUTO(hl_strv_done_secret) struct hl_strv env = { 0 };

	if (serve->session == NULL || serve->is_closing || serve->is_closed) {
		hl_err_set(err, HLU_24, "the session is ending");
		return hl_err_help(err, "ask again: the next one of that name begins anew");
	}
	if (serve_judge_env(serve, &ask->env, &env, err) != 0)
		return -1;
	struct call *call = calloc(1, sizeof(*call));
	if (call == NULL)
		return hl_err_oom(err);
	call->serve = serve;
	call->ask = *ask;
	call->number = ++serve->calls_made;
	hl_buf_init(&call->input, CALL_INPUT_MAX);
	hl_buf_init(&call->log, CALL_LOG_MAX + LOG_DROP);
	hl_buf_init(&call->kept, ask->keep > 0 ? ask->keep : 1);
	if (own_state(call, err) != 0 || record_call_start(call, ask, err) != 0) {
		free_call(call);
		return -1;
	}
	if (send_call(call, ask, &env, err) != 0)
		return refuse(call, err);
	/* These were the asker's, who may free them now. */
	call->ask.command = call->ask.cwd = NULL;
	call->ask.argv = call->ask.env = (struct hl_strv){ 0 };
	call->next = serve->calls;
	serve->calls = call;
	*ret_call = call;
	return 0;
}

void
served_taken(struct call *call)
{
	for (int stream = 1; stream <= 2; stream++) {
		uint64_t owed = call->owed[stream - 1];
		call->owed[stream - 1] = 0;
		if (owed > 0 && !call->is_over && call->session_call != NULL)
			session_call_credit(call->session_call, stream, (uint32_t)owed);
	}
}

void
served_cancel(struct call *call)
{
	if (call->is_over && call->serve->session != NULL)
		session_left_end(call->serve->session, call->result->id);
	else if (call->session_call != NULL)
		session_call_cancel(call->session_call);
}

/* ------------------------------------------------------------------------------------------------
 * Background
 */
bool
served_has_left(const struct call *call)
{
	uint64_t ids[RUNNER_CALLS_MAX];

	if (!call->is_over || !call->result->has_left || call->serve->session == NULL)
		return false;
	size_t n = session_left(call->serve->session, ids, HL_ARRAY_SIZE(ids));
	for (size_t i = 0; i < n && i < HL_ARRAY_SIZE(ids); i++)
		if (ids[i] == call->result->id)
			return true;
	return false;
}

bool
served_is_listed(const struct call *call)
{
	return call->ask.is_background || served_has_left(call);
}

void
served_handle(const struct call *call, char text[CALL_HANDLE_SIZE])
{
	snprintf(text, CALL_HANDLE_SIZE, "bg-%llu", (unsigned long long)call->number);
}

struct call *
served_find(const struct serve *serve, const char *text)
{
	for (struct call *call = serve->calls; call != NULL; call = call->next) {
		char handle[CALL_HANDLE_SIZE];
		served_handle(call, handle);
		if (served_is_listed(call) && strcmp(handle, text) == 0)
			return call;
	}
	return NULL;
}

size_t
served_log(const struct call *call, uint64_t *offset, const char **ret_bytes)
{
	if (*offset < call->log_start)
		*offset = call->log_start;
	uint64_t skip = *offset - call->log_start;
	if (skip >= call->log.len) {
		*offset = call->log_start + call->log.len;
		*ret_bytes = "";
		return 0;
	}
	*ret_bytes = call->log.data + skip;
	return call->log.len - (size_t)skip;
}

/* The newest come first in the list: what is past the maximum is the oldest. */
static void
forget_ended(struct serve *serve)
{
	size_t ended = 0;
	struct call *next;

	for (struct call *call = serve->calls; call != NULL; call = next) {
		next = call->next;
		if (call->is_over && call->is_released && ++ended > CALL_ENDED_MAX)
			free_call(call);
	}
}

void
served_release(struct call *call)
{
	call->is_released = true;
	served_taken(call);
	if (!call->is_over)
		return;
	if (served_is_listed(call))
		forget_ended(call->serve);
	else
		free_call(call);
}

void
calls_free(struct serve *serve)
{
	while (serve->calls != NULL)
		free_call(serve->calls);
}
