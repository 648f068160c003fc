/*
 * hl-seal as a child of the launcher: made with nothing of ours but its socket and, to sign, the
 * descriptors of a key and of a passphrase; asked packet by packet, and ended by closing the
 * socket.
 */
#include "policy/sealer.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum {
	/* To check all signatures of a note takes milliseconds; this is for a broken hl-seal. */
	ANSWER_MS = 30 * 1000,
	/* The same while somebody may be asked for a passphrase. */
	PERSON_MS = 40 * 60 * 1000,
	END_MS = 10 * 1000,
	STATUS_FD = SEAL_PASSPHRASE_FD + 1,
};

struct seal_child {
	const char *path;
	int control, key, passphrase, status, null; /* all above STATUS_FD */
};

/* Between fork and exec: async-signal-safe calls only. Same session as ours, because it may ask at
 * the terminal. */
static void
become_sealer(const struct seal_child *child)
{
	char *const argv[] = { (char[]){ "hl-seal" }, NULL };
	char *const envp[] = { NULL };
	sigset_t none;
	int cause;

	if (dup2(child->null, 0) == 0 && dup2(child->null, 1) == 1 && dup2(child->null, 2) == 2 &&
	    dup2(child->control, SEAL_CONTROL_FD) >= 0 && dup2(child->key, SEAL_KEY_FD) >= 0 &&
	    dup2(child->passphrase, SEAL_PASSPHRASE_FD) >= 0 &&
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

static int
fork_sealer(struct sealer *sealer, struct seal_child *child, int status_read, struct hl_err *err)
{
	int cause = 0;
	pid_t pid = fork();

	if (pid < 0)
		return hl_err_sys(err, HLS_13, "fork");
	if (pid == 0)
		become_sealer(child);
	sealer->pid = pid;
	/* The child is not reaped before policy_sealer_end(), so its number is still its own. */
	sealer->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	hl_close_ptr(&child->status);
	child->status = -1;
	if (hl_read_full(status_read, &cause, sizeof(cause)) == (ssize_t)sizeof(cause)) {
		errno = cause;
		return hl_err_sys(err, HLS_13, "cannot start '%s'", child->path);
	}
	return sealer->pidfd >= 0 ? 0 : hl_err_sys(err, HLS_13, "pidfd_open");
}

/* A copy above the numbers that the child gives out. */
static int
raise_fd(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, STATUS_FD + 1);
}

static int
start_child(struct sealer *sealer, const struct sealer_start *start, const int ends[2], int null,
    struct hl_err *err)
{
	int status[2] = { -1, -1 };
	struct seal_child child = {
		.path = start->path,
		.control = raise_fd(ends[1]),
		.key = raise_fd(start->key_fd >= 0 ? start->key_fd : null),
		.passphrase = raise_fd(start->passphrase_fd >= 0 ? start->passphrase_fd : null),
		.null = raise_fd(null),
		.status = -1,
	};
	int result = -1;

	if (pipe2(status, O_CLOEXEC) == 0)
		child.status = raise_fd(status[1]);
	hl_close_ptr(&status[1]);
	if (child.control < 0 || child.key < 0 || child.passphrase < 0 || child.null < 0 ||
	    child.status < 0)
		hl_err_sys(err, HLS_13, "cannot make descriptors for '%s'", start->path);
	else
		result = fork_sealer(sealer, &child, status[0], err);
	hl_close_ptr(&status[0]);
	hl_close_ptr(&child.control);
	hl_close_ptr(&child.key);
	hl_close_ptr(&child.passphrase);
	hl_close_ptr(&child.null);
	hl_close_ptr(&child.status);
	return result;
}

int
policy_sealer_start(struct sealer *sealer, const struct sealer_start *start, struct hl_err *err)
{
	int ends[2] = { -1, -1 };

	*sealer = (struct sealer){ .pidfd = -1,
		.control = -1,
		.answer_ms = start->passphrase_fd >= 0 ? PERSON_MS : ANSWER_MS,
		.end_ms = END_MS };
	if (start->path == NULL)
		return hl_err_set(err, HLS_13,
		    "'hl-seal' is not beside 'hermes-launch', and only it checks signatures");
	int null HL_AUTO_FD = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return hl_err_sys(err, HLS_13, "cannot make a socket for '%s'", start->path);
	int result = start_child(sealer, start, ends, null, err);
	hl_close_ptr(&ends[1]);
	if (sealer->pid > 0)
		sealer->control = hl_take_fd(&ends[0]);
	hl_close_ptr(&ends[0]);
	if (result != 0)
		policy_sealer_end(sealer);
	return result;
}

/* poll(2) for one descriptor that survives signals without beginning anew. */
static int
wait_readable(int fd, int timeout_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	const uint64_t end = hl_now_mono_ms() + (uint64_t)timeout_ms;

	for (;;) {
		uint64_t now = hl_now_mono_ms();
		int n = poll(&ready, 1, now < end ? (int)(end - now) : 0);
		if (n >= 0 || errno != EINTR)
			return n;
	}
}

void
policy_sealer_end(struct sealer *sealer)
{
	if (sealer->pid > 0) {
		hl_close_ptr(&sealer->control);
		if (sealer->pidfd < 0 || wait_readable(sealer->pidfd, sealer->end_ms) <= 0)
			kill(sealer->pid, SIGKILL);
		while (waitpid(sealer->pid, NULL, 0) < 0 && errno == EINTR)
			;
		hl_close_ptr(&sealer->pidfd);
	}
	*sealer = (struct sealer){ .pidfd = -1, .control = -1 };
}

/* Only what signing can be the cause of is believed. */
static int
take_failure(struct hl_wire *wire, struct hl_err *err)
{
	const char *id = hl_wire_string(wire);
	const char *message = hl_wire_string(wire);
	const char *help = hl_wire_string(wire);

	if (!hl_wire_is_complete(wire))
		return hl_err_set(err, HLS_13, "hl-seal sent a malformed answer");
	enum hl_code code = hl_code_from_id(id);
	if (code == HL_OK || (strncmp(id, "HLS-", 4) != 0 && strncmp(id, "HLI-", 4) != 0))
		code = HLS_13;
	hl_err_set(err, code, "%s", message);
	if (help[0] != '\0')
		hl_err_help(err, "%s", help);
	return -1;
}

/* Told to end, not killed: hl-seal may have turned the terminal's echo off. A late answer is not
 * taken for the next one's. */
static int
no_answer(struct sealer *sealer, struct hl_err *err)
{
	if (sealer->pid > 0)
		kill(sealer->pid, SIGTERM);
	(void)shutdown(sealer->control, SHUT_RDWR);
	return hl_err_set(err, HLS_13, "hl-seal does not answer");
}

static int
exchange(struct sealer *sealer, const struct hl_buf *request, struct hl_buf *answer,
    struct hl_err *err)
{
	char *packet HL_AUTO_FREE = malloc(SEAL_PACKET_MAX);

	if (packet == NULL)
		return hl_err_oom(err);
	if (send(sealer->control, request->data, request->len, MSG_NOSIGNAL) !=
	    (ssize_t)request->len)
		return hl_err_sys(err, HLS_13, "hl-seal has ended");
	int ready = wait_readable(sealer->control, sealer->answer_ms);
	if (ready < 0)
		return hl_err_sys(err, HLI_02, "poll");
	if (ready == 0)
		return no_answer(sealer, err);
	ssize_t n = recv(sealer->control, packet, SEAL_PACKET_MAX, 0);
	if (n <= 0)
		return hl_err_set(err, HLS_13, "hl-seal has ended");
	hl_buf_put(answer, packet, (size_t)n);
	return hl_buf_check(answer, "answer of hl-seal", err);
}

int
policy_sealer_ask(struct sealer *sealer, const struct hl_buf *request, enum seal_message want,
    struct hl_buf *ret_answer, struct hl_err *err)
{
	struct hl_wire wire;

	if (hl_buf_check(request, "request to hl-seal", err) != 0)
		return -1;
	hl_buf_init(ret_answer, SEAL_PACKET_MAX);
	if (exchange(sealer, request, ret_answer, err) != 0) {
		hl_buf_done(ret_answer);
		return -1;
	}
	hl_wire_init(&wire, ret_answer->data, ret_answer->len);
	unsigned type = hl_wire_u8(&wire);
	if (type == want)
		return 0;
	if (type == SEAL_FAILED)
		take_failure(&wire, err);
	else
		hl_err_set(err, HLS_13, "hl-seal sent a malformed answer");
	hl_buf_done(ret_answer);
	return -1;
}

static int
read_verdicts(const struct hl_buf *answer, size_t n, bool *is_right, struct hl_err *err)
{
	struct hl_wire wire;

	hl_wire_init(&wire, answer->data + 1, answer->len - 1);
	bool is_good = hl_wire_u32(&wire) == n;
	for (size_t i = 0; is_good && i < n; i++) {
		uint8_t verdict = hl_wire_u8(&wire);
		is_good = verdict <= 1;
		is_right[i] = verdict == 1;
	}
	if (is_good && hl_wire_is_complete(&wire))
		return 0;
	memset(is_right, 0, n * sizeof(*is_right));
	return hl_err_set(err, HLS_13, "hl-seal sent a malformed answer");
}

int
policy_sealer_verify(struct sealer *sealer, const struct sealer_claim *claims, size_t n,
    bool *is_right, struct hl_err *err)
{
	struct hl_buf request, answer;

	HL_BUG_ON(n > NOTE_SIGNATURES_MAX);
	hl_buf_init(&request, SEAL_PACKET_MAX);
	hl_wire_put_u8(&request, SEAL_VERIFY);
	hl_wire_put_u32(&request, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		hl_wire_put_bytes(&request, claims[i].text, claims[i].text_len);
		hl_wire_put_bytes(&request, claims[i].key->bytes, NOTE_KEY_SIZE);
		hl_wire_put_bytes(&request, claims[i].signature, NOTE_SIGNATURE_SIZE);
	}
	int status = policy_sealer_ask(sealer, &request, SEAL_VERIFIED, &answer, err);
	hl_buf_done(&request);
	if (status != 0)
		return -1;
	status = read_verdicts(&answer, n, is_right, err);
	hl_buf_done(&answer);
	return status;
}
