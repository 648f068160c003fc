/*
 * Who made a container, as a label of it: a process by its id, which is used again, and its start
 * time, which makes the two of them unique while the host is up. Both mean something in one pid
 * namespace only: a launcher inside a container that has the engine's socket, or on another host
 * that reaches it, writes numbers that here are somebody else's.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/start.h"

#include "base/banned.h"

enum {
	STAT_MAX = 4096,
	FIELD_STATE = 3,
	FIELD_START = 22
};

static bool
read_small(const char *path, struct hl_buf *text)
{
	struct hl_err ignored = { 0 };
	int fd HL_AUTO_FD = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && hl_read_file(fd, text, path, HLI_02, &ignored) == 0;
}

/* The start time of a process, "0" when there is none: a zombie is none, its parent only has not
 * looked. false when it cannot be read. Fields of /proc/PID/stat are counted behind the name in
 * parentheses (proc(5)). */
static bool
start_time(const char *path, char text[32])
{
	struct hl_buf stat;

	snprintf(text, 32, "0");
	hl_buf_init(&stat, STAT_MAX);
	bool is_read = read_small(path, &stat);
	if (is_read) {
		const char *at = strrchr(stat.data, ')');
		bool is_alive = true;
		for (int field = 2; at != NULL && field < FIELD_START; field++) {
			at = strchr(at + 1, ' ');
			if (at != NULL && field + 1 == FIELD_STATE)
				is_alive = at[1] != 'Z' && at[1] != 'X';
		}
		if (at != NULL && is_alive)
			snprintf(text, 32, "%.20s", at + 1);
	}
	text[strcspn(text, " ")] = '\0';
	hl_buf_done(&stat);
	return is_read;
}

void
docker_owner_here(char text[DOCKER_OWNER_SIZE])
{
	struct hl_buf boot;
	struct stat st;

	hl_buf_init(&boot, 128);
	if (!read_small("/proc/sys/kernel/random/boot_id", &boot))
		hl_buf_reset(&boot);
	if (stat("/proc/self/ns/pid", &st) != 0)
		st.st_ino = 0;
	snprintf(text, DOCKER_OWNER_SIZE, ":%ju:%.40s", (uintmax_t)st.st_ino, boot.data);
	text[strcspn(text, "\n")] = '\0';
	hl_buf_done(&boot);
}

void
docker_owner(char owner[DOCKER_OWNER_SIZE])
{
	char here[DOCKER_OWNER_SIZE], started[32];

	docker_owner_here(here);
	(void)!start_time("/proc/self/stat", started); /* "0" is nobody's: never taken for dead */
	snprintf(owner, DOCKER_OWNER_SIZE, "%d:%s%.80s", (int)getpid(), started, here);
}

static bool
is_gone(const char *owner, size_t pid_len)
{
	char text[16];
	uint64_t pid;
	struct hl_err ignored;

	snprintf(text, sizeof(text), "%.*s", (int)pid_len, owner);
	return hl_parse_u64(text, 1, INT_MAX, &pid, &ignored) == 0 && kill((pid_t)pid, 0) != 0 &&
	       errno == ESRCH;
}

enum docker_owner_state
docker_owner_look(const char *owner)
{
	char here[DOCKER_OWNER_SIZE], path[64], started[32];
	size_t pid_len = strspn(owner, "0123456789");
	const char *start = owner + pid_len + 1;
	size_t start_len;

	if (pid_len == 0 || pid_len > 10 || owner[pid_len] != ':')
		return DOCKER_OWNER_MALFORMED;
	start_len = strspn(start, "0123456789");
	if (start_len == 0 || start_len > 20 || start[start_len] != ':')
		return DOCKER_OWNER_MALFORMED;
	docker_owner_here(here);
	/* One that has no boot id may be any host's. */
	if (strcmp(start + start_len, here) != 0 || here[strlen(here) - 1] == ':')
		return DOCKER_OWNER_ELSEWHERE;
	snprintf(path, sizeof(path), "/proc/%.*s/stat", (int)pid_len, owner);
	/* One that is there and cannot be looked at (hidepid, another user's) is not dead. */
	bool is_read = start_time(path, started);
	if (!is_read && !is_gone(owner, pid_len))
		return DOCKER_OWNER_ELSEWHERE;
	if (start_len == 1 && start[0] == '0')
		return DOCKER_OWNER_ELSEWHERE;
	bool lives = strlen(started) == start_len && memcmp(started, start, start_len) == 0;
	return lives ? DOCKER_OWNER_LIVES : DOCKER_OWNER_DEAD;
}
