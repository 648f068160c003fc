/*
 * The table of members, and which records are inside which: one row for each rule in each
 * direction.
 */
#include "policy/records.h"
#include "policy/state.h"
#include "stack.h"

#include "base/banned.h"

static bool
is_word_of(const struct record_member *row, const char *word)
{
	return policy_word_index(row->words, word, strlen(word)) >= 0;
}

static void
check_row(size_t i)
{
	const struct record_member *row = policy_record_member(i);
	bool has_words = row->type == RECORD_TYPE_WORD || row->type == RECORD_TYPE_BOOL;
	bool has_default = row->missing[0] != '\0' && row->missing[0] != '!';

	assert_true(row->help[0] != '\0' && row->key[0] != '\0');
	assert_true(has_words == (row->words[0] != NULL));
	if (has_words && has_default)
		assert_true(is_word_of(row, row->missing));
	if (row->type == RECORD_TYPE_BOOL)
		assert_true(has_default && is_word_of(row, "true") && is_word_of(row, "false"));
	/* A word that may be missing has a rank all the same. */
	if (row->rule == RECORD_RULE_ORD)
		assert_true(has_words && row->missing[0] != '\0');
	if (row->rule == RECORD_RULE_UNIQUE)
		assert_string_equal(row->missing, "!");
	if (row->rule != RECORD_RULE_SHORT)
		return;
	const struct record_member *next = policy_record_member(i + 1);
	assert_true(next->field == row->field && next->type == row->type);
	assert_true(row->many == RECORD_ONE && next->many == RECORD_SET && !has_default);
}

static void
the_table_is_whole(void **state)
{
	size_t rows = 0;

	(void)state;
	for (size_t i = 0; i < RECORD_INDEX_MAX; i++)
		check_row(i);
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		enum policy_field field = (enum policy_field)i;
		enum policy_kind kind = policy_field_kind(field);
		enum record_index first;
		size_t len;
		if (kind != POLICY_KIND_RECORDS && kind != POLICY_KIND_NAMED)
			continue;
		const struct record_member *members = policy_record_members(field, &len, &first);
		for (size_t j = 0; j < len; j++) {
			assert_ptr_equal(&members[j], policy_record_member((size_t)first + j));
			for (size_t k = 0; k < j; k++)
				assert_string_not_equal(members[j].key, members[k].key);
		}
		rows += len;
	}
	/* Each row is some field's, and stands with the others of it. */
	assert_int_equal(rows, RECORD_INDEX_MAX);
}

/* Two entries of one field; a name in front of those of a map. */
struct pair {
	const char *key, *inner, *outer;
};

static const struct pair inside[] = {
	{ "network.allow", "{host: a.example}", "{host: a.example, ports: [443]}" },
	{ "network.allow", "{host: a.x.example}", "{host: \"*.x.example\"}" },
	{ "network.allow", "{host: \"*.x.example\"}", "{host: \"*.x.example\", ports: [80, 443]}" },
	{ "network.allow", "{host: a.example, methods: [GET]}", "{host: a.example}" },
	{ "network.allow", "{host: a.example, paths: [/v1/x, \"/v1/y*\"]}",
	    "{host: a.example, paths: [\"/v1/*\"]}" },
	{ "network.allow", "{host: a.example}", "{host: a.example, tls: splice}" },
	{ "network.allow", "{host: a.example, ports: [9, 443]}",
	    "{host: a.example, ports: [1, 9, 80, 443, 8443]}" },
	{ "network.deny", "{host: a.example, ports: [80]}", "{host: a.example}" },
	{ "ssh.hosts", "{host: a.example, user: ci, identity: /k}", "{host: a.example}" },
	{ "ssh.hosts",
	    "{host: a.example, host_key: \"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}",
	    "{host: a.example, host_keys: [\"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\", "
	    "\"SHA256:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB\"]}" },
	{ "cloud.accounts", "{provider: modal, account: a}", "{provider: modal}" },
	{ "files", "{src: /a, kind: credential}", "{src: /a, kind: credential, refresh: true}" },
	{ "secrets", "S: {from: {env: A}, hosts: [a.example], require: true}",
	    "S: {from: {env: A}, hosts: [\"*.example\", b.example]}" },
	{ "secrets", "S: {from: {env: A}, hosts: [a.example], in: [basic]}",
	    "S: {from: {env: A}, hosts: [a.example], in: [basic, path]}" },
};

