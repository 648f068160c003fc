/*
 * The tests' launcher: see launch.h. It is written to be read, not to be fast.
 */
#include "tests/kernel/launch.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/banned.h"

enum {
	NOBODY = 65534,
	PATIENCE_MS = 10000
};

bool
launch_is_root(void)
{
	return geteuid() == 0;
}

static const char *
absolute(const char *variable, const char *usual, char path[PATH_MAX])
{
	const char *name = getenv(variable);

	assert_non_null(realpath(name != NULL ? name : usual, path));
	return path;
}

const char *
launch_probe(void)
{
	static char path[PATH_MAX];

	return absolute("HL_PROBE", "build/kernel/probe", path);
}

/* ------------------------------------------------------------------------------------------------
 * The lock
 */
struct confine_op *
launch_op(struct launch_lock *lock, enum confine_op_kind kind, const char *src, const char *dst,
    uint32_t flags)
{
	struct confine_op *op = &lock->ops[lock->confinement.ops_len++];
	struct stat st;

	assert_true(lock->confinement.ops_len <= LAUNCH_OPS);
	*op = (struct confine_op){ .kind = kind, .flags = flags, .src = src, .dst = dst };
	if (kind == CONFINE_OP_BIND && stat(src, &st) == 0) {
		op->dev = st.st_dev;
		op->ino = st.st_ino;
	}
	return op;
}

struct confine_op *
launch_find(struct launch_lock *lock, const char *dst)
{
	for (size_t i = 0; i < lock->confinement.ops_len; i++)
		if (strcmp(lock->ops[i].dst, dst) == 0)
			return &lock->ops[i];
	fail_msg("no operation at %s", dst);
	return NULL;
}

void
launch_remove(struct launch_lock *lock, const char *dst)
{
	struct confine_op *op = launch_find(lock, dst);
	size_t behind = lock->confinement.ops_len - (size_t)(op - lock->ops) - 1;

	memmove(op, op + 1, behind * sizeof(*op));
	lock->confinement.ops_len--;
}

void
launch_rule(struct launch_lock *lock, const char *path, uint32_t access)
{
	lock->rules[lock->confinement.rules_len++] =
	    (struct confine_rule){ .path = path, .access = access };
}

void
launch_lock_none(struct launch_lock *lock)
{
	memset(lock, 0, sizeof(*lock));
	lock->confinement.ops = lock->ops;
	lock->confinement.rules = lock->rules;
	lock->confinement.uid = launch_is_root() ? NOBODY : geteuid();
	lock->confinement.gid = launch_is_root() ? NOBODY : getegid();
	lock->confinement.hostname = "";
}

void
launch_set_profile(struct launch_lock *lock, enum confine_profile profile)
{
	/* Never written through: the door's type serves the decoder, which fills the array. */
	union {
		const struct confine_bpf *from;
		struct confine_bpf *to;
	} program;

	program.from = confine_profile_bpf(profile, &lock->confinement.bpf_len);
	lock->confinement.bpf = program.to;
}

static void
full_root(struct launch_lock *lock)
{
	static const char *const links[][2] = {
		{ "usr/bin", "/bin" },
		{ "usr/sbin", "/sbin" },
		{ "usr/lib", "/lib" },
		{ "usr/lib64", "/lib64" },
	};
	const uint32_t read_only = CONFINE_OP_RDONLY | CONFINE_OP_RECURSIVE;

	launch_op(lock, CONFINE_OP_BIND, "/usr", "/usr", read_only);
	for (size_t i = 0; i < HL_ARRAY_SIZE(links); i++)
		launch_op(lock, CONFINE_OP_SYMLINK, links[i][0], links[i][1], 0);
	launch_op(lock, CONFINE_OP_PROC, NULL, "/proc", 0);
	launch_op(lock, CONFINE_OP_DEV, NULL, "/dev", 0)->size = 1 << 20;
	struct confine_op *tmp = launch_op(lock, CONFINE_OP_TMPFS, NULL, "/tmp", 0);
	tmp->size = 1 << 20;
	tmp->mode = 01777;
	launch_op(lock, CONFINE_OP_BIND, launch_probe(), "/probe",
	    CONFINE_OP_RDONLY | CONFINE_OP_FILE);
}

