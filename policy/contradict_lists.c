/*
 * Contradictions of lists: places inside, names of the environment, hosts of secrets.
 */
#include <string.h>

#include "base/base.h"
#include "policy/contradict.h"
#include "policy/records.h"

#include "base/banned.h"

/* ------------------------------------------------------------------------------------------------
 * Places inside
 */

struct place {
	const char *dst;
	struct spot at;
};

struct place_list {
	struct place *v;
	size_t len;
};

/* A default that no file asks for gives way to what a file puts there. */
static bool
is_of_file(const struct hl_origin *origin)
{
	return origin->layer != NULL && strcmp(origin->layer, "level") != 0 &&
	       strcmp(origin->layer, "built-in") != 0;
}

static void
add_places(struct look *look, enum policy_field field, struct place_list *places)
{
	struct said said = contradict_said(look, field);

	for (size_t i = 0; i < said.items.len; i++) {
		const struct policy_item *item = &said.items.v[i];
		const char *dst = item->tmpfs.dst != NULL ? item->tmpfs.dst : item->mount.dst;
		/* The working directory's place is that of its key. */
		struct spot at =
		    field == POLICY_FS_WORKDIR ? said.used_at : contradict_spot(&item->origin);
		if (dst != NULL && is_of_file(&at.origin))
			places->v[places->len++] = (struct place){ dst, at };
	}
}

/* The working directory, mounts and tmpfs; false: no memory. Only what would be mounted: a bound
 * may name one place in several ways. */
static bool
places_of(struct look *look, struct place_list *ret_places)
{
	static const enum policy_field fields[] = { POLICY_FS_WORKDIR, POLICY_FS_MOUNTS,
		POLICY_FS_TMPFS };
	size_t room = 0;

	for (size_t i = 0; i < HL_ARRAY_SIZE(fields); i++)
		room += look->layer != NULL ? look->layer->given[fields[i]].items.len
					    : look->policy->states[fields[i]].items.len;
	ret_places->v = policy_arena_array(&look->policy->arena, room, sizeof(*ret_places->v));
	if (ret_places->v == NULL)
		look->is_oom = true;
	for (size_t i = 0; ret_places->v != NULL && i < HL_ARRAY_SIZE(fields); i++)
		add_places(look, fields[i], ret_places);
	return ret_places->v != NULL;
}

/* Each with the first that has the same, told at the later one. */
void
contradict_places(struct look *look)
{
	struct place_list places = { 0 };

	if (!places_of(look, &places))
		return;
	for (size_t i = 0; i < places.len && !contradict_is_full(look); i++) {
		const struct place *second = &places.v[i];
		size_t j = 0;
		while (j < i && strcmp(places.v[j].dst, second->dst) != 0)
			j++;
		if (j == i)
			continue;
		const struct place *first = &places.v[j];
		if (contradict_layer(look->policy, &first->at.origin) >
		    contradict_layer(look->policy, &second->at.origin))
			contradict_found(look, &first->at, &second->at, first->dst, NULL);
		else
			contradict_found(look, &second->at, &first->at, second->dst, NULL);
	}
}

void
contradict_home(struct look *look)
{
	struct said home = contradict_said(look, POLICY_FS_HOME);
	struct place_list places = { 0 };

	/* There is one also where nobody speaks of it; then the stack is told. */
	if ((look->layer != NULL && !home.is_set) || !places_of(look, &places))
		return;
	for (size_t i = 0; i < places.len; i++)
		if (strcmp(places.v[i].dst, "${home}") == 0)
			contradict_found(look, &places.v[i].at,
			    home.is_used ? &home.used_at : &home.bound_at, NULL, NULL);
}

void
contradict_root(struct look *look)
{
	struct said root = contradict_said(look, POLICY_FS_ROOT);
	struct said workdir = contradict_said(look, POLICY_FS_WORKDIR);

	if (!contradict_is_so(&root, &look->rule->by_is) || workdir.items.len == 0 ||
	    workdir.items.v[0].mount.dst == NULL || strcmp(workdir.items.v[0].mount.dst, "/") != 0)
		return;
	contradict_found(look, &workdir.used_at, &root.bound_at, NULL, NULL);
}

/* Certain only: of a pattern the host decides what it covers, but for all below a directory. */
static bool
is_denied(const char *denied, const char *path)
{
	size_t same = 0;

	if (strcmp(denied, "/") == 0)
		return true;
	/* Most differ early: all of a list are asked for each mount. */
	while (denied[same] != '\0' && denied[same] == path[same])
		same++;
	bool is_it = denied[same] == '\0' && (path[same] == '/' || path[same] == '\0');
	bool is_below = same > 0 && denied[same - 1] == '/' && path[same] != '\0' &&
			strcmp(denied + same, "**") == 0;
	return (is_it || is_below) && strcspn(denied, "*?$") >= same;
}

