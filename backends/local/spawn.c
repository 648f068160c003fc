/*
 * Makes the child: clone(2) with the sandbox's namespaces but the network's, which the runner makes
 * (confine/apply/network.c), on the launcher's memory and a stack of its own (CLONE_VM |
 * CLONE_VFORK). That saves the copy of the page tables, which is most of what fork costs, and makes
 * the report of a failed step a plain write to memory.
 *
 * The making of namespaces is the longest single wait of a start and needs nothing of the plan, so
 * a thread does it while the launcher goes on: CLONE_VFORK holds only the thread that calls. The
 * thread stays until the sandbox is gone, because the runner's death signal is that of the thread
 * which made it, not of the process (PR_SET_PDEATHSIG in prctl(2)); when the launcher is killed,
 * its threads are.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/local/local.h"

#include "base/banned.h"

enum {
	END_PATIENCE_MS = 5000, /* more than RUNNER_GRACE_MS twice */
	STACK_SIZE = 16 * 1024,
	THREAD_STACK_SIZE = 32 * 1024
};

struct starter {
	struct child_plan child;
	enum starter_world world;
	const char *runner_path; /* NULL = the launcher's own copy */
	uint64_t namespaces;
	int stream, theirs, runner_fd;
	int pass, pass_theirs; /* the socket beside it */
	pthread_t thread;
	sem_t has_started; /* or has failed to */
	sem_t may_leave;
	long pid; /* 0 = what is needed before clone failed, which err says; or -errno of clone */
	int pidfd;
	struct hl_err err;
	bool has_thread, was_waited_for, is_dead;
	/* In the heap: unmapping costs more than it gives back. */
	alignas(16) char stack[STACK_SIZE]; /* of the child */
	alignas(16) char thread_stack[THREAD_STACK_SIZE];
};

const char *
child_step_text(enum child_step step)
{
	static const char *const texts[CHILD_STEP_MAX] = {
		[CHILD_STEP_NONE] = "none",
#define CHILD_STEP(symbol, text) [CHILD_STEP_##symbol] = (text),
#include "backends/local/steps.def"
#undef CHILD_STEP
	};

	return (unsigned)step < CHILD_STEP_MAX ? texts[step] : "unknown";
}

/* Comes back only on failure, which stands in the plan. */
static int
run_child(void *context)
{
	child_run(context);
	return 127;
}

struct cause_row {
	const char *path; /* of a sysctl */
	char blocks;      /* its first byte when it is in the way */
	const char *help;
};

static const struct cause_row user_ns_causes[] = {
	{ "/proc/sys/user/max_user_namespaces", '0', "sysctl user.max_user_namespaces=15000" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", '0',
	    "sysctl kernel.unprivileged_userns_clone=1" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
	    "give hermes-launch an AppArmor profile with 'userns', or sysctl"
	    " kernel.apparmor_restrict_unprivileged_userns=0" },
};

/* Which switch of the host stands in the way; the errno of clone alone does not say. */
static void
explain_user_ns(struct hl_err *err)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(user_ns_causes); i++) {
		char first = '\0';
		HL_AUTO_FD int fd = open(user_ns_causes[i].path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && read(fd, &first, 1) == 1 && first == user_ns_causes[i].blocks) {
			hl_err_help(err, "%s", user_ns_causes[i].help);
			return;
		}
	}
	hl_err_help(err, "a container's own system call filter may forbid namespaces");
}

static int
report_step(const struct child_plan *child, struct hl_err *err)
{
	errno = child->failed_errno;
	hl_err_sys(err, HLB_24, "the sandbox cannot be started: %s",
	    child_step_text(child->failed_step));
	if (child->failed_step == CHILD_STEP_MAPS)
		explain_user_ns(err);
	return -1;
}

/* Above the numbers that the child gives to the stream and the socket beside it. */
static int
raise_fd(int fd)
{
	if (fd < 0 || fd > RUNNER_PASS_FD)
		return fd;
	int raised = fcntl(fd, F_DUPFD_CLOEXEC, RUNNER_PASS_FD + 1);
	close(fd);
	return raised;
}

