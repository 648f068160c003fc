/*
 * The output window and its spill file, for every size of piece: head, tail, the exact count of
 * what is between, and a file that has all of it or says that it has not.
 */
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/machine.h"

enum {
	TOTAL_MAX = 4000
};

static const struct session_config no_files = { 0 };
static char dir[64];

static char
byte_at(size_t i)
{
	return (char)('a' + (i * 7 + i / 26) % 26);
}

static void
feed(struct window *window, size_t total, size_t piece, const struct session_config *config)
{
	char bytes[TOTAL_MAX];

	for (size_t i = 0; i < total; i++)
		bytes[i] = byte_at(i);
	for (size_t at = 0; at < total; at += piece)
		window_put(window, bytes + at, total - at < piece ? total - at : piece, config);
}

static void
check(size_t limit, size_t total, size_t piece)
{
	struct session_window public = { 0 };
	struct window window = { 0 };
	size_t head = limit * 2 / 5, kept = total < limit ? total : limit;

	window_init(&window, &public, limit);
	feed(&window, total, piece, &no_files);
	window_end(&window);
	assert_int_equal(public.total, total);
	assert_int_equal(public.omitted, total - kept);
	assert_int_equal(public.head.len + public.tail.len, kept);
	assert_int_equal(public.head.len, kept < head ? kept : head);
	for (size_t i = 0; i < public.head.len; i++)
		assert_int_equal(public.head.data[i], byte_at(i));
	for (size_t i = 0; i < public.tail.len; i++)
		assert_int_equal(public.tail.data[i], byte_at(total - public.tail.len + i));
	hl_buf_done(&public.head);
	hl_buf_done(&public.tail);
}

/* hermes 52 to 56, W12: bytes, head and tail always, nothing lost up to the limit. */
static void
test_hermes_52_head_and_tail(void **state)
{
	static const size_t limits[] = { 1, 2, 5, 10, 1000, 3999 };
	static const size_t totals[] = { 0, 1, 4, 10, 11, 999, 1000, 1001, 4000 };
	static const size_t pieces[] = { 1, 3, 7, 100, 1000, 4000 };

	(void)state;
	for (size_t l = 0; l < HL_ARRAY_SIZE(limits); l++)
		for (size_t t = 0; t < HL_ARRAY_SIZE(totals); t++)
			for (size_t p = 0; p < HL_ARRAY_SIZE(pieces); p++)
				check(limits[l], totals[t], pieces[p]);
}

static size_t
file_size(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	return (size_t)st.st_size;
}

static void
spill(const struct session_config *config, size_t total, struct session_window *public)
{
	struct window window = { 0 };

	memset(public, 0, sizeof(*public));
	window_init(&window, public, 100);
	feed(&window, total, 33, config);
	window_end(&window);
}

static void
forget(struct session_window *public)
{
	hl_buf_done(&public->head);
	hl_buf_done(&public->tail);
	if (public->spill != NULL)
		assert_int_equal(unlink(public->spill), 0);
	free(public->spill);
}

static void
test_spill_has_all_of_it(void **state)
{
	const struct session_config config = { .spill_dir = dir };
	struct session_window public;
	char text[TOTAL_MAX + 1];

	(void)state;
	spill(&config, 100, &public);
	assert_null(public.spill);
	forget(&public);
	spill(&config, 3000, &public);
	assert_non_null(public.spill);
	assert_false(public.is_capped);
	assert_int_equal(file_size(public.spill), 3000);
	FILE *file = fopen(public.spill, "re");
	assert_non_null(file);
	assert_int_equal(fread(text, 1, sizeof(text), file), 3000);
	fclose(file);
	for (size_t i = 0; i < 3000; i++)
		assert_int_equal(text[i], byte_at(i));
	forget(&public);
}

/* hermes 58: what is not all of it does not say that it is. */
static void
test_hermes_58_spill_is_capped_and_says_so(void **state)
{
	const struct session_config config = { .spill_dir = dir, .spill_bytes = 500 };
	struct session_window public;

	(void)state;
	spill(&config, 3000, &public);
	assert_true(public.is_capped);
	assert_int_equal(file_size(public.spill), 500);
	forget(&public);
}

static void
test_spill_that_cannot_be_made_breaks_nothing(void **state)
{
	const struct session_config config = { .spill_dir = "/proc/nowhere" };
	struct session_window public;

	(void)state;
	spill(&config, 3000, &public);
	assert_null(public.spill);
	assert_int_equal(public.omitted, 2900);
	forget(&public);
}

