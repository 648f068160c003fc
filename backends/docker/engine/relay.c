/*
 * Bytes both ways between the container and the launcher, in two buffers of fixed size: a side that
 * does not read stops the other, nothing grows.
 *
 * From the container only standard output is the runner's stream; its standard error is kept,
 * capped, as a diagnosis for a runner that could not start. A client gives the two apart, so that
 * nothing has to be taken apart here.
 */
#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

enum {
	STREAM_OUT = 1,
	STREAM_ERR = 2,
	SLICE_MS = 1000
};

static void
end_attach(struct relay *relay)
{
	/* The socket is libcurl's, or the client's: it is closed with its owner. */
	relay->attach = -1;
}

static void
compact(struct flow *flow)
{
	if (flow->start > 0 && flow->len > 0)
		memmove(flow->bytes, flow->bytes + flow->start, flow->len);
	flow->start = 0;
}

static size_t
room_of(struct flow *flow)
{
	compact(flow);
	return sizeof(flow->bytes) - flow->len;
}

/* false: the other side is gone. */
static bool
flush(struct flow *flow, int fd)
{
	while (flow->len > 0) {
		ssize_t n =
		    send(fd, flow->bytes + flow->start, flow->len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		flow->start += (size_t)n;
		flow->len -= (size_t)n;
	}
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * From the container
 */
static void
take_payload(struct relay *relay, const unsigned char *bytes, size_t len)
{
	if (relay->frame_stream == STREAM_ERR) {
		size_t room = sizeof(relay->diagnosis) - relay->diagnosis_len;
		size_t n = len < room ? len : room;
		memcpy(relay->diagnosis + relay->diagnosis_len, bytes, n);
		relay->diagnosis_len += n;
		return;
	}
	relay->has_output = true;
	if (relay->is_launcher_gone)
		return;
	struct flow *flow = &relay->to_launcher;
	memcpy(flow->bytes + flow->start + flow->len, bytes, len);
	flow->len += len;
}

static bool
take_frame_head(struct relay *relay)
{
	const unsigned char *head = relay->head;

	if ((head[0] != STREAM_OUT && head[0] != STREAM_ERR) || head[1] != 0 || head[2] != 0 ||
	    head[3] != 0)
		return false;
	relay->frame_stream = head[0];
	relay->frame_left = (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 |
			    (uint32_t)head[6] << 8 | (uint32_t)head[7];
	relay->head_len = 0;
	return true;
}

/* The caller has seen that there is room for len bytes. false: not the stream of an engine. */
static bool
demultiplex(struct relay *relay, const unsigned char *bytes, size_t len)
{
	while (len > 0) {
		if (relay->frame_left == 0) {
			relay->head[relay->head_len++] = *bytes++;
			len--;
			if (relay->head_len == sizeof(relay->head) && !take_frame_head(relay))
				return false;
			continue;
		}
		size_t n = len < relay->frame_left ? len : relay->frame_left;
		take_payload(relay, bytes, n);
		relay->frame_left -= (uint32_t)n;
		bytes += n;
		len -= n;
	}
	return true;
}

static void
read_attach(struct relay *relay)
{
	unsigned char *bytes = relay->incoming;
	size_t room = room_of(&relay->to_launcher);
	size_t want = room < sizeof(relay->incoming) ? room : sizeof(relay->incoming);

	if (want == 0)
		return;
	ssize_t n = recv(relay->attach, bytes, want, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_attach(relay);
	} else if (relay->is_raw) {
		relay->frame_stream = STREAM_OUT;
		take_payload(relay, bytes, (size_t)n);
	} else if (!demultiplex(relay, bytes, (size_t)n)) {
		relay->is_malformed = true;
		shutdown(relay->attach, SHUT_RDWR);
		end_attach(relay);
	}
}

/* ------------------------------------------------------------------------------------------------
 * From the launcher
 */
static void
read_stream(struct engine *engine)
{
	struct relay *relay = &engine->relay;
	struct flow *flow = &relay->to_runner;
	size_t room = room_of(flow);

	if (room == 0)
		return;
	ssize_t n = recv(engine->stream, flow->bytes + flow->len, room, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		relay->is_launcher_done = true;
	else
		flow->len += (size_t)n;
}

/* What is buffered goes on; ends are passed on behind the last byte. */
static void
push(struct engine *engine)
{
	struct relay *relay = &engine->relay;

	if (relay->attach >= 0) {
		if (!flush(&relay->to_runner, relay->attach))
			relay->to_runner.len = 0; /* the reading side finds the end */
		if (relay->is_launcher_done && relay->to_runner.len == 0 &&
		    !relay->is_half_closed) {
			shutdown(relay->attach, SHUT_WR);
			relay->is_half_closed = true;
		}
	}
	if (!relay->is_launcher_gone && !flush(&relay->to_launcher, engine->stream)) {
		relay->is_launcher_gone = true;
		relay->to_launcher.len = 0;
	}
	if (relay->attach < 0 && relay->to_launcher.len == 0 && !relay->is_launcher_gone) {
		shutdown(engine->stream, SHUT_WR);
		relay->is_launcher_gone = true;
	}
}

/* ------------------------------------------------------------------------------------------------
 * The loop
 */
enum {
	WATCH_CONTROL,
	WATCH_STREAM,
	WATCH_ATTACH,
	WATCH_CLIENT,
	WATCH_MAX
};

static void
fill_watch(struct engine *engine, struct curl_waitfd watch[WATCH_MAX])
{
	struct relay *relay = &engine->relay;

	watch[WATCH_CONTROL] =
	    (struct curl_waitfd){ .fd = engine->control, .events = CURL_WAIT_POLLIN };
	watch[WATCH_STREAM] = (struct curl_waitfd){ .fd = engine->stream };
	watch[WATCH_ATTACH] = (struct curl_waitfd){ .fd = relay->attach };
	watch[WATCH_CLIENT] = (struct curl_waitfd){ .fd = -1, .events = CURL_WAIT_POLLIN };
	if (engine->is_waiting && engine->client.pid != 0)
		watch[WATCH_CLIENT].fd = engine->client.pidfd;
	if (!relay->is_launcher_done && room_of(&relay->to_runner) > 0)
		watch[WATCH_STREAM].events |= CURL_WAIT_POLLIN;
	if (!relay->is_launcher_gone && relay->to_launcher.len > 0)
		watch[WATCH_STREAM].events |= CURL_WAIT_POLLOUT;
	/* A descriptor that is not watched would still report its end, over and over. */
	if (watch[WATCH_STREAM].events == 0)
		watch[WATCH_STREAM].fd = -1;
	if (relay->attach >= 0 && room_of(&relay->to_launcher) > 0)
		watch[WATCH_ATTACH].events |= CURL_WAIT_POLLIN;
	if (relay->attach >= 0 && relay->to_runner.len > 0)
		watch[WATCH_ATTACH].events |= CURL_WAIT_POLLOUT;
	if (watch[WATCH_ATTACH].events == 0)
		watch[WATCH_ATTACH].fd = -1;
}

static int
slice(int timeout_ms, uint64_t until)
{
	uint64_t now = hl_now_mono_ms();

	if (timeout_ms < 0)
		return SLICE_MS;
	if (now >= until)
		return 0;
	return until - now < SLICE_MS ? (int)(until - now) : SLICE_MS;
}

bool
relay_run(struct engine *engine, int timeout_ms)
{
	struct relay *relay = &engine->relay;
	uint64_t until = hl_now_mono_ms() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0);

	for (;;) {
		struct curl_waitfd watch[WATCH_MAX];
		int events = 0;
		push(engine);
		fill_watch(engine, watch);
		/* Without a limit the launcher's next word is waited for, with one the container's
		 * end. */
		if (timeout_ms >= 0)
			watch[WATCH_CONTROL].fd = -1;
		(void)curl_multi_poll(engine->multi, watch, WATCH_MAX, slice(timeout_ms, until),
		    &events);
		if (watch[WATCH_STREAM].fd >= 0 && watch[WATCH_STREAM].revents != 0)
			read_stream(engine);
		if (watch[WATCH_ATTACH].fd >= 0 && watch[WATCH_ATTACH].revents != 0)
			read_attach(relay);
		/* The end of the streams may be where the wait begins. */
		if (engine->is_waiting)
			engine->transport->take_end(engine);
		if (timeout_ms < 0 && watch[WATCH_CONTROL].revents != 0)
			return true;
		if (timeout_ms >= 0 &&
		    ((!engine->is_waiting && relay->attach < 0) || hl_now_mono_ms() >= until))
			return false;
	}
}
