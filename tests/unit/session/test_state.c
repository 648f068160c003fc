/*
 * What is kept from call to call is a difference, merged name by name.
 */
#include "report.h"

/* ------------------------------------------------------------------------------------------------
 * The merge
 */
struct world {
	struct session_state *state;
	struct pairs base;
	struct hl_strv own;
};

static void
open_world(struct world *world)
{
	struct hl_strv env;
	struct hl_err err;

	memset(world, 0, sizeof(*world));
	hl_strv_init(&env, 16);
	hl_strv_add(&env, "HOME=/home");
	hl_strv_add(&env, "PATH=/bin");
	hl_strv_add(&env, "TOKEN=secret");
	assert_int_equal(pairs_from_env(&world->base, &env), 0);
	hl_strv_done(&env);
	hl_strv_init(&world->own, 16);
	assert_int_equal(session_state_new("/work", &world->state, &err), 0);
}

static void
close_world(struct world *world)
{
	session_state_free(world->state);
	pairs_done(&world->base);
	hl_strv_done(&world->own);
}

static struct start
start_in(struct world *world)
{
	return (struct start){ .kept = kept_hold(world->state->kept),
		.base = &world->base,
		.own_env = &world->own,
		.cwd = world->state->kept->cwd };
}

static int
end_with(struct world *world, struct start *start, const struct fields *fields)
{
	struct report report;
	struct hl_err err;

	assert_true(parses(fields, &report));
	int status = state_merge(world->state, start, &report, &err);
	if (status != 0)
		assert_int_equal(err.code, HLB_13);
	report_done(&report);
	kept_release(start->kept);
	return status;
}

static const char base_exports[] = "declare -x HOME=\"/home\"\ndeclare -x PATH=\"/bin\"\n"
				   "declare -x TOKEN=\"secret\"\n";

/* "NAME=value", "NAME" for one that is not in the environment of a call made now. */
static void
sees(struct world *world, const char *what)
{
	struct start start = start_in(world);
	struct hl_strv env;
	struct hl_err err;
	bool is_set = strchr(what, '=') != NULL, is_found = false;

	assert_int_equal(state_environment(&start, &env, &err), 0);
	for (size_t i = 0; i < env.len; i++)
		if (is_set ? strcmp(env.v[i], what) == 0
			   : strncmp(env.v[i], what, strlen(what)) == 0 &&
				 env.v[i][strlen(what)] == '=')
			is_found = true;
	if (is_found != is_set)
		fail_msg("%s", what);
	hl_strv_done(&env);
	kept_release(start.kept);
}

static void
one_call(struct world *world, const char *exports)
{
	struct fields fields = plain;
	struct start start = start_in(world);

	fields.exports = exports;
	assert_int_equal(end_with(world, &start, &fields), 0);
}

/* hermes 7, W3: what was unset stays unset, what was set stays set. */
static void
test_hermes_7_unset_of_an_inherited_variable_stays(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	sees(&world, "TOKEN=secret");
	one_call(&world,
	    "declare -x HOME=\"/home\"\ndeclare -x NEW=\"1\"\ndeclare -x PATH=\"/bin\"\n");
	sees(&world, "TOKEN");
	sees(&world, "NEW=1");
	sees(&world, "HOME=/home");
	/* Set again as it was: no difference is left. */
	one_call(&world, base_exports);
	sees(&world, "TOKEN=secret");
	sees(&world, "NEW");
	assert_int_equal(world.state->kept->variables.len, 0);
	close_world(&world);
}

/* U17: the values of the first environment are not copied into what is kept. */
static void
test_u17_a_secret_that_was_passed_is_not_kept(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	one_call(&world, "declare -x A=\"1\"\ndeclare -x HOME=\"/home\"\ndeclare -x PATH=\"/bin\"\n"
			 "declare -x TOKEN=\"secret\"\n");
	assert_int_equal(world.state->kept->variables.len, 1);
	assert_null(pairs_find(&world.state->kept->variables, "TOKEN"));
	close_world(&world);
}

static void
test_own_variables_of_a_call_are_not_kept(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	hl_strv_add(&world.own, "ONCE=1");
	hl_strv_add(&world.own, "PATH=/own");
	one_call(&world,
	    "declare -x HOME=\"/home\"\ndeclare -x ONCE=\"2\"\ndeclare -x PATH=\"/own\"\n"
	    "declare -x TOKEN=\"secret\"\n");
	hl_strv_done(&world.own);
	hl_strv_init(&world.own, 16);
	sees(&world, "ONCE");
	sees(&world, "PATH=/bin");
	close_world(&world);
}

