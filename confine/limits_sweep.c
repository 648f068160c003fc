/*
 * Groups that nobody removed: launcher and janitor were killed at once. rmdir(2) of a group fails
 * with EBUSY while a process is in it (cgroups(7)), so that nothing living can be hit; a group that
 * is being filled just now is left out by its age.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "confine/limits.h"

#include "base/banned.h"

enum {
	YOUNG_S = 60
};

static bool
is_young(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) ||
	       st.st_mtime + YOUNG_S > time(NULL);
}

static size_t
sweep_dir(const char *base)
{
	char path[CGROUP_PATH_MAX + 32];
	size_t removed = 0;

	snprintf(path, sizeof(path), "%s/" CGROUP_OF_ALL, base);
	DIR *dir HL_AUTO_DIR = opendir(path);
	if (dir == NULL)
		return 0;
	const struct dirent *entry;
	/* What is behind a list that breaks off is swept another time. */
	while (hl_dir_next(dir, &entry) > 0) {
		if (entry->d_name[0] == '.' || is_young(dirfd(dir), entry->d_name))
			continue;
		removed += unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) == 0;
	}
	/* Of all launchers: goes with the last group. */
	(void)!rmdir(path);
	return removed;
}

size_t
confine_cgroup_sweep(void)
{
	static const char *const controllers[] = { "pids", "memory", "cpu" };
	const struct cgroup_host host = {
		.self_cgroup = "/proc/self/cgroup",
		.mountinfo = "/proc/self/mountinfo",
	};
	size_t removed = 0;

	for (size_t i = 0; i < HL_ARRAY_SIZE(controllers); i++) {
		struct cgroup_place place;
		char reason[160];
		if (!cgroup_place_find(&host, controllers[i], &place, reason))
			continue;
		removed += sweep_dir(place.own);
		/* v2 makes them beside our own group (limits.c). */
		char *slash = strrchr(place.own, '/');
		if (place.is_v2 && slash != NULL && strcmp(place.own, place.root) != 0) {
			*slash = '\0';
			removed += sweep_dir(place.own);
		}
	}
	return removed;
}
