/*
 * The environment, built from nothing. A name is in it because the launcher builds it, because
 * env.pass lets the caller's through, or because env.set gives it; protected names (credentials,
 * endpoints that redirect them, variables that make a loader or shell run code) are in none of
 * these. A value that is not the caller's plain terminal setting counts as private: it travels in
 * frames to the runner and nowhere else.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

static const char safe_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* Names whose values are plain settings, of no interest to anybody. */
static const char *const plain_names[] = { "LANG", "LC_*", "PATH", "TERM", "TZ" };

/* Names that the launcher builds; the caller's own are not passed, and not counted as withheld. */
static const char *const built_names[] = { "HOME", "LOGNAME", "PATH", "SHELL", "USER" };

/* Of the shell that called us, not of the command. */
static const char *const shell_names[] = { "OLDPWD", "PWD", "SHLVL", "_" };

static bool
is_among(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (hl_glob_match(names[i], name))
			return true;
	return false;
}

static void
env_done(struct plan_env *env)
{
	free(env->name);
	if (env->value != NULL)
		explicit_bzero(env->value, strlen(env->value));
	free(env->value);
	*env = (struct plan_env){ 0 };
}

bool
plan_env_is_built(const struct plan_env *env)
{
	return strcmp(env->origin.layer, "built-in") == 0 &&
	       is_among(built_names, HL_ARRAY_SIZE(built_names), env->name);
}

bool
plan_env_name_is_built(const char *name)
{
	return is_among(built_names, HL_ARRAY_SIZE(built_names), name);
}

static struct plan_env *
env_find(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->env_len; i++)
		if (strcmp(plan->env[i].name, name) == 0)
			return &plan->env[i];
	return NULL;
}

/* Adds or replaces. The one way into the plan, and so the last place to stop a protected name,
 * whichever rule let it come this far. */
static int
env_put(struct plan *plan, const char *name, const char *value, const struct hl_origin *origin,
    struct hl_err *err)
{
	if (policy_name_class(name, strlen(name)) != POLICY_NAME_PLAIN)
		return 0;
	struct plan_env env = {
		.name = strdup(name),
		.value = strdup(value),
		.origin = *origin,
	};
	struct plan_env *same = env_find(plan, name);

	if (env.name == NULL || env.value == NULL || plan->env_len >= PLAN_ENV_MAX) {
		env_done(&env);
		return hl_err_set(err, HLI_03,
		    "environment: more than %d variables, or memory ended", PLAN_ENV_MAX);
	}
	if (same != NULL) {
		env_done(same);
		*same = env;
		return 0;
	}
	struct plan_env *items = reallocarray(plan->env, plan->env_len + 1, sizeof(*items));
	if (items == NULL) {
		env_done(&env);
		return hl_err_oom(err);
	}
	plan->env = items;
	plan->env[plan->env_len++] = env;
	return 0;
}

static void
mark_private(const struct plan *plan, const char *name)
{
	struct plan_env *env = env_find(plan, name);

	if (env != NULL)
		env->is_private = true;
}

static bool
is_callers_account(const struct host *host, const struct plan *plan)
{
	return plan->user_kind == PLAN_USER_CALLER && plan->uid == host->uid;
}

static int
put_built(const struct host *host, struct plan *plan, struct hl_err *err)
{
	char number[16];
	const struct hl_origin origin = plan_built_in();
	const char *user = plan->uid == 0 ? "root" : plan->uid == 65534 ? "nobody" : number;

	(void)snprintf(number, sizeof(number), "%u", plan->uid);
	if (is_callers_account(host, plan) && (plan_is_local(plan) || plan->uid == 0))
		user = host->user;
	/* An image's user is known to the image only; its own USER, if any, comes with its
	 * variables. */
	if (plan->user_kind != PLAN_USER_IMAGE &&
	    (env_put(plan, "USER", user, &origin, err) != 0 ||
		env_put(plan, "LOGNAME", user, &origin, err) != 0))
		return -1;
	if (env_put(plan, "PATH", safe_path, &origin, err) != 0 ||
	    env_put(plan, "SHELL", "/bin/sh", &origin, err) != 0)
		return -1;
	return env_put(plan, "HOME", plan->home.path, &origin, err);
}

/* ------------------------------------------------------------------------------------------------
 * env.pass
 */
static bool
has_glob(const char *text)
{
	return strpbrk(text, "*?") != NULL;
}

const struct policy_item *
plan_env_rule(const struct policy_value *pass, const char *name)
{
	const char *const *built = built_names;

	for (size_t i = 0; i < pass->items_len; i++) {
		const char *pattern = pass->items[i].text;
		bool is_exact = strcmp(pattern, name) == 0;
		/* The caller's PATH passes when it is named; the rest of what we build never does.
		 */
		if (is_among(built, HL_ARRAY_SIZE(built_names), name) &&
		    !(is_exact && strcmp(name, "PATH") == 0))
			continue;
		if (is_exact || hl_glob_match(pattern, name))
			return &pass->items[i];
	}
	return NULL;
}

/* name of one NAME=VALUE of the caller; false for what no shell could have set as a variable. */
static bool
split(const char *entry, char *name, size_t size, const char **ret_value)
{
	size_t n = strcspn(entry, "=");

	if (entry[n] != '=' || n >= size || !hl_is_env_name(entry, n))
		return false;
	memcpy(name, entry, n);
	name[n] = '\0';
	*ret_value = entry + n + 1;
	return true;
}

enum {
	ENV_NAME_SIZE = 129
};

