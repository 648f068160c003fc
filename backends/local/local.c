/*
 * The native sandbox: what it needs is made in the order in which a failure is cheapest, the child
 * is started, and stop() takes back all of it. Nothing here decides about the policy: a gap that
 * probe() reported and the launcher accepted is left out, every other failure refuses.
 */
#include "backends/local/local.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <linux/magic.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

/* What is begun before the plan is made, and then the sandbox. */
struct backend_early {
	struct starter *starter;
	struct groups groups;
	bool is_settled;    /* the groups are there, and the idle runner with its limit */
	struct hl_buf lock; /* and has been sent so many bytes of the frame with this payload */
	size_t lock_sent;
};

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

static struct backend_early *
new_early(void)
{
	struct backend_early *own = calloc(1, sizeof(*own));

	if (own != NULL)
		hl_buf_init(&own->lock, RUNNER_PAYLOAD_MAX);
	return own;
}

static int
backend_begin(const struct backend_early_facts *facts, struct backend_early **ret_early,
    struct hl_err *err)
{
	struct backend_early *own = new_early();

	if (own == NULL)
		return hl_err_oom(err);
	const enum starter_world world = facts->has_network ? STARTER_NETWORK : STARTER_OWN;

	if (starter_begin(facts->runner_path, world, &own->starter, err) != 0) {
		free(own);
		return -1;
	}
	*ret_early = own;
	return 0;
}

static void
release(void *private_data)
{
	struct backend_early *own = private_data;

	if (own == NULL)
		return;
	starter_end(own->starter);
	groups_done(&own->groups);
	hl_buf_done(&own->lock);
	free(own);
}

/* Nothing lives any more, and no group is there, when it returns; release() frees what is left. */
static int
take_back(struct backend_early *own, struct hl_err *err)
{
	if (own->starter != NULL)
		starter_kill(own->starter);
	return groups_remove(&own->groups, err);
}

static void
backend_abandon(struct backend_early *early)
{
	struct hl_err ignored = { 0 };

	if (early == NULL)
		return;
	/* A group that stays is empty and was nobody's run: there is nothing to tell. */
	(void)!take_back(early, &ignored);
	release(early);
}

/* Groups that were made to find out are the sandbox's own, unless nothing will be started. */
static int
probe_limits(const struct plan *plan, struct control_gaps *gaps, struct hl_err *err)
{
	struct groups tried = { 0 };
	struct groups *groups = plan->early != NULL ? &plan->early->groups : &tried;

	int status = groups_make(plan, groups, err);
	if (status == 0)
		groups_find_gaps(plan, groups, gaps);
	if (plan->early == NULL) {
		if (groups_remove(groups, err) != 0)
			status = -1;
		groups_done(groups);
	}
	return status;
}

