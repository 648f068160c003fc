/*
 * Which commands cannot change what is kept: what is plain at sight, and nothing that bash could
 * read otherwise.
 */
#include <sys/wait.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/state.h"

static const char *const plain[] = {
	"true",
	"ls",
	"  git status  ",
	"git -C /work/repo log --oneline -n 5",
	"make -j4 CC=gcc 2>&1 | tail -n 3",
	"cat <in.txt >out.txt 2>>err.txt",
	"./configure --prefix=/usr && make && make install || echo failed",
	"python3 -c 'import os; os.chdir(\"/\"); print(1)'",
	"grep -rn \"struct session\" src; wc -l *.c",
	"echo \"$HOME/x\" $PATH '$(cd /)' \"it's\"",
	"ls a?b [a-c]* ~/x",
	"date;",
	"date\n",
	"date ;\n who\n\nuptime\n",
	"sort <a |uniq>b",
	"cmd >&2",
	"cmd 3>&-",
	"/usr/bin/env cd /",
	"trueish",
	"git commit -m 'cd /; export A=1'",
	"echo 'one\ntwo'",
	"echo '\xe4\xb8\xad\xe6\x96\x87'",
	":",
	"pwd",
	"type ls",
};

static const char *const other[] = {
	"",
	" ",
	"cd /",
	"cd",
	"export A=1",
	"A=1",
	"A=1 make",
	"source x",
	". x",
	"eval ls",
	"exec ls",
	"exit 3",
	"set -e",
	"alias a=b",
	"f () { :; }",
	"unset PATH",
	"trap : EXIT",
	"printf -v x y",
	"read x",
	"builtin cd /",
	"command cd /",
	"ls; cd /",
	"ls && cd /",
	"ls || cd /",
	"ls | cd /",
	"ls\ncd /",
	"! ls",
	"time ls",
	"if ls",
	"{ ls; }",
	"(ls)",
	"[[ a ]]",
	"[ a ]",
	"test -e x",
	"test -v BASH_VERSINFO[N=N+1]",
	"ls &",
	"ls & cd /",
	"ls &> x",
	"ls |& cat",
	"ls ;; cd",
	"ls &&",
	"ls |",
	"ls ||\n",
	"| ls",
	"; ls",
	"c'd' /",
	"\"cd\" /",
	"c\\d /",
	"$CMD /",
	"~/bin/x",
	"c? /",
	"c[d] /",
	"2>x cd /",
	"2 >x",
	">x cd /",
	"<x",
	"ls \\\n; cd /",
	"echo ${x:=1}",
	"echo $((x = 1))",
	"echo $(ls)",
	"echo `ls`",
	"echo \"${x:=1}\"",
	"echo \"`ls`\"",
	"echo \"\\\"; cd /; echo \\\"\"",
	"echo $'a'",
	"echo $\"a\"",
	"echo $?",
	"echo \"$?\"",
	"echo 'open",
	"echo \"open",
	"echo a # ; '\ncd /",
	"cat <<E\ncd /\nE",
	"cat <<<x",
	"cat <(ls)",
	"ls >(cat)",
	"ls >|x",
	"ls <>x",
	"ls > ",
	"ls >\nx",
	"echo {a,b}",
	"ls {fd}>x",
	"echo a\rcd",
	"echo \xe4\xb8\xad",
	"coproc ls",
	"function f",
};

static struct pairs nothing;

static struct start
fresh(const struct session_state *state)
{
	return (struct start){ .kept = state->kept, .base = &nothing, .cwd = "/work" };
}

static void
test_words(void **state)
{
	struct session_state *kept;
	struct hl_err err;

	(void)state;
	assert_int_equal(session_state_new("/work", &kept, &err), 0);
	const struct start start = fresh(kept);
	for (size_t i = 0; i < HL_ARRAY_SIZE(plain); i++)
		if (!state_is_safe_from(&start, plain[i]))
			fail_msg("'%s' is not seen to be plain", plain[i]);
	for (size_t i = 0; i < HL_ARRAY_SIZE(other); i++)
		if (state_is_safe_from(&start, other[i]))
			fail_msg("'%s' is taken for plain", other[i]);
	session_state_free(kept);
}

