/*
 * Devices of the host for the command (fs.devices). A device node is a door into the kernel that no
 * mount and no mode of a directory stands in front of, so what a policy names is looked at before
 * anything is built: it is opened without being touched (O_PATH), it has to be a device, to lie in
 * /dev whatever links led there, and to be none of those that would give the host away
 * (launcher/devices.def). Judged are number and names, the kernel's own among them, because a node
 * can be made under any name.
 */
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

#define ANY UINT32_MAX

struct device_row {
	uint32_t major, last_major, minor, last_minor;
	const char *name;
	const char *reason;
};

static const struct device_row rows[] = {
#define DEVICE(major, last_major, minor, last_minor, name, reason) \
 { major, last_major, minor, last_minor, name, reason },
#include "launcher/devices.def"
#undef DEVICE
};

/* What is forbidden is told by these. */
struct device_names {
	const char *asked, *resolved;
	char kernel[PATH_MAX]; /* "../../devices/virtual/misc/tun"; "" = none */
};

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool
has_name(const struct device_row *row, const struct device_names *names)
{
	if (row->name[0] == '\0')
		return false;
	if (strchr(row->name, '/') != NULL)
		return fnmatch(row->name, names->kernel, 0) == 0;
	return fnmatch(row->name, last_part(names->asked), 0) == 0 ||
	       fnmatch(row->name, last_part(names->resolved), 0) == 0 ||
	       fnmatch(row->name, last_part(names->kernel), 0) == 0;
}

static bool
has_number(const struct device_row *row, uint64_t rdev)
{
	uint32_t number_major = major(rdev), number_minor = minor(rdev);

	return row->major != 0 && number_major >= row->major && number_major <= row->last_major &&
	       number_minor >= row->minor && number_minor <= row->last_minor;
}

/* The number of the terminal that controls this process, 0 where there is none. */
static int
find_terminal(uint64_t *ret_rdev, struct hl_err *err)
{
	unsigned number = 0;
	HL_AUTO_FD int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	/* /dev/tty has a number of its own; that of the terminal is told in the kernel's form of
	 * it, minor number in the low byte and above the twentieth bit. */
	if (fd < 0 || syscall(SYS_ioctl, fd, (unsigned long)TIOCGDEV, &number) != 0) {
		if (errno != ENXIO && errno != ENOTTY)
			return hl_err_sys(err, HLU_10, "cannot find the terminal of the caller");
		number = 0;
	}
	*ret_rdev = makedev((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xfff00));
	return 0;
}

/* The terminal that the launcher was called from, whatever its number: who reads it reads what the
 * caller types, and who writes it can answer in the caller's name. */
static int
is_terminal_of_caller(uint64_t rdev, bool *ret_is, struct hl_err *err)
{
	uint64_t terminal = 0;
	struct stat st;

	*ret_is = false;
	for (int fd = 0; fd < 3 && !*ret_is; fd++) {
		if (!isatty(fd))
			continue;
		if (fstat(fd, &st) != 0)
			return hl_err_sys(err, HLU_10, "cannot find the terminal of the caller");
		*ret_is = st.st_rdev == rdev;
	}
	if (*ret_is)
		return 0;
	if (find_terminal(&terminal, err) != 0)
		return -1;
	*ret_is = terminal != 0 && terminal == rdev;
	return 0;
}

/* A disk is read past every permission of its file system. Loop and ram disks hold what somebody
 * put there for a purpose. */
static bool
is_harmless_block(uint64_t rdev)
{
	enum {
		MAJOR_RAM = 1,
		MAJOR_LOOP = 7
	};

	return major(rdev) == MAJOR_RAM || major(rdev) == MAJOR_LOOP;
}

/* The reason of the first row that fits; rdev 0 fits none. */
static const char *
find_row(uint64_t rdev, const struct device_names *names)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++)
		if (has_number(&rows[i], rdev) || has_name(&rows[i], names))
			return rows[i].reason;
	return NULL;
}

/* Any terminal can be the kernel's console, a serial line too: those that are stand in a file of
 * sysfs, by the kernel's names ("tty0 ttyS0"). A kernel without consoles has no such file. */
