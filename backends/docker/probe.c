/*
 * What this engine, here, cannot apply of the plan. Limits are tried: a container of the same image
 * with the same limits is made, its runner ends at once because its stream does, and that all of
 * them are applied is kept below the state directory, per engine, image and limits. A refusal is
 * never kept: "Cannot allocate memory" of an engine in distress reads as one of the memory limit,
 * and would take the limit from every later run that may go on without it.
 *
 * Which engine it is, its socket says, and the kernel's own id of the boot covers what else may
 * have changed. A socket that the engine makes is another one after each start; one that a service
 * manager holds for it (fd://) stays. Then the engine may have been started again with other
 * settings, and what it does not apply is found by the run itself: by the warnings of its create,
 * and by what is read back. An engine's id would cost a request that takes longer than all others
 * before a container together, and stays the same over a restart as well.
 */
#include <sys/socket.h>
#include <sys/stat.h>

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/docker.h"
#include "backends/docker/helper.h"
#include "backends/docker/lower.h"
#include "backends/docker/prepare.h"
#include "backends/docker/rootless.h"
#include "backends/docker/settings.h"
#include "backends/docker/start.h"

#include "base/banned.h"

enum {
	CACHE_MAX = 64,
	KEY_MAX = 1024,
	REASON_MAX = 180
};

struct probed_limit {
	enum plan_limit limit;
	const char *name;     /* in the cache's key */
	const char *words[4]; /* by which an engine's text names it, lower case */
};

static const struct probed_limit probed[] = {
	{ PLAN_LIMIT_MEMORY, "memory", { "memory", "memsw", "swap", NULL } },
	{ PLAN_LIMIT_CPUS, "cpus", { "cpu", "nano", NULL } },
	{ PLAN_LIMIT_PIDS, "pids", { "pids", NULL } },
	{ PLAN_LIMIT_DISK, "disk", { "storage-opt", "storage opt", "pquota", NULL } },
};

/* Why each of the probed limits cannot be applied; "" = it can. */
struct outcome {
	char reasons[HL_ARRAY_SIZE(probed)][REASON_MAX];
};

static const char kept[] = "ok\n";

/* ------------------------------------------------------------------------------------------------
 * What a text is about
 */
static bool
has_swap(void)
{
	struct hl_err ignored = { 0 };
	struct hl_buf text;
	int fd HL_AUTO_FD = open("/proc/swaps", O_RDONLY | O_CLOEXEC);

	hl_buf_init(&text, 64 * 1024);
	bool is_known = fd >= 0 && hl_read_file(fd, &text, "/proc/swaps", HLI_02, &ignored) == 0;
	const char *newline = is_known ? strchr(text.data, '\n') : NULL;
	bool has = !is_known || (newline != NULL && newline[1] != '\0');
	hl_buf_done(&text);
	return has;
}

static bool
mentions(const char *text, const char *word)
{
	return strcasestr(text, word) != NULL;
}

uint32_t
docker_limits_named(const char *text)
{
	uint32_t named = 0, all = 0;

	/* Without a swap limit memory is limited all the same where there is no swap. */
	if (mentions(text, "without swap") && !has_swap())
		return 0;
	for (size_t i = 0; i < HL_ARRAY_SIZE(probed); i++) {
		uint32_t bit = 1U << probed[i].limit;
		if (probed[i].limit != PLAN_LIMIT_DISK) /* the others are control groups' */
			all |= bit;
		for (size_t word = 0; probed[i].words[word] != NULL; word++) {
			if (mentions(text, probed[i].words[word]))
				named |= bit;
		}
	}
	return named == 0 && mentions(text, "cgroup") ? all : named;
}

/* ------------------------------------------------------------------------------------------------
 * The cache
 */
