/*
 * The pull of an image: one request, whose answer is a report that goes on for minutes. The
 * launcher is told how far it is, in numbers only: no text of the engine's goes to a terminal while
 * it lasts. The caller's credentials for the registry go with the request, to an engine that is
 * root's or the caller's own.
 */
#include "backends/docker/engine/pull.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum {
	TELL_MS = 100
};

static const char header_name[] = "X-Registry-Auth: ";

struct pull {
	struct engine *engine;
	const char *image;
	char registry[REGISTRY_HOST_MAX + 1];
	bool is_trusted;         /* the engine may have the caller's credentials */
	const char *credentials; /* sent with the request, NULL = none */
	struct pull_stream stream;
	uint64_t told_ms;
};

/* A launcher that does not read misses a number, nothing else. */
static void
tell(struct pull *pull)
{
	struct hl_buf packet;
	struct pull_sum sum;

	pull_stream_sum(&pull->stream, &sum);
	hl_buf_init(&packet, 64);
	hl_wire_put_u8(&packet, ENGINE_PROGRESS);
	hl_wire_put_u32(&packet, sum.layers);
	hl_wire_put_u32(&packet, sum.done);
	hl_wire_put_u64(&packet, sum.bytes);
	hl_wire_put_u64(&packet, sum.total);
	ssize_t sent =
	    send(pull->engine->control, packet.data, packet.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)sent;
	hl_buf_done(&packet);
	pull->told_ms = hl_now_mono_ms();
}

static bool
take_piece(const char *bytes, size_t len, void *context)
{
	struct pull *pull = context;

	if (!pull_stream_take(&pull->stream, bytes, len))
		return false;
	if (hl_now_mono_ms() - pull->told_ms >= TELL_MS)
		tell(pull);
	return true;
}

/* Whoever could make the socket would read them. */
static bool
is_trusted(const struct engine *engine)
{
	struct stat st;

	if (engine->service.pid != 0)
		return true; /* only we can connect to it */
	return stat(engine->endpoint, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid());
}

/* With credentials by the name that they were looked up by: an engine may read a short one in
 * another way, and would send them there. */
static char *
pull_path(const struct pull *pull)
{
	char *full HL_AUTO_FREE = reference_full(pull->image);
	const char *slash = strrchr(pull->image, '/');
	bool has_tag = strpbrk(slash != NULL ? slash : pull->image, ":@") != NULL;
	bool is_full = pull->credentials != NULL;
	char *name HL_AUTO_FREE =
	    full != NULL ? api_escape(pull->engine, is_full ? full : pull->image) : NULL;
	char *path = NULL;

	/* Without a tag an engine would pull them all. */
	if (name == NULL || asprintf(&path, "/images/create?fromImage=%s%s", name,
				has_tag || is_full ? "" : "&tag=latest") < 0)
		return NULL;
	return path;
}

enum {
	TAIL_MIN = 4 /* characters of a secret that are taken for its beginning */
};

/* Whether words have text in them, or end within it: they may have been cut there. */
static bool
has_text(const char *words, const char *text)
{
	const size_t words_len = strlen(words), text_len = strlen(text);
	size_t len = words_len < text_len ? words_len : text_len;

	if (text_len == 0)
		return false;
	for (; len >= TAIL_MIN; len--)
		if (memcmp(words + words_len - len, text, len) == 0)
			return true;
	return strstr(words, text) != NULL;
}

/* One of the credentials as it is, as JSON writes it, or with the name as Basic authentication
 * sends it (RFC 7617). */
static bool
tells_one(const char *words, const char *user, const char *secret)
{
	struct hl_buf pair HL_AUTO(hl_buf_done_secret) = { 0 };
	struct hl_buf sent HL_AUTO(hl_buf_done_secret) = { 0 };
	struct hl_buf quoted HL_AUTO(hl_buf_done_secret) = { 0 };

	if (secret == NULL || secret[0] == '\0')
		return false;
	hl_buf_init(&pair, REGISTRY_HEADER_MAX);
	hl_buf_init(&sent, (size_t)REGISTRY_HEADER_MAX * 2);
	hl_buf_init(&quoted, (size_t)REGISTRY_HEADER_MAX * 8);
	hl_buf_putf(&pair, "%s:%s", user != NULL ? user : "", secret);
	hl_buf_base64(&sent, (const unsigned char *)pair.data, pair.len);
	hl_buf_json_string(&quoted, secret, strlen(secret));
	if (pair.failed || sent.failed || quoted.failed)
		return true;
	quoted.data[quoted.len - 1] = '\0'; /* without its quotes */
	return has_text(words, secret) || has_text(words, sent.data) ||
	       has_text(words, quoted.data + 1);
}

/* A text that is one of the credentials, in the header's JSON (RFC 4648, 5), or the header itself.
 */