void
launch_lock_full(struct launch_lock *lock)
{
	launch_lock_none(lock);
	lock->confinement.flags = CONFINE_MOUNTS | CONFINE_LOOPBACK | CONFINE_IDENTITY |
				  CONFINE_CAPS | CONFINE_NO_NEW_PRIVS | CONFINE_KEYRING |
				  CONFINE_LANDLOCK | CONFINE_SECCOMP | CONFINE_HOSTNAME |
				  CONFINE_CGROUP_NS;
	lock->confinement.hostname = "sandbox";
	full_root(lock);
	launch_rule(lock, "/", CONFINE_READ | CONFINE_EXEC);
	launch_rule(lock, "/tmp", CONFINE_READ | CONFINE_WRITE | CONFINE_EXEC);
	launch_rule(lock, "/dev", CONFINE_READ | CONFINE_WRITE);
	launch_rule(lock, "/proc", CONFINE_READ | CONFINE_WRITE);
	launch_set_profile(lock, CONFINE_PROFILE_DEFAULT);
}

/* ------------------------------------------------------------------------------------------------
 * The sandbox
 */
static void
must(bool is_fine, const char *what)
{
	if (is_fine)
		return;
	dprintf(STDERR_FILENO, "# launch: %s: %s\n", what, strerror(errno));
	_exit(99);
}

static void
write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(fd);
}

/* Capabilities in the new user namespace outlive exec for a user other than 0 only as ambient. */
static void
keep_caps(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	must(syscall(SYS_capget, &header, data) == 0, "capget");
	data[0].inheritable = data[0].permitted;
	data[1].inheritable = data[1].permitted;
	must(syscall(SYS_capset, &header, data) == 0, "capset");
	for (unsigned cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
}

static void
become_user(uid_t uid, gid_t gid)
{
	char map[64];

	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	write_text("/proc/self/gid_map", map);
	keep_caps();
}

static void
put_descriptors(unsigned flags, int stream, int pass)
{
	if ((flags & LAUNCH_STDIO) != 0) {
		must(dup2(stream, 0) == 0 && dup2(stream, 1) == 1, "dup2");
		return;
	}
	if ((flags & LAUNCH_STDIN_DIR) != 0)
		must(dup2(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0) == 0, "dup2");
	if ((flags & LAUNCH_LEAK) != 0)
		must(dup2(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), 7) == 7, "dup2");
	must(dup2(stream, RUNNER_STREAM_FD) == RUNNER_STREAM_FD, "dup2");
	if (pass >= 0)
		must(dup2(pass, RUNNER_PASS_FD) == RUNNER_PASS_FD, "dup2");
}

/* As on a kernel that does not know the call. */
static void
forget(unsigned number)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = HL_ARRAY_SIZE(code), .filter = code };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		 syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0,
	    "seccomp");
}

static char *
argument_of(unsigned flags)
{
	static char stdio[] = RUNNER_STDIO, root[] = RUNNER_OWN_ROOT,
		    network[] = RUNNER_OWN_NETWORK;

	if ((flags & LAUNCH_STDIO) != 0)
		return stdio;
	if ((flags & LAUNCH_OWN_NETWORK) != 0)
		return network;
	return (flags & LAUNCH_OWN_ROOT) != 0 ? root : NULL;
}

static void
child(unsigned flags, int stream, int pass, const uid_t ids[2])
{
	char path[PATH_MAX];
	char *const argv[] = { (char[]){ "init" }, argument_of(flags), NULL };
	char *const env[] = { NULL };
	int runner = open(absolute("HL_RUNNER", "build/hermes-runner", path), O_PATH | O_CLOEXEC);

	must(runner >= 0, path);
	must(setsid() > 0, "setsid");
	if ((flags & LAUNCH_STDIO) == 0 && ids[0] != 0)
		become_user(ids[0], ids[1]);
	/* Out of the way of the numbers that are given below. */
	runner = fcntl(runner, F_DUPFD_CLOEXEC, 20);
	stream = fcntl(stream, F_DUPFD_CLOEXEC, 20);
	must(runner >= 0 && stream >= 0, "fcntl");
	if (pass >= 0)
		pass = fcntl(pass, F_DUPFD_CLOEXEC, 20);
	put_descriptors(flags, stream, pass);
	if ((flags & LAUNCH_NO_LANDLOCK) != 0)
		forget(SYS_landlock_create_ruleset);
	if ((flags & LAUNCH_NO_MEMFD) != 0)
		forget(SYS_memfd_create);
	if ((flags & LAUNCH_NO_UNSHARE) != 0)
		forget(SYS_unshare);
	syscall(SYS_execveat, runner, "", argv, env, AT_EMPTY_PATH);
	must(false, "execveat");
}

