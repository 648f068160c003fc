/*
 * Thousands of respelt attacks on a policy, of which none may pass in enforce: other forms of truth
 * values and of values, short flags in clusters, aliases, quotes, a mild value in front of the
 * loose one, misspelt flags.
 */
#include "tests/unit/launcher/chance.h"
#include "tests/unit/launcher/conflicts_engine_case.h"

#include "base/banned.h"

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

/* The first of the fields, which are comma-separated and may be quoted. */
static void
mutate_quotes(const char *value, char out[512])
{
	int len = (int)strcspn(value, ",");

	if (pick(2) == 0 && strchr(value, '"') == NULL)
		snprintf(out, 512, "\"%.*s\"%s", len, value, value + len);
	else
		snprintf(out, 512, "%s", value);
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
		{ DOCKER_GPUS, mutate_quotes },
		{ DOCKER_MOUNT, mutate_mount },
		{ DOCKER_NET, mutate_quotes },
		{ DOCKER_NETWORK, mutate_quotes },
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

/* How an alias is called; each way round. */
static const struct {
	const char *flag, *alias;
} aliases[] = {
	{ "--network", "--net" },
	{ "--network-alias", "--net-alias" },
	{ "--dns-option", "--dns-opt" },
};

/* Booleans take what strconv.ParseBool does; "false" loosens where the launcher wants true. */
static void
mutate_bool(const struct sample *sample, char text[1024])
{
	static const char *const yes[] = { "1", "t", "T", "true", "TRUE", "True" };
	static const char *const no[] = { "0", "f", "F", "false", "FALSE", "False" };
	const struct docker_option *option = docker_option(sample->option);
	const char *word = sample->value[0] == 't' ? yes[pick(6)] : no[pick(6)];

	if (option->letter != '\0' && pick(2) == 0)
		snprintf(text, 1024, "-%c=%s", option->letter, word);
	else
		snprintf(text, 1024, "%s=%s", option->flag, word);
}

/* "-itv/a:/b": booleans in front of a short flag, which is then still the sample's. */
static void
cluster(char text[1024])
{
	static const char letters[] = "itdqP";
	char old[1024];
	size_t n = 1 + pick(4);

	if (text[0] != '-' || text[1] == '-')
		return;
	snprintf(old, sizeof(old), "%s", text + 1);
	for (size_t i = 0; i < n; i++)
		text[1 + i] = letters[pick(sizeof(letters) - 1)];
	snprintf(text + 1 + n, 1024 - 1 - n, "%s", old);
}

static bool
swap_alias(char text[1024])
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(aliases); i++) {
		size_t len = strcspn(text, "=");
		char rest[1024];

		if (strlen(aliases[i].flag) != len || strncmp(text, aliases[i].flag, len) != 0)
			continue;
		snprintf(rest, sizeof(rest), "%s", text + len);
		snprintf(text, 1024, "%s%.1000s", aliases[i].alias, rest);
		return true;
	}
	return false;
}

