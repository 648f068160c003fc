/*
 * hl-engine: asked by the launcher over descriptor 3, moves the runner's stream over descriptor 4.
 * Ends when the launcher does, and never leaves the container it made.
 */
#include <sys/prctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

/* Answers into `out`, or fails and fills err. */
typedef int answer_fn(struct engine *engine, struct hl_wire *request, struct hl_buf *out,
    struct hl_err *err);

static int
check_request(const struct hl_wire *request, struct hl_err *err)
{
	return hl_wire_is_complete(request) ? 0 : hl_err_set(err, HLI_02, "a request is malformed");
}

static void
put_image_facts(struct hl_buf *out, const struct image_facts *facts)
{
	hl_wire_put_u8(out, ENGINE_OPENED);
	hl_wire_put_string(out, facts->engine);
	hl_wire_put_string(out, facts->id);
	hl_wire_put_string(out, facts->digest);
	hl_wire_put_string(out, facts->user);
	hl_wire_put_strv(out, &facts->env);
	hl_wire_put_strv(out, &facts->volumes);
}

/* How the launcher says that an engine is reached. */
struct way {
	const char *endpoint;
	bool is_program;    /* that is started as an engine, or is the client itself */
	const char *client; /* "" = by the API */
};

static int
set_endpoint(struct engine *engine, const struct way *way, const struct hl_strv *shown,
    struct hl_err *err)
{
	const bool is_client = way->client[0] != '\0';

	engine->transport = is_client ? &client_transport : &api_transport;
	free(engine->endpoint);
	engine->endpoint = strdup(way->endpoint);
	if (engine->endpoint == NULL)
		return hl_err_oom(err);
	if (is_client)
		return client_open(engine, way->client, way->is_program ? "" : way->endpoint, shown,
		    err);
	if (way->is_program)
		return engine->service.pid != 0 ? 0 : service_start(engine, way->endpoint, err);
	free(engine->address);
	engine->address = strdup(way->endpoint);
	return engine->address != NULL ? 0 : hl_err_oom(err);
}

static int
answer_open(struct engine *engine, struct hl_wire *request, struct hl_buf *out, struct hl_err *err)
{
	struct image_facts facts = { 0 };
	struct way way = { .endpoint = hl_wire_string(request) };
	const char *image = hl_wire_string(request);
	HL_AUTO(hl_strv_done) struct hl_strv files, env, shown;
	struct image_want want = { .image = image,
		.registry_files = &files,
		.registry_env = &env,
		.registry_shown = &shown };
	want.pull = hl_wire_u8(request);
	hl_strv_init(&files, ENGINE_REGISTRY_FILES_MAX);
	hl_wire_strv(request, &files);
	hl_strv_init(&env, ENGINE_REGISTRY_ENV_MAX);
	hl_wire_strv(request, &env);
	hl_strv_init(&shown, ENGINE_SHOWN_MAX);
	hl_wire_strv(request, &shown);
	want.engine = hl_wire_string(request);
	way.is_program = hl_wire_u8(request) != 0;
	way.client = hl_wire_string(request);

	if (check_request(request, err) < 0 || hl_strv_check(&files, "files", err) < 0 ||
	    hl_strv_check(&env, "environment", err) < 0 ||
	    hl_strv_check(&shown, "writable places", err) < 0)
		return -1;
	if (set_endpoint(engine, &way, &shown, err) < 0)
		return -1;
	int status = image_open(engine, &want, &facts, err);
	if (status == 0)
		put_image_facts(out, &facts);
	else
		service_explain(engine, err);
	hl_strv_done(&facts.env);
	hl_strv_done(&facts.volumes);
	return status;
}

static int
answer_create(struct engine *engine, struct hl_wire *request, struct hl_buf *out,
    struct hl_err *err)
{
	HL_AUTO(hl_strv_done) struct hl_strv words;
	struct container_want want = { .words = &words };
	struct hl_strv warnings;

	want.name = hl_wire_string(request);
	want.body = hl_wire_string(request);
	bool is_kept = hl_wire_u8(request) != 0;
	hl_strv_init(&words, ENGINE_WORDS_MAX);
	hl_wire_strv(request, &words);
	if (check_request(request, err) < 0 || hl_strv_check(&words, "words", err) < 0)
		return -1;
	if (engine->easy == NULL || engine->may_exist)
		return hl_err_set(err, HLI_02, "a request came out of order");
	engine->is_kept = is_kept;
	hl_strv_init(&warnings, ENGINE_WARNINGS_MAX);
	int status = container_create(engine, &want, &warnings, err);
	if (status == 0) {
		hl_wire_put_u8(out, ENGINE_CREATED);
		hl_wire_put_string(out, engine->container);
		hl_wire_put_strv(out, &warnings);
	}
	hl_strv_done(&warnings);
	return status;
}

static int
answer_find(struct engine *engine, struct hl_wire *request, struct hl_buf *out, struct hl_err *err)
{
	struct kept_found found = { 0 };
	struct kept_ask ask = { 0 };

	ask.name = hl_wire_string(request);
	ask.body = hl_wire_string(request);
	ask.id = hl_wire_string(request);

	if (check_request(request, err) < 0)
		return -1;
	/* What a client is told are words, and what is kept is judged by requests. */
	if (engine->easy == NULL || engine->may_exist || engine->transport != &api_transport)
		return hl_err_set(err, HLI_02, "a request came out of order");
	if (kept_find(engine, &ask, &found, err) < 0)
		return -1;
	hl_wire_put_u8(out, ENGINE_FOUND);
	hl_wire_put_string(out, found.id);
	hl_wire_put_string(out, found.run);
	hl_wire_put_string(out, found.why);
	return 0;
}

