/*
 * Converters of import.def for single values: hermes-agent's spelling in, a policy's out. A value
 * that hermes-agent itself would not take, or that no policy can say, is an error; nothing is
 * guessed.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "policy/field.h"
#include "policy/import.h"
#include "policy/state.h"

#include "base/banned.h"

int
import_text(struct import *im, const struct import_value *value, const char **ret_text)
{
	const struct node *node = value->node;

	if (node->kind == NODE_BROKEN)
		return import_refuse(im, value, "is a tag or an alias: write the value out");
	if (node->kind != NODE_SCALAR)
		return import_refuse(im, value, "must be one value");
	for (size_t i = 0; i < node->len; i++) {
		if ((unsigned char)node->text[i] < 0x20 || node->text[i] == 0x7f)
			return import_refuse(im, value, "holds a control character");
	}
	if (!hl_is_utf8(node->text, node->len))
		return import_refuse(im, value, "is not UTF-8");
	*ret_text = node->text;
	return 0;
}

/* YAML 1.1 as PyYAML reads it; the other words are texts to it. */
static bool
is_one_of(const char *text, const char *const *words)
{
	for (size_t i = 0; words[i] != NULL; i++) {
		if (strcasecmp(text, words[i]) == 0)
			return true;
	}
	return false;
}

int
import_flag(struct import *im, const struct import_value *value, bool *ret_flag)
{
	static const char *const yes[] = { "true", "1", "yes", NULL };
	static const char *const no[] = { "false", "0", "no", "off", NULL };
	static const char *const plain_yes[] = { "on", NULL };
	const char *text;

	if (import_text(im, value, &text) != 0)
		return -1;
	*ret_flag = is_one_of(text, yes) || (value->node->is_plain && is_one_of(text, plain_yes));
	if (!*ret_flag && !is_one_of(text, no))
		import_note(im, value->from,
		    "is neither true nor false, which hermes-agent takes for false");
	return 0;
}

/* The value of one of our numeric fields, held against its range. */
static int
set_number(struct import *im, const struct import_value *value, enum policy_field field,
    uint64_t number)
{
	struct hl_buf text HL_AUTO(hl_buf_done) = { 0 };
	struct hl_err cause = { 0 };
	uint64_t ignored;

	hl_buf_init(&text, 64);
	policy_put_number(&text, field, number);
	if (policy_parse_number(field, text.data, &ignored, &cause) != 0)
		return import_refuse(im, value, "cannot be %s: %s", policy_field_key(field),
		    cause.msg);
	im->values[field] = import_keep(im, text.data);
	return im->values[field] != NULL ? 0 : hl_err_oom(im->err);
}

static int
read_number(struct import *im, const struct import_value *value, uint64_t max, const char *what,
    uint64_t *ret_number)
{
	struct hl_err ignored = { 0 };
	const char *text;

	if (import_text(im, value, &text) != 0)
		return -1;
	/* No value is repeated: it may stand in the wrong place. */
	if (hl_parse_u64(text, 0, max, ret_number, &ignored) != 0)
		return import_refuse(im, value, "must be %s", what);
	return 0;
}

static int
read_seconds(struct import *im, const struct import_value *value, uint64_t *ret_ms)
{
	if (read_number(im, value, 30ULL * 86400, "a whole number of seconds, at most 30 days",
		ret_ms) != 0)
		return -1;
	if (*ret_ms == 0)
		return import_refuse(im, value, "must be more than 0 seconds");
	*ret_ms *= 1000;
	return 0;
}

int
import_WALL(struct import *im, const struct import_setting *row, const struct import_value *value)
{
	(void)row;
	return read_seconds(im, value, &im->wall);
}

int
import_WALL_MAX(struct import *im, const struct import_setting *row,
    const struct import_value *value)
{
	(void)row;
	return read_seconds(im, value, &im->wall_max);
}

/* 0 and what is not given means no limit to hermes-agent, as in a policy that does not name one. */
int
import_MEGABYTES(struct import *im, const struct import_setting *row,
    const struct import_value *value)
{
	uint64_t megabytes;

	if (read_number(im, value, UINT64_MAX >> 21, "a whole number of megabytes", &megabytes) !=
	    0)
		return -1;
	if (megabytes > 0)
		return set_number(im, value, row->field, megabytes << 20);
	import_note(im, value->from, "0 is no limit, and none is written");
	return 0;
}

