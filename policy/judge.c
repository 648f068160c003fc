/*
 * What the caller asks, against the bounds: equal, inside, or looser. The bound decides, never the
 * default.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

static const struct hl_origin built_in = { .layer = "built-in" };

static void
say_bound(struct policy_judgement *judgement, const struct hl_buf *text)
{
	snprintf(judgement->bound, sizeof(judgement->bound), "%s", text->data);
	if (text->len >= sizeof(judgement->bound))
		memcpy(judgement->bound + sizeof(judgement->bound) - 4, "...", 4);
}

static void
say_number(struct policy_judgement *judgement, enum policy_field field, uint64_t bound)
{
	struct hl_buf text;

	hl_buf_init(&text, 128);
	policy_put_number(&text, field, bound);
	say_bound(judgement, &text);
	hl_buf_done(&text);
}

static void
say_items(struct policy_judgement *judgement, enum policy_kind kind,
    const struct policy_items *items)
{
	struct hl_buf text;

	hl_buf_init(&text, (size_t)POLICY_FILE_MAX * 2);
	/* Of a long list a message shows the first only: no more are written than fill it. */
	for (size_t n = 8, len = 0; len == 0; n *= 8) {
		hl_buf_reset(&text);
		policy_put_list(&text, kind, items->v, n < items->len ? n : items->len);
		if (n >= items->len || text.failed || text.len > sizeof(judgement->bound))
			len = n;
	}
	say_bound(judgement, &text);
	hl_buf_done(&text);
}

static void
set_verdict(struct policy_judgement *judgement, enum policy_verdict verdict,
    const struct hl_origin *origin)
{
	judgement->verdict = verdict;
	judgement->origin = *origin;
}

static int
judge_number(const struct policy *policy, enum policy_field field, const char *text,
    struct policy_judgement *judgement, struct hl_err *err)
{
	const struct policy_state *state = &policy->states[field];
	uint64_t number;

	if (policy_parse_number(field, text, &number, err) != 0)
		return -1;
	if (state->is_bounded)
		say_number(judgement, field, state->bound);
	if (number == state->number)
		set_verdict(judgement, POLICY_SAME, &state->origin);
	else if (!policy_number_is_allowed(field, state, number))
		set_verdict(judgement, POLICY_LOOSER, &state->bound_origin);
	else
		set_verdict(judgement, POLICY_TIGHTER,
		    state->is_bounded ? &state->bound_origin : &state->origin);
	return 0;
}

static bool
has_member(const struct policy_value *value, enum policy_field field, const char *member)
{
	/* Of backends and images one is used at a time: the first. */
	size_t len = field == POLICY_BACKENDS || field == POLICY_IMAGE ? value->items_len > 0
								       : value->items_len;

	for (size_t i = 0; i < len; i++) {
		if (strcmp(value->items[i].text, member) == 0)
			return true;
	}
	return false;
}

static int
judge_set(const struct policy *policy, enum policy_field field, const char *text,
    struct policy_judgement *judgement, struct hl_err *err)
{
	const struct policy_state *state = &policy->states[field];
	const struct policy_value *value = &policy->values[field];
	struct policy_arena arena = { 0 };
	const char *member;

	if (policy_parse_member(&arena, field, text, &member, err) != 0) {
		policy_arena_done(&arena);
		return -1;
	}
	const struct policy_item item = { .text = member };
	size_t list = policy_lists_outside(state, &item);
	if (state->lists_len > 0)
		say_items(judgement, POLICY_KIND_SET,
		    &state->lists[list < state->lists_len ? list : 0].items);
	if (has_member(value, field, member))
		set_verdict(judgement, POLICY_SAME, &value->origin);
	else if (list < state->lists_len)
		set_verdict(judgement, POLICY_LOOSER, &state->lists[list].origin);
	else
		set_verdict(judgement, POLICY_TIGHTER,
		    state->is_bounded ? &state->bound_origin : &value->origin);
	policy_arena_done(&arena);
	return 0;
}

/* Protected names are outside every bound there could be. */
static int
judge_protected(struct policy_judgement *judgement)
{
	set_verdict(judgement, POLICY_LOOSER, &built_in);
	snprintf(judgement->bound, sizeof(judgement->bound), "no protected name");
	return 0;
}

/* "NAME" or "NAME=VALUE": a name that the policy sets is decided; another must be one that passes.
 */
static int
judge_map(const struct policy *policy, const char *text, struct policy_judgement *judgement,
    struct hl_err *err)
{
	const struct policy_value *value = &policy->values[POLICY_ENV_SET];
	size_t len = strcspn(text, "=");
	char name[129];

	if (policy_name_class(text, len) != POLICY_NAME_PLAIN)
		return judge_protected(judgement);
	if (!hl_is_env_name(text, len))
		return hl_err_set(err, HLP_07, "'%.*s' is not a variable name",
		    (int)(len < 60 ? len : 60), text);
	memcpy(name, text, len);
	name[len] = '\0';
	for (size_t i = 0; i < value->items_len; i++) {
		if (strcmp(value->items[i].name, name) != 0)
			continue;
		bool is_same =
		    text[len] == '=' && strcmp(text + len + 1, value->items[i].text) == 0;
		set_verdict(judgement, is_same ? POLICY_SAME : POLICY_LOOSER,
		    &value->items[i].origin);
		snprintf(judgement->bound, sizeof(judgement->bound), "its own value");
		return 0;
	}
	return judge_set(policy, POLICY_ENV_PASS, name, judgement, err);
}