static int
answer_start(struct engine *engine, struct hl_wire *request, struct hl_buf *out, struct hl_err *err)
{
	uint32_t pid = 0;

	if (check_request(request, err) < 0)
		return -1;
	if (!engine->may_exist || engine->is_waiting)
		return hl_err_set(err, HLI_02, "a request came out of order");
	if (container_start(engine, &pid, err) < 0)
		return -1;
	hl_wire_put_u8(out, ENGINE_STARTED);
	hl_wire_put_u32(out, pid);
	return 0;
}

static int
answer_stop(struct engine *engine, struct hl_wire *request, struct hl_buf *out, struct hl_err *err)
{
	struct container_end end;
	bool is_discarded = hl_wire_u8(request) != 0;

	if (check_request(request, err) < 0)
		return -1;
	engine->stays = engine->stays && !is_discarded;
	container_stop(engine, &end);
	hl_wire_put_u8(out, ENGINE_STOPPED);
	hl_wire_put_u32(out, end.flags);
	hl_wire_put_u32(out, end.exit_code);
	hl_wire_put_bytes(out, end.diagnosis, strlen(end.diagnosis));
	hl_wire_put_string(out, end.daemon_error);
	return 0;
}

static int
answer_remove(struct engine *engine, struct hl_wire *request, struct hl_buf *out,
    struct hl_err *err)
{
	struct container_named named = { 0 };

	named.name = hl_wire_string(request);
	named.run = hl_wire_string(request);
	named.is_forced = hl_wire_u8(request) != 0;

	if (check_request(request, err) < 0)
		return -1;
	if (engine->easy == NULL)
		return hl_err_set(err, HLI_02, "a request came out of order");
	if (container_remove_named(engine, &named, err) < 0)
		return -1;
	hl_wire_put_u8(out, ENGINE_REMOVED);
	return 0;
}

static int
answer_list(struct engine *engine, struct hl_wire *request, struct hl_buf *out, struct hl_err *err)
{
	HL_AUTO(hl_strv_done) struct hl_strv items;
	const char *name = hl_wire_string(request);

	hl_strv_init(&items, (size_t)ENGINE_LIST_MAX * ENGINE_LIST_FIELDS);
	if (check_request(request, err) < 0)
		return -1;
	if (engine->easy == NULL)
		return hl_err_set(err, HLI_02, "a request came out of order");
	if (container_list(engine, name, &items, err) < 0)
		return -1;
	hl_wire_put_u8(out, ENGINE_LISTED);
	hl_wire_put_strv(out, &items);
	return 0;
}

static answer_fn *const answers[ENGINE_MESSAGE_MAX] = {
	[ENGINE_OPEN] = answer_open,
	[ENGINE_CREATE] = answer_create,
	[ENGINE_START] = answer_start,
	[ENGINE_STOP] = answer_stop,
	[ENGINE_REMOVE] = answer_remove,
	[ENGINE_LIST] = answer_list,
	[ENGINE_FIND] = answer_find,
};

static void
put_failure(struct hl_buf *out, const struct hl_err *err)
{
	hl_buf_reset(out);
	hl_wire_put_u8(out, ENGINE_FAILED);
	hl_wire_put_string(out, hl_code_info(err->code)->id);
	hl_wire_put_string(out, err->msg);
	hl_wire_put_string(out, err->help);
}

/* false: the launcher is gone, or is not the launcher. A failed start leaves nothing behind. */
static bool
serve(struct engine *engine, const unsigned char *packet, size_t len)
{
	struct hl_err err = { 0 };
	struct hl_wire request;
	struct hl_buf out;

	hl_wire_init(&request, packet, len);
	unsigned type = hl_wire_u8(&request);
	if (type >= ENGINE_MESSAGE_MAX || answers[type] == NULL)
		return false;
	hl_buf_init(&out, ENGINE_PACKET_MAX);
	if (answers[type](engine, &request, &out, &err) < 0 ||
	    hl_buf_check(&out, "answer of the engine", &err) < 0) {
		struct hl_err second = { 0 };
		engine->is_ending = err.code == HLB_60;
		if (container_remove(engine, &second) < 0)
			hl_err_wrap(&err, "%s; before that", second.msg);
		put_failure(&out, &err);
	}
	ssize_t n = send(engine->control, out.data, out.len, MSG_NOSIGNAL);
	bool is_sent = n == (ssize_t)out.len;
	hl_buf_done(&out);
	return is_sent;
}

static void
loop(struct engine *engine)
{
	unsigned char *packet HL_AUTO_FREE = malloc(ENGINE_PACKET_MAX);

	while (packet != NULL) {
		if (engine->is_waiting || engine->relay.attach >= 0)
			(void)relay_run(engine, -1);
		ssize_t n = recv(engine->control, packet, ENGINE_PACKET_MAX, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || !serve(engine, packet, (size_t)n))
			return;
	}
}

int
main(void)
{
	static struct engine engine = {
		.control = ENGINE_CONTROL_FD,
		.stream = ENGINE_STREAM_FD,
		.relay.attach = -1,
	};
	struct hl_err err = { 0 };

	/* Nothing private is held, but what is moved may be: not for a debugger of the same user.
	 */
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (hl_fd_ensure_std(&err) < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return 1;
	loop(&engine);
	engine.is_ending = true;
	int status = container_remove(&engine, &err) < 0 ? 1 : 0;
	api_done(&engine);
	client_done(&engine);
	service_end(&engine);
	free(engine.endpoint);
	free(engine.address);
	return status;
}
