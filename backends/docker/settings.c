/*
 * The list of settings, and its printer as the client's command line, which docker and podman read
 * alike. The bodies of the APIs are printed by body.c and spec.c.
 */
#include "backends/docker/settings.h"

#include <stdlib.h>
#include <string.h>

#include "backends/docker/dialect.h"
#include "backends/docker/docker.h"

#include "base/banned.h"

enum {
	VALUE_MAX = 256 * 1024
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
	if (setting->option == DOCKER_GPUS) {
		const char *quote = strchr(setting->text, ',') != NULL ? "\"" : "";
		hl_buf_putf(out, "%s%s%s", quote, setting->text, quote);
		return;
	}
	if (setting->option == DOCKER_DEVICE && setting->other == NULL) {
		hl_buf_puts(out, setting->text);
		return;
	}
	if (setting->option == DOCKER_DEVICE) {
		hl_buf_putf(out, "%s:%s:" DOCKER_DEVICE_RIGHTS, setting->other, setting->text);
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
	hl_buf_init(&value, VALUE_MAX);
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
void
docker_settings_body(const struct docker_settings *settings, const char *image, struct hl_buf *out)
{
	settings->dialect->body(settings, image, true, out);
	if (settings->failed)
		out->failed = true;
}

void
docker_settings_spec(const struct docker_settings *settings, const char *image, const char *more,
    char text[HL_SHA256_HEX_SIZE])
{
	struct hl_buf body;

	hl_buf_init(&body, VALUE_MAX);
	settings->dialect->body(settings, image, false, &body);
	hl_buf_puts(&body, more);
	hl_sha256_text(body.data, body.len, text);
	hl_buf_done(&body);
}
