/*
 * Runs commands in turn, round after round, and prints how long each took: interleaved, so that
 *what disturbs the machine disturbs all of them alike.
 *
 *	measure ROUNDS name [<FILE] prog [arg...] [, name [<FILE] prog [arg...]]...
 *
 * One line each: name, min, median, p95 of the time in microseconds, median of the processor time
 *of the command and all its descendants, peak resident KiB of the largest of them. Standard input
 *is FILE or /dev/null, output and error go to /dev/null; a failing command is told.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	COMMANDS_MAX = 16,
	WARM_UP = 3,
	SETTLE_MS = 40
};

struct command {
	char *name;
	char **argv;
	posix_spawn_file_actions_t actions;
	double *us, *cpu_us;
	long rss_kib;
	int failures;
};

static double
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The kernel takes namespaces apart after their last process has gone, and holds up the making of
 * new ones meanwhile: without a pause each command would pay for the one before it. */
static void
settle(void)
{
	const struct timespec pause = { .tv_nsec = SETTLE_MS * 1000000L };

	nanosleep(&pause, NULL);
}

static double
cpu_us(const struct timeval *time)
{
	return (double)time->tv_sec * 1e6 + (double)time->tv_usec;
}

static double
run(struct command *command, double *ret_cpu_us)
{
	struct rusage usage;
	pid_t pid;
	int status;

	double begin = now_us();
	if (posix_spawn(&pid, command->argv[0], &command->actions, NULL, command->argv, environ) !=
	    0) {
		command->failures++;
		*ret_cpu_us = 0;
		return 0;
	}
	while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	double took = now_us() - begin;
	if (status != 0)
		command->failures++;
	if (usage.ru_maxrss > command->rss_kib)
		command->rss_kib = usage.ru_maxrss;
	*ret_cpu_us = cpu_us(&usage.ru_utime) + cpu_us(&usage.ru_stime);
	return took;
}

static int
compare(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static void
redirect(struct command *command)
{
	const char *input = "/dev/null";

	if (command->argv[0] != NULL && command->argv[0][0] == '<')
		input = *command->argv++ + 1;
	posix_spawn_file_actions_init(&command->actions);
	posix_spawn_file_actions_addopen(&command->actions, 0, input, O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&command->actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&command->actions, 2, "/dev/null", O_WRONLY, 0);
}

static size_t
split(char **argv, struct command commands[COMMANDS_MAX], size_t rounds)
{
	size_t n = 0;

	while (*argv != NULL && n < COMMANDS_MAX) {
		struct command *command = &commands[n++];
		command->name = *argv++;
		command->argv = argv;
		command->us = calloc(rounds, sizeof(double));
		command->cpu_us = calloc(rounds, sizeof(double));
		while (*argv != NULL && strcmp(*argv, ",") != 0)
			argv++;
		if (*argv != NULL)
			*argv++ = NULL;
		redirect(command);
		if (command->us == NULL || command->cpu_us == NULL || command->argv[0] == NULL)
			exit(2);
	}
	return n;
}

int
main(int argc, char **argv)
{
	static struct command commands[COMMANDS_MAX];

	if (argc < 4)
		return 2;
	size_t rounds = strtoul(argv[1], NULL, 10);
	if (rounds == 0 || rounds > 100000)
		return 2;
	size_t n = split(argv + 2, commands, rounds);
	for (size_t round = 0; round < rounds + WARM_UP; round++)
		for (size_t i = 0; i < n; i++) {
			settle();
			double cpu, took = run(&commands[i], &cpu);
			if (round < WARM_UP)
				continue;
			commands[i].us[round - WARM_UP] = took;
			commands[i].cpu_us[round - WARM_UP] = cpu;
		}
	for (size_t i = 0; i < n; i++) {
		struct command *command = &commands[i];
		qsort(command->us, rounds, sizeof(double), compare);
		qsort(command->cpu_us, rounds, sizeof(double), compare);
		printf("%s %.0f %.0f %.0f %.0f %ld%s\n", command->name, command->us[0],
		    command->us[rounds / 2], command->us[rounds * 95 / 100],
		    command->cpu_us[rounds / 2], command->rss_kib,
		    command->failures > 0 ? " FAILED" : "");
	}
	return 0;
}
