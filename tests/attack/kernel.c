/*
 * Attempts on the kernel's own interfaces: namespaces, mounts, privileged and exotic system calls.
 */
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "tests/attack/attack.h"

enum {
	NR_pidfd_open = 434,
	NR_pidfd_getfd = 438,
	NR_open_tree = 428,
	NR_fsopen = 430,
	NR_clone3 = 435,
	NR_mount_setattr = 442,
	NR_io_uring_setup = 425,
};

static long
unshare_user(void)
{
	return answer(unshare(CLONE_NEWUSER));
}

static long
unshare_mount(void)
{
	return answer(unshare(CLONE_NEWNS));
}

static long
unshare_net(void)
{
	return answer(unshare(CLONE_NEWNET));
}

/* Not through libc: the flags are what a filter looks at. */
static long
clone_user(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return answer(pid);
}

/* The flags are behind a pointer, where a filter cannot look. */
static long
clone3_user(void)
{
	uint64_t args[8] = { [0] = CLONE_NEWUSER, [4] = SIGCHLD };
	long pid = syscall(NR_clone3, args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return answer(pid);
}

static long
userns_mount(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return -(long)errno;
	return answer(mount("none", "/tmp", "tmpfs", 0, NULL));
}

static long
userns_packet(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return -(long)errno;
	return answer(socket(AF_PACKET, SOCK_RAW, 0));
}

static long
try_chroot(void)
{
	return answer(chroot("/tmp"));
}

static long
setns_pid1(void)
{
	int fd = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -(long)errno : answer(setns(fd, 0));
}

static long
setns_pidfd(void)
{
	long fd = syscall(NR_pidfd_open, 1, 0);

	return fd < 0 ? -(long)errno : answer(setns((int)fd, CLONE_NEWNET));
}

static long
open_tree(void)
{
	return answer(syscall(NR_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
}

static long
mount_setattr_root(void)
{
	uint64_t attr[4] = { 0, 1 /* clear read-only */ };

	return answer(syscall(NR_mount_setattr, AT_FDCWD, "/", 0, attr, sizeof(attr)));
}

static long
remount_rw(void)
{
	return answer(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
}

static long
mount_proc(void)
{
	return answer(mount("proc", "/tmp", "proc", 0, NULL));
}

static long
mount_bind(void)
{
	return answer(mount("/etc", "/tmp", NULL, MS_BIND, NULL));
}

static long
fs_open(void)
{
	return answer(syscall(NR_fsopen, "tmpfs", 0));
}

static long
umount_proc(void)
{
	return answer(umount2("/proc", MNT_DETACH));
}

static long
pivot(void)
{
	return answer(syscall(SYS_pivot_root, "/tmp", "/tmp"));
}

static long
bpf_map(void)
{
	uint32_t attr[32] = { 2 /* array */, 4, 4, 1 };

	return answer(syscall(SYS_bpf, 0, attr, sizeof(attr)));
}

static long
perf(void)
{
	uint32_t attr[32] = { 1 /* software */, sizeof(attr) };

	return answer(syscall(SYS_perf_event_open, attr, 0, -1, -1, 0));
}

static long
uffd(void)
{
	return answer(syscall(SYS_userfaultfd, 1 /* user mode only */));
}

static long
io_uring(void)
{
	uint32_t params[30] = { 0 };

	return answer(syscall(NR_io_uring_setup, 4, params));
}

static long
add_key(void)
{
	return answer(syscall(SYS_add_key, "user", "hl-attack", "x", 1, -3 /* session */));
}

static long
request_key(void)
{
	return answer(syscall(SYS_request_key, "user", "hl-attack-none", NULL, 0));
}

/* What the caller's session keeps for its own programs. */
static long
caller_key(void)
{
	return answer(syscall(SYS_keyctl, 10 /* search */, -3 /* session */, "user",
	    tagged("hl-attack-"), 0));
}

static long
keyctl_get(void)
{
	return answer(syscall(SYS_keyctl, 0, -4 /* user keyring */, 0));
}

static long
init_module(void)
{
	return answer(syscall(SYS_init_module, NULL, 0, ""));
}

static long
finit_module(void)
{
	return answer(syscall(SYS_finit_module, 0, "", 0));
}

static long
kexec(void)
{
	return answer(syscall(SYS_kexec_load, 0, 0, NULL, 0));
}

/* A wrong magic: EINVAL would mean that the right one is allowed. */
static long
try_reboot(void)
{
	long status = answer(syscall(SYS_reboot, 1, 2, 3, 0));

	return status == -EINVAL ? 0 : status;
}

static long
try_acct(void)
{
	return answer(syscall(SYS_acct, NULL));
}

static long
try_swapon(void)
{
	long status = answer(syscall(SYS_swapon, "/tmp/none", 0));

	return status == -ENOENT ? 0 : status;
}

static long
kernel_log(void)
{
	char bytes[256];

	return answer(syscall(SYS_syslog, 3, bytes, sizeof(bytes)));
}

#ifdef __x86_64__
static long
try_ioperm(void)
{
	return answer(syscall(SYS_ioperm, 0x80, 1, 1));
}

static long
try_iopl(void)
{
	return answer(syscall(SYS_iopl, 3));
}

static long
modify_ldt(void)
{
	char bytes[64];

	return answer(syscall(SYS_modify_ldt, 0, bytes, sizeof(bytes)));
}

/* The same kernel, another table of numbers: getpid. */
static long
x32(void)
{
	return answer(syscall(0x40000000 + 39));
}
#endif

static long
personality_exec(void)
{
	return answer(personality(READ_IMPLIES_EXEC));
}

static long
personality_noaslr(void)
{
	return answer(personality(ADDR_NO_RANDOMIZE | ADDR_COMPAT_LAYOUT));
}

static long
open_by_handle(void)
{
	struct {
		uint32_t bytes, type;
		uint64_t inode;
	} handle = { 8, 1, 2 };
	long status = answer(syscall(SYS_open_by_handle_at, AT_FDCWD, &handle, O_RDONLY));

	return status == -ESTALE || status == -EINVAL ? 0 : status;
}

static long
fanotify(void)
{
	return answer(syscall(SYS_fanotify_init, 4 /* content */, O_RDONLY));
}

static long
set_hostname(void)
{
	return answer(sethostname("attacked", 8));
}

static long
set_domainname(void)
{
	return answer(setdomainname("attacked", 8));
}

static long
set_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return answer(clock_settime(CLOCK_REALTIME, &now));
}

static long
try_kcmp(void)
{
	return answer(syscall(SYS_kcmp, getpid(), getppid(), 1 /* vm */, 0, 0));
}

static long
nice_negative(void)
{
	return answer(setpriority(PRIO_PROCESS, 0, -5));
}

static long
rlimit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return -(long)errno;
	if (limit.rlim_max == RLIM_INFINITY)
		return 0;
	limit.rlim_max++;
	return answer(setrlimit(RLIMIT_NOFILE, &limit));
}

/* From 1, "no dump at all", to 0, with which a pipe in core_pattern is started on the host. The
 * call may say that it was done: what counts is what is read back. */
static long
core_lower(void)
{
	struct rlimit limit = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &limit) != 0 || getrlimit(RLIMIT_CORE, &limit) != 0)
		return -(long)errno;
	return limit.rlim_cur == 0 ? 0 : -EPERM;
}

