/*
 * What contradicts itself is told with both places: in one file, and between two layers in either
 * order. Each row of contradictions.def has its texts here, in which ^ stands before the place of
 * its first key and ~ before that of the other.
 */
#include "policy/state.h"
#include "stack.h"

#include "base/banned.h"

enum row {
#define CONTRADICTION(symbol, ...) ROW_##symbol,
#include "policy/contradictions.def"
#undef CONTRADICTION
	ROW_MAX
};

static const struct {
	const char *name, *code;
	enum policy_severity severity;
	enum policy_across across;
} rows[] = {
#define CONTRADICTION(symbol, code, severity, across, ...) \
 { #symbol, #code, POLICY_##severity, POLICY_ACROSS_##across },
#include "policy/contradictions.def"
#undef CONTRADICTION
};

#define KEY       "host_key: \"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\""
#define SSH       "backends: [ssh]\nssh:\n  hosts: [{host: ci.example, " KEY "}]\n"
#define DIGEST    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_LIST "[{file: /p.json, sha256: " DIGEST "}]"
#define MOUNT     "{src: /a, dst: /d}"
#define TMPFS     "{dst: /d, size: 1MiB, exec: false}"
#define SECRET    "{from: {env: T}, hosts: [b.example]}"

/* `file` says in one file what `key` and `by` say in two; the siblings are good. */
struct contradiction {
	enum row row;
	const char *file, *key, *by;
	const char *siblings[3];
};

static const struct contradiction contradictions[] = {
	{ ROW_ALLOW, "network:\n  mode: ~none\n  allow: ^[{host: a.example}]\n",
	    "network: {allow: ^[{host: a.example}]}\n", "network: {mode: ~none}\n",
	    { "network:\n  mode: none\n  allow: []\n",
		"network:\n  mode: {max: proxy, default: none}\n  allow: [{host: a.example}]\n" } },
	{ ROW_BACKENDS, "backends: ^[]\n", "backends: ^[podman]\n", "backends: ~[docker]\n",
	    { "backends: [docker]\n" } },
	{ ROW_CAPS, "process:\n  caps: ^[CHOWN]\n  seccomp: {profile: ~strict}\n",
	    "process: {caps: ^[CHOWN]}\n", "process: {seccomp: {profile: ~strict}}\n",
	    { "process:\n  caps: []\n  seccomp: {profile: strict}\n",
		"process:\n  caps: [CHOWN]\n  seccomp: {profile: default}\n" } },
	{ ROW_DENIED, "fs:\n  deny: [~/a/b]\n  mounts: [^{src: /a/b/c, dst: /d}]\n",
	    "fs: {mounts: [^{src: /a/b, dst: /d}]}\n", "fs: {deny: [/x, ~/a/b]}\n",
	    { "fs:\n  deny: [/a/b]\n  mounts: [{src: /a, dst: /d}, {src: /a/bc, dst: /e}]\n",
		"fs:\n  deny: [/a/b/**, \"/a/*/x\"]\n  mounts: [{src: /a/b, dst: /d}]\n",
		"fs:\n  deny: [/a]\n  mounts: [{src: a, dst: /d, kind: volume}]\n" } },
	{ ROW_DENIED, "fs:\n  deny: [~/]\n  mounts: [^{src: /a, dst: /d}]\n",
	    "fs: {mounts: [^{src: /a, dst: /d}]}\n", "fs: {deny: [/x, ~/]}\n",
	    { "fs:\n  deny: [/b]\n  mounts: [{src: /a, dst: /d}]\n" } },
	{ ROW_DENIED, "fs:\n  deny: [~/a/**]\n  workdir: ^{path: /a/b}\n",
	    "fs: {workdir: ^{path: /a/b}}\n", "fs: {deny: [~/a/**]}\n", { NULL } },
	{ ROW_DNS, "network:\n  mode: ~none\n  dns: ^system\n", "network: {dns: ^system}\n",
	    "network: {mode: ~none}\n",
	    { "network:\n  mode: none\n  dns: proxy\n", "network:\n  mode: bridge\n  dns: system\n",
		"network:\n  mode: none\n  dns: {max: system, default: none}\n" } },
	{ ROW_ENV, "env:\n  set: {^CI_A: a}\n  deny: [~\"CI_*\"]\n", "env: {set: {^CI_A: a}}\n",
	    "env: {deny: [~\"CI_*\"]}\n",
	    { "env:\n  set: {CI_A: a}\n  deny: [\"CJ_*\"]\n", "env:\n  deny: [\"CI_*\"]\n" } },
	{ ROW_FILTERS, "process:\n  seccomp:\n    profile: ~none\n    files: ^" FILE_LIST "\n",
	    "process: {seccomp: {files: ^" FILE_LIST "}}\n",
	    "process: {seccomp: {profile: ~none}}\n",
	    { "process:\n  seccomp:\n    profile: none\n    files: []\n",
		"process:\n  seccomp:\n    profile: broad\n    files: " FILE_LIST "\n",
		"process:\n  seccomp:\n    profile: {max: none, default: broad}\n    files: " FILE_LIST
		"\n" } },
	{ ROW_FORWARD,
	    "network:\n  mode: ~none\n  forward: ^[{listen: 5432, to: \"db.example:5432\"}]\n",
	    "network: {forward: ^[{listen: 5432, to: \"db.example:5432\"}]}\n",
	    "network: {mode: ~none}\n", { "network:\n  mode: none\n  forward: []\n" } },
	{ ROW_HOME, "fs:\n  home: ~persist\n  mounts:\n    - ^{src: /a, dst: \"${home}\"}\n",
	    "fs: {mounts: [^{src: /a, dst: \"${home}\"}]}\n", "fs: {home: ~persist}\n",
	    { "fs:\n  home: persist\n  mounts:\n    - {src: /a, dst: \"${home}/a\"}\n" } },
	{ ROW_KEPT, "session: {persist: ^task}\naudit: {required: ~false}\n",
	    "session: {persist: ^task}\n", "audit: {required: ~false}\n",
	    { "session: {persist: task}\naudit: {required: true}\n",
		"session: {persist: {max: task}}\naudit: {required: false}\n",
		"session: {persist: task}\naudit: {required: {max: false}}\n" } },
	{ ROW_LANDLOCK, SSH "  runner: ^optional\nfs: {landlock: ~required}\n",
	    "backends: [ssh]\nssh: {runner: ^optional}\n", "fs: {landlock: ~required}\n",
	    { SSH "  runner: required\nfs: {landlock: required}\n",
		SSH "  runner: optional\nfs: {landlock: none}\n",
		"backends: [ssh, local]\nssh: {runner: optional}\nfs: {landlock: required}\n" } },
	{ ROW_PLACES, "fs:\n  mounts:\n    - ~" MOUNT "\n    - ^{src: /b, dst: /d}\n", NULL, NULL,
	    { "fs:\n  mounts:\n    - {src: /a, dst: /d}\n    - {src: /b, dst: /d/e}\n" } },
	{ ROW_PLACES, "fs:\n  mounts: [~" MOUNT "]\n  tmpfs: [^" TMPFS "]\n",
	    "fs: {mounts: [^" MOUNT "]}\n", "fs: {tmpfs: [~" TMPFS "]}\n",
	    { "fs:\n  mounts: [{src: /a, dst: /d/e}]\n  tmpfs: [" TMPFS "]\n",
		"fs:\n  mounts: {allowed: [" MOUNT "], default: []}\n  tmpfs: [" TMPFS "]\n" } },
	{ ROW_PLACES, "fs:\n  mounts: [^" MOUNT "]\n  workdir: ~{at: /d}\n",
	    "fs: {mounts: [^" MOUNT "]}\n", "fs: {workdir: ~{at: /d}}\n",
	    { "fs:\n  mounts: [" MOUNT "]\n  workdir: {at: /d/e}\n" } },
	{ ROW_PLACES, "fs:\n  tmpfs: [^" TMPFS "]\n  workdir: ~{at: /d}\n",
	    "fs: {tmpfs: [^" TMPFS "]}\n", "fs: {workdir: ~{at: /d}}\n",
	    { "fs:\n  tmpfs: [" TMPFS "]\n  workdir: {at: /e}\n",
		/* What nobody asks for gives way. */
		"fs:\n  workdir: {at: /tmp}\n", "fs:\n  mounts: [{src: /a, dst: /run}]\n" } },
	{ ROW_PUBLISH, "network:\n  mode: ~none\n  publish: ^[\"8080\"]\n",
	    "network: {publish: ^[\"8080\"]}\n", "network: {mode: ~none}\n",
	    { "network:\n  mode: none\n  publish: []\n",
		"network:\n  mode: none\n  publish: {allowed: [\"8080\"], default: []}\n",
		"network:\n  mode: {max: bridge, default: none}\n  publish: [\"8080\"]\n" } },
	{ ROW_ROOT, "fs:\n  root: ~read_only\n  workdir: ^{at: /}\n", "fs: {workdir: ^{at: /}}\n",
	    "fs: {root: ~read_only}\n",
	    { "fs:\n  root: writable\n  workdir: {at: /}\n",
		"fs:\n  root: read_only\n  workdir: {at: /w}\n" } },
	{ ROW_SECRETS, "network:\n  allow: ~[{host: a.example}]\nsecrets:\n  T: ^" SECRET "\n",
	    "secrets: {T: ^" SECRET "}\n", "network: {allow: ~[{host: a.example}]}\n",
	    { "network:\n  allow: [{host: b.example}]\nsecrets:\n  T: " SECRET "\n",
		"network:\n  allow: [{host: \"*.example\"}]\nsecrets:\n  T: " SECRET "\n" } },
	{ ROW_SECRETS,
	    "network:\n  allow: ~[{host: b.example, tls: splice}]\nsecrets:\n  T: ^" SECRET "\n",
	    "secrets: {T: ^" SECRET "}\n", "network: {allow: ~[{host: b.example, tls: splice}]}\n",
	    { NULL } },
	{ ROW_USER, "process:\n  user: ^\"0:0\"\n  allow_root: ~false\n",
	    "process: {user: ^\"0:0\"}\n", "process: {allow_root: ~false}\n",
	    { "process:\n  user: \"0:0\"\n  allow_root: true\n",
		"process:\n  user: \"1:1\"\n  allow_root: false\n" } },
	{ ROW_USER, "process:\n  user: ^\"1000:0\"\n  allow_root: ~false\n",
	    "process: {user: ^\"1000:0\"}\n", "process: {allow_root: ~false}\n",
	    { "process:\n  user: \"1000:0\"\n  allow_root: true\n",
		"process:\n  user: \"1000:10\"\n  allow_root: false\n" } },
	{ ROW_WALL, "limits:\n  wall: ^2h\nbackends: [modal, vercel]\ncloud:\n  lifetime: ~1h\n",
	    "backends: [modal]\nlimits: {wall: ^2h}\n", "cloud: {lifetime: ~1h}\n",
	    { "limits:\n  wall: 1h\nbackends: [modal, vercel]\ncloud:\n  lifetime: 1h\n",
		"limits:\n  wall: 2h\nbackends: [modal, local]\ncloud:\n  lifetime: 1h\n",
		"limits:\n  wall: unlimited\nbackends: [modal]\ncloud:\n  lifetime: 1h\n" } },
};

struct mark {
	uint32_t line, column; /* 0: there is none */
};

/* head and text without their marks, whose places are told. */
static void
unmark(const char *head, const char *text, char out[1024], struct mark *key, struct mark *by)
{
	size_t len = (size_t)snprintf(out, 1024, "%s", head);
	struct mark at = { 1, 1 };

	for (const char *c = head; *c != '\0'; c++)
		at.line += *c == '\n';
	for (; *text != '\0'; text++) {
		if (*text == '^' || *text == '~') {
			*(*text == '^' ? key : by) = at;
			continue;
		}
		out[len++] = *text;
		at.column = *text == '\n' ? 1 : at.column + 1;
		at.line += *text == '\n';
		assert_true(len < 1024);
	}
	out[len] = '\0';
}

static void
expect_place(const struct hl_where *where, const char *file, const struct mark *mark)
{
	if (mark->line == 0 && where->file == NULL)
		return;
	if (where->file == NULL || strcmp(where->file, file) != 0 || where->line != mark->line ||
	    where->column != mark->column)
		fail_msg("a place is not %s:%u:%u in:\n%s", file, mark->line, mark->column,
		    stack_text());
}

/* "P_15" is HLP-15. */
static const struct policy_finding *
only_finding(enum row row, enum policy_severity severity)
{
	char code[8];

	snprintf(code, sizeof(code), "HL%c-%s", rows[row].code[0], rows[row].code + 2);
	const struct policy_finding *finding = stack_find(code);
	if (finding == NULL || t.findings.len != 1)
		fail_msg("%s: not one %s but:\n%s", rows[row].name, code, stack_text());
	if (finding->severity != severity || (t.result == 0) != (severity != POLICY_ERROR))
		fail_msg("%s: of another severity:\n%s", rows[row].name, stack_text());
	return finding;
}

static void
inside_one_file(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(contradictions); i++) {
		const struct contradiction *c = &contradictions[i];
		struct mark key = { 0 }, by = { 0 };
		char text[1024];
		unmark(OPEN, c->file, text, &key, &by);
		stack_load(text);
		const struct policy_finding *finding = only_finding(c->row, rows[c->row].severity);
		expect_place(&finding->where, "p.yaml", &key);
		expect_place(&finding->other, "p.yaml", &by);
		for (size_t j = 0; j < HL_ARRAY_SIZE(c->siblings) && c->siblings[j] != NULL; j++) {
			snprintf(text, sizeof(text), OPEN "%s", c->siblings[j]);
			expect_good(text);
			assert_int_equal(t.findings.len, 0);
		}
	}
}

