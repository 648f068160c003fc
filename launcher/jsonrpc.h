/*
 * JSON-RPC 2.0 messages, one a line, no batches: what rpc*.c, mcp*.c and client.c have in common.
 * Private to launcher/.
 */
#ifndef HL_LAUNCHER_JSONRPC_H
#define HL_LAUNCHER_JSONRPC_H

#include "launcher/json_in.h"
#include "launcher/line.h"

enum {
	JSONRPC_PARSE = -32700,
	JSONRPC_INVALID = -32600,
	JSONRPC_NO_METHOD = -32601,
	JSONRPC_BAD_PARAMS = -32602,
	JSONRPC_INTERNAL = -32603,
	JSONRPC_REFUSED = -32000, /* ours: data.code says what */
};

struct jsonrpc {
	json_t *object;
	char *id; /* as JSON; NULL: a notification */
	const char *method;
	const json_t *params; /* an object, or NULL */
};

/* What comes back to a request of ours. */
struct jsonrpc_reply {
	json_t *object;
	const char *method;   /* of a notification; NULL: an answer */
	const json_t *params; /* of a notification: an object */
	uint64_t id;          /* of an answer; 0: to something that was not understood */
	const json_t *result; /* an object, or NULL: an error */
	const char *message;  /* of an error */
	const json_t *data;
};

/* False: it is no request, and that was answered. jsonrpc_done() in both cases. */
bool jsonrpc_read(struct line *line, const char *text, size_t len, struct jsonrpc *ret_message);
void jsonrpc_done(struct jsonrpc *message);
/* HLI-02: it is neither an answer to what jsonrpc_request() makes nor a notification. */
int jsonrpc_read_reply(const char *text, size_t len, struct jsonrpc_reply *ret_reply,
    struct hl_err *err) HL_MUST_CHECK;
void jsonrpc_reply_done(struct jsonrpc_reply *reply);
/* The number that belongs to one of our errors. */
int jsonrpc_number(const struct hl_err *err);

/* {"jsonrpc":"2.0","id":ID,"result": ... to be continued with a value, then jsonrpc_send(). */
void jsonrpc_answer(struct hl_buf *out, struct hl_json *json, const char *id);
/* {"jsonrpc":"2.0","method":NAME,"params":{ ... to be continued with members, then an end of object
 * and jsonrpc_send(). A request has an id, which is not 0. */
void jsonrpc_request(struct hl_buf *out, struct hl_json *json, uint64_t id, const char *method);
void jsonrpc_notify(struct hl_buf *out, struct hl_json *json, const char *method);
/* Closes the message, sends it, releases out. An answer (id) that cannot be held is an error in its
 * place; whatever else (id NULL) cannot, which would be a gap, ends the connection. */
void jsonrpc_send(struct line *line, struct hl_buf *out, struct hl_json *json, const char *id);
void jsonrpc_fail(struct line *line, const char *id, int number, const struct hl_err *err);

#endif
