/*
 * One entry of a list or map of mappings: an unknown member, a wrong type, a value out of its range
 * and members that contradict each other are errors. What is read leaves here in one form: sets
 * sorted, defaults filled in, short forms written out, and a text of all that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/records.h"
#include "policy/state.h"

#include "base/banned.h"

enum {
	SUBJECT_SIZE = 64,
	KEY_SIZE = 24
};

/* What is open while one entry is read. */
struct reading {
	struct policy_reader *r;
	enum policy_field field;
	const char *key; /* of the field */
	const struct record_member *rows;
	size_t len;
	enum record_index first;
	const struct node *nodes[RECORD_MEMBERS_MAX]; /* NULL: not given */
	struct policy_record *record;
};

static void
name_subject(const struct reading *q, const char *member, char subject[SUBJECT_SIZE])
{
	snprintf(subject, SUBJECT_SIZE, "%s.%s", q->key, member);
}

/* "from" of "from.env". */
static void
cut_key(const struct record_member *row, char key[KEY_SIZE])
{
	size_t len = policy_record_key_len(row);

	HL_BUG_ON(len >= KEY_SIZE);
	memcpy(key, row->key, len);
	key[len] = '\0';
}

/* ------------------------------------------------------------------------------------------------
 * Values
 */

static bool
refuse_text(const struct reading *q, enum record_type type, const char *subject,
    const struct node *node)
{
	struct policy_lookalike found;

	if (policy_field_is_private(q->field))
		policy_diag_error(q->r->diag, HLP_07, policy_at(node), "%s cannot be this text",
		    subject);
	else
		policy_diag_error(q->r->diag, HLP_07, policy_at(node), "%s cannot be \"%.60s\"",
		    subject, node->text);
	if (!policy_field_is_private(q->field) && policy_find_lookalike(node->text, &found))
		policy_diag_help(q->r->diag, "it has U+%04X (%s), which looks like \"%c\"; %s",
		    found.code, found.what, found.ascii, policy_record_type(type)->help);
	else
		policy_diag_help(q->r->diag, "%s", policy_record_type(type)->help);
	return false;
}

static bool
read_text(struct reading *q, const struct record_member *row, const char *subject,
    const struct node *node, const char **ret_text)
{
	if (!policy_read_string(q->r, subject, node, ret_text))
		return false;
	if (!policy_record_text_is_good(row->type, *ret_text))
		return refuse_text(q, row->type, subject, node);
	return row->type != RECORD_TYPE_FILE || policy_check_path(q->r, subject, node, *ret_text);
}

static bool
read_one(struct reading *q, const struct record_member *row, const char *subject,
    const struct node *node, const char **ret_text)
{
	const struct record_type_info *type = policy_record_type(row->type);
	uint64_t number;
	bool flag;

	if (row->type == RECORD_TYPE_BOOL) {
		if (!policy_read_bool(q->r, subject, node, &flag))
			return false;
		*ret_text = flag ? "true" : "false";
	} else if (row->type == RECORD_TYPE_WORD) {
		if (!policy_read_word(q->r, subject, row->words, node, &number))
			return false;
		*ret_text = row->words[number];
	} else if (type->is_number) {
		if (!policy_read_u64(q->r, subject, node,
			(struct policy_range){ type->min, type->max }, &number))
			return false;
		*ret_text = node->text;
	} else {
		return read_text(q, row, subject, node, ret_text);
	}
	return true;
}

/* Numbers have no zero in front: the shorter one is the smaller. */
static int
compare_numbers(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	size_t x_len = strlen(x), y_len = strlen(y);

	return x_len != y_len ? (x_len < y_len ? -1 : 1) : strcmp(x, y);
}

static int
compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t
sort_set(const char **texts, size_t len, bool is_number)
{
	size_t kept = 0;

	qsort(texts, len, sizeof(*texts), is_number ? compare_numbers : compare_texts);
	for (size_t i = 0; i < len; i++)
		if (i == 0 || strcmp(texts[i], texts[kept - 1]) != 0)
			texts[kept++] = texts[i];
	return kept;
}

/* The nodes of a value: the one, or those of a list. */
static const struct node *
expect_values(struct reading *q, const struct record_member *row, const char *subject,
    const struct node *node, size_t *ret_len)
{
	*ret_len = 1;
	if (row->many == RECORD_ONE)
		return node;
	if (!policy_expect(q->r, subject, node, NODE_LIST) ||
	    !policy_check_count(q->r, subject, node, RECORD_VALUES_MAX))
		return NULL;
	*ret_len = node->children;
	if (node->children > 0)
		return node->first;
	policy_diag_error(q->r->diag, HLP_12, policy_at(node), "%s has no members", subject);
	policy_diag_help(q->r->diag, "name at least one");
	return NULL;
}

