/*
 * backends - a plan in, a running sandbox and one byte stream to the runner in it out.
 *
 * A backend never parses a policy, never prints, never edits a command. It lowers a plan (pure, so
 * that `explain` stops there), starts what was lowered, and hands over a stream on which session/
 * speaks the runner's protocol; everything about the call itself (argv, environment, signals,
 * timeouts, output) is the runner's business, the same everywhere.
 *
 * Life cycle
 *
 *  1. launcher/ builds a struct plan; backend_find() gives the backend. What every start needs may
 *     have been begun before, by backend->begin(), and is ended by backend->abandon() if no
 *     start() takes it.
 *  2. backend->lower() turns plan into struct lowered: lines a person reads, arguments, bodies.
 *  3. backend->probe() says which controls of the plan this engine, here, cannot apply.
 *  4. backend->ahead(), where there is one, goes on with what was begun while the launcher writes
 *     its records; backend->start() makes the sandbox. On failure nothing is left.
 *  5. session/ runs the call over sandbox->stream.
 *  6. backend->stop() removes everything, on every path. Idempotent.
 */
#ifndef HL_BACKENDS_BACKENDS_H
#define HL_BACKENDS_BACKENDS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "confine/confine.h"
#include "runner/runner.h"

/* ------------------------------------------------------------------------------------------------
 * The plan: backend-independent, resolved (absolute paths, numbers, names), every value with its
 * origin. Built by launcher/plan*.c, owned by it; strings live as long as the plan.
 */
struct plan_number {
	bool has;         /* false: no limit */
	bool is_explicit; /* a layer or the caller gave it */
	bool may_degrade; /* degrade.allow names it: a backend that cannot apply it goes on */
	uint64_t value;
	struct hl_origin origin;
};

enum plan_limit {
	PLAN_LIMIT_WALL,   /* milliseconds */
	PLAN_LIMIT_CPUS,   /* thousandths */
	PLAN_LIMIT_MEMORY, /* bytes */
	PLAN_LIMIT_PIDS,
	PLAN_LIMIT_FILES,
	PLAN_LIMIT_SHM,    /* bytes */
	PLAN_LIMIT_DISK,   /* bytes, of the container's own root */
	PLAN_LIMIT_OUTPUT, /* bytes */
	PLAN_LIMIT_MAX
};

enum plan_user_kind {
	PLAN_USER_CALLER,
	PLAN_USER_IMAGE,
	PLAN_USER_NUMERIC
};

enum plan_root {
	PLAN_ROOT_READ_ONLY,
	PLAN_ROOT_WRITABLE
};

enum plan_network {
	PLAN_NETWORK_NONE,
	PLAN_NETWORK_PROXY,
	PLAN_NETWORK_BRIDGE,
	PLAN_NETWORK_HOST
};

enum plan_isolation {
	PLAN_ISOLATION_STRICT,
	PLAN_ISOLATION_CONFINED,
	PLAN_ISOLATION_SCRUB
};

enum plan_pull {
	PLAN_PULL_NEVER,
	PLAN_PULL_MISSING,
	PLAN_PULL_ALWAYS
};

/* How far the pull of an image is. */
enum image_pull_state {
	IMAGE_PULL_BEGINS,
	IMAGE_PULL_GOES_ON,
	IMAGE_PULL_ENDS,
	IMAGE_PULL_FAILS,
};

struct image_progress {
	const char *image;
	enum image_pull_state state;
	uint32_t layers, layers_done;
	uint64_t bytes, total; /* of the layers whose size is known; 0 in the end */
};

struct plan_mount {
	char *src; /* resolved: no symbolic link in it (bind); name (volume) */
	char *dst;
	bool is_writable;
	bool is_exec;
	bool is_file; /* src is not a directory */
	bool is_volume;
	bool is_workdir;
	bool is_part;      /* of another mount, made one of its own so that it stays what it is */
	bool lacks_folder; /* explain: a run makes an empty .hermes in it first */
	uint64_t dev, ino; /* of src when it was resolved */
	struct hl_origin origin;
};

struct plan_tmpfs {
	char *dst;
	uint64_t size; /* bytes */
	bool is_exec;
	uint32_t mode;
	struct hl_origin origin;
};

