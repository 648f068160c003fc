/*
 * The heap of the static programs, in the place of musl's allocator, which maps and unmaps a group
 * of pages for most of the few hundred blocks of a run: a tenth of a whole start, and a sixth of
 * the runner's part. Tests and sanitizers use the allocator of their own C library.
 *
 * Blocks come in size classes, four to each doubling, from chunks that are never given back: a run
 * is short, and a session's blocks are of the same sizes again and again. Large ones come from
 * chunks that are one huge page each, where the kernel has any: a page that is met for the first
 * time costs more than filling it does, and a policy of one MiB meets a thousand. A block beyond
 * the classes is a mapping of its own. In front of each stands its class and a mark that is bound
 * to its address; a block that is freed twice, or whose mark was written over, ends the program at
 * once instead of joining a list.
 *
 * malloc(3) may be called on any thread; the lock is held for a few instructions.
 */
#include <sys/auxv.h>
#include <sys/mman.h>

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#include "base/banned.h"

enum {
	UNIT = 16, /* smallest block and alignment of all */
	STEPS = 4,
	CLASSES = 60, /* the last holds 1 MiB: a stream's buffers come and go */
	CLASS_OWN_MAPPING = CLASSES,
	CHUNK = 384 * 1024,
	HUGE_CHUNK = 2048 * 1024,
#ifdef HL_SANDBOX_BUILD
	READY = 0, /* a runner needs a few pages, and idle ones are many */
	ALONE = CHUNK,
	LARGE = HUGE_CHUNK,
#else
	READY = 304 * 1024, /* what one run touches */
	ALONE = 80 * 1024,  /* what it has before its sandbox is being made meanwhile */
	LARGE = 400 * 1024, /* of fewer pages a huge one would be mostly empty */
#endif
};

struct head {
	uint32_t class;
	uint32_t is_fresh; /* never used before: still zero from the kernel */
	uint64_t mark;     /* own mapping: its size is in `size` before this head */
};

struct free_block {
	struct free_block *next;
};

static const uint64_t mark_used = 0x9e3779b97f4a7c15;
static const uint64_t mark_free = 0xc2b2ae3d27d4eb4f;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct free_block *free_lists[CLASSES];
static char *chunk_at, *chunk_end;
static char *huge_at, *huge_end;
static bool was_asked;

static_assert(sizeof(struct head) == UNIT, "a block keeps its alignment behind its head");

/* 16, 32, 48, 64, then 80, 96, 112, 128, 160, ... */
static size_t
class_size(unsigned class)
{
	if (class < STEPS)
		return (size_t)UNIT * (class + 1);
	unsigned doubling = class / STEPS - 1, step = class % STEPS;
	return ((size_t)UNIT * STEPS << doubling) + ((size_t)UNIT << doubling) * (step + 1);
}

static unsigned
class_of(size_t size)
{
	if (size <= (size_t)UNIT * STEPS)
		return size == 0 ? 0 : (unsigned)((size - 1) / UNIT);
	unsigned doubling = (unsigned)(63 - __builtin_clzl((size - 1) / (UNIT * STEPS)));
	size_t base = (size_t)UNIT * STEPS << doubling;
	return STEPS * (doubling + 1) + (unsigned)((size - 1 - base) / ((size_t)UNIT << doubling));
}

static struct head *
head_of(void *block)
{
	return (struct head *)block - 1;
}

static void
check(const struct head *head, uint64_t mark)
{
	if (head->mark != (mark ^ (uint64_t)(uintptr_t)head) || head->class > CLASS_OWN_MAPPING)
		__builtin_trap();
}

static void *
map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* The size stands in a head of its own before the usual one. */
static void *
alloc_mapping(size_t size)
{
	size_t whole;

	if (__builtin_add_overflow(size, 2 * sizeof(struct head), &whole))
		return NULL;
	size_t *memory = map(whole);
	if (memory == NULL)
		return NULL;
	*memory = whole;
	struct head *head = (struct head *)memory + 1;
	*head = (struct head){ .class = CLASS_OWN_MAPPING,
		.is_fresh = 1,
		.mark = mark_used ^ (uint64_t)(uintptr_t)head };
	return head + 1;
}

static size_t
mapping_size(const struct head *head)
{
	return *(const size_t *)(head - 1);
}

