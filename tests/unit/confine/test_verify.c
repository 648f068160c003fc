/*
 * The verification, shown what the lock would never make: each fault of a status or of a mount
 * table must be found and named. The texts are those of a real sandbox with one thing changed.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "confine/apply/verify.h"

#include "base/banned.h"

static const struct confinement identity = {
	.flags = CONFINE_IDENTITY | CONFINE_CAPS | CONFINE_NO_NEW_PRIVS | CONFINE_SECCOMP,
	.uid = 65534,
	.gid = 65534,
	.caps_bounding = 0,
};

static const char good_status[] = "Name:\tinit\nUid:\t65534\t65534\t65534\t65534\n"
				  "Gid:\t65534\t65534\t65534\t65534\nCapInh:\t0000000000000000\n"
				  "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
				  "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n"
				  "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n";

static const struct {
	const char *from, *to; /* one replacement in the text */
	const char *subject;
} status_faults[] = {
	{ "Uid:\t65534\t65534\t65534", "Uid:\t65534\t65534\t0", "Uid:" },
	{ "Gid:\t65534", "Gid:\t0", "Gid:" },
	{ "CapInh:\t0", "CapInh:\t1", "CapInh:" },
	{ "CapPrm:\t0", "CapPrm:\tf", "CapPrm:" },
	{ "CapEff:\t000000000000000", "CapEff:\t00000000000000a", "CapEff:" },
	{ "CapBnd:\t0000000000000000", "CapBnd:\t000001ffffffffff", "CapBnd:" },
	{ "CapAmb:\t0000000000000000", "CapAmb:\t0000000000000001", "CapAmb:" },
	{ "NoNewPrivs:\t1", "NoNewPrivs:\t0", "NoNewPrivs:" },
	{ "Seccomp:\t2", "Seccomp:\t0", "Seccomp:" },
	{ "Seccomp:\t2\n", "", "Seccomp:" },
	{ "CapEff:\t0000000000000000", "CapEff:\t", "CapEff:" },
	/* a name of the process that looks like a line does not count: it is on the first */
	{ "Name:\tinit\nUid:\t65534", "Name:\tUid:\t65534\nUid:\t0", "Uid:" },
};

static void
replace(char *out, size_t size, const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	struct hl_buf buf;

	assert_non_null(at);
	hl_buf_init(&buf, size - 1);
	hl_buf_put(&buf, text, (size_t)(at - text));
	hl_buf_puts(&buf, to);
	hl_buf_puts(&buf, at + strlen(from));
	assert_false(buf.failed);
	memcpy(out, buf.data, buf.len + 1);
	hl_buf_done(&buf);
}

static void
test_status(void **state)
{
	struct confine_failure failure = { 0 };
	char text[1024];

	(void)state;
	assert_int_equal(verify_status_text(&identity, good_status, &failure), 0);
	for (size_t i = 0; i < HL_ARRAY_SIZE(status_faults); i++) {
		replace(text, sizeof(text), good_status, status_faults[i].from,
		    status_faults[i].to);
		assert_int_equal(verify_status_text(&identity, text, &failure), -1);
		assert_int_equal(failure.step, CONFINE_STEP_VERIFY);
		assert_string_equal(failure.subject, status_faults[i].subject);
	}
	/* of an engine's: at most what was asked, and a filter at all */
	const struct confinement seen = { .flags = CONFINE_SEEN_IDENTITY | CONFINE_SEEN_CAPS |
						   CONFINE_SEEN_SECCOMP | CONFINE_NO_NEW_PRIVS,
		.uid = 65534,
		.gid = 65534 };
	assert_int_equal(verify_status_text(&seen, good_status, &failure), 0);
	for (size_t i = 0; i < HL_ARRAY_SIZE(status_faults); i++) {
		replace(text, sizeof(text), good_status, status_faults[i].from,
		    status_faults[i].to);
		assert_int_equal(verify_status_text(&seen, text, &failure), -1);
		assert_string_equal(failure.subject, status_faults[i].subject);
	}
	const struct confinement few = { .flags = CONFINE_SEEN_CAPS, .caps_bounding = 0xa0 };
	replace(text, sizeof(text), good_status, "CapEff:\t000000000000000",
	    "CapEff:\t00000000000000a");
	assert_int_equal(verify_status_text(&few, text, &failure), 0);
	/* what was not asked for is not looked at */
	const struct confinement nothing = { 0 };
	assert_int_equal(verify_status_text(&nothing, "", &failure), 0);
}

