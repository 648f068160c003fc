/*
 * hl-engine: a container that stays when it has ended, for the next launcher to start again. It is
 * used again only when it was made from the same, which its label says, and when the engine holds
 * it as it was made, which the engine says: whoever may speak to the engine can have changed it
 * meanwhile (docker update, docker network connect). Anything else is removed. What has no labels
 * of ours is not touched, whatever its name is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	STOP_TRIES = 50, /* times CONTAINER_NAP_MS */
	KILL_WAIT_MS = 3000
};

static bool
is_running(const json_t *object)
{
	const char *word = inspect_string(object, "State.Status", 32);

	/* podman's while it waits for what it has sent a signal: it says neither of the others. */
	return (word != NULL && strcmp(word, "stopping") == 0) ||
	       inspect_bool(object, "State.Running") || inspect_bool(object, "State.Paused") ||
	       inspect_bool(object, "State.Restarting");
}

/* ------------------------------------------------------------------------------------------------
 * Whose it is
 */
static const char *
label(const json_t *labels, const char *name)
{
	return json_string_value(json_object_get(labels, name));
}

static bool
is_ours(const json_t *want, const json_t *kept)
{
	static const char *const names[] = { DOCKER_LABEL_MANAGED, DOCKER_LABEL_SESSION,
		DOCKER_LABEL_PROFILE, DOCKER_LABEL_PLACE };
	const json_t *have = inspect_member(kept, "Config.Labels");
	const char *run = label(have, DOCKER_LABEL_RUN);

	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++) {
		const char *ours = label(want, names[i]), *theirs = label(have, names[i]);
		if (ours == NULL || theirs == NULL || strcmp(ours, theirs) != 0)
			return false;
	}
	return run != NULL && strlen(run) < sizeof(((struct kept_found *)NULL)->run);
}

/* ------------------------------------------------------------------------------------------------
 * What it is
 */

/* docker says "sha256:" before an image's id, podman does not where it shows a container. */
static const char *
digits_of(const char *id)
{
	static const char prefix[] = "sha256:";

	return strncmp(id, prefix, sizeof(prefix) - 1) == 0 ? id + sizeof(prefix) - 1 : id;
}

static bool
is_same_image(const char *image, const json_t *kept)
{
	const char *is_image = inspect_string(kept, "Image", 128);

	return image != NULL && is_image != NULL &&
	       strcmp(digits_of(image), digits_of(is_image)) == 0;
}

/* why stays empty when it can be used. */
static void
compare(const struct dialect *dialect, json_t *asked, const json_t *kept, char why[ENGINE_TEXT_MAX])
{
	static const char *const makers[] = { DOCKER_LABEL_RUN, DOCKER_LABEL_OWNER };
	static const char *const others[] = { DOCKER_LABEL_SPEC, DOCKER_LABEL_LEASE };
	json_t *labels = json_object_get(asked, dialect->labels);
	const char *image = json_string_value(json_object_get(asked, dialect->image));
	const char *want = label(labels, DOCKER_LABEL_SPEC);
	const char *have = label(inspect_member(kept, "Config.Labels"), DOCKER_LABEL_SPEC);
	bool is_same = want != NULL && have != NULL && strcmp(want, have) == 0;
	struct hl_err ignored = { 0 }; /* it has values; the part is a name */
	char part[KEPT_PART_MAX] = "";

	inspect_drop(labels, makers, HL_ARRAY_SIZE(makers));
	/* What these two say is told in other words. */
	if (!is_same)
		inspect_drop(labels, others, HL_ARRAY_SIZE(others));
	if (!is_same_image(image, kept))
		inspect_name(part, "Image", "");
	else if (dialect->compare(asked, kept, part, &ignored) == 0)
		part[0] = '\0';
	if (is_same && part[0] != '\0')
		snprintf(why, ENGINE_TEXT_MAX, "%s was changed behind our back", part);
	else if (!is_same && part[0] != '\0')
		snprintf(why, ENGINE_TEXT_MAX, "%s would be different now", part);
	else if (!is_same)
		snprintf(why, ENGINE_TEXT_MAX, "runner, version or lease would be different now");
}

/* ------------------------------------------------------------------------------------------------
 * Stopped
 */
static int
send_kill(struct engine *engine, const char *key, struct hl_err *err)
{
	char path[160];
	struct api_request request = { .method = "POST", .path = path, .timeout_ms = API_START_MS };
	struct api_reply reply = { 0 };
	int status = 0;

	snprintf(path, sizeof(path), "/containers/%s/kill", key);
	if (api_call(engine, &request, &reply, err) < 0)
		return -1;
	if (reply.status != 204)
		status = api_refused(&reply, err, HLB_56, "the engine refused to kill it");
	hl_buf_done(&reply.body);
	return status;
}

