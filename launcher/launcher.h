/*
 * launcher - the hall: command line, plan, run order, and all printing.
 *
 * A run goes through the files of this room in one direction:
 *
 *	args.c		what of argv others see
 *	options.c	argv -> struct request
 *	(policy)	files -> struct policy
 *	conflicts.c	request against policy: refused, dropped, or applied to the policy
 *	plan.c ...	policy + request + this host -> struct plan
 *	run.c		lower, probe, audit, start, session, stop, audit
 *	report.c	every message for a person
 *
 * No other room opens this one.
 */
#ifndef HL_LAUNCHER_LAUNCHER_H
#define HL_LAUNCHER_LAUNCHER_H

#include <stdio.h>

#include "audit/audit.h"
#include "backends/backends.h"
#include "base/base.h"
#include "policy/policy.h"
#include "session/session.h"

/* ------------------------------------------------------------------------------------------------
 * What the command line asked
 */
enum verb {
#define VERB(symbol, ...) VERB_##symbol,
#include "launcher/verbs.def"
#undef VERB
	VERB_MAX
};

enum output_format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_ARGV,
	FORMAT_GITHUB,
	FORMAT_TAP,
	FORMAT_JUNIT
};

/* One --env, --mount, --limit, --label or --engine-arg, with the argument's number for messages. */
struct request_item {
	const char *text; /* as given, without the option */
	int argument;     /* index in argv, from 1 */
};

enum {
	REQUEST_ITEMS_MAX = 256
};

struct request_items {
	size_t len; /* on one page with the first of them */
	struct request_item items[REQUEST_ITEMS_MAX];
};

/* args.c: the arguments, and where the kernel shows them. */
struct args {
	char **argv; /* copies, which live as long as the process */
	char *shown;
	size_t shown_len;
};

/* Strings are argv's own. */
struct request {
	struct args args;
	enum verb verb;
	enum verb help_for; /* HELP: of this verb; VERB_MAX = of all */
	struct request_items policies;
	struct request_items env, mounts, limits, labels, engine_args;
	struct request_item backend, cwd, network, image, user, timeout, mode,
	    name;               /* of a named session; text NULL = not given */
	const char *state_dir;  /* settled: option, variable or default */
	const char *result;     /* FILE or fd:N, or NULL */
	const char *shell_text; /* -c, or NULL */
	const char *idle;       /* how long one stays when nobody uses it, or NULL */
	const char *level;      /* policy show --level */
	const char *within;     /* policy check: the outer policy */
	const char *fail_on;    /* policy check: "warning" */
	const char *why_arg, *why_cap, *why_host, *why_path;  /* policy why */
	bool is_check;                                        /* policy fmt */
	const char *config, *env_file;                        /* import hermes */
	const char *key, *signer, *not_after, *passphrase_fd; /* policy keygen, sign, verify */
	bool wants_passphrase;
	bool has_comments;
	bool has_coverage; /* policy test */
	bool has_score;    /* policy meets */
	bool is_stack;     /* policy check: all operands are one stack */
	enum output_format format;
	bool is_quiet, is_verbose, no_color;
	bool show_effective, show_origins;
	bool keeps_output;  /* of a session's calls */
	const char *run_id; /* audit show --run */
	char *const *argv;  /* command after --, NULL-terminated; or the verb's operands */
	size_t argv_len;
};

int args_take(int argc, char **argv, struct args *ret_args, struct hl_err *err) HL_MUST_CHECK;
/* Others see the name of a session from now on, and nothing else. */
void args_hide(const struct args *args, const char *name);
/* *ret_request must be zero, but args. */
int options_parse(int argc, char **argv, struct request *ret_request,
    struct hl_err *err) HL_MUST_CHECK;
/* The verb is one that starts a sandbox. All others only ask, and leave the host as it is. */
bool request_starts(const struct request *request);
/* verb VERB_MAX: the overview. */
void options_help(FILE *out, enum verb verb);

/* ------------------------------------------------------------------------------------------------
 * Conflicts: one judgement for every door (command line, engine arguments, environment)
 */
enum conflict_action {
	CONFLICT_REFUSED, /* enforce, or a floor control */
	CONFLICT_WON,     /* warn: the override is in force */
	CONFLICT_DROPPED, /* warn: left out all the same (a protected variable, an option of the
			     launcher) */
};

/* Words of session.persist and session.reuse, by their places in policy/fields.def. */
enum {
	PLAN_PERSIST_SESSION = 1,
	PLAN_PERSIST_TASK = 2,
	PLAN_REUSE_IDENTICAL = 1,
};

