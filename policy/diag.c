/*
 * Findings: collected here, formatted here, printed by nobody in this room.
 */
#include "policy/diag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/node.h"

#include "base/banned.h"

enum {
	MESSAGE_MAX = 400,
	NAMES_MAX = 2 * POLICY_LAYERS_MAX + 16,
	WINDOW = 80, /* columns of a long line that are shown */
};

void
policy_findings_init(struct policy_findings *findings)
{
	*findings = (struct policy_findings){ 0 };
	hl_strv_init(&findings->names, NAMES_MAX);
}

static void
finding_done(struct policy_finding *finding)
{
	free(finding->message);
	free(finding->help);
	free(finding->line);
	free(finding->other_text);
}

void
policy_findings_done(struct policy_findings *findings)
{
	for (size_t i = 0; i < findings->len; i++)
		finding_done(&findings->items[i]);
	free(findings->items);
	hl_strv_done(&findings->names);
	*findings = (struct policy_findings){ 0 };
}

const char *
policy_findings_name(struct policy_findings *findings, const char *name)
{
	if (findings->names.max == 0)
		hl_strv_init(&findings->names, NAMES_MAX);
	for (size_t i = 0; i < findings->names.len; i++) {
		if (strcmp(findings->names.v[i], name) == 0)
			return findings->names.v[i];
	}
	hl_strv_add(&findings->names, name);
	return findings->names.failed ? NULL : findings->names.v[findings->names.len - 1];
}

void
policy_diag_init(struct diag *diag, struct policy_findings *findings, const char *file)
{
	*diag = (struct diag){ .out = findings, .file = file, .first = findings->len };
}

struct diag_at
policy_at(const struct node *node)
{
	return (struct diag_at){ node->line, node->column, node->width };
}

bool
policy_diag_is_kept(const struct diag *diag)
{
	return diag->last != NULL;
}

bool
policy_diag_is_full(const struct diag *diag)
{
	return diag->out->len == POLICY_FINDINGS_MAX;
}

/* Room for one more, or NULL: too many, or no memory (then the count alone tells). */
static struct policy_finding *
next_finding(struct policy_findings *findings)
{
	if (findings->items == NULL)
		findings->items = calloc(POLICY_FINDINGS_MAX, sizeof(*findings->items));
	if (findings->items == NULL || findings->len == POLICY_FINDINGS_MAX) {
		findings->is_cut = true;
		return NULL;
	}
	return &findings->items[findings->len++];
}

/* "tcp://user:password@host" becomes "tcp://...@host", whatever key it was written under. */
static void
hide_users(char *text)
{
	static const char ends[] = " /\"'],}\t\n";

	for (char *at = strstr(text, "://"); at != NULL; at = strstr(at, "://")) {
		at += 3;
		char *end = at + strcspn(at, ends), *host = end;
		const char *port = memchr(at, ':', (size_t)(end - at));
		while (host > at && host[-1] != '@')
			host--;
		/* One that was cut off before its host, as long texts are. */
		if (host == at && end - at > 40 && port != NULL && port + 1 < end &&
		    (port[1] < '0' || port[1] > '9')) {
			memset(at, '.', (size_t)(end - at));
			continue;
		}
		size_t len = (size_t)(host - at);
		if (len > 0 && len < 4) {
			memset(at, '.', len - 1);
		} else if (len > 0) {
			memcpy(at, "...", 3);
			memmove(at + 3, host - 1, strlen(host - 1) + 1);
		}
	}
}

/* Names and values of a policy are quoted in messages: make them safe for a terminal. */
static char *
safe_text(const char *text)
{
	char raw[MESSAGE_MAX];
	struct hl_buf buf;

	(void)snprintf(raw, sizeof(raw), "%s", text);
	hide_users(raw);
	hl_buf_init(&buf, (size_t)MESSAGE_MAX * 10);
	hl_buf_printable(&buf, raw, strlen(raw));
	char *safe = hl_buf_take(&buf);
	hl_buf_done(&buf);
	return safe;
}

HL_PRINTF(1, 0)
static char *
format_text(const char *format, va_list ap)
{
	char raw[MESSAGE_MAX];

	vsnprintf(raw, sizeof(raw), format, ap);
	return safe_text(raw);
}

/* Counted always, kept when there is room; true when it is kept and wants its message. */
static bool
add(struct diag *diag, enum policy_severity severity, enum hl_code code, struct diag_at at)
{
	diag->out->errors += severity == POLICY_ERROR;
	diag->out->warnings += severity == POLICY_WARNING;
	diag->last = next_finding(diag->out);
	if (diag->last == NULL)
		return false;
	*diag->last = (struct policy_finding){
		.severity = severity,
		.code = code,
		.where = { diag->file, at.line, at.column },
		.width = at.width,
	};
	return true;
}

