/*
 * The generated filters, run by an interpreter of ours: arguments that no kernel here would be
 * asked with, bits above 32, other architectures. And the same sets as JSON, read back rule by
 * rule: both forms must give the same answer to the same question.
 */
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "confine/confine.h"

#include "base/banned.h"

#if defined(__x86_64__)
# define NATIVE AUDIT_ARCH_X86_64
# define OTHER  AUDIT_ARCH_I386
#else
# define NATIVE AUDIT_ARCH_AARCH64
# define OTHER  AUDIT_ARCH_ARM
#endif

enum {
	REFUSED = SECCOMP_RET_ERRNO | EPERM,
	ABSENT = SECCOMP_RET_ERRNO | ENOSYS,
	PRETENDED = SECCOMP_RET_ERRNO, /* success, and nothing done */
	ALLOWED = SECCOMP_RET_ALLOW
};

/* The part of classic BPF that the generator writes. Steps are bounded: jumps go forward only. */
static uint32_t
run(enum confine_profile profile, const struct seccomp_data *data)
{
	size_t len;
	const struct confine_bpf *program = confine_profile_bpf(profile, &len);
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

static uint32_t
ask(enum confine_profile profile, int number, uint64_t a0, uint64_t a1, uint64_t a2)
{
	const struct seccomp_data data = { .nr = number,
		.arch = NATIVE,
		.args = { a0, a1, a2, a2, a2 } };

	return run(profile, &data);
}

#define HIGH UINT64_C(0xdead000000000000)

struct question {
	int number;
	uint64_t args[3]; /* the third stands for all behind it */
	uint32_t answers[3];
};

static const struct question questions[] = {
	{ SYS_read, { 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_exit_group, { 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_clone3, { 0 }, { ABSENT, ABSENT, ABSENT } },
	{ SYS_ptrace, { 0 }, { REFUSED, ALLOWED, ALLOWED } },
	{ SYS_bpf, { 0 }, { REFUSED, REFUSED, REFUSED } },
	{ SYS_mount, { 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ 451, { 0 },
	    { ALLOWED, ALLOWED, ALLOWED } }, /* cachestat: newer than libseccomp's names */
	{ 467, { 0 }, { REFUSED, REFUSED, ALLOWED } }, /* open_tree_attr */
	{ 5000, { 0 }, { ABSENT, ABSENT, ABSENT } },
	{ -1, { 0 }, { ABSENT, ABSENT, ABSENT } },
	{ 0x40000000 | 39, { 0 }, { ABSENT, ABSENT, ABSENT } }, /* x32 */
	{ SYS_clone, { 17 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_clone, { 0x3d0f00 }, { ALLOWED, ALLOWED, ALLOWED } }, /* a thread */
	{ SYS_clone, { 0x10000011 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_clone, { HIGH | 0x20011 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_unshare, { 0x80 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_unshare, { 0x400 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_socket, { 1, 1, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_socket, { HIGH | 40, 1, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_socket, { 38, 5, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_socket, { 0, 0, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_socket, { UINT64_MAX, 0, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_socket, { 2, 1, 6 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_socket, { 2, 1, 262 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_socket, { 10, 1, HIGH | 262 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_socket, { 2, 1, 256 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_socket, { 16, 3, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_socket, { 16, 3, 12 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_socketpair, { 1, 0, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_socketpair, { 30, 0, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_sendto, { 0, 0, 0x20000000 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_sendto, { 0, 0, 0x4000 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_sendmsg, { 0, 0, HIGH | 0x20004000 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_sendmmsg, { 0, 0, 0x20000000 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_setsockopt, { 0, 6, 23 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_setsockopt, { 0, HIGH | 6, HIGH | 30 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_setsockopt, { 0, 6, 1 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_setsockopt, { 0, 1, 23 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_ioctl, { 0, 0x5412, 0 }, { REFUSED, REFUSED, REFUSED } },
	{ SYS_ioctl, { 0, HIGH | 0x5412, 0 }, { REFUSED, REFUSED, REFUSED } },
	{ SYS_ioctl, { 0, UINT64_C(0xffffffff0000541c), 0 }, { REFUSED, REFUSED, REFUSED } },
	{ SYS_ioctl, { 0, 0x5401, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_ioctl, { 0, 0x80005412, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_personality, { 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_personality, { UINT32_MAX }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_personality, { 0x400000 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_personality, { 0x40000 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_prlimit64, { 0, 4, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_prlimit64, { HIGH | 1, 4, 0 }, { REFUSED, REFUSED, ALLOWED } },
	/* RLIMIT_CORE stays what the sandbox set; a pointer may have a low half of zero. */
	{ SYS_prlimit64, { 0, 4, 0x1000 }, { PRETENDED, PRETENDED, PRETENDED } },
	{ SYS_prlimit64, { 0, HIGH | 4, 0x700000000 }, { PRETENDED, PRETENDED, PRETENDED } },
	{ SYS_prlimit64, { 0, 7, 0x1000 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_setrlimit, { 4, 0x1000, 0 }, { PRETENDED, PRETENDED, PRETENDED } },
	{ SYS_setrlimit, { 7, 0x1000, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_sched_setscheduler, { 1, 5, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_sched_setaffinity, { 2, 8, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_sched_setaffinity, { 1, 8, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_setpriority, { 0, 1, 19 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_setpriority, { 1, 1, 19 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_setpriority, { 0, 0, 19 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_setpriority, { 2, 1, 19 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_ioprio_set, { 1, 1, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_ioprio_set, { 1, 0, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_renameat2, { 0, 0, 4 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_renameat2, { 0, 0, 3 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_mknodat, { 0, 0, 0100644 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_mknodat, { 0, 0, 0010644 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ SYS_mknodat, { 0, 0, 0020644 }, { REFUSED, REFUSED, ALLOWED } },
	{ SYS_mknodat, { 0, 0, 0060644 }, { REFUSED, REFUSED, ALLOWED } },
};

static void
test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(questions); i++)
		for (unsigned profile = 0; profile < 3; profile++) {
			const struct question *question = &questions[i];
			uint32_t answer = ask((enum confine_profile)profile, question->number,
			    question->args[0], question->args[1], question->args[2]);
			if (answer != question->answers[profile])
				fail_msg("question %zu (call %d), profile %u: 0x%x", i,
				    question->number, profile, answer);
		}
}

static void
test_other_architecture(void **state)
{
	const struct seccomp_data data = { .nr = SYS_read, .arch = OTHER };

	(void)state;
	for (unsigned profile = 0; profile < 3; profile++)
		assert_int_equal(run((enum confine_profile)profile, &data),
		    SECCOMP_RET_KILL_PROCESS);
}

/* Whatever strict lets through, default does; whatever default does, broad does. */
static void
test_order(void **state)
{
	(void)state;
	for (int number = 0; number < 600; number++)
		for (uint64_t arg = 0; arg < 64; arg++) {
			bool strict = ask(CONFINE_PROFILE_STRICT, number, arg, arg, arg) == ALLOWED;
			bool usual = ask(CONFINE_PROFILE_DEFAULT, number, arg, arg, arg) == ALLOWED;
			bool broad = ask(CONFINE_PROFILE_BROAD, number, arg, arg, arg) == ALLOWED;
			assert_true(!strict || usual);
			assert_true(!usual || broad);
		}
}

static void
test_none(void **state)
{
	size_t len = 1;

	(void)state;
	assert_null(confine_profile_bpf(CONFINE_PROFILE_NONE, &len));
	assert_int_equal(len, 0);
	assert_null(confine_profile_json(CONFINE_PROFILE_NONE));
}

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

struct named {
	const char *name;
	int number;
	bool is_terse; /* what is refused has no rule and gets the default answer */
};

static const struct named named[] = {
	{ "read", SYS_read, false },
	{ "clone3", SYS_clone3, false },
	{ "ptrace", SYS_ptrace, false },
	{ "bpf", SYS_bpf, false },
	{ "clone", SYS_clone, false },
	{ "unshare", SYS_unshare, false },
	{ "socket", SYS_socket, false },
	{ "socketpair", SYS_socketpair, true },
	{ "sendto", SYS_sendto, false },
	{ "sendmsg", SYS_sendmsg, false },
	{ "sendmmsg", SYS_sendmmsg, false },
	{ "setsockopt", SYS_setsockopt, false },
	{ "ioctl", SYS_ioctl, false },
	{ "personality", SYS_personality, true },
	{ "renameat2", SYS_renameat2, false },
	{ "mknodat", SYS_mknodat, false },
};

/* Values around everything that a rule names, and single bits. */
static uint64_t
value_of(unsigned i)
{
	static const uint64_t values[] = { 0, 1, 2, 6, 8, 10, 16, 17, 23, 30, 31, 40, 256, 262,
		0x400, 0x5401, 0x5412, 0x541c, 0x5423, 0x20000, 0x20008, 0x10000011, 0x20000000,
		0020644, 0060644, 0100644, UINT32_MAX, UINT64_MAX, HIGH | 0x5412, HIGH | 40 };

	return i < HL_ARRAY_SIZE(values) ? values[i] : UINT64_C(1) << (i - HL_ARRAY_SIZE(values));
}

static void
test_json_agrees(void **state)
{
	enum {
		VALUES = 30 + 40
	};
	static struct json_rules rules;

	(void)state;
	for (unsigned profile = 0; profile < 3; profile++) {
		const char *json = confine_profile_json((enum confine_profile)profile);
		for (size_t i = 0; i < HL_ARRAY_SIZE(named); i++) {
			collect(json, named[i].name, &rules);
			for (unsigned k = 0; k < VALUES * 8; k++) {
				/* the rules look at one argument or at a pair of them */
				uint64_t a = value_of(k % VALUES);
				uint64_t b = value_of((k * 7 + k / VALUES) % VALUES);
				struct seccomp_data data = { .nr = named[i].number,
					.arch = NATIVE,
					.args = { a, k % 2 == 0 ? a : 6, b, b, b } };
				uint64_t args[6];
				for (unsigned arg = 0; arg < 6; arg++)
					args[arg] = data.args[arg];
				uint32_t bpf = run((enum confine_profile)profile, &data);
				uint32_t other = ask_json(&rules, args);
				bool is_terse = named[i].is_terse && bpf == REFUSED;
				if (is_terse ? other != ABSENT : bpf != other)
					fail_msg("%s(%llx, %llx, %llx), profile %u: 0x%x, 0x%x",
					    named[i].name, (unsigned long long)args[0],
					    (unsigned long long)args[1],
					    (unsigned long long)args[2], profile, bpf, other);
			}
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_other_architecture),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_json_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
