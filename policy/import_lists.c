/*
 * Converters of import.def for lists and mappings: names of variables, volumes, arguments of the
 * engine. In the environment, and in a text of the file, hermes-agent writes them as JSON, which is
 * YAML.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/field.h"
#include "policy/import.h"
#include "policy/state.h"

#include "base/banned.h"

enum {
	MOUNTS_MAX = 256,
};

int
import_collection(struct import *im, const struct import_value *value, enum node_kind kind,
    const struct node **ret_node)
{
	const char *what = kind == NODE_LIST ? "a list" : "a mapping";
	struct hl_err cause = { 0 };
	const struct node *node = value->node;

	if (node->kind == NODE_SCALAR && (node->text[0] == '[' || node->text[0] == '{')) {
		const struct policy_text json = { value->from, node->text, node->len };
		if (import_yaml_read(&im->arena, &json, &node, &cause) != 0)
			return import_refuse(im, value, "is not JSON");
	}
	if (node == NULL || node->kind != kind)
		return import_refuse(im, value, "must be %s", what);
	*ret_node = node;
	return 0;
}

/* A member as text: what it is, not where it came from, is the caller's to say. */
static bool
member_text(const struct node *node, const char **ret_text)
{
	if (node->kind != NODE_SCALAR || node->len == 0 || !hl_is_utf8(node->text, node->len))
		return false;
	for (size_t i = 0; i < node->len; i++) {
		if ((unsigned char)node->text[i] < 0x20 || node->text[i] == 0x7f)
			return false;
	}
	*ret_text = node->text;
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * Variables
 */

/* Names only; a protected one is told and stays out, as a policy would have it anyway. */
static void
add_name(struct import *im, const struct import_value *value, const struct node *node)
{
	const char *name;

	if (!member_text(node, &name) || !hl_is_env_name(name, strlen(name))) {
		import_note(im, value->from, "left out: a member is no name of a variable");
		return;
	}
	switch (policy_name_class(name, strlen(name))) {
	case POLICY_NAME_PLAIN:
		if (!hl_strv_contains(&im->pass, name))
			hl_strv_add(&im->pass, name);
		return;
	case POLICY_NAME_SECRET:
		import_note(im, value->from,
		    "left out: %.128s carries a credential, and no policy lets one pass", name);
		return;
	case POLICY_NAME_LOADER:
		import_note(im, value->from,
		    "left out: %.128s runs code before the command, and no policy lets it pass",
		    name);
		return;
	}
}

int
import_NAMES(struct import *im, const struct import_setting *row, const struct import_value *value)
{
	const struct node *list;

	(void)row;
	if (import_collection(im, value, NODE_LIST, &list) != 0)
		return -1;
	for (const struct node *child = list->first; child != NULL; child = child->next)
		add_name(im, value, child);
	return hl_strv_check(&im->pass, "variables", im->err);
}

int
import_VARIABLES(struct import *im, const struct import_setting *row,
    const struct import_value *value)
{
	const struct node *map;

	(void)row;
	if (import_collection(im, value, NODE_MAP, &map) != 0)
		return -1;
	for (const struct node *child = map->first; child != NULL; child = child->next)
		add_name(im, value, child->key);
	return hl_strv_check(&im->pass, "variables", im->err);
}

/* ------------------------------------------------------------------------------------------------
 * Volumes: SRC:DST[:OPTION,...]
 */

static void
leave_out(struct import *im, const struct import_value *value, size_t index, const char *why)
{
	import_note(im, value->from, "volume %zu is left out: %s", index, why);
}

/* What the launcher never gives to a command, whatever a policy says (launcher/deny.def). */
static bool
is_never_given(const char *src)
{
	static const char *const places[] = { "/dev", "/proc", "/sys", "/etc/hermes-launch",
		"/var/lib/hermes-launch" };
	size_t len = strlen(src);

	for (size_t i = 0; i < HL_ARRAY_SIZE(places); i++) {
		if (hl_path_is_beneath(src, places[i]))
			return true;
	}
	return strcmp(src, "/") == 0 || (len > 5 && strcmp(src + len - 5, ".sock") == 0);
}

static void
read_options(struct import *im, const struct import_value *value, size_t index, char *options,
    struct policy_mount *mount)
{
	static const char *const silent[] = { "rw", "cached", "delegated", "consistent", "rprivate",
		"private", "nocopy" };
	char *save = NULL;

	for (char *word = strtok_r(options, ",", &save); word != NULL;
	     word = strtok_r(NULL, ",", &save)) {
		bool is_silent = false;
		for (size_t i = 0; i < HL_ARRAY_SIZE(silent); i++)
			is_silent = is_silent || strcmp(word, silent[i]) == 0;
		if (strcmp(word, "ro") == 0 || strcmp(word, "readonly") == 0)
			mount->access = POLICY_ACCESS_RO;
		else if (!is_silent)
			import_note(im, value->from,
			    "volume %zu: the option '%.20s' has no counterpart", index, word);
	}
}

/* The source as a policy has it. NULL: why says it. */
static char *
read_source(const char *text, bool *ret_is_volume, const char **ret_why)
{
	struct hl_buf home;

	*ret_is_volume = false;
	*ret_why = NULL;
	if (strncmp(text, "~/", 2) == 0) {
		hl_buf_init(&home, 8192);
		hl_buf_putf(&home, "${home}%s", text + 1);
		return hl_buf_take(&home);
	}
	if (text[0] == '/')
		return hl_path_normalise("/", text);
	*ret_is_volume = text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_.-")] == '\0' &&
			 text[0] != '.' && text[0] != '-' && text[0] != '_';
	if (*ret_is_volume)
		return strdup(text);
	*ret_why = "its source is neither an absolute path nor the name of a volume";
	return NULL;
}

static const char *
why_not(const struct import *im, const struct policy_mount *mount)
{
	struct hl_err ignored = { 0 };

	if (!mount->is_volume && is_never_given(mount->src))
		return "engine sockets, /dev, /proc, /sys, / and the launcher's own places are "
		       "never given to a command";
	if (!policy_check_mount(mount, &ignored))
		return "nothing can be mounted there";
	for (size_t i = 0; i < im->mounts.len; i++) {
		if (strcmp(im->mounts.v[i].mount.dst, mount->dst) == 0)
			return "an earlier one has the same place inside";
	}
	return NULL;
}

static int
add_volume(struct import *im, const struct import_value *value, size_t index, char *text)
{
	char *dst = strchr(text, ':');
	char *options = dst != NULL ? strchr(dst + 1, ':') : NULL;
	struct policy_mount mount = {
		.access = POLICY_ACCESS_RW,
		.exec = true,
		.is_required = true,
	};
	const char *why = "it is not of the form SRC:DST or SRC:DST:OPTIONS";

	if (dst == NULL || dst == text || dst[1] != '/') {
		leave_out(im, value, index, why);
		return 0;
	}
	*dst++ = '\0';
	if (options != NULL)
		*options++ = '\0';
	HL_AUTO_FREE char *place = hl_path_normalise("/", dst);
	HL_AUTO_FREE char *src = read_source(text, &mount.is_volume, &why);
	if (place == NULL || (src == NULL && why == NULL))
		return hl_err_oom(im->err);
	mount.src = src;
	mount.dst = place;
	if (why == NULL)
		why = why_not(im, &mount);
	if (why != NULL) {
		leave_out(im, value, index, why);
		return 0;
	}
	if (options != NULL)
		read_options(im, value, index, options, &mount);
	mount.src = import_keep(im, src);
	mount.dst = import_keep(im, place);
	if (mount.src == NULL || mount.dst == NULL)
		return hl_err_oom(im->err);
	im->mounts.v[im->mounts.len++].mount = mount;
	im->has_workspace_mount = im->has_workspace_mount || strcmp(mount.dst, "/workspace") == 0;
	return 0;
}

int
import_VOLUMES(struct import *im, const struct import_setting *row,
    const struct import_value *value)
{
	const struct node *list;
	size_t index = 0;
	int result = 0;

	(void)row;
	if (import_collection(im, value, NODE_LIST, &list) != 0)
		return -1;
	if (list->children > MOUNTS_MAX)
		return import_refuse(im, value, "has more than %d members", MOUNTS_MAX);
	im->mounts.v = policy_arena_array(&im->arena, list->children, sizeof(*im->mounts.v));
	if (im->mounts.v == NULL)
		return hl_err_oom(im->err);
	for (const struct node *child = list->first; result == 0 && child != NULL;
	     child = child->next) {
		const char *text;
		index++;
		if (!member_text(child, &text)) {
			leave_out(im, value, index, "it is no text");
			continue;
		}
		HL_AUTO_FREE char *copy = strdup(text);
		result = copy != NULL ? add_volume(im, value, index, copy) : hl_err_oom(im->err);
	}
	return result;
}

/* ------------------------------------------------------------------------------------------------
 * Arguments of the engine
 */

/* The launcher holds them against the policy, as it does with --engine-arg. */
int
import_ENGINE_ARGS(struct import *im, const struct import_setting *row,
    const struct import_value *value)
{
	const struct node *list;

	(void)row;
	if (import_collection(im, value, NODE_LIST, &list) != 0)
		return -1;
	for (const struct node *child = list->first; child != NULL; child = child->next) {
		const char *text;
		if (!member_text(child, &text))
			return import_refuse(im, value, "has a member that is no text");
		hl_strv_add(&im->out->engine_args, text);
	}
	return hl_strv_check(&im->out->engine_args, "engine arguments", im->err);
}