/* Of a user whom only an engine knows: nothing but that it is neither root nor in root's group. */
static void
test_status_of_somebody_who_is_not_root(void **state)
{
	static const struct confinement both = { .flags = CONFINE_SEEN_NOT_ROOT |
							  CONFINE_SEEN_NO_ROOT_GROUP },
					ids = { .flags = CONFINE_SEEN_NOT_ROOT }, nobody = { 0 };
	static const struct {
		const char *text, *subject; /* NULL = as it may be */
		bool is_of_ids;
	} rows[] = {
		{ "Uid:\t5 5 5 5\nGid:\t6 6 6 6\nGroups:\t \n", NULL, false },
		{ "Uid:\t5 5 5 5\nGid:\t6 6 6 6\nGroups:\t6 7 8 9 10 11\n", NULL, false },
		{ "Uid:\t5 5 5 5\nGid:\t0 0 0 0\nGroups:\t \n", "Gid:", true },
		{ "Uid:\t5 5 5 5\nGid:\t6 6 0 6\nGroups:\t \n", "Gid:", true },
		{ "Uid:\t0 0 0 0\nGid:\t6 6 6 6\nGroups:\t \n", "Uid:", true },
		{ "Uid:\t5 5 5 0\nGid:\t6 6 6 6\nGroups:\t \n", "Uid:", true },
		{ "Uid:\t5 5 5\nGid:\t6 6 6 6\nGroups:\t \n", "Uid:", true },
		{ "Gid:\t6 6 6 6\nGroups:\t \n", "Uid:", true },
		{ "Uid:\t5 5 5 5\nGid:\t6 6 6 6\nGroups:\t6 0\n", "Groups:", false },
		{ "Uid:\t5 5 5 5\nGid:\t6 6 6 6\nGroups:\t6 7 8 9 10 0\n", "Groups:", false },
		{ "Uid:\t5 5 5 5\nGid:\t6 6 6 6\n", "Groups:", false },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		struct confine_failure failure = { 0 };
		int status = verify_status_text(&both, rows[i].text, &failure);
		assert_int_equal(status, rows[i].subject == NULL ? 0 : -1);
		if (rows[i].subject != NULL)
			assert_string_equal(failure.subject, rows[i].subject);
		assert_int_equal(verify_status_text(&ids, rows[i].text, &failure),
		    rows[i].is_of_ids ? -1 : 0);
		assert_int_equal(verify_status_text(&nobody, rows[i].text, &failure), 0);
	}
}

static struct confine_op ops[] = {
	{ .kind = CONFINE_OP_BIND,
	    .flags = CONFINE_OP_RDONLY | CONFINE_OP_RECURSIVE,
	    .src = "/usr",
	    .dst = "/usr" },
	{ .kind = CONFINE_OP_PROC, .dst = "/proc" },
	{ .kind = CONFINE_OP_DEV, .dst = "/dev" },
	{ .kind = CONFINE_OP_TMPFS, .flags = CONFINE_OP_NOEXEC, .dst = "/tmp" },
	{ .kind = CONFINE_OP_BIND, .flags = CONFINE_OP_RECURSIVE, .src = "/w", .dst = "/work dir" },
	{ .kind = CONFINE_OP_MASK, .dst = "/work dir/key" },
	{ .kind = CONFINE_OP_MASK, .flags = CONFINE_OP_OPTIONAL, .dst = "/nowhere" },
	{ .kind = CONFINE_OP_DIR, .dst = "/home" },
	{ .kind = CONFINE_OP_BIND,
	    .flags = CONFINE_OP_DEVICE | CONFINE_OP_FILE | CONFINE_OP_RDONLY | CONFINE_OP_NOEXEC,
	    .src = "/dev/net/tun",
	    .dst = "/dev/net/tun" },
};

