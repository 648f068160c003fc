/*
 * Which engines were used from a state directory, so that what killed launchers left can be found
 * on all of them: a policy names an engine's socket, and gc has no policy. One small file for each,
 * "engines/SHA256-OF-THE-ENDPOINT", with the endpoint in it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/prepare.h"

#include "base/banned.h"

enum {
	ENDPOINT_MAX = 4096
};

static const char *const programs[] = { "/usr/bin/podman", "/usr/local/bin/podman" };

const char *
engine_program(void)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(programs); i++)
		if (access(programs[i], X_OK) == 0)
			return programs[i];
	return programs[0]; /* what starts it says that it is not there */
}

bool
engine_is_program(const char *endpoint)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(programs); i++)
		if (strcmp(endpoint, programs[i]) == 0)
			return true;
	return false;
}

int
docker_remember_endpoint(const struct plan *plan, struct hl_err *err)
{
	char sha256[HL_SHA256_HEX_SIZE];
	char *path HL_AUTO_FREE = NULL;

	hl_sha256_text(plan->endpoint, strlen(plan->endpoint), sha256);
	if (asprintf(&path, "%s/engines/%s", plan->state_dir, sha256) < 0) {
		path = NULL;
		return hl_err_oom(err);
	}
	if (docker_make_dir(plan, "engines", err) < 0)
		return -1;
	return docker_write_file(path, plan->endpoint, strlen(plan->endpoint), 0600, err);
}

/* Only what we wrote: the name says what must be in it. */
static void
take_file(int dir, const char *name, struct hl_strv *endpoints)
{
	char sha256[HL_SHA256_HEX_SIZE];
	struct hl_err ignored = { 0 };
	HL_AUTO(hl_buf_done) struct hl_buf text;
	int fd HL_AUTO_FD = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	hl_buf_init(&text, ENDPOINT_MAX);
	if (fd < 0 || hl_read_file(fd, &text, name, HLI_03, &ignored) < 0)
		return;
	hl_sha256_text(text.data, text.len, sha256);
	if (text.data[0] == '/' && strlen(text.data) == text.len && strcmp(sha256, name) == 0)
		hl_strv_add(endpoints, text.data);
}

int
engine_endpoints(const char *state_dir, struct hl_strv *ret_endpoints, struct hl_err *err)
{
	char *path HL_AUTO_FREE = NULL;
	const struct dirent *entry;

	hl_strv_init(ret_endpoints, ENGINE_ENDPOINTS_MAX);
	if (asprintf(&path, "%s/engines", state_dir) < 0) {
		path = NULL;
		return hl_err_oom(err);
	}
	DIR *dir HL_AUTO_DIR = opendir(path);
	if (dir == NULL && errno != ENOENT)
		return hl_err_sys(err, HLB_57, "cannot list '%.300s'", path);
	int more = 0;
	while (dir != NULL && (more = hl_dir_next(dir, &entry)) > 0)
		take_file(dirfd(dir), entry->d_name, ret_endpoints);
	if (more < 0)
		return hl_err_sys(err, HLB_57, "cannot list '%.300s'", path);
	hl_strv_sort(ret_endpoints);
	return hl_strv_check(ret_endpoints, "engines", err);
}
