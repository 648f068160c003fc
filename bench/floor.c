/*
 * The floor: the smallest program that makes the system calls of one confined run of a command.
 * What hermes-launch takes more than this is its own: reading a policy, deciding, explaining,
 * verifying.
 *
 *	floor FILE PROG [ARG...]	two durable appends go to FILE
 *	floor --filter			prints the system call filter, for bubblewrap
 *
 * In one static program and one process beside the command: control group, namespaces, the same
 * root (every top-level directory bound read-only, private tmp, home, proc, dev), pivot_root,
 * identity, capabilities, no_new_privs, Landlock, filter, a reaping init. Every call is checked: a
 * floor that skipped one would be no floor.
 */
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"

enum {
	NR_open_tree = 428,
	NR_move_mount = 429,
	NR_close_range = 436,
	NR_mount_setattr = 442,
	NR_landlock_create = 444,
	NR_landlock_add = 445,
	NR_landlock_restrict = 446,
	ENTRIES_MAX = 64,
};

#define CHECK(call)                                               \
 do {                                                             \
  if ((call) < 0) {                                               \
   dprintf(2, "floor: line %d: %s\n", __LINE__, strerror(errno)); \
   _exit(1);                                                      \
  }                                                               \
 } while (0)

struct entry {
	char name[64], target[64];
	int is_link;
};

static struct entry entries[ENTRIES_MAX];
static int entries_len;
static char workdir[1024];
static char **command;
static uid_t uid;
static gid_t gid;

/* ------------------------------------------------------------------------------------------------
 * Parent: ledger, group
 */
static void
append(int fd, const char *line)
{
	CHECK(flock(fd, LOCK_EX));
	CHECK(write(fd, line, strlen(line)));
	CHECK(fdatasync(fd));
	CHECK(flock(fd, LOCK_UN));
}

static void
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd);
	CHECK(write(fd, text, strlen(text)));
	close(fd);
}

#define GROUPS "/sys/fs/cgroup/pids/hermes-floor"

/* -1 when this host has no such hierarchy or we no right to it: then neither has the launcher. */
static int
make_group(void)
{
	char text[32];

	if (mkdir(GROUPS, 0755) != 0 && errno != EEXIST)
		return -1;
	if (mkdir(GROUPS "/run", 0755) != 0)
		return -1;
	write_file(GROUPS "/run/pids.max", "4096");
	int fd = open(GROUPS "/run/pids.max", O_RDONLY | O_CLOEXEC);
	CHECK(read(fd, text, sizeof(text)));
	close(fd);
	return open(GROUPS "/run/tasks", O_WRONLY | O_CLOEXEC);
}

static void
read_root(void)
{
	DIR *dir = opendir("/");
	struct dirent *item;
	static const char *const replaced[] = { ".", "..", "boot", "dev", "home", "lost+found",
		"media", "mnt", "proc", "root", "run", "sys", "tmp" };

	while ((item = readdir(dir)) != NULL && entries_len < ENTRIES_MAX) {
		size_t i = 0, n = sizeof(replaced) / sizeof(replaced[0]);
		while (i < n && strcmp(replaced[i], item->d_name) != 0)
			i++;
		if (i < n || strlen(item->d_name) > 60 ||
		    (item->d_type != DT_DIR && item->d_type != DT_LNK))
			continue;
		struct entry *entry = &entries[entries_len++];
		strcpy(entry->name, item->d_name);
		entry->is_link = item->d_type == DT_LNK;
		if (entry->is_link)
			CHECK(readlinkat(dirfd(dir), entry->name, entry->target, 63));
	}
	closedir(dir);
}

/* ------------------------------------------------------------------------------------------------
 * Child: the new root
 */
static int
clone_tree(const char *path, unsigned recursive, uint64_t set)
{
	uint64_t attr[4] = { set };
	int tree = (int)syscall(NR_open_tree, AT_FDCWD, path, 1 | O_CLOEXEC | recursive);

	CHECK(tree);
	CHECK(syscall(NR_mount_setattr, tree, "", AT_EMPTY_PATH | recursive, attr, sizeof(attr)));
	return tree;
}

static void
attach(int tree, const char *path)
{
	CHECK(syscall(NR_move_mount, tree, "", AT_FDCWD, path, 4));
	close(tree);
}

enum {
	RO = 1,
	NOSUID = 2,
	NODEV = 4,
	NOEXEC = 8,
	RECURSIVE = 0x8000
};

