/*
 * policy diff and policy meets: two policies against each other. Both leave the layer of this host
 * out, because they are about the files.
 */
#include <stdio.h>
#include <string.h>

#include "launcher/launcher.h"
#include "launcher/policy_score.h"

#include "base/banned.h"

static const char *const relation_words[] = {
	[POLICY_RELATION_SAME] = "same",
	[POLICY_RELATION_TIGHTER] = "tighter",
	[POLICY_RELATION_LOOSER] = "looser",
	[POLICY_RELATION_MOVED] = "moved",
};

static void
put_where(struct hl_buf *out, const char *name, const struct hl_origin *origin)
{
	if (origin->layer == NULL)
		return;
	hl_buf_putf(out, "           %s  ", name);
	if (origin->where.file == NULL)
		hl_buf_puts(out, origin->layer);
	else
		hl_buf_printable(out, origin->where.file, strlen(origin->where.file));
	if (origin->where.line > 0)
		hl_buf_putf(out, ":%u:%u", origin->where.line, origin->where.column);
	hl_buf_putc(out, '\n');
}

static void
put_text(struct hl_buf *out, const struct policy_difference *difference)
{
	hl_buf_putf(out, "%-9s  %s: ", relation_words[difference->relation], difference->what);
	hl_buf_printable(out, difference->old_text, strlen(difference->old_text));
	hl_buf_puts(out, " -> ");
	hl_buf_printable(out, difference->new_text, strlen(difference->new_text));
	hl_buf_putc(out, '\n');
	put_where(out, "old", &difference->old_origin);
	put_where(out, "new", &difference->new_origin);
}

static void
put_side(struct hl_json *json, const char *name, const char *text, const struct hl_origin *origin)
{
	hl_json_key(json, name);
	hl_json_object(json);
	hl_json_key(json, "value");
	hl_json_string(json, text);
	hl_json_key(json, "layer");
	hl_json_string(json, origin->layer);
	hl_json_key(json, "file");
	hl_json_string(json, origin->where.file);
	hl_json_key(json, "line");
	hl_json_u64(json, origin->where.line);
	hl_json_key(json, "column");
	hl_json_u64(json, origin->where.column);
	hl_json_end_object(json);
}

static void
put_json(struct hl_buf *out, const struct policy_difference *difference)
{
	struct hl_json json;

	hl_json_init(&json, out);
	hl_json_object(&json);
	hl_json_key(&json, "key");
	hl_json_string(&json, difference->what);
	hl_json_key(&json, "relation");
	hl_json_string(&json, relation_words[difference->relation]);
	put_side(&json, "old", difference->old_text, &difference->old_origin);
	put_side(&json, "new", difference->new_text, &difference->new_origin);
	hl_json_end_object(&json);
	hl_buf_putc(out, '\n');
}

/* 0: read. Otherwise the exit status; all is told. */
static int
load_one(const struct request *request, const struct host *host, const char *name,
    struct policy **ret_policy)
{
	static struct request_items file;
	struct policy_findings findings;
	struct hl_err err = { 0 };

	file.items[0] = (struct request_item){ .text = name };
	file.len = 1;
	int loaded = load_policy_fragment(&file, host, ret_policy, &findings, &err);
	if (loaded != 0)
		report_findings(&findings, request);
	bool is_told = findings.errors > 0;
	policy_findings_done(&findings);
	if (loaded == 0)
		return 0;
	return is_told ? hl_code_info(err.code)->exit_status : verb_fail(&err);
}

static int
print_differences(const struct policy_differences *differences, bool is_json, struct hl_err *err)
{
	struct hl_buf out;

	hl_buf_init(&out, 1U << 20);
	for (size_t i = 0; i < differences->len; i++)
		(is_json ? put_json : put_text)(&out, &differences->items[i]);
	return verb_answer(&out, err);
}

/* 1 when something is allowed by the new policy that the old one did not allow. */
int
verb_policy_diff(const struct request *request)
{
	static struct policy_differences differences;
	struct policy *old = NULL, *new = NULL;
	struct host host;
	struct hl_err err = { 0 };

	if (request->argv_len != 2) {
		hl_err_set(&err, HLU_01, "two policies are needed to compare them");
		hl_err_help(&err, "hermes-launch policy diff OLD NEW");
		return verb_fail(&err);
	}
	if (host_facts(request, &host, &err) != 0)
		return verb_fail(&err);
	int status = load_one(request, &host, request->argv[0], &old);
	if (status == 0)
		status = load_one(request, &host, request->argv[1], &new);
	if (status == 0 &&
	    (policy_compare(old, new, &differences, &err) != 0 ||
		print_differences(&differences, request->format == FORMAT_JSON, &err) != 0))
		status = verb_fail(&err);
	policy_free(old);
	policy_free(new);
	if (status != 0)
		return status;
	return differences.looser + differences.moved > 0 ? 1 : 0;
}

