/*
 * Named sessions: the other side. Finds the keeper of a session or becomes the one who makes it,
 * and asks to be let in.
 */
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/keeper.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

enum {
	ANSWER_MAX = 4096,
	NAP_MS = 10,
	TRIES = 50,
	SO_OF_PEER_PIDFD = 77 /* SO_PEERPIDFD, Linux 6.5 (include/uapi/asm-generic/socket.h) */
};

/* What does not touch the sandbox is not in it: run id, command, variables and the time limit of
 * one call. Hence the policy's files, and not the effective policy, which has taken these in. */
void
keeper_fingerprint(const struct run *run, char text[HL_SHA256_HEX_SIZE])
{
	struct hl_sha256 sha;
	unsigned char digest[HL_SHA256_SIZE];
	const char *parts[] = { HL_VERSION, run->backend->name, run->plan.home.path };

	hl_sha256_init(&sha);
	for (size_t i = 0; i < HL_ARRAY_SIZE(parts); i++)
		hl_sha256_update(&sha, parts[i], strlen(parts[i]) + 1);
	for (size_t i = 0; i < policy_layers_len(run->policy); i++) {
		const struct policy_layer *layer = policy_layer_at(run->policy, i);
		hl_sha256_update(&sha, layer->sha256, sizeof(layer->sha256));
	}
	hl_sha256_update(&sha, plan_is_enforced(run->policy) ? "e" : "w", 1);
	for (size_t i = 0; i < run->lowered.lines_len; i++) {
		const char *line = run->lowered.lines[i].text;
		/* Names of an engine's are in lower case. */
		if (strcasestr(line, run->run_id) == NULL && strncmp(line, "limit wall", 10) != 0)
			hl_sha256_update(&sha, line, strlen(line) + 1);
	}
	for (size_t i = 0; i < run->plan.mounts_len; i++) {
		const struct plan_mount *mount = &run->plan.mounts[i];
		hl_sha256_update(&sha, mount->src, strlen(mount->src) + 1);
		hl_sha256_update(&sha, mount->dst, strlen(mount->dst) + 1);
	}
	hl_sha256_final(&sha, digest);
	hl_sha256_hex(digest, text);
}

static void
nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = NAP_MS * 1000000L }, NULL);
}

/* ------------------------------------------------------------------------------------------------
 * Making one
 */
static int
read_status(int fd, pid_t pid, struct hl_err *err)
{
	struct hl_err told;
	ssize_t n = hl_read_full(fd, &told, sizeof(told));

	if (n == (ssize_t)sizeof(told) && told.code == HL_OK)
		return 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(told))
		return hl_err_set(err, HLU_25, "the session's keeper ended before it was ready");
	told.where = (struct hl_where){ 0 };
	*err = told;
	return -1;
}

/* The keeper goes on with what was settled here. The log is its own from then on: two processes on
 * one open file would not exclude each other (flock(2)). */
static int
make_keeper(struct run *run, struct keeper_place *place, struct hl_err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return hl_err_sys(err, HLI_02, "cannot make a pipe");
	HL_AUTO_FD int reading = ends[0];
	HL_AUTO_FD int writing = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return hl_err_sys(err, HLI_02, "cannot start the session's keeper");
	if (pid == 0) {
		close(hl_take_fd(&reading));
		keeper_main(run, place, hl_take_fd(&writing));
	}
	close(hl_take_fd(&writing));
	if (run->audit != NULL)
		audit_close(run->audit);
	run->audit = NULL;
	return read_status(reading, pid, err);
}

/* ------------------------------------------------------------------------------------------------
 * Getting in
 */