static const struct confinement mounts_wanted = { .flags = CONFINE_MOUNTS,
	.ops = ops,
	.ops_len = HL_ARRAY_SIZE(ops) };

static const char good_mounts[] =
    "1 0 0:1 / / ro,nosuid,nodev,noexec,relatime - tmpfs none rw\n"
    "2 1 8:1 /usr /usr ro,nosuid,nodev,relatime shared:1 - ext4 /dev/sda rw\n"
    "3 2 8:2 / /usr/local ro,nosuid,nodev - ext4 /dev/sdb rw\n"
    "4 1 0:2 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "5 4 0:2 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "6 4 0:1 /m//deleted /proc/kcore ro,nosuid,nodev,noexec - tmpfs none rw\n"
    "7 1 0:3 / /dev ro,nosuid,nodev,noexec - tmpfs tmpfs rw\n"
    "8 7 0:4 /null /dev/null ro,nosuid,noexec - devtmpfs devtmpfs rw\n"
    "9 7 0:5 / /dev/pts rw,nosuid,noexec - devpts devpts rw\n"
    "10 7 0:6 / /dev/shm rw,nosuid,nodev,noexec - tmpfs tmpfs rw\n"
    "11 1 0:7 / /tmp rw,nosuid,nodev,noexec - tmpfs tmpfs rw\n"
    "12 1 8:1 /w /work\\040dir rw,nosuid,nodev - ext4 /dev/sda rw\n"
    "13 12 0:1 /m /work\\040dir/key ro,nosuid,nodev,noexec - tmpfs none rw\n"
    "14 7 0:4 /net/tun /dev/net/tun ro,nosuid,noexec - devtmpfs devtmpfs rw\n";

static const struct {
	const char *from, *to, *subject;
} mount_faults[] = {
	/* writable, devices or set-user-id where none was granted: also below a recursive bind */
	{ "/ / ro,", "/ / rw,", "/" },
	{ "/usr /usr ro,nosuid", "/usr /usr rw,nosuid", "/usr" },
	{ "/usr/local ro,nosuid,nodev", "/usr/local rw,nosuid,nodev", "/usr" },
	{ "/usr/local ro,nosuid,nodev", "/usr/local ro,nodev", "/usr" },
	{ "/usr/local ro,nosuid,nodev", "/usr/local ro,nosuid", "/usr" },
	{ "/usr/local ro,nosuid,nodev", "/usr/local row,nosuid,nodev", "/usr" },
	{ "/proc/sys ro,", "/proc/sys rw,", "/proc" },
	{ "/proc/kcore ro,", "/proc/kcore rw,", "/proc" },
	{ "/dev ro,", "/dev rw,", "/dev" },
	{ "/dev/null ro,", "/dev/null rw,", "/dev" },
	{ "/dev/shm rw,nosuid,nodev", "/dev/shm rw,nosuid", "/dev" },
	{ "/tmp rw,nosuid,nodev,noexec", "/tmp rw,nosuid,nodev", "/tmp" },
	{ "key ro,", "key rw,", "/work dir/key" },
	/* a device that is more than one, or none */
	{ "/dev/net/tun ro,", "/dev/net/tun rw,", "/dev/net/tun" },
	{ "/dev/net/tun ro,nosuid", "/dev/net/tun ro,nosuid,nodev", "/dev/net/tun" },
	{ "/dev/net/tun ro,nosuid,noexec", "/dev/net/tun ro,nosuid", "/dev/net/tun" },
	/* mounts that are missing */
	{ "14 7 0:4 /net/tun /dev/net/tun", "14 7 0:4 /net/tun /dev/net/tap", "/dev/net/tun" },
	{ "2 1 8:1 /usr /usr", "2 1 8:1 /usr /usr/share", "/usr" },
	{ "5 4 0:2 /sys /proc/sys ro", "5 4 0:2 /sys /proc/irq ro", "/proc/sys" },
	{ "13 12 0:1 /m /work\\040dir/key", "13 12 0:1 /m /work\\040dir/kex", "/work dir/key" },
	/* mounts that nobody asked for */
	{ "11 1 0:7 / /tmp rw", "11 1 0:7 / /old rw", "/" },
	{ "3 2 8:2 / /usr/local", "3 2 8:2 / /", "/" },
	/* not a mount table */
	{ "2 1 8:1 /usr /usr", "2 1", "/" },
	{ "2 1 8:1 /usr /usr ro,nosuid,nodev,relatime shared:1 - ext4 /dev/sda rw", "x",
	    "/proc/self/mountinfo" },
};

