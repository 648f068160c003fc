/*
 * base - the floor of the house.
 *
 * What every room stands on: errors, capped buffers, string vectors, descriptors, paths, numbers,
 * SHA-256, a JSON writer and the length-checked codec that all our own messages are made with. base
 * opens no other room, prints nothing and keeps no state between calls.
 *
 * Two builds are made of it: for the host (glibc) and for the sandbox (static musl, libc only).
 *
 * Conventions used by every door of the house
 *
 *  1. A call that can fail returns 0 or -1 and is HL_MUST_CHECK. On -1 the caller's struct hl_err
 * is filled; outputs (ret_...) are written on success only.
 *  2. thing_init/thing_done for objects inside others: done may be called on a zeroed or half-built
 *     object, and twice. thing_new/thing_free for heap objects: free(NULL) is allowed.
 *  3. Descriptors are close-on-exec from birth; -1 is "none".
 *  4. A struct hl_buf or hl_strv has a maximum and a sticky error: write without looking, check
 * once.
 */
#ifndef HL_BASE_BASE_H
#define HL_BASE_BASE_H

#include <sys/types.h>

#include <dirent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HL_MUST_CHECK       __attribute__((warn_unused_result))
#define HL_PRINTF(fmt, arg) __attribute__((format(printf, fmt, arg)))
/* madvise(2), Linux 5.14: pages now and all at once, where they would come by a fault each. */
enum {
	HL_MADV_POPULATE_READ = 22,
	HL_MADV_POPULATE_WRITE = 23
};

#define HL_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* A text of a table and the NUL behind it: C drops a NUL that has no room without a word. */
#define HL_FITS(text, field) \
 _Static_assert(sizeof(text) <= sizeof(field), "a text does not fit into its table")

