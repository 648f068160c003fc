/*
 * The protected names: table in order, the cases of users, and that letter case and length hide
 * nothing.
 */
#include "stack.h"

#include "base/banned.h"

static const char *const rows[] = {
#define PROTECTED_NAME(name, class) name,
#define PROTECTED_PATTERN(name, class)
#include "policy/secrets.def"
#undef PROTECTED_NAME
#undef PROTECTED_PATTERN
};

static const enum policy_name_class row_classes[] = {
#define PROTECTED_NAME(name, class) POLICY_NAME_##class,
#define PROTECTED_PATTERN(name, class)
#include "policy/secrets.def"
#undef PROTECTED_NAME
#undef PROTECTED_PATTERN
};

static enum policy_name_class
class_of(const char *name)
{
	return policy_name_class(name, strlen(name));
}

static void
expect_class(const char *const *names, size_t n, enum policy_name_class class)
{
	for (size_t i = 0; i < n; i++) {
		if (class_of(names[i]) != class)
			fail_msg("%s is of class %d", names[i], (int)class_of(names[i]));
	}
}

static void
table_is_sorted_unique_and_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		if (i > 0 && strcmp(rows[i - 1], rows[i]) >= 0)
			fail_msg("%s is out of order", rows[i]);
		assert_int_equal(class_of(rows[i]), row_classes[i]);
	}
}

static void
u01_provider_keys_and_endpoints(void **state)
{
	static const char *const names[] = { "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_TOKEN",
		"ANTHROPIC_API_KEY", "SLACK_BOT_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "NOUS_API_KEY",
		"BWS_ACCESS_TOKEN", "AZURE_OPENAI_API_KEY", "SUDO_PASSWORD", "API_SERVER_KEY",
		"MATRIX_RECOVERY_KEY", "BUZZ_ANYTHING", "AUXILIARY_VISION_API_KEY",
		"AUXILIARY_VISION_BASE_URL", "GATEWAY_RELAY_X_SECRET", "FIRECRAWL_API_KEYS",
		"QQBOT_HOME_CHANNEL_NAME", "_HERMES_FORCE_OPENAI_API_KEY" };
	static const char *const plain[] = { "PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "TZ",
		"AUXILIARY_VISION_MODEL", "AUXILIARY_VISION_PROVIDER", "GATEWAY_RELAY_URL",
		"GATEWAY_RELAY_PLATFORMS" };

	(void)state;
	expect_class(names, HL_ARRAY_SIZE(names), POLICY_NAME_SECRET);
	expect_class(plain, HL_ARRAY_SIZE(plain), POLICY_NAME_PLAIN);
}

static void
u08_harmless_names_are_plain(void **state)
{
	static const char *const names[] = { "KEYBOARD_LAYOUT", "MONKEY_PATH", "XAUTHORITY",
		"SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "GIT_AUTHOR_NAME", "PASSWORD_STORE_DIR",
		"PYTHONUNBUFFERED", "AWS_REGION", "AWS_PROFILE", "MY_ENV", "ENVIRONMENT",
		"TENOR_API_KEY" };

	(void)state;
	expect_class(names, HL_ARRAY_SIZE(names), POLICY_NAME_PLAIN);
}

static void
u10_loader_and_interpreter_names(void **state)
{
	static const char *const names[] = { "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH",
		"BASH_ENV", "ENV", "BASH_FUNC_x%%", "BASH_FUNC_ls()", "NODE_OPTIONS",
		"PYTHONSTARTUP", "PYTHONPATH", "PYTHONINSPECT", "PERL5OPT", "RUBYOPT",
		"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF",
		"GIT_CONFIG_COUNT", "PROMPT_COMMAND", "IFS", "PS4", "GCONV_PATH", "GLIBC_TUNABLES",
		"DYLD_INSERT_LIBRARIES" };

	(void)state;
	expect_class(names, HL_ARRAY_SIZE(names), POLICY_NAME_LOADER);
}

