/*
 * policy fmt: a file in its canonical form. Lines are moved and shifted, never written anew, so
 * that comments stay with the key below them and nobody's spelling of a value is changed. Block
 * mappings get the order of the tables, two columns a level, one space behind the colon; what
 * stands in braces, and lists, keep their own form. The result is read again and compared with what
 * was read: only the same tree leaves this file.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/file.h"
#include "policy/layer.h"
#include "policy/records.h"
#include "policy/structures.h"

#include "base/banned.h"

enum {
	INDENT = 2,
	PATH_SIZE = 4 * (POLICY_KEY_MAX + 1),
};

struct canonical {
	const struct policy_source *source;
	struct policy_arena *arena;
	struct hl_buf *out;
	bool is_oom;
};

/* A key with the comments above it and the lines of its value. Lines from first up to end. */
struct chunk {
	const struct node *node;
	uint32_t first, end;
	size_t rank;
};

static const char *
line_text(const struct canonical *c, uint32_t line, size_t *ret_len)
{
	const char *text = policy_source_line(c->source, line, ret_len);

	while (*ret_len > 0 && strchr(" \t\r", text[*ret_len - 1]) != NULL)
		(*ret_len)--;
	return text;
}

static size_t
leading_spaces(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] == ' ')
		n++;
	return n;
}

static bool
is_blank(const struct canonical *c, uint32_t line)
{
	size_t len;

	line_text(c, line, &len);
	return len == 0;
}

static bool
is_comment(const struct canonical *c, uint32_t line)
{
	size_t len;
	const char *text = line_text(c, line, &len);
	size_t at = leading_spaces(text, len);

	return at < len && text[at] == '#';
}

/* ------------------------------------------------------------------------------------------------
 * The order of keys
 */

static size_t
rank_of_member(enum policy_kind kind, const struct node *key)
{
	const struct member *members = policy_members(kind);
	size_t i = 0;

	while (i < MEMBERS_MAX && members[i].key != NULL && !policy_node_is(key, members[i].key))
		i++;
	return i;
}

/* The same below a name: "secrets.NAME."; of no such prefix SIZE_MAX. */
static size_t
rank_of_record_member(const char *prefix, const struct node *key)
{
	size_t section = strcspn(prefix, "."), len, i = 0;
	enum policy_field field = policy_field_findn(prefix, section);

	if (field == POLICY_FIELD_MAX || policy_field_kind(field) != POLICY_KIND_NAMED ||
	    prefix[section + 1] == '\0')
		return SIZE_MAX;
	const struct record_member *rows = policy_record_members(field, &len, NULL);
	while (i < len && (policy_record_key_len(&rows[i]) != key->len ||
			      memcmp(rows[i].key, key->text, key->len) != 0))
		i++;
	return i;
}

/* prefix: "", "limits." or a field's "limits.memory."; equal ranks keep their order. */
static size_t
rank_of(const struct node *key, const char *prefix)
{
	size_t frame_len, len = strlen(prefix);
	const char *const *frame = policy_frame_keys(&frame_len);
	enum policy_field own = len > 0 ? policy_field_findn(prefix, len - 1) : POLICY_FIELD_MAX;

	size_t member = rank_of_record_member(prefix, key);
	if (member != SIZE_MAX)
		return member;
	for (size_t i = 0; len == 0 && i < frame_len; i++)
		if (policy_node_is(key, frame[i]))
			/* The last key of the frame, the examples, comes behind what they show. */
			return i + 1 < frame_len ? i : frame_len + POLICY_FIELD_MAX;
	if (own != POLICY_FIELD_MAX) {
		enum policy_kind kind = policy_field_kind(own);
		int form = policy_word_index(policy_field_forms(own), key->text, key->len);
		if (kind == POLICY_KIND_WORKDIR || kind == POLICY_KIND_HOME)
			return rank_of_member(kind, key);
		if (form >= 0)
			return (size_t)form;
	}
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const char *full = policy_field_key((enum policy_field)i);
		if (strncmp(full, prefix, len) == 0 && strcspn(full + len, ".") == key->len &&
		    memcmp(full + len, key->text, key->len) == 0)
			return frame_len + i;
	}
	return frame_len + POLICY_FIELD_MAX;
}

