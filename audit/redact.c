/*
 * Redaction: before a text goes into a record, every place where a known value stands, in any of
 * the forms that forms.c knows, and every place that looks like a credential (patterns.c) is
 * replaced by ‹redacted:env:NAME› or ‹redacted:pattern:NAME›. No hash of what stood there: short
 * values can be guessed from it.
 *
 * Known values are found in one pass over the text, however many there are: eight bytes at each
 * position, hashed, lead to the few forms that begin so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/ledger.h"
#include "base/base.h"

#include "base/banned.h"

enum {
	SECRETS_MAX = 4096,
	VALUE_MAX = 1 << 20,
	LINE_MIN = 16, /* of a value of several lines, what is looked for alone */
};

void
audit_redactor_init(struct redactor *redactor)
{
	memset(redactor, 0, sizeof(*redactor));
	hl_strv_init(&redactor->names, SECRETS_MAX);
}

/* They are of values that may be short: whoever has one can guess. */
static void
forget_digests(struct redactor *redactor)
{
	if (redactor->digests != NULL)
		explicit_bzero(redactor->digests,
		    redactor->digests_capacity * sizeof(*redactor->digests));
	free(redactor->digests);
	redactor->digests = NULL;
	redactor->digests_capacity = 0;
}

void
audit_redactor_done(struct redactor *redactor)
{
	for (size_t i = 0; i < redactor->needles_len; i++) {
		explicit_bzero(redactor->needles[i].text, redactor->needles[i].len);
		free(redactor->needles[i].text);
	}
	free(redactor->needles);
	forget_digests(redactor);
	hl_strv_done(&redactor->names);
	audit_redactor_init(redactor);
}

static unsigned
bucket_of(const char *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	return (unsigned)(word * 0x9e3779b97f4a7c15ULL >> 53);
}

static bool
is_known(const struct redactor *redactor, const struct hl_buf *form, unsigned bucket)
{
	for (uint32_t i = redactor->buckets[bucket]; i != 0; i = redactor->needles[i - 1].next) {
		const struct needle *needle = &redactor->needles[i - 1];
		if (needle->len == form->len && memcmp(needle->text, form->data, form->len) == 0)
			return true;
	}
	return false;
}

static int
make_room(struct redactor *redactor)
{
	if (redactor->needles_len < redactor->needles_capacity)
		return 0;
	size_t capacity = redactor->needles_capacity > 0 ? redactor->needles_capacity * 2 : 64;
	struct needle *needles =
	    reallocarray(redactor->needles, capacity, sizeof(*redactor->needles));
	if (needles == NULL)
		return -1;
	redactor->needles = needles;
	redactor->needles_capacity = capacity;
	return 0;
}

int
audit_needle_add(struct redactor *redactor, uint32_t secret, const struct hl_buf *form,
    bool is_base64)
{
	if (form->failed)
		return -1;
	if (form->len < NEEDLE_MIN)
		return 0;
	unsigned bucket = bucket_of(form->data);
	if (is_known(redactor, form, bucket))
		return 0;
	char *text = make_room(redactor) == 0 ? malloc(form->len) : NULL;
	if (text == NULL)
		return -1;
	memcpy(text, form->data, form->len);
	redactor->needles[redactor->needles_len++] = (struct needle){
		.text = text,
		.len = form->len,
		.secret = secret,
		.next = redactor->buckets[bucket],
		.is_base64 = is_base64,
	};
	redactor->buckets[bucket] = (uint32_t)redactor->needles_len;
	return 0;
}

/* The lines of a key file are looked for one by one too: tools print parts of them. */
static int
add_lines(struct redactor *redactor, uint32_t secret, const char *value, size_t len)
{
	struct hl_buf line HL_AUTO(hl_buf_done_secret) = { 0 };
	const char *end = value + len;

	hl_buf_init(&line, VALUE_MAX);
	for (const char *at = value, *next; at < end; at = next) {
		const char *lf = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((lf != NULL ? lf : end) - at);
		next = at + n + 1;
		if (lf == NULL && at == value)
			return 0;
		if (n < LINE_MIN || memcmp(at, "-----", 5) == 0)
			continue;
		hl_buf_reset(&line);
		hl_buf_put(&line, at, n);
		if (audit_needle_add(redactor, secret, &line, false) != 0)
			return -1;
	}
	return 0;
}

