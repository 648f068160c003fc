/*
 * policy - text in, one settled effective policy out.
 *
 * The room knows no backend and prints nothing. What it finds wrong it returns as findings, each
 * with a code, a place and what to do; launcher/ prints them.
 *
 * Life cycle
 *
 *  1. policy_load() reads every layer (host directory, then the named files) by the file rule,
 *     parses and types each by fields.def, folds a level before each file, merges, and fills in the
 *     defaults. All findings of all files are collected in one pass, at most POLICY_FINDINGS_MAX.
 *  2. With no error finding there is a struct policy. Every value in it has one origin.
 *  3. Callers ask for changes with policy_judge() and, when they may have it (or when mode is
 * warn), policy_apply().
 *  4. policy_free() releases everything. Strings handed out are owned by the policy and live as
 * long.
 *
 * Words: a bound is what nobody later may exceed; a default is the value used when nobody asks; a
 * request is what the caller asks. A field that nothing bounds is unbounded.
 */
#ifndef HL_POLICY_POLICY_H
#define HL_POLICY_POLICY_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

struct policy; /* opaque: the settled effective policy and every layer it was made from */

enum policy_field {
#define POLICY_FIELD(symbol, ...) POLICY_##symbol,
#include "policy/fields.def"
#undef POLICY_FIELD
	POLICY_FIELD_MAX
};

/* How a field's value is held. */
enum policy_kind {
	POLICY_KIND_BOOL,     /* number 0 or 1 */
	POLICY_KIND_ENUM,     /* number: index into the field's words, strict first */
	POLICY_KIND_INT,      /* number */
	POLICY_KIND_BITS,     /* number: as many octal digits as the largest has */
	POLICY_KIND_SIZE,     /* number: bytes */
	POLICY_KIND_DURATION, /* number: milliseconds */
	POLICY_KIND_MILLI,    /* number: thousandths (cpus) */
	POLICY_KIND_STRING,   /* text */
	POLICY_KIND_SET,      /* items: text */
	POLICY_KIND_RECORDS,  /* items: record, and as text what policy show prints of it */
	POLICY_KIND_NAMED,    /* the same, with a name */
	POLICY_KIND_MAP,      /* items: name and text */
	POLICY_KIND_MOUNTS,   /* items: mount */
	POLICY_KIND_TMPFS,    /* items: tmpfs */
	POLICY_KIND_WORKDIR,  /* items: exactly one mount; src and dst may be empty (the default) */
	POLICY_KIND_HOME,     /* items: exactly one home */
	POLICY_KIND_MAX
};

/* Of a number: "no limit", which is also what an unbounded numeric field without default has. */
#define POLICY_UNLIMITED UINT64_MAX

enum policy_access {
	POLICY_ACCESS_RO,
	POLICY_ACCESS_RW
};

enum policy_home {
	POLICY_HOME_TMPFS,
	POLICY_HOME_PERSIST,
	POLICY_HOME_BIND
};

struct policy_mount {
	const char *src; /* as written, placeholders not yet replaced */
	const char *dst;
	enum policy_access access;
	bool exec;
	bool is_required; /* false: a missing source is skipped */
	bool is_volume;   /* kind: volume */
};

struct policy_tmpfs {
	const char *dst;
	uint64_t size; /* bytes */
	bool exec;
	uint32_t mode;
};

struct policy_home_value {
	enum policy_home kind;
	const char *src; /* bind only */
	uint64_t
	    size; /* tmpfs only, bytes; POLICY_UNLIMITED = half of memory, the kernel's default */
};

struct policy_record; /* one mapping of a list of them (policy/records.def) */

/* Of a member that has one value, by its key in that file; NULL: it is missing, or there is none.
 */
const char *policy_record_get(const struct policy_record *record, const char *key);

struct policy_item {
	const char *name;  /* MAP, NAMED: the key; else NULL */
	const char *text;  /* SET, MAP: the member or value (a value of env.set may be private) */
	bool is_every_gpu; /* SET of devices: "gpu:all", which takes each "gpu:N" */
	const struct policy_record *record; /* RECORDS, NAMED */
	struct policy_mount mount;
	struct policy_tmpfs tmpfs;
	struct policy_home_value home;
	struct hl_origin origin;
};

