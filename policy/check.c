/*
 * Contradictions inside one file. Across layers the same things are no mistake of anybody's: what a
 * tighter layer makes meaningless lies dormant.
 */
#include <string.h>

#include "base/base.h"
#include "policy/records.h"
#include "policy/state.h"

#include "base/banned.h"

static bool
is_allowed(enum policy_kind kind, const struct policy_given *given, const struct policy_item *item)
{
	if (!policy_kind_is_set(kind))
		return policy_place_is_inside(kind, &given->allowed, item);
	for (size_t i = 0; i < given->allowed.len; i++) {
		if (policy_item_is_inside(item, &given->allowed.v[i]))
			return true;
	}
	return false;
}

static void
check_list(const struct policy_given *given, enum policy_field field, struct diag *diag)
{
	for (size_t i = 0; i < given->items.len; i++) {
		if (is_allowed(policy_field_kind(field), given, &given->items.v[i]))
			continue;
		policy_diag_error(diag, HLP_17, policy_at_item(&given->items.v[i]),
		    "the default of %s is not among those allowed", policy_field_key(field));
		policy_diag_help(diag, "add it to allowed or remove it from default");
		return;
	}
}

static void
check_number(const struct policy_given *given, enum policy_field field, struct diag *diag)
{
	if (policy_number_is_inside(field, given->number, given->bound))
		return;
	policy_diag_error(diag, HLP_17, given->default_at,
	    "the default of %s is outside its own bound", policy_field_key(field));
	policy_diag_help(diag, policy_field_info(field)->merge == MERGE_BITS
				   ? "give the default each bit of min"
			       : policy_field_is_least(field) ? "raise the default or lower min"
							      : "lower the default or raise max");
}

/* A default that the same key's own bound refuses. */
static void
check_defaults(const struct policy_read *layer, struct diag *diag)
{
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++) {
		const struct policy_given *given = &layer->given[i];
		if (given->is_short || !given->has_bound || !given->has_default)
			continue;
		if (policy_kind_is_list(policy_field_kind((enum policy_field)i)))
			check_list(given, (enum policy_field)i, diag);
		else
			check_number(given, (enum policy_field)i, diag);
	}
}

static void
report_twice(struct diag *diag, const struct policy_item *second, const struct policy_item *first,
    const char *dst)
{
	policy_diag_error(diag, HLP_15, policy_at_item(second),
	    "two things are mounted on \"%.80s\"", dst);
	policy_diag_other(diag, first->origin.where, "the first is here");
	policy_diag_help(diag, "keep one; nested destinations are fine");
}

static const char *
dst_of(const struct policy_item *item)
{
	return item->tmpfs.dst != NULL ? item->tmpfs.dst : item->mount.dst;
}

/* Pairs of a short list and another, or of one list with itself. */
static void
check_pairs(const struct policy_items *first, const struct policy_items *second, struct diag *diag)
{
	for (size_t i = 0; i < second->len; i++) {
		size_t end = first == second ? i : first->len;
		for (size_t j = 0; j < end && !policy_diag_is_full(diag); j++) {
			if (strcmp(dst_of(&second->v[i]), dst_of(&first->v[j])) != 0)
				continue;
			report_twice(diag, &second->v[i], &first->v[j], dst_of(&first->v[j]));
			break;
		}
	}
}

static void
check_places(const struct policy_read *layer, struct diag *diag)
{
	const struct policy_given *mounts = &layer->given[POLICY_FS_MOUNTS];
	const struct policy_given *tmpfs = &layer->given[POLICY_FS_TMPFS];
	const struct policy_given *workdir = &layer->given[POLICY_FS_WORKDIR];

	/* Only what would be mounted: a bound may name one place in several ways. */
	check_pairs(&mounts->items, &mounts->items, diag);
	check_pairs(&tmpfs->items, &tmpfs->items, diag);
	check_pairs(&mounts->items, &tmpfs->items, diag);
	if (workdir->items.len == 0 || workdir->items.v[0].mount.dst == NULL)
		return;
	check_pairs(&workdir->items, &mounts->items, diag);
	check_pairs(&workdir->items, &tmpfs->items, diag);
}

