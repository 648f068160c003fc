/*
 * The signatures of a stack, before it is folded: each file's FILE.sig against the host's trust.
 */
#ifndef HL_POLICY_SIGNATURES_H
#define HL_POLICY_SIGNATURES_H

#include <stddef.h>

#include "base/base.h"
#include "policy/layer.h"
#include "policy/policy.h"
#include "policy/state.h"

/* One file of the stack. */
struct signed_file {
	struct policy_read *read; /* row.sha256 is of the bytes that were parsed */
	const char *finding_name; /* owned by the findings */
};

struct signed_files {
	struct signed_file v[POLICY_LAYERS_MAX];
	size_t len;
};

/* What is wrong with a signature is a finding; rows of files that are signed get their signer. -1:
 * trust or hl-seal failed, and nothing is known. */
int policy_signatures_check(const struct policy_load_request *request, struct policy *policy,
    const struct signed_files *files, struct policy_findings *findings,
    struct hl_err *err) HL_MUST_CHECK;

/* The note beside the file, into bytes; *ret_is_there false: there is none. */
int policy_signature_read(const char *file, struct hl_buf *bytes, bool *ret_is_there,
    struct hl_err *err) HL_MUST_CHECK;

#endif
