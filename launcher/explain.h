/*
 * What explain knows, shared by explain.c (text) and explain_json.c. Private to launcher/.
 */
#ifndef HL_LAUNCHER_EXPLAIN_H
#define HL_LAUNCHER_EXPLAIN_H

#include "launcher/launcher.h"

enum {
	EXPLAIN_MAX = 4 << 20
};

struct explain {
	const struct policy *policy;
	const struct request *request;
	const struct plan *plan;
	const struct backend *backend;
	const struct lowered *lowered;
	const struct control_gaps *gaps;
	const struct plan_notes *notes;
};

/* The plan and what it became; then the table of controls. Never a value of a variable. */
void explain_plan_text(const struct explain *explain, struct hl_buf *out);
void explain_controls_text(const struct explain *explain, struct hl_buf *out);
void explain_json(const struct explain *explain, struct hl_buf *out);

/* Shared by both forms. */
void explain_put_caps(struct hl_buf *out, uint64_t caps);
void explain_put_limit(struct hl_buf *out, enum plan_limit limit, const struct plan_number *number);
void explain_put_user(struct hl_buf *out, const struct plan *plan);
const char *explain_limit_name(enum plan_limit limit);
const char *explain_env_source(const struct policy *policy, const struct plan_env *env);
/* The value of a control's key as a policy would write it; names only of env.set. */
void explain_put_value(struct hl_buf *out, const struct policy *policy, enum policy_field field);

#endif
