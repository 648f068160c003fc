/*
 * What doctor found, shared by doctor.c (the looking) and doctor_tell.c (the telling). Private to
 * launcher/.
 */
#ifndef HL_LAUNCHER_DOCTOR_H
#define HL_LAUNCHER_DOCTOR_H

#include <stdio.h>

#include "launcher/run.h"

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_GAP,    /* cannot be enforced here */
	DOCTOR_ABSENT, /* not there, and nobody may miss it */
};

struct doctor_row {
	const char *check;
	enum doctor_state state;
	bool is_needed; /* the policy that was named cannot be run without it */
	char detail[256];
	const char *mend; /* a command, or NULL */
};

enum {
	DOCTOR_ROWS_MAX = 48
};

struct doctor {
	struct doctor_row rows[DOCTOR_ROWS_MAX];
	size_t len;
};

struct doctor_row *doctor_add(struct doctor *doctor, const char *check, enum doctor_state state);
/* doctor_rootless.c: what an ordinary caller's podman needs. */
void doctor_look_at_rootless(struct doctor *doctor, const struct host *host);
int doctor_tell(const struct doctor *doctor, bool is_json, struct hl_err *err) HL_MUST_CHECK;

#endif
