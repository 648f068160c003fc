/*
 * hl-engine as a peer of the launcher: made with nothing of ours but a second socket, for what the
 * container reads and writes.
 */
#include "backends/docker/helper.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/prepare.h"

#include "base/banned.h"

/* hl-engine keeps its own limits, the longest of them a pull's, and removes what it made when it is
 * ended: the times are for a broken one. */
static const struct hl_peer_kind kind = {
	.name = "hl-engine",
	.broken = HLB_59,
	.cancelled = HLB_60,
	.packet_max = ENGINE_PACKET_MAX,
	.fds_len = 1,
	.answer_ms = 40 * 60 * 1000,
	.end_ms = 30 * 1000,
	.failed = ENGINE_FAILED,
	.progress = ENGINE_PROGRESS,
	.has_session = true,
};

int
docker_helper_start(struct docker_helper *helper, const char *path, int cancel_fd,
    struct hl_err *err)
{
	_Static_assert((int)ENGINE_STREAM_FD == ENGINE_CONTROL_FD + 1, "the first one given");
	int stream[2] = { -1, -1 };

	*helper = (struct docker_helper){
		.peer = { .pidfd = -1, .control = -1, .cancel_fd = -1 },
		.stream = -1,
	};
	if (path == NULL)
		return hl_err_set(err, HLB_59,
		    "'hl-engine' is not beside 'hermes-launch', and only it speaks to engines");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream) < 0)
		return hl_err_sys(err, HLB_59, "cannot make a socket for '%s'", path);
	int result = hl_peer_start(&helper->peer, &kind, path, &stream[1], err);
	hl_close_ptr(&stream[1]);
	helper->stream = stream[0];
	helper->peer.cancel_fd = cancel_fd;
	if (result < 0)
		docker_helper_end(helper);
	return result;
}

void
docker_helper_end(struct docker_helper *helper)
{
	hl_close_ptr(&helper->stream);
	helper->stream = -1;
	hl_peer_end(&helper->peer);
}

/* ------------------------------------------------------------------------------------------------
 * Open, which may take as long as a pull
 */
struct pulling {
	const struct plan *plan;
	bool has_begun;
};

static void
on_progress(void *context, struct hl_wire *wire)
{
	struct pulling *pulling = context;
	const struct plan *plan = pulling->plan;
	struct image_progress progress = { .image = plan->image };

	progress.layers = hl_wire_u32(wire);
	progress.layers_done = hl_wire_u32(wire);
	progress.bytes = hl_wire_u64(wire);
	progress.total = hl_wire_u64(wire);
	if (!hl_wire_is_complete(wire))
		return;
	progress.state = pulling->has_begun ? IMAGE_PULL_GOES_ON : IMAGE_PULL_BEGINS;
	pulling->has_begun = true;
	if (plan->on_pull != NULL)
		plan->on_pull(plan->on_pull_context, &progress);
}

static void
end_pull(const struct pulling *pulling, bool is_good)
{
	const struct plan *plan = pulling->plan;
	const struct image_progress progress = { .image = plan->image,
		.state = is_good ? IMAGE_PULL_ENDS : IMAGE_PULL_FAILS };

	if (pulling->has_begun && plan->on_pull != NULL)
		plan->on_pull(plan->on_pull_context, &progress);
}

static void
put_open(struct hl_buf *request, const struct plan *plan)
{
	hl_buf_init(request, ENGINE_PACKET_MAX);
	hl_wire_put_u8(request, ENGINE_OPEN);
	hl_wire_put_string(request, plan->endpoint);
	hl_wire_put_string(request, plan->image);
	hl_wire_put_u8(request, (uint8_t)plan->pull);
	hl_wire_put_strv(request, &plan->registry_files);
	hl_wire_put_strv(request, &plan->registry_env);
	hl_wire_put_strv(request, &plan->registry_shown);
	hl_wire_put_string(request, plan->backend != NULL ? plan->backend : "");
	hl_wire_put_u8(request, plan->is_endpoint_program ? 1 : 0);
	hl_wire_put_string(request, plan->client != NULL ? plan->client : "");
}

static int
ask_open(struct docker_helper *helper, const struct plan *plan, struct hl_buf *answer,
    struct hl_err *err)
{
	struct pulling pulling = { .plan = plan };
	struct hl_buf request;

