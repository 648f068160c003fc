/*
 * Settings as the body of podman's own create call, POST /libpod/containers/create: a specification
 * of a container, as its client sends it. A row says where an option is in it and how its value is
 * written; an option without a row cannot be said. Several options are one member where podman has
 * one for them (mounts), and one option is two members where it means two things.
 */
#include <stdio.h>
#include <string.h>

#include "backends/docker/dialect.h"
#include "backends/docker/docker.h"
#include "backends/docker/settings.h"

#include "base/banned.h"

enum {
	CPU_PERIOD_US = 100000
};

#define SECCOMP_PREFIX "seccomp="

enum form {
	FORM_BOOL,
	FORM_TEXT,
	FORM_NUMBER,
	FORM_LIST,
	FORM_PAIRS,     /* NAME=VALUE as text and other */
	FORM_VARIABLES, /* NAME=VALUE as text */
	FORM_QUOTA,
	FORM_PERIOD,
	FORM_LIMITS,
	FORM_MOUNTS, /* binds and tmpfs */
	FORM_DEVICES,
	FORM_NO_TEST, /* "Test": there is none */
	FORM_NO_NEW_PRIVS,
	FORM_SECCOMP,
	FORM_KEEP_ID, /* no other user namespace */
};

struct place {
	enum docker_option_id option;
	char path[32];
	enum form form;
};

/* Sorted by path. */
static const struct place places[] = {
	{ DOCKER_CAP_ADD, "cap_add", FORM_LIST },
	{ DOCKER_CAP_DROP, "cap_drop", FORM_LIST },
	{ DOCKER_DEVICE, "devices", FORM_DEVICES },
	{ DOCKER_ENTRYPOINT, "entrypoint", FORM_LIST },
	{ DOCKER_ENV, "env", FORM_VARIABLES },
	{ DOCKER_GROUP_ADD, "groups", FORM_LIST },
	{ DOCKER_NO_HEALTHCHECK, "healthconfig.Test", FORM_NO_TEST },
	{ DOCKER_HOSTNAME, "hostname", FORM_TEXT },
	{ DOCKER_HTTP_PROXY, "httpproxy", FORM_BOOL },
	{ DOCKER_IMAGE_VOLUME, "image_volume_mode", FORM_TEXT },
	{ DOCKER_INIT, "init", FORM_BOOL },
	{ DOCKER_IPC, "ipcns.nsmode", FORM_TEXT },
	{ DOCKER_LABEL, "labels", FORM_PAIRS },
	{ DOCKER_LOG_DRIVER, "log_configuration.driver", FORM_TEXT },
	{ DOCKER_PASSWD, "manage_password", FORM_BOOL },
	{ DOCKER_MOUNT, "mounts", FORM_MOUNTS },
	{ DOCKER_NAME, "name", FORM_TEXT },
	{ DOCKER_NETWORK, "netns.nsmode", FORM_TEXT },
	{ DOCKER_SECURITY_OPT, "no_new_privileges", FORM_NO_NEW_PRIVS },
	{ DOCKER_OOM_SCORE_ADJ, "oom_score_adj", FORM_NUMBER },
	{ DOCKER_ULIMIT, "r_limits", FORM_LIMITS },
	{ DOCKER_READ_ONLY, "read_only_filesystem", FORM_BOOL },
	{ DOCKER_READ_ONLY_TMPFS, "read_write_tmpfs", FORM_BOOL },
	{ DOCKER_CPUSET_CPUS, "resource_limits.cpu.cpus", FORM_TEXT },
	{ DOCKER_CPUSET_MEMS, "resource_limits.cpu.mems", FORM_TEXT },
	{ DOCKER_CPUS, "resource_limits.cpu.period", FORM_PERIOD },
	{ DOCKER_CPUS, "resource_limits.cpu.quota", FORM_QUOTA },
	{ DOCKER_CPU_SHARES, "resource_limits.cpu.shares", FORM_NUMBER },
	{ DOCKER_MEMORY, "resource_limits.memory.limit", FORM_NUMBER },
	{ DOCKER_MEMORY_SWAP, "resource_limits.memory.swap", FORM_NUMBER },
	{ DOCKER_PIDS_LIMIT, "resource_limits.pids.limit", FORM_NUMBER },
	{ DOCKER_SDNOTIFY, "sdnotifyMode", FORM_TEXT },
	{ DOCKER_SECURITY_OPT, "seccomp_profile_path", FORM_SECCOMP },
	{ DOCKER_SHM_SIZE, "shm_size", FORM_NUMBER },
	{ DOCKER_INTERACTIVE, "stdin", FORM_BOOL },
	{ DOCKER_SYSTEMD, "systemd", FORM_TEXT },
	{ DOCKER_USER, "user", FORM_TEXT },
	{ DOCKER_USERNS, "userns.nsmode", FORM_KEEP_ID },
	{ DOCKER_WORKDIR, "work_dir", FORM_TEXT },
};

