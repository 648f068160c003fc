/*
 * Policies inside writable mounts. What a sandbox can write must never be read as policy by the
 * next run. A policy below `.hermes/` is accepted and that folder becomes read-only in the sandbox;
 * directories between the mount and the folder become mount points of their own, because a mount
 * point cannot be renamed (rename(2): EBUSY) and so nothing can be put in its place. A policy
 * anywhere else in a writable mount is refused in enforce. fs.protect names further paths that stay
 * read-only in the same way, where they exist; a directory among them that does not is made where
 * its parent is.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/openat2.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

/* A writable directory of the host's: a mount, or a home that is one. Strings of the plan. */
struct shared {
	const char *src, *dst;
	bool is_exec, is_home;
};

/* A part of one that is to be a mount of its own. */
struct part {
	struct shared of;
	const char *path; /* beneath its source */
	bool is_writable;
	const struct hl_origin *origin;
};

/* plan->mounts[index]; false when nothing in it can be written. */
static bool
share_mount(const struct plan *plan, size_t index, struct shared *ret_shared)
{
	const struct plan_mount *mount = &plan->mounts[index];

	*ret_shared = (struct shared){ mount->src, mount->dst, mount->is_exec, false };
	return mount->is_writable && !mount->is_file && !mount->is_volume;
}

/* Whatever is in a home that is kept for this policy's commands alone, nobody else runs. */
static bool
share_home(const struct plan *plan, struct shared *ret_shared)
{
	*ret_shared = (struct shared){ plan->home.src, plan->home.path, true, true };
	return plan->home.kind == PLAN_HOME_BIND && plan->home.src != NULL;
}

static int
repeat(struct plan *plan, const struct part *part, struct hl_err *err)
{
	const struct shared *of = &part->of;
	HL_AUTO(plan_source_done) struct plan_source source = { 0 };

	if (plan_source_resolve(part->path, &source, err) != 0)
		return -1;
	if (strcmp(source.path, part->path) != 0)
		return hl_err_set(err, HLC_74, "'%s' is, or lies behind, a symbolic link",
		    part->path);
	struct plan_mount copy = {
		.dst = hl_path_normalise(of->dst, part->path + strlen(of->src) + 1),
		.is_writable = part->is_writable,
		.is_exec = of->is_exec,
		.is_file = !source.is_dir,
		.is_part = true,
		.dev = source.dev,
		.ino = source.ino,
		.origin = *part->origin,
	};
	if (copy.dst == NULL)
		return hl_err_oom(err);
	for (size_t i = 0; i < plan->mounts_len; i++) {
		if (strcmp(plan->mounts[i].dst, copy.dst) != 0)
			continue;
		/* Once a way to something, now the thing itself. */
		if (plan->mounts[i].is_part && !part->is_writable)
			plan->mounts[i].is_writable = false;
		free(copy.dst);
		return 0;
	}
	copy.src = HL_TAKE_PTR(source.path);
	return plan_mount_add(plan, &copy, err);
}

/* The thing read-only, and each directory on the way to it as it is. */
static int
protect(struct plan *plan, const struct part *thing, struct hl_err *err)
{
	HL_AUTO_FREE char *path = strdup(thing->path);

	if (path == NULL)
		return hl_err_oom(err);
	struct part part = *thing;
	part.path = path;
	part.is_writable = true;
	size_t start = strlen(thing->of.src) + 1;
	for (char *p = path + start; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		int rc = repeat(plan, &part, err);
		*p = '/';
		if (rc != 0)
			return -1;
	}
	return repeat(plan, thing, err);
}

static int
protect_folder(struct plan *plan, const struct shared *of, const char *folder, struct hl_err *err)
{
	const struct hl_origin origin = plan_built_in();
	const struct part part = { .of = *of, .path = folder, .origin = &origin };

	return protect(plan, &part, err);
}

/* A policy file that a writable mount shows. */
static int
judge_file(const struct fs_scope *scope, size_t index, const char *file, struct hl_err *err)
{
	struct plan *plan = scope->plan;
	const char *src = plan->mounts[index].src;
	struct shared of;

	(void)share_mount(plan, index, &of);
	HL_AUTO_FREE char *folder = strdup(file);
	if (folder == NULL)
		return hl_err_oom(err);
	char *mark = strstr(folder + strlen(src), "/.hermes/");
	if (mark != NULL) {
		mark[strlen("/.hermes")] = '\0';
		return protect_folder(plan, &of, folder, err);
	}
	if (!plan_is_enforced(scope->policy))
		return 0; /* told by plan_notes(); covered inside by plan->deny */
	hl_err_set(err, HLC_74, "policy '%.200s' lies in '%.200s', which the command could write",
	    file, src);
	return hl_err_help(err, "move it to .hermes/ there, or out of the mount");
}

