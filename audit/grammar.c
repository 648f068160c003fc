/*
 * Canonical JSON, read strictly, and the frame that every record has. Lines of a log are input that
 * anybody may have written: a line is a record only when it is one that our own writer could have
 * made, byte for byte. Three answers, because the beginning of a record is what a crash leaves and
 * anything else is not.
 */
#include <string.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

static const uint64_t number_max = (1ULL << 53) - 1; /* exact in every JSON reader */

struct event_row {
	const char *name;
	bool is_durable;
	const char *fields;
};

static const struct event_row events[AUDIT_EVENT_MAX] = {
#define AUDIT_EVENT(symbol, name, durable, fields, since, help) \
 [AUDIT_##symbol] = { name, durable, fields },
#include "audit/events.def"
#undef AUDIT_EVENT
};

const char *
audit_event_name(enum audit_event event)
{
	return events[event].name;
}

const char *
audit_event_fields(enum audit_event event)
{
	return events[event].fields;
}

bool
audit_event_is_durable(enum audit_event event)
{
	return events[event].is_durable;
}

static size_t
left(const struct json_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->next);
}

bool
audit_json_take(struct json_cursor *cursor, const char *literal)
{
	size_t len = strlen(literal);

	if (left(cursor) < len || memcmp(cursor->next, literal, len) != 0)
		return false;
	cursor->next += len;
	return true;
}

/* The literal, or as much of it as there is text left. */
static enum json_state
skip_word(struct json_cursor *cursor, const char *word)
{
	size_t len = strlen(word);

	if (audit_json_take(cursor, word))
		return JSON_COMPLETE;
	return left(cursor) < len && memcmp(cursor->next, word, left(cursor)) == 0 ? JSON_CUT
										   : JSON_INVALID;
}

bool
audit_json_take_number(struct json_cursor *cursor, uint64_t *ret_number)
{
	const char *digit = cursor->next;
	uint64_t number = 0;

	for (; digit < cursor->end && *digit >= '0' && *digit <= '9'; digit++) {
		number = number * 10 + (uint64_t)(*digit - '0');
		if (number > number_max)
			return false;
	}
	if (digit == cursor->next || (*cursor->next == '0' && digit - cursor->next > 1))
		return false;
	cursor->next = digit;
	*ret_number = number;
	return true;
}

static enum json_state
skip_number(struct json_cursor *cursor)
{
	uint64_t number;
	bool is_negative = audit_json_take(cursor, "-");

	if (left(cursor) == 0)
		return JSON_CUT;
	if (!audit_json_take_number(cursor, &number) || (is_negative && number == 0))
		return JSON_INVALID;
	return JSON_COMPLETE;
}

/* The points that hl_buf_json_string() writes as \uXXXX. */
static bool
is_escaped_point(uint32_t point)
{
	return point < 0x20 || point == 0x7f || hl_utf8_is_deceptive(point);
}

