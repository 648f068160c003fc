/*
 * The frame of a policy file: which program it is for, who it is, where it stands in the stack, and
 * what it asks of the other layers. Every key has an effect or is an error.
 */
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "policy/layer.h"
#include "policy/note.h"

#include "base/banned.h"

static const char *const layer_words[] = { "host", "org", "team", "task", NULL };

enum {
	ID_MAX = 128,
	OWNER_MAX = 200,
};

static const struct policy_range revisions = { 1, POLICY_REVISION_MAX };

static bool
is_id(const char *text, size_t len)
{
	if (len < 1 || len > ID_MAX ||
	    !((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= '0' && text[0] <= '9')))
		return false;
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._/-")] == '\0';
}

static bool
read_id(struct policy_reader *r, const char *key, const struct node *node, const char **ret_id)
{
	if (!policy_read_string(r, key, node, ret_id))
		return false;
	if (is_id(*ret_id, strlen(*ret_id)) && strstr(*ret_id, "..") == NULL)
		return true;
	policy_diag_error(r->diag, HLP_07, policy_at(node), "%s \"%.40s\" is not an id", key,
	    *ret_id);
	policy_diag_help(r->diag,
	    "use lower-case letters, digits and . _ / -, as in \"acme/payments-ci\", at most %d",
	    ID_MAX);
	return false;
}

/* An older program stops at the first key, with one clear message. */
static bool
is_our_version(struct policy_reader *r, const struct node *node)
{
	const struct policy_range any = { 0, POLICY_REVISION_MAX };
	uint64_t version;

	if (!policy_read_u64(r, "version", node, any, &version))
		return false;
	if (version == 1)
		return true;
	policy_diag_error(r->diag, HLP_02, policy_at(node),
	    "version %llu is not known to this program", (unsigned long long)version);
	policy_diag_help(r->diag,
	    version > 1 ? "update hermes-launch, or write version: 1" : "write version: 1");
	return false;
}

/* is_our_version() has read it, unless it was no value at all. */
static void
on_version(struct policy_reader *r, const struct node *node)
{
	(void)policy_expect_scalar(r, "version", node);
}

static void
on_id(struct policy_reader *r, const struct node *node)
{
	const char *id;

	if (read_id(r, "id", node, &id))
		r->layer->row.id = id;
}

static void
on_level(struct policy_reader *r, const struct node *node)
{
	const char *name;

	if (!policy_read_string(r, "level", node, &name))
		return;
	r->layer->level_at = policy_at(node);
	if (policy_level_text(name) != NULL && !r->layer->is_level) {
		r->layer->level = name;
		return;
	}
	policy_diag_error(r->diag, HLP_08, policy_at(node), "there is no level \"%.40s\"", name);
	policy_diag_help(r->diag, "%s", policy_level_help);
}

static void
on_layer(struct policy_reader *r, const struct node *node)
{
	uint64_t rank;

	if (!policy_read_word(r, "layer", layer_words, node, &rank))
		return;
	if (r->layer->rank < 0 && rank != 0) {
		policy_diag_error(r->diag, HLP_09, policy_at(node),
		    "a file in the host directory is of the host layer");
		return;
	}
	r->layer->rank = (int)rank;
	r->layer->row.layer = layer_words[rank];
}

static void
on_revision(struct policy_reader *r, const struct node *node)
{
	uint64_t revision;

	if (policy_read_u64(r, "revision", node, revisions, &revision))
		r->layer->row.revision = revision;
}

static void
on_owner(struct policy_reader *r, const struct node *node)
{
	const char *owner;

	if (!policy_read_string(r, "owner", node, &owner))
		return;
	if (strlen(owner) > OWNER_MAX)
		policy_diag_error(r->diag, HLP_07, policy_at(node), "owner is longer than %d bytes",
		    OWNER_MAX);
	else
		r->layer->row.owner = owner;
}