static void
find_denied(struct look *look, const struct policy_items *denied, const char *path,
    const struct spot *at)
{
	for (size_t i = 0; i < denied->len; i++) {
		if (!is_denied(denied->v[i].text, path))
			continue;
		struct spot other = contradict_spot(&denied->v[i].origin);
		contradict_found(look, at, &other, path, NULL);
		return;
	}
}

/* What fs.deny covers is no source of a mount, and no working directory. */
void
contradict_denied(struct look *look)
{
	struct said denied = contradict_said(look, POLICY_FS_DENY);
	struct said mounts = contradict_said(look, POLICY_FS_MOUNTS);
	struct said workdir = contradict_said(look, POLICY_FS_WORKDIR);

	if (denied.items.len == 0)
		return;
	for (size_t i = 0; i < mounts.items.len && !contradict_is_full(look); i++) {
		const struct policy_item *item = &mounts.items.v[i];
		struct spot at = contradict_spot(&item->origin);
		if (!item->mount.is_volume)
			find_denied(look, &denied.items, item->mount.src, &at);
	}
	if (workdir.items.len == 0 || workdir.items.v[0].mount.src == NULL)
		return;
	struct spot at = look->layer != NULL ? workdir.used_at
					     : contradict_spot(&look->policy->workdir_path_origin);
	find_denied(look, &denied.items, workdir.items.v[0].mount.src, &at);
}

/* ------------------------------------------------------------------------------------------------
 * Names
 */

/* What one file says of both was told of that file, and takes long to look for. */
static bool
are_of_one_file(const struct policy *policy)
{
	size_t n = 0;

	for (size_t i = 0; i < policy->layers_len; i++)
		n += policy->layers[i]->given[POLICY_ENV_SET].is_set ||
		     policy->layers[i]->given[POLICY_ENV_DENY].is_set;
	return n < 2;
}

void
contradict_variables(struct look *look)
{
	if (look->layer == NULL && are_of_one_file(look->policy))
		return;
	struct said set = contradict_said(look, POLICY_ENV_SET),
		    denied = contradict_said(look, POLICY_ENV_DENY);
	size_t by;

	for (size_t i = 0; i < set.items.len && !contradict_is_full(look); i++) {
		if (!policy_name_is_denied(&denied.items, set.items.v[i].name, &by))
			continue;
		struct spot at = contradict_spot(&set.items.v[i].origin);
		struct spot other = contradict_spot(&denied.items.v[by].origin);
		contradict_found(look, &at, &other, set.items.v[i].name, NULL);
	}
}

/* Whether the host may be reached, and the proxy may read what goes there. */
static const char *
why_no_secret(const struct policy_refs *allow, const char *host)
{
	const char *why = " is not in network.allow";

	for (size_t i = 0; i < allow->len; i++) {
		const struct policy_record *record = allow->v[i]->record;
		if (!policy_host_is_inside(host,
			policy_record_text(record, RECORD_NETWORK_ALLOW_HOST)))
			continue;
		if (strcmp(policy_record_text(record, RECORD_NETWORK_ALLOW_TLS), "splice") != 0)
			return NULL;
		why = " is reached unread, by tls: splice";
	}
	return why;
}

/* network.use may bring further hosts, which are not known here. */
void
contradict_secrets(struct look *look)
{
	struct said allow = contradict_said(look, POLICY_NETWORK_ALLOW);
	struct policy_refs hosts_allowed = { 0 };

	if (!allow.is_set || contradict_said(look, POLICY_NETWORK_USE).is_set)
		return;
	struct said secrets = contradict_said(look, POLICY_SECRETS);
	if (secrets.items.len == 0)
		return;
	if (!contradict_allowed(look, POLICY_NETWORK_ALLOW, &hosts_allowed)) {
		look->is_oom = true;
		return;
	}
	for (size_t i = 0; i < secrets.items.len && !contradict_is_full(look); i++) {
		const struct policy_item *secret = &secrets.items.v[i];
		const struct record_value *hosts =
		    policy_record_value(secret->record, RECORD_SECRETS_HOSTS);
		struct spot at = contradict_spot(&secret->origin);
		for (size_t j = 0; j < hosts->len; j++) {
			const char *why = why_no_secret(&hosts_allowed, hosts->v[j]);
			if (why != NULL)
				contradict_found(look, &at,
				    allow.is_bounded ? &allow.bound_at : &allow.used_at,
				    secret->name, why);
		}
	}
}
