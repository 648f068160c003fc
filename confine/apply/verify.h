/*
 * The parts of the verification that read text, apart from the files it comes from, so that a test
 * can show them a fault that the lock would not make.
 */
#ifndef HL_CONFINE_APPLY_VERIFY_H
#define HL_CONFINE_APPLY_VERIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "confine/confine.h"

enum {
	VERIFY_LINE_MAX = 4096 + 1024
};

/* mountinfo comes in pieces that end anywhere. */
struct verify_mounts {
	const struct confinement *confinement;
	char line[VERIFY_LINE_MAX];
	size_t len;
	bool has_read_only_sys; /* /proc/sys was seen covered */
	bool has_root;
	unsigned char seen[CONFINE_OPS_MAX / 8];
};

/* What was read back is not what was asked for. Returns -1. */
int verify_differs(struct confine_failure *failure, const char *subject);

/* Numbers at the start of text with blanks between, in that base, at most max. Returns how many;
 * one that is too large is none of those that were asked for, since it ends early. */
size_t verify_numbers(const char *text, unsigned base, uint64_t *ret, size_t max);

/* A line of mountinfo, cut. */
struct verify_mount {
	const char *root; /* what of its file system is mounted, escaped as the kernel does */
	const char *place;
	const char *options; /* of the mount */
	const char *rest;    /* what follows them, "" = nothing */
};

/* verify_seen.c: what an engine made. */
bool verify_seen_mount(const struct confinement *confinement, const struct verify_mount *mount,
    const char **ret_subject);
/* Files of control groups below root, "" but for a test; *ret_all: none that was asked for was out
 * of sight. */
int verify_seen_limits(const struct confinement *confinement, const char *root, bool *ret_all,
    struct confine_failure *ret_failure) HL_MUST_CHECK;
/* The texts of /proc/self/uid_map and gid_map. */
int verify_kept_id(const struct confinement *confinement, const char *uid_map, const char *gid_map,
    struct confine_failure *ret_failure) HL_MUST_CHECK;
/* The resource limit of processes: what a limit without a control group is. */
int verify_seen_nproc(const struct confinement *confinement,
    struct confine_failure *ret_failure) HL_MUST_CHECK;
int verify_seen_env(const struct confinement *confinement, char *const *environment,
    struct confine_failure *ret_failure) HL_MUST_CHECK;
/* "rw,nosuid,nodev": is word one of them? */
bool verify_has_option(const char *options, const char *word);

/* The text of /proc/self/status. */
int verify_status_text(const struct confinement *confinement, const char *text,
    struct confine_failure *ret_failure) HL_MUST_CHECK;
int verify_mounts_feed(struct verify_mounts *mounts, const char *bytes, size_t len,
    struct confine_failure *ret_failure) HL_MUST_CHECK;
/* After the last piece: every mount that was asked for has been there. */
int verify_mounts_end(const struct verify_mounts *mounts,
    struct confine_failure *ret_failure) HL_MUST_CHECK;

#endif
