/*
 * System calls without libc, for code that runs on memory it shares with the launcher: libc's
 * wrappers write errno into thread-local storage, which is the launcher's own. Returns -errno on
 * failure.
 */
#ifndef HL_BACKENDS_LOCAL_RAW_H
#define HL_BACKENDS_LOCAL_RAW_H

static inline long
raw_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
# error "no raw system calls for this architecture"
#endif
}

#define raw_syscall3(number, a, b, c) raw_syscall6(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define raw_syscall5(number, a, b, c, d, e) \
 raw_syscall6(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

#endif
