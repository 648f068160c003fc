/*
 * Conflicts: everything that a caller asks is held against the policy here, whatever door it came
 * by. A request inside its bound is made effective, one that changes nothing is dropped, one that
 * goes past a bound is a conflict: refused in enforce, in force and loud in warn. What no mode may
 * switch off (the floor) is refused in both. The mode itself is settled first, because all the rest
 * depends on it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/conflicts_parts.h"

#include "base/banned.h"

enum {
	CONFLICT_ARGS_MAX = 1024,
	CONFLICT_NOTES_MAX = 1024
};

static const struct conflict_control controls[] = {
#define CONFLICT_CONTROL(control, code, bound, effect) { control, code, bound, effect },
#include "launcher/conflicts.def"
#undef CONFLICT_CONTROL
};

size_t
conflict_controls_len(void)
{
	return HL_ARRAY_SIZE(controls);
}

const struct conflict_control *
conflict_control_at(size_t i)
{
	HL_BUG_ON(i >= HL_ARRAY_SIZE(controls));
	return &controls[i];
}

const struct conflict_control *
conflict_control_find(const char *control)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(controls); i++) {
		if (strcmp(controls[i].control, control) == 0)
			return &controls[i];
	}
	return NULL;
}

struct hl_origin
ask_origin(const struct ask *ask)
{
	return (struct hl_origin){ .layer = "caller", .where = { .file = ask->spelling } };
}

/* ------------------------------------------------------------------------------------------------
 * Recording
 */
static const struct {
	enum hl_code code;           /* HL_OK: the control's own */
	enum conflict_action warned; /* what becomes of it in warn */
} causes[] = {
	[CAUSE_LOOSER] = { HL_OK, CONFLICT_WON },
	[CAUSE_OPAQUE] = { HLC_04, CONFLICT_WON },
	[CAUSE_UNKNOWN] = { HLC_03, CONFLICT_WON },
	[CAUSE_OWNED] = { HLC_02, CONFLICT_DROPPED },
	[CAUSE_PROTECTED] = { HLC_05, CONFLICT_DROPPED },
	[CAUSE_FLOOR] = { HLC_01, CONFLICT_REFUSED },
	[CAUSE_FINAL] = { HL_OK, CONFLICT_REFUSED },
};

/* A person's terminal gets no control bytes from what was asked; what does not fit is cut. */
static void
put_text(char *field, size_t size, const char *text)
{
	struct hl_buf buf HL_AUTO(hl_buf_done_secret) = { 0 };

	hl_buf_init(&buf, 8192);
	hl_buf_printable(&buf, text, strnlen(text, 1024));
	snprintf(field, size, "%s", buf.data);
	if (buf.len >= size)
		memcpy(field + size - 4, "...", 4);
}

/* The bound as the policy has it, where the control is a field of it; not when it is judged. */
static void
put_field_bound(const struct judge *judge, const char *control, bool is_judged,
    struct conflict *conflict)
{
	enum policy_field field = policy_field_find(control);
	struct hl_buf buf HL_AUTO(hl_buf_done_secret) = { 0 };
	const struct policy_value *value;

	if (field == POLICY_FIELD_MAX)
		return;
	value = policy_get(judge->policy, field);
	conflict->origin = value->is_bounded ? value->bound_origin : value->origin;
	conflict->is_locked = value->is_locked;
	/* A value of env.set may be private, and says nothing about a bound. */
	if (is_judged || field == POLICY_ENV_SET || conflict->bound[0] != '\0')
		return;
	hl_buf_init(&buf, 8192);
	policy_value_format(value, field, &buf);
	put_text(conflict->bound, sizeof(conflict->bound), buf.data);
}

/* Whom to ask: the owner that the policy of the bound names. */
static void
put_owner(const struct judge *judge, struct conflict *conflict)
{
	for (size_t i = 0; conflict->origin.id != NULL && i < policy_layers_len(judge->policy);
	     i++) {
		const struct policy_layer *layer = policy_layer_at(judge->policy, i);
		if (layer->owner != NULL && layer->id != NULL &&
		    strcmp(layer->id, conflict->origin.id) == 0)
			put_text(conflict->owner, sizeof(conflict->owner), layer->owner);
	}
}

