/*
 * confine - the lock.
 *
 * Two halves. Prepare (confine/, host; may allocate) turns what a backend asks for into one flat
 * struct confinement. Apply (confine/apply/, in the static runner) decodes it and walks it by
 * system calls only, then verifies from inside what it did. One lock for every place: the native
 * sandbox applies all of it, a container's runner what the engine leaves to it.
 *
 * Life cycle
 *
 *  1. host: fill a struct confinement; confine_encode() makes the payload of a LOCK frame.
 *  2. runner: confine_begin(); confine_decode(), confine_apply(), confine_verify(). The first
 * failing step is reported with its errno and subject, and nothing is started.
 *
 * Order of steps (enum confine_step is the order; each has its own error): control groups entered
 * (while the host's tree is still in sight), private mounts, sources
 * opened and compared, new root built, masks, read-only, pivot_root, cgroup namespace, hostname and
 * loopback, session keyring (while still root: an ordinary user's quota is 200 of them), bounding
 * set, securebits, groups, gid, uid, capabilities, no_new_privs, Landlock, death signal,
 * descriptors, seccomp, verify.
 *
 * Mounts are built on a small tmpfs laid over "/": a process' own root is looked up beneath such a
 * mount, so that nothing of the host is covered while sources are opened. Mount points are made
 * only in file systems of ours (that tmpfs, TMPFS, DEV) and in the command's own home (PLACES): any
 * other bind must have its mount points already.
 * The verification reads /proc/self, so a confinement with mounts has one PROC operation.
 *
 * Time of check equals time of use: the host resolves each path once to a name without symbolic
 * links and records device and inode; the runner opens that name with openat2(RESOLVE_NO_SYMLINKS |
 * RESOLVE_NO_MAGICLINKS), compares, and binds by descriptor (open_tree, move_mount: Linux 5.2;
 * mount_setattr: 5.12).
 */
#ifndef HL_CONFINE_CONFINE_H
#define HL_CONFINE_CONFINE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

enum confine_flags {
	CONFINE_MOUNTS = 1 << 0,   /* build a root from ops and pivot into it */
	CONFINE_LOOPBACK = 1 << 1, /* a network namespace of its own, with lo up */
	CONFINE_IDENTITY = 1 << 2, /* change to uid:gid, no supplementary groups */
	CONFINE_CAPS = 1 << 3,     /* reduce to bounding/effective */
	CONFINE_NO_NEW_PRIVS = 1 << 4,
	CONFINE_KEYRING = 1 << 5,  /* new session keyring */
	CONFINE_LANDLOCK = 1 << 6, /* required: no Landlock in the kernel is an error */
	CONFINE_SECCOMP = 1 << 7,
	CONFINE_HOSTNAME = 1 << 8,
	CONFINE_CGROUP_NS = 1 << 9, /* unshare the cgroup namespace after the attach */
	/* What an engine has applied: not applied again, only read back from inside. */
	CONFINE_SEEN_IDENTITY = 1 << 10, /* uid:gid */
	CONFINE_SEEN_CAPS = 1 << 11,     /* no set has more than bounding */
	CONFINE_SEEN_SECCOMP = 1 << 12,  /* a filter is on */
	CONFINE_SEEN_MOUNTS = 1 << 14,   /* those of ops and an engine's own, and no other */
	CONFINE_SEEN_LIMITS = 1 << 15,   /* the control group, where it is in sight */
	CONFINE_SEEN_ENV = 1 << 16,      /* the first process has no other variable than these */
	CONFINE_SEEN_GROUPS = 1 << 17,   /* no supplementary group but gid */
	CONFINE_SEEN_DRIVER = 1 << 18,   /* with SEEN_MOUNTS: and a graphics driver's files */
	/* A user namespace in which uid:gid are whoever is root one namespace up: the owner of an
	 * engine that runs without root. */
	CONFINE_SEEN_KEPT_ID = 1 << 19,
	CONFINE_SEEN_NPROC = 1 << 20, /* seen_pids is a resource limit, not a control group's */
	/* Of a user whom only the engine knows: neither user nor group is 0, and no supplementary
	 * group. */
	CONFINE_SEEN_NOT_ROOT = 1 << 21,
	CONFINE_SEEN_NO_ROOT_GROUP = 1 << 22,
	CONFINE_NO_TCP = 1 << 13, /* with LANDLOCK: no TCP bind or connect, from ABI 4 on */
};

