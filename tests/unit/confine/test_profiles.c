/*
 * The generated filters, run by an interpreter of ours: arguments that no kernel here would be
 * asked with, bits above 32, other architectures. And the same sets as JSON, read back rule by
 * rule: both forms must give the same answer to the same question.
 */
#include <sys/syscall.h>

#include "tests/unit/confine/bpf.h"

#include "base/banned.h"

#define HIGH UINT64_C(0xdead000000000000)

struct question {
	int call;         /* enum call, or PLAIN() */
	uint64_t args[3]; /* the third stands for all behind it */
	uint32_t answers[3];
};

static const struct question questions[] = {
	{ CALL_read, { 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_exit_group, { 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_clone3, { 0 }, { ABSENT, ABSENT, ABSENT } },
	{ CALL_ptrace, { 0 }, { REFUSED, ALLOWED, ALLOWED } },
	{ CALL_bpf, { 0 }, { REFUSED, REFUSED, REFUSED } },
	{ CALL_mount, { 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ PLAIN(451), { 0 },
	    { ALLOWED, ALLOWED, ALLOWED } }, /* cachestat: newer than libseccomp's names */
	{ PLAIN(467), { 0 }, { REFUSED, REFUSED, ALLOWED } }, /* open_tree_attr */
	{ PLAIN(5000), { 0 }, { ABSENT, ABSENT, ABSENT } },
	{ PLAIN(-1), { 0 }, { ABSENT, ABSENT, ABSENT } },
	{ PLAIN(0x40000000 | 39), { 0 }, { ABSENT, ABSENT, ABSENT } }, /* x32 */
	{ CALL_clone, { 17 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_clone, { 0x3d0f00 }, { ALLOWED, ALLOWED, ALLOWED } }, /* a thread */
	{ CALL_clone, { 0x10000011 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_clone, { HIGH | 0x20011 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_unshare, { 0x80 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_unshare, { 0x400 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_socket, { 1, 1, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_socket, { HIGH | 40, 1, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_socket, { 38, 5, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_socket, { 0, 0, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_socket, { UINT64_MAX, 0, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_socket, { 2, 1, 6 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_socket, { 2, 1, 262 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_socket, { 10, 1, HIGH | 262 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_socket, { 2, 1, 256 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_socket, { 16, 3, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_socket, { 16, 3, 12 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_socketpair, { 1, 0, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_socketpair, { 30, 0, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_sendto, { 0, 0, 0x20000000 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_sendto, { 0, 0, 0x4000 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_sendmsg, { 0, 0, HIGH | 0x20004000 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_sendmmsg, { 0, 0, 0x20000000 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_setsockopt, { 0, 6, 23 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_setsockopt, { 0, HIGH | 6, HIGH | 30 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_setsockopt, { 0, 6, 1 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_setsockopt, { 0, 1, 23 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_ioctl, { 0, 0x5412, 0 }, { REFUSED, REFUSED, REFUSED } },
	{ CALL_ioctl, { 0, HIGH | 0x5412, 0 }, { REFUSED, REFUSED, REFUSED } },
	{ CALL_ioctl, { 0, UINT64_C(0xffffffff0000541c), 0 }, { REFUSED, REFUSED, REFUSED } },
	{ CALL_ioctl, { 0, 0x5401, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_ioctl, { 0, 0x80005412, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_personality, { 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_personality, { UINT32_MAX }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_personality, { 0x400000 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_personality, { 0x40000 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_prlimit64, { 0, 4, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_prlimit64, { HIGH | 1, 4, 0 }, { REFUSED, REFUSED, ALLOWED } },
	/* RLIMIT_CORE stays what the sandbox set; a pointer may have a low half of zero. */
	{ CALL_prlimit64, { 0, 4, 0x1000 }, { PRETENDED, PRETENDED, PRETENDED } },
	{ CALL_prlimit64, { 0, HIGH | 4, 0x700000000 }, { PRETENDED, PRETENDED, PRETENDED } },
	{ CALL_prlimit64, { 0, 7, 0x1000 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_setrlimit, { 4, 0x1000, 0 }, { PRETENDED, PRETENDED, PRETENDED } },
	{ CALL_setrlimit, { 7, 0x1000, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_sched_setscheduler, { 1, 5, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_sched_setaffinity, { 2, 8, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_sched_setaffinity, { 1, 8, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_setpriority, { 0, 1, 19 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_setpriority, { 1, 1, 19 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_setpriority, { 0, 0, 19 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_setpriority, { 2, 1, 19 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_ioprio_set, { 1, 1, 0 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_ioprio_set, { 1, 0, 0 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_renameat2, { 0, 0, 4 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_renameat2, { 0, 0, 3 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_mknodat, { 0, 0, 0100644 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_mknodat, { 0, 0, 0010644 }, { ALLOWED, ALLOWED, ALLOWED } },
	{ CALL_mknodat, { 0, 0, 0020644 }, { REFUSED, REFUSED, ALLOWED } },
	{ CALL_mknodat, { 0, 0, 0060644 }, { REFUSED, REFUSED, ALLOWED } },
};

static int
number_of(const struct question *question, enum confine_arch arch)
{
	return question->call < 0 ? question->call + 2000000000 : numbers[question->call][arch];
}

static void
test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(questions); i++)
		for (unsigned k = 0; k < 3 * CONFINE_ARCH_MAX; k++) {
			const struct question *question = &questions[i];
			enum confine_arch arch = (enum confine_arch)(k / 3);
			unsigned profile = k % 3;
			int number = number_of(question, arch);
			uint32_t answer =
			    ask(arch, (enum confine_profile)profile, number, question->args);
			if (answer != question->answers[profile])
				fail_msg("question %zu (call %d), architecture %u, profile %u: "
					 "0x%x",
				    i, number, arch, profile, answer);
		}
}

static void
test_numbers_of_this_machine(void **state)
{
	enum confine_arch arch = confine_arch_native();

	(void)state;
	assert_int_equal(numbers[CALL_read][arch], SYS_read);
	assert_int_equal(numbers[CALL_clone][arch], SYS_clone);
	assert_int_equal(numbers[CALL_prlimit64][arch], SYS_prlimit64);
	assert_int_equal(numbers[CALL_mknodat][arch], SYS_mknodat);
}

/* A program meets its own architecture only; 32-bit calls have other numbers. */
static void
test_other_architecture(void **state)
{
	static const uint32_t others[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64,
		AUDIT_ARCH_AARCH64, 0 };

	(void)state;
	for (unsigned k = 0; k < 3 * CONFINE_ARCH_MAX; k++)
		for (size_t i = 0; i < HL_ARRAY_SIZE(others); i++) {
			enum confine_arch arch = (enum confine_arch)(k / 3);
			const struct seccomp_data data = { .nr = numbers[CALL_read][arch],
				.arch = others[i] };
			size_t len;
			const struct confine_bpf *program =
			    confine_profile_bpf_of(arch, (enum confine_profile)(k % 3), &len);
			assert_int_equal(run_program(program, len, &data),
			    others[i] == audit[arch] ? ALLOWED : SECCOMP_RET_KILL_PROCESS);
		}
}

/* Whatever strict lets through, default does; whatever default does, broad does. */
static void
test_order(void **state)
{
	(void)state;
	for (int number = 0; number < 600; number++)
		for (uint64_t k = 0; k < 64 * CONFINE_ARCH_MAX; k++) {
			enum confine_arch arch = (enum confine_arch)(k / 64);
			const uint64_t args[3] = { k % 64, k % 64, k % 64 };
			bool strict = ask(arch, CONFINE_PROFILE_STRICT, number, args) == ALLOWED;
			bool usual = ask(arch, CONFINE_PROFILE_DEFAULT, number, args) == ALLOWED;
			bool broad = ask(arch, CONFINE_PROFILE_BROAD, number, args) == ALLOWED;
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
 * The JSON form
 */
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
					.arch = audit[confine_arch_native()],
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
		cmocka_unit_test(test_numbers_of_this_machine),
		cmocka_unit_test(test_other_architecture),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_json_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
