/*
 * docker, what start and probe share. Private to backends/docker.
 */
#ifndef HL_BACKENDS_DOCKER_START_H
#define HL_BACKENDS_DOCKER_START_H

#include "backends/backends.h"
#include "backends/docker/helper.h"
#include "backends/docker/settings.h"

extern const struct backend backend_docker, backend_podman;

enum {
	DOCKER_OWNER_SIZE = 128
};

/* owner.c: "pid:starttime:pidnamespace:bootid" of this process, which names it for as long as the
 * host is up; and what can be said of another's. */
enum docker_owner_state {
	DOCKER_OWNER_LIVES,
	DOCKER_OWNER_DEAD,
	DOCKER_OWNER_ELSEWHERE, /* of another pid namespace, another boot or another host */
	DOCKER_OWNER_MALFORMED,
};

void docker_owner(char owner[DOCKER_OWNER_SIZE]);
enum docker_owner_state docker_owner_look(const char *owner);
/* ":namespace:boot" of this process: the end of an owner that is here; ends in ":" when the boot
 * has no id. */
void docker_owner_here(char text[DOCKER_OWNER_SIZE]);

/* early.c: what plan->early is, with or without a launcher that keeps it. */
struct backend_early {
	struct docker_helper helper;
	struct docker_opened opened;
	bool is_open;
};

int docker_early_begin(const struct plan *plan, struct backend_early **ret_early,
    struct hl_err *err) HL_MUST_CHECK;
/* Which engine, and is the image there: asked once. */
int docker_early_open(struct backend_early *early, const struct plan *plan,
    struct hl_err *err) HL_MUST_CHECK;
void docker_early_end(struct backend_early *early);

/* Refuses an image whose user is or may be root where the plan does not allow it. */
int docker_judge_user(const struct plan *plan, const char *user, bool *ret_is_root,
    struct hl_err *err) HL_MUST_CHECK;
int docker_create(struct docker_helper *helper, const struct plan *plan,
    const struct docker_facts *facts, struct docker_created *ret_created,
    struct hl_err *err) HL_MUST_CHECK;

#endif
