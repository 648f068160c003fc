/*
 * hl-seal - the program that holds private keys and the only one of the house that computes
 * signatures. It opens no file, reads no configuration and no environment, and prints nothing: what
 * it needs comes over four descriptors (policy/seal_protocol.h). Private to policy/seal.
 */
#ifndef HL_POLICY_SEAL_SEAL_H
#define HL_POLICY_SEAL_SEAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "policy/seal_protocol.h"

enum {
	SEAL_PUBLIC_SIZE = 32,
	SEAL_SIGNATURE_SIZE = 64,
	SEAL_SECRET_MAX = 1024,
	SEAL_NAME_SIZE = 129,
};

/* ------------------------------------------------------------------------------------------------
 * passphrase.c
 */
struct seal_secret {
	char bytes[SEAL_SECRET_MAX + 1];
	size_t len;
};

void seal_secret_done(struct seal_secret *secret);
/* At the terminal: asked twice when it is new. */
int seal_secret_read(enum seal_passphrase from, int fd, bool is_new, struct seal_secret *ret_secret,
    struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * key.c: Ed25519 (RFC 8032) by OpenSSL
 */
struct seal_key; /* a private key */

/* Reads the passphrase, and only when the key has one. */
typedef int seal_ask_fn(void *context, struct seal_secret *ret_secret, struct hl_err *err);

struct seal_ask {
	seal_ask_fn *fn;
	void *context;
};

int seal_key_generate(struct seal_key **ret_key, struct hl_err *err) HL_MUST_CHECK;
int seal_key_from_seed(const unsigned char seed[SEAL_PUBLIC_SIZE], struct seal_key **ret_key,
    struct hl_err *err) HL_MUST_CHECK;
/* PKCS#8 PEM, and nothing else in it but a first line of ours with the key's name. */
int seal_key_read(const char *pem, size_t len, const struct seal_ask *ask,
    struct seal_key **ret_key, struct hl_err *err) HL_MUST_CHECK;
/* The same; secret NULL = without a passphrase. out is wiped by its owner. */
int seal_key_write(const struct seal_key *key, const char *name, const struct seal_secret *secret,
    struct hl_buf *out, struct hl_err *err) HL_MUST_CHECK;
void seal_key_free(struct seal_key *key);
/* "" when the file says none. */
const char *seal_key_name(const struct seal_key *key);
int seal_key_public(const struct seal_key *key, unsigned char ret_public[SEAL_PUBLIC_SIZE],
    struct hl_err *err) HL_MUST_CHECK;
int seal_key_sign(const struct seal_key *key, const void *text, size_t len,
    unsigned char ret_signature[SEAL_SIGNATURE_SIZE], struct hl_err *err) HL_MUST_CHECK;

struct seal_claim {
	const void *text;
	size_t text_len;
	const unsigned char *public;    /* 32 bytes */
	const unsigned char *signature; /* 64 bytes */
};

/* False also for a public key that is none. */
bool seal_is_signed(const struct seal_claim *claim);

/* ------------------------------------------------------------------------------------------------
 * answer.c: one request to one answer. -1: it is no request, and hl-seal ends.
 */
int seal_answer(const unsigned char *packet, size_t len, struct hl_buf *out) HL_MUST_CHECK;

#endif
