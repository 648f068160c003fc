/*
 * Signed notes: the text, the signature lines, the keys. Every length has a maximum, and what the
 * format does not allow is refused as a whole; only the unknown is passed over.
 */
#include "policy/note.h"

#include <string.h>

#include "base/banned.h"

static const char dash[] = "\xe2\x80\x94 "; /* U+2014 and a space */

enum {
	DASH_LEN = sizeof(dash) - 1,
	/* Of a signature line: 5 kB, which the largest known kind stays under, as base64. */
	SIGNATURE_BYTES_MAX = 5200,
	ED25519 = 0x01, /* signature type */
};

/* ------------------------------------------------------------------------------------------------
 * Keys
 */
bool
policy_note_is_key_name(const char *name, size_t len)
{
	static const char also[] = "._/:@-";

	if (len == 0 || len > NOTE_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool is_word = (name[i] >= 'a' && name[i] <= 'z') ||
			       (name[i] >= 'A' && name[i] <= 'Z') ||
			       (name[i] >= '0' && name[i] <= '9');
		if (!is_word && (name[i] == '\0' || strchr(also, name[i]) == NULL))
			return false;
	}
	return true;
}

void
policy_note_key_init(struct note_key *key, const char *name,
    const unsigned char bytes[NOTE_KEY_SIZE])
{
	static const unsigned char between[] = { '\n', ED25519 };
	unsigned char digest[HL_SHA256_SIZE];
	struct hl_sha256 ctx;
	size_t len = strlen(name);

	HL_BUG_ON(!policy_note_is_key_name(name, len));
	*key = (struct note_key){ 0 };
	memcpy(key->name, name, len);
	memcpy(key->bytes, bytes, NOTE_KEY_SIZE);
	hl_sha256_init(&ctx);
	hl_sha256_update(&ctx, name, len);
	hl_sha256_update(&ctx, between, sizeof(between));
	hl_sha256_update(&ctx, bytes, NOTE_KEY_SIZE);
	hl_sha256_final(&ctx, digest);
	memcpy(key->id, digest, NOTE_ID_SIZE);
}

static int
not_a_key(struct hl_err *err, const char *why)
{
	hl_err_set(err, HLS_10, "the public key %s", why);
	return hl_err_help(err,
	    "a public key is one line NAME+ID+BASE64, as 'policy keygen' prints");
}

int
policy_note_key_parse(const char *text, size_t len, struct note_key *ret_key, struct hl_err *err)
{
	unsigned char bytes[1 + NOTE_KEY_SIZE];
	char name[NOTE_NAME_MAX + 1] = { 0 };
	char id[2 * NOTE_ID_SIZE + 1];
	struct note_key key;
	struct hl_buf hex;
	size_t n = 0;

	if (len > 0 && text[len - 1] == '\n')
		len--;
	const char *plus = memchr(text, '+', len);
	size_t name_len = plus != NULL ? (size_t)(plus - text) : 0;
	if (plus == NULL || len < name_len + 2 + sizeof(id) || text[name_len + sizeof(id)] != '+')
		return not_a_key(err, "has not the form NAME+ID+BASE64");
	if (!policy_note_is_key_name(text, name_len))
		return not_a_key(err, "has a name that no key of ours can have");
	const char *base64 = text + name_len + sizeof(id) + 1;
	if (!hl_base64_read(base64, (size_t)(text + len - base64), bytes, sizeof(bytes), &n) ||
	    n != sizeof(bytes) || bytes[0] != ED25519)
		return not_a_key(err, "is not one of Ed25519");
	memcpy(name, text, name_len);
	policy_note_key_init(&key, name, bytes + 1);
	hl_buf_init(&hex, sizeof(id));
	hl_buf_hex(&hex, key.id, NOTE_ID_SIZE);
	bool is_same = !hex.failed && memcmp(hex.data, text + name_len + 1, sizeof(id) - 1) == 0;
	hl_buf_done(&hex);
	if (!is_same)
		return not_a_key(err, "does not belong to its name: the id differs");
	*ret_key = key;
	return 0;
}

void
policy_note_put_key(struct hl_buf *out, const struct note_key *key)
{
	unsigned char bytes[1 + NOTE_KEY_SIZE] = { ED25519 };

	memcpy(bytes + 1, key->bytes, NOTE_KEY_SIZE);
	hl_buf_puts(out, key->name);
	hl_buf_putc(out, '+');
	hl_buf_hex(out, key->id, NOTE_ID_SIZE);
	hl_buf_putc(out, '+');
	hl_buf_base64(out, bytes, sizeof(bytes));
}

