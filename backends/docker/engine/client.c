/*
 * hl-engine: a client of an engine, one command of it after the other, and the one that has a
 * container's streams. It is a program of the caller's host, judged before it is started, executed
 * by its path and by no shell; it gets of the caller neither a variable nor a descriptor, works
 * where no file can be made, and cannot outlive us. What it prints is capped as an API's answers
 * are, its errors are a text for a person, and its time is an API's. Nothing is run again.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	ARGV_MAX = 4096,
	END_MS = 2000
};

/* Where nothing is, and nobody can make it: no configuration, no context, no plugin, no login. */
#define NO_CONFIG "/proc/none"

struct command {
	const char *words[8];
	int timeout_ms;
};

/* The words before those of the call. */
static const struct command commands[CLIENT_COMMAND_MAX] = {
	[CLIENT_VERSION] = { { "version", "--format", "{{json .}}" }, API_SHORT_MS },
	[CLIENT_LOOK_IMAGE] = { { "image", "inspect" }, API_SHORT_MS },
	[CLIENT_LOOK] = { { "inspect", "--type", "container" }, API_SHORT_MS },
	[CLIENT_CREATE] = { { "create" }, API_CREATE_MS },
	[CLIENT_START] = { { "start", "--attach", "--interactive" }, API_START_MS },
	[CLIENT_REMOVE] = { { "rm", "--force", "--volumes" }, API_START_MS },
	[CLIENT_REMOVE_ENDED] = { { "rm", "--volumes" }, API_START_MS },
	[CLIENT_LIST] = { { "ps", "--all", "--no-trunc", "--filter",
			      "label=" DOCKER_LABEL_MANAGED "=1", "--format",
			      "{{.ID}} {{.Names}}" },
	    API_SHORT_MS },
};

/* The words of that command, and those of more behind them (NULL = none). */
static int
client_argv(const struct engine *engine, enum client_command command, const struct hl_strv *more,
    struct hl_strv *ret_argv, struct hl_err *err)
{
	hl_strv_init(ret_argv, ARGV_MAX);
	hl_strv_add(ret_argv, engine->client.program);
	for (size_t i = 0;
	     i < HL_ARRAY_SIZE(commands[command].words) && commands[command].words[i] != NULL; i++)
		hl_strv_add(ret_argv, commands[command].words[i]);
	for (size_t i = 0; more != NULL && i < more->len; i++)
		hl_strv_add(ret_argv, more->v[i]);
	if (hl_strv_check(ret_argv, "words of the client", err) == 0)
		return 0;
	hl_strv_done(ret_argv);
	return -1;
}

/* ------------------------------------------------------------------------------------------------
 * Which
 */
int
client_open(struct engine *engine, const char *program, const char *socket,
    const struct hl_strv *shown, struct hl_err *err)
{
	struct client *client = &engine->client;

	/* Another one, or the same that is another by now: not while it has a container's streams.
	 */
	if (client->pid != 0)
		return hl_err_set(err, HLI_02, "a request came out of order");
	client_done(engine);
	client->file = program_settle(program, shown);
	if (client->file == NULL) {
		hl_err_set(err, HLB_68, "the client '%s' is not there, or not at a safe place",
		    program);
		return hl_err_help(err,
		    "install it where only root or you can write, and no sandbox; or let the policy say docker.client: api");
	}
	client->program = strdup(program);
	if (client->program == NULL)
		return hl_err_oom(err);
	client->pidfd = client->stream = client->log = -1;
	hl_strv_init(&client->env, 8);
	hl_strv_add(&client->env, "DOCKER_CONFIG=" NO_CONFIG);
	if (socket[0] != '\0')
		hl_strv_addf(&client->env, "DOCKER_HOST=unix://%s", socket);
	return service_env(&client->env, err);
}

/* ------------------------------------------------------------------------------------------------
 * Start and end of one
 */
struct process {
	pid_t pid;
	int pidfd;
	int out; /* of a command: what it prints */
};

static int
start(const struct engine *engine, char *const *argv, const int fds[3], struct process *ret_process,
    struct hl_err *err)
{
	const struct hl_child child = {
		.path = engine->client.file,
		.argv = argv,
		.envp = engine->client.env.v,
		.dir = "/proc",
		.fds = fds,
		.fds_len = 3,
		.has_session = true,
		.death_signal = SIGKILL,
	};

	if (hl_child_start(&child, &ret_process->pid, &ret_process->pidfd) == 0)
		return 0;
	return hl_err_sys(err, HLB_68, "cannot start the client '%s'", engine->client.program);
}

static bool
has_ended(int pidfd, int timeout_ms)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	return poll(&end, 1, timeout_ms) == 1;
}

/* Its exit status, -1 when it had none. One that may still run is ended, with what it has started;
 * one that we may not end (it became another user's) is not waited for. */
