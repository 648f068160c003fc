/*
 * hl-engine: whether a container is what the engine would make now. A list of what to look at would
 * miss what this version of the engine has and we do not know (masked paths, a runtime, devices by
 * request), and whoever may speak to the engine can make a container that has our labels, all that
 * we ask, and more. So another one is made from the same request, is never started, and must be
 * told in the same words; then it is removed. Its labels are those of a container that is not kept:
 * if nobody removes it, gc does when this launcher is gone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

static const char *const kept_labels[] = { DOCKER_LABEL_SESSION, DOCKER_LABEL_PROFILE,
	DOCKER_LABEL_PLACE, DOCKER_LABEL_LEASE };

/* ------------------------------------------------------------------------------------------------
 * Comparison
 */

/* An engine that was started again tells an empty list as null. */
static bool
says_nothing(const json_t *value)
{
	return inspect_is_nothing(value) || (json_is_object(value) && json_object_size(value) == 0);
}

static bool
is_equal(const json_t *one, const json_t *other)
{
	return json_equal(one, other) == 1 || (says_nothing(one) && says_nothing(other));
}

/* The first member of one that other has not as it is; NULL = none. */
static const char *
odd_member(json_t *one, const json_t *other)
{
	const char *key;
	json_t *value;

	json_object_foreach(one, key, value)
	{
		if (!is_equal(value, json_object_get(other, key)))
			return key;
	}
	return NULL;
}

static bool
has_item(const json_t *list, const json_t *item)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_equal(json_array_get(list, i), item) == 1)
			return true;
	return false;
}

/* The engine tells its mounts in no order. */
static bool
has_all(const json_t *list, const json_t *other)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!has_item(other, json_array_get(list, i)))
			return false;
	return json_array_size(list) == json_array_size(other);
}

/* What is in it comes with the start. */
static bool
has_same_keys(json_t *one, const json_t *other)
{
	const char *key;
	json_t *value;

	json_object_foreach(one, key, value)
	{
		if (json_object_get(other, key) == NULL)
			return false;
	}
	return json_object_size(one) == json_object_size(other);
}

static void
drop_labels(json_t *labels, const char *const *names, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (json_object_del(labels, names[i]) != 0)
			continue; /* absent is as good */
}

static bool
compare_labels(json_t *twin, json_t *kept)
{
	static const char *const makers[] = { DOCKER_LABEL_RUN, DOCKER_LABEL_OWNER };
	json_t *const both[] = { twin, kept };

	for (size_t i = 0; i < HL_ARRAY_SIZE(both); i++) {
		drop_labels(both[i], makers, HL_ARRAY_SIZE(makers));
		drop_labels(both[i], kept_labels, HL_ARRAY_SIZE(kept_labels));
	}
	return json_equal(twin, kept) == 1;
}

/* Takes out of both what it has compared. part stays empty when they are the same. */
static void
compare(json_t *twin, json_t *kept, char part[KEPT_PART_MAX])
{
	static const char *const groups[] = { "Config", "HostConfig" };
	static const char *const singles[] = { "Image", "Path", "Args", "Platform" };
	json_t *networks = inspect_part(twin, "NetworkSettings.Networks");
	const char *odd = NULL;

	if (!compare_labels(inspect_part(twin, "Config.Labels"),
		inspect_part(kept, "Config.Labels")))
		odd = "Labels";
	for (size_t i = 0; i < HL_ARRAY_SIZE(singles) && odd == NULL; i++)
		if (!is_equal(json_object_get(twin, singles[i]), json_object_get(kept, singles[i])))
			odd = singles[i];
	if (odd == NULL &&
	    !has_all(json_object_get(twin, "Mounts"), json_object_get(kept, "Mounts")))
		odd = "Mounts";
	if (odd == NULL && !has_same_keys(networks, inspect_part(kept, "NetworkSettings.Networks")))
		odd = "NetworkSettings.Networks";
	if (odd != NULL)
		snprintf(part, KEPT_PART_MAX, "'%s'", odd);
	for (size_t i = 0; i < HL_ARRAY_SIZE(groups) && odd == NULL; i++) {
		json_t *one = json_object_get(twin, groups[i]);
		json_t *other = json_object_get(kept, groups[i]);
		odd = odd_member(one, other);
		if (odd == NULL)
			odd = odd_member(other, one);
		if (odd != NULL)
			snprintf(part, KEPT_PART_MAX, "'%s.%.60s'", groups[i], odd);
	}
}

/* ------------------------------------------------------------------------------------------------
 * The twin
 */

/* Of the engine's answers, and one of them is cut to what is left to compare: a copy. */
static int
look_and_compare(struct engine *engine, const json_t *kept, char part[KEPT_PART_MAX],
    struct hl_err *err)
{
	long status = 0;
	json_t *twin = container_look(engine, engine->container, &status, err);
	json_t *copy = twin != NULL ? json_deep_copy(kept) : NULL;

	if (copy != NULL)
		compare(twin, copy, part);
	else if (twin != NULL)
		hl_err_oom(err);
	json_decref(twin);
	int result = copy != NULL ? 0 : -1;
	json_decref(copy);
	return result;
}

int
twin_compare(struct engine *engine, const struct twin_call *call, char part[KEPT_PART_MAX],
    struct hl_err *err)
{
	char name[sizeof(engine->container)];
	struct hl_strv warnings;
	json_t *labels = json_object_get(call->asked, "Labels");
	const char *run = json_string_value(json_object_get(labels, DOCKER_LABEL_RUN));

	drop_labels(labels, kept_labels, HL_ARRAY_SIZE(kept_labels));
	snprintf(name, sizeof(name), "%s-%s", call->name, run != NULL ? run : "");
	char *body HL_AUTO_FREE = json_dumps(call->asked, JSON_COMPACT);
	if (body == NULL)
		return hl_err_oom(err);
	hl_strv_init(&warnings, ENGINE_WARNINGS_MAX);
	/* From here on whatever ends this program removes it. */
	const struct container_want want = { .name = name, .body = body };
	int status = container_create(engine, &want, &warnings, err);
	hl_strv_done(&warnings);
	if (status == 0)
		status = look_and_compare(engine, call->kept, part, err);
	return status == 0 ? container_remove(engine, err) : -1;
}