enum confine_step {
	CONFINE_STEP_NONE,
#define CONFINE_STEP(symbol, text) CONFINE_STEP_##symbol,
#include "confine/steps.def"
#undef CONFINE_STEP
	CONFINE_STEP_MAX
};

/* What the step does, for messages: "mount /proc". */
const char *confine_step_text(enum confine_step step);

enum confine_op_kind {
	CONFINE_OP_DIR = 1, /* a directory in a file system of ours; mode */
	CONFINE_OP_SYMLINK, /* dst -> src, in a file system of ours */
	CONFINE_OP_BIND,    /* src at dst, with flags; compared with dev and ino */
	CONFINE_OP_TMPFS,   /* size, mode, flags */
	CONFINE_OP_PROC,    /* a fresh proc, masked paths covered, /proc/sys and kin read-only */
	CONFINE_OP_DEV, /* the minimal /dev: null zero full random urandom tty ptmx pts shm(size) */
	CONFINE_OP_MASK, /* an existing file or directory covered by an empty read-only one */
	CONFINE_OP_MAX
};

enum confine_op_flags {
	CONFINE_OP_RDONLY = 1 << 0,
	CONFINE_OP_NOEXEC = 1 << 1,
	CONFINE_OP_RECURSIVE = 1 << 2, /* bind the mounts below src as well */
	CONFINE_OP_FILE = 1 << 3,      /* src is a file: the mount point is one */
	CONFINE_OP_OPTIONAL = 1 << 4,  /* MASK: a missing dst is fine */
	CONFINE_OP_SUBSET = 1 << 5,    /* PROC: processes only, and only one's own */
	CONFINE_OP_DEVICE = 1 << 6,    /* BIND of a device below /dev; size is its number */
	CONFINE_OP_PLACES = 1 << 7,    /* BIND: mount points may be made in it */
}; /* nosuid always; nodev but for a DEVICE and for /dev's own */

/* Sorted by the host so that parents come before children. Paths normal and absolute, inside-view.
 */
struct confine_op {
	enum confine_op_kind kind;
	uint32_t flags;
	uint32_t mode;
	uint64_t size;     /* bytes; 0 = the kernel's default. DEVICE: its st_rdev */
	uint64_t dev, ino; /* BIND */
	const char *src;
	const char *dst;
};

enum confine_access {
	CONFINE_READ = 1 << 0,
	CONFINE_WRITE = 1 << 1,
	CONFINE_EXEC = 1 << 2
};

/* Landlock: what is allowed beneath path, inside-view. All else is denied. */
struct confine_rule {
	uint32_t access; /* enum confine_access */
	const char *path;
};

enum confine_limit {
	CONFINE_LIMIT_PIDS,
	CONFINE_LIMIT_MEMORY,
	CONFINE_LIMIT_CPUS,
	CONFINE_LIMIT_MAX
};

enum {
	CONFINE_OPS_MAX = 2048,
	CONFINE_RULES_MAX = 512,
	CONFINE_BPF_MAX = 4096,
	CONFINE_GROUPS_MAX = CONFINE_LIMIT_MAX
};

/* One BPF instruction, as struct sock_filter. */
struct confine_bpf {
	uint16_t code;
	uint8_t jt, jf;
	uint32_t k;
};

struct confinement {
	uint32_t flags;
	uint32_t uid, gid;
	uint64_t caps_bounding;
	uint64_t caps_effective; /* also permitted; inheritable and ambient are always empty */
	const char *hostname;
	/* The file of each control group that a process enters it by, on the host. */
	const char *groups[CONFINE_GROUPS_MAX];
	size_t groups_len;
	struct confine_op *ops; /* heap; strings borrowed */
	size_t ops_len;
	struct confine_rule *rules;
	size_t rules_len;
	struct confine_bpf *bpf;
	size_t bpf_len;
	uint64_t seen_pids, seen_memory, seen_cpus; /* bytes, thousandths; 0 = not looked at */
	const char *seen_env;                       /* names, a newline behind each */
};

/* ------------------------------------------------------------------------------------------------
 * Both sides
 */
