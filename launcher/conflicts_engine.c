/*
 * Conflicts: arguments for the engine. They come here as settings that the engine's own grammar has
 * read (engine_args_parse), so one setting is one meaning however it was spelt; the rule of its row
 * says how it is judged. What has a field in the policy is made effective there and not handed on,
 * so that each setting is written once; the rest goes to the backend in one canonical spelling.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/conflicts_parts.h"

#include "base/banned.h"

enum {
	VARIABLES_MAX = 256, /* each option has some names, and the engine two */
	VARIABLE_MAX = 128 * 1024,
};

void
engine_keep(struct judge *judge, const struct engine_setting *setting)
{
	struct hl_strv *args = &judge->out->engine_args;

	const bool is_long = strnlen(setting->flag, 3) > 2;
	const char *value = setting->value;

	/* ssh's letters have no value where they are booleans, and its keywords want yes or no. */
	if (setting->is_bool && strncmp(setting->flag, "-o", 2) == 0)
		value = strcmp(value, "true") == 0 ? "yes" : "no";
	if ((setting->rule == ENGINE_RULE_UNKNOWN && value[0] == '\0') ||
	    (setting->is_bool && !is_long))
		hl_strv_add(args, setting->flag);
	else
		hl_strv_addf(args, "%s%s%s", setting->flag, is_long ? "=" : "", value);
}

int
engine_conflict(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const struct cause *cause)
{
	if (conflict_add(judge, ask, cause, NULL) == CONFLICT_WON)
		engine_keep(judge, setting);
	return 0;
}

int
engine_looser(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const char *control)
{
	struct cause cause = { .cause = CAUSE_LOOSER, .control = control };

	return engine_conflict(judge, ask, setting, &cause);
}

int
engine_opaque(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const char *control)
{
	struct cause cause = { .cause = CAUSE_OPAQUE, .control = control };

	return engine_conflict(judge, ask, setting, &cause);
}

