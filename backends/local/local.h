/*
 * The native sandbox, inside. lower.c is pure: it gets the plan and what host.c saw of this host;
 * local.c drives, spawn.c makes the child, child.c is what runs between clone and exec.
 */
#ifndef HL_BACKENDS_LOCAL_LOCAL_H
#define HL_BACKENDS_LOCAL_LOCAL_H

#include <sys/types.h>

#include "backends/backends.h"

extern const struct backend backend_local;

/* ------------------------------------------------------------------------------------------------
 * What lowering needs to know of this host (host.c)
 */
enum local_entry_kind {
	LOCAL_ENTRY_DIR,
	LOCAL_ENTRY_SYMLINK
};

/* A name in "/". */
struct local_entry {
	enum local_entry_kind kind;
	char *path;   /* "/usr" */
	char *target; /* SYMLINK: as it is written, relative to "/" made absolute-free: "usr/bin" */
	uint64_t dev, ino;
};

/* A bind that no policy asks for and that this host makes necessary. */
struct local_bind {
	char *src, *dst;
	bool is_file;
	uint64_t dev, ino;
	const char *why;
};

struct local_host {
	uid_t uid;
	gid_t gid;
	struct local_entry *entries; /* sorted by path */
	size_t entries_len;
	struct local_bind *binds; /* always read-only */
	size_t binds_len;
	int landlock_abi; /* 0 = none */
};

int local_host_gather(const struct plan *plan, struct local_host *ret_host,
    struct hl_err *err) HL_MUST_CHECK;
void local_host_done(struct local_host *host);

/* ------------------------------------------------------------------------------------------------
 * Lowering
 */
/* ret_lowered is initialised; it is filled, and done by the caller also on failure. */
int local_lower(const struct plan *plan, const struct local_host *host, struct lowered *ret_lowered,
    struct hl_err *err) HL_MUST_CHECK;

/* What is made into the new root, in one list that is then sorted (layout.c). A later item at the
 * same place replaces an earlier one when its rank is higher. */
enum layout_rank {
	LAYOUT_PARENT, /* a directory on the way to something */
	LAYOUT_HOST,   /* a bind or link of the host's own root */
	LAYOUT_BASE,   /* proc, dev and empty directories */
	LAYOUT_TMPFS,  /* fs.tmpfs */
	LAYOUT_HOME,   /* fs.home */
	LAYOUT_MOUNT,  /* fs.workdir, fs.mounts */
	LAYOUT_MASK,   /* fs.deny: beside what it covers, never instead of it */
};

struct layout_item {
	struct confine_op op;
	enum layout_rank rank;
	struct hl_origin origin;
};

struct layout {
	struct layout_item *items;
	size_t len, capacity;
	bool failed; /* no memory, or more than CONFINE_OPS_MAX */
};

/* true when the item is in the layout now. */
void layout_add(struct layout *layout, enum layout_rank rank, const struct hl_origin *origin,
    const struct confine_op *op);
/* The deepest mount that holds path: an item, or NULL for the root itself. */
const struct layout_item *layout_mount_at(const struct layout *layout, const char *path);
/* Adds the parents of mount points that lie in file systems of ours. */
void layout_add_parents(struct layout *layout, struct lowered *lowered);
/* Covers each denied path wherever a bind shows it. */
int layout_add_masks(struct layout *layout, const struct plan *plan, struct lowered *lowered,
    struct hl_err *err) HL_MUST_CHECK;
void layout_sort(struct layout *layout);

/* ------------------------------------------------------------------------------------------------
 * The child (spawn.c, child.c)
 */
enum child_step {
	CHILD_STEP_NONE,
#define CHILD_STEP(symbol, text) CHILD_STEP_##symbol,
#include "backends/local/steps.def"
#undef CHILD_STEP
	CHILD_STEP_MAX
};

const char *child_step_text(enum child_step step);

/* Everything the child needs, made before the clone. The child shares this memory until it execs.
 */