/* docker's own: a number and b, k, m, g or none (bytes). "" and "0": the engine's default. */
int
import_DOCKER_SIZE(struct import *im, const struct import_setting *row,
    const struct import_value *value)
{
	static const char units[] = "bkmgt";
	const char *text, *unit;
	struct hl_err ignored = { 0 };
	char digits[24];
	uint64_t number;
	unsigned shift = 0;

	if (import_text(im, value, &text) != 0)
		return -1;
	size_t len = strspn(text, "0123456789");
	snprintf(digits, sizeof(digits), "%.*s", len < sizeof(digits) ? (int)len : 0, text);
	unit = text + len;
	if (*unit != '\0') {
		const char *found = strchr(units, *unit | 0x20);
		bool is_unit =
		    found != NULL && (unit[1] == '\0' || strcasecmp(unit + 1, "b") == 0 ||
					 strcasecmp(unit + 1, "ib") == 0);
		if (!is_unit)
			return import_refuse(im, value, "must be a size such as 512m or 1g");
		shift = (unsigned)(found - units) * 10;
	}
	if (hl_parse_u64(digits, 0, UINT64_MAX >> shift, &number, &ignored) != 0)
		return import_refuse(im, value, "must be a size such as 512m or 1g");
	if (number > 0)
		return set_number(im, value, row->field, number << shift);
	import_note(im, value->from, "0 is the engine's own default, 64MiB, as it is the policy's");
	return 0;
}

/* "1", "1.5", "2.0". */
int
import_CPUS(struct import *im, const struct import_setting *row, const struct import_value *value)
{
	struct hl_err ignored = { 0 };
	char shown[16];
	const char *text;
	uint64_t milli;

	if (import_text(im, value, &text) != 0)
		return -1;
	size_t len = strlen(text);
	/* Zeros behind the point say nothing: "1.50000" is 1.5. */
	if (strchr(text, '.') != NULL) {
		while (len > 0 && text[len - 1] == '0')
			len--;
		len -= len > 0 && text[len - 1] == '.';
	}
	if (len >= sizeof(shown))
		len = 0;
	snprintf(shown, sizeof(shown), "%.*s", (int)len, text);
	if (hl_parse_milli(shown, &milli, &ignored) != 0)
		return import_refuse(im, value, "must be a number of processors such as 1 or 1.5");
	if (milli > 0)
		return set_number(im, value, row->field, milli);
	import_note(im, value->from, "0 is no limit, and none is written");
	return 0;
}

int
import_BACKEND(struct import *im, const struct import_setting *row,
    const struct import_value *value)
{
	const char *words[IMPORT_BACKEND_MAX];
	const char *text;

	if (import_text(im, value, &text) != 0)
		return -1;
	for (size_t i = 0; i < IMPORT_BACKEND_MAX; i++) {
		words[i] = import_backends[i].word;
		if (strcmp(text, words[i]) != 0)
			continue;
		im->backend = (enum import_backend_id)i;
		im->values[row->field] = import_backends[i].ours;
		return 0;
	}
	hl_err_set(im->err, HLU_42, "%s: '%.40s' is no backend of hermes-agent", value->from, text);
	if (value->file != NULL)
		im->err->where =
		    (struct hl_where){ value->file, value->node->line, value->node->column };
	const char *near = hl_nearest(text, words, IMPORT_BACKEND_MAX);
	if (near != NULL)
		return hl_err_help(im->err, "did you mean '%s'? No other backend is taken instead",
		    near);
	return hl_err_help(im->err, "it is local, docker, singularity, ssh, modal, daytona or "
				    "vercel_sandbox; no other is taken instead");
}

int
import_IMAGE(struct import *im, const struct import_setting *row, const struct import_value *value)
{
	struct hl_err cause = { 0 };
	const char *text, *kept;

	if (import_text(im, value, &text) != 0)
		return -1;
	if (strpbrk(text, "*?") != NULL ||
	    policy_parse_member(&im->arena, row->field, text, &kept, &cause) != 0)
		return import_refuse(im, value, "is not an image reference");
	im->values[row->field] = kept;
	if (strstr(kept, "@sha256:") != NULL)
		return 0;
	import_note(im, value->from,
	    "the image is not named by its digest, so who can push to its registry decides what "
	    "runs: write name@sha256:DIGEST, and take digest: false out");
	im->values[POLICY_IMAGE_DIGEST] = "false";
	return 0;
}

