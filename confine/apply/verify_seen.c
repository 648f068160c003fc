/*
 * What an engine says it did, looked at from inside: the mounts it made, the control group, the
 * user namespace, the variables that it gave its first process. An engine's own mounts are known by
 * their place and their kind of file system, and may be written at few places only, so that a
 * directory of the host is none of them wherever it is put. Only beside a graphics processor, whose
 * driver's runtime binds what no policy lists, does a regular file of the host's pass, read-only
 * and below few directories; and by their names on both sides two sockets, and what is below one
 * directory.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "confine/apply/apply.h"
#include "confine/apply/verify.h"

#include "base/banned.h"

enum {
	PATH_TEXT_MAX = 256,
	LIMIT_TEXT_MAX = 64,
};

/* ------------------------------------------------------------------------------------------------
 * Mounts
 */
enum own_form {
	OWN_WHOLE, /* a file system made for this, and so not a directory of one; may be written */
	OWN_READ_ONLY,
	OWN_NODE,   /* one device and nothing else: whether it may be written says the device */
	OWN_FILE,   /* one regular file; may be written */
	OWN_PART,   /* of a driver: one regular file, read-only and with no other power */
	OWN_SOCKET, /* the same, and a socket; a mount that is read-only does not stop connect(2) */
	OWN_PARTS   /* the same, and a regular file or a directory */
};

struct engines_own {
	const char *place;
	bool is_tree; /* also everything beneath */
	enum own_form form;
	const char *kinds; /* of file systems, with a comma around each; NULL = any */
	/* The end of place: what is mounted must have it too, with what follows. NULL = any. */
	const char *tail;
};

/* Kernel files that are covered are so by an empty tmpfs, read-only, or by /dev/null; /proc/sys and
 * kin are proc itself, read-only. Control groups of version 1 are mounted in a tmpfs that stays
 * writable. An engine that may make no devices binds the host's, those that the policy lists among
 * them. Names in /etc and /run are files of the engine's own. */
static const struct engines_own own[] = {
	{ "/proc", false, OWN_WHOLE, ",proc,", NULL },
	{ "/proc", true, OWN_READ_ONLY, ",proc,tmpfs,", NULL },
	{ "/proc", true, OWN_NODE, ",tmpfs,devtmpfs,", NULL },
	{ "/sys", true, OWN_READ_ONLY, ",sysfs,cgroup,cgroup2,tmpfs,", NULL },
	{ "/sys", true, OWN_NODE, ",tmpfs,", NULL },
	{ "/sys/fs/cgroup", false, OWN_WHOLE, ",tmpfs,", NULL },
	{ "/dev", false, OWN_WHOLE, ",tmpfs,", NULL },
	{ "/dev/shm", false, OWN_WHOLE, ",tmpfs,", NULL },
	{ "/dev/pts", false, OWN_WHOLE, ",devpts,", NULL },
	{ "/dev/mqueue", false, OWN_WHOLE, ",mqueue,", NULL },
	{ "/dev", true, OWN_NODE, ",tmpfs,devtmpfs,devpts,", NULL },
	{ "/etc/hostname", false, OWN_FILE, NULL, NULL },
	{ "/etc/hosts", false, OWN_FILE, NULL, NULL },
	{ "/etc/resolv.conf", false, OWN_FILE, NULL, NULL },
	{ "/run/.containerenv", false, OWN_FILE, NULL, NULL },
};

/* What the runtime of a graphics driver binds of the host's: the driver's libraries, programs and
 * settings, its firmware, and the sockets of its services. Its nodes are below /dev, as any. The
 * engine, its runtime or a description of theirs may bind other sockets, the engine's own among
 * them, and other directories: none of those is a driver's. */
static const struct engines_own drivers[] = {
	{ "/usr", true, OWN_PART, NULL, NULL },
	{ "/lib", true, OWN_PART, NULL, NULL },
	{ "/lib64", true, OWN_PART, NULL, NULL },
	{ "/etc", true, OWN_PART, NULL, NULL },
	{ "/run/nvidia-persistenced/socket", false, OWN_SOCKET, NULL,
	    "/nvidia-persistenced/socket" },
	{ "/run/nvidia-fabricmanager/socket", false, OWN_SOCKET, NULL,
	    "/nvidia-fabricmanager/socket" },
	{ "/var/run/nvidia-persistenced/socket", false, OWN_SOCKET, NULL,
	    "/nvidia-persistenced/socket" },
	{ "/var/run/nvidia-fabricmanager/socket", false, OWN_SOCKET, NULL,
	    "/nvidia-fabricmanager/socket" },
	{ "/lib/firmware/nvidia", true, OWN_PARTS, NULL, "/firmware/nvidia" },
	{ "/usr/lib/firmware/nvidia", true, OWN_PARTS, NULL, "/firmware/nvidia" },
};

