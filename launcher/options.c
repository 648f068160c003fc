/*
 * argv -> struct request, by the rows of options.def and verbs.def. Nothing is judged here: whether
 * a request may be had is for the policy to say.
 */
#include "launcher/options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/launcher.h"

#include "base/banned.h"

const struct option_row option_rows[] = {
#define OPTION(name, letter, argument, kind, member, verbs, help) \
 { name, letter, argument, OPTION_##kind, offsetof(struct request, member), verbs, help },
#include "launcher/options.def"
#undef OPTION
};

const size_t option_rows_len = HL_ARRAY_SIZE(option_rows);

const struct verb_row verb_rows[VERB_MAX] = {
#define VERB(symbol, words, function, operands, options, help) \
 [VERB_##symbol] = { words, function, operands, options, help },
#include "launcher/verbs.def"
#undef VERB
};

/* Where the parser stands. */
struct parse {
	int argc;
	char **argv;
	int at; /* the argument that is read */
	struct request *request;
	struct hl_err *err;
};

static bool
option_fits(const struct option_row *row, enum verb verb)
{
	return row->verbs[0] == '*' || (verb_rows[verb].options != 0 &&
					   strchr(row->verbs, verb_rows[verb].options) != NULL);
}

/* "--evn=NAME=VALUE", "--evn:VALUE": what was meant is not known, and a value is not told. */
static int
option_len(const char *text)
{
	static const char letters[] =
	    "-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	return (int)strnlen(text, strspn(text, letters) < 80 ? strspn(text, letters) : 80);
}

static int
name_len(const char *text)
{
	return (int)strnlen(text, strcspn(text, "=") < 80 ? strcspn(text, "=") : 80);
}

static int
unknown_option(struct parse *parse, const char *text)
{
	const char *names[HL_ARRAY_SIZE(option_rows)];
	char name[81];
	size_t n = 0;

	for (size_t i = 0; i < option_rows_len; i++)
		if (option_fits(&option_rows[i], parse->request->verb))
			names[n++] = option_rows[i].name;
	snprintf(name, sizeof(name), "%.*s", option_len(text), text);
	bool is_cut = text[strlen(name)] != '\0' && text[strlen(name)] != '=';
	hl_err_set(parse->err, HLU_01, "unknown option '%s%s' for '%s'", name, is_cut ? "..." : "",
	    verb_rows[parse->request->verb].words);
	const char *nearest = strncmp(name, "--", 2) == 0 ? hl_nearest(name + 2, names, n) : NULL;
	if (nearest != NULL)
		return hl_err_help(parse->err, "did you mean '--%s'?", nearest);
	return hl_err_help(parse->err, "see 'hermes-launch help %s'",
	    verb_rows[parse->request->verb].words);
}

static int
set_format(struct parse *parse, enum output_format *format, const char *value)
{
	static const struct {
		const char *name;
		enum verb only; /* VERB_MAX: of every verb that has formats */
	} formats[] = {
		[FORMAT_TEXT] = { "text", VERB_MAX },
		[FORMAT_JSON] = { "json", VERB_MAX },
		[FORMAT_ARGV] = { "argv", VERB_EXPLAIN },
		[FORMAT_GITHUB] = { "github", VERB_POLICY_CHECK },
		[FORMAT_TAP] = { "tap", VERB_POLICY_TEST },
		[FORMAT_JUNIT] = { "junit", VERB_POLICY_TEST },
	};

	for (unsigned i = 0; i < HL_ARRAY_SIZE(formats); i++) {
		if (strcmp(value, formats[i].name) != 0)
			continue;
		if (formats[i].only != VERB_MAX && formats[i].only != parse->request->verb)
			break;
		*format = (enum output_format)i;
		return 0;
	}
	return hl_err_set(parse->err, HLU_01, "'%.40s' is not a format of '%s'", value,
	    verb_rows[parse->request->verb].words);
}

static int
given_twice(struct parse *parse, const struct option_row *row)
{
	return hl_err_set(parse->err, HLU_01, "option '--%s' is given twice", row->name);
}

static int
store(struct parse *parse, const struct option_row *row, const char *value)
{
	void *member = (char *)parse->request + row->offset;
	struct request_item item = { .text = value, .argument = parse->at };

	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)member = true;
		return 0;
	case OPTION_FORMAT:
		return set_format(parse, member, value);
	case OPTION_STRING:
		if (*(const char **)member != NULL)
			return given_twice(parse, row);
		*(const char **)member = value;
		return 0;
	case OPTION_ITEM:
		if (((struct request_item *)member)->text != NULL)
			return given_twice(parse, row);
		*(struct request_item *)member = item;
		return 0;
	case OPTION_ITEMS: {
		struct request_items *items = member;
		if (items->len >= REQUEST_ITEMS_MAX)
			return hl_err_set(parse->err, HLU_01, "more than %d options '--%s'",
			    REQUEST_ITEMS_MAX, row->name);
		items->items[items->len++] = item;
		return 0;
	}
	}
	return hl_err_set(parse->err, HLI_02, "option '--%s' has no kind", row->name);
}

