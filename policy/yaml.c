/*
 * YAML events to a tree. libyaml reads; everything that YAML allows and a policy does not is
 * refused here, at the event, before anything of it is kept: a second document, directives,
 * anchors, aliases, merge keys, tags, keys that are not scalars, keys given twice, depth and size
 * without end.
 *
 * libyaml 0.2.5 needs time quadratic in the flow depth (100 KB of "[" take 20 s), so the depth must
 * be stopped in the event loop: the scanner reads no further than the events that were asked for.
 * The same of %TAG directives (1 MB of them take 5 s), which come before any event.
 */
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/base.h"
#include "policy/node.h"

#include "base/banned.h"

enum {
	DIRECTIVES_MAX = 16,
};

struct level {
	struct node *node;
	struct node *pending; /* a key that waits for its value */
	bool is_key;          /* the whole container stands where a key should */
};

struct loader {
	yaml_parser_t parser;
	struct policy_source *source;
	struct policy_arena *arena;
	struct diag *diag;
	struct level stack[POLICY_DEPTH_MAX];
	size_t depth;
	size_t nodes;
	size_t documents;
	struct node *root;
};

/* What a handler answers. */
enum step {
	STEP_ON,
	STEP_STOP, /* reported, and reading on makes no sense */
	STEP_OOM,
};

/* libyaml counts characters; we want bytes. Both index and offset are kept from the last call. */
static size_t
offset_of(struct policy_source *source, size_t index)
{
	if (source->is_ascii) {
		source->mark_offset = index < source->len ? index : source->len;
		return source->mark_offset;
	}
	while (source->mark_index > index) {
		do
			source->mark_offset--;
		while (((unsigned char)source->bytes[source->mark_offset] & 0xc0) == 0x80);
		source->mark_index--;
	}
	while (source->mark_index < index && source->mark_offset < source->len) {
		source->mark_offset++;
		while (source->mark_offset < source->len &&
		       ((unsigned char)source->bytes[source->mark_offset] & 0xc0) == 0x80)
			source->mark_offset++;
		source->mark_index++;
	}
	return source->mark_offset;
}

static struct diag_at
place_of(struct policy_source *source, const yaml_mark_t *mark)
{
	size_t offset = offset_of(source, mark->index);
	size_t line = mark->line < source->lines ? mark->line : source->lines - 1;
	size_t start = source->starts[line];

	return (struct diag_at){ (uint32_t)line + 1,
		(uint32_t)(offset >= start ? offset - start + 1 : 1), 0 };
}

static struct diag_at
place_of_event(struct loader *l, const yaml_event_t *event)
{
	struct diag_at at = place_of(l->source, &event->start_mark);
	size_t start = l->source->mark_offset;
	size_t end = offset_of(l->source, event->end_mark.index), line_len;

	policy_source_line(l->source, at.line, &line_len);
	if (end > start)
		at.width = (uint32_t)(end - start);
	if (at.column - 1 + (size_t)at.width > line_len)
		at.width = line_len >= at.column ? (uint32_t)(line_len - at.column + 1) : 0;
	return at;
}

static struct node *
new_node(struct loader *l, enum node_kind kind, const yaml_event_t *event)
{
	struct node *node = policy_arena_alloc(l->arena, sizeof(*node));
	struct diag_at at = place_of_event(l, event);

	if (node == NULL)
		return NULL;
	node->kind = kind;
	node->line = at.line;
	node->column = at.column;
	/* A container's place is its first byte. */
	node->width = kind == NODE_LIST || kind == NODE_MAP ? 1 : at.width;
	node->end_line =
	    kind == NODE_LIST || kind == NODE_MAP ? 0 : (uint32_t)event->end_mark.line + 1;
	return node;
}

static enum step
too_large(struct loader *l, struct diag_at at, const char *what, size_t max)
{
	policy_diag_error(l->diag, HLY_02, at, "%s (at most %zu)", what, max);
	return STEP_STOP;
}

/* A node where a key is expected. */
static void
take_key(struct loader *l, struct level *top, struct node *node)
{
	top->pending = node;
	if (node->kind != NODE_SCALAR) {
		if (node->kind != NODE_BROKEN)
			policy_diag_error(l->diag, HLY_10, policy_at(node),
			    "a key must be a plain word");
		node->kind = NODE_BROKEN;
	} else if (policy_node_is(node, "<<")) {
		policy_diag_error(l->diag, HLY_05, policy_at(node), "merge keys are not accepted");
		policy_diag_help(l->diag, "write the keys out");
		node->kind = NODE_BROKEN;
	}
}

