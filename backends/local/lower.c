/*
 * Plan to confinement: what the runner builds, in which order, and the lines that explain prints of
 * it. Pure: everything about this host comes in as struct local_host.
 *
 * The root of `confined` is an empty file system of ours in which every top-level directory of the
 * host appears read-only, but for those that hold other people's things or the host's own state
 * (replaced[]): these are empty or private. `strict` turns the rule around: only what a program
 * needs to run (strict_roots[]) appears.
 */
#include <linux/capability.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/local/local.h"

#include "base/banned.h"

/* Sorted. Of these, those marked stay as an empty directory, because programs expect the name. */
struct replaced_row {
	const char *path;
	bool is_kept_empty;
};

static const struct replaced_row replaced[] = {
	{ "/boot", false },
	{ "/dev", false }, /* ours, see add_base() */
	{ "/home", true },
	{ "/lost+found", false },
	{ "/media", true },
	{ "/mnt", true },
	{ "/proc", false }, /* ours */
	{ "/root", true },
	{ "/run", true },
	{ "/sys", true },
	{ "/tmp", true },
};

static const char *const strict_roots[] = { "/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32",
	"/sbin", "/usr" };

static const char *const writable_always[] = { "/dev" };

static const struct replaced_row *
find_replaced(const char *path)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(replaced); i++)
		if (strcmp(replaced[i].path, path) == 0)
			return &replaced[i];
	return NULL;
}

static bool
is_shown(const struct plan *plan, const char *path)
{
	if (plan->isolation != PLAN_ISOLATION_STRICT)
		return find_replaced(path) == NULL;
	for (size_t i = 0; i < HL_ARRAY_SIZE(strict_roots); i++)
		if (strcmp(strict_roots[i], path) == 0)
			return true;
	return false;
}

static void
add_host_root(struct layout *layout, const struct plan *plan, const struct local_host *host)
{
	uint32_t flags = CONFINE_OP_RECURSIVE;

	if (plan->root == PLAN_ROOT_READ_ONLY)
		flags |= CONFINE_OP_RDONLY;
	for (size_t i = 0; i < host->entries_len; i++) {
		const struct local_entry *entry = &host->entries[i];
		if (!is_shown(plan, entry->path))
			continue;
		struct confine_op op = {
			.kind = CONFINE_OP_BIND,
			.flags = flags,
			.dev = entry->dev,
			.ino = entry->ino,
			.src = entry->path,
			.dst = entry->path,
		};
		if (entry->kind == LOCAL_ENTRY_SYMLINK)
			op = (struct confine_op){
				.kind = CONFINE_OP_SYMLINK,
				.src = entry->target,
				.dst = entry->path,
			};
		layout_add(layout, LAYOUT_HOST, &plan->root_origin, &op);
	}
}

static void
add_base(struct layout *layout, const struct plan *plan)
{
	const struct plan_number *shm = &plan->limits[PLAN_LIMIT_SHM];

	for (size_t i = 0; i < HL_ARRAY_SIZE(replaced); i++)
		if (replaced[i].is_kept_empty)
			layout_add(layout, LAYOUT_BASE, &plan->isolation_origin,
			    &(struct confine_op){
				.kind = CONFINE_OP_DIR,
				.mode = 0755,
				.dst = replaced[i].path,
			    });
	layout_add(layout, LAYOUT_BASE, &plan->isolation_origin,
	    &(struct confine_op){
		.kind = CONFINE_OP_PROC,
		.flags = plan->isolation == PLAN_ISOLATION_STRICT ? CONFINE_OP_SUBSET : 0,
		.dst = "/proc",
	    });
	/* A size of 0 means "the kernel's default" to a tmpfs, which is half of the memory: the
	 * policy's 0 becomes one byte, which the kernel rounds to a page. */
	layout_add(layout, LAYOUT_BASE, shm->has ? &shm->origin : &plan->isolation_origin,
	    &(struct confine_op){
		.kind = CONFINE_OP_DEV,
		.size = !shm->has         ? 0
			: shm->value == 0 ? 1
					  : shm->value,
		.dst = "/dev",
	    });
}

