/*
 * policy check: everything wrong with policy files, for a person, a program, or the annotations of
 * a continuous integration service.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/launcher.h"

#include "base/banned.h"

/* One run of the verb. */
struct check {
	const struct request *request;
	struct host host;
	size_t shown; /* findings so far, of all files together */
	size_t errors, warnings;
	int status; /* of what is not a finding */
};

static const char *
severity_word(const struct policy_finding *finding)
{
	static const char *const words
	    [] = { [POLICY_NOTE] = "note", [POLICY_WARNING] = "warning", [POLICY_ERROR] = "error" };

	return words[finding->severity];
}

static void
put_place(struct hl_json *json, const struct hl_where *where)
{
	hl_json_key(json, "file");
	hl_json_string(json, where->file);
	hl_json_key(json, "line");
	hl_json_u64(json, where->line);
	hl_json_key(json, "column");
	hl_json_u64(json, where->column);
}

/* One object per finding and line. */
static void
put_json(struct hl_buf *out, const struct policy_finding *finding)
{
	struct hl_json json;

	hl_json_init(&json, out);
	hl_json_object(&json);
	hl_json_key(&json, "severity");
	hl_json_string(&json, severity_word(finding));
	hl_json_key(&json, "code");
	hl_json_string(&json, hl_code_info(finding->code)->id);
	put_place(&json, &finding->where);
	hl_json_key(&json, "width");
	hl_json_u64(&json, finding->width);
	hl_json_key(&json, "message");
	hl_json_string(&json, finding->message);
	hl_json_key(&json, "help");
	hl_json_string(&json, finding->help);
	if (finding->other.file != NULL) {
		hl_json_key(&json, "other");
		hl_json_object(&json);
		put_place(&json, &finding->other);
		hl_json_key(&json, "message");
		hl_json_string(&json, finding->other_text);
		hl_json_end_object(&json);
	}
	hl_json_end_object(&json);
	hl_buf_putc(out, '\n');
}

/* A workflow command ends at the line's end, and its properties at a comma or a colon. */
static void
put_escaped(struct hl_buf *out, const char *text, bool is_property)
{
	for (; *text != '\0'; text++) {
		if (strchr("%\r\n", *text) != NULL || (is_property && strchr(":,", *text) != NULL))
			hl_buf_putf(out, "%%%02X", (unsigned)(unsigned char)*text);
		else
			hl_buf_putc(out, *text);
	}
}

/* ::error file=F,line=L,col=C,endColumn=E,title=T::MESSAGE */
static void
put_github(struct hl_buf *out, const struct policy_finding *finding)
{
	static const char *const commands[] = { [POLICY_NOTE] = "notice",
		[POLICY_WARNING] = "warning",
		[POLICY_ERROR] = "error" };
	const struct hl_code_info *info = hl_code_info(finding->code);

	hl_buf_putf(out, "::%s file=", commands[finding->severity]);
	put_escaped(out, finding->where.file != NULL ? finding->where.file : "", true);
	if (finding->where.line > 0)
		hl_buf_putf(out, ",line=%u,col=%u", finding->where.line, finding->where.column);
	if (finding->where.line > 0 && finding->width > 0)
		hl_buf_putf(out, ",endColumn=%u", finding->where.column + finding->width);
	hl_buf_putf(out, ",title=%s %s::", info->id, info->name);
	put_escaped(out, finding->message != NULL ? finding->message : "out of memory", false);
	if (finding->other.file != NULL) {
		hl_buf_puts(out, "%0A");
		put_escaped(out, finding->other_text != NULL ? finding->other_text : "", false);
		hl_buf_puts(out, ": ");
		put_escaped(out, finding->other.file, false);
		hl_buf_putf(out, ":%u:%u", finding->other.line, finding->other.column);
	}
	if (finding->help != NULL) {
		hl_buf_puts(out, "%0A");
		put_escaped(out, finding->help, false);
	}
	hl_buf_putc(out, '\n');
}

/* What is no finding in a file: no file, no memory. */
static void
keep_failure(struct check *check, const struct hl_err *err, bool is_told)
{
	int status = is_told ? hl_code_info(err->code)->exit_status : verb_fail(err);

	if (check->status == 0)
		check->status = status;
}

static void
print_lines(struct check *check, const struct policy_findings *findings,
    void (*put)(struct hl_buf *, const struct policy_finding *))
{
	struct hl_err err;

	for (size_t i = 0; i < findings->len; i++) {
		struct hl_buf out;
		hl_buf_init(&out, 1U << 20);
		put(&out, &findings->items[i]);
		if (verb_answer(&out, &err) == 0)
			continue;
		keep_failure(check, &err, false);
		return;
	}
}