struct conflict {
	enum hl_code code;
	enum conflict_action action;
	char control[64]; /* "process.caps" */
	char door[32];    /* "argument 5", "environment" */
	char asked[256];  /* as given, but never a value of a variable */
	char bound[256];  /* what the policy allows */
	char effect[160]; /* what the command could do with it */
	char owner[256];  /* of the policy whose bound it is, "" = not said */
	const char *help; /* static; NULL = by code and origin */
	bool is_locked;
	struct hl_origin origin; /* of the bound */
};

enum {
	CONFLICTS_MAX = 64
};

struct conflicts {
	struct conflict items[CONFLICTS_MAX];
	size_t len;
	size_t refused;             /* of all, also of those past CONFLICTS_MAX */
	size_t tightened;           /* requests that were inside a bound and are in force */
	struct hl_strv engine_args; /* those that the backend is to be given, canonical form */
	struct hl_strv
	    notes; /* for -v: requests that changed nothing, variables that were not read */
};

/* Judges every request and applies to the policy what may be applied (all of it in warn, but floor
 * controls). refused > 0: nothing may be started. -1: a request cannot be understood at all. */
int conflicts_judge(struct policy *policy, const struct request *request,
    struct conflicts *ret_conflicts, struct hl_err *err) HL_MUST_CHECK;
/* The same for many requests, each of one policy as it was: what is looked up on this host for the
 * first that needs it is kept. kept begins empty. */
struct conflicts_kept {
	struct deny_list *deny; /* plan_parts.h; of the policy, which must live as long */
};

int conflicts_judge_kept(struct policy *policy, const struct request *request,
    struct conflicts_kept *kept, struct conflicts *ret_conflicts, struct hl_err *err) HL_MUST_CHECK;
void conflicts_kept_done(struct conflicts_kept *kept);
void conflicts_done(struct conflicts *conflicts);
/* The first that refuses; NULL: none does. */
const struct conflict *conflicts_refusal(const struct conflicts *conflicts);
/* For verbs that only ask: judges, tells every conflict, and is an error when run would refuse. */
int conflicts_try(struct policy *policy, const struct request *request,
    struct conflicts *ret_conflicts, struct hl_err *err) HL_MUST_CHECK;
/* NAME=VALUE of one call of a session, held against the policy as --env is, and put in force
 * nowhere. ret_conflicts is emptied first and needs no release. */
