/*
 * hl-engine: an engine without a daemon (podman), started as a service of this run's own and ended
 * with it.
 *
 * It listens at a socket that has a name for a moment only, in a directory that is ours alone: we
 * keep the node open, so that only we can connect to it, and nothing is left however we end. It
 * gets no variable of the caller's: not its proxies, which podman would hand on to containers.
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	BACKLOG = 16,
	TERM_MS = 5000,   /* from SIGTERM to SIGKILL */
	LISTEN_PID_AT = 1 /* of its variables */
};

/* ------------------------------------------------------------------------------------------------
 * Its socket and its log
 */
static int
bind_at(const char *path, int *ret_listening, int *ret_name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd HL_AUTO_FD = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	HL_BUG_ON(strlen(path) >= sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return -1;
	int name HL_AUTO_FD = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	(void)unlink(path);
	if (name < 0 || listen(fd, BACKLOG) != 0)
		return -1;
	*ret_listening = hl_take_fd(&fd);
	*ret_name = hl_take_fd(&name);
	return 0;
}

static int
make_socket(struct engine *engine, int *ret_listening, struct hl_err *err)
{
	char dir[] = "/tmp/hl-engine.XXXXXX", path[sizeof(dir) + 2];

	if (mkdtemp(dir) == NULL)
		return hl_err_sys(err, HLI_02, "cannot make a directory in '/tmp'");
	snprintf(path, sizeof(path), "%s/s", dir);
	int status = bind_at(path, ret_listening, &engine->service.socket);
	int why = errno;
	(void)rmdir(dir);
	errno = why;
	if (status < 0)
		return hl_err_sys(err, HLI_02, "cannot make a socket for the engine");
	free(engine->address);
	if (asprintf(&engine->address, "/proc/self/fd/%d", engine->service.socket) < 0) {
		engine->address = NULL;
		return hl_err_oom(err);
	}
	return 0;
}

int
service_log(struct hl_err *err)
{
	int fd HL_AUTO_FD = memfd_create("hl-engine-log", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, SERVICE_LOG_MAX) != 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
		return hl_err_sys(err, HLI_02, "cannot make a file in memory");
	return hl_take_fd(&fd);
}

void
service_explain(const struct engine *engine, struct hl_err *err)
{
	char *text HL_AUTO_FREE = malloc(SERVICE_LOG_MAX);
	char safe[ENGINE_TEXT_MAX];
	size_t end, begin;

	/* What is known of the fault says more than the last line of a log. */
	if (engine->service.pid == 0 || text == NULL || err->help[0] != '\0')
		return;
	ssize_t n = pread(engine->service.log, text, SERVICE_LOG_MAX, 0);
	/* Behind what was written there are zeros. */
	end = n > 0 ? strnlen(text, (size_t)n) : 0;
	while (end > 0 && text[end - 1] == '\n')
		end--;
	for (begin = end; begin > 0 && text[begin - 1] != '\n'; begin--)
		;
	api_safe_text(text + begin, end - begin, safe);
	if (safe[0] != '\0')
		hl_err_help(err, "%s says: %.300s", engine->endpoint, safe);
}

/* ------------------------------------------------------------------------------------------------
 * Start
 */

int
service_env(struct hl_strv *env, struct hl_err *err)
{
	const struct passwd *account = getpwuid(getuid());
	char runtime[64];
	struct stat st;

	hl_strv_add(env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	if (account != NULL)
		hl_strv_addf(env, "HOME=%s", account->pw_dir);
	snprintf(runtime, sizeof(runtime), "/run/user/%u", getuid());
	if (getuid() != 0 && stat(runtime, &st) == 0 && S_ISDIR(st.st_mode) &&
	    st.st_uid == getuid())
		hl_strv_addf(env, "XDG_RUNTIME_DIR=%s", runtime);
	return hl_strv_check(env, "variables of the engine", err);
}

/* It gets its socket as a service manager hands one over (sd_listen_fds(3)), and works where no
 * file can be made: conmon 2.1.6 leaves one named "oom" there. */
static int
start_with(struct engine *engine, const char *program, const struct hl_strv *env,
    struct hl_err *err)
{
	char word_system[] = "system", word_service[] = "service", word_time[] = "--time=0";
	char *name HL_AUTO_FREE = strdup(program);
	char *const argv[] = { name, word_system, word_service, word_time, NULL };
	int listening HL_AUTO_FD = -1;
	struct service *service = &engine->service;

	if (name == NULL)
		return hl_err_oom(err);
	if (make_socket(engine, &listening, err) < 0 || (service->log = service_log(err)) < 0)
		return -1;
	const int fds[] = { -1, -1, service->log, listening };
	const struct hl_child child = {
		.path = program,
		.argv = argv,
		.envp = env->v,
		.dir = "/proc",
		.fds = fds,
		.fds_len = HL_ARRAY_SIZE(fds),
		.has_session = true,
		.death_signal = SIGTERM,
		.pid_digits = strchr(env->v[LISTEN_PID_AT], '=') + 1,
	};
	if (hl_child_start(&child, &service->pid, &service->pidfd) == 0)
		return 0;
	return hl_err_sys(err, HLB_40, "cannot start the engine '%s'", program);
}

int
service_start(struct engine *engine, const char *program, struct hl_err *err)
{
	HL_AUTO(hl_strv_done) struct hl_strv env;

	engine->service = (struct service){ .pidfd = -1, .socket = -1, .log = -1 };
	hl_strv_init(&env, 16);
	hl_strv_add(&env, "LISTEN_FDS=1");
	hl_strv_addf(&env, "LISTEN_PID=%0*d", HL_CHILD_PID_DIGITS, 0);
	int status = service_env(&env, err);
	if (status == 0) {
		/* What the socket is told by is the service's alone. */
		service_first(program, env.v + LISTEN_PID_AT + 1);
		status = start_with(engine, program, &env, err);
	}
	if (status == 0)
		return 0;
	hl_close_ptr(&engine->service.socket);
	hl_close_ptr(&engine->service.log);
	engine->service = (struct service){ 0 };
	return -1;
}

/* ------------------------------------------------------------------------------------------------
 * End
 */
/* It is a session of its own; whom its first process leaves behind comes to us. True when there is
 * nobody any more. */
static bool
has_ended(const struct service *service, int timeout_ms)
{
	const uint64_t end_ms = hl_now_mono_ms() + (uint64_t)timeout_ms;
	struct pollfd first = { .fd = service->pidfd, .events = POLLIN };

	(void)poll(&first, 1, timeout_ms);
	for (;;) {
		pid_t pid = waitpid(-service->pid, NULL, WNOHANG);
		if (pid < 0 && errno == ECHILD)
			return true;
		if (pid == 0 && hl_now_mono_ms() >= end_ms)
			return false;
		if (pid == 0)
			container_nap();
	}
}

void
service_end(struct engine *engine)
{
	struct service *service = &engine->service;

	if (service->pid != 0) {
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
		(void)kill(-service->pid, SIGTERM);
		if (!has_ended(service, TERM_MS)) {
			(void)kill(-service->pid, SIGKILL);
			(void)has_ended(service, TERM_MS);
		}
		hl_close_ptr(&service->pidfd);
		hl_close_ptr(&service->socket);
		hl_close_ptr(&service->log);
	}
	*service = (struct service){ 0 };
}
