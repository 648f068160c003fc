/*
 * One call over JSON-RPC with our own standard streams: run in a named session, and shell. Input is
 * sent a piece at a time, the next when the last was taken; output is written before more of it is
 * read, so that both directions are as slow as their slowest end.
 */
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/face.h"
#include "launcher/jsonrpc.h"

#include "base/banned.h"

enum {
	PIECE = 48 * 1024,
	EXEC_ID = 1,
};

struct client {
	struct run *run;
	const struct client_ask *ask;
	struct hl_loop *loop;
	struct line line;
	struct hl_source *input, *signals, *window;
	int window_fd;
	uint64_t next_id, input_id; /* input_id: of the stdin request that is not answered yet */
	bool has_answer, has_failed, is_deaf; /* deaf: nobody reads what we write */
	struct hl_err err;
};

/* ------------------------------------------------------------------------------------------------
 * Out
 */
static void
begin(struct hl_buf *out, struct hl_json *json, uint64_t id, const char *method)
{
	jsonrpc_request(out, json, id, method);
	if (id == EXEC_ID)
		return;
	hl_json_key(json, "call");
	hl_json_u64(json, EXEC_ID);
}

static void
send_message(struct client *client, struct hl_buf *out, struct hl_json *json)
{
	hl_json_end_object(json);
	jsonrpc_send(&client->line, out, json, NULL);
}

/* --env has been judged here and is in the plan; the keeper judges it again. */
static void
put_env(struct hl_json *json, const struct run *run)
{
	hl_json_key(json, "env");
	hl_json_object(json);
	for (size_t i = 0; i < run->plan.env_len; i++) {
		const struct plan_env *env = &run->plan.env[i];
		size_t len = strlen(env->name);
		bool is_asked = false;
		for (size_t j = 0; j < run->request->env.len; j++) {
			const char *text = run->request->env.items[j].text;
			is_asked = is_asked || (strncmp(text, env->name, len) == 0 &&
						   (text[len] == '=' || text[len] == '\0'));
		}
		if (!is_asked)
			continue;
		hl_json_key(json, env->name);
		hl_json_string(json, env->value);
	}
	hl_json_end_object(json);
}

static void
put_window(struct hl_json *json)
{
	uint32_t rows = 24, columns = 80;

	if (!term_size(&rows, &columns))
		rows = 24, columns = 80;
	hl_json_key(json, "rows");
	hl_json_u64(json, rows);
	hl_json_key(json, "columns");
	hl_json_u64(json, columns);
}

static void
put_command(struct hl_json *json, const struct client *client)
{
	const struct request *request = client->ask->request;

	if (request->shell_text != NULL) {
		hl_json_key(json, "command");
		hl_json_string(json, request->shell_text);
		return;
	}
	hl_json_key(json, "argv");
	hl_json_array(json);
	if (client->ask->is_shell) {
		hl_json_string(json, "bash");
		hl_json_string(json, "-i");
	}
	for (size_t i = 0; !client->ask->is_shell && i < request->argv_len; i++)
		hl_json_string(json, request->argv[i]);
	hl_json_end_array(json);
}

static void
send_exec(struct client *client)
{
	const struct request *request = client->ask->request;
	struct hl_buf out;
	struct hl_json json;

	begin(&out, &json, EXEC_ID, "exec");
	put_command(&json, client);
	hl_json_key(&json, "stdin");
	hl_json_bool(&json, true);
	hl_json_key(&json, "stream");
	hl_json_bool(&json, true);
	hl_json_key(&json, "shared");
	hl_json_bool(&json, client->ask->is_shared);
	if (request->cwd.text != NULL) {
		hl_json_key(&json, "cwd");
		hl_json_string(&json, client->run->plan.cwd);
	}
	if (request->timeout.text != NULL) {
		hl_json_key(&json, "timeout");
		hl_json_string(&json, request->timeout.text);
	}
	put_env(&json, client->run);
	if (client->ask->is_shell) {
		hl_json_key(&json, "pty");
		hl_json_object(&json);
		put_window(&json);
		hl_json_end_object(&json);
	}
	send_message(client, &out, &json);
}

static void
send_signal(struct client *client, int number)
{
	struct hl_buf out;
	struct hl_json json;
	/* An interactive shell ignores TERM: whoever sends it to us means the end. */
	bool is_end = client->ask->is_shell && (number == SIGTERM || number == SIGHUP);

	begin(&out, &json, client->next_id++, is_end ? "cancel" : "signal");
	if (!is_end) {
		hl_json_key(&json, "signal");
		hl_json_i64(&json, number);
	}
	send_message(client, &out, &json);
}

/* ------------------------------------------------------------------------------------------------
 * Our own descriptors
 */
static void
on_signal(void *context, uint32_t events)
{
	struct client *client = context;
	struct signalfd_siginfo info;

	(void)events;
	if (read(client->run->signal_fd, &info, sizeof(info)) == sizeof(info))
		send_signal(client, (int)info.ssi_signo);
}

