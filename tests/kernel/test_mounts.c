/*
 * The new root from inside, and the mount operations that must be refused. Everything happens below
 * one temporary directory of the host.
 */
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/kernel/scratch.h"

#include "base/banned.h"

static struct launch_result result;

static void
make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	assert_true(fd >= 0 && write(fd, "secret\n", 7) == 7);
	close(fd);
}

static void
make_dir(const char *path)
{
	/* For whoever the command is: the mount has to say no, not the mode. */
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(chmod(path, 0777), 0);
}

static int
set_up(void **state)
{
	(void)state;
	if (scratch_make() != 0)
		return -1;
	make_dir(below("data"));
	make_dir(below("data/sub"));
	make_file(below("data/file"));
	make_file(below("data/sub/file"));
	if (symlink("/tmp", below("data/link")) != 0 || symlink(scratch, below("alias")) != 0)
		return -1;
	if (launch_is_root())
		return mount("tmpfs", below("data/sub"), "tmpfs", 0, "mode=777");
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	if (launch_is_root())
		umount2(below("data/sub"), MNT_DETACH);
	unlink(below("data/sub/file"));
	unlink(below("data/file"));
	unlink(below("data/link"));
	unlink(below("alias"));
	rmdir(below("data/sub"));
	rmdir(below("data"));
	return rmdir(scratch);
}

static struct confine_op *
bind_data(struct launch_lock *lock, uint32_t flags)
{
	launch_lock_full(lock);
	launch_rule(lock, "/data", CONFINE_READ | CONFINE_WRITE | CONFINE_EXEC);
	return launch_op(lock, CONFINE_OP_BIND, below("data"), "/data",
	    flags | CONFINE_OP_RECURSIVE);
}

static int
attempt(const struct launch_lock *lock, const char *name, const char *a)
{
	return launch_attempt(lock, name, a, NULL);
}

/* U30 and W4: read-only is recursive; the mounts below come along and are read-only as well. */
static void
test_read_only(void **state)
{
	struct launch_lock lock;

	(void)state;
	bind_data(&lock, CONFINE_OP_RDONLY);
	assert_int_equal(attempt(&lock, "create", "/data/new"), EROFS);
	assert_int_equal(attempt(&lock, "create", "/data/sub/new"), EROFS);
	assert_int_equal(attempt(&lock, "create", "/usr/new"), EROFS);
	assert_int_equal(attempt(&lock, "create", "/new"), EROFS);
	bind_data(&lock, 0);
	assert_int_equal(attempt(&lock, "create", "/data/new"), 0);
	assert_int_equal(attempt(&lock, "create", "/data/sub/new"), 0);
	assert_int_equal(unlink(below("data/new")), 0);
	assert_int_equal(unlink(below("data/sub/new")), 0);
}

static void
test_noexec(void **state)
{
	struct launch_lock lock;

	(void)state;
	launch_lock_full(&lock);
	assert_int_equal(attempt(&lock, "execute", "/tmp/x"), 0);
	launch_find(&lock, "/tmp")->flags |= CONFINE_OP_NOEXEC;
	assert_int_equal(attempt(&lock, "execute", "/tmp/x"), EACCES);
	bind_data(&lock, 0);
	assert_int_equal(attempt(&lock, "execute", "/data/new"), 0);
	bind_data(&lock, CONFINE_OP_NOEXEC);
	assert_int_equal(attempt(&lock, "execute", "/data/new"), EACCES);
	assert_int_equal(unlink(below("data/new")), 0);
}

static void
test_sizes(void **state)
{
	struct launch_lock lock;

	(void)state;
	launch_lock_full(&lock);
	assert_int_equal(launch_attempt(&lock, "fill", "/tmp/x", "2097152"), ENOSPC);
	assert_int_equal(launch_attempt(&lock, "fill", "/dev/shm/x", "2097152"), ENOSPC);
	launch_find(&lock, "/tmp")->size = 4 << 20;
	launch_find(&lock, "/dev")->size = 4 << 20;
	assert_int_equal(launch_attempt(&lock, "fill", "/tmp/x", "2097152"), 0);
	assert_int_equal(launch_attempt(&lock, "fill", "/dev/shm/x", "2097152"), 0);
}