	put_open(&request, plan);
	helper->peer.on_progress = on_progress;
	helper->peer.context = &pulling;
	int status = hl_peer_ask(&helper->peer, &request, ENGINE_OPENED, answer, err);
	helper->peer.on_progress = NULL;
	hl_buf_done(&request);
	end_pull(&pulling, status == 0);
	return status;
}

int
docker_helper_open(struct docker_helper *helper, const struct plan *plan,
    struct docker_opened *ret_opened, struct hl_err *err)
{
	struct hl_wire wire;

	if (ask_open(helper, plan, &ret_opened->answer, err) < 0)
		return -1;
	hl_strv_init(&ret_opened->env, ENGINE_IMAGE_ENV_MAX);
	hl_wire_init(&wire, ret_opened->answer.data + 1, ret_opened->answer.len - 1);
	ret_opened->engine = hl_wire_string(&wire);
	ret_opened->image_id = hl_wire_string(&wire);
	ret_opened->digest = hl_wire_string(&wire);
	ret_opened->user = hl_wire_string(&wire);
	hl_strv_init(&ret_opened->volumes, ENGINE_VOLUMES_MAX);
	hl_wire_strv(&wire, &ret_opened->env);
	hl_wire_strv(&wire, &ret_opened->volumes);
	if (hl_wire_is_complete(&wire) && !ret_opened->env.failed && !ret_opened->volumes.failed)
		return 0;
	docker_opened_done(ret_opened);
	return hl_peer_malformed(&helper->peer, err);
}

void
docker_opened_done(struct docker_opened *opened)
{
	hl_buf_done(&opened->answer);
	hl_strv_done(&opened->env);
	hl_strv_done(&opened->volumes);
}

int
docker_helper_reach(struct docker_helper *helper, const struct docker_reach *reach,
    struct docker_opened *ret_opened, struct hl_err *err)
{
	HL_AUTO_FREE char *copy = strdup(reach->endpoint);
	struct plan plan = { .cancel_fd = -1 };

	if (copy == NULL)
		return hl_err_oom(err);
	docker_endpoint_take(copy, &plan);
	if (docker_helper_start(helper, reach->helper_path, -1, err) < 0)
		return -1;
	if (reach->patience_ms > 0)
		helper->peer.answer_ms = helper->peer.end_ms = reach->patience_ms;
	if (docker_helper_open(helper, &plan, ret_opened, err) == 0)
		return 0;
	docker_helper_end(helper);
	return -1;
}

int
docker_helper_remove(struct docker_helper *helper, const struct docker_remove_call *call,
    struct hl_err *err)
{
	struct hl_buf request, answer;

	hl_buf_init(&request, 4096);
	hl_wire_put_u8(&request, ENGINE_REMOVE);
	hl_wire_put_string(&request, call->name);
	hl_wire_put_string(&request, call->run_id);
	hl_wire_put_u8(&request, call->is_forced ? 1 : 0);
	int status = hl_peer_ask(&helper->peer, &request, ENGINE_REMOVED, &answer, err);
	hl_buf_done(&request);
	if (status == 0)
		hl_buf_done(&answer);
	return status;
}

int
docker_helper_find(struct docker_helper *helper, const struct docker_create_call *call,
    struct docker_created *ret_created, struct hl_err *err)
{
	struct hl_buf request, answer;
	struct hl_wire wire;

	hl_buf_init(&request, ENGINE_PACKET_MAX);
	hl_wire_put_u8(&request, ENGINE_FIND);
	hl_wire_put_string(&request, call->name);
	hl_wire_put_string(&request, call->body);
	hl_wire_put_string(&request, call->id);
	int status = hl_peer_ask(&helper->peer, &request, ENGINE_FOUND, &answer, err);
	hl_buf_done(&request);
	if (status < 0)
		return -1;
	hl_wire_init(&wire, answer.data + 1, answer.len - 1);
	const char *id = hl_wire_string(&wire);
	const char *run = hl_wire_string(&wire);
	const char *why = hl_wire_string(&wire);
	if (hl_wire_is_complete(&wire) && strlen(id) < sizeof(ret_created->id) &&
	    strlen(run) < sizeof(ret_created->run_id)) {
		ret_created->reuse = id[0] != '\0'    ? SANDBOX_REUSED
				     : why[0] != '\0' ? SANDBOX_REPLACED
						      : SANDBOX_FRESH;
		snprintf(ret_created->id, sizeof(ret_created->id), "%s", id);
		snprintf(ret_created->run_id, sizeof(ret_created->run_id), "%s", run);
		snprintf(ret_created->why, sizeof(ret_created->why), "%.*s",
		    (int)sizeof(ret_created->why) - 1, why);
	} else {
		status = hl_peer_malformed(&helper->peer, err);
	}
	hl_buf_done(&answer);
	return status;
}

