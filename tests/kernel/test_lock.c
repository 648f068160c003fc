/*
 * The lock on this kernel, from inside: every attempt is tried in a sandbox that has everything on,
 * where it must end with the errno of the table, and in one whose responsible control is off, where
 * it must come through. Both directions, or the test could not fail.
 */
#include <sys/syscall.h>

#include <linux/keyctl.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/kernel/launch.h"

#include "base/banned.h"

enum off {
	OFF_SECCOMP = CONFINE_SECCOMP,
	OFF_LANDLOCK = CONFINE_LANDLOCK,
	OFF_BOTH = CONFINE_SECCOMP | CONFINE_LANDLOCK,
	OFF_RIGHTS = CONFINE_SECCOMP | CONFINE_LANDLOCK | CONFINE_CAPS | CONFINE_IDENTITY,
	OFF_LOOPBACK = CONFINE_LOOPBACK,
	OFF_NOTHING = 0, /* allowed on purpose: the same with and without */
};

struct attempt {
	const char *name;
	const char *words[3];
	int locked;
	uint32_t off;
	int open; /* errno with the control off */
};

/* Numbers of calls as text, for the probe's "syscall". */
#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

static const struct attempt attempts[] = {
	/* namespaces and mounts */
	{ "clone_user", { "clone", "0x10000000" }, EPERM, OFF_SECCOMP, 0 },
	{ "clone_user with bits above 32", { "clone", "0x110000000" }, EPERM, OFF_SECCOMP, 0 },
	{ "unshare_user", { "syscall", TEXT(SYS_unshare), "0x10000000" }, EPERM, OFF_SECCOMP, 0 },
	{ "unshare of files only", { "syscall", TEXT(SYS_unshare), "0x400" }, 0, OFF_NOTHING, 0 },
	{ "clone3", { "syscall", TEXT(SYS_clone3) }, ENOSYS, OFF_SECCOMP, EINVAL },
	{ "mount", { "mount", "/tmp" }, EPERM, OFF_RIGHTS, 0 },
	{ "umount_proc", { "umount", "/proc" }, EPERM, OFF_RIGHTS, 0 },
	{ "remount_rw", { "remount", "/usr" }, EPERM, OFF_RIGHTS, 0 },
	{ "setns", { "syscall", TEXT(SYS_setns), "0" }, EPERM, OFF_SECCOMP, EINVAL },
	/* system calls */
	{ "add_key", { "syscall", TEXT(SYS_add_key) }, EPERM, OFF_SECCOMP, EFAULT },
	{ "io_uring", { "syscall", TEXT(SYS_io_uring_setup), "1" }, EPERM, OFF_SECCOMP, EFAULT },
	{ "kcmp", { "syscall", TEXT(SYS_kcmp) }, EPERM, OFF_SECCOMP, ESRCH },
	{ "keyctl",
	    {
		"syscall",
		TEXT(SYS_keyctl),
		"0",
	    },
	    EPERM, OFF_SECCOMP, EINVAL },
	{ "perf", { "syscall", TEXT(SYS_perf_event_open) }, EPERM, OFF_SECCOMP, EFAULT },
	{ "userfaultfd", { "syscall", TEXT(SYS_userfaultfd), "1" }, EPERM, OFF_SECCOMP, 0 },
	{ "unknown to us", { "syscall", "999" }, ENOSYS, OFF_NOTHING, ENOSYS },
#ifdef SYS_modify_ldt
	{ "modify_ldt", { "syscall", TEXT(SYS_modify_ldt) }, EPERM, OFF_SECCOMP, 0 },
	{ "x32", { "x32" }, ENOSYS, OFF_NOTHING, ENOSYS },
#endif
	{ "personality_rie", { "personality", "0x400000" }, EPERM, OFF_SECCOMP, 0 },
	{ "personality, the question", { "personality", "0xffffffff" }, 0, OFF_NOTHING, 0 },
	/* sockets */
	{ "vsock", { "socket", "40", "0" }, EPERM, OFF_SECCOMP, 0 },
	{ "vsock with bits above 32", { "socket", "0x100000028", "0" }, EPERM, OFF_SECCOMP, 0 },
	{ "nl_netfilter", { "socket", "16", "12" }, EPERM, OFF_SECCOMP, 0 },
	{ "nl_route", { "socket", "16", "0" }, 0, OFF_NOTHING, 0 },
	{ "mptcp", { "socket", "2", "262" }, EPERM, OFF_SECCOMP, 0 },
	{ "mptcp6", { "socket", "10", "262" }, EPERM, OFF_SECCOMP, 0 },
	{ "tcp", { "socket", "2", "6" }, 0, OFF_NOTHING, 0 },
	{ "fastopen", { "fastopen" }, EPERM, OFF_SECCOMP, 0 },
	{ "tcp_fastopen option", { "setsockopt", "6", "23" }, EPERM, OFF_SECCOMP, 0 },
	{ "tcp_nodelay option", { "setsockopt", "6", "1" }, 0, OFF_NOTHING, 0 },
	{ "loopback", { "loopback" }, ECONNREFUSED, OFF_LOOPBACK, ENETUNREACH },
	/* terminal: ENOTTY is the terminal's own answer, so the kernel was asked */
	{ "U115 tiocsti", { "ioctl", "0x5412" }, EPERM, OFF_SECCOMP, ENOTTY },
	{ "U115 tiocsti_hi", { "ioctl", "0x100005412" }, EPERM, OFF_SECCOMP, ENOTTY },
	{ "tioclinux", { "ioctl", "0x541c" }, EPERM, OFF_SECCOMP, ENOTTY },
	/* files */
	{ "whiteout", { "whiteout" }, EPERM, OFF_SECCOMP, 0 },
	{ "mknod whiteout, filter", { "mknod", "0", "0" }, EPERM, OFF_BOTH, 0 },
	{ "tmp", { "create", "/tmp/x" }, 0, OFF_NOTHING, 0 },
	{ "dev is not writable", { "create", "/dev/x" }, EROFS, OFF_NOTHING, EROFS },
	{ "null", { "open", "/dev/null", "w" }, 0, OFF_NOTHING, 0 },
	{ "dev_mem", { "open", "/dev/mem", "r" }, ENOENT, OFF_NOTHING, ENOENT },
	{ "shadow_read", { "open", "/etc/shadow", "r" }, ENOENT, OFF_NOTHING, ENOENT },
	{ "caps", { "capability", "21" }, EPERM, OFF_RIGHTS, 0 },
	/* the init: its own kind can be read, it cannot */
	{ "proc1_environ", { "open", "/proc/1/environ", "r" }, EACCES, OFF_SECCOMP, EACCES },
	{ "own environ", { "open", "/proc/self/environ", "r" }, 0, OFF_NOTHING, 0 },
	{ "proc1_mem", { "open", "/proc/1/mem", "r" }, EACCES, OFF_SECCOMP, EACCES },
	{ "ptrace_init", { "ptrace", "1" }, EPERM, OFF_SECCOMP, EPERM },
	{ "pid1-kill", { "kill", "1", "9" }, 0, OFF_NOTHING, 0 }, /* sent, and without effect */
};

