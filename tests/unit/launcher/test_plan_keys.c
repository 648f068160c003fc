/*
 * No key is silent: for every key of policy/fields.def and every backend, some value of it changes
 * the plan or what it is lowered to, or is told to have no effect there. Made from the table: a new
 * key without an enforcer and without a row in backends/controls.def fails here.
 */
#include "plan_fixture.h"
#include "policy/field.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Nothing of a plan shows these: what they do is shown by the test that is named. */
static const struct {
	enum policy_field field;
	const char *shown_by;
} elsewhere[] = {
	{ POLICY_MODE, "tests/run/refuse.sh" },
	{ POLICY_BACKENDS, "tests/unit/launcher/test_plan.c" },
	{ POLICY_AUDIT_REQUIRED, "tests/run/audit.sh" },
	{ POLICY_SESSION_PERSIST, "tests/run/docker_kept.sh" },
	{ POLICY_SESSION_REUSE, "tests/run/docker_kept.sh" },
	{ POLICY_SESSION_LEASE, "tests/run/docker_kept.sh" },
};

/* Of kinds whose values the table does not have, one that is not the default. */
static const struct {
	enum policy_field field;
	const char *value;
} samples[] = {
	{ POLICY_PROCESS_USER, "\"4000:4000\"" },
	{ POLICY_PROCESS_CAPS, "[CHOWN]" },
	{ POLICY_PROCESS_SECCOMP_DENY, "[mknod]" },
	{ POLICY_PROCESS_UMASK, "\"037\"" },
	{ POLICY_PROCESS_APPARMOR, "docker-default" },
	{ POLICY_PROCESS_SELINUX, "type:container_t" },
	{ POLICY_FS_WORKDIR, "{at: /elsewhere, access: ro}" },
	{ POLICY_FS_MOUNTS, "[{src: /usr, dst: /opt/usr}]" },
	{ POLICY_FS_TMPFS, "[{dst: /scratch}]" },
	{ POLICY_FS_DENY, "[/usr/share]" },
	{ POLICY_FS_PROTECT, "[kept]" },
	{ POLICY_FS_DEVICES, "[/dev/fuse]" },
	{ POLICY_NETWORK_PUBLISH, "[\"8080\"]" },
	{ POLICY_NETWORK_USE, "[npm@1]" },
	{ POLICY_NETWORK_ALLOW, "[{host: api.example.com}]" },
	{ POLICY_PROCESS_SECCOMP_FILES, "[{file: /nowhere/p.json, sha256: " DIGEST "}]" },
	{ POLICY_NETWORK_DENY, "[{host: api.example.com}]" },
	{ POLICY_NETWORK_FORWARD, "[{listen: 5432, to: \"db.example.com:5432\"}]" },
	{ POLICY_SSH_HOSTS, "[{host: build.example.com}]" },
	{ POLICY_CLOUD_ACCOUNTS, "[{provider: modal}]" },
	{ POLICY_FILES, "[{src: /srv/skills, kind: skills}]" },
	{ POLICY_SECRETS, "{TOKEN: {from: {env: CI_TOKEN}, hosts: [api.example.com]}}" },
	{ POLICY_EGRESS_PROXY_URL, "https://proxy.example:3128" },
	{ POLICY_EGRESS_PROXY_CA, "/etc/ssl/ca.pem" },
	{ POLICY_ENV_PASS, "[SAMPLE]" },
	{ POLICY_ENV_SET, "{FIXED: word}" },
	{ POLICY_ENV_DENY, "[SAMPLE]" },
	{ POLICY_IMAGE, "[\"y@sha256:" DIGEST "\"]" },
	{ POLICY_DOCKER_ENDPOINT, "/run/other.sock" },
	{ POLICY_DOCKER_RUNTIME, "[runsc]" },
	{ POLICY_ENGINE_ARGS, "[\"--label=*\"]" },
	{ POLICY_AUDIT_REDACT, "[\"tok_*\"]" },
	{ POLICY_AUDIT_ANCHOR, "[\"syslog:local0\"]" },
	{ POLICY_AUDIT_REQUIRE_LABELS, "[ticket]" },
	{ POLICY_AUDIT_DIR, "/var/log/agents" },
	{ POLICY_EXEC_ALLOWED, "[/usr/bin/git]" },
};

enum {
	VALUES_MAX = 12,
	VALUE_SIZE = 160,
};

struct values {
	char v[VALUES_MAX][VALUE_SIZE];
	size_t len;
};

