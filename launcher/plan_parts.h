/*
 * What the files of the plan share with each other and with nobody else: resolved sources, the list
 * of forbidden places, and where a backend puts what the policy leaves open.
 */
#ifndef HL_LAUNCHER_PLAN_PARTS_H
#define HL_LAUNCHER_PLAN_PARTS_H

#include "launcher/launcher.h"

enum {
	PLAN_MOUNTS_MAX = 512,
	PLAN_DEVICES_MAX = 128,
	PLAN_DENY_MAX = 4096,
	PLAN_DENY_WALK_MAX = 20000, /* directories that one fs.deny may make us read */
	PLAN_ENV_MAX = 4096,
};

/* ------------------------------------------------------------------------------------------------
 * Sources: a path of this host, resolved once (plan_source.c)
 */
struct plan_source {
	char *path; /* the kernel's name: no symbolic link in it */
	bool is_dir;
	uint64_t dev, ino;
	uint32_t mode;
	uint64_t rdev; /* of a device */
};

void plan_source_done(struct plan_source *source);
/* path is normal. HLU-10 when it is missing or cannot be reached. */
int plan_source_resolve(const char *path, struct plan_source *ret_source,
    struct hl_err *err) HL_MUST_CHECK;
/* The kernel's name of path as far as it exists, the rest as it stands: for places that are made
 * later, such as the state directory. Heap string; NULL = no memory. */
char *plan_path_settle(const char *path) HL_MUST_CHECK;
/* Replaces ${user} ${uid} ${home} ${workdir} ${state}; workdir NULL = not known here. Refuses other
 * placeholders and control bytes. Heap string. */
int plan_text_expand(const char *text, const struct host *host, const char *workdir,
    char **ret_text, struct hl_err *err) HL_MUST_CHECK;

/* Where the caller keeps credentials for registries (plan_registry.c). */
int plan_registry(const struct host *host, struct plan *plan, struct hl_err *err) HL_MUST_CHECK;
/* Those that a variable of the caller's names, of every engine: they are covered. */
int plan_registry_named(const struct host *host, struct hl_strv *ret_files,
    struct hl_err *err) HL_MUST_CHECK;
/* The environment of programs that keep them; after the mounts are planned. */
int plan_registry_programs(const struct host *host, struct plan *plan,
    struct hl_err *err) HL_MUST_CHECK;

/* plan_seccomp.c: what the files of process.seccomp.files do not let through, into
 * plan->seccomp_deny. */
