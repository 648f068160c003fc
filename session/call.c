/*
 * The life of a call: request to SPAWN, output on its way, EXIT to result, and what becomes of the
 * state. The channel outlives the call where the command has left something running.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/machine.h"

#include "base/banned.h"

/* ------------------------------------------------------------------------------------------------
 * The end
 */
/* The call is its owner's from here on: nothing of it is touched behind on_end. */
static void
finish(struct session_call *call)
{
	struct session_result *result = &call->result;

	hl_source_remove(call->deadline);
	call->deadline = NULL;
	snprintf(result->locked, sizeof(result->locked), "%s", call->session->locked);
	call->session = NULL;
	for (int i = 0; i < 2; i++)
		window_end(&call->windows[i]);
	result->spill = result->out.spill != NULL ? result->out.spill : result->err_out.spill;
	result->wall_ms = hl_now_mono_ms() - call->begin_ms;
	result->status = session_exit_status(result);
	hl_buf_done_secret(&call->report);
	kept_release(call->start.kept);
	call->start.kept = NULL;
	if (call->request.on_end != NULL)
		call->request.on_end(call->request.context, result);
}

void
call_abandon(struct session_call *call, const struct hl_err *err)
{
	struct session_result *result = &call->result;

	if (err->code == HL_OK)
		result->how = RUNNER_CANCELLED;
	else if (call->killed != 0 && err->code == HLB_07)
		result->how =
		    call->killed; /* we asked for the end and got it, without the answer */
	else
		result->how = err->code == HLB_02 || hl_code_info(err->code)->id[2] == 'D'
				  ? RUNNER_LAUNCHER_ERROR
				  : RUNNER_BACKEND_ERROR;
	if (result->how == RUNNER_BACKEND_ERROR || result->how == RUNNER_LAUNCHER_ERROR)
		result->err = *err;
	if (call->has_state) {
		result->state = RUNNER_STATE_LOST;
		result->state_note = "the session ended";
	}
	finish(call);
}

/* ------------------------------------------------------------------------------------------------
 * Frames of the runner
 */
void
call_started(struct session_call *call)
{
	call->result.was_started = true;
	if (call_set_deadline(call, call_wall(call, call->session)) &&
	    call->request.on_started != NULL)
		call->request.on_started(call->request.context);
}

void
call_window_add(struct session_call *call, uint32_t bytes)
{
	call->stdin_credit += bytes;
	if (call->takes_stdin && call->request.on_stdin_room != NULL)
		call->request.on_stdin_room(call->request.context);
}

void
call_output(struct channel *channel, struct session *session, int stream, const char *bytes,
    uint32_t len)
{
	struct session_call *call = channel->call;

	channel->credit[stream - 1] -= len;
	if (call == NULL) {
		background_put(&session->background, session->config.background_bytes, bytes, len);
		channel_return_credit(session, channel, stream, len);
		return;
	}
	*(stream == 1 ? &call->result.out_bytes : &call->result.err_bytes) += len;
	if (!call->is_sink)
		window_put(&call->windows[stream - 1], bytes, len, &session->config);
	bool is_paused = (call->request.flags & SESSION_CALL_PAUSED) != 0;
	if (is_paused)
		channel->held[stream - 1] += len;
	if (call->request.on_output != NULL)
		call->request.on_output(call->request.context, stream, bytes, len);
	if (!is_paused)
		channel_return_credit(session, channel, stream, len);
}

static void
merge(struct session_call *call, enum runner_state_kept kept)
{
	struct session_result *result = &call->result;
	struct report report;
	struct hl_err err;

	result->state = RUNNER_STATE_LOST;
	if (call->report.failed) {
		result->state_note = "memory ended";
		return;
	}
	if (kept == RUNNER_STATE_LOST || call->report.len == 0) {
		result->state_note =
		    "the shell could not report: exec, or a signal it cannot catch";
		return;
	}
	if (report_parse(call->report.data, call->report.len, &report, &err) != 0) {
		result->state_note = "what the shell left is not whole";
		return;
	}
	result->cwd = strdup(report.cwd);
	if (state_merge(call->state, &call->start, &report, &err) == 0)
		result->state = RUNNER_STATE_KEPT;
	else
		result->state_note = "more is to be kept than a session can keep";
	report_done(&report);
}

