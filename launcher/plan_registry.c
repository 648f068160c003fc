/*
 * Where the caller keeps credentials for registries, for a pull: the files that the engine's own
 * client asks, in its order. Only their paths are known here; they are read by hl-engine, and only
 * when something is pulled. A program that a file names gets of the caller's variables those by
 * which such programs find their store, and nothing else; of PATH no directory that a sandbox of
 * this plan could write.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/plan_parts.h"

#include "base/banned.h"

enum {
	REGISTRY_ENV_MAX = 32,
	REGISTRY_SHOWN_MAX = PLAN_MOUNTS_MAX + 1, /* and the home */
	PATH_VALUE_MAX = 64 * 1024
};

static const char *const program_names[] = {
	"DBUS_SESSION_BUS_ADDRESS",
	"DISPLAY",
	"GNUPGHOME",
	"HOME",
	"LANG",
	"LOGNAME",
	"PASSWORD_STORE_DIR",
	"PATH",
	"USER",
	"WAYLAND_DISPLAY",
	"XDG_RUNTIME_DIR",
};

/* Where a file is when no variable says it. */
enum base {
	BASE_NONE, /* then there is none */
	BASE_HOME,
	BASE_RUN, /* /run/containers/UID */
};

struct place {
	char backend[8], variable[20]; /* "" = none */
	char below[24];                /* of what the variable names, "" = that itself */
	enum base base;
	char otherwise[32]; /* below base */
	bool is_alone;      /* named by its variable it is the only one */
};

/* In the order of the clients: docker's, and podman's as in containers-auth.json(5). */
static const struct place places[] = {
	{ "docker", "DOCKER_CONFIG", "config.json", BASE_NONE, "", true },
	{ "docker", "", "", BASE_HOME, ".docker/config.json", false },
	{ "podman", "REGISTRY_AUTH_FILE", "", BASE_NONE, "", true },
	{ "podman", "DOCKER_CONFIG", "config.json", BASE_NONE, "", true },
	{ "podman", "XDG_RUNTIME_DIR", "containers/auth.json", BASE_RUN, "auth.json", false },
	{ "podman", "XDG_CONFIG_HOME", "containers/auth.json", BASE_HOME,
	    ".config/containers/auth.json", false },
	{ "podman", "", "", BASE_HOME, ".docker/config.json", false },
};

static bool
is_named(const struct host *host, const struct place *place)
{
	return place->variable[0] != '\0' && host_variable(host, place->variable) != NULL;
}

static char *
named_path(const struct host *host, const struct place *place)
{
	HL_AUTO_FREE char *dir = hl_path_normalise(host->cwd, host_variable(host, place->variable));

	if (dir == NULL || place->below[0] == '\0')
		return HL_TAKE_PTR(dir);
	return hl_path_normalise(dir, place->below);
}

static char *
built_in_path(const struct host *host, const struct place *place)
{
	const char *home = host_variable(host, "HOME");
	char run[40];

	if (place->base == BASE_HOME)
		return hl_path_normalise(home != NULL && home[0] == '/' ? home : host->home,
		    place->otherwise);
	snprintf(run, sizeof(run), "/run/containers/%u", host->uid);
	return hl_path_normalise(run, place->otherwise);
}

/* Where a command could put a program, which would be run out of its sandbox. hl-engine asks about
 * these as well: it follows a program's links to where it is, which need not be in PATH. */
static int
add_shown(struct plan *plan, struct hl_err *err)
{
	for (size_t i = 0; i < plan->mounts_len; i++)
		if (plan->mounts[i].is_writable && !plan->mounts[i].is_volume)
			hl_strv_add(&plan->registry_shown, plan->mounts[i].src);
	if (plan->home.src != NULL)
		hl_strv_add(&plan->registry_shown, plan->home.src);
	return hl_strv_check(&plan->registry_shown, "writable places", err);
}

static bool
is_shown(const struct plan *plan, const char *dir)
{
	HL_AUTO_FREE char *settled = plan_path_settle(dir);

	for (size_t i = 0; settled != NULL && i < plan->registry_shown.len; i++)
		if (hl_path_is_beneath(settled, plan->registry_shown.v[i]))
			return true;
	return settled == NULL;
}

static int
add_path(const char *value, struct plan *plan, struct hl_err *err)
{
	struct hl_buf kept HL_AUTO(hl_buf_done) = { 0 };

	hl_buf_init(&kept, PATH_VALUE_MAX);
	for (size_t len; *value != '\0'; value += len + (value[len] == ':' ? 1 : 0)) {
		len = strcspn(value, ":");
		HL_AUTO_FREE char *dir = strndup(value, len);
		if (dir == NULL)
			return hl_err_oom(err);
		if (dir[0] == '/' && !is_shown(plan, dir))
			hl_buf_putf(&kept, "%s%s", kept.len > 0 ? ":" : "", dir);
	}
	hl_strv_addf(&plan->registry_env, "PATH=%s", kept.data);
	return hl_buf_check(&kept, "PATH", err);
}

int
plan_registry(const struct host *host, struct plan *plan, struct hl_err *err)
{
	hl_strv_init(&plan->registry_env, REGISTRY_ENV_MAX);
	hl_strv_init(&plan->registry_shown, REGISTRY_SHOWN_MAX);
	hl_strv_init(&plan->registry_files, HL_ARRAY_SIZE(places));
	for (size_t i = 0; i < HL_ARRAY_SIZE(places); i++) {
		const struct place *place = &places[i];
		bool has_name = is_named(host, place);
		if (strcmp(place->backend, plan->backend) != 0 ||
		    (!has_name && place->base == BASE_NONE))
			continue;
		HL_AUTO_FREE char *path =
		    has_name ? named_path(host, place) : built_in_path(host, place);
		if (path == NULL)
			return hl_err_oom(err);
		hl_strv_add(&plan->registry_files, path);
		if (has_name && place->is_alone)
			break;
	}
	return hl_strv_check(&plan->registry_files, "files of credentials", err);
}

int
plan_registry_named(const struct host *host, struct hl_strv *ret_files, struct hl_err *err)
{
	hl_strv_init(ret_files, HL_ARRAY_SIZE(places));
	for (size_t i = 0; i < HL_ARRAY_SIZE(places); i++) {
		if (!is_named(host, &places[i]))
			continue;
		HL_AUTO_FREE char *path = named_path(host, &places[i]);
		if (path == NULL)
			return hl_err_oom(err);
		if (!hl_strv_contains(ret_files, path))
			hl_strv_add(ret_files, path);
	}
	return hl_strv_check(ret_files, "files of credentials", err);
}

int
plan_registry_programs(const struct host *host, struct plan *plan, struct hl_err *err)
{
	if (plan_is_local(plan))
		return 0; /* nothing is pulled */
	if (add_shown(plan, err) != 0)
		return -1;
	for (size_t i = 0; i < HL_ARRAY_SIZE(program_names); i++) {
		const char *value = host_variable(host, program_names[i]);
		bool is_path = strcmp(program_names[i], "PATH") == 0;
		if (value != NULL && is_path && add_path(value, plan, err) != 0)
			return -1;
		if (value != NULL && !is_path)
			hl_strv_addf(&plan->registry_env, "%s=%s", program_names[i], value);
	}
	return hl_strv_check(&plan->registry_env, "environment of credential programs", err);
}
