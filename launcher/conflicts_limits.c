/*
 * Conflicts: engine options that limit resources. Numbers are read as the engine reads them, and
 * only where that reading is certain; what has a field of the policy is judged and set there. For
 * most of them zero or minus one means "no limit", which is the widest value and not the smallest.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "launcher/conflicts_parts.h"

#include "base/banned.h"

/* Plain decimal digits without sign and leading zero: Go reads "010" as eight. */
static int
plain_number(const char *text, size_t len, uint64_t max, uint64_t *ret_value)
{
	char digits[24];
	struct hl_err ignored;

	if (len == 0 || len >= sizeof(digits))
		return -1;
	memcpy(digits, text, len);
	digits[len] = '\0';
	return hl_parse_u64(digits, 0, max, ret_value, &ignored);
}

int
engine_bytes(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "kmgtp";
	size_t digits = strspn(text, "0123456789");
	const char *rest = text + digits;
	unsigned shift = 0;
	uint64_t number;

	if (plain_number(text, digits, (uint64_t)1 << 62, &number) == -1)
		return -1;
	for (unsigned i = 0; *rest != '\0' && i < sizeof(units) - 1; i++) {
		if ((*rest | 0x20) == units[i]) {
			shift = (i + 1) * 10;
			rest++;
			if ((*rest | 0x20) == 'i' && (rest[1] | 0x20) == 'b')
				rest++;
			break;
		}
	}
	if ((*rest | 0x20) == 'b')
		rest++;
	if (*rest != '\0' || number > ((uint64_t)1 << 62) >> shift)
		return -1;
	*ret_bytes = number << shift;
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Memory
 */
static int
judge_bytes(struct judge *judge, const struct ask *ask, enum policy_field field, uint64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "B", bytes);
	return judge_field(judge, ask, field, text);
}

int
rule_memory(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	uint64_t bytes;

	if (engine_bytes(setting->value, &bytes) == -1)
		return engine_opaque(judge, ask, setting, setting->control);
	if (bytes == 0)
		return judge_field(judge, ask, POLICY_LIMITS_MEMORY, "unlimited");
	return judge_bytes(judge, ask, POLICY_LIMITS_MEMORY, bytes);
}

/* Zero is docker's own default there, and no limit at all with podman. */
int
rule_shm(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	uint64_t bytes;

	if (engine_bytes(setting->value, &bytes) == -1)
		return engine_opaque(judge, ask, setting, setting->control);
	if (bytes == 0 && strcmp(judge->backend, "podman") == 0)
		return engine_looser(judge, ask, setting, setting->control);
	return judge_bytes(judge, ask, POLICY_LIMITS_SHM, bytes == 0 ? 64 << 20 : bytes);
}

int
rule_soft_memory(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	uint64_t bytes;

	if (engine_bytes(setting->value, &bytes) == -1)
		return engine_opaque(judge, ask, setting, setting->control);
	if (bytes == 0 || bytes > policy_get(judge->policy, POLICY_LIMITS_MEMORY)->number)
		return engine_looser(judge, ask, setting, setting->control);
	return engine_tighten(judge, ask, setting);
}

/* What waits for the last flag may be given once: the engine would take the last, a reader of the
 * command line perhaps the first. */
static int
wait_for(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const struct engine_setting **place)
{
	if (*place != NULL)
		return engine_opaque(judge, ask, setting, setting->control);
	*place = setting;
	return 0;
}

int
rule_memory_swap(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	return wait_for(judge, ask, setting, &judge->sums.swap);
}

