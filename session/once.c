/*
 * One call in the foreground: what `run` does. A thin user of the session: it joins the call's
 * streams to descriptors of ours, where the command does not have them itself, and the signals that
 * a person sends to us to the command.
 *
 * Nothing here blocks: writes to descriptors that others share (a terminal, a pipe) are at most
 * PIPE_BUF bytes and follow a readiness, because O_NONBLOCK would change them for everybody who
 * shares them. Output that is not written yet holds its credit, so that the window bounds it.
 */
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/machine.h"

#include "base/banned.h"

/* Signals that a person or a supervisor sends to the launcher and means for the command. */
static const int forwarded[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

/* One of the command's output streams on its way to a descriptor of ours. */
struct pour {
	struct once *once;
	int stream; /* 1 or 2 */
	int fd;
	struct hl_buf pending; /* at most RUNNER_WINDOW bytes: the window bounds it */
	struct hl_source *source;
	bool is_broken; /* nobody reads: bytes are dropped */
};

struct once {
	const struct session_once *asked;
	struct hl_loop *loop;
	struct session *session;
	struct session_call *call;
	struct session_result *result;
	int signal_fd;
	bool has_ended; /* EXIT came: what is left is to write */
	bool stdin_ended;
	struct hl_source *signals, *input, *late;
	struct pour pours[2];
};

int
session_signals(sigset_t *ret_old, int *ret_fd, struct hl_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < HL_ARRAY_SIZE(forwarded); i++)
		sigaddset(&set, forwarded[i]);
	if (sigprocmask(SIG_BLOCK, &set, ret_old) != 0)
		return hl_err_sys(err, HLI_02, "cannot block signals");
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return hl_err_sys(err, HLI_02, "cannot make a signal descriptor");
	*ret_fd = fd;
	return 0;
}

static void
watch(struct once *once, const struct hl_watch *row, struct hl_source **source)
{
	struct hl_err err;

	if (*source == NULL && hl_loop_add(once->loop, row, source, &err) != 0)
		session_fail(once->session, err.code, "%s", err.msg);
}

static void
unwatch(struct hl_source **source)
{
	hl_source_remove(*source);
	*source = NULL;
}

/* Over when the command is and everything that it wrote is written. */
static void
settle(struct once *once)
{
	bool is_written = once->pours[0].pending.len == 0 && once->pours[1].pending.len == 0;

	if (once->has_ended && is_written)
		hl_loop_stop(once->loop);
}

/* ------------------------------------------------------------------------------------------------
 * Output
 */
static void
on_pour(void *context, uint32_t events)
{
	struct pour *pour = context;
	struct once *once = pour->once;
	size_t n = pour->pending.len < PIPE_BUF ? pour->pending.len : PIPE_BUF;
	ssize_t written = write(pour->fd, pour->pending.data, n);

	(void)events;
	if (written < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (written < 0) {
		/* The reader is gone: the command is told as a pipe would tell it. */
		pour->is_broken = true;
		written = (ssize_t)pour->pending.len;
		session_call_signal(once->call, SIGPIPE);
	}
	hl_buf_drop(&pour->pending, (size_t)written);
	session_call_credit(once->call, pour->stream, (uint32_t)written);
	if (pour->pending.len == 0)
		unwatch(&pour->source);
	settle(once);
}

static void
on_output(void *context, int stream, const char *bytes, size_t len)
{
	struct once *once = context;
	struct pour *pour = &once->pours[stream - 1];

	if (pour->is_broken) {
		session_call_credit(once->call, stream, (uint32_t)len);
		return;
	}
	const struct hl_watch row = { .fd = pour->fd,
		.events = EPOLLOUT,
		.fn = on_pour,
		.context = pour };
	hl_buf_put(&pour->pending, bytes, len);
	if (pour->pending.failed) {
		session_fail(once->session, HLI_01, "memory ended");
		return;
	}
	watch(once, &row, &pour->source);
}

/* ------------------------------------------------------------------------------------------------
 * Input
 */
static void
on_input(void *context, uint32_t events)
{
	struct once *once = context;
	char chunk[12288];
	size_t want =
	    sizeof(chunk) < once->call->stdin_credit ? sizeof(chunk) : once->call->stdin_credit;

	(void)events;
	if (want == 0 || once->session->out.len > SESSION_OUT_BUSY / 4) {
		unwatch(&once->input); /* until the runner has taken what is on its way */
		return;
	}
	ssize_t n = read(once->asked->stdin_fd, chunk, want);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		once->stdin_ended = true;
		unwatch(&once->input);
		session_call_stdin_end(once->call);
		return;
	}
	/* Less than the credit, and the queue is short: all of it is taken. */
	HL_BUG_ON(session_call_stdin(once->call, chunk, (size_t)n) != (size_t)n);
	explicit_bzero(chunk, (size_t)n);
}

