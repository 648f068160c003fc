/*
 * Lists of structures: mounts, tmpfs, and the two fields that are one structure, workdir and home.
 * Each structure is a table of its members, so that an unknown or misspelled member is found like
 * an unknown key.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "policy/layer.h"
#include "policy/records.h"
#include "policy/state.h"
#include "policy/structures.h"

#include "base/banned.h"

struct member_value {
	const struct node *node; /* NULL: not given */
	uint64_t number;
	const char *text;
};

enum {
	SET_MAX = 1024, /* merging compares members pairwise */
	PLACES_MAX = 256,
	PATHS_MAX = 512,          /* of all members of a list */
	DEAR_MAX = 128,           /* patterns with text between two stars */
	SIZE_OF_TMPFS = 64 << 20, /* when a policy gives none */
	MODE_OF_TMPFS = 01777, /* crun and docker disagree on the default, so it is always ours */
};

static bool
read_mode(struct policy_reader *r, const struct member *member, const struct node *node,
    uint64_t *ret_mode)
{
	const char *text;
	uint32_t mode;
	struct hl_err ignored = { 0 };

	if (!policy_read_string(r, member->subject, node, &text))
		return false;
	if (hl_parse_mode(text, &mode, &ignored) == 0) {
		*ret_mode = mode;
		return true;
	}
	policy_diag_error(r->diag, HLP_11, policy_at(node),
	    "%s must be an octal mode in quotes, such as \"1777\"", member->subject);
	return false;
}

static bool
read_member(struct policy_reader *r, const struct member *member, const struct node *node,
    struct member_value *value)
{
	bool flag = false, is_good = false;

	switch (member->type) {
	case MEMBER_PATH:
		is_good = policy_read_string(r, member->subject, node, &value->text) &&
			  policy_check_path(r, member->subject, node, value->text);
		break;
	case MEMBER_TEXT:
		is_good = policy_read_string(r, member->subject, node, &value->text);
		break;
	case MEMBER_BOOL:
		is_good = policy_read_bool(r, member->subject, node, &flag);
		value->number = flag;
		break;
	case MEMBER_WORD:
		is_good = policy_read_word(r, member->subject, member->words, node, &value->number);
		break;
	case MEMBER_SIZE:
		is_good = policy_read_size(r, member->subject, node, &value->number);
		break;
	case MEMBER_MODE:
		is_good = read_mode(r, member, node, &value->number);
		break;
	}
	value->node = node;
	return is_good;
}

void
policy_help_members(struct policy_reader *r, const char *const *names, size_t n)
{
	struct hl_buf list HL_AUTO(hl_buf_done) = { 0 };

	hl_buf_init(&list, 256);
	for (size_t i = 0; i < n; i++)
		hl_buf_putf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
	policy_diag_help(r->diag, "its keys are: %s", list.failed ? "" : list.data);
}

/* Keys of other sections are no help here: "mode" of a mount is not "network.mode". */
void
policy_unknown_member(struct policy_reader *r, const struct node *key, const char *const *names,
    size_t n)
{
	policy_diag_error(r->diag, HLP_04, policy_at(key), "unknown key \"%.*s\"",
	    policy_name_len(key->text), key->text);
	if (!policy_diag_is_kept(r->diag))
		return;
	const char *near = hl_nearest(key->text, names, n);
	if (near != NULL)
		policy_diag_help(r->diag, "did you mean \"%s\"?", near);
	else
		policy_help_members(r, names, n);
}

/* {value} is a mapping, too: of a key to nothing. Of NAME=value the name can be told. */
void
policy_not_a_name(struct policy_reader *r, const struct node *node)
{
	const struct node *key = node->key;
	int len = policy_name_len(key->text);

	if (policy_node_is_empty(node) && key->text[len] == '\0')
		policy_diag_error(r->diag, HLP_07, policy_at(key),
		    "a key without a value is not a variable name");
	else
		policy_diag_error(r->diag, HLP_07, policy_at(key),
		    "\"%.*s\" is not a variable name", len < 60 ? len : 60, key->text);
	policy_diag_help(r->diag, "a name is letters, digits and _");
}

