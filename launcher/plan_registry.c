/*
 * Where the caller keeps credentials for registries, for a pull: as the engine's own client finds
 * them, by DOCKER_CONFIG, else below HOME. Only the path is known here; the file is read by
 * hl-engine, and only when something is pulled. A program that the file names gets of the caller's
 * variables those by which such programs find their store, and nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "launcher/plan_parts.h"

#include "base/banned.h"

enum {
	REGISTRY_ENV_MAX = 32
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

int
plan_registry(const struct host *host, struct plan *plan, struct hl_err *err)
{
	if (config_path(host, &plan->registry_config, err) != 0)
		return -1;
	hl_strv_init(&plan->registry_env, REGISTRY_ENV_MAX);
	for (size_t i = 0; i < HL_ARRAY_SIZE(program_names); i++) {
		const char *value = host_variable(host, program_names[i]);
		if (value != NULL)
			hl_strv_addf(&plan->registry_env, "%s=%s", program_names[i], value);
	}
	return hl_strv_check(&plan->registry_env, "environment of credential programs", err);
}
