/*
 * Verify finds every change. A small log is changed in thousands of ways, by a seed that is printed
 * (HL_SEED repeats it); not one of them may be "ok". Where it is defined which record is the first
 * bad one, that is checked too.
 */
#include <time.h>

#include "tests/unit/audit/log.h"

enum {
	RECORDS = 12,
	MUTATIONS = 4000
};

struct lines_of {
	size_t begin[RECORDS + 2]; /* begin[n] is the end */
	size_t n;
};

static struct lines_of
split(const struct hl_buf *bytes)
{
	struct lines_of lines = { 0 };

	for (size_t i = 0; i < bytes->len; i++)
		if (bytes->data[i] == '\n')
			lines.begin[++lines.n] = i + 1;
	assert_int_equal(lines.n, RECORDS);
	return lines;
}

static uint64_t
next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static size_t
below(uint64_t *seed, size_t n)
{
	return (size_t)(next_random(seed) % n);
}

typedef bool mutate_fn(struct hl_buf *out, const struct hl_buf *good, const struct lines_of *lines,
    uint64_t *seed, size_t *ret_bad_seq);

static void
put_lines(struct hl_buf *out, const struct hl_buf *good, const struct lines_of *lines, size_t from,
    size_t to)
{
	hl_buf_put(out, good->data + lines->begin[from], lines->begin[to] - lines->begin[from]);
}

static bool
flip_bit(struct hl_buf *out, const struct hl_buf *good, const struct lines_of *lines,
    uint64_t *seed, size_t *ret_bad_seq)
{
	size_t at = below(seed, good->len);

	hl_buf_put(out, good->data, good->len);
	out->data[at] = (char)(out->data[at] ^ 1 << below(seed, 8));
	for (size_t i = 0; i < lines->n; i++)
		if (at >= lines->begin[i] && at < lines->begin[i + 1])
			*ret_bad_seq = i;
	return true;
}

static bool
change_byte(struct hl_buf *out, const struct hl_buf *good, const struct lines_of *lines,
    uint64_t *seed, size_t *ret_bad_seq)
{
	size_t at = below(seed, good->len);
	char byte = (char)below(seed, 256);

	if (good->data[at] == byte)
		return false;
	hl_buf_put(out, good->data, good->len);
	out->data[at] = byte;
	for (size_t i = 0; i < lines->n; i++)
		if (at >= lines->begin[i] && at < lines->begin[i + 1])
			*ret_bad_seq = i;
	return true;
}

static bool
remove_record(struct hl_buf *out, const struct hl_buf *good, const struct lines_of *lines,
    uint64_t *seed, size_t *ret_bad_seq)
{
	size_t i = below(seed, lines->n);

	put_lines(out, good, lines, 0, i);
	put_lines(out, good, lines, i + 1, lines->n);
	*ret_bad_seq = i;
	return true;
}

static bool
duplicate_record(struct hl_buf *out, const struct hl_buf *good, const struct lines_of *lines,
    uint64_t *seed, size_t *ret_bad_seq)
{
	size_t i = below(seed, lines->n);
	size_t at = i + 1 + below(seed, lines->n - i);

	put_lines(out, good, lines, 0, at);
	put_lines(out, good, lines, i, i + 1);
	put_lines(out, good, lines, at, lines->n);
	*ret_bad_seq = at;
	return true;
}

static bool
swap_records(struct hl_buf *out, const struct hl_buf *good, const struct lines_of *lines,
    uint64_t *seed, size_t *ret_bad_seq)
{
	size_t i = below(seed, lines->n - 1);
	size_t j = i + 1 + below(seed, lines->n - i - 1);

	put_lines(out, good, lines, 0, i);
	put_lines(out, good, lines, j, j + 1);
	put_lines(out, good, lines, i + 1, j);
	put_lines(out, good, lines, i, i + 1);
	put_lines(out, good, lines, j + 1, lines->n);
	*ret_bad_seq = i;
	return true;
}

/* A whole, well-formed record with the right number and the right hash of the one before it. */
static bool
insert_record(struct hl_buf *out, const struct hl_buf *good, const struct lines_of *lines,
    uint64_t *seed, size_t *ret_bad_seq)
{
	size_t at = 1 + below(seed, lines->n - 1);
	unsigned char leaf[LEAF_SIZE];
	char hex[HL_SHA256_HEX_SIZE];

	audit_leaf_of(good->data + lines->begin[at - 1],
	    lines->begin[at] - lines->begin[at - 1] - 1, leaf);
	hl_sha256_hex(leaf, hex);
	put_lines(out, good, lines, 0, at);
	hl_buf_putf(out,
	    "{\"v\":1,\"seq\":%zu,\"t\":\"2026-01-01T00:00:00.000000Z\",\"mono\":1,\"boot\":"
	    "\"00000000\",\"ev\":\"run.end\",\"run\":null,\"how\":\"exited\",\"prev\":\"%s\"}\n",
	    at, hex);
	put_lines(out, good, lines, at, lines->n);
	*ret_bad_seq = at + 1;
	return true;
}

