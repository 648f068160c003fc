/*
 * Policies inside writable mounts. What a sandbox can write must never be read as policy by the
 * next run. A policy below `.hermes/` is accepted and that folder becomes read-only in the sandbox;
 * directories between the mount and the folder become mount points of their own, because a mount
 * point cannot be renamed (rename(2): EBUSY) and so nothing can be put in its place. A policy
 * anywhere else in a writable mount is refused in enforce.
 */
#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

/* Repeats directory `below` (a path beneath mount->src) as a mount of its own. */
static int
repeat(struct plan *plan, size_t index, const char *below, bool is_writable, struct hl_err *err)
{
	const struct plan_mount *mount = &plan->mounts[index];
	HL_AUTO(plan_source_done) struct plan_source source = { 0 };

	if (plan_source_resolve(below, &source, err) != 0)
		return -1;
	if (!source.is_dir || strcmp(source.path, below) != 0)
		return hl_err_set(err, HLC_74, "'%s' must be a directory, not a symbolic link",
		    below);
	struct plan_mount copy = {
		.dst = hl_path_normalise(mount->dst, below + strlen(mount->src) + 1),
		.is_writable = is_writable,
		.is_exec = mount->is_exec,
		.dev = source.dev,
		.ino = source.ino,
		.origin = plan_built_in(),
	};
	if (copy.dst == NULL)
		return hl_err_oom(err);
	for (size_t i = 0; i < plan->mounts_len; i++) {
		if (strcmp(plan->mounts[i].dst, copy.dst) != 0)
			continue;
		free(copy.dst);
		return 0;
	}
	copy.src = HL_TAKE_PTR(source.path);
	return plan_mount_add(plan, &copy, err);
}

/* folder: ".../.hermes", beneath the source of the writable mount. */
static int
protect_folder(struct plan *plan, size_t index, const char *folder, struct hl_err *err)
{
	HL_AUTO_FREE char *part = strdup(folder);

	if (part == NULL)
		return hl_err_oom(err);
	size_t start = strlen(plan->mounts[index].src) + 1;
	for (char *p = part + start; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		int rc = repeat(plan, index, part, true, err);
		*p = '/';
		if (rc != 0)
			return -1;
	}
	return repeat(plan, index, folder, false, err);
}

/* A policy file that a writable mount shows. */
static int
judge_file(const struct fs_scope *scope, size_t index, const char *file, struct hl_err *err)
{
	struct plan *plan = scope->plan;
	const char *src = plan->mounts[index].src;

	HL_AUTO_FREE char *folder = strdup(file);
	if (folder == NULL)
		return hl_err_oom(err);
	char *mark = strstr(folder + strlen(src), "/.hermes/");
	if (mark != NULL) {
		mark[strlen("/.hermes")] = '\0';
		return protect_folder(plan, index, folder, err);
	}
	if (!plan_is_enforced(scope->policy))
		return 0; /* told by plan_notes(); covered inside by plan->deny */
	hl_err_set(err, HLC_74, "policy '%.200s' lies in '%.200s', which the command could write",
	    file, src);
	return hl_err_help(err, "move it to .hermes/ there, or out of the mount");
}

/* `.hermes` of a writable mount, also when no policy came from it: a run that begins there looks
 * there. */
static int
protect_mounts(struct plan *plan, size_t mounts_len, struct hl_err *err)
{
	struct stat st;

	for (size_t i = 0; i < mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		if (!mount->is_writable || mount->is_file || mount->is_volume)
			continue;
		HL_AUTO_FREE char *folder = hl_path_normalise(mount->src, ".hermes");
		if (folder == NULL)
			return hl_err_oom(err);
		if (lstat(folder, &st) == 0 && protect_folder(plan, i, folder, err) != 0)
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
	return protect_mounts(plan, mounts_len, err);
}