static void
on_window(void *context, uint32_t events)
{
	struct client *client = context;
	struct signalfd_siginfo info;
	struct hl_buf out;
	struct hl_json json;

	(void)events;
	if (read(client->window_fd, &info, sizeof(info)) != sizeof(info))
		return;
	begin(&out, &json, client->next_id++, "resize");
	put_window(&json);
	send_message(client, &out, &json);
}

static void
on_input(void *context, uint32_t events)
{
	struct client *client = context;
	static char bytes[PIECE];
	struct hl_buf out;
	struct hl_json json;

	(void)events;
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	client->input_id = client->next_id++;
	/* A terminal that is gone will not come back: what ran on it ends, as by a hang-up. */
	const char *end = client->ask->is_shell ? "cancel" : "stdin_end";
	begin(&out, &json, client->input_id, n > 0 ? "stdin" : end);
	if (n > 0) {
		hl_json_key(&json, "data");
		hl_json_stringn(&json, bytes, (size_t)n);
		hl_source_events(client->input, 0);
	} else {
		hl_source_remove(client->input);
		client->input = NULL;
	}
	send_message(client, &out, &json);
	if (n > 0)
		explicit_bzero(bytes, (size_t)n);
}

/* Waits for whoever reads us, and for signals beside: an end must not wait for a stopped terminal.
 */
static void
write_out(struct client *client, int fd, const char *bytes, size_t len)
{
	while (len > 0 && !client->is_deaf) {
		struct pollfd fds[] = {
			{ .fd = fd, .events = POLLOUT },
			{ .fd = client->run->signal_fd, .events = POLLIN },
		};
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents == 0) {
			if (fds[1].revents == 0)
				continue;
			on_signal(client, 0);
			client->is_deaf = true;
			break;
		}
		ssize_t n = write(fd, bytes, len < PIPE_BUF ? len : PIPE_BUF);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			/* Nobody reads this stream: as a pipe would, tell the command. */
			send_signal(client, SIGPIPE);
			client->is_deaf = true;
		}
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
	}
}

/* ------------------------------------------------------------------------------------------------
 * In
 */
static int
take_output(struct client *client, const json_t *params, struct hl_err *err)
{
	const char *stream = json_string_value(json_object_get(params, "stream"));
	HL_AUTO(hl_buf_done_secret) struct hl_buf bytes;

	hl_buf_init(&bytes, LINE_MAX_BYTES);
	if (json_in_bytes(json_object_get(params, "data"), &bytes, err) != 0) {
		err->code = HLI_02;
		return hl_err_wrap(err, "output");
	}
	bool is_out = stream != NULL && strcmp(stream, "stdout") == 0;
	if (!is_out && (stream == NULL || strcmp(stream, "stderr") != 0))
		return hl_err_set(err, HLI_02, "output of a stream that is not known");
	write_out(client, is_out ? STDOUT_FILENO : STDERR_FILENO, bytes.data, bytes.len);
	return 0;
}

static uint64_t
number(const json_t *object, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value > 0 ? (uint64_t)value : 0;
}

/* {"code":"HLx-nn","message":"..."} of a result, or data of an error. */
static void
take_error(const json_t *object, const char *message, struct hl_err *err)
{
	const char *id = json_string_value(json_object_get(object, "code"));
	const char *help = json_string_value(json_object_get(object, "help"));
	enum hl_code code = id != NULL ? hl_code_from_id(id) : HL_OK;

	hl_err_set(err, code != HL_OK ? code : HLI_02, "%s",
	    message != NULL ? message : "the session says no more");
	if (help != NULL)
		hl_err_help(err, "%s", help);
}

static int
take_how(const json_t *object, struct session_result *result, struct hl_err *err)
{
	const char *how = json_string_value(json_object_get(object, "how"));

	for (unsigned i = 0; how != NULL && i < RUNNER_HOW_MAX; i++) {
		if (strcmp(runner_how_name((enum runner_how)i), how) != 0)
			continue;
		result->how = (enum runner_how)i;
		return 0;
	}
	return hl_err_set(err, HLI_02, "an end of the command that is not known");
}

static int
take_result(struct client *client, const json_t *object, struct hl_err *err)
{
	struct session_result *result = &client->run->result;
	const char *stage = json_string_value(json_object_get(object, "stage"));
	const json_t *error = json_object_get(object, "error");

	if (take_how(object, result, err) != 0)
		return -1;
	client->run->stage = RUN_STAGE_COMMAND;
	if (stage != NULL && strcmp(stage, "command") != 0)
		client->run->stage =
		    strcmp(stage, "backend") == 0 ? RUN_STAGE_BACKEND : RUN_STAGE_LAUNCHER;
	result->status = (int)number(object, "status");
	result->code = (uint32_t)number(object, "code");
	result->signal = (uint32_t)number(object, "signal");
	result->wall_ms = number(object, "wall_ms");
	result->user_us = number(object, "user_us");
	result->system_us = number(object, "system_us");
	result->max_rss_kib = number(object, "max_rss_kib");
	if (json_is_object(error))
		take_error(error, json_string_value(json_object_get(error, "message")),
		    &result->err);
	/* Without a name the run is our own. */
	if (client->run->request->name.text != NULL &&
	    result_take_controls(client->run, object, err) != 0)
		return -1;
	client->has_answer = true;
	hl_loop_stop(client->loop);
	return 0;
}

