/*
 * The result object: one JSON line for programs, so that nobody has to read a number's mind.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "launcher/face.h"

#include "base/banned.h"

int
result_open(struct run *run, struct hl_err *err)
{
	const char *target = run->request->result;
	uint64_t number;

	if (target == NULL)
		return 0;
	if (strncmp(target, "fd:", 3) == 0) {
		if (hl_parse_u64(target + 3, 1, 1U << 20, &number, err) != 0)
			return hl_err_wrap(err, "--result %s", target);
		/* A copy of ours: the caller's number must not reach the sandbox. */
		run->result_fd = fcntl((int)number, F_DUPFD_CLOEXEC, 3);
		if (run->result_fd < 0 || (fcntl(run->result_fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
			return hl_err_set(err, HLU_04, "--result %s is not open for writing",
			    target);
		return 0;
	}
	/* O_NONBLOCK: a FIFO that nobody reads is an error, not a wait. */
	run->result_fd = open(target,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
	if (run->result_fd < 0)
		return hl_err_sys(err, HLU_04, "cannot write '%s'", target);
	return 0;
}

void
result_put_error(struct hl_json *json, const struct hl_err *err)
{
	hl_json_key(json, "error");
	if (err->code == HL_OK) {
		hl_json_raw(json, "null");
		return;
	}
	hl_json_object(json);
	hl_json_key(json, "code");
	hl_json_string(json, hl_code_info(err->code)->id);
	hl_json_key(json, "message");
	text_put_json(json, err->msg);
	hl_json_end_object(json);
}

static const char *const limit_names[PLAN_LIMIT_MAX] = {
	[PLAN_LIMIT_WALL] = "limits.wall",
	[PLAN_LIMIT_CPUS] = "limits.cpus",
	[PLAN_LIMIT_MEMORY] = "limits.memory",
	[PLAN_LIMIT_PIDS] = "limits.pids",
	[PLAN_LIMIT_FILES] = "limits.files",
	[PLAN_LIMIT_SHM] = "limits.shm",
	[PLAN_LIMIT_DISK] = "limits.disk",
	[PLAN_LIMIT_OUTPUT] = "limits.output",
};

void
result_put_controls(struct hl_json *json, const struct run *run)
{
	hl_json_key(json, "degraded");
	hl_json_array(json);
	for (size_t i = 0; i < run->gaps.len; i++)
		hl_json_string(json, control_info(run->gaps.items[i].control)->name);
	hl_json_end_array(json);
	hl_json_key(json, "limits_applied");
	hl_json_array(json);
	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++)
		if (run->sandbox.limits_applied & (1U << i))
			hl_json_string(json, limit_names[i]);
	hl_json_end_array(json);
}

static void
take_degraded(struct run *run, const char *name)
{
	for (unsigned i = 0; i < CONTROL_MAX; i++)
		if (strcmp(control_info((enum control)i)->name, name) == 0 &&
		    control_gaps_find(&run->gaps, (enum control)i) == NULL &&
		    run->gaps.len < CONTROL_GAPS_MAX)
			control_gaps_add(&run->gaps, (enum control)i, true, "");
}

static void
take_limit(struct run *run, const char *name)
{
	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++)
		if (strcmp(limit_names[i], name) == 0)
			run->sandbox.limits_applied |= 1U << i;
}

static int
take_names(struct run *run, const json_t *list, void (*take)(struct run *, const char *),
    const char *what, struct hl_err *err)
{
	if (!json_is_array(list))
		return hl_err_set(err, HLI_02, "a result without the list '%s'", what);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));
		if (name == NULL)
			return hl_err_set(err, HLI_02, "'%s' has what is no name", what);
		take(run, name);
	}
	return 0;
}

int
result_take_controls(struct run *run, const json_t *object, struct hl_err *err)
{
	/* Of the one that made the sandbox; what we found by looking ourselves is in it. */
	run->gaps.len = 0;
	run->sandbox.limits_applied = 0;
	if (take_names(run, json_object_get(object, "degraded"), take_degraded, "degraded", err) !=
	    0)
		return -1;
	return take_names(run, json_object_get(object, "limits_applied"), take_limit,
	    "limits_applied", err);
}

void
result_write(struct run *run)
{
	static const char *const stages[] = { "launcher", "backend", "command" };
	const struct session_result *result = &run->result;
	struct hl_buf out;
	struct hl_json json;

	if (run->result_fd < 0)
		return;
	hl_buf_init(&out, 65536);
	hl_json_init(&json, &out);
	hl_json_object(&json);
	hl_json_key(&json, "v");
	hl_json_u64(&json, 1);
	hl_json_key(&json, "run");
	hl_json_string(&json, run->run_id);
	hl_json_key(&json, "how");
	hl_json_string(&json, runner_how_name(result->how));
	hl_json_key(&json, "stage");
	hl_json_string(&json, stages[run->stage]);
	hl_json_key(&json, "status");
	hl_json_i64(&json, result->status);
	hl_json_key(&json, "code");
	hl_json_u64(&json, result->code);
	hl_json_key(&json, "signal");
	hl_json_u64(&json, result->signal);
	result_put_error(&json, &result->err);
	hl_json_key(&json, "backend");
	hl_json_string(&json, run->backend != NULL ? run->backend->name : NULL);
	hl_json_key(&json, "wall_ms");
	hl_json_u64(&json, result->wall_ms);
	hl_json_key(&json, "user_us");
	hl_json_u64(&json, result->user_us);
	hl_json_key(&json, "system_us");
	hl_json_u64(&json, result->system_us);
	hl_json_key(&json, "max_rss_kib");
	hl_json_u64(&json, result->max_rss_kib);
	result_put_controls(&json, run);
	hl_json_key(&json, "conflicts");
	hl_json_u64(&json, run->conflicts.len);
	hl_json_end_object(&json);
	hl_buf_putc(&out, '\n');
	if (out.failed || hl_write_full(run->result_fd, out.data, out.len) != 0)
		report_warning("the result object could not be written");
	hl_buf_done(&out);
}
