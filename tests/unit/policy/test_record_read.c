/*
 * Reading an entry: what is an error and where, the one form that it leaves in, and that no message
 * repeats what stands in a secret. Exact messages are in tests/golden/policy/records-*.
 */
#include "policy/records.h"
#include "stack.h"

#include "base/banned.h"

static void
expect_spelled(enum policy_field field, const char *text, const char *spelling)
{
	expect_good(text);
	assert_string_equal(spelled(field), spelling);
}

static void
an_entry_has_one_form(void **state)
{
	(void)state;
	expect_spelled(POLICY_NETWORK_ALLOW,
	    OPEN "network: {allow: [{tls: inspect, paths: [/b, /a, /b], ip: false, "
		 "ports: [8443, 443, 80, 443], host: a.example}]}\n",
	    "[{host: a.example, ports: [80, 443, 8443], paths: [/a, /b]}]");
	expect_spelled(POLICY_NETWORK_ALLOW,
	    OPEN "network: {allow: [{host: \"10.0.0.1\", ip: true, tls: splice}]}\n",
	    "[{host: \"10.0.0.1\", ports: [443], tls: splice, ip: true}]");
	expect_spelled(POLICY_SSH_HOSTS,
	    OPEN "ssh:\n  hosts:\n    - host: a.example\n      host_key: "
		 "\"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"\n",
	    "[{host: a.example, port: 22, host_keys: "
	    "[\"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"]}]");
	/* Arguments have an order, and may be there twice. */
	expect_spelled(POLICY_SECRETS,
	    OPEN "secrets: {T: {hosts: [b.example, a.example], as: token, "
		 "from: {command: [op, -v, -v, \"a b\"]}}}\n",
	    "{T: {from: {command: [op, \"-v\", \"-v\", \"a b\"]}, hosts: [a.example, b.example]}}");
}

static void
members_are_strict(void **state)
{
	(void)state;
	expect_error(OPEN "network: {allow: a.example}\n", "HLP-05");
	expect_error(OPEN "network: {allow: [a.example]}\n", "HLP-05");
	expect_error(OPEN "network: {allow: [{hosts: a.example}]}\n", "HLP-04");
	expect_error(OPEN "network: {allow: [{ports: [443]}]}\n", "HLP-03");
	expect_error(OPEN "network: {allow: [{host: a.example, ports: 443}]}\n", "HLP-05");
	expect_error(OPEN "network: {allow: [{host: a.example, ports: [\"443\"]}]}\n", "HLP-11");
	expect_error(OPEN "network: {allow: [{host: a.example, ports: [0]}]}\n", "HLP-12");
	expect_error(OPEN "network: {allow: [{host: a.example, ports: [65536]}]}\n", "HLP-12");
	expect_error(OPEN "network: {allow: [{host: a.example, ports: []}]}\n", "HLP-12");
	expect_error(OPEN "network: {allow: [{host: a.example, host: a.example}]}\n", "HLY-06");
	expect_error(OPEN "network: {allow: [{host: a.example, tls: none}]}\n", "HLP-13");
	expect_error(OPEN "network: {allow: [{host: a.example, ip: yes}]}\n", "HLP-11");
	expect_error(OPEN "network: {deny: [{host: a.example, tls: splice}]}\n", "HLP-04");
	expect_error(OPEN "secrets: [T]\n", "HLP-05");
	expect_error(OPEN "secrets: {T: {from: {env: T}}}\n", "HLP-03");
	expect_error(OPEN "secrets: {T: {hosts: [a.example]}}\n", "HLP-03");
	expect_error(OPEN "secrets: {T: {from: {}, hosts: [a.example]}}\n", "HLP-15");
	expect_error(OPEN "secrets: {T: {from: {env: T, fd: 3}, hosts: [a.example]}}\n", "HLP-15");
	expect_error(OPEN "secrets: {T: {from: {vault: T}, hosts: [a.example]}}\n", "HLP-04");
	expect_error(OPEN "secrets: {T: {from: {fd: 2}, hosts: [a.example]}}\n", "HLP-12");
	expect_error(OPEN "secrets: {T: {from: {file: run/x}, hosts: [a.example]}}\n", "HLP-14");
	expect_error(OPEN "cloud: {accounts: [{account: a}]}\n", "HLP-03");
}

