/*
 * One call of a runner that talks to nobody: what the tests of its parts stand on. Private to
 * tests/unit/runner.
 */
#ifndef HL_TESTS_ONE_CALL_H
#define HL_TESTS_ONE_CALL_H

#include "runner/loop.h"

static struct call call;
static struct init init;

static void
call_begin(uint32_t channel)
{
	init = (struct init){ .in_fd = -1,
		.out_fd = -1,
		.pass_fd = -1,
		.wake_fd = -1,
		.calls = &call };
	hl_buf_init(&init.out, 4 * RUNNER_PAYLOAD_MAX);
	call_reset(&call, channel);
}

static void
call_over(void)
{
	call_close(&call);
	hl_buf_done(&init.out);
}

#endif
