/*
 * The laws of merging, over random small policies. The seed is printed; HL_SEED repeats a run,
 * HL_ROUNDS makes a longer one.
 *
 *  1  a layer merged with itself is that layer
 *  2  bounds do not depend on the order of files inside one layer
 *  3  one more layer never loosens a bound
 *  5  every value and every bound has one origin, in a file or level that is there
 *  7  print, parse, print: the same text
 */
#include <time.h>

#include "policy/state.h"
#include "random_policy.h"
#include "stack.h"

#include "base/banned.h"

static void
put_places(struct hl_buf *out, enum policy_kind kind, const struct policy_items *items)
{
	struct hl_strv lines;
	struct hl_buf one;

	hl_strv_init(&lines, 256);
	hl_buf_init(&one, 4096);
	for (size_t i = 0; i < items->len; i++) {
		hl_buf_reset(&one);
		policy_put_list(&one, kind, &items->v[i], 1);
		hl_strv_add(&lines, one.data);
	}
	hl_strv_sort(&lines);
	for (size_t i = 0; i < lines.len; i++)
		hl_buf_puts(out, lines.v[i]);
	hl_buf_done(&one);
	hl_strv_done(&lines);
}

static void
put_field_bound(struct hl_buf *out, struct policy_arena *arena, enum policy_field field)
{
	const struct policy_state *state = &t.policy->states[field];
	enum policy_kind kind = policy_field_kind(field);
	struct policy_refs flat;

	hl_buf_putf(out, "%s %d ", policy_field_key(field), (int)state->is_bounded);
	if (policy_field_info(field)->merge == MERGE_UNION_DENY) {
		struct hl_strv denied;
		hl_strv_init(&denied, 64);
		for (size_t i = 0; i < state->items.len; i++)
			hl_strv_add(&denied, state->items.v[i].text);
		hl_strv_sort(&denied);
		for (size_t i = 0; i < denied.len; i++)
			hl_buf_puts(out, denied.v[i]);
		hl_strv_done(&denied);
	} else if (policy_kind_is_set(kind)) {
		assert_true(policy_flatten(arena, state, &flat));
		for (size_t i = 0; i < flat.len; i++)
			hl_buf_putf(out, "%s ", flat.v[i]->text);
	} else if (policy_kind_is_list(kind)) {
		put_places(out, kind, &state->allowed);
	} else if (state->is_bounded && kind != POLICY_KIND_STRING) {
		policy_put_number(out, field, state->bound);
	}
	hl_buf_putc(out, '\n');
}

/* The whole bound of every field as text, which is what the laws compare. */
static char *
bounds(void)
{
	struct hl_buf text;
	struct policy_arena arena = { 0 };

	hl_buf_init(&text, 1 << 18);
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++)
		put_field_bound(&text, &arena, (enum policy_field)i);
	policy_arena_done(&arena);
	return hl_buf_take(&text);
}

static void
load_all(const char *const *texts, size_t n)
{
	static const char *const names[] = { "a.yaml", "b.yaml" };
	struct policy_text all[HL_ARRAY_SIZE(names)];

	stack_reset();
	for (size_t i = 0; i < n; i++)
		all[i] = (struct policy_text){ names[i], texts[i], strlen(texts[i]) };
	if (policy_load_texts(all, n, &t.policy, &t.findings, &t.err) != 0)
		fail_msg("%s\nin:\n%s\n--\n%s", t.err.msg, texts[0], n > 1 ? texts[1] : "");
}

static void
expect_tighter(enum policy_field field, const struct policy_value *value, bool was_bounded,
    uint64_t bound)
{
	if (!was_bounded)
		return;
	assert_true(value->is_bounded);
	if (value->kind == POLICY_KIND_BOOL)
		assert_true(value->bound_number == bound ||
			    strcmp(policy_field_words(field)[0],
				value->bound_number != 0 ? "true" : "false") == 0);
	else if (policy_field_info(field)->merge == MERGE_BITS)
		assert_true((bound & ~value->bound_number) == 0);
	else if (policy_field_info(field)->merge == MERGE_MAX)
		assert_true(value->bound_number >= bound);
	else
		assert_true(value->bound_number <= bound);
}

struct snapshot {
	bool is_bounded[POLICY_FIELD_MAX];
	uint64_t bound[POLICY_FIELD_MAX];
	bool takes[24];
};

static const struct {
	enum policy_field field;
	const char *text;
} probes[] = {
	{ POLICY_PROCESS_CAPS, "CHOWN" },
	{ POLICY_PROCESS_CAPS, "KILL" },
	{ POLICY_ENV_PASS, "CI_A" },
	{ POLICY_ENV_PASS, "CI_Q_X" },
	{ POLICY_ENV_PASS, "TZ" },
	{ POLICY_IMAGE, "reg/a@x" },
	{ POLICY_IMAGE, "reg/b:1" },
	{ POLICY_BACKENDS, "docker" },
	{ POLICY_BACKENDS, "local" },
	{ POLICY_NETWORK_MODE, "bridge" },
	{ POLICY_LIMITS_MEMORY, "3GiB" },
	{ POLICY_LOCAL_ISOLATION, "scrub" },
	{ POLICY_PROCESS_UMASK, "027" },
	{ POLICY_PROCESS_UMASK, "057" },
	{ POLICY_FS_DEVICES, "gpu:0" },
	{ POLICY_FS_DEVICES, "gpu:3" },
};

