/*
 * Prints build/gen/profiles.h: the profiles strict, default and broad as BPF programs for each
 * architecture, the same sets as profiles (JSON) for container engines, and the numbers of every
 * name, by which further calls are denied. Runs at build time, so that a start needs no filter
 * compiler; libseccomp gives the numbers.
 *
 * The program is a binary tree over ranges of numbers with the same answer, which is a third of
 * what a general compiler makes of these rules and is loaded at every start. A rule looks at the
 * low 32 bits of an argument, as the kernel does where it takes an int: bits above must neither
 * hide a value nor make another one of it.
 *
 * An OCI profile has no "unless": there a rule that refuses some values becomes rules that allow
 * all others, as masks. Each conjunction of masks is a cube; cubes are cut along the conditions
 * until every condition has one answer in each.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <seccomp.h>

#include "confine/gen/rules.h"

#include "base/banned.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* In the order of enum confine_arch. */
struct arch {
	const char *name;
	uint32_t token, audit;
};

static const struct arch archs[] = {
	{ "x86_64", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64 },
	{ "aarch64", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64 },
};

struct call {
	const char *name;
	enum set set;
	int given;  /* 0: libseccomp's */
	int number; /* resolved; < 0: not on this architecture */
	const struct rule *rule, *pretence;
};

static struct call calls[] = {
#define SYSCALL(name, set, number) { #name, set, number, 0, NULL, NULL },
#include "confine/syscalls.def"
#undef SYSCALL
};

static _Noreturn void
die(const char *what, const char *subject)
{
	fprintf(stderr, "gen-seccomp: %s '%s'\n", what, subject);
	exit(1);
}

static int
by_number(const void *a, const void *b)
{
	const struct call *left = a, *right = b;

	return left->number < right->number ? -1 : left->number > right->number ? 1 : 0;
}

static int
by_name(const void *a, const void *b)
{
	const struct call *left = a, *right = b;

	return strcmp(left->name, right->name);
}

/* A name that no architecture knows is a slip of the pen. */
static bool
exists_elsewhere(const char *name)
{
	return seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name) >= 0 ||
	       seccomp_syscall_resolve_name_arch(SCMP_ARCH_AARCH64, name) >= 0 ||
	       seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86, name) >= 0;
}

static int
number_of(const struct call *call, const struct arch *arch)
{
	if (call->given != 0)
		return call->given;
	int number = seccomp_syscall_resolve_name_arch(arch->token, call->name);
	if (number < 0 && !exists_elsewhere(call->name))
		die("unknown system call", call->name);
	return number < 0 ? -1 : number;
}

static void
resolve(const struct arch *arch)
{
	for (size_t i = 0; i < COUNT(calls); i++) {
		calls[i].number = number_of(&calls[i], arch);
		for (size_t k = 0; k < COUNT(rules); k++)
			if (strcmp(rules[k].name, calls[i].name) == 0)
				calls[i].rule = &rules[k];
		for (size_t k = 0; k < COUNT(pretences); k++)
			if (strcmp(pretences[k].name, calls[i].name) == 0)
				calls[i].pretence = &pretences[k];
	}
	qsort(calls, COUNT(calls), sizeof(calls[0]), by_number);
}

static enum answer
answer_of(const struct call *call, enum set profile)
{
	if (call->set == ABSENT)
		return ANSWER_ABSENT;
	return call->set <= profile ? ANSWER_ALLOW : ANSWER_REFUSE;
}

/* The rule that holds in this profile, if any. */
static const struct rule *
rule_of(const struct call *call, enum set profile)
{
	if (call->rule == NULL || profile > call->rule->last ||
	    answer_of(call, profile) != ANSWER_ALLOW)
		return NULL;
	return call->rule;
}

/* ------------------------------------------------------------------------------------------------
 * BPF
 */
struct program {
	struct sock_filter code[PROGRAM_MAX];
	size_t len;
};

static size_t
emit(struct program *program, unsigned code, uint32_t k)
{
	if (program->len == PROGRAM_MAX)
		die("program too long", "");
	program->code[program->len] = (struct sock_filter){ .code = (uint16_t)code, .k = k };
	return program->len++;
}

static uint32_t
return_value(enum answer answer)
{
	switch (answer) {
	case ANSWER_ALLOW:
		return SECCOMP_RET_ALLOW;
	case ANSWER_REFUSE:
		return SECCOMP_RET_ERRNO | EPERM;
	case ANSWER_ABSENT:
		break;
	}
	return SECCOMP_RET_ERRNO | ENOSYS;
}