/* Neither of them inside the other. */
static const struct pair apart[] = {
	{ "network.allow", "{host: a.b.x.example}", "{host: \"*.x.example\"}" },
	{ "network.allow", "{host: x.example}", "{host: \"*.x.example\"}" },
	{ "network.allow", "{host: \"*.a.x.example\"}", "{host: \"*.x.example\"}" },
	{ "network.allow", "{host: a.example}", "{host: a.example, ports: [80]}" },
	{ "network.allow", "{host: a.example, methods: [GET], ports: [1, 2]}",
	    "{host: a.example, ports: [1]}" },
	{ "network.allow", "{host: a.example, ports: [2, 30, 100]}",
	    "{host: a.example, ports: [1, 2, 30, 99, 101]}" },
	{ "network.allow", "{host: a.example, methods: [GET, PUT]}",
	    "{host: a.example, methods: [DELETE, GET, POST]}" },
	{ "network.forward", "{listen: 1, to: \"a.example:1\"}",
	    "{listen: 2, to: \"a.example:1\"}" },
	{ "ssh.hosts", "{host: a.example}", "{host: a.example, port: 2222}" },
	{ "ssh.hosts", "{host: a.example, jump: b.example}", "{host: a.example}" },
	/* Known in another way is not known as well. */
	{ "ssh.hosts",
	    "{host: a.example, host_key: \"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}",
	    "{host: a.example, host_ca: \"ssh-ed25519 AAAAC3Nz\"}" },
	{ "cloud.accounts", "{provider: modal}", "{provider: vercel}" },
	{ "files", "{src: /a/b, kind: cache}", "{src: /a, kind: cache}" },
	{ "secrets", "S: {from: {env: A}, hosts: [a.example]}",
	    "T: {from: {env: A}, hosts: [a.example]}" },
	{ "secrets", "S: {from: {env: A}, hosts: [a.example]}",
	    "S: {from: {file: /a}, hosts: [a.example]}" },
	{ "secrets", "S: {from: {command: [a, b]}, hosts: [a.example]}",
	    "S: {from: {command: [b, a]}, hosts: [a.example]}" },
	{ "secrets", "S: {from: {env: A}, hosts: [a.example]}",
	    "S: {from: {env: A}, hosts: [a.example], as: inject}" },
	/* What stands for a missing one is not known here. */
	{ "secrets", "S: {from: {env: A}, hosts: [a.example]}",
	    "S: {from: {env: A}, hosts: [a.example], in: [authorization, basic, path, body]}" },
};

static void
load_entry(const char *key, const char *entry)
{
	enum policy_kind kind = policy_field_kind(policy_field_find(key));
	bool is_named = kind == POLICY_KIND_NAMED;
	const char *dot = strchr(key, '.');
	char text[1024];

	snprintf(text, sizeof(text), OPEN "%.*s%s%s%s: %s%s%s%s\n",
	    (int)(dot != NULL ? dot - key : 0), key, dot != NULL ? ": {" : "",
	    dot != NULL ? dot + 1 : key, "", is_named ? "{" : "[", entry, is_named ? "}" : "]",
	    dot != NULL ? "}" : "");
	expect_good(text);
	assert_int_equal(value_of(policy_field_find(key))->items_len, 1);
}

/* The first policy is kept, for its record lives in it. */
static bool
ask(const char *key, const char *inner, const char *outer)
{
	enum policy_field field = policy_field_find(key);

	load_entry(key, inner);
	struct policy *policy = t.policy;
	struct policy_item item = value_of(field)->items[0];
	t.policy = NULL;
	load_entry(key, outer);
	bool is_inside = policy_item_is_inside(&item, &value_of(field)->items[0]);
	policy_free(policy);
	return is_inside;
}

static void
what_is_narrower_is_inside(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(inside); i++) {
		const struct pair *row = &inside[i];
		bool is_equal = i == 0; /* 443 is what a missing port stands for */
		assert_true(ask(row->key, row->inner, row->inner));
		assert_true(ask(row->key, row->outer, row->outer));
		if (!ask(row->key, row->inner, row->outer))
			fail_msg("%s is not inside %s", row->inner, row->outer);
		if (ask(row->key, row->outer, row->inner) != is_equal)
			fail_msg("%s is inside %s", row->outer, row->inner);
	}
}

