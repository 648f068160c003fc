/*
 * HTTP to a daemon behind a unix socket. No proxy, no redirects, no cookies, no user's
 * configuration; header and body bytes are counted and capped.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "backends/docker/engine/engine.h"

#include "base/banned.h"

/* Of one transfer, while it runs. */
struct transfer {
	struct engine *engine;
	const struct api_request *request;
	struct api_reply *reply;
	size_t headers;
	int fd;          /* of a request that only root or the caller may get */
	bool is_refused; /* it is somebody else's */
	bool is_too_large, is_ended;
};

static void
keep_header(char value[API_HEADER_MAX], const char *name, const char *bytes, size_t len)
{
	size_t name_len = strlen(name);
	char safe[ENGINE_TEXT_MAX];

	if (len < name_len || strncasecmp(bytes, name, name_len) != 0)
		return;
	while (name_len < len && bytes[name_len] == ' ')
		name_len++;
	api_safe_text(bytes + name_len, len - name_len, safe);
	snprintf(value, API_HEADER_MAX, "%.*s", API_HEADER_MAX - 1, safe);
}

static size_t
take_header(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;

	transfer->headers += size * count;
	if (transfer->headers > API_HEADERS_MAX) {
		transfer->is_too_large = true;
		return 0;
	}
	keep_header(transfer->reply->api_version, "Api-Version:", bytes, size * count);
	keep_header(transfer->reply->server, "Server:", bytes, size * count);
	return size * count;
}

static size_t
take_body(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;
	size_t len = size * count;

	if (transfer->request->piece != NULL) {
		if (transfer->request->piece(bytes, len, transfer->request->context))
			return len;
		transfer->is_ended = true;
		return 0;
	}
	hl_buf_put(&transfer->reply->body, bytes, len);
	transfer->is_too_large = transfer->reply->body.failed;
	return transfer->is_too_large ? 0 : len;
}

/* The launcher may end while the daemon is busy (a pull takes minutes): then so do we. */
static int
watch_launcher(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct engine *engine = context;
	struct pollfd control = { .fd = engine->control, .events = 0 };

	if (engine->is_ending) /* what is left to do is the removal */
		return 0;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return poll(&control, 1, 0) == 1 && (control.revents & (POLLHUP | POLLERR)) != 0;
}

int
api_prepare(struct engine *engine, CURL *easy, const char *path)
{
	char url[1024];
	CURLcode result = CURLE_OK;

	if (strlen(path) + strlen(engine->prefix) + sizeof("http://localhost") > sizeof(url))
		return -1;
	struct hl_buf text;
	hl_buf_init(&text, sizeof(url));
	/* podman's own calls are counted apart from those that it has in common with docker. */
	bool is_own = strncmp(path, "/libpod/", 8) == 0;
	hl_buf_putf(&text, "http://localhost%s%s", is_own ? "/v4.0.0" : engine->prefix, path);
	curl_easy_reset(easy);
	result |= curl_easy_setopt(easy, CURLOPT_URL, text.data);
	result |= curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, engine->address);
	result |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
	result |= curl_easy_setopt(easy, CURLOPT_PROXY, "");
	result |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	result |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)API_SHORT_MS);
	result |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	bool failed = text.failed;
	hl_buf_done(&text);
	return result == CURLE_OK && !failed ? 0 : -1;
}

/* curl keeps the cause of a failed connect to itself; a second try of our own has it. */
static int
connect_error(const struct engine *engine, struct hl_err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = engine->endpoint, *at = engine->address;

	if (strlen(at) >= sizeof(address.sun_path))
		return hl_err_set(err, HLB_40, "the path of the socket '%s' is too long", path);
	int fd HL_AUTO_FD = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return hl_err_sys(err, HLI_02, "socket");
	memcpy(address.sun_path, at, strlen(at) + 1);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return hl_err_set(err, HLB_42, "the engine at '%s' is slow to take connections",
		    path);
	switch (errno) {
	case EACCES:
	case EPERM:
		return hl_err_sys(err, HLB_41, "no permission for the engine's socket '%s'", path);
	case EAGAIN: /* its queue of connections is full (unix(7)) */
		return hl_err_sys(err, HLB_42, "the engine at '%s' takes no connections", path);
	default:
		return hl_err_sys(err, HLB_40, "no engine at '%s'", path);
	}
}