/* ------------------------------------------------------------------------------------------------
 * Lines
 */

/* One blank line at most, and none at the beginning. */
static void
put_blank(struct canonical *c)
{
	size_t len = c->out->len;

	if (len == 0 || (len > 1 && c->out->data[len - 1] == '\n' && c->out->data[len - 2] == '\n'))
		return;
	hl_buf_putc(c->out, '\n');
}

static void
put_spaces(struct canonical *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hl_buf_putc(c->out, ' ');
}

/* The line with its first column moved from where the key was to where it is now. */
static void
put_shifted(struct canonical *c, uint32_t line, size_t from, size_t to)
{
	size_t len;
	const char *text = line_text(c, line, &len);
	size_t spaces = leading_spaces(text, len);

	if (len == 0) {
		put_blank(c);
		return;
	}
	put_spaces(c, spaces >= from ? spaces - from + to : to);
	hl_buf_put(c->out, text + spaces, len - spaces);
	hl_buf_putc(c->out, '\n');
}

/* "key: value  # comment", or "key:" and what is behind it when the value is on lines of its own.
 */
static void
put_key_line(struct canonical *c, const struct node *node, size_t indent)
{
	size_t len;
	const char *text = line_text(c, node->key->line, &len);
	size_t at = node->key->column - 1, after = at + node->key->width;

	put_spaces(c, indent);
	hl_buf_put(c->out, text + at, node->key->width);
	hl_buf_putc(c->out, ':');
	while (after < len && text[after] != ':')
		after++;
	after += after < len;
	size_t rest = after + strspn(text + after, " \t");
	if (rest < len) {
		/* A comment behind the colon keeps its distance. */
		hl_buf_puts(c->out, text[rest] == '#' ? "  " : " ");
		hl_buf_put(c->out, text + rest, len - rest);
	}
	hl_buf_putc(c->out, '\n');
}

/* A mapping whose keys have lines of their own. */
static bool
is_block_map(const struct canonical *c, const struct node *node)
{
	size_t len;

	if (node->kind != NODE_MAP || node->first == NULL || node->line == node->key->line)
		return false;
	const char *text = policy_source_line(c->source, node->line, &len);
	return node->column <= len && text[node->column - 1] != '{';
}

/* Behind the last line that says something. */
static uint32_t
content_end(const struct canonical *c, uint32_t first, uint32_t end)
{
	while (end > first && (is_blank(c, end - 1) || is_comment(c, end - 1)))
		end--;
	return end;
}

/* A comment behind a value that is indented deeper than the next key belongs to the value above. */
static uint32_t
chunk_end(const struct canonical *c, const struct node *node, uint32_t end)
{
	uint32_t last = content_end(c, node->key->line + 1, end);

	for (uint32_t line = last; line < end; line++) {
		size_t len;
		const char *text = line_text(c, line, &len);
		if (len > 0 && leading_spaces(text, len) >= node->key->column)
			last = line + 1;
	}
	return last;
}

static void put_map(struct canonical *c, const struct node *map, uint32_t end, const char *prefix);

static void
put_chunk(struct canonical *c, const struct chunk *chunk, const char *prefix)
{
	const struct node *node = chunk->node;
	size_t indent = policy_key_depth(prefix) * INDENT, from = node->key->column - 1;
	char below[PATH_SIZE];

	for (uint32_t line = chunk->first; line < node->key->line; line++)
		put_shifted(c, line, SIZE_MAX, indent);
	put_key_line(c, node, indent);
	if (is_block_map(c, node)) {
		size_t len = strlen(prefix);
		HL_BUG_ON(len + node->key->len + 2 > sizeof(below));
		memcpy(below, prefix, len);
		memcpy(below + len, node->key->text, node->key->len);
		memcpy(below + len + node->key->len, ".", 2);
		put_map(c, node, chunk->end, below);
		return;
	}
	for (uint32_t line = node->key->line + 1; line < chunk->end; line++)
		put_shifted(c, line, from, indent);
}