/* One of the two layers says the key, the other what it contradicts. */
static void
check_layers(const struct contradiction *c, bool is_key_below)
{
	static const char *const names[] = { "base.yaml", "team.yaml" };
	bool is_dormant = rows[c->row].across == POLICY_ACROSS_DORMANT;
	struct mark key = { 0 }, by = { 0 };
	char base[1024], team[1024];

	unmark(BASE, is_key_below ? c->key : c->by, base, &key, &by);
	unmark(HEAD, is_key_below ? c->by : c->key, team, &key, &by);
	stack_load_two(base, team);
	/* A stack of which nothing is left is told where that is decided. */
	if (c->row == ROW_BACKENDS) {
		expect_code("HLP-15");
		const struct policy_finding *finding = stack_find("HLP-15");
		expect_place(&finding->where, "team.yaml", is_key_below ? &by : &key);
		expect_place(&finding->other, "base.yaml", is_key_below ? &key : &by);
		return;
	}
	const struct policy_finding *finding =
	    only_finding(c->row, !is_dormant    ? rows[c->row].severity
				 : is_key_below ? POLICY_NOTE
						: POLICY_WARNING);
	/* Of places it is the later one that is too many. */
	bool is_turned = c->row == ROW_PLACES && is_key_below;
	expect_place(is_turned ? &finding->other : &finding->where, names[is_key_below ? 0 : 1],
	    &key);
	expect_place(is_turned ? &finding->where : &finding->other, names[is_key_below ? 1 : 0],
	    &by);
	/* One of them alone is nobody's mistake, but where the other is what holds anyway. */
	stack_load_two(base, HEAD);
	bool is_anyway = is_key_below && (c->row == ROW_USER || c->row == ROW_HOME);
	assert_int_equal(t.findings.len, is_anyway);
}

