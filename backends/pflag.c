/*
 * The reader of pflag.h: from a caller's arguments to settings, by the table of an engine. Where
 * the engine reads one value as a list, each of it is a setting of its own.
 */
#include "backends/pflag.h"

#include <string.h>

#include "base/banned.h"

/* Where we are in the caller's arguments, and what has been read. */
struct reader {
	pflag_find_fn *find;
	const struct engine_arg *args;
	size_t len, next;
	int argument; /* of the flag that is being read */
	const char *variable;
	struct engine_settings *out;
	struct hl_err *err;
};

int
engine_bool(const char *text, bool *ret_value)
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

static const char *
keep(struct reader *reader, const char *text, size_t len)
{
	return engine_settings_keep(reader->out, text, len);
}

static int
emit_one(struct reader *reader, const struct pflag_option *option, const char *value)
{
	bool is_true;

	if (option->is_bool) {
		if (engine_bool(value, &is_true) == -1) {
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
	const struct engine_setting setting = {
		.flag = option->flag,
		.control = option->control,
		.rule = option->rule,
		.value = keep(reader, value, strlen(value)),
		.is_bool = option->is_bool,
		.is_repeatable = option->is_repeatable,
		.argument = reader->argument,
		.variable = reader->variable,
	};
	return engine_settings_add(reader->out, &setting, reader->err);
}

/* A list is one line of comma-separated values. One with quotes in it, or with more lines, stays
 * whole: it is what no rule takes for a value that it knows. */
static bool
is_list(const struct pflag_option *option, const char *value)
{
	const char *equals = strchr(value, '=');
	bool is_several = equals != NULL && strchr(equals + 1, '=') != NULL;

	return (option->is_list || (option->is_map && is_several)) &&
	       strpbrk(value, "\"\r\n") == NULL;
}

static int
emit_part(struct reader *reader, const struct pflag_option *option, const char *value)
{
	if (option->is_map && strchr(value, '=') == NULL) {
		/* Not repeated: it may be the rest of a variable's value. */
		hl_err_set(reader->err, HLC_08,
		    "a part of engine argument '%s' at argument %d has no '='", option->flag,
		    reader->argument);
		return hl_err_help(reader->err, "write %s=NAME=VALUE once for each", option->flag);
	}
	return emit_one(reader, option, value);
}

static int
emit(struct reader *reader, const struct pflag_option *option, const char *value)
{
	bool is_split = is_list(option, value);

	for (size_t len; is_split && value[len = strcspn(value, ",")] != '\0'; value += len + 1) {
		if (emit_part(reader, option, keep(reader, value, len)) == -1)
			return -1;
	}
	return emit_part(reader, option, value);
}

/* How many arguments an option takes that is in no table nobody knows, so only what is in this one
 * is taken with it. */
static int
emit_unknown(struct reader *reader, const char *flag, size_t len, const char *value)
{
	const struct engine_arg arg = { NULL, reader->argument, reader->variable };

	return engine_settings_unknown(reader->out, &arg, keep(reader, flag, len), value,
	    reader->err);
}

/* The value of a flag that stands alone: the next argument, whatever that looks like. */
static int
emit_next(struct reader *reader, const struct pflag_option *option)
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
	struct pflag_option option;

	if (arg[2] == '-' || arg[2] == '=')
		return hl_err_set(reader->err, HLC_08,
		    "engine argument at argument %d is not a flag: bad syntax", reader->argument);
	if (!reader->find(arg, len, '\0', &option))
		return emit_unknown(reader, arg, len, equals != NULL ? equals + 1 : "");
	if (equals != NULL)
		return emit(reader, &option, equals + 1);
	if (option.is_bool)
		return emit(reader, &option, "true");
	return emit_next(reader, &option);
}

/* "-itv/a:/b": booleans as long as they come, then one flag with a value. */
static int
read_short(struct reader *reader, const char *letters)
{
	while (*letters != '\0') {
		struct pflag_option option;
		size_t left = strlen(letters);

		if (!reader->find(NULL, 0, *letters, &option)) {
			char flag[3] = { '-', *letters, '\0' };

			return emit_unknown(reader, flag, 2, letters + 1);
		}
		/* pflag wants something behind the '='; in "-e=" it is the value itself. */
		if (left > 2 && letters[1] == '=')
			return emit(reader, &option, letters + 2);
		if (option.is_bool) {
			if (emit(reader, &option, "true") == -1)
				return -1;
			letters++;
			continue;
		}
		if (left > 1)
			return emit(reader, &option, letters + 1);
		return emit_next(reader, &option);
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

		reader->variable = reader->args[reader->next].variable;
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

int
pflag_parse(pflag_find_fn *find, const struct engine_arg *args, size_t len,
    struct engine_settings *ret_settings, struct hl_err *err)
{
	struct reader reader = { find, args, len, .out = ret_settings, .err = err };

	if (read_all(&reader) == -1)
		return -1;
	return hl_strv_check(&ret_settings->strings, "engine arguments", err);
}
