/*
 * A configuration file of another program, as nodes. Unlike a policy's reader (yaml.c) this one
 * takes whatever that program takes: texts of many lines, keys of any length, tags and anchors. Of
 * these a value becomes NODE_BROKEN, which is an error only for whoever needs it. What would make
 * two readers see two different files is refused: a second document, a merge key or a key given
 * twice on the way to a setting (import.c looks for these).
 */
#include <string.h>

#include <yaml.h>

#include "policy/import.h"

#include "base/banned.h"

enum {
	/* libyaml 0.2.5 takes time quadratic in the depth of flow collections, and in the number of
	 * directives. */
	DEPTH_MAX = 32,
	DIRECTIVES_MAX = 16,
	NODES_MAX = 65536,
};

struct reader {
	yaml_parser_t parser;
	struct policy_arena *arena;
	struct hl_err *err;
	const char *name;
	struct node *stack[DEPTH_MAX];
	struct node *keys[DEPTH_MAX]; /* waits for its value */
	size_t depth;
	size_t nodes, documents;
	struct node *root;
};

static int
refuse(struct reader *r, const yaml_mark_t *mark, const char *what)
{
	hl_err_set(r->err, HLU_40, "%s", what);
	r->err->where =
	    (struct hl_where){ r->name, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1 };
	return -1;
}

static void
attach(struct reader *r, struct node *node)
{
	struct node *parent = r->depth > 0 ? r->stack[r->depth - 1] : NULL;
	struct node **key = r->depth > 0 ? &r->keys[r->depth - 1] : NULL;

	if (parent == NULL) {
		r->root = node;
		return;
	}
	if (parent->kind == NODE_MAP && *key == NULL) {
		*key = node;
		return;
	}
	node->key = *key;
	*key = NULL;
	if (parent->last != NULL)
		parent->last->next = node;
	else
		parent->first = node;
	parent->last = node;
	parent->children++;
}

static struct node *
new_node(struct reader *r, const yaml_event_t *event, enum node_kind kind)
{
	struct node *node = policy_arena_alloc(r->arena, sizeof(*node));

	if (node == NULL) {
		hl_err_oom(r->err);
		return NULL;
	}
	node->kind = kind;
	node->line = (uint32_t)event->start_mark.line + 1;
	node->column = (uint32_t)event->start_mark.column + 1;
	return node;
}

static int
on_scalar(struct reader *r, const yaml_event_t *event)
{
	bool is_tagged = event->data.scalar.tag != NULL;
	struct node *node = new_node(r, event, is_tagged ? NODE_BROKEN : NODE_SCALAR);

	if (node == NULL)
		return -1;
	node->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->len = event->data.scalar.length;
	node->text = policy_arena_dup(r->arena, (const char *)event->data.scalar.value, node->len);
	if (node->text == NULL)
		return hl_err_oom(r->err);
	attach(r, node);
	return 0;
}

static int
on_alias(struct reader *r, const yaml_event_t *event)
{
	struct node *node = new_node(r, event, NODE_BROKEN);

	if (node == NULL)
		return -1;
	node->text = "*";
	node->len = 1;
	attach(r, node);
	return 0;
}

static int
on_start(struct reader *r, const yaml_event_t *event, bool is_map)
{
	struct node *node = new_node(r, event, is_map ? NODE_MAP : NODE_LIST);

	if (node == NULL)
		return -1;
	if (r->depth == DEPTH_MAX)
		return refuse(r, &event->start_mark, "the file is nested too deep");
	attach(r, node);
	r->keys[r->depth] = NULL;
	r->stack[r->depth++] = node;
	return 0;
}

static int
on_document(struct reader *r, const yaml_event_t *event)
{
	if (r->documents++ == 0)
		return 0;
	return refuse(r, &event->start_mark, "a second document begins here");
}

static int
on_event(struct reader *r, const yaml_event_t *event)
{
	if (++r->nodes > NODES_MAX)
		return refuse(r, &event->start_mark, "the file has too many keys and values");
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		return on_document(r, event);
	case YAML_ALIAS_EVENT:
		return on_alias(r, event);
	case YAML_SCALAR_EVENT:
		return on_scalar(r, event);
	case YAML_SEQUENCE_START_EVENT:
		return on_start(r, event, false);
	case YAML_MAPPING_START_EVENT:
		return on_start(r, event, true);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		r->depth--;
		return 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	return 0;
}

static int
read_all(struct reader *r)
{
	bool is_end = false;
	int result = 0;

	while (result == 0 && !is_end) {
		yaml_event_t event;
		if (!yaml_parser_parse(&r->parser, &event)) {
			/* libyaml's texts are fixed strings and never quote the file. */
			return r->parser.error == YAML_MEMORY_ERROR
				   ? hl_err_oom(r->err)
				   : refuse(r, &r->parser.problem_mark,
					 r->parser.problem != NULL ? r->parser.problem
								   : "it is not YAML");
		}
		is_end = event.type == YAML_STREAM_END_EVENT;
		result = on_event(r, &event);
		yaml_event_delete(&event);
	}
	return result;
}

/* They stand before the document, at the beginning of a line. */
static bool
has_many_directives(const struct policy_text *text)
{
	const char *end = text->bytes + text->len;
	size_t n = 0;

	for (const char *line = text->bytes; line < end; line++) {
		n += *line == '%';
		line = memchr(line, '\n', (size_t)(end - line));
		if (line == NULL)
			break;
	}
	return n > DIRECTIVES_MAX;
}

int
import_yaml_read(struct policy_arena *arena, const struct policy_text *text,
    const struct node **ret_root, struct hl_err *err)
{
	struct reader r = { .arena = arena, .err = err, .name = text->name };

	if (has_many_directives(text))
		return refuse(&r, &(yaml_mark_t){ 0 }, "the file has too many directives");
	if (!yaml_parser_initialize(&r.parser))
		return hl_err_oom(err);
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text->bytes, text->len);
	int result = read_all(&r);
	yaml_parser_delete(&r.parser);
	if (result == 0)
		*ret_root = r.root;
	return result;
}
