/*
 * SHA-256 as in FIPS 180-4, plain and small: the launcher's hot path and the runner link no
 * OpenSSL. Bulk work (verification of whole logs) is measured in bench/, not here.
 */
#include <string.h>

#include "base/base.h"

#include "base/banned.h"

static const uint32_t round_constants[64] = {
	0x428a2f98,
	0x71374491,
	0xb5c0fbcf,
	0xe9b5dba5,
	0x3956c25b,
	0x59f111f1,
	0x923f82a4,
	0xab1c5ed5,
	0xd807aa98,
	0x12835b01,
	0x243185be,
	0x550c7dc3,
	0x72be5d74,
	0x80deb1fe,
	0x9bdc06a7,
	0xc19bf174,
	0xe49b69c1,
	0xefbe4786,
	0x0fc19dc6,
	0x240ca1cc,
	0x2de92c6f,
	0x4a7484aa,
	0x5cb0a9dc,
	0x76f988da,
	0x983e5152,
	0xa831c66d,
	0xb00327c8,
	0xbf597fc7,
	0xc6e00bf3,
	0xd5a79147,
	0x06ca6351,
	0x14292967,
	0x27b70a85,
	0x2e1b2138,
	0x4d2c6dfc,
	0x53380d13,
	0x650a7354,
	0x766a0abb,
	0x81c2c92e,
	0x92722c85,
	0xa2bfe8a1,
	0xa81a664b,
	0xc24b8b70,
	0xc76c51a3,
	0xd192e819,
	0xd6990624,
	0xf40e3585,
	0x106aa070,
	0x19a4c116,
	0x1e376c08,
	0x2748774c,
	0x34b0bcb5,
	0x391c0cb3,
	0x4ed8aa4a,
	0x5b9cca4f,
	0x682e6ff3,
	0x748f82ee,
	0x78a5636f,
	0x84c87814,
	0x8cc70208,
	0x90befffa,
	0xa4506ceb,
	0xbef9a3f7,
	0xc67178f2,
};

static uint32_t
rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void
compress(uint32_t state[8], const unsigned char block[64])
{
	uint32_t w[64];
	uint32_t s[8];

	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (unsigned i = 16; i < 64; i++) {
		uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
		w[i] = w[i - 16] + a + w[i - 7] + b;
	}
	memcpy(s, state, sizeof(s));
	/* The eight variables change places instead of values, and unrolled by eight they are
	 * registers: three times as fast as moving them. */
	for (unsigned i = 0; i < 64; i += 8) {
#pragma GCC unroll 8
		for (unsigned j = 0; j < 8; j++) {
			uint32_t a = s[(8 - j) & 7], e = s[(12 - j) & 7];
			uint32_t b = s[(9 - j) & 7], c = s[(10 - j) & 7];
			uint32_t f = s[(13 - j) & 7], g = s[(14 - j) & 7];
			uint32_t t1 = s[(15 - j) & 7] +
				      (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
				      (g ^ (e & (f ^ g))) + round_constants[i + j] + w[i + j];
			s[(11 - j) & 7] += t1;
			s[(15 - j) & 7] = t1 + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
					  ((a & b) | (c & (a | b)));
		}
	}
	for (unsigned i = 0; i < 8; i++)
		state[i] += s[i];
}

void
hl_sha256_init(struct hl_sha256 *ctx)
{
	static const uint32_t initial[8] = {
		0x6a09e667,
		0xbb67ae85,
		0x3c6ef372,
		0xa54ff53a,
		0x510e527f,
		0x9b05688c,
		0x1f83d9ab,
		0x5be0cd19,
	};

	memset(ctx, 0, sizeof(*ctx));
	memcpy(ctx->state, initial, sizeof(initial));
}

void
hl_sha256_update(struct hl_sha256 *ctx, const void *bytes, size_t len)
{
	const unsigned char *next = bytes;
	size_t used = ctx->bytes % 64;

	ctx->bytes += len;
	if (used > 0) {
		size_t n = len < 64 - used ? len : 64 - used;
		memcpy(ctx->block + used, next, n);
		if (used + n < 64)
			return;
		compress(ctx->state, ctx->block);
		next += n;
		len -= n;
	}
	for (; len >= 64; next += 64, len -= 64)
		compress(ctx->state, next);
	if (len > 0)
		memcpy(ctx->block, next, len);
}

void
hl_sha256_final(struct hl_sha256 *ctx, unsigned char digest[HL_SHA256_SIZE])
{
	static const unsigned char padding[64] = { 0x80 };
	unsigned char length[8];
	uint64_t bits = ctx->bytes * 8;

	for (unsigned i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	hl_sha256_update(ctx, padding, 1 + (119 - ctx->bytes % 64) % 64);
	hl_sha256_update(ctx, length, sizeof(length));
	for (unsigned i = 0; i < 32; i++)
		digest[i] = (unsigned char)(ctx->state[i / 4] >> (24 - 8 * (i % 4)));
	explicit_bzero(ctx, sizeof(*ctx));
}

void
hl_sha256_hex(const unsigned char digest[HL_SHA256_SIZE], char text[HL_SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 0; i < HL_SHA256_SIZE; i++) {
		text[2 * i] = digits[digest[i] >> 4];
		text[2 * i + 1] = digits[digest[i] & 15];
	}
	text[64] = '\0';
}

void
hl_sha256_text(const void *bytes, size_t len, char text[HL_SHA256_HEX_SIZE])
{
	struct hl_sha256 ctx;
	unsigned char digest[HL_SHA256_SIZE];

	hl_sha256_init(&ctx);
	hl_sha256_update(&ctx, bytes, len);
	hl_sha256_final(&ctx, digest);
	hl_sha256_hex(digest, text);
}

void
hl_sha256_parts(const char *const *parts, size_t len, char text[HL_SHA256_HEX_SIZE])
{
	struct hl_sha256 ctx;
	unsigned char digest[HL_SHA256_SIZE];

	hl_sha256_init(&ctx);
	for (size_t i = 0; i < len; i++)
		hl_sha256_update(&ctx, parts[i], strlen(parts[i]) + 1);
	hl_sha256_final(&ctx, digest);
	hl_sha256_hex(digest, text);
}