/* The loosest that a file's ranked field can come to: its bound, or else its default. */
static bool
is_held_at(const struct policy_given *given, uint64_t rank)
{
	return given->is_set && given->has_bound && given->bound <= rank;
}

static void
check_words(const struct policy_read *layer, struct diag *diag)
{
	const struct policy_given *caps = &layer->given[POLICY_PROCESS_CAPS];
	const struct policy_given *seccomp = &layer->given[POLICY_PROCESS_SECCOMP_PROFILE];
	const struct policy_given *root = &layer->given[POLICY_FS_ROOT];
	const struct policy_given *workdir = &layer->given[POLICY_FS_WORKDIR];

	if (caps->items.len > 0 && is_held_at(seccomp, 0)) {
		policy_diag_error(diag, HLP_15, caps->at,
		    "process.caps keeps capabilities that seccomp profile strict makes useless");
		policy_diag_other(diag, policy_origin(layer, seccomp->at).where, "strict is here");
		policy_diag_help(diag, "write caps: [] or another profile");
	}
	if (is_held_at(root, 0) && workdir->items.len > 0 &&
	    workdir->items.v[0].mount.dst != NULL &&
	    strcmp(workdir->items.v[0].mount.dst, "/") == 0) {
		policy_diag_error(diag, HLP_15, workdir->at,
		    "fs.workdir at \"/\" would replace the read-only root");
		policy_diag_other(diag, policy_origin(layer, root->at).where, "read_only is here");
	}
}

/* What the file comes to when nobody asks for something else: its default is that word. */
static bool
is_used_at(const struct policy_given *given, uint64_t rank)
{
	return given->is_set && given->has_default && given->number == rank;
}

/* An error at one key, which says where the other one is. */
static void
contradicts(struct diag *diag, const struct policy_read *layer, const struct policy_given *given,
    const struct policy_given *other, const char *message)
{
	policy_diag_error(diag, HLP_15, given->at, "%s", message);
	policy_diag_other(diag, policy_origin(layer, other->at).where, "the other is here");
}

/* Without a network there is no port to publish, and no resolver of the system's. */
static void
check_network(const struct policy_read *layer, struct diag *diag)
{
	const struct policy_given *mode = &layer->given[POLICY_NETWORK_MODE];
	const struct policy_given *publish = &layer->given[POLICY_NETWORK_PUBLISH];
	const struct policy_given *dns = &layer->given[POLICY_NETWORK_DNS];
	const uint64_t none = 0, system_resolver = 2;

	if (!is_held_at(mode, none))
		return;
	if (publish->items.len > 0) {
		policy_diag_error(diag, HLP_29, publish->at,
		    "network.publish names ports, and network.mode is none");
		policy_diag_other(diag, policy_origin(layer, mode->at).where, "none is here");
		policy_diag_help(diag, "write publish: [] or another mode");
	}
	if (is_used_at(dns, system_resolver)) {
		policy_diag_error(diag, HLP_29, dns->at,
		    "network.dns is system, and network.mode is none");
		policy_diag_other(diag, policy_origin(layer, mode->at).where, "none is here");
		policy_diag_help(diag, "write dns: none or another mode");
	}
}

static bool
are_all(const struct policy_given *backends, bool (*is_such)(const char *backend))
{
	const struct policy_items *named =
	    backends->has_bound ? &backends->allowed : &backends->items;

	for (size_t i = 0; i < named->len; i++)
		if (!is_such(named->v[i].text))
			return false;
	return named->len > 0;
}

/* No limit is not a longer one: then the sandbox's life is the limit. On another backend, too, a
 * command may run for longer. */
