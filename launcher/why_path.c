/*
 * policy why --path: the plan is made as for a run, and the path is looked for in it: the deepest
 * mount, tmpfs or home that holds it, and what is covered in there.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "launcher/plan_parts.h"
#include "launcher/why.h"

#include "base/banned.h"

/* What holds the path inside. */
struct holder {
	const char *dst; /* where it begins */
	const char *src; /* on this host, NULL = nothing of this host */
	const char *what;
	bool is_writable;
	bool is_kept;    /* the launcher's own, from run to run */
	bool is_kernels; /* what is in there, and what of it can be written, the kernel says */
	struct hl_origin origin;
};

static void
take_deeper(struct holder *holder, const struct holder *other, const char *path)
{
	if (hl_path_is_beneath(path, other->dst) && strlen(other->dst) >= strlen(holder->dst))
		*holder = *other;
}

static struct holder
find_holder(const struct plan *plan, const char *path)
{
	struct holder holder = {
		.dst = "/",
		.src = plan_is_local(plan) ? "/" : NULL,
		.what = plan_is_local(plan) ? "fs.root: this host's own tree"
					    : "fs.root: the image's own tree",
		.is_writable = plan->root == PLAN_ROOT_WRITABLE,
		.origin = plan->root_origin,
	};
	static const char *const kernel[] = { "/proc", "/sys", "/dev" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(kernel); i++) {
		const struct holder made = {
			.dst = kernel[i],
			.what = "made anew for the sandbox",
			.is_kernels = true,
			.origin = plan_built_in(),
		};
		take_deeper(&holder, &made, path);
	}
	for (size_t i = 0; i < plan->devices_len; i++) {
		const struct holder made = { plan->devices[i].dst, NULL,
			"fs.devices: a device of this host", true, false, false,
			plan->devices[i].origin };
		take_deeper(&holder, &made, path);
	}
	for (size_t i = 0; i < plan->tmpfs_len; i++) {
		const struct holder made = { plan->tmpfs[i].dst, NULL, "fs.tmpfs", true, false,
			false, plan->tmpfs[i].origin };
		take_deeper(&holder, &made, path);
	}
	if (plan->home.path != NULL) {
		const struct holder made = { plan->home.path, plan->home.src, "fs.home", true,
			plan->home.kind == PLAN_HOME_PERSIST, false, plan->home.origin };
		take_deeper(&holder, &made, path);
	}
	for (size_t i = 0; i < plan->mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		const struct holder made = { mount->dst, mount->is_volume ? NULL : mount->src,
			mount->is_workdir ? "fs.workdir" : "fs.mounts", mount->is_writable, false,
			false, mount->origin };
		take_deeper(&holder, &made, path);
	}
	return holder;
}

/* The index of what covers the host's path within the holder, deny.len = nothing does. */
static size_t
find_cover(const struct plan *plan, const struct holder *holder, const char *host_path)
{
	size_t found = plan->deny.len;

	for (size_t i = 0; i < plan->deny.len; i++) {
		const char *covered = plan->deny.v[i];
		if (hl_path_is_beneath(host_path, covered) &&
		    hl_path_is_beneath(covered, holder->src) && strcmp(covered, holder->src) != 0)
			found = i;
	}
	return found;
}

static bool
is_absent(const char *host_path)
{
	struct stat st;

	return lstat(host_path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* A link that leads out of what holds it is followed inside, where its target is a path like any
 * other: once, for what it leads to has been followed to its end here. */
static int
answer(struct why *why, const struct plan *plan, const char *path, bool is_target,
    struct hl_err *err)
{
	struct holder holder = find_holder(plan, path);
	size_t cover = plan->deny.len;
	bool is_there = true;

	if (holder.src != NULL) {
		const char *rest = path + strlen(holder.dst);
		rest += *rest == '/';
		HL_AUTO_FREE char *named = hl_path_normalise(holder.src, rest);
		HL_AUTO_FREE char *host_path = named != NULL ? plan_path_settle(named) : NULL;
		if (host_path == NULL)
			return hl_err_oom(err);
		if (!is_target && !hl_path_is_beneath(host_path, holder.src))
			return answer(why, plan, host_path, true, err);
		cover = find_cover(plan, &holder, host_path);
		/* A link on this host may lead to what is covered under another name. */
		if (cover == plan->deny.len)
			cover = find_cover(plan, &holder, named);
		/* What can be written can be made. */
		is_there = why->is_of_any_host || holder.is_writable || !is_absent(host_path);
	}
	if (cover < plan->deny.len) {
		why_say(why, false, &plan->deny_origins[cover],
		    "is covered: the command sees nothing there");
		snprintf(why->rule, sizeof(why->rule), "covers %.250s", plan->deny.v[cover]);
		snprintf(why->change, sizeof(why->change), "%s",
		    plan->deny_origins[cover].where.file != NULL
			? "take it out of fs.deny there"
			: "nothing, where it holds credentials or state of the launcher; else a mount of its own");
		return 0;
	}
	why->is_writable = holder.is_writable;
	why->is_of_host = holder.src != NULL && !holder.is_kept;
	why_say(why, is_there, &holder.origin, "is %s",
	    !is_there            ? "not there, nor on this host"
	    : holder.is_kernels  ? "the sandbox's own, and not this host's"
	    : holder.is_writable ? "writable"
				 : "read-only");
	snprintf(why->rule, sizeof(why->rule), "%s at %.200s%s%.60s", holder.what, holder.dst,
	    holder.src != NULL && strcmp(holder.src, holder.dst) != 0 ? " from " : "",
	    holder.src != NULL && strcmp(holder.src, holder.dst) != 0 ? holder.src : "");
	return 0;
}

int
why_path(struct why *why, const char *path, struct hl_err *err)
{
	static struct conflicts conflicts; /* too large for a stack */
	static struct request asked;
	struct plan plan = { 0 };
	bool is_home = path[0] == '~' && path[1] == '/';
	HL_AUTO_FREE char *full =
	    hl_path_normalise(is_home ? why->host->home : why->host->cwd, path + (is_home ? 2 : 0));

	if (full == NULL)
		return hl_err_oom(err);
	asked = *why->request;
	asked.env.len = 0;
	if (conflicts_judge(why->policy, &asked, &conflicts, err) != 0)
		return -1;
	const struct plan_input input = { why->policy, &asked, &conflicts, why->host };
	int status = 0;
	const struct conflict *refusal = conflicts_refusal(&conflicts);
	if (refusal != NULL)
		status = hl_err_set(err, refusal->code, "run would be refused: '%.200s'",
		    refusal->asked);
	if (status == 0)
		status = plan_build(&input, &plan, err);
	if (status == 0)
		status = answer(why, &plan, full, false, err);
	/* Its origin borrows from the policy, not from the plan. */
	plan_done(&plan);
	conflicts_done(&conflicts);
	return status;
}
