/*
 * Arguments by the grammar of Go's pflag, which docker, podman and apptainer read their options
 * with.
 *
 * A long flag takes its value behind '=' or as the next argument, a short one also glued to it;
 * short flags chain; booleans take a value only behind '='; "--" ends the flags, and the first
 * operand would be the image. The grammar is followed to the letter, oddities included (in "-e="
 * the '=' is the value), because any difference would be a spelling that is judged as one thing and
 * that the engine takes as another. Whatever the engine would refuse, or would take for the image,
 * is an error.
 */
#ifndef HL_BACKENDS_PFLAG_H
#define HL_BACKENDS_PFLAG_H

#include "backends/backends.h"

/* What the grammar has to know of one option. */
struct pflag_option {
	const char *flag;    /* static, with its dashes: "--cap-add" */
	const char *control; /* static */
	enum engine_rule rule;
	bool is_bool;
	bool is_list; /* the engine takes one value apart at its commas */
	bool is_map;  /* of NAME=VALUE, taken apart there too where it has more than one '=' */
	bool is_repeatable;
};

/* By the long flag, len bytes of it, or where flag is NULL by its letter, which is not 0. false:
 * the engine has none such; there are no abbreviations. */
typedef bool pflag_find_fn(const char *flag, size_t len, char letter,
    struct pflag_option *ret_option);

/* engine_args_parse() (backends.h) by a table. ret_settings is ready for use, and the caller's to
 * free also on failure. */
int pflag_parse(pflag_find_fn *find, const struct engine_arg *args, size_t len,
    struct engine_settings *ret_settings, struct hl_err *err) HL_MUST_CHECK;

/* For grammars that read settings in another way: one more of them. Strings are copied where they
 * are not static; a value ends with the settings. */
int engine_settings_add(struct engine_settings *settings, const struct engine_setting *setting,
    struct hl_err *err) HL_MUST_CHECK;
/* An option in no table, which arg is or carries. */
int engine_settings_unknown(struct engine_settings *settings, const struct engine_arg *arg,
    const char *flag, const char *value, struct hl_err *err) HL_MUST_CHECK;
/* A copy that lives as long as the settings; "" when memory ended, which the vector knows. */
const char *engine_settings_keep(struct engine_settings *settings, const char *text, size_t len);

#endif
