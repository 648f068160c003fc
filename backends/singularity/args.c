/*
 * A caller's arguments for apptainer, read by its own grammar: its options are pflag's as well, and
 * what it knows of each is one row of their table.
 */
#include <string.h>

#include "backends/pflag.h"
#include "backends/singularity/singularity.h"

#include "base/banned.h"

enum kind {
	KIND_BOOL,
	KIND_TEXT,
	KIND_LIST,
	KIND_MAP,
};

static const struct option {
	char flag[28];
	char letter; /* 0 = none */
	enum kind kind;
	char variables[24];
	char control[28];
	enum engine_rule rule;
	bool is_repeatable;
} options[] = {
#define SINGULARITY_OPTION(flag, letter, kind, variables, control, rule, repeatable, help) \
 { flag, letter, KIND_##kind, variables, control, ENGINE_RULE_##rule, repeatable },
#include "backends/singularity/options.def"
#undef SINGULARITY_OPTION
};

#define SINGULARITY_OPTION(flag_, letter, kind, variables_, control_, rule, repeatable, help) \
 HL_FITS(flag_, options[0].flag);                                                             \
 HL_FITS(variables_, options[0].variables);                                                   \
 HL_FITS(control_, options[0].control);
#include "backends/singularity/options.def"
#undef SINGULARITY_OPTION

static bool
is_asked(const struct option *option, const char *flag, size_t len, char letter)
{
	if (flag == NULL)
		return option->letter != '\0' && option->letter == letter;
	return strlen(option->flag) == len && memcmp(option->flag, flag, len) == 0;
}

static bool
find(const char *flag, size_t len, char letter, struct pflag_option *ret_option)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(options); i++) {
		const struct option *option = &options[i];
		if (!is_asked(option, flag, len, letter))
			continue;
		*ret_option = (struct pflag_option){
			.flag = option->flag,
			.control = option->control,
			.rule = option->rule,
			.is_bool = option->kind == KIND_BOOL,
			.is_list = option->kind == KIND_LIST,
			.is_map = option->kind == KIND_MAP,
			.is_repeatable = option->is_repeatable,
		};
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------------------------------------
 * Variables
 */

static bool
reads_variable(const struct option *option, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = option->variables; *at != '\0'; at += strspn(at, ",")) {
		const size_t part = strcspn(at, ",");
		if (part == len && memcmp(at, name, len) == 0)
			return true;
		at += part;
	}
	return false;
}

static bool
is_blank(const char *value)
{
	return value[strspn(value, " \t\r\n\v\f")] == '\0';
}

/* What its engine would not read is taken for the more that it may mean. */
static const char *
bool_text(const struct option *option, const char *value)
{
	bool is_true;

	if (engine_bool(value, &is_true) != 0)
		is_true = option->rule != ENGINE_RULE_GUARDS;
	return is_true ? "true" : "false";
}

bool
singularity_variable_option(const char *name, const char *value, size_t n, struct hl_buf *text)
{
	static const char *const prefixes[] = { "APPTAINER_", "SINGULARITY_" };
	const char *rest = NULL;

	for (size_t i = 0; i < HL_ARRAY_SIZE(prefixes); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			rest = name + strlen(prefixes[i]);
	}
	for (size_t i = 0; rest != NULL && !is_blank(value) && i < HL_ARRAY_SIZE(options); i++) {
		const struct option *option = &options[i];
		if (!reads_variable(option, rest) || n-- > 0)
			continue;
		hl_buf_putf(text, "%s=%s", option->flag,
		    option->kind == KIND_BOOL ? bool_text(option, value) : value);
		return true;
	}
	return false;
}

int
singularity_args_parse(const struct engine_arg *args, size_t len,
    struct engine_settings *ret_settings, struct hl_err *err)
{
	return pflag_parse(find, args, len, ret_settings, err);
}