static int
put_passed(const struct policy_value *pass, const struct host *host, struct plan *plan,
    struct hl_err *err)
{
	for (char *const *entry = host->environ_; *entry != NULL; entry++) {
		char name[ENV_NAME_SIZE];
		const char *value;
		const struct policy_item *rule = NULL;
		if (split(*entry, name, sizeof(name), &value))
			rule = plan_env_rule(pass, name);
		if (rule == NULL)
			continue;
		const struct plan_env *known = env_find(plan, name);
		if (known != NULL && !plan_env_is_built(known))
			continue; /* given twice: the first counts, as for getenv(3) */
		if (env_put(plan, name, value, &rule->origin, err) != 0)
			return -1;
		if (!is_among(plain_names, HL_ARRAY_SIZE(plain_names), name))
			mark_private(plan, name);
	}
	return 0;
}

bool
plan_env_is_private(const struct policy *policy, const char *name)
{
	return plan_env_rule(policy_get(policy, POLICY_ENV_PASS), name) != NULL &&
	       !is_among(plain_names, HL_ARRAY_SIZE(plain_names), name);
}

static int
put_set(const struct policy *policy, struct plan *plan, struct hl_err *err)
{
	const struct policy_value *set = policy_get(policy, POLICY_ENV_SET);

	for (size_t i = 0; i < set->items_len; i++) {
		const struct policy_item *item = &set->items[i];
		if (env_put(plan, item->name, item->text, &item->origin, err) != 0)
			return -1;
		mark_private(plan, item->name);
	}
	return 0;
}

static int
compare_env(const void *a, const void *b)
{
	const struct plan_env *left = a;
	const struct plan_env *right = b;

	return strcmp(left->name, right->name);
}

/* Of the caller's variables, which did not get in? */
static bool
is_withheld(const struct plan *plan, const char *entry, char *name, size_t size)
{
	const char *value;

	if (!split(entry, name, size, &value))
		return false;
	return env_find(plan, name) == NULL &&
	       !is_among(built_names, HL_ARRAY_SIZE(built_names), name) &&
	       !is_among(shell_names, HL_ARRAY_SIZE(shell_names), name);
}

int
plan_environment(const struct policy *policy, const struct request *request,
    const struct host *host, struct plan *plan, struct hl_err *err)
{
	const struct policy_value *pass = policy_get(policy, POLICY_ENV_PASS);
	char name[ENV_NAME_SIZE];

	(void)request; /* --env has been judged and is in the policy */
	if (put_built(host, plan, err) != 0 || put_passed(pass, host, plan, err) != 0 ||
	    put_set(policy, plan, err) != 0)
		return -1;
	if (plan->env_len > 1)
		qsort(plan->env, plan->env_len, sizeof(*plan->env), compare_env);
	for (char *const *entry = host->environ_; *entry != NULL; entry++)
		plan->withheld += is_withheld(plan, *entry, name, sizeof(name));
	return 0;
}

void
plan_env_done(struct plan *plan)
{
	for (size_t i = 0; i < plan->env_len; i++)
		env_done(&plan->env[i]);
	free(plan->env);
	plan->env = NULL;
	plan->env_len = 0;
}

void
plan_env_notes(const struct policy *policy, const struct host *host, const struct plan *plan,
    struct plan_notes *notes)
{
	const struct policy_value *pass = policy_get(policy, POLICY_ENV_PASS);
	char name[ENV_NAME_SIZE];

	for (char *const *entry = host->environ_; *entry != NULL; entry++)
		if (is_withheld(plan, *entry, name, sizeof(name)) &&
		    !hl_strv_contains(&notes->withheld, name))
			hl_strv_add(&notes->withheld, name);
	hl_strv_sort(&notes->withheld);
	for (size_t i = 0; i < pass->items_len; i++) {
		const char *text = pass->items[i].text;
		if (!pass->is_explicit || has_glob(text))
			continue;
		if (is_among(built_names, HL_ARRAY_SIZE(built_names), text) &&
		    strcmp(text, "PATH") != 0)
			hl_strv_addf(&notes->lines,
			    "env.pass: '%s' is built by the launcher; the caller's does not pass",
			    text);
		else if (env_find(plan, text) == NULL)
			hl_strv_addf(is_among(plain_names, HL_ARRAY_SIZE(plain_names), text)
					 ? &notes->lines
					 : &notes->warnings,
			    "env.pass: the caller has no variable '%s'", text);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Of a call
 */
static bool
is_kept_from_image(const struct plan *plan, const char *name)
{
	const struct plan_env *ours = env_find(plan, name);

	if (policy_name_class(name, strlen(name)) != POLICY_NAME_PLAIN)
		return false;
	/* An image knows where its programs are; our fixed PATH is for roots that do not say. */
	return ours == NULL || (strcmp(name, "PATH") == 0 && plan_env_is_built(ours));
}

int
plan_call_environment(const struct plan *plan, const struct hl_strv *image_env,
    struct hl_strv *ret_env, struct hl_err *err)
{
	bool has_path = false;
	HL_AUTO(hl_strv_done_secret) struct hl_strv env;

	hl_strv_init(&env, PLAN_ENV_MAX);
	for (size_t i = 0; i < image_env->len; i++) {
		char name[ENV_NAME_SIZE];
		const char *value;
		if (!split(image_env->v[i], name, sizeof(name), &value) ||
		    !is_kept_from_image(plan, name))
			continue;
		has_path |= strcmp(name, "PATH") == 0;
		hl_strv_add(&env, image_env->v[i]);
	}
	for (size_t i = 0; i < plan->env_len; i++) {
		const struct plan_env *item = &plan->env[i];
		if (has_path && strcmp(item->name, "PATH") == 0)
			continue;
		hl_strv_addf(&env, "%s=%s", item->name, item->value);
	}
	if (hl_strv_check(&env, "environment", err) != 0)
		return -1;
	*ret_env = env;
	env = (struct hl_strv){ 0 };
	return 0;
}
