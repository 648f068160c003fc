/*
 * The docker backend: a container of the policy's image, made by the engine behind a unix socket,
 * with our runner as its first process and the attach connection as the runner's stream.
 */
#include "backends/docker/docker.h"

#include <sys/socket.h>

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/dialect.h"
#include "backends/docker/helper.h"
#include "backends/docker/lower.h"
#include "backends/docker/prepare.h"
#include "backends/docker/rootless.h"
#include "backends/docker/settings.h"
#include "backends/docker/start.h"

#include "base/banned.h"

enum {
	BODY_MAX = ENGINE_PACKET_MAX,
	REMOVE_MS = 10 * 1000, /* for one answer of hl-engine, and for its end */
	SPEC_MAX = 1024,
};

/* What stop needs, without the plan. */
struct docker_run {
	struct backend_early *early;
	char name[DOCKER_NAME_SIZE];
	char run_id[HL_ULID_SIZE];
	char *helper_path, *endpoint, *oom_file;
	bool is_create_asked;
	uint64_t memory; /* for the message, 0 = no limit */
	bool stays;      /* kept, and not discarded */
};

static void
run_free(struct docker_run *run)
{
	if (run == NULL)
		return;
	docker_early_end(run->early);
	free(run->helper_path);
	free(run->endpoint);
	free(run->oom_file);
	free(run);
}

/* ------------------------------------------------------------------------------------------------
 * Facts that only start has
 */

/* Of "name", "uid", "name:group" or "uid:gid": is it root, or in root's group, or can nobody say?
 * Which group a number without one has, or what a group's name means, says the image's account
 * file: that the runner sees. */
enum image_user {
	IMAGE_USER_ROOT,
	IMAGE_USER_ROOT_GROUP,
	IMAGE_USER_OTHER,
	IMAGE_USER_NAMED
};

static bool
is_root(const char *text, size_t len)
{
	return (len == 4 && memcmp(text, "root", 4) == 0) || (len > 0 && strspn(text, "0") >= len);
}

static enum image_user
judge_user(const char *user)
{
	size_t len = strcspn(user, ":");

	if (len == 0 || is_root(user, len))
		return IMAGE_USER_ROOT;
	if (strspn(user, "0123456789") != len)
		return IMAGE_USER_NAMED;
	const char *group = user[len] == ':' ? user + len + 1 : "";
	return is_root(group, strlen(group)) ? IMAGE_USER_ROOT_GROUP : IMAGE_USER_OTHER;
}

int
docker_judge_user(const struct plan *plan, const char *user, bool *ret_is_root, struct hl_err *err)
{
	if (plan->user_kind != PLAN_USER_IMAGE) {
		*ret_is_root = plan->uid == 0;
		return 0;
	}
	enum image_user kind = judge_user(user);
	*ret_is_root = kind == IMAGE_USER_ROOT;
	if (plan->allow_root || kind == IMAGE_USER_OTHER)
		return 0;
	if (kind == IMAGE_USER_ROOT)
		hl_err_set(err, HLB_49, "the user of image '%s' is root", plan->image);
	else if (kind == IMAGE_USER_ROOT_GROUP)
		hl_err_set(err, HLB_49, "the user '%.64s' of image '%s' is in root's group", user,
		    plan->image);
	else
		hl_err_set(err, HLB_49, "whether the user of image '%s' is root cannot be known",
		    plan->image);
	return hl_err_help(err,
	    "give process.user as uid:gid, or let the policy say process.allow_root");
}

/* A volume that the image brings is a mount that no policy has: writable, without a limit. What the
 * policy mounts at its place an engine takes instead. */
