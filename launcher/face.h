/*
 * What the faces share. Private to launcher/.
 */
#ifndef HL_LAUNCHER_FACE_H
#define HL_LAUNCHER_FACE_H

#include "launcher/keeper.h"

/* A sandbox of our own in a loop, with one connection: what session, mcp and shell have when no
 * name is given. */
struct face {
	struct run *run;
	struct serve serve;
	struct conn conn;
	struct hl_loop *loop;
	struct hl_source *signals;
	int signal; /* that ended it, 0 = none */
	bool has_conn;
	bool has_client; /* the other end is in our own loop */
};

/* Takes fds. run was settled. */
int face_open(struct face *face, const struct protocol *protocol, const int fds[2],
    struct hl_err *err) HL_MUST_CHECK;
/* Ends everything. -1: that failed, and err says why; or else why the session closed by itself. */
int face_end(struct face *face, struct hl_err *err) HL_MUST_CHECK;

/* Moves bytes between our standard streams and a socket until one side ends. */
int relay_run(int socket, int signal_fd, struct hl_err *err) HL_MUST_CHECK;

/* One call over JSON-RPC, with our own 0, 1 and 2: run --name, shell. */
struct client_ask {
	const struct request *request;
	bool is_shell;  /* a terminal, raw */
	bool is_shared; /* the session's common state */
};

/* fd: speaks JSON-RPC; loop may be shared with the other end. The result is in run->result. */
int client_run(struct run *run, struct hl_loop *loop, int fd, const struct client_ask *ask,
    struct hl_err *err) HL_MUST_CHECK;

/* result.c: what a result says of the session's controls becomes what is said of the run. */
int result_take_controls(struct run *run, const json_t *object, struct hl_err *err) HL_MUST_CHECK;

/* term.c: the terminal on standard input. Restored on every way out, also by a fatal signal. */
int term_raw(struct hl_err *err) HL_MUST_CHECK;
void term_restore(void);
bool term_size(uint32_t *ret_rows, uint32_t *ret_columns);

#endif
