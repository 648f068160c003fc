/*
 * hl-engine: how docker and podman are spoken to, as data. Both understand docker's calls; podman's
 * create is its own, because its docker-compatible one cannot be told all that a policy says.
 */
#include <string.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

static const struct dialect dialects[] = {
	{
	    .name = "docker",
	    .server = "Docker/",
	    .own = "",
	    .condition = "next-exit",
	    .waits_first = true,
	    .at_once = "",
	    .has_scopes = false,
	    .has_store = true,
	    .compare = inspect_compare,
	    .client_mark = "ApiVersion",
	},
	{
	    .name = "podman",
	    .server = "Libpod/",
	    .own = "/libpod",
	    .condition = "not-running",
	    .waits_first = false,
	    .at_once = "&timeout=0",
	    .has_scopes = true,
	    .has_store = false,
	    .compare = inspect_compare_podman,
	    .client_mark = "APIVersion",
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
dialect_named(const char *name)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(dialects); i++)
		if (strcmp(dialects[i].name, name) == 0)
			return &dialects[i];
	return &dialects[0];
}
