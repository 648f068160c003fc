/*
 * Options of apptainer and of ssh against a policy: for every row of their tables a value with the
 * verdict that is right for it, in every legal spelling; respelt attacks, of which none may pass;
 * and the variables that apptainer reads as options.
 */
#include "tests/unit/launcher/chance.h"
#include "tests/unit/launcher/conflicts_case.h"

#include "base/banned.h"

/* %s: the backend */
static const char policy_text[] =
    "level: open@1\n"
    "backends: [%s, local]\n"
    "process:\n"
    "  user: \"1000:1000\"\n"
    "  caps: {allowed: [CHOWN, FOWNER, KILL], default: [CHOWN, FOWNER]}\n"
    "limits:\n"
    "  memory: {max: 1GiB, default: 512MiB}\n"
    "  cpus: {max: 2, default: 1}\n"
    "  pids: {max: 256, default: 128}\n"
    "fs:\n"
    "  root: read_only\n"
    "  mounts: [{src: /usr/share, dst: /data, access: ro}]\n"
    "network: {mode: none}\n"
    "env: {pass: [LANG, \"APP_*\"], set: {FIXED: \"as it is\"}}\n";

enum verdict {
	SAME,  /* no conflict, nothing changes */
	TIGHT, /* no conflict, in force */
	KEPT,  /* no conflict, handed on */
	LOOSE, /* conflict; wins in warn */
	OWNED, /* conflict; left out in warn */
};

struct sample {
	const char *flag; /* the table's own spelling */
	char letter;
	bool is_bool;
	const char *value; /* of booleans: "true" or "false" */
	enum verdict verdict;
	enum hl_code code;
};

static const struct sample singularity_samples[] = {
#define BOOLEAN(flag, letter, value, verdict, code) { flag, letter, true, value, verdict, code },
#define VALUE(flag, letter, value, verdict, code)   { flag, letter, false, value, verdict, code },
#include "tests/unit/launcher/conflicts_samples_singularity.def"
};

static const struct sample ssh_samples[] = {
#include "tests/unit/launcher/conflicts_samples_ssh.def"
};

static const char *const singularity_flags[] = {
#define SINGULARITY_OPTION(flag, ...) flag,
#include "backends/singularity/options.def"
};

static const char *const ssh_flags[] = {
#define SSH_OPTION(flag, ...) flag,
#include "backends/ssh/options.def"
#undef SSH_OPTION
#define SSH_KEYWORD(flag, ...) flag,
#include "backends/ssh/options.def"
#undef SSH_KEYWORD
};

static const char *
policy_of(const char *backend)
{
	static char text[sizeof(policy_text) + 16];

	snprintf(text, sizeof(text), policy_text, backend);
	return text;
}

/* ------------------------------------------------------------------------------------------------
 * Verdicts
 */
static void
check_enforce(const struct sample *sample, const char *backend, const char *const *args)
{
	struct trial *trial = trial_engine("enforce", policy_of(backend), args);
	const struct conflicts *conflicts = &trial->conflicts;
	const char *what = args[0], *more = args[1] != NULL ? args[1] : "";

	if (trial->status == -1)
		fail_msg("%s %s: %s", what, more, trial->err.msg);
	if ((conflicts->refused > 0) != (sample->verdict >= LOOSE))
		fail_msg("%s %s: %zu refused", what, more, conflicts->refused);
	if ((conflicts->tightened > 0) != (sample->verdict == TIGHT) && sample->verdict != KEPT)
		fail_msg("%s %s: %zu tightened", what, more, conflicts->tightened);
	if ((conflicts->engine_args.len > 0) != (sample->verdict == KEPT))
		fail_msg("%s %s: %zu for the engine", what, more, conflicts->engine_args.len);
	if (sample->verdict >= LOOSE) {
		const struct conflict *conflict = &conflicts->items[0];

		if (conflict->code != sample->code)
			fail_msg("%s %s: [%s]", what, more, hl_code_info(conflict->code)->id);
		assert_string_equal(conflict->door, "argument 5");
		if (conflict->bound[0] == '\0')
			fail_msg("%s %s: no bound", what, more);
		assert_int_equal(strncmp(conflict->asked, "--engine-arg=-", 14), 0);
	}
	trial_free(trial);
}

