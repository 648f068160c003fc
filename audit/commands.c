/*
 * What a command line hides: values behind names that say so (--password=, API_TOKEN=, a header),
 * and behind the options of programs that are known for it. Where a value ends is read as a shell
 * reads it, so that nothing which is executed after the value disappears from the record with it.
 */
#include <string.h>
#include <strings.h>

#include "audit/ledger.h"
#include "audit/shapes.h"
#include "base/base.h"

#include "base/banned.h"

enum tool_style {
	ATTACHED = 1 << 0,     /* -pVALUE */
	SEPARATE = 1 << 1,     /* -p VALUE */
	BEHIND_COLON = 1 << 2, /* -u user:VALUE */
};

struct tool {
	const char *program; /* or a word such as "login" */
	const char *option;
	unsigned style;
};

static const struct tool tools[] = {
	{ "7z", "-p", ATTACHED },
	{ "7za", "-p", ATTACHED },
	{ "curl", "-u", ATTACHED | SEPARATE | BEHIND_COLON },
	{ "curl", "-U", ATTACHED | SEPARATE | BEHIND_COLON },
	{ "curl", "--user", SEPARATE | BEHIND_COLON },
	{ "curl", "--proxy-user", SEPARATE | BEHIND_COLON },
	{ "ldapsearch", "-w", ATTACHED | SEPARATE },
	{ "ldapmodify", "-w", ATTACHED | SEPARATE },
	{ "login", "-p", ATTACHED | SEPARATE }, /* docker, podman, helm registry, oc, az */
	{ "mariadb", "-p", ATTACHED },
	{ "mongo", "-p", ATTACHED | SEPARATE },
	{ "mongodump", "-p", ATTACHED | SEPARATE },
	{ "mongosh", "-p", ATTACHED | SEPARATE },
	{ "mysql", "-p", ATTACHED },
	{ "mysqladmin", "-p", ATTACHED },
	{ "mysqldump", "-p", ATTACHED },
	{ "redis-cli", "-a", ATTACHED | SEPARATE },
	{ "ssh", "", 0 }, /* "sshpass -p VALUE ssh -p 22": the second is a port */
	{ "sshpass", "-p", ATTACHED | SEPARATE },
	{ "zip", "-P", ATTACHED | SEPARATE },
	{ "unzip", "-P", ATTACHED | SEPARATE },
};

/* A name that ends so, letter case folded and final numbers taken off, is that of a secret. */
static const char *const secret_endings[] = {
	"access-key",
	"access_key",
	"accesskey",
	"api-key",
	"api_key",
	"apikey",
	"auth_key",
	"credential",
	"credentials",
	"passphrase",
	"passwd",
	"password",
	"private-key",
	"private_key",
	"secret",
	"secret-key",
	"secret_key",
	"secretkey",
	"token",
};

/* The same, but only as a whole word: "bypass" is none, and PWD alone is where somebody is. */
static const struct {
	const char *word;
	bool needs_more;
} secret_words[] = {
	{ "pass", false },
	{ "pw", false },
	{ "pwd", true },
};

static const char *const secret_headers[] = {
	"authorization",
	"cookie",
	"proxy-authorization",
	"set-cookie",
};

enum {
	NAME_MAX_LEN = 64
};

static bool
ends_in(const char *name, size_t len, const char *ending)
{
	size_t n = strlen(ending);

	return len >= n && strncasecmp(name + len - n, ending, n) == 0;
}

static bool
is_secret_name(const char *name, size_t len)
{
	while (len > 0 && ((name[len - 1] >= '0' && name[len - 1] <= '9') || name[len - 1] == '_' ||
			      name[len - 1] == '-'))
		len--;
	for (size_t i = 0; i < HL_ARRAY_SIZE(secret_endings); i++)
		if (ends_in(name, len, secret_endings[i]))
			return true;
	for (size_t i = 0; i < HL_ARRAY_SIZE(secret_words); i++) {
		size_t n = strlen(secret_words[i].word);
		if (!ends_in(name, len, secret_words[i].word))
			continue;
		if (len == n ? !secret_words[i].needs_more
			     : name[len - n - 1] == '_' || name[len - n - 1] == '-')
			return true;
	}
	return false;
}

static bool
is_secret_header(const char *name, size_t len)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(secret_headers); i++)
		if (len == strlen(secret_headers[i]) &&
		    strncasecmp(name, secret_headers[i], len) == 0)
			return true;
	return false;
}

