/*
 * policy why: may the command have this, and which line of which file says so.
 */
#include <stdio.h>
#include <string.h>

#include "launcher/conflicts_parts.h"
#include "launcher/plan_parts.h"
#include "launcher/why.h"

#include "base/banned.h"

void
why_say(struct why *why, bool is_allowed, const struct hl_origin *origin, const char *format, ...)
{
	va_list ap;

	why->is_allowed = is_allowed;
	why->origin = *origin;
	va_start(ap, format);
	vsnprintf(why->answer, sizeof(why->answer), format, ap);
	va_end(ap);
}

static void
say_value(struct why *why, enum policy_field field)
{
	struct hl_buf text;
	const struct policy_value *value = policy_get(why->policy, field);

	hl_buf_init(&text, 1U << 20);
	hl_buf_putf(&text, "%s: ", policy_field_key(field));
	policy_value_format(value, field, &text);
	snprintf(why->rule, sizeof(why->rule), "%s", text.data != NULL ? text.data : "");
	why->is_cut |= text.failed;
	if (text.len >= sizeof(why->rule))
		memcpy(why->rule + sizeof(why->rule) - 4, "...", 4);
	hl_buf_done(&text);
}

/* Not among what is used when nobody asks: whether a caller could ask for it. */
static int
say_not_given(struct why *why, enum policy_field field, const char *text, const char *ask,
    struct hl_err *err)
{
	struct policy_judgement judgement;

	if (policy_judge(why->policy, field, text, &judgement, err) != 0)
		return -1;
	if (judgement.verdict != POLICY_LOOSER) {
		why_say(why, false, &policy_get(why->policy, field)->origin,
		    "is not given, but a caller may ask for it");
		say_value(why, field);
		snprintf(why->change, sizeof(why->change), "%s%.100s, or its default in the policy",
		    ask, text);
		return 0;
	}
	why_say(why, false, &judgement.origin, "is outside the bound%s",
	    judgement.is_locked ? ", which is locked" : "");
	snprintf(why->rule, sizeof(why->rule), "%s allows %.240s", policy_field_key(field),
	    judgement.bound);
	snprintf(why->change, sizeof(why->change), "the owner of that bound must widen %s",
	    policy_field_key(field));
	return 0;
}

int
why_env(struct why *why, const char *name, struct hl_err *err)
{
	const struct policy_value *set = policy_get(why->policy, POLICY_ENV_SET);
	const struct policy_value *pass = policy_get(why->policy, POLICY_ENV_PASS);
	const struct hl_origin built_in = plan_built_in();
	size_t len = strlen(name);
	enum policy_name_class class = policy_name_class(name, len);

	if (class != POLICY_NAME_PLAIN) {
		why_say(why, false, &built_in, "never passes");
		snprintf(why->rule, sizeof(why->rule), "it %s",
		    class == POLICY_NAME_LOADER ? "runs code before the command"
						: "carries a credential or redirects one");
		snprintf(why->change, sizeof(why->change), "nothing: no policy permits it");
		return 0;
	}
	if (!hl_is_env_name(name, len))
		return hl_err_set(err, HLU_01, "'%.*s' is not a variable name",
		    (int)strcspn(name, "="), name);
	for (size_t i = 0; i < set->items_len; i++) {
		if (strcmp(set->items[i].name, name) != 0)
			continue;
		why_say(why, true, &set->items[i].origin, "is set to a fixed value");
		snprintf(why->rule, sizeof(why->rule), "env.set %.128s", name);
		return 0;
	}
	const struct policy_item *rule = plan_env_rule(pass, name);
	if (rule != NULL) {
		why_say(why, true, &rule->origin, "passes from the caller");
		snprintf(why->rule, sizeof(why->rule), "env.pass %.200s", rule->text);
		return 0;
	}
	if (plan_env_name_is_built(name)) {
		why_say(why, true, &built_in, "is built by the launcher");
		return 0;
	}
	return say_not_given(why, POLICY_ENV_PASS, name, "--env ", err);
}