static void
add(struct values *values, const char *text)
{
	assert_true(values->len < VALUES_MAX);
	snprintf(values->v[values->len++], VALUE_SIZE, "%s", text);
}

/* What the table itself says a value can be. */
static void
values_of(enum policy_field field, struct values *values)
{
	const struct policy_field_info *info = policy_field_info(field);
	char text[VALUE_SIZE];

	values->len = 0;
	for (size_t i = 0; i < HL_ARRAY_SIZE(samples); i++)
		if (samples[i].field == field)
			add(values, samples[i].value);
	if (info->kind == POLICY_KIND_BOOL || info->kind == POLICY_KIND_HOME ||
	    info->kind == POLICY_KIND_ENUM) {
		for (size_t i = 0; info->words[i] != NULL; i++) {
			if (info->kind == POLICY_KIND_HOME && strcmp(info->words[i], "bind") == 0)
				continue;
			add(values, info->words[i]);
		}
	} else if (policy_kind_is_number(info->kind)) {
		uint64_t number = info->min > 0 ? info->min * 2 : 1 << 20;
		snprintf(text, sizeof(text),
		    info->kind == POLICY_KIND_INT        ? "%llu"
		    : info->kind == POLICY_KIND_SIZE     ? "%lluB"
		    : info->kind == POLICY_KIND_DURATION ? "%llums"
							 : "0.%llu",
		    (unsigned long long)number);
		add(values, text);
	}
	if (values->len == 0)
		fail_msg("%s: give a sample of it", info->key);
}

/* "a.b.c" and "v" as a policy: a:\n  b:\n    c: v */
static void
write_key(char *text, size_t size, const char *key, const char *value)
{
	struct hl_buf buf;
	int depth = 0;

	hl_buf_init(&buf, size);
	hl_buf_puts(&buf, "backends: [local, docker]\n");
	for (const char *part = key; part != NULL; depth++) {
		size_t len = strcspn(part, ".");
		bool is_last = part[len] == '\0';
		/* image.digest is below image, which is a key itself. */
		hl_buf_putf(&buf, "%*s%.*s:%s%s\n", depth * 2, "", (int)len, part,
		    is_last ? " " : "", is_last ? value : "");
		part = is_last ? NULL : part + len + 1;
	}
	snprintf(text, size, "%s", buf.data);
	hl_buf_done(&buf);
}

static void
print_plan(const struct fixture *fixture, const struct lowered *lowered, struct hl_buf *out)
{
	const struct plan *plan = &fixture->plan;

	for (size_t i = 0; i < lowered->lines_len; i++)
		hl_buf_putf(out, "%s\n", lowered->lines[i].text);
	hl_buf_put(out, lowered->body.data, lowered->body.len);
	for (size_t i = 0; i < PLAN_LIMIT_MAX; i++)
		hl_buf_putf(out, "limit %zu %d %llu\n", i, plan->limits[i].has,
		    (unsigned long long)plan->limits[i].value);
	for (size_t i = 0; i < plan->env_len; i++)
		hl_buf_putf(out, "%s=%s\n", plan->env[i].name, plan->env[i].value);
	for (size_t i = 0; i < plan->deny.len; i++)
		hl_buf_putf(out, "deny %s\n", plan->deny.v[i]);
	hl_buf_putf(out,
	    "uid %u root %d nnp %d umask %o landlock %d isolation %u image %s %d %u rootless %d at %s\n",
	    plan->uid, plan->allow_root, plan->no_new_privs, plan->umask, plan->landlock,
	    plan->isolation, plan->image != NULL ? plan->image : "", plan->image_digest, plan->pull,
	    plan->needs_rootless, plan->endpoint != NULL ? plan->endpoint : "");
}

/* The plan as text, and whether the key was told of. False: refused. */
static bool
look(struct fixture *fixture, const char *key, struct hl_buf *out, bool *ret_is_told)
{
	struct lowered lowered;
	struct plan_notes notes;
	char told[160];

	snprintf(told, sizeof(told), "%s has no effect on ", key);
	hl_buf_reset(out);
	*ret_is_told = false;
	if (build_plan(fixture) != 0) {
		*ret_is_told = strncmp(fixture->err.msg, told, strlen(told)) == 0;
		hl_buf_putf(out, "refused: %s", fixture->err.msg);
		return false;
	}
	assert_int_equal(plan_notes(fixture->policy, &fixture->host, &fixture->plan, &notes,
			     &fixture->err),
	    0);
	const struct hl_strv *lists[] = { &notes.warnings, &notes.lines };
	for (size_t i = 0; i < HL_ARRAY_SIZE(lists); i++)
		for (size_t j = 0; j < lists[i]->len; j++)
			if (strncmp(lists[i]->v[j], told, strlen(told)) == 0)
				*ret_is_told = true;
	plan_notes_done(&notes);
	const struct backend *backend = backend_find(fixture->plan.backend, &fixture->err);
	assert_non_null(backend);
	lowered_init(&lowered);
	if (backend->lower(&fixture->plan, &lowered, &fixture->err) == 0)
		print_plan(fixture, &lowered, out);
	else
		hl_buf_putf(out, "refused: %s", fixture->err.msg);
	lowered_done(&lowered);
	return true;
}

