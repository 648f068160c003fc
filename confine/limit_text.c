/*
 * What the kernel says of a limit against what was asked. For the launcher, which finds a
 * container's group on this host, and for the runner, which sees its own from inside.
 */
#include <stdint.h>
#include <string.h>

#include "confine/confine.h"

#include "base/banned.h"

enum {
	NUMBER_MAX = 32
};

/* The number at *at, up to a space or the end of its line, behind which *at is then. */
static bool
next_number(const char **at, uint64_t *ret_number)
{
	struct hl_err ignored = { 0 };
	size_t len = strcspn(*at, " \n");
	char number[NUMBER_MAX];

	if (len >= sizeof(number))
		return false;
	memcpy(number, *at, len);
	number[len] = '\0';
	*at += len + ((*at)[len] != '\0' ? 1 : 0);
	return hl_parse_u64(number, 0, UINT64_MAX, ret_number, &ignored) == 0;
}

bool
confine_limit_is(enum confine_limit limit, const char *text, uint64_t wanted)
{
	uint64_t found, period = 0;

	if (!next_number(&text, &found)) /* "max", "-1" */
		return false;
	switch (limit) {
	case CONFINE_LIMIT_PIDS:
		return *text == '\0' && found == wanted;
	case CONFINE_LIMIT_MEMORY:
		return *text == '\0' &&
		       (found == wanted || found == wanted / CONFINE_PAGE * CONFINE_PAGE);
	case CONFINE_LIMIT_CPUS:
		return next_number(&text, &period) && *text == '\0' &&
		       period == CONFINE_CPU_PERIOD_US &&
		       found == wanted * CONFINE_CPU_PERIOD_US / 1000;
	case CONFINE_LIMIT_MAX:
		break;
	}
	return false;
}