static void
test_masks(void **state)
{
	struct launch_lock lock;

	(void)state;
	bind_data(&lock, 0);
	assert_int_equal(attempt(&lock, "read", "/data/file"), 0);
	launch_op(&lock, CONFINE_OP_MASK, NULL, "/data/file", 0);
	launch_op(&lock, CONFINE_OP_MASK, NULL, "/data/missing", CONFINE_OP_OPTIONAL);
	launch_op(&lock, CONFINE_OP_MASK, NULL, "/data/sub", 0);
	assert_int_equal(attempt(&lock, "read", "/data/file"), EACCES);
	assert_int_equal(attempt(&lock, "read", "/data/sub/file"), ENOENT);
	assert_int_equal(attempt(&lock, "create", "/data/sub/new"), ENOENT);
	assert_int_equal(attempt(&lock, "create", "/data/new"), 0);
	assert_int_equal(unlink(below("data/new")), 0);
}

static struct confine_op *
bind_random(struct launch_lock *lock, uint32_t flags)
{
	struct stat st;

	launch_lock_full(lock);
	assert_int_equal(stat("/dev/urandom", &st), 0);
	struct confine_op *op = launch_op(lock, CONFINE_OP_BIND, "/dev/urandom", "/dev/hl/random",
	    flags | CONFINE_OP_FILE | CONFINE_OP_RDONLY | CONFINE_OP_NOEXEC);
	op->size = (flags & CONFINE_OP_DEVICE) != 0 ? st.st_rdev : 0;
	return op;
}

/* A device of the host: read, written and asked by ioctl(2) through a mount that is read-only; and
 * nothing else may be bound so. */
static void
test_devices(void **state)
{
	struct launch_lock lock;

	(void)state;
	launch_lock_full(&lock);
	assert_int_equal(attempt(&lock, "read", "/dev/hl/random"), ENOENT);
	bind_random(&lock, CONFINE_OP_DEVICE);
	assert_int_equal(attempt(&lock, "read", "/dev/hl/random"), 0);
	assert_int_equal(launch_attempt(&lock, "open", "/dev/hl/random", "w"), 0);
	assert_int_equal(attempt(&lock, "entropy", "/dev/hl/random"), 0);
	assert_int_equal(attempt(&lock, "create", "/dev/hl/new"), EROFS);
	/* Landlock stands before it as before the rest of /dev. */
	bind_random(&lock, CONFINE_OP_DEVICE);
	for (size_t i = 0; i < lock.confinement.rules_len; i++)
		if (strcmp(lock.rules[i].path, "/dev") == 0)
			lock.rules[i].access = CONFINE_READ;
	assert_int_equal(launch_attempt(&lock, "open", "/dev/hl/random", "w"), EACCES);
	/* The same file bound as one that is no device cannot be opened. */
	bind_random(&lock, 0);
	assert_int_equal(attempt(&lock, "read", "/dev/hl/random"), EACCES);
	/* Another device than the host looked at, and what is none. */
	bind_random(&lock, CONFINE_OP_DEVICE)->size++;
	launch_refused(&lock, CONFINE_STEP_SOURCE, ESTALE, "/dev/urandom");
	struct confine_op *op = bind_random(&lock, CONFINE_OP_DEVICE);
	struct stat st;
	assert_int_equal(stat(below("data/file"), &st), 0);
	op->src = below("data/file");
	op->dev = st.st_dev;
	op->ino = st.st_ino;
	op->size = st.st_rdev;
	launch_refused(&lock, CONFINE_STEP_SOURCE, ESTALE, below("data/file"));
}

