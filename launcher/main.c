/*
 * hermes-launch: the process. Descriptors made safe, the command line read, one verb run.
 */
#include <sys/prctl.h>

#include <signal.h>
#include <stdlib.h>

#include "launcher/launcher.h"
#include "launcher/options.h"

#include "base/banned.h"

/* Too large for a stack frame; lives as long as the process. */
static struct request request;

int
main(int argc, char **argv)
{
	struct hl_err err;

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
	if (request.verb != VERB_RUN)
		pages_ask(&request);
	int status = verb_rows[request.verb].function(&request);
	/* An answer that was cut off is none (a full disk shows here). */
	if ((fflush(stdout) != 0 || ferror(stdout) != 0) && status == 0) {
		hl_err_sys(&err, HLU_02, "cannot write the answer");
		report_error(&err);
		status = hl_code_info(HLU_02)->exit_status;
	}
	return status;
}
