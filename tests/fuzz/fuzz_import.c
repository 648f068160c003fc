/*
 * Any bytes as hermes-agent's config.yaml, and lines of them as its variables: what is printed is a
 * policy in canonical form, what is refused is refused by the setting, and notes are one line of
 * UTF-8.
 *
 * The input is a file, or a file and variables with a line "%%%" between them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/layer.h"
#include "policy/policy.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char border[] = "\n%%%\n";

static void
fail(const char *what, const char *detail)
{
	fprintf(stderr, "%s: %s\n", what, detail);
	abort();
}

static void
check(const struct policy_import *import)
{
	struct hl_buf formed;
	struct policy_findings findings = { 0 };
	struct hl_err err = { 0 };

	hl_buf_init(&formed, 2 << 20);
	if (policy_canonical("imported", &import->text, &formed, &findings, &err) != 0)
		fail(err.msg, import->text.data);
	if (formed.len != import->text.len ||
	    memcmp(formed.data, import->text.data, formed.len) != 0)
		fail("not in canonical form", import->text.data);
	policy_findings_done(&findings);
	hl_buf_done(&formed);
	for (size_t i = 0; i < import->notes.len; i++) {
		struct hl_buf line;
		hl_buf_init(&line, 65536);
		hl_buf_printable(&line, import->notes.v[i], strlen(import->notes.v[i]));
		if (line.failed || strchr(line.data, '\n') != NULL ||
		    !hl_is_utf8(line.data, line.len))
			fail("a note is no line", import->notes.v[i]);
		hl_buf_done(&line);
	}
}

static void
read_variables(const char *text, struct hl_strv *variables)
{
	hl_strv_init(variables, 1024);
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");
		if (memchr(text, '=', len) != NULL)
			hl_strv_addn(variables, text, len);
		text += len + (text[len] == '\n');
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy_import import;
	struct hl_strv variables;
	struct hl_err err = { 0 };
	HL_AUTO_FREE char *copy = malloc(size + 1);

	if (copy == NULL)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	char *split = strstr(copy, border);
	read_variables(split != NULL ? split + sizeof(border) - 1 : "", &variables);
	const struct policy_import_source source = {
		.config_name = "config.yaml",
		.config = copy,
		.config_len = split != NULL ? (size_t)(split - copy) : size,
		.environment = split != NULL ? hl_strv_argv(&variables) : NULL,
	};
	if (policy_import_hermes(&source, &import, &err) == 0) {
		check(&import);
		policy_import_done(&import);
	} else if (strncmp(err.msg, "these settings make no policy", 29) == 0) {
		fail("a converter lets through what no policy can say", err.msg);
	}
	hl_strv_done(&variables);
	return 0;
}
