/*
 * What contradicts itself, in one file and in a whole stack, by the rows of one table.
 *
 * A rule sees a key as `struct said`: of one file what that file says, of a stack what all of it
 * comes to before anything lies dormant. So a row is written once and holds in both. What is found
 * in a stack belongs to the file in which its place is, and is told with that file's other
 * findings.
 */
#include "policy/contradict.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"

#include "base/banned.h"

#define SOME   \
 {             \
  WHEN_SOME, 0 \
 }
#define USED(n) \
 {              \
  WHEN_USED, n  \
 }
#define HELD(n) \
 {              \
  WHEN_HELD, n  \
 }

static const struct policy_contradiction_rule rules[] = {
#define CONTRADICTION(symbol, code, severity, across, most, field, is, by, by_is, backends, find, \
    message, rest, other, help)                                                                   \
 { HL##code, POLICY_##severity, POLICY_ACROSS_##across, POLICY_##field, POLICY_##by, is, by_is,   \
	 BACKENDS_##backends, FIND_##find, message, rest, other, help },
#include "policy/contradictions.def"
#undef CONTRADICTION
};

/* ------------------------------------------------------------------------------------------------
 * What is said of a key
 */

static struct spot
spot_in_file(const struct policy_read *layer, struct diag_at at)
{
	return (struct spot){ policy_origin(layer, at), at.width };
}

struct spot
contradict_spot(const struct hl_origin *origin)
{
	return (struct spot){ *origin, 1 };
}

static struct said
said_in_file(const struct policy_read *layer, enum policy_field field)
{
	const struct policy_given *given = &layer->given[field];

	return (struct said){
		.is_set = given->is_set,
		.is_bounded = given->is_set && given->has_bound,
		.is_used = given->is_set && given->has_default,
		.bound = given->bound,
		.number = given->number,
		.text = given->text,
		.items = given->items,
		.bound_at = spot_in_file(layer, given->at),
		.used_at = spot_in_file(layer, given->default_at),
	};
}

static bool
is_cut_by_bounds(enum policy_field field)
{
	return policy_kind_is_list(policy_field_kind(field)) &&
	       policy_field_info(field)->merge != MERGE_UNION_DENY;
}

static struct said
said_in_stack(struct look *look, enum policy_field field)
{
	const struct policy_state *state = &look->policy->states[field];
	struct said said = {
		.is_set = state->is_bounded || state->has_default,
		.is_bounded = state->is_bounded,
		.is_used = state->has_default,
		.bound = state->bound,
		.number = state->number,
		.text = state->text,
		.items = state->items,
		.bound_at = contradict_spot(&state->bound_origin),
		.used_at = contradict_spot(&state->origin),
	};

	/* Of its parts `at` is what others are held against. */
	if (field == POLICY_FS_WORKDIR)
		said.used_at = contradict_spot(&look->policy->workdir_at_origin);
	if (is_cut_by_bounds(field)) {
		if (!policy_cut_list(&look->policy->arena, policy_field_kind(field), state,
			&said.items))
			look->is_oom = true;
	} else if (policy_field_kind(field) <= POLICY_KIND_MILLI && said.is_used &&
		   said.is_bounded && !policy_number_is_inside(field, said.number, said.bound)) {
		said.number = policy_number_of_both(field, said.number, said.bound);
		said.used_at = said.bound_at;
	}
	return said;
}

struct said
contradict_said(struct look *look, enum policy_field field)
{
	return look->layer != NULL ? said_in_file(look->layer, field) : said_in_stack(look, field);
}

bool
contradict_is_so(const struct said *said, const struct state_of_key *is)
{
	switch (is->when) {
	case WHEN_SOME:
		return said->items.len > 0;
	case WHEN_USED:
		return said->is_used && said->number == is->rank;
	case WHEN_HELD:
		return said->is_bounded && said->bound <= is->rank;
	}
	return false;
}

static struct spot
spot_when(const struct said *said, const struct state_of_key *is)
{
	return is->when == WHEN_HELD ? said->bound_at : said->used_at;
}

int
contradict_layer(const struct policy *policy, const struct hl_origin *origin)
{
	for (size_t i = 0; i < policy->layers_len; i++)
		if (origin->where.file == policy->layers[i]->name)
			return (int)i;
	return -1;
}

static bool
is_file(const struct policy *policy, int index)
{
	return index >= 0 && !policy->layers[index]->is_level;
}

/* Nobody wrote what a level says: then it is told where the other one is, if it is told at all.
 * What is refused has a place in any case: of two levels it is that of the file which brings them.
 */
