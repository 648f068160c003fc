/*
 * The life of the one container: create, compare, start, remove, and how it
 * ended. The ways to the engine are in requests.c and client_calls.c.
 */
#include <sys/socket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	END_WAIT_MS = 3000,
	STATE_TRIES = 20 /* times CONTAINER_NAP_MS */
};

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
	return engine->transport->look(engine, key, ret_status, err);
}

/* By the label that says of which run it is. */
static bool
is_of_run(const struct engine *engine, const json_t *asked, const json_t *kept)
{
	const json_t *want = json_object_get(asked, engine->dialect->labels);
	const json_t *have = inspect_member(kept, "Config.Labels");

	return json_equal(json_object_get(want, DOCKER_LABEL_RUN),
		   json_object_get(have, DOCKER_LABEL_RUN)) == 1;
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
	if (kept != NULL && !is_of_run(engine, asked, kept))
		hl_err_set(err, HLB_53, "the engine tells the id of another container than ours");
	else if (kept != NULL)
		status = engine->dialect->compare(asked, kept, part, err);
	json_decref(asked);
	json_decref(kept);
	return status;
}

static int
take_created(struct engine *engine, const json_t *object, struct hl_strv *warnings,
    struct hl_err *err)
{
	const char *id = inspect_string(object, "Id", 64);

	if (id == NULL || !inspect_is_id(id, strlen(id)))
		return hl_err_set(err, HLB_43, "the engine does not say the container's id");
	snprintf(engine->container, sizeof(engine->container), "%s", id);
	take_warnings(object, warnings);
	return 0;
}

int
container_create(struct engine *engine, const struct container_want *want,
    struct hl_strv *ret_warnings, struct hl_err *err)
{
	/* From here on the name may exist, whatever becomes of the answer. */
	snprintf(engine->container, sizeof(engine->container), "%s", want->name);
	engine->may_exist = true;
	json_t *reply = engine->transport->create(engine, want, err);
	int status = reply != NULL ? take_created(engine, reply, ret_warnings, err) : -1;
	json_decref(reply);
	if (status == 0 && compare(engine, want->body, err) == 0)
		return 0;
	/* What it left out it may have told, with the cause. */
	if (status == 0 && ret_warnings->len > 0)
		(void)hl_err_wrap(err, "the engine says '%.150s'", ret_warnings->v[0]);
	/* An id that was only told can be anybody's container: the name is ours. */
	snprintf(engine->container, sizeof(engine->container), "%s", want->name);
	return -1;
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
	if (engine->transport->start(engine, err) < 0)
		return -1;
	*ret_pid = find_pid(engine);
	engine->stays = engine->is_kept;
	return 0;
}

void
container_nap(void)
{
	struct timespec time = { .tv_nsec = CONTAINER_NAP_MS * 1000000L };

	nanosleep(&time, NULL);
}

int
container_remove_by(struct engine *engine, const char *key, bool is_forced, struct hl_err *err)
{
	return engine->transport->remove(engine, key, is_forced, err);
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

/* A client tells a status of the container's and one of its own alike, so the engine says which it
 * is, and whether there is an end. */
static void
take_client_end(struct engine *engine, json_t **object)
{
	struct hl_err ignored = { 0 };
	long status = 0;

	for (int i = 0; i < STATE_TRIES && inspect_bool(*object, "State.Running"); i++) {
		container_nap();
		json_decref(*object);
		*object = container_look(engine, engine->container, &status, &ignored);
	}
	const json_t *code = inspect_member(*object, "State.ExitCode");
	engine->has_waited = json_is_integer(code) && !inspect_bool(*object, "State.Running");
	engine->is_wait_failed = !engine->has_waited;
	if (engine->has_waited)
		engine->exit_code = (uint32_t)inspect_u64(*object, "State.ExitCode");
}

static void
ask_for_end(struct engine *engine, struct container_end *end)
{
	struct hl_err ignored = { 0 };
	long status = 0;
	json_t *object = container_look(engine, engine->container, &status, &ignored);
	const char *error = inspect_string(object, "State.Error", 65536);

	if (inspect_bool(object, "State.OOMKilled"))
		end->flags |= ENGINE_END_OOM;
	if (error != NULL)
		api_safe_text(error, strlen(error), end->daemon_error);
	if (engine->client.has_ended)
		take_client_end(engine, &object);
	json_decref(object);
}

/* The runner's words, where they come beside its stream. */
static void
take_diagnosis(struct engine *engine)
{
	struct relay *relay = &engine->relay;

	if (relay->is_raw)
		relay->diagnosis_len =
		    client_diagnosis(engine, relay->diagnosis, sizeof(relay->diagnosis));
}

void
container_stop(struct engine *engine, struct container_end *ret_end)
{
	struct container_end end = { 0 };
	struct hl_err err = { 0 };

	container_await(engine);
	if (engine->may_exist)
		ask_for_end(engine, &end);
	if (engine->has_waited) {
		end.flags |= ENGINE_END_EXITED;
		end.exit_code = engine->exit_code;
	}
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
	take_diagnosis(engine);
	memcpy(end.diagnosis, engine->relay.diagnosis, engine->relay.diagnosis_len);
	*ret_end = end;
}
