/*
 * The built-in levels: ordinary policy texts, embedded at build time and read by the same loader as
 * every file. A level is never changed once it is out; a better one gets the next number.
 */
#include <string.h>

#include "base/base.h"
#include "policy/policy.h"

static const struct {
	const char *name;
	const char *text;
} levels[] = {
#define LEVEL(name, text) { name, text },
#include "levels.h"
#undef LEVEL
};

#include "base/banned.h"

const char *
policy_level_text(const char *name)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(levels); i++) {
		if (strcmp(levels[i].name, name) == 0)
			return levels[i].text;
	}
	return NULL;
}
