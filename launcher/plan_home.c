/*
 * HOME inside, and the directory a command starts in.
 *
 * HOME's name: on local it is the account's own, because programs look it up in the host's passwd
 * file and would find it there; a fresh tmpfs lies over it. In a container it is /root for uid 0,
 * as every image's passwd file says, and for all others /home/hermes: a name that no image has, so
 * that nothing of the image is covered and HOME is the same in every image.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

static bool
is_tmpfs_place(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->tmpfs_len; i++)
		if (strcmp(plan->tmpfs[i].dst, path) == 0)
			return true;
	return false;
}

/* An account without a usable home ("/", "/nonexistent"): the host's root has no place to mount on,
 * a tmpfs of ours has. */
static char *
local_home(const struct fs_scope *scope)
{
	struct stat st;
	const char *home = scope->deny.home;

	if (plan_is_scrub(scope->plan))
		return strdup(home);
	if (hl_path_is_normal(home) && strcmp(home, "/") != 0 && stat(home, &st) == 0 &&
	    S_ISDIR(st.st_mode))
		return strdup(home);
	return strdup(is_tmpfs_place(scope->plan, "/tmp") ? "/tmp/home" : home);
}

static char *
container_home(const struct plan *plan)
{
	bool is_root = plan->user_kind == PLAN_USER_IMAGE ? plan->allow_root : plan->uid == 0;

	return strdup(is_root ? "/root" : "/home/hermes");
}

/* Only where something starts: a question leaves nothing behind. */
static int
make_persistent(const char *path, const struct plan *plan, struct hl_err *err)
{
	if (hl_mkdirs(path, 0700, err) != 0)
		return hl_err_wrap(err, "fs.home");
	HL_AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return hl_err_sys(err, HLU_10, "cannot use '%s' for fs.home", path);
	if (geteuid() == 0 && plan->user_kind != PLAN_USER_IMAGE &&
	    fchown(fd, plan->uid, plan->gid) != 0)
		return hl_err_sys(err, HLU_10, "cannot hand '%s' to the command's user", path);
	return 0;
}

/* One home per profile. */
static int
persistent_home(const struct fs_scope *scope, struct hl_err *err)
{
	struct plan *plan = scope->plan;
	char digest[HL_SHA256_HEX_SIZE];
	struct hl_buf path;
	struct stat st;

	if (plan_profile(scope, digest, err) != 0)
		return -1;
	hl_buf_init(&path, PATH_MAX);
	hl_buf_putf(&path, "%s/homes/%.32s", scope->host->state_dir, digest);
	plan->home.src = hl_buf_take(&path);
	if (plan->home.src == NULL)
		return hl_err_oom(err);
	if (request_starts(scope->request) && make_persistent(plan->home.src, plan, err) != 0)
		return -1;
	if (stat(plan->home.src, &st) == 0) {
		plan->home.dev = st.st_dev;
		plan->home.ino = st.st_ino;
	}
	return 0;
}

static int
bound_home(const struct fs_scope *scope, const char *text, struct hl_err *err)
{
	HL_AUTO(plan_source_done) struct plan_source source = { 0 };
	HL_AUTO_FREE char *expanded = NULL;
	struct plan_home *home = &scope->plan->home;

	if (plan_text_expand(text != NULL ? text : "", scope->host, scope->workdir, &expanded,
		err) != 0)
		return -1;
	HL_AUTO_FREE char *path = hl_path_normalise(scope->host->cwd, expanded);
	if (path == NULL)
		return hl_err_oom(err);
	if (plan_source_resolve(path, &source, err) != 0)
		return hl_err_wrap(err, "fs.home");
	if (!source.is_dir)
		return hl_err_set(err, HLU_10, "fs.home: '%s' is not a directory", path);
	if (plan_source_allowed(scope, "fs.home", path, &source, err) != 0)
		return -1;
	home->dev = source.dev;
	home->ino = source.ino;
	home->src = HL_TAKE_PTR(source.path);
	return 0;
}

int
plan_home(const struct fs_scope *scope, struct hl_err *err)
{
	const struct policy_value *value = policy_get(scope->policy, POLICY_FS_HOME);
	const struct policy_home_value *asked = &value->items[0].home;
	struct plan *plan = scope->plan;

	plan->home.kind = (enum plan_home_kind)asked->kind;
	plan->home.origin = value->origin;
	plan->home.path = plan_is_local(plan) ? local_home(scope) : container_home(plan);
	if (plan->home.path == NULL)
		return hl_err_oom(err);
	switch (plan->home.kind) {
	case PLAN_HOME_TMPFS:
		plan->home.size = asked->size == POLICY_UNLIMITED ? 0 : asked->size;
		return 0;
	case PLAN_HOME_PERSIST:
		return persistent_home(scope, err);
	case PLAN_HOME_BIND:
		return bound_home(scope, asked->src, err);
	}
	return hl_err_set(err, HLI_02, "fs.home has no such kind");
}

/* ------------------------------------------------------------------------------------------------
 * Where the command starts
 */
static int
bad_cwd(struct hl_err *err, const char *cwd, const char *why)
{
	hl_err_set(err, HLU_12, "the command cannot start in '%.200s': %s", cwd, why);
	return hl_err_help(err, "name an existing directory inside the working directory or a "
				"mount; nothing is created");
}