static enum step
attach(struct loader *l, struct node *node)
{
	if (l->depth == 0) {
		l->root = node;
		return STEP_ON;
	}
	struct level *top = &l->stack[l->depth - 1];
	if (top->node->kind == NODE_MAP && top->pending == NULL) {
		if (node->kind == NODE_SCALAR && node->len > POLICY_KEY_MAX)
			return too_large(l, policy_at(node), "the key is too long: bytes",
			    POLICY_KEY_MAX);
		take_key(l, top, node);
		return STEP_ON;
	}
	if (top->node->kind == NODE_LIST && top->node->children == POLICY_LIST_MAX)
		return too_large(l, policy_at(node), "the list has too many members",
		    POLICY_LIST_MAX);
	node->key = top->pending;
	top->pending = NULL;
	if (top->node->last != NULL)
		top->node->last->next = node;
	else
		top->node->first = node;
	top->node->last = node;
	top->node->children++;
	return STEP_ON;
}

static enum step
count_node(struct loader *l, const yaml_event_t *event)
{
	if (++l->nodes <= POLICY_NODES_MAX)
		return STEP_ON;
	return too_large(l, place_of_event(l, event), "the file has too many keys and values",
	    POLICY_NODES_MAX);
}

/* Anchors and tags of a value; the value itself is kept so that later findings are found too. */
static void
check_properties(struct loader *l, const yaml_event_t *event, const unsigned char *anchor,
    const unsigned char *tag)
{
	if (anchor != NULL) {
		policy_diag_error(l->diag, HLY_05, place_of_event(l, event),
		    "anchors are not accepted");
		policy_diag_help(l->diag, "write the value out where it is used");
	}
	if (tag != NULL) {
		policy_diag_error(l->diag, HLY_07, place_of_event(l, event),
		    "tags are not accepted");
		policy_diag_help(l->diag, "remove the tag: the key decides the type");
	}
}

static enum step
on_nothing(struct loader *l, yaml_event_t *event)
{
	(void)l;
	(void)event;
	return STEP_ON;
}

static enum step
on_document(struct loader *l, yaml_event_t *event)
{
	const yaml_version_directive_t *version = event->data.document_start.version_directive;

	if (l->documents++ > 0) {
		policy_diag_error(l->diag, HLY_03, place_of_event(l, event),
		    "a second document begins here");
		policy_diag_help(l->diag, "a policy is one document; use a file for each");
		return STEP_STOP;
	}
	if (version != NULL || event->data.document_start.tag_directives.start !=
				   event->data.document_start.tag_directives.end) {
		policy_diag_error(l->diag, HLY_04, place_of_event(l, event),
		    "directives (%%YAML, %%TAG) are not accepted");
		policy_diag_help(l->diag, "remove the line");
	}
	return STEP_ON;
}

static enum step
on_alias(struct loader *l, yaml_event_t *event)
{
	struct node *node = new_node(l, NODE_BROKEN, event);

	if (node == NULL)
		return STEP_OOM;
	policy_diag_error(l->diag, HLY_05, policy_at(node), "aliases are not accepted");
	policy_diag_help(l->diag, "write the value out");
	enum step step = count_node(l, event);
	return step == STEP_ON ? attach(l, node) : step;
}

static enum step
on_scalar(struct loader *l, yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	struct node *node = new_node(l, NODE_SCALAR, event);
	enum step step = count_node(l, event);

	if (node == NULL)
		return STEP_OOM;
	if (step != STEP_ON)
		return step;
	if (len > POLICY_SCALAR_MAX)
		return too_large(l, policy_at(node), "the value is too long: bytes",
		    POLICY_SCALAR_MAX);
	check_properties(l, event, event->data.scalar.anchor, event->data.scalar.tag);
	node->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->text = policy_arena_dup(l->arena, text, len);
	node->len = len;
	if (node->text == NULL)
		return STEP_OOM;
	size_t before = l->diag->out->errors;
	if (!l->source->has_hidden && !policy_text_check(text, len, policy_at(node), l->diag))
		node->kind = NODE_BROKEN;
	HL_BUG_ON(node->kind == NODE_BROKEN && l->diag->out->errors == before);
	return attach(l, node);
}

