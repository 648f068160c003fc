/*
 * hl-engine as a child of the launcher: made with nothing of ours but two sockets, asked packet by
 * packet, and ended by closing one of them.
 */
#include "backends/docker/helper.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum {
	/* hl-engine keeps its own limits, the longest of them a pull's; this is for a broken one.
	 */
	ANSWER_MS = 40 * 60 * 1000,
	END_MS = 30 * 1000,
	STATUS_FD = 5,
};

/* ------------------------------------------------------------------------------------------------
 * Start
 */
struct helper_child {
	const char *path;
	int control, stream, status, null; /* all above STATUS_FD */
};

/* Between fork and exec: async-signal-safe calls only. */
static void
become_helper(const struct helper_child *child)
{
	char *const argv[] = { (char[]){ "hl-engine" }, NULL };
	char *const envp[] = { NULL };
	sigset_t none;
	int cause;

	if (setsid() >= 0 && dup2(child->null, 0) == 0 && dup2(child->null, 1) == 1 &&
	    dup2(child->null, 2) == 2 && dup2(child->control, ENGINE_CONTROL_FD) >= 0 &&
	    dup2(child->stream, ENGINE_STREAM_FD) >= 0 &&
	    dup3(child->status, STATUS_FD, O_CLOEXEC) >= 0 &&
	    syscall(SYS_close_range, STATUS_FD + 1, ~0U, 0) == 0) {
		sigemptyset(&none);
		for (int number = 1; number < NSIG; number++)
			(void)signal(number, SIG_DFL);
		if (sigprocmask(SIG_SETMASK, &none, NULL) == 0)
			execve(child->path, argv, envp);
	}
	cause = errno;
	while (write(STATUS_FD, &cause, sizeof(cause)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* A copy above the numbers that the child gives out. */
static int
raise_fd(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, STATUS_FD + 1);
}

static int
fork_helper(struct docker_helper *helper, const struct helper_child *child, int status_read,
    struct hl_err *err)
{
	int cause = 0;
	pid_t pid = fork();

	if (pid < 0)
		return hl_err_sys(err, HLB_59, "fork");
	if (pid == 0)
		become_helper(child);
	helper->pid = pid;
	/* The child is not reaped before docker_helper_end(), so its number is still its own. */
	helper->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	close(child->status);
	if (hl_read_full(status_read, &cause, sizeof(cause)) == (ssize_t)sizeof(cause)) {
		errno = cause;
		return hl_err_sys(err, HLB_59, "cannot start '%s'", child->path);
	}
	return helper->pidfd >= 0 ? 0 : hl_err_sys(err, HLB_59, "pidfd_open");
}

int
docker_helper_start(struct docker_helper *helper, const char *path, int cancel_fd,
    struct hl_err *err)
{
	int control[2] = { -1, -1 }, stream[2] = { -1, -1 }, status[2] = { -1, -1 };
	int result = -1;

	*helper = (struct docker_helper){ .pidfd = -1,
		.control = -1,
		.stream = -1,
		.cancel_fd = cancel_fd };
	if (path == NULL)
		return hl_err_set(err, HLB_59,
		    "'hl-engine' is not beside 'hermes-launch', and only it speaks to engines");
	int null HL_AUTO_FD = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream) < 0 ||
	    pipe2(status, O_CLOEXEC) < 0) {
		hl_err_sys(err, HLB_59, "cannot make sockets for '%s'", path);
	} else {
		struct helper_child child = {
			.path = path,
			.control = raise_fd(control[1]),
			.stream = raise_fd(stream[1]),
			.status = raise_fd(status[1]),
			.null = raise_fd(null),
		};
		close(status[1]);
		status[1] = -1;
		if (child.control < 0 || child.stream < 0 || child.status < 0 || child.null < 0)
			hl_err_sys(err, HLB_59, "cannot make sockets for '%s'", path);
		else
			result = fork_helper(helper, &child, status[0], err);
		hl_close_ptr(&child.control);
		hl_close_ptr(&child.stream);
		hl_close_ptr(&child.null);
	}
	helper->control = hl_take_fd(&control[0]);
	helper->stream = hl_take_fd(&stream[0]);
	hl_close_ptr(&control[1]);
	hl_close_ptr(&stream[1]);
	hl_close_ptr(&status[0]);
	hl_close_ptr(&status[1]);
	if (result < 0)
		docker_helper_end(helper);
	return result;
}

