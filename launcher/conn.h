/*
 * A connection and the protocol that is spoken on it. A protocol is a row of functions, so that a
 * keeper can offer several on one socket and a face on standard input needs none of its own loop.
 * Private to launcher/.
 */
#ifndef HL_LAUNCHER_CONN_H
#define HL_LAUNCHER_CONN_H

#include "launcher/line.h"
#include "launcher/serve.h"

struct conn;

struct protocol {
	const char *name;
	/* NULL: no memory. */
	void *(*open)(struct conn *conn);
	void (*line)(void *self, const char *line, size_t len);
	void (*drained)(void *self);
	/* The peer is gone: cancel what it alone waits for. */
	void (*ended)(void *self);
	/* Nothing waits any more, and the connection can go. */
	bool (*is_idle)(const void *self);
	void (*free)(void *self);
};

extern const struct protocol protocol_rpc, protocol_mcp;

struct conn {
	struct serve *serve;
	const struct protocol *protocol;
	void *self;
	struct line line;
	struct conn *next;
	bool is_ended;   /* no more requests come */
	bool is_closing; /* the peer asked for the end: when idle, it is over */
	/* It is not over before its answers are written; else on_done sees to that. */
	bool has_readers_pace;
	/* Called once, when it has ended and nothing waits; conn_free() only after it returned. */
	void (*on_done)(void *context, struct conn *conn);
	void *context;
};

/* Takes the descriptors, also on failure. */
int conn_open(struct conn *conn, const int fds[2], struct hl_err *err) HL_MUST_CHECK;
/* After each answer: is it over? */
void conn_settle(struct conn *conn);
void conn_free(struct conn *conn);

#endif