static void
between_two_layers(void **state)
{
	bool has[ROW_MAX] = { false };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(contradictions); i++) {
		if (contradictions[i].key == NULL)
			continue;
		check_layers(&contradictions[i], true);
		check_layers(&contradictions[i], false);
		has[contradictions[i].row] = true;
	}
	for (size_t i = 0; i < ROW_MAX; i++)
		if (!has[i])
			fail_msg("%s has no texts", rows[i].name);
}

/* What a level says nobody of the stack has written: it is the second place, or is not told. */
static void
levels_are_told_of_the_file(void **state)
{
	(void)state;
	assert_int_equal(stack_load(HEAD "level: restricted@1\nfs: {workdir: {at: /}}\n"), -1);
	expect_code("HLP-15");
	assert_string_equal(t.findings.items[0].where.file, "p.yaml");
	assert_string_equal(t.findings.items[0].other.file, "restricted@1");
	assert_int_equal(stack_load(HEAD "level: restricted@1\n" SSH "  runner: optional\n"), 0);
	assert_int_equal(t.findings.len, 1);
	assert_int_equal(t.findings.items[0].severity, POLICY_WARNING);
	assert_string_equal(t.findings.items[0].other.file, "restricted@1");
	assert_string_equal(spelled(POLICY_SSH_RUNNER), "required");
	/* hermes@1 has capabilities; who makes them useless is not told of it. */
	expect_good(HEAD "level: hermes@1\nprocess: {seccomp: {profile: strict}}\n");
	assert_int_equal(t.findings.len, 0);
	assert_string_equal(spelled(POLICY_PROCESS_CAPS), "[]");
}