/* All members of one mapping; values[i] belongs to members[i]. */
static bool
read_members(struct policy_reader *r, const char *key, const struct node *node,
    enum policy_kind kind, struct member_value *values)
{
	const struct member *members = policy_members(kind);
	const char *names[MEMBERS_MAX];
	size_t n = 0;
	bool is_good = policy_expect(r, key, node, NODE_MAP);

	for (; n < MEMBERS_MAX && members[n].key != NULL; n++)
		names[n] = members[n].key;
	/* "/srv:/data:ro" or "/tmp" in place of a mapping. */
	if (!is_good && node->kind == NODE_SCALAR && node->len > 0 && policy_diag_is_kept(r->diag))
		policy_help_members(r, names, n);
	for (const struct node *child = is_good ? node->first : NULL; child != NULL;
	     child = child->next) {
		size_t i = 0;
		if (child->key->kind != NODE_SCALAR) {
			is_good = false;
			continue;
		}
		while (i < n && !policy_node_is(child->key, names[i]))
			i++;
		if (i < n)
			is_good = read_member(r, &members[i], child, &values[i]) && is_good;
		else {
			policy_unknown_member(r, child->key, names, n);
			is_good = false;
		}
	}
	return is_good;
}

static bool
need_member(struct policy_reader *r, const char *key, const struct node *node, const char *member,
    const struct member_value *value)
{
	if (value->node != NULL)
		return true;
	policy_diag_error(r->diag, HLP_03, policy_at(node), "a member of %s needs %s", key, member);
	return false;
}

static uint64_t
number_or(const struct member_value *value, uint64_t fallback)
{
	return value->node != NULL ? value->number : fallback;
}

static bool
is_volume_name(const char *name)
{
	return name[0] != '\0' && name[0] != '-' && name[0] != '.' &&
	       name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				 "_.-")] == '\0';
}

/* Inside these the kernel's own file systems answer; a mount there would hide or forge them. */
static bool
is_kernel_path(const char *path)
{
	return hl_path_is_beneath(path, "/proc") || hl_path_is_beneath(path, "/sys") ||
	       hl_path_is_beneath(path, "/dev");
}

static bool
check_dst(struct policy_reader *r, const char *key, const struct node *node, const char *dst)
{
	if (strcmp(dst, "/") != 0 && !is_kernel_path(dst))
		return true;
	policy_diag_error(r->diag, HLP_14, policy_at(node),
	    "%s cannot be \"%.60s\": /, /proc, /sys and /dev are the sandbox's own", key, dst);
	return false;
}

static bool
read_mount(struct policy_reader *r, const struct node *node, struct policy_item *item)
{
	struct member_value v[MEMBERS_MAX] = { 0 };

	if (!read_members(r, "fs.mounts", node, POLICY_KIND_MOUNTS, v) ||
	    !need_member(r, "fs.mounts", node, "src", &v[MOUNT_SRC]) ||
	    !need_member(r, "fs.mounts", node, "dst", &v[MOUNT_DST]) ||
	    !check_dst(r, "dst of a mount", v[MOUNT_DST].node, v[MOUNT_DST].text))
		return false;
	bool is_volume = v[MOUNT_KIND].number != 0;
	if (!is_volume &&
	    !policy_check_path(r, "src of a mount", v[MOUNT_SRC].node, v[MOUNT_SRC].text))
		return false;
	if (is_volume && !is_volume_name(v[MOUNT_SRC].text)) {
		policy_diag_error(r->diag, HLP_07, policy_at(v[MOUNT_SRC].node),
		    "src of a volume is a name, not \"%.60s\"", v[MOUNT_SRC].text);
		return false;
	}
	item->mount = (struct policy_mount){
		.src = v[MOUNT_SRC].text,
		.dst = v[MOUNT_DST].text,
		.access = v[MOUNT_ACCESS].number != 0 ? POLICY_ACCESS_RW : POLICY_ACCESS_RO,
		.exec = number_or(&v[MOUNT_EXEC], true) != 0,
		.is_required = number_or(&v[MOUNT_REQUIRED], true) != 0,
		.is_volume = is_volume,
	};
	return true;
}

