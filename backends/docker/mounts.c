/*
 * Files inside a container: binds, the covers of denied paths below them, the private home and the
 * tmpfs list.
 *
 * Binds are not recursive: a read-only bind leaves what is mounted below its source writable before
 * API 1.44, so that is simply not there. What an engine cannot be told safely (a newline, which its
 * CSV reader and the table of mounts would read differently; a target under the runner) is refused.
 */
#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/dialect.h"
#include "backends/docker/docker.h"
#include "backends/docker/settings.h"

#include "base/banned.h"

enum {
	OPTIONS_MAX = 256,
	PATH_TEXT_MAX = 8192
};

static bool
is_sayable(const char *path)
{
	return hl_path_is_normal(path) && hl_is_utf8(path, strlen(path)) &&
	       strpbrk(path, "\n\r") == NULL;
}

static int
check_target(const char *path, struct hl_err *err)
{
	if (!is_sayable(path))
		return hl_err_set(err, HLB_58, "an engine cannot be given the path '%s'", path);
	if (hl_path_is_beneath(path, DOCKER_RUNNER_TARGET) || strcmp(path, "/") == 0)
		return hl_err_set(err, HLB_58, "nothing can be mounted at '%s'", path);
	return 0;
}

/* Where it lies, and with which options it is mounted, its driver says, not the policy: nothing of
 * that could be shown before the start, nor compared after it. */
static int
refuse_volume(const struct plan_mount *mount, struct hl_err *err)
{
	hl_err_set(err, HLB_58,
	    "volume '%s' cannot be mounted: what it is on this host the engine decides, not the policy",
	    mount->src);
	return hl_err_help(err, "name the directory: kind: bind, with its path as src");
}

static int
add_bind(struct docker_settings *settings, const struct plan_mount *mount, struct hl_err *err)
{
	if (mount->is_volume)
		return refuse_volume(mount, err);
	if (!is_sayable(mount->src))
		return hl_err_set(err, HLB_58, "an engine cannot be given the path '%s'",
		    mount->src);
	if (check_target(mount->dst, err) < 0)
		return -1;
	struct docker_setting *setting =
	    docker_settings_add(settings, DOCKER_MOUNT, mount->dst, &mount->origin);
	setting->other = strdup(mount->src);
	setting->number = mount->is_writable ? 0 : 1;
	if (setting->other == NULL)
		settings->failed = true;
	return 0;
}

