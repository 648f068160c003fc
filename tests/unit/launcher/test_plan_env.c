/*
 * The environment of the plan and of a call.
 */
#include "plan_fixture.h"

static const char *
value_of(const struct fixture *fixture, const char *name)
{
	const struct plan_env *env = variable_of(fixture, name);

	return env != NULL ? env->value : NULL;
}

static void
test_u01_nothing_is_inherited(void **state)
{
	static const char *const entries[] = { "OPENAI_API_KEY=k", "OPENAI_BASE_URL=http://x",
		"ANTHROPIC_TOKEN=t", "HOME=/h", "LANG=C.UTF-8", "LC_TIME=C", "TERM=dumb", "TZ=UTC",
		"PATH=/evil", "EDITOR=vi", "USER=mallory" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(entries); i++)
		set_variable(fixture, entries[i]);
	assert_planned(fixture, "");
	assert_null(value_of(fixture, "OPENAI_API_KEY"));
	assert_null(value_of(fixture, "OPENAI_BASE_URL"));
	assert_null(value_of(fixture, "ANTHROPIC_TOKEN"));
	assert_null(value_of(fixture, "EDITOR"));
	assert_string_equal(value_of(fixture, "LANG"), "C.UTF-8");
	assert_string_equal(value_of(fixture, "LC_TIME"), "C");
	assert_string_equal(value_of(fixture, "TERM"), "dumb");
	assert_string_equal(value_of(fixture, "TZ"), "UTC");
	assert_string_equal(value_of(fixture, "HOME"), fixture->home);
	assert_string_equal(value_of(fixture, "USER"), "alice");
	assert_string_equal(value_of(fixture, "LOGNAME"), "alice");
	assert_string_equal(value_of(fixture, "SHELL"), "/bin/sh");
	assert_null(strstr(value_of(fixture, "PATH"), "evil"));
	assert_false(variable_of(fixture, "LANG")->is_private);
	for (size_t i = 1; i < fixture->plan.env_len; i++)
		assert_true(strcmp(fixture->plan.env[i - 1].name, fixture->plan.env[i].name) < 0);
	/* sibling: with the names in env.pass those that are not protected do pass */
	assert_planned(fixture, "env: {pass: [EDITOR, PATH]}\n");
	assert_string_equal(value_of(fixture, "EDITOR"), "vi");
	assert_true(variable_of(fixture, "EDITOR")->is_private);
	assert_string_equal(value_of(fixture, "PATH"), "/evil");
	assert_null(value_of(fixture, "LANG"));
}

/* U05: enforce names it and refuses; warn leaves it out and passes the rest. */
static void
test_u05_protected_names(void **state)
{
	static const char pass[] = "env: {pass: [ANTHROPIC_TOKEN, GIPHY_KEY_LAYOUT]}\n";
	struct fixture *fixture = *state;
	char text[256];

	set_variable(fixture, "ANTHROPIC_TOKEN=canary");
	set_variable(fixture, "GIPHY_KEY_LAYOUT=fine");
	assert_int_equal(load_text(fixture, "baseline@1", pass), -1);
	assert_non_null(strstr(fixture->findings.items[0].message, "ANTHROPIC_TOKEN"));
	snprintf(text, sizeof(text), "mode: warn\n%s", pass);
	assert_planned(fixture, text);
	assert_null(value_of(fixture, "ANTHROPIC_TOKEN"));
	assert_string_equal(value_of(fixture, "GIPHY_KEY_LAYOUT"), "fine");
	/* a pattern that covers it lets it pass just as little */
	assert_planned(fixture, "env: {pass: [\"*\"]}\n");
	assert_null(value_of(fixture, "ANTHROPIC_TOKEN"));
	assert_string_equal(value_of(fixture, "GIPHY_KEY_LAYOUT"), "fine");
}

static void
test_u07_withheld(void **state)
{
	struct fixture *fixture = *state;
	struct plan_notes notes;

	set_variable(fixture, "DOCKER_HOST=unix:///canary");
	set_variable(fixture, "HOME=/h");
	set_variable(fixture, "PWD=/h");
	set_variable(fixture, "LANG=C");
	assert_planned(fixture, "");
	assert_int_equal(fixture->plan.withheld, 1);
	assert_int_equal(plan_notes(fixture->policy, &fixture->host, &fixture->plan, &notes,
			     &fixture->err),
	    0);
	assert_int_equal(notes.withheld.len, 1);
	assert_string_equal(notes.withheld.v[0], "DOCKER_HOST");
	plan_notes_done(&notes);
}

/* U08: names that only look like protected ones pass when listed. U13: nor is that one protected.
 */
static void
test_u08_harmless_names(void **state)
{
	static const char *const names[] = { "KEYBOARD_LAYOUT", "MONKEY_PATH", "XAUTHORITY",
		"SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "GIT_AUTHOR_NAME", "PASSWORD_STORE_DIR",
		"CLAUDE_CODE_OAUTH_TOKEN" };
	struct fixture *fixture = *state;
	char text[1024] = "env:\n  pass:\n", entry[128];
	size_t len = strlen(text);

	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++) {
		snprintf(entry, sizeof(entry), "%s=v", names[i]);
		set_variable(fixture, entry);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "    - %s\n", names[i]);
	}
	assert_planned(fixture, text);
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++)
		assert_non_null(value_of(fixture, names[i]));
	assert_planned(fixture, "");
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++)
		assert_null(value_of(fixture, names[i]));
}