static void
settle_state(struct session_call *call, enum runner_state_kept kept)
{
	if (call->has_report) {
		merge(call, kept);
		return;
	}
	call->result.state = RUNNER_STATE_KEPT;
	call->result.cwd = strdup(call->cwd);
}

/* Why nothing was started, in words. */
static void
refused(struct session_call *call, const struct runner_exit *ended)
{
	struct session_result *result = &call->result;
	struct hl_buf subject;

	if (call->is_shell && ended->code == 127) {
		hl_err_set(&result->err, HLB_15, "there is no bash inside the sandbox");
		hl_err_help(&result->err, "a command given as text needs bash; give a program and "
					  "its arguments instead, or install bash");
		return;
	}
	hl_buf_init(&subject, 4096);
	hl_buf_printable(&subject, ended->subject, strlen(ended->subject));
	/* The runner names what it failed at: the program, or the directory to start in. */
	bool is_cwd = ended->code != 127 && strcmp(ended->subject, call->cwd) == 0;
	hl_err_set(&result->err, ended->code == 127 ? HLB_04 : HLB_05,
	    "cannot start %s'%.300s': %s", is_cwd ? "in " : "", subject.data,
	    ended->sys_errno != 0                 ? strerror(ended->sys_errno)
	    : strchr(ended->subject, '/') != NULL ? "no such program inside"
						  : "not found in PATH");
	hl_buf_done(&subject);
}

void
call_exit(struct session_call *call, const struct runner_exit *ended)
{
	struct session_result *result = &call->result;

	result->how = ended->how;
	result->code = ended->code;
	result->signal = ended->signal;
	result->user_us = ended->user_us;
	result->system_us = ended->system_us;
	result->max_rss_kib = ended->max_rss_kib;
	result->has_left = ended->has_left;
	if (ended->how == RUNNER_LAUNCHER_ERROR)
		refused(call, ended);
	if (ended->how == RUNNER_BACKEND_ERROR)
		hl_err_set(&result->err, HLB_07, "the sandbox could not say how the command ended");
	if (call->has_state && result->was_started)
		settle_state(call, ended->state);
	finish(call);
}

/* ------------------------------------------------------------------------------------------------
 * The start
 */
static unsigned
free_channel(const struct session *session)
{
	/* Not the last one again at once: a late frame would be taken for one of the new call. */
	for (unsigned i = 0; i < RUNNER_CALLS_MAX; i++) {
		unsigned number = (session->last_channel + i) % RUNNER_CALLS_MAX + 1;
		if (session->channels[number].state == CHANNEL_FREE)
			return number;
	}
	return 0;
}

static void
put_state_text(struct session *session, unsigned channel, const struct hl_buf *text)
{
	for (size_t at = 0; text != NULL && at < text->len;) {
		size_t n =
		    text->len - at < RUNNER_PAYLOAD_MAX ? text->len - at : RUNNER_PAYLOAD_MAX;
		session_send(session, RUNNER_STATE, channel, text->data + at, n);
		at += n;
	}
}