static bool
read_value(struct reading *q, const struct record_member *row, const struct node *node,
    struct record_value *value)
{
	char subject[SUBJECT_SIZE];
	const char **texts;
	size_t len;
	bool is_good = true;

	name_subject(q, row->key, subject);
	const struct node *child = expect_values(q, row, subject, node, &len);
	if (child == NULL)
		return false;
	texts = policy_arena_array(q->r->arena, len, sizeof(*texts));
	if (texts == NULL) {
		q->r->is_oom = true;
		return false;
	}
	for (size_t i = 0; i < len; i++, child = child->next)
		is_good = read_one(q, row, subject, child, &texts[i]) && is_good;
	if (is_good && row->many == RECORD_SET)
		len = sort_set(texts, len, policy_record_type(row->type)->is_number);
	*value = (struct record_value){ texts, len };
	return is_good;
}

/* ------------------------------------------------------------------------------------------------
 * Members
 */

static bool
is_group(const struct record_member *row)
{
	return row->key[policy_record_key_len(row)] == '.';
}

/* Names of the members at the top, or within the group whose rows begin with from. */
static size_t
list_names(const struct reading *q, const struct record_member *from, const char **names,
    char (*texts)[KEY_SIZE])
{
	size_t n = 0, prefix = from != NULL ? policy_record_key_len(from) : 0;

	for (size_t i = 0; i < q->len; i++) {
		const char *key = q->rows[i].key;
		size_t len = policy_record_key_len(&q->rows[i]);
		if (from != NULL && strncmp(key, from->key, prefix + 1) == 0) {
			names[n++] = key + prefix + 1;
			continue;
		}
		if (from != NULL ||
		    (n > 0 && strncmp(names[n - 1], key, len) == 0 && key[len] == '.'))
			continue;
		cut_key(&q->rows[i], texts[n]);
		names[n] = texts[n];
		n++;
	}
	return n;
}

static bool
refuse_member(struct reading *q, const struct record_member *from, const struct node *node)
{
	char texts[RECORD_MEMBERS_MAX][KEY_SIZE];
	const char *names[RECORD_MEMBERS_MAX];
	size_t n = list_names(q, from, names, texts);

	if (policy_field_is_private(q->field) && policy_node_is_empty(node)) {
		policy_diag_error(q->r->diag, HLP_04, policy_at(node->key),
		    "unknown key in %s, without a value", q->key);
		policy_help_members(q->r, names, n);
		return false;
	}
	policy_unknown_member(q->r, node->key, names, n);
	return false;
}

/* The row of a key; in a group, whose rows begin with from, of what is behind the dot. */
static size_t
find_row(const struct reading *q, const struct record_member *from, const struct node *key)
{
	size_t prefix = from != NULL ? policy_record_key_len(from) + 1 : 0, i = 0;

	for (; i < q->len; i++) {
		const char *name = q->rows[i].key;
		size_t len = from != NULL ? strlen(name) : policy_record_key_len(&q->rows[i]);
		if (from != NULL && strncmp(name, from->key, prefix) != 0)
			continue;
		if (len - prefix == key->len && memcmp(name + prefix, key->text, key->len) == 0)
			break;
	}
	return i;
}

static bool
read_row(struct reading *q, size_t i, const struct node *node)
{
	q->nodes[i] = node;
	return read_value(q, &q->rows[i], node, &q->record->values[i]);
}

/* from: {env: NAME}: one key, which says what the value is. */
static bool
read_group(struct reading *q, const struct record_member *from, const struct node *node)
{
	char subject[SUBJECT_SIZE], name[KEY_SIZE];
	const struct node *child = node->first;

	cut_key(from, name);
	name_subject(q, name, subject);
	if (!policy_expect(q->r, subject, node, NODE_MAP))
		return false;
	if (node->children != 1) {
		policy_diag_error(q->r->diag, HLP_15, policy_at(node),
		    "%s takes one key, and has %zu", subject, node->children);
		return false;
	}
	if (child->key->kind != NODE_SCALAR)
		return false;
	size_t i = find_row(q, from, child->key);
	return i < q->len ? read_row(q, i, child) : refuse_member(q, from, child);
}

static bool
read_members(struct reading *q, const struct node *node)
{
	bool is_good = true;

	for (const struct node *child = node->first; child != NULL; child = child->next) {
		if (child->key->kind != NODE_SCALAR) {
			is_good = false;
			continue;
		}
		size_t i = find_row(q, NULL, child->key);
		bool is_read = i == q->len             ? refuse_member(q, NULL, child)
			       : is_group(&q->rows[i]) ? read_group(q, &q->rows[i], child)
						       : read_row(q, i, child);
		is_good = is_read && is_good;
	}
	return is_good;
}