static void
sort_chunks(struct chunk *chunks, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct chunk moved = chunks[i];
		size_t j = i;
		for (; j > 0 && chunks[j - 1].rank > moved.rank; j--)
			chunks[j] = chunks[j - 1];
		chunks[j] = moved;
	}
}

/* map's lines go up to end. Recursion is bounded by the depth of the tree. */
static void
put_map(struct canonical *c, const struct node *map, uint32_t end, const char *prefix)
{
	struct chunk *chunks = policy_arena_array(c->arena, map->children, sizeof(*chunks));
	uint32_t from = map->key != NULL ? map->key->line + 1 : 1;
	size_t n = 0;

	if (chunks == NULL) {
		c->is_oom = true;
		return;
	}
	for (const struct node *child = map->first; child != NULL; child = child->next) {
		uint32_t next = child->next != NULL ? child->next->key->line : end;
		chunks[n] = (struct chunk){ child, from, chunk_end(c, child, next),
			rank_of(child->key, prefix) };
		from = chunks[n++].end;
	}
	sort_chunks(chunks, n);
	for (size_t i = 0; i < n; i++) {
		/* A section does not begin with a blank line. */
		while (i == 0 && map->key != NULL && chunks[i].first < chunks[i].node->key->line &&
		       is_blank(c, chunks[i].first))
			chunks[i].first++;
		put_chunk(c, &chunks[i], prefix);
	}
	/* What stands behind the last key stays at the end. */
	for (uint32_t line = from; line < end; line++)
		put_shifted(c, line, SIZE_MAX, policy_key_depth(prefix) * INDENT);
}

/* ------------------------------------------------------------------------------------------------
 * The same tree
 */

static bool is_same(const struct node *a, const struct node *b);

static bool
has_same_child(const struct node *map, const struct node *wanted)
{
	for (const struct node *child = map->first; child != NULL; child = child->next)
		if (is_same(child->key, wanted->key))
			return is_same(child, wanted);
	return false;
}

/* Depth is bounded by the loader. */
static bool
is_same(const struct node *a, const struct node *b)
{
	if (a->kind != b->kind || a->children != b->children)
		return false;
	if (a->kind == NODE_SCALAR)
		return a->is_plain == b->is_plain && a->len == b->len &&
		       memcmp(a->text, b->text, a->len) == 0;
	const struct node *other = b->first;
	for (const struct node *child = a->first; child != NULL; child = child->next) {
		if (a->kind == NODE_MAP ? !has_same_child(b, child) : !is_same(child, other))
			return false;
		other = other->next;
	}
	return true;
}

