/*
 * runner - the static program inside a sandbox. This door is the protocol it speaks.
 *
 * One full-duplex byte stream joins the host and the runner: a socketpair on descriptor 3 for the
 * native sandbox, standard input and output elsewhere (RUNNER_STDIO). The runner is pid 1 of its
 * sandbox, or its child subreaper.
 *
 *	host			runner
 *	----			------
 *				HELLO		version and features
 *	LOCK					the confinement to apply, once
 *				LOCKED | ERROR	verified from inside, or why not
 *	STATE*, SPAWN				on a channel: argv, environment, cwd
 *				STARTED		exec succeeded
 *	STDIN, STDIN_EOF, SIGNAL, RESIZE, KILL
 *				OUT		stdout or stderr, within the window
 *	WINDOW_ADD				more credit for OUT
 *				WINDOW_ADD	more credit for STDIN
 *				STATE*, EXIT	how, status, usage, was state kept
 *				OUT*		of what the command left running
 *				CLOSED		nothing of the call is left
 *	PING			PONG		the same bytes: does it still listen?
 *	GOODBYE					end; so do the end of the stream, and
 *						CLOSED of a call that is ALONE
 *
 * The host may send LOCK and SPAWN before it has read HELLO: they wait in the stream. Before HELLO
 * the host skips at most RUNNER_NOISE_MAX bytes that are not the magic (banners, warnings).
 *
 * A frame is a 12 byte header, little-endian - u32 payload length, u8 type, u8 flags (zero), u16
 * zero, u32 channel - and the payload, at most RUNNER_PAYLOAD_MAX bytes, made with base's wire
 * codec. Each side holds the other for hostile: an unknown type, a bad length, a nonzero reserved
 * field, a frame that the state does not allow end the stream with a typed error.
 *
 * Channels: 0 is control; each call has one of 1 ... RUNNER_CALLS_MAX, chosen by the host, which
 * may use it again after CLOSED (low ones cost less: memory is touched up to the highest that was
 * used). A call that never began (EXIT with LAUNCHER_ERROR in the place of STARTED) is followed by
 * CLOSED as well. Frames of the host that cross an EXIT or CLOSED on their way are dropped; SIGNAL
 * and KILL that come before STARTED are kept until then. A stop of the reading of one channel never
 * blocks another.
 *
 * Flow control: OUT and STDIN consume a window of RUNNER_WINDOW bytes per channel, direction and
 * stream, which WINDOW_ADD frames give back, so that a flood neither grows memory nor blocks
 * control frames or other calls. What a command had written when it ended is sent before EXIT, so
 * EXIT waits for the window that this needs.
 *
 * Pipes: beside the native sandbox's stream lies a socket of messages, RUNNER_PASS_FD. Of a call
 * with PIPES it has brought, before SPAWN, one message: the number of the channel (u32) and the
 * writing ends of the pipes that are to be stdout and stderr (with MERGED of the one that is both).
 * The host reads them itself, so that a flood is copied once and the runner has no part in it;
 * there is no OUT then, and EXIT says that the command has ended, whatever the pipes still hold.
 * The reading ends stay with the host, whose reads do not wait for bytes. But a command can open
 * its pipe again and read it as well, so what the host saw there may be gone when it reads.
 * Elsewhere, and where the pipes cannot be made or handed over, output comes as OUT.
 *
 * The tree of a call: with ALONE it is everything below pid 1 (one call, one sandbox, no other call
 * before or after). Otherwise each call has a supervisor of its own, a child subreaper that is not
 * the command's to signal where the kernel has Landlock's signal scope (ABI 6), so that KILL ends
 * all descendants of this call, daemons included, and no other call. An orphan whose supervisor was
 * killed comes to the runner, which ends it; its call then ends as SIGNALED by KILL.
 *
 * State: with the STATE flag the command, which is bash, starts with BASH_ENV naming a descriptor
 * (RUNNER_STATE_TEXT_FD, open in the command) from which it reads the text of the STATE frames that
 * came before SPAWN; what is written to descriptor RUNNER_STATE_FD while the shell lives comes back
 * in STATE frames before EXIT. What the texts say is between session/ and bash: the runner carries
 * them, at most RUNNER_STATE_MAX bytes each, and keeps nothing. The call's env has no BASH_ENV.
 *
 * Terminal: OUT is all stdout, STDIN is what is typed, STDIN_EOF types the terminal's own character
 * for the end of input.
 *
 * When the stream ends without GOODBYE the runner ends the whole sandbox.
 */
#ifndef HL_RUNNER_RUNNER_H
#define HL_RUNNER_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

