/*
 * An engine's inspect shows the limit that it was asked for, not the one that the kernel got. Where
 * the container's first process is a process of this host, its cgroup is read.
 *
 * Version 1: /proc/PID/cgroup has a line per hierarchy, "4:memory:/docker/ID"; version 2 has
 * "0::/docker/ID" only (cgroups(7)).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/prepare.h"

#include "base/banned.h"

enum {
	PROC_FILE_MAX = 64 * 1024,
	VALUE_MAX = 256
};

struct limit_file {
	enum plan_limit limit;
	enum confine_limit kind;
	const char *controller, *file_v2;
	const char *files_v1[2]; /* one behind the other */
};

static const struct limit_file files[] = {
	{ PLAN_LIMIT_MEMORY, CONFINE_LIMIT_MEMORY, "memory", "memory.max",
	    { "memory.limit_in_bytes" } },
	{ PLAN_LIMIT_PIDS, CONFINE_LIMIT_PIDS, "pids", "pids.max", { "pids.max" } },
	{ PLAN_LIMIT_CPUS, CONFINE_LIMIT_CPUS, "cpu", "cpu.max",
	    { "cpu.cfs_quota_us", "cpu.cfs_period_us" } },
};

static int
read_text(const char *path, struct hl_buf *text)
{
	struct hl_err ignored = { 0 };
	int fd HL_AUTO_FD = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -1 : hl_read_file(fd, text, path, HLB_53, &ignored);
}

/* controllers is "cpu,cpuacct": whole words only. */
static bool
lists(const char *controllers, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	while (len >= name_len) {
		if (memcmp(controllers, name, name_len) == 0 &&
		    (len == name_len || controllers[name_len] == ','))
			return true;
		const char *comma = memchr(controllers, ',', len);
		if (comma == NULL)
			return false;
		len -= (size_t)(comma + 1 - controllers);
		controllers = comma + 1;
	}
	return false;
}

/* The directory of the controller's group below /sys/fs/cgroup, heap; NULL = not to be found. The
 * group has to have the container's id in its name, or the process is not the one we mean. */
static char *
find_group(const char *cgroup, const struct limit_file *file, const char *container, bool *ret_v2)
{
	char *path = NULL;

	for (const char *line = cgroup; *line != '\0';) {
		size_t len = strcspn(line, "\n");
		const char *controllers = memchr(line, ':', len);
		const char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
		if (group != NULL && group < line + len) {
			size_t names = (size_t)(group - controllers - 1);
			bool is_v2 = names == 0 && line[0] == '0';
			size_t group_len = (size_t)(line + len - group - 1);
			if ((is_v2 || lists(controllers + 1, names, file->controller)) &&
			    memmem(group + 1, group_len, container, strlen(container)) != NULL) {
				if (asprintf(&path, "/sys/fs/cgroup/%s%.*s",
					is_v2 ? "" : file->controller, (int)group_len,
					group + 1) < 0)
					return NULL;
				*ret_v2 = is_v2;
				if (!is_v2)
					return path;
			}
		}
		line += len + (line[len] == '\n' ? 1 : 0);
		if (path != NULL && *line != '\0') {
			free(path); /* on a hybrid host version 2 has no controllers */
			path = NULL;
		}
	}
	return path;
}

/* -1 when the first of the files cannot be read; without the second the text is none of a limit. */
static int
read_value(const char *group, const char *const names[2], struct hl_buf *text)
{
	int status = 0;

	for (size_t i = 0; i < 2 && names[i] != NULL; i++) {
		char *path HL_AUTO_FREE = NULL;
		if (asprintf(&path, "%s/%s", group, names[i]) < 0) {
			path = NULL;
			return -1;
		}
		if (read_text(path, text) < 0 && i == 0)
			status = -1;
	}
	return status;
}

static int
check_file(const struct limit_file *file, const char *cgroup, uint64_t wanted,
    const char *container, struct hl_err *err)
{
	bool is_v2 = false;
	char *group HL_AUTO_FREE = find_group(cgroup, file, container, &is_v2);
	const char *const names_v2[2] = { file->file_v2, NULL };
	const char *const *names = is_v2 ? names_v2 : file->files_v1;
	struct hl_buf text;
	int status = 0;

	if (group == NULL)
		return 0;
	hl_buf_init(&text, VALUE_MAX);
	if (read_value(group, names, &text) == 0 &&
	    !confine_limit_is(file->kind, text.data, wanted)) {
		for (char *at = text.data; (at = strchr(at, '\n')) != NULL;)
			*at = at[1] != '\0' ? ' ' : '\0';
		status = hl_err_set(err, HLB_53,
		    "the kernel has another limit than the engine says: '%s/%s' is '%s', not %" PRIu64,
		    group, names[0], text.data, wanted);
	}
	hl_buf_done(&text);
	return status;
}

int
docker_read_back(const struct plan *plan, uint32_t wanted, uint32_t pid, const char *container,
    struct hl_err *err)
{
	char path[64];
	struct hl_buf cgroup;
	int status = 0;

	if (pid == 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	hl_buf_init(&cgroup, PROC_FILE_MAX);
	if (read_text(path, &cgroup) == 0) {
		for (size_t i = 0; i < HL_ARRAY_SIZE(files) && status == 0; i++) {
			if ((wanted & (1U << files[i].limit)) != 0)
				status = check_file(&files[i], cgroup.data,
				    plan->limits[files[i].limit].value, container, err);
		}
	}
	hl_buf_done(&cgroup);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * Kills for memory: podman 4.3 looks for what its monitor says of it where that does not write it
 */
char *
docker_oom_file(uint32_t pid, const char *container)
{
	HL_AUTO(hl_buf_done) struct hl_buf cgroup = { 0 };
	char path[64], *file = NULL;
	bool is_v2 = false;

	if (pid == 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	hl_buf_init(&cgroup, PROC_FILE_MAX);
	if (read_text(path, &cgroup) != 0)
		return NULL;
	char *group HL_AUTO_FREE = find_group(cgroup.data, &files[0], container, &is_v2);
	if (group == NULL ||
	    asprintf(&file, "%s/%s", group, is_v2 ? "memory.events" : "memory.oom_control") < 0)
		return NULL;
	return file;
}

bool
docker_oom_happened(const char *path)
{
	static const char key[] = "oom_kill ";
	HL_AUTO(hl_buf_done) struct hl_buf text = { 0 };

	hl_buf_init(&text, PROC_FILE_MAX);
	if (path == NULL || read_text(path, &text) != 0)
		return false;
	for (const char *line = text.data; line != NULL && *line != '\0';) {
		if (strncmp(line, key, sizeof(key) - 1) == 0)
			return line[sizeof(key) - 1] != '0';
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return false;
}
