/*
 * Layers that others demand: to run, to compare, and whose they must be.
 */
#include "policy/state.h"
#include "stack.h"

#include "base/banned.h"

static struct policy *
load_fragment(const char *name, const char *body)
{
	char text[1024];
	struct policy *policy = NULL;
	struct policy_findings findings;
	struct hl_err err = { 0 };
	struct policy_load_request request = {
		.files = &name,
		.files_len = 1,
		.cwd = t.dir,
		.caller = getuid(),
		.is_fragment = true,
	};

	int len = snprintf(text, sizeof(text), OPEN "%s", body);
	stack_write(name, text, (size_t)len);
	if (policy_load(&request, &policy, &findings, &err) != 0)
		fail_msg("%s: %s", body, err.msg);
	policy_findings_done(&findings);
	return policy;
}

static enum policy_relation
relation(const char *old_body, const char *new_body, const char *what)
{
	static struct policy_differences differences;
	struct policy *old = load_fragment("old.yaml", old_body);
	struct policy *new = load_fragment("new.yaml", new_body);
	struct hl_err err = { 0 };
	enum policy_relation found = POLICY_RELATION_SAME;

	assert_int_equal(policy_compare(old, new, &differences, &err), 0);
	for (size_t i = 0; i < differences.len; i++) {
		assert_string_equal(differences.items[i].what, what);
		found = differences.items[i].relation;
		/* The demand that is gone, or new, is told with its place. */
		if (found == POLICY_RELATION_LOOSER)
			assert_int_equal(differences.items[i].old_origin.where.line,
			    strncmp(what, "req", 3) == 0 ? 4 : 5);
		if (found == POLICY_RELATION_TIGHTER)
			assert_non_null(strstr(differences.items[i].new_text, "acme/"));
	}
	policy_free(old);
	policy_free(new);
	return found;
}

static void
a_demand_less_is_looser(void **state)
{
	static const struct {
		const char *head, *what;
	} keys[] = {
		{ "requires", "requires" },
		{ "layer: host\nmandatory_layers", "mandatory_layers" },
	};
	char one[128], newer[128], other[128], both[128], none[128];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(keys); i++) {
		const char *head = keys[i].head, *what = keys[i].what;
		snprintf(one, sizeof(one), "%s: [{id: acme/base, revision: 7}]\n", head);
		snprintf(newer, sizeof(newer), "%s: [{id: acme/base, revision: 8}]\n", head);
		snprintf(other, sizeof(other), "%s: [{id: acme/other}]\n", head);
		snprintf(both, sizeof(both),
		    "%s: [{id: acme/other}, {id: acme/base, revision: 7}]\n", head);
		snprintf(none, sizeof(none), "%s: []\n", head);
		assert_int_equal(relation(one, one, what), POLICY_RELATION_SAME);
		assert_int_equal(relation(one, none, what), POLICY_RELATION_LOOSER);
		assert_int_equal(relation(none, one, what), POLICY_RELATION_TIGHTER);
		assert_int_equal(relation(one, newer, what), POLICY_RELATION_TIGHTER);
		assert_int_equal(relation(newer, one, what), POLICY_RELATION_LOOSER);
		assert_int_equal(relation(both, one, what), POLICY_RELATION_LOOSER);
		assert_int_equal(relation(one, both, what), POLICY_RELATION_TIGHTER);
		assert_int_equal(relation(one, other, what), POLICY_RELATION_MOVED);
	}
}

static void
to_run_it_must_be_there(void **state)
{
	static const char *const files[] = { "p.yaml" };
	static const char text[] = HEAD "requires: [{id: acme/base, revision: 7}]\n";
	struct policy_load_request request = {
		.files = files,
		.files_len = 1,
		.cwd = t.dir,
		.caller = getuid(),
	};

	(void)state;
	stack_write("p.yaml", text, strlen(text));
	assert_int_equal(stack_load_request(&request), -1);
	expect_code("HLP-24");
	request.is_fragment = true;
	assert_int_equal(stack_load_request(&request), 0);
	/* Only that is passed over. */
	static const char broken[] = HEAD "requires: [{id: acme/base}]\nlimits: {pids: 0}\n";
	stack_write("p.yaml", broken, strlen(broken));
	assert_int_equal(stack_load_request(&request), -1);
	expect_code("HLP-12");
}