/* ------------------------------------------------------------------------------------------------
 * meets
 */

static void
put_gap(struct hl_json *json, const struct policy_finding *finding)
{
	hl_json_object(json);
	hl_json_key(json, "file");
	hl_json_string(json, finding->where.file);
	hl_json_key(json, "line");
	hl_json_u64(json, finding->where.line);
	hl_json_key(json, "column");
	hl_json_u64(json, finding->where.column);
	hl_json_key(json, "message");
	hl_json_string(json, finding->message);
	hl_json_end_object(json);
}

/* What one file of the verb came to. */
struct meeting {
	const char *file;
	const struct policy_findings *gaps;
	const struct policy_score *score; /* NULL: not asked for */
};

/* {"file":...,"level":...,"meets":...,"gaps":[...],"score":{...}} */
static void
put_meeting(struct hl_buf *out, const char *level, const struct meeting *meeting)
{
	struct hl_json json;

	hl_json_init(&json, out);
	hl_json_object(&json);
	hl_json_key(&json, "file");
	hl_json_string(&json, meeting->file);
	hl_json_key(&json, "level");
	hl_json_string(&json, level);
	hl_json_key(&json, "meets");
	hl_json_bool(&json, meeting->gaps->errors == 0);
	hl_json_key(&json, "gaps");
	hl_json_array(&json);
	for (size_t i = 0; i < meeting->gaps->len; i++)
		put_gap(&json, &meeting->gaps->items[i]);
	hl_json_end_array(&json);
	if (meeting->score != NULL) {
		hl_json_key(&json, "score");
		policy_score_put_json(meeting->score, &json);
	}
	hl_json_end_object(&json);
	hl_buf_putc(out, '\n');
}

static int
print_meets(const struct request *request, const struct meeting *meeting, struct hl_err *err)
{
	struct hl_buf out;

	hl_buf_init(&out, 1U << 20);
	if (request->format == FORMAT_JSON) {
		put_meeting(&out, request->argv[0], meeting);
		return verb_answer(&out, err);
	}
	report_findings(meeting->gaps, request);
	hl_buf_putf(&out, "%s: %s %s (%zu gaps)\n", meeting->file,
	    meeting->gaps->errors == 0 ? "meets" : "does not meet", request->argv[0],
	    meeting->gaps->errors);
	if (meeting->score != NULL)
		policy_score_put(meeting->score, &out);
	return verb_answer(&out, err);
}

static int
meets_one(const struct request *request, const struct host *host, const struct policy *level,
    const char *file)
{
	static struct policy_score score;
	struct policy *policy = NULL;
	struct policy_findings gaps = { 0 };
	const struct meeting meeting = { file, &gaps, request->has_score ? &score : NULL };
	struct hl_err err = { 0 };
	int status = load_one(request, host, file, &policy);

	if (status != 0)
		return status;
	if (policy_within(policy, level, file, &gaps, &err) != 0 ||
	    policy_score(policy, level, &score, &err) != 0 ||
	    print_meets(request, &meeting, &err) != 0)
		status = verb_fail(&err);
	else
		status = gaps.errors > 0 ? 1 : 0;
	policy_findings_done(&gaps);
	policy_free(policy);
	return status;
}

int
verb_policy_meets(const struct request *request)
{
	struct policy *level = NULL;
	struct host host;
	struct hl_err err = { 0 };
	int status = 0;

	if (request->argv_len < 2) {
		hl_err_set(&err, HLU_01, "a level and a policy are needed");
		hl_err_help(&err, "hermes-launch policy meets restricted@1 FILE...");
		return verb_fail(&err);
	}
	if (policy_load_level(request->argv[0], &level, &err) != 0 ||
	    host_facts(request, &host, &err) != 0)
		return verb_fail(&err);
	for (size_t i = 1; i < request->argv_len; i++) {
		int one = meets_one(request, &host, level, request->argv[i]);
		if (one > status)
			status = one;
	}
	policy_free(level);
	return status;
}
