/*
 * The tree against the table of fields: sections, keys, and for each key the forms a value may have
 * (one value, {max, default}, {allowed, default}). A key that is the beginning of others, such as
 * image and image.digest, takes its own forms and the others' last names in one mapping.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "policy/layer.h"

#include "base/banned.h"

enum {
	PATH_SIZE = 4 * (POLICY_KEY_MAX + 1),
	CANDIDATES_MAX = 64,
};

struct hl_origin
policy_origin(const struct policy_read *layer, struct diag_at at)
{
	return (struct hl_origin){
		.layer = layer->row.layer,
		.id = layer->row.id,
		.revision = layer->row.revision,
		.where = { layer->name, at.line, at.column },
	};
}

/* Whether another part of the policy has a key of that last name: "memory" is limits.memory. */
static const char *
key_elsewhere(const struct node *key, const char *prefix)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const char *full = policy_field_key((enum policy_field)i);
		const char *last = strrchr(full, '.');
		if (last != NULL && policy_node_is(key, last + 1) &&
		    strncmp(full, prefix, strlen(prefix)) != 0)
			return full;
		if (last != NULL && prefix[0] == '\0' && policy_node_is(key, last + 1))
			return full;
	}
	return NULL;
}

void
policy_unknown_key(struct policy_reader *r, const struct node *key, const char *prefix,
    const char *const *candidates, size_t n)
{
	policy_diag_error(r->diag, HLP_04, policy_at(key), "unknown key \"%.*s\"",
	    policy_name_len(key->text), key->text);
	if (!policy_diag_is_kept(r->diag))
		return;
	const char *near = hl_nearest(key->text, candidates, n);
	const char *full = key_elsewhere(key, prefix);
	if (near != NULL)
		policy_diag_help(r->diag, "did you mean \"%s\"?", near);
	else if (full != NULL)
		policy_diag_help(r->diag, "did you mean \"%s\"?", full);
}

/* The first len bytes as a candidate, once. Names of sections are cut from the fields' keys. */
static void
add_candidate(char (*names)[POLICY_KEY_MAX], size_t *n, const char *name, size_t len)
{
	for (size_t i = 0; i < *n; i++) {
		if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
			return;
	}
	if (*n < CANDIDATES_MAX && len < POLICY_KEY_MAX)
		snprintf(names[(*n)++], POLICY_KEY_MAX, "%.*s", (int)len, name);
}

static void
report_unknown(struct policy_reader *r, const struct node *key, const char *prefix,
    const char *const *forms)
{
	char names[CANDIDATES_MAX][POLICY_KEY_MAX];
	const char *candidates[CANDIDATES_MAX];
	size_t n = 0, frame_len;
	const char *const *frame = policy_frame_keys(&frame_len);

	/* Only counted: no candidates are needed. */
	for (size_t i = 0; !policy_diag_is_full(r->diag) && i < POLICY_FIELD_MAX; i++) {
		const char *full = policy_field_key((enum policy_field)i);
		if (strncmp(full, prefix, strlen(prefix)) == 0)
			add_candidate(names, &n, full + strlen(prefix),
			    strcspn(full + strlen(prefix), "."));
	}
	for (size_t i = 0; prefix[0] == '\0' && i < frame_len; i++)
		add_candidate(names, &n, frame[i], strlen(frame[i]));
	for (size_t i = 0; forms != NULL && forms[i] != NULL; i++)
		add_candidate(names, &n, forms[i], strlen(forms[i]));
	for (size_t i = 0; i < n; i++)
		candidates[i] = names[i];
	policy_unknown_key(r, key, prefix, candidates, n);
	/* A field has few forms: when none is near they are all told. */
	if (forms != NULL && forms[0] != NULL && policy_diag_is_kept(r->diag) &&
	    r->diag->last->help == NULL)
		policy_diag_help(r->diag, "it takes %s%s%s", forms[0],
		    forms[1] != NULL ? " and " : "", forms[1] != NULL ? forms[1] : "");
}

/* ------------------------------------------------------------------------------------------------
 * Forms of a value
 */