int plan_seccomp_files(const struct policy *policy, const struct host *host, struct plan *plan,
    struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * Forbidden places (plan_deny.c, launcher/deny.def)
 */
enum deny_class {
	DENY_FLOOR,
	DENY_SOCKET,
	DENY_SECRET,
	DENY_HIDE,
	DENY_AUTHORED, /* of fs.deny */
	DENY_KEEP,     /* never a source, but not covered: read-only where a mount shows it */
	DENY_CLASS_MAX
};

struct deny_entry {
	char *path; /* kernel's name, as far as it exists */
	enum deny_class class;
	bool exists;       /* or will, when the command runs */
	uint64_t dev, ino; /* when it exists */
	const char *reason;
	struct hl_origin origin;
};

enum {
	DENY_HOMES = 3, /* the caller's, root's, and what the caller's programs take for home */
	DENY_PARENTS = 16,
	DENY_HOME_NAMES_MAX = 4096
};

/* Names in a home directory, read once. */
struct deny_home {
	struct hl_strv names;
	bool is_read, has_names;
};

struct deny_list {
	struct deny_entry *items;
	size_t len, capacity;
	char *home;     /* of the caller, settled */
	char *env_home; /* $HOME, where it names another; NULL = it does not */
	/* Directories of entries, and the kernel's names of them. */
	struct {
		char *path, *settled;
	} parents[DENY_PARENTS];
	size_t parents_len;
	struct deny_home homes[DENY_HOMES];
	unsigned dirs_read; /* against PLAN_DENY_WALK_MAX */
};

int deny_list_build(const struct policy *policy, const struct host *host, const struct plan *plan,
    struct deny_list *ret_list, struct hl_err *err) HL_MUST_CHECK;
void deny_list_done(struct deny_list *list);
/* The entry that forbids source to be mounted, NULL = none. */
const struct deny_entry *deny_list_forbids(const struct deny_list *list,
    const struct plan_source *source);
/* The same by name alone: for a path before its symbolic links are followed. */
const struct deny_entry *deny_list_forbids_name(const struct deny_list *list, const char *path);
/* Fills plan->deny with what would be seen inside and must not be, once mounts, tmpfs and home
 * stand. */
int deny_list_apply(const struct deny_list *list, struct plan *plan,
    struct hl_err *err) HL_MUST_CHECK;

/* Existing paths that match: `*` and `?` within a name, `**` as a component across. Bounded by
 * *dirs_read. A directory that cannot be read is itself the answer: what is in it stays covered.
 * (plan_glob.c) */
int plan_glob_expand(const char *pattern, unsigned *dirs_read, struct hl_strv *ret_paths,
    struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * File system pieces
 */
struct fs_scope {
	const struct policy *policy;
	const struct request *request;
	const struct host *host;
	struct plan *plan;
	struct deny_list deny;
	const char *workdir; /* resolved source of the working directory */
};

/* Refuses a source by the list, by name and resolved; what names it in messages. */
int plan_source_allowed(const struct fs_scope *scope, const char *what, const char *asked,
    const struct plan_source *source, struct hl_err *err) HL_MUST_CHECK;
/* Takes mount's strings over, also on failure. */
int plan_mount_add(struct plan *plan, struct plan_mount *mount, struct hl_err *err) HL_MUST_CHECK;
int plan_tmpfs_add(struct plan *plan, struct plan_tmpfs *tmpfs, struct hl_err *err) HL_MUST_CHECK;
/* The deepest mount (not a volume) whose dst holds the inside path, NULL = none. */
const struct plan_mount *plan_mount_at(const struct plan *plan, const char *path);
int plan_workdir(struct fs_scope *scope, struct hl_err *err) HL_MUST_CHECK;
int plan_home(const struct fs_scope *scope, struct hl_err *err) HL_MUST_CHECK;
/* Whether the sandbox is shared, and stays (plan_keep.c), after the devices. A name where the
 * policy wants a container kept that cannot be is refused. */
int plan_keep(const struct fs_scope *scope, struct hl_err *err) HL_MUST_CHECK;
/* Whether the plan's backend can keep this sandbox. */
bool plan_can_keep(const struct plan *plan);
/* Whose something is that stays: a digest of backend, caller, policy and working directory. Two of
 * them never share it, and no part of a name can be mistaken for another (a digest, not the names
 * themselves). */
int plan_profile(const struct fs_scope *scope, char digest[HL_SHA256_HEX_SIZE],
    struct hl_err *err) HL_MUST_CHECK;
/* fs.devices, after the deny list (plan_devices.c). */
int plan_devices(const struct fs_scope *scope, struct hl_err *err) HL_MUST_CHECK;
/* One device by its path. The plan has room for PLAN_DEVICES_MAX. */
int plan_device_add(const struct fs_scope *scope, const struct policy_item *item,
    struct hl_err *err) HL_MUST_CHECK;
/* "gpu:all" or "gpu:0": its nodes, or where an engine is asked for it, the wish (plan_gpu.c). */
int plan_gpu_add(const struct fs_scope *scope, const struct policy_item *item,
    struct hl_err *err) HL_MUST_CHECK;
int plan_cwd(const struct fs_scope *scope, struct hl_err *err) HL_MUST_CHECK;
/* Policy files inside writable mounts: below .hermes/ they are made read-only, elsewhere refused.
 */
int plan_protect_policies(const struct fs_scope *scope, struct hl_err *err) HL_MUST_CHECK;
/* fs.protect: what exists of it in writable mounts, read-only. */
int plan_protect_paths(const struct fs_scope *scope, struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * Small things
 */
bool plan_is_local(const struct plan *plan);
enum backend_id plan_backend_id(const struct plan *plan);
/* No boundary: nothing of the file system is made for the command. */
bool plan_is_scrub(const struct plan *plan);
bool plan_is_enforced(const struct policy *policy);
struct hl_origin plan_built_in(void);
/* "file:line:col (layer, id)", "command line (caller)", "built-in". */
void origin_put(struct hl_buf *out, const struct hl_origin *origin);

/* Keys of the policy without effect on the plan's backend. What the policy's own files ask in vain
 * is an error in enforce (the first one goes to err); the rest is a line in notes, which may be
 * NULL. (plan_effect.c) */
int plan_effect(const struct policy *policy, const struct plan *plan, struct plan_notes *notes,
    struct hl_err *err) HL_MUST_CHECK;

void plan_env_done(struct plan *plan);
/* Neither passed from the caller nor set by the policy. */
bool plan_env_is_built(const struct plan_env *env);
/* HOME, PATH and the like, which every command has. */
bool plan_env_name_is_built(const char *name);
/* The rule of env.pass that lets name through, NULL = none. */
const struct policy_item *plan_env_rule(const struct policy_value *pass, const char *name);
/* Passes by env.pass, and its value is no plain setting of a terminal. */
bool plan_env_is_private(const struct policy *policy, const char *name);
void plan_env_notes(const struct policy *policy, const struct host *host, const struct plan *plan,
    struct plan_notes *notes);

#endif
