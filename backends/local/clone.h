/*
 * A process on the launcher's memory with a stack of its own. private to backends/local.
 */
#ifndef HL_BACKENDS_LOCAL_CLONE_H
#define HL_BACKENDS_LOCAL_CLONE_H

#include <linux/sched.h>

#include <stddef.h>

/* clone3(args) whose child calls run(context) on the stack that args names and then _exit(127).
 * Returns the pid, or -errno. */
long local_clone(struct clone_args *args, void (*run)(void *context), void *context);

#endif
