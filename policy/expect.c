/*
 * Expectations of tests and examples: what may be written, and whether a settled policy has the
 * values that are expected. Requests are judged by the launcher, where all the doors of a caller
 * are; here they are only read.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

enum shape {
	SHAPE_VALUES,
	SHAPE_REQUESTS,
	SHAPE_TEXTS,
};

enum {
	EXAMPLES_MAX = 200,
	EXPECTATIONS_MAX = 1000,
	SUBJECT_SIZE = 80,
};

#define POLICY_NONE POLICY_FIELD_MAX

/* Texts and no pointers: see struct hl_code_info. */
static const struct {
	char word[12];
	enum shape shape;
} kinds[POLICY_EXPECT_MAX] = {
#define POLICY_EXPECT(symbol, word, shape) { word, SHAPE_##shape },
#include "policy/expect.def"
};

static const struct {
	char word[12];
	enum policy_field field;
} requests[POLICY_REQUEST_MAX] = {
#define POLICY_REQUEST(symbol, word, field) { word, POLICY_##field },
#include "policy/expect.def"
};

#define POLICY_EXPECT(symbol, text, shape)  HL_FITS(text, kinds[0].word);
#define POLICY_REQUEST(symbol, text, field) HL_FITS(text, requests[0].word);
#include "policy/expect.def"

/* A list that grows while it is read; the arena owns it. */
struct list {
	struct policy_expectation *v;
	size_t len, max;
};

const char *
policy_expect_word(enum policy_expect_kind kind)
{
	HL_BUG_ON((size_t)kind >= POLICY_EXPECT_MAX);
	return kinds[kind].word;
}

const char *
policy_request_word(enum policy_request_word word)
{
	HL_BUG_ON((size_t)word >= POLICY_REQUEST_MAX);
	return requests[word].word;
}

static void
add(struct policy_reader *r, struct list *list, const struct node *node,
    const struct policy_expectation *expectation)
{
	if (list->len == list->max) {
		policy_diag_error(r->diag, HLY_02, policy_at(node),
		    "there are more than %zu expectations", list->max);
		return;
	}
	list->v[list->len] = *expectation;
	list->v[list->len++].where = (struct hl_where){ r->layer->name, node->line, node->column };
}

/* ------------------------------------------------------------------------------------------------
 * Requests: {network: host}, {engine-arg: --privileged, code: HLC-12}
 */

static bool
read_code(struct policy_reader *r, const struct node *node, bool is_refuse,
    struct policy_expectation *expectation)
{
	const char *text;

	if (!policy_read_string(r, "code", node, &text))
		return false;
	expectation->code = hl_code_from_id(text);
	if (is_refuse && expectation->code != HL_OK)
		return true;
	policy_diag_error(r->diag, HLP_07, policy_at(node),
	    is_refuse ? "\"%.20s\" is no code of an error" : "what is allowed has no code (%.20s)",
	    text);
	return false;
}

static int
find_request(const struct node *key)
{
	for (size_t i = 0; i < POLICY_REQUEST_MAX; i++) {
		if (policy_node_is(key, requests[i].word))
			return (int)i;
	}
	return -1;
}

static void
report_request(struct policy_reader *r, const struct node *key)
{
	const char *words[POLICY_REQUEST_MAX + 1];

	for (size_t i = 0; i < POLICY_REQUEST_MAX; i++)
		words[i] = requests[i].word;
	words[POLICY_REQUEST_MAX] = "code";
	policy_unknown_key(r, key, "", words, HL_ARRAY_SIZE(words));
}

/* Numbers are texts here, as on a command line: {limit: pids=5}, but also {timeout: 5m}. */
static bool
read_text(struct policy_reader *r, const struct node *node, const char *word, const char **ret_text)
{
	if (!policy_expect_scalar(r, word, node))
		return false;
	*ret_text = node->text;
	return true;
}

/* A value of a variable has no place in a file that is shared. */
static bool
is_name_only(struct policy_reader *r, const struct node *node,
    const struct policy_expectation *expectation)
{
	if (expectation->word != POLICY_REQUEST_ENV || strchr(expectation->text, '=') == NULL)
		return true;
	policy_diag_error(r->diag, HLP_07, policy_at(node),
	    "an example asks for a variable by its name only");
	return false;
}