enum conflict_action
conflict_add(struct judge *judge, const struct ask *ask, const struct cause *cause,
    const struct policy_judgement *judgement)
{
	const struct conflict_control *row = conflict_control_find(cause->control);
	struct conflict conflict = { 0 };

	HL_BUG_ON(row == NULL);
	conflict.code = causes[cause->cause].code != HL_OK ? causes[cause->cause].code : row->code;
	conflict.action = judge->is_warn ? causes[cause->cause].warned : CONFLICT_REFUSED;
	snprintf(conflict.control, sizeof(conflict.control), "%s", cause->control);
	if (ask->argument > 0)
		snprintf(conflict.door, sizeof(conflict.door), "argument %d", ask->argument);
	else
		snprintf(conflict.door, sizeof(conflict.door), "environment");
	put_text(conflict.asked, sizeof(conflict.asked), ask->asked);
	snprintf(conflict.effect, sizeof(conflict.effect), "the command could %s",
	    cause->effect != NULL ? cause->effect : row->effect);
	conflict.help = cause->help;
	conflict.origin = (struct hl_origin){ .layer = "built-in" };
	put_text(conflict.bound, sizeof(conflict.bound),
	    cause->bound != NULL ? cause->bound : row->bound);
	put_field_bound(judge, cause->control, judgement != NULL, &conflict);
	if (judgement != NULL) {
		conflict.origin = judgement->origin;
		conflict.is_locked = judgement->is_locked;
		put_text(conflict.bound, sizeof(conflict.bound), judgement->bound);
	}
	put_owner(judge, &conflict);
	/* What cannot be told is not done, and the last one that is told is then a refusal. */
	if (judge->out->len == CONFLICTS_MAX) {
		conflict.action = CONFLICT_REFUSED;
		judge->out->len--;
	}
	judge->out->items[judge->out->len++] = conflict;
	if (conflict.action == CONFLICT_REFUSED)
		judge->out->refused++;
	return conflict.action;
}

void
conflict_note(struct judge *judge, const struct ask *ask, const char *text)
{
	struct hl_buf buf HL_AUTO(hl_buf_done_secret) = { 0 };

	hl_buf_init(&buf, 8192);
	hl_buf_printable(&buf, ask->asked, strnlen(ask->asked, 1024));
	if (ask->argument > 0)
		hl_strv_addf(&judge->out->notes, "argument %d: %s %s", ask->argument, buf.data,
		    text);
	else
		hl_strv_addf(&judge->out->notes, "environment: %s %s", buf.data, text);
}

bool
conflict_is_locked(struct judge *judge, const struct ask *ask, const char *control,
    enum conflict_action *ret_action)
{
	enum policy_field field = policy_field_find(control);
	struct cause cause = { .cause = CAUSE_LOOSER, .control = control };

	if (field == POLICY_FIELD_MAX || !policy_get(judge->policy, field)->is_locked)
		return false;
	*ret_action = conflict_add(judge, ask, &cause, NULL);
	return true;
}

int
judge_malformed(struct judge *judge, const struct ask *ask, const char *form)
{
	/* What was written is not repeated: it may be a variable's value in the wrong place. */
	hl_err_set(judge->err, HLC_09, "argument %d: %s is not of the form %s", ask->argument,
	    ask->spelling, form);
	return hl_err_help(judge->err, "write %s", form);
}

/* ------------------------------------------------------------------------------------------------
 * Fields
 */
int
judge_field_with(struct judge *judge, const struct ask *ask, enum policy_field field,
    const char *text, const char *effect)
{
	struct cause cause = { .cause = CAUSE_LOOSER,
		.control = policy_field_key(field),
		.effect = effect };
	struct hl_origin origin = ask_origin(ask);
	struct policy_judgement judgement;

	if (policy_judge(judge->policy, field, text, &judgement, judge->err) == -1) {
		judge->err->code = HLC_09;
		return hl_err_wrap(judge->err, "argument %d: %s", ask->argument, ask->spelling);
	}
	switch (judgement.verdict) {
	case POLICY_SAME:
		conflict_note(judge, ask, "changes nothing: the policy has it already");
		return 0;
	case POLICY_TIGHTER:
		judge->out->tightened++;
		break;
	case POLICY_LOOSER:
		if (conflict_add(judge, ask, &cause, &judgement) != CONFLICT_WON)
			return 0;
		break;
	}
	return policy_apply(judge->policy, field, &(struct policy_change){ NULL, text, &origin },
	    judge->err);
}

int
judge_field(struct judge *judge, const struct ask *ask, enum policy_field field, const char *text)
{
	return judge_field_with(judge, ask, field, text, NULL);
}