static void
digest_of(const struct audit_secret *secret, size_t len, unsigned char digest[HL_SHA256_SIZE])
{
	struct hl_sha256 sha;

	hl_sha256_init(&sha);
	hl_sha256_update(&sha, secret->name, strlen(secret->name) + 1);
	hl_sha256_update(&sha, secret->value, len);
	hl_sha256_final(&sha, digest);
}

static int
make_digest_room(struct redactor *redactor)
{
	size_t len = redactor->names.len, capacity = redactor->digests_capacity;

	if (len < capacity)
		return 0;
	capacity = capacity > 0 ? capacity * 2 : 64;
	unsigned char(*digests)[HL_SHA256_SIZE] = calloc(capacity, sizeof(*digests));
	if (digests == NULL)
		return -1;
	if (len > 0)
		memcpy(digests, redactor->digests, len * sizeof(*digests));
	forget_digests(redactor);
	redactor->digests = digests;
	redactor->digests_capacity = capacity;
	return 0;
}

/* A session is given the same values with every call: they count once. 1: it is there already. */
static int
note(struct redactor *redactor, const struct audit_secret *secret, size_t len, struct hl_err *err)
{
	unsigned char digest[HL_SHA256_SIZE];
	size_t n = redactor->names.len;
	bool is_there = false;

	if (make_digest_room(redactor) != 0)
		return hl_err_oom(err);
	digest_of(secret, len, digest);
	for (size_t i = 0; i < n; i++)
		is_there = is_there || memcmp(redactor->digests[i], digest, sizeof(digest)) == 0;
	if (!is_there)
		memcpy(redactor->digests[n], digest, sizeof(digest));
	explicit_bzero(digest, sizeof(digest));
	if (is_there)
		return 1;
	if (n >= SECRETS_MAX)
		return hl_err_set(err, HLI_03, "more than %d values to redact", SECRETS_MAX);
	hl_strv_add(&redactor->names, secret->name);
	return hl_strv_check(&redactor->names, "values to redact", err);
}

int
audit_redactor_add(struct redactor *redactor, const struct audit_secret *secret, struct hl_err *err)
{
	size_t len = secret->len;

	/* The end of a file's last line is not part of what somebody types. */
	while (len > 0 && (secret->value[len - 1] == '\n' || secret->value[len - 1] == '\r'))
		len--;
	if (len < NEEDLE_MIN)
		return 0;
	if (len > VALUE_MAX)
		return hl_err_set(err, HLI_03, "the value of '%s' is longer than %d bytes",
		    secret->name, VALUE_MAX);
	int noted = note(redactor, secret, len, err);
	if (noted != 0)
		return noted > 0 ? 0 : -1;
	uint32_t index = (uint32_t)redactor->names.len - 1;
	if (audit_forms_add(redactor, index, secret->value, len) != 0 ||
	    add_lines(redactor, index, secret->value, len) != 0) {
		/* Not added: the next attempt is not to find it there. */
		explicit_bzero(redactor->digests[index], sizeof(redactor->digests[index]));
		return hl_err_oom(err);
	}
	return 0;
}

void
audit_spans_add(struct spans *spans, const struct span *span)
{
	struct span *last = spans->len > 0 ? &spans->items[spans->len - 1] : NULL;

	if (last != NULL && span->begin < last->end) {
		if (span->begin < last->begin)
			last->begin = span->begin;
		if (span->end > last->end)
			last->end = span->end;
		if (last->secret < 0)
			last->secret = span->secret;
		return;
	}
	if (spans->len == spans->capacity) {
		size_t capacity = spans->capacity > 0 ? spans->capacity * 2 : 16;
		struct span *items = reallocarray(spans->items, capacity, sizeof(*items));
		if (items == NULL) {
			spans->failed = true;
			return;
		}
		spans->items = items;
		spans->capacity = capacity;
	}
	spans->items[spans->len++] = *span;
}

