/*
 * The plan: one settled policy, one request and one host become a struct plan in which nothing is
 * open any more. The pieces are in files of their own (plan_process.c, plan_fs.c and its helpers,
 * plan_env.c); here are the choice of the backend, its engine, the limits, and the order.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

bool
plan_is_local(const struct plan *plan)
{
	return strcmp(plan->backend, "local") == 0;
}

bool
plan_is_scrub(const struct plan *plan)
{
	return plan_is_local(plan) && plan->isolation == PLAN_ISOLATION_SCRUB;
}

bool
plan_is_enforced(const struct policy *policy)
{
	return policy_get(policy, POLICY_MODE)->number == 0;
}

struct hl_origin
plan_built_in(void)
{
	return (struct hl_origin){ .layer = "built-in" };
}

void
origin_put(struct hl_buf *out, const struct hl_origin *origin)
{
	const char *layer = origin->layer != NULL ? origin->layer : "built-in";

	if (strcmp(layer, "level") == 0) {
		hl_buf_putf(out, "level %s", origin->id != NULL ? origin->id : "");
		return;
	}
	if (origin->where.file == NULL) {
		hl_buf_puts(out, layer);
		return;
	}
	hl_buf_printable(out, origin->where.file, strlen(origin->where.file));
	if (origin->where.line > 0)
		hl_buf_putf(out, ":%u:%u", origin->where.line, origin->where.column);
	hl_buf_putf(out, " (%s", layer);
	if (origin->id != NULL)
		hl_buf_putf(out, ", %s", origin->id);
	hl_buf_putc(out, ')');
}

/* ------------------------------------------------------------------------------------------------
 * Limits
 */
struct limit_row {
	enum policy_field field;
	enum plan_limit limit;
};

static const struct limit_row limit_rows[] = {
	{ POLICY_LIMITS_WALL, PLAN_LIMIT_WALL },
	{ POLICY_LIMITS_CPUS, PLAN_LIMIT_CPUS },
	{ POLICY_LIMITS_MEMORY, PLAN_LIMIT_MEMORY },
	{ POLICY_LIMITS_PIDS, PLAN_LIMIT_PIDS },
	{ POLICY_LIMITS_FILES, PLAN_LIMIT_FILES },
	{ POLICY_LIMITS_SHM, PLAN_LIMIT_SHM },
	{ POLICY_LIMITS_DISK, PLAN_LIMIT_DISK },
	{ POLICY_LIMITS_OUTPUT, PLAN_LIMIT_OUTPUT },
};

static void
plan_limits(const struct policy *policy, struct plan *plan)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(limit_rows); i++) {
		enum policy_field field = limit_rows[i].field;
		const struct policy_value *value = policy_get(policy, field);
		plan->limits[limit_rows[i].limit] = (struct plan_number){
			.has = value->number != POLICY_UNLIMITED,
			.is_explicit = value->is_explicit,
			/* A default that the host cannot apply is told, never a reason to refuse.
			 */
			.may_degrade = !value->is_explicit || !plan_is_enforced(policy) ||
				       policy_may_degrade(policy, policy_field_key(field), NULL),
			.value = value->number,
			.origin = value->origin,
		};
	}
}

/* ------------------------------------------------------------------------------------------------
 * The engine
 */

/* A client that is told no socket does not say which engine it speaks to. */
static void
plan_engine_owner(const struct host *host, struct plan *plan)
{
	if (plan->is_endpoint_program) {
		plan->engine_uid = host->uid;
		plan->is_engine_known = plan->is_engine_here = plan->client == NULL;
	} else {
		plan->is_engine_known =
		    engine_owner(plan->endpoint, &plan->engine_uid, &plan->is_engine_here);
	}
	plan->is_rootless = plan->is_engine_known && plan->engine_uid != 0;
}

static void
plan_rootless(const struct policy *policy, struct plan *plan)
{
	const struct policy_value *value = policy_get(policy, POLICY_DOCKER_ROOTLESS);

	plan->needs_rootless = value->number == 0;
	plan->rootless_may_degrade =
	    !plan_is_enforced(policy) || policy_may_degrade(policy, "docker.rootless", NULL);
	plan->rootless_origin = value->origin;
}