static void
test_proc(void **state)
{
	struct launch_lock lock;

	(void)state;
	launch_lock_full(&lock);
	assert_int_equal(attempt(&lock, "read", "/proc/timer_list"), EACCES);
	assert_int_equal(attempt(&lock, "read", "/proc/kallsyms"), EACCES);
	assert_int_equal(attempt(&lock, "read", "/proc/meminfo"), 0);
	assert_int_equal(attempt(&lock, "read", "/proc/1/status"), 0);
	assert_int_equal(launch_attempt(&lock, "open", "/proc/self/comm", "w"), 0);
	launch_find(&lock, "/proc")->flags = CONFINE_OP_SUBSET;
	assert_int_equal(attempt(&lock, "read", "/proc/timer_list"), ENOENT);
	assert_int_equal(attempt(&lock, "read", "/proc/meminfo"), ENOENT);
	assert_int_equal(attempt(&lock, "read", "/proc/1/status"), ENOENT);
	assert_int_equal(attempt(&lock, "read", "/proc/self/status"), 0);
	/* The siblings: what an uncovered proc shows to the same user. */
	launch_lock_full(&lock);
	launch_op(&lock, CONFINE_OP_BIND, "/proc", "/host-proc", CONFINE_OP_RECURSIVE);
	assert_int_equal(attempt(&lock, "read", "/host-proc/kallsyms"), 0);
}

/* W1: the user behind the command is the host's root, without capabilities. */
static void
test_proc_sys_as_root(void **state)
{
	static const char path[] = "/proc/sys/vm/overcommit_memory";
	static const char uncovered[] = "/host-proc/sys/vm/overcommit_memory";
	struct launch_lock lock;

	(void)state;
	launch_lock_full(&lock);
	lock.confinement.uid = lock.confinement.gid = 0;
	if (!launch_is_root()) {
		/* Who is not root does not become it by a lock that says so, nor does a file
		 * system become root's: that id is not of this user namespace. */
		const char *const words[] = { "true", NULL };
		launch_run(&lock, 0, words, &result);
		assert_true(result.has_error);
		assert_int_equal(result.error.step, CONFINE_STEP_DEV);
		launch_lock_none(&lock);
		lock.confinement.flags |= CONFINE_IDENTITY;
		lock.confinement.uid = lock.confinement.gid = 0;
		launch_run(&lock, 0, words, &result);
		assert_true(result.has_error);
		assert_int_equal(result.error.step, CONFINE_STEP_IDENTITY);
		return;
	}
	assert_int_equal(launch_attempt(&lock, "open", path, "w"), EROFS);
	assert_int_equal(attempt(&lock, "capability", "21"), EPERM);
	assert_int_equal(attempt(&lock, "read", "/proc/timer_list"), EACCES);
	launch_op(&lock, CONFINE_OP_BIND, "/proc", "/host-proc", CONFINE_OP_RECURSIVE);
	launch_rule(&lock, "/host-proc", CONFINE_READ | CONFINE_WRITE);
	assert_int_equal(launch_attempt(&lock, "open", uncovered, "w"), 0);
	assert_int_equal(attempt(&lock, "read", "/host-proc/timer_list"), 0);
	/* root with one capability has that one and no other */
	lock.confinement.caps_bounding = lock.confinement.caps_effective = 1;
	assert_int_equal(attempt(&lock, "capability", "0"), 0);
	assert_int_equal(attempt(&lock, "capability", "21"), EPERM);
}

/* What the host's own root bound as a whole looks like, and what covers parts of it. */
static void
test_bound_root(void **state)
{
	struct launch_lock lock;

	(void)state;
	launch_lock_none(&lock);
	struct launch_lock full;
	launch_lock_full(&full);
	lock.confinement = full.confinement;
	lock.confinement.ops = lock.ops;
	lock.confinement.ops_len = 0;
	lock.confinement.rules = full.rules;
	launch_op(&lock, CONFINE_OP_BIND, "/", "/", CONFINE_OP_RDONLY | CONFINE_OP_RECURSIVE);
	launch_op(&lock, CONFINE_OP_PROC, NULL, "/proc", 0);
	launch_op(&lock, CONFINE_OP_DEV, NULL, "/dev", 0);
	launch_op(&lock, CONFINE_OP_TMPFS, NULL, "/tmp", 0)->mode = 01777;
	launch_op(&lock, CONFINE_OP_BIND, launch_probe(), "/tmp/probe",
	    CONFINE_OP_FILE | CONFINE_OP_RDONLY);
	const char *const words[] = { "/tmp/probe", "create", "/etc/new", NULL };
	launch_run(&lock, 0, words, &result);
	if (result.has_error)
		fail_msg("%s '%s': %s", confine_step_text((enum confine_step)result.error.step),
		    result.subject, strerror(result.error.sys_errno));
	assert_true(result.exit.code == EROFS || result.exit.code == EACCES);
	const char *const tmp[] = { "/tmp/probe", "create", "/tmp/new", NULL };
	launch_run(&lock, 0, tmp, &result);
	assert_int_equal(result.exit.code, 0);
}