static bool
is_name_char(char c)
{
	return audit_shapes_is_word_char(c) || c == '-';
}

static bool
is_quote(char c)
{
	return c == '"' || c == '\'';
}

static char
char_at(const struct shapes *shapes, size_t at)
{
	return at < shapes->len ? shapes->text[at] : '\0';
}

/* Behind the next `quote` that no backslash stands before, or the end. */
static size_t
behind_quote(const struct shapes *shapes, size_t at, char quote)
{
	for (; at < shapes->len; at++) {
		if (shapes->text[at] == quote)
			return at + 1;
		if (shapes->text[at] == '\\' && quote == '"')
			at++;
	}
	return shapes->len;
}

/* Where the shell word that begins at `at` ends. */
static size_t
word_end(const struct shapes *shapes, size_t at)
{
	while (at < shapes->len) {
		char c = shapes->text[at];
		if (audit_shapes_is_space(c) || (shapes->quote != 0 && c == shapes->quote))
			return at;
		if (shapes->quote == 0 && c != '\0' && strchr(";&|()<>`", c) != NULL)
			return at;
		if (shapes->quote == 0 && is_quote(c))
			at = behind_quote(shapes, at + 1, c);
		else if (c == '\\')
			at += at + 1 < shapes->len ? 2 : 1;
		else
			at++;
	}
	return shapes->len;
}

/* A value with quotes of its own, also such as are escaped ("{\"token\":\"...\"}"), or a word. */
static size_t
value_end(const struct shapes *shapes, size_t at)
{
	char c = char_at(shapes, at);

	if (is_quote(c) && c != shapes->quote)
		return behind_quote(shapes, at + 1, c);
	if (c == '\\' && char_at(shapes, at + 1) == '"') {
		const char *rest = shapes->text + at + 2;
		const char *end = memmem(rest, shapes->len - at - 2, "\\\"", 2);
		return end != NULL ? (size_t)(end - shapes->text) + 2 : shapes->len;
	}
	return word_end(shapes, at);
}

static size_t
header_end(const struct shapes *shapes, size_t at)
{
	while (at < shapes->len && shapes->text[at] != '\n' && shapes->text[at] != '\r') {
		char c = shapes->text[at];
		if (shapes->quote != 0 ? c == shapes->quote : !shapes->is_argument && is_quote(c))
			break;
		at++;
	}
	return at;
}

static bool
has_space(const struct shapes *shapes)
{
	for (size_t i = 0; i < shapes->len; i++)
		if (audit_shapes_is_space(shapes->text[i]))
			return true;
	return false;
}

/* An argument that is the option or the variable has no end but its own. */
static bool
is_whole_argument(const struct shapes *shapes, size_t name)
{
	if (!shapes->is_argument)
		return false;
	return (name == 0 && shapes->text[0] == '-') || (name == 0 && !has_space(shapes)) ||
	       (name <= 2 && shapes->text[0] == '-');
}

size_t
audit_shapes_assignment(struct shapes *shapes, size_t at)
{
	size_t end = at;

	/* The quotes of a name in JSON, perhaps escaped. */
	while (end > 0 && at - end < 2 &&
	       (is_quote(shapes->text[end - 1]) || shapes->text[end - 1] == '\\'))
		end--;
	size_t begin = end;
	while (begin > 0 && end - begin < NAME_MAX_LEN && is_name_char(shapes->text[begin - 1]))
		begin--;
	const char *name = shapes->text + begin;
	size_t value = at + 1;
	bool is_colon = shapes->text[at] == ':';
	while (is_colon && value < shapes->len && shapes->text[value] == ' ')
		value++;
	if (is_colon && is_secret_header(name, end - begin))
		return audit_shapes_hide(shapes, value, header_end(shapes, value), "header");
	if (!is_secret_name(name, end - begin) || (!is_colon && char_at(shapes, value) == '='))
		return at;
	/* acme/token:latest is an image. */
	if (is_colon && value == at + 1 && begin > 0 && shapes->text[begin - 1] == '/')
		return at;
	if (!is_colon && is_whole_argument(shapes, begin))
		return audit_shapes_hide(shapes, value, shapes->len, "value");
	return audit_shapes_hide(shapes, value, value_end(shapes, value), "value");
}

