/*
 * Engine arguments: which backend's grammar takes them apart.
 *
 * One door for all engines, so that the launcher judges settings and never a spelling. A backend
 * without a row here has no engine to speak to: there any engine argument is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/backends.h"
#include "backends/docker/docker.h"
#include "backends/pflag.h"
#include "backends/singularity/singularity.h"
#include "backends/ssh/ssh.h"

#include "base/banned.h"

static const struct {
	const char *backend;
	int (*parse)(const struct engine_arg *args, size_t len,
	    struct engine_settings *ret_settings, struct hl_err *err);
	/* Of engines that read options from variables too; else NULL. */
	bool (*variable_option)(const char *name, const char *value, size_t n, struct hl_buf *text);
} grammars[] = {
	{ "docker", docker_args_parse, NULL },
	{ "podman", podman_args_parse, NULL },
	{ "singularity", singularity_args_parse, singularity_variable_option },
	{ "ssh", ssh_args_parse, NULL },
};

static size_t
grammar_of(const char *backend)
{
	size_t i = 0;

	while (i < HL_ARRAY_SIZE(grammars) && strcmp(grammars[i].backend, backend) != 0)
		i++;
	return i;
}

bool
engine_args_are_read(const char *backend)
{
	return grammar_of(backend) < HL_ARRAY_SIZE(grammars);
}

bool
engine_variable_option(const char *backend, const char *name, const char *value, size_t n,
    struct hl_buf *text)
{
	const size_t i = grammar_of(backend);

	return i < HL_ARRAY_SIZE(grammars) && grammars[i].variable_option != NULL &&
	       grammars[i].variable_option(name, value, n, text);
}

int
engine_args_parse(const char *backend, const struct engine_arg *args, size_t len,
    struct engine_settings *ret_settings, struct hl_err *err)
{
	struct engine_settings settings = { 0 };
	const size_t i = grammar_of(backend);

	if (i == HL_ARRAY_SIZE(grammars)) {
		if (len == 0) {
			*ret_settings = settings;
			return 0;
		}
		hl_err_set(err, HLC_07, "argument %d: backend '%s' takes no engine arguments",
		    args[0].argument, backend);
		return hl_err_help(err, "drop --engine-arg, or choose --backend docker");
	}
	settings.items = calloc(ENGINE_SETTINGS_MAX, sizeof(settings.items[0]));
	if (settings.items == NULL)
		return hl_err_oom(err);
	hl_strv_init(&settings.strings, (size_t)ENGINE_SETTINGS_MAX * 2);
	if (grammars[i].parse(args, len, &settings, err) == -1) {
		engine_settings_done(&settings);
		return -1;
	}
	*ret_settings = settings;
	return 0;
}

int
engine_settings_add(struct engine_settings *settings, const struct engine_setting *setting,
    struct hl_err *err)
{
	if (settings->len >= ENGINE_SETTINGS_MAX)
		return hl_err_set(err, HLC_08, "more than %d settings in engine arguments",
		    ENGINE_SETTINGS_MAX);
	settings->items[settings->len++] = *setting;
	return 0;
}

int
engine_settings_unknown(struct engine_settings *settings, const struct engine_arg *arg,
    const char *flag, const char *value, struct hl_err *err)
{
	const struct engine_setting setting = {
		.flag = engine_settings_keep(settings, flag, strlen(flag)),
		.control = "engine_args",
		.rule = ENGINE_RULE_UNKNOWN,
		.value = engine_settings_keep(settings, value, strlen(value)),
		.argument = arg->argument,
		.variable = arg->variable,
	};

	return engine_settings_add(settings, &setting, err);
}

const char *
engine_settings_keep(struct engine_settings *settings, const char *text, size_t len)
{
	struct hl_strv *strings = &settings->strings;

	hl_strv_addn(strings, text, len);
	return strings->failed ? "" : strings->v[strings->len - 1];
}

void
engine_settings_done(struct engine_settings *settings)
{
	/* A value of --env may be in there. */
	hl_strv_done_secret(&settings->strings);
	free(settings->items);
	*settings = (struct engine_settings){ 0 };
}