static void
add_home(struct layout *layout, const struct plan *plan)
{
	const struct plan_home *home = &plan->home;
	struct confine_op op = {
		.kind = CONFINE_OP_BIND,
		.flags = CONFINE_OP_RECURSIVE | CONFINE_OP_PLACES,
		.dev = home->dev,
		.ino = home->ino,
		.src = home->src,
		.dst = home->path,
	};

	if (home->path == NULL)
		return;
	if (home->kind == PLAN_HOME_TMPFS)
		op = (struct confine_op){
			.kind = CONFINE_OP_TMPFS,
			.mode = 0700,
			.size = home->size,
			.dst = home->path,
		};
	layout_add(layout, LAYOUT_HOME, &home->origin, &op);
}

static int
add_mounts(struct layout *layout, const struct plan *plan, const struct local_host *host,
    struct hl_err *err)
{
	for (size_t i = 0; i < plan->mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		if (mount->is_volume)
			return hl_err_set(err, HLB_28,
			    "'%.200s' is a volume: there is no engine here"
			    " that has volumes",
			    mount->src);
		layout_add(layout, LAYOUT_MOUNT, &mount->origin,
		    &(struct confine_op){
			.kind = CONFINE_OP_BIND,
			.flags = (mount->is_file ? (uint32_t)CONFINE_OP_FILE
						 : (uint32_t)CONFINE_OP_RECURSIVE) |
				 (mount->is_writable ? 0U : (uint32_t)CONFINE_OP_RDONLY) |
				 (mount->is_exec ? 0U : (uint32_t)CONFINE_OP_NOEXEC),
			.dev = mount->dev,
			.ino = mount->ino,
			.src = mount->src,
			.dst = mount->dst,
		    });
	}
	for (size_t i = 0; i < host->binds_len; i++) {
		const struct local_bind *bind = &host->binds[i];
		layout_add(layout, LAYOUT_MOUNT, NULL,
		    &(struct confine_op){
			.kind = CONFINE_OP_BIND,
			.flags = CONFINE_OP_RDONLY |
				 (bind->is_file ? CONFINE_OP_FILE : CONFINE_OP_RECURSIVE),
			.dev = bind->dev,
			.ino = bind->ino,
			.src = bind->src,
			.dst = bind->dst,
		    });
	}
	return 0;
}

/* Into the /dev that is made before: the node read-only, which keeps its mode and owner; a device
 * is written through it all the same. Landlock's rule for /dev holds for it, ioctl(2) included. */
static void
add_devices(struct layout *layout, const struct plan *plan)
{
	for (size_t i = 0; i < plan->devices_len; i++) {
		const struct plan_device *device = &plan->devices[i];
		layout_add(layout, LAYOUT_MOUNT, &device->origin,
		    &(struct confine_op){
			.kind = CONFINE_OP_BIND,
			.flags = CONFINE_OP_DEVICE | CONFINE_OP_FILE | CONFINE_OP_RDONLY |
				 CONFINE_OP_NOEXEC,
			.size = device->rdev,
			.dev = device->dev,
			.ino = device->ino,
			.src = device->src,
			.dst = device->dst,
		    });
	}
}

static void
add_tmpfs(struct layout *layout, const struct plan *plan)
{
	for (size_t i = 0; i < plan->tmpfs_len; i++) {
		const struct plan_tmpfs *tmpfs = &plan->tmpfs[i];
		layout_add(layout, LAYOUT_TMPFS, &tmpfs->origin,
		    &(struct confine_op){
			.kind = CONFINE_OP_TMPFS,
			.flags = tmpfs->is_exec ? 0 : CONFINE_OP_NOEXEC,
			.mode = tmpfs->mode,
			.size = tmpfs->size,
			.dst = tmpfs->dst,
		    });
	}
}

/* ------------------------------------------------------------------------------------------------
 * Lines for explain
 */
static void
put_size(struct hl_buf *text, const char *name, uint64_t size)
{
	if (size == 0)
		return;
	hl_buf_putf(text, " %s=", name);
	hl_buf_put_size(text, size);
}

