/*
 * Free texts whose shape is bytes, a length and how they begin: one row each. What needs more than
 * that to be told right from wrong is in members.c. A key without a row takes no text.
 */
#include <string.h>

#include "base/base.h"
#include "policy/layer.h"

#include "base/banned.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS  "0123456789"

enum {
	NAME_MAX_LEN = 128,
	LINE_MAX_LEN = 1024,
};

struct shape {
	size_t max;        /* 0: no row */
	const char *bytes; /* NULL: all that a policy may hold */
	const char *begin[4];
	const char *need;  /* some byte that must be in it, or NULL */
	const char *never; /* bytes that must not be, or NULL */
	const char *help;
	bool is_path; /* then only max and help count */
};

static const struct shape shapes[POLICY_FIELD_MAX] = {
	[POLICY_PROCESS_APPARMOR] = { .max = NAME_MAX_LEN,
	    .bytes = LETTERS DIGITS "._:/-",
	    .help = "a profile's name is letters, digits and . _ : / -" },
	[POLICY_PROCESS_SELINUX] = { .max = NAME_MAX_LEN,
	    .bytes = LETTERS DIGITS "._:,-",
	    .help = "a label is letters, digits and . _ : , -" },
	[POLICY_NETWORK_PUBLISH] = { .max = 32,
	    .bytes = DIGITS ":/tcpud",
	    .need = DIGITS,
	    .help = "write \"8080\", \"8080:80\" or \"53/udp\"" },
	[POLICY_NETWORK_USE] = { .max = NAME_MAX_LEN,
	    .bytes = LETTERS DIGITS "_@.-",
	    .need = "@",
	    .help = "write NAME@VERSION, such as npm@1" },
	[POLICY_EGRESS_PROXY_URL] = { .max = LINE_MAX_LEN,
	    .bytes = LETTERS DIGITS "._:/[]-",
	    .begin = { "http://", "https://" },
	    .help = "write http://HOST:PORT or https://HOST:PORT, without a user or password" },
	[POLICY_EGRESS_PROXY_CA] = { .max = LINE_MAX_LEN, .is_path = true },
	[POLICY_ENV_DENY] = { .max = NAME_MAX_LEN,
	    .bytes = LETTERS DIGITS "_*?",
	    .help = "a name is letters, digits and _, and * or ? in a pattern" },
	[POLICY_DOCKER_RUNTIME] = { .max = NAME_MAX_LEN,
	    .bytes = LETTERS DIGITS "._-",
	    .help = "a runtime's name is letters, digits and . _ -" },
	[POLICY_ENGINE_ARGS] = { .max = LINE_MAX_LEN,
	    .begin = { "-" },
	    .help = "write the option as the engine has it, such as --label=team=*" },
	[POLICY_AUDIT_REDACT] = { .max = 256, .help = "a pattern has at most 256 bytes" },
	[POLICY_AUDIT_ANCHOR] = { .max = LINE_MAX_LEN,
	    .begin = { "syslog:", "file:", "https:" },
	    .never = "@",
	    .help = "begin with syslog:, file: or https:, without a user or password" },
	[POLICY_AUDIT_REQUIRE_LABELS] = { .max = 64,
	    .bytes = LETTERS DIGITS "._-",
	    .help = "a label's key is letters, digits and . _ -" },
	[POLICY_AUDIT_DIR] = { .max = LINE_MAX_LEN, .is_path = true },
	[POLICY_EXEC_ALLOWED] = { .max = LINE_MAX_LEN,
	    .begin = { "/" },
	    .never = "*?",
	    .help = "write the program's path and its first arguments, no pattern" },
};

static bool
begins_well(const struct shape *shape, const char *text)
{
	if (shape->begin[0] == NULL)
		return true;
	for (size_t i = 0; i < HL_ARRAY_SIZE(shape->begin) && shape->begin[i] != NULL; i++) {
		size_t len = strlen(shape->begin[i]);
		if (strncmp(text, shape->begin[i], len) == 0 && (text[len] != '\0' || len == 1))
			return true;
	}
	return false;
}

bool
policy_read_shaped(struct policy_reader *r, enum policy_field field, const struct node *node,
    const char *text)
{
	const struct shape *shape = &shapes[field];
	const char *key = policy_field_key(field);

	HL_BUG_ON(shape->max == 0);
	if (shape->is_path && strlen(text) <= shape->max)
		return policy_check_path(r, key, node, text);
	if (strlen(text) <= shape->max && begins_well(shape, text) &&
	    (shape->bytes == NULL || text[strspn(text, shape->bytes)] == '\0') &&
	    (shape->need == NULL || strpbrk(text, shape->need) != NULL) &&
	    (shape->never == NULL || strpbrk(text, shape->never) == NULL))
		return true;
	if (policy_field_is_private(field))
		policy_diag_error(r->diag, HLP_07, policy_at(node), "%s cannot be this text", key);
	else
		policy_diag_error(r->diag, HLP_07, policy_at(node), "%s cannot be \"%.60s\"", key,
		    text);
	policy_diag_help(r->diag, "%s", shape->help != NULL ? shape->help : "it is a path");
	return false;
}
