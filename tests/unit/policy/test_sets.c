/*
 * Whether one pattern is inside another: exactly, against a definition that is too slow to use, and
 * never in more steps than a few for each letter.
 */
#include "policy/state.h"
#include "stack.h"

#include "base/banned.h"

static bool
is_inside_by_definition(const char *pattern, const char *bound)
{
	if (*bound == '\0')
		return *pattern == '\0';
	if (*bound == '*')
		return is_inside_by_definition(pattern, bound + 1) ||
		       (*pattern != '\0' && is_inside_by_definition(pattern + 1, bound));
	return *pattern != '\0' && *pattern != '*' && (*bound == '?' || *bound == *pattern) &&
	       is_inside_by_definition(pattern + 1, bound + 1);
}

/* The i-th text of these letters; 0 is the empty one. */
static void
make_text(size_t i, char *text)
{
	static const char letters[] = "ab*?";

	while (i > 0) {
		*text++ = letters[(i - 1) % 4];
		i = (i - 1) / 4;
	}
	*text = '\0';
}

enum {
	TEXTS_OF_4 = 341, /* 1 + 4 + 16 + 64 + 256 */
	TEXTS_OF_5 = 1365
};

/* Of devices "gpu:all" takes each processor, and of images it is a name like another. */
static void
all_processors_take_each(void **state)
{
	const struct policy_item all = { .text = POLICY_GPU_ALL, .is_every_gpu = true };
	const struct policy_item image = { .text = POLICY_GPU_ALL };
	const struct policy_item one = { .text = "gpu:5" }, other = { .text = "/dev/gpu:5" };

	(void)state;
	assert_true(policy_item_is_inside(&one, &all));
	assert_true(policy_item_is_inside(&all, &all));
	assert_false(policy_item_is_inside(&all, &one));
	assert_false(policy_item_is_inside(&other, &all));
	assert_false(policy_item_is_inside(&one, &image));
}

static void
expect_devices(const struct policy_text *texts, size_t len, const char *const *members)
{
	struct policy_findings findings = { 0 };
	struct hl_err err = { 0 };
	struct policy *policy = NULL;

	if (policy_load_texts(texts, len, &policy, &findings, &err) != 0)
		fail_msg("%s", err.msg);
	const struct policy_value *value = policy_get(policy, POLICY_FS_DEVICES);
	for (size_t i = 0; i < value->items_len; i++) {
		assert_non_null(members[i]);
		assert_string_equal(value->items[i].text, members[i]);
	}
	assert_null(members[value->items_len]);
	policy_free(policy);
	policy_findings_done(&findings);
}

#define TEXT(list)                                                                \
 {                                                                                \
  "t.yaml", "version: 1\nid: t/t\nlevel: open@1\nfs: {devices: " list "}\n",      \
      sizeof("version: 1\nid: t/t\nlevel: open@1\nfs: {devices: " list "}\n") - 1 \
 }

static void
processors_are_cut_like_other_members(void **state)
{
	static const struct policy_text all = TEXT("[gpu:all, /dev/fuse]"),
					none = TEXT("[\"gpu:none\", /dev/fuse]"),
					two = TEXT("[gpu:1, gpu:3]"),
					later = TEXT("{allowed: [gpu:all], default: [gpu:3]}");
	const struct {
		struct policy_text texts[2];
		const char *members[3];
	} cases[] = {
		{ { all, all }, { POLICY_GPU_ALL, "/dev/fuse" } },
		{ { all, none }, { "/dev/fuse" } },
		{ { none, all }, { "/dev/fuse" } },
		{ { all, two }, { "gpu:1", "gpu:3" } },
		{ { two, all }, { "gpu:1", "gpu:3" } },
		{ { two, none }, { NULL } },
		{ { two, later }, { "gpu:3" } },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases); i++)
		expect_devices(cases[i].texts, 2, cases[i].members);
}

static void
short_patterns_are_told_exactly(void **state)
{
	char pattern[8], bound[8];
	size_t inside = 0;

	(void)state;
	for (size_t i = 0; i < TEXTS_OF_4; i++) {
		make_text(i, pattern);
		for (size_t j = 0; j < TEXTS_OF_5; j++) {
			make_text(j, bound);
			bool is_inside = is_inside_by_definition(pattern, bound);
			if (policy_pattern_is_inside(pattern, bound) != is_inside)
				fail_msg("'%s' in '%s'", pattern, bound);
			inside += is_inside;
		}
	}
	assert_true(inside > TEXTS_OF_4);
}

static void
long_patterns_are_told_as_people_write_them(void **state)
{
	static const char *const inside[][2] = {
		{ "/repos/acme/tools/issues/17/comments", "/repos/*/issues/*/comments" },
		{ "/repos/acme/is/iss/issue/issues/17", "/repos/*/issues/*" },
		{ "registry.example/team/app@sha256:0123456789abcdef", "*/app@sha256:*" },
		{ "AAAA_BBBB_CCCC_TOKEN", "*_BBBB_*_TOKEN" },
		{ "/*/a/*/b/*", "/*/*/*" },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(inside); i++) {
		if (!policy_pattern_is_inside(inside[i][0], inside[i][1]))
			fail_msg("'%s' is not in '%s'", inside[i][0], inside[i][1]);
		assert_true(policy_pattern_is_inside(inside[i][0], inside[i][0]));
		assert_true(policy_pattern_is_inside(inside[i][1], inside[i][1]));
	}
}

/* 300 letters, each of which could begin the 100 that the bound looks for. */
static void
what_takes_too_many_steps_is_not_told(void **state)
{
	char text[512], bound[256];

	(void)state;
	memset(text, 'a', 300);
	memcpy(text + 300, "bc", 3);
	bound[0] = '*';
	memset(bound + 1, 'a', 100);
	memcpy(bound + 101, "b*", 3);
	assert_true(policy_pattern_is_dear(bound));
	assert_false(policy_pattern_is_inside(text, bound));
	/* At an end there is nothing to look for. */
	memcpy(bound + 101, "bc", 3);
	assert_false(policy_pattern_is_dear(bound));
	assert_true(policy_pattern_is_inside(text, bound));
	assert_true(policy_pattern_is_inside(bound, bound));
}

static void
expect_images(const char *begin, unsigned n, const char *code)
{
	struct hl_buf text;

	hl_buf_init(&text, 1 << 16);
	hl_buf_puts(&text, OPEN "image: [");
	for (unsigned i = 0; i < n; i++) {
		hl_buf_putf(&text, "%s\"%s_%u*\"", i > 0 ? ", " : "", begin, i);
	}
	hl_buf_puts(&text, "]\n");
	assert_false(text.failed);
	if (code == NULL)
		expect_good(text.data);
	else
		expect_error(text.data, code);
	hl_buf_done(&text);
}

/* Of those whose text has to be looked for; of the others there may be more. */
static void
dear_patterns_are_few(void **state)
{
	(void)state;
	expect_images("*reg", 128, NULL);
	expect_images("*reg", 129, "HLP-12");
	assert_non_null(strstr(stack_text(), "129 patterns with text between two stars"));
	expect_images("reg", 129, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_processors_take_each),
		cmocka_unit_test(processors_are_cut_like_other_members),
		cmocka_unit_test(short_patterns_are_told_exactly),
		cmocka_unit_test(long_patterns_are_told_as_people_write_them),
		cmocka_unit_test(what_takes_too_many_steps_is_not_told),
		cmocka_unit_test(dear_patterns_are_few),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