void
policy_note_put_signature(struct hl_buf *out, const struct note_key *key,
    const unsigned char signature[NOTE_SIGNATURE_SIZE])
{
	unsigned char bytes[NOTE_ID_SIZE + NOTE_SIGNATURE_SIZE];

	memcpy(bytes, key->id, NOTE_ID_SIZE);
	memcpy(bytes + NOTE_ID_SIZE, signature, NOTE_SIGNATURE_SIZE);
	hl_buf_puts(out, dash);
	hl_buf_puts(out, key->name);
	hl_buf_putc(out, ' ');
	hl_buf_base64(out, bytes, sizeof(bytes));
	hl_buf_putc(out, '\n');
}

/* ------------------------------------------------------------------------------------------------
 * Notes
 */
static int
not_a_note(struct hl_err *err, const char *why)
{
	return hl_err_set(err, HLS_04, "%s", why);
}

/* Other keys may have names that ours cannot: anything but spaces, of Unicode too, and "+". */
static bool
is_foreign_name(const char *name, size_t len)
{
	uint32_t point;

	for (size_t at = 0, n; at < len; at += n) {
		n = hl_utf8_next(name + at, len - at, &point);
		if (n == 0 || point <= 0x20 || point == '+' || point == 0x7f || point == 0xa0 ||
		    point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x202f ||
		    point == 0x205f || point == 0x3000 || hl_utf8_is_deceptive(point))
			return false;
	}
	return len > 0;
}

static int
parse_signature(const char *line, size_t len, struct note_signature *ret_signature,
    struct hl_err *err)
{
	struct note_signature signature = { .line = line, .line_len = len };
	unsigned char bytes[NOTE_ID_SIZE + NOTE_SIGNATURE_SIZE];
	size_t n = 0;

	if (len <= DASH_LEN || memcmp(line, dash, DASH_LEN) != 0)
		return not_a_note(err, "a signature line does not begin with a dash and a space");
	signature.name = line + DASH_LEN;
	const char *space = memchr(signature.name, ' ', len - DASH_LEN);
	if (space == NULL)
		return not_a_note(err, "a signature line has no signature");
	signature.name_len = (size_t)(space - signature.name);
	if (!is_foreign_name(signature.name, signature.name_len))
		return not_a_note(err, "a signature line has no name, or one that no key can have");
	if (!hl_base64_read(space + 1, (size_t)(line + len - space - 1), bytes, sizeof(bytes),
		&n) ||
	    n <= NOTE_ID_SIZE || n > SIGNATURE_BYTES_MAX)
		return not_a_note(err, "a signature is not in base 64, or too short or too long");
	memcpy(signature.id, bytes, NOTE_ID_SIZE);
	signature.is_ed25519 = n == sizeof(bytes);
	if (signature.is_ed25519)
		memcpy(signature.bytes, bytes + NOTE_ID_SIZE, NOTE_SIGNATURE_SIZE);
	*ret_signature = signature;
	return 0;
}

static int
parse_signatures(const char *at, const char *end, struct note *note, struct hl_err *err)
{
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		if (note->len == NOTE_SIGNATURES_MAX)
			return not_a_note(err, "there are more than 64 signatures");
		/* The last byte is a newline, so there is one. */
		HL_BUG_ON(newline == NULL);
		if (parse_signature(at, (size_t)(newline - at), &note->signatures[note->len],
			err) != 0)
			return -1;
		note->len++;
		at = newline + 1;
	}
	return note->len > 0 ? 0 : not_a_note(err, "there is no signature");
}

int
policy_note_parse(const char *bytes, size_t len, struct note *ret_note, struct hl_err *err)
{
	size_t split = 0;

	ret_note->len = 0;
	if (len > NOTE_MAX)
		return not_a_note(err, "it is larger than 128 KiB");
	if (len == 0 || bytes[len - 1] != '\n')
		return not_a_note(err, "its last line has no end");
	if (!hl_is_utf8(bytes, len))
		return not_a_note(err, "it is not valid UTF-8");
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)bytes[i] < 0x20 && bytes[i] != '\n')
			return not_a_note(err, "it has a control character");
	/* The last empty line is what separates. */
	for (size_t i = 1; i < len; i++)
		if (bytes[i] == '\n' && bytes[i - 1] == '\n')
			split = i;
	if (split == 0)
		return not_a_note(err, "it has no empty line between text and signatures");
	if (split > NOTE_TEXT_MAX)
		return not_a_note(err, "its text is longer than 1024 bytes");
	ret_note->text = bytes;
	ret_note->text_len = split;
	return parse_signatures(bytes + split + 1, bytes + len, ret_note, err);
}

bool
policy_note_is_by(const struct note_signature *signature, const struct note_key *key)
{
	return signature->name_len == strlen(key->name) &&
	       memcmp(signature->name, key->name, signature->name_len) == 0 &&
	       memcmp(signature->id, key->id, NOTE_ID_SIZE) == 0;
}