static enum step
on_start(struct loader *l, yaml_event_t *event, enum node_kind kind)
{
	struct node *node = new_node(l, kind, event);
	enum step step = count_node(l, event);
	bool is_key = l->depth > 0 && l->stack[l->depth - 1].node->kind == NODE_MAP &&
		      l->stack[l->depth - 1].pending == NULL;

	if (node == NULL)
		return STEP_OOM;
	if (step != STEP_ON)
		return step;
	if (l->depth == POLICY_DEPTH_MAX) {
		policy_diag_error(l->diag, HLY_11, policy_at(node), "nested too deep (at most %d)",
		    POLICY_DEPTH_MAX);
		return STEP_STOP;
	}
	if (!is_key) {
		step = attach(l, node);
		if (step != STEP_ON)
			return step;
	}
	l->stack[l->depth++] = (struct level){ .node = node, .is_key = is_key };
	return STEP_ON;
}

static enum step
on_list(struct loader *l, yaml_event_t *event)
{
	check_properties(l, event, event->data.sequence_start.anchor,
	    event->data.sequence_start.tag);
	return on_start(l, event, NODE_LIST);
}

static enum step
on_map(struct loader *l, yaml_event_t *event)
{
	check_properties(l, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
	return on_start(l, event, NODE_MAP);
}

/* By text, then by place, so that of equal keys the first given comes first. */
static int
compare_keys(const void *a, const void *b)
{
	const struct node *x = *(const struct node *const *)a;
	const struct node *y = *(const struct node *const *)b;
	size_t len = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->text, y->text, len);

	if (order != 0)
		return order;
	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->column < y->column ? -1 : x->column > y->column;
}

static void
report_duplicate(struct loader *l, const struct node *first, struct node *second)
{
	struct hl_where where = { l->diag->file, first->line, first->column };

	policy_diag_error(l->diag, HLY_06, policy_at(second), "the key \"%.*s\" is given twice",
	    policy_name_len(second->text), second->text);
	policy_diag_other(l->diag, where, "first given here");
	policy_diag_help(l->diag, "keep one of them");
	second->kind = NODE_BROKEN;
}

static enum step
check_duplicates(struct loader *l, const struct node *map)
{
	size_t n = 0;
	struct node **keys;

	if (map->children < 2)
		return STEP_ON;
	keys = calloc(map->children, sizeof(struct node *));
	if (keys == NULL)
		return STEP_OOM;
	for (struct node *child = map->first; child != NULL; child = child->next) {
		if (child->key->kind == NODE_SCALAR)
			keys[n++] = child->key;
	}
	qsort(keys, n, sizeof(struct node *), compare_keys);
	for (size_t i = 1, first = 0; i < n; i++) {
		if (keys[i]->len == keys[first]->len &&
		    memcmp(keys[i]->text, keys[first]->text, keys[i]->len) == 0)
			report_duplicate(l, keys[first], keys[i]);
		else
			first = i;
	}
	free(keys);
	return STEP_ON;
}

static enum step
on_end(struct loader *l, yaml_event_t *event)
{
	struct level *top = &l->stack[--l->depth];
	size_t line = event->end_mark.line + 1;

	/* A block ends where the next thing begins. */
	if (event->start_mark.index == event->end_mark.index && line > top->node->line)
		line--;
	top->node->end_line = (uint32_t)line;
	if (top->node->kind == NODE_MAP) {
		enum step step = check_duplicates(l, top->node);
		if (step != STEP_ON)
			return step;
	}
	return top->is_key ? attach(l, top->node) : STEP_ON;
}

static enum step
handle(struct loader *l, yaml_event_t *event)
{
	static enum step (*const handlers[])(struct loader *, yaml_event_t *) = {
		[YAML_NO_EVENT] = on_nothing,
		[YAML_STREAM_START_EVENT] = on_nothing,
		[YAML_STREAM_END_EVENT] = on_nothing,
		[YAML_DOCUMENT_START_EVENT] = on_document,
		[YAML_DOCUMENT_END_EVENT] = on_nothing,
		[YAML_ALIAS_EVENT] = on_alias,
		[YAML_SCALAR_EVENT] = on_scalar,
		[YAML_SEQUENCE_START_EVENT] = on_list,
		[YAML_SEQUENCE_END_EVENT] = on_end,
		[YAML_MAPPING_START_EVENT] = on_map,
		[YAML_MAPPING_END_EVENT] = on_end,
	};

	HL_BUG_ON((size_t)event->type >= HL_ARRAY_SIZE(handlers));
	return handlers[event->type](l, event);
}

