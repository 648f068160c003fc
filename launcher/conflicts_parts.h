/*
 * What the files of conflict judging share with each other and with nobody else.
 */
#ifndef HL_LAUNCHER_CONFLICTS_PARTS_H
#define HL_LAUNCHER_CONFLICTS_PARTS_H

#include "launcher/launcher.h"

struct deny_list; /* plan_parts.h */

/* ------------------------------------------------------------------------------------------------
 * The table of conflicts.def
 */
struct conflict_control {
	const char *control;
	enum hl_code code;
	const char *bound;
	const char *effect;
};

/* NULL when the control has no row. */
const struct conflict_control *conflict_control_find(const char *control);
size_t conflict_controls_len(void);
const struct conflict_control *conflict_control_at(size_t i);

/* ------------------------------------------------------------------------------------------------
 * One judging of everything that was asked
 */
/* CPU quota is judged as a product, swap by what memory is in the end: both wait for the last flag.
 */
struct engine_sums {
	const struct engine_setting *period, *quota, *swap;
};

struct judge {
	struct policy *policy;
	const struct request *request;
	struct conflicts *out;
	struct hl_err *err;
	bool is_warn;
	const char *backend;
	struct engine_sums sums;
	struct deny_list *deny; /* built for the first mount; conflicts_kept_done() */
	struct account account; /* the caller's, with deny */
};

/* One thing that was asked, as messages speak of it. */
struct ask {
	int argument;         /* 0: the environment */
	const char *spelling; /* static: "--limit", "--cap-add", "DOCKER_HOST" */
	const char *asked;    /* without any variable's value */
};

/* Why something is a conflict, and so what becomes of it in warn. */
enum conflict_cause {
	CAUSE_LOOSER,    /* past a bound: wins */
	CAUSE_OPAQUE,    /* cannot be compared: wins */
	CAUSE_UNKNOWN,   /* an option in no table: wins */
	CAUSE_OWNED,     /* two writers: the launcher's own stays */
	CAUSE_PROTECTED, /* a protected name: left out */
	CAUSE_FLOOR,     /* refused in every mode */
	CAUSE_FINAL,     /* past a bound, and refused in every mode: it cannot be put in force */
};

struct cause {
	enum conflict_cause cause;
	const char *control; /* row of conflicts.def */
	const char *bound;   /* NULL: what the policy or the table says */
	const char *effect;  /* NULL: what the table says */
	const char *help;    /* static; NULL: that it must not be asked, or who may permit it */
};

/* Records a conflict. The answer is what happens to the request: only WON may be put in force. */
enum conflict_action conflict_add(struct judge *judge, const struct ask *ask,
    const struct cause *cause, const struct policy_judgement *judgement);
void conflict_note(struct judge *judge, const struct ask *ask, const char *text);
/* A locked field refuses every touch: true when control is one, and then the conflict is recorded.
 */
bool conflict_is_locked(struct judge *judge, const struct ask *ask, const char *control,
    enum conflict_action *ret_action);
struct hl_origin ask_origin(const struct ask *ask);

/* Judges text against field and applies what may be applied. name: of MAP fields only. */
int judge_field(struct judge *judge, const struct ask *ask, enum policy_field field,
    const char *text) HL_MUST_CHECK;
/* The same with a sentence of its own on what a looser value means. */
int judge_field_with(struct judge *judge, const struct ask *ask, enum policy_field field,
    const char *text, const char *effect) HL_MUST_CHECK;
/* HLC-09 for the argument. Returns -1. */
int judge_malformed(struct judge *judge, const struct ask *ask, const char *form);

/* "NAME" or "NAME=VALUE" (conflicts_env.c). */
int judge_env(struct judge *judge, const struct ask *ask, const char *text) HL_MUST_CHECK;
/* Variables of the caller that choose an engine, or that an engine would give to the command
 * (conflicts_env.c). */
int judge_environment(struct judge *judge) HL_MUST_CHECK;
/* "uid:gid", "caller", "image" (conflicts.c). */
int judge_user(struct judge *judge, const struct ask *ask, const char *text) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * Mounts (conflicts_mount.c)
 */
struct mount_ask {
	const char *src; /* as given: absolute or relative; a volume's name */
	const char *dst; /* absolute */
	bool is_writable;
	bool is_volume;
};

int judge_mount(struct judge *judge, const struct ask *ask,
    const struct mount_ask *mount) HL_MUST_CHECK;
/* The launcher's own spelling, SRC:DST[:ro|rw]. */
int judge_mount_text(struct judge *judge, const struct ask *ask, const char *text) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * Engine options (conflicts_engine.c and the files of its rules)
 */
typedef int engine_rule_fn(struct judge *judge, const struct ask *ask,
    const struct engine_setting *setting);

int judge_engine_args(struct judge *judge) HL_MUST_CHECK;
enum {
	ENGINE_ASKED_SIZE = 512
};
#define ENGINE_BLANKS " \t\n\v\f\r" /* no value of an option is told beyond one of them */
/* How messages speak of the setting; asked holds the text. */
struct ask engine_ask(const struct engine_setting *setting, char *asked, size_t size);
/* "--engine-arg=..." as messages have it, of an argument that nobody judged: by the grammar of that
 * backend's engine, or docker's where it has none or is NULL. */
void engine_arg_tell(const char *backend, const char *text, struct hl_buf *out);
/* Hands the setting to the backend in its canonical form. */
void engine_keep(struct judge *judge, const struct engine_setting *setting);
/* A conflict; in warn the setting is handed on. */
int engine_conflict(struct judge *judge, const struct ask *ask,
    const struct engine_setting *setting, const struct cause *cause);
/* The two causes that need no more words. */
int engine_looser(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const char *control);
int engine_opaque(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const char *control);
/* The setting goes to the engine, unless its control is locked. */
int engine_tighten(struct judge *judge, const struct ask *ask,
    const struct engine_setting *setting);

/* Docker's way to write bytes: "1g", "512MiB", "1024". -1: not one, or with a fraction. */
int engine_bytes(const char *text, uint64_t *ret_bytes) HL_MUST_CHECK;

/* Rules of limits (conflicts_limits.c). */
engine_rule_fn rule_memory, rule_soft_memory, rule_memory_swap, rule_cpus, rule_cpu_part,
    rule_cpuset, rule_pids, rule_shm, rule_ulimit, rule_oom_score, rule_number_kept, rule_storage;
int judge_sums(struct judge *judge) HL_MUST_CHECK;
/* Rules of privileges and the like (conflicts_rights.c). */
engine_rule_fn rule_cap_add, rule_cap_drop, rule_cap_none, rule_network_own, rule_security,
    rule_namespace, rule_network, rule_user, rule_group, rule_read_only, rule_sysctl,
    rule_annotation, rule_label, rule_log_driver, rule_pull, rule_env, rule_device, rule_gpus;
/* Rules of variables (conflicts_env.c). */
engine_rule_fn rule_env_merge, rule_env_unset;
/* Rules of what is said in one word (conflicts_words.c). */
engine_rule_fn rule_word, rule_umask, rule_zone;
/* Rules of mounts (conflicts_volume.c). */
engine_rule_fn rule_volume, rule_mount, rule_tmpfs;

#endif
