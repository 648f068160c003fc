/*
 * Containers that are kept. A session whose policy says session.persist: task has one container by
 * a name of its own; at its end it is stopped and not removed, and the next session of that name
 * starts it again when it is what it would make itself. Stopped, because a process without a
 * launcher has nobody who records, limits or ends it: what stays is files.
 *
 * The name is a digest of whose it is, so two policies, or two working directories, with sessions
 * of one name have a container each. The lock of the session (launcher/keeper_place.c) is what
 * keeps two launchers from one container.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/dialect.h"
#include "backends/docker/prepare.h"
#include "backends/docker/protocol.h"
#include "backends/docker/settings.h"

#include "base/banned.h"

enum {
	NAME_DIGITS = 32,
	ID_MAX = 64,
	RUNNER_MAX = 16 * 1024 * 1024
};

void
docker_kept_name(const struct plan *plan, char name[DOCKER_NAME_SIZE])
{
	const char *const parts[] = { plan->keep.profile, plan->keep.session };
	char digest[HL_SHA256_HEX_SIZE];

	hl_sha256_parts(parts, HL_ARRAY_SIZE(parts), digest);
	snprintf(name, DOCKER_NAME_SIZE, DOCKER_NAME_PREFIX "kept-%.*s", NAME_DIGITS, digest);
}

/* Half a digest: many of them have to fit into one answer of the engine's helper. */
void
docker_place(const char *state_dir, char text[HL_SHA256_HEX_SIZE])
{
	hl_sha256_parts(&state_dir, 1, text);
	text[NAME_DIGITS] = '\0';
}

static void
add_label(struct docker_settings *settings, const char *name, const char *value,
    const struct hl_origin *origin)
{
	struct docker_setting *setting = docker_settings_add(settings, DOCKER_LABEL, name, origin);

	setting->other = strdup(value);
	if (setting->other == NULL)
		settings->failed = true;
}

void
docker_keep_labels(struct docker_settings *settings, const struct plan *plan)
{
	static const struct hl_origin caller = { .layer = "caller", .where.file = "--name" };
	const struct plan_keep *keep = &plan->keep;
	char text[HL_SHA256_HEX_SIZE];

	if (keep->session == NULL)
		return;
	add_label(settings, DOCKER_LABEL_SESSION, keep->session, &caller);
	add_label(settings, DOCKER_LABEL_PROFILE, keep->profile, &caller);
	if (!keep->is_kept)
		return;
	docker_place(plan->state_dir, text);
	add_label(settings, DOCKER_LABEL_PLACE, text, &keep->persist_origin);
	snprintf(text, sizeof(text), "%" PRIu64, keep->lease_ms / 1000);
	add_label(settings, DOCKER_LABEL_LEASE, text, &keep->lease_origin);
}

/* The runner is mounted by its path: what lies there must be what lay there. */
int
docker_keep_spec(const struct plan *plan, const char *digest, struct hl_buf *out,
    struct hl_err *err)
{
	char sha256[HL_SHA256_HEX_SIZE];
	struct hl_buf runner;
	char *path HL_AUTO_FREE = docker_runner_path(plan);

	if (path == NULL)
		return hl_err_oom(err);
	int fd HL_AUTO_FD = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return hl_err_sys(err, HLB_22, "cannot read the runner '%s'", path);
	hl_buf_init(&runner, RUNNER_MAX);
	int status = hl_read_file(fd, &runner, path, HLB_22, err);
	if (status == 0)
		hl_sha256_text(runner.data, runner.len, sha256);
	hl_buf_done(&runner);
	if (status < 0)
		return -1;
	hl_buf_putf(out, "\n%s\n%s\n%s\n%" PRIu64 "\n", HL_VERSION, digest, sha256,
	    plan->keep.lease_ms);
	return hl_buf_check(out, "spec of the container", err);
}

/* ------------------------------------------------------------------------------------------------
 * Which one we made
 */
static char *
record_path(const char *state_dir, const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s/kept/%s", state_dir, name) < 0 ? NULL : path;
}

int
docker_keep_remember(const struct plan *plan, const char *name, const char *id, struct hl_err *err)
{
	char *path HL_AUTO_FREE = record_path(plan->state_dir, name);

	if (docker_dialect(plan)->tells_all)
		return 0;
	if (path == NULL)
		return hl_err_oom(err);
	if (docker_make_dir(plan, "kept", err) < 0)
		return -1;
	return docker_write_file(path, id, strlen(id), 0600, err);
}

/* One that cannot be read is as good as none: then the next begins anew. */
void
docker_keep_recall(const struct plan *plan, const char *name, char id[DOCKER_ID_SIZE])
{
	char *path HL_AUTO_FREE = record_path(plan->state_dir, name);
	struct hl_err ignored = { 0 };
	struct hl_buf text;

	snprintf(id, DOCKER_ID_SIZE, "%s", docker_dialect(plan)->tells_all ? "" : "none");
	if (docker_dialect(plan)->tells_all || path == NULL)
		return;
	int fd HL_AUTO_FD = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	hl_buf_init(&text, ID_MAX + 1);
	if (fd >= 0 && hl_read_file(fd, &text, path, HLB_57, &ignored) == 0 && text.len == ID_MAX &&
	    strspn(text.data, "0123456789abcdef") == ID_MAX)
		snprintf(id, DOCKER_ID_SIZE, "%s", text.data);
	hl_buf_done(&text);
}

void
docker_keep_forget(const char *state_dir, const char *name)
{
	static const char prefix[] = DOCKER_NAME_PREFIX "kept-";
	char *path HL_AUTO_FREE = record_path(state_dir, name);

	/* The name is the engine's word. */
	if (path != NULL && strncmp(name, prefix, sizeof(prefix) - 1) == 0 &&
	    strchr(name, '/') == NULL)
		(void)unlink(path);
}
