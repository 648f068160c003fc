/*
 * Typing of single values: one meaning for every reader.
 *
 * The key decides the type, and the text must be read the same way by YAML 1.1, YAML 1.2 and JSON
 * readers: truth values are exactly true and false, whole numbers have no sign, no leading zero and
 * no quotes, sizes and times carry a unit, and a text without quotes is refused where some reader
 * would take it for something else (Norway's "no", octal 010, sexagesimal 12:30, dates, ~).
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "policy/layer.h"

#include "base/banned.h"

enum {
	TOLD_MAX = 60, /* a text that is cut would be another one, and somebody would write it */
};

static const char *const kind_words[] = {
	[NODE_SCALAR] = "one value",
	[NODE_LIST] = "a list",
	[NODE_MAP] = "a mapping",
	[NODE_BROKEN] = "something readable",
};

/* Names travel, values do not: nothing that a private key holds is repeated, nor a name with its
 * value. */
static bool
may_quote(const char *key, const struct node *node)
{
	return !policy_key_is_private(key) && strchr(node->text, '=') == NULL;
}

bool
policy_expect(struct policy_reader *r, const char *key, const struct node *node,
    enum node_kind kind)
{
	if (node->kind == NODE_BROKEN)
		return false;
	if (policy_node_is_empty(node)) {
		policy_diag_error(r->diag, HLP_10,
		    node->key != NULL ? policy_at(node->key) : policy_at(node), "%s has no value",
		    key);
		policy_diag_help(r->diag,
		    kind == NODE_LIST ? "remove the key or give a value; an empty list is []"
				      : "remove the key or give a value");
		return false;
	}
	if (node->kind == kind)
		return true;
	policy_diag_error(r->diag, HLP_05, policy_at(node), "%s must be %s, not %s", key,
	    kind_words[kind], kind_words[node->kind]);
	if (kind != NODE_LIST || node->kind != NODE_SCALAR || !may_quote(key, node))
		return false;
	if (node->len <= TOLD_MAX)
		policy_diag_help(r->diag, "write [%s]", node->text);
	else
		policy_diag_help(r->diag, "write it as a list of one: [...]");
	return false;
}

bool
policy_expect_scalar(struct policy_reader *r, const char *key, const struct node *node)
{
	return policy_expect(r, key, node, NODE_SCALAR);
}

/* ------------------------------------------------------------------------------------------------
 * What a text without quotes could be taken for
 */

/* Case as YAML 1.1 has it: no, No, NO. */
static bool
is_cased(const char *text, size_t len, const char *lower)
{
	bool is_upper = true, is_lower = true;

	if (strlen(lower) != len)
		return false;
	for (size_t i = 0; i < len; i++) {
		char folded = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
		if (folded != lower[i])
			return false;
		if (i > 0) {
			is_upper = is_upper && text[i] != lower[i];
			is_lower = is_lower && text[i] == lower[i];
		}
	}
	return is_upper || is_lower;
}

static bool
is_reserved_word(const char *text, size_t len)
{
	static const char *const words[] = { "~", "null", "true", "false", "yes", "no", "on", "off",
		"y", "n", ".inf", ".nan", "=", "<<" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(words); i++) {
		if (is_cased(text, len, words[i]) ||
		    (words[i][0] == '.' && strcasecmp(text, words[i]) == 0))
			return true;
	}
	return false;
}

/* Texts are NUL-terminated and have no NUL inside, so the C string calls see all of them. */
static bool
is_all(const char *text, const char *set)
{
	return text[0] != '\0' && text[strspn(text, set)] == '\0';
}

static bool
is_number_like(const char *text)
{
	const char *body = text + (text[0] == '+' || text[0] == '-');

	if (body[0] == '0' && (body[1] == 'x' || body[1] == 'X'))
		return is_all(body + 2, "0123456789abcdefABCDEF_");
	if (body[0] == '0' && (body[1] == 'o' || body[1] == 'b'))
		return is_all(body + 2, "01234567_");
	if (strcmp(body, ".inf") == 0 || strcmp(body, ".Inf") == 0 || strcmp(body, ".INF") == 0)
		return true;
	/* Whole, decimal, with exponent; an address such as 10.0.0.1 is a float to YAML 1.1. */
	size_t digits = strspn(body, "0123456789_.,");
	if (digits == 0 || strpbrk(body, "0123456789") == NULL ||
	    strpbrk(body, "0123456789") >= body + digits)
		return false;
	if (body[digits] == '\0')
		return true;
	if (body[digits] != 'e' && body[digits] != 'E')
		return false;
	const char *exponent = body + digits + 1;
	exponent += exponent[0] == '+' || exponent[0] == '-';
	return is_all(exponent, "0123456789");
}

