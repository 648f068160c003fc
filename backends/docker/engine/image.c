/*
 * Before a container: which engine is it, and is the image there?
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/engine/pull.h"

#include "base/banned.h"

enum pull {
	PULL_NEVER,
	PULL_MISSING,
	PULL_ALWAYS
}; /* as enum plan_pull */

/* The manifest's digest: the asked one, else that of the repository that was asked, else any, else
 * the image's own id. */
static void
choose_digest(const json_t *object, const char *image, struct image_facts *facts)
{
	const json_t *digests = inspect_member(object, "RepoDigests");
	const char *asked = strchr(image, '@');
	int best = 0;

	snprintf(facts->digest, sizeof(facts->digest), "%s", facts->id);
	for (size_t i = 0; i < json_array_size(digests); i++) {
		const json_t *item = json_array_get(digests, i);
		const char *name = json_is_string(item) ? json_string_value(item) : "";
		const char *at = strchr(name, '@');
		if (at == NULL || strlen(at + 1) >= sizeof(facts->digest))
			continue;
		int rank = asked != NULL && strcmp(asked, at) == 0     ? 3
			   : reference_is_same_repository(image, name) ? 2
								       : 1;
		if (rank <= best)
			continue;
		best = rank;
		snprintf(facts->digest, sizeof(facts->digest), "%s", at + 1);
	}
}

static int
check_digest(const char *image, const struct image_facts *facts, struct hl_err *err)
{
	const char *at = strchr(image, '@');
	const char *wanted = at != NULL ? at + 1 : image;

	if (strncmp(wanted, "sha256:", 7) != 0)
		return 0;
	if (strcmp(wanted, facts->digest) == 0 || (at == NULL && strcmp(wanted, facts->id) == 0))
		return 0;
	return hl_err_set(err, HLB_48, "the engine's image '%s' has the digest '%s'", image,
	    facts->digest);
}

static int
take_env(const json_t *object, struct image_facts *facts, struct hl_err *err)
{
	const json_t *env = inspect_member(object, "Config.Env");

	for (size_t i = 0; i < json_array_size(env); i++) {
		const json_t *item = json_array_get(env, i);
		const char *text = json_is_string(item) ? json_string_value(item) : NULL;
		const char *equals = text != NULL ? strchr(text, '=') : NULL;
		if (equals == NULL || !hl_is_env_name(text, (size_t)(equals - text)))
			continue;
		hl_strv_add(&facts->env, text);
	}
	return hl_strv_check(&facts->env, "environment of the image", err);
}

static int
take_volumes(json_t *object, struct image_facts *facts, struct hl_err *err)
{
	json_t *config = json_object_get(object, "Config");
	const char *place;
	json_t *nothing;

	json_object_foreach(json_object_get(config, "Volumes"), place, nothing)
	    hl_strv_add(&facts->volumes, place);
	return hl_strv_check(&facts->volumes, "volumes of the image", err);
}

static int
take_image(json_t *object, const char *image, struct image_facts *facts, struct hl_err *err)
{
	const char *id = inspect_string(object, "Id", sizeof(facts->id) - 1);
	const char *user = inspect_string(object, "Config.User", sizeof(facts->user) - 1);
	const json_t *user_member = inspect_member(object, "Config.User");

	if (id == NULL || strncmp(id, "sha256:", 7) != 0)
		return hl_err_set(err, HLB_43, "the engine does not say the id of '%s'", image);
	/* An unreadable user must not be taken for none. */
	if (user == NULL && user_member != NULL && !json_is_null(user_member))
		return hl_err_set(err, HLB_43, "the user of '%s' is unreadable", image);
	snprintf(facts->id, sizeof(facts->id), "%s", id);
	snprintf(facts->user, sizeof(facts->user), "%s", user != NULL ? user : "");
	choose_digest(object, image, facts);
	if (check_digest(image, facts, err) < 0)
		return -1;
	if (take_env(object, facts, err) < 0)
		return -1;
	return take_volumes(object, facts, err);
}

/* 1 it is there, 0 it is not, -1 error. */
static int
inspect_image(struct engine *engine, const char *image, struct image_facts *facts,
    struct hl_err *err)
{
	json_t *object = NULL;
	int found = engine->transport->look_image(engine, image, &object, err);

	if (found > 0 && take_image(object, image, facts, err) < 0)
		found = -1;
	json_decref(object);
	return found;
}

/* What is not there, and what can be done about it. */
static int
image_absent(const struct engine *engine, const char *image, bool is_pulled, struct hl_err *err)
{
	if (err->code != HLB_45)
		hl_err_set(err, HLB_45, "image '%s' is not on the engine", image);
	if (!engine->transport->can_pull)
		return hl_err_help(err, "pull it first, by hand: docker.client: cli pulls nothing");
	return hl_err_help(err, "%s",
	    is_pulled ? "the pull brought nothing of that name"
		      : "pull it by hand, or let the policy pull it: image.pull: missing");
}

int
image_open(struct engine *engine, const struct image_want *want, struct image_facts *ret_facts,
    struct hl_err *err)
{
	const char *image = want->image;

	hl_strv_init(&ret_facts->env, ENGINE_IMAGE_ENV_MAX);
	hl_strv_init(&ret_facts->volumes, ENGINE_VOLUMES_MAX);
	if (api_open(engine, err) < 0 ||
	    engine->transport->identify(engine, want->engine, ret_facts, err) < 0)
		return -1;
	if (image[0] == '\0')
		return 0;
	/* An id names what is here; it cannot be pulled. */
	bool can_pull = engine->transport->can_pull && want->pull != PULL_NEVER &&
			strncmp(image, "sha256:", 7) != 0;
	if (can_pull && want->pull == PULL_ALWAYS && image_pull(engine, want, err) < 0)
		return -1;
	int found = inspect_image(engine, image, ret_facts, err);
	if (found == 0 && can_pull && want->pull == PULL_MISSING) {
		if (image_pull(engine, want, err) < 0)
			return -1;
		found = inspect_image(engine, image, ret_facts, err);
	}
	if (found == 0)
		return image_absent(engine, image, can_pull, err);
	return found > 0 ? 0 : -1;
}
