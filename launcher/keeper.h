/*
 * Named sessions: a keeper process owns the sandbox and serves a socket below the state directory;
 * whoever names the session attaches to it. Private to launcher/.
 *
 *	<state>/sessions/<name>/	0700
 *		lock	held (flock(2)) by the keeper for as long as it lives
 *		info	one JSON object, for ps
 *		sock	unix socket, 0600; peers are checked by SO_PEERCRED as well
 *
 * A keeper that was killed holds no lock: its sandbox has ended with it (parent death signal, end
 *of the stream), its control groups are removed by its janitor, and the directory is taken over by
 *the next session of that name or removed by gc.
 */
#ifndef HL_LAUNCHER_KEEPER_H
#define HL_LAUNCHER_KEEPER_H

#include "launcher/conn.h"
#include "launcher/json_in.h"

enum {
	KEEPER_NAME_MAX = 64,
	KEEPER_CONNS_MAX = 32,
	KEEPER_IDLE_MS = 30 * 60 * 1000,
	KEEPER_START_MS = 90 * 1000,
	KEEPER_ANSWER_MS = 5 * 1000,
	KEEPER_STOP_MS = 15 * 1000,
};

/* A place of a session, opened and checked. */
struct keeper_place {
	int dir, lock; /* -1 = not open */
	bool is_ours;  /* we hold the lock: nobody keeps this session */
};

int keeper_check_name(const char *name, struct hl_err *err) HL_MUST_CHECK;
/* may_create false: HLU-24 when there is none. */
int keeper_place_open(const char *state_dir, const char *name, bool may_create,
    struct keeper_place *ret_place, struct hl_err *err) HL_MUST_CHECK;
/* The same for whoever only asks: makes no lock where one has just been taken away, which would be
 * left behind, and be taken for that of a keeper which was killed. */
int keeper_place_look(const char *state_dir, const char *name, struct keeper_place *ret_place,
    struct hl_err *err) HL_MUST_CHECK;
void keeper_place_close(struct keeper_place *place);
/* Everything in it and itself; we hold the lock. Nothing when that lock has been removed: what
 * stands there is another's. */
void keeper_place_remove(const char *state_dir, const char *name, struct keeper_place *place);
/* The directory of all sessions; -1 with errno ENOENT when there is none. */
int keeper_root_open(const char *state_dir) HL_MUST_CHECK;

int keeper_listen(const struct keeper_place *place, struct hl_err *err) HL_MUST_CHECK;
/* -1: nobody listens (yet). */
int keeper_connect(const struct keeper_place *place) HL_MUST_CHECK;
int keeper_info_write(const struct keeper_place *place, const struct hl_buf *text,
    struct hl_err *err) HL_MUST_CHECK;
/* NULL: none, or not readable. */
json_t *keeper_info_read(const struct keeper_place *place);

/* What two launchers must agree on to share a sandbox: policy, backend, and what is applied. */
void keeper_fingerprint(const struct run *run, char text[HL_SHA256_HEX_SIZE]);

/* In the child: never returns. Tells over status_fd a struct hl_err when it is ready or cannot be.
 */
_Noreturn void keeper_main(struct run *run, struct keeper_place *place, int status_fd);

/* run was settled. Makes the session when there is none of that name, attaches, and checks that it
 * is the same; *ret_fd speaks the protocol from then on. */
int keeper_attach(struct run *run, const char *protocol, int *ret_fd,
    struct hl_err *err) HL_MUST_CHECK;
/* After the last byte of a connection: HLB-07 when the keeper is dead and did not end in order. */
int keeper_check_end(const struct run *run, struct hl_err *err) HL_MUST_CHECK;
/* Asks a keeper to end; without an answer it is killed. */
int keeper_stop(const struct keeper_place *place, struct hl_err *err) HL_MUST_CHECK;
int keeper_send_hello(int fd, const char *protocol, const char *fingerprint,
    struct hl_err *err) HL_MUST_CHECK;

/* keeper_hello.c: the first line on a connection says which protocol follows. */
extern const struct protocol protocol_hello;

struct keeper {
	struct serve serve;
	struct run *run;
	struct hl_loop *loop;
	struct keeper_place *place;
	struct conn *conns;
	size_t conns_len;
	struct hl_source *listener, *signals, *idle;
	uint64_t idle_ms;
	char fingerprint[HL_SHA256_HEX_SIZE];
	int listen_fd;
};

#endif
