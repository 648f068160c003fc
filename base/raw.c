/*
 * System calls without libc, for code that runs on memory which it shares with another process or
 * thread: libc's wrappers write errno into thread-local storage, which is the other's. And the one
 * piece of assembly that is needed beside: a C function that returns twice on two stacks cannot be
 * written in C, so the child leaves by a call and an exit, never by a return through a frame that
 * it does not have.
 */
#include <sys/syscall.h>

#include "base/base.h"

#include "base/banned.h"

long
hl_raw_syscall(long number, const long args[6])
{
#if defined(__x86_64__)
	long result;
	register long r10 __asm__("r10") = args[3];
	register long r8 __asm__("r8") = args[4];
	register long r9 __asm__("r9") = args[5];
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(args[0]), "S"(args[1]), "d"(args[2]), "r"(r10), "r"(r8),
			 "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = args[0];
	register long x1 __asm__("x1") = args[1];
	register long x2 __asm__("x2") = args[2];
	register long x3 __asm__("x3") = args[3];
	register long x4 __asm__("x4") = args[4];
	register long x5 __asm__("x5") = args[5];
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
# error "no raw system calls for this architecture"
#endif
}

static long
clone_raw(unsigned long flags, void *stack_top, int *pidfd, int (*main)(void *argument),
    void *argument)
{
#if defined(__x86_64__)
	long result;
	register void *r8 __asm__("r8") = argument;
	register int (*r9)(void *) __asm__("r9") = main;
	register long r10 __asm__("r10") = 0;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t" /* the outermost frame */
			 "mov %%r8, %%rdi\n\t"
			 "call *%%r9\n\t" /* the stack's top is 16-aligned, as the ABI wants */
			 "mov %%eax, %%edi\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n\t"
			 "hlt\n\t"
			 "1:"
			 : "=a"(result)
			 : "a"(SYS_clone), "D"(flags), "S"(stack_top), "d"(pidfd), "r"(r10),
			 "r"(r8), "r"(r9), [exit] "i"(SYS_exit_group)
			 : "rcx", "r11", "memory", "cc");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = (long)flags;
	register long x1 __asm__("x1") = (long)stack_top;
	register long x2 __asm__("x2") = (long)pidfd;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;
	register int (*x5)(void *) __asm__("x5") = main;
	register void *x6 __asm__("x6") = argument;
	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x0, x6\n\t"
			 "blr x5\n\t"
			 "mov x8, %[exit]\n\t"
			 "svc 0\n\t"
			 "brk 0\n\t"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5),
			 "r"(x6), [exit] "i"(SYS_exit_group)
			 : "memory", "cc", "x30");
	return x0;
#else
# error "no clone for this architecture"
#endif
}

/* The kernel writes the number before its last steps that can fail (a full control group), and
 * gives it back then: by the time the caller looks it may be another descriptor's. */
long
hl_raw_clone(unsigned long flags, void *stack_top, int *pidfd, int (*main)(void *argument),
    void *argument)
{
	long pid = clone_raw(flags, stack_top, pidfd, main, argument);

	if (pid < 0 && pidfd != NULL)
		*pidfd = -1;
	return pid;
}
