/*
 * Verify from inside: what the kernel says about us after the lock, compared with what was asked.
 * Nothing here believes a return value of apply; everything is read back from /proc/self, where the
 * faults of other launchers were found: sub-mounts left writable, descriptors left open, a
 * capability set or filter that was never there.
 */
#include "confine/apply/verify.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "confine/apply/apply.h"

#include "base/banned.h"

int
verify_differs(struct confine_failure *failure, const char *subject)
{
	failure->step = CONFINE_STEP_VERIFY;
	failure->sys_errno = 0;
	failure->subject = subject;
	return -1;
}

static int
cannot_read(struct confine_failure *failure, const char *subject)
{
	failure->step = CONFINE_STEP_VERIFY;
	failure->sys_errno = errno;
	failure->subject = subject;
	return -1;
}

/* For reading. A root from outside may hold a /proc of its own, which says what its owner wrote. */
static int
open_proc(const char *path, int flags)
{
	int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | flags);

	if (fd < 0 || apply_check_proc(fd) == 0)
		return fd;
	int saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

enum {
	NUMBERS_MAX = 64 /* of one line */
};

size_t
verify_numbers(const char *text, unsigned base, uint64_t *ret, size_t max)
{
	size_t n = 0;

	while (n < max) {
		uint64_t number = 0;
		bool has_digit = false;
		while (*text == ' ' || *text == '\t')
			text++;
		for (;; text++) {
			char c = *text;
			unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
					 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
								: 16;
			if (digit >= base || number > (UINT64_MAX - digit) / base)
				break;
			number = number * base + digit;
			has_digit = true;
		}
		if (!has_digit)
			break;
		ret[n++] = number;
	}
	return n;
}

/* A line of status, the flags of which any makes it matter, and the test. */
struct check {
	const char *key;
	uint32_t flags;
	unsigned base;
	bool (*holds)(const struct confinement *confinement, const uint64_t *found, size_t n);
};

static bool
holds_uid(const struct confinement *confinement, const uint64_t *found, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (found[i] != confinement->uid)
			return false;
	return n == 4;
}

static bool
holds_gid(const struct confinement *confinement, const uint64_t *found, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (found[i] != confinement->gid)
			return false;
	return n == 4;
}

/* A group that is there besides the main one may be that one again. */
static bool
holds_groups(const struct confinement *confinement, const uint64_t *found, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (found[i] != confinement->gid)
			return false;
	return n < NUMBERS_MAX; /* what did not fit was not looked at */
}

static bool
holds_no_zero(const struct confinement *confinement, const uint64_t *found, size_t n)
{
	(void)confinement;
	for (size_t i = 0; i < n; i++)
		if (found[i] == 0)
			return false;
	return n < NUMBERS_MAX;
}

static bool
holds_ids_but_root(const struct confinement *confinement, const uint64_t *found, size_t n)
{
	return n == 4 && holds_no_zero(confinement, found, n);
}

static bool
holds_none(const struct confinement *confinement, const uint64_t *found, size_t n)
{
	(void)confinement;
	return n == 1 && found[0] == 0;
}

static bool
holds_effective(const struct confinement *confinement, const uint64_t *found, size_t n)
{
	return n == 1 && found[0] == confinement->caps_effective;
}

/* The kernel may know fewer capabilities than were named; more than asked is the fault. */
static bool
holds_bounding(const struct confinement *confinement, const uint64_t *found, size_t n)
{
	return n == 1 && (found[0] & ~confinement->caps_bounding) == 0;
}

static bool
holds_one(const struct confinement *confinement, const uint64_t *found, size_t n)
{
	(void)confinement;
	return n == 1 && found[0] == 1;
}

static bool
holds_filter(const struct confinement *confinement, const uint64_t *found, size_t n)
{
	(void)confinement;
	return n == 1 && found[0] == 2;
}

static const struct check checks[] = {
	{ "Uid:", CONFINE_IDENTITY | CONFINE_SEEN_IDENTITY, 10, holds_uid },
	{ "Gid:", CONFINE_IDENTITY | CONFINE_SEEN_IDENTITY, 10, holds_gid },
	{ "Groups:", CONFINE_SEEN_GROUPS, 10, holds_groups },
	{ "Uid:", CONFINE_SEEN_NOT_ROOT, 10, holds_ids_but_root },
	{ "Gid:", CONFINE_SEEN_NOT_ROOT, 10, holds_ids_but_root },
	{ "Groups:", CONFINE_SEEN_NO_ROOT_GROUP, 10, holds_no_zero },
	{ "CapInh:", CONFINE_CAPS, 16, holds_none },
	{ "CapPrm:", CONFINE_CAPS, 16, holds_effective },
	{ "CapEff:", CONFINE_CAPS, 16, holds_effective },
	{ "CapBnd:", CONFINE_CAPS, 16, holds_bounding },
	{ "CapAmb:", CONFINE_CAPS, 16, holds_none },
	{ "CapInh:", CONFINE_SEEN_CAPS, 16, holds_bounding },
	{ "CapPrm:", CONFINE_SEEN_CAPS, 16, holds_bounding },
	{ "CapEff:", CONFINE_SEEN_CAPS, 16, holds_bounding },
	{ "CapBnd:", CONFINE_SEEN_CAPS, 16, holds_bounding },
	{ "CapAmb:", CONFINE_SEEN_CAPS, 16, holds_bounding },
	{ "NoNewPrivs:", CONFINE_NO_NEW_PRIVS, 10, holds_one },
	{ "Seccomp:", CONFINE_SECCOMP | CONFINE_SEEN_SECCOMP, 10, holds_filter },
};

