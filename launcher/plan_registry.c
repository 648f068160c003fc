/*
 * Where the caller keeps credentials for registries, for a pull: as the engine's own client finds
 * them, by DOCKER_CONFIG, else below HOME. Only the path is known here; the file is read by
 * hl-engine, and only when something is pulled. A program that the file names gets of the caller's
 * variables those by which such programs find their store, and nothing else; of PATH no directory
 * that a sandbox of this plan could write.
 */
#include <stdlib.h>
#include <string.h>

#include "launcher/plan_parts.h"

#include "base/banned.h"

enum {
	REGISTRY_ENV_MAX = 32,
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

static int
config_path(const struct host *host, char **ret_path, struct hl_err *err)
{
	const char *dir = host_variable(host, "DOCKER_CONFIG");
	const char *home = host_variable(host, "HOME");

	if (dir != NULL) {
		HL_AUTO_FREE char *normal = hl_path_normalise(host->cwd, dir);
		*ret_path = normal != NULL ? hl_path_normalise(normal, "config.json") : NULL;
	} else {
		*ret_path = hl_path_normalise(home != NULL && home[0] == '/' ? home : host->home,
		    ".docker/config.json");
	}
	return *ret_path != NULL ? 0 : hl_err_oom(err);
}

/* A command could put a program there, which would be run out of its sandbox. */
static bool
is_shown(const struct plan *plan, const char *dir)
{
	HL_AUTO_FREE char *settled = plan_path_settle(dir);

	for (size_t i = 0; i < plan->mounts_len; i++) {
		const struct plan_mount *mount = &plan->mounts[i];
		if (settled == NULL || (mount->is_writable && !mount->is_volume &&
					   hl_path_is_beneath(settled, mount->src)))
			return true;
	}
	return plan->home.src != NULL &&
	       (settled == NULL || hl_path_is_beneath(settled, plan->home.src));
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
	return config_path(host, &plan->registry_config, err);
}

int
plan_registry_programs(const struct host *host, struct plan *plan, struct hl_err *err)
{
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
