/*
 * What a user or group of one user namespace is in the one around it, by the text of
 * /proc/PID/uid_map or gid_map (user_namespaces(7)). For the launcher, which looks at a container's
 * first process from this host, and for the runner, which sees its own from inside.
 */
#include <stdint.h>
#include <string.h>

#include "confine/confine.h"

#include "base/banned.h"

enum {
	NUMBER_MAX = 16,
	FIELDS = 3 /* the first inside, the first outside, how many */
};

/* The number at *at behind blanks, up to a blank or the end of its line, where *at is then. */
static bool
next_number(const char **at, uint64_t *ret_number)
{
	struct hl_err ignored = { 0 };
	char number[NUMBER_MAX];

	*at += strspn(*at, " ");
	size_t len = strcspn(*at, " \n");
	if (len >= sizeof(number))
		return false;
	memcpy(number, *at, len);
	number[len] = '\0';
	*at += len;
	return hl_parse_u64(number, 0, UINT32_MAX, ret_number, &ignored) == 0;
}

/* Takes the next line of a map. */
static bool
next_row(const char **map, uint64_t row[FIELDS])
{
	for (size_t i = 0; i < FIELDS; i++)
		if (!next_number(map, &row[i]))
			return false;
	if (**map != '\n' && **map != '\0')
		return false;
	*map += **map == '\n' ? 1 : 0;
	return true;
}

bool
confine_id_outside(const char *map, uint32_t id, uint32_t *ret_outside)
{
	bool is_found = false;

	while (*map != '\0') {
		uint64_t row[FIELDS];
		if (!next_row(&map, row))
			return false;
		if (id < row[0] || id - row[0] >= row[2] || is_found)
			continue;
		uint64_t outside = row[1] + (id - row[0]);
		if (outside > UINT32_MAX - 1)
			return false;
		*ret_outside = (uint32_t)outside;
		is_found = true;
	}
	return is_found;
}

bool
confine_map_lacks_root(const char *map)
{
	bool has_row = false;

	while (*map != '\0') {
		uint64_t row[FIELDS];
		/* UINT32_MAX is whoever has no number in the reader's namespace. */
		if (!next_row(&map, row) || row[1] == 0 || row[1] == UINT32_MAX)
			return false;
		has_row = true;
	}
	return has_row;
}