/* 12:30:45, base 60 in YAML 1.1: every part behind the first is below 60. */
static bool
is_sexagesimal(const char *text)
{
	const char *next = text + (text[0] == '+' || text[0] == '-');
	size_t n = strspn(next, "0123456789_");

	if (n == 0 || next[n] != ':')
		return false;
	while (next[n] == ':') {
		next += n + 1;
		n = strspn(next, "0123456789");
		if (n < 1 || n > 2 || (n == 2 && next[0] > '5'))
			return false;
	}
	return next[n] == '\0' || next[n] == '.';
}

static bool
is_date_like(const char *text)
{
	static const char *const digits = "0123456789";

	if (strspn(text, digits) != 4 || text[4] != '-')
		return false;
	size_t month = strspn(text + 5, digits);
	if (month < 1 || month > 2 || text[5 + month] != '-')
		return false;
	size_t day = strspn(text + 6 + month, digits);
	return day == 1 || day == 2;
}

bool
policy_is_ambiguous(const char *text, size_t len)
{
	return len == 0 || is_reserved_word(text, len) || is_number_like(text) ||
	       is_sexagesimal(text) || is_date_like(text);
}

/* ------------------------------------------------------------------------------------------------
 * Single values
 */

bool
policy_read_string(struct policy_reader *r, const char *key, const struct node *node,
    const char **ret_text)
{
	if (!policy_expect_scalar(r, key, node))
		return false;
	if (node->is_plain && policy_is_ambiguous(node->text, node->len)) {
		policy_diag_error(r->diag, HLY_13, policy_at(node),
		    "%s is a text that some YAML readers take for another type", key);
		if (may_quote(key, node) && node->len <= TOLD_MAX)
			policy_diag_help(r->diag, "quote it: \"%s\"", node->text);
		else
			policy_diag_help(r->diag, "put it in quotes");
		return false;
	}
	*ret_text = node->text;
	return true;
}

static bool
wrong_type(struct policy_reader *r, const char *key, const struct node *node, const char *what)
{
	policy_diag_error(r->diag, HLP_11, policy_at(node), "%s must be %s", key, what);
	return false;
}

bool
policy_read_bool(struct policy_reader *r, const char *key, const struct node *node, bool *ret_value)
{
	static const char *const yes[] = { "yes", "on", "y", "1", "true" };
	static const char *const no[] = { "no", "off", "n", "0", "false" };

	if (!policy_expect_scalar(r, key, node))
		return false;
	if (node->is_plain && (policy_node_is(node, "true") || policy_node_is(node, "false"))) {
		*ret_value = policy_node_is(node, "true");
		return true;
	}
	wrong_type(r, key, node, "true or false, without quotes");
	for (size_t i = 0; i < HL_ARRAY_SIZE(yes); i++) {
		if (strcasecmp(node->text, yes[i]) == 0)
			policy_diag_help(r->diag, "write true");
		if (strcasecmp(node->text, no[i]) == 0)
			policy_diag_help(r->diag, "write false");
	}
	return false;
}

static size_t
count_words(const char *const *words)
{
	size_t n = 0;

	while (words[n] != NULL)
		n++;
	return n;
}

