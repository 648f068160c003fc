/*
 * Stacks of two good files, a byte of the input for each key of each: what fuzz_policy.c asks of
 * any two halves of bytes, of stacks that nearly all get as far as merging. So the input is small,
 * and each change of a byte is another value, bound or default of one key.
 */
#define LLVMFuzzerTestOneInput fuzz_policy
#include "fuzz_policy.c"
#undef LLVMFuzzerTestOneInput

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	VALUES_MAX = 12
};

/* Keys of one section stand together; a key without section is of the frame. */
static const struct {
	const char *section, *key;
	const char *values[VALUES_MAX];
} keys[] = {
	{ "", "level", { "open@1", "baseline@1", "restricted@1", "hermes@1" } },
	{ "", "layer", { "org", "team", "task" } },
	{ "", "mode", { "warn", "enforce" } },
	{ "", "lock", { "[\"*\"]", "[\"network.*\"]", "[fs.mounts, limits.memory]" } },
	{ "", "degrade", { "{allow: []}", "{allow: [\"limits.*\"]}", "{allow: [limits.memory]}" } },
	{ "", "backends",
	    { "[local]", "[docker, podman]", "[ssh]", "[modal]", "[modal, local]",
		"{allowed: [local, docker], default: docker}", "[modal, vercel]" } },
	{ "", "image",
	    { "[\"reg/*\"]", "[\"reg/a@*\", \"*b*c*\"]", "{allowed: [\"*\"], default: [\"r/b:1\"]}",
		"[\"?eg/*\", \"reg/**\"]", "[\"*a*\", \"**\"]", "{default: \"x:1\"}", "[]" } },
	{ "", "engine_args", { "[\"--init\"]", "[]" } },
	{ "process", "user", { "\"0:0\"", "\"1000:0\"", "caller", "{default: image}", "\"1:1\"" } },
	{ "process", "allow_root", { "true", "false", "{max: true}", "{default: true}" } },
	{ "process", "caps",
	    { "[CHOWN]", "[]", "{allowed: [CHOWN, KILL], default: [KILL]}", "[KILL, SETUID]",
		"{default: [CHOWN]}" } },
	{ "process", "umask", { "\"022\"", "{min: \"027\", default: \"077\"}", "{min: \"050\"}" } },
	{ "process", "seccomp",
	    { "{profile: strict}", "{profile: none}", "{profile: {max: none, default: broad}}",
		"{files: [{file: /p, sha256: "
		"\"0000000000000000000000000000000000000000000000000000000000000001\"}]}",
		"{deny: [ptrace, bpf]}", "{profile: {default: none}}" } },
	{ "limits", "wall", { "2h", "{max: 3h, default: 5m}", "unlimited", "{default: 90s}" } },
	{ "limits", "memory", { "1GiB", "{max: 4GiB, default: 2GiB}", "{max: unlimited}" } },
	{ "fs", "root", { "read_only", "writable", "{default: writable}" } },
	{ "fs", "workdir",
	    { "{at: /d}", "{at: /}", "{access: ro}", "{path: /p, at: /tmp}",
		"{at: /d, access: rw}" } },
	{ "fs", "mounts",
	    { "[{src: /a, dst: /d}]", "[{src: /a, dst: /d/e, access: rw}]",
		"{allowed: [{src: /a, dst: /d}, {src: /b, dst: /d}], default: []}",
		"{default: [{src: /a/x, dst: /d/x}]}", "[{src: /a, dst: \"${home}\"}]",
		"[{src: v, dst: /d, kind: volume}]", "[{src: /a, dst: /tmp}, {src: /b, dst: /run}]",
		"{allowed: [{src: /a, dst: /d, access: rw, exec: false}]}", "[]" } },
	{ "fs", "tmpfs",
	    { "[{dst: /d, size: 1MiB, exec: false}]", "[{dst: /tmp, size: 8MiB, exec: true}]", "[]",
		"{default: [{dst: /d/e, size: 2MiB, exec: false}]}",
		"{allowed: [{dst: /tmp, size: 1MiB, exec: false, mode: \"755\"}]}" } },
	{ "fs", "deny", { "[/x]", "[\"~/y\", \"/z/**\"]", "[]" } },
	{ "fs", "devices", { "[\"gpu:all\"]", "[\"gpu:1\", /dev/fuse]", "[\"gpu:none\"]", "[]" } },
	{ "fs", "home",
	    { "persist", "{kind: tmpfs, size: 1MiB}", "{kind: bind, src: /h}",
		"{kind: tmpfs, max: bind}", "{max: persist}" } },
	{ "fs", "landlock", { "required", "none", "{default: none}" } },
	{ "network", "mode",
	    { "none", "bridge", "{max: proxy, default: none}", "host", "{default: host}" } },
	{ "network", "dns", { "system", "none", "{max: system}", "{default: system}" } },
	{ "network", "publish",
	    { "[\"8080\"]", "[]", "{allowed: [\"8080\", \"53/udp\"], default: [\"53/udp\"]}" } },
	{ "network", "use", { "[npm@1]", "[]", "{allowed: [npm@1, pypi@1], default: [npm@1]}" } },
	{ "network", "allow",
	    { "[{host: a.example}]", "[{host: \"*.example\"}]", "[{host: a.example, tls: splice}]",
		"[]", "{allowed: [{host: \"*.example\", ports: [443]}], default: []}",
		"[{host: a.example, paths: [\"/a/*\"]}]" } },
	{ "network", "deny", { "[{host: a.example}]", "[]" } },
	{ "env", "pass",
	    { "[\"CI_*\"]", "[CI_A, \"*_X\"]", "{allowed: [\"*\"], default: [LANG]}", "[]",
		"{default: [CI_A]}", "[\"C*_A*\", \"?I_*\"]" } },
	{ "env", "set", { "{CI_A: a}", "{CI_A: b, B: c}", "{}", "{LC_X: \"1\"}" } },
	{ "env", "deny", { "[\"CI_*\"]", "[\"*\"]", "[]", "[B]" } },
	{ "ssh", "runner", { "optional", "required", "{default: optional}" } },
	{ "cloud", "lifetime", { "1h", "{max: 2h, default: 1h}" } },
	{ "session", "persist", { "task", "{max: task}", "none", "{default: task}" } },
	{ "audit", "required", { "false", "true", "{max: false}", "{default: false}" } },
	{ "audit", "retention", { "400", "{min: 500}", "{min: 10, default: 20}" } },
	{ "secrets", "T",
	    { "{from: {env: X}, hosts: [a.example]}",
		"{from: {env: X}, hosts: [a.example, b.other]}" } },
};

