/*
 * Protected variable names (secrets.def). This is the second net: a sandbox's environment starts
 * empty and takes only what a policy lists; these names do not pass even then.
 */
#include <string.h>

#include "base/base.h"
#include "policy/policy.h"

#include "base/banned.h"

struct protected_name {
	char name[44];
	enum policy_name_class class;
};

static const struct protected_name names[] = {
#define PROTECTED_NAME(name, class) { name, POLICY_NAME_##class },
#define PROTECTED_PATTERN(name, class)
#include "policy/secrets.def"
#undef PROTECTED_NAME
#undef PROTECTED_PATTERN
};

#define PROTECTED_NAME(text, class)    HL_FITS(text, names[0].name);
#define PROTECTED_PATTERN(text, class) HL_FITS(text, names[0].name);
#include "policy/secrets.def"
#undef PROTECTED_NAME
#undef PROTECTED_PATTERN

static const struct protected_name patterns[] = {
#define PROTECTED_NAME(name, class)
#define PROTECTED_PATTERN(name, class) { name, POLICY_NAME_##class },
#include "policy/secrets.def"
#undef PROTECTED_NAME
#undef PROTECTED_PATTERN
};

enum {
	NAME_MAX_LEN = 256
};

static char
upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

static const struct protected_name *
find(const char *folded)
{
	size_t low = 0, high = HL_ARRAY_SIZE(names);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(folded, names[middle].name);
		if (order == 0)
			return &names[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

enum policy_name_class
policy_name_class(const char *name, size_t len)
{
	char folded[NAME_MAX_LEN + 1];

	/* What is no name of a variable, too long or with a NUL inside, must not slip past by that;
	 * only its beginning can be compared, so a pattern decides. */
	if (len > NAME_MAX_LEN)
		len = NAME_MAX_LEN;
	for (size_t i = 0; i < len; i++)
		folded[i] = name[i] == '\0' ? '%' : upper(name[i]);
	folded[len] = '\0';
	const struct protected_name *found = find(folded);
	if (found != NULL)
		return found->class;
	for (size_t i = 0; i < HL_ARRAY_SIZE(patterns); i++) {
		if (hl_glob_match(patterns[i].name, folded))
			return patterns[i].class;
	}
	return POLICY_NAME_PLAIN;
}