/* "2027-03-31" */
static bool
is_date(const char *text)
{
	static const char form[] = "dddd-dd-dd";

	if (strlen(text) != sizeof(form) - 1)
		return false;
	for (size_t i = 0; form[i] != '\0'; i++) {
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	}
	int month = (text[5] - '0') * 10 + text[6] - '0';
	int day = (text[8] - '0') * 10 + text[9] - '0';
	return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

static void
on_review_by(struct policy_reader *r, const struct node *node)
{
	const char *date;
	char now[HL_ISO_TIME_SIZE];

	if (!policy_read_string(r, "review_by", node, &date))
		return;
	if (!is_date(date)) {
		policy_diag_error(r->diag, HLP_07, policy_at(node),
		    "review_by must be a date such as \"2027-03-31\"");
		return;
	}
	hl_iso_time(hl_now_real_us(), now);
	if (strncmp(date, now, 10) >= 0)
		return;
	policy_diag_warn(r->diag, HLP_22, policy_at(node), "the review date %s has passed", date);
	policy_diag_help(r->diag, "review the policy and move the date");
}

static void
add_mark(struct policy_reader *r, struct policy_marks *marks, size_t room,
    const struct policy_mark *mark)
{
	if (marks->v == NULL)
		marks->v = policy_arena_array(r->arena, room, sizeof(*marks->v));
	if (marks->v == NULL)
		r->is_oom = true;
	else
		marks->v[marks->len++] = *mark;
}

/* One of {id: acme/base, revision: 7}. */
static bool
read_required(struct policy_reader *r, const char *key, const struct node *node,
    struct policy_mark *mark)
{
	static const char *const keys[] = { "id", "revision" };
	bool is_good = policy_expect(r, key, node, NODE_MAP);

	for (const struct node *child = is_good ? node->first : NULL; child != NULL;
	     child = child->next) {
		if (child->key->kind != NODE_SCALAR)
			is_good = false;
		else if (policy_node_is(child->key, "id"))
			is_good = read_id(r, "id", child, &mark->text) && is_good;
		else if (policy_node_is(child->key, "revision"))
			is_good =
			    policy_read_u64(r, "revision", child, revisions, &mark->revision) &&
			    is_good;
		else {
			policy_unknown_key(r, child->key, "", keys, HL_ARRAY_SIZE(keys));
			is_good = false;
		}
	}
	if (is_good && mark->text == NULL) {
		policy_diag_error(r->diag, HLP_03, policy_at(node), "a member of %s needs an id",
		    key);
		return false;
	}
	mark->at = policy_at(node);
	return is_good;
}

static void
read_required_list(struct policy_reader *r, const char *key, const struct node *node,
    struct policy_marks *marks)
{
	if (!policy_expect(r, key, node, NODE_LIST))
		return;
	for (const struct node *child = node->first; child != NULL; child = child->next) {
		struct policy_mark mark = { 0 };
		if (read_required(r, key, child, &mark))
			add_mark(r, marks, node->children, &mark);
	}
}

static void
on_requires(struct policy_reader *r, const struct node *node)
{
	read_required_list(r, "requires", node, &r->layer->requires);
}

static void
on_mandatory(struct policy_reader *r, const struct node *node)
{
	read_required_list(r, "mandatory_layers", node, &r->layer->mandatory);
}

/* Patterns over dotted names. */
static bool
read_pattern(struct policy_reader *r, const char *key, const struct node *node,
    const char **ret_pattern)
{
	if (!policy_read_string(r, key, node, ret_pattern))
		return false;
	const char *pattern = *ret_pattern;
	if (pattern[0] != '\0' && pattern[0] != '.' &&
	    pattern[strspn(pattern, "abcdefghijklmnopqrstuvwxyz0123456789._*")] == '\0')
		return true;
	policy_diag_error(r->diag, HLP_07, policy_at(node),
	    "\"%.40s\" is not a name such as process.caps or \"limits.*\"", *ret_pattern);
	return false;
}

/* How many fields a lock would touch; a name that is none is a typing error. */
static bool
locks_something(const char *pattern)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const struct policy_field_info *info = policy_field_info((enum policy_field)i);
		if (info->is_lockable && hl_glob_match(pattern, info->key))
			return true;
	}
	return false;
}