/* The table in pieces of this size. */
static int
feed(const char *text, size_t piece, struct confine_failure *failure)
{
	struct verify_mounts mounts = { .confinement = &mounts_wanted };
	size_t len = strlen(text);

	for (size_t at = 0; at < len; at += piece)
		if (verify_mounts_feed(&mounts, text + at, at + piece < len ? piece : len - at,
			failure) != 0)
			return -1;
	return verify_mounts_end(&mounts, failure);
}

static void
test_mounts(void **state)
{
	struct confine_failure failure = { 0 };
	char text[4096];

	(void)state;
	for (size_t piece = 1; piece < 200; piece += 7)
		assert_int_equal(feed(good_mounts, piece, &failure), 0);
	for (size_t i = 0; i < HL_ARRAY_SIZE(mount_faults); i++) {
		replace(text, sizeof(text), good_mounts, mount_faults[i].from, mount_faults[i].to);
		if (feed(text, 100, &failure) == 0)
			fail_msg("not found: %s", mount_faults[i].to);
		assert_int_equal(failure.step, CONFINE_STEP_VERIFY);
		if (strcmp(failure.subject, mount_faults[i].subject) != 0)
			fail_msg("%s: '%s'", mount_faults[i].to, failure.subject);
	}
}

static void
test_long_line(void **state)
{
	static char text[VERIFY_LINE_MAX + 2];
	struct confine_failure failure = { 0 };

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(feed(text, 512, &failure), -1);
	assert_string_equal(failure.subject, "/proc/self/mountinfo");
}

/* ------------------------------------------------------------------------------------------------
 * What an engine made
 */
static struct confine_op engine_ops[] = {
	{ .kind = CONFINE_OP_BIND, .flags = CONFINE_OP_RDONLY, .src = "/", .dst = "/" },
	{ .kind = CONFINE_OP_BIND, .src = "/", .dst = "/work" },
	{ .kind = CONFINE_OP_TMPFS, .flags = CONFINE_OP_NOEXEC, .size = 5000, .dst = "/run" },
};

static const struct confinement engine = {
	.flags = CONFINE_SEEN_MOUNTS,
	.ops = engine_ops,
	.ops_len = HL_ARRAY_SIZE(engine_ops),
};