static void
test_internals_are_not_kept(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	one_call(&world,
	    "declare -x BASH_ENV=\"/evil\"\ndeclare -x BASH_X=\"1\"\ndeclare -x HOME=\"/home\"\n"
	    "declare -x PATH=\"/bin\"\ndeclare -x PWD=\"/x\"\ndeclare -rx SHELLOPTS=\"a\"\n"
	    "declare -x SHLVL=\"7\"\ndeclare -x TOKEN=\"secret\"\ndeclare -x _=\"z\"\n"
	    "declare -x __hl_f=\"1\"\n");
	assert_int_equal(world.state->kept->variables.len, 0);
	close_world(&world);
}

static bool
keeps_no_tokens(void *context, const char *name)
{
	(void)context;
	return strstr(name, "TOKEN") == NULL;
}

static void
test_protected_names_are_not_kept(void **state)
{
	struct world world;
	struct fields fields = plain;

	(void)state;
	open_world(&world);
	fields.exports =
	    "declare -x A_TOKEN=\"x\"\ndeclare -x HOME=\"/home\"\ndeclare -x PATH=\"/bin\"\n";
	struct start start = start_in(&world);
	start.may_keep = keeps_no_tokens;
	assert_int_equal(end_with(&world, &start, &fields), 0);
	sees(&world, "A_TOKEN");
	sees(&world, "TOKEN=secret");
	/* Sibling: without the rule both changes are kept. */
	one_call(&world, fields.exports);
	sees(&world, "A_TOKEN=x");
	sees(&world, "TOKEN");
	close_world(&world);
}

/* hermes W5: calls that run at the same time merge name by name, the last to end wins. */
static void
test_hermes_w5_concurrent_calls_merge(void **state)
{
	struct world world;
	struct fields one = plain, two = plain;

	(void)state;
	open_world(&world);
	one_call(&world,
	    "declare -x BOTH=\"0\"\ndeclare -x HOME=\"/home\"\ndeclare -x PATH=\"/bin\"\n"
	    "declare -x TOKEN=\"secret\"\n");
	struct start first = start_in(&world), second = start_in(&world);
	one.exports = "declare -x BOTH=\"1\"\ndeclare -x HOME=\"/home\"\ndeclare -x ONE=\"1\"\n"
		      "declare -x PATH=\"/bin\"\ndeclare -x TOKEN=\"secret\"\n";
	one.names = "declare -f f\ndeclare -f one\n";
	one.functions = "f () \n{ \n    1\n}\none () \n{ \n    :\n}\n";
	one.cwd = "/one\n";
	two.exports =
	    "declare -x BOTH=\"2\"\ndeclare -x PATH=\"/bin\"\ndeclare -x TOKEN=\"secret\"\n"
	    "declare -x TWO=\"2\"\n";
	two.names = "declare -f f\n";
	two.functions = "f () \n{ \n    2\n}\n";
	two.aliases = "alias a='b'\n";
	assert_int_equal(end_with(&world, &second, &two), 0);
	assert_int_equal(end_with(&world, &first, &one), 0);
	sees(&world, "ONE=1");
	sees(&world, "TWO=2");
	sees(&world, "BOTH=1");
	sees(&world, "HOME"); /* the second unset it; the first left it alone */
	assert_string_equal(session_state_cwd(world.state), "/one");
	assert_string_equal(pairs_find(&world.state->kept->functions, "f")->value,
	    "f () \n{ \n    1\n}\n");
	assert_non_null(pairs_find(&world.state->kept->functions, "one"));
	assert_non_null(pairs_find(&world.state->kept->aliases, "a"));
	close_world(&world);
}

/* A call that changes nothing does not bring back what another has changed meanwhile. */
static void
test_an_idle_call_changes_nothing(void **state)
{
	struct world world;
	struct fields idle = plain;

	(void)state;
	open_world(&world);
	struct start slow = start_in(&world);
	one_call(&world,
	    "declare -x A=\"1\"\ndeclare -x HOME=\"/home\"\ndeclare -x PATH=\"/bin\"\n");
	idle.exports = base_exports;
	assert_int_equal(end_with(&world, &slow, &idle), 0);
	sees(&world, "A=1");
	sees(&world, "TOKEN");
	close_world(&world);
}

/* Past the limit nothing of the call is kept, and the next one can still begin. */
static void
test_too_much_is_hlb_13(void **state)
{
	struct world world;
	struct fields fields = plain;
	struct hl_buf text;

	(void)state;
	open_world(&world);
	hl_buf_init(&text, 1U << 20);
	hl_buf_puts(&text, "declare -x A=\"1\"\ndeclare -x BIG=\"");
	for (int i = 0; i < SESSION_ENV_MAX; i++)
		hl_buf_putc(&text, 'x');
	hl_buf_puts(&text, "\"\n");
	fields.exports = text.data;
	struct start start = start_in(&world);
	assert_int_equal(end_with(&world, &start, &fields), -1);
	sees(&world, "A");
	sees(&world, "TOKEN=secret");
	hl_buf_reset(&text);
	hl_buf_puts(&text, "f () \n{ \n    '");
	for (int i = 0; i < 300000; i++)
		hl_buf_putc(&text, '\'');
	hl_buf_puts(&text, "'\n}\n");
	fields = plain;
	fields.exports = base_exports;
	fields.names = "declare -f f\n";
	fields.functions = text.data;
	start = start_in(&world);
	assert_int_equal(end_with(&world, &start, &fields), -1);
	assert_int_equal(world.state->kept->functions.len, 0);
	hl_buf_done(&text);
	close_world(&world);
}

