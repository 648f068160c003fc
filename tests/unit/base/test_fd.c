/*
 * Descriptors: whole reads and writes through short and interrupted ones, files up to a limit, and
 * standard descriptors that were closed.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

static void
on_signal(int number)
{
	(void)number;
}

/* The child writes slowly and interrupts the reader meanwhile. */
static void
test_read_full(void **state)
{
	struct sigaction action = { .sa_handler = on_signal };
	char text[16] = { 0 };
	int pipes[2];

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid_t parent = getpid();
	pid_t child = fork();
	if (child == 0) {
		for (unsigned i = 0; i < 5; i++) {
			usleep(3000);
			kill(parent, SIGUSR1);
			if (write(pipes[1], &"abcde"[i], 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(pipes[1]);
	assert_int_equal(hl_read_full(pipes[0], text, 3), 3);
	assert_string_equal(text, "abc");
	assert_int_equal(hl_read_full(pipes[0], text, sizeof(text)), 2);
	assert_int_equal(hl_read_full(pipes[0], text, sizeof(text)), 0);
	close(pipes[0]);
	assert_int_equal(hl_read_full(pipes[0], text, 1), -1);
	assert_int_equal(errno, EBADF);
	waitpid(child, NULL, 0);
}

static void
test_write_full(void **state)
{
	struct sigaction action = { .sa_handler = SIG_IGN };
	enum {
		SIZE = 300000
	}; /* more than a pipe holds */
	int pipes[2];
	char *bytes = calloc(1, SIZE);

	(void)state;
	assert_non_null(bytes);
	assert_int_equal(sigaction(SIGPIPE, &action, NULL), 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		char chunk[4096];
		size_t sum = 0;
		ssize_t n;
		close(pipes[1]);
		while ((n = read(pipes[0], chunk, sizeof(chunk))) > 0)
			sum += (size_t)n;
		_exit(sum == SIZE ? 0 : 1);
	}
	close(pipes[0]);
	assert_int_equal(hl_write_full(pipes[1], bytes, SIZE), 0);
	close(pipes[1]);
	int status;
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	close(pipes[0]);
	assert_int_equal(hl_write_full(pipes[1], bytes, SIZE), -1);
	assert_int_equal(errno, EPIPE);
	close(pipes[1]);
	free(bytes);
}

static void
read_size(size_t size, size_t max, int expected)
{
	char path[] = "/tmp/hl-fd-XXXXXX";
	struct hl_buf buf;
	struct hl_err err = { 0 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	hl_buf_init(&buf, max);
	assert_int_equal(hl_read_file(fd, &buf, "the file", HLU_02, &err), expected);
	if (expected == 0) {
		assert_int_equal(buf.len, size);
	} else {
		assert_int_equal(err.code, HLU_02);
		assert_non_null(strstr(err.msg, "the file"));
	}
	hl_buf_done(&buf);
	close(fd);
}

static void
test_read_file(void **state)
{
	struct hl_buf buf;
	struct hl_err err = { 0 };

	(void)state;
	read_size(0, 10, 0);
	read_size(8191, 10000, 0);
	read_size(8192, 8192, 0);
	read_size(8193, 8192, -1);
	read_size(100000, 100000, 0);
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	hl_buf_init(&buf, 10);
	assert_int_equal(hl_read_file(fd, &buf, "d", HLU_02, &err), -1);
	assert_int_equal(err.sys_errno, EISDIR);
	close(fd);
}

/* In a child: with 0 and 2 closed, both are /dev/null afterwards and 1 is what it was. */
static void
test_ensure_std(void **state)
{
	int status;

	(void)state;
	pid_t child = fork();
	if (child == 0) {
		struct hl_err err;
		struct stat null, st;
		close(0);
		close(2);
		bool fine = hl_fd_ensure_std(&err) == 0 && stat("/dev/null", &null) == 0;
		for (int fd = 0; fd <= 2; fd += 2)
			fine = fine && fstat(fd, &st) == 0 && st.st_rdev == null.st_rdev;
		fine =
		    fine && fcntl(0, F_GETFL) >= 0 && (fcntl(0, F_GETFL) & O_ACCMODE) == O_RDONLY;
		fine = fine && (fcntl(2, F_GETFL) & O_ACCMODE) == O_WRONLY;
		fine = fine && (fcntl(0, F_GETFD) & FD_CLOEXEC) == 0;
		_exit(fine ? 0 : 1);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static void
test_cloexec(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(hl_fd_set_cloexec(fd, false), 0);
	assert_int_equal(fcntl(fd, F_GETFD), 0);
	assert_int_equal(hl_fd_set_cloexec(fd, true), 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	assert_int_equal(hl_fd_set_cloexec(fd, true), -1);
}

/* The end of a list is told from a list that breaks off, whatever errno was before. */
static void
test_dir_next(void **state)
{
	char path[] = "/tmp/hl-dir.XXXXXX";
	const struct dirent *entry;
	unsigned n = 0;
	int more;

	(void)state;
	assert_non_null(mkdtemp(path));
	DIR *dir = opendir(path);
	assert_non_null(dir);
	errno = EIO;
	while ((more = hl_dir_next(dir, &entry)) > 0) {
		assert_true(strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
		errno = EIO;
		n++;
	}
	assert_int_equal(more, 0);
	assert_int_equal(n, 2);
	assert_int_equal(hl_dir_next(dir, &entry), 0);
	errno = EIO;
	hl_close_dir(&dir);
	assert_int_equal(errno, EIO);
	/* What stands behind the descriptor is no directory any longer. */
	dir = opendir(path);
	assert_non_null(dir);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(dup2(null, dirfd(dir)) >= 0);
	close(null);
	assert_int_equal(hl_dir_next(dir, &entry), -1);
	assert_int_equal(errno, ENOTDIR);
	hl_close_dir(&dir);
	dir = NULL;
	hl_close_dir(&dir);
	assert_int_equal(rmdir(path), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_full),
		cmocka_unit_test(test_write_full),
		cmocka_unit_test(test_read_file),
		cmocka_unit_test(test_ensure_std),
		cmocka_unit_test(test_cloexec),
		cmocka_unit_test(test_dir_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