int
engine_tighten(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	enum conflict_action action;

	if (conflict_is_locked(judge, ask, setting->control, &action)) {
		if (action == CONFLICT_WON)
			engine_keep(judge, setting);
		return 0;
	}
	judge->out->tightened++;
	engine_keep(judge, setting);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Rules that need no value
 */
static int
rule_unknown(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	struct cause cause = { .cause = CAUSE_UNKNOWN, .control = setting->control };

	return engine_conflict(judge, ask, setting, &cause);
}

static int
rule_owned(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	struct cause cause = { .cause = CAUSE_OWNED, .control = setting->control };

	return engine_conflict(judge, ask, setting, &cause);
}

static int
rule_floor(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	struct cause cause = { .cause = CAUSE_FLOOR, .control = setting->control };

	if (setting->is_bool && strcmp(setting->value, "false") == 0) {
		conflict_note(judge, ask, "changes nothing");
		return 0;
	}
	return engine_conflict(judge, ask, setting, &cause);
}

static int
rule_loosens(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	if (setting->is_bool && strcmp(setting->value, "false") == 0) {
		conflict_note(judge, ask, "changes nothing");
		return 0;
	}
	return engine_looser(judge, ask, setting, setting->control);
}

static int
rule_guards(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	if (strcmp(setting->value, "true") == 0) {
		conflict_note(judge, ask, "changes nothing");
		return 0;
	}
	return engine_looser(judge, ask, setting, setting->control);
}

static int
rule_opaque(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	return engine_opaque(judge, ask, setting, setting->control);
}

static int
rule_harmless(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	(void)setting;
	conflict_note(judge, ask, "has no effect on a sandbox of ours");
	return 0;
}

static int
rule_kept(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	(void)ask;
	engine_keep(judge, setting);
	return 0;
}

static engine_rule_fn *const rules[ENGINE_RULE_MAX] = {
	[ENGINE_RULE_UNKNOWN] = rule_unknown,
	[ENGINE_RULE_OWNED] = rule_owned,
	[ENGINE_RULE_FLOOR] = rule_floor,
	[ENGINE_RULE_LOOSENS] = rule_loosens,
	[ENGINE_RULE_GUARDS] = rule_guards,
	[ENGINE_RULE_OPAQUE] = rule_opaque,
	[ENGINE_RULE_PRIVATE] = rule_opaque,
	[ENGINE_RULE_HARMLESS] = rule_harmless,
	[ENGINE_RULE_KEPT] = rule_kept,
	[ENGINE_RULE_NUMBER_KEPT] = rule_number_kept,
	[ENGINE_RULE_ANNOTATION] = rule_annotation,
	[ENGINE_RULE_CAP_ADD] = rule_cap_add,
	[ENGINE_RULE_CAP_DROP] = rule_cap_drop,
	[ENGINE_RULE_CAP_NONE] = rule_cap_none,
	[ENGINE_RULE_CPU_PERIOD] = rule_cpu_part,
	[ENGINE_RULE_CPU_QUOTA] = rule_cpu_part,
	[ENGINE_RULE_CPUS] = rule_cpus,
	[ENGINE_RULE_CPUSET] = rule_cpuset,
	[ENGINE_RULE_DEVICE] = rule_device,
	[ENGINE_RULE_GPUS] = rule_gpus,
	[ENGINE_RULE_ENV] = rule_env,
	[ENGINE_RULE_ENV_MERGE] = rule_env_merge,
	[ENGINE_RULE_ENV_UNSET] = rule_env_unset,
	[ENGINE_RULE_GROUP] = rule_group,
	[ENGINE_RULE_LABEL] = rule_label,
	[ENGINE_RULE_LOG_DRIVER] = rule_log_driver,
	[ENGINE_RULE_MEMORY] = rule_memory,
	[ENGINE_RULE_MEMORY_SWAP] = rule_memory_swap,
	[ENGINE_RULE_MOUNT] = rule_mount,
	[ENGINE_RULE_NAMESPACE] = rule_namespace,
	[ENGINE_RULE_NETWORK] = rule_network,
	[ENGINE_RULE_NETWORK_OWN] = rule_network_own,
	[ENGINE_RULE_OOM_SCORE] = rule_oom_score,
	[ENGINE_RULE_PIDS] = rule_pids,
	[ENGINE_RULE_PULL] = rule_pull,
	[ENGINE_RULE_READ_ONLY] = rule_read_only,
	[ENGINE_RULE_SECURITY] = rule_security,
	[ENGINE_RULE_SHM] = rule_shm,
	[ENGINE_RULE_SOFT_MEMORY] = rule_soft_memory,
	[ENGINE_RULE_STORAGE] = rule_storage,
	[ENGINE_RULE_SYSCTL] = rule_sysctl,
	[ENGINE_RULE_TMPFS] = rule_tmpfs,
	[ENGINE_RULE_ULIMIT] = rule_ulimit,
	[ENGINE_RULE_UMASK] = rule_umask,
	[ENGINE_RULE_USER] = rule_user,
	[ENGINE_RULE_VOLUME] = rule_volume,
	[ENGINE_RULE_WORD] = rule_word,
	[ENGINE_RULE_ZONE] = rule_zone,
};

/* ------------------------------------------------------------------------------------------------
 * All of them
 */
static bool
names_a_variable(enum engine_rule rule)
{
	return rule == ENGINE_RULE_ENV || rule == ENGINE_RULE_ENV_MERGE ||
	       rule == ENGINE_RULE_ENV_UNSET;
}

/* Of variables all behind the name. */
static bool
is_hidden_rule(enum engine_rule rule)
{
	return names_a_variable(rule) || rule == ENGINE_RULE_UNKNOWN || rule == ENGINE_RULE_OWNED ||
	       rule == ENGINE_RULE_ANNOTATION || rule == ENGINE_RULE_PRIVATE;
}

/* As far as a value can be told: to a blank, to what a driver is given, or to nothing where it is
 * an address, which may carry a password, or a program of ssh's with its variables. */
static size_t
told_len(const struct engine_setting *setting)
{
	static const char *const drivers[] = { "driver-opt=", "volume-opt=" };
	const char *value = setting->value;
	size_t len = strcspn(value, ENGINE_BLANKS);

	if (strstr(value, "://") != NULL ||
	    (!setting->is_bool && strcmp(setting->control, "ssh.config") == 0))
		return 0;
	for (size_t i = 0; i < HL_ARRAY_SIZE(drivers); i++) {
		const char *at = strstr(value, drivers[i]);
		if (at != NULL && (size_t)(at - value) < len)
			len = (size_t)(at - value);
	}
	if (setting->rule == ENGINE_RULE_SYSCTL ||
	    (setting->rule == ENGINE_RULE_STORAGE && strncmp(value, "size=", 5) != 0))
		len = len < strcspn(value, "=") ? len : strcspn(value, "=");
	return len;
}

/* "--engine-arg=--cap-add=SYS_ADMIN"; of a variable, of what nobody knows and of what is the
 * launcher's own whatever its value (a health check, an option of a log driver) only the name.
 * Behind a blank there is no value of an option, but perhaps a second one: "--memory=1g -e
 * NAME=VALUE". */
static void
put_asked(const struct engine_setting *setting, char *asked, size_t size)
{
	bool is_hidden = is_hidden_rule(setting->rule);
	bool is_env = names_a_variable(setting->rule) && !setting->is_bool;
	size_t len = is_env ? strcspn(setting->value, "=") : is_hidden ? 0 : told_len(setting);
	size_t flag_len = strnlen(setting->flag, 200);
	char shown[257];

	if (flag_len > strcspn(setting->flag, ENGINE_BLANKS))
		flag_len = strcspn(setting->flag, ENGINE_BLANKS);
	if (len > sizeof(shown) - 1 || (is_env && len > 128))
		len = 0;
	/* A letter that is a boolean to ssh has no value that anybody wrote. */
	bool is_whole = setting->value[len] == '\0' && setting->flag[flag_len] == '\0';
	if (setting->is_bool && flag_len == 2) {
		is_whole = true;
		len = 0;
	}
	memcpy(shown, setting->value, len);
	shown[len] = '\0';
	const char *tail = is_hidden ? "=..." : "...";
	snprintf(asked, size, "%.64s%s%.*s%s%s%s",
	    setting->variable != NULL ? setting->variable : "--engine-arg",
	    setting->variable != NULL ? " as " : "=", (int)flag_len, setting->flag,
	    len > 0 ? "=" : "", shown, is_whole ? "" : tail);
}

struct ask
engine_ask(const struct engine_setting *setting, char *asked, size_t size)
{
	struct ask ask = { setting->argument, setting->flag, asked };

	/* A flag that no table knows is text of the caller's, which ends with the settings. */
	if (setting->rule == ENGINE_RULE_UNKNOWN)
		ask.spelling = "--engine-arg";
	put_asked(setting, asked, size);
	return ask;
}

static bool
is_told(const struct engine_settings *settings)
{
	for (size_t i = 0; i < settings->len; i++) {
		const struct engine_setting *setting = &settings->items[i];
		if (is_hidden_rule(setting->rule) || setting->value[told_len(setting)] != '\0')
			return false;
	}
	return settings->len > 0;
}

void
engine_arg_tell(const char *backend, const char *text, struct hl_buf *out)
{
	struct engine_settings settings HL_AUTO(engine_settings_done) = { 0 };
	const struct engine_arg arg = { text, 1, NULL };
	struct hl_err ignored = { 0 };
	char asked[ENGINE_ASKED_SIZE];

	/* Where nobody says which engine it is for. */
	if (backend == NULL || !engine_args_are_read(backend))
		backend = "docker";
	if (engine_args_parse(backend, &arg, 1, &settings, &ignored) != 0 || settings.len == 0) {
		size_t len = strcspn(text, "=" ENGINE_BLANKS);
		hl_buf_puts(out, "--engine-arg=");
		hl_buf_printable(out, text, len);
		hl_buf_puts(out, text[len] != '\0' ? "=..." : "");
		return;
	}
	if (is_told(&settings)) {
		hl_buf_puts(out, "--engine-arg=");
		hl_buf_printable(out, text, strlen(text));
		return;
	}
	for (size_t i = 0; i < settings.len; i++) {
		(void)engine_ask(&settings.items[i], asked, sizeof(asked));
		/* Of several in one argument it is said once that it is one. */
		const char *told = i > 0 ? asked + sizeof("--engine-arg=") - 1 : asked;
		hl_buf_puts(out, i > 0 ? " " : "");
		hl_buf_printable(out, told, strlen(told));
	}
}

static int
judge_setting(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	HL_BUG_ON(rules[setting->rule] == NULL);
	return rules[setting->rule](judge, ask, setting);
}

/* What an engine would read from the caller's environment: nothing of it reaches the engine, so
 * that such a wish is judged here instead of being lost in silence. */
static int
add_variable(const struct judge *judge, const char *variable, struct engine_arg *args, size_t *len,
    struct hl_strv *texts)
{
	struct hl_buf text HL_AUTO(hl_buf_done_secret) = { 0 };
	const char *equals = strchr(variable, '=');
	char name[64];

	if (equals == NULL || (size_t)(equals - variable) >= sizeof(name))
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(equals - variable), variable);
	hl_buf_init(&text, VARIABLE_MAX);
	for (size_t n = 0; engine_variable_option(judge->backend, name, equals + 1, n, &text);
	     n++) {
		if (*len == VARIABLES_MAX)
			return hl_err_set(judge->err, HLC_08,
			    "more than %d variables are options of the engine", VARIABLES_MAX);
		hl_strv_add(texts, name);
		hl_strv_addn(texts, text.data, text.len);
		texts->failed |= text.failed;
		if (hl_strv_check(texts, "variables", judge->err) == -1)
			return -1;
		args[(*len)++] =
		    (struct engine_arg){ texts->v[texts->len - 1], 0, texts->v[texts->len - 2] };
		hl_buf_reset(&text);
	}
	return 0;
}

