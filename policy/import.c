/*
 * hermes-agent's settings against import.def: what is given for each row and by whom, what is given
 * and in no row, and the order in which rows are converted.
 *
 * The rule of two sources is hermes-agent's own: a key of config.yaml goes before its variable, and
 * a variable counts where the file has no such key.
 */
#include "policy/import.h"

#include <stdio.h>
#include <string.h>

#include "policy/state.h"

#include "base/banned.h"

#define POLICY_NONE POLICY_FIELD_MAX

const struct import_setting import_settings[] = {
#define IMPORT_SETTING(section, key, variable, scope, convert, field, fallback, note)     \
 { IMPORT_##section, key, variable, IMPORT_FOR_##scope, IMPORT_##convert, POLICY_##field, \
	 fallback, note },
#include "policy/import.def"
};
#define IMPORT_SETTING(section, name, env, scope, convert, field, text, words) \
 HL_FITS(name, import_settings[0].key);                                        \
 HL_FITS(env, import_settings[0].variable);                                    \
 HL_FITS(text, import_settings[0].fallback);                                   \
 HL_FITS(words, import_settings[0].note);
#define IMPORT_BACKEND(symbol, name, own, base, words) \
 HL_FITS(name, import_backends[0].word);               \
 HL_FITS(own, import_backends[0].ours);                \
 HL_FITS(base, import_backends[0].level);              \
 HL_FITS(words, import_backends[0].note);
#include "policy/import.def"

const size_t import_settings_len = HL_ARRAY_SIZE(import_settings);

const struct import_backend import_backends[IMPORT_BACKEND_MAX] = {
#define IMPORT_BACKEND(symbol, word, ours, level, note) { word, ours, level, note },
#include "policy/import.def"
};

typedef int import_convert_fn(struct import *, const struct import_setting *,
    const struct import_value *);

static import_convert_fn *const converters[IMPORT_CONVERT_MAX] = {
	[IMPORT_BACKEND] = import_BACKEND,
	[IMPORT_WALL] = import_WALL,
	[IMPORT_WALL_MAX] = import_WALL_MAX,
	[IMPORT_MEGABYTES] = import_MEGABYTES,
	[IMPORT_DOCKER_SIZE] = import_DOCKER_SIZE,
	[IMPORT_CPUS] = import_CPUS,
	[IMPORT_IMAGE] = import_IMAGE,
	[IMPORT_HOST_USER] = import_HOST_USER,
	[IMPORT_NETWORK] = import_NETWORK,
	[IMPORT_PROXY] = import_PROXY,
	[IMPORT_HOME] = import_HOME,
	[IMPORT_CWD] = import_CWD,
	[IMPORT_WORKSPACE] = import_WORKSPACE,
	[IMPORT_NAMES] = import_NAMES,
	[IMPORT_VARIABLES] = import_VARIABLES,
	[IMPORT_VOLUMES] = import_VOLUMES,
	[IMPORT_ENGINE_ARGS] = import_ENGINE_ARGS,
};

static const char *const section_words[IMPORT_SECTION_MAX] = {
	[IMPORT_terminal] = "terminal",
	[IMPORT_proxy] = "proxy",
};

enum {
	NOTES_MAX = 4096,
	SETTINGS_MAX = 512,
	FROM_SIZE = 160,
};

/* ------------------------------------------------------------------------------------------------
 * Notes and refusals
 */

void
import_note(struct import *im, const char *from, const char *format, ...)
{
	struct hl_buf text HL_AUTO(hl_buf_done) = { 0 };
	va_list ap;

	hl_buf_init(&text, 4096);
	hl_buf_putf(&text, "%s: ", from);
	va_start(ap, format);
	hl_buf_vputf(&text, format, ap);
	va_end(ap);
	hl_strv_add(&im->out->notes, text.data);
}

int
import_refuse(struct import *im, const struct import_value *value, const char *format, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	hl_err_set(im->err, HLU_41, "%s %s", value->from, text);
	if (value->file != NULL)
		im->err->where =
		    (struct hl_where){ value->file, value->node->line, value->node->column };
	return -1;
}

const char *
import_keep(struct import *im, const char *text)
{
	return policy_arena_dup(&im->arena, text, strlen(text));
}

