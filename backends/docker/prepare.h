/*
 * docker, files on this host: private to backends/docker.
 */
#ifndef HL_BACKENDS_DOCKER_PREPARE_H
#define HL_BACKENDS_DOCKER_PREPARE_H

#include "backends/backends.h"

int docker_prepare(const struct plan *plan, struct hl_err *err) HL_MUST_CHECK;
/* Below the state directory, 0700. */
int docker_make_dir(const struct plan *plan, const char *name, struct hl_err *err) HL_MUST_CHECK;
/* Whole or not at all; nothing is done when the content is there already, with the mode. */
int docker_write_file(const char *path, const char *content, size_t len, mode_t mode,
    struct hl_err *err) HL_MUST_CHECK;

/* endpoints.c: for engine_endpoints(). */
int docker_remember_endpoint(const struct plan *plan, struct hl_err *err) HL_MUST_CHECK;
/* The endpoint, and the client by which it is reached, as one text: heap. And back, into the
 * members of a plan that it has; they point into the text, which is changed. */
char *docker_endpoint_text(const struct plan *plan) HL_MUST_CHECK;
void docker_endpoint_take(char *text, struct plan *plan);

/* readback.c: bits of enum plan_limit whose value the kernel has, for a process of this host in the
 * container. A limit that cannot be looked at from here is taken to be as the engine says; one that
 * differs is an error. */
int docker_read_back(const struct plan *plan, uint32_t wanted, uint32_t pid, const char *container,
    struct hl_err *err) HL_MUST_CHECK;

/* Where the kernel counts what it killed for the container's memory limit, heap; NULL = not to be
 * known. */
char *docker_oom_file(uint32_t pid, const char *container) HL_MUST_CHECK;
/* Whether it has killed; while there is a process in the container. NULL allowed. */
bool docker_oom_happened(const char *path);

/* probe.c */
int docker_probe(const struct plan *plan, struct control_gaps *ret_gaps,
    struct hl_err *err) HL_MUST_CHECK;
/* Which limit a text of the engine's is about: bits of enum plan_limit, 0 = none. */
uint32_t docker_limits_named(const char *text);

#endif