static char *
cache_path(const struct plan *plan, const struct docker_opened *opened)
{
	char digest[HL_SHA256_HEX_SIZE];
	char *path = NULL;
	struct hl_buf key;

	char here[DOCKER_OWNER_SIZE];
	struct stat st;

	docker_owner_here(here);
	/* What cannot be told from another engine, or another boot, is asked each time: a client
	 * without a socket of ours stays the same whatever it speaks to. */
	if (plan->client != NULL && plan->is_endpoint_program)
		return NULL;
	if (stat(plan->endpoint, &st) != 0 || here[strlen(here) - 1] == ':')
		return NULL;
	hl_buf_init(&key, KEY_MAX);
	hl_buf_putf(&key, "5\n%s\n%s\n%s\n%ju %ju %jd.%09ld\n%s\n%s\n%d %d\n", here, plan->endpoint,
	    plan->client != NULL ? plan->client : "", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
	    (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec, opened->engine, opened->image_id,
	    plan->is_rootless, docker_pids_by_nproc(plan));
	docker_rootless_key(plan, &key);
	for (size_t i = 0; i < HL_ARRAY_SIZE(probed); i++) {
		const struct plan_number *number = &plan->limits[probed[i].limit];
		if (number->has)
			hl_buf_putf(&key, "%s=%" PRIu64 "\n", probed[i].name, number->value);
	}
	hl_sha256_text(key.data, key.len, digest);
	if (!key.failed && asprintf(&path, "%s/probe/%s", plan->state_dir, digest) < 0)
		path = NULL;
	hl_buf_done(&key);
	return path;
}

/* Any other text is as if it were not there. */
static bool
read_cache(const char *path)
{
	struct hl_err ignored = { 0 };
	struct hl_buf text;
	int fd HL_AUTO_FD = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return false;
	hl_buf_init(&text, CACHE_MAX);
	bool is_good = hl_read_file(fd, &text, path, HLI_02, &ignored) == 0 &&
		       text.len == sizeof(kept) - 1 && memcmp(text.data, kept, text.len) == 0;
	hl_buf_done(&text);
	return is_good;
}

/* A cache that cannot be written costs time, nothing else. */
static void
write_cache(const struct plan *plan, const char *path)
{
	struct hl_err ignored = { 0 };
	bool is_written = false;

	if (docker_make_dir(plan, "probe", &ignored) == 0)
		is_written = docker_write_file(path, kept, sizeof(kept) - 1, 0600, &ignored) == 0;
	(void)is_written;
}

/* ------------------------------------------------------------------------------------------------
 * The trial
 */
static void
note(struct outcome *outcome, uint32_t named, const struct plan *plan, const char *reason)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(probed); i++) {
		if ((named & (1U << probed[i].limit)) == 0 || !plan->limits[probed[i].limit].has ||
		    outcome->reasons[i][0] != '\0')
			continue;
		snprintf(outcome->reasons[i], REASON_MAX, "%.*s", REASON_MAX - 1, reason);
		for (char *c = outcome->reasons[i]; *c != '\0'; c++) {
			if ((unsigned char)*c < 0x20)
				*c = ' ';
		}
	}
}

/* Only the image and the limits: nothing of the host's is mounted but the runner. */
static int
trial_plan(const struct plan *plan, const struct outcome *outcome, struct plan *ret_trial,
    struct hl_err *err)
{
	struct plan trial = *plan;

	trial.mounts_len = 0;
	trial.tmpfs_len = 0;
	trial.devices_len = 0;
	trial.gpus = (struct plan_gpus){ 0 };
	trial.deny = (struct hl_strv){ 0 };
	trial.home = (struct plan_home){ .kind = PLAN_HOME_TMPFS };
	trial.network = PLAN_NETWORK_NONE;
	trial.pull = PLAN_PULL_NEVER; /* it is here, and "always" is once */
	trial.keep = (struct plan_keep){ 0 };
	for (size_t i = 0; i < HL_ARRAY_SIZE(probed); i++) {
		if (outcome->reasons[i][0] != '\0')
			trial.limits[probed[i].limit].has = false;
	}
	if (hl_ulid(trial.run_id, err) < 0)
		return -1;
	*ret_trial = trial;
	return 0;
}

/* One container. 0: it ran; -1: err says why not. Warnings go to outcome. */
static int
run_trial(const struct plan *trial, const struct docker_opened *opened, struct outcome *outcome,
    struct hl_err *err)
{
	struct docker_facts facts = { .image = opened->image_id };
	struct docker_opened again = { 0 };
	struct docker_created created;
	struct docker_helper helper;
	char owner[DOCKER_OWNER_SIZE];
	struct docker_end end;
	uint32_t pid = 0;

	docker_owner(owner);
	facts.owner = owner;
	if (docker_judge_user(trial, opened->user, &facts.is_image_root, err) < 0 ||
	    docker_helper_start(&helper, trial->helper_path, trial->cancel_fd, err) < 0)
		return -1;
	int status = docker_helper_open(&helper, trial, &again, err);
	if (status == 0) {
		docker_opened_done(&again);
		status = docker_create(&helper, trial, &facts, &created, err);
	}
	if (status == 0) {
		for (size_t i = 0; i < created.warnings.len; i++)
			note(outcome, docker_limits_named(created.warnings.v[i]), trial,
			    created.warnings.v[i]);
		hl_strv_done(&created.warnings);
		(void)shutdown(helper.stream, SHUT_RDWR);
		status = docker_helper_start_container(&helper, &pid, err);
		if (status == 0)
			status = docker_helper_stop(&helper, true, &end, err);
	}
	docker_helper_end(&helper);
	return status;
}

/* A runtime that may not write a control group says so at the end of a long text. */
static void
note_refusal(struct outcome *outcome, const struct plan *plan, const char *said)
{
	const uint32_t named = docker_limits_named(said);
	const bool is_of_groups = plan->is_rootless && named != 1U << PLAN_LIMIT_DISK;
	char reason[4 * REASON_MAX];

	snprintf(reason, sizeof(reason), "%s%s",
	    is_of_groups ? "an engine without root got no control group for it: " : "", said);
	note(outcome, named, plan, reason);
}

