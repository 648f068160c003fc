/*
 * What a daemon's JSON says. Everything is looked up by path, checked for its type and capped: a
 * missing member is absent, never guessed.
 */
#include <stdio.h>
#include <string.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

json_t *
inspect_parse(const struct hl_buf *body, const char *what, struct hl_err *err)
{
	json_error_t where;
	json_t *object = json_loadb(body->data, body->len, JSON_REJECT_DUPLICATES, &where);

	if (object == NULL)
		hl_err_set(err, HLB_43, "the engine's answer (%s) is not JSON, at byte %d", what,
		    where.position);
	return object;
}

/* The first key of a path; what is behind it. */
static const char *
take_key(const char *path, char key[64])
{
	size_t len = strcspn(path, ".");

	HL_BUG_ON(len >= 64);
	memcpy(key, path, len);
	key[len] = '\0';
	return path + len + (path[len] == '.' ? 1 : 0);
}

json_t *
inspect_part(json_t *object, const char *path)
{
	char key[64];

	while (object != NULL && *path != '\0') {
		path = take_key(path, key);
		object = json_object_get(object, key);
	}
	return object;
}

const json_t *
inspect_member(const json_t *object, const char *path)
{
	char key[64];

	if (*path == '\0')
		return object;
	path = take_key(path, key);
	return inspect_part(json_object_get(object, key), path);
}

const char *
inspect_string(const json_t *object, const char *path, size_t max)
{
	const json_t *member = inspect_member(object, path);

	if (!json_is_string(member) || json_string_length(member) > max)
		return NULL;
	return json_string_value(member);
}

bool
inspect_is_id(const char *text, size_t len)
{
	if (len != CONTAINER_ID_LEN)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
			return false;
	return true;
}

bool
inspect_bool(const json_t *object, const char *path)
{
	return json_is_true(inspect_member(object, path));
}

uint64_t
inspect_u64(const json_t *object, const char *path)
{
	const json_t *member = inspect_member(object, path);

	if (!json_is_integer(member) || json_integer_value(member) < 0)
		return 0;
	return (uint64_t)json_integer_value(member);
}

/* Arrays as sets: an engine may sort them. */
static bool
is_same(const json_t *asked, const json_t *kept)
{
	if (!json_is_array(asked) || !json_is_array(kept))
		return json_equal(asked, kept) == 1;
	if (json_array_size(asked) != json_array_size(kept))
		return false;
	for (size_t i = 0; i < json_array_size(asked); i++) {
		bool is_found = false;
		for (size_t j = 0; j < json_array_size(kept) && !is_found; j++)
			is_found =
			    json_equal(json_array_get(asked, i), json_array_get(kept, j)) == 1;
		if (!is_found)
			return false;
	}
	return true;
}

/* An engine may write what is empty as null, or not at all. */
static bool
is_request_kept(const json_t *asked, const json_t *kept)
{
	static const char *const members[] = { "Driver", "Count", "DeviceIDs", "Capabilities",
		"Options" };
	size_t known = 0;

	for (size_t i = 0; i < HL_ARRAY_SIZE(members); i++) {
		const json_t *want = json_object_get(asked, members[i]);
		const json_t *have = json_object_get(kept, members[i]);
		known += have != NULL ? 1 : 0;
		if (json_equal(want, have) != 1 &&
		    !(inspect_is_nothing(want) && inspect_is_nothing(have)))
			return false;
	}
	return json_is_object(kept) && json_object_size(kept) == known;
}

/* Graphics processors. In order, because each could be another driver's. */
static bool
are_requests_kept(const json_t *asked, const json_t *kept)
{
	if (json_array_size(asked) != json_array_size(kept))
		return false;
	for (size_t i = 0; i < json_array_size(asked); i++)
		if (!is_request_kept(json_array_get(asked, i), json_array_get(kept, i)))
			return false;
	return true;
}

