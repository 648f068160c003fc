/*
 * hl-engine, by a client: what is done with an engine and a container, each by a command. Only its
 * exit status and its JSON say how it went, and where a status may mean two things another command
 * is asked; the words of its errors are for the user and decide nothing. Those of a create that
 * succeeds are the engine's warnings, which can refuse a run and never allow one.
 */
#include <sys/socket.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	REMOVE_TRIES = 20,
	LOOK_AT_ONCE = 32, /* containers; so many are an answer that is not too large */
};

/* The client's words behind ours. Returns -1. */
static int
refused(const struct client_reply *reply, struct hl_err *err, enum hl_code code, const char *what)
{
	return hl_err_set(err, code, "%s: %s (status %d)", what,
	    reply->words[0] != '\0' ? reply->words : "the client gave no reason", reply->status);
}

static int
call_one(struct engine *engine, enum client_command command, const char *word,
    struct client_reply *ret_reply, struct hl_err *err)
{
	struct hl_strv more;

	hl_strv_init(&more, 1);
	hl_strv_add(&more, word);
	int status = hl_strv_check(&more, "words of the client", err) == 0
			 ? client_call(engine, command, &more, ret_reply, err)
			 : -1;
	hl_strv_done(&more);
	return status;
}

/* An inspection is a list, also of one. */
static json_t *
take_only(const struct client_reply *reply, const char *what, struct hl_err *err)
{
	json_t *list = inspect_parse(&reply->out, what, err);
	json_t *only = NULL;

	if (json_array_size(list) == 1 && json_is_object(json_array_get(list, 0)))
		only = json_incref(json_array_get(list, 0));
	else if (list != NULL)
		hl_err_set(err, HLB_43, "the client's answer (%s) is not about one", what);
	json_decref(list);
	return only;
}

/* ------------------------------------------------------------------------------------------------
 * Which engine, and its images
 */

/* The engine's version where the client tells one, else its own. */
static int
take_version(struct engine *engine, const json_t *object, const char *wanted,
    struct image_facts *facts, struct hl_err *err)
{
	const json_t *own = json_object_get(object, "Client");
	const json_t *server = json_object_get(object, "Server");
	/* docker's client speaks to podman's engine as well, and says which it met. */
	const struct dialect *behind = dialect_of_server(server);
	const struct dialect *found = behind != NULL ? behind : dialect_of_client(own);
	const char *version = inspect_string(json_is_object(server) ? server : own, "Version", 64);
	const char *api = inspect_string(server, "ApiVersion", 16);
	char safe[ENGINE_TEXT_MAX];

	if (!json_is_object(own) || version == NULL)
		return hl_err_set(err, HLB_43, "the client '%s' does not say its version",
		    engine->client.program);
	if (json_is_null(server))
		return hl_err_set(err, HLB_40, "the client '%s' reaches no engine",
		    engine->client.program);
	/* One that does not say what it is counts as what was asked for. */
	engine->dialect = found != NULL ? found : dialect_named(wanted);
	api_safe_text(version, strlen(version), safe);
	snprintf(facts->engine, sizeof(facts->engine), "%s %.64s", engine->dialect->name, safe);
	if (wanted[0] != '\0' && strcmp(engine->dialect->name, wanted) != 0) {
		hl_err_set(err, HLB_66, "the %s '%s' is %s, not %s",
		    behind != NULL ? "engine behind the client" : "client", engine->client.program,
		    facts->engine, wanted);
		return hl_err_help(err, "name backend '%s' for it", engine->dialect->name);
	}
	if (api != NULL && api_minor(api) < API_OLDEST)
		return hl_err_set(err, HLB_44, "%s has API %.16s; 1.%d is needed", facts->engine,
		    api, API_OLDEST);
	return 0;
}

static int
identify(struct engine *engine, const char *wanted, struct image_facts *facts, struct hl_err *err)
{
	struct client_reply reply;
	int status = -1;

	if (client_call(engine, CLIENT_VERSION, NULL, &reply, err) < 0)
		return -1;
	if (reply.status != 0) {
		refused(&reply, err, HLB_40, "the client reaches no engine");
	} else {
		json_t *object = inspect_parse(&reply.out, "version", err);
		if (object != NULL)
			status = take_version(engine, object, wanted, facts, err);
		json_decref(object);
	}
	hl_buf_done(&reply.out);
	return status;
}

