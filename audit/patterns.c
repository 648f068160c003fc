/*
 * Shapes of credentials: what carries its own name (ghp_..., AKIA...), tokens of three parts, keys
 * in PEM, the password in a URL. One pass, never back: a place that was looked through without
 * success is not looked through again from inside, so that no text makes this slow.
 */
#include <string.h>

#include "audit/ledger.h"
#include "audit/shapes.h"
#include "base/base.h"

#include "base/banned.h"

enum char_class {
	WORD,
	DASH,
	DOT,
	UPPER
};

struct prefix {
	const char *name;
	const char *text;
	size_t least;
	enum char_class class;
	bool needs_boundary;
};

static const struct prefix prefixes[] = {
#define PREFIX(name, text, least, class, boundary) { name, text, least, class, boundary },
#include "audit/patterns.def"
#undef PREFIX
};

bool
audit_shapes_is_word_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

bool
audit_shapes_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_of(char c, enum char_class class)
{
	switch (class) {
	case WORD:
		return audit_shapes_is_word_char(c);
	case DASH:
		return audit_shapes_is_word_char(c) || c == '-';
	case DOT:
		return audit_shapes_is_word_char(c) || c == '-' || c == '.';
	case UPPER:
		return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
	}
	return false;
}

static size_t
run_of(const struct shapes *shapes, size_t at, enum char_class class)
{
	while (at < shapes->len && is_of(shapes->text[at], class))
		at++;
	return at;
}

static bool
stands_at(const struct shapes *shapes, size_t at, const char *literal)
{
	size_t len = strlen(literal);

	return shapes->len - at >= len && memcmp(shapes->text + at, literal, len) == 0;
}

/* No letter before, but for that of an escape: "\nsk-..." in a text that is JSON. */
static bool
is_boundary(const struct shapes *shapes, size_t at)
{
	return at == 0 || !audit_shapes_is_word_char(shapes->text[at - 1]) ||
	       (at >= 2 && shapes->text[at - 2] == '\\');
}

size_t
audit_shapes_hide(struct shapes *shapes, size_t begin, size_t end, const char *pattern)
{
	struct span span = { begin, end, -1, pattern };

	if (end > begin)
		audit_spans_add(shapes->spans, &span);
	return end;
}

static size_t
find_prefix(struct shapes *shapes, size_t at)
{
	size_t farthest = at;
	const struct prefix *found = NULL;

	for (size_t i = 0; i < HL_ARRAY_SIZE(prefixes); i++) {
		const struct prefix *prefix = &prefixes[i];
		if (prefix->text[0] != shapes->text[at] || !stands_at(shapes, at, prefix->text) ||
		    (prefix->needs_boundary && !is_boundary(shapes, at)))
			continue;
		size_t begin = at + strlen(prefix->text);
		size_t end = run_of(shapes, begin, prefix->class);
		if (end - begin < prefix->least || end <= farthest)
			continue;
		/* sk- is also how sk-ant- begins: the longer text names it. */
		if (found == NULL || strlen(prefix->text) > strlen(found->text))
			found = prefix;
		farthest = end;
	}
	return found != NULL ? audit_shapes_hide(shapes, at, farthest, found->name) : at;
}

/* eyJ... '.' ... '.' ...: RFC 7519 3.1. */
static size_t
find_jwt(struct shapes *shapes, size_t at)
{
	enum {
		PART_MIN = 8
	};

	if (!stands_at(shapes, at, "eyJ"))
		return at;
	size_t first = run_of(shapes, at, DASH);
	if (first - at < PART_MIN || first >= shapes->len || shapes->text[first] != '.')
		return first;
	size_t second = run_of(shapes, first + 1, DASH);
	if (second - first <= PART_MIN || second >= shapes->len || shapes->text[second] != '.')
		return second;
	return audit_shapes_hide(shapes, at, run_of(shapes, second + 1, DASH), "jwt");
}

static size_t
find_from(const struct shapes *shapes, size_t at, const char *literal)
{
	const char *found = memmem(shapes->text + at, shapes->len - at, literal, strlen(literal));

	return found != NULL ? (size_t)(found - shapes->text) : shapes->len;
}

/* A key up to its last line, or to the end of what there is; certificates may be seen. */
static size_t
find_pem(struct shapes *shapes, size_t at)
{
	static const char end_mark[] = "-----END ";
	size_t label = at + sizeof("-----BEGIN ") - 1;

	if (!stands_at(shapes, at, "-----BEGIN "))
		return at;
	size_t label_end = label;
	while (label_end < shapes->len && label_end - label < 64 && shapes->text[label_end] != '-')
		label_end++;
	if (memmem(shapes->text + label, label_end - label, "PRIVATE KEY", 11) == NULL)
		return label_end;
	size_t end = find_from(shapes, label_end, end_mark);
	if (end < shapes->len)
		end = find_from(shapes, end + sizeof(end_mark) - 1, "-----");
	return audit_shapes_hide(shapes, at, end < shapes->len ? end + 5 : end, "pem");
}

