/*
 * Conflicts: the engine's three ways to mount. Each is taken apart as the engine does it (colons,
 * or comma-separated fields with quotes, whose names and types are folded), and what comes out is
 * judged like any other mount; a part that is not known here makes the whole one that cannot be
 * compared.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "launcher/conflicts_parts.h"

#include "base/banned.h"

/* What one option asks for, whichever way it was written. */
enum mount_type {
	MOUNT_BIND,
	MOUNT_VOLUME,
	MOUNT_TMPFS
};

struct parts {
	enum mount_type type;
	const char *src, *dst;
	bool is_read_only;
	bool is_shared; /* mounts made inside show on the host */
	bool is_opaque; /* something is not known here */
	/* tmpfs */
	uint64_t size; /* 0: none given */
	bool is_exec;
	bool is_weak; /* set-user-ID programs or devices work */
};

/* ------------------------------------------------------------------------------------------------
 * tmpfs: against the policy's own at the same place
 */
static int
judge_tmpfs(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const struct parts *parts)
{
	const struct policy_value *value = policy_get(judge->policy, POLICY_FS_TMPFS);
	struct hl_origin origin = ask_origin(ask);
	const struct policy_tmpfs *bound = NULL;
	enum conflict_action action;
	struct policy_tmpfs tmpfs;

	for (size_t i = 0; i < value->items_len; i++) {
		if (strcmp(value->items[i].tmpfs.dst, parts->dst) == 0)
			bound = &value->items[i].tmpfs;
	}
	/* A place that the policy does not name has no bound to be held against. */
	if (bound == NULL || parts->is_opaque)
		return engine_opaque(judge, ask, setting, "fs.tmpfs");
	if (parts->is_weak || (parts->is_exec && !bound->exec) || parts->size == 0 ||
	    parts->size > bound->size)
		return engine_looser(judge, ask, setting, "fs.tmpfs");
	if (parts->is_exec == bound->exec && parts->size == bound->size) {
		conflict_note(judge, ask, "changes nothing: the policy has it already");
		return 0;
	}
	if (conflict_is_locked(judge, ask, "fs.tmpfs", &action)) {
		if (action != CONFLICT_WON)
			return 0;
	} else {
		judge->out->tightened++;
	}
	tmpfs = *bound;
	tmpfs.size = parts->size;
	tmpfs.exec = parts->is_exec;
	return policy_apply_tmpfs(judge->policy, &tmpfs, &origin, judge->err);
}

static int
judge_parts(struct judge *judge, const struct ask *ask, const struct engine_setting *setting,
    const struct parts *parts)
{
	struct mount_ask mount = { parts->src, parts->dst, !parts->is_read_only,
		parts->type == MOUNT_VOLUME };

	if (parts->dst == NULL || parts->dst[0] != '/')
		return engine_opaque(judge, ask, setting, "fs.mounts");
	if (parts->type == MOUNT_TMPFS)
		return judge_tmpfs(judge, ask, setting, parts);
	if (parts->is_shared)
		return engine_looser(judge, ask, setting, "fs.mounts");
	/* Without a source the engine makes up a volume that nobody would remove. Singularity has
	 * no volumes: what looks like the name of one is a directory beneath wherever it is called.
	 */
	bool is_made_up = parts->src == NULL || parts->src[0] == '\0' ||
			  (strcmp(judge->backend, "singularity") == 0 && parts->src[0] != '/');
	if (parts->is_opaque || is_made_up)
		return engine_opaque(judge, ask, setting, "fs.mounts");
	return judge_mount(judge, ask, &mount);
}

/* ------------------------------------------------------------------------------------------------
 * --volume SRC:DST[:OPTION,...]
 */