static const char engine_mounts[] =
    "1 0 0:1 / / ro,relatime master:2 - overlay overlay rw\n"
    "2 1 0:2 / /proc rw,nosuid,nodev,noexec - proc proc rw\n"
    "3 2 0:2 /sys /proc/sys ro,nosuid,nodev,noexec - proc proc rw\n"
    "4 2 0:3 / /proc/acpi ro - tmpfs tmpfs ro\n"
    "5 1 0:4 / /sys ro,nosuid,nodev,noexec - sysfs sysfs ro\n"
    "6 5 0:5 / /sys/fs/cgroup rw,nosuid - tmpfs tmpfs rw,mode=755\n"
    "7 1 0:6 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k\n"
    "8 1 8:1 /hosts /etc/hosts rw,relatime - ext4 /dev/vda rw\n"
    "9 1 8:1 /work /work rw,relatime - ext4 /dev/vda rw\n"
    "10 1 0:7 / /run rw,nosuid,nodev,noexec - tmpfs tmpfs rw,size=8k,mode=755\n"
    "11 7 0:7 / /dev/pts rw,nosuid,noexec - devpts devpts rw,gid=5\n"
    "12 7 0:8 / /dev/mqueue rw,nosuid,nodev,noexec - mqueue mqueue rw\n"
    "13 7 0:9 / /dev/shm rw,nosuid,nodev,noexec - tmpfs shm rw,size=65536k\n"
    "14 7 0:10 /zero /dev/zero rw,nosuid - devtmpfs devtmpfs rw\n"
    "15 7 0:6 /null /dev/null rw,nosuid - tmpfs tmpfs rw,size=65536k\n"
    "16 6 0:11 /docker/a /sys/fs/cgroup/cpu ro,nosuid - cgroup cgroup rw,cpu\n"
    "17 5 0:12 / /sys/firmware ro - tmpfs tmpfs ro\n";

#define NOT_ASKED "a mount that was not asked for"

static const struct {
	const char *from, *to, *subject;
} engine_faults[] = {
	{ "/ ro,relatime master", "/ rw,relatime master", "/" },
	{ "/proc/sys ro", "/proc/sys rw", NOT_ASKED },
	{ "3 2 0:2 /sys /proc/sys ro,nosuid,nodev,noexec - proc proc rw\n", "", "/proc/sys" },
	{ "/sys ro,nosuid,nodev,noexec - sysfs", "/sys rw - sysfs", NOT_ASKED },
	{ "/proc/acpi ro - tmpfs", "/proc/acpi ro - ext4", NOT_ASKED },
	{ "/etc/hosts", "/etc/passwd", NOT_ASKED },
	{ "/dev rw,nosuid - tmpfs", "/dev rw,nosuid - xtmpfs", NOT_ASKED },
	/* Kinds of an engine's own, where none of its own may be written. */
	{ "/proc/acpi ro - tmpfs", "/proc/acpi rw - tmpfs", NOT_ASKED },
	{ "/proc/acpi ro - tmpfs", "/proc/hl-none rw - devtmpfs", NOT_ASKED },
	{ "/sys/firmware ro - tmpfs", "/sys/firmware rw - tmpfs", NOT_ASKED },
	{ "/sys/fs/cgroup/cpu ro", "/sys/fs/cgroup/cpu rw", NOT_ASKED },
	{ "/sys/fs/cgroup/cpu ro,nosuid - cgroup", "/sys/fs/cgroup/cpu rw - tmpfs", NOT_ASKED },
	{ "/sys/fs/cgroup rw,nosuid - tmpfs", "/sys/fs rw,nosuid - tmpfs", NOT_ASKED },
	{ "/dev rw,nosuid - tmpfs", "/dev rw,nosuid - devtmpfs", NOT_ASKED },
	/* A directory of a file system, or of anything at all where files are. */
	{ "0:9 / /dev/shm", "0:9 /x /dev/shm", NOT_ASKED },
	{ "0:6 / /dev", "0:6 /dev /dev", NOT_ASKED },
	{ "0:5 / /sys/fs/cgroup", "0:5 /x /sys/fs/cgroup", NOT_ASKED },
	{ "0:2 / /proc rw", "0:2 /1 /proc rw", NOT_ASKED },
	{ "8:1 /hosts /etc/hosts", "8:1 / /run/.containerenv", NOT_ASKED },
	{ "/dev/shm rw", "/dev/shm/x rw", NOT_ASKED },
	{ "/dev/shm rw", "/dev/fd rw", NOT_ASKED },
	{ "/dev/shm rw", "/dev/hl-none rw", NOT_ASKED },
	{ "/dev/shm rw", "/dev/hl-none ro", NOT_ASKED },
	{ "/dev/shm rw,nosuid,nodev,noexec - tmpfs", "/dev/shm rw - ext4", NOT_ASKED },
	{ "/dev/pts rw,nosuid,noexec - devpts", "/dev/pts rw - tmpfs", NOT_ASKED },
	{ "/dev/mqueue rw,nosuid,nodev,noexec - mqueue", "/dev/mqueue rw - tmpfs", NOT_ASKED },
	{ "/dev/zero rw,nosuid - devtmpfs", "/dev/zero rw,nosuid - ext4", NOT_ASKED },
	{ "/dev/zero rw,nosuid - devtmpfs", "/dev/hl-none rw,nosuid - devtmpfs", NOT_ASKED },
	{ "/zero /dev/zero", "/zero /zero", NOT_ASKED },
	{ "9 1 8:1 /work /work rw,relatime - ext4 /dev/vda rw\n", "", "/work" },
	{ "/run rw,nosuid,nodev,noexec", "/run rw,nosuid,nodev", "/run" },
	{ "/run rw,nosuid,nodev", "/run rw,nodev", "/run" },
	{ "/run rw,nosuid,nodev", "/run rw,nosuid", "/run" },
	{ "size=8k", "size=12k", "/run" },
	{ "/run rw,nosuid,nodev,noexec - tmpfs", "/run rw,nosuid,nodev,noexec - ext4", "/run" },
};