/* A filter of one byte of memory: every "ab" of the stream becomes "##", in any cut. */
static void *
filter_begin(void *context)
{
	(void)context;
	return calloc(1, 1);
}

static int
filter_pass(void *stream, const char *bytes, size_t len, bool is_end, struct hl_buf *out)
{
	char *held = stream;

	for (size_t i = 0; i < len; i++) {
		if (*held == 'a' && bytes[i] == 'b') {
			hl_buf_puts(out, "##");
			*held = '\0';
			continue;
		}
		if (*held != '\0')
			hl_buf_putc(out, *held);
		*held = bytes[i];
	}
	if (is_end && *held != '\0')
		hl_buf_putc(out, *held);
	return 0;
}

static int
filter_fail(void *stream, const char *bytes, size_t len, bool is_end, struct hl_buf *out)
{
	(void)stream, (void)bytes, (void)len, (void)is_end, (void)out;
	return -1;
}

/* U17, hermes W12: what is known to be secret does not reach the file, in any cut of the stream. */
static void
test_u17_spill_is_filtered(void **state)
{
	static const struct session_filter hides = { filter_begin, filter_pass, free };
	static const struct session_filter fails = { filter_begin, filter_fail, free };
	struct session_config config = { .spill_dir = dir, .filter = &hides };
	struct session_window public = { 0 };
	struct window window = { 0 };
	char text[400];

	(void)state;
	window_init(&window, &public, 10);
	for (int i = 0; i < 300; i++)
		window_put(&window, i % 2 == 0 ? "a" : "b", 1, &config);
	window_end(&window);
	assert_int_equal(file_size(public.spill), 300);
	FILE *file = fopen(public.spill, "re");
	assert_non_null(file);
	assert_int_equal(fread(text, 1, sizeof(text), file), 300);
	fclose(file);
	assert_null(memmem(text, 300, "ab", 2));
	forget(&public);
	/* A filter that fails lets nothing through. */
	config.filter = &fails;
	spill(&config, 3000, &public);
	assert_true(public.is_capped);
	assert_int_equal(file_size(public.spill), 0);
	forget(&public);
}

/* What the filter held when the file was full is missing in it, like all that comes later. */
static void
test_spill_that_is_full_has_not_what_is_held(void **state)
{
	static const struct session_filter hides = { filter_begin, filter_pass, free };
	struct session_config config = { .spill_dir = dir, .spill_bytes = 3000, .filter = &hides };
	struct session_window public;

	(void)state;
	spill(&config, 3001, &public);
	assert_int_equal(file_size(public.spill), 3000);
	assert_true(public.is_capped);
	forget(&public);
	config.spill_bytes = 3001;
	spill(&config, 3001, &public);
	assert_int_equal(file_size(public.spill), 3001);
	assert_false(public.is_capped);
	forget(&public);
}

static void
test_background_ring(void **state)
{
	struct background ring = { 0 };
	char bytes[100];
	uint64_t offset;

	(void)state;
	assert_int_equal(background_read(&ring, 5, bytes, sizeof(bytes), &offset), 0);
	assert_int_equal(offset, 0);
	background_put(&ring, 10, "abcdef", 6);
	assert_int_equal(background_read(&ring, 2, bytes, 3, &offset), 3);
	assert_int_equal(offset, 2);
	assert_memory_equal(bytes, "cde", 3);
	background_put(&ring, 10, "ghijklm", 7);
	assert_int_equal(background_read(&ring, 0, bytes, sizeof(bytes), &offset), 10);
	assert_int_equal(offset, 3);
	assert_memory_equal(bytes, "defghijklm", 10);
	background_put(&ring, 10, "0123456789ABCDEFGHIJKLMNO", 25);
	assert_int_equal(background_read(&ring, 0, bytes, sizeof(bytes), &offset), 10);
	assert_int_equal(offset, 28);
	assert_memory_equal(bytes, "FGHIJKLMNO", 10);
	assert_int_equal(background_read(&ring, 99, bytes, sizeof(bytes), &offset), 0);
	assert_int_equal(offset, 38);
	background_done(&ring);
}

static int
make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test_window.XXXXXX");
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int
remove_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hermes_52_head_and_tail),
		cmocka_unit_test(test_spill_has_all_of_it),
		cmocka_unit_test(test_hermes_58_spill_is_capped_and_says_so),
		cmocka_unit_test(test_spill_that_cannot_be_made_breaks_nothing),
		cmocka_unit_test(test_u17_spill_is_filtered),
		cmocka_unit_test(test_spill_that_is_full_has_not_what_is_held),
		cmocka_unit_test(test_background_ring),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
