/*
 * Random small policies for the laws, from one seed. Each test program includes this once.
 */
#ifndef HL_TEST_POLICY_RANDOM_H
#define HL_TEST_POLICY_RANDOM_H

#include <stdint.h>

#include "base/base.h"

static uint64_t seed;
static uint64_t round_seed; /* of the round that runs, to repeat a failing one by itself */

static uint32_t
pick(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 32) % n;
}

static const char *
one_of(const char *const *words, size_t n)
{
	return words[pick((uint32_t)n)];
}

#define ONE_OF(...) \
 one_of((const char *const[]){ __VA_ARGS__ }, HL_ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })))

/* Some of the words, as a list, at least one. */
static void
put_some(struct hl_buf *out, const char *const *words, size_t n)
{
	bool is_first = true;

	hl_buf_putc(out, '[');
	for (size_t i = 0; i < n; i++) {
		if (pick(2) == 0 && !(is_first && i + 1 == n))
			continue;
		hl_buf_putf(out, "%s%s", is_first ? "" : ", ", words[i]);
		is_first = false;
	}
	hl_buf_putc(out, ']');
}

static void
put_set(struct hl_buf *out, const char *key, const char *const *words, size_t n)
{
	uint32_t form = pick(2);

	hl_buf_putf(out, form == 0 ? "%s: " : "%s: {allowed: ", key);
	put_some(out, words, n);
	hl_buf_puts(out, form == 0 ? "\n" : "}\n");
}

static void
put_number(struct hl_buf *out, const char *key, const char *value)
{
	/* A default alone could be outside an earlier bound, which is an error and no merge. */
	hl_buf_putf(out, pick(2) == 0 ? "%s: %s\n" : "%s: {max: %s}\n", key, value);
}

static void
put_process(struct hl_buf *out)
{
	static const char *const caps[] = { "CHOWN", "FOWNER", "KILL", "SETUID" };

	hl_buf_puts(out, "process:\n");
	if (pick(2) == 0) {
		hl_buf_puts(out, "  ");
		put_set(out, "caps", caps, HL_ARRAY_SIZE(caps));
	}
	hl_buf_puts(out, "  ");
	put_number(out, "no_new_privs", ONE_OF("true", "false"));
	hl_buf_puts(out, "  ");
	put_number(out, "allow_root", ONE_OF("true", "false"));
	hl_buf_putf(out, pick(2) == 0 ? "  umask: \"%s\"\n" : "  umask: {min: \"%s\"}\n",
	    ONE_OF("000", "002", "022", "027", "050", "017", "777"));
	hl_buf_putf(out, "  seccomp: {profile: %s, deny: [%s]}\n",
	    ONE_OF("default", "broad", "none"), ONE_OF("", "ptrace", "bpf, ptrace"));
}

static void
put_limits(struct hl_buf *out)
{
	hl_buf_puts(out, "limits:\n  ");
	put_number(out, "memory", ONE_OF("1GiB", "2GiB", "4GiB", "unlimited"));
	hl_buf_puts(out, "  ");
	put_number(out, "pids", ONE_OF("5", "64", "4096"));
	hl_buf_puts(out, "  ");
	put_number(out, "cpus", ONE_OF("0.5", "2", "unlimited"));
	hl_buf_puts(out, "  ");
	put_number(out, "wall", ONE_OF("90s", "1500ms", "2h"));
}

static void
put_fs(struct hl_buf *out)
{
	static const char *const devices[] = { "gpu:all", "gpu:0", "gpu:7", "/dev/fuse" };

	hl_buf_puts(out, "fs:\n  mounts:\n");
	for (uint32_t i = 0, n = 1 + pick(3); i < n; i++)
		hl_buf_putf(out, "    - {src: %s, dst: /m%u%s, access: %s, exec: %s}\n",
		    ONE_OF("/a", "/a/x", "/b"), i, ONE_OF("", "/x"), ONE_OF("ro", "rw"),
		    ONE_OF("true", "false"));
	hl_buf_puts(out, "  tmpfs:\n");
	for (uint32_t i = 0, n = 1 + pick(2); i < n; i++)
		hl_buf_putf(out, "    - {dst: /t%u, size: %s, exec: %s}\n", i,
		    ONE_OF("1MiB", "8MiB"), ONE_OF("true", "false"));
	hl_buf_putf(out, "  deny: [%s]\n", ONE_OF("/x", "/y", "/x, /y"));
	hl_buf_puts(out, "  ");
	put_set(out, "devices", devices, HL_ARRAY_SIZE(devices));
	hl_buf_putf(out, "  workdir: {access: %s}\n", ONE_OF("ro", "rw"));
	hl_buf_putf(out, "  home: {kind: %s}\n", ONE_OF("tmpfs", "persist"));
}

/* What needs a network stands beside a mode that has one; another layer may take it away. */
static void
put_network(struct hl_buf *out)
{
	static const char *const ports[] = { "\"8080\"", "\"53/udp\"" };
	const char *mode = ONE_OF("none", "proxy", "bridge", "host");

	hl_buf_puts(out, "network:\n  ");
	put_number(out, "mode", mode);
	if (mode[0] == 'n' || pick(2) == 0)
		return;
	hl_buf_puts(out, "  ");
	put_number(out, "dns", ONE_OF("none", "proxy", "system"));
	hl_buf_puts(out, "  ");
	put_set(out, "publish", ports, HL_ARRAY_SIZE(ports));
}