/* "--" ends the options and is no value: it would take the mark before the command away. */
static bool
has_value(const struct parse *parse)
{
	return parse->at + 1 < parse->argc && strcmp(parse->argv[parse->at + 1], "--") != 0;
}

/* --name, --name=value, --name value */
static int
long_option(struct parse *parse)
{
	const char *text = parse->argv[parse->at];
	const char *equals = strchr(text, '=');
	size_t len = equals != NULL ? (size_t)(equals - text) - 2 : strlen(text) - 2;

	for (size_t i = 0; i < option_rows_len; i++) {
		const struct option_row *row = &option_rows[i];
		if (strlen(row->name) != len || memcmp(row->name, text + 2, len) != 0 ||
		    !option_fits(row, parse->request->verb))
			continue;
		if (row->argument == NULL) {
			if (equals != NULL)
				return hl_err_set(parse->err, HLU_01,
				    "option '--%s' takes no value", row->name);
			return store(parse, row, NULL);
		}
		if (equals != NULL)
			return store(parse, row, equals + 1);
		return has_value(parse) ? store(parse, row, parse->argv[++parse->at])
					: hl_err_set(parse->err, HLU_01, "option '--%s' needs %s",
					      row->name, row->argument);
	}
	return unknown_option(parse, text);
}

/* -q, -p FILE, -pFILE: one letter each; flags may be joined (-qv). */
static int
short_options(struct parse *parse)
{
	const char *text = parse->argv[parse->at];

	for (const char *letter = text + 1; *letter != '\0'; letter++) {
		const struct option_row *row = NULL;
		for (size_t i = 0; i < option_rows_len && row == NULL; i++)
			if (option_rows[i].letter == *letter &&
			    option_fits(&option_rows[i], parse->request->verb))
				row = &option_rows[i];
		if (row == NULL)
			return unknown_option(parse, text);
		if (row->argument == NULL) {
			if (store(parse, row, NULL) != 0)
				return -1;
			continue;
		}
		if (letter[1] != '\0')
			return store(parse, row, letter + 1);
		return has_value(parse) ? store(parse, row, parse->argv[++parse->at])
					: hl_err_set(parse->err, HLU_01, "option '-%c' needs %s",
					      *letter, row->argument);
	}
	return 0;
}

/* "audit" alone is half a verb; its whole ones are named: "audit show or audit verify". */
static bool
half_verb(struct parse *parse, const char *text)
{
	struct hl_buf whole HL_AUTO(hl_buf_done_secret) = { 0 };
	size_t len = strlen(text);

	hl_buf_init(&whole, 256);
	for (size_t i = 0; i < VERB_MAX; i++) {
		const char *words = verb_rows[i].words;
		if (strncmp(words, text, len) == 0 && words[len] == ' ')
			hl_buf_putf(&whole, "%s%s", whole.len > 0 ? " or " : "", words);
	}
	if (whole.failed || whole.len == 0)
		return false;
	hl_err_set(parse->err, HLU_01, "'%.80s' is only half a verb", text);
	hl_err_help(parse->err, "it is %s", whole.data);
	parse->request->verb = VERB_HELP; /* and no run that failed: its exit status is another */
	return true;
}