/* A device of the host: checked when it was resolved, and again by number when it is bound. */
struct plan_device {
	char *src; /* resolved, below /dev */
	char *dst; /* its name inside, below /dev: as the policy writes it */
	uint64_t dev, ino, rdev;
	struct hl_origin origin;
};

enum plan_home_kind {
	PLAN_HOME_TMPFS,
	PLAN_HOME_PERSIST,
	PLAN_HOME_BIND
};

struct plan_home {
	enum plan_home_kind kind;
	char *path;    /* HOME inside */
	char *src;     /* BIND, PERSIST: resolved */
	uint64_t size; /* TMPFS: bytes, 0 = kernel's default */
	uint64_t dev, ino;
	struct hl_origin origin;
};

/* A sandbox that other launchers may use, and whether what it has written stays when it ends. */
struct plan_keep {
	const char *session; /* its name; NULL = one launcher's alone */
	/* Whose it is: a digest of state directory, backend, caller, policy and working directory.
	 * Two of them with a session of one name have a sandbox each. */
	char profile[HL_SHA256_HEX_SIZE];
	bool is_kept; /* session.persist: task. Stopped and not removed, while the lease lasts */
	uint64_t lease_ms; /* from the end on, while nobody uses it */
	struct hl_origin persist_origin, lease_origin;
};

struct plan_env {
	char *name;
	char *value; /* may be private: never in argv, a file, a log or a message */
	bool is_private;
	struct hl_origin origin; /* of the rule that let it in */
};

/* Graphics processors that an engine is asked for by number: what their driver needs, it knows.
 * Where there is no engine they are devices like others. */
struct plan_gpus {
	bool is_all;
	uint64_t numbers; /* one bit each; with is_all none */
	struct hl_origin origin;
};

struct plan {
	char run_id[HL_ULID_SIZE];
	const char *backend;
	const char *state_dir;   /* 0700, ours */
	const char *runner_path; /* the static runner on this host; NULL = the one we carry */
	const char *helper_path; /* libexec/hl-engine on this host */

	enum plan_user_kind user_kind;
	uint32_t uid, gid; /* of the command, inside; for IMAGE only when NUMERIC */
	bool allow_root;
	struct hl_origin user_origin;

	uint64_t caps; /* bit mask; what the command may have when it is root */
	struct hl_origin caps_origin;
	bool no_new_privs;
	struct hl_origin no_new_privs_origin;
	enum confine_profile seccomp;
	struct hl_origin seccomp_origin;
	struct hl_strv seccomp_deny; /* names of calls that are denied besides; sorted */
	struct hl_origin seccomp_deny_origin;
	struct hl_strv seccomp_files; /* "FILE sha256 HEX"; what they deny is in seccomp_deny */
	struct hl_origin seccomp_files_origin;
	uint32_t umask;
	struct hl_origin umask_origin;
	bool landlock; /* required */
	bool landlock_may_degrade;
	enum plan_isolation isolation;
	struct hl_origin isolation_origin;

	struct plan_number limits[PLAN_LIMIT_MAX];

	enum plan_root root;
	struct hl_origin root_origin;
	struct plan_mount *mounts; /* workdir among them; sorted by depth of dst */
	size_t mounts_len;
	struct plan_tmpfs *tmpfs; /* sorted by depth of dst */
	size_t tmpfs_len;
	struct plan_device *devices; /* sorted by dst */
	size_t devices_len;
	struct plan_gpus gpus;
	struct plan_home home;
	struct plan_keep keep;
	char *cwd; /* inside */
	struct hl_origin cwd_origin;
	struct hl_strv deny; /* existing host paths to cover, resolved from fs.deny's globs */
	struct hl_origin deny_origin;   /* of fs.deny as a whole */
	struct hl_origin *deny_origins; /* of each path: one per string of deny */

	enum plan_network network;
	struct hl_origin network_origin;

	struct plan_env *env; /* sorted by name; what is known before an image is */
	size_t env_len;
	size_t withheld; /* variables of the caller that did not pass */