void
launch_start(struct launch *launch, unsigned flags)
{
	unsigned long namespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
	const uid_t ids[2] = { geteuid(), getegid() };
	int ends[2], pass[2] = { -1, -1 };

	memset(launch, 0, sizeof(*launch));
	hl_buf_init(&launch->in, 4 * RUNNER_PAYLOAD_MAX);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	if ((flags & LAUNCH_PASS) != 0)
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pass), 0);
	if (!launch_is_root())
		namespaces |= CLONE_NEWUSER;
	if ((flags & (LAUNCH_SHARE_NET | LAUNCH_OWN_NETWORK)) == 0)
		namespaces |= CLONE_NEWNET;
	if ((flags & LAUNCH_STDIO) != 0)
		namespaces = 0;
	launch->pid = (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, NULL, NULL, NULL, 0);
	assert_true(launch->pid >= 0);
	if (launch->pid == 0)
		child(flags, ends[1], pass[1], ids);
	close(ends[1]);
	hl_close_ptr(&pass[1]);
	launch->pass = pass[0];
	launch->to = launch->from = ends[0];
	launch->channel = 1;
}

void
launch_send_raw(struct launch *launch, const void *bytes, size_t len)
{
	/* A runner that has ended already is seen when its answer is read. */
	ssize_t n = send(launch->to, bytes, len, MSG_NOSIGNAL);
	assert_true(n == (ssize_t)len || errno == EPIPE || errno == ECONNRESET);
}

void
launch_send(struct launch *launch, enum runner_type type, const void *payload, size_t len)
{
	bool is_control = type == RUNNER_LOCK || type == RUNNER_GOODBYE || type == RUNNER_PING;
	uint32_t channel = is_control ? 0 : launch->channel;
	struct hl_buf frame;

	hl_buf_init(&frame, RUNNER_HEADER_SIZE + RUNNER_PAYLOAD_MAX);
	runner_frame_put(&frame, type, channel, payload, len);
	launch_send_raw(launch, frame.data, frame.len);
	hl_buf_done(&frame);
}

void
launch_send_lock(struct launch *launch, const struct launch_lock *lock)
{
	struct hl_buf payload;
	struct hl_err err = { 0 };

	hl_buf_init(&payload, RUNNER_PAYLOAD_MAX);
	if (confine_encode(&lock->confinement, &payload, &err) != 0)
		fail_msg("%s", err.msg);
	launch_send(launch, RUNNER_LOCK, payload.data, payload.len);
	hl_buf_done(&payload);
}

void
launch_send_spawn(struct launch *launch, uint32_t flags, const char *const *words)
{
	struct runner_spawn spawn = { .flags = flags, .umask = 022, .cwd = "/" };
	struct hl_buf frame;

	hl_strv_init(&spawn.argv, RUNNER_ARGV_MAX);
	hl_strv_init(&spawn.env, RUNNER_ENV_MAX);
	for (; *words != NULL; words++)
		hl_strv_add(&spawn.argv, *words);
	hl_strv_add(&spawn.env, "PATH=/usr/bin:/bin");
	hl_buf_init(&frame, RUNNER_HEADER_SIZE + RUNNER_PAYLOAD_MAX);
	runner_spawn_put(&frame, launch->channel, &spawn);
	launch_send_raw(launch, frame.data, frame.len);
	hl_buf_done(&frame);
	runner_spawn_done(&spawn);
}

bool
launch_next(struct launch *launch)
{
	struct hl_err err;
	char chunk[65536];

	hl_buf_drop(&launch->in, launch->frame_size);
	launch->frame_size = 0;
	for (;;) {
		if (!launch->has_magic && launch->in.len >= RUNNER_MAGIC_SIZE) {
			assert_memory_equal(launch->in.data, RUNNER_MAGIC, RUNNER_MAGIC_SIZE);
			hl_buf_drop(&launch->in, RUNNER_MAGIC_SIZE);
			launch->has_magic = true;
		}
		int found = launch->has_magic ? runner_frame_get(&launch->in, &launch->frame,
						    &launch->frame_size, &err)
					      : 0;
		assert_true(found >= 0);
		if (found > 0)
			return true;
		struct pollfd fd = { .fd = launch->from, .events = POLLIN };
		assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		ssize_t n = read(launch->from, chunk, sizeof(chunk));
		if (n <= 0)
			return false;
		hl_buf_put(&launch->in, chunk, (size_t)n);
	}
}

