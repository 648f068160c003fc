/*
 * Reads the trust file, with the reader of policies: the same YAML, the same findings with their
 * places. What cannot be read with certainty is an error, never an absent file.
 */
#include "policy/trust.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/file.h"
#include "policy/layer.h"
#include "policy/node.h"

#include "base/banned.h"

static const char *const layer_words[TRUST_LAYERS] = { "host", "org", "team", "task" };

static void
bad_value(struct policy_reader *r, const struct node *node, const char *why)
{
	policy_diag_error(r->diag, HLS_02, policy_at(node), "%s", why);
}

/* ------------------------------------------------------------------------------------------------
 * One layer
 */

/* One key under two names would count twice. */
static bool
is_new_key(const struct trust_layer *layer, const struct note_key *key)
{
	for (size_t i = 0; i < layer->keys_len; i++)
		if (strcmp(layer->keys[i].name, key->name) == 0 ||
		    memcmp(layer->keys[i].bytes, key->bytes, NOTE_KEY_SIZE) == 0)
			return false;
	return true;
}

static void
read_key(struct policy_reader *r, const struct node *node, struct trust_layer *layer)
{
	const char *text;
	struct note_key key;
	struct hl_err err = { 0 };

	if (!policy_read_string(r, "keys", node, &text))
		return;
	if (policy_note_key_parse(text, node->len, &key, &err) != 0) {
		bad_value(r, node, err.msg);
		policy_diag_help(r->diag, "%s", err.help);
	} else if (!is_new_key(layer, &key)) {
		bad_value(r, node, "the key, or its name, is in the list already");
	} else {
		layer->keys[layer->keys_len++] = key;
	}
}

static void
read_keys(struct policy_reader *r, const struct node *node, struct trust_layer *layer)
{
	if (!policy_expect(r, "keys", node, NODE_LIST))
		return;
	if (node->children == 0 || node->children > TRUST_KEYS_MAX) {
		bad_value(r, node, "a layer has 1 to 32 keys");
		return;
	}
	layer->keys = policy_arena_array(r->arena, node->children, sizeof(*layer->keys));
	if (layer->keys == NULL) {
		r->is_oom = true;
		return;
	}
	for (const struct node *child = node->first; child != NULL; child = child->next)
		read_key(r, child, layer);
}

static void
read_threshold(struct policy_reader *r, const struct node *node, struct trust_layer *layer)
{
	uint64_t threshold;

	if (policy_read_u64(r, "threshold", node, (struct policy_range){ 1, TRUST_KEYS_MAX },
		&threshold))
		layer->threshold = (size_t)threshold;
}

static void
read_unsigned(struct policy_reader *r, const struct node *node, struct trust_layer *layer)
{
	(void)policy_read_bool(r, "unsigned", node, &layer->accepts_unsigned);
}

static const struct {
	const char *key;
	void (*read)(struct policy_reader *r, const struct node *node, struct trust_layer *layer);
} layer_keys[] = {
	{ "keys", read_keys },
	{ "threshold", read_threshold },
	{ "unsigned", read_unsigned },
};

static bool
read_layer_key(struct policy_reader *r, const struct node *node, struct trust_layer *layer)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(layer_keys); i++) {
		if (!policy_node_is(node->key, layer_keys[i].key))
			continue;
		layer_keys[i].read(r, node, layer);
		return true;
	}
	return false;
}

static void
read_layer(struct policy_reader *r, const struct node *node, struct trust_layer *layer)
{
	static const char *const names[] = { "keys", "threshold", "unsigned" };
	size_t errors = r->diag->out->errors;

	layer->is_named = true;
	if (!policy_expect(r, node->key->text, node, NODE_MAP))
		return;
	for (const struct node *child = node->first; child != NULL; child = child->next)
		if (child->key->kind == NODE_SCALAR && !read_layer_key(r, child, layer))
			policy_unknown_key(r, child->key, "", names, HL_ARRAY_SIZE(names));
	if (r->diag->out->errors > errors)
		return;
	if (layer->keys_len == 0 && layer->threshold > 0)
		bad_value(r, node->key, "a threshold needs keys");
	else if (layer->keys_len == 0 && !layer->accepts_unsigned)
		bad_value(r, node->key, "the layer has neither keys nor unsigned: true");
	else if (layer->threshold > layer->keys_len)
		bad_value(r, node->key, "the threshold is more than there are keys");
	else if (layer->keys_len > 0 && layer->threshold == 0)
		layer->threshold = 1;
}

/* ------------------------------------------------------------------------------------------------
 * The file
 */
