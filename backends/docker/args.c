/*
 * A caller's arguments for docker or podman, read by the engine's own grammar.
 *
 * Both clients parse its options with Go's pflag: a long flag takes its value behind '=' or as the
 * next argument, a short one also glued to it; short flags chain; booleans take a value only behind
 * '='; "--" ends the flags, and the first operand would be the image. We follow that grammar to the
 * letter, oddities included (in "-e=" the '=' is the value), because any difference would be a
 * spelling that we judge as one thing and the engine takes as another. Whatever the engine would
 * refuse, or would take for the image, is an error here. Where podman reads one value as a list,
 * each of it is a setting of its own.
 */
#include <string.h>

#include "backends/docker/docker.h"

#include "base/banned.h"

static const struct docker_option options[] = {
#define DOCKER_OPTION(symbol, flag, letter, engines, kind, json, control, rule, repeatable, since, \
    help)                                                                                          \
 [DOCKER_##symbol] = { flag, letter, DOCKER_ENGINES_##engines, DOCKER_KIND_##kind, json, control,  \
	 ENGINE_RULE_##rule, repeatable, since, help },
#include "backends/docker/options.def"
#undef DOCKER_OPTION
};

#define DOCKER_OPTION(symbol, flag_, letter, engines, kind, json_, control_, rule, repeatable, \
    since_, help_)                                                                             \
 HL_FITS(flag_, options[0].flag);                                                              \
 HL_FITS(json_, options[0].json);                                                              \
 HL_FITS(control_, options[0].control);                                                        \
 HL_FITS(since_, options[0].since);                                                            \
 HL_FITS(help_, options[0].help);
#include "backends/docker/options.def"
#undef DOCKER_OPTION

_Static_assert(HL_ARRAY_SIZE(options) == DOCKER_OPTION_MAX, "every option has its row");

const struct docker_option *
docker_option(enum docker_option_id id)
{
	HL_BUG_ON(id >= DOCKER_OPTION_MAX);
	return &options[id];
}

const struct docker_option *
docker_option_find(enum docker_engines engine, const char *flag, size_t len)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(options); i++) {
		if ((options[i].engines & engine) != 0 && strlen(options[i].flag) == len &&
		    memcmp(options[i].flag, flag, len) == 0)
			return &options[i];
	}
	return NULL;
}

const struct docker_option *
docker_option_by_letter(enum docker_engines engine, char letter)
{
	for (size_t i = 0; letter != '\0' && i < HL_ARRAY_SIZE(options); i++) {
		if ((options[i].engines & engine) != 0 && options[i].letter == letter)
			return &options[i];
	}
	return NULL;
}

/* Where we are in the caller's arguments, and what has been read. */
struct reader {
	enum docker_engines engine;
	const struct engine_arg *args;
	size_t len, next;
	int argument; /* of the flag that is being read */
	struct engine_settings *out;
	struct hl_err *err;
};

/* Go's strconv.ParseBool(), and nothing else. */
static int
bool_parse(const char *text, bool *ret_value)
{
	static const struct {
		const char *text;
		bool value;
	} words[] = { { "1", true }, { "t", true }, { "T", true }, { "TRUE", true },
		{ "true", true }, { "True", true }, { "0", false }, { "f", false }, { "F", false },
		{ "FALSE", false }, { "false", false }, { "False", false } };

	for (size_t i = 0; i < HL_ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].text, text) == 0) {
			*ret_value = words[i].value;
			return 0;
		}
	}
	return -1;
}

/* A copy that lives as long as the settings; "" when memory ended (the vector knows). */
static const char *
keep(struct reader *reader, const char *text, size_t len)
{
	struct hl_strv *strings = &reader->out->strings;

	hl_strv_addn(strings, text, len);
	return strings->failed ? "" : strings->v[strings->len - 1];
}

static int
emit_one(struct reader *reader, const struct docker_option *option, const char *value)
{
	struct engine_setting *setting;
	bool is_true;

	if (reader->out->len >= ENGINE_SETTINGS_MAX)
		return hl_err_set(reader->err, HLC_08, "more than %d settings in engine arguments",
		    ENGINE_SETTINGS_MAX);
	if (option->kind == DOCKER_KIND_BOOL) {
		if (bool_parse(value, &is_true) == -1) {
			/* The value is not repeated: nothing says that it is not private. */
			hl_err_set(reader->err, HLC_08,
			    "engine argument '%s' at argument %d is "
			    "a boolean and has another value",
			    option->flag, reader->argument);
			return hl_err_help(reader->err, "write %s=true or %s=false", option->flag,
			    option->flag);
		}
		value = is_true ? "true" : "false";
	}
	setting = &reader->out->items[reader->out->len++];
	*setting = (struct engine_setting){
		.flag = option->flag,
		.control = option->control,
		.rule = option->rule,
		.value = keep(reader, value, strlen(value)),
		.is_bool = option->kind == DOCKER_KIND_BOOL,
		.is_repeatable = option->is_repeatable,
		.argument = reader->argument,
	};
	return 0;
}

/* Podman's lists are one line of comma-separated values. One with quotes in it, or with more lines,
 * stays whole: it is what no rule takes for a value that it knows. */
