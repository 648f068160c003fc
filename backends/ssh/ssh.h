/*
 * ssh: what the rest of backends/ knows of it, which is its options so far. The backend itself is
 * not there yet: its options are judged wherever a policy is asked or tested.
 */
#ifndef HL_BACKENDS_SSH_H
#define HL_BACKENDS_SSH_H

#include "backends/backends.h"

/* engine_args_parse() (backends.h) for ssh(1). */
int ssh_args_parse(const struct engine_arg *args, size_t len, struct engine_settings *ret_settings,
    struct hl_err *err) HL_MUST_CHECK;

#endif