struct child_plan {
	bool has_user_ns;
	bool is_dumpable; /* of the launcher: put back after the id maps are written */
	char uid_map[48], gid_map[48];
	size_t uid_map_len, gid_map_len;
	int stream_fd;        /* becomes RUNNER_STREAM_FD; never that number before */
	int pass_fd;          /* becomes RUNNER_PASS_FD; above it before */
	int runner_fd;        /* above RUNNER_PASS_FD */
	const char *argument; /* of the runner: what it may begin with; NULL = nothing */

	/* Written by the child. */
	enum child_step failed_step;
	int failed_errno;
};

/* Runs in the child, on its own stack; returns only on failure, with failed_step set. */
void child_run(struct child_plan *plan);

/* An idle runner in namespaces of its own, made on a thread. */
struct starter;

enum starter_world {
	STARTER_OWN,     /* every namespace; the runner makes that of the network */
	STARTER_NETWORK, /* all but the network, which is the host's */
	STARTER_HOST,    /* none: no boundary */
};

enum starter_world starter_world_of(const struct plan *plan);
/* Returns at once; runner_path is read until starter_wait() has come back. */
int starter_begin(const char *runner_path, enum starter_world world, struct starter **ret_starter,
    struct hl_err *err) HL_MUST_CHECK;
/* Until the runner has been exec'd, or the reason why not. */
int starter_wait(struct starter *starter, struct hl_err *err) HL_MUST_CHECK;
/* After starter_wait(). The descriptor stays the starter's; the stream becomes the caller's. */
pid_t starter_pid(const struct starter *starter);
int starter_pidfd(const struct starter *starter);
int starter_stream(const struct starter *starter);
int starter_take_ends(struct starter *starter, int *ret_pass);
enum starter_world starter_world(const struct starter *starter);
/* Ends the runner and everything in its namespaces, and waits for that end. Without namespaces the
 * runner ends what is left when its stream does, and is given the time: the caller closes it. */
void starter_kill(struct starter *starter);
/* The same, and frees. NULL allowed. */
void starter_end(struct starter *starter);

/* ------------------------------------------------------------------------------------------------
 * The janitor: a process that removes the sandbox's groups when the launcher is killed (janitor.c)
 */
struct janitor;

/* cgroup stays where it is until janitor_end(). */
int janitor_start(const struct confine_cgroup *cgroup, struct janitor **ret_janitor,
    struct hl_err *err) HL_MUST_CHECK;
/* The groups are gone: the janitor leaves without touching anything. NULL allowed. */
void janitor_dismiss(struct janitor *janitor);
/* They are not, and nobody else will do it: it does now what it would do after our death. */
void janitor_release(struct janitor *janitor);
/* Dismissed if it was not told anything yet, and waited for. NULL allowed. */
void janitor_end(struct janitor *janitor);

/* ------------------------------------------------------------------------------------------------
 * Limits that the kernel of this host keeps (groups.c)
 */
struct groups {
	struct confine_cgroup cgroup;
	struct janitor *janitor;
	uint64_t memory; /* the limit, bytes */
	bool has_nproc;  /* limits.pids is a resource limit: no group for it */
	uint64_t nproc;
	bool is_made;
};

/* Makes and fills them, with a janitor; what cannot be applied is missing in cgroup.applied. */
int groups_make(const struct plan *plan, struct groups *ret_groups,
    struct hl_err *err) HL_MUST_CHECK;
void groups_find_gaps(const struct plan *plan, const struct groups *groups,
    struct control_gaps *gaps);
/* What is neither applied nor an accepted gap refuses. */
int groups_check(const struct plan *plan, const struct groups *groups,
    const struct control_gaps *gaps, struct hl_err *err) HL_MUST_CHECK;
/* The limit of processes where it is not the groups': they are the runner's to enter, first of all
 * that its lock says. */
int groups_set_nproc(const struct groups *groups, pid_t pid, struct hl_err *err) HL_MUST_CHECK;
/* Bit per enum plan_limit. */
uint32_t groups_applied(const struct groups *groups);
/* HLB-55 when the memory limit was reached. Idempotent. */
int groups_remove(struct groups *groups, struct hl_err *err) HL_MUST_CHECK;
void groups_done(struct groups *groups);

#endif
