/*
 * A connection: lines in, lines out, and its end, which comes when the peer is gone and what it
 * waited for has been cancelled.
 */
#include "launcher/conn.h"

#include "launcher/jsonrpc.h"

#include "base/banned.h"

static void
on_line(void *context, const char *line, size_t len)
{
	struct conn *conn = context;

	/* What stands behind a close is not done. */
	if (!conn->is_closing)
		conn->protocol->line(conn->self, line, len);
}

static void
on_drained(void *context)
{
	struct conn *conn = context;

	conn->protocol->drained(conn->self);
}

static void
on_end(void *context, const char *why)
{
	struct conn *conn = context;
	struct hl_err err;

	/* A peer that is still there learns why nothing more of it is read. */
	if (why != NULL) {
		hl_err_set(&err, HLU_20, "%s", why);
		jsonrpc_fail(&conn->line, NULL, JSONRPC_INVALID, &err);
	}
	conn->is_ended = true;
	/* Whoever said close and wait has said what the end of the lines means. */
	if (!conn->is_closing || why != NULL)
		conn->protocol->ended(conn->self);
	conn_settle(conn);
}

int
conn_open(struct conn *conn, const int fds[2], struct hl_err *err)
{
	const struct line_calls calls = {
		.on_line = on_line,
		.on_end = on_end,
		.on_drained = on_drained,
		.context = conn,
	};

	if (line_open(&conn->line, conn->serve->loop, fds, &calls, err) != 0)
		return -1;
	conn->self = conn->protocol->open(conn);
	if (conn->self != NULL)
		return 0;
	line_close(&conn->line);
	return hl_err_oom(err);
}

void
conn_settle(struct conn *conn)
{
	if ((conn->is_ended || conn->is_closing) && conn->on_done != NULL &&
	    conn->protocol->is_idle(conn->self) &&
	    !(conn->has_readers_pace && line_is_writing(&conn->line))) {
		void (*on_done)(void *, struct conn *) = conn->on_done;
		conn->on_done = NULL;
		on_done(conn->context, conn);
	}
}

void
conn_free(struct conn *conn)
{
	if (conn->self != NULL)
		conn->protocol->free(conn->self);
	conn->self = NULL;
	line_close(&conn->line);
}
