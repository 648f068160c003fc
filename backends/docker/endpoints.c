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
static const char *const clients[] = { "/usr/bin/docker", "/usr/local/bin/docker" };

static const char client_prefix[] = "cli:", client_socket[] = " unix://";

static const char *
first_there(const char *const *paths, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (access(paths[i], X_OK) == 0)
			return paths[i];
	return paths[0]; /* what starts it says that it is not there */
}

const char *
engine_program(void)
{
	return first_there(programs, HL_ARRAY_SIZE(programs));
}

const char *
engine_client(void)
{
	return first_there(clients, HL_ARRAY_SIZE(clients));
}

bool
engine_is_program(const char *endpoint)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(programs); i++)
		if (strcmp(endpoint, programs[i]) == 0)
			return true;
	return false;
}

/* ------------------------------------------------------------------------------------------------
 * One that is reached by a client
 */
char *
docker_endpoint_text(const struct plan *plan)
{
	char *text = NULL;

	if (plan->client == NULL)
		return strdup(plan->endpoint);
	if (asprintf(&text, "%s%s%s%s", client_prefix, plan->client,
		plan->is_endpoint_program ? "" : client_socket,
		plan->is_endpoint_program ? "" : plan->endpoint) < 0)
		return NULL;
	return text;
}

void
docker_endpoint_take(char *text, struct plan *plan)
{
	plan->endpoint = text;
	plan->is_endpoint_program = engine_is_program(text);
	if (strncmp(text, client_prefix, strlen(client_prefix)) != 0)
		return;
	text += strlen(client_prefix);
	char *socket = strstr(text, client_socket);
	plan->client = plan->endpoint = text;
	plan->is_endpoint_program = socket == NULL;
	if (socket == NULL)
		return;
	*socket = '\0';
	plan->endpoint = socket + strlen(client_socket);
}

/* How far the text is the path of a client that we know; 0 = it is none. */
static size_t
client_length(const char *text)
{
	if (strncmp(text, client_prefix, strlen(client_prefix)) != 0)
		return 0;
	text += strlen(client_prefix);
	for (size_t i = 0; i < HL_ARRAY_SIZE(clients); i++) {
		const size_t len = strlen(clients[i]);
		if (strncmp(text, clients[i], len) == 0 &&
		    (text[len] == '\0' ||
			strncmp(text + len, client_socket, strlen(client_socket)) == 0))
			return len;
	}
	return 0;
}

bool
engine_is_client(const char *endpoint)
{
	return client_length(endpoint) != 0;
}

bool
engine_has_program(const char *endpoint)
{
	size_t len = client_length(endpoint);

	if (len == 0)
		return engine_is_program(endpoint) && access(endpoint, X_OK) == 0;
	char *path HL_AUTO_FREE = strndup(endpoint + strlen(client_prefix), len);
	return path != NULL && access(path, X_OK) == 0;
}

/* ------------------------------------------------------------------------------------------------
 * Those that were used
 */
int
docker_remember_endpoint(const struct plan *plan, struct hl_err *err)
{
	char sha256[HL_SHA256_HEX_SIZE];
	char *path HL_AUTO_FREE = NULL;
	char *text HL_AUTO_FREE = docker_endpoint_text(plan);

	if (text == NULL)
		return hl_err_oom(err);
	hl_sha256_text(text, strlen(text), sha256);
	if (asprintf(&path, "%s/engines/%s", plan->state_dir, sha256) < 0) {
		path = NULL;
		return hl_err_oom(err);
	}
	if (docker_make_dir(plan, "engines", err) < 0)
		return -1;
	return docker_write_file(path, text, strlen(text), 0600, err);
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
	if ((text.data[0] == '/' || engine_is_client(text.data)) && strlen(text.data) == text.len &&
	    strcmp(sha256, name) == 0)
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