static void
members_may_contradict_each_other(void **state)
{
	(void)state;
	expect_error(OPEN "network: {allow: [{host: \"10.0.0.1\"}]}\n", "HLP-15");
	expect_error(OPEN "network: {allow: [{host: a.example, ip: true}]}\n", "HLP-15");
	expect_error(OPEN "network: {deny: [{host: \"10.0.0.1\"}]}\n", "HLP-15");
	expect_error(OPEN "network: {allow: [{host: a.example, tls: splice, paths: [/]}]}\n",
	    "HLP-15");
	expect_good(OPEN "network: {allow: [{host: a.example, tls: splice}]}\n");
	expect_error(OPEN "ssh: {hosts: [{host: a.example, host_ca: \"ssh-ed25519 AAAAC3\", "
			  "host_key: \"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}\n",
	    "HLP-15");
	expect_error(OPEN "files: [{src: /a, kind: cache, refresh: true}]\n", "HLP-15");
	expect_error(OPEN
	    "secrets: {T: {from: {env: T}, hosts: [a.example], as: inject, require: true}}\n",
	    "HLP-15");
}

/* The name is one of the environment, and need not be a harmless one: that is what it is for. */
static void
names_of_secrets(void **state)
{
	static const char *const bad[][2] = { { "\"A-B\"", "HLP-07" }, { "\"1A\"", "HLP-07" },
		{ "LD_PRELOAD", "HLP-16" }, { "BASH_ENV", "HLP-16" } };
	char text[256];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text),
		    OPEN "secrets: {%s: {from: {env: T}, hosts: [a.example]}}\n", bad[i][0]);
		expect_error(text, bad[i][1]);
	}
	expect_good(
	    OPEN "secrets: {AWS_SECRET_ACCESS_KEY: {from: {env: T}, hosts: [a.example]}}\n");
	/* Words of other fields' forms are names here. */
	expect_good(OPEN "secrets: {allowed: {from: {env: T}, hosts: [a.example]}}\n");
	assert_string_equal(value_of(POLICY_SECRETS)->items[0].name, "allowed");
}

/* Where somebody writes the value itself, whatever the member, no message has it. */
static void
no_message_repeats_a_secret(void **state)
{
	static const char *const bodies[] = { "hush-1", "[hush-1]", "{from: hush-1}",
		"{from: {env: \"hush-1\"}}", "{from: {file: hush-1}}", "{from: {fd: hush-1}}",
		"{from: {credential: \"hush 1\"}}", "{from: {env: T}, hosts: [\"hush 1\"]}",
		"{from: {env: T}, hosts: hush-1}", "{from: {env: T}, as: hush-1}",
		"{from: {env: T}, require: hush-1}", "{from: {env: T}, shape: \"hush 1\"}",
		"{from: {env: T}, in: [hush-1]}", "{from: {command: hush-1}}", "{hush-1}",
		"{from: {hush-1}}", "{from: {env: T}, hush-1: }" };
	char text[256];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bodies); i++) {
		snprintf(text, sizeof(text), OPEN "secrets:\n  T: %s\n", bodies[i]);
		assert_int_equal(stack_load(text), -1);
		if (strstr(stack_text(), "hush") != NULL || strstr(t.err.msg, "hush") != NULL)
			fail_msg("%s is told:\n%s", bodies[i], stack_text());
	}
	/* In the place of a name, too. */
	expect_error(OPEN "secrets: {hush-1}\n", "HLP-07");
	assert_null(strstr(stack_text(), "hush"));
	expect_error(OPEN "env: {set: {hush-1}}\n", "HLP-07");
	assert_null(strstr(stack_text(), "hush"));
}

/* Of a list of mappings: what one looks like, for "write [a.example]" would be the next error. */
static void
help_shows_a_mapping(void **state)
{
	static const char *const rows[][2] = {
		{ "network: {allow: a.example}\n", "help: write [{host: ...}]\n" },
		{ "network: {deny: {host: a.example}}\n", "help: write [{host: ...}]\n" },
		{ "files: /srv/x\n", "help: write [{src: ...}]\n" },
		{ "fs: {mounts: /srv/x}\n", "help: write [{src: ...}]\n" },
		{ "fs: {tmpfs: /tmp}\n", "help: write [{dst: ...}]\n" },
		{ "secrets: [T]\n", "help: write {NAME: {from: ...}}\n" },
		{ "network: {use: a}\n", "help: write [a]\n" },
		{ "network: {forward: \"\"}\n", NULL },
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		snprintf(text, sizeof(text), OPEN "%s", rows[i][0]);
		expect_error(text, "HLP-05");
		if (rows[i][1] != NULL && strstr(stack_text(), rows[i][1]) == NULL)
			fail_msg("%s", stack_text());
	}
}