static bool
judge(const struct policy *policy, struct policy_contradiction *found)
{
	int at = contradict_layer(policy, &found->at);
	int other = contradict_layer(policy, &found->other);

	found->severity = found->rule->severity;
	/* Told of the file. */
	if (found->severity == POLICY_WARNING && at == other)
		return false;
	if (found->rule->across == POLICY_ACROSS_DORMANT) {
		found->severity = at < other ? POLICY_NOTE : POLICY_WARNING;
		return is_file(policy, at);
	}
	if (is_file(policy, at))
		return true;
	struct hl_origin turned = found->at;
	found->at = found->other;
	found->other = turned;
	for (size_t i = policy->layers_len; !is_file(policy, other) && i-- > 0;)
		if (is_file(policy, (int)i)) {
			other = (int)i;
			found->at = policy_origin(policy->layers[i], (struct diag_at){ 1, 1, 0 });
		}
	return true;
}

/* Whether what the row finds here can refuse anything. */
static bool
may_refuse(const struct look *look)
{
	return look->rule->severity == POLICY_ERROR &&
	       (look->layer != NULL || look->rule->across == POLICY_ACROSS_REFUSED);
}

/* The last one that refuses nothing, or NULL. */
static struct policy_contradiction *
least(struct policy_contradictions *found)
{
	for (size_t i = found->len; i-- > 0;)
		if (found->v[i].severity != POLICY_ERROR)
			return &found->v[i];
	return NULL;
}

/* One more than can be told is enough to know that there are more; but what refuses has a place
 * before what does not. */
bool
contradict_is_full(const struct look *look)
{
	return look->out->len == HL_ARRAY_SIZE(look->out->v) &&
	       (!may_refuse(look) || least(look->out) == NULL);
}

void
contradict_found(struct look *look, const struct spot *at, const struct spot *other,
    const char *name, const char *rest)
{
	struct policy_contradictions *out = look->out;
	struct policy_contradiction found = { .rule = look->rule,
		.severity = look->rule->severity,
		.at = at->origin,
		.width = at->width,
		.other = other->origin,
		.name = name,
		.rest = rest };

	if (look->layer == NULL && !judge(look->policy, &found))
		return;
	if (out->len < HL_ARRAY_SIZE(out->v)) {
		out->v[out->len++] = found;
		return;
	}
	struct policy_contradiction *replaced = least(out);
	if (found.severity == POLICY_ERROR && replaced != NULL)
		*replaced = found;
}

/* ------------------------------------------------------------------------------------------------
 * Two keys, and what backends they are for
 */

static bool
is_of_kind(enum kind_of_backends kind, const char *backend)
{
	switch (kind) {
	case BACKENDS_any:
		return true;
	case BACKENDS_cloud:
		return policy_is_cloud(backend);
	case BACKENDS_ssh:
		return strcmp(backend, "ssh") == 0;
	}
	return false;
}

/* Members that a file or a stack lets be used: its bound, or without one what is used. */
bool
contradict_allowed(struct look *look, enum policy_field field, struct policy_refs *ret_refs)
{
	const struct policy_items *items;

	if (look->layer == NULL && look->policy->states[field].is_bounded)
		return policy_flatten(&look->policy->arena, &look->policy->states[field], ret_refs);
	if (look->layer == NULL)
		items = &look->policy->states[field].items;
	else
		items = look->layer->given[field].has_bound ? &look->layer->given[field].allowed
							    : &look->layer->given[field].items;
	ret_refs->v = policy_arena_array(&look->policy->arena, items->len, sizeof(*ret_refs->v));
	if (ret_refs->v == NULL)
		return false;
	for (size_t i = 0; i < items->len; i++)
		ret_refs->v[i] = &items->v[i];
	ret_refs->len = items->len;
	return true;
}

static bool
are_backends(struct look *look, enum kind_of_backends kind)
{
	struct policy_refs allowed = { 0 };

	if (kind == BACKENDS_any)
		return true;
	if (!contradict_allowed(look, POLICY_BACKENDS, &allowed)) {
		look->is_oom = true;
		return false;
	}
	for (size_t i = 0; i < allowed.len; i++)
		if (!is_of_kind(kind, allowed.v[i]->text))
			return false;
	return allowed.len > 0;
}

static void
find_pair(struct look *look)
{
	const struct policy_contradiction_rule *rule = look->rule;
	struct said field = contradict_said(look, rule->field),
		    by = contradict_said(look, rule->by);

	if (!contradict_is_so(&field, &rule->is) || !contradict_is_so(&by, &rule->by_is) ||
	    !are_backends(look, rule->backends))
		return;
	struct spot at = spot_when(&field, &rule->is), other = spot_when(&by, &rule->by_is);
	contradict_found(look, &at, &other, NULL, NULL);
}

