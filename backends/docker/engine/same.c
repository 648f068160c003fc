/*
 * hl-engine: whether an engine tells the same of two containers, one that was never started and one
 * that was. What is compared how is in the engine's dialect; what has no row there is compared or
 * not as that says, so that what a later version tells is a difference where it may be a right.
 */
#include <stdio.h>
#include <string.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

static const char *const kept_labels[] = { DOCKER_LABEL_SESSION, DOCKER_LABEL_PROFILE,
	DOCKER_LABEL_PLACE, DOCKER_LABEL_LEASE };

/* ------------------------------------------------------------------------------------------------
 * Comparison of a part
 */

/* An engine that was started again tells an empty list as null. */
static bool
is_equal(const json_t *one, const json_t *other)
{
	return json_equal(one, other) == 1 ||
	       (inspect_is_nothing(one) && inspect_is_nothing(other));
}

static bool
has_item(const json_t *list, const json_t *item)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_equal(json_array_get(list, i), item) == 1)
			return true;
	return false;
}

static bool
has_all(const json_t *list, const json_t *other)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!has_item(other, json_array_get(list, i)))
			return false;
	return true;
}

/* Both ways: an item that one has twice must not hide one that only the other has. */
static bool
is_same_set(const json_t *one, const json_t *other)
{
	return json_array_size(one) == json_array_size(other) && has_all(one, other) &&
	       has_all(other, one) && (json_is_array(one) || inspect_is_nothing(one)) &&
	       (json_is_array(other) || inspect_is_nothing(other));
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

static bool
is_same_labels(json_t *twin, json_t *kept)
{
	static const char *const makers[] = { DOCKER_LABEL_RUN, DOCKER_LABEL_OWNER };
	json_t *const both[] = { twin, kept };

	for (size_t i = 0; i < HL_ARRAY_SIZE(both); i++) {
		inspect_drop(both[i], makers, HL_ARRAY_SIZE(makers));
		inspect_drop(both[i], kept_labels, HL_ARRAY_SIZE(kept_labels));
	}
	return json_equal(twin, kept) == 1;
}

static bool
is_same_annotations(json_t *twin, json_t *kept)
{
	static const char *const started[] = { "io.container.manager",
		"io.kubernetes.cri-o.Created", "org.opencontainers.image.stopSignal" };

	inspect_drop(twin, started, HL_ARRAY_SIZE(started));
	inspect_drop(kept, started, HL_ARRAY_SIZE(started));
	return is_equal(twin, kept);
}

static void
drop_variables(json_t *list)
{
	static const char *const started[] = { "HOME=", "HOSTNAME=" };

	for (size_t i = json_array_size(list); i-- > 0;) {
		const char *text = json_string_value(json_array_get(list, i));
		for (size_t n = 0; text != NULL && n < HL_ARRAY_SIZE(started); n++) {
			if (strncmp(text, started[n], strlen(started[n])) != 0)
				continue;
			HL_BUG_ON(json_array_remove(list, i) != 0);
			break;
		}
	}
}

static bool
is_same_variables(json_t *twin, json_t *kept)
{
	drop_variables(twin);
	drop_variables(kept);
	return is_same_set(twin, kept);
}

/* Up to the third colon. */
static size_t
type_len(const char *label)
{
	size_t len = 0;

	for (int colons = 0; label[len] != '\0'; len++)
		if (label[len] == ':' && ++colons == 3)
			break;
	return len;
}

static bool
is_same_mac_label(const json_t *twin, const json_t *kept)
{
	const char *one = json_string_value(twin), *other = json_string_value(kept);

	if (one == NULL || other == NULL)
		return is_equal(twin, kept);
	return type_len(one) == type_len(other) && memcmp(one, other, type_len(one)) == 0;
}

/* ------------------------------------------------------------------------------------------------
 * Comparison of all
 */
struct comparing {
	const struct dialect *dialect;
	char part[KEPT_PART_MAX]; /* the first that differs, "" = none */
};

static void compare_members(struct comparing *comparing, const char *group, json_t *twin,
    json_t *kept);

static const struct twin_part *
find_part(const struct dialect *dialect, const char *path)
{
	for (size_t i = 0; i < dialect->twin_len; i++)
		if (strcmp(dialect->twin[i].path, path) == 0)
			return &dialect->twin[i];
	return NULL;
}

static bool
is_same(enum twin_how how, json_t *twin, json_t *kept)
{
	switch (how) {
	case TWIN_EQUAL:
		return is_equal(twin, kept);
	case TWIN_SKIP:
	case TWIN_MEMBERS:
		return true;
	case TWIN_SET:
		return is_same_set(twin, kept);
	case TWIN_LABELS:
		return is_same_labels(twin, kept);
	case TWIN_NETWORKS:
		return has_same_keys(json_object_get(twin, "Networks"),
		    json_object_get(kept, "Networks"));
	case TWIN_VARIABLES:
		return is_same_variables(twin, kept);
	case TWIN_ANNOTATIONS:
		return is_same_annotations(twin, kept);
	case TWIN_MAC_LABEL:
		return is_same_mac_label(twin, kept);
	}
	return false;
}

static void
compare_member(struct comparing *comparing, const char *group, const char *key,
    json_t *const both[2])
{
	char path[128];

	if (comparing->part[0] != '\0')
		return;
	snprintf(path, sizeof(path), "%.40s%s%.80s", group, group[0] != '\0' ? "." : "", key);
	const struct twin_part *part = find_part(comparing->dialect, path);
	enum twin_how how = part != NULL       ? part->how
			    : group[0] != '\0' ? TWIN_EQUAL
					       : comparing->dialect->twin_rest;
	if (how == TWIN_MEMBERS)
		compare_members(comparing, path, both[0], both[1]);
	else if (is_same(how, both[0], both[1]))
		return;
	else if (part != NULL)
		inspect_name(comparing->part, part->name != NULL ? part->name : path, "");
	else
		inspect_name(comparing->part, group, key);
}

/* What one of the two has and the other has not differs from nothing. */
static void
compare_members(struct comparing *comparing, const char *group, json_t *twin, json_t *kept)
{
	const char *key;
	json_t *value;

	json_object_foreach(twin, key, value)
	{
		json_t *const both[2] = { value, json_object_get(kept, key) };
		compare_member(comparing, group, key, both);
	}
	json_object_foreach(kept, key, value)
	{
		json_t *const both[2] = { json_object_get(twin, key), value };
		if (both[0] == NULL)
			compare_member(comparing, group, key, both);
	}
}

void
same_drop_kept(json_t *labels)
{
	inspect_drop(labels, kept_labels, HL_ARRAY_SIZE(kept_labels));
}

void
same_compare(const struct dialect *dialect, json_t *twin, json_t *kept, char part[KEPT_PART_MAX])
{
	struct comparing comparing = { .dialect = dialect };

	compare_members(&comparing, "", twin, kept);
	memcpy(part, comparing.part, sizeof(comparing.part));
}