	char *image;       /* reference, NULL where the backend has none */
	bool image_digest; /* must be name@sha256:... or sha256:... */
	enum plan_pull pull;
	struct hl_origin image_origin, digest_origin, pull_origin;
	struct hl_strv
	    registry_files; /* the caller's credentials, in order; also what is not there */
	struct hl_strv registry_env;   /* NAME=VALUE for the programs that they name */
	struct hl_strv registry_shown; /* what the command can write: no such program is there */
	char *endpoint; /* absolute path of the engine's unix socket, or of the engine itself */
	bool is_endpoint_program; /* started as a service for this run, and ended with it */
	/* The engine runs without root, as that user: in a container root is them, and who else is
	 * in it are ids that are only lent to them (subuid(5)). */
	bool is_rootless;
	bool is_engine_known; /* engine_uid is one: the kernel told it, or it is our own child */
	bool is_engine_here;  /* as engine_owner() says */
	uint32_t engine_uid;
	bool needs_rootless; /* docker.rootless: required */
	bool rootless_may_degrade;
	struct hl_origin rootless_origin;
	/* Of docker.client: cli, the program that the engine is asked by; NULL = its API is used.
	 * With no socket named for it, it is the endpoint. */
	const char *client;
	struct hl_origin client_origin;
	struct hl_origin endpoint_origin;
	struct hl_strv engine_args; /* judged already: they tighten or equal */

	struct hl_strv argv;
	struct backend_early *early; /* begun before the plan; owned by the run, NULL = nothing */
	/* Told while a start waits for a pull; NULL = nobody listens. */
	void (*on_pull)(void *context, const struct image_progress *progress);
	void *on_pull_context;
	int cancel_fd; /* readable: the caller wants the start to end (a signal came); -1 = none */
};

/* ------------------------------------------------------------------------------------------------
 * Controls: one protection each, and who applies it on which backend (backends/controls.def).
 */
enum control {
#define CONTROL(symbol, ...) CONTROL_##symbol,
#include "backends/controls.def"
#undef CONTROL
	CONTROL_MAX
};

enum enforcer {
	ENFORCER_NONE, /* a policy that sets it is refused on this backend */
	ENFORCER_ENGINE,
	ENFORCER_RUNNER,
	ENFORCER_KERNEL, /* of this host: cgroups */
	ENFORCER_PROXY,
	ENFORCER_LAUNCHER,
};

enum backend_id {
	BACKEND_LOCAL,
	BACKEND_DOCKER,
	BACKEND_PODMAN,
	BACKEND_ID_MAX
};

struct control_info {
	const char *name; /* "process.caps" */
	enum enforcer enforcer[BACKEND_ID_MAX];
	enum enforcer scrub; /* on local at local.isolation: scrub, which is no boundary */
	const char *note;    /* shown where there is no enforcer */
};

const struct control_info *control_info(enum control control);
/* Whether any backend has the means. */
bool control_is_applied_somewhere(enum control control);
/* Who applies it on the plan's backend at its isolation, and what is said where nobody does. */
enum enforcer control_enforcer(enum control control, enum backend_id id, const struct plan *plan);
const char *control_note(enum control control, enum backend_id id, const struct plan *plan);
const char *enforcer_name(enum enforcer enforcer);

/* ------------------------------------------------------------------------------------------------
 * Lowering
 */
struct lowered_line {
	char *text; /* "--cap-add CHOWN", "tmpfs /tmp size=512MiB exec" */
	struct hl_origin origin;
};

struct lowered {
	struct lowered_line *lines; /* what explain prints, in the order of application */
	size_t lines_len, lines_capacity;
	struct hl_strv argv; /* exact command line of a CLI engine; empty for local */
	struct hl_buf body;  /* Engine API body; empty for local */
	struct confinement confinement;
	struct hl_strv strings; /* owner of what confinement's pointers name */
	bool has_confinement;
	bool failed; /* sticky: memory or a maximum */
};

void lowered_init(struct lowered *lowered);
void lowered_done(struct lowered *lowered);
void lowered_line(struct lowered *lowered, const struct hl_origin *origin, const char *format, ...)
    HL_PRINTF(3, 4);
/* Keeps a copy of string in lowered->strings and returns it ("" when failed). */
const char *lowered_string(struct lowered *lowered, const char *string);

/* ------------------------------------------------------------------------------------------------
 * Engine arguments: what a caller wants to say to the engine itself, taken apart by the engine's
 * own grammar and its option table, so that launcher/ can judge each by its meaning and not its
 * spelling.
 */