/* The directory behind an inside path that lies in a mount: it must exist and must not leave the
 * mount by a symbolic link. */
static int
check_mounted(const struct plan_mount *mount, const char *cwd, struct hl_err *err)
{
	HL_AUTO(plan_source_done) struct plan_source source = { 0 };
	const char *rest = cwd + strlen(mount->dst);

	HL_AUTO_FREE char *path = hl_path_normalise(mount->src, *rest == '/' ? rest + 1 : ".");
	if (path == NULL)
		return hl_err_oom(err);
	if (plan_source_resolve(path, &source, err) != 0)
		return bad_cwd(err, cwd, "it does not exist");
	if (!hl_path_is_beneath(source.path, mount->src))
		return bad_cwd(err, cwd, "a symbolic link leads out of the mount");
	return source.is_dir ? 0 : bad_cwd(err, cwd, "it is not a directory");
}

static bool
is_own_place(const struct plan *plan, const char *cwd)
{
	return strcmp(cwd, plan->home.path) == 0 || is_tmpfs_place(plan, cwd);
}

/* Deepest of home and tmpfs that holds cwd is below, and so hides, the host's directory. */
static bool
is_hidden(const struct plan *plan, const char *cwd)
{
	for (size_t i = 0; i < plan->tmpfs_len; i++)
		if (hl_path_is_beneath(cwd, plan->tmpfs[i].dst))
			return true;
	return hl_path_is_beneath(cwd, plan->home.path);
}

static int
check_host(const struct plan *plan, const char *cwd, struct hl_err *err)
{
	HL_AUTO(plan_source_done) struct plan_source source = { 0 };

	if (plan_source_resolve(cwd, &source, err) != 0 || !source.is_dir)
		return bad_cwd(err, cwd, "there is no such directory");
	for (size_t i = 0; i < plan->deny.len; i++)
		if (hl_path_is_beneath(source.path, plan->deny.v[i]))
			return bad_cwd(err, cwd, "fs.deny covers it");
	return 0;
}

/* A directory of the root file system. In a container only the runner's chdir can tell. */
static int
check_root(const struct plan *plan, const char *cwd, struct hl_err *err)
{
	if (is_own_place(plan, cwd))
		return 0;
	if (is_hidden(plan, cwd))
		return bad_cwd(err, cwd, "a private tmpfs lies over it");
	return plan_is_local(plan) ? check_host(plan, cwd, err) : 0;
}

static int
check_cwd(const struct plan *plan, const char *cwd, struct hl_err *err)
{
	static const char *const kernel[] = { "/proc", "/sys", "/dev" };

	/* CVE-2024-21626: a working directory below /proc can be a door to the host. */
	for (size_t i = 0; i < HL_ARRAY_SIZE(kernel); i++)
		if (hl_path_is_beneath(cwd, kernel[i]))
			return hl_err_set(err, HLC_70,
			    "the command cannot start in '%.200s': below '%s'", cwd, kernel[i]);
	/* Without a boundary nothing lies over anything. */
	if (plan_is_scrub(plan))
		return check_host(plan, cwd, err);
	const struct plan_mount *mount = plan_mount_at(plan, cwd);
	if (mount == NULL)
		return check_root(plan, cwd, err);
	if (check_mounted(mount, cwd, err) != 0)
		return -1;
	HL_AUTO_FREE char *path = hl_path_normalise(mount->src,
	    cwd[strlen(mount->dst)] == '/' ? cwd + strlen(mount->dst) + 1 : ".");
	for (size_t i = 0; path != NULL && i < plan->deny.len; i++)
		if (hl_path_is_beneath(path, plan->deny.v[i]))
			return bad_cwd(err, cwd, "fs.deny covers it");
	return path != NULL ? 0 : hl_err_oom(err);
}

static const struct plan_mount *
workdir_of(const struct plan *plan)
{
	for (size_t i = 0; i < plan->mounts_len; i++)
		if (plan->mounts[i].is_workdir)
			return &plan->mounts[i];
	return NULL;
}

int
plan_cwd(const struct fs_scope *scope, struct hl_err *err)
{
	const char *asked = scope->request->cwd.text;
	const struct plan_mount *workdir = workdir_of(scope->plan);
	struct plan *plan = scope->plan;

	HL_BUG_ON(workdir == NULL);
	/* Where the caller stands inside the working directory, the command stands too. */
	const char *rest = hl_path_is_beneath(scope->host->cwd, workdir->src)
			       ? scope->host->cwd + strlen(workdir->src)
			       : "";
	HL_AUTO_FREE char *start = hl_path_normalise(workdir->dst, *rest == '/' ? rest + 1 : ".");
	if (start == NULL)
		return hl_err_oom(err);
	plan->cwd_origin = workdir->origin;
	if (asked == NULL) {
		plan->cwd = HL_TAKE_PTR(start);
		return check_cwd(plan, plan->cwd, err);
	}
	if (asked[0] == '/' && !hl_path_is_normal(asked))
		return bad_cwd(err, asked,
		    "write it without '.', '..', '//' and a slash at the end");
	plan->cwd = hl_path_normalise(start, asked);
	if (plan->cwd == NULL)
		return hl_err_oom(err);
	plan->cwd_origin = (struct hl_origin){ .layer = "caller", .where.file = "--cwd" };
	return check_cwd(plan, plan->cwd, err);
}
