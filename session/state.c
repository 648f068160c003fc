/*
 * What is kept from call to call: a difference to the session's first environment, and its merge.
 *
 * A call is compared with the state at its own start, and only what it changed is carried over to
 * the state as it is by then. So of two calls that ran at the same time both leave their changes,
 * and where both changed the same name the last to end wins. Nothing here reads text of a shell.
 */
#include "session/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* ------------------------------------------------------------------------------------------------
 * Sorted pairs
 */
static void
pair_done(struct pair *pair)
{
	if (pair->value != NULL)
		explicit_bzero(pair->value, strlen(pair->value));
	free(pair->name);
	free(pair->value);
}

void
pairs_done(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->len; i++)
		pair_done(&pairs->v[i]);
	free(pairs->v);
	*pairs = (struct pairs){ 0 };
}

/* The place of name, or where it would be. */
static size_t
place(const struct pairs *pairs, const char *name, bool *ret_is_there)
{
	size_t low = 0, high = pairs->len;

	*ret_is_there = false;
	/* What comes from a shell comes sorted: mostly the place is the end. */
	if (high > 0 && strcmp(pairs->v[high - 1].name, name) < 0)
		return high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(pairs->v[middle].name, name);
		if (order == 0) {
			*ret_is_there = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct pair *
pairs_find(const struct pairs *pairs, const char *name)
{
	bool is_there;
	size_t at = place(pairs, name, &is_there);

	return is_there ? &pairs->v[at] : NULL;
}

static int
pair_copy(const struct pair *pair, struct pair *ret_copy)
{
	*ret_copy = (struct pair){ .name = strdup(pair->name), .is_exported = pair->is_exported };
	if (pair->value != NULL)
		ret_copy->value = strdup(pair->value);
	if (ret_copy->name != NULL && (pair->value == NULL || ret_copy->value != NULL))
		return 0;
	pair_done(ret_copy);
	return -1;
}

int
pairs_set(struct pairs *pairs, const struct pair *pair)
{
	struct pair copy;
	bool is_there;
	size_t at = place(pairs, pair->name, &is_there);

	if (!is_there && pairs->len == pairs->capacity) {
		size_t capacity = pairs->capacity > 0 ? pairs->capacity * 2 : 16;
		struct pair *v = reallocarray(pairs->v, capacity, sizeof(*v));
		if (v == NULL)
			return -1;
		pairs->v = v;
		pairs->capacity = capacity;
	}
	if (pair_copy(pair, &copy) != 0)
		return -1;
	if (is_there) {
		pair_done(&pairs->v[at]);
	} else {
		memmove(&pairs->v[at + 1], &pairs->v[at], (pairs->len - at) * sizeof(copy));
		pairs->len++;
	}
	pairs->v[at] = copy;
	return 0;
}

void
pairs_remove(struct pairs *pairs, const char *name)
{
	bool is_there;
	size_t at = place(pairs, name, &is_there);

	if (!is_there)
		return;
	pair_done(&pairs->v[at]);
	pairs->len--;
	memmove(&pairs->v[at], &pairs->v[at + 1], (pairs->len - at) * sizeof(pairs->v[0]));
}

static int
pairs_copy(const struct pairs *from, struct pairs *to)
{
	to->v = reallocarray(NULL, from->len > 0 ? from->len : 1, sizeof(to->v[0]));
	if (to->v == NULL)
		return -1;
	to->capacity = from->len > 0 ? from->len : 1;
	for (; to->len < from->len; to->len++)
		if (pair_copy(&from->v[to->len], &to->v[to->len]) != 0)
			return -1;
	return 0;
}

int
pairs_from_env(struct pairs *pairs, const struct hl_strv *env)
{
	for (size_t i = 0; i < env->len; i++) {
		char *equals = strchr(env->v[i], '=');
		if (equals == NULL)
			continue;
		char *name HL_AUTO_FREE = strndup(env->v[i], (size_t)(equals - env->v[i]));
		const struct pair pair = { .name = name, .value = equals + 1 };
		if (name == NULL || pairs_set(pairs, &pair) != 0)
			return -1;
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * struct kept
 */
struct kept *
kept_hold(struct kept *kept)
{
	kept->refs++;
	return kept;
}

void
kept_release(struct kept *kept)
{
	if (kept == NULL || --kept->refs > 0)
		return;
	pairs_done(&kept->variables);
	pairs_done(&kept->functions);
	pairs_done(&kept->aliases);
	free(kept->options);
	free(kept->cwd);
	free(kept->oldpwd);
	free(kept);
}

static int
text_copy(const char *from, char **to)
{
	if (from == NULL)
		return 0;
	*to = strdup(from);
	return *to != NULL ? 0 : -1;
}

static struct kept *
kept_copy(const struct kept *from)
{
	struct kept *copy = calloc(1, sizeof(*copy));

	if (copy == NULL)
		return NULL;
	copy->refs = 1;
	if (pairs_copy(&from->variables, &copy->variables) == 0 &&
	    pairs_copy(&from->functions, &copy->functions) == 0 &&
	    pairs_copy(&from->aliases, &copy->aliases) == 0 &&
	    text_copy(from->options, &copy->options) == 0 &&
	    text_copy(from->cwd, &copy->cwd) == 0 && text_copy(from->oldpwd, &copy->oldpwd) == 0)
		return copy;
	kept_release(copy);
	return NULL;
}

static int
replace_text(char **text, const char *with)
{
	char *copy = NULL;

	if (text_copy(with, &copy) != 0)
		return -1;
	free(*text);
	*text = copy;
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The door
 */
int
session_state_new(const char *cwd, struct session_state **ret_state, struct hl_err *err)
{
	struct session_state *state = calloc(1, sizeof(*state));

	if (state != NULL)
		state->kept = calloc(1, sizeof(*state->kept));
	if (state == NULL || state->kept == NULL) {
		free(state);
		return hl_err_oom(err);
	}
	state->kept->refs = 1;
	if (session_state_set_cwd(state, cwd, err) != 0) {
		session_state_free(state);
		return -1;
	}
	*ret_state = state;
	return 0;
}

int
session_state_copy(const struct session_state *state, struct session_state **ret_copy,
    struct hl_err *err)
{
	struct session_state *copy = calloc(1, sizeof(*copy));

	if (copy == NULL)
		return hl_err_oom(err);
	copy->kept = kept_hold(state->kept);
	*ret_copy = copy;
	return 0;
}

void
session_state_free(struct session_state *state)
{
	if (state == NULL)
		return;
	kept_release(state->kept);
	free(state);
}

const char *
session_state_cwd(const struct session_state *state)
{
	return state->kept->cwd;
}

/* A copy to change, which takes the state's place only when all of the change has succeeded. */
static struct kept *
begin_change(const struct session_state *state)
{
	return kept_copy(state->kept);
}

static void
end_change(struct session_state *state, struct kept *changed)
{
	kept_release(state->kept);
	state->kept = changed;
}

/* Bytes that all of it adds to an environment: see state_environment(). */
static int
check_size(const struct kept *kept, struct hl_err *err)
{
	size_t bytes = sizeof("PWD=") + (kept->cwd != NULL ? strlen(kept->cwd) : 0);

	if (kept->oldpwd != NULL)
		bytes += sizeof("OLDPWD=") + strlen(kept->oldpwd);
	for (size_t i = 0; i < kept->variables.len; i++) {
		const struct pair *pair = &kept->variables.v[i];
		bytes += strlen(pair->name) + 2 + (pair->value != NULL ? strlen(pair->value) : 0);
	}
	if (bytes > SESSION_ENV_MAX || kept->variables.len > SESSION_NAMES_MAX)
		return hl_err_set(err, HLB_13, "the variables to keep are more than %d bytes",
		    SESSION_ENV_MAX);
	return 0;
}

int
session_state_set_cwd(struct session_state *state, const char *cwd, struct hl_err *err)
{
	if (!hl_path_is_normal(cwd))
		return hl_err_set(err, HLB_13,
		    "the working directory is not an absolute path without '.' and '..'");
	struct kept *changed = begin_change(state);
	if (changed == NULL || replace_text(&changed->cwd, cwd) != 0) {
		kept_release(changed);
		return hl_err_oom(err);
	}
	if (check_size(changed, err) != 0) {
		kept_release(changed);
		return -1;
	}
	end_change(state, changed);
	return 0;
}

int
session_state_set(struct session_state *state, const char *name, const char *value,
    struct hl_err *err)
{
	union {
		const char *from;
		char *to;
	} text = { .from = name }, content = { .from = value };
	const struct pair pair = { .name = text.to, .value = content.to };

	if (!hl_is_env_name(name, strlen(name)) || state_is_internal(name))
		return hl_err_set(err, HLB_13, "'%.128s' is not a name that a session can keep",
		    name);
	struct kept *changed = begin_change(state);
	if (changed == NULL || pairs_set(&changed->variables, &pair) != 0) {
		kept_release(changed);
		return hl_err_oom(err);
	}
	if (check_size(changed, err) != 0) {
		kept_release(changed);
		return -1;
	}
	end_change(state, changed);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Which names
 */
bool
state_is_internal(const char *name)
{
	static const char *const names[] = { "_", "BASH", "BASHOPTS", "BASHPID", "EUID", "OLDPWD",
		"PPID", "PWD", "SHELLOPTS", "SHLVL", "UID" };

	if (strncmp(name, "BASH_", 5) == 0 || strncmp(name, "__hl_", 5) == 0)
		return true;
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

bool
state_is_own_function(const char *name)
{
	return strcmp(name, "trap") == 0 || strcmp(name, "builtin") == 0 ||
	       strncmp(name, "__hl_", 5) == 0;
}

static bool
is_own(const struct hl_strv *env, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; env != NULL && i < env->len; i++)
		if (strncmp(env->v[i], name, len) == 0 && env->v[i][len] == '=')
			return true;
	return false;
}

static bool
is_kept(const struct start *start, const char *name)
{
	return hl_is_env_name(name, strlen(name)) && !state_is_internal(name) &&
	       !is_own(start->own_env, name) &&
	       (start->may_keep == NULL || start->may_keep(start->context, name));
}

/* ------------------------------------------------------------------------------------------------
 * The merge
 */
/* The value that a variable had when the call began; NULL = none. */
static const char *
value_at_start(const struct start *start, const char *name)
{
	const struct pair *pair = pairs_find(&start->kept->variables, name);

	if (pair == NULL)
		pair = pairs_find(start->base, name);
	return pair != NULL ? pair->value : NULL;
}

/* What is as in the first environment needs no entry. */
static int
put_variable(struct kept *kept, const struct pairs *base, const struct pair *pair)
{
	const struct pair *first = pairs_find(base, pair->name);
	bool is_first = first == NULL
			    ? pair->value == NULL
			    : pair->value != NULL && strcmp(first->value, pair->value) == 0;

	if (!is_first)
		return pairs_set(&kept->variables, pair);
	pairs_remove(&kept->variables, pair->name);
	return 0;
}

/* What was there at the start and is not any more. */
static int
merge_unset(struct kept *kept, const struct start *start, const struct pairs *before,
    const struct report *report)
{
	for (size_t i = 0; i < before->len; i++) {
		const struct pair gone = { .name = before->v[i].name };
		if (is_kept(start, gone.name) && value_at_start(start, gone.name) != NULL &&
		    pairs_find(&report->variables, gone.name) == NULL &&
		    put_variable(kept, start->base, &gone) != 0)
			return -1;
	}
	return 0;
}

static int
merge_variables(struct kept *kept, const struct start *start, const struct report *report)
{
	for (size_t i = 0; i < report->variables.len; i++) {
		const struct pair *pair = &report->variables.v[i];
		if (!is_kept(start, pair->name))
			continue;
		const char *before = value_at_start(start, pair->name);
		if ((before == NULL || strcmp(before, pair->value) != 0) &&
		    put_variable(kept, start->base, pair) != 0)
			return -1;
	}
	if (merge_unset(kept, start, start->base, report) != 0)
		return -1;
	return merge_unset(kept, start, &start->kept->variables, report);
}

static bool
is_same(const struct pair *a, const struct pair *b)
{
	return a != NULL && b != NULL && strcmp(a->value, b->value) == 0 &&
	       a->is_exported == b->is_exported;
}

/* Functions and aliases: no first set to compare with. */
static int
merge_pairs(struct pairs *kept, const struct pairs *before, const struct pairs *after)
{
	for (size_t i = 0; i < after->len; i++)
		if (!is_same(pairs_find(before, after->v[i].name), &after->v[i]) &&
		    pairs_set(kept, &after->v[i]) != 0)
			return -1;
	for (size_t i = 0; i < before->len; i++)
		if (pairs_find(after, before->v[i].name) == NULL)
			pairs_remove(kept, before->v[i].name);
	return kept->len <= SESSION_NAMES_MAX ? 0 : -1;
}

static int
merge_places(struct kept *kept, const struct start *start, const struct report *report)
{
	const struct pair *oldpwd = pairs_find(&report->variables, "OLDPWD");

	if (strcmp(report->cwd, start->cwd) != 0 && replace_text(&kept->cwd, report->cwd) != 0)
		return -1;
	if (oldpwd != NULL &&
	    (start->kept->oldpwd == NULL || strcmp(start->kept->oldpwd, oldpwd->value) != 0) &&
	    replace_text(&kept->oldpwd, oldpwd->value) != 0)
		return -1;
	return start->has_options ? replace_text(&kept->options, report->options) : 0;
}

/* The next call must be able to begin: what is kept has to fit into what carries it. */
static int
check_text(const struct start *start, struct kept *changed, struct hl_err *err)
{
	struct start next = *start;
	struct hl_buf text HL_AUTO(hl_buf_done_secret) = { 0 };

	next.kept = changed;
	next.has_options = true;
	hl_buf_init(&text, SESSION_STATE_MAX);
	return state_text(&next, &text, err);
}

int
state_merge(struct session_state *state, const struct start *start, const struct report *report,
    struct hl_err *err)
{
	struct kept *changed = begin_change(state);

	if (changed == NULL)
		return hl_err_oom(err);
	int status = 0;
	if (merge_variables(changed, start, report) != 0 ||
	    merge_pairs(&changed->functions, &start->kept->functions, &report->functions) != 0 ||
	    merge_pairs(&changed->aliases, &start->kept->aliases, &report->aliases) != 0 ||
	    merge_places(changed, start, report) != 0)
		status = hl_err_set(err, HLB_13, "more is to be kept than a session can keep");
	if (status == 0)
		status = check_size(changed, err);
	if (status == 0)
		status = check_text(start, changed, err);
	if (status == 0)
		end_change(state, changed);
	else
		kept_release(changed);
	return status;
}
