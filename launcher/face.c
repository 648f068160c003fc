/*
 * session and mcp: a protocol on standard input and output, over a sandbox of our own or, with
 * --name, over a keeper's.
 */
#include "launcher/face.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum {
	FLUSH_MS = 2000
};

static void
on_closed(void *context)
{
	struct face *face = context;

	if (face->has_conn)
		line_flush(&face->conn.line, FLUSH_MS);
	/* A client in the same loop reads what was written, and then that there is no more. */
	if (face->has_client)
		line_close(&face->conn.line);
	else
		hl_loop_stop(face->loop);
}

static void
on_conn_done(void *context, struct conn *conn)
{
	struct face *face = context;

	(void)conn;
	serve_close(&face->serve);
}

static void
on_signal(void *context, uint32_t events)
{
	struct face *face = context;
	struct signalfd_siginfo info;

	(void)events;
	if (read(face->run->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	face->signal = (int)info.ssi_signo;
	serve_close(&face->serve);
}

static int
watch_signals(struct face *face, struct hl_err *err)
{
	const struct hl_watch watch = {
		.fd = face->run->signal_fd,
		.events = EPOLLIN,
		.fn = on_signal,
		.context = face,
	};

	return hl_loop_add(face->loop, &watch, &face->signals, err);
}

int
face_open(struct face *face, const struct protocol *protocol, const int fds[2], struct hl_err *err)
{
	face->serve.run = face->run;
	face->serve.face = protocol->name;
	face->serve.on_closed = on_closed;
	face->serve.context = face;
	if (hl_loop_new(&face->loop, err) != 0 || serve_open(&face->serve, face->loop, err) != 0) {
		close(fds[0]);
		close(fds[1]);
		return -1;
	}
	face->conn = (struct conn){
		.serve = &face->serve,
		.protocol = protocol,
		.on_done = on_conn_done,
		.context = face,
	};
	if (conn_open(&face->conn, fds, err) != 0)
		return -1;
	face->has_conn = true;
	return 0;
}

int
face_end(struct face *face, struct hl_err *err)
{
	int status = 0;

	/* In order they have ended and told the connection so; else nobody is told any more. */
	if (face->has_conn)
		conn_free(&face->conn);
	if (face->serve.loop != NULL && serve_end(&face->serve, err) != 0)
		status = -1;
	else if (face->serve.err.code != HL_OK) {
		*err = face->serve.err;
		status = -1;
	}
	hl_source_remove(face->signals);
	hl_loop_free(face->loop);
	return status;
}

/* Ours become /dev/null, so that nothing that we start can read or write the protocol. */
static int
take_stdio(int fds[2], struct hl_err *err)
{
	HL_AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	fds[0] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
	fds[1] = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
	if (null < 0 || fds[0] < 0 || fds[1] < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0)
		return hl_err_sys(err, HLI_02, "standard input and output cannot be set apart");
	return 0;
}

static int
serve_alone(struct run *run, const struct protocol *protocol, struct hl_err *err)
{
	static struct face face; /* its conflicts are too large for a stack */
	struct hl_err second;
	int fds[2];

	face.run = run;
	if (take_stdio(fds, err) != 0)
		return -1;
	int status = face_open(&face, protocol, fds, err);
	if (status == 0)
		status = watch_signals(&face, err);
	if (status == 0)
		status = hl_loop_run(face.loop, err);
	if (status != 0) {
		if (face_end(&face, &second) != 0 && second.code != err->code)
			report_error(&second);
		return -1;
	}
	if (face_end(&face, err) != 0)
		return -1;
	return face.signal == 0 ? 0 : 128 + face.signal;
}

static int
serve_named(struct run *run, const struct protocol *protocol, struct hl_err *err)
{
	int fd = -1;

	if (keeper_attach(run, protocol->name, &fd, err) != 0)
		return -1;
	int status = relay_run(fd, run->signal_fd, err);
	close(fd);
	return status != 0 ? status : keeper_check_end(run, err);
}

static int
speak(const struct request *request, const struct protocol *protocol)
{
	static struct run run;
	struct hl_err err = { 0 };
	int status;

	if (run_init(&run, request, &err) != 0 || run_settle(&run, &err) != 0) {
		run_refused(&run, &err);
		status = -1;
	} else if (request->name.text != NULL) {
		status = serve_named(&run, protocol, &err);
	} else {
		status = serve_alone(&run, protocol, &err);
	}
	if (status < 0) {
		report_error(&err);
		status = hl_code_info(err.code)->exit_status;
	}
	run_done(&run);
	return status;
}

int
verb_session(const struct request *request)
{
	return speak(request, &protocol_rpc);
}

int
verb_mcp(const struct request *request)
{
	return speak(request, &protocol_mcp);
}
