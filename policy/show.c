/*
 * The effective policy as text. It names open@1, which bounds nothing, because the levels are
 * folded in already; so it parses again to the same values and bounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/state.h"

#include "base/banned.h"

enum {
	PATH_SIZE = 128,
	SHOW_MAX = 4 * POLICY_FILE_MAX,
};

struct show {
	const struct policy *policy;
	unsigned flags;
	struct hl_buf *out;
	struct policy_arena scratch;
	struct policy_refs flat; /* the bound of the set that is being written */
	char section[PATH_SIZE]; /* "process.seccomp." */
	bool is_oom;
};

static void
put_where(struct hl_buf *out, const struct hl_origin *origin)
{
	if (origin->where.file == NULL) {
		hl_buf_puts(out, origin->layer != NULL ? origin->layer : "built-in");
		return;
	}
	/* A file's name may hold anything; a comment must stay one line. */
	hl_buf_printable(out, origin->where.file, strlen(origin->where.file));
	if (origin->where.line > 0)
		hl_buf_putf(out, ":%u:%u", origin->where.line, origin->where.column);
	if (strcmp(origin->layer, "level") != 0)
		hl_buf_putf(out, " (%s%s%s)", origin->layer, origin->id != NULL ? ", " : "",
		    origin->id != NULL ? origin->id : "");
}

static void
put_origins(struct show *s, const struct policy_value *value)
{
	if ((s->flags & POLICY_SHOW_ORIGINS) != 0) {
		hl_buf_puts(s->out, "  # ");
		put_where(s->out, &value->origin);
		if (value->is_bounded &&
		    (value->bound_origin.where.file != value->origin.where.file ||
			value->bound_origin.where.line != value->origin.where.line)) {
			hl_buf_puts(s->out, "; bound by ");
			put_where(s->out, &value->bound_origin);
		}
		if (value->is_locked)
			hl_buf_puts(s->out, "; locked");
	}
	hl_buf_putc(s->out, '\n');
}

/* Opens the sections of a key that are not open yet: "process.seccomp.profile" needs two. */
static void
enter(struct show *s, const char *key)
{
	const char *last = strrchr(key, '.');
	size_t len = last != NULL ? (size_t)(last - key) + 1 : 0, common = 0;

	for (size_t i = 0; i < len && s->section[i] == key[i]; i++) {
		if (key[i] == '.')
			common = i + 1;
	}
	for (size_t from = common; from < len;) {
		size_t part = strcspn(key + from, ".");
		size_t depth = 0;
		for (size_t i = 0; i < from; i++)
			depth += key[i] == '.';
		hl_buf_putf(s->out, "%*s%.*s:\n", (int)depth * 2, "", (int)part, key + from);
		from += part + 1;
	}
	HL_BUG_ON(len >= sizeof(s->section));
	memcpy(s->section, key, len);
	s->section[len] = '\0';
}

static void
put_allowed(struct show *s, enum policy_field field)
{
	const struct policy_state *state = &s->policy->states[field];

	if (!policy_kind_is_set(policy_field_kind(field))) {
		policy_put_items(s->out, policy_field_kind(field), &state->allowed);
		return;
	}
	hl_buf_putc(s->out, '[');
	for (size_t i = 0; i < s->flat.len; i++) {
		hl_buf_puts(s->out, i > 0 ? ", " : "");
		if (s->flat.v[i]->record != NULL)
			hl_buf_puts(s->out, s->flat.v[i]->text);
		else
			policy_put_scalar(s->out, s->flat.v[i]->text);
	}
	hl_buf_putc(s->out, ']');
}

static void
put_bound(struct show *s, enum policy_field field)
{
	if (policy_kind_is_list(policy_field_kind(field)))
		put_allowed(s, field);
	else
		policy_put_number(s->out, field, s->policy->states[field].bound);
}

/* {max: 4GiB, default: 2GiB}, {allowed: [...], default: [...]}, {default: x}, or the value alone.
 */
static void
put_forms(struct show *s, enum policy_field field, const struct policy_value *value)
{
	hl_buf_putc(s->out, '{');
	if (value->is_bounded && value->kind != POLICY_KIND_STRING) {
		hl_buf_putf(s->out, "%s: ", policy_field_forms(field)[0]);
		put_bound(s, field);
		hl_buf_puts(s->out, ", ");
	}
	hl_buf_puts(s->out, "default: ");
	policy_value_format(value, field, s->out);
	hl_buf_putc(s->out, '}');
}

