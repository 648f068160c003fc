/*
 * What a program of ours beside us is before it is that program: the child of peer.c. Private to
 * base/.
 */
#ifndef HL_BASE_PEER_CHILD_H
#define HL_BASE_PEER_CHILD_H

#include "base/base.h"

enum {
	PEER_CONTROL_FD = 3,
	/* The last is for the cause of a failure. */
	PEER_CHILD_FDS = PEER_CONTROL_FD + 1 + HL_PEER_FDS_MAX + 1,
};

struct peer_child {
	const struct hl_peer_kind *kind;
	const char *path;
	int fds[PEER_CHILD_FDS]; /* fds[i] becomes i: all above what they become */
	int status;              /* the number of the last one */
};

/* Between fork and exec. An errno of its own goes to the last descriptor where there is no exec. */
_Noreturn void peer_become(const struct peer_child *child);

#endif
