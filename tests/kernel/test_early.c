/*
 * A runner that begins before its lock has come, as the native sandbox starts it: what it made is
 * what the lock then has, the host's network is not joined by accident, and what cannot be made
 * refuses the lock.
 */
#include <sys/socket.h>
#include <sys/un.h>

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

static struct launch_result result;

/* An abstract socket belongs to a network namespace (unix(7)): with the host's network it is there.
 * Landlock would be in the way as well. */
static void
test_own_network(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct launch_lock lock;
	char name[32];

	(void)state;
	int len = snprintf(name, sizeof(name), "hl-early-%d", (int)getpid());
	memcpy(address.sun_path + 1, name, (size_t)len);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)),
	    0);
	assert_int_equal(listen(fd, 8), 0);
	launch_lock_full(&lock);
	lock.confinement.flags &= ~(uint32_t)CONFINE_LANDLOCK;
	assert_int_equal(launch_attempt_with(&lock, LAUNCH_OWN_NETWORK, "abstract", name, NULL),
	    ECONNREFUSED);
	/* lo is up in it: refused, and not unreachable */
	assert_int_equal(launch_attempt_with(&lock, LAUNCH_OWN_NETWORK, "loopback", NULL, NULL),
	    ECONNREFUSED);
	/* Also where nothing of it was begun, and the runner is in the host's network. */
	assert_int_equal(launch_attempt_with(&lock, LAUNCH_OWN_ROOT | LAUNCH_SHARE_NET, "abstract",
			     name, NULL),
	    ECONNREFUSED);
	lock.confinement.flags &= ~(uint32_t)CONFINE_LOOPBACK;
	assert_int_equal(launch_attempt_with(&lock, LAUNCH_OWN_ROOT | LAUNCH_SHARE_NET, "abstract",
			     name, NULL),
	    0);
	close(fd);
}

static void
refused(const struct launch_lock *lock, unsigned flags, enum confine_step step, int sys_errno)
{
	const char *const words[] = { "/probe", "nothing", NULL };

	launch_run(lock, flags, words, &result);
	assert_true(result.has_error);
	assert_false(result.is_locked);
	assert_string_equal(confine_step_text((enum confine_step)result.error.step),
	    confine_step_text(step));
	assert_int_equal(result.error.sys_errno, sys_errno);
}

static void
test_no_network_namespace(void **state)
{
	struct launch_lock lock;

	(void)state;
	launch_lock_full(&lock);
	lock.confinement.flags &= ~(uint32_t)CONFINE_CGROUP_NS;
	refused(&lock, LAUNCH_OWN_NETWORK | LAUNCH_NO_UNSHARE, CONFINE_STEP_NETWORK, ENOSYS);
	refused(&lock, LAUNCH_OWN_ROOT | LAUNCH_NO_UNSHARE, CONFINE_STEP_NETWORK, ENOSYS);
	/* The sibling: without that wish the same runner is locked. */
	lock.confinement.flags &= ~(uint32_t)CONFINE_LOOPBACK;
	assert_int_equal(launch_attempt_with(&lock, LAUNCH_OWN_ROOT | LAUNCH_NO_UNSHARE, "nothing",
			     NULL, NULL),
	    0);
}

/* A lock that would leave the runner in the host's network, or root, was meant for another one. */
static void
test_another_lock(void **state)
{
	struct launch_lock lock;

	(void)state;
	launch_lock_full(&lock);
	lock.confinement.flags &= ~(uint32_t)CONFINE_LOOPBACK;
	refused(&lock, LAUNCH_OWN_NETWORK, CONFINE_STEP_ROOT, EINVAL);
	launch_lock_full(&lock);
	lock.confinement.flags &= ~(uint32_t)(CONFINE_MOUNTS | CONFINE_LANDLOCK);
	refused(&lock, LAUNCH_OWN_NETWORK, CONFINE_STEP_ROOT, EINVAL);
	refused(&lock, LAUNCH_OWN_ROOT, CONFINE_STEP_ROOT, EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_network),
		cmocka_unit_test(test_no_network_namespace),
		cmocka_unit_test(test_another_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
