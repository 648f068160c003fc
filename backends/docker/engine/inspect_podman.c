/*
 * What podman says of a container, against the specification that it was given. It keeps another
 * form than it takes: a row says where each part of a specification is found again and how it is
 * spelled there; mounts and rights have a comparison of their own. What podman does not tell again
 * is looked at from inside, by the runner: variables, the filter of system calls, and mounts that
 * would be there beside those that were asked for. What was not asked must not be there either.
 */
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	TEXT_MAX = 8192
};

typedef bool kept_fn(json_t *asked, const json_t *kept);

/* ------------------------------------------------------------------------------------------------
 * Forms
 */

/* podman 4 writes an entrypoint as one text, podman 5 as the list that it is. */
static bool
is_entrypoint(json_t *asked, const json_t *kept)
{
	const json_t *only = json_array_get(asked, 0);

	if (json_is_array(kept))
		return inspect_is_kept(asked, kept);
	return json_array_size(asked) == 1 && json_equal(only, kept) == 1;
}

/* Every container's that is not the host's can be joined by another container; we make none. */
static bool
is_private(json_t *asked, const json_t *kept)
{
	return json_equal(asked, kept) == 1 ||
	       (json_is_string(kept) && strcmp(json_string_value(kept), "shareable") == 0);
}

static const char *
without_prefix(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncasecmp(text, prefix, len) == 0 ? text + len : text;
}

static bool
lists_cap(const json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *item = json_string_value(json_array_get(list, i));
		if (item != NULL &&
		    strcasecmp(without_prefix(item, "CAP_"), without_prefix(name, "CAP_")) == 0)
			return true;
	}
	return false;
}

/* All are dropped first, so that those which are added are all there are. */
static bool
is_caps(const json_t *asked, const json_t *kept)
{
	for (size_t i = 0; i < json_array_size(kept); i++) {
		const char *name = json_string_value(json_array_get(kept, i));
		if (name == NULL || !lists_cap(asked, name))
			return false;
	}
	return json_array_size(kept) == json_array_size(asked);
}

/* "nofile" as "RLIMIT_NOFILE". One that was not asked for is podman's own. */
static bool
is_limits(json_t *asked, const json_t *kept)
{
	for (size_t i = 0; i < json_array_size(asked); i++) {
		const json_t *want = json_array_get(asked, i);
		const char *name = inspect_string(want, "type", 32);
		bool is_found = false;
		for (size_t j = 0; name != NULL && j < json_array_size(kept) && !is_found; j++) {
			const json_t *have = json_array_get(kept, j);
			const char *other = inspect_string(have, "Name", 32);
			is_found = other != NULL &&
				   strcasecmp(without_prefix(other, "RLIMIT_"), name) == 0 &&
				   inspect_u64(have, "Hard") == inspect_u64(want, "hard") &&
				   inspect_u64(have, "Soft") == inspect_u64(want, "soft");
		}
		if (!is_found)
			return false;
	}
	return true;
}

/* "/dev/x:/dev/y:rwm". Where it is inside is told again; on the host podman tells the first node
 * with the same number, and of the rights nothing. */
static bool
is_device(const char *path, const json_t *kept)
{
	const char *at = inspect_string(kept, "PathInContainer", TEXT_MAX);
	const char *rights = strrchr(path, ':');
	size_t len = at != NULL ? strlen(at) : 0;

	return len > 0 && rights != NULL && (size_t)(rights - path) > len &&
	       memcmp(rights - len, at, len) == 0 && rights[-(ptrdiff_t)len - 1] == ':';
}

/* "nvidia.com/gpu=0": podman does not tell again that it was asked for it, and of what it stands
 * for nobody knows here. What it leads to is there when the container starts, not before. */
static bool
is_described(const char *path)
{
	return path != NULL && path[0] != '/';
}

static bool
is_devices(json_t *asked, const json_t *kept)
{
	size_t described = 0;

	for (size_t i = 0; i < json_array_size(asked); i++) {
		const char *path = inspect_string(json_array_get(asked, i), "path", 2 * TEXT_MAX);
		bool is_found = is_described(path);
		described += is_found ? 1 : 0;
		for (size_t j = 0; path != NULL && j < json_array_size(kept) && !is_found; j++)
			is_found = is_device(path, json_array_get(kept, j));
		if (!is_found)
			return false;
	}
	return json_array_size(kept) == json_array_size(asked) - described;
}

struct part {
	const char *asked, *kept;
	kept_fn *is_kept;
};

