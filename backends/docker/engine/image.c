/*
 * Before a container: which engine is it, and is the image there?
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/engine/pull.h"

#include "base/banned.h"

enum {
	API_OLDEST = 40,
	API_OURS = 41,
	API_SECOND = 44
};

enum pull {
	PULL_NEVER,
	PULL_MISSING,
	PULL_ALWAYS
}; /* as enum plan_pull */

/* "1.41" as 41; 0 when it is not a version 1.x. */
static unsigned
api_minor(const char *text)
{
	struct hl_err ignored = { 0 };
	uint64_t minor;

	if (text == NULL || strncmp(text, "1.", 2) != 0 ||
	    hl_parse_u64(text + 2, 1, 999, &minor, &ignored) < 0)
		return 0;
	return (unsigned)minor;
}

/* "Docker/20.10.24 (linux)" as "docker 20.10.24". */
static void
name_engine(const struct dialect *dialect, const char *server, char engine[96])
{
	size_t len = strcspn(server, " (");
	const char *slash = memchr(server, '/', len);

	if (slash == NULL || dialect == NULL)
		snprintf(engine, 96, "%.64s", server[0] != '\0' ? server : "engine");
	else
		snprintf(engine, 96, "%s %.*s", dialect->name, (int)(server + len - slash - 1) & 63,
		    slash + 1);
}

/* Each takes its own body: what one is asked by a policy must not be said to the other. */
static int
choose_dialect(struct engine *engine, const char *server, const char *wanted,
    struct image_facts *facts, struct hl_err *err)
{
	const struct dialect *found = dialect_find(server);

	name_engine(found, server, facts->engine);
	/* One that does not say what it is counts as docker, which everything speaks. */
	engine->dialect = found != NULL ? found : dialect_find("Docker/");
	if (wanted[0] == '\0' || strcmp(engine->dialect->name, wanted) == 0)
		return 0;
	hl_err_set(err, HLB_66, "the engine at '%s' is %s, not %s", engine->endpoint, facts->engine,
	    wanted);
	return hl_err_help(err, "name backend '%s' for it, or another socket",
	    engine->dialect->name);
}

/* By ping, which says the same as /version and takes a tenth of the time. Ours is the oldest that
 * does what we need; the second is for engines that have dropped it. */
static int
choose_version(struct engine *engine, const char *wanted, struct image_facts *facts,
    struct hl_err *err)
{
	struct api_request request = { .method = "GET",
		.path = "/_ping",
		.timeout_ms = API_SHORT_MS };
	struct api_reply reply = { 0 };

	engine->prefix[0] = '\0';
	if (api_call(engine, &request, &reply, err) < 0)
		return -1;
	unsigned newest = api_minor(reply.api_version);
	bool is_engine = reply.status == 200 && newest != 0;
	hl_buf_done(&reply.body);
	if (!is_engine)
		return hl_err_set(err, HLB_43, "'%s' does not answer like an engine (status %ld)",
		    engine->endpoint, reply.status);
	if (choose_dialect(engine, reply.server, wanted, facts, err) < 0)
		return -1;
	if (newest < API_OLDEST)
		return hl_err_set(err, HLB_44, "%s has API 1.%u; 1.%d is needed", facts->engine,
		    newest, API_OLDEST);
	unsigned chosen = newest < API_OURS ? newest : API_OURS;
	if (newest >= API_SECOND)
		chosen = API_SECOND;
	snprintf(engine->prefix, sizeof(engine->prefix), "/v1.%u", chosen);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Inspect
 */

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
	char *name HL_AUTO_FREE = api_escape(engine, image);
	char *path HL_AUTO_FREE = NULL;
	struct api_reply reply = { 0 };
	int found = -1;

	if (name == NULL || asprintf(&path, "/images/%s/json", name) < 0) {
		path = NULL;
		return hl_err_oom(err);
	}
	struct api_request request = { .method = "GET", .path = path, .timeout_ms = API_SHORT_MS };
	if (api_call(engine, &request, &reply, err) < 0)
		return -1;
	if (reply.status == 404) {
		found = 0;
	} else if (reply.status != 200) {
		api_refused(&reply, err, HLB_51, "the engine cannot look at the image");
	} else {
		json_t *object = inspect_parse(&reply.body, "image", err);
		if (object != NULL && take_image(object, image, facts, err) == 0)
			found = 1;
		json_decref(object);
	}
	hl_buf_done(&reply.body);
	return found;
}

int
image_open(struct engine *engine, const struct image_want *want, struct image_facts *ret_facts,
    struct hl_err *err)
{
	const char *image = want->image;

	hl_strv_init(&ret_facts->env, ENGINE_IMAGE_ENV_MAX);
	hl_strv_init(&ret_facts->volumes, ENGINE_VOLUMES_MAX);
	if (api_open(engine, err) < 0 || choose_version(engine, want->engine, ret_facts, err) < 0)
		return -1;
	if (image[0] == '\0')
		return 0;
	/* An id names what is here; it cannot be pulled. */
	bool can_pull = want->pull != PULL_NEVER && strncmp(image, "sha256:", 7) != 0;
	if (can_pull && want->pull == PULL_ALWAYS && image_pull(engine, want, err) < 0)
		return -1;
	int found = inspect_image(engine, image, ret_facts, err);
	if (found == 0 && can_pull && want->pull == PULL_MISSING) {
		if (image_pull(engine, want, err) < 0)
			return -1;
		found = inspect_image(engine, image, ret_facts, err);
	}
	if (found == 0) {
		hl_err_set(err, HLB_45, "image '%s' is not on the engine", image);
		return hl_err_help(err, "%s",
		    can_pull ? "the pull brought nothing of that name"
			     : "pull it by hand, or let the policy pull it: image.pull: missing");
	}
	return found > 0 ? 0 : -1;
}