/* A later layer that says another part of the same key is not who decided it. */
static void
a_part_of_a_key_has_its_own_place(void **state)
{
	(void)state;
	assert_int_equal(stack_load_two(BASE "fs: {workdir: {at: /}}\n",
			     HEAD "level: restricted@1\nprocess: {caps: []}\n"),
	    -1);
	expect_code("HLP-15");
	assert_string_equal(t.findings.items[0].where.file, "base.yaml");
	assert_int_equal(stack_load_two(BASE "fs: {workdir: {at: /d}}\n",
			     HEAD "fs: {workdir: {access: ro}, mounts: [" MOUNT "]}\n"),
	    -1);
	assert_string_equal(stack_find("HLP-15")->other.file, "base.yaml");
	assert_int_equal(stack_load_two(BASE "fs: {workdir: {at: /d}}\n",
			     "version: 1\nid: a/b\nlevel: restricted@1\nfs: {workdir: {at: /e}}\n"),
	    -1);
	expect_code("HLP-20");
	assert_string_equal(stack_find("HLP-20")->other.file, "base.yaml");
}

/* Three layers: the place is that of whoever decides, not of whoever spoke first. */
static void
the_one_who_decides_is_told(void **state)
{
	static const char *const files[] = { "a.yaml", "b.yaml", "c.yaml" };
	static const char *const texts[] = {
		BASE "network: {publish: [\"80\", \"8080\"], mode: bridge}\n",
		"version: 1\nid: acme/mid\nlayer: org\nnetwork: {mode: none}\n",
		HEAD "network: {publish: [\"8080\"]}\n",
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(files); i++)
		stack_write(files[i], texts[i], strlen(texts[i]));
	assert_int_equal(stack_load_files(files, HL_ARRAY_SIZE(files)), 0);
	expect_code("HLP-29");
	const struct policy_finding *finding = stack_find("HLP-29");
	assert_int_equal(finding->severity, POLICY_WARNING);
	assert_string_equal(finding->where.file, "c.yaml");
	assert_string_equal(finding->other.file, "b.yaml");
}

