/*
 * The host's trust and the signatures of a stack: each refusal beside the same files accepted.
 * hl-seal is the real one (HL_SEAL, or that of the sanitizers' build).
 */
#include "policy/note.h"
#include "policy/revisions.h"
#include "policy/seal/seal.h"
#include "stack.h"

#include "base/banned.h"

#define ORG "version: 1\nid: acme/base\nlayer: org\nrevision: 7\nlevel: open@1\n"

enum {
	KEYS = 3
};

static struct {
	struct seal_key *key[KEYS];
	struct note_key public[KEYS];
	char text[KEYS][NOTE_KEY_TEXT_MAX];
	char seal[64], trust[128], state[128];
	struct policy_load_request request;
} s;

static const char *const org_file = "org.yaml";

static void
make_keys(void)
{
	static const char *const names[KEYS] = { "a.example", "b.example", "c.example" };

	for (size_t i = 0; i < KEYS; i++) {
		unsigned char seed[32] = { (unsigned char)(i + 1) }, public[32];
		struct hl_buf text;
		assert_int_equal(seal_key_from_seed(seed, &s.key[i], &t.err), 0);
		assert_int_equal(seal_key_public(s.key[i], public, &t.err), 0);
		policy_note_key_init(&s.public[i], names[i], public);
		hl_buf_init(&text, NOTE_KEY_TEXT_MAX);
		policy_note_put_key(&text, &s.public[i]);
		snprintf(s.text[i], sizeof(s.text[i]), "%s", text.data);
		hl_buf_done(&text);
	}
}

static void
remove_in(const char *name)
{
	char path[256];

	stack_path(path, sizeof(path), name);
	(void)unlink(path);
}

static int
setup(void **state)
{
	const char *seal = getenv("HL_SEAL");

	if (stack_setup(state) != 0)
		return -1;
	make_keys();
	snprintf(s.seal, sizeof(s.seal), "%s", seal != NULL ? seal : "build/san/hl-seal");
	stack_path(s.trust, sizeof(s.trust), "trust.yaml");
	stack_path(s.state, sizeof(s.state), "state");
	s.request = (struct policy_load_request){
		.files = &org_file,
		.files_len = 1,
		.cwd = t.dir,
		.caller = getuid(),
		.trust_file = s.trust,
		.trust_owner = getuid(),
		.seal_path = s.seal,
		.state_dir = s.state,
	};
	return 0;
}

static int
teardown(void **state)
{
	for (size_t i = 0; i < KEYS; i++)
		seal_key_free(s.key[i]);
	remove_in("state/revisions");
	remove_in("state/revisions.lock");
	(void)rmdir(s.state);
	return stack_teardown(state);
}

/* The note over file as it stands, signed by keys of that bit mask. */
static void
sign(const char *file, const struct policy_statement *statement, unsigned mask)
{
	struct hl_buf note, lines;
	char name[64];

	hl_buf_init(&note, NOTE_MAX);
	hl_buf_init(&lines, NOTE_MAX);
	policy_statement_put(&note, statement);
	for (size_t i = 0; i < KEYS; i++) {
		unsigned char signature[64];
		if ((mask >> i & 1) == 0)
			continue;
		assert_int_equal(seal_key_sign(s.key[i], note.data, note.len, signature, &t.err),
		    0);
		policy_note_put_signature(&lines, &s.public[i], signature);
	}
	hl_buf_putc(&note, '\n');
	hl_buf_put(&note, lines.data, lines.len);
	snprintf(name, sizeof(name), "%s.sig", file);
	stack_write(name, note.data, note.len);
	hl_buf_done(&lines);
	hl_buf_done(&note);
}

static struct policy_statement
statement_of(const char *text, uint64_t revision)
{
	struct policy_statement statement = { .id = "acme/base", .revision = revision };

	hl_sha256_text(text, strlen(text), statement.sha256);
	return statement;
}

static void
write_signed(const char *text, unsigned mask)
{
	struct policy_statement statement = statement_of(text, 7);

	stack_write(org_file, text, strlen(text));
	sign(org_file, &statement, mask);
}

