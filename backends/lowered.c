/*
 * What lowering makes, as an object: lines for explain, arguments, a body, a confinement, and the
 * strings that these borrow. Errors are sticky so that a lowering reads as a list of what it does;
 * the backend looks at `failed` once, at its end.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backends.h"

#include "base/banned.h"

enum {
	LINES_MAX = 4096,
	LINE_MAX_BYTES = 16 * 1024,
	ARGV_MAX = 4096,
	BODY_MAX = 1024 * 1024,
	STRINGS_MAX = 8192,
};

void
lowered_init(struct lowered *lowered)
{
	*lowered = (struct lowered){ 0 };
	hl_strv_init(&lowered->argv, ARGV_MAX);
	hl_buf_init(&lowered->body, BODY_MAX);
	hl_strv_init(&lowered->strings, STRINGS_MAX);
}

void
lowered_done(struct lowered *lowered)
{
	for (size_t i = 0; i < lowered->lines_len; i++)
		free(lowered->lines[i].text);
	free(lowered->lines);
	lowered->lines = NULL;
	lowered->lines_len = 0;
	lowered->lines_capacity = 0;
	hl_strv_done(&lowered->argv);
	hl_buf_done(&lowered->body);
	confinement_done(&lowered->confinement);
	hl_strv_done(&lowered->strings);
	lowered->has_confinement = false;
}

static bool
has_room_for_line(struct lowered *lowered)
{
	if (lowered->lines_len < lowered->lines_capacity)
		return true;
	if (lowered->lines_len >= LINES_MAX)
		return false;
	size_t capacity = lowered->lines_capacity == 0 ? 64 : lowered->lines_capacity * 2;
	struct lowered_line *lines = realloc(lowered->lines, capacity * sizeof(*lines));
	if (lines == NULL)
		return false;
	lowered->lines = lines;
	lowered->lines_capacity = capacity;
	return true;
}

void
lowered_line(struct lowered *lowered, const struct hl_origin *origin, const char *format, ...)
{
	struct hl_buf text;
	va_list ap;

	hl_buf_init(&text, LINE_MAX_BYTES);
	va_start(ap, format);
	hl_buf_vputf(&text, format, ap);
	va_end(ap);
	char *taken = hl_buf_take(&text);
	hl_buf_done(&text);
	if (taken == NULL || !has_room_for_line(lowered)) {
		free(taken);
		lowered->failed = true;
		return;
	}
	lowered->lines[lowered->lines_len++] = (struct lowered_line){
		.text = taken,
		.origin = origin == NULL ? (struct hl_origin){ .layer = "built-in" } : *origin,
	};
}

const char *
lowered_string(struct lowered *lowered, const char *string)
{
	hl_strv_add(&lowered->strings, string);
	if (lowered->strings.failed) {
		lowered->failed = true;
		return "";
	}
	return lowered->strings.v[lowered->strings.len - 1];
}
