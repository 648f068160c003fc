/*
 * Which files are read, and which are not believed.
 */
#include <sys/capability.h>

#include <errno.h>

#include "stack.h"

#include "base/banned.h"

static const char *const only[] = { "p.yaml" };

static void
expect_unsafe(const char *id)
{
	assert_int_equal(stack_load_files(only, 1), -1);
	expect_code(id);
}

static void
chmod_in(const char *name, mode_t mode)
{
	char path[256];

	stack_path(path, sizeof(path), name);
	assert_int_equal(chmod(path, mode), 0);
}

static void
u49_only_the_owner_may_be_able_to_write(void **state)
{
	(void)state;
	expect_good(HEAD);
	chmod_in("p.yaml", 0620);
	expect_unsafe("HLP-06");
	chmod_in("p.yaml", 0602);
	expect_unsafe("HLP-06");
	chmod_in("p.yaml", 0644);
	assert_int_equal(stack_load_files(only, 1), 0);
	/* The directory as well: who can write there can put another file in its place. */
	chmod_in(".", 0770);
	expect_unsafe("HLP-06");
	chmod_in(".", 0707);
	expect_unsafe("HLP-06");
	chmod_in(".", 01777);
	assert_int_equal(stack_load_files(only, 1), 0);
	chmod_in(".", 0700);
}

static void
u49_another_users_file_is_refused(void **state)
{
	struct policy_load_request request = {
		.files = only,
		.files_len = 1,
		.cwd = t.dir,
		.caller = getuid() + 1,
	};

	(void)state;
	expect_good(HEAD);
	if (getuid() == 0) {
		char path[256];
		stack_path(path, sizeof(path), "p.yaml");
		assert_int_equal(chown(path, 12345, 12345), 0);
		expect_unsafe("HLP-06");
		assert_int_equal(chown(path, 0, 0), 0);
		assert_int_equal(stack_load_files(only, 1), 0);
		return;
	}
	/* Ours, when somebody else asks. */
	assert_int_equal(stack_load_request(&request), -1);
	expect_code("HLP-06");
}

static void
a_link_is_not_followed(void **state)
{
	char path[256], target[256];

	(void)state;
	expect_good(HEAD);
	stack_path(path, sizeof(path), "link.yaml");
	stack_path(target, sizeof(target), "p.yaml");
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(stack_load_files((const char *const[]){ "link.yaml" }, 1), -1);
	expect_code("HLP-06");
	assert_int_equal(stack_load_files((const char *const[]){ "/proc/self/fd/0" }, 1), -1);
	unlink(path);
}

static void
only_regular_files(void **state)
{
	char path[256];

	(void)state;
	stack_path(path, sizeof(path), "fifo.yaml");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(stack_load_files((const char *const[]){ "fifo.yaml" }, 1), -1);
	expect_code("HLP-06");
	unlink(path);
	assert_int_equal(stack_load_files((const char *const[]){ "." }, 1), -1);
	expect_code("HLP-06");
}

/* With or without the rights that let root read everything. */
static void
set_reads_all(bool on)
{
	static const cap_value_t rights[] = { CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH };
	cap_t caps = cap_get_proc();

	assert_non_null(caps);
	if (getuid() == 0) {
		assert_int_equal(cap_set_flag(caps, CAP_EFFECTIVE, 2, rights,
				     on ? CAP_SET : CAP_CLEAR),
		    0);
		assert_int_equal(cap_set_proc(caps), 0);
	}
	cap_free(caps);
}

/* U04: rules that cannot be read are never the same as no rules */
static void
u04_missing_unreadable_truncated_or_a_directory(void **state)
{
	(void)state;
	assert_int_equal(stack_load_files((const char *const[]){ "absent.yaml" }, 1), -1);
	expect_code("HLU-02");
	assert_int_equal(hl_code_info(t.err.code)->exit_status, 66);
	expect_error(HEAD "limits: {pids: 4", "HLY-01");
	assert_int_equal(stack_load_files((const char *const[]){ "/etc" }, 1), -1);
	expect_code("HLP-06");
	expect_good(HEAD);
	chmod_in("p.yaml", 0);
	set_reads_all(false);
	expect_unsafe("HLU-02");
	set_reads_all(true);
	chmod_in("p.yaml", 0600);
	assert_int_equal(stack_load_files(only, 1), 0);
	/* One good file does not make up for a bad one. */
	assert_int_equal(stack_load_files((const char *const[]){ "p.yaml", "absent.yaml" }, 2), -1);
	expect_code("HLU-02");
}