static int
reap(struct process *process, bool is_forced)
{
	int status = 0;

	if (is_forced) {
		(void)kill(-process->pid, SIGKILL);
		(void)kill(process->pid, SIGKILL);
	}
	bool is_over = has_ended(process->pidfd, END_MS);
	hl_close_ptr(&process->pidfd);
	process->pidfd = -1;
	if (!is_over)
		return -1;
	/* What it left in its group goes with it; until it is waited for, the number is its own. */
	(void)kill(-process->pid, SIGKILL);
	while (waitpid(process->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
read_words(int log, struct client_reply *reply)
{
	ssize_t n = pread(log, reply->said, sizeof(reply->said) - 1, 0);

	/* Behind what was written there are zeros. */
	reply->said[n > 0 ? n : 0] = '\0';
	api_safe_text(reply->said, strlen(reply->said), reply->words);
}

/* ------------------------------------------------------------------------------------------------
 * A command and its reply
 */

/* Takes what is there. false: there is nothing more to come. */
static bool
drain(int out, struct hl_buf *buf)
{
	char bytes[8 * 1024];

	while (!buf->failed) {
		ssize_t n = read(out, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		hl_buf_put(buf, bytes, (size_t)n);
	}
	return false;
}

/* Until it ends. What it has started and left behind with its output is not waited for. */
static int
hear(const struct engine *engine, const struct process *process, int timeout_ms,
    struct client_reply *reply, struct hl_err *err)
{
	const uint64_t until = hl_now_mono_ms() + (uint64_t)timeout_ms;
	const char *program = engine->client.program;
	bool is_open = true, is_over = false;

	while (!is_over) {
		struct pollfd watch[] = { { .fd = process->pidfd, .events = POLLIN },
			{ .fd = is_open ? process->out : -1, .events = POLLIN },
			/* What is left to do when the launcher has ended is the removal. */
			{ .fd = engine->is_ending ? -1 : engine->control } };
		uint64_t now = hl_now_mono_ms();
		if (now >= until)
			return hl_err_set(err, HLB_42, "the client '%s' did not end in time",
			    program);
		if (poll(watch, HL_ARRAY_SIZE(watch), (int)(until - now)) < 0 && errno != EINTR)
			return hl_err_sys(err, HLI_02, "poll");
		if ((watch[2].revents & (POLLHUP | POLLERR)) != 0)
			return hl_err_set(err, HLB_60, "the launcher has ended");
		/* All that it said is there when it has ended. */
		is_over = watch[0].revents != 0;
		if (is_open && (is_over || watch[1].revents != 0))
			is_open = drain(process->out, &reply->out);
		if (reply->out.failed)
			return hl_err_set(err, HLB_43, "the answer of '%s' is too large", program);
	}
	return 0;
}

static int
call(const struct engine *engine, char *const *argv, int timeout_ms, struct client_reply *reply,
    struct hl_err *err)
{
	struct process process = { .pidfd = -1 };
	int out[2] = { -1, -1 };
	int log HL_AUTO_FD = service_log(err);

	if (log < 0)
		return -1;
	if (pipe2(out, O_CLOEXEC) != 0)
		return hl_err_sys(err, HLI_02, "cannot make a pipe");
	int from HL_AUTO_FD = out[0];
	int status = fcntl(from, F_SETFL, O_NONBLOCK) == 0
			 ? start(engine, argv, (const int[3]){ -1, out[1], log }, &process, err)
			 : hl_err_sys(err, HLI_02, "fcntl");
	hl_close_ptr(&out[1]);
	if (status < 0)
		return -1;
	process.out = from;
	status = hear(engine, &process, timeout_ms, reply, err);
	reply->status = reap(&process, status < 0);
	read_words(log, reply);
	return status;
}

int
client_call(struct engine *engine, enum client_command command, const struct hl_strv *more,
    struct client_reply *ret_reply, struct hl_err *err)
{
	struct hl_strv argv;

	*ret_reply = (struct client_reply){ .status = -1 };
	hl_buf_init(&ret_reply->out, API_BODY_MAX);
	if (client_argv(engine, command, more, &argv, err) < 0)
		return -1;
	int status =
	    call(engine, hl_strv_argv(&argv), commands[command].timeout_ms, ret_reply, err);
	hl_strv_done(&argv);
	if (status < 0)
		hl_buf_done(&ret_reply->out);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * The one that has the streams
 */
int
client_join(struct engine *engine, struct hl_err *err)
{
	struct client *client = &engine->client;
	struct process process = { .pidfd = -1 };
	struct hl_strv argv, key;
	int pair[2] = { -1, -1 };

	hl_strv_init(&key, 1);
	hl_strv_add(&key, engine->container);
	int status = client_argv(engine, CLIENT_START, &key, &argv, err);
	hl_strv_done(&key);
	if (status < 0)
		return -1;
	client->log = service_log(err);
	status = client->log < 0 ? -1 : 0;
	if (status == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		status = hl_err_sys(err, HLI_02, "cannot make a socket for the client");
	client->stream = pair[0];
	if (status == 0)
		status = start(engine, hl_strv_argv(&argv),
		    (const int[3]){ pair[1], pair[1], client->log }, &process, err);
	hl_close_ptr(&pair[1]);
	hl_strv_done(&argv);
	if (status < 0)
		return -1;
	client->pid = process.pid;
	client->pidfd = process.pidfd;
	engine->relay.attach = client->stream;
	engine->relay.is_raw = true;
	engine->is_waiting = true;
	return 0;
}

size_t
client_diagnosis(const struct engine *engine, char *bytes, size_t len)
{
	ssize_t n = engine->client.log >= 0 ? pread(engine->client.log, bytes, len, 0) : 0;

	return n > 0 ? strnlen(bytes, (size_t)n) : 0;
}

void
client_done(struct engine *engine)
{
	struct client *client = &engine->client;
	struct process process = { .pid = client->pid, .pidfd = client->pidfd };

	if (client->program == NULL)
		return;
	if (client->pid != 0)
		(void)reap(&process, true);
	hl_close_ptr(&client->stream);
	hl_close_ptr(&client->log);
	hl_strv_done(&client->env);
	free(client->program);
	free(client->file);
	*client = (struct client){ 0 };
}
