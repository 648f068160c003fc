/*
 * Joining a container: the hijacked connection of POST /containers/ID/attach, and the long wait.
 *
 * libcurl makes the connection only; the request head is ours, because after the answer (101, or
 * 200 from engines that do not upgrade) the connection is no longer HTTP. What comes then is
 * multiplexed: eight bytes - stream, three zeros, big-endian length - and so many bytes.
 */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	WAIT_HEAD_MS = 5000,
	REASON_MS = 500
};

static int
connect_only(struct engine *engine, struct hl_err *err)
{
	curl_socket_t fd = CURL_SOCKET_BAD;

	engine->join = curl_easy_init();
	if (engine->join == NULL)
		return hl_err_oom(err);
	if (api_prepare(engine, engine->join, "/") < 0 ||
	    curl_easy_setopt(engine->join, CURLOPT_CONNECT_ONLY, 1L) != CURLE_OK)
		return hl_err_set(err, HLI_02, "cannot prepare a connection");
	CURLcode result = curl_easy_perform(engine->join);
	if (result != CURLE_OK)
		return api_transport_error(engine, result, err);
	if (curl_easy_getinfo(engine->join, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK ||
	    fd == CURL_SOCKET_BAD)
		return hl_err_set(err, HLI_02, "the connection has no socket");
	engine->relay.attach = fd;
	return 0;
}

static int
send_head(struct engine *engine, struct hl_err *err)
{
	struct hl_buf head;
	int status = -1;

	hl_buf_init(&head, 1024);
	hl_buf_putf(&head,
	    "POST %s/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1 HTTP/1.1\r\n"
	    "Host: localhost\r\n"
	    "Connection: Upgrade\r\n"
	    "Upgrade: tcp\r\n"
	    "Content-Length: 0\r\n\r\n",
	    engine->prefix, engine->container);
	/* A fresh socket takes a kilobyte at once. */
	if (head.failed)
		hl_err_set(err, HLI_03, "the request is too long");
	else if (send(engine->relay.attach, head.data, head.len, MSG_NOSIGNAL) != (ssize_t)head.len)
		hl_err_sys(err, HLB_52, "cannot join the container's streams");
	else
		status = 0;
	hl_buf_done(&head);
	return status;
}

static bool
head_is_whole(const struct hl_buf *head)
{
	return head->len >= 4 && memcmp(head->data + head->len - 4, "\r\n\r\n", 4) == 0;
}

/* Takes from the socket what belongs to the head, which ends with an empty line: what follows is
 * the stream's. 0 or -1 as recv(2), with errno. */
static ssize_t
take_head(int fd, struct hl_buf *head)
{
	char bytes[512];
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_PEEK);

	if (n <= 0)
		return n;
	for (ssize_t i = 0; i < n; i++) {
		hl_buf_putc(head, bytes[i]);
		if (head_is_whole(head))
			n = i + 1;
	}
	return recv(fd, bytes, (size_t)n, MSG_DONTWAIT);
}

static int
read_head(struct engine *engine, struct hl_buf *head, struct hl_err *err)
{
	struct pollfd ready = { .fd = engine->relay.attach, .events = POLLIN };
	uint64_t until = hl_now_mono_ms() + API_SHORT_MS;

	while (!head_is_whole(head)) {
		uint64_t now = hl_now_mono_ms();
		if (now >= until)
			return hl_err_set(err, HLB_42,
			    "the engine did not join the streams in time");
		ssize_t n = take_head(engine->relay.attach, head);
		if (n == 0)
			return hl_err_set(err, HLB_52, "the engine closed the container's streams");
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			(void)poll(&ready, 1, (int)(until - now));
		else if (n < 0)
			return hl_err_sys(err, HLB_52, "cannot read the container's streams");
		if (head->failed)
			return hl_err_set(err, HLB_43,
			    "the engine's head of the streams is too large");
	}
	return 0;
}

/* "HTTP/1.1 101 UPGRADED": three digits behind the first space. */
static long
head_status(const struct hl_buf *head)
{
	const char *text = head->data;
	long status = 0;

	if (head->len < 13 || memcmp(text, "HTTP/1.", 7) != 0 || text[8] != ' ')
		return -1;
	for (size_t i = 9; i < 12; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		status = status * 10 + (text[i] - '0');
	}
	return status;
}

