/*
 * Names and patterns: variable names, globs over one name, and the nearest word for a typing error.
 */
#include <string.h>

#include "base/base.h"

#include "base/banned.h"

bool
hl_is_env_name(const char *name, size_t len)
{
	if (len < 1 || len > 128)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
		if (!is_letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return true;
}

bool
hl_glob_match(const char *pattern, const char *name)
{
	const char *star = NULL, *resume = NULL;

	/* On a mismatch the last star takes one character more: never more than one star is open.
	 */
	while (*name != '\0') {
		if (*pattern == '*') {
			star = pattern++;
			resume = name;
		} else if (*pattern == '?' || *pattern == *name) {
			pattern++;
			name++;
		} else if (star != NULL) {
			pattern = star + 1;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

enum {
	WORD_MAX = 64
};

/* Levenshtein distance with one row; words longer than WORD_MAX are infinitely far. */
static size_t
distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);
			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b_len];
}

const char *
hl_nearest(const char *word, const char *const *candidates, size_t n)
{
	const char *nearest = NULL;
	/* A third of the word may be wrong, at least one letter: farther is guessing. */
	size_t limit = strlen(word) / 3 + 1;
	size_t best = limit + 1;

	for (size_t i = 0; i < n; i++) {
		size_t d = distance(word, candidates[i]);
		if (d < best) {
			best = d;
			nearest = candidates[i];
		}
	}
	return nearest;
}
