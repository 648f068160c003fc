/*
 * The seccomp profiles, compiled at build time (confine/gen/gen-seccomp.c), and what
 * process.seccomp.deny adds to them. A denied call is a comparison in front of the profile's search
 * tree: jumps of a BPF program are relative, so that the tree behind stays as it is. For an engine
 * the profile is text of ours, whose shape is known: names are taken out of the rules that let them
 * through, since an engine's library takes two answers for one call as a fault.
 */
#include "profiles.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "confine/confine.h"

#include "base/banned.h"

enum {
	HEAD = 4, /* of every program: architecture, its test, the other's end, the number */
	NO_X32 = 2,
	X32_BIT = 0x40000000 /* __X32_SYSCALL_BIT of asm/unistd.h */
};

struct profile {
	const struct confine_bpf *bpf[CONFINE_ARCH_MAX];
	size_t len[CONFINE_ARCH_MAX];
	const char *json;
};

#define PROFILE(name)                                                                  \
 {                                                                                     \
  { seccomp_x86_64_##name, seccomp_aarch64_##name },                                   \
      { HL_ARRAY_SIZE(seccomp_x86_64_##name), HL_ARRAY_SIZE(seccomp_aarch64_##name) }, \
      seccomp_json_##name                                                              \
 }

static const struct profile profiles[CONFINE_PROFILE_MAX] = {
	[CONFINE_PROFILE_STRICT] = PROFILE(strict),
	[CONFINE_PROFILE_DEFAULT] = PROFILE(default),
	[CONFINE_PROFILE_BROAD] = PROFILE(broad),
};

enum confine_arch
confine_arch_native(void)
{
#if defined(__x86_64__)
	return CONFINE_ARCH_X86_64;
#elif defined(__aarch64__)
	return CONFINE_ARCH_AARCH64;
#else
# error "an architecture that this program was not taught"
#endif
}

const struct confine_bpf *
confine_profile_bpf_of(enum confine_arch arch, enum confine_profile profile, size_t *ret_len)
{
	HL_BUG_ON((unsigned)profile >= CONFINE_PROFILE_MAX || (unsigned)arch >= CONFINE_ARCH_MAX);
	*ret_len = profiles[profile].len[arch];
	return profiles[profile].bpf[arch];
}

const struct confine_bpf *
confine_profile_bpf(enum confine_profile profile, size_t *ret_len)
{
	return confine_profile_bpf_of(confine_arch_native(), profile, ret_len);
}

const char *
confine_profile_json(enum confine_profile profile)
{
	HL_BUG_ON((unsigned)profile >= CONFINE_PROFILE_MAX);
	return profiles[profile].json;
}

/* ------------------------------------------------------------------------------------------------
 * Denied calls
 */
static int
compare_name(const void *key, const void *row)
{
	return strcmp(key, ((const struct seccomp_number *)row)->name);
}

static const struct seccomp_number *
find(const char *name)
{
	return bsearch(name, seccomp_numbers, HL_ARRAY_SIZE(seccomp_numbers),
	    sizeof(seccomp_numbers[0]), compare_name);
}

int
confine_syscall_check(const char *name, struct hl_err *err)
{
	const char *names[HL_ARRAY_SIZE(seccomp_numbers)];

	if (find(name) != NULL)
		return 0;
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++)
		names[i] = seccomp_numbers[i].name;
	hl_err_set(err, HLU_01, "'%.64s' is not a system call", name);
	const char *near = hl_nearest(name, names, HL_ARRAY_SIZE(names));
	if (near != NULL)
		return hl_err_help(err, "did you mean '%s'?", near);
	return hl_err_help(err, "see syscalls(2); one that is not known here is not let through");
}

const char *
confine_syscall_name(size_t index)
{
	return index < HL_ARRAY_SIZE(seccomp_numbers) ? seccomp_numbers[index].name : NULL;
}

/* What stands before the tree of every profile; NONE has none, and lets the rest through. */
static size_t
put_head(enum confine_arch arch, enum confine_profile profile, struct confine_bpf *bpf)
{
	static const uint32_t audit[CONFINE_ARCH_MAX] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };
	const struct confine_bpf none[HEAD] = {
		{ .code = BPF_LD | BPF_W | BPF_ABS, .k = offsetof(struct seccomp_data, arch) },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 1, .k = audit[arch] },
		{ .code = BPF_RET | BPF_K, .k = SECCOMP_RET_KILL_PROCESS },
		{ .code = BPF_LD | BPF_W | BPF_ABS, .k = offsetof(struct seccomp_data, nr) },
	};

	memcpy(bpf, profile == CONFINE_PROFILE_NONE ? none : profiles[profile].bpf[arch],
	    sizeof(none));
	return HEAD;
}

/* The x32 ABI has the same architecture and the same calls under other numbers: what is denied
 * would go by these. The trees of the profiles let none of them through. */
static size_t
put_no_x32(struct confine_bpf *bpf)
{
	bpf[0] = (struct confine_bpf){ .code = BPF_JMP | BPF_JGE | BPF_K, .jf = 1, .k = X32_BIT };
	bpf[1] = (struct confine_bpf){ .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ERRNO | ENOSYS };
	return NO_X32;
}

