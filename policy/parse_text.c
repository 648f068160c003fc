/*
 * Values given outside any file: fields.def's own defaults, and what a caller asks for. They go
 * through the same readers as a file's values, so that both have one grammar and one set of
 * messages.
 */
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

/* A reader without a file. Findings go to the caller's err. */
struct text_reader {
	struct policy_findings findings;
	struct diag diag;
	struct policy_reader reader;
	struct node node;
};

/* Of no file. Readers of values look only at its mode and names, and never write to it; it is
 * large, and a policy's defaults are some fifty texts. */
static struct policy_read no_layer;

static int
begin(struct text_reader *t, struct policy_arena *arena, const char *text, bool is_plain,
    struct hl_err *err)
{
	*t = (struct text_reader){ 0 };
	policy_findings_init(&t->findings);
	policy_diag_init(&t->diag, &t->findings, NULL);
	t->reader = (struct policy_reader){ .arena = arena, .diag = &t->diag, .layer = &no_layer };
	t->node = (struct node){
		.kind = NODE_SCALAR,
		.is_plain = is_plain,
		.text = text,
		.len = strlen(text),
	};
	if (!policy_text_check(text, t->node.len, (struct diag_at){ 0 }, &t->diag)) {
		if (t->findings.errors == 0)
			return hl_err_set(err, HLY_08, "the value is not valid UTF-8");
		return policy_findings_err(&t->findings, err);
	}
	return 0;
}

static int
end(struct text_reader *t, bool is_good, struct hl_err *err)
{
	int result = 0;

	if (t->reader.is_oom)
		result = hl_err_oom(err);
	else if (!is_good)
		result = policy_findings_err(&t->findings, err);
	return result;
}

int
policy_parse_number(enum policy_field field, const char *text, uint64_t *ret_number,
    struct hl_err *err)
{
	struct policy_arena arena = { 0 };
	struct text_reader t;
	/* A word needs no quotes where there is no YAML around it, nor do octal digits. */
	bool is_plain = policy_field_kind(field) != POLICY_KIND_ENUM &&
			policy_field_kind(field) != POLICY_KIND_BITS;
	int result = begin(&t, &arena, text, is_plain, err);

	if (result == 0)
		result = end(&t, policy_read_number(&t.reader, field, &t.node, ret_number), err);
	policy_findings_done(&t.findings);
	policy_arena_done(&arena);
	return result;
}

int
policy_parse_member(struct policy_arena *arena, enum policy_field field, const char *text,
    const char **ret_text, struct hl_err *err)
{
	struct policy_arena scratch = { 0 };
	struct text_reader t;
	const char *found = NULL;
	int result = begin(&t, &scratch, text, false, err);

	if (result == 0)
		result = end(&t, policy_read_member(&t.reader, field, &t.node, &found), err);
	policy_findings_done(&t.findings);
	policy_arena_done(&scratch);
	if (result != 0)
		return -1;
	*ret_text = policy_arena_dup(arena, found, strlen(found));
	return *ret_text != NULL ? 0 : hl_err_oom(err);
}

/* "/tmp:512MiB:exec:1777" */
int
policy_parse_tmpfs(struct policy_arena *arena, const char *text, struct policy_tmpfs *ret_tmpfs,
    struct hl_err *err)
{
	char *part[4];
	char *copy = policy_arena_dup(arena, text, strlen(text));
	struct policy_tmpfs tmpfs;

	if (copy == NULL)
		return hl_err_oom(err);
	for (size_t i = 0; i < HL_ARRAY_SIZE(part); i++) {
		part[i] = copy;
		char *colon = strchr(copy, ':');
		if ((colon == NULL) != (i + 1 == HL_ARRAY_SIZE(part)))
			return hl_err_set(err, HLP_07, "'%.100s' is not PATH:SIZE:exec:MODE", text);
		if (colon != NULL) {
			*colon = '\0';
			copy = colon + 1;
		}
	}
	tmpfs.dst = part[0];
	tmpfs.exec = strcmp(part[2], "exec") == 0;
	if (!hl_path_is_normal(part[0]) || (!tmpfs.exec && strcmp(part[2], "noexec") != 0))
		return hl_err_set(err, HLP_07, "'%.100s' is not PATH:SIZE:exec:MODE", text);
	if (hl_parse_size(part[1], &tmpfs.size, err) != 0 ||
	    hl_parse_mode(part[3], &tmpfs.mode, err) != 0)
		return -1;
	*ret_tmpfs = tmpfs;
	return 0;
}