static void
on_stdin_room(void *context)
{
	struct once *once = context;
	const struct hl_watch row = { .fd = once->asked->stdin_fd,
		.events = EPOLLIN,
		.fn = on_input,
		.context = once };

	if (!once->stdin_ended)
		watch(once, &row, &once->input);
}

/* ------------------------------------------------------------------------------------------------
 * Signals
 */
/* Nobody reads what the command wrote: it may be over long since, and we would not hear of it. */
static bool
is_stuck(const struct once *once)
{
	const struct channel *channel = &once->session->channels[once->call->channel];

	for (int i = 0; i < 2; i++)
		if (channel->credit[i] == 0 && once->pours[i].pending.len > 0)
			return true;
	return false;
}

static void
on_signal(void *context, uint32_t events)
{
	struct once *once = context;
	struct signalfd_siginfo info;

	(void)events;
	if (read(once->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	bool is_for_end = info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGUSR2;
	if (once->has_ended) {
		/* Only output is left, for somebody who does not read it. */
		if (is_for_end)
			hl_loop_stop(once->loop);
	} else if (once->result->was_started && !(is_for_end && is_stuck(once))) {
		session_call_signal(once->call, (int)info.ssi_signo);
	} else {
		/* Nothing runs that could answer, or it waits for a reader: this ends in any case.
		 */
		session_call_cancel(once->call);
	}
}

/* ------------------------------------------------------------------------------------------------
 * The call
 */
static void
on_started(void *context)
{
	struct once *once = context;

	once->result->was_started = true;
	on_stdin_room(context);
}

static void
on_late(void *context, uint32_t events)
{
	struct once *once = context;

	(void)events;
	once->late = NULL;
	hl_loop_stop(once->loop);
}

static void
on_end(void *context, struct session_result *result)
{
	struct once *once = context;
	const struct hl_watch patience = { .fd = -1,
		.when_ms = hl_now_mono_ms() + SESSION_KILL_MS,
		.fn = on_late,
		.context = once };
	struct hl_err err;

	once->has_ended = true;
	*once->result = *result;
	memset(result, 0, sizeof(*result)); /* its buffers are the caller's now */
	unwatch(&once->input);
	/* A command that ended by itself may have a slow reader; a killed one has no more time. */
	bool was_killed = once->result->how == RUNNER_TIMED_OUT ||
			  once->result->how == RUNNER_CANCELLED ||
			  once->result->how == RUNNER_BACKEND_ERROR;
	bool is_deaf = was_killed && once->session->phase == SESSION_CLOSED &&
		       once->result->how != RUNNER_BACKEND_ERROR;
	if (is_deaf || (was_killed && hl_loop_add(once->loop, &patience, &once->late, &err) != 0))
		hl_loop_stop(once->loop);
	settle(once);
}

/* A runner that says something impossible behind EXIT is not believed about the EXIT either. */
static void
judge(struct once *once)
{
	if (once->session->err.code != HLB_01)
		return;
	once->result->err = once->session->err;
	once->result->how = RUNNER_BACKEND_ERROR;
}

/* A runner that was told to end and did not: the kernel ends what is below it. */
static void
end_deaf(const struct once *once)
{
	bool is_deaf =
	    once->session->phase == SESSION_CLOSED &&
	    (once->result->how == RUNNER_TIMED_OUT || once->result->how == RUNNER_CANCELLED);

	if (is_deaf && once->session->config.sandbox->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, once->session->config.sandbox->pidfd, SIGKILL, NULL,
		    0);
}

static int
prepare(struct once *once, struct hl_err *err)
{
	const int fds[2] = { once->asked->stdout_fd, once->asked->stderr_fd };

	for (int i = 0; i < 2; i++) {
		struct pour *pour = &once->pours[i];
		*pour = (struct pour){ .once = once, .stream = i + 1, .fd = fds[i] };
		hl_buf_init(&pour->pending, RUNNER_WINDOW);
	}
	/* One descriptor cannot be watched twice. */
	if (fds[0] == fds[1] && fds[1] >= 0) {
		once->pours[1].fd = fcntl(fds[1], F_DUPFD_CLOEXEC, 3);
		if (once->pours[1].fd < 0)
			return hl_err_sys(err, HLI_02, "cannot duplicate standard error");
	}
	const struct hl_watch row = { .fd = once->signal_fd,
		.events = EPOLLIN,
		.fn = on_signal,
		.context = once };
	return hl_loop_add(once->loop, &row, &once->signals, err);
}

static void
clean_up(struct once *once)
{
	for (int i = 0; i < 2; i++) {
		unwatch(&once->pours[i].source);
		hl_buf_done(&once->pours[i].pending);
	}
	if (once->asked->stdout_fd == once->asked->stderr_fd && once->pours[1].fd >= 0)
		close(once->pours[1].fd);
	session_free(once->session);
	if (once->call != NULL)
		session_call_free(once->call);
	hl_loop_free(once->loop);
}

static int
open_call(struct once *once, struct hl_err *err)
{
	struct runner_spawn spawn = *once->asked->spawn;
	struct session_call *call = calloc(1, sizeof(*call));

	if (call == NULL)
		return hl_err_oom(err);
	call->cwd = strdup(spawn.cwd);
	if (call->cwd == NULL) {
		free(call);
		return hl_err_oom(err);
	}
	spawn.flags |= RUNNER_SPAWN_ALONE;
	once->session->is_alone = true;
	call->is_shell = once->asked->is_shell;
	call->is_sink = true;
	call->wall_ms = once->asked->wall_ms;
	call->request = (struct session_request){ .flags = SESSION_CALL_PAUSED,
		.on_started = on_started,
		.on_stdin_room = on_stdin_room,
		.on_output = on_output,
		.on_end = on_end,
		.context = once };
	hl_buf_init(&call->report, SESSION_STATE_MAX);
	once->call = call;
	once->stdin_ended = (spawn.flags & RUNNER_SPAWN_STDIN) == 0;
	return call_open(once->session, call, &spawn, NULL, err);
}

int
session_run(struct sandbox *sandbox, const struct session_once *call, int signal_fd,
    struct session_result *ret_result, struct hl_err *err)
{
	struct once once = { .asked = call, .signal_fd = signal_fd, .result = ret_result };
	struct session_config config = { .sandbox = sandbox, .start_ms = call->start_ms };
	uint64_t begin = hl_now_mono_ms();

	memset(ret_result, 0, sizeof(*ret_result));
	if (hl_loop_new(&once.loop, err) != 0)
		return -1;
	config.loop = once.loop;
	if (session_open(&config, &once.session, err) != 0) {
		hl_loop_free(once.loop);
		return -1;
	}
	int status = prepare(&once, err);
	/* The runner works on its lock while we wait for what must be done before the command. */
	if (status == 0 && call->before_spawn != NULL)
		status = call->before_spawn(call->context, err);
	if (status == 0)
		status = open_call(&once, err);
	if (status == 0)
		status = hl_loop_run(once.loop, err);
	if (status == 0) {
		judge(&once);
		end_deaf(&once);
	}
	clean_up(&once);
	ret_result->wall_ms = hl_now_mono_ms() - begin;
	ret_result->status = session_exit_status(ret_result);
	return status;
}