void
docker_helper_end(struct docker_helper *helper)
{
	hl_close_ptr(&helper->control);
	hl_close_ptr(&helper->stream);
	helper->control = helper->stream = -1;
	if (helper->pid > 0) {
		struct pollfd ended = { .fd = helper->pidfd, .events = POLLIN };
		if (helper->pidfd < 0 || poll(&ended, 1, END_MS) == 0)
			kill(helper->pid, SIGKILL);
		while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	hl_close_ptr(&helper->pidfd);
	helper->pid = 0;
	helper->pidfd = -1;
}

/* ------------------------------------------------------------------------------------------------
 * Ask
 */

/* Only what an engine can be the cause of is believed. */
static int
take_failure(struct hl_wire *wire, struct hl_err *err)
{
	const char *id = hl_wire_string(wire);
	const char *message = hl_wire_string(wire);
	const char *help = hl_wire_string(wire);

	if (!hl_wire_is_complete(wire))
		return hl_err_set(err, HLB_59, "hl-engine sent a malformed answer");
	enum hl_code code = hl_code_from_id(id);
	if (code == HL_OK || (strncmp(id, "HLB-", 4) != 0 && strncmp(id, "HLI-", 4) != 0))
		code = HLB_59;
	hl_err_set(err, code, "%s", message);
	if (help[0] != '\0')
		hl_err_help(err, "%s", help);
	return -1;
}

static int
wait_for_answer(struct docker_helper *helper, struct hl_err *err)
{
	struct pollfd ready[2] = {
		{ .fd = helper->control, .events = POLLIN },
		{ .fd = helper->cancel_fd, .events = POLLIN },
	};

	for (;;) {
		int n = poll(ready, 2, ANSWER_MS);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hl_err_sys(err, HLI_02, "poll");
		if (n == 0)
			return hl_err_set(err, HLB_59, "hl-engine does not answer");
		if (ready[0].revents != 0)
			return 0;
		return hl_err_set(err, HLB_60, "interrupted before the command was started");
	}
}

static int
exchange(struct docker_helper *helper, const struct hl_buf *request, struct hl_buf *answer,
    struct hl_err *err)
{
	char *packet HL_AUTO_FREE = malloc(ENGINE_PACKET_MAX);

	if (packet == NULL)
		return hl_err_oom(err);
	if (send(helper->control, request->data, request->len, MSG_NOSIGNAL) !=
	    (ssize_t)request->len)
		return hl_err_sys(err, HLB_59, "hl-engine has ended");
	if (wait_for_answer(helper, err) < 0)
		return -1;
	ssize_t n = recv(helper->control, packet, ENGINE_PACKET_MAX, 0);
	if (n < 0)
		return hl_err_sys(err, HLB_59, "hl-engine has ended");
	if (n == 0)
		return hl_err_set(err, HLB_59, "hl-engine has ended");
	hl_buf_put(answer, packet, (size_t)n);
	return hl_buf_check(answer, "answer of the engine", err);
}

int
docker_helper_ask(struct docker_helper *helper, const struct hl_buf *request,
    enum engine_message want, struct hl_buf *ret_answer, struct hl_err *err)
{
	struct hl_wire wire;

	hl_buf_init(ret_answer, ENGINE_PACKET_MAX);
	if (hl_buf_check(request, "request for the engine", err) < 0)
		return -1;
	if (exchange(helper, request, ret_answer, err) < 0) {
		helper->is_broken = true;
		hl_buf_done(ret_answer);
		return -1;
	}
	hl_wire_init(&wire, ret_answer->data, ret_answer->len);
	unsigned type = hl_wire_u8(&wire);
	if (type == want)
		return 0;
	if (type == ENGINE_FAILED) {
		take_failure(&wire, err);
	} else {
		helper->is_broken = true;
		hl_err_set(err, HLB_59, "hl-engine sent a malformed answer");
	}
	hl_buf_done(ret_answer);
	return -1;
}

static int
malformed(struct docker_helper *helper, struct hl_err *err)
{
	helper->is_broken = true;
	return hl_err_set(err, HLB_59, "hl-engine sent a malformed answer");
}

int
docker_helper_open(struct docker_helper *helper, const struct plan *plan,
    struct docker_opened *ret_opened, struct hl_err *err)
{
	struct hl_buf request;
	struct hl_wire wire;

	hl_buf_init(&request, ENGINE_PACKET_MAX);
	hl_wire_put_u8(&request, ENGINE_OPEN);
	hl_wire_put_string(&request, plan->endpoint);
	hl_wire_put_string(&request, plan->image);
	hl_wire_put_u8(&request, (uint8_t)plan->pull);
	int status = docker_helper_ask(helper, &request, ENGINE_OPENED, &ret_opened->answer, err);
	hl_buf_done(&request);
	if (status < 0)
		return -1;
	hl_strv_init(&ret_opened->env, ENGINE_IMAGE_ENV_MAX);
	hl_wire_init(&wire, ret_opened->answer.data + 1, ret_opened->answer.len - 1);
	ret_opened->engine = hl_wire_string(&wire);
	ret_opened->image_id = hl_wire_string(&wire);
	ret_opened->digest = hl_wire_string(&wire);
	ret_opened->user = hl_wire_string(&wire);
	hl_strv_init(&ret_opened->volumes, ENGINE_VOLUMES_MAX);
	hl_wire_strv(&wire, &ret_opened->env);
	hl_wire_strv(&wire, &ret_opened->volumes);
	if (hl_wire_is_complete(&wire) && !ret_opened->env.failed && !ret_opened->volumes.failed)
		return 0;
	docker_opened_done(ret_opened);
	return malformed(helper, err);
}

void
docker_opened_done(struct docker_opened *opened)
{
	hl_buf_done(&opened->answer);
	hl_strv_done(&opened->env);
	hl_strv_done(&opened->volumes);
}

int
docker_helper_reach(struct docker_helper *helper, const char *path, const char *endpoint,
    struct docker_opened *ret_opened, struct hl_err *err)
{
	HL_AUTO_FREE char *copy = strdup(endpoint);
	const struct plan plan = { .endpoint = copy, .cancel_fd = -1 };

	if (copy == NULL)
		return hl_err_oom(err);
	if (docker_helper_start(helper, path, -1, err) < 0)
		return -1;
	if (docker_helper_open(helper, &plan, ret_opened, err) == 0)
		return 0;
	docker_helper_end(helper);
	return -1;
}

int
docker_helper_remove(struct docker_helper *helper, const char *name, const char *run_id,
    struct hl_err *err)
{
	struct hl_buf request, answer;

	hl_buf_init(&request, 4096);
	hl_wire_put_u8(&request, ENGINE_REMOVE);
	hl_wire_put_string(&request, name);
	hl_wire_put_string(&request, run_id);
	int status = docker_helper_ask(helper, &request, ENGINE_REMOVED, &answer, err);
	hl_buf_done(&request);
	if (status == 0)
		hl_buf_done(&answer);
	return status;
}

int
docker_helper_create(struct docker_helper *helper, const char *name, const char *body,
    struct docker_created *ret_created, struct hl_err *err)
{
	struct hl_buf request, answer;
	struct hl_wire wire;

	hl_buf_init(&request, ENGINE_PACKET_MAX);
	hl_wire_put_u8(&request, ENGINE_CREATE);
	hl_wire_put_string(&request, name);
	hl_wire_put_string(&request, body);
	int status = docker_helper_ask(helper, &request, ENGINE_CREATED, &answer, err);
	hl_buf_done(&request);
	if (status < 0)
		return -1;
	hl_strv_init(&ret_created->warnings, ENGINE_WARNINGS_MAX);
	hl_wire_init(&wire, answer.data + 1, answer.len - 1);
	const char *id = hl_wire_string(&wire);
	hl_wire_strv(&wire, &ret_created->warnings);
	if (hl_wire_is_complete(&wire) && strlen(id) < sizeof(ret_created->id)) {
		snprintf(ret_created->id, sizeof(ret_created->id), "%s", id);
	} else {
		hl_strv_done(&ret_created->warnings);
		status = malformed(helper, err);
	}
	hl_buf_done(&answer);
	return status;
}

int
docker_helper_start_container(struct docker_helper *helper, uint32_t *ret_pid, struct hl_err *err)
{
	struct hl_buf request, answer;
	struct hl_wire wire;

	hl_buf_init(&request, 16);
	hl_wire_put_u8(&request, ENGINE_START);
	int status = docker_helper_ask(helper, &request, ENGINE_STARTED, &answer, err);
	hl_buf_done(&request);
	if (status < 0)
		return -1;
	hl_wire_init(&wire, answer.data + 1, answer.len - 1);
	uint32_t pid = hl_wire_u32(&wire);
	if (hl_wire_is_complete(&wire))
		*ret_pid = pid;
	else
		status = malformed(helper, err);
	hl_buf_done(&answer);
	return status;
}

int
docker_helper_stop(struct docker_helper *helper, struct docker_end *ret_end, struct hl_err *err)
{
	struct hl_buf request, answer;
	struct hl_wire wire;
	size_t len = 0;

	hl_buf_init(&request, 16);
	hl_wire_put_u8(&request, ENGINE_STOP);
	int status = docker_helper_ask(helper, &request, ENGINE_STOPPED, &answer, err);
	hl_buf_done(&request);
	if (status < 0)
		return -1;
	memset(ret_end, 0, sizeof(*ret_end));
	hl_wire_init(&wire, answer.data + 1, answer.len - 1);
	ret_end->flags = hl_wire_u32(&wire);
	ret_end->exit_code = hl_wire_u32(&wire);
	const void *diagnosis = hl_wire_bytes(&wire, &len);
	const char *why = hl_wire_string(&wire);
	if (hl_wire_is_complete(&wire) && len < sizeof(ret_end->diagnosis)) {
		memcpy(ret_end->diagnosis, diagnosis, len);
		snprintf(ret_end->why, sizeof(ret_end->why), "%s", why);
	} else {
		status = malformed(helper, err);
	}
	hl_buf_done(&answer);
	return status;
}
