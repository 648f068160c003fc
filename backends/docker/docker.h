/*
 * docker, the room's own header: what lower.c, args.c and docker.c share. Not a door: no other room
 * may include it.
 */
#ifndef HL_BACKENDS_DOCKER_DOCKER_H
#define HL_BACKENDS_DOCKER_DOCKER_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/backends.h"
#include "base/base.h"

/* ------------------------------------------------------------------------------------------------
 * The option table (options.def)
 */
enum docker_kind {
	DOCKER_KIND_BOOL,
	DOCKER_KIND_STRING,
	DOCKER_KIND_INT,
	DOCKER_KIND_BYTES,
	DOCKER_KIND_NANO,
	DOCKER_KIND_LIST,
	DOCKER_KIND_MAP,
	DOCKER_KIND_OBJECT,
};

/* Bits: who has the option, and whether podman splits its value at commas. */
enum docker_engines {
	DOCKER_ENGINES_DOCKER = 1,
	DOCKER_ENGINES_PODMAN = 2,
	DOCKER_ENGINES_BOTH = DOCKER_ENGINES_DOCKER | DOCKER_ENGINES_PODMAN,
	DOCKER_ENGINES_LIST = 4,
	DOCKER_ENGINES_PODMAN_LIST = DOCKER_ENGINES_PODMAN | DOCKER_ENGINES_LIST,
	DOCKER_ENGINES_BOTH_LIST = DOCKER_ENGINES_BOTH | DOCKER_ENGINES_LIST,
};

enum docker_option_id {
#define DOCKER_OPTION(symbol, ...) DOCKER_##symbol,
#include "backends/docker/options.def"
#undef DOCKER_OPTION
	DOCKER_OPTION_MAX
};

struct docker_option {
	char flag[28]; /* "--cap-add" */
	char letter;   /* 0 = none */
	enum docker_engines engines;
	enum docker_kind kind;
	char json[48]; /* "HostConfig.CapAdd", "?name", or "" = never lowered */
	char control[28];
	enum engine_rule rule;
	bool is_repeatable;
	char since[8]; /* version of docker's Engine API, "" = none */
	char help[64];
};

const struct docker_option *docker_option(enum docker_option_id id);
/* engine: one bit. By the long flag, len bytes of it ("--cap-add"); NULL when that engine has none.
 * No abbreviations. */
const struct docker_option *docker_option_find(enum docker_engines engine, const char *flag,
    size_t len);
const struct docker_option *docker_option_by_letter(enum docker_engines engine, char letter);

/* args.c: the engines' half of engine_args_parse() (backends.h). */
int docker_args_parse(const struct engine_arg *args, size_t len,
    struct engine_settings *ret_settings, struct hl_err *err) HL_MUST_CHECK;
int podman_args_parse(const struct engine_arg *args, size_t len,
    struct engine_settings *ret_settings, struct hl_err *err) HL_MUST_CHECK;

#endif