static void
item_line(struct lowered *lowered, const struct layout_item *item)
{
	const struct confine_op *op = &item->op;
	bool is_device = op->kind == CONFINE_OP_BIND && (op->flags & CONFINE_OP_DEVICE) != 0;
	struct hl_buf text;

	hl_buf_init(&text, 16384);
	switch (op->kind) {
	case CONFINE_OP_DIR:
		hl_buf_putf(&text, "dir %s mode=%04o", op->dst, op->mode);
		break;
	case CONFINE_OP_SYMLINK:
		hl_buf_putf(&text, "link %s -> %s", op->dst, op->src);
		break;
	case CONFINE_OP_BIND:
		hl_buf_putf(&text, "%s %s", is_device ? "device" : "bind", op->src);
		if (strcmp(op->src, op->dst) != 0)
			hl_buf_putf(&text, " at %s", op->dst);
		if (!is_device)
			hl_buf_puts(&text,
			    op->flags & CONFINE_OP_RDONLY ? " read-only" : " writable");
		break;
	case CONFINE_OP_TMPFS:
		hl_buf_putf(&text, "tmpfs %s mode=%04o", op->dst, op->mode);
		put_size(&text, "size", op->size);
		break;
	case CONFINE_OP_PROC:
		hl_buf_putf(&text, "proc %s, %s", op->dst,
		    op->flags & CONFINE_OP_SUBSET ? "own processes only" : "masked");
		break;
	case CONFINE_OP_DEV:
		hl_buf_putf(&text, "dev %s, minimal", op->dst);
		put_size(&text, "shm", op->size);
		break;
	case CONFINE_OP_MASK:
		hl_buf_putf(&text, "cover %s", op->dst);
		break;
	case CONFINE_OP_MAX:
		break;
	}
	if ((op->kind == CONFINE_OP_BIND && !is_device) || op->kind == CONFINE_OP_TMPFS)
		hl_buf_puts(&text, op->flags & CONFINE_OP_NOEXEC ? " noexec" : " exec");
	lowered_line(lowered, &item->origin, "%s", text.data);
	lowered->failed = lowered->failed || text.failed;
	hl_buf_done(&text);
}

static const char *const limit_names[PLAN_LIMIT_MAX] = {
	[PLAN_LIMIT_WALL] = "wall",
	[PLAN_LIMIT_CPUS] = "cpus",
	[PLAN_LIMIT_MEMORY] = "memory",
	[PLAN_LIMIT_PIDS] = "pids",
	[PLAN_LIMIT_FILES] = "files",
	[PLAN_LIMIT_SHM] = "shm",
	[PLAN_LIMIT_DISK] = "disk",
	[PLAN_LIMIT_OUTPUT] = "output",
};

static void
limit_lines(struct lowered *lowered, const struct plan *plan)
{
	for (size_t i = 0; i < PLAN_LIMIT_MAX; i++) {
		const struct plan_number *limit = &plan->limits[i];
		struct hl_buf text;
		if (!limit->has || i == PLAN_LIMIT_OUTPUT || i == PLAN_LIMIT_SHM ||
		    i == PLAN_LIMIT_DISK)
			continue;
		hl_buf_init(&text, 128);
		if (i == PLAN_LIMIT_WALL)
			hl_buf_put_duration(&text, limit->value);
		else if (i == PLAN_LIMIT_CPUS)
			hl_buf_put_milli(&text, limit->value);
		else if (i == PLAN_LIMIT_MEMORY)
			hl_buf_put_size(&text, limit->value);
		else
			hl_buf_putf(&text, "%llu", (unsigned long long)limit->value);
		lowered_line(lowered, &limit->origin, "limit %s=%s", limit_names[i], text.data);
		hl_buf_done(&text);
	}
}

static void
caps_line(struct lowered *lowered, const struct plan *plan, uint64_t caps)
{
	struct hl_buf text;

	hl_buf_init(&text, 2048);
	for (unsigned i = 0; i < 64; i++)
		if (caps & (1ULL << i)) {
			const char *name = confine_cap_name(i);
			hl_buf_putf(&text, " %s", name == NULL ? "?" : name);
		}
	lowered_line(lowered, &plan->caps_origin, "capabilities%s",
	    text.len == 0 ? " none" : text.data);
	hl_buf_done(&text);
}

/* ------------------------------------------------------------------------------------------------
 * Identity, privileges, rules
 */
static int
check_user(const struct plan *plan, const struct local_host *host, struct hl_err *err)
{
	if (host->uid == 0 || (plan->uid == host->uid && plan->gid == host->gid))
		return 0;
	return hl_err_set(err, HLB_28,
	    "process.user %u:%u cannot be had: an ordinary user can map only their own %u:%u",
	    plan->uid, plan->gid, (unsigned)host->uid, (unsigned)host->gid);
}

static int
lower_process(const struct plan *plan, const struct local_host *host, struct lowered *lowered,
    struct hl_err *err)
{
	struct confinement *confinement = &lowered->confinement;
	static const char *const profiles[CONFINE_PROFILE_MAX] = { "strict", "default", "broad",
		"none" };

