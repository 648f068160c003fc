/*
 * hl-engine, by the engine's API: what is done with an engine and a container, each by a request.
 * No AutoRemove: it would race with the last output and with the status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	REMOVE_TRIES = 20,
	API_OURS = 41,
	API_SECOND = 44
};

/* ------------------------------------------------------------------------------------------------
 * Which engine, and its images
 */

unsigned
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
identify(struct engine *engine, const char *wanted, struct image_facts *facts, struct hl_err *err)
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

static int
look_image(struct engine *engine, const char *image, json_t **ret_object, struct hl_err *err)
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
		*ret_object = inspect_parse(&reply.body, "image", err);
		found = *ret_object != NULL ? 1 : -1;
	}
	hl_buf_done(&reply.body);
	return found;
}

/* ------------------------------------------------------------------------------------------------
 * A container
 */
static json_t *
look(struct engine *engine, const char *key, long *ret_status, struct hl_err *err)
{
	char path[160];
	struct api_request request = { .method = "GET", .path = path, .timeout_ms = API_SHORT_MS };
	struct api_reply reply = { 0 };
	json_t *object = NULL;

	snprintf(path, sizeof(path), "%s/containers/%s/json", engine->dialect->own, key);
	if (api_call(engine, &request, &reply, err) < 0)
		return NULL;
	*ret_status = reply.status;
	if (reply.status == 200)
		object = inspect_parse(&reply.body, "container", err);
	else
		api_refused(&reply, err, HLB_51, "the engine cannot look at the container");
	hl_buf_done(&reply.body);
	return object;
}

static json_t *
create(struct engine *engine, const struct container_want *want, struct hl_err *err)
{
	char *path HL_AUTO_FREE = NULL;
	struct api_reply reply = { 0 };
	json_t *object = NULL;

	if (asprintf(&path, "%s/containers/create?name=%s", engine->dialect->own, want->name) < 0) {
		path = NULL;
		hl_err_oom(err);
		return NULL;
	}
	struct api_request request = {
		.method = "POST",
		.path = path,
		.body = want->body,
		.timeout_ms = API_CREATE_MS,
	};
	if (api_call(engine, &request, &reply, err) < 0)
		return NULL;
	if (reply.status == 201) {
		object = inspect_parse(&reply.body, "create", err);
	} else {
		engine->may_exist = false; /* refused: a container of this name is not ours */
		if (reply.status == 409)
			api_refused(&reply, err, HLB_50, "the container's name is taken");
		else if (reply.status == 404)
			api_refused(&reply, err, HLB_45, "the image is gone");
		else
			api_refused(&reply, err, HLB_51, "the engine refused the container");
	}
	hl_buf_done(&reply.body);
	return object;
}

static int
start(struct engine *engine, struct hl_err *err)
{
	char path[128];
	struct api_request request = { .method = "POST", .path = path, .timeout_ms = API_START_MS };
	struct api_reply reply = { 0 };

	if (attach_open(engine, err) < 0)
		return -1;
	if (engine->dialect->waits_first && wait_open(engine, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "/containers/%s/start", engine->container);
	if (api_call(engine, &request, &reply, err) < 0)
		return -1;
	int status = 0;
	if (reply.status != 204)
		status =
		    api_refused(&reply, err, HLB_52, "the engine could not start the container");
	hl_buf_done(&reply.body);
	/* Otherwise the wait begins where the streams end. */
	if (status == 0)
		engine->is_waiting = true;
	return status;
}

/* An engine that looks from time to time looks as often as it can, all through the run (podman
 * before 5: a processor's worth), so it is asked when there is little left to wait for. */
static bool
wait_has_begun(struct engine *engine)
{
	struct hl_err ignored = { 0 };

	if (engine->wait != NULL)
		return true;
	if (engine->relay.attach >= 0)
		return false;
	if (wait_open(engine, &ignored) == 0)
		return true;
	engine->is_waiting = false;
	engine->is_wait_failed = true;
	return false;
}

static void
take_end(struct engine *engine)
{
	struct hl_err ignored = { 0 };
	int running, left;
	CURLMsg *message;

	if (!wait_has_begun(engine))
		return;
	(void)curl_multi_perform(engine->multi, &running);
	while ((message = curl_multi_info_read(engine->multi, &left)) != NULL) {
		if (message->msg != CURLMSG_DONE || message->easy_handle != engine->wait)
			continue;
		engine->is_waiting = false;
		json_t *object = message->data.result == CURLE_OK
				     ? inspect_parse(&engine->wait_body, "wait", &ignored)
				     : NULL;
		const json_t *code = object != NULL ? inspect_member(object, "StatusCode") : NULL;
		if (json_is_integer(code)) {
			engine->has_waited = true;
			engine->exit_code = (uint32_t)inspect_u64(object, "StatusCode");
		} else {
			engine->is_wait_failed = true;
		}
		json_decref(object);
	}
}

/* Forced, it also kills. 404: gone already. 409: a removal is under way, so ask again until it is
 * gone. */
static int
remove_by(struct engine *engine, const char *key, bool is_forced, struct hl_err *err)
{
	char path[160];
	struct api_request request = { .method = "DELETE",
		.path = path,
		.timeout_ms = API_START_MS };

	snprintf(path, sizeof(path), "/containers/%s?force=%d&v=1%s", key, is_forced ? 1 : 0,
	    is_forced ? engine->dialect->at_once : "");
	for (int i = 0; i < REMOVE_TRIES; i++) {
		struct api_reply reply = { 0 };
		if (api_call(engine, &request, &reply, err) < 0)
			return hl_err_wrap(err, "container '%s' may be left", key);
		long status = reply.status;
		if (status != 204 && status != 404)
			api_refused(&reply, err, HLB_56, "the container could not be removed");
		hl_buf_done(&reply.body);
		if (status == 204 || status == 404)
			return 0;
		container_nap();
	}
	return hl_err_wrap(err, "container '%s'", key);
}

static json_t *
list(struct engine *engine, struct hl_err *err)
{
	struct api_request request = { .method = "GET", .timeout_ms = API_SHORT_MS };
	struct api_reply reply = { 0 };
	char path[512];
	HL_AUTO_FREE char *filters =
	    api_escape(engine, "{\"label\":[\"" DOCKER_LABEL_MANAGED "=1\"]}");

	if (filters == NULL) {
		hl_err_oom(err);
		return NULL;
	}
	snprintf(path, sizeof(path), "/containers/json?all=1&filters=%s", filters);
	request.path = path;
	if (api_call(engine, &request, &reply, err) < 0)
		return NULL;
	json_t *items = NULL;
	if (reply.status == 200)
		items = inspect_parse(&reply.body, "containers", err);
	else
		api_refused(&reply, err, HLB_43, "the engine lists no containers");
	hl_buf_done(&reply.body);
	return items;
}

const struct transport api_transport = {
	.can_pull = true,
	.identify = identify,
	.look_image = look_image,
	.look = look,
	.create = create,
	.start = start,
	.take_end = take_end,
	.remove = remove_by,
	.list = list,
};