static int
plan_endpoint(const struct policy *policy, const struct host *host, struct plan *plan,
    struct hl_err *err)
{
	const struct policy_value *value = policy_get(policy, POLICY_DOCKER_ENDPOINT);
	const struct policy_value *client = policy_get(policy, POLICY_DOCKER_CLIENT);
	bool is_podman = strcmp(plan->backend, "podman") == 0;
	const char *variable = is_podman ? NULL : host_docker_host(host);
	const char *text = is_podman ? engine_program() : "/var/run/docker.sock";
	const char *source = "the default";
	bool is_program = is_podman;

	plan->endpoint_origin = plan_built_in();
	plan->client_origin = client->origin;
	if (client->number != 0) {
		/* Which engine it speaks to is its own affair, when nobody says a socket. */
		text = plan->client = engine_client();
		is_program = true;
	}
	if (value->text != NULL && value->text[0] != '\0') {
		text = value->text;
		source = "docker.endpoint";
		plan->endpoint_origin = value->origin;
		is_program = false;
	} else if (variable != NULL) {
		text = variable;
		source = "DOCKER_HOST";
		is_program = false;
		plan->endpoint_origin =
		    (struct hl_origin){ .layer = "caller", .where.file = "DOCKER_HOST" };
	}
	const char *path = engine_socket(text);
	if (path == NULL) {
		/* A DOCKER_HOST may hold a user and a password: the value is not repeated. */
		hl_err_set(err, HLD_22, "%s names no unix socket of this host", source);
		err->where = plan->endpoint_origin.where;
		return hl_err_help(err, "write the socket's absolute path, or unix:// before it");
	}
	plan->is_endpoint_program = is_program;
	plan->endpoint = strdup(path);
	if (plan->endpoint == NULL)
		return hl_err_oom(err);
	plan_engine_owner(host, plan);
	plan_rootless(policy, plan);
	return 0;
}

static int
plan_image(const struct policy *policy, struct plan *plan, struct hl_err *err)
{
	const struct policy_value *image = policy_get(policy, POLICY_IMAGE);
	const struct policy_value *digest = policy_get(policy, POLICY_IMAGE_DIGEST);
	const struct policy_value *pull = policy_get(policy, POLICY_IMAGE_PULL);

	plan->image_origin = image->origin;
	plan->image_digest = digest->number != 0;
	plan->digest_origin = digest->origin;
	plan->pull = (enum plan_pull)pull->number;
	plan->pull_origin = pull->origin;
	if (image->items_len == 0)
		return 0; /* the backend says what is wrong with an image, and with none */
	plan->image = strdup(image->items[0].text);
	return plan->image != NULL ? 0 : hl_err_oom(err);
}

static int
plan_network(const struct policy *policy, struct plan *plan, struct hl_err *err)
{
	const struct policy_value *value = policy_get(policy, POLICY_NETWORK_MODE);
	enum plan_network mode = (enum plan_network)value->number;
	const char *why = NULL;

	if (mode == PLAN_NETWORK_PROXY)
		why = "this version has no egress proxy";
	else if (mode == PLAN_NETWORK_BRIDGE && plan_is_local(plan))
		why = "a bridge is an engine's network";
	plan->network = mode;
	plan->network_origin = value->origin;
	if (why == NULL)
		return 0;
	hl_err_set(err, HLD_21, "network.mode %s is not offered on %s: %s",
	    policy_field_words(POLICY_NETWORK_MODE)[mode], plan->backend, why);
	err->where = value->origin.where;
	/* Only what the policy's bound leaves is worth asking for. */
	bool is_open = !value->is_bounded || value->bound_number >= PLAN_NETWORK_HOST;
	bool has_bridge =
	    !plan_is_local(plan) && (is_open || value->bound_number >= PLAN_NETWORK_BRIDGE);
	return hl_err_help(err, "write network: {mode: none}%s%s", has_bridge ? ", or bridge" : "",
	    is_open ? ", or host" : "");
}

static int
plan_backend(const struct policy *policy, struct plan *plan, struct hl_err *err)
{
	const struct policy_value *value = policy_get(policy, POLICY_BACKENDS);

	if (value->items_len == 0) {
		hl_err_set(err, HLD_21, "the policy allows no backend at all");
		err->where = value->origin.where;
		return hl_err_help(err, "name one in 'backends'");
	}
	const struct backend *backend = backend_find(value->items[0].text, err);
	if (backend == NULL)
		return -1;
	plan->backend = backend->name;
	return 0;
}