static int
try(const struct launch_lock *lock, const struct attempt *attempt)
{
	return launch_attempt(lock, attempt->words[0], attempt->words[1], attempt->words[2]);
}

static void
switch_off(struct launch_lock *lock, uint32_t off)
{
	lock->confinement.flags &= ~off;
	if ((off & CONFINE_SECCOMP) != 0)
		lock->confinement.bpf_len = 0;
	if ((off & CONFINE_IDENTITY) != 0)
		launch_find(lock, "/tmp")->mode = 01777;
}

static void
test_attempts(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(attempts); i++) {
		const struct attempt *attempt = &attempts[i];
		struct launch_lock lock;
		launch_lock_full(&lock);
		int found = try(&lock, attempt);
		if (found != attempt->locked) {
			print_error("%s: locked: %s, not %s\n", attempt->name, strerror(found),
			    strerror(attempt->locked));
			wrong++;
		}
		if (attempt->off == OFF_NOTHING)
			continue;
		switch_off(&lock, attempt->off);
		found = try(&lock, attempt);
		if (found != attempt->open) {
			print_error("%s: with the control off: %s, not %s\n", attempt->name,
			    strerror(found), strerror(attempt->open));
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

/* Landlock's rights for TCP (ABI 4): nobody to talk to, not even oneself. */
static void
test_no_tcp(void **state)
{
	struct launch_lock lock;

	(void)state;
	assert_int_equal(confine_landlock_abi(), launch_landlock_abi());
	if (launch_landlock_abi() < 4) {
		print_message(
		    "# SKIP this kernel has no Landlock rights for TCP (ABI 4, Linux 6.7)\n");
		skip();
	}
	launch_lock_full(&lock);
	lock.confinement.flags |= CONFINE_NO_TCP;
	assert_int_equal(launch_attempt(&lock, "listen", NULL, NULL), EACCES);
	assert_int_equal(launch_attempt(&lock, "loopback", NULL, NULL), EACCES);
	lock.confinement.flags &= ~(uint32_t)CONFINE_NO_TCP;
	assert_int_equal(launch_attempt(&lock, "listen", NULL, NULL), 0);
	assert_int_equal(launch_attempt(&lock, "loopback", NULL, NULL), ECONNREFUSED);
}

/* A key of the caller's session is not there, even for a command that may ask for keys. */
static void
test_keyring(void **state)
{
	static const char name[] = "hl-test-key";
	struct launch_lock lock;

	(void)state;
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL, 0, 0, 0) < 0 ||
	    syscall(SYS_add_key, "user", name, "x", 1, KEY_SPEC_SESSION_KEYRING) < 0) {
		print_message("# SKIP no key can be added here: %s\n", strerror(errno));
		skip();
	}
	launch_lock_full(&lock);
	switch_off(&lock, CONFINE_SECCOMP);
	assert_int_equal(launch_attempt(&lock, "key", name, NULL), ENOKEY);
	switch_off(&lock, CONFINE_KEYRING);
	assert_int_equal(launch_attempt(&lock, "key", name, NULL), 0);
}

