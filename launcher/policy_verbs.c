/*
 * policy check, policy show.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/launcher.h"

#include "base/banned.h"

/* Loads the stack that run would load. */
int
load_policy(const struct request_items *files, const struct host *host, struct policy **ret_policy,
    struct policy_findings *findings, struct hl_err *err)
{
	static const char *names[REQUEST_ITEMS_MAX];

	for (size_t i = 0; i < files->len; i++)
		names[i] = files->items[i].text;
	struct policy_load_request load = {
		.files = names,
		.files_len = files->len,
		.host_dir = host_policy_dir(),
		.cwd = host->cwd,
		.caller = host->uid,
		.home = host->home,
	};
	int status = policy_load(&load, ret_policy, findings, err);
	/* The findings have told the place, and its name goes with them. */
	if (status != 0)
		err->where = (struct hl_where){ 0 };
	/* They are printed, and the first of them is not told twice. */
	if (status != 0 && findings->errors > 0)
		hl_err_set(err, err->code, "the policy is refused: %zu error%s", findings->errors,
		    findings->errors == 1 ? "" : "s");
	return status;
}

static int
fail(const struct hl_err *err)
{
	report_error(err);
	return hl_code_info(err->code)->exit_status;
}

/* JSON: one object per finding and line, for programs. */
static void
print_findings_json(const struct policy_findings *findings)
{
	static const char *const severities
	    [] = { [POLICY_NOTE] = "note", [POLICY_WARNING] = "warning", [POLICY_ERROR] = "error" };
	struct hl_buf out;
	struct hl_json json;

	hl_buf_init(&out, 1U << 20);
	for (size_t i = 0; i < findings->len; i++) {
		const struct policy_finding *finding = &findings->items[i];
		hl_json_init(&json, &out);
		hl_json_object(&json);
		hl_json_key(&json, "severity");
		hl_json_string(&json, severities[finding->severity]);
		hl_json_key(&json, "code");
		hl_json_string(&json, hl_code_info(finding->code)->id);
		hl_json_key(&json, "file");
		hl_json_string(&json, finding->where.file);
		hl_json_key(&json, "line");
		hl_json_u64(&json, finding->where.line);
		hl_json_key(&json, "column");
		hl_json_u64(&json, finding->where.column);
		hl_json_key(&json, "message");
		hl_json_string(&json, finding->message);
		hl_json_key(&json, "help");
		hl_json_string(&json, finding->help);
		hl_json_end_object(&json);
		hl_buf_putc(&out, '\n');
	}
	fwrite(out.data, 1, out.len, stdout);
	hl_buf_done(&out);
}

/* Each operand is checked as a stack of its own: host layer and that file. */
int
verb_policy_check(const struct request *request)
{
	int status = 0;
	struct hl_err err = { 0 };
	struct host host;

	if (request->argv_len == 0) {
		hl_err_set(&err, HLU_01, "no policy file is given");
		hl_err_help(&err, "hermes-launch policy check FILE...");
		return fail(&err);
	}
	if (host_facts(request, &host, &err) != 0)
		return fail(&err);
	for (size_t i = 0; i < request->argv_len; i++) {
		static struct request_items one;
		struct policy *policy = NULL;
		struct policy_findings findings;

		one.items[0] = (struct request_item){ .text = request->argv[i] };
		one.len = 1;
		int loaded = load_policy(&one, &host, &policy, &findings, &err);
		if (request->format == FORMAT_JSON)
			print_findings_json(&findings);
		else
			report_findings(&findings, request);
		if (loaded != 0 && findings.errors == 0)
			status = fail(&err);
		else if (findings.errors > 0 && err.code == HLU_02)
			status = hl_code_info(HLU_02)->exit_status; /* there is nothing to judge */
		else if (findings.errors > 0 && status == 0)
			status = 1;
		if (findings.errors == 0 && loaded == 0 && request->format == FORMAT_TEXT &&
		    !request->is_quiet)
			printf("%s: ok (%zu warnings)\n", request->argv[i], findings.warnings);
		policy_findings_done(&findings);
		policy_free(policy);
	}
	return status;
}

static int
show_level(const struct request *request)
{
	const char *text = policy_level_text(request->level);
	struct hl_err err;

	if (text == NULL) {
		hl_err_set(&err, HLU_01, "there is no level '%.60s'", request->level);
		hl_err_help(&err, "the levels are open@1, hermes@1, baseline@1 and restricted@1");
		return fail(&err);
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
	if (host_facts(request, &host, &err) != 0)
		return fail(&err);
	stack = request->policies;
	for (size_t i = 0; i < request->argv_len && stack.len < REQUEST_ITEMS_MAX; i++)
		stack.items[stack.len++] = (struct request_item){ .text = request->argv[i] };
	int loaded = load_policy(&stack, &host, &policy, &findings, &err);
	report_findings(&findings, request);
	bool has_findings = findings.errors > 0;
	policy_findings_done(&findings);
	if (loaded != 0)
		return has_findings ? hl_code_info(err.code)->exit_status : fail(&err);
	hl_buf_init(&out, 4U << 20);
	int status =
	    policy_show(policy, request->show_origins ? POLICY_SHOW_ORIGINS : 0, &out, &err);
	if (status == 0)
		fwrite(out.data, 1, out.len, stdout);
	hl_buf_done(&out);
	policy_free(policy);
	return status == 0 ? 0 : fail(&err);
}