/* Where an argument's half stands: both architectures are little-endian. */
static uint32_t
argument_offset(unsigned argument)
{
	uint32_t base = (uint32_t)offsetof(struct seccomp_data, args);

	return argument < HIGH(0) ? base + 8 * argument : base + 8 * (argument - HIGH(0)) + 4;
}

static void
emit_clause(struct program *program, const struct condition *conditions, uint32_t answer)
{
	size_t jumps[CONDITIONS_MAX], n = 0;

	for (; n < CONDITIONS_MAX && conditions[n].is_set; n++) {
		const struct condition *condition = &conditions[n];
		emit(program, BPF_LD | BPF_W | BPF_ABS, argument_offset(condition->argument));
		if (condition->mask != UINT32_MAX)
			emit(program, BPF_ALU | BPF_AND | BPF_K, condition->mask);
		jumps[n] = emit(program, BPF_JMP | BPF_JEQ | BPF_K, condition->value);
	}
	emit(program, BPF_RET | BPF_K, answer);
	/* A condition that does not hold leads behind the clause. */
	for (size_t i = 0; i < n; i++) {
		uint8_t out = (uint8_t)(program->len - jumps[i] - 1);
		if (conditions[i].is_not)
			program->code[jumps[i]].jt = out;
		else
			program->code[jumps[i]].jf = out;
	}
}

/* Numbers first ... next range's first - 1. */
struct range {
	uint32_t first;
	enum answer answer;
	const struct rule *rule, *pretence;
};

static void
emit_rule(struct program *program, const struct rule *rule, uint32_t answer)
{
	for (size_t i = 0; rule != NULL && i < CLAUSES_MAX; i++)
		if (rule->clauses[i][0].is_set)
			emit_clause(program, rule->clauses[i], answer);
}

static void
emit_tree(struct program *program, const struct range *ranges, size_t len)
{
	if (len == 1) {
		emit_rule(program, ranges->rule, return_value(ANSWER_REFUSE));
		emit_rule(program, ranges->pretence, SECCOMP_RET_ERRNO);
		emit(program, BPF_RET | BPF_K, return_value(ranges->answer));
		return;
	}
	size_t half = len / 2;
	size_t test = emit(program, BPF_JMP | BPF_JGE | BPF_K, ranges[half].first);
	size_t left = program->len;
	emit_tree(program, ranges, half);
	size_t size = program->len - left;
	if (size <= UINT8_MAX) {
		program->code[test].jt = (uint8_t)size;
	} else {
		/* Farther than a conditional jump reaches: a plain one in between. */
		emit(program, BPF_JMP | BPF_JA, 0);
		memmove(&program->code[left + 1], &program->code[left],
		    size * sizeof(program->code[0]));
		program->code[left] =
		    (struct sock_filter){ .code = BPF_JMP | BPF_JA, .k = (uint32_t)size };
		program->code[test].jf = 1;
	}
	emit_tree(program, ranges + half, len - half);
}

static void
add_range(struct range *ranges, size_t *len, struct range range)
{
	const struct range *last = *len > 0 ? &ranges[*len - 1] : NULL;

	if (last != NULL && last->answer == range.answer && last->rule == NULL &&
	    last->pretence == NULL && range.rule == NULL && range.pretence == NULL)
		return;
	ranges[(*len)++] = range;
}

static size_t
make_ranges(struct range *ranges, enum set profile)
{
	size_t len = 0;
	uint32_t next = 0;

	for (size_t i = 0; i < COUNT(calls); i++) {
		if (calls[i].number < 0)
			continue;
		uint32_t number = (uint32_t)calls[i].number;
		if (number > next)
			add_range(ranges, &len, (struct range){ next, ANSWER_ABSENT, NULL, NULL });
		add_range(ranges, &len,
		    (struct range){ number, answer_of(&calls[i], profile),
			rule_of(&calls[i], profile), calls[i].pretence });
		next = number + 1;
	}
	add_range(ranges, &len, (struct range){ next, ANSWER_ABSENT, NULL, NULL });
	return len;
}