/* Whether nobody inside can make it either. Whoever owns a directory can make it writable, and the
 * command may be that user. */
static bool
is_closed_already(const struct plan *plan, int parent, int error)
{
	struct stat st;
	bool is_owner = fstat(parent, &st) != 0 || st.st_uid == plan->uid;

	return error == EROFS || (!is_owner && (error == EACCES || error == EPERM));
}

/* To the owner of parent, who may then remove it. By descriptor: between mkdir and here a name can
 * come to mean something else, and root must hand over nothing but what it made. */
static int
hand_over(int parent, const char *name)
{
	struct stat above, st;
	HL_AUTO_FD int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(parent, &above) != 0 || fstat(fd, &st) != 0)
		return -1;
	if (st.st_uid != geteuid() || st.st_dev != above.st_dev || st.st_nlink > 2) {
		errno = EEXIST;
		return -1;
	}
	return fchown(fd, above.st_uid, above.st_gid);
}

/* Makes an empty directory where there is nothing, so that the command cannot make it and what
 * would be obeyed in it. It stays. 0: it is there; 1: not, and nobody inside can make it, or parent
 * is none. */
static int
close_directory(const struct fs_scope *scope, const char *folder, struct hl_err *err)
{
	const char *name = strrchr(folder, '/') + 1;
	struct stat st;

	if (lstat(folder, &st) == 0)
		return 0;
	if (!request_starts(scope->request))
		return 1; /* a question leaves everything as it was */
	HL_AUTO_FREE char *above = strndup(folder, (size_t)(name - folder));
	if (above == NULL)
		return hl_err_oom(err);
	/* The way to it can be the command's of a run before: it is followed through no link. */
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	HL_AUTO_FD int parent = (int)syscall(SYS_openat2, AT_FDCWD, above, &how, sizeof(how));
	if (parent < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return 1;
	if (parent >= 0 && mkdirat(parent, name, 0755) == 0) {
		if (geteuid() == 0 && hand_over(parent, name) != 0)
			return hl_err_sys(err, HLC_74, "cannot hand '%s' to its directory's owner",
			    folder);
		return 0;
	}
	if (parent >= 0 && errno == EEXIST)
		return 0;
	if (parent >= 0 && is_closed_already(scope->plan, parent, errno))
		return 1;
	hl_err_sys(err, HLC_74, "cannot make '%s', which the command must not", folder);
	return hl_err_help(err, "make that directory, or let the mount be read-only");
}

/* 0: it is there, and read-only inside; 1: nobody can make it. A later run knows by an empty one
 * that policies further down may be the command's (policy/lookup.c). */
static int
protect_hermes(const struct fs_scope *scope, const struct shared *of, struct hl_err *err)
{
	HL_AUTO_FREE char *folder = hl_path_normalise(of->src, ".hermes");

	if (folder == NULL)
		return hl_err_oom(err);
	int rc = close_directory(scope, folder, err);
	return rc == 0 ? protect_folder(scope->plan, of, folder, err) : rc;
}

/* `.hermes` of a writable mount, also when no policy came from it: a run that begins there looks
 * there. */
static int
protect_mounts(const struct fs_scope *scope, size_t mounts_len, struct hl_err *err)
{
	struct plan *plan = scope->plan;
	struct shared of;

	for (size_t i = 0; i < mounts_len; i++) {
		if (!share_mount(plan, i, &of))
			continue;
		int rc = protect_hermes(scope, &of, err);
		if (rc < 0)
			return -1;
		plan->mounts[i].lacks_folder = rc > 0 && !request_starts(scope->request);
	}
	return share_home(plan, &of) && protect_hermes(scope, &of, err) < 0 ? -1 : 0;
}

/* ------------------------------------------------------------------------------------------------
 * fs.protect
 */
/* 1: it shows path; 0: another mount has its place. */
static int
shows(const struct plan *plan, const struct shared *of, const char *path, struct hl_err *err)
{
	HL_AUTO_FREE char *dst = hl_path_normalise(of->dst, path + strlen(of->src) + 1);
	if (dst == NULL)
		return hl_err_oom(err);
	const struct plan_mount *best = plan_mount_at(plan, dst);
	if (of->is_home && (best == NULL || strlen(best->dst) < strlen(of->dst)))
		return 1;
	return best != NULL && best->is_writable && hl_path_is_beneath(path, best->src) &&
	       strcmp(path + strlen(best->src), dst + strlen(best->dst)) == 0;
}

/* 1: it is there; 0: it is not, and the command may make it. Whatever else stands in the way of
 * looking says nothing about what the command could do. */
static int
look_at(const char *path, struct stat *ret_st, const struct hl_origin *origin, struct hl_err *err)
{
	if (lstat(path, ret_st) == 0)
		return 1;
	if (errno == ENOENT || errno == ENOTDIR)
		return 0;
	/* A loop of links, which a command may have left, is a link like any other. */
	if (errno == ELOOP) {
		*ret_st = (struct stat){ .st_mode = S_IFLNK };
		return 1;
	}
	hl_err_sys(err, HLD_01, "fs.protect: cannot look at '%.200s'", path);
	err->where = origin->where;
	return -1;
}

/* Written with a slash behind it: where it is absent, it is made. */
static bool
is_directory(const char *text)
{
	return text[0] != '\0' && text[strlen(text) - 1] == '/';
}

/* Where a file is on the way to path, as .git is in a worktree, it stays as it is: a directory in
 * its place, or what it names, would be obeyed instead. */
static int
protect_file_above(struct plan *plan, const struct shared *of, const struct part *thing,
    struct hl_err *err)
{
	HL_AUTO_FREE char *path = strdup(thing->path);
	struct stat st;

	if (path == NULL)
		return hl_err_oom(err);
	for (char *slash;
	     (slash = strrchr(path, '/')) != NULL && (size_t)(slash - path) > strlen(of->src);) {
		*slash = '\0';
		if (lstat(path, &st) != 0)
			continue;
		struct part part = *thing;
		part.path = path;
		return S_ISREG(st.st_mode) ? protect(plan, &part, err) : 0;
	}
	return 0;
}

/* What is a link cannot be kept as it is: the link could be replaced. Refused when somebody asked
 * for it, left out of the built-in list. */
static int
protect_listed(const struct fs_scope *scope, const struct shared *of,
    const struct policy_item *item, bool is_asked, struct hl_err *err)
{
	struct plan *plan = scope->plan;
	struct stat st;
	HL_AUTO_FREE char *path = hl_path_normalise(of->src, item->text);

	if (path == NULL)
		return hl_err_oom(err);
	int found = look_at(path, &st, &item->origin, err);
	if (found == 0 && is_directory(item->text) && shows(plan, of, path, err) == 1) {
		if (close_directory(scope, path, err) < 0) {
			err->where = item->origin.where;
			return -1;
		}
		found = look_at(path, &st, &item->origin, err);
	}
	const struct part part = { .of = *of, .path = path, .origin = &item->origin };
	if (found == 0)
		return protect_file_above(plan, of, &part, err);
	if (found == 1)
		found = shows(plan, of, path, err);
	if (found != 1)
		return found;
	if (!S_ISLNK(st.st_mode)) {
		if (protect(plan, &part, err) == 0)
			return 0;
		if (err->code != HLC_74)
			return -1;
	}
	if (!is_asked) {
		*err = (struct hl_err){ 0 };
		return 0;
	}
	hl_err_set(err, HLD_01, "fs.protect: '%.200s' is, or lies behind, a symbolic link", path);
	err->where = item->origin.where;
	return hl_err_help(err, "name what the link leads to");
}

int
plan_protect_paths(const struct fs_scope *scope, struct hl_err *err)
{
	const struct policy_value *value = policy_get(scope->policy, POLICY_FS_PROTECT);
	struct plan *plan = scope->plan;
	size_t mounts_len = plan->mounts_len;
	struct shared of;

	for (size_t i = 0; i <= mounts_len; i++) {
		if (!(i < mounts_len ? share_mount(plan, i, &of) : share_home(plan, &of)))
			continue;
		for (size_t k = 0; k < value->items_len; k++)
			if (protect_listed(scope, &of, &value->items[k], value->is_explicit, err) !=
			    0)
				return -1;
	}
	return 0;
}

int
plan_protect_policies(const struct fs_scope *scope, struct hl_err *err)
{
	struct plan *plan = scope->plan;
	size_t mounts_len = plan->mounts_len;

	for (size_t i = 0; i < policy_layers_len(scope->policy); i++) {
		const struct policy_layer *layer = policy_layer_at(scope->policy, i);
		HL_AUTO_FREE char *file =
		    layer->file != NULL ? plan_path_settle(layer->file) : NULL;
		if (layer->file == NULL)
			continue;
		if (file == NULL)
			return hl_err_oom(err);
		if (plan->home.src != NULL && hl_path_is_beneath(file, plan->home.src))
			return hl_err_set(err, HLC_74, "policy '%.200s' lies in fs.home", file);
		for (size_t m = 0; m < mounts_len; m++) {
			const struct plan_mount *mount = &plan->mounts[m];
			if (!mount->is_volume && mount->is_writable &&
			    hl_path_is_beneath(file, mount->src) &&
			    judge_file(scope, m, file, err) != 0)
				return -1;
		}
	}
	return protect_mounts(scope, mounts_len, err);
}
