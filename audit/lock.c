/*
 * The lock of a log, flock(2) on a file that holds nothing. Never a blocking flock: a holder that
 * was stopped (SIGSTOP) would stop everybody for ever. Who holds it is asked of /proc/locks when
 * the wait was too long, so that the fast path writes no pid.
 */
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

enum {
	WAIT_FIRST_NS = 20000,
	WAIT_MAX_NS = 2000000
};

/* "1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF": proc_locks(5). 0 = not found. */
static unsigned long
holder(int fd)
{
	char text[12288];
	char file[64];
	struct stat st;
	int HL_AUTO_FD locks = open("/proc/locks", O_RDONLY | O_CLOEXEC);

	if (locks < 0 || fstat(fd, &st) != 0)
		return 0;
	ssize_t n = hl_read_full(locks, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	snprintf(file, sizeof(file), " %02x:%02x:%llu ", major(st.st_dev), minor(st.st_dev),
	    (unsigned long long)st.st_ino);
	const char *found = strstr(text, file);
	if (found == NULL)
		return 0;
	unsigned long pid = 0, factor = 1;
	for (const char *digit = found - 1; digit > text && *digit >= '0' && *digit <= '9';
	     digit--, factor *= 10)
		pid += (unsigned long)(*digit - '0') * factor;
	return pid;
}

static int
timed_out(int fd, const char *what, struct hl_err *err)
{
	unsigned long pid = holder(fd);

	if (pid == 0)
		return hl_err_set(err, HLA_04, "%s is locked by another process", what);
	hl_err_set(err, HLA_04, "%s is locked by process %lu", what, pid);
	return hl_err_help(err, "see what it waits for: ps -o pid,stat,wchan,args -p %lu", pid);
}

static int64_t
size_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? (int64_t)st.st_size : -1;
}

int
audit_lock_take(int fd, int growing, const char *what, struct hl_err *err)
{
	struct timespec wait = { 0, WAIT_FIRST_NS };
	uint64_t deadline = 0, last = 0;
	int64_t size = 0;

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return hl_err_sys(err, HLA_01, "cannot lock %s", what);
		uint64_t now = hl_now_mono_ms();
		if (deadline == 0) {
			deadline = now + LOCK_WAIT_MS;
			last = now + LOCK_CROWD_MS;
			size = size_of(growing);
		}
		/* A thousand that end at one moment take turns: that is a queue and no fault. */
		if (now >= deadline && now < last && size_of(growing) != size) {
			deadline = now + LOCK_WAIT_MS;
			size = size_of(growing);
		}
		if (now >= deadline)
			return timed_out(fd, what, err);
		nanosleep(&wait, NULL);
		/* Not all of the crowd at the same moment: the clock's low bits part them. */
		wait.tv_nsec = wait.tv_nsec * 2 + (long)(hl_now_real_us() % 16) * 1000;
		if (wait.tv_nsec > WAIT_MAX_NS)
			wait.tv_nsec = WAIT_FIRST_NS * 4;
	}
	return 0;
}

void
audit_lock_drop(int fd)
{
	int saved = errno;

	/* Cannot fail on a descriptor that holds the lock, flock(2). */
	(void)flock(fd, LOCK_UN);
	errno = saved;
}