struct cause {
	CURLcode result;
	enum hl_code code;
	const char *text;
};

static const struct cause causes[] = {
	{ CURLE_OPERATION_TIMEDOUT, HLB_42, "did not answer in time" },
	{ CURLE_RECV_ERROR, HLB_54, "broke off its answer" },
	{ CURLE_SEND_ERROR, HLB_54, "broke off the connection" },
	{ CURLE_PARTIAL_FILE, HLB_54, "broke off its answer" },
	{ CURLE_GOT_NOTHING, HLB_54, "closed the connection without an answer" },
};

int
api_transport_error(const struct engine *engine, CURLcode result, struct hl_err *err)
{
	if (result == CURLE_COULDNT_CONNECT)
		return connect_error(engine, err);
	if (result == CURLE_ABORTED_BY_CALLBACK)
		return hl_err_set(err, HLB_60, "the launcher has ended");
	for (size_t i = 0; i < HL_ARRAY_SIZE(causes); i++) {
		if (causes[i].result == result)
			return hl_err_set(err, causes[i].code, "the engine at '%s' %s",
			    engine->endpoint, causes[i].text);
	}
	return hl_err_set(err, HLB_43, "'%s' does not answer like an engine (%s)", engine->endpoint,
	    curl_easy_strerror(result));
}

static int
set_request(CURL *easy, const struct api_request *request, struct curl_slist *headers)
{
	CURLcode result = CURLE_OK;

	result |= curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
	result |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, request->timeout_ms);
	result |= curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	result |= curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, request->stall_s > 0 ? 1L : 0L);
	result |= curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, request->stall_s);
	if (request->body != NULL || strcmp(request->method, "POST") == 0) {
		const char *body = request->body != NULL ? request->body : "";
		result |= curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
		result |= curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
	}
	return result == CURLE_OK ? 0 : -1;
}

static curl_socket_t
keep_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct transfer *transfer = context;

	(void)purpose;
	transfer->fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	return transfer->fd >= 0 ? transfer->fd : CURL_SOCKET_BAD;
}

/* Connected, and nothing sent yet: whoever listens there is root or the caller (unix(7),
 * SO_PEERCRED: who called listen). The name could have come to mean another socket since it was
 * looked at. */
static int
check_peer(void *context, char *primary, char *local, int primary_port, int local_port)
{
	struct transfer *transfer = context;
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(peer);

	(void)primary;
	(void)local;
	(void)primary_port;
	(void)local_port;
	transfer->is_refused =
	    transfer->fd < 0 ||
	    getsockopt(transfer->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 ||
	    (peer.uid != 0 && peer.uid != geteuid());
	return transfer->is_refused ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* For a request that nobody else may read, on a connection of its own. */
static CURLcode
set_trusted(CURL *easy, struct transfer *transfer)
{
	CURLcode result = curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);

	result |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, keep_socket);
	result |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
	result |= curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, check_peer);
	result |= curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
	return result;
}

static int
set_callbacks(CURL *easy, struct transfer *transfer)
{
	CURLcode result = CURLE_OK;

	result |= curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
	result |= curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	result |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	result |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	result |= curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
	result |= curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, watch_launcher);
	result |= curl_easy_setopt(easy, CURLOPT_XFERINFODATA, transfer->engine);
	if (transfer->request->header != NULL)
		result |= set_trusted(easy, transfer);
	return result == CURLE_OK ? 0 : -1;
}

static void
free_headers(struct curl_slist *headers)
{
	for (struct curl_slist *item = headers; item != NULL; item = item->next)
		explicit_bzero(item->data, strlen(item->data));
	curl_slist_free_all(headers);
}