static int
why_cap(struct why *why, const char *name, struct hl_err *err)
{
	const struct policy_value *caps = policy_get(why->policy, POLICY_PROCESS_CAPS);
	struct policy_judgement judgement;

	if (policy_judge(why->policy, POLICY_PROCESS_CAPS, name, &judgement, err) != 0)
		return -1;
	if (judgement.verdict != POLICY_SAME)
		return say_not_given(why, POLICY_PROCESS_CAPS, name,
		    "--engine-arg=--cap-add=", err);
	why_say(why, true, &caps->origin, "is kept, when the command runs as root");
	say_value(why, POLICY_PROCESS_CAPS);
	return 0;
}

/* HOST or HOST:PORT. What is behind one name is not known to a policy of this version. */
static int
why_host(struct why *why, const char *host, struct hl_err *err)
{
	const struct policy_value *mode = policy_get(why->policy, POLICY_NETWORK_MODE);
	const char *word = policy_field_words(POLICY_NETWORK_MODE)[mode->number];
	bool is_open = strcmp(word, "bridge") == 0 || strcmp(word, "host") == 0;

	if (host[0] == '\0')
		return hl_err_set(err, HLU_01, "the host has no name");
	if (is_open)
		why_say(why, true, &mode->origin, "can be reached, like every host");
	else
		why_say(why, false, &mode->origin, "cannot be reached: the command has no network");
	say_value(why, POLICY_NETWORK_MODE);
	if (!is_open)
		snprintf(why->change, sizeof(why->change),
		    "--network bridge or host, where the bound of network.mode lets it");
	return 0;
}

static int
why_arg(struct why *why, const char *arg, struct hl_err *err)
{
	static struct conflicts conflicts; /* too large for a stack */
	static struct request asked;
	const struct hl_origin built_in = plan_built_in();

	asked = *why->request;
	asked.env.len = 0;
	asked.engine_args.items[0] = (struct request_item){ .text = arg, .argument = 1 };
	asked.engine_args.len = 1;
	if (conflicts_judge(why->policy, &asked, &conflicts, err) != 0)
		return -1;
	/* The caller's environment is not what was asked about. */
	const struct conflict *first = NULL;
	for (size_t i = 0; first == NULL && i < conflicts.len; i++) {
		if (strcmp(conflicts.items[i].door, "environment") != 0)
			first = &conflicts.items[i];
	}
	if (first == NULL) {
		why_say(why, true, &built_in, "is let through: it loosens nothing");
	} else {
		why_say(why, first->action == CONFLICT_WON, &first->origin, "%s %s [%s]",
		    first->action == CONFLICT_WON
			? "is let through because mode is warn, and loosens"
			: "is refused: it loosens",
		    first->control, hl_code_info(first->code)->id);
		snprintf(why->rule, sizeof(why->rule), "allows %.250s", first->bound);
		snprintf(why->change, sizeof(why->change), "%.250s",
		    hl_code_info(first->code)->help);
	}
	conflicts_done(&conflicts);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The question and the answer
 */
struct question {
	const char *name; /* of the option */
	const char *text; /* NULL: not asked */
	int (*find)(struct why *, const char *, struct hl_err *);
};

static const char *
backend_of(const struct why *why)
{
	const struct policy_value *backends = policy_get(why->policy, POLICY_BACKENDS);
	const char *backend = why->request->backend.text;

	return backend == NULL && backends->items_len > 0 ? backends->items[0].text : backend;
}

/* What was asked, without a value that run would not tell either. */
static void
put_question(const struct why *why, const struct question *question, struct hl_buf *out)
{
	static const char option[] = "--engine-arg=";
	struct hl_buf told HL_AUTO(hl_buf_done) = { 0 };

	if (question->find != why_arg) {
		hl_buf_puts(out, question->text);
		return;
	}
	hl_buf_init(&told, 4096);
	engine_arg_tell(backend_of(why), question->text, &told);
	out->failed |= told.failed;
	if (!told.failed)
		hl_buf_puts(out, told.data + sizeof(option) - 1);
}

static void
put_text(const struct why *why, const char *asked, struct hl_buf *out)
{
	hl_buf_putf(out, "%s: ", why->is_allowed ? "yes" : "no");
	hl_buf_printable(out, asked, strlen(asked));
	hl_buf_putf(out, " %s\n  rule    ", why->answer);
	origin_put(out, &why->origin);
	hl_buf_puts(out, why->rule[0] != '\0' ? "   " : "");
	hl_buf_printable(out, why->rule, strlen(why->rule));
	if (why->change[0] != '\0')
		hl_buf_putf(out, "\n  change  ");
	hl_buf_printable(out, why->change, strlen(why->change));
	hl_buf_putc(out, '\n');
}

static void
put_json(const struct why *why, const struct question *question, const char *asked,
    struct hl_buf *out)
{
	const char *const texts[][2] = {
		{ "answer", why->answer },
		{ "rule", why->rule },
		{ "change", why->change[0] != '\0' ? why->change : NULL },
		{ "layer", why->origin.layer },
		{ "id", why->origin.id },
		{ "file", why->origin.where.file },
	};
	struct hl_json json;

	hl_json_init(&json, out);
	hl_json_object(&json);
	hl_json_key(&json, question->name);
	hl_json_string(&json, asked);
	hl_json_key(&json, "allowed");
	hl_json_bool(&json, why->is_allowed);
	for (size_t i = 0; i < HL_ARRAY_SIZE(texts); i++) {
		hl_json_key(&json, texts[i][0]);
		hl_json_string(&json, texts[i][1]);
	}
	hl_json_key(&json, "line");
	hl_json_u64(&json, why->origin.where.line);
	hl_json_key(&json, "column");
	hl_json_u64(&json, why->origin.where.column);
	hl_json_end_object(&json);
	hl_buf_putc(out, '\n');
}

static int
print(const struct why *why, const struct question *question, struct hl_err *err)
{
	struct hl_buf asked HL_AUTO(hl_buf_done) = { 0 };
	struct hl_buf out;

	hl_buf_init(&out, 65536);
	hl_buf_init(&asked, 65536);
	put_question(why, question, &asked);
	out.failed |= asked.failed;
	if (asked.failed)
		return verb_answer(&out, err);
	if (why->request->format == FORMAT_JSON)
		put_json(why, question, asked.data, &out);
	else
		put_text(why, asked.data, &out);
	out.failed |= why->is_cut;
	return verb_answer(&out, err);
}

/* The one that was asked; NULL: none or several. */
static const struct question *
find_question(const struct question *questions, size_t n)
{
	const struct question *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (questions[i].text == NULL)
			continue;
		if (found != NULL)
			return NULL;
		found = &questions[i];
	}
	return found;
}

