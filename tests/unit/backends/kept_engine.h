/*
 * A session whose container is kept, with a bad engine: what the engine says of the one that is
 * kept, and the start that made it. One copy for each test program, as static functions.
 */
#ifndef HL_TESTS_UNIT_BACKENDS_KEPT_ENGINE_H
#define HL_TESTS_UNIT_BACKENDS_KEPT_ENGINE_H

#include "tests/unit/backends/bad_engine.h"

#include "base/banned.h"

#define KEPT "/containers/hermes-launch-kept-"

static char answer[REQUEST_MAX + 2048]; /* of the engine, about the kept container */

static int
setup_kept(void **state)
{
	setup(state);
	struct fixture *f = *state;

	f->plan.keep = (struct plan_keep){
		.session = "s",
		.profile = "0123456789abcdef",
		.is_kept = true,
		.lease_ms = 3600000,
	};
	return 0;
}

/* What create was asked, out of the engine's log. */
static void
read_body(const struct fixture *f, char body[REQUEST_MAX])
{
	HL_AUTO(hl_buf_done) struct hl_buf log;
	struct hl_err err;
	int fd HL_AUTO_FD = open(f->log, O_RDONLY | O_CLOEXEC);

	hl_buf_init(&log, 1024 * 1024);
	assert_true(fd >= 0);
	assert_int_equal(hl_read_file(fd, &log, f->log, HLI_02, &err), 0);
	const char *text = strstr(log.data, "/containers/create");
	assert_non_null(text);
	text = strchr(text, '{');
	assert_non_null(text);
	snprintf(body, REQUEST_MAX, "%.*s", (int)strcspn(text, "\n"), text);
}

/* The engine's words about a container that was made from body; changes are PART -> OTHER pairs. */
static void
say_kept(const char *body, const char *state, const char *part, const char *other)
{
	char host[REQUEST_MAX], text[REQUEST_MAX + 1024];
	const char *begin = strstr(body, "\"HostConfig\":{") + strlen("\"HostConfig\":");
	size_t len = 0, depth = 0;

	do {
		depth += begin[len] == '{';
		depth -= begin[len] == '}';
	} while (begin[++len] != '\0' && depth > 0);
	snprintf(host, sizeof(host), "%.*s", (int)len, begin);
	snprintf(text, sizeof(text),
	    "{\"Id\":\"" ID "\",\"Image\":\"" IMAGE "\",\"State\":{\"Pid\":0%s},"
	    "\"NetworkSettings\":{\"Networks\":{\"none\":{}}},\"Config\":%s,\"HostConfig\":" A_DEFAULT
	    "%s}",
	    state, body, host + 1);
	const char *at = part != NULL ? strstr(text, part) : NULL;
	assert_true(part == NULL || at != NULL);
	/* The last one of them: HostConfig stands behind Config. */
	for (const char *next = at; next != NULL; next = strstr(next + 1, part))
		at = next;
	if (at == NULL)
		snprintf(answer, sizeof(answer), HEAD("200 OK") "%s", text);
	else
		snprintf(answer, sizeof(answer), HEAD("200 OK") "%.*s%s%s", (int)(at - text), text,
		    other, at + strlen(part));
}

static const struct rule none_kept[] = { { "GET /v1.41" KEPT, HEAD("404 Not Found") "{}", ANSWER },
	{ 0 } };
static const struct rule one_kept[] = { { "GET /v1.41" KEPT, answer, ANSWER },
	{ "GET /v1.41/containers/" ID, answer, ANSWER }, { 0 } };

static void
begin(struct fixture *f, const struct rule *rules, struct sandbox *sandbox)
{
	start_daemon(f, rules);
	f->err = (struct hl_err){ 0 };
	if (start(f, sandbox) != 0)
		fail_msg("start: %s", f->err.msg);
}

static void
end(struct fixture *f, struct sandbox *sandbox)
{
	if (backend_docker.stop(sandbox, &f->err) != 0)
		fail_msg("stop: %s", f->err.msg);
	sandbox_done(sandbox);
}

/* Makes the first one; body is what it was made from. */
static void
make_first(struct fixture *f, char body[REQUEST_MAX])
{
	struct sandbox sandbox;

	begin(f, none_kept, &sandbox);
	assert_int_equal(sandbox.reuse, SANDBOX_FRESH);
	end(f, &sandbox);
	read_body(f, body);
	assert_true(was_asked(f, "/containers/create?name=hermes-launch-kept-"));
}

#endif