/* The private home as a mount, when it is one. */
static bool
home_mount(const struct plan *plan, struct plan_mount *ret_mount)
{
	if (plan->home.kind == PLAN_HOME_TMPFS || plan->home.src == NULL)
		return false;
	*ret_mount = (struct plan_mount){
		.src = plan->home.src,
		.dst = plan->home.path,
		.is_writable = true,
		.is_exec = true,
		.origin = plan->home.origin,
	};
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * Covers
 */

/* The deepest place of the plan that decides what is at path inside; NULL = the image's own root.
 * *ret_len: its depth, as the length of its path. */
static const char *
deciding_place(const struct plan *plan, const char *path)
{
	const char *best = NULL;

	for (size_t i = 0; i < plan->mounts_len; i++) {
		const char *dst = plan->mounts[i].dst;
		if (hl_path_is_beneath(path, dst) && (best == NULL || strlen(dst) > strlen(best)))
			best = dst;
	}
	for (size_t i = 0; i < plan->tmpfs_len; i++) {
		const char *dst = plan->tmpfs[i].dst;
		if (hl_path_is_beneath(path, dst) && (best == NULL || strlen(dst) > strlen(best)))
			best = dst;
	}
	if (plan->home.path != NULL && hl_path_is_beneath(path, plan->home.path) &&
	    (best == NULL || strlen(plan->home.path) > strlen(best)))
		best = plan->home.path;
	return best;
}

char *
docker_empty_path(const struct plan *plan, bool is_file)
{
	struct hl_buf path;

	hl_buf_init(&path, PATH_TEXT_MAX);
	hl_buf_putf(&path, "%s/empty/%s", plan->state_dir, is_file ? "file" : "dir");
	char *taken = hl_buf_take(&path);
	hl_buf_done(&path);
	return taken;
}

static int
add_cover(struct docker_settings *settings, const struct plan *plan, const char *dst,
    const char *denied, struct hl_err *err)
{
	struct stat st;

	if (lstat(denied, &st) < 0)
		return hl_err_sys(err, HLB_57, "cannot look at '%s', which is to be covered",
		    denied);
	if (S_ISLNK(st.st_mode))
		return 0; /* what it leads to is in the list itself, and a bind would follow it */
	if (check_target(dst, err) < 0)
		return -1;
	struct docker_setting *setting =
	    docker_settings_add(settings, DOCKER_MOUNT, dst, &plan->deny_origin);
	setting->other = docker_empty_path(plan, !S_ISDIR(st.st_mode));
	setting->number = 1;
	if (setting->other == NULL)
		settings->failed = true;
	return 0;
}

/* The policy's own mounts only: a home that is kept lies in the state directory, which is denied.
 */
static int
check_not_denied(const struct plan *plan, const struct plan_mount *mount, struct hl_err *err)
{
	for (size_t i = 0; i < plan->deny.len; i++) {
		if (hl_path_is_beneath(mount->src, plan->deny.v[i]))
			return hl_err_set(err, HLB_58, "source '%s' is itself denied by '%s'",
			    mount->src, plan->deny.v[i]);
	}
	return 0;
}

/* Covers each denied path that mount would show. */
static int
add_covers(struct docker_settings *settings, const struct plan *plan,
    const struct plan_mount *mount, struct hl_err *err)
{
	for (size_t i = 0; i < plan->deny.len; i++) {
		const char *denied = plan->deny.v[i];
		if (!hl_path_is_beneath(denied, mount->src) || strcmp(denied, mount->src) == 0)
			continue;
		const char *rest =
		    strcmp(mount->src, "/") == 0 ? denied : denied + strlen(mount->src);
		char *dst HL_AUTO_FREE = NULL;
		if (asprintf(&dst, "%s%s", mount->dst, rest) < 0) {
			dst = NULL;
			return hl_err_oom(err);
		}
		const char *place = deciding_place(plan, dst);
		if (place == NULL || strcmp(place, mount->dst) != 0)
			continue; /* something nearer hides it already */
		if (add_cover(settings, plan, dst, denied, err) < 0)
			return -1;
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * tmpfs
 */
static bool
has_mount_at(const struct plan *plan, const char *dst)
{
	for (size_t i = 0; i < plan->mounts_len; i++) {
		if (strcmp(plan->mounts[i].dst, dst) == 0)
			return true;
	}
	return false;
}

static bool
has_tmpfs_at(const struct plan *plan, const char *dst)
{
	for (size_t i = 0; i < plan->tmpfs_len; i++) {
		if (strcmp(plan->tmpfs[i].dst, dst) == 0)
			return true;
	}
	return false;
}

/* exec, nosuid, nodev and mode are always spelled: docker's defaults and podman's differ.
 *
 * runc before 1.2 gives the mount the mode of the image's own directory there, whatever mode= says,
 * so that a user who is not root could not write. A mount that every user may write therefore
 * belongs to the command's user, whose number the kernel does take from the options (tmpfs(5)). */
static int
add_tmpfs(struct docker_settings *settings, const struct plan *plan, const struct plan_tmpfs *tmpfs,
    struct hl_err *err)
{
	enum {
		ANY_USER_WRITES = 02,
		OWNER_ONLY = 0700
	};
	bool is_users = (tmpfs->mode & ANY_USER_WRITES) != 0 || tmpfs->mode == OWNER_ONLY;
	bool has_owner = plan->user_kind != PLAN_USER_IMAGE && settings->dialect->has_tmpfs_owner;
	struct hl_buf options;

	if (check_target(tmpfs->dst, err) < 0)
		return -1;
	if (tmpfs->mode == OWNER_ONLY && !settings->dialect->has_tmpfs_owner &&
	    (plan->user_kind == PLAN_USER_IMAGE || plan->uid != 0)) {
		hl_err_set(err, HLB_58, "%s cannot give the tmpfs '%s' to the command's user",
		    settings->dialect->name, tmpfs->dst);
		return hl_err_help(err, "write its mode as 1777: no other user is inside");
	}
	/* The client splits at the first colon. */
	if (strchr(tmpfs->dst, ':') != NULL)
		return hl_err_set(err, HLB_58, "a tmpfs cannot be mounted at '%s': it has a colon",
		    tmpfs->dst);
	hl_buf_init(&options, OPTIONS_MAX);
	hl_buf_putf(&options, "rw,nosuid,nodev,%s,", tmpfs->is_exec ? "exec" : "noexec");
	if (tmpfs->size != 0)
		hl_buf_putf(&options, "size=%llu", (unsigned long long)tmpfs->size);
	else
		hl_buf_puts(&options, "size=50%"); /* tmpfs(5): the kernel's default */
	hl_buf_putf(&options, ",mode=%04o", tmpfs->mode);
	if (is_users && has_owner)
		hl_buf_putf(&options, ",uid=%u,gid=%u", plan->uid, plan->gid);
	hl_buf_puts(&options, settings->dialect->tmpfs);
	struct docker_setting *setting =
	    docker_settings_add(settings, DOCKER_TMPFS, tmpfs->dst, &tmpfs->origin);
	setting->other = hl_buf_take(&options);
	hl_buf_done(&options);
	if (setting->other == NULL)
		settings->failed = true;
	return 0;
}

static int
add_home_tmpfs(struct docker_settings *settings, const struct plan *plan, struct hl_err *err)
{
	/* The image's user has no number yet, and an engine may know no owner of a tmpfs: then a
	 * private file system that any user may write. */
	bool has_owner = plan->user_kind != PLAN_USER_IMAGE &&
			 (settings->dialect->has_tmpfs_owner || plan->uid == 0);
	struct plan_tmpfs home = {
		.dst = plan->home.path,
		.size = plan->home.size,
		.is_exec = true,
		.mode = has_owner ? 0700 : 01777,
		.origin = plan->home.origin,
	};

	return add_tmpfs(settings, plan, &home, err);
}

/* The client splits at colons, and the engine at nothing: what the two would read differently is
 * refused. */
static int
add_device(struct docker_settings *settings, const struct plan_device *device, struct hl_err *err)
{
	if (!is_sayable(device->src) || !is_sayable(device->dst) ||
	    strchr(device->src, ':') != NULL || strchr(device->dst, ':') != NULL)
		return hl_err_set(err, HLB_58, "an engine cannot be given the device '%s'",
		    device->dst);
	struct docker_setting *setting =
	    docker_settings_add(settings, DOCKER_DEVICE, device->dst, &device->origin);
	setting->other = strdup(device->src);
	if (setting->other == NULL)
		settings->failed = true;
	return 0;
}

/* docker's is one request, because what its driver is told is one variable: "device=0,3", read as
 * CSV as well. Each of podman's is a device. */
static void
add_gpus(struct docker_settings *settings, const struct plan_gpus *gpus)
{
	enum docker_option_id option = settings->dialect->gpus;
	bool is_each = option == DOCKER_DEVICE;
	struct hl_buf text HL_AUTO(hl_buf_done) = { 0 };

	hl_buf_init(&text, 512);
	if (gpus->is_all)
		hl_buf_puts(&text, is_each ? DOCKER_CDI_GPU DOCKER_GPUS_ALL : DOCKER_GPUS_ALL);
	for (unsigned i = 0; i < 8 * sizeof(gpus->numbers); i++) {
		if ((gpus->numbers >> i & 1U) == 0)
			continue;
		hl_buf_putf(&text, "%s%u",
		    is_each        ? DOCKER_CDI_GPU
		    : text.len > 0 ? ","
				   : DOCKER_GPUS_DEVICE,
		    i);
		if (!is_each)
			continue;
		docker_settings_add(settings, option, text.data, &gpus->origin);
		hl_buf_reset(&text);
	}
	settings->failed |= text.failed;
	if (text.len > 0)
		docker_settings_add(settings, option, text.data, &gpus->origin);
}

/* An engine refuses two mounts at one place: what the policy mounts there wins over a tmpfs of the
 * list, and both win over the private home. */
int
docker_mounts_fill(struct docker_settings *settings, const struct plan *plan, struct hl_err *err)
{
	const char *home_path = plan->home.path;
	bool wants_home = home_path != NULL && !has_mount_at(plan, home_path);
	struct plan_mount home;

	for (size_t i = 0; i < plan->mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		if (check_not_denied(plan, mount, err) < 0 || add_bind(settings, mount, err) < 0 ||
		    add_covers(settings, plan, mount, err) < 0)
			return -1;
	}
	if (wants_home && home_mount(plan, &home) &&
	    (add_bind(settings, &home, err) < 0 || add_covers(settings, plan, &home, err) < 0))
		return -1;
	for (size_t i = 0; i < plan->tmpfs_len; i++) {
		if (!has_mount_at(plan, plan->tmpfs[i].dst) &&
		    add_tmpfs(settings, plan, &plan->tmpfs[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < plan->devices_len; i++) {
		if (add_device(settings, &plan->devices[i], err) < 0)
			return -1;
	}
	add_gpus(settings, &plan->gpus);
	if (wants_home && plan->home.kind == PLAN_HOME_TMPFS && !has_tmpfs_at(plan, home_path))
		return add_home_tmpfs(settings, plan, err);
	return 0;
}