/* Pages move, bytes do not. */
static void *
move_mapping(struct head *head, size_t size)
{
	size_t whole;

	if (__builtin_add_overflow(size, 2 * sizeof(*head), &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	size_t *memory = mremap(head - 1, mapping_size(head), whole, MREMAP_MAYMOVE);
	if (memory == MAP_FAILED)
		return NULL;
	*memory = whole;
	head = (struct head *)memory + 1;
	head->mark = mark_used ^ (uint64_t)(uintptr_t)head;
	return head + 1;
}

/* Asking for pages at once costs a third of faulting them in one by one. Where a kernel does not
 * know how, they come as ever. Not from the first block on: the sandbox's own process is to be
 * begun before anything that can go on beside it. */
static void
ask_for_pages(void)
{
	if (was_asked)
		return;
	const uintptr_t used = CHUNK - (uintptr_t)(chunk_end - chunk_at);
	const uintptr_t page = getauxval(AT_PAGESZ);
	const uintptr_t from = (used + page - 1) / page * page;
	if (used < ALONE)
		return;
	was_asked = true;
	const int saved = errno;
	if (from + page <= READY)
		(void)!madvise(chunk_at + (from - used), READY - from, HL_MADV_POPULATE_WRITE);
	errno = saved;
}

/* One huge page where it begins at a multiple of its size; a mapping is moved there. */
static char *
map_huge(void)
{
	char *memory = map(2 * HUGE_CHUNK);

	if (memory == NULL)
		return NULL;
	size_t before = -(uintptr_t)memory % HUGE_CHUNK;
	if (before > 0)
		munmap(memory, before);
	munmap(memory + before + HUGE_CHUNK, HUGE_CHUNK - before);
	(void)!madvise(memory + before, HUGE_CHUNK, MADV_HUGEPAGE);
	return memory + before;
}

static void *
cut_large(size_t whole)
{
	if ((size_t)(huge_end - huge_at) < whole) {
		char *chunk = map_huge();
		if (chunk == NULL)
			return NULL;
		huge_at = chunk;
		huge_end = chunk + HUGE_CHUNK;
	}
	struct head *head = (void *)huge_at;
	huge_at += whole;
	head->is_fresh = 1;
	return head + 1;
}

static void *
cut(unsigned class)
{
	size_t whole = sizeof(struct head) + class_size(class);

	if (whole > LARGE)
		return cut_large(whole);
	if (whole > CHUNK / 4) {
		struct head *alone = map(whole);
		if (alone == NULL)
			return NULL;
		alone->is_fresh = 1;
		return alone + 1;
	}
	if ((size_t)(chunk_end - chunk_at) < whole) {
		char *chunk = map(CHUNK);
		if (chunk == NULL)
			return NULL;
		chunk_at = chunk;
		chunk_end = chunk + CHUNK;
	}
	struct head *head = (void *)chunk_at;
	chunk_at += whole;
	ask_for_pages();
	head->is_fresh = 1;
	return head + 1;
}

/* The compiler has its own idea of what is before a block of malloc's: not of this one's. */
static void *
take(size_t size)
{
	if (size > class_size(CLASSES - 1)) {
		void *block = alloc_mapping(size);
		if (block == NULL)
			errno = ENOMEM;
		return block;
	}
	unsigned class = class_of(size);
	pthread_mutex_lock(&lock);
	void *block = free_lists[class];
	if (block != NULL) {
		check(head_of(block), mark_free);
		free_lists[class] = free_lists[class]->next;
		head_of(block)->is_fresh = 0;
	} else {
		block = cut(class);
	}
	pthread_mutex_unlock(&lock);
	if (block == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	struct head *head = head_of(block);
	head->class = class;
	head->mark = mark_used ^ (uint64_t)(uintptr_t)head;
	return block;
}

static void
give(void *block)
{
	if (block == NULL)
		return;
	struct head *head = head_of(block);
	check(head, mark_used);
	if (head->class == CLASS_OWN_MAPPING) {
		int saved = errno;
		munmap(head - 1, mapping_size(head));
		errno = saved;
		return;
	}
	struct free_block *freed = block;
	pthread_mutex_lock(&lock);
	head->mark = mark_free ^ (uint64_t)(uintptr_t)head;
	freed->next = free_lists[head->class];
	free_lists[head->class] = freed;
	pthread_mutex_unlock(&lock);
}

void *
malloc(size_t size)
{
	return take(size);
}

void
free(void *block)
{
	give(block);
}

void *
calloc(size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	void *block = take(bytes);
	if (block != NULL && !head_of(block)->is_fresh)
		memset(block, 0, bytes);
	return block;
}

void *
realloc(void *block, size_t size)
{
	if (block == NULL)
		return take(size);
	struct head *head = head_of(block);
	check(head, mark_used);
	size_t has = head->class == CLASS_OWN_MAPPING ? mapping_size(head) - 2 * sizeof(*head)
						      : class_size(head->class);
	if (size <= has && (size > has / 4 || head->class != CLASS_OWN_MAPPING))
		return block;
	if (head->class == CLASS_OWN_MAPPING && size > class_size(CLASSES - 1))
		return move_mapping(head, size);
	void *moved = take(size);
	if (moved == NULL)
		return NULL;
	memcpy(moved, block, size < has ? size : has);
	give(block);
	return moved;
}

/* Nothing of ours asks for more than the alignment that every block has. */
void *
aligned_alloc(size_t alignment, size_t size)
{
	if (alignment > UNIT) {
		errno = ENOMEM;
		return NULL;
	}
	return take(size);
}