int
call_open(struct session *session, struct session_call *call, const struct runner_spawn *spawn,
    const struct hl_buf *state_text, struct hl_err *err)
{
	struct hl_buf frame HL_AUTO(hl_buf_done_secret) = { 0 };
	int theirs[2];

	if (session->phase >= SESSION_ENDING)
		return hl_err_set(err, HLB_12, "the session is closed");
	unsigned number = free_channel(session);
	if (number == 0)
		return hl_err_set(err, HLB_10, "%d calls run or have left processes behind",
		    RUNNER_CALLS_MAX);
	hl_buf_init(&frame, RUNNER_PAYLOAD_MAX + RUNNER_HEADER_SIZE);
	runner_spawn_put(&frame, number, spawn);
	if (frame.failed)
		return hl_err_set(err, HLB_11,
		    "the command and its environment are larger than "
		    "%d bytes",
		    RUNNER_PAYLOAD_MAX);
	size_t need = frame.len + (state_text != NULL ? state_text->len : 0);
	if (session->out.len + need > SESSION_OUT_MAX - SESSION_OUT_BUSY)
		return hl_err_set(err, HLB_10, "the sandbox does not take the calls that it has");
	/* Until the session is ready its own deadline counts. */
	if (call_arm(call, session, call_start_patience(call, session), err) != 0)
		return -1;
	session->channels[number] = (struct channel){ .state = CHANNEL_SPAWNED,
		.call = call,
		.credit = { RUNNER_WINDOW, RUNNER_WINDOW } };
	/* The last that can fail, and no fault: nothing is sent of a call that is not made. */
	if (pipes_open(session, number, spawn->flags, theirs) &&
	    pipes_pass(session, number, theirs))
		runner_spawn_has_pipes(&frame);
	put_state_text(session, number, state_text);
	hl_buf_put(&session->out, frame.data, frame.len);
	session->last_channel = number;
	call->session = session;
	call->channel = number;
	call->result.id = session->channels[number].id = ++session->last_id;
	call->begin_ms = hl_now_mono_ms();
	call->stdin_credit = RUNNER_WINDOW;
	call->takes_stdin = (spawn->flags & RUNNER_SPAWN_STDIN) != 0;
	session_flush(session);
	return 0;
}

static int
fill_start(struct session_call *call, const struct session_request *request, struct hl_err *err)
{
	struct session *session = call->session;
	const char *cwd = request->cwd != NULL     ? request->cwd
			  : request->state != NULL ? request->state->kept->cwd
						   : session->cwd;

	/* As bash will call it: the state would move there otherwise. What has ".." is the kernel's
	 * to follow. */
	bool is_named = cwd[0] == '/' && strstr(cwd, "/..") == NULL;
	call->cwd = is_named ? hl_path_normalise(cwd, ".") : strdup(cwd);
	hl_strv_init(&call->own_env, RUNNER_ENV_MAX);
	for (size_t i = 0; request->env != NULL && i < request->env->len; i++)
		hl_strv_add(&call->own_env, request->env->v[i]);
	if (call->cwd == NULL)
		return hl_err_oom(err);
	call->start = (struct start){ .base = &session->base,
		.own_env = &call->own_env,
		.cwd = call->cwd,
		.has_options = (request->flags & SESSION_CALL_OPTIONS) != 0,
		.may_keep = session->config.may_keep,
		.context = session->config.context };
	if (request->state != NULL)
		call->start.kept = kept_hold(request->state->kept);
	return hl_strv_check(&call->own_env, "the environment", err);
}

/* Without state: the session's environment with the call's own on top. */
static int
plain_environment(const struct session_call *call, struct hl_strv *ret_env, struct hl_err *err)
{
	struct pairs own = { 0 };
	int status = pairs_from_env(&own, &call->own_env);

	hl_strv_init(ret_env, RUNNER_ENV_MAX);
	for (size_t i = 0; i < call->session->base.len; i++) {
		const struct pair *pair = &call->session->base.v[i];
		if (pairs_find(&own, pair->name) == NULL)
			hl_strv_addf(ret_env, "%s=%s", pair->name, pair->value);
	}
	for (size_t i = 0; i < own.len; i++)
		hl_strv_addf(ret_env, "%s=%s", own.v[i].name, own.v[i].value);
	pairs_done(&own);
	if (status != 0)
		return hl_err_oom(err);
	return hl_strv_check(ret_env, "the environment", err);
}

