/*
 * SHA-256 against the vectors of FIPS 180-4 and in pieces of every size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static void
test_vectors(void **state)
{
	static const struct {
		const char *text, *digest;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
		  "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		    "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
	};
	char text[HL_SHA256_HEX_SIZE];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		hl_sha256_text(rows[i].text, strlen(rows[i].text), text);
		assert_string_equal(text, rows[i].digest);
	}
}

static void
test_final_wipes(void **state)
{
	static const struct hl_sha256 nothing;
	unsigned char digest[HL_SHA256_SIZE];
	struct hl_sha256 ctx;

	(void)state;
	hl_sha256_init(&ctx);
	hl_sha256_update(&ctx, "hunter-two", 10);
	hl_sha256_final(&ctx, digest);
	assert_memory_equal(&ctx, &nothing, sizeof(ctx));
}

static void
test_million(void **state)
{
	struct hl_sha256 ctx;
	unsigned char digest[HL_SHA256_SIZE];
	char chunk[1000], text[HL_SHA256_HEX_SIZE];

	(void)state;
	memset(chunk, 'a', sizeof(chunk));
	hl_sha256_init(&ctx);
	for (unsigned i = 0; i < 1000; i++)
		hl_sha256_update(&ctx, chunk, sizeof(chunk));
	hl_sha256_final(&ctx, digest);
	hl_sha256_hex(digest, text);
	assert_string_equal(text,
	    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Every length around the block's borders, cut at every place: the same digest. */
static void
test_pieces(void **state)
{
	char bytes[200], whole[HL_SHA256_HEX_SIZE], pieces[HL_SHA256_HEX_SIZE];
	unsigned char digest[HL_SHA256_SIZE];
	struct hl_sha256 ctx;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + 1);
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		hl_sha256_text(bytes, len, whole);
		for (size_t cut = 0; cut <= len; cut += 1 + len / 20) {
			hl_sha256_init(&ctx);
			hl_sha256_update(&ctx, bytes, cut);
			hl_sha256_update(&ctx, bytes + cut, 0);
			hl_sha256_update(&ctx, bytes + cut, len - cut);
			hl_sha256_final(&ctx, digest);
			hl_sha256_hex(digest, pieces);
			assert_string_equal(pieces, whole);
		}
	}
}

static void
test_parts(void **state)
{
	static const char *const one[] = { "ab", "c" }, *const other[] = { "a", "bc" };
	char text[HL_SHA256_HEX_SIZE], want[HL_SHA256_HEX_SIZE];

	(void)state;
	hl_sha256_parts(one, 2, text);
	hl_sha256_text("ab\0c", 5, want);
	assert_string_equal(text, want);
	hl_sha256_parts(other, 2, text);
	assert_string_not_equal(text, want);
	hl_sha256_parts(one, 1, text);
	hl_sha256_text("ab", 3, want);
	assert_string_equal(text, want);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_million),
		cmocka_unit_test(test_final_wipes),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