/* All in one run: what a lock forbids hides no contradiction. */
static void
all_is_told_at_once(void **state)
{
	(void)state;
	assert_int_equal(stack_load_two(BASE "lock: [process.caps]\nprocess: {caps: []}\n"
					     "fs: {mounts: [" MOUNT "]}\n",
			     HEAD "process: {caps: [CHOWN]}\nfs: {workdir: {at: /d}}\n"),
	    -1);
	assert_int_equal(t.findings.errors, 2);
	expect_code("HLP-18");
	expect_code("HLP-15");
}

/* As many as are shown, and that there are more. */
static void
many_are_cut(void **state)
{
	struct hl_buf base, team;

	(void)state;
	hl_buf_init(&base, 1 << 16);
	hl_buf_init(&team, 1 << 16);
	hl_buf_puts(&base, BASE "fs:\n  mounts:\n");
	hl_buf_puts(&team, HEAD "fs:\n  tmpfs:\n");
	for (int i = 0; i < 60; i++) {
		hl_buf_putf(&base, "    - {src: /a, dst: /d%d}\n", i);
		hl_buf_putf(&team, "    - {dst: /d%d, size: 1MiB, exec: false}\n", i);
	}
	assert_int_equal(stack_load_two(base.data, team.data), -1);
	assert_int_equal(t.findings.len, POLICY_FINDINGS_MAX);
	assert_true(t.findings.is_cut);
	hl_buf_done(&base);
	hl_buf_done(&team);
}