static int
check_volumes(const struct docker_settings *settings, const struct plan *plan,
    const struct hl_strv *volumes, struct hl_err *err)
{
	for (size_t i = 0; i < volumes->len; i++) {
		bool is_there = false;
		for (size_t at = 0; at < settings->len && !is_there; at++)
			is_there = (settings->items[at].option == DOCKER_MOUNT ||
				       settings->items[at].option == DOCKER_TMPFS) &&
				   strcmp(settings->items[at].text, volumes->v[i]) == 0;
		if (is_there)
			continue;
		hl_err_set(err, HLB_58, "image '%s' brings a volume at '%s'", plan->image,
		    volumes->v[i]);
		return hl_err_help(err,
		    "let the policy have something there, by fs.tmpfs or fs.mounts");
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Start
 */
static uint32_t
limits_wanted(const struct plan *plan, const struct control_gaps *gaps)
{
	static const enum plan_limit ours[] = { PLAN_LIMIT_CPUS, PLAN_LIMIT_MEMORY, PLAN_LIMIT_PIDS,
		PLAN_LIMIT_FILES, PLAN_LIMIT_SHM, PLAN_LIMIT_DISK };
	uint32_t wanted = 0;

	for (size_t i = 0; i < HL_ARRAY_SIZE(ours); i++)
		if (docker_limit_wanted(plan, gaps, ours[i]) != NULL)
			wanted |= 1U << ours[i];
	return wanted;
}

/* An engine that cannot apply a limit says so in a warning and goes on without it. */
static int
check_warnings(const struct hl_strv *warnings, uint32_t wanted, struct hl_err *err)
{
	for (size_t i = 0; i < warnings->len; i++) {
		if ((docker_limits_named(warnings->v[i]) & wanted) != 0)
			return hl_err_set(err, HLB_53, "the engine did not apply a limit: %s",
			    warnings->v[i]);
	}
	return 0;
}

/* Also one that was kept and is the same: then nothing is made. */
static int
take_or_make(struct docker_helper *helper, const struct plan *plan,
    const struct docker_create_call *call, struct docker_created *created, struct hl_err *err)
{
	if (call->is_kept && docker_helper_find(helper, call, created, err) < 0)
		return -1;
	if (created->reuse == SANDBOX_REUSED) {
		hl_strv_init(&created->warnings, ENGINE_WARNINGS_MAX);
		return 0;
	}
	if (docker_helper_create(helper, call, created, err) < 0)
		return -1;
	if (!call->is_kept || docker_keep_remember(plan, call->name, created->id, err) == 0)
		return 0;
	hl_strv_done(&created->warnings);
	return -1;
}

int
docker_create(struct docker_helper *helper, const struct plan *plan,
    const struct docker_facts *facts, struct docker_created *ret_created, struct hl_err *err)
{
	struct docker_settings settings = { 0 };
	char name[DOCKER_NAME_SIZE], id[DOCKER_ID_SIZE] = "";
	struct hl_buf body;

	*ret_created = (struct docker_created){ 0 };
	hl_buf_init(&body, BODY_MAX);
	docker_container_name(plan, name);
	/* Before there is a container, or a kill between the two would hide it from gc. */
	int status = docker_remember_endpoint(plan, err);
	if (status == 0)
		status = docker_settings_fill(&settings, plan, facts, err);
	if (status == 0 && facts->volumes != NULL)
		status = check_volumes(&settings, plan, facts->volumes, err);
	if (status == 0) {
		docker_settings_body(&settings, facts->image, &body);
		status = hl_buf_check(&body, "request for the engine", err);
	}
	if (plan->keep.is_kept)
		docker_keep_recall(plan, name, id);
	struct docker_create_call call = { name, body.data, id, plan->keep.is_kept, { 0 } };
	if (status == 0 && plan->client != NULL)
		status = docker_client_words(&settings, facts->image, &call.words, err);
	if (status == 0)
		status = take_or_make(helper, plan, &call, ret_created, err);
	hl_strv_done(&call.words);
	docker_settings_done(&settings);
	hl_buf_done(&body);
	return status;
}

static void
take_opened(struct sandbox *sandbox, const struct plan *plan, struct docker_opened *opened)
{
	char *where HL_AUTO_FREE = docker_endpoint_text(plan);
	char *engine = NULL;

	if (where == NULL || asprintf(&engine, "%s %s%s", opened->engine,
				 plan->client == NULL ? "unix://" : "", where) < 0)
		engine = NULL;
	sandbox->engine = engine;
	sandbox->image_digest = strdup(opened->digest);
	sandbox->image_env = opened->env;
	opened->env = (struct hl_strv){ 0 };
}

struct start_call {
	const struct plan *plan;
	const struct lowered *lowered;
	const struct control_gaps *gaps;
};

/* What the engine leaves to the runner, which also looks from inside whether it is so. */
static int
fill_lock(struct sandbox *sandbox, const struct start_call *start, const struct hl_strv *image_env,
    struct hl_err *err)
{
	const struct docker_call call = { start->plan, start->lowered, image_env,
		sandbox->limits_applied };

	hl_buf_init(&sandbox->lock, RUNNER_PAYLOAD_MAX);
	return docker_expect_call(&call, &sandbox->lock, err);
}

static void
take_reuse(struct docker_run *run, const struct docker_created *created, struct sandbox *sandbox)
{
	if (created->reuse == SANDBOX_REUSED)
		memcpy(run->run_id, created->run_id, sizeof(run->run_id));
	sandbox->reuse = created->reuse;
	snprintf(sandbox->reuse_why, sizeof(sandbox->reuse_why), "%s", created->why);
}

/* docker says "could not select device driver", podman "unresolvable CDI devices": neither says
 * what is to be done. Nor can it be seen whether that is what it was; a disk may be full. */
static void
explain_gpus(const struct plan *plan, struct hl_err *err)
{
	bool has_gpus = plan->gpus.is_all || plan->gpus.numbers != 0;
	bool is_podman = docker_dialect(plan)->gpus == DOCKER_DEVICE;

	if (!has_gpus || (err->code != HLB_51 && err->code != HLB_52))
		return;
	hl_err_help(err,
	    is_podman
		? "if the engine has no driver for the graphics processors of fs.devices: "
		  "'nvidia-ctk cdi list' tells those that podman knows"
		: "if the engine has no driver for the graphics processors of fs.devices: it needs "
		  "the NVIDIA Container Toolkit, or take them out of it");
}

/* What can be done about a container that was not made or not started, unless that is said. Always
 * -1. */
static int
explain_failure(const struct plan *plan, bool is_reused, struct hl_err *err)
{
	if (err->help[0] != '\0')
		return -1;
	if (is_reused)
		return hl_err_help(err,
		    "'hermes-launch stop %s' gives up what is kept of the session",
		    plan->keep.session);
	explain_gpus(plan, err);
	docker_explain_rootless(plan, err);
	return -1;
}

static int
start_container(struct docker_run *run, const struct start_call *call, struct docker_opened *opened,
    struct sandbox *sandbox, struct hl_err *err)
{
	const struct plan *plan = call->plan;
	const uint32_t wanted = limits_wanted(plan, call->gaps);
	struct docker_first first = { .stream = run->early->helper.stream };
	struct hl_buf spec HL_AUTO(hl_buf_done) = { 0 };
	struct docker_facts facts = { .image = opened->image_id,
		.digest = opened->digest,
		.gaps = call->gaps,
		.volumes = &opened->volumes };
	struct docker_created created;
	char owner[DOCKER_OWNER_SIZE];

	docker_owner(owner);
	facts.owner = owner;
	hl_buf_init(&spec, SPEC_MAX);
	if (plan->keep.is_kept) {
		if (docker_keep_spec(plan, opened->digest, &spec, err) < 0)
			return -1;
		facts.spec = spec.data;
	}
	if (docker_judge_user(plan, opened->user, &facts.is_image_root, err) < 0)
		return -1;
	run->is_create_asked = true;
	if (docker_create(&run->early->helper, plan, &facts, &created, err) < 0)
		return explain_failure(plan, false, err);
	take_reuse(run, &created, sandbox);
	int status = check_warnings(&created.warnings, wanted, err);
	if (status == 0)
		status = docker_helper_start_container(&run->early->helper, &first.pid, err);
	if (status < 0)
		explain_failure(plan, created.reuse == SANDBOX_REUSED, err);
	if (status == 0)
		status = docker_check_first(plan, &first, err);
	/* As a resource limit it is no group's, and the engine's own number stands there. */
	const uint32_t of_groups =
	    docker_pids_by_nproc(plan) ? wanted & ~(1U << PLAN_LIMIT_PIDS) : wanted;
	if (status == 0)
		status = docker_read_back(plan, of_groups, first.pid, created.id, err);
	if (status == 0) {
		sandbox->id = strdup(created.id);
		if (run->memory != 0)
			run->oom_file = docker_oom_file(first.pid, created.id);
	}
	memcpy(sandbox->unseen, first.unseen, sizeof(sandbox->unseen));
	sandbox->limits_applied = wanted;
	hl_strv_done(&created.warnings);
	return status;
}

/* Takes plan->early, also when it fails. */
static struct docker_run *
run_new(const struct plan *plan, struct hl_err *err)
{
	struct docker_run *run = calloc(1, sizeof(*run));

	if (run == NULL) {
		docker_early_end(plan->early);
		hl_err_oom(err);
		return NULL;
	}
	run->early = plan->early;
	docker_container_name(plan, run->name);
	memcpy(run->run_id, plan->run_id, sizeof(run->run_id));
	run->stays = plan->keep.is_kept;
	/* One that is not there is told by what starts it. */
	run->helper_path = strdup(plan->helper_path != NULL ? plan->helper_path : "");
	run->endpoint = docker_endpoint_text(plan);
	if (plan->limits[PLAN_LIMIT_MEMORY].has)
		run->memory = plan->limits[PLAN_LIMIT_MEMORY].value;
	if (run->helper_path != NULL && run->endpoint != NULL)
		return run;
	hl_err_oom(err);
	run_free(run);
	return NULL;
}

/* hl-engine is gone or was given up on: another one removes the container, if it is still there. An
 * engine that hangs keeps nobody: what is left then is gc's. */
static int
remove_by_another(struct docker_run *run, struct hl_err *err)
{
	struct docker_opened opened = { 0 };
	struct docker_helper helper;

	if (docker_helper_reach(&helper,
		&(struct docker_reach){ run->helper_path, run->endpoint, REMOVE_MS }, &opened,
		err) < 0)
		return -1;
	docker_opened_done(&opened);
	const struct docker_remove_call call = { run->name, run->run_id, true };
	int status = docker_helper_remove(&helper, &call, err);
	docker_helper_end(&helper);
	return status;
}

/* What the caller is told behind err when it could not be. */
static void
remove_after_all(struct docker_run *run, struct hl_err *err)
{
	struct hl_err second = { 0 };

	run->early->helper.peer.end_ms = REMOVE_MS;
	docker_helper_end(&run->early->helper);
	if (remove_by_another(run, &second) < 0)
		(void)hl_err_wrap(err, "container '%s' may be left, which gc removes (%.150s)",
		    run->name, second.msg);
}

/* hl-engine removes what it made when its control socket ends, or another one does. */
static void
undo(struct docker_run *run, struct sandbox *sandbox, struct hl_err *err)
{
	bool was_kept = sandbox->reuse == SANDBOX_REUSED; /* and still is, whatever happened */

	if (run->is_create_asked && run->early->helper.peer.is_broken && !was_kept)
		remove_after_all(run, err);
	run_free(run);
	free(sandbox->engine);
	free(sandbox->image_digest);
	free(sandbox->id);
	hl_buf_done(&sandbox->lock);
	hl_strv_done(&sandbox->image_env);
}

static int
start_with(struct docker_run *run, const struct start_call *call, struct sandbox *sandbox,
    struct hl_err *err)
{
	const struct plan *plan = call->plan;

	if (docker_prepare(plan, err) < 0 ||
	    (run->early == NULL && docker_early_begin(plan, &run->early, err) < 0))
		return -1;
	struct backend_early *early = run->early;
	if (docker_early_open(early, plan, err) < 0 ||
	    start_container(run, call, &early->opened, sandbox, err) < 0 ||
	    fill_lock(sandbox, call, &early->opened.env, err) < 0)
		return -1;
	take_opened(sandbox, plan, &early->opened);
	return 0;
}

static int
docker_start(const struct plan *plan, const struct lowered *lowered,
    const struct control_gaps *gaps, struct sandbox *ret_sandbox, struct hl_err *err)
{
	struct start_call call = { plan, lowered, gaps };
	struct sandbox sandbox = { .stream = -1, .pass = -1, .pidfd = -1 };
	struct docker_run *run = run_new(plan, err);

	if (run == NULL)
		return -1;
	if (start_with(run, &call, &sandbox, err) < 0) {
		undo(run, &sandbox, err);
		return -1;
	}
	run->early->helper.peer.cancel_fd = -1; /* from now on signals are for the command */
	sandbox.stream = hl_take_fd(&run->early->helper.stream);
	sandbox.pidfd = fcntl(run->early->helper.peer.pidfd, F_DUPFD_CLOEXEC, 3);
	sandbox.private_data = run;
	*ret_sandbox = sandbox;
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Stop
 */

/* The runner's last words, on one line. */
static void
put_diagnosis(struct hl_buf *out, const struct docker_end *end)
{
	hl_buf_init(out, 1024);
	if (end->diagnosis[0] != '\0') {
		size_t len = strcspn(end->diagnosis, "\n");
		hl_buf_puts(out, ": ");
		hl_buf_printable(out, end->diagnosis, len < 160 ? len : 160);
	} else if (end->why[0] != '\0') {
		hl_buf_putf(out, ": %.200s", end->why);
	}
}

static int
judge_end(const struct docker_run *run, const struct docker_end *end, struct hl_err *err)
{
	const char *left = run->stays ? "may still run" : "may be left";
	bool is_over = (end->flags & ENGINE_END_REMOVED) != 0;
	struct hl_buf diagnosis, size;
	int status = 0;

	if ((end->flags & ENGINE_END_VANISHED) != 0)
		return hl_err_set(err, HLB_54, "the engine ended while container '%s' ran%s%s",
		    run->name, is_over ? "" : "; the container ", is_over ? "" : left);
	if (!is_over)
		return hl_err_set(err, HLB_56, "container '%s' %s: %s", run->name,
		    run->stays ? "is not stopped" : left, end->why);
	if ((end->flags & ENGINE_END_BAD_STREAM) != 0)
		return hl_err_set(err, HLB_43, "the engine's stream of the container is malformed");
	put_diagnosis(&diagnosis, end);
	hl_buf_init(&size, 64);
	hl_buf_put_size(&size, run->memory);
	if ((end->flags & ENGINE_END_OOM) != 0)
		status = hl_err_set(err, HLB_55, "the memory limit of %s was reached",
		    run->memory != 0 ? size.data : "the host");
	else if ((end->flags & ENGINE_END_SILENT) != 0)
		status = hl_err_set(err, HLB_61,
		    "the container ended with status %u before its runner said a word%s",
		    end->exit_code, diagnosis.data);
	hl_buf_done(&diagnosis);
	hl_buf_done(&size);
	return status;
}

static int
docker_stop(struct sandbox *sandbox, struct hl_err *err)
{
	struct docker_run *run = sandbox->private_data;
	struct docker_end end;

	if (run == NULL)
		return 0;
	sandbox->private_data = NULL;
	/* The runner is still there, and its control group with it. */
	bool has_oom = docker_oom_happened(run->oom_file);
	if (sandbox->stream >= 0)
		(void)shutdown(sandbox->stream,
		    SHUT_RDWR); /* the runner ends when its stream does */
	int status = docker_helper_stop(&run->early->helper, sandbox->is_discarded, &end, err);
	run->stays = run->stays && !sandbox->is_discarded;
	if (status == 0) {
		end.flags |= has_oom ? ENGINE_END_OOM : 0;
		status = judge_end(run, &end, err);
	} else if (run->early->helper.peer.is_broken && !run->stays) {
		remove_after_all(run, err);
	}
	run_free(run);
	return status;
}

/* What differs between the two is in dialect.c. */
#define BACKEND(word, symbol)                                                \
 {                                                                           \
  .name = (word), .id = BACKEND_##symbol, .reach = docker_early_begin,       \
  .abandon = docker_early_end, .lower = docker_lower, .probe = docker_probe, \
  .start = docker_start, .stop = docker_stop,                                \
 }

const struct backend backend_docker = BACKEND("docker", DOCKER);
const struct backend backend_podman = BACKEND("podman", PODMAN);