static int
take_answer(struct client *client, const struct jsonrpc_reply *reply, struct hl_err *err)
{
	/* No id: what we sent was not understood, and nothing else will come. */
	if (reply->id == EXEC_ID || reply->id == 0) {
		if (reply->result != NULL)
			return take_result(client, reply->result, err);
		take_error(reply->data, reply->message, err);
		return -1;
	}
	if (reply->id != client->input_id)
		return 0;
	if (reply->result != NULL) {
		if (client->input != NULL)
			hl_source_events(client->input, EPOLLIN);
		return 0;
	}
	/* A call that ended meanwhile takes no more, and its own answer is on the way. Any other
	 * cause leaves the command without what it reads. */
	take_error(reply->data, reply->message, err);
	return err->code == HLU_26 ? 0 : -1;
}

static void
on_line(void *context, const char *text, size_t len)
{
	struct client *client = context;
	struct jsonrpc_reply reply;
	struct hl_err err = { 0 };

	if (client->has_failed || client->has_answer)
		return;
	int status = jsonrpc_read_reply(text, len, &reply, &err);
	if (status == 0) {
		if (reply.method == NULL)
			status = take_answer(client, &reply, &err);
		else if (strcmp(reply.method, "output") == 0)
			status = take_output(client, reply.params, &err);
		jsonrpc_reply_done(&reply);
	}
	if (status == 0)
		return;
	/* What comes behind it is not looked at. */
	client->err = err;
	client->has_failed = true;
	hl_loop_stop(client->loop);
}

static void
on_end(void *context, const char *why)
{
	struct client *client = context;

	if (!client->has_answer && !client->has_failed)
		hl_err_set(&client->err, HLB_07, "the session ended while the command ran%s%s",
		    why != NULL ? ": " : "", why != NULL ? why : "");
	hl_loop_stop(client->loop);
}

static void
on_drained(void *context)
{
	(void)context;
}

/* ------------------------------------------------------------------------------------------------
 * The call
 */
static int
watch_window(struct client *client, struct hl_err *err)
{
	sigset_t set;
	struct hl_watch watch = { .events = EPOLLIN, .fn = on_window, .context = client };

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return hl_err_sys(err, HLI_02, "cannot block signals");
	client->window_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (client->window_fd < 0)
		return hl_err_sys(err, HLI_02, "cannot make a signal descriptor");
	watch.fd = client->window_fd;
	return hl_loop_add(client->loop, &watch, &client->window, err);
}

static int
watch_own(struct client *client, struct hl_err *err)
{
	const struct hl_watch input = {
		.fd = STDIN_FILENO,
		.events = EPOLLIN,
		.fn = on_input,
		.context = client,
	};
	const struct hl_watch signals = {
		.fd = client->run->signal_fd,
		.events = EPOLLIN,
		.fn = on_signal,
		.context = client,
	};

	if (hl_loop_add(client->loop, &input, &client->input, err) != 0 ||
	    hl_loop_add(client->loop, &signals, &client->signals, err) != 0)
		return -1;
	return client->ask->is_shell ? watch_window(client, err) : 0;
}

static int
open_line(struct client *client, int fd, struct hl_err *err)
{
	const struct line_calls calls = {
		.on_line = on_line,
		.on_end = on_end,
		.on_drained = on_drained,
		.context = client,
	};
	int fds[2] = { fd, fcntl(fd, F_DUPFD_CLOEXEC, 3) };

	if (fds[1] < 0) {
		hl_err_sys(err, HLI_02, "cannot duplicate a descriptor");
		close(fd);
		return -1;
	}
	return line_open(&client->line, client->loop, fds, &calls, err);
}

int
client_run(struct run *run, struct hl_loop *loop, int fd, const struct client_ask *ask,
    struct hl_err *err)
{
	struct client client = {
		.run = run,
		.ask = ask,
		.loop = loop,
		.window_fd = -1,
		.next_id = EXEC_ID + 1,
	};

	int status = open_line(&client, fd, err);
	if (status == 0) {
		status = watch_own(&client, err);
		if (status == 0) {
			send_exec(&client);
			/* What could not be sent is not waited for. */
			status = client.line.is_ended ? 0 : hl_loop_run(loop, err);
		}
		line_close(&client.line);
	}
	hl_source_remove(client.input);
	hl_source_remove(client.signals);
	hl_source_remove(client.window);
	if (client.window_fd >= 0)
		close(client.window_fd);
	if (status == 0 && !client.has_answer) {
		*err = client.err;
		return -1;
	}
	return status;
}
