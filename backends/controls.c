/*
 * The control table as data: who applies each protection on which backend. One file so that
 * explain, probe and the tests read the same rows.
 */
#include "backends/backends.h"

#include "base/banned.h"

static const struct control_info controls[CONTROL_MAX] = {
#define CONTROL(symbol, text, on_local, on_scrub, on_docker, on_podman, why) \
 [CONTROL_##symbol] = {                                                      \
	 .name = (text),                                                     \
	 .enforcer = { [BACKEND_LOCAL] = ENFORCER_##on_local,                \
	     [BACKEND_DOCKER] = ENFORCER_##on_docker,                        \
	     [BACKEND_PODMAN] = ENFORCER_##on_podman },                      \
	 .scrub = ENFORCER_##on_scrub,                                       \
	 .note = (why),                                                      \
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

bool
control_is_applied_somewhere(enum control control)
{
	for (unsigned id = 0; id < BACKEND_ID_MAX; id++)
		if (control_info(control)->enforcer[id] != ENFORCER_NONE)
			return true;
	return false;
}

static bool
is_scrub(enum backend_id id, const struct plan *plan)
{
	return id == BACKEND_LOCAL && plan->isolation == PLAN_ISOLATION_SCRUB;
}

/* podman tells the devices and variables that a processor's description adds as if they had been
 * asked for: a container that has one is never again what it was made as. */
static bool
is_not_found_again(enum control control, enum backend_id id, const struct plan *plan)
{
	return control == CONTROL_SESSION_LEASE && id == BACKEND_PODMAN &&
	       (plan->gpus.is_all || plan->gpus.numbers != 0);
}

enum enforcer
control_enforcer(enum control control, enum backend_id id, const struct plan *plan)
{
	const struct control_info *info = control_info(control);

	if (is_not_found_again(control, id, plan))
		return ENFORCER_NONE;
	return is_scrub(id, plan) ? info->scrub : info->enforcer[id];
}

const char *
control_note(enum control control, enum backend_id id, const struct plan *plan)
{
	const struct control_info *info = control_info(control);

	if (is_scrub(id, plan) && info->enforcer[id] != ENFORCER_NONE)
		return "local.isolation scrub is no boundary";
	if (is_not_found_again(control, id, plan))
		return "podman tells of a container with a graphics processor other settings than "
		       "it was made with, so that none is found again";
	return info->note;
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
