/*
 * The report of a pull: objects of JSON, one a line. Its HTTP status is 200 also when the pull
 * fails; then one of the objects says so. The words by which a layer's state is known are those of
 * the engine's own client, and nothing but what is shown depends on them.
 */
#include <stdio.h>
#include <string.h>

#include "backends/docker/engine/pull.h"

#include "base/banned.h"

/* More than any image has; sums of so many cannot overflow. */
#define LAYER_BYTES_MAX (1ULL << 50)

enum layer_step {
	STEP_KNOWN,
	STEP_LOADING, /* its numbers are of what is loaded */
	STEP_LOADED,
	STEP_DONE,
};

struct step_row {
	char status[24];
	enum layer_step step;
};

static const struct step_row steps[] = {
	{ "Pulling fs layer", STEP_KNOWN },
	{ "Waiting", STEP_KNOWN },
	{ "Downloading", STEP_LOADING },
	{ "Verifying Checksum", STEP_LOADED },
	{ "Download complete", STEP_LOADED },
	{ "Extracting", STEP_LOADED },
	{ "Pull complete", STEP_DONE },
	{ "Already exists", STEP_DONE },
};

void
pull_stream_init(struct pull_stream *stream)
{
	memset(stream, 0, sizeof(*stream));
	hl_buf_init(&stream->line, PULL_LINE_MAX);
}

void
pull_stream_done(struct pull_stream *stream)
{
	hl_buf_done(&stream->line);
}

static struct pull_layer *
find_layer(struct pull_stream *stream, const char *id)
{
	for (size_t i = 0; i < stream->layers_len; i++) {
		if (strcmp(stream->layers[i].id, id) == 0)
			return &stream->layers[i];
	}
	if (stream->layers_len == PULL_LAYERS_MAX)
		return NULL;
	struct pull_layer *layer = &stream->layers[stream->layers_len++];
	snprintf(layer->id, sizeof(layer->id), "%s", id);
	return layer;
}

static uint64_t
layer_bytes(const json_t *detail, const char *key)
{
	uint64_t bytes = inspect_u64(detail, key);

	return bytes <= LAYER_BYTES_MAX ? bytes : 0;
}

static void
take_step(struct pull_layer *layer, enum layer_step step, const json_t *detail)
{
	if (step == STEP_LOADING) {
		uint64_t total = layer_bytes(detail, "total"),
			 bytes = layer_bytes(detail, "current");
		if (total != 0)
			layer->total = total;
		layer->bytes = layer->total != 0 && bytes > layer->total ? layer->total : bytes;
	} else if (step == STEP_LOADED || step == STEP_DONE) {
		layer->bytes = layer->total;
	}
	layer->is_done = layer->is_done || step == STEP_DONE;
}

static void
take_status(struct pull_stream *stream, const char *id, const char *status, const json_t *detail)
{
	if (strlen(id) > PULL_LAYER_ID_MAX)
		return;
	for (size_t i = 0; i < HL_ARRAY_SIZE(steps); i++) {
		if (strcmp(steps[i].status, status) != 0)
			continue;
		struct pull_layer *layer = find_layer(stream, id);
		if (layer != NULL)
			take_step(layer, steps[i].step, detail);
		return;
	}
}

/* NULL: it is not there. A member of another type makes the line malformed. */
static const char *
text_of(struct pull_stream *stream, const json_t *object, const char *key)
{
	const json_t *member = json_object_get(object, key);

	if (member == NULL || json_is_null(member))
		return NULL;
	if (!json_is_string(member))
		stream->is_malformed = true;
	return json_string_value(member);
}

/* "errorDetail" is there as well as "error", or alone. */
static void
take_error(struct pull_stream *stream, const json_t *object)
{
	const json_t *detail = json_object_get(object, "errorDetail");
	const char *error = text_of(stream, object, "error");
	const char *refusal = text_of(stream, object, "message");

	if (detail != NULL && !json_is_null(detail)) {
		if (!json_is_object(detail))
			stream->is_malformed = true;
		const char *message = text_of(stream, detail, "message");
		error = error != NULL ? error : message != NULL ? message : "";
	}
	if (error != NULL && !stream->has_error) {
		uint64_t code = inspect_u64(detail, "code");
		stream->has_error = true;
		stream->error_code = code < 1000 ? (long)code : 0;
		snprintf(stream->error, sizeof(stream->error), "%s", error);
	}
	if (refusal != NULL && stream->refusal[0] == '\0')
		snprintf(stream->refusal, sizeof(stream->refusal), "%s", refusal);
}

static bool
is_blank(const struct hl_buf *line)
{
	return line->len == 0 || strspn(line->data, " \t\r") == line->len;
}

static void
end_line(struct pull_stream *stream)
{
	if (!is_blank(&stream->line)) {
		json_t *object =
		    json_loadb(stream->line.data, stream->line.len, JSON_REJECT_DUPLICATES, NULL);
		if (!json_is_object(object)) {
			stream->is_malformed = true;
		} else {
			const char *id = text_of(stream, object, "id");
			const char *status = text_of(stream, object, "status");
			if (id != NULL && status != NULL)
				take_status(stream, id, status,
				    json_object_get(object, "progressDetail"));
			take_error(stream, object);
		}
		json_decref(object);
	}
	hl_buf_reset(&stream->line);
}

bool
pull_stream_take(struct pull_stream *stream, const char *bytes, size_t len)
{
	stream->seen += len;
	if (stream->seen > PULL_REPORT_MAX)
		stream->is_malformed = true;
	while (len > 0 && !stream->is_malformed) {
		const char *newline = memchr(bytes, '\n', len);
		size_t part = newline != NULL ? (size_t)(newline - bytes) : len;
		hl_buf_put(&stream->line, bytes, part);
		if (stream->line.failed)
			stream->is_malformed = true;
		else if (newline != NULL)
			end_line(stream);
		part += newline != NULL ? 1 : 0;
		bytes += part;
		len -= part;
	}
	return !stream->is_malformed;
}

bool
pull_stream_end(struct pull_stream *stream)
{
	if (!stream->is_malformed)
		end_line(stream);
	return !stream->is_malformed;
}

void
pull_stream_sum(const struct pull_stream *stream, struct pull_sum *ret_sum)
{
	*ret_sum = (struct pull_sum){ .layers = (uint32_t)stream->layers_len };
	for (size_t i = 0; i < stream->layers_len; i++) {
		const struct pull_layer *layer = &stream->layers[i];
		ret_sum->done += layer->is_done ? 1 : 0;
		ret_sum->bytes += layer->bytes;
		ret_sum->total += layer->total;
	}
}
