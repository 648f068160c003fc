/*
 * The heap of the static programs, under other names: blocks that do not overlap, sizes on both
 * sides of each class, zeroed memory, and the end of a program that frees twice or writes before
 * its block.
 */
#include <sys/wait.h>

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

void *heap_malloc(size_t size);
void heap_free(void *block);
void *heap_calloc(size_t n, size_t size);
void *heap_realloc(void *block, size_t size);
void *heap_aligned_alloc(size_t alignment, size_t size);

#define malloc        heap_malloc
#define free          heap_free
#define calloc        heap_calloc
#define realloc       heap_realloc
#define aligned_alloc heap_aligned_alloc
#include "../../../base/heap.c"
#undef malloc
#undef free
#undef calloc
#undef realloc
#undef aligned_alloc

#include "base/banned.h"

enum {
	BLOCKS = 512,
	ROUNDS = 20000
};

static void
classes_hold_what_they_say(void **state)
{
	(void)state;
	for (unsigned class = 0; class < CLASSES; class ++) {
		assert_int_equal(class_of(class_size(class)), class);
		assert_int_equal(class_size(class) % UNIT, 0);
		if (class > 0) {
			assert_true(class_size(class) > class_size(class - 1));
			assert_int_equal(class_of(class_size(class - 1) + 1), class);
		}
	}
	assert_int_equal(class_size(CLASSES - 1), 1024 * 1024);
	assert_int_equal(class_of(0), 0);
}

struct owned {
	unsigned char *bytes;
	size_t len;
	unsigned char fill;
};

static void
check_owned(const struct owned *owned)
{
	for (size_t i = 0; i < owned->len; i++)
		assert_int_equal(owned->bytes[i], owned->fill);
}

/* Every block keeps its bytes whatever is done to the others. */
static void
blocks_do_not_overlap(void **state)
{
	static struct owned owned[BLOCKS];
	uint32_t random = 12345;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		random = random * 1103515245 + 12345;
		struct owned *one = &owned[(random >> 8) % BLOCKS];
		size_t len =
		    (random >> 20) % 64 == 0 ? 70000 + random % 2000000 : (random >> 12) % 3000;
		check_owned(one);
		if (one->bytes != NULL && (random & 64) != 0) {
			one->bytes = heap_realloc(one->bytes, len + 1);
			assert_non_null(one->bytes);
			for (size_t i = 0; i < one->len && i < len; i++)
				assert_int_equal(one->bytes[i], one->fill);
		} else {
			heap_free(one->bytes);
			one->bytes = (random & 128) != 0 ? heap_malloc(len) : heap_calloc(1, len);
			assert_non_null(one->bytes);
			for (size_t i = 0; (random & 128) == 0 && i < len; i++)
				assert_int_equal(one->bytes[i], 0);
		}
		assert_int_equal((uintptr_t)one->bytes % 16, 0);
		one->len = len;
		one->fill = (unsigned char)random;
		memset(one->bytes, one->fill, len);
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		check_owned(&owned[i]);
		heap_free(owned[i].bytes);
	}
}

static void
what_cannot_be_had_is_null(void **state)
{
	(void)state;
	errno = 0;
	assert_null(heap_malloc(SIZE_MAX - 8));
	assert_int_equal(errno, ENOMEM);
	assert_null(heap_malloc(SIZE_MAX / 2));
	assert_null(heap_calloc(SIZE_MAX / 2, 3));
	char *block = heap_malloc(10);
	memcpy(block, "012345678", 10);
	assert_null(heap_realloc(block, SIZE_MAX / 2));
	assert_string_equal(block, "012345678");
	heap_free(block);
	heap_free(NULL);
	assert_null(heap_aligned_alloc(4096, 10));
	block = heap_aligned_alloc(16, 10);
	assert_non_null(block);
	heap_free(block);
	block = heap_malloc(0);
	assert_non_null(block);
	heap_free(block);
}

static void
free_twice(void)
{
	char *block = heap_malloc(40);

	heap_free(block);
	heap_free(block);
}

static void
free_something_else(void)
{
	char *block = heap_malloc(400);

	heap_free(block + 160);
}

static void
write_before_the_block(void)
{
	char *block = heap_malloc(40);

	memset(block - 16, 'A', 16);
	heap_free(block);
}

static void
write_past_the_block(void)
{
	/* Freed blocks are given out again, last first: the second lies behind the first. */
	char *first = heap_malloc(20000), *second = heap_malloc(20000);
	char *low = first < second ? first : second, *high = first < second ? second : first;

	memset(low, 'A', (size_t)(high - low));
	heap_free(high);
}

static void
nothing_wrong(void)
{
	heap_free(heap_malloc(40));
}

static int
ends_with(void (*fault)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGILL, SIG_DFL);
		signal(SIGTRAP, SIG_DFL);
		fault();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
a_damaged_block_ends_the_program(void **state)
{
	static void (*const faults[])(void) = { free_twice, free_something_else,
		write_before_the_block, write_past_the_block };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(faults); i++)
		assert_int_not_equal(ends_with(faults[i]), 0);
	assert_int_equal(ends_with(nothing_wrong), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_hold_what_they_say),
		cmocka_unit_test(blocks_do_not_overlap),
		cmocka_unit_test(what_cannot_be_had_is_null),
		cmocka_unit_test(a_damaged_block_ends_the_program),
	};

	return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