/* Of a group any row will do. */
static bool
is_given(const struct reading *q, size_t row)
{
	size_t len = policy_record_key_len(&q->rows[row]);

	for (size_t i = 0; i < q->len; i++)
		if (q->nodes[i] != NULL && strncmp(q->rows[i].key, q->rows[row].key, len) == 0 &&
		    policy_record_key_len(&q->rows[i]) == len)
			return true;
	return false;
}

/* Defaults, what is missing, and short forms into long ones. */
static bool
complete(struct reading *q, const struct node *node)
{
	for (size_t i = 0; i < q->len; i++) {
		const struct record_member *row = &q->rows[i];
		struct record_value *value = &q->record->values[i];
		if (row->missing[0] == '!' && !is_given(q, i)) {
			policy_diag_error(q->r->diag, HLP_03, policy_at(node),
			    "a member of %s needs %.*s", q->key, (int)policy_record_key_len(row),
			    row->key);
			return false;
		}
		if (row->missing[0] != '!' && row->missing[0] != '\0' && value->v == NULL)
			*value = (struct record_value){ &row->missing, 1 };
		if (row->rule != RECORD_RULE_SHORT || value->v == NULL)
			continue;
		if (value[1].v == NULL)
			value[1] = *value;
		*value = (struct record_value){ 0 };
	}
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * What two members mean together
 */

static const struct node *
node_of(const struct reading *q, enum record_index index)
{
	return q->nodes[(size_t)index - q->first];
}

static bool
contradicts(struct reading *q, enum record_index index, const char *what, const char *help)
{
	policy_diag_error(q->r->diag, HLP_15, policy_at(node_of(q, index)->key), "%s.%s", q->key,
	    what);
	policy_diag_help(q->r->diag, "%s", help);
	return false;
}

static bool
is_word(const struct reading *q, enum record_index index, const char *word)
{
	return strcmp(policy_record_text(q->record, index), word) == 0;
}

static bool
check_address(struct reading *q, enum record_index host, enum record_index ip)
{
	const char *text = policy_record_text(q->record, host);

	if (policy_is_address(text) == is_word(q, ip, "true"))
		return true;
	return contradicts(q, host, "host and ip do not fit together",
	    "an address has ip: true beside it, and a name has not");
}

static bool
check_allow(struct reading *q)
{
	bool is_read = node_of(q, RECORD_NETWORK_ALLOW_METHODS) != NULL ||
		       node_of(q, RECORD_NETWORK_ALLOW_PATHS) != NULL;

	if (is_read && is_word(q, RECORD_NETWORK_ALLOW_TLS, "splice"))
		return contradicts(q, RECORD_NETWORK_ALLOW_TLS,
		    "tls: splice hides methods and paths",
		    "write tls: inspect, or neither methods nor paths");
	return check_address(q, RECORD_NETWORK_ALLOW_HOST, RECORD_NETWORK_ALLOW_IP);
}

static bool
check_deny(struct reading *q)
{
	return check_address(q, RECORD_NETWORK_DENY_HOST, RECORD_NETWORK_DENY_IP);
}

/* One way to know the host: with two, a file below could add the weaker one. */
static bool
check_ssh(struct reading *q)
{
	static const enum record_index ways[] = { RECORD_SSH_HOSTS_HOST_KEY,
		RECORD_SSH_HOSTS_HOST_KEYS, RECORD_SSH_HOSTS_HOST_CA };
	size_t n = 0;

	for (size_t i = 0; i < HL_ARRAY_SIZE(ways); i++) {
		n += node_of(q, ways[i]) != NULL;
		if (n > 1)
			return contradicts(q, ways[i],
			    "host_key, host_keys and host_ca say the same thing twice",
			    "keep one of them");
	}
	return true;
}

static bool
check_file(struct reading *q)
{
	if (!is_word(q, RECORD_FILES_REFRESH, "true") ||
	    is_word(q, RECORD_FILES_KIND, "credential"))
		return true;
	return contradicts(q, RECORD_FILES_REFRESH, "refresh goes with kind: credential",
	    "remove it");
}

static bool
check_secret(struct reading *q)
{
	if (!is_word(q, RECORD_SECRETS_AS, "inject") || !is_word(q, RECORD_SECRETS_REQUIRE, "true"))
		return true;
	return contradicts(q, RECORD_SECRETS_REQUIRE,
	    "require asks for a stand-in, and as: inject makes none",
	    "write as: token, or require: false");
}

static const struct {
	enum policy_field field;
	bool (*check)(struct reading *);
} checks[] = {
	{ POLICY_NETWORK_ALLOW, check_allow },
	{ POLICY_NETWORK_DENY, check_deny },
	{ POLICY_SSH_HOSTS, check_ssh },
	{ POLICY_FILES, check_file },
	{ POLICY_SECRETS, check_secret },
};

static bool
check_together(struct reading *q)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(checks); i++)
		if (checks[i].field == q->field)
			return checks[i].check(q);
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * The entry
 */

