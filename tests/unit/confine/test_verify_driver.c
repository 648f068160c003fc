/*
 * What of a graphics driver's passes by its name: whether a socket is one of its services', and a
 * directory one of its firmware, is asked where such sockets and directories are, in a mount
 * namespace of the test's own.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "confine/apply/verify.h"

#include "base/banned.h"

/* What passes by its name: two sockets of the driver's services, and its firmware. */
static const struct named {
	const char *root, *place, *options;
	bool is_fine;
} named[] = {
	{ "/nvidia-persistenced/socket", "/run/nvidia-persistenced/socket", "ro,nosuid,nodev",
	    true },
	{ "/run/nvidia-fabricmanager/socket", "/run/nvidia-fabricmanager/socket", "ro,nosuid,nodev",
	    true },
	{ "/nvidia-persistenced/socket", "/run/nvidia-persistenced/socket", "rw,nosuid,nodev",
	    false },
	{ "/nvidia-persistenced/socket", "/run/nvidia-persistenced/socket", "ro,nodev", false },
	/* another's, at the driver's name or at its own */
	{ "/docker.sock", "/run/nvidia-persistenced/socket", "ro,nosuid,nodev", false },
	{ "/nvidia-fabricmanager/socket", "/run/nvidia-persistenced/socket", "ro,nosuid,nodev",
	    false },
	{ "/docker.sock", "/run/docker.sock", "ro,nosuid,nodev", false },
	{ "/docker.sock", "/usr/lib/docker.sock", "ro,nosuid,nodev", false },
	{ "/docker.sock", "/etc/docker.sock", "ro,nosuid,nodev", false },
	{ "/firmware/nvidia/s", "/lib/firmware/nvidia/s", "ro,nosuid,nodev", false },
	{ "/nvidia-persistenced", "/run/nvidia-persistenced", "ro,nosuid,nodev", false },
	/* firmware */
	{ "/lib/firmware/nvidia/x", "/lib/firmware/nvidia/x", "ro,nosuid,nodev", true },
	{ "/usr/lib/firmware/nvidia/x", "/lib/firmware/nvidia/x", "ro,nosuid,nodev", true },
	{ "/lib/firmware/nvidia/x", "/usr/lib/firmware/nvidia/x", "ro,nosuid,nodev", true },
	{ "/@/lib/firmware/nvidia", "/usr/lib/firmware/nvidia", "ro,nosuid,nodev", true },
	{ "/lib/firmware/nvidia/x", "/lib/firmware/nvidia/x", "rw,nosuid,nodev", false },
	{ "/lib/firmware/nvidia/x", "/lib/firmware/nvidia/x", "ro,nosuid", false },
	{ "/lib/firmware/nvidia", "/lib/firmware/nvidia/x", "ro,nosuid,nodev", false },
	{ "/", "/lib/firmware/nvidia/x", "ro,nosuid,nodev", false },
	{ "/root", "/lib/firmware/nvidia/x", "ro,nosuid,nodev", false },
	{ "/root", "/usr/lib/firmware/nvidia/x", "ro,nosuid,nodev", false },
	{ "/x", "/lib/firmware/nvidia/x", "ro,nosuid,nodev", false },
	{ "/root/nvidia/x", "/lib/firmware/nvidia/x", "ro,nosuid,nodev", false },
	{ "/", "/lib/firmware/x", "ro,nosuid,nodev", false },
	{ "/root", "/lib/firmware/x", "ro,nosuid,nodev", false },
	{ "/root", "/usr/lib/firmware/x", "ro,nosuid,nodev", false },
	{ "/lib/firmware/x", "/lib/firmware/x", "ro,nosuid,nodev", false },
	{ "/lib/firmware", "/lib/firmware", "ro,nosuid,nodev", false },
	{ "/root/firmware/nvidia-x", "/lib/firmware/nvidia-x", "ro,nosuid,nodev", false },
};

static int
make_named(void)
{
	static const char *const dirs[] = { "/run/nvidia-persistenced", "/run/nvidia-fabricmanager",
		"/lib/firmware", "/lib/firmware/nvidia", "/lib/firmware/nvidia/x",
		"/lib/firmware/nvidia-x", "/lib/firmware/x", "/usr/lib/firmware",
		"/usr/lib/firmware/nvidia", "/usr/lib/firmware/nvidia/x", "/usr/lib/firmware/x" };
	static const char *const sockets[] = { "/run/nvidia-persistenced/socket",
		"/run/nvidia-fabricmanager/socket", "/run/docker.sock", "/usr/lib/docker.sock",
		"/etc/docker.sock", "/lib/firmware/nvidia/s" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(dirs); i++)
		if (mkdir(dirs[i], 0755) != 0 && errno != EEXIST)
			return -1;
	for (size_t i = 0; i < HL_ARRAY_SIZE(sockets); i++)
		if (mknod(sockets[i], S_IFSOCK | 0600, 0) != 0)
			return -1;
	return 0;
}

/* 0: this host does not allow it; -1: any other reason, which is none to skip for. */
static int
not_entered(void)
{
	return errno == EPERM || errno == EACCES ? 0 : -1;
}

/* Empty directories in the place of the host's, for this process. */
static int
enter_named(void)
{
	static const char *const places[] = { "/run", "/etc", "/usr/lib", "/lib" };

	if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return not_entered();
	for (size_t i = 0; i < HL_ARRAY_SIZE(places); i++) {
		struct stat st;
		if (lstat(places[i], &st) == 0 && S_ISDIR(st.st_mode) &&
		    mount("hl", places[i], "tmpfs", 0, "mode=0755") != 0)
			return not_entered();
	}
	return make_named() == 0 ? 1 : -1;
}

enum {
	CHILD_FINE = 100,
	CHILD_NOT_ALLOWED,
	CHILD_FAILED
};

/* The number of the first that is not as it should be. */
static int
look_at_named(void)
{
	static const struct confinement without = { .flags = CONFINE_SEEN_MOUNTS };
	static const struct confinement with = { .flags =
						     CONFINE_SEEN_MOUNTS | CONFINE_SEEN_DRIVER };
	struct confine_failure failure = { 0 };
	char text[512];

	for (size_t i = 0; i < HL_ARRAY_SIZE(named); i++) {
		struct verify_mounts mounts = { .confinement = &with };
		struct verify_mounts other = { .confinement = &without };
		snprintf(text, sizeof(text), "20 1 8:1 %s %s %s,relatime - ext4 /dev/vda rw\n",
		    named[i].root, named[i].place, named[i].options);
		int status = verify_mounts_feed(&mounts, text, strlen(text), &failure);
		if ((status == 0) != named[i].is_fine ||
		    verify_mounts_feed(&other, text, strlen(text), &failure) == 0)
			return (int)i;
	}
	return CHILD_FINE;
}

static void
test_what_a_driver_has_by_name(void **state)
{
	int status = 0;

	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int entered = enter_named();
		_exit(entered > 0    ? look_at_named()
		      : entered == 0 ? CHILD_NOT_ALLOWED
				     : CHILD_FAILED);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CHILD_NOT_ALLOWED) {
		print_message("# SKIP no mount namespace can be made here\n");
		skip();
	}
	if (WEXITSTATUS(status) < (int)HL_ARRAY_SIZE(named)) {
		const struct named *it = &named[WEXITSTATUS(status)];
		fail_msg("%s %s %s", it->root, it->place, it->options);
	}
	assert_int_equal(WEXITSTATUS(status), CHILD_FINE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_driver_has_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
