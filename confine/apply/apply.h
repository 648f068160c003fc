/*
 * What the files of the inside half share: the state of one application of the lock, and the steps.
 * Every step returns 0, or -1 through apply_fail().
 */
#ifndef HL_CONFINE_APPLY_APPLY_H
#define HL_CONFINE_APPLY_APPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "confine/confine.h"

struct apply {
	const struct confinement *confinement;
	const struct confine_early *early; /* what was begun before the lock came */
	struct confine_failure *failure;
	int keep_fd;
	int base_fd;    /* the small tmpfs that all is built on */
	int root_fd;    /* what will be "/": base_fd, or a bind of "/" */
	int mask_fd[2]; /* empty file, empty directory */
	bool uses_early_dev, uses_early_proc;
	int ruleset_fd; /* Landlock, made while paths can still be opened */
};

/* Keeps errno, the step and what it was about. Returns -1. */
int apply_fail(struct apply *apply, enum confine_step step, const char *subject);

/* The op below or at which path lies, among the first n: the deepest, the last of equals; NULL for
 * the base. Symbolic links and directories do not count, they are no mounts. */
const struct confine_op *apply_governing(const struct confinement *confinement, size_t n,
    const char *path);
bool apply_is_beneath(const char *path, const char *parent);

/* mounts.c */
int apply_private(struct apply *apply);
int apply_root(struct apply *apply);
int apply_ops(struct apply *apply);
int apply_read_only(struct apply *apply);
int apply_pivot(struct apply *apply);

/* place.c: descriptors (O_PATH) under the new root, never through a symbolic link. */
int apply_place_open(struct apply *apply, const char *dst);
/* The same; what is missing is made where it may be (op number n is the one that asks). */
int apply_place(struct apply *apply, size_t n, bool is_file, mode_t mode);
/* The directory that dst is in, and its name in it. */
int apply_place_parent(struct apply *apply, size_t n, const char **ret_name);
/* Lays a clone of what from is over what over is, with the attributes. Both O_PATH. */
int apply_cover(int from, int over, uint64_t attributes);
/* Lays a new tmpfs over the directory fd. Leaves the working directory there. */
int apply_tmpfs_over(int fd, const struct confine_op *op, const struct confinement *confinement);

/* system.c: /proc and /dev */
/* Is the descriptor in a proc of the kernel's? -1 with ESTALE when it is in something else. */
int apply_check_proc(int fd);
int apply_proc(struct apply *apply, size_t n);
int apply_dev(struct apply *apply, size_t n);
/* Before any lock: on the base's own "dev" and "proc". */
int apply_dev_early(struct apply *apply);
int apply_proc_early(struct apply *apply);

/* early.c: takes away what was begun and is not what the lock wants. */
int apply_early_rest(struct apply *apply);

/* network.c: a namespace of its own, begun and then joined where it was; and lo up in it. */
int apply_network_begin(struct apply *apply);
int apply_loopback(struct apply *apply);

/* identity.c */
int apply_groups(struct apply *apply);
int apply_cgroup_ns(struct apply *apply);
int apply_hostname(struct apply *apply);
int apply_keyring(struct apply *apply);
int apply_bounding(struct apply *apply);
int apply_securebits(struct apply *apply);
int apply_identity(struct apply *apply);
int apply_caps(struct apply *apply);
int apply_no_new_privs(struct apply *apply);

/* landlock.c */
int apply_landlock_prepare(struct apply *apply);
int apply_landlock(struct apply *apply);

/* What the filter of securebits leaves to a command that is root with capabilities, and to any
 * other. Shared with verify.c. */
unsigned apply_securebits_wanted(const struct confinement *confinement);

#endif