/* What a missing word or truth value stands for is not written. */
static bool
is_silent(const struct record_member *row, const struct record_value *value)
{
	bool is_word = row->type == RECORD_TYPE_WORD || row->type == RECORD_TYPE_BOOL;

	return value->v == NULL || (is_word && strcmp(value->v[0], row->missing) == 0);
}

static void
put_value(struct hl_buf *out, const struct record_member *row, const struct record_value *value)
{
	bool is_raw = row->type == RECORD_TYPE_BOOL || policy_record_type(row->type)->is_number;

	hl_buf_puts(out, row->many == RECORD_ONE ? "" : "[");
	for (size_t i = 0; i < value->len; i++) {
		hl_buf_puts(out, i > 0 ? ", " : "");
		if (is_raw)
			hl_buf_puts(out, value->v[i]);
		else
			policy_put_scalar(out, value->v[i]);
	}
	hl_buf_puts(out, row->many == RECORD_ONE ? "" : "]");
}

static void
put_record(const struct reading *q, struct hl_buf *out)
{
	bool is_first = true;

	hl_buf_putc(out, '{');
	for (size_t i = 0; i < q->len; i++) {
		const struct record_member *row = &q->rows[i];
		size_t len = policy_record_key_len(row);
		if (is_silent(row, &q->record->values[i]))
			continue;
		hl_buf_putf(out, "%s%.*s: ", is_first ? "" : ", ", (int)len, row->key);
		if (is_group(row))
			hl_buf_putf(out, "{%s: ", row->key + len + 1);
		put_value(out, row, &q->record->values[i]);
		hl_buf_puts(out, is_group(row) ? "}" : "");
		is_first = false;
	}
	hl_buf_putc(out, '}');
}

/* The text of an entry of a map begins with its name: two names are two entries. */
static bool
keep_text(const struct reading *q, const char *name, const char **ret_text)
{
	struct hl_buf text;

	hl_buf_init(&text, (size_t)POLICY_FILE_MAX * 2);
	if (name != NULL)
		hl_buf_putf(&text, "%s: ", name);
	put_record(q, &text);
	*ret_text = text.failed ? NULL : policy_arena_dup(q->r->arena, text.data, text.len);
	hl_buf_done(&text);
	q->r->is_oom = q->r->is_oom || *ret_text == NULL;
	return *ret_text != NULL;
}

/* A name under which the sandbox gets it. */
static bool
read_name(struct policy_reader *r, const char *key, const struct node *node, const char **ret_name)
{
	const struct node *name = node->key;

	if (name->kind != NODE_SCALAR)
		return false;
	int len = policy_name_len(name->text);
	if (policy_name_class(name->text, name->len) == POLICY_NAME_LOADER) {
		policy_diag_error(r->diag, HLP_16, policy_at(name),
		    "%s names %.*s, which runs code before the command", key, len < 60 ? len : 60,
		    name->text);
		policy_diag_help(r->diag, "give it another name");
		return false;
	}
	*ret_name = name->text;
	if (hl_is_env_name(name->text, name->len))
		return true;
	policy_not_a_name(r, node);
	return false;
}

static bool
begin(struct reading *q)
{
	q->rows = policy_record_members(q->field, &q->len, &q->first);
	q->record = policy_arena_alloc(q->r->arena,
	    sizeof(*q->record) + q->len * sizeof(q->record->values[0]));
	if (q->record == NULL) {
		q->r->is_oom = true;
		return false;
	}
	q->record->field = q->field;
	q->record->len = q->len;
	return true;
}

bool
policy_read_record(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_item *item)
{
	struct reading q = { .r = r, .field = field, .key = policy_field_key(field) };
	bool is_named = policy_field_kind(field) == POLICY_KIND_NAMED;

	if (is_named && !read_name(r, q.key, node, &item->name))
		return false;
	if (!begin(&q))
		return false;
	if (!policy_expect(r, q.key, node, NODE_MAP)) {
		/* "github.com" in place of {host: github.com}. */
		if (node->kind == NODE_SCALAR && node->len > 0 && policy_diag_is_kept(r->diag)) {
			char texts[RECORD_MEMBERS_MAX][KEY_SIZE];
			const char *names[RECORD_MEMBERS_MAX];
			policy_help_members(r, names, list_names(&q, NULL, names, texts));
		}
		return false;
	}
	if (!read_members(&q, node) || !complete(&q, node) || !check_together(&q))
		return false;
	item->record = q.record;
	return keep_text(&q, item->name, &item->text);
}
