/*
 * docker, lowering: private to backends/docker.
 */
#ifndef HL_BACKENDS_DOCKER_LOWER_H
#define HL_BACKENDS_DOCKER_LOWER_H

#include "backends/backends.h"
#include "backends/docker/settings.h"

int docker_lower(const struct plan *plan, struct lowered *ret_lowered,
    struct hl_err *err) HL_MUST_CHECK;
/* expect.c: fills lowered->confinement with what can be said before an engine was asked. */
void docker_expect(const struct docker_settings *settings, const struct plan *plan,
    struct lowered *lowered);

/* What only start knows of it, and the payload of the LOCK frame. */
struct docker_call {
	const struct plan *plan;
	const struct lowered *lowered;
	const struct hl_strv *image_env;
	uint32_t limits; /* bits of enum plan_limit that the engine applies */
};

int docker_expect_call(const struct docker_call *call, struct hl_buf *out,
    struct hl_err *err) HL_MUST_CHECK;
enum control docker_limit_control(enum plan_limit limit);
/* A limit that the plan has, that this engine can apply, and that is not left out as a gap that may
 * degrade; else NULL. */
const struct plan_number *docker_limit_wanted(const struct plan *plan,
    const struct control_gaps *gaps, enum plan_limit limit);

#endif
