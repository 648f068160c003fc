/*
 * The rlimits that travel with the call and are set in the command itself: what has no controller,
 * and what an engine sets as well. The hard limit is the soft one, so that the command cannot raise
 * it; a limit above what the launcher itself may have is clamped, because only privilege could
 * raise it (getrlimit(2)).
 */
#include <sys/resource.h>

#include "launcher/launcher.h"

#include "base/banned.h"

static void
add(struct runner_spawn *spawn, int resource, uint64_t limit)
{
	HL_BUG_ON(spawn->rlimits_len >= RUNNER_RLIMITS_MAX);
	spawn->rlimits[spawn->rlimits_len++] = (struct runner_rlimit){
		.resource = (uint32_t)resource,
		.soft = limit,
		.hard = limit,
	};
}

void
plan_rlimits(const struct plan *plan, struct runner_spawn *spawn)
{
	const struct plan_number *files = &plan->limits[PLAN_LIMIT_FILES];
	struct rlimit own;

	/* A core file would hold the command's memory, variables too. 1 and not 0: with a pipe in
	 * core_pattern, 0 still starts that program, outside and as root; 1 is the kernel's word
	 * for not at all, and too little for a file (core(5), do_coredump). */
	add(spawn, RLIMIT_CORE, 1);
	if (!files->has)
		return;
	HL_BUG_ON(getrlimit(RLIMIT_NOFILE, &own) != 0);
	add(spawn, RLIMIT_NOFILE, files->value < own.rlim_max ? files->value : own.rlim_max);
}
