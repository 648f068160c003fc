/*
 * Every message for a person: stderr, one form, control characters neutralised. stdout belongs to
 * the command (run) or to the answer (other verbs).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/launcher.h"
#include "launcher/options.h"

#include "base/banned.h"

/* What the command line said about telling; set once by report_init(). */
static bool is_quiet, is_verbose, has_color;

void
report_init(const struct request *request)
{
	const char *no_color = getenv("NO_COLOR");

	is_quiet = request->is_quiet;
	is_verbose = request->is_verbose;
	has_color = !request->no_color && (no_color == NULL || no_color[0] == '\0') &&
		    isatty(STDERR_FILENO);
}

static void
emit(struct hl_buf *text)
{
	static const char lost[] = "hermes-launch: a message could not be held [HLI-01]\n";
	const char *bytes = text->failed ? lost : text->data;

	/* If stderr is gone there is nobody to tell. */
	if (hl_write_full(STDERR_FILENO, bytes, text->failed ? strlen(lost) : text->len) != 0)
		errno = 0;
	hl_buf_done_secret(text);
}

static void
begin(struct hl_buf *text, const char *kind, const char *color)
{
	hl_buf_init(text, 65536);
	hl_buf_puts(text, "hermes-launch: ");
	if (kind[0] != '\0')
		hl_buf_putf(text, "%s%s%s: ", has_color ? color : "", kind,
		    has_color ? "\033[0m" : "");
}

/* What stands in the way outside of us, an engine or a registry, is rarely known to who meets its
 * message: the code's own text is better than none. Faults in a file say where they are. */
static const char *
help_for(const struct hl_err *err)
{
	const struct hl_code_info *info = hl_code_info(err->code);

	return err->help[0] == '\0' && strncmp(info->id, "HLB-", 4) == 0 ? info->help : err->help;
}

void
report_error(const struct hl_err *err)
{
	struct hl_buf text;

	begin(&text, "", "");
	if (err->where.file != NULL) {
		hl_buf_printable(&text, err->where.file, strlen(err->where.file));
		if (err->where.line > 0)
			hl_buf_putf(&text, ":%u:%u", err->where.line, err->where.column);
		hl_buf_puts(&text, ": ");
	}
	hl_buf_printable(&text, err->msg, strlen(err->msg));
	hl_buf_putf(&text, " [%s]\n", hl_code_info(err->code)->id);
	const char *help = help_for(err);
	if (help[0] != '\0') {
		hl_buf_puts(&text, "  help: ");
		hl_buf_printable(&text, help, strlen(help));
		hl_buf_putc(&text, '\n');
	}
	emit(&text);
}

/* A note, such as of what lies dormant, is for who looks at policies and not for every run. */
static bool
is_shown(const struct policy_finding *finding, enum verb verb)
{
	if (finding->severity == POLICY_NOTE && verb != VERB_EXPLAIN &&
	    strncmp(verb_rows[verb].words, "policy ", strlen("policy ")) != 0)
		return false;
	return finding->severity == POLICY_ERROR || !is_quiet;
}

void
report_findings(const struct policy_findings *findings, const struct request *request)
{
	struct hl_buf text;

	hl_buf_init(&text, 1U << 20);
	for (size_t i = 0; i < findings->len; i++)
		if (is_shown(&findings->items[i], request->verb))
			policy_finding_format(&findings->items[i], &text);
	if (findings->is_cut)
		hl_buf_putf(&text, "hermes-launch: only the first %d findings are shown\n",
		    POLICY_FINDINGS_MAX);
	emit(&text);
}

static void
put_origin(struct hl_buf *text, const struct hl_origin *origin)
{
	if (origin->where.file != NULL) {
		hl_buf_printable(text, origin->where.file, strlen(origin->where.file));
		if (origin->where.line > 0)
			hl_buf_putf(text, ":%u:%u", origin->where.line, origin->where.column);
	} else {
		hl_buf_puts(text, origin->layer != NULL ? origin->layer : "built-in");
	}
}