/* Each refusal takes at least one limit away, so this ends. */
static int
try_limits(const struct plan *plan, const struct docker_opened *opened, struct outcome *outcome,
    struct hl_err *err)
{
	for (size_t tries = 0; tries <= HL_ARRAY_SIZE(probed); tries++) {
		struct plan trial;
		if (trial_plan(plan, outcome, &trial, err) < 0)
			return -1;
		if (run_trial(&trial, opened, outcome, err) == 0)
			return 0;
		/* Only what the engine refused is about limits; and only what is still asked. The
		 * words of a client are not looked at: what it says is said to a person. */
		if (plan->client != NULL && err->code != HLB_53)
			return -1;
		if (err->code != HLB_51 && err->code != HLB_52 && err->code != HLB_53)
			return -1;
		struct outcome before = *outcome;
		note_refusal(outcome, &trial, err->msg);
		if (memcmp(&before, outcome, sizeof(before)) == 0)
			return -1;
	}
	return -1;
}

/* ------------------------------------------------------------------------------------------------
 * Gaps
 */
static void
add_fixed_gaps(const struct plan *plan, struct control_gaps *gaps)
{
	for (size_t i = 0; i < plan->mounts_len; i++) {
		char reason[200];
		if (plan->mounts[i].is_exec)
			continue;
		snprintf(reason, sizeof(reason), "an engine cannot bind '%.100s' without exec",
		    plan->mounts[i].dst);
		control_gaps_add(gaps, CONTROL_MOUNTS, false, reason);
		break;
	}
	if (plan->network == PLAN_NETWORK_PROXY)
		control_gaps_add(gaps, CONTROL_NETWORK, false,
		    "there is no egress proxy in this version");
	struct docker_root_gap root;
	if (docker_root_gap(plan, &root)) {
		control_gaps_add(gaps, CONTROL_DOCKER_ROOTLESS, plan->rootless_may_degrade,
		    root.reason);
		gaps->items[gaps->len - 1].mend = root.mend;
	}
	const char *refusal = docker_rootless_refuses(plan);
	if (refusal != NULL)
		control_gaps_add(gaps, CONTROL_NETWORK, false, refusal);
}

static bool
has_gap(const struct outcome *outcome)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(probed); i++) {
		if (outcome->reasons[i][0] != '\0')
			return true;
	}
	return false;
}

/* Known without an engine. */
static void
note_rootless(struct outcome *outcome, const struct plan *plan)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(probed); i++) {
		const char *reason = docker_rootless_lacks(plan, probed[i].limit);
		if (reason != NULL)
			note(outcome, 1U << probed[i].limit, plan, reason);
	}
}

/* The resource limit of processes is set by whoever starts one, and is nothing of the engine's. */
static bool
has_probed_limit(const struct plan *plan, const struct outcome *outcome)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(probed); i++) {
		bool is_tried = probed[i].limit != PLAN_LIMIT_PIDS || !docker_pids_by_nproc(plan);
		if (plan->limits[probed[i].limit].has && is_tried && outcome->reasons[i][0] == '\0')
			return true;
	}
	return false;
}

static int
look_up(const struct plan *plan, const struct docker_opened *opened, struct outcome *outcome,
    struct hl_err *err)
{
	char *path HL_AUTO_FREE = cache_path(plan, opened);

	if (path != NULL && read_cache(path))
		return 0;
	if (docker_prepare(plan, err) < 0 || try_limits(plan, opened, outcome, err) < 0)
		return -1;
	if (path != NULL && !has_gap(outcome))
		write_cache(plan, path);
	return 0;
}

static int
find_outcome(const struct plan *plan, struct outcome *outcome, struct hl_err *err)
{
	struct backend_early *early = plan->early;

	if (early == NULL && docker_early_begin(plan, &early, err) < 0)
		return -1;
	int status = docker_early_open(early, plan, err);
	if (status == 0)
		status = look_up(plan, &early->opened, outcome, err);
	if (early != plan->early)
		docker_early_end(early);
	return status;
}

int
docker_probe(const struct plan *plan, struct control_gaps *ret_gaps, struct hl_err *err)
{
	struct outcome outcome = { 0 };

	ret_gaps->len = 0;
	add_fixed_gaps(plan, ret_gaps);
	/* Of an engine that is not used nothing is tried. */
	const struct control_gap *root = control_gaps_find(ret_gaps, CONTROL_DOCKER_ROOTLESS);
	if (root != NULL && !root->may_degrade)
		return 0;
	if (plan->client != NULL)
		note(&outcome, 1U << PLAN_LIMIT_DISK, plan,
		    "a client does not tell whether the storage driver has quotas");
	note_rootless(&outcome, plan);
	if (has_probed_limit(plan, &outcome) && find_outcome(plan, &outcome, err) < 0) {
		if (err->help[0] == '\0')
			docker_explain_rootless(plan, err);
		return -1;
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(probed); i++) {
		const struct plan_number *number = &plan->limits[probed[i].limit];
		if (outcome.reasons[i][0] == '\0')
			continue;
		control_gaps_add(ret_gaps, docker_limit_control(probed[i].limit),
		    number->may_degrade, outcome.reasons[i]);
		ret_gaps->items[ret_gaps->len - 1].mend =
		    docker_rootless_mend(plan, probed[i].limit);
	}
	return 0;
}