static bool
cut_bytes(struct hl_buf *out, const struct hl_buf *good, const struct lines_of *lines,
    uint64_t *seed, size_t *ret_bad_seq)
{
	size_t at = below(seed, good->len);
	size_t n = 1 + below(seed, good->len - at);

	(void)lines;
	(void)ret_bad_seq;
	hl_buf_put(out, good->data, at);
	hl_buf_put(out, good->data + at + n, good->len - at - n);
	return true;
}

static bool
insert_bytes(struct hl_buf *out, const struct hl_buf *good, const struct lines_of *lines,
    uint64_t *seed, size_t *ret_bad_seq)
{
	size_t at = below(seed, good->len + 1);
	size_t n = 1 + below(seed, 40);

	(void)lines;
	(void)ret_bad_seq;
	hl_buf_put(out, good->data, at);
	for (size_t i = 0; i < n; i++)
		hl_buf_putc(out, below(seed, 4) == 0 ? '\n' : (char)below(seed, 256));
	hl_buf_put(out, good->data + at, good->len - at);
	return true;
}

/* The beginning of a record where no crash has left it. */
static bool
insert_torn(struct hl_buf *out, const struct hl_buf *good, const struct lines_of *lines,
    uint64_t *seed, size_t *ret_bad_seq)
{
	size_t at = below(seed, lines->n + 1), source = below(seed, lines->n);
	size_t n = below(seed, lines->begin[source + 1] - lines->begin[source] - 1);

	put_lines(out, good, lines, 0, at);
	hl_buf_put(out, good->data + lines->begin[source], n);
	hl_buf_putc(out, '\n');
	put_lines(out, good, lines, at, lines->n);
	*ret_bad_seq = at;
	return true;
}

static bool
truncate_tail(struct hl_buf *out, const struct hl_buf *good, const struct lines_of *lines,
    uint64_t *seed, size_t *ret_bad_seq)
{
	(void)lines;
	(void)ret_bad_seq;
	hl_buf_put(out, good->data, below(seed, good->len));
	return true;
}

static const struct {
	const char *name;
	mutate_fn *mutate;
	bool knows_seq;
} mutations[] = {
	{ "flip a bit", flip_bit, true },
	{ "change a byte", change_byte, true },
	{ "remove a record", remove_record, true },
	{ "duplicate a record", duplicate_record, true },
	{ "swap records", swap_records, true },
	{ "insert a record", insert_record, false },
	{ "cut bytes out", cut_bytes, false },
	{ "insert bytes", insert_bytes, false },
	{ "insert a torn line", insert_torn, false },
	{ "truncate", truncate_tail, false },
};

static uint64_t
seed_of_today(void)
{
	const char *text = getenv("HL_SEED");
	struct hl_err err;
	uint64_t seed;

	if (text != NULL && hl_parse_u64(text, 1, UINT64_MAX, &seed, &err) == 0)
		return seed;
	return hl_now_real_us() | 1;
}

static void
check_seq(const struct audit_verify_result *result, size_t bad_seq, const char *name, unsigned i)
{
	if (result->verdict == AUDIT_TAMPERED && result->bad_seq != bad_seq)
		fail_msg("mutation %u (%s): first bad record %llu, expected %zu: %s", i, name,
		    (unsigned long long)result->bad_seq, bad_seq, result->detail);
}

static void
test_mutations(void **state)
{
	struct log log;
	struct hl_buf good, bad;
	uint64_t seed = seed_of_today();

	(void)state;
	print_message("# HL_SEED=%llu\n", (unsigned long long)seed);
	log_make(&log);
	log_fill(&log, RECORDS - 1);
	log_expect(&log, AUDIT_OK, "before");
	hl_buf_init(&good, 1 << 20);
	hl_buf_init(&bad, 1 << 20);
	file_read(log.segment, &good);
	struct lines_of lines = split(&good);
	for (unsigned i = 0; i < MUTATIONS; i++) {
		size_t kind = i % HL_ARRAY_SIZE(mutations), bad_seq = 0;
		hl_buf_reset(&bad);
		if (!mutations[kind].mutate(&bad, &good, &lines, &seed, &bad_seq))
			continue;
		if (bad.len == good.len && memcmp(bad.data, good.data, good.len) == 0)
			continue;
		file_write(log.segment, bad.data, bad.len);
		struct audit_verify_result result = log_verify(&log);
		if (result.verdict == AUDIT_OK) {
			file_write("/tmp/hl-audit-mutation", bad.data, bad.len);
			fail_msg("mutation %u (%s) is ok", i, mutations[kind].name);
		}
		if (mutations[kind].knows_seq)
			check_seq(&result, bad_seq, mutations[kind].name, i);
	}
	file_write(log.segment, good.data, good.len);
	log_expect(&log, AUDIT_OK, "put back");
	hl_buf_done(&good);
	hl_buf_done(&bad);
	log_remove(&log);
}