static void
print_program(const struct arch *arch, const char *name, enum set profile)
{
	static struct program program;
	static struct range ranges[CALLS_MAX];

	program.len = 0;
	emit(&program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, arch));
	size_t test = emit(&program, BPF_JMP | BPF_JEQ | BPF_K, arch->audit);
	program.code[test].jt = 1;
	emit(&program, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	emit(&program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, nr));
	emit_tree(&program, ranges, make_ranges(ranges, profile));
	printf("static const struct confine_bpf seccomp_%s_%s[] = {\n", arch->name, name);
	for (size_t i = 0; i < program.len; i++)
		printf("\t{ 0x%02x, %u, %u, 0x%08" PRIx32 " },\n", program.code[i].code,
		    program.code[i].jt, program.code[i].jf, program.code[i].k);
	printf("};\n\n");
}

/* ------------------------------------------------------------------------------------------------
 * JSON
 */
/* A set of argument vectors: each argument is free, or has bits that are fixed. */
struct cube {
	uint32_t mask[6], value[6];
};

struct cubes {
	struct cube items[CUBES_MAX];
	size_t len;
};

static void
add_cube(struct cubes *cubes, const struct cube *cube)
{
	if (cubes->len == CUBES_MAX)
		die("too many cubes", "");
	cubes->items[cubes->len++] = *cube;
}

/* What a condition is in all of a cube, once the cube was cut along it. */
static bool
holds_in(const struct condition *condition, const struct cube *cube)
{
	uint32_t mask = cube->mask[condition->argument];
	uint32_t value = cube->value[condition->argument];
	bool is_equal = (mask & condition->mask) == condition->mask &&
			(value & condition->mask) == condition->value;

	return is_equal != condition->is_not;
}

/* Do the first n conditions of a clause hold? Otherwise those behind them do not matter. */
static bool
all_hold(const struct condition *clause, size_t n, const struct cube *cube)
{
	for (size_t i = 0; i < n; i++)
		if (!holds_in(&clause[i], cube))
			return false;
	return true;
}

/* Cuts the cubes so that condition number n of a clause is true or false in all of each. */
static void
cut(struct cubes *cubes, const struct condition *clause, size_t n)
{
	static struct cubes result;
	const struct condition *condition = &clause[n];
	unsigned arg = condition->argument;

	result.len = 0;
	for (size_t i = 0; i < cubes->len; i++) {
		struct cube rest = cubes->items[i];
		bool is_apart =
		    ((rest.value[arg] ^ condition->value) & rest.mask[arg] & condition->mask) != 0;
		bool is_done = is_apart || !all_hold(clause, n, &rest);
		for (unsigned bit = 32; !is_done && bit-- > 0;) {
			uint32_t one = (uint32_t)1 << bit;
			if ((condition->mask & ~rest.mask[arg] & one) == 0)
				continue;
			struct cube other = rest;
			other.mask[arg] |= one;
			other.value[arg] |= ~condition->value & one;
			add_cube(&result, &other);
			rest.mask[arg] |= one;
			rest.value[arg] |= condition->value & one;
		}
		add_cube(&result, &rest);
	}
	*cubes = result;
}

static bool
is_refused(const struct rule *rule, const struct cube *cube)
{
	for (size_t i = 0; i < CLAUSES_MAX && rule->clauses[i][0].is_set; i++) {
		size_t n = 0;
		while (n < CONDITIONS_MAX && rule->clauses[i][n].is_set)
			n++;
		if (all_hold(rule->clauses[i], n, cube))
			return true;
	}
	return false;
}

static char *json;
static size_t json_len;
static FILE *json_file;

static void
json_cube(const char *name, const struct rule *rule, const struct cube *cube)
{
	bool refuses = is_refused(rule, cube);
	const char *comma = "";

	fprintf(json_file, ",{\"names\":[\"%s\"],\"action\":\"%s\",%s\"args\":[", name,
	    refuses ? "SCMP_ACT_ERRNO" : "SCMP_ACT_ALLOW", refuses ? "\"errnoRet\":1," : "");
	for (unsigned arg = 0; arg < 6; arg++) {
		if (cube->mask[arg] == 0)
			continue;
		fprintf(json_file,
		    "%s{\"index\":%u,\"value\":%" PRIu32 ",\"valueTwo\":%" PRIu32
		    ",\"op\":\"SCMP_CMP_MASKED_EQ\"}",
		    comma, arg, cube->mask[arg], cube->value[arg]);
		comma = ",";
	}
	fprintf(json_file, "]}");
}

