/*
 * Collecting findings: the first POLICY_FINDINGS_MAX are kept, all are counted.
 *
 * One struct diag follows one file. policy_diag_error() and policy_diag_warn() make a finding;
 * policy_diag_help() and policy_diag_other() add to the newest. policy_diag_seal() gives each
 * finding of the file its source line, and leaves it out where the line may hold a private value.
 */
#ifndef HL_POLICY_DIAG_H
#define HL_POLICY_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "policy/policy.h"

struct node;
struct policy_source;

struct diag {
	struct policy_findings *out;
	const char *file;            /* owned by out */
	size_t first;                /* of this file's findings */
	struct policy_finding *last; /* NULL when it was not kept */
};

/* A place with the number of bytes to underline. */
struct diag_at {
	uint32_t line, column, width;
};

void policy_findings_init(struct policy_findings *findings);
/* A copy of name that lives as long as the findings. NULL: no memory. */
const char *policy_findings_name(struct policy_findings *findings, const char *name);
void policy_diag_init(struct diag *diag, struct policy_findings *findings, const char *file);

struct diag_at policy_at(const struct node *node);
/* How much of a name a message shows: behind an equals sign stands what somebody took for a value.
 */
int policy_name_len(const char *text);
void policy_diag_error(struct diag *diag, enum hl_code code, struct diag_at at, const char *format,
    ...) HL_PRINTF(4, 5);
void policy_diag_warn(struct diag *diag, enum hl_code code, struct diag_at at, const char *format,
    ...) HL_PRINTF(4, 5);
/* Of whatever severity: of findings that are made by a table. */
void policy_diag_tell(struct diag *diag, enum policy_severity severity, enum hl_code code,
    struct diag_at at, const char *message);
void policy_diag_help(struct diag *diag, const char *format, ...) HL_PRINTF(2, 3);
/* where is copied with its file name. */
void policy_diag_other(struct diag *diag, struct hl_where where, const char *text);
/* Whether the newest finding is kept, or only counted: then do no work for its help. */
bool policy_diag_is_kept(const struct diag *diag);
/* True when further findings are only counted. */
bool policy_diag_is_full(const struct diag *diag);

/* Orders the file's findings by place and gives them their lines. root may be NULL. */
void policy_diag_seal(struct diag *diag, const struct policy_source *source,
    const struct node *root);
/* The first error as an hl_err; err must have a place to come from, so errors > 0. Returns -1. */
int policy_findings_err(const struct policy_findings *findings, struct hl_err *err);

#endif
