/*
 * Scripted runners, and session_run() against one of them.
 */
#ifndef HL_TESTS_UNIT_SESSION_SCRIPT_H
#define HL_TESTS_UNIT_SESSION_SCRIPT_H

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/session.h"

/* What a scripted runner says; it then reads until the stream ends. */
struct script {
	struct hl_buf out;
	bool wait_for_kill; /* answers KILL with EXIT of that reason */
	int pongs;          /* answers PING so often, and then no more */
	int exit_after_ms;  /* and says EXIT so long after TERM; 0 = does not */
	int close_after_ms; /* 0 = wait for the host */
	int term_after_ms;  /* sends TERM to the host; 0 = does not */
};

/* How long run_script() lets a sandbox become ready; 0 = the session's own time. */
static uint64_t start_ms;

static void
put_hello(struct hl_buf *out, uint32_t version)
{
	struct hl_buf payload;

	hl_buf_init(&payload, 64);
	hl_wire_put_u32(&payload, version);
	hl_wire_put_u32(&payload, 0);
	hl_wire_put_u32(&payload, 1);
	hl_buf_put(out, RUNNER_MAGIC, RUNNER_MAGIC_SIZE);
	runner_frame_put(out, RUNNER_HELLO, 0, payload.data, payload.len);
	hl_buf_done(&payload);
}

static void
put_locked(struct hl_buf *out)
{
	struct hl_buf payload;

	hl_buf_init(&payload, 64);
	hl_wire_put_string(&payload, "verified");
	runner_frame_put(out, RUNNER_LOCKED, 0, payload.data, payload.len);
	hl_buf_done(&payload);
}

static void
put_started(struct hl_buf *out)
{
	unsigned char pid[4] = { 2 };

	runner_frame_put(out, RUNNER_STARTED, 1, pid, sizeof(pid));
}

static void
put_out(struct hl_buf *out, int stream, const char *bytes, size_t len)
{
	struct hl_buf payload;

	hl_buf_init(&payload, RUNNER_PAYLOAD_MAX);
	hl_wire_put_u8(&payload, (uint8_t)stream);
	hl_buf_put(&payload, bytes, len);
	runner_frame_put(out, RUNNER_OUT, 1, payload.data, payload.len);
	hl_buf_done(&payload);
}

static void
put_exit(struct hl_buf *out, enum runner_how how, uint32_t code, uint32_t sig)
{
	struct runner_exit ended = { .how = how, .code = code, .signal = sig, .subject = "" };

	runner_exit_put(out, 1, &ended);
}

static void
begin(struct script *script)
{
	memset(script, 0, sizeof(*script));
	hl_buf_init(&script->out, 8U << 20);
	put_hello(&script->out, RUNNER_VERSION);
	put_locked(&script->out);
	put_started(&script->out);
}

/* And the end of a command that took its time to it. */
static void
say_pong(const struct script *script, int fd, int left)
{
	struct hl_buf answer;

	hl_buf_init(&answer, 4096);
	runner_frame_put(&answer, RUNNER_PONG, 0, NULL, 0);
	if (hl_write_full(fd, answer.data, answer.len) != 0)
		_exit(0);
	if (left == 1 && script->exit_after_ms > 0) {
		usleep((useconds_t)script->exit_after_ms * 1000);
		hl_buf_reset(&answer);
		put_exit(&answer, RUNNER_EXITED, 7, 0);
		if (hl_write_full(fd, answer.data, answer.len) != 0)
			_exit(0);
	}
	hl_buf_done(&answer);
}

static void
play(const struct script *script, int fd)
{
	struct hl_buf in, answer;
	char chunk[4096];

	if (hl_write_full(fd, script->out.data, script->out.len) != 0)
		_exit(0);
	if (script->close_after_ms > 0) {
		usleep((useconds_t)script->close_after_ms * 1000);
		_exit(0);
	}
	if (script->term_after_ms > 0) {
		usleep((useconds_t)script->term_after_ms * 1000);
		kill(getppid(), SIGTERM);
	}
	int pongs = script->pongs;
	hl_buf_init(&in, 1U << 20);
	for (ssize_t n; (n = read(fd, chunk, sizeof(chunk))) > 0;) {
		struct runner_frame frame;
		struct hl_err err;
		size_t size;
		hl_buf_put(&in, chunk, (size_t)n);
		while (runner_frame_get(&in, &frame, &size, &err) == 1) {
			if (frame.type == RUNNER_KILL && script->wait_for_kill) {
				hl_buf_init(&answer, 4096);
				put_exit(&answer, (enum runner_how)frame.payload[0], 0, 0);
				if (hl_write_full(fd, answer.data, answer.len) != 0)
					_exit(0);
			}
			if (frame.type == RUNNER_PING && pongs > 0)
				say_pong(script, fd, pongs--);
			hl_buf_drop(&in, size);
		}
	}
	_exit(0);
}

/* Runs one call against the script; captured: what reached our stdout. */
static struct session_result
run_script(struct script *script, uint64_t wall_ms, struct hl_buf *captured)
{
	struct session_result result;
	struct runner_spawn spawn = { .cwd = "/", .flags = 0 };
	struct sandbox sandbox = { .pidfd = -1 };
	struct hl_err err;
	sigset_t old;
	int pair[2], out[2], signal_fd;

	hl_buf_init(&sandbox.lock, 64);
	hl_strv_init(&spawn.argv, 4);
	hl_strv_init(&spawn.env, 4);
	hl_strv_add(&spawn.argv, "true");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(pipe(out), 0);
	assert_int_equal(session_signals(&old, &signal_fd, &err), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(pair[0]);
		play(script, pair[1]);
	}
	close(pair[1]);
	sandbox.stream = pair[0];
	struct session_once call = { .spawn = &spawn,
		.wall_ms = wall_ms,
		.start_ms = start_ms,
		.stdin_fd = -1,
		.stdout_fd = out[1],
		.stderr_fd = out[1] };
	assert_int_equal(session_run(&sandbox, &call, signal_fd, &result, &err), 0);
	close(pair[0]);
	close(out[1]);
	waitpid(child, NULL, 0);
	if (captured != NULL) {
		hl_buf_init(captured, 4U << 20);
		assert_int_equal(hl_read_file(out[0], captured, "pipe", HLI_02, &err), 0);
	}
	close(out[0]);
	close(signal_fd);
	sigprocmask(SIG_SETMASK, &old, NULL);
	runner_spawn_done(&spawn);
	hl_buf_done(&sandbox.lock);
	hl_buf_done(&script->out);
	return result;
}

#endif