/* podman's for one whose process has ended and which is still to be cleaned up, by a process of its
 * own that comes late where much runs: it would take away what the next start has made. */
static bool
is_ending(const json_t *object)
{
	const char *word = inspect_string(object, "State.Status", 32);

	return word != NULL && strcmp(word, "stopped") == 0;
}

/* Whoever used it before may be gone just now, and what runs in it ends with its stream; what does
 * not is ended. Returns the object as it is then, or NULL. */
static json_t *
wait_for_end(struct engine *engine, const char *id, json_t *object, struct hl_err *err)
{
	struct hl_err ignored = { 0 }; /* what it does is seen */
	long status = 0;

	for (int i = 0;
	     object != NULL && (is_running(object) || is_ending(object)) && i < 2 * STOP_TRIES;
	     i++) {
		if (i == STOP_TRIES && is_running(object))
			(void)send_kill(engine, id, &ignored);
		container_nap();
		json_decref(object);
		object = container_look(engine, id, &status, err);
	}
	return object;
}

enum fate {
	FATE_OVER,
	FATE_RUNS,
	FATE_UNKNOWN
};

/* Our launcher may be gone and its session another's by now, who has seen the end of what we
 * started before we have, and has started it again: that one is not ours to end. */
static bool
is_started_again(const struct engine *engine, const json_t *object)
{
	const char *started = inspect_string(object, "State.StartedAt", 64);

	return engine->started[0] != '\0' && started != NULL &&
	       strcmp(started, engine->started) != 0;
}

static enum fate
ask_fate(struct engine *engine, struct hl_err *err)
{
	long status = 0;
	json_t *object = container_look(engine, engine->container, &status, err);
	enum fate fate = FATE_UNKNOWN;

	if (object != NULL)
		fate =
		    is_running(object) && !is_started_again(engine, object) ? FATE_RUNS : FATE_OVER;
	else if (status == 404)
		fate = FATE_OVER;
	json_decref(object);
	return fate;
}

/* An engine that tells nothing is still asked to kill; a kill that is refused may come too late. So
 * it is the last look that counts. */
int
kept_end(struct engine *engine, struct hl_err *err)
{
	struct hl_err refusal = { 0 };
	enum fate fate = ask_fate(engine, err);

	if (fate == FATE_OVER)
		return 0;
	bool is_sent = send_kill(engine, engine->container, &refusal) == 0;
	const uint64_t end_ms = hl_now_mono_ms() + KILL_WAIT_MS;
	if (engine->is_waiting)
		relay_run(engine, KILL_WAIT_MS);
	while ((fate = ask_fate(engine, err)) == FATE_RUNS && hl_now_mono_ms() < end_ms)
		container_nap();
	if (fate == FATE_OVER)
		return 0;
	if (fate == FATE_RUNS && is_sent)
		hl_err_set(err, HLB_56, "it was killed and has not ended");
	else if (fate == FATE_RUNS)
		*err = refusal;
	return hl_err_wrap(err, "the container may still run");
}

/* ------------------------------------------------------------------------------------------------
 * Finding one
 */
struct finding {
	struct engine *engine;
	/* Its name is not for what is asked: another container can have it meanwhile. */
	const struct kept_ask *ask;
	char id[80];
	json_t *asked, *kept;
};

static int
take_id(struct finding *finding, struct hl_err *err)
{
	const char *id = inspect_string(finding->kept, "Id", 64);

	if (id == NULL || !inspect_is_id(id, strlen(id)))
		return hl_err_set(err, HLB_43, "the engine does not say the container's id");
	snprintf(finding->id, sizeof(finding->id), "%s", id);
	return 0;
}

/* By the label, by what is asked, and at last by what the engine would make of that. */
static int
compare_all(struct finding *finding, char why[ENGINE_TEXT_MAX], struct hl_err *err)
{
	char part[KEPT_PART_MAX] = "";
	int status = 0;
	json_t *asked = json_deep_copy(finding->asked);
	const struct twin_call call = { finding->ask->name, asked, finding->kept };

	if (asked == NULL)
		return hl_err_oom(err);
	compare(finding->engine->dialect, finding->asked, finding->kept, why);
	if (why[0] == '\0')
		status = twin_compare(finding->engine, &call, part, err);
	if (part[0] != '\0')
		snprintf(why, ENGINE_TEXT_MAX, "%s was changed behind our back", part);
	json_decref(asked);
	return status;
}

