/*
 * What bash wrote at its end, taken apart. Strict, capped, whole or nothing: a command can write
 * anything to the descriptor, so every byte must be one that bash would have written there.
 *
 * One report, fields ended by NUL (which no text of bash contains):
 *
 *	HLS2  cwd and newline  `export -p`  `declare -F`  `declare -f`  `alias -p`  options  END
 *
 * A shell with an EXIT trap of the user's writes two: before the trap and, where it comes so far,
 * behind it. The last whole one counts; what stands behind it must be the beginning of another.
 *
 * Quotings differ by version: `"..."` with the newlines in it (bash 3.2 to 4), `$'...'` where a
 *byte cannot be printed (since 4.4), `'...'` around arrays (before 4.4).
 */
#include <stdlib.h>
#include <string.h>

#include "session/state.h"

#include "base/banned.h"

enum {
	FIELD_MAGIC,
	FIELD_CWD,
	FIELD_EXPORTS,
	FIELD_NAMES,
	FIELD_FUNCTIONS,
	FIELD_ALIASES,
	FIELD_OPTIONS,
	FIELD_END,
	FIELD_MAX
};

/* A text that is read from front to end. It is NUL-terminated. */
struct cursor {
	const char *at, *end;
};

static bool
take(struct cursor *text, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(text->end - text->at) < len || memcmp(text->at, word, len) != 0)
		return false;
	text->at += len;
	return true;
}

static size_t
span(struct cursor *text, const char *set)
{
	size_t len = strspn(text->at, set);

	text->at += len;
	return len;
}

void
report_done(struct report *report)
{
	pairs_done(&report->variables);
	pairs_done(&report->functions);
	pairs_done(&report->aliases);
	free(report->options);
	free(report->cwd);
	*report = (struct report){ 0 };
}

/* ------------------------------------------------------------------------------------------------
 * Quoted values. Each is behind its opening quote and ends behind the closing one; out may be NULL.
 */
static void
put(struct hl_buf *out, char byte)
{
	if (out != NULL)
		hl_buf_putc(out, byte);
}

static bool
double_quoted(struct cursor *text, struct hl_buf *out)
{
	while (text->at < text->end) {
		char byte = *text->at++;
		if (byte == '"')
			return true;
		if (byte == '\\') {
			byte = *text->at;
			if (byte == '\0' || strchr("\"\\$`", byte) == NULL)
				return false;
			text->at++;
		}
		put(out, byte);
	}
	return false;
}

static bool
octal(struct cursor *text, struct hl_buf *out)
{
	unsigned value = 0;

	for (int i = 0; i < 3 && *text->at >= '0' && *text->at <= '7'; i++)
		value = value * 8 + (unsigned)(*text->at++ - '0');
	if (value == 0 || value > 255)
		return false;
	put(out, (char)(unsigned char)value);
	return true;
}

static bool
ansi_quoted(struct cursor *text, struct hl_buf *out)
{
	static const char letters[] = "abeEfnrtv\\'\"?";
	static const char bytes[] = "\a\b\033\033\f\n\r\t\v\\'\"?";

	while (text->at < text->end) {
		char byte = *text->at++;
		if (byte == '\'')
			return true;
		if (byte != '\\') {
			put(out, byte);
			continue;
		}
		byte = *text->at;
		const char *letter = byte != '\0' ? strchr(letters, byte) : NULL;
		if (letter != NULL) {
			put(out, bytes[letter - letters]);
			text->at++;
		} else if (!octal(text, out)) {
			return false;
		}
	}
	return false;
}

/* '...' pieces with \' between them, up to the end of the line. */
static bool
single_quoted_word(struct cursor *text, struct hl_buf *out)
{
	while (text->at < text->end && *text->at != '\n') {
		if (take(text, "\\'")) {
			put(out, '\'');
			continue;
		}
		if (!take(text, "'"))
			return false;
		const char *close = memchr(text->at, '\'', (size_t)(text->end - text->at));
		if (close == NULL)
			return false;
		if (out != NULL)
			hl_buf_put(out, text->at, (size_t)(close - text->at));
		text->at = close + 1;
	}
	return true;
}

