/*
 * A plan as settings of an engine. Order is that of explain: who, what it may, how much, which
 * files.
 *
 * Nothing of a call is here: the command, its environment and its working directory travel in the
 * runner's own stream, because what is given at create time is written to the engine's disk and
 * stays readable in /proc/1/environ. The runner starts in "/": an engine creates a working
 * directory that is missing, also in a bind, as root.
 */
#include "backends/docker/lower.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/dialect.h"
#include "backends/docker/docker.h"
#include "backends/docker/protocol.h"
#include "backends/docker/rootless.h"
#include "backends/docker/settings.h"

#include "base/banned.h"

enum {
	SECCOMP_MAX = 1024 * 1024,
	TEXT_MAX = 64 * 1024,
	SHM_SMALLEST = 4096
};

static const struct hl_origin built_in = { .layer = "built-in" };

void
docker_container_name(const struct plan *plan, char name[DOCKER_NAME_SIZE])
{
	if (plan->keep.is_kept) {
		docker_kept_name(plan, name);
		return;
	}
	snprintf(name, DOCKER_NAME_SIZE, "%s%s", DOCKER_NAME_PREFIX, plan->run_id);
	for (char *c = name; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
}

static void
add_flag(struct docker_settings *settings, enum docker_option_id option, bool on,
    const struct hl_origin *origin)
{
	docker_settings_add(settings, option, "", origin)->number = on ? 1 : 0;
}

static void
add_pair(struct docker_settings *settings, enum docker_option_id option, const char *text,
    const char *other)
{
	struct docker_setting *setting = docker_settings_add(settings, option, text, &built_in);

	setting->other = strdup(other);
	if (setting->other == NULL)
		settings->failed = true;
}

/* ------------------------------------------------------------------------------------------------
 * The image
 */
static bool
is_sha256(const char *text)
{
	if (strncmp(text, "sha256:", 7) != 0 || strlen(text) != 7 + 64)
		return false;
	return strspn(text + 7, "0123456789abcdef") == 64;
}

/* The digest of a reference, NULL when it has none. */
static const char *
reference_digest(const char *image)
{
	const char *at = strchr(image, '@');

	if (at != NULL)
		return at != image && is_sha256(at + 1) ? at + 1 : NULL;
	return is_sha256(image) ? image : NULL;
}

static int
check_image(const struct plan *plan, struct hl_err *err)
{
	const char *image = plan->image;

	if (image == NULL || image[0] == '\0') {
		hl_err_set(err, HLB_47, "no image is named");
		return hl_err_help(err, "the policy's key 'image' or --image names it");
	}
	if (image[0] == '-' || strlen(image) > 512)
		return hl_err_set(err, HLB_47, "'%s' is not a reference of an image", image);
	for (const char *c = image; *c != '\0'; c++) {
		if (!isalnum((unsigned char)*c) && strchr("._-/:@", *c) == NULL)
			return hl_err_set(err, HLB_47, "'%s' is not a reference of an image",
			    image);
	}
	const char *digest = reference_digest(image);
	if (strchr(image, '@') != NULL && digest == NULL)
		return hl_err_set(err, HLB_47, "'%s' has a digest that is none", image);
	if (plan->image_digest && digest == NULL) {
		hl_err_set(err, HLB_47, "image '%s' is not named by its digest", image);
		return hl_err_help(err,
		    "name it as NAME@sha256:..., or as sha256:... (its id), or set image.digest");
	}
	return 0;
}

static void
add_pull(struct docker_settings *settings, const struct plan *plan)
{
	static const char *const words[] = {
		[PLAN_PULL_NEVER] = "never",
		[PLAN_PULL_MISSING] = "missing",
		[PLAN_PULL_ALWAYS] = "always",
	};

	/* Nothing is pulled by the way: what is not there is missed before. */
	docker_settings_add(settings, DOCKER_PULL,
	    words[plan->client == NULL ? plan->pull : PLAN_PULL_NEVER], &plan->pull_origin);
}

/* ------------------------------------------------------------------------------------------------
 * Who, and what it may
 */
static bool
is_root(const struct plan *plan, const struct docker_facts *facts)
{
	if (plan->user_kind != PLAN_USER_IMAGE)
		return plan->uid == 0;
	/* Not known before the image was looked at: explain shows what a root image would get. */
	return facts == NULL || facts->is_image_root;
}

/* With a user that is not root nothing is added: docker gives it nothing, podman makes it ambient.
 */
static void
add_caps(struct docker_settings *settings, const struct plan *plan,
    const struct docker_facts *facts)
{
	docker_settings_add(settings, DOCKER_CAP_DROP, "ALL", &built_in);
	if (!is_root(plan, facts))
		return;
	for (unsigned number = 0; number < 64; number++) {
		const char *name = confine_cap_name(number);
		char text[64];
		if (name == NULL)
			return;
		if ((plan->caps & (UINT64_C(1) << number)) == 0)
			continue;
		snprintf(text, sizeof(text), "CAP_%s", name);
		docker_settings_add(settings, DOCKER_CAP_ADD, text, &plan->caps_origin);
	}
}

static void
add_user(struct docker_settings *settings, const struct plan *plan)
{
	char text[32];

	if (plan->user_kind == PLAN_USER_IMAGE)
		return;
	snprintf(text, sizeof(text), "%u:%u", plan->uid, plan->gid);
	docker_settings_add(settings, DOCKER_USER, text, &plan->user_origin);
	if (plan_keeps_id(plan))
		docker_settings_add(settings, DOCKER_USERNS, DOCKER_KEEP_ID, &plan->user_origin);
}

int
docker_seccomp_json(const struct plan *plan, char **ret_json, struct hl_err *err)
{
	struct hl_buf text HL_AUTO(hl_buf_done) = { 0 };

	*ret_json = NULL;
	hl_buf_init(&text, SECCOMP_MAX);
	if (confine_filter_json(plan->seccomp, &plan->seccomp_deny, &text, err) != 0)
		return -1;
	if (text.len == 0)
		return 0;
	*ret_json = hl_buf_take(&text);
	return *ret_json != NULL ? 0 : hl_err_oom(err);
}

char *
docker_seccomp_path(const struct plan *plan, const char *json)
{
	char sha256[HL_SHA256_HEX_SIZE];
	char *path = NULL;

	hl_sha256_text(json, strlen(json), sha256);
	if (asprintf(&path, "%s/seccomp/%s.json", plan->state_dir, sha256) < 0)
		return NULL;
	return path;
}

/* The client reads a file and sends its content; the API takes the content. */
static void
add_seccomp(struct docker_settings *settings, const struct plan *plan)
{
	const struct hl_origin *origin = &plan->seccomp_origin;
	char *json HL_AUTO_FREE = NULL;
	struct hl_err ignored;

	if (docker_seccomp_json(plan, &json, &ignored) != 0) {
		settings->failed = true;
		return;
	}
	if (json == NULL) {
		/* Said, or the engine's own default would apply and explain would be wrong. */
		docker_settings_add(settings, DOCKER_SECURITY_OPT, "seccomp=unconfined", origin);
		return;
	}
	char *path HL_AUTO_FREE = docker_seccomp_path(plan, json);
	char *text HL_AUTO_FREE = NULL;
	char *inlined = NULL;
	if (path == NULL || asprintf(&text, "seccomp=%s", path) < 0) {
		text = NULL;
		settings->failed = true;
		return;
	}
	struct docker_setting *setting =
	    docker_settings_add(settings, DOCKER_SECURITY_OPT, text, origin);
	if (asprintf(&inlined, "seccomp=%s", json) < 0) {
		inlined = NULL;
		settings->failed = true;
	}
	setting->other = inlined;
	if (settings->failed && setting->text == NULL) {
		free(inlined);
		setting->other = NULL;
	}
}

/* ------------------------------------------------------------------------------------------------
 * How much
 */
static const enum control limit_controls[PLAN_LIMIT_MAX] = {
	[PLAN_LIMIT_WALL] = CONTROL_LIMIT_WALL,
	[PLAN_LIMIT_CPUS] = CONTROL_LIMIT_CPUS,
	[PLAN_LIMIT_MEMORY] = CONTROL_LIMIT_MEMORY,
	[PLAN_LIMIT_PIDS] = CONTROL_LIMIT_PIDS,
	[PLAN_LIMIT_FILES] = CONTROL_LIMIT_FILES,
	[PLAN_LIMIT_SHM] = CONTROL_LIMIT_SHM,
	[PLAN_LIMIT_DISK] = CONTROL_LIMIT_DISK,
	[PLAN_LIMIT_OUTPUT] = CONTROL_LIMIT_OUTPUT,
};

enum control
docker_limit_control(enum plan_limit limit)
{
	return limit_controls[limit];
}

const struct plan_number *
docker_limit_wanted(const struct plan *plan, const struct control_gaps *gaps, enum plan_limit limit)
{
	const struct plan_number *number = &plan->limits[limit];
	enum control control = limit_controls[limit];

	if (!number->has ||
	    control_enforcer(control, docker_dialect(plan)->id, plan) == ENFORCER_NONE)
		return NULL;
	for (size_t i = 0; gaps != NULL && i < gaps->len; i++)
		if (gaps->items[i].control == control && gaps->items[i].may_degrade)
			return NULL;
	return number;
}

static const struct plan_number *
wanted(const struct plan *plan, const struct docker_facts *facts, enum plan_limit limit)
{
	return docker_limit_wanted(plan, facts != NULL ? facts->gaps : NULL, limit);
}

static void
add_number(struct docker_settings *settings, enum docker_option_id option, const char *name,
    uint64_t value, const struct hl_origin *origin)
{
	docker_settings_add(settings, option, name, origin)->number = value;
}

/* By the storage driver's quota, where it has one. The API takes the number as a text. */
static void
add_disk(struct docker_settings *settings, const struct plan_number *number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number->value);
	struct docker_setting *setting =
	    docker_settings_add(settings, DOCKER_STORAGE_OPT, "size", &number->origin);
	setting->other = strdup(text);
	if (setting->other == NULL)
		settings->failed = true;
}