/* The effective value of a field, after defaults and requests. */
struct policy_value {
	enum policy_kind kind;
	bool is_explicit; /* some layer or the caller gave it; false = fields.def's default */
	bool is_bounded;
	bool is_locked;
	uint64_t number;
	uint64_t bound_number; /* only when is_bounded and kind is a number */
	const char *text;
	const struct policy_item *items;
	size_t items_len;
	struct hl_origin origin;       /* of the value */
	struct hl_origin bound_origin; /* only when is_bounded */
};

/* ------------------------------------------------------------------------------------------------
 * Findings
 */
enum policy_severity {
	POLICY_NOTE,
	POLICY_WARNING,
	POLICY_ERROR
};

enum {
	POLICY_FINDINGS_MAX = 20,
	POLICY_FILE_MAX = 1 << 20,
	POLICY_LAYERS_MAX = 64,
	POLICY_GPUS_MAX = 64 /* the kernel numbers as many nodes to render with */
};

/* Members of fs.devices that are no path: "gpu:0", and of all values only these two words. In a
 * settled policy there is no "gpu:none": it is a list without the others. */
#define POLICY_GPU      "gpu:"
#define POLICY_GPU_ALL  "gpu:all"
#define POLICY_GPU_NONE "gpu:none"

struct policy_finding {
	enum policy_severity severity;
	enum hl_code code;
	struct hl_where where;
	uint32_t width; /* bytes to underline, 0 = none */
	char *message;
	char *help; /* or NULL */
	char *line; /* text of the source line, or NULL; never of a value under env.set */
	struct hl_where other; /* a second place ("first given here"), or file NULL */
	char *other_text;
};

struct policy_findings {
	struct policy_finding *items;
	size_t len;
	size_t errors, warnings; /* counted also beyond POLICY_FINDINGS_MAX */
	bool is_cut;             /* there were more than are kept */
	struct hl_strv names;    /* owns the file names that the items point to */
};

void policy_findings_done(struct policy_findings *findings);
/* The exact bytes that a person reads (file:line:col: error: ... with caret and help). */
void policy_finding_format(const struct policy_finding *finding, struct hl_buf *out);

/* ------------------------------------------------------------------------------------------------
 * Loading
 */
struct policy_load_request {
	const char *const *files; /* --policy: paths or ids, in order */
	size_t files_len;
	const char *host_dir; /* "/etc/hermes-launch/policy.d"; NULL = no host layer */
	const char *cwd;      /* where files are relative to and .hermes/ is looked for */
	uid_t caller;         /* real uid: who may own a policy file beside root */
	const char *home;     /* for ~/.config/hermes-launch/policies, or NULL */
	bool is_fragment;     /* to be compared, not run: what it requires may be missing */
	bool is_draft;        /* to be judged, not run: no layer's sha256 is made */
	/* Whether a name is a system call, of which this room knows nothing: 0, or -1 and what is
	 * wrong with it. NULL: whatever looks like one. */
	int (*check_call)(const char *name, struct hl_err *err);

	/* Signatures; all of it may be zero: then none is asked for. */
	const char *trust_file; /* "/etc/hermes-launch/trust.yaml"; NULL, or not there: no trust */
	uid_t trust_owner;      /* who may own it beside root: 0 */
	const char *trust_key;  /* a public key in place of the trust file, or NULL */
	const char *seal_path;  /* hl-seal on this host, or NULL */
	const char *state_dir;  /* where revisions are remembered */
};

/* 0: *ret_policy is whole (findings may hold warnings and notes). -1: err says the first cause and
 * findings the details; nothing may be started. findings is initialised by the call. */
int policy_load(const struct policy_load_request *request, struct policy **ret_policy,
    struct policy_findings *findings, struct hl_err *err) HL_MUST_CHECK;
void policy_free(struct policy *policy);
/* files[0] alone, read and checked by itself: *ret_policy has its row and no value. With trust, its
 * signatures are checked as policy_load() does. */
int policy_load_file(const struct policy_load_request *request, struct policy **ret_policy,
    struct policy_findings *findings, struct hl_err *err) HL_MUST_CHECK;
/* The revisions of its signed layers are in force from now on: an older one is refused by the next
 * load (HLP-33). */