static const struct part parts[] = {
	{ "command", "Config.Cmd", inspect_is_kept },
	{ "devices", "HostConfig.Devices", is_devices },
	{ "entrypoint", "Config.Entrypoint", is_entrypoint },
	{ "groups", "HostConfig.GroupAdd", inspect_is_kept },
	{ "healthconfig", "Config.Healthcheck", inspect_is_kept },
	{ "hostname", "Config.Hostname", inspect_is_kept },
	{ "ipcns.nsmode", "HostConfig.IpcMode", is_private },
	{ "labels", "Config.Labels", inspect_is_kept },
	{ "log_configuration.driver", "HostConfig.LogConfig.Type", inspect_is_kept },
	{ "name", "Name", inspect_is_kept },
	{ "netns.nsmode", "HostConfig.NetworkMode", inspect_is_kept },
	{ "oom_score_adj", "HostConfig.OomScoreAdj", inspect_is_kept },
	{ "r_limits", "HostConfig.Ulimits", is_limits },
	{ "read_only_filesystem", "HostConfig.ReadonlyRootfs", inspect_is_kept },
	{ "resource_limits.cpu.cpus", "HostConfig.CpusetCpus", inspect_is_kept },
	{ "resource_limits.cpu.mems", "HostConfig.CpusetMems", inspect_is_kept },
	{ "resource_limits.cpu.period", "HostConfig.CpuPeriod", inspect_is_kept },
	{ "resource_limits.cpu.quota", "HostConfig.CpuQuota", inspect_is_kept },
	{ "resource_limits.cpu.shares", "HostConfig.CpuShares", inspect_is_kept },
	{ "resource_limits.memory.limit", "HostConfig.Memory", inspect_is_kept },
	{ "resource_limits.memory.swap", "HostConfig.MemorySwap", inspect_is_kept },
	{ "resource_limits.pids.limit", "HostConfig.PidsLimit", inspect_is_kept },
	{ "sdnotifyMode", "Config.sdNotifyMode", inspect_is_kept },
	{ "shm_size", "HostConfig.ShmSize", inspect_is_kept },
	{ "stdin", "Config.OpenStdin", inspect_is_kept },
	{ "terminal", "Config.Tty", inspect_is_kept },
	{ "user", "Config.User", inspect_is_kept },
	{ "work_dir", "Config.WorkingDir", inspect_is_kept },
};

/* ------------------------------------------------------------------------------------------------
 * Mounts
 */
static bool
has_option(const json_t *mount, const char *option)
{
	const json_t *options = json_object_get(mount, "options");

	for (size_t i = 0; i < json_array_size(options); i++) {
		const char *item = json_string_value(json_array_get(options, i));
		if (item != NULL && strcmp(item, option) == 0)
			return true;
	}
	return false;
}

/* As a word of "rw,nosuid,size=1024". */
static bool
lists_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; *at != '\0';) {
		size_t item = strcspn(at, ",");
		if (item == len && memcmp(at, word, len) == 0)
			return true;
		at += item + (at[item] == ',' ? 1 : 0);
	}
	return false;
}

static bool
is_tmpfs_kept(const json_t *mount, const json_t *kept)
{
	const json_t *options = json_object_get(mount, "options");
	const char *place = inspect_string(mount, "destination", TEXT_MAX);
	const json_t *have = inspect_member(kept, "HostConfig.Tmpfs");
	const char *list = place != NULL ? json_string_value(json_object_get(have, place)) : NULL;

	for (size_t i = 0; list != NULL && i < json_array_size(options); i++) {
		const char *word = json_string_value(json_array_get(options, i));
		/* This one is for podman and not for the kernel. */
		if (word == NULL || (strcmp(word, "notmpcopyup") != 0 && !lists_word(list, word)))
			return false;
	}
	return list != NULL && !lists_word(list, "tmpcopyup");
}

static bool
is_bind_kept(const json_t *mount, const json_t *kept)
{
	const json_t *list = json_object_get(kept, "Mounts");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *have = json_array_get(list, i);
		const char *type = inspect_string(have, "Type", 32);
		if (json_equal(json_object_get(mount, "destination"),
			json_object_get(have, "Destination")) != 1)
			continue;
		return type != NULL && strcmp(type, "bind") == 0 &&
		       json_equal(json_object_get(mount, "source"),
			   json_object_get(have, "Source")) == 1 &&
		       inspect_bool(have, "RW") == has_option(mount, "rw");
	}
	return false;
}

static int
compare_mounts(json_t *asked, const json_t *kept, char part[KEPT_PART_MAX], struct hl_err *err)
{
	const json_t *mounts = json_object_get(asked, "mounts");
	size_t binds = 0, tmpfs = 0;

	inspect_name(part, "mounts", "");
	for (size_t i = 0; i < json_array_size(mounts); i++) {
		const json_t *mount = json_array_get(mounts, i);
		const char *type = inspect_string(mount, "type", 32);
		const char *place = inspect_string(mount, "destination", TEXT_MAX);
		bool is_bind = type != NULL && strcmp(type, "bind") == 0;
		binds += is_bind ? 1 : 0;
		tmpfs += is_bind ? 0 : 1;
		if (!(is_bind ? is_bind_kept(mount, kept) : is_tmpfs_kept(mount, kept)))
			return hl_err_set(err, HLB_53, "the engine did not take the mount at '%s'",
			    place != NULL ? place : "");
	}
	if (json_array_size(json_object_get(kept, "Mounts")) == binds &&
	    json_object_size(inspect_member(kept, "HostConfig.Tmpfs")) == tmpfs)
		return 0;
	return hl_err_set(err, HLB_53, "the engine added a mount, which was not asked");
}

