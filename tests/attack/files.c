/*
 * Attempts on files: what may not be read, what may not be written, devices, limits of space and of
 * number.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/attack/attack.h"

static long
try_create(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		return -(long)errno;
	close(fd);
	unlink(path);
	return 0;
}

static long
shadow(void)
{
	return file_has("/etc/shadow", ":");
}

static long
gshadow(void)
{
	return file_has("/etc/gshadow", ":");
}

/* A file of user 0, mode 0600: who is user 0 outside must not be it inside. */
static long
root_only(void)
{
	return file_has(tagged("/var/lib/hl-attack-"), "canary");
}

static long
host_tmp(void)
{
	return file_has(tagged("/tmp/hl-attack-"), "canary");
}

static long
host_shm(void)
{
	return file_has(tagged("/dev/shm/hl-attack-"), "canary");
}

static long
host_run(void)
{
	return file_has(tagged("/run/hl-attack-"), "canary");
}

static long
host_home(void)
{
	return file_has(tagged("/root/.hl-attack-"), "canary");
}

static long
ssh_key(void)
{
	return try_open("/etc/ssh/ssh_host_ed25519_key", O_RDONLY);
}

static long
launcher_state(void)
{
	return try_open("/var/lib/hermes-launch/audit", O_RDONLY);
}

static long
launcher_policies(void)
{
	return try_create("/etc/hermes-launch/policy.d/hl-attack.yaml");
}

static long
write_etc(void)
{
	return try_create("/etc/hl-attack-written");
}

static long
write_usr(void)
{
	return try_create("/usr/bin/hl-attack-written");
}

static long
write_slash(void)
{
	return try_create("/hl-attack-written");
}

static long
write_root_home(void)
{
	/* The host's own: the sandbox may have a private directory of that name. */
	return try_open(tagged("/root/.hl-attack-"), O_WRONLY);
}

static long
write_proc(void)
{
	return try_create("/proc/hl-attack-written");
}

static long
write_dev(void)
{
	return try_create("/dev/hl-attack-written");
}

static long
write_passwd(void)
{
	return try_open("/etc/passwd", O_WRONLY);
}

static long
truncate_passwd(void)
{
	return answer(chmod("/etc/passwd", 0644));
}

static long
touch_usr(void)
{
	return answer(utimensat(AT_FDCWD, "/usr/bin/env", NULL, 0));
}

/* Policies in the working directory that a later run would find. */
static long
write_policy(void)
{
	return try_create(".hermes/hl-attack.yaml");
}

static long
change_policy(void)
{
	return try_open(".hermes/policy.yaml", O_WRONLY);
}

static long
move_policies(void)
{
	return answer(rename(".hermes", ".hermes-moved"));
}

static long
denied_in_workdir(void)
{
	return file_has("secret/key", "canary");
}

/* Out of the working directory by a link that leads out. */
static long
link_out(void)
{
	return file_has("link-out", "canary");
}

static long
hard_link_out(void)
{
	return answer(link("/etc/passwd", "hl-attack-link"));
}

static long
whiteout(void)
{
	long status = try_open("hl-attack-white", O_CREAT | O_WRONLY);

	if (status == 0)
		status = answer(syscall(SYS_renameat2, AT_FDCWD, "hl-attack-white", AT_FDCWD,
		    "hl-attack-black", 4 /* RENAME_WHITEOUT */));
	unlink("hl-attack-white");
	unlink("hl-attack-black");
	return status;
}

static long
set_user_id(void)
{
	struct statvfs fs;

	if (statvfs("/usr", &fs) != 0)
		return -(long)errno;
	return (fs.f_flag & ST_NOSUID) != 0 ? ABSENT : 0;
}

static long
devices_on_tmp(void)
{
	struct statvfs fs;

	if (statvfs("/tmp", &fs) != 0)
		return -(long)errno;
	return (fs.f_flag & ST_NODEV) != 0 ? ABSENT : 0;
}

