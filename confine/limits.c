/*
 * Limits by cgroup. A limit counts as applied only when it was done: the group made, the number
 * written, and the same number read back. Both drivers are here because a host has either or, on
 * hybrid ones, each for some controllers.
 *
 * Groups are made below the launcher's own, so that a limit which already holds for the launcher
 * holds for its sandbox as well:
 *
 *	<own group>/hermes-launch/<run id>
 *
 * On v2 a group with processes in it cannot have children with limits unless it is the root ("no
 * internal processes", cgroups(7)); then a group beside the launcher's own is used.
 */
#include "confine/limits.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum {
	MAKE_TRIES = 16,
	CPU_QUOTA_MIN_US = 1000,
	REASON_SIZE = 160,
	GROUP_PATH_MAX = CGROUP_PATH_MAX + 128,
};

/* One file of one driver. value and expect are made by the limit's own function. */
struct setting {
	const char *file;
	char value[48];
	bool is_of_swap; /* a kernel without it may be left out where there is no swap */
};

enum {
	SETTINGS_MAX = 3
};

struct limit_info {
	const char *controller;
	size_t (*settings)(const struct confine_limits *limits, bool is_v2,
	    struct setting settings[SETTINGS_MAX]);
};

static size_t
pids_settings(const struct confine_limits *limits, bool is_v2,
    struct setting settings[SETTINGS_MAX])
{
	(void)is_v2;
	settings[0] = (struct setting){ .file = "pids.max" };
	snprintf(settings[0].value, sizeof(settings[0].value), "%llu",
	    (unsigned long long)limits->pids);
	return 1;
}

static size_t
memory_settings(const struct confine_limits *limits, bool is_v2,
    struct setting settings[SETTINGS_MAX])
{
	/* The kernel counts whole pages and says so when read back. */
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long bytes = limits->memory / page * page;
	settings[0].file = is_v2 ? "memory.max" : "memory.limit_in_bytes";
	snprintf(settings[0].value, sizeof(settings[0].value), "%llu", bytes);
	/* v1 limits memory and swap together, v2 swap alone. */
	settings[1].file = is_v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes";
	snprintf(settings[1].value, sizeof(settings[1].value), "%llu", is_v2 ? 0ULL : bytes);
	settings[1].is_of_swap = true;
	return 2;
}

static size_t
cpus_settings(const struct confine_limits *limits, bool is_v2,
    struct setting settings[SETTINGS_MAX])
{
	unsigned long long quota = limits->cpus * (CONFINE_CPU_PERIOD_US / 1000);

	if (quota < CPU_QUOTA_MIN_US)
		quota = CPU_QUOTA_MIN_US;
	if (is_v2) {
		settings[0].file = "cpu.max";
		snprintf(settings[0].value, sizeof(settings[0].value), "%llu %d", quota,
		    CONFINE_CPU_PERIOD_US);
		return 1;
	}
	settings[0].file = "cpu.cfs_period_us";
	snprintf(settings[0].value, sizeof(settings[0].value), "%d", CONFINE_CPU_PERIOD_US);
	settings[1].file = "cpu.cfs_quota_us";
	snprintf(settings[1].value, sizeof(settings[1].value), "%llu", quota);
	return 2;
}

static const struct limit_info infos[CONFINE_LIMIT_MAX] = {
	[CONFINE_LIMIT_PIDS] = { "pids", pids_settings },
	[CONFINE_LIMIT_MEMORY] = { "memory", memory_settings },
	[CONFINE_LIMIT_CPUS] = { "cpu", cpus_settings },
};

/* One use of the calls below: the group under construction for one limit. */
struct making {
	const struct cgroup_host *host;
	const char *name;
	const char *controller;
	struct cgroup_place place;
	char *reason; /* REASON_SIZE */
	const struct confine_limits *limits;
	struct hl_err *err; /* of limits->before */
	bool was_announced, has_failed;
};