static int
look_at(const char *text, struct confine_failure *failure)
{
	struct verify_mounts mounts = { .confinement = &engine };

	if (verify_mounts_feed(&mounts, text, strlen(text), failure) != 0)
		return -1;
	return verify_mounts_end(&mounts, failure);
}

static void
test_mounts_of_an_engine(void **state)
{
	struct confine_failure failure = { 0 };
	char text[4096];

	(void)state;
	assert_int_equal(look_at(engine_mounts, &failure), 0);
	for (size_t i = 0; i < HL_ARRAY_SIZE(engine_faults); i++) {
		replace(text, sizeof(text), engine_mounts, engine_faults[i].from,
		    engine_faults[i].to);
		assert_int_equal(look_at(text, &failure), -1);
		assert_string_equal(failure.subject, engine_faults[i].subject);
	}
}

/* With a driver's: files of the host's that nobody can write or gain by, where drivers have them.
 */
static void
test_mounts_of_a_driver(void **state)
{
	static const struct {
		const char *line;
		bool is_fine;
	} lines[] = {
		{ "20 1 8:1 /l /etc/passwd ro,nosuid,nodev,relatime - ext4 /dev/vda rw\n", true },
		{ "20 1 8:1 /l /etc/passwd rw,nosuid,nodev,relatime - ext4 /dev/vda rw\n", false },
		{ "20 1 8:1 /l /etc/passwd ro,nodev,relatime - ext4 /dev/vda rw\n", false },
		{ "20 1 8:1 /l /etc/passwd ro,nosuid,relatime - ext4 /dev/vda rw\n", false },
		{ "20 1 8:1 /l /etc ro,nosuid,nodev,relatime - ext4 /dev/vda rw\n", false },
		{ "20 1 8:1 /l /usr/bin ro,nosuid,nodev,relatime - ext4 /dev/vda rw\n", false },
		{ "20 1 8:1 / /lib/firmware/x ro,nosuid,nodev - ext4 /dev/vda rw\n", false },
		{ "20 1 8:1 /root /usr/lib/firmware/x ro,nosuid,nodev - ext4 /dev/vda rw\n",
		    false },
		{ "20 1 8:1 / /lib/firmware/nvidia/x ro,nosuid,nodev - ext4 /dev/vda rw\n", false },
		{ "20 1 8:1 /l /usr/none ro,nosuid,nodev - ext4 /dev/vda rw\n", false },
		{ "20 1 8:1 /l /root/x ro,nosuid,nodev - ext4 /dev/vda rw\n", false },
	};
	struct confinement with = engine;
	struct confine_failure failure = { 0 };
	char text[4096];

	(void)state;
	with.flags |= CONFINE_SEEN_DRIVER;
	for (size_t i = 0; i < HL_ARRAY_SIZE(lines); i++) {
		struct verify_mounts mounts = { .confinement = &with };
		snprintf(text, sizeof(text), "%s%s", engine_mounts, lines[i].line);
		int status = verify_mounts_feed(&mounts, text, strlen(text), &failure);
		if ((status == 0) != lines[i].is_fine)
			fail_msg("%s", lines[i].line);
		assert_int_equal(look_at(text, &failure), -1); /* without it none of them */
		assert_string_equal(failure.subject, NOT_ASKED);
	}
}