static long
set_groups(void)
{
	gid_t group = 0;

	return answer(setgroups(1, &group));
}

static long
setuid_other(void)
{
	return answer(setresuid(12345, 12345, 12345));
}

static long
setuid_root(void)
{
	return answer(setresuid(0, 0, 0));
}

static long
setgid_root(void)
{
	return answer(setresgid(0, 0, 0));
}

static long
vhangup_tty(void)
{
	return answer(syscall(SYS_vhangup));
}

/* A terminal of our own, so that the answer is the kernel's and not that there is no terminal. */
static int
own_terminal(void)
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int zero = 0, number;
	char path[32];

	if (master < 0 || ioctl(master, TIOCSPTLCK, &zero) != 0 ||
	    ioctl(master, TIOCGPTN, &number) != 0)
		return -1;
	snprintf(path, sizeof(path), "/dev/pts/%d", number);
	setsid();
	int slave = open(path, O_RDWR | O_CLOEXEC);
	if (slave >= 0)
		ioctl(slave, TIOCSCTTY, 0);
	return slave;
}

static long
tiocsti(void)
{
	int fd = own_terminal();

	return fd < 0 ? -(long)errno : answer(syscall(SYS_ioctl, fd, (long)TIOCSTI, "x"));
}

/* The kernel looks at 32 bits; a filter that compares 64 lets this through (CVE-2019-10063). */
static long
tiocsti_high_bits(void)
{
	int fd = own_terminal();

	return fd < 0 ? -(long)errno : answer(syscall(SYS_ioctl, fd, TIOCSTI | 1L << 32, "x"));
}