static void
put_row(struct hl_buf *text, const char *name, const char *value)
{
	if (value[0] == '\0')
		return;
	hl_buf_putf(text, "  %-9s ", name);
	hl_buf_printable(text, value, strlen(value));
	hl_buf_putc(text, '\n');
}

/* What no policy's owner could permit. */
static bool
is_final(enum hl_code code)
{
	return code == HLC_01 || code == HLC_02 || code == HLC_05 || code == HLC_06;
}

static void
put_help(struct hl_buf *text, const struct conflict *conflict)
{
	const struct hl_origin *origin = &conflict->origin;
	bool is_level = origin->layer != NULL && strcmp(origin->layer, "level") == 0;
	struct hl_buf help;

	if (conflict->help != NULL || is_final(conflict->code)) {
		put_row(text, "help",
		    conflict->help != NULL ? conflict->help : hl_code_info(conflict->code)->help);
		return;
	}
	hl_buf_init(&help, 1024);
	hl_buf_putf(&help, "%s; to permit it, the owner of %s",
	    strcmp(conflict->door, "environment") == 0 ? "unset the variable" : "drop the argument",
	    is_level             ? "the policy that names this level"
	    : origin->id != NULL ? origin->id
				 : "that policy");
	if (conflict->owner[0] != '\0')
		hl_buf_putf(&help, " (%s)", conflict->owner);
	hl_buf_puts(&help, " must change the bound");
	put_row(text, "help", help.data);
	text->failed |= help.failed;
	hl_buf_done_secret(&help);
}

void
report_conflict(const struct conflict *conflict)
{
	struct hl_buf text;
	static const char *const words[] = {
		[CONFLICT_REFUSED] = "",
		[CONFLICT_WON] = "ran with a weaker setting: ",
		[CONFLICT_DROPPED] = "left out: ",
	};
	bool is_refused = conflict->action == CONFLICT_REFUSED;

	begin(&text, is_refused ? "refused" : "warning", is_refused ? "\033[1;31m" : "\033[1;33m");
	hl_buf_puts(&text, words[conflict->action]);
	hl_buf_printable(&text, conflict->asked, strlen(conflict->asked));
	hl_buf_putf(&text, " loosens %s [%s]\n", conflict->control,
	    hl_code_info(conflict->code)->id);
	hl_buf_puts(&text, "  policy    ");
	put_origin(&text, &conflict->origin);
	hl_buf_puts(&text, "   allows ");
	hl_buf_printable(&text, conflict->bound, strlen(conflict->bound));
	if (conflict->origin.layer != NULL) {
		hl_buf_putf(&text, "   (%s", conflict->origin.layer);
		if (conflict->origin.id != NULL)
			hl_buf_putf(&text, ", %s", conflict->origin.id);
		if (conflict->origin.revision > 0)
			hl_buf_putf(&text, " rev %llu",
			    (unsigned long long)conflict->origin.revision);
		hl_buf_puts(&text, conflict->is_locked ? ", locked)" : ")");
	}
	hl_buf_putc(&text, '\n');
	put_row(&text, "override", conflict->door);
	put_row(&text, "effect", conflict->effect);
	if (is_refused)
		put_help(&text, conflict);
	emit(&text);
}

static void
tell(const char *kind, const char *format, va_list ap)
{
	struct hl_buf text, line;

	hl_buf_init(&line, 4096);
	hl_buf_vputf(&line, format, ap);
	begin(&text, kind, "\033[1;33m");
	hl_buf_printable(&text, line.data, line.len);
	hl_buf_putc(&text, '\n');
	text.failed |= line.failed;
	hl_buf_done_secret(&line);
	emit(&text);
}

void
report_note(const char *format, ...)
{
	va_list ap;

	if (is_quiet)
		return;
	va_start(ap, format);
	tell("", format, ap);
	va_end(ap);
}

void
report_warning(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	tell("warning", format, ap);
	va_end(ap);
}

bool
report_is_quiet(void)
{
	return is_quiet;
}

bool
report_is_verbose(void)
{
	return is_verbose;
}
