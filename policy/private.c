/*
 * Lines that no message shows. What is set under env.set may be private, and so may be what someone
 * meant to put there but misspelled; a message then keeps its place and loses its line. The same
 * goes for what speaks of secrets, and for texts in which one may stand, such as a proxy's address.
 */
#include <string.h>

#include "base/base.h"
#include "policy/field.h"
#include "policy/layer.h"
#include "policy/node.h"

#include "base/banned.h"

static bool
is_around(const struct node *node, uint32_t line)
{
	uint32_t from =
	    node->key != NULL && node->kind == NODE_SCALAR ? node->key->line : node->line;

	return line >= from && (node->end_line == 0 || line <= node->end_line);
}

int
policy_name_len(const char *text)
{
	return (int)strcspn(text, "=");
}

enum {
	WORDS_MAX = 16
};

/* Beginnings of keys under which lines are private. */
struct words {
	const char *v[WORDS_MAX];
	size_t lens[WORDS_MAX];
	size_t len;
};

static bool
is_beneath(const char *key, const char *section, size_t len)
{
	return strncmp(key, section, len) == 0 && (key[len] == '.' || key[len] == '\0');
}

static bool
is_all_private(const char *section, size_t len)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const struct policy_field_info *info = policy_field_info((enum policy_field)i);
		if (is_beneath(info->key, section, len) && !info->is_private)
			return false;
	}
	return true;
}

static void
add_word(struct words *words, const char *word, size_t len)
{
	HL_BUG_ON(words->len == WORDS_MAX);
	words->v[words->len] = word;
	words->lens[words->len++] = len;
}

/* Of each private field the outermost section with nothing else in it: "proxy" of
 * egress.proxy.url, "redact" of audit.redact. Of env there is more to say than that. */
static void
find_words(struct words *words)
{
	*words = (struct words){ 0 };
	add_word(words, "secret", strlen("secret"));
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const char *key = policy_field_key((enum policy_field)i);
		const char *part = key;
		if (!policy_field_is_private((enum policy_field)i) || is_beneath(key, "env", 3))
			continue;
		size_t len = strcspn(part, ".");
		while (part[len] == '.' && !is_all_private(key, (size_t)(part + len - key))) {
			part += len + 1;
			len = strcspn(part, ".");
		}
		add_word(words, part, len);
	}
}

/* "secrets", "secret_key" and the like too. */
static bool
is_private_key(const struct words *words, const struct node *key)
{
	for (size_t i = 0; i < words->len; i++)
		if (strncmp(key->text, words->v[i], words->lens[i]) == 0)
			return true;
	return false;
}

static bool
is_given_value(const struct node *scalar)
{
	return scalar->text != NULL && strchr(scalar->text, '=') != NULL;
}

/* "tcp://user:password@host": an address may carry a password wherever somebody writes one. */
static bool
has_address(const struct node *scalar)
{
	return scalar->kind == NODE_SCALAR && scalar->text != NULL &&
	       strstr(scalar->text, "://") != NULL;
}

/* A name, or a list of names, of which nobody gave one a value. */
static bool
is_names(const struct node *node)
{
	if (node->kind == NODE_SCALAR)
		return !is_given_value(node);
	for (const struct node *child = node->first; child != NULL; child = child->next)
		if (child->kind != NODE_SCALAR || is_given_value(child))
			return false;
	return node->kind == NODE_LIST;
}

/* What env.pass can be: names, or its forms with names in them. */
static bool
is_pass(const struct node *node)
{
	if (node->kind != NODE_MAP)
		return is_names(node);
	for (const struct node *child = node->first; child != NULL; child = child->next)
		if (child->key->kind != NODE_SCALAR || is_given_value(child->key) ||
		    child->kind != NODE_LIST || !is_names(child))
			return false;
	return true;
}

/* Anything under a key "set", at any depth, anything of env but the names that pass, and what
 * stands in the place of a key with a value behind it. */
static bool
is_private_under(const struct words *words, const struct node *map, uint32_t line, bool is_env)
{
	for (const struct node *child = map->first; child != NULL; child = child->next) {
		bool is_keyed = child->key != NULL && child->key->text != NULL;
		bool is_set = is_keyed &&
			      (policy_node_is(child->key, "set") ||
				  is_private_key(words, child->key) || is_given_value(child->key));
		bool is_env_key = is_keyed && policy_node_is(child->key, "env");
		if (!is_around(child, line))
			continue;
		if (is_set || (is_env && is_keyed && !policy_node_is(child->key, "pass")))
			return true;
		if (has_address(child))
			return true;
		if (is_env ? !is_pass(child) : is_env_key && child->kind != NODE_MAP)
			return true;
		if ((child->kind == NODE_MAP || child->kind == NODE_LIST) &&
		    is_private_under(words, child, line, is_env_key))
			return true;
	}
	return false;
}

static bool
is_top_key(char first)
{
	return first >= 'a' && first <= 'z';
}

static bool
has_word(const char *text, size_t len, const char *word, size_t word_len)
{
	return memmem(text, len, word, word_len) != NULL;
}

/* Of a block that begins with a key: is it one that somebody knows? */
static bool
is_known_top(const char *block, size_t size)
{
	size_t n, len = 0;
	const char *const *frame = policy_frame_keys(&n);

	while (len < size && (is_top_key(block[len]) || block[len] == '_'))
		len++;
	if (len == size || block[len] != ':')
		return true; /* no key at all */
	for (size_t i = 0; i < n; i++)
		if (strlen(frame[i]) == len && memcmp(frame[i], block, len) == 0)
			return true;
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const char *key = policy_field_key((enum policy_field)i);
		if (strcspn(key, ".") == len && memcmp(key, block, len) == 0)
			return true;
	}
	return false;
}

/*
 * For a file that could not be read to its end there is no tree to ask. Then a line is private when
 * the block it belongs to (from the last line that is not indented) or, in flow style, anything
 * before it, speaks of env or set.
 */
static bool
is_private_text(const struct words *words, const struct policy_source *source, uint32_t line)
{
	size_t len, from = line - 1;

	policy_source_line(source, line, &len);
	size_t end = source->starts[line - 1] + len;
	/* Inside braces the indentation says nothing: look at all that came before. */
	if (memchr(source->bytes, '{', end) != NULL)
		from = 0;
	while (from > 0 && !is_top_key(source->bytes[source->starts[from]]))
		from--;
	const char *block = source->bytes + source->starts[from];
	size_t size = end - source->starts[from];
	for (size_t i = 0; i < words->len; i++)
		if (has_word(block, size, words->v[i], words->lens[i]))
			return true;
	return has_word(block, size, "env", 3) || has_word(block, size, "set", 3) ||
	       has_word(block, size, "://", 3) || !is_known_top(block, size);
}

bool
policy_line_is_private(const struct policy_source *source, const struct node *root, uint32_t line)
{
	struct words words;

	if (line == 0 || line > source->lines)
		return false;
	find_words(&words);
	/* Not a policy at all, but perhaps a file of variables. */
	if (root != NULL && root->kind == NODE_SCALAR && is_given_value(root))
		return true;
	if (root == NULL || root->kind != NODE_MAP || root->end_line == 0)
		return is_private_text(&words, source, line) ||
		       (root != NULL && is_private_under(&words, root, line, false));
	return is_private_under(&words, root, line, false);
}