/* user:password@ behind "://", and a long name alone, which is a token. */
static size_t
find_userinfo(struct shapes *shapes, size_t at)
{
	size_t begin = at + 3, colon = 0, sign = 0;

	enum {
		TOKEN_MIN = 20
	};

	if (!stands_at(shapes, at, "://"))
		return at;
	size_t i = begin;
	for (; i < shapes->len && strchr("/?#<>\"'`", shapes->text[i]) == NULL &&
	       !audit_shapes_is_space(shapes->text[i]);
	     i++) {
		if (shapes->text[i] == ':' && colon == 0 && sign == 0)
			colon = i;
		if (shapes->text[i] == '@')
			sign = i;
	}
	if (sign == 0)
		return begin;
	if (colon != 0)
		return audit_shapes_hide(shapes, colon + 1, sign, "url");
	return sign - begin >= TOKEN_MIN ? audit_shapes_hide(shapes, begin, sign, "url") : begin;
}

/* "Bearer TOKEN" where no header's name tells. */
static size_t
find_bearer(struct shapes *shapes, size_t at)
{
	enum {
		TOKEN_MIN = 16
	};

	if (!is_boundary(shapes, at) ||
	    (!stands_at(shapes, at, "Bearer ") && !stands_at(shapes, at, "bearer ")))
		return at;
	size_t begin = at + sizeof("Bearer ") - 1, end = begin;
	while (end < shapes->len &&
	       (is_of(shapes->text[end], DOT) || strchr("+/~=", shapes->text[end]) != NULL) &&
	       shapes->text[end] != '\0')
		end++;
	return end - begin >= TOKEN_MIN ? audit_shapes_hide(shapes, begin, end, "bearer") : at;
}

enum trait {
	MAY_BEGIN = 1 << 0, /* one of the shapes */
	ENDS_WORD = 1 << 1, /* a word begins after it */
};

/* Most characters are neither: one look, and on. */
static const unsigned char traits[256] = {
	['A'] = MAY_BEGIN,
	['B'] = MAY_BEGIN,
	['S'] = MAY_BEGIN,
	['a'] = MAY_BEGIN,
	['b'] = MAY_BEGIN,
	['d'] = MAY_BEGIN,
	['e'] = MAY_BEGIN,
	['g'] = MAY_BEGIN,
	['h'] = MAY_BEGIN,
	['n'] = MAY_BEGIN,
	['p'] = MAY_BEGIN,
	['r'] = MAY_BEGIN,
	['s'] = MAY_BEGIN,
	['w'] = MAY_BEGIN,
	['x'] = MAY_BEGIN,
	['y'] = MAY_BEGIN,
	['-'] = MAY_BEGIN,
	[':'] = MAY_BEGIN,
	['='] = MAY_BEGIN | ENDS_WORD,
	[' '] = ENDS_WORD,
	['\t'] = ENDS_WORD,
	['\n'] = ENDS_WORD,
	['\r'] = ENDS_WORD,
	[';'] = ENDS_WORD,
	['|'] = ENDS_WORD,
	['&'] = ENDS_WORD,
	['('] = ENDS_WORD,
	['`'] = ENDS_WORD,
	['"'] = ENDS_WORD,
	['\''] = ENDS_WORD,
};

static bool
has_trait(char c, enum trait trait)
{
	return (traits[(unsigned char)c] & trait) != 0;
}

static size_t
find_at(struct shapes *shapes, size_t at)
{
	size_t next;

	switch (shapes->text[at]) {
	case 'B':
	case 'b':
		return find_bearer(shapes, at);
	case 'e':
		return find_jwt(shapes, at);
	case '-':
		return find_pem(shapes, at);
	case '=':
		return audit_shapes_assignment(shapes, at);
	case ':':
		next = audit_shapes_assignment(shapes, at);
		return next > at ? next : find_userinfo(shapes, at);
	default:
		return find_prefix(shapes, at);
	}
}

static bool
is_word_start(const struct shapes *shapes, size_t at)
{
	return at == 0 || has_trait(shapes->text[at - 1], ENDS_WORD);
}

/* Quotes as a shell counts them; good enough to know where a word ends. */
static size_t
step(struct shapes *shapes, size_t at)
{
	char c = shapes->text[at];

	if (c == '\\' && shapes->quote != '\'' && at + 1 < shapes->len)
		return at + 1;
	if (shapes->quote == 0 && (c == '"' || c == '\''))
		shapes->quote = c;
	else if (shapes->quote == c)
		shapes->quote = 0;
	return at + 1;
}

void
audit_patterns_find(struct redact_state *state, const char *text, size_t len, struct spans *spans)
{
	struct shapes shapes = {
		.text = text,
		.len = len,
		.is_argument = state->is_argument && !state->is_next_shell,
		.state = state,
		.spans = spans,
	};

	if (audit_shapes_whole(&shapes))
		return;
	for (size_t at = 0; at < len;) {
		size_t next = is_word_start(&shapes, at) ? audit_shapes_word(&shapes, at) : at;
		if (next == at && has_trait(text[at], MAY_BEGIN))
			next = find_at(&shapes, at);
		at = next > at ? next : step(&shapes, at);
	}
	audit_shapes_argument_ends(&shapes);
}
