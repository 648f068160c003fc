/*
 * hl-engine: podman without root, before it is started as a service.
 *
 * It is two processes then: one of the account, and one in the account's user namespace, which the
 * first waits for. A namespace is kept by a third process, the account's own until it logs out. The
 * start that makes that one does not hand on a signal (podman 4.3), so that a service which is told
 * to end would leave its second half behind. So the namespace is made by a command that ends by
 * itself, where nothing keeps one.
 */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	FIRST_MS = 10 * 1000
};

/* Where podman has the number of that process: below its runtime directory, or what it takes for
 * one. Where the account says otherwise we do not find it, and make the command's way for nothing.
 */
static bool
is_kept(const char *dir)
{
	HL_AUTO(hl_buf_done) struct hl_buf text = { 0 };
	struct hl_err ignored = { 0 };
	char path[128];
	uint64_t pid;

	snprintf(path, sizeof(path), "%s/libpod/tmp/pause.pid", dir);
	int fd HL_AUTO_FD = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	hl_buf_init(&text, 32);
	if (fd < 0 || hl_read_file(fd, &text, path, HLI_02, &ignored) != 0)
		return false;
	text.data[strcspn(text.data, "\n")] = '\0';
	return hl_parse_u64(text.data, 1, INT32_MAX, &pid, &ignored) == 0 &&
	       kill((pid_t)pid, 0) == 0;
}

void
service_first(const char *program, char *const *env)
{
	char word_unshare[] = "unshare", word_true[] = "true", named[64];
	const char *runtime = NULL;
	pid_t pid;
	int pidfd;

	if (getuid() == 0)
		return;
	for (size_t i = 0; env[i] != NULL; i++)
		if (strncmp(env[i], "XDG_RUNTIME_DIR=", 16) == 0)
			runtime = env[i] + 16;
	snprintf(named, sizeof(named), "/tmp/podman-run-%u", getuid());
	if (is_kept(runtime != NULL ? runtime : named))
		return;
	char *name HL_AUTO_FREE = strdup(program);
	char *const argv[] = { name, word_unshare, word_true, NULL };
	const int fds[] = { -1, -1, -1 };
	const struct hl_child child = {
		.path = program,
		.argv = argv,
		.envp = env,
		.dir = "/proc",
		.fds = fds,
		.fds_len = HL_ARRAY_SIZE(fds),
		.has_session = true,
		.death_signal = SIGKILL,
	};
	/* What fails here the service tells. */
	if (name == NULL || hl_child_start(&child, &pid, &pidfd) != 0)
		return;
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	if (poll(&end, 1, FIRST_MS) != 1)
		(void)kill(-pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(pidfd);
}