static void
check_warn(const struct sample *sample, const char *backend, const char *const *args)
{
	struct trial *trial = trial_engine("warn", policy_of(backend), args);

	assert_int_equal(trial->status, 0);
	assert_true(trial->conflicts.len >= 1);
	assert_int_equal(trial->conflicts.refused, 0);
	assert_int_equal(trial->conflicts.items[0].action,
	    sample->verdict == LOOSE ? CONFLICT_WON : CONFLICT_DROPPED);
	if (sample->verdict == OWNED)
		assert_int_equal(trial->conflicts.engine_args.len, 0);
	trial_free(trial);
}

static void
check(const struct sample *sample, const char *backend, const char *first, const char *second)
{
	const char *args[3] = { first, second, NULL };

	check_enforce(sample, backend, args);
	if (sample->verdict >= LOOSE)
		check_warn(sample, backend, args);
}

static void
check_singularity(const struct sample *sample)
{
	const char *backend = "singularity";
	char text[1024], letter[1024];

	snprintf(text, sizeof(text), "%s=%s", sample->flag, sample->value);
	check(sample, backend, text, NULL);
	if (!sample->is_bool)
		check(sample, backend, sample->flag, sample->value);
	else if (strcmp(sample->value, "true") == 0)
		check(sample, backend, sample->flag, NULL);
	if (sample->letter == '\0')
		return;
	snprintf(letter, sizeof(letter), "-%c=%s", sample->letter, sample->value);
	check(sample, backend, letter, NULL);
	snprintf(letter, sizeof(letter), "-%c%s", sample->letter,
	    sample->is_bool ? "" : sample->value);
	if (!sample->is_bool || strcmp(sample->value, "true") == 0)
		check(sample, backend, letter, NULL);
	snprintf(letter, sizeof(letter), "-%c", sample->letter);
	if (!sample->is_bool)
		check(sample, backend, letter, sample->value);
}

static void
check_ssh(const struct sample *sample)
{
	const char *keyword = sample->flag[2] != '\0' ? sample->flag + 2 : NULL;
	char text[1024];

	if (keyword == NULL && sample->is_bool) {
		check(sample, "ssh", sample->flag, NULL);
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s", sample->flag, keyword != NULL ? "=" : "",
	    sample->value);
	check(sample, "ssh", text, NULL);
	if (keyword == NULL) {
		check(sample, "ssh", sample->flag, sample->value);
		return;
	}
	check(sample, "ssh", "-o", text + 2);
	snprintf(text, sizeof(text), " %s \t%s ", keyword, sample->value);
	check(sample, "ssh", "-o", text);
	snprintf(text, sizeof(text), "-o%s = %s", keyword, sample->value);
	for (char *at = text + 2; at < text + 2 + strlen(keyword); at++)
		*at = (char)(*at >= 'a' && *at <= 'z' ? *at ^ 0x20 : *at);
	check(sample, "ssh", text, NULL);
}

static void
test_every_sample_in_every_spelling(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(singularity_samples); i++)
		check_singularity(&singularity_samples[i]);
	for (size_t i = 0; i < HL_ARRAY_SIZE(ssh_samples); i++)
		check_ssh(&ssh_samples[i]);
}

static void
check_rows(const char *const *flags, size_t flags_len, const struct sample *samples, size_t len)
{
	for (size_t row = 0; row < flags_len; row++) {
		bool is_there = strcmp(flags[row], "-o") == 0; /* the keywords are its samples */

		for (size_t i = 0; i < len; i++)
			is_there |= strcmp(samples[i].flag, flags[row]) == 0;
		if (!is_there)
			fail_msg("%s has no sample", flags[row]);
		if (row > 0 && strcmp(flags[row - 1], flags[row]) >= 0 && flags[row][2] != 'A')
			fail_msg("%s is out of order", flags[row]);
	}
}

static void
test_every_row_has_a_sample(void **state)
{
	(void)state;
	check_rows(singularity_flags, HL_ARRAY_SIZE(singularity_flags), singularity_samples,
	    HL_ARRAY_SIZE(singularity_samples));
	check_rows(ssh_flags, HL_ARRAY_SIZE(ssh_flags), ssh_samples, HL_ARRAY_SIZE(ssh_samples));
}

/* ------------------------------------------------------------------------------------------------
 * Respelt
 */