static void
test_refused_operations(void **state)
{
	struct launch_lock lock;

	(void)state;
	/* another thing than the host looked at */
	bind_data(&lock, 0)->ino++;
	launch_refused(&lock, CONFINE_STEP_SOURCE, ESTALE, below("data"));
	/* a symbolic link on the way to the source */
	bind_data(&lock, 0)->src = below("alias/data");
	launch_refused(&lock, CONFINE_STEP_SOURCE, ELOOP, below("alias/data"));
	/* a file where a directory was */
	bind_data(&lock, 0)->flags |= CONFINE_OP_FILE;
	launch_refused(&lock, CONFINE_STEP_SOURCE, ESTALE, below("data"));
	/* a symbolic link, planted in a bind, as the place of a mount */
	bind_data(&lock, 0);
	launch_op(&lock, CONFINE_OP_TMPFS, NULL, "/data/link/x", 0);
	launch_refused(&lock, CONFINE_STEP_PLACE, ELOOP, "/data/link/x");
	/* a mount point that would have to be made in a bind */
	bind_data(&lock, 0);
	launch_op(&lock, CONFINE_OP_TMPFS, NULL, "/data/new/x", 0);
	launch_refused(&lock, CONFINE_STEP_PLACE, ENOENT, "/data/new/x");
	/* the same in a file system of ours is made */
	bind_data(&lock, 0);
	launch_op(&lock, CONFINE_OP_TMPFS, NULL, "/tmp/new/x", 0)->mode = 0777;
	assert_int_equal(attempt(&lock, "create", "/tmp/new/x/y"), 0);
	/* and one that exists in a bind is used */
	bind_data(&lock, 0);
	launch_op(&lock, CONFINE_OP_TMPFS, NULL, "/data/sub", 0)->mode = 0777;
	assert_int_equal(attempt(&lock, "create", "/data/sub/y"), 0);
	assert_int_equal(access(below("data/sub/y"), F_OK), -1);
	/* a link where something is already */
	bind_data(&lock, 0);
	launch_op(&lock, CONFINE_OP_SYMLINK, "x", "/tmp", 0);
	launch_refused(&lock, CONFINE_STEP_PLACE, EEXIST, "/tmp");
	launch_find(&lock, "/tmp")->mode = 0777;
	/* something to hide that is not there */
	bind_data(&lock, 0);
	launch_op(&lock, CONFINE_OP_MASK, NULL, "/data/missing", 0);
	launch_refused(&lock, CONFINE_STEP_MASK, ENOENT, "/data/missing");
	/* without a proc nothing can be verified */
	bind_data(&lock, 0);
	launch_remove(&lock, "/proc");
	lock.confinement.flags &= ~(uint32_t)CONFINE_LANDLOCK;
	launch_refused(&lock, CONFINE_STEP_VERIFY, ENOENT, "/proc/self/status");
}