static void
own_file(const char *name, uid_t uid)
{
	char path[256];

	stack_path(path, sizeof(path), name);
	assert_int_equal(chown(path, uid, (gid_t)-1), 0);
}

/* An id is only what a file says of itself. */
static void
what_root_demands_must_be_roots(void **state)
{
	enum {
		SOMEBODY = 12345
	};
	static const char need[] = "version: 1\nid: host/need\nlayer: host\n"
				   "mandatory_layers: [{id: acme/base, revision: 3}]\n";
	static const char base[] =
	    "version: 1\nid: acme/base\nrevision: 9\nlevel: open@1\nlimits: {pids: 100}\n";
	static const char *const files[] = { "mine.yaml", "theirs.yaml" };
	char dir[256];
	struct policy_load_request request = {
		.files = files,
		.files_len = 1,
		.cwd = t.dir,
		.caller = SOMEBODY,
		.host_dir = dir,
	};

	(void)state;
	if (getuid() != 0) {
		print_message("# SKIP only root can give a file to somebody else\n");
		skip();
	}
	stack_path(dir, sizeof(dir), "policy.d");
	assert_int_equal(mkdir(dir, 0755), 0);
	stack_write("policy.d/need.yaml", need, strlen(need));
	stack_write("mine.yaml", base, strlen(base));
	stack_write("theirs.yaml", base, strlen(base));
	assert_int_equal(stack_load_request(&request), 0);
	own_file("mine.yaml", SOMEBODY);
	assert_int_equal(stack_load_request(&request), -1);
	expect_code("HLP-24");
	assert_non_null(strstr(stack_text(), "not root's"));
	/* Beside root's own it is one more layer, which may only tighten. */
	request.files_len = 2;
	assert_int_equal(stack_load_request(&request), 0);
	/* What somebody demands for themselves may be theirs. */
	own_file("theirs.yaml", SOMEBODY);
	own_file("policy.d/need.yaml", SOMEBODY);
	assert_int_equal(stack_load_request(&request), 0);
	char path[256];
	stack_path(path, sizeof(path), "policy.d/need.yaml");
	unlink(path);
	rmdir(dir);
}

/* By requires as by mandatory_layers. */
static void
what_roots_file_requires_must_be_roots(void **state)
{
	enum {
		SOMEBODY = 12345
	};
	static const char need[] = HEAD "requires: [{id: acme/base, revision: 3}]\n";
	static const char base[] = "version: 1\nid: acme/base\nrevision: 9\nlevel: open@1\n";
	static const char *const files[] = { "base.yaml", "need.yaml" };
	struct policy_load_request request = {
		.files = files,
		.files_len = 2,
		.cwd = t.dir,
		.caller = SOMEBODY,
	};

	(void)state;
	if (getuid() != 0) {
		print_message("# SKIP only root can give a file to somebody else\n");
		skip();
	}
	stack_write("base.yaml", base, strlen(base));
	stack_write("need.yaml", need, strlen(need));
	assert_int_equal(stack_load_request(&request), 0);
	own_file("base.yaml", SOMEBODY);
	assert_int_equal(stack_load_request(&request), -1);
	expect_code("HLP-24");
	assert_non_null(strstr(stack_text(), "not root's"));
	own_file("need.yaml", SOMEBODY);
	assert_int_equal(stack_load_request(&request), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_demand_less_is_looser),
		cmocka_unit_test(to_run_it_must_be_there),
		cmocka_unit_test(what_root_demands_must_be_roots),
		cmocka_unit_test(what_roots_file_requires_must_be_roots),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
