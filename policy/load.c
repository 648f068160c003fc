/*
 * policy_load(): every file of the stack is read and checked, all findings are collected, and only
 * a stack without an error is folded and settled.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/file.h"
#include "policy/signatures.h"
#include "policy/state.h"

#include "base/banned.h"

/* One file or level while its text is still needed for messages. */
struct loaded {
	struct hl_buf bytes;
	struct policy_source source;
	struct node *root;
	struct policy_read *read;
	const char *finding_name; /* owned by the findings */
};

struct stack {
	struct policy *policy;
	struct policy_findings *findings;
	bool is_fragment, is_draft;
	int (*check_call)(const char *name, struct hl_err *err);
	size_t len;
	struct loaded files[POLICY_LAYERS_MAX]; /* at the end: of most no page is ever met */
};

static const char default_level[] = "restricted@1";

static void
loaded_done(struct loaded *loaded)
{
	policy_source_done(&loaded->source);
	/* It may hold what env.set sets. */
	hl_buf_done_secret(&loaded->bytes);
}

static void
stack_free(struct stack *stack)
{
	if (stack == NULL)
		return;
	for (size_t i = 0; i < stack->len; i++)
		loaded_done(&stack->files[i]);
	policy_free(stack->policy);
	free(stack);
}

/* The text that loaded->source points to, into loaded->read. */
static int
read_text(struct stack *stack, struct loaded *loaded, struct policy_findings *findings,
    struct hl_err *err)
{
	struct diag diag;
	bool is_text;
	struct policy_reader reader = {
		.arena = &stack->policy->arena,
		.diag = &diag,
		.layer = loaded->read,
		.check_call = stack->check_call,
	};
	int result;

	policy_diag_init(&diag, findings, loaded->finding_name);
	if (!stack->is_draft)
		hl_sha256_text(loaded->source.bytes, loaded->source.len, loaded->read->row.sha256);
	if (policy_source_init(&loaded->source, &diag, &is_text, err) != 0)
		return -1;
	result = is_text ? policy_yaml_load(&loaded->source, &stack->policy->arena, &diag,
			       &loaded->root, err)
			 : 0;
	/* Of a file that broke off in the middle nothing more can be said. */
	if (result == 0 && loaded->root != NULL && loaded->root->end_line > 0)
		result = policy_schema_read(&reader, loaded->root, err);
	else if (result == 0 && is_text && findings->len == diag.first)
		policy_diag_error(&diag, HLP_01, (struct diag_at){ 1, 1, 0 },
		    "the policy is empty");
	if (result == 0) {
		policy_check_file(loaded->read, &diag);
		result = policy_contradictions_in_file(stack->policy, loaded->read, &diag, err);
	}
	policy_diag_seal(&diag, &loaded->source, loaded->root);
	return result;
}

static struct policy_read *
new_read(struct stack *stack, const char *name)
{
	struct policy_arena *arena = &stack->policy->arena;
	struct policy_read *read = policy_arena_alloc(arena, sizeof(*read));

	if (read != NULL)
		read->name = policy_arena_dup(arena, name, strlen(name));
	return read != NULL && read->name != NULL ? read : NULL;
}

/* A file that cannot be read is a finding like any other, so that the rest is still checked. */
static void
report_unreadable(struct policy_findings *findings, const char *name, const struct hl_err *cause)
{
	struct diag diag;

	policy_diag_init(&diag, findings, name);
	policy_diag_error(&diag, cause->code, (struct diag_at){ 0 }, "%s", cause->msg);
	if (cause->help[0] != '\0')
		policy_diag_help(&diag, "%s", cause->help);
}

/* The next place of the stack, named and empty. */
static struct loaded *
next_loaded(struct stack *stack, const char *name, bool is_host)
{
	struct loaded *loaded = &stack->files[stack->len++];

	*loaded = (struct loaded){ .read = new_read(stack, name) };
	hl_buf_init(&loaded->bytes, POLICY_FILE_MAX);
	loaded->finding_name = policy_findings_name(stack->findings, name);
	if (loaded->read == NULL || loaded->finding_name == NULL)
		return NULL;
	loaded->read->rank = is_host ? -1 : 3;
	loaded->read->row.layer = is_host ? "host" : "task";
	loaded->read->is_host_file = is_host;
	return loaded;
}