	struct confine_program program;
	bool has_filter = plan->seccomp != CONFINE_PROFILE_NONE || plan->seccomp_deny.len > 0;

	if (check_user(plan, host, err) != 0)
		return -1;
	if (!plan->no_new_privs && (plan->landlock || has_filter))
		return hl_err_set(err, HLB_28,
		    "process.no_new_privs cannot be off together with a system call filter or"
		    " Landlock: the kernel takes neither without it");
	confinement->uid = plan->uid;
	confinement->gid = plan->gid;
	confinement->flags |= CONFINE_CAPS;
	/* In a user namespace there is nothing to change to and setgroups(2) is denied. */
	if (host->uid == 0)
		confinement->flags |= CONFINE_IDENTITY;
	uint64_t caps = host->uid == 0 && plan->uid == 0 ? plan->caps : 0;
	confinement->caps_bounding = caps;
	confinement->caps_effective = caps;
	if (plan->no_new_privs)
		confinement->flags |= CONFINE_NO_NEW_PRIVS;
	if (confine_filter(confine_arch_native(), plan->seccomp, &plan->seccomp_deny, &program,
		err) != 0)
		return -1;
	confinement->bpf = program.bpf;
	confinement->bpf_len = program.len;
	if (confinement->bpf_len > 0)
		confinement->flags |= CONFINE_SECCOMP;
	lowered_line(lowered, &plan->user_origin, "user %u:%u", plan->uid, plan->gid);
	caps_line(lowered, plan, caps);
	lowered_line(lowered, &plan->no_new_privs_origin, "no_new_privs %s",
	    plan->no_new_privs ? "on" : "off");
	lowered_line(lowered, &plan->seccomp_origin, "seccomp %s", profiles[plan->seccomp]);
	for (size_t i = 0; i < plan->seccomp_deny.len; i++)
		lowered_line(lowered, &plan->seccomp_deny_origin, "seccomp denies %s",
		    plan->seccomp_deny.v[i]);
	return 0;
}

static void
add_rule(struct lowered *lowered, uint32_t access, const char *path)
{
	struct confinement *confinement = &lowered->confinement;

	for (size_t i = 0; i < confinement->rules_len; i++) {
		if (strcmp(confinement->rules[i].path, path) == 0) {
			confinement->rules[i].access |= access;
			return;
		}
	}
	if (confinement->rules_len == CONFINE_RULES_MAX) {
		lowered->failed = true;
		return;
	}
	confinement->rules[confinement->rules_len++] = (struct confine_rule){
		.access = access,
		.path = path,
	};
}

/* Landlock grants beneath a path, so the writable places are added to a root that can be read.
 * /proc is not among them: what a command may write there it can do by system calls as well. */
static int
lower_rules(const struct plan *plan, const struct local_host *host, struct lowered *lowered,
    struct hl_err *err)
{
	struct confinement *confinement = &lowered->confinement;
	uint32_t all = CONFINE_READ | CONFINE_WRITE | CONFINE_EXEC;

	if (!plan->landlock)
		return 0;
	confinement->rules = calloc(CONFINE_RULES_MAX, sizeof(*confinement->rules));
	if (confinement->rules == NULL)
		return hl_err_oom(err);
	add_rule(lowered, plan->root == PLAN_ROOT_WRITABLE ? all : CONFINE_READ | CONFINE_EXEC,
	    "/");
	for (size_t i = 0; i < HL_ARRAY_SIZE(writable_always); i++)
		add_rule(lowered, CONFINE_READ | CONFINE_WRITE, writable_always[i]);
	for (size_t i = 0; i < confinement->ops_len; i++) {
		const struct confine_op *op = &confinement->ops[i];
		bool is_place = op->kind == CONFINE_OP_BIND || op->kind == CONFINE_OP_TMPFS;
		if (!is_place || (op->flags & CONFINE_OP_RDONLY) != 0)
			continue;
		add_rule(lowered,
		    op->flags & CONFINE_OP_NOEXEC ? all & ~(uint32_t)CONFINE_EXEC : all, op->dst);
	}
	confinement->flags |= CONFINE_LANDLOCK;
	/* Also to itself: a command of the default level may talk over its own loopback. */
	bool has_no_tcp =
	    plan->isolation == PLAN_ISOLATION_STRICT && plan->network == PLAN_NETWORK_NONE;
	if (has_no_tcp)
		confinement->flags |= CONFINE_NO_TCP;
	if (host->landlock_abi > 0)
		lowered_line(lowered, NULL, "Landlock ABI %d: %zu rules%s%s", host->landlock_abi,
		    confinement->rules_len, has_no_tcp && host->landlock_abi >= 4 ? ", no TCP" : "",
		    host->landlock_abi >= 6 ? ", no signal or abstract socket out" : "");
	return 0;
}

