/*
 * A caller's arguments for docker or podman, read by the engine's own grammar. Both clients parse
 * their options with pflag (backends/pflag.h); which options there are, and of which podman reads
 * one value as a list, says their table.
 */
#include <string.h>

#include "backends/docker/docker.h"
#include "backends/pflag.h"

#include "base/banned.h"

static const struct docker_option options[] = {
#define DOCKER_OPTION(symbol, flag, letter, engines, kind, json, control, rule, repeatable, since, \
    help)                                                                                          \
 [DOCKER_##symbol] = { flag, letter, DOCKER_ENGINES_##engines, DOCKER_KIND_##kind, json, control,  \
	 ENGINE_RULE_##rule, repeatable, since, help },
#include "backends/docker/options.def"
#undef DOCKER_OPTION
};

#define DOCKER_OPTION(symbol, flag_, letter, engines, kind, json_, control_, rule, repeatable, \
    since_, help_)                                                                             \
 HL_FITS(flag_, options[0].flag);                                                              \
 HL_FITS(json_, options[0].json);                                                              \
 HL_FITS(control_, options[0].control);                                                        \
 HL_FITS(since_, options[0].since);                                                            \
 HL_FITS(help_, options[0].help);
#include "backends/docker/options.def"
#undef DOCKER_OPTION

_Static_assert(HL_ARRAY_SIZE(options) == DOCKER_OPTION_MAX, "every option has its row");

const struct docker_option *
docker_option(enum docker_option_id id)
{
	HL_BUG_ON(id >= DOCKER_OPTION_MAX);
	return &options[id];
}

const struct docker_option *
docker_option_find(enum docker_engines engine, const char *flag, size_t len)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(options); i++) {
		if ((options[i].engines & engine) != 0 && strlen(options[i].flag) == len &&
		    memcmp(options[i].flag, flag, len) == 0)
			return &options[i];
	}
	return NULL;
}

const struct docker_option *
docker_option_by_letter(enum docker_engines engine, char letter)
{
	for (size_t i = 0; letter != '\0' && i < HL_ARRAY_SIZE(options); i++) {
		if ((options[i].engines & engine) != 0 && options[i].letter == letter)
			return &options[i];
	}
	return NULL;
}

static bool
describe(enum docker_engines engine, const struct docker_option *option,
    struct pflag_option *ret_option)
{
	if (option == NULL)
		return false;
	*ret_option = (struct pflag_option){
		.flag = option->flag,
		.control = option->control,
		.rule = option->rule,
		.is_bool = option->kind == DOCKER_KIND_BOOL,
		.is_list =
		    engine == DOCKER_ENGINES_PODMAN && (option->engines & DOCKER_ENGINES_LIST) != 0,
		.is_repeatable = option->is_repeatable,
	};
	return true;
}

static bool
docker_find(const char *flag, size_t len, char letter, struct pflag_option *ret_option)
{
	const enum docker_engines engine = DOCKER_ENGINES_DOCKER;

	return describe(engine,
	    flag != NULL ? docker_option_find(engine, flag, len)
			 : docker_option_by_letter(engine, letter),
	    ret_option);
}

static bool
podman_find(const char *flag, size_t len, char letter, struct pflag_option *ret_option)
{
	const enum docker_engines engine = DOCKER_ENGINES_PODMAN;

	return describe(engine,
	    flag != NULL ? docker_option_find(engine, flag, len)
			 : docker_option_by_letter(engine, letter),
	    ret_option);
}

int
docker_args_parse(const struct engine_arg *args, size_t len, struct engine_settings *ret_settings,
    struct hl_err *err)
{
	return pflag_parse(docker_find, args, len, ret_settings, err);
}

int
podman_args_parse(const struct engine_arg *args, size_t len, struct engine_settings *ret_settings,
    struct hl_err *err)
{
	return pflag_parse(podman_find, args, len, ret_settings, err);
}
