/*
 * hermes-runner: the static program inside every sandbox. Started as pid 1 of the native sandbox
 * with the stream on descriptor 3 and a pipe of output on 4, or anywhere else as "hermes-runner
 * --stdio". In namespaces that were made for it an argument says so: "own-root", or "own-network"
 * where it makes one of those as well; then what every lock begins with is done before the lock
 * comes. It has no environment of its own to hide and prints nothing.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "runner/loop.h"

#include "base/banned.h"

enum {
	EXIT_USAGE = 64
};

static int
usage(void)
{
	static const char text[] = "hermes-runner: started by hermes-launch inside a sandbox; "
				   "needs a stream on descriptor 3, or --stdio\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		return EXIT_USAGE + 1;
	return EXIT_USAGE;
}

/* A command inherits what is ignored through exec, so nothing may stay ignored: not 32 and 33
 * either, which a C library keeps for itself and sigaction(3) refuses, but some callers leave
 * ignored. All zero is the kernel's struct for "default", on every architecture. What this loop
 * waits for, and the signal of a broken stream, are blocked instead. */
static void
settle_signals(bool is_settled)
{
	static const unsigned long by_default[4];
	enum {
		SIGNALS = 64
	};
	sigset_t set;

	for (int i = 1; i <= SIGNALS && !is_settled; i++)
		syscall(SYS_rt_sigaction, i, by_default, NULL, TASK_SIGSET_SIZE);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

/* Ours alone, not for the command, and never waited for in a read or write. */
static bool
claim(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || (!S_ISSOCK(st.st_mode) && !S_ISFIFO(st.st_mode)))
		return false;
	int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
	       fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

struct argument {
	const char *text;
	bool is_stdio;
	uint32_t early;
};

static const struct argument arguments[] = {
	{ RUNNER_STDIO, true, 0 },
	{ RUNNER_OWN_ROOT, false, CONFINE_EARLY_ROOT },
	{ RUNNER_OWN_NETWORK, false, CONFINE_EARLY_ROOT | CONFINE_EARLY_NETWORK },
};

static bool
read_argument(const char *text, struct init *init, uint32_t *ret_early)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(arguments); i++)
		if (strcmp(arguments[i].text, text) == 0) {
			init->is_stdio = arguments[i].is_stdio;
			*ret_early = arguments[i].early;
			return true;
		}
	return false;
}

int
main(int argc, char **argv)
{
	static struct call calls[RUNNER_CALLS_MAX];
	struct init init = { .in_fd = RUNNER_STREAM_FD,
		.out_fd = RUNNER_STREAM_FD,
		.calls = calls };

	uint32_t early = 0;
	if (argc > 1 && !read_argument(argv[1], &init, &early))
		return usage();
	if (argc > 2)
		return usage();
	if (init.is_stdio) {
		init.in_fd = STDIN_FILENO;
		init.out_fd = STDOUT_FILENO;
	}
	if (!claim(init.in_fd) || (init.is_stdio && !claim(init.out_fd)))
		return usage();
	init.pass_fd = !init.is_stdio && claim(RUNNER_PASS_FD) ? RUNNER_PASS_FD : -1;
	/* The launcher's own child has done it before it became us: backends/local/child.c. */
	settle_signals(early != 0);
	confine_begin(early, &init.early);
	return init_run(&init);
}
