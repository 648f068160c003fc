/*
 * Every row of the option table against a policy, for each engine that has the option: values of
 * each kind with the verdict that is right for them, each in every legal spelling; and thousands of
 * respelt attacks, of which none may pass in enforce.
 */
#include "launcher/conflicts_parts.h"
#include "tests/unit/launcher/conflicts_engine_case.h"

#include "base/banned.h"

static void
check_enforce(const struct sample *sample, const struct engine *engine, const char *const *args)
{
	struct trial *trial = trial_engine("enforce", policy_of(engine), args);
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
		if (conflict->bound[0] == '\0')
			fail_msg("%s %s: no bound", what, more);
		assert_int_equal(strncmp(conflict->effect, "the command could ", 18), 0);
		assert_int_equal(strncmp(conflict->asked, "--engine-arg=--", 15), 0);
	}
	trial_free(trial);
}

static void
check_warn(const struct sample *sample, const struct engine *engine, const char *const *args)
{
	static const enum conflict_action actions[] = {
		[LOOSE] = CONFLICT_WON,
		[OWNED] = CONFLICT_DROPPED,
		[FLOOR] = CONFLICT_REFUSED,
	};
	struct trial *trial = trial_engine("warn", policy_of(engine), args);

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
check_sample(const struct sample *sample, const struct engine *engine)
{
	char text[2][1024];
	const char *args[3];

	for (unsigned way = 0; way < SPELLINGS; way++) {
		if (!spell(sample, way, text, args))
			continue;
		check_enforce(sample, engine, args);
		if (sample->verdict >= LOOSE && sample->verdict < ERROR)
			check_warn(sample, engine, args);
	}
}

static void
test_every_sample_in_every_spelling(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < HL_ARRAY_SIZE(engines); engine++) {
		for (size_t i = 0; i < engines[engine].samples_len; i++) {
			const struct sample *sample = &engines[engine].samples[i];

			if (engine_has(&engines[engine], sample->option))
				check_sample(sample, &engines[engine]);
		}
	}
}

static void
test_every_row_has_a_sample(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < HL_ARRAY_SIZE(engines); engine++) {
		bool is_there[DOCKER_OPTION_MAX] = { false };

		for (size_t i = 0; i < engines[engine].samples_len; i++)
			is_there[engines[engine].samples[i].option] = true;
		for (unsigned row = 0; row < DOCKER_OPTION_MAX; row++) {
			enum docker_option_id option = (enum docker_option_id)row;

			if (engine_has(&engines[engine], option) && !is_there[option])
				fail_msg("%s has no sample of %s", docker_option(option)->flag,
				    engines[engine].name);
		}
	}
}

/* ------------------------------------------------------------------------------------------------
 * Combinations
 */
static void
assert_passes(const struct engine *engine, const char *const *args)
{
	struct trial *trial = trial_engine("enforce", policy_of(engine), args);

	if (trial->status != 0 || trial->conflicts.refused > 0)
		fail_msg("%s: refused", args[0]);
	trial_free(trial);
}

static void
assert_refused(const struct engine *engine, const char *const *args, enum hl_code code)
{
	struct trial *trial = trial_engine("enforce", policy_of(engine), args);

	if (trial->status != 0)
		fail_msg("%s: %s", args[0], trial->err.msg);
	if (trial->conflicts.refused == 0)
		fail_msg("%s: passed", args[0]);
	if (!trial_has(trial, code))
		fail_msg("%s: [%s]", args[0], hl_code_info(trial->conflicts.items[0].code)->id);
	trial_free(trial);
}

