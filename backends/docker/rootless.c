/*
 * Engines that run without root: whose they are, what they cannot do, and who a command is on the
 * host. Such an engine is the root of a user namespace. In its containers root is the account that
 * it runs as, and every other id is one of a range that is lent to that account (subuid(5)), so
 * that what such a user writes to a bind belongs to nobody whom the caller knows. A container that
 * is to run as the caller gets a namespace of its own, in which the caller's id is itself
 * (keep-id).
 */
#include "backends/docker/rootless.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backends/docker/dialect.h"

#include "base/banned.h"

enum {
	PROC_TEXT_MAX = 1024 * 1024, /* of status: an account may have very many groups */
	RUNNER_PATIENCE_MS = 5000,
	UID_UNKNOWN = 65534 /* what the kernel says of an id that has no number here */
};

static bool
read_proc(const char *process, const char *name, struct hl_buf *text)
{
	char path[64];
	struct hl_err ignored = { 0 };

	snprintf(path, sizeof(path), "/proc/%s/%s", process, name);
	hl_buf_init(text, PROC_TEXT_MAX);
	int fd HL_AUTO_FD = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd >= 0 && hl_read_file(fd, text, path, HLB_53, &ignored) == 0;
}

/* ------------------------------------------------------------------------------------------------
 * Whose it is
 */

/* The number of a process in this namespace and in each below, behind the key; NULL = not told. */
static const char *
numbers_of(const char *status, size_t *ret_len)
{
	static const char key[] = "\nNSpid:";
	const char *line = strstr(status, key);

	if (line == NULL)
		return NULL;
	line += strlen(key);
	*ret_len = strcspn(line, "\n");
	return line;
}

/* Of no namespace below this one: then so are the processes that it makes and tells of, for all
 * that it has said itself. */
static bool
is_of_our_namespace(pid_t pid)
{
	HL_AUTO(hl_buf_done) struct hl_buf status = { 0 };
	char process[16];
	size_t len = 0;

	if (pid <= 0) /* the kernel has no number here for who listens */
		return false;
	snprintf(process, sizeof(process), "%d", (int)pid);
	if (!read_proc(process, "status", &status))
		return false;
	const char *numbers = numbers_of(status.data, &len);
	return numbers != NULL && len > 1 && memchr(numbers + 1, '\t', len - 1) == NULL;
}

bool
engine_owner(const char *path, uint32_t *ret_uid, bool *ret_is_here)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	int fd HL_AUTO_FD = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		return false;
	memcpy(address.sun_path, path, strlen(path) + 1);
	/* No word is said: of a socket that somebody listens at, the kernel tells who. Where a
	 * service is begun by its socket, it is begun by this. */
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 || peer.uid == UID_UNKNOWN)
		return false;
	*ret_uid = peer.uid;
	*ret_is_here = is_of_our_namespace(peer.pid);
	return true;
}

bool
plan_keeps_id(const struct plan *plan)
{
	return plan->is_rootless && docker_dialect(plan)->can_keep_id &&
	       plan->user_kind == PLAN_USER_CALLER && plan->uid == plan->engine_uid;
}

/* ------------------------------------------------------------------------------------------------
 * Whether it has to be one (docker.rootless: required)
 */
enum engine_root {
	ENGINE_IS_ROOTLESS,
	ENGINE_IS_ROOTS,
	ENGINE_IS_STARTED_BY_ROOT,
	ENGINE_IS_THE_CLIENTS,
	ENGINE_IS_UNKNOWN,
	ENGINE_ROOT_MAX
};

static const struct {
	const char *reason, *mend;
} root_gaps[ENGINE_ROOT_MAX] = {
	[ENGINE_IS_ROOTS] = { "the engine is root's",
	    "name the socket of an engine that runs without root by docker.endpoint" },
	[ENGINE_IS_STARTED_BY_ROOT] = { "the caller is root, and so is the service that is started "
					"for the run",
	    "call hermes-launch as an ordinary user, or name the socket of such a user's engine by "
	    "docker.endpoint" },
	[ENGINE_IS_THE_CLIENTS] = { "docker's client is told no socket, so that nobody knows which "
				    "engine it speaks to",
	    "name the socket of an engine that runs without root by docker.endpoint" },
	[ENGINE_IS_UNKNOWN] = { "whose the engine is cannot be told: nobody listens at its socket, or "
				"somebody who has no number here",
	    "start it, or name the socket of an engine that runs without root by docker.endpoint" },
};

