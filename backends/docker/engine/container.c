/*
 * The life of the one container: create, compare, join, start, wait, remove. No AutoRemove: it
 * would race with the last output and with the status.
 */
#include <sys/socket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	REMOVE_TRIES = 20,
	END_WAIT_MS = 3000
};

static bool
is_id(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static void
take_warnings(const json_t *object, struct hl_strv *warnings)
{
	const json_t *list = inspect_member(object, "Warnings");

	for (size_t i = 0; i < json_array_size(list) && warnings->len < ENGINE_WARNINGS_MAX; i++) {
		const json_t *item = json_array_get(list, i);
		char safe[ENGINE_TEXT_MAX];
		if (!json_is_string(item))
			continue;
		api_safe_text(json_string_value(item), json_string_length(item), safe);
		hl_strv_add(warnings, safe);
	}
}

json_t *
container_look(struct engine *engine, const char *key, long *ret_status, struct hl_err *err)
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

/* What the engine really keeps, against what it was asked. */
static int
compare(struct engine *engine, const char *body, struct hl_err *err)
{
	json_t *asked = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
	char part[KEPT_PART_MAX];
	long http = 0;
	int status = -1;

	if (asked == NULL)
		return hl_err_set(err, HLI_02, "the request for the engine is not JSON");
	json_t *kept = container_look(engine, engine->container, &http, err);
	if (kept != NULL)
		status = engine->dialect->compare(asked, kept, part, err);
	json_decref(asked);
	json_decref(kept);
	return status;
}

static int
take_created(struct engine *engine, const struct api_reply *reply, struct hl_strv *warnings,
    struct hl_err *err)
{
	json_t *object = inspect_parse(&reply->body, "create", err);
	const char *id = object != NULL ? inspect_string(object, "Id", 64) : NULL;
	int status = -1;

	if (id != NULL && is_id(id)) {
		snprintf(engine->container, sizeof(engine->container), "%s", id);
		take_warnings(object, warnings);
		status = 0;
	} else if (object != NULL) {
		hl_err_set(err, HLB_43, "the engine does not say the container's id");
	}
	json_decref(object);
	return status;
}

int
container_create(struct engine *engine, const char *name, const char *body,
    struct hl_strv *ret_warnings, struct hl_err *err)
{
	char *path HL_AUTO_FREE = NULL;
	struct api_reply reply = { 0 };
	int status = -1;

	if (asprintf(&path, "%s/containers/create?name=%s", engine->dialect->own, name) < 0) {
		path = NULL;
		return hl_err_oom(err);
	}
	struct api_request request = {
		.method = "POST",
		.path = path,
		.body = body,
		.timeout_ms = API_CREATE_MS,
	};
	/* From here on the name may exist, whatever becomes of the answer. */
	snprintf(engine->container, sizeof(engine->container), "%s", name);
	engine->may_exist = true;
	if (api_call(engine, &request, &reply, err) < 0)
		return -1;
	if (reply.status == 201) {
		status = take_created(engine, &reply, ret_warnings, err);
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
	return status == 0 ? compare(engine, body, err) : -1;
}

static uint32_t
find_pid(struct engine *engine)
{
	struct hl_err ignored = { 0 };
	long status = 0;
	json_t *object = container_look(engine, engine->container, &status, &ignored);
	uint64_t pid = inspect_u64(object, "State.Pid");
	const char *started =
	    inspect_string(object, "State.StartedAt", sizeof(engine->started) - 1);

	snprintf(engine->started, sizeof(engine->started), "%s", started != NULL ? started : "");
	json_decref(object);
	return pid <= INT32_MAX ? (uint32_t)pid : 0;
}

int
container_start(struct engine *engine, uint32_t *ret_pid, struct hl_err *err)
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
	if (status == 0 && !engine->dialect->waits_first)
		status = wait_open(engine, err);
	if (status == 0) {
		*ret_pid = find_pid(engine);
		engine->stays = engine->is_kept;
	}
	return status;
}

void
container_nap(void)
{
	struct timespec time = { .tv_nsec = CONTAINER_NAP_MS * 1000000L };

	nanosleep(&time, NULL);
}

/* Forced, it also kills. 404: gone already. 409: a removal is under way, so ask again until it is
 * gone. */
int
container_remove_by(struct engine *engine, const char *key, bool is_forced, struct hl_err *err)
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

int
container_remove(struct engine *engine, struct hl_err *err)
{
	if (!engine->may_exist)
		return 0;
	/* Nobody reads it any more, and podman waits for a while for whoever is attached. */
	if (engine->relay.attach >= 0)
		shutdown(engine->relay.attach, SHUT_RDWR);
	if (engine->stays)
		container_await(engine);
	int status = engine->stays ? kept_end(engine, err)
				   : container_remove_by(engine, engine->container, true, err);
	if (status < 0)
		return -1;
	engine->may_exist = false;
	return 0;
}

int
container_remove_named(struct engine *engine, const struct container_named *named,
    struct hl_err *err)
{
	long status = 0;
	json_t *object = container_look(engine, named->name, &status, err);
	const json_t *labels = inspect_member(object, "Config.Labels");
	const char *run = json_string_value(json_object_get(labels, DOCKER_LABEL_RUN));
	bool is_ours = run != NULL && strcmp(run, named->run) == 0;
	bool is_there = object != NULL;

	json_decref(object);
	if (!is_there)
		return status == 404 ? 0 : -1;
	if (!is_ours)
		return hl_err_set(err, HLB_56, "container '%s' is not of this run", named->name);
	return container_remove_by(engine, named->name, named->is_forced, err);
}

void
container_await(struct engine *engine)
{
	engine->relay.is_launcher_done = true;
	if (engine->is_waiting)
		relay_run(engine, END_WAIT_MS);
}

static void
ask_for_oom(struct engine *engine, struct container_end *end)
{
	struct hl_err ignored = { 0 };
	long status = 0;
	json_t *object = container_look(engine, engine->container, &status, &ignored);
	const char *error = inspect_string(object, "State.Error", 65536);

	if (inspect_bool(object, "State.OOMKilled"))
		end->flags |= ENGINE_END_OOM;
	if (error != NULL)
		api_safe_text(error, strlen(error), end->daemon_error);
	json_decref(object);
}

void
container_stop(struct engine *engine, struct container_end *ret_end)
{
	struct container_end end = { 0 };
	struct hl_err err = { 0 };

	container_await(engine);
	if (engine->has_waited) {
		end.flags |= ENGINE_END_EXITED;
		end.exit_code = engine->exit_code;
	}
	if (engine->may_exist)
		ask_for_oom(engine, &end);
	if (engine->is_wait_failed)
		end.flags |= ENGINE_END_VANISHED;
	if (!engine->relay.has_output)
		end.flags |= ENGINE_END_SILENT;
	if (engine->relay.is_malformed)
		end.flags |= ENGINE_END_BAD_STREAM;
	if (container_remove(engine, &err) == 0)
		end.flags |= ENGINE_END_REMOVED;
	else
		snprintf(end.daemon_error, sizeof(end.daemon_error), "%.*s",
		    (int)sizeof(end.daemon_error) - 1, err.msg);
	memcpy(end.diagnosis, engine->relay.diagnosis, engine->relay.diagnosis_len);
	*ret_end = end;
}
