/*
 * Commands that cannot change what is kept. `git status` or `make -j4 2>&1 | tail` run programs and
 * nothing else: the shell that starts them ends with the variables, functions and directory that it
 * began with. For such a call bash reads no text of ours and reports nothing, which saves a quarter
 * of its time, and it may put its last program into its own place instead of forking for it.
 *
 * Only what is plain at sight is: words, quotes without anything to expand but $NAME, redirections,
 * and | && || ; between simple commands whose first word is no builtin, no reserved word and no
 * assignment, but for builtins that leave everything as it is. The grammar here is smaller than
 * bash's on purpose: what it does not know goes the long way, which is right for every command.
 * What could give a word another meaning goes that way too: functions, aliases, shell options and
 * POSIX mode.
 */
#include <string.h>

#include "session/state.h"

#include "base/banned.h"

/* `compgen -bk` of bash 5, but for those that have no effect: true, false, :, echo, pwd, type. test
 * is none of them: `test -v BASH_VERSINFO[N=5]` assigns. Sorted by strcmp(3). */
static const char *const shell_words[] = { "!", ".", "[", "[[", "]]", "alias", "bg", "bind",
	"break", "builtin", "caller", "case", "cd", "command", "compgen", "complete", "compopt",
	"continue", "coproc", "declare", "dirs", "disown", "do", "done", "elif", "else", "enable",
	"esac", "eval", "exec", "exit", "export", "fc", "fg", "fi", "for", "function", "getopts",
	"hash", "help", "history", "if", "in", "jobs", "kill", "let", "local", "logout", "mapfile",
	"popd", "printf", "pushd", "read", "readarray", "readonly", "return", "select", "set",
	"shift", "shopt", "source", "suspend", "test", "then", "time", "times", "trap", "typeset",
	"ulimit", "umask", "unalias", "unset", "until", "wait", "while", "{", "}" };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
static const char digits[] = "0123456789";
/* Of a command's first word; and what else a later one may have. */
static const char in_name[] = "+,-./:@";
static const char in_word[] = "%=?*[]^~";

static bool
is_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

static bool
is_name_char(char c)
{
	return is_one_of(c, letters) || is_one_of(c, digits) || is_one_of(c, in_name);
}

static bool
is_shell_word(const char *word, size_t len)
{
	size_t low = 0, high = HL_ARRAY_SIZE(shell_words);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strncmp(shell_words[middle], word, len);
		if (order == 0 && shell_words[middle][len] == '\0')
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static const char *
skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* $NAME; NULL for every other expansion. */
static const char *
skip_expansion(const char *at)
{
	if (!is_one_of(at[1], letters))
		return NULL;
	at += 2;
	while (is_one_of(*at, letters) || is_one_of(*at, digits))
		at++;
	return at;
}

static const char *
skip_double_quotes(const char *at)
{
	for (at++; at != NULL && *at != '"';) {
		if (*at == '\0' || *at == '`' || *at == '\\')
			return NULL;
		at = *at == '$' ? skip_expansion(at) : at + 1;
	}
	return at != NULL ? at + 1 : NULL;
}

static const char *
skip_single_quotes(const char *at)
{
	at = strchr(at + 1, '\'');
	return at != NULL ? at + 1 : NULL;
}

/* Behind the word at which at stands, NULL when there is none or it is not plain. */
static const char *
skip_word(const char *at)
{
	const char *begin = at;

	while (at != NULL) {
		if (is_name_char(*at) || is_one_of(*at, in_word))
			at++;
		else if (*at == '\'')
			at = skip_single_quotes(at);
		else if (*at == '"')
			at = skip_double_quotes(at);
		else if (*at == '$')
			at = skip_expansion(at);
		else
			break;
	}
	return at != begin ? at : NULL;
}

/* < > >> >& and what it names. A number before it is a word like any other to us. */
static const char *
skip_redirection(const char *at)
{
	if (at[0] == '>' && (at[1] == '>' || at[1] == '&'))
		at += 2;
	else
		at++;
	return skip_word(skip_blanks(at));
}

/* The program's name: letters as they are, and no number that could belong to a redirection. */
static const char *
skip_program(const char *at)
{
	const char *begin = at;

	while (is_name_char(*at))
		at++;
	const size_t len = (size_t)(at - begin);
	if (len == 0 || is_shell_word(begin, len) || strspn(begin, digits) == len)
		return NULL;
	return *at == '\0' || is_one_of(*at, " \t\n;|&<>") ? at : NULL;
}

static const char *
skip_simple_command(const char *at)
{
	at = skip_program(skip_blanks(at));
	while (at != NULL) {
		at = skip_blanks(at);
		if (*at == '\0' || is_one_of(*at, "\n;|&"))
			break;
		at = *at == '<' || *at == '>' ? skip_redirection(at) : skip_word(at);
	}
	return at;
}

/* To the next simple command; NULL for an operator that is not one of ours. */
static const char *
skip_operator(const char *at)
{
	if (at[0] == '&' || at[0] == '|') {
		bool is_double = at[1] == at[0];
		if (at[0] == '&' && !is_double)
			return NULL;
		at += is_double ? 2 : 1;
		return skip_blanks(at);
	}
	/* ; or the end of a line: nothing has to follow. */
	at = skip_blanks(at + 1);
	return at + strspn(at, " \t\n");
}

static bool
is_plain_text(const char *command)
{
	const char *at = command;

	do {
		at = skip_simple_command(at);
		if (at == NULL || *at == '\0')
			return at != NULL;
		bool may_end = *at == ';' || *at == '\n';
		at = skip_operator(at);
		if (may_end && at != NULL && *at == '\0')
			return true;
	} while (at != NULL);
	return false;
}

/* What bash takes from its environment and goes by when it reads a command: functions and BASH_ENV,
 * options, POSIX mode. */
static bool
is_in_the_way(const char *name, size_t len)
{
	static const char functions[] = "BASH_";
	static const char *const names[] = { "BASHOPTS", "POSIXLY_CORRECT", "POSIX_PEDANTIC",
		"SHELLOPTS" };

	if (strncmp(name, functions, sizeof(functions) - 1) == 0)
		return true;
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
			return true;
	return false;
}

static bool
has_in_the_way(const struct start *start)
{
	const struct pairs *const sets[] = { start->base, &start->kept->variables };

	for (size_t i = 0; i < HL_ARRAY_SIZE(sets); i++)
		for (size_t k = 0; k < sets[i]->len; k++)
			if (is_in_the_way(sets[i]->v[k].name, strlen(sets[i]->v[k].name)))
				return true;
	for (size_t i = 0; start->own_env != NULL && i < start->own_env->len; i++)
		if (is_in_the_way(start->own_env->v[i], strcspn(start->own_env->v[i], "=")))
			return true;
	return false;
}

bool
state_is_safe_from(const struct start *start, const char *command)
{
	const struct kept *kept = start->kept;

	return kept->functions.len == 0 && kept->aliases.len == 0 &&
	       (!start->has_options || kept->options == NULL) && !has_in_the_way(start) &&
	       is_plain_text(command);
}