/* What no engine takes for the flag: cut, longer, or in another case. */
static bool
misspell(const struct engine *engine, const char *flag, char text[1024], const char *value)
{
	char wrong[64];
	size_t len = strlen(flag);

	snprintf(wrong, sizeof(wrong), "%s", flag);
	switch (pick(3)) {
	case 0:
		wrong[3 + pick((unsigned)len - 3)] = '\0';
		break;
	case 1:
		snprintf(wrong + len, sizeof(wrong) - len, "s");
		break;
	default:
		shuffle_case(wrong, 2, len);
	}
	snprintf(text, 1024, "%s=%s", wrong, value);
	return docker_option_find(engine->bit, wrong, strlen(wrong)) == NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Rounds
 */
enum {
	ROUNDS = 12000,
	KEPT_MAX = 32
};

/* Arguments are borrowed by the request until the round is over. */
static struct {
	char text[KEPT_MAX][1024];
	size_t len;
} kept;

static void
add_arg(struct trial *trial, const char *text)
{
	assert_true(kept.len < KEPT_MAX);
	snprintf(kept.text[kept.len], 1024, "%s", text);
	trial_add(trial, &trial->request.engine_args, kept.text[kept.len++]);
}

/* Puts arguments before and behind that change nothing. */
static void
surround(struct trial *trial)
{
	/* None tighter than a sample that passes: what follows it would be looser. */
	static const char *const harmless[] = { "--init", "--read-only", "--hostname=box",
		"--expose=80", "--cap-drop=MKNOD", "--pids-limit=64", "-h", "-c" };
	size_t n = pick(4);

	for (size_t i = 0; i < n; i++) {
		const char *arg = harmless[pick(HL_ARRAY_SIZE(harmless))];

		add_arg(trial, arg);
		if (strcmp(arg, "-h") == 0)
			add_arg(trial, "--privileged=false");
		if (strcmp(arg, "-c") == 0)
			add_arg(trial, "512");
	}
}

/* Of the same option a value that passes, in front: the last one counts, or both do. */
static void
add_milder(struct trial *trial, const struct engine *engine, enum docker_option_id option)
{
	char text[1024];

	for (size_t i = 0; i < engine->samples_len; i++) {
		if (engine->samples[i].option != option || engine->samples[i].verdict > KEPT ||
		    pick(2) == 0)
			continue;
		snprintf(text, sizeof(text), "%s=%s", docker_option(option)->flag,
		    engine->samples[i].value);
		add_arg(trial, text);
		return;
	}
}

/* Refused for what this argument says; flag NULL: whatever it is taken for. */
static bool
is_refused_at(const struct trial *trial, const char *door, const char *flag)
{
	char asked[64];

	snprintf(asked, sizeof(asked), "--engine-arg=%s", flag != NULL ? flag : "");
	for (size_t i = 0; i < trial->conflicts.len; i++) {
		const struct conflict *conflict = &trial->conflicts.items[i];

		if (strcmp(conflict->door, door) == 0 && conflict->action == CONFLICT_REFUSED &&
		    strncmp(conflict->asked, asked, strlen(asked)) == 0)
			return true;
	}
	return false;
}

/* Judges it among others. */
static void
check_refused(const struct sample *sample, const struct engine *engine, const char *const args[3],
    const char *flag)
{
	struct trial *trial = trial_new("enforce", policy_of(engine));
	char door[32];

	kept.len = 0;
	surround(trial);
	if (pick(3) == 0)
		add_milder(trial, engine, sample->option);
	snprintf(door, sizeof(door), "argument %d", trial->next);
	add_arg(trial, args[0]);
	if (args[1] != NULL)
		add_arg(trial, args[1]);
	surround(trial);
	trial_judge(trial);
	/* What cannot be taken apart is refused as a whole. */
	if (trial->status == 0 && !is_refused_at(trial, door, flag))
		fail_msg("passed: %s: %s %s", engine->name, args[0],
		    args[1] != NULL ? args[1] : "");
	trial_free(trial);
}

static void
mutate_once(const struct sample *sample, const struct engine *engine)
{
	const struct docker_option *option = docker_option(sample->option);
	struct sample mutated = *sample;
	char value[512], text[2][1024];
	const char *args[3] = { text[0] };
	bool is_alias;

	mutate_value(sample, engine, value);
	mutated.value = value;
	if (pick(8) == 0) {
		if (misspell(engine, option->flag, text[0], value))
			check_refused(sample, engine, args, NULL);
		return;
	}
	if (option->kind == DOCKER_KIND_BOOL && pick(2) == 0)
		mutate_bool(sample, text[0]);
	else if (!spell(&mutated, pick(SPELLINGS), text, args))
		return;
	if (pick(2) == 0)
		cluster(text[0]);
	is_alias = pick(2) == 0 && swap_alias(text[0]);
	check_refused(sample, engine, args, is_alias ? NULL : option->flag);
}

static void
test_no_respelt_attack_passes(void **state)
{
	(void)state;
	chance_begin();
	for (unsigned rounds = ROUNDS; rounds > 0;) {
		const struct engine *engine = &engines[pick(HL_ARRAY_SIZE(engines))];
		const struct sample *sample = &engine->samples[pick((unsigned)engine->samples_len)];

		if (sample->verdict < LOOSE || sample->verdict == ERROR ||
		    !engine_has(engine, sample->option))
			continue;
		mutate_once(sample, engine);
		rounds--;
	}
}

static void
check_passes(const struct engine *engine, const char *const args[3])
{
	struct trial *trial = trial_new("enforce", policy_of(engine));

	kept.len = 0;
	surround(trial);
	add_arg(trial, args[0]);
	if (args[1] != NULL)
		add_arg(trial, args[1]);
	surround(trial);
	trial_judge(trial);
	if (trial->status != 0 || trial->conflicts.refused > 0)
		fail_msg("refused: %s: %s %s", engine->name, args[0],
		    args[1] != NULL ? args[1] : "");
	trial_free(trial);
}

/* The other side: what tightens, or says what is so anyway, is not refused in any spelling among
 * the same others. */
static void
test_what_tightens_passes(void **state)
{
	char text[2][1024];
	const char *args[3];
	size_t passed = 0;

	(void)state;
	chance_begin();
	for (size_t e = 0; e < HL_ARRAY_SIZE(engines); e++) {
		for (size_t i = 0; i < engines[e].samples_len; i++) {
			const struct sample *sample = &engines[e].samples[i];
			bool is_good =
			    sample->verdict <= KEPT && engine_has(&engines[e], sample->option);

			for (unsigned way = 0; is_good && way < SPELLINGS; way++) {
				if (!spell(sample, way, text, args))
					continue;
				check_passes(&engines[e], args);
				passed++;
			}
		}
	}
	assert_true(passed > 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_respelt_attack_passes),
		cmocka_unit_test(test_what_tightens_passes),
	};

	forget_engine_variables();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