static void
take_output(struct launch *launch, struct launch_result *result)
{
	const struct runner_frame *frame = &launch->frame;
	bool is_out = frame->payload[0] == 1;
	char *text = is_out ? result->out : result->err;
	size_t *len = is_out ? &result->out_len : &result->err_len;
	size_t n = frame->payload_len - 1;

	assert_true(frame->payload_len > 1 && (is_out || frame->payload[0] == 2));
	/* What does not fit is counted, not kept. */
	if (*len + n < LAUNCH_OUT)
		memcpy(text + *len, frame->payload + 1, n);
	*len += n;
	const unsigned char credit[5] = { frame->payload[0], (unsigned char)(n & 0xff),
		(unsigned char)(n >> 8 & 0xff), (unsigned char)(n >> 16), 0 };
	launch_send(launch, RUNNER_WINDOW_ADD, credit, sizeof(credit));
}

void
launch_collect(struct launch *launch, struct launch_result *ret_result)
{
	struct hl_err err;

	memset(ret_result, 0, sizeof(*ret_result));
	while (!ret_result->has_exit && !ret_result->has_error && launch_next(launch)) {
		if (launch->frame.type == RUNNER_OUT) {
			take_output(launch, ret_result);
		} else if (launch->frame.type == RUNNER_LOCKED) {
			ret_result->is_locked = true;
		} else if (launch->frame.type == RUNNER_ERROR) {
			ret_result->has_error = true;
			assert_int_equal(runner_error_get(&launch->frame, &ret_result->error, &err),
			    0);
			snprintf(ret_result->subject, sizeof(ret_result->subject), "%s",
			    ret_result->error.subject);
		} else if (launch->frame.type == RUNNER_EXIT) {
			ret_result->has_exit = true;
			assert_int_equal(runner_exit_get(&launch->frame, &ret_result->exit, &err),
			    0);
			snprintf(ret_result->subject, sizeof(ret_result->subject), "%s",
			    ret_result->exit.subject);
		}
	}
}

int
launch_end(struct launch *launch)
{
	int status = -1;

	launch_send(launch, RUNNER_GOODBYE, NULL, 0);
	close(launch->to);
	hl_close_ptr(&launch->pass);
	assert_int_equal(waitpid(launch->pid, &status, 0), launch->pid);
	hl_buf_done(&launch->in);
	return status;
}

void
launch_run(const struct launch_lock *lock, unsigned flags, const char *const *words,
    struct launch_result *ret_result)
{
	struct launch launch;

	launch_start(&launch, flags);
	launch_send_lock(&launch, lock);
	launch_send_spawn(&launch, RUNNER_SPAWN_ALONE, words);
	launch_collect(&launch, ret_result);
	launch_end(&launch);
}

int
launch_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* VERSION */);

	return abi < 0 ? 0 : (int)abi;
}

void
launch_refused(const struct launch_lock *lock, enum confine_step step, int sys_errno,
    const char *subject)
{
	static struct launch_result result;
	const char *const words[] = { "/probe", "nothing", NULL };

	launch_run(lock, 0, words, &result);
	assert_true(result.has_error);
	assert_false(result.is_locked);
	assert_string_equal(confine_step_text((enum confine_step)result.error.step),
	    confine_step_text(step));
	assert_int_equal(result.error.sys_errno, sys_errno);
	assert_string_equal(result.subject, subject);
	assert_string_equal(hl_code_info((enum hl_code)result.error.code)->id, "HLB-02");
}

int
launch_attempt(const struct launch_lock *lock, const char *name, const char *a, const char *b)
{
	return launch_attempt_with(lock, LAUNCH_LEAK, name, a, b);
}

int
launch_attempt_with(const struct launch_lock *lock, unsigned flags, const char *name, const char *a,
    const char *b)
{
	static struct launch_result result;
	const char *const words[] = { "/probe", name, a, b, NULL };

	launch_run(lock, flags, words, &result);
	if (!result.has_exit)
		fail_msg("not locked: step '%s', '%s': %s",
		    confine_step_text((enum confine_step)result.error.step), result.subject,
		    strerror(result.error.sys_errno));
	if (result.exit.how != RUNNER_EXITED || result.exit.code > 200)
		fail_msg("%s: how %s, code %u, signal %u, '%s'", name,
		    runner_how_name(result.exit.how), result.exit.code, result.exit.signal,
		    result.err);
	return (int)result.exit.code;
}