static bool
read_tmpfs(struct policy_reader *r, const struct node *node, struct policy_item *item)
{
	struct member_value v[MEMBERS_MAX] = { 0 };

	if (!read_members(r, "fs.tmpfs", node, POLICY_KIND_TMPFS, v) ||
	    !need_member(r, "fs.tmpfs", node, "dst", &v[TMPFS_DST]) ||
	    !check_dst(r, "dst of a tmpfs", v[TMPFS_DST].node, v[TMPFS_DST].text))
		return false;
	item->tmpfs = (struct policy_tmpfs){
		.dst = v[TMPFS_DST].text,
		.size = number_or(&v[TMPFS_SIZE], SIZE_OF_TMPFS),
		.exec = v[TMPFS_EXEC].number != 0,
		.mode = (uint32_t)number_or(&v[TMPFS_MODE], MODE_OF_TMPFS),
	};
	return true;
}

static bool
read_set_item(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_item *item)
{
	if (!policy_read_member(r, field, node, &item->text))
		return false;
	item->is_every_gpu = field == POLICY_FS_DEVICES && strcmp(item->text, POLICY_GPU_ALL) == 0;
	return true;
}

static bool
read_item(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_item *item)
{
	enum policy_kind kind = policy_field_kind(field);

	item->origin = policy_origin(r->layer, policy_at(node));
	if (kind == POLICY_KIND_MOUNTS)
		return read_mount(r, node, item);
	if (kind == POLICY_KIND_TMPFS)
		return read_tmpfs(r, node, item);
	if (kind == POLICY_KIND_RECORDS || kind == POLICY_KIND_NAMED)
		return policy_read_record(r, field, node, item);
	return read_set_item(r, field, node, item);
}

struct count {
	size_t n, max;
	const char *what;
};

static bool
check_one_count(struct policy_reader *r, const char *key, const struct node *node,
    const struct count *count)
{
	if (count->n <= count->max)
		return true;
	policy_diag_error(r->diag, HLP_12, policy_at(node),
	    "%s has %zu %s; at most %zu are accepted", key, count->n, count->what, count->max);
	return false;
}

bool
policy_check_count(struct policy_reader *r, const char *key, const struct node *node, size_t max)
{
	const struct count members = { node->children, max, "members" };

	return check_one_count(r, key, node, &members);
}

/* Of what is compared with patterns, which takes longer than comparing names. */
static bool
check_patterns(struct policy_reader *r, enum policy_field field, const struct node *node,
    const struct policy_items *items)
{
	bool is_compared = policy_field_kind(field) == POLICY_KIND_SET &&
			   policy_field_info(field)->merge == MERGE_INTERSECT;
	struct count paths = { 0, PATHS_MAX, "paths" };
	struct count dear = { 0, DEAR_MAX, "patterns with text between two stars" };

	for (size_t i = 0; i < items->len; i++) {
		if (items->v[i].record != NULL)
			policy_record_count_paths(items->v[i].record, &paths.n, &dear.n);
		else if (is_compared && policy_pattern_is_dear(items->v[i].text))
			dear.n++;
	}
	return check_one_count(r, policy_field_key(field), node, &paths) &&
	       check_one_count(r, policy_field_key(field), node, &dear);
}