/* 0 leaves the key out; no byte is 0. */
static void
put_file(struct hl_buf *out, const uint8_t *data, size_t size, const char *id)
{
	const char *section = "";

	hl_buf_putf(out, "version: 1\nid: %s\n", id);
	for (size_t i = 0; i < HL_ARRAY_SIZE(keys); i++) {
		size_t n = 0;
		while (n < VALUES_MAX && keys[i].values[n] != NULL)
			n++;
		size_t which = i < size ? data[i] % (n + 1) : 0;
		if (which == 0)
			continue;
		if (strcmp(section, keys[i].section) != 0)
			hl_buf_putf(out, "%s:\n", keys[i].section);
		section = keys[i].section;
		hl_buf_putf(out, "%s%s: %s\n", section[0] != '\0' ? "  " : "", keys[i].key,
		    keys[i].values[which - 1]);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t half = size < HL_ARRAY_SIZE(keys) ? size : HL_ARRAY_SIZE(keys);
	struct hl_buf text;

	hl_buf_init(&text, 1 << 16);
	put_file(&text, data, half, "acme/a");
	hl_buf_puts(&text, "%%%\n");
	put_file(&text, data + half, size - half, "acme/b");
	if (text.failed)
		fail("the text", "too long");
	fuzz_policy((const uint8_t *)text.data, text.len);
	hl_buf_done(&text);
	return 0;
}