static long
mknod_chr(void)
{
	if (mknod("/tmp/hl-attack-node", S_IFCHR | 0600, makedev(1, 11)) != 0)
		return -(long)errno;
	long status = try_open("/tmp/hl-attack-node", O_RDONLY);
	unlink("/tmp/hl-attack-node");
	return status;
}

static long
mknod_blk(void)
{
	if (mknod("/tmp/hl-attack-disk", S_IFBLK | 0600, makedev(254, 0)) != 0)
		return -(long)errno;
	unlink("/tmp/hl-attack-disk");
	return 0;
}

static long
any_disk(void)
{
	static const char *const disks[] = { "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/dm-0",
		"/dev/loop0" };

	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		long status = try_open(disks[i], O_RDONLY);
		if (status != -ENOENT)
			return status;
	}
	return ABSENT;
}

static long
dev_mem(void)
{
	return try_open("/dev/mem", O_RDONLY);
}

static long
dev_kmsg(void)
{
	return try_open("/dev/kmsg", O_RDONLY);
}

static long
dev_fuse(void)
{
	return try_open("/dev/fuse", O_RDWR);
}

static long
dev_loop(void)
{
	return try_open("/dev/loop-control", O_RDWR);
}

static long
dev_uffd(void)
{
	return try_open("/dev/userfaultfd", O_RDWR);
}

static long
dev_tun(void)
{
	return try_open("/dev/net/tun", O_RDWR);
}

/* A node that everybody may open, of a driver that answers everybody (TUNGETFEATURES). */
static long
dev_planted(void)
{
	unsigned features;
	int fd = open(tagged("/dev/hl-attack-"), O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -(long)errno;
	long status = answer(ioctl(fd, (int)0x800454cfU, &features));
	close(fd);
	return status;
}

static long
dev_vsock(void)
{
	return try_open("/dev/vsock", O_RDWR);
}

/* ------------------------------------------------------------------------------------------------
 * Limits
 */
static long
fork_many(void)
{
	int n = 0;

	signal(SIGCHLD, SIG_IGN);
	setpgid(0, 0);
	for (; n < 600; n++) {
		pid_t pid = fork();
		if (pid < 0)
			break;
		if (pid == 0) {
			pause();
			_exit(0);
		}
	}
	long status = n < 600 ? CAPPED : 0;
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	return status;
}

static long
fill(const char *path, size_t mebibytes)
{
	static char block[1 << 20];
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	long status = 0;

	if (fd < 0)
		return -(long)errno;
	memset(block, 1, sizeof(block));
	for (size_t i = 0; i < mebibytes && status == 0; i++)
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			status = errno == ENOSPC ? CAPPED : CAPPED;
	close(fd);
	unlink(path);
	return status;
}

/* Empty files have no size, and yet each is memory. */
static long
many_files(void)
{
	enum {
		MANY = 70000
	};
	char name[64];
	long made = 0;

	if (mkdir("/tmp/hl-many", 0700) != 0)
		return -(long)errno;
	for (; made < MANY; made++) {
		snprintf(name, sizeof(name), "/tmp/hl-many/%ld", made);
		if (mknod(name, S_IFREG | 0600, 0) != 0)
			break;
	}
	for (long i = 0; i < made; i++) {
		snprintf(name, sizeof(name), "/tmp/hl-many/%ld", i);
		unlink(name);
	}
	rmdir("/tmp/hl-many");
	return made < MANY ? CAPPED : 0;
}

static long
fill_tmp(void)
{
	return fill("/tmp/hl-attack-fill", 80);
}

static long
fill_shm(void)
{
	return fill("/dev/shm/hl-attack-fill", 80);
}

static long
open_many(void)
{
	for (int i = 0; i < 300; i++)
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			return errno == EMFILE ? CAPPED : -(long)errno;
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Execution
 */
static long
wait_exec(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -EIO;
	return -(long)WEXITSTATUS(status);
}

/* A copy of this program, which answers 2 without arguments: an answer of 2 is a success. */
static long
copy_self(int to)
{
	char bytes[65536];
	ssize_t n;
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)n) != n)
			return -(long)errno;
	close(from);
	return n < 0 ? -(long)errno : 0;
}

