/*
 * Names of images, as docker's own client reads them: the first part is a registry when it has a
 * dot, a colon or an upper-case letter in it or is "localhost"; without one it is docker.io, where
 * a name without a folder is in library/. podman reads a name without a registry by its own
 * settings, so it is given none.
 */
#include <stdio.h>
#include <string.h>

#include "backends/docker/engine/pull.h"

#include "base/banned.h"

static const char hub[] = "docker.io";

/* Length of the registry at its front, 0 when there is none. */
static size_t
registry_len(const char *image)
{
	size_t len = strcspn(image, "/");

	if (image[len] == '\0')
		return 0;
	bool is_local = len == strlen("localhost") && memcmp(image, "localhost", len) == 0;
	const size_t lower = strcspn(image, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	if (is_local || lower < len || memchr(image, '.', len) != NULL ||
	    memchr(image, ':', len) != NULL)
		return len;
	return 0;
}

bool
reference_registry(const char *image, char registry[REGISTRY_HOST_MAX + 1])
{
	size_t len = registry_len(image);
	const char *from = image;

	if (len == 0 ||
	    (len == strlen("index.docker.io") && strncmp(image, "index.docker.io", len) == 0)) {
		from = hub;
		len = sizeof(hub) - 1;
	}
	if (len > REGISTRY_HOST_MAX)
		return false;
	memcpy(registry, from, len);
	registry[len] = '\0';
	return true;
}

/* The repository within its registry: without tag and digest, and without "library/" at the hub. */
static const char *
repository(const char *image, bool is_hub, size_t *ret_len)
{
	size_t skip = registry_len(image);
	const char *name = image + (skip > 0 ? skip + 1 : 0);
	size_t len = strcspn(name, "@");
	const char *colon = memchr(name, ':', len);

	if (colon != NULL)
		len = (size_t)(colon - name);
	if (is_hub && len > strlen("library/") && strncmp(name, "library/", 8) == 0 &&
	    memchr(name + 8, '/', len - 8) == NULL) {
		name += 8;
		len -= 8;
	}
	*ret_len = len;
	return name;
}

char *
reference_name(const char *image)
{
	char registry[REGISTRY_HOST_MAX + 1];
	size_t len;
	char *full = NULL;

	if (!reference_registry(image, registry))
		return NULL;
	bool is_hub = strcmp(registry, hub) == 0;
	const char *name = repository(image, is_hub, &len);
	bool is_library = is_hub && memchr(name, '/', len) == NULL;
	if (asprintf(&full, "%s/%s%.*s", registry, is_library ? "library/" : "", (int)len, name) <
	    0)
		return NULL;
	return full;
}

char *
reference_full(const char *image)
{
	char *name HL_AUTO_FREE = reference_name(image);
	const char *slash = strrchr(image, '/');
	const char *tag = strpbrk(slash != NULL ? slash : image, ":@");
	char *full = NULL;

	/* Without a tag an engine would pull them all. */
	if (name == NULL || asprintf(&full, "%s%s", name, tag != NULL ? tag : ":latest") < 0)
		return NULL;
	return full;
}

bool
reference_is_same_repository(const char *a, const char *b)
{
	char left[REGISTRY_HOST_MAX + 1], right[REGISTRY_HOST_MAX + 1];
	size_t left_len, right_len;

	if (!reference_registry(a, left) || !reference_registry(b, right) ||
	    strcmp(left, right) != 0)
		return false;
	bool is_hub = strcmp(left, hub) == 0;
	const char *left_name = repository(a, is_hub, &left_len);
	const char *right_name = repository(b, is_hub, &right_len);
	return left_len == right_len && memcmp(left_name, right_name, left_len) == 0;
}
