/*
 * The native sandbox: what it needs is made in the order in which a failure is cheapest, the child
 * is started, and stop() takes back all of it. Nothing here decides about the policy: a gap that
 * probe() reported and the launcher accepted is left out, every other failure refuses.
 */
#include "backends/local/local.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <linux/magic.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

struct local_sandbox {
	struct confine_cgroup cgroup;
	uint64_t memory; /* the limit, bytes */
	struct janitor *janitor;
	bool has_nproc;
};

struct limit_row {
	enum plan_limit limit;
	enum control control;
	enum confine_limit cgroup;
};

static const struct limit_row limit_rows[] = {
	{ PLAN_LIMIT_PIDS, CONTROL_LIMIT_PIDS, CONFINE_LIMIT_PIDS },
	{ PLAN_LIMIT_MEMORY, CONTROL_LIMIT_MEMORY, CONFINE_LIMIT_MEMORY },
	{ PLAN_LIMIT_CPUS, CONTROL_LIMIT_CPUS, CONFINE_LIMIT_CPUS },
};

static struct confine_limits
wanted_limits(const struct plan *plan)
{
	const struct plan_number *limits = plan->limits;

	return (struct confine_limits){
		.has_pids = limits[PLAN_LIMIT_PIDS].has,
		.has_memory = limits[PLAN_LIMIT_MEMORY].has,
		.has_cpus = limits[PLAN_LIMIT_CPUS].has,
		.pids = limits[PLAN_LIMIT_PIDS].value,
		.memory = limits[PLAN_LIMIT_MEMORY].value,
		.cpus = limits[PLAN_LIMIT_CPUS].value,
	};
}

/* RLIMIT_NPROC counts by user namespace since Linux 5.14: with a namespace of our own it counts the
 * sandbox and nothing else. A root caller has none, and there it would count the user everywhere.
 */
static bool
can_limit_by_nproc(void)
{
	struct utsname name;
	uint64_t major, minor;
	struct hl_err ignored = { 0 };

	if (geteuid() == 0 || uname(&name) != 0)
		return false;
	char *rest = name.release;
	const char *first = strsep(&rest, ".");
	if (rest == NULL)
		return false;
	rest[strspn(rest, "0123456789")] = '\0';
	if (hl_parse_u64(first, 0, 1000, &major, &ignored) != 0 ||
	    hl_parse_u64(rest, 0, 100000, &minor, &ignored) != 0)
		return false;
	return major > 5 || (major == 5 && minor >= 14);
}

/* ------------------------------------------------------------------------------------------------
 * Lower, probe
 */
static int
backend_lower(const struct plan *plan, struct lowered *ret_lowered, struct hl_err *err)
{
	struct local_host host = { 0 };

	lowered_init(ret_lowered);
	int status = local_host_gather(plan, &host, err);
	if (status == 0)
		status = local_lower(plan, &host, ret_lowered, err);
	local_host_done(&host);
	if (status != 0)
		lowered_done(ret_lowered);
	return status;
}

static void
add_gap(struct control_gaps *gaps, enum control control, bool may_degrade, const char *reason)
{
	HL_BUG_ON(gaps->len == CONTROL_GAPS_MAX);
	struct control_gap *gap = &gaps->items[gaps->len++];
	gap->control = control;
	gap->may_degrade = may_degrade;
	snprintf(gap->reason, sizeof(gap->reason), "%s", reason);
}

static bool
has_gap(const struct control_gaps *gaps, enum control control)
{
	for (size_t i = 0; i < gaps->len; i++)
		if (gaps->items[i].control == control)
			return true;
	return false;
}

/* By doing: groups are made, filled, read back and removed. */
static int
probe_limits(const struct plan *plan, struct control_gaps *gaps, struct hl_err *err)
{
	const struct confine_limits wanted = wanted_limits(plan);
	struct confine_cgroup cgroup;

	if (!wanted.has_pids && !wanted.has_memory && !wanted.has_cpus)
		return 0;
	if (confine_cgroup_create(&wanted, plan->run_id, &cgroup, err) != 0)
		return -1;
	for (size_t i = 0; i < HL_ARRAY_SIZE(limit_rows); i++) {
		const struct limit_row *row = &limit_rows[i];
		const struct plan_number *limit = &plan->limits[row->limit];
		if (!limit->has || (cgroup.applied & (1U << row->cgroup)) != 0)
			continue;
		if (row->limit == PLAN_LIMIT_PIDS && can_limit_by_nproc())
			continue;
		add_gap(gaps, row->control, limit->may_degrade || !limit->is_explicit,
		    cgroup.missing[row->cgroup]);
	}
	return confine_cgroup_remove(&cgroup, err);
}

