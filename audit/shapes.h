/*
 * What patterns.c and commands.c share: the place in a text that is being looked through. Not a
 * door.
 */
#ifndef HL_AUDIT_SHAPES_H
#define HL_AUDIT_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

#include "audit/ledger.h"

struct shapes {
	const char *text;
	size_t len;
	char quote; /* of a shell, that the place is inside of; 0 = none */
	bool is_argument;
	struct redact_state *state;
	struct spans *spans;
};

bool audit_shapes_is_word_char(char c);
bool audit_shapes_is_space(char c);
/* Adds one; empty ones are left out. Returns end. */
size_t audit_shapes_hide(struct shapes *shapes, size_t begin, size_t end, const char *pattern);

/* commands.c. Each looks at the place and returns where to go on: `at` itself when there was
 * nothing. */
/* At = or : "name=value", "name: value", "Authorization: value". */
size_t audit_shapes_assignment(struct shapes *shapes, size_t at);
/* At the beginning of a word: programs and their options. */
size_t audit_shapes_word(struct shapes *shapes, size_t at);
/* Does the argument before say that this one is a value? */
bool audit_shapes_whole(struct shapes *shapes);
/* What this argument says about the next. */
void audit_shapes_argument_ends(struct shapes *shapes);

#endif