static long
tioclinux(void)
{
	int fd = own_terminal();
	char byte = 2;

	return fd < 0 ? -(long)errno : answer(ioctl(fd, TIOCLINUX, &byte));
}

const struct attempt attempts_kernel[] = {
	{ "unshare_user", unshare_user, 0 },
	{ "unshare_mount", unshare_mount, 0 },
	{ "unshare_net", unshare_net, 0 },
	{ "clone_user", clone_user, 0 },
	{ "clone3_user", clone3_user, 0 },
	{ "userns_mount", userns_mount, 0 },
	{ "userns_packet", userns_packet, 0 },
	{ "chroot", try_chroot, 0 },
	{ "setns_pid1", setns_pid1, 0 },
	{ "setns_pidfd", setns_pidfd, 0 },
	{ "open_tree", open_tree, 0 },
	{ "mount_setattr", mount_setattr_root, ONLY_INSIDE },
	{ "remount_rw", remount_rw, ONLY_INSIDE },
	{ "mount_proc", mount_proc, ONLY_INSIDE },
	{ "mount_bind", mount_bind, ONLY_INSIDE },
	{ "fsopen", fs_open, 0 },
	{ "umount_proc", umount_proc, ONLY_INSIDE },
	{ "pivot_root", pivot, ONLY_INSIDE },
	{ "bpf_map", bpf_map, 0 },
	{ "perf", perf, 0 },
	{ "userfaultfd", uffd, 0 },
	{ "io_uring", io_uring, 0 },
	{ "add_key", add_key, 0 },
	{ "request_key", request_key, 0 },
	{ "keyctl", keyctl_get, 0 },
	{ "caller_key", caller_key, 0 },
	{ "init_module", init_module, ONLY_INSIDE },
	{ "finit_module", finit_module, ONLY_INSIDE },
	{ "kexec", kexec, ONLY_INSIDE },
	{ "reboot", try_reboot, 0 },
	{ "acct", try_acct, ONLY_INSIDE },
	{ "swapon", try_swapon, 0 },
	{ "syslog", kernel_log, 0 },
#ifdef __x86_64__
	{ "ioperm", try_ioperm, 0 },
	{ "iopl", try_iopl, 0 },
	{ "modify_ldt", modify_ldt, 0 },
	{ "x32", x32, 0 },
#endif
	{ "personality_rie", personality_exec, 0 },
	{ "personality_compat", personality_noaslr, 0 },
	{ "open_by_handle", open_by_handle, 0 },
	{ "fanotify", fanotify, 0 },
	{ "sethostname", set_hostname, ONLY_INSIDE },
	{ "setdomainname", set_domainname, ONLY_INSIDE },
	{ "clock_settime", set_clock, ONLY_INSIDE },
	{ "kcmp", try_kcmp, 0 },
	{ "nice_neg", nice_negative, 0 },
	{ "rlimit_raise", rlimit_raise, 0 },
	{ "core_lower", core_lower, 0 },
	{ "setgroups", set_groups, 0 },
	{ "setuid_other", setuid_other, 0 },
	{ "setuid_root", setuid_root, 0 },
	{ "setgid_root", setgid_root, 0 },
	{ "vhangup", vhangup_tty, ONLY_INSIDE },
	{ "tiocsti", tiocsti, 0 },
	{ "tiocsti_hi", tiocsti_high_bits, 0 },
	{ "tioclinux", tioclinux, 0 },
};

const size_t attempts_kernel_len = sizeof(attempts_kernel) / sizeof(attempts_kernel[0]);