static int
compare_ref(const void *text, const void *ref)
{
	return strcmp(*(const char *const *)text, (*(const struct policy_item *const *)ref)->text);
}

/* A list that is both bound and default; the order of a bound means nothing. */
static bool
is_same_list(const struct show *s, enum policy_field field, const struct policy_value *value)
{
	const struct policy_state *state = &s->policy->states[field];

	if (!value->is_bounded)
		return false;
	if (!policy_kind_is_set(value->kind))
		return value->items_len == 0 && state->allowed.len == 0;
	if (s->flat.len != value->items_len)
		return false;
	for (size_t i = 0; i < value->items_len; i++) {
		const char *text = value->items[i].text;
		if (bsearch(&text, s->flat.v, s->flat.len, sizeof(*s->flat.v), compare_ref) == NULL)
			return false;
	}
	return true;
}

static bool
is_alone(const struct show *s, enum policy_field field, const struct policy_value *value)
{
	if (policy_field_info(field)->merge == MERGE_UNION_DENY || value->kind == POLICY_KIND_MAP ||
	    value->kind == POLICY_KIND_NAMED || value->kind == POLICY_KIND_WORKDIR)
		return true;
	if (policy_kind_is_list(value->kind))
		return is_same_list(s, field, value);
	return value->is_bounded &&
	       (value->kind == POLICY_KIND_STRING || value->number == value->bound_number);
}

static void
put_home(struct show *s, const struct policy_value *value)
{
	const struct policy_state *state = &s->policy->states[POLICY_FS_HOME];
	const char *const *words = policy_field_words(POLICY_FS_HOME);
	/* {kind: x} binds at x unless max says otherwise; no bound is the loosest one. */
	uint64_t bound = state->is_bounded ? state->bound : POLICY_HOME_BIND;

	policy_value_format(value, POLICY_FS_HOME, s->out);
	if (s->out->failed || bound == value->number)
		return;
	s->out->len--; /* the brace */
	hl_buf_putf(s->out, ", max: %s}", words[bound]);
}

/* A field that others begin with (image) opens a section; its forms are keys in there. */
static void
put_open_field(struct show *s, enum policy_field field, const struct policy_value *value)
{
	const char *key = policy_field_key(field);
	size_t indent = policy_key_depth(key) * 2;
	const char *last = strrchr(key, '.');

	hl_buf_putf(s->out, "%*s%s:\n", (int)indent, "", last != NULL ? last + 1 : key);
	if (value->is_bounded) {
		hl_buf_putf(s->out, "%*sallowed: ", (int)indent + 2, "");
		put_allowed(s, field);
		hl_buf_putc(s->out, '\n');
	}
	hl_buf_putf(s->out, "%*sdefault: ", (int)indent + 2, "");
	policy_value_format(value, field, s->out);
	put_origins(s, value);
	snprintf(s->section, sizeof(s->section), "%s.", key);
}

/* For the digest: a value of a variable may be private, and the hash of a short one tells it. */
static void
put_names(struct show *s, const struct policy_value *value)
{
	for (size_t i = 0; i < value->items_len; i++)
		hl_buf_putf(s->out, "%s ", value->items[i].name);
}

/* All forms of a value that stand in one line. */
static void
put_value(struct show *s, enum policy_field field, const struct policy_value *value)
{
	if ((s->flags & POLICY_BODY_NAMES) != 0 && value->kind == POLICY_KIND_MAP)
		put_names(s, value);
	else if (value->kind == POLICY_KIND_HOME)
		put_home(s, value);
	else if (is_alone(s, field, value))
		policy_value_format(value, field, s->out);
	else
		put_forms(s, field, value);
}

static void
put_field(struct show *s, enum policy_field field)
{
	const struct policy_value *value = &s->policy->values[field];
	const char *key = policy_field_key(field);
	const char *last = strrchr(key, '.');

	if (value->kind == POLICY_KIND_STRING && value->text[0] == '\0')
		return;
	/* Without entries it would bound them to none. */
	if (value->kind == POLICY_KIND_NAMED && !value->is_bounded)
		return;
	if (policy_kind_is_set(value->kind) &&
	    !policy_flatten(&s->scratch, &s->policy->states[field], &s->flat)) {
		s->is_oom = true;
		return;
	}
	enter(s, key);
	if (policy_field_has_below(key, strlen(key))) {
		put_open_field(s, field, value);
		return;
	}
	hl_buf_putf(s->out, "%*s%s: ", (int)policy_key_depth(key) * 2, "",
	    last != NULL ? last + 1 : key);
	put_value(s, field, value);
	put_origins(s, value);
}