/* U10: not even "everything" lets code in before the command. */
static void
test_u10_loaders(void **state)
{
	static const char *const names[] = { "LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "ENV",
		"BASH_FUNC_x%%", "NODE_OPTIONS", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT",
		"JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "PROMPT_COMMAND",
		"IFS", "PS4", "GCONV_PATH" };
	struct fixture *fixture = *state;
	char entry[128];

	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++) {
		snprintf(entry, sizeof(entry), "%s=v", names[i]);
		set_variable(fixture, entry);
	}
	set_variable(fixture, "HARMLESS=v");
	assert_planned(fixture, "env: {pass: [\"*\"]}\n");
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++)
		assert_null(value_of(fixture, names[i]));
	assert_non_null(value_of(fixture, "HARMLESS"));
}

/* U22: what the caller does not have is not there, and that is told. */
static void
test_u22_missing(void **state)
{
	struct fixture *fixture = *state;
	struct plan_notes notes;

	assert_planned(fixture, "env: {pass: [NOT_SET, TZ]}\n");
	assert_null(value_of(fixture, "NOT_SET"));
	assert_int_equal(plan_notes(fixture->policy, &fixture->host, &fixture->plan, &notes,
			     &fixture->err),
	    0);
	assert_int_equal(notes.warnings.len, 1);
	assert_non_null(strstr(notes.warnings.v[0], "NOT_SET"));
	plan_notes_done(&notes);
	set_variable(fixture, "NOT_SET=");
	assert_int_equal(build_plan(fixture), 0);
	assert_string_equal(value_of(fixture, "NOT_SET"), "");
	assert_int_equal(plan_notes(fixture->policy, &fixture->host, &fixture->plan, &notes,
			     &fixture->err),
	    0);
	assert_int_equal(notes.warnings.len, 0);
	plan_notes_done(&notes);
}

static void
test_set_and_order(void **state)
{
	struct fixture *fixture = *state;

	set_variable(fixture, "COLOR=caller");
	set_variable(fixture, "COLOR=second");
	set_variable(fixture, "TZ=first");
	set_variable(fixture, "TZ=second");
	assert_planned(fixture, "env: {pass: [COLOR, TZ], set: {COLOR: policy}}\n");
	assert_string_equal(value_of(fixture, "COLOR"), "policy");
	assert_true(variable_of(fixture, "COLOR")->is_private);
	assert_string_equal(value_of(fixture, "TZ"), "first");
	/* what we build is not the caller's to give */
	set_variable(fixture, "HOME=/h");
	assert_planned(fixture, "env: {pass: [HOME]}\n");
	assert_string_equal(value_of(fixture, "HOME"), fixture->home);
}

static bool
has(const struct hl_strv *env, const char *entry)
{
	return hl_strv_contains(env, entry);
}

static void
test_call_environment(void **state)
{
	struct fixture *fixture = *state;
	HL_AUTO(hl_strv_done) struct hl_strv image = { 0 };
	HL_AUTO(hl_strv_done) struct hl_strv env = { 0 };
	HL_AUTO(hl_strv_done) struct hl_strv bare = { 0 };

	set_variable(fixture, "LANG=C");
	assert_planned(fixture, "env: {set: {A: ours}}\n");
	hl_strv_init(&image, 16);
	hl_strv_add(&image, "PATH=/image/bin");
	hl_strv_add(&image, "A=image");
	hl_strv_add(&image, "B=image");
	hl_strv_add(&image, "LD_PRELOAD=/x.so");
	hl_strv_add(&image, "OPENAI_API_KEY=k");
	hl_strv_add(&image, "not a variable");
	assert_int_equal(plan_call_environment(&fixture->plan, &image, &env, &fixture->err), 0);
	assert_true(has(&env, "PATH=/image/bin"));
	assert_true(has(&env, "A=ours"));
	assert_true(has(&env, "B=image"));
	assert_false(has(&env, "A=image"));
	assert_false(has(&env, "LD_PRELOAD=/x.so"));
	assert_false(has(&env, "OPENAI_API_KEY=k"));
	assert_int_equal(env.len, fixture->plan.env_len + 1);
	/* without an image our own PATH is there */
	hl_strv_init(&bare, 16);
	hl_strv_done(&env);
	assert_int_equal(plan_call_environment(&fixture->plan, &bare, &env, &fixture->err), 0);
	assert_int_equal(env.len, fixture->plan.env_len);
	assert_false(has(&env, "PATH=/image/bin"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_u01_nothing_is_inherited, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u05_protected_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u07_withheld, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u08_harmless_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u10_loaders, setup, teardown),
		cmocka_unit_test_setup_teardown(test_u22_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_set_and_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_call_environment, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