static const char *const number_forms[] = { "max", "default", NULL };
static const char *const least_forms[] = { "min", "default", NULL };
static const char *const list_forms[] = { "allowed", "default", NULL };
static const char *const text_forms[] = { "default", NULL };
static const char *const no_forms[] = { NULL };

const char *const *
policy_field_forms(enum policy_field field)
{
	enum policy_kind kind = policy_field_kind(field);

	/* Under the key stand names, of which "allowed" could be one. */
	if (kind == POLICY_KIND_HOME || kind == POLICY_KIND_NAMED)
		return no_forms;
	if (policy_field_is_least(field))
		return least_forms;
	if (policy_kind_is_number(kind) || policy_kind_is_ranked(kind))
		return number_forms;
	if (policy_field_info(field)->merge == MERGE_UNION_DENY)
		return no_forms;
	if (policy_kind_is_list(kind))
		return list_forms;
	return kind == POLICY_KIND_STRING ? text_forms : no_forms;
}

/* A mapping under this field is a set of forms, not the value itself. */
static bool
takes_forms(enum policy_field field)
{
	return policy_field_forms(field)[0] != NULL;
}

static bool
read_text(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_given *given)
{
	if (!policy_read_member(r, field, node, &given->text))
		return false;
	given->has_default = true;
	return true;
}

/* One value for bound and default. */
bool
policy_read_short(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_given *given)
{
	enum policy_kind kind = policy_field_kind(field);

	given->is_short = true;
	given->has_bound = true;
	given->default_at = policy_at(node);
	if (kind == POLICY_KIND_HOME)
		return node->kind == NODE_MAP ? policy_read_home(r, node, given)
					      : policy_read_home_word(r, node, given);
	if (kind == POLICY_KIND_WORKDIR) {
		given->is_short = false;
		return policy_read_workdir(r, node, given);
	}
	if (kind == POLICY_KIND_MAP)
		return policy_read_map(r, field, node, &given->items);
	if (kind == POLICY_KIND_STRING)
		return read_text(r, field, node, given);
	given->has_default = true;
	if (!policy_kind_is_list(kind)) {
		bool is_good = policy_read_number(r, field, node, &given->bound);
		given->number = given->bound;
		return is_good;
	}
	if (!policy_read_list(r, field, node, &given->items))
		return false;
	given->allowed = given->items;
	return true;
}

/* The default of a set may be written as one value. */
static bool
read_default_list(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_given *given)
{
	struct node list = { .kind = NODE_LIST, .first = NULL, .children = 1, .line = node->line };
	struct node only = *node;

	if (node->kind != NODE_SCALAR || policy_node_is_empty(node))
		return policy_read_list(r, field, node, &given->items);
	only.next = NULL;
	only.key = NULL;
	list.first = &only;
	return policy_read_list(r, field, &list, &given->items);
}

static void
read_default(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_given *given)
{
	enum policy_kind kind = policy_field_kind(field);
	bool is_good;

	given->default_at = policy_at(node);
	if (kind == POLICY_KIND_STRING)
		is_good = policy_read_member(r, field, node, &given->text);
	else if (policy_kind_is_list(kind))
		is_good = read_default_list(r, field, node, given);
	else
		is_good = policy_read_number(r, field, node, &given->number);
	given->has_default = is_good;
}

static void
read_bound(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_given *given)
{
	given->at = policy_at(node);
	given->has_bound = policy_kind_is_list(policy_field_kind(field))
			       ? policy_read_list(r, field, node, &given->allowed)
			       : policy_read_number(r, field, node, &given->bound);
}

static void read_map(struct policy_reader *r, const struct node *node, const char *prefix);

/* A mapping under a field: its forms, and the keys of fields that begin with this one's. */
static void
read_forms(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_given *given)
{
	const char *const *forms = policy_field_forms(field);

	for (const struct node *child = node->first; child != NULL; child = child->next) {
		if (child->key->kind != NODE_SCALAR)
			continue;
		int form = policy_word_index(forms, child->key->text, child->key->len);
		if (form < 0)
			continue;
		given->is_set = true;
		if (policy_node_is(child->key, "default"))
			read_default(r, field, child, given);
		else
			read_bound(r, field, child, given);
	}
}