/* Aborts with file and line: for broken invariants of ours, never for bad input. */
#define HL_BUG_ON(condition)               \
 do {                                      \
  if (condition)                           \
   hl_bug(__FILE__, __LINE__, #condition); \
 } while (0)

__attribute__((noreturn)) void hl_bug(const char *file, int line, const char *condition);

/* ------------------------------------------------------------------------------------------------
 * Errors
 */

/* Stable for ever: HLP-04 is HLP_04. Rows, texts and exit statuses live in base/codes.def. */
enum hl_code {
	HL_OK = 0,
#define HL_CODE(family, number, exit_status, name, help) HL##family##_##number,
#include "base/codes.def"
#undef HL_CODE
	HL_CODE_MAX
};

/* Large tables hold their texts, not pointers to them: of a position-independent program each page
 * with a pointer in it is copied and filled in at every start, also for rows that nobody reads. */
struct hl_code_info {
	char id[8];      /* "HLP-04" */
	char name[32];   /* "unknown-key" */
	char help[200];  /* sentences: cause, and what to do, beginning with a verb */
	int exit_status; /* of verbs other than run, where every one of ours is 125 */
};

/* Never NULL; HL_OK has the id "HL-00". */
const struct hl_code_info *hl_code_info(enum hl_code code);
/* Reads "HLP-04" in any case. HL_OK when there is no such code. */
enum hl_code hl_code_from_id(const char *id);

/* A place in a file. file is borrowed and lives as long as what it was read into; NULL = no place.
 */
struct hl_where {
	const char *file;
	uint32_t line;   /* from 1; 0 = the file as a whole */
	uint32_t column; /* from 1, in bytes */
};

struct hl_err {
	enum hl_code code;
	int sys_errno; /* 0 when no system call was the cause */
	struct hl_where where;
	char msg[512];  /* lower case, no full stop, subject in single quotes; never a protected
			   value */
	char help[256]; /* what to do, or empty */
};

/* Sets and returns -1, so that `return hl_err_set(...)` reads well. The last one wins. */
int hl_err_set(struct hl_err *err, enum hl_code code, const char *format, ...) HL_PRINTF(3, 4);
/* The same, and ": " strerror(errno) at the end; reads errno before anything else. */
int hl_err_sys(struct hl_err *err, enum hl_code code, const char *format, ...) HL_PRINTF(3, 4);
/* Puts "context: " before the message that is there. Returns -1. */
int hl_err_wrap(struct hl_err *err, const char *format, ...) HL_PRINTF(2, 3);
/* Sets what to do about it. Returns -1. */
int hl_err_help(struct hl_err *err, const char *format, ...) HL_PRINTF(2, 3);
/* Out of memory, without memory. Returns -1. */
int hl_err_oom(struct hl_err *err);

/* Where a value comes from. All strings borrowed. layer is "level", "host", "org", "team", "task",
 * "caller" or "built-in"; a caller's value has the argument's spelling in file and line 0. */
struct hl_origin {
	const char *layer;
	const char *id; /* of the policy, or the level's name, or NULL */
	uint64_t revision;
	struct hl_where where;
};

/* ------------------------------------------------------------------------------------------------
 * Cleanup: declare and initialise on one line; all of these keep errno.
 */
void hl_free_ptr(void *pointer_to_pointer);
void hl_close_ptr(const int *fd);

#define HL_AUTO_FREE     __attribute__((cleanup(hl_free_ptr)))
#define HL_AUTO_FD       __attribute__((cleanup(hl_close_ptr)))
#define HL_AUTO(cleaner) __attribute__((cleanup(cleaner)))

/* Hands ownership over: returns *fd and sets it to -1. */
int hl_take_fd(int *fd);
/* Hands ownership over: returns *pointer and sets it to NULL. */
#define HL_TAKE_PTR(pointer)      \
 __extension__(                   \
     {                            \
__typeof__(pointer) hl_taken = (pointer); \
(pointer) = NULL;                         \
hl_taken;                                 \
     })

/* ------------------------------------------------------------------------------------------------
 * struct hl_buf: bytes with a maximum
 *
 * data is always NUL-terminated behind len (the NUL does not count), and never NULL after init.
 * When a write would pass max, or memory ends, the buffer keeps what it had, failed becomes true
 * and further writes do nothing. hl_buf_check() turns that into an error, once, at the end.
 */
struct hl_buf {
	char *data;
	size_t len;
	size_t capacity;
	size_t max;
	bool failed;
};

/* max: bytes, 1 ... SIZE_MAX/2. Allocates nothing yet. */
void hl_buf_init(struct hl_buf *buf, size_t max);
void hl_buf_done(struct hl_buf *buf);
/* Wipes the content before it is freed: for whatever may hold a protected value. */
void hl_buf_done_secret(struct hl_buf *buf);
void hl_buf_reset(struct hl_buf *buf);
/* Room for more bytes in all, for what is whole only when each of several writes is. false: failed.
 */
bool hl_buf_reserve(struct hl_buf *buf, size_t more);
void hl_buf_put(struct hl_buf *buf, const void *bytes, size_t len);
void hl_buf_puts(struct hl_buf *buf, const char *string);
void hl_buf_putc(struct hl_buf *buf, char byte);
void hl_buf_putf(struct hl_buf *buf, const char *format, ...) HL_PRINTF(2, 3);
void hl_buf_vputf(struct hl_buf *buf, const char *format, va_list ap) HL_PRINTF(2, 0);
/* Removes the first n bytes (n <= len). */
void hl_buf_drop(struct hl_buf *buf, size_t n);
int hl_buf_check(const struct hl_buf *buf, const char *what, struct hl_err *err) HL_MUST_CHECK;
/* The content as a heap string that the caller frees; the buffer is empty afterwards. NULL when
 * failed. */
char *hl_buf_take(struct hl_buf *buf) HL_MUST_CHECK;

/* Escapers: the only places where such rules are written down. */
/* A JSON string with its quotes. Escapes ", \, bytes below 0x20, DEL, U+2028/9 and bidi controls,
 * so that the text is safe in a terminal as well. len bytes that are not UTF-8, or hold a NUL,
 * become {"b64":"..."}. */
void hl_buf_json_string(struct hl_buf *buf, const char *string, size_t len);
/* One POSIX shell word, quoted only where needed. */
void hl_buf_shell_word(struct hl_buf *buf, const char *word);
/* Always in quotes: for a shell in which a word that looks harmless may be an alias. */
void hl_buf_shell_quoted(struct hl_buf *buf, const char *word);
/* For a person's terminal: control bytes, DEL, C1 and bidi controls as \xHH or \u{H}. */
void hl_buf_printable(struct hl_buf *buf, const char *string, size_t len);
void hl_buf_hex(struct hl_buf *buf, const void *bytes, size_t len);
/* RFC 4648, 4: with padding, in one line. */
void hl_buf_base64(struct hl_buf *buf, const unsigned char *bytes, size_t len);
/* The reverse, one text for one value: whole groups, padding at the end alone, no bit left over. At
 * most max bytes are written; *ret_len is the number of all of them. False: it is no base64. */
bool hl_base64_read(const char *text, size_t len, unsigned char *bytes, size_t max,
    size_t *ret_len) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * struct hl_strv: a NULL-terminated vector of owned strings, with a maximum and a sticky error
 */
struct hl_strv {
	char **v; /* NULL-terminated once something was added; NULL before */
	size_t len;
	size_t capacity;
	size_t max; /* strings */
	bool failed;
};

void hl_strv_init(struct hl_strv *strv, size_t max);
void hl_strv_done(struct hl_strv *strv);
/* Wipes every string before it is freed. */
void hl_strv_done_secret(struct hl_strv *strv);
void hl_strv_add(struct hl_strv *strv, const char *string);
void hl_strv_addn(struct hl_strv *strv, const char *string, size_t len);
void hl_strv_addf(struct hl_strv *strv, const char *format, ...) HL_PRINTF(2, 3);
void hl_strv_sort(struct hl_strv *strv);
bool hl_strv_contains(const struct hl_strv *strv, const char *string);
int hl_strv_check(const struct hl_strv *strv, const char *what, struct hl_err *err) HL_MUST_CHECK;
/* The vector for execve: never NULL. The strv stays the owner. */
char *const *hl_strv_argv(const struct hl_strv *strv);

/* ------------------------------------------------------------------------------------------------
 * Numbers and other small texts. Whole string, no sign, no space, no leading zero.
 */
int hl_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value,
    struct hl_err *err) HL_MUST_CHECK;