static void
check_times(const struct policy_read *layer, struct diag *diag)
{
	const struct policy_given *wall = &layer->given[POLICY_LIMITS_WALL];
	const struct policy_given *life = &layer->given[POLICY_CLOUD_LIFETIME];
	uint64_t longest = wall->has_default ? wall->number : wall->bound;

	if (!wall->is_set || !life->has_bound || longest == POLICY_UNLIMITED ||
	    longest <= life->bound || !are_all(&layer->given[POLICY_BACKENDS], policy_is_cloud))
		return;
	contradicts(diag, layer, wall, life,
	    "limits.wall is longer than cloud.lifetime, the life of the sandbox itself");
	policy_diag_help(diag, "lower limits.wall, or raise cloud.lifetime");
}

/* Files of filters narrow a profile that is there. */
static void
check_filters(const struct policy_read *layer, struct diag *diag)
{
	const struct policy_given *files = &layer->given[POLICY_PROCESS_SECCOMP_FILES];
	const struct policy_given *profile = &layer->given[POLICY_PROCESS_SECCOMP_PROFILE];
	const uint64_t none = 3;

	if (files->items.len == 0 || !is_used_at(profile, none))
		return;
	contradicts(diag, layer, files, profile,
	    "process.seccomp.files is not offered with process.seccomp.profile none");
	policy_diag_help(diag, "name a profile, such as broad: the files deny besides");
}

/* What a session leaves in a container that is kept meets the next one. Where its record may be
 * missing nobody can tell whose it is. No error: an unwritable log is the exception. */
static void
check_kept(const struct policy_read *layer, struct diag *diag)
{
	const struct policy_given *persist = &layer->given[POLICY_SESSION_PERSIST];
	const struct policy_given *required = &layer->given[POLICY_AUDIT_REQUIRED];
	const uint64_t task = 2, optional = 1;

	if (!is_used_at(persist, task) || !is_used_at(required, optional))
		return;
	policy_diag_warn(diag, HLP_31, persist->default_at,
	    "session.persist keeps a container, and audit.required is false");
	policy_diag_other(diag, policy_origin(layer, required->default_at).where,
	    "the other is here");
	policy_diag_help(diag, "write audit.required: true, or persist: session");
}

static bool
is_ssh(const char *backend)
{
	return strcmp(backend, "ssh") == 0;
}

/* The lock on files is the runner's, which every other backend has. */
static void
check_landlock(const struct policy_read *layer, struct diag *diag)
{
	const struct policy_given *landlock = &layer->given[POLICY_FS_LANDLOCK];
	const struct policy_given *runner = &layer->given[POLICY_SSH_RUNNER];
	const uint64_t required = 0, optional = 1;

	if (!is_held_at(landlock, required) || !is_used_at(runner, optional) ||
	    !are_all(&layer->given[POLICY_BACKENDS], is_ssh))
		return;
	contradicts(diag, layer, landlock, runner,
	    "fs.landlock is required, and ssh.runner, which applies it, is optional");
	policy_diag_help(diag, "write ssh.runner: required, or add a backend");
}

static void
check_variables(const struct policy_read *layer, struct diag *diag)
{
	const struct policy_items *set = &layer->given[POLICY_ENV_SET].items;
	const struct policy_items *denied = &layer->given[POLICY_ENV_DENY].items;
	size_t by;

	for (size_t i = 0; i < set->len; i++) {
		if (!policy_name_is_denied(denied, set->v[i].name, &by))
			continue;
		policy_diag_error(diag, HLP_15, policy_at_item(&set->v[i]),
		    "env.set names %.64s, which env.deny denies", set->v[i].name);
		policy_diag_other(diag, denied->v[by].origin.where, "it is denied here");
		policy_diag_help(diag, "keep one of them");
	}
}

/* ------------------------------------------------------------------------------------------------
 * Records
 */

static void
report_again(struct diag *diag, enum policy_field field, const struct policy_item *second,
    const struct policy_item *first, const char *member)
{
	if (member != NULL)
		policy_diag_error(diag, HLP_15, policy_at_item(second),
		    "two members of %s have the same %s", policy_field_key(field), member);
	else
		policy_diag_error(diag, HLP_15, policy_at_item(second),
		    "a member of %s is there twice", policy_field_key(field));
	policy_diag_other(diag, first->origin.where, "the first is here");
	policy_diag_help(diag, "keep one");
}

