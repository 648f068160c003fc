/*
 * What each type of a record takes, and the look-alikes that it does not.
 */
#include <regex.h>

#include "policy/records.h"
#include "stack.h"

#include "base/banned.h"

#define DIGEST       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UPPER_DIGEST "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef"
#define KEY43        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define LABEL63      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	enum record_type type;
	const char *good[8], *bad[16];
} types[] = {
	{ RECORD_TYPE_HOST,
	    { "a.example", "localhost", "xn--bcher-kva.example", "*.a.example", "10.0.0.1", "::1",
		LABEL63 ".example", "2001:db8::7" },
	    { "", "*", "*.", "a.*.example", "A.example", "a..example", "-a.example", "a-.example",
		"a.example.", "10.1", "0x7f000001", "a b", "::ffff:10.0.0.1", "2001:DB8::7",
		"2001:db8:0::7", LABEL63 "a.example" } },
	{ RECORD_TYPE_HOST, { "1:0:2:3:4:5:6:7", "::", "1::", "1:0:0:2::3", "fe80::1:0" },
	    { "*.10.0.0.1", "010.0.0.1", "::ffff:a00:1", "1::2::3", "[::1]", "a.example:80",
		"http://a.example", "a.example/x", "1:2:3:4:5:6:7::", "user@a.example",
		"fe80::1%eth0", "0:0:0:0:0:0:0:1", "1.2.3.4.5", "256.0.0.1" } },
	{ RECORD_TYPE_ENDPOINT, { "a.example:1", "10.0.0.1:65535", "[::1]:5432" },
	    { "a.example", "a.example:", "a.example:0", "a.example:65536", "a.example:01", ":1",
		"::1:5432", "[a.example]:1", "[::1]", "[::1]x:1", "*.a.example:1", "a.example:1:2",
		"a.example:+1" } },
	{ RECORD_TYPE_METHOD, { "GET", "M-SEARCH" }, { "", "get", "GET ", "GET,POST", "*" } },
	{ RECORD_TYPE_WEB_PATH, { "/", "/*", "/a/b.c", "/..a", "/a%20b", "/a..", "/a;b" },
	    { "", "a", "*", "/a?b", "/a#b", "/a b", "/..", "/a/../b", "/.", "/a/.", "/\"",
		"/\\" } },
	/* Another spelling of a path, to some server. */
	{ RECORD_TYPE_WEB_PATH, { "/%C3%A4", "/%3F", "/a%20*" },

	    { "//", "/a//b", "/a/%2E%2E/b", "/a%2Fb", "/a%5Cb", "/%61", "/%c3%a4", "/%2a", "/%2A",
		"/%25", "/%00", "/%", "/%2", "/%zz", "/..;x/a", "/.;/" } },
	{ RECORD_TYPE_USER, { "ci", "a.b-c_d", "Admin" }, { "", "-l", ".a", "a b", "a@b", "a:b" } },
	{ RECORD_TYPE_FINGERPRINT,
	    { "SHA256:" KEY43, "SHA256:+/"
			       "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
	    { "SHA256:", KEY43, "MD5:" KEY43, "SHA256:" KEY43 "=", "SHA256:" KEY43 "A",
		"sha256:" KEY43 } },
	{ RECORD_TYPE_DIGEST, { DIGEST }, { "", DIGEST "0", "0123", UPPER_DIGEST, DIGEST "\n" } },
	{ RECORD_TYPE_PUBLIC_KEY,
	    { "ssh-ed25519 AAAAC3", "ssh-rsa AAAAB3 ca@acme", "ecdsa-sha2-nistp256 AAAAE2" },
	    { "", "ssh-ed25519", "AAAAC3", "ssh-ed25519 C3", "* ssh-ed25519 AAAAC3",
		"ssh-ed25519 AAAA\"", "-----BEGIN OPENSSH PRIVATE KEY-----" } },
	{ RECORD_TYPE_JUMP, { "a.example", "ci@a.example", "ci@a.example:22", "[::1]:22" },
	    { "", "@a.example", "-oX@a.example", "a.example:", "-J", "a.example,b.example",
		"*.a.example" } },
	{ RECORD_TYPE_LABEL, { "a", "us-east-1", "team/app", "A.b:c" },
	    { "", "-a", "/a", ".a", "a b", "a\"b", "a*" } },
	{ RECORD_TYPE_VARIABLE, { "A", "_a1" }, { "", "1A", "A-B", "A=B", "A B" } },
	{ RECORD_TYPE_ARGUMENT, { "a", "a b", "--x=y" }, { "" } },
	{ RECORD_TYPE_PLACE,
	    { "authorization", "basic", "path", "body", "header:X-Key", "query:k" },
	    { "", "header", "header:", "header:a b", "query:", "Body", "cookie", "header:a:b" } },
};

static void
each_type_takes_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(types); i++) {
		for (size_t j = 0; j < 8 && types[i].good[j] != NULL; j++)
			if (!policy_record_text_is_good(types[i].type, types[i].good[j]))
				fail_msg("refused: %s", types[i].good[j]);
		for (size_t j = 0; j < 16 && types[i].bad[j] != NULL; j++)
			if (policy_record_text_is_good(types[i].type, types[i].bad[j]))
				fail_msg("taken: '%s'", types[i].bad[j]);
	}
}