/* "512MiB": B KiB MiB GiB TiB. Bytes. A bare number is an error that shows both readings. */
int hl_parse_size(const char *text, uint64_t *ret_bytes, struct hl_err *err) HL_MUST_CHECK;
/* "90s": ms s m h d. Milliseconds. A bare number is an error. */
int hl_parse_duration(const char *text, uint64_t *ret_ms, struct hl_err *err) HL_MUST_CHECK;
/* "0.5", "4": at most three decimals. Thousandths. */
int hl_parse_milli(const char *text, uint64_t *ret_milli, struct hl_err *err) HL_MUST_CHECK;
/* "022": 1 to 4 octal digits. */
int hl_parse_mode(const char *text, uint32_t *ret_mode, struct hl_err *err) HL_MUST_CHECK;
/* The reverse of the three above, shortest exact form, for messages and policy show. */
void hl_buf_put_size(struct hl_buf *buf, uint64_t bytes);
void hl_buf_put_duration(struct hl_buf *buf, uint64_t ms);
void hl_buf_put_milli(struct hl_buf *buf, uint64_t milli);
/* A name a shell can have as a variable: [A-Za-z_][A-Za-z0-9_]{0,127}. */
bool hl_is_env_name(const char *name, size_t len);
/* Shell-style pattern over one name: * ? and nothing else. Linear in the product of the lengths. */
bool hl_glob_match(const char *pattern, const char *name);
/* The candidate (of n) that is nearest to word by edit distance, NULL when none is near enough. */
const char *hl_nearest(const char *word, const char *const *candidates, size_t n);
/* Valid UTF-8 without surrogates and overlong forms. */
bool hl_is_utf8(const char *bytes, size_t len);
/* Code points that make a text read otherwise than it is: C1 controls, bidi controls, zero-width
 * characters, U+2028/9, the byte order mark. */
bool hl_utf8_is_deceptive(uint32_t point);
/* Bytes of the first code point of bytes (len > 0), 0 when it is not UTF-8. */
size_t hl_utf8_next(const char *bytes, size_t len, uint32_t *ret_point);

/* ------------------------------------------------------------------------------------------------
 * Descriptors
 */