static void
what_cannot_be_told_is_not_inside(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(apart); i++) {
		const struct pair *row = &apart[i];
		if (ask(row->key, row->inner, row->outer))
			fail_msg("%s is inside %s", row->inner, row->outer);
		if (ask(row->key, row->outer, row->inner))
			fail_msg("%s is inside %s", row->outer, row->inner);
	}
}

/* What two layers allow is what each of them does; a default outside it is cut to it. */
static void
layers_meet(void **state)
{
	(void)state;
	assert_int_equal(
	    stack_load_two(BASE
		"network: {allow: [{host: \"*.x.example\", ports: [80, 443]}, {host: b.example}]}\n",
		HEAD "level: open@1\nnetwork: {allow: [{host: a.x.example}, {host: c.example}]}\n"),
	    0);
	assert_string_equal(spelled(POLICY_NETWORK_ALLOW), "[{host: a.x.example, ports: [443]}]");
	expect_code("HLP-21");
	assert_int_equal(stack_load_two(BASE
			     "network: {allow: {allowed: [{host: a.example}], default: []}}\n",
			     HEAD "network: {allow: {default: [{host: b.example}]}}\n"),
	    -1);
	expect_code("HLP-19");
	assert_int_equal(stack_load_two(BASE "network: {deny: [{host: a.example}]}\n",
			     HEAD "network: {deny: [{host: a.example}, {host: b.example}]}\n"),
	    0);
	assert_string_equal(spelled(POLICY_NETWORK_DENY), "[{host: a.example}, {host: b.example}]");
	assert_int_equal(stack_load_two(BASE
			     "ssh: {hosts: [{host: a.example}]}\nlock: [ssh.hosts]\n",
			     HEAD "ssh: {hosts: []}\n"),
	    -1);
	expect_code("HLP-18");
}

/* By name, and a message that a bound was too wide does not repeat what is in it. */
static void
secrets_meet_by_name(void **state)
{
	(void)state;
	assert_int_equal(
	    stack_load_two(BASE
		"secrets:\n  A: {from: {command: [pass, hush]}, hosts: [a.example, b.example]}\n"
		"  B: {from: {env: B}, hosts: [b.example]}\n",
		HEAD "secrets:\n  A: {from: {command: [pass, hush]}, hosts: [a.example]}\n"
		     "  C: {from: {env: C}, hosts: [c.example]}\n"),
	    0);
	assert_string_equal(spelled(POLICY_SECRETS),
	    "{A: {from: {command: [pass, hush]}, hosts: [a.example]}}");
	expect_code("HLP-21");
	assert_null(strstr(stack_text(), "hush"));
	/* A layer that says nothing of them keeps them. */
	assert_int_equal(stack_load_two(BASE "secrets: {A: {from: {fd: 3}, hosts: [a.example]}}\n",
			     HEAD),
	    0);
	assert_int_equal(value_of(POLICY_SECRETS)->items_len, 1);
	assert_string_equal(value_of(POLICY_SECRETS)->items[0].name, "A");
}

/* A field that nobody bounds does not come back as one that is bound to nothing. */
static void
what_is_shown_loads_again(void **state)
{
	struct hl_buf shown;
	struct hl_err err = { 0 };

	(void)state;
	hl_buf_init(&shown, 1 << 18);
	expect_good(OPEN);
	assert_int_equal(policy_show(t.policy, 0, &shown, &err), 0);
	assert_null(strstr(shown.data, "secrets"));
	expect_good(shown.data);
	assert_false(value_of(POLICY_SECRETS)->is_bounded);
	hl_buf_reset(&shown);
	expect_good(OPEN "secrets: {}\n");
	assert_int_equal(policy_show(t.policy, 0, &shown, &err), 0);
	assert_non_null(strstr(shown.data, "\nsecrets: {}\n"));
	hl_buf_done(&shown);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_whole),
		cmocka_unit_test(what_is_narrower_is_inside),
		cmocka_unit_test(what_cannot_be_told_is_not_inside),
		cmocka_unit_test(layers_meet),
		cmocka_unit_test(secrets_meet_by_name),
		cmocka_unit_test(what_is_shown_loads_again),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