static void
fill_flags(const struct session_call *call, struct runner_spawn *spawn)
{
	static const struct {
		uint32_t asked, spawn;
	} rows[] = {
		{ SESSION_CALL_STDIN, RUNNER_SPAWN_STDIN },
		{ SESSION_CALL_MERGED, RUNNER_SPAWN_MERGED },
		{ SESSION_CALL_PTY, RUNNER_SPAWN_PTY },
	};

	spawn->flags = RUNNER_SPAWN_LEAVE;
	if (call->session->config.is_scoped)
		spawn->flags |= RUNNER_SPAWN_SCOPED;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++)
		if ((call->request.flags & rows[i].asked) != 0)
			spawn->flags |= rows[i].spawn;
	/* A terminal has one stream only. */
	if ((spawn->flags & RUNNER_SPAWN_PTY) != 0)
		spawn->flags &= ~(uint32_t)RUNNER_SPAWN_MERGED;
	if (call->has_report)
		spawn->flags |= RUNNER_SPAWN_STATE;
}

static void
fill_argv(const struct session_request *request, struct hl_strv *argv)
{
	hl_strv_init(argv, RUNNER_ARGV_MAX);
	if ((request->flags & SESSION_CALL_SHELL) != 0) {
		hl_strv_add(argv, "bash");
		hl_strv_add(argv, "-c");
		hl_strv_add(argv, request->command);
		return;
	}
	for (size_t i = 0; i < request->argv->len; i++)
		hl_strv_add(argv, request->argv->v[i]);
}

static int
spawn_call(struct session *session, struct session_call *call,
    const struct session_request *request, struct hl_err *err)
{
	struct hl_buf text HL_AUTO(hl_buf_done_secret) = { 0 };
	struct runner_spawn spawn HL_AUTO(runner_spawn_done) = { .umask = session->config.umask,
		.rlimits_len = session->config.rlimits_len,
		.rows = request->rows,
		.columns = request->columns,
		.cwd = call->cwd };

	HL_BUG_ON(spawn.rlimits_len > RUNNER_RLIMITS_MAX);
	for (uint32_t i = 0; i < spawn.rlimits_len; i++)
		spawn.rlimits[i] = session->config.rlimits[i];
	/* bash takes the size of its terminal for LINES and COLUMNS when a program has ended. */
	call->has_report =
	    call->has_state && ((request->flags & SESSION_CALL_PTY) != 0 ||
				   !state_is_safe_from(&call->start, request->command));
	fill_flags(call, &spawn);
	fill_argv(request, &spawn.argv);
	hl_buf_init(&text, SESSION_STATE_MAX);
	if (hl_strv_check(&spawn.argv, "the command", err) != 0)
		return -1;
	if (!call->has_state) {
		if (plain_environment(call, &spawn.env, err) != 0)
			return -1;
	} else if (state_environment(&call->start, &spawn.env, err) != 0 ||
		   (call->has_report && state_text(&call->start, &text, err) != 0)) {
		return -1;
	}
	if (!runner_spawn_is_sane(&spawn))
		return hl_err_set(err, HLB_05,
		    "a program has a name, a directory begins with '/', and a terminal is not larger "
		    "than 65535");
	return call_open(session, call, &spawn, &text, err);
}

int
session_call(struct session *session, const struct session_request *request,
    struct session_call **ret_call, struct hl_err *err)
{
	struct session_call *call = calloc(1, sizeof(*call));

