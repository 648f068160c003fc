/*
 * The highest revision of each signed policy that was in force here, so that an older one, whose
 * signature is as good, is told.
 *
 * STATE/revisions: "hermes-launch/revisions/v1", then "ID REVISION" a line, sorted by id. It is
 * replaced as a whole, under a lock beside it.
 */
#ifndef HL_POLICY_REVISIONS_H
#define HL_POLICY_REVISIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "policy/note.h"

enum {
	REVISIONS_MAX = 4096,
};

struct revision {
	char id[NOTE_POLICY_ID_MAX + 1];
	uint64_t revision;
};

struct revisions {
	struct revision *v; /* sorted by id */
	size_t len;
};

/* No file and no directory: nothing is remembered. */
int policy_revisions_read(const char *state_dir, struct revisions *ret_revisions,
    struct hl_err *err) HL_MUST_CHECK;
void policy_revisions_done(struct revisions *revisions);
/* 0 when there is none. */
uint64_t policy_revisions_of(const struct revisions *revisions, const char *id);
/* Raises what is remembered to those; never lowers. Writes only where something changes. */
int policy_revisions_raise(const char *state_dir, const struct revision *seen, size_t n,
    struct hl_err *err) HL_MUST_CHECK;
/* For tests and fuzzers: the text of such a file. */
int policy_revisions_parse(const char *text, size_t len, struct revisions *ret_revisions,
    struct hl_err *err) HL_MUST_CHECK;

#endif
