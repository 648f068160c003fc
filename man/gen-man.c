/*
 * Manual pages from the program's own tables: copies a template from standard input to standard
 * output and puts a table's rows in place of each line that is a marker (@OPTIONS@). Runs at build
 * time; a page so names every option, key and code, with the words that the program itself uses.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define WORDS(...) __VA_ARGS__

static const struct {
	const char *name;
	char letter;
	const char *argument, *verbs, *help;
} options[] = {
#define OPTION(name, letter, argument, kind, member, verbs, help) \
 { name, letter, argument, verbs, help },
#include "launcher/options.def"
#undef OPTION
};

static const struct {
	const char *words, *operands;
	char letter;
	const char *help;
} verbs[] = {
#define VERB(symbol, words, function, operands, letter, help) { words, operands, letter, help },
#include "launcher/verbs.def"
#undef VERB
};

#define POLICY_FIELD(symbol, key, kind, merge, text, min, max, words, ...) \
 static const char *const words_##symbol[] = { WORDS words };
#include "policy/fields.def"
#undef POLICY_FIELD

static const struct {
	const char *symbol, *key, *kind, *merge, *text;
	const char *const *words;
	bool is_lockable;
	const char *help;
} fields[] = {
#define POLICY_FIELD(symbol, key, kind, merge, text, min, max, words, lockable, private, since, \
    help)                                                                                       \
 { #symbol, key, #kind, #merge, text, words_##symbol, lockable, help },
#include "policy/fields.def"
#undef POLICY_FIELD
};

#define RECORD(field, member, key, type, many, rule, missing, words, help) \
 static const char *const words_##field##_##member[] = { WORDS words };
#include "policy/records.def"
#undef RECORD

static const struct {
	const char *field, *key, *many, *missing;
	const char *const *words;
	const char *help;
} members[] = {
#define RECORD(field, member, key, type, many, rule, missing, words, help) \
 { #field, key, #many, missing, words_##field##_##member, help },
#include "policy/records.def"
#undef RECORD
};

static const struct {
	const char *name, *local, *scrub, *docker, *podman, *note;
} controls[] = {
#define CONTROL(symbol, name, local, scrub, docker, podman, note) \
 { name, #local, #scrub, #docker, #podman, note },
#include "backends/controls.def"
#undef CONTROL
};

static const struct {
	const char *family, *number;
	int exit_status;
	const char *name, *help;
} codes[] = {
#define HL_CODE(family, number, exit_status, name, help) \
 { #family, #number, exit_status, name, help },
#include "base/codes.def"
#undef HL_CODE
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Text of a line that is no request: a backslash and a hyphen are characters of their own kind. */
static void
put_text(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text != '\0'; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
	}
}

/* A sentence a line, as mdoc(7) wants it. */
static void
put_sentences(const char *text)
{
	char line[1024];

	while (*text != '\0') {
		size_t len = 0;
		while (text[len] != '\0' && !(text[len] == ' ' && len > 0 && text[len - 1] == '.'))
			len++;
		snprintf(line, sizeof(line), "%.*s", (int)len, text);
		put_text(line);
		putchar('\n');
		text += len;
		text += *text == ' ';
	}
}

/* An argument of a request: quoted, for it may hold spaces or the name of a request. */
static void
put_quoted(const char *text)
{
	fputs(" \"", stdout);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			fputs("\"\"", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\\')
			fputs("\\e", stdout);
		else
			putchar(*text);
	}
	putchar('"');
}

static void
put_verbs(void)
{
	for (size_t i = 0; i < COUNT(verbs); i++) {
		fputs(".It Cm", stdout);
		put_quoted(verbs[i].words);
		if (verbs[i].operands[0] != '\0') {
			fputs(" Ar", stdout);
			put_quoted(verbs[i].operands);
		}
		putchar('\n');
		put_sentences(verbs[i].help);
	}
}

/* Which verbs take the option; "*" all. */
static void
put_takers(const char *letters)
{
	const char *before = "Of ";

	if (letters[0] == '*') {
		puts("Of every verb.");
		return;
	}
	for (size_t i = 0; i < COUNT(verbs); i++) {
		if (verbs[i].letter == 0 || strchr(letters, verbs[i].letter) == NULL)
			continue;
		fputs(before, stdout);
		put_text(verbs[i].words);
		before = ", ";
	}
	puts(".");
}

static void
put_options(void)
{
	for (size_t i = 0; i < COUNT(options); i++) {
		fputs(".It ", stdout);
		if (options[i].letter != 0)
			printf("Fl %c , ", options[i].letter);
		fputs("Fl \\-", stdout);
		put_text(options[i].name);
		if (options[i].argument != NULL) {
			fputs(" Ar", stdout);
			put_quoted(options[i].argument);
		}
		putchar('\n');
		put_sentences(options[i].help);
		put_takers(options[i].verbs);
	}
}

