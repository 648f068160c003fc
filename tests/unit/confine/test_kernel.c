/*
 * What this kernel offers, against what trying it here shows; and a kernel on which user namespaces
 * are forbidden by a filter, as in a container.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "confine/confine.h"

#include "base/banned.h"

static void
test_probe(void **state)
{
	struct confine_kernel kernel;

	(void)state;
	confine_kernel_probe(&kernel);
	long abi = syscall(444, NULL, 0, 1);
	assert_int_equal(kernel.landlock_abi, abi > 0 ? abi : 0);
	assert_true(kernel.has_seccomp);
	if (geteuid() == 0)
		assert_false(confine_nproc_is_per_namespace());
	assert_true(kernel.has_user_ns || kernel.user_ns_cause[0] != '\0');
	/* the probe left us where we were */
	assert_int_equal(prctl(PR_GET_SECCOMP, 0, 0, 0, 0), 0);
}

/* The flags of clone are the first argument; CLONE_NEWUSER is refused. */
static void
forbid_user_ns(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = HL_ARRAY_SIZE(code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		_exit(90);
}

/* In a child, as an ordinary user: 0 = as expected. */
static int
probe_as_user(bool is_forbidden)
{
	struct confine_kernel kernel;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
			_exit(91);
		if (is_forbidden)
			forbid_user_ns();
		confine_kernel_probe(&kernel);
		if (!is_forbidden)
			_exit(kernel.has_user_ns ? 0 : 1);
		_exit(
		    !kernel.has_user_ns && strstr(kernel.user_ns_cause, "seccomp") != NULL ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	hl_close_ptr(&fd);
	return is_written;
}

/* In a user namespace of our own, where the sysctl is ours to set: 0 = refused, with the cause. */
static int
probe_without_more(const char *most)
{
	struct confine_kernel kernel;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
			_exit(91);
		/* Who has no number in a namespace may make none below it. */
		char users[64], groups[64];
		snprintf(users, sizeof(users), "%u %u 1\n", geteuid(), geteuid());
		snprintf(groups, sizeof(groups), "%u %u 1\n", getegid(), getegid());
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		if (unshare(CLONE_NEWUSER) != 0)
			_exit(92);
		if (!write_file("/proc/self/setgroups", "deny") ||
		    !write_file("/proc/self/uid_map", users) ||
		    !write_file("/proc/self/gid_map", groups) ||
		    !write_file("/proc/sys/user/max_user_namespaces", most))
			_exit(93);
		confine_kernel_probe(&kernel);
		if (kernel.has_user_ns)
			_exit(0);
		_exit(
		    strstr(kernel.user_ns_cause, "user.max_user_namespaces is 0") != NULL ? 1 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
test_switched_off(void **state)
{
	(void)state;
	if (probe_without_more("100") == 92) {
		print_message("# SKIP no user namespace can be made here\n");
		skip();
	}
	assert_int_equal(probe_without_more("0"), 1);
	assert_int_equal(probe_without_more("100"), 0);
}

/* By trying: one is made, and another kind inside it. */
static bool
may_use_user_ns(void)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
			_exit(91);
		_exit(unshare(CLONE_NEWUSER) != 0 || unshare(CLONE_NEWUTS) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 91);
	return WEXITSTATUS(status) == 0;
}

static void
test_forbidden(void **state)
{
	(void)state;
	assert_int_equal(probe_as_user(true), 0);
	/* The sibling, where this machine allows them at all. */
	if (!may_use_user_ns()) {
		print_message("# SKIP no user namespace can be used here\n");
		skip();
	}
	assert_int_equal(probe_as_user(false), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_forbidden),
		cmocka_unit_test(test_switched_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