static int
unknown_verb(struct parse *parse, const char *text)
{
	const char *names[VERB_MAX];

	if (half_verb(parse, text))
		return -1;
	for (size_t i = 0; i < VERB_MAX; i++)
		names[i] = verb_rows[i].words;
	hl_err_set(parse->err, HLU_01, "'%.*s' is not a verb", name_len(text), text);
	const char *nearest = hl_nearest(text, names, VERB_MAX);
	if (nearest != NULL)
		return hl_err_help(parse->err,
		    "did you mean '%s'? A command to run stands behind '--'", nearest);
	return hl_err_help(parse->err,
	    "a command to run stands behind '--'; see 'hermes-launch help'");
}

/* The verb is one word or two in front of everything; none means run. */
static int
read_verb(struct parse *parse)
{
	const char *first = parse->argc > 1 ? parse->argv[1] : NULL;
	const char *second = parse->argc > 2 ? parse->argv[2] : "";
	char both[64];

	parse->at = 1;
	if (first == NULL || strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
		parse->request->verb = VERB_HELP;
		parse->at = first == NULL ? 1 : 2;
		return 0;
	}
	if (strcmp(first, "--version") == 0) {
		parse->request->verb = VERB_VERSION;
		parse->at = 2;
		return 0;
	}
	if (first[0] == '-')
		return 0;
	snprintf(both, sizeof(both), "%s %s", first, second);
	for (unsigned i = 0; i < VERB_MAX; i++) {
		bool is_two = strchr(verb_rows[i].words, ' ') != NULL;
		if (strcmp(verb_rows[i].words, is_two ? both : first) != 0)
			continue;
		parse->request->verb = (enum verb)i;
		parse->at = is_two ? 3 : 2;
		return 0;
	}
	if ((strcmp(second, "--help") == 0 || strcmp(second, "-h") == 0) &&
	    half_verb(parse, first)) {
		parse->request->verb = VERB_HELP;
		parse->at = 1; /* "audit --help" is "help audit" */
		parse->argc = 2;
		return 0;
	}
	return unknown_verb(parse, second[0] != '\0' && second[0] != '-' ? both : first);
}

static int
stray(struct parse *parse, const char *text)
{
	size_t len = strlen(text);

	hl_err_set(parse->err, HLU_01, "'%.*s' stands where an option is expected", name_len(text),
	    text);
	for (size_t i = 0; i < VERB_MAX; i++)
		if (strncmp(verb_rows[i].words, text, len) == 0 &&
		    (verb_rows[i].words[len] == '\0' || verb_rows[i].words[len] == ' '))
			return hl_err_help(parse->err,
			    "a verb stands before all options, and '--' before a command");
	return hl_err_help(parse->err, "put '--' before the command");
}

/* A verb's operands may stand among its options. They are gathered in argv, over what has been
 * read. */
static int
read_options(struct parse *parse)
{
	bool takes_command =
	    parse->request->verb == VERB_RUN || parse->request->verb == VERB_EXPLAIN;
	char **operands = parse->argv + parse->at;
	size_t len = 0;

	for (; parse->at < parse->argc; parse->at++) {
		const char *text = parse->argv[parse->at];
		if (strcmp(text, "--") == 0) {
			parse->at++;
			break;
		}
		if (text[0] != '-' || text[1] == '\0') {
			if (takes_command)
				return stray(parse, text);
			operands[len++] = parse->argv[parse->at];
			continue;
		}
		if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
			parse->request->help_for = parse->request->verb;
			parse->request->verb = VERB_HELP;
			return 0;
		}
		if ((text[1] == '-' ? long_option(parse) : short_options(parse)) != 0)
			return -1;
	}
	for (; parse->at < parse->argc; parse->at++)
		operands[len++] = parse->argv[parse->at];
	operands[len] = NULL;
	parse->request->argv = operands;
	parse->request->argv_len = len;
	return 0;
}

