/*
 * hl-engine against a daemon that misbehaves. The daemon is a child of this test: it answers each
 * request by rules, the rest as an engine would, and writes down what it was asked, so that a test
 * can see that a container was removed after a failure, and that a foreign one was left alone.
 */
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

#define ID      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define IMAGE   "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HEAD(s) "HTTP/1.1 " s "\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n"

enum {
	REQUEST_MAX = 256 * 1024,
	FLOOD = 6 * 1024 * 1024
};

/* What a rule can do beside answering with a text. */
enum special {
	ANSWER,
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

/* HostConfig as it was asked, Config as the whole body: what a faithful engine would keep. */
static void
say_container(int fd)
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
		"{\"Id\":\"" ID "\",\"State\":{\"Pid\":0},\"Config\":%s,\"HostConfig\":%.*s}",
		container_body, (int)len, host) > 0)
		say_json(fd, "200 OK", text);
	free(text);
}

struct usual {
	const char *request, *status, *json;
};

static const struct usual usual[] = {
	{ "/_ping", "200 OK", "OK" },
	{ "/info", "200 OK", "{\"ID\":\"THE:DAEMON\"}" },
	{ "/images/", "200 OK",
	    "{\"Id\":\"" IMAGE "\",\"RepoDigests\":[],\"Config\":{\"Env\":[\"A=b\"]}}" },
	{ "/containers/create", "201 Created", "{\"Id\":\"" ID "\",\"Warnings\":[]}" },
	{ "/start", "204 No Content", "" },
	{ "DELETE ", "204 No Content", "" },
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
	say_container(fd);
}

