/*
 * Facts of this host and this caller that a plan needs: identity, working directory, and where the
 * other programs of the house are.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/launcher.h"

#include "base/banned.h"

/* A program beside the launcher (build tree), or in ../libexec/hermes-launch (installed). NULL when
 * there is none: the runner is then the one that the launcher carries, and only engines and
 * signatures need the others. */
static char *
find_program(const char *own_dir, const char *name)
{
	static const char *const places[] = { "%s/%s", "%s/../libexec/hermes-launch/%s" };
	char path[PATH_MAX + 64];

	for (size_t i = 0; i < HL_ARRAY_SIZE(places); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, sizeof(path), places[i], own_dir, name);
#pragma GCC diagnostic pop
		if (access(path, R_OK) == 0)
			return strdup(path);
	}
	return NULL;
}

static int
find_programs(struct host *host, struct hl_err *err)
{
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n < 0) {
		hl_err_sys(err, HLI_02, "cannot read '/proc/self/exe'");
		return hl_err_help(err, "hermes-launch needs a mounted /proc");
	}
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	host->runner_path = find_program(own, "hermes-runner");
	host->helper_path = find_program(own, "hl-engine");
	host->seal_path = find_program(own, "hl-seal");
	return 0;
}

int
host_programs(struct host *ret_host, struct hl_err *err)
{
	struct host host = { .uid = getuid(), .gid = getgid() };

	/* A set-user-ID launcher would judge one user's policy with another's rights. */
	if (host.uid != geteuid() || host.gid != getegid())
		return hl_err_set(err, HLI_02,
		    "hermes-launch must not be set-user-ID or set-group-ID");
	if (find_programs(&host, err) != 0)
		return -1;
	*ret_host = host;
	return 0;
}

int
host_caller(const struct request *request, struct host *host, struct hl_err *err)
{
	char cwd[PATH_MAX];
	struct account account;

	host->environ_ = environ;
	host->state_dir = request->state_dir;
	if (getcwd(cwd, sizeof(cwd)) == NULL || cwd[0] != '/')
		return hl_err_sys(err, HLU_02, "cannot tell the working directory");
	host->cwd = strdup(cwd);
	if (host->cwd == NULL)
		return hl_err_oom(err);
	if (host_account(host->uid, &account, err) != 0)
		return -1;
	host->user = account.user;
	host->home = account.home;
	return 0;
}

int
host_facts(const struct request *request, struct host *ret_host, struct hl_err *err)
{
	struct host host;

	if (host_programs(&host, err) != 0 || host_caller(request, &host, err) != 0)
		return -1;
	*ret_host = host;
	return 0;
}

const char *
host_variable(const struct host *host, const char *name)
{
	size_t len = strlen(name);

	for (char *const *entry = host->environ_; entry != NULL && *entry != NULL; entry++) {
		const char *value = *entry + len + 1;
		if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=')
			return value[0] != '\0' ? value : NULL;
	}
	return NULL;
}

const char *
host_docker_host(const struct host *host)
{
	return host_variable(host, "DOCKER_HOST");
}

const char *
engine_socket(const char *text)
{
	if (strncmp(text, "unix://", 7) == 0)
		text += 7;
	return hl_path_is_normal(text) && strcmp(text, "/") != 0 ? text : NULL;
}

const char *
host_policy_dir(void)
{
#ifdef HL_TEST_HOST_DIR
	const char *dir = getenv("HL_TEST_HOST_DIR");
	if (dir != NULL)
		return dir;
#endif
	return "/etc/hermes-launch/policy.d";
}

const char *
host_trust_file(void)
{
#ifdef HL_TEST_HOST_DIR
	static char path[PATH_MAX];
	const char *dir = getenv("HL_TEST_HOST_DIR");
	/* Beside the directory, in which every file of that kind is a policy. */
	if (dir != NULL) {
		snprintf(path, sizeof(path), "%s.trust.yaml", dir);
		return path;
	}
#endif
	return "/etc/hermes-launch/trust.yaml";
}

bool
host_has_trust(void)
{
	struct stat st;

	return lstat(host_trust_file(), &st) == 0 || errno != ENOENT;
}

/* In a test build who owns the directory may own the file: a test that is not root's has no other.
 */
static uid_t
trust_owner(void)
{
#ifdef HL_TEST_HOST_DIR
	struct stat st;
	if (getenv("HL_TEST_HOST_DIR") != NULL && stat(host_policy_dir(), &st) == 0)
		return st.st_uid;
#endif
	return 0;
}

void
host_trust(const struct host *host, struct policy_load_request *what)
{
	what->trust_file = host_trust_file();
	what->trust_owner = trust_owner();
	what->seal_path = host->seal_path;
	what->state_dir = host->state_dir;
}
