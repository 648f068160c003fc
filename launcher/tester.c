/*
 * The answers of policy test in their formats: TAP for people and harnesses, one JSON object a
 * line, JUnit's XML; and coverage: which keys that the policies set, and which conflicts, no test
 * has touched.
 */
#include "launcher/tester.h"

#include <stdio.h>
#include <string.h>

#include "launcher/conflicts_parts.h"

#include "base/banned.h"

/* Control characters have no place in XML 1.0, and the rest of them are printable by then. */
static void
put_xml(struct hl_buf *out, const char *text)
{
	struct hl_buf plain HL_AUTO(hl_buf_done) = { 0 };

	hl_buf_init(&plain, TESTER_OUT_MAX);
	hl_buf_printable(&plain, text, strlen(text));
	out->failed |= plain.failed;
	for (const char *c = plain.data; *c != '\0'; c++) {
		switch (*c) {
		case '<':
			hl_buf_puts(out, "&lt;");
			break;
		case '>':
			hl_buf_puts(out, "&gt;");
			break;
		case '&':
			hl_buf_puts(out, "&amp;");
			break;
		case '"':
			hl_buf_puts(out, "&quot;");
			break;
		default:
			hl_buf_putc(out, *c);
		}
	}
}

static void
put_line(struct hl_buf *out, const struct policy_expectation *expectation, const char *message)
{
	struct hl_buf name HL_AUTO(hl_buf_done) = { 0 };

	hl_buf_init(&name, TESTER_OUT_MAX);
	if (expectation != NULL) {
		hl_buf_printable(out, expectation->where.file, strlen(expectation->where.file));
		hl_buf_putf(out, ":%u:%u: ", expectation->where.line, expectation->where.column);
		trial_name(expectation, &name);
		hl_buf_putf(out, "%s: ", name.data);
		out->failed |= name.failed;
	}
	hl_buf_printable(out, message, strlen(message));
}

void
verdict_init(struct verdict *verdict)
{
	verdict->unmet = 0;
	hl_buf_init(&verdict->why, TESTER_OUT_MAX);
}

void
verdict_done(struct verdict *verdict)
{
	hl_buf_done(&verdict->why);
}

void
tester_why(const struct tester *tester, const struct policy_expectation *expectation,
    const char *message, struct verdict *verdict)
{
	struct hl_buf *why = &verdict->why;
	struct hl_json json = { .out = why };
	struct hl_buf line HL_AUTO(hl_buf_done) = { 0 };

	verdict->unmet++;
	hl_buf_init(&line, TESTER_OUT_MAX);
	put_line(&line, expectation, message);
	why->failed |= line.failed;
	switch (tester->request->format) {
	case FORMAT_JSON:
		json.need_comma = why->len > 0;
		hl_json_object(&json);
		hl_json_key(&json, "line");
		hl_json_u64(&json, expectation != NULL ? expectation->where.line : 0);
		hl_json_key(&json, "column");
		hl_json_u64(&json, expectation != NULL ? expectation->where.column : 0);
		hl_json_key(&json, "message");
		hl_json_string(&json, message);
		hl_json_end_object(&json);
		return;
	case FORMAT_JUNIT:
		hl_buf_puts(why, "      <failure message=\"");
		put_xml(why, line.data);
		hl_buf_puts(why, "\"/>\n");
		return;
	case FORMAT_TEXT:
	case FORMAT_TAP:
	case FORMAT_ARGV:
	case FORMAT_GITHUB:
		hl_buf_putf(why, "#   %s\n", line.data);
		return;
	}
}

static void
put_json(struct hl_buf *out, const char *file, const char *name, const struct verdict *verdict)
{
	struct hl_json json;

	hl_json_init(&json, out);
	hl_json_object(&json);
	hl_json_key(&json, "file");
	hl_json_string(&json, file);
	hl_json_key(&json, "test");
	hl_json_string(&json, name);
	hl_json_key(&json, "ok");
	hl_json_bool(&json, verdict->unmet == 0);
	hl_json_key(&json, "failures");
	hl_json_array(&json);
	if (verdict->why.len > 0)
		hl_json_raw(&json, verdict->why.data);
	hl_json_end_array(&json);
	hl_json_end_object(&json);
	hl_buf_putc(out, '\n');
}

static void
put_junit(struct hl_buf *out, const char *file, const char *name, const struct verdict *verdict)
{
	hl_buf_puts(out, "    <testcase classname=\"");
	put_xml(out, file);
	hl_buf_puts(out, "\" name=\"");
	put_xml(out, name);
	hl_buf_puts(out, "\">\n");
	hl_buf_put(out, verdict->why.data, verdict->why.len);
	hl_buf_puts(out, "    </testcase>\n");
}

