/*
 * Singularity and apptainer: what the rest of backends/ knows of them, which is their options so
 * far. The backend itself is not there yet: its options are judged wherever a policy is asked or
 * tested, and by whatever the caller's environment says to the engine.
 */
#ifndef HL_BACKENDS_SINGULARITY_H
#define HL_BACKENDS_SINGULARITY_H

#include "backends/backends.h"

/* engine_args_parse() (backends.h) for `apptainer exec`. */
int singularity_args_parse(const struct engine_arg *args, size_t len,
    struct engine_settings *ret_settings, struct hl_err *err) HL_MUST_CHECK;
/* engine_variable_option() (backends.h). */
bool singularity_variable_option(const char *name, const char *value, size_t n,
    struct hl_buf *text);

#endif