/* ------------------------------------------------------------------------------------------------
 * Values
 */
static void
put_part(struct hl_json *json, const char *text, size_t len)
{
	char part[64];

	HL_BUG_ON(len >= sizeof(part));
	memcpy(part, text, len);
	part[len] = '\0';
	hl_json_string(json, part);
}

static void
put_mount(struct hl_json *json, const struct docker_setting *setting)
{
	bool is_tmpfs = setting->option == DOCKER_TMPFS;

	hl_json_object(json);
	hl_json_member(json, "destination", setting->text);
	hl_json_member(json, "type", is_tmpfs ? "tmpfs" : "bind");
	hl_json_member(json, "source", is_tmpfs ? "tmpfs" : setting->other);
	hl_json_key(json, "options");
	hl_json_array(json);
	if (!is_tmpfs) {
		hl_json_string(json, setting->number != 0 ? "ro" : "rw");
		hl_json_string(json, "bind"); /* not recursive */
	}
	for (const char *at = setting->other; is_tmpfs && *at != '\0';) {
		size_t len = strcspn(at, ",");
		put_part(json, at, len);
		at += len + (at[len] == ',' ? 1 : 0);
	}
	hl_json_end_array(json);
	hl_json_end_object(json);
}

static void
put_limit(struct hl_json *json, const struct docker_setting *setting)
{
	hl_json_object(json);
	hl_json_member(json, "type", setting->text);
	hl_json_key(json, "hard");
	hl_json_u64(json, setting->number);
	hl_json_key(json, "soft");
	hl_json_u64(json, setting->number);
	hl_json_end_object(json);
}

static void
put_device(struct hl_json *json, const struct docker_setting *setting)
{
	struct hl_buf path;

	hl_buf_init(&path, 16 * 1024);
	docker_setting_value(setting, &path);
	hl_json_object(json);
	hl_json_member(json, "path", path.data);
	hl_json_end_object(json);
	hl_buf_done(&path);
}

static void
put_variable(struct hl_json *json, const struct docker_setting *setting)
{
	const char *equals = strchr(setting->text, '=');
	char name[256];

	if (equals == NULL || (size_t)(equals - setting->text) >= sizeof(name))
		return;
	memcpy(name, setting->text, (size_t)(equals - setting->text));
	name[equals - setting->text] = '\0';
	hl_json_member(json, name, equals + 1);
}