static void
check_combinations(const struct engine *engine)
{
	/* Two processors: the product counts, in any order. */
	assert_passes(engine, ARGS("--cpu-quota=200000", "--cpu-period=100000"));
	assert_passes(engine, ARGS("--cpu-period=50000", "--cpu-quota=100000"));
	assert_passes(engine, ARGS("--cpu-quota=200000"));
	assert_refused(engine, ARGS("--cpu-quota=200000", "--cpu-period=50000"), HLC_30);
	assert_refused(engine, ARGS("--cpu-period=1000", "--cpu-quota=2001"), HLC_30);
	assert_refused(engine, ARGS("--cpu-quota=-1"), HLC_30);
	assert_refused(engine, ARGS("--cpu-quota=50000", "--cpu-quota=900000"), HLC_04);
	/* Swap is judged by the memory that is in force in the end. */
	assert_passes(engine, ARGS("--memory-swap=256m", "--memory=256m"));
	assert_passes(engine, ARGS("-m", "256m", "--memory-swap", "256m"));
	assert_refused(engine, ARGS("--memory-swap=512m", "--memory=256m"), HLC_30);
	assert_refused(engine, ARGS("--memory=256m", "--memory-swap=-1"), HLC_30);
	/* The last one wins at the engine, and the first is refused all the same. */
	assert_refused(engine, ARGS("--network=none", "--network=host"), HLC_31);
	assert_refused(engine, ARGS("--network=host", "--network=none"), HLC_31);
	assert_refused(engine,
	    ARGS("--security-opt=no-new-privileges", "--security-opt=no-new-privileges:false"),
	    HLC_11);
	assert_passes(engine, ARGS("--cap-drop=ALL", "--cap-add=CHOWN"));
	assert_refused(engine, ARGS("--cap-drop=ALL", "--cap-add=SYS_ADMIN"), HLC_12);
}

static void
test_combinations(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < HL_ARRAY_SIZE(engines); engine++)
		check_combinations(&engines[engine]);
}

static void
test_podman_reads_lists(void **state)
{
	struct trial *trial;

	(void)state;
	assert_passes(podman, ARGS("--cap-drop=CHOWN,FOWNER"));
	assert_passes(podman, ARGS("--cap-add", "KILL,chown"));
	assert_passes(podman, ARGS("--ulimit=nproc=64,nofile=100:1024"));
	assert_passes(podman, ARGS("--device=/dev/fuse:rw,/dev/kvm"));
	assert_refused(podman, ARGS("--cap-add=CHOWN,SYS_ADMIN"), HLC_12);
	assert_refused(podman, ARGS("--cap-add=SYS_ADMIN,CHOWN"), HLC_12);
	assert_refused(podman, ARGS("--ulimit=nproc=64,nofile=1025"), HLC_30);
	assert_refused(podman, ARGS("--device=/dev/fuse:rw,/dev/sda"), HLC_15);
	/* The engine would read one line of them, with quotes: that is nobody's certain meaning. */
	assert_refused(podman, ARGS("--cap-drop=\"CHOWN\",FOWNER"), HLC_04);
	assert_refused(podman, ARGS("--cap-drop=CHOWN\nFOWNER"), HLC_04);
	assert_refused(podman, ARGS("--cap-drop=CHOWN,"), HLC_04);
	/* To docker it is one value. */
	assert_refused(docker, ARGS("--cap-drop=CHOWN,FOWNER"), HLC_04);
	assert_refused(docker, ARGS("--ulimit=nproc=64,nofile=100"), HLC_04);
	/* All of a list is in force, and each setting is written once. */
	trial = trial_engine("enforce", policy_of(podman),
	    ARGS("--cap-drop=CHOWN,FOWNER", "--ulimit=nproc=64,fsize=100"));
	assert_int_equal(policy_get(trial->policy, POLICY_PROCESS_CAPS)->items_len, 0);
	assert_int_equal(trial->conflicts.engine_args.len, 2);
	assert_string_equal(trial->conflicts.engine_args.v[0], "--ulimit=nproc=64");
	assert_string_equal(trial->conflicts.engine_args.v[1], "--ulimit=fsize=100");
	trial_free(trial);
}

/* What one engine has and the other has not is to the other an option that nobody knows. */
static void
test_each_engine_has_its_own_options(void **state)
{
	(void)state;
	for (unsigned row = 0; row < DOCKER_OPTION_MAX; row++) {
		const char *flag = docker_option((enum docker_option_id)row)->flag;
		char text[64];

		snprintf(text, sizeof(text), "%s=x", flag);
		for (size_t i = 0; i < HL_ARRAY_SIZE(engines); i++) {
			if (docker_option_find(engines[i].bit, flag, strlen(flag)) == NULL)
				assert_refused(&engines[i], ARGS(text), HLC_03);
		}
	}
}