static void
spans_done(struct spans *spans)
{
	free(spans->items);
	*spans = (struct spans){ 0 };
}

static bool
is_base64_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '+' || c == '/' || c == '-' || c == '_' || c == '=';
}

/* The longest form that begins at `at`; also one that the end of the text, or the "..." there, has
 * cut: whole is how much is left of the text without these. */
static const struct needle *
longest_at(const struct redactor *redactor, const char *at, size_t left, size_t whole,
    size_t *ret_len)
{
	const struct needle *longest = NULL;

	*ret_len = 0;
	for (uint32_t i = redactor->buckets[bucket_of(at)]; i != 0;) {
		const struct needle *needle = &redactor->needles[i - 1];
		size_t len = needle->len;
		if (len > left || memcmp(needle->text, at, len) != 0)
			len = len < whole ? len : whole;
		if (len > *ret_len && memcmp(needle->text, at, len) == 0) {
			longest = needle;
			*ret_len = len;
		}
		i = needle->next;
	}
	return longest;
}

static void
find_known(const struct redactor *redactor, const char *text, size_t len, struct spans *spans)
{
	if (redactor->needles_len == 0 || len < NEEDLE_MIN)
		return;
	size_t end = memcmp(text + len - 3, "...", 3) == 0 ? len - 3 : len;
	for (size_t i = 0; i + NEEDLE_MIN <= len; i++) {
		size_t n;
		const struct needle *needle =
		    longest_at(redactor, text + i, len - i, i < end ? end - i : 0, &n);
		if (needle == NULL)
			continue;
		struct span span = { i, i + n, (int32_t)needle->secret, NULL };
		/* The digits on both sides hold some of the value's bits. */
		if (needle->is_base64 && i > 0 && is_base64_char(text[i - 1]))
			span.begin--;
		for (unsigned k = 0;
		     needle->is_base64 && k < 2 && span.end < len && is_base64_char(text[span.end]);
		     k++)
			span.end++;
		audit_spans_add(spans, &span);
	}
}

static void
put_marker(const struct redactor *redactor, const struct span *span, struct hl_buf *out)
{
	if (span->secret >= 0)
		hl_buf_putf(out, "‹redacted:%s›", redactor->names.v[span->secret]);
	else
		hl_buf_putf(out, "‹redacted:pattern:%s›", span->pattern);
}

/* Both lists into one; a known value says more than a pattern. */
static void
merge(const struct spans *known, const struct spans *shapes, struct spans *all)
{
	size_t i = 0, j = 0;

	while (i < known->len || j < shapes->len) {
		if (j == shapes->len ||
		    (i < known->len && known->items[i].begin <= shapes->items[j].begin))
			audit_spans_add(all, &known->items[i++]);
		else
			audit_spans_add(all, &shapes->items[j++]);
	}
	all->failed = all->failed || known->failed || shapes->failed;
}

static void
find_all(const struct redactor *redactor, struct redact_state *state, const char *text, size_t len,
    struct spans *all)
{
	struct spans known HL_AUTO(spans_done) = { 0 };
	struct spans shapes HL_AUTO(spans_done) = { 0 };

	find_known(redactor, text, len, &known);
	audit_patterns_find(state, text, len, &shapes);
	merge(&known, &shapes, all);
}

/* What of a text is to be put: no span crosses its end. */
struct part {
	const char *text;
	size_t begin, end;
};

/* Returns how many places were replaced. */
static size_t
put_redacted(const struct redactor *redactor, const struct spans *all, const struct part *part,
    struct hl_buf *out)
{
	size_t done = part->begin, n = 0;

	for (size_t i = 0; i < all->len && all->items[i].begin < part->end; i++) {
		const struct span *span = &all->items[i];
		if (span->end <= part->begin)
			continue;
		if (span->begin > done)
			hl_buf_put(out, part->text + done, span->begin - done);
		put_marker(redactor, span, out);
		done = span->end;
		n++;
	}
	hl_buf_put(out, part->text + done, part->end - done);
	return n;
}

