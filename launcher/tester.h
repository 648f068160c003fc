/*
 * What one run of policy test counts and prints. Private to launcher/.
 */
#ifndef HL_LAUNCHER_TESTER_H
#define HL_LAUNCHER_TESTER_H

#include "launcher/trial.h"

enum {
	TESTER_OUT_MAX = 16 << 20
};

struct tester {
	const struct request *request;
	struct host host;
	char root[48], workdir[64], state[64]; /* empty, and gone afterwards */
	struct coverage coverage;
	size_t count, failed;
	int status;        /* of what is no answer of a test */
	struct hl_buf out; /* all of it: JUnit begins with the sums */
};

/* Of one test. What is told of it may have found no room; whether it failed does not hang on that.
 */
struct verdict {
	size_t unmet;
	struct hl_buf why;
};

void verdict_init(struct verdict *verdict);
void verdict_done(struct verdict *verdict);
/* Adds, in the form of the format, that an expectation is not met. expectation NULL: none. */
void tester_why(const struct tester *tester, const struct policy_expectation *expectation,
    const char *message, struct verdict *verdict);
/* One test has ended; it failed when something is not met. What could not be told of it fails all
 * of the answer. */
void tester_case(struct tester *tester, const char *file, const char *name,
    const struct verdict *verdict);
/* Prints everything. */
int tester_finish(struct tester *tester, struct hl_err *err) HL_MUST_CHECK;

#endif
