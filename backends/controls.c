/*
 * The control table as data: who applies each protection on which backend. One file so that
 * explain, probe and the tests read the same rows.
 */
#include "backends/backends.h"

#include "base/banned.h"

static const struct control_info controls[CONTROL_MAX] = {
#define CONTROL(symbol, text, on_local, on_docker, why)       \
 [CONTROL_##symbol] = {                                       \
	 .name = (text),                                      \
	 .enforcer = { [BACKEND_LOCAL] = ENFORCER_##on_local, \
	     [BACKEND_DOCKER] = ENFORCER_##on_docker },       \
	 .note = (why),                                       \
 },
#include "backends/controls.def"
#undef CONTROL
};

const struct control_info *
control_info(enum control control)
{
	HL_BUG_ON((unsigned)control >= CONTROL_MAX);
	return &controls[control];
}

const char *
enforcer_name(enum enforcer enforcer)
{
	switch (enforcer) {
	case ENFORCER_NONE:
		return "none";
	case ENFORCER_ENGINE:
		return "engine";
	case ENFORCER_RUNNER:
		return "runner";
	case ENFORCER_KERNEL:
		return "kernel";
	case ENFORCER_PROXY:
		return "proxy";
	case ENFORCER_LAUNCHER:
		return "launcher";
	}
	return "none";
}