static bool
tells_secret(const char *header, const char *words)
{
	static const char *const names[] = { "password", "identitytoken", "registrytoken" };
	const size_t header_len = strlen(header);
	char *standard HL_AUTO_FREE = strdup(header);
	char *json HL_AUTO_FREE = malloc(REGISTRY_HEADER_MAX);
	size_t len = 0;
	bool tells = standard == NULL || json == NULL || has_text(words, header);

	for (char *c = standard; c != NULL && *c != '\0'; c++)
		*c = (char)(*c == '-' ? '+' : *c == '_' ? '/' : *c);
	tells = tells || !hl_base64_read(standard, header_len, (unsigned char *)json,
			     REGISTRY_HEADER_MAX, &len);
	json_t *object = tells ? NULL : json_loadb(json, len, 0, NULL);
	const char *user = json_string_value(json_object_get(object, "username"));
	for (size_t i = 0; !tells && i < HL_ARRAY_SIZE(names); i++)
		tells =
		    tells_one(words, user, json_string_value(json_object_get(object, names[i])));
	json_decref(object);
	if (standard != NULL)
		explicit_bzero(standard, header_len);
	if (json != NULL)
		explicit_bzero(json, REGISTRY_HEADER_MAX);
	return tells;
}

static int
put_advice(const struct pull *pull, bool is_denied, struct hl_err *err)
{
	bool is_hub = strcmp(pull->registry, "docker.io") == 0;

	if (!pull->is_trusted)
		return hl_err_help(err,
		    "credentials were withheld: the engine's socket is neither root's nor yours; name one that is, or pull the image by hand");
	return hl_err_help(err, "look at the %s; if it is private, say '%s login%s%s' as this user",
	    is_denied ? "name and the tag" : "name, the network and the engine's disk",
	    pull->engine->dialect->name, is_hub ? "" : " ", is_hub ? "" : pull->registry);
}

/* What a registry says to the engine comes as the status of its answer, when it has not begun to
 * report; of what comes after that an engine may say the number (podman does not, and begins at
 * once), and its words are not for us to understand. */
static int
judge(const struct pull *pull, bool is_whole, long status, struct hl_err *err)
{
	const struct pull_stream *stream = &pull->stream;
	const char *words = stream->has_error ? stream->error : stream->refusal;
	char safe[ENGINE_TEXT_MAX], number[32] = "";

	if (status == 200 && !is_whole)
		return hl_err_set(err, HLB_43, "the engine's report of the pull is malformed");
	if (status == 200 && !stream->has_error)
		return 0;
	if (status == 200)
		status = stream->error_code;
	if (pull->credentials != NULL && tells_secret(pull->credentials, words))
		words = "its words are withheld, they hold credentials";
	api_safe_text(words, strlen(words), safe);
	bool is_denied = status == 401 || status == 403 || status == 404;
	if (status != 0)
		snprintf(number, sizeof(number), " (status %ld)", status);
	hl_err_set(err, is_denied ? HLB_63 : HLB_46, "cannot pull '%.120s': %s%s", pull->image,
	    safe[0] != '\0' ? safe : "no reason given", number);
	return put_advice(pull, is_denied, err);
}

static int
ask(struct pull *pull, const char *header, struct hl_err *err)
{
	char *path HL_AUTO_FREE = pull_path(pull);
	struct api_request request = {
		.method = "POST",
		.path = path,
		.header = header,
		.timeout_ms = API_PULL_MS,
		.stall_s = PULL_STALL_S,
		.piece = take_piece,
		.context = pull,
	};
	struct api_reply reply = { 0 };

	if (path == NULL)
		return hl_err_oom(err);
	tell(pull);
	if (api_call(pull->engine, &request, &reply, err) < 0)
		return -1;
	bool is_whole = pull_stream_end(&pull->stream);
	hl_buf_done(&reply.body);
	return judge(pull, is_whole, reply.status, err);
}

int
image_pull(struct engine *engine, const struct image_want *want, struct hl_err *err)
{
	struct registry_source source = { .client = engine->dialect->name,
		.has_scopes = engine->dialect->has_scopes,
		.has_store = engine->dialect->has_store,
		.files = want->registry_files,
		.env = want->registry_env,
		.shown = want->registry_shown,
		.watch = engine->control };
	HL_AUTO(hl_buf_done_secret) struct hl_buf value = { 0 }, header = { 0 };
	struct pull *pull HL_AUTO_FREE = calloc(1, sizeof(*pull));

	if (pull == NULL)
		return hl_err_oom(err);
	pull->engine = engine;
	pull->image = want->image;
	pull->is_trusted = is_trusted(engine);
	if (!pull->is_trusted)
		source.files = NULL;
	if (registry_auth(&source, want->image, &value, err) < 0 ||
	    !reference_registry(want->image, pull->registry))
		return -1;
	hl_buf_init(&header, sizeof(header_name) + REGISTRY_HEADER_MAX);
	hl_buf_puts(&header, header_name);
	hl_buf_put(&header, value.data, value.len);
	if (hl_buf_check(&header, "credentials", err) < 0)
		return -1;
	pull->credentials = value.len > 0 ? value.data : NULL;
	pull_stream_init(&pull->stream);
	int status = ask(pull, value.len > 0 ? header.data : NULL, err);
	pull_stream_done(&pull->stream);
	return status;
}
