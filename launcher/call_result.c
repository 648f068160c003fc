/*
 * What became of a call, for programs and for people. Bytes that the window left out are counted
 * exactly; where the cut went through a character of UTF-8 its pieces count as left out, so that
 * the rest stays text.
 */
#include <stdio.h>
#include <string.h>

#include "launcher/serve.h"

#include "base/banned.h"

const char *
served_stage(const struct session_result *result)
{
	switch (result->how) {
	case RUNNER_BACKEND_ERROR:
		return "backend";
	case RUNNER_LAUNCHER_ERROR:
		return "launcher";
	case RUNNER_EXITED:
	case RUNNER_SIGNALED:
	case RUNNER_TIMED_OUT:
	case RUNNER_CANCELLED:
	case RUNNER_HOW_MAX:
		break;
	}
	return "command";
}

/* Bytes at the end of head that begin a character and do not end it. */
static size_t
torn_end(const char *bytes, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char byte = (unsigned char)bytes[len - back];
		if ((byte & 0xC0U) == 0x80U)
			continue;
		size_t need = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
		return need > back ? back : 0;
	}
	return 0;
}

/* Bytes at the start of tail that end a character begun before it. */
static size_t
torn_start(const char *bytes, size_t len)
{
	size_t n = 0;

	while (n < 3 && n < len && ((unsigned char)bytes[n] & 0xC0U) == 0x80U)
		n++;
	return n;
}

struct cut {
	size_t head_len, tail_start;
	uint64_t omitted;
};

static struct cut
cut_window(const struct session_window *window)
{
	struct cut cut = { .head_len = window->head.len, .omitted = window->omitted };

	if (window->omitted == 0)
		return cut;
	size_t head = torn_end(window->head.data, window->head.len);
	size_t tail = torn_start(window->tail.data, window->tail.len);
	if (hl_is_utf8(window->head.data, window->head.len - head) &&
	    hl_is_utf8(window->tail.data + tail, window->tail.len - tail)) {
		cut.head_len -= head;
		cut.tail_start = tail;
		cut.omitted += head + tail;
	}
	return cut;
}

/* Whole: one text. Cut: the head under its own name, the tail as NAME_tail. */
static uint64_t
put_window(struct hl_json *json, const char *name, const struct session_window *window)
{
	struct cut cut = cut_window(window);

	hl_json_key(json, name);
	if (cut.omitted > 0) {
		char tail[32];
		snprintf(tail, sizeof(tail), "%s_tail", name);
		hl_json_stringn(json, window->head.data, cut.head_len);
		hl_json_key(json, tail);
		hl_json_stringn(json, window->tail.data + cut.tail_start,
		    window->tail.len - cut.tail_start);
		return cut.omitted;
	}
	struct hl_buf whole;
	hl_buf_init(&whole, window->head.len + window->tail.len + 1);
	hl_buf_put(&whole, window->head.data, window->head.len);
	hl_buf_put(&whole, window->tail.data, window->tail.len);
	hl_json_stringn(json, whole.data, whole.len);
	json->out->failed |= whole.failed;
	hl_buf_done_secret(&whole);
	return 0;
}

static void
put_omitted(struct hl_json *json, uint64_t out, uint64_t err_out)
{
	hl_json_key(json, "omitted");
	hl_json_object(json);
	hl_json_key(json, "stdout");
	hl_json_u64(json, out);
	hl_json_key(json, "stderr");
	hl_json_u64(json, err_out);
	hl_json_end_object(json);
}

static void
put_windows(struct hl_json *json, const struct session_result *result)
{
	uint64_t out = put_window(json, "stdout", &result->out);
	uint64_t err_out = put_window(json, "stderr", &result->err_out);

	put_omitted(json, out, err_out);
}

static void
put_numbers(struct hl_json *json, const struct session_result *result)
{
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "code", result->code },
		{ "signal", result->signal },
		{ "out_bytes", result->out_bytes },
		{ "err_bytes", result->err_bytes },
		{ "wall_ms", result->wall_ms },
		{ "user_us", result->user_us },
		{ "system_us", result->system_us },
		{ "max_rss_kib", result->max_rss_kib },
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(numbers); i++) {
		hl_json_key(json, numbers[i].name);
		hl_json_u64(json, numbers[i].value);
	}
}

void
served_put_result(struct hl_json *json, const struct call *call, bool has_output)
{
	static const char *const kept[] = {
		[RUNNER_STATE_NONE] = NULL,
		[RUNNER_STATE_KEPT] = "kept",
		[RUNNER_STATE_LOST] = "lost",
	};
	const struct session_result *result = call->result;

	hl_json_object(json);
	hl_json_key(json, "how");
	hl_json_string(json, runner_how_name(result->how));
	hl_json_key(json, "stage");
	hl_json_string(json, served_stage(result));
	hl_json_key(json, "status");
	hl_json_i64(json, result->status);
	put_numbers(json, result);
	hl_json_key(json, "cwd");
	hl_json_string(json, result->cwd);
	if (has_output)
		put_windows(json, result);
	else if (call->dropped[0] + call->dropped[1] > 0)
		put_omitted(json, call->dropped[0], call->dropped[1]);
	hl_json_key(json, "spill");
	hl_json_string(json, result->spill);
	hl_json_key(json, "state");
	hl_json_string(json, kept[result->state]);
	hl_json_key(json, "background");
	hl_json_bool(json, result->has_left);
	hl_json_key(json, "started");
	hl_json_bool(json, result->was_started);
	result_put_controls(json, call->serve->run);
	result_put_error(json, &result->err);
	hl_json_end_object(json);
}

void
served_put_state(struct hl_json *json, const struct call *call)
{
	char handle[CALL_HANDLE_SIZE];

	served_handle(call, handle);
	hl_json_key(json, "call");
	hl_json_string(json, handle);
	hl_json_key(json, "running");
	hl_json_bool(json, !call->is_over);
	hl_json_key(json, "left");
	hl_json_bool(json, served_has_left(call));
	if (call->is_over) {
		hl_json_key(json, "result");
		served_put_result(json, call, false);
	}
}

void
served_leave_out(struct call *call)
{
	call->dropped[0] = call->result->out_bytes;
	call->dropped[1] = call->result->err_bytes;
}

/* ------------------------------------------------------------------------------------------------
 * Text
 */
void
text_put_lossy(struct hl_buf *out, const char *bytes, size_t len)
{
	size_t start = 0, at = 0;
	uint32_t point;

	while (at < len) {
		size_t n = bytes[at] != '\0' ? hl_utf8_next(bytes + at, len - at, &point) : 0;
		if (n > 0) {
			at += n;
			continue;
		}
		hl_buf_put(out, bytes + start, at - start);
		hl_buf_puts(out, "\xEF\xBF\xBD");
		start = ++at;
	}
	hl_buf_put(out, bytes + start, at - start);
}

void
text_put_json(struct hl_json *json, const char *text)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf lossy;

	hl_buf_init(&lossy, 3 * strlen(text) + 1);
	text_put_lossy(&lossy, text, strlen(text));
	json->out->failed |= lossy.failed;
	hl_json_stringn(json, lossy.data, lossy.len);
}

void
served_put_text(struct hl_buf *out, const struct session_window *window)
{
	struct cut cut = cut_window(window);

	text_put_lossy(out, window->head.data, cut.head_len);
	if (cut.omitted > 0)
		hl_buf_putf(out, "\n[... %llu bytes left out ...]\n",
		    (unsigned long long)cut.omitted);
	text_put_lossy(out, window->tail.data + cut.tail_start, window->tail.len - cut.tail_start);
}
