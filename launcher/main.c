/*
 * hermes-launch: the process. Descriptors made safe, the command line read, one verb run.
 */
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "launcher/launcher.h"
#include "launcher/options.h"

#include "base/banned.h"

/* Too large for a stack frame; lives as long as the process. */
static struct request request;

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

/* A page that is met for the first time stops the program, for longer in a virtual machine than
 * most of the system calls below: what every run meets is asked for at once. */
static void
ask_for_pages(void)
{
	enum {
		STACK = 28 * 1024
	};
	const char *here = __builtin_frame_address(0);

	populate(__executable_start, (size_t)(__init_array_start - __executable_start),
	    HL_MADV_POPULATE_READ);
	populate(&request, sizeof(request), HL_MADV_POPULATE_WRITE);
	populate(here - STACK, STACK, HL_MADV_POPULATE_WRITE);
}

int
main(int argc, char **argv)
{
	struct hl_err err;

	ask_for_pages();
	if (hl_fd_ensure_std(&err) != 0)
		return 125;
	/* Our memory holds values of the caller's environment: no core dump, no ptrace by our own
	 * uid, no /proc/PID/environ for others (prctl(2), PR_SET_DUMPABLE). */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* A reader that goes away is an error of write(2), not the end of the launcher. */
	signal(SIGPIPE, SIG_IGN);
	/* The same for a file that may not grow (RLIMIT_FSIZE): the log must be able to say so. */
	signal(SIGXFSZ, SIG_IGN);
	if (args_take(argc, argv, &request.args, &err) != 0) {
		report_error(&err);
		return 125;
	}
	if (options_parse(argc, request.args.argv, &request, &err) != 0) {
		report_error(&err);
		return request.verb == VERB_RUN || request.verb == VERB_SHELL
			   ? 125
			   : hl_code_info(err.code)->exit_status;
	}
	report_init(&request);
	int status = verb_rows[request.verb].function(&request);
	/* An answer that was cut off is none (a full disk shows here). */
	if ((fflush(stdout) != 0 || ferror(stdout) != 0) && status == 0) {
		hl_err_sys(&err, HLU_02, "cannot write the answer");
		report_error(&err);
		status = hl_code_info(HLU_02)->exit_status;
	}
	return status;
}