static void write_trust(const char *format, ...) HL_PRINTF(1, 2);

static void
write_trust(const char *format, ...)
{
	struct hl_buf text;
	va_list ap;

	hl_buf_init(&text, 65536);
	hl_buf_puts(&text, "version: 1\nlayers:\n");
	va_start(ap, format);
	hl_buf_vputf(&text, format, ap);
	va_end(ap);
	stack_write("trust.yaml", text.data, text.len);
	hl_buf_done(&text);
}

static void
expect_refused(const char *id)
{
	if (stack_load_request(&s.request) == 0)
		fail_msg("accepted, not %s", id);
	if (stack_find(id) == NULL && hl_code_from_id(id) != t.err.code)
		fail_msg("no %s in: %s\n%s", id, t.err.msg, stack_text());
}

static const char *
expect_accepted(void)
{
	if (stack_load_request(&s.request) != 0)
		fail_msg("refused: %s\n%s", t.err.msg, stack_text());
	return policy_layer_at(t.policy, policy_layers_len(t.policy) - 1)->signer;
}

/* ------------------------------------------------------------------------------------------------
 * Whether it is signed, and by whom
 */
static void
without_a_trust_file_nothing_is_asked_for(void **state)
{
	(void)state;
	remove_in("trust.yaml");
	remove_in("org.yaml.sig");
	stack_write(org_file, ORG, strlen(ORG));
	assert_null(expect_accepted());
	/* Not even hl-seal. */
	write_signed(ORG, 1);
	s.request.seal_path = "/nonexistent/hl-seal";
	assert_null(expect_accepted());
	s.request.seal_path = s.seal;
}

static void
signed_is_accepted_and_unsigned_is_not(void **state)
{
	(void)state;
	write_trust("  org: {keys: [\"%s\"]}\n", s.text[0]);
	write_signed(ORG, 1);
	assert_string_equal(expect_accepted(), "a.example");
	remove_in("org.yaml.sig");
	expect_refused("HLS-03");
	write_trust("  org: {keys: [\"%s\"], unsigned: true}\n", s.text[0]);
	assert_null(expect_accepted());
	/* A layer that the trust file does not name takes nothing. */
	write_trust("  team: {keys: [\"%s\"]}\n", s.text[0]);
	expect_refused("HLS-03");
	write_signed(ORG, 1);
	expect_refused("HLS-07");
}

static void
another_key_is_no_signer(void **state)
{
	(void)state;
	write_trust("  org: {keys: [\"%s\"]}\n", s.text[0]);
	write_signed(ORG, 2);
	expect_refused("HLS-07");
	/* Beside the right one it does no harm. */
	write_signed(ORG, 3);
	assert_string_equal(expect_accepted(), "a.example");
	/* Where unsigned is accepted, it counts as that. */
	write_signed(ORG, 2);
	write_trust("  org: {keys: [\"%s\"], unsigned: true}\n", s.text[0]);
	assert_null(expect_accepted());
}

static void
a_wrong_signature_is_refused(void **state)
{
	struct policy_statement other = statement_of(ORG, 8);
	char path[256], note[2048] = { 0 };

	(void)state;
	write_signed(ORG, 1);
	stack_path(path, sizeof(path), "org.yaml.sig");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = hl_read_full(fd, note, sizeof(note) - 1);
	close(fd);
	assert_true(n > 0);
	/* The right key's line, over another text. */
	sign(org_file, &other, 1);
	char *digit = strstr(note, "revision 7");
	assert_non_null(digit);
	digit[9] = '8';
	stack_write("org.yaml.sig", note, (size_t)n);
	write_trust("  org: {keys: [\"%s\"]}\n", s.text[0]);
	expect_refused("HLS-05");
	/* Also where unsigned is accepted: somebody changed it. */
	write_trust("  org: {keys: [\"%s\"], unsigned: true}\n", s.text[0]);
	expect_refused("HLS-05");
	digit[9] = '7';
	stack_write("org.yaml.sig", note, (size_t)n);
	assert_string_equal(expect_accepted(), "a.example");
}