static int
backend_probe(const struct plan *plan, struct control_gaps *ret_gaps, struct hl_err *err)
{
	struct confine_kernel kernel = { 0 };
	struct control_gaps gaps = { 0 };

	if (plan->isolation == PLAN_ISOLATION_SCRUB)
		add_gap(&gaps, CONTROL_ISOLATION, false,
		    "scrub cannot keep that what the command started outlives the launcher");
	if (plan->network == PLAN_NETWORK_PROXY || plan->network == PLAN_NETWORK_BRIDGE)
		add_gap(&gaps, CONTROL_NETWORK, false,
		    "the native sandbox has no network but none and host in this version");
	confine_kernel_probe(&kernel);
	if (geteuid() != 0 && !kernel.has_user_ns)
		add_gap(&gaps, CONTROL_ISOLATION, false, kernel.user_ns_cause);
	if (plan->landlock && kernel.landlock_abi < 1)
		add_gap(&gaps, CONTROL_LANDLOCK, plan->landlock_may_degrade,
		    "this kernel has no Landlock, or it is not switched on");
	if (plan->seccomp != CONFINE_PROFILE_NONE && !kernel.has_seccomp)
		add_gap(&gaps, CONTROL_SECCOMP, false, "this kernel has no system call filters");
	if (probe_limits(plan, &gaps, err) != 0)
		return -1;
	*ret_gaps = gaps;
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Start
 */
/* A file that is covered or read-only inside, but lies below a writable mount, must not come in by
 * the caller's descriptor: that descriptor's own mount is the host's, /proc/self/fd/0 opens it
 * anew, and Landlock's rule for the writable mount lets it. */
static bool
is_closed_inside(const struct plan *plan, const char *path)
{
	bool is_closed = false, is_writable = false;

	for (size_t i = 0; i < plan->deny.len; i++)
		is_closed = is_closed || hl_path_is_beneath(path, plan->deny.v[i]);
	for (size_t i = 0; i < plan->mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		if (mount->is_volume || !hl_path_is_beneath(path, mount->src))
			continue;
		is_writable = is_writable || mount->is_writable;
		is_closed = is_closed || !mount->is_writable;
	}
	return is_closed && is_writable;
}

static int
check_file(const struct plan *plan, int fd, struct hl_err *err)
{
	HL_AUTO_FREE char *path = hl_path_of_fd(fd);

	if (path == NULL)
		return hl_err_sys(err, HLB_23, "descriptor %d cannot be examined", fd);
	if (!is_closed_inside(plan, path))
		return 0;
	hl_err_set(err, HLB_23, "descriptor %d is '%.300s', which is covered or read-only inside",
	    fd, path);
	return hl_err_help(err,
	    "let another program read or write it: cat FILE | hermes-launch ...");
}

/* A directory among 0-2 is a way out of the new root (CVE-2024-21626); so is an O_PATH descriptor.
 */
static int
check_stdio(const struct plan *plan, struct hl_err *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		struct stat st;
		int flags = fcntl(fd, F_GETFL);
		if (flags < 0 || fstat(fd, &st) != 0)
			return hl_err_sys(err, HLB_23, "descriptor %d cannot be examined", fd);
		if (S_ISDIR(st.st_mode) || (flags & O_PATH) != 0)
			return hl_err_set(err, HLB_23, "descriptor %d is a %s", fd,
			    S_ISDIR(st.st_mode) ? "directory" : "path descriptor");
		if (S_ISREG(st.st_mode) && check_file(plan, fd, err) != 0)
			return -1;
	}
	return 0;
}

/* A root caller's pipes belong to root, and the command, which is somebody else, could use but not
 * reopen them: `echo x >/dev/stderr` would fail. An anonymous pipe is nobody's name in any
 * directory, so its owner may change; files, terminals and named pipes stay whose they are. */
static void
give_pipes(const struct plan *plan)
{
	if (geteuid() != 0 || plan->uid == 0)
		return;
	for (int fd = 0; fd <= 2; fd++) {
		struct statfs fs;
		if (fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC &&
		    fchown(fd, plan->uid, plan->gid) != 0)
			continue; /* then it stays as it was: usable, not reopenable */
	}
}