/* A number sign in a name would begin a directive such as SKIP. */
static void
put_tap(struct tester *tester, const char *file, const char *name, const struct verdict *verdict)
{
	struct hl_buf plain HL_AUTO(hl_buf_done) = { 0 };

	hl_buf_init(&plain, TESTER_OUT_MAX);
	hl_buf_printable(&plain, file, strlen(file));
	hl_buf_puts(&plain, ": ");
	hl_buf_printable(&plain, name, strlen(name));
	tester->out.failed |= plain.failed;
	hl_buf_putf(&tester->out, "%sok %zu - ", verdict->unmet > 0 ? "not " : "", tester->count);
	for (const char *c = plain.data; *c != '\0'; c++)
		hl_buf_putf(&tester->out, "%s%c", *c == '#' ? "\\" : "", *c);
	hl_buf_putc(&tester->out, '\n');
	hl_buf_put(&tester->out, verdict->why.data, verdict->why.len);
}

void
tester_case(struct tester *tester, const char *file, const char *name,
    const struct verdict *verdict)
{
	tester->count++;
	tester->failed += verdict->unmet > 0;
	tester->out.failed |= verdict->why.failed;
	if (tester->request->format == FORMAT_JSON)
		put_json(&tester->out, file, name, verdict);
	else if (tester->request->format == FORMAT_JUNIT)
		put_junit(&tester->out, file, name, verdict);
	else
		put_tap(tester, file, name, verdict);
}

/* ------------------------------------------------------------------------------------------------
 * Coverage
 */

/* A count, and the names of what was left out, or NULL at the end. */
struct count {
	size_t touched, all;
	struct hl_strv missing;
};

static void
count_fields(const struct coverage *coverage, struct count *count)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		if (!coverage->set[i])
			continue;
		count->all++;
		count->touched += coverage->fields[i];
		if (!coverage->fields[i])
			hl_strv_add(&count->missing, policy_field_key((enum policy_field)i));
	}
}

static void
count_controls(const struct coverage *coverage, struct count *count)
{
	for (size_t i = 0; i < conflict_controls_len(); i++) {
		count->all++;
		count->touched += coverage->controls[i];
		if (!coverage->controls[i])
			hl_strv_add(&count->missing, conflict_control_at(i)->control);
	}
}

static void
put_count_json(struct hl_json *json, const char *name, const struct count *count)
{
	hl_json_key(json, name);
	hl_json_object(json);
	hl_json_key(json, "touched");
	hl_json_u64(json, count->touched);
	hl_json_key(json, "all");
	hl_json_u64(json, count->all);
	hl_json_key(json, "missing");
	hl_json_array(json);
	for (size_t i = 0; i < count->missing.len; i++)
		hl_json_string(json, count->missing.v[i]);
	hl_json_end_array(json);
	hl_json_end_object(json);
}

static void
put_coverage(struct tester *tester)
{
	struct {
		const char *name, *what;
		void (*count)(const struct coverage *, struct count *);
		struct count of;
	} parts[] = {
		{ "fields", "keys that the policies set", count_fields, { 0 } },
		{ "conflicts", "controls that a request can go past", count_controls, { 0 } },
	};
	bool is_json = tester->request->format == FORMAT_JSON;
	struct hl_json json;

	hl_json_init(&json, &tester->out);
	if (is_json)
		hl_json_object(&json);
	for (size_t i = 0; i < HL_ARRAY_SIZE(parts); i++) {
		struct count *count = &parts[i].of;
		hl_strv_init(&count->missing, 1024);
		parts[i].count(&tester->coverage, count);
		if (is_json)
			put_count_json(&json, parts[i].name, count);
		else
			hl_buf_putf(&tester->out, "# coverage: %zu of %zu %s\n", count->touched,
			    count->all, parts[i].what);
		for (size_t j = 0; !is_json && j < count->missing.len; j++)
			hl_buf_putf(&tester->out, "%s%s%s", j == 0 ? "#   not touched: " : ", ",
			    count->missing.v[j], j + 1 == count->missing.len ? "\n" : "");
		tester->out.failed |= count->missing.failed;
		hl_strv_done(&count->missing);
	}
	if (is_json) {
		hl_json_end_object(&json);
		hl_buf_putc(&tester->out, '\n');
	}
}

int
tester_finish(struct tester *tester, struct hl_err *err)
{
	enum output_format format = tester->request->format;
	bool is_tap = format == FORMAT_TEXT || format == FORMAT_TAP;
	struct hl_buf whole;

	if (is_tap && (tester->count > 0 || tester->status == 0))
		hl_buf_putf(&tester->out, "1..%zu\n", tester->count);
	/* JUnit has no place for it. */
	if (tester->request->has_coverage && format != FORMAT_JUNIT)
		put_coverage(tester);
	if (format != FORMAT_JUNIT)
		return verb_answer(&tester->out, err);
	hl_buf_init(&whole, 2 * TESTER_OUT_MAX);
	hl_buf_putf(&whole,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
	    "  <testsuite name=\"hermes-launch policy test\" tests=\"%zu\" failures=\"%zu\">\n",
	    tester->count, tester->failed);
	hl_buf_put(&whole, tester->out.data, tester->out.len);
	hl_buf_puts(&whole, "  </testsuite>\n</testsuites>\n");
	whole.failed |= tester->out.failed;
	return verb_answer(&whole, err);
}
