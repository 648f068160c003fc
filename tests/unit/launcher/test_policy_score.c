/*
 * The score of a policy against a level: what is printed adds up, and every weight is one that some
 * level asks for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/policy_score.h"

#include "base/banned.h"

static struct policy_score
score_of(const char *name, const char *level_name)
{
	struct policy *policy = NULL, *level = NULL;
	struct policy_score score;
	struct hl_err err = { 0 };

	assert_int_equal(policy_load_level(name, &policy, &err), 0);
	assert_int_equal(policy_load_level(level_name, &level, &err), 0);
	assert_int_equal(policy_score(policy, level, &score, &err), 0);
	policy_free(policy);
	policy_free(level);
	return score;
}

static bool
is_met(const struct policy_score *score, const char *key)
{
	for (size_t i = 0; i < score->len; i++)
		if (strcmp(score->rows[i].key, key) == 0)
			return score->rows[i].is_met;
	fail_msg("no row of %s", key);
	return false;
}

static void
rows_add_up(void **state)
{
	struct policy_score score = score_of("baseline@1", "restricted@1");
	unsigned met = 0, total = 0;

	(void)state;
	for (size_t i = 0; i < score.len; i++) {
		assert_true(score.rows[i].weight > 0);
		total += score.rows[i].weight;
		met += score.rows[i].is_met ? score.rows[i].weight : 0;
	}
	assert_int_equal(score.met, met);
	assert_int_equal(score.total, total);
	assert_true(met > 0 && met < total);
	assert_false(is_met(&score, "fs.root"));
	assert_true(is_met(&score, "process.no_new_privs"));
}

static void
a_level_meets_itself(void **state)
{
	(void)state;
	for (size_t i = 0; policy_level_name(i) != NULL; i++) {
		struct policy_score score = score_of(policy_level_name(i), policy_level_name(i));
		assert_int_equal(score.met, score.total);
	}
	/* What the level does not bound is no row of it. */
	struct policy_score score = score_of("open@1", "open@1");
	for (size_t i = 0; i < score.len; i++)
		assert_string_not_equal(score.rows[i].key, "fs.root");
}

/* hermes@1 lets limits go missing, which a level without that counts. */
static void
what_may_go_missing_counts(void **state)
{
	struct policy_score score = score_of("hermes@1", "baseline@1");

	(void)state;
	assert_false(is_met(&score, "degrade.allow"));
	assert_false(is_met(&score, "network.mode"));
}

static void
text_and_json_say_the_same(void **state)
{
	struct policy_score score = score_of("baseline@1", "restricted@1");
	struct hl_buf text, object;
	struct hl_json json;
	char line[80];

	(void)state;
	hl_buf_init(&text, 1 << 16);
	hl_buf_init(&object, 1 << 16);
	policy_score_put(&score, &text);
	hl_json_init(&json, &object);
	policy_score_put_json(&score, &json);
	assert_non_null(strstr(text.data, "    5  no   fs.root\n"));
	assert_non_null(strstr(object.data, "{\"key\":\"fs.root\",\"weight\":5,\"met\":false}"));
	snprintf(line, sizeof(line), "score %u of %u", score.met, score.total);
	assert_non_null(strstr(text.data, line));
	snprintf(line, sizeof(line), "{\"met\":%u,\"total\":%u,", score.met, score.total);
	assert_non_null(strstr(object.data, line));
	hl_buf_done(&text);
	hl_buf_done(&object);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_add_up),
		cmocka_unit_test(a_level_meets_itself),
		cmocka_unit_test(what_may_go_missing_counts),
		cmocka_unit_test(text_and_json_say_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