static bool
is_taken(enum policy_field field, const char *text)
{
	struct policy_judgement judgement;
	struct hl_err err = { 0 };

	assert_int_equal(policy_judge(t.policy, field, text, &judgement, &err), 0);
	return judgement.verdict != POLICY_LOOSER;
}

static bool
mount_is_taken(uint32_t i)
{
	static const char *const sources[] = { "/a", "/a/x", "/b", "/a/x" };
	static const char *const places[] = { "/m0", "/m0/x", "/m1", "/m1/x" };
	struct policy_mount mount = {
		.src = sources[i % 4],
		.dst = places[i % 4],
		.access = i % 2 == 0 ? POLICY_ACCESS_RO : POLICY_ACCESS_RW,
		.exec = i % 3 == 0,
	};
	struct policy_judgement judgement;
	struct hl_err err = { 0 };

	assert_int_equal(policy_judge_mount(t.policy, &mount, &judgement, &err), 0);
	return judgement.verdict != POLICY_LOOSER;
}

static void
take(struct snapshot *shot)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const struct policy_value *value = value_of((enum policy_field)i);
		shot->is_bounded[i] = value->is_bounded && i != POLICY_MODE;
		shot->bound[i] = value->bound_number;
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(probes); i++)
		shot->takes[i] = is_taken(probes[i].field, probes[i].text);
	for (uint32_t i = 0; i < 4; i++)
		shot->takes[HL_ARRAY_SIZE(probes) + i] = mount_is_taken(i);
}

static void
check_monotone(const struct snapshot *before)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		enum policy_field field = (enum policy_field)i;
		const struct policy_value *value = value_of(field);
		if (before->is_bounded[i])
			assert_true(value->is_bounded);
		if (value->kind <= POLICY_KIND_MILLI)
			expect_tighter(field, value, before->is_bounded[i], before->bound[i]);
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(probes); i++) {
		if (is_taken(probes[i].field, probes[i].text) && !before->takes[i])
			fail_msg("%s %s was loosened", policy_field_key(probes[i].field),
			    probes[i].text);
	}
	for (uint32_t i = 0; i < 4; i++)
		assert_true(!mount_is_taken(i) || before->takes[HL_ARRAY_SIZE(probes) + i]);
}

static void
check_origin(const struct hl_origin *origin)
{
	assert_non_null(origin->layer);
	if (strcmp(origin->layer, "built-in") == 0)
		return;
	assert_non_null(origin->where.file);
	assert_true(origin->where.line > 0 && origin->where.column > 0);
	for (size_t i = 0; i < policy_layers_len(t.policy); i++) {
		if (origin->id != NULL && strcmp(origin->id, policy_layer_at(t.policy, i)->id) == 0)
			return;
	}
	fail_msg("an origin in no layer");
}

static void
check_origins(void)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const struct policy_value *value = value_of((enum policy_field)i);
		check_origin(&value->origin);
		if (value->is_bounded)
			check_origin(&value->bound_origin);
		for (size_t j = 0; j < value->items_len; j++)
			check_origin(&value->items[j].origin);
	}
}

static void
check_round_trip(void)
{
	struct hl_buf first, second;
	struct hl_err err = { 0 };
	char digest[HL_SHA256_HEX_SIZE];

	hl_buf_init(&first, 1 << 18);
	hl_buf_init(&second, 1 << 18);
	assert_int_equal(policy_show(t.policy, POLICY_SHOW_ORIGINS, &second, &err), 0);
	assert_int_equal(policy_show(t.policy, 0, &first, &err), 0);
	snprintf(digest, sizeof(digest), "%s", policy_effective_sha256(t.policy));
	/* Comments are comments: both forms parse to the same. */
	const char *texts[] = { second.data };
	load_all(texts, 1);
	assert_string_equal(digest, policy_effective_sha256(t.policy));
	texts[0] = first.data;
	load_all(texts, 1);
	assert_string_equal(digest, policy_effective_sha256(t.policy));
	hl_buf_reset(&second);
	assert_int_equal(policy_show(t.policy, 0, &second, &err), 0);
	assert_string_equal(first.data, second.data);
	hl_buf_done(&first);
	hl_buf_done(&second);
}

static uint64_t
from_environment(const char *name, uint64_t fallback)
{
	const char *text = getenv(name);
	struct hl_err err = { 0 };
	uint64_t value = fallback;

	if (text != NULL)
		assert_int_equal(hl_parse_u64(text, 1, UINT64_MAX, &value, &err), 0);
	return value;
}

/* ------------------------------------------------------------------------------------------------
 * Comparing
 */