static int
read_bytes(struct stack *stack, struct loaded *loaded, const char *path, struct hl_err *err)
{
	loaded->read->row.file = policy_arena_dup(&stack->policy->arena, path, strlen(path));
	if (loaded->read->row.file == NULL)
		return hl_err_oom(err);
	loaded->source.name = loaded->read->name;
	loaded->source.bytes = loaded->bytes.len > 0 ? loaded->bytes.data : "";
	loaded->source.len = loaded->bytes.len;
	return read_text(stack, loaded, stack->findings, err);
}

static int
load_file(struct stack *stack, const struct policy_file_list *list, size_t i, uid_t caller,
    struct hl_err *err)
{
	struct loaded *loaded = next_loaded(stack, list->names.v[i], i < list->host_len);
	struct policy_file file = { 0 };
	struct hl_err cause = { 0 };

	if (loaded == NULL)
		return hl_err_oom(err);
	if (policy_file_read(list->paths.v[i], caller, &loaded->bytes, &file, &cause) != 0) {
		report_unreadable(stack->findings, loaded->finding_name, &cause);
		return cause.code == HLI_01 ? hl_err_oom(err) : 0;
	}
	HL_AUTO_FREE char *path = file.path;
	loaded->read->is_roots = file.is_roots;
	return read_bytes(stack, loaded, path, err);
}

/* Levels are ours: a finding in one is a fault of the program. */
static int
load_level(struct stack *stack, const char *name, struct policy_read **ret_read, struct hl_err *err)
{
	const char *text = policy_level_text(name);
	struct policy_findings findings;
	struct loaded loaded = { .read = new_read(stack, name) };
	int result;

	if (loaded.read == NULL)
		return hl_err_oom(err);
	HL_BUG_ON(text == NULL);
	policy_findings_init(&findings);
	loaded.finding_name = name;
	loaded.read->is_level = true;
	loaded.read->row.layer = "level";
	loaded.read->row.id = loaded.read->name;
	loaded.source = (struct policy_source){
		.name = loaded.read->name,
		.bytes = text,
		.len = strlen(text),
	};
	result = read_text(stack, &loaded, &findings, err);
	if (result == 0 && findings.errors > 0) {
		policy_findings_err(&findings, err);
		result = hl_err_wrap(err, "level %s", name);
	}
	policy_findings_done(&findings);
	loaded_done(&loaded);
	*ret_read = loaded.read;
	return result;
}

static bool
has_level(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->layers_len; i++) {
		if (policy->layers[i]->is_level && strcmp(policy->layers[i]->name, name) == 0)
			return true;
	}
	return false;
}

/* A level has no place of its own: what is told of it is told where it is named. */
static void
tell_of_level(const struct policy_findings *findings, struct diag_at at, struct diag *diag)
{
	for (size_t i = 0; i < findings->len; i++) {
		const struct policy_finding *finding = &findings->items[i];
		policy_diag_warn(diag, finding->code, at, "%s",
		    finding->message != NULL ? finding->message : "out of memory");
		policy_diag_other(diag, finding->other,
		    finding->other_text != NULL ? finding->other_text : "");
		if (finding->help != NULL)
			policy_diag_help(diag, "%s", finding->help);
	}
}

/* A level that is in the stack already adds no bound, and its defaults must not undo later ones.
 * by: the file that names it, with its diag, or NULL. */
static int
fold_level(struct stack *stack, const char *name, const struct policy_read *by,
    struct diag *by_diag, struct hl_err *err)
{
	struct policy_read *read = NULL;
	struct diag diag;
	struct policy_findings findings;
	int result;