/* Directories go with the environment and options with the text: they count like the rest. */
static void
test_places_and_options_count(void **state)
{
	static const char exports[] = "declare -x HOME=\"/home\"\ndeclare -x PATH=\"/bin\"\n"
				      "declare -x TOKEN=\"secret\"\ndeclare -x OLDPWD=\"/";
	struct world world;
	struct fields fields = plain;
	struct hl_buf text;
	struct hl_err err;

	(void)state;
	open_world(&world);
	hl_buf_init(&text, 1U << 20);
	hl_buf_puts(&text, exports);
	while (text.len < SESSION_ENV_MAX + sizeof(exports))
		hl_buf_putc(&text, 'd');
	assert_int_equal(session_state_set_cwd(world.state, text.data + sizeof(exports) - 2, &err),
	    -1);
	assert_int_equal(err.code, HLB_13);
	assert_string_equal(session_state_cwd(world.state), "/work");
	hl_buf_puts(&text, "\"\n");
	fields.exports = text.data;
	struct start start = start_in(&world);
	assert_int_equal(end_with(&world, &start, &fields), -1);
	assert_null(world.state->kept->oldpwd);
	hl_buf_reset(&text);
	while (text.len < SESSION_STATE_MAX / 2)
		hl_buf_puts(&text, "xtrace:");
	fields = plain;
	fields.exports = base_exports;
	fields.options = text.data;
	start = start_in(&world);
	start.has_options = true;
	assert_int_equal(end_with(&world, &start, &fields), -1);
	assert_null(world.state->kept->options);
	hl_buf_done(&text);
	close_world(&world);
}

static void
test_door(void **state)
{
	struct session_state *one, *two;
	struct hl_err err;

	(void)state;
	assert_int_equal(session_state_new("relative", &one, &err), -1);
	assert_int_equal(err.code, HLB_13);
	assert_int_equal(session_state_new("/a", &one, &err), 0);
	assert_int_equal(session_state_set(one, "A", "1", &err), 0);
	assert_int_equal(session_state_copy(one, &two, &err), 0);
	assert_int_equal(session_state_set(two, "A", NULL, &err), 0);
	assert_int_equal(session_state_set_cwd(two, "/b", &err), 0);
	assert_string_equal(session_state_cwd(one), "/a");
	assert_string_equal(session_state_cwd(two), "/b");
	assert_string_equal(pairs_find(&one->kept->variables, "A")->value, "1");
	assert_null(pairs_find(&two->kept->variables, "A")->value);
	assert_int_equal(session_state_set(two, "BASH_ENV", "x", &err), -1);
	assert_int_equal(session_state_set(two, "a b", "x", &err), -1);
	assert_int_equal(session_state_set_cwd(two, "/b/../c", &err), -1);
	session_state_free(one);
	session_state_free(two);
}

static void
test_posix_mode_is_entered_by_the_text(void **state)
{
	struct world world;
	struct hl_buf text;
	struct hl_err err;

	(void)state;
	open_world(&world);
	one_call(&world, "declare -x HOME=\"/home\"\ndeclare -x PATH=\"/bin\"\n"
			 "declare -x POSIXLY_CORRECT=\"it's\"\ndeclare -x TOKEN=\"secret\"\n");
	sees(&world, "POSIXLY_CORRECT");
	struct start start = start_in(&world);
	hl_buf_init(&text, SESSION_STATE_MAX);
	assert_int_equal(state_text(&start, &text, &err), 0);
	assert_non_null(strstr(text.data, "export POSIXLY_CORRECT='it'\\''s'\n"));
	hl_buf_done(&text);
	kept_release(start.kept);
	close_world(&world);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hermes_7_unset_of_an_inherited_variable_stays),
		cmocka_unit_test(test_u17_a_secret_that_was_passed_is_not_kept),
		cmocka_unit_test(test_own_variables_of_a_call_are_not_kept),
		cmocka_unit_test(test_internals_are_not_kept),
		cmocka_unit_test(test_protected_names_are_not_kept),
		cmocka_unit_test(test_hermes_w5_concurrent_calls_merge),
		cmocka_unit_test(test_an_idle_call_changes_nothing),
		cmocka_unit_test(test_too_much_is_hlb_13),
		cmocka_unit_test(test_places_and_options_count),
		cmocka_unit_test(test_door),
		cmocka_unit_test(test_posix_mode_is_entered_by_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
