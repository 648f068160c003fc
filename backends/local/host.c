/*
 * What lowering must know of this host and may not look up itself: the names in "/", and the few
 * paths that have to be bound although no policy says so. Device and inode are taken here; the
 * runner compares them when it binds, so that a name which was swapped in between is found out.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/local/local.h"

#include "base/banned.h"

enum {
	ENTRIES_MAX = 512,
	BINDS_MAX = 64
};

void
local_host_done(struct local_host *host)
{
	for (size_t i = 0; i < host->entries_len; i++) {
		free(host->entries[i].path);
		free(host->entries[i].target);
	}
	for (size_t i = 0; i < host->binds_len; i++) {
		free(host->binds[i].src);
		free(host->binds[i].dst);
	}
	free(host->entries);
	free(host->binds);
	*host = (struct local_host){ 0 };
}

static int
compare_entries(const void *left, const void *right)
{
	const struct local_entry *a = left, *b = right;

	return strcmp(a->path, b->path);
}

static int
add_entry(int root, const char *name, struct local_host *host, struct hl_err *err)
{
	struct local_entry *entry = &host->entries[host->entries_len];
	char path[NAME_MAX + 2], target[PATH_MAX];
	struct stat st;

	if (fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : hl_err_sys(err, HLB_27, "cannot look at '/%s'", name);
	if (!S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
		return 0;
	*entry = (struct local_entry){ .dev = st.st_dev, .ino = st.st_ino };
	if (S_ISLNK(st.st_mode)) {
		ssize_t len = readlinkat(root, name, target, sizeof(target) - 1);
		if (len < 0)
			return hl_err_sys(err, HLB_27, "cannot read the link '/%s'", name);
		target[len] = '\0';
		entry->kind = LOCAL_ENTRY_SYMLINK;
		entry->target = strdup(target);
		if (entry->target == NULL)
			return hl_err_oom(err);
	}
	snprintf(path, sizeof(path), "/%s", name);
	entry->path = strdup(path);
	if (entry->path == NULL) {
		free(entry->target);
		return hl_err_oom(err);
	}
	host->entries_len++;
	return 0;
}

static int
gather_entries(struct local_host *host, struct hl_err *err)
{
	DIR *dir HL_AUTO_DIR = opendir("/");
	const struct dirent *item;
	int more;

	if (dir == NULL)
		return hl_err_sys(err, HLB_27, "cannot list '/'");
	while ((more = hl_dir_next(dir, &item)) > 0) {
		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
			continue;
		if (host->entries_len == ENTRIES_MAX)
			return hl_err_set(err, HLB_27, "'/' has more than %d entries", ENTRIES_MAX);
		if (add_entry(dirfd(dir), item->d_name, host, err) != 0)
			return -1;
	}
	if (more < 0)
		return hl_err_sys(err, HLB_27, "cannot list '/'");
	qsort(host->entries, host->entries_len, sizeof(*host->entries), compare_entries);
	return 0;
}

/* A path that is not there is no bind and no error. */
static int
add_bind(struct local_host *host, const char *src, const char *dst, const char *why,
    struct hl_err *err)
{
	struct stat st;

	if (lstat(src, &st) != 0 || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		return 0;
	if (host->binds_len == BINDS_MAX)
		return hl_err_set(err, HLB_27, "there is no room to protect '%.200s'", src);
	struct local_bind *bind = &host->binds[host->binds_len];
	*bind = (struct local_bind){
		.src = strdup(src),
		.dst = strdup(dst),
		.is_file = S_ISREG(st.st_mode),
		.dev = st.st_dev,
		.ino = st.st_ino,
		.why = why,
	};
	host->binds_len++;
	return bind->src == NULL || bind->dst == NULL ? hl_err_oom(err) : 0;
}

/* Policies that a later run would find are not the command's to change. */
static int
protect_policies(struct local_host *host, const char *src, const char *dst, struct hl_err *err)
{
	char from[PATH_MAX], to[PATH_MAX];

	int from_len = snprintf(from, sizeof(from), "%s/.hermes", src);
	int to_len = snprintf(to, sizeof(to), "%s/.hermes", dst);
	if (from_len < 0 || (size_t)from_len >= sizeof(from) || to_len < 0 ||
	    (size_t)to_len >= sizeof(to))
		return hl_err_set(err, HLB_27, "a path below '%.200s' is too long", src);
	return add_bind(host, from, to, "policies below a writable directory", err);
}

static int
gather_policies(const struct plan *plan, struct local_host *host, struct hl_err *err)
{
	for (size_t i = 0; i < plan->mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		if (mount->is_writable && !mount->is_file && !mount->is_volume &&
		    protect_policies(host, mount->src, mount->dst, err) != 0)
			return -1;
	}
	if (plan->home.path == NULL || plan->home.kind != PLAN_HOME_BIND)
		return 0;
	return protect_policies(host, plan->home.src, plan->home.path, err);
}

/* With the host's network the host's resolver is part of it, and its file is often below /run,
 * which is ours inside. */
static int
gather_resolver(const struct plan *plan, struct local_host *host, struct hl_err *err)
{
	char path[PATH_MAX];

	if (plan->network != PLAN_NETWORK_HOST || realpath("/etc/resolv.conf", path) == NULL ||
	    !hl_path_is_beneath(path, "/run"))
		return 0;
	return add_bind(host, path, path, "the host's resolver", err);
}

int
local_host_gather(const struct plan *plan, struct local_host *ret_host, struct hl_err *err)
{
	struct local_host host = { .uid = geteuid(),
		.gid = getegid(),
		.landlock_abi = plan->landlock ? confine_landlock_abi() : 0 };

	host.entries = calloc(ENTRIES_MAX, sizeof(*host.entries));
	host.binds = calloc(BINDS_MAX, sizeof(*host.binds));
	if (host.entries == NULL || host.binds == NULL)
		hl_err_oom(err);
	else if (gather_entries(&host, err) == 0 && gather_policies(plan, &host, err) == 0 &&
		 gather_resolver(plan, &host, err) == 0) {
		*ret_host = host;
		return 0;
	}
	local_host_done(&host);
	return -1;
}
