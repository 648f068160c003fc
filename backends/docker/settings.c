/*
 * One list, two printers: the client's command line and the API's body. A row of options.def says
 * what an option is called in each; the few whose value has a form of its own (mount, tmpfs,
 * ulimit) are spelled here, once for either side.
 */
#include "backends/docker/settings.h"

#include <stdlib.h>
#include <string.h>

#include "backends/docker/docker.h"
#include "backends/docker/protocol.h"

#include "base/banned.h"

/* Without "m": nobody makes nodes of it. */
#define DEVICE_RIGHTS "rw"

enum {
	SPEC_BODY_MAX = 256 * 1024
};

void
docker_settings_done(struct docker_settings *settings)
{
	for (size_t i = 0; i < settings->len; i++) {
		free(settings->items[i].text);
		free(settings->items[i].other);
	}
	free(settings->items);
	*settings = (struct docker_settings){ 0 };
}

struct docker_setting *
docker_settings_add(struct docker_settings *settings, enum docker_option_id option,
    const char *text, const struct hl_origin *origin)
{
	static struct docker_setting nowhere; /* callers write into it; never read */

	if (settings->len == settings->capacity && !settings->failed) {
		size_t capacity = settings->capacity == 0 ? 64 : settings->capacity * 2;
		struct docker_setting *items = NULL;
		if (capacity <= DOCKER_SETTINGS_MAX)
			items = realloc(settings->items, capacity * sizeof(*items));
		if (items != NULL) {
			settings->items = items;
			settings->capacity = capacity;
		} else {
			settings->failed = true;
		}
	}
	char *copy = strdup(text);
	if (copy == NULL)
		settings->failed = true;
	if (settings->failed) {
		free(copy);
		nowhere = (struct docker_setting){ 0 };
		return &nowhere;
	}
	struct docker_setting *setting = &settings->items[settings->len++];
	*setting = (struct docker_setting){ .option = option, .text = copy, .origin = *origin };
	return setting;
}

/* ------------------------------------------------------------------------------------------------
 * The client's command line
 */

/* One field of --mount: the client reads CSV (RFC 4180), so a comma or a quote puts quotes around
 * it. */
static void
put_csv_field(struct hl_buf *out, const char *key, const char *value)
{
	bool needs_quotes = strpbrk(value, ",\"") != NULL;

	if (needs_quotes)
		hl_buf_putc(out, '"');
	hl_buf_putf(out, "%s=", key);
	for (const char *c = value; *c != '\0'; c++) {
		if (*c == '"')
			hl_buf_putc(out, '"');
		hl_buf_putc(out, *c);
	}
	if (needs_quotes)
		hl_buf_putc(out, '"');
}

static void
put_object_value(const struct docker_setting *setting, struct hl_buf *out)
{
	if (setting->option == DOCKER_TMPFS) {
		hl_buf_putf(out, "%s:%s", setting->text, setting->other);
		return;
	}
	if (setting->option == DOCKER_ULIMIT) {
		hl_buf_putf(out, "%s=%llu:%llu", setting->text, (unsigned long long)setting->number,
		    (unsigned long long)setting->number);
		return;
	}
	if (setting->option == DOCKER_DEVICE) {
		hl_buf_putf(out, "%s:%s:" DEVICE_RIGHTS, setting->other, setting->text);
		return;
	}
	HL_BUG_ON(setting->option != DOCKER_MOUNT);
	hl_buf_puts(out, "type=bind,");
	put_csv_field(out, "source", setting->other);
	hl_buf_putc(out, ',');
	put_csv_field(out, "target", setting->text);
	if (setting->number != 0)
		hl_buf_puts(out, ",readonly");
	hl_buf_puts(out, ",bind-nonrecursive");
}

void
docker_setting_value(const struct docker_setting *setting, struct hl_buf *out)
{
	switch (docker_option(setting->option)->kind) {
	case DOCKER_KIND_BOOL:
		return;
	case DOCKER_KIND_STRING:
	case DOCKER_KIND_LIST:
		hl_buf_puts(out, setting->text);
		return;
	case DOCKER_KIND_INT:
	case DOCKER_KIND_BYTES:
		hl_buf_putf(out, "%llu", (unsigned long long)setting->number);
		return;
	case DOCKER_KIND_NANO:
		hl_buf_put_milli(out, setting->number);
		return;
	case DOCKER_KIND_MAP:
		hl_buf_putf(out, "%s=%s", setting->text, setting->other);
		return;
	case DOCKER_KIND_OBJECT:
		put_object_value(setting, out);
		return;
	}
}

