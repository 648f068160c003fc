/*
 * The launcher's half of talking to hl-seal: start, ask, end.
 */
#ifndef HL_POLICY_SEALER_H
#define HL_POLICY_SEALER_H

#include <sys/types.h>

#include <stdbool.h>

#include "base/base.h"
#include "policy/note.h"
#include "policy/seal_protocol.h"

struct sealer {
	pid_t pid; /* 0 = none, and no descriptor either */
	int pidfd, control;
	int answer_ms, end_ms; /* patience: for an answer, and for its end */
};

/* What hl-seal is given beside its socket; -1 = /dev/null. */
struct sealer_start {
	const char *path; /* NULL: it was not found */
	int key_fd, passphrase_fd;
};

int policy_sealer_start(struct sealer *sealer, const struct sealer_start *start,
    struct hl_err *err) HL_MUST_CHECK;
/* Closes its socket, at which it ends, and waits for it; one that does not end is killed. May be
 * called on a zeroed one, and twice. */
void policy_sealer_end(struct sealer *sealer);
/* Sends request and reads the answer of type `want` into ret_answer, which the caller releases.
 * FAILED becomes the error that it says; without an answer in time it is told to end. */
int policy_sealer_ask(struct sealer *sealer, const struct hl_buf *request, enum seal_message want,
    struct hl_buf *ret_answer, struct hl_err *err) HL_MUST_CHECK;

struct sealer_claim {
	const char *text;
	size_t text_len;
	const struct note_key *key;
	const unsigned char *signature;
};

/* is_right[i] for each of at most NOTE_SIGNATURES_MAX claims. */
int policy_sealer_verify(struct sealer *sealer, const struct sealer_claim *claims, size_t n,
    bool *is_right, struct hl_err *err) HL_MUST_CHECK;

#endif