/* Memory and swap together. The launcher makes them equal, so that there is no swap. */
static int
judge_swap(struct judge *judge)
{
	const struct engine_setting *setting = judge->sums.swap;
	uint64_t memory = policy_get(judge->policy, POLICY_LIMITS_MEMORY)->number;
	char asked[ENGINE_ASKED_SIZE];
	struct ask ask;
	uint64_t bytes;

	if (setting == NULL)
		return 0;
	ask = engine_ask(setting, asked, sizeof(asked));
	if (strcmp(setting->value, "-1") == 0)
		return engine_looser(judge, &ask, setting, setting->control);
	if (engine_bytes(setting->value, &bytes) == -1 || memory == POLICY_UNLIMITED)
		return engine_opaque(judge, &ask, setting, setting->control);
	if (bytes != memory)
		return engine_looser(judge, &ask, setting, setting->control);
	conflict_note(judge, &ask, "changes nothing: there is no swap");
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Processors
 */
static int
judge_milli(struct judge *judge, const struct ask *ask, uint64_t milli)
{
	struct hl_buf text HL_AUTO(hl_buf_done) = { 0 };

	hl_buf_init(&text, 64);
	hl_buf_put_milli(&text, milli);
	return judge_field(judge, ask, POLICY_LIMITS_CPUS, milli == 0 ? "unlimited" : text.data);
}

int
rule_cpus(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	struct hl_err ignored;
	uint64_t milli;

	if (hl_parse_milli(setting->value, &milli, &ignored) == -1)
		return engine_opaque(judge, ask, setting, setting->control);
	return judge_milli(judge, ask, milli);
}

int
rule_cpu_part(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	return wait_for(judge, ask, setting,
	    setting->rule == ENGINE_RULE_CPU_QUOTA ? &judge->sums.quota : &judge->sums.period);
}

/* Quota by period is processors; a period alone limits nothing. */
static int
judge_quota(struct judge *judge)
{
	const struct engine_setting *setting = judge->sums.quota;
	const struct engine_setting *period = judge->sums.period;
	uint64_t quota = 0, length = 100000;
	char asked[ENGINE_ASKED_SIZE];
	struct ask ask;

	if (period != NULL) {
		ask = engine_ask(period, asked, sizeof(asked));
		if (plain_number(period->value, strlen(period->value), 1000000, &length) == -1)
			return engine_opaque(judge, &ask, period, period->control);
		if (setting == NULL)
			conflict_note(judge, &ask, "changes nothing without a quota");
	}
	if (setting == NULL)
		return 0;
	ask = engine_ask(setting, asked, sizeof(asked));
	if (strcmp(setting->value, "-1") != 0 &&
	    plain_number(setting->value, strlen(setting->value), (uint64_t)1 << 40, &quota) == -1)
		return engine_opaque(judge, &ask, setting, setting->control);
	if (length == 0)
		length = 100000;
	return judge_milli(judge, &ask, (quota * 1000 + length - 1) / length);
}

int
judge_sums(struct judge *judge)
{
	if (judge_quota(judge) == -1)
		return -1;
	return judge_swap(judge);
}

int
rule_cpuset(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	if (setting->value[0] == '\0') {
		conflict_note(judge, ask, "changes nothing");
		return 0;
	}
	if (setting->value[strspn(setting->value, "0123456789,-")] != '\0')
		return engine_opaque(judge, ask, setting, setting->control);
	return engine_tighten(judge, ask, setting);
}

/* ------------------------------------------------------------------------------------------------
 * The rest
 */
int
rule_pids(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	uint64_t number;

	/* No policy can say that. */
	if (strcmp(setting->value, "-1") == 0 || strcmp(setting->value, "0") == 0)
		return engine_looser(judge, ask, setting, setting->control);
	if (plain_number(setting->value, strlen(setting->value), UINT32_MAX, &number) == -1)
		return engine_opaque(judge, ask, setting, setting->control);
	return judge_field(judge, ask, POLICY_LIMITS_PIDS, setting->value);
}

int
rule_oom_score(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	uint64_t score;

	if (plain_number(setting->value, strlen(setting->value), 1000, &score) == -1)
		return engine_looser(judge, ask, setting, setting->control);
	return engine_tighten(judge, ask, setting);
}

int
rule_number_kept(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	uint64_t number;

	if (plain_number(setting->value, strlen(setting->value), INT32_MAX, &number) == -1)
		return engine_opaque(judge, ask, setting, setting->control);
	return engine_tighten(judge, ask, setting);
}

int
rule_storage(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	uint64_t bytes;

	if (strncmp(setting->value, "size=", 5) != 0 ||
	    engine_bytes(setting->value + 5, &bytes) == -1 || bytes == 0) {
		const struct cause cause = { .cause = CAUSE_LOOSER,
			.control = setting->control,
			.bound = "size=... only",
			.effect = "change how the engine stores its files" };
		return engine_conflict(judge, ask, setting, &cause);
	}
	return judge_bytes(judge, ask, POLICY_LIMITS_DISK, bytes);
}

enum ulimit_way {
	ULIMIT_FILES,  /* limits.files */
	ULIMIT_PIDS,   /* at most limits.pids */
	ULIMIT_FINITE, /* any number is less than the engine's own "no limit" */
	ULIMIT_NONE,   /* the launcher's own: zero */
	ULIMIT_ZERO,   /* only none at all is certain to be less than the engine's default */
};

static const struct ulimit {
	const char *name;
	enum ulimit_way way;
	const char *control;
} ulimits[] = {
	{ "core", ULIMIT_NONE, "process.core_dumps" },
	{ "cpu", ULIMIT_FINITE, "limits.cpus" },
	{ "data", ULIMIT_FINITE, "limits.memory" },
	{ "fsize", ULIMIT_FINITE, "limits.disk" },
	{ "locks", ULIMIT_ZERO, "limits.files" },
	{ "memlock", ULIMIT_ZERO, "limits.memory" },
	{ "msgqueue", ULIMIT_ZERO, "limits.memory" },
	{ "nice", ULIMIT_ZERO, "limits.cpus" },
	{ "nofile", ULIMIT_FILES, "limits.files" },
	{ "nproc", ULIMIT_PIDS, "limits.pids" },
	{ "rss", ULIMIT_FINITE, "limits.memory" },
	{ "rtprio", ULIMIT_ZERO, "limits.cpus" },
	{ "rttime", ULIMIT_ZERO, "limits.cpus" },
	{ "sigpending", ULIMIT_ZERO, "limits.memory" },
	{ "stack", ULIMIT_FINITE, "limits.memory" },
};

static int
judge_ulimit(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const struct ulimit *ulimit)
{
	/* The hard limit counts: a process may raise its soft one up to it. */
	const char *hard = strchr(setting->value, '=') + 1;
	const char *colon = strchr(hard, ':');
	uint64_t number, soft, pids = policy_get(judge->policy, POLICY_LIMITS_PIDS)->number;

	if (colon != NULL && plain_number(hard, (size_t)(colon - hard), INT64_MAX, &soft) == -1)
		return engine_opaque(judge, ask, setting, ulimit->control);
	hard = colon != NULL ? colon + 1 : hard;
	if (strcmp(hard, "-1") == 0)
		return ulimit->way == ULIMIT_FILES
			   ? judge_field(judge, ask, POLICY_LIMITS_FILES, "unlimited")
			   : engine_looser(judge, ask, setting, ulimit->control);
	if (plain_number(hard, strlen(hard), INT64_MAX, &number) == -1)
		return engine_opaque(judge, ask, setting, ulimit->control);
	switch (ulimit->way) {
	case ULIMIT_FILES:
		return judge_field(judge, ask, POLICY_LIMITS_FILES, hard);
	case ULIMIT_PIDS:
		return number > 0 && number <= pids
			   ? engine_tighten(judge, ask, setting)
			   : engine_looser(judge, ask, setting, "limits.pids");
	case ULIMIT_FINITE:
		return engine_tighten(judge, ask, setting);
	case ULIMIT_NONE:
		if (number > 0)
			return engine_looser(judge, ask, setting, ulimit->control);
		conflict_note(judge, ask, "changes nothing: there are no core files");
		return 0;
	case ULIMIT_ZERO:
		return number == 0 ? engine_tighten(judge, ask, setting)
				   : engine_looser(judge, ask, setting, ulimit->control);
	}
	return 0;
}

int
rule_ulimit(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	size_t len = strcspn(setting->value, "=");

	for (size_t i = 0; setting->value[len] == '=' && i < HL_ARRAY_SIZE(ulimits); i++) {
		if (strlen(ulimits[i].name) == len &&
		    memcmp(ulimits[i].name, setting->value, len) == 0)
			return judge_ulimit(judge, ask, setting, &ulimits[i]);
	}
	return engine_opaque(judge, ask, setting, setting->control);
}
