/*
 * Thousands of refused engine options, each written in another way that means the same to its
 * engine and among options that change nothing: none may pass in enforce. HL_TEST_SEED=N repeats a
 * run.
 */
#include <inttypes.h>
#include <time.h>

#include "tests/unit/launcher/conflicts_engine_case.h"

#include "base/banned.h"

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
mutate_value(const struct sample *sample, const struct engine *engine, char out[512])
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
	/* A list of podman's: the same twice. */
	if (engine == podman &&
	    (docker_option(sample->option)->engines & DOCKER_ENGINES_LIST) != 0 && pick(2) == 0)
		snprintf(out, 512, "%s,%s", sample->value, sample->value);
	else
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
mutate_once(const struct sample *sample, const struct engine *engine)
{
	struct trial *trial;
	struct sample mutated = *sample;
	char value[512], text[2][1024], door[32];
	const char *args[3];

	mutate_value(sample, engine, value);
	mutated.value = value;
	if (!spell(&mutated, pick(SPELLINGS), text, args))
		return;
	trial = trial_new("enforce", policy_of(engine));
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
			fail_msg("passed: %s %s %s", policy_of(engine), args[0],
			    args[1] != NULL ? args[1] : "");
	}
	trial_free(trial);
}

static void
test_no_respelt_attack_passes(void **state)
{
	const char *given = getenv("HL_TEST_SEED");
	struct hl_err err;
	unsigned rounds = 6000;

	(void)state;
	seed = (uint64_t)time(NULL) | 1;
	if (given != NULL)
		assert_int_equal(hl_parse_u64(given, 1, UINT64_MAX, &seed, &err), 0);
	print_message("HL_TEST_SEED=%" PRIu64 "\n", seed);
	while (rounds > 0) {
		const struct engine *engine = &engines[pick(HL_ARRAY_SIZE(engines))];
		const struct sample *sample = &engine->samples[pick((unsigned)engine->samples_len)];

		if (sample->verdict < LOOSE || sample->verdict == ERROR ||
		    !engine_has(engine, sample->option))
			continue;
		mutate_once(sample, engine);
		rounds--;
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_respelt_attack_passes),
	};

	forget_engine_variables();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
