/*
 * The score of a policy against a level: each row that it is the sum of.
 */
#ifndef HL_LAUNCHER_POLICY_SCORE_H
#define HL_LAUNCHER_POLICY_SCORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "policy/policy.h"

struct policy_score_row {
	const char *key;
	unsigned weight;
	bool is_met;
};

struct policy_score {
	struct policy_score_row rows[POLICY_FIELD_MAX + 1];
	size_t len;
	unsigned met, total;
};

int policy_score(const struct policy *policy, const struct policy *level,
    struct policy_score *ret_score, struct hl_err *err) HL_MUST_CHECK;
void policy_score_put(const struct policy_score *score, struct hl_buf *out);
void policy_score_put_json(const struct policy_score *score, struct hl_json *json);

#endif
