/*
 * Programs beside us, played by a shell: what they get and what not, that one that cannot be
 * started leaves nothing, and that one which wants it ends with whoever started it.
 */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

#include "base/banned.h"

/* A shell with that script, whose standard output is out. */
static int
start(struct hl_child child, const char *script, int out, pid_t *ret_pid, int *ret_pidfd)
{
	char name[] = "sh", option[] = "-c", text[256];
	char *const argv[] = { name, option, text, NULL };
	const int fds[] = { -1, out, -1, out };

	snprintf(text, sizeof(text), "%s", script);
	child.argv = argv;
	child.fds = fds;
	child.fds_len = HL_ARRAY_SIZE(fds);
	return hl_child_start(&child, ret_pid, ret_pidfd);
}

static void
expect(struct hl_child child, const char *script, const char *wanted)
{
	char said[256] = "";
	int pipes[2], pidfd, status;
	pid_t pid;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(start(child, script, pipes[1], &pid, &pidfd), 0);
	close(pipes[1]);
	assert_true(pid > 0 && pidfd >= 0);
	assert_true(hl_read_full(pipes[0], said, sizeof(said) - 1) >= 0);
	assert_string_equal(said, wanted);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(pidfd);
	close(pipes[0]);
}

static void
test_what_it_gets(void **state)
{
	char pid[] = "OWN=0000000000", other[] = "OTHER=1";
	char *const nothing[] = { NULL }, *const env[] = { other, pid, NULL };
	const struct hl_child plain = { .path = "/bin/sh", .envp = nothing };
	struct hl_child child = plain;
	char wanted[32];

	(void)state;
	int leak = open("/etc/passwd", O_RDONLY); /* NOLINT: without O_CLOEXEC on purpose */
	assert_true(leak > 2);
	/* The last is the directory that the shell reads. */
	expect(plain, "cd /proc/$$/fd && echo *", "0 1 2 3 4\n");
	expect(plain, "readlink /proc/$$/fd/0 /proc/$$/fd/2", "/dev/null\n/dev/null\n");
	expect(plain, "echo three >&3", "three\n");
	close(leak);
	assert_int_equal(setenv("CANARY", "1", 1), 0);
	expect(plain, "echo \"$CANARY\"", "\n");
	child.envp = env;
	child.pid_digits = pid + strlen("OWN=");
	expect(child, "[ $$ -eq \"$(echo $OWN | sed 's/^0*//')\" ] && echo $OTHER", "1\n");
	assert_string_equal(pid, "OWN=0000000000"); /* in its memory, not in ours */
	child = plain;
	child.dir = "/proc";
	expect(child, "pwd", "/proc\n");
	snprintf(wanted, sizeof(wanted), "%d\n", (int)getsid(0));
	expect(plain, "cut -d' ' -f6 /proc/$$/stat", wanted);
	child = plain;
	child.has_session = true;
	expect(child, "[ $$ -eq \"$(cut -d' ' -f6 /proc/$$/stat)\" ] && echo own", "own\n");
	/* What is ignored here is not there. */
	assert_true(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
	expect(plain, "kill -USR1 $$; echo alive", "");
	assert_true(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
}

static void
test_cannot_start(void **state)
{
	char *const nothing[] = { NULL };
	struct hl_child child = { .path = "/none/such", .envp = nothing };
	pid_t pid = 7;
	int pidfd = 7;

	(void)state;
	assert_int_equal(start(child, "", -1, &pid, &pidfd), -1);
	assert_int_equal(errno, ENOENT);
	assert_true(pid == 0 && pidfd == -1);
	child.path = "/etc/passwd";
	assert_int_equal(start(child, "", -1, &pid, &pidfd), -1);
	assert_int_equal(errno, EACCES);
	child.path = "/bin/sh";
	child.dir = "/none/such";
	assert_int_equal(start(child, "", -1, &pid, &pidfd), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left of any */
	assert_int_equal(errno, ECHILD);
}

/* Kills who started it; whether it has ended then, as the end of its output. */
static bool
ends_with_us(int death_signal)
{
	char *const nothing[] = { NULL };
	const struct hl_child child = { .path = "/bin/sh",
		.envp = nothing,
		.has_session = true,
		.death_signal = death_signal };
	int out[2];
	char byte;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t between = fork();
	assert_true(between >= 0);
	if (between == 0) {
		pid_t pid;
		int pidfd;
		(void)!start(child, "trap '' TERM HUP; echo; exec sleep 3", out[1], &pid, &pidfd);
		pause();
	}
	close(out[1]);
	assert_int_equal(read(out[0], &byte, 1), 1);
	uint64_t begin = hl_now_mono_ms();
	assert_int_equal(kill(between, SIGKILL), 0);
	assert_int_equal(waitpid(between, NULL, 0), between);
	assert_int_equal(read(out[0], &byte, 1), 0);
	close(out[0]);
	return hl_now_mono_ms() - begin < 1500;
}

static void
test_death_signal(void **state)
{
	(void)state;
	assert_true(ends_with_us(SIGKILL));
	assert_false(ends_with_us(SIGTERM)); /* it is what it does with it (sibling) */
	assert_false(ends_with_us(0));       /* and without one it goes on (sibling) */
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_it_gets),
		cmocka_unit_test(test_cannot_start),
		cmocka_unit_test(test_death_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
