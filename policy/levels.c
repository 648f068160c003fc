/*
 * The built-in levels: ordinary policy texts, embedded at build time and read by the same loader as
 * every file. A level is never changed once it is out; a better one gets the next number.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "policy/layer.h"
#include "policy/state.h"

static const struct {
	const char *name;
	const char *text;
} levels[] = {
#define LEVEL(name, text) { name, text },
#include "levels.h"
#undef LEVEL
};

#include "base/banned.h"

static const char *const names[] = {
#define FIRST(name) name,
#define NEXT(name)  name,
#define LAST(name)  name,
#include "policy/levels.def"
#undef FIRST
#undef NEXT
#undef LAST
};

const char policy_level_help[] =
#define FIRST(name) "the levels are " name
#define NEXT(name)  ", " name
#define LAST(name)  " and " name
#include "policy/levels.def"
#undef FIRST
#undef NEXT
#undef LAST
    ;

const char *
policy_level_name(size_t index)
{
	return index < HL_ARRAY_SIZE(names) ? names[index] : NULL;
}

int
policy_level_unknown(const char *name, struct hl_err *err)
{
	hl_err_set(err, HLU_01, "there is no level '%.60s'", name);
	return hl_err_help(err, "%s", policy_level_help);
}

const char *
policy_level_text(const char *name)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(levels); i++) {
		if (strcmp(levels[i].name, name) == 0)
			return levels[i].text;
	}
	return NULL;
}

int
policy_load_level(const char *name, struct policy **ret_policy, struct hl_err *err)
{
	struct policy_findings findings;
	char text[160];
	int len = snprintf(text, sizeof(text), "version: 1\nid: level\nlevel: %.60s\n", name);
	const struct policy_text only = { name, text, (size_t)len };

	if (policy_level_text(name) == NULL)
		return policy_level_unknown(name, err);
	int result = policy_load_texts(&only, 1, ret_policy, &findings, err);
	policy_findings_done(&findings);
	return result;
}
