/*
 * The file system of the sandbox: root, working directory, mounts, tmpfs, and what is covered.
 * Every source is resolved and judged here, before a backend sees it; a backend only repeats what
 * stands in the plan. Mounts are sorted by depth of their place, so that the order in a file never
 * decides what is seen: the deeper one wins.
 */
#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

static const char volume_name_bytes[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

static size_t
depth_of(const char *path)
{
	size_t depth = 0;

	for (const char *p = path; *p != '\0'; p++)
		depth += *p == '/' && p[1] != '\0';
	return depth;
}

static int
compare_places(const char *a, const char *b)
{
	size_t left = depth_of(a);
	size_t right = depth_of(b);

	return left != right ? (left < right ? -1 : 1) : strcmp(a, b);
}

static int
compare_mounts(const void *a, const void *b)
{
	const struct plan_mount *left = a;
	const struct plan_mount *right = b;

	return compare_places(left->dst, right->dst);
}

static int
compare_tmpfs(const void *a, const void *b)
{
	const struct plan_tmpfs *left = a;
	const struct plan_tmpfs *right = b;

	return compare_places(left->dst, right->dst);
}

int
plan_mount_add(struct plan *plan, struct plan_mount *mount, struct hl_err *err)
{
	struct plan_mount *mounts = NULL;

	if (mount->src == NULL || mount->dst == NULL)
		hl_err_oom(err);
	else if (plan->mounts_len >= PLAN_MOUNTS_MAX)
		hl_err_set(err, HLI_03, "more than %d mounts", PLAN_MOUNTS_MAX);
	else if ((mounts = reallocarray(plan->mounts, plan->mounts_len + 1, sizeof(*mounts))) ==
		 NULL)
		hl_err_oom(err);
	if (mounts == NULL) {
		free(mount->src);
		free(mount->dst);
		return -1;
	}
	mounts[plan->mounts_len++] = *mount;
	plan->mounts = mounts;
	return 0;
}

int
plan_tmpfs_add(struct plan *plan, struct plan_tmpfs *tmpfs, struct hl_err *err)
{
	struct plan_tmpfs *items =
	    tmpfs->dst == NULL || plan->tmpfs_len >= PLAN_MOUNTS_MAX
		? NULL
		: reallocarray(plan->tmpfs, plan->tmpfs_len + 1, sizeof(*items));
	if (items == NULL) {
		free(tmpfs->dst);
		return hl_err_oom(err);
	}
	items[plan->tmpfs_len++] = *tmpfs;
	plan->tmpfs = items;
	return 0;
}

const struct plan_mount *
plan_mount_at(const struct plan *plan, const char *path)
{
	const struct plan_mount *best = NULL;

	for (size_t i = 0; i < plan->mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		if (!mount->is_volume && hl_path_is_beneath(path, mount->dst) &&
		    (best == NULL || strlen(mount->dst) > strlen(best->dst)))
			best = mount;
	}
	return best;
}

/* ------------------------------------------------------------------------------------------------
 * Judging a source and a place
 */
int
plan_source_allowed(const struct fs_scope *scope, const char *what, const char *asked,
    const struct plan_source *source, struct hl_err *err)
{
	const struct deny_entry *entry;

	if (strcmp(source->path, scope->deny.home) == 0) {
		hl_err_set(err, HLC_71, "%s '%s' is a home directory as a whole", what, asked);
		return hl_err_help(err, "name the directory in it that the command needs");
	}
	entry = deny_list_forbids_name(&scope->deny, asked);
	if (entry == NULL)
		entry = deny_list_forbids(&scope->deny, source);
	if (entry == NULL)
		return 0;
	bool is_floor =
	    entry->class == DENY_FLOOR || entry->class == DENY_SOCKET || entry->class == DENY_KEEP;
	bool is_inside =
	    hl_path_is_beneath(source->path, entry->path) || hl_path_is_beneath(asked, entry->path);
	hl_err_set(err, is_floor ? HLC_70 : HLC_72, "%s '%s' %s '%s': %s", what, asked,
	    strcmp(source->path, entry->path) == 0 ? "is"
	    : is_inside                            ? "lies in"
						   : "contains",
	    entry->path, entry->reason);
	err->where = entry->origin.where;
	return hl_err_help(err, "%s",
	    is_floor ? "no policy can allow this; name a directory that does not hold it"
		     : "name another directory; what fs.deny covers is no source of a mount");
}

/* A place inside, for mount, tmpfs or working directory. */
static int
place_expand(const struct fs_scope *scope, const char *text, char **ret_dst, struct hl_err *err)
{
	static const char *const kernel[] = { "/proc", "/sys", "/dev" };

	HL_AUTO_FREE char *dst = NULL;
	if (plan_text_expand(text, scope->host, scope->workdir, &dst, err) != 0)
		return -1;
	if (!hl_path_is_normal(dst) || strcmp(dst, "/") == 0) {
		hl_err_set(err, HLU_11, "'%.200s' is no place for a mount", dst);
		return hl_err_help(err,
		    "write an absolute path without '.', '..' or '//', not '/'");
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(kernel); i++)
		if (hl_path_is_beneath(dst, kernel[i]))
			return hl_err_set(err, HLC_70,
			    "'%.200s' is no place for a mount: '%s' is made by the launcher", dst,
			    kernel[i]);
	*ret_dst = HL_TAKE_PTR(dst);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The working directory
 */
/* Directories that are never shared as a whole, whoever asks. */
static const char *const broad_directories[] = {
	"/",
	"/bin",
	"/boot",
	"/etc",
	"/home",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/opt",
	"/root",
	"/run",
	"/sbin",
	"/srv",
	"/tmp",
	"/usr",
	"/var",
	"/var/lib",
	"/var/tmp",
};

/* By name, and by inode, because /bin may be a link and /home a bind of something else. */
static bool
is_broad(const char *path, const struct plan_source *source)
{
	struct stat st;

	for (size_t i = 0; i < HL_ARRAY_SIZE(broad_directories); i++) {
		const char *broad = broad_directories[i];
		if (strcmp(path, broad) == 0 || strcmp(source->path, broad) == 0)
			return true;
		if (stat(broad, &st) == 0 && st.st_dev == source->dev && st.st_ino == source->ino)
			return true;
	}
	return false;
}

int
plan_workdir(struct fs_scope *scope, struct hl_err *err)
{
	const struct policy_value *value = policy_get(scope->policy, POLICY_FS_WORKDIR);
	const struct policy_mount *asked = &value->items[0].mount;
	bool has_path = asked->src != NULL && asked->src[0] != '\0';
	bool has_at = asked->dst != NULL && asked->dst[0] != '\0';
	HL_AUTO(plan_source_done) struct plan_source source = { 0 };
	HL_AUTO_FREE char *text = NULL;

	if (plan_text_expand(has_path ? asked->src : ".", scope->host, NULL, &text, err) != 0)
		return -1;
	HL_AUTO_FREE char *path = hl_path_normalise(scope->host->cwd, text);
	if (path == NULL)
		return hl_err_oom(err);
	if (plan_source_resolve(path, &source, err) != 0)
		return hl_err_wrap(err, "working directory");
	if (!source.is_dir)
		return hl_err_set(err, HLU_10, "working directory '%s' is not a directory", path);
	/* Where nothing is shared, nothing is shared as a whole. */
	bool is_shared = !plan_is_scrub(scope->plan);
	if (is_shared && is_broad(path, &source)) {
		hl_err_set(err, HLC_71, "working directory '%s' is too broad to share as a whole",
		    source.path);
		return hl_err_help(err,
		    "change to the directory of the project, or set fs.workdir.path");
	}
	if (is_shared && plan_source_allowed(scope, "working directory", path, &source, err) != 0)
		return -1;
	struct plan_mount mount = {
		.is_writable = asked->access == POLICY_ACCESS_RW,
		.is_exec = true,
		.is_workdir = true,
		.dev = source.dev,
		.ino = source.ino,
		.origin = value->origin,
	};
	if (has_at && place_expand(scope, asked->dst, &mount.dst, err) != 0)
		return hl_err_wrap(err, "fs.workdir.at");
	if (!has_at)
		mount.dst = strdup(plan_is_local(scope->plan) ? source.path : "/workspace");
	mount.src = HL_TAKE_PTR(source.path);
	scope->workdir = mount.src;
	return plan_mount_add(scope->plan, &mount, err);
}

/* ------------------------------------------------------------------------------------------------
 * Mounts and tmpfs
 */
static int
add_volume(const struct fs_scope *scope, const struct policy_item *item, struct hl_err *err)
{
	const char *name = item->mount.src;
	struct plan_mount mount = {
		.is_writable = item->mount.access == POLICY_ACCESS_RW,
		.is_exec = item->mount.exec,
		.is_volume = true,
		.origin = item->origin,
	};

	if (plan_is_local(scope->plan)) {
		hl_err_set(err, HLD_21,
		    "a volume ('%.200s') is not offered on local, which has no engine to keep it",
		    name);
		return hl_err_help(err, "name the directory: kind: bind, with its path as src");
	}
	if (name[0] == '\0' || name[0] == '.' || name[0] == '-' ||
	    name[strspn(name, volume_name_bytes)] != '\0')
		return hl_err_set(err, HLU_11, "'%.200s' is no name of a volume", name);
	if (place_expand(scope, item->mount.dst, &mount.dst, err) != 0)
		return -1;
	mount.src = strdup(name);
	return plan_mount_add(scope->plan, &mount, err);
}

/* A file cannot be put over a directory, nor the reverse: on this host's own root that shows now.
 */
static int
check_kind(const struct fs_scope *scope, const struct plan_mount *mount, struct hl_err *err)
{
	HL_AUTO(plan_source_done) struct plan_source place = { 0 };
	struct hl_err ignored;

	if (!plan_is_local(scope->plan) || plan_source_resolve(mount->dst, &place, &ignored) != 0)
		return 0;
	if (place.is_dir != mount->is_file)
		return 0;
	return hl_err_set(err, HLU_10, "'%.200s' is a %s, but '%.200s' is a %s", mount->src,
	    mount->is_file ? "file" : "directory", mount->dst, place.is_dir ? "directory" : "file");
}

/* The name of the outermost directory that the policy's bound holds mount in: heap string, the
 * mount's own source when it is a member of the bound itself. */
static char *
bound_of(const struct policy *policy, const struct policy_mount *mount)
{
	HL_AUTO_FREE char *src = strdup(mount->src);
	HL_AUTO_FREE char *dst = strdup(mount->dst);
	char *outermost = strdup(mount->src);

	while (src != NULL && dst != NULL && outermost != NULL) {
		struct policy_mount above = *mount;
		struct policy_judgement judgement;
		struct hl_err ignored;
		char *src_end = strrchr(src, '/');
		char *dst_end = strrchr(dst, '/');
		if (src_end == NULL || dst_end == NULL || src_end == src || dst_end == dst ||
		    strcmp(src_end, dst_end) != 0)
			return outermost;
		*src_end = *dst_end = '\0';
		above.src = src;
		above.dst = dst;
		if (policy_judge_mount(policy, &above, &judgement, &ignored) == 0 &&
		    judgement.verdict != POLICY_LOOSER)
			outermost[strlen(src)] = '\0';
	}
	free(outermost);
	return NULL;
}

/* What lies in a directory that a bound allows is allowed; what a symbolic link in it leads to is
 * not: whoever may write there, the command of an earlier run for one, could make such a link. */
static int
check_bound(const struct fs_scope *scope, const struct policy_mount *mount,
    const struct plan_source *source, struct hl_err *err)
{
	const struct policy_value *value = policy_get(scope->policy, POLICY_FS_MOUNTS);
	HL_AUTO(plan_source_done) struct plan_source bound = { 0 };
	HL_AUTO_FREE char *text = NULL;

	if (!value->is_bounded)
		return 0;
	HL_AUTO_FREE char *name = bound_of(scope->policy, mount);
	if (name == NULL)
		return hl_err_oom(err);
	if (strcmp(name, mount->src) == 0)
		return 0;
	if (plan_text_expand(name, scope->host, scope->workdir, &text, err) != 0 ||
	    plan_source_resolve(text, &bound, err) != 0)
		return -1;
	if (hl_path_is_beneath(source->path, bound.path))
		return 0;
	hl_err_set(err, HLC_20, "'%.150s' leads to '%.150s', out of '%.100s' that fs.mounts allows",
	    mount->src, source->path, name);
	err->where = value->bound_origin.where;
	return hl_err_help(err,
	    "remove the symbolic link, or let the policy allow what it leads to");
}

static int
add_bind(const struct fs_scope *scope, const struct policy_item *item, struct hl_err *err)
{
	HL_AUTO(plan_source_done) struct plan_source source = { 0 };
	HL_AUTO_FREE char *text = NULL;

	if (plan_text_expand(item->mount.src, scope->host, scope->workdir, &text, err) != 0)
		return -1;
	size_t len = strlen(text);
	HL_AUTO_FREE char *path = hl_path_normalise(scope->host->cwd, text);
	if (path == NULL)
		return hl_err_oom(err);
	if (plan_source_resolve(path, &source, err) != 0) {
		HL_AUTO(plan_source_done)
		struct plan_source name = { .path = plan_path_settle(path) };
		struct hl_err refusal = { 0 };
		/* An engine that is not running now may run a moment later. */
		if (name.path != NULL &&
		    plan_source_allowed(scope, "mount source", path, &name, &refusal) != 0) {
			*err = refusal;
			return -1;
		}
		if (!item->mount.is_required &&
		    (err->sys_errno == ENOENT || err->sys_errno == ENOTDIR))
			return 0;
		return hl_err_help(err, "a missing source is never created; make it, or write "
					"'required: false' to go without it");
	}
	if (len > 1 && text[len - 1] == '/' && !source.is_dir)
		return hl_err_set(err, HLU_10, "'%s' is not a directory", text);
	if (plan_source_allowed(scope, "mount source", path, &source, err) != 0 ||
	    check_bound(scope, &item->mount, &source, err) != 0)
		return -1;
	struct plan_mount mount = {
		.is_writable = item->mount.access == POLICY_ACCESS_RW,
		.is_exec = item->mount.exec,
		.is_file = !source.is_dir,
		.dev = source.dev,
		.ino = source.ino,
		.origin = item->origin,
	};
	if (place_expand(scope, item->mount.dst, &mount.dst, err) != 0)
		return -1;
	mount.src = HL_TAKE_PTR(source.path);
	if (plan_mount_add(scope->plan, &mount, err) != 0)
		return -1;
	return check_kind(scope, &scope->plan->mounts[scope->plan->mounts_len - 1], err);
}

static int
add_mounts(const struct fs_scope *scope, struct hl_err *err)
{
	const struct policy_value *value = policy_get(scope->policy, POLICY_FS_MOUNTS);

	for (size_t i = 0; i < value->items_len; i++) {
		const struct policy_item *item = &value->items[i];
		int rc = item->mount.is_volume ? add_volume(scope, item, err)
					       : add_bind(scope, item, err);
		if (rc != 0) {
			if (err->where.file == NULL)
				err->where = item->origin.where;
			return hl_err_wrap(err, "mount at '%.100s'", item->mount.dst);
		}
	}
	return 0;
}

static bool
is_mount_place(const struct plan *plan, const char *dst)
{
	for (size_t i = 0; i < plan->mounts_len; i++)
		if (strcmp(plan->mounts[i].dst, dst) == 0)
			return true;
	return false;
}

static int
add_tmpfs(const struct fs_scope *scope, struct hl_err *err)
{
	const struct policy_value *value = policy_get(scope->policy, POLICY_FS_TMPFS);

	for (size_t i = 0; i < value->items_len; i++) {
		const struct policy_item *item = &value->items[i];
		struct plan_tmpfs tmpfs = {
			.size = item->tmpfs.size,
			.is_exec = item->tmpfs.exec,
			.mode = item->tmpfs.mode,
			.origin = item->origin,
		};
		if (place_expand(scope, item->tmpfs.dst, &tmpfs.dst, err) != 0)
			return hl_err_wrap(err, "fs.tmpfs");
		/* Nobody asked for the default ones, nor a level's: what a mount puts there is
		 * meant. */
		bool is_default = !value->is_explicit || strcmp(item->origin.layer, "level") == 0;
		if (is_default && is_mount_place(scope->plan, tmpfs.dst)) {
			free(tmpfs.dst);
			continue;
		}
		if (plan_tmpfs_add(scope->plan, &tmpfs, err) != 0)
			return -1;
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The whole
 */
static int
same_place(const char *dst, const struct hl_origin *origin, struct hl_err *err)
{
	hl_err_set(err, HLC_73, "two mounts on one place: '%.200s'", dst);
	err->where = origin->where;
	return hl_err_help(err, "mounts, fs.tmpfs, fs.home and the working directory each need a "
				"place of their own; one inside another is fine");
}

static int
check_places(const struct plan *plan, struct hl_err *err)
{
	const char *home = plan->home.path;

	for (size_t i = 0; i < plan->mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		if ((i > 0 && strcmp(mount->dst, plan->mounts[i - 1].dst) == 0) ||
		    strcmp(mount->dst, home) == 0)
			return same_place(mount->dst, &mount->origin, err);
	}
	for (size_t i = 0; i < plan->tmpfs_len; i++) {
		const struct plan_tmpfs *tmpfs = &plan->tmpfs[i];
		if ((i > 0 && strcmp(tmpfs->dst, plan->tmpfs[i - 1].dst) == 0) ||
		    strcmp(tmpfs->dst, home) == 0 || is_mount_place(plan, tmpfs->dst))
			return same_place(tmpfs->dst, &tmpfs->origin, err);
	}
	return 0;
}

static void
sort_places(struct plan *plan)
{
	if (plan->mounts_len > 1)
		qsort(plan->mounts, plan->mounts_len, sizeof(*plan->mounts), compare_mounts);
	if (plan->tmpfs_len > 1)
		qsort(plan->tmpfs, plan->tmpfs_len, sizeof(*plan->tmpfs), compare_tmpfs);
}

static int
build(struct fs_scope *scope, struct hl_err *err)
{
	struct plan *plan = scope->plan;

	if (deny_list_build(scope->policy, scope->host, plan, &scope->deny, err) != 0 ||
	    plan_workdir(scope, err) != 0)
		return -1;
	if (plan_is_scrub(plan))
		return plan_keep(scope, err) != 0 || plan_home(scope, err) != 0
			   ? -1
			   : plan_cwd(scope, err);
	if (add_mounts(scope, err) != 0 || add_tmpfs(scope, err) != 0 ||
	    plan_devices(scope, err) != 0 || plan_keep(scope, err) != 0 ||
	    plan_home(scope, err) != 0)
		return -1;
	sort_places(plan);
	if (check_places(plan, err) != 0 || plan_protect_policies(scope, err) != 0 ||
	    plan_protect_paths(scope, err) != 0)
		return -1;
	sort_places(plan);
	if (deny_list_apply(&scope->deny, plan, err) != 0)
		return -1;
	sort_places(plan);
	return plan_cwd(scope, err);
}

int
plan_fs(const struct policy *policy, const struct request *request, const struct host *host,
    struct plan *plan, struct hl_err *err)
{
	const struct policy_value *root = policy_get(policy, POLICY_FS_ROOT);
	const struct policy_value *deny = policy_get(policy, POLICY_FS_DENY);
	struct fs_scope scope = {
		.policy = policy,
		.request = request,
		.host = host,
		.plan = plan,
	};

	plan->root = (enum plan_root)root->number;
	plan->root_origin = root->origin;
	plan->deny_origin = deny->is_explicit ? deny->origin : plan_built_in();
	hl_strv_init(&plan->deny, PLAN_DENY_MAX);
	int rc = build(&scope, err);
	deny_list_done(&scope.deny);
	return rc;
}
