/*
 * The one piece of assembly: clone3(2) with a new stack. libc has no wrapper for it, and a C
 * function that returns twice on two stacks cannot be written in C: the child must not come back
 * through a frame that it does not have. So the child leaves the assembly by a call, never by a
 * return.
 */
#include "backends/local/clone.h"

#include <sys/syscall.h>

#include <unistd.h>

#include "base/banned.h"

long
local_clone(struct clone_args *args, void (*run)(void *context), void *context)
{
#if defined(__x86_64__)
	long result;
	register void (*r8)(void *) __asm__("r8") = run;
	register void *r9 __asm__("r9") = context;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t" /* the outermost frame */
			 "mov %%r9, %%rdi\n\t"
			 "call *%%r8\n\t" /* the stack's top is 16-aligned, as the ABI wants */
			 "mov $127, %%edi\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n\t"
			 "hlt\n\t"
			 "1:"
			 : "=a"(result)
			 : "a"(SYS_clone3), "D"(args), "S"(sizeof(*args)), "r"(r8),
			 "r"(r9), [exit] "i"(SYS_exit_group)
			 : "rcx", "r11", "memory", "cc");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_clone3;
	register long x0 __asm__("x0") = (long)args;
	register long x1 __asm__("x1") = (long)sizeof(*args);
	register void (*x2)(void *) __asm__("x2") = run;
	register void *x3 __asm__("x3") = context;
	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x0, x3\n\t"
			 "blr x2\n\t"
			 "mov x0, #127\n\t"
			 "mov x8, %[exit]\n\t"
			 "svc 0\n\t"
			 "brk 0\n\t"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), [exit] "i"(SYS_exit_group)
			 : "memory", "cc", "x30");
	return x0;
#else
# error "no clone3 for this architecture"
#endif
}