int
verify_status_text(const struct confinement *confinement, const char *text,
    struct confine_failure *ret_failure)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(checks); i++) {
		const struct check *check = &checks[i];
		uint64_t found[NUMBERS_MAX];
		if ((confinement->flags & check->flags) == 0)
			continue;
		/* The name of the process comes first and is escaped: no newline of its own. */
		const char *line = text;
		size_t len = strlen(check->key);
		while (line != NULL && strncmp(line, check->key, len) != 0) {
			line = strchr(line, '\n');
			if (line != NULL)
				line++;
		}
		if (line == NULL ||
		    !check->holds(confinement, found,
			verify_numbers(line + len, check->base, found, HL_ARRAY_SIZE(found))))
			return verify_differs(ret_failure, check->key);
	}
	return 0;
}

enum {
	TEXT_MAX = 4096
};

static int
read_proc(const char *path, char text[TEXT_MAX], struct confine_failure *ret_failure)
{
	size_t len = 0;
	HL_AUTO_FD int fd = open_proc(path, 0);

	if (fd < 0)
		return cannot_read(ret_failure, path);
	while (len < TEXT_MAX - 1) {
		ssize_t n = read(fd, text + len, TEXT_MAX - 1 - len);
		if (n < 0)
			return cannot_read(ret_failure, path);
		if (n == 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	return 0;
}

static int
verify_status(const struct confinement *confinement, struct confine_failure *ret_failure)
{
	char text[TEXT_MAX];

	if (read_proc("/proc/self/status", text, ret_failure) != 0 ||
	    verify_status_text(confinement, text, ret_failure) != 0)
		return -1;
	int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
	if ((confinement->flags & CONFINE_CAPS) != 0 &&
	    (bits < 0 || (unsigned)bits != apply_securebits_wanted(confinement)))
		return verify_differs(ret_failure, "securebits");
	return 0;
}

/* A map that is longer than the text is cut, and then no map. */
static int
verify_user_namespace(const struct confinement *confinement, struct confine_failure *ret_failure)
{
	char uids[TEXT_MAX], gids[TEXT_MAX];

	if (read_proc("/proc/self/uid_map", uids, ret_failure) != 0 ||
	    read_proc("/proc/self/gid_map", gids, ret_failure) != 0)
		return -1;
	return verify_kept_id(confinement, uids, gids, ret_failure);
}

/* Text rather than statmount(2) (Linux 6.8): 41 mounts take 32 us as mountinfo, in three reads, and
 * 85 us by listmount(2) and a call for each. */
static int
verify_mounts(const struct confinement *confinement, struct confine_failure *ret_failure)
{
	struct verify_mounts mounts = { .confinement = confinement };
	char chunk[4096];
	int fd = open_proc("/proc/self/mountinfo", 0);
	ssize_t n;

	if (fd < 0)
		return cannot_read(ret_failure, "/proc/self/mountinfo");
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		if (verify_mounts_feed(&mounts, chunk, (size_t)n, ret_failure) != 0)
			return -1;
	if (n < 0)
		return cannot_read(ret_failure, "/proc/self/mountinfo");
	close(fd);
	return verify_mounts_end(&mounts, ret_failure);
}

struct directory_entry {
	uint64_t ino;
	int64_t offset;
	unsigned short size;
	unsigned char type;
	char name[];
};

/* Nothing above keep_fd but the descriptor of this directory itself. */
static int
verify_descriptors(int keep_fd, struct confine_failure *ret_failure)
{
	char entries[2048];
	int fd = open_proc("/proc/self/fd", O_DIRECTORY);
	long n;

	if (fd < 0)
		return cannot_read(ret_failure, "/proc/self/fd");
	while ((n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < n;) {
			struct directory_entry entry;
			uint64_t number;
			memcpy(&entry, entries + at, sizeof(entry));
			const char *name = entries + at + offsetof(struct directory_entry, name);
			if (verify_numbers(name, 10, &number, 1) == 1 &&
			    number > (uint64_t)keep_fd && number != (uint64_t)fd)
				return verify_differs(ret_failure, "an open descriptor");
			at += entry.size;
		}
	if (n < 0)
		return cannot_read(ret_failure, "/proc/self/fd");
	close(fd);
	return 0;
}

int
confine_verify(const struct confinement *confinement, int keep_fd, uint32_t *ret_read,
    struct confine_failure *ret_failure)
{
	bool has_limits = false;

	if (verify_status(confinement, ret_failure) != 0)
		return -1;
	if ((confinement->flags & CONFINE_SEEN_KEPT_ID) != 0 &&
	    verify_user_namespace(confinement, ret_failure) != 0)
		return -1;
	if ((confinement->flags & CONFINE_SEEN_NPROC) != 0 &&
	    verify_seen_nproc(confinement, ret_failure) != 0)
		return -1;
	if ((confinement->flags & (CONFINE_MOUNTS | CONFINE_SEEN_MOUNTS)) != 0 &&
	    verify_mounts(confinement, ret_failure) != 0)
		return -1;
	if ((confinement->flags & CONFINE_SEEN_LIMITS) != 0 &&
	    verify_seen_limits(confinement, "", &has_limits, ret_failure) != 0)
		return -1;
	if ((confinement->flags & CONFINE_SEEN_ENV) != 0 &&
	    verify_seen_env(confinement, environ, ret_failure) != 0)
		return -1;
	*ret_read = confinement->flags & ~(has_limits ? 0U : (uint32_t)CONFINE_SEEN_LIMITS);
	return verify_descriptors(keep_fd, ret_failure);
}