static void
add_limits(struct docker_settings *settings, const struct plan *plan,
    const struct docker_facts *facts)
{
	const struct plan_number *number;

	if ((number = wanted(plan, facts, PLAN_LIMIT_MEMORY)) != NULL) {
		add_number(settings, DOCKER_MEMORY, "", number->value, &number->origin);
		add_number(settings, DOCKER_MEMORY_SWAP, "", number->value, &number->origin);
	}
	if ((number = wanted(plan, facts, PLAN_LIMIT_CPUS)) != NULL)
		add_number(settings, DOCKER_CPUS, "", number->value, &number->origin);
	number = wanted(plan, facts, PLAN_LIMIT_PIDS);
	if (number != NULL && docker_pids_by_nproc(plan))
		add_number(settings, DOCKER_ULIMIT, "nproc",
		    docker_rlimit_within(plan, "nproc", number->value), &number->origin);
	else if (number != NULL)
		add_number(settings, DOCKER_PIDS_LIMIT, "", number->value, &number->origin);
	/* An engine takes 0 for its own default of 64 MiB: one page is as near as it comes. */
	if ((number = wanted(plan, facts, PLAN_LIMIT_SHM)) != NULL)
		add_number(settings, DOCKER_SHM_SIZE, "",
		    number->value < SHM_SMALLEST ? SHM_SMALLEST : number->value, &number->origin);
	if ((number = wanted(plan, facts, PLAN_LIMIT_FILES)) != NULL)
		add_number(settings, DOCKER_ULIMIT, "nofile",
		    docker_rlimit_within(plan, "nofile", number->value), &number->origin);
	add_number(settings, DOCKER_ULIMIT, "core", 1, &built_in);
	if ((number = wanted(plan, facts, PLAN_LIMIT_DISK)) != NULL)
		add_disk(settings, number);
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */
static void
add_network(struct docker_settings *settings, const struct plan *plan)
{
	static const char *const words[] = {
		[PLAN_NETWORK_NONE] = "none",
		/* Only the proxy is reachable then, and that not by the engine's network. */
		[PLAN_NETWORK_PROXY] = "none",
		[PLAN_NETWORK_BRIDGE] = "bridge",
		[PLAN_NETWORK_HOST] = "host",
	};

	docker_settings_add(settings, DOCKER_NETWORK, words[plan->network], &plan->network_origin);
}

static void
add_identity(struct docker_settings *settings, const struct plan *plan)
{
	char name[DOCKER_NAME_SIZE];

	docker_container_name(plan, name);
	add_flag(settings, DOCKER_INTERACTIVE, true, &built_in);
	docker_settings_add(settings, DOCKER_NAME, name, &built_in);
	add_pull(settings, plan);
	docker_settings_add(settings, DOCKER_ENTRYPOINT, DOCKER_RUNNER_TARGET, &built_in);
	add_flag(settings, DOCKER_INIT, false, &built_in); /* a daemon may have it on */
	docker_settings_add(settings, DOCKER_WORKDIR, "/", &built_in);
	docker_settings_add(settings, DOCKER_HOSTNAME, "hermes", &built_in);
	docker_settings_add(settings, DOCKER_LOG_DRIVER, "none", &built_in);
	add_flag(settings, DOCKER_NO_HEALTHCHECK, true, &built_in);
}

/* What the policy says of it is said already. */
static void
add_fixed(struct docker_settings *settings, const struct plan *plan)
{
	const struct docker_dialect *dialect = settings->dialect;

	for (size_t i = 0; i < dialect->fixed_len; i++) {
		const struct docker_fixed *fixed = &dialect->fixed[i];
		bool is_said = false;
		for (size_t at = 0; at < settings->len && !is_said; at++)
			is_said = settings->items[at].option == fixed->option &&
				  strcmp(settings->items[at].text, fixed->text) == 0;
		if (!is_said)
			add_number(settings, fixed->option, fixed->text,
			    docker_rlimit_within(plan, fixed->text, fixed->number), &built_in);
	}
}

char *
docker_runner_path(const struct plan *plan)
{
	char sha256[HL_SHA256_HEX_SIZE];
	char *path = NULL;
	size_t len;

	if (plan->runner_path != NULL)
		return strdup(plan->runner_path);
	const char *image = runner_image(&len);
	hl_sha256_text(image, len, sha256);
	if (asprintf(&path, "%s/runner/%s", plan->state_dir, sha256) < 0)
		return NULL;
	return path;
}

static void
add_runner(struct docker_settings *settings, const struct plan *plan)
{
	struct docker_setting *setting =
	    docker_settings_add(settings, DOCKER_MOUNT, DOCKER_RUNNER_TARGET, &built_in);

	setting->other = docker_runner_path(plan);
	setting->number = 1;
	if (setting->other == NULL)
		settings->failed = true;
}

static void
add_labels(struct docker_settings *settings, const struct plan *plan,
    const struct docker_facts *facts)
{
	char spec[HL_SHA256_HEX_SIZE];

	if (facts != NULL && facts->spec != NULL)
		docker_settings_spec(settings, facts->image, facts->spec, spec);
	else
		docker_settings_spec(settings, plan->image, "", spec);
	add_pair(settings, DOCKER_LABEL, DOCKER_LABEL_MANAGED, "1");
	add_pair(settings, DOCKER_LABEL, DOCKER_LABEL_RUN, plan->run_id);
	add_pair(settings, DOCKER_LABEL, DOCKER_LABEL_SPEC, spec);
	docker_keep_labels(settings, plan);
	if (facts != NULL && facts->owner != NULL)
		add_pair(settings, DOCKER_LABEL, DOCKER_LABEL_OWNER, facts->owner);
	if (facts != NULL && facts->digest != NULL)
		add_pair(settings, DOCKER_LABEL, DOCKER_LABEL_IMAGE, facts->digest);
}

int
docker_settings_fill(struct docker_settings *settings, const struct plan *plan,
    const struct docker_facts *facts, struct hl_err *err)
{
	settings->dialect = docker_dialect(plan);
	if (check_image(plan, err) < 0 || docker_client_check(plan, err) < 0)
		return -1;
	if (plan->user_kind != PLAN_USER_IMAGE && (plan->uid == 0 || plan->gid == 0) &&
	    !plan->allow_root)
		return hl_err_set(err, HLB_49,
		    "the command's user %u:%u is root or in root's group, which is not allowed",
		    plan->uid, plan->gid);
	add_identity(settings, plan);
	add_user(settings, plan);
	add_caps(settings, plan, facts);
	if (plan->no_new_privs)
		docker_settings_add(settings, DOCKER_SECURITY_OPT, "no-new-privileges",
		    &plan->no_new_privs_origin);
	add_seccomp(settings, plan);
	add_flag(settings, DOCKER_READ_ONLY, plan->root == PLAN_ROOT_READ_ONLY, &plan->root_origin);
	add_network(settings, plan);
	docker_settings_add(settings, DOCKER_IPC, "private", &built_in);
	add_limits(settings, plan, facts);
	add_fixed(settings, plan);
	add_runner(settings, plan);
	if (docker_mounts_fill(settings, plan, err) < 0 ||
	    docker_extra_fill(settings, plan, err) < 0)
		return -1;
	add_labels(settings, plan, facts);
	return settings->failed ? hl_err_oom(err) : 0;
}

static void
print_lines(const struct docker_settings *settings, struct lowered *lowered)
{
	for (size_t i = 0; i < settings->len; i++) {
		struct hl_strv words;
		struct hl_buf line;
		hl_strv_init(&words, 2);
		hl_buf_init(&line, TEXT_MAX);
		docker_setting_argv(&settings->items[i], &words);
		for (size_t word = 0; word < words.len; word++) {
			if (word > 0)
				hl_buf_putc(&line, ' ');
			hl_buf_shell_word(&line, words.v[word]);
		}
		if (words.failed || line.failed)
			lowered->failed = true;
		lowered_line(lowered, &settings->items[i].origin, "%s", line.data);
		hl_strv_done(&words);
		hl_buf_done(&line);
	}
}

int
docker_lower(const struct plan *plan, struct lowered *ret_lowered, struct hl_err *err)
{
	struct docker_settings settings = { 0 };
	struct hl_strv *argv = &ret_lowered->argv;
	int status = docker_settings_fill(&settings, plan, NULL, err);

	if (status == 0) {
		hl_strv_add(argv, plan->client != NULL ? plan->client : settings.dialect->name);
		if (!plan->is_endpoint_program) {
			hl_strv_add(argv, settings.dialect->address);
			hl_strv_addf(argv, "unix://%s", plan->endpoint);
		}
		hl_strv_add(argv, "run");
		for (size_t i = 0; i < settings.len; i++)
			docker_setting_argv(&settings.items[i], argv);
		hl_strv_add(argv, plan->image);
		hl_strv_add(argv, RUNNER_STDIO);
		docker_settings_body(&settings, plan->image, &ret_lowered->body);
		docker_expect(&settings, plan, ret_lowered);
		ret_lowered->has_confinement = true;
		print_lines(&settings, ret_lowered);
		lowered_line(ret_lowered, &plan->image_origin, "%s %s", plan->image, RUNNER_STDIO);
		if (ret_lowered->failed || argv->failed)
			status = hl_err_oom(err);
		else
			status = hl_buf_check(&ret_lowered->body, "engine request", err);
	}
	docker_settings_done(&settings);
	return status;
}