/* Bounds of fields only: what may go missing is not a bound, and a layer may allow it. */
static bool
is_within(const struct policy *inner, const struct policy *outer)
{
	struct policy_findings gaps = { 0 };
	struct hl_err err = { 0 };
	size_t n = 0;

	assert_int_equal(policy_within(inner, outer, "x.yaml", &gaps, &err), 0);
	/* The last one alone can be of another kind. */
	n += gaps.is_cut;
	for (size_t i = 0; i < gaps.len; i++)
		n += strncmp(gaps.items[i].message, "degrade.allow", 13) != 0;
	policy_findings_done(&gaps);
	return n == 0;
}

static struct policy *
load_and_take(const char *const *texts, size_t n)
{
	load_all(texts, n);
	struct policy *policy = t.policy;
	t.policy = NULL;
	return policy;
}

/* merge(a,b) is inside both; a is inside b when, and only when, merging b changes nothing of it. */
static void
check_containment(const char *a, const char *b)
{
	struct policy *first = load_and_take((const char *const[]){ a }, 1);
	struct policy *second = load_and_take((const char *const[]){ b }, 1);
	struct policy *both = load_and_take((const char *const[]){ a, b }, 2);

	if (!is_within(both, first) || !is_within(both, second))
		fail_msg("a merge is not inside what it was made of:\n%s--\n%s", a, b);
	if (is_within(first, second) != is_within(first, both))
		fail_msg("containment and merging disagree:\n%s--\n%s", a, b);
	policy_free(first);
	policy_free(second);
	policy_free(both);
}

static enum policy_relation
mirrored(enum policy_relation relation)
{
	if (relation == POLICY_RELATION_TIGHTER)
		return POLICY_RELATION_LOOSER;
	return relation == POLICY_RELATION_LOOSER ? POLICY_RELATION_TIGHTER : relation;
}

/* What is tighter one way is looser the other way, and nothing is told of a policy and itself. */
static void
check_pair(const struct policy *a, const struct policy *b)
{
	static struct policy_differences forward, backward;
	struct hl_err err = { 0 };

	assert_int_equal(policy_compare(a, b, &forward, &err), 0);
	if (a == b) {
		assert_int_equal(forward.len, 0);
		return;
	}
	assert_int_equal(policy_compare(b, a, &backward, &err), 0);
	assert_int_equal(forward.len, backward.len);
	for (size_t i = 0; i < forward.len; i++) {
		assert_string_equal(forward.items[i].what, backward.items[i].what);
		assert_int_equal(forward.items[i].relation, mirrored(backward.items[i].relation));
	}
	if (forward.looser + forward.moved == 0)
		assert_true(is_within(b, a));
}

enum {
	POLICIES_MAX = 512
};

static void
laws_of_comparing(void **state)
{
	static struct policy *policies[POLICIES_MAX];
	struct hl_buf text;
	/* All pairs of so many: 448 make 10^5 of them. */
	size_t n = from_environment("HL_POLICIES", 48);

	(void)state;
	assert_true(n <= POLICIES_MAX);
	hl_buf_init(&text, 1 << 16);
	/* A given seed begins this test as well, whatever the rounds before it took. */
	round_seed = seed = from_environment("HL_SEED", seed);
	for (size_t i = 0; i < n; i++) {
		random_policy(&text, "acme/a");
		policies[i] = load_and_take((const char *const[]){ text.data }, 1);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++)
			check_pair(policies[i], policies[j]);
	for (size_t i = 0; i < n; i++)
		policy_free(policies[i]);
	hl_buf_done(&text);
}

static void
one_round(struct hl_buf *a, struct hl_buf *b)
{
	struct snapshot before;

	random_policy(a, "acme/a");
	random_policy(b, "acme/b");
	load_all((const char *const[]){ a->data }, 1);
	take(&before);
	char *alone = bounds();
	load_all((const char *const[]){ a->data, a->data }, 2);
	char *twice = bounds();
	assert_string_equal(alone, twice);
	load_all((const char *const[]){ a->data, b->data }, 2);
	check_monotone(&before);
	check_origins();
	char *forward = bounds();
	load_all((const char *const[]){ b->data, a->data }, 2);
	char *backward = bounds();
	assert_string_equal(forward, backward);
	check_round_trip();
	check_containment(a->data, b->data);
	free(alone);
	free(twice);
	free(forward);
	free(backward);
}

static void
laws_of_merging(void **state)
{
	struct hl_buf a, b;
	uint64_t rounds = from_environment("HL_ROUNDS", 300);

	(void)state;
	seed = from_environment("HL_SEED", hl_now_real_us() | 1);
	hl_buf_init(&a, 1 << 16);
	hl_buf_init(&b, 1 << 16);
	for (uint64_t i = 0; i < rounds; i++) {
		round_seed = seed;
		one_round(&a, &b);
	}
	hl_buf_done(&a);
	hl_buf_done(&b);
}

static int
print_seed(void **state)
{
	fprintf(stderr, "# last round: HL_SEED=%llu HL_ROUNDS=1\n", (unsigned long long)round_seed);
	return stack_teardown(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(laws_of_merging),
		cmocka_unit_test(laws_of_comparing),
	};

	return cmocka_run_group_tests(tests, stack_setup, print_seed);
}