static bool
is_list(const struct reader *reader, const struct docker_option *option, const char *value)
{
	return reader->engine == DOCKER_ENGINES_PODMAN &&
	       (option->engines & DOCKER_ENGINES_LIST) != 0 && strpbrk(value, "\"\r\n") == NULL;
}

static int
emit(struct reader *reader, const struct docker_option *option, const char *value)
{
	while (is_list(reader, option, value)) {
		size_t len = strcspn(value, ",");

		if (value[len] == '\0')
			break;
		if (emit_one(reader, option, keep(reader, value, len)) == -1)
			return -1;
		value += len + 1;
	}
	return emit_one(reader, option, value);
}

/* An option in no table. How many arguments it takes nobody knows, so only what is in this one is
 * taken with it. */
static int
emit_unknown(struct reader *reader, const char *flag, size_t len, const char *value)
{
	if (reader->out->len >= ENGINE_SETTINGS_MAX)
		return hl_err_set(reader->err, HLC_08, "more than %d settings in engine arguments",
		    ENGINE_SETTINGS_MAX);
	reader->out->items[reader->out->len++] = (struct engine_setting){
		.flag = keep(reader, flag, len),
		.control = "engine_args",
		.rule = ENGINE_RULE_UNKNOWN,
		.value = keep(reader, value, strlen(value)),
		.argument = reader->argument,
	};
	return 0;
}

/* The value of a flag that stands alone: the next argument, whatever that looks like. */
static int
emit_next(struct reader *reader, const struct docker_option *option)
{
	if (reader->next >= reader->len) {
		hl_err_set(reader->err, HLC_08, "engine argument '%s' at argument %d needs a value",
		    option->flag, reader->argument);
		return hl_err_help(reader->err, "write --engine-arg=%s=VALUE", option->flag);
	}
	return emit(reader, option, reader->args[reader->next++].text);
}

static int
read_long(struct reader *reader, const char *arg)
{
	const char *equals = strchr(arg, '=');
	size_t len = equals != NULL ? (size_t)(equals - arg) : strlen(arg);
	const struct docker_option *option;

	if (arg[2] == '-' || arg[2] == '=')
		return hl_err_set(reader->err, HLC_08,
		    "engine argument at argument %d is not a flag: bad syntax", reader->argument);
	option = docker_option_find(reader->engine, arg, len);
	if (option == NULL)
		return emit_unknown(reader, arg, len, equals != NULL ? equals + 1 : "");
	if (equals != NULL)
		return emit(reader, option, equals + 1);
	if (option->kind == DOCKER_KIND_BOOL)
		return emit(reader, option, "true");
	return emit_next(reader, option);
}

/* "-itv/a:/b": booleans as long as they come, then one flag with a value. */
static int
read_short(struct reader *reader, const char *letters)
{
	while (*letters != '\0') {
		const struct docker_option *option =
		    docker_option_by_letter(reader->engine, *letters);
		size_t left = strlen(letters);

		if (option == NULL) {
			char flag[3] = { '-', *letters, '\0' };

			return emit_unknown(reader, flag, 2, letters + 1);
		}
		/* pflag wants something behind the '='; in "-e=" it is the value itself. */
		if (left > 2 && letters[1] == '=')
			return emit(reader, option, letters + 2);
		if (option->kind == DOCKER_KIND_BOOL) {
			if (emit(reader, option, "true") == -1)
				return -1;
			letters++;
			continue;
		}
		if (left > 1)
			return emit(reader, option, letters + 1);
		return emit_next(reader, option);
	}
	return 0;
}

static int
operand(struct reader *reader)
{
	hl_err_set(reader->err, HLC_08,
	    "engine argument at argument %d is not a flag: the engine "
	    "would take it for the image",
	    reader->argument);
	return hl_err_help(reader->err,
	    "give a flag's value behind '=', as in "
	    "--engine-arg=--hostname=box; booleans take a value only so");
}

static int
read_all(struct reader *reader)
{
	while (reader->next < reader->len) {
		const char *arg = reader->args[reader->next].text;
		int status;

		reader->argument = reader->args[reader->next++].argument;
		if (arg[0] != '-' || arg[1] == '\0')
			return operand(reader);
		if (strcmp(arg, "--") == 0) {
			if (reader->next == reader->len)
				return 0;
			reader->argument = reader->args[reader->next].argument;
			return operand(reader);
		}
		status = arg[1] == '-' ? read_long(reader, arg) : read_short(reader, arg + 1);
		if (status == -1)
			return -1;
	}
	return 0;
}

static int
parse(struct reader *reader)
{
	if (read_all(reader) == -1)
		return -1;
	return hl_strv_check(&reader->out->strings, "engine arguments", reader->err);
}

int
docker_args_parse(const struct engine_arg *args, size_t len, struct engine_settings *ret_settings,
    struct hl_err *err)
{
	struct reader reader = { DOCKER_ENGINES_DOCKER, args, len, .out = ret_settings,
		.err = err };

	return parse(&reader);
}

int
podman_args_parse(const struct engine_arg *args, size_t len, struct engine_settings *ret_settings,
    struct hl_err *err)
{
	struct reader reader = { DOCKER_ENGINES_PODMAN, args, len, .out = ret_settings,
		.err = err };

	return parse(&reader);
}