/* How an override of an option is judged. What the words mean is told in
 * launcher/conflicts_engine.c; which row of a policy it is held against is the setting's control.
 */
enum engine_rule {
	ENGINE_RULE_UNKNOWN,  /* the option is in no table */
	ENGINE_RULE_OWNED,    /* the launcher writes it: two writers of one setting */
	ENGINE_RULE_FLOOR,    /* never, in no mode */
	ENGINE_RULE_LOOSENS,  /* always past a bound; of a boolean: true is, false says nothing */
	ENGINE_RULE_GUARDS,   /* the other way round: false is past a bound, true says nothing */
	ENGINE_RULE_OPAQUE,   /* cannot be compared with any bound */
	ENGINE_RULE_PRIVATE,  /* the same, and its value may be a secret */
	ENGINE_RULE_HARMLESS, /* no effect on a sandbox of ours: left out */
	ENGINE_RULE_KEPT,     /* no control touches it: goes to the engine */
	ENGINE_RULE_NUMBER_KEPT, /* the same, when it is a plain number */
	ENGINE_RULE_ANNOTATION,
	ENGINE_RULE_CAP_ADD,
	ENGINE_RULE_CAP_DROP,
	ENGINE_RULE_CAP_NONE, /* a boolean: true drops all */
	ENGINE_RULE_CPU_PERIOD,
	ENGINE_RULE_CPU_QUOTA,
	ENGINE_RULE_CPUS,
	ENGINE_RULE_CPUSET,
	ENGINE_RULE_DEVICE,
	ENGINE_RULE_GPUS,
	ENGINE_RULE_ENV,
	ENGINE_RULE_ENV_MERGE,
	ENGINE_RULE_ENV_UNSET,
	ENGINE_RULE_GROUP,
	ENGINE_RULE_LABEL,
	ENGINE_RULE_LOG_DRIVER,
	ENGINE_RULE_MEMORY,
	ENGINE_RULE_MEMORY_SWAP,
	ENGINE_RULE_MOUNT,
	ENGINE_RULE_NAMESPACE,
	ENGINE_RULE_NETWORK,
	ENGINE_RULE_NETWORK_OWN, /* a boolean: true is a network namespace of its own */
	ENGINE_RULE_OOM_SCORE,
	ENGINE_RULE_PIDS,
	ENGINE_RULE_PULL,
	ENGINE_RULE_READ_ONLY,
	ENGINE_RULE_SECURITY,
	ENGINE_RULE_SHM,
	ENGINE_RULE_SOFT_MEMORY,
	ENGINE_RULE_STORAGE,
	ENGINE_RULE_SYSCTL,
	ENGINE_RULE_TMPFS,
	ENGINE_RULE_ULIMIT,
	ENGINE_RULE_UMASK,
	ENGINE_RULE_USER,
	ENGINE_RULE_VOLUME,
	ENGINE_RULE_WORD, /* one of a few words, each with its own answer */
	ENGINE_RULE_ZONE,
	ENGINE_RULE_MAX
};

/* Labels that begin so are the launcher's own. */
#define ENGINE_LABEL_PREFIX "dev.hermes-launch."

enum {
	ENGINE_SETTINGS_MAX = 512
};

struct engine_arg {
	const char *text; /* one argument */
	int argument;     /* its place on our own command line, for messages; 0 = a variable's */
	const char *variable; /* name of it, which lives as long as the settings; else NULL */
};

struct engine_setting {
	const char *flag;    /* the table's own spelling ("--cap-add"), static; UNKNOWN: as given */
	const char *control; /* dotted key, static; "engine_args" for UNKNOWN */
	enum engine_rule rule;
	const char *value; /* a boolean's is "true" or "false"; "" also for a flag without one */
	bool is_bool;
	bool is_repeatable;
	int argument;
	const char *variable; /* as in struct engine_arg */
};

struct engine_settings {
	struct engine_setting *items; /* in the order given */
	size_t len;
	struct hl_strv strings; /* owner of the values */
};

/* By the grammar of the backend's engine. HLC-08: an argument that its engine would not understand,
 * or would take for something else than an option; HLC-07: the backend takes none at all. */