static int
load_from(const char *sub, const char *home, const char *host, const char *name)
{
	char cwd[256];
	const char *files[] = { name };
	struct policy_load_request request = {
		.files = files,
		.files_len = name != NULL,
		.cwd = cwd,
		.caller = getuid(),
		.home = home,
		.host_dir = host,
	};

	stack_path(cwd, sizeof(cwd), sub);
	return stack_load_request(&request);
}

static void
make_dir(const char *name)
{
	char path[256];

	stack_path(path, sizeof(path), name);
	assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
}

static void
remove_dir(const char *name)
{
	char path[256];

	stack_path(path, sizeof(path), name);
	rmdir(path);
}

static void
remove_file(const char *name)
{
	char path[256];

	stack_path(path, sizeof(path), name);
	unlink(path);
}

static void
the_local_policy_is_looked_for_upward(void **state)
{
	(void)state;
	make_dir("a");
	make_dir("a/b");
	assert_int_equal(load_from("a/b", NULL, NULL, NULL), -1);
	assert_int_equal(t.err.code, HLU_03);
	assert_int_equal(hl_code_info(t.err.code)->exit_status, 66);
	make_dir(".hermes");
	stack_write(".hermes/policy.yaml", HEAD, strlen(HEAD));
	assert_int_equal(load_from("a/b", NULL, NULL, NULL), 0);
	assert_non_null(strstr(policy_layer_at(t.policy, 1)->file, "/.hermes/policy.yaml"));
	/* A nearer one is read too, also when it is bad. */
	make_dir("a/.hermes");
	stack_write("a/.hermes/policy.yaml", "version: 9\n", 11);
	assert_int_equal(load_from("a/b", NULL, NULL, NULL), -1);
	assert_int_equal(t.err.code, HLP_02);
	/* It comes after the outer one and opens nothing: a command may have written it. */
	static const char outer[] = HEAD "limits: {pids: 10}\n";
	static const char inner[] =
	    "version: 1\nid: acme/inner\nlevel: open@1\nlimits: {pids: 99, files: 20}\n";
	stack_write(".hermes/policy.yaml", outer, strlen(outer));
	stack_write("a/.hermes/policy.yaml", inner, strlen(inner));
	assert_int_equal(load_from("a/b", NULL, NULL, NULL), 0);
	assert_string_equal(policy_layer_at(t.policy, policy_layers_len(t.policy) - 1)->id,
	    "acme/inner");
	assert_int_equal(policy_get(t.policy, POLICY_LIMITS_PIDS)->number, 10);
	assert_int_equal(policy_get(t.policy, POLICY_LIMITS_FILES)->number, 20);
	/* An empty .hermes above: what is below may be a command's (HLC-74); what is in it is not.
	 */
	remove_file(".hermes/policy.yaml");
	assert_int_equal(load_from("a/b", NULL, NULL, NULL), -1);
	assert_int_equal(t.err.code, HLC_74);
	stack_write(".hermes/other", "x", 1);
	assert_int_equal(load_from("a/b", NULL, NULL, NULL), 0);
	remove_file(".hermes/other");
	remove_file("a/.hermes/policy.yaml");
	assert_int_equal(load_from("a/b", NULL, NULL, NULL), -1);
	assert_int_equal(t.err.code, HLU_03);
	remove_dir("a/.hermes");
	remove_dir(".hermes");
	remove_dir("a/b");
	remove_dir("a");
}

