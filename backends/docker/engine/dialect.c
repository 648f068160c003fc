/*
 * hl-engine: how docker and podman are spoken to, as data. Both understand docker's calls; podman's
 * create is its own, because its docker-compatible one cannot be told all that a policy says, and
 * so is its inspection, because the compatible one leaves out much.
 */
#include <string.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

/* docker tells in "HostConfig" and "Config" what a container was made with, and beside them what
 * became of it, which is another thing in each version. */
static const struct twin_part docker_twin[] = {
	{ "Args", TWIN_EQUAL, NULL },
	{ "Config", TWIN_MEMBERS, NULL },
	{ "Config.Labels", TWIN_LABELS, "Labels" },
	{ "HostConfig", TWIN_MEMBERS, NULL },
	{ "Image", TWIN_EQUAL, NULL },
	{ "Mounts", TWIN_SET, NULL },
	{ "NetworkSettings", TWIN_NETWORKS, "NetworkSettings.Networks" },
	{ "Path", TWIN_EQUAL, NULL },
	{ "Platform", TWIN_EQUAL, NULL },
};

/* podman puts what one is made with on both levels, so that what is not each container's own is
 * compared. It keeps lists in the order of a map, which is none. What an image is called can change
 * while the image does not. */
static const struct twin_part podman_twin[] = {
	{ "BoundingCaps", TWIN_SET, NULL },
	{ "Config", TWIN_MEMBERS, NULL },
	{ "Config.Annotations", TWIN_ANNOTATIONS, NULL },
	{ "Config.Env", TWIN_VARIABLES, NULL },
	{ "Config.Image", TWIN_SKIP, NULL },
	{ "Config.Labels", TWIN_LABELS, "Labels" },
	{ "ConmonPidFile", TWIN_SKIP, NULL },
	{ "Created", TWIN_SKIP, NULL },
	{ "EffectiveCaps", TWIN_SET, NULL },
	{ "ExecIDs", TWIN_SKIP, NULL },
	{ "GraphDriver", TWIN_SKIP, NULL },
	{ "HostConfig", TWIN_MEMBERS, NULL },
	{ "HostConfig.Binds", TWIN_SET, NULL },
	{ "HostConfig.CapAdd", TWIN_SET, NULL },
	{ "HostConfig.CapDrop", TWIN_SET, NULL },
	{ "HostConfig.Devices", TWIN_SET, NULL },
	{ "HostConfig.GroupAdd", TWIN_SET, NULL },
	{ "HostConfig.SecurityOpt", TWIN_SET, NULL },
	{ "HostConfig.Ulimits", TWIN_SET, NULL },
	{ "HostnamePath", TWIN_SKIP, NULL },
	{ "HostsPath", TWIN_SKIP, NULL },
	{ "Id", TWIN_SKIP, NULL },
	{ "ImageName", TWIN_SKIP, NULL },
	{ "LockNumber", TWIN_SKIP, NULL },
	{ "LogPath", TWIN_SKIP, NULL },
	{ "MountLabel", TWIN_MAC_LABEL, NULL },
	{ "Mounts", TWIN_SET, NULL },
	{ "Name", TWIN_SKIP, NULL },
	{ "NetworkSettings", TWIN_NETWORKS, "NetworkSettings.Networks" },
	{ "OCIConfigPath", TWIN_SKIP, NULL },
	{ "PidFile", TWIN_SKIP, NULL },
	{ "ProcessLabel", TWIN_MAC_LABEL, NULL },
	{ "ResolvConfPath", TWIN_SKIP, NULL },
	{ "RestartCount", TWIN_SKIP, NULL },
	{ "State", TWIN_SKIP, NULL },
	{ "StaticDir", TWIN_SKIP, NULL },
};

static const struct dialect dialects[] = {
	{
	    .name = "docker",
	    .server = "Docker/",
	    .own = "",
	    .labels = "Labels",
	    .image = "Image",
	    .body_name = "",
	    .condition = "next-exit",
	    .waits_first = true,
	    .at_once = "",
	    .has_scopes = false,
	    .has_store = true,
	    .compare = inspect_compare,
	    .twin = docker_twin,
	    .twin_len = HL_ARRAY_SIZE(docker_twin),
	    .twin_rest = TWIN_SKIP,
	    .client_mark = "ApiVersion",
	    .component = "Engine",
	},
	{
	    .name = "podman",
	    .server = "Libpod/",
	    .own = "/libpod",
	    .labels = "labels",
	    .image = "image",
	    .body_name = "name",
	    .condition = "not-running",
	    .waits_first = false,
	    .at_once = "&timeout=0",
	    .has_scopes = true,
	    .has_store = false,
	    .compare = inspect_compare_podman,
	    .twin = podman_twin,
	    .twin_len = HL_ARRAY_SIZE(podman_twin),
	    .twin_rest = TWIN_EQUAL,
	    .client_mark = "APIVersion",
	    .component = "Podman Engine",
	},
};

const struct dialect *
dialect_find(const char *server)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(dialects); i++)
		if (strncmp(server, dialects[i].server, strlen(dialects[i].server)) == 0)
			return &dialects[i];
	return NULL;
}

const struct dialect *
dialect_of_client(const json_t *version)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(dialects); i++)
		if (json_object_get(version, dialects[i].client_mark) != NULL)
			return &dialects[i];
	return NULL;
}

const struct dialect *
dialect_of_server(const json_t *version)
{
	const json_t *parts = json_object_get(version, "Components");

	for (size_t i = 0; i < json_array_size(parts); i++) {
		const char *name = inspect_string(json_array_get(parts, i), "Name", 64);
		for (size_t d = 0; name != NULL && d < HL_ARRAY_SIZE(dialects); d++)
			if (strcmp(name, dialects[d].component) == 0)
				return &dialects[d];
	}
	return NULL;
}

const struct dialect *
dialect_named(const char *name)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(dialects); i++)
		if (strcmp(dialects[i].name, name) == 0)
			return &dialects[i];
	return &dialects[0];
}
