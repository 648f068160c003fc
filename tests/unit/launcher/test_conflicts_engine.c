/*
 * Every row of docker's option table against a policy: values of each kind with the verdict that is
 * right for them, each in every legal spelling; and thousands of respelt attacks, of which none may
 * pass in enforce.
 */
#include <inttypes.h>
#include <time.h>

#include "backends/docker/docker.h"
#include "tests/unit/launcher/conflicts_case.h"

#include "base/banned.h"

static const char policy_text[] =
    "level: open@1\n"
    "backends: [docker, local]\n"
    "process:\n"
    "  user: \"1000:1000\"\n"
    "  allow_root: false\n"
    "  no_new_privs: true\n"
    "  caps: {allowed: [CHOWN, FOWNER, KILL], default: [CHOWN, FOWNER]}\n"
    "  seccomp: {profile: default}\n"
    "limits:\n"
    "  memory: {max: 1GiB, default: 512MiB}\n"
    "  cpus: {max: 2, default: 1}\n"
    "  pids: {max: 256, default: 128}\n"
    "  files: {max: 1024, default: 512}\n"
    "  shm: {max: 64MiB, default: 32MiB}\n"
    "fs:\n"
    "  root: read_only\n"
    "  mounts: [{src: /usr/share, dst: /data, access: ro}]\n"
    "  tmpfs: [{dst: /scratch, size: 64MiB, exec: false}]\n"
    "  devices: {allowed: [/dev/fuse, /dev/kvm], default: [/dev/fuse]}\n"
    "network: {mode: none}\n"
    "env: {pass: [LANG, \"APP_*\"], set: {FIXED: \"as it is\"}}\n"
    "image: {pull: missing}\n";

enum verdict {
	SAME,  /* no conflict, nothing changes */
	TIGHT, /* no conflict, in force */
	KEPT,  /* no conflict, handed to the engine */
	LOOSE, /* conflict; wins in warn */
	OWNED, /* conflict; left out in warn */
	FLOOR, /* refused in both modes */
	ERROR, /* cannot be understood at all */
};

static const struct sample {
	enum docker_option_id option;
	const char *value; /* of booleans: "true" or "false" */
	enum verdict verdict;
	enum hl_code code;
} samples[] = {
#include "tests/unit/launcher/conflicts_samples.def"
};

/* ------------------------------------------------------------------------------------------------
 * Spellings
 */
enum {
	SPELLINGS = 6
};

/* The n-th legal spelling as one or two arguments; false: this option has no such. */
static bool
spell(const struct sample *sample, unsigned way, char text[2][1024], const char *args[3])
{
	const struct docker_option *option = docker_option(sample->option);
	bool is_bool = option->kind == DOCKER_KIND_BOOL;
	bool is_true = strcmp(sample->value, "true") == 0;

	args[0] = text[0];
	args[1] = args[2] = NULL;
	if (way >= 2 && option->letter == '\0')
		return false;
	switch (way) {
	case 0:
		snprintf(text[0], 1024, "%s=%s", option->flag, sample->value);
		return true;
	case 1:
		snprintf(text[0], 1024, "%s", option->flag);
		break;
	case 2:
		snprintf(text[0], 1024, "-%c", option->letter);
		break;
	case 3:
		snprintf(text[0], 1024, "-%c=%s", option->letter, sample->value);
		return sample->value[0] != '\0';
	case 4:
		snprintf(text[0], 1024, "-%c%s", option->letter, sample->value);
		return !is_bool && sample->value[0] != '\0' && sample->value[0] != '=';
	case 5:
		if (!is_bool)
			return false;
		snprintf(text[0], 1024, "%s=%s", option->flag, is_true ? "T" : "F");
		return true;
	default:
		return false;
	}
	if (is_bool)
		return is_true;
	snprintf(text[1], 1024, "%s", sample->value);
	args[1] = text[1];
	return true;
}