/* Of one file alone nothing can be told: the levels and the other files may leave it some. */
static void
find_no_backend(struct look *look)
{
	struct policy_refs allowed = { 0 };

	if (look->layer != NULL)
		return;
	const struct policy_state *state = &look->policy->states[POLICY_BACKENDS];
	if (!contradict_allowed(look, POLICY_BACKENDS, &allowed)) {
		look->is_oom = true;
		return;
	}
	if (allowed.len > 0 || !(state->is_bounded || state->has_default))
		return;
	struct spot at = contradict_spot(state->is_bounded ? &state->bound_origin : &state->origin);
	struct spot other = { 0 };
	if (state->lists_len > 0 && state->lists[0].origin.where.file != at.origin.where.file)
		other = contradict_spot(&state->lists[0].origin);
	contradict_found(look, &at, &other, NULL, NULL);
}

/* No limit is not a longer one: then the sandbox's life is the limit. On another backend, too, a
 * command may run for longer. */
static void
find_times(struct look *look)
{
	struct said wall = contradict_said(look, POLICY_LIMITS_WALL);
	struct said life = contradict_said(look, POLICY_CLOUD_LIFETIME);
	uint64_t longest = wall.is_used ? wall.number : wall.bound;

	if (!wall.is_set || !life.is_bounded || longest == POLICY_UNLIMITED ||
	    longest <= life.bound || !are_backends(look, look->rule->backends))
		return;
	contradict_found(look, wall.is_used ? &wall.used_at : &wall.bound_at, &life.bound_at, NULL,
	    NULL);
}

/* Whoever is silent about allow_root does not allow it; of one file another may speak. */
static void
find_root_user(struct look *look)
{
	struct said user = contradict_said(look, POLICY_PROCESS_USER);
	struct said root = contradict_said(look, POLICY_PROCESS_ALLOW_ROOT);
	bool is_held = contradict_is_so(&root, &look->rule->by_is);

	if (user.text == NULL || !policy_user_is_root(user.text) ||
	    (look->layer != NULL && !is_held && !root.is_used) ||
	    (!is_held && root.is_used && root.number != 0))
		return;
	contradict_found(look, &user.used_at,
	    root.is_used || !root.is_bounded ? &root.used_at : &root.bound_at,
	    strcmp(user.text, "0") == 0 || strncmp(user.text, "0:", 2) == 0 ? "root"
									    : "in root's group",
	    NULL);
}

/* ------------------------------------------------------------------------------------------------
 * All rows
 */

static void
follow(struct look *look)
{
	static void (*const finders[])(struct look *) = {
		[FIND_pair] = find_pair,
		[FIND_backends] = find_no_backend,
		[FIND_denied] = contradict_denied,
		[FIND_home] = contradict_home,
		[FIND_places] = contradict_places,
		[FIND_root] = contradict_root,
		[FIND_secrets] = contradict_secrets,
		[FIND_times] = find_times,
		[FIND_user] = find_root_user,
		[FIND_variables] = contradict_variables,
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(rules); i++) {
		look->rule = &rules[i];
		finders[rules[i].find](look);
	}
}

static void
tell(struct diag *diag, const struct policy_contradiction *found)
{
	const struct policy_contradiction_rule *rule = found->rule;
	struct diag_at at = { found->at.where.line, found->at.where.column, found->width };
	char text[240];

	(void)snprintf(text, sizeof(text), "%s%.80s%s", rule->message,
	    found->name != NULL ? found->name : "", found->rest != NULL ? found->rest : rule->rest);
	policy_diag_tell(diag, found->severity, rule->code, at, text);
	policy_diag_other(diag, found->other.where, rule->other);
	policy_diag_help(diag, "%s", rule->help);
}

int
policy_contradictions_in_file(struct policy *policy, const struct policy_read *layer,
    struct diag *diag, struct hl_err *err)
{
	struct policy_contradictions out = { .len = 0 };
	struct look look = { .layer = layer, .policy = policy, .out = &out };

	follow(&look);
	for (size_t i = 0; i < out.len; i++)
		tell(diag, &out.v[i]);
	return look.is_oom ? hl_err_oom(err) : 0;
}

int
policy_contradictions_find(struct policy *policy, struct policy_contradictions *ret_found,
    struct hl_err *err)
{
	struct look look = { .policy = policy, .out = ret_found };

	*ret_found = (struct policy_contradictions){ .len = 0 };
	follow(&look);
	return look.is_oom ? hl_err_oom(err) : 0;
}

void
policy_contradictions_tell(const struct policy_contradictions *found,
    const struct policy_read *layer, struct diag *diag)
{
	for (size_t i = 0; i < found->len; i++)
		if (found->v[i].at.where.file == layer->name)
			tell(diag, &found->v[i]);
}