static void
make_dev(void)
{
	static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };
	static const char *const links[][2] = { { "pts/ptmx", "dev/ptmx" },
		{ "/proc/self/fd", "dev/fd" }, { "/proc/self/fd/0", "dev/stdin" },
		{ "/proc/self/fd/1", "dev/stdout" }, { "/proc/self/fd/2", "dev/stderr" } };
	char path[64], host[64];

	CHECK(mkdir("dev", 0755));
	CHECK(mount("tmpfs", "dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k"));
	for (size_t i = 0; i < 6; i++) {
		snprintf(host, sizeof(host), "/dev/%s", devices[i]);
		snprintf(path, sizeof(path), "dev/%s", devices[i]);
		CHECK(mknod(path, S_IFREG, 0));
		attach(clone_tree(host, 0, RO | NOSUID | NOEXEC), path);
	}
	for (size_t i = 0; i < 5; i++)
		CHECK(symlink(links[i][0], links[i][1]));
	CHECK(mkdir("dev/pts", 0755));
	CHECK(mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
	    "newinstance,ptmxmode=0666,mode=0620"));
	CHECK(mkdir("dev/shm", 01777));
	CHECK(mount("tmpfs", "dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=67108864,mode=1777"));
}

static void
make_proc(void)
{
	static const char *const read_only[] = { "sys", "sysrq-trigger", "irq", "bus", "fs" };
	static const char *const masked[] = { "acpi", "asound", "kallsyms", "kcore", "keys",
		"key-users", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats",
		"sched_debug", "scsi", "timer_list", "timer_stats" };
	char path[64];
	struct stat st;

	CHECK(mkdir("proc", 0755));
	CHECK(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
	for (size_t i = 0; i < sizeof(read_only) / sizeof(read_only[0]); i++) {
		snprintf(path, sizeof(path), "proc/%s", read_only[i]);
		if (stat(path, &st) == 0)
			attach(clone_tree(path, 0, RO | NOSUID | NODEV | NOEXEC), path);
	}
	for (size_t i = 0; i < sizeof(masked) / sizeof(masked[0]); i++) {
		snprintf(path, sizeof(path), "proc/%s", masked[i]);
		if (stat(path, &st) == 0)
			attach(clone_tree(S_ISDIR(st.st_mode) ? ".empty" : ".file", 0, RO), path);
	}
}

static void
make_parents(const char *path)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s", path);
	for (char *at = strchr(text, '/'); at != NULL; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(text, 0755);
		*at = '/';
	}
	mkdir(text, 0755);
}

static void
make_root(void)
{
	static const char *const empty[] = { "home", "media", "mnt", "root", "run", "sys", "tmp" };

	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"));
	/* What is above is ours; the host's tree stays reachable by its names below "/". */
	CHECK(chdir("/tmp"));
	CHECK(mkdir(".empty", 0755));
	CHECK(mknod(".file", S_IFREG, 0));
	for (int i = 0; i < entries_len; i++) {
		char path[80];
		if (entries[i].is_link) {
			CHECK(symlink(entries[i].target, entries[i].name));
			continue;
		}
		snprintf(path, sizeof(path), "/%.64s", entries[i].name);
		CHECK(mkdir(entries[i].name, 0755));
		attach(clone_tree(path, RECURSIVE, RO | NOSUID | NODEV), entries[i].name);
	}
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
		CHECK(mkdir(empty[i], 0755));
	CHECK(mkdir("home/agent", 0700));
	make_proc();
	make_dev();
}

static void
fill_root(int work)
{
	static const char *const masked[] = { "etc/shadow", "etc/gshadow", "etc/shadow-",
		"etc/gshadow-" };
	static const char *const tmpfs[] = { "run", "tmp", "var/tmp", "home/agent" };
	uint64_t attr[4] = { RO | NOSUID | NODEV };
	struct stat st;

	for (size_t i = 0; i < sizeof(tmpfs) / sizeof(tmpfs[0]); i++)
		CHECK(mount("tmpfs", tmpfs[i], "tmpfs", MS_NOSUID | MS_NODEV,
		    "size=67108864,mode=1777"));
	make_parents(workdir + 1);
	attach(work, workdir + 1);
	for (size_t i = 0; i < sizeof(masked) / sizeof(masked[0]); i++)
		if (stat(masked[i], &st) == 0)
			attach(clone_tree(".file", 0, RO), masked[i]);
	CHECK(syscall(NR_mount_setattr, AT_FDCWD, ".", 0, attr, sizeof(attr)));
	CHECK(syscall(SYS_pivot_root, ".", "."));
	CHECK(umount2(".", MNT_DETACH));
	CHECK(chdir(workdir));
}

