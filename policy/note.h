/*
 * Signed notes (C2SP signed-note) and what one says of a policy.
 *
 * A note is a text, an empty line, and signature lines; lines of unknown keys are ignored, so that
 * other kinds of signature can be added. Nothing here is believed: the parser only says what stands
 * where, hl-seal whether a signature is right, and policy/signatures.c what that is worth.
 *
 *	hermes-launch/policy/v1
 *	acme/base
 *	revision 7
 *	sha256 4b2f...
 *	not-after 2027-06-30T00:00:00Z		(may be missing)
 *
 *	- secteam.acme.example Az3grl...	(an em dash)
 */
#ifndef HL_POLICY_NOTE_H
#define HL_POLICY_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* What a JSON reader can hold without loss, 2^53-1; a number alone, for it is put into texts. */
#define POLICY_REVISION_MAX 9007199254740991

enum {
	/* Sixteen signatures of 5 kB, which no key of today makes, and some. */
	NOTE_MAX = 128 << 10,
	NOTE_TEXT_MAX = 1024,
	NOTE_SIGNATURES_MAX = 64,
	NOTE_NAME_MAX = 128,
	NOTE_KEY_SIZE = 32,
	NOTE_SIGNATURE_SIZE = 64,
	NOTE_ID_SIZE = 4,
	/* "name+01234567+" and 44 digits of base64. */
	NOTE_KEY_TEXT_MAX = NOTE_NAME_MAX + 64,
	NOTE_TIME_SIZE = 21, /* "2027-06-30T00:00:00Z" and NUL */
	NOTE_POLICY_ID_MAX = 128,
};

/* An Ed25519 public key and its name. */
struct note_key {
	char name[NOTE_NAME_MAX + 1];
	unsigned char id[NOTE_ID_SIZE];
	unsigned char bytes[NOTE_KEY_SIZE];
};

struct note_signature {
	const char *line; /* whole, without its newline */
	size_t line_len;
	const char *name; /* not NUL-terminated */
	size_t name_len;
	unsigned char id[NOTE_ID_SIZE];
	bool is_ed25519; /* by its length; then bytes holds it */
	unsigned char bytes[NOTE_SIGNATURE_SIZE];
};

/* Borrows the bytes that were parsed. */
struct note {
	const char *text; /* with its last newline: what is signed */
	size_t text_len;
	struct note_signature signatures[NOTE_SIGNATURES_MAX];
	size_t len;
};

/* HLS-04 when it is none. */
int policy_note_parse(const char *bytes, size_t len, struct note *ret_note,
    struct hl_err *err) HL_MUST_CHECK;
bool policy_note_is_by(const struct note_signature *signature, const struct note_key *key);

/* 1 to 128 of A-Z a-z 0-9 . _ / : @ -: what we give a key as its name. */
bool policy_note_is_key_name(const char *name, size_t len);
/* name must be one. */
void policy_note_key_init(struct note_key *key, const char *name,
    const unsigned char bytes[NOTE_KEY_SIZE]);
/* "name+id+base64", as a verifier's key is written; one newline behind it is taken. HLS-10 when it
 * is none. */
int policy_note_key_parse(const char *text, size_t len, struct note_key *ret_key,
    struct hl_err *err) HL_MUST_CHECK;
void policy_note_put_key(struct hl_buf *out, const struct note_key *key);
void policy_note_put_signature(struct hl_buf *out, const struct note_key *key,
    const unsigned char signature[NOTE_SIGNATURE_SIZE]);

/* What a note says of a policy. */
struct policy_statement {
	char id[NOTE_POLICY_ID_MAX + 1];
	uint64_t revision;
	char sha256[HL_SHA256_HEX_SIZE];
	char not_after[NOTE_TIME_SIZE]; /* "" = for ever */
};

/* The first line of every policy's note: no signature over one is one over anything else. */
extern const char policy_statement_origin[];

int policy_statement_parse(const char *text, size_t len, struct policy_statement *ret_statement,
    struct hl_err *err) HL_MUST_CHECK;
void policy_statement_put(struct hl_buf *out, const struct policy_statement *statement);
/* "2027-06-30" or "2027-06-30T12:00:00Z". -1: it is neither. */
int policy_statement_time(const char *text, char ret_time[NOTE_TIME_SIZE],
    struct hl_err *err) HL_MUST_CHECK;
bool policy_statement_is_over(const struct policy_statement *statement, uint64_t real_us);

#endif