int engine_args_parse(const char *backend, const struct engine_arg *args, size_t len,
    struct engine_settings *ret_settings, struct hl_err *err) HL_MUST_CHECK;
void engine_settings_done(struct engine_settings *settings);
/* Whether the backend of that name has a grammar for them. */
bool engine_args_are_read(const char *backend);
/* The n-th argument that says to the backend's engine what it would read from this variable of its
 * caller's:
 * "--bind=/a:/b" for APPTAINER_BIND. false: there are no more, or none that makes a difference to a
 * sandbox of ours. text: ready for use; the value may be a secret. */
bool engine_variable_option(const char *backend, const char *name, const char *value, size_t n,
    struct hl_buf *text);
/* Go's strconv.ParseBool(), and nothing else. -1: not one. */
int engine_bool(const char *text, bool *ret_value) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * A running sandbox
 */
enum sandbox_reuse {
	SANDBOX_FRESH,
	SANDBOX_REUSED,   /* one that was kept: made from the same, and still that */
	SANDBOX_REPLACED, /* one that was kept was something else, and is gone */
};

enum {
	SANDBOX_UNSEEN_SIZE = 160
};

struct sandbox {
	int stream;               /* the runner's protocol */
	int pass;                 /* a socket for pipes beside it (runner.h); -1 = none */
	uint32_t uid, gid;        /* with pass: on this host, of those who will open them by name */
	int pidfd;                /* of the runner or of the helper; -1 = none */
	bool is_stdio_inherited;  /* the command gets our own 0, 1, 2 */
	struct hl_buf lock;       /* payload of the LOCK frame */
	size_t lock_sent;         /* bytes of that frame which are in the stream already */
	struct hl_strv image_env; /* NAME=VALUE that the image brings; empty for local */
	char *id;                 /* for the log: container id; pid for local */
	char *engine;             /* "docker 20.10.24 unix:///run/docker.sock", or NULL */
	char *image_digest;       /* sha256:... of the image that ran, or NULL */
	uint32_t limits_applied;  /* bit per enum plan_limit: set and read back */
	enum sandbox_reuse reuse;
	char reuse_why[200]; /* REPLACED: what differs */
	/* Why nobody on this host could see who the command is here, as process.user says; "" = it
	 * was seen, or is not asked. */
	char unseen[SANDBOX_UNSEEN_SIZE];
	bool is_discarded;  /* set before stop(): not kept, whatever the plan said */
	void *private_data; /* the backend's own */
	/* Frees what stop() left of it, without waiting for anything; NULL = stop() left nothing.
	 */
	void (*release)(void *private_data);
};

/* A control of the plan that cannot be applied here. */
struct control_gap {
	enum control control;
	char reason[200];
	bool may_degrade;
	const char *mend; /* static; NULL = what the control has by itself */
};

enum {
	CONTROL_GAPS_MAX = 16
};

struct control_gaps {
	struct control_gap items[CONTROL_GAPS_MAX];
	size_t len;
};

void control_gaps_add(struct control_gaps *gaps, enum control control, bool may_degrade,
    const char *reason);
/* NULL when there is none. */
const struct control_gap *control_gaps_find(const struct control_gaps *gaps, enum control control);

/* ------------------------------------------------------------------------------------------------
 * The runner that this program carries in itself (runner_image.c)
 */
const char *runner_image(size_t *ret_len);
/* A file in memory with it that nobody can change, to be executed by descriptor. */
int runner_image_open(struct hl_err *err) HL_MUST_CHECK;

/* What a backend can begin before the plan is made. Its content is the backend's own. */
struct backend_early;

struct backend_early_facts {
	const char *runner_path; /* NULL = the one we carry */
	bool has_network;        /* of the host: network.mode host */
};