static int
judge_mode(struct judge *judge)
{
	const struct request_item *item = &judge->request->mode;
	char asked_text[64];
	snprintf(asked_text, sizeof(asked_text), "--mode=%.40s",
	    item->text != NULL ? item->text : "");
	struct ask ask = { item->argument, "--mode", asked_text };
	struct cause cause = { .cause = CAUSE_FINAL, .control = "mode" };
	const char *const *words = policy_field_words(POLICY_MODE);
	const struct policy_value *value = policy_get(judge->policy, POLICY_MODE);
	struct hl_origin origin = ask_origin(&ask);
	uint64_t asked = 0;

	if (item->text == NULL)
		return 0;
	while (words[asked] != NULL && strcmp(words[asked], item->text) != 0)
		asked++;
	if (words[asked] == NULL)
		return judge_malformed(judge, &ask, "--mode enforce or --mode warn");
	if (asked > value->number) {
		conflict_add(judge, &ask, &cause, NULL);
		return 0;
	}
	if (asked == value->number) {
		conflict_note(judge, &ask, "changes nothing: the policy has it already");
		return 0;
	}
	judge->out->tightened++;
	return policy_apply(judge->policy, POLICY_MODE,
	    &(struct policy_change){ NULL, item->text, &origin }, judge->err);
}

int
judge_user(struct judge *judge, const struct ask *ask, const char *text)
{
	if (policy_user_is_root(text)) {
		const struct policy_value *value =
		    policy_get(judge->policy, POLICY_PROCESS_ALLOW_ROOT);
		struct cause cause = { .cause = CAUSE_LOOSER, .control = "process.allow_root" };
		struct hl_origin origin = ask_origin(ask);

		/* Not judged as a request of its own: whoever may not be root may not ask for the
		 * permission either, also where no layer bounds it. */
		if (value->number == 0) {
			if (conflict_add(judge, ask, &cause, NULL) != CONFLICT_WON)
				return 0;
			if (policy_apply(judge->policy, POLICY_PROCESS_ALLOW_ROOT,
				&(struct policy_change){ NULL, "true", &origin }, judge->err) == -1)
				return -1;
		}
	}
	return judge_field(judge, ask, POLICY_PROCESS_USER, text);
}

/* ------------------------------------------------------------------------------------------------
 * The launcher's own request options
 */
static int
judge_limit(struct judge *judge, const struct ask *ask, const char *text)
{
	static const char prefix[] = "limits.";
	const char *equals = strchr(text, '=');
	char key[64];
	size_t len;

	if (equals == NULL || equals == text)
		return judge_malformed(judge, ask, "--limit KEY=VALUE");
	if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
		text += sizeof(prefix) - 1;
	len = (size_t)(equals - text);
	if (len + sizeof(prefix) > sizeof(key))
		return judge_malformed(judge, ask, "--limit KEY=VALUE");
	memcpy(key, prefix, sizeof(prefix) - 1);
	memcpy(key + sizeof(prefix) - 1, text, len);
	key[sizeof(prefix) - 1 + len] = '\0';
	if (policy_field_find(key) == POLICY_FIELD_MAX) {
		hl_err_set(judge->err, HLC_09, "argument %d: --limit has no such key",
		    ask->argument);
		return hl_err_help(judge->err, "the keys are wall, cpus, memory, pids, files, shm, "
					       "disk and output");
	}
	return judge_field(judge, ask, policy_field_find(key), equals + 1);
}

static int
judge_items(struct judge *judge, const struct request_items *items, const char *spelling,
    int (*each)(struct judge *judge, const struct ask *ask, const char *text))
{
	char asked[300];

	for (size_t i = 0; i < items->len; i++) {
		struct ask ask = { items->items[i].argument, spelling, asked };
		const char *text = items->items[i].text;
		/* --env: the name is told, the value never. */
		size_t shown = each == judge_env ? strcspn(text, "=") : strlen(text);

		snprintf(asked, sizeof(asked), "%s=%.*s%s", spelling,
		    (int)(shown < 256 ? shown : 256), text, text[shown] != '\0' ? "=..." : "");
		if (each(judge, &ask, text) == -1)
			return -1;
	}
	return 0;
}

static int
judge_backend(struct judge *judge, const struct ask *ask, const char *text)
{
	/* The newer name of the same engine. */
	if (strcmp(text, "apptainer") == 0)
		text = "singularity";
	return judge_field(judge, ask, POLICY_BACKENDS, text);
}

static int
judge_network(struct judge *judge, const struct ask *ask, const char *text)
{
	return judge_field(judge, ask, POLICY_NETWORK_MODE, text);
}

static int
judge_image(struct judge *judge, const struct ask *ask, const char *text)
{
	return judge_field(judge, ask, POLICY_IMAGE, text);
}

static int
judge_timeout(struct judge *judge, const struct ask *ask, const char *text)
{
	return judge_field(judge, ask, POLICY_LIMITS_WALL, text);
}

/* A name asks for a sandbox that outlives its launcher, and that the next one uses. Where the
 * policy gives more than that already it is not taken away. */