/* $HERMES_LAUNCH_STATE, /var/lib/hermes-launch for root, XDG for others. */
static int
default_state_dir(struct request *request, struct hl_err *err)
{
	const char *variable = getenv("HERMES_LAUNCH_STATE");
	const char *xdg = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *dir = NULL;

	if (request->state_dir == NULL && variable != NULL && variable[0] != '\0')
		request->state_dir = variable;
	if (request->state_dir != NULL) {
		char here[4096];
		if (getcwd(here, sizeof(here)) == NULL)
			return hl_err_sys(err, HLU_02, "cannot tell the working directory");
		dir = hl_path_normalise(here, request->state_dir);
	} else if (geteuid() == 0) {
		dir = strdup("/var/lib/hermes-launch");
	} else if (xdg != NULL && xdg[0] == '/') {
		dir = hl_path_normalise(xdg, "hermes-launch");
	} else if (home != NULL && home[0] == '/') {
		dir = hl_path_normalise(home, ".local/state/hermes-launch");
	} else {
		hl_err_set(err, HLU_01, "there is no place for state: HOME is not set");
		return hl_err_help(err, "give --state-dir DIR");
	}
	if (dir == NULL)
		return hl_err_oom(err);
	request->state_dir = dir; /* lives as long as the process */
	return 0;
}

bool
request_starts(const struct request *request)
{
	return request->verb == VERB_RUN || request->verb == VERB_SESSION ||
	       request->verb == VERB_MCP || request->verb == VERB_SHELL;
}

/* What would have no effect, or not the one that was meant, is no option. */
static int
check_members(const struct request *request, struct hl_err *err)
{
	if (request->idle != NULL && request->name.text == NULL) {
		hl_err_set(err, HLU_01, "--idle is for named sessions");
		return hl_err_help(err, "add --name NAME, or drop --idle");
	}
	if (request->verb == VERB_DOCTOR && request->backend.text != NULL &&
	    request->policies.len == 0) {
		hl_err_set(err, HLU_01, "--backend says what a policy is to be tried on");
		return hl_err_help(err, "add --policy FILE, or drop --backend");
	}
	for (size_t i = 0; i < request->labels.len; i++) {
		const char *text = request->labels.items[i].text;
		if (strchr(text, '=') == NULL || text[0] == '=')
			return hl_err_set(err, HLU_01,
			    "--label '%.*s' is not of the form KEY=VALUE", name_len(text), text);
	}
	return 0;
}

int
options_parse(int argc, char **argv, struct request *ret_request, struct hl_err *err)
{
	struct parse parse = { .argc = argc, .argv = argv, .request = ret_request, .err = err };

	ret_request->verb = VERB_RUN;
	ret_request->help_for = VERB_MAX;
	if (read_verb(&parse) != 0 || read_options(&parse) != 0)
		return -1;
	if (verb_rows[ret_request->verb].options != 0 && default_state_dir(ret_request, err) != 0)
		return -1;
	if (verb_rows[ret_request->verb].operands[0] == '\0' && ret_request->argv_len > 0)
		return hl_err_set(err, HLU_01, "'%s' takes no '%.80s'",
		    verb_rows[ret_request->verb].words, ret_request->argv[0]);
	if (check_members(ret_request, err) != 0)
		return -1;
	if (ret_request->verb != VERB_RUN && ret_request->verb != VERB_EXPLAIN)
		return 0;
	if (ret_request->shell_text != NULL && ret_request->argv_len > 0)
		return hl_err_set(err, HLU_01, "both -c and a command are given");
	if (ret_request->shell_text == NULL && ret_request->argv_len == 0) {
		hl_err_set(err, HLU_01, "no command is given");
		return hl_err_help(err, "hermes-launch [OPTION...] -- PROG [ARG...]");
	}
	return 0;
}
