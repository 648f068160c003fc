/*
 * What a peer can say to a session, as JSON-RPC or as the Model Context Protocol: any bytes, in
 * lines, against a sandbox whose runner never answers and then goes. Whatever comes back is
 * JSON-RPC 2.0, one object a line; who asks is answered once, and nothing is left.
 *
 * The first byte chooses: bit 0 the protocol, bit 1 whether the peer goes before the sandbox does.
 */
#include <sys/socket.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/conn.h"
#include "launcher/json_in.h"
#include "policy/state.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char rules[] = "version: 1\nid: test/fuzz\nlevel: baseline@1\n"
			    "env: {pass: [A, B], set: {FIXED: fixed}}\nlimits: {wall: 1m}\n";

struct scene {
	struct request request;
	struct run run;
	struct serve serve;
	struct conn conn;
	int peer, runner;
	bool is_done;
	size_t asked, answered;
};

static struct policy *
policy(void)
{
	static struct policy *loaded;
	const struct policy_text text = { "rules", rules, sizeof(rules) - 1 };
	struct policy_findings findings;
	struct hl_err err;

	if (loaded == NULL) {
		HL_BUG_ON(policy_load_texts(&text, 1, &loaded, &findings, &err) != 0);
		policy_findings_done(&findings);
	}
	return loaded;
}

static void
on_closed(void *context, const struct hl_err *err)
{
	struct scene *scene = context;

	(void)err;
	scene->serve.is_closed = true;
	hl_loop_stop(scene->serve.loop);
}

static void
on_done(void *context, struct conn *conn)
{
	struct scene *scene = context;

	HL_BUG_ON(conn != &scene->conn || scene->is_done);
	scene->is_done = true;
}

static void
open_session_for(struct scene *scene)
{
	struct session_config config = {
		.loop = scene->serve.loop,
		.sandbox = &scene->run.sandbox,
		.env = &scene->run.env,
		.cwd = "/work",
		.output_bytes = 4096,
		.on_closed = on_closed,
		.context = scene,
	};
	struct hl_err err;
	int ends[2];

	HL_BUG_ON(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0);
	scene->run.sandbox.stream = ends[0];
	scene->run.sandbox.pidfd = -1;
	scene->runner = ends[1];
	hl_buf_init(&scene->run.sandbox.lock, 16);
	HL_BUG_ON(session_state_new("/work", &scene->serve.common, &err) != 0 ||
		  session_open(&config, &scene->serve.session, &err) != 0);
}

static void
begin(struct scene *scene, const struct protocol *protocol)
{
	struct hl_err err;
	int ends[2];

	*scene = (struct scene){ 0 };
	scene->run.policy = policy();
	scene->run.plan.cwd = strdup("/work");
	scene->run.plan.limits[PLAN_LIMIT_WALL] =
	    (struct plan_number){ .has = true, .value = 60000 };
	hl_strv_init(&scene->run.env, 4);
	scene->run.request = &scene->request;
	scene->serve.run = &scene->run;
	scene->serve.face = protocol->name;
	HL_BUG_ON(hl_loop_new(&scene->serve.loop, &err) != 0);
	open_session_for(scene);
	HL_BUG_ON(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0);
	scene->peer = ends[1];
	scene->conn = (struct conn){
		.serve = &scene->serve,
		.protocol = protocol,
		.on_done = on_done,
		.context = scene,
	};
	const int fds[2] = { ends[0], fcntl(ends[0], F_DUPFD_CLOEXEC, 3) };
	HL_BUG_ON(conn_open(&scene->conn, fds, &err) != 0);
}

static void
check_error(const json_t *error)
{
	const char *code =
	    json_string_value(json_object_get(json_object_get(error, "data"), "code"));

	HL_BUG_ON(!json_is_integer(json_object_get(error, "code")));
	HL_BUG_ON(!json_is_string(json_object_get(error, "message")));
	HL_BUG_ON(code == NULL || hl_code_from_id(code) == HL_OK);
}

