/*
 * The runner that the launcher carries: the bytes are those of the program, in memory nobody can
 * change them, and on the disk nothing else is taken for it.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/backends.h"
#include "backends/docker/prepare.h"
#include "backends/docker/settings.h"

#include "base/banned.h"

static struct hl_err err;

static void
expect_same(int fd)
{
	struct hl_buf bytes;
	size_t len;
	const char *image = runner_image(&len);

	hl_buf_init(&bytes, 1 << 20);
	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(hl_read_file(fd, &bytes, "it", HLB_22, &err), 0);
	assert_int_equal(bytes.len, len);
	assert_memory_equal(bytes.data, image, len);
	hl_buf_done(&bytes);
}

static void
test_bytes(void **state)
{
	size_t len;

	(void)state;
	HL_AUTO_FD int fd = open("build/hermes-runner", O_RDONLY | O_CLOEXEC);
	expect_same(fd);
	/* it begins a page, so that what lies beside it loads nothing of it */
	assert_int_equal((uintptr_t)runner_image(&len) % 4096, 0);
}

/* Neither written, nor cut, nor made longer; and it runs. */
static void
test_memory(void **state)
{
	char *const argv[] = { (char[]){ "init" }, (char[]){ "--nonsense" }, NULL };
	int status;

	(void)state;
	HL_AUTO_FD int fd = runner_image_open(&err);
	expect_same(fd);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 10), -1);
	assert_int_equal(ftruncate(fd, 10 << 20), -1);
	pid_t pid = fork();
	if (pid == 0) {
		close(STDERR_FILENO);
		fexecve(fd, argv, argv + 2);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 64 || WEXITSTATUS(status) == 65));
}

/* For an engine: below the state directory, by its digest, executable by whoever the command is. */
static void
test_disk(void **state)
{
	char dir[] = "/tmp/hl-image-XXXXXX";
	struct plan plan = { .seccomp = CONFINE_PROFILE_NONE };
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	plan.state_dir = dir;
	HL_AUTO_FREE char *path = docker_runner_path(&plan);
	assert_non_null(path);
	assert_int_equal(strncmp(path, dir, strlen(dir)), 0);
	assert_int_equal(docker_prepare(&plan, &err), 0);
	for (int i = 0; i < 4; i++) {
		/* what is not it is replaced before it is used */
		if (i == 1)
			assert_int_equal(truncate(path, 100), 0);
		if (i == 2)
			assert_int_equal(chmod(path, 0777), 0);
		if (i == 3) {
			assert_int_equal(unlink(path), 0);
			assert_int_equal(symlink("/bin/true", path), 0);
		}
		assert_int_equal(docker_prepare(&plan, &err), 0);
		HL_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		expect_same(fd);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0755);
	}
	/* where there is a file of it, nothing is written */
	assert_int_equal(unlink(path), 0);
	plan.runner_path = "/usr/libexec/hermes-launch/hermes-runner";
	assert_int_equal(docker_prepare(&plan, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	HL_AUTO_FREE char *named = docker_runner_path(&plan);
	assert_string_equal(named, plan.runner_path);
	HL_AUTO_FREE char *parent = NULL;
	assert_true(asprintf(&parent, "%s/runner", dir) > 0);
	assert_int_equal(rmdir(parent), 0);
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
