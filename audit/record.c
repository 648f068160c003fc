/*
 * A record under construction. Text of others is redacted first and cut afterwards, so that a cut
 * never leaves half of a value that would have been found whole; what was cut says how long it was
 * and what its digest is.
 */
#include <stdio.h>
#include <string.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

enum {
	/* Of a record, kept for the small fields that come after a long text. */
	LATER_SIZE = 4096,
	MARK_SIZE = 128,
};

struct hl_json *
audit_event(struct audit *audit, enum audit_event event, struct audit_record *ret_record)
{
	*ret_record = (struct audit_record){ .event = event, .fields = audit->fields };
	hl_buf_init(&audit->fields, FIELDS_MAX);
	hl_buf_reset(&ret_record->fields);
	hl_json_init(&ret_record->json, &ret_record->fields);
	/* The frame stands before the first field. */
	ret_record->json.need_comma = true;
	return &ret_record->json;
}

void
audit_record_done(struct audit_record *record)
{
	hl_buf_done(&record->fields);
}

/* Bytes of the record that text may still take. */
static size_t
room(const struct audit_record *record)
{
	size_t taken = record->fields.len + LATER_SIZE + MARK_SIZE;

	return taken < FIELDS_MAX ? FIELDS_MAX - taken : 0;
}

static size_t
escaped_size(uint32_t point, size_t n)
{
	if (point == '"' || point == '\\')
		return 2;
	return point < 0x20 || point == 0x7f || hl_utf8_is_deceptive(point) ? 6 : n;
}

/* How much of text stays below both limits, not parting a character. */
static size_t
fit(const char *text, size_t len, size_t limit, size_t limit_escaped)
{
	size_t fits = 0, escaped = 0;
	uint32_t point;

	if (!hl_is_utf8(text, len)) {
		size_t bytes = limit_escaped / 4 * 3;
		fits = bytes < limit ? bytes : limit;
		return fits < len ? fits : len;
	}
	while (fits < len) {
		size_t n = hl_utf8_next(text + fits, len - fits, &point);
		escaped += escaped_size(point, n);
		if (fits + n > limit || escaped > limit_escaped)
			break;
		fits += n;
	}
	return fits;
}

static void
put_mark(struct hl_buf *out, size_t len, const char *sha256)
{
	hl_buf_putf(out, "‹cut:%zu bytes:sha256:%s›", len, sha256);
}

/* Redacted text into the record, cut where limit or the record ends. */
static void
put_text(struct audit_record *record, const struct hl_buf *text, size_t limit)
{
	size_t n = fit(text->data, text->len, limit, room(record));

	if (n == text->len) {
		hl_json_stringn(&record->json, text->data, n);
		return;
	}
	struct hl_buf cut HL_AUTO(hl_buf_done) = { 0 };
	char digest[HL_SHA256_HEX_SIZE];

	hl_sha256_text(text->data, text->len, digest);
	hl_buf_init(&cut, FIELDS_MAX);
	hl_buf_put(&cut, text->data, n);
	put_mark(&cut, text->len, digest);
	if (cut.failed)
		record->fields.failed = true;
	hl_json_stringn(&record->json, cut.data, cut.len);
}

void
audit_put_string(struct audit *audit, struct audit_record *record, const char *key,
    const char *text)
{
	struct hl_buf *clean = &audit->scratch;
	struct redact_state state = { 0 };

	if (key != NULL)
		hl_json_key(&record->json, key);
	if (text == NULL) {
		hl_json_string(&record->json, NULL);
		return;
	}
	hl_buf_reset(clean);
	record->redacted += audit_redact(&audit->redactor, &state, text, strlen(text), clean);
	/* What could not be looked at is not written. */
	if (clean->failed)
		record->fields.failed = true;
	else
		put_text(record, clean, AUDIT_COMMAND_MAX);
}

/* What the whole vector is, for the mark at its end. */
struct whole {
	struct hl_sha256 sha256;
	size_t len;
	size_t left; /* of AUDIT_COMMAND_MAX */
	bool is_cut;
};

static void
put_element(struct audit_record *record, const struct hl_buf *clean, struct whole *whole)
{
	/* With its NUL, so that ["ab"] and ["a","b"] are two digests. */
	hl_sha256_update(&whole->sha256, clean->data, clean->len);
	hl_sha256_update(&whole->sha256, "", 1);
	whole->len += clean->len + 1;
	if (whole->is_cut)
		return;
	size_t n = fit(clean->data, clean->len, whole->left, room(record));
	if (n > 0 || clean->len == 0)
		hl_json_stringn(&record->json, clean->data, n);
	whole->is_cut = n < clean->len || whole->left < n + 1 || room(record) == 0;
	whole->left -= whole->is_cut ? 0 : n + 1;
}

void
audit_put_strings(struct audit *audit, struct audit_record *record, const char *key,
    char *const *texts, size_t n)
{
	struct hl_buf *clean = &audit->scratch;
	struct redact_state state = { .is_argument = true };
	struct whole whole = { .left = AUDIT_COMMAND_MAX };
	bool was_cut = false;

	hl_sha256_init(&whole.sha256);
	hl_buf_reset(clean);
	if (key != NULL)
		hl_json_key(&record->json, key);
	hl_json_array(&record->json);
	for (size_t i = 0; i < n; i++) {
		was_cut = whole.is_cut;
		hl_buf_reset(clean);
		record->redacted +=
		    audit_redact(&audit->redactor, &state, texts[i], strlen(texts[i]), clean);
		if (clean->failed)
			record->fields.failed = true;
		put_element(record, clean, &whole);
	}
	if (whole.len > AUDIT_COMMAND_MAX || was_cut || whole.is_cut) {
		unsigned char digest[HL_SHA256_SIZE];
		char hex[HL_SHA256_HEX_SIZE];
		char mark[MARK_SIZE];
		hl_sha256_final(&whole.sha256, digest);
		hl_sha256_hex(digest, hex);
		snprintf(mark, sizeof(mark), "‹cut:%zu bytes:sha256:%s›", whole.len, hex);
		hl_json_string(&record->json, mark);
	}
	hl_json_end_array(&record->json);
}

static bool
key_is(const struct field *field, const char *key, size_t len)
{
	return field->key_len == len && memcmp(field->key, key, len) == 0;
}

/* Moves keys behind the field's name; false when it is not there. */
static bool
take_key(const char **keys, const struct field *field)
{
	for (const char *key = *keys; *key != '\0';) {
		size_t len = strcspn(key, " ");
		const char *next = key + len + (key[len] == ' ');
		if (key_is(field, key, len)) {
			*keys = next;
			return true;
		}
		key = next;
	}
	return false;
}

int
audit_record_check_fields(enum audit_event event, const char *fields, size_t len,
    struct hl_err *err)
{
	struct json_cursor cursor = { fields, fields + len };
	const char *keys = audit_event_fields(event);
	struct field field;

	while (audit_field_next(&cursor, &field)) {
		if (!take_key(&keys, &field))
			return hl_err_set(err, HLI_02,
			    "audit record '%s': field '%.*s' is unknown or out of order",
			    audit_event_name(event), (int)field.key_len, field.key);
	}
	if (cursor.next != cursor.end)
		return hl_err_set(err, HLI_02, "audit record '%s' is not canonical JSON",
		    audit_event_name(event));
	return 0;
}
