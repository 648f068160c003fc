/*
 * Settings as the body of docker's POST /containers/create. A row of options.def says where an
 * option is in it; the few whose value has a form of its own (mount, device, ulimit) are spelled
 * here.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/docker/dialect.h"
#include "backends/docker/docker.h"
#include "backends/docker/settings.h"

#include "base/banned.h"

/* What the client makes of "all" and of "device=0"; each member is said, so that an engine has none
 * to fill in. */
static void
json_gpus(const char *text, struct hl_json *json)
{
	const char *list = strchr(text, '='); /* NULL: all */

	hl_json_member(json, "Driver", "");
	hl_json_key(json, "Count");
	hl_json_raw(json, list == NULL ? "-1" : "0");
	hl_json_key(json, "DeviceIDs");
	hl_json_array(json);
	for (const char *at = list; at != NULL; at = strchr(at + 1, ',')) {
		char id[16] = "";
		size_t len = strcspn(at + 1, ",");
		HL_BUG_ON(len >= sizeof(id));
		memcpy(id, at + 1, len);
		hl_json_string(json, id);
	}
	hl_json_end_array(json);
	hl_json_key(json, "Capabilities");
	hl_json_raw(json, "[[\"gpu\"]]");
	hl_json_key(json, "Options");
	hl_json_raw(json, "{}");
}

static void
json_object_value(const struct docker_setting *setting, struct hl_json *json)
{
	hl_json_object(json);
	if (setting->option == DOCKER_MOUNT) {
		hl_json_member(json, "Type", "bind");
		hl_json_member(json, "Source", setting->other);
		hl_json_member(json, "Target", setting->text);
		if (setting->number != 0) {
			hl_json_key(json, "ReadOnly");
			hl_json_bool(json, true);
		}
		hl_json_key(json, "BindOptions");
		hl_json_object(json);
		hl_json_key(json, "NonRecursive");
		hl_json_bool(json, true);
		hl_json_end_object(json);
	} else if (setting->option == DOCKER_GPUS) {
		json_gpus(setting->text, json);
	} else if (setting->option == DOCKER_DEVICE) {
		hl_json_member(json, "PathOnHost", setting->other);
		hl_json_member(json, "PathInContainer", setting->text);
		hl_json_member(json, "CgroupPermissions", DOCKER_DEVICE_RIGHTS);
	} else {
		hl_json_member(json, "Name", setting->text);
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
		if (!occurs[option] || !docker_has_place((enum docker_option_id)option, ""))
			continue;
		if (option == DOCKER_LABEL && !with_labels)
			continue;
		used[n++] = (enum docker_option_id)option;
	}
	qsort(used, n, sizeof(used[0]), compare_paths);
	return n;
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

void
docker_body(const struct docker_settings *settings, const char *image, bool with_labels,
    struct hl_buf *out)
{
	enum docker_option_id used[DOCKER_OPTION_MAX];
	size_t n = used_options(settings, with_labels, used);
	struct docker_object object;

	docker_object_init(&object, out);
	put_fixed(&object.json, image);
	for (size_t i = 0; i < n; i++) {
		docker_object_key(&object, docker_option(used[i])->json);
		json_values(settings, used[i], &object.json);
	}
	docker_object_end(&object);
}

bool
docker_has_place(enum docker_option_id option, const char *value)
{
	const char *path = docker_option(option)->json;

	(void)value;
	return path[0] != '\0' && path[0] != '?';
}