static int
open_runner(const char *path, struct hl_err *err)
{
	struct stat st;

	if (path == NULL)
		return raise_fd(runner_image_open(err));
	HL_AUTO_FD int fd = raise_fd(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
	if (fd < 0 || fstat(fd, &st) != 0)
		return hl_err_sys(err, HLB_22, "cannot open the runner '%.300s'", path);
	if (!S_ISREG(st.st_mode))
		return hl_err_set(err, HLB_22, "the runner '%.300s' is not a file", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return hl_err_set(err, HLB_22, "the runner '%.300s' belongs to user %u", path,
		    (unsigned)st.st_uid);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return hl_err_set(err, HLB_22, "the runner '%.300s' is writable by others", path);
	return hl_take_fd(&fd);
}

static void
fill_child(struct starter *starter)
{
	struct child_plan *child = &starter->child;

	child->has_user_ns = (starter->namespaces & CLONE_NEWUSER) != 0;
	child->is_dumpable = prctl(PR_GET_DUMPABLE) == 1;
	int len = snprintf(child->uid_map, sizeof(child->uid_map), "%u %u 1\n", (unsigned)geteuid(),
	    (unsigned)geteuid());
	child->uid_map_len = (size_t)len;
	len = snprintf(child->gid_map, sizeof(child->gid_map), "%u %u 1\n", (unsigned)getegid(),
	    (unsigned)getegid());
	child->gid_map_len = (size_t)len;
	child->stream_fd = starter->theirs;
	child->pass_fd = starter->pass_theirs;
	child->runner_fd = starter->runner_fd;
}

static int
prepare(struct starter *starter)
{
	struct hl_err *err = &starter->err;
	int ends[2];

	starter->runner_fd = open_runner(starter->runner_path, err);
	if (starter->runner_fd < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return hl_err_sys(err, HLB_24, "cannot make a socket pair");
	starter->stream = raise_fd(ends[0]);
	starter->theirs = raise_fd(ends[1]);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return hl_err_sys(err, HLB_24, "cannot make a socket pair");
	starter->pass = raise_fd(ends[0]);
	starter->pass_theirs = raise_fd(ends[1]);
	if (starter->stream < 0 || starter->theirs < 0 || starter->pass < 0 ||
	    starter->pass_theirs < 0)
		return hl_err_sys(err, HLB_24, "cannot duplicate a descriptor");
	fill_child(starter);
	return 0;
}

static void *
starter_run(void *context)
{
	struct starter *starter = context;

	if (prepare(starter) == 0)
		starter->pid = hl_raw_clone(starter->namespaces | CLONE_VM | CLONE_VFORK |
						CLONE_PIDFD | SIGCHLD,
		    starter->stack + STACK_SIZE, &starter->pidfd, run_child, &starter->child);
	sem_post(&starter->has_started);
	while (sem_wait(&starter->may_leave) != 0)
		;
	return NULL;
}

/* No handler of the launcher's may run in the thread, nor in the child, on memory that is the
 * launcher's as well: all signals are blocked before either is made. */
static int
start_thread(struct starter *starter)
{
	pthread_attr_t attributes;
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pthread_attr_init(&attributes);
	int status = pthread_attr_setstack(&attributes, starter->thread_stack, THREAD_STACK_SIZE);
	if (status == 0)
		status = pthread_create(&starter->thread, &attributes, starter_run, starter);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	starter->has_thread = status == 0;
	return status;
}

enum starter_world
starter_world_of(const struct plan *plan)
{
	if (plan->isolation == PLAN_ISOLATION_SCRUB)
		return STARTER_HOST;
	return plan->network == PLAN_NETWORK_HOST ? STARTER_NETWORK : STARTER_OWN;
}

/* runner/main.c: what the runner may begin with before the lock has come. */
static const char *const runner_arguments[] = {
	[STARTER_OWN] = RUNNER_OWN_NETWORK,
	[STARTER_NETWORK] = RUNNER_OWN_ROOT,
	[STARTER_HOST] = NULL,
};

static uint64_t
namespaces_of(enum starter_world world)
{
	const uint64_t always = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
				(geteuid() != 0 ? CLONE_NEWUSER : 0);

	/* The network namespace is the runner's to make: confine/apply/network.c. */
	return world != STARTER_HOST ? always : 0;
}

int
starter_begin(const char *runner_path, enum starter_world world, struct starter **ret_starter,
    struct hl_err *err)
{
	struct starter *starter = calloc(1, sizeof(*starter));

	if (starter == NULL)
		return hl_err_oom(err);
	starter->stream = starter->theirs = starter->runner_fd = starter->pidfd = -1;
	starter->pass = starter->pass_theirs = -1;
	starter->world = world;
	starter->runner_path = runner_path;
	starter->namespaces = namespaces_of(world);
	starter->child.argument = runner_arguments[world];
	sem_init(&starter->has_started, 0, 0);
	sem_init(&starter->may_leave, 0, 0);
	errno = start_thread(starter);
	if (errno != 0) {
		hl_err_sys(err, HLB_24, "cannot start a thread");
		starter_end(starter);
		return -1;
	}
	*ret_starter = starter;
	return 0;
}

static void
wait_for_start(struct starter *starter)
{
	if (!starter->has_thread || starter->was_waited_for)
		return;
	while (sem_wait(&starter->has_started) != 0)
		;
	starter->was_waited_for = true;
	/* Ours would keep the stream from ending with the runner. */
	close(hl_take_fd(&starter->theirs));
	close(hl_take_fd(&starter->runner_fd));
	close(hl_take_fd(&starter->pass_theirs));
}

int
starter_wait(struct starter *starter, struct hl_err *err)
{
	wait_for_start(starter);
	if (starter->pid == 0) {
		*err = starter->err;
		return -1;
	}
	if (starter->pid < 0) {
		errno = (int)-starter->pid;
		hl_err_sys(err, HLB_24, "the sandbox's namespaces cannot be made");
		if (starter->child.has_user_ns)
			explain_user_ns(err);
		return -1;
	}
	return starter->child.failed_step == CHILD_STEP_NONE ? 0
							     : report_step(&starter->child, err);
}

pid_t
starter_pid(const struct starter *starter)
{
	return (pid_t)starter->pid;
}

int
starter_pidfd(const struct starter *starter)
{
	return starter->pidfd;
}

int
starter_stream(const struct starter *starter)
{
	return starter->stream;
}

int
starter_take_ends(struct starter *starter, int *ret_pass)
{
	*ret_pass = hl_take_fd(&starter->pass);
	return hl_take_fd(&starter->stream);
}

enum starter_world
starter_world(const struct starter *starter)
{
	return starter->world;
}

/* At most so long: a command can stop the runner, whose user it has. */
static void
let_end(const struct starter *starter)
{
	struct pollfd end = { .fd = starter->pidfd, .events = POLLIN };
	const uint64_t deadline = hl_now_mono_ms() + END_PATIENCE_MS;

	for (uint64_t now = hl_now_mono_ms(); now < deadline; now = hl_now_mono_ms())
		if (poll(&end, 1, (int)(deadline - now)) >= 0 || errno != EINTR)
			return;
}

void
starter_kill(struct starter *starter)
{
	wait_for_start(starter);
	if (starter->pidfd < 0 || starter->is_dead)
		return;
	if (starter->world == STARTER_HOST) {
		/* Not yet taken by a caller, who then has ended it already. */
		hl_close_ptr(&starter->stream);
		starter->stream = -1;
		let_end(starter);
	}
	syscall(SYS_pidfd_send_signal, starter->pidfd, SIGKILL, NULL, 0);
	/* The end of pid 1 is the end of everything in its namespace, and waitid(2) returns when it
	 * is. */
	while (waitid(P_PIDFD, (id_t)starter->pidfd, &(siginfo_t){ 0 }, WEXITED) != 0 &&
	       errno == EINTR)
		;
	starter->is_dead = true;
	sem_post(&starter->may_leave);
}

void
starter_end(struct starter *starter)
{
	if (starter == NULL)
		return;
	starter_kill(starter);
	if (starter->has_thread) {
		sem_post(&starter->may_leave);
		pthread_join(starter->thread, NULL);
	}
	hl_close_ptr(&starter->stream);
	hl_close_ptr(&starter->theirs);
	hl_close_ptr(&starter->pass);
	hl_close_ptr(&starter->pass_theirs);
	hl_close_ptr(&starter->runner_fd);
	hl_close_ptr(&starter->pidfd);
	sem_destroy(&starter->has_started);
	sem_destroy(&starter->may_leave);
	free(starter);
}