/* -c TEXT is one fresh bash, which gets the text byte for byte. */
static int
plan_command(const struct request *request, struct plan *plan, struct hl_err *err)
{
	hl_strv_init(&plan->argv, RUNNER_ARGV_MAX);
	if (request->shell_text != NULL) {
		hl_strv_add(&plan->argv, "bash");
		hl_strv_add(&plan->argv, "-c");
		hl_strv_add(&plan->argv, request->shell_text);
	}
	for (size_t i = 0; i < request->argv_len; i++)
		hl_strv_add(&plan->argv, request->argv[i]);
	return hl_strv_check(&plan->argv, "command", err);
}

static int
copy_engine_args(const struct conflicts *conflicts, struct plan *plan, struct hl_err *err)
{
	hl_strv_init(&plan->engine_args, RUNNER_ARGV_MAX);
	for (size_t i = 0; i < conflicts->engine_args.len; i++)
		hl_strv_add(&plan->engine_args, conflicts->engine_args.v[i]);
	return hl_strv_check(&plan->engine_args, "engine arguments", err);
}

static int
build_engine(const struct policy *policy, const struct host *host, struct plan *plan,
    struct hl_err *err)
{
	if (plan_network(policy, plan, err) != 0)
		return -1;
	if (plan_registry(host, plan, err) != 0)
		return -1;
	if (plan_is_local(plan))
		return 0;
	if (plan_endpoint(policy, host, plan, err) != 0)
		return -1;
	return plan_image(policy, plan, err);
}

static int
build(const struct policy *policy, const struct request *request, const struct host *host,
    struct plan *plan, struct hl_err *err)
{
	plan->isolation = (enum plan_isolation)policy_get(policy, POLICY_LOCAL_ISOLATION)->number;
	if (plan_backend(policy, plan, err) != 0 || plan_effect(policy, plan, NULL, err) != 0 ||
	    plan_process(policy, request, host, plan, err) != 0 ||
	    build_engine(policy, host, plan, err) != 0 ||
	    plan_fs(policy, request, host, plan, err) != 0 ||
	    plan_registry_programs(host, plan, err) != 0 ||
	    plan_environment(policy, request, host, plan, err) != 0)
		return -1;
	plan_limits(policy, plan);
	return plan_command(request, plan, err);
}

int
plan_build(const struct plan_input *input, struct plan *ret_plan, struct hl_err *err)
{
	const struct host *host = input->host;
	struct plan plan = {
		.state_dir = host->state_dir,
		.runner_path = host->runner_path,
		.helper_path = host->helper_path,
		.cancel_fd = -1,
	};

	*err = (struct hl_err){ 0 };
	if (hl_ulid(plan.run_id, err) != 0 || copy_engine_args(input->conflicts, &plan, err) != 0 ||
	    build(input->policy, input->request, host, &plan, err) != 0) {
		plan_done(&plan);
		return -1;
	}
	*ret_plan = plan;
	return 0;
}

void
plan_done(struct plan *plan)
{
	for (size_t i = 0; i < plan->mounts_len; i++) {
		free(plan->mounts[i].src);
		free(plan->mounts[i].dst);
	}
	for (size_t i = 0; i < plan->tmpfs_len; i++)
		free(plan->tmpfs[i].dst);
	for (size_t i = 0; i < plan->devices_len; i++) {
		free(plan->devices[i].src);
		free(plan->devices[i].dst);
	}
	free(plan->mounts);
	free(plan->devices);
	free(plan->tmpfs);
	free(plan->home.path);
	free(plan->home.src);
	free(plan->cwd);
	free(plan->image);
	free(plan->endpoint);
	hl_strv_done(&plan->registry_files);
	hl_strv_done(&plan->registry_env);
	hl_strv_done(&plan->registry_shown);
	plan_env_done(plan);
	hl_strv_done(&plan->seccomp_deny);
	hl_strv_done(&plan->seccomp_files);
	hl_strv_done(&plan->deny);
	free(plan->deny_origins);
	hl_strv_done(&plan->engine_args);
	hl_strv_done_secret(&plan->argv);
	*plan = (struct plan){ .cancel_fd = -1 };
}
