/*
 * A bump allocator. Policies are small and live in one piece; there is nothing to free in between.
 */
#include "policy/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#include "base/banned.h"

/* With what stands before the bytes. */
enum {
	FIRST_CHUNK = 1024, /* many arenas hold a single number */
	CHUNK = 16 * 1024,
	MANY_CHUNKS =
	    128 * 1024, /* then large ones, which the heap has on few pages (base/heap.c) */
	LARGE_CHUNK = 448 * 1024
};

struct policy_chunk {
	struct policy_chunk *next;
	size_t used;
	size_t size;
	alignas(max_align_t) char bytes[];
};

struct policy_arena_mark
policy_arena_mark(const struct policy_arena *arena)
{
	return (struct policy_arena_mark){ arena->chunks,
		arena->chunks != NULL ? arena->chunks->used : 0 };
}

void
policy_arena_rewind(struct policy_arena *arena, const struct policy_arena_mark *mark)
{
	while (arena->chunks != mark->chunk) {
		struct policy_chunk *chunk = arena->chunks;
		arena->chunks = chunk->next;
		arena->size -= chunk->size;
		/* env.set may hold what its author thought private. */
		explicit_bzero(chunk->bytes, chunk->used);
		free(chunk);
	}
	if (mark->chunk != NULL) {
		explicit_bzero(mark->chunk->bytes + mark->used, mark->chunk->used - mark->used);
		mark->chunk->used = mark->used;
	}
}

void
policy_arena_done(struct policy_arena *arena)
{
	policy_arena_rewind(arena, &(struct policy_arena_mark){ 0 });
	*arena = (struct policy_arena){ 0 };
}

static struct policy_chunk *
add_chunk(struct policy_arena *arena, size_t size)
{
	struct policy_chunk *chunk;

	if (size > SIZE_MAX - sizeof(*chunk))
		return NULL;
	chunk = malloc(sizeof(*chunk) + size);
	if (chunk == NULL)
		return NULL;
	chunk->used = 0;
	chunk->size = size;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->size += size;
	return chunk;
}

static size_t
usual_size(const struct policy_arena *arena, size_t size)
{
	size_t usual = arena->size + size > MANY_CHUNKS ? LARGE_CHUNK
		       : arena->chunks == NULL          ? FIRST_CHUNK
							: CHUNK;

	return usual - sizeof(struct policy_chunk);
}

void *
policy_arena_alloc(struct policy_arena *arena, size_t size)
{
	const size_t align = alignof(max_align_t);
	struct policy_chunk *chunk = arena->chunks;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + align - 1) / align * align;
	if (chunk == NULL || chunk->size - chunk->used < size) {
		size_t usual = usual_size(arena, size);
		chunk = add_chunk(arena, size > usual ? size : usual);
	}
	if (chunk == NULL)
		return NULL;
	void *memory = chunk->bytes + chunk->used;
	chunk->used += size;
	memset(memory, 0, size);
	return memory;
}

void *
policy_arena_array(struct policy_arena *arena, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return policy_arena_alloc(arena, bytes);
}

char *
policy_arena_dup(struct policy_arena *arena, const char *bytes, size_t len)
{
	char *copy = policy_arena_alloc(arena, len + 1);

	if (copy != NULL && len > 0)
		memcpy(copy, bytes, len);
	return copy;
}
