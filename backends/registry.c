/*
 * The eight places a command can run in, by name. Those that this version cannot serve are known by
 * name as well, so that a policy which asks for one is told so instead of being told that it has a
 * typing error. What a running sandbox holds is released here, for every backend alike;
 * private_data is the backend's own and goes in its stop().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "backends/backends.h"
#include "backends/docker/start.h"
#include "backends/local/local.h"

#include "base/banned.h"

struct registry_row {
	const char *name;
	const struct backend *backend; /* NULL: not in this version */
};

static const struct registry_row registry[] = {
	{ "local", &backend_local },
	{ "docker", &backend_docker },
	{ "podman", &backend_podman },
	{ "singularity", NULL },
	{ "ssh", NULL },
	{ "modal", NULL },
	{ "daytona", NULL },
	{ "vercel", NULL },
};

const struct backend *
backend_find(const char *name, struct hl_err *err)
{
	const char *names[HL_ARRAY_SIZE(registry)];

	for (size_t i = 0; i < HL_ARRAY_SIZE(registry); i++) {
		names[i] = registry[i].name;
		if (strcmp(name, registry[i].name) != 0)
			continue;
		if (registry[i].backend == NULL)
			hl_err_set(err, HLB_21, "backend '%s' is not in this version", name);
		return registry[i].backend;
	}
	hl_err_set(err, HLB_20, "unknown backend '%s'", name);
	const char *nearest = hl_nearest(name, names, HL_ARRAY_SIZE(names));
	if (nearest != NULL)
		hl_err_help(err, "did you mean '%s'?", nearest);
	return NULL;
}

void
control_gaps_add(struct control_gaps *gaps, enum control control, bool may_degrade,
    const char *reason)
{
	HL_BUG_ON(gaps->len >= CONTROL_GAPS_MAX);
	struct control_gap *gap = &gaps->items[gaps->len++];

	*gap = (struct control_gap){ .control = control, .may_degrade = may_degrade };
	snprintf(gap->reason, sizeof(gap->reason), "%s", reason);
}

const struct control_gap *
control_gaps_find(const struct control_gaps *gaps, enum control control)
{
	for (size_t i = 0; i < gaps->len; i++)
		if (gaps->items[i].control == control)
			return &gaps->items[i];
	return NULL;
}

void
sandbox_done(struct sandbox *sandbox)
{
	/* A zeroed struct is legal here, and 0 is then no descriptor of ours: streams and pidfds
	 * are never below 3, since 0-2 are filled at start. */
	if (sandbox->stream > 2)
		close(sandbox->stream);
	if (sandbox->pidfd > 2)
		close(sandbox->pidfd);
	sandbox->stream = -1;
	if (sandbox->pass > 2)
		close(sandbox->pass);
	sandbox->pass = -1;
	sandbox->pidfd = -1;
	if (sandbox->release != NULL)
		sandbox->release(sandbox->private_data);
	sandbox->release = NULL;
	sandbox->private_data = NULL;
	hl_buf_done(&sandbox->lock);
	hl_strv_done(&sandbox->image_env);
	free(sandbox->id);
	free(sandbox->engine);
	free(sandbox->image_digest);
	sandbox->id = NULL;
	sandbox->engine = NULL;
	sandbox->image_digest = NULL;
}