static size_t
put_denied(enum confine_arch arch, const struct hl_strv *denied, struct confine_bpf *bpf)
{
	size_t len = 0;

	for (size_t i = 0; i < denied->len; i++) {
		const struct seccomp_number *row = find(denied->v[i]);
		if (row == NULL || row->numbers[arch] < 0)
			continue;
		bpf[len++] = (struct confine_bpf){ .code = BPF_JMP | BPF_JEQ | BPF_K,
			.jf = 1,
			.k = (uint32_t)row->numbers[arch] };
		bpf[len++] = (struct confine_bpf){ .code = BPF_RET | BPF_K,
			.k = SECCOMP_RET_ERRNO | (uint32_t)(row->is_absent ? ENOSYS : EPERM) };
	}
	return len;
}

int
confine_filter(enum confine_arch arch, enum confine_profile profile, const struct hl_strv *denied,
    struct confine_program *ret_program, struct hl_err *err)
{
	size_t base_len;
	const struct confine_bpf *base = confine_profile_bpf_of(arch, profile, &base_len);

	*ret_program = (struct confine_program){ 0 };
	for (size_t i = 0; i < denied->len; i++)
		if (confine_syscall_check(denied->v[i], err) != 0)
			return -1;
	if (base_len == 0 && denied->len == 0)
		return 0;
	size_t max = HEAD + NO_X32 + 2 * denied->len + (base_len == 0 ? 1 : base_len);
	if (max > CONFINE_BPF_MAX)
		return hl_err_set(err, HLI_03, "the system call filter is too long");
	struct confine_bpf *bpf = calloc(max, sizeof(*bpf));
	if (bpf == NULL)
		return hl_err_oom(err);
	size_t len = put_head(arch, profile, bpf);
	if (base_len == 0 && arch == CONFINE_ARCH_X86_64)
		len += put_no_x32(bpf + len);
	len += put_denied(arch, denied, bpf + len);
	if (base_len == 0) {
		bpf[len++] =
		    (struct confine_bpf){ .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW };
	} else {
		memcpy(bpf + len, base + HEAD, (base_len - HEAD) * sizeof(*bpf));
		len += base_len - HEAD;
	}
	*ret_program = (struct confine_program){ .bpf = bpf, .len = len };
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * For engines
 */
static bool
is_denied(const struct hl_strv *denied, const char *name, size_t len)
{
	for (size_t i = 0; i < denied->len; i++)
		if (strlen(denied->v[i]) == len && memcmp(denied->v[i], name, len) == 0)
			return true;
	return false;
}

/* Behind another object of the list. */
static bool
needs_comma(const struct hl_buf *out)
{
	return out->len > 0 && out->data[out->len - 1] == '}';
}

/* One rule, {"names":["a","b"],...}: what is left of it when the denied names are out. */
static void
put_rule(struct hl_buf *out, const char *rule, size_t len, const struct hl_strv *denied)
{
	static const char head[] = "{\"names\":[";
	const char *name = rule + sizeof(head) - 1;
	size_t before = out->len, kept = 0;

	hl_buf_puts(out, needs_comma(out) ? "," : "");
	hl_buf_puts(out, head);
	while (*name == '"') {
		const char *end = strchr(name + 1, '"');
		size_t name_len = (size_t)(end - name) - 1;
		if (!is_denied(denied, name + 1, name_len)) {
			hl_buf_puts(out, kept++ > 0 ? "," : "");
			hl_buf_put(out, name, name_len + 2);
		}
		name = end[1] == ',' ? end + 2 : end + 1;
	}
	hl_buf_put(out, name, len - (size_t)(name - rule));
	if (kept == 0 && !out->failed) {
		out->len = before;
		out->data[before] = '\0';
	}
}

/* The end of an object without strings that hold braces, which all of ours are. */
static const char *
end_of(const char *object)
{
	int depth = 0;

	do {
		depth += *object == '{' ? 1 : *object == '}' ? -1 : 0;
		object++;
	} while (depth > 0);
	return object;
}

static void
put_denied_rules(struct hl_buf *out, const struct hl_strv *denied)
{
	for (size_t i = 0; i < denied->len; i++) {
		const struct seccomp_number *row = find(denied->v[i]);
		hl_buf_putf(out,
		    "%s{\"names\":[\"%s\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":%d}",
		    needs_comma(out) ? "," : "", denied->v[i],
		    row != NULL && row->is_absent ? ENOSYS : EPERM);
	}
}

int
confine_filter_json(enum confine_profile profile, const struct hl_strv *denied, struct hl_buf *out,
    struct hl_err *err)
{
	static const char mark[] = "\"syscalls\":[";
	const char *json = confine_profile_json(profile);
	const char *rule;

	for (size_t i = 0; i < denied->len; i++)
		if (confine_syscall_check(denied->v[i], err) != 0)
			return -1;
	if (json == NULL && denied->len == 0)
		return 0;
	if (denied->len == 0) {
		hl_buf_puts(out, json);
		return hl_buf_check(out, "the system call filter", err);
	}
	if (json == NULL)
		json = "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[]}";
	rule = strstr(json, mark);
	HL_BUG_ON(rule == NULL);
	rule += sizeof(mark) - 1;
	hl_buf_put(out, json, (size_t)(rule - json));
	while (*rule == '{') {
		const char *end = end_of(rule);
		put_rule(out, rule, (size_t)(end - rule), denied);
		rule = *end == ',' ? end + 1 : end;
	}
	put_denied_rules(out, denied);
	hl_buf_puts(out, rule);
	return hl_buf_check(out, "the system call filter", err);
}
