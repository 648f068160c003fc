/*
 * An engine that misbehaves, for the tests of hl-engine: a child of the test that answers each
 * request by rules, the rest as an engine would, and writes down what it was asked, so that a test
 * can see that a container was removed after a failure, and that a foreign one was left alone. One
 * copy for each test program, as static functions.
 */
#ifndef HL_TESTS_UNIT_BACKENDS_BAD_ENGINE_H
#define HL_TESTS_UNIT_BACKENDS_BAD_ENGINE_H

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/docker/start.h"

#include "base/banned.h"

#define ID        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
/* Of the container that is made to be compared, by the name that it gets: one with a run's id. */
#define TWIN      "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
/* When whatever it starts was started. */
#define STARTED   "2026-11-30T08:00:00.5Z"
#define IMAGE     "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define A_DEFAULT "{\"MaskedPaths\":[\"/proc/keys\"],"
#define HEAD(s)   "HTTP/1.1 " s "\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n"

enum {
	REQUEST_MAX = 256 * 1024,
	FLOOD = 6 * 1024 * 1024
};

/* What a rule can do beside answering with a text. */
enum special {
	ANSWER,
	ANSWER_ONCE, /* the first time that any rule of this kind fits */
	UNTIL_KILL,  /* of a container, while nobody asked for its end */
	LATER,
	HANG,
	HANG_UP,
	FLOOD_HEAD,
	FLOOD_BODY
};

struct rule {
	const char *request; /* a part of its first line */
	const char *answer;
	enum special special;
};

struct fixture {
	char dir[64], socket[96], log[96];
	pid_t daemon;
	int listener; /* -1 = none */
	struct plan plan;
	struct plan_mount mounts[1];
	struct lowered lowered;
	struct control_gaps gaps;
	struct hl_err err;
};

/* ------------------------------------------------------------------------------------------------
 * The daemon
 */
static char container_body[REQUEST_MAX]; /* of create, for inspect */