static void
check_enforce(const struct sample *sample, const char *const *args)
{
	struct trial *trial = trial_engine("enforce", policy_text, args);
	const struct conflicts *conflicts = &trial->conflicts;
	const char *what = args[0], *more = args[1] != NULL ? args[1] : "";

	if ((trial->status == -1) != (sample->verdict == ERROR))
		fail_msg("%s %s: %s", what, more, trial->status == -1 ? trial->err.msg : "read");
	if (sample->verdict == ERROR) {
		assert_int_equal(trial->err.code, sample->code);
		trial_free(trial);
		return;
	}
	if ((conflicts->refused > 0) != (sample->verdict >= LOOSE))
		fail_msg("%s %s: %zu refused", what, more, conflicts->refused);
	if ((conflicts->tightened > 0) != (sample->verdict == TIGHT) && sample->verdict != KEPT)
		fail_msg("%s %s: %zu tightened", what, more, conflicts->tightened);
	if ((conflicts->engine_args.len > 0) != (sample->verdict == KEPT))
		fail_msg("%s %s: %zu for the engine", what, more, conflicts->engine_args.len);
	if (sample->verdict >= LOOSE) {
		const struct conflict *conflict = &conflicts->items[0];

		if (conflicts->len != 1)
			fail_msg("%s %s: %zu conflicts", what, more, conflicts->len);
		if (conflict->code != sample->code)
			fail_msg("%s %s: [%s]", what, more, hl_code_info(conflict->code)->id);
		assert_string_equal(conflict->door, "argument 5");
		assert_true(strlen(conflict->bound) > 0);
		assert_int_equal(strncmp(conflict->effect, "the command could ", 18), 0);
		assert_int_equal(strncmp(conflict->asked, "--engine-arg=--", 15), 0);
	}
	trial_free(trial);
}

static void
check_warn(const struct sample *sample, const char *const *args)
{
	static const enum conflict_action actions[] = {
		[LOOSE] = CONFLICT_WON,
		[OWNED] = CONFLICT_DROPPED,
		[FLOOR] = CONFLICT_REFUSED,
	};
	struct trial *trial = trial_engine("warn", policy_text, args);

	/* Root needs two permissions, so two conflicts. */
	assert_int_equal(trial->status, 0);
	assert_true(trial->conflicts.len >= 1);
	if (trial->conflicts.items[0].action != actions[sample->verdict])
		fail_msg("%s: action %d", args[0], trial->conflicts.items[0].action);
	assert_int_equal(trial->conflicts.refused > 0, sample->verdict == FLOOR);
	if (sample->verdict != LOOSE)
		assert_int_equal(trial->conflicts.engine_args.len, 0);
	trial_free(trial);
}

static void
test_every_sample_in_every_spelling(void **state)
{
	char text[2][1024];
	const char *args[3];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(samples); i++) {
		for (unsigned way = 0; way < SPELLINGS; way++) {
			if (!spell(&samples[i], way, text, args))
				continue;
			check_enforce(&samples[i], args);
			if (samples[i].verdict >= LOOSE && samples[i].verdict < ERROR)
				check_warn(&samples[i], args);
		}
	}
}