size_t
audit_redact(const struct redactor *redactor, struct redact_state *state, const char *text,
    size_t len, struct hl_buf *out)
{
	struct spans all HL_AUTO(spans_done) = { 0 };
	const struct part part = { text, 0, len };

	find_all(redactor, state, text, len, &all);
	if (all.failed) {
		out->failed = true;
		return 0;
	}
	return put_redacted(redactor, &all, &part, out);
}

/* ------------------------------------------------------------------------------------------------
 * A stream: what may be the beginning of a value is held back until more has come.
 */
struct audit_stream {
	const struct redactor *redactor;
	struct hl_buf held;
	size_t shown; /* of held: passed on before, and may name what follows ("Authorization: ") */
};

enum {
	HOLD_MIN = 4096, /* of shapes: the longest is a key in PEM, which is known by its end */
	HOLD_MAX = 8 << 20,
	SHOWN_MAX = 4096 /* of a line that is cut: more than any name, and what stands behind it */
};

struct audit_stream *
audit_stream_new(const struct audit *audit)
{
	struct audit_stream *stream = calloc(1, sizeof(*stream));

	if (stream == NULL)
		return NULL;
	stream->redactor = &audit->redactor;
	hl_buf_init(&stream->held, HOLD_MAX);
	return stream;
}

void
audit_stream_free(struct audit_stream *stream)
{
	if (stream == NULL)
		return;
	hl_buf_done_secret(&stream->held);
	free(stream);
}

static size_t
longest_value(const struct redactor *redactor)
{
	size_t longest = HOLD_MIN;

	for (size_t i = 0; i < redactor->needles_len; i++)
		if (redactor->needles[i].len > longest)
			longest = redactor->needles[i].len;
	return longest + 4; /* and what stands beside a form of base 64 */
}

/* Where the text may be cut, at `until` or before: never inside of a span. What stands in front of
 * a value and names it is in no span, but it is on the same line: between lines, where there is
 * one. */
static size_t
cut_before(const struct audit_stream *stream, const struct spans *all, size_t until)
{
	const char *text = stream->held.data;
	size_t shown = stream->shown, cut = until;

	do {
		until = cut;
		const char *lf = memrchr(text + shown, '\n', until - shown);
		if (lf != NULL)
			cut = (size_t)(lf - text) + 1;
		for (size_t i = all->len; i-- > 0;)
			if (all->items[i].begin < cut && all->items[i].end > cut)
				cut = all->items[i].begin;
	} while (cut < until && cut > shown);
	return cut > shown ? cut : shown;
}

/* Forgets what is before until, but for the last of a line that was cut: it may name what follows.
 */
static void
forget(struct audit_stream *stream, size_t until)
{
	struct hl_buf *held = &stream->held;
	size_t shown = until < SHOWN_MAX ? until : SHOWN_MAX;

	if (until > 0 && held->data[until - 1] == '\n')
		shown = 0;
	hl_buf_drop(held, until - shown);
	stream->shown = shown;
}

int
audit_stream_pass(struct audit_stream *stream, const char *bytes, size_t len, bool is_end,
    struct hl_buf *out)
{
	struct spans all HL_AUTO(spans_done) = { 0 };
	struct redact_state state = { 0 };
	struct hl_buf *held = &stream->held;
	size_t hold = longest_value(stream->redactor);

	hl_buf_put(held, bytes, len);
	if (held->failed)
		return -1;
	/* Looked at in pieces that are large beside what is held back. */
	if (!is_end && held->len - stream->shown < 4 * hold)
		return 0;
	find_all(stream->redactor, &state, held->data, held->len, &all);
	if (all.failed)
		return -1;
	const struct part part = { held->data, stream->shown,
		is_end ? held->len : cut_before(stream, &all, held->len - hold) };
	if (part.end > part.begin)
		put_redacted(stream->redactor, &all, &part, out);
	forget(stream, part.end);
	return out->failed ? -1 : 0;
}