/* As many as are left of what one run shows; all are counted. */
static void
tell(struct check *check, struct policy_findings *findings)
{
	size_t len = findings->len, left = POLICY_FINDINGS_MAX - check->shown;

	if (findings->len > left) {
		findings->len = left;
		findings->is_cut = true;
	}
	if (check->request->format == FORMAT_JSON)
		print_lines(check, findings, put_json);
	else if (check->request->format == FORMAT_GITHUB)
		print_lines(check, findings, put_github);
	else
		report_findings(findings, check->request);
	check->shown += findings->len;
	findings->len = len;
	check->errors += findings->errors;
	check->warnings += findings->warnings;
}

static void
check_within(struct check *check, const struct request_items *files)
{
	static struct request_items outer_file;
	struct policy *inner = NULL, *outer = NULL;
	struct policy_findings findings, ignored;
	struct hl_err err = { 0 };

	outer_file.items[0].text = check->request->within;
	outer_file.len = 1;
	int status = load_policy_fragment(&outer_file, &check->host, &outer, &findings, &err);
	if (status != 0) {
		/* There is nothing to compare with; what is wrong with it is told. */
		tell(check, &findings);
		keep_failure(check, &err, findings.errors > 0);
	} else {
		status = load_policy_fragment(files, &check->host, &inner, &ignored, &err);
		if (status == 0)
			status = policy_within(inner, outer, files->items[files->len - 1].text,
			    &findings, &err);
		policy_findings_done(&ignored);
		/* The outer file's own warnings are no answer to the question. */
		if (status == 0)
			tell(check, &findings);
		else
			keep_failure(check, &err, false);
	}
	policy_findings_done(&findings);
	policy_free(inner);
	policy_free(outer);
}

/* One stack: the host layer and these. */
static void
check_stack(struct check *check, const struct request_items *files)
{
	const struct request *request = check->request;
	struct policy *policy = NULL;
	struct policy_findings findings;
	struct hl_err err = { 0 };
	size_t errors = check->errors;

	int loaded = load_policy_draft(files, &check->host, &policy, &findings, &err);
	size_t warnings = findings.warnings;
	tell(check, &findings);
	if (loaded != 0 && findings.errors == 0)
		keep_failure(check, &err, false);
	else if (findings.errors > 0 && err.code == HLU_02)
		keep_failure(check, &err, true); /* there is nothing to judge */
	policy_findings_done(&findings);
	policy_free(policy);
	if (loaded == 0 && request->within != NULL)
		check_within(check, files);
	if (loaded == 0 && check->errors == errors && request->format == FORMAT_TEXT &&
	    !request->is_quiet)
		printf("%s%s: ok (%zu warnings)\n", files->items[files->len - 1].text,
		    files->len > 1 ? " and what is below it" : "", warnings);
}

static int
begin(struct check *check, struct request_items *files, struct hl_err *err)
{
	const struct request *request = check->request;

	if (request->argv_len == 0) {
		hl_err_set(err, HLU_01, "no policy file is given");
		return hl_err_help(err, "hermes-launch policy check FILE...");
	}
	if (request->fail_on != NULL && strcmp(request->fail_on, "warning") != 0) {
		hl_err_set(err, HLU_01, "--fail-on knows no '%.40s'", request->fail_on);
		return hl_err_help(err, "errors always fail; write --fail-on warning");
	}
	if (request_operands(request, files, err) != 0)
		return -1;
	return host_facts(request, &check->host, err);
}

int
verb_policy_check(const struct request *request)
{
	HL_AUTO_FREE struct request_items *files = calloc(1, sizeof(*files));
	struct check check = { .request = request };
	struct hl_err err = { 0 };

	int begun = files == NULL ? hl_err_oom(&err) : begin(&check, files, &err);
	if (begun != 0)
		return verb_fail(&err);
	size_t alone = request->is_stack ? 0 : files->len;
	if (request->is_stack)
		check_stack(&check, files);
	files->len = 1;
	for (size_t i = 0; i < alone; i++) {
		files->items[0] = files->items[i];
		check_stack(&check, files);
	}
	if (check.status != 0)
		return check.status;
	if (check.errors > 0)
		return 1;
	return request->fail_on != NULL && check.warnings > 0 ? 2 : 0;
}