static void
as_many_sign_as_the_threshold_says(void **state)
{
	struct policy_statement statement = statement_of(ORG, 7);
	struct hl_buf twice;
	unsigned char signature[64];

	(void)state;
	write_trust("  org: {keys: [\"%s\", \"%s\", \"%s\"], threshold: 2}\n", s.text[0], s.text[1],
	    s.text[2]);
	write_signed(ORG, 4);
	expect_refused("HLS-08");
	write_signed(ORG, 5);
	assert_string_equal(expect_accepted(), "a.example, c.example");
	write_signed(ORG, 7);
	assert_string_equal(expect_accepted(), "a.example, b.example, c.example");
	/* One key twice is one signer. */
	hl_buf_init(&twice, NOTE_MAX);
	policy_statement_put(&twice, &statement);
	assert_int_equal(seal_key_sign(s.key[0], twice.data, twice.len, signature, &t.err), 0);
	hl_buf_putc(&twice, '\n');
	for (int i = 0; i < 2; i++)
		policy_note_put_signature(&twice, &s.public[0], signature);
	stack_write("org.yaml.sig", twice.data, twice.len);
	hl_buf_done(&twice);
	expect_refused("HLS-08");
}

/* ------------------------------------------------------------------------------------------------
 * What it is a signature of
 */
static void
other_bytes_ids_and_revisions_are_refused(void **state)
{
	struct policy_statement statement = statement_of(ORG, 7);

	(void)state;
	write_trust("  org: {keys: [\"%s\"]}\n", s.text[0]);
	write_signed(ORG, 1);
	assert_non_null(expect_accepted());
	stack_write(org_file, ORG "# changed\n", strlen(ORG "# changed\n"));
	expect_refused("HLS-06");
	stack_write(org_file, ORG, strlen(ORG));
	statement.revision = 8;
	sign(org_file, &statement, 1);
	expect_refused("HLS-06");
	statement.revision = 7;
	snprintf(statement.id, sizeof(statement.id), "acme/other");
	sign(org_file, &statement, 1);
	expect_refused("HLS-06");
}

static void
a_signature_ends_when_it_says(void **state)
{
	struct policy_statement statement = statement_of(ORG, 7);

	(void)state;
	write_trust("  org: {keys: [\"%s\"]}\n", s.text[0]);
	stack_write(org_file, ORG, strlen(ORG));
	snprintf(statement.not_after, sizeof(statement.not_after), "2001-01-01T00:00:00Z");
	sign(org_file, &statement, 1);
	expect_refused("HLS-09");
	snprintf(statement.not_after, sizeof(statement.not_after), "2999-01-01T00:00:00Z");
	sign(org_file, &statement, 1);
	assert_non_null(expect_accepted());
}

static void
what_is_no_note_is_refused(void **state)
{
	static const char *const bad[] = { "", "x\n", "hermes-launch/policy/v1\n\n" };
	char path[256];

	(void)state;
	write_trust("  org: {keys: [\"%s\"], unsigned: true}\n", s.text[0]);
	stack_write(org_file, ORG, strlen(ORG));
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		stack_write("org.yaml.sig", bad[i], strlen(bad[i]));
		expect_refused("HLS-04");
	}
	remove_in("org.yaml.sig");
	stack_path(path, sizeof(path), "org.yaml.sig");
	assert_int_equal(symlink("/dev/null", path), 0);
	expect_refused("HLS-04");
	remove_in("org.yaml.sig");
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_refused("HLS-04");
	remove_in("org.yaml.sig");
	assert_null(expect_accepted());
}

/* ------------------------------------------------------------------------------------------------
 * The trust file
 */