static int
lower_root(const struct plan *plan, const struct local_host *host, struct layout *layout,
    struct lowered *lowered, struct hl_err *err)
{
	add_host_root(layout, plan, host);
	add_base(layout, plan);
	add_devices(layout, plan);
	add_tmpfs(layout, plan);
	add_home(layout, plan);
	if (add_mounts(layout, plan, host, err) != 0)
		return -1;
	layout_add_parents(layout, lowered);
	if (layout_add_masks(layout, plan, lowered, err) != 0)
		return -1;
	if (layout->failed)
		return hl_err_set(err, HLI_03, "the new root has more than %d parts",
		    CONFINE_OPS_MAX);
	layout_sort(layout);
	struct confinement *confinement = &lowered->confinement;
	confinement->ops = calloc(layout->len, sizeof(*confinement->ops));
	if (confinement->ops == NULL)
		return hl_err_oom(err);
	for (size_t i = 0; i < layout->len; i++) {
		struct confine_op *op = &confinement->ops[confinement->ops_len++];
		*op = layout->items[i].op;
		/* Plan and host may be gone when the confinement is encoded. */
		op->src = op->src == NULL ? "" : lowered_string(lowered, op->src);
		op->dst = lowered_string(lowered, op->dst);
		item_line(lowered, &layout->items[i]);
	}
	return 0;
}

static void
lower_namespaces(const struct plan *plan, const struct local_host *host, struct lowered *lowered)
{
	bool has_net = plan->network != PLAN_NETWORK_HOST;

	lowered->confinement.flags |= CONFINE_MOUNTS | CONFINE_HOSTNAME | CONFINE_KEYRING |
				      CONFINE_CGROUP_NS | (has_net ? CONFINE_LOOPBACK : 0U);
	lowered->confinement.hostname = "sandbox";
	lowered_line(lowered, &plan->isolation_origin, "namespaces%s mount pid ipc uts cgroup",
	    host->uid == 0 ? "" : " user");
	lowered_line(lowered, &plan->network_origin, "network %s",
	    has_net ? "none but loopback" : "of the host");
}

/* The command is the caller's own, in the caller's world. A root caller's command is still another
 * user where the policy wants that; what it started ends with the launcher, since the runner is its
 * subreaper; and that is all. */
static int
lower_scrub(const struct plan *plan, const struct local_host *host, struct lowered *lowered,
    struct hl_err *err)
{
	if (check_user(plan, host, err) != 0)
		return -1;
	lowered_line(lowered, &plan->isolation_origin,
	    "no boundary: variables, user and limits only");
	lowered->confinement.uid = plan->uid;
	lowered->confinement.gid = plan->gid;
	if (plan->uid != host->uid || plan->gid != host->gid)
		lowered->confinement.flags |= CONFINE_IDENTITY;
	lowered_line(lowered, &plan->user_origin, "user %u:%u", plan->uid, plan->gid);
	limit_lines(lowered, plan);
	return lowered->failed ? hl_err_oom(err) : 0;
}

int
local_lower(const struct plan *plan, const struct local_host *host, struct lowered *ret_lowered,
    struct hl_err *err)
{
	struct layout layout = { 0 };

	ret_lowered->has_confinement = true;
	if (plan->isolation == PLAN_ISOLATION_SCRUB)
		return lower_scrub(plan, host, ret_lowered, err);
	lower_namespaces(plan, host, ret_lowered);
	int status = lower_root(plan, host, &layout, ret_lowered, err);
	free(layout.items);
	if (status != 0 || lower_process(plan, host, ret_lowered, err) != 0 ||
	    lower_rules(plan, host, ret_lowered, err) != 0)
		return -1;
	limit_lines(ret_lowered, plan);
	if (ret_lowered->failed)
		return hl_err_set(err, HLI_03, "the sandbox has more parts than fit");
	return 0;
}