/* However much only gives way: what refuses has its place among it. */
static void
warnings_do_not_crowd_out_an_error(void **state)
{
	static const int counts[] = { 2, POLICY_FINDINGS_MAX, POLICY_FINDINGS_MAX + 1, 200 };

	(void)state;
	for (size_t k = 0; k < HL_ARRAY_SIZE(counts); k++) {
		struct hl_buf team;
		hl_buf_init(&team, 1 << 16);
		hl_buf_puts(&team, HEAD "fs: {workdir: {at: /data}}\nenv:\n  set:\n");
		for (int i = 0; i < counts[k]; i++)
			hl_buf_putf(&team, "    CI_%d: x\n", i);
		assert_int_equal(stack_load_two(BASE "env: {deny: [\"CI_*\"]}\n"
						     "fs: {mounts: [{src: /a, dst: /data}]}\n",
				     team.data),
		    -1);
		assert_true(t.findings.errors > 0);
		hl_buf_done(&team);
	}
}

/* HLP-31, a warning: where both are what the file comes to. */
static void
what_is_kept_is_recorded(void **state)
{
	static const char *const quiet[] = {
		"session: {persist: task}\n",
		"session: {persist: task}\naudit: {required: true}\n",
		"session: {persist: session}\naudit: {required: false}\n",
		"session: {persist: {max: task}}\naudit: {required: false}\n",
		"session: {persist: task}\naudit: {required: {max: false}}\n",
	};

	(void)state;
	expect_good(OPEN "session: {persist: task}\naudit: {required: false}\n");
	assert_int_equal(t.findings.warnings, 1);
	expect_code("HLP-31");
	for (size_t i = 0; i < HL_ARRAY_SIZE(quiet); i++) {
		char text[256];
		snprintf(text, sizeof(text), OPEN "%s", quiet[i]);
		expect_good(text);
		assert_int_equal(t.findings.warnings, 0);
	}
}

/* Neither names what env.set sets it to. */
static void
no_value_is_told(void **state)
{
	(void)state;
	expect_error(OPEN "env: {set: {CI_A: do-not-show}, deny: [\"CI_*\"]}\n", "HLP-15");
	assert_null(strstr(stack_text(), "do-not-show"));
	assert_non_null(strstr(stack_text(), "env.set names CI_A"));
}

static void
expect_two(const char *base, const char *team)
{
	if (stack_load_two(base, team) != 0)
		fail_msg("refused: %s\n%s", t.err.msg, stack_text());
	assert_int_equal(t.findings.errors, 0);
}

/* The effective policy as one file, which must be a good one. */
static void
expect_prints_well(void)
{
	struct hl_buf text;
	struct hl_err err = { 0 };

	hl_buf_init(&text, 1 << 20);
	assert_int_equal(policy_show(t.policy, 0, &text, &err), 0);
	if (stack_load_bytes(text.data, text.len) != 0)
		fail_msg("what is printed is wrong: %s\n%s", stack_text(), text.data);
	hl_buf_done(&text);
}