static int
judge_name(struct judge *judge, const struct ask *ask, const char *text)
{
	static const struct {
		enum policy_field field;
		uint64_t rank;
		const char *word;
	} asked[] = {
		{ POLICY_SESSION_PERSIST, PLAN_PERSIST_SESSION, "session" },
		{ POLICY_SESSION_REUSE, PLAN_REUSE_IDENTICAL, "identical" },
	};

	(void)text;
	for (size_t i = 0; i < HL_ARRAY_SIZE(asked); i++)
		if (policy_get(judge->policy, asked[i].field)->number < asked[i].rank &&
		    judge_field(judge, ask, asked[i].field, asked[i].word) == -1)
			return -1;
	return 0;
}

static int
judge_scalars(struct judge *judge)
{
	const struct request *request = judge->request;
	const struct {
		const struct request_item *item;
		const char *spelling;
		int (*judge)(struct judge *judge, const struct ask *ask, const char *text);
	} scalars[] = {
		{ &request->backend, "--backend", judge_backend },
		{ &request->network, "--network", judge_network },
		{ &request->image, "--image", judge_image },
		{ &request->user, "--user", judge_user },
		{ &request->timeout, "--timeout", judge_timeout },
		{ &request->name, "--name", judge_name },
	};
	char asked[300];

	for (size_t i = 0; i < HL_ARRAY_SIZE(scalars); i++) {
		struct ask ask = { scalars[i].item->argument, scalars[i].spelling, asked };

		if (scalars[i].item->text == NULL)
			continue;
		snprintf(asked, sizeof(asked), "%s=%s", scalars[i].spelling, scalars[i].item->text);
		if (scalars[i].judge(judge, &ask, scalars[i].item->text) == -1)
			return -1;
	}
	return 0;
}

static int
judge_all(struct judge *judge)
{
	const struct request *request = judge->request;
	const struct policy_value *backends;

	if (judge_mode(judge) == -1)
		return -1;
	judge->is_warn = policy_get(judge->policy, POLICY_MODE)->number != 0;
	if (judge_scalars(judge) == -1)
		return -1;
	backends = policy_get(judge->policy, POLICY_BACKENDS);
	judge->backend = backends->items_len > 0 ? backends->items[0].text : "";
	if (judge_items(judge, &request->limits, "--limit", judge_limit) == -1 ||
	    judge_items(judge, &request->env, "--env", judge_env) == -1 ||
	    judge_items(judge, &request->mounts, "--mount", judge_mount_text) == -1)
		return -1;
	if (judge_environment(judge) == -1)
		return -1;
	return judge_engine_args(judge);
}

int
conflicts_judge_kept(struct policy *policy, const struct request *request,
    struct conflicts_kept *kept, struct conflicts *ret_conflicts, struct hl_err *err)
{
	struct judge judge = { .policy = policy,
		.request = request,
		.out = ret_conflicts,
		.deny = kept->deny,
		.err = err };

	/* Not the whole of it: the items are pages that a run without conflicts never touches. */
	ret_conflicts->len = ret_conflicts->refused = ret_conflicts->tightened = 0;
	hl_strv_init(&ret_conflicts->engine_args, CONFLICT_ARGS_MAX);
	hl_strv_init(&ret_conflicts->notes, CONFLICT_NOTES_MAX);
	int status = judge_all(&judge);

	kept->deny = judge.deny;
	host_account_done(&judge.account);
	if (status == -1 ||
	    hl_strv_check(&ret_conflicts->engine_args, "engine arguments", err) == -1) {
		conflicts_done(ret_conflicts);
		return -1;
	}
	return 0;
}

int
conflicts_judge(struct policy *policy, const struct request *request,
    struct conflicts *ret_conflicts, struct hl_err *err)
{
	struct conflicts_kept kept = { 0 };
	int status = conflicts_judge_kept(policy, request, &kept, ret_conflicts, err);

	conflicts_kept_done(&kept);
	return status;
}

void
conflicts_done(struct conflicts *conflicts)
{
	hl_strv_done_secret(&conflicts->engine_args);
	hl_strv_done(&conflicts->notes);
	conflicts->len = conflicts->refused = conflicts->tightened = 0;
}

const struct conflict *
conflicts_refusal(const struct conflicts *conflicts)
{
	for (size_t i = 0; i < conflicts->len; i++)
		if (conflicts->items[i].action == CONFLICT_REFUSED)
			return &conflicts->items[i];
	/* The last place of a full table is a refusal's: conflict_add(). */
	HL_BUG_ON(conflicts->refused > 0);
	return NULL;
}
