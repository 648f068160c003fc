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
/* docker.rootless: required. Why the engine is not, or cannot be told to be, one that runs without
 * root, and what to do then. false: it is, or need not be. */
struct docker_root_gap {
	const char *mend; /* static */
	char reason[200];
};
bool docker_root_gap(const struct plan *plan, struct docker_root_gap *ret_gap);
/* What can be done where it cannot make the container, where that is known. */
void docker_explain_rootless(const struct plan *plan, struct hl_err *err);
/* The value of a resource limit, no higher than may be. */
uint64_t docker_rlimit_within(const struct plan *plan, const char *name, uint64_t wanted);
struct docker_first {
	uint32_t pid; /* of the container's first process, as the engine tells; 0 = it does not */
	int stream;   /* to the runner */
	/* Set: why who the command is on this host cannot be seen; else "". */
	char unseen[SANDBOX_UNSEEN_SIZE];
};

/* Before the command is started, by this host's kernel: where a policy runs it as the caller, is
 * the container's first process the caller? Where docker.rootless is required, is nobody in the
 * container root here? Whoever listens at a socket may hand on to an engine of root's. What an
 * engine of this host has to tell and does not is refused. */
int docker_check_first(const struct plan *plan, struct docker_first *first,
    struct hl_err *err) HL_MUST_CHECK;

#endif
