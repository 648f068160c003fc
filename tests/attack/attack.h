/*
 * Attempts to get out of a sandbox, or to learn what it should hide. Each is one small function
 * that answers 0 when the attempt worked, -errno when the kernel refused it, or one of the words
 * below.
 */
#ifndef HL_TESTS_ATTACK_H
#define HL_TESTS_ATTACK_H

#include <stdbool.h>
#include <stddef.h>

enum {
	ABSENT = 1, /* what it looked for is not there */
	HARMLESS,   /* the call returned 0 and did nothing */
	CAPPED,     /* a limit ended it */
};

enum attempt_flags {
	ONLY_INSIDE = 1 << 0, /* would harm the machine if it worked */
};

struct attempt {
	const char *id;
	long (*run)(void);
	unsigned flags;
};

/* What the script planted outside. */
struct planted {
	const char *tag; /* part of the names of planted files, segments and processes */
	int tcp_port;    /* a listener on the host's loopback */
	int shm_key;     /* of a segment, a semaphore set and a message queue of the host */
	int pid;         /* who planted them */
};

extern struct planted planted;

extern const struct attempt attempts_kernel[], attempts_proc[], attempts_files[], attempts_net[],
    attempts_others[];
extern const size_t attempts_kernel_len, attempts_proc_len, attempts_files_len, attempts_net_len,
    attempts_others_len;

/* 0 or -errno of a call that answers -1 on failure. */
long answer(long status);
/* Can path be opened? The descriptor is closed again. */
long try_open(const char *path, int flags);
/* "<prefix><tag>" in a static buffer. */
const char *tagged(const char *prefix);
/* To an abstract socket of that name. */
long connect_abstract(const char *name);
/* Is text in the file? 0 yes, ABSENT no, -errno. */
long file_has(const char *path, const char *text);
/* Is a process of that name in our /proc? */
long see_process(const char *name);

#endif
