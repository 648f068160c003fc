/*
 * What bash reads before a command, and the environment that it is started with.
 *
 * Variables travel in the environment, byte for byte. Everything else is the text of BASH_ENV: ours
 * first, then the user's functions (before aliases can be expanded in them), then aliases, then
 * shell options. It is builtins only: one external program would cost more than the whole call.
 *
 * Ours is an EXIT trap which writes the report that state_parse.c reads, and a function `trap` that
 * chains a user's own EXIT trap behind it. In a subshell bash's own `trap` is right as it is. What
 * a function cannot do quite as a builtin would, it is made to: a RETURN or DEBUG trap does not
 * fire for the function itself, and one that is taken back becomes `:`, because bash puts the old
 * one back when a function ends that was called without it. Tracing and DEBUG traps write to closed
 * descriptors while ours is at work. Known to differ: `set -v` shows the trap; in POSIX mode the
 * builtin comes before the function, and a user's EXIT trap then takes the place of ours.
 */
#include <string.h>

#include "session/state.h"

#include "base/banned.h"

/* clang-format off */
static const char prelude[] =
    "builtin eval \"exec ${BASH_ENV##*/}<&-\"\n"
    "builtin unset BASH_ENV\n"
    /* Most commands set no trap: what is only a string need not be parsed. */
    "__hl_code='__hl_trap () {\n"
    " if ((${BASH_SUBSHELL-0})) || [[ ${BASHPID-$$} != $$ ]]; then\n"
    "  case ${1--p} in\n"
    "  -p) if [[ ${__hl_sub-} ]]; then builtin trap \"$@\"; else __hl_traps \"$@\"; fi;;\n"
    "  *) __hl_sub=1; builtin trap \"$@\";;\n"
    "  esac\n"
    "  return\n"
    " fi\n"
    " [[ ${1-} != -- ]] || builtin shift\n"
    " case ${1--p} in -p) __hl_traps \"$@\"; return;; -?*) builtin trap \"$@\"; return;; esac\n"
    " builtin local \"__hl_a=$1\" __hl_s __hl_r=0\n"
    " if (($# > 1)); then builtin shift; else __hl_a=-; fi\n"
    " for __hl_s; do\n"
    "  case $__hl_s in\n"
    "  0|[Ee][Xx][Ii][Tt])\n"
    "   if [[ $__hl_a = - ]]; then builtin unset __hl_exit; else\n"
    "    __hl_exit=$__hl_a; builtin export -n __hl_exit; fi;;\n"
    "  [Ee][Rr][Rr])\n"
    "   if [[ $__hl_a = - ]]; then builtin trap : ERR; else builtin trap -- \"$__hl_a\" ERR; fi;;\n"
    "  [Dd][Ee][Bb][Uu][Gg]|[Rr][Ee][Tt][Uu][Rr][Nn])\n"
    "   case $__hl_a in\n"
    "   -|\"\") builtin trap : \"$__hl_s\";;\n"
    "   *) builtin trap -- \"case \\${FUNCNAME-} in trap|__hl_*) ;; *) $__hl_a\n"
    ";; esac\" \"$__hl_s\";;\n"
    "   esac;;\n"
    "  *) builtin trap -- \"$__hl_a\" \"$__hl_s\" || __hl_r=$?;;\n"
    "  esac\n"
    " done\n"
    " return $__hl_r\n"
    "}\n"
    "__hl_traps () {\n"
    " builtin local __hl_s __hl_r=0\n"
    " (($# == 0)) || builtin shift\n"
    " [[ ${1-} != -- ]] || builtin shift\n"
    " (($#)) || builtin set -- EXIT {1..64} DEBUG ERR RETURN\n"
    " for __hl_s; do\n"
    "  case $__hl_s in\n"
    "  0|[Ee][Xx][Ii][Tt])\n"
    "   [[ -z ${__hl_exit+x} ]] || builtin printf \"trap -- %q EXIT\\n\" \"$__hl_exit\";;\n"
    "  *) builtin trap -p \"$__hl_s\" || __hl_r=$?;;\n"
    "  esac\n"
    " done\n"
    " return $__hl_r\n"
    "}'\n"
    "trap () {\n"
    " { builtin local __hl_x=$-; builtin set +x; } 2>&-\n"
    " if [[ ${__hl_code-} ]]; then\n"
    "  if builtin shopt -q expand_aliases; then __hl_x=$__hl_x@; fi\n"
    "  builtin shopt -u expand_aliases\n"
    "  builtin eval \"$__hl_code\"\n"
    "  builtin unset __hl_code\n"
    "  [[ $__hl_x != *@ ]] || builtin shopt -s expand_aliases\n"
    " fi\n"
    " __hl_trap \"$@\"\n"
    " builtin set -- $?\n"
    " (($1 == 0)) || return $1\n"
    " [[ $__hl_x != *x* ]] || builtin set -x\n"
    "}\n"
    /* "$?", or 0 and a word: after the user's own trap. Descriptor 99 must still be a pipe: the user
     * may have opened a file there, which is not the place for an environment. Each builtin is a write
     * and each write wakes a reader, so there are few. */
    "__hl_save () {\n"
    " (($# == 1)) || [[ ${__hl_two-} ]] || return 0\n"
    " builtin local __hl_f=$- \"__hl_o=${SHELLOPTS-} ${BASHOPTS-}\"\n"
    " builtin set +aefuxT\n"
    " [[ $# -eq 1 && ${__hl_exit-} ]] || builtin unset -f trap __hl_trap __hl_traps __hl_save\n"
    " if [[ -p /proc/self/fd/99 ]]; then {\n"
    "  if [[ ${PWD-} = /* && $PWD -ef . ]]; then\n"
    "   builtin printf 'HLS2\\0%s\\n\\0' \"$PWD\"\n"
    "  else\n"
    "   builtin printf 'HLS2\\0'; builtin pwd; builtin printf '\\0'\n"
    "  fi\n"
    "  builtin export -p\n"
    "  builtin printf '\\0'\n"
    "  builtin declare -F\n"
    "  builtin printf '\\0'\n"
    "  builtin declare -f\n"
    "  builtin printf '\\0'\n"
    "  builtin alias -p\n"
    "  builtin printf '\\0%s\\0END\\0' \"$__hl_o\"\n"
    " } >&99; fi\n"
    " [[ $# -gt 1 || -z ${__hl_exit-} ]] || {\n"
    "  __hl_two=1\n"
    "  for __hl_o in a e f u x T; do\n"
    "   [[ $__hl_f != *$__hl_o* ]] || builtin set -$__hl_o\n"
    "  done\n"
    " }\n"
    " return $1\n"
    "}\n"
    "builtin trap 'if { __hl_save \"$?\"; } >&- 2>&-; then builtin eval \"${__hl_exit-}\"; "
    "else builtin eval \"${__hl_exit-}\"; fi; "
    "[[ -z ${__hl_two-} ]] || { __hl_save 0 x; } >&- 2>&-' EXIT\n";