/* Above the number that the child gives to the stream. */
static int
raise_fd(int fd)
{
	if (fd < 0 || fd > RUNNER_STREAM_FD)
		return fd;
	int raised = fcntl(fd, F_DUPFD_CLOEXEC, RUNNER_STREAM_FD + 1);
	close(fd);
	return raised;
}

static int
open_runner(const char *path, struct hl_err *err)
{
	struct stat st;

	HL_AUTO_FD int fd = raise_fd(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
	if (fd < 0 || fstat(fd, &st) != 0)
		return hl_err_sys(err, HLB_22, "cannot open the runner '%.300s'", path);
	if (!S_ISREG(st.st_mode))
		return hl_err_set(err, HLB_22, "the runner '%.300s' is not a file", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return hl_err_set(err, HLB_22, "the runner '%.300s' belongs to user %u", path,
		    (unsigned)st.st_uid);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return hl_err_set(err, HLB_22, "the runner '%.300s' is writable by others", path);
	return hl_take_fd(&fd);
}

static int
make_groups(const struct plan *plan, const struct control_gaps *gaps, struct local_sandbox *own,
    struct hl_err *err)
{
	const struct confine_limits wanted = wanted_limits(plan);

	if (confine_cgroup_create(&wanted, plan->run_id, &own->cgroup, err) != 0)
		return -1;
	for (size_t i = 0; i < HL_ARRAY_SIZE(limit_rows); i++) {
		const struct limit_row *row = &limit_rows[i];
		if (!plan->limits[row->limit].has ||
		    (own->cgroup.applied & (1U << row->cgroup)) != 0 || has_gap(gaps, row->control))
			continue;
		if (row->limit == PLAN_LIMIT_PIDS && can_limit_by_nproc()) {
			own->has_nproc = true;
			continue;
		}
		return hl_err_set(err, HLB_25, "%s cannot be applied: %s",
		    control_info(row->control)->name, own->cgroup.missing[row->cgroup]);
	}
	if (own->cgroup.dirs_len == 0)
		return 0;
	return janitor_start(&own->cgroup, &own->janitor, err);
}

static void
fill_child(const struct plan *plan, const struct local_sandbox *own, struct child_plan *child)
{
	child->has_user_ns = geteuid() != 0;
	child->is_dumpable = prctl(PR_GET_DUMPABLE) == 1;
	int len = snprintf(child->uid_map, sizeof(child->uid_map), "%u %u 1\n", (unsigned)geteuid(),
	    (unsigned)geteuid());
	child->uid_map_len = (size_t)len;
	len = snprintf(child->gid_map, sizeof(child->gid_map), "%u %u 1\n", (unsigned)getegid(),
	    (unsigned)getegid());
	child->gid_map_len = (size_t)len;
	for (size_t i = 0; i < own->cgroup.dirs_len; i++)
		child->procs[i] = own->cgroup.procs[i];
	child->procs_len = own->cgroup.dirs_len;
	child->has_nproc = own->has_nproc;
	child->nproc = plan->limits[PLAN_LIMIT_PIDS].value;
}

static int
spawn(const struct plan *plan, const struct local_sandbox *own, struct sandbox *sandbox,
    struct hl_err *err)
{
	struct child_plan child = { 0 };
	int ends[2], pidfd;
	pid_t pid;
	char text[24];

	HL_AUTO_FD int runner = open_runner(plan->runner_path, err);
	if (runner < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return hl_err_sys(err, HLB_24, "cannot make a socket pair");
	HL_AUTO_FD int ours = raise_fd(ends[0]);
	HL_AUTO_FD int theirs = raise_fd(ends[1]);
	if (ours < 0 || theirs < 0)
		return hl_err_sys(err, HLB_24, "cannot duplicate a descriptor");
	give_pipes(plan);
	fill_child(plan, own, &child);
	child.stream_fd = theirs;
	child.runner_fd = runner;
	struct spawn_request request = {
		.namespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS,
		.child = &child,
	};
	if (plan->network != PLAN_NETWORK_HOST)
		request.namespaces |= CLONE_NEWNET;
	if (child.has_user_ns)
		request.namespaces |= CLONE_NEWUSER;
	if (local_spawn(&request, &pid, &pidfd, err) != 0)
		return -1;
	sandbox->stream = hl_take_fd(&ours);
	sandbox->pidfd = pidfd;
	snprintf(text, sizeof(text), "%d", (int)pid);
	sandbox->id = strdup(text);
	return sandbox->id == NULL ? hl_err_oom(err) : 0;
}

static int
encode_lock(const struct lowered *lowered, const struct control_gaps *gaps, struct sandbox *sandbox,
    struct hl_err *err)
{
	struct confinement confinement = lowered->confinement; /* borrows all of it */

	if (has_gap(gaps, CONTROL_LANDLOCK))
		confinement.flags &= ~(uint32_t)CONFINE_LANDLOCK;
	return confine_encode(&confinement, &sandbox->lock, err);
}

/* What has no enforcer is refused here as well: probe() may not have been asked. */
static int
check_enforceable(const struct plan *plan, const struct lowered *lowered, struct hl_err *err)
{
	if (plan->isolation == PLAN_ISOLATION_SCRUB || !lowered->has_confinement)
		return hl_err_set(err, HLB_29, "local.isolation: scrub has no enforcer");
	if (plan->network == PLAN_NETWORK_PROXY || plan->network == PLAN_NETWORK_BRIDGE)
		return hl_err_set(err, HLB_29,
		    "network.mode: the native sandbox has none and host only");
	return check_stdio(plan, err);
}

static int backend_stop(struct sandbox *sandbox, struct hl_err *err);

static int
backend_start(const struct plan *plan, const struct lowered *lowered,
    const struct control_gaps *gaps, struct sandbox *ret_sandbox, struct hl_err *err)
{
	struct hl_err ignored = { 0 };
	struct sandbox sandbox = { .stream = -1, .pidfd = -1, .is_stdio_inherited = true };

	if (check_enforceable(plan, lowered, err) != 0)
		return -1;
	struct local_sandbox *own = calloc(1, sizeof(*own));
	if (own == NULL)
		return hl_err_oom(err);
	own->memory = plan->limits[PLAN_LIMIT_MEMORY].value;
	sandbox.private_data = own;
	hl_buf_init(&sandbox.lock, RUNNER_PAYLOAD_MAX);
	hl_strv_init(&sandbox.image_env, 1);
	if (make_groups(plan, gaps, own, err) != 0 || spawn(plan, own, &sandbox, err) != 0 ||
	    encode_lock(lowered, gaps, &sandbox, err) != 0) {
		if (backend_stop(&sandbox, &ignored) != 0)
			hl_err_wrap(err, "%.150s, after", ignored.msg);
		sandbox_done(&sandbox);
		return -1;
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(limit_rows); i++)
		if (own->cgroup.applied & (1U << limit_rows[i].cgroup))
			sandbox.limits_applied |= 1U << limit_rows[i].limit;
	if (own->has_nproc)
		sandbox.limits_applied |= 1U << PLAN_LIMIT_PIDS;
	*ret_sandbox = sandbox;
	return 0;
}

/* The end of pid 1 is the end of everything in its namespace, and waitid(2) returns when it is. */
static int
backend_stop(struct sandbox *sandbox, struct hl_err *err)
{
	struct local_sandbox *own = sandbox->private_data;
	int status = 0;

	if (own == NULL)
		return 0;
	if (sandbox->pidfd >= 0) {
		syscall(SYS_pidfd_send_signal, sandbox->pidfd, SIGKILL, NULL, 0);
		while (waitid(P_PIDFD, (id_t)sandbox->pidfd, &(siginfo_t){ 0 }, WEXITED) != 0 &&
		       errno == EINTR)
			;
	}
	bool was_oom = confine_cgroup_was_oom(&own->cgroup);
	status = confine_cgroup_remove(&own->cgroup, err);
	if (status == 0 && was_oom) {
		struct hl_buf size HL_AUTO(hl_buf_done) = { 0 };
		hl_buf_init(&size, 64);
		hl_buf_put_size(&size, own->memory);
		status = hl_err_set(err, HLB_55, "the memory limit of %s was reached", size.data);
	}
	janitor_end(own->janitor);
	confine_cgroup_done(&own->cgroup);
	free(own);
	sandbox->private_data = NULL;
	return status;
}

const struct backend backend_local = {
	.name = "local",
	.id = BACKEND_LOCAL,
	.lower = backend_lower,
	.probe = backend_probe,
	.start = backend_start,
	.stop = backend_stop,
};
