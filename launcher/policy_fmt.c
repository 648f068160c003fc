/*
 * policy fmt: policies in their canonical form, on standard output; or whether they are in it.
 */
#include <stdio.h>
#include <string.h>

#include "launcher/launcher.h"

#include "base/banned.h"

/* Returns the exit status of one file. */
static int
format_one(const struct request *request, const struct host *host, const char *file)
{
	struct policy_findings findings;
	struct hl_buf out HL_AUTO(hl_buf_done_secret) = { 0 };
	struct hl_err err = { 0 };
	bool is_same = false;
	const struct policy_load_request what = {
		.files = &file,
		.files_len = 1,
		.cwd = host->cwd,
		.caller = host->uid,
	};

	hl_buf_init(&out, 2U << 20);
	int status = policy_format_file(&what, &out, &is_same, &findings, &err);
	bool is_told = findings.errors > 0;
	report_findings(&findings, request);
	policy_findings_done(&findings);
	if (status != 0)
		return is_told ? hl_code_info(err.code)->exit_status : verb_fail(&err);
	if (!request->is_check) {
		return verb_answer(&out, &err) == 0 ? 0 : verb_fail(&err);
	}
	if (!is_same)
		printf("%s\n", file);
	return is_same ? 0 : 1;
}

int
verb_policy_fmt(const struct request *request)
{
	struct host host;
	struct hl_err err = { 0 };
	int status = 0;

	if (request->argv_len == 0 || (request->argv_len > 1 && !request->is_check)) {
		hl_err_set(&err, HLU_01, "%s",
		    request->argv_len == 0 ? "no policy file is given"
					   : "one file at a time is printed");
		hl_err_help(&err, "hermes-launch policy fmt FILE, or policy fmt --check FILE...");
		return verb_fail(&err);
	}
	if (host_facts(request, &host, &err) != 0)
		return verb_fail(&err);
	for (size_t i = 0; i < request->argv_len; i++) {
		int one = format_one(request, &host, request->argv[i]);
		if (one > status)
			status = one;
	}
	return status;
}
