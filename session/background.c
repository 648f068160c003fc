/*
 * The background log: what commands write that a call has left running. One ring per session, in
 * memory, read by offset, so that a reader who is late knows how much it has missed.
 */
#include <stdlib.h>
#include <string.h>

#include "session/machine.h"

#include "base/banned.h"

void
background_put(struct background *background, uint64_t limit, const char *bytes, size_t len)
{
	if (background->size == 0) {
		size_t size =
		    limit > 0 && limit < SIZE_MAX / 2 ? (size_t)limit : SESSION_BACKGROUND_BYTES;
		background->ring = malloc(size);
		if (background->ring == NULL)
			return;
		background->size = size;
	}
	background->total += len;
	if (len > background->size) {
		bytes += len - background->size;
		len = background->size;
	}
	size_t at = (size_t)((background->total - len) % background->size);
	size_t first = len < background->size - at ? len : background->size - at;
	memcpy(background->ring + at, bytes, first);
	memcpy(background->ring, bytes + first, len - first);
}

size_t
background_read(const struct background *background, uint64_t offset, void *bytes, size_t len,
    uint64_t *ret_offset)
{
	uint64_t oldest =
	    background->total > background->size ? background->total - background->size : 0;

	if (offset < oldest)
		offset = oldest;
	if (offset > background->total)
		offset = background->total;
	*ret_offset = offset;
	if (len > background->total - offset)
		len = (size_t)(background->total - offset);
	if (len == 0)
		return 0;
	size_t at = (size_t)(offset % background->size);
	size_t first = len < background->size - at ? len : background->size - at;
	memcpy(bytes, background->ring + at, first);
	memcpy((char *)bytes + first, background->ring, len - first);
	return len;
}

void
background_done(struct background *background)
{
	free(background->ring);
	*background = (struct background){ 0 };
}