struct backend {
	const char *name;
	enum backend_id id;
	/* Begins, beside the launcher, what every start of this backend needs, and returns at once;
	 * for plan->early. NULL = this backend has nothing to begin. No command runs by it. */
	int (*begin)(const struct backend_early_facts *facts, struct backend_early **ret_early,
	    struct hl_err *err);
	/* The same for a backend whose beginning needs the plan: what probe() and start() share. */
	int (*reach)(const struct plan *plan, struct backend_early **ret_early, struct hl_err *err);
	/* Ends what was begun and start() did not take. NULL allowed. */
	void (*abandon)(struct backend_early *early);
	/* Pure: plan (and what is in it) to arguments. */
	int (*lower)(const struct plan *plan, struct lowered *ret_lowered, struct hl_err *err);
	/* What the plan asks and this engine, here, cannot do. Gaps are facts, not errors. What was
	 * made to find out is kept in plan->early, else taken back. */
	int (*probe)(const struct plan *plan, struct control_gaps *ret_gaps, struct hl_err *err);
	/* Goes on with plan->early once the gaps are judged, while the launcher records what is
	 * about to be: as far as it gets, start() does the rest and tells what fails. NULL =
	 * start() does all. */
	void (*ahead)(const struct plan *plan, const struct lowered *lowered,
	    const struct control_gaps *gaps);
	/* Gaps found by probe() that may degrade are left out of what is applied. Takes
	 * plan->early, also when it fails. */
	int (*start)(const struct plan *plan, const struct lowered *lowered,
	    const struct control_gaps *gaps, struct sandbox *ret_sandbox, struct hl_err *err);
	/* The stream has ended: what does the engine say, and are we clean? Removed, or stopped and
	 * left where the plan keeps it. */
	int (*stop)(struct sandbox *sandbox, struct hl_err *err);
};

/* podman has no daemon: where nobody names a socket, this program is started as a service of the
 * run's own. */
const char *engine_program(void);
/* An endpoint that is such a program. It goes by its place: what else an endpoint has become, since
 * it was used as a socket, is never started. */
bool engine_is_program(const char *endpoint);

/* The container gets a user namespace in which the caller's ids are themselves: where an engine
 * runs without root as the caller, and the policy runs the command as them. */
bool plan_keeps_id(const struct plan *plan);
/* Who the engine behind a socket is, by who listens there (unix(7), SO_PEERCRED). false: nobody
 * does, or it is one that has no number here. is_here: a process that this one can see, in the same
 * namespace of processes, so that the numbers which it tells are of this host. */
bool engine_owner(const char *socket, uint32_t *ret_uid, bool *ret_is_here);

/* docker's client, where docker.client: cli asks for one. */
const char *engine_client(void);
/* An endpoint that is reached by such a client: "cli:/usr/bin/docker", and the socket that it was
 * told, if any, behind " unix://". */
bool engine_is_client(const char *endpoint);
/* Whether there is a program for an endpoint of these two kinds. */
bool engine_has_program(const char *endpoint);

/* Who answers on an engine's socket, e.g. "docker 20.10.24": for `doctor`. Heap string. */
int engine_version(const char *helper_path, const char *endpoint, char **ret_version,
    struct hl_err *err) HL_MUST_CHECK;

/* Sockets, programs and clients of the engines that were used with this state directory, sorted. */
enum {
	ENGINE_ENDPOINTS_MAX = 256
};
int engine_endpoints(const char *state_dir, struct hl_strv *ret_endpoints,
    struct hl_err *err) HL_MUST_CHECK;

/* Which engine, and who asks: kept containers belong to a state directory. */
struct engine_place {
	const char *helper_path, *endpoint, *state_dir;
	/* Takes a session of this state directory for as long as its container is looked at: nobody
	 * else can begin to use it then. false: somebody uses it. */
	bool (*hold)(void *context, const char *session);
	void (*release)(void *context);
	void *context;
};

/* Containers of launchers that were killed together with their helper: ours by label, running or
 * not, whose launcher does not live any more. Where nobody can know whether it does (another host,
 * another pid namespace) only one that was made more than a minute ago and has ended. One that is
 * kept only when its lease is over and nobody uses it. With an error some are left, and ret_removed
 * is how many are not. */
int engine_sweep(const struct engine_place *place, size_t *ret_removed,
    struct hl_err *err) HL_MUST_CHECK;
/* What is kept of a session that nobody uses, whatever its lease; the caller holds it. */
int engine_forget(const struct engine_place *place, const char *session, size_t *ret_removed,
    struct hl_err *err) HL_MUST_CHECK;

/* NULL with err (HLB-..) when the name is unknown or the backend is not in this version. */
const struct backend *backend_find(const char *name, struct hl_err *err);
void sandbox_done(struct sandbox *sandbox);

#endif