/* LogConfig comes back with an empty Config beside the Type: an object may have more. */
bool
inspect_is_kept(json_t *asked, const json_t *kept)
{
	const char *key;
	json_t *value;

	if (!json_is_object(asked))
		return is_same(asked, kept);
	json_object_foreach(asked, key, value)
	{
		if (!inspect_is_kept(value, json_object_get(kept, key)))
			return false;
	}
	return true;
}

void
inspect_drop(json_t *object, const char *const *names, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (json_object_del(object, names[i]) != 0)
			continue;
}

void
inspect_name(char part[KEPT_PART_MAX], const char *group, const char *key)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_";
	size_t len = strlen(key);
	bool is_name = len > 0 && len <= 40 && strspn(key, letters) == len;

	const char *dot = is_name && group[0] != '\0' ? "." : "";

	if (is_name || group[0] != '\0')
		snprintf(part, KEPT_PART_MAX, "'%.40s%s%s'", group, dot, is_name ? key : "");
	else
		snprintf(part, KEPT_PART_MAX, "a setting");
}

static int
compare_host(json_t *asked, const json_t *kept, char part[KEPT_PART_MAX], struct hl_err *err)
{
	json_t *want = json_object_get(asked, "HostConfig");
	const json_t *have = json_object_get(kept, "HostConfig");
	const char *key;
	json_t *value;

	json_object_foreach(want, key, value)
	{
		bool is_list_of_requests = strcmp(key, "DeviceRequests") == 0;
		const json_t *other = json_object_get(have, key);
		if (is_list_of_requests ? are_requests_kept(value, other)
					: inspect_is_kept(value, other))
			continue;
		inspect_name(part, "HostConfig", key);
		return hl_err_set(err, HLB_53, "the engine did not take %s as asked", part);
	}
	return 0;
}

bool
inspect_is_nothing(const json_t *value)
{
	return value == NULL || json_is_null(value) || json_is_false(value) ||
	       (json_is_array(value) && json_array_size(value) == 0) ||
	       (json_is_object(value) && json_object_size(value) == 0) ||
	       (json_is_string(value) && json_string_length(value) == 0);
}

/* What was not asked must not be there either: an engine may have defaults of its own. */
static int
check_nothing_more(const json_t *asked, const json_t *kept, char part[KEPT_PART_MAX],
    struct hl_err *err)
{
	static const char *const powers[] = { "Privileged", "AutoRemove", "CapAdd", "Binds",
		"Devices", "DeviceRequests", "DeviceCgroupRules", "VolumesFrom", "GroupAdd",
		"PidMode", "UTSMode" };
	const json_t *want = json_object_get(asked, "HostConfig");
	const json_t *have = json_object_get(kept, "HostConfig");

	for (size_t i = 0; i < HL_ARRAY_SIZE(powers); i++) {
		if (json_object_get(want, powers[i]) != NULL ||
		    inspect_is_nothing(json_object_get(have, powers[i])))
			continue;
		inspect_name(part, "HostConfig", powers[i]);
		return hl_err_set(err, HLB_53, "the engine set %s, which was not asked", part);
	}
	return 0;
}

int
inspect_compare(json_t *asked, const json_t *kept, char part[KEPT_PART_MAX], struct hl_err *err)
{
	static const char *const members[] = { "User", "Hostname", "Domainname", "Entrypoint",
		"Cmd", "WorkingDir", "Tty", "Healthcheck", "Labels" };

	if (check_nothing_more(asked, kept, part, err) < 0)
		return -1;
	for (size_t i = 0; i < HL_ARRAY_SIZE(members); i++) {
		json_t *want = json_object_get(asked, members[i]);
		const json_t *have = json_object_get(json_object_get(kept, "Config"), members[i]);
		if (want == NULL || inspect_is_kept(want, have))
			continue;
		inspect_name(part, members[i], "");
		return hl_err_set(err, HLB_53, "the engine did not take %s as asked", part);
	}
	return compare_host(asked, kept, part, err);
}
