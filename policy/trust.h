/*
 * The host's trust file: whose signature a policy needs.
 *
 *	version: 1
 *	layers:
 *	  org:
 *	    keys: ["secteam.acme.example+01234567+AQ...", "cto.acme.example+89abcdef+AQ..."]
 *	    threshold: 2		# how many of them; default 1
 *	  task:
 *	    unsigned: true		# also without any; default false
 *
 * Without the file nothing is asked for. With it, a layer that it does not name takes no policy.
 */
#ifndef HL_POLICY_TRUST_H
#define HL_POLICY_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "policy/arena.h"
#include "policy/note.h"
#include "policy/policy.h"

enum {
	TRUST_LAYERS = 4, /* host, org, team, task: a layer's rank */
	TRUST_KEYS_MAX = 32,
};

struct trust_layer {
	bool is_named;
	bool accepts_unsigned;
	size_t threshold; /* 0 = no keys */
	struct note_key *keys;
	size_t keys_len;
};

struct trust {
	bool is_there;
	struct trust_layer layers[TRUST_LAYERS];
};

/* Errors of the file's content are findings (and *ret_trust demands what nobody can meet); -1: it
 * may not be believed, or cannot be read. */
int policy_trust_read(const struct policy_load_request *request, struct policy_arena *arena,
    struct policy_findings *findings, struct trust *ret_trust, struct hl_err *err) HL_MUST_CHECK;

#endif
