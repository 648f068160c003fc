/*
 * Reads what confine/ makes of its sets: an interpreter of the part of classic BPF that is written,
 * for either architecture, and a reader of the JSON form that knows no more than its shape.
 */
#ifndef HL_TESTS_CONFINE_BPF_H
#define HL_TESTS_CONFINE_BPF_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "confine/confine.h"

static const uint32_t audit[CONFINE_ARCH_MAX] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };

enum {
	REFUSED = SECCOMP_RET_ERRNO | EPERM,
	ABSENT = SECCOMP_RET_ERRNO | ENOSYS,
	PRETENDED = SECCOMP_RET_ERRNO, /* success, and nothing done */
	ALLOWED = SECCOMP_RET_ALLOW
};

/* The part of classic BPF that the generator writes. Steps are bounded: jumps go forward only. */
static uint32_t
run_program(const struct confine_bpf *program, size_t len, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t at = 0; at < len; at++) {
		const struct confine_bpf *i = &program[at];
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(i->k % 4 == 0 && i->k + 4 <= sizeof(*data));
			memcpy(&a, (const char *)data + i->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			at += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			fail_msg("instruction %zu has code %u", at, i->code);
		}
	}
	fail_msg("the program has no end");
	return 0;
}

/* By the architecture that data names, whichever this machine is. */
__attribute__((unused)) static uint32_t
run(enum confine_profile profile, const struct seccomp_data *data)
{
	size_t len;
	enum confine_arch arch =
	    data->arch == audit[CONFINE_ARCH_AARCH64] ? CONFINE_ARCH_AARCH64 : CONFINE_ARCH_X86_64;
	const struct confine_bpf *program = confine_profile_bpf_of(arch, profile, &len);

	return run_program(program, len, data);
}

__attribute__((unused)) static uint32_t
ask(enum confine_arch arch, enum confine_profile profile, int number, const uint64_t args[3])
{
	const struct seccomp_data data = { .nr = number,
		.arch = audit[arch],
		.args = { args[0], args[1], args[2], args[2], args[2] } };

	return run(profile, &data);
}

/* Calls that the questions are about, with their numbers on each architecture. */
enum call {
	CALL_bpf,
	CALL_clone,
	CALL_clone3,
	CALL_exit_group,
	CALL_ioctl,
	CALL_ioprio_set,
	CALL_mknodat,
	CALL_mount,
	CALL_personality,
	CALL_prlimit64,
	CALL_ptrace,
	CALL_read,
	CALL_renameat2,
	CALL_sched_setaffinity,
	CALL_sched_setscheduler,
	CALL_sendmmsg,
	CALL_sendmsg,
	CALL_sendto,
	CALL_setpriority,
	CALL_setrlimit,
	CALL_setsockopt,
	CALL_socket,
	CALL_socketpair,
	CALL_unshare,
	CALL_MAX
};

static const int numbers[CALL_MAX][CONFINE_ARCH_MAX] = {
	[CALL_bpf] = { 321, 280 },
	[CALL_clone] = { 56, 220 },
	[CALL_clone3] = { 435, 435 },
	[CALL_exit_group] = { 231, 94 },
	[CALL_ioctl] = { 16, 29 },
	[CALL_ioprio_set] = { 251, 30 },
	[CALL_mknodat] = { 259, 33 },
	[CALL_mount] = { 165, 40 },
	[CALL_personality] = { 135, 92 },
	[CALL_prlimit64] = { 302, 261 },
	[CALL_ptrace] = { 101, 117 },
	[CALL_read] = { 0, 63 },
	[CALL_renameat2] = { 316, 276 },
	[CALL_sched_setaffinity] = { 203, 122 },
	[CALL_sched_setscheduler] = { 144, 119 },
	[CALL_sendmmsg] = { 307, 269 },
	[CALL_sendmsg] = { 46, 211 },
	[CALL_sendto] = { 44, 206 },
	[CALL_setpriority] = { 141, 140 },
	[CALL_setrlimit] = { 160, 164 },
	[CALL_setsockopt] = { 54, 208 },
	[CALL_socket] = { 41, 198 },
	[CALL_socketpair] = { 53, 199 },
	[CALL_unshare] = { 272, 97 },
};

/* A number that is the same everywhere, told apart from enum call. */
#define PLAIN(number) (-2000000000 + (number))

/* ------------------------------------------------------------------------------------------------
 * The JSON form, read with no more than its own shape needs
 */
static uint64_t
number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	assert_non_null(at);
	uint64_t number = 0;
	const char *digit = at + strlen(key);
	assert_true(*digit >= '0' && *digit <= '9');
	for (; *digit >= '0' && *digit <= '9'; digit++)
		number = number * 10 + (uint64_t)(*digit - '0');
	return number;
}

/* Does a rule with arguments, beginning at text, hold? */
static bool
arguments_hold(const char *text, const uint64_t args[6])
{
	const char *end = strstr(text, "]}");

	for (const char *at = strstr(text, "{\"index\":"); at != NULL && at < end;
	     at = strstr(at + 1, "{\"index\":")) {
		uint64_t index = number_behind(at, "\"index\":");
		uint64_t mask = number_behind(at, "\"value\":");
		uint64_t value = number_behind(at, "\"valueTwo\":");
		assert_true(index < 6 && mask <= UINT32_MAX && (value & ~mask) == 0);
		if ((args[index] & mask) != value)
			return false;
	}
	return true;
}

static uint32_t
action_at(const char *text)
{
	static const char allow[] = "SCMP_ACT_ALLOW";
	const char *action = strstr(text, "\"action\":\"");

	assert_non_null(action);
	action += strlen("\"action\":\"");
	if (strncmp(action, allow, strlen(allow)) == 0)
		return ALLOWED;
	return SECCOMP_RET_ERRNO | (uint32_t)number_behind(action, "\"errnoRet\":");
}

enum {
	RULES_MAX = 256
};

/* The rules of one call: where the part behind the names begins. */
struct json_rules {
	const char *at[RULES_MAX];
	size_t len;
};

static void
collect(const char *json, const char *name, struct json_rules *ret_rules)
{
	char quoted[64];

	snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	ret_rules->len = 0;
	for (const char *hit = strstr(json, quoted); hit != NULL; hit = strstr(hit + 1, quoted)) {
		assert_true(ret_rules->len < RULES_MAX);
		ret_rules->at[ret_rules->len++] = strchr(hit, ']');
	}
}

/* The answer of an engine: the one rule that holds. */
static uint32_t
ask_json(const struct json_rules *rules, const uint64_t args[6])
{
	static const char with_args[] = "\"args\":[";
	uint32_t answer = ABSENT;
	unsigned found = 0;

	for (size_t i = 0; i < rules->len; i++) {
		const char *at = rules->at[i];
		const char *end = strchr(at, '}');
		const char *list = strchr(at + 1, '[');
		bool has_args =
		    list != NULL && list < end &&
		    strncmp(list - strlen(with_args) + 1, with_args, strlen(with_args)) == 0;
		if (has_args && !arguments_hold(list, args))
			continue;
		answer = action_at(at);
		found++;
	}
	assert_true(found <= 1);
	return answer;
}

#endif
