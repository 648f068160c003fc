/*
 * docker, engines that run without root. Private to backends/docker.
 */
#ifndef HL_BACKENDS_DOCKER_ROOTLESS_H
#define HL_BACKENDS_DOCKER_ROOTLESS_H

#include "backends/backends.h"

/* limits.pids is the resource limit, which counts what is in that namespace and nothing else. */
bool docker_pids_by_nproc(const struct plan *plan);
/* Why the engine cannot apply that limit whatever it is asked; NULL = it may. Static. */
const char *docker_rootless_lacks(const struct plan *plan, enum plan_limit limit);
/* What would give it the limit; NULL = nothing that is known. Static. */
const char *docker_rootless_mend(const struct plan *plan, enum plan_limit limit);
/* Adds to key what decides, beside the engine, which groups one gets that is started here. */
void docker_rootless_key(const struct plan *plan, struct hl_buf *key);
/* Why the engine cannot give the plan's network; NULL = it can. Static. */
const char *docker_rootless_refuses(const struct plan *plan);
/* What can be done where it cannot make the container, where that is known. */
void docker_explain_rootless(const struct plan *plan, struct hl_err *err);
/* The value of a resource limit, no higher than may be. */
uint64_t docker_rlimit_within(const struct plan *plan, const char *name, uint64_t wanted);
/* Where a policy runs the command as the caller: is the first process of the container that, as
 * this host's kernel says? Where it cannot be looked at from here the runner's own look counts. */
int docker_check_owner(const struct plan *plan, uint32_t pid, struct hl_err *err) HL_MUST_CHECK;

#endif
