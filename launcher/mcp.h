/*
 * The Model Context Protocol over lines (modelcontextprotocol.io, stdio transport): tools terminal,
 * process and files. Shared by mcp.c (messages), mcp_tools.c (terminal, process) and mcp_files.c.
 * Private to launcher/.
 */
#ifndef HL_LAUNCHER_MCP_H
#define HL_LAUNCHER_MCP_H

#include "launcher/conn.h"
#include "launcher/jsonrpc.h"

struct mcp_call;

/* What a background call wrote, up to where poll has told it to this connection. */
struct mcp_seen {
	struct mcp_seen *next;
	uint64_t number, offset;
};

struct mcp {
	struct conn *conn;
	struct session_state *state;
	struct mcp_call *calls; /* requests that are not answered yet */
	struct mcp_seen *seen;
	bool is_initialized;
};

/* One tools/call. */
struct mcp_call {
	struct mcp *mcp;
	struct mcp_call *next;
	char *id;    /* as JSON */
	char *token; /* of progress, as JSON, or NULL */
	uint64_t progress;
	struct call *call;  /* its own; of wait: NULL */
	bool was_cancelled; /* the client wants no answer any more */
	/* How the answer is made when the call is over. */
	void (*answer)(struct mcp_call *call);
	struct call_watch watch; /* of wait */
	struct call *watched;
	struct hl_source *deadline;
	char *path; /* of files */
	uint64_t offset, total;
	bool is_bytes; /* files: content as base64 */
};

/* -1: err is the answer; HLU_20 for what the tool's schema forbids. 0: answered, or will be. */
typedef int mcp_tool(struct mcp *mcp, const struct jsonrpc *message, const json_t *arguments,
    struct hl_err *err);

mcp_tool mcp_terminal, mcp_process, mcp_files;

struct mcp_call *mcp_call_new(struct mcp *mcp, const struct jsonrpc *message, struct hl_err *err);
void mcp_call_free(struct mcp_call *call);
/* ask gets its callbacks; input may be NULL: none. Takes call, also on failure. */
int mcp_call_start(struct mcp_call *call, struct call_ask *ask, const struct hl_buf *input,
    struct hl_err *err) HL_MUST_CHECK;
/* {"content":[{"type":"text","text":TEXT}],"isError":B,"structuredContent": ... to be continued
 * with an object, then mcp_answer_end(). */
void mcp_answer(struct hl_buf *out, struct hl_json *json, const char *id, const struct hl_buf *text,
    bool is_error);
void mcp_answer_end(struct mcp *mcp, struct hl_buf *out, struct hl_json *json, const char *id);
/* A failure that the model should read. */
void mcp_answer_error(struct mcp *mcp, const char *id, const struct hl_err *err);

#endif
