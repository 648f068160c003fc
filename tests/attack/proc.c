/*
 * Attempts on other processes, on the first process, on /proc and /sys, and on what was inherited.
 */
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/attack/attack.h"

static long
ptrace_init(void)
{
	return answer(ptrace(PTRACE_ATTACH, 1, NULL, NULL));
}

static long
read_init_memory(void)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)0x400000, 1 };

	return answer(process_vm_readv(1, &here, 1, &there, 1, 0));
}

static long
proc1_mem(void)
{
	return try_open("/proc/1/mem", O_RDWR);
}

static long
proc1_root(void)
{
	return try_open("/proc/1/root/etc/passwd", O_RDONLY);
}

static long
proc1_cwd(void)
{
	return try_open("/proc/1/cwd", O_RDONLY);
}

static long
proc1_environ(void)
{
	return file_has("/proc/1/environ", "=");
}

/* A descriptor of the first process' : its stream to the launcher. */
static long
proc1_fd(void)
{
	return try_open("/proc/1/fd/3", O_RDWR);
}

static long
pidfd_getfd(void)
{
	long fd = syscall(434, 1, 0);

	return fd < 0 ? -(long)errno : answer(syscall(438, fd, 3, 0));
}

static long
exe_write_init(void)
{
	return try_open("/proc/1/exe", O_WRONLY);
}

static long
exe_write_self(void)
{
	return try_open("/proc/self/exe", O_WRONLY);
}

/* The kernel drops what it sends to the first process of a namespace from inside; if not, the line
 * is never printed, and the script misses it. */
static long
kill_init(void)
{
	if (kill(1, SIGKILL) != 0)
		return -(long)errno;
	usleep(20000);
	return HARMLESS;
}

static long
stop_init(void)
{
	if (kill(1, SIGSTOP) != 0)
		return -(long)errno;
	usleep(20000);
	return HARMLESS;
}

/* The runner has our user, and what it is limited to would be ours to say. The values are those
 * that it has anyway: where it is allowed, nothing changes. */
static long
limit_init(void)
{
	const struct rlimit same = { RLIM_INFINITY, RLIM_INFINITY };

	return answer(prlimit(1, RLIMIT_FSIZE, &same, NULL));
}

static long
idle_init(void)
{
	const struct sched_param none = { 0 };

	return answer(syscall(SYS_sched_setscheduler, 1, SCHED_OTHER, &none)); /* musl has none */
}

static long
pin_init(void)
{
	cpu_set_t set;

	if (sched_getaffinity(1, sizeof(set), &set) != 0)
		return -(long)errno;
	return answer(sched_setaffinity(1, sizeof(set), &set));
}

/* Which is ours as well, whatever the whole suite was started with. */
static long
nice_init(void)
{
	return answer(setpriority(PRIO_PROCESS, 1, getpriority(PRIO_PROCESS, 0)));
}

static long
nice_group_of_init(void)
{
	return answer(setpriority(PRIO_PGRP, 1, getpriority(PRIO_PROCESS, 0)));
}

/* With the queue of our user full, a signal loses its sender and looks like one from outside. If
 * the runner believes it, this whole program is ended, and the script misses it. */
static long
forge_stop(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		sigset_t all;
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		while (sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ 0 }) == 0)
			;
		syscall(SYS_tgkill, 1, 1, SIGTERM);
		usleep(100000);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -(long)errno;
	return HARMLESS;
}

/* 0 is no dump to a file, but a program in core_pattern is started all the same, outside; 1 is
 * neither. */
static long
core_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) != 0)
		return -(long)errno;
	return limit.rlim_cur == 1 ? ABSENT : 0;
}