/* clang-format on */

_Static_assert(RUNNER_STATE_FD == 99, "the text above writes to it");

/* Each in an eval of its own: one that bash cannot read again, for a name that only another version
 * takes, does not keep the others out. extglob: without it some patterns cannot be read. */
static void
put_functions(struct hl_buf *out, const struct pairs *functions)
{
	if (functions->len == 0)
		return;
	hl_buf_puts(out, "builtin shopt -s extglob\n{\n");
	for (size_t i = 0; i < functions->len; i++) {
		hl_buf_puts(out, "builtin eval ");
		hl_buf_shell_quoted(out, functions->v[i].value);
		hl_buf_putc(out, '\n');
		if (!functions->v[i].is_exported)
			continue;
		hl_buf_puts(out, "builtin export -f -- ");
		hl_buf_shell_quoted(out, functions->v[i].name);
		hl_buf_putc(out, '\n');
	}
	hl_buf_puts(out, "} 2>&-\nbuiltin shopt -u extglob\n");
}

static void
put_aliases(struct hl_buf *out, const struct pairs *aliases)
{
	struct hl_buf word;

	for (size_t i = 0; i < aliases->len; i++) {
		hl_buf_init(&word, SESSION_STATE_MAX);
		hl_buf_puts(&word, aliases->v[i].name);
		hl_buf_putc(&word, '=');
		hl_buf_puts(&word, aliases->v[i].value);
		hl_buf_puts(out, "builtin alias -- ");
		hl_buf_shell_quoted(out, word.data);
		hl_buf_putc(out, '\n');
		if (word.failed)
			out->failed = true;
		hl_buf_done_secret(&word);
	}
}

/* Options that would end the session's use, that only a start can set, or that are ours. */
static bool
is_settable(const char *name, size_t len)
{
	static const char *const not [] = { "expand_aliases", "extdebug", "login_shell", "noexec",
		"onecmd", "privileged", "restricted", "restricted_shell" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(not ); i++)
		if (strlen(not [i]) == len && memcmp(name, not [i], len) == 0)
			return false;
	return true;
}