static void
put_value(struct hl_json *json, enum form form, const struct docker_setting *setting)
{
	switch (form) {
	case FORM_BOOL:
		hl_json_bool(json, setting->number != 0);
		return;
	case FORM_TEXT:
	case FORM_LIST:
	case FORM_KEEP_ID:
		hl_json_string(json, setting->text);
		return;
	case FORM_NUMBER:
		hl_json_u64(json, setting->number);
		return;
	case FORM_PAIRS:
		hl_json_member(json, setting->text, setting->other);
		return;
	case FORM_VARIABLES:
		put_variable(json, setting);
		return;
	case FORM_QUOTA:
		hl_json_u64(json, setting->number * (CPU_PERIOD_US / 1000));
		return;
	case FORM_PERIOD:
		hl_json_u64(json, CPU_PERIOD_US);
		return;
	case FORM_LIMITS:
		put_limit(json, setting);
		return;
	case FORM_MOUNTS:
		put_mount(json, setting);
		return;
	case FORM_DEVICES:
		put_device(json, setting);
		return;
	case FORM_NO_TEST:
		hl_json_raw(json, "[\"NONE\"]");
		return;
	case FORM_NO_NEW_PRIVS:
		hl_json_bool(json, true);
		return;
	case FORM_SECCOMP:
		hl_json_string(json, setting->text + strlen(SECCOMP_PREFIX));
		return;
	}
}

/* ------------------------------------------------------------------------------------------------
 * Members
 */
static bool
is_of(const struct place *place, enum docker_option_id option, const char *text)
{
	if (place->form == FORM_MOUNTS)
		return option == DOCKER_MOUNT || option == DOCKER_TMPFS;
	if (place->option != option)
		return false;
	if (place->form == FORM_NO_NEW_PRIVS)
		return strcmp(text, "no-new-privileges") == 0;
	if (place->form == FORM_KEEP_ID)
		return strcmp(text, DOCKER_KEEP_ID) == 0;
	if (place->form == FORM_SECCOMP)
		return strncmp(text, SECCOMP_PREFIX, strlen(SECCOMP_PREFIX)) == 0;
	return true;
}

bool
podman_has_place(enum docker_option_id option, const char *value)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(places); i++)
		if (is_of(&places[i], option, value))
			return true;
	return false;
}

static void
put_place(struct docker_object *object, const struct docker_settings *settings,
    const struct place *place)
{
	bool is_array = place->form == FORM_LIST || place->form == FORM_LIMITS ||
			place->form == FORM_MOUNTS || place->form == FORM_DEVICES;
	bool is_object = place->form == FORM_PAIRS || place->form == FORM_VARIABLES;
	const struct docker_setting *last = NULL;

	for (size_t i = 0; i < settings->len; i++)
		if (is_of(place, settings->items[i].option, settings->items[i].text))
			last = &settings->items[i];
	if (last == NULL)
		return;
	docker_object_key(object, place->path);
	if (is_array)
		hl_json_array(&object->json);
	if (is_object)
		hl_json_object(&object->json);
	for (size_t i = 0; i < settings->len; i++) {
		const struct docker_setting *setting = &settings->items[i];
		/* Of what is one value the last word counts. */
		if (is_of(place, setting->option, setting->text) &&
		    (is_array || is_object || setting == last))
			put_value(&object->json, place->form, setting);
	}
	if (is_array)
		hl_json_end_array(&object->json);
	if (is_object)
		hl_json_end_object(&object->json);
}

void
podman_spec(const struct docker_settings *settings, const char *image, bool with_labels,
    struct hl_buf *out)
{
	struct docker_object object;

	docker_object_init(&object, out);
	docker_object_key(&object, "image");
	hl_json_string(&object.json, image);
	docker_object_key(&object, "command");
	hl_json_array(&object.json);
	hl_json_string(&object.json, RUNNER_STDIO);
	hl_json_end_array(&object.json);
	docker_object_key(&object, "terminal");
	hl_json_bool(&object.json, false);
	for (size_t i = 0; i < HL_ARRAY_SIZE(places); i++) {
		bool is_of_run =
		    places[i].option == DOCKER_LABEL || places[i].option == DOCKER_NAME;
		if (with_labels || !is_of_run)
			put_place(&object, settings, &places[i]);
	}
	docker_object_end(&object);
}