static enum policy_field
field_of(enum policy_request_word word, const char *text)
{
	char key[SUBJECT_SIZE];

	if (word != POLICY_REQUEST_LIMIT)
		return requests[word].field;
	if (strncmp(text, "limits.", 7) == 0)
		text += 7;
	size_t len = strcspn(text, "=");
	snprintf(key, sizeof(key), "limits.%.*s", len < 64 ? (int)len : 0, text);
	return policy_field_find(key);
}

/* A backend may stand beside another request, because each judges its own engine's arguments. */
static bool
read_part(struct policy_reader *r, const struct node *node, struct policy_expectation *expectation,
    size_t *asked)
{
	int word = node->key->kind == NODE_SCALAR ? find_request(node->key) : -1;

	if (policy_node_is(node->key, "code"))
		return read_code(r, node, expectation->kind == POLICY_EXPECT_REFUSE, expectation);
	if (word == POLICY_REQUEST_BACKEND)
		return read_text(r, node, requests[word].word, &expectation->backend);
	if (word < 0) {
		report_request(r, node->key);
		return false;
	}
	++*asked;
	expectation->word = (enum policy_request_word)word;
	return read_text(r, node, requests[word].word, &expectation->text) &&
	       is_name_only(r, node, expectation);
}

static void
read_request(struct policy_reader *r, const struct node *node, bool is_refuse, struct list *list)
{
	struct policy_expectation expectation = {
		.kind = is_refuse ? POLICY_EXPECT_REFUSE : POLICY_EXPECT_ALLOW,
		.field = POLICY_FIELD_MAX,
	};
	size_t asked = 0;
	bool is_good = policy_expect(r, kinds[expectation.kind].word, node, NODE_MAP);

	for (const struct node *child = is_good ? node->first : NULL; child != NULL;
	     child = child->next)
		is_good = read_part(r, child, &expectation, &asked) && is_good;
	if (asked == 0 && expectation.backend != NULL) {
		asked++;
		expectation.word = POLICY_REQUEST_BACKEND;
		expectation.text = expectation.backend;
		expectation.backend = NULL;
	}
	if (!is_good)
		return;
	if (asked != 1) {
		policy_diag_error(r->diag, HLP_03, policy_at(node),
		    "an example is one request, as in {network: host}");
		return;
	}
	expectation.field = field_of(expectation.word, expectation.text);
	add(r, list, node, &expectation);
}

/* ------------------------------------------------------------------------------------------------
 * Values: {network.mode: none, limits.memory: 1GiB}
 */

static void
report_field(struct policy_reader *r, const struct node *key)
{
	const char *keys[POLICY_FIELD_MAX];

	for (size_t i = 0; i < POLICY_FIELD_MAX; i++)
		keys[i] = policy_field_key((enum policy_field)i);
	policy_unknown_key(r, key, "", keys, POLICY_FIELD_MAX);
}

static void
read_value(struct policy_reader *r, const struct node *node, enum policy_expect_kind kind,
    struct list *list)
{
	enum policy_field field = policy_field_findn(node->key->text, node->key->len);
	struct policy_given *given;
	struct policy_expectation expectation = { .kind = kind, .field = field };

	if (field == POLICY_FIELD_MAX) {
		report_field(r, node->key);
		return;
	}
	given = policy_arena_alloc(r->arena, sizeof(*given));
	if (given == NULL) {
		r->is_oom = true;
		return;
	}
	expectation.given = given;
	given->at = policy_at(node);
	if (node->kind == NODE_BROKEN || !policy_read_short(r, field, node, given))
		return;
	if (field == POLICY_FS_WORKDIR) /* which is read as a bound, and used in the item */
		given->items.v[0].mount.access =
		    given->has_bound ? (enum policy_access)given->bound : POLICY_ACCESS_RW;
	add(r, list, node->key, &expectation);
}

/* ------------------------------------------------------------------------------------------------
 * A mapping of expectations
 */

static void
read_kind(struct policy_reader *r, const struct node *node, enum policy_expect_kind kind,
    struct list *list)
{
	static const enum node_kind wanted[] = {
		[SHAPE_VALUES] = NODE_MAP,
		[SHAPE_REQUESTS] = NODE_LIST,
		[SHAPE_TEXTS] = NODE_LIST,
	};
	enum shape shape = kinds[kind].shape;

