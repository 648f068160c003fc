/*
 * docker-credential-NAME get: the server goes to its standard input, the credentials come from its
 * standard output. It is the caller's own program and gets of the caller what such programs need to
 * find their store, and nothing else: no descriptor of ours, no other variable. What it says to
 * standard error is nobody's to read.
 */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/engine/pull.h"

#include "base/banned.h"

enum {
	ANSWER_MS = 60 * 1000, /* it may ask a person */
	END_MS = 2000,
	PATH_TEXT_MAX = 4096,
};

/* By the programs' own protocol this text, and no number, says that there is nothing. */
static const char not_found[] = "credentials not found in native keychain";

struct program {
	char path[PATH_TEXT_MAX]; /* as PATH has it */
	char *file;               /* where that is, which is run */
	pid_t pid;
	int pidfd, in, out; /* -1 = closed */
};

/* ------------------------------------------------------------------------------------------------
 * Start
 */
static const char *
search_path(const struct hl_strv *env)
{
	for (size_t i = 0; env != NULL && i < env->len; i++) {
		if (strncmp(env->v[i], "PATH=", 5) == 0)
			return env->v[i] + 5;
	}
	return "/usr/local/bin:/usr/bin:/bin";
}

/* Absolute directories only: where we stand is a place that commands write to. */
static bool
find_program(const struct registry_source *source, const char *name, struct program *program)
{
	const char *dir = search_path(source->env);

	for (size_t len; *dir != '\0'; dir += len + (dir[len] == ':' ? 1 : 0)) {
		len = strcspn(dir, ":");
		if (dir[0] != '/' || len >= PATH_TEXT_MAX / 2)
			continue;
		snprintf(program->path, PATH_TEXT_MAX, "%.*s/docker-credential-%s", (int)len, dir,
		    name);
		if (access(program->path, X_OK) != 0)
			continue;
		program->file = program_settle(program->path, source->shown);
		if (program->file != NULL)
			return true;
	}
	return false;
}

static int
start(struct program *program, const struct hl_strv *env, struct hl_err *err)
{
	char *const nothing[] = { NULL };
	char verb[] = "get";
	char *const argv[] = { program->path, verb, NULL };
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, result = -1;

	if (pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0) {
		const int fds[] = { in[0], out[1], -1 };
		const struct hl_child child = {
			.path = program->file,
			.argv = argv,
			.envp = env != NULL && env->len > 0 ? env->v : nothing,
			.dir = "/",
			.fds = fds,
			.fds_len = HL_ARRAY_SIZE(fds),
			.has_session = true,
			/* It waits for nobody then, and may ask a person. */
			.death_signal = SIGKILL,
		};
		result = hl_child_start(&child, &program->pid, &program->pidfd);
	}
	if (result != 0)
		hl_err_sys(err, HLB_65, "cannot start '%s'", program->path);
	hl_close_ptr(&in[0]);
	hl_close_ptr(&out[1]);
	program->in = in[1];
	program->out = out[0];
	return result;
}

/* ------------------------------------------------------------------------------------------------
 * Talk
 */

/* 1: there is something to read; 0: the time is over; -1: the launcher has ended. */
static int
wait_for(int fd, int watch, uint64_t end)
{
	for (;;) {
		struct pollfd ready[2] = { { .fd = fd, .events = POLLIN }, { .fd = watch } };
		uint64_t now = hl_now_mono_ms();
		int n = poll(ready, 2, now < end ? (int)(end - now) : 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		if ((ready[1].revents & (POLLHUP | POLLERR)) != 0)
			return -1;
		if (ready[0].revents != 0)
			return 1;
	}
}

static int
talk(const struct registry_source *source, struct program *program, const char *server,
    struct hl_buf *out, struct hl_err *err)
{
	const uint64_t end = hl_now_mono_ms() + ANSWER_MS;
	char bytes[4096];
	int status = 0;

	/* Shorter than a pipe's buffer; one that does not read it has ended, and says so below. */
	if (hl_write_full(program->in, server, strlen(server)) != 0)
		errno = 0;
	hl_close_ptr(&program->in);
	program->in = -1;
	while (status == 0) {
		int ready = wait_for(program->out, source->watch, end);
		ssize_t n = ready > 0 ? read(program->out, bytes, sizeof(bytes)) : -1;
		if (n == 0)
			break;
		if (ready < 0)
			status = hl_err_set(err, HLB_60, "the launcher has ended");
		else if (n < 0)
			status =
			    hl_err_set(err, HLB_65, "'%s' did not answer in time", program->path);
		else
			hl_buf_put(out, bytes, (size_t)n);
		if (status == 0 && out->failed)
			status = hl_err_set(err, HLB_65, "the answer of '%s' is too large",
			    program->path);
	}
	explicit_bzero(bytes, sizeof(bytes));
	return status;
}

/* Its exit status, -1 when it had none. One that has said all and stays is ended, one that failed
 * to say it with what it has started. */
static int
end(struct program *program, bool is_forced)
{
	int status = -1;

	hl_close_ptr(&program->in);
	hl_close_ptr(&program->out);
	if (is_forced || wait_for(program->pidfd, -1, hl_now_mono_ms() + END_MS) != 1)
		kill(-program->pid, SIGKILL);
	hl_close_ptr(&program->pidfd);
	while (waitpid(program->pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool
says_not_found(const struct hl_buf *out)
{
	size_t len = out->len;

	while (len > 0 && (out->data[len - 1] == '\n' || out->data[len - 1] == '\r'))
		len--;
	return len == sizeof(not_found) - 1 && memcmp(out->data, not_found, len) == 0;
}

int
credential_get(const struct registry_source *source, const struct credential_want *want,
    struct hl_buf *out, struct hl_err *err)
{
	struct program program = { .pidfd = -1, .in = -1, .out = -1 };

	if (!find_program(source, want->name, &program)) {
		hl_err_set(err, HLB_65,
		    "'docker-credential-%s', which '%s' names, is at no safe place of PATH",
		    want->name, want->file);
		return hl_err_help(err,
		    "install it where only root or you can write, and no sandbox; or take it out of that file: then a pull is anonymous");
	}
	int talked = start(&program, source->env, err);
	free(HL_TAKE_PTR(program.file));
	if (talked == 0)
		talked = talk(source, &program, want->server, out, err);
	if (program.pid == 0) {
		hl_close_ptr(&program.in);
		hl_close_ptr(&program.out);
		return -1;
	}
	int status = end(&program, talked != 0);
	if (talked != 0)
		return -1;
	if (status == 0)
		return 1;
	if (says_not_found(out))
		return 0;
	/* Its own words may be anything, a secret too. */
	hl_err_set(err, HLB_65, "'docker-credential-%s' has no credentials to give for '%s'",
	    want->name, want->server);
	return hl_err_help(err, "say 'docker-credential-%s get' with '%s' as its input to see why",
	    want->name, want->server);
}
