/*
 * doctor: what this host and its engines can enforce, learned by doing, and what mends each gap.
 *
 * A gap is a fact, not a fault: the exit status is 1 only when there is a policy, named or as run
 * would find it, and it needs what is missing here; a policy that run would refuse has the status
 * of that. Nothing is left, and nothing is written but what an engine turned out to be able to do
 * for that policy, as a run would.
 */
#include "launcher/doctor.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/plan_parts.h"

#include "base/banned.h"

static const char state_check[] = "state directory";

struct doctor_row *
doctor_add(struct doctor *doctor, const char *check, enum doctor_state state)
{
	HL_BUG_ON(doctor->len == DOCTOR_ROWS_MAX);
	struct doctor_row *row = &doctor->rows[doctor->len++];

	*row = (struct doctor_row){ .check = check, .state = state };
	return row;
}

/* ------------------------------------------------------------------------------------------------
 * The kernel
 */
static const char *
mend_user_ns(const char *cause)
{
	static const struct {
		const char *names;
		const char *mend;
	} mends[] = {
		{ "max_user_namespaces", "sysctl -w user.max_user_namespaces=10000" },
		{ "unprivileged_userns_clone", "sysctl -w kernel.unprivileged_userns_clone=1" },
		{ "apparmor_restrict_unprivileged_userns",
		    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" },
		{ "as in a container",
		    "start the container around us with a profile that lets unshare(2) through" },
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(mends); i++)
		if (strstr(cause, mends[i].names) != NULL)
			return mends[i].mend;
	return "run as root, or on a kernel with CONFIG_USER_NS";
}

static void
look_at_kernel(struct doctor *doctor)
{
	struct confine_kernel kernel;
	struct utsname name;
	struct doctor_row *row;

	row = doctor_add(doctor, "kernel", DOCTOR_OK);
	if (uname(&name) == 0)
		snprintf(row->detail, sizeof(row->detail), "%s %s %s", name.sysname, name.release,
		    name.machine);
	confine_kernel_probe(&kernel);
	bool has = kernel.landlock_abi > 0;
	row = doctor_add(doctor, "landlock", has ? DOCTOR_OK : DOCTOR_GAP);
	if (has) {
		snprintf(row->detail, sizeof(row->detail), "ABI %d", kernel.landlock_abi);
	} else {
		snprintf(row->detail, sizeof(row->detail),
		    "not in this kernel, or not switched on");
		row->mend = "add landlock to the kernel's lsm= list (Linux 5.13 or later)";
	}
	row = doctor_add(doctor, "seccomp", kernel.has_seccomp ? DOCTOR_OK : DOCTOR_GAP);
	if (!kernel.has_seccomp)
		row->mend = "use a kernel with CONFIG_SECCOMP_FILTER";
	has = kernel.has_user_ns || geteuid() == 0;
	row = doctor_add(doctor, "user namespaces", has ? DOCTOR_OK : DOCTOR_GAP);
	snprintf(row->detail, sizeof(row->detail), "%s", kernel.user_ns_cause);
	if (!has)
		row->mend = mend_user_ns(kernel.user_ns_cause);
}

/* A part of the tree is handed to an ordinary user by the unified hierarchy alone (cgroups(7)). */
static const char *
mend_cgroups(void)
{
	if (geteuid() == 0)
		return "start us where /sys/fs/cgroup is writable";
	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
		return "systemd-run --user --scope -p Delegate=yes hermes-launch ...";
	return "run as root, or boot with systemd.unified_cgroup_hierarchy=1";
}

/* Groups are made, filled, read back and removed. */
static int
look_at_cgroups(struct doctor *doctor, struct hl_err *err)
{
	static const char *const checks[CONFINE_LIMIT_MAX] = {
		[CONFINE_LIMIT_PIDS] = "limit pids",
		[CONFINE_LIMIT_MEMORY] = "limit memory",
		[CONFINE_LIMIT_CPUS] = "limit cpus",
	};
	const struct confine_limits wanted = {
		.has_pids = true,
		.has_memory = true,
		.has_cpus = true,
		.pids = 64,
		.memory = 64U << 20,
		.cpus = 1000,
	};
	struct confine_cgroup cgroup;
	char name[HL_ULID_SIZE];

	if (hl_ulid(name, err) != 0 || confine_cgroup_create(&wanted, name, &cgroup, err) != 0)
		return -1;
	for (unsigned i = 0; i < CONFINE_LIMIT_MAX; i++) {
		bool in_group = (cgroup.applied & (1U << i)) != 0;
		bool has =
		    in_group || (i == CONFINE_LIMIT_PIDS && confine_nproc_is_per_namespace());
		struct doctor_row *row =
		    doctor_add(doctor, checks[i], has ? DOCTOR_OK : DOCTOR_GAP);
		snprintf(row->detail, sizeof(row->detail), "%s",
		    in_group ? "control group"
		    : has    ? "resource limit, by user namespace"
			     : cgroup.missing[i]);
		if (has)
			continue;
		row->mend = mend_cgroups();
	}
	int status = confine_cgroup_remove(&cgroup, err);
	confine_cgroup_done(&cgroup);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * Programs and places
 */
static void
look_at_programs(struct doctor *doctor, const struct host *host)
{
	struct doctor_row *row = doctor_add(doctor, "runner", DOCTOR_OK);

	snprintf(row->detail, sizeof(row->detail), "%.180s",
	    host->runner_path != NULL ? host->runner_path : "the one inside the launcher");
	row = doctor_add(doctor, "hl-engine", host->helper_path != NULL ? DOCTOR_OK : DOCTOR_GAP);
	snprintf(row->detail, sizeof(row->detail), "%.180s",
	    host->helper_path != NULL ? host->helper_path : "not beside the launcher");
	if (host->helper_path == NULL)
		row->mend = "install hl-engine beside hermes-launch to use docker and podman";
	/* Nobody misses it where nothing needs to be signed. */
	row = doctor_add(doctor, "hl-seal",
	    host->seal_path != NULL ? DOCTOR_OK
	    : host_has_trust()      ? DOCTOR_GAP
				    : DOCTOR_ABSENT);
	snprintf(row->detail, sizeof(row->detail), "%.180s",
	    host->seal_path != NULL ? host->seal_path : "not beside the launcher");
	if (host->seal_path == NULL)
		row->mend = "install hl-seal beside hermes-launch to use signed policies";
}

static const char *
mend_state(enum hl_code code)
{
	static const struct {
		enum hl_code code;
		const char *mend;
	} mends[] = {
		{ HLA_02, "chmod 700 the directory and make it yours" },
		{ HLA_03, "name a directory on a local disk with --state-dir" },
		{ HLA_04, "wait for the process that holds its lock, or end it" },
		{ HLA_05,
		    "hermes-launch audit verify, then move the log's directory below audit/ away" },
		{ HLA_06, "make room on its file system" },
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(mends); i++)
		if (mends[i].code == code)
			return mends[i].mend;
	return "name another directory with --state-dir";
}

static void
look_at_state(struct doctor *doctor, const struct host *host)
{
	struct audit_open_request open = { .state_dir = host->state_dir, .version = HL_VERSION };
	struct doctor_row *row = doctor_add(doctor, state_check, DOCTOR_OK);
	struct audit *audit;
	struct hl_err err;

	snprintf(row->detail, sizeof(row->detail), "%.180s", host->state_dir);
	if (audit_open(&open, &audit, &err) == 0) {
		int status = audit_can_append(audit, &err);
		audit_close(audit);
		if (status == 0)
			return;
	}
	if (err.code == HLA_07 || (err.sys_errno == ENOENT && err.code == HLA_01)) {
		snprintf(row->detail, sizeof(row->detail), "%.160s (made by the first run)",
		    host->state_dir);
		return;
	}
	row->state = DOCTOR_GAP;
	snprintf(row->detail, sizeof(row->detail), "%.190s [%s]", err.msg,
	    hl_code_info(err.code)->id);
	row->mend = mend_state(err.code);
}

/* ------------------------------------------------------------------------------------------------
 * Engines
 */
static void
look_at_engine(struct doctor *doctor, const struct host *host, const char *check,
    const char *endpoint)
{
	struct hl_err err;
	HL_AUTO_FREE char *version = NULL;
	struct doctor_row *row = doctor_add(doctor, check, DOCTOR_OK);
	if (host->helper_path == NULL ||
	    engine_version(host->helper_path, endpoint, &version, &err) != 0) {
		row->state = DOCTOR_GAP;
		snprintf(row->detail, sizeof(row->detail), "%.100s: %.150s", endpoint,
		    host->helper_path == NULL ? "hl-engine is missing" : err.msg);
		row->mend = access(endpoint, W_OK) != 0 && errno == EACCES
				? "join the socket's group: it is as good as root on this host"
				: "start the engine: systemctl start docker, or podman.socket";
		return;
	}
	snprintf(row->detail, sizeof(row->detail), "%.80s unix://%.150s", version, endpoint);
}

/* One of the usual places: nothing is expected there. */
static void
look_for_engine(struct doctor *doctor, const struct host *host, const char *check,
    const char *endpoint)
{
	struct stat st;

	if (stat(endpoint, &st) == 0 && S_ISSOCK(st.st_mode))
		look_at_engine(doctor, host, check, endpoint);
}

/* Whether it reaches an engine is told by a run. */
static void
look_at_client(struct doctor *doctor)
{
	const char *client = engine_client();

	if (access(client, X_OK) != 0)
		return;
	struct doctor_row *row = doctor_add(doctor, "client docker", DOCTOR_OK);
	snprintf(row->detail, sizeof(row->detail), "%.100s, for docker.client: cli", client);
}

static void
look_at_engines(struct doctor *doctor, const struct host *host)
{
	const char *variable = host_docker_host(host);
	const char *named = variable != NULL ? engine_socket(variable) : NULL;
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	size_t before = doctor->len;

	if (named != NULL)
		look_at_engine(doctor, host, "engine (DOCKER_HOST)", named);
	look_for_engine(doctor, host, "engine docker", "/var/run/docker.sock");
	look_for_engine(doctor, host, "engine podman", "/run/podman/podman.sock");
	if (runtime != NULL && runtime[0] == '/') {
		char path[256];
		snprintf(path, sizeof(path), "%.200s/docker.sock", runtime);
		look_for_engine(doctor, host, "engine docker (user)", path);
		snprintf(path, sizeof(path), "%.200s/podman/podman.sock", runtime);
		look_for_engine(doctor, host, "engine podman (user)", path);
	}
	/* Not started: it would write to its storage. */
	if (access(engine_program(), X_OK) == 0) {
		struct doctor_row *program =
		    doctor_add(doctor, "engine podman (program)", DOCTOR_OK);
		snprintf(program->detail, sizeof(program->detail), "%.100s is started for each run",
		    engine_program());
		doctor_look_at_rootless(doctor, host);
	}
	if (doctor->len != before)
		return;
	struct doctor_row *row = doctor_add(doctor, "engine", DOCTOR_ABSENT);
	snprintf(row->detail, sizeof(row->detail), "no docker or podman socket is here");
	row->mend = "apt-get install docker.io, for policies whose backends name docker";
}

/* ------------------------------------------------------------------------------------------------
 * A policy's needs
 */
static int
add_needs(struct doctor *doctor, struct run *run, struct hl_err *err)
{
	struct control_gaps gaps = { 0 };

	if (run->backend->probe(&run->plan, &gaps, err) != 0)
		return -1;
	for (size_t i = 0; i < gaps.len; i++) {
		const struct control_gap *gap = &gaps.items[i];
		struct doctor_row *row =
		    doctor_add(doctor, control_info(gap->control)->name, DOCTOR_GAP);
		snprintf(row->detail, sizeof(row->detail), "%.190s%s", gap->reason,
		    gap->may_degrade ? " (the policy can do without)" : "");
		row->is_needed = !gap->may_degrade && plan_is_enforced(run->policy);
		row->mend =
		    gap->mend != NULL
			? gap->mend
			: "mend the row above, or let the policy say degrade: {allow: [...]}";
	}
	return 0;
}

/* A log that cannot be written to is the end of each run of a policy that asks for one. */
static void
need_state(struct doctor *doctor, const struct policy *policy)
{
	for (size_t i = 0; i < doctor->len; i++) {
		struct doctor_row *row = &doctor->rows[i];
		if (strcmp(row->check, state_check) == 0 && row->state == DOCTOR_GAP)
			row->is_needed = policy_get(policy, POLICY_AUDIT_REQUIRED)->number != 0;
	}
}

static void
miss_policy(struct doctor *doctor)
{
	struct doctor_row *row = doctor_add(doctor, "policy", DOCTOR_ABSENT);

	snprintf(row->detail, sizeof(row->detail), "none was named, and none is found from here");
	row->mend = "name one with --policy, or write .hermes/policy.yaml";
}

/* The way of explain: nothing is recorded and nothing is started. */
static int
look_at_policy(struct doctor *doctor, const struct request *request, struct run *run,
    struct hl_err *err)
{
	struct policy_findings findings;
	const struct plan_input input = {
		.request = request,
		.conflicts = &run->conflicts,
		.host = &run->host,
	};

	int status = load_policy(&request->policies, &run->host, &run->policy, &findings, err);
	report_findings(&findings, request);
	policy_findings_done(&findings);
	if (status != 0 && request->policies.len == 0 && err->code == HLU_03) {
		miss_policy(doctor);
		return 0;
	}
	if (status != 0 || conflicts_try(run->policy, request, &run->conflicts, err) != 0)
		return -1;
	struct plan_input whole = input;
	whole.policy = run->policy;
	if (plan_build(&whole, &run->plan, err) != 0)
		return -1;
	run->has_plan = true;
	run->backend = backend_find(run->plan.backend, err);
	if (run->backend == NULL)
		return -1;
	struct doctor_row *row = doctor_add(doctor, "policy", DOCTOR_OK);
	snprintf(row->detail, sizeof(row->detail), "backend %s, level %s", run->backend->name,
	    policy_level(run->policy));
	need_state(doctor, run->policy);
	return add_needs(doctor, run, err);
}

static int
examine(struct doctor *doctor, const struct request *request, struct run *run, struct hl_err *err)
{
	if (host_facts(request, &run->host, err) != 0)
		return -1;
	look_at_kernel(doctor);
	if (look_at_cgroups(doctor, err) != 0)
		return -1;
	look_at_programs(doctor, &run->host);
	look_at_state(doctor, &run->host);
	look_at_engines(doctor, &run->host);
	look_at_client(doctor);
	return look_at_policy(doctor, request, run, err);
}

int
verb_doctor(const struct request *request)
{
	static struct doctor doctor;
	static struct run run;
	struct hl_err err = { 0 };
	int status = 0;

	lowered_init(&run.lowered);
	run.result_fd = run.signal_fd = -1;
	if (examine(&doctor, request, &run, &err) != 0)
		status = verb_fail(&err);
	if (doctor_tell(&doctor, request->format == FORMAT_JSON, &err) != 0)
		status = verb_fail(&err);
	run_done(&run);
	for (size_t i = 0; i < doctor.len && status == 0; i++)
		status = doctor.rows[i].is_needed ? 1 : 0;
	return status;
}