static const char *const backends[] = { "local", "docker" };

static void
load(struct fixture *fixture, const char *backend, const char *key, const char *value)
{
	char text[1024];

	if (key[0] != '\0')
		write_key(text, sizeof(text), key, value);
	else
		snprintf(text, sizeof(text), "backends: [local, docker]\n");
	if (strncmp(key, "image", 5) != 0)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    "image: [\"x@sha256:" DIGEST "\"]\n");
	/* The default backend is the first. */
	if (strcmp(backend, "docker") == 0)
		memcpy(strstr(text, "[local, docker]"), "[docker, local]", 15);
	if (load_text(fixture, "open@1", text) != 0)
		fail_msg("%s: %s: %s", key, value,
		    fixture->findings.len > 0 ? fixture->findings.items[0].message
					      : fixture->err.msg);
}

static bool
is_elsewhere(enum policy_field field)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(elsewhere); i++)
		if (elsewhere[i].field == field)
			return true;
	return false;
}

static bool
has_row(const char *key, enum backend_id id)
{
	for (unsigned i = 0; i < CONTROL_MAX; i++) {
		const struct control_info *info = control_info((enum control)i);
		if (strcmp(info->name, key) == 0)
			return info->enforcer[id] == ENFORCER_NONE;
	}
	return false;
}

static void
check_field(struct fixture *fixture, enum policy_field field, const char *backend,
    const struct hl_buf *plain)
{
	const char *key = policy_field_key(field);
	enum backend_id id = strcmp(backend, "docker") == 0 ? BACKEND_DOCKER : BACKEND_LOCAL;
	struct values values;
	struct hl_buf here;
	bool is_seen = false, is_told;

	hl_buf_init(&here, 1 << 20);
	values_of(field, &values);
	for (size_t i = 0; i < values.len; i++) {
		load(fixture, backend, key, values.v[i]);
		look(fixture, key, &here, &is_told);
		assert_false(here.failed);
		/* A key that nobody applies here is told of whatever it says. */
		if (has_row(key, id) && !is_told)
			fail_msg("%s: %s is silent on %s", key, values.v[i], backend);
		is_seen = is_seen || is_told || strcmp(here.data, plain->data) != 0;
	}
	if (!is_seen)
		fail_msg("%s changes nothing on %s, and is not told of", key, backend);
	hl_buf_done(&here);
}

static void
no_key_is_silent(void **state)
{
	struct fixture *fixture = *state;
	struct hl_buf plain;
	bool is_told;

	fixture->host.uid = fixture->host.gid = 0;
	fixture->host.user = "root";
	make_dir(at(fixture, "work/kept"));
	set_variable(fixture, "SAMPLE=1");
	set_variable(fixture, "OTHER=1");
	hl_buf_init(&plain, 1 << 20);
	for (size_t b = 0; b < HL_ARRAY_SIZE(backends); b++) {
		load(fixture, backends[b], "", "");
		assert_true(look(fixture, "", &plain, &is_told));
		for (size_t i = 0; i < POLICY_FIELD_MAX; i++)
			if (!is_elsewhere((enum policy_field)i))
				check_field(fixture, (enum policy_field)i, backends[b], &plain);
	}
	hl_buf_done(&plain);
}

/* The levels but open@1 allow neither scrub nor the host's network. */
static void
assert_open_refused(struct fixture *fixture, const char *text, const char *key)
{
	assert_int_equal(load_text(fixture, "open@1", text), 0);
	assert_int_equal(build_plan(fixture), -1);
	assert_int_equal(fixture->err.code, HLD_20);
	assert_non_null(strstr(fixture->err.msg, key));
}

static void
assert_open_planned(struct fixture *fixture, const char *text)
{
	assert_int_equal(load_text(fixture, "open@1", text), 0);
	if (build_plan(fixture) != 0)
		fail_msg("%s: %s", text, fixture->err.msg);
}