	if (call == NULL)
		return hl_err_oom(err);
	call->session = session;
	call->request = *request;
	call->is_shell = (request->flags & SESSION_CALL_SHELL) != 0;
	call->has_state = call->is_shell && request->state != NULL;
	call->state = call->has_state ? request->state : NULL;
	call->wall_ms = request->wall_ms;
	call->is_sink =
	    session->config.output_bytes == 0 || (request->flags & SESSION_CALL_NO_WINDOW) != 0;
	window_init(&call->windows[0], &call->result.out, session->config.output_bytes);
	window_init(&call->windows[1], &call->result.err_out, session->config.output_bytes);
	hl_buf_init(&call->report, SESSION_STATE_MAX);
	session_enter(session);
	int status = fill_start(call, request, err);
	if (status == 0)
		status = spawn_call(session, call, request, err);
	if (status == 0) {
		*ret_call = call;
	} else {
		call->session = NULL;
		session_call_free(call);
	}
	session_leave(session);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * What the owner does with it
 */
size_t
session_call_stdin(struct session_call *call, const void *bytes, size_t len)
{
	struct session *session = call->session;

	if (session == NULL || !call->takes_stdin || session->out.len > SESSION_OUT_BUSY)
		return 0;
	if (len > call->stdin_credit)
		len = call->stdin_credit;
	for (size_t at = 0; at < len;) {
		size_t n = len - at < RUNNER_PAYLOAD_MAX ? len - at : RUNNER_PAYLOAD_MAX;
		session_send(session, RUNNER_STDIN, call->channel, (const char *)bytes + at, n);
		at += n;
	}
	call->stdin_credit -= (uint32_t)len;
	session_flush(session);
	return len;
}

void
session_call_stdin_end(struct session_call *call)
{
	if (call->session == NULL || !call->takes_stdin)
		return;
	call->takes_stdin = false;
	session_send(call->session, RUNNER_STDIN_EOF, call->channel, NULL, 0);
	session_flush(call->session);
}

void
session_call_credit(struct session_call *call, int stream, uint32_t bytes)
{
	struct session *session = call->session;

	if (session == NULL || stream < 1 || stream > 2)
		return;
	struct channel *channel = &session->channels[call->channel];
	if (bytes > channel->held[stream - 1])
		bytes = channel->held[stream - 1];
	channel->held[stream - 1] -= bytes;
	channel_return_credit(session, channel, stream, bytes);
	session_flush(session);
}

static bool
is_running(const struct session_call *call)
{
	return call->session != NULL &&
	       call->session->channels[call->channel].state == CHANNEL_RUNNING;
}

/* What a signal is for is the command's to say, but whoever sends one of these waits for an end. */
static bool
is_for_end(int signal_number)
{
	return signal_number == SIGTERM || signal_number == SIGINT || signal_number == SIGHUP ||
	       signal_number == SIGQUIT || signal_number == SIGKILL;
}

void
session_call_signal(struct session_call *call, int signal_number)
{
	struct session *session = call->session;

	if (!is_running(call))
		return;
	session_enter(session);
	session_send_u32(session, RUNNER_SIGNAL, call->channel, (uint32_t)signal_number);
	if (is_for_end(signal_number)) {
		call->was_told_to_end = true;
		session_ask(session);
	}
	session_flush(session);
	session_leave(session);
}

void
session_call_resize(struct session_call *call, uint32_t rows, uint32_t columns)
{
	struct hl_buf payload;

	if (!is_running(call) || (call->request.flags & SESSION_CALL_PTY) == 0)
		return;
	hl_buf_init(&payload, 16);
	hl_wire_put_u32(&payload, rows);
	hl_wire_put_u32(&payload, columns);
	session_send(call->session, RUNNER_RESIZE, call->channel, payload.data, payload.len);
	hl_buf_done(&payload);
	session_flush(call->session);
}

void
session_call_cancel(struct session_call *call)
{
	struct session *session = call->session;

	if (session == NULL || call->killed != 0)
		return;
	session_enter(session);
	call_send_kill(call, RUNNER_CANCELLED);
	session_flush(session);
	session_leave(session);
}

bool
session_call_is_killed(const struct session_call *call)
{
	return call->killed != 0;
}

void
session_call_free(struct session_call *call)
{
	if (call == NULL)
		return;
	HL_BUG_ON(call->session != NULL);
	kept_release(call->start.kept);
	hl_strv_done_secret(&call->own_env);
	hl_buf_done_secret(&call->report);
	for (int i = 0; i < 2; i++)
		window_done(&call->windows[i]);
	session_result_done(&call->result);
	free(call->cwd);
	free(call);
}