static bool
is_volume_name(const char *text)
{
	static const char name[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

	return text[0] != '\0' && strchr("_.-", text[0]) == NULL &&
	       text[strspn(text, name)] == '\0';
}

/* Words of a bind: what they do to the parts. */
static void
volume_word(struct parts *parts, const char *word)
{
	static const char *const known[] = { "rw", "private", "rprivate", "nocopy", "cached",
		"consistent", "delegated" };

	if (strcmp(word, "ro") == 0) {
		parts->is_read_only = true;
		return;
	}
	if (strcmp(word, "shared") == 0 || strcmp(word, "rshared") == 0) {
		parts->is_shared = true;
		return;
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(known); i++) {
		if (strcmp(known[i], word) == 0)
			return;
	}
	parts->is_opaque = true;
}

int
rule_volume(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	char *copy HL_AUTO_FREE = strdup(setting->value);
	struct parts parts = { .type = MOUNT_BIND };
	char *next = copy, *word;

	if (copy == NULL)
		return hl_err_oom(judge->err);
	parts.src = strsep(&next, ":");
	parts.dst = strsep(&next, ":");
	while (next != NULL && (word = strsep(&next, ",:")) != NULL)
		volume_word(&parts, word);
	if (parts.dst == NULL) /* one place alone: a volume without a name */
		return engine_opaque(judge, ask, setting, setting->control);
	if (parts.src[0] != '/' && parts.src[0] != '.') {
		parts.type = MOUNT_VOLUME;
		parts.is_opaque |= !is_volume_name(parts.src);
	}
	return judge_parts(judge, ask, setting, &parts);
}

/* ------------------------------------------------------------------------------------------------
 * --mount FIELD,...
 */
/* The next field of one line of comma-separated values, in place: RFC 4180 as Go reads it. NULL at
 * the end; *ret_bad: quotes that Go would not take. */
static char *
csv_next(char **position, bool *ret_bad)
{
	char *read = *position, *write = read, *field = read;
	bool is_quoted = read != NULL && *read == '"';

	if (read == NULL)
		return NULL;
	if (is_quoted)
		read++;
	for (;; read++) {
		if (*read == '\0' || (*read == ',' && !is_quoted))
			break;
		if (*read != '"') {
			*write++ = *read;
			continue;
		}
		if (!is_quoted) {
			*ret_bad = true;
			return NULL;
		}
		if (read[1] == '"') {
			*write++ = *++read;
			continue;
		}
		is_quoted = false;
		if (read[1] != ',' && read[1] != '\0') {
			*ret_bad = true;
			return NULL;
		}
	}
	*ret_bad = is_quoted;
	*position = *read == '\0' ? NULL : read + 1;
	*write = '\0';
	return *ret_bad ? NULL : field;
}

static void
field_type(struct parts *parts, const char *value)
{
	static const char *const
	    types[] = { [MOUNT_BIND] = "bind", [MOUNT_VOLUME] = "volume", [MOUNT_TMPFS] = "tmpfs" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(types); i++) {
		if (strcasecmp(types[i], value) == 0) {
			parts->type = (enum mount_type)i;
			return;
		}
	}
	parts->is_opaque = true;
}

static void
field_source(struct parts *parts, const char *value)
{
	parts->src = value;
}

static void
field_target(struct parts *parts, const char *value)
{
	parts->dst = value;
}

static void
field_read_only(struct parts *parts, const char *value)
{
	parts->is_opaque |= engine_bool(value, &parts->is_read_only) == -1;
}

static void
field_propagation(struct parts *parts, const char *value)
{
	if (strcmp(value, "shared") == 0 || strcmp(value, "rshared") == 0)
		parts->is_shared = true;
	else
		parts->is_opaque |= strcmp(value, "private") != 0 && strcmp(value, "rprivate") != 0;
}

static void
field_size(struct parts *parts, const char *value)
{
	parts->is_opaque |= engine_bytes(value, &parts->size) == -1;
}

static void
field_ignored(struct parts *parts, const char *value)
{
	(void)parts;
	(void)value;
}

static const struct {
	const char *key;
	void (*take)(struct parts *parts, const char *value);
} fields[] = {
	{ "bind-propagation", field_propagation },
	{ "consistency", field_ignored },
	{ "destination", field_target },
	{ "dst", field_target },
	{ "readonly", field_read_only },
	{ "ro", field_read_only },
	{ "source", field_source },
	{ "src", field_source },
	{ "target", field_target },
	{ "tmpfs-size", field_size },
	{ "type", field_type },
	{ "volume-nocopy", field_ignored },
};

static void
take_field(struct parts *parts, char *field)
{
	char *equals = strchr(field, '=');
	const char *value = "true";

	if (equals != NULL) {
		*equals = '\0';
		value = equals + 1;
	}
	for (size_t i = 0; i < HL_ARRAY_SIZE(fields); i++) {
		bool may_stand_alone =
		    fields[i].take == field_read_only || fields[i].take == field_ignored;

		if (strcasecmp(fields[i].key, field) == 0 && (equals != NULL || may_stand_alone)) {
			fields[i].take(parts, value);
			return;
		}
	}
	parts->is_opaque = true;
}

int
rule_mount(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	char *copy HL_AUTO_FREE = strdup(setting->value);
	struct parts parts = { .type = MOUNT_VOLUME };
	char *position = copy, *field;
	bool is_bad = false;

	if (copy == NULL)
		return hl_err_oom(judge->err);
	while ((field = csv_next(&position, &is_bad)) != NULL)
		take_field(&parts, field);
	parts.is_opaque |= is_bad || strpbrk(setting->value, "\r\n") != NULL;
	if (parts.type == MOUNT_VOLUME && parts.src != NULL)
		parts.is_opaque |= !is_volume_name(parts.src);
	return judge_parts(judge, ask, setting, &parts);
}

/* ------------------------------------------------------------------------------------------------
 * --tmpfs DST[:OPTION,...]
 */
static void
tmpfs_word(struct parts *parts, const char *word)
{
	static const char *const known[] = { "rw", "noexec", "nosuid", "nodev", "noatime",
		"nodiratime", "relatime" };

	if (strncmp(word, "size=", 5) == 0) {
		field_size(parts, word + 5);
		return;
	}
	if (strcmp(word, "exec") == 0) {
		parts->is_exec = true;
		return;
	}
	if (strcmp(word, "suid") == 0 || strcmp(word, "dev") == 0) {
		parts->is_weak = true;
		return;
	}
	/* A mode is the policy's: what it says there stays. */
	if (strncmp(word, "mode=", 5) == 0 && strspn(word + 5, "01234567") == strlen(word + 5))
		return;
	for (size_t i = 0; i < HL_ARRAY_SIZE(known); i++) {
		if (strcmp(known[i], word) == 0)
			return;
	}
	parts->is_opaque = true;
}

int
rule_tmpfs(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	char *copy HL_AUTO_FREE = strdup(setting->value);
	struct parts parts = { .type = MOUNT_TMPFS };
	char *next = copy, *word;

	if (copy == NULL)
		return hl_err_oom(judge->err);
	parts.dst = strsep(&next, ":");
	while (next != NULL && (word = strsep(&next, ",")) != NULL)
		tmpfs_word(&parts, word);
	return judge_parts(judge, ask, setting, &parts);
}