static void
put_sets(struct hl_buf *out)
{
	static const char *const names[] = { "LANG", "\"CI_*\"", "CI_A", "\"*_X\"", "TZ" };
	static const char *const images[] = { "\"reg/*\"", "\"reg/a@*\"", "\"*\"" };
	static const char *const backends[] = { "docker", "ssh", "podman" };
	static const char *const allow[] = { "{host: a.x.example}", "{host: \"*.x.example\"}",
		"{host: a.x.example, ports: [80, 443], methods: [GET]}",
		"{host: \"*.x.example\", ports: [443, 8443], paths: [\"/a/*\"]}",
		"{host: a.x.example, paths: [\"/a/*\", /b], tls: inspect}",
		"{host: a.x.example, paths: [\"/*/b/*\", \"/a/*/c\"], ports: [80, 443, 8443]}",
		"{host: b.example, tls: splice}" };

	hl_buf_puts(out, "env:\n  ");
	put_set(out, "pass", names, HL_ARRAY_SIZE(names));
	hl_buf_puts(out, ONE_OF("", "  set: {CI_A: a, CI_B: b}\n", "  deny: [\"*_A\"]\n"));
	if (pick(2) == 0)
		put_set(out, "image", images, HL_ARRAY_SIZE(images));
	/* local is always among them, so that something is left. */
	hl_buf_puts(out, "backends: [local, ");
	hl_buf_putf(out, "%s]\n", backends[pick(HL_ARRAY_SIZE(backends))]);
	put_network(out);
	if (pick(2) == 0)
		return;
	/* A recipe may bring the hosts of any secret. */
	hl_buf_puts(out, "  use: [npm@1]\n  ");
	put_set(out, "allow", allow, HL_ARRAY_SIZE(allow));
	hl_buf_putf(out, "  deny: [%s]\n",
	    ONE_OF("", "{host: b.example}",
		"{host: b.example, ports: [80]}, {host: \"*.x.example\"}"));
}

/* Some of each kind among the keys that wait for their backend. */
static void
put_rest(struct hl_buf *out)
{
	static const char *const runtimes[] = { "runc", "runsc", "\"kata\"" };
	static const char *const accounts[] = { "{provider: modal}",
		"{provider: modal, account: a, region: eu}", "{provider: vercel, account: a}" };

	hl_buf_puts(out, "egress:\n  ");
	put_number(out, "tls", ONE_OF("inspect", "splice"));
	hl_buf_puts(out, "audit:\n  ");
	put_number(out, "sync", ONE_OF("each", "run", "none"));
	hl_buf_puts(out, "  ");
	put_number(out, "quota", ONE_OF("64MiB", "1GiB", "unlimited"));
	hl_buf_putf(out, "  redact: [%s]\n", ONE_OF("", "a, \"b*\"", "\"b*\""));
	hl_buf_putf(out, "  retention: %s\n", ONE_OF("30", "400", "{min: 7}", "{min: 365}"));
	hl_buf_puts(out, "cloud:\n  ");
	put_number(out, "lifetime", ONE_OF("1m", "1h"));
	hl_buf_puts(out, "  ");
	put_number(out, "snapshot", ONE_OF("true", "false"));
	hl_buf_puts(out, "  ");
	put_set(out, "accounts", accounts, HL_ARRAY_SIZE(accounts));
	hl_buf_puts(out, "docker:\n  ");
	put_set(out, "runtime", runtimes, HL_ARRAY_SIZE(runtimes));
}

/* Lists and maps of mappings. */
static void
put_records(struct hl_buf *out)
{
	static const char *const hosts[] = { "{host: a.example, user: ci}", "{host: a.example}",
		"{host: a.example, port: 2222, identity: /k}" };
	static const char *const files[] = { "{src: /a, kind: cache}",
		"{src: /b, kind: credential, refresh: true}", "{src: /c, kind: skills}" };

	hl_buf_puts(out, "ssh:\n  ");
	put_set(out, "hosts", hosts, HL_ARRAY_SIZE(hosts));
	put_set(out, "files", files, HL_ARRAY_SIZE(files));
	hl_buf_puts(out, "secrets:\n");
	for (uint32_t i = 0, n = pick(3); i < n; i++)
		hl_buf_putf(out, "  S%u: {from: {%s}, hosts: %s, require: %s%s}\n", i,
		    ONE_OF("env: A", "env: B", "command: [a, b]"),
		    ONE_OF("[a.example]", "[\"*.example\"]", "[a.example, c.d.example]"),
		    ONE_OF("true", "false"), ONE_OF("", ", in: [basic]", ", in: [path, basic]"));
	hl_buf_puts(out, "  LAST: {from: {fd: 3}, hosts: [a.example]}\n");
}

/* A policy that contradicts neither itself nor, by explicit defaults, any other. */
static void
random_policy(struct hl_buf *out, const char *id)
{
	static void (*const parts[])(
	    struct hl_buf *) = { put_process, put_limits, put_fs, put_sets, put_rest, put_records };

	hl_buf_reset(out);
	hl_buf_putf(out, "version: 1\nid: %s\nlayer: org\nlevel: %s\n", id,
	    ONE_OF("open@1", "open@1", "baseline@1", "hermes@1", "restricted@1"));
	for (size_t i = 0; i < HL_ARRAY_SIZE(parts); i++) {
		if (pick(3) != 0)
			parts[i](out);
	}
}

#endif