	if (!policy_expect(r, kinds[kind].word, node, wanted[shape]))
		return;
	for (const struct node *child = node->first; child != NULL; child = child->next) {
		struct policy_expectation expectation = {
			.kind = kind,
			.field = kind == POLICY_EXPECT_PASS || kind == POLICY_EXPECT_WITHHOLD
				     ? POLICY_ENV_PASS
				     : POLICY_FIELD_MAX,
		};
		switch (shape) {
		case SHAPE_VALUES:
			if (child->key->kind == NODE_SCALAR)
				read_value(r, child, kind, list);
			break;
		case SHAPE_REQUESTS:
			read_request(r, child, kind == POLICY_EXPECT_REFUSE, list);
			break;
		case SHAPE_TEXTS:
			if (policy_read_string(r, kinds[kind].word, child, &expectation.text))
				add(r, list, child, &expectation);
			break;
		}
	}
}

static void
report_kind(struct policy_reader *r, const struct node *key, bool is_examples)
{
	const char *words[POLICY_EXPECT_MAX + 1];
	size_t n = 0;

	for (size_t i = 0; i < POLICY_EXPECT_MAX; i++) {
		if (!is_examples || kinds[i].shape == SHAPE_REQUESTS)
			words[n++] = kinds[i].word;
	}
	if (!is_examples)
		words[n++] = "name";
	policy_unknown_key(r, key, is_examples ? "examples." : "", words, n);
}

void
policy_read_expectations(struct policy_reader *r, const struct node *map, bool is_examples,
    struct policy_expectations *ret_expectations)
{
	struct list list = { .max = is_examples ? EXAMPLES_MAX : EXPECTATIONS_MAX };

	list.v = policy_arena_array(r->arena, list.max, sizeof(*list.v));
	if (list.v == NULL) {
		r->is_oom = true;
		return;
	}
	for (const struct node *child = map->first; child != NULL; child = child->next) {
		size_t kind = 0;
		if (child->key->kind != NODE_SCALAR ||
		    (!is_examples && policy_node_is(child->key, "name")))
			continue;
		while (kind < POLICY_EXPECT_MAX &&
		       (!policy_node_is(child->key, kinds[kind].word) ||
			   (is_examples && kinds[kind].shape != SHAPE_REQUESTS)))
			kind++;
		if (kind == POLICY_EXPECT_MAX)
			report_kind(r, child->key, is_examples);
		else
			read_kind(r, child, (enum policy_expect_kind)kind, &list);
	}
	*ret_expectations = (struct policy_expectations){ list.v, list.len };
}

/* ------------------------------------------------------------------------------------------------
 * Whether a policy has a value
 */

/* Of these one is used, the first: their order is part of what is said. A bound has none. */
static bool
is_ordered(const struct policy_expectation *expectation)
{
	return expectation->kind == POLICY_EXPECT_EFFECTIVE &&
	       (expectation->field == POLICY_BACKENDS || expectation->field == POLICY_IMAGE);
}

static int
put_members(const struct policy_expectation *expectation, const struct policy_item *items,
    size_t len, struct hl_buf *out)
{
	enum policy_kind kind = policy_field_kind(expectation->field);
	struct hl_strv members HL_AUTO(hl_strv_done_secret) = { 0 };
	struct hl_err ignored = { 0 };

	hl_strv_init(&members, POLICY_LIST_MAX);
	for (size_t i = 0; i < len; i++) {
		struct hl_buf one HL_AUTO(hl_buf_done_secret) = { 0 };
		hl_buf_init(&one, 1U << 16);
		policy_put_list(&one, kind, &items[i], 1);
		if (one.failed || one.len < 2)
			return -1;
		hl_strv_addn(&members, one.data + 1, one.len - 2);
	}
	if (hl_strv_check(&members, "members", &ignored) != 0)
		return -1;
	if (!is_ordered(expectation))
		hl_strv_sort(&members);
	hl_buf_putc(out, '[');
	for (size_t i = 0; i < members.len; i++)
		hl_buf_putf(out, "%s%s", i > 0 ? ", " : "", members.v[i]);
	hl_buf_putc(out, ']');
	return 0;
}