int confine_encode(const struct confinement *confinement, struct hl_buf *out,
    struct hl_err *err) HL_MUST_CHECK;
/* Strings point into bytes, arrays are heap: confinement_done() frees the arrays. */
int confine_decode(const void *bytes, size_t len, struct confinement *ret_confinement,
    struct hl_err *err) HL_MUST_CHECK;
void confinement_done(struct confinement *confinement);

enum {
	CONFINE_PAGE = 4096,
	CONFINE_CPU_PERIOD_US = 100000 /* of the processor's quota, which every engine takes */
};

/* Whether a control file's text is that limit (cgroups(7)), wanted as in struct confine_limits: of
 * pids.max; memory.max, or memory.limit_in_bytes of version 1; cpu.max, or cpu.cfs_quota_us and
 * behind it cpu.cfs_period_us. */
bool confine_limit_is(enum confine_limit limit, const char *text, uint64_t wanted);
/* What that user or group is one user namespace up, by the text of uid_map or gid_map. false: it is
 * not in it, or that is no such text. */
bool confine_id_outside(const char *map, uint32_t id, uint32_t *ret_outside);
/* That nobody of it is root one namespace up; false also of what is no such text. */
bool confine_map_lacks_root(const char *map);

/* ------------------------------------------------------------------------------------------------
 * Host half
 */
enum confine_profile {
	CONFINE_PROFILE_STRICT,
	CONFINE_PROFILE_DEFAULT,
	CONFINE_PROFILE_BROAD,
	CONFINE_PROFILE_NONE,
	CONFINE_PROFILE_MAX
};

enum confine_arch {
	CONFINE_ARCH_X86_64,
	CONFINE_ARCH_AARCH64,
	CONFINE_ARCH_MAX
};

/* The program of an architecture, generated at build time; *ret_len 0 for NONE. */
const struct confine_bpf *confine_profile_bpf_of(enum confine_arch arch,
    enum confine_profile profile, size_t *ret_len);
/* The one of this machine. */
const struct confine_bpf *confine_profile_bpf(enum confine_profile profile, size_t *ret_len);
/* The same sets as a seccomp profile of container engines (JSON text), NULL for NONE. */
const char *confine_profile_json(enum confine_profile profile);

/* Further calls that are denied, by name: refused with EPERM whatever the profile says of them, but
 * for those that it answers "not there" already, as clone3. HLU-01 for a name that is in no row of
 * confine/syscalls.def; one that an architecture does not have denies nothing there. */
int confine_syscall_check(const char *name, struct hl_err *err) HL_MUST_CHECK;
/* The names of those rows; NULL past the last. */
const char *confine_syscall_name(size_t index);
struct confine_program {
	struct confine_bpf *bpf; /* heap */
	size_t len;
};

/* Profile and denied calls as one program; len 0 and NULL when neither has any. */
int confine_filter(enum confine_arch arch, enum confine_profile profile,
    const struct hl_strv *denied, struct confine_program *ret_program,
    struct hl_err *err) HL_MUST_CHECK;
/* The same for an engine, into out; nothing when neither has any. */
int confine_filter_json(enum confine_profile profile, const struct hl_strv *denied,
    struct hl_buf *out, struct hl_err *err) HL_MUST_CHECK;
enum confine_arch confine_arch_native(void);

/* Capabilities by name, case-free, "CAP_" optional. Bit number in a uint64_t mask; names as in
 * capabilities(7) without the prefix. */
int confine_cap_parse(const char *name, uint64_t *ret_mask, struct hl_err *err) HL_MUST_CHECK;
const char *confine_cap_name(unsigned number); /* NULL past the last */

/* What this kernel offers, learned by trying, once. */
struct confine_kernel {
	int landlock_abi; /* 0 = none */
	bool has_seccomp;
	bool has_user_ns;        /* for this caller; not tried for root, who needs none */
	char user_ns_cause[160]; /* when not: sysctl, profile, ... */
};

void confine_kernel_probe(struct confine_kernel *ret_kernel);
/* The Landlock of this kernel alone; 0 = none. */
int confine_landlock_abi(void);
/* RLIMIT_NPROC counts the processes of this caller's sandboxes one by one, and nothing else. */
bool confine_nproc_is_per_namespace(void);

