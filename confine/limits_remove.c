/*
 * The end of a group: kill what is in it, remove it. Called by the launcher at its ordinary end and
 * by the janitor after the launcher was killed; the janitor runs on the launcher's memory, in which
 * a lock of malloc or stdio may be held for ever, so this file allocates nothing, prints nothing
 * and uses only calls of signal-safety(7).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "confine/confine.h"

#include "base/banned.h"

enum {
	REMOVE_MS = 2000,
	NAP_FIRST_US = 200,
	NAP_LAST_US = 20000
};

static bool
join(char path[PATH_MAX], const char *dir, const char *name)
{
	size_t dir_len = strlen(dir), name_len = strlen(name);

	if (dir_len + name_len + 2 > PATH_MAX)
		return false;
	memcpy(path, dir, dir_len);
	path[dir_len] = '/';
	memcpy(path + dir_len + 1, name, name_len + 1);
	return true;
}

/* The file is a list of decimal numbers, one a line. 0 stands for a process of a pid namespace that
 * we cannot see and 1 is nobody's sandbox: neither may reach kill(2), where 0 means our own group.
 */
static void
kill_listed(int fd)
{
	char bytes[4096];
	ssize_t n;
	pid_t pid = 0;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (bytes[i] >= '0' && bytes[i] <= '9' && pid < INT_MAX / 16) {
				pid = pid * 10 + (bytes[i] - '0');
				continue;
			}
			if (pid > 1 && pid != getpid())
				kill(pid, SIGKILL);
			pid = 0;
		}
	}
}

static void
kill_all(const char *dir)
{
	char path[PATH_MAX];

	/* v2, Linux 5.14: the kernel kills the whole group, forks included. */
	if (join(path, dir, "cgroup.kill")) {
		int fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0) {
			ssize_t n = write(fd, "1", 1);
			close(fd);
			if (n == 1)
				return;
		}
	}
	if (!join(path, dir, "cgroup.procs"))
		return;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	kill_listed(fd);
	close(fd);
}

static uint64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int
remove_group(const char *dir, uint64_t deadline)
{
	struct timespec nap = { .tv_nsec = NAP_FIRST_US * 1000L };

	while (rmdir(dir) != 0) {
		if (errno == ENOENT)
			return 0;
		if (errno != EBUSY || now_ms() >= deadline)
			return -1;
		kill_all(dir);
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < NAP_LAST_US * 1000L)
			nap.tv_nsec *= 2;
	}
	return 0;
}

/* The directory above, shared by all launchers: goes with the last of them, else stays (EBUSY). */
static void
remove_parent(const char *dir)
{
	char path[PATH_MAX];
	const char *slash = strrchr(dir, '/');

	if (slash == NULL || (size_t)(slash - dir) >= sizeof(path))
		return;
	memcpy(path, dir, (size_t)(slash - dir));
	path[slash - dir] = '\0';
	rmdir(path);
}

int
confine_cgroup_remove_dirs(char *const *dirs, size_t len)
{
	uint64_t deadline = now_ms() + REMOVE_MS;
	int status = 0;

	for (size_t i = 0; i < len; i++) {
		if (remove_group(dirs[i], deadline) != 0)
			status = -1;
		else
			remove_parent(dirs[i]);
	}
	return status;
}
