/*
 * hl-engine: whether a container is what the engine would make now. A list of what to look at would
 * miss what this version of the engine has and we do not know (masked paths, a runtime, devices by
 * request), and whoever may speak to the engine can make a container that has our labels, all that
 * we ask, and more. So another one is made from the same request, is never started, and must be
 * told in the same words (same.c); then it is removed. Its labels are those of a container that is
 * not kept: if nobody removes it, gc does when this launcher is gone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

/* Of the engine's answers, and one of them is cut to what is left to compare: a copy. */
static int
look_and_compare(struct engine *engine, const json_t *kept, char part[KEPT_PART_MAX],
    struct hl_err *err)
{
	long status = 0;
	json_t *twin = container_look(engine, engine->container, &status, err);
	json_t *copy = twin != NULL ? json_deep_copy(kept) : NULL;

	if (copy != NULL)
		same_compare(engine->dialect, twin, copy, part);
	else if (twin != NULL)
		hl_err_oom(err);
	json_decref(twin);
	int result = copy != NULL ? 0 : -1;
	json_decref(copy);
	return result;
}

int
twin_compare(struct engine *engine, const struct twin_call *call, char part[KEPT_PART_MAX],
    struct hl_err *err)
{
	char name[sizeof(engine->container)];
	struct hl_strv warnings;
	const struct dialect *dialect = engine->dialect;
	json_t *labels = json_object_get(call->asked, dialect->labels);
	const char *run = json_string_value(json_object_get(labels, DOCKER_LABEL_RUN));

	same_drop_kept(labels);
	snprintf(name, sizeof(name), "%s-%s", call->name, run != NULL ? run : "");
	if (dialect->body_name[0] != '\0' &&
	    json_object_set_new(call->asked, dialect->body_name, json_string(name)) != 0)
		return hl_err_oom(err);
	char *body HL_AUTO_FREE = json_dumps(call->asked, JSON_COMPACT);
	if (body == NULL)
		return hl_err_oom(err);
	hl_strv_init(&warnings, ENGINE_WARNINGS_MAX);
	/* From here on whatever ends this program removes it. */
	const struct container_want want = { .name = name, .body = body };
	int status = container_create(engine, &want, &warnings, err);
	hl_strv_done(&warnings);
	if (status == 0)
		status = look_and_compare(engine, call->kept, part, err);
	return status == 0 ? container_remove(engine, err) : -1;
}
