/*
 * Loading the policies that verbs name, and policy show.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/launcher.h"

#include "base/banned.h"

/* Which files, and for whom; names holds the former. */
static struct policy_load_request
what_to_load(const struct request_items *files, const struct host *host,
    const char *names[REQUEST_ITEMS_MAX])
{
	for (size_t i = 0; i < files->len; i++)
		names[i] = files->items[i].text;
	return (struct policy_load_request){
		.files = names,
		.files_len = files->len,
		.cwd = host->cwd,
		.caller = host->uid,
		.home = host->home,
		.check_call = confine_syscall_check,
	};
}

static int
load(const struct policy_load_request *what, struct policy **ret_policy,
    struct policy_findings *findings, struct hl_err *err)
{
	int status = policy_load(what, ret_policy, findings, err);

	/* The findings have told the place, and its name goes with them. */
	if (status != 0)
		err->where = (struct hl_where){ 0 };
	/* They are printed, and the first of them is not told twice. */
	if (status != 0 && findings->errors > 0)
		hl_err_set(err, err->code, "the policy is refused: %zu error%s", findings->errors,
		    findings->errors == 1 ? "" : "s");
	return status;
}

int
load_policy_alone(const struct request_items *files, const struct host *host,
    struct policy **ret_policy, struct policy_findings *findings, struct hl_err *err)
{
	const char *names[REQUEST_ITEMS_MAX];
	struct policy_load_request what = what_to_load(files, host, names);

	return load(&what, ret_policy, findings, err);
}

int
load_policy_fragment(const struct request_items *files, const struct host *host,
    struct policy **ret_policy, struct policy_findings *findings, struct hl_err *err)
{
	const char *names[REQUEST_ITEMS_MAX];
	struct policy_load_request what = what_to_load(files, host, names);

	what.is_fragment = true;
	return load(&what, ret_policy, findings, err);
}

int
load_policy_draft(const struct request_items *files, const struct host *host,
    struct policy **ret_policy, struct policy_findings *findings, struct hl_err *err)
{
	const char *names[REQUEST_ITEMS_MAX];
	struct policy_load_request what = what_to_load(files, host, names);

	what.is_draft = true;
	what.host_dir = host_policy_dir();
	return load(&what, ret_policy, findings, err);
}

int
load_policy(const struct request_items *files, const struct host *host, struct policy **ret_policy,
    struct policy_findings *findings, struct hl_err *err)
{
	const char *names[REQUEST_ITEMS_MAX];
	struct policy_load_request what = what_to_load(files, host, names);

	what.host_dir = host_policy_dir();
	host_trust(host, &what);
	return load(&what, ret_policy, findings, err);
}

int
request_operands(const struct request *request, struct request_items *files, struct hl_err *err)
{
	if (request->argv_len > REQUEST_ITEMS_MAX - files->len)
		return hl_err_set(err, HLU_01, "more than %d files are given", REQUEST_ITEMS_MAX);
	for (size_t i = 0; i < request->argv_len; i++)
		files->items[files->len++] = (struct request_item){ .text = request->argv[i] };
	return 0;
}

int
verb_fail(const struct hl_err *err)
{
	report_error(err);
	return hl_code_info(err->code)->exit_status;
}

int
verb_answer(struct hl_buf *out, struct hl_err *err)
{
	int status = hl_buf_check(out, "answer", err);

	/* main() looks whether the stream took it. */
	if (status == 0)
		fwrite(out->data, 1, out->len, stdout);
	hl_buf_done_secret(out);
	return status;
}

static int
show_level(const struct request *request)
{
	const char *text = policy_level_text(request->level);
	struct hl_err err;

	if (text == NULL) {
		policy_level_unknown(request->level, &err);
		return verb_fail(&err);
	}
	fputs(text, stdout);
	return 0;
}

int
verb_policy_show(const struct request *request)
{
	static struct request_items stack;
	struct policy *policy = NULL;
	struct host host;
	struct policy_findings findings;
	struct hl_err err = { 0 };
	struct hl_buf out;

	if (request->level != NULL)
		return show_level(request);
	stack = request->policies;
	if (request_operands(request, &stack, &err) != 0 || host_facts(request, &host, &err) != 0)
		return verb_fail(&err);
	int loaded = load_policy(&stack, &host, &policy, &findings, &err);
	report_findings(&findings, request);
	bool has_findings = findings.errors > 0;
	policy_findings_done(&findings);
	if (loaded != 0)
		return has_findings ? hl_code_info(err.code)->exit_status : verb_fail(&err);
	hl_buf_init(&out, 4U << 20);
	int status =
	    policy_show(policy, request->show_origins ? POLICY_SHOW_ORIGINS : 0, &out, &err);
	if (status == 0)
		status = verb_answer(&out, &err);
	else
		hl_buf_done_secret(&out);
	policy_free(policy);
	return status == 0 ? 0 : verb_fail(&err);
}

int
verb_policy_schema(const struct request *request)
{
	struct hl_buf out;
	struct hl_err err = { 0 };

	(void)request;
	hl_buf_init(&out, 1U << 20);
	int status = policy_json_schema(&out, &err);
	if (status == 0)
		status = verb_answer(&out, &err);
	else
		hl_buf_done_secret(&out);
	return status == 0 ? 0 : verb_fail(&err);
}