/* A line end that was changed makes one line of two, which has the frame of a record. */
static void
test_joined_lines(void **state)
{
	struct log log;
	struct hl_buf bytes;

	(void)state;
	log_make(&log);
	log_fill(&log, RECORDS - 1);
	hl_buf_init(&bytes, 1 << 20);
	file_read(log.segment, &bytes);
	struct lines_of lines = split(&bytes);
	for (size_t i = 0; i < lines.n; i++) {
		size_t at = lines.begin[i + 1] - 1;
		bytes.data[at] = ' ';
		file_write(log.segment, bytes.data, bytes.len);
		struct audit_verify_result result = log_verify(&log);
		assert_int_equal(result.verdict, AUDIT_TAMPERED);
		assert_int_equal(result.bad_seq, i);
		bytes.data[at] = '\n';
	}
	hl_buf_done(&bytes);
	log_remove(&log);
}

/* Every single bit of the head: none of them lets verify say ok. */
static void
test_head_bits(void **state)
{
	struct log log;
	struct hl_buf head;

	(void)state;
	log_make(&log);
	log_fill(&log, 3);
	hl_buf_init(&head, 4096);
	file_read(log.head, &head);
	assert_int_equal(head.len, HEAD_SIZE);
	for (size_t i = 0; i < head.len * 8; i++) {
		head.data[i / 8] = (char)(head.data[i / 8] ^ 1 << i % 8);
		file_write(log.head, head.data, head.len);
		log_expect(&log, AUDIT_INCOMPLETE, "a bit of the head");
		head.data[i / 8] = (char)(head.data[i / 8] ^ 1 << i % 8);
	}
	file_write(log.head, head.data, head.len);
	log_expect(&log, AUDIT_OK, "put back");
	unlink(log.head);
	log_expect(&log, AUDIT_INCOMPLETE, "no head");
	hl_buf_done(&head);
	log_remove(&log);
}

/* The head of another log with as many records, and a head that knows less than there is. */
static void
test_other_heads(void **state)
{
	struct log log, other;
	struct hl_buf head;

	(void)state;
	log_make(&log);
	log_make(&other);
	log_fill(&log, 3);
	log_fill(&other, 3);
	hl_buf_init(&head, 4096);
	file_read(other.head, &head);
	file_write(log.head, head.data, head.len);
	log_expect(&log, AUDIT_TAMPERED, "foreign head");
	assert_int_equal(log_verify(&log).bad_seq, 3);
	/* A writer that was killed before it wrote the head leaves one that knows less. */
	file_read(other.head, &head);
	log_fill(&other, 2);
	file_write(other.head, head.data, head.len);
	log_expect(&other, AUDIT_OK, "a stale head");
	hl_buf_done(&head);
	log_remove(&log);
	log_remove(&other);
}

/* A whole log under another name, and a copy of the state directory. */
static void
test_moved(void **state)
{
	struct log log, copy;
	char from[256], to[256];

	(void)state;
	log_make(&log);
	log_fill(&log, 3);
	log_make(&copy);
	snprintf(from, sizeof(from), "%s/audit", log.state);
	snprintf(to, sizeof(to), "%s/audit", copy.state);
	assert_int_equal(rename(from, to), 0);
	log_expect(&copy, AUDIT_OK, "moved whole");
	memcpy(copy.segment, log.segment, sizeof(copy.segment));
	char *id = strstr(copy.segment, "/audit/") + 7;
	snprintf(from, sizeof(from), "%s/audit/%.26s", copy.state, id);
	snprintf(to, sizeof(to), "%s/audit/01JDV3ABCDEFGHJKMNPQRSTVWX", copy.state);
	assert_int_equal(rename(from, to), 0);
	log_expect(&copy, AUDIT_TAMPERED, "under another name");
	log_remove(&log);
	log_remove(&copy);
}

/* Cuts a log of one segment into segments as rotation will name them. */
static void
cut_into_segments(const struct log *log, const struct hl_buf *good, const struct lines_of *lines,
    const size_t *firsts, size_t n)
{
	char path[192];
	int dir_len = (int)(strlen(log->segment) - (SEGMENT_NAME_SIZE - 1));

	for (size_t i = 0; i < n; i++) {
		size_t end = i + 1 < n ? firsts[i + 1] : lines->n;
		snprintf(path, sizeof(path), "%.*s%020zu.jsonl", dir_len, log->segment, firsts[i]);
		file_write(path, good->data + lines->begin[firsts[i]],
		    lines->begin[end] - lines->begin[firsts[i]]);
	}
}