static int
look_image(struct engine *engine, const char *image, json_t **ret_object, struct hl_err *err)
{
	struct client_reply reply;
	int found = -1;

	if (call_one(engine, CLIENT_LOOK_IMAGE, image, &reply, err) < 0)
		return -1;
	if (reply.status != 0) {
		/* An engine that is gone has not said that the image is. */
		struct image_facts ignored = { 0 };
		char what[ENGINE_TEXT_MAX];
		snprintf(what, sizeof(what), "image '%.200s' is not on the engine", image);
		found = identify(engine, engine->dialect->name, &ignored, err);
		if (found == 0)
			refused(&reply, err, HLB_45, what);
	} else {
		*ret_object = take_only(&reply, "image", err);
		found = *ret_object != NULL ? 1 : -1;
	}
	hl_buf_done(&reply.out);
	return found;
}

/* ------------------------------------------------------------------------------------------------
 * Which containers there are
 */

/* A line is an id and names with commas between them. */
static bool
has_name(const char *names, size_t len, const char *key)
{
	const size_t key_len = strlen(key);

	for (size_t at = 0; at < len;) {
		size_t end = at;
		while (end < len && names[end] != ',')
			end++;
		if (end - at == key_len && memcmp(names + at, key, key_len) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

struct listing {
	const char *key;     /* a name or an id that is looked for, NULL = none */
	struct hl_strv *ids; /* NULL = they are not wanted */
	bool is_found;
};

static int
take_lines(const struct hl_buf *out, struct listing *listing, struct hl_err *err)
{
	const char *at = out->data, *end = out->data + out->len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = newline != NULL ? (size_t)(newline - at) : (size_t)(end - at);
		if (len < CONTAINER_ID_LEN + 1 || at[CONTAINER_ID_LEN] != ' ' ||
		    !inspect_is_id(at, CONTAINER_ID_LEN))
			return hl_err_set(err, HLB_43,
			    "the client's list of containers is malformed");
		const char *key = listing->key;
		if (key != NULL &&
		    ((strlen(key) == CONTAINER_ID_LEN && memcmp(at, key, CONTAINER_ID_LEN) == 0) ||
			has_name(at + CONTAINER_ID_LEN + 1, len - CONTAINER_ID_LEN - 1, key)))
			listing->is_found = true;
		if (listing->ids != NULL && listing->ids->len < listing->ids->max)
			hl_strv_addn(listing->ids, at, CONTAINER_ID_LEN);
		at += len + (newline != NULL ? 1 : 0);
	}
	return 0;
}

static int
ask_list(struct engine *engine, struct listing *listing, struct hl_err *err)
{
	struct client_reply reply;

	if (client_call(engine, CLIENT_LIST, NULL, &reply, err) < 0)
		return -1;
	int status = reply.status == 0
			 ? take_lines(&reply.out, listing, err)
			 : refused(&reply, err, HLB_43, "the client lists no containers");
	hl_buf_done(&reply.out);
	return status;
}

/* An inspection in the form of the API's list. */
static int
add_item(json_t *items, const json_t *object)
{
	const char *id = inspect_string(object, "Id", CONTAINER_ID_LEN);
	const char *name = inspect_string(object, "Name", 256);
	const char *state = inspect_string(object, "State.Status", 32);
	const char *created = inspect_string(object, "Created", 64);
	json_t *labels = json_object_get(json_object_get(object, "Config"), "Labels");

	/* One without a name is not ours. */
	if (id == NULL || name == NULL || name[0] == '\0' || !json_is_object(labels))
		return 0;
	return json_array_append_new(items,
	    json_pack("{s:s, s:[o], s:O, s:s, s:I}", "Id", id, "Names",
		json_sprintf("%s%s", name[0] == '/' ? "" : "/", name), "Labels", labels, "State",
		state != NULL ? state : "", "Created",
		created != NULL ? (json_int_t)kept_time(created) : (json_int_t)0));
}

static bool
has_item(const json_t *list, const char *id)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *of = inspect_string(json_array_get(list, i), "Id", CONTAINER_ID_LEN);
		if (of != NULL && strcmp(of, id) == 0)
			return true;
	}
	return false;
}

/* Of those that are gone meanwhile nothing is said, and of all when the engine is: the status is
 * the same. So it is asked again which there are. */
static int
check_rest(struct engine *engine, const struct hl_strv *ids, const json_t *list, struct hl_err *err)
{
	for (size_t i = 0; i < ids->len; i++) {
		struct listing listing = { .key = ids->v[i] };
		if (has_item(list, ids->v[i]))
			continue;
		if (ask_list(engine, &listing, err) < 0)
			return -1;
		if (listing.is_found)
			return hl_err_set(err, HLB_43, "the client says nothing of container '%s'",
			    ids->v[i]);
	}
	return 0;
}