static void
respell_ssh(const struct sample *sample, char text[1024])
{
	static const char *const parting[] = { "=", " ", " = ", "\t", "= ", "  =" };
	static const char *const before[] = { "-", "-C", "-4v", "-qC46" };
	char name[64];

	if (sample->flag[2] == '\0') {
		snprintf(text, 1024, "%s%s%s", before[pick(4)], sample->flag + 1,
		    sample->is_bool ? "" : sample->value);
		return;
	}
	snprintf(name, sizeof(name), "%s", sample->flag + 2);
	shuffle_case(name, 0, strlen(name));
	snprintf(text, 1024, "%so%s%s%s%s%s", before[pick(4)], pick(3) == 0 ? " " : "", name,
	    parting[pick(6)],
	    strcmp(sample->value, "true") == 0    ? (pick(2) == 0 ? "yes" : "YES")
	    : strcmp(sample->value, "false") == 0 ? (pick(2) == 0 ? "no" : "No")
						  : sample->value,
	    pick(3) == 0 ? " " : "");
}

static void
respell_singularity(const struct sample *sample, char text[1024])
{
	static const char *const yes[] = { "1", "t", "T", "true", "TRUE", "True" };
	static const char *const no[] = { "0", "f", "F", "false", "FALSE", "False" };
	const char *value = !sample->is_bool          ? sample->value
			    : sample->value[0] == 't' ? yes[pick(6)]
						      : no[pick(6)];

	if (sample->letter != '\0' && pick(2) == 0)
		snprintf(text, 1024, "-%s%c=%s", pick(2) == 0 ? "" : "ciu", sample->letter, value);
	else
		snprintf(text, 1024, "%s=%s", sample->flag, value);
}

/* In front a value of the same option that passes: the first one counts to ssh, the last to the
 * other. */
static void
check_respelt(const struct sample *samples, size_t len, const char *backend)
{
	const struct sample *sample = &samples[pick((unsigned)len)];
	const struct sample *mild = &samples[pick((unsigned)len)];
	char text[1024], other[1024];
	bool is_first = pick(2) == 0;
	void (*respell)(const struct sample *, char[1024]) =
	    backend[1] == 's' ? respell_ssh : respell_singularity;

	if (sample->verdict < LOOSE || mild->verdict >= LOOSE)
		return;
	respell(sample, text);
	respell(mild, other);
	struct trial *trial = trial_engine("enforce", policy_of(backend),
	    ARGS(is_first ? text : other, is_first ? other : text));
	if (trial->status == 0 && trial->conflicts.refused == 0)
		fail_msg("passed: %s %s", is_first ? text : other, is_first ? other : text);
	trial_free(trial);
}

static void
test_respelt_attacks(void **state)
{
	(void)state;
	chance_begin();
	for (size_t i = 0; i < 6000; i++) {
		check_respelt(ssh_samples, HL_ARRAY_SIZE(ssh_samples), "ssh");
		check_respelt(singularity_samples, HL_ARRAY_SIZE(singularity_samples),
		    "singularity");
	}
}

/* ------------------------------------------------------------------------------------------------
 * What no table has, and what is no option
 */
static void
expect_refused(const char *backend, const char *const *args, enum hl_code code)
{
	struct trial *trial = trial_engine("enforce", policy_of(backend), args);

	if (trial->status != 0)
		fail_msg("%s: %s", args[0], trial->err.msg);
	if (!trial_has(trial, code))
		fail_msg("%s: not [%s]", args[0], hl_code_info(code)->id);
	assert_null(strstr(trial->conflicts.items[0].asked, "s3cret"));
	trial_free(trial);
}

static void
expect_error(const char *backend, const char *const *args)
{
	struct trial *trial = trial_engine("enforce", policy_of(backend), args);

	if (trial->status == 0)
		fail_msg("%s: was read", args[0]);
	assert_int_equal(trial->err.code, HLC_08);
	trial_free(trial);
}

