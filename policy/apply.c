/*
 * Requests that were granted, or that win because the mode is warn. They change the settled values
 * and leave the bounds as they are, so a later request is judged by the policy, not by an earlier
 * request.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

static int
copy_origin(struct policy *policy, const struct hl_origin *origin, struct hl_origin *ret_origin,
    struct hl_err *err)
{
	*ret_origin = *origin;
	if (origin->where.file == NULL)
		return 0;
	ret_origin->where.file =
	    policy_arena_dup(&policy->arena, origin->where.file, strlen(origin->where.file));
	return ret_origin->where.file != NULL ? 0 : hl_err_oom(err);
}

static int
copy_text(struct policy *policy, const char *text, const char **ret_text, struct hl_err *err)
{
	*ret_text = policy_arena_dup(&policy->arena, text, strlen(text));
	return *ret_text != NULL ? 0 : hl_err_oom(err);
}

/* The value's items with one more in place of the first keep ones; is_alone drops the others. */
static int
put_item(struct policy *policy, enum policy_field field, const struct policy_item *item,
    bool is_alone, struct hl_err *err)
{
	struct policy_value *value = &policy->values[field];
	struct policy_items all = { 0 };

	all.v = policy_arena_array(&policy->arena, value->items_len + 1, sizeof(*all.v));
	if (all.v == NULL)
		return hl_err_oom(err);
	for (size_t i = 0; !is_alone && i < value->items_len; i++) {
		const struct policy_item *old = &value->items[i];
		bool is_replaced =
		    (item->name != NULL && strcmp(old->name, item->name) == 0) ||
		    (item->name == NULL && item->text != NULL &&
			strcmp(old->text, item->text) == 0) ||
		    (item->mount.dst != NULL && strcmp(old->mount.dst, item->mount.dst) == 0) ||
		    (item->tmpfs.dst != NULL && strcmp(old->tmpfs.dst, item->tmpfs.dst) == 0);
		if (!is_replaced)
			all.v[all.len++] = *old;
	}
	all.v[all.len++] = *item;
	value->items = all.v;
	value->items_len = all.len;
	value->origin = item->origin;
	return 0;
}

static int
apply_number(struct policy *policy, enum policy_field field, const char *text, struct hl_err *err)
{
	struct policy_state *state = &policy->states[field];
	uint64_t number;

	if (policy_parse_number(field, text, &number, err) != 0)
		return -1;
	state->number = number;
	policy->values[field].number = policy_number_handed_out(field, number);
	return 0;
}

static int
apply_home(struct policy *policy, const char *text, const struct hl_origin *origin,
    struct hl_err *err)
{
	struct policy_item item = { .origin = *origin };

	if (apply_number(policy, POLICY_FS_HOME, text, err) != 0)
		return -1;
	item.home = policy->values[POLICY_FS_HOME].items[0].home;
	item.home.kind = (enum policy_home)policy->states[POLICY_FS_HOME].number;
	if (item.home.kind == POLICY_HOME_BIND && item.home.src == NULL)
		return hl_err_set(err, HLP_03, "a bound home needs a source");
	return put_item(policy, POLICY_FS_HOME, &item, true, err);
}

static int
apply_tmpfs(struct policy *policy, const char *text, const struct hl_origin *origin,
    struct hl_err *err)
{
	struct policy_item item = { .origin = *origin };

	if (policy_parse_tmpfs(&policy->arena, text, &item.tmpfs, err) != 0)
		return -1;
	return put_item(policy, POLICY_FS_TMPFS, &item, false, err);
}

