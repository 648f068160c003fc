/*
 * What a command can write as its shell's state: anything. Whatever is taken must merge, must be
 * small enough to be sent back, and must come out of another round as it is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "session/state.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sorted, each once: what lookups rely on. */
static void
check_pairs(const struct pairs *pairs)
{
	HL_BUG_ON(pairs->len > SESSION_NAMES_MAX);
	for (size_t i = 0; i + 1 < pairs->len; i++)
		HL_BUG_ON(strcmp(pairs->v[i].name, pairs->v[i + 1].name) >= 0);
}

static void
check_state(struct session_state *state, const struct pairs *base)
{
	const struct start next = { .kept = state->kept,
		.base = base,
		.cwd = state->kept->cwd,
		.has_options = true };
	struct hl_strv env;
	struct hl_buf text;
	struct hl_err err;

	check_pairs(&state->kept->variables);
	check_pairs(&state->kept->functions);
	check_pairs(&state->kept->aliases);
	HL_BUG_ON(!hl_path_is_normal(state->kept->cwd));
	for (size_t i = 0; i < state->kept->variables.len; i++) {
		const char *name = state->kept->variables.v[i].name;
		HL_BUG_ON(!hl_is_env_name(name, strlen(name)) || state_is_internal(name));
	}
	for (size_t i = 0; i < state->kept->functions.len; i++)
		HL_BUG_ON(state_is_own_function(state->kept->functions.v[i].name));
	HL_BUG_ON(state_environment(&next, &env, &err) != 0);
	hl_buf_init(&text, SESSION_STATE_MAX);
	HL_BUG_ON(state_text(&next, &text, &err) != 0);
	hl_buf_done(&text);
	hl_strv_done(&env);
}

static void
merge(const struct report *report)
{
	struct session_state *state;
	struct pairs base = { 0 };
	struct hl_err err;
	const struct pair first = { .name = (char[]){ "PATH" }, .value = (char[]){ "/bin" } };

	HL_BUG_ON(pairs_set(&base, &first) != 0 || session_state_new("/", &state, &err) != 0);
	for (int i = 0; i < 2; i++) {
		const struct start start = { .kept = kept_hold(state->kept),
			.base = &base,
			.cwd = state->kept->cwd,
			.has_options = true };
		if (state_merge(state, &start, report, &err) != 0)
			HL_BUG_ON(err.code != HLB_13);
		check_state(state, &base);
		kept_release(start.kept);
	}
	session_state_free(state);
	pairs_done(&base);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report report;
	struct hl_err err;

	if (report_parse((const char *)data, size, &report, &err) != 0) {
		HL_BUG_ON(err.code != HLB_13);
		return 0;
	}
	check_pairs(&report.variables);
	check_pairs(&report.functions);
	check_pairs(&report.aliases);
	merge(&report);
	report_done(&report);
	return 0;
}
