/*
 * From bounds and last-given defaults to one value for every field, each with one origin.
 */
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

static const struct hl_origin built_in = { .layer = "built-in" };

/* What fields.def gives when no layer has a default. */
static int
built_in_items(struct policy *policy, enum policy_field field, struct policy_items *ret_items,
    struct hl_err *err)
{
	const char *text = policy_field_info(field)->default_text;
	struct policy_items items = { 0 };
	size_t n = 1;

	for (const char *c = text; *c != '\0'; c++)
		n += *c == ' ';
	items.v = policy_arena_array(&policy->arena, n, sizeof(*items.v));
	if (items.v == NULL)
		return hl_err_oom(err);
	for (const char *word = text; *word != '\0';) {
		size_t len = strcspn(word, " ");
		struct policy_item *item = &items.v[items.len++];
		char *copy = policy_arena_dup(&policy->arena, word, len);
		if (copy == NULL)
			return hl_err_oom(err);
		item->text = copy;
		item->origin = built_in;
		if (policy_field_kind(field) == POLICY_KIND_TMPFS &&
		    policy_parse_tmpfs(&policy->arena, copy, &item->tmpfs, err) != 0)
			return -1;
		word += len;
		word += *word == ' ';
	}
	*ret_items = items;
	return 0;
}

static int
settle_number(struct policy *policy, enum policy_field field, struct policy_value *value,
    struct hl_err *err)
{
	struct policy_state *state = &policy->states[field];

	if (!state->has_default) {
		if (policy_parse_number(field, policy_field_info(field)->default_text,
			&state->number, err) != 0)
			return hl_err_wrap(err, "default of %s", policy_field_key(field));
		state->origin = built_in;
	}
	/* Nobody's mode is laxer than what the stack says, and a silent stack says enforce. */
	if (field == POLICY_MODE && !state->is_bounded) {
		state->is_bounded = true;
		state->bound = state->number;
		state->bound_origin = state->origin;
	}
	if (state->is_bounded && !policy_number_is_inside(field, state->number, state->bound)) {
		state->number = policy_number_of_both(field, state->number, state->bound);
		state->origin = state->bound_origin;
	}
	if (policy_number_dormant(policy, field, err) != 0)
		return -1;
	value->number = policy_number_handed_out(field, state->number);
	value->bound_number = state->is_bounded ? policy_number_handed_out(field, state->bound) : 0;
	return 0;
}

static int
settle_home(struct policy *policy, struct policy_value *value, struct hl_err *err)
{
	struct policy_state *state = &policy->states[POLICY_FS_HOME];
	struct policy_item *item;

	if (settle_number(policy, POLICY_FS_HOME, value, err) != 0)
		return -1;
	if (state->items.len == 0) {
		state->items.v = policy_arena_array(&policy->arena, 1, sizeof(*state->items.v));
		if (state->items.v == NULL)
			return hl_err_oom(err);
		state->items.len = 1;
		state->items.v[0].home.size = POLICY_UNLIMITED;
	}
	item = &state->items.v[0];
	item->home.kind = (enum policy_home)state->number;
	if (item->home.kind != POLICY_HOME_BIND)
		item->home.src = NULL;
	item->origin = state->origin;
	return 0;
}

static int
settle_list(struct policy *policy, enum policy_field field, struct hl_err *err)
{
	struct policy_state *state = &policy->states[field];
	enum policy_kind kind = policy_field_kind(field);
	struct policy_items items = state->items;

	if (!state->has_default) {
		if (built_in_items(policy, field, &items, err) != 0)
			return -1;
		state->origin = built_in;
	}
	if (policy_field_info(field)->merge != MERGE_UNION_DENY &&
	    !policy_cut_list(&policy->arena, kind, state, &items))
		return hl_err_oom(err);
	/* A command needs some backend: with no default among those allowed, the first of these. */
	if (field == POLICY_BACKENDS && items.len == 0 && state->lists_len > 0) {
		items = state->lists[state->lists_len - 1].items;
		if (!policy_cut_list(&policy->arena, kind, state, &items))
			return hl_err_oom(err);
		if (items.len > 0)
			state->origin = state->bound_origin;
	}
	if (policy_list_dormant(policy, field, &items, err) != 0)
		return -1;
	state->items = items;
	return 0;
}

static int
settle_workdir(struct policy *policy, struct hl_err *err)
{
	struct policy_state *state = &policy->states[POLICY_FS_WORKDIR];
	struct policy_mount *mount;

	if (state->items.len == 0) {
		state->items.v = policy_arena_array(&policy->arena, 1, sizeof(*state->items.v));
		if (state->items.v == NULL)
			return hl_err_oom(err);
		state->items.len = 1;
		state->origin = built_in;
	}
	mount = &state->items.v[0].mount;
	mount->src = mount->src != NULL ? mount->src : "";
	mount->dst = mount->dst != NULL ? mount->dst : "";
	mount->access = state->is_bounded && state->bound == POLICY_ACCESS_RO ? POLICY_ACCESS_RO
									      : POLICY_ACCESS_RW;
	mount->exec = true;
	mount->is_required = true;
	state->items.v[0].origin = state->is_bounded ? state->bound_origin : state->origin;
	return 0;
}

static int
settle_kind(struct policy *policy, enum policy_field field, struct policy_value *value,
    struct hl_err *err)
{
	struct policy_state *state = &policy->states[field];