/* One line, and not a byte more: what follows belongs to the protocol. */
static int
read_answer(int fd, char text[ANSWER_MAX], struct hl_err *err)
{
	uint64_t end_ms = hl_now_mono_ms() + KEEPER_ANSWER_MS;
	size_t len = 0;

	while (len + 1 < ANSWER_MAX) {
		struct pollfd pollfd = { .fd = fd, .events = POLLIN };
		uint64_t now = hl_now_mono_ms();
		if (now >= end_ms || poll(&pollfd, 1, (int)(end_ms - now)) == 0)
			break;
		ssize_t n = read(fd, text + len, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (text[len] == '\n') {
			text[len] = '\0';
			return 0;
		}
		len++;
	}
	return hl_err_set(err, HLU_25, "the session's keeper does not answer");
}

/* Its words, with its code. */
static int
read_refusal(const char *answer, struct hl_err *err)
{
	json_t *object = NULL;
	const char *code = NULL, *message = NULL, *help = NULL;
	bool is_ok = false;

	if (json_in_parse(answer, strlen(answer), &object, err) != 0)
		return -1;
	int status = json_in_bool(object, "ok", &is_ok, err);
	if (status == 0 && !is_ok) {
		status = -1;
		if (json_in_string(object, "code", &code, err) == 0 &&
		    json_in_string(object, "message", &message, err) == 0 &&
		    json_in_string(object, "help", &help, err) == 0) {
			enum hl_code known = code != NULL ? hl_code_from_id(code) : HL_OK;
			hl_err_set(err, known != HL_OK ? known : HLU_25, "%s",
			    message != NULL ? message : "the session refuses");
			if (help != NULL && help[0] != '\0')
				hl_err_help(err, "%s", help);
		}
	}
	json_decref(object);
	return status;
}

int
keeper_send_hello(int fd, const char *protocol, const char *fingerprint, struct hl_err *err)
{
	HL_AUTO(hl_buf_done) struct hl_buf hello;
	struct hl_json json;
	char answer[ANSWER_MAX];

	hl_buf_init(&hello, 4096);
	hl_json_init(&json, &hello);
	hl_json_object(&json);
	hl_json_key(&json, "hermes-launch");
	hl_json_string(&json, HL_VERSION);
	hl_json_key(&json, "protocol");
	hl_json_string(&json, protocol);
	hl_json_key(&json, "fingerprint");
	hl_json_string(&json, fingerprint);
	hl_json_end_object(&json);
	hl_buf_putc(&hello, '\n');
	if (hl_write_full(fd, hello.data, hello.len) != 0)
		return hl_err_sys(err, HLU_25, "cannot speak to the session's keeper");
	return read_answer(fd, answer, err) != 0 ? -1 : read_refusal(answer, err);
}

/* A keeper holds the lock before it listens. */
static int
wait_for_keeper(const struct keeper_place *place, struct hl_err *err)
{
	uint64_t end_ms = hl_now_mono_ms() + KEEPER_START_MS;

	for (;;) {
		int fd = keeper_connect(place);
		if (fd >= 0)
			return fd;
		bool is_dead = !place->is_ours && flock(place->lock, LOCK_EX | LOCK_NB) == 0;
		if (is_dead || hl_now_mono_ms() >= end_ms)
			return hl_err_set(err, HLU_25, "the session's keeper has ended");
		nap();
	}
}

/* Nobody keeps it, and we have the lock. */
static int
make_session(struct run *run, struct keeper_place *place, struct hl_err *err)
{
	if (run_settle_gaps(run, err) == 0)
		return make_keeper(run, place, err);
	run_refused(run, err);
	keeper_place_remove(run->host.state_dir, run->request->name.text, place);
	return -1;
}

/* *ret_again: the keeper was ending as we came, or somebody only looked at a dead one's place. */
static int
attach(struct run *run, const char *protocol, int *ret_fd, bool *ret_again, struct hl_err *err)
{
	struct keeper_place place;
	char fingerprint[HL_SHA256_HEX_SIZE];

	*ret_again = false;
	keeper_fingerprint(run, fingerprint);
	if (keeper_place_open(run->host.state_dir, run->request->name.text, true, &place, err) != 0)
		return -1;
	int status = place.is_ours ? make_session(run, &place, err) : 0;
	HL_AUTO_FD int fd = -1;
	if (status == 0) {
		/* Our copy of the lock is the keeper's open file: closing it releases nothing. */
		fd = wait_for_keeper(&place, err);
		status = fd < 0 ? -1 : keeper_send_hello(fd, protocol, fingerprint, err);
	}
	*ret_again = status != 0 && !place.is_ours && flock(place.lock, LOCK_EX | LOCK_NB) == 0;
	if (status == 0 && !place.is_ours && run->request->labels.len > 0)
		report_warning("--label is recorded where a session begins, and '%s' has begun",
		    run->request->name.text);
	keeper_place_close(&place);
	if (status == 0)
		*ret_fd = hl_take_fd(&fd);
	return status;
}

int
keeper_attach(struct run *run, const char *protocol, int *ret_fd, struct hl_err *err)
{
	bool is_again = false;

	for (int i = 0; i < TRIES; i++) {
		if (i > 0)
			nap();
		if (attach(run, protocol, ret_fd, &is_again, err) == 0)
			return 0;
		if (!is_again)
			return -1;
	}
	return -1;
}

/* ------------------------------------------------------------------------------------------------
 * Ending one
 */
/* A keeper that lives holds the lock and listens, and one that ends in order takes its place away
 * before it gives the lock back. What a killed one has started may hold the lock a moment longer.
 */
int
keeper_check_end(const struct run *run, struct hl_err *err)
{
	uint64_t end_ms = hl_now_mono_ms() + KEEPER_STOP_MS;
	struct keeper_place place;

	for (;;) {
		if (keeper_place_look(run->host.state_dir, run->request->name.text, &place, err) !=
		    0)
			return err->code == HLU_24 || err->code == HLU_25 ? 0 : -1;
		bool was_killed = place.is_ours;
		HL_AUTO_FD int fd = was_killed ? -1 : keeper_connect(&place);
		keeper_place_close(&place);
		if (was_killed)
			break;
		if (fd >= 0 || hl_now_mono_ms() >= end_ms)
			return 0;
		nap();
	}
	hl_err_set(err, HLB_07, "session '%s' is lost: its keeper was killed",
	    run->request->name.text);
	return hl_err_help(err, "'hermes-launch gc' removes what it left");
}

static bool
wait_for_end(const struct keeper_place *place)
{
	uint64_t end_ms = hl_now_mono_ms() + KEEPER_STOP_MS;

	while (flock(place->lock, LOCK_EX | LOCK_NB) != 0) {
		if (hl_now_mono_ms() >= end_ms)
			return false;
		nap();
	}
	return true;
}

/* A pidfd of who began to listen, whatever has the number by now. A kernel before 6.5 knows the
 * number only, as it was when the keeper began to listen: there a lock that is still held after the
 * pidfd was opened is what says that the keeper lives, but for the moment that what it has started
 * holds the lock longer. ESRCH: it has ended. */
static int
open_keeper(int fd, pid_t number)
{
	int pidfd = -1;
	socklen_t len = sizeof(pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_OF_PEER_PIDFD, &pidfd, &len) == 0)
		return pidfd;
	/* An older one says EINVAL where nobody has the number any more. */
	if (errno == EINVAL)
		errno = ESRCH;
	return errno == ENOPROTOOPT ? (int)syscall(SYS_pidfd_open, number, 0) : -1;
}

