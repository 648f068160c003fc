/*
 * Files of tests: which stack they are about, and what each expects of it. The same reader as for
 * policies, with the same rules for what YAML may be.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/file.h"
#include "policy/state.h"

#include "base/banned.h"

enum {
	TESTS_MAX = 1000,
};

static const char suffix[] = ".test.yaml";

struct policy_tests {
	struct policy_arena arena;
	const char **files;
	size_t files_len;
	struct policy_test *tests;
	size_t len;
};

static const char *const keys[] = { "version", "policy", "tests" };

static void
read_files(struct policy_reader *r, const struct node *node, struct policy_tests *tests)
{
	if (!policy_expect(r, "policy", node, NODE_LIST))
		return;
	tests->files = policy_arena_array(r->arena, node->children, sizeof(*tests->files));
	if (tests->files == NULL) {
		r->is_oom = true;
		return;
	}
	for (const struct node *child = node->first; child != NULL; child = child->next) {
		if (policy_read_string(r, "policy", child, &tests->files[tests->files_len]))
			tests->files_len++;
	}
	if (node->children == 0 || node->children > POLICY_LAYERS_MAX)
		policy_diag_error(r->diag, HLP_07, policy_at(node), "a stack is 1 to %d policies",
		    POLICY_LAYERS_MAX);
}

static void
read_test(struct policy_reader *r, const struct node *node, struct policy_test *test)
{
	const struct node *name = node->kind == NODE_MAP ? policy_node_find(node, "name") : NULL;
	size_t errors = r->diag->out->errors;

	if (!policy_expect(r, "a test", node, NODE_MAP))
		return;
	test->where = (struct hl_where){ r->layer->name, node->line, node->column };
	test->name = "";
	if (name == NULL)
		policy_diag_error(r->diag, HLP_03, policy_at(node), "the test has no name");
	else if (policy_expect_scalar(r, "name", name))
		test->name = name->text;
	policy_read_expectations(r, node, false, &test->expectations);
	/* A test that expects nothing cannot fail; what is broken in it has been told. */
	if (test->expectations.len == 0 && r->diag->out->errors == errors && !r->is_oom)
		policy_diag_error(r->diag, HLP_03, policy_at(node), "the test expects nothing");
}

static void
read_tests(struct policy_reader *r, const struct node *node, struct policy_tests *tests)
{
	if (!policy_expect(r, "tests", node, NODE_LIST) ||
	    !policy_check_count(r, "tests", node, TESTS_MAX))
		return;
	tests->tests = policy_arena_array(r->arena, node->children, sizeof(*tests->tests));
	if (tests->tests == NULL) {
		r->is_oom = true;
		return;
	}
	for (const struct node *child = node->first; child != NULL; child = child->next)
		read_test(r, child, &tests->tests[tests->len++]);
}

/* x.test.yaml is about x.yaml, unless it says something else. */
static void
default_file(struct policy_reader *r, struct policy_tests *tests)
{
	const char *name = r->layer->name;
	const char *slash = strrchr(name, '/');
	const char *base = slash != NULL ? slash + 1 : name;
	size_t len = strlen(base), n = sizeof(suffix) - 1;

	if (len <= n || strcmp(base + len - n, suffix) != 0) {
		policy_diag_error(r->diag, HLP_03, (struct diag_at){ 1, 1, 0 },
		    "the key \"policy\" is missing");
		policy_diag_help(r->diag, "name the policies that are tested, or call the file "
					  "NAME.test.yaml where it is about NAME.yaml");
		return;
	}
	char *file = policy_arena_alloc(r->arena, len);
	tests->files = policy_arena_alloc(r->arena, sizeof(*tests->files));
	if (file == NULL || tests->files == NULL) {
		r->is_oom = true;
		return;
	}
	memcpy(file, base, len - n);
	memcpy(file + len - n, ".yaml", sizeof(".yaml"));
	tests->files[tests->files_len++] = file;
}

static void
read_key(struct policy_reader *r, const struct node *node, struct policy_tests *tests)
{
	const struct policy_range one = { 1, 1 };
	uint64_t version;

	if (policy_node_is(node->key, "version"))
		(void)policy_read_u64(r, "version", node, one, &version);
	else if (policy_node_is(node->key, "policy"))
		read_files(r, node, tests);
	else if (policy_node_is(node->key, "tests"))
		read_tests(r, node, tests);
	else
		policy_unknown_key(r, node->key, "", keys, HL_ARRAY_SIZE(keys));
}

