/*
 * help, version, explain-code: answers made from the tables alone.
 */
#include <stdio.h>
#include <string.h>

#include "launcher/launcher.h"
#include "launcher/options.h"

#include "base/banned.h"

static void
overview(FILE *out)
{
	fputs("hermes-launch runs a command under a policy, confined, and records it.\n\n"
	      "usage: hermes-launch [run] [OPTION...] -- PROG [ARG...]\n"
	      "       hermes-launch VERB [OPTION...]\n\nverbs:\n",
	    out);
	for (size_t i = 0; i < VERB_MAX; i++)
		fprintf(out, "  %-14s %-18s %s\n", verb_rows[i].words, verb_rows[i].operands,
		    verb_rows[i].help);
	fputs(
	    "\n'hermes-launch help VERB' prints a verb's options. Exit status of run: the command's own;\n"
	    "128+n by signal n; 124 timed out; 130 cancelled; 126 not usable; 127 not found; 125 ours.\n",
	    out);
}

void
options_help(FILE *out, enum verb verb)
{
	if (verb == VERB_MAX) {
		overview(out);
		return;
	}
	const struct verb_row *row = &verb_rows[verb];
	fprintf(out, "usage: hermes-launch %s [OPTION...]%s%s\n\n%s\n\noptions:\n", row->words,
	    row->operands[0] != '\0' ? " " : "", row->operands, row->help);
	for (size_t i = 0; i < option_rows_len; i++) {
		const struct option_row *option = &option_rows[i];
		if (option->verbs[0] != '*' &&
		    (row->options == 0 || strchr(option->verbs, row->options) == NULL))
			continue;
		char name[64];
		snprintf(name, sizeof(name), "--%s%s%s", option->name,
		    option->argument != NULL ? " " : "",
		    option->argument != NULL ? option->argument : "");
		if (option->letter != 0)
			fprintf(out, "  -%c, %-24s %s\n", option->letter, name, option->help);
		else
			fprintf(out, "      %-24s %s\n", name, option->help);
	}
}

/* "policy", "policy check": the rows whose words begin so. */
static bool
help_on(const char *words)
{
	size_t len = strlen(words);
	bool found = false;

	for (unsigned i = 0; i < VERB_MAX; i++) {
		if (strncmp(verb_rows[i].words, words, len) != 0 ||
		    (verb_rows[i].words[len] != '\0' && verb_rows[i].words[len] != ' '))
			continue;
		if (found)
			putchar('\n');
		options_help(stdout, (enum verb)i);
		found = true;
	}
	return found;
}

int
verb_help(const struct request *request)
{
	char words[64];
	struct hl_err err;

	if (request->help_for != VERB_MAX || request->argv_len == 0) {
		options_help(stdout, request->help_for);
		return 0;
	}
	snprintf(words, sizeof(words), "%s%s%s", request->argv[0], request->argv_len > 1 ? " " : "",
	    request->argv_len > 1 ? request->argv[1] : "");
	if (help_on(words))
		return 0;
	hl_err_set(&err, HLU_01, "there is no verb '%.60s'", words);
	hl_err_help(&err, "see 'hermes-launch help'");
	report_error(&err);
	return hl_code_info(HLU_01)->exit_status;
}

int
verb_version(const struct request *request)
{
	(void)request;
	puts("hermes-launch " HL_VERSION);
	return 0;
}

int
verb_explain_code(const struct request *request)
{
	struct hl_err err;
	enum hl_code code = request->argv_len == 1 ? hl_code_from_id(request->argv[0]) : HL_OK;

	if (code == HL_OK) {
		if (request->argv_len == 1)
			hl_err_set(&err, HLU_01, "'%.40s' is not an error code", request->argv[0]);
		else
			hl_err_set(&err, HLU_01, "%s",
			    request->argv_len == 0 ? "no error code is given"
						   : "more than one error code is given");
		hl_err_help(&err,
		    "codes look like HLC-12 and stand in brackets at the end of a message");
		report_error(&err);
		return hl_code_info(HLU_01)->exit_status;
	}
	const struct hl_code_info *info = hl_code_info(code);
	printf("%s %s (exit status %d; 125 from run)\n\n%s\n", info->id, info->name,
	    info->exit_status, info->help);
	return 0;
}
