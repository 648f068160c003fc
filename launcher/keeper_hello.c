/*
 * Named sessions: the first line on a connection. It names version, protocol and fingerprint; the
 * answer is "ok" or an error, and then the connection speaks that protocol. "control" ends the
 * session and answers questions about it, and needs no fingerprint: whoever may connect is the
 * session's own user.
 */
#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/keeper.h"

#include "base/banned.h"

static const struct protocol protocol_control;

static void *
hello_open(struct conn *conn)
{
	return conn; /* nothing of its own */
}

static void
answer(struct conn *conn, const struct hl_err *err)
{
	struct hl_buf out;
	struct hl_json json;

	hl_buf_init(&out, 8192);
	hl_json_init(&json, &out);
	hl_json_object(&json);
	hl_json_key(&json, "hermes-launch");
	hl_json_string(&json, HL_VERSION);
	if (err == NULL) {
		hl_json_key(&json, "ok");
		hl_json_bool(&json, true);
	} else {
		hl_json_key(&json, "code");
		hl_json_string(&json, hl_code_info(err->code)->id);
		hl_json_key(&json, "message");
		text_put_json(&json, err->msg);
		hl_json_key(&json, "help");
		text_put_json(&json, err->help);
	}
	hl_json_end_object(&json);
	hl_buf_putc(&out, '\n');
	if (!out.failed)
		line_put(&conn->line, out.data, out.len);
	else
		line_fail(&conn->line, "no memory for an answer");
	hl_buf_done(&out);
}

/* The sandbox is the same, or it is not shared. */
static int
check_same(const struct keeper *keeper, const char *version, const char *fingerprint,
    struct hl_err *err)
{
	const struct serve *serve = &keeper->serve;

	if (version == NULL || strcmp(version, HL_VERSION) != 0) {
		hl_err_set(err, HLU_23, "session '%s' is kept by version " HL_VERSION, serve->name);
		return hl_err_help(err, "hermes-launch stop %s", serve->name);
	}
	if (fingerprint != NULL && strcmp(fingerprint, keeper->fingerprint) == 0)
		return 0;
	hl_err_set(err, HLU_23,
	    "session '%s' was made under another policy, with other options, or from another "
	    "directory than '%.200s'",
	    serve->name, keeper->run->host.cwd);
	return hl_err_help(err, "attach as it was made, choose another name, or stop it first");
}

static int
choose(struct conn *conn, const json_t *hello, const struct protocol **ret_protocol,
    struct hl_err *err)
{
	static const char *const members[] = { "hermes-launch", "protocol", "fingerprint", NULL };
	static const struct protocol *const protocols[] = { &protocol_rpc, &protocol_mcp };
	const char *version = NULL, *name = NULL, *fingerprint = NULL;

	if (!json_is_object(hello))
		return hl_err_set(err, HLU_20, "a hello is an object");
	if (json_in_only(hello, members, err) != 0 ||
	    json_in_string(hello, "hermes-launch", &version, err) != 0 ||
	    json_in_string(hello, "protocol", &name, err) != 0 ||
	    json_in_string(hello, "fingerprint", &fingerprint, err) != 0)
		return -1;
	if (name != NULL && strcmp(name, protocol_control.name) == 0) {
		*ret_protocol = &protocol_control;
		return 0;
	}
	for (size_t i = 0; name != NULL && i < HL_ARRAY_SIZE(protocols); i++) {
		if (strcmp(protocols[i]->name, name) != 0)
			continue;
		*ret_protocol = protocols[i];
		return check_same(conn->context, version, fingerprint, err);
	}
	return hl_err_set(err, HLU_20, "there is no such protocol");
}

static void
hello_line(void *self, const char *line, size_t len)
{
	struct conn *conn = self;
	const struct protocol *protocol = NULL;
	struct hl_err err = { 0 };
	json_t *hello = NULL;

	int status = json_in_parse(line, len, &hello, &err);
	if (status == 0)
		status = choose(conn, hello, &protocol, &err);
	json_decref(hello);
	void *next = status == 0 ? protocol->open(conn) : NULL;
	if (status == 0 && next == NULL)
		status = hl_err_oom(&err);
	answer(conn, status == 0 ? NULL : &err);
	if (status == 0) {
		conn->protocol = protocol;
		conn->self = next;
		return;
	}
	conn->is_closing = true;
}

static void
hello_drained(void *self)
{
	conn_settle(self);
}

static void
hello_ended(void *self)
{
	(void)self;
}

static bool
hello_is_idle(const void *self)
{
	(void)self;
	return true;
}

static void
hello_free(void *self)
{
	(void)self;
}

const struct protocol protocol_hello = {
	.name = "hello",
	.open = hello_open,
	.line = hello_line,
	.drained = hello_drained,
	.ended = hello_ended,
	.is_idle = hello_is_idle,
	.free = hello_free,
};

/* Any line means: end. The lock tells when it is done. */
static void
control_line(void *self, const char *line, size_t len)
{
	struct conn *conn = self;

	(void)line;
	(void)len;
	answer(conn, NULL);
	conn->serve->is_discarded = true;
	serve_close(conn->serve);
}

static const struct protocol protocol_control = {
	.name = "control",
	.open = hello_open,
	.line = control_line,
	.drained = hello_drained,
	.ended = hello_ended,
	.is_idle = hello_is_idle,
	.free = hello_free,
};
