/*
 * Conflicts: variables. A name passes when the policy lets it; credentials and what runs code
 * before the command never do, in no mode. Names of proxies and trust stores are looked at without
 * regard to letter case, because half of the programs that read them do so too. The caller's own
 * variables that choose an engine are a door of their own, held against docker.endpoint; those that
 * an engine would hand to the command (APPTAINERENV_NAME) are requests for NAME.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/conflicts_parts.h"

#include "base/banned.h"

/* Where a program sends its traffic and whom it trusts for it: these pass only when a layer's own
 * env.pass names them. Upper case; sorted. */
static const char *const egress_names[] = { "*_PROXY", "AWS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"GIT_SSL_*", "HOSTALIASES", "LOCALDOMAIN", "NODE_EXTRA_CA_CERTS",
	"NODE_TLS_REJECT_UNAUTHORIZED", "PIP_CERT", "REQUESTS_CA_BUNDLE", "RESOLV_*", "RES_OPTIONS",
	"SSL_CERT_DIR", "SSL_CERT_FILE" };

static bool
is_egress_name(const char *name)
{
	char folded[128];
	size_t len = strlen(name);

	if (len >= sizeof(folded))
		return false;
	for (size_t i = 0; i <= len; i++) {
		char c = name[i];

		folded[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(egress_names); i++) {
		if (hl_glob_match(egress_names[i], folded))
			return true;
	}
	return false;
}

/* Records the conflict, if it is one, and says whether the name may go on. */
static int
judge_name(struct judge *judge, const struct ask *ask, const char *name, bool *ret_passes)
{
	struct cause cause = { .cause = CAUSE_LOOSER, .control = "env.pass" };
	struct policy_judgement judgement;

	if (policy_name_class(name, strlen(name)) != POLICY_NAME_PLAIN) {
		const struct policy_judgement never = { .origin = { .layer = "built-in" },
			.bound = "no protected name" };

		cause.cause = CAUSE_PROTECTED;
		conflict_add(judge, ask, &cause, &never);
		*ret_passes = false;
		return 0;
	}
	if (policy_judge(judge->policy, POLICY_ENV_PASS, name, &judgement, judge->err) == -1) {
		judge->err->code = HLC_09;
		return hl_err_wrap(judge->err, "argument %d: %s", ask->argument, ask->spelling);
	}
	*ret_passes = true;
	if (judgement.verdict == POLICY_LOOSER) {
		*ret_passes = conflict_add(judge, ask, &cause, &judgement) == CONFLICT_WON;
		return 0;
	}
	if (judgement.verdict == POLICY_TIGHTER && is_egress_name(name) &&
	    !policy_get(judge->policy, POLICY_ENV_PASS)->is_bounded) {
		cause.effect = "send its traffic past the route that the policy chose";
		*ret_passes = conflict_add(judge, ask, &cause, NULL) == CONFLICT_WON;
	}
	return 0;
}

/* A value that the policy has fixed stays: *ret_action says what becomes of another one. */
static const struct policy_item *
fixed_value(const struct judge *judge, const char *name)
{
	const struct policy_value *set = policy_get(judge->policy, POLICY_ENV_SET);

	for (size_t i = 0; i < set->items_len; i++) {
		if (strcmp(set->items[i].name, name) == 0)
			return &set->items[i];
	}
	return NULL;
}

static int
judge_value(struct judge *judge, const struct ask *ask, const char *name, const char *value)
{
	const struct policy_item *fixed = fixed_value(judge, name);
	struct hl_origin origin = ask_origin(ask);
	struct policy_judgement judgement = { 0 };
	struct cause cause = { .cause = CAUSE_LOOSER,
		.control = "env.set",
		.bound = "a value of the policy's own" };
	enum conflict_action action = CONFLICT_WON;

	if (fixed != NULL && strcmp(fixed->origin.layer, "caller") != 0) {
		if (strcmp(fixed->text, value) == 0) {
			conflict_note(judge, ask, "changes nothing: the policy has it already");
			return 0;
		}
		judgement.origin = fixed->origin;
		judgement.is_locked = policy_get(judge->policy, POLICY_ENV_SET)->is_locked;
		snprintf(judgement.bound, sizeof(judgement.bound), "%s", cause.bound);
		if (conflict_add(judge, ask, &cause, &judgement) != CONFLICT_WON)
			return 0;
	} else if (conflict_is_locked(judge, ask, "env.set", &action)) {
		if (action != CONFLICT_WON)
			return 0;
	} else {
		judge->out->tightened++;
	}
	return policy_apply(judge->policy, POLICY_ENV_SET,
	    &(struct policy_change){ name, value, &origin }, judge->err);
}

static int
judge_pass(struct judge *judge, const struct ask *ask, const char *name)
{
	struct hl_origin origin = ask_origin(ask);
	struct policy_judgement judgement;

	if (policy_judge(judge->policy, POLICY_ENV_PASS, name, &judgement, judge->err) == -1)
		return -1;
	if (judgement.verdict == POLICY_SAME) {
		conflict_note(judge, ask, "changes nothing: the policy has it already");
		return 0;
	}
	if (judgement.verdict == POLICY_TIGHTER)
		judge->out->tightened++;
	return policy_apply(judge->policy, POLICY_ENV_PASS,
	    &(struct policy_change){ NULL, name, &origin }, judge->err);
}

int
judge_env(struct judge *judge, const struct ask *ask, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t len = equals != NULL ? (size_t)(equals - text) : strlen(text);
	char name[129];
	bool passes = false;

	if (!hl_is_env_name(text, len) || len >= sizeof(name))
		return judge_malformed(judge, ask, "NAME or NAME=VALUE");
	memcpy(name, text, len);
	name[len] = '\0';
	if (judge_name(judge, ask, name, &passes) == -1)
		return -1;
	if (!passes)
		return 0;
	if (equals == NULL)
		return judge_pass(judge, ask, name);
	return judge_value(judge, ask, name, equals + 1);
}

/* A value made of what the image brings: the name is judged, the value nobody can. */
int
rule_env_merge(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	const struct cause cause = { .cause = CAUSE_OPAQUE,
		.control = "env.set",
		.bound = "values that are the same with every image" };
	size_t len = strcspn(setting->value, "=");
	bool passes = false;
	char name[129];

	if (!hl_is_env_name(setting->value, len) || len >= sizeof(name) ||
	    setting->value[len] == '\0')
		return judge_malformed(judge, ask, "NAME=VALUE");
	memcpy(name, setting->value, len);
	name[len] = '\0';
	if (judge_name(judge, ask, name, &passes) == -1)
		return -1;
	return passes ? engine_conflict(judge, ask, setting, &cause) : 0;
}

/* The image's own variables, one or all: what the launcher gives comes later and stays. */
int
rule_env_unset(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	if (setting->is_bool && strcmp(setting->value, "false") == 0) {
		conflict_note(judge, ask, "changes nothing");
		return 0;
	}
	if (!setting->is_bool && !hl_is_env_name(setting->value, strlen(setting->value)))
		return judge_malformed(judge, ask, "NAME");
	return engine_tighten(judge, ask, setting);
}

/* ------------------------------------------------------------------------------------------------
 * One call of a session
 */
static bool
value_passes(struct judge *judge, const struct ask *ask, const char *name, const char *value)
{
	const struct policy_item *fixed = fixed_value(judge, name);
	const struct cause cause = { .cause = CAUSE_LOOSER,
		.control = "env.set",
		.bound = "a value of the policy's own" };
	enum conflict_action action = CONFLICT_WON;

	if (fixed == NULL || strcmp(fixed->origin.layer, "caller") == 0)
		return !conflict_is_locked(judge, ask, "env.set", &action) ||
		       action == CONFLICT_WON;
	return strcmp(fixed->text, value) == 0 ||
	       conflict_add(judge, ask, &cause, NULL) == CONFLICT_WON;
}

int
conflicts_judge_variable(struct policy *policy, const char *text, struct conflicts *ret_conflicts,
    bool *ret_passes, struct hl_err *err)
{
	struct judge judge = { .policy = policy, .out = ret_conflicts, .err = err };
	const char *equals = strchr(text, '=');
	size_t len = equals != NULL ? (size_t)(equals - text) : 0;
	char name[129], asked[160];
	const struct ask ask = { .spelling = "env", .asked = asked };

	ret_conflicts->len = ret_conflicts->refused = ret_conflicts->tightened = 0;
	judge.is_warn = policy_get(policy, POLICY_MODE)->number != 0;
	if (!hl_is_env_name(text, len) || len >= sizeof(name))
		return hl_err_set(err, HLC_09, "the name of a variable is [A-Za-z_][A-Za-z0-9_]*");
	memcpy(name, text, len);
	name[len] = '\0';
	snprintf(asked, sizeof(asked), "env %s=...", name);
	if (judge_name(&judge, &ask, name, ret_passes) != 0)
		return -1;
	if (*ret_passes)
		*ret_passes = value_passes(&judge, &ask, name, equals + 1);
	for (size_t i = 0; i < ret_conflicts->len; i++)
		snprintf(ret_conflicts->items[i].door, sizeof(ret_conflicts->items[i].door),
		    "call");
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Engine selection
 */
static int
judge_endpoint(struct judge *judge, const struct ask *ask, const char *value)
{
	static const char scheme[] = "unix://";
	const struct policy_value *endpoint = policy_get(judge->policy, POLICY_DOCKER_ENDPOINT);
	struct cause cause = { .cause = CAUSE_LOOSER, .control = "docker.endpoint" };
	struct hl_origin origin = ask_origin(ask);
	const char *path =
	    strncmp(value, scheme, sizeof(scheme) - 1) == 0 ? value + sizeof(scheme) - 1 : NULL;

	if (path != NULL && hl_path_is_normal(path)) {
		if (endpoint->is_explicit && strcmp(endpoint->text, path) == 0)
			return 0;
		if (endpoint->is_explicit || endpoint->is_locked) {
			if (conflict_add(judge, ask, &cause, NULL) != CONFLICT_WON)
				return 0;
		} else {
			judge->out->tightened++;
		}
		return policy_apply(judge->policy, POLICY_DOCKER_ENDPOINT,
		    &(struct policy_change){ NULL, path, &origin }, judge->err);
	}
	/* Another kind of address cannot be followed: whoever set it believes in another engine
	 * than the one that would be used, so that nothing is started in any mode. */
	cause.cause = CAUSE_FINAL;
	cause.bound = "a unix socket of this host only";
	cause.help =
	    "unset the variable, or let it say unix:// and the absolute path of a socket; for an engine of another host run hermes-launch there";
	conflict_add(judge, ask, &cause, NULL);
	return 0;
}

static const char not_read[] = "is not read: the launcher names the engine";

/* Sorted. */
static const struct {
	const char *name;
	const char *reader; /* the engine whose client reads it, so that there it is a wish */
	bool is_endpoint;   /* names an engine by its address */
	const char *note;
} doors[] = {
	{ "CONTAINERS_CONF", "podman", false, not_read },
	{ "CONTAINERS_CONF_OVERRIDE", "podman", false, not_read },
	{ "CONTAINERS_STORAGE_CONF", "podman", false, not_read },
	{ "CONTAINER_CONNECTION", "podman", false, not_read },
	{ "CONTAINER_HOST", "podman", true, not_read },
	{ "DOCKER_CONFIG", "docker", false,
	    "is read for credentials of registries alone: the launcher names the engine" },
	{ "DOCKER_CONTEXT", "docker", false, not_read },
	{ "DOCKER_HOST", "docker", true, not_read },
};

/* Variables that apptainer gives to the command under the rest of their name: what it is started
 * with has none of them, so each is the caller's request for it. Two of them add to PATH. */
static int
judge_inner_variable(struct judge *judge, const char *prefix, const char *variable)
{
	static const char *const paths[] = { "PREPEND_PATH=", "APPEND_PATH=" };
	const char *text = variable + strlen(prefix);
	char asked[160];
	const struct ask ask = { 0, prefix, asked };

	snprintf(asked, sizeof(asked), "%.128s", variable);
	asked[strcspn(asked, "=")] = '\0';
	/* No program could have set it, and no name is left. */
	if (text[0] == '=')
		return 0;
	for (size_t i = 0; i < HL_ARRAY_SIZE(paths); i++) {
		if (strncmp(text, paths[i], strlen(paths[i])) == 0)
			text = strstr(text, "PATH=");
	}
	return judge_env(judge, &ask, text);
}

static int
judge_inner_variables(struct judge *judge)
{
	static const char *const prefixes[] = { "APPTAINERENV_", "SINGULARITYENV_" };

	if (strcmp(judge->backend, "singularity") != 0)
		return 0;
	for (char **at = environ; at != NULL && *at != NULL; at++) {
		for (size_t i = 0; i < HL_ARRAY_SIZE(prefixes); i++) {
			if (strncmp(*at, prefixes[i], strlen(prefixes[i])) == 0 &&
			    judge_inner_variable(judge, prefixes[i], *at) == -1)
				return -1;
		}
	}
	return 0;
}

int
judge_environment(struct judge *judge)
{
	if (judge_inner_variables(judge) == -1)
		return -1;
	bool is_set = policy_get(judge->policy, POLICY_DOCKER_ENDPOINT)->is_explicit;

	if (strcmp(judge->backend, "docker") != 0 && strcmp(judge->backend, "podman") != 0)
		return 0;
	for (size_t i = 0; i < HL_ARRAY_SIZE(doors); i++) {
		bool is_read = strcmp(doors[i].reader, judge->backend) == 0;
		const char *value = getenv(doors[i].name);
		struct ask ask = { 0, doors[i].name, doors[i].name };
		char asked[300];

		if (value == NULL || value[0] == '\0' || (!is_read && !doors[i].is_endpoint))
			continue;
		/* An address may carry a password: only a path is told. */
		snprintf(asked, sizeof(asked), "%s=%.256s", doors[i].name,
		    strncmp(value, "unix://", 7) == 0 ? value : "...");
		ask.asked = asked;
		if (!doors[i].is_endpoint || (!is_set && !is_read))
			conflict_note(judge, &ask, doors[i].note);
		else if (judge_endpoint(judge, &ask, value) == -1)
			return -1;
	}
	return 0;
}