/* In a namespace of users a number may be root's one namespace up. */
static bool
is_roots(uint32_t uid, const char *map)
{
	uint32_t outside = 0;

	return uid == 0 || !confine_id_outside(map, uid, &outside) || outside == 0;
}

static enum engine_root
judge_root(const struct plan *plan)
{
	HL_AUTO(hl_buf_done) struct hl_buf map = { 0 };

	if (!plan->is_engine_known)
		return plan->is_endpoint_program ? ENGINE_IS_THE_CLIENTS : ENGINE_IS_UNKNOWN;
	if (read_proc("self", "uid_map", &map) && !is_roots(plan->engine_uid, map.data))
		return ENGINE_IS_ROOTLESS;
	return plan->is_endpoint_program ? ENGINE_IS_STARTED_BY_ROOT : ENGINE_IS_ROOTS;
}

bool
docker_root_gap(const struct plan *plan, struct docker_root_gap *ret_gap)
{
	const enum engine_root root = plan->needs_rootless ? judge_root(plan) : ENGINE_IS_ROOTLESS;

	if (root == ENGINE_IS_ROOTLESS)
		return false;
	snprintf(ret_gap->reason, sizeof(ret_gap->reason), "%s (%.80s)", root_gaps[root].reason,
	    plan->endpoint);
	ret_gap->mend = root_gaps[root].mend;
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * What it cannot do
 */

/* Of an engine at a socket this host's own groups may not be those that it sees. */
static bool
has_no_groups(const struct plan *plan)
{
	return plan->is_rootless && plan->is_endpoint_program && !confine_groups_are_unified();
}

/* The kernel counts by user and namespace (Linux 5.14): all that is in the container, as long as
 * nobody in it can become another user. */
bool
docker_pids_by_nproc(const struct plan *plan)
{
	return plan_keeps_id(plan) && plan->no_new_privs && confine_nproc_is_per_namespace();
}

const char *
docker_rootless_lacks(const struct plan *plan, enum plan_limit limit)
{
	bool is_by_groups = limit == PLAN_LIMIT_MEMORY || limit == PLAN_LIMIT_CPUS ||
			    (limit == PLAN_LIMIT_PIDS && !docker_pids_by_nproc(plan));

	return is_by_groups && has_no_groups(plan)
		   ? "an engine without root has no control groups of version 1"
		   : NULL;
}

const char *
docker_rootless_mend(const struct plan *plan, enum plan_limit limit)
{
	if (!plan->is_rootless || limit == PLAN_LIMIT_DISK)
		return NULL;
	if (!confine_groups_are_unified())
		return "boot with systemd.unified_cgroup_hierarchy=1, or name the socket of an engine of "
		       "root's by docker.endpoint";
	return "have the account's control group given to it (Delegate= of user@.service, and a login "
	       "session), or name the socket of an engine of root's by docker.endpoint";
}

const char *
docker_rootless_refuses(const struct plan *plan)
{
	if (!plan->is_rootless || plan->network != PLAN_NETWORK_HOST ||
	    !docker_dialect(plan)->host_network_binds_sys)
		return NULL;
	return "without root podman puts the host's own /sys in for it, with all that is mounted there";
}

/* podman 4 wants a range also where one id would do. It goes by the engine's words, for a person.
 */
void
docker_explain_rootless(const struct plan *plan, struct hl_err *err)
{
	if (!plan->is_rootless || (err->code != HLB_51 && err->code != HLB_52))
		return;
	if (plan->engine_uid != geteuid())
		hl_err_help(err,
		    "the engine is user %u's, who cannot read what is yours (the state directory): "
		    "call hermes-launch as that user, or name another engine",
		    plan->engine_uid);
	else if (strstr(err->msg, "/etc/subuid") != NULL)
		hl_err_help(err,
		    "give the engine's account a range of ids, as root: usermod --add-subuids "
		    "100000-165535 --add-subgids 100000-165535 ACCOUNT; then, as the account: podman "
		    "system migrate");
}

/* A limit above the account's own cannot be set without root, and is one already. An engine that is
 * started here has those of whoever starts it. */
uint64_t
docker_rlimit_within(const struct plan *plan, const char *name, uint64_t wanted)
{
	static const struct {
		const char *name;
		int resource;
	} rows[] = {
		{ "nofile", RLIMIT_NOFILE },
		{ "nproc", RLIMIT_NPROC },
	};
	bool is_ours = plan->is_rootless && plan->is_endpoint_program;

	for (size_t i = 0; i < HL_ARRAY_SIZE(rows) && is_ours; i++) {
		struct rlimit limit;
		if (strcmp(rows[i].name, name) == 0 && getrlimit(rows[i].resource, &limit) == 0 &&
		    limit.rlim_max < wanted)
			return limit.rlim_max;
	}
	return wanted;
}

/* One that is started here makes its groups beside its own, which is ours, or asks the account's
 * service manager for one, which is there while the account is logged in. Nobody else may change
 * either. */
void
docker_rootless_key(const struct plan *plan, struct hl_buf *key)
{
	HL_AUTO(hl_buf_done) struct hl_buf groups = { 0 };
	struct stat st = { 0 };
	char bus[64];

	if (!plan->is_rootless || !plan->is_endpoint_program || !confine_groups_are_unified())
		return;
	const char *slash = read_proc("self", "cgroup", &groups) ? strrchr(groups.data, '/') : NULL;
	if (slash != NULL)
		hl_buf_put(key, groups.data, (size_t)(slash - groups.data));
	snprintf(bus, sizeof(bus), "/run/user/%u/bus", geteuid());
	if (stat(bus, &st) == 0)
		hl_buf_putf(key, "\n%ju %ju %jd.%09ld\n", (uintmax_t)st.st_dev,
		    (uintmax_t)st.st_ino, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
}

/* ------------------------------------------------------------------------------------------------
 * Who the command is on this host
 */
enum is_seen {
	SEEN_RUNNER,
	SEEN_OTHER,  /* a number of another host's, as of an engine in a virtual machine */
	SEEN_BEFORE, /* the runtime, which has not become the runner yet */
	SEEN_UNTOLD, /* no number */
	SEEN_ENDED   /* nobody is there any more */
};

/* A number that an engine told is one of this pid namespace only where it means our runner: pid 1
 * of a namespace of its own. */
static enum is_seen
look_at(const char *process)
{
	static const char runner[] = "Name:\t.hermes-runner\n", runtime[] = "Name:\trunc:[";
	HL_AUTO(hl_buf_done) struct hl_buf status = { 0 };

	if (!read_proc(process, "status", &status))
		return SEEN_OTHER;
	if (strncmp(status.data, runtime, strlen(runtime)) == 0)
		return SEEN_BEFORE;
	size_t len = 0;
	const char *line = numbers_of(status.data, &len);
	if (strncmp(status.data, runner, strlen(runner)) != 0 || line == NULL)
		return SEEN_OTHER;
	/* Of this namespace, then of each below; two at least. */
	return len >= 4 && memcmp(line + len - 2, "\t1", 2) == 0 ? SEEN_RUNNER : SEEN_OTHER;
}

/* Of a runtime that says "started" before it has become what it starts. */
static enum is_seen
wait_for_runner(const char *process)
{
	const struct timespec nap = { .tv_nsec = 5000000 };
	enum is_seen seen = look_at(process);

	for (int i = 0; seen == SEEN_BEFORE && i < RUNNER_PATIENCE_MS / 5; i++) {
		nanosleep(&nap, NULL);
		seen = look_at(process);
	}
	return seen;
}

/* That its namespace of users is another one than ours, where we may see that. */
static bool
is_elsewhere(const char *process)
{
	char path[64], theirs[64], ours[64];

	snprintf(path, sizeof(path), "/proc/%s/ns/user", process);
	ssize_t n = readlink(path, theirs, sizeof(theirs));
	ssize_t m = readlink("/proc/self/ns/user", ours, sizeof(ours));
	return n > 0 && m > 0 && (n != m || memcmp(theirs, ours, (size_t)n) != 0);
}

/* What the map of that process says; of one in the launcher's own namespace it is no news. A map
 * that cannot be read is none that says so. */
static bool
is_itself(const char *process, const char *name, uint32_t id, uint32_t *ret_outside)
{
	HL_AUTO(hl_buf_done) struct hl_buf theirs = { 0 };
	HL_AUTO(hl_buf_done) struct hl_buf ours = { 0 };

	*ret_outside = UINT32_MAX;
	if (!read_proc(process, name, &theirs) || !read_proc("self", name, &ours))
		return false;
	if (theirs.len == ours.len && memcmp(theirs.data, ours.data, ours.len) == 0 &&
	    !is_elsewhere(process)) {
		*ret_outside = id;
		return true;
	}
	if (!confine_id_outside(theirs.data, id, ret_outside))
		*ret_outside = UINT32_MAX;
	return *ret_outside == id;
}

/* Whether root of the container, or anybody in it, is root here. A map that cannot be read does not
 * say that nobody is. */
static bool
has_hosts_root(const char *process)
{
	HL_AUTO(hl_buf_done) struct hl_buf map = { 0 };

	return !read_proc(process, "uid_map", &map) || !confine_map_lacks_root(map.data);
}

/* Where the engine tells no process: whether there is one at all, which speaks before it is spoken
 * to. One that has ended is told by whoever reads the stream. */
static enum is_seen
wait_for_word(int stream)
{
	struct pollfd ready = { .fd = stream, .events = POLLIN };
	char byte;

	if (poll(&ready, 1, RUNNER_PATIENCE_MS) > 0 &&
	    recv(stream, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
		return SEEN_ENDED;
	return SEEN_UNTOLD;
}

static int
compare_ids(const struct plan *plan, const char *process, struct hl_err *err)
{
	uint32_t uid, gid;
	bool is_same = is_itself(process, "uid_map", plan->uid, &uid);

	if (is_itself(process, "gid_map", plan->gid, &gid) && is_same)
		return 0;
	hl_err_set(err, HLB_53,
	    "the command is not the caller %u:%u on this host, but %u:%u: the engine maps users",
	    plan->uid, plan->gid, uid, gid);
	return hl_err_help(err,
	    "take the mapping out of the engine's settings (userns, userns-remap), or let the policy name "
	    "another process.user than 'caller'");
}

static int
refuse_root(const struct plan *plan, const char *why, struct hl_err *err)
{
	hl_err_set(err, HLB_53, "docker.rootless is required, and %s, whoever listens at '%s'", why,
	    plan->endpoint);
	return hl_err_help(err,
	    "name the engine's own socket by docker.endpoint, and none that hands on to another "
	    "engine");
}

/* Its process is not to be seen. An engine that is a process of this host knows the numbers here:
 * it has to tell one. Else the runner's own look counts, and that is told. */
static int
judge_unseen(const struct plan *plan, enum is_seen seen, struct docker_first *first,
    struct hl_err *err)
{
	if (seen == SEEN_UNTOLD && plan->is_engine_here) {
		hl_err_set(err, HLB_53,
		    "the engine at '%s' is a process of this host, and does not tell which process "
		    "the container is: who the command is here cannot be seen",
		    plan->endpoint);
		return hl_err_help(err,
		    "name another engine, or let the policy name another process.user than 'caller'");
	}
	if (seen == SEEN_UNTOLD)
		snprintf(first->unseen, sizeof(first->unseen),
		    "the engine does not tell which process the container is");
	else
		snprintf(first->unseen, sizeof(first->unseen),
		    "process %u, which the engine tells, is not the container's on this host",
		    first->pid);
	return 0;
}

int
docker_check_first(const struct plan *plan, struct docker_first *first, struct hl_err *err)
{
	struct docker_root_gap gap;
	/* A root caller's command is somebody who owns nothing, wherever. */
	const bool is_callers = plan->user_kind == PLAN_USER_CALLER && plan->uid == geteuid();
	/* A gap that is known is judged already: it may be. */
	const bool is_rootless = plan->needs_rootless && !docker_root_gap(plan, &gap);
	char process[16];

	if (!is_callers && !is_rootless)
		return 0;
	snprintf(process, sizeof(process), "%u", first->pid);
	const enum is_seen seen =
	    first->pid != 0 ? wait_for_runner(process) : wait_for_word(first->stream);
	if (seen == SEEN_ENDED)
		return 0;
	if (seen == SEEN_BEFORE)
		return hl_err_set(err, HLB_53,
		    "the engine says that the container has started, but its process %s is not the "
		    "runner after %d s",
		    process, RUNNER_PATIENCE_MS / 1000);
	if (is_rootless && seen != SEEN_RUNNER)
		return refuse_root(plan, "the container's process is not to be seen on this host",
		    err);
	if (is_rootless && has_hosts_root(process))
		return refuse_root(plan, "root of this host is in the container", err);
	if (!is_callers)
		return 0;
	return seen == SEEN_RUNNER ? compare_ids(plan, process, err)
				   : judge_unseen(plan, seen, first, err);
}
