/*
 * Any bytes as a policy, and any two halves of them as a stack: no crash, no message without its
 * form, and what is accepted prints and parses again to the same.
 *
 * The input is one file, or two with a line "%%%" between them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/layer.h"
#include "policy/policy.h"
#include "policy/state.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char border[] = "\n%%%\n";

static void
fail(const char *what, const char *detail)
{
	fprintf(stderr, "%s: %s\n", what, detail);
	abort();
}

static void
check_findings(const struct policy_findings *findings, int result)
{
	struct hl_buf text;

	if ((result == 0) != (findings->errors == 0) && findings->len > 0)
		fail("errors", "the result and the findings disagree");
	hl_buf_init(&text, 1 << 20);
	for (size_t i = 0; i < findings->len; i++) {
		hl_buf_reset(&text);
		policy_finding_format(&findings->items[i], &text);
		if (text.failed || text.len == 0 || text.data[text.len - 1] != '\n')
			fail("a message without its form", text.data);
		if (!hl_is_utf8(text.data, text.len))
			fail("a message that is not UTF-8", "");
	}
	hl_buf_done(&text);
}

static void
show(const struct policy *policy, unsigned flags, struct hl_buf *out)
{
	struct hl_err err = { 0 };

	hl_buf_init(out, 64 << 20);
	if (policy_show(policy, flags, out, &err) != 0)
		fail("show", err.msg);
}

static void
check_round_trip(const struct policy *policy)
{
	struct hl_buf first, second, origins;
	struct policy *again = NULL;
	struct policy_findings findings;
	struct hl_err err = { 0 };

	show(policy, POLICY_SHOW_ORIGINS, &origins);
	show(policy, 0, &first);
	/* Values that are many make a text that is larger than a policy may be. */
	if (first.len <= POLICY_FILE_MAX) {
		struct policy_text text = { "again", first.data, first.len };
		if (policy_load_texts(&text, 1, &again, &findings, &err) != 0)
			fail(err.msg, first.data);
		show(again, 0, &second);
		if (strcmp(first.data, second.data) != 0)
			fail("print, parse, print", second.data);
		hl_buf_done(&second);
		policy_findings_done(&findings);
		policy_free(again);
	}
	hl_buf_done(&first);
	hl_buf_done(&origins);
}

static void
check_requests(const struct policy *policy, const char *text)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		struct policy_judgement judgement;
		struct hl_err err = { 0 };
		if (policy_judge(policy, (enum policy_field)i, text, &judgement, &err) != 0 &&
		    err.code == HL_OK)
			fail("a refusal without a code", policy_field_key((enum policy_field)i));
	}
}

/* What policy fmt prints means the same, and printing it again changes nothing. */
static void
check_canonical(const struct policy_text *text)
{
	struct hl_buf bytes, once, twice;
	struct policy_findings findings = { 0 };
	struct hl_err err = { 0 };

	hl_buf_init(&bytes, POLICY_FILE_MAX + 1);
	hl_buf_init(&once, 4 << 20);
	hl_buf_init(&twice, 4 << 20);
	hl_buf_put(&bytes, text->bytes, text->len);
	if (policy_canonical(text->name, &bytes, &once, &findings, &err) == 0) {
		if (policy_canonical(text->name, &once, &twice, &findings, &err) != 0)
			fail(err.msg, once.data);
		if (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
			fail("canonical twice", twice.data);
	} else if (err.code == HLI_02) {
		fail(err.msg, once.data != NULL ? once.data : "");
	}
	policy_findings_done(&findings);
	hl_buf_done(&bytes);
	hl_buf_done(&once);
	hl_buf_done(&twice);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	const char *cut = size > 0 ? memmem(bytes, size, border, strlen(border)) : NULL;
	struct policy_text texts[2] = { { "a", size > 0 ? bytes : "", size } };
	struct policy *policy = NULL;
	struct policy_findings findings;
	struct hl_err err = { 0 };
	size_t n = 1;

	/* The file rule keeps larger ones out. */
	if (size > POLICY_FILE_MAX)
		return 0;
	if (cut != NULL) {
		texts[0].len = (size_t)(cut - bytes);
		texts[1] = (struct policy_text){ "b", cut + strlen(border),
			size - texts[0].len - strlen(border) };
		n = 2;
	}
	int result = policy_load_texts(texts, n, &policy, &findings, &err);
	check_findings(&findings, result);
	check_canonical(&texts[0]);
	if (result == 0) {
		char *request = strndup(bytes, size < 40 ? size : 40);
		check_round_trip(policy);
		if (request != NULL)
			check_requests(policy, request);
		free(request);
	}
	policy_findings_done(&findings);
	policy_free(policy);
	return 0;
}
