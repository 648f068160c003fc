/*
 * run in a named session, and shell: one call with our own standard streams, over JSON-RPC to a
 * keeper, or to a sandbox of our own in the same loop.
 */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "launcher/face.h"

#include "base/banned.h"

enum {
	CALL_FAILED = 125
};

static int
call_named(struct run *run, const struct client_ask *ask, struct hl_err *err)
{
	struct hl_loop *loop = NULL;
	int fd = -1;

	if (keeper_attach(run, protocol_rpc.name, &fd, err) != 0)
		return -1;
	if (hl_loop_new(&loop, err) != 0) {
		close(fd);
		return -1;
	}
	/* Only now: what went wrong before is told on a terminal that is as it was. */
	int status = ask->is_shell ? term_raw(err) : 0;
	if (status == 0)
		status = client_run(run, loop, fd, ask, err);
	else
		close(fd);
	term_restore();
	hl_loop_free(loop);
	return status;
}

/* The first error is the call's, also when the command ended well; a further one is told. */
static int
add_error(int status, const struct hl_err *second, struct hl_err *err)
{
	if (status == 0)
		*err = *second;
	else if (second->code != err->code)
		report_error(second);
	return -1;
}

/* The other end of the client's socket is served from the same loop. */
static int
call_alone(struct run *run, const struct client_ask *ask, struct hl_err *err)
{
	static struct face face; /* its conflicts are too large for a stack */
	struct hl_err second;
	int ends[2], fds[2];

	face.run = run;
	face.has_client = true;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return hl_err_sys(err, HLI_02, "cannot make a socket pair");
	HL_AUTO_FD int ours = ends[1];
	fds[0] = ends[0];
	fds[1] = fcntl(ends[0], F_DUPFD_CLOEXEC, 3);
	if (fds[1] < 0) {
		close(fds[0]);
		return hl_err_sys(err, HLI_02, "cannot duplicate a descriptor");
	}
	int status = face_open(&face, &protocol_rpc, fds, err);
	if (status == 0)
		status = term_raw(err);
	if (status == 0)
		status = client_run(run, face.loop, hl_take_fd(&ours), ask, err);
	face.has_client = false;
	if (face.serve.session != NULL && !face.serve.is_closed) {
		serve_close(&face.serve);
		if (hl_loop_run(face.loop, &second) != 0)
			status = add_error(status, &second, err);
	}
	term_restore();
	if (face_end(&face, &second) != 0)
		status = add_error(status, &second, err);
	return status;
}

static int
one_call(const struct request *request, bool is_shell)
{
	static struct run run;
	struct hl_err err = { 0 };
	const struct client_ask ask = {
		.request = request,
		.is_shell = is_shell,
		.is_shared = !is_shell,
	};
	int status = -1;

	if (is_shell && !isatty(STDIN_FILENO)) {
		hl_err_set(&err, HLU_22, "standard input is not a terminal");
		hl_err_help(&err, "to run one command, use 'hermes-launch run -c TEXT'");
		report_error(&err);
		return CALL_FAILED;
	}
	if (run_init(&run, request, &err) != 0 || run_settle(&run, &err) != 0)
		run_refused(&run, &err);
	else if (request->name.text != NULL)
		status = call_named(&run, &ask, &err);
	else
		status = call_alone(&run, &ask, &err);
	/* Of a session that is lost the command had begun, perhaps. */
	if (status != 0)
		run_failed(&run, err.code == HLB_07 ? RUNNER_BACKEND_ERROR : RUNNER_LAUNCHER_ERROR,
		    &err);
	if (run.result.err.code != HL_OK)
		report_error(&run.result.err);
	if (run.result.how == RUNNER_TIMED_OUT)
		report_note("timed out: the command and everything it started were ended");
	result_write(&run);
	run_done(&run);
	return run.result.status;
}

int
face_named_run(const struct request *request)
{
	return one_call(request, false);
}

int
verb_shell(const struct request *request)
{
	return one_call(request, true);
}
