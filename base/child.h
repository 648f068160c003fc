/*
 * What a program beside us is before it is that program: the child of child.c. Private to base/.
 */
#ifndef HL_BASE_CHILD_H
#define HL_BASE_CHILD_H

#include "base/base.h"

struct child_begun {
	const struct hl_child *child;
	pid_t parent;
	/* fds[i] becomes i: all above what they become. The last is for the cause of a failure. */
	int fds[HL_CHILD_FDS_MAX + 1];
};

/* Between fork and exec. An errno of its own goes to the last descriptor where there is no exec. */
_Noreturn void child_become(const struct child_begun *begun);

#endif