static void
json_rule(const char *name, const struct rule *rule)
{
	static struct cubes cubes;

	memset(&cubes, 0, sizeof(cubes));
	cubes.len = 1;
	for (size_t i = 0; i < CLAUSES_MAX; i++)
		for (size_t k = 0; k < CONDITIONS_MAX && rule->clauses[i][k].is_set; k++)
			cut(&cubes, rule->clauses[i], k);
	/* Every rule costs an engine's libseccomp a copy of all before it. */
	for (size_t i = 0; i < cubes.len; i++)
		if (!rule->is_terse || !is_refused(rule, &cubes.items[i]))
			json_cube(name, rule, &cubes.items[i]);
}

static void
json_names(enum set profile, enum answer answer, const char *action)
{
	const char *comma = "";

	fprintf(json_file, "{\"names\":[");
	for (size_t i = 0; i < COUNT(calls); i++) {
		if (answer_of(&calls[i], profile) != answer || rule_of(&calls[i], profile) != NULL)
			continue;
		fprintf(json_file, "%s\"%s\"", comma, calls[i].name);
		comma = ",";
	}
	fprintf(json_file, "],%s}", action);
}

static void
print_json(const char *name, enum set profile)
{
	json_file = open_memstream(&json, &json_len);
	if (json_file == NULL)
		die("out of memory", name);
	/* Of archMap an engine takes its own entry; of "architectures" it would take all, and make
	 * a filter for each. */
	fprintf(json_file,
	    "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":%d,\"archMap\":["
	    "{\"architecture\":\"SCMP_ARCH_X86_64\",\"subArchitectures\":[]},"
	    "{\"architecture\":\"SCMP_ARCH_AARCH64\",\"subArchitectures\":[]}],\"syscalls\":[",
	    ENOSYS);
	json_names(profile, ANSWER_ALLOW, "\"action\":\"SCMP_ACT_ALLOW\"");
	fprintf(json_file, ",");
	json_names(profile, ANSWER_REFUSE, "\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":1");
	fprintf(json_file, ",");
	/* By name as well: engines that do not know defaultErrnoRet answer EPERM by default, and
	 * that C libraries do not take for "not there". */
	json_names(profile, ANSWER_ABSENT, "\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":38");
	for (size_t i = 0; i < COUNT(calls); i++)
		if (rule_of(&calls[i], profile) != NULL)
			json_rule(calls[i].name, rule_of(&calls[i], profile));
	fprintf(json_file, "]}");
	fclose(json_file);
	/* As numbers: a string literal of this length is more than ISO C promises. */
	printf("static const char seccomp_json_%s[] = {", name);
	for (size_t i = 0; i <= json_len; i++)
		printf("%s%d,", i % 24 == 0 ? "\n\t" : "", i < json_len ? json[i] : 0);
	printf("\n};\n\n");
	free(json);
}

/* Every name with its number on each architecture, sorted by name. */
static void
print_numbers(void)
{
	qsort(calls, COUNT(calls), sizeof(calls[0]), by_name);
	printf("static const struct seccomp_number seccomp_numbers[] = {\n");
	for (size_t i = 0; i < COUNT(calls); i++) {
		if (strlen(calls[i].name) >= NAME_SIZE)
			die("a name too long", calls[i].name);
		printf("\t{ \"%s\", %s, {", calls[i].name,
		    calls[i].set == ABSENT ? "true" : "false");
		for (size_t k = 0; k < COUNT(archs); k++)
			printf(" %d,", number_of(&calls[i], &archs[k]));
		printf(" } },\n");
	}
	printf("};\n\n");
}

int
main(void)
{
	static const char *const names[] = { "strict", "default", "broad" };

	printf("/* Made by confine/gen/gen-seccomp.c: do not edit. */\n"
	       "#ifndef HL_GEN_PROFILES_H\n#define HL_GEN_PROFILES_H\n\n"
	       "#include \"confine/confine.h\"\n\n");
	/* Names in place: pointers would be relocated at every start. */
	printf("struct seccomp_number {\n\tchar name[%d];\n\tbool is_absent;\n"
	       "\tint16_t numbers[CONFINE_ARCH_MAX]; /* -1: not there */\n};\n\n",
	    NAME_SIZE);
	for (size_t k = 0; k < COUNT(archs); k++) {
		resolve(&archs[k]);
		for (size_t i = 0; i < COUNT(names); i++)
			print_program(&archs[k], names[i], (enum set)i);
	}
	print_numbers();
	for (size_t i = 0; i < COUNT(names); i++)
		print_json(names[i], (enum set)i);
	printf("#endif\n");
	return 0;
}