static void
test_unknown_and_no_option(void **state)
{
	(void)state;
	expect_refused("singularity", ARGS("--writeable=s3cret"), HLC_03);
	expect_refused("singularity", ARGS("--docker-password=s3cret"), HLC_04);
	expect_refused("singularity", ARGS("--bind=/usr/share:/data:ro,/usr/lib:/opt"), HLC_20);
	expect_refused("singularity", ARGS("--env=APP_A=1,LD_PRELOAD=s3cret"), HLC_05);
	/* One '=' is one variable to the engine, commas or not. */
	expect_refused("singularity", ARGS("--env=OTHER=x,s3cret"), HLC_40);
	expect_error("singularity", ARGS("--env=APP_A=x,s3cret,APP_B=2"));
	expect_error("singularity", ARGS("image.sif"));
	expect_error("singularity", ARGS("--nv=yes"));
	expect_refused("ssh", ARGS("-oForwardAgnet=s3cret"), HLC_03);
	expect_refused("ssh", ARGS("-o=ForwardAgent=yes"), HLC_03);
	expect_refused("ssh", ARGS("-o", "\"ForwardAgent\" yes"), HLC_03);
	expect_refused("ssh", ARGS("-o", "#ForwardAgent yes"), HLC_03);
	expect_refused("ssh", ARGS("-oSetEnv=A=s3cret"), HLC_04);
	expect_refused("ssh", ARGS("-oProxyCommand=PASS=s3cret true"), HLC_52);
	expect_refused("ssh", ARGS("-ipkcs11:a?pin-value=s3cret"), HLC_04);
	expect_refused("ssh", ARGS("-Z"), HLC_03);
	/* Not what "no" and "yes" are: whoever reads it may read more. */
	expect_refused("ssh", ARGS("-oForwardAgent=no # yes"), HLC_52);
	expect_refused("ssh", ARGS("-oStrictHostKeyChecking=accept-new"), HLC_52);
	expect_refused("ssh", ARGS("-oStrictHostKeyChecking"), HLC_52);
	expect_refused("ssh", ARGS("-oHost=no"), HLC_52);
	/* The first of two counts to ssh; -A beats what -o says, in either order. */
	expect_refused("ssh", ARGS("-oForwardAgent=no", "-A"), HLC_52);
	expect_refused("ssh", ARGS("-A", "-oForwardAgent=no"), HLC_52);
	expect_error("ssh", ARGS("host"));
	expect_error("ssh", ARGS("-C", "host", "-A"));
	expect_error("ssh", ARGS("--", "host"));
	expect_error("ssh", ARGS("-"));
	expect_error("ssh", ARGS("-p"));
}

static void
expect_handed_on(const char *mode, const char *backend, const char *const *args, const char *text)
{
	struct trial *trial = trial_engine(mode, policy_of(backend), args);
	char all[1024] = "";

	assert_int_equal(trial->status, 0);
	assert_int_equal(trial->conflicts.refused, 0);
	for (size_t i = 0; i < trial->conflicts.engine_args.len; i++) {
		size_t len = strlen(all);
		snprintf(all + len, sizeof(all) - len, " %s", trial->conflicts.engine_args.v[i]);
	}
	assert_string_equal(all, text);
	trial_free(trial);
}

static void
test_what_is_handed_on(void **state)
{
	(void)state;
	expect_handed_on("enforce", "ssh", ARGS("-C4", "-o", "connecttimeout 5"),
	    " -C -4 -oConnectTimeout=5");
	expect_handed_on("warn", "ssh", ARGS("-AvL1:h:2", "-o", "tunnel YES", "-oForwardAgent=x"),
	    " -A -L1:h:2 -oTunnel=yes -oForwardAgent=x");
	expect_handed_on("warn", "ssh", ARGS("-Zx", "-oNoSuch=1"), " -Zx -oNoSuch=1");
	expect_handed_on("enforce", "singularity", ARGS("--hostname=box", "--no-mount=tmp,home"),
	    " --hostname=box --no-mount=tmp --no-mount=home");
	expect_handed_on("warn", "singularity", ARGS("-wf", "-S/x"),
	    " --writable=true --fakeroot=true --scratch=/x");
}

static void
test_what_is_made_effective(void **state)
{
	struct trial *trial = trial_engine("enforce", policy_of("singularity"),
	    ARGS("--memory=256m", "--add-caps=KILL", "--drop-caps=FOWNER"));

	(void)state;
	assert_int_equal(trial->status, 0);
	assert_int_equal(policy_get(trial->policy, POLICY_LIMITS_MEMORY)->number, 256 << 20);
	assert_int_equal(policy_get(trial->policy, POLICY_PROCESS_CAPS)->items_len, 2);
	assert_int_equal(trial->conflicts.engine_args.len, 0);
	trial_free(trial);
	trial = trial_engine("enforce",
	    "level: open@1\nbackends: [singularity]\nnetwork: {mode: host}\n", ARGS("-n"));
	assert_int_equal(trial->status, 0);
	assert_string_equal(policy_field_words(
				POLICY_NETWORK_MODE)[policy_get(trial->policy, POLICY_NETWORK_MODE)
							 ->number],
	    "bridge");
	trial_free(trial);
}

