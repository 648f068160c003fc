/*
 * docker, lowering: private to backends/docker.
 */
#ifndef HL_BACKENDS_DOCKER_LOWER_H
#define HL_BACKENDS_DOCKER_LOWER_H

#include "backends/backends.h"

int docker_lower(const struct plan *plan, struct lowered *ret_lowered,
    struct hl_err *err) HL_MUST_CHECK;
enum control docker_limit_control(enum plan_limit limit);

#endif