/* What stands behind "pattern", without its JSON; false: the type's schema has none. */
static bool
compile_pattern(enum record_type type, regex_t *regex)
{
	const char *at = strstr(policy_record_type(type)->schema, "\"pattern\":\"");
	char text[512];
	size_t len = 0;

	if (at == NULL)
		return false;
	for (at += strlen("\"pattern\":\""); *at != '"'; at++) {
		at += *at == '\\';
		assert_true(len + 1 < sizeof(text));
		text[len++] = *at;
	}
	text[len] = '\0';
	assert_int_equal(regcomp(regex, text, REG_EXTENDED | REG_NOSUB), 0);
	return true;
}

/* An editor marks nothing that is good, and most of what is not. */
static void
schemas_take_what_is_good(void **state)
{
	size_t bad = 0, told = 0;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(types); i++) {
		regex_t regex;
		if (!compile_pattern(types[i].type, &regex))
			continue;
		for (size_t j = 0; j < 8 && types[i].good[j] != NULL; j++)
			if (regexec(&regex, types[i].good[j], 0, NULL, 0) != 0)
				fail_msg("the schema refuses: %s", types[i].good[j]);
		for (size_t j = 0; j < 16 && types[i].bad[j] != NULL; j++, bad++)
			told += regexec(&regex, types[i].bad[j], 0, NULL, 0) != 0;
		regfree(&regex);
	}
	assert_true(bad > 100 && told * 10 > bad * 6);
}

/* One byte more than the most. */
static void
each_text_has_an_end(void **state)
{
	char text[4096];

	(void)state;
	for (size_t i = 0; i < RECORD_TYPE_MAX; i++) {
		const struct record_type_info *info = policy_record_type((enum record_type)i);
		assert_non_null(info->schema);
		if (info->is_number) {
			assert_true(info->min > 0 && info->min < info->max);
			continue;
		}
		if (i == RECORD_TYPE_BOOL || i == RECORD_TYPE_WORD)
			continue;
		assert_true(info->max > 0 && info->max + 2 < sizeof(text));
		assert_non_null(info->help);
		memset(text, 'a', info->max + 1);
		text[info->max + 1] = '\0';
		text[0] = i == RECORD_TYPE_WEB_PATH ? '/' : 'a';
		assert_false(policy_record_text_is_good((enum record_type)i, text));
		text[info->max] = '\0';
		if (i == RECORD_TYPE_WEB_PATH || i == RECORD_TYPE_ARGUMENT ||
		    i == RECORD_TYPE_LABEL || i == RECORD_TYPE_USER || i == RECORD_TYPE_VARIABLE)
			assert_true(policy_record_text_is_good((enum record_type)i, text));
	}
}

static void
addresses_and_names_are_told_apart(void **state)
{
	(void)state;
	assert_true(policy_is_address("10.0.0.1"));
	assert_true(policy_is_address("fd00:ec2::254"));
	assert_false(policy_is_address("a.example"));
	assert_false(policy_is_address("*.a.example"));
	assert_false(policy_is_address(""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_takes_its_own),
		cmocka_unit_test(schemas_take_what_is_good),
		cmocka_unit_test(each_text_has_an_end),
		cmocka_unit_test(addresses_and_names_are_told_apart),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