static void
write_limit(const char *dir, const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void
test_limits_of_an_engine(void **state)
{
	static const char *const dirs[] = { "", "/sys", "/sys/fs", "/sys/fs/cgroup",
		"/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpu" };
	struct confinement seen = { .seen_pids = 32, .seen_memory = 8193, .seen_cpus = 500 };
	struct confine_failure failure = { 0 };
	char dir[] = "/tmp/hl-verify.XXXXXX", path[128];
	bool is_all = true;

	(void)state;
	assert_non_null(mkdtemp(dir));
	/* Out of sight, and not said to have been read. */
	assert_int_equal(verify_seen_limits(&seen, dir, &is_all, &failure), 0);
	assert_false(is_all);
	for (size_t i = 1; i < HL_ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s%s", dir, dirs[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	write_limit(dir, "pids/pids.max", "32\n");
	write_limit(dir, "memory.max", "8192\n");
	assert_int_equal(verify_seen_limits(&seen, dir, &is_all, &failure), 0);
	assert_false(is_all);
	write_limit(dir, "cpu.max", "50000 100000\n");
	assert_int_equal(verify_seen_limits(&seen, dir, &is_all, &failure), 0);
	assert_true(is_all);
	write_limit(dir, "cpu.max", "max 100000\n");
	assert_int_equal(verify_seen_limits(&seen, dir, &is_all, &failure), -1);
	assert_string_equal(failure.subject, "limits.cpus");
	write_limit(dir, "cpu.max", "50000 10000\n"); /* five processors */
	assert_int_equal(verify_seen_limits(&seen, dir, &is_all, &failure), -1);
	assert_string_equal(failure.subject, "limits.cpus");
	/* In version 1 the period is a file of its own. */
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/cpu.max", dir);
	unlink(path);
	write_limit(dir, "cpu/cpu.cfs_quota_us", "50000\n");
	assert_int_equal(verify_seen_limits(&seen, dir, &is_all, &failure), -1);
	write_limit(dir, "cpu/cpu.cfs_period_us", "10000\n");
	assert_int_equal(verify_seen_limits(&seen, dir, &is_all, &failure), -1);
	write_limit(dir, "cpu/cpu.cfs_period_us", "100000\n");
	assert_int_equal(verify_seen_limits(&seen, dir, &is_all, &failure), 0);
	write_limit(dir, "memory.max", "12288\n");
	assert_int_equal(verify_seen_limits(&seen, dir, &is_all, &failure), -1);
	assert_string_equal(failure.subject, "limits.memory");
	write_limit(dir, "pids/pids.max", "320\n");
	assert_int_equal(verify_seen_limits(&seen, dir, &is_all, &failure), -1);
	assert_string_equal(failure.subject, "limits.pids");
	/* What was not asked for is not looked at. */
	seen.seen_pids = seen.seen_memory = seen.seen_cpus = 0;
	assert_int_equal(verify_seen_limits(&seen, dir, &is_all, &failure), 0);
	static const char *const files[] = { "pids/pids.max", "memory.max", "cpu/cpu.cfs_quota_us",
		"cpu/cpu.cfs_period_us" };
	for (size_t i = 0; i < HL_ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/sys/fs/cgroup/%s", dir, files[i]);
		unlink(path);
	}
	for (size_t i = HL_ARRAY_SIZE(dirs); i-- > 0;) {
		snprintf(path, sizeof(path), "%s%s", dir, dirs[i]);
		assert_int_equal(rmdir(path), 0);
	}
}

static void
test_environment_of_an_engine(void **state)
{
	const struct confinement seen = { .seen_env = "PATH\nHOME\n" };
	struct confine_failure failure = { 0 };
	char *good[] = { (char[]){ "HOME=/" }, (char[]){ "PATH=/bin" }, NULL };
	char *bad[] = { (char[]){ "PATH=/bin" }, (char[]){ "PATHS=/bin" }, NULL };

	(void)state;
	assert_int_equal(verify_seen_env(&seen, good, &failure), 0);
	assert_int_equal(verify_seen_env(&seen, bad, &failure), -1);
	bad[1] = (char[]){ "HOM=1" };
	assert_int_equal(verify_seen_env(&seen, bad, &failure), -1);
}

/* An engine without root: uid and gid are its owner's, and nobody else's. */
static void
test_user_namespace_of_an_engine(void **state)
{
	static const struct {
		const char *uids, *gids, *subject; /* NULL = as asked */
	} cases[] = {
		{ "0 1 1000\n1000 0 1\n", "0 1 100\n100 0 1\n", NULL },
		{ "1000 0 1\n", "100 0 1\n", NULL },
		{ "0 1000 1\n1 100000 65536\n", "100 0 1\n", "uid_map" },
		{ "0 0 4294967295\n", "100 0 1\n", "uid_map" },
		{ "1000 0 1\n", "0 0 4294967295\n", "gid_map" },
		{ "1000 0 1\n", "1000 0 1\n", "gid_map" },
		{ "1000 1 1\n", "100 0 1\n", "uid_map" },
		{ "", "100 0 1\n", "uid_map" },
		{ "1000 0 1\n", "", "gid_map" },
	};
	const struct confinement kept = { .uid = 1000, .gid = 100 };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases); i++) {
		struct confine_failure failure = { 0 };
		int status = verify_kept_id(&kept, cases[i].uids, cases[i].gids, &failure);
		if ((status == 0) != (cases[i].subject == NULL))
			fail_msg("%zu", i);
		if (status != 0)
			assert_string_equal(failure.subject, cases[i].subject);
	}
}

