/*
 * Who answers on an engine's socket: asked through hl-engine like everything else, so that the
 * launcher never reads an engine's reply itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/helper.h"

#include "base/banned.h"

int
engine_version(const char *helper_path, const char *endpoint, char **ret_version,
    struct hl_err *err)
{
	struct docker_opened opened = { 0 };
	struct docker_helper helper;
	struct plan plan = { .cancel_fd = -1 };
	HL_AUTO_FREE char *copy = strdup(endpoint);

	if (copy == NULL)
		return hl_err_oom(err);
	plan.endpoint = copy;
	if (docker_helper_start(&helper, helper_path, -1, err) < 0)
		return -1;
	int status = docker_helper_open(&helper, &plan, false, &opened, err);
	docker_helper_end(&helper);
	if (status < 0)
		return -1;
	*ret_version = strdup(opened.engine);
	docker_opened_done(&opened);
	return *ret_version != NULL ? 0 : hl_err_oom(err);
}
