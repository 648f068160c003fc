/*
 * The codec of our own messages. Little-endian by bytes, so that it is the same on every machine;
 * a reader that once failed stays failed and hands out zeros.
 */
#include <string.h>

#include "base/base.h"

#include "base/banned.h"

void
hl_wire_init(struct hl_wire *wire, const void *bytes, size_t len)
{
	*wire = (struct hl_wire){ .next = bytes, .left = len };
}

static const unsigned char *
take(struct hl_wire *wire, size_t n)
{
	if (wire->failed || n > wire->left) {
		wire->failed = true;
		return NULL;
	}
	const unsigned char *bytes = wire->next;
	wire->next += n;
	wire->left -= n;
	return bytes;
}

static uint64_t
integer(struct hl_wire *wire, size_t size)
{
	const unsigned char *bytes = take(wire, size);
	uint64_t number = 0;

	if (bytes == NULL)
		return 0;
	for (size_t i = 0; i < size; i++)
		number |= (uint64_t)bytes[i] << (8 * i);
	return number;
}

uint8_t
hl_wire_u8(struct hl_wire *wire)
{
	return (uint8_t)integer(wire, 1);
}

uint32_t
hl_wire_u32(struct hl_wire *wire)
{
	return (uint32_t)integer(wire, 4);
}

uint64_t
hl_wire_u64(struct hl_wire *wire)
{
	return integer(wire, 8);
}

const void *
hl_wire_bytes(struct hl_wire *wire, size_t *ret_len)
{
	size_t len = hl_wire_u32(wire);
	const unsigned char *bytes = take(wire, len);

	*ret_len = bytes != NULL ? len : 0;
	return bytes;
}

const char *
hl_wire_string(struct hl_wire *wire)
{
	size_t len;
	const char *string = hl_wire_bytes(wire, &len);

	/* Exactly one NUL, at the end: otherwise two readers could see two strings. */
	if (string == NULL || len == 0 || memchr(string, '\0', len) != string + len - 1) {
		wire->failed = true;
		return NULL;
	}
	return string;
}

void
hl_wire_strv(struct hl_wire *wire, struct hl_strv *strv)
{
	uint32_t n = hl_wire_u32(wire);

	if (n > strv->max)
		wire->failed = true;
	for (uint32_t i = 0; i < n && !wire->failed; i++) {
		const char *string = hl_wire_string(wire);
		if (string != NULL)
			hl_strv_add(strv, string);
	}
	if (strv->failed)
		wire->failed = true;
}

bool
hl_wire_is_complete(const struct hl_wire *wire)
{
	return !wire->failed && wire->left == 0;
}

static void
put_integer(struct hl_buf *buf, uint64_t number, size_t size)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(number >> (8 * i));
	hl_buf_put(buf, bytes, size);
}

void
hl_wire_put_u8(struct hl_buf *buf, uint8_t number)
{
	put_integer(buf, number, 1);
}

void
hl_wire_put_u32(struct hl_buf *buf, uint32_t number)
{
	put_integer(buf, number, 4);
}

void
hl_wire_put_u64(struct hl_buf *buf, uint64_t number)
{
	put_integer(buf, number, 8);
}

void
hl_wire_put_bytes(struct hl_buf *buf, const void *bytes, size_t len)
{
	if (len > UINT32_MAX) {
		buf->failed = true;
		return;
	}
	put_integer(buf, len, 4);
	hl_buf_put(buf, bytes, len);
}

void
hl_wire_put_string(struct hl_buf *buf, const char *string)
{
	if (string == NULL)
		string = "";
	hl_wire_put_bytes(buf, string, strlen(string) + 1);
}

void
hl_wire_put_strv(struct hl_buf *buf, const struct hl_strv *strv)
{
	put_integer(buf, strv->len, 4);
	for (size_t i = 0; i < strv->len; i++)
		hl_wire_put_string(buf, strv->v[i]);
}