static void
read_layers(struct policy_reader *r, const struct node *layers, struct trust *trust)
{
	if (!policy_expect(r, "layers", layers, NODE_MAP))
		return;
	for (const struct node *child = layers->first; child != NULL; child = child->next) {
		size_t rank = 0;
		while (rank < TRUST_LAYERS && !policy_node_is(child->key, layer_words[rank]))
			rank++;
		if (rank < TRUST_LAYERS)
			read_layer(r, child, &trust->layers[rank]);
		else if (child->key->kind == NODE_SCALAR)
			policy_unknown_key(r, child->key, "", layer_words, TRUST_LAYERS);
	}
}

static void
read_tree(struct policy_reader *r, const struct node *root, struct trust *trust)
{
	static const char *const names[] = { "version", "layers" };
	const struct node *version = root->kind == NODE_MAP ? root->first : NULL;

	if (version == NULL || !policy_node_is(version->key, "version") ||
	    !policy_node_is(version, "1")) {
		bad_value(r, root, "the first line of a trust file is 'version: 1'");
		return;
	}
	for (const struct node *child = version->next; child != NULL; child = child->next) {
		if (policy_node_is(child->key, "layers"))
			read_layers(r, child, trust);
		else if (child->key->kind == NODE_SCALAR)
			policy_unknown_key(r, child->key, "", names, HL_ARRAY_SIZE(names));
	}
	if (policy_node_find(root, "layers") == NULL)
		bad_value(r, root, "a trust file has layers");
}

static int
read_text(struct policy_reader *r, struct policy_source *source, struct trust *trust,
    struct hl_err *err)
{
	struct node *root = NULL;
	bool is_text = false;

	if (policy_source_init(source, r->diag, &is_text, err) != 0)
		return -1;
	int status = is_text ? policy_yaml_load(source, r->arena, r->diag, &root, err) : 0;
	if (status == 0 && root != NULL && root->end_line > 0)
		read_tree(r, root, trust);
	else if (status == 0 && r->diag->out->len == r->diag->first)
		policy_diag_error(r->diag, HLS_02, (struct diag_at){ 1, 1, 0 },
		    "the trust file is empty");
	policy_diag_seal(r->diag, source, root);
	policy_source_done(source);
	return status == 0 && r->is_oom ? hl_err_oom(err) : status;
}

/* Only a file that is certainly not there is none. */
static int
look_for(const char *path, bool *ret_is_there, struct hl_err *err)
{
	struct stat st;

	*ret_is_there = lstat(path, &st) == 0;
	if (*ret_is_there || errno == ENOENT)
		return 0;
	return hl_err_sys(err, HLS_01, "cannot look for the trust file '%s'", path);
}

static int
read_file(const struct policy_load_request *request, struct policy_reader *r, struct trust *trust,
    struct hl_err *err)
{
	HL_AUTO(hl_buf_done) struct hl_buf bytes = { 0 };
	struct policy_file file = { 0 };

	hl_buf_init(&bytes, POLICY_FILE_MAX);
	if (policy_file_read(request->trust_file, request->trust_owner, &bytes, &file, err) != 0) {
		err->code = HLS_01;
		hl_err_wrap(err, "the trust file");
		return hl_err_help(err, "make it root's own, and chmod go-w; or remove it");
	}
	free(file.path);
	struct policy_source source = {
		.name = request->trust_file,
		.bytes = bytes.len > 0 ? bytes.data : "",
		.len = bytes.len,
	};
	return read_text(r, &source, trust, err);
}

/* A trust of one key, for whoever asks about a file and not about this host. */
static int
trust_one(const char *text, struct policy_arena *arena, struct trust *trust, struct hl_err *err)
{
	struct note_key *key = policy_arena_alloc(arena, sizeof(*key));

	if (key == NULL)
		return hl_err_oom(err);
	if (policy_note_key_parse(text, strlen(text), key, err) != 0)
		return -1;
	trust->is_there = true;
	for (size_t i = 0; i < TRUST_LAYERS; i++)
		trust->layers[i] = (struct trust_layer){ .is_named = true,
			.threshold = 1,
			.keys = key,
			.keys_len = 1 };
	return 0;
}

int
policy_trust_read(const struct policy_load_request *request, struct policy_arena *arena,
    struct policy_findings *findings, struct trust *ret_trust, struct hl_err *err)
{
	struct policy_read unused = { 0 };
	struct diag diag;
	struct policy_reader r = { .arena = arena, .diag = &diag, .layer = &unused };

	*ret_trust = (struct trust){ 0 };
	if (request->trust_key != NULL)
		return trust_one(request->trust_key, arena, ret_trust, err);
	if (request->trust_file == NULL)
		return 0;
	if (look_for(request->trust_file, &ret_trust->is_there, err) != 0)
		return -1;
	if (!ret_trust->is_there)
		return 0;
	const char *name = policy_findings_name(findings, request->trust_file);
	if (name == NULL)
		return hl_err_oom(err);
	policy_diag_init(&diag, findings, name);
	return read_file(request, &r, ret_trust, err);
}