static void
test_every_row_has_a_sample(void **state)
{
	(void)state;
	for (size_t row = 0; row < DOCKER_OPTION_MAX; row++) {
		size_t found = 0;

		for (size_t i = 0; i < HL_ARRAY_SIZE(samples); i++)
			found += samples[i].option == row;
		if (found == 0)
			fail_msg("%s has no sample",
			    docker_option((enum docker_option_id)row)->flag);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Combinations
 */
static void
assert_passes(const char *const *args)
{
	struct trial *trial = trial_engine("enforce", policy_text, args);

	if (trial->status != 0 || trial->conflicts.refused > 0)
		fail_msg("%s: refused", args[0]);
	trial_free(trial);
}

static void
assert_refused(const char *const *args, enum hl_code code)
{
	struct trial *trial = trial_engine("enforce", policy_text, args);

	if (trial->status != 0)
		fail_msg("%s: %s", args[0], trial->err.msg);
	if (trial->conflicts.refused == 0)
		fail_msg("%s: passed", args[0]);
	if (!trial_has(trial, code))
		fail_msg("%s: [%s]", args[0], hl_code_info(trial->conflicts.items[0].code)->id);
	trial_free(trial);
}

static void
test_combinations(void **state)
{
	(void)state;
	/* Two processors: the product counts, in any order. */
	assert_passes(ARGS("--cpu-quota=200000", "--cpu-period=100000"));
	assert_passes(ARGS("--cpu-period=50000", "--cpu-quota=100000"));
	assert_passes(ARGS("--cpu-quota=200000"));
	assert_refused(ARGS("--cpu-quota=200000", "--cpu-period=50000"), HLC_30);
	assert_refused(ARGS("--cpu-period=1000", "--cpu-quota=2001"), HLC_30);
	assert_refused(ARGS("--cpu-quota=-1"), HLC_30);
	assert_refused(ARGS("--cpu-quota=50000", "--cpu-quota=900000"), HLC_04);
	/* Swap is judged by the memory that is in force in the end. */
	assert_passes(ARGS("--memory-swap=256m", "--memory=256m"));
	assert_passes(ARGS("-m", "256m", "--memory-swap", "256m"));
	assert_refused(ARGS("--memory-swap=512m", "--memory=256m"), HLC_30);
	assert_refused(ARGS("--memory=256m", "--memory-swap=-1"), HLC_30);
	/* The last one wins at the engine, and the first is refused all the same. */
	assert_refused(ARGS("--network=none", "--network=host"), HLC_31);
	assert_refused(ARGS("--network=host", "--network=none"), HLC_31);
	assert_refused(ARGS("--security-opt=no-new-privileges",
			   "--security-opt=no-new-privileges:false"),
	    HLC_11);
	assert_passes(ARGS("--cap-drop=ALL", "--cap-add=CHOWN"));
	assert_refused(ARGS("--cap-drop=ALL", "--cap-add=SYS_ADMIN"), HLC_12);
}

static void
test_what_is_made_effective(void **state)
{
	struct trial *trial = trial_engine("enforce", policy_text,
	    ARGS("--memory=1g", "--cap-drop=FOWNER", "--tmpfs=/scratch:size=16m", "--pids-limit=7",
		"--cap-add=KILL", "--hostname=box"));
	const struct policy_value *caps, *tmpfs;

	(void)state;
	assert_int_equal(trial->status, 0);
	assert_int_equal(trial->conflicts.len, 0);
	assert_int_equal(policy_get(trial->policy, POLICY_LIMITS_MEMORY)->number, 1 << 30);
	assert_int_equal(policy_get(trial->policy, POLICY_LIMITS_PIDS)->number, 7);
	assert_string_equal(policy_get(trial->policy, POLICY_LIMITS_PIDS)->origin.layer, "caller");
	assert_string_equal(policy_get(trial->policy, POLICY_LIMITS_PIDS)->origin.where.file,
	    "--pids-limit");
	caps = policy_get(trial->policy, POLICY_PROCESS_CAPS);
	assert_int_equal(caps->items_len, 2);
	for (size_t i = 0; i < caps->items_len; i++)
		assert_string_not_equal(caps->items[i].text, "FOWNER");
	tmpfs = policy_get(trial->policy, POLICY_FS_TMPFS);
	for (size_t i = 0; i < tmpfs->items_len; i++) {
		if (strcmp(tmpfs->items[i].tmpfs.dst, "/scratch") == 0)
			assert_int_equal(tmpfs->items[i].tmpfs.size, 16 << 20);
	}
	/* What the policy holds is not said twice. */
	assert_int_equal(trial->conflicts.engine_args.len, 1);
	assert_string_equal(trial->conflicts.engine_args.v[0], "--hostname=box");
	trial_free(trial);
}

static void
test_a_flood_of_conflicts_is_a_refusal(void **state)
{
	struct trial *trial = trial_new("warn", policy_text);

	(void)state;
	for (size_t i = 0; i < CONFLICTS_MAX; i++)
		trial_add(trial, &trial->request.engine_args, "--privileged");
	trial_judge(trial);
	assert_int_equal(trial->conflicts.refused, 0);
	assert_int_equal(trial->conflicts.len, CONFLICTS_MAX);
	trial_free(trial);
	trial = trial_new("warn", policy_text);
	for (size_t i = 0; i < CONFLICTS_MAX + 1; i++)
		trial_add(trial, &trial->request.engine_args, "--privileged");
	trial_judge(trial);
	assert_true(trial->conflicts.refused > 0);
	assert_int_equal(trial->conflicts.items[CONFLICTS_MAX - 1].action, CONFLICT_REFUSED);
	trial_free(trial);
}

/* ------------------------------------------------------------------------------------------------
 * Mutations
 */
static uint64_t seed;

static unsigned
pick(unsigned n)
{
	/* xorshift64*: good enough to choose spellings with. */
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (unsigned)((seed * UINT64_C(2685821657736338717)) >> 33) % n;
}

/* Letters of name in a random case. */
static void
shuffle_case(char *text, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		char c = text[i];

		if (pick(2) == 0 && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			text[i] = (char)(c ^ 0x20);
	}
}

/* Another text with the same meaning to the engine, from value into out. */
static void
mutate_cap(const char *value, char out[512])
{
	snprintf(out, 512, "%s%s", pick(2) == 0 ? "CAP_" : "", value);
	shuffle_case(out, 0, strlen(out));
}

static void
mutate_security(const char *value, char out[512])
{
	const char *parting = strpbrk(value, ":=");

	snprintf(out, 512, "%s", value);
	if (parting != NULL && strchr(parting + 1, ':') == NULL)
		out[parting - value] = pick(2) == 0 ? ':' : '=';
}

/* "/a" is "//a", "/./a" and "/usr/../a" to every path walk. */
static void
mutate_volume(const char *value, char out[512])
{
	static const char *const before[] = { "", "/", "/.", "/usr/.." };

	snprintf(out, 512, "%s%s", value[0] == '/' ? before[pick(4)] : "", value);
}

static void
mutate_mount(const char *value, char out[512])
{
	const char *rest = value + strcspn(value, ",");
	char first[256];

	snprintf(first, sizeof(first), "%s", value);
	first[strcspn(first, ",")] = '\0';
	if (pick(2) == 0 && strchr(value, '"') == NULL)
		snprintf(out, 512, "\"%s\"%s", first, rest);
	else
		snprintf(out, 512, "%s", value);
	shuffle_case(out, 0, strcspn(out, "="));
}

static void
mutate_user(const char *value, char out[512])
{
	static const char *const before[] = { "", "0", "+", "-0" };

	snprintf(out, 512, "%s%s", value[0] == '0' ? before[pick(4)] : "", value);
}

static void
mutate_value(const struct sample *sample, char out[512])
{
	static const struct {
		enum docker_option_id option;
		void (*mutate)(const char *value, char out[512]);
	} mutators[] = {
		{ DOCKER_CAP_ADD, mutate_cap },
		{ DOCKER_MOUNT, mutate_mount },
		{ DOCKER_SECURITY_OPT, mutate_security },
		{ DOCKER_USER, mutate_user },
		{ DOCKER_VOLUME, mutate_volume },
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(mutators); i++) {
		if (mutators[i].option == sample->option) {
			mutators[i].mutate(sample->value, out);
			return;
		}
	}
	snprintf(out, 512, "%s", sample->value);
}

/* Puts arguments before and behind that change nothing, and returns how many stand before. */
static size_t
surround(struct trial *trial)
{
	static const char *const harmless[] = { "--init", "--read-only", "--hostname=box",
		"--expose=80", "--cap-drop=MKNOD", "--pids-limit=9", "-h", "-c" };
	size_t n = pick(4);

	for (size_t i = 0; i < n; i++) {
		const char *arg = harmless[pick(HL_ARRAY_SIZE(harmless))];

		trial_add(trial, &trial->request.engine_args, arg);
		if (strcmp(arg, "-h") == 0)
			trial_add(trial, &trial->request.engine_args, "--privileged=false");
		if (strcmp(arg, "-c") == 0)
			trial_add(trial, &trial->request.engine_args, "512");
	}
	return n;
}

static void
mutate_once(const struct sample *sample)
{
	struct trial *trial;
	struct sample mutated = *sample;
	char value[512], text[2][1024], door[32];
	const char *args[3];

	mutate_value(sample, value);
	mutated.value = value;
	if (!spell(&mutated, pick(SPELLINGS), text, args))
		return;
	trial = trial_new("enforce", policy_text);
	surround(trial);
	snprintf(door, sizeof(door), "argument %d", trial->next);
	trial_add(trial, &trial->request.engine_args, args[0]);
	if (args[1] != NULL)
		trial_add(trial, &trial->request.engine_args, args[1]);
	surround(trial);
	trial_judge(trial);
	if (trial->status == 0) {
		size_t named = 0;

		for (size_t i = 0; i < trial->conflicts.len; i++)
			named += strcmp(trial->conflicts.items[i].door, door) == 0 &&
				 trial->conflicts.items[i].action == CONFLICT_REFUSED;
		if (named == 0)
			fail_msg("passed: %s %s", args[0], args[1] != NULL ? args[1] : "");
	}
	trial_free(trial);
}

static void
test_no_respelt_attack_passes(void **state)
{
	const char *given = getenv("HL_TEST_SEED");
	struct hl_err err;
	unsigned rounds = 3000;

	(void)state;
	seed = (uint64_t)time(NULL) | 1;
	if (given != NULL)
		assert_int_equal(hl_parse_u64(given, 1, UINT64_MAX, &seed, &err), 0);
	print_message("HL_TEST_SEED=%" PRIu64 "\n", seed);
	while (rounds > 0) {
		const struct sample *sample = &samples[pick(HL_ARRAY_SIZE(samples))];

		if (sample->verdict < LOOSE || sample->verdict == ERROR)
			continue;
		mutate_once(sample);
		rounds--;
	}
}

/* What may be a secret is told of no argument: the value of a variable, of an option that nobody
 * knows or that is the launcher's own, and what was meant to be a second argument. */
static void
test_no_secret_is_told(void **state)
{
	static const char *const given[] = { "--env=OPENAI_API_KEY=s3cret", "--evn=s3cret",
		"--log-opt=token=s3cret", "--health-cmd=s3cret", "--annotation=a=s3cret",
		"--cap-add=SYS_ADMIN -e T=s3cret", "--memory=1t\t-e T=s3cret",
		"--network=host -e T=s3cret", "--privileged=true -e T=s3cret" };
	(void)state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(given); i++) {
		struct trial *trial =
		    trial_engine("enforce", policy_text, (const char *const[]){ given[i], NULL });
		assert_true(trial->status != 0 || trial->conflicts.refused == 1);
		if (trial->conflicts.len > 0)
			assert_null(strstr(trial->conflicts.items[0].asked, "s3cret"));
		assert_null(strstr(trial->err.msg, "s3cret"));
		trial_free(trial);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_has_a_sample),
		cmocka_unit_test(test_every_sample_in_every_spelling),
		cmocka_unit_test(test_combinations),
		cmocka_unit_test(test_no_secret_is_told),
		cmocka_unit_test(test_what_is_made_effective),
		cmocka_unit_test(test_a_flood_of_conflicts_is_a_refusal),
		cmocka_unit_test(test_no_respelt_attack_passes),
	};

	unsetenv("DOCKER_HOST");
	unsetenv("DOCKER_CONFIG");
	unsetenv("DOCKER_CONTEXT");
	unsetenv("CONTAINER_HOST");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