static void
read_field(struct policy_reader *r, enum policy_field field, const struct node *node)
{
	struct policy_given *given = &r->layer->given[field];
	const char *key = policy_field_key(field);
	char prefix[PATH_SIZE];

	/* Where it is given: the value, so that a caret shows what was meant. */
	given->at = policy_at(node);
	if (node->kind == NODE_MAP && node->children == 0 && takes_forms(field)) {
		policy_diag_error(r->diag, HLP_10, given->at, "%s has no value", key);
		policy_diag_help(r->diag, "remove the key or give a value");
		return;
	}
	if (node->kind == NODE_MAP && takes_forms(field)) {
		read_forms(r, field, node, given);
		snprintf(prefix, sizeof(prefix), "%s.", key);
		read_map(r, node, prefix);
		return;
	}
	given->is_set = true;
	if (node->kind == NODE_BROKEN || !policy_read_short(r, field, node, given))
		*given = (struct policy_given){ .at = given->at };
}

/* ------------------------------------------------------------------------------------------------
 * Sections
 */

/* Whether the key is a form of the field that the prefix names ("image." and "allowed"). */
static const char *const *
forms_under(const char *prefix)
{
	size_t len = strlen(prefix);
	enum policy_field field = len > 0 ? policy_field_findn(prefix, len - 1) : POLICY_FIELD_MAX;

	return field != POLICY_FIELD_MAX ? policy_field_forms(field) : no_forms;
}

static void
read_key(struct policy_reader *r, const struct node *node, const char *prefix)
{
	const struct node *key = node->key;
	const char *const *forms = forms_under(prefix);
	char path[PATH_SIZE];

	if (policy_word_index(forms, key->text, key->len) >= 0)
		return; /* read_forms() has it */
	int len = snprintf(path, sizeof(path), "%s%s", prefix, key->text);
	HL_BUG_ON(len < 0 || (size_t)len + 1 >= sizeof(path));
	enum policy_field field = policy_field_findn(path, (size_t)len);
	if (field != POLICY_FIELD_MAX) {
		read_field(r, field, node);
		return;
	}
	if (!policy_field_has_below(path, (size_t)len)) {
		report_unknown(r, key, prefix, forms);
		return;
	}
	if (!policy_expect(r, path, node, NODE_MAP))
		return;
	path[len] = '.';
	path[len + 1] = '\0';
	read_map(r, node, path);
}

/* Recursion ends with the keys of fields.def: an unknown key is reported, not entered. */
static void
read_map(struct policy_reader *r, const struct node *node, const char *prefix)
{
	for (const struct node *child = node->first; child != NULL; child = child->next) {
		if (child->key->kind == NODE_SCALAR)
			read_key(r, child, prefix);
	}
}

/* The mode decides how strict the rest is read, so it is looked at before anything else. */
static bool
is_warn(const struct node *root)
{
	const struct node *mode = policy_node_find(root, "mode");

	return mode != NULL && mode->kind == NODE_SCALAR && policy_node_is(mode, "warn");
}

int
policy_schema_read(struct policy_reader *r, const struct node *root, struct hl_err *err)
{
	if (root->kind != NODE_MAP) {
		policy_expect(r, "a policy", root, NODE_MAP);
		if (root->kind != NODE_BROKEN)
			policy_diag_help(r->diag,
			    "begin the file with \"version: 1\", without a dash");
		return 0;
	}
	r->layer->is_warn = is_warn(root);
	if (!policy_frame_check(r, root))
		return 0;
	/* The frame first: every value's origin carries the id and revision. */
	for (const struct node *child = root->first; child != NULL; child = child->next) {
		if (child->key->kind == NODE_SCALAR)
			policy_frame_read(r, child);
	}
	policy_frame_finish(r, root);
	for (const struct node *child = root->first; child != NULL; child = child->next) {
		size_t len;
		const char *const *frame = policy_frame_keys(&len);
		bool is_frame = false;
		if (child->key->kind != NODE_SCALAR)
			continue;
		for (size_t i = 0; i < len; i++)
			is_frame = is_frame || policy_node_is(child->key, frame[i]);
		if (!is_frame)
			read_key(r, child, "");
	}
	return r->is_oom ? hl_err_oom(err) : 0;
}