/* podman makes the container's processes here, and says here why it cannot. The reason is all that
 * comes behind the head; one that does not come soon is not waited for. */
static int
refused(struct engine *engine, long status, struct hl_err *err)
{
	struct pollfd ready = { .fd = engine->relay.attach, .events = POLLIN };
	struct api_reply reply = { .status = status };
	char bytes[4096];
	ssize_t n = 0;

	if (poll(&ready, 1, REASON_MS) == 1)
		n = recv(engine->relay.attach, bytes, sizeof(bytes), MSG_DONTWAIT);
	hl_buf_init(&reply.body, sizeof(bytes));
	hl_buf_put(&reply.body, bytes, n > 0 ? (size_t)n : 0);
	api_refused(&reply, err, HLB_52, "the engine does not join the container's streams");
	hl_buf_done(&reply.body);
	return -1;
}

int
attach_open(struct engine *engine, struct hl_err *err)
{
	struct hl_buf head;

	engine->relay.attach = -1;
	if (connect_only(engine, err) < 0 || send_head(engine, err) < 0)
		return -1;
	hl_buf_init(&head, API_HEADERS_MAX);
	int result = read_head(engine, &head, err);
	long status = result == 0 ? head_status(&head) : 0;
	hl_buf_done(&head);
	if (result < 0)
		return -1;
	if (status != 101 && status != 200)
		return refused(engine, status, err);
	int flags = fcntl(engine->relay.attach, F_GETFL);
	if (flags < 0 || fcntl(engine->relay.attach, F_SETFL, flags | O_NONBLOCK) < 0)
		return hl_err_sys(err, HLI_02, "fcntl");
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The wait
 */
static size_t
take_wait_body(char *bytes, size_t size, size_t count, void *context)
{
	struct engine *engine = context;

	hl_buf_put(&engine->wait_body, bytes, size * count);
	return engine->wait_body.failed ? 0 : size * count;
}

static int
prepare_wait(struct engine *engine)
{
	char path[128];
	CURLcode result = CURLE_OK;

	snprintf(path, sizeof(path), "/containers/%s/wait?condition=%s", engine->container,
	    engine->dialect->condition);
	if (api_prepare(engine, engine->wait, path) < 0)
		return -1;
	result |= curl_easy_setopt(engine->wait, CURLOPT_POST, 1L);
	result |= curl_easy_setopt(engine->wait, CURLOPT_POSTFIELDSIZE, 0L);
	result |= curl_easy_setopt(engine->wait, CURLOPT_POSTFIELDS, "");
	result |= curl_easy_setopt(engine->wait, CURLOPT_WRITEFUNCTION, take_wait_body);
	result |= curl_easy_setopt(engine->wait, CURLOPT_WRITEDATA, engine);
	return result == CURLE_OK ? 0 : -1;
}

/* The daemon sends the head of its answer as soon as it waits: where the wait is for the next end,
 * only then may the container start, or a quick end would be missed. An engine that sends it late
 * costs WAIT_HEAD_MS. */
int
wait_open(struct engine *engine, struct hl_err *err)
{
	uint64_t until = hl_now_mono_ms() + WAIT_HEAD_MS;
	int running = 1;

	hl_buf_init(&engine->wait_body, 64 * 1024);
	engine->wait = curl_easy_init();
	if (engine->wait == NULL)
		return hl_err_oom(err);
	if (prepare_wait(engine) < 0 ||
	    curl_multi_add_handle(engine->multi, engine->wait) != CURLM_OK)
		return hl_err_set(err, HLI_02, "cannot prepare the wait");
	while (hl_now_mono_ms() < until) {
		long status = 0;
		if (curl_multi_perform(engine->multi, &running) != CURLM_OK)
			return hl_err_set(err, HLB_52,
			    "the engine does not wait for the container");
		curl_easy_getinfo(engine->wait, CURLINFO_RESPONSE_CODE, &status);
		if (status == 200)
			break;
		if (running == 0)
			return hl_err_set(err, HLB_52,
			    "the engine does not wait for the container");
		if (status != 0)
			return hl_err_set(err, HLB_52,
			    "the engine does not wait for the container (status %ld)", status);
		(void)curl_multi_poll(engine->multi, NULL, 0, 50, NULL);
	}
	engine->is_waiting = true;
	return 0;
}