static int
judge_text(const struct policy *policy, enum policy_field field, const char *text,
    struct policy_judgement *judgement, struct hl_err *err)
{
	const struct policy_value *value = &policy->values[field];
	const struct policy_value *root = &policy->values[POLICY_PROCESS_ALLOW_ROOT];
	struct policy_arena arena = { 0 };
	const char *good;
	int result = policy_parse_member(&arena, field, text, &good, err);

	policy_arena_done(&arena);
	if (result != 0)
		return -1;
	snprintf(judgement->bound, sizeof(judgement->bound), "%s", value->text);
	if (strcmp(text, value->text) == 0)
		set_verdict(judgement, POLICY_SAME, &value->origin);
	else if (value->is_bounded)
		set_verdict(judgement, POLICY_LOOSER, &value->bound_origin);
	else if (field == POLICY_PROCESS_USER && policy_user_is_root(text) && root->number == 0) {
		snprintf(judgement->bound, sizeof(judgement->bound), "no root user");
		set_verdict(judgement, POLICY_LOOSER,
		    root->is_bounded ? &root->bound_origin : &root->origin);
	} else
		set_verdict(judgement, POLICY_TIGHTER, &value->origin);
	return 0;
}

/* A directory: the policy's own or one below it. */
static int
judge_workdir(const struct policy *policy, const char *text, struct policy_judgement *judgement,
    struct hl_err *err)
{
	const struct policy_value *value = &policy->values[POLICY_FS_WORKDIR];
	const char *path = value->items[0].mount.src;

	if (!hl_path_is_normal(text))
		return hl_err_set(err, HLP_14, "'%.200s' is not an absolute path in normal form",
		    text);
	snprintf(judgement->bound, sizeof(judgement->bound), "%s", path);
	if (strcmp(path, text) == 0)
		set_verdict(judgement, POLICY_SAME, &value->origin);
	else if (path[0] == '\0' || (path[0] == '/' && hl_path_is_beneath(text, path)))
		set_verdict(judgement, POLICY_TIGHTER, &value->origin);
	else
		set_verdict(judgement, POLICY_LOOSER, &value->origin);
	return 0;
}

static int
judge_kind(const struct policy *policy, enum policy_field field, const char *text,
    struct policy_judgement *judgement, struct hl_err *err)
{
	switch (policy_field_kind(field)) {
	case POLICY_KIND_BOOL:
	case POLICY_KIND_ENUM:
	case POLICY_KIND_INT:
	case POLICY_KIND_BITS:
	case POLICY_KIND_SIZE:
	case POLICY_KIND_DURATION:
	case POLICY_KIND_MILLI:
	case POLICY_KIND_HOME:
		return judge_number(policy, field, text, judgement, err);
	case POLICY_KIND_STRING:
		return judge_text(policy, field, text, judgement, err);
	case POLICY_KIND_SET:
		if (field == POLICY_ENV_PASS &&
		    policy_name_class(text, strlen(text)) != POLICY_NAME_PLAIN)
			return judge_protected(judgement);
		return judge_set(policy, field, text, judgement, err);
	case POLICY_KIND_MAP:
		return judge_map(policy, text, judgement, err);
	case POLICY_KIND_WORKDIR:
		return judge_workdir(policy, text, judgement, err);
	case POLICY_KIND_MOUNTS:
	case POLICY_KIND_TMPFS:
	case POLICY_KIND_RECORDS:
	case POLICY_KIND_NAMED:
	case POLICY_KIND_MAX:
		break;
	}
	return hl_err_set(err, HLI_02, "%s is not judged by text", policy_field_key(field));
}

/* A locked field may be asked for what it is, and for nothing else. */
static void
judge_lock(const struct policy_state *state, struct policy_judgement *judgement)
{
	judgement->is_locked = state->is_locked;
	if (!state->is_locked || judgement->verdict == POLICY_SAME)
		return;
	judgement->verdict = POLICY_LOOSER;
	judgement->origin = state->lock_origin;
}

int
policy_judge(const struct policy *policy, enum policy_field field, const char *text,
    struct policy_judgement *ret_judgement, struct hl_err *err)
{
	struct policy_judgement judgement = { 0 };

	if (judge_kind(policy, field, text, &judgement, err) != 0)
		return -1;
	judge_lock(&policy->states[field], &judgement);
	*ret_judgement = judgement;
	return 0;
}

static bool
is_same_mount(const struct policy_mount *a, const struct policy_mount *b)
{
	return policy_mount_is_inside(a, b) && policy_mount_is_inside(b, a);
}

int
policy_judge_mount(const struct policy *policy, const struct policy_mount *mount,
    struct policy_judgement *ret_judgement, struct hl_err *err)
{
	const struct policy_state *state = &policy->states[POLICY_FS_MOUNTS];
	const struct policy_value *value = &policy->values[POLICY_FS_MOUNTS];
	struct policy_judgement judgement = { 0 };
	const struct policy_item item = { .mount = *mount };

	if (!policy_check_mount(mount, err))
		return -1;
	bool is_inside = policy_item_is_allowed(POLICY_KIND_MOUNTS, state, &item);
	if (state->is_bounded)
		say_items(&judgement, POLICY_KIND_MOUNTS, &state->allowed);
	set_verdict(&judgement, is_inside ? POLICY_TIGHTER : POLICY_LOOSER,
	    state->is_bounded ? &state->bound_origin : &value->origin);
	for (size_t i = 0; i < value->items_len; i++) {
		if (is_same_mount(mount, &value->items[i].mount))
			set_verdict(&judgement, POLICY_SAME, &value->items[i].origin);
	}
	judge_lock(state, &judgement);
	*ret_judgement = judgement;
	return 0;
}