/* What is stricter than what happens anyway is refused; what is looser, or given up by
 * degrade.allow, is told. */
static void
what_is_looser_is_refused(void **state)
{
	static const char *const asked[] = { "docker: {runtime: [runsc]}" };
	struct fixture *fixture = *state;
	char text[256];

	assert_refused(fixture, "process: {core_dumps: false}\n", HLD_20, "process.core_dumps");
	assert_planned(fixture, "process: {core_dumps: true}\n");
	assert_planned(fixture, "mode: warn\nprocess: {core_dumps: false}\n");
	assert_planned(fixture,
	    "process: {core_dumps: false}\ndegrade: {allow: [process.core_dumps]}\n");
	assert_refused(fixture, "limits: {cpu_time: 5s}\n", HLD_20, "limits.cpu_time");
	assert_planned(fixture, "limits: {cpu_time: unlimited}\n");
	assert_refused(fixture, "process: {seccomp: {action: kill}}\n", HLD_20, "action");
	assert_planned(fixture, "process: {seccomp: {action: log}}\n");
	assert_planned(fixture, "process: {namespaces: {pid: private}}\n");
	assert_open_refused(fixture,
	    "local: {isolation: scrub}\nprocess: {namespaces: {pid: private}}\n",
	    "process.namespaces.pid");
	assert_open_refused(fixture, "network: {mode: host, dns: none}\n", "network.dns");
	assert_planned(fixture, "network: {mode: none, dns: none}\n");
	assert_planned(fixture, "network: {publish: [\"8080\"]}\n");
	assert_refused(fixture, "ssh: {config: none}\n", HLD_20, "ssh.config");
	assert_planned(fixture, "backends: [local, ssh]\nssh: {config: none}\n");
	/* What is docker's own waits for no other engine that is allowed beside it. */
	for (size_t i = 0; i < HL_ARRAY_SIZE(asked); i++) {
		snprintf(text, sizeof(text),
		    "backends: [docker, podman]\nimage: [\"x@sha256:" DIGEST "\"]\n%s\n", asked[i]);
		assert_refused(fixture, text, HLD_20, "docker.");
		snprintf(text, sizeof(text), "backends: [local, podman]\n%s\n", asked[i]);
		assert_planned(fixture, text);
	}
	/* Nothing removes a record, so all days are kept that anybody asks for. */
	assert_planned(fixture, "audit: {retention: 3650}\n");
	assert_refused(fixture, "env: {deny: [X]}\n", HLD_20, "env.deny");
	assert_planned(fixture, "env: {deny: []}\n");
}

/* What is not reached, or not given, is no loss of a protection; what is reached, is. */
static void
rules_without_a_proxy(void **state)
{
	static const struct {
		const char *network, *rest, *key;
		bool is_gift;
	} rules[] = {
		{ ", allow: []", "", "network.allow", false },
		{ ", allow: [{host: a.example}]", "", "network.allow", false },
		{ ", deny: [{host: a.example}]", "", "network.deny", false },
		{ ", deny: []", "", "", true },
		{ ", forward: [{listen: 1, to: \"a.example:1\"}]", "", "", true },
		{ "", "files: [{src: /srv/x, kind: cache}]", "", true },
		{ "", "secrets: {T: {from: {env: T}, hosts: [a.example]}}", "secrets", false },
		{ "", "secrets: {}", "", true },
		{ "", "ssh: {hosts: []}", "", true },
		{ "", "cloud: {accounts: []}", "", true },
	};
	struct fixture *fixture = *state;
	char text[256];

	for (size_t i = 0; i < HL_ARRAY_SIZE(rules); i++) {
		snprintf(text, sizeof(text), "network: {mode: none%s}\n%s\n", rules[i].network,
		    rules[i].rest);
		assert_planned(fixture, text);
		snprintf(text, sizeof(text), "network: {mode: host%s}\n%s\n", rules[i].network,
		    rules[i].rest);
		if (rules[i].is_gift)
			assert_open_planned(fixture, text);
		else
			assert_open_refused(fixture, text, rules[i].key);
	}
	assert_refused(fixture, "ssh: {hosts: [{host: a.example}]}\n", HLD_20, "ssh.hosts");
	assert_planned(fixture, "backends: [local, ssh]\nssh: {hosts: [{host: a.example}]}\n");
	assert_refused(fixture, "cloud: {accounts: [{provider: modal}]}\n", HLD_20, "accounts");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_key_is_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_looser_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(rules_without_a_proxy, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
