/*
 * The log for a reader: lines as they are, or one line of fixed columns for a person. Nothing of it
 * can move a terminal: a record is shown only when it is canonical, where such bytes are escaped;
 * a line that is none is told of and not shown.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

/* Six times a record, all of it escaped. */
enum {
	TEXT_MAX = 8 * AUDIT_RECORD_MAX
};

struct show {
	const struct audit_view *view;
	struct hl_buf text;
	struct hl_buf clean;
};

static bool
is_bare(const char *text, size_t len)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "_./:@%+=,-";

	for (size_t i = 0; i < len; i++)
		if (strchr(plain, text[i]) == NULL)
			return false;
	return len > 0;
}

/* A JSON text without what a person does not need: quotes of plain words, commas. */
static void
put_value(struct hl_buf *out, const struct json_cursor *value)
{
	for (const char *at = value->next; at < value->end;) {
		struct json_cursor cursor = { at, value->end };
		if (*at == '"') {
			(void)audit_json_skip_value(&cursor, 0);
			size_t len = (size_t)(cursor.next - at);
			if (is_bare(at + 1, len - 2))
				hl_buf_put(out, at + 1, len - 2);
			else
				hl_buf_put(out, at, len);
			at = cursor.next;
		} else {
			hl_buf_putc(out, *at == ',' ? ' ' : *at);
			at++;
		}
	}
}

/* "2026-11-29T15:40:12.123456Z" to the millisecond. */
static void
put_columns(struct hl_buf *out, const struct frame *frame)
{
	hl_buf_putf(out, "%8llu  %.10s %.12s  ", (unsigned long long)frame->seq, frame->time,
	    frame->time + 11);
	hl_buf_putf(out, "%-13.*s  %-26.*s", (int)frame->event_len, frame->event,
	    frame->run != NULL ? (int)frame->run_len : 1, frame->run != NULL ? frame->run : "-");
}

static void
put_fields(struct hl_buf *out, const struct frame *frame)
{
	struct json_cursor cursor = { frame->fields, frame->fields + frame->fields_len };
	struct field field;

	for (const char *gap = "  "; audit_field_next(&cursor, &field); gap = " ") {
		hl_buf_puts(out, gap);
		hl_buf_put(out, field.key, field.key_len);
		hl_buf_putc(out, '=');
		put_value(out, &field.value);
	}
}

static int
give(struct show *show, struct hl_err *err)
{
	hl_buf_reset(&show->clean);
	hl_buf_printable(&show->clean, show->text.data, show->text.len);
	if (hl_buf_check(&show->clean, "a line of the audit log", err) != 0)
		return -1;
	if (show->view->line(show->clean.data, show->clean.len, show->view->context) != 0)
		return hl_err_set(err, HLA_01, "the audit log cannot be printed");
	return 0;
}

static int
show_foreign(struct show *show, const struct line *line, struct hl_err *err)
{
	hl_buf_reset(&show->text);
	hl_buf_putf(&show->text,
	    show->view->format == AUDIT_JSON ? "{\"not_a_record\":{\"offset\":%llu,\"length\":%zu}}"
					     : "       -  not a record: offset %llu, %zu bytes",
	    (unsigned long long)line->offset, line->len);
	return give(show, err);
}

static bool
is_wanted(const struct audit_view *view, const struct frame *frame)
{
	return view->run == NULL || (frame->run != NULL && frame->run_len == strlen(view->run) &&
					memcmp(frame->run, view->run, frame->run_len) == 0);
}

static int
show_line(struct show *show, const struct line *line, struct hl_err *err)
{
	struct frame frame;

	if (line->is_too_long || audit_line_classify(line->text, line->len) != LINE_RECORD ||
	    !audit_frame_read(line->text, line->len, &frame))
		return show->view->run == NULL ? show_foreign(show, line, err) : 0;
	if (!is_wanted(show->view, &frame))
		return 0;
	hl_buf_reset(&show->text);
	if (show->view->format == AUDIT_JSON) {
		hl_buf_put(&show->text, line->text, line->len);
	} else {
		put_columns(&show->text, &frame);
		put_fields(&show->text, &frame);
	}
	return give(show, err);
}

static int
show_segment(struct show *show, struct lines *lines, struct hl_err *err)
{
	struct line line;
	int rc;

	while ((rc = audit_lines_next(lines, &line, err)) == 1)
		if (show_line(show, &line, err) != 0)
			return -1;
	return rc;
}

int
audit_show(const char *state_dir, const struct audit_view *view, struct hl_err *err)
{
	struct show show = { .view = view };
	struct reader reader;
	int rc = 0;

	if (audit_reader_init(&reader, state_dir, err) != 0)
		return -1;
	hl_buf_init(&show.text, TEXT_MAX);
	hl_buf_init(&show.clean, TEXT_MAX);
	for (size_t i = 0; rc == 0 && i < reader.segments_len; i++) {
		struct lines lines;
		rc = audit_reader_lines(&reader, i, &lines, err);
		if (rc != 0)
			break;
		rc = show_segment(&show, &lines, err);
		hl_close_ptr(&lines.fd);
		audit_lines_done(&lines);
	}
	hl_buf_done(&show.text);
	hl_buf_done(&show.clean);
	audit_reader_done(&reader);
	return rc;
}