static void
put_locks(struct show *s)
{
	bool is_first = true;

	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		if (!s->policy->states[i].is_locked)
			continue;
		hl_buf_puts(s->out, is_first ? "lock: [" : ", ");
		hl_buf_puts(s->out, policy_field_key((enum policy_field)i));
		is_first = false;
	}
	if (!is_first)
		hl_buf_puts(s->out, "]\n");
}

static bool
was_listed(const struct policy *policy, size_t layers, const char *name)
{
	for (size_t i = 0; i < layers; i++) {
		for (size_t j = 0; j < policy->layers[i]->degrade.len; j++) {
			if (strcmp(policy->layers[i]->degrade.v[j].text, name) == 0)
				return true;
		}
	}
	return false;
}

/* Whether a name that holds in the whole stack takes the control. */
static bool
is_told(const struct policy *policy, const char *control)
{
	for (size_t i = 0; i < policy->layers_len; i++) {
		const struct policy_read *layer = policy->layers[i];
		for (size_t j = 0; j < layer->degrade.len; j++) {
			const char *name = layer->degrade.v[j].text;
			if (policy_may_degrade(policy, name, NULL) && hl_glob_match(name, control))
				return true;
		}
	}
	return false;
}

static void
put_degraded(struct show *s, const char *name, bool *is_first)
{
	hl_buf_puts(s->out, *is_first ? "degrade: {allow: [" : ", ");
	policy_put_scalar(s->out, name);
	*is_first = false;
}

/* The names that hold in every file; a pattern counts as a name of its own, and where it does not
 * hold as a whole, what is left of it is named. */
static void
put_degrade(struct show *s)
{
	bool is_first = true, has_any = false;

	for (size_t i = 0; i < s->policy->layers_len; i++) {
		const struct policy_read *layer = s->policy->layers[i];
		has_any = has_any || layer->has_degrade;
		for (size_t j = 0; j < layer->degrade.len; j++) {
			const char *name = layer->degrade.v[j].text;
			if (policy_may_degrade(s->policy, name, NULL) &&
			    !was_listed(s->policy, i, name))
				put_degraded(s, name, &is_first);
		}
	}
	for (size_t i = 0; has_any && i < POLICY_FIELD_MAX; i++) {
		const char *key = policy_field_key((enum policy_field)i);
		if (policy_may_degrade(s->policy, key, NULL) && !is_told(s->policy, key))
			put_degraded(s, key, &is_first);
	}
	if (has_any)
		hl_buf_puts(s->out, is_first ? "degrade: {allow: []}\n" : "]}\n");
}

int
policy_put_body(const struct policy *policy, unsigned flags, struct hl_buf *out, struct hl_err *err)
{
	struct show s = { .policy = policy, .flags = flags, .out = out };

	put_locks(&s);
	put_degrade(&s);
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++)
		put_field(&s, (enum policy_field)i);
	policy_arena_done(&s.scratch);
	return s.is_oom ? hl_err_oom(err) : hl_buf_check(out, "policy", err);
}

int
policy_put_field_text(const struct policy *policy, enum policy_field field, struct hl_buf *out,
    struct hl_err *err)
{
	struct show s = { .policy = policy, .flags = POLICY_BODY_NAMES, .out = out };

	s.is_oom = policy_kind_is_set(policy_field_kind(field)) &&
		   !policy_flatten(&s.scratch, &policy->states[field], &s.flat);
	if (!s.is_oom)
		put_value(&s, field, &policy->values[field]);
	policy_arena_done(&s.scratch);
	return s.is_oom ? hl_err_oom(err) : hl_buf_check(out, "value", err);
}

int
policy_show(const struct policy *policy, unsigned flags, struct hl_buf *out, struct hl_err *err)
{
	const char *id = "effective";

	for (size_t i = 0; i < policy->layers_len; i++) {
		if (!policy->layers[i]->is_level)
			id = policy->layers[i]->row.id;
	}
	hl_buf_puts(out, "version: 1\nid: ");
	policy_put_scalar(out, id);
	hl_buf_puts(out, "\nlevel: open@1");
	if ((flags & POLICY_SHOW_ORIGINS) != 0)
		hl_buf_puts(out, "  # bounds nothing; what follows is all there is");
	hl_buf_putc(out, '\n');
	return policy_put_body(policy, flags, out, err);
}