/* ------------------------------------------------------------------------------------------------
 * What is given
 */

/* NAME=VALUE of the environment that is to be read; NULL: not there, or empty. */
static const char *
find_variable(const struct import *im, const char *name)
{
	size_t len = strlen(name);

	for (char *const *v = im->source->environment; v != NULL && *v != NULL; v++) {
		if (strncmp(*v, name, len) == 0 && (*v)[len] == '=')
			return (*v)[len + 1] != '\0' ? *v + len + 1 : NULL;
	}
	return NULL;
}

/* A key without a value is not given: hermes-agent passes over it. */
static bool
is_null(const struct node *node)
{
	static const char *const words[] = { "", "~", "null", "Null", "NULL" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(words); i++) {
		if (node->kind == NODE_SCALAR && node->is_plain && policy_node_is(node, words[i]))
			return true;
	}
	return false;
}

static struct node *
text_node(struct import *im, const char *text)
{
	struct node *node = policy_arena_alloc(&im->arena, sizeof(*node));

	if (node == NULL)
		return NULL;
	*node = (struct node){ .kind = NODE_SCALAR, .text = text, .len = strlen(text) };
	return node;
}

static int
fill(struct import *im, struct import_value *value, const char *from, const char *text)
{
	value->from = import_keep(im, from);
	value->node = text_node(im, text);
	return value->from != NULL && value->node != NULL ? 0 : hl_err_oom(im->err);
}