static void
test_what_is_made_effective(void **state)
{
	struct trial *trial = trial_engine("enforce", policy_of(docker),
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
	struct trial *trial = trial_new("warn", policy_of(docker));

	(void)state;
	for (size_t i = 0; i < CONFLICTS_MAX; i++)
		trial_add(trial, &trial->request.engine_args, "--privileged");
	trial_judge(trial);
	assert_int_equal(trial->conflicts.refused, 0);
	assert_int_equal(trial->conflicts.len, CONFLICTS_MAX);
	trial_free(trial);
	trial = trial_new("warn", policy_of(docker));
	for (size_t i = 0; i < CONFLICTS_MAX + 1; i++)
		trial_add(trial, &trial->request.engine_args, "--privileged");
	trial_judge(trial);
	assert_true(trial->conflicts.refused > 0);
	assert_int_equal(trial->conflicts.items[CONFLICTS_MAX - 1].action, CONFLICT_REFUSED);
	trial_free(trial);
}

/* What may be a secret is told of no argument: the value of a variable, of an option that nobody
 * knows or that is the launcher's own, and what was meant to be a second argument. */
static void
check_no_secret_is_told(const struct engine *engine, const char *given)
{
	struct trial *trial = trial_engine("enforce", policy_of(engine), ARGS(given));

	assert_true(trial->status != 0 || trial->conflicts.refused == 1);
	if (trial->conflicts.len > 0)
		assert_null(strstr(trial->conflicts.items[0].asked, "s3cret"));
	for (size_t i = 0; trial->status == 0 && i < trial->conflicts.notes.len; i++)
		assert_null(strstr(trial->conflicts.notes.v[i], "s3cret"));
	assert_null(strstr(trial->err.msg, "s3cret"));
	trial_free(trial);
	/* Nor where nobody has judged it. */
	struct hl_buf told HL_AUTO(hl_buf_done) = { 0 };
	hl_buf_init(&told, 4096);
	engine_arg_tell(engine->name, given, &told);
	assert_int_equal(strncmp(told.data, "--engine-arg=--", 15), 0);
	assert_null(strstr(told.data, "s3cret"));
}

static void
test_no_secret_is_told(void **state)
{
	static const char *const given[] = { "--env=OPENAI_API_KEY=s3cret", "--evn=s3cret",
		"--log-opt=token=s3cret", "--health-cmd=s3cret", "--annotation=a=s3cret",
		"--creds u:s3cret", "--env\tA s3cret", "--network=name=foo,driver-opt=key=s3cret",
		"--storage-opt=azure=s3cret", "--sysctl=a=s3cret", "--add-host=ssh://u:s3cret@h",
		"--cap-add=SYS_ADMIN -e T=s3cret", "--memory=1t\t-e T=s3cret",
		"--network=host -e T=s3cret", "--privileged=true -e T=s3cret",
		"--env-merge=OPENAI_API_KEY=s3cret", "--env-merge=OTHER=s3cret",
		"--env-merge=APP_A=s3cret", "--unsetenv=A=s3cret", "--unsetenv-all=s3cret",
		"--passwd-entry=root:s3cret:0:0", "--group-entry=root:s3cret:0",
		"--decryption-key=/k:s3cret", "--creds=me:s3cret" };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(given); i++) {
		for (size_t engine = 0; engine < HL_ARRAY_SIZE(engines); engine++)
			check_no_secret_is_told(&engines[engine], given[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_has_a_sample),
		cmocka_unit_test(test_every_sample_in_every_spelling),
		cmocka_unit_test(test_combinations),
		cmocka_unit_test(test_podman_reads_lists),
		cmocka_unit_test(test_each_engine_has_its_own_options),
		cmocka_unit_test(test_no_secret_is_told),
		cmocka_unit_test(test_what_is_made_effective),
		cmocka_unit_test(test_a_flood_of_conflicts_is_a_refusal),
	};

	forget_engine_variables();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