/* What cannot be known is no answer: neither "no mark" above a policy, nor "no policy" here. */
static void
a_place_that_cannot_be_read_is_not_taken_for_empty(void **state)
{
	char path[256];

	(void)state;
	make_dir("a");
	make_dir("a/.hermes");
	stack_write("a/.hermes/policy.yaml", HEAD, strlen(HEAD));
	make_dir(".hermes");
	stack_write(".hermes/other", "x", 1);
	set_reads_all(false);
	/* The sibling: it can be read and holds something; then it is not there at all. */
	assert_int_equal(load_from("a", NULL, NULL, NULL), 0);
	chmod_in(".hermes", 0);
	assert_int_equal(load_from("a", NULL, NULL, NULL), -1);
	assert_int_equal(t.err.code, HLC_74);
	chmod_in(".hermes", 0700);
	remove_file(".hermes/other");
	remove_dir(".hermes");
	assert_int_equal(load_from("a", NULL, NULL, NULL), 0);
	stack_write(".hermes", "x", 1);
	assert_int_equal(load_from("a", NULL, NULL, NULL), 0);
	remove_file(".hermes");
	stack_path(path, sizeof(path), ".hermes");
	assert_int_equal(symlink(".hermes", path), 0);
	assert_int_equal(load_from("a", NULL, NULL, NULL), -1);
	assert_int_equal(t.err.code, HLC_74);
	remove_file(".hermes");
	/* The nearest, which would tighten, is not left out of the stack. */
	make_dir(".hermes");
	stack_write(".hermes/policy.yaml", HEAD, strlen(HEAD));
	assert_int_equal(load_from("a", NULL, NULL, NULL), 0);
	chmod_in("a/.hermes", 0);
	assert_int_equal(load_from("a", NULL, NULL, NULL), -1);
	expect_code("HLU-02");
	chmod_in("a/.hermes", 0700);
	/* Nor one further up, though its directory can be listed and so is no mark. */
	assert_int_equal(load_from("a", NULL, NULL, NULL), 0);
	chmod_in(".hermes", 0444);
	assert_int_equal(load_from("a", NULL, NULL, NULL), -1);
	expect_code("HLU-02");
	chmod_in("a/.hermes", 0444);
	assert_int_equal(load_from("a", NULL, NULL, NULL), -1);
	expect_code("HLU-02");
	chmod_in(".hermes", 0700);
	assert_int_equal(load_from("a", NULL, NULL, NULL), -1);
	expect_code("HLU-02");
	chmod_in("a/.hermes", 0700);
	assert_int_equal(load_from("a", NULL, NULL, NULL), 0);
	set_reads_all(true);
	remove_file("a/.hermes/policy.yaml");
	remove_dir("a/.hermes");
	remove_dir("a");
	remove_file(".hermes/policy.yaml");
	remove_dir(".hermes");
}

static void
an_id_is_looked_up_at_home(void **state)
{
	static const char found[] = "version: 1\nid: acme/found\n";

	(void)state;
	make_dir(".config");
	make_dir(".config/hermes-launch");
	make_dir(".config/hermes-launch/policies");
	make_dir(".config/hermes-launch/policies/acme");
	stack_write(".config/hermes-launch/policies/acme/found.yaml", found, strlen(found));
	assert_int_equal(load_from(".", t.dir, NULL, "acme/found"), 0);
	assert_string_equal(policy_layer_at(t.policy, 1)->id, "acme/found");
	assert_int_equal(load_from(".", t.dir, NULL, "acme/lost"), -1);
	assert_int_equal(t.err.code, HLU_02);
	assert_int_equal(load_from(".", NULL, NULL, "acme/found"), -1);
	/* The working directory may be somebody else's: an id is an id first. */
	make_dir("acme");
	stack_write("acme/found", "version: 9\n", 11);
	assert_int_equal(load_from(".", t.dir, NULL, "acme/found"), 0);
	assert_int_equal(load_from(".", t.dir, NULL, "./acme/found"), -1);
	assert_int_equal(t.err.code, HLP_02);
	assert_int_equal(load_from(".", t.dir, NULL, ""), -1);
	/* Also where nobody can say whether there is one. */
	stack_write("acme/found", HEAD, strlen(HEAD));
	set_reads_all(false);
	chmod_in(".config/hermes-launch/policies/acme", 0444);
	assert_int_equal(load_from(".", t.dir, NULL, "acme/found"), -1);
	assert_int_equal(t.err.code, HLU_02);
	chmod_in(".config/hermes-launch/policies/acme", 0700);
	set_reads_all(true);
	remove_file("acme/found");
	remove_dir("acme");
	remove_file(".config/hermes-launch/policies/acme/found.yaml");
	remove_dir(".config/hermes-launch/policies/acme");
	remove_dir(".config/hermes-launch/policies");
	remove_dir(".config/hermes-launch");
	remove_dir(".config");
}