/* name: "path" (or NULL), "at", "access". */
static int
apply_workdir(struct policy *policy, const struct policy_change *change, struct hl_err *err)
{
	const char *name = change->name, *text = change->text;
	struct policy_item item = policy->values[POLICY_FS_WORKDIR].items[0];
	bool is_path = name == NULL || strcmp(name, "path") == 0;

	item.origin = *change->origin;
	if (!is_path && strcmp(name, "access") == 0) {
		if (strcmp(text, "ro") != 0 && strcmp(text, "rw") != 0)
			return hl_err_set(err, HLP_13, "'%.40s' is neither ro nor rw", text);
		item.mount.access = text[1] == 'w' ? POLICY_ACCESS_RW : POLICY_ACCESS_RO;
		return put_item(policy, POLICY_FS_WORKDIR, &item, true, err);
	}
	if (!is_path && strcmp(name, "at") != 0)
		return hl_err_set(err, HLI_02, "fs.workdir has no '%s'", name);
	if (!hl_path_is_normal(text))
		return hl_err_set(err, HLP_14, "'%.200s' is not an absolute path in normal form",
		    text);
	if (copy_text(policy, text, is_path ? &item.mount.src : &item.mount.dst, err) != 0)
		return -1;
	return put_item(policy, POLICY_FS_WORKDIR, &item, true, err);
}

static int
apply_pair(struct policy *policy, const struct policy_change *change, struct hl_err *err)
{
	const char *name = change->name, *text = change->text;
	struct policy_item item = { .origin = *change->origin };

	if (name == NULL || !hl_is_env_name(name, strlen(name)))
		return hl_err_set(err, HLP_07, "'%.*s' is not a variable name",
		    name != NULL ? policy_name_len(name) : 0, name != NULL ? name : "");
	if (policy_name_class(name, strlen(name)) != POLICY_NAME_PLAIN)
		return hl_err_set(err, HLP_16, "'%.60s' never enters a sandbox", name);
	if (copy_text(policy, name, &item.name, err) != 0 ||
	    copy_text(policy, text, &item.text, err) != 0)
		return -1;
	return put_item(policy, POLICY_ENV_SET, &item, false, err);
}

static int
apply_member(struct policy *policy, enum policy_field field, const char *text,
    const struct hl_origin *origin, struct hl_err *err)
{
	struct policy_item item = { .origin = *origin };
	/* One backend, one image: the request takes the place of the default. */
	bool is_choice = field == POLICY_BACKENDS || field == POLICY_IMAGE;

	if (policy_parse_member(&policy->arena, field, text, &item.text, err) != 0)
		return -1;
	return put_item(policy, field, &item, is_choice, err);
}

static int
apply_kind(struct policy *policy, enum policy_field field, const struct policy_change *change,
    struct hl_err *err)
{
	switch (policy_field_kind(field)) {
	case POLICY_KIND_BOOL:
	case POLICY_KIND_ENUM:
	case POLICY_KIND_INT:
	case POLICY_KIND_BITS:
	case POLICY_KIND_SIZE:
	case POLICY_KIND_DURATION:
	case POLICY_KIND_MILLI:
		return apply_number(policy, field, change->text, err);
	case POLICY_KIND_STRING:
		if (policy_parse_member(&policy->arena, field, change->text,
			&policy->values[field].text, err) != 0)
			return -1;
		policy->states[field].text = policy->values[field].text;
		return 0;
	case POLICY_KIND_SET:
		return apply_member(policy, field, change->text, change->origin, err);
	case POLICY_KIND_MAP:
		return apply_pair(policy, change, err);
	case POLICY_KIND_TMPFS:
		return apply_tmpfs(policy, change->text, change->origin, err);
	case POLICY_KIND_WORKDIR:
		return apply_workdir(policy, change, err);
	case POLICY_KIND_HOME:
		return apply_home(policy, change->text, change->origin, err);
	case POLICY_KIND_MOUNTS:
	case POLICY_KIND_RECORDS:
	case POLICY_KIND_NAMED:
	case POLICY_KIND_MAX:
		break;
	}
	return hl_err_set(err, HLI_02, "%s is not applied by text", policy_field_key(field));
}