static int
judge_settings(struct judge *judge, const struct engine_settings *settings)
{
	for (size_t i = 0; i < settings->len; i++) {
		char asked[ENGINE_ASKED_SIZE];
		const struct ask ask = engine_ask(&settings->items[i], asked, sizeof(asked));

		if (judge_setting(judge, &ask, &settings->items[i]) == -1)
			return -1;
	}
	return judge_sums(judge);
}

int
judge_engine_args(struct judge *judge)
{
	const struct request_items *items = &judge->request->engine_args;
	struct engine_settings settings HL_AUTO(engine_settings_done) = { 0 };
	struct hl_strv texts HL_AUTO(hl_strv_done_secret) = { 0 };
	struct engine_arg args[REQUEST_ITEMS_MAX + VARIABLES_MAX];

	size_t len = 0;

	hl_strv_init(&texts, (size_t)VARIABLES_MAX * 2);
	for (char **at = environ; at != NULL && *at != NULL; at++) {
		if (add_variable(judge, *at, args, &len, &texts) == -1)
			return -1;
	}
	for (size_t i = 0; i < items->len; i++)
		args[len++] =
		    (struct engine_arg){ items->items[i].text, items->items[i].argument, NULL };
	if (engine_args_parse(judge->backend, args, len, &settings, judge->err) == -1)
		return -1;
	return judge_settings(judge, &settings);
}
