/*
 * hl-engine: which containers of ours there are. Whether one is left is for whoever knows owners to
 * say; of one whose owner nobody can know it matters whether it has ended, and not just now: one
 * that was made less than a minute ago may be on its way up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	YOUNG_S = 60,
	NAME_MAX_LEN = 128,
	LABEL_MAX = 160
};

static bool
has_ended(const json_t *item)
{
	static const char *const states[] = { "created", "exited", "dead", "stopped" };
	const char *state = inspect_string(item, "State", 32);
	uint64_t created = inspect_u64(item, "Created");
	time_t now = time(NULL);

	if (state == NULL || now < 0 || created == 0 || created + YOUNG_S > (uint64_t)now)
		return false;
	for (size_t i = 0; i < HL_ARRAY_SIZE(states); i++)
		if (strcmp(states[i], state) == 0)
			return true;
	return false;
}

static const char *
label(const json_t *item, const char *name)
{
	const json_t *value = json_object_get(json_object_get(item, "Labels"), name);
	const char *text = json_string_value(value);

	return text != NULL && strlen(text) <= LABEL_MAX ? text : NULL;
}

/* Of one that is kept. */
static void
take_lease(struct engine *engine, const json_t *item, struct hl_strv *items)
{
	const char *lease = label(item, DOCKER_LABEL_LEASE);
	const char *session = label(item, DOCKER_LABEL_SESSION);
	const char *place = label(item, DOCKER_LABEL_PLACE);
	const char *id = inspect_string(item, "Id", 64);
	uint64_t since = 0;

	if (lease != NULL && session != NULL && place != NULL && id != NULL)
		since = kept_since(engine, id);
	hl_strv_add(items, lease != NULL ? lease : "");
	if (since != 0)
		hl_strv_addf(items, "%llu", (unsigned long long)since);
	else
		hl_strv_add(items, "");
	hl_strv_add(items, session != NULL && lease != NULL ? session : "");
	hl_strv_add(items, place != NULL && lease != NULL ? place : "");
}

static void
take_item(struct engine *engine, const json_t *item, const char *only, struct hl_strv *items)
{
	const json_t *names = json_object_get(item, "Names");
	const char *name = json_string_value(json_array_get(names, 0));
	const char *run = label(item, DOCKER_LABEL_RUN);
	const char *owner = label(item, DOCKER_LABEL_OWNER);

	if (name == NULL || name[0] != '/' || strlen(name) > NAME_MAX_LEN || run == NULL ||
	    owner == NULL || strchr(name + 1, '/') != NULL ||
	    (only[0] != '\0' && strcmp(name + 1, only) != 0) ||
	    items->len + ENGINE_LIST_FIELDS > items->max)
		return;
	hl_strv_add(items, name + 1);
	hl_strv_add(items, run);
	hl_strv_add(items, owner);
	hl_strv_add(items, has_ended(item) ? "ended" : "");
	take_lease(engine, item, items);
}

int
container_list(struct engine *engine, const char *name, struct hl_strv *ret_items,
    struct hl_err *err)
{
	json_t *list = engine->transport->list(engine, err);

	if (list == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++)
		take_item(engine, json_array_get(list, i), name, ret_items);
	json_decref(list);
	return hl_strv_check(ret_items, "containers", err);
}