/* The runner's one argument: how it is spoken to, or, on descriptor 3, what it may begin with
 * before the lock has come (confine_begin()). */
#define RUNNER_STDIO       "--stdio"
#define RUNNER_OWN_ROOT    "own-root"    /* mounts of its own */
#define RUNNER_OWN_NETWORK "own-network" /* and a network namespace, which it makes */

enum {
	RUNNER_VERSION = 4,
	RUNNER_CALLS_MAX = 64,
	RUNNER_HEADER_SIZE = 12,
	RUNNER_PAYLOAD_MAX = 256 * 1024,
	RUNNER_NOISE_MAX = 64 * 1024,
	RUNNER_WINDOW = 1024 * 1024,
	RUNNER_STREAM_FD = 3,      /* native sandbox */
	RUNNER_PASS_FD = 4,        /* native sandbox: SOCK_SEQPACKET, see Pipes */
	RUNNER_GRACE_MS = 2000,    /* between TERM and KILL */
	RUNNER_STATE_TEXT_FD = 98, /* BASH_ENV names it: the text of the STATE frames */
	RUNNER_STATE_FD = 99,      /* the shell writes its state there */
	RUNNER_STATE_MAX = 1024 * 1024,
};

/* First bytes of the stream, before the HELLO frame: no banner contains them. */
#define RUNNER_MAGIC      "\x8fHLr1\r\n\x1a"
#define RUNNER_MAGIC_SIZE 8

enum runner_type {
	RUNNER_HELLO = 1,  /* u32 version, u32 features, u32 pid as the runner sees itself */
	RUNNER_LOCK,       /* struct confinement, confine/confine.h */
	RUNNER_LOCKED,     /* string: one line a person reads (what was verified) */
	RUNNER_ERROR,      /* struct runner_error */
	RUNNER_STATE,      /* bytes, appended to those before */
	RUNNER_SPAWN,      /* struct runner_spawn */
	RUNNER_STARTED,    /* u32 pid inside */
	RUNNER_STDIN,      /* bytes */
	RUNNER_STDIN_EOF,  /* empty */
	RUNNER_RESIZE,     /* u32 rows, u32 columns: of the terminal of a PTY call */
	RUNNER_OUT,        /* u8 1 stdout or 2 stderr, then bytes */
	RUNNER_WINDOW_ADD, /* u8 stream (0 stdin, 1 stdout, 2 stderr), u32 bytes */
	RUNNER_SIGNAL,  /* u32 signal: to the command's process group (PTY: the foreground one) */
	RUNNER_KILL,    /* u8 reason (enum runner_how): TERM to the tree, grace, KILL, EXIT */
	RUNNER_EXIT,    /* struct runner_exit */
	RUNNER_CLOSED,  /* empty */
	RUNNER_PING,    /* at most 8 bytes */
	RUNNER_PONG,    /* the same */
	RUNNER_GOODBYE, /* empty */
	RUNNER_TYPE_MAX
};

/* How a call ended: its own field, never read out of a number. */
enum runner_how {
	RUNNER_EXITED = 1,
	RUNNER_SIGNALED,
	RUNNER_TIMED_OUT,
	RUNNER_CANCELLED,
	RUNNER_LAUNCHER_ERROR,
	RUNNER_BACKEND_ERROR,
	RUNNER_HOW_MAX
};

const char *runner_how_name(enum runner_how how);

struct runner_error {
	uint32_t step; /* enum confine_step, or 0 */
	uint32_t code; /* enum hl_code: only B and D families are believed by the host */
	int sys_errno;
	const char *subject; /* path, control or program it was about; <= 512 bytes */
};

enum runner_spawn_flags {
	RUNNER_SPAWN_INHERIT =
	    1 << 0, /* the command gets the runner's own 0, 1, 2 (native sandbox) */
	RUNNER_SPAWN_STDIN = 1 << 1,  /* without INHERIT: stdin comes in frames; else /dev/null */
	RUNNER_SPAWN_ALONE = 1 << 2,  /* the only call that this sandbox will ever have */
	RUNNER_SPAWN_STATE = 1 << 3,  /* argv is bash: BASH_ENV and RUNNER_STATE_FD as told above */
	RUNNER_SPAWN_MERGED = 1 << 4, /* stderr is stdout: one pipe, arrival order */
	RUNNER_SPAWN_PTY =
	    1 << 5, /* a terminal of rows x columns on 0, 1, 2 and as controlling one */
	/* What the command leaves running when it ends stays until KILL or the end of the stream,
	 * and its OUT frames go on; without, it is ended before EXIT. */
	RUNNER_SPAWN_LEAVE = 1 << 6,
	/* Call lock: a Landlock domain of the command's own with signal and abstract socket scope,
	 * where HELLO says that the kernel has it (RUNNER_FEATURE_SCOPES); else it is not applied.
	 * Needs no_new_privs: without it this is a control that cannot be applied. */
	RUNNER_SPAWN_SCOPED = 1 << 7,
	RUNNER_SPAWN_PIPES = 1 << 8, /* stdout and stderr came over RUNNER_PASS_FD */
};