void
policy_diag_error(struct diag *diag, enum hl_code code, struct diag_at at, const char *format, ...)
{
	va_list ap;

	if (!add(diag, POLICY_ERROR, code, at))
		return;
	va_start(ap, format);
	diag->last->message = format_text(format, ap);
	va_end(ap);
}

void
policy_diag_warn(struct diag *diag, enum hl_code code, struct diag_at at, const char *format, ...)
{
	va_list ap;

	if (!add(diag, POLICY_WARNING, code, at))
		return;
	va_start(ap, format);
	diag->last->message = format_text(format, ap);
	va_end(ap);
}

void
policy_diag_tell(struct diag *diag, enum policy_severity severity, enum hl_code code,
    struct diag_at at, const char *message)
{
	if (add(diag, severity, code, at))
		diag->last->message = safe_text(message);
}

void
policy_diag_help(struct diag *diag, const char *format, ...)
{
	va_list ap;

	if (diag->last == NULL)
		return;
	va_start(ap, format);
	free(diag->last->help);
	diag->last->help = format_text(format, ap);
	va_end(ap);
}

void
policy_diag_other(struct diag *diag, struct hl_where where, const char *text)
{
	if (diag->last == NULL || where.file == NULL)
		return;
	where.file = policy_findings_name(diag->out, where.file);
	if (where.file == NULL)
		return;
	diag->last->other = where;
	free(diag->last->other_text);
	diag->last->other_text = strdup(text);
}

/* Stable: findings of one place stay in the order they were made. */
static void
sort_findings(struct policy_finding *items, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct policy_finding moved = items[i];
		size_t j = i;
		while (j > 0 && (items[j - 1].where.line > moved.where.line ||
				    (items[j - 1].where.line == moved.where.line &&
					items[j - 1].where.column > moved.where.column))) {
			items[j] = items[j - 1];
			j--;
		}
		items[j] = moved;
	}
}

/* Where the first key on the line ends that nobody knows, SIZE_MAX: there is none. What follows may
 * be anything, a password too. */
static size_t
unknown_key_end(const struct diag *diag, uint32_t line)
{
	size_t end = SIZE_MAX;

	for (size_t i = diag->first; i < diag->out->len; i++) {
		const struct policy_finding *finding = &diag->out->items[i];
		size_t at = (size_t)finding->where.column - 1 + finding->width;
		if (finding->code == HLP_04 && finding->where.line == line && at < end)
			end = at;
	}
	return end;
}

/* The line as far as that key; of what is found behind it the words themselves, after blanks, but
 * not where they are no YAML of ours: there they may be the very value. */
static char *
known_part(const struct policy_finding *finding, const char *line, size_t len, size_t known)
{
	size_t from = finding->where.column - 1, to = from + finding->width;
	char *part = NULL;

	bool is_yaml = strncmp(hl_code_info(finding->code)->id, "HLY-", 4) == 0;
	if (to > len || (to > known && is_yaml) ||
	    asprintf(&part, "%.*s%s", (int)(to > known ? to : known), line,
		(to > known ? to : known) < len ? "..." : "") < 0)
		return NULL;
	for (size_t i = 0; to > known && i < from; i++)
		part[i] = part[i] == '\t' ? '\t' : ' ';
	return part;
}

/* The lines of such a key's value, of which something else may be told. */
static bool
is_under_unknown_key(const struct diag *diag, const struct node *node, uint32_t line)
{
	for (const struct node *child = node->first; child != NULL; child = child->next) {
		if (line < child->line && (child->key == NULL || line < child->key->line))
			continue;
		if (child->end_line != 0 && line > child->end_line)
			continue;
		for (size_t i = diag->first; child->key != NULL && i < diag->out->len; i++) {
			const struct policy_finding *finding = &diag->out->items[i];
			if (finding->code == HLP_04 && line > child->key->line &&
			    finding->where.line == child->key->line &&
			    finding->where.column == child->key->column)
				return true;
		}
		if (is_under_unknown_key(diag, child, line))
			return true;
	}
	return false;
}

void
policy_diag_seal(struct diag *diag, const struct policy_source *source, const struct node *root)
{
	struct policy_findings *out = diag->out;

	for (size_t i = diag->first; i < out->len; i++) {
		struct policy_finding *finding = &out->items[i];
		size_t len;
		if (finding->where.line == 0 || finding->line != NULL ||
		    policy_line_is_private(source, root, finding->where.line) ||
		    (root != NULL && is_under_unknown_key(diag, root, finding->where.line)))
			continue;
		const char *line = policy_source_line(source, finding->where.line, &len);
		size_t known = unknown_key_end(diag, finding->where.line);
		if (known < len) {
			finding->line = known_part(finding, line, len, known);
			continue;
		}
		/* What is far behind the place is not shown: of a line of 1 MiB, not a copy each.
		 */
		size_t shown = (size_t)finding->where.column + finding->width + (size_t)WINDOW * 4;
		finding->line = len > 0 ? strndup(line, len < shown ? len : shown) : NULL;
	}
	if (diag->first < out->len)
		sort_findings(out->items + diag->first, out->len - diag->first);
	diag->last = NULL;
}