/* The same text, or where a member is given the same value of it. */
static bool
is_again(const struct policy_item *a, const struct policy_item *b, size_t member)
{
	if (member == RECORD_INDEX_MAX)
		return strcmp(a->text, b->text) == 0;
	return strcmp(policy_record_text(a->record, (enum record_index)member),
		   policy_record_text(b->record, (enum record_index)member)) == 0;
}

static bool
check_again(enum policy_field field, const struct policy_items *items, size_t member,
    struct diag *diag)
{
	for (size_t i = 0; i < items->len; i++) {
		for (size_t j = 0; j < i; j++) {
			if (!is_again(&items->v[i], &items->v[j], member))
				continue;
			report_again(diag, field, &items->v[i], &items->v[j],
			    member != RECORD_INDEX_MAX ? policy_record_member(member)->key : NULL);
			return false;
		}
	}
	return true;
}

/* A bound may name one thing in several ways; what is used may not. */
static void
check_records(const struct policy_read *layer, enum policy_field field, struct diag *diag)
{
	const struct policy_given *given = &layer->given[field];

	if (!check_again(field, &given->items, RECORD_INDEX_MAX, diag) ||
	    (!given->is_short && !check_again(field, &given->allowed, RECORD_INDEX_MAX, diag)))
		return;
	for (size_t i = 0; i < RECORD_INDEX_MAX; i++) {
		const struct record_member *member = policy_record_member(i);
		if (member->field == field && member->rule == RECORD_RULE_UNIQUE)
			check_again(field, &given->items, i, diag);
	}
}

/* Whether the file lets the host be reached, and the proxy read what goes there. */
static const char *
why_no_secret(const struct policy_items *allow, const char *host)
{
	const char *why = "is not in network.allow";

	for (size_t i = 0; i < allow->len; i++) {
		const struct policy_record *record = allow->v[i].record;
		if (!policy_host_is_inside(host,
			policy_record_text(record, RECORD_NETWORK_ALLOW_HOST)))
			continue;
		if (strcmp(policy_record_text(record, RECORD_NETWORK_ALLOW_TLS), "splice") != 0)
			return NULL;
		why = "is reached unread, by tls: splice";
	}
	return why;
}

/* network.use may bring further hosts, which are not known here. */
static void
check_secrets(const struct policy_read *layer, struct diag *diag)
{
	const struct policy_given *allow = &layer->given[POLICY_NETWORK_ALLOW];
	const struct policy_given *secrets = &layer->given[POLICY_SECRETS];

	if (!allow->is_set || layer->given[POLICY_NETWORK_USE].is_set)
		return;
	for (size_t i = 0; i < secrets->items.len; i++) {
		const struct policy_item *secret = &secrets->items.v[i];
		const struct record_value *hosts =
		    policy_record_value(secret->record, RECORD_SECRETS_HOSTS);
		for (size_t j = 0; j < hosts->len; j++) {
			const char *why =
			    why_no_secret(allow->has_bound ? &allow->allowed : &allow->items,
				hosts->v[j]);
			if (why == NULL)
				continue;
			policy_diag_error(diag, HLP_15, policy_at_item(secret),
			    "a host of the secret %.64s %s", secret->name, why);
			policy_diag_other(diag, policy_origin(layer, allow->at).where,
			    "network.allow is here");
			policy_diag_help(diag, "add the host there, or take it from the secret");
		}
	}
}

void
policy_check_file(const struct policy_read *layer, struct diag *diag)
{
	check_defaults(layer, diag);
	check_places(layer, diag);
	check_words(layer, diag);
	check_network(layer, diag);
	check_times(layer, diag);
	check_filters(layer, diag);
	check_landlock(layer, diag);
	check_kept(layer, diag);
	check_variables(layer, diag);
	for (size_t i = 0; i < POLICY_FIELD_MAX; i++)
		if (policy_field_kind((enum policy_field)i) == POLICY_KIND_RECORDS)
			check_records(layer, (enum policy_field)i, diag);
	check_secrets(layer, diag);
}