int
import_HOST_USER(struct import *im, const struct import_setting *row,
    const struct import_value *value)
{
	bool is_host_user;

	if (import_flag(im, value, &is_host_user) != 0)
		return -1;
	/* Otherwise the level's own: the image's user. */
	if (is_host_user)
		im->values[row->field] = "caller";
	return 0;
}

/* Several settings decide about the network; the strictest does. False: an earlier one is stricter.
 */
static bool
set_network(struct import *im, const char *word)
{
	const char *const *words = policy_field_words(POLICY_NETWORK_MODE);
	int rank = policy_word_index(words, word, strlen(word));

	HL_BUG_ON(rank < 0);
	if (im->has_network && im->network <= (uint64_t)rank)
		return false;
	im->has_network = true;
	im->network = (uint64_t)rank;
	im->values[POLICY_NETWORK_MODE] = words[rank];
	return true;
}

int
import_NETWORK(struct import *im, const struct import_setting *row,
    const struct import_value *value)
{
	bool is_open;

	(void)row;
	if (import_flag(im, value, &is_open) != 0)
		return -1;
	if (set_network(im, is_open ? "bridge" : "none") && is_open)
		import_note(im, value->from,
		    "the engine's own network reaches every host; mode none closes it");
	return 0;
}

int
import_PROXY(struct import *im, const struct import_setting *row, const struct import_value *value)
{
	bool is_enabled;

	(void)row;
	if (import_flag(im, value, &is_enabled) != 0)
		return -1;
	if (!is_enabled)
		return 0;
	import_note(im, value->from,
	    "the network goes through a proxy or not at all; where this version has no proxy, a run "
	    "is refused");
	(void)set_network(im, "proxy");
	return 0;
}

/* What hermes-agent keeps, or not, is the home and the working directory of a container. */
int
import_HOME(struct import *im, const struct import_setting *row, const struct import_value *value)
{
	bool is_kept;

	if (import_flag(im, value, &is_kept) != 0)
		return -1;
	im->values[row->field] = is_kept ? "{kind: persist}" : "{kind: tmpfs, size: 1GiB}";
	return 0;
}

int
import_CWD(struct import *im, const struct import_setting *row, const struct import_value *value)
{
	static const char *const placeholders[] = { ".", "auto", "cwd", NULL };
	HL_AUTO_FREE char *path = NULL;
	struct hl_buf home HL_AUTO(hl_buf_done) = { 0 };
	const char *text;

	(void)row;
	if (import_text(im, value, &text) != 0)
		return -1;
	if (is_one_of(text, placeholders))
		return 0; /* the caller's, as without it */
	if (im->backend != IMPORT_LOCAL) {
		import_note(im, value->from,
		    "no policy key: a place inside is where a call starts, by --cwd");
		return 0;
	}
	hl_buf_init(&home, 8192);
	if (strcmp(text, "~") == 0 || strncmp(text, "~/", 2) == 0) {
		hl_buf_putf(&home, "${home}%s", text + 1);
		text = home.data;
	} else if (text[0] != '/') {
		return import_refuse(im, value, "must be an absolute path, or begin with ~/");
	} else {
		path = hl_path_normalise("/", text);
		if (path == NULL)
			return hl_err_oom(im->err);
		text = path;
	}
	if (strcmp(text, "/") == 0 || strcmp(text, "${home}") == 0) {
		import_note(im, value->from,
		    "no home and no whole system is shared: name the project's directory, or call "
		    "hermes-launch in it");
		return 0;
	}
	im->workdir = import_keep(im, text);
	return im->workdir != NULL ? 0 : hl_err_oom(im->err);
}

int
import_WORKSPACE(struct import *im, const struct import_setting *row,
    const struct import_value *value)
{
	(void)row;
	if (import_flag(im, value, &im->is_workspace) != 0)
		return -1;
	if (!im->is_workspace)
		import_note(im, value->from,
		    "hermes-agent does not show the working directory to the container; here it is "
		    "always there, read-only. access: rw lets commands write it");
	return 0;
}