static struct curl_slist *
make_headers(const struct api_request *request)
{
	const char *const lines[] = { "Content-Type: application/json",
		"Expect:", request->header };
	struct curl_slist *headers = NULL;

	for (size_t i = 0; i < HL_ARRAY_SIZE(lines) && lines[i] != NULL; i++) {
		struct curl_slist *more = curl_slist_append(headers, lines[i]);
		if (more == NULL) {
			free_headers(headers);
			return NULL;
		}
		headers = more;
	}
	return headers;
}

int
api_call(struct engine *engine, const struct api_request *request, struct api_reply *ret_reply,
    struct hl_err *err)
{
	struct transfer transfer = { .engine = engine,
		.request = request,
		.reply = ret_reply,
		.fd = -1 };
	struct curl_slist *headers = make_headers(request);
	int status = -1;

	hl_buf_init(&ret_reply->body, API_BODY_MAX);
	if (headers == NULL || api_prepare(engine, engine->easy, request->path) < 0 ||
	    set_request(engine->easy, request, headers) < 0 ||
	    set_callbacks(engine->easy, &transfer) < 0) {
		hl_err_set(err, HLI_02, "cannot prepare a request");
	} else {
		CURLcode result = curl_easy_perform(engine->easy);
		curl_easy_getinfo(engine->easy, CURLINFO_RESPONSE_CODE, &ret_reply->status);
		if (transfer.is_too_large)
			hl_err_set(err, HLB_43, "the answer of '%s' is too large",
			    engine->endpoint);
		else if (transfer.is_refused)
			hl_err_set(err, HLB_46,
			    "the engine at '%s' is neither root's nor yours any more: no credentials were sent",
			    engine->endpoint);
		else if (result != CURLE_OK && !transfer.is_ended)
			api_transport_error(engine, result, err);
		else
			status = 0;
	}
	free_headers(headers);
	if (status < 0)
		hl_buf_done(&ret_reply->body);
	return status;
}

void
api_safe_text(const char *text, size_t len, char safe[ENGINE_TEXT_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < ENGINE_TEXT_MAX - 1; i++) {
		unsigned char c = (unsigned char)text[i];
		safe[n++] = c >= 0x20 && c < 0x7f ? (char)c : ' ';
	}
	while (n > 0 && safe[n - 1] == ' ')
		n--;
	safe[n] = '\0';
}

int
api_refused(const struct api_reply *reply, struct hl_err *err, enum hl_code code, const char *what)
{
	struct hl_err ignored = { 0 };
	char safe[ENGINE_TEXT_MAX] = "";
	json_t *object = inspect_parse(&reply->body, "error", &ignored);
	const char *message = object != NULL ? inspect_string(object, "message", 65536) : NULL;

	if (message != NULL)
		api_safe_text(message, strlen(message), safe);
	json_decref(object);
	return hl_err_set(err, code, "%s: %s (status %ld)", what,
	    safe[0] != '\0' ? safe : "the engine gave no reason", reply->status);
}

char *
api_escape(struct engine *engine, const char *text)
{
	char *escaped = curl_easy_escape(engine->easy, text, 0);
	char *copy = escaped != NULL ? strdup(escaped) : NULL;

	curl_free(escaped);
	return copy;
}

int
api_open(struct engine *engine, struct hl_err *err)
{
	if (engine->easy != NULL)
		return 0;
	if (curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK)
		return hl_err_set(err, HLI_02, "libcurl does not start");
	engine->easy = curl_easy_init();
	engine->multi = curl_multi_init();
	return engine->easy != NULL && engine->multi != NULL ? 0 : hl_err_oom(err);
}

void
api_done(struct engine *engine)
{
	if (engine->wait != NULL) {
		curl_multi_remove_handle(engine->multi, engine->wait);
		curl_easy_cleanup(engine->wait);
	}
	curl_easy_cleanup(engine->join);
	curl_easy_cleanup(engine->easy);
	curl_multi_cleanup(engine->multi);
	engine->wait = engine->join = engine->easy = NULL;
	engine->multi = NULL;
	hl_buf_done(&engine->wait_body);
}