int conflicts_judge_variable(struct policy *policy, const char *text,
    struct conflicts *ret_conflicts, bool *ret_passes, struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * The plan
 */
struct host {
	uid_t uid;
	gid_t gid;
	const char *user;      /* account name, or the number as text */
	const char *home;      /* of the account */
	const char *cwd;       /* kernel's own name, no symbolic links */
	char *const *environ_; /* of the caller */
	const char *state_dir;
	const char *runner_path, *helper_path, *seal_path;
};

struct plan_input {
	const struct policy *policy;
	const struct request *request;
	const struct conflicts *conflicts; /* gives the engine arguments */
	const struct host *host;
};

/* Resolves paths, numbers and names. Policy faults that only the host can show (missing source, cwd
 * under a denied path) end here, before anything is started. Origins and the host's strings are
 * borrowed; everything else in ret_plan is its own. */
int plan_build(const struct plan_input *input, struct plan *ret_plan,
    struct hl_err *err) HL_MUST_CHECK;
/* Of an error at the start or after it: what an image's own user is, where the runner met one that
 * may not be; whose filter may be why, where a policy names one's file. */
void plan_user_hint(const struct plan *plan, struct hl_err *err);
void plan_seccomp_hint(const struct plan *plan, struct hl_err *err);
void plan_done(struct plan *plan);

/* What a person may want to know about a plan and run need not say: lines for -v and explain, and
 * the names of the caller's variables that did not pass (never their values). */
struct plan_notes {
	struct hl_strv warnings; /* a setting without effect, a variable that is not there */
	struct hl_strv lines;    /* notes of less weight */
	struct hl_strv withheld; /* names, sorted */
};

int plan_notes(const struct policy *policy, const struct host *host, const struct plan *plan,
    struct plan_notes *ret_notes, struct hl_err *err) HL_MUST_CHECK;
void plan_notes_done(struct plan_notes *notes);

/* Of uid: /etc/passwd first, then the host's name services; an unknown uid is its number, at home
 * in
 * "/". Both strings are the caller's to free with host_account_done(). */
struct account {
	char *user;
	char *home;
};

int host_account(uid_t uid, struct account *ret_account, struct hl_err *err) HL_MUST_CHECK;
void host_account_done(struct account *account);

/* This machine and this caller; strings live as long as the process. In two halves for a run, which
 * begins its sandbox between them: ids and programs (a set-user-ID launcher is refused), and then
 * who calls from where. */
int host_facts(const struct request *request, struct host *ret_host,
    struct hl_err *err) HL_MUST_CHECK;
int host_programs(struct host *ret_host, struct hl_err *err) HL_MUST_CHECK;
int host_caller(const struct request *request, struct host *host, struct hl_err *err) HL_MUST_CHECK;
/* A variable of the caller's. NULL: not there, or empty. */
const char *host_variable(const struct host *host, const char *name);
/* The caller's DOCKER_HOST. NULL: not there, or empty. */
const char *host_docker_host(const struct host *host);
/* An endpoint as a policy or DOCKER_HOST writes it: a socket's absolute path, with unix:// before
 * it or without. NULL: no socket of this host. */
const char *engine_socket(const char *text);

/* /etc/hermes-launch/policy.d; a build with HL_TEST_HOST_DIR reads the variable of that name. */
const char *host_policy_dir(void);
/* trust.yaml beside that directory: whose signatures policies need here. */
const char *host_trust_file(void);
/* False only when it is certainly not there. */
bool host_has_trust(void);
/* What policy_load() needs to ask for signatures. */
void host_trust(const struct host *host, struct policy_load_request *what);
/* The stack that run would load: host layer and --policy, or .hermes/policy.yaml. */
int load_policy(const struct request_items *files, const struct host *host,
    struct policy **ret_policy, struct policy_findings *findings, struct hl_err *err) HL_MUST_CHECK;

/* The same, whether signed or not: for whoever writes policies. */
int load_policy_draft(const struct request_items *files, const struct host *host,
    struct policy **ret_policy, struct policy_findings *findings, struct hl_err *err) HL_MUST_CHECK;
/* Policies as they are written, without the layer of this host: to compare them. */
int load_policy_alone(const struct request_items *files, const struct host *host,
    struct policy **ret_policy, struct policy_findings *findings, struct hl_err *err) HL_MUST_CHECK;
/* The same, to be compared: the layers that they require need not be named. */
int load_policy_fragment(const struct request_items *files, const struct host *host,
    struct policy **ret_policy, struct policy_findings *findings, struct hl_err *err) HL_MUST_CHECK;
/* Adds the operands of a verb to a stack. -1: there are too many. */
int request_operands(const struct request *request, struct request_items *files,
    struct hl_err *err) HL_MUST_CHECK;
/* Reports and returns the exit status of verbs other than run. */
int verb_fail(const struct hl_err *err);
/* Writes the answer of a verb to standard output, whole or not at all, and releases it. */
int verb_answer(struct hl_buf *out, struct hl_err *err) HL_MUST_CHECK;

/* Pieces of plan_build(), each in its own file. */
int plan_process(const struct policy *policy, const struct request *request,
    const struct host *host, struct plan *plan, struct hl_err *err) HL_MUST_CHECK;
int plan_fs(const struct policy *policy, const struct request *request, const struct host *host,
    struct plan *plan, struct hl_err *err) HL_MUST_CHECK;
int plan_environment(const struct policy *policy, const struct request *request,
    const struct host *host, struct plan *plan, struct hl_err *err) HL_MUST_CHECK;
/* rlimits that travel with the call: limits.files, and core dumps off. */
void plan_rlimits(const struct plan *plan, struct runner_spawn *spawn);
/* After start: the image's own variables below the plan's, protected names left out; fills the
 * environment of a call. */
int plan_call_environment(const struct plan *plan, const struct hl_strv *image_env,
    struct hl_strv *ret_env, struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * Verbs: each returns the exit status
 */
#define VERB(symbol, words, function, ...) int function(const struct request *request);
#include "launcher/verbs.def"
#undef VERB

/* ------------------------------------------------------------------------------------------------
 * Start of the process
 */
/* Makes the pages ready that every verb meets, once. `run` calls it when its sandbox is being made
 * by another thread; main() does for all other verbs. */
void pages_ask(const struct request *request);

/* ------------------------------------------------------------------------------------------------
 * Telling
 */
void report_init(const struct request *request);
bool report_is_quiet(void);
bool report_is_verbose(void);
void report_error(const struct hl_err *err);
void report_findings(const struct policy_findings *findings, const struct request *request);
void report_conflict(const struct conflict *conflict);
/* Silent with --quiet. */
void report_note(const char *format, ...) HL_PRINTF(1, 2);
/* A weaker mode is always told, --quiet or not. */
void report_warning(const char *format, ...) HL_PRINTF(1, 2);

#endif