/* Opens /dev/null on those of 0, 1, 2 that are closed. Call first thing in main. */
int hl_fd_ensure_std(struct hl_err *err) HL_MUST_CHECK;
/* EINTR retried; short only at end of file. -1 with errno on failure. */
ssize_t hl_read_full(int fd, void *bytes, size_t len) HL_MUST_CHECK;
int hl_write_full(int fd, const void *bytes, size_t len) HL_MUST_CHECK;
/* The whole file behind fd into buf, up to its max; a longer one is an error with code. */
int hl_read_file(int fd, struct hl_buf *buf, const char *name, enum hl_code code,
    struct hl_err *err) HL_MUST_CHECK;
int hl_fd_set_cloexec(int fd, bool on) HL_MUST_CHECK;
/* 1: *ret_entry, until the next call; 0: there is no more; -1 with errno: the list breaks off. */
int hl_dir_next(DIR *dir, const struct dirent **ret_entry) HL_MUST_CHECK;
void hl_close_dir(DIR **dir);
#define HL_AUTO_DIR __attribute__((cleanup(hl_close_dir)))

/* ------------------------------------------------------------------------------------------------
 * Paths
 */
/* Absolute, no empty, "." or ".." component, no trailing slash (but "/" itself), <= 4095 bytes. */
bool hl_path_is_normal(const char *path);
/* Lexical: joins base when path is relative, resolves "." and ".."; heap string, NULL = no memory.
 */
