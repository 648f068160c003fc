/*
 * Memory that lives as long as a policy: every node, string and list of it comes from one arena and
 * goes in one call, so that nothing of a half-read policy can leak or be freed twice.
 */
#ifndef HL_POLICY_ARENA_H
#define HL_POLICY_ARENA_H

#include <stddef.h>

#include "base/base.h"

struct policy_chunk;

struct policy_arena {
	struct policy_chunk *chunks; /* newest first */
	size_t size;                 /* of all of them */
};

void policy_arena_done(struct policy_arena *arena);
/* What is allocated from now on goes away by policy_arena_rewind(), and nothing else does. */
struct policy_arena_mark {
	struct policy_chunk *chunk;
	size_t used;
};

struct policy_arena_mark policy_arena_mark(const struct policy_arena *arena);
void policy_arena_rewind(struct policy_arena *arena, const struct policy_arena_mark *mark);
/* Zeroed and aligned for any object. NULL: no memory. size may be 0. */
void *policy_arena_alloc(struct policy_arena *arena, size_t size) HL_MUST_CHECK;
/* n objects of size bytes; NULL also when the product overflows. */
void *policy_arena_array(struct policy_arena *arena, size_t n, size_t size) HL_MUST_CHECK;
/* Copies len bytes and puts a NUL behind them. */
char *policy_arena_dup(struct policy_arena *arena, const char *bytes, size_t len) HL_MUST_CHECK;

#endif