/* HELLO: what is there. For the runner's own use and for whoever looks at the stream: the host
 * reads none of it, so that it is never a reason to leave out a lock. */
enum runner_features {
	RUNNER_FEATURE_PID1 = 1 << 0,   /* the runner is pid 1 of its namespace */
	RUNNER_FEATURE_SCOPES = 1 << 1, /* Landlock ABI 6 */
};

struct runner_rlimit {
	uint32_t resource;
	uint64_t soft, hard;
};

enum {
	RUNNER_ARGV_MAX = 4096,
	RUNNER_ENV_MAX = 4096,
	RUNNER_RLIMITS_MAX = 16
};

/* The call lock (rlimits, umask) travels with the call. */
struct runner_spawn {
	uint32_t flags;
	uint32_t umask;
	struct runner_rlimit rlimits[RUNNER_RLIMITS_MAX];
	uint32_t rlimits_len;
	uint32_t rows, columns; /* PTY */
	const char *cwd;
	struct hl_strv argv; /* argv[0] without a slash is looked up in PATH of env, inside */
	struct hl_strv env;  /* NAME=VALUE, the whole environment; wiped after use */
};

enum runner_state_kept {
	RUNNER_STATE_NONE, /* not asked for */
	RUNNER_STATE_KEPT, /* STATE frames before EXIT are all that the shell wrote */
	RUNNER_STATE_LOST, /* nothing was written (exec), KILL, or more than RUNNER_STATE_MAX */
};

struct runner_exit {
	enum runner_how how;
	uint32_t code;   /* EXITED: status; LAUNCHER_ERROR: 126 or 127 */
	uint32_t signal; /* SIGNALED */
	uint64_t user_us, system_us, max_rss_kib;
	enum runner_state_kept state;
	bool has_left;       /* LEAVE: something of the call lives on; CLOSED will tell its end */
	int sys_errno;       /* LAUNCHER_ERROR: why exec or chdir failed */
	const char *subject; /* the same: what it was about */
};

/* ------------------------------------------------------------------------------------------------
 * The codec that both sides use. Encoders append a whole frame; decoders take a payload.
 */
struct runner_frame {
	enum runner_type type;
	uint32_t channel;
	const unsigned char *payload;
	uint32_t payload_len;
};

/* The beginning of a frame; its payload of len bytes is the caller's to put behind it. */
void runner_header_put(struct hl_buf *out, enum runner_type type, uint32_t channel, size_t len);
void runner_frame_put(struct hl_buf *out, enum runner_type type, uint32_t channel,
    const void *payload, size_t len);
/* Looks at the front of in. 1: a whole frame (borrowed from in; drop *ret_size bytes when done);
 * 0: more bytes are needed; -1: not a frame, the stream must end. */
int runner_frame_get(const struct hl_buf *in, struct runner_frame *ret_frame, size_t *ret_size,
    struct hl_err *err) HL_MUST_CHECK;

void runner_error_put(struct hl_buf *out, const struct runner_error *error);
int runner_error_get(const struct runner_frame *frame, struct runner_error *ret_error,
    struct hl_err *err) HL_MUST_CHECK;
/* Fails (sticky in out) when the call is larger than a frame may be. */
void runner_spawn_put(struct hl_buf *out, uint32_t channel, const struct runner_spawn *spawn);
/* Says PIPES in a frame that is nothing but a SPAWN: whether they go over is known last. */
void runner_spawn_has_pipes(struct hl_buf *frame);
int runner_spawn_get(const struct runner_frame *frame, struct runner_spawn *ret_spawn,
    struct hl_err *err) HL_MUST_CHECK;
/* What a runner takes: whoever sends another one has ended the sandbox. */
bool runner_spawn_is_sane(const struct runner_spawn *spawn);
void runner_spawn_done(struct runner_spawn *spawn);
void runner_exit_put(struct hl_buf *out, uint32_t channel, const struct runner_exit *exit);
int runner_exit_get(const struct runner_frame *frame, struct runner_exit *ret_exit,
    struct hl_err *err) HL_MUST_CHECK;

#endif
