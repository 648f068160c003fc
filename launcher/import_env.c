/*
 * A .env file: NAME=VALUE lines with an optional `export`, quotes and comments, as hermes-agent
 * reads them. It is full of credentials, so what is not one of hermes-agent's settings is not even
 * copied.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/import.h"

#include "base/banned.h"

static const char *const names[] = { "TERMINAL_*", "HERMES_DOCKER_BINARY", "SUDO_PASSWORD" };

static bool
is_setting(const char *text, size_t len)
{
	char name[128];

	if (len == 0 || len >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++) {
		if (hl_glob_match(names[i], name))
			return true;
	}
	return false;
}

/* The last one wins, as in a shell. */
static void
put(struct hl_strv *variables, const char *name, size_t name_len, const struct hl_buf *value)
{
	struct hl_buf text HL_AUTO(hl_buf_done_secret) = { 0 };

	hl_buf_init(&text, 1U << 20);
	hl_buf_put(&text, name, name_len);
	hl_buf_putc(&text, '=');
	/* Nobody needs a password to know that one is set. */
	if (name_len == 13 && memcmp(name, "SUDO_PASSWORD", 13) == 0)
		hl_buf_puts(&text, value->len > 0 ? "set" : "");
	else
		hl_buf_put(&text, value->data, value->len);
	/* Half a value is another value, and none is none. */
	if (text.failed || value->failed) {
		variables->failed = true;
		return;
	}
	for (size_t i = 0; i < variables->len; i++) {
		if (strncmp(variables->v[i], text.data, name_len + 1) != 0)
			continue;
		explicit_bzero(variables->v[i], strlen(variables->v[i]));
		char *taken = hl_buf_take(&text);
		if (taken == NULL) {
			variables->failed = true;
			return;
		}
		free(variables->v[i]);
		variables->v[i] = taken;
		return;
	}
	hl_strv_add(variables, text.data);
}

void
import_variable_keep(struct hl_strv *variables, const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	struct hl_buf value HL_AUTO(hl_buf_done_secret) = { 0 };

	if (equals == NULL || !is_setting(text, (size_t)(equals - text)))
		return;
	hl_buf_init(&value, 1U << 20);
	hl_buf_put(&value, equals + 1, len - (size_t)(equals + 1 - text));
	put(variables, text, (size_t)(equals - text), &value);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Behind the equals sign. False: a quote that does not end. */
static bool
read_value(const char *text, const char *end, struct hl_buf *value)
{
	char quote = text < end && (*text == '"' || *text == '\'') ? *text : '\0';

	if (quote == '\0') {
		const char *stop = text;
		while (stop < end && !(*stop == '#' && (stop == text || is_blank(stop[-1]))))
			stop++;
		while (stop > text && is_blank(stop[-1]))
			stop--;
		hl_buf_put(value, text, (size_t)(stop - text));
		return true;
	}
	for (text++; text < end && *text != quote; text++) {
		if (quote == '"' && *text == '\\' && text + 1 < end)
			text++;
		else if (quote == '\'' && *text == '\\' && text + 1 < end &&
			 (text[1] == '\'' || text[1] == '\\'))
			text++;
		hl_buf_putc(value, *text);
	}
	return text < end;
}

static bool
read_line(const char *text, const char *end, struct hl_strv *variables)
{
	static const char prefix[] = "export";
	struct hl_buf value HL_AUTO(hl_buf_done_secret) = { 0 };

	while (text < end && is_blank(*text))
		text++;
	size_t len = sizeof(prefix) - 1;
	if ((size_t)(end - text) > len && memcmp(text, prefix, len) == 0 && is_blank(text[len]))
		text += len;
	while (text < end && is_blank(*text))
		text++;
	const char *name = text;
	while (text < end && *text != '=' && !is_blank(*text) && *text != '#')
		text++;
	size_t name_len = (size_t)(text - name);
	if (!is_setting(name, name_len))
		return true;
	while (text < end && is_blank(*text))
		text++;
	if (text == end || *text != '=')
		return false;
	for (text++; text < end && is_blank(*text);)
		text++;
	hl_buf_init(&value, 1U << 20);
	if (!read_value(text, end, &value))
		return false;
	put(variables, name, name_len, &value);
	return true;
}

int
import_variables_read(const char *name, const char *bytes, size_t len, struct hl_strv *variables,
    struct hl_err *err)
{
	const char *text = bytes, *end = bytes + len;

	for (uint32_t line = 1; text < end; line++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		if (stop == NULL)
			stop = end;
		if (memchr(text, '\0', (size_t)(stop - text)) != NULL ||
		    !read_line(text, stop, variables)) {
			/* The line may hold anything: it is not shown. */
			hl_err_set(err, HLU_40, "the line is not of the form NAME=VALUE");
			err->where = (struct hl_where){ name, line, 1 };
			return -1;
		}
		text = stop < end ? stop + 1 : end;
	}
	return hl_strv_check(variables, "variables", err);
}