int
docker_helper_create(struct docker_helper *helper, const struct docker_create_call *call,
    struct docker_created *ret_created, struct hl_err *err)
{
	struct hl_buf request, answer;
	struct hl_wire wire;

	hl_buf_init(&request, ENGINE_PACKET_MAX);
	hl_wire_put_u8(&request, ENGINE_CREATE);
	hl_wire_put_string(&request, call->name);
	hl_wire_put_string(&request, call->body);
	hl_wire_put_u8(&request, call->is_kept ? 1 : 0);
	hl_wire_put_strv(&request, &call->words);
	int status = hl_peer_ask(&helper->peer, &request, ENGINE_CREATED, &answer, err);
	hl_buf_done(&request);
	if (status < 0)
		return -1;
	hl_strv_init(&ret_created->warnings, ENGINE_WARNINGS_MAX);
	hl_wire_init(&wire, answer.data + 1, answer.len - 1);
	const char *id = hl_wire_string(&wire);
	hl_wire_strv(&wire, &ret_created->warnings);
	if (hl_wire_is_complete(&wire) && strlen(id) < sizeof(ret_created->id)) {
		snprintf(ret_created->id, sizeof(ret_created->id), "%s", id);
	} else {
		hl_strv_done(&ret_created->warnings);
		status = hl_peer_malformed(&helper->peer, err);
	}
	hl_buf_done(&answer);
	return status;
}

int
docker_helper_start_container(struct docker_helper *helper, uint32_t *ret_pid, struct hl_err *err)
{
	struct hl_buf request, answer;
	struct hl_wire wire;

	hl_buf_init(&request, 16);
	hl_wire_put_u8(&request, ENGINE_START);
	int status = hl_peer_ask(&helper->peer, &request, ENGINE_STARTED, &answer, err);
	hl_buf_done(&request);
	if (status < 0)
		return -1;
	hl_wire_init(&wire, answer.data + 1, answer.len - 1);
	uint32_t pid = hl_wire_u32(&wire);
	if (hl_wire_is_complete(&wire))
		*ret_pid = pid;
	else
		status = hl_peer_malformed(&helper->peer, err);
	hl_buf_done(&answer);
	return status;
}

int
docker_helper_stop(struct docker_helper *helper, bool discard, struct docker_end *ret_end,
    struct hl_err *err)
{
	struct hl_buf request, answer;
	struct hl_wire wire;
	size_t len = 0;

	hl_buf_init(&request, 16);
	hl_wire_put_u8(&request, ENGINE_STOP);
	hl_wire_put_u8(&request, discard ? 1 : 0);
	int status = hl_peer_ask(&helper->peer, &request, ENGINE_STOPPED, &answer, err);
	hl_buf_done(&request);
	if (status < 0)
		return -1;
	memset(ret_end, 0, sizeof(*ret_end));
	hl_wire_init(&wire, answer.data + 1, answer.len - 1);
	ret_end->flags = hl_wire_u32(&wire);
	ret_end->exit_code = hl_wire_u32(&wire);
	const void *diagnosis = hl_wire_bytes(&wire, &len);
	const char *why = hl_wire_string(&wire);
	if (hl_wire_is_complete(&wire) && len < sizeof(ret_end->diagnosis)) {
		memcpy(ret_end->diagnosis, diagnosis, len);
		snprintf(ret_end->why, sizeof(ret_end->why), "%s", why);
	} else {
		status = hl_peer_malformed(&helper->peer, err);
	}
	hl_buf_done(&answer);
	return status;
}