static void
serve(int fd, const struct rule *rules, int log)
{
	static char request[REQUEST_MAX];

	if (!hear(fd, request))
		return;
	request[strcspn(request, "\r")] = '\0';
	bool is_create = strstr(request, "/containers/create") != NULL;
	dprintf(log, "%s\n%s\n", request, is_create ? container_body : "");
	for (; rules->request != NULL; rules++) {
		if (strstr(request, rules->request) == NULL)
			continue;
		switch (rules->special) {
		case ANSWER:
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
	unlink(f->socket);
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
	lowered_done(&f->lowered);
	nftw(f->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

static void
start_daemon(struct fixture *f, const struct rule *rules)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	end_daemon(f);
	unlink(f->log);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", f->socket);
	assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 16), 0);
	f->daemon = fork();
	if (f->daemon == 0)
		run_daemon(listener, rules, f->log);
	close(listener);
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

/* ------------------------------------------------------------------------------------------------
 * Starts that fail
 */
struct bad_start {
	const char *name;
	struct rule rule;
	const char *code;
	bool is_removed; /* a DELETE followed */
};

static const struct bad_start bad_starts[] = {
	{ "another protocol", { "/_ping", "SSH-2.0-OpenSSH_9.2\r\n", ANSWER }, "HLB-43", false },
	{ "another web server", { "/_ping", HEAD("200 OK") "OK", ANSWER }, "HLB-43", false },
	{ "version that is none",
	    { "/_ping", "HTTP/1.1 200 OK\r\nApi-Version: 1.99999\r\nContent-Length: 0\r\n\r\n",
		ANSWER },
	    "HLB-43", false },
	{ "old engine",
	    { "/_ping", "HTTP/1.1 200 OK\r\nApi-Version: 1.39\r\nContent-Length: 0\r\n\r\n",
		ANSWER },
	    "HLB-44", false },
	{ "endless head", { "/_ping", "", FLOOD_HEAD }, "HLB-43", false },
	{ "silence", { "/_ping", "", HANG }, "HLB-42", false },
	{ "hang up", { "/_ping", "", HANG_UP }, "HLB-54", false },
	{ "endless image", { "/images/", "", FLOOD_BODY }, "HLB-43", false },
	{ "image that is not JSON", { "/images/", HEAD("200 OK") "{\"Id\":", ANSWER }, "HLB-43",
	    false },
	{ "two ids",
	    { "/images/", HEAD("200 OK") "{\"Id\":\"" IMAGE "\",\"Id\":\"" IMAGE "\"}", ANSWER },
	    "HLB-43", false },
	{ "id that is none", { "/images/", HEAD("200 OK") "{\"Id\":\"../x\"}", ANSWER }, "HLB-43",
	    false },
	{ "user that is a number",
	    { "/images/", HEAD("200 OK") "{\"Id\":\"" IMAGE "\",\"Config\":{\"User\":5}}", ANSWER },
	    "HLB-43", false },
	{ "no image", { "/images/", HEAD("404 Not Found") "{}", ANSWER }, "HLB-45", false },
	{ "U61 name taken",
	    { "/containers/create", HEAD("409 Conflict") "{\"message\":\"in use\"}", ANSWER },
	    "HLB-50", false },
	{ "create refused",
	    { "/containers/create", HEAD("500 Error") "{\"message\":\"\\u001b[31mno\"}", ANSWER },
	    "HLB-51", false },
	{ "U61 id that is a path",
	    { "/containers/create", HEAD("201 Created") "{\"Id\":\"../../images/x\"}", ANSWER },
	    "HLB-43", true },
	{ "U61 limit left out with a warning",
	    { "/containers/create",
		HEAD("201 Created") "{\"Id\":\"" ID "\",\"Warnings\":[\"Your kernel does not "
				    "support memory limit capabilities\"]}",
		ANSWER },
	    "HLB-53", true },
	{ "U61 container that is not what was asked",
	    { "GET /v1.41/containers/", HEAD("200 OK") "{\"HostConfig\":{\"Privileged\":true}}",
		ANSWER },
	    "HLB-53", true },
	{ "U61 container without its settings",
	    { "GET /v1.41/containers/", HEAD("200 OK") "{\"HostConfig\":{},\"Config\":{}}",
		ANSWER },
	    "HLB-53", true },
	{ "U61 streams refused", { "/attach", "HTTP/1.1 404 Not Found\r\n\r\n", ANSWER }, "HLB-52",
	    true },
	{ "U61 streams in another language", { "/attach", "hello\r\n\r\n", ANSWER }, "HLB-52",
	    true },
	{ "U61 streams with an endless head", { "/attach", "", FLOOD_HEAD }, "HLB-43", true },
	{ "U61 wait refused", { "/wait", HEAD("500 Error") "{}", ANSWER }, "HLB-52", true },
	{ "U61 start refused",
	    { "/start", HEAD("400 Bad") "{\"message\":\"exec: no such file\"}", ANSWER }, "HLB-52",
	    true },
	{ "U61 hang up at start", { "/start", "", HANG_UP }, "HLB-54", true },
};

static void
test_u55_u61_bad_starts(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(bad_starts); i++) {
		const struct bad_start *bad = &bad_starts[i];
		const struct rule rules[] = { bad->rule, { 0 } };
		struct sandbox sandbox;
		start_daemon(f, rules);
		memset(&f->err, 0, sizeof(f->err));
		if (start(f, &sandbox) == 0)
			fail_msg("%s: started", bad->name);
		const char *code = hl_code_info(f->err.code)->id;
		if (strcmp(code, bad->code) != 0)
			fail_msg("%s: %s, not %s: %s", bad->name, code, bad->code, f->err.msg);
		if (was_asked(f, "DELETE ") != bad->is_removed)
			fail_msg("%s: removed: %d", bad->name, !bad->is_removed);
		for (const char *c = f->err.msg; *c != '\0'; c++)
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
}

static void
test_u55_no_engine(void **state)
{
	struct fixture *f = *state;
	struct sandbox sandbox;

	assert_int_equal(start(f, &sandbox), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, "HLB-40");
	int fd = open(f->socket, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	close(fd);
	assert_int_equal(start(f, &sandbox), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, "HLB-40");
	unlink(f->socket);
}

/* As another user: the socket's mode means nothing to root. */
static void
test_u55_no_permission(void **state)
{
	static const struct rule none[] = { { 0 } };
	struct fixture *f = *state;
	struct sandbox sandbox;
	int status;

	start_daemon(f, none);
	assert_int_equal(chmod(f->socket, 0), 0);
	pid_t child = fork();
	if (child == 0) {
		if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(3);
		/* The directory is private: reach the socket all the same. */
		_exit(start(f, &sandbox) == -1 && (f->err.code == HLB_41 || f->err.code == HLB_57)
			  ? (f->err.code == HLB_41 ? 0 : 2)
			  : 1);
	}
	assert_int_equal(chmod(f->dir, 0755), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_string_equal(hl_code_info(HLB_41)->id, "HLB-41");
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ------------------------------------------------------------------------------------------------
 * Ends
 */
struct bad_end {
	const char *name;
	struct rule rules[3];
	const char *code;  /* NULL: none */
	bool is_half_done; /* the runner said something */
};

static const char silent_attach[] = "HTTP/1.1 200 OK\r\n\r\n";

static const struct bad_end bad_ends[] = {
	{ "a good end (sibling)", { { 0 } }, NULL, true },
	{ "stream that is not multiplexed",
	    { { "/attach", "HTTP/1.1 200 OK\r\n\r\nhello, this is not framed", ANSWER } }, "HLB-43",
	    false },
	{ "runner that never spoke", { { "/attach", silent_attach, ANSWER } }, "HLB-61", false },
	{ "engine that breaks off the wait",
	    { { "/wait", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", LATER } }, "HLB-54",
	    true },
	{ "container that cannot be removed",
	    { { "DELETE ", HEAD("500 Error") "{\"message\":\"busy\"}", ANSWER } }, "HLB-56", true },
};

static void
test_ends(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(bad_ends); i++) {
		const struct bad_end *bad = &bad_ends[i];
		struct sandbox sandbox;
		char bytes[16];
		start_daemon(f, bad->rules);
		memset(&f->err, 0, sizeof(f->err));
		if (start(f, &sandbox) != 0)
			fail_msg("%s: %s", bad->name, f->err.msg);
		ssize_t n = read(sandbox.stream, bytes, sizeof(bytes));
		assert_int_equal(n, bad->is_half_done ? 2 : 0);
		assert_string_equal(sandbox.id, ID);
		assert_string_equal(sandbox.image_digest, IMAGE);
		assert_int_equal(sandbox.image_env.len, 1);
		int status = backend_docker.stop(&sandbox, &f->err);
		sandbox_done(&sandbox);
		assert_true(was_asked(f, "DELETE "));
		if ((status == 0) != (bad->code == NULL))
			fail_msg("%s: status %d: %s", bad->name, status, f->err.msg);
		if (bad->code != NULL && strcmp(hl_code_info(f->err.code)->id, bad->code) != 0)
			fail_msg("%s: %s", bad->name, f->err.msg);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Images
 */
static void
image_fails(struct fixture *f, const char *json, const char *code)
{
	char answer[1024];
	struct rule rules[] = { { "/images/", answer, ANSWER }, { 0 } };
	struct sandbox sandbox;

	snprintf(answer, sizeof(answer), HEAD("200 OK") "%s", json);
	start_daemon(f, rules);
	assert_int_equal(start(f, &sandbox), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, code);
	assert_false(was_asked(f, "/containers/create"));
}

static void
test_image_of_another_digest(void **state)
{
	struct fixture *f = *state;

	f->plan.image = (char[]){ "tools@" IMAGE };
	image_fails(f,
	    "{\"Id\":\"" IMAGE "\",\"RepoDigests\":[\"tools@sha256:"
	    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\"]}",
	    "HLB-48");
}

static void
test_image_whose_user_is_or_may_be_root(void **state)
{
	static const char *const users[] = { "", "0", "root", "0:1000", "root:tools", "00",
		"tools" };
	struct fixture *f = *state;

	f->plan.user_kind = PLAN_USER_IMAGE;
	for (size_t i = 0; i < HL_ARRAY_SIZE(users); i++) {
		char json[256];
		snprintf(json, sizeof(json), "{\"Id\":\"" IMAGE "\",\"Config\":{\"User\":\"%s\"}}",
		    users[i]);
		image_fails(f, json, "HLB-49");
	}
}

static void
test_u25_image_user_gets_no_capability_unless_root(void **state)
{
	struct fixture *f = *state;
	struct rule rules[] = { { "/images/",
				    HEAD("200 OK") "{\"Id\":\"" IMAGE
						   "\",\"Config\":{\"User\":\"1000\"}}",
				    ANSWER },
		{ 0 } };
	struct sandbox sandbox;

	f->plan.user_kind = PLAN_USER_IMAGE;
	f->plan.caps = 1;
	start_daemon(f, rules);
	if (start(f, &sandbox) != 0)
		fail_msg("%s", f->err.msg);
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), 0);
	sandbox_done(&sandbox);
	assert_true(was_asked(f, "CapDrop"));
	assert_false(was_asked(f, "CapAdd"));
	/* Sibling: explain, and a root image where root is allowed, have it. */
	assert_non_null(strstr(f->lowered.body.data, "CapAdd"));
	static const struct rule none[] = { { 0 } };
	f->plan.allow_root = true;
	start_daemon(f, none);
	if (start(f, &sandbox) != 0)
		fail_msg("%s", f->err.msg);
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), 0);
	sandbox_done(&sandbox);
	assert_true(was_asked(f, "\"CapAdd\":[\"CAP_CHOWN\"]"));
}

static void
test_pull_that_fails_inside_a_good_answer(void **state)
{
	static const struct rule rules[] = {
		{ "/images/create",
		    HEAD(
			"200 OK") "{\"status\":\"Pulling\"}\r\n"
				  "{\"errorDetail\":{},\"error\":\"unauthorized: \\u001b[2J no\"}\r\n",
		    ANSWER },
		{ 0 },
	};
	struct fixture *f = *state;
	struct sandbox sandbox;

	f->plan.pull = PLAN_PULL_ALWAYS;
	start_daemon(f, rules);
	assert_int_equal(start(f, &sandbox), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, "HLB-46");
	assert_non_null(strstr(f->err.msg, "unauthorized"));
	assert_null(strchr(f->err.msg, 0x1b));
	assert_true(was_asked(f, "fromImage=tools%3A1 ")); /* its tag only, never all of them */
}

/* ------------------------------------------------------------------------------------------------
 * Probe, and sources
 */
static void
test_u31_probe_tells_and_keeps_what_the_engine_lacks(void **state)
{
	static const struct rule rules[] = {
		{ "/containers/create",
		    HEAD("400 Bad") "{\"message\":\"cgroup: no memory controller\"}", ANSWER },
		{ 0 },
	};
	static const struct rule none[] = { { 0 } };
	struct fixture *f = *state;
	struct control_gaps gaps;

	f->plan.limits[PLAN_LIMIT_PIDS] = (struct plan_number){ .has = true, .value = 64 };
	start_daemon(f, rules);
	/* Without the memory limit it is refused for the same reason: not about a limit then. */
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, "HLB-51");

	start_daemon(f, none);
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
	assert_int_equal(gaps.len, 0);
	assert_true(was_asked(f, "/containers/create"));
	/* Kept: not tried again, though this engine would now refuse. */
	start_daemon(f, rules);
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
	assert_false(was_asked(f, "/containers/create"));
	/* Another limit is another question. */
	f->plan.limits[PLAN_LIMIT_PIDS].value = 65;
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), -1);
}

static void
test_u31_warning_is_a_gap(void **state)
{
	static const struct rule rules[] = {
		{ "/containers/create",
		    HEAD("201 Created") "{\"Id\":\"" ID "\",\"Warnings\":[\"Your kernel does not "
					"support memory limit capabilities\"]}",
		    ANSWER },
		{ 0 },
	};
	struct fixture *f = *state;
	struct control_gaps gaps;

	start_daemon(f, rules);
	assert_int_equal(backend_docker.probe(&f->plan, &gaps, &f->err), 0);
	assert_int_equal(gaps.len, 1);
	assert_int_equal(gaps.items[0].control, CONTROL_LIMIT_MEMORY);
	assert_false(gaps.items[0].may_degrade);
	assert_non_null(strstr(gaps.items[0].reason, "memory limit"));
}

static void
test_source_that_was_replaced(void **state)
{
	static const struct rule none[] = { { 0 } };
	struct fixture *f = *state;
	struct sandbox sandbox;
	struct stat st;

	assert_int_equal(stat(f->dir, &st), 0);
	f->plan.mounts_len = 1;
	f->mounts[0] = (struct plan_mount){
		.src = f->dir,
		.dst = (char[]){ "/work" },
		.is_exec = true,
		.dev = st.st_dev,
		.ino = st.st_ino + 1,
	};
	start_daemon(f, none);
	assert_int_equal(start(f, &sandbox), -1);
	assert_string_equal(hl_code_info(f->err.code)->id, "HLB-57");
	assert_false(was_asked(f, "/"));
	/* Sibling: as it was, it is mounted. */
	f->mounts[0].ino = st.st_ino;
	if (start(f, &sandbox) != 0)
		fail_msg("%s", f->err.msg);
	assert_int_equal(backend_docker.stop(&sandbox, &f->err), 0);
	sandbox_done(&sandbox);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_u55_u61_bad_starts),
		CASE(test_u55_no_engine),
		CASE(test_u55_no_permission),
		CASE(test_ends),
		CASE(test_image_of_another_digest),
		CASE(test_image_whose_user_is_or_may_be_root),
		CASE(test_u25_image_user_gets_no_capability_unless_root),
		CASE(test_pull_that_fails_inside_a_good_answer),
		CASE(test_u31_probe_tells_and_keeps_what_the_engine_lacks),
		CASE(test_u31_warning_is_a_gap),
		CASE(test_source_that_was_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