/* Options that are on and not in the list are turned off, then those of the list on: how. */
static void
put_option_list(struct hl_buf *out, const char *list, size_t len, const char *variable,
    const char *how[2])
{
	hl_buf_putf(out, "IFS=:\nfor __hl_o in $%s; do case :", variable);
	hl_buf_put(out, list, len);
	hl_buf_putf(out, ":expand_aliases: in *:$__hl_o:*) ;; *) %s $__hl_o;; esac; done\n",
	    how[0]);
	hl_buf_puts(out, "IFS=$' \\t\\n'\nbuiltin unset __hl_o\n");
	for (const char *at = list, *end = list + len; at < end;) {
		size_t name = 0;
		while (at + name < end && at[name] != ':')
			name++;
		if (name > 0 && is_settable(at, name))
			hl_buf_putf(out, "%s %.*s\n", how[1], (int)name, at);
		at += name + 1;
	}
}

/* Behind the user's functions and aliases: what is set here may trace or end what follows. */
static void
put_options(struct hl_buf *out, const char *options)
{
	static const char *shopt[] = { "builtin shopt -u", "builtin shopt -s" };
	static const char *set[] = { "builtin set +o", "builtin set -o" };
	size_t len = strcspn(options, " ");

	if (options[len] == ' ' && options[len + 1] != '\0')
		put_option_list(out, options + len + 1, strlen(options + len + 1), "BASHOPTS",
		    shopt);
	hl_buf_puts(out, "{\n");
	put_option_list(out, options, len, "SHELLOPTS", set);
	hl_buf_puts(out, "} 2>&-\n");
}

/* The value with which a call begins; NULL = none. */
static const char *
value_of(const struct start *start, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; start->own_env != NULL && i < start->own_env->len; i++)
		if (strncmp(start->own_env->v[i], name, len) == 0 &&
		    start->own_env->v[i][len] == '=')
			return start->own_env->v[i] + len + 1;
	const struct pair *pair = pairs_find(&start->kept->variables, name);
	if (pair == NULL)
		pair = pairs_find(start->base, name);
	return pair != NULL ? pair->value : NULL;
}

int
state_text(const struct start *start, struct hl_buf *out, struct hl_err *err)
{
	const char *posix = value_of(start, "POSIXLY_CORRECT");

	hl_buf_put(out, prelude, sizeof(prelude) - 1);
	put_functions(out, &start->kept->functions);
	hl_buf_puts(out, "builtin shopt -s expand_aliases\n");
	put_aliases(out, &start->kept->aliases);
	if (start->has_options && start->kept->options != NULL)
		put_options(out, start->kept->options);
	if (posix != NULL) {
		hl_buf_puts(out, "builtin export POSIXLY_CORRECT=");
		hl_buf_shell_quoted(out, posix);
		hl_buf_putc(out, '\n');
	}
	if (out->failed)
		return hl_err_set(err, HLB_13,
		    "functions, aliases and options are more than %d bytes", SESSION_STATE_MAX);
	return 0;
}

/* In an environment these would keep bash from reading BASH_ENV, or act while it does: POSIX mode
 * is entered at the end of the text instead. */
static bool
is_withheld(const char *name)
{
	static const char *const names[] = { "BASHOPTS", "BASH_ENV", "OLDPWD", "POSIXLY_CORRECT",
		"PWD", "SHELLOPTS" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void
put_variable(struct hl_strv *env, const struct pair *pair)
{
	if (pair->value != NULL && !is_withheld(pair->name))
		hl_strv_addf(env, "%s=%s", pair->name, pair->value);
}

int
state_environment(const struct start *start, struct hl_strv *ret_env, struct hl_err *err)
{
	struct pairs own = { 0 };
	int status = start->own_env != NULL ? pairs_from_env(&own, start->own_env) : 0;

	hl_strv_init(ret_env, RUNNER_ENV_MAX);
	for (size_t i = 0; i < start->base->len; i++) {
		const char *name = start->base->v[i].name;
		if (pairs_find(&own, name) == NULL &&
		    pairs_find(&start->kept->variables, name) == NULL)
			put_variable(ret_env, &start->base->v[i]);
	}
	for (size_t i = 0; i < start->kept->variables.len; i++)
		if (pairs_find(&own, start->kept->variables.v[i].name) == NULL)
			put_variable(ret_env, &start->kept->variables.v[i]);
	for (size_t i = 0; i < own.len; i++)
		put_variable(ret_env, &own.v[i]);
	/* bash takes the name of its directory from here when it is one: symbolic links stay. */
	hl_strv_addf(ret_env, "PWD=%s", start->cwd);
	if (start->kept->oldpwd != NULL)
		hl_strv_addf(ret_env, "OLDPWD=%s", start->kept->oldpwd);
	pairs_done(&own);
	if (status != 0)
		return hl_err_oom(err);
	return hl_strv_check(ret_env, "the environment", err);
}