/* ([k]="v" ...): an array. Nothing of it is kept, but its end must be found. */
static bool
array(struct cursor *text)
{
	while (text->at < text->end) {
		if (take(text, ")"))
			return true;
		bool is_fine = true;
		if (take(text, "\""))
			is_fine = double_quoted(text, NULL);
		else if (take(text, "$'"))
			is_fine = ansi_quoted(text, NULL);
		else if (*text->at == '\n' || *text->at == '\'' || *text->at == '(')
			is_fine = false;
		else
			text->at++;
		if (!is_fine)
			return false;
	}
	return false;
}

/* ------------------------------------------------------------------------------------------------
 * export -p: "declare -x NAME="value"", in POSIX mode "export NAME="value""
 */
static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

static bool
keep_variable(struct pairs *variables, const struct hl_buf *name, struct hl_buf *value)
{
	const struct pair pair = { .name = name->data, .value = value->data };

	return !name->failed && !value->failed && variables->len < SESSION_NAMES_MAX &&
	       pairs_set(variables, &pair) == 0;
}

static bool
variable(struct cursor *text, struct pairs *variables)
{
	bool is_scalar = true, has_value = false;
	struct hl_buf name HL_AUTO(hl_buf_done) = { 0 };
	struct hl_buf value HL_AUTO(hl_buf_done_secret) = { 0 };

	hl_buf_init(&name, 4096);
	hl_buf_init(&value, SESSION_STATE_MAX);
	if (!take(text, "declare ") && !take(text, "export "))
		return false;
	if (take(text, "-")) {
		const char *letters = text->at;
		size_t len = span(text, "aAilnrtux");
		/* An array or a reference is not what an environment can carry. */
		for (size_t i = 0; i < len; i++)
			is_scalar = is_scalar && strchr("aAn", letters[i]) == NULL;
		if (len == 0 || !take(text, " "))
			return false;
	}
	const char *begin = text->at;
	size_t len = span(text, name_bytes);
	hl_buf_put(&name, begin, len);
	if (len == 0 || (*begin >= '0' && *begin <= '9'))
		return false;
	if (take(text, "=")) {
		bool is_fine = take(text, "\"")   ? double_quoted(text, &value)
			       : take(text, "$'") ? ansi_quoted(text, &value)
			       : take(text, "(")  ? !is_scalar && array(text)
						  : single_quoted_word(text, &value);
		if (!is_fine)
			return false;
		has_value = is_scalar;
	}
	if (!take(text, "\n"))
		return false;
	return !has_value || keep_variable(variables, &name, &value);
}

