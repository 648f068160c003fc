/*
 * A JSON object whose members are given by their whole path, in the order of these: what is above
 * a member is opened and closed as the paths want it.
 */
#include <string.h>

#include "backends/docker/dialect.h"

#include "base/banned.h"

/* How many leading components two paths share, the last component of either not counted. */
static size_t
shared_depth(const char *a, const char *b)
{
	size_t depth = 0;

	for (; *a != '\0' && *a == *b; a++, b++) {
		if (*a == '.')
			depth++;
	}
	return depth;
}

/* Opens the objects of path from the part behind the shared ones on; returns the last component. */
static const char *
open_objects(struct hl_json *json, const char *path, size_t shared, size_t *depth)
{
	const char *part = path;
	const char *dot;

	for (size_t skip = 0; skip < shared; skip++)
		part = strchr(part, '.') + 1;
	while ((dot = strchr(part, '.')) != NULL) {
		char key[64];
		size_t len = (size_t)(dot - part);
		HL_BUG_ON(len >= sizeof(key));
		memcpy(key, part, len);
		key[len] = '\0';
		hl_json_key(json, key);
		hl_json_object(json);
		part = dot + 1;
		(*depth)++;
	}
	return part;
}

void
docker_object_init(struct docker_object *object, struct hl_buf *out)
{
	*object = (struct docker_object){ .before = "" };
	hl_json_init(&object->json, out);
	hl_json_object(&object->json);
}

void
docker_object_key(struct docker_object *object, const char *path)
{
	size_t shared = shared_depth(path, object->before);

	for (; object->depth > shared; object->depth--)
		hl_json_end_object(&object->json);
	hl_json_key(&object->json, open_objects(&object->json, path, shared, &object->depth));
	object->before = path;
}

void
docker_object_end(struct docker_object *object)
{
	for (; object->depth > 0; object->depth--)
		hl_json_end_object(&object->json);
	hl_json_end_object(&object->json);
}
