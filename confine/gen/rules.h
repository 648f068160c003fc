/*
 * Argument rules of the profiles: a call that a profile lets through, but not with every argument.
 * Read by gen-seccomp.c only; a row is a call.
 */
#ifndef HL_CONFINE_GEN_RULES_H
#define HL_CONFINE_GEN_RULES_H

#include <stdbool.h>
#include <stdint.h>

enum set {
	STRICT,
	DEFAULT,
	BROAD,
	NEVER,
	ABSENT
};

enum answer {
	ANSWER_ALLOW,
	ANSWER_REFUSE,
	ANSWER_ABSENT
};

enum {
	CONDITIONS_MAX = 6,
	CLAUSES_MAX = 4,
	PROGRAM_MAX = 4096,
	CALLS_MAX = 1024,
	CUBES_MAX = 1024,
	NAME_SIZE = 28,
};

/* (argument & mask) == value, or the opposite. */
struct condition {
	unsigned argument;
	uint32_t mask, value;
	bool is_not;
	bool is_set;
};

#define IS(arg, number)                \
 {                                     \
  arg, UINT32_MAX, number, false, true \
 }
#define IS_NOT(arg, number)           \
 {                                    \
  arg, UINT32_MAX, number, true, true \
 }
#define ANY_OF(arg, bits)  \
 {                         \
  arg, bits, 0, true, true \
 }
#define FIELD(arg, bits, number) \
 {                               \
  arg, bits, number, false, true \
 }

/* Refused with EPERM when all conditions of any clause hold; profiles above last are not held to
 * it. */
struct rule {
	const char *name;
	enum set last;
	bool is_terse; /* in an OCI profile what is refused gets the default answer: fewer rules */
	struct condition clauses[CLAUSES_MAX][CONDITIONS_MAX];
};

/* CLONE_NEW* of clone(2); unshare(2) has the time namespace as well, whose bit clone cannot use. */
#define NAMESPACES 0x7e020000

static const struct rule rules[] = {
	{ "clone", DEFAULT, false, { { ANY_OF(0, NAMESPACES) } } },
	{ "unshare", DEFAULT, false, { { ANY_OF(0, NAMESPACES | 0x80) } } },
	/* Families unix, inet, inet6 and netlink; of netlink only route. Protocols past one byte
	 * are MPTCP (262) and SMC (256), which pass by Landlock's rules for TCP. */
	{ "socket", DEFAULT, false,
	    { { IS_NOT(0, 1), IS_NOT(0, 2), IS_NOT(0, 10), IS_NOT(0, 16) },
		{ IS(0, 16), IS_NOT(2, 0) }, { IS(0, 2), ANY_OF(2, 0xffffff00) },
		{ IS(0, 10), ANY_OF(2, 0xffffff00) } } },
	{ "socketpair", DEFAULT, true, { { IS_NOT(0, 1) } } },
	/* MSG_FASTOPEN connects where connect(2) is refused. */
	{ "sendto", DEFAULT, false, { { ANY_OF(3, 0x20000000) } } },
	{ "sendmsg", DEFAULT, false, { { ANY_OF(2, 0x20000000) } } },
	{ "sendmmsg", DEFAULT, false, { { ANY_OF(3, 0x20000000) } } },
	/* SOL_TCP: TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, TCP_ULP (an entry to other protocols). */
	{ "setsockopt", DEFAULT, false,
	    { { IS(1, 6), IS(2, 23) }, { IS(1, 6), IS(2, 30) }, { IS(1, 6), IS(2, 31) } } },
	/* TIOCSTI, TIOCLINUX: bytes into the terminal's input. TIOCSETD: another line discipline.
	 */
	{ "ioctl", NEVER, false, { { IS(1, 0x5412) }, { IS(1, 0x541c) }, { IS(1, 0x5423) } } },
	/* Allowed are PER_LINUX, PER_LINUX32, both with UNAME26, and the question. */
	{ "personality", DEFAULT, true,
	    { { IS_NOT(0, 0), IS_NOT(0, 8), IS_NOT(0, 0x20000), IS_NOT(0, 0x20008),
		IS_NOT(0, UINT32_MAX) } } },
	/* Process 1 is the runner, which has the command's user: its limits and its share of the
	 * processor are not the command's to change. Targets are a process, a group or, in all
	 * else, a thread; the runner leads group 1 and has one thread. By user (PRIO_USER,
	 * IOPRIO_WHO_USER) a command reaches it together with itself: to a worse place only. */
	{ "prlimit64", DEFAULT, true, { { IS(0, 1) } } },
	{ "sched_setaffinity", DEFAULT, true, { { IS(0, 1) } } },
	{ "sched_setattr", DEFAULT, true, { { IS(0, 1) } } },
	{ "sched_setparam", DEFAULT, true, { { IS(0, 1) } } },
	{ "sched_setscheduler", DEFAULT, true, { { IS(0, 1) } } },
	{ "setpriority", DEFAULT, true, { { IS(0, 0), IS(1, 1) }, { IS(0, 1), IS(1, 1) } } },
	{ "ioprio_set", DEFAULT, true, { { IS(0, 1), IS(1, 1) }, { IS(0, 2), IS(1, 1) } } },
	/* RENAME_WHITEOUT makes a device that hides files of a layer below. */
	{ "renameat2", DEFAULT, false, { { ANY_OF(4, 4) } } },
	/* Devices: S_IFCHR (also 0:0, a whiteout, which needs no capability), S_IFBLK. */
	{ "mknod", DEFAULT, false,
	    { { FIELD(1, 0170000, 020000) }, { FIELD(1, 0170000, 060000) } } },
	{ "mknodat", DEFAULT, false,
	    { { FIELD(2, 0170000, 020000) }, { FIELD(2, 0170000, 060000) } } },
};

/* The upper half of an argument, for conditions. */
#define HIGH(arg) (6 + (arg))

/*
 * Answered with success and not done, in every profile: a core limit of 1, which the sandbox has,
 * is the kernel's word for "not even to a pipe" (core(5)). A command that lowers it to 0, as some
 * do out of care, would have its crash start the host's core_pattern program, outside and as root.
 * Not in the OCI form, which has no such answer.
 */
static const struct rule pretences[] = {
	{ "setrlimit", NEVER, false, { { IS(0, 4) } } },
	{ "prlimit64", NEVER, false,
	    { { IS(1, 4), IS_NOT(2, 0) }, { IS(1, 4), IS_NOT(HIGH(2), 0) } } },
};

#endif
