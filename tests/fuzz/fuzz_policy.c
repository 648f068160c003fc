/*
 * Any bytes as a policy, and any two halves of them as a stack: no crash, no message without its
 * form, what is accepted prints and parses again to the same, and a stack lets through nothing that
 * a file of it keeps out, whichever comes first.
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

/* NULL: they are no policy, and the code says why. */
static struct policy *
load(const struct policy_text *texts, size_t n, enum hl_code *ret_code)
{
	struct policy *policy = NULL;
	struct policy_findings findings;
	struct hl_err err = { 0 };

	*ret_code = policy_load_texts(texts, n, &policy, &findings, &err) == 0 ? HL_OK : err.code;
	policy_findings_done(&findings);
	return policy;
}

/* What one file locks no later level tightens, which is told: then the order matters. */
static bool
is_locked(const struct policy *a, const struct policy *b, const char *message)
{
	char key[64];

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(message, " "), message);
	enum policy_field field = policy_field_find(key);
	return field != POLICY_FIELD_MAX &&
	       (a->states[field].is_locked || b->states[field].is_locked);
}

/* Of bounds only: what may go missing is none, and a layer may allow it. */
static void
expect_within(const struct policy *inner, const struct policy *outer, const char *what)
{
	struct policy_findings gaps = { 0 };
	struct hl_err err = { 0 };

	if (policy_within(inner, outer, "x", &gaps, &err) != 0)
		fail("within", err.msg);
	for (size_t i = 0; i < gaps.len; i++) {
		if (strncmp(gaps.items[i].message, "degrade.allow", 13) != 0 &&
		    !is_locked(inner, outer, gaps.items[i].message))
			fail(what, gaps.items[i].message);
	}
	policy_findings_done(&gaps);
}

static void
expect_equal(const struct policy *a, const struct policy *b, const char *what)
{
	static struct policy_differences differences;
	struct hl_err err = { 0 };

	if (policy_compare(a, b, &differences, &err) != 0)
		fail("compare", err.msg);
	if (differences.len > 0)
		fail(what, differences.items[0].what);
}

/* A file and itself is that file. What it locks nobody else touches, not even in the same words. */
static void
check_twice(const struct policy *alone, const struct policy_text *text)
{
	const struct policy_text both[2] = { *text, *text };
	enum hl_code code;
	struct policy *twice = load(both, 2, &code);

	expect_equal(alone, alone, "a policy differs from itself");
	if (twice == NULL && code != HLP_18)
		fail("a file above itself is refused", text->name);
	if (twice != NULL)
		expect_equal(alone, twice, "a file above itself says something else");
	policy_free(twice);
}

/* A stack in which no file names a level has restricted@1, which one that does brings to an end. */
static bool
names_level(const struct policy *policy)
{
	for (size_t i = 0; i < policy->layers_len; i++) {
		if (policy->layers[i]->level != NULL)
			return true;
	}
	return false;
}

static void
check_stack(const struct policy *stack, const struct policy_text *texts)
{
	const struct policy_text turned[2] = { texts[1], texts[0] };
	enum hl_code code;
	struct policy *other = load(turned, 2, &code);

	for (size_t i = 0; i < 2; i++) {
		struct policy *alone = load(&texts[i], 1, &code);
		if (alone != NULL && names_level(alone) == names_level(stack))
			expect_within(stack, alone, "a stack is looser than a file of it");
		if (alone != NULL)
			check_twice(alone, &texts[i]);
		policy_free(alone);
	}
	if (other != NULL) {
		expect_within(stack, other, "bounds depend on the order of the files");
		expect_within(other, stack, "bounds depend on the order of the files");
	}
	policy_free(other);
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
		if (n == 2)
			check_stack(policy, texts);
		else
			check_twice(policy, &texts[0]);
		if (request != NULL)
			check_requests(policy, request);
		free(request);
	}
	policy_findings_done(&findings);
	policy_free(policy);
	return 0;
}
