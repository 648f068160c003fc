/*
 * hl-seal: Ed25519 keys and signatures through OpenSSL's EVP, and their PKCS#8 files.
 *
 * A passphrase is stretched by scrypt (N 2^14, r 8, p 5: 16 MiB for a try), then AES-256-CBC as
 * PKCS#5 2.0 has it: any OpenSSL since 1.1 reads such a file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>

#include "policy/seal/seal.h"

#include "base/banned.h"

static const char name_line[] = "hermes-launch key ";
static const char begin_line[] = "-----BEGIN ";

struct seal_key {
	EVP_PKEY *pkey;
	char name[SEAL_NAME_SIZE];
};

static int
openssl_failed(struct hl_err *err, const char *what)
{
	return hl_err_set(err, HLI_02, "OpenSSL cannot %s", what);
}

static int
wrap_key(EVP_PKEY *pkey, struct seal_key **ret_key, struct hl_err *err)
{
	struct seal_key *key = calloc(1, sizeof(*key));

	if (key == NULL) {
		EVP_PKEY_free(pkey);
		return hl_err_oom(err);
	}
	key->pkey = pkey;
	*ret_key = key;
	return 0;
}

void
seal_key_free(struct seal_key *key)
{
	if (key == NULL)
		return;
	EVP_PKEY_free(key->pkey);
	free(key);
}

const char *
seal_key_name(const struct seal_key *key)
{
	return key->name;
}

int
seal_key_generate(struct seal_key **ret_key, struct hl_err *err)
{
	EVP_PKEY *pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");

	return pkey != NULL ? wrap_key(pkey, ret_key, err) : openssl_failed(err, "make a key");
}

int
seal_key_from_seed(const unsigned char seed[SEAL_PUBLIC_SIZE], struct seal_key **ret_key,
    struct hl_err *err)
{
	EVP_PKEY *pkey =
	    EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SEAL_PUBLIC_SIZE);

	return pkey != NULL ? wrap_key(pkey, ret_key, err) : openssl_failed(err, "take the key");
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */
static int
not_a_key(struct hl_err *err, const char *why)
{
	hl_err_set(err, HLS_11, "the private key file %s", why);
	return hl_err_help(err, "'hermes-launch policy keygen' makes one");
}

/* The name in our first line, when there is one; *ret_pem: where PEM begins. False: something else
 * stands before it. */
static bool
read_name(const char *text, size_t len, char name[SEAL_NAME_SIZE], size_t *ret_pem)
{
	size_t prefix = sizeof(name_line) - 1;

	name[0] = '\0';
	*ret_pem = 0;
	if (len > prefix && memcmp(text, name_line, prefix) == 0) {
		const char *newline = memchr(text, '\n', len);
		size_t n = newline != NULL ? (size_t)(newline - text) - prefix : 0;
		if (n == 0 || n >= SEAL_NAME_SIZE)
			return false;
		memcpy(name, text + prefix, n);
		name[n] = '\0';
		*ret_pem = prefix + n + 1;
	}
	return len - *ret_pem > sizeof(begin_line) &&
	       memcmp(text + *ret_pem, begin_line, sizeof(begin_line) - 1) == 0;
}

/* What OpenSSL's callback needs, and what became of it. */
struct asking {
	const struct seal_ask *ask;
	struct hl_err *err;
	bool has_asked, has_failed;
};

static int
on_passphrase(char *buf, int size, int is_write, void *context)
{
	struct asking *asking = context;
	struct seal_secret secret = { 0 };
	int len = -1;

	(void)is_write;
	asking->has_asked = true;
	if (asking->ask->fn(asking->ask->context, &secret, asking->err) != 0) {
		asking->has_failed = true;
	} else if ((int)secret.len > size) {
		asking->has_failed = true;
		hl_err_set(asking->err, HLS_12, "the passphrase is longer than %d bytes", size);
	} else {
		memcpy(buf, secret.bytes, secret.len);
		len = (int)secret.len;
	}
	seal_secret_done(&secret);
	return len;
}

static EVP_PKEY *
parse_pem(const char *pem, size_t len, struct asking *asking)
{
	BIO *bio = BIO_new_mem_buf(pem, (int)len);
	EVP_PKEY *pkey =
	    bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, on_passphrase, asking) : NULL;

	BIO_free(bio);
	return pkey;
}

static bool
is_pkcs8(const char *pem, size_t len)
{
	static const char *const labels[] = { "-----BEGIN PRIVATE KEY-----\n",
		"-----BEGIN ENCRYPTED PRIVATE KEY-----\n" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(labels); i++)
		if (len > strlen(labels[i]) && memcmp(pem, labels[i], strlen(labels[i])) == 0)
			return true;
	return false;
}

