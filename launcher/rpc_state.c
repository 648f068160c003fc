/*
 * JSON-RPC: what is kept from call to call, and what runs in the background.
 */
#include <stdlib.h>
#include <string.h>

#include "launcher/rpc.h"

#include "base/banned.h"

enum {
	READ_DEFAULT = 64 * 1024,
	READ_MAX = 512 * 1024, /* as JSON text six times that at most, within one line's queue */
};

/* ------------------------------------------------------------------------------------------------
 * state
 */
struct change {
	const char *cwd;
	struct hl_strv set; /* NAME=VALUE, judged */
	struct hl_strv unset;
};

static int
read_change(struct rpc *rpc, const json_t *params, struct change *change, struct hl_err *err)
{
	HL_AUTO(hl_strv_done_secret) struct hl_strv asked;

	hl_strv_init(&asked, SESSION_NAMES_MAX);
	hl_strv_init(&change->unset, SESSION_NAMES_MAX);
	if (json_in_string(params, "cwd", &change->cwd, err) != 0 ||
	    json_in_strings(params, "unset", &change->unset, err) != 0 ||
	    rpc_env(json_object_get(params, "set"), &asked, err) != 0)
		return -1;
	for (size_t i = 0; i < change->unset.len; i++)
		if (!hl_is_env_name(change->unset.v[i], strlen(change->unset.v[i])))
			return hl_err_set(err, HLU_20, "'%.60s' is not the name of a variable",
			    change->unset.v[i]);
	return serve_judge_env(rpc->conn->serve, &asked, &change->set, err);
}

static int
apply_change(const struct change *change, struct session_state *state, struct hl_err *err)
{
	if (change->cwd != NULL && session_state_set_cwd(state, change->cwd, err) != 0)
		return -1;
	for (size_t i = 0; i < change->set.len; i++) {
		char *equals = strchr(change->set.v[i], '=');
		*equals = '\0';
		int status = session_state_set(state, change->set.v[i], equals + 1, err);
		*equals = '=';
		if (status != 0)
			return -1;
	}
	for (size_t i = 0; i < change->unset.len; i++)
		if (session_state_set(state, change->unset.v[i], NULL, err) != 0)
			return -1;
	return 0;
}

/* All of what is asked, or nothing: it is tried on a copy. The state itself stays where it is,
 * because calls that run will merge into it. */
static int
change_state(const struct change *change, struct session_state *state, struct hl_err *err)
{
	struct session_state *copy = NULL;

	if (session_state_copy(state, &copy, err) != 0)
		return -1;
	int status = apply_change(change, copy, err);
	session_state_free(copy);
	return status != 0 ? -1 : apply_change(change, state, err);
}

static void
answer_state(struct rpc *rpc, const char *id, const struct session_state *state)
{
	struct hl_buf out;
	struct hl_json json;

	jsonrpc_answer(&out, &json, id);
	hl_json_object(&json);
	hl_json_key(&json, "cwd");
	hl_json_string(&json, session_state_cwd(state));
	hl_json_end_object(&json);
	rpc_send(rpc, &out, &json, id);
}

int
rpc_state(struct rpc *rpc, const struct jsonrpc *message, struct hl_err *err)
{
	struct change change = { 0 };
	bool shared = false;

	if (json_in_bool(message->params, "shared", &shared, err) != 0)
		return -1;
	struct session_state *state = shared ? rpc->conn->serve->common : rpc->state;
	int status = read_change(rpc, message->params, &change, err);
	if (status == 0)
		status = change_state(&change, state, err);
	hl_strv_done_secret(&change.set);
	hl_strv_done(&change.unset);
	if (status == 0)
		answer_state(rpc, message->id, state);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * background
 */
static void
put_background(struct hl_json *json, const struct call *call)
{
	hl_json_object(json);
	served_put_state(json, call);
	hl_json_key(json, "written");
	hl_json_u64(json, call->log_start + call->log.len);
	hl_json_end_object(json);
}

int
rpc_background_list(struct rpc *rpc, const struct jsonrpc *message, struct hl_err *err)
{
	struct hl_buf out;
	struct hl_json json;

	(void)err;
	jsonrpc_answer(&out, &json, message->id);
	hl_json_object(&json);
	hl_json_key(&json, "calls");
	hl_json_array(&json);
	for (const struct call *call = rpc->conn->serve->calls; call != NULL; call = call->next)
		if (served_is_listed(call))
			put_background(&json, call);
	hl_json_end_array(&json);
	hl_json_end_object(&json);
	rpc_send(rpc, &out, &json, message->id);
	return 0;
}

/* Of one background call, or of what calls left running: the session's own log. */
static int
read_log(struct rpc *rpc, const json_t *params, struct hl_buf *out, uint64_t *offset,
    struct hl_err *err)
{
	uint64_t length = READ_DEFAULT;
	struct rpc_exec *exec;
	struct call *call;
	const char *bytes;

	if (json_in_u64(params, "offset", UINT64_MAX / 4, offset, err) != 0 ||
	    json_in_u64(params, "length", READ_MAX, &length, err) != 0)
		return -1;
	if (json_object_get(params, "call") == NULL) {
		HL_AUTO_FREE char *room = malloc(READ_MAX);
		if (room == NULL)
			return hl_err_oom(err);
		size_t n = session_background(rpc->conn->serve->session, *offset, room,
		    (size_t)length, offset);
		hl_buf_put(out, room, n);
		return hl_buf_check(out, "log", err);
	}
	if (rpc_find(rpc, params, &exec, &call, err) != 0)
		return -1;
	if (hl_buf_check(&call->log, "log", err) != 0)
		return -1;
	size_t n = served_log(call, offset, &bytes);
	hl_buf_put(out, bytes, n < length ? n : (size_t)length);
	return hl_buf_check(out, "log", err);
}

int
rpc_background_read(struct rpc *rpc, const struct jsonrpc *message, struct hl_err *err)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf bytes;
	uint64_t offset = 0;
	struct hl_buf out;
	struct hl_json json;

	hl_buf_init(&bytes, READ_MAX);
	if (read_log(rpc, message->params, &bytes, &offset, err) != 0)
		return -1;
	jsonrpc_answer(&out, &json, message->id);
	hl_json_object(&json);
	hl_json_key(&json, "offset");
	hl_json_u64(&json, offset);
	hl_json_key(&json, "data");
	hl_json_stringn(&json, bytes.data, bytes.len);
	hl_json_key(&json, "next");
	hl_json_u64(&json, offset + bytes.len);
	hl_json_end_object(&json);
	rpc_send(rpc, &out, &json, message->id);
	return 0;
}

int
rpc_background_kill(struct rpc *rpc, const struct jsonrpc *message, struct hl_err *err)
{
	struct rpc_exec *exec;
	struct call *call;

	if (rpc_find(rpc, message->params, &exec, &call, err) != 0)
		return -1;
	if (!served_is_listed(call))
		return hl_err_set(err, HLU_26, "the call is not in the background");
	rpc_done(rpc, message->id);
	served_cancel(call);
	return 0;
}