static bool
expect_list(struct policy_reader *r, enum policy_field field, const struct node *node)
{
	enum policy_kind kind = policy_field_kind(field);
	bool is_named = kind == POLICY_KIND_NAMED;
	size_t ignored;

	if (policy_expect(r, policy_field_key(field), node, is_named ? NODE_MAP : NODE_LIST))
		return true;
	if (kind == POLICY_KIND_SET || node->kind == NODE_BROKEN ||
	    (node->kind == NODE_SCALAR && node->len == 0))
		return false;
	const char *first = is_named || kind == POLICY_KIND_RECORDS
				? policy_record_members(field, &ignored, NULL)->key
				: policy_members(kind)->key;
	policy_diag_help(r->diag, is_named ? "write {NAME: {%.*s: ...}}" : "write [{%.*s: ...}]",
	    (int)strcspn(first, "."), first);
	return false;
}

/* A list says all that there may be, so that none is what a list without one means already. */
static bool
is_no_gpu(enum policy_field field, const struct policy_item *item)
{
	return field == POLICY_FS_DEVICES && strcmp(item->text, POLICY_GPU_NONE) == 0;
}

static bool
check_no_gpu(struct policy_reader *r, const struct node *no_gpu, const struct policy_items *items)
{
	for (size_t i = 0; no_gpu != NULL && i < items->len; i++) {
		if (strncmp(items->v[i].text, POLICY_GPU, strlen(POLICY_GPU)) != 0)
			continue;
		policy_diag_error(r->diag, HLP_15, policy_at(no_gpu),
		    "fs.devices has both " POLICY_GPU_NONE " and %s", items->v[i].text);
		policy_diag_help(r->diag, "drop one of them");
		return false;
	}
	return true;
}

bool
policy_read_list(struct policy_reader *r, enum policy_field field, const struct node *node,
    struct policy_items *ret_items)
{
	struct policy_items items = { 0 };
	const struct node *no_gpu = NULL;

	if (!expect_list(r, field, node) ||
	    !policy_check_count(r, policy_field_key(field), node,
		policy_field_kind(field) == POLICY_KIND_SET ? SET_MAX : PLACES_MAX))
		return false;
	items.v = policy_arena_array(r->arena, node->children, sizeof(*items.v));
	if (items.v == NULL) {
		r->is_oom = true;
		return false;
	}
	for (const struct node *child = node->first; child != NULL; child = child->next) {
		if (!read_item(r, field, child, &items.v[items.len]))
			continue;
		if (is_no_gpu(field, &items.v[items.len]))
			no_gpu = child;
		else
			items.len++;
	}
	if (!check_patterns(r, field, node, &items) || !check_no_gpu(r, no_gpu, &items))
		return false;
	*ret_items = items;
	return true;
}

static bool
new_single(struct policy_reader *r, const struct node *node, struct policy_given *given)
{
	given->items.v = policy_arena_array(r->arena, 1, sizeof(*given->items.v));
	if (given->items.v == NULL) {
		r->is_oom = true;
		return false;
	}
	given->items.len = 1;
	given->items.v[0].origin = policy_origin(r->layer, policy_at(node));
	return true;
}

bool
policy_read_workdir(struct policy_reader *r, const struct node *node, struct policy_given *given)
{
	struct member_value v[MEMBERS_MAX] = { 0 };

	if (!read_members(r, "fs.workdir", node, POLICY_KIND_WORKDIR, v) ||
	    !new_single(r, node, given))
		return false;
	/* "." is the caller's directory, which is what no path means. */
	bool has_path = v[WORKDIR_PATH].text != NULL && strcmp(v[WORKDIR_PATH].text, ".") != 0;
	if (has_path &&
	    !policy_check_path(r, "fs.workdir.path", v[WORKDIR_PATH].node, v[WORKDIR_PATH].text))
		return false;
	if (v[WORKDIR_AT].text != NULL && is_kernel_path(v[WORKDIR_AT].text))
		return check_dst(r, "fs.workdir.at", v[WORKDIR_AT].node, v[WORKDIR_AT].text);
	given->items.v[0].mount.src = has_path ? v[WORKDIR_PATH].text : NULL;
	given->items.v[0].mount.dst = v[WORKDIR_AT].text;
	given->has_bound = v[WORKDIR_ACCESS].node != NULL;
	given->bound = v[WORKDIR_ACCESS].number;
	return true;
}

