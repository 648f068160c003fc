/*
 * What others plant or swap where a sandbox is being made. A second process exchanges two names as
 * fast as it can, and every time it loses: what is inside is what the host looked at, or nothing is
 * started. Beside each stands the same attempt on one who looks first and then goes by the name.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/kernel/scratch.h"

#include "base/banned.h"

enum {
	ROUNDS_MIN = 20,
	ROUNDS_MAX = 2000,
	LOOKS_MAX = 1000000
};

static struct launch_result result;

/* A name that ends with a slash is a directory. */
static const char *const made[] = { "data/", "data/door/", "data/other/", "data/other/canary",
	"secret/", "secret/canary", "root/", "root/dev/", "root/proc/", "root/tmp/", "root/file",
	"root/.masked-file" };

static int
make(const char *name)
{
	const char *path = below(name);

	if (path[strlen(path) - 1] == '/')
		return mkdir(path, 0777);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	bool is_made = fd >= 0 && write(fd, "secret\n", 7) == 7;
	close(fd);
	return is_made ? 0 : -1;
}

static int
set_up(void **state)
{
	(void)state;
	if (scratch_make() != 0)
		return -1;
	for (size_t i = 0; i < HL_ARRAY_SIZE(made); i++)
		if (make(made[i]) != 0)
			return -1;
	return symlink(below("secret"), below("data/link")) != 0 ||
	       symlink("/tmp", below("data/away")) != 0;
}

static int
tear_down(void **state)
{
	(void)state;
	unlink(below("data/link"));
	unlink(below("data/away"));
	for (size_t i = HL_ARRAY_SIZE(made); i-- > 0;)
		if (remove(below(made[i])) != 0)
			return -1;
	return rmdir(scratch);
}

/* ------------------------------------------------------------------------------------------------
 * Swapped
 */
static pid_t
swap(const char *one, const char *other)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	while (pid == 0)
		if (renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) != 0)
			_exit(1);
	return pid;
}

/* Each is what it was before. */
static void
stop_swapping(pid_t pid, const char *one, const char *other, ino_t ino)
{
	struct stat st;
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(lstat(one, &st), 0);
	if (st.st_ino != ino)
		assert_int_equal(renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE), 0);
}

/* Who looks, and then opens by the name, comes to something else. */
static bool
is_fooled(const char *path, ino_t ino)
{
	for (unsigned i = 0; i < LOOKS_MAX; i++) {
		struct stat st, opened;
		if (lstat(path, &st) != 0 || st.st_ino != ino)
			continue;
		int fd = open(path, O_PATH | O_CLOEXEC);
		assert_true(fd >= 0 && fstat(fd, &opened) == 0);
		close(fd);
		if (opened.st_ino != ino)
			return true;
	}
	return false;
}

static void
swap_source(const char *other)
{
	const char *const words[] = { "/probe", "read", "/data/canary", NULL };
	unsigned locked = 0, refused = 0;
	char door[128];
	struct launch_lock lock;

	snprintf(door, sizeof(door), "%s", below("data/door"));
	launch_lock_full(&lock);
	launch_rule(&lock, "/data", CONFINE_READ);
	const struct confine_op *op = launch_op(&lock, CONFINE_OP_BIND, door, "/data", 0);
	pid_t pid = swap(door, other);
	for (unsigned i = 0; i < ROUNDS_MAX && (i < ROUNDS_MIN || locked == 0 || refused == 0);
	     i++) {
		launch_run(&lock, 0, words, &result);
		if (result.has_error) {
			assert_int_equal(result.error.step, CONFINE_STEP_SOURCE);
			assert_true(
			    result.error.sys_errno == ESTALE || result.error.sys_errno == ELOOP);
			refused++;
		} else {
			assert_true(result.has_exit);
			assert_int_equal(result.exit.code, ENOENT);
			locked++;
		}
	}
	bool was_fooled = is_fooled(door, op->ino);
	stop_swapping(pid, door, other, op->ino);
	assert_true(locked > 0 && refused > 0);
	assert_true(was_fooled);
}

static void
test_swapped_source(void **state)
{
	(void)state;
	swap_source(below("data/link"));
	swap_source(below("data/other"));
}

/* A mount point in what the swapper may write: nothing is mounted over another place. */
static void
test_swapped_place(void **state)
{
	const char *const words[] = { "sh", "-c", "grep -c ' /tmp ' /proc/self/mountinfo", NULL };
	unsigned locked = 0, refused = 0;
	char door[128], away[128];
	struct launch_lock lock;
	struct stat st;

	(void)state;
	snprintf(door, sizeof(door), "%s", below("data/door"));
	snprintf(away, sizeof(away), "%s", below("data/away"));
	assert_int_equal(lstat(door, &st), 0);
	launch_lock_full(&lock);
	launch_rule(&lock, "/data", CONFINE_READ | CONFINE_WRITE);
	launch_op(&lock, CONFINE_OP_BIND, below("data"), "/data", 0);
	launch_op(&lock, CONFINE_OP_TMPFS, NULL, "/data/door", 0)->mode = 0777;
	pid_t pid = swap(door, away);
	for (unsigned i = 0; i < ROUNDS_MAX && (i < ROUNDS_MIN || locked == 0 || refused == 0);
	     i++) {
		launch_run(&lock, 0, words, &result);
		if (result.has_error) {
			/* The mount goes along with its directory: that is seen when all is
			 * verified.
			 */
			if (result.error.step != CONFINE_STEP_VERIFY) {
				assert_int_equal(result.error.step, CONFINE_STEP_PLACE);
				assert_int_equal(result.error.sys_errno, ELOOP);
			}
			refused++;
		} else {
			assert_true(result.has_exit);
			assert_string_equal(result.out, "1\n");
			locked++;
		}
	}
	bool was_fooled = is_fooled(door, st.st_ino);
	stop_swapping(pid, door, away, st.st_ino);
	assert_true(locked > 0 && refused > 0);
	assert_true(was_fooled);
}