static int
is_console(int sys_dev, const struct device_names *names, bool *ret_is, struct hl_err *err)
{
	HL_AUTO_FD int fd =
	    openat(sys_dev, "../../class/tty/console/active", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char text[512], *rest = text;

	*ret_is = false;
	if (fd < 0 && errno == ENOENT)
		return 0;
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len < 0)
		return hl_err_sys(err, HLU_10, "cannot read which are the consoles of this host");
	if ((size_t)len == sizeof(text) - 1)
		return hl_err_set(err, HLU_10, "this host has too many consoles to tell them all");
	text[len] = '\0';
	for (char *name; (name = strsep(&rest, " \n")) != NULL;)
		*ret_is =
		    *ret_is || (name[0] != '\0' && strcmp(name, last_part(names->kernel)) == 0);
	return 0;
}

/* What the kernel calls the device, and whether it is a console. A number that it knows no device
 * of has no name; where there is no asking it, rows that go by that name would be passed over. */
static int
read_kernel_name(uint64_t rdev, struct device_names *names, bool *ret_is_console,
    struct hl_err *err)
{
	HL_AUTO_FD int dir = open("/sys/dev/char", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	char link[32];

	if (dir < 0 || fstatfs(dir, &fs) != 0)
		return hl_err_sys(err, HLU_10, "cannot read the kernel's names of devices");
	if (fs.f_type != SYSFS_MAGIC)
		return hl_err_set(err, HLU_10,
		    "cannot read the kernel's names of devices: '/sys' is not sysfs");
	snprintf(link, sizeof(link), "%u:%u", major(rdev), minor(rdev));
	ssize_t len = readlinkat(dir, link, names->kernel, sizeof(names->kernel));
	if (len < 0 && errno == ENOENT)
		len = 0;
	if (len < 0)
		return hl_err_sys(err, HLU_10, "cannot read the kernel's name of device %s", link);
	if ((size_t)len >= sizeof(names->kernel))
		return hl_err_set(err, HLU_10, "the kernel's name of device %s is too long", link);
	names->kernel[len] = '\0';
	return is_console(dir, names, ret_is_console, err);
}

/* Why the device is never given, NULL: it can be. */
static int
find_reason(const struct plan_source *source, struct device_names *names, const char **ret_reason,
    struct hl_err *err)
{
	bool is_terminal, is_a_console;

	*ret_reason = NULL;
	if (S_ISBLK(source->mode)) {
		*ret_reason = is_harmless_block(source->rdev) ? NULL : "a disk of this host";
		return 0;
	}
	if (is_terminal_of_caller(source->rdev, &is_terminal, err) != 0 ||
	    read_kernel_name(source->rdev, names, &is_a_console, err) != 0)
		return -1;
	*ret_reason = is_terminal    ? "the terminal of the caller"
		      : is_a_console ? "a console of this host"
				     : find_row(source->rdev, names);
	return 0;
}

static int
forbid(const char *path, const char *why, struct hl_err *err)
{
	hl_err_set(err, HLC_76, "device '%.200s' is %s", path, why);
	return hl_err_help(err, "remove it from fs.devices");
}

/* Places in /dev that every sandbox has of its own, or where anybody may make a link. */
static bool
is_place_of_others(const char *path)
{
	static const char *const places[] = { "/dev/fd", "/dev/mqueue", "/dev/pts", "/dev/shm",
		"/dev/stderr", "/dev/stdin", "/dev/stdout" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(places); i++)
		if (hl_path_is_beneath(path, places[i]))
			return true;
	return false;
}

/* By what fs.deny says: the built-in list has /dev as a whole, which is why there is fs.devices. */
static int
check_denied(const struct fs_scope *scope, const char *asked, const char *resolved,
    struct hl_err *err)
{
	for (size_t i = 0; i < scope->deny.len; i++) {
		const struct deny_entry *entry = &scope->deny.items[i];
		if (entry->class != DENY_AUTHORED ||
		    (!hl_path_is_beneath(asked, entry->path) &&
			!hl_path_is_beneath(resolved, entry->path)))
			continue;
		hl_err_set(err, HLC_72, "device '%.200s' is covered by '%.200s'", asked,
		    entry->path);
		err->where = entry->origin.where;
		return hl_err_help(err, "take it out of fs.deny, or out of fs.devices");
	}
	return 0;
}

static int
check_device(const struct fs_scope *scope, const char *asked, const struct plan_source *source,
    struct hl_err *err)
{
	struct device_names names = { .asked = asked, .resolved = source->path };
	const char *reason;
	struct statvfs fs;