char *hl_path_normalise(const char *base, const char *path) HL_MUST_CHECK;
/* path == parent or below it, component-wise. Both normal. */
bool hl_path_is_beneath(const char *path, const char *parent);
/* Kernel's own name of what fd is, through /proc/self/fd; heap string. */
char *hl_path_of_fd(int fd) HL_MUST_CHECK;
/* Creates each missing directory with mode; existing ones are left as they are. */
int hl_mkdirs(const char *path, mode_t mode, struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * Time and identity
 */
uint64_t hl_now_mono_ms(void);
uint64_t hl_now_real_us(void);
/* "2026-11-29T15:40:12.123456Z" and NUL. */
enum {
	HL_ISO_TIME_SIZE = 28,
	HL_ULID_SIZE = 27
};
void hl_iso_time(uint64_t real_us, char text[HL_ISO_TIME_SIZE]);
/* 26 characters of Crockford base 32: 48 bit of milliseconds, 80 bit from getrandom(2). */
int hl_ulid(char text[HL_ULID_SIZE], struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * struct hl_loop: one thread, many descriptors and deadlines
 *
 * epoll(7) behind callbacks. A callback may add and remove any source, its own included: what was
 * removed is not called again, also when the kernel has reported it already. Descriptors stay the
 * caller's; remove a source before closing its descriptor. Two sources on one descriptor are an
 * error (EEXIST): dup(2) it.
 */
struct hl_loop;
struct hl_source;

/* events: EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR as reported; 0 for a deadline. */
typedef void hl_loop_fn(void *context, uint32_t events);

struct hl_watch {
	int fd;          /* -1: a deadline */
	uint32_t events; /* EPOLLIN | EPOLLOUT; 0 = nothing but errors and hang-up */
	uint64_t
	    when_ms; /* deadline: fires once at hl_now_mono_ms() >= when_ms, and is gone then */
	hl_loop_fn *fn;
	void *context;
};

int hl_loop_new(struct hl_loop **ret_loop, struct hl_err *err) HL_MUST_CHECK;
void hl_loop_free(struct hl_loop *loop);
/* A regular file, which epoll does not know (EPERM), counts as ready at every turn. */
int hl_loop_add(struct hl_loop *loop, const struct hl_watch *watch, struct hl_source **ret_source,
    struct hl_err *err) HL_MUST_CHECK;
void hl_source_events(struct hl_source *source, uint32_t events);
/* NULL is allowed. */
void hl_source_remove(struct hl_source *source);
/* Until hl_loop_stop(). -1: epoll itself failed. */
int hl_loop_run(struct hl_loop *loop, struct hl_err *err) HL_MUST_CHECK;
void hl_loop_stop(struct hl_loop *loop);

/* ------------------------------------------------------------------------------------------------
 * struct hl_child: a program beside us. It gets nothing of ours but what is said here.
 */
enum {
	HL_CHILD_FDS_MAX = 6,
	HL_CHILD_PID_DIGITS = 10
};

struct hl_child {
	const char *path;
	char *const *argv, *const *envp;
	const char *dir; /* where it works, NULL = where we do */
	const int *fds;  /* fds[i] becomes i, -1 = /dev/null; they stay the caller's */
	size_t fds_len;
	bool has_session; /* setsid(2) */
	int death_signal; /* sent to it when the thread that started it ends, 0 = none */
	char *pid_digits; /* in envp: HL_CHILD_PID_DIGITS that become its own number, NULL = none */
};

/* The caller reaps it and closes the pidfd. -1: errno says why it could not be started, and there
 * is no process then. */
int hl_child_start(const struct hl_child *child, pid_t *ret_pid, int *ret_pidfd) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * struct hl_peer: a program of ours beside us, for what we ourselves must not do
 *
 * Life cycle: start; ask, and each request has one answer; end, on every way. It gets nothing of
 * ours: no environment, /dev/null as 0 to 2, a SOCK_SEQPACKET socket as 3, and from 4 on what the
 * caller gives it. A packet is a type (u8) and what belongs to it. The type `failed` is string
 * code, string message, string help, and of its codes only those of the family of `broken` and HLI
 * are believed. Packets of the type `progress` may come before an answer. It ends with its socket.
 */
enum {
	HL_PEER_FDS_MAX = 2
};

struct hl_peer_kind {
	char name[16];                  /* "hl-engine" */
	enum hl_code broken, cancelled; /* cannot start, ended, talks nonsense; cancel_fd */
	size_t packet_max;
	size_t fds_len;
	int answer_ms, end_ms;    /* patience: for an answer, and for its end */
	uint8_t failed, progress; /* progress 0 = none */
	bool has_session;         /* setsid(2) */
};

struct hl_wire;

struct hl_peer {
	const struct hl_peer_kind *kind;
	pid_t pid; /* 0 = none, and no descriptor either */
	int pidfd, control;
	int cancel_fd; /* readable: no answer is waited for; -1 = none */
	int answer_ms, end_ms;
	bool is_broken; /* nothing more is asked: it ended, was given up on, or answered what nobody
			   asked */
	/* What belongs to a packet of type `progress`; NULL = nobody listens. */
	void (*on_progress)(void *context, struct hl_wire *wire);
	void *context;
};

/* fds: kind->fds_len of them, -1 = /dev/null; they stay the caller's. */
int hl_peer_start(struct hl_peer *peer, const struct hl_peer_kind *kind, const char *path,
    const int *fds, struct hl_err *err) HL_MUST_CHECK;
/* Sends request and reads the answer of type `want` into ret_answer, which the caller releases.
 * `failed` becomes the error that it says. */
int hl_peer_ask(struct hl_peer *peer, const struct hl_buf *request, uint8_t want,
    struct hl_buf *ret_answer, struct hl_err *err) HL_MUST_CHECK;
/* What it answered is none. Returns -1. */
int hl_peer_malformed(struct hl_peer *peer, struct hl_err *err);
/* Closes its socket and waits for it; one that does not end is told to, and then killed. May be
 * called on a zeroed one, and twice. */
void hl_peer_end(struct hl_peer *peer);

/* ------------------------------------------------------------------------------------------------
 * System calls without libc: for code on memory that it shares (CLONE_VM), where errno and the rest
 * of thread-local storage is another's. Both return -errno on failure.
 */
long hl_raw_syscall(long number, const long args[6]);

#define HL_RAW3(number, a, b, c) \
 hl_raw_syscall(number, (const long[6]){ (long)(a), (long)(b), (long)(c), 0, 0, 0 })
#define HL_RAW5(number, a, b, c, d, e) \
 hl_raw_syscall(number, (const long[6]){ (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0 })

/* clone(2) onto a stack of its own, whose top is 16-aligned: the child runs main(argument) and ends
 * with what that returns. flags has CLONE_VM, and the signal of its end in the low byte; with
 * CLONE_PIDFD (Linux 5.2) *pidfd is set in the caller, to -1 on failure; else NULL. Returns the
 * child's number. */
long hl_raw_clone(unsigned long flags, void *stack_top, int *pidfd, int (*main)(void *argument),
    void *argument);

/* ------------------------------------------------------------------------------------------------
 * SHA-256 (FIPS 180-4). Ours, because the runner and the launcher's hot path link no OpenSSL.
 */
enum {
	HL_SHA256_SIZE = 32,
	HL_SHA256_HEX_SIZE = 65
};

struct hl_sha256 {
	uint32_t state[8];
	uint64_t bytes;
	unsigned char block[64];
};

void hl_sha256_init(struct hl_sha256 *ctx);
void hl_sha256_update(struct hl_sha256 *ctx, const void *bytes, size_t len);
/* Wipes ctx, in which the end of what was hashed stands: the next use begins with init. */
void hl_sha256_final(struct hl_sha256 *ctx, unsigned char digest[HL_SHA256_SIZE]);
void hl_sha256_hex(const unsigned char digest[HL_SHA256_SIZE], char text[HL_SHA256_HEX_SIZE]);
/* One-shot, as text. */
void hl_sha256_text(const void *bytes, size_t len, char text[HL_SHA256_HEX_SIZE]);
/* Of several texts, each with the NUL at its end: what stands in one is not taken for the next. */
void hl_sha256_parts(const char *const *parts, size_t len, char text[HL_SHA256_HEX_SIZE]);

/* ------------------------------------------------------------------------------------------------
 * struct hl_json: a writer that puts the commas. No spaces, keys in the order of the calls.
 */
struct hl_json {
	struct hl_buf *out;
	bool need_comma;
};

void hl_json_init(struct hl_json *json, struct hl_buf *out);
void hl_json_object(struct hl_json *json); /* { */
void hl_json_end_object(struct hl_json *json);
void hl_json_array(struct hl_json *json); /* [ */
void hl_json_end_array(struct hl_json *json);
void hl_json_key(struct hl_json *json, const char *key);
void hl_json_string(struct hl_json *json, const char *string); /* NULL = null */
/* Key and text. */
void hl_json_member(struct hl_json *json, const char *key, const char *text);
void hl_json_stringn(struct hl_json *json, const char *string, size_t len);
void hl_json_u64(struct hl_json *json, uint64_t value);
void hl_json_i64(struct hl_json *json, int64_t value);
void hl_json_bool(struct hl_json *json, bool value);
/* Text that is JSON already. */
void hl_json_raw(struct hl_json *json, const char *text);

/* ------------------------------------------------------------------------------------------------
 * Our own messages: little-endian, every length checked.
 *
 * Writing appends to a hl_buf. Reading never copies: strings point into the message, which must
 * outlive them, and are NUL-terminated there (the writer sends the NUL, the reader checks it and
 * that there is no other inside). A failed read returns 0 or NULL and sets failed; check once.
 */
struct hl_wire {
	const unsigned char *next;
	size_t left;
	bool failed;
};

void hl_wire_init(struct hl_wire *wire, const void *bytes, size_t len);
uint8_t hl_wire_u8(struct hl_wire *wire);
uint32_t hl_wire_u32(struct hl_wire *wire);
uint64_t hl_wire_u64(struct hl_wire *wire);
const char *hl_wire_string(struct hl_wire *wire);
/* *ret_len bytes, not NUL-terminated. */
const void *hl_wire_bytes(struct hl_wire *wire, size_t *ret_len);
/* Copies a vector of at most strv->max strings. */
void hl_wire_strv(struct hl_wire *wire, struct hl_strv *strv);
/* True when nothing failed and nothing is left. */
bool hl_wire_is_complete(const struct hl_wire *wire);

void hl_wire_put_u8(struct hl_buf *buf, uint8_t value);
void hl_wire_put_u32(struct hl_buf *buf, uint32_t value);
void hl_wire_put_u64(struct hl_buf *buf, uint64_t value);
void hl_wire_put_string(struct hl_buf *buf, const char *string); /* NULL = "" */
void hl_wire_put_bytes(struct hl_buf *buf, const void *bytes, size_t len);
void hl_wire_put_strv(struct hl_buf *buf, const struct hl_strv *strv);

#endif