static void
test_segments(void **state)
{
	struct log log;
	struct hl_buf good;
	struct head head = { 0 };
	char second[192], third[192];

	(void)state;
	log_make(&log);
	log_fill(&log, RECORDS - 1);
	hl_buf_init(&good, 1 << 20);
	file_read(log.segment, &good);
	struct lines_of lines = split(&good);
	cut_into_segments(&log, &good, &lines, (const size_t[]){ 0, 4, 9 }, 3);
	int fd = open(log.head, O_RDWR | O_CLOEXEC);
	assert_true(audit_head_read(fd, &head));
	head.first = 9;
	head.size = good.len - lines.begin[9];
	assert_true(audit_head_write(fd, &head));
	close(fd);
	log_expect(&log, AUDIT_OK, "three segments");
	assert_int_equal(log_verify(&log).records, RECORDS);

	int dir_len = (int)(strlen(log.segment) - (SEGMENT_NAME_SIZE - 1));
	snprintf(second, sizeof(second), "%.*s%020d.jsonl", dir_len, log.segment, 4);
	snprintf(third, sizeof(third), "%.*s%020d.jsonl", dir_len, log.segment, 9);
	/* What is appended goes into the last. */
	log_fill(&log, 1);
	log_expect(&log, AUDIT_OK, "appended to the third");
	assert_int_equal(log_verify(&log).records, RECORDS + 1);
	unlink(log.head);
	log_fill(&log, 1);
	log_expect(&log, AUDIT_OK, "without a head too");
	assert_int_equal(log_verify(&log).records, RECORDS + 2);

	assert_int_equal(unlink(second), 0);
	log_expect(&log, AUDIT_INCOMPLETE, "the second is missing");
	cut_into_segments(&log, &good, &lines, (const size_t[]){ 4 }, 1);
	log_expect(&log, AUDIT_TAMPERED, "the second holds the third's records too");
	assert_int_equal(unlink(log.segment), 0);
	assert_int_equal(unlink(second), 0);
	log_expect(&log, AUDIT_INCOMPLETE, "only the third is there");
	assert_int_equal(unlink(third), 0);
	log_expect(&log, AUDIT_INCOMPLETE, "nothing is there");
	hl_buf_done(&good);
	log_remove(&log);
}

static int
stop_at_once(const char *line, size_t len, void *context)
{
	(void)line;
	(void)len;
	(void)context;
	return -1;
}

static int
collect(const char *line, size_t len, void *context)
{
	struct hl_buf *out = context;

	hl_buf_put(out, line, len);
	hl_buf_putc(out, '\n');
	return 0;
}

/* What is no record is told of and not shown. */
static void
test_show_foreign(void **state)
{
	static const char foreign[] = "\x1b]0;title\x07{\"v\":1}\n";
	struct log log;
	struct hl_buf bytes, out;
	struct audit_view view = { .format = AUDIT_TEXT, .line = collect, .context = &out };
	struct hl_err err = { 0 };

	(void)state;
	log_make(&log);
	log_fill(&log, 2);
	hl_buf_init(&bytes, 1 << 20);
	hl_buf_init(&out, 1 << 20);
	file_read(log.segment, &bytes);
	size_t offset = bytes.len;
	hl_buf_put(&bytes, foreign, sizeof(foreign) - 1);
	file_write(log.segment, bytes.data, bytes.len);
	assert_int_equal(audit_show(log.state, &view, &err), 0);
	assert_null(strchr(out.data, '\x1b'));
	assert_non_null(strstr(out.data, "not a record: offset"));
	hl_buf_reset(&out);
	view.format = AUDIT_JSON;
	assert_int_equal(audit_show(log.state, &view, &err), 0);
	assert_null(strchr(out.data, '\x1b'));
	char expected[96];
	snprintf(expected, sizeof(expected), "{\"not_a_record\":{\"offset\":%zu,\"length\":%zu}}\n",
	    offset, sizeof(foreign) - 2);
	assert_non_null(strstr(out.data, expected));
	assert_memory_equal(out.data, bytes.data, offset);
	/* It is of no run. */
	for (view.format = AUDIT_TEXT; view.format <= AUDIT_JSON; view.format++) {
		view.run = "offset";
		hl_buf_reset(&out);
		assert_int_equal(audit_show(log.state, &view, &err), 0);
		assert_int_equal(out.len, 0);
	}
	/* HLA-01: whoever takes the lines cannot. */
	assert_int_equal(audit_show(log.state, &(struct audit_view){ .line = stop_at_once }, &err),
	    -1);
	assert_int_equal(err.code, HLA_01);
	hl_buf_done(&bytes);
	hl_buf_done(&out);
	log_remove(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_joined_lines),
		cmocka_unit_test(test_head_bits),
		cmocka_unit_test(test_other_heads),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_show_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