/* What the line-wise form has no place for: two keys on one line, a text over several. */
static bool
is_simple(const struct canonical *c, const struct node *map, struct diag *diag)
{
	const struct node *last = NULL;

	for (const struct node *child = map->first; child != NULL;
	     last = child, child = child->next) {
		bool is_alone = last == NULL || child->key->line != last->key->line;
		size_t len;
		const char *text = policy_source_line(c->source, child->key->line, &len);
		if (!is_alone || leading_spaces(text, len) + 1 != child->key->column ||
		    (child->kind == NODE_SCALAR && child->end_line > child->line)) {
			policy_diag_error(diag, HLP_27, policy_at(child->key),
			    "\"%.60s\" cannot be put into canonical form line by line",
			    child->key->text);
			policy_diag_help(diag,
			    child->kind == NODE_SCALAR && child->end_line > child->line
				? "write its value in one line"
				: "give each key a line of its own");
			return false;
		}
		if (is_block_map(c, child) && !is_simple(c, child, diag))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * A file
 */

struct text {
	struct policy_source source;
	struct node *root;
};

/* The tree of source, checked like any policy. *ret_root NULL: it has errors. */
static int
read_tree(struct text *text, struct policy_arena *arena, struct diag *diag, struct hl_err *err)
{
	struct policy_read *layer = policy_arena_alloc(arena, sizeof(*layer));
	struct policy_reader reader = { .arena = arena, .diag = diag, .layer = layer };
	size_t errors = diag->out->errors;
	bool is_text;

	if (layer == NULL)
		return hl_err_oom(err);
	layer->name = text->source.name;
	layer->rank = 3;
	layer->row.layer = "task";
	if (policy_source_init(&text->source, diag, &is_text, err) != 0)
		return -1;
	if (is_text && policy_yaml_load(&text->source, arena, diag, &text->root, err) != 0)
		return -1;
	if (text->root != NULL && text->root->end_line > 0 &&
	    policy_schema_read(&reader, text->root, err) != 0)
		return -1;
	if (text->root == NULL && diag->out->errors == errors)
		policy_diag_error(diag, HLP_01, (struct diag_at){ 1, 1, 0 }, "the policy is empty");
	return 0;
}

/* The canonical form is read again, for what is written must mean the same. */
static int
check_result(const struct node *root, const struct hl_buf *out, struct policy_arena *arena,
    struct hl_err *err)
{
	struct policy_findings findings;
	struct diag diag;
	struct text again = { .source = { .name = "result", .bytes = out->data, .len = out->len } };

	policy_findings_init(&findings);
	policy_diag_init(&diag, &findings, "result");
	int result = read_tree(&again, arena, &diag, err);
	if (result == 0 &&
	    (findings.errors > 0 || again.root == NULL || !is_same(root, again.root)))
		result = hl_err_set(err, HLI_02, "the canonical form would not mean the same");
	policy_source_done(&again.source);
	policy_findings_done(&findings);
	return result;
}

static int
put_file(struct text *text, struct policy_arena *arena, struct diag *diag, struct hl_buf *out,
    struct hl_err *err)
{
	struct canonical c = { .source = &text->source, .arena = arena, .out = out };

	if (!is_simple(&c, text->root, diag))
		return 0;
	put_map(&c, text->root, (uint32_t)text->source.lines + 1, "");
	while (out->len > 1 && out->data[out->len - 1] == '\n' && out->data[out->len - 2] == '\n')
		out->data[--out->len] = '\0';
	if (c.is_oom)
		return hl_err_oom(err);
	if (hl_buf_check(out, "canonical form", err) != 0)
		return -1;
	return check_result(text->root, out, arena, err);
}

int
policy_canonical(const char *name, const struct hl_buf *bytes, struct hl_buf *out,
    struct policy_findings *findings, struct hl_err *err)
{
	struct policy_arena arena = { 0 };
	struct diag diag;
	struct text text = { .source = { .name = name,
				 .bytes = bytes->len > 0 ? bytes->data : "",
				 .len = bytes->len } };
	size_t errors = findings->errors;

	policy_diag_init(&diag, findings, policy_findings_name(findings, name));
	int result = read_tree(&text, &arena, &diag, err);
	if (result == 0 && findings->errors == errors)
		result = put_file(&text, &arena, &diag, out, err);
	policy_diag_seal(&diag, &text.source, text.root);
	if (result == 0 && findings->errors > errors)
		result = policy_findings_err(findings, err);
	policy_source_done(&text.source);
	policy_arena_done(&arena);
	return result;
}

int
policy_format_file(const struct policy_load_request *request, struct hl_buf *out, bool *ret_is_same,
    struct policy_findings *findings, struct hl_err *err)
{
	struct hl_buf bytes HL_AUTO(hl_buf_done_secret) = { 0 };
	HL_AUTO_FREE char *full = hl_path_normalise(request->cwd, request->files[0]);
	struct policy_file file = { 0 };

	policy_findings_init(findings);
	hl_buf_init(&bytes, POLICY_FILE_MAX);
	if (full == NULL)
		return hl_err_oom(err);
	if (policy_file_read(full, request->caller, &bytes, &file, err) != 0)
		return -1;
	free(file.path);
	if (policy_canonical(request->files[0], &bytes, out, findings, err) != 0)
		return -1;
	*ret_is_same = bytes.len == out->len && memcmp(bytes.data, out->data, out->len) == 0;
	return 0;
}