static void
put_paths(struct hl_buf *text, unsigned from, unsigned n)
{
	hl_buf_putf(text, "%s{host: h%u.example, paths: [", from > 0 ? ", " : "", from);
	for (unsigned i = 0; i < n; i++)
		hl_buf_putf(text, "%s/p%u", i > 0 ? ", " : "", i);
	hl_buf_puts(text, "]}");
}

/* All entries of a list together. */
static void
there_is_an_end_to_paths(void **state)
{
	struct hl_buf text;

	(void)state;
	hl_buf_init(&text, 1 << 16);
	hl_buf_puts(&text, OPEN "network: {allow: [");
	for (unsigned i = 0; i < 8; i++)
		put_paths(&text, i, RECORD_VALUES_MAX);
	size_t len = text.len;
	hl_buf_puts(&text, "]}\n");
	expect_good(text.data);
	text.data[len] = '\0';
	text.len = len;
	put_paths(&text, 8, 1);
	hl_buf_puts(&text, "]}\n");
	expect_error(text.data, "HLP-12");
	assert_non_null(strstr(stack_text(), "network.allow has 513 paths; at most 512"));
	hl_buf_done(&text);
}

/* Lists are capped, for merging compares their members pairwise. */
static void
there_is_an_end_to_lists(void **state)
{
	struct hl_buf text;

	(void)state;
	hl_buf_init(&text, 1 << 16);
	hl_buf_puts(&text, OPEN "network: {allow: [{host: a.example, ports: [1");
	for (unsigned i = 2; i <= RECORD_VALUES_MAX; i++)
		hl_buf_putf(&text, ", %u", i);
	size_t len = text.len;
	hl_buf_puts(&text, "]}]}\n");
	expect_good(text.data);
	text.data[len] = '\0';
	text.len = len;
	hl_buf_puts(&text, ", 9999]}]}\n");
	expect_error(text.data, "HLP-12");
	hl_buf_reset(&text);
	hl_buf_puts(&text, OPEN "files: [");
	for (unsigned i = 0; i <= 256; i++)
		hl_buf_putf(&text, "{src: /f%u, kind: cache}, ", i);
	hl_buf_puts(&text, "]\n");
	expect_error(text.data, "HLP-12");
	hl_buf_done(&text);
}

/* Found in the file as a whole (check.c). */
static void
entries_may_contradict_each_other(void **state)
{
	(void)state;
	expect_error(OPEN
	    "network: {allow: [{host: a.example}, {ports: [443], host: a.example}]}\n",
	    "HLP-15");
	expect_error(OPEN "network: {forward: [{listen: 1, to: \"a.example:1\"}, "
			  "{listen: 1, to: \"b.example:1\"}]}\n",
	    "HLP-15");
	/* As a bound both may stand. */
	expect_good(OPEN "network: {forward: {allowed: [{listen: 1, to: \"a.example:1\"}, "
			 "{listen: 1, to: \"b.example:1\"}], default: []}}\n");
	expect_error(OPEN "files: [{src: /a, kind: cache}, {src: /a, kind: skills}]\n", "HLP-15");
	expect_error(OPEN "network: {allow: [{host: a.example}]}\n"
			  "secrets: {T: {from: {env: T}, hosts: [b.example]}}\n",
	    "HLP-15");
	expect_error(OPEN "network: {allow: [{host: a.example, tls: splice}]}\n"
			  "secrets: {T: {from: {env: T}, hosts: [a.example]}}\n",
	    "HLP-15");
	expect_good(OPEN "network: {allow: [{host: \"*.example\"}]}\n"
			 "secrets: {T: {from: {env: T}, hosts: [a.example]}}\n");
	/* A recipe may bring it, and a layer above may have it. */
	expect_good(OPEN "network: {allow: [], use: [github@1]}\n"
			 "secrets: {T: {from: {env: T}, hosts: [b.example]}}\n");
	expect_good(OPEN "secrets: {T: {from: {env: T}, hosts: [b.example]}}\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_has_one_form),
		cmocka_unit_test(members_are_strict),
		cmocka_unit_test(members_may_contradict_each_other),
		cmocka_unit_test(names_of_secrets),
		cmocka_unit_test(no_message_repeats_a_secret),
		cmocka_unit_test(help_shows_a_mapping),
		cmocka_unit_test(there_is_an_end_to_lists),
		cmocka_unit_test(there_is_an_end_to_paths),
		cmocka_unit_test(entries_may_contradict_each_other),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