static void
u13_tokens_of_other_tools_pass(void **state)
{
	static const char *const names[] = { "CLAUDE_CODE_OAUTH_TOKEN", "GITLAB_TOKEN", "CI_TOKEN",
		"MY_TOKEN", "SERVICE_TOKEN" };

	(void)state;
	expect_class(names, HL_ARRAY_SIZE(names), POLICY_NAME_PLAIN);
	expect_good(OPEN "env: {pass: [CLAUDE_CODE_OAUTH_TOKEN, GITLAB_TOKEN]}\n");
	assert_string_equal(spelled(POLICY_ENV_PASS), "[CLAUDE_CODE_OAUTH_TOKEN, GITLAB_TOKEN]");
}

static void
u19_case_does_not_hide_a_name(void **state)
{
	static const char *const names[] = { "openai_api_key", "OpenAI_Api_Key",
		"aws_secret_access_key", "buzz_x" };
	static const char *const loaders[] = { "ld_preload", "env", "bash_func_x%%" };

	(void)state;
	expect_class(names, HL_ARRAY_SIZE(names), POLICY_NAME_SECRET);
	expect_class(loaders, HL_ARRAY_SIZE(loaders), POLICY_NAME_LOADER);
	expect_error(OPEN "env: {pass: [openai_api_key]}\n", "HLP-16");
	expect_error(OPEN "env: {set: {aws_session_token: x}}\n", "HLP-16");
}

static void
length_counts(void **state)
{
	static const char with_nul[] = "OPENAI_API_KEY\0X";
	char longer[600];

	(void)state;
	assert_int_equal(policy_name_class("OPENAI_API_KEYS", 14), POLICY_NAME_SECRET);
	assert_int_equal(policy_name_class("OPENAI_API_KEYS", 15), POLICY_NAME_PLAIN);
	assert_int_equal(policy_name_class(with_nul, sizeof(with_nul) - 1), POLICY_NAME_PLAIN);
	assert_int_equal(policy_name_class("", 0), POLICY_NAME_PLAIN);
	memset(longer, 'X', sizeof(longer));
	memcpy(longer, "LD_", 3);
	assert_int_equal(policy_name_class(longer, sizeof(longer)), POLICY_NAME_LOADER);
}

static void
u05_a_listed_protected_name(void **state)
{
	(void)state;
	expect_error(OPEN "env: {pass: [ANTHROPIC_TOKEN, TENOR_API_KEY]}\n", "HLP-16");
	assert_non_null(strstr(stack_text(), "ANTHROPIC_TOKEN"));
	expect_good(OPEN "mode: warn\nenv: {pass: [ANTHROPIC_TOKEN, TENOR_API_KEY]}\n");
	expect_code("HLP-16");
	assert_int_equal(t.findings.warnings, 1);
	assert_string_equal(spelled(POLICY_ENV_PASS), "[TENOR_API_KEY]");
	/* The order of the keys makes no difference. */
	expect_good(OPEN "env: {pass: [ANTHROPIC_TOKEN, TENOR_API_KEY]}\nmode: warn\n");
	/* Globs are fine: the protected names they would match do not pass by their class. */
	expect_good(OPEN "env: {pass: [\"*_TOKEN\", \"*\"]}\n");
}

static void
u10_loader_names_in_env_set(void **state)
{
	(void)state;
	expect_error(OPEN "env: {set: {BASH_ENV: /t/be}}\n", "HLP-16");
	expect_error(OPEN "env: {set: {\"BASH_FUNC_ls%%\": \"() { echo; }\"}}\n", "HLP-16");
	expect_error(OPEN "env: {set: {LD_PRELOAD: /t/x.so}}\n", "HLP-16");
	expect_good(OPEN "env: {set: {FOO: /t/be}}\n");
	expect_error(OPEN "env: {set: {\"A-B\": x}}\n", "HLP-07");
	expect_error(OPEN "env: {pass: [\"1A\"]}\n", "HLP-07");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_sorted_unique_and_found),
		cmocka_unit_test(u01_provider_keys_and_endpoints),
		cmocka_unit_test(u08_harmless_names_are_plain),
		cmocka_unit_test(u10_loader_and_interpreter_names),
		cmocka_unit_test(u13_tokens_of_other_tools_pass),
		cmocka_unit_test(u19_case_does_not_hide_a_name),
		cmocka_unit_test(length_counts),
		cmocka_unit_test(u05_a_listed_protected_name),
		cmocka_unit_test(u10_loader_names_in_env_set),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