static void
the_host_layer_is_always_there(void **state)
{
	static const char host[] = "version: 1\nid: host/base\nlimits: {pids: 10}\n";
	static const char need[] = "version: 1\nid: host/need\n"
				   "mandatory_layers: [{id: acme/team, revision: 3}]\n";
	char dir[256];

	(void)state;
	make_dir("policy.d");
	stack_path(dir, sizeof(dir), "policy.d");
	stack_write("policy.d/10-base.yaml", host, strlen(host));
	stack_write("policy.d/readme.txt", "no policy", 9);
	stack_write("p.yaml", HEAD "limits: {pids: 50}\n", strlen(HEAD) + 19);
	assert_int_equal(load_from(".", NULL, dir, "p.yaml"), 0);
	assert_int_equal(value_of(POLICY_LIMITS_PIDS)->number, 10);
	assert_string_equal(value_of(POLICY_LIMITS_PIDS)->origin.layer, "host");
	expect_code("HLP-21");
	assert_int_equal(load_from(".", NULL, dir, NULL), -1);
	assert_int_equal(t.err.code, HLU_03);
	stack_write("policy.d/20-need.yaml", need, strlen(need));
	assert_int_equal(load_from(".", NULL, dir, "p.yaml"), -1);
	expect_code("HLP-24");
	stack_write("p.yaml", HEAD "revision: 3\n", strlen(HEAD) + 12);
	assert_int_equal(load_from(".", NULL, dir, "p.yaml"), 0);
	/* It is of the host layer whatever it says of itself. */
	stack_write("policy.d/20-need.yaml", "version: 1\nid: a\nlayer: task\n", 29);
	assert_int_equal(load_from(".", NULL, dir, "p.yaml"), -1);
	expect_code("HLP-09");
	chmod_in("policy.d/10-base.yaml", 0666);
	assert_int_equal(load_from(".", NULL, dir, "p.yaml"), -1);
	expect_code("HLP-06");
	remove_file("policy.d/10-base.yaml");
	remove_file("policy.d/20-need.yaml");
	remove_file("policy.d/readme.txt");
	remove_dir("policy.d");
	/* No directory, no host layer; one that cannot be read is an error. */
	assert_int_equal(load_from(".", NULL, dir, "p.yaml"), 0);
	stack_path(dir, sizeof(dir), "p.yaml");
	assert_int_equal(load_from(".", NULL, dir, "p.yaml"), -1);
	assert_int_equal(t.err.code, HLU_02);
}

static void
too_many_files(void **state)
{
	const char *files[POLICY_LAYERS_MAX + 1];

	(void)state;
	expect_good(HEAD);
	for (size_t i = 0; i < HL_ARRAY_SIZE(files); i++)
		files[i] = "p.yaml";
	assert_int_equal(stack_load_files(files, POLICY_LAYERS_MAX), 0);
	assert_int_equal(stack_load_files(files, POLICY_LAYERS_MAX + 1), -1);
	assert_int_equal(t.err.code, HLI_03);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(u49_only_the_owner_may_be_able_to_write),
		cmocka_unit_test(u49_another_users_file_is_refused),
		cmocka_unit_test(a_link_is_not_followed),
		cmocka_unit_test(only_regular_files),
		cmocka_unit_test(u04_missing_unreadable_truncated_or_a_directory),
		cmocka_unit_test(the_local_policy_is_looked_for_upward),
		cmocka_unit_test(a_place_that_cannot_be_read_is_not_taken_for_empty),
		cmocka_unit_test(an_id_is_looked_up_at_home),
		cmocka_unit_test(the_host_layer_is_always_there),
		cmocka_unit_test(too_many_files),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
