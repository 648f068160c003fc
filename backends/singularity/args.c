/*
 * A caller's arguments for apptainer, read by its own grammar: its options are pflag's as well, and
 * what it knows of each is one row of their table.
 */
#include <stdio.h>
#include <string.h>

#include "backends/pflag.h"
#include "backends/singularity/singularity.h"

#include "base/banned.h"

enum kind {
	KIND_BOOL,
	KIND_TEXT,
	KIND_LIST
};

static const struct option {
	char flag[28];
	char letter; /* 0 = none */
	enum kind kind;
	char control[28];
	enum engine_rule rule;
	bool is_repeatable;
} options[] = {
#define SINGULARITY_OPTION(flag, letter, kind, control, rule, repeatable, help) \
 { flag, letter, KIND_##kind, control, ENGINE_RULE_##rule, repeatable },
#include "backends/singularity/options.def"
#undef SINGULARITY_OPTION
};

#define SINGULARITY_OPTION(flag_, letter, kind, control_, rule, repeatable, help) \
 HL_FITS(flag_, options[0].flag);                                                 \
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
			.is_repeatable = option->is_repeatable,
		};
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------------------------------------
 * Variables
 */

/* Where the name says something else than the flag. */
static const struct {
	const char *name, *flag;
} aliases[] = {
	{ "BINDPATH", "--bind" },
	{ "FUSESPEC", "--fusemount" },
	{ "NV_OFF", "--no-nv" },
	{ "OVERLAYIMAGE", "--overlay" },
	{ "ROCM_OFF", "--no-rocm" },
	{ "SCRATCHDIR", "--scratch" },
	{ "UNSHARE_IPC", "--ipc" },
	{ "UNSHARE_NET", "--net" },
	{ "UNSHARE_PID", "--pid" },
	{ "UNSHARE_USERNS", "--userns" },
	{ "UNSHARE_UTS", "--uts" },
	{ "VMERROR", "--vm-err" },
};

/* "NO_HOME" is "--no-home". */
static void
flag_of(const char *name, char flag[32])
{
	size_t len = 0;

	for (size_t i = 0; i < HL_ARRAY_SIZE(aliases); i++) {
		if (strcmp(aliases[i].name, name) == 0) {
			snprintf(flag, 32, "%s", aliases[i].flag);
			return;
		}
	}
	snprintf(flag, 32, "--%.29s", name);
	for (len = 2; flag[len] != '\0'; len++) {
		char c = flag[len];
		flag[len] = c == '_' ? '-' : (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	}
}

/* What is left out anyhow is no wish that is lost. */
static bool
matters(const struct pflag_option *option)
{
	return option->rule != ENGINE_RULE_OWNED && option->rule != ENGINE_RULE_PRIVATE &&
	       option->rule != ENGINE_RULE_HARMLESS;
}

bool
singularity_variable_option(const char *name, const char *value, struct hl_buf *text)
{
	static const char *const prefixes[] = { "APPTAINER_", "SINGULARITY_" };
	struct pflag_option option;
	char flag[32];
	bool is_true;

	for (size_t i = 0; i < HL_ARRAY_SIZE(prefixes); i++) {
		const size_t len = strlen(prefixes[i]);
		if (strncmp(name, prefixes[i], len) != 0 || strlen(name + len) >= sizeof(flag) - 2)
			continue;
		flag_of(name + len, flag);
		if (!find(flag, strlen(flag), '\0', &option) || !matters(&option))
			return false;
		/* What its engine would not read is taken for the more that it may mean. */
		if (option.is_bool && pflag_bool(value, &is_true) != 0)
			value = option.rule == ENGINE_RULE_GUARDS ? "false" : "true";
		hl_buf_putf(text, "%s=%s", flag, value);
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