/* Version 2 alone, as engines ask it: by what is mounted, and not by whether it is somewhere beside
 * version 1. */
bool confine_groups_are_unified(void);

/* Limits by cgroup, v2 where the controller is there, else v1. */
struct confine_limits {
	bool has_pids, has_memory, has_cpus;
	uint64_t pids;
	uint64_t memory; /* bytes; swap is set to the same total, so none */
	uint64_t cpus;   /* thousandths */
	/* Called once, before the first group is made and when the answer names it already: who
	 * removes it when this process is killed. NULL = nobody; -1 ends the making. */
	int (*before)(void *context, struct hl_err *err);
	void *context;
};

struct confine_cgroup {
	char *dirs[CONFINE_GROUPS_MAX]; /* created directories, each once */
	/* The file of each that a process of one thread writes "0" into to enter it: cgroup.procs,
	 * of v1 tasks. For a thread that moves itself by that one the kernel does not wait until no
	 * other can be forking, which takes milliseconds (its commit 9a3284fad42f, of 2019). */
	char *entries[CONFINE_GROUPS_MAX];
	size_t dirs_len;
	uint32_t applied;                     /* bit per enum confine_limit: set and read back */
	char missing[CONFINE_LIMIT_MAX][160]; /* why one could not be applied */
};

/* Creates and fills the groups. A limit that cannot be applied is left out of applied with its
 * cause in missing: the caller decides whether that refuses. -1 only for faults of the call itself.
 */
int confine_cgroup_create(const struct confine_limits *limits, const char *name,
    struct confine_cgroup *ret_cgroup, struct hl_err *err) HL_MUST_CHECK;
/* Whether the kernel ended something in them for want of memory: memory.events of v2, and
 * memory.oom_control of v1 since Linux 4.13. Before they are removed. */
bool confine_cgroup_was_oom(const struct confine_cgroup *cgroup);
/* Kills what is in them and removes them; waits at most two seconds. Idempotent. */
int confine_cgroup_remove(struct confine_cgroup *cgroup, struct hl_err *err) HL_MUST_CHECK;
/* The same for the janitor, which may neither allocate nor print: signal-safety(7) calls only. */
int confine_cgroup_remove_dirs(char *const *dirs, size_t len) HL_MUST_CHECK;
void confine_cgroup_done(struct confine_cgroup *cgroup);
/* Removes groups of killed launchers whose janitor was killed as well: those that are empty and
 * were not made just now. The answer is how many. */
size_t confine_cgroup_sweep(void);

/* ------------------------------------------------------------------------------------------------
 * Half that runs inside (static musl build)
 */
struct confine_failure {
	enum confine_step step;
	int sys_errno;
	const char *subject; /* borrowed from the confinement, or static */
};

/* What every lock with a root of its own begins with, whatever the rest says: mounts made private,
 * the file system that the root is built on, /dev, /proc; and a network namespace with lo, which
 * confine_apply() joins (it is made beside all this, on a child's time). The runner of a native
 * sandbox does it while the host still decides. */
enum confine_early_flags {
	CONFINE_EARLY_ROOT = 1 << 0,
	CONFINE_EARLY_NETWORK = 1 << 1
};

struct confine_early {
	uint32_t flags; /* what was asked for */
	int base_fd, mask_fd[2];
	struct confine_failure failure; /* step NONE: all is done; else confine_apply() fails so */
};

/* flags 0: nothing is begun. */
void confine_begin(uint32_t flags, struct confine_early *ret_early);
/* 0 or -1 with *ret_failure. keep_fd: descriptors up to here stay open for the runner itself;
 * where there are some above 2, 3 is the stream whose other end the parent holds, and the runner
 * dies with that parent. */
int confine_apply(const struct confinement *confinement, const struct confine_early *early,
    int keep_fd, struct confine_failure *ret_failure) HL_MUST_CHECK;
/* Reads back no_new_privs, seccomp, capabilities, ids, mount flags and descriptors and compares.
 * *ret_read: the flags of what was looked at, without those of limits that are not in sight. */
int confine_verify(const struct confinement *confinement, int keep_fd, uint32_t *ret_read,
    struct confine_failure *ret_failure) HL_MUST_CHECK;

#endif