/* A plain command with each character that begins something else put in each place. */
static void
test_one_more_character(void **state)
{
	static const char after[] = "`\\(){}!#";
	struct session_state *kept;
	struct hl_err err;
	char text[64];

	(void)state;
	assert_int_equal(session_state_new("/work", &kept, &err), 0);
	const struct start start = fresh(kept);
	const char *command = "git log a.c";
	for (size_t at = 0; at <= strlen(command); at++)
		for (const char *c = after; *c != '\0'; c++) {
			snprintf(text, sizeof(text), "%.*s%c%s", (int)at, command, *c,
			    command + at);
			if (state_is_safe_from(&start, text))
				fail_msg("'%s' is taken for plain", text);
		}
	session_state_free(kept);
}

/* What gives a word another meaning. */
static void
test_meanings(void **state)
{
	static const char *const names[] = { "BASH_FUNC_ls%%=() { cd /; }", "BASH_ENV=/x",
		"BASHOPTS=extglob", "POSIXLY_CORRECT=y", "POSIX_PEDANTIC=1", "SHELLOPTS=posix" };
	struct session_state *kept;
	struct hl_err err;
	char name[] = "ls", value[] = "cd /";
	const struct pair pair = { .name = name, .value = value };

	(void)state;
	assert_int_equal(session_state_new("/work", &kept, &err), 0);
	struct start start = fresh(kept);
	assert_true(state_is_safe_from(&start, "ls"));
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++) {
		struct pairs base = { 0 };
		struct hl_strv env;
		hl_strv_init(&env, 2);
		hl_strv_add(&env, names[i]);
		start.own_env = &env;
		assert_false(state_is_safe_from(&start, "ls"));
		start.own_env = NULL;
		assert_int_equal(pairs_from_env(&base, &env), 0);
		start.base = &base;
		assert_false(state_is_safe_from(&start, "ls"));
		start.base = &nothing;
		pairs_done(&base);
		hl_strv_done(&env);
	}
	struct pairs *const groups[] = { &kept->kept->functions, &kept->kept->aliases };
	for (size_t i = 0; i < HL_ARRAY_SIZE(groups); i++) {
		assert_int_equal(pairs_set(groups[i], &pair), 0);
		assert_false(state_is_safe_from(&start, "ls"));
		pairs_remove(groups[i], "ls");
	}
	kept->kept->options = strdup("errexit: ");
	assert_true(state_is_safe_from(&start, "ls"));
	start.has_options = true;
	assert_false(state_is_safe_from(&start, "ls"));
	session_state_free(kept);
}

/* Every builtin and reserved word of the bash that is installed is known, or is one of those that
 * leave everything as it is. */
static void
test_words_of_bash(void **state)
{
	static const char *const harmless[] = { ":", "echo", "false", "pwd", "true", "type" };
	struct session_state *kept;
	struct hl_err err;
	char text[4096] = "";
	int ends[2], status, words = 0;

	(void)state;
	assert_int_equal(session_state_new("/work", &kept, &err), 0);
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], 1);
		execlp("bash", "bash", "--norc", "-c", "compgen -bk", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	assert_true(hl_read_full(ends[0], text, sizeof(text) - 1) > 0);
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	const struct start start = fresh(kept);
	for (char *at = text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		bool is_harmless = false;
		*end = '\0';
		for (size_t i = 0; i < HL_ARRAY_SIZE(harmless); i++)
			is_harmless = is_harmless || strcmp(harmless[i], at) == 0;
		if (state_is_safe_from(&start, at) != is_harmless)
			fail_msg("'%s' of bash is not in the table", at);
		words++;
	}
	assert_true(words > 70);
	session_state_free(kept);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_one_more_character),
		cmocka_unit_test(test_meanings),
		cmocka_unit_test(test_words_of_bash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
