/*
 * One expectation of a test of policies held against a stack, for policy test. Private to
 * launcher/.
 */
#ifndef HL_LAUNCHER_TRIAL_H
#define HL_LAUNCHER_TRIAL_H

#include "launcher/launcher.h"

enum {
	TRIAL_CONTROLS_MAX = 128
};

/* What the expectations of all tests have touched. */
struct coverage {
	bool fields[POLICY_FIELD_MAX];     /* were expected or asked for */
	bool set[POLICY_FIELD_MAX];        /* are said by a policy that was tested */
	bool controls[TRIAL_CONTROLS_MAX]; /* rows of conflicts.def that were provoked */
};

struct trial {
	const struct host *host;     /* its working directory is where the names of files begin */
	const char *workdir;         /* of the command: an empty directory */
	struct policy *policy;       /* the stack, kept by policy_keep() */
	struct conflicts_kept *kept; /* of that policy */
	const struct policy_expectation *expectation;
	struct coverage *coverage;
	uint64_t *spent_us; /* adds the processor time of judging; or NULL */
};

/* 0: *ret_is_met, and message says what is not as expected. -1: it cannot be told. */
int trial_run(const struct trial *trial, bool *ret_is_met, char message[600],
    struct hl_err *err) HL_MUST_CHECK;
/* What a person calls it: "refuse --network=host", "bound limits.memory". */
void trial_name(const struct policy_expectation *expectation, struct hl_buf *out);

#endif
