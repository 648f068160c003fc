/*
 * JSON-RPC 2.0 for sessions: one object a line. Shared by rpc.c (messages), rpc_exec.c (calls) and
 * rpc_state.c (state, background). Private to launcher/.
 *
 * Methods: exec, stdin, stdin_end, cancel, signal, resize, state, background.list, background.read,
 * background.kill, close. A call is named by the id of its exec request, or by "bg-N" when it runs
 * in the background. Notifications: started, output, exited; seq counts them, without gaps.
 */
#ifndef HL_LAUNCHER_RPC_H
#define HL_LAUNCHER_RPC_H

#include "launcher/conn.h"
#include "launcher/jsonrpc.h"

struct rpc_wait {
	struct rpc_wait *next;
	char *id;
};

struct rpc_exec {
	struct rpc *rpc;
	struct rpc_exec *next;
	char *id; /* of the request, as JSON */
	struct call *call;
	bool is_streamed, is_background;
	struct rpc_wait *waits; /* stdin requests that are answered when there is room again */
};

struct rpc {
	struct conn *conn;
	struct session_state *state; /* of this connection */
	struct rpc_exec *execs;
	uint64_t seq;
};

/* 0: answered, or will be. -1: the answer is err. */
typedef int rpc_method(struct rpc *rpc, const struct jsonrpc *message, struct hl_err *err);

rpc_method rpc_exec_method, rpc_stdin, rpc_stdin_end, rpc_cancel, rpc_signal, rpc_resize, rpc_state,
    rpc_background_list, rpc_background_read, rpc_background_kill;

/* {"jsonrpc":"2.0","method":NAME,"params":{"seq":N, ... to be continued with members, then an end
 * of object and rpc_send(). */
void rpc_notify(struct rpc *rpc, struct hl_buf *out, struct hl_json *json, const char *method);
/* Closes the message, sends it, releases out: jsonrpc_send(). */
void rpc_send(struct rpc *rpc, struct hl_buf *out, struct hl_json *json, const char *id);
/* {} */
void rpc_done(struct rpc *rpc, const char *id);

void rpc_exec_free(struct rpc_exec *exec);
/* "call" of params. HLU-26. *ret_exec is NULL for a background call of another connection. */
int rpc_find(struct rpc *rpc, const json_t *params, struct rpc_exec **ret_exec,
    struct call **ret_call, struct hl_err *err) HL_MUST_CHECK;
/* "90s"; NULL = the session's own. */
int rpc_timeout(const struct serve *serve, const char *text, uint64_t *ret_ms,
    struct hl_err *err) HL_MUST_CHECK;
/* {"NAME":"VALUE"} as NAME=VALUE strings. */
int rpc_env(const json_t *object, struct hl_strv *env, struct hl_err *err) HL_MUST_CHECK;

#endif