/* ret_value->node stays NULL when nothing is given. */
static int
find_value(struct import *im, const struct import_setting *row, struct import_value *ret_value)
{
	const struct node *section = im->sections[row->section];
	const struct node *node =
	    section != NULL && row->key[0] != '\0' ? policy_node_find(section, row->key) : NULL;
	const char *text = row->variable[0] != '\0' ? find_variable(im, row->variable) : NULL;
	char from[FROM_SIZE];

	*ret_value = (struct import_value){ 0 };
	if (node == NULL || is_null(node))
		return text != NULL ? fill(im, ret_value, row->variable, text) : 0;
	snprintf(from, sizeof(from), "%s.%s", section_words[row->section], row->key);
	ret_value->from = import_keep(im, from);
	ret_value->node = node;
	ret_value->file = im->source->config_name;
	if (ret_value->from == NULL)
		return hl_err_oom(im->err);
	if (text != NULL && !(node->kind == NODE_SCALAR && policy_node_is(node, text)))
		import_note(im, row->variable, "not read: %s goes before it", from);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The file's frame
 */

static int
refuse_at(struct import *im, const struct node *node, const char *what, const char *help)
{
	hl_err_set(im->err, HLU_40, "%s", what);
	im->err->where = (struct hl_where){ im->source->config_name, node->line, node->column };
	return hl_err_help(im->err, "%s", help);
}

/* Readers differ on a key that is there twice, and a merge key brings settings from elsewhere. */
static int
check_keys(struct import *im, const struct node *map, bool is_root)
{
	if (!is_root && map->children > SETTINGS_MAX)
		return refuse_at(im, map, "a section has too many settings",
		    "name hermes-agent's config.yaml");
	for (const struct node *child = map->first; child != NULL; child = child->next) {
		bool is_ours = !is_root || policy_node_is(child->key, "terminal") ||
			       policy_node_is(child->key, "proxy");
		if (child->key->kind == NODE_BROKEN)
			return refuse_at(im, child->key, "a key is a tag or an alias",
			    "write the key out");
		if (policy_node_is(child->key, "<<"))
			return refuse_at(im, child->key, "a merge key stands before settings",
			    "write the settings out where they are used");
		for (const struct node *other = map->first; is_ours && other != child;
		     other = other->next) {
			if (child->key->kind == NODE_SCALAR && other->key->len == child->key->len &&
			    policy_node_is(other->key, child->key->text))
				return refuse_at(im, child->key, "a setting is given twice",
				    "keep one of them");
		}
	}
	return 0;
}

static int
read_config(struct import *im)
{
	const struct policy_import_source *source = im->source;
	const struct policy_text text = { source->config_name, source->config, source->config_len };
	const struct node *root = NULL;

	if (source->config == NULL)
		return 0;
	if (import_yaml_read(&im->arena, &text, &root, im->err) != 0)
		return -1;
	if (root == NULL || is_null(root))
		return 0;
	if (root->kind != NODE_MAP)
		return refuse_at(im, root, "the file is no mapping of settings",
		    "name hermes-agent's config.yaml");
	if (check_keys(im, root, true) != 0)
		return -1;
	for (size_t i = 0; i < IMPORT_SECTION_MAX; i++) {
		const struct node *section = policy_node_find(root, section_words[i]);
		if (section == NULL || is_null(section))
			continue;
		if (section->kind != NODE_MAP)
			return refuse_at(im, section, "a section of settings is no mapping",
			    "write the settings out below it");
		if (check_keys(im, section, false) != 0)
			return -1;
		im->sections[i] = section;
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * What is given and in no row
 */

static bool
is_known_key(enum import_section section, const struct node *key)
{
	for (size_t i = 0; i < import_settings_len; i++) {
		if (import_settings[i].section == section && import_settings[i].key[0] != '\0' &&
		    policy_node_is(key, import_settings[i].key))
			return true;
	}
	return false;
}

static bool
is_known_variable(const char *name)
{
	for (size_t i = 0; i < import_settings_len; i++) {
		if (import_settings[i].variable[0] != '\0' &&
		    hl_glob_match(import_settings[i].variable, name))
			return true;
	}
	return false;
}

/* By name; what stands behind it is nobody's business. */
static void
note_unknown(struct import *im)
{
	char name[FROM_SIZE];

	for (size_t i = 0; i < IMPORT_SECTION_MAX; i++) {
		const struct node *child = im->sections[i] != NULL ? im->sections[i]->first : NULL;
		for (; child != NULL; child = child->next) {
			if (is_known_key((enum import_section)i, child->key))
				continue;
			snprintf(name, sizeof(name), "%s.%.100s", section_words[i],
			    child->key->text != NULL ? child->key->text : "(no word)");
			import_note(im, name, "not known, and not taken over");
		}
	}
	for (char *const *v = im->source->environment; v != NULL && *v != NULL; v++) {
		size_t len = strcspn(*v, "=");
		if (len >= sizeof(name) || strncmp(*v, "TERMINAL_", 9) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)len, *v);
		if (!is_known_variable(name))
			import_note(im, name, "not known, and not taken over");
	}
}

static void
note_foreign(struct import *im, const char *from)
{
	import_note(im, from, "has no effect on the backend %s", import_backends[im->backend].word);
}

/* A row whose variable is a pattern has no value, only a note for each name. */
static void
note_pattern(struct import *im, const struct import_setting *row, bool is_about)
{
	char name[FROM_SIZE];

	for (char *const *v = im->source->environment; v != NULL && *v != NULL; v++) {
		size_t len = strcspn(*v, "=");
		if (len >= sizeof(name) || (*v)[len] == '\0' || (*v)[len + 1] == '\0')
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)len, *v);
		if (!hl_glob_match(row->variable, name))
			continue;
		if (is_about)
			import_note(im, name, "%s", row->note);
		else
			note_foreign(im, name);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

static void
add_default(struct import *im, const struct import_setting *row)
{
	const char *key = policy_field_key(row->field);

	/* limits.wall has two rows. */
	if (im->defaults.len > 0 && strstr(im->defaults.data, key) != NULL)
		return;
	hl_buf_putf(&im->defaults, "%s%s", im->defaults.len > 0 ? ", " : "", key);
}

/* "terminal.docker_image, not given", so that nobody looks for it. */
static void
name_default(const struct import_setting *row, char *from, size_t size)
{
	bool has_key = row->key[0] != '\0';

	snprintf(from, size, "%s%s%s, not given", has_key ? section_words[row->section] : "",
	    has_key ? "." : "", has_key ? row->key : row->variable);
}

static int
convert(struct import *im, const struct import_setting *row)
{
	bool is_about = (row->scope & (1U << im->backend)) != 0;
	struct import_value value;

	if (strchr(row->variable, '*') != NULL) {
		note_pattern(im, row, is_about);
		return 0;
	}
	if (find_value(im, row, &value) != 0)
		return -1;
	if (value.node != NULL && !is_about) {
		note_foreign(im, value.from);
		return 0;
	}
	if (value.node == NULL && (!is_about || row->fallback[0] == '\0'))
		return 0;
	if (value.node == NULL) {
		char from[FROM_SIZE];
		name_default(row, from, sizeof(from));
		if (fill(im, &value, from, row->fallback) != 0)
			return -1;
		add_default(im, row);
	} else if (row->note[0] != '\0') {
		import_note(im, value.from, "%s", row->note);
	}
	return row->convert != IMPORT_NOTHING ? converters[row->convert](im, row, &value) : 0;
}

/* The backend first: what all the others are about. */
static int
settle_backend(struct import *im)
{
	const struct import_setting *backend = NULL, *alias = NULL;
	struct import_value value, older;

	for (size_t i = 0; i < import_settings_len; i++) {
		if (import_settings[i].convert == IMPORT_BACKEND)
			*(strcmp(import_settings[i].key, "backend") == 0 ? &backend : &alias) =
			    &import_settings[i];
	}
	HL_BUG_ON(backend == NULL || alias == NULL);
	if (find_value(im, backend, &value) != 0 || find_value(im, alias, &older) != 0)
		return -1;
	if (older.node != NULL && value.node != NULL && value.file != NULL)
		import_note(im, older.from, "not read: %s goes before it", value.from);
	else if (older.node != NULL)
		value = older; /* the file goes before the variable */
	if (value.node == NULL) {
		import_note(im, "terminal.backend",
		    "not given%s: hermes-agent then runs commands on this host (local)",
		    im->source->environment == NULL ? ", and no variables were read (--env-file)"
						    : "");
		if (fill(im, &value, "TERMINAL_ENV", backend->fallback) != 0)
			return -1;
	}
	if (import_BACKEND(im, backend, &value) != 0)
		return -1;
	if (import_backends[im->backend].note[0] != '\0')
		import_note(im, value.from, "%s", import_backends[im->backend].note);
	return 0;
}

static int
convert_all(struct import *im)
{
	if (read_config(im) != 0 || settle_backend(im) != 0)
		return -1;
	for (size_t i = 0; i < import_settings_len; i++) {
		if (import_settings[i].convert != IMPORT_BACKEND &&
		    convert(im, &import_settings[i]) != 0)
			return -1;
	}
	note_unknown(im);
	return 0;
}

/* Whatever was asked: what leaves here is a policy. */
static int
check_result(struct import *im)
{
	struct policy *policy = NULL;
	struct policy_findings findings;
	struct hl_err cause = { 0 };
	int result =
	    policy_load_text("the imported policy", &im->out->text, &policy, &findings, &cause);

	policy_findings_done(&findings);
	policy_free(policy);
	if (result == 0)
		return 0;
	return hl_err_set(im->err, HLU_41, "these settings make no policy: %s", cause.msg);
}

int
policy_import_hermes(const struct policy_import_source *source, struct policy_import *ret_import,
    struct hl_err *err)
{
	struct import im = { .source = source, .out = ret_import, .err = err };
	int result;

	hl_buf_init(&ret_import->text, POLICY_FILE_MAX);
	hl_strv_init(&ret_import->notes, NOTES_MAX);
	hl_strv_init(&ret_import->engine_args, 1024);
	hl_strv_init(&im.pass, 1024);
	hl_buf_init(&im.defaults, 4096);
	result = convert_all(&im);
	if (result == 0)
		result = import_write(&im);
	if (result == 0)
		result = check_result(&im);
	if (result == 0)
		result = hl_strv_check(&ret_import->notes, "notes", err);
	ret_import->backend = import_backends[im.backend].ours;
	hl_buf_done(&im.defaults);
	hl_strv_done(&im.pass);
	policy_arena_done(&im.arena);
	if (result != 0)
		policy_import_done(ret_import);
	return result;
}

void
policy_import_done(struct policy_import *import)
{
	hl_buf_done(&import->text);
	hl_strv_done(&import->notes);
	hl_strv_done_secret(&import->engine_args);
}
