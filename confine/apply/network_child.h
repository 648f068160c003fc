/*
 * The making of a network namespace. network_child.c calls nothing of libc: apply_network_make()
 * runs on memory that it shares with the rest of the lock.
 */
#ifndef HL_CONFINE_APPLY_NETWORK_CHILD_H
#define HL_CONFINE_APPLY_NETWORK_CHILD_H

#include "confine/confine.h"

struct network_making {
	int fd;      /* of the namespace, or -1 */
	long status; /* of the step: negative is why it failed */
	enum confine_step step;
};

/* A network namespace for who calls it, with its loopback. making: a struct network_making, which
 * only the child touches until it has ended. */
int apply_network_make(void *making);

#endif
