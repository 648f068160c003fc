/*
 * What is kept from call to call, shared by state.c (the difference and its merge), plain.c (which
 * commands leave it alone), state_text.c (what bash reads) and state_parse.c (what bash wrote).
 * Private to session/.
 *
 * A struct kept is never changed while somebody else holds it: a call takes a reference at its
 * start and is compared with just that at its end, whatever was merged in between.
 */
#ifndef HL_SESSION_STATE_H
#define HL_SESSION_STATE_H

#include "session/session.h"

/* Sorted by name, each once. */
struct pair {
	char *name;
	char *value;      /* variables: NULL = unset */
	bool is_exported; /* functions */
};

struct pairs {
	struct pair *v;
	size_t len, capacity;
};

void pairs_done(struct pairs *pairs);
/* NULL when there is none. */
const struct pair *pairs_find(const struct pairs *pairs, const char *name);
/* Copies; replaces what is there. value NULL is a value of its own. */
int pairs_set(struct pairs *pairs, const struct pair *pair) HL_MUST_CHECK;
void pairs_remove(struct pairs *pairs, const char *name);
/* NAME=VALUE of an environment, as variables. */
int pairs_from_env(struct pairs *pairs, const struct hl_strv *env) HL_MUST_CHECK;

struct kept {
	unsigned refs;
	struct pairs variables, functions, aliases;
	char *options; /* "errexit:... extglob:...", NULL = bash's own */
	char *cwd;
	char *oldpwd; /* NULL = none */
};

struct kept *kept_hold(struct kept *kept);
void kept_release(struct kept *kept);

struct session_state {
	struct kept *kept;
};

/* What a shell wrote at its end. */
struct report {
	struct pairs variables, functions, aliases;
	char *options;
	char *cwd;
};

void report_done(struct report *report);
/* Whole or nothing: -1 (HLB-13) leaves *ret_report empty. */
int report_parse(const char *bytes, size_t len, struct report *ret_report,
    struct hl_err *err) HL_MUST_CHECK;

/* A call's start: what its end is compared with. */
struct start {
	struct kept *kept;
	const struct pairs *base;      /* of the session */
	const struct hl_strv *own_env; /* of this call; NULL = none */
	const char *cwd;               /* where the call really began */
	bool has_options;              /* shell options are kept as well */
	bool (*may_keep)(void *context, const char *name);
	void *context;
};

/* -1 (HLB-13): the state is as before. */
int state_merge(struct session_state *state, const struct start *start, const struct report *report,
    struct hl_err *err) HL_MUST_CHECK;
/* Whether the command, as `bash -c` begins it here, cannot change what is kept (session/plain.c).
 */
bool state_is_safe_from(const struct start *start, const char *command);
/* A name that bash keeps for itself, or that is ours. */
bool state_is_internal(const char *name);
/* Functions that are ours, or that would take our place. */
bool state_is_own_function(const char *name);

/* Environment of a shell call: base, what is kept, what is this call's own. */
int state_environment(const struct start *start, struct hl_strv *ret_env,
    struct hl_err *err) HL_MUST_CHECK;
/* The text of BASH_ENV. out's max is the limit. */
int state_text(const struct start *start, struct hl_buf *out, struct hl_err *err) HL_MUST_CHECK;

#endif