int
seal_key_read(const char *pem, size_t len, const struct seal_ask *ask, struct seal_key **ret_key,
    struct hl_err *err)
{
	struct asking asking = { .ask = ask, .err = err };
	char name[SEAL_NAME_SIZE];
	size_t skip = 0;

	if (len > SEAL_KEY_FILE_MAX)
		return not_a_key(err, "is larger than 16 KiB");
	if (!read_name(pem, len, name, &skip) || !is_pkcs8(pem + skip, len - skip))
		return not_a_key(err, "is not PKCS#8 in PEM");
	EVP_PKEY *pkey = parse_pem(pem + skip, len - skip, &asking);
	if (pkey == NULL && asking.has_failed)
		return -1;
	if (pkey == NULL && asking.has_asked)
		return hl_err_set(err, HLS_12, "the passphrase is wrong, or the key is damaged");
	if (pkey == NULL)
		return not_a_key(err, "is damaged");
	if (EVP_PKEY_get_id(pkey) != EVP_PKEY_ED25519) {
		EVP_PKEY_free(pkey);
		return not_a_key(err, "holds a key of another kind than Ed25519");
	}
	if (wrap_key(pkey, ret_key, err) != 0)
		return -1;
	memcpy((*ret_key)->name, name, sizeof(name));
	return 0;
}

/* The key, encrypted, into bio. */
static bool
write_encrypted(BIO *bio, PKCS8_PRIV_KEY_INFO *info, const struct seal_secret *secret)
{
	X509_ALGOR *how =
	    PKCS5_pbe2_set_scrypt(EVP_aes_256_cbc(), NULL, 0, NULL, UINT64_C(1) << 14, 8, 5);
	X509_SIG *sealed =
	    how != NULL ? PKCS8_set0_pbe(secret->bytes, (int)secret->len, info, how) : NULL;
	bool is_written = sealed != NULL && PEM_write_bio_PKCS8(bio, sealed) == 1;

	/* PKCS8_set0_pbe() takes it only when it succeeds. */
	if (sealed == NULL)
		X509_ALGOR_free(how);
	X509_SIG_free(sealed);
	return is_written;
}

int
seal_key_write(const struct seal_key *key, const char *name, const struct seal_secret *secret,
    struct hl_buf *out, struct hl_err *err)
{
	PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key->pkey);
	BIO *bio = BIO_new(BIO_s_secmem());
	char *text = NULL;
	bool is_written = info != NULL && bio != NULL;

	if (is_written)
		is_written = secret != NULL ? write_encrypted(bio, info, secret)
					    : PEM_write_bio_PKCS8_PRIV_KEY_INFO(bio, info) == 1;
	long len = is_written ? BIO_get_mem_data(bio, &text) : 0;
	if (len > 0) {
		hl_buf_putf(out, "%s%s\n", name_line, name);
		hl_buf_put(out, text, (size_t)len);
	}
	PKCS8_PRIV_KEY_INFO_free(info);
	BIO_free(bio); /* wipes it */
	return len > 0 ? hl_buf_check(out, "private key", err)
		       : openssl_failed(err, "write the key");
}

/* ------------------------------------------------------------------------------------------------
 * Signatures
 */
int
seal_key_public(const struct seal_key *key, unsigned char ret_public[SEAL_PUBLIC_SIZE],
    struct hl_err *err)
{
	size_t len = SEAL_PUBLIC_SIZE;

	if (EVP_PKEY_get_raw_public_key(key->pkey, ret_public, &len) != 1 ||
	    len != SEAL_PUBLIC_SIZE)
		return openssl_failed(err, "tell the public key");
	return 0;
}

int
seal_key_sign(const struct seal_key *key, const void *text, size_t len,
    unsigned char ret_signature[SEAL_SIGNATURE_SIZE], struct hl_err *err)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t n = SEAL_SIGNATURE_SIZE;

	bool is_signed = ctx != NULL && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key->pkey) == 1 &&
			 EVP_DigestSign(ctx, ret_signature, &n, text, len) == 1 &&
			 n == SEAL_SIGNATURE_SIZE;
	EVP_MD_CTX_free(ctx);
	return is_signed ? 0 : openssl_failed(err, "sign");
}

bool
seal_is_signed(const struct seal_claim *claim)
{
	EVP_PKEY *pkey =
	    EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, claim->public, SEAL_PUBLIC_SIZE);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	bool is_signed = pkey != NULL && ctx != NULL &&
			 EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pkey) == 1 &&
			 EVP_DigestVerify(ctx, claim->signature, SEAL_SIGNATURE_SIZE, claim->text,
			     claim->text_len) == 1;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(pkey);
	return is_signed;
}
