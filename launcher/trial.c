/*
 * One expectation held against a stack. Each finds the stack as it was read: what judges a request
 * also puts it in force, and that is undone. A request goes the way of run's own options, a path
 * the way of policy why: what a test says is what a run would do.
 */
#include "launcher/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launcher/conflicts_parts.h"
#include "launcher/options.h"
#include "launcher/why.h"

#include "base/banned.h"

enum {
	MESSAGE_SIZE = 600,
};

/* The row of run's option that asks for it. */
static const struct option_row *
option_of(enum policy_request_word word)
{
	for (size_t i = 0; i < option_rows_len; i++) {
		if (strcmp(option_rows[i].name, policy_request_word(word)) == 0)
			return &option_rows[i];
	}
	hl_bug(__FILE__, __LINE__, "a request without its option");
}

static void
put_request(const struct policy_expectation *expectation, struct hl_buf *out)
{
	if (expectation->word == POLICY_REQUEST_ENGINE_ARG) {
		engine_arg_tell(expectation->backend, expectation->text, out);
		return;
	}
	hl_buf_putf(out, "--%s=", policy_request_word(expectation->word));
	hl_buf_printable(out, expectation->text, strlen(expectation->text));
}

void
trial_name(const struct policy_expectation *expectation, struct hl_buf *out)
{
	hl_buf_putf(out, "%s ", policy_expect_word(expectation->kind));
	if (expectation->kind == POLICY_EXPECT_ALLOW || expectation->kind == POLICY_EXPECT_REFUSE)
		put_request(expectation, out);
	else if (expectation->text != NULL)
		hl_buf_printable(out, expectation->text, strlen(expectation->text));
	else
		hl_buf_puts(out, policy_field_key(expectation->field));
	if (expectation->backend != NULL) {
		hl_buf_puts(out, " --backend=");
		hl_buf_printable(out, expectation->backend, strlen(expectation->backend));
	}
	if (expectation->code != HL_OK)
		hl_buf_putf(out, " [%s]", hl_code_info(expectation->code)->id);
}

/* ------------------------------------------------------------------------------------------------
 * Coverage
 */

static void
touch_key(struct coverage *coverage, const char *key, size_t len)
{
	char text[80];

	if (len >= sizeof(text))
		return;
	memcpy(text, key, len);
	text[len] = '\0';
	enum policy_field field = policy_field_find(text);
	if (field != POLICY_FIELD_MAX)
		coverage->fields[field] = true;
}

static void
touch_control(struct coverage *coverage, const char *control)
{
	touch_key(coverage, control, strlen(control));
	for (size_t i = 0; i < conflict_controls_len(); i++) {
		HL_BUG_ON(i >= TRIAL_CONTROLS_MAX);
		if (strcmp(conflict_control_at(i)->control, control) == 0)
			coverage->controls[i] = true;
	}
}

static void
touch_stack(struct coverage *coverage, const struct policy *policy)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const struct policy_value *value = policy_get(policy, (enum policy_field)i);
		bool is_said = value->is_explicit || value->is_bounded;
		const struct hl_origin *origin =
		    value->is_bounded ? &value->bound_origin : &value->origin;
		/* What only a level says is tested where the level is. */
		if (is_said && origin->where.line > 0 && strcmp(origin->layer, "level") != 0)
			coverage->set[i] = true;
	}
}