	if (!hl_path_is_beneath(source->path, "/dev")) {
		hl_err_set(err, HLC_76, "'%.200s' leads to '%.200s', out of /dev", asked,
		    source->path);
		return hl_err_help(err, "name the device itself");
	}
	if (!S_ISCHR(source->mode) && !S_ISBLK(source->mode)) {
		hl_err_set(err, HLC_76, "'%.200s' is not a device", asked);
		return hl_err_help(err,
		    "name a character or block device, not a directory or file");
	}
	if (find_reason(source, &names, &reason, err) != 0)
		return -1;
	if (reason != NULL)
		return forbid(asked, reason, err);
	if (statvfs(source->path, &fs) != 0)
		return hl_err_sys(err, HLU_10, "cannot use '%.200s'", asked);
	if ((fs.f_flag & ST_NODEV) != 0)
		return hl_err_set(err, HLU_10,
		    "'%.200s' lies in a file system that is mounted with nodev", asked);
	return check_denied(scope, asked, source->path, err);
}

int
plan_device_add(const struct fs_scope *scope, const struct policy_item *item, struct hl_err *err)
{
	HL_AUTO(plan_source_done) struct plan_source source = { 0 };
	struct plan *plan = scope->plan;

	if (plan->devices_len == PLAN_DEVICES_MAX)
		return hl_err_set(err, HLI_03, "more than %d devices", PLAN_DEVICES_MAX);
	if (is_place_of_others(item->text))
		return forbid(item->text, "in a part of /dev that every sandbox has of its own",
		    err);
	if (plan_source_resolve(item->text, &source, err) != 0) {
		const struct device_names names = { .asked = item->text, .resolved = item->text };
		/* What is never given is that also where this host has none. */
		const char *reason = find_row(0, &names);
		if (reason != NULL)
			return forbid(item->text, reason, err);
		return hl_err_help(err, "name only devices that this host has, or let the policy "
					"say devices: {allowed: [...], default: []}");
	}
	if (check_device(scope, item->text, &source, err) != 0)
		return -1;
	struct plan_device *device = &plan->devices[plan->devices_len];
	*device = (struct plan_device){
		.dst = strdup(item->text),
		.src = HL_TAKE_PTR(source.path),
		.dev = source.dev,
		.ino = source.ino,
		.rdev = source.rdev,
		.origin = item->origin,
	};
	plan->devices_len++;
	return device->dst != NULL ? 0 : hl_err_oom(err);
}

static int
compare_devices(const void *a, const void *b)
{
	const struct plan_device *left = a, *right = b;

	return strcmp(left->dst, right->dst);
}

/* First what is named itself: a processor adds what is not there yet. */
static int
add_members(const struct fs_scope *scope, const struct policy_value *value, bool is_gpu,
    struct hl_err *err)
{
	for (size_t i = 0; i < value->items_len; i++) {
		const struct policy_item *item = &value->items[i];
		if ((strncmp(item->text, POLICY_GPU, strlen(POLICY_GPU)) == 0) != is_gpu)
			continue;
		if ((is_gpu ? plan_gpu_add : plan_device_add)(scope, item, err) == 0)
			continue;
		if (err->where.file == NULL)
			err->where = item->origin.where;
		return hl_err_wrap(err, "fs.devices");
	}
	return 0;
}

int
plan_devices(const struct fs_scope *scope, struct hl_err *err)
{
	const struct policy_value *value = policy_get(scope->policy, POLICY_FS_DEVICES);
	struct plan *plan = scope->plan;

	if (value->items_len == 0)
		return 0;
	plan->devices = calloc(PLAN_DEVICES_MAX, sizeof(*plan->devices));
	if (plan->devices == NULL)
		return hl_err_oom(err);
	if (add_members(scope, value, false, err) != 0 || add_members(scope, value, true, err) != 0)
		return -1;
	qsort(plan->devices, plan->devices_len, sizeof(*plan->devices), compare_devices);
	return 0;
}