/* ------------------------------------------------------------------------------------------------
 * Variables of apptainer
 */
static void
check_variable(const char *name, const char *value, const char *backend, enum hl_code code)
{
	assert_int_equal(setenv(name, value, 1), 0);
	struct trial *trial = trial_engine("enforce", policy_of(backend), ARGS(NULL));
	assert_int_equal(unsetenv(name), 0);
	if (trial->status != 0)
		fail_msg("%s: %s", name, trial->err.msg);
	if ((trial->conflicts.refused > 0) != (code != HL_OK))
		fail_msg("%s=%s: %zu refused", name, value, trial->conflicts.refused);
	if (code != HL_OK) {
		const struct conflict *conflict = &trial->conflicts.items[0];
		if (conflict->code != code)
			fail_msg("%s: [%s]", name, hl_code_info(conflict->code)->id);
		assert_string_equal(conflict->door, "environment");
		assert_int_equal(strncmp(conflict->asked, name, strlen(name)), 0);
		assert_null(strstr(conflict->asked, "s3cret"));
	}
	trial_free(trial);
}

static void
test_variables(void **state)
{
	static const struct {
		const char *name, *value;
		enum hl_code code;
	} rows[] = {
		{ "APPTAINER_BIND", "/usr/lib:/opt", HLC_20 },
		{ "SINGULARITY_BINDPATH", "/usr/lib:/opt", HLC_20 },
		{ "APPTAINER_BIND", "/usr/share:/data:ro", HL_OK },
		{ "APPTAINER_NV", "1", HLC_15 },
		{ "APPTAINER_NV", "yes", HLC_15 },
		{ "APPTAINER_NV", "0", HL_OK },
		{ "APPTAINER_CONTAINALL", "0", HLC_10 },
		{ "APPTAINER_CONTAINALL", "1", HL_OK },
		{ "SINGULARITY_UNSHARE_PID", "off", HLC_13 },
		{ "SINGULARITY_WRITABLE_TMPFS", "true", HLC_21 },
		{ "APPTAINER_ADD_CAPS", "sys_admin", HLC_12 },
		{ "APPTAINER_MEMORY", "1t", HLC_30 },
		{ "APPTAINER_MEMORY_SWAP", "-1", HLC_30 },
		{ "APPTAINER_NETWORK", "bridge", HLC_31 },
		{ "APPTAINER_CPU_SHARES", "512", HLC_30 }, /* --cpus as well */
		{ "APPTAINER_CPU_SHARES", "1", HL_OK },
		{ "APPTAINER_CPUS", "5", HL_OK }, /* nobody reads it */
		{ "APPTAINER_BIND", " ", HL_OK },
		{ "APPTAINERENV_PREPEND_PATH", "/s3cret", HLC_40 },
		{ "APPTAINERENV_", "s3cret", HL_OK },
		/* Nothing that a command would notice. */
		{ "APPTAINER_TMPDIR", "/scratch", HL_OK },
		{ "APPTAINER_CACHEDIR", "/scratch", HL_OK },
		{ "APPTAINER_DOCKER_PASSWORD", "s3cret", HL_OK },
		{ "APPTAINERENV_LD_PRELOAD", "s3cret", HLC_05 },
		{ "SINGULARITYENV_OTHER", "s3cret", HLC_40 },
		{ "SINGULARITYENV_APP_A", "s3cret,B=1", HL_OK },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		check_variable(rows[i].name, rows[i].value, "singularity", rows[i].code);
		/* Another engine reads none of them. */
		check_variable(rows[i].name, rows[i].value, "docker", HL_OK);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_has_a_sample),
		cmocka_unit_test(test_every_sample_in_every_spelling),
		cmocka_unit_test(test_respelt_attacks),
		cmocka_unit_test(test_unknown_and_no_option),
		cmocka_unit_test(test_what_is_handed_on),
		cmocka_unit_test(test_what_is_made_effective),
		cmocka_unit_test(test_variables),
	};

	forget_engine_variables();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