static int
add_some(struct engine *engine, const struct hl_strv *ids, json_t *items, struct hl_err *err)
{
	struct client_reply reply;

	if (client_call(engine, CLIENT_LOOK, ids, &reply, err) < 0)
		return -1;
	json_t *list = inspect_parse(&reply.out, "containers", err);
	int status = json_is_array(list) ? 0 : -1;
	if (list != NULL && status < 0)
		hl_err_set(err, HLB_43, "the client's answer (containers) is no list");
	if (status == 0)
		status = check_rest(engine, ids, list, err);
	for (size_t i = 0; status == 0 && i < json_array_size(list); i++)
		if (add_item(items, json_array_get(list, i)) < 0)
			status = hl_err_oom(err);
	json_decref(list);
	hl_buf_done(&reply.out);
	return status;
}

static json_t *
list(struct engine *engine, struct hl_err *err)
{
	HL_AUTO(hl_strv_done) struct hl_strv ids;
	struct listing listing = { .ids = &ids };
	json_t *items = json_array();
	int status = 0;

	hl_strv_init(&ids, ENGINE_LIST_MAX);
	if (items == NULL)
		status = hl_err_oom(err);
	else if (ask_list(engine, &listing, err) < 0 || hl_strv_check(&ids, "ids", err) < 0)
		status = -1;
	for (size_t at = 0; status == 0 && at < ids.len; at += LOOK_AT_ONCE) {
		HL_AUTO(hl_strv_done) struct hl_strv some;
		hl_strv_init(&some, LOOK_AT_ONCE);
		for (size_t i = at; i < ids.len && i < at + LOOK_AT_ONCE; i++)
			hl_strv_add(&some, ids.v[i]);
		status = add_some(engine, &some, items, err);
	}
	if (status == 0)
		return items;
	json_decref(items);
	return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * One container
 */
static bool
is_about(const json_t *object, const char *key)
{
	const char *id = inspect_string(object, "Id", CONTAINER_ID_LEN);
	const char *name = inspect_string(object, "Name", 256);

	if (name != NULL && name[0] == '/')
		name++;
	return (id != NULL && strcmp(id, key) == 0) || (name != NULL && strcmp(name, key) == 0);
}

static json_t *
look(struct engine *engine, const char *key, long *ret_status, struct hl_err *err)
{
	struct listing listing = { .key = key };
	struct client_reply reply;
	json_t *object = NULL;

	*ret_status = 0;
	if (call_one(engine, CLIENT_LOOK, key, &reply, err) < 0)
		return NULL;
	if (reply.status == 0) {
		object = take_only(&reply, "container", err);
		*ret_status = 200;
		if (object != NULL && !is_about(object, key)) {
			hl_err_set(err, HLB_43, "the client speaks of another container");
			json_decref(object);
			object = NULL;
		}
	} else if (ask_list(engine, &listing, err) == 0) {
		*ret_status = listing.is_found ? 500 : 404;
		refused(&reply, err, HLB_51, "the client cannot look at the container");
	}
	hl_buf_done(&reply.out);
	return object;
}

/* A refusal may come behind the creation. A container of that name is ours when it has our run. */
static bool
may_be_ours(struct engine *engine, const struct container_want *want)
{
	struct hl_err ignored = { 0 };
	long status = 0;
	json_t *object = look(engine, want->name, &status, &ignored);
	json_t *asked = json_loads(want->body, JSON_REJECT_DUPLICATES, NULL);
	const json_t *labels = json_object_get(asked, "Labels");
	bool is_ours = status != 404;

	if (object != NULL)
		is_ours = json_equal(json_object_get(labels, DOCKER_LABEL_RUN),
			      json_object_get(inspect_member(object, "Config.Labels"),
				  DOCKER_LABEL_RUN)) == 1;
	json_decref(object);
	json_decref(asked);
	return is_ours;
}

/* What it says of a container that it made are the engine's warnings, a line each: as the API has
 * them, so that what judges those reads one after the other. */
static int
add_warnings(json_t *object, const char *said)
{
	json_t *list = json_array();
	int status = json_object_set_new(object, "Warnings", list);

	while (status == 0 && *said != '\0') {
		size_t len = strcspn(said, "\n");
		char safe[ENGINE_TEXT_MAX];
		api_safe_text(said, len, safe);
		if (safe[0] != '\0')
			status = json_array_append_new(list, json_string(safe));
		said += len + (said[len] == '\n' ? 1 : 0);
	}
	return status;
}

/* The id, which is all that it prints on its standard output. */
static json_t *
take_id(const struct client_reply *reply, struct hl_err *err)
{
	size_t len = reply->out.len;

	while (len > 0 && (reply->out.data[len - 1] == '\n' || reply->out.data[len - 1] == '\r'))
		len--;
	if (!inspect_is_id(reply->out.data, len)) {
		hl_err_set(err, HLB_43, "the client does not say the container's id");
		return NULL;
	}
	json_t *object = json_pack("{s:s%}", "Id", reply->out.data, len);
	if (object != NULL && add_warnings(object, reply->said) == 0)
		return object;
	json_decref(object);
	hl_err_oom(err);
	return NULL;
}

static json_t *
create(struct engine *engine, const struct container_want *want, struct hl_err *err)
{
	struct client_reply reply;
	json_t *object = NULL;

	if (want->words == NULL || want->words->len == 0) {
		engine->may_exist = false;
		hl_err_set(err, HLI_02, "a request has no words for a client");
		return NULL;
	}
	if (client_call(engine, CLIENT_CREATE, want->words, &reply, err) < 0)
		return NULL;
	if (reply.status == 0) {
		object = take_id(&reply, err);
	} else {
		engine->may_exist = may_be_ours(engine, want);
		refused(&reply, err, HLB_51, "the client refused the container");
	}
	hl_buf_done(&reply.out);
	return object;
}

/* 1: the runner has spoken, or there was one; 0: nothing yet; -1: error. One that has ended without
 * a word may have run all the same: then its end is what is told. */
static int
has_begun(struct engine *engine, int timeout_ms, struct hl_err *err)
{
	struct pollfd watch[] = { { .fd = engine->relay.attach, .events = POLLIN },
		{ .fd = engine->client.pidfd, .events = POLLIN },
		{ .fd = engine->is_ending ? -1 : engine->control } };
	struct client_reply reply = { .status = -1 };
	char byte, bytes[ENGINE_TEXT_MAX];
	long status = 0;

	(void)poll(watch, HL_ARRAY_SIZE(watch), timeout_ms);
	if ((watch[2].revents & (POLLHUP | POLLERR)) != 0)
		return hl_err_set(err, HLB_60, "the launcher has ended");
	if (recv(engine->relay.attach, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1)
		return 1;
	if (watch[1].revents == 0) {
		/* The stream's end before the client's: which comes next. */
		if (watch[0].revents != 0)
			container_nap();
		return 0;
	}
	json_t *object = look(engine, engine->container, &status, err);
	const char *text = inspect_string(object, "State.StartedAt", 64);
	bool has_run = text != NULL && kept_time(text) != 0;
	json_decref(object);
	if (has_run)
		return 1;
	size_t len = client_diagnosis(engine, bytes, sizeof(bytes));
	api_safe_text(bytes, len, reply.words);
	return hl_err_set(err, HLB_52, "the client could not start the container: %s",
	    reply.words[0] != '\0' ? reply.words : "it gave no reason");
}

static int
start(struct engine *engine, struct hl_err *err)
{
	const uint64_t until = hl_now_mono_ms() + API_START_MS;
	int begun = 0;

	if (client_join(engine, err) < 0)
		return -1;
	while (begun == 0) {
		uint64_t now = hl_now_mono_ms();
		if (now >= until)
			return hl_err_set(err, HLB_42,
			    "the client '%s' did not start the container in time",
			    engine->client.program);
		begun = has_begun(engine, (int)(until - now), err);
	}
	return begun < 0 ? -1 : 0;
}

static void
take_end(struct engine *engine)
{
	struct pollfd end = { .fd = engine->client.pidfd, .events = POLLIN };

	if (poll(&end, 1, 0) != 1)
		return;
	engine->is_waiting = false;
	engine->client.has_ended = true;
}

/* One that is gone already is as good as removed; a removal may be under way. */
static int
remove_by(struct engine *engine, const char *key, bool is_forced, struct hl_err *err)
{
	struct client_reply reply;
	int status = 0;

	if (call_one(engine, is_forced ? CLIENT_REMOVE : CLIENT_REMOVE_ENDED, key, &reply, err) < 0)
		return hl_err_wrap(err, "container '%s' may be left", key);
	hl_buf_done(&reply.out);
	/* Also behind a good status: it is the list that says that nothing is left. */
	for (int i = 0; i < REMOVE_TRIES; i++) {
		struct listing listing = { .key = key };
		status = ask_list(engine, &listing, err);
		if (status < 0)
			return hl_err_wrap(err, "container '%s' may be left", key);
		if (!listing.is_found)
			return 0;
		container_nap();
		status = refused(&reply, err, HLB_56, "the container could not be removed");
	}
	return status == 0 ? 0 : hl_err_wrap(err, "container '%s'", key);
}

const struct transport client_transport = {
	.can_pull = false,
	.identify = identify,
	.look_image = look_image,
	.look = look,
	.create = create,
	.start = start,
	.take_end = take_end,
	.remove = remove_by,
	.list = list,
};
