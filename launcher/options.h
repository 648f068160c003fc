/*
 * The rows of options.def and verbs.def as tables, for the parser, help and tests. Private to
 * launcher/.
 */
#ifndef HL_LAUNCHER_OPTIONS_H
#define HL_LAUNCHER_OPTIONS_H

#include "launcher/launcher.h"

enum option_kind {
	OPTION_ITEMS,
	OPTION_ITEM,
	OPTION_STRING,
	OPTION_FLAG,
	OPTION_FORMAT
};

struct option_row {
	const char *name;
	char letter;
	const char *argument; /* NULL: a flag */
	enum option_kind kind;
	size_t offset;
	const char *verbs;
	const char *help;
};

struct verb_row {
	const char *words;
	int (*function)(const struct request *request);
	const char *operands;
	char options; /* letter in option_row.verbs; 0: none but the common ones */
	const char *help;
};

extern const struct option_row option_rows[];
extern const size_t option_rows_len;
extern const struct verb_row verb_rows[VERB_MAX];

#endif