/* "home: tmpfs" is short for {kind: tmpfs}. */
bool
policy_read_home_word(struct policy_reader *r, const struct node *node, struct policy_given *given)
{
	if (!policy_read_word(r, "fs.home", policy_home_words, node, &given->number) ||
	    !new_single(r, node, given))
		return false;
	if (given->number == POLICY_HOME_BIND) {
		policy_diag_error(r->diag, HLP_03, policy_at(node), "fs.home: bind needs a source");
		policy_diag_help(r->diag, "write {kind: bind, src: /path}");
		return false;
	}
	given->has_default = true;
	given->bound = given->number;
	given->items.v[0].home = (struct policy_home_value){
		.kind = (enum policy_home)given->number,
		.size = POLICY_UNLIMITED,
	};
	return true;
}

/* {kind: bind, src: /h} needs its source; {kind: tmpfs} may have a size; max is the bound. */
bool
policy_read_home(struct policy_reader *r, const struct node *node, struct policy_given *given)
{
	struct member_value v[MEMBERS_MAX] = { 0 };
	bool is_bind;

	if (!read_members(r, "fs.home", node, POLICY_KIND_HOME, v) || !new_single(r, node, given))
		return false;
	is_bind = v[HOME_KIND].node != NULL && v[HOME_KIND].number == POLICY_HOME_BIND;
	if (is_bind && !need_member(r, "fs.home", node, "src with kind: bind", &v[HOME_SRC]))
		return false;
	if ((v[HOME_SRC].node != NULL && !is_bind) ||
	    (v[HOME_SIZE].node != NULL &&
		(v[HOME_KIND].node == NULL || v[HOME_KIND].number != 0))) {
		policy_diag_error(r->diag, HLP_15,
		    policy_at(
			v[HOME_SRC].node != NULL ? v[HOME_SRC].node->key : v[HOME_SIZE].node->key),
		    "fs.home: src goes with kind: bind, size with kind: tmpfs");
		return false;
	}
	given->has_default = v[HOME_KIND].node != NULL;
	given->number = v[HOME_KIND].number;
	given->has_bound = v[HOME_BOUND].node != NULL || v[HOME_KIND].node != NULL;
	given->bound = number_or(&v[HOME_BOUND], v[HOME_KIND].number);
	given->is_short = v[HOME_BOUND].node == NULL;
	given->items.v[0].home = (struct policy_home_value){
		.kind = (enum policy_home)v[HOME_KIND].number,
		.src = v[HOME_SRC].text,
		.size = number_or(&v[HOME_SIZE], POLICY_UNLIMITED),
	};
	return true;
}

bool
policy_check_mount(const struct policy_mount *mount, struct hl_err *err)
{
	if (mount->src == NULL || mount->dst == NULL || mount->src[0] == '\0')
		return hl_err_set(err, HLP_14, "a mount needs a source and a destination") == 0;
	for (const char *c = mount->src; *c != '\0'; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return hl_err_set(err, HLP_14,
				   "the source of a mount holds a control character") == 0;
	}
	if (!mount->is_volume && mount->src[0] != '$' && !hl_path_is_normal(mount->src))
		return hl_err_set(err, HLP_14, "'%.200s' is not an absolute path in normal form",
			   mount->src) == 0;
	if (!hl_path_is_normal(mount->dst) || strcmp(mount->dst, "/") == 0 ||
	    is_kernel_path(mount->dst))
		return hl_err_set(err, HLP_14, "nothing can be mounted at '%.200s'", mount->dst) ==
		       0;
	return true;
}