long
see_process(const char *name)
{
	DIR *dir = opendir("/proc");
	struct dirent *item;
	char path[300];

	if (dir == NULL)
		return -(long)errno;
	while ((item = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%s/comm", item->d_name);
		if (file_has(path, name) == 0)
			return 0;
	}
	return ABSENT;
}

/* Is the script's own process, outside, to be seen? */
static long
see_host(void)
{
	return see_process("hl-planted");
}

/* Host paths and values in anybody's arguments. */
static long
host_in_cmdline(void)
{
	return file_has("/proc/1/cmdline", "/");
}

static long
kcore(void)
{
	return try_open("/proc/kcore", O_RDONLY);
}

static long
core_pattern(void)
{
	return try_open("/proc/sys/kernel/core_pattern", O_WRONLY);
}

static long
sys_vm(void)
{
	return try_open("/proc/sys/vm/overcommit_memory", O_WRONLY);
}

static long
sys_modprobe(void)
{
	return try_open("/proc/sys/kernel/modprobe", O_WRONLY);
}

static long
sysrq(void)
{
	return try_open("/proc/sysrq-trigger", O_WRONLY);
}

/* Addresses that are not zero. */
static long
kallsyms(void)
{
	char line[64] = "";
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -(long)errno;
	ssize_t n = read(fd, line, sizeof(line) - 1);
	close(fd);
	return n < 16 || strspn(line, "0") >= 16 ? ABSENT : 0;
}

static long
timer_list(void)
{
	return file_has("/proc/timer_list", "Timer List");
}

static long
proc_keys(void)
{
	return file_has("/proc/keys", "keyring");
}

static long
proc_kmsg(void)
{
	return try_open("/proc/kmsg", O_RDONLY);
}

static long
proc_scsi(void)
{
	return file_has("/proc/scsi/scsi", "Attached");
}

static long
kernel_cmdline(void)
{
	return file_has("/proc/cmdline", "=");
}

static long
sys_net(void)
{
	return try_open("/sys/class/net", O_RDONLY);
}

static long
release_agent(void)
{
	return try_open("/sys/fs/cgroup/memory/release_agent", O_WRONLY);
}

/* Of version 1, else of version 2. */
static long
cgroup_write(void)
{
	long status = try_open("/sys/fs/cgroup/pids/cgroup.procs", O_WRONLY);

	return status == -ENOENT ? try_open("/sys/fs/cgroup/cgroup.procs", O_WRONLY) : status;
}

static long
debugfs(void)
{
	return try_open("/sys/kernel/debug/tracing", O_RDONLY);
}

/* ------------------------------------------------------------------------------------------------
 * Inherited
 */
static long
leak_fd7(void)
{
	return answer(openat(7, "etc", O_RDONLY | O_CLOEXEC));
}

/* 0-2 are ours, the two ends of our own pipe as well. */
static long
leak_any(void)
{
	int n = 0;

	for (int fd = 3; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n <= 1 ? ABSENT : 0;
}

static long
cwd_outside(void)
{
	char path[4096];

	if (syscall(SYS_getcwd, path, sizeof(path)) < 0)
		return -(long)errno;
	return path[0] == '/' ? ABSENT : 0;
}

static long
env_secret(void)
{
	return getenv("SECRET_TOKEN") != NULL ? 0 : ABSENT;
}

static long
env_loader(void)
{
	return getenv("LD_PRELOAD") != NULL || getenv("BASH_ENV") != NULL ? 0 : ABSENT;
}

static long
no_new_privs(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? ABSENT : 0;
}

static long
has_caps(const char *set)
{
	char bytes[8192], *at;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -(long)errno;
	ssize_t n = read(fd, bytes, sizeof(bytes) - 1);
	close(fd);
	bytes[n < 0 ? 0 : n] = '\0';
	at = strstr(bytes, set);
	if (at == NULL)
		return -ENOENT;
	return strtoull(at + strlen(set) + 1, NULL, 16) == 0 ? ABSENT : 0;
}

static long
caps_effective(void)
{
	return has_caps("CapEff:");
}

static long
caps_permitted(void)
{
	return has_caps("CapPrm:");
}

static long
caps_bounding(void)
{
	return has_caps("CapBnd:");
}

static long
caps_ambient(void)
{
	return has_caps("CapAmb:");
}

static long
dump_core(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		prctl(PR_SET_DUMPABLE, 1);
		abort();
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -(long)errno;
	return WCOREDUMP(status) ? 0 : ABSENT;
}

const struct attempt attempts_proc[] = {
	{ "ptrace_init", ptrace_init, ONLY_INSIDE },
	{ "pvm_readv_pid1", read_init_memory, 0 },
	{ "proc1_mem", proc1_mem, 0 },
	{ "proc1_root", proc1_root, 0 },
	{ "proc1_cwd", proc1_cwd, 0 },
	{ "proc1_environ", proc1_environ, 0 },
	{ "proc1_fd", proc1_fd, ONLY_INSIDE },
	{ "pidfd_getfd", pidfd_getfd, ONLY_INSIDE },
	{ "exe_write_init", exe_write_init, ONLY_INSIDE },
	{ "exe_write_self", exe_write_self, 0 },
	{ "kill_init", kill_init, ONLY_INSIDE },
	{ "stop_init", stop_init, ONLY_INSIDE },
	{ "limit_init", limit_init, 0 },
	{ "idle_init", idle_init, 0 },
	{ "pin_init", pin_init, 0 },
	{ "nice_init", nice_init, 0 },
	{ "nice_group", nice_group_of_init, 0 },
	{ "forge_stop", forge_stop, ONLY_INSIDE },
	{ "see_host", see_host, 0 },
	{ "host_in_cmdline", host_in_cmdline, 0 },
	{ "kcore", kcore, 0 },
	{ "core_pattern", core_pattern, 0 },
	{ "sys_vm", sys_vm, 0 },
	{ "sys_modprobe", sys_modprobe, 0 },
	{ "sysrq", sysrq, 0 },
	{ "kallsyms", kallsyms, 0 },
	{ "timer_list", timer_list, 0 },
	{ "proc_keys", proc_keys, 0 },
	{ "proc_kmsg", proc_kmsg, 0 },
	{ "proc_scsi", proc_scsi, 0 },
	{ "kernel_cmdline", kernel_cmdline, 0 },
	{ "sys_net", sys_net, 0 },
	{ "release_agent", release_agent, 0 },
	{ "cgroup_write", cgroup_write, 0 },
	{ "debugfs", debugfs, 0 },
	{ "leak_fd7", leak_fd7, 0 },
	{ "leak_any", leak_any, 0 },
	{ "cwd_outside", cwd_outside, 0 },
	{ "env_secret", env_secret, 0 },
	{ "env_loader", env_loader, 0 },
	{ "no_new_privs", no_new_privs, 0 },
	{ "caps_effective", caps_effective, 0 },
	{ "caps_permitted", caps_permitted, 0 },
	{ "caps_bounding", caps_bounding, 0 },
	{ "caps_ambient", caps_ambient, 0 },
	{ "dump_core", dump_core, 0 },
	{ "core_limit", core_limit, 0 },
};

const size_t attempts_proc_len = sizeof(attempts_proc) / sizeof(attempts_proc[0]);