static void
on_lock(struct policy_reader *r, const struct node *node)
{
	const char *keys[POLICY_FIELD_MAX];

	if (!policy_expect(r, "lock", node, NODE_LIST))
		return;
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++)
		keys[i] = policy_field_key((enum policy_field)i);
	for (const struct node *child = node->first; child != NULL; child = child->next) {
		struct policy_mark mark = { .at = policy_at(child) };
		if (!read_pattern(r, "lock", child, &mark.text))
			continue;
		if (locks_something(mark.text)) {
			add_mark(r, &r->layer->locks, node->children, &mark);
			continue;
		}
		policy_diag_error(r->diag, HLP_25, mark.at,
		    "lock \"%.60s\" names no key that can be locked", mark.text);
		if (!policy_diag_is_kept(r->diag))
			continue;
		const char *near = hl_nearest(mark.text, keys, POLICY_FIELD_MAX);
		if (near != NULL && strcmp(near, mark.text) != 0)
			policy_diag_help(r->diag, "did you mean \"%s\"?", near);
	}
}

static void
on_degrade(struct policy_reader *r, const struct node *node)
{
	static const char *const keys[] = { "allow" };

	if (!policy_expect(r, "degrade", node, NODE_MAP))
		return;
	for (const struct node *child = node->first; child != NULL; child = child->next) {
		if (child->key->kind != NODE_SCALAR)
			continue;
		if (!policy_node_is(child->key, "allow")) {
			policy_unknown_key(r, child->key, "degrade.", keys, 1);
			continue;
		}
		if (!policy_expect(r, "degrade.allow", child, NODE_LIST))
			continue;
		r->layer->has_degrade = true;
		for (const struct node *name = child->first; name != NULL; name = name->next) {
			struct policy_mark mark = { .at = policy_at(name) };
			if (read_pattern(r, "degrade.allow", name, &mark.text))
				add_mark(r, &r->layer->degrade, child->children, &mark);
		}
	}
}

static void
on_examples(struct policy_reader *r, const struct node *node)
{
	if (policy_expect(r, "examples", node, NODE_MAP))
		policy_read_expectations(r, node, true, &r->layer->examples);
}

static const struct {
	const char *key;
	void (*read)(struct policy_reader *, const struct node *);
} frame[] = {
	{ "version", on_version },
	{ "id", on_id },
	{ "layer", on_layer },
	{ "level", on_level },
	{ "revision", on_revision },
	{ "requires", on_requires },
	{ "mandatory_layers", on_mandatory },
	{ "owner", on_owner },
	{ "review_by", on_review_by },
	{ "lock", on_lock },
	{ "degrade", on_degrade },
	{ "examples", on_examples },
};

static const char *const frame_keys[] = { "version", "id", "layer", "level", "revision", "requires",
	"mandatory_layers", "owner", "review_by", "lock", "degrade", "examples" };

const char *const *
policy_frame_keys(size_t *ret_len)
{
	*ret_len = HL_ARRAY_SIZE(frame_keys);
	return frame_keys;
}

bool
policy_frame_read(struct policy_reader *r, const struct node *node)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(frame); i++) {
		if (!policy_node_is(node->key, frame[i].key))
			continue;
		if (node->kind != NODE_BROKEN)
			frame[i].read(r, node);
		return true;
	}
	return false;
}

static void
need_key(struct policy_reader *r, const struct node *root, const char *key, const char *help)
{
	if (policy_node_find(root, key) != NULL)
		return;
	policy_diag_error(r->diag, HLP_03, (struct diag_at){ root->line, root->column, 0 },
	    "the key \"%s\" is missing", key);
	policy_diag_help(r->diag, "%s", help);
}

bool
policy_frame_check(struct policy_reader *r, const struct node *root)
{
	const struct node *version = policy_node_find(root, "version");
	const struct node *first = root->first;

	if (version != NULL && version->kind == NODE_SCALAR && version->len > 0 &&
	    !is_our_version(r, version))
		return false;
	if (version == NULL || first != version) {
		policy_diag_error(r->diag, HLP_01,
		    first != NULL ? policy_at(first->key) : policy_at(root),
		    "the first key of a policy must be version");
		policy_diag_help(r->diag, "begin the file with \"version: 1\"");
	}
	if (!r->layer->is_level)
		need_key(r, root, "id", "name the policy, as in \"id: acme/payments-ci\"");
	return true;
}

void
policy_frame_finish(struct policy_reader *r, const struct node *root)
{
	const struct node *mandatory = policy_node_find(root, "mandatory_layers");

	if (mandatory == NULL || strcmp(r->layer->row.layer, "host") == 0)
		return;
	policy_diag_error(r->diag, HLP_09, policy_at(mandatory->key),
	    "only a policy of the host layer may name mandatory_layers");
}
