/*
 * runner - the static program inside a sandbox. This door is the protocol it speaks.
 *
 * One full-duplex byte stream joins the host and the runner: a socketpair on descriptor 3 for the
 * native sandbox (no argument), standard input and output elsewhere (argument "--stdio"). The
 *runner is pid 1 of its sandbox, or its child subreaper.
 *
 *	host				runner
 *	----				------
 *					HELLO		version and features
 *	LOCK				 		the confinement to apply, once
 *					LOCKED | ERROR	verified from inside, or why not
 *	SPAWN						argv, environment, cwd, stdio
 *					STARTED | ERROR	exec succeeded
 *	STDIN, STDIN_EOF, SIGNAL, KILL
 *					OUT		stdout or stderr, within the window
 *	WINDOW						more credit for OUT
 *					WINDOW		more credit for STDIN
 *					EXIT		how, status, rusage; nothing of the call is
 *left GOODBYE						end; so does the end of the stream
 *
 * The host may send LOCK and SPAWN before it has read HELLO: they wait in the stream. Before HELLO
 *the host skips at most RUNNER_NOISE_MAX bytes that are not the magic (banners, warnings).
 *
 * A frame is a 12 byte header, little-endian - u32 payload length, u8 type, u8 flags, u16 zero, u32
 * channel - and the payload, at most RUNNER_PAYLOAD_MAX bytes, made with base's wire codec. Each
 *side holds the other for hostile: an unknown type, a bad length, a nonzero reserved field, a frame
 *that the state does not allow end the stream with a typed error. This version has one channel, 1,
 *for calls; 0 is control.
 *
 * Flow control: OUT and STDIN consume a window of RUNNER_WINDOW bytes per direction and stream,
 *which WINDOW frames give back, so a flood neither grows memory nor blocks control frames.
 *
 * When the stream ends without GOODBYE the runner ends the whole sandbox.
 */
#ifndef HL_RUNNER_RUNNER_H
#define HL_RUNNER_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

enum {
	RUNNER_VERSION = 1,
	RUNNER_HEADER_SIZE = 12,
	RUNNER_PAYLOAD_MAX = 256 * 1024,
	RUNNER_NOISE_MAX = 64 * 1024,
	RUNNER_WINDOW = 1024 * 1024,
	RUNNER_STREAM_FD = 3,   /* native sandbox */
	RUNNER_GRACE_MS = 2000, /* between TERM and KILL */
};

/* First bytes of the stream, before the HELLO frame: no banner contains them. */
#define RUNNER_MAGIC      "\x8fHLr1\r\n\x1a"
#define RUNNER_MAGIC_SIZE 8

enum runner_type {
	RUNNER_HELLO = 1,  /* u32 version, u32 features, u32 pid as the runner sees itself */
	RUNNER_LOCK,       /* struct confinement, confine/confine.h */
	RUNNER_LOCKED,     /* string: one line a person reads (what was verified) */
	RUNNER_ERROR,      /* struct runner_error */
	RUNNER_SPAWN,      /* struct runner_spawn */
	RUNNER_STARTED,    /* u32 pid inside */
	RUNNER_STDIN,      /* bytes */
	RUNNER_STDIN_EOF,  /* empty */
	RUNNER_OUT,        /* u8 1 stdout or 2 stderr, then bytes */
	RUNNER_WINDOW_ADD, /* u8 stream (0 stdin, 1 stdout, 2 stderr), u32 bytes */
	RUNNER_SIGNAL,     /* u32 signal: to the command's process group */
	RUNNER_KILL,       /* u8 reason (enum runner_how): TERM to the tree, grace, KILL, EXIT */
	RUNNER_EXIT,       /* struct runner_exit */
	RUNNER_GOODBYE,    /* empty */
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
	RUNNER_SPAWN_STDIN = 1 << 1, /* without INHERIT: stdin comes in frames; else /dev/null */
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
	const char *cwd;
	struct hl_strv argv; /* argv[0] without a slash is looked up in PATH of env, inside */
	struct hl_strv env;  /* NAME=VALUE, the whole environment; wiped after use */
};

struct runner_exit {
	enum runner_how how;
	uint32_t code;   /* EXITED: status; LAUNCHER_ERROR: 126 or 127 */
	uint32_t signal; /* SIGNALED */
	uint64_t user_us, system_us, max_rss_kib;
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
void runner_spawn_put(struct hl_buf *out, const struct runner_spawn *spawn);
int runner_spawn_get(const struct runner_frame *frame, struct runner_spawn *ret_spawn,
    struct hl_err *err) HL_MUST_CHECK;
void runner_spawn_done(struct runner_spawn *spawn);
void runner_exit_put(struct hl_buf *out, const struct runner_exit *exit);
int runner_exit_get(const struct runner_frame *frame, struct runner_exit *ret_exit,
    struct hl_err *err) HL_MUST_CHECK;

#endif
