/*
 * process.seccomp.deny: denied calls in front of a profile, as a program for each architecture and
 * as JSON.
 */
#include "tests/unit/confine/bpf.h"

#include "base/banned.h"

static void
deny(struct hl_strv *denied, const char *const *names, size_t len)
{
	hl_strv_init(denied, 16);
	for (size_t i = 0; i < len; i++)
		hl_strv_add(denied, names[i]);
}

/* Denied is refused; everything else has the answer that it had, on each architecture. */
static void
test_denied(void **state)
{
	static const char *const names[] = { "clone3", "open", "ptrace", "socket" };
	HL_AUTO(hl_strv_done) struct hl_strv denied;
	struct hl_err err;

	(void)state;
	deny(&denied, names, HL_ARRAY_SIZE(names));
	for (unsigned k = 0; k < (unsigned)CONFINE_PROFILE_MAX * CONFINE_ARCH_MAX; k++) {
		enum confine_arch arch = (enum confine_arch)(k / CONFINE_PROFILE_MAX);
		enum confine_profile profile = (enum confine_profile)(k % CONFINE_PROFILE_MAX);
		struct confine_program program;
		assert_int_equal(confine_filter(arch, profile, &denied, &program, &err), 0);
		for (int number = -1; number < 600; number++) {
			const struct seccomp_data data = { .nr = number,
				.arch = audit[arch],
				.args = { 2, 1, 6, 6, 6 } };
			uint32_t answer = run_program(program.bpf, program.len, &data);
			uint32_t before =
			    profile == CONFINE_PROFILE_NONE ? ALLOWED : run(profile, &data);
			/* -1 has the bit of x32; the kernel knows no such call either. */
			if (number < 0 && arch == CONFINE_ARCH_X86_64)
				before = ABSENT;
			bool is_open = arch == CONFINE_ARCH_X86_64 && number == 2;
			if (number == numbers[CALL_clone3][arch])
				assert_int_equal(answer, ABSENT);
			else if (number == numbers[CALL_ptrace][arch] ||
				 number == numbers[CALL_socket][arch] || is_open)
				assert_int_equal(answer, REFUSED);
			else
				assert_int_equal(answer, before);
		}
		const struct seccomp_data other = { .nr = 0, .arch = AUDIT_ARCH_I386 };
		assert_int_equal(run_program(program.bpf, program.len, &other),
		    SECCOMP_RET_KILL_PROCESS);
		free(program.bpf);
	}
}

/* The same call by its x32 number: another number for the comparisons, the same call for a kernel
 * that has the ABI. No program lets it by. */
static void
test_x32_is_no_way_round(void **state)
{
	static const char *const names[] = { "ptrace" };
	HL_AUTO(hl_strv_done) struct hl_strv denied;
	struct confine_program program;
	struct hl_err err;

	(void)state;
	deny(&denied, names, 1);
	for (unsigned profile = 0; profile < CONFINE_PROFILE_MAX; profile++) {
		assert_int_equal(confine_filter(CONFINE_ARCH_X86_64, (enum confine_profile)profile,
				     &denied, &program, &err),
		    0);
		for (int number = 0; number < 600; number++) {
			const struct seccomp_data data = { .nr = number | 0x40000000,
				.arch = AUDIT_ARCH_X86_64 };
			assert_int_equal(run_program(program.bpf, program.len, &data), ABSENT);
		}
		free(program.bpf);
	}
}

static void
test_nothing_denied(void **state)
{
	const struct hl_strv none = { 0 };
	struct hl_err err;

	(void)state;
	for (unsigned profile = 0; profile < CONFINE_PROFILE_MAX; profile++) {
		struct confine_program program;
		size_t base_len;
		const struct confine_bpf *base =
		    confine_profile_bpf((enum confine_profile)profile, &base_len);
		assert_int_equal(confine_filter(confine_arch_native(),
				     (enum confine_profile)profile, &none, &program, &err),
		    0);
		assert_int_equal(program.len, base_len);
		if (base_len > 0)
			assert_memory_equal(program.bpf, base, base_len * sizeof(*base));
		free(program.bpf);
	}
}

/* HLU-01 */
static void
test_a_name_that_is_none_is_refused(void **state)
{
	static const char *const names[] = { "opne" };
	const struct hl_strv none = { 0 };
	HL_AUTO(hl_strv_done) struct hl_strv denied;
	struct confine_program program;
	struct hl_err err;
	struct hl_buf out;

	(void)state;
	deny(&denied, names, 1);
	assert_int_equal(confine_filter(CONFINE_ARCH_AARCH64, CONFINE_PROFILE_NONE, &denied,
			     &program, &err),
	    -1);
	assert_int_equal(err.code, HLU_01);
	assert_non_null(strstr(err.help, "'open'"));
	hl_buf_init(&out, 1024);
	assert_int_equal(confine_filter_json(CONFINE_PROFILE_NONE, &denied, &out, &err), -1);
	assert_int_equal(confine_syscall_check("openat", &err), 0);
	assert_int_equal(confine_syscall_check("", &err), -1);
	assert_int_equal(confine_filter_json(CONFINE_PROFILE_NONE, &none, &out, &err), 0);
	assert_int_equal(out.len, 0);
	hl_buf_done(&out);
}

static void
test_denied_in_json(void **state)
{
	static const char *const names[] = { "clone3", "ptrace", "read", "socket" };
	static const uint64_t args[6] = { 2, 1, 6, 6, 6, 6 };
	static struct json_rules rules;
	HL_AUTO(hl_strv_done) struct hl_strv denied;
	struct hl_err err;

	(void)state;
	deny(&denied, names, HL_ARRAY_SIZE(names));
	for (unsigned profile = 0; profile < CONFINE_PROFILE_MAX; profile++) {
		struct hl_buf out;
		hl_buf_init(&out, 1024 * 1024);
		assert_int_equal(confine_filter_json((enum confine_profile)profile, &denied, &out,
				     &err),
		    0);
		for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++) {
			collect(out.data, names[i], &rules);
			assert_int_equal(rules.len, 1); /* two would contradict each other */
			assert_int_equal(ask_json(&rules, args), i == 0 ? ABSENT : REFUSED);
		}
		collect(out.data, "write", &rules);
		assert_int_equal(rules.len, profile == CONFINE_PROFILE_NONE ? 0 : 1);
		/* Balanced, and no comma too many. */
		int depth = 0;
		for (const char *c = out.data; *c != '\0'; c++)
			depth += (*c == '{' || *c == '[') - (*c == '}' || *c == ']');
		assert_int_equal(depth, 0);
		assert_null(strstr(out.data, ",,"));
		assert_null(strstr(out.data, ",]"));
		assert_null(strstr(out.data, "[,"));
		assert_null(strstr(out.data, "}{"));
		hl_buf_done(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_denied),
		cmocka_unit_test(test_x32_is_no_way_round),
		cmocka_unit_test(test_nothing_denied),
		cmocka_unit_test(test_a_name_that_is_none_is_refused),
		cmocka_unit_test(test_denied_in_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