/* ------------------------------------------------------------------------------------------------
 * Child: privileges
 */
static void
loopback(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	CHECK(fd);
	CHECK(ioctl(fd, SIOCGIFFLAGS, &request));
	request.ifr_flags |= IFF_UP;
	CHECK(ioctl(fd, SIOCSIFFLAGS, &request));
	close(fd);
}

static void
drop_privileges(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	CHECK(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0));
	if (geteuid() == 0) {
		CHECK(setgroups(0, NULL));
		CHECK(setresgid(gid, gid, gid));
		CHECK(setresuid(uid, uid, uid));
	}
	CHECK(syscall(SYS_capset, &header, none));
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

struct beneath {
	uint64_t access;
	int fd;
} __attribute__((packed));

static void
landlock(void)
{
	static const char *const writable[] = { "/tmp", "/var/tmp", "/run", "/home/agent", "/dev" };
	uint64_t attr[3] = { 0xffff, 0, 3 };
	int set = (int)syscall(NR_landlock_create, attr, sizeof(attr), 0);

	CHECK(set);
	for (int i = -2; i < 5; i++) {
		struct beneath rule = { i == -2 ? 0xd : 0xffff, open(i == -2   ? "/"
								     : i == -1 ? workdir
									       : writable[i],
								    O_PATH | O_CLOEXEC) };
		CHECK(rule.fd);
		CHECK(syscall(NR_landlock_add, set, 1, &rule, 0));
		close(rule.fd);
	}
	CHECK(syscall(NR_landlock_restrict, set, 0));
	close(set);
}

struct program {
	unsigned short len;
	const struct confine_bpf *instructions;
};

static void
filter(void)
{
	size_t len;
	const struct confine_bpf *bpf = confine_profile_bpf(CONFINE_PROFILE_DEFAULT, &len);
	struct program program = { (unsigned short)len, bpf };

	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

static int group_fd, own_user_ns;

static void
map_ids(void)
{
	char text[32];

	write_file("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	write_file("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	write_file("/proc/self/gid_map", text);
}

static int
child(void *unused)
{
	static int status = 1;
	static char *environment[] = { "PATH=/usr/bin:/bin", NULL };

	(void)unused;
	setsid();
	if (own_user_ns)
		map_ids();
	if (group_fd >= 0)
		CHECK(write(group_fd, "0", 1));
	int work = clone_tree(workdir, RECURSIVE, NOSUID | NODEV);
	make_root();
	fill_root(work);
	CHECK(unshare(CLONE_NEWCGROUP));
	CHECK(sethostname("sandbox", 7));
	loopback();
	CHECK(syscall(SYS_keyctl, 1, NULL));
	drop_privileges();
	landlock();
	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
	CHECK(syscall(NR_close_range, 3, ~0U, 0));
	filter();
	pid_t pid = vfork();
	if (pid == 0) {
		execve(command[0], command, environment);
		_exit(127);
	}
	CHECK(pid);
	pid_t ended;
	int ended_status;
	while ((ended = wait(&ended_status)) > 0)
		if (ended == pid)
			status = ended_status;
	_exit(WEXITSTATUS(status));
}

static int
print_filter(void)
{
	size_t len;
	const struct confine_bpf *bpf = confine_profile_bpf(CONFINE_PROFILE_DEFAULT, &len);

	return fwrite(bpf, sizeof(*bpf), len, stdout) == len ? 0 : 1;
}

int
main(int argc, char **argv)
{
	int status, flags = CLONE_VM | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			    CLONE_NEWNET;

	if (argc == 2 && strcmp(argv[1], "--filter") == 0)
		return print_filter();
	if (argc < 3)
		return 2;
	command = argv + 2;
	own_user_ns = geteuid() != 0;
	uid = own_user_ns ? geteuid() : 65534;
	gid = own_user_ns ? getegid() : 65534;
	int ledger = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	CHECK(ledger);
	if (getcwd(workdir, sizeof(workdir)) == NULL)
		return 1;
	append(ledger, "start\n");
	read_root();
	group_fd = make_group();
	size_t size = 64 * 1024;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid =
	    clone(child, stack + size, flags | (own_user_ns ? CLONE_NEWUSER : 0) | SIGCHLD, NULL);
	CHECK(pid);
	CHECK(waitpid(pid, &status, 0));
	if (group_fd >= 0) {
		CHECK(rmdir(GROUPS "/run"));
		rmdir(GROUPS);
	}
	append(ledger, "end\n");
	return WEXITSTATUS(status);
}