static int
settle(struct why *why, struct host *host, struct hl_err *err)
{
	static struct request_items stack;
	struct policy_findings findings;

	stack = why->request->policies;
	if (request_operands(why->request, &stack, err) != 0 ||
	    host_facts(why->request, host, err) != 0)
		return -1;
	int status = load_policy(&stack, host, &why->policy, &findings, err);
	report_findings(&findings, why->request);
	policy_findings_done(&findings);
	why->host = host;
	return status;
}

int
verb_policy_why(const struct request *request)
{
	const struct request_items *env = &request->env;
	const struct question questions[] = {
		{ "env", env->len == 1 ? env->items[0].text : NULL, why_env },
		{ "path", request->why_path, why_path },
		{ "host", request->why_host, why_host },
		{ "arg", request->why_arg, why_arg },
		{ "cap", request->why_cap, why_cap },
	};
	const struct question *question = find_question(questions, HL_ARRAY_SIZE(questions));
	struct why why = { .request = request };
	struct host host;
	struct hl_err err = { 0 };

	if (question == NULL || env->len > 1) {
		hl_err_set(&err, HLU_01, "one question is asked at a time");
		hl_err_help(&err, "give one of --env, --path, --host, --arg and --cap");
		return verb_fail(&err);
	}
	int status = settle(&why, &host, &err);
	if (status == 0)
		status = question->find(&why, question->text, &err);
	if (status == 0)
		status = print(&why, question, &err);
	if (status != 0)
		status = verb_fail(&err);
	policy_free(why.policy);
	return status != 0 ? status : why.is_allowed ? 0 : 1;
}
