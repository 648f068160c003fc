/*
 * System calls without libc, for code that runs on memory it shares with the runner's loop, which
 * goes on meanwhile: libc's wrappers write errno into thread-local storage, which is the loop's.
 * Returns -errno on failure. Private to runner/.
 */
#ifndef HL_RUNNER_RAW_H
#define HL_RUNNER_RAW_H

static inline long
raw_syscall6(long number, const long args[6])
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

#define RAW(number, a, b, c, d) \
 raw_syscall6(number, (const long[6]){ (long)(a), (long)(b), (long)(c), (long)(d), 0, 0 })

/* clone(2) onto a stack of its own, whose top is 16-aligned: the child runs main(argument) and ends
 * with what that returns. flags has CLONE_VM. The caller gets the child's number or -errno. */
long raw_clone(unsigned long flags, void *stack_top, int (*main)(void *argument), void *argument);

#endif