/* What strict refuses beyond default, and broad lets through. */
static const struct {
	const char *name;
	const char *words[3];
	int expected[3]; /* strict, default, broad */
} profiles[] = {
	{ "ptrace", { "syscall", TEXT(SYS_ptrace), "99" }, { EPERM, ESRCH, ESRCH } },
	{ "memfd_create", { "syscall", TEXT(SYS_memfd_create) }, { EPERM, EFAULT, EFAULT } },
	{ "process_vm_readv", { "syscall", TEXT(SYS_process_vm_readv) }, { EPERM, 0, 0 } },
	{ "user namespace", { "clone", "0x10000000" }, { EPERM, EPERM, 0 } },
	{ "vsock", { "socket", "40", "0" }, { EPERM, EPERM, 0 } },
	{ "bpf", { "syscall", TEXT(SYS_bpf) }, { EPERM, EPERM, EPERM } },
	{ "tiocsti", { "ioctl", "0x5412" }, { EPERM, EPERM, EPERM } },
	{ "getpid", { "syscall", TEXT(SYS_getpid) }, { 0, 0, 0 } },
};

static void
test_profiles(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(profiles); i++)
		for (unsigned k = 0; k < 3; k++) {
			struct launch_lock lock;
			launch_lock_full(&lock);
			launch_set_profile(&lock, (enum confine_profile)k);
			int found = launch_attempt(&lock, profiles[i].words[0],
			    profiles[i].words[1], profiles[i].words[2]);
			if (found != profiles[i].expected[k])
				fail_msg("%s in profile %u: %s", profiles[i].name, k,
				    strerror(found));
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attempts),
		cmocka_unit_test(test_no_tcp),
		cmocka_unit_test(test_keyring),
		cmocka_unit_test(test_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
