/*
 * A caller's arguments for ssh, read by getopt(3)'s grammar: letters chain, and a value is what is
 * left of the argument or the next one. -o carries a line of ssh_config(5), which is a setting of
 * its own: its keyword is known in any letter case, and parted from its value by blanks, '=' or
 * both. A keyword with quotes, or behind a second '=', is nobody's certain meaning and so unknown.
 */
#include <string.h>
#include <strings.h>

#include "backends/pflag.h"
#include "backends/ssh/ssh.h"

#include "base/banned.h"

enum kind {
	KIND_BOOL,
	KIND_TEXT,
	KIND_KEYWORD
};

struct option {
	char flag[40];
	enum kind kind;
	char control[16];
	enum engine_rule rule;
};

static const struct option options[] = {
#define SSH_OPTION(flag, kind, control, rule, help) \
 { flag, KIND_##kind, control, ENGINE_RULE_##rule },
#include "backends/ssh/options.def"
#undef SSH_OPTION
};

static const struct option keywords[] = {
#define SSH_KEYWORD(flag, kind, control, rule, help) \
 { flag, KIND_##kind, control, ENGINE_RULE_##rule },
#include "backends/ssh/options.def"
#undef SSH_KEYWORD
};

#define SSH_OPTION(flag_, kind, control_, rule, help) \
 HL_FITS(flag_, options[0].flag);                     \
 HL_FITS(control_, options[0].control);
#define SSH_KEYWORD SSH_OPTION
#include "backends/ssh/options.def"
#undef SSH_OPTION
#undef SSH_KEYWORD

static const char blanks[] = " \t\r\n";

struct reader {
	const struct engine_arg *args;
	size_t len, next;
	int argument; /* of the option that is being read */
	struct engine_settings *out;
	struct hl_err *err;
};

static int
emit(struct reader *reader, const struct option *option, const char *value, bool is_bool)
{
	const struct engine_setting setting = {
		.flag = option->flag,
		.control = option->control,
		.rule = option->rule,
		.value = engine_settings_keep(reader->out, value, strlen(value)),
		.is_bool = is_bool,
		.argument = reader->argument,
	};

	return engine_settings_add(reader->out, &setting, reader->err);
}

static int
emit_unknown(struct reader *reader, const char *flag, const char *value)
{
	const struct engine_arg arg = { NULL, reader->argument, NULL };

	return engine_settings_unknown(reader->out, &arg, flag, value, reader->err);
}

/* ------------------------------------------------------------------------------------------------
 * Keywords
 */
static const struct option *
keyword_find(const char *name, size_t len)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(keywords); i++) {
		const char *known = keywords[i].flag + 2;
		if (strlen(known) == len && strncasecmp(known, name, len) == 0)
			return &keywords[i];
	}
	return NULL;
}

/* The two ends of a keyword that has them: NULL for whatever else it takes. */
static const char *
keyword_bool(const char *value)
{
	static const struct {
		const char *word, *means;
	} words[] = { { "yes", "true" }, { "true", "true" }, { "no", "false" },
		{ "false", "false" } };

	for (size_t i = 0; i < HL_ARRAY_SIZE(words); i++) {
		if (strcasecmp(words[i].word, value) == 0)
			return words[i].means;
	}
	return NULL;
}

static int
read_keyword(struct reader *reader, const char *line)
{
	const char *name = line + strspn(line, blanks);
	const size_t len = strcspn(name, " \t\r\n=");
	const struct option *option = keyword_find(name, len);
	const char *value = name + len + strspn(name + len, blanks);

	if (option == NULL)
		return emit_unknown(reader, "-o", line);
	if (*value == '=')
		value += 1 + strspn(value + 1, blanks);
	size_t value_len = strlen(value);
	while (value_len > 0 && strchr(" \t\r\n\f", value[value_len - 1]) != NULL)
		value_len--;
	value = engine_settings_keep(reader->out, value, value_len);
	const char *means = option->kind == KIND_BOOL ? keyword_bool(value) : NULL;
	return emit(reader, option, means != NULL ? means : value, means != NULL);
}

/* ------------------------------------------------------------------------------------------------
 * Letters
 */
static const struct option *
letter_find(char letter)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(options); i++) {
		if (options[i].flag[1] == letter)
			return &options[i];
	}
	return NULL;
}

static int
read_letters(struct reader *reader, const char *letters)
{
	for (; *letters != '\0'; letters++) {
		const struct option *option = letter_find(*letters);
		const char *value = letters + 1;

		if (option == NULL) {
			const char flag[] = { '-', *letters, '\0' };
			return emit_unknown(reader, flag, value);
		}
		if (option->kind == KIND_BOOL) {
			if (emit(reader, option, "true", true) == -1)
				return -1;
			continue;
		}
		if (*value == '\0' && reader->next >= reader->len) {
			hl_err_set(reader->err, HLC_08,
			    "engine argument '%s' at argument %d needs a value", option->flag,
			    reader->argument);
			return hl_err_help(reader->err, "write --engine-arg=%sVALUE", option->flag);
		}
		if (*value == '\0')
			value = reader->args[reader->next++].text;
		return option->kind == KIND_KEYWORD ? read_keyword(reader, value)
						    : emit(reader, option, value, false);
	}
	return 0;
}

int
ssh_args_parse(const struct engine_arg *args, size_t len, struct engine_settings *ret_settings,
    struct hl_err *err)
{
	struct reader reader = { args, len, .out = ret_settings, .err = err };

	while (reader.next < len) {
		const char *arg = args[reader.next].text;

		reader.argument = args[reader.next++].argument;
		if (arg[0] != '-' || arg[1] == '\0' || arg[1] == '-') {
			hl_err_set(err, HLC_08,
			    "engine argument at argument %d is no option: ssh would take it, or what follows, for the host or its command",
			    reader.argument);
			return hl_err_help(err,
			    "glue a value to its option, as in --engine-arg=-oCompression=yes");
		}
		if (read_letters(&reader, arg + 1) == -1)
			return -1;
	}
	return hl_strv_check(&ret_settings->strings, "engine arguments", err);
}
