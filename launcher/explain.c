/*
 * explain: goes the way of a run up to the point where something would start, and prints what it
 * found. It writes nothing, neither to the ledger nor to the state directory.
 */
#include "launcher/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "launcher/plan_parts.h"

#include "base/banned.h"

struct explanation {
	struct host host;
	struct policy *policy;
	struct conflicts conflicts;
	struct plan plan;
	struct lowered lowered;
	struct control_gaps gaps;
	struct plan_notes notes;
	const struct backend *backend;
};

int
conflicts_try(struct policy *policy, const struct request *request, struct conflicts *ret_conflicts,
    struct hl_err *err)
{
	if (conflicts_judge(policy, request, ret_conflicts, err) != 0)
		return -1;
	for (size_t i = 0; i < ret_conflicts->len; i++)
		report_conflict(&ret_conflicts->items[i]);
	const struct conflict *refusal = conflicts_refusal(ret_conflicts);
	if (refusal == NULL)
		return 0;
	return hl_err_set(err, refusal->code, "run would be refused, and nothing started");
}

static int
settle_policy(struct explanation *explanation, const struct request *request, struct hl_err *err)
{
	struct policy_findings findings;

	int rc = load_policy(&request->policies, &explanation->host, &explanation->policy,
	    &findings, err);
	report_findings(&findings, request);
	policy_findings_done(&findings);
	return rc != 0 ? -1
		       : conflicts_try(explanation->policy, request, &explanation->conflicts, err);
}

static int
settle_plan(struct explanation *explanation, const struct request *request, struct hl_err *err)
{
	const struct plan_input input = {
		.policy = explanation->policy,
		.request = request,
		.conflicts = &explanation->conflicts,
		.host = &explanation->host,
	};
	struct plan *plan = &explanation->plan;

	if (plan_build(&input, plan, err) != 0 ||
	    plan_notes(explanation->policy, &explanation->host, plan, &explanation->notes, err) !=
		0)
		return -1;
	explanation->backend = backend_find(plan->backend, err);
	if (explanation->backend == NULL ||
	    explanation->backend->lower(plan, &explanation->lowered, err) != 0)
		return -1;
	/* An engine that is not there now does not make the plan untrue. */
	struct hl_err unknown = { 0 };
	if (explanation->backend->probe(plan, &explanation->gaps, &unknown) != 0) {
		explanation->gaps.len = 0;
		report_note("note: what this host can apply is not known: %s", unknown.msg);
	}
	for (size_t i = 0; i < explanation->gaps.len; i++) {
		const struct control_gap *gap = &explanation->gaps.items[i];
		if (!gap->may_degrade && plan_is_enforced(explanation->policy))
			report_note(
			    "note: run would be refused here: %s cannot be applied: %s [%s]",
			    control_info(gap->control)->name, gap->reason,
			    hl_code_info(HLD_01)->id);
	}
	return 0;
}

static int
render(const struct explain *explain, struct hl_buf *out, struct hl_err *err)
{
	const struct hl_strv *argv = &explain->lowered->argv;

	switch (explain->request->format) {
	case FORMAT_TEXT:
		explain_plan_text(explain, out);
		explain_controls_text(explain, out);
		break;
	case FORMAT_JSON:
		explain_json(explain, out);
		break;
	case FORMAT_ARGV:
		if (argv->len == 0)
			return hl_err_set(err, HLU_01,
			    "backend %s has no command line of an engine: use --format text or json",
			    explain->plan->backend);
		for (size_t i = 0; i < argv->len; i++)
			hl_buf_putf(out, "%s\n", argv->v[i]);
		break;
	case FORMAT_GITHUB:
	case FORMAT_TAP:
	case FORMAT_JUNIT:
		return hl_err_set(err, HLI_02, "explain has no such format");
	}
	return hl_buf_check(out, "explain", err);
}

static int
print(const struct explanation *explanation, const struct request *request, struct hl_err *err)
{
	const struct explain explain = {
		.policy = explanation->policy,
		.request = request,
		.plan = &explanation->plan,
		.backend = explanation->backend,
		.lowered = &explanation->lowered,
		.gaps = &explanation->gaps,
		.notes = &explanation->notes,
	};
	HL_AUTO(hl_buf_done_secret) struct hl_buf out;

	hl_buf_init(&out, EXPLAIN_MAX);
	if (render(&explain, &out, err) != 0)
		return -1;
	if (hl_write_full(STDOUT_FILENO, out.data, out.len) != 0)
		return hl_err_sys(err, HLU_02, "cannot write the answer");
	return 0;
}

int
verb_explain(const struct request *request)
{
	static struct explanation explanation; /* its conflicts are too large for a stack */
	struct hl_err err = { 0 };

	lowered_init(&explanation.lowered);
	int rc = host_facts(request, &explanation.host, &err);
	if (rc == 0)
		rc = settle_policy(&explanation, request, &err);
	if (rc == 0)
		rc = settle_plan(&explanation, request, &err);
	if (rc == 0)
		rc = print(&explanation, request, &err);
	if (rc != 0)
		report_error(&err);
	plan_notes_done(&explanation.notes);
	lowered_done(&explanation.lowered);
	plan_done(&explanation.plan);
	conflicts_done(&explanation.conflicts);
	policy_free(explanation.policy);
	return rc == 0 ? 0 : hl_code_info(err.code)->exit_status;
}