static void
a_trust_file_of_others_is_not_believed(void **state)
{
	(void)state;
	write_trust("  org: {unsigned: true}\n");
	stack_write(org_file, ORG, strlen(ORG));
	assert_null(expect_accepted());
	assert_int_equal(chmod(s.trust, 0622), 0);
	expect_refused("HLS-01");
	assert_int_equal(chmod(s.trust, 0600), 0);
	/* Not the caller's own, but for who may own it. */
	if (geteuid() == 0)
		assert_int_equal(chown(s.trust, 65534, 65534), 0);
	s.request.trust_owner = 0;
	expect_refused("HLS-01");
	s.request.trust_owner = geteuid() == 0 ? 65534 : getuid();
	assert_null(expect_accepted());
	s.request.trust_owner = getuid();
	/* What cannot be looked for is not absent. */
	s.request.trust_file = "/dev/null/trust.yaml";
	expect_refused("HLS-01");
	s.request.trust_file = s.trust;
	remove_in("trust.yaml");
	assert_int_equal(symlink("/nonexistent", s.trust), 0);
	expect_refused("HLS-01");
	remove_in("trust.yaml");
}

static void
a_trust_file_with_a_fault_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"version: 2\nlayers: {}\n",
		"layers: {}\nversion: 1\n",
		"version: 1\n",
		"version: 1\nlayers:\n  org: {}\n",
		"version: 1\nlayers:\n  org: {threshold: 1}\n",
		"version: 1\nlayers:\n  org: {keys: []}\n",
		"version: 1\nlayers:\n  org: {keys: [abc]}\n",
	};
	static const char good[] = "version: 1\nlayers:\n  org: {unsigned: true}\n";

	(void)state;
	stack_write(org_file, ORG, strlen(ORG));
	remove_in("org.yaml.sig");
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		stack_write("trust.yaml", bad[i], strlen(bad[i]));
		expect_refused("HLS-02");
	}
	write_trust("  org: {keys: [\"%s\"], threshold: 2}\n", s.text[0]);
	expect_refused("HLS-02");
	/* One key, or one name, that would count twice. */
	write_trust("  org: {keys: [\"%s\", \"%s\"]}\n", s.text[0], s.text[0]);
	expect_refused("HLS-02");
	write_trust("  ogr: {unsigned: true}\n");
	expect_refused("HLP-04");
	write_trust("  org: {unsigned: yes}\n");
	expect_refused("HLP-11");
	write_trust("  org: {unsigned: true}\n  org: {unsigned: true}\n");
	expect_refused("HLY-06");
	stack_write("trust.yaml", good, strlen(good));
	assert_null(expect_accepted());
}

static void
without_hl_seal_a_signature_is_worth_nothing(void **state)
{
	(void)state;
	write_trust("  org: {keys: [\"%s\"], unsigned: true}\n", s.text[0]);
	write_signed(ORG, 1);
	s.request.seal_path = NULL;
	expect_refused("HLS-13");
	s.request.seal_path = "/nonexistent/hl-seal";
	expect_refused("HLS-13");
	s.request.seal_path = "/bin/true";
	expect_refused("HLS-13");
	s.request.seal_path = s.seal;
	assert_non_null(expect_accepted());
}

/* ------------------------------------------------------------------------------------------------
 * Revisions, and layers that others count on
 */
static void
an_older_revision_is_refused(void **state)
{
	static const char older[] = "version: 1\nid: acme/base\nlayer: org\nrevision: 6\n"
				    "level: open@1\n";
	struct policy_statement statement = statement_of(older, 6);

	(void)state;
	write_trust("  org: {keys: [\"%s\"]}\n", s.text[0]);
	stack_write(org_file, older, strlen(older));
	sign(org_file, &statement, 1);
	assert_non_null(expect_accepted());
	write_signed(ORG, 1);
	assert_non_null(expect_accepted());
	assert_int_equal(policy_remember(t.policy, s.state, &t.err), 0);
	assert_non_null(expect_accepted());
	stack_write(org_file, older, strlen(older));
	sign(org_file, &statement, 1);
	expect_refused("HLP-33");
	/* Unsigned ones have no memory. */
	write_trust("  org: {unsigned: true}\n");
	assert_null(expect_accepted());
	assert_int_equal(policy_remember(t.policy, s.state, &t.err), 0);
	/* Without certainty there is no start. */
	write_trust("  org: {keys: [\"%s\"]}\n", s.text[0]);
	write_signed(ORG, 1);
	stack_write("state/revisions", "acme/base 7\n", 12);
	expect_refused("HLS-14");
	remove_in("state/revisions");
	assert_non_null(expect_accepted());
}