static int
open_file(const struct making *making, const char *dir, const char *file, int flags)
{
	char path[PATH_MAX];

	int len = snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (len < 0 || (size_t)len >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (making->host->absent != NULL && strcmp(file, making->host->absent) == 0) {
		errno = ENOENT;
		return -1;
	}
	if ((flags & O_ACCMODE) != O_RDONLY)
		flags |= making->host->open_flags;
	return openat(AT_FDCWD, path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int
write_file(const struct making *making, const char *dir, const char *file, const char *text)
{
	HL_AUTO_FD int fd = open_file(making, dir, file, O_WRONLY);
	return fd < 0 ? -1 : hl_write_full(fd, text, strlen(text));
}

/* The content without its last newline; -1 when it cannot be read or is longer than size. */
static int
read_file(const struct making *making, const char *dir, const char *file, char *text, size_t size)
{
	HL_AUTO_FD int fd = open_file(making, dir, file, O_RDONLY);
	if (fd < 0)
		return -1;
	ssize_t n = hl_read_full(fd, text, size - 1);
	if (n < 0)
		return -1;
	if (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return 0;
}

static bool
has_controller(const struct making *making, const char *dir, const char *file)
{
	char text[1024], *rest = text, *word;

	if (read_file(making, dir, file, text, sizeof(text)) != 0)
		return false;
	while ((word = strsep(&rest, " ")) != NULL)
		if (strcmp(word, making->controller) == 0)
			return true;
	return false;
}

/* Lets the children of dir have the controller. */
static int
hand_down(const struct making *making, const char *dir)
{
	char text[32];

	if (has_controller(making, dir, "cgroup.subtree_control"))
		return 0;
	snprintf(text, sizeof(text), "+%s", making->controller);
	return write_file(making, dir, "cgroup.subtree_control", text);
}

/* Only the root of the whole tree may have processes and children with limits. It is known by a
 * file that every other group has (cgroups(7)). */
static bool
is_tree_root(const struct making *making, const char *dir)
{
	HL_AUTO_FD int fd = open_file(making, dir, "cgroup.type", O_RDONLY);
	return fd < 0 && errno == ENOENT;
}

/* Whether errno says that this is not ours to do, or that there is nothing to hand down. */
static bool
is_not_ours(void)
{
	return errno == EACCES || errno == EPERM || errno == EROFS || errno == ENOENT;
}

/* Lets the children of base have the controller, by letting those of every group above it have it.
 * A service manager enables one at the top only when somebody needs it
 * (systemd.resource-control(5)), and may take it away when nobody seems to: not while a group below
 * has it in its own cgroup.subtree_control (EBUSY), as the directory of all launchers will. The
 * groups above have children with processes, ours among them, and so none of their own where a
 * manager keeps order; where none does, the kernel refuses (EBUSY). */
static int
hand_down_to(const struct making *making, const char *base)
{
	char dir[CGROUP_PATH_MAX];
	size_t len = strlen(making->place.root);

	if (has_controller(making, base, "cgroup.subtree_control"))
		return 0;
	for (;;) {
		memcpy(dir, base, len);
		dir[len] = '\0';
		if (!has_controller(making, dir, "cgroup.controllers")) {
			errno = ENOENT;
			return -1;
		}
		if (hand_down(making, dir) != 0)
			return -1;
		if (base[len] == '\0')
			return 0;
		len += 1 + strcspn(base + len + 1, "/");
	}
}

/* v2: our own group where that is the root of the tree, else the one above it. Ours has processes,
 * us among them. For memory the kernel refuses then to hand a controller down; for pids and cpu it
 * does it, but makes ours the head of a threaded subtree, in which no group below can be entered by
 * a process: nothing is to be tried in it. */
static int
choose_base(struct making *making)
{
	char *own = making->place.own;

	if (!making->place.is_v2)
		return 0;
	if (!is_tree_root(making, own)) {
		char *slash = strrchr(own, '/');
		if (strcmp(own, making->place.root) == 0 || slash == NULL) {
			snprintf(making->reason, REASON_SIZE,
			    "no group of cgroup controller '%s' can be made beside this process's "
			    "own",
			    making->controller);
			return -1;
		}
		*slash = '\0';
	}
	if (hand_down_to(making, own) == 0)
		return 0;
	if (is_not_ours())
		snprintf(making->reason, REASON_SIZE,
		    "cgroup controller '%s' is not delegated to this process", making->controller);
	else
		snprintf(making->reason, REASON_SIZE,
		    "cgroup controller '%s' cannot be handed down: %s", making->controller,
		    strerror(errno));
	return -1;
}

/* <base>/hermes-launch[/<name>]; name NULL = the directory of all. */
static int
group_path(const struct making *making, const char *name, char path[GROUP_PATH_MAX])
{
	int len = snprintf(path, GROUP_PATH_MAX, "%s/" CGROUP_OF_ALL "%s%.64s", making->place.own,
	    name == NULL ? "" : "/", name == NULL ? "" : name);
	if (len > 0 && len < GROUP_PATH_MAX)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

static int
announce(struct making *making)
{
	if (making->was_announced || making->limits->before == NULL)
		return 0;
	making->was_announced = true;
	making->has_failed = making->limits->before(making->limits->context, making->err) != 0;
	return making->has_failed ? -1 : 0;
}

/* Another launcher may remove the common directory between our two calls: try again. */
static int
make_dirs(struct making *making, const char *dir)
{
	char all[GROUP_PATH_MAX];

	if (group_path(making, NULL, all) != 0)
		return -1;
	for (int i = 0; i < MAKE_TRIES; i++) {
		if (mkdir(all, 0755) != 0 && errno != EEXIST)
			return -1;
		if (making->place.is_v2 && hand_down(making, all) != 0 && errno != ENOENT)
			return -1;
		if (announce(making) != 0)
			return -1;
		if (mkdir(dir, 0755) == 0)
			return 0;
		if (errno != ENOENT)
			return -1;
	}
	return -1;
}

/* As the last of cgroup->dirs, before it is there: a janitor goes by them. */
static int
name_group(const struct making *making, struct confine_cgroup *cgroup, const char *dir)
{
	const char *name = making->place.is_v2 ? "cgroup.procs" : "tasks";
	char *copy = strdup(dir);
	char *entry = NULL;

	if (copy == NULL || asprintf(&entry, "%s/%s", dir, name) < 0) {
		free(copy);
		return -1;
	}
	cgroup->dirs[cgroup->dirs_len] = copy;
	cgroup->entries[cgroup->dirs_len] = entry;
	cgroup->dirs_len++;
	return 0;
}

static void
forget_group(struct confine_cgroup *cgroup)
{
	const size_t last = --cgroup->dirs_len;

	free(cgroup->dirs[last]);
	free(cgroup->entries[last]);
	cgroup->dirs[last] = cgroup->entries[last] = NULL;
}

/* Whether this process may put one there. */
static bool
can_enter(const struct making *making, const char *dir)
{
	HL_AUTO_FD int fd =
	    open_file(making, dir, making->place.is_v2 ? "cgroup.procs" : "tasks", O_WRONLY);
	return fd >= 0;
}

/* Index of the group in cgroup->dirs, made when it is not there yet; -1 with a reason. */
static int
make_group(struct making *making, struct confine_cgroup *cgroup)
{
	char dir[GROUP_PATH_MAX], all[GROUP_PATH_MAX];

	if (group_path(making, making->name, dir) != 0 || group_path(making, NULL, all) != 0) {
		snprintf(making->reason, REASON_SIZE, "the group's path is too long");
		return -1;
	}
	for (size_t i = 0; i < cgroup->dirs_len; i++) {
		if (strcmp(cgroup->dirs[i], dir) != 0)
			continue;
		/* v2: the group is there for another limit; this one's controller is to come. */
		if (!making->place.is_v2 || hand_down(making, all) == 0)
			return (int)i;
		snprintf(making->reason, REASON_SIZE, "the controller is not handed down: %s",
		    strerror(errno));
		return -1;
	}
	if (name_group(making, cgroup, dir) != 0) {
		snprintf(making->reason, REASON_SIZE, "%s", strerror(errno));
		return -1;
	}
	bool is_there = make_dirs(making, dir) == 0;
	if (is_there && can_enter(making, dir))
		return (int)cgroup->dirs_len - 1;
	if (is_there)
		snprintf(making->reason, REASON_SIZE, "the new group cannot be entered: %s",
		    strerror(errno));
	else
		snprintf(making->reason, REASON_SIZE, "no group can be made in '%.80s': %s",
		    making->place.own, strerror(errno));
	if (is_there)
		rmdir(dir);
	forget_group(cgroup);
	return -1;
}

/* proc(5): a line of titles, then one for each swap area. What cannot be read may have some. */
static bool
has_swap(const struct making *making)
{
	char text[512];
	HL_AUTO_FD int fd = openat(AT_FDCWD, making->host->swaps, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : hl_read_full(fd, text, sizeof(text) - 1);

	if (n < 0)
		return true;
	text[n] = '\0';
	const char *newline = strchr(text, '\n');
	return newline != NULL && newline[1] != '\0';
}

static int
apply_setting(const struct making *making, const char *dir, const struct setting *setting)
{
	char text[64];

	if (write_file(making, dir, setting->file, setting->value) != 0) {
		bool is_absent = errno == ENOENT && setting->is_of_swap;
		if (is_absent && !has_swap(making))
			return 0;
		if (is_absent) {
			snprintf(making->reason, REASON_SIZE,
			    "this kernel does not count swap by group (%s; see swapaccount=1), and "
			    "this host has swap",
			    setting->file);
			return -1;
		}
		snprintf(making->reason, REASON_SIZE, "%s=%s was not taken: %s", setting->file,
		    setting->value, strerror(errno));
		return -1;
	}
	if (read_file(making, dir, setting->file, text, sizeof(text)) != 0 ||
	    strcmp(text, setting->value) != 0) {
		snprintf(making->reason, REASON_SIZE, "%s=%s was written but does not read back",
		    setting->file, setting->value);
		return -1;
	}
	return 0;
}

static bool
apply_limit(struct making *making, enum confine_limit which, const struct confine_limits *limits,
    struct confine_cgroup *cgroup)
{
	struct setting settings[SETTINGS_MAX] = { 0 };

	making->controller = infos[which].controller;
	making->reason = cgroup->missing[which];
	if (!cgroup_place_find(making->host, making->controller, &making->place, making->reason) ||
	    choose_base(making) != 0)
		return false;
	int group = make_group(making, cgroup);
	if (group < 0)
		return false;
	size_t len = infos[which].settings(limits, making->place.is_v2, settings);
	for (size_t i = 0; i < len; i++)
		if (apply_setting(making, cgroup->dirs[group], &settings[i]) != 0)
			return false;
	return true;
}

int
confine_cgroup_create_at(const struct cgroup_host *host, const struct confine_limits *limits,
    const char *name, struct confine_cgroup *ret_cgroup, struct hl_err *err)
{
	const bool wanted[CONFINE_LIMIT_MAX] = {
		[CONFINE_LIMIT_PIDS] = limits->has_pids,
		[CONFINE_LIMIT_MEMORY] = limits->has_memory,
		[CONFINE_LIMIT_CPUS] = limits->has_cpus,
	};
	struct making making = { .host = host, .name = name, .limits = limits, .err = err };

	if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL)
		return hl_err_set(err, HLI_02, "'%s' cannot be the name of a group", name);
	*ret_cgroup = (struct confine_cgroup){ 0 };
	for (enum confine_limit i = 0; i < CONFINE_LIMIT_MAX && !making.has_failed; i++)
		if (wanted[i] && apply_limit(&making, i, limits, ret_cgroup))
			ret_cgroup->applied |= 1U << i;
	return making.has_failed ? -1 : 0;
}

int
confine_cgroup_create(const struct confine_limits *limits, const char *name,
    struct confine_cgroup *ret_cgroup, struct hl_err *err)
{
	static const struct cgroup_host host = {
		.self_cgroup = "/proc/self/cgroup",
		.mountinfo = "/proc/self/mountinfo",
		.swaps = "/proc/swaps",
	};

	return confine_cgroup_create_at(&host, limits, name, ret_cgroup, err);
}

bool
confine_cgroup_was_oom(const struct confine_cgroup *cgroup)
{
	static const char *const files[] = { "memory.events", "memory.oom_control" };
	static const char key[] = "oom_kill ";
	const struct cgroup_host host = { 0 };
	const struct making making = { .host = &host };
	char text[1024];

	if ((cgroup->applied & (1U << CONFINE_LIMIT_MEMORY)) == 0)
		return false;
	for (size_t i = 0; i < cgroup->dirs_len * HL_ARRAY_SIZE(files); i++) {
		const char *dir = cgroup->dirs[i / HL_ARRAY_SIZE(files)];
		const char *file = files[i % HL_ARRAY_SIZE(files)];
		if (read_file(&making, dir, file, text, sizeof(text)) != 0)
			continue;
		for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
			line += *line == '\n';
			if (strncmp(line, key, sizeof(key) - 1) == 0 &&
			    strcmp(line + sizeof(key) - 1, "0") != 0 &&
			    strncmp(line + sizeof(key) - 1, "0\n", 2) != 0)
				return true;
		}
	}
	return false;
}

int
confine_cgroup_remove(struct confine_cgroup *cgroup, struct hl_err *err)
{
	if (confine_cgroup_remove_dirs(cgroup->dirs, cgroup->dirs_len) != 0)
		return hl_err_sys(err, HLB_26, "the sandbox's cgroup '%s' cannot be removed",
		    cgroup->dirs[0]);
	confine_cgroup_done(cgroup);
	return 0;
}

void
confine_cgroup_done(struct confine_cgroup *cgroup)
{
	for (size_t i = 0; i < cgroup->dirs_len; i++) {
		free(cgroup->entries[i]);
		free(cgroup->dirs[i]);
		cgroup->dirs[i] = NULL;
		cgroup->entries[i] = NULL;
	}
	cgroup->dirs_len = 0;
}