static int
judge(struct finding *finding, struct kept_found *found, struct hl_err *err)
{
	struct engine *engine = finding->engine;

	const char *id = finding->ask->id;

	if (is_running(finding->kept))
		snprintf(found->why, sizeof(found->why), "it could not be stopped");
	else if (id[0] != '\0' && strcmp(id, finding->id) != 0)
		snprintf(found->why, sizeof(found->why), "it is not the container that we made");
	else if (compare_all(finding, found->why, err) != 0)
		return -1;
	if (found->why[0] != '\0')
		return container_remove_by(engine, finding->id, true, err);
	snprintf(found->id, sizeof(found->id), "%s", finding->id);
	snprintf(found->run, sizeof(found->run), "%s",
	    label(inspect_member(finding->kept, "Config.Labels"), DOCKER_LABEL_RUN));
	snprintf(engine->container, sizeof(engine->container), "%s", finding->id);
	engine->may_exist = engine->is_kept = engine->stays = true;
	return 0;
}

int
kept_find(struct engine *engine, const struct kept_ask *ask, struct kept_found *ret_found,
    struct hl_err *err)
{
	struct finding finding = { .engine = engine, .ask = ask };
	const struct dialect *dialect = engine->dialect;
	struct kept_found found = { 0 };
	long http = 0;
	int status = -1;

	finding.asked = json_loads(ask->body, JSON_REJECT_DUPLICATES, NULL);
	if (finding.asked == NULL)
		return hl_err_set(err, HLI_02, "the request for the engine is not JSON");
	finding.kept = container_look(engine, ask->name, &http, err);
	if (http == 404)
		status = 0;
	else if (finding.kept != NULL &&
		 !is_ours(json_object_get(finding.asked, dialect->labels), finding.kept))
		hl_err_set(err, HLB_50, "container '%s' is not the one of this session", ask->name);
	else if (finding.kept != NULL && take_id(&finding, err) == 0) {
		finding.kept = wait_for_end(engine, finding.id, finding.kept, err);
		if (finding.kept != NULL)
			status = judge(&finding, &found, err);
	}
	json_decref(finding.asked);
	json_decref(finding.kept);
	if (status == 0)
		*ret_found = found;
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * Time
 */

/* Exactly len digits. */
static bool
digits(const char **at, size_t len, int *ret_number)
{
	int number = 0;

	for (size_t i = 0; i < len; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		number = number * 10 + (**at - '0');
	}
	*ret_number = number;
	return true;
}

static bool
mark(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/* "Z", "+01:00": seconds to take away. */
static bool
offset_of(const char *at, int *ret_offset)
{
	int sign = *at == '-' ? -1 : 1, hours = 0, minutes = 0;

	if (strcmp(at, "Z") == 0) {
		*ret_offset = 0;
		return true;
	}
	if (*at != '+' && *at != '-')
		return false;
	at++;
	if (!digits(&at, 2, &hours) || !mark(&at, ':') || !digits(&at, 2, &minutes) || *at != '\0')
		return false;
	*ret_offset = sign * (hours * 60 + minutes) * 60;
	return true;
}

uint64_t
kept_time(const char *text)
{
	struct tm tm = { 0 };
	int offset = 0;

	if (!digits(&text, 4, &tm.tm_year) || !mark(&text, '-') || !digits(&text, 2, &tm.tm_mon) ||
	    !mark(&text, '-') || !digits(&text, 2, &tm.tm_mday) || !mark(&text, 'T') ||
	    !digits(&text, 2, &tm.tm_hour) || !mark(&text, ':') || !digits(&text, 2, &tm.tm_min) ||
	    !mark(&text, ':') || !digits(&text, 2, &tm.tm_sec))
		return 0;
	if (mark(&text, '.'))
		text += strspn(text, "0123456789");
	if (!offset_of(text, &offset))
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	time_t time = timegm(&tm);
	return time > offset ? (uint64_t)(time - offset) : 0;
}

uint64_t
kept_since(struct engine *engine, const char *id)
{
	struct hl_err ignored = { 0 };
	long status = 0;
	json_t *object = container_look(engine, id, &status, &ignored);
	const char *path = is_running(object) ? "State.StartedAt" : "State.FinishedAt";
	const char *text = inspect_string(object, path, 64);
	uint64_t since = text != NULL ? kept_time(text) : 0;

	/* One that never began has "0001-01-01T00:00:00Z". */
	if (since == 0 && (text = inspect_string(object, "Created", 64)) != NULL)
		since = kept_time(text);
	json_decref(object);
	return since;
}