static int
backend_probe(const struct plan *plan, struct control_gaps *ret_gaps, struct hl_err *err)
{
	struct confine_kernel kernel = { 0 };
	struct control_gaps gaps = { 0 };

	if (plan->isolation == PLAN_ISOLATION_SCRUB) {
		/* Not a fault: what the policy allows. Told and recorded at every run. */
		control_gaps_add(&gaps, CONTROL_ISOLATION, true,
		    "scrub is no boundary: of this policy only the variables, the user and the "
		    "limits hold for the command");
		if (probe_limits(plan, &gaps, err) != 0)
			return -1;
		*ret_gaps = gaps;
		return 0;
	}
	if (plan->network == PLAN_NETWORK_PROXY || plan->network == PLAN_NETWORK_BRIDGE)
		control_gaps_add(&gaps, CONTROL_NETWORK, false,
		    "the native sandbox has no network but none and host in this version");
	confine_kernel_probe(&kernel);
	if (geteuid() != 0 && !kernel.has_user_ns)
		control_gaps_add(&gaps, CONTROL_ISOLATION, false, kernel.user_ns_cause);
	if (plan->landlock && kernel.landlock_abi < 1)
		control_gaps_add(&gaps, CONTROL_LANDLOCK, plan->landlock_may_degrade,
		    "this kernel has no Landlock, or it is not switched on");
	if ((plan->seccomp != CONFINE_PROFILE_NONE || plan->seccomp_deny.len > 0) &&
	    !kernel.has_seccomp)
		control_gaps_add(&gaps, CONTROL_SECCOMP, false,
		    "this kernel has no system call filters");
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
	if (plan->home.src != NULL && hl_path_is_beneath(path, plan->home.src)) {
		/* host.c makes the home's own policies read-only. */
		HL_AUTO_FREE char *folder = hl_path_normalise(plan->home.src, ".hermes");
		is_writable = true;
		is_closed = is_closed || folder == NULL || hl_path_is_beneath(path, folder);
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

static int
encode_lock(const struct lowered *lowered, const struct control_gaps *gaps,
    const struct groups *groups, struct hl_buf *lock, struct hl_err *err)
{
	struct confinement confinement = lowered->confinement; /* borrows all of it */

	for (size_t i = 0; i < groups->cgroup.dirs_len; i++)
		confinement.groups[confinement.groups_len++] = groups->cgroup.entries[i];
	if (control_gaps_find(gaps, CONTROL_LANDLOCK) != NULL)
		confinement.flags &= ~(uint32_t)(CONFINE_LANDLOCK | CONFINE_NO_TCP);
	return confine_encode(&confinement, lock, err);
}

static bool
is_unenforceable(const struct plan *plan)
{
	return plan->isolation != PLAN_ISOLATION_SCRUB &&
	       (plan->network == PLAN_NETWORK_PROXY || plan->network == PLAN_NETWORK_BRIDGE);
}

/* What has no enforcer is refused here as well: probe() may not have been asked. */
static int
check_enforceable(const struct plan *plan, const struct lowered *lowered, struct hl_err *err)
{
	HL_BUG_ON(!lowered->has_confinement);
	if (is_unenforceable(plan))
		return hl_err_set(err, HLB_29,
		    "network.mode: the native sandbox has none and host only");
	return check_stdio(plan, err);
}

/* An idle runner that was begun in another world than the plan's is of no use. */
static int
settle_starter(const struct plan *plan, struct backend_early *own, struct hl_err *err)
{
	const enum starter_world world = starter_world_of(plan);

	if (own->starter != NULL && starter_world(own->starter) != world) {
		starter_end(own->starter);
		own->starter = NULL;
	}
	if (own->starter == NULL &&
	    starter_begin(plan->runner_path, world, &own->starter, err) != 0)
		return -1;
	return starter_wait(own->starter, err);
}

static int
fill_sandbox(const struct plan *plan, struct backend_early *own, struct sandbox *sandbox,
    struct hl_err *err)
{
	char text[24];

	give_pipes(plan);
	sandbox->lock = own->lock;
	sandbox->lock_sent = own->lock_sent;
	hl_buf_init(&own->lock, RUNNER_PAYLOAD_MAX);
	snprintf(text, sizeof(text), "%d", (int)starter_pid(own->starter));
	sandbox->id = strdup(text);
	sandbox->stream = starter_take_ends(own->starter, &sandbox->pass);
	sandbox->uid = plan->uid;
	sandbox->gid = plan->gid;
	sandbox->pidfd = fcntl(starter_pidfd(own->starter), F_DUPFD_CLOEXEC, 3);
	sandbox->limits_applied = groups_applied(&own->groups);
	if (sandbox->pidfd < 0)
		return hl_err_sys(err, HLB_24, "cannot duplicate a descriptor");
	return sandbox->id == NULL ? hl_err_oom(err) : 0;
}

/* All that the lock speaks of is there. */
static int
settle(const struct plan *plan, const struct control_gaps *gaps, struct backend_early *own,
    struct hl_err *err)
{
	if (own->is_settled)
		return 0;
	if (!own->groups.is_made && groups_make(plan, &own->groups, err) != 0)
		return -1;
	if (groups_check(plan, &own->groups, gaps, err) != 0 || settle_starter(plan, own, err) != 0)
		return -1;
	if (groups_set_nproc(&own->groups, starter_pid(own->starter), err) != 0)
		return -1;
	own->is_settled = true;
	return 0;
}

/* The runner works on its lock while what comes before the command is recorded. What does not fit
 * into the stream at once is the session's to send. */
static void
backend_ahead(const struct plan *plan, const struct lowered *lowered,
    const struct control_gaps *gaps)
{
	struct backend_early *own = plan->early;
	struct hl_err ignored;
	struct hl_buf frame;

	if (!lowered->has_confinement || is_unenforceable(plan) ||
	    settle(plan, gaps, own, &ignored) != 0)
		return;
	if (encode_lock(lowered, gaps, &own->groups, &own->lock, &ignored) != 0) {
		hl_buf_reset(&own->lock);
		return;
	}
	hl_buf_init(&frame, RUNNER_HEADER_SIZE + RUNNER_PAYLOAD_MAX);
	runner_frame_put(&frame, RUNNER_LOCK, 0, own->lock.data, own->lock.len);
	ssize_t n = frame.failed ? 0
				 : send(starter_stream(own->starter), frame.data, frame.len,
				       MSG_DONTWAIT | MSG_NOSIGNAL);
	own->lock_sent = n > 0 ? (size_t)n : 0;
	hl_buf_done(&frame);
}

/* Without a pid namespace it is the runner that ends what the command left, when its stream ends.
 */
static void
end_stream(const struct sandbox *sandbox)
{
	if (sandbox->stream >= 0)
		shutdown(sandbox->stream, SHUT_RDWR);
}

static int
backend_start(const struct plan *plan, const struct lowered *lowered,
    const struct control_gaps *gaps, struct sandbox *ret_sandbox, struct hl_err *err)
{
	struct hl_err ignored = { 0 };
	struct sandbox sandbox = { .stream = -1,
		.pass = -1,
		.pidfd = -1,
		.is_stdio_inherited = true };
	struct backend_early *own = plan->early != NULL ? plan->early : new_early();

	if (own == NULL)
		return hl_err_oom(err);
	hl_buf_init(&sandbox.lock, RUNNER_PAYLOAD_MAX);
	hl_strv_init(&sandbox.image_env, 1);
	if (check_enforceable(plan, lowered, err) != 0 || settle(plan, gaps, own, err) != 0 ||
	    fill_sandbox(plan, own, &sandbox, err) != 0 ||
	    (sandbox.lock.len == 0 &&
		encode_lock(lowered, gaps, &own->groups, &sandbox.lock, err) != 0)) {
		end_stream(&sandbox);
		if (take_back(own, &ignored) != 0)
			hl_err_wrap(err, "%.150s, after", ignored.msg);
		release(own);
		sandbox_done(&sandbox);
		return -1;
	}
	sandbox.private_data = own;
	sandbox.release = release;
	*ret_sandbox = sandbox;
	return 0;
}

static int
backend_stop(struct sandbox *sandbox, struct hl_err *err)
{
	if (sandbox->private_data == NULL)
		return 0;
	end_stream(sandbox);
	return take_back(sandbox->private_data, err);
}

const struct backend backend_local = {
	.name = "local",
	.id = BACKEND_LOCAL,
	.begin = backend_begin,
	.abandon = backend_abandon,
	.lower = backend_lower,
	.probe = backend_probe,
	.ahead = backend_ahead,
	.start = backend_start,
	.stop = backend_stop,
};