	switch (value->kind) {
	case POLICY_KIND_BOOL:
	case POLICY_KIND_ENUM:
	case POLICY_KIND_INT:
	case POLICY_KIND_BITS:
	case POLICY_KIND_SIZE:
	case POLICY_KIND_DURATION:
	case POLICY_KIND_MILLI:
		return settle_number(policy, field, value, err);
	case POLICY_KIND_HOME:
		return settle_home(policy, value, err);
	case POLICY_KIND_SET:
	case POLICY_KIND_RECORDS:
	case POLICY_KIND_NAMED:
	case POLICY_KIND_MOUNTS:
	case POLICY_KIND_TMPFS:
		return settle_list(policy, field, err);
	case POLICY_KIND_WORKDIR:
		return settle_workdir(policy, err);
	case POLICY_KIND_STRING:
		if (state->text == NULL)
			state->text = policy_field_info(field)->default_text;
		break;
	case POLICY_KIND_MAP:
	case POLICY_KIND_MAX:
		break;
	}
	if (!state->has_default)
		state->origin = built_in;
	return 0;
}

/* The value of one field out of its state. */
int
policy_settle_field(struct policy *policy, enum policy_field field, struct hl_err *err)
{
	struct policy_state *state = &policy->states[field];
	struct policy_value value = { .kind = policy_field_kind(field) };

	if (settle_kind(policy, field, &value, err) != 0)
		return -1;
	struct policy_items items = state->items;
	if (field == POLICY_ENV_SET && policy_names_dormant(policy, &items, err) != 0)
		return -1;
	value.is_explicit = state->has_default;
	value.is_bounded = state->is_bounded;
	value.is_locked = state->is_locked;
	value.text = state->text;
	value.items = items.v;
	value.items_len = items.len;
	value.origin = state->origin;
	if (state->is_bounded)
		value.bound_origin = state->bound_origin;
	policy->values[field] = value;
	return 0;
}

int
policy_settle(struct policy *policy, struct hl_err *err)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		if (policy_settle_field(policy, (enum policy_field)i, err) != 0)
			return -1;
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * What the whole stack gets wrong
 */

static bool
is_of(const struct hl_origin *origin, const struct policy_read *layer)
{
	return origin->where.file != NULL && origin->where.file == layer->name;
}

static struct diag_at
at_origin(const struct hl_origin *origin)
{
	return (struct diag_at){ origin->where.line, origin->where.column, 1 };
}

bool
policy_user_is_root(const char *user)
{
	const char *group = strchr(user, ':');

	return strcmp(user, "0") == 0 || strncmp(user, "0:", 2) == 0 ||
	       (group != NULL && strcmp(group, ":0") == 0);
}

/* An unused backend's trouble must not stop the others, so this warns; the plan refuses. */
static void
check_image(const struct policy *policy, struct diag *diag, const struct policy_read *layer)
{
	const struct policy_value *image = &policy->values[POLICY_IMAGE];

	if (policy->values[POLICY_IMAGE_DIGEST].number == 0 || image->items_len == 0)
		return;
	const struct policy_item *first = &image->items[0];
	if (!is_of(&first->origin, layer) || strstr(first->text, "@sha256:") != NULL ||
	    strpbrk(first->text, "*?") != NULL)
		return;
	policy_diag_warn(diag, HLP_23, at_origin(&first->origin),
	    "image \"%.80s\" has no digest, and image.digest is true", first->text);
	policy_diag_other(diag, policy->values[POLICY_IMAGE_DIGEST].origin.where,
	    "image.digest is decided here");
	policy_diag_help(diag, "write name@sha256:DIGEST, or image: {digest: false}");
}

/* Nobody but root and those whom this host trusts can have written it. */
static bool
is_vouched_for(const struct policy_read *layer)
{
	return layer->is_roots || layer->row.signer != NULL;
}

/* The layer that is wanted; NULL: it is not there, or too old. */
static const struct policy_read *
find_layer(const struct policy *policy, const struct policy_mark *wanted)
{
	const struct policy_read *found = NULL;

	for (size_t i = 0; i < policy->layers_len; i++) {
		const struct policy_read *layer = policy->layers[i];
		const struct policy_layer *row = &layer->row;
		if (layer->is_level || row->id == NULL || strcmp(row->id, wanted->text) != 0 ||
		    row->revision < wanted->revision)
			continue;
		if (found == NULL || is_vouched_for(layer))
			found = layer;
	}
	return found;
}

/* An id is what a file says of itself. Where root or a signer demands a layer, by either key,
 * nobody else's file is one. */
static void
check_required(const struct policy *policy, struct diag *diag, const struct policy_marks *marks,
    bool must_be_vouched_for)
{
	for (size_t i = 0; i < marks->len; i++) {
		const struct policy_mark *wanted = &marks->v[i];
		const struct policy_read *found = find_layer(policy, wanted);
		if (found == NULL) {
			policy_diag_error(diag, HLP_24, wanted->at,
			    "the layer %.130s is needed at revision %llu or later, and is not loaded",
			    wanted->text, (unsigned long long)wanted->revision);
			policy_diag_help(diag,
			    "load it as well: %.130s, where it is installed, or its file",
			    wanted->text);
		} else if (must_be_vouched_for && !is_vouched_for(found)) {
			policy_diag_error(diag, HLP_24, wanted->at,
			    "the layer %.130s is mandatory here, and is loaded from a file that is not root's, nor signed",
			    wanted->text);
			policy_diag_other(diag, (struct hl_where){ found->name, 1, 1 },
			    "loaded from");
			policy_diag_help(diag, "install it in /etc/hermes-launch/policies");
		}
	}
}

void
policy_check_layers(const struct policy *policy, struct diag *diag, const struct policy_read *layer)
{
	check_required(policy, diag, &layer->requires, is_vouched_for(layer));
	check_required(policy, diag, &layer->mandatory, is_vouched_for(layer));
}

void
policy_check_settled(const struct policy *policy, struct diag *diag,
    const struct policy_read *layer)
{
	if (layer->is_level)
		return;
	check_image(policy, diag, layer);
}