static const char *
meaning_of(const char *merge)
{
	static const char *const meanings[][2] = {
		{ "MIN", "the smallest bound of all layers" },
		{ "MAX", "the largest bound of all layers" },
		{ "ORD", "the strictest word of all layers" },
		{ "INTERSECT", "what every layer allows" },
		{ "UNION_DENY", "what any layer names" },
		{ "ONCE", "the first layer that says it; another value is an error" },
		{ "BY_DST", "by destination, the stricter of each" },
	};

	for (size_t i = 0; i < COUNT(meanings); i++)
		if (strcmp(meanings[i][0], merge) == 0)
			return meanings[i][1];
	return merge;
}

static const char *
put_backend(const char *before, const char *name, const char *enforcer)
{
	if (strcmp(enforcer, "NONE") == 0)
		return before;
	printf("%s%s", before, name);
	return ", ";
}

static void
put_backends(const char *key)
{
	for (size_t i = 0; i < COUNT(controls); i++) {
		if (strcmp(controls[i].name, key) != 0)
			continue;
		const char *before = "Applied on: ";
		before = put_backend(before, "local", controls[i].local);
		before = put_backend(before, "local with isolation scrub", controls[i].scrub);
		before = put_backend(before, "docker", controls[i].docker);
		put_backend(before, "podman", controls[i].podman);
		puts(".");
		if (controls[i].note[0] != '\0') {
			fputs("Elsewhere not: ", stdout);
			put_text(controls[i].note);
			puts(".");
		}
	}
}

static void
put_member(size_t i)
{
	printf(".It Ic %s\n", members[i].key);
	if (strcmp(members[i].many, "ONE") != 0)
		puts("A list.");
	put_sentences(members[i].help);
	if (members[i].words[0] != NULL) {
		puts("One of");
		for (size_t w = 0; members[i].words[w] != NULL; w++)
			printf(".Cm %s%s\n", members[i].words[w],
			    members[i].words[w + 1] != NULL ? " ," : " .");
	}
	size_t group = strcspn(members[i].key, ".");
	if (members[i].key[group] == '.') {
		printf("One key of %.*s is needed.\n", (int)group, members[i].key);
	} else if (members[i].missing[0] == '!') {
		puts("Needed.");
	} else if (members[i].missing[0] != '\0') {
		fputs("Default: ", stdout);
		put_text(members[i].missing);
		puts(".");
	}
}

/* Of a list or map of mappings. */
static void
put_members(const char *symbol)
{
	bool is_open = false;

	for (size_t i = 0; i < COUNT(members); i++) {
		if (strcmp(members[i].field, symbol) != 0)
			continue;
		if (!is_open)
			puts("Members of each:\n.Bl -tag -width Ds");
		is_open = true;
		put_member(i);
	}
	if (is_open)
		puts(".El");
}

static void
put_field(size_t i)
{
	printf(".It Ic %s\n", fields[i].key);
	put_sentences(fields[i].help);
	if (fields[i].words[0] != NULL) {
		puts(strcmp(fields[i].kind, "SET") == 0 ? "Members:"
							: "Words, the strictest first:");
		for (size_t w = 0; fields[i].words[w] != NULL; w++)
			printf(".Cm %s%s\n", fields[i].words[w],
			    fields[i].words[w + 1] != NULL ? " ," : " .");
	}
	if (fields[i].text[0] != '\0') {
		fputs("Default: ", stdout);
		put_text(fields[i].text);
		puts(".");
	}
	printf("Layers: %s.\n", meaning_of(fields[i].merge));
	put_backends(fields[i].key);
	put_members(fields[i].symbol);
	if (!fields[i].is_lockable)
		puts("Cannot be locked.");
}

/* Alphabetically: the least key that is greater than the last one. */
static void
put_keys(void)
{
	const char *last = "";

	for (size_t n = 0; n < COUNT(fields); n++) {
		size_t next = COUNT(fields);
		for (size_t i = 0; i < COUNT(fields); i++)
			if (strcmp(fields[i].key, last) > 0 &&
			    (next == COUNT(fields) || strcmp(fields[i].key, fields[next].key) < 0))
				next = i;
		put_field(next);
		last = fields[next].key;
	}
}

static void
put_codes(void)
{
	for (size_t i = 0; i < COUNT(codes); i++) {
		printf(".It Sy HL%s\\-%s Pq ", codes[i].family, codes[i].number);
		put_text(codes[i].name);
		printf(" ; status %d\n", codes[i].exit_status);
		put_sentences(codes[i].help);
	}
}

static const struct {
	const char *marker;
	void (*put)(void);
} markers[] = {
	{ "@VERBS@\n", put_verbs },
	{ "@OPTIONS@\n", put_options },
	{ "@KEYS@\n", put_keys },
	{ "@CODES@\n", put_codes },
};

int
main(void)
{
	char line[4096];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		size_t i = 0;
		while (i < COUNT(markers) && strcmp(line, markers[i].marker) != 0)
			i++;
		if (i < COUNT(markers))
			markers[i].put();
		else
			fputs(line, stdout);
	}
	return ferror(stdin) || fflush(stdout) != 0;
}
