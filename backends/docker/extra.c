/*
 * Arguments that the caller wants to give to the engine itself and that were let through: each has
 * the canonical spelling "--flag=value". They become settings like our own, so that the client's
 * line and the API's body stay one; a scalar takes the place of ours. What has no form in the API's
 * body is an error and not left out.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/dialect.h"
#include "backends/docker/docker.h"
#include "backends/docker/settings.h"

#include "base/banned.h"

static const struct hl_origin caller = { .layer = "caller", .where = { .file = "--engine-arg" } };

struct extra {
	enum docker_option_id option;
	const struct docker_option *row;
	const char *value;
};

static bool
find_option(const struct docker_dialect *dialect, const char *arg, struct extra *ret_extra)
{
	size_t len = strcspn(arg, "=");

	for (unsigned id = 0; id < DOCKER_OPTION_MAX; id++) {
		const struct docker_option *row = docker_option((enum docker_option_id)id);
		if ((row->engines & dialect->engine) == 0 || strlen(row->flag) != len ||
		    memcmp(row->flag, arg, len) != 0)
			continue;
		*ret_extra = (struct extra){
			.option = (enum docker_option_id)id,
			.row = row,
			.value = arg[len] == '=' ? arg + len + 1 : "",
		};
		return arg[len] == '=';
	}
	return false;
}

/* docker's sizes: a number and an optional b, k, m, g or t, of 1024, and "b" once more. */
static int
parse_bytes(const char *text, uint64_t *ret_value)
{
	static const char units[] = "bkmgt";
	struct hl_err ignored = { 0 };
	char number[32] = "";
	size_t digits = strspn(text, "0123456789");
	const char *unit =
	    text[digits] == '\0' ? units : strchr(units, tolower((unsigned char)text[digits]));
	uint64_t value;

	if (digits >= sizeof(number) || unit == NULL)
		return -1;
	const char *rest = text + digits + (text[digits] != '\0' ? 1 : 0);
	if (rest[0] != '\0' && (unit == units || strcasecmp(rest, "b") != 0))
		return -1;
	memcpy(number, text, digits);
	unsigned shift = 10U * (unsigned)(unit - units);
	if (hl_parse_u64(number, 0, UINT64_MAX >> shift, &value, &ignored) < 0)
		return -1;
	*ret_value = value << shift;
	return 0;
}

/* The setting of the same option that is there already, else a new one. */
static struct docker_setting *
place(struct docker_settings *settings, const struct extra *extra, const char *text)
{
	bool is_list = extra->row->kind == DOCKER_KIND_LIST ||
		       extra->row->kind == DOCKER_KIND_MAP ||
		       extra->row->kind == DOCKER_KIND_OBJECT;

	for (size_t i = 0; i < settings->len && !is_list; i++) {
		struct docker_setting *setting = &settings->items[i];
		if (setting->option != extra->option)
			continue;
		char *copy = strdup(text);
		if (copy == NULL) {
			settings->failed = true;
			return setting;
		}
		free(setting->text);
		setting->text = copy;
		setting->origin = caller;
		return setting;
	}
	return docker_settings_add(settings, extra->option, text, &caller);
}

/* Two parts around a separator, as text and other. */
static int
add_parts(struct docker_settings *settings, const struct extra *extra, char separator)
{
	const char *middle = strchr(extra->value, separator);
	char *text HL_AUTO_FREE = NULL;

	if (middle == NULL)
		return -1;
	text = strndup(extra->value, (size_t)(middle - extra->value));
	struct docker_setting *setting = place(settings, extra, text != NULL ? text : "");
	setting->other = strdup(middle + 1);
	if (text == NULL || setting->other == NULL)
		settings->failed = true;
	return 0;
}

static int
add_ulimit(struct docker_settings *settings, const struct extra *extra)
{
	struct hl_err ignored = { 0 };
	const char *equals = strchr(extra->value, '=');
	uint64_t value;

	if (equals == NULL)
		return -1;
	char *name HL_AUTO_FREE = strndup(extra->value, (size_t)(equals - extra->value));
	char *soft HL_AUTO_FREE = strndup(equals + 1, strcspn(equals + 1, ":"));
	const char *colon = strchr(equals, ':');
	if (name == NULL || soft == NULL) {
		settings->failed = true;
		return 0;
	}
	/* Ours have one number for both. */
	if (hl_parse_u64(soft, 0, UINT64_MAX, &value, &ignored) < 0 ||
	    (colon != NULL && strcmp(colon + 1, soft) != 0))
		return -1;
	place(settings, extra, name)->number = value;
	return 0;
}

static int
add_object(struct docker_settings *settings, const struct extra *extra)
{
	if (extra->option == DOCKER_TMPFS)
		return add_parts(settings, extra, ':');
	if (extra->option == DOCKER_ULIMIT)
		return add_ulimit(settings, extra);
	return -1;
}

static int
add_number(struct docker_settings *settings, const struct extra *extra)
{
	struct hl_err ignored = { 0 };
	uint64_t value;
	int status = -1;

	if (extra->row->kind == DOCKER_KIND_BYTES)
		status = parse_bytes(extra->value, &value);
	else if (extra->row->kind == DOCKER_KIND_NANO)
		status = hl_parse_milli(extra->value, &value, &ignored);
	else
		status = hl_parse_u64(extra->value, 0, INT64_MAX, &value, &ignored);
	if (status == 0)
		place(settings, extra, "")->number = value;
	return status;
}

static int
add_extra(struct docker_settings *settings, const struct extra *extra)
{
	if (!settings->dialect->has_place(extra->option, extra->value))
		return -1;
	switch (extra->row->kind) {
	case DOCKER_KIND_BOOL:
		if (strcmp(extra->value, "true") != 0 && strcmp(extra->value, "false") != 0)
			return -1;
		place(settings, extra, "")->number = extra->value[0] == 't' ? 1 : 0;
		return 0;
	case DOCKER_KIND_STRING:
		place(settings, extra, extra->value);
		return 0;
	case DOCKER_KIND_LIST:
		/* A profile is a file for the client and its content for the API. */
		if (strncmp(extra->value, "seccomp=", 8) == 0 &&
		    strcmp(extra->value, "seccomp=unconfined") != 0)
			return -1;
		place(settings, extra, extra->value);
		return 0;
	case DOCKER_KIND_INT:
	case DOCKER_KIND_BYTES:
	case DOCKER_KIND_NANO:
		return add_number(settings, extra);
	case DOCKER_KIND_MAP:
		return add_parts(settings, extra, '=');
	case DOCKER_KIND_OBJECT:
		return add_object(settings, extra);
	}
	return -1;
}

int
docker_extra_fill(struct docker_settings *settings, const struct plan *plan, struct hl_err *err)
{
	for (size_t i = 0; i < plan->engine_args.len; i++) {
		struct extra extra;
		if (!find_option(settings->dialect, plan->engine_args.v[i], &extra) ||
		    add_extra(settings, &extra) < 0)
			return hl_err_set(err, HLB_62,
			    "engine argument '%.*s' has no form in the engine's API",
			    (int)strcspn(plan->engine_args.v[i], "="), plan->engine_args.v[i]);
	}
	return 0;
}