static bool
exports(struct cursor text, struct report *report)
{
	while (text.at < text.end)
		if (!variable(&text, &report->variables))
			return false;
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * alias -p: "alias name='value'", "alias -- -name='value'"
 */
static bool
aliases(struct cursor text, struct report *report)
{
	struct hl_buf value HL_AUTO(hl_buf_done_secret) = { 0 };
	struct hl_buf name HL_AUTO(hl_buf_done) = { 0 };

	hl_buf_init(&name, 4096);
	hl_buf_init(&value, SESSION_STATE_MAX);
	while (text.at < text.end) {
		if (!take(&text, "alias ") || report->aliases.len == SESSION_NAMES_MAX)
			return false;
		take(&text, "-- ");
		size_t len = strcspn(text.at, "=\n'\"\\ \t$`();&|<>");
		hl_buf_reset(&name);
		hl_buf_reset(&value);
		hl_buf_put(&name, text.at, len);
		text.at += len;
		if (len == 0 || !take(&text, "=") || !single_quoted_word(&text, &value) ||
		    !take(&text, "\n") || name.failed || value.failed)
			return false;
		const struct pair pair = { .name = name.data, .value = value.data };
		if (pairs_set(&report->aliases, &pair) != 0)
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * declare -F and declare -f: names with attributes, and the texts in the same order
 *
 * The text of each function ends where the next one's header stands, a line "name () ". Where a
 * here-document inside a function has such a line as well there are two places that could be meant:
 * that function and the one before it stay together then, under the first's name.
 */
struct function {
	const char *name;
	size_t len;
	bool is_exported;
	size_t headers;     /* lines that could be its header */
	const char *header; /* the first of them */
};

struct functions {
	struct function *v; /* as told by declare -F */
	struct function **by_name;
	size_t len, capacity;
};

static bool
function_name(struct cursor *text, struct function *ret_function)
{
	*ret_function = (struct function){ 0 };
	if (!take(text, "declare -f"))
		return false;
	const char *letters = text->at;
	size_t len = span(text, "rtx");
	ret_function->is_exported = memchr(letters, 'x', len) != NULL;
	if (!take(text, " "))
		return false;
	ret_function->name = text->at;
	ret_function->len = strcspn(text->at, "\n \t'\"\\$`();&|<>");
	text->at += ret_function->len;
	return ret_function->len > 0 && take(text, "\n");
}

static int
compare(const struct function *a, const struct function *b)
{
	size_t len = a->len < b->len ? a->len : b->len;
	int order = memcmp(a->name, b->name, len);

	return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static int
compare_places(const void *a, const void *b)
{
	return compare(*(struct function *const *)a, *(struct function *const *)b);
}

static bool
read_names(struct cursor text, struct functions *functions)
{
	while (text.at < text.end) {
		if (functions->len == functions->capacity) {
			functions->capacity =
			    functions->capacity > 0 ? functions->capacity * 2 : 32;
			struct function *more = reallocarray(functions->v, functions->capacity,
			    sizeof(functions->v[0]));
			if (more == NULL)
				return false;
			functions->v = more;
		}
		if (functions->len == SESSION_NAMES_MAX ||
		    !function_name(&text, &functions->v[functions->len]))
			return false;
		functions->len++;
	}
	functions->by_name = reallocarray(NULL, functions->len + 1, sizeof(functions->by_name[0]));
	if (functions->by_name == NULL)
		return false;
	for (size_t i = 0; i < functions->len; i++)
		functions->by_name[i] = &functions->v[i];
	qsort(functions->by_name, functions->len, sizeof(functions->by_name[0]), compare_places);
	return true;
}

/* A line that ends in " () " and names one of them. */
static void
note_header(struct functions *functions, const char *line, size_t len)
{
	enum {
		ENDING = 4,
		WORD = 9
	};
	const char *begin = line;

	if (len <= ENDING || memcmp(line + len - ENDING, " () ", ENDING) != 0)
		return;
	len -= ENDING;
	if (len > WORD && memcmp(line, "function ", WORD) == 0) {
		line += WORD;
		len -= WORD;
	}
	struct function wanted = { .name = line, .len = len };
	struct function *key = &wanted;
	struct function **found = bsearch(&key, functions->by_name, functions->len,
	    sizeof(functions->by_name[0]), compare_places);
	if (found == NULL)
		return;
	if ((*found)->headers++ == 0)
		(*found)->header = begin;
}

static bool
keep_function(struct report *report, const struct function *function, const char *text, size_t len)
{
	struct pair pair = { .name = strndup(function->name, function->len),
		.value = strndup(text, len),
		.is_exported = function->is_exported };
	bool is_fine = pair.name != NULL && pair.value != NULL && len > 0 && text[len - 1] == '\n';

	if (is_fine && !state_is_own_function(pair.name))
		is_fine = pairs_set(&report->functions, &pair) == 0;
	free(pair.name);
	free(pair.value);
	return is_fine;
}

static bool
split(struct cursor text, struct functions *functions, struct report *report)
{
	for (const char *line = text.at, *end; line < text.end; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text.end - line));
		if (end == NULL)
			return false;
		note_header(functions, line, (size_t)(end - line));
	}
	for (size_t i = 0; i < functions->len;) {
		const struct function *function = &functions->v[i];
		const char *stop = text.end;
		if (function->header != text.at)
			return false;
		for (i++; i < functions->len && stop == text.end; i++) {
			if (functions->v[i].headers == 0)
				return false;
			if (functions->v[i].headers == 1) {
				stop = functions->v[i].header;
				break;
			}
		}
		if (stop <= text.at ||
		    !keep_function(report, function, text.at, (size_t)(stop - text.at)))
			return false;
		text.at = stop;
	}
	return text.at == text.end;
}

static bool
functions(struct cursor names, struct cursor text, struct report *report)
{
	struct functions list = { 0 };
	bool is_fine = read_names(names, &list) && split(text, &list, report);

	free(list.v);
	free(list.by_name);
	return is_fine;
}

/* ------------------------------------------------------------------------------------------------
 * The whole
 */
static bool
are_options(struct cursor text)
{
	span(&text, "abcdefghijklmnopqrstuvwxyz0123456789_-:");
	take(&text, " ");
	span(&text, "abcdefghijklmnopqrstuvwxyz0123456789_-:");
	return text.at == text.end;
}

static bool
directory(struct cursor text, struct report *report)
{
	if (text.at == text.end || text.end[-1] != '\n' || *text.at != '/')
		return false;
	char *path HL_AUTO_FREE = strndup(text.at, (size_t)(text.end - text.at) - 1);
	/* POSIX leaves "//" alone, and so does bash. */
	report->cwd = path != NULL ? hl_path_normalise("/", path) : NULL;
	return report->cwd != NULL && hl_path_is_normal(report->cwd);
}

/* The fields at bytes; false when they are not all there. */
static bool
cut(const char *bytes, size_t len, struct cursor fields[FIELD_MAX], size_t *ret_size)
{
	const char *at = bytes, *end = bytes + len;

	for (int i = 0; i < FIELD_MAX; i++) {
		const char *nul = memchr(at, '\0', (size_t)(end - at));
		if (nul == NULL)
			return false;
		fields[i] = (struct cursor){ .at = at, .end = nul };
		at = nul + 1;
	}
	*ret_size = (size_t)(at - bytes);
	return strcmp(fields[FIELD_MAGIC].at, "HLS2") == 0 &&
	       strcmp(fields[FIELD_END].at, "END") == 0;
}

/* The last whole report. */
static bool
find_last(const char *bytes, size_t len, struct cursor fields[FIELD_MAX])
{
	static const char magic[] = "HLS2";
	struct cursor next[FIELD_MAX];
	bool is_found = false;
	size_t size;

	while (len > 0 && cut(bytes, len, next, &size)) {
		memcpy(fields, next, sizeof(next));
		is_found = true;
		bytes += size;
		len -= size;
	}
	/* The rest was cut off by a signal; it may not be something else. */
	return is_found && memcmp(bytes, magic, len < sizeof(magic) ? len : sizeof(magic)) == 0;
}

int
report_parse(const char *bytes, size_t len, struct report *ret_report, struct hl_err *err)
{
	struct cursor fields[FIELD_MAX];
	struct report report = { 0 };

	if (len == 0)
		return hl_err_set(err, HLB_13, "the shell left no state");
	if (len > SESSION_STATE_MAX || !find_last(bytes, len, fields))
		return hl_err_set(err, HLB_13, "what was left as state is not whole");
	if (directory(fields[FIELD_CWD], &report) && exports(fields[FIELD_EXPORTS], &report) &&
	    functions(fields[FIELD_NAMES], fields[FIELD_FUNCTIONS], &report) &&
	    aliases(fields[FIELD_ALIASES], &report) && are_options(fields[FIELD_OPTIONS])) {
		report.options = strdup(fields[FIELD_OPTIONS].at);
		if (report.options != NULL) {
			*ret_report = report;
			return 0;
		}
	}
	report_done(&report);
	return hl_err_set(err, HLB_13, "what was left as state is not what a shell writes");
}