/* From root, who runs this test, to an ordinary caller. */
static void
give_away(const char *name)
{
	char path[256];

	if (geteuid() != 0)
		return;
	stack_path(path, sizeof(path), name);
	assert_int_equal(chown(path, 65534, 65534), 0);
	s.request.caller = 65534;
}

/* Else whoever may name any file could take a layer's id. */
static void
a_signed_file_counts_on_signed_ones(void **state)
{
	static const char needs[] = "version: 1\nid: acme/base\nlayer: org\nrevision: 7\n"
				    "level: open@1\nrequires: [{id: acme/team, revision: 1}]\n";
	static const char team[] = "version: 1\nid: acme/team\nrevision: 1\n";
	static const char *const both[] = { "org.yaml", "team.yaml" };
	struct policy_statement statement = statement_of(team, 1);

	(void)state;
	stack_write("team.yaml", team, strlen(team));
	write_signed(needs, 1);
	/* Root's own files need nobody to vouch for them. */
	give_away("team.yaml");
	s.request.files = both;
	s.request.files_len = 2;
	write_trust("  org: {keys: [\"%s\"]}\n  task: {keys: [\"%s\"], unsigned: true}\n",
	    s.text[0], s.text[1]);
	expect_refused("HLP-24");
	snprintf(statement.id, sizeof(statement.id), "acme/team");
	sign("team.yaml", &statement, 2);
	assert_string_equal(expect_accepted(), "b.example");
	remove_in("team.yaml.sig");
	write_trust("  org: {unsigned: true}\n  task: {unsigned: true}\n");
	/* What root's own file needs must be root's, too, or signed; what anybody's needs,
	 * anybody's. */
	if (geteuid() == 0)
		expect_refused("HLP-24");
	give_away(org_file);
	assert_null(expect_accepted());
	remove_in(org_file);
	s.request.files = &org_file;
	s.request.files_len = 1;
	s.request.caller = getuid();
}

/* What is accepted of root's own directory is not of a file that only says so. */
static void
the_host_layer_is_of_its_directory(void **state)
{
	static const char host[] = "version: 1\nid: acme/host\nlayer: host\nlevel: open@1\n";
	char dir[128];

	(void)state;
	write_trust("  host: {unsigned: true}\n");
	remove_in("org.yaml.sig");
	stack_write(org_file, host, strlen(host));
	expect_refused("HLS-03");
	stack_path(dir, sizeof(dir), "policy.d");
	assert_int_equal(mkdir(dir, 0700), 0);
	stack_write("policy.d/a.yaml", host, strlen(host));
	s.request.host_dir = dir;
	write_trust("  host: {unsigned: true}\n  org: {unsigned: true}\n");
	stack_write(org_file, ORG, strlen(ORG));
	assert_null(expect_accepted());
	s.request.host_dir = NULL;
	remove_in("policy.d/a.yaml");
	(void)rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_trust_file_nothing_is_asked_for),
		cmocka_unit_test(signed_is_accepted_and_unsigned_is_not),
		cmocka_unit_test(another_key_is_no_signer),
		cmocka_unit_test(a_wrong_signature_is_refused),
		cmocka_unit_test(as_many_sign_as_the_threshold_says),
		cmocka_unit_test(other_bytes_ids_and_revisions_are_refused),
		cmocka_unit_test(a_signature_ends_when_it_says),
		cmocka_unit_test(what_is_no_note_is_refused),
		cmocka_unit_test(a_trust_file_of_others_is_not_believed),
		cmocka_unit_test(a_trust_file_with_a_fault_is_refused),
		cmocka_unit_test(without_hl_seal_a_signature_is_worth_nothing),
		cmocka_unit_test(an_older_revision_is_refused),
		cmocka_unit_test(a_signed_file_counts_on_signed_ones),
		cmocka_unit_test(the_host_layer_is_of_its_directory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