static void
finish(struct policy *policy, enum policy_field field, const struct hl_origin *origin)
{
	policy->values[field].origin = *origin;
	policy->values[field].is_explicit = true;
	policy->states[field].origin = *origin;
	policy->sha256[0] = '\0'; /* it was another policy's */
}

int
policy_apply(struct policy *policy, enum policy_field field, const struct policy_change *change,
    struct hl_err *err)
{
	struct hl_origin own;
	struct policy_change kept = { change->name, change->text, &own };

	if (copy_origin(policy, change->origin, &own, err) != 0 ||
	    apply_kind(policy, field, &kept, err) != 0)
		return -1;
	finish(policy, field, &own);
	return 0;
}

int
policy_apply_mount(struct policy *policy, const struct policy_mount *mount,
    const struct hl_origin *origin, struct hl_err *err)
{
	struct policy_item item = { .mount = *mount };

	if (!policy_check_mount(mount, err) ||
	    copy_origin(policy, origin, &item.origin, err) != 0 ||
	    copy_text(policy, mount->src, &item.mount.src, err) != 0 ||
	    copy_text(policy, mount->dst, &item.mount.dst, err) != 0 ||
	    put_item(policy, POLICY_FS_MOUNTS, &item, false, err) != 0)
		return -1;
	finish(policy, POLICY_FS_MOUNTS, &item.origin);
	return 0;
}

int
policy_apply_tmpfs(struct policy *policy, const struct policy_tmpfs *tmpfs,
    const struct hl_origin *origin, struct hl_err *err)
{
	struct policy_item item = { .tmpfs = *tmpfs };

	if (!hl_path_is_normal(tmpfs->dst))
		return hl_err_set(err, HLP_14, "nothing can be mounted at '%.200s'", tmpfs->dst);
	if (copy_origin(policy, origin, &item.origin, err) != 0 ||
	    copy_text(policy, tmpfs->dst, &item.tmpfs.dst, err) != 0 ||
	    put_item(policy, POLICY_FS_TMPFS, &item, false, err) != 0)
		return -1;
	finish(policy, POLICY_FS_TMPFS, &item.origin);
	return 0;
}

int
policy_withdraw(struct policy *policy, enum policy_field field, const char *text,
    const struct hl_origin *origin, struct hl_err *err)
{
	struct policy_value *value = &policy->values[field];
	struct policy_items left = { 0 };
	struct hl_origin own;
	const char *member = NULL;

	HL_BUG_ON(value->kind != POLICY_KIND_SET);
	if (copy_origin(policy, origin, &own, err) != 0)
		return -1;
	if (text != NULL && policy_parse_member(&policy->arena, field, text, &member, err) != 0)
		return -1;
	left.v = policy_arena_array(&policy->arena, value->items_len, sizeof(*left.v));
	if (left.v == NULL)
		return hl_err_oom(err);
	for (size_t i = 0; member != NULL && i < value->items_len; i++) {
		if (strcmp(value->items[i].text, member) != 0)
			left.v[left.len++] = value->items[i];
	}
	value->items = left.v;
	value->items_len = left.len;
	finish(policy, field, &own);
	return 0;
}

int
policy_keep(struct policy *policy, struct hl_err *err)
{
	struct policy_kept *kept = policy_arena_alloc(&policy->arena, sizeof(*kept));

	if (kept == NULL)
		return hl_err_oom(err);
	memcpy(kept->states, policy->states, sizeof(kept->states));
	memcpy(kept->values, policy->values, sizeof(kept->values));
	kept->mark = policy_arena_mark(&policy->arena);
	policy->kept = kept;
	return 0;
}

/* Requests put new lists in place of old ones and write into none. */
void
policy_restore(struct policy *policy)
{
	const struct policy_kept *kept = policy->kept;

	HL_BUG_ON(kept == NULL);
	memcpy(policy->states, kept->states, sizeof(kept->states));
	memcpy(policy->values, kept->values, sizeof(kept->values));
	policy_arena_rewind(&policy->arena, &kept->mark);
	policy->sha256[0] = '\0';
}
