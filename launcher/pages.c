/*
 * Pages that every run meets, asked for at once: one that is met for the first time stops the
 * program, for longer in a virtual machine than most system calls take.
 */
#include <sys/auxv.h>
#include <sys/mman.h>

#include <stdint.h>

#include "launcher/launcher.h"

#include "base/banned.h"

/* The linker's: where the program begins, and where what is written begins. */
extern const char __executable_start[] __attribute__((visibility("hidden")));
extern const char __init_array_start[] __attribute__((visibility("hidden")));

static void
populate(const void *begin, size_t len, int how)
{
	const uintptr_t mask = getauxval(AT_PAGESZ) - 1;
	const uintptr_t first = (uintptr_t)begin & ~mask;
	const uintptr_t last = ((uintptr_t)begin + len + mask) & ~mask;

	(void)!madvise((void *)first, last - first, how);
}

void
pages_ask(const struct request *request)
{
	enum {
		STACK = 28 * 1024
	};
	static bool was_asked;
	const char *here = __builtin_frame_address(0);

	if (was_asked)
		return;
	was_asked = true;
	populate(__executable_start, (size_t)(__init_array_start - __executable_start),
	    HL_MADV_POPULATE_READ);
	populate(request, sizeof(*request), HL_MADV_POPULATE_WRITE);
	populate(here - STACK, STACK, HL_MADV_POPULATE_WRITE);
}