/* An argument that is let through is no conflict; the engine's table knows what it is about. */
static void
touch_argument(struct coverage *coverage, const struct policy *policy,
    const struct policy_expectation *expectation)
{
	const struct policy_value *backends = policy_get(policy, POLICY_BACKENDS);
	const struct engine_arg arg = { expectation->text, 1, NULL };
	const char *backend = expectation->backend;
	struct engine_settings settings = { 0 };
	struct hl_err ignored = { 0 };

	if (backend == NULL && backends->items_len > 0)
		backend = backends->items[0].text;
	if (backend == NULL || engine_args_parse(backend, &arg, 1, &settings, &ignored) != 0)
		return;
	for (size_t i = 0; i < settings.len; i++)
		touch_key(coverage, settings.items[i].control, strlen(settings.items[i].control));
	engine_settings_done(&settings);
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 */

static void
fill(struct request *request, const struct trial *trial)
{
	const struct policy_expectation *expectation = trial->expectation;
	const struct option_row *row = option_of(expectation->word);
	void *member = (char *)request + row->offset;
	const struct request_item item = { expectation->text, 1 };

	*request = (struct request){ .verb = VERB_RUN, .state_dir = trial->host->state_dir };
	if (expectation->backend != NULL)
		request->backend = (struct request_item){ expectation->backend, 2 };
	if (row->kind == OPTION_ITEM) {
		*(struct request_item *)member = item;
		return;
	}
	struct request_items *items = member;
	items->items[0] = item;
	items->len = 1;
}

static int
judge(const struct trial *trial, struct policy *policy, bool *ret_is_met, char *message)
{
	static struct conflicts conflicts; /* too large for a stack */
	static struct request asked;
	const struct policy_expectation *expectation = trial->expectation;
	bool is_refuse = expectation->kind == POLICY_EXPECT_REFUSE;
	struct hl_err cause = { 0 };

	fill(&asked, trial);
	if (expectation->word == POLICY_REQUEST_ENGINE_ARG)
		touch_argument(trial->coverage, policy, expectation);
	if (conflicts_judge_kept(policy, &asked, trial->kept, &conflicts, &cause) != 0) {
		/* What nobody understands is refused for that, and only who says so expects it. */
		*ret_is_met = is_refuse && expectation->code == cause.code;
		snprintf(message, MESSAGE_SIZE, "it is not understood: %.400s [%s]", cause.msg,
		    hl_code_info(cause.code)->id);
		return 0;
	}
	const struct conflict *refusal = NULL;
	bool is_right_code = false;
	for (size_t i = 0; i < conflicts.len; i++) {
		const struct conflict *conflict = &conflicts.items[i];
		touch_control(trial->coverage, conflict->control);
		if (conflict->action == CONFLICT_WON)
			continue;
		if (refusal == NULL)
			refusal = conflict;
		is_right_code = is_right_code || expectation->code == HL_OK ||
				expectation->code == conflict->code;
	}
	bool is_won = refusal == NULL && conflicts.len > 0;
	*ret_is_met = is_refuse ? is_right_code : conflicts.len == 0;
	if (refusal != NULL)
		snprintf(message, MESSAGE_SIZE, "it is refused: %s allows %.256s [%s]",
		    refusal->control, refusal->bound, hl_code_info(refusal->code)->id);
	else
		snprintf(message, MESSAGE_SIZE, "it is allowed%s",
		    is_won ? ", past the bound, because mode is warn" : "");
	conflicts_done(&conflicts);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * What a command has
 */

static int
ask(const struct trial *trial, struct policy *policy, bool *ret_is_met, char *message,
    struct hl_err *err)
{
	static struct request nothing;
	const struct policy_expectation *expectation = trial->expectation;
	enum policy_expect_kind kind = expectation->kind;
	struct host host = *trial->host;
	struct why why = { .request = &nothing,
		.host = &host,
		.policy = policy,
		.is_of_any_host = true };
	bool is_name = kind == POLICY_EXPECT_PASS || kind == POLICY_EXPECT_WITHHOLD;

	host.cwd = trial->workdir;
	nothing.state_dir = host.state_dir;
	int status = is_name ? why_env(&why, expectation->text, err)
			     : why_path(&why, expectation->text, err);

	if (status != 0)
		return -1;
	touch_key(trial->coverage, why.rule, strcspn(why.rule, " :"));
	if (kind == POLICY_EXPECT_HIDDEN && !why.is_allowed)
		touch_key(trial->coverage, "fs.deny", 7);
	if (kind == POLICY_EXPECT_PASS)
		*ret_is_met = why.is_allowed;
	else if (kind == POLICY_EXPECT_WITHHOLD)
		*ret_is_met = !why.is_allowed;
	else if (kind == POLICY_EXPECT_HIDDEN) /* also where the sandbox has a place of its own */
		*ret_is_met = !why.is_allowed || !why.is_of_host;
	else
		*ret_is_met = why.is_allowed && why.is_writable == (kind == POLICY_EXPECT_WRITABLE);
	snprintf(message, MESSAGE_SIZE, "it %s%s%.250s", why.answer,
	    why.rule[0] != '\0' ? ": " : "", why.rule);
	return 0;
}

static int
compare(const struct trial *trial, const struct policy *policy, bool *ret_is_met, char *message,
    struct hl_err *err)
{
	struct hl_buf want HL_AUTO(hl_buf_done_secret) = { 0 };
	struct hl_buf have HL_AUTO(hl_buf_done_secret) = { 0 };

	hl_buf_init(&want, 1U << 20);
	hl_buf_init(&have, 1U << 20);
	if (policy_expectation_holds(policy, trial->expectation, ret_is_met, &want, &have) != 0)
		return hl_err_oom(err);
	snprintf(message, MESSAGE_SIZE, "it is %.250s, not %.250s", have.data, want.data);
	return 0;
}

static int
hold(const struct trial *trial, struct policy *policy, bool *ret_is_met, char *message,
    struct hl_err *err)
{
	switch (trial->expectation->kind) {
	case POLICY_EXPECT_ALLOW:
	case POLICY_EXPECT_REFUSE:
		return judge(trial, policy, ret_is_met, message);
	case POLICY_EXPECT_EFFECTIVE:
	case POLICY_EXPECT_BOUND:
		return compare(trial, policy, ret_is_met, message, err);
	case POLICY_EXPECT_PASS:
	case POLICY_EXPECT_WITHHOLD:
	case POLICY_EXPECT_HIDDEN:
	case POLICY_EXPECT_READ_ONLY:
	case POLICY_EXPECT_WRITABLE:
		return ask(trial, policy, ret_is_met, message, err);
	case POLICY_EXPECT_MAX:
		break;
	}
	hl_bug(__FILE__, __LINE__, "an expectation of no kind");
}

/* Of this process, so that it says the same on a machine with much to do. */
static uint64_t
spent_us(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int
trial_run(const struct trial *trial, bool *ret_is_met, char message[600], struct hl_err *err)
{
	bool had_places = trial->kept->deny != NULL;
	uint64_t begin = spent_us();

	touch_stack(trial->coverage, trial->policy);
	if (trial->expectation->field != POLICY_FIELD_MAX)
		trial->coverage->fields[trial->expectation->field] = true;
	int status = hold(trial, trial->policy, ret_is_met, message, err);
	policy_restore(trial->policy);
	/* What the host has at denied places is read once, and is no matter of the request. */
	if (trial->spent_us != NULL && had_places == (trial->kept->deny != NULL))
		*trial->spent_us += spent_us() - begin;
	return status;
}