/* Nobody is sent a signal when it has ended. */
static int
kill_keeper(const struct keeper_place *place, int fd, struct hl_err *err)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return hl_err_sys(err, HLU_25, "the keeper cannot be found");
	if (peer.pid <= 1)
		return hl_err_set(err, HLU_25, "the keeper is in another pid namespace");
	HL_AUTO_FD int pidfd = open_keeper(fd, peer.pid);
	int cause = errno;
	if (flock(place->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (pidfd >= 0)
		cause = syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) != 0 ? errno : 0;
	if (cause == 0 || cause == ESRCH)
		return 0;
	errno = cause;
	return hl_err_sys(err, HLU_25, "the keeper cannot be ended");
}

int
keeper_stop(const struct keeper_place *place, struct hl_err *err)
{
	struct hl_err told;
	HL_AUTO_FD int fd = wait_for_keeper(place, err);

	if (fd < 0)
		return -1;
	bool is_told =
	    keeper_send_hello(fd, "control", "", &told) == 0 && hl_write_full(fd, "stop\n", 5) == 0;
	if (is_told && wait_for_end(place))
		return 0;
	report_warning("the keeper does not answer and is killed");
	if (kill_keeper(place, fd, err) != 0)
		return -1;
	return wait_for_end(place) ? 0 : hl_err_set(err, HLU_25, "the keeper does not end");
}
