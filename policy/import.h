/*
 * Making a policy from hermes-agent's settings. Private to policy/; the door is
 * policy_import_hermes().
 *
 *  1. import_yaml.c reads config.yaml into nodes. It is not ours: it may hold anchors, tags and
 * texts of many lines where nothing of interest is, and those are let be.
 *  2. import.c finds for each row of import.def what is given, by the file or by a variable, and
 * hands it to the row's converter (import_values.c, import_lists.c), which sets the value of a
 * field or leaves a note.
 *  3. import_write.c prints the fields, and what is printed is loaded once as a policy.
 */
#ifndef HL_POLICY_IMPORT_H
#define HL_POLICY_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "policy/arena.h"
#include "policy/layer.h"
#include "policy/node.h"
#include "policy/policy.h"
#include "policy/state.h"

struct import;
struct import_value;

enum import_section {
	IMPORT_terminal,
	IMPORT_proxy,
	IMPORT_SECTION_MAX
};

enum import_backend_id {
#define IMPORT_BACKEND(symbol, ...) IMPORT_##symbol,
#include "policy/import.def"
	IMPORT_BACKEND_MAX
};

/* Whom a setting is about. */
enum {
	IMPORT_FOR_LOCAL = 1U << IMPORT_LOCAL,
	IMPORT_FOR_DOCKER = 1U << IMPORT_DOCKER,
	IMPORT_FOR_SINGULARITY = 1U << IMPORT_SINGULARITY,
	IMPORT_FOR_SSH = 1U << IMPORT_SSH,
	IMPORT_FOR_MODAL = 1U << IMPORT_MODAL,
	IMPORT_FOR_DAYTONA = 1U << IMPORT_DAYTONA,
	IMPORT_FOR_VERCEL = 1U << IMPORT_VERCEL,
	IMPORT_FOR_ANY = (1U << IMPORT_BACKEND_MAX) - 1,
	IMPORT_FOR_CONTAINER = IMPORT_FOR_ANY & ~(unsigned)(IMPORT_FOR_LOCAL | IMPORT_FOR_SSH),
};

/* How a value becomes ours; NOTHING: it does not. */
enum import_convert {
	IMPORT_NOTHING,
	IMPORT_BACKEND,
	IMPORT_WALL,
	IMPORT_WALL_MAX,
	IMPORT_MEGABYTES,
	IMPORT_DOCKER_SIZE,
	IMPORT_CPUS,
	IMPORT_IMAGE,
	IMPORT_HOST_USER,
	IMPORT_NETWORK,
	IMPORT_PROXY,
	IMPORT_HOME,
	IMPORT_CWD,
	IMPORT_WORKSPACE,
	IMPORT_NAMES,
	IMPORT_VARIABLES,
	IMPORT_VOLUMES,
	IMPORT_ENGINE_ARGS,
	IMPORT_CONVERT_MAX
};

/* Texts and no pointers: see struct hl_code_info. */
struct import_backend {
	char word[16], ours[12], level[12];
	char note[200];
};

struct import_setting {
	enum import_section section;
	char key[32], variable[48];
	unsigned scope;
	enum import_convert convert;
	enum policy_field field; /* POLICY_FIELD_MAX: none */
	char fallback[56];
	char note[128];
};

extern const struct import_setting import_settings[];
extern const size_t import_settings_len;
extern const struct import_backend import_backends[IMPORT_BACKEND_MAX];

/* What is given for a row: never NULL, never empty. */
struct import_value {
	const struct node *node;
	const char *from; /* "terminal.docker_image", "TERMINAL_DOCKER_IMAGE" */
	const char *file; /* of a place, or NULL */
};

struct import {
	struct policy_arena arena;
	const struct policy_import_source *source;
	struct policy_import *out;
	struct hl_err *err;
	const struct node *sections[IMPORT_SECTION_MAX]; /* mappings, or NULL */
	enum import_backend_id backend;
	/* Texts of values as a policy has them; NULL: not said. */
	const char *values[POLICY_FIELD_MAX];
	uint64_t wall, wall_max; /* milliseconds */
	uint64_t network;        /* rank in network.mode, strict first */
	bool has_network;
	bool has_workspace_mount;
	bool is_workspace; /* the working directory is to be at /workspace */
	const char *workdir;
	struct hl_strv pass;
	struct policy_items mounts;
	struct hl_buf defaults; /* names of the fields that have hermes-agent's default */
};

/* One document, whatever else is in it. NULL in *ret_root: it is empty. */
int import_yaml_read(struct policy_arena *arena, const struct policy_text *text,
    const struct node **ret_root, struct hl_err *err) HL_MUST_CHECK;

/* "FROM: TEXT"; texts are made printable by whoever prints them. Never a value. */
void import_note(struct import *im, const char *from, const char *format, ...) HL_PRINTF(3, 4);
/* HLU-41 at the value's place. */
int import_refuse(struct import *im, const struct import_value *value, const char *format, ...)
    HL_PRINTF(3, 4);
const char *import_keep(struct import *im, const char *text);
/* The text of a scalar. -1: it is none, or has a line end in it. */
int import_text(struct import *im, const struct import_value *value,
    const char **ret_text) HL_MUST_CHECK;
/* hermes-agent's own reading: true, 1 and yes in any case, and YAML's own truth values. */
int import_flag(struct import *im, const struct import_value *value, bool *ret_flag) HL_MUST_CHECK;
/* A list or mapping, perhaps written as JSON in a text. */
int import_collection(struct import *im, const struct import_value *value, enum node_kind kind,
    const struct node **ret_node) HL_MUST_CHECK;

#define IMPORT_CONVERT(name)                                            \
 int import_##name(struct import *im, const struct import_setting *row, \
     const struct import_value *value) HL_MUST_CHECK

IMPORT_CONVERT(BACKEND);
IMPORT_CONVERT(WALL);
IMPORT_CONVERT(WALL_MAX);
IMPORT_CONVERT(MEGABYTES);
IMPORT_CONVERT(DOCKER_SIZE);
IMPORT_CONVERT(CPUS);
IMPORT_CONVERT(IMAGE);
IMPORT_CONVERT(HOST_USER);
IMPORT_CONVERT(NETWORK);
IMPORT_CONVERT(PROXY);
IMPORT_CONVERT(HOME);
IMPORT_CONVERT(CWD);
IMPORT_CONVERT(WORKSPACE);
IMPORT_CONVERT(NAMES);
IMPORT_CONVERT(VARIABLES);
IMPORT_CONVERT(VOLUMES);
IMPORT_CONVERT(ENGINE_ARGS);

/* import_write.c */
int import_write(struct import *im) HL_MUST_CHECK;

#endif