/* As text, in one form for both sides. */
static int
put_want(const struct policy_expectation *expectation, struct hl_buf *out)
{
	const struct policy_given *given = expectation->given;
	enum policy_field field = expectation->field;
	enum policy_kind kind = policy_field_kind(field);
	const struct policy_value value = {
		.kind = kind,
		.text = given->text,
		.items = given->items.v,
		.items_len = given->items.len,
	};

	if (kind == POLICY_KIND_STRING || kind == POLICY_KIND_HOME || kind == POLICY_KIND_WORKDIR)
		policy_value_format(&value, field, out);
	else if (policy_kind_is_list(kind) || kind == POLICY_KIND_MAP)
		return put_members(expectation, given->items.v, given->items.len, out);
	else
		policy_put_number(out, field, given->bound);
	return 0;
}

static int
put_effective(const struct policy *policy, const struct policy_expectation *expectation,
    struct hl_buf *out)
{
	enum policy_field field = expectation->field;
	const struct policy_value *value = &policy->values[field];

	if (policy_kind_is_list(value->kind) || value->kind == POLICY_KIND_MAP)
		return put_members(expectation, value->items, value->items_len, out);
	policy_value_format(value, field, out);
	return 0;
}

static int
put_set_bound(const struct policy_state *state, const struct policy_expectation *expectation,
    struct hl_buf *out)
{
	struct policy_arena arena = { 0 };
	struct policy_refs flat = { 0 };
	struct policy_item *items = NULL;
	int result = -1;

	if (policy_flatten(&arena, state, &flat))
		items = policy_arena_array(&arena, flat.len, sizeof(*items));
	for (size_t i = 0; items != NULL && i < flat.len; i++)
		items[i] = *flat.v[i];
	if (items != NULL)
		result = put_members(expectation, items, flat.len, out);
	policy_arena_done(&arena);
	return result;
}

static int
put_bound(const struct policy *policy, const struct policy_expectation *expectation,
    struct hl_buf *out)
{
	enum policy_field field = expectation->field;
	const struct policy_state *state = &policy->states[field];
	enum policy_kind kind = policy_field_kind(field);

	if (!state->is_bounded && !policy_kind_is_number(kind)) {
		hl_buf_puts(out, "(unbounded)");
		return 0;
	}
	if (policy_kind_is_set(kind) && policy_field_info(field)->merge != MERGE_UNION_DENY)
		return put_set_bound(state, expectation, out);
	if (policy_kind_is_list(kind) && policy_field_info(field)->merge != MERGE_UNION_DENY)
		return put_members(expectation, state->allowed.v, state->allowed.len, out);
	if (policy_kind_is_list(kind) || kind == POLICY_KIND_MAP || kind == POLICY_KIND_STRING ||
	    kind == POLICY_KIND_WORKDIR)
		return put_effective(policy, expectation, out);
	if (!state->is_bounded && policy_kind_is_ranked(kind))
		hl_buf_puts(out, "(unbounded)");
	else
		policy_put_number(out, field, state->is_bounded ? state->bound : POLICY_UNLIMITED);
	return 0;
}

int
policy_expectation_holds(const struct policy *policy, const struct policy_expectation *expectation,
    bool *ret_holds, struct hl_buf *want, struct hl_buf *have)
{
	enum policy_field field = expectation->field;
	bool is_bound = expectation->kind == POLICY_EXPECT_BOUND;

	HL_BUG_ON(kinds[expectation->kind].shape != SHAPE_VALUES);
	if (put_want(expectation, want) != 0 ||
	    (is_bound ? put_bound : put_effective)(policy, expectation, have) != 0 ||
	    want->failed || have->failed)
		return -1;
	*ret_holds = want->len == have->len && memcmp(want->data, have->data, want->len) == 0;
	/* What a policy sets a variable to, and the like, is compared and not told. */
	if (policy_field_is_private(field)) {
		hl_buf_reset(want);
		hl_buf_reset(have);
		hl_buf_puts(want, "what is expected");
		hl_buf_puts(have, "something else");
	}
	return 0;
}

const struct policy_expectations *
policy_examples(const struct policy *policy, size_t i)
{
	HL_BUG_ON(i >= policy->layers_len);
	return &policy->layers[i]->examples;
}