/* ------------------------------------------------------------------------------------------------
 * Users
 */

/* Whether the map, a list of "INSIDE:OUTSIDE:COUNT", has the id as whoever is root outside. */
static bool
maps_to_root(const json_t *map, const char *id, size_t len)
{
	static const char rest[] = ":0:1";

	for (size_t i = 0; i < json_array_size(map); i++) {
		const char *row = json_string_value(json_array_get(map, i));
		if (row != NULL && strncmp(row, id, len) == 0 && strcmp(row + len, rest) == 0)
			return true;
	}
	return false;
}

/* A namespace of the container's own, in which the user is the account that the engine runs as. */
static bool
is_id_kept(const json_t *asked, const json_t *kept)
{
	const char *mode = inspect_string(kept, "HostConfig.UsernsMode", 32);
	const char *user = inspect_string(asked, "user", 64);
	const char *colon = user != NULL ? strchr(user, ':') : NULL;

	if (inspect_member(asked, "userns.nsmode") == NULL)
		return true;
	return mode != NULL && strcmp(mode, "private") == 0 && colon != NULL &&
	       maps_to_root(inspect_member(kept, "HostConfig.IDMappings.UidMap"), user,
		   (size_t)(colon - user)) &&
	       maps_to_root(inspect_member(kept, "HostConfig.IDMappings.GidMap"), colon + 1,
		   strlen(colon + 1));
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */
static int
compare_security(json_t *asked, const json_t *kept, char part[KEPT_PART_MAX], struct hl_err *err)
{
	const json_t *list = inspect_member(kept, "HostConfig.SecurityOpt");
	bool is_kept = false;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *item = json_string_value(json_array_get(list, i));
		is_kept |= item != NULL && strcmp(item, "no-new-privileges") == 0;
	}
	if (inspect_bool(asked, "no_new_privileges") && !is_kept)
		inspect_name(part, "no_new_privileges", "");
	else if (!is_id_kept(asked, kept))
		inspect_name(part, "userns.nsmode", "");
	else if (is_caps(json_object_get(asked, "cap_add"), json_object_get(kept, "BoundingCaps")))
		return 0;
	else
		inspect_name(part, "cap_add", "");
	return hl_err_set(err, HLB_53, "the engine did not take %s as asked", part);
}

static int
check_nothing_more(json_t *asked, const json_t *kept, char part[KEPT_PART_MAX], struct hl_err *err)
{
	static const struct {
		const char *asked, *kept;
		const char *word; /* that says nothing, besides nothing itself */
	} powers[] = {
		{ "", "HostConfig.Privileged", "" },
		{ "", "HostConfig.AutoRemove", "" },
		{ "", "HostConfig.VolumesFrom", "" },
		{ "", "HostConfig.PidMode", "private" },
		{ "", "HostConfig.UTSMode", "private" },
		{ "", "HostConfig.UsernsMode", "private" },
		{ "groups", "HostConfig.GroupAdd", "" },
		{ "devices", "HostConfig.Devices", "" },
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(powers); i++) {
		const json_t *have = inspect_member(kept, powers[i].kept);
		const char *word = json_string_value(have);
		if (inspect_is_nothing(have) ||
		    (word != NULL && strcmp(word, powers[i].word) == 0) ||
		    (powers[i].asked[0] != '\0' && json_object_get(asked, powers[i].asked) != NULL))
			continue;
		inspect_name(part, powers[i].kept, "");
		return hl_err_set(err, HLB_53, "the engine set %s, which was not asked", part);
	}
	return 0;
}

int
inspect_compare_podman(json_t *asked, const json_t *kept, char part[KEPT_PART_MAX],
    struct hl_err *err)
{
	if (check_nothing_more(asked, kept, part, err) < 0)
		return -1;
	for (size_t i = 0; i < HL_ARRAY_SIZE(parts); i++) {
		json_t *want = inspect_part(asked, parts[i].asked);
		if (want == NULL || parts[i].is_kept(want, inspect_member(kept, parts[i].kept)))
			continue;
		inspect_name(part, parts[i].asked, "");
		return hl_err_set(err, HLB_53, "the engine did not take %s as asked", part);
	}
	if (compare_mounts(asked, kept, part, err) < 0)
		return -1;
	return compare_security(asked, kept, part, err);
}