static void
check_message(struct scene *scene, const char *text, size_t len)
{
	json_t *message = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	const char *version = json_string_value(json_object_get(message, "jsonrpc"));
	const json_t *id = json_object_get(message, "id");
	const json_t *error = json_object_get(message, "error");
	const json_t *result = json_object_get(message, "result");

	HL_BUG_ON(version == NULL || strcmp(version, "2.0") != 0);
	if (json_is_string(json_object_get(message, "method"))) {
		HL_BUG_ON(id != NULL || result != NULL || error != NULL);
	} else {
		HL_BUG_ON(id == NULL || (result != NULL) == (error != NULL));
		scene->answered += !json_is_null(id);
	}
	if (error != NULL)
		check_error(error);
	/* What a model reads is a text, whatever a command or a message holds. */
	const json_t *content = json_array_get(json_object_get(result, "content"), 0);
	HL_BUG_ON(content != NULL && !json_is_string(json_object_get(content, "text")));
	json_decref(message);
}

/* Everything that waits to be written, in whole lines. */
static void
collect(struct scene *scene)
{
	struct hl_buf *to = &scene->conn.line.to;
	const char *at = to->data + scene->conn.line.sent, *end = to->data + to->len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		HL_BUG_ON(newline == NULL);
		check_message(scene, at, (size_t)(newline - at));
		at = newline + 1;
	}
	hl_buf_reset(to);
	scene->conn.line.sent = 0;
}

static void
say(struct scene *scene, const uint8_t *bytes, size_t len)
{
	char *line = malloc(len + 1);
	json_t *value = NULL;
	struct hl_err err;

	HL_BUG_ON(line == NULL);
	if (len > 0)
		memcpy(line, bytes, len);
	line[len] = '\0';
	if (json_in_parse(line, len, &value, &err) == 0) {
		const json_t *id = json_object_get(value, "id");
		scene->asked += json_is_string(id) || json_is_integer(id);
		json_decref(value);
	} else {
		HL_BUG_ON(err.code != HLU_20);
	}
	scene->conn.protocol->line(scene->conn.self, line, len);
	free(line);
	collect(scene);
}

static void
finish(struct scene *scene)
{
	struct hl_err err;

	close(scene->runner);
	if (!scene->serve.is_closed)
		HL_BUG_ON(hl_loop_run(scene->serve.loop, &err) != 0);
	collect(scene);
	HL_BUG_ON(!scene->conn.protocol->is_idle(scene->conn.self));
	conn_free(&scene->conn);
	session_free(scene->serve.session);
	calls_free(&scene->serve);
	HL_BUG_ON(scene->serve.calls != NULL);
	session_state_free(scene->serve.common);
	hl_loop_free(scene->serve.loop);
	hl_strv_done(&scene->run.env);
	hl_buf_done(&scene->run.sandbox.lock);
	close(scene->run.sandbox.stream);
	close(scene->peer);
	free(scene->run.plan.cwd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct scene scene;

	if (size == 0)
		return 0;
	bool is_mcp = (data[0] & 1) != 0, leaves = (data[0] & 2) != 0;
	begin(&scene, is_mcp ? &protocol_mcp : &protocol_rpc);
	for (size_t at = 1; at < size && !scene.conn.is_closing;) {
		const uint8_t *newline = memchr(data + at, '\n', size - at);
		size_t len = newline != NULL ? (size_t)(newline - data) - at : size - at;
		if (len < LINE_MAX_BYTES)
			say(&scene, data + at, len);
		at += len + 1;
	}
	if (leaves)
		line_fail(&scene.conn.line, "the peer has gone");
	finish(&scene);
	/* What a client of MCP cancels is not answered, nor is one that has gone. */
	HL_BUG_ON(scene.answered > scene.asked);
	HL_BUG_ON(!is_mcp && scene.answered != scene.asked);
	return 0;
}
