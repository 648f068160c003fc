/*
 * One answer of policy why, and the files that find it. Private to launcher/.
 */
#ifndef HL_LAUNCHER_WHY_H
#define HL_LAUNCHER_WHY_H

#include "launcher/launcher.h"

struct why {
	const struct request *request;
	const struct host *host;
	struct policy *policy;
	bool is_of_any_host; /* a path is asked about whether this host has it or not */
	/* The answer. */
	bool is_allowed;
	bool is_writable, is_of_host; /* of a path that is visible */
	char answer[256];             /* "passes", "is not visible" */
	char rule[300];               /* what decides, as the policy has it */
	char change[256];             /* what would change the answer, or empty */
	struct hl_origin origin;
	bool is_cut; /* not all of it could be held */
};

/* text becomes the answer. */
void why_say(struct why *why, bool is_allowed, const struct hl_origin *origin, const char *format,
    ...) HL_PRINTF(4, 5);
int why_env(struct why *why, const char *name, struct hl_err *err) HL_MUST_CHECK;
/* Where a path is inside is known only when the plan is made (why_path.c). */
int why_path(struct why *why, const char *path, struct hl_err *err) HL_MUST_CHECK;

#endif