static void
read_root(struct policy_reader *r, const struct node *root, struct policy_tests *tests)
{
	if (!policy_expect(r, "a file of tests", root, NODE_MAP))
		return;
	if (root->first == NULL || !policy_node_is(root->first->key, "version"))
		policy_diag_error(r->diag, HLP_01, policy_at(root),
		    "the first key of a file of tests must be version");
	for (const struct node *child = root->first; child != NULL; child = child->next) {
		if (child->key->kind == NODE_SCALAR)
			read_key(r, child, tests);
	}
	if (policy_node_find(root, "policy") == NULL)
		default_file(r, tests);
	if (policy_node_find(root, "tests") == NULL)
		policy_diag_error(r->diag, HLP_03, policy_at(root), "the key \"tests\" is missing");
}

static int
read_source(struct policy_source *source, struct policy_tests *tests,
    struct policy_findings *findings, struct hl_err *err)
{
	struct diag diag;
	struct node *root = NULL;
	bool is_text;
	/* Large, and of it readers look at the name and the mode only. */
	struct policy_read *layer = policy_arena_alloc(&tests->arena, sizeof(*layer));
	struct policy_reader reader = { .arena = &tests->arena, .diag = &diag, .layer = layer };
	const char *name = policy_findings_name(findings, source->name);

	if (layer == NULL || name == NULL)
		return hl_err_oom(err);
	layer->name = policy_arena_dup(&tests->arena, source->name, strlen(source->name));
	if (layer->name == NULL)
		return hl_err_oom(err);
	policy_diag_init(&diag, findings, name);
	if (policy_source_init(source, &diag, &is_text, err) != 0)
		return -1;
	if (is_text && policy_yaml_load(source, &tests->arena, &diag, &root, err) != 0)
		return -1;
	if (root != NULL && root->end_line > 0)
		read_root(&reader, root, tests);
	else if (findings->errors == 0)
		policy_diag_error(&diag, HLP_01, (struct diag_at){ 1, 1, 0 },
		    "the file of tests is empty");
	policy_diag_seal(&diag, source, root);
	return reader.is_oom ? hl_err_oom(err) : 0;
}

int
policy_tests_load(const struct policy_load_request *request, struct policy_tests **ret_tests,
    struct policy_findings *findings, struct hl_err *err)
{
	struct hl_buf bytes HL_AUTO(hl_buf_done_secret) = { 0 };
	HL_AUTO_FREE char *path = hl_path_normalise(request->cwd, request->files[0]);
	struct policy_file file = { 0 };
	struct policy_tests *tests = calloc(1, sizeof(*tests));
	int result = -1;

	policy_findings_init(findings);
	hl_buf_init(&bytes, POLICY_FILE_MAX);
	if (path == NULL || tests == NULL) {
		policy_tests_free(tests);
		return hl_err_oom(err);
	}
	if (policy_file_read(path, request->caller, &bytes, &file, err) == 0) {
		free(file.path);
		struct policy_source source = {
			.name = request->files[0],
			.bytes = bytes.len > 0 ? bytes.data : "",
			.len = bytes.len,
		};
		result = read_source(&source, tests, findings, err);
		policy_source_done(&source);
	}
	if (result == 0 && findings->errors > 0)
		result = policy_findings_err(findings, err);
	if (result != 0) {
		policy_tests_free(tests);
		return -1;
	}
	*ret_tests = tests;
	return 0;
}

void
policy_tests_free(struct policy_tests *tests)
{
	if (tests == NULL)
		return;
	policy_arena_done(&tests->arena);
	free(tests);
}

size_t
policy_tests_len(const struct policy_tests *tests)
{
	return tests->len;
}

const struct policy_test *
policy_tests_at(const struct policy_tests *tests, size_t i)
{
	HL_BUG_ON(i >= tests->len);
	return &tests->tests[i];
}

const char *const *
policy_tests_files(const struct policy_tests *tests, size_t *ret_len)
{
	*ret_len = tests->files_len;
	return tests->files;
}