/* ------------------------------------------------------------------------------------------------
 * Planted
 */
/* All of it is what somebody else made, but /proc, /dev and /tmp. */
static void
bind_root(struct launch_lock *lock)
{
	struct launch_lock full;

	launch_lock_full(&full);
	launch_lock_none(lock);
	lock->confinement.flags = full.confinement.flags & ~(uint32_t)CONFINE_LANDLOCK;
	lock->confinement.bpf = full.confinement.bpf;
	lock->confinement.bpf_len = full.confinement.bpf_len;
	lock->confinement.hostname = "sandbox";
	launch_op(lock, CONFINE_OP_BIND, below("root"), "/", CONFINE_OP_RDONLY);
	launch_op(lock, CONFINE_OP_PROC, NULL, "/proc", 0);
	launch_op(lock, CONFINE_OP_DEV, NULL, "/dev", 0);
	launch_op(lock, CONFINE_OP_TMPFS, NULL, "/tmp", 0)->mode = 01777;
	launch_op(lock, CONFINE_OP_BIND, launch_probe(), "/tmp/probe",
	    CONFINE_OP_FILE | CONFINE_OP_RDONLY);
}

static int
read_in_root(const struct launch_lock *lock, const char *path)
{
	const char *const words[] = { "/tmp/probe", "read", path, NULL };

	launch_run(lock, 0, words, &result);
	if (result.has_error)
		fail_msg("%s '%s': %s", confine_step_text((enum confine_step)result.error.step),
		    result.subject, strerror(result.error.sys_errno));
	assert_true(result.has_exit);
	return (int)result.exit.code;
}

/* mask-devnull: what lies over a hidden file is ours, whatever has that name in the root. */
static void
test_planted_mask(void **state)
{
	struct launch_lock lock;

	(void)state;
	bind_root(&lock);
	assert_int_equal(read_in_root(&lock, "/file"), 0);
	assert_int_equal(read_in_root(&lock, "/.masked-file"), 0);
	launch_op(&lock, CONFINE_OP_MASK, NULL, "/file", 0);
	assert_int_equal(read_in_root(&lock, "/file"), EACCES);
	/* A link in the place of what is to be hidden would have its target covered. */
	assert_int_equal(rename(below("root/file"), below("root/moved")), 0);
	assert_int_equal(symlink("moved", below("root/file")), 0);
	launch_refused(&lock, CONFINE_STEP_MASK, ELOOP, "/file");
	assert_int_equal(rename(below("root/moved"), below("root/file")), 0);
}

/* A /dev/null of the host that is none, for one file system's view of it: root's to make. */
static void
test_planted_device(void **state)
{
	struct launch_lock lock;

	(void)state;
	launch_lock_full(&lock);
	assert_int_equal(launch_attempt(&lock, "nothing", NULL, NULL), 0);
	assert_int_equal(mount(below("secret/canary"), "/dev/null", NULL, MS_BIND, NULL), 0);
	launch_refused(&lock, CONFINE_STEP_DEV, ENODEV, "/dev/null");
	assert_int_equal(umount2("/dev/null", MNT_DETACH), 0);
	/* another device, which reads without end */
	assert_int_equal(mount("/dev/zero", "/dev/null", NULL, MS_BIND, NULL), 0);
	launch_refused(&lock, CONFINE_STEP_DEV, ENODEV, "/dev/null");
	assert_int_equal(umount2("/dev/null", MNT_DETACH), 0);
}

/* proc-redirect: what is asked of /proc is asked of the kernel. */
static void
test_planted_proc(void **state)
{
	struct launch_lock lock;

	(void)state;
	bind_root(&lock);
	assert_int_equal(read_in_root(&lock, "/proc/self/status"), 0);
	/* one that leads elsewhere */
	assert_int_equal(rename(below("root/proc"), below("root/real")), 0);
	assert_int_equal(symlink("/tmp", below("root/proc")), 0);
	launch_refused(&lock, CONFINE_STEP_PLACE, ELOOP, "/proc");
	assert_int_equal(unlink(below("root/proc")), 0);
	assert_int_equal(rename(below("root/real"), below("root/proc")), 0);
	/* one that is made of files, with what is wanted to be read in them */
	bind_root(&lock);
	launch_remove(&lock, "/proc");
	assert_int_equal(make("root/proc/self/"), 0);
	assert_int_equal(make("root/proc/self/status"), 0);
	launch_refused(&lock, CONFINE_STEP_VERIFY, ESTALE, "/proc/self/status");
	assert_int_equal(remove(below("root/proc/self/status")), 0);
	assert_int_equal(remove(below("root/proc/self/")), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_swapped_source),
		cmocka_unit_test(test_swapped_place),
		cmocka_unit_test(test_planted_mask),
		cmocka_unit_test(test_planted_proc),
	};
	const struct CMUnitTest as_root[] = {
		cmocka_unit_test(test_planted_device),
	};

	int failed = cmocka_run_group_tests(tests, set_up, tear_down);
	if (launch_is_root())
		failed += cmocka_run_group_tests(as_root, set_up, tear_down);
	return failed;
}