/* A limit of processes that is no control group's. */
static void
test_resource_limit_of_an_engine(void **state)
{
	struct confinement seen = { .flags = CONFINE_SEEN_LIMITS | CONFINE_SEEN_NPROC };
	struct confine_failure failure = { 0 };
	struct rlimit limit;
	bool is_all = false;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NPROC, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NPROC, &limit), 0);
	seen.seen_pids = limit.rlim_max;
	assert_int_equal(verify_seen_nproc(&seen, &failure), 0);
	/* The group's is not asked then. */
	assert_int_equal(verify_seen_limits(&seen, "", &is_all, &failure), 0);
	assert_true(is_all);
	seen.seen_pids--;
	assert_int_equal(verify_seen_nproc(&seen, &failure), -1);
	assert_string_equal(failure.subject, "limits.pids");
	/* One that the command could lift is none. */
	limit.rlim_cur = seen.seen_pids;
	assert_int_equal(setrlimit(RLIMIT_NPROC, &limit), 0);
	assert_int_equal(verify_seen_nproc(&seen, &failure), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_status_of_somebody_who_is_not_root),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_mounts_of_an_engine),
		cmocka_unit_test(test_mounts_of_a_driver),
		cmocka_unit_test(test_limits_of_an_engine),
		cmocka_unit_test(test_environment_of_an_engine),
		cmocka_unit_test(test_user_namespace_of_an_engine),
		cmocka_unit_test(test_resource_limit_of_an_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
