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

/* Everything the child needs, made before clone3. The child shares this memory until it execs. */
struct child_plan {
	bool has_user_ns;
	bool is_dumpable; /* of the launcher: put back after the id maps are written */
	char uid_map[48], gid_map[48];
	size_t uid_map_len, gid_map_len;
	int procs[CONFINE_LIMIT_MAX + 1]; /* open cgroup.procs */
	size_t procs_len;
	bool has_nproc;
	uint64_t nproc;
	int stream_fd; /* becomes RUNNER_STREAM_FD; never that number before */
	int runner_fd; /* above RUNNER_STREAM_FD */

	/* Written by the child. */
	enum child_step failed_step;
	int failed_errno;
};

/* Runs in the child, on its own stack; returns only on failure, with failed_step set. */
void child_run(struct child_plan *plan);

struct spawn_request {
	uint64_t namespaces; /* CLONE_NEW... */
	struct child_plan *child;
};

/* Blocks until the child has exec'd or failed. */
int local_spawn(const struct spawn_request *request, pid_t *ret_pid, int *ret_pidfd,
    struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * The janitor: a process that removes the sandbox's groups when the launcher is killed (janitor.c)
 */
struct janitor;

/* cgroup stays where it is until janitor_end(). */
int janitor_start(const struct confine_cgroup *cgroup, struct janitor **ret_janitor,
    struct hl_err *err) HL_MUST_CHECK;
/* The groups are gone: the janitor leaves without touching anything and is reaped. NULL allowed. */
void janitor_end(struct janitor *janitor);

#endif
