/*
 * The launcher's half of talking to hl-seal.
 */
#ifndef HL_POLICY_SEALER_H
#define HL_POLICY_SEALER_H

#include <stdbool.h>

#include "base/base.h"
#include "policy/note.h"
#include "policy/seal_protocol.h"

extern const struct hl_peer_kind policy_sealer;

/* Signals that end the launcher, and with it an errand of hl-seal's. */
enum {
	SEALER_SIGNALS = 4
};
extern const int policy_sealer_signals[SEALER_SIGNALS];

/* What hl-seal is given beside its socket; -1 = /dev/null. */
struct sealer_start {
	const char *path; /* NULL: it was not found */
	int key_fd, passphrase_fd;
};

/* A peer of the kind policy_sealer. A signal that would end us, were it not held back, ends the
 * wait for an answer and stays where it is. */
int policy_sealer_start(struct hl_peer *sealer, const struct sealer_start *start,
    struct hl_err *err) HL_MUST_CHECK;
/* As hl_peer_end(), and its cancel_fd was ours. May be called on a zeroed one, and twice. */
void policy_sealer_end(struct hl_peer *sealer);

struct sealer_claim {
	const char *text;
	size_t text_len;
	const struct note_key *key;
	const unsigned char *signature;
};

/* is_right[i] for each of at most NOTE_SIGNATURES_MAX claims. */
int policy_sealer_verify(struct hl_peer *sealer, const struct sealer_claim *claims, size_t n,
    bool *is_right, struct hl_err *err) HL_MUST_CHECK;

#endif