/* Hides the value at `at`, up to end, of an option of that style. */
static size_t
hide_option(struct shapes *shapes, size_t at, size_t end, unsigned style)
{
	if ((style & BEHIND_COLON) == 0)
		return audit_shapes_hide(shapes, at, end, "option");
	const char *colon = memchr(shapes->text + at, ':', end - at);
	if (colon == NULL)
		return end;
	return audit_shapes_hide(shapes, (size_t)(colon - shapes->text) + 1, end, "option");
}

static size_t
skip_blanks(const struct shapes *shapes, size_t at)
{
	while (at < shapes->len && (shapes->text[at] == ' ' || shapes->text[at] == '\t'))
		at++;
	return at;
}

/* Behind the option at [at, end) comes its value: in this text, or it is the next argument. */
static size_t
value_follows(struct shapes *shapes, size_t end, unsigned style)
{
	size_t value = skip_blanks(shapes, end);

	if (end == shapes->len) {
		shapes->state->is_next_secret = shapes->is_argument;
		shapes->state->next_style = style;
		return end;
	}
	if (value == end)
		return end;
	return hide_option(shapes, value, value_end(shapes, value), style);
}

/* An option of the program that was named last. Several rows may have its name. */
static size_t
tool_option(struct shapes *shapes, size_t at)
{
	const struct tool *named = shapes->state->tool;

	for (const struct tool *tool = tools; tool < tools + HL_ARRAY_SIZE(tools); tool++) {
		size_t n = strlen(tool->option);
		size_t end = at + n;
		if (named == NULL || strcmp(tool->program, named->program) != 0 ||
		    shapes->len < end || memcmp(shapes->text + at, tool->option, n) != 0)
			continue;
		bool is_alone = end == shapes->len || audit_shapes_is_space(shapes->text[end]);
		if (is_alone && (tool->style & SEPARATE) != 0)
			return value_follows(shapes, end, tool->style);
		if (!is_alone && (tool->style & ATTACHED) != 0)
			return hide_option(shapes, end,
			    shapes->is_argument ? shapes->len : value_end(shapes, end),
			    tool->style);
	}
	return at;
}

static void
note_tool(struct shapes *shapes, size_t at, size_t end)
{
	size_t begin = end;

	while (begin > at && shapes->text[begin - 1] != '/')
		begin--;
	for (size_t i = 0; i < HL_ARRAY_SIZE(tools); i++) {
		if (strlen(tools[i].program) == end - begin &&
		    memcmp(tools[i].program, shapes->text + begin, end - begin) == 0) {
			shapes->state->tool = &tools[i];
			return;
		}
	}
}

/* --password VALUE, also -password VALUE. */
static size_t
named_option(struct shapes *shapes, size_t at)
{
	size_t name = at;

	while (name < at + 2 && char_at(shapes, name) == '-')
		name++;
	size_t end = name;
	while (end < shapes->len && is_name_char(shapes->text[end]))
		end++;
	if (name == at || end - name < 3 || !is_secret_name(shapes->text + name, end - name))
		return at;
	if (end < shapes->len && !audit_shapes_is_space(shapes->text[end]))
		return at;
	return value_follows(shapes, end, 0);
}

size_t
audit_shapes_word(struct shapes *shapes, size_t at)
{
	if (at > 0 && shapes->quote == 0 && strchr(";|&(`", shapes->text[at - 1]) != NULL)
		shapes->state->tool = NULL;
	if (char_at(shapes, at) != '-') {
		size_t end = at;
		while (
		    end < shapes->len &&
		    (is_name_char(shapes->text[end]) || strchr("./", shapes->text[end]) != NULL) &&
		    shapes->text[end] != '\0')
			end++;
		note_tool(shapes, at, end);
		return at;
	}
	size_t next = named_option(shapes, at);
	if (next > at)
		return next;
	return tool_option(shapes, at);
}

bool
audit_shapes_whole(struct shapes *shapes)
{
	struct redact_state *state = shapes->state;

	if (!state->is_next_secret)
		return false;
	state->is_next_secret = false;
	(void)hide_option(shapes, 0, shapes->len, state->next_style);
	return true;
}

void
audit_shapes_argument_ends(struct shapes *shapes)
{
	struct redact_state *state = shapes->state;
	size_t len = shapes->len;

	/* -c, -lc: the next argument of this command is a shell's. */
	state->is_next_shell = state->is_argument && len >= 2 && len <= 8 &&
			       shapes->text[0] == '-' && shapes->text[1] != '-' &&
			       shapes->text[len - 1] == 'c';
}