int
policy_findings_err(const struct policy_findings *findings, struct hl_err *err)
{
	for (size_t i = 0; i < findings->len; i++) {
		const struct policy_finding *finding = &findings->items[i];
		if (finding->severity != POLICY_ERROR)
			continue;
		hl_err_set(err, finding->code, "%s",
		    finding->message != NULL ? finding->message : "out of memory");
		if (finding->help != NULL)
			hl_err_help(err, "%s", finding->help);
		err->where = finding->where;
		return -1;
	}
	return hl_err_set(err, HLI_03, "the policy has more findings than can be kept");
}

/* ------------------------------------------------------------------------------------------------
 * The form a person reads
 */

/* Columns that a piece of a line takes on a screen, as hl_buf_printable() writes it. */
static size_t
columns_of(const char *bytes, size_t len)
{
	struct hl_buf buf;
	size_t columns = 0;

	hl_buf_init(&buf, (size_t)POLICY_FILE_MAX * 10);
	hl_buf_printable(&buf, bytes, len);
	for (size_t i = 0; i < buf.len; i++)
		columns += ((unsigned char)buf.data[i] & 0xc0) != 0x80;
	hl_buf_done(&buf);
	return columns;
}

static bool
is_boundary(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

/* The part of a long line that is shown: from is left of the place, both ends between characters.
 */
static void
window_of(const char *line, size_t len, size_t place, size_t *ret_from, size_t *ret_to)
{
	size_t from = 0, to = len;

	if (len > WINDOW) {
		from = place > WINDOW / 2 ? place - WINDOW / 2 : 0;
		to = len - from > WINDOW ? from + WINDOW : len;
		while (from > 0 && !is_boundary(line[from]))
			from--;
		while (to < len && !is_boundary(line[to]))
			to++;
	}
	*ret_from = from;
	*ret_to = to;
}

static void
format_line(const struct policy_finding *finding, struct hl_buf *out)
{
	size_t len = strlen(finding->line), from, to;
	size_t place = finding->where.column > 0 ? finding->where.column - 1 : 0;
	char *line = strdup(finding->line);

	if (line == NULL)
		return;
	for (size_t i = 0; i < len; i++) {
		if (line[i] == '\t')
			line[i] = ' ';
	}
	if (place > len)
		place = len;
	window_of(line, len, place, &from, &to);
	hl_buf_putf(out, "%5u | %s", finding->where.line, from > 0 ? "..." : "");
	hl_buf_printable(out, line + from, to - from);
	hl_buf_puts(out, to < len ? "...\n" : "\n");
	size_t pad = columns_of(line + from, place - from) + (from > 0 ? 3 : 0);
	size_t end = place + finding->width < to ? place + finding->width : to;
	size_t width = end > place ? columns_of(line + place, end - place) : 1;
	hl_buf_putf(out, "      | %*s^", (int)pad, "");
	for (size_t i = 1; i < width; i++)
		hl_buf_putc(out, '~');
	hl_buf_putc(out, '\n');
	free(line);
}

static void
format_where(const struct hl_where *where, struct hl_buf *out)
{
	hl_buf_printable(out, where->file, strlen(where->file));
	if (where->line > 0)
		hl_buf_putf(out, ":%u:%u", where->line, where->column);
}

void
policy_finding_format(const struct policy_finding *finding, struct hl_buf *out)
{
	static const char *const words[] = {
		[POLICY_NOTE] = "note",
		[POLICY_WARNING] = "warning",
		[POLICY_ERROR] = "error",
	};

	if (finding->where.file != NULL) {
		format_where(&finding->where, out);
		hl_buf_puts(out, ": ");
	}
	hl_buf_putf(out, "%s: %s [%s]\n", words[finding->severity],
	    finding->message != NULL ? finding->message : "out of memory",
	    hl_code_info(finding->code)->id);
	if (finding->line != NULL && finding->where.line > 0)
		format_line(finding, out);
	if (finding->other.file != NULL && finding->other_text != NULL) {
		hl_buf_printable(out, "  note: ", 8);
		hl_buf_printable(out, finding->other_text, strlen(finding->other_text));
		hl_buf_puts(out, ": ");
		format_where(&finding->other, out);
		hl_buf_putc(out, '\n');
	}
	if (finding->help != NULL)
		hl_buf_putf(out, "  help: %s\n", finding->help);
}