static bool
is_tab_indented(const char *line, size_t len)
{
	size_t i = 0;

	while (i < len && line[i] == ' ')
		i++;
	return i < len && line[i] == '\t';
}

/* libyaml's own refusal. Its texts are fixed strings and never quote the file. */
static enum step
on_syntax(struct loader *l)
{
	const yaml_parser_t *parser = &l->parser;
	struct diag_at at = { 0, 0, 0 };
	size_t len;

	if (parser->error == YAML_MEMORY_ERROR)
		return STEP_OOM;
	if (parser->error != YAML_READER_ERROR)
		at = place_of(l->source, &parser->problem_mark);
	policy_diag_error(l->diag, HLY_01, at, "not YAML: %s",
	    parser->problem != NULL ? parser->problem : "unreadable");
	const char *line = policy_source_line(l->source, at.line, &len);
	if (is_tab_indented(line, len))
		policy_diag_help(l->diag, "indent with spaces, not with tabs");
	if (parser->context != NULL && parser->context_mark.line + 1 != at.line) {
		struct diag_at from = place_of(l->source, &parser->context_mark);
		policy_diag_other(l->diag,
		    (struct hl_where){ l->diag->file, from.line, from.column }, parser->context);
	}
	return STEP_STOP;
}

static enum step
run(struct loader *l)
{
	enum step step = STEP_ON;
	bool is_end = false;

	while (step == STEP_ON && !is_end) {
		yaml_event_t event;
		if (!yaml_parser_parse(&l->parser, &event))
			return on_syntax(l);
		is_end = event.type == YAML_STREAM_END_EVENT;
		step = handle(l, &event);
		yaml_event_delete(&event);
	}
	return step;
}

/* Before a directive libyaml passes over blanks, comments and empty lines. */
static size_t
blanks_before(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && (text[n] == ' ' || text[n] == '\t' || text[n] == '\r'))
		n++;
	return n;
}

/* True when so many directives stand before the document that they would cost time. */
static bool
has_many_directives(const struct policy_source *source, struct diag *diag)
{
	struct diag_at first = { 0 };
	unsigned n = 0;

	for (uint32_t line = 1; line <= source->lines; line++) {
		size_t len;
		const char *text = policy_source_line(source, line, &len);
		size_t blanks = blanks_before(text, len);
		if (blanks < len && text[blanks] != '%' && text[blanks] != '#')
			break;
		if (len == 0 || text[0] != '%' || ++n > 1)
			continue;
		first = (struct diag_at){ line, 1, 1 };
	}
	if (n <= DIRECTIVES_MAX)
		return false;
	policy_diag_error(diag, HLY_04, first, "directives (%%YAML, %%TAG) are not accepted");
	policy_diag_help(diag, "remove the line, and the others like it");
	return true;
}

int
policy_yaml_load(struct policy_source *source, struct policy_arena *arena, struct diag *diag,
    struct node **ret_root, struct hl_err *err)
{
	struct loader l = { .source = source, .arena = arena, .diag = diag };

	if (has_many_directives(source, diag))
		return 0;
	if (!yaml_parser_initialize(&l.parser))
		return hl_err_oom(err);
	yaml_parser_set_encoding(&l.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&l.parser, (const unsigned char *)source->bytes, source->len);
	enum step step = run(&l);
	yaml_parser_delete(&l.parser);
	if (step == STEP_OOM)
		return hl_err_oom(err);
	*ret_root = l.root;
	return 0;
}

bool
policy_node_is_empty(const struct node *node)
{
	return node->kind == NODE_SCALAR && node->is_plain && node->len == 0;
}

bool
policy_node_is(const struct node *node, const char *text)
{
	return node->text != NULL && node->len == strlen(text) &&
	       memcmp(node->text, text, node->len) == 0;
}

const struct node *
policy_node_find(const struct node *map, const char *key)
{
	for (const struct node *child = map->first; child != NULL; child = child->next) {
		if (child->key != NULL && child->key->kind == NODE_SCALAR &&
		    policy_node_is(child->key, key))
			return child;
	}
	return NULL;
}