void
docker_setting_argv(const struct docker_setting *setting, struct hl_strv *argv)
{
	const struct docker_option *row = docker_option(setting->option);
	struct hl_buf value;

	if (row->kind == DOCKER_KIND_BOOL) {
		hl_strv_addf(argv, "%s=%s", row->flag, setting->number != 0 ? "true" : "false");
		return;
	}
	hl_buf_init(&value, SPEC_BODY_MAX);
	docker_setting_value(setting, &value);
	if (value.failed)
		argv->failed = true;
	hl_strv_add(argv, row->flag);
	hl_strv_add(argv, value.data);
	hl_buf_done(&value);
}

/* ------------------------------------------------------------------------------------------------
 * The API's body
 */
static void
json_object_value(const struct docker_setting *setting, struct hl_json *json)
{
	hl_json_object(json);
	if (setting->option == DOCKER_MOUNT) {
		hl_json_key(json, "Type");
		hl_json_string(json, "bind");
		hl_json_key(json, "Source");
		hl_json_string(json, setting->other);
		hl_json_key(json, "Target");
		hl_json_string(json, setting->text);
		if (setting->number != 0) {
			hl_json_key(json, "ReadOnly");
			hl_json_bool(json, true);
		}
		hl_json_key(json, "BindOptions");
		hl_json_object(json);
		hl_json_key(json, "NonRecursive");
		hl_json_bool(json, true);
		hl_json_end_object(json);
	} else if (setting->option == DOCKER_DEVICE) {
		hl_json_key(json, "PathOnHost");
		hl_json_string(json, setting->other);
		hl_json_key(json, "PathInContainer");
		hl_json_string(json, setting->text);
		hl_json_key(json, "CgroupPermissions");
		hl_json_string(json, DEVICE_RIGHTS);
	} else {
		hl_json_key(json, "Name");
		hl_json_string(json, setting->text);
		hl_json_key(json, "Hard");
		hl_json_u64(json, setting->number);
		hl_json_key(json, "Soft");
		hl_json_u64(json, setting->number);
	}
	hl_json_end_object(json);
}

/* All settings of one option: the value behind its key. */
static void
json_values(const struct docker_settings *settings, enum docker_option_id option,
    struct hl_json *json)
{
	enum docker_kind kind = docker_option(option)->kind;
	bool is_object = kind == DOCKER_KIND_MAP || option == DOCKER_TMPFS;
	bool is_array = !is_object && (kind == DOCKER_KIND_LIST || kind == DOCKER_KIND_OBJECT);

	if (is_object)
		hl_json_object(json);
	if (is_array)
		hl_json_array(json);
	for (size_t i = 0; i < settings->len; i++) {
		const struct docker_setting *setting = &settings->items[i];
		if (setting->option != option)
			continue;
		if (is_object) {
			hl_json_key(json, setting->text);
			hl_json_string(json, setting->other);
		} else if (kind == DOCKER_KIND_OBJECT) {
			json_object_value(setting, json);
		} else if (kind == DOCKER_KIND_BOOL && option == DOCKER_NO_HEALTHCHECK) {
			hl_json_raw(json, "[\"NONE\"]"); /* "Test": there is none */
		} else if (kind == DOCKER_KIND_BOOL) {
			hl_json_bool(json, setting->number != 0);
		} else if (kind == DOCKER_KIND_NANO) {
			hl_json_u64(json, setting->number * 1000000);
		} else if (kind == DOCKER_KIND_INT || kind == DOCKER_KIND_BYTES) {
			hl_json_u64(json, setting->number);
		} else {
			hl_json_string(json,
			    setting->other != NULL ? setting->other : setting->text);
		}
	}
	if (is_array)
		hl_json_end_array(json);
	if (is_object)
		hl_json_end_object(json);
}

