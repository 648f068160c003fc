/*
 * The fields that are structures, as tables of their members: for the reader (items.c) and for what
 * is made of them (json_schema.c).
 */
#ifndef HL_POLICY_STRUCTURES_H
#define HL_POLICY_STRUCTURES_H

#include <stdbool.h>

#include "policy/policy.h"

enum member_type {
	MEMBER_PATH,
	MEMBER_TEXT,
	MEMBER_BOOL,
	MEMBER_WORD,
	MEMBER_SIZE,
	MEMBER_MODE,
};

struct member {
	const char *key;
	const char *subject; /* as messages call it */
	enum member_type type;
	bool is_needed;
	const char *const *words;
};

enum {
	MEMBERS_MAX = 6,
};

/* Where each member is in its table. */
enum {
	MOUNT_SRC,
	MOUNT_DST,
	MOUNT_ACCESS,
	MOUNT_EXEC,
	MOUNT_REQUIRED,
	MOUNT_KIND,
};

enum {
	TMPFS_DST,
	TMPFS_SIZE,
	TMPFS_EXEC,
	TMPFS_MODE,
};

enum {
	WORKDIR_PATH,
	WORKDIR_AT,
	WORKDIR_ACCESS,
	WORKDIR_AS,
};

enum {
	HOME_KIND,
	HOME_SRC,
	HOME_SIZE,
	HOME_BOUND,
};

/* MEMBERS_MAX rows, of which those behind the last have no key. */
const struct member *policy_members(enum policy_kind kind);
extern const char *const policy_home_words[];

#endif
