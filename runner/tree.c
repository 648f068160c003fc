/*
 * Every process below us, and which call it belongs to.
 *
 * A call that has the sandbox for itself: as pid 1 of a pid namespace, kill(2) with -1 reaches all
 * of it at once; elsewhere we are a child subreaper and it is whatever is below us. A supervised
 * call: whatever is below its supervisor. Orphans of a supervisor that was killed are our own
 * children, and nobody else's can be: they are what is ours and not a supervisor.
 *
 * Below is learned from proc(5), task/TID/children (Linux 3.5). A number that was read may be
 * another's when it is used only if all numbers were used up in between, which takes longer than a
 * walk; our direct children's are theirs until we reap them. One walk may miss what is being born:
 * a process with a fatal signal cannot fork any more, so that walks that are repeated end it.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runner/loop.h"

#include "base/banned.h"

enum {
	WALK_MAX = 8192 /* processes of one walk; the next one meets the rest */
};

/* Processes that were met. They are signalled when all are known: one that dies of it takes the
 * way to its children with it. */
struct walk {
	pid_t pids[WALK_MAX];
	size_t len, next;
	const struct init *init;
	bool is_ours;    /* the children being read are our own: supervisors are spared */
	bool is_partial; /* a list could not be read: there may be more */
};

static bool
is_pid_1(void)
{
	return getpid() == 1;
}

bool
tree_is_known(void)
{
	return access("/proc/thread-self/children", R_OK) == 0;
}