static int
compare_paths(const void *a, const void *b)
{
	const enum docker_option_id *left = a, *right = b;

	return strcmp(docker_option(*left)->json, docker_option(*right)->json);
}

/* The options that occur and are part of a body, sorted by their path. */
static size_t
used_options(const struct docker_settings *settings, bool with_labels,
    enum docker_option_id used[DOCKER_OPTION_MAX])
{
	bool occurs[DOCKER_OPTION_MAX] = { false };
	size_t n = 0;

	for (size_t i = 0; i < settings->len; i++)
		occurs[settings->items[i].option] = true;
	for (unsigned option = 0; option < DOCKER_OPTION_MAX; option++) {
		const char *path = docker_option((enum docker_option_id)option)->json;
		if (!occurs[option] || path[0] == '\0' || path[0] == '?')
			continue;
		if (option == DOCKER_LABEL && !with_labels)
			continue;
		used[n++] = (enum docker_option_id)option;
	}
	qsort(used, n, sizeof(used[0]), compare_paths);
	return n;
}

/* How many leading components two paths share, the last component of either not counted. */
static size_t
shared_depth(const char *a, const char *b)
{
	size_t depth = 0;

	for (; *a != '\0' && *a == *b; a++, b++) {
		if (*a == '.')
			depth++;
	}
	return depth;
}

/* Opens the objects of path from the part behind the shared ones on; returns the last component. */
static const char *
open_objects(struct hl_json *json, const char *path, size_t shared, size_t *depth)
{
	const char *part = path;
	const char *dot;

	for (size_t skip = 0; skip < shared; skip++)
		part = strchr(part, '.') + 1;
	while ((dot = strchr(part, '.')) != NULL) {
		char key[64];
		size_t len = (size_t)(dot - part);
		HL_BUG_ON(len >= sizeof(key));
		memcpy(key, part, len);
		key[len] = '\0';
		hl_json_key(json, key);
		hl_json_object(json);
		part = dot + 1;
		(*depth)++;
	}
	return part;
}

/* What the client sets for `run -i` and has no option of its own. */
static void
put_fixed(struct hl_json *json, const char *image)
{
	static const char *const streams[] = { "AttachStdin", "AttachStdout", "AttachStderr",
		"StdinOnce" };

	hl_json_key(json, "Image");
	hl_json_string(json, image);
	hl_json_key(json, "Cmd");
	hl_json_array(json);
	hl_json_string(json, RUNNER_STDIO);
	hl_json_end_array(json);
	for (size_t i = 0; i < HL_ARRAY_SIZE(streams); i++) {
		hl_json_key(json, streams[i]);
		hl_json_bool(json, true);
	}
	hl_json_key(json, "Tty");
	hl_json_bool(json, false);
}

static void
put_body(const struct docker_settings *settings, const char *image, bool with_labels,
    struct hl_buf *out)
{
	enum docker_option_id used[DOCKER_OPTION_MAX];
	size_t n = used_options(settings, with_labels, used);
	const char *before = "";
	size_t depth = 0;
	struct hl_json json;

	hl_json_init(&json, out);
	hl_json_object(&json);
	put_fixed(&json, image);
	for (size_t i = 0; i < n; i++) {
		const char *path = docker_option(used[i])->json;
		size_t shared = shared_depth(path, before);
		for (; depth > shared; depth--)
			hl_json_end_object(&json);
		const char *key = open_objects(&json, path, shared, &depth);
		hl_json_key(&json, key);
		json_values(settings, used[i], &json);
		before = path;
	}
	for (; depth > 0; depth--)
		hl_json_end_object(&json);
	hl_json_end_object(&json);
	if (settings->failed)
		out->failed = true;
}

void
docker_settings_body(const struct docker_settings *settings, const char *image, struct hl_buf *out)
{
	put_body(settings, image, true, out);
}

void
docker_settings_spec(const struct docker_settings *settings, const char *image,
    char text[HL_SHA256_HEX_SIZE])
{
	struct hl_buf body;

	hl_buf_init(&body, SPEC_BODY_MAX);
	put_body(settings, image, false, &body);
	hl_sha256_text(body.data, body.len, text);
	hl_buf_done(&body);
}