/* The kind behind the separator: "... - tmpfs tmpfs rw,size=64k". */
static const char *
kind_of(const char *rest)
{
	if (strncmp(rest, "- ", 2) == 0)
		return rest + 2;
	const char *at = strstr(rest, " - ");
	return at != NULL ? at + 3 : "";
}

static bool
is_kind(const char *kinds, const char *kind)
{
	size_t len = strcspn(kind, " ");

	for (const char *at = kinds; (at = strchr(at, ',')) != NULL && at[1] != '\0'; at++)
		if (strncmp(at + 1, kind, len) == 0 && at[1 + len] == ',' && len > 0)
			return true;
	return false;
}

/* The one thing that the text does not say. Of mounts at one place the last is what is found there,
 * and those below it nobody can reach. 0 = not known. */
static mode_t
type_at(const char *place)
{
	struct stat st;

	return lstat(place, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

static bool
is_powerless(const struct verify_mount *mount)
{
	return verify_has_option(mount->options, "ro") &&
	       verify_has_option(mount->options, "nosuid") &&
	       verify_has_option(mount->options, "nodev");
}

static bool
has_form(enum own_form form, const struct verify_mount *mount)
{
	switch (form) {
	case OWN_WHOLE:
		return strcmp(mount->root, "/") == 0;
	case OWN_READ_ONLY:
		return verify_has_option(mount->options, "ro");
	case OWN_NODE: {
		mode_t type = type_at(mount->place);
		return type == S_IFCHR || type == S_IFBLK;
	}
	case OWN_FILE:
		return type_at(mount->place) == S_IFREG;
	case OWN_PART:
		return type_at(mount->place) == S_IFREG && is_powerless(mount);
	case OWN_SOCKET:
		return type_at(mount->place) == S_IFSOCK && is_powerless(mount);
	case OWN_PARTS: {
		mode_t type = type_at(mount->place);
		return (type == S_IFREG || type == S_IFDIR) && is_powerless(mount);
	}
	}
	return false;
}

/* The root is escaped as in the text: of a name with blanks the ends differ. */
static bool
has_tail(const struct engines_own *row, const struct verify_mount *mount)
{
	if (row->tail == NULL)
		return true;
	const char *tail = mount->place + strlen(row->place) - strlen(row->tail);
	size_t len = strlen(tail), root_len = strlen(mount->root);
	return root_len >= len && strcmp(mount->root + root_len - len, tail) == 0;
}

static bool
is_one_of(const struct engines_own *rows, size_t len, const struct verify_mount *mount)
{
	const char *kind = kind_of(mount->rest);

	for (size_t i = 0; i < len; i++) {
		bool is_there = rows[i].is_tree ? apply_is_beneath(mount->place, rows[i].place)
						: strcmp(mount->place, rows[i].place) == 0;
		if (is_there && (rows[i].kinds == NULL || is_kind(rows[i].kinds, kind)) &&
		    has_tail(&rows[i], mount) && has_form(rows[i].form, mount))
			return true;
	}
	return false;
}

/* "size=65536k" among the options of the file system, which the kernel rounds up to pages. */
static bool
has_size(const char *rest, uint64_t wanted)
{
	const char *at = strstr(kind_of(rest), "size=");
	uint64_t kib;

	return at != NULL && verify_numbers(at + 5, 10, &kib, 1) == 1 &&
	       kib == (wanted + CONFINE_PAGE - 1) / CONFINE_PAGE * 4;
}

static bool
is_as_asked(const struct confine_op *op, const struct verify_mount *mount)
{
	const char *options = mount->options, *rest = mount->rest;

	if ((op->flags & CONFINE_OP_RDONLY) != 0 && !verify_has_option(options, "ro"))
		return false;
	if (op->kind != CONFINE_OP_TMPFS)
		return true;
	return is_kind(",tmpfs,", kind_of(rest)) && verify_has_option(options, "nosuid") &&
	       verify_has_option(options, "nodev") &&
	       ((op->flags & CONFINE_OP_NOEXEC) == 0 || verify_has_option(options, "noexec")) &&
	       (op->size == 0 || has_size(rest, op->size));
}

bool
verify_seen_mount(const struct confinement *confinement, const struct verify_mount *mount,
    const char **ret_subject)
{
	for (size_t i = confinement->ops_len; i-- > 0;) {
		const struct confine_op *op = &confinement->ops[i];
		*ret_subject = op->dst;
		if (strcmp(op->dst, mount->place) == 0)
			return is_as_asked(op, mount);
	}
	/* The text is gone when this is told: only what is asked for has a name then. */
	*ret_subject = "a mount that was not asked for";
	return strcmp(mount->place, "/") == 0 || is_one_of(own, HL_ARRAY_SIZE(own), mount) ||
	       ((confinement->flags & CONFINE_SEEN_DRIVER) != 0 &&
		   is_one_of(drivers, HL_ARRAY_SIZE(drivers), mount));
}

/* ------------------------------------------------------------------------------------------------
 * Limits
 */
struct limit {
	const char *subject;
	enum confine_limit kind;
	/* Control groups of version 2, then 1 (cgroups(7)); there one file behind the other. */
	const char *files[2][2];
	size_t offset;
};

static const struct limit limits[] = {
	{ "limits.pids", CONFINE_LIMIT_PIDS,
	    { { "/sys/fs/cgroup/pids.max" }, { "/sys/fs/cgroup/pids/pids.max" } },
	    offsetof(struct confinement, seen_pids) },
	{ "limits.memory", CONFINE_LIMIT_MEMORY,
	    { { "/sys/fs/cgroup/memory.max" }, { "/sys/fs/cgroup/memory/memory.limit_in_bytes" } },
	    offsetof(struct confinement, seen_memory) },
	{ "limits.cpus", CONFINE_LIMIT_CPUS,
	    { { "/sys/fs/cgroup/cpu.max" },
		{ "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us" } },
	    offsetof(struct confinement, seen_cpus) },
};

/* 1 read, 0 not in sight, -1 it is there and cannot be read. */
static int
read_file(const char *root, const char *file, char *text, size_t size)
{
	char path[PATH_TEXT_MAX];
	size_t len = strlen(root), file_len = strlen(file);

	if (len + file_len >= sizeof(path))
		return -1;
	memcpy(path, root, len);
	memcpy(path + len, file, file_len + 1);
	int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	ssize_t n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? 1 : -1;
}

static int
read_limit(const char *root, const char *const files[2], char text[LIMIT_TEXT_MAX])
{
	int status = read_file(root, files[0], text, LIMIT_TEXT_MAX);
	size_t len = strlen(text);

	if (status > 0 && files[1] != NULL &&
	    read_file(root, files[1], text + len, LIMIT_TEXT_MAX - len) != 1)
		return -1;
	return status;
}

int
verify_seen_limits(const struct confinement *confinement, const char *root, bool *ret_all,
    struct confine_failure *ret_failure)
{
	*ret_all = true;
	for (size_t i = 0; i < HL_ARRAY_SIZE(limits); i++) {
		char text[LIMIT_TEXT_MAX] = "";
		uint64_t wanted;
		memcpy(&wanted, (const char *)confinement + limits[i].offset, sizeof(wanted));
		if (limits[i].kind == CONFINE_LIMIT_PIDS &&
		    (confinement->flags & CONFINE_SEEN_NPROC) != 0)
			continue;
		int status = 0;
		for (size_t at = 0; at < 2 && wanted != 0 && status == 0; at++)
			status = read_limit(root, limits[i].files[at], text);
		if (status < 0 || (status > 0 && !confine_limit_is(limits[i].kind, text, wanted)))
			return verify_differs(ret_failure, limits[i].subject);
		*ret_all = *ret_all && (wanted == 0 || status > 0);
	}
	return 0;
}

int
verify_seen_nproc(const struct confinement *confinement, struct confine_failure *ret_failure)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur == confinement->seen_pids &&
	    limit.rlim_max == confinement->seen_pids)
		return 0;
	return verify_differs(ret_failure, "limits.pids");
}

/* ------------------------------------------------------------------------------------------------
 * The user namespace
 */
int
verify_kept_id(const struct confinement *confinement, const char *uid_map, const char *gid_map,
    struct confine_failure *ret_failure)
{
	uint32_t outside;

	if (!confine_id_outside(uid_map, confinement->uid, &outside) || outside != 0)
		return verify_differs(ret_failure, "uid_map");
	if (!confine_id_outside(gid_map, confinement->gid, &outside) || outside != 0)
		return verify_differs(ret_failure, "gid_map");
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The environment
 */
static bool
is_name_of(const char *names, const char *name, size_t len)
{
	for (const char *at = names; *at != '\0';) {
		size_t n = strcspn(at, "\n");
		if (n == len && memcmp(at, name, n) == 0)
			return true;
		at += n + (at[n] == '\n' ? 1 : 0);
	}
	return false;
}

int
verify_seen_env(const struct confinement *confinement, char *const *environment,
    struct confine_failure *ret_failure)
{
	/* Only the name is for a message: the value may be private. */
	for (; *environment != NULL; environment++)
		if (!is_name_of(confinement->seen_env, *environment, strcspn(*environment, "=")))
			return verify_differs(ret_failure, "a variable that was not asked for");
	return 0;
}