static void
test_landlock(void **state)
{
	const char *const words[] = { "/probe", "nothing", NULL };
	struct launch_lock lock;
	struct launch launch;

	(void)state;
	launch_lock_full(&lock);
	assert_int_equal(attempt(&lock, "create", "/tmp/x"), 0);
	lock.rules[1].access = CONFINE_READ;
	assert_int_equal(attempt(&lock, "create", "/tmp/x"), EACCES);
	assert_int_equal(attempt(&lock, "execute", "/tmp/x"), EACCES);
	/* a rule for what is not there names it */
	launch_rule(&lock, "/nowhere", CONFINE_READ);
	launch_refused(&lock, CONFINE_STEP_LANDLOCK, ENOENT, "/nowhere");
	/* a kernel without it: HLD-01, and nothing is started */
	launch_lock_full(&lock);
	launch_start(&launch, LAUNCH_NO_LANDLOCK);
	launch_send_lock(&launch, &lock);
	launch_send_spawn(&launch, 0, words);
	launch_collect(&launch, &result);
	launch_end(&launch);
	assert_true(result.has_error);
	assert_int_equal(result.error.step, CONFINE_STEP_LANDLOCK);
	assert_int_equal(result.error.code, HLD_01);
	/* and where it is not asked for, the same kernel will do */
	lock.confinement.flags &= ~(uint32_t)CONFINE_LANDLOCK;
	launch_start(&launch, LAUNCH_NO_LANDLOCK);
	launch_send_lock(&launch, &lock);
	launch_send_spawn(&launch, 0, words);
	launch_collect(&launch, &result);
	launch_end(&launch);
	assert_true(result.has_exit);
}

/* abs_unix: the host's abstract sockets, with the host's network: only Landlock stands there. */
static void
test_abstract_socket(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct launch_lock lock;
	char name[32];

	(void)state;
	if (launch_landlock_abi() < 6) {
		print_message("# SKIP this kernel has no Landlock scopes (ABI 6, Linux 6.12)\n");
		skip();
	}
	snprintf(name, sizeof(name), "hl-test-%d", (int)getpid());
	memcpy(address.sun_path + 1, name, strlen(name));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(fd, 4), 0);
	launch_lock_full(&lock);
	lock.confinement.flags &= ~(uint32_t)CONFINE_LOOPBACK;
	assert_int_equal(launch_attempt_with(&lock, LAUNCH_SHARE_NET, "abstract", name, NULL),
	    EPERM);
	lock.confinement.flags &= ~(uint32_t)CONFINE_LANDLOCK;
	assert_int_equal(launch_attempt_with(&lock, LAUNCH_SHARE_NET, "abstract", name, NULL), 0);
	close(fd);
}

static int
run_probe_here(const char *word)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int fd = open("/", O_RDONLY | O_DIRECTORY);
		if (fd != 7)
			dup2(fd, 7);
		execl(launch_probe(), "probe", word, (char *)NULL);
		_exit(251);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
test_descriptors(void **state)
{
	const char *const words[] = { "/probe", "nothing", NULL };
	struct launch_lock lock;

	(void)state;
	launch_lock_full(&lock);
	assert_int_equal(launch_attempt(&lock, "leak", NULL, NULL), EBADF);
	assert_int_equal(run_probe_here("leak"), 0);
	launch_run(&lock, LAUNCH_STDIN_DIR, words, &result);
	assert_true(result.has_error);
	assert_int_equal(result.error.step, CONFINE_STEP_DESCRIPTORS);
	assert_string_equal(result.subject, "standard input");
}

static void
test_identity(void **state)
{
	const char *const words[] = { "sh", "-c", "id -u; id -G; hostname; echo $$", NULL };
	struct launch_lock lock;
	char expected[64];

	(void)state;
	launch_lock_full(&lock);
	launch_run(&lock, 0, words, &result);
	snprintf(expected, sizeof(expected), "%u\n%u\nsandbox\n2\n", lock.confinement.uid,
	    lock.confinement.gid);
	assert_string_equal(result.out, expected);
	assert_int_equal(launch_attempt(&lock, "setuid", "0", NULL),
	    launch_is_root() ? EPERM : EINVAL);
	if (!launch_is_root())
		return;
	lock.confinement.flags &= ~(uint32_t)(CONFINE_IDENTITY | CONFINE_CAPS);
	assert_int_equal(launch_attempt(&lock, "setuid", "12345", NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_noexec),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_proc),
		cmocka_unit_test(test_proc_sys_as_root),
		cmocka_unit_test(test_bound_root),
		cmocka_unit_test(test_refused_operations),
		cmocka_unit_test(test_landlock),
		cmocka_unit_test(test_abstract_socket),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_identity),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