int policy_remember(const struct policy *policy, const char *state_dir,
    struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * The settled policy
 */
const struct policy_value *policy_get(const struct policy *policy, enum policy_field field);
/* Dotted key, e.g. "process.caps"; the enum words of an ENUM field (NULL-terminated, strict first).
 */
const char *policy_field_key(enum policy_field field);
const char *policy_field_help(enum policy_field field);
enum policy_kind policy_field_kind(enum policy_field field);
const char *const *policy_field_words(enum policy_field field);
/* POLICY_FIELD_MAX when there is none. */
enum policy_field policy_field_find(const char *key);
/* The value as a person would write it in a policy. Values of env.set print as they are. */
void policy_value_format(const struct policy_value *value, enum policy_field field,
    struct hl_buf *out);

/* A text of process.user that needs allow_root: "0", "0:GID" or "UID:0". */
bool policy_user_is_root(const char *user);
/* True when degrade.allow of some layer names the control (globs allowed, e.g. "limits.*"), and no
 * file that has such a list, earlier or later, leaves it out. *ret_origin may be NULL. */
bool policy_may_degrade(const struct policy *policy, const char *control,
    struct hl_origin *ret_origin);

/* One row per file and level that was folded, in order. */
struct policy_layer {
	const char *layer; /* "level", "host", "org", "team", "task" */
	const char *id;    /* policy id, or "baseline@1" */
	uint64_t revision; /* 0 = none given */
	const char *file;  /* path as opened, or NULL for a level */
	const char *owner; /* or NULL */
	/* Names of the trusted keys whose signatures were checked, "a, b"; NULL = it counts as
	 * unsigned, or nobody asked. */
	const char *signer;
	char sha256[HL_SHA256_HEX_SIZE]; /* of its bytes; "" in a draft */
};

size_t policy_layers_len(const struct policy *policy);
const struct policy_layer *policy_layer_at(const struct policy *policy, size_t i);
/* SHA-256 of the canonical text of the effective policy, of env.set the names only: equal policies,
 * equal digests. Made when it is asked for, and good until the next change; NULL: no memory. */
const char *policy_effective_sha256(struct policy *policy);
/* Name of the strictest level in the stack, e.g. "restricted@1". */
const char *policy_level(const struct policy *policy);

enum policy_show_flags {
	POLICY_SHOW_ORIGINS = 1 << 0
};

/* The effective policy as YAML that parses again to the same values. */
int policy_show(const struct policy *policy, unsigned flags, struct hl_buf *out,
    struct hl_err *err) HL_MUST_CHECK;
/* The text of a built-in level, NULL when there is none of that name. */
const char *policy_level_text(const char *name);
/* Their names, the loosest first; NULL past the last. */
const char *policy_level_name(size_t index);
/* Says that there is none of that name, and which there are. Returns -1. */
int policy_level_unknown(const char *name, struct hl_err *err);

/* request->files[0] in its canonical form: the order of the tables, two columns a level, comments
 * kept. What cannot be moved line by line is an error (HLP-27). */
int policy_format_file(const struct policy_load_request *request, struct hl_buf *out,
    bool *ret_is_same, struct policy_findings *findings, struct hl_err *err) HL_MUST_CHECK;
/* The language as a JSON Schema (draft-07), for editors. */
int policy_json_schema(struct hl_buf *out, struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * Two policies against each other, by the same rules that judge a request
 */
enum policy_relation {
	POLICY_RELATION_SAME,
	POLICY_RELATION_TIGHTER,
	POLICY_RELATION_LOOSER,
	POLICY_RELATION_MOVED /* neither is inside the other: something is allowed that was not */
};

struct policy_difference {
	const char *what; /* a field's key, "degrade.allow", "requires" or "mandatory_layers" */
	enum policy_relation relation;
	char old_text[256], new_text[256]; /* as policy show prints it; of env.set the names */
	struct hl_origin old_origin, new_origin; /* of the bound, else of the value; borrowed */
};

struct policy_differences {
	struct policy_difference items[POLICY_FIELD_MAX + 3];
	size_t len;
	size_t looser, moved;
};

/* Bounds, locks, values that are used when nobody asks, what may go missing, and which other layers
 * must be there. */
int policy_compare(const struct policy *old, const struct policy *new,
    struct policy_differences *ret_differences, struct hl_err *err) HL_MUST_CHECK;
/* One error finding for each bound of inner that lets through what outer's does not. file: what a
 * finding names when inner says nothing of the field. findings must have been initialised. */
int policy_within(const struct policy *inner, const struct policy *outer, const char *file,
    struct policy_findings *findings, struct hl_err *err) HL_MUST_CHECK;
/* Whether there is none of one field; of what may go missing where field is POLICY_FIELD_MAX. */
int policy_is_within(const struct policy *inner, const struct policy *outer,
    enum policy_field field, bool *ret_is_within, struct hl_err *err) HL_MUST_CHECK;
/* A level alone, to compare with. */
int policy_load_level(const char *name, struct policy **ret_policy,
    struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * Requests of the caller
 */
enum policy_verdict {
	POLICY_SAME,    /* equal to what is effective: drop it */
	POLICY_TIGHTER, /* inside the bound: apply */
	POLICY_LOOSER,  /* outside the bound, or the field is locked: a conflict */
};

struct policy_judgement {
	enum policy_verdict verdict;
	bool is_locked;
	struct hl_origin origin; /* of the bound or lock that decides */
	char bound[256];         /* the bound as a person would write it */
};

/* text: one scalar, or one member of a set, as it would be written in a policy. Inside a bound
 * means TIGHTER also where the value is looser than the default: the bound decides, not the
 * default. For fields of struct kinds use policy_judge_mount(). -1: text is not a value of that
 * field. */
int policy_judge(const struct policy *policy, enum policy_field field, const char *text,
    struct policy_judgement *ret_judgement, struct hl_err *err) HL_MUST_CHECK;
int policy_judge_mount(const struct policy *policy, const struct policy_mount *mount,
    struct policy_judgement *ret_judgement, struct hl_err *err) HL_MUST_CHECK;

/* What a caller wants of one field. name: of a map's entry, or the part of fs.workdir ("path",
 * "at", "access"); NULL elsewhere. */
struct policy_change {
	const char *name;
	const char *text;
	const struct hl_origin *origin;
};

/* Makes a request effective, whatever the verdict was: scalars replace, set members are added (to
 * backends and image, of which one is used at a time, they replace), maps get the name. */
int policy_apply(struct policy *policy, enum policy_field field, const struct policy_change *change,
    struct hl_err *err) HL_MUST_CHECK;
int policy_apply_mount(struct policy *policy, const struct policy_mount *mount,
    const struct hl_origin *origin, struct hl_err *err) HL_MUST_CHECK;
/* Replaces the entry with that destination. */
int policy_apply_tmpfs(struct policy *policy, const struct policy_tmpfs *tmpfs,
    const struct hl_origin *origin, struct hl_err *err) HL_MUST_CHECK;
/* The other direction, of sets: takes a member out of what is effective, text NULL = all of them. A
 * member that is not there is no error. */
int policy_withdraw(struct policy *policy, enum policy_field field, const char *text,
    const struct hl_origin *origin, struct hl_err *err) HL_MUST_CHECK;

/* For many requests, each of which is held against the same policy: policy_restore() undoes what
 * was applied or withdrawn since policy_keep(), and everything that was borrowed since is gone. */
int policy_keep(struct policy *policy, struct hl_err *err) HL_MUST_CHECK;
void policy_restore(struct policy *policy);

/* ------------------------------------------------------------------------------------------------
 * Tests of policies: *.test.yaml files, and a policy's own `examples` (policy/expect.def)
 */
enum policy_request_word {
#define POLICY_REQUEST(symbol, ...) POLICY_REQUEST_##symbol,
#include "policy/expect.def"
	POLICY_REQUEST_MAX
};

enum policy_expect_kind {
#define POLICY_EXPECT(symbol, ...) POLICY_EXPECT_##symbol,
#include "policy/expect.def"
	POLICY_EXPECT_MAX
};

struct policy_given;

struct policy_expectation {
	enum policy_expect_kind kind;
	enum policy_request_word word;    /* ALLOW, REFUSE */
	enum policy_field field;          /* that it is about, or POLICY_FIELD_MAX */
	const char *text;                 /* of a request; a name or a path. Not of VALUES */
	const struct policy_given *given; /* VALUES; the room's own */
	const char *backend;              /* of a request: asked for besides, or NULL */
	enum hl_code code;                /* REFUSE: the code that it must have; HL_OK = any */
	struct hl_where where;
};

struct policy_expectations {
	const struct policy_expectation *v;
	size_t len;
};

struct policy_test {
	const char *name;
	struct policy_expectations expectations;
	struct hl_where where;
};

struct policy_tests; /* opaque: one file of tests */

/* request->files[0], read by the file rule. Findings as of policy_load(). */
int policy_tests_load(const struct policy_load_request *request, struct policy_tests **ret_tests,
    struct policy_findings *findings, struct hl_err *err) HL_MUST_CHECK;
void policy_tests_free(struct policy_tests *tests);
size_t policy_tests_len(const struct policy_tests *tests);
const struct policy_test *policy_tests_at(const struct policy_tests *tests, size_t i);
/* The stack that they are about, as the file names it: relative to its directory. */
const char *const *policy_tests_files(const struct policy_tests *tests, size_t *ret_len);
/* The examples of layer i of policy_layer_at(). */
const struct policy_expectations *policy_examples(const struct policy *policy, size_t i);
/* EFFECTIVE and BOUND: whether the policy has that value. want and have are told as policy show
 * prints them; of env.set the names. */
int policy_expectation_holds(const struct policy *policy,
    const struct policy_expectation *expectation, bool *ret_holds, struct hl_buf *want,
    struct hl_buf *have) HL_MUST_CHECK;
const char *policy_expect_word(enum policy_expect_kind kind);
const char *policy_request_word(enum policy_request_word word);

/* ------------------------------------------------------------------------------------------------
 * A policy made from the settings of another program (policy/import.def)
 */
struct policy_import_source {
	const char *config_name; /* for messages */
	const char *config;      /* the bytes of hermes-agent's config.yaml, or NULL */
	size_t config_len;
	char *const *environment; /* NAME=VALUE of TERMINAL_* and others, or NULL = none is read */
};

struct policy_import {
	struct hl_buf text;         /* a policy that loads without an error */
	struct hl_strv notes;       /* "terminal.cwd: why"; no value of a variable */
	struct hl_strv engine_args; /* arguments for the engine that are judged, not written */
	const char *backend;        /* as the policy has it */
};

/* An unknown backend and a value that says nothing are errors; what has no counterpart is a note.
 */
int policy_import_hermes(const struct policy_import_source *source,
    struct policy_import *ret_import, struct hl_err *err) HL_MUST_CHECK;
void policy_import_done(struct policy_import *import);
/* A policy whose text is in memory, alone: no file rule. */
int policy_load_text(const char *name, const struct hl_buf *bytes, struct policy **ret_policy,
    struct policy_findings *findings, struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * Making keys and signatures, by hl-seal. What is secret goes from the terminal or a descriptor to
 * hl-seal and never through this process.
 */
enum {
	POLICY_SIGNER_SIZE = 129
};

struct policy_sign_request {
	const char *seal_path; /* or NULL: an error */
	const char *key_file;  /* of the private key */
	const char *signer;    /* the key's name; NULL to sign: as the key file says */
	int passphrase_fd;     /* its first line is the passphrase; -1 = ask at the terminal */
	bool wants_passphrase; /* of a new key */
	const char *not_after; /* "2027-06-30", or NULL */
};

/* A new key in key_file (0600, must not exist) and its public key in key_file.pub, which
 * *ret_public is as well, without a newline. */
int policy_keygen(const struct policy_sign_request *request, struct hl_buf *ret_public,
    struct hl_err *err) HL_MUST_CHECK;
/* The signature of the file that `layer` was read from, into FILE.sig: beside those that are there
 * when they are about the same bytes. */
int policy_sign(const struct policy_sign_request *request, const struct policy_layer *layer,
    char ret_signer[POLICY_SIGNER_SIZE], struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * Protected names (policy/secrets.def)
 */
enum policy_name_class {
	POLICY_NAME_PLAIN,
	POLICY_NAME_SECRET, /* a credential or an endpoint that redirects one: never passes */
	POLICY_NAME_LOADER, /* runs code before the command (LD_PRELOAD, BASH_ENV, ...): never
			       passes */
};

/* By exact name or pattern, letter case folded; by length, so a NUL cannot shorten it. */
enum policy_name_class policy_name_class(const char *name, size_t len);

#endif