static void
say(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

static void
flood(int fd, enum special special)
{
	char *bytes = malloc(FLOOD);

	memset(bytes, 'x', FLOOD);
	if (special == FLOOD_HEAD) {
		say(fd, "HTTP/1.1 200 OK\r\n", 17);
		for (int i = 0; i < 200; i++) {
			char line[1200];
			int len = snprintf(line, sizeof(line), "X-%d: %.1000s\r\n", i, bytes);
			say(fd, line, (size_t)len);
		}
	} else {
		say(fd, HEAD("200 OK"), strlen(HEAD("200 OK")));
		say(fd, bytes, FLOOD);
	}
	free(bytes);
}

/* Reads head and body; false = nothing came. */
static bool
hear(int fd, char *request)
{
	size_t len = 0, want = 0;

	while (len < REQUEST_MAX - 1) {
		ssize_t n = recv(fd, request + len, REQUEST_MAX - 1 - len, 0);
		if (n <= 0)
			return false;
		len += (size_t)n;
		request[len] = '\0';
		char *end = strstr(request, "\r\n\r\n");
		if (end == NULL)
			continue;
		char *length = strcasestr(request, "content-length: ");
		uint64_t body = 0;
		struct hl_err err;
		if (length != NULL && length < end) {
			char number[32];
			snprintf(number, sizeof(number), "%.20s", length + 16);
			number[strcspn(number, "\r")] = '\0';
			if (hl_parse_u64(number, 0, REQUEST_MAX, &body, &err) < 0)
				return false;
		}
		want = (size_t)(end + 4 - request) + (size_t)body;
		if (len < want)
			continue;
		if (strstr(request, "/containers/create") != NULL)
			snprintf(container_body, sizeof(container_body), "%s", end + 4);
		return true;
	}
	return false;
}

static void
say_json(int fd, const char *status, const char *json)
{
	char *text = NULL;
	int len = asprintf(&text,
	    "HTTP/1.1 %s\r\nApi-Version: 1.41\r\nServer: Docker/20.10.24 (linux)\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
	    status, strlen(json), json);

	say(fd, text, (size_t)len);
	free(text);
}

/* HostConfig as it was asked and with a default, Config as the whole body: what a faithful engine
 * would keep. */
static void
say_container(int fd, const char *id)
{
	char *host = strstr(container_body, "\"HostConfig\":{");
	char *text = NULL;
	size_t len = 0, depth = 0;

	if (host == NULL)
		return;
	host += strlen("\"HostConfig\":");
	do {
		depth += host[len] == '{';
		depth -= host[len] == '}';
	} while (host[++len] != '\0' && depth > 0);
	if (asprintf(&text,
		"{\"Id\":\"%s\",\"Image\":\"" IMAGE
		"\",\"State\":{\"Pid\":0,\"StartedAt\":\"" STARTED "\"},"
		"\"NetworkSettings\":{\"Networks\":{\"none\":{}}},\"Config\":%s,"
		"\"HostConfig\":" A_DEFAULT "%.*s}",
		id, container_body, (int)len - 1, host + 1) > 0)
		say_json(fd, "200 OK", text);
	free(text);
}

struct usual {
	const char *request, *status, *json;
};

static const struct usual usual[] = {
	{ "/_ping", "200 OK", "OK" },
	{ "/images/", "200 OK",
	    "{\"Id\":\"" IMAGE "\",\"RepoDigests\":[],\"Config\":{\"Env\":[\"A=b\"]}}" },
	{ "DELETE ", "204 No Content", "" },
	{ "-01ARZ3NDEKTSV4RRFFQ69G5FA", "201 Created", "{\"Id\":\"" TWIN "\",\"Warnings\":[]}" },
	{ "/containers/create", "201 Created", "{\"Id\":\"" ID "\",\"Warnings\":[]}" },
	{ "/start", "204 No Content", "" },
	{ "/kill", "204 No Content", "" },
};

/* The head at once, the rest when the container would have ended, beside other requests. */
static void
say_later(int fd, const char *text)
{
	size_t head = (size_t)(strstr(text, "\r\n\r\n") + 4 - text);

	if (fork() != 0)
		return;
	say(fd, text, head);
	usleep(300000);
	say(fd, text + head, strlen(text + head));
	_exit(0);
}

static void
say_usual(int fd, const char *request)
{
	if (strstr(request, "/attach") != NULL) {
		static const char hello[] = "HTTP/1.1 101 UPGRADED\r\n\r\n\1\0\0\0\0\0\0\2hi";
		say(fd, hello, sizeof(hello) - 1);
		return;
	}
	if (strstr(request, "/wait") != NULL) {
		say_later(fd, HEAD("200 OK") "{\"StatusCode\":0}");
		return;
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(usual); i++) {
		if (strstr(request, usual[i].request) != NULL) {
			say_json(fd, usual[i].status, usual[i].json);
			return;
		}
	}
	say_container(fd, strstr(request, TWIN) != NULL ? TWIN : ID);
}

static void
serve(int fd, const struct rule *rules, int log)
{
	static char request[REQUEST_MAX];
	static bool has_answered_once, has_killed;

	if (!hear(fd, request))
		return;
	request[strcspn(request, "\r")] = '\0';
	bool is_create = strstr(request, "/containers/create") != NULL;
	dprintf(log, "%s\n%s\n", request, is_create ? container_body : "");
	has_killed = has_killed || strstr(request, "/kill ") != NULL;
	for (; rules->request != NULL; rules++) {
		if (strstr(request, rules->request) == NULL ||
		    (rules->special == ANSWER_ONCE && has_answered_once) ||
		    (rules->special == UNTIL_KILL && has_killed))
			continue;
		switch (rules->special) {
		case ANSWER:
		case ANSWER_ONCE:
		case UNTIL_KILL:
			has_answered_once = has_answered_once || rules->special == ANSWER_ONCE;
			say(fd, rules->answer, strlen(rules->answer));
			break;
		case LATER:
			say_later(fd, rules->answer);
			break;
		case HANG:
			sleep(30);
			break;
		case HANG_UP:
			break;
		case FLOOD_HEAD:
		case FLOOD_BODY:
			flood(fd, rules->special);
			break;
		}
		return;
	}
	say_usual(fd, request);
}

static void
run_daemon(int listener, const struct rule *rules, const char *path)
{
	int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		serve(fd, rules, log);
		close(fd);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Set-up
 */
static const char *
helper_path(void)
{
	const char *path = getenv("HL_ENGINE");

	return path != NULL ? path : "build/san/hl-engine";
}

static char home_path[] = "/home/agent";
static char image_name[] = "tools:1";

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	snprintf(f->dir, sizeof(f->dir), "/tmp/hl-hostile.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->socket, sizeof(f->socket), "%s/engine.sock", f->dir);
	snprintf(f->log, sizeof(f->log), "%s/log", f->dir);
	f->plan = (struct plan){
		.run_id = "01ARZ3NDEKTSV4RRFFQ69G5FAV",
		.backend = "docker",
		.state_dir = f->dir,
		.runner_path = "/bin/true",
		.helper_path = helper_path(),
		.user_kind = PLAN_USER_NUMERIC,
		.uid = 1000,
		.gid = 1000,
		.no_new_privs = true,
		.seccomp = CONFINE_PROFILE_NONE,
		.mounts = f->mounts,
		.home = { .kind = PLAN_HOME_TMPFS, .path = home_path },
		.image = image_name,
		.pull = PLAN_PULL_NEVER,
		.endpoint = f->socket,
		.cancel_fd = -1,
	};
	f->plan.limits[PLAN_LIMIT_MEMORY] = (struct plan_number){ .has = true, .value = 67108864 };
	lowered_init(&f->lowered);
	f->listener = -1;
	*state = f;
	return 0;
}

static void
end_daemon(struct fixture *f)
{
	if (f->daemon > 0) {
		kill(f->daemon, SIGKILL);
		waitpid(f->daemon, NULL, 0);
	}
	f->daemon = 0;
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *place)
{
	(void)st;
	(void)kind;
	(void)place;
	return remove(path);
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	end_daemon(f);
	hl_close_ptr(&f->listener);
	lowered_done(&f->lowered);
	nftw(f->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

/* The same engine, of another mind. */
static void
change_daemon(struct fixture *f, const struct rule *rules)
{
	end_daemon(f);
	unlink(f->log);
	f->daemon = fork();
	if (f->daemon != 0)
		return;
	/* A helper's end of a socket that is kept open here would keep the helper. */
	for (int fd = 3; fd < 256; fd++)
		if (fd != f->listener)
			close(fd);
	run_daemon(f->listener, rules, f->log);
}

/* One that was started just now, on a socket of its own. */
static void
start_daemon(struct fixture *f, const struct rule *rules)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	end_daemon(f);
	unlink(f->socket);
	hl_close_ptr(&f->listener);
	f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", f->socket);
	assert_int_equal(bind(f->listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(f->listener, 16), 0);
	change_daemon(f, rules);
}

static int
start(struct fixture *f, struct sandbox *sandbox)
{
	lowered_done(&f->lowered);
	lowered_init(&f->lowered);
	if (access(f->plan.helper_path, X_OK) != 0)
		fail_msg("'%s' is not built", f->plan.helper_path);
	if (backend_docker.lower(&f->plan, &f->lowered, &f->err) != 0)
		fail_msg("lower: %s", f->err.msg);
	return backend_docker.start(&f->plan, &f->lowered, &f->gaps, sandbox, &f->err);
}

static bool
was_asked(const struct fixture *f, const char *part)
{
	struct hl_buf log;
	struct hl_err err;
	int fd HL_AUTO_FD = open(f->log, O_RDONLY | O_CLOEXEC);

	hl_buf_init(&log, 1024 * 1024);
	bool is = fd >= 0 && hl_read_file(fd, &log, f->log, HLI_02, &err) == 0 &&
		  strstr(log.data, part) != NULL;
	hl_buf_done(&log);
	return is;
}

#endif