	if (has_level(stack->policy, name))
		return 0;
	if (load_level(stack, name, &read, err) != 0)
		return -1;
	policy_findings_init(&findings);
	policy_diag_init(&diag, &findings, name);
	result = policy_fold_layer(stack->policy, read, &diag, err);
	if (by != NULL)
		tell_of_level(&findings, by->level_at, by_diag);
	policy_findings_done(&findings);
	return result;
}

static int
fold_files(struct stack *stack, struct hl_err *err)
{
	bool has_any_level = false;

	for (size_t i = 0; i < stack->len; i++)
		has_any_level = has_any_level || stack->files[i].read->level != NULL;
	if (!has_any_level && fold_level(stack, default_level, NULL, NULL, err) != 0)
		return -1;
	for (size_t i = 0; i < stack->len; i++) {
		struct loaded *loaded = &stack->files[i];
		struct diag diag;
		policy_diag_init(&diag, stack->findings, loaded->finding_name);
		if (loaded->read->level != NULL &&
		    fold_level(stack, loaded->read->level, loaded->read, &diag, err) != 0)
			return -1;
		if (policy_fold_layer(stack->policy, loaded->read, &diag, err) != 0)
			return -1;
		policy_diag_seal(&diag, &loaded->source, loaded->root);
	}
	return 0;
}

static int
settle(struct stack *stack, struct hl_err *err)
{
	struct policy *policy = stack->policy;
	struct policy_contradictions found;

	if (policy_contradictions_find(policy, &found, err) != 0 || policy_settle(policy, err) != 0)
		return -1;
	for (size_t i = 0; i < stack->len; i++) {
		struct loaded *loaded = &stack->files[i];
		struct diag diag;
		policy_diag_init(&diag, stack->findings, loaded->finding_name);
		policy_contradictions_tell(&found, loaded->read, &diag);
		policy_check_settled(policy, &diag, loaded->read);
		if (!stack->is_fragment)
			policy_check_layers(policy, &diag, loaded->read);
		policy_diag_seal(&diag, &loaded->source, loaded->root);
	}
	/* The strictest comes last. */
	for (size_t i = 0; policy_level_name(i) != NULL; i++) {
		if (has_level(policy, policy_level_name(i)))
			policy->level = policy_level_name(i);
	}
	return 0;
}

/* Host, org, team, task; files of one layer stay in the order they were named. */
static void
sort_files(struct stack *stack)
{
	for (size_t i = 1; i < stack->len; i++) {
		struct loaded moved = stack->files[i];
		size_t j = i;
		for (; j > 0 && stack->files[j - 1].read->rank > moved.read->rank; j--)
			stack->files[j] = stack->files[j - 1];
		stack->files[j] = moved;
	}
}

/* The digests were made of the bytes that were parsed: nothing is read again. */
static int
check_signatures(struct stack *stack, const struct policy_load_request *request, struct hl_err *err)
{
	struct signed_files files = { .len = stack->len };

	if (stack->findings->errors > 0)
		return policy_findings_err(stack->findings, err);
	for (size_t i = 0; i < stack->len; i++)
		files.v[i] =
		    (struct signed_file){ stack->files[i].read, stack->files[i].finding_name };
	if (policy_signatures_check(request, stack->policy, &files, stack->findings, err) != 0)
		return -1;
	return stack->findings->errors > 0 ? policy_findings_err(stack->findings, err) : 0;
}

/* From files that are read to the settled policy. */
static int
finish_stack(struct stack *stack, struct hl_err *err)
{
	if (stack->findings->errors > 0)
		return policy_findings_err(stack->findings, err);
	sort_files(stack);
	/* What layers say against each other is told beside what one of them may not say. */
	if (fold_files(stack, err) != 0 || settle(stack, err) != 0)
		return -1;
	return stack->findings->errors > 0 ? policy_findings_err(stack->findings, err) : 0;
}

static int
load_stack(struct stack *stack, const struct policy_load_request *request, struct hl_err *err)
{
	struct policy_file_list list = { 0 };
	int result = 0;

	stack->is_fragment = request->is_fragment;
	stack->is_draft = request->is_draft;
	stack->check_call = request->check_call;
	if (policy_file_list_find(request, &list, err) != 0)
		return -1;
	for (size_t i = 0; result == 0 && i < list.paths.len; i++)
		result = load_file(stack, &list, i, request->caller, err);
	policy_file_list_done(&list);
	if (result != 0 || check_signatures(stack, request, err) != 0)
		return -1;
	return finish_stack(stack, err);
}