bool
tree_prepare(void)
{
	return is_pid_1() || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

bool
tree_can_reap(void)
{
	return waitpid(-1, NULL, WNOHANG | __WALL) >= 0 || errno == ECHILD;
}

static void
meet(struct walk *walk, pid_t pid)
{
	if (pid <= 1 || (walk->is_ours && call_of_supervisor(walk->init, pid) != NULL))
		return;
	if (walk->len < WALK_MAX)
		walk->pids[walk->len++] = pid;
}

/* A process that has ended since it was met has no list, and that is all that may be missing. */
static void
note_unread(struct walk *walk)
{
	if (walk->is_ours || (errno != ENOENT && errno != ESRCH))
		walk->is_partial = true;
}

/* The numbers in the file, with a space behind each. */
static void
read_children(struct walk *walk, const char *path)
{
	char text[4096];
	pid_t pid = 0;
	ssize_t n;

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		note_unread(walk);
		return;
	}
	while ((n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			meet(walk, pid);
			pid = 0;
		}
	if (n < 0)
		note_unread(walk);
	close(fd);
}

struct dirent64_head {
	uint64_t inode;
	int64_t offset;
	unsigned short size;
	unsigned char type;
} __attribute__((packed));

/* A child belongs to the thread that made it. */
static void
read_process(struct walk *walk, pid_t pid)
{
	char path[64], entries[2048] __attribute__((aligned(8)));
	struct dirent64_head head;
	long n;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		note_unread(walk);
		return;
	}
	while ((n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < n; at += head.size) {
			memcpy(&head, entries + at, sizeof(head));
			const char *name = entries + at + 19; /* behind the head */
			if (name[0] < '1' || name[0] > '9')
				continue;
			snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", pid, name);
			read_children(walk, path);
		}
	if (n < 0)
		note_unread(walk);
	close(fd);
}

/* What is below root, or below us without the supervisors and theirs. True when nothing is. */
static bool
walk_tree(const struct init *init, pid_t root, int number)
{
	static struct walk walk;

	walk.len = walk.next = 0;
	walk.is_partial = false;
	walk.init = init;
	walk.is_ours = root == 0;
	if (root == 0)
		read_children(&walk, "/proc/thread-self/children");
	else
		read_process(&walk, root);
	walk.is_ours = false;
	while (walk.next < walk.len)
		read_process(&walk, walk.pids[walk.next++]);
	for (size_t i = 0; i < walk.len; i++) {
		kill(walk.pids[i], number);
		/* A stopped one would not hear it. */
		if (number == SIGTERM)
			kill(walk.pids[i], SIGCONT);
	}
	return walk.len == 0 && !walk.is_partial;
}

void
tree_signal(const struct init *init, const struct call *call, int number)
{
	switch (call->tree) {
	case TREE_SUPERVISED:
		if (call->supervisor == 0)
			return; /* reaped, with nothing left, and not looked at yet */
		/* One that a command has stopped would not reap. */
		kill(call->supervisor, SIGCONT);
		walk_tree(init, call->supervisor, number);
		return;
	case TREE_ORPHANED:
		walk_tree(init, 0, number);
		return;
	case TREE_ALONE:
		break;
	}
	if (!is_pid_1()) {
		walk_tree(init, 0, number);
		return;
	}
	kill(-1, number);
	if (number == SIGTERM)
		kill(-1, SIGCONT);
}

/* A command, or what one left: of the call that is alone, or that has lost its supervisor. */
static void
note(struct init *init, pid_t pid, int status, const struct rusage *usage)
{
	for (uint32_t i = 0; i < init->calls_len; i++) {
		struct call *call = &init->calls[i];
		if (call->state == CALL_FREE || call->tree == TREE_SUPERVISED)
			continue;
		call->task.reaped++;
		if (call->tree == TREE_ALONE)
			usage_add(&call->task.usage, usage);
		if (call->task.pid == pid && !call->has_ended) {
			call->has_ended = true;
			call->task.status = status;
		}
	}
}

static void
note_empty(struct init *init, bool has_children)
{
	bool is_orphaned = false;

	for (uint32_t i = 0; i < init->calls_len; i++) {
		struct call *call = &init->calls[i];
		if (call->state != CALL_FREE && call->tree == TREE_ALONE)
			call->is_empty = call->is_empty || !has_children;
		is_orphaned =
		    is_orphaned || (call->state != CALL_FREE && call->tree == TREE_ORPHANED);
	}
	if (!is_orphaned || (has_children && !walk_tree(init, 0, SIGKILL)))
		return;
	for (uint32_t i = 0; i < init->calls_len; i++)
		if (init->calls[i].state != CALL_FREE && init->calls[i].tree == TREE_ORPHANED)
			init->calls[i].is_empty = true;
}

void
tree_reap(struct init *init)
{
	struct rusage usage;
	int status;
	pid_t pid;

	for (;;) {
		pid = wait4(-1, &status, WNOHANG | WUNTRACED | __WALL, &usage);
		if (pid <= 0 && !(pid < 0 && errno == EINTR))
			break;
		struct call *call = pid > 0 ? call_of_supervisor(init, pid) : NULL;
		if (pid < 0)
			continue;
		if (WIFSTOPPED(status)) {
			/* None stops by itself: a command did that. */
			if (call != NULL)
				kill(pid, SIGCONT);
		} else if (call != NULL) {
			call->supervisor = 0;
			call_lost_supervisor(call);
		} else {
			note(init, pid, status, &usage);
		}
	}
	note_empty(init, pid == 0 || errno != ECHILD);
}

/* A process that changed its user, as `process.caps: [SETUID]` lets it, is not ours to signal, and
 * would be waited for without end: after the grace it is left to the end of pid 1 or of the
 * container, which needs no permission. */
void
tree_end(struct init *init)
{
	const uint64_t until = init_now_ms() + RUNNER_GRACE_MS;
	const struct timespec pause = { .tv_nsec = 10 * 1000000 };
	sigset_t set;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (uint32_t i = 0; i < init->calls_len; i++)
		init->calls[i].supervisor = 0; /* not spared */
	for (;;) {
		do
			pid = waitpid(-1, NULL, WNOHANG | __WALL);
		while (pid > 0 || (pid < 0 && errno == EINTR));
		/* As pid 1 our own end is everybody's. */
		if (init_now_ms() >= until || (pid < 0 && (errno == ECHILD || is_pid_1())))
			return;
		if (is_pid_1())
			kill(-1, SIGKILL);
		else
			walk_tree(init, 0, SIGKILL);
		/* SIGCHLD is blocked: one that came since the reaping is waiting here. */
		sigtimedwait(&set, NULL, &pause);
	}
}
