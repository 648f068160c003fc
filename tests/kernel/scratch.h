/*
 * A directory of the host's for one test program, and paths below it.
 */
#ifndef HL_TESTS_KERNEL_SCRATCH_H
#define HL_TESTS_KERNEL_SCRATCH_H

#include <sys/mount.h>
#include <sys/stat.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/kernel/launch.h"

static char scratch[64];

/* Four at a time. */
static const char *
below(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
	return path;
}

/* Made for whoever the command is: a mount has to say no, not the mode. And what a test of root's
 * mounts does not stay on the machine. */
static int
scratch_make(void)
{
	if (launch_is_root() &&
	    (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0))
		return -1;
	snprintf(scratch, sizeof(scratch), "/tmp/hl-kernel-XXXXXX");
	if (mkdtemp(scratch) == NULL)
		return -1;
	umask(0);
	return chmod(scratch, 0755);
}

#endif