/* "none, proxy, bridge or host" */
static void
join_words(const char *const *words, struct hl_buf *out)
{
	size_t n = count_words(words);

	for (size_t i = 0; i < n; i++)
		hl_buf_putf(out, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", words[i]);
}

bool
policy_read_word(struct policy_reader *r, const char *key, const char *const *words,
    const struct node *node, uint64_t *ret_rank)
{
	struct hl_buf list;

	if (!policy_expect_scalar(r, key, node))
		return false;
	int rank = policy_word_index(words, node->text, node->len);
	if (rank >= 0 && node->is_plain && policy_is_ambiguous(node->text, node->len)) {
		policy_diag_error(r->diag, HLY_13, policy_at(node),
		    "%s is a text that some YAML readers take for another type", key);
		policy_diag_help(r->diag, "quote it: \"%.40s\"", node->text);
		return false;
	}
	if (rank >= 0) {
		*ret_rank = (uint64_t)rank;
		return true;
	}
	if (may_quote(key, node))
		policy_diag_error(r->diag, HLP_13, policy_at(node), "%s cannot be \"%.40s\"", key,
		    node->text);
	else
		policy_diag_error(r->diag, HLP_13, policy_at(node), "%s cannot be this text", key);
	hl_buf_init(&list, 400);
	join_words(words, &list);
	const char *near = !policy_diag_is_kept(r->diag)
			       ? NULL
			       : hl_nearest(node->text, words, count_words(words));
	if (near != NULL)
		policy_diag_help(r->diag, "did you mean \"%s\"? It is one of: %s", near, list.data);
	else
		policy_diag_help(r->diag, "it is one of: %s", list.data);
	hl_buf_done(&list);
	return false;
}

static bool
is_whole(const struct node *node)
{
	return node->text[0] != '\0' && is_all(node->text, "0123456789") &&
	       (node->text[0] != '0' || node->len == 1);
}

bool
policy_read_u64(struct policy_reader *r, const char *key, const struct node *node,
    struct policy_range range, uint64_t *ret_value)
{
	struct hl_err ignored = { 0 };

	if (!policy_expect_scalar(r, key, node))
		return false;
	if (!node->is_plain || !is_whole(node)) {
		wrong_type(r, key, node, "a whole number, without quotes");
		if (is_whole(node) && may_quote(key, node))
			policy_diag_help(r->diag, "write %.40s", node->text);
		else
			policy_diag_help(r->diag,
			    "write digits only, no zero in front, from %llu to %llu",
			    (unsigned long long)range.min, (unsigned long long)range.max);
		return false;
	}
	if (hl_parse_u64(node->text, range.min, range.max, ret_value, &ignored) == 0)
		return true;
	policy_diag_error(r->diag, HLP_12, policy_at(node), "%s must be from %llu to %llu", key,
	    (unsigned long long)range.min, (unsigned long long)range.max);
	return false;
}

/* Both readings of a bare number, the larger one in its shortest form. */
static void
help_size(struct policy_reader *r, const char *text)
{
	struct hl_err ignored = { 0 };
	struct hl_buf other;
	uint64_t number = 0;

	hl_buf_init(&other, 64);
	if (hl_parse_u64(text, 0, 1ULL << 40, &number, &ignored) == 0 && number > 0 &&
	    number % 1024 == 0)
		hl_buf_put_size(&other, number << 20);
	else
		hl_buf_putf(&other, "%sB", text);
	policy_diag_help(r->diag,
	    "write \"%sMiB\" (or \"%s\"); plain numbers are not accepted because they mean bytes to "
	    "some readers and MiB to others",
	    text, other.data);
	hl_buf_done(&other);
}

static bool
read_unit(struct policy_reader *r, const char *key, const struct node *node, enum policy_kind kind,
    uint64_t *ret_value)
{
	static const char *const size_help =
	    "write a whole number and B, KiB, MiB, GiB or TiB, as in \"512MiB\"";
	static const char *const time_help =
	    "write a whole number and ms, s, m, h or d, as in \"90s\"";
	struct hl_err ignored = { 0 };
	bool is_size = kind == POLICY_KIND_SIZE;

	if (!policy_expect_scalar(r, key, node))
		return false;
	if ((is_size ? hl_parse_size(node->text, ret_value, &ignored)
		     : hl_parse_duration(node->text, ret_value, &ignored)) == 0)
		return true;
	/* 0 is the one number that means the same in every unit, but it has a unit all the same. */
	wrong_type(r, key, node, is_size ? "a size with a unit" : "a time with a unit");
	if (!is_whole(node) || node->len > 12)
		policy_diag_help(r->diag, "%s", is_size ? size_help : time_help);
	else if (!is_size)
		policy_diag_help(r->diag,
		    "write \"%ss\" (or \"%sms\"); plain numbers are not accepted because they mean "
		    "seconds to some readers and milliseconds to others",
		    node->text, node->text);
	else
		help_size(r, node->text);
	return false;
}

bool
policy_read_size(struct policy_reader *r, const char *key, const struct node *node,
    uint64_t *ret_value)
{
	return read_unit(r, key, node, POLICY_KIND_SIZE, ret_value);
}

static bool
read_milli(struct policy_reader *r, const char *key, const struct node *node, uint64_t *ret_value)
{
	struct hl_err ignored = { 0 };

	if (!policy_expect_scalar(r, key, node))
		return false;
	if (node->is_plain && hl_parse_milli(node->text, ret_value, &ignored) == 0)
		return true;
	wrong_type(r, key, node, "a number such as 4 or 0.5, without quotes");
	policy_diag_help(r->diag, "at most three decimals, no sign, no exponent");
	return false;
}

static void
format_number(enum policy_kind kind, uint64_t value, char *text, size_t size)
{
	struct hl_buf buf;

	hl_buf_init(&buf, 64);
	if (kind == POLICY_KIND_SIZE)
		hl_buf_put_size(&buf, value);
	else if (kind == POLICY_KIND_DURATION)
		hl_buf_put_duration(&buf, value);
	else if (kind == POLICY_KIND_MILLI)
		hl_buf_put_milli(&buf, value);
	else
		hl_buf_putf(&buf, "%llu", (unsigned long long)value);
	snprintf(text, size, "%s", buf.data);
	hl_buf_done(&buf);
}

static bool
check_range(struct policy_reader *r, enum policy_field field, const struct node *node,
    uint64_t value)
{
	const struct policy_field_info *info = policy_field_info(field);
	char min[40], max[40];

	if ((info->min == 0 && info->max == 0) || (value >= info->min && value <= info->max))
		return true;
	format_number(info->kind, info->min, min, sizeof(min));
	format_number(info->kind, info->max, max, sizeof(max));
	policy_diag_error(r->diag, HLP_12, policy_at(node), "%s must be from %s to %s", info->key,
	    min, max);
	return false;
}

/* As many octal digits as the largest has: one that is shorter or longer reads like another. */
static bool
read_bits(struct policy_reader *r, const struct policy_field_info *info, const struct node *node,
    uint64_t *ret_number)
{
	char longest[32];
	const char *text;
	uint64_t number = 0;

	if (!policy_read_string(r, info->key, node, &text))
		return false;
	snprintf(longest, sizeof(longest), "%llo", (unsigned long long)info->max);
	if (strlen(text) != strlen(longest) || text[strspn(text, "01234567")] != '\0') {
		policy_diag_error(r->diag, HLP_11, policy_at(node),
		    "%s must be %zu octal digits in quotes, such as \"%s\"", info->key,
		    strlen(longest), info->default_text);
		return false;
	}
	for (const char *c = text; *c != '\0'; c++)
		number = number * 8 + (uint64_t)(*c - '0');
	*ret_number = number;
	return true;
}

static bool
read_kind(struct policy_reader *r, enum policy_field field, const struct node *node,
    uint64_t *ret_number)
{
	const struct policy_field_info *info = policy_field_info(field);
	bool value;

	switch (info->kind) {
	case POLICY_KIND_BOOL:
		if (!policy_read_bool(r, info->key, node, &value))
			return false;
		*ret_number = (uint64_t)policy_word_index(info->words, value ? "true" : "false",
		    value ? 4 : 5);
		return true;
	case POLICY_KIND_ENUM:
	case POLICY_KIND_HOME:
		return policy_read_word(r, info->key, info->words, node, ret_number);
	case POLICY_KIND_INT:
		if (!policy_read_u64(r, info->key, node,
			(struct policy_range){ info->min, info->max }, ret_number))
			return false;
		*ret_number = policy_number_turned(field, *ret_number);
		return true;
	case POLICY_KIND_BITS:
		if (!read_bits(r, info, node, ret_number))
			return false;
		*ret_number = policy_number_turned(field, *ret_number);
		return true;
	case POLICY_KIND_SIZE:
	case POLICY_KIND_DURATION:
		return read_unit(r, info->key, node, info->kind, ret_number) &&
		       check_range(r, field, node, *ret_number);
	case POLICY_KIND_MILLI:
		return read_milli(r, info->key, node, ret_number) &&
		       check_range(r, field, node, *ret_number);
	case POLICY_KIND_STRING:
	case POLICY_KIND_SET:
	case POLICY_KIND_RECORDS:
	case POLICY_KIND_NAMED:
	case POLICY_KIND_MAP:
	case POLICY_KIND_MOUNTS:
	case POLICY_KIND_TMPFS:
	case POLICY_KIND_WORKDIR:
	case POLICY_KIND_MAX:
		break;
	}
	hl_bug(__FILE__, __LINE__, "not a number");
}

bool
policy_read_number(struct policy_reader *r, enum policy_field field, const struct node *node,
    uint64_t *ret_number)
{
	const struct policy_field_info *info = policy_field_info(field);

	/* Only where no limit is the default; elsewhere there is always a limit. */
	if (policy_kind_is_number(info->kind) && node->kind == NODE_SCALAR &&
	    strcmp(info->default_text, "unlimited") == 0 && policy_node_is(node, "unlimited")) {
		*ret_number = POLICY_UNLIMITED;
		return true;
	}
	return read_kind(r, field, node, ret_number);
}