static enum json_state
skip_escape(struct json_cursor *cursor)
{
	uint32_t point = 0;

	if (audit_json_take(cursor, "\\\"") || audit_json_take(cursor, "\\\\"))
		return JSON_COMPLETE;
	enum json_state state = skip_word(cursor, "\\u");
	if (state != JSON_COMPLETE)
		return state;
	for (unsigned i = 0; i < 4; i++, cursor->next++) {
		if (left(cursor) == 0)
			return JSON_CUT;
		char c = *cursor->next;
		if (c >= '0' && c <= '9')
			point = point << 4 | (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			point = point << 4 | (uint32_t)(c - 'a' + 10);
		else
			return JSON_INVALID;
	}
	return is_escaped_point(point) ? JSON_COMPLETE : JSON_INVALID;
}

/* Is what is left the beginning of a longer UTF-8 sequence? */
static bool
is_cut_sequence(const struct json_cursor *cursor)
{
	const unsigned char *b = (const unsigned char *)cursor->next;
	size_t n = left(cursor);
	size_t need = b[0] >> 5 == 6 ? 2 : b[0] >> 4 == 14 ? 3 : b[0] >> 3 == 30 ? 4 : 0;

	if (n >= need)
		return false;
	for (size_t i = 1; i < n; i++)
		if (b[i] >> 6 != 2)
			return false;
	return true;
}

static enum json_state
skip_point(struct json_cursor *cursor)
{
	uint32_t point;
	size_t n = hl_utf8_next(cursor->next, left(cursor), &point);

	if (n == 0)
		return is_cut_sequence(cursor) ? JSON_CUT : JSON_INVALID;
	if (is_escaped_point(point))
		return JSON_INVALID;
	cursor->next += n;
	return JSON_COMPLETE;
}

static enum json_state
skip_string(struct json_cursor *cursor)
{
	enum json_state state = skip_word(cursor, "\"");

	while (state == JSON_COMPLETE) {
		while (left(cursor) > 0 && *cursor->next >= 0x20 && *cursor->next < 0x7f &&
		       *cursor->next != '"' && *cursor->next != '\\')
			cursor->next++;
		if (left(cursor) == 0)
			return JSON_CUT;
		if (audit_json_take(cursor, "\""))
			return JSON_COMPLETE;
		state = *cursor->next == '\\' ? skip_escape(cursor) : skip_point(cursor);
	}
	return state;
}

static enum json_state
skip_member(struct json_cursor *cursor, bool has_key, unsigned depth)
{
	if (has_key) {
		enum json_state state = skip_string(cursor);
		if (state == JSON_COMPLETE)
			state = skip_word(cursor, ":");
		if (state != JSON_COMPLETE)
			return state;
	}
	return audit_json_skip_value(cursor, depth + 1);
}

/* At '{' or '['. */
static enum json_state
skip_members(struct json_cursor *cursor, unsigned depth)
{
	bool has_key = *cursor->next == '{';
	const char *close = has_key ? "}" : "]";

	if (depth >= NESTING_MAX)
		return JSON_INVALID;
	cursor->next++;
	if (audit_json_take(cursor, close))
		return JSON_COMPLETE;
	for (;;) {
		enum json_state state = skip_member(cursor, has_key, depth);
		if (state != JSON_COMPLETE)
			return state;
		if (audit_json_take(cursor, close))
			return JSON_COMPLETE;
		state = skip_word(cursor, ",");
		if (state != JSON_COMPLETE)
			return state;
	}
}

enum json_state
audit_json_skip_value(struct json_cursor *cursor, unsigned depth)
{
	if (left(cursor) == 0)
		return JSON_CUT;
	switch (*cursor->next) {
	case '{':
	case '[':
		return skip_members(cursor, depth);
	case '"':
		return skip_string(cursor);
	case 't':
		return skip_word(cursor, "true");
	case 'f':
		return skip_word(cursor, "false");
	case 'n':
		return skip_word(cursor, "null");
	default:
		return skip_number(cursor);
	}
}

/* n characters that stand in a string and need no escape there. */
static const char *
take_plain(struct json_cursor *cursor, size_t n)
{
	const char *text = cursor->next;

	if (left(cursor) < n)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (text[i] <= 0x20 || text[i] >= 0x7f || text[i] == '"' || text[i] == '\\')
			return NULL;
	cursor->next += n;
	return text;
}

/* As many as there are up to a quote. */
static const char *
take_name(struct json_cursor *cursor, size_t max, size_t *ret_len)
{
	size_t len = 0;

	while (len < left(cursor) && len <= max && cursor->next[len] != '"')
		len++;
	if (len == 0 || len > max)
		return NULL;
	*ret_len = len;
	return take_plain(cursor, len);
}

static bool
read_leaf(const char *hex, unsigned char leaf[LEAF_SIZE])
{
	for (unsigned i = 0; i < 2 * LEAF_SIZE; i++) {
		unsigned value;
		if (hex[i] >= '0' && hex[i] <= '9')
			value = (unsigned)(hex[i] - '0');
		else if (hex[i] >= 'a' && hex[i] <= 'f')
			value = (unsigned)(hex[i] - 'a' + 10);
		else
			return false;
		leaf[i / 2] = (unsigned char)(i % 2 == 0 ? value << 4 : leaf[i / 2] | value);
	}
	return true;
}

/* ,"prev":"64 digits"} at the end: at a fixed distance, so that no field can move it. */
static bool
read_tail(const char *line, size_t len, struct frame *frame)
{
	static const char key[] = ",\"prev\":\"";
	enum {
		KEY_LEN = sizeof(key) - 1,
		TAIL_LEN = KEY_LEN + 2 * LEAF_SIZE + 2
	};

	if (frame->fields + TAIL_LEN > line + len)
		return false;
	const char *tail = line + len - TAIL_LEN;
	if (memcmp(tail, key, KEY_LEN) != 0 || memcmp(line + len - 2, "\"}", 2) != 0 ||
	    !read_leaf(tail + KEY_LEN, frame->prev))
		return false;
	frame->fields_len = (size_t)(tail - frame->fields);
	return frame->fields_len == 0 || frame->fields[0] == ',';
}

static bool
read_run(struct json_cursor *cursor, struct frame *frame)
{
	if (audit_json_take(cursor, "null"))
		return true;
	if (!audit_json_take(cursor, "\""))
		return false;
	frame->run = take_name(cursor, HL_ULID_SIZE - 1, &frame->run_len);
	return frame->run != NULL && audit_json_take(cursor, "\"");
}

bool
audit_frame_read(const char *line, size_t len, struct frame *ret_frame)
{
	struct json_cursor cursor = { line, line + len };
	struct frame frame = { 0 };

	if (len >= AUDIT_RECORD_MAX || !audit_json_take(&cursor, "{\"v\":1,\"seq\":") ||
	    !audit_json_take_number(&cursor, &frame.seq) || !audit_json_take(&cursor, ",\"t\":\""))
		return false;
	frame.time = take_plain(&cursor, HL_ISO_TIME_SIZE - 1);
	if (frame.time == NULL || !audit_json_take(&cursor, "\",\"mono\":") ||
	    !audit_json_take_number(&cursor, &frame.mono) ||
	    !audit_json_take(&cursor, ",\"boot\":\"") || take_plain(&cursor, 8) == NULL ||
	    !audit_json_take(&cursor, "\",\"ev\":\""))
		return false;
	frame.event = take_name(&cursor, 32, &frame.event_len);
	if (frame.event == NULL || !audit_json_take(&cursor, "\",\"run\":") ||
	    !read_run(&cursor, &frame))
		return false;
	frame.fields = cursor.next;
	if (!read_tail(line, len, &frame))
		return false;
	*ret_frame = frame;
	return true;
}

/* What a torn write leaves is the beginning of a record; after a power cut, zeros where the file
 * system had given room but not yet the bytes. */
static bool
is_beginning(const char *line, size_t len)
{
	static const char start[] = "{\"v\":1,\"seq\":";
	size_t n = len < sizeof(start) - 1 ? len : sizeof(start) - 1;

	while (len > 0 && line[len - 1] == '\0')
		len--;
	if (n > len)
		n = len;
	struct json_cursor cursor = { line, line + len };
	return memcmp(line, start, n) == 0 && audit_json_skip_value(&cursor, 0) == JSON_CUT;
}

enum line_kind
audit_line_classify(const char *line, size_t len)
{
	struct json_cursor cursor = { line, line + len };
	struct frame frame;

	if (audit_json_skip_value(&cursor, 0) == JSON_COMPLETE && left(&cursor) == 0 &&
	    audit_frame_read(line, len, &frame))
		return LINE_RECORD;
	return is_beginning(line, len) ? LINE_TORN : LINE_BAD;
}

bool
audit_frame_is(const struct frame *frame, enum audit_event event)
{
	return strlen(events[event].name) == frame->event_len &&
	       memcmp(frame->event, events[event].name, frame->event_len) == 0;
}

bool
audit_field_next(struct json_cursor *cursor, struct field *ret_field)
{
	struct field field;

	if (!audit_json_take(cursor, ","))
		return false;
	field.key = cursor->next + 1;
	if (skip_string(cursor) != JSON_COMPLETE)
		return false;
	field.key_len = (size_t)(cursor->next - field.key - 1);
	if (!audit_json_take(cursor, ":"))
		return false;
	field.value.next = cursor->next;
	if (audit_json_skip_value(cursor, 1) != JSON_COMPLETE)
		return false;
	field.value.end = cursor->next;
	*ret_field = field;
	return true;
}

bool
audit_frame_field(const struct frame *frame, const char *key, struct json_cursor *ret_cursor)
{
	struct json_cursor cursor = { frame->fields, frame->fields + frame->fields_len };
	struct field field;

	while (audit_field_next(&cursor, &field)) {
		if (field.key_len != strlen(key) || memcmp(field.key, key, field.key_len) != 0)
			continue;
		*ret_cursor = field.value;
		return true;
	}
	return false;
}
