/*
 * The output window: the first 40 % and the last 60 % of a limit, in bytes, with the exact count of
 * what is between. A piece that is larger than the tail costs the copying of a tail, so that a
 * flood is not copied twice.
 */
#include <stdlib.h>
#include <string.h>

#include "session/machine.h"

#include "base/banned.h"

void
window_init(struct window *window, struct session_window *public, uint64_t limit)
{
	const uint64_t most = SIZE_MAX / 4;
	size_t bytes = (size_t)(limit < most ? limit : most);

	window->public = public;
	window->head_max = bytes / 5 * 2 + bytes % 5 * 2 / 5;
	window->tail_max = bytes - window->head_max;
	hl_buf_init(&public->head, window->head_max > 0 ? window->head_max : 1);
	hl_buf_init(&public->tail, window->tail_max > 0 ? window->tail_max : 1);
}

/* As large as is needed, until it is as large as it may be. Before that it has not wrapped: where
 * memory ends, what there is becomes the most. */
static void
grow(struct window *window, size_t need)
{
	if (need > window->tail_max)
		need = window->tail_max;
	if (need <= window->ring_capacity)
		return;
	size_t capacity = window->ring_capacity > 0 ? window->ring_capacity : 4096;
	while (capacity < need)
		capacity *= 2;
	if (capacity > window->tail_max)
		capacity = window->tail_max;
	char *ring = realloc(window->ring, capacity);
	if (ring == NULL) {
		window->tail_max = window->ring_capacity;
		return;
	}
	window->ring = ring;
	window->ring_capacity = capacity;
}

/* Where the next byte goes. */
static size_t
ring_end(const struct window *window)
{
	size_t end = window->ring_at + window->ring_len;

	return end >= window->ring_capacity ? end - window->ring_capacity : end;
}

static void
ring_put(struct window *window, const char *bytes, size_t len)
{
	size_t size = window->ring_capacity;
	if (len > size) {
		bytes += len - size;
		len = size;
	}
	if (len == 0)
		return;
	size_t at = ring_end(window);
	size_t first = len < size - at ? len : size - at;
	memcpy(window->ring + at, bytes, first);
	memcpy(window->ring, bytes + first, len - first);
	if (window->ring_len + len > size) {
		window->ring_at = (at + len) % size;
		window->ring_len = size;
	} else {
		window->ring_len += len;
	}
}

/* Everything so far is in head and ring: the file begins with it. */
static void
begin_spill(struct window *window, const struct session_config *config)
{
	struct session_window *public = window->public;

	window->was_spilled = true;
	if (config->spill_dir == NULL)
		return;
	window->spill = spill_open(config, &public->spill);
	if (window->spill == NULL)
		return;
	spill_put(window->spill, public->head.data, public->head.len);
	size_t first = window->ring_capacity - window->ring_at;
	if (first > window->ring_len)
		first = window->ring_len;
	spill_put(window->spill, window->ring + window->ring_at, first);
	spill_put(window->spill, window->ring, window->ring_len - first);
}

void
window_put(struct window *window, const char *bytes, size_t len,
    const struct session_config *config)
{
	struct session_window *public = window->public;
	size_t room = window->head_max - public->head.len;
	size_t first = len < room ? len : room;

	/* Before anything is lost: from here on the limit may be less than was asked for. */
	grow(window, window->ring_len + len - first);
	size_t limit = window->head_max + window->tail_max;
	if (!window->was_spilled && public->total + len > limit && limit > 0)
		begin_spill(window, config);
	public->total += len;
	if (window->spill != NULL)
		spill_put(window->spill, bytes, len);
	hl_buf_put(&public->head, bytes, first);
	ring_put(window, bytes + first, len - first);
}

void
window_end(struct window *window)
{
	struct session_window *public = window->public;

	if (public == NULL)
		return;
	size_t first = window->ring_capacity - window->ring_at;
	if (first > window->ring_len)
		first = window->ring_len;
	if (window->ring_len > 0) {
		hl_buf_put(&public->tail, window->ring + window->ring_at, first);
		hl_buf_put(&public->tail, window->ring, window->ring_len - first);
	}
	public->omitted = public->total - public->head.len - public->tail.len;
	if (window->spill != NULL)
	public->is_capped = spill_close(window->spill);
	window->spill = NULL;
	window_done(window);
}

void
window_done(struct window *window)
{
	if (window->spill != NULL)
		spill_close(window->spill);
	free(window->ring);
	*window = (struct window){ 0 };
}
