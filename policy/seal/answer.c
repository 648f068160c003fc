/*
 * hl-seal: requests and their answers. A request of another type, or larger than its type allows,
 * does not come from the launcher: hl-seal ends.
 */
#include <sys/types.h>

#include <string.h>
#include <unistd.h>

#include "policy/note.h"
#include "policy/seal/seal.h"

#include "base/banned.h"

/* Answers into `out`, or fails and fills err. */
typedef int answer_fn(struct hl_wire *request, struct hl_buf *out, struct hl_err *err);

static int
malformed(struct hl_err *err)
{
	return hl_err_set(err, HLI_02, "a request to hl-seal is malformed");
}

static int
ask_passphrase(void *context, struct seal_secret *ret_secret, struct hl_err *err)
{
	const enum seal_passphrase *from = context;

	return seal_secret_read(*from, SEAL_PASSPHRASE_FD, false, ret_secret, err);
}

static int
write_key(const struct seal_key *key, const char *name, const struct seal_secret *secret,
    struct hl_err *err)
{
	struct hl_buf file;

	hl_buf_init(&file, SEAL_KEY_FILE_MAX);
	int status = seal_key_write(key, name, secret, &file, err);
	if (status == 0 &&
	    (hl_write_full(SEAL_KEY_FD, file.data, file.len) != 0 || fsync(SEAL_KEY_FD) != 0))
		status = hl_err_sys(err, HLS_11, "cannot write the private key");
	hl_buf_done_secret(&file);
	return status;
}

static int
answer_keygen(struct hl_wire *request, struct hl_buf *out, struct hl_err *err)
{
	unsigned from = hl_wire_u8(request);
	const char *name = hl_wire_string(request);
	struct seal_secret secret = { 0 };
	struct seal_key *key = NULL;
	unsigned char public[SEAL_PUBLIC_SIZE];

	if (!hl_wire_is_complete(request) || from >= SEAL_PASSPHRASE_MAX ||
	    !policy_note_is_key_name(name, strlen(name)))
		return malformed(err);
	bool has_secret = from != SEAL_PASSPHRASE_NONE;
	int status = has_secret ? seal_secret_read((enum seal_passphrase)from, SEAL_PASSPHRASE_FD,
				      true, &secret, err)
				: 0;
	if (status == 0)
		status = seal_key_generate(&key, err);
	if (status == 0)
		status = seal_key_public(key, public, err);
	if (status == 0)
		status = write_key(key, name, has_secret ? &secret : NULL, err);
	seal_key_free(key);
	seal_secret_done(&secret);
	if (status != 0)
		return -1;
	hl_wire_put_u8(out, SEAL_MADE);
	hl_wire_put_bytes(out, public, sizeof(public));
	return 0;
}

static int
read_key(unsigned from, struct seal_key **ret_key, struct hl_err *err)
{
	enum seal_passphrase where = (enum seal_passphrase)from;
	const struct seal_ask ask = { .fn = ask_passphrase, .context = &where };
	struct hl_buf file;

	hl_buf_init(&file, SEAL_KEY_FILE_MAX);
	int status = hl_read_file(SEAL_KEY_FD, &file, "the private key", HLS_11, err);
	if (status == 0)
		status = seal_key_read(file.len > 0 ? file.data : "", file.len, &ask, ret_key, err);
	hl_buf_done_secret(&file);
	return status;
}

static void
put_signed(struct hl_buf *out, const struct seal_key *key, const struct seal_claim *claim)
{
	hl_wire_put_u8(out, SEAL_SIGNED);
	hl_wire_put_string(out, seal_key_name(key));
	hl_wire_put_bytes(out, claim->public, SEAL_PUBLIC_SIZE);
	hl_wire_put_bytes(out, claim->signature, SEAL_SIGNATURE_SIZE);
}

/* What was signed is checked, as a fault of the machine while signing can give a key away. */
static int
answer_sign_policy(struct hl_wire *request, struct hl_buf *out, struct hl_err *err)
{
	unsigned from = hl_wire_u8(request);
	unsigned char public[SEAL_PUBLIC_SIZE], signature[SEAL_SIGNATURE_SIZE];
	struct seal_claim claim = { .public = public, .signature = signature };
	struct policy_statement statement;
	struct seal_key *key = NULL;

	claim.text = hl_wire_bytes(request, &claim.text_len);
	if (!hl_wire_is_complete(request) || from >= SEAL_PASSPHRASE_MAX)
		return malformed(err);
	if (policy_statement_parse(claim.text, claim.text_len, &statement, err) != 0 ||
	    read_key(from, &key, err) != 0)
		return -1;
	int status = seal_key_public(key, public, err);
	if (status == 0)
		status = seal_key_sign(key, claim.text, claim.text_len, signature, err);
	if (status == 0 && !seal_is_signed(&claim))
		status = hl_err_set(err, HLI_02, "the signature that was made is wrong");
	if (status == 0)
		put_signed(out, key, &claim);
	seal_key_free(key);
	return status;
}

static int
answer_verify(struct hl_wire *request, struct hl_buf *out, struct hl_err *err)
{
	uint32_t n = hl_wire_u32(request);

	if (n > NOTE_SIGNATURES_MAX)
		return malformed(err);
	hl_wire_put_u8(out, SEAL_VERIFIED);
	hl_wire_put_u32(out, n);
	for (uint32_t i = 0; i < n; i++) {
		struct seal_claim claim;
		size_t public_len = 0, signature_len = 0;
		claim.text = hl_wire_bytes(request, &claim.text_len);
		claim.public = hl_wire_bytes(request, &public_len);
		claim.signature = hl_wire_bytes(request, &signature_len);
		if (request->failed || public_len != SEAL_PUBLIC_SIZE ||
		    signature_len != SEAL_SIGNATURE_SIZE)
			return malformed(err);
		hl_wire_put_u8(out, seal_is_signed(&claim));
	}
	return hl_wire_is_complete(request) ? 0 : malformed(err);
}

struct request_row {
	answer_fn *fn;
	size_t max; /* bytes of a packet */
};

static const struct request_row rows[SEAL_MESSAGE_MAX] = {
	[SEAL_KEYGEN] = { answer_keygen, 256 },
	[SEAL_SIGN_POLICY] = { answer_sign_policy, NOTE_TEXT_MAX + 16 },
	[SEAL_VERIFY] = { answer_verify, SEAL_PACKET_MAX },
};

static void
put_failure(struct hl_buf *out, const struct hl_err *err)
{
	hl_buf_reset(out);
	hl_wire_put_u8(out, SEAL_FAILED);
	hl_wire_put_string(out, hl_code_info(err->code)->id);
	hl_wire_put_string(out, err->msg);
	hl_wire_put_string(out, err->help);
}

int
seal_answer(const unsigned char *packet, size_t len, struct hl_buf *out)
{
	struct hl_err err = { 0 };
	struct hl_wire request;

	hl_wire_init(&request, packet, len);
	unsigned type = hl_wire_u8(&request);
	if (type >= SEAL_MESSAGE_MAX || rows[type].fn == NULL || len > rows[type].max)
		return -1;
	if (rows[type].fn(&request, out, &err) != 0)
		put_failure(out, &err);
	return out->failed ? -1 : 0;
}
