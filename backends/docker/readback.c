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
	VALUE_MAX = 256,
	PERIOD_US = 100000,
	PAGE = 4096
};

struct limit_file {
	enum plan_limit limit;
	const char *controller, *file_v1, *file_v2;
};

static const struct limit_file files[] = {
	{ PLAN_LIMIT_MEMORY, "memory", "memory.limit_in_bytes", "memory.max" },
	{ PLAN_LIMIT_PIDS, "pids", "pids.max", "pids.max" },
	{ PLAN_LIMIT_CPUS, "cpu", "cpu.cfs_quota_us", "cpu.max" },
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

static bool
is_value(const struct limit_file *file, bool is_v2, const char *text, uint64_t wanted)
{
	struct hl_err ignored = { 0 };
	char number[VALUE_MAX];
	uint64_t value;

	snprintf(number, sizeof(number), "%.32s", text);
	number[strcspn(number, " \n")] = '\0';
	if (hl_parse_u64(number, 0, UINT64_MAX, &value, &ignored) < 0)
		return false;
	if (file->limit == PLAN_LIMIT_CPUS)
		return value == wanted * PERIOD_US / 1000 &&
		       (!is_v2 || strstr(text, " 100000") != NULL);
	if (file->limit == PLAN_LIMIT_MEMORY)
		return value == wanted / PAGE * PAGE || value == wanted;
	return value == wanted;
}

static int
check_file(const struct limit_file *file, const char *cgroup, uint64_t wanted,
    const char *container, struct hl_err *err)
{
	bool is_v2 = false;
	char *group HL_AUTO_FREE = find_group(cgroup, file, container, &is_v2);
	char *path HL_AUTO_FREE = NULL;
	struct hl_buf text;
	int status = 0;

	if (group == NULL ||
	    asprintf(&path, "%s/%s", group, is_v2 ? file->file_v2 : file->file_v1) < 0) {
		path = NULL;
		return 0;
	}
	hl_buf_init(&text, VALUE_MAX);
	if (read_text(path, &text) == 0 && !is_value(file, is_v2, text.data, wanted))
		status = hl_err_set(err, HLB_53,
		    "the kernel has another limit than the engine says: '%s' is '%.*s', not %" PRIu64,
		    path, (int)strcspn(text.data, "\n"), text.data, wanted);
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
