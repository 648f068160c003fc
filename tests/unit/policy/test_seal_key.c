/*
 * Ed25519 keys and their files: the vectors of RFC 8032, a note of somebody else's, key files that
 * are none, and passphrases.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/base.h"
#include "policy/note.h"
#include "policy/seal/seal.h"

#include "base/banned.h"

static struct hl_err err;

static void
from_hex(const char *text, unsigned char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	assert_int_equal(strlen(text), 2 * len);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)((strchr(digits, text[2 * i]) - digits) << 4 |
					   (strchr(digits, text[2 * i + 1]) - digits));
}

/* RFC 8032, 7.1: TEST 1, 2 and 3. */
static const struct {
	const char *seed, *public, *message, *signature;
} vectors[] = {
	{ "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
	    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
	    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e3970"
	    "1cf9b46bd25bf5f0595bbe24655141438e7a100b" },
	{ "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
	    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
	    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613"
	    "d0f11d8c387b2eaeb4302aeeb00d291612bb0c00" },
	{ "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
	    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
	    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760"
	    "984dc6594a7c15e9716ed28dc027beceea1ec40a" },
};

static void
rfc8032_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(vectors); i++) {
		unsigned char seed[32], public[32], message[8], want[64], got[64], own[32];
		struct seal_key *key;
		size_t len = strlen(vectors[i].message) / 2;
		from_hex(vectors[i].seed, seed, 32);
		from_hex(vectors[i].public, public, 32);
		from_hex(vectors[i].message, message, len);
		from_hex(vectors[i].signature, want, 64);
		assert_int_equal(seal_key_from_seed(seed, &key, &err), 0);
		assert_int_equal(seal_key_public(key, own, &err), 0);
		assert_memory_equal(own, public, 32);
		assert_int_equal(seal_key_sign(key, message, len, got, &err), 0);
		assert_memory_equal(got, want, 64);
		struct seal_claim claim = { message, len, public, got };
		assert_true(seal_is_signed(&claim));
		for (size_t bit = 0; bit < 64 * 8; bit += 37) {
			got[bit / 8] ^= (unsigned char)(1U << bit % 8);
			assert_false(seal_is_signed(&claim));
			got[bit / 8] ^= (unsigned char)(1U << bit % 8);
		}
		message[0] ^= 1;
		claim.text_len = len > 0 ? len : 1;
		assert_false(seal_is_signed(&claim));
		seal_key_free(key);
	}
}

/* RFC 8032, 5.1.7: S must be below the group order; S + L would be a second text of one signature.
 */
static void
a_signature_has_one_form(void **state)
{
	static const unsigned char order[32] = { 0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58,
		0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0x10 };
	unsigned char public[32], signature[64], garbage[32];
	unsigned carry = 0;

	(void)state;
	from_hex(vectors[0].public, public, 32);
	from_hex(vectors[0].signature, signature, 64);
	const struct seal_claim claim = { "", 0, public, signature };
	assert_true(seal_is_signed(&claim));
	for (size_t i = 0; i < 32; i++) {
		carry += signature[32 + i] + (unsigned)order[i];
		signature[32 + i] = (unsigned char)carry;
		carry >>= 8;
	}
	assert_false(seal_is_signed(&claim));
	memset(garbage, 0xff, sizeof(garbage));
	from_hex(vectors[0].signature, signature, 64);
	const struct seal_claim none = { "", 0, garbage, signature };
	assert_false(seal_is_signed(&none));
}