static struct stack *
stack_new(struct policy_findings *findings)
{
	struct stack *stack = calloc(1, sizeof(*stack));

	if (stack == NULL)
		return NULL;
	stack->findings = findings;
	stack->policy = calloc(1, sizeof(*stack->policy));
	if (stack->policy == NULL) {
		stack_free(stack);
		return NULL;
	}
	return stack;
}

int
policy_load(const struct policy_load_request *request, struct policy **ret_policy,
    struct policy_findings *findings, struct hl_err *err)
{
	struct stack *stack;
	int result;

	policy_findings_init(findings);
	stack = stack_new(findings);
	if (stack == NULL)
		return hl_err_oom(err);
	result = load_stack(stack, request, err);
	if (result == 0)
		*ret_policy = HL_TAKE_PTR(stack->policy);
	stack_free(stack);
	return result;
}

/* The file's row, and no field: of one file of a stack that is all there is to know. */
static int
load_alone(struct stack *stack, const struct policy_load_request *request, struct hl_err *err)
{
	const struct policy_load_request one = { .files = request->files,
		.files_len = 1,
		.cwd = request->cwd,
		.caller = request->caller,
		.home = request->home };
	struct policy_file_list list = { 0 };

	if (policy_file_list_find(&one, &list, err) != 0)
		return -1;
	if (request->host_dir != NULL && hl_path_is_beneath(list.paths.v[0], request->host_dir))
		list.host_len = 1;
	int result = load_file(stack, &list, 0, request->caller, err);
	policy_file_list_done(&list);
	if (result != 0 || check_signatures(stack, request, err) != 0)
		return -1;
	stack->policy->layers[stack->policy->layers_len++] = stack->files[0].read;
	return 0;
}

int
policy_load_file(const struct policy_load_request *request, struct policy **ret_policy,
    struct policy_findings *findings, struct hl_err *err)
{
	struct stack *stack;

	policy_findings_init(findings);
	stack = stack_new(findings);
	if (stack == NULL)
		return hl_err_oom(err);
	int result = load_alone(stack, request, err);
	if (result == 0)
		*ret_policy = HL_TAKE_PTR(stack->policy);
	stack_free(stack);
	return result;
}

static int
load_texts(struct stack *stack, const struct policy_text *texts, size_t n, struct hl_err *err)
{
	int result = 0;

	HL_BUG_ON(n > POLICY_LAYERS_MAX);
	for (size_t i = 0; result == 0 && i < n; i++) {
		struct loaded *loaded = next_loaded(stack, texts[i].name, false);
		if (loaded == NULL)
			return hl_err_oom(err);
		hl_buf_put(&loaded->bytes, texts[i].bytes, texts[i].len);
		result = hl_buf_check(&loaded->bytes, texts[i].name, err);
		if (result == 0)
			result = read_bytes(stack, loaded, texts[i].name, err);
	}
	return result == 0 ? finish_stack(stack, err) : -1;
}

int
policy_load_texts(const struct policy_text *texts, size_t n, struct policy **ret_policy,
    struct policy_findings *findings, struct hl_err *err)
{
	struct stack *stack;
	int result;

	policy_findings_init(findings);
	stack = stack_new(findings);
	if (stack == NULL)
		return hl_err_oom(err);
	result = load_texts(stack, texts, n, err);
	if (result == 0)
		*ret_policy = HL_TAKE_PTR(stack->policy);
	stack_free(stack);
	return result;
}

int
policy_load_text(const char *name, const struct hl_buf *bytes, struct policy **ret_policy,
    struct policy_findings *findings, struct hl_err *err)
{
	const struct policy_text text = { name, bytes->data, bytes->len };

	return policy_load_texts(&text, 1, ret_policy, findings, err);
}