static long
exec_copy_in(const char *path)
{
	char *argv[] = { "x", NULL };
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0700);

	if (fd < 0)
		return -(long)errno;
	long status = copy_self(fd);
	close(fd);
	if (status == 0) {
		pid_t pid = fork();
		if (pid == 0) {
			execv(path, argv);
			_exit(errno == 2 ? 1 : errno);
		}
		status = wait_exec(pid);
		status = status == -2 ? 0 : status;
	}
	unlink(path);
	return status;
}

static long
exec_in_tmp(void)
{
	return exec_copy_in("/tmp/hl-attack-exec");
}

static long
exec_in_var_tmp(void)
{
	return exec_copy_in("/var/tmp/hl-attack-exec");
}

static long
exec_in_shm(void)
{
	return exec_copy_in("/dev/shm/hl-attack-exec");
}

const struct attempt attempts_files[] = {
	{ "shadow", shadow, 0 },
	{ "gshadow", gshadow, 0 },
	{ "root_only", root_only, 0 },
	{ "host_tmp", host_tmp, 0 },
	{ "host_shm", host_shm, 0 },
	{ "host_run", host_run, 0 },
	{ "host_home", host_home, 0 },
	{ "ssh_key", ssh_key, 0 },
	{ "launcher_state", launcher_state, 0 },
	{ "launcher_policies", launcher_policies, ONLY_INSIDE },
	{ "write_etc", write_etc, 0 },
	{ "write_usr", write_usr, 0 },
	{ "write_slash", write_slash, 0 },
	{ "write_root_home", write_root_home, 0 },
	{ "write_proc", write_proc, 0 },
	{ "write_dev", write_dev, 0 },
	{ "write_passwd", write_passwd, 0 },
	{ "chmod_passwd", truncate_passwd, 0 },
	{ "touch_usr", touch_usr, ONLY_INSIDE },
	{ "write_policy", write_policy, 0 },
	{ "change_policy", change_policy, 0 },
	{ "move_policies", move_policies, ONLY_INSIDE },
	{ "denied_in_workdir", denied_in_workdir, 0 },
	{ "link_out", link_out, 0 },
	{ "hard_link_out", hard_link_out, ONLY_INSIDE },
	{ "whiteout", whiteout, 0 },
	{ "set_user_id", set_user_id, 0 },
	{ "devices_on_tmp", devices_on_tmp, 0 },
	{ "mknod_chr", mknod_chr, 0 },
	{ "mknod_blk", mknod_blk, 0 },
	{ "any_disk", any_disk, 0 },
	{ "dev_mem", dev_mem, 0 },
	{ "dev_kmsg", dev_kmsg, 0 },
	{ "dev_fuse", dev_fuse, 0 },
	{ "dev_loop", dev_loop, 0 },
	{ "dev_uffd", dev_uffd, 0 },
	{ "dev_tun", dev_tun, 0 },
	{ "dev_planted", dev_planted, 0 },
	{ "dev_vsock", dev_vsock, 0 },
	{ "fork_many", fork_many, 0 },
	{ "many_files", many_files, 0 },
	{ "fill_tmp", fill_tmp, 0 },
	{ "fill_shm", fill_shm, 0 },
	{ "open_many", open_many, 0 },
	{ "exec_in_tmp", exec_in_tmp, 0 },
	{ "exec_in_var_tmp", exec_in_var_tmp, 0 },
	{ "exec_in_shm", exec_in_shm, 0 },
};

const size_t attempts_files_len = sizeof(attempts_files) / sizeof(attempts_files[0]);
