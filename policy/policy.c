/*
 * Questions to a settled policy.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

void
policy_free(struct policy *policy)
{
	if (policy == NULL)
		return;
	policy_arena_done(&policy->arena);
	free(policy);
}

const struct policy_value *
policy_get(const struct policy *policy, enum policy_field field)
{
	HL_BUG_ON((size_t)field >= POLICY_FIELD_MAX);
	return &policy->values[field];
}

size_t
policy_layers_len(const struct policy *policy)
{
	return policy->layers_len;
}

const struct policy_layer *
policy_layer_at(const struct policy *policy, size_t i)
{
	HL_BUG_ON(i >= policy->layers_len);
	return &policy->layers[i]->row;
}

const char *
policy_effective_sha256(struct policy *policy)
{
	struct hl_buf body;
	struct hl_err ignored;

	if (policy->sha256[0] != '\0')
		return policy->sha256;
	hl_buf_init(&body, (size_t)POLICY_FILE_MAX * 4);
	bool is_good = policy_put_body(policy, POLICY_BODY_NAMES, &body, &ignored) == 0;
	if (is_good)
		hl_sha256_text(body.data, body.len, policy->sha256);
	hl_buf_done_secret(&body);
	return is_good ? policy->sha256 : NULL;
}

const char *
policy_level(const struct policy *policy)
{
	return policy->level;
}

static const struct policy_mark *
names_control(const struct policy_read *layer, const char *control)
{
	for (size_t i = 0; i < layer->degrade.len; i++) {
		if (policy_pattern_is_inside(control, layer->degrade.v[i].text))
			return &layer->degrade.v[i];
	}
	return NULL;
}

static bool
sets_control(const struct policy_read *layer, const char *control)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		if (layer->given[i].is_set &&
		    hl_glob_match(control, policy_field_key((enum policy_field)i)))
			return true;
	}
	return false;
}

/* Whether the file sets the control (or one of a pattern), itself or by its level. */
static bool
asks_for(const struct policy *policy, size_t i, const char *control)
{
	const struct policy_read *layer = policy->layers[i];

	if (sets_control(layer, control))
		return true;
	for (size_t j = 0; layer->level != NULL && j < i; j++) {
		const struct policy_read *level = policy->layers[j];
		if (level->is_level && strcmp(level->name, layer->level) == 0)
			return sets_control(level, control);
	}
	return false;
}

/*
 * Some layer names the control, no file before it asks for the control without naming it, and no
 * file that speaks of degradation leaves it out: a list is all that its author allows, and what was
 * asked for is not taken back by somebody later. A level grants, but forbids nothing to those who
 * say more.
 */
bool
policy_may_degrade(const struct policy *policy, const char *control, struct hl_origin *ret_origin)
{
	const struct policy_read *first = NULL;
	const struct policy_mark *mark = NULL;

	for (size_t i = 0; i < policy->layers_len; i++) {
		const struct policy_read *layer = policy->layers[i];
		const struct policy_mark *found = names_control(layer, control);
		if (found == NULL && !layer->is_level &&
		    (layer->has_degrade || (first == NULL && asks_for(policy, i, control))))
			return false;
		if (found == NULL || first != NULL)
			continue;
		first = layer;
		mark = found;
	}
	if (first == NULL)
		return false;
	if (ret_origin != NULL)
		*ret_origin = policy_origin(first, mark->at);
	return true;
}