static void
across_layers_they_are_dormant(void **state)
{
	(void)state;
	expect_two(BASE "network: {publish: [\"8080\"], dns: system}\n",
	    HEAD "network: {mode: none}\n");
	assert_string_equal(spelled(POLICY_NETWORK_PUBLISH), "[]");
	assert_string_equal(spelled(POLICY_NETWORK_DNS), "proxy");
	assert_string_equal(value_of(POLICY_NETWORK_PUBLISH)->origin.where.file, "team.yaml");
	expect_prints_well();
	expect_two(BASE "network: {publish: [\"8080\"], dns: system}\n",
	    HEAD "network: {mode: bridge}\n");
	assert_string_equal(spelled(POLICY_NETWORK_PUBLISH), "[\"8080\"]");
	assert_string_equal(spelled(POLICY_NETWORK_DNS), "system");

	expect_two(BASE "process: {caps: [CHOWN]}\n",
	    HEAD "process: {seccomp: {profile: strict}}\n");
	assert_string_equal(spelled(POLICY_PROCESS_CAPS), "[]");
	expect_prints_well();

	expect_two(BASE "env: {deny: [\"CI_*\"]}\n", HEAD "env: {set: {CI_A: a, OTHER: b}}\n");
	assert_int_equal(value_of(POLICY_ENV_SET)->items_len, 1);
	assert_string_equal(value_of(POLICY_ENV_SET)->items[0].name, "OTHER");
	expect_prints_well();
}

static void
a_life_shortens_what_is_longer(void **state)
{
	static const char *const org = BASE "cloud: {lifetime: 1h}\n";

	(void)state;
	expect_two(org, HEAD "backends: [modal]\nlimits: {wall: 2h}\n");
	assert_string_equal(spelled(POLICY_LIMITS_WALL), "1h");
	expect_prints_well();
	expect_two(org, HEAD "backends: [local, modal]\nlimits: {wall: 2h}\n");
	assert_string_equal(spelled(POLICY_LIMITS_WALL), "2h");
	expect_prints_well();
	expect_two(BASE "fs: {landlock: required}\n", HEAD SSH "  runner: optional\n");
	assert_string_equal(spelled(POLICY_SSH_RUNNER), "required");
	expect_prints_well();
}

/* What a file puts on a default's or a level's tmpfs is meant, and what is printed is right. */
static void
a_default_gives_way(void **state)
{
	static const char *const levels[] = { "open@1", "hermes@1", "restricted@1" };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(levels); i++) {
		char text[256];
		snprintf(text, sizeof(text),
		    HEAD "level: %s\nfs: {mounts: [{src: /a, dst: /tmp}], workdir: {at: /run}}\n",
		    levels[i]);
		expect_good(text);
		assert_int_equal(value_of(POLICY_FS_TMPFS)->items_len, 1);
		assert_string_equal(value_of(POLICY_FS_TMPFS)->items[0].tmpfs.dst, "/var/tmp");
		expect_prints_well();
		assert_int_equal(value_of(POLICY_FS_TMPFS)->items_len, 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inside_one_file),
		cmocka_unit_test(between_two_layers),
		cmocka_unit_test(levels_are_told_of_the_file),
		cmocka_unit_test(a_part_of_a_key_has_its_own_place),
		cmocka_unit_test(the_one_who_decides_is_told),
		cmocka_unit_test(all_is_told_at_once),
		cmocka_unit_test(many_are_cut),
		cmocka_unit_test(warnings_do_not_crowd_out_an_error),
		cmocka_unit_test(what_is_kept_is_recorded),
		cmocka_unit_test(no_value_is_told),
		cmocka_unit_test(across_layers_they_are_dormant),
		cmocka_unit_test(a_life_shortens_what_is_longer),
		cmocka_unit_test(a_default_gives_way),
	};

	return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
