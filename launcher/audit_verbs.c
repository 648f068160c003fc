/*
 * audit show, audit verify.
 */
#include <stdio.h>
#include <string.h>

#include "launcher/launcher.h"

#include "base/banned.h"

static int
print_line(const char *line, size_t len, void *context)
{
	bool *has_any = context;

	*has_any = true;
	return fwrite(line, 1, len, stdout) == len && putchar('\n') != EOF ? 0 : -1;
}

int
verb_audit_show(const struct request *request)
{
	struct hl_err err;
	bool has_any = false;
	const struct audit_view view = {
		.format = request->format == FORMAT_JSON ? AUDIT_JSON : AUDIT_TEXT,
		.run = request->run_id,
		.line = print_line,
		.context = &has_any,
	};

	if (audit_show(request->state_dir, &view, &err) != 0)
		return verb_fail(&err);
	if (view.run == NULL || has_any)
		return 0;
	hl_err_set(&err, HLA_09, "no record of run '%.60s' is in the log", view.run);
	hl_err_help(&err, "'hermes-launch audit show' prints all, each with its run");
	return verb_fail(&err);
}

static void
put_json(const struct audit_verify_result *result, const char *verdict, struct hl_buf *out)
{
	struct hl_json json;

	hl_json_init(&json, out);
	hl_json_object(&json);
	hl_json_key(&json, "verdict");
	hl_json_string(&json, verdict);
	hl_json_key(&json, "log");
	hl_json_string(&json, result->log_id);
	hl_json_key(&json, "records");
	hl_json_u64(&json, result->records);
	hl_json_key(&json, "recovered");
	hl_json_u64(&json, result->recovered);
	if (result->verdict != AUDIT_OK) {
		hl_json_key(&json, "seq");
		hl_json_u64(&json, result->bad_seq);
		hl_json_key(&json, "offset");
		hl_json_u64(&json, result->bad_offset);
		hl_json_key(&json, "detail");
		hl_json_string(&json, result->detail);
	}
	hl_json_end_object(&json);
	hl_buf_putc(out, '\n');
}

static void
put_text(const struct audit_verify_result *result, const char *verdict, struct hl_buf *out)
{
	if (result->verdict == AUDIT_OK) {
		hl_buf_putf(out, "ok: %llu records in log %s, chain intact",
		    (unsigned long long)result->records, result->log_id);
		if (result->recovered > 0)
			hl_buf_putf(out, ", %llu torn lines recovered",
			    (unsigned long long)result->recovered);
	} else {
		hl_buf_putf(out, "%s: first bad record seq %llu at offset %llu: ", verdict,
		    (unsigned long long)result->bad_seq, (unsigned long long)result->bad_offset);
		hl_buf_printable(out, result->detail, strlen(result->detail));
	}
	hl_buf_putc(out, '\n');
}

int
verb_audit_verify(const struct request *request)
{
	static const char *const verdicts[] = { [AUDIT_OK] = "ok",
		[AUDIT_TAMPERED] = "tampered",
		[AUDIT_INCOMPLETE] = "incomplete" };
	struct audit_verify_result result;
	struct hl_buf out;
	struct hl_err err;

	if (audit_verify(request->state_dir, &result, &err) != 0)
		return verb_fail(&err);
	hl_buf_init(&out, 8192);
	(request->format == FORMAT_JSON ? put_json : put_text)(&result, verdicts[result.verdict],
	    &out);
	return verb_answer(&out, &err) == 0 ? (int)result.verdict : verb_fail(&err);
}
