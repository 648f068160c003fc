/*
 * What is known of a call when it is over.
 */
#include <stdlib.h>

#include "session/machine.h"

#include "base/banned.h"

int
session_exit_status(const struct session_result *result)
{
	switch (result->how) {
	case RUNNER_EXITED:
		return (int)(result->code & 0xff);
	case RUNNER_SIGNALED:
		return 128 + (int)(result->signal & 0x7f);
	case RUNNER_TIMED_OUT:
		return 124;
	case RUNNER_CANCELLED:
		return 130;
	case RUNNER_LAUNCHER_ERROR:
		return result->code == 126 || result->code == 127 ? (int)result->code : 125;
	case RUNNER_BACKEND_ERROR:
	case RUNNER_HOW_MAX:
		break;
	}
	return 125;
}

void
session_result_done(struct session_result *result)
{
	struct session_window *windows[] = { &result->out, &result->err_out };

	for (size_t i = 0; i < HL_ARRAY_SIZE(windows); i++) {
		hl_buf_done(&windows[i]->head);
		hl_buf_done(&windows[i]->tail);
		free(windows[i]->spill);
		windows[i]->spill = NULL;
	}
	free(result->cwd);
	result->cwd = NULL;
	result->spill = NULL;
}
