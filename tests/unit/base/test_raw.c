/*
 * A process on our own memory: what it returns is its status, what it writes is ours, and a clone
 * that fails leaves no number that may be another descriptor's.
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

#include "base/banned.h"

enum {
	STACK_SIZE = 64 * 1024
};

static int
write_there(void *argument)
{
	*(long *)argument = HL_RAW3(SYS_getpid, 0, 0, 0);
	return 7;
}

static char *
new_stack(void)
{
	void *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	assert_ptr_not_equal(stack, MAP_FAILED);
	return stack;
}

static void
a_clone_shares_memory(void **state)
{
	char *stack = new_stack();
	long seen = 0;
	int pidfd = -1, status;

	(void)state;
	long pid = hl_raw_clone(CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, stack + STACK_SIZE,
	    &pidfd, write_there, &seen);
	assert_true(pid > 0);
	assert_true(pidfd >= 0);
	assert_int_equal(seen, pid);
	assert_int_equal(waitpid((pid_t)pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	close(pidfd);
	munmap(stack, STACK_SIZE);
}

static void
a_clone_that_fails_leaves_no_descriptor(void **state)
{
	char *stack = new_stack();
	long seen = 0;
	int pidfd = 12345;

	(void)state;
	/* A thread of ours that is a process of its own cannot be. */
	assert_int_equal(hl_raw_clone(CLONE_THREAD | CLONE_VM | CLONE_PIDFD, stack + STACK_SIZE,
			     &pidfd, write_there, &seen),
	    -EINVAL);
	assert_int_equal(pidfd, -1);
	assert_int_equal(seen, 0);
	munmap(stack, STACK_SIZE);
}

static void
an_error_is_the_result(void **state)
{
	(void)state;
	errno = 0;
	assert_int_equal(HL_RAW3(SYS_close, -1, 0, 0), -EBADF);
	assert_int_equal(HL_RAW5(SYS_openat, AT_FDCWD, "/no/such", 0, 0, 0), -ENOENT);
	assert_int_equal(errno, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clone_shares_memory),
		cmocka_unit_test(a_clone_that_fails_leaves_no_descriptor),
		cmocka_unit_test(an_error_is_the_result),
	};

	return cmocka_run_group_tests_name("raw", tests, NULL, NULL);
}
