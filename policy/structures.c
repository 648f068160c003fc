/*
 * Members of mounts, tmpfs, workdir and home.
 */
#include "policy/structures.h"

#include <stddef.h>

#include "base/base.h"

#include "base/banned.h"

static const char *const access_words[] = { "ro", "rw", NULL };
static const char *const kind_words[] = { "bind", "volume", NULL };
static const char *const as_words[] = { "bind", NULL };
const char *const policy_home_words[] = { "tmpfs", "persist", "bind", NULL };

/* clang-format off */
static const struct member mount_members[MEMBERS_MAX] = {
	[MOUNT_SRC]	 = { "src",	 "src of a mount",	MEMBER_TEXT, true,  NULL },
	[MOUNT_DST]	 = { "dst",	 "dst of a mount",	MEMBER_PATH, true,  NULL },
	[MOUNT_ACCESS]	 = { "access",	 "access of a mount",	MEMBER_WORD, false, access_words },
	[MOUNT_EXEC]	 = { "exec",	 "exec of a mount",	MEMBER_BOOL, false, NULL },
	[MOUNT_REQUIRED] = { "required", "required of a mount", MEMBER_BOOL, false, NULL },
	[MOUNT_KIND]	 = { "kind",	 "kind of a mount",	MEMBER_WORD, false, kind_words },
};

static const struct member tmpfs_members[MEMBERS_MAX] = {
	[TMPFS_DST]  = { "dst",  "dst of a tmpfs",  MEMBER_PATH, true,	NULL },
	[TMPFS_SIZE] = { "size", "size of a tmpfs", MEMBER_SIZE, false, NULL },
	[TMPFS_EXEC] = { "exec", "exec of a tmpfs", MEMBER_BOOL, false, NULL },
	[TMPFS_MODE] = { "mode", "mode of a tmpfs", MEMBER_MODE, false, NULL },
};

static const struct member workdir_members[MEMBERS_MAX] = {
	[WORKDIR_PATH]	 = { "path",   "fs.workdir.path",   MEMBER_TEXT, false, NULL },
	[WORKDIR_AT]	 = { "at",     "fs.workdir.at",	    MEMBER_PATH, false, NULL },
	[WORKDIR_ACCESS] = { "access", "fs.workdir.access", MEMBER_WORD, false, access_words },
	[WORKDIR_AS]	 = { "as",     "fs.workdir.as",	    MEMBER_WORD, false, as_words },
};

static const struct member home_members[MEMBERS_MAX] = {
	[HOME_KIND]  = { "kind", "fs.home.kind", MEMBER_WORD, false, policy_home_words },
	[HOME_SRC]   = { "src",	 "fs.home.src",	 MEMBER_PATH, false, NULL },
	[HOME_SIZE]  = { "size", "fs.home.size", MEMBER_SIZE, false, NULL },
	[HOME_BOUND] = { "max",	 "fs.home.max",	 MEMBER_WORD, false, policy_home_words },
};
/* clang-format on */

const struct member *
policy_members(enum policy_kind kind)
{
	static const struct {
		const struct member *members;
	} tables[POLICY_KIND_MAX] = {
		[POLICY_KIND_MOUNTS] = { mount_members },
		[POLICY_KIND_TMPFS] = { tmpfs_members },
		[POLICY_KIND_WORKDIR] = { workdir_members },
		[POLICY_KIND_HOME] = { home_members },
	};

	HL_BUG_ON(tables[kind].members == NULL);
	return tables[kind].members;
}