/* The example of golang.org/x/mod/sumdb/note: another program's key and signature. */
static void
a_note_of_another_program_is_right(void **state)
{
	static const char public[] =
	    "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
	static const char text[] =
	    "If you think cryptography is the answer to your problem,\n"
	    "then you don't know what your problem is.\n\n"
	    "\xe2\x80\x94 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZ"
	    "SNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
	struct note_key key;
	struct note note;

	(void)state;
	assert_int_equal(policy_note_key_parse(public, strlen(public), &key, &err), 0);
	assert_int_equal(policy_note_parse(text, strlen(text), &note, &err), 0);
	assert_true(policy_note_is_by(&note.signatures[0], &key));
	struct seal_claim claim = { note.text, note.text_len, key.bytes, note.signatures[0].bytes };
	assert_true(seal_is_signed(&claim));
	claim.text_len--;
	assert_false(seal_is_signed(&claim));
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */
struct answer {
	const char *passphrase; /* NULL: it fails */
	int asked;
};

static int
on_ask(void *context, struct seal_secret *ret_secret, struct hl_err *ask_err)
{
	struct answer *answer = context;

	answer->asked++;
	if (answer->passphrase == NULL)
		return hl_err_set(ask_err, HLS_12, "no terminal");
	ret_secret->len = strlen(answer->passphrase);
	memcpy(ret_secret->bytes, answer->passphrase, ret_secret->len + 1);
	return 0;
}

static int
read_key(const char *text, size_t len, struct answer *answer, struct seal_key **ret_key)
{
	const struct seal_ask ask = { on_ask, answer };
	char *exact = malloc(len > 0 ? len : 1);

	assert_non_null(exact);
	memcpy(exact, text, len);
	int status = seal_key_read(exact, len, &ask, ret_key, &err);
	free(exact);
	return status;
}

static void
a_key_comes_back_from_its_file(void **state)
{
	struct answer answer = { 0 };
	struct seal_key *key, *again;
	unsigned char first[32], second[32];
	struct hl_buf file;

	(void)state;
	hl_buf_init(&file, SEAL_KEY_FILE_MAX);
	assert_int_equal(seal_key_generate(&key, &err), 0);
	assert_int_equal(seal_key_write(key, "a.example", NULL, &file, &err), 0);
	assert_memory_equal(file.data, "hermes-launch key a.example\n-----BEGIN PRIVATE KEY-", 51);
	assert_int_equal(read_key(file.data, file.len, &answer, &again), 0);
	assert_int_equal(answer.asked, 0);
	assert_string_equal(seal_key_name(again), "a.example");
	assert_int_equal(seal_key_public(key, first, &err), 0);
	assert_int_equal(seal_key_public(again, second, &err), 0);
	assert_memory_equal(first, second, 32);
	seal_key_free(again);
	/* Made by openssl genpkey: no line of ours, no name. */
	assert_int_equal(read_key(file.data + 28, file.len - 28, &answer, &again), 0);
	assert_string_equal(seal_key_name(again), "");
	seal_key_free(again);
	seal_key_free(key);
	hl_buf_done_secret(&file);
}

static void
a_passphrase_is_needed_where_there_is_one(void **state)
{
	struct answer right = { .passphrase = "correct horse" },
		      wrong = { .passphrase = "Correct" }, none = { 0 };
	struct seal_secret secret = { .bytes = "correct horse", .len = 13 };
	struct seal_key *key, *again;
	struct hl_buf file;

	(void)state;
	hl_buf_init(&file, SEAL_KEY_FILE_MAX);
	assert_int_equal(seal_key_generate(&key, &err), 0);
	assert_int_equal(seal_key_write(key, "a.example", &secret, &file, &err), 0);
	assert_non_null(strstr(file.data, "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
	assert_null(strstr(file.data, "horse"));
	assert_int_equal(read_key(file.data, file.len, &wrong, &again), -1);
	assert_int_equal(err.code, HLS_12);
	assert_int_equal(wrong.asked, 1);
	assert_int_equal(read_key(file.data, file.len, &none, &again), -1);
	assert_int_equal(err.code, HLS_12);
	assert_string_equal(err.msg, "no terminal");
	assert_int_equal(read_key(file.data, file.len, &right, &again), 0);
	seal_key_free(again);
	seal_key_free(key);
	hl_buf_done_secret(&file);
}

/* PKCS#8 of another kind of key, as PEM. */
static void
other_kind(const char *kind, struct hl_buf *out)
{
	BIO *bio = BIO_new(BIO_s_mem());
	EVP_PKEY *pkey = EVP_PKEY_Q_keygen(NULL, NULL, kind);
	char *text = NULL;

	assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL), 1);
	long len = BIO_get_mem_data(bio, &text);
	hl_buf_put(out, text, (size_t)len);
	BIO_free(bio);
	EVP_PKEY_free(pkey);
}

static void
files_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"hermes-launch key ",
		"hermes-launch key \n",
		"hermes-launch key a.example",
		"hermes-launch key a.example\n",
		"-----BEGIN PRIVATE KEY-----\n",
		"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n",
		"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
		"x\n-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
	};
	struct answer answer = { 0 };
	struct seal_key *key = NULL;
	struct hl_buf file;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(bad); i++) {
		assert_int_equal(read_key(bad[i], strlen(bad[i]), &answer, &key), -1);
		assert_int_equal(err.code, HLS_11);
	}
	hl_buf_init(&file, 2 * SEAL_KEY_FILE_MAX);
	other_kind("X25519", &file);
	assert_int_equal(read_key(file.data, file.len, &answer, &key), -1);
	assert_int_equal(err.code, HLS_11);
	assert_non_null(strstr(err.msg, "another kind"));
	while (file.len <= SEAL_KEY_FILE_MAX)
		hl_buf_puts(&file, "# behind\n");
	assert_int_equal(read_key(file.data, file.len, &answer, &key), -1);
	assert_non_null(strstr(err.msg, "16 KiB"));
	hl_buf_done(&file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rfc8032_vectors),
		cmocka_unit_test(a_signature_has_one_form),
		cmocka_unit_test(a_note_of_another_program_is_right),
		cmocka_unit_test(a_key_comes_back_from_its_file),
		cmocka_unit_test(a_passphrase_is_needed_where_there_is_one),
		cmocka_unit_test(files_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
