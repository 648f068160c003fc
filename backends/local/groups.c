/*
 * Limits that the kernel of this host keeps for the sandbox: control groups, with the janitor that
 * removes them after a kill -9, and a resource limit where that is enough. They are made once, by
 * doing: what could not be written and read back is a gap, and the groups that answered that
 * question are the ones the sandbox then lives in.
 */
#include <sys/resource.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/local/local.h"

#include "base/banned.h"

struct limit_row {
	enum plan_limit limit;
	enum control control;
	enum confine_limit cgroup;
};

static const struct limit_row limit_rows[] = {
	{ PLAN_LIMIT_PIDS, CONTROL_LIMIT_PIDS, CONFINE_LIMIT_PIDS },
	{ PLAN_LIMIT_MEMORY, CONTROL_LIMIT_MEMORY, CONFINE_LIMIT_MEMORY },
	{ PLAN_LIMIT_CPUS, CONTROL_LIMIT_CPUS, CONFINE_LIMIT_CPUS },
};

static struct confine_limits
wanted_limits(const struct plan *plan)
{
	const struct plan_number *limits = plan->limits;

	return (struct confine_limits){
		.has_pids = limits[PLAN_LIMIT_PIDS].has,
		.has_memory = limits[PLAN_LIMIT_MEMORY].has,
		.has_cpus = limits[PLAN_LIMIT_CPUS].has,
		.pids = limits[PLAN_LIMIT_PIDS].value,
		.memory = limits[PLAN_LIMIT_MEMORY].value,
		.cpus = limits[PLAN_LIMIT_CPUS].value,
	};
}

static int
guard(void *context, struct hl_err *err)
{
	struct groups *groups = context;

	return janitor_start(&groups->cgroup, &groups->janitor, err);
}

int
groups_make(const struct plan *plan, struct groups *ret_groups, struct hl_err *err)
{
	struct confine_limits wanted = wanted_limits(plan);

	wanted.before = guard;
	wanted.context = ret_groups;
	*ret_groups = (struct groups){ .memory = wanted.memory };
	if (confine_cgroup_create(&wanted, plan->run_id, &ret_groups->cgroup, err) != 0)
		return -1;
	if (wanted.has_pids && (ret_groups->cgroup.applied & (1U << CONFINE_LIMIT_PIDS)) == 0 &&
	    plan->isolation != PLAN_ISOLATION_SCRUB && confine_nproc_is_per_namespace()) {
		ret_groups->has_nproc = true;
		ret_groups->nproc = wanted.pids;
	}
	ret_groups->is_made = true;
	if (ret_groups->cgroup.dirs_len == 0) {
		janitor_end(ret_groups->janitor);
		ret_groups->janitor = NULL;
	}
	return 0;
}

/* Without a boundary a limit that nobody asked for is applied where it can be, and else not missed:
 * by RLIMIT_NPROC it would count all of the caller's other processes. */
static bool
is_missing(const struct plan *plan, const struct groups *groups, const struct limit_row *row)
{
	const struct plan_number *limit = &plan->limits[row->limit];

	return limit->has && (limit->is_explicit || plan->isolation != PLAN_ISOLATION_SCRUB) &&
	       (groups->cgroup.applied & (1U << row->cgroup)) == 0 &&
	       !(row->limit == PLAN_LIMIT_PIDS && groups->has_nproc);
}

void
groups_find_gaps(const struct plan *plan, const struct groups *groups, struct control_gaps *gaps)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(limit_rows); i++) {
		const struct limit_row *row = &limit_rows[i];
		const struct plan_number *limit = &plan->limits[row->limit];
		if (is_missing(plan, groups, row))
			control_gaps_add(gaps, row->control,
			    limit->may_degrade || !limit->is_explicit,
			    groups->cgroup.missing[row->cgroup]);
	}
}

int
groups_check(const struct plan *plan, const struct groups *groups, const struct control_gaps *gaps,
    struct hl_err *err)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(limit_rows); i++) {
		const struct limit_row *row = &limit_rows[i];
		if (is_missing(plan, groups, row) && control_gaps_find(gaps, row->control) == NULL)
			return hl_err_set(err, HLB_25, "%s cannot be applied: %s",
			    control_info(row->control)->name, groups->cgroup.missing[row->cgroup]);
	}
	return 0;
}

int
groups_set_nproc(const struct groups *groups, pid_t pid, struct hl_err *err)
{
	struct rlimit nproc;

	if (!groups->has_nproc)
		return 0;
	if (prlimit(pid, RLIMIT_NPROC, NULL, &nproc) != 0)
		return hl_err_sys(err, HLB_24, "the limit of processes cannot be read");
	if (nproc.rlim_max > groups->nproc) /* a hard limit is never raised */
		nproc.rlim_max = groups->nproc;
	nproc.rlim_cur = nproc.rlim_max;
	if (prlimit(pid, RLIMIT_NPROC, &nproc, NULL) != 0)
		return hl_err_sys(err, HLB_24, "the limit of processes cannot be set");
	return 0;
}

uint32_t
groups_applied(const struct groups *groups)
{
	uint32_t applied = groups->has_nproc ? 1U << PLAN_LIMIT_PIDS : 0;

	for (size_t i = 0; i < HL_ARRAY_SIZE(limit_rows); i++)
		if ((groups->cgroup.applied & (1U << limit_rows[i].cgroup)) != 0)
			applied |= 1U << limit_rows[i].limit;
	return applied;
}

int
groups_remove(struct groups *groups, struct hl_err *err)
{
	if (!groups->is_made)
		return 0;
	bool was_oom = confine_cgroup_was_oom(&groups->cgroup);
	if (confine_cgroup_remove(&groups->cgroup, err) != 0)
		return -1; /* the janitor stays, and tries it again: groups_done() */
	groups->is_made = false;
	int status = 0;
	if (was_oom) {
		struct hl_buf size HL_AUTO(hl_buf_done) = { 0 };
		hl_buf_init(&size, 64);
		hl_buf_put_size(&size, groups->memory);
		status = hl_err_set(err, HLB_55, "the memory limit of %s was reached", size.data);
	}
	janitor_dismiss(groups->janitor);
	return status;
}

void
groups_done(struct groups *groups)
{
	if (groups->is_made)
		janitor_release(groups->janitor);
	/* First: it knows the groups by these names. */
	janitor_end(groups->janitor);
	confine_cgroup_done(&groups->cgroup);
	*groups = (struct groups){ 0 };
}
