/*
 * Who answers on an engine's socket: asked through hl-engine like everything else, so that the
 * launcher never reads an engine's reply itself.
 */
#include <string.h>

#include "backends/docker/helper.h"

#include "base/banned.h"

int
engine_version(const char *helper_path, const char *endpoint, char **ret_version,
    struct hl_err *err)
{
	struct docker_opened opened = { 0 };
	struct docker_helper helper;

	if (docker_helper_reach(&helper, &(struct docker_reach){ helper_path, endpoint, 0 },
		&opened, err) < 0)
		return -1;
	docker_helper_end(&helper);
	*ret_version = strdup(opened.engine);
	docker_opened_done(&opened);
	return *ret_version != NULL ? 0 : hl_err_oom(err);
}
